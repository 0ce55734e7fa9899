from __future__ import annotations

from pathlib import Path

import pytest

from pytest_agentbench.model.task import FileTree, JsonValue, OracleSpec, Position
from pytest_agentbench.oracles.pytest_judging import judge
from pytest_agentbench.oracles.pytest_lists import (
    ListedTests,
    UnknownTests,
    check_files,
    check_weights,
    expected_of,
    listed_tests,
)
from pytest_agentbench.oracles.pytest_report import Phase, SuiteReport
from pytest_agentbench.oracles.pytest_tests import PytestOracle

GOOD = [Phase(when, "passed") for when in ("setup", "call", "teardown")]
BAD = [GOOD[0], Phase("call", "failed", "no"), GOOD[2]]
SKIPPED = [Phase("setup", "skipped", "no network"), GOOD[2]]
XFAILED = [GOOD[0], Phase("call", "skipped", "known", xfail=True), GOOD[2]]


def problems(options: dict[str, JsonValue]) -> list[tuple[tuple[str | int, ...], str]]:
    tree = FileTree(files={"test_a.py": ""})
    spec = OracleSpec("pytest", "p", Position(Path("t.yaml"), 1), tree, options=options)
    return PytestOracle().validate(spec)


@pytest.mark.parametrize(
    "options",
    [
        {"fail_to_pass": ["test_a.py::test_b", "test_a.py::TestC::test_d[1-x y]"]},
        {"fail_to_pass": '["test_a.py::test_b"]', "pass_to_pass": "[]"},
        {"pass_to_pass": ["sub/test_a.py::test_b"]},
        {"weights": {"test_a.py::*": 2, "test_a.py::test_b": 0.5}},
    ],
)
def test_good_lists(options: dict[str, JsonValue]) -> None:
    """Ids in a list, or in the JSON that a dataset's row gives; a row may have none to keep."""
    assert problems(options) == []


@pytest.mark.parametrize(
    ("options", "at", "message"),
    [
        (
            {"fail_to_pass": "test_a.py::test_b"},
            ("fail_to_pass",),
            "must be a list of test ids, or a text that is one as JSON",
        ),
        (
            {"fail_to_pass": {"a": 1}},
            ("fail_to_pass",),
            "must be a list of test ids, or a text that is one as JSON",
        ),
        (
            {"fail_to_pass": "['test_a.py::test_b']"},
            ("fail_to_pass",),
            "must be a list of test ids, or a text that is one as JSON",
        ),
        (
            {"fail_to_pass": []},
            ("fail_to_pass",),
            "must list a test; leave it out if there is none",
        ),
        (
            {"fail_to_pass": "[]"},
            ("fail_to_pass",),
            "must list a test; leave it out if there is none",
        ),
        (
            {"pass_to_pass": []},
            ("pass_to_pass",),
            "must list a test; leave it out if there is none",
        ),
        (
            {"fail_to_pass": [3]},
            ("fail_to_pass", 0),
            "must be a test id, such as 'test_calc.py::test_adds'",
        ),
        (
            {"fail_to_pass": ["test_b"]},
            ("fail_to_pass", 0),
            "'test_b' is no test id; write it like 'test_calc.py::test_adds'",
        ),
        (
            {"fail_to_pass": ["/x/test_a.py::test_b"]},
            ("fail_to_pass", 0),
            "'/x/test_a.py::test_b' is no test id; write it like 'test_calc.py::test_adds'",
        ),
        (
            {"fail_to_pass": '["test_b"]'},
            ("fail_to_pass",),
            "'test_b' is no test id; write it like 'test_calc.py::test_adds'",
        ),
        (
            {"fail_to_pass": ["a.py::b", "a.py::c", "a.py::b"]},
            ("fail_to_pass", 2),
            "'a.py::b' is listed twice",
        ),
        (
            {"fail_to_pass": ["a.py::b"], "pass_to_pass": ["a.py::c", "a.py::b"]},
            ("pass_to_pass", 1),
            "'a.py::b' is in 'fail_to_pass' too",
        ),
        (
            {"weights": {}},
            ("weights",),
            "must be a mapping of test ids or patterns to numbers",
        ),
        (
            {"weights": [1]},
            ("weights",),
            "must be a mapping of test ids or patterns to numbers",
        ),
        *(
            (
                {"weights": {"*": weight}},
                ("weights", "*"),
                "must be a number above 0, up to a million",
            )
            for weight in (0, -1, True, "2", 1e9, float("nan"))
        ),
        (
            {"fail_to_pas": []},
            ("fail_to_pas",),
            "unknown key 'fail_to_pas'; did you mean 'fail_to_pass'?",
        ),
    ],
)
def test_bad_lists(options: dict[str, JsonValue], at: tuple[str | int, ...], message: str) -> None:
    """Each fault is told with its place; items of a row's list have none."""
    assert problems(options) == [(at, message)]


def lists(*names: str) -> ListedTests:
    return ListedTests(groups=dict.fromkeys(names, "fail_to_pass"))


KNOWN = {
    "a.py::plain": "run",
    "a.py::many[1]": "run",
    "a.py::many[2]": "run",
    "a.py::off": "skip",
    "a.py::known": "xfail",
}


def test_listed_tests_are_expected_to_run() -> None:
    """By their ids, and a parametrized one by its function; marks that expect failure are void."""
    assert expected_of(lists("a.py::plain", "a.py::known"), KNOWN) == {
        "a.py::plain": "run",
        "a.py::known": "run",
    }
    both = {"a.py::many[1]": "run", "a.py::many[2]": "run"}
    assert expected_of(lists("a.py::many"), KNOWN) == both
    assert expected_of(lists("a.py::many[2]"), KNOWN) == {"a.py::many[2]": "run"}


@pytest.mark.parametrize(
    ("names", "message"),
    [
        (
            ("a.py::plane",),
            "lists 1 test that is not there: 'a.py::plane' (did you mean 'a.py::plain'?)",
        ),
        (
            ("a.py::many[3]",),
            "lists 1 test that is not there: 'a.py::many[3]' (did you mean 'a.py::many[2]'?)",
        ),
        (
            ("a.py::plain[1]", "zzz.py::qqqqqqqqqq"),
            (
                "lists 2 tests that are not there: 'a.py::plain[1]' (did you mean 'a.py::plain'?), "
                "'zzz.py::qqqqqqqqqq'"
            ),
        ),
        (("a.py::off",), "lists 'a.py::off', which is skipped by a mark, so can never pass"),
    ],
)
def test_what_cannot_pass_is_named(names: tuple[str, ...], message: str) -> None:
    """An id that nobody knows, or that will be skipped, is the author's mistake."""
    with pytest.raises(UnknownTests) as caught:
        expected_of(lists(*names), KNOWN)
    assert str(caught.value) == message


def test_source_knows_parametrized_tests_by_their_function() -> None:
    """Which parameters there are, a run will show."""
    known = {"a.py::many": "run"}
    one = lists("a.py::many[1]")
    assert expected_of(one, known, from_source=True) == {"a.py::many[1]": "run"}
    with pytest.raises(UnknownTests):
        expected_of(one, known)


def test_files_must_be_there() -> None:
    """Ids name files of the oracle, with a guess at what was meant."""
    check_files(lists("sub/test_a.py::x"), ["sub/test_a.py"])
    with pytest.raises(UnknownTests) as caught:
        check_files(lists("tests/sub/test_a.py::x"), ["sub/test_a.py"])
    assert str(caught.value) == (
        "lists 1 file that is not there: 'tests/sub/test_a.py' (did you mean 'sub/test_a.py'?)"
    )


def test_weights_go_by_id_then_by_the_first_pattern() -> None:
    """Brackets of a parametrized id mean themselves in an id, and a set in a pattern."""
    weighed = listed_tests({"weights": {"a.py::m*": 3, "a.py::many[1]": 5, "*": 2}})
    assert [weighed.weight_of(name) for name in ("a.py::many[1]", "a.py::many[2]", "b")] == [
        5,
        3,
        2,
    ]
    assert ListedTests().weight_of("b") == 1


def test_weights_of_nothing_are_refused() -> None:
    """A pattern that matches no test that counts is a slip."""
    weighed = ListedTests(weights={"a.py::plain": 1, "*[[]1]": 2, "b.py::*": 3})
    with pytest.raises(UnknownTests) as caught:
        check_weights(weighed, KNOWN)
    assert str(caught.value) == "gives a weight to what is not there: 'b.py::*'"


def report(**phases: list[Phase]) -> SuiteReport:
    found = {f"a.py::{name}": rows for name, rows in phases.items()}
    return SuiteReport(started=True, finished=True, status=0, phases=found)


def test_every_listed_test_must_pass() -> None:
    """Skipped, expected to fail, or silent: not passed; what is not listed has no effect."""
    given = ListedTests(
        {"a.py::new": "fail_to_pass", "a.py::old": "pass_to_pass", "a.py::dry": "pass_to_pass"}
    )
    expected = dict.fromkeys(given.ids, "run")
    right = judge(expected, report(new=GOOD, old=GOOD, dry=GOOD, other=BAD), "exited with 0", given)
    assert (right.passed, right.score, right.reason) == (True, 1.0, "3 of 3 tests passed")
    assert right.details["fail_to_pass"] == {"expected": 1, "passed": 1}
    assert right.details["pass_to_pass"] == {"expected": 2, "passed": 2}
    for rows in (BAD, SKIPPED, XFAILED, GOOD[:1], []):
        wrong = judge(expected, report(new=GOOD, old=GOOD, dry=rows), "exited with 0", given)
        assert (wrong.passed, round(wrong.score, 3)) == (False, 0.667)
        assert wrong.details["pass_to_pass"] == {"expected": 2, "passed": 1}
    silent = judge(expected, report(new=GOOD, old=GOOD), "exited with 0", given)
    assert not silent.passed


def test_scores_are_weighed() -> None:
    """The share of weight that passed; all of it is still what passes."""
    given = ListedTests(weights={"a.py::b*": 3})
    expected = {"a.py::a": "run", "a.py::b1": "run", "a.py::b2": "run"}
    half = judge(expected, report(a=GOOD, b1=GOOD, b2=BAD), "exited with 1", given)
    assert (half.passed, half.score) == (False, pytest.approx(4 / 7))
    whole = judge(expected, report(a=GOOD, b1=GOOD, b2=GOOD), "exited with 0", given)
    assert (whole.passed, whole.score) == (True, 1.0)
