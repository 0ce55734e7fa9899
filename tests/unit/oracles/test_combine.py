from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_agentbench.model.task import OracleSpec, Position
from pytest_agentbench.model.verdict import OracleResult
from pytest_agentbench.oracles.combine import binding, combine, graded, unmet_need

HERE = Position(Path("task.yaml"), 1)


def spec(name: str, *, weight: float = 1.0, required: bool = True) -> OracleSpec:
    return OracleSpec("run", name, HERE, ["true"], weight=weight, required=required)


def check(name: str, *, advisory: bool = False) -> OracleSpec:
    """A check as the loader makes it: required unless advisory, without weight."""
    bare = spec(name, weight=0.0, required=not advisory)
    return replace(bare, advisory=advisory, visible=True)


def advisory(name: str) -> OracleSpec:
    return replace(spec(name, weight=0.0, required=False), advisory=True)


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


def test_a_check_that_failed_comes_first() -> None:
    """A check has to pass, and is named before the oracles, also beside a threshold."""
    results = [result("tests", 0.0, "exited with 1"), result("hidden", 0.9, "9 of 10")]
    for threshold in (None, 0.5):
        specs = [check("tests"), spec("hidden", required=threshold is None)]
        verdict = combine(results, specs, threshold)
        assert not verdict.passed
        assert verdict.reason.startswith("tests: exited with 1")


def test_checks_do_not_move_the_score() -> None:
    """The score is the oracles' alone, and the praise tells both."""
    verdict = combine([result("t", 1.0), result("h", 1.0)], [check("t"), spec("h")], None)
    assert (verdict.score, verdict.reason) == (1.0, "1 check and 1 oracle passed")
    assert combine([result("t", 0.0), result("h", 1.0)], [check("t"), spec("h")], None).score == 1.0


def test_a_check_certifies_nothing_alone() -> None:
    """Where no oracle is required and there is no threshold, a check is not enough."""
    specs = [check("tests"), spec("hidden", required=False)]
    assert not combine([result("tests", 1.0), result("hidden", 0.0)], specs, None).passed
    verdict = combine([result("tests", 1.0)], [check("tests")], None)
    assert (verdict.passed, verdict.reason) == (False, "no oracle judged")


def test_advisory_ones_change_nothing() -> None:
    """With or without them: the same verdict, score and reason."""
    mixed = [spec("a"), advisory("look"), spec("b"), check("note", advisory=True)]
    plain = [spec("a"), spec("b")]
    for scores in ((1.0, 1.0), (1.0, 0.5), (0.0, 0.0)):
        results = [result("a", scores[0]), result("b", scores[1]), result("look", 0.0)]
        verdict, bare = combine(results, mixed, None), combine(results, plain, None)
        assert (verdict.passed, verdict.score) == (bare.passed, bare.score)
        assert verdict.reason == bare.reason
        assert [one.advisory for one in verdict.results] == [False, True, False, True]


def test_advisory_ones_alone_judge_nothing() -> None:
    """A trial whose every oracle is advisory has not passed."""
    verdict = combine([result("look", 1.0)], [advisory("look")], None)
    assert (verdict.passed, verdict.score, verdict.reason) == (False, 0.0, "no oracle judged")


@pytest.mark.parametrize(
    ("score", "said", "passes"),
    [(0.75, False, True), (0.7, False, True), (0.69, False, False), (0.69, True, False)],
)
def test_pass_at_decides(score: float, *, said: bool, passes: bool) -> None:
    """With ``pass_at`` the score decides, whatever the oracle says."""
    answer = replace(result("a", score, "some of the tests"), passed=said)
    verdict = combine([answer], [replace(spec("a"), pass_at=0.7)], None)
    assert verdict.passed is passes


def test_pass_at_is_told_where_it_made_the_difference() -> None:
    """A reason that says "3 of 4 failed" beside "passed" would read as a bug."""
    bound = replace(spec("a"), pass_at=0.7)
    passing = graded(replace(result("a", 0.75, "1 of 4 tests failed"), passed=False), bound)
    assert passing.reason == "1 of 4 tests failed (score 0.75 reaches 0.7)"
    assert graded(passing, bound) == passing
    refused = graded(replace(result("a", 0.69996, "fine"), passed=True), bound)
    assert refused.reason == "fine (score 0.69996 is below 0.7)"
    assert graded(result("a", 1.0, "fine"), bound).reason == "fine"


@pytest.mark.parametrize("flaw", [{"sound": False}, {"ran": False}, {"score": 0.0}])
def test_what_died_never_reaches_pass_at(flaw: dict[str, object]) -> None:
    """A score that an oracle had reached when it died, or that was forged, passes nothing."""
    answer = replace(result("a", 1.0), passed=False, **flaw)  # type: ignore[arg-type]
    assert not graded(answer, replace(spec("a"), pass_at=1e-9)).passed


def test_needs_are_the_first_that_has_not_passed() -> None:
    """All needs have to have passed; one without a result has not."""
    wanting = replace(spec("c"), needs=("a", "b"))
    passed, failed = result("a", 1.0), result("b", 0.9)
    assert unmet_need(spec("c"), []) is None
    assert unmet_need(wanting, [passed, result("b", 1.0)]) is None
    assert unmet_need(wanting, [passed, failed]) == failed
    assert unmet_need(wanting, [failed]) == replace(
        result("a", 0.0, "was not run"), passed=False, ran=False
    )


def test_what_has_to_pass() -> None:
    """Required ones and checks; all oracles where nothing else binds; advisory ones never."""
    specs = [check("t"), spec("a"), spec("b", required=False), advisory("look")]
    assert binding(specs, None) == binding(specs, 0.5) == {"t", "a"}
    loose = [check("t"), spec("b", required=False), advisory("look")]
    assert binding(loose, None) == {"t", "b"}
    assert binding(loose, 0.5) == {"t"}


def test_a_hidden_reason_is_not_in_the_verdict() -> None:
    """``reveal: verdict`` tells name and score; an oracle's own word on it wins."""
    results = [result("a", 0.5, "the answer is 42"), result("b", 0.0, "no")]
    specs = [spec("a"), spec("b")]
    assert combine(results, specs, None, reveal="verdict").reason == (
        "a did not pass (score 0.5) (and 1 more)"
    )
    closed = [replace(spec("a"), reveal="verdict"), spec("b")]
    assert "42" not in combine(results, closed, None, reveal="full").reason
    opened = [replace(spec("a"), reveal="reasons"), spec("b")]
    assert "42" in combine(results, opened, None, reveal="verdict").reason
