"""The suite-level JUnit file: which suites, which cases, what a case is, and what it says."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from collections.abc import Sequence
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from junit_readers import dorny, gitlab, jenkins, mikepenz, status, totals
from pytest_agentbench.model.outcome import Outcome, Reason
from pytest_agentbench.model.plan import Plan, PlannedTrial
from pytest_agentbench.model.record import Record
from pytest_agentbench.reports.junit_suites import suites_xml
from pytest_agentbench.stats.rollup import roll_up
from rows import matrix, planned, recorded, records

PASSED, FAILED, ERROR, SKIPPED = "passed", "failed", "error", "skipped"
ORACLE, SETUP, SKIP = Reason.ORACLE, Reason.SETUP, Reason.SKIP
XFAIL = "xfail"


def written(plan: Plan, ends: Sequence[Record], **more: str) -> ET.Element:
    return ET.fromstring(suites_xml(plan, ends, roll_up(plan, ends), **more))


def only_case(*ends: Outcome | Reason | str | None) -> ET.Element:
    """The case of one task whose repeats ended so; None: never ran."""
    plan = matrix(["fix"], repeats=len(ends))
    made = [
        recorded(trial, ORACLE, expected=XFAIL) if end == XFAIL else recorded(trial, end)  # type: ignore[arg-type]
        for trial, end in zip(plan.trials, ends, strict=True)
        if end is not None
    ]
    (case,) = written(plan, made).iter("testcase")
    return case


def told(element: ET.Element) -> dict[str, str]:
    """The properties of a suite or a case, without their prefix."""
    (holder,) = element.findall("properties")
    pairs = {str(one.get("name")): str(one.get("value")) for one in holder}
    assert all(name.startswith("agentbench.") for name in pairs)
    return {name.removeprefix("agentbench."): value for name, value in pairs.items()}


P, STOPPED = Outcome.PASSED, Reason.STOPPED


@pytest.mark.parametrize(
    ("ends", "case", "message"),
    [
        ([P, P, P], PASSED, None),
        ([P, ORACLE, P], FAILED, "2/3 passed, 1 failed"),
        ([P, P, SETUP], ERROR, "2/3 passed, 1 error"),
        ([SETUP, ORACLE], FAILED, "0/2 passed, 1 failed, 1 error"),
        ([SKIP, SKIP], SKIPPED, "0/2 passed, 2 skipped"),
        ([P, SKIP], PASSED, None),
        ([P, STOPPED], SKIPPED, "1/2 passed, 1 cancelled"),
        ([P, None], SKIPPED, "1/2 passed, 1 cancelled"),
        ([ORACLE, None], FAILED, "0/2 passed, 1 failed, 1 cancelled"),
        ([None, None], SKIPPED, "0/2 passed, 2 cancelled"),
        ([XFAIL, XFAIL], SKIPPED, "0/2 passed, 2 failed as expected"),
        ([P, XFAIL], SKIPPED, "1/2 passed, 1 failed as expected"),
        ([ORACLE, XFAIL], FAILED, "0/2 passed, 1 failed, 1 failed as expected"),
        ([SETUP, XFAIL], ERROR, "0/2 passed, 1 failed as expected, 1 error"),
    ],
)
def test_what_makes_a_case(
    ends: list[Outcome | Reason | str | None], case: str, message: str | None
) -> None:
    """A failure comes before an error; not to have come to an end is neither passed nor failed."""
    found = only_case(*ends)
    assert status(found) == case
    messages = [one.get("message") for one in found if one.tag != "properties"]
    assert messages == ([message] if message else [])


def test_a_case_tells_of_each_trial_that_did_not_pass() -> None:
    """One line each, with the reason; the type is the reasons of what made the case."""
    plan = matrix(["fix"], repeats=4)
    ends = [
        recorded(plan.trials[0], ORACLE, message="hidden: 1 of 2\nmore"),
        recorded(plan.trials[1], Reason.TIMEOUT),
        recorded(plan.trials[2]),
    ]
    (case,) = written(plan, ends).iter("testcase")
    (failure,) = case.iter("failure")
    assert failure.get("type") == "oracle, timeout"
    assert str(failure.text).splitlines() == [
        "fix[codex-r1]: failed (oracle): hidden: 1 of 2",
        "fix[codex-r2]: failed (timeout)",
        "fix[codex-r4]: not run",
    ]


def test_rates_and_intervals_are_properties() -> None:
    """The same numbers as in the summary; a rate of nothing is left out."""
    plan = matrix(["a", "b"], repeats=2)
    ends = [recorded(plan.trials[0]), recorded(plan.trials[1], SETUP)]
    ends += [recorded(plan.trials[2], ORACLE), recorded(plan.trials[3], SETUP)]
    (suite,) = written(plan, ends)
    first, second = suite.iter("testcase")
    tally = roll_up(plan, ends).suite
    assert told(suite) | {"pass_rate_low": "", "pass_rate_high": ""} == {
        "suite": "all",
        "variant": "codex",
        "agent": "command",
        "planned": "4",
        "passed": "1",
        "failed": "1",
        "error": "2",
        "skipped": "0",
        "cancelled": "0",
        "pass_rate": "0.5",
        "pass_rate_low": "",
        "pass_rate_high": "",
        "pass_rate_of_planned": "0.25",
        "pass_rate_of_planned_low": f"{tally.of_planned.low:.6g}",
        "pass_rate_of_planned_high": f"{tally.of_planned.high:.6g}",
        "complete": "true",
    }
    assert told(suite)["pass_rate_low"] == f"{tally.of_scored.low:.6g}"
    assert told(first)["pass_rate"] == "0.5"
    assert "pass_rate" not in told(second)
    assert told(second)["error"] == "2"


def test_a_task_stands_in_each_of_its_suites() -> None:
    """Under names of their own; ``all`` is there as long as a task belongs to no suite."""
    rows = [
        planned(task, variant, suites=suites)
        for task, suites in (("a", ("smoke", "sums")), ("b", ("smoke",)), ("c", ()))
        for variant in ("v", "gpt-5.1")
    ]
    plan = Plan(trials=rows, suites=["smoke", "sums", "empty"])
    root = written(plan, [recorded(one) for one in rows])
    assert [suite.get("name") for suite in root] == [
        *("all/v", "all/gpt-5.1", "smoke/v", "smoke/gpt-5.1", "sums/v", "sums/gpt-5.1"),
    ]
    assert list(dorny(root)["smoke.v"]) == ["a[smoke/v]", "b[smoke/v]"]
    assert ("smoke", "gpt-5_1") in jenkins(root), "a dot of a name is no package"
    assert len(gitlab(root)) == 12, "names are unique"

    covered = Plan(trials=rows[:4], suites=["smoke", "sums"])
    names = [suite.get("name") for suite in written(covered, [])]
    assert names == ["smoke/v", "smoke/gpt-5.1", "sums/v", "sums/gpt-5.1"]


def test_a_partial_suite_says_so() -> None:
    """What was deselected is in no case, and what is left is not called the suite's."""
    rows = [
        planned("a", suites=("smoke",)),
        planned("b", suites=("smoke",), deselected="deselected (-k 'a')"),
        planned("c", suites=("sums",)),
    ]
    plan = Plan(trials=rows, suites=["smoke", "sums"])
    smoke, sums = written(plan, [recorded(rows[0]), recorded(rows[2])])
    assert told(smoke)["complete"] == "false"
    assert told(smoke)["partial"] == "1 of 2 trials deselected"
    assert told(sums)["complete"] == "true"
    assert "partial" not in told(sums)
    assert [one.get("name") for one in smoke.iter("testcase")] == ["a[smoke/codex]"]

    (everything,) = written(Plan(trials=rows[:2], narrowed=["selected by path: x"]), [])
    assert told(everything)["partial"] == "selected by path: x; 1 deselected; 1 not run"


def test_the_attempt_that_counts_is_the_first_scored_one() -> None:
    """As in the summary: a rerun does not turn a failure into a pass."""
    trial = planned()
    ends = [
        recorded(trial, SETUP, phases={"total_s": 1.0}),
        recorded(trial, ORACLE, attempt=2, phases={"total_s": 2.0}),
        recorded(trial, attempt=3, phases={"total_s": 4.0}),
    ]
    (case,) = written(Plan(trials=[trial]), ends).iter("testcase")
    assert (status(case), case.get("time")) == (FAILED, "2.000")


def test_time_is_the_sum_of_the_trials() -> None:
    """In three places; unknown is left out, and what never ran took none."""
    plan = matrix(["a", "b", "c"], repeats=2)
    one, two, three, four, *_ = plan.trials
    ends = [
        recorded(one, phases={"total_s": 1.5}),
        recorded(two, SETUP),
        recorded(three, SKIP),
        recorded(four, phases={"total_s": 0.25061}),
    ]
    root = written(plan, ends)
    times = {str(case.get("name"))[0]: case.get("time") for case in root.iter("testcase")}
    assert times == {"a": "1.751", "b": None, "c": "0.000"}
    assert [root.get("time"), root[0].get("time")] == ["1.751", "1.751"]


def test_cases_lie_where_their_task_is_written() -> None:
    """File and line of the task; without a known place, neither."""
    here = replace(planned("a"), position="tasks/a.yaml:3")
    ends = [recorded(here, ORACLE), recorded(planned("b"), ORACLE)]
    root = written(Plan(trials=[here, planned("b")]), ends)
    (remark,) = mikepenz(root)
    assert (remark.path, remark.line, remark.title) == ("tasks/a.yaml", 3, "a[all/codex]")
    assert [case.get("file") for case in root.iter("testcase")] == ["tasks/a.yaml", None]


def test_python_tests_of_a_task_have_cases_of_their_own() -> None:
    """What is tried tells cases apart: the task's own test, and a Python test of it."""
    own = planned("fix")
    other = replace(own, key="test_x.py::test_y[codex-r1]", test="test_x.py::test_y")
    root = written(Plan(trials=[own, other]), [recorded(own), recorded(other, ORACLE)])
    assert gitlab(root) == {
        "fix[all/codex]": PASSED,
        "test_x.py::test_y[fix][all/codex]": FAILED,
    }


def test_counts_are_those_of_the_cases() -> None:
    """In each test suite, and at the root."""
    plan = matrix(["a", "b", "c", "d"], ("v", "w"))
    kinds = (ORACLE, SETUP, SKIP, Outcome.PASSED)
    ends = [recorded(trial, kinds["abcd".index(trial.task)]) for trial in plan.trials]
    root = written(plan, ends, started_at="2026-11-29T19:00:00+00:00")
    assert totals(root) == {"tests": 8, "failures": 2, "errors": 2, "skipped": 2}
    assert [root.get(key) for key in ("tests", "failures", "errors")] == ["8", "2", "2"]
    assert not any("disabled" in suite.attrib for suite in root), "no part of the format"
    assert {suite.get("timestamp") for suite in root} == {"2026-11-29T19:00:00+00:00"}


def test_many_trials_are_bounded() -> None:
    """A case of hundreds of failed repeats stays readable."""
    case = only_case(*[ORACLE] * 200)
    (failure,) = case.iter("failure")
    lines = str(failure.text).splitlines()
    assert (len(lines), lines[-1]) == (51, "and 150 more")


def _trial_of(record: Record) -> PlannedTrial:
    return PlannedTrial(
        key=record.key,
        nodeid=record.nodeid,
        task=record.task,
        variant=record.variant,
        repeat=record.repeat,
        agent=record.agent,
        model=record.model,
        suites=(record.agent,) if record.repeat % 2 else (),
        position=record.artifacts,
    )


@given(st.lists(records, max_size=4, unique_by=lambda one: one.key))
def test_whatever_records_say_the_file_is_xml(ends: list[Record]) -> None:
    """Any text of records and plans gives a file that can be read, with a case for each trial."""
    trials = [_trial_of(record) for record in ends]
    suites = list(dict.fromkeys(name for trial in trials for name in trial.suites))
    plan = Plan.model_construct(trials=trials, suites=suites)
    root = written(plan, ends)
    planned_in = [int(told(case)["planned"]) for case in root.iter("testcase")]
    assert sum(planned_in) >= len(trials)
