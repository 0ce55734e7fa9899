"""The rollup's values: counts and pass rates by suite, variant and task."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Rate:
    """A pass rate. ``value`` and the 95 % interval lie in 0..1; None when nothing counts."""

    passed: int
    total: int
    value: float | None
    low: float | None
    high: float | None


@dataclass(frozen=True, slots=True)
class Tally:
    """Counts of one group of trials; the five outcomes sum to ``planned``."""

    name: str
    planned: int
    passed: int
    failed: int
    error: int
    skipped: int
    cancelled: int
    of_planned: Rate
    of_scored: Rate

    @property
    def scored(self) -> int:
        """Trials with a verdict: passed and failed."""
        return self.passed + self.failed


@dataclass(frozen=True, slots=True)
class Rollup:
    """All groups of a run. ``complete`` is false when a part was deselected or never came to run."""

    suite: Tally
    variants: tuple[Tally, ...]
    tasks: tuple[Tally, ...]
    deselected: int = 0
    reasons: tuple[tuple[str, int], ...] = ()
    unisolated: bool = False
