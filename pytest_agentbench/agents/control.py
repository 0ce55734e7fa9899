"""The agent that gives one of the task's known wrong answers: what it passes, measures nothing."""

from __future__ import annotations

from pathlib import Path
from typing import ClassVar

from pydantic import BaseModel

from pytest_agentbench.agents.base import AgentOptions
from pytest_agentbench.agents.solution import give_answer
from pytest_agentbench.errors import SetupError
from pytest_agentbench.model.contracts import AgentContext, Sandbox
from pytest_agentbench.model.run import AgentRun
from pytest_agentbench.model.trial import TrialSpec


class ControlOptions(AgentOptions):
    """``control``: the name of one of the task's controls."""

    control: str


class ControlAgent:
    """Lays a control's patch or files over the workspace, or runs its script."""

    name: ClassVar[str] = "control"
    Options: ClassVar[type[BaseModel]] = ControlOptions
    needs_network: ClassVar[bool] = False
    trusted: ClassVar[bool] = True
    limits_tools: ClassVar[bool] = False
    shows_evidence: ClassVar[bool] = False

    def __init__(self, options: ControlOptions) -> None:
        self.options = options
        self.roots: tuple[Path, ...] = ()

    async def run(
        self,
        trial: TrialSpec,
        sandbox: Sandbox,
        context: AgentContext,  # noqa: ARG002 - the contract's; an answer needs no environment
    ) -> AgentRun:
        """Give the answer. Raises ``SetupError`` where there is none or it cannot be given."""
        wanted = self.options.control
        control = next((one for one in trial.task.controls if one.name == wanted), None)
        if control is None:
            known = ", ".join(one.name for one in trial.task.controls) or "none"
            raise SetupError(f"no control {wanted!r}; known: {known}", where=trial.task.id)
        return await give_answer(control.answer, sandbox, timeout_s=trial.limits.time_s)
