"""The fixture chain of a trial: trial, sandbox, run, verdict.

All are function-scoped. A task file's test asks for the verdict, so trouble of
the infrastructure is raised while fixtures are set up (pytest's ERROR) and a
wrong answer by the test's body (FAILED). A Python test marked ``agentbench`` may
ask for each of them. Imports pytest only: it is loaded in every session.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pytest_agentbench.model.handle import SandboxHandle
    from pytest_agentbench.model.run import AgentRun
    from pytest_agentbench.model.trial import TrialSpec
    from pytest_agentbench.model.verdict import Verdict


@pytest.fixture
def _agentbench_place(request: pytest.FixtureRequest) -> None:
    """Which trial a test runs: pytest's parameter says it."""
    if not hasattr(request, "param"):
        pytest.fail(
            "the agentbench fixtures need a task. "
            'Try: @pytest.mark.agentbench(task="tasks/fix.yaml") on the test',
            pytrace=False,
        )


@pytest.fixture
def agentbench_trial(_agentbench_place: None, request: pytest.FixtureRequest) -> TrialSpec:
    """The trial of this test: one task, one variant, one repeat.

    An override may return a copy with another variant, limits, sandbox or prompt.
    """
    from pytest_agentbench.pytest_integration.chain import asked_trial

    return asked_trial(request.node)


@pytest.fixture
def agentbench_sandbox(
    agentbench_trial: TrialSpec, request: pytest.FixtureRequest
) -> Iterator[SandboxHandle | None]:
    """The sandbox that the agent works in, on a fresh copy of the task's workspace.

    Its ``run()`` and ``arun()`` run a command there, until the agent has ended. None
    under ``--setup-only``, which starts nothing.
    """
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
    if agentbench_sandbox is None:
        return None
    from pytest_agentbench.pytest_integration.chain import chain_of

    return chain_of(agentbench_sandbox).run_agent()


@pytest.fixture
def agentbench_verdict(
    agentbench_run: AgentRun | None, agentbench_sandbox: SandboxHandle | None
) -> Verdict | None:
    """What the hidden oracles say of what the agent left."""
    if agentbench_sandbox is None:
        return None
    from pytest_agentbench.pytest_integration.chain import chain_of

    return chain_of(agentbench_sandbox).score(agentbench_run)
