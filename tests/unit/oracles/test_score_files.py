from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_agentbench.oracles.score_files import FORMAT_LIMITS, Score, Unreadable, read_score


def refusal(form: str, data: bytes | str) -> str:
    with pytest.raises(Unreadable) as caught:
        read_score(form, data.encode() if isinstance(data, str) else data)
    return str(caught.value)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("1", 1.0),
        ("0.25\n", 0.25),
        ("1e-3", 0.001),
        ("\ufeff0.5", 0.5),
        ('{"reward": 0.5, "time": 12}', 0.5),
        ('{"accuracy": 0.75}', 0.75),
        ("0", 0.0),
    ],
)
def test_a_reward(text: str, value: float) -> None:
    """One number, in plain text, as JSON, or in a flat mapping."""
    assert read_score("reward", text.encode()) == Score(value, f"reward {value:g}")


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "is empty"),
        (" \n", "is empty"),
        ("nan", "holds a number that is not finite"),
        ("inf", "holds a number that is not finite"),
        ("1e999", "holds a number that is not finite"),
        ("9" * 400, "holds a number that is not finite"),
        ("1.01", "holds 1.01, which is not in 0 to 1"),
        ("-0.1", "holds -0.1, which is not in 0 to 1"),
        ("true", "holds no number"),
        ('"1"', "holds no number"),
        ('{"reward": true}', "holds no number"),
        ('{"reward": "1"}', "holds no number"),
        ('{"reward": [1]}', "holds no number"),
        ('{"reward": {"reward": 1}}', "holds no number"),
        ('{"a": 1, "b": 1}', "has 2 keys and none of them is 'reward'"),
        ("{}", "has 0 keys and none of them is 'reward'"),
        ("[1]", "holds no number"),
        ("1 1", "cannot be read: Extra data: line 1 column 3 (char 2)"),
        ("passed", "cannot be read: Expecting value: line 1 column 1 (char 0)"),
        ("[" * 50_000, "is JSON that is nested too deep"),
    ],
)
def test_a_reward_that_says_nothing(text: str, why: str) -> None:
    """Whatever is not one finite number in 0 to 1 is unreadable."""
    assert refusal("reward", text) == why


def test_bytes_that_are_no_text() -> None:
    """A report that is not UTF-8 is unreadable."""
    assert refusal("reward", b"\xff\xfe1") == "is not UTF-8 text"


def junit(*cases: str) -> str:
    return f"<testsuites><testsuite name='s'>{''.join(cases)}</testsuite></testsuites>"


GOOD = "<testcase name='good'/>"
BAD = "<testcase name='bad'><failure message='m'>text</failure></testcase>"
BROKEN = "<testcase name='broken'><error/></testcase>"
SKIPPED = "<testcase name='skipped'><skipped/></testcase>"


def test_junit_counts_passed_cases() -> None:
    """Passed over all; failures, errors and skips have not passed and are named."""
    found = read_score("junit", junit(GOOD, BAD, BROKEN, SKIPPED).encode())
    assert found == Score(0.25, "1 of 4 tests passed; not passed: bad, broken, skipped")


def test_junit_all_passed() -> None:
    """All cases passed is 1, also without the outer element."""
    data = f"<testsuite>{GOOD}{GOOD}</testsuite>".encode()
    assert read_score("junit", data) == Score(1.0, "2 of 2 tests passed")


def test_junit_outputs_are_no_cases() -> None:
    """Elements of other names, however deep, count for nothing."""
    noisy = "<testcase name='a'><system-out>&lt;testcase/&gt;</system-out><x><y/></x></testcase>"
    assert read_score("junit", junit(noisy, "<properties/>").encode()).value == 1.0


def test_junit_an_error_outside_of_cases_counts() -> None:
    """A suite that failed in its set-up is not perfect because its one case passed."""
    found = read_score("junit", junit(GOOD, "<error message='set-up'/>").encode())
    assert found == Score(0.5, "1 of 2 tests passed; not passed: set-up")


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (junit(), "holds no test"),
        ("<testsuite tests='5'/>", "holds no test"),
        ("", "is not well-formed XML: no element found: line 1, column 0"),
        ("<testsuite><testcase/>", "is not well-formed XML: no element found: line 1, column 22"),
        ("<html><testcase/></html>", "is XML, but its root is <html>"),
        ("<!DOCTYPE testsuite><testsuite/>", "is XML with a DOCTYPE, which is refused"),
        (
            "<!DOCTYPE t [<!ENTITY a 'aaaa'><!ENTITY b '&a;&a;'>]><testsuite>&b;</testsuite>",
            "is XML with a DOCTYPE, which is refused",
        ),
        (
            "<!DOCTYPE t [<!ENTITY x SYSTEM 'file:///etc/hostname'>]><testsuite>&x;</testsuite>",
            "is XML with a DOCTYPE, which is refused",
        ),
        (
            "<?xml version='1.0' encoding='none-such'?><testsuite/>",
            "is XML in an encoding that cannot be read: unknown encoding: none-such",
        ),
    ],
)
def test_junit_that_says_nothing(text: str, why: str) -> None:
    """Empty, broken, foreign and dangerous XML is unreadable."""
    assert refusal("junit", text) == why


def ctrf(statuses: list[str], **summary: object) -> str:
    tests = [{"name": f"t{index}", "status": status} for index, status in enumerate(statuses)]
    return json.dumps({"results": {"tests": tests, "summary": summary}})


def test_ctrf_counts_passed_tests() -> None:
    """Passed over all, whatever else the others are."""
    text = ctrf(["passed", "failed", "skipped", "pending", "other"], tests=5, passed=1)
    assert read_score("ctrf", text.encode()) == Score(
        0.2, "1 of 5 tests passed; not passed: t1, t2, t3, t4"
    )


def test_ctrf_by_its_summary_alone() -> None:
    """A report without a list of tests counts by its summary."""
    text = json.dumps({"results": {"summary": {"tests": 4, "passed": 3}}})
    assert read_score("ctrf", text.encode()) == Score(0.75, "3 of 4 tests passed")


def test_ctrf_names_are_cut_off() -> None:
    """Many failures are named by the first five."""
    found = read_score("ctrf", ctrf(["failed"] * 9).encode())
    assert found.summary == "0 of 9 tests passed; not passed: t0, t1, t2, t3, t4, …"


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("[]", "is JSON, but has no 'results'"),
        ('{"results": 1}', "is JSON, but has no 'results'"),
        ('{"results": {}}', "has neither 'results.tests' nor a summary that counts them"),
        (ctrf([]), "has neither 'results.tests' nor a summary that counts them"),
        (ctrf([], tests=0, passed=0), "holds no test"),
        (ctrf([], tests=True, passed=True), ("has neither 'results.tests' nor a summary that "
         "counts them")),
        (ctrf([], tests=1, passed=2), "contradicts itself: 2 of 1 tests passed"),
        (
            ctrf(["failed"], tests=1, passed=1),
            "contradicts itself: 0 of 1 tests passed, but its summary says 1 of 1",
        ),
        ('{"results": {"tests": [1]}}', "lists a test that is no mapping"),
    ],
)  # fmt: skip
def test_ctrf_that_says_nothing(text: str, why: str) -> None:
    """What is not a CTRF report, or contradicts itself, is unreadable."""
    assert refusal("ctrf", text) == why


@given(st.sampled_from(sorted(FORMAT_LIMITS)), st.binary(max_size=200) | st.text().map(str.encode))
def test_any_bytes_are_a_score_or_unreadable(form: str, data: bytes) -> None:
    """Nothing that a checked program may have written makes us stumble."""
    try:
        found = read_score(form, data)
    except Unreadable:
        return
    assert 0.0 <= found.value <= 1.0
