"""Hooks of a process that collects and runs trials; registered with the first task file."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from typing import TYPE_CHECKING

import pytest

from pytest_agentbench.errors import AgentbenchError, TaskFailed, TrialError
from pytest_agentbench.matrix.order import SessionOrder
from pytest_agentbench.model.outcome import Outcome
from pytest_agentbench.model.record import Record
from pytest_agentbench.pytest_integration import compat
from pytest_agentbench.pytest_integration.chain import CHAIN, Chain, replace_properties
from pytest_agentbench.pytest_integration.collect import (
    TaskFile,
    head_of,
    parametrize,
    runs_trial,
    trial_of,
)
from pytest_agentbench.pytest_integration.narrowing import Narrowing
from pytest_agentbench.pytest_integration.options import task_claims
from pytest_agentbench.pytest_integration.paths import relative_to
from pytest_agentbench.pytest_integration.planning import Planning, deselection
from pytest_agentbench.pytest_integration.reporting import (
    attach,
    attached,
    expecting,
    headline,
    move_time,
    unstarted,
)
from pytest_agentbench.pytest_integration.session import BenchSession
from pytest_agentbench.pytest_integration.signals import Interruption
from pytest_agentbench.reports.header import header_lines
from pytest_agentbench.reports.junit import PREFIX
from pytest_agentbench.results.plans import write_process_plan
from pytest_agentbench.taskfiles import parsed

if TYPE_CHECKING:
    from pytest_agentbench.model.trial import TrialSpec


class SessionHooks:
    """What pytest asks of one process's session with task files."""

    def __init__(self, bench: BenchSession) -> None:
        self._bench = bench
        self._interruption = Interruption()
        self._narrowing = Narrowing(bench.config, bench.broken)
        self._planning = Planning(bench, self._narrowing)
        self._header: list[str] = []
        self._collected: list[pytest.Item] = []

    def pytest_generate_tests(self, metafunc: pytest.Metafunc) -> None:
        """One parameter set per trial: ``fix-bug[codex-r1]``."""
        parametrize(metafunc)

    @pytest.hookimpl(tryfirst=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        """Order trials by repeat, task and variant, in the places that trials have.

        Other items keep theirs. First of all, so that plugins that shuffle have the last word.
        """
        trials = {
            place: head for place, item in enumerate(items) if (head := head_of(item)) is not None
        }
        self._collected = [items[place] for place in trials]
        order = SessionOrder(trials.values())
        ranked = sorted(trials, key=lambda place: order.key(trials[place]))
        for place, item in zip(trials, [items[place] for place in ranked], strict=True):
            items[place] = item

    def pytest_deselected(self, items: Sequence[pytest.Item]) -> None:
        """Keep deselected trials in the plan."""
        why = deselection(self._bench.config)
        for item in items:
            if runs_trial(item):
                self._planning.enter(item, deselected=why)

    @pytest.hookimpl(wrapper=True)
    def pytest_collection_finish(self, session: pytest.Session) -> Generator[None]:
        """Write the plan; once all others are done, read every oracle before the first agent.

        The plan comes first: an xdist worker tells its controller in this hook that it is
        ready, and the controller wants to read the plan.
        """
        parsed.keep()
        selected = list(filter(runs_trial, session.items))
        for item in selected:
            self._planning.enter(item)
        self._planning.enter_removed(self._collected)
        runs = bool(selected) and not self._runs_nothing(session)
        if self._collected:
            self._settle_plan(runs=runs)
        self._collected = []
        yield
        startable: list[TrialSpec] = []
        if runs:
            found = map(trial_of, selected)
            startable += [spec for spec in found if spec is not None and spec.exclusion is None]
        if startable:
            self._interruption.install(worker=compat.is_worker(session.config))
            self._bench.start_engine(startable)

    @staticmethod
    def _runs_nothing(session: pytest.Session) -> bool:
        """Whether pytest is only asked to show something, or is about to stop.

        Then no run begins: ``latest`` goes on naming one that was.
        """
        shows = ("collectonly", "setuponly", "setupplan", "showfixtures", "show_fixtures_per_test")
        if any(session.config.getoption(name, default=False) for name in shows):
            return True
        goes_on = session.config.getoption("continue_on_collection_errors", default=False)
        # xdist runs what could be collected, whatever could not be.
        return bool(session.testsfailed) and not goes_on and not compat.is_worker(session.config)

    @pytest.hookimpl(wrapper=True, trylast=True)
    def pytest_make_collect_report(
        self, collector: pytest.Collector
    ) -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
        """See what a task file holds; innermost of all, before ``--lf`` takes some of it away."""
        report = yield
        if isinstance(collector, TaskFile):
            self._narrowing.made(report)
        return report

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        """See what is left of a task file, and remember those that could not be collected."""
        self._narrowing.told(report)

    def _settle_plan(self, *, runs: bool) -> None:
        """Make the plan, and write it where anything is to run. Raises pytest's ``UsageError``."""
        bench, config = self._bench, self._bench.config
        plan = self._planning.plan()
        worker = compat.is_worker(config)
        if not worker and config.option.verbose >= 0:
            self._header = header_lines(plan, bench.experiment(), label=bench.settings.label)
        if plan.refusal is not None:
            if not worker:
                raise pytest.UsageError(plan.refusal)
            # An exception here would take the worker away without a word: its controller
            # reads the refusal in the plan.
            bench.refusal = plan.refusal
        if not runs:
            return
        try:
            if not worker:
                from pytest_agentbench.pytest_integration.ledger import Ledger

                experiment = bench.experiment()
                ledger = Ledger.open(config, bench.settings, bench.run_id, experiment, plan=plan)
                config.pluginmanager.register(ledger, "agentbench-ledger")
            write_process_plan(bench.run_directory(), compat.worker_name(config), plan)
        except AgentbenchError as error:
            if not worker:
                raise pytest.UsageError(str(error)) from error
            bench.refusal = str(error)

    def pytest_report_collectionfinish(self) -> list[str]:
        """Say what is about to be run, and where nothing will isolate it."""
        bench = self._bench
        lines = self._header
        over = task_claims(bench.config).passed_over()
        if lines and over:
            names = ", ".join(relative_to(path, bench.settings.rootdir) for path in over[:5])
            more = f" and {len(over) - 5} more" if len(over) > 5 else ""  # noqa: PLR2004
            lines.append(f"agentbench: no task files, for they have no key of ours: {names}{more}")
        return lines

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(
        self, item: pytest.Item, call: pytest.CallInfo[None]
    ) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        """Tell the story instead of a traceback, put the time where it belongs, add the record."""
        report = yield
        spec = trial_of(item)
        if spec is None:
            return report
        chain = item.stash.get(CHAIN, None)
        if chain is not None and chain.record is not None:
            self._dress(report, call, chain, expecting(chain.record, report))
        elif report.when == "setup" and not report.passed:
            never_ran = expecting(unstarted(report, call, spec), report)
            attach(report, never_ran)
            replace_properties(item, never_ran)
        record = attached(report)
        if record is not None and record.expected is not None:
            # JUnit's writer takes what stands on the item when the teardown is reported.
            item.user_properties.append((f"{PREFIX}expected", record.expected))
        if report.when == "teardown" and chain is not None:
            del item.stash[CHAIN]
        return report

    def _dress(
        self, report: pytest.TestReport, call: pytest.CallInfo[None], chain: Chain, record: Record
    ) -> None:
        scored = record.outcome in (Outcome.PASSED, Outcome.FAILED)
        if report.when == "setup":
            if report.passed:
                move_time(report, -chain.span_s)
            else:
                attach(report, record)
        elif report.when == "call":
            move_time(report, chain.span_s)
            attach(report, record)
        told = call.excinfo is not None and call.excinfo.errisinstance((TaskFailed, TrialError))
        if told and report.when in ("setup", "call") and (scored or report.failed):
            report.longrepr = headline(call, chain.story, record, report.location)

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self) -> None:
        """Leave no process and no sandbox; last, since pytest tears fixtures down here too."""
        self._bench.stop_engine()

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """Tell what an agent made so that it cannot be removed."""
        for path in self._bench.leftover:
            terminalreporter.write_line(f"agentbench: cannot be removed: {path}", red=True)

    def pytest_unconfigure(self) -> None:
        """The same where the session never got to its end."""
        self._bench.stop_engine()
        self._interruption.restore()
