from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_agentbench.oracles.pytest_judging import ANY_OTHER, Judgement, judge
from pytest_agentbench.oracles.pytest_report import Phase, SuiteReport

approx: Any = pytest.approx  # its type does not fit into a tuple that is compared

PHASES = ("setup", "call", "teardown")
GOOD = [Phase(when, "passed") for when in PHASES]


def went(outcome: str, why: str = "", *, when: str = "call", xfail: bool = False) -> list[Phase]:
    """The phases of a test in which one of them did not just pass."""
    phases = []
    for name in PHASES:
        if name == when:
            phases.append(Phase(name, outcome, why, xfail=xfail))
            if name == "setup":
                return [*phases, Phase("teardown", "passed")]
        else:
            phases.append(Phase(name, "passed"))
    return phases


FAILED = went("failed", "assert 3 == 4\n + where 3 = f()")
BROKEN = went("failed", "fixture 'x' not found", when="setup")
UNDONE = went("failed", "cannot clean up", when="teardown")
SKIPPED = went("skipped", "no reason")
SKIPPED_BY_MARK = went("skipped", "later", when="setup")
XFAILED = went("skipped", "known", xfail=True)
XPASSED = went("passed", xfail=True)


def verdict(
    expected: dict[str, str],
    phases: dict[str, list[Phase]],
    *,
    ending: str = "exited with 1",
    finished: bool = True,
    uncollected: dict[str, str] | None = None,
    flaw: str = "",
) -> Judgement:
    report = SuiteReport(
        started=True,
        finished=finished,
        status=1 if finished else None,
        phases=phases,
        uncollected=uncollected or {},
        flaw=flaw,
    )
    return judge(expected, report, ending)


def run(*names: str) -> dict[str, str]:
    return dict.fromkeys(names, "run")


def told(judgement: Judgement) -> tuple[bool, float, str]:
    return judgement.passed, judgement.score, judgement.reason


def test_all_passed() -> None:
    """Every expected test passed in all of its phases."""
    found = verdict(run("a", "b"), {"a": GOOD, "b": GOOD})
    assert told(found) == (True, 1.0, "2 of 2 tests passed")


def test_failures_are_counted_and_named() -> None:
    """Failures and errors of set-up and teardown have not passed; the first ones are named."""
    phases = {"a": GOOD, "b": FAILED, "c": BROKEN, "d": UNDONE}
    assert told(verdict(run("a", "b", "c", "d"), phases)) == (
        False,
        0.25,
        "3 of 4 tests failed: b (assert 3 == 4), c (fixture 'x' not found), d (cannot clean up)",
    )


def test_many_failures_are_cut_off() -> None:
    """More than three failures end in a mark, and details hold twenty."""
    names = [f"t{index:02}" for index in range(30)]
    found = verdict(run(*names), dict.fromkeys(names, went("failed", "no")))
    assert found.reason == "30 of 30 tests failed: t00 (no), t01 (no), t02 (no), …"
    misses = found.details["misses"]
    assert isinstance(misses, list)
    assert len(misses) == 20
    assert misses[0] == {"test": "t00", "fate": "failed", "why": "no"}


def test_a_test_that_did_not_report_has_not_passed() -> None:
    """A process that ends in the middle passes nothing that it did not get to."""
    found = verdict(run("a", "b", "c"), {"a": GOOD}, ending="exited with 0", finished=False)
    assert told(found) == (
        False,
        approx(1 / 3),
        "2 of 3 expected tests did not report; the process exited with 0 in the middle",
    )


@pytest.mark.parametrize("phases", [[], GOOD[:1], GOOD[:2]])
def test_a_test_that_did_not_end_has_not_passed(phases: list[Phase]) -> None:
    """Set-up, call and teardown must all have reported."""
    found = verdict(run("a"), {"a": phases}, ending="was killed by SIGKILL", finished=False)
    assert told(found) == (
        False,
        0.0,
        "1 of 1 expected test did not report; the process was killed by SIGKILL in the middle",
    )


def test_a_session_that_did_not_end_has_not_passed() -> None:
    """All tests passed, but the process died before the session was over."""
    found = verdict(run("a"), {"a": GOOD}, ending="ran out of memory", finished=False)
    assert told(found) == (
        False,
        1.0,
        "1 test passed, but the process ran out of memory before its session was over",
    )


FLAW = "row 3 of the report was not written by the tests' process"


def test_a_flaw_passes_nothing_and_is_told() -> None:
    """What verified keeps its score; where reading stopped is part of the reason."""
    found = verdict(run("a"), {"a": GOOD}, flaw=FLAW)
    assert told(found) == (False, 1.0, f"1 test passed, but {FLAW}")
    assert found.details["report_flaw"] == FLAW
    found = verdict(run("a", "b"), {"a": GOOD}, finished=False, flaw=FLAW)
    assert told(found) == (
        False,
        0.5,
        (f"1 of 2 expected tests did not report; the process exited with 1 in the middle; {FLAW}"),
    )


def test_without_a_flaw_the_details_name_none() -> None:
    """Negative control of the row above."""
    assert "report_flaw" not in verdict(run("a"), {"a": GOOD}).details


def test_uncollected_files_are_the_cause() -> None:
    """Where a file could not be collected, the end of its traceback is the reason."""
    why = "Traceback:\ntest_a.py:1: in <module>\nE   ModuleNotFoundError: No module named 'shop'\n"
    found = verdict(run("a", "b"), {"b": FAILED}, uncollected={"test_a.py": why})
    assert found.reason == (
        "1 of 2 tests failed: b (assert 3 == 4); 1 of 2 expected tests did not report; "
        "test_a.py could not be collected: ModuleNotFoundError: No module named 'shop'"
    )


def test_nothing_reported_in_a_session_that_ended() -> None:
    """The status of pytest is the cause where it came to an end without the tests."""
    assert verdict(run("a"), {}).reason == (
        "1 of 1 expected test did not report; pytest ended with status 1"
    )


def test_a_skip_while_running_has_not_passed() -> None:
    """A skip that no mark announced may come from the tested code."""
    found = verdict(run("a", "b"), {"a": GOOD, "b": SKIPPED})
    assert told(found) == (
        False,
        0.5,
        "1 of 2 tests skipped while running: b (no reason)",
    )


def test_an_xfail_while_running_has_not_passed() -> None:
    """Neither has an expected failure that no mark announced."""
    found = verdict(run("a"), {"a": XFAILED})
    assert told(found) == (False, 0.0, "1 of 1 test xfailed while running: a (known)")


def test_marked_tests_are_left_out() -> None:
    """What its own mark skips, or lets fail, counts neither way."""
    expected = {"a": "run", "b": "skip", "c": "xfail"}
    found = verdict(expected, {"a": GOOD, "b": SKIPPED_BY_MARK, "c": XFAILED})
    assert told(found) == (True, 1.0, "1 of 1 test passed, 2 left out by their own marks")


def test_marked_tests_that_ran_count() -> None:
    """A skip that did not skip and an xfail that passed are tests like others."""
    expected = {"a": "skip", "b": "skip", "c": "xfail"}
    found = verdict(expected, {"a": GOOD, "b": FAILED, "c": XPASSED})
    assert told(found) == (
        False,
        approx(2 / 3),
        "1 of 3 tests failed: b (assert 3 == 4)",
    )


def test_a_strict_xfail_that_passed_has_failed() -> None:
    """It is reported as failed, and so the oracle has it."""
    found = verdict({"a": "xfail"}, {"a": went("failed", "[XPASS(strict)] known")})
    assert told(found) == (False, 0.0, "1 of 1 test failed: a ([XPASS(strict)] known)")


def test_marks_do_not_excuse_each_other() -> None:
    """An xfail-marked test may not skip, a skip-marked one may not xfail, neither may be silent."""
    expected = {"a": "xfail", "b": "skip", "c": "skip", "d": "run"}
    found = verdict(expected, {"a": SKIPPED, "b": XFAILED, "d": GOOD})
    assert (found.passed, found.score) == (False, 0.25)


def test_all_left_out_is_no_pass() -> None:
    """Where no test judged, nothing passed."""
    found = verdict({"a": "skip"}, {"a": SKIPPED_BY_MARK})
    assert told(found) == (False, 0.0, "no test judged: 1 test left out by their own marks")


def test_a_function_stands_for_its_parameters() -> None:
    """Listed from source, a function needs one report at least, and all of them good."""
    assert verdict(run("m::f"), {"m::f[1]": GOOD, "m::f[2]": GOOD}).passed
    one_bad = verdict(run("m::f"), {"m::f[1]": GOOD, "m::f[2]": FAILED})
    assert told(one_bad) == (False, 0.0, "1 of 1 test failed: m::f[2] (assert 3 == 4)")
    assert not verdict(run("m::f"), {}).passed
    assert not verdict(run("m::f"), {"m::ff[1]": GOOD, "m::g[f]": GOOD}).passed


def test_listed_parameters_are_exact() -> None:
    """Listed by collecting, one set of parameters does not stand for another."""
    assert not verdict(run("m::f[1]"), {"m::f[2]": GOOD}).passed


def test_unexpected_tests_do_not_count() -> None:
    """More tests than expected neither help nor harm; those that failed are noted."""
    found = verdict(run("a"), {"a": GOOD, "x": FAILED, "y": GOOD})
    assert (found.passed, found.score) == (True, 1.0)
    assert found.details["unexpected_failures"] == ["x"]
    assert not verdict(run("a"), {"x": GOOD}).passed


def test_unexpected_tests_count_beside_a_list_from_source() -> None:
    """A list from source cannot see inherited tests, so whatever reports counts."""
    expected = {**run("a"), ANY_OTHER: "run"}
    assert told(verdict(expected, {"a": GOOD, "x": FAILED})) == (
        False,
        0.5,
        "1 of 2 tests failed: x (assert 3 == 4)",
    )
    assert told(verdict(expected, {"a": GOOD, "x": GOOD})) == (True, 1.0, "2 of 2 tests passed")


def test_subtests_cannot_stand_in_for_their_test() -> None:
    """A subtest that passed is no report of the test; one that failed fails it."""
    passed_sub = Phase("call", "passed", sub=True)
    alone = [GOOD[0], passed_sub, GOOD[2]]
    assert not verdict(run("a"), {"a": alone}).passed
    failed_sub = Phase("call", "failed", "assert 0", sub=True)
    assert not verdict(run("a"), {"a": [GOOD[0], failed_sub, *GOOD[1:]]}).passed
    assert verdict(run("a"), {"a": [GOOD[0], passed_sub, *GOOD[1:]]}).passed


def test_a_later_pass_does_not_undo_a_failure() -> None:
    """A second report for the same test cannot overturn the first."""
    assert not verdict(run("a"), {"a": [*FAILED, *GOOD]}).passed


words = st.sampled_from(["a", "b", "c[1]", "c[2]"])
some_phase = st.builds(
    Phase,
    when=st.sampled_from(PHASES),
    outcome=st.sampled_from(["passed", "failed", "skipped", "rerun"]),
    xfail=st.booleans(),
    sub=st.booleans(),
)


@given(
    st.dictionaries(words | st.just("c"), st.sampled_from(["run", "skip", "xfail"]), min_size=1),
    st.dictionaries(words, st.lists(some_phase, max_size=4)),
    st.booleans(),
)
def test_a_pass_means_that_every_counted_test_said_so(
    expected: dict[str, str],
    phases: dict[str, list[Phase]],
    finished: bool,  # noqa: FBT001
) -> None:
    """Whatever is reported, a pass needs a finished session and a good call for each ``run``."""
    found = verdict(expected, phases, finished=finished)
    assert 0.0 <= found.score <= 1.0
    json.dumps(found.details)
    if found.passed:
        assert finished
        for name, mark in expected.items():
            these = [
                one for key, one in phases.items() if key == name or key.startswith(f"{name}[")
            ]
            assert these
            for reported in these if mark == "run" else []:
                assert Phase("call", "passed") in [
                    Phase(one.when, one.outcome) for one in reported if not one.sub
                ]
                assert all(one.outcome != "failed" for one in reported)
