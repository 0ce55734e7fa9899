"""What all oracles of a trial say together. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from pytest_agentbench.model.task import OracleSpec
from pytest_agentbench.model.verdict import OracleResult, Verdict
from pytest_agentbench.oracles.base import TOLERANCE, counted, one_line


def combine(
    results: Iterable[OracleResult], specs: Sequence[OracleSpec], threshold: float | None
) -> Verdict:
    """Weigh the results, in the order of ``specs``.

    The score is the mean by weight. Passed: every required oracle passed, and the
    score reaches ``threshold`` where there is one. Where there is neither a
    threshold nor a required oracle, all are required: nothing passes unjudged. An
    oracle without a result has not passed and scores 0.
    """
    by_name = {result.name: result for result in results}
    ordered = tuple(_result_of(spec, by_name) for spec in specs)
    score = _mean(ordered)
    required = [result for result in ordered if result.required]
    if threshold is None and not required:
        required = list(ordered)
    failing = [result for result in required if not result.passed]
    if failing:
        passed, reason = False, _refusal(failing)
    elif threshold is not None and score < threshold - TOLERANCE:
        passed = False
        reason = f"score {_below(threshold, score)} is below the threshold {threshold:g}"
    elif threshold is not None:
        passed, reason = True, f"score {score:.3g} reaches the threshold {threshold:g}"
    else:
        passed, reason = bool(ordered), _praise(ordered)
    return Verdict(passed=passed, score=score, reason=reason, results=ordered)


def _result_of(spec: OracleSpec, by_name: Mapping[str, OracleResult]) -> OracleResult:
    found = by_name.get(spec.name)
    if found is None:
        found = OracleResult(
            name=spec.name, kind=spec.kind, passed=False, score=0.0, reason="was not run"
        )
    return replace(found, required=spec.required, weight=spec.weight)


def _mean(results: Sequence[OracleResult]) -> float:
    total = sum(result.weight for result in results)
    return sum(result.weight * result.score for result in results) / total if total else 0.0


def _refusal(failing: Sequence[OracleResult]) -> str:
    first = one_line(f"{failing[0].name}: {failing[0].reason}", 270)
    return first if len(failing) == 1 else f"{first} (and {len(failing) - 1} more)"


def _praise(results: Sequence[OracleResult]) -> str:
    passed = sum(result.passed for result in results)
    if not results:
        return "no oracle judged"
    if passed == len(results):
        return f"{counted(passed, 'oracle')} passed"
    return f"{passed} of {len(results)} oracles passed, all that are required"


def _below(threshold: float, score: float) -> str:
    """The score in as many digits as it takes to read smaller than the threshold."""
    for digits in range(2, 17):
        text = f"{score:.{digits}g}"
        if float(text) < threshold:
            return text
    return repr(score)
