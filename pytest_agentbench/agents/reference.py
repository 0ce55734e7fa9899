"""The agent that applies the task's own solution: what it fails, the task has wrong."""

from __future__ import annotations

import time
from pathlib import Path
from typing import ClassVar

from pydantic import BaseModel

from pytest_agentbench.agents.base import NoOptions, last_words
from pytest_agentbench.agents.solution import apply_solution
from pytest_agentbench.errors import SetupError
from pytest_agentbench.model.contracts import AgentContext, Sandbox
from pytest_agentbench.model.run import AgentRun, Transcript
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
        start_s = time.monotonic()
        completed = await apply_solution(solution, sandbox, timeout_s=trial.limits.time_s)
        duration_s = time.monotonic() - start_s
        words = solution.final
        if words is None and completed is not None:
            words = last_words(completed.stdout)
        return AgentRun(
            completed=completed,
            transcript=Transcript(final_message=words),
            duration_s=duration_s,
        )
