from __future__ import annotations

import hmac
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_agentbench.oracles.pytest_bootstrap import KEY_LINE, sealer
from pytest_agentbench.oracles.pytest_report import (
    Opening,
    Phase,
    SuiteReport,
    held_to_exit,
    read_opening,
    read_report,
)

KEY = b"k" * 32
FOREIGN = "was not written by the tests' process"


def sealed(*rows: object, key: bytes = KEY) -> list[bytes]:
    """Lines of a report, each with the seal that is right in its place."""
    lines, seal = [], b""
    for row in rows:
        text = json.dumps(row).encode()
        seal = hmac.new(key, seal + text, "sha256").hexdigest().encode()
        lines.append(seal + b" " + text + b"\n")
    return lines


def phase(when: str, outcome: str = "passed", **more: object) -> dict[str, object]:
    return {"event": "phase", "id": "a", "when": when, "outcome": outcome, **more}


STARTED = {"event": "started", "pytest": "9"}
FINISHED = {"event": "finished", "status": 0}
ROWS = [STARTED, phase("setup"), phase("call"), phase("teardown"), FINISHED]
GOOD = [Phase("setup", "passed"), Phase("call", "passed"), Phase("teardown", "passed")]


def test_a_report_is_read_line_by_line() -> None:
    """Events become values; unknown ones are passed over."""
    lines = sealed(
        STARTED,
        {"event": "test", "id": "a", "mark": "run"},
        {"event": "uncollected", "id": "b", "why": "no"},
        phase("call", "skipped", why="w", xfail=True, sub=True),
        {"event": "later"},
        {"event": "finished", "status": 1},
    )
    assert read_report(b"".join(lines), KEY) == SuiteReport(
        started=True,
        finished=True,
        status=1,
        tests={"a": "run"},
        phases={"a": [Phase("call", "skipped", "w", xfail=True, sub=True)]},
        uncollected={"b": "no"},
    )


def test_the_bootstraps_seal_is_the_one_that_is_asked_for() -> None:
    """What the bootstrap seals by its own means verifies."""
    seal = sealer(KEY)
    texts = [json.dumps(row).encode() for row in ROWS]
    data = b"".join(seal(text) + b" " + text + b"\n" for text in texts)
    assert data == b"".join(sealed(*ROWS))
    assert read_report(data, KEY).flaw == ""


LINES = sealed(*ROWS)


@pytest.mark.parametrize(
    ("lines", "row", "flaw"),
    [
        (sealed(*ROWS, key=b"x" * 32), 1, FOREIGN),
        (LINES[1:], 1, FOREIGN),
        ([LINES[0], *LINES[2:]], 2, FOREIGN),
        ([LINES[0], LINES[2], LINES[1], *LINES[3:]], 2, FOREIGN),
        ([*LINES[:3], LINES[2], *LINES[3:]], 4, FOREIGN),
        ([*LINES[:3], LINES[2].replace(b"passed", b"failed"), *LINES[4:]], 4, FOREIGN),
        ([*LINES[:2], b"\n", *LINES[2:]], 3, FOREIGN),
        ([*LINES[:2], b"[" * 100_000 + b"\n", *LINES[2:]], 3, FOREIGN),
        ([*LINES, LINES[-1]], 6, FOREIGN),
        ([*LINES, b"\xff\n"], 6, FOREIGN),
        (sealed(*ROWS, ROWS[-1]), 6, "comes after the last one"),
        (sealed(*ROWS[:3], ROWS[2], *ROWS[3:]), 4, "gives the call of a again"),
        (sealed(*ROWS[:2], ["no", "row"], *ROWS[2:]), 3, FOREIGN),
        ([*LINES[:4], LINES[4][:-1]], 5, "is torn"),
        ([*LINES[:4], LINES[4][:-12]], 5, "is torn"),
    ],
)
def test_reading_stops_at_the_first_row_that_is_not_right(
    lines: list[bytes], row: int, flaw: str
) -> None:
    """A foreign, lost, moved, repeated, changed or late row ends the report there."""
    found = read_report(b"".join(lines), KEY)
    assert found.flaw == f"row {row} of the report {flaw}"
    whole = read_report(b"".join(lines[: row - 1]), KEY)
    assert (found.phases, found.finished) == (whole.phases, whole.finished)
    assert whole.flaw == ""


def test_an_untouched_report_has_no_flaw() -> None:
    """Negative control of the row above."""
    assert read_report(b"".join(LINES), KEY) == SuiteReport(
        started=True, finished=True, status=0, phases={"a": GOOD}
    )


def test_subtests_and_reruns_may_report_again() -> None:
    """A subtest reports under its test's id, and a test that is run again does so, too."""
    rows = [
        STARTED,
        phase("setup"),
        phase("call", sub=True),
        phase("call", sub=True),
        phase("call", "rerun"),
        *ROWS[1:],
    ]
    assert read_report(b"".join(sealed(*rows)), KEY).flaw == ""


@pytest.mark.parametrize(
    ("exit_code", "flaw"),
    [
        (1, "the report ends with status 0, the process with 1"),
        (137, "the report ends with status 0, the process with 137"),
        (None, ""),
    ],
)
def test_the_exit_must_be_the_reported_one(exit_code: int | None, flaw: str) -> None:
    """Killed, or ended with another status than the last row says, is not finished."""
    report = SuiteReport(started=True, finished=True, status=0, phases={"a": GOOD})
    assert held_to_exit(report, exit_code) == SuiteReport(
        started=True, finished=False, status=0, phases={"a": GOOD}, flaw=flaw
    )
    assert held_to_exit(report, 0) == report


def test_the_opening_of_standard_output() -> None:
    """The key comes first, then the first row; what follows is other output."""
    key_line = KEY_LINE + KEY.hex().encode() + b"\n"
    begun = key_line + LINES[0]
    started = Opening(KEY, started=True, size=len(begun))
    not_started = Opening(KEY, started=False, size=len(key_line))
    assert read_opening(begun + b"=== test session") == started
    assert read_opening(key_line + b"Traceback") == not_started
    assert read_opening(key_line + LINES[1]) == not_started
    assert read_opening(begun[:-1]) == not_started
    assert read_opening(KEY_LINE + b"no key\n") == Opening()
    assert read_opening(b"\n" + begun) == Opening()


@given(st.binary())
def test_any_bytes_are_a_report(data: bytes) -> None:
    """No bytes make reading stumble, or say that anything started."""
    assert not read_report(data, KEY).started
    assert not read_opening(data).started
    assert not read_opening(KEY_LINE + data).started
