"""The agent that applies the task's own solution: what it fails, the task has wrong."""

from __future__ import annotations

from pathlib import Path
from typing import ClassVar

from pydantic import BaseModel

from pytest_agentbench.agents.base import NoOptions
from pytest_agentbench.agents.solution import give_answer
from pytest_agentbench.errors import SetupError
from pytest_agentbench.model.contracts import AgentContext, Sandbox
from pytest_agentbench.model.run import AgentRun
from pytest_agentbench.model.trial import TrialSpec


class ReferenceAgent:
    """Lays the task's patch or files over the workspace, or runs its script."""

    name: ClassVar[str] = "reference"
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
        trial: TrialSpec,
        sandbox: Sandbox,
        context: AgentContext,  # noqa: ARG002 - the contract's; a solution needs no environment
    ) -> AgentRun:
        """Apply the solution. Raises ``SetupError`` where there is none or it does not apply."""
        solution = trial.task.solution
        if solution is None:
            raise SetupError(
                "the task has no solution for the reference agent to apply",
                where=trial.task.id,
                advice="add `solution:` to the task, or leave it out of this run",
            )
        return await give_answer(solution, sandbox, timeout_s=trial.limits.time_s)
