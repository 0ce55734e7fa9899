"""What pytest collects of task files, asked of pytest itself: so its messages are the same."""

from __future__ import annotations

import contextlib
import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, cast

import pytest

from pytest_agentbench.candidates import SUFFIXES
from pytest_agentbench.cli.projects import Project, project_of
from pytest_agentbench.errors import UsageError
from pytest_agentbench.model.task import TaskSpec
from pytest_agentbench.model.trial import TrialSpec
from pytest_agentbench.model.variant import Experiment
from pytest_agentbench.options import OPTIONS, PREFIX
from pytest_agentbench.sandboxes.choice import AUTO
from pytest_agentbench.settings import Settings, read_settings
from pytest_agentbench.taskfiles.experiment import load_experiment
from pytest_agentbench.wiring import build_engine

if TYPE_CHECKING:
    from pytest_agentbench.engine.engine import Engine

_EXPERIMENTS = "experiments"
_DRIVER = "sandbox.driver"
_NOT_COLLECTED = (pytest.ExitCode.USAGE_ERROR, pytest.ExitCode.INTERNAL_ERROR)
_QUIETLY = (
    *("--collect-only", "-q"),
    # This very package is imported already; a project may turn warnings into errors.
    *("-W", "ignore::pytest.PytestAssertRewriteWarning"),
)

_UNDONE: Mapping[str, object] = {
    "lf": False,
    "failedfirst": False,
    "newfirst": False,
    "cacheclear": False,
    "stepwise": False,
    "maxfail": 0,
    "xmlpath": None,
}
"""Options of pytest's that belong to running tests."""


@dataclass(slots=True)
class Collection:
    """All tasks below some paths, and what is wrong with the files there.

    ``problems`` are whole messages, as pytest shows them. ``trials`` are in the order
    of the session. ``settings`` are those of the project, whose agents, sandboxes and
    oracles ``project`` has.
    """

    settings: Settings
    project: Project
    trials: list[TrialSpec] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)

    @property
    def tasks(self) -> list[TaskSpec]:
        """Each task once, in order."""
        return list({trial.task.id: trial.task for trial in self.trials}.values())

    def engine(self) -> Engine:
        """An engine for the trials. Raises ``UsageError``."""
        drivers = {trial.sandbox.driver for trial in self.trials}
        # A trial of ours has no variant's settings over the task's.
        drivers |= {str(task.layer.get(_DRIVER, AUTO)) for task in self.tasks}
        drivers.add(str(chosen_experiment(self.settings).defaults.get(_DRIVER, AUTO)))
        make = self.project.make_sandbox
        return build_engine(self.settings, sandboxes=sorted(drivers), make_sandbox=make)


def collect(paths: Sequence[str], options: Sequence[str] = ()) -> Collection:
    """Have pytest collect the task files below ``paths``; Python tests are left alone.

    ``options`` are further arguments for pytest. Raises ``UsageError`` with pytest's own
    words where it cannot begin.
    """
    listener = _Listener()
    printed, complaints = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(complaints):
        try:
            status = pytest.main([*_QUIETLY, *options, *paths], plugins=[listener])
        except SystemExit as end:
            raise UsageError(f"a conftest.py or a plugin ended pytest: exit {end.code}") from end
    listener.require_an_end()
    found = listener.collection
    if found is not None and status not in _NOT_COLLECTED:
        return found
    said = complaints.getvalue().strip() or printed.getvalue().strip()
    said = said.removeprefix("ERROR: ") or "pytest could not collect"
    if found is None or not found.trials:
        raise UsageError(said)
    # Something is wrong with what there is as a whole, such as a suite without a task.
    found.problems.append(said)
    return found


def session_options(*, sandbox: str | None, experiment: str | None) -> list[str]:
    """The same options for a session of pytest, which checks them as it always does."""
    asked = {"sandbox": sandbox, "experiment": experiment}
    return [f"--{PREFIX}-{name}={value}" for name, value in asked.items() if value is not None]


def check_experiments(collection: Collection, paths: Sequence[str]) -> None:
    """Add what is wrong with the project's other experiments, and with the tasks under them.

    Each is what a session with that experiment would say of ``paths``.
    """
    root, chosen = collection.settings.rootdir, collection.settings.experiment
    for path in sorted((root / _EXPERIMENTS).glob("*")):
        if path.suffix not in SUFFIXES or chosen in (path.stem, str(path)):
            continue
        try:
            problems = collect(paths, [f"--{PREFIX}-experiment={path}"]).problems
        except UsageError as error:
            problems = [str(error)]
        known = "\n".join(collection.problems)
        collection.problems.extend(problem for problem in problems if problem not in known)


def chosen_experiment(settings: Settings) -> Experiment:
    """The experiment that a session would take. Raises ``AgentbenchError``."""
    return load_experiment(settings.rootdir, settings.experiment)


class _Listener:
    """A plugin of the collecting session that remembers what there is.

    Whatever a project has in ``addopts``, all of its task files are looked at, and nothing
    that a test session keeps is changed.
    """

    def __init__(self) -> None:
        self.collection: Collection | None = None
        self._interruption: BaseException | None = None

    @pytest.hookimpl(tryfirst=True)
    def pytest_configure(self, config: pytest.Config) -> None:
        """Undo what would leave files out, or write over what the last session left."""
        for name, value in _UNDONE.items():
            if hasattr(config.option, name):
                setattr(config.option, name, value)

    def pytest_sessionstart(self, session: pytest.Session) -> None:
        """Keep this session out of the project's memory of failures."""
        for name in ("lfplugin", "nfplugin"):
            if session.config.pluginmanager.has_plugin(name):
                session.config.pluginmanager.unregister(name=name)

    def pytest_keyboard_interrupt(self, excinfo: pytest.ExceptionInfo[BaseException]) -> None:
        """Tell an interruption from pytest's own word for errors in collection."""
        if not excinfo.errisinstance(pytest.Session.Interrupted):
            self._interruption = excinfo.value

    def require_an_end(self) -> None:
        """Raise what broke the collection off: what is there may be a part of it."""
        if isinstance(self._interruption, KeyboardInterrupt):
            raise self._interruption
        if self._interruption is not None:
            raise UsageError(f"pytest was ended before all was collected: {self._interruption}")

    def pytest_ignore_collect(self, collection_path: Path) -> bool | None:
        """Leave Python tests alone: importing them is not asked for."""
        if collection_path.is_file() and collection_path.suffix not in SUFFIXES:
            return True
        return None

    def pytest_collection(self, session: pytest.Session) -> None:
        """Read the project's settings, as a session does."""
        project = project_of(session.config)
        self.collection = Collection(_settings_of(session.config), project)

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        """Remember what cannot be collected."""
        if report.failed and self.collection is not None:
            self.collection.problems.append(report.longreprtext)

    def pytest_itemcollected(self, item: pytest.Item) -> None:
        """Remember the trial of an item."""
        callspec = getattr(item, "callspec", None)
        index = None if callspec is None else callspec.params.get(f"_{PREFIX}_place")
        of_tasks = getattr(item.parent, "trials", None)
        if isinstance(index, int) and of_tasks is not None and self.collection is not None:
            self.collection.trials.append(of_tasks[getattr(item, "originalname", "")][index])


def _settings_of(config: pytest.Config) -> Settings:
    directories = config.getini(f"{PREFIX}_tasks")
    return read_settings(
        config.rootpath,
        config.invocation_params.dir,
        chosen={option.name: config.getoption(option.key) for option in OPTIONS},
        ini=config.getini,
        task_directories=tuple(cast("list[str]", directories)) if directories else None,
    )
