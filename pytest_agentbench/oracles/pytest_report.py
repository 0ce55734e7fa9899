"""The report that the bootstrap writes, read into values. Pure.

It comes from a process that ran code of the agent's: what does not look as the
bootstrap writes it is not there.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import TypeAlias

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


@dataclass(slots=True)
class SuiteReport:
    """What one session of hidden tests reported.

    ``tests`` is filled by listing (node id -> mark), ``phases`` by running.
    ``uncollected`` maps what could not be collected to why. ``foreign`` counts
    lines that the bootstrap did not write.
    """

    started: bool = False
    finished: bool = False
    status: int | None = None
    tests: dict[str, str] = field(default_factory=dict)
    phases: dict[str, list[Phase]] = field(default_factory=dict)
    uncollected: dict[str, str] = field(default_factory=dict)
    foreign: int = 0


def read_report(data: bytes, key: str) -> SuiteReport:
    """All lines that carry the key; the last one may be torn."""
    report = SuiteReport()
    for line in data.split(b"\n"):
        if not line:
            continue
        try:
            row = json.loads(line)
        except (ValueError, RecursionError):
            report.foreign += 1
            continue
        if not isinstance(row, dict) or row.get("key") != key:
            report.foreign += 1
            continue
        _take(report, row)
    return report


def _take(report: SuiteReport, row: Row) -> None:
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
        report.phases.setdefault(name, []).append(phase)


def _text(row: Row, key: str) -> str:
    value = row.get(key)
    return value if isinstance(value, str) else ""
