"""From a plan and its records to counts and pass rates.

The plan says what there is to count; records only say how it ended. A trial
without a record is cancelled, so that no trial can drop out of a denominator.
Pure.
"""

from __future__ import annotations

from collections import Counter
from statistics import median
from typing import TYPE_CHECKING, NamedTuple

from pytest_agentbench.model.outcome import Outcome
from pytest_agentbench.model.rollup import (
    Expected,
    OracleTally,
    Rate,
    Rollup,
    Spend,
    SuiteTally,
    Tally,
)
from pytest_agentbench.stats.intervals import Cluster, clustered_wilson

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from pytest_agentbench.model.plan import Plan, PlannedTrial
    from pytest_agentbench.model.record import OracleRow, Record, UsageRow

_SCORED = (Outcome.PASSED, Outcome.FAILED)


class _Ending(NamedTuple):
    """How one planned trial ended; without a record it never did."""

    trial: PlannedTrial
    record: Record | None

    @property
    def outcome(self) -> Outcome:
        return Outcome.CANCELLED if self.record is None else self.record.outcome


def roll_up(plan: Plan, records: Iterable[Record], *, narrowed: Sequence[str] = ()) -> Rollup:
    """Count a run. Of several records of one trial the first scored one counts, else the last.

    ``narrowed`` says what, besides what the plan itself tells, made it smaller than
    the suite.
    """
    attempts: dict[str, list[Record]] = {}
    for record in records:
        attempts.setdefault(record.key, []).append(record)
    selected = plan.selected
    endings = [_Ending(trial, counted_record(attempts.get(trial.key, ()))) for trial in selected]
    known = {trial.key for trial in selected}
    made = [record for key, tries in attempts.items() if key in known for record in tries]
    unwalled = [
        ending.record.sandbox
        for ending in endings
        if ending.record and ending.record.sandbox and not ending.record.sandbox.isolated
    ]
    less = tuple(dict.fromkeys([*plan.narrowed, *narrowed]))
    return Rollup(
        suite=_tally("all", endings, cluster=_task),
        variants=_tallies(endings, by=_variant, cluster=_task),
        # Repeats of one task share nothing but the task, which is what the rate is of.
        tasks=_tallies(endings, by=_task, cluster=_key),
        suites=tuple(_suite(name, plan, endings, less) for name in plan.suites),
        oracles=_oracles(endings),
        deselected=len(plan.trials) - len(selected),
        reasons=_reasons(endings),
        expected=_expected(endings),
        unisolated=len(unwalled),
        unisolated_drivers=tuple(sorted({sandbox.driver for sandbox in unwalled})),
        narrowed=less,
        cancelled=tuple(
            ending.trial.key for ending in endings if ending.outcome is Outcome.CANCELLED
        ),
        unplanned=tuple(key for key in attempts if key not in known),
        reruns=sum(len(tries) - 1 for key, tries in attempts.items() if key in known),
        cost_usd=_spend(made, lambda usage: usage.cost_usd),
        tokens=_spend(made, _tokens),
    )


def counted_record(tries: Sequence[Record]) -> Record | None:
    """Which of a trial's attempts counts: the first scored one, else the last."""
    scored = (record for record in tries if record.outcome in _SCORED)
    return next(scored, tries[-1] if tries else None)


def _suite(
    name: str, plan: Plan, endings: Sequence[_Ending], narrowed: Sequence[str]
) -> SuiteTally:
    """One named suite.

    What was never collected may have belonged to any suite; what was collected and did
    not run makes those partial that it belongs to.
    """
    own = [ending for ending in endings if name in ending.trial.suites]
    planned = [trial for trial in plan.trials if name in trial.suites]
    partial = list(narrowed)
    if len(planned) > len(own):
        partial.append(f"{len(planned) - len(own)} of {_trials(len(planned))} deselected")
    not_run = sum(ending.outcome is Outcome.CANCELLED for ending in own)
    if not_run:
        partial.append(f"{not_run} of {_trials(len(own))} not run")
    return SuiteTally(name, _tallies(own, by=_variant, cluster=_task), tuple(partial))


def _trials(number: int) -> str:
    return "1 trial" if number == 1 else f"{number} trials"


def _oracles(endings: Sequence[_Ending]) -> tuple[OracleTally, ...]:
    """By variant and name, those that refused most often first."""
    said: dict[tuple[str, str], list[OracleRow]] = {}
    for trial, record in endings:
        for row in record.oracles if record and record.outcome in _SCORED else ():
            said.setdefault((trial.variant, row.name), []).append(row)
    tallies = [_oracle(variant, name, rows) for (variant, name), rows in said.items()]
    return tuple(sorted(tallies, key=lambda tally: -tally.refused))


def _oracle(variant: str, name: str, rows: Sequence[OracleRow]) -> OracleTally:
    ran = [row for row in rows if row.ran]
    passed = sum(row.passed for row in ran)
    return OracleTally(
        name=name,
        variant=variant,
        passed=passed,
        refused=len(ran) - passed,
        not_run=len(rows) - len(ran),
        advisory=all(row.advisory for row in rows),
    )


def _expected(endings: Sequence[_Ending]) -> Expected:
    ends = [end.outcome for end in endings if end.record and end.record.expected is not None]
    passed = ends.count(Outcome.PASSED)
    not_run = sum(end in (Outcome.SKIPPED, Outcome.CANCELLED) for end in ends)
    return Expected(len(ends) - passed - not_run, passed, not_run)


def _variant(ending: _Ending) -> str:
    return ending.trial.variant


def _task(ending: _Ending) -> str:
    return ending.trial.subject


def _key(ending: _Ending) -> str:
    return ending.trial.key


def _tallies(
    endings: Sequence[_Ending],
    *,
    by: Callable[[_Ending], str],
    cluster: Callable[[_Ending], str],
) -> tuple[Tally, ...]:
    groups: dict[str, list[_Ending]] = {}
    for ending in endings:
        groups.setdefault(by(ending), []).append(ending)
    return tuple(_tally(name, group, cluster=cluster) for name, group in groups.items())


def _tally(name: str, endings: Sequence[_Ending], *, cluster: Callable[[_Ending], str]) -> Tally:
    counts = Counter(ending.outcome for ending in endings)
    scored = [ending for ending in endings if ending.outcome in _SCORED]
    return Tally(
        name=name,
        planned=len(endings),
        passed=counts[Outcome.PASSED],
        failed=counts[Outcome.FAILED],
        error=counts[Outcome.ERROR],
        skipped=counts[Outcome.SKIPPED],
        cancelled=counts[Outcome.CANCELLED],
        of_planned=_rate(endings, cluster, known=bool(scored)),
        of_scored=_rate(scored, cluster, known=bool(scored)),
    )


def _rate(endings: Sequence[_Ending], cluster: Callable[[_Ending], str], *, known: bool) -> Rate:
    """The share that passed; unknown, and not 0 %, where nothing was scored."""
    totals = Counter(cluster(ending) for ending in endings)
    passes = Counter(cluster(ending) for ending in endings if ending.outcome is Outcome.PASSED)
    passed, total = passes.total(), len(endings)
    interval = clustered_wilson([Cluster(passes[name], totals[name]) for name in totals])
    if interval is None or not known:
        return Rate(passed, total, None, None, None)
    return Rate(passed, total, passed / total, interval.low, interval.high)


def _reasons(endings: Sequence[_Ending]) -> tuple[tuple[str, int], ...]:
    """``failed: oracle`` and the like with their counts: by outcome, then the most frequent."""
    counts: Counter[tuple[Outcome, str]] = Counter()
    for outcome, record in ((ending.outcome, ending.record) for ending in endings):
        if outcome is not Outcome.PASSED:
            reason = "not run" if record is None else str(record.reason or "unknown")
            counts[outcome, reason] += 1
    order = list(Outcome)
    ranked = sorted(counts.items(), key=lambda one: (order.index(one[0][0]), -one[1], one[0][1]))
    return tuple((f"{outcome}: {reason}", count) for (outcome, reason), count in ranked)


def _tokens(usage: UsageRow) -> float | None:
    if usage.input_tokens is None or usage.output_tokens is None:
        return None
    return usage.input_tokens + usage.output_tokens


def _spend(records: Sequence[Record], of: Callable[[UsageRow], float | None]) -> Spend:
    """Every attempt costs, counted or not; one in which no agent ran costs nothing."""
    ran = [record.usage for record in records if record.phases.agent_s is not None]
    reported = [value for value in map(of, ran) if value is not None]
    return Spend(
        ran=len(ran),
        reported=len(reported),
        total=sum(reported) if reported else None,
        median=median(reported) if reported and len(reported) == len(ran) else None,
    )
