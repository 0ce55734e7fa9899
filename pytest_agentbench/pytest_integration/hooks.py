"""Hooks of a process that collects and runs trials; registered with the first task file."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from typing import TYPE_CHECKING

import pytest

from pytest_agentbench.errors import AgentbenchError, TaskFailed, TrialError
from pytest_agentbench.matrix.order import SessionOrder
from pytest_agentbench.model.outcome import Outcome
from pytest_agentbench.pytest_integration import compat, compat_entry
from pytest_agentbench.pytest_integration.collect import (
    TaskFile,
    head_of,
    parametrize,
    place_of,
    runs_trial,
    trial_of,
)
from pytest_agentbench.pytest_integration.discretion import Discretion, own_redactor
from pytest_agentbench.pytest_integration.narrowing import Narrowing
from pytest_agentbench.pytest_integration.options import task_claims
from pytest_agentbench.pytest_integration.overrides import misuse_of
from pytest_agentbench.pytest_integration.paths import relative_to
from pytest_agentbench.pytest_integration.planning import Planning, deselection
from pytest_agentbench.pytest_integration.sending import sendable
from pytest_agentbench.pytest_integration.session import BenchSession
from pytest_agentbench.pytest_integration.signals import Interruption
from pytest_agentbench.redaction import Redactor
from pytest_agentbench.reports.header import header_lines
from pytest_agentbench.reports.junit import PREFIX
from pytest_agentbench.taskfiles import parsed

if TYPE_CHECKING:
    from pytest_agentbench.model.record import Record
    from pytest_agentbench.model.trial import TrialSpec
    from pytest_agentbench.pytest_integration.chain import Chain
    from pytest_agentbench.pytest_integration.ledger import Ledger


class SessionHooks:
    """What pytest asks of one process's session with task files."""

    def __init__(self, bench: BenchSession) -> None:
        self._bench = bench
        self._interruption = Interruption(bench.config, hurry=bench.hurry, end=bench.stop_engine)
        # From the first task file on: SIGTERM while files are collected ends as Ctrl-C does.
        self._interruption.install(worker=compat_entry.is_worker(bench.config))
        bench.config.pluginmanager.register(self._interruption, "agentbench-signals")
        self._narrowing = Narrowing(bench.config, bench.broken)
        self._planning = Planning(bench, self._narrowing)
        self._running: pytest.Item | None = None
        self._own = own_redactor()
        discretion = Discretion(bench.config, self._redactor)
        bench.config.pluginmanager.register(discretion, "agentbench-discretion")
        self._header: list[str] = []
        self._collected: list[pytest.Item] = []

    @pytest.hookimpl(tryfirst=True)
    def pytest_generate_tests(self, metafunc: pytest.Metafunc) -> None:
        """One parameter set per trial: ``fix-bug[codex-r1]``, further parameters behind it."""
        parametrize(metafunc)
        if self._bench.misuse is None:
            self._bench.misuse = misuse_of(metafunc)

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> Generator[None]:
        """Order trials by repeat, task and variant, in the places that trials have.

        Other items keep theirs, Python tests with trials too. First of all, so that plugins
        that shuffle have the last word: those that are wrappers (pytest-randomly 5) too.
        Trials that share a parameter of a wider fixture stay together, as pytest has put
        them: else it would be made anew for each of them.
        """
        self._collected = []
        places: list[int] = []
        ranks: list[tuple[int, ...]] = []
        order = SessionOrder()
        groups: dict[tuple[tuple[str, int], ...], int] = {}
        for place, item in enumerate(items):
            head = head_of(item)
            if head is None:
                continue
            self._collected.append(item)
            if type(item.parent) is TaskFile:
                group = groups.setdefault(compat.wide_parameters(item), len(groups))
                places.append(place)
                ranks.append((group, *order.key(head), place))
        ranked = [items[place] for *_, place in sorted(ranks)]
        for place, item in zip(places, ranked, strict=True):
            items[place] = item
        return (yield)

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
        shows = self._runs_nothing(session)
        runs = bool(selected) and not shows
        if self._collected:
            self._settle_plan(runs=runs)
        self._collected = []
        yield
        startable: list[TrialSpec] = []
        if not shows:
            # Also of tests that only look into a sandbox.
            places = filter(None, map(place_of, session.items))
            found = (place.trial() for place in places)
            startable += [spec for spec in found if spec.exclusion is None]
        if startable:
            self._bench.start_engine(startable)

    @staticmethod
    def _runs_nothing(session: pytest.Session) -> bool:
        """Whether pytest is only asked to show something, or is about to stop.

        Then no run begins: ``latest`` goes on naming one that was.
        """
        if compat.only_shows(session.config):
            return True
        goes_on = session.config.getoption("continue_on_collection_errors", default=False)
        # xdist runs what could be collected, whatever could not be.
        return (
            bool(session.testsfailed) and not goes_on and not compat_entry.is_worker(session.config)
        )

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
        worker = compat_entry.is_worker(config)
        tells = not worker and compat.verbosity(config) >= 0
        # Of ten thousand trials a plan takes long to make: not where nobody would see it.
        plan = self._planning.plan() if runs or tells else None
        refusal = self._planning.refusal() if plan is None else plan.refusal
        if plan is not None and tells:
            self._header = header_lines(plan, bench.experiment(), label=bench.settings.label)
        if refusal is not None:
            if not worker:
                raise pytest.UsageError(refusal)
            # An exception here would take the worker away without a word: its controller
            # reads the refusal in the plan.
            bench.refusal = refusal
        if plan is None or not runs:
            return
        from pytest_agentbench.results.plans import write_process_plan

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
    def pytest_report_to_serializable(self) -> Generator[None, object, object]:
        """Let no text of a report end an xdist session."""
        data = yield
        return sendable(data)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(
        self, item: pytest.Item, call: pytest.CallInfo[None]
    ) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        """Tell the story instead of a traceback, put the time where it belongs, add the record."""
        report = yield
        if place_of(item) is None:
            return report
        # With it comes the engine, which is not needed to collect.
        from pytest_agentbench.pytest_integration.chain import CHAIN, replace_properties
        from pytest_agentbench.pytest_integration.reporting import (
            attach,
            attached,
            expecting,
            move_time,
            unstarted,
        )

        chain = item.stash.get(CHAIN, None)
        compat.change_texts(report, self._redactor().text)
        if chain is not None and report.when == "teardown":
            # Warnings are told when the test is over.
            self._own = chain.trial.redactor
            del item.stash[CHAIN]
        spec = trial_of(item)
        if spec is None:
            return report
        if chain is not None:
            self._conclude(chain, report, call)
        if chain is not None and report.when == "setup" and report.passed:
            chain.in_setup_s = chain.span_s
            move_time(report, -chain.in_setup_s)
        elif chain is not None and chain.record is not None:
            self._dress(report, call, chain, expecting(chain.record, report))
        elif report.when == "setup" and not report.passed:
            never_ran = expecting(unstarted(report, call, spec), report)
            attach(report, never_ran)
            replace_properties(item, never_ran)
        record = attached(report)
        if record is not None and record.expected is not None:
            # JUnit's writer takes what stands on the item when the teardown is reported.
            item.user_properties.append((f"{PREFIX}expected", record.expected))
        return report

    @staticmethod
    def _conclude(chain: Chain, report: pytest.TestReport, call: pytest.CallInfo[None]) -> None:
        """Make the record of a trial whose agent has run and that nobody has scored."""
        if chain.record is not None or chain.trial.run is None:
            return
        if report.when == "call":
            chain.settle(call)
        elif report.when == "setup" and not report.passed:
            chain.broke(call)

    @pytest.hookimpl(trylast=True)
    def pytest_runtest_setup(self, item: pytest.Item) -> None:
        """Once all fixtures are there, see that an agent has run: they may be overridden."""
        if self._starts_nothing(item.config) or not runs_trial(item):
            return
        from pytest_agentbench.pytest_integration.chain import CHAIN

        chain = item.stash.get(CHAIN, None)
        if chain is None:
            raise TrialError(
                f"{item.nodeid}: the fixtures of the trial are overridden, and no agent ran. "
                "Try: let the override take the fixture of its own name as an argument"
            )
        arguments: dict[str, object] = getattr(item, "funcargs", {})
        asked = ("agentbench_run", "agentbench_verdict")
        chain.confirm({name: arguments[name] for name in asked if name in arguments})

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_call(self, item: pytest.Item) -> Generator[None]:
        """A body that goes on after its trial has broken has measured nothing."""
        yield
        if runs_trial(item):
            from pytest_agentbench.pytest_integration.chain import CHAIN

            chain = item.stash.get(CHAIN, None)
            if chain is not None:
                chain.insist()

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Generator[None, object, object]:
        """Keep what an agent did where the test that asked for it is broken off."""
        self._running, self._own = item, own_redactor()
        try:
            return (yield)
        except (KeyboardInterrupt, pytest.exit.Exception):
            from pytest_agentbench.pytest_integration.chain import CHAIN

            chain = item.stash.get(CHAIN, None)
            if chain is not None:
                chain.interrupt()
            raise

    def _redactor(self) -> Redactor:
        """That of the trial that runs; before there is one, and elsewhere, the process's own."""
        if self._running is None or place_of(self._running) is None:
            return self._own
        from pytest_agentbench.pytest_integration.chain import CHAIN

        chain = self._running.stash.get(CHAIN, None)
        return self._own if chain is None else chain.trial.redactor

    @staticmethod
    def _starts_nothing(config: pytest.Config) -> bool:
        return bool(config.getoption("setuponly", default=False))

    def _dress(
        self, report: pytest.TestReport, call: pytest.CallInfo[None], chain: Chain, record: Record
    ) -> None:
        from pytest_agentbench.pytest_integration.reporting import attach, headline, move_time

        scored = record.outcome in (Outcome.PASSED, Outcome.FAILED)
        if report.when == "setup":
            attach(report, record)
        elif report.when == "call":
            move_time(report, chain.in_setup_s)
            attach(report, record)
        if record.test is not None and report.when == "call" and report.failed:
            # The traceback is the test's own: what the agent did stands below it.
            report.sections.append(("agentbench", chain.story))
        told = call.excinfo is not None and call.excinfo.errisinstance((TaskFailed, TrialError))
        if told and report.when in ("setup", "call") and (scored or report.failed):
            line = self._bench.config.getoption("tbstyle", default="auto") == "line"
            story = chain.story.partition("\n")[0] if line else chain.story
            report.longrepr = headline(call, story, record, report.location)

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """Tell what an agent made so that it cannot be removed."""
        for path in self._bench.leftover:
            terminalreporter.write_line(f"agentbench: cannot be removed: {path}", red=True)

    def pytest_keyboard_interrupt(self) -> None:
        """Keep the record of the trial that was interrupted; it has no report."""
        record = self._bench.interrupted
        ledger: Ledger | None = self._bench.config.pluginmanager.get_plugin("agentbench-ledger")
        if record is not None and ledger is not None:
            ledger.enter(record)
