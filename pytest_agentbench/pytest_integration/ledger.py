"""What the controlling process does: stores records, counts, and tells at the end.

It runs in pytest's one process, or on an xdist controller, where it sees reports
and plans only.
"""

from __future__ import annotations

import os
from collections.abc import Generator, Iterable
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path
from typing import Self

import pytest

from pytest_agentbench.credentials import credentials
from pytest_agentbench.engine.environment import secrets_in
from pytest_agentbench.engine.planned import HARNESS, bare_record
from pytest_agentbench.errors import StoreError, UsageError
from pytest_agentbench.model.outcome import Outcome, Reason
from pytest_agentbench.model.plan import Plan
from pytest_agentbench.model.record import Record
from pytest_agentbench.model.rollup import Rollup
from pytest_agentbench.model.variant import Experiment
from pytest_agentbench.options import OPTIONS
from pytest_agentbench.pytest_integration.components import brought
from pytest_agentbench.pytest_integration.junitfile import JunitFile, junit_path
from pytest_agentbench.pytest_integration.paths import relative_to
from pytest_agentbench.pytest_integration.reporting import detached
from pytest_agentbench.pytest_integration.signals import unbroken
from pytest_agentbench.redaction import Redactor, printable, redactor_of
from pytest_agentbench.reports.header import header_lines
from pytest_agentbench.reports.terminal import summary_lines
from pytest_agentbench.reports.view import build_view
from pytest_agentbench.results.manifest import (
    Counts,
    RunManifest,
    platform_name,
    portable_arguments,
    python_version,
    write_manifest,
)
from pytest_agentbench.results.plans import ProcessPlans, agree, merge, write_plan
from pytest_agentbench.results.reportfile import check_report, write_report
from pytest_agentbench.results.rescue import RescueStore
from pytest_agentbench.results.rundir import RunDirectory, check_writable
from pytest_agentbench.settings import Settings
from pytest_agentbench.stats.rollup import roll_up

_CRASHED = "???"
"""Phase of the report that xdist makes for the item that a dead worker was running."""


class Ledger:
    """One run's records, from the first report to the last line."""

    def __init__(
        self,
        config: pytest.Config,
        settings: Settings,
        run: RunDirectory,
        experiment: Experiment,
    ) -> None:
        self._config = config
        self._settings = settings
        self._run = run
        self._experiment = experiment
        self._interrupted = False
        self.plans: dict[str, Plan] = {}
        self._of_processes = ProcessPlans(run)
        self._store = RescueStore(run.records)
        self._records: list[Record] = []
        self._crashed: dict[str, str] = {}
        self.troubles: list[str] = []
        self._rollup: Rollup | None = None
        self._junit = JunitFile(config)
        self._written: Path | None = None
        self._started = datetime.now(UTC)

    @classmethod
    def open(
        cls,
        config: pytest.Config,
        settings: Settings,
        run_id: str,
        experiment: Experiment,
        *,
        plan: Plan | None = None,
    ) -> Self:
        """Begin a run, before anything is spent.

        ``plan`` is that of this process; without one, those that the workers have written
        are read. Raises ``AgentbenchError`` where the run cannot be stored, or where a
        plan refuses to be run.
        """
        check_writable(settings.results)
        if settings.junit is not None:
            _check_junit(settings.junit, junit_path(config))
        run = RunDirectory.create(settings.results, run_id=run_id)
        ledger = cls(config, settings, run, experiment)
        if plan is None:
            ledger.read_plans()
        else:
            ledger.plans["main"] = plan
        trouble = run.point_latest()
        if trouble is not None:
            ledger.troubles.append(trouble)
        ledger.write_manifest()
        return ledger

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Store a trial's record as soon as it is known."""
        self._junit.note(report)
        record = detached(report)
        if record is not None:
            self.enter(record)
        elif report.when == _CRASHED:
            self._crashed[report.nodeid] = str(report.longrepr)

    def enter(self, record: Record) -> None:
        """Store one record, then tell those who listen."""
        self._records.append(record)
        self._store.append(record)
        self.troubles.extend(brought(self._config).tell(record))

    # Innermost: pytest's JUnit file is written when this goes on, and the summary is not yet.
    @pytest.hookimpl(wrapper=True, trylast=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> Generator[None]:
        """Account for every planned trial, close the run, and put pytest's JUnit file right."""
        with unbroken():
            plan = self._settle_plan()
            self._close(session, plan)
        yield
        trouble = self._junit.settle(plan.selected, self._records)
        if trouble is not None:
            self.troubles.append(trouble)
            self._let_trouble_show(session)
            self.write_manifest(int(session.exitstatus))

    def _close(self, session: pytest.Session, plan: Plan) -> None:
        self._enter_missing(plan)
        self._store.close()
        self.troubles.extend(self._store.trouble)
        self._rollup = roll_up(plan, self._records)
        self._write_junit(plan, self._rollup)
        internal = any(record.reason is Reason.INTERNAL for record in self._records)
        if internal or self._rollup.unplanned:
            session.exitstatus = pytest.ExitCode.INTERNAL_ERROR
        self._let_trouble_show(session)
        self.write_manifest(int(session.exitstatus))

    def _let_trouble_show(self, session: pytest.Session) -> None:
        """Results that could not be stored are not a success."""
        if self.troubles and session.exitstatus == pytest.ExitCode.OK:
            session.exitstatus = pytest.ExitCode.TESTS_FAILED

    def _write_junit(self, plan: Plan, rollup: Rollup) -> None:
        path = self._settings.junit
        if path is None:
            return
        from pytest_agentbench.reports.junit_suites import suites_xml

        started_at = self._started.isoformat(timespec="seconds")
        try:
            write_report(path, suites_xml(plan, self._records, rollup, started_at=started_at))
        except StoreError as error:
            self.troubles.append(str(error))
        else:
            self._written = path

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """Print our section."""
        if self._rollup is None:
            return
        reporter = terminalreporter
        view = build_view(
            self._rollup,
            results=relative_to(self._run.path, self._settings.rootdir),
            every_task=reporter.verbosity > 0,
            trouble=list(map(self._redactor.text, self.troubles)),
        )
        label = self._settings.label
        # Not section(): that writes its blank line below the heading.
        reporter.write_sep("=", f"agentbench: {printable(label)}" if label else "agentbench")
        if self._experiment.implicit:
            reporter.write_line(self._experiment.source)
        for line in summary_lines(view, width=reporter._tw.fullwidth):  # noqa: SLF001
            reporter.write_line(line.text, **({line.style: True} if line.style else {}))
        if self._written is not None:
            shown = relative_to(self._written, self._settings.rootdir)
            reporter.write_line(f"pass rates as JUnit XML: {printable(shown)}")

    def read_plans(self) -> None:
        """Take in what the processes have planned.

        Raises ``UsageError`` where a plan says that nothing of it may be run.
        """
        try:
            self.plans |= self._of_processes.read()
        except StoreError as error:
            self.troubles.append(str(error))
        for plan in self.plans.values():
            if plan.refusal is not None:
                raise UsageError(plan.refusal)

    def announce(self) -> list[str]:
        """The header's lines, once all processes have planned."""
        self.write_manifest()
        return header_lines(merge(self.plans), self._experiment, label=self._settings.label)

    def _settle_plan(self) -> Plan:
        if not self.plans:
            self.read_plans()
        self.troubles.extend(agree(self.plans))
        plan = merge(self.plans)
        try:
            write_plan(self._run.plan, plan)
        except StoreError as error:
            self.troubles.append(str(error))
        return plan

    def pytest_keyboard_interrupt(self, excinfo: pytest.ExceptionInfo[BaseException]) -> None:
        """Tell an interruption from a session that stops by itself (``-x``)."""
        self._interrupted = not excinfo.errisinstance(pytest.Session.Interrupted)

    def _enter_missing(self, plan: Plan) -> None:
        """Give every trial that was to run a record: a crash is an error, the rest never ran."""
        known = {record.key for record in self._records}
        for trial in plan.selected:
            if trial.key in known:
                continue
            if trial.nodeid in self._crashed:
                record = bare_record(
                    trial,
                    outcome=Outcome.ERROR,
                    reason=Reason.CRASH,
                    message=self._redactor.text(self._crashed[trial.nodeid]),
                )
            else:
                reason = Reason.INTERRUPTED if self._interrupted else Reason.STOPPED
                record = bare_record(trial, outcome=Outcome.CANCELLED, reason=reason)
            self.enter(record)

    def _options(self) -> dict[str, str]:
        """What was asked for, on the command line or in the ini file, by option."""
        asked = {
            option.name: given
            for option in OPTIONS
            if (given := self._config.getoption(option.key) or self._config.getini(option.key))
        }
        texts = [
            " ".join(map(str, one)) if isinstance(one, list) else str(one) for one in asked.values()
        ]
        return dict(zip(asked, self._portable(texts), strict=True))

    def _portable(self, texts: Iterable[str]) -> list[str]:
        return portable_arguments(
            list(texts),
            rootdir=self._settings.rootdir,
            home=Path.home(),
            redactor=self._redactor,
        )

    @cached_property
    def _redactor(self) -> Redactor:
        """What takes out of the run's own texts all that may be secret in this process."""
        settings = (*self._settings.typed, *self._settings.configured)
        written = {one.path: one.text for one in settings}
        variants = (secrets_in(one.env, os.environ) for one in self._experiment.variants)
        return redactor_of(credentials(os.environ) | credentials(written) | set().union(*variants))

    def write_manifest(self, status: int | None = None) -> None:
        """Write the manifest as far as it is known; ``status`` is the session's exit status."""
        plan = merge(self.plans)
        manifest = RunManifest(
            run_id=self._run.run_id,
            harness=HARNESS,
            pytest=pytest.__version__,
            python=python_version(),
            platform=platform_name(),
            label=self._settings.label,
            arguments=self._portable(self._config.invocation_params.args),
            options=self._options(),
            experiment=self._experiment.source,
            experiment_files=self._portable(map(str, self._experiment.files)),
            baseline=self._experiment.baseline,
            suites=plan.suites,
            variants=[variant.name for variant in self._experiment.variants],
            sandboxes=sorted({r.sandbox.driver for r in self._records if r.sandbox}),
            started_at=self._started.isoformat(),
            finished_at=None if status is None else datetime.now(UTC).isoformat(),
            exit_status=status,
            counts=None if self._rollup is None else _counts(self._rollup),
            complete=None if self._rollup is None else self._rollup.complete,
            narrowed=plan.narrowed,
            trouble=self.troubles,
        )
        try:
            clean = self._redactor.tree(manifest.model_dump(mode="json"))
            write_manifest(self._run.manifest, RunManifest.model_validate(clean))
        except StoreError as error:
            self.troubles.append(str(error))


def _check_junit(path: Path, cases: Path | None) -> None:
    """Make sure that the suite-level file can be written. Raises ``UsageError``."""
    option = "--agentbench-junit"
    if cases is not None and cases.resolve() == path.resolve():
        raise UsageError(
            "is the file of --junitxml too, and one would replace the other",
            where=f"{option}: {path}",
            advice="two names",
        )
    check_report(path, said=option)


def _counts(rollup: Rollup) -> Counts:
    suite = rollup.suite
    return Counts(
        planned=suite.planned,
        passed=suite.passed,
        failed=suite.failed,
        error=suite.error,
        skipped=suite.skipped,
        cancelled=suite.cancelled,
    )
