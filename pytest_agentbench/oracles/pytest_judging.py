"""Expected tests held against reported ones. Pure.

One rule above all: an expected test that did not say by itself that it passed has
not passed, whatever else was reported, printed or returned.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum

from pytest_agentbench.model.contracts import ExpectedTests
from pytest_agentbench.model.task import JsonValue
from pytest_agentbench.oracles.base import counted, one_line
from pytest_agentbench.oracles.pytest_lists import ListedTests
from pytest_agentbench.oracles.pytest_report import Phase, SuiteReport

ANY_OTHER = "*"
"""Among expected tests: whatever else reports counts too. So is a list from source marked,
which cannot see inherited or conditional tests."""

NO_LISTS = ListedTests()

_LISTED = 20
_NAMED = 3
_WHY_LIMIT = 80


class Fate(StrEnum):
    """What became of one expected test. ``LEFT_OUT``: its own mark says not to count it."""

    PASSED = "passed"
    FAILED = "failed"
    ERROR = "error"
    SKIPPED = "skipped"
    XFAILED = "xfailed"
    UNREPORTED = "unreported"
    LEFT_OUT = "left_out"


@dataclass(frozen=True, slots=True)
class Judgement:
    """What a suite's report is worth. ``sound``: the session came to its end, and says so."""

    passed: bool
    score: float
    reason: str
    details: Mapping[str, JsonValue] = field(default_factory=dict)
    sound: bool = True


@dataclass(frozen=True, slots=True)
class _Judged:
    """One expected test. A test that began and did not end is unreported, too."""

    name: str
    fate: Fate
    why: str = ""


def judge(
    expected: ExpectedTests, report: SuiteReport, ending: str, lists: ListedTests = NO_LISTS
) -> Judgement:
    """Hold a report against what was expected.

    ``ending`` says how the process ended, in words: ``exited with 0``.
    """
    tests, others = _hold(expected, report)
    counting = [test for test in tests if test.fate is not Fate.LEFT_OUT]
    passed = [test for test in counting if test.fate is Fate.PASSED]
    score = _weighed(passed, lists) / _weighed(counting, lists) if counting else 0.0
    complete = bool(counting) and len(passed) == len(counting)
    misses: list[JsonValue] = [
        {"test": one_line(test.name), "fate": test.fate.value, "why": one_line(test.why)}
        for test in counting
        if test.fate is not Fate.PASSED
    ]
    details: dict[str, JsonValue] = {
        "expected": len(tests),
        "counts": {fate.value: sum(test.fate is fate for test in tests) for fate in Fate},
        "misses": misses[:_LISTED],
        "pytest_status": report.status,
    }
    for group in dict.fromkeys(lists.groups.values()):
        these = [test for test in counting if lists.group_of(test.name) == group]
        well = sum(test.fate is Fate.PASSED for test in these)
        details[group] = {"expected": len(these), "passed": well}
    if others:
        details["unexpected_failures"] = [one_line(name) for name in others[:_LISTED]]
    if report.flaw:
        details["report_flaw"] = report.flaw
    return Judgement(
        passed=complete and report.finished and not report.flaw,
        score=score,
        reason=_reason(tests, counting, report, ending),
        details=details,
        sound=report.finished and not report.flaw,
    )


def _weighed(tests: Iterable[_Judged], lists: ListedTests) -> float:
    return math.fsum(lists.weight_of(test.name) for test in tests)


def _hold(expected: ExpectedTests, report: SuiteReport) -> tuple[list[_Judged], list[str]]:
    """The expected tests with their fates, and the names of others that failed."""
    families: dict[str, list[str]] = {}
    for name in report.phases:
        families.setdefault(name.partition("[")[0], []).append(name)
    tests: list[_Judged] = []
    seen: set[str] = set()
    for name, mark in expected.items():
        if name == ANY_OTHER:
            continue
        # Listed from source, a parametrized test is known by its function alone.
        names = [name] if name in report.phases else families.get(name, [])
        seen.update(names)
        tests.append(_worst(name, [_fate(one, mark, report.phases[one]) for one in names]))
    rest = [name for name in report.phases if name not in seen]
    judged = [_fate(name, "run", report.phases[name]) for name in rest]
    if ANY_OTHER in expected:
        return tests + judged, []
    return tests, [one.name for one in judged if one.fate in {Fate.FAILED, Fate.ERROR}]


def _worst(name: str, found: Sequence[_Judged]) -> _Judged:
    """One fate for all that reported under one expected name."""
    if not found:
        return _Judged(name, Fate.UNREPORTED)
    order = (
        Fate.FAILED,
        Fate.ERROR,
        Fate.UNREPORTED,
        Fate.SKIPPED,
        Fate.XFAILED,
        Fate.PASSED,
        Fate.LEFT_OUT,
    )
    return min(found, key=lambda one: order.index(one.fate))


def _fate(name: str, mark: str, phases: Sequence[Phase]) -> _Judged:
    failed = [phase for phase in phases if phase.outcome == "failed"]
    if failed:
        in_call = next((phase for phase in failed if phase.when == "call"), None)
        fate = Fate.FAILED if in_call else Fate.ERROR
        return _Judged(name, fate, (in_call or failed[0]).why)
    skipped = [phase for phase in phases if phase.outcome == "skipped"]
    if skipped:
        fate = Fate.XFAILED if any(phase.xfail for phase in skipped) else Fate.SKIPPED
        allowed = {"skip": Fate.SKIPPED, "xfail": Fate.XFAILED}.get(mark)
        return _Judged(name, Fate.LEFT_OUT if fate is allowed else fate, skipped[0].why)
    went_well = {phase.when for phase in phases if phase.outcome == "passed" and not phase.sub}
    if went_well >= {"setup", "call", "teardown"}:
        return _Judged(name, Fate.PASSED)
    return _Judged(name, Fate.UNREPORTED, "began, and did not end")


def _reason(
    tests: Sequence[_Judged], counting: Sequence[_Judged], report: SuiteReport, ending: str
) -> str:
    left_out = len(tests) - len(counting)
    if not counting:
        return f"no test judged: {counted(left_out, 'test')} left out by their own marks"
    total = counted(len(counting), "test")
    parts: list[str] = []
    failed = [test for test in counting if test.fate in {Fate.FAILED, Fate.ERROR}]
    if failed:
        parts.append(f"{len(failed)} of {total} failed: {_named(failed)}")
    unreported = [test for test in counting if test.fate is Fate.UNREPORTED]
    if unreported:
        total = f"{len(counting)} expected {'test' if len(counting) == 1 else 'tests'}"
        parts.append(f"{len(unreported)} of {total} did not report; {_cause(report, ending)}")
    for fate in (Fate.SKIPPED, Fate.XFAILED):
        these = [test for test in counting if test.fate is fate]
        if these:
            parts.append(f"{len(these)} of {total} {fate} while running: {_named(these)}")
    if parts:
        return "; ".join([*parts, report.flaw] if report.flaw else parts)
    if report.flaw:
        return f"{total} passed, but {report.flaw}"
    if not report.finished:
        return f"{total} passed, but the process {ending} before its session was over"
    note = f", {left_out} left out by their own marks" if left_out else ""
    return f"{len(counting)} of {total} passed{note}"


def _cause(report: SuiteReport, ending: str) -> str:
    if report.uncollected:
        name, why = next(iter(report.uncollected.items()))
        return f"{name or 'the tests'} could not be collected: {last_line(why)}"
    if report.finished:
        return f"pytest ended with status {report.status}"
    return f"the process {ending} in the middle"


def _named(tests: Sequence[_Judged]) -> str:
    shown = [f"{test.name}{_bracketed(test.why)}" for test in tests[:_NAMED]]
    return ", ".join([*shown, "…"] if len(tests) > _NAMED else shown)


def _bracketed(why: str) -> str:
    lines = _lines(why)
    return f" ({one_line(lines[0], _WHY_LIMIT)})" if lines else ""


def last_line(text: str) -> str:
    """The last line of a traceback, which says what was wrong."""
    lines = _lines(text)
    return one_line(lines[-1].removeprefix("E").strip(), 160) if lines else "no reason given"


def _lines(text: str) -> list[str]:
    return [line.strip() for line in text.splitlines() if line.strip()]


def uncollected_text(uncollected: Iterable[tuple[str, str]]) -> str:
    """What could not be collected, and why, in one line."""
    return "; ".join(f"{name or 'the tests'}: {last_line(why)}" for name, why in uncollected)
