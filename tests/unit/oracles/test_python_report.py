"""The report of the function's process: two sealed rows, or no verdict."""

from __future__ import annotations

import hmac
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_agentbench.oracles.python_report import Said, read_said

KEY = b"k" * 32
STARTED = {"event": "started"}
NOT_WRITTEN = "was not written by the oracle's process"


def sealed(*rows: object, key: bytes = KEY) -> bytes:
    seal, lines = b"", b""
    for row in rows:
        text = json.dumps(row).encode()
        seal = hmac.digest(key, seal + text, "sha256").hex().encode()
        lines += seal + b" " + text + b"\n"
    return lines


def result(verdict: object, details: object = None) -> dict[str, object]:
    return {
        "event": "result",
        "verdict": json.dumps(verdict),
        "details": json.dumps(details or {}),
    }


GOOD = result({"score": 0.5, "reason": "half"}, {"n": 1})


def test_a_result_is_read() -> None:
    """Score, reason and details, where the process ended by itself."""
    assert read_said(sealed(STARTED, GOOD), KEY, ending=None) == Said(0.5, "half", {"n": 1})


def test_what_was_raised_is_no_score() -> None:
    """The row says why."""
    row = {"event": "raised", "why": "raised KeyError: 'x'"}
    assert read_said(sealed(STARTED, row), KEY, ending=None) == Said(refusal="raised KeyError: 'x'")


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (b"", "ended; the report is missing"),
        (sealed(STARTED), "ended"),
        (sealed(GOOD), "ended"),
        (sealed(STARTED, GOOD, GOOD), "ended"),
        (sealed(STARTED, GOOD)[:-1], "ended; the report is torn"),
        (sealed(STARTED, GOOD) + b"x", "ended; the report is torn"),
        (sealed(STARTED, GOOD) + b"\n", f"ended; row 3 of the report {NOT_WRITTEN}"),
        (sealed(STARTED, GOOD, key=b"other"), f"ended; row 1 of the report {NOT_WRITTEN}"),
        (sealed(STARTED) + sealed(GOOD), f"ended; row 2 of the report {NOT_WRITTEN}"),
        (sealed(STARTED, [1]), f"ended; row 2 of the report {NOT_WRITTEN}"),
        (sealed(STARTED, {"event": []}), "ended"),
    ],
)
def test_what_is_no_verdict(data: bytes, why: str) -> None:
    """A row too few or too many, another's, torn, or one that was moved."""
    assert read_said(data, KEY, ending=None) == Said(
        refusal=f"did not say what it found: the process {why}"
    )


def test_a_process_that_was_killed_has_said_nothing() -> None:
    """A good report beside a bad ending is somebody else's, or came too early."""
    assert read_said(sealed(STARTED, GOOD), KEY, ending="exited with 3") == Said(
        refusal="did not say what it found: the process exited with 3"
    )


@pytest.mark.parametrize("score", [1, True, None, "1", -0.5, 1.5, float("nan"), [1.0]])
def test_the_score_is_looked_at_again(score: object) -> None:
    """The right seal does not make a score of what is none."""
    data = sealed(STARTED, result({"score": score, "reason": ""}))
    assert read_said(data, KEY, ending=None) == Said(refusal="said no score from 0 to 1")


@given(st.binary())
def test_any_bytes_are_no_verdict(data: bytes) -> None:
    """Nothing raises, and nothing without seals is a score."""
    assert read_said(data, KEY, ending=None).refusal
