"""Task files as pytest modules: one function per task, one parameter per trial."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from inspect import Parameter, Signature
from pathlib import Path
from types import FunctionType, MappingProxyType, ModuleType
from typing import TYPE_CHECKING, NamedTuple, Self, cast

import pytest

from pytest_agentbench.errors import AgentbenchError, TaskFailed
from pytest_agentbench.matrix.select import expected_to_fail
from pytest_agentbench.pytest_integration.paths import relative_to
from pytest_agentbench.pytest_integration.session import bench_session

if TYPE_CHECKING:
    from pytest_agentbench.matrix.expand import Trials
    from pytest_agentbench.model.task import TaskSpec
    from pytest_agentbench.model.trial import TrialHead, TrialSpec
    from pytest_agentbench.model.verdict import Verdict

PLACE = "_agentbench_place"
"""The fixture that is parametrized: not ``agentbench_trial`` itself, so that a project may
override, and parametrize, that one too."""


class TaskFile(pytest.Module):
    """A task file. Its functions are made here, so nothing is imported from the path.

    ``trials`` are those of each task, by its id. What parametrizes a task's function is
    the place of a trial among them: a number costs the garbage collector nothing.
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
            tasks = bench.task_file(self.path)
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


class Place(NamedTuple):
    """One of a task's trials, as an item runs it.

    ``key`` is the trial's where task, variant and repeat do not tell it from others, and
    ``test`` the Python test that runs it, without parameters.
    """

    trials: Trials
    number: int
    key: str = ""
    test: str = ""

    def trial(self) -> TrialSpec:
        """The trial."""
        spec = self.trials[self.number]
        return replace(spec, given_key=self.key, test=self.test) if self.key else spec

    def head(self) -> TrialHead:
        """The trial without its details."""
        head = self.trials.head(self.number)
        return head._replace(given_key=self.key, test=self.test) if self.key else head


def trial_of(item: pytest.Item) -> TrialSpec | None:
    """The trial that an item runs; None for items that run none."""
    place = _running(item)
    return None if place is None else place.trial()


def head_of(item: pytest.Item) -> TrialHead | None:
    """What decides the place of an item's trial; None for items that run none."""
    place = _running(item)
    return None if place is None else place.head()


def runs_trial(item: pytest.Item) -> bool:
    """Whether an item runs a trial: a task's, or that of a Python test which runs an agent."""
    return _running(item) is not None


def _running(item: pytest.Item) -> Place | None:
    place = place_of(item)
    if place is None or not place.test:
        return place
    # A test that only looks into the sandbox measures no agent.
    return place if runs_agent(cast("pytest.Function", item).fixturenames) else None


def place_of(item: pytest.Item) -> Place | None:
    """Which trial's fixtures an item gets; None for items that get none."""
    # Asked several times for each item: pytest's classes have slow checks of instances.
    function = cast("pytest.Function", item)
    callspec = getattr(function, "callspec", None)
    if callspec is None:
        return None
    place = callspec.params.get(PLACE)
    file = item.parent
    if type(file) is not TaskFile:
        return place._replace(key=item.nodeid) if isinstance(place, Place) else None
    if not isinstance(place, int):
        return None
    trials = file.trials[function.originalname]
    if len(callspec.params) == 1:
        return Place(trials, place)
    return Place(trials, place, key=f"{function.originalname}[{callspec.id}]")


def runs_agent(fixtures: Sequence[str]) -> bool:
    """Whether a test with these fixtures runs an agent."""
    return "agentbench_run" in fixtures or "agentbench_verdict" in fixtures


def parametrize(metafunc: pytest.Metafunc) -> None:
    """One parameter set per trial, with the marks that its task asks for."""
    file = metafunc.definition.parent
    if not isinstance(file, TaskFile):
        return
    trials = file.trials[metafunc.function.__name__]
    heads = [trials.head(index) for index in range(len(trials))]
    ids = [f"{head.variant.name}-r{head.repeat}" for head in heads]
    places: Iterable[object] = range(len(heads))
    # Most tasks ask for no marks, and without them numbers do.
    if trials.task.xfail is not None or any(head.exclusion is not None for head in heads):
        places = [pytest.param(place, marks=_marks(heads[place])) for place in range(len(heads))]
    metafunc.parametrize(PLACE, places, ids=ids, indirect=True)


def excluding_marks(trial: TrialHead) -> list[pytest.MarkDecorator]:
    """The mark of a trial that is not run."""
    exclusion = trial.exclusion
    return [] if exclusion is None else [pytest.mark.skip(reason=exclusion.message)]


def _marks(trial: TrialHead) -> Sequence[pytest.MarkDecorator]:
    marks = excluding_marks(trial)
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
    function.__signature__ = _signature(task.fixtures)  # type: ignore[attr-defined]
    return function


def _judge(agentbench_verdict: Verdict, **_: object) -> None:
    if not agentbench_verdict.passed:
        raise TaskFailed(agentbench_verdict.reason)


def _signature(fixtures: Iterable[str]) -> Signature:
    """What a task's test asks pytest for: its own fixtures first, since the trial needs them."""
    names = [*fixtures, *_OWN]
    return _SIGNATURE if len(names) == len(_OWN) else Signature(list(map(_parameter, names)))


def _parameter(name: str) -> Parameter:
    return Parameter(name, Parameter.POSITIONAL_OR_KEYWORD)


_OWN = (PLACE, "agentbench_verdict")
_SIGNATURE = Signature(list(map(_parameter, _OWN)))
