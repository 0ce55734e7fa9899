"""The report that the bootstrap writes, read into values. Pure.

It comes from a process that ran code of the agent's, and from a file that other
processes could write to: it is read up to the first row that is not as the
bootstrap writes it, and no further.
"""

from __future__ import annotations

import hmac
import json
from dataclasses import dataclass, field, replace
from typing import TypeAlias

from pytest_agentbench.oracles.base import one_line
from pytest_agentbench.oracles.pytest_bootstrap import KEY_LINE

Row: TypeAlias = dict[str, object]

SIZE_LIMIT = 64 << 20
"""Bytes of a report that are read."""


@dataclass(frozen=True, slots=True)
class Phase:
    """One phase of one test: ``setup``, ``call`` or ``teardown``, and how it went.

    ``sub`` marks a subtest, which reports under its test's id.
    """

    when: str
    outcome: str
    why: str = ""
    xfail: bool = False
    sub: bool = False


@dataclass(frozen=True, slots=True)
class Opening:
    """What stands first on standard output: the key of the seals, and whether pytest started.

    ``size`` counts its bytes; what follows was written by others.
    """

    key: bytes = b""
    started: bool = False
    size: int = 0


@dataclass(slots=True)
class SuiteReport:
    """What one session of hidden tests reported.

    ``tests`` is filled by listing (node id -> mark), ``phases`` by running.
    ``uncollected`` maps what could not be collected to why. ``flaw`` says what
    was wrong where reading stopped, empty if it came to the end.
    """

    started: bool = False
    finished: bool = False
    status: int | None = None
    tests: dict[str, str] = field(default_factory=dict)
    phases: dict[str, list[Phase]] = field(default_factory=dict)
    uncollected: dict[str, str] = field(default_factory=dict)
    flaw: str = ""


def read_opening(stdout: bytes) -> Opening:
    """The key and the first row at the beginning of standard output."""
    if not stdout.startswith(KEY_LINE):
        return Opening()
    key_line, _, rest = stdout.partition(b"\n")
    try:
        key = bytes.fromhex(key_line.removeprefix(KEY_LINE).decode("ascii"))
    except ValueError:
        return Opening()
    first, newline, _ = rest.partition(b"\n")
    row = _row(first, key, b"")
    if not newline or row is None or row.get("event") != "started":
        return Opening(key, size=len(key_line) + 1)
    return Opening(key, started=True, size=len(key_line) + len(first) + 2)


def read_report(data: bytes, key: bytes) -> SuiteReport:
    """All rows up to the first one that is not as the bootstrap writes it."""
    report = SuiteReport()
    again: set[tuple[str, str]] = set()
    *lines, torn = data.split(b"\n")
    seal = b""
    for number, line in enumerate(lines, 1):
        row = _row(line, key, seal)
        if row is None:
            flaw = "was not written by the tests' process"
        elif report.finished:
            flaw = "comes after the last one"
        else:
            flaw = _take(report, row, again)
        if flaw:
            report.flaw = f"row {number} of the report {flaw}"
            return report
        seal = line.partition(b" ")[0]
    if torn:
        report.flaw = f"row {len(lines) + 1} of the report is torn"
    return report


def held_to_exit(report: SuiteReport, exit_code: int | None) -> SuiteReport:
    """The same report; unfinished unless the process ended by itself with the status it says.

    ``exit_code`` is None for a process that was killed.
    """
    if not report.finished or exit_code == report.status:
        return report
    flaw = report.flaw
    if exit_code is not None:
        flaw = flaw or f"the report ends with status {report.status}, the process with {exit_code}"
    return replace(report, finished=False, flaw=flaw)


def _row(line: bytes, key: bytes, seal: bytes) -> Row | None:
    """The row of a line, if its seal is right for this row in this place."""
    given, _, text = line.partition(b" ")
    right = hmac.digest(key, seal + text, "sha256").hex().encode("ascii")
    if not hmac.compare_digest(given, right):
        return None
    try:
        row = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return row if isinstance(row, dict) else None


def _take(report: SuiteReport, row: Row, again: set[tuple[str, str]]) -> str:
    """Add a row to the report; say what is wrong with it, if anything is.

    ``again`` holds the phases that must not come again.
    """
    event = row.get("event")
    name = _text(row, "id")
    if event == "started":
        report.started = True
    elif event == "finished":
        status = row.get("status")
        report.finished = True
        report.status = status if isinstance(status, int) else None
    elif event == "uncollected":
        report.uncollected[name] = _text(row, "why")
    elif event == "test":
        report.tests[name] = _text(row, "mark")
    elif event == "phase":
        phase = Phase(
            when=_text(row, "when"),
            outcome=_text(row, "outcome"),
            why=_text(row, "why"),
            xfail=row.get("xfail") is True,
            sub=row.get("sub") is True,
        )
        if not phase.sub:
            if (name, phase.when) in again:
                return f"gives the {one_line(phase.when, 20)} of {one_line(name, 100)} again"
            again.add((name, phase.when))
            if phase.outcome == "rerun":  # of a conftest that runs a test until it passes
                again -= {(name, when) for when in ("setup", "call", "teardown")}
        report.phases.setdefault(name, []).append(phase)
    return ""


def _text(row: Row, key: str) -> str:
    value = row.get(key)
    return value if isinstance(value, str) else ""
