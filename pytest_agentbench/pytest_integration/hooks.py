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
from pytest_agentbench.pytest_integration.chain import CHAIN, Chain
from pytest_agentbench.pytest_integration.collect import TRIALS_ATTRIBUTE
from pytest_agentbench.pytest_integration.ledger import Ledger
from pytest_agentbench.pytest_integration.options import task_claims
from pytest_agentbench.pytest_integration.paths import relative_to
from pytest_agentbench.pytest_integration.reporting import attach, headline, move_time, unstarted
from pytest_agentbench.pytest_integration.session import BenchSession
from pytest_agentbench.pytest_integration.signals import Interruption
from pytest_agentbench.results.plans import write_process_plan

if TYPE_CHECKING:
    from pytest_agentbench.model.trial import TrialSpec

_PARAMETER = "agentbench_trial"


class SessionHooks:
    """What pytest asks of one process's session with task files."""

    def __init__(self, bench: BenchSession) -> None:
        self._bench = bench
        self._interruption = Interruption()
        self._collected: list[tuple[pytest.Item, TrialSpec]] = []

    def pytest_generate_tests(self, metafunc: pytest.Metafunc) -> None:
        """One parameter set per trial: ``fix-bug[codex-r1]``."""
        trials: Sequence[TrialSpec] | None = getattr(metafunc.function, TRIALS_ATTRIBUTE, None)
        if trials is not None:
            ids = [trial.parameter for trial in trials]
            metafunc.parametrize(_PARAMETER, trials, ids=ids, indirect=True)

    @pytest.hookimpl(tryfirst=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        """Order trials by repeat, task and variant, in the places that trials have.

        Other items keep theirs. First of all, so that plugins that shuffle have the last word.
        """
        trials = {
            place: spec for place, item in enumerate(items) if (spec := trial_of(item)) is not None
        }
        self._collected = [(items[place], spec) for place, spec in trials.items()]
        order = SessionOrder(trials.values())
        ranked = sorted(trials, key=lambda place: order.key(trials[place]))
        for place, item in zip(trials, [items[place] for place in ranked], strict=True):
            items[place] = item

    def pytest_deselected(self, items: Sequence[pytest.Item]) -> None:
        """Keep deselected trials in the plan."""
        for item in items:
            spec = trial_of(item)
            if spec is not None:
                self._bench.plan_item(item, spec, deselected="deselected")

    @pytest.hookimpl(trylast=True)
    def pytest_collection_finish(self, session: pytest.Session) -> None:
        """Write the plan, and read every oracle before the first agent starts."""
        selected = []
        for item in session.items:
            spec = trial_of(item)
            if spec is not None:
                self._bench.plan_item(item, spec, deselected=None)
                selected.append(spec)
        self._plan_removed()
        if not selected or self._runs_nothing(session):
            return
        self._write_plan()
        self._interruption.install(worker=compat.is_worker(session.config))
        self._bench.start_engine(selected)

    @staticmethod
    def _runs_nothing(session: pytest.Session) -> bool:
        """Whether pytest is only asked to show something, or is about to stop.

        Then no run begins: ``latest`` goes on naming one that was.
        """
        shows = ("collectonly", "setuponly", "setupplan", "showfixtures", "show_fixtures_per_test")
        if any(session.config.getoption(name, default=False) for name in shows):
            return True
        goes_on = session.config.getoption("continue_on_collection_errors", default=False)
        return bool(session.testsfailed) and not goes_on

    def _plan_removed(self) -> None:
        """Enter trials that somebody took away without saying so (plugins that shard do)."""
        for item, spec in self._collected:
            if item.nodeid not in self._bench.planned:
                self._bench.plan_item(item, spec, deselected="removed by a plugin")

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        """Remember task files that could not be collected: their trials are in no plan."""
        if report.failed and task_claims(self._bench.config).claims(
            self._bench.config.rootpath / report.nodeid
        ):
            self._bench.broken.add(report.nodeid)

    def _write_plan(self) -> None:
        bench, config = self._bench, self._bench.config
        try:
            if not compat.is_worker(config):
                ledger = Ledger.open(config, bench.settings, bench.run_id, broken=bench.broken)
                config.pluginmanager.register(ledger, "agentbench-ledger")
                ledger.plans["main"] = bench.plan()
            write_process_plan(bench.run_directory(), compat.worker_name(config), bench.plan())
        except AgentbenchError as error:
            if not compat.is_worker(config):
                raise pytest.UsageError(str(error)) from error
            # An exception here would take the worker away without a word.
            bench.refusal = str(error)

    def pytest_report_collectionfinish(self, items: Sequence[pytest.Item]) -> str | None:
        """Say what is about to be run, and where nothing will isolate it."""
        trials = [spec for item in items if (spec := trial_of(item)) is not None]
        if not trials or self._bench.config.option.verbose < 0:
            return None
        experiment = self._bench.experiment()
        variants = ", ".join(dict.fromkeys(spec.variant.name for spec in trials))
        drivers = sorted({spec.sandbox.driver for spec in trials})
        walls = ", ".join(f"{name} (unisolated)" if name == "local" else name for name in drivers)
        count = "1 trial" if len(trials) == 1 else f"{len(trials)} trials"
        line = f"agentbench: {count} of {variants} ({experiment.source}); sandbox: {walls}"
        over = task_claims(self._bench.config).passed_over()
        if over:
            names = ", ".join(relative_to(path, self._bench.settings.rootdir) for path in over[:5])
            more = f" and {len(over) - 5} more" if len(over) > 5 else ""  # noqa: PLR2004
            line += f"\nagentbench: no task files, for they have no key of ours: {names}{more}"
        return line

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
            self._dress(report, call, chain, chain.record)
        elif report.when == "setup" and not report.passed:
            attach(report, unstarted(report, spec))
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


def trial_of(item: pytest.Item) -> TrialSpec | None:
    """The trial that an item runs; None for items that are not ours."""
    callspec = getattr(item, "callspec", None)
    return None if callspec is None else callspec.params.get(_PARAMETER)
