"""The plan: every trial that a session collected, and what was decided about it."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict


class PlannedTrial(BaseModel):
    """One collected trial. ``deselected`` says by what, or is None when it was to run.

    ``excluded`` is why it is skipped before anything of it starts (``platform: needs
    linux``); such a trial is planned, and counts as skipped. ``suites`` are the suites
    that its task belongs to. ``position`` is where its task is written, relative to the
    root directory. ``sandbox`` is the driver as it was asked for, ``auto`` included.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    key: str
    nodeid: str
    task: str
    variant: str
    repeat: int
    agent: str
    model: str | None = None
    tags: tuple[str, ...] = ()
    deselected: str | None = None
    excluded: str | None = None
    suites: tuple[str, ...] = ()
    position: str | None = None
    sandbox: str = ""


class Plan(BaseModel):
    """All collected trials, in the order in which they are to run.

    ``suites`` are the names of all suites but ``all``, also of those that nothing was
    collected of. ``narrowed`` says what was never collected, and why: its trials are
    in no plan. ``gates`` names what has a gate: suites, and tasks without one.
    ``refusal`` is why nothing of it may be run.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    schema_version: int = 1
    trials: list[PlannedTrial] = []
    suites: list[str] = []
    narrowed: list[str] = []
    gates: list[str] = []
    refusal: str | None = None

    @property
    def selected(self) -> list[PlannedTrial]:
        """The trials that were to run."""
        return [trial for trial in self.trials if trial.deselected is None]
