"""The agent that does nothing: what it passes, a task gives away for free."""

from __future__ import annotations

from pathlib import Path
from typing import ClassVar

from pydantic import BaseModel

from pytest_agentbench.agents.base import NoOptions
from pytest_agentbench.model.contracts import AgentContext, Sandbox
from pytest_agentbench.model.run import AgentRun
from pytest_agentbench.model.trial import TrialSpec


class NoopAgent:
    """Leaves the workspace as it is, and says nothing."""

    name: ClassVar[str] = "noop"
    Options: ClassVar[type[BaseModel]] = NoOptions
    needs_network: ClassVar[bool] = False
    trusted: ClassVar[bool] = True
    limits_tools: ClassVar[bool] = False
    shows_evidence: ClassVar[bool] = False

    def __init__(self, options: NoOptions) -> None:
        self.options = options
        self.roots: tuple[Path, ...] = ()

    async def run(
        self,
        trial: TrialSpec,  # noqa: ARG002 - the contract's
        sandbox: Sandbox,  # noqa: ARG002
        context: AgentContext,  # noqa: ARG002
    ) -> AgentRun:
        """Return at once."""
        return AgentRun()
