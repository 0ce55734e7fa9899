"""The rollup's values: counts and pass rates by suite, variant, task and oracle."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Rate:
    """A pass rate. ``value`` and the 95 % interval lie in 0..1; None when nothing was scored."""

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
class SuiteTally:
    """One named suite: a tally of each variant, and what keeps it from being complete.

    Only the rates of a suite that is complete are the suite's.
    """

    name: str
    variants: tuple[Tally, ...]
    partial: tuple[str, ...] = ()

    @property
    def complete(self) -> bool:
        """Whether the whole suite came to run."""
        return not self.partial


@dataclass(frozen=True, slots=True)
class OracleTally:
    """What all oracles and checks of one name said about one variant's scored trials.

    ``not_run`` were left out because what they need had not passed: they count neither
    as passed nor as refused. ``advisory``: none of them had an effect on a verdict.
    """

    name: str
    variant: str
    passed: int
    refused: int
    not_run: int = 0
    advisory: bool = False


@dataclass(frozen=True, slots=True)
class Spend:
    """What the agents used of one thing, over every attempt in which an agent ran.

    ``total`` and ``median`` (per attempt) are over the ``reported`` of ``ran``
    attempts; None when nobody reported. With fewer reported than ran, ``total``
    is a lower bound and ``median`` is None.
    """

    ran: int
    reported: int
    total: float | None
    median: float | None


@dataclass(frozen=True, slots=True)
class Expected:
    """Trials of tasks that were expected not to pass, by what was measured."""

    not_passed: int = 0
    passed: int = 0
    not_run: int = 0

    def __bool__(self) -> bool:
        """Whether there is any."""
        return bool(self.not_passed or self.passed or self.not_run)


@dataclass(frozen=True, slots=True)
class Rollup:
    """All groups of a run.

    ``suite`` is the implicit suite ``all``; ``suites`` are the named ones.
    ``deselected`` counts planned trials that were not to run. ``narrowed`` says by
    what else less than the whole suite was collected. ``reasons`` are counted as
    ``failed: oracle``. ``cancelled`` are keys of trials that did not come to an
    end. ``unplanned`` are keys of records that belong to no trial that was to
    run: a fault of the harness. ``unisolated`` counts trials that ran without
    walls, in the sandboxes ``unisolated_drivers``. ``reruns`` counts the attempts
    that the counts leave out.
    """

    suite: Tally
    variants: tuple[Tally, ...]
    tasks: tuple[Tally, ...]
    suites: tuple[SuiteTally, ...] = ()
    oracles: tuple[OracleTally, ...] = ()
    deselected: int = 0
    reasons: tuple[tuple[str, int], ...] = ()
    expected: Expected = Expected()
    unisolated: int = 0
    unisolated_drivers: tuple[str, ...] = ()
    narrowed: tuple[str, ...] = ()
    cancelled: tuple[str, ...] = ()
    unplanned: tuple[str, ...] = ()
    reruns: int = 0
    cost_usd: Spend = Spend(0, 0, None, None)
    tokens: Spend = Spend(0, 0, None, None)

    @property
    def complete(self) -> bool:
        """Whether the whole suite came to run: only then are its rates the suite's."""
        return not (self.deselected or self.narrowed or self.cancelled)
