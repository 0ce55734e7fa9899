"""What one process knows of its session once a task file is collected."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from pytest_agentbench.engine.engine import Engine
from pytest_agentbench.engine.recording import plan_trial, record_trial
from pytest_agentbench.engine.trial import Trial
from pytest_agentbench.engine.words import last_words, trial_output
from pytest_agentbench.errors import AgentbenchError, DefinitionError, StoreError
from pytest_agentbench.matrix.expand import expand
from pytest_agentbench.model.outcome import Outcome
from pytest_agentbench.model.plan import Plan, PlannedTrial
from pytest_agentbench.model.record import Record
from pytest_agentbench.model.task import SettingsLayer, TaskSpec
from pytest_agentbench.model.trial import TrialSpec
from pytest_agentbench.model.variant import Experiment
from pytest_agentbench.pytest_integration import compat
from pytest_agentbench.pytest_integration.controller import RUN_ID
from pytest_agentbench.pytest_integration.options import session_settings
from pytest_agentbench.pytest_integration.paths import relative_to
from pytest_agentbench.redaction import Redactor, printable
from pytest_agentbench.reports.story import describe_changes, story
from pytest_agentbench.results.artifacts import keep_artifacts
from pytest_agentbench.results.rundir import RunDirectory, fresh_run_id
from pytest_agentbench.settings import Settings
from pytest_agentbench.taskfiles.experiment import load_experiment

SESSION: pytest.StashKey[BenchSession] = pytest.StashKey()


class BenchSession:
    """One process's session with task files.

    ``refusal`` says why no agent may be started (results cannot be stored);
    ``internal_error`` that a bug of ours ended a trial.
    """

    def __init__(self, config: pytest.Config, settings: Settings) -> None:
        self.config = config
        self.settings = settings
        self.run_id = compat.worker_input(config, RUN_ID) or fresh_run_id()
        self.refusal: str | None = None
        self.internal_error = False
        self.planned: dict[str, PlannedTrial] = {}
        self.tasks: dict[str, TaskSpec] = {}
        self.broken: set[str] = set()
        self.leftover: tuple[Path, ...] = ()
        self._experiment: Experiment | AgentbenchError | None = None
        self._tags: set[str] = set()
        self._attempts: Counter[str] = Counter()
        self._engine: Engine | None = None
        self._run: RunDirectory | None = None

    def trials_of(self, task: TaskSpec) -> tuple[TrialSpec, ...]:
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
        for tag in task.tags:
            if tag not in self._tags:
                self._tags.add(tag)
                self.config.addinivalue_line("markers", f"{tag}: tag of agentbench tasks")
        return expand(task, experiment, self._command_line())

    def experiment(self) -> Experiment:
        """The experiment file's variants. Raises its error; in full only the first time."""
        if self._experiment is None:
            try:
                self._experiment = load_experiment(self.settings.rootdir, self.settings.experiment)
            except AgentbenchError as error:
                where = error.where if not isinstance(error, DefinitionError) else ""
                self._experiment = AgentbenchError(
                    "the experiment file is wrong, see the first error above", where=where
                )
                raise
        if isinstance(self._experiment, AgentbenchError):
            raise self._experiment
        return self._experiment

    def plan_item(self, item: pytest.Item, spec: TrialSpec, *, deselected: str | None) -> None:
        """Enter one collected item into the plan."""
        self.planned[item.nodeid] = plan_trial(spec, printable(item.nodeid), deselected)

    def plan(self) -> Plan:
        """All that was collected, in the order in which it is to run."""
        return Plan(trials=list(self.planned.values()))

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
        self._engine = build_engine(self.settings)
        self._engine.start(tasks.values())

    def stop_engine(self) -> None:
        """End what still runs and remove every sandbox. Idempotent."""
        engine, self._engine = self._engine, None
        if engine is not None:
            self.leftover = engine.stop()

    def next_attempt(self, nodeid: str) -> int:
        """1 for a trial's first attempt, 2 for its first rerun."""
        self._attempts[nodeid] += 1
        return self._attempts[nodeid]

    def note_internal_error(self) -> None:
        """Remember that the session has to end with pytest's exit status 3."""
        self.internal_error = True

    def conclude(self, trial: Trial, *, nodeid: str, attempt: int) -> tuple[Record, str]:
        """Keep the artifacts of an attempt that ended; return its record and its story."""
        artifacts = self._keep(trial, attempt)
        record = record_trial(trial, nodeid=nodeid, attempt=attempt, artifacts=artifacts)
        return record, self._story(trial, record)

    def _keep(self, trial: Trial, attempt: int) -> str | None:
        spec = trial.spec
        try:
            run = self.run_directory()
            kept = keep_artifacts(
                run,
                run.artifacts(spec.task.id, spec.variant.name, spec.repeat, attempt),
                trial_output(trial),
                outcome=trial.outcome or Outcome.ERROR,
                policy=self.settings.keep,
                redactor=Redactor(trial.secrets),
            )
        except StoreError as error:
            trial.diagnostics.append(f"artifacts were not kept: {error}")
            return None
        trial.diagnostics.extend(kept.diagnostics)
        return kept.path

    def _story(self, trial: Trial, record: Record) -> str:
        redactor = Redactor(trial.secrets)
        changes = trial.run.changes if trial.run else None
        return story(
            record,
            results_path=relative_to(self.settings.results, self.settings.rootdir)
            + f"/runs/{self.run_id}",
            changes=[redactor.text(line) for line in describe_changes(changes)] if changes else (),
            last_words=last_words(trial, redactor),
        )

    def _command_line(self) -> SettingsLayer:
        sandbox = self.settings.sandbox
        return {} if sandbox is None else {"sandbox.driver": sandbox}

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
