"""The fixture chain of a trial: parameter, sandbox, run, verdict.

All are function-scoped. A task file's test asks for the verdict, so trouble of
the infrastructure is raised while fixtures are set up (pytest's ERROR) and a
wrong answer by the test's body (FAILED). Imports pytest only: it is loaded in
every session.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pytest_agentbench.model.run import AgentRun
    from pytest_agentbench.model.trial import TrialSpec
    from pytest_agentbench.model.verdict import Verdict
    from pytest_agentbench.pytest_integration.chain import SandboxHandle


@pytest.fixture
def agentbench_trial(request: pytest.FixtureRequest) -> TrialSpec:
    """The trial of this test: one task, one variant, one repeat."""
    if hasattr(request, "param"):
        from pytest_agentbench.pytest_integration.collect import trial_of

        spec = trial_of(request.node)
        if spec is not None:
            return spec
    pytest.fail("the agentbench fixtures belong to tests of task files", pytrace=False)


@pytest.fixture
def agentbench_sandbox(
    agentbench_trial: TrialSpec, request: pytest.FixtureRequest
) -> Iterator[SandboxHandle | None]:
    """The sandbox that the agent works in, on a fresh copy of the task's workspace."""
    # --setup-only sets fixtures up and runs no test: it must not start, and pay for, an agent.
    if request.config.getoption("setuponly", default=False):
        yield None
        return
    from pytest_agentbench.pytest_integration.chain import open_chain

    chain = open_chain(request, agentbench_trial)
    try:
        yield chain.open()
    finally:
        chain.close()


@pytest.fixture
def agentbench_run(agentbench_sandbox: SandboxHandle | None) -> AgentRun | None:
    """What the agent did, after its sandbox was torn down: every process of it is dead."""
    return None if agentbench_sandbox is None else agentbench_sandbox.chain.run_agent()


@pytest.fixture
def agentbench_verdict(
    agentbench_run: AgentRun | None, agentbench_sandbox: SandboxHandle | None
) -> Verdict | None:
    """What the hidden oracles say of what the agent left."""
    if agentbench_sandbox is None or agentbench_run is None:
        return None
    return agentbench_sandbox.chain.score()
