"""What pytest collects of task files, asked of pytest itself: so its messages are the same."""

from __future__ import annotations

import contextlib
import io
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import cast

import pytest

from pytest_agentbench.errors import UsageError
from pytest_agentbench.model.task import TaskSpec
from pytest_agentbench.model.trial import TrialSpec
from pytest_agentbench.model.variant import Experiment
from pytest_agentbench.settings import OPTIONS, PREFIX, Settings, read_settings
from pytest_agentbench.taskfiles.claims import SUFFIXES
from pytest_agentbench.taskfiles.experiment import load_experiment

_EXPERIMENTS = "experiments"
_NOT_COLLECTED = (pytest.ExitCode.USAGE_ERROR, pytest.ExitCode.INTERNAL_ERROR)
_QUIETLY = ("--collect-only", "-q", "-n0", "-p", "no:cacheprovider")


@dataclass(slots=True)
class Collection:
    """All tasks below some paths, and what is wrong with the files there.

    ``problems`` are whole messages, as pytest shows them. ``trials`` are in the order
    of the session. ``settings`` are those of the project.
    """

    settings: Settings
    trials: list[TrialSpec] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)

    @property
    def tasks(self) -> list[TaskSpec]:
        """Each task once, in order."""
        return list({trial.task.id: trial.task for trial in self.trials}.values())


def collect(paths: Sequence[str], options: Sequence[str] = ()) -> Collection:
    """Have pytest collect the task files below ``paths``; Python tests are left alone.

    ``options`` are further arguments for pytest. Raises ``UsageError`` with pytest's own
    words where it cannot begin.
    """
    listener = _Listener()
    printed, complaints = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(complaints):
        status = pytest.main([*_QUIETLY, *options, *paths], plugins=[listener])
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
    """A plugin of the collecting session that remembers what there is."""

    def __init__(self) -> None:
        self.collection: Collection | None = None

    def pytest_ignore_collect(self, collection_path: Path) -> bool | None:
        """Leave Python tests alone: importing them is not asked for."""
        if collection_path.is_file() and collection_path.suffix not in SUFFIXES:
            return True
        return None

    def pytest_collection(self, session: pytest.Session) -> None:
        """Read the project's settings, as a session does."""
        self.collection = Collection(_settings_of(session.config))

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        """Remember what cannot be collected."""
        if report.failed and self.collection is not None:
            self.collection.problems.append(report.longreprtext)

    def pytest_itemcollected(self, item: pytest.Item) -> None:
        """Remember the trial of an item."""
        callspec = getattr(item, "callspec", None)
        spec = None if callspec is None else callspec.params.get(f"{PREFIX}_trial")
        if isinstance(spec, TrialSpec) and self.collection is not None:
            self.collection.trials.append(spec)


def _settings_of(config: pytest.Config) -> Settings:
    directories = config.getini(f"{PREFIX}_tasks")
    return read_settings(
        config.rootpath,
        config.invocation_params.dir,
        chosen={option.name: config.getoption(option.key) for option in OPTIONS},
        ini=config.getini,
        task_directories=tuple(cast("list[str]", directories)) if directories else None,
    )
