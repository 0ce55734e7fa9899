"""What an xdist controller does before there are trials.

It hands the run's id to the workers, and opens the ledger when the first of them
has found trials. Light until then: most sessions have none.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import pytest

from pytest_agentbench.errors import AgentbenchError, UsageError
from pytest_agentbench.pytest_integration import compat
from pytest_agentbench.pytest_integration.options import session_settings, task_claims
from pytest_agentbench.pytest_integration.signals import Interruption, terminate

if TYPE_CHECKING:
    from pytest_agentbench.pytest_integration.ledger import Ledger

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
        self._interruption = Interruption()

    @pytest.hookimpl(optionalhook=True)
    def pytest_configure_node(self, node: Any) -> None:  # noqa: ANN401 - xdist has no types
        """Tell a worker which run it belongs to."""
        from pytest_agentbench.results.rundir import fresh_run_id

        self._run_id = self._run_id or fresh_run_id()
        node.workerinput[RUN_ID] = self._run_id

    @pytest.hookimpl(optionalhook=True)
    def pytest_xdist_setupnodes(self, specs: Sequence[object]) -> None:
        """Remember how many workers are going to plan."""
        self._expected = len(specs)

    @pytest.hookimpl(optionalhook=True)
    def pytest_xdist_node_collection_finished(self, ids: Sequence[str]) -> None:
        """Open the ledger, before any worker starts an agent; say what is to be run."""
        self._planned += 1
        try:
            if self._ledger is not None:
                self._ledger.read_plans()
            elif self._holds_trials(ids):
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
        experiment = choose(settings).experiment
        ledger = Ledger.open(config, settings, self._run_id or "", experiment)
        config.pluginmanager.register(ledger, "agentbench-ledger")
        self._interruption.install(worker=False)
        return ledger

    def _tell(self, lines: Sequence[str]) -> None:
        reporter = self._config.pluginmanager.get_plugin("terminalreporter")
        if reporter is None or self._config.option.verbose < 0:
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

    def pytest_keyboard_interrupt(self) -> None:
        """Interrupt the workers at once: xdist gives them ten seconds, and then kills them."""
        if self._ledger is not None:
            terminate(self._workers)

    def pytest_unconfigure(self) -> None:
        """Put signal handlers back."""
        self._interruption.restore()

    def _holds_trials(self, ids: Sequence[str]) -> bool:
        """Whether a node id is a trial's: other plugins collect YAML files too."""
        claims = task_claims(self._config)
        files = {one.partition("::")[0] for one in ids}
        return any(claims.claims(self._config.rootpath / file) for file in files)
