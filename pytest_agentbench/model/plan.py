"""The plan: every trial that a session collected, and what was decided about it."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict


class PlannedTrial(BaseModel):
    """One collected trial. ``deselected`` says by what, or is None when it was to run."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    key: str
    nodeid: str
    task: str
    variant: str
    repeat: int
    agent: str
    model: str | None = None
    tags: list[str] = []
    deselected: str | None = None


class Plan(BaseModel):
    """All collected trials, in the order in which they are to run."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    schema_version: int = 1
    trials: list[PlannedTrial] = []

    @property
    def selected(self) -> list[PlannedTrial]:
        """The trials that were to run."""
        return [trial for trial in self.trials if trial.deselected is None]
