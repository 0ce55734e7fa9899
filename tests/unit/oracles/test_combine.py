from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_agentbench.model.task import OracleSpec, Position
from pytest_agentbench.model.verdict import OracleResult
from pytest_agentbench.oracles.combine import combine

HERE = Position(Path("task.yaml"), 1)


def spec(name: str, *, weight: float = 1.0, required: bool = True) -> OracleSpec:
    return OracleSpec("run", name, HERE, ["true"], weight=weight, required=required)


def result(name: str, score: float, reason: str = "because") -> OracleResult:
    return OracleResult(name, "run", passed=score == 1.0, score=score, reason=reason)


def test_all_required_oracles_passed() -> None:
    """Without a threshold, a trial passes when every oracle passed."""
    verdict = combine([result("a", 1.0), result("b", 1.0)], [spec("a"), spec("b")], None)
    assert (verdict.passed, verdict.score, verdict.reason) == (True, 1.0, "2 oracles passed")


def test_the_first_failing_required_oracle_gives_the_reason() -> None:
    """A required oracle that failed decides, and the first one is named with its reason."""
    results = [result("a", 1.0), result("b", 0.5, "1 of 2 tests failed"), result("c", 0.0, "no")]
    verdict = combine(results, [spec("a"), spec("b"), spec("c")], None)
    assert not verdict.passed
    assert verdict.score == pytest.approx(0.5)
    assert verdict.reason == "b: 1 of 2 tests failed (and 1 more)"


def test_weights_count() -> None:
    """The score is the mean by weight."""
    specs = [spec("a", weight=3), spec("b", weight=1)]
    assert combine([result("a", 1.0), result("b", 0.0)], specs, None).score == 0.75


def test_below_the_threshold() -> None:
    """A score below the threshold fails, and both are told."""
    specs = [spec("a", required=False), spec("b", required=False)]
    verdict = combine([result("a", 1.0), result("b", 0.24)], specs, 0.8)
    assert not verdict.passed
    assert verdict.reason == "score 0.62 is below the threshold 0.8"


def test_just_below_the_threshold_reads_as_below() -> None:
    """A score is shown in as many digits as it takes to read smaller than the threshold."""
    verdict = combine([result("a", 0.79996)], [spec("a", required=False)], 0.8)
    assert verdict.reason == "score 0.79996 is below the threshold 0.8"


def test_a_sum_of_floats_reaches_its_threshold() -> None:
    """0.1 + 0.2 is enough where 0.3 is asked for."""
    specs = [spec(name, required=False) for name in "abcdefghij"]
    results = [result(name, 0.1 if index % 2 else 0.7) for index, name in enumerate("abcdefghij")]
    verdict = combine(results, specs, 0.4)
    assert (verdict.passed, verdict.reason) == (True, "score 0.4 reaches the threshold 0.4")


def test_a_required_oracle_beats_the_threshold() -> None:
    """A required oracle that failed fails the trial, however high the score."""
    specs = [spec("a", weight=99, required=False), spec("b")]
    assert not combine([result("a", 1.0), result("b", 0.0)], specs, 0.5).passed


def test_optional_oracles_lower_the_score_only() -> None:
    """An optional oracle that failed does not fail a trial without a threshold."""
    specs = [spec("a"), spec("b", required=False)]
    verdict = combine([result("a", 1.0), result("b", 0.0)], specs, None)
    assert (verdict.passed, verdict.score) == (True, 0.5)
    assert verdict.reason == "1 of 2 oracles passed, all that are required"


def test_nothing_required_and_no_threshold_requires_all() -> None:
    """Where neither a threshold nor an oracle is binding, all oracles are."""
    specs = [spec("a", required=False), spec("b", required=False)]
    assert not combine([result("a", 1.0), result("b", 0.0)], specs, None).passed
    assert combine([result("a", 1.0), result("b", 1.0)], specs, None).passed


def test_an_oracle_without_a_result_has_not_passed() -> None:
    """An oracle that was not run counts, with score 0."""
    verdict = combine([result("a", 1.0)], [spec("a"), spec("b")], None)
    assert (verdict.passed, verdict.score) == (False, 0.5)
    assert verdict.reason == "b: was not run"
    assert [one.name for one in verdict.results] == ["a", "b"]


def test_nothing_at_all_does_not_pass() -> None:
    """No oracles, no pass."""
    verdict = combine([], [], None)
    assert (verdict.passed, verdict.score, verdict.reason) == (False, 0.0, "no oracle judged")


def test_results_take_weight_and_order_from_the_specs() -> None:
    """What a result says of its own weight does not count; the order is the authored one."""
    specs = [spec("a", weight=2, required=False), spec("b")]
    verdict = combine([result("b", 1.0), result("a", 1.0)], specs, None)
    assert [(one.name, one.weight, one.required) for one in verdict.results] == [
        ("a", 2, False),
        ("b", 1.0, True),
    ]


def test_a_long_reason_stays_bounded() -> None:
    """The verdict's reason has at most 300 characters."""
    results = [result("a", 0.0, "x" * 300), result("b", 0.0)]
    verdict = combine(results, [spec("a"), spec("b")], None)
    assert len(verdict.reason) <= 300
    assert verdict.reason.endswith("(and 1 more)")


scores = st.floats(0.0, 1.0)


@given(st.lists(st.tuples(scores, st.floats(0.01, 100.0), st.booleans()), min_size=1))
def test_the_score_stays_between_its_parts(parts: list[tuple[float, float, bool]]) -> None:
    """A weighted mean lies between the lowest and the highest score."""
    specs = [
        spec(str(index), weight=weight, required=required)
        for index, (_, weight, required) in enumerate(parts)
    ]
    results = [result(str(index), score) for index, (score, _, _) in enumerate(parts)]
    verdict = combine(results, specs, None)
    low, high = min(part[0] for part in parts), max(part[0] for part in parts)
    assert low - 1e-9 <= verdict.score <= high + 1e-9
