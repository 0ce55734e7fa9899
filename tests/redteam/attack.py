"""What one attack is, and how its agent is written down."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from textwrap import dedent
from typing import TypeAlias

Json: TypeAlias = object
"""What JSON can say; a list or mapping that is written down here may hold all of it."""

Task: TypeAlias = Mapping[str, Json]
"""A task file."""

ROOT = "@ROOT@"
"""In a script: the root directory of the project on the host, which an agent may guess."""

TOKEN = "@TOKEN@"
"""In a script: a word in the command line of every process that is to outlive the agent."""


KINDS = ("pytest", "run", "files", "diff", "answer", "python")


@dataclass(frozen=True, slots=True)
class Attack:
    """An agent that wants to pass without doing the work, and what becomes of it.

    ``rows`` are the numbers of the threat model's table. ``because`` stands in the
    message of the record. ``overlay`` are files of the variant's overlay; ``history``
    are the files of the target's repository, commit by commit, of which it starts at
    the first. ``beats`` is a careless oracle that it gets through, on the same task: the proof that
    it is an attack. ``needs`` are what of the sandbox the machine has to limit.
    """

    name: str
    rows: tuple[int, ...]
    tries: str
    stopped_by: str
    target: Task
    steps: tuple[Json, ...]
    outcome: str = "failed"
    reason: str = "oracle"
    because: str = ""
    overlay: Mapping[str, str] = field(default_factory=dict)
    history: tuple[Mapping[str, str], ...] = ()
    beats: Task | None = None
    needs: tuple[str, ...] = ()

    @property
    def judges(self) -> str:
        """The kinds of the oracles that it attacks."""
        oracles = self.target["oracles"]
        assert isinstance(oracles, list)
        return ", ".join(f"`{kind}`" for kind in KINDS if any(kind in each for each in oracles))


def write(path: str, text: str) -> Json:
    """A step that writes a file."""
    return {"write": {"path": path, "text": dedent(text).removeprefix("\n")}}


def shell(text: str) -> Json:
    """A step that runs a shell program, to whatever end."""
    command: Json = ["sh", "-c", dedent(text)]
    return {"run": {"command": command, "may_fail": True}}


def python(text: str) -> Json:
    """A step that runs a Python program, to whatever end."""
    command: Json = ["{python}", "-c", dedent(text)]
    return {"run": {"command": command, "may_fail": True}}


def daemon(text: str) -> Json:
    """A step that leaves a shell program behind: a session of its own, and nobody's child."""
    return {"spawn": ["sh", "-c", dedent(text), TOKEN]}
