"""What all oracles and checks of a trial say together. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from pytest_agentbench.model.task import OracleSpec, Reveal
from pytest_agentbench.model.verdict import OracleResult, Verdict
from pytest_agentbench.oracles.base import TOLERANCE, counted, one_line


def combine(
    results: Iterable[OracleResult],
    specs: Sequence[OracleSpec],
    threshold: float | None,
    *,
    reveal: Reveal = "reasons",
) -> Verdict:
    """Weigh the results, in the order of ``specs``: checks first, then oracles.

    The score is the mean by weight. Passed: every check and every required oracle
    passed, and the score reaches ``threshold`` where there is one. Where there is
    neither a threshold nor a required oracle, all are required: nothing passes
    unjudged, and no check certifies alone. An oracle without a result has not passed
    and scores 0. Advisory ones are told and change nothing. ``reveal`` bounds what the
    verdict's reason tells of a result whose own spec does not say.
    """
    by_name = {result.name: result for result in results}
    ordered = tuple(_result_of(spec, by_name) for spec in specs)
    told = {spec.name: spec.reveal or reveal for spec in specs}
    score = _mean([result for result in ordered if not result.advisory])
    must_pass = binding(specs, threshold)
    failing = [one for one in ordered if one.name in must_pass and not one.passed]
    judging = [result for result in ordered if not (result.advisory or result.visible)]
    if failing:
        passed, reason = False, _refusal(failing, told)
    elif not judging:
        passed, reason = False, "no oracle judged"
    elif threshold is not None and score < threshold - TOLERANCE:
        passed = False
        reason = f"score {_below(threshold, score)} is below the threshold {threshold:g}"
    elif threshold is not None:
        passed, reason = True, f"score {score:.3g} reaches the threshold {threshold:g}"
    else:
        passed, reason = True, _praise(ordered)
    return Verdict(passed=passed, score=score, reason=reason, results=ordered)


def binding(specs: Sequence[OracleSpec], threshold: float | None) -> frozenset[str]:
    """The names of those that have to pass, whatever the score is."""
    counting = [spec for spec in specs if not spec.advisory]
    required = [spec for spec in counting if spec.required]
    if threshold is None and all(spec.visible for spec in required):
        required = counting
    return frozenset(spec.name for spec in required)


def graded(result: OracleResult, spec: OracleSpec) -> OracleResult:
    """A result as its entry wants it taken: required or not, and passed from ``pass_at`` on.

    One that did not come to its own end has not passed, however much of its score was
    reached by then. Taking it twice changes nothing.
    """
    taken = replace(
        result,
        kind=spec.kind,
        required=spec.required and not spec.advisory,
        weight=0.0 if spec.advisory else spec.weight,
        advisory=spec.advisory,
        visible=spec.visible,
        passed=result.passed and result.ran and result.sound,
    )
    if spec.pass_at is None:
        return taken
    reached = result.score > 0 and result.score >= spec.pass_at - TOLERANCE
    passed = result.ran and result.sound and reached
    if passed == result.passed:
        return taken
    against = "reaches" if passed else "is below"
    note = f"score {_told(result.score, spec.pass_at)} {against} {spec.pass_at:g}"
    return replace(taken, passed=passed, reason=one_line(f"{result.reason} ({note})"))


def unmet_need(spec: OracleSpec, earlier: Iterable[OracleResult]) -> OracleResult | None:
    """The first of what an entry needs that has not passed; None when it may be run."""
    by_name = {result.name: result for result in earlier}
    for need in spec.needs:
        found = by_name.get(need)
        if found is None or not found.passed:
            return found or _not_run(need, spec.kind, "was not run")
    return None


def _result_of(spec: OracleSpec, by_name: Mapping[str, OracleResult]) -> OracleResult:
    found = by_name.get(spec.name)
    if found is None:
        found = _not_run(spec.name, spec.kind, "was not run")
    return graded(found, spec)


def _not_run(name: str, kind: str, reason: str) -> OracleResult:
    return OracleResult(name=name, kind=kind, passed=False, score=0.0, reason=reason, ran=False)


def _mean(results: Sequence[OracleResult]) -> float:
    total = sum(result.weight for result in results)
    return sum(result.weight * result.score for result in results) / total if total else 0.0


def _refusal(failing: Sequence[OracleResult], told: Mapping[str, Reveal]) -> str:
    worst = failing[0]
    if told[worst.name] == "verdict":
        first = f"{worst.name} did not pass (score {worst.score:.3g})"
    else:
        first = one_line(f"{worst.name}: {worst.reason}", 270)
    return first if len(failing) == 1 else f"{first} (and {len(failing) - 1} more)"


def _praise(results: Sequence[OracleResult]) -> str:
    """How many oracles passed, and that the checks did where there are any."""
    checks = [one for one in results if one.visible and not one.advisory]
    oracles = [one for one in results if not (one.visible or one.advisory)]
    passed = sum(one.passed for one in oracles)
    if passed < len(oracles):
        return f"{passed} of {len(oracles)} oracles passed, all that are required"
    before = f"{counted(len(checks), 'check')} and " if checks else ""
    return f"{before}{counted(passed, 'oracle')} passed"


def _told(score: float, bound: float) -> str:
    return _below(bound, score) if score < bound - TOLERANCE else f"{score:.3g}"


def _below(threshold: float, score: float) -> str:
    """The score in as many digits as it takes to read smaller than the threshold."""
    for digits in range(2, 17):
        text = f"{score:.{digits}g}"
        if float(text) < threshold:
            return text
    return repr(score)
