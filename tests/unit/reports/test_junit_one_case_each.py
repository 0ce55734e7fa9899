"""One case for each trial, of what pytest writes when tests are run again, fail twice or crash."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from dataclasses import replace

import pytest

from pytest_agentbench.model.outcome import Reason
from pytest_agentbench.reports.junit_cases import CaseName, case_name, settle_cases
from rows import planned, recorded

FIX = replace(planned("fix"), position="tasks/fix.yaml:3")
OTHER = planned("other")
NAMED = 'classname="tasks.fix.yaml" name="fix[codex-r1]"'


def settled(cases: str, *records: object, counts: str = "") -> ET.Element:
    """The test suite with these cases, settled."""
    root = ET.fromstring(f"<testsuites><testsuite {counts}>{cases}</testsuite></testsuites>")
    settle_cases(root, [FIX, OTHER], records)  # type: ignore[arg-type]
    (suite,) = root
    return suite


def shape(suite: ET.Element) -> list[tuple[str | None, list[str]]]:
    return [(case.get("name"), [child.tag for child in case]) for case in suite]


@pytest.mark.parametrize(
    ("nodeid", "prefix", "classname", "name"),
    [
        ("tasks/fix.yaml::fix[codex-r1]", None, "tasks.fix.yaml", "fix[codex-r1]"),
        ("tasks/fix.yaml::fix[codex-r1]", "ci", "ci.tasks.fix.yaml", "fix[codex-r1]"),
        ("a/test_x.py::TestX::test_y[a/b::c]", None, "a.test_x.TestX", "test_y[a/b::c]"),
        ("test_x.py::test_y", None, "test_x", "test_y"),
    ],
)
def test_names_are_those_that_pytest_writes(
    nodeid: str, prefix: str | None, classname: str, name: str
) -> None:
    """Dots for slashes, no ``.py``, and what is in brackets stays as it is."""
    assert case_name(nodeid, prefix=prefix) == CaseName(classname, name)


def test_lines_count_from_1() -> None:
    """A line that pytest counts from 0 is told as an editor shows it; others are not touched."""
    suite = settled(
        f'<testcase {NAMED} file="tasks/fix.yaml" line="0"/><testcase name="test_x" line="4"/>'
    )
    assert [case.get("line") for case in suite] == ["1", "4"]


def test_the_last_attempt_is_shown() -> None:
    """Attempts that were run again are no cases, and what they came to stands in the last one."""
    suite = settled(
        f'<testcase {NAMED} time="9.000"/><testcase {NAMED} time="1.000"/>',
        recorded(FIX, Reason.ORACLE, message="2 of 3\nmore"),
        recorded(FIX, attempt=2),
        counts='tests="1" failures="0" errors="0" skipped="0"',
    )
    (case,) = suite
    assert (case.get("time"), suite.get("tests")) == ("1.000", "1")
    assert shape(suite) == [("fix[codex-r1]", ["properties", "flakyFailure"])]
    (told,) = case.iter("property")
    assert told.attrib == {"name": "agentbench.attempts", "value": "failed (oracle), passed"}
    assert case[1].attrib == {"type": "oracle", "message": "attempt 1: 2 of 3"}


def test_attempts_that_never_passed_are_reruns() -> None:
    """``flaky`` would say that it passed in the end; errors and failures are told apart."""
    suite = settled(
        f"<testcase {NAMED}/><testcase {NAMED}/><testcase {NAMED}><failure/></testcase>",
        recorded(FIX, Reason.SETUP),
        recorded(FIX, Reason.ORACLE, attempt=2),
        recorded(FIX, Reason.ORACLE, attempt=3),
    )
    assert shape(suite) == [
        ("fix[codex-r1]", ["properties", "failure", "rerunError", "rerunFailure"])
    ]


def test_a_failure_and_a_failed_teardown_are_one_case() -> None:
    """Both are in it, with the time of both, and both are counted."""
    suite = settled(
        f'<testcase {NAMED} time="2.500"><properties/><failure/><system-out/></testcase>'
        f'<testcase {NAMED} time="0.500"><properties/><error/></testcase>',
        recorded(FIX, Reason.ORACLE),
        counts='tests="2" failures="1" errors="1"',
    )
    (case,) = suite
    assert shape(suite) == [("fix[codex-r1]", ["properties", "failure", "system-out", "error"])]
    assert case.get("time") == "3.000"
    assert [suite.get(key) for key in ("tests", "failures", "errors", "skipped")] == [*"1110"]


def test_a_dead_worker_s_case_gets_what_is_known() -> None:
    """The file alone is known to pytest; line and properties come from the plan and the record."""
    suite = settled(
        f'<testcase {NAMED} file="tasks/fix.yaml"><error/></testcase>',
        recorded(FIX, Reason.CRASH),
    )
    (case,) = suite
    assert case.get("line") == "3"
    assert [one.get("value") for one in case.iter("property")][3:5] == ["error", "crash"]


def test_half_a_case_is_none() -> None:
    """What a worker left that died and whose test was run again has no name, and goes."""
    suite = settled(f"<testcase/><testcase {NAMED}/>", counts='tests="1"')
    assert shape(suite) == [("fix[codex-r1]", [])]


def test_what_is_not_ours_stays_as_it_is() -> None:
    """Negative control: cases of ordinary tests are neither joined nor counted anew."""
    cases = '<testcase name="test_x" line="0" /><testcase name="test_x" line="0" />'
    suite = settled(cases, counts='tests="7"')
    assert ET.tostring(suite, encoding="unicode") == f'<testsuite tests="7">{cases}</testsuite>'
