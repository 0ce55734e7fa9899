"""The plan: every trial that a session collected, and what was decided about it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from pydantic import BaseModel, ConfigDict


# No pydantic model: there are tens of thousands, and one of those is three objects for the
# garbage collector, which goes through all of them several times while pytest collects.
@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedTrial:
    """One collected trial. ``deselected`` says by what, or is None when it was to run.

    ``excluded`` is why it is skipped before anything of it starts (``platform: needs
    linux``); such a trial is planned, and counts as skipped. ``suites`` are the suites
    that its task belongs to. ``position`` is where its task is written, relative to the
    root directory. ``sandbox`` is the driver as it was asked for, ``auto`` included.
    ``test`` is the node id, without parameters, of the Python test that runs it; None for
    the task file's own.
    """

    __pydantic_config__: ClassVar[ConfigDict] = ConfigDict(extra="forbid")

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
    test: str | None = None

    @property
    def subject(self) -> str:
        """What is tried, which its repeats share: the task, or a Python test of it."""
        return self.task if self.test is None else f"{self.test}[{self.task}]"


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
