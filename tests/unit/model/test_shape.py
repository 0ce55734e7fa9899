"""Whether a value is what an annotation says."""

from __future__ import annotations

import math
from pathlib import Path

import pytest

from pytest_agentbench.model.contracts import AgentCommand
from pytest_agentbench.model.run import AgentRun, Changes, Completed, Transcript, Usage
from pytest_agentbench.model.shape import misfit
from pytest_agentbench.model.task import Blob

COMMAND = AgentCommand(("sh",), env={"A": "1"}, stdin=b"x", stage={"a": Blob(b"")})


@pytest.mark.parametrize(
    ("value", "wanted"),
    [
        (COMMAND, AgentCommand),
        (AgentCommand(["sh"]), AgentCommand),  # type: ignore[arg-type]
        (AgentRun(), AgentRun),
        (AgentRun(Completed(0, 1), Transcript("x"), changes=Changes(Path())), AgentRun),
        (1, float),
    ],
)
def test_what_fits(value: object, wanted: type) -> None:
    """A value that is as its type says, in all of its parts; a list does for a tuple."""
    assert misfit(value, wanted) is None


@pytest.mark.parametrize(
    ("value", "wanted", "said"),
    [
        (None, AgentCommand, "None, not an AgentCommand"),
        (AgentCommand("sh"), AgentCommand, "argv as a str, not a tuple of str"),  # type: ignore[arg-type]
        (
            AgentCommand(("sh",), env={"A": 1}),  # type: ignore[dict-item]
            AgentCommand,
            "env['A'] as an int, not a str",
        ),
        (
            AgentRun(transcript=None),  # type: ignore[arg-type]
            AgentRun,
            "transcript as None, not a Transcript",
        ),
        (AgentRun(Completed(0, math.nan)), AgentRun, "completed.duration_s as nan, not a number"),
        (True, int, "a bool, not an int"),
    ],
)
def test_what_does_not_fit(value: object, wanted: type, said: str) -> None:
    """The first part that is something else is named."""
    assert misfit(value, wanted) == said


def test_usage_that_is_no_number() -> None:
    """What a parser made of words is found before a report adds it up."""
    usage = Usage(cost_usd="free")  # type: ignore[arg-type]
    said = misfit(Transcript(usage=usage), Transcript)
    assert said is not None
    assert said.startswith("usage.cost_usd as a str")
