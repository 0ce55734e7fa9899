"""The report that the function's process writes, read into a verdict. Pure.

It comes from a process that may have run code of the agent's, and from a file that
other processes could write to: only two rows with the right seals, and nothing else,
are a verdict.
"""

from __future__ import annotations

import hmac
import json
import math
from collections.abc import Mapping
from dataclasses import dataclass, field

from pytest_agentbench.model.task import JsonValue

SIZE_LIMIT = 1 << 20
"""Bytes of a report that are read."""


@dataclass(frozen=True, slots=True)
class Said:
    """What the function said. ``refusal`` is why that is no score; empty where it is one."""

    score: float = 0.0
    reason: str = ""
    details: Mapping[str, JsonValue] = field(default_factory=dict)
    refusal: str = ""


def read_said(data: bytes, key: bytes, *, ending: str | None) -> Said:
    """The verdict in a report. ``ending`` is how the process ended; None: by itself, with 0."""
    seal = b""
    rows: list[dict[str, JsonValue]] = []
    flaw = ""
    for number, line in enumerate(data.split(b"\n")[:-1], 1):
        row = _row(line, key, seal)
        if row is None:
            flaw = f"; row {number} of the report was not written by the oracle's process"
            break
        seal = line.partition(b" ")[0]
        rows.append(row)
    if not flaw and not data.endswith(b"\n"):
        flaw = "; the report is missing" if not data else "; the report is torn"
    events = [row.get("event") for row in rows]
    if flaw or ending is not None or events not in (["started", "result"], ["started", "raised"]):
        ended = ending or "ended"
        return Said(refusal=f"did not say what it found: the process {ended}{flaw}")
    return _said(rows[-1])


def _said(row: Mapping[str, JsonValue]) -> Said:
    if row["event"] == "raised":
        return Said(refusal=str(row.get("why", "")))
    verdict, details = _parsed(row.get("verdict")), _parsed(row.get("details"))
    score = verdict.get("score")
    if not isinstance(score, float) or not math.isfinite(score) or not 0 <= score <= 1:
        return Said(refusal="said no score from 0 to 1")
    return Said(score, str(verdict.get("reason", "")), details)


def _parsed(text: JsonValue) -> dict[str, JsonValue]:
    try:
        value = json.loads(text) if isinstance(text, str) else None
    except (ValueError, RecursionError):
        value = None
    return value if isinstance(value, dict) else {}


def _row(line: bytes, key: bytes, seal: bytes) -> dict[str, JsonValue] | None:
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
