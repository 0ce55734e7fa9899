"""One case for each trial in pytest's own JUnit file, whatever pytest has written of it.

pytest writes a case for each attempt of a rerun test, and that of an attempt which failed
looks like one that passed; a failed test whose teardown fails has two; and lines are
counted from 0, which some readers take for none. Readers then count trials twice, or
drop one of two cases of the same name. Pure: works on the parsed file.
"""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from pytest_agentbench.model.outcome import Outcome, Reason
from pytest_agentbench.redaction import printable
from pytest_agentbench.reports.junit import PREFIX, properties

if TYPE_CHECKING:
    from pytest_agentbench.model.plan import PlannedTrial
    from pytest_agentbench.model.record import Record

_COUNTED = {"errors": "error", "failures": "failure", "skipped": "skipped"}
"""Attributes of a test suite, and the elements that they count."""

_FINAL = ("failure", "error")
_MESSAGE = 300
_VALUE = 500


class CaseName(NamedTuple):
    """What a case is called."""

    classname: str
    name: str


def case_name(nodeid: str, *, prefix: str | None = None) -> CaseName:
    """The name that pytest gives the case of a test; ``prefix`` is its ``--junitprefix``."""
    address, bracket, parameters = nodeid.partition("[")
    path, *names = address.split("::")
    parts = [re.sub(r"\.py$", "", path.replace("/", ".")), *names]
    parts[-1] += bracket + parameters
    return CaseName(".".join([*([prefix] if prefix else []), *parts[:-1]]), parts[-1])


def settle_cases(
    root: ET.Element,
    trials: Iterable[PlannedTrial],
    records: Iterable[Record],
    *,
    prefix: str | None = None,
) -> None:
    """Make one case of all that belong to a trial, and let its line count from 1.

    The last attempt is what the case shows, as the exit status does; what earlier ones
    came to is told as Maven's Surefire tells it (``flakyFailure`` where the last one
    passed, else ``rerunFailure``), which readers do not count as failures.
    """
    known = {case_name(trial.nodeid, prefix=prefix): trial for trial in trials}
    attempts: dict[str, list[Record]] = {}
    for record in records:
        attempts.setdefault(record.key, []).append(record)
    for suite in root.iter("testsuite"):
        _settle_suite(suite, known, attempts)


def _settle_suite(
    suite: ET.Element,
    known: Mapping[CaseName, PlannedTrial],
    attempts: Mapping[str, Sequence[Record]],
) -> None:
    found: dict[CaseName, ET.Element] = {}
    spare: list[ET.Element] = []
    for case in suite.findall("testcase"):
        name = CaseName(case.get("classname", ""), case.get("name", ""))
        if not name.name:
            # The first half of a test whose worker died, and which was run again.
            spare.append(case)
        if name not in known:
            continue
        earlier = found.get(name)
        if earlier is not None:
            spare.append(earlier)
            _follow(earlier, case)
        found[name] = case
    for name, case in found.items():
        trial = known[name]
        _locate(case, trial)
        _tell_attempts(case, attempts.get(trial.key, ()))
    if spare:
        for case in spare:
            suite.remove(case)
        _recount(suite)


def _follow(earlier: ET.Element, case: ET.Element) -> None:
    """Give a case what stands in the one before it, where that is the same attempt.

    Only the last attempt is said to have failed; what comes after that is its teardown.
    """
    if not any(earlier.find(tag) is not None for tag in _FINAL):
        return
    case.set("time", f"{_time(earlier) + _time(case):.3f}")
    told = [child for child in earlier if child.tag != "properties"]
    place = 0 if case.find("properties") is None else 1
    for offset, child in enumerate(told):
        case.insert(place + offset, child)


def _time(case: ET.Element) -> float:
    return float(case.get("time", "0"))


def _locate(case: ET.Element, trial: PlannedTrial) -> None:
    file, line = case.get("file"), case.get("line")
    path, _, number = (trial.position or "").rpartition(":")
    if line is not None:
        case.set("line", str(int(line) + 1))
    elif file is not None and file == path:
        # Of a test whose worker died, pytest knows the file alone.
        case.set("line", number)


def _tell_attempts(case: ET.Element, records: Sequence[Record]) -> None:
    if not records:
        return
    *earlier, last = records
    if last.reason is Reason.CRASH and case.find("properties") is None:
        _add_properties(case, properties(last))
    if not earlier:
        return
    said = ", ".join(map(_outcome, records))
    _add_properties(case, [(f"{PREFIX}attempts", printable(said, _VALUE))])
    flaky = all(case.find(tag) is None for tag in _FINAL)
    for record in earlier:
        if record.outcome in (Outcome.FAILED, Outcome.ERROR):
            what = "Failure" if record.outcome is Outcome.FAILED else "Error"
            first = (printable(record.message).strip().splitlines() or [""])[0]
            ET.SubElement(
                case,
                f"{'flaky' if flaky else 'rerun'}{what}",
                type=str(record.reason or record.outcome),
                message=printable(f"attempt {record.attempt}: {first}", _MESSAGE),
            )


def _outcome(record: Record) -> str:
    return str(record.outcome) + (f" ({record.reason})" if record.reason else "")


def _add_properties(case: ET.Element, pairs: Iterable[tuple[str, str]]) -> None:
    holder = case.find("properties")
    if holder is None:
        holder = ET.Element("properties")
        case.insert(0, holder)
    for name, value in pairs:
        ET.SubElement(holder, "property", name=name, value=value)


def _recount(suite: ET.Element) -> None:
    cases = suite.findall("testcase")
    suite.set("tests", str(len(cases)))
    for attribute, tag in _COUNTED.items():
        suite.set(attribute, str(sum(len(case.findall(tag)) for case in cases)))
