"""What a rollup says, in words and cells: the step before any one form of output.

Pure. All forms of the report (terminal now) read the same view, so that they
cannot tell different stories.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TypeAlias

from pytest_agentbench.redaction import printable

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from pytest_agentbench.model.rollup import OracleTally, Rate, Rollup, Spend, SuiteTally, Tally

Tone: TypeAlias = Literal["", "good", "bad", "doubtful"]
"""How a row or a line is meant: all passed, something failed, something is not known."""

ALL_TASKS = 20
"""Up to so many tasks are all listed; of more, those that did not pass in every trial."""

LISTED = 10
"""How many keys of a kind are listed by name."""

ORACLES = 20
"""How many oracles are listed; those that refused most come first."""

_CENTS_TELL = 0.1

OUTCOMES = ("passed", "failed", "error", "skipped", "cancelled")


@dataclass(frozen=True, slots=True)
class Row:
    """One group of trials: counts and rates as they are shown."""

    name: str
    planned: int
    passed: int
    failed: int
    error: int
    skipped: int
    cancelled: int
    of_scored: str
    interval: str
    of_planned: str
    tone: Tone


@dataclass(frozen=True, slots=True)
class SuiteRow:
    """One named suite and one variant. ``complete``: whether the rate is the suite's."""

    suite: str
    variant: str
    passed: str
    of_scored: str
    interval: str
    complete: bool
    tone: Tone


@dataclass(frozen=True, slots=True)
class OracleRow:
    """All oracles and checks of one name, and one variant. Advisory ones say so in ``oracle``."""

    oracle: str
    variant: str
    passed: int
    refused: int
    not_run: int


@dataclass(frozen=True, slots=True)
class Note:
    """One line that qualifies the numbers."""

    text: str
    tone: Tone = ""


@dataclass(frozen=True, slots=True)
class View:
    """A rollup made ready for showing.

    ``tasks_left_out`` counts tasks, all of whose trials passed, that have no row.
    ``oracles`` are told with every task only; ``oracles_left_out`` counts further ones.
    """

    totals: Note
    rates: tuple[str, ...]
    notes: tuple[Note, ...]
    variants: tuple[Row, ...]
    suites: tuple[SuiteRow, ...]
    tasks: tuple[Row, ...]
    tasks_left_out: int
    oracles: tuple[OracleRow, ...]
    oracles_left_out: int
    cancelled: tuple[str, ...]
    usage: tuple[str, ...]
    results: str


def build_view(
    rollup: Rollup, *, results: str, every_task: bool = False, trouble: Sequence[str] = ()
) -> View:
    """Make a rollup ready for showing.

    ``results`` is the path of the run directory as the user would type it.
    ``trouble`` is what went wrong with storing the results.
    """
    shown = [
        tally
        for tally in rollup.tasks
        if every_task or len(rollup.tasks) <= ALL_TASKS or tally.passed != tally.planned
    ]
    return View(
        totals=_totals(rollup.suite),
        rates=_rates(rollup.suite),
        notes=tuple(_notes(rollup, trouble)),
        variants=tuple(_row(tally) for tally in rollup.variants),
        suites=tuple(_suite(suite, one) for suite in rollup.suites for one in suite.variants),
        tasks=tuple(_row(tally) for tally in shown),
        tasks_left_out=len(rollup.tasks) - len(shown),
        oracles=tuple(_oracle(tally) for tally in rollup.oracles[:ORACLES] if every_task),
        oracles_left_out=max(len(rollup.oracles) - ORACLES, 0) if every_task else 0,
        cancelled=_listed(rollup.cancelled),
        usage=_usage(rollup),
        results=printable(results),
    )


def percent(value: float) -> str:
    """``83.3 %``; 0 and 100 stand for none and all, and for nothing that is merely close."""
    tenths = round(value * 1000)
    if value > 0:
        tenths = max(tenths, 1)
    if value < 1:
        tenths = min(tenths, 999)
    return f"{tenths / 10:.1f} %"


def _totals(suite: Tally) -> Note:
    counts = ", ".join(f"{getattr(suite, outcome)} {outcome}" for outcome in OUTCOMES)
    return Note(f"{suite.planned} planned: {counts}", _tone(suite))


def _rates(suite: Tally) -> tuple[str, ...]:
    scored, planned = suite.of_scored, suite.of_planned
    if scored.value is None or planned.value is None:
        return ("pass rate: unknown, because no trial was scored",)
    if suite.scored == suite.planned:
        return (f"pass rate: {_rate(planned, 'planned')}, all scored",)
    return (f"pass rate: {_rate(scored, 'scored')}", f"           {_rate(planned, 'planned')}")


def _rate(rate: Rate, what: str) -> str:
    return f"{rate.passed} of {rate.total} {what} = {_value(rate)}, 95 % interval {_interval(rate)}"


def _value(rate: Rate) -> str:
    return "unknown" if rate.value is None else percent(rate.value)


def _interval(rate: Rate) -> str:
    if rate.low is None or rate.high is None:
        return "unknown"
    return f"{percent(rate.low).removesuffix(' %')}-{percent(rate.high)}"


def _row(tally: Tally) -> Row:
    return Row(
        name=_name(tally.name),
        planned=tally.planned,
        passed=tally.passed,
        failed=tally.failed,
        error=tally.error,
        skipped=tally.skipped,
        cancelled=tally.cancelled,
        of_scored=_value(tally.of_scored),
        interval=_interval(tally.of_scored),
        of_planned=_value(tally.of_planned),
        tone=_tone(tally),
    )


def _suite(suite: SuiteTally, tally: Tally) -> SuiteRow:
    return SuiteRow(
        suite=_name(suite.name),
        variant=_name(tally.name),
        passed=f"{tally.passed} of {tally.planned}",
        of_scored=_value(tally.of_scored),
        interval=_interval(tally.of_scored),
        complete=suite.complete,
        tone=_tone(tally),
    )


def _oracle(tally: OracleTally) -> OracleRow:
    return OracleRow(
        oracle=_name(tally.name) + (" (advisory)" if tally.advisory else ""),
        variant=_name(tally.variant),
        passed=tally.passed,
        refused=tally.refused,
        not_run=tally.not_run,
    )


def _name(text: str) -> str:
    return printable(text).replace("\n", " ")


def _tone(tally: Tally) -> Tone:
    if tally.failed or tally.error:
        return "bad"
    return "good" if tally.planned and tally.passed == tally.planned else "doubtful"


def _notes(rollup: Rollup, trouble: Iterable[str]) -> Iterable[Note]:
    """What a reader must know before believing the numbers; the gravest last, where eyes rest."""
    if rollup.reasons:
        yield Note("; ".join(f"{reason} {count}" for reason, count in rollup.reasons))
    if rollup.expected:
        yield Note(_expected(rollup))
    if rollup.reruns:
        yield Note(
            f"reruns: {_count(rollup.reruns, 'more attempt')} not counted;"
            " the first scored attempt of a trial counts",
            "doubtful",
        )
    if rollup.unisolated:
        drivers = ", ".join(rollup.unisolated_drivers)
        yield Note(
            f"unisolated: {rollup.unisolated} of {_count(rollup.suite.planned, 'trial')}"
            f" ran without walls ({drivers})",
            "doubtful",
        )
    partial = _partial(rollup)
    if partial:
        yield Note(f"partial: {partial}; this is not the suite's pass rate", "doubtful")
    yield from _suite_notes(rollup)
    if rollup.unplanned:
        keys = ", ".join(_listed(rollup.unplanned))
        yield Note(f"internal error: records of trials that were not planned: {keys}", "bad")
    for line in trouble:
        yield Note(f"results: {printable(line)}", "bad")


def _expected(rollup: Rollup) -> str:
    """Counted as measured all the same: what was expected is no excuse for a rate."""
    expected = rollup.expected
    parts = {
        "did not": expected.not_passed,
        "passed all the same": expected.passed,
        "not run": expected.not_run,
    }
    told = ", ".join(f"{count} {what}" for what, count in parts.items() if count)
    return f"expected not to pass (xfail), counted as measured: {told}"


def _suite_notes(rollup: Rollup) -> Iterable[Note]:
    """Which suites are partial, where some are and others are not, and which are empty."""
    mixed = any(suite.complete for suite in rollup.suites)
    for suite in rollup.suites:
        if not suite.variants:
            why = "; ".join(suite.partial) or "it has no trial"
            yield Note(
                printable(f"suite {suite.name}: nothing of it was to run; {why}"), "doubtful"
            )
        elif suite.partial and mixed:
            yield Note(printable(f"suite {suite.name}: {'; '.join(suite.partial)}"), "doubtful")


def _partial(rollup: Rollup) -> str:
    parts = [*rollup.narrowed]
    if rollup.deselected:
        collected = rollup.suite.planned + rollup.deselected
        parts.append(f"{rollup.deselected} of {_count(collected, 'trial')} deselected")
    if rollup.suite.cancelled:
        parts.append(f"{rollup.suite.cancelled} of {_count(rollup.suite.planned, 'trial')} not run")
    return printable(", ".join(parts))


def _listed(keys: Sequence[str]) -> tuple[str, ...]:
    names = tuple(printable(key) for key in keys[:LISTED])
    return (*names, f"and {len(keys) - LISTED} more") if len(keys) > LISTED else names


def _usage(rollup: Rollup) -> tuple[str, ...]:
    """Cost and tokens, once anybody has reported any; who did not is never taken for 0."""
    if not rollup.cost_usd.reported and not rollup.tokens.reported:
        return ()
    return (_spend("cost", rollup.cost_usd, _usd), _spend("tokens", rollup.tokens, _whole))


def _spend(what: str, spend: Spend, shown: Callable[[float], str]) -> str:
    if spend.total is None:
        return f"{what}: unknown"
    if spend.median is None:
        reported = f"reported by {spend.reported} of {spend.ran} agent runs"
        return f"{what}: at least {shown(spend.total)} ({reported})"
    return f"{what}: {shown(spend.total)} (median {shown(spend.median)} an agent run)"


def _usd(value: float) -> str:
    return f"{value:,.2f} USD" if value >= _CENTS_TELL else f"{value:.4f} USD"


def _whole(value: float) -> str:
    return f"{value:,.0f}"


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
