"""Scores from the report of somebody else's checker: a reward, JUnit XML or CTRF. Pure.

Whatever wrote the bytes may have run code of the agent's, so nothing here trusts
them: sizes are bounded by the caller, no entity is expanded, and all that is
unclear is ``Unreadable``.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import NoReturn
from xml.parsers import expat

from pytest_agentbench.model.task import JsonValue
from pytest_agentbench.oracles.base import counted, one_line

FORMAT_LIMITS: Mapping[str, int] = {"reward": 65_536, "junit": 16_777_216, "ctrf": 16_777_216}
"""Formats of a report, and the bytes that a report of each may have."""

_NAMES_SHOWN = 5


class Unreadable(Exception):
    """A report says nothing that could count; the message says why."""


@dataclass(frozen=True, slots=True)
class Score:
    """What a report says: 0..1, and in words."""

    value: float
    summary: str


def read_score(form: str, data: bytes) -> Score:
    """The score in a report of the given format. Raises ``Unreadable``."""
    readers: dict[str, Callable[[bytes], Score]] = {
        "reward": _reward,
        "junit": _junit,
        "ctrf": _ctrf,
    }
    return readers[form](data)


def _reward(data: bytes) -> Score:
    text = _text(data).strip()
    if not text:
        raise Unreadable("is empty")
    try:
        value: object = float(text)
    except ValueError:
        value = _json(text)
    if isinstance(value, dict):
        value = _single_reward(value)
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise Unreadable("holds no number")
    try:
        number = float(value)
    except OverflowError:
        number = math.inf
    if not math.isfinite(number):
        raise Unreadable("holds a number that is not finite")
    if not 0.0 <= number <= 1.0:
        raise Unreadable(f"holds {number:g}, which is not in 0 to 1")
    return Score(number, f"reward {number:g}")


def _single_reward(table: dict[str, JsonValue]) -> JsonValue:
    if "reward" in table:
        return table["reward"]
    if len(table) == 1:
        return next(iter(table.values()))
    raise Unreadable(f"has {counted(len(table), 'key')} and none of them is 'reward'")


def _junit(data: bytes) -> Score:
    cases = _JUnitCases()
    cases.read(data)
    return _share(cases.total, cases.passed, cases.missed)


class _JUnitCases:
    """Counts test cases while the XML streams by; keeps no tree."""

    def __init__(self) -> None:
        self.total = 0
        self.passed = 0
        self.missed: list[str] = []
        self._case = ""
        self._case_depth = 0
        self._case_passed = False
        self._depth = 0

    def read(self, data: bytes) -> None:
        parser = expat.ParserCreate()
        parser.StartElementHandler = self._open
        parser.EndElementHandler = self._close
        # Entities are declared in a DOCTYPE: without it "billion laughs" and file
        # inclusion have no place to stand.
        parser.StartDoctypeDeclHandler = _refuse_doctype
        try:
            parser.Parse(data, True)  # noqa: FBT003 - expat takes it by position
        except expat.ExpatError as error:
            raise Unreadable(f"is not well-formed XML: {error}") from error
        except (LookupError, ValueError) as error:
            raise Unreadable(f"is XML in an encoding that cannot be read: {error}") from error

    def _open(self, tag: str, attributes: dict[str, str]) -> None:
        self._depth += 1
        name = tag.rpartition(":")[2]
        if self._depth == 1 and name not in {"testsuites", "testsuite"}:
            raise Unreadable(f"is XML, but its root is <{one_line(tag, 40)}>")
        if name == "testcase" and not self._case_depth:
            self.total += 1
            self._case = attributes.get("name", "") or attributes.get("classname", "")
            self._case_depth = self._depth
            self._case_passed = True
        elif name in {"failure", "error", "skipped"}:
            if self._case_depth:
                self._case_passed = False
            elif name != "skipped":
                # A suite that failed outside of any case, such as in its set-up.
                self.total += 1
                self._miss(attributes.get("message", "") or "a suite's error")

    def _close(self, _tag: str) -> None:
        if self._depth == self._case_depth:
            self._case_depth = 0
            if self._case_passed:
                self.passed += 1
            else:
                self._miss(self._case)
        self._depth -= 1

    def _miss(self, name: str) -> None:
        if len(self.missed) < _NAMES_SHOWN:
            self.missed.append(one_line(name, 80))


def _refuse_doctype(*_: object) -> NoReturn:
    raise Unreadable("is XML with a DOCTYPE, which is refused")


def _ctrf(data: bytes) -> Score:
    document = _json(_text(data))
    results = document.get("results") if isinstance(document, dict) else None
    if not isinstance(results, dict):
        raise Unreadable("is JSON, but has no 'results'")
    tests = results.get("tests")
    summary = results.get("summary")
    stated = _ctrf_summary(summary) if isinstance(summary, dict) else None
    if not isinstance(tests, list) or not tests:
        if stated is None:
            raise Unreadable("has neither 'results.tests' nor a summary that counts them")
        return _share(*stated, [])
    total, passed, missed = _ctrf_tests(tests)
    if stated is not None and stated != (total, passed):
        raise Unreadable(
            f"contradicts itself: {passed} of {total} tests passed, "
            f"but its summary says {stated[1]} of {stated[0]}"
        )
    return _share(total, passed, missed)


def _ctrf_summary(summary: dict[str, JsonValue]) -> tuple[int, int] | None:
    total, passed = summary.get("tests"), summary.get("passed")
    for number in (total, passed):
        if isinstance(number, bool) or not isinstance(number, int) or number < 0:
            return None
    assert isinstance(total, int)
    assert isinstance(passed, int)
    if passed > total:
        raise Unreadable(f"contradicts itself: {passed} of {total} tests passed")
    return total, passed


def _ctrf_tests(tests: list[JsonValue]) -> tuple[int, int, list[str]]:
    passed = 0
    missed: list[str] = []
    for test in tests:
        if not isinstance(test, dict):
            raise Unreadable("lists a test that is no mapping")
        if test.get("status") == "passed":
            passed += 1
        elif len(missed) < _NAMES_SHOWN:
            missed.append(one_line(str(test.get("name", "")), 80))
    return len(tests), passed, missed


def _share(total: int, passed: int, missed: list[str]) -> Score:
    if not total:
        raise Unreadable("holds no test")
    summary = f"{passed} of {counted(total, 'test')} passed"
    names = ", ".join(name for name in missed if name)
    if names:
        more = ", …" if total - passed > len(missed) else ""
        summary = f"{summary}; not passed: {names}{more}"
    return Score(passed / total, summary)


def _text(data: bytes) -> str:
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise Unreadable("is not UTF-8 text") from error


def _json(text: str) -> JsonValue:
    try:
        value: JsonValue = json.loads(text)
    except RecursionError as error:
        raise Unreadable("is JSON that is nested too deep") from error
    except ValueError as error:
        raise Unreadable(f"cannot be read: {one_line(str(error), 120)}") from error
    return value
