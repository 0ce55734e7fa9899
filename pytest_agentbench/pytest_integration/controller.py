"""What an xdist controller does before there are trials.

It hands the run's id to the workers, and opens the ledger when the first of them
has found trials. Light until then: most sessions have none.
"""

from __future__ import annotations

import contextlib
import signal
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import pytest

from pytest_agentbench.errors import AgentbenchError, UsageError
from pytest_agentbench.pytest_integration import compat
from pytest_agentbench.pytest_integration.options import task_candidates, task_claims
from pytest_agentbench.pytest_integration.sessionsettings import has_experiment, session_settings
from pytest_agentbench.pytest_integration.signals import (
    Interruption,
    see_dead,
    send,
)

if TYPE_CHECKING:
    from pytest_agentbench.pytest_integration.ledger import Ledger

_PATIENCE_S = 3.0
"""How long the workers may take to clean up once the user has lost patience."""

RUN_ID = "agentbench_run_id"
"""Key under which a controller tells its workers the run's id."""


class Doorman:
    """Waits for trials."""

    def __init__(self, config: pytest.Config) -> None:
        self._config = config
        self._run_id: str | None = None
        self._ledger: Ledger | None = None
        self._expected = 0
        self._planned = 0
        self._workers: set[int] = set()
        self._interruption = Interruption(config, hurry=self._hurry, end=self._end)
        self._hurried = False

    @pytest.hookimpl(optionalhook=True)
    def pytest_configure_node(self, node: Any) -> None:  # noqa: ANN401 - xdist has no types
        """Tell a worker which run it belongs to."""
        from pytest_agentbench.results.rundir import fresh_run_id

        self._run_id = self._run_id or fresh_run_id()
        node.workerinput[RUN_ID] = self._run_id

    @pytest.hookimpl(optionalhook=True)
    def pytest_xdist_setupnodes(self, specs: Sequence[object]) -> None:
        """Remember how many workers are going to plan.

        What they collect is not known yet. In a project of ours, SIGTERM ends a session
        as Ctrl-C does from now on; in any other, it is for pytest to say.
        """
        self._expected = len(specs)
        if has_experiment(self._config):
            self._take_signals()

    @pytest.hookimpl(optionalhook=True)
    def pytest_xdist_node_collection_finished(self, ids: Sequence[str]) -> None:
        """Open the ledger, before any worker starts an agent; say what is to be run."""
        self._planned += 1
        try:
            if self._ledger is not None:
                self._ledger.read_plans()
            elif not compat.only_shows(self._config) and self._holds_trials(ids):
                self._ledger = self._open_ledger()
        except AgentbenchError as error:
            raise pytest.UsageError(str(error)) from error
        if self._ledger is not None and self._planned == self._expected:
            self._tell(self._ledger.announce())

    def _open_ledger(self) -> Ledger:
        from pytest_agentbench.pytest_integration.experiments import choose
        from pytest_agentbench.pytest_integration.ledger import Ledger

        config = self._config
        if compat.runs_everywhere(config):
            raise UsageError(
                "every worker would run, and pay for, every trial",
                where="--dist=each",
                advice="--dist=load, which divides the trials among the workers",
            )
        settings = session_settings(config)
        experiment = choose(settings, config).experiment
        ledger = Ledger.open(config, settings, self._run_id or "", experiment)
        self._take_signals()
        config.pluginmanager.register(ledger, "agentbench-ledger")
        return ledger

    def _take_signals(self) -> None:
        if not self._interruption.installed:
            self._interruption.install(worker=False)
            self._config.pluginmanager.register(self._interruption, "agentbench-signals")

    def _tell(self, lines: Sequence[str]) -> None:
        reporter = self._config.pluginmanager.get_plugin("terminalreporter")
        if reporter is None or compat.verbosity(self._config) < 0:
            return
        # On a terminal the cursor stands behind xdist's line on its workers.
        for line in ["", *lines] if reporter.isatty else lines:
            reporter.write_line(line)

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodeready(self, node: Any) -> None:  # noqa: ANN401 - xdist has no types
        """Remember a worker's process."""
        pid = compat.worker_pid(node)
        if pid is not None:
            self._workers.add(pid)

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any) -> None:  # noqa: ANN401 - xdist has no types
        """Forget a worker's process: its number may be used again."""
        pid = compat.worker_pid(node)
        if pid is not None:
            self._workers.discard(pid)

    def pytest_unconfigure(self) -> None:
        """Remove the sandboxes of workers that were killed: who replaces one may not get to it."""
        if self._ledger is not None:
            from pytest_agentbench.sandboxes.workspace import reap_stale

            reap_stale()

    @pytest.hookimpl(tryfirst=True)
    def pytest_keyboard_interrupt(self, excinfo: pytest.ExceptionInfo[BaseException]) -> None:
        """Interrupt the workers at once: xdist gives them ten seconds, and then kills them.

        What they have told by then, and xdist has not passed on, is heard first.
        """
        if self._interruption.installed:
            send(signal.SIGTERM, self._workers)
        with contextlib.suppress(AgentbenchError):
            if self._ledger is None and self._holds_trials(()):
                # They have planned, and it was not read yet: the run is told of all the same.
                self._ledger = self._open_ledger()
                self._ledger.pytest_keyboard_interrupt(excinfo)
        if self._ledger is not None:
            for report in compat.undelivered_reports(self._config):
                self._config.hook.pytest_runtest_logreport(report=report)

    def _hurry(self) -> None:
        """Pass the user's impatience on."""
        self._hurried = True
        send(signal.SIGINT, self._workers)

    def _end(self) -> None:
        """See the workers gone where xdist was not left the time to."""
        if self._hurried:
            see_dead(self._workers, _PATIENCE_S)

    def _holds_trials(self, ids: Sequence[str]) -> bool:
        """Whether a node id is a trial's: other plugins collect YAML files too.

        A Python test does not look like one; then the worker has written its plan.
        """
        config = self._config
        files = {one.partition("::")[0] for one in ids}
        candidates = filter(task_candidates(config).has, map(config.rootpath.joinpath, files))
        if any(task_claims(config).claims(file) for file in candidates):
            return True
        from pytest_agentbench.results.rundir import RunDirectory

        results = session_settings(self._config).results
        return self._run_id is not None and RunDirectory(results / "runs" / self._run_id).planned
