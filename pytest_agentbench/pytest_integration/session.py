"""What one process knows of its session once a task file is collected."""

from __future__ import annotations

from collections import Counter
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from pytest_agentbench.errors import AgentbenchError, DefinitionError
from pytest_agentbench.matrix.expand import Exclude, Expansion, Trials, repeats_lowered
from pytest_agentbench.matrix.select import exclusion_of
from pytest_agentbench.model.task import TaskSpec
from pytest_agentbench.model.trial import TrialSpec
from pytest_agentbench.model.variant import Experiment
from pytest_agentbench.options import PREFIX
from pytest_agentbench.pytest_integration import compat, compat_entry
from pytest_agentbench.pytest_integration.components import brought
from pytest_agentbench.pytest_integration.controller import RUN_ID
from pytest_agentbench.pytest_integration.experiments import Chosen, choose
from pytest_agentbench.pytest_integration.paths import relative_to
from pytest_agentbench.pytest_integration.sessionsettings import session_settings
from pytest_agentbench.pytest_integration.signals import unbroken
from pytest_agentbench.results.rundir import RunDirectory, fresh_run_id
from pytest_agentbench.settings import Settings
from pytest_agentbench.taskfiles.loader import load_task_file

if TYPE_CHECKING:
    from pytest_agentbench.engine.engine import Engine
    from pytest_agentbench.engine.trial import Trial
    from pytest_agentbench.model.record import Record

SESSION: pytest.StashKey[BenchSession] = pytest.StashKey()


class BenchSession:
    """One process's session with task files.

    ``refusal`` says why no agent may be started (results cannot be stored);
    ``misuse`` is why the project's own fixtures make any run wrong; ``internal_error`` that
    a bug of ours ended a trial; ``interrupted`` is the record of the one that Ctrl-C ended.
    """

    def __init__(self, config: pytest.Config, settings: Settings) -> None:
        self.config = config
        self.settings = settings
        self.run_id = compat.worker_input(config, RUN_ID) or fresh_run_id()
        self.refusal: str | None = None
        self.misuse: str | None = None
        self.internal_error = False
        self.interrupted: Record | None = None
        self.tasks: dict[str, TaskSpec] = {}
        self.broken: set[str] = set()
        self.leftover: tuple[Path, ...] = ()
        self._chosen: Chosen | AgentbenchError | None = None
        self._fewer_repeats = False
        self._expansion: Expansion | None = None
        self._loaded: dict[Path, tuple[TaskSpec, ...]] = {}
        self._marks: dict[str, pytest.MarkDecorator] = {}
        self._attempts: Counter[str] = Counter()
        self._engine: Engine | None = None
        self._run: RunDirectory | None = None

    def trials_of(self, task: TaskSpec) -> Trials:
        """The task's trials, in order. Raises ``AgentbenchError`` for an id that is taken."""
        experiment = self.experiment()
        other = self.tasks.setdefault(task.id, task)
        if other.position != task.position or other.row != task.row:
            first, second = (self._place(which) for which in (other, task))
            raise AgentbenchError(
                f"the id {task.id!r} is taken by {first}",
                where=second,
                advice="give one of them another id: some JUnit readers tell cases by name alone",
            )
        chosen = self._choice()
        if repeats_lowered(task, experiment, chosen.command_line, chosen.ini):
            self._fewer_repeats = True
        if self._expansion is None:
            self._expansion = Expansion(experiment, chosen.command_line, ini=chosen.ini)
        return self._expansion.trials(task, exclusion=self._exclusion_of(task))

    def task_file(self, path: Path) -> tuple[TaskSpec, ...]:
        """The tasks of a file. Raises ``DefinitionError``.

        Kept for the next who asks: several Python tests may share a task.
        """
        brought(self.config).require()
        if path not in self._loaded:
            self._loaded[path] = load_task_file(
                path, rootdir=self.settings.rootdir, sample=self.settings.sample
            )
        return self._loaded[path]

    def mark(self, tag: str) -> pytest.MarkDecorator:
        """The mark that a tag becomes; one for all tasks, and known to pytest."""
        found = self._marks.get(tag)
        if found is None:
            self.config.addinivalue_line("markers", f"{tag}: tag of agentbench tasks")
            found = self._marks[tag] = getattr(pytest.mark, tag)
        return found

    def _exclusion_of(self, task: TaskSpec) -> Exclude | None:
        """What says, by a trial's walls, why it is not run; None where nothing can."""
        rule = task.skip
        if rule is None or self.settings.include_skipped:
            return None
        from pytest_agentbench.pytest_integration.machine import this_machine

        return lambda walls: exclusion_of(rule, this_machine(walls))

    def experiment(self) -> Experiment:
        """The experiment's variants that run. Raises its error; in full only the first time."""
        return self._choice().experiment

    def narrowed_by_options(self) -> list[str]:
        """Which options made the plan smaller than the experiment, in words."""
        found = list(self._choice().narrowed)
        if self._fewer_repeats:
            said = (one.said for one in self.settings.typed if one.path == "repeats")
            found.append(f"repeats lowered by {next(said)}")
        sample = self.settings.sample
        if sample is not None and any(task.dataset is not None for task in self.tasks.values()):
            found.append(f"datasets sampled by --{PREFIX}-sample={sample}")
        return found

    def _choice(self) -> Chosen:
        if self._chosen is None:
            try:
                self._chosen = choose(self.settings, self.config)
            except AgentbenchError as error:
                where = error.where if not isinstance(error, DefinitionError) else ""
                self._chosen = AgentbenchError(
                    "the experiment file is wrong, see the first error above"
                    if isinstance(error, DefinitionError)
                    else "see the first error above",
                    where=where,
                )
                raise
        if isinstance(self._chosen, AgentbenchError):
            raise self._chosen
        return self._chosen

    def run_directory(self) -> RunDirectory:
        """The run's directory, made when it is first asked for. Raises ``StoreError``."""
        if self._run is None:
            self._run = RunDirectory.create(self.settings.results, run_id=self.run_id)
        return self._run

    def engine(self) -> Engine:
        """The running engine."""
        if self._engine is None:
            raise AgentbenchError("the engine was not started")
        return self._engine

    def start_engine(self, selected: list[TrialSpec]) -> None:
        """Build the engine and read the oracles of all selected tasks, before any agent."""
        from pytest_agentbench.wiring import build_engine

        tasks = {spec.task.id: spec.task for spec in selected}
        pins = RunDirectory(self.settings.results / "runs" / self.run_id).commits
        build = partial(build_engine, self.settings, slots=self.experiment().slots, pins=pins)
        drivers = sorted({spec.sandbox.driver for spec in selected})
        make = brought(self.config).make_sandbox
        try:
            with unbroken():  # or what it has made on disk would be nobody's
                self._engine = build(sandboxes=drivers, make_sandbox=make)
        except AgentbenchError as error:
            # An exception here would take a worker away without a word: its trials tell.
            if not compat_entry.is_worker(self.config):
                raise pytest.UsageError(str(error)) from error
            self.refusal = str(error)
            self._engine = build()
        self._engine.start(tasks.values(), self.tasks.values())

    def hurry(self) -> None:
        """Kill all that runs at once: the user does not want to wait."""
        if self._engine is not None:
            self._engine.hurry()

    def stop_engine(self) -> None:
        """End what still runs and remove every sandbox. Idempotent."""
        if self._engine is not None:
            # Not forgotten before: whoever loses patience meanwhile has it hurry.
            self.leftover = self._engine.stop()
            self._engine = None

    def next_attempt(self, nodeid: str) -> int:
        """1 for a trial's first attempt, 2 for its first rerun."""
        self._attempts[nodeid] += 1
        return self._attempts[nodeid]

    def note_internal_error(self) -> None:
        """Remember that the session has to end with pytest's exit status 3."""
        self.internal_error = True

    def conclude(self, trial: Trial, *, nodeid: str, attempt: int) -> tuple[Record, str]:
        """Keep the artifacts of an attempt that ended; return its record and its story."""
        from pytest_agentbench.pytest_integration.conclusion import conclude

        return conclude(self, trial, nodeid=nodeid, attempt=attempt)

    def _place(self, task: TaskSpec) -> str:
        path = relative_to(task.position.path, self.settings.rootdir)
        row = "" if task.row is None else f" (row {task.row})"
        return f"{path}:{task.position.line}{row}"


def bench_session(config: pytest.Config) -> BenchSession:
    """This process's session; begun, and its hooks registered, with the first task file."""
    if SESSION not in config.stash:
        from pytest_agentbench.pytest_integration.hooks import SessionHooks

        bench = BenchSession(config, session_settings(config))
        config.stash[SESSION] = bench
        config.pluginmanager.register(SessionHooks(bench), "agentbench-session")
    return config.stash[SESSION]
