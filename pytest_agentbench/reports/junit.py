"""A trial as properties of its ``<testcase>`` in pytest's JUnit file.

Pure. Flat and few: readers show them as they are, and what is unknown is left
out, since an empty or 0 would be read as known.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pytest_agentbench.redaction import printable

if TYPE_CHECKING:
    from pytest_agentbench.model.record import Record

PREFIX = "agentbench."
"""What the names of our properties start with."""

_LONGEST_VALUE = 500


def properties(record: Record) -> list[tuple[str, str]]:
    """Names and values, all text, safe in XML and between xdist's processes."""
    sandbox = record.sandbox
    values: dict[str, str | None] = {
        "task": record.task,
        "test": record.test,
        "variant": record.variant,
        "repeat": str(record.repeat),
        "outcome": str(record.outcome),
        "reason": None if record.reason is None else str(record.reason),
        "score": None if record.score is None else f"{record.score:.6g}",
        "agent": record.agent,
        "model": record.model,
        "sandbox": None if sandbox is None else sandbox.driver,
        "isolated": None if sandbox is None else str(sandbox.isolated).lower(),
    }
    return [
        (f"{PREFIX}{name}", printable(value, _LONGEST_VALUE))
        for name, value in values.items()
        if value is not None
    ]
