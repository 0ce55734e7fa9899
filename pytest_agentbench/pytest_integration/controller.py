"""What an xdist controller does before there are trials.

It hands the run's id to the workers, and opens the ledger when the first of them
has found trials. Light until then: most sessions have none.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from pytest_agentbench.errors import AgentbenchError
from pytest_agentbench.pytest_integration import compat
from pytest_agentbench.pytest_integration.options import session_settings, task_claims
from pytest_agentbench.pytest_integration.signals import Interruption, terminate

RUN_ID = "agentbench_run_id"
"""Key under which a controller tells its workers the run's id."""


class Doorman:
    """Waits for trials."""

    def __init__(self, config: pytest.Config) -> None:
        self._config = config
        self._run_id: str | None = None
        self._opened = False
        self._workers: set[int] = set()
        self._interruption = Interruption()

    @pytest.hookimpl(optionalhook=True)
    def pytest_configure_node(self, node: Any) -> None:  # noqa: ANN401 - xdist has no types
        """Tell a worker which run it belongs to."""
        from pytest_agentbench.results.rundir import fresh_run_id

        self._run_id = self._run_id or fresh_run_id()
        node.workerinput[RUN_ID] = self._run_id

    @pytest.hookimpl(optionalhook=True)
    def pytest_xdist_node_collection_finished(self, ids: Sequence[str]) -> None:
        """Open the ledger, before any worker starts an agent."""
        if self._opened or not self._holds_trials(ids):
            return
        self._opened = True
        from pytest_agentbench.pytest_integration.ledger import Ledger

        try:
            ledger = Ledger.open(self._config, session_settings(self._config), self._run_id or "")
        except AgentbenchError as error:
            raise pytest.UsageError(str(error)) from error
        self._config.pluginmanager.register(ledger, "agentbench-ledger")
        self._interruption.install(worker=False)

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodeready(self, node: Any) -> None:  # noqa: ANN401 - xdist has no types
        """Remember a worker's process."""
        pid = compat.worker_pid(node)
        if pid is not None:
            self._workers.add(pid)

    def pytest_keyboard_interrupt(self) -> None:
        """Interrupt the workers at once: xdist gives them ten seconds, and then kills them."""
        if self._opened:
            terminate(self._workers)

    def pytest_unconfigure(self) -> None:
        """Put signal handlers back."""
        self._interruption.restore()

    def _holds_trials(self, ids: Sequence[str]) -> bool:
        """Whether a node id is a trial's: other plugins collect YAML files too."""
        claims = task_claims(self._config)
        files = {one.partition("::")[0] for one in ids}
        return any(claims.claims(self._config.rootpath / file) for file in files)
