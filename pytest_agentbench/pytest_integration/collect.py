"""Task files as pytest modules: one function per task, one parameter per trial."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from inspect import signature
from pathlib import Path
from types import FunctionType, MappingProxyType, ModuleType
from typing import TYPE_CHECKING, Self, cast

import pytest

from pytest_agentbench.errors import AgentbenchError, TaskFailed
from pytest_agentbench.matrix.select import expected_to_fail
from pytest_agentbench.pytest_integration.paths import relative_to
from pytest_agentbench.pytest_integration.session import bench_session
from pytest_agentbench.taskfiles.loader import load_task_file

if TYPE_CHECKING:
    from pytest_agentbench.matrix.expand import Trials
    from pytest_agentbench.model.task import TaskSpec
    from pytest_agentbench.model.trial import TrialHead, TrialSpec
    from pytest_agentbench.model.verdict import Verdict

PARAMETER = "agentbench_trial"


class TaskFile(pytest.Module):
    """A task file. Its functions are made here, so nothing is imported from the path.

    ``trials`` are those of each task, by its id. What parametrizes a task's function is
    the place of a trial among them: numbers cost the garbage collector nothing.
    """

    misplaced: Path | None = None
    trials: Mapping[str, Trials] = MappingProxyType({})

    @classmethod
    def for_path(cls, parent: pytest.Collector, path: Path, *, misplaced: Path | None) -> Self:
        """The collector of one file; ``misplaced`` is the task file that owns its directory."""
        collector = cls.from_parent(parent, path=path)
        collector.misplaced = misplaced
        bench_session(parent.config)
        return collector

    def _getobj(self) -> ModuleType:
        return ModuleType(self.path.stem)

    def collect(self) -> Iterable[pytest.Item | pytest.Collector]:
        """Load the file and make a function for each of its tasks."""
        bench = bench_session(self.config)
        if self.misplaced is not None:
            outer = relative_to(self.misplaced, self.config.rootpath)
            raise self.CollectError(
                f"{self.nodeid}: lies below the directory of {outer}, which owns everything there. "
                f"Try: move one of them, or rename {self.misplaced.name} to NAME.task.yaml"
            )
        try:
            tasks = load_task_file(
                self.path, rootdir=self.config.rootpath, sample=bench.settings.sample
            )
            self.trials = {task.id: bench.trials_of(task) for task in tasks}
        except AgentbenchError as error:
            raise self.CollectError(str(error)) from error
        # Not by way of the module's names: a task may be called setup_module.
        for task in tasks:
            function = _function(task, [bench.mark(tag) for tag in task.tags])
            setattr(self.obj, task.id, function)
            made = self.ihook.pytest_pycollect_makeitem(collector=self, name=task.id, obj=function)
            yield from made if isinstance(made, list) else [made]

    def funcnamefilter(self, name: str) -> bool:
        """Any id is a test's name."""
        del name
        return True

    def classnamefilter(self, name: str) -> bool:
        """No class is made here."""
        del name
        return False


def trial_of(item: pytest.Item) -> TrialSpec | None:
    """The trial that an item runs; None for items that are not ours."""
    place = _place_of(item)
    return None if place is None else place[0][place[1]]


def head_of(item: pytest.Item) -> TrialHead | None:
    """What decides the place of an item's trial; None for items that are not ours."""
    place = _place_of(item)
    return None if place is None else place[0].head(place[1])


def runs_trial(item: pytest.Item) -> bool:
    """Whether an item is ours."""
    return _place_of(item) is not None


def _place_of(item: pytest.Item) -> tuple[Trials, int] | None:
    """The trials of an item's task, and which of them it runs."""
    # Asked several times for each item: pytest's classes have slow checks of instances.
    file = item.parent
    if type(file) is not TaskFile:
        return None
    function = cast("pytest.Function", item)
    callspec = getattr(function, "callspec", None)
    index = None if callspec is None else callspec.params.get(PARAMETER)
    return (file.trials[function.originalname], index) if isinstance(index, int) else None


def parametrize(metafunc: pytest.Metafunc) -> None:
    """One parameter set per trial, with the marks that its task asks for."""
    file = metafunc.definition.parent
    if not isinstance(file, TaskFile):
        return
    trials = file.trials[metafunc.function.__name__]
    heads = [trials.head(index) for index in range(len(trials))]
    metafunc.parametrize(
        PARAMETER,
        [
            pytest.param(index, id=f"{head.variant.name}-r{head.repeat}", marks=_marks(head))
            for index, head in enumerate(heads)
        ],
        indirect=True,
    )


def _marks(trial: TrialHead) -> Sequence[pytest.MarkDecorator]:
    marks: list[pytest.MarkDecorator] = []
    if trial.exclusion is not None:
        marks.append(pytest.mark.skip(reason=trial.exclusion.message))
    xfail = trial.task.xfail
    if xfail is not None and expected_to_fail(xfail, trial.variant):
        # ``raises``: a trial that could not be measured has not failed as expected.
        strict = {} if xfail.strict is None else {"strict": xfail.strict}
        marks.append(pytest.mark.xfail(reason=xfail.reason, raises=TaskFailed, **strict))
    return marks


def _function(task: TaskSpec, marks: list[pytest.MarkDecorator]) -> FunctionType:
    """The test of one task; its code says that it stands in the task file, at the task's line.

    That one trick gives every reader of locations (terminal, JUnit, editors) the
    right place.
    """
    code = _judge.__code__.replace(
        co_filename=str(task.position.path),
        co_firstlineno=task.position.line,
        co_name=task.id,
        co_qualname=task.id,
    )
    function = FunctionType(code, globals(), task.id)
    function.__doc__ = task.description or None
    function.__module__ = task.position.path.stem
    function.pytestmark = marks  # type: ignore[attr-defined]
    # pytest asks for it several times, and taking it from the code takes long.
    function.__signature__ = _SIGNATURE  # type: ignore[attr-defined]
    return function


def _judge(agentbench_verdict: Verdict) -> None:
    if not agentbench_verdict.passed:
        raise TaskFailed(agentbench_verdict.reason)


_SIGNATURE = signature(_judge)
