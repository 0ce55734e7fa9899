"""What one agent did: its process, its words, and what it changed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import TypeAlias

DEFAULT_OUTPUT_LIMIT = 1_000_000
"""Bytes of one stream that are kept: the first half and the last half of it."""


@dataclass(frozen=True, slots=True)
class Output:
    """A bounded stream of bytes: all of it in ``head``, or its two ends.

    ``total`` is the number of bytes written; what lies between ``head`` and
    ``tail`` was dropped.
    """

    head: bytes = b""
    tail: bytes = b""
    total: int = 0

    @property
    def truncated(self) -> bool:
        """Whether bytes between head and tail were dropped."""
        return self.total > len(self.head) + len(self.tail)

    def text(self) -> str:
        """The stream as text, undecodable bytes replaced, the gap marked."""
        head = self.head.decode("utf-8", "replace")
        tail = self.tail.decode("utf-8", "replace")
        if not self.truncated:
            return (self.head + self.tail).decode("utf-8", "replace")
        missing = self.total - len(self.head) - len(self.tail)
        return f"{head}\n[... {missing:,} bytes left out ...]\n{tail}"


@dataclass(frozen=True, slots=True)
class Completed:
    """One command that ended inside a sandbox.

    ``exit_code`` is None when the command was killed by us or by a signal;
    ``signal`` then says which where it is known. ``launch_error`` says why the
    command could not be executed at all. ``survivors`` counts processes that
    were still there after everything was killed.
    """

    exit_code: int | None
    duration_s: float
    stdout: Output = Output()
    stderr: Output = Output()
    signal: int | None = None
    timed_out: bool = False
    out_of_memory: bool = False
    launch_error: str | None = None
    survivors: int = 0


class EntryKind(StrEnum):
    """What stands at a path. ``OTHER``: socket, device or FIFO."""

    FILE = "file"
    DIRECTORY = "directory"
    SYMLINK = "symlink"
    OTHER = "other"


@dataclass(frozen=True, slots=True)
class Entry:
    """One path of a manifest. ``digest`` is of a file's bytes, or of a symlink's target."""

    kind: EntryKind
    executable: bool = False
    size: int = 0
    digest: str = ""


Manifest: TypeAlias = Mapping[bytes, Entry]
"""Every path below a workspace (relative, POSIX, raw bytes) and what stands there."""


class ChangeKind(StrEnum):
    """How a path differs from the template."""

    ADDED = "added"
    MODIFIED = "modified"
    DELETED = "deleted"


@dataclass(frozen=True, slots=True)
class Change:
    """One path that differs from the template. ``entry``: what is there now (None: deleted)."""

    path: bytes
    kind: ChangeKind
    entry: Entry | None

    @property
    def name(self) -> str:
        """The path for people: undecodable bytes are spelled out."""
        return self.path.decode("utf-8", "backslashreplace")


@dataclass(frozen=True, slots=True)
class Changes:
    """What an agent left, against the template's manifest, in path order.

    ``root`` is the host directory that holds the contents for as long as the
    trial lives. ``dropped`` are paths that are not carried to scoring (a
    symlink that leaves the workspace, a socket, a device), each with its why.
    ``lines_added`` and ``lines_removed`` count text files; None when unknown. ``lines``
    has both for each file that they count: one that is not in it is binary, large, or
    one of very many. ``base`` is a driver's own word for what it kept outside of the
    workspace.
    """

    root: Path
    changes: tuple[Change, ...] = ()
    dropped: Mapping[str, str] = field(default_factory=dict)
    lines_added: int | None = None
    lines_removed: int | None = None
    lines: Mapping[bytes, tuple[int, int]] = field(default_factory=dict)
    base: str | None = None

    @property
    def size_bytes(self) -> int:
        """Bytes that have to be carried: apparent sizes, so holes and hard links count in full."""
        return sum(change.entry.size for change in self.changes if change.entry is not None)

    @property
    def empty(self) -> bool:
        """Whether the workspace is as the template was."""
        return not self.changes and not self.dropped


@dataclass(frozen=True, slots=True)
class Usage:
    """What the agent used. None means nobody reported it, never zero. ``source`` says who did."""

    input_tokens: int | None = None
    output_tokens: int | None = None
    turns: int | None = None
    cost_usd: float | None = None
    source: str | None = None


@dataclass(frozen=True, slots=True)
class Evidence:
    """Which skills and tools the agent was seen to use."""

    skills: frozenset[str] = frozenset()
    tools: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Transcript:
    """What an agent's output says about its run, as its parser read it.

    ``evidence`` is None where the output cannot show what was used.
    """

    final_message: str | None = None
    usage: Usage = Usage()
    evidence: Evidence | None = None


@dataclass(frozen=True, slots=True)
class AgentRun:
    """One agent that ended. ``completed`` is None for agents that start no process.

    ``changes`` is known once the agent's sandbox has been torn down. ``code_digest`` is of
    the agent's own program where that is the user's.
    """

    completed: Completed | None = None
    transcript: Transcript = Transcript()
    duration_s: float = 0.0
    changes: Changes | None = None
    code_digest: str | None = None

    @property
    def timed_out(self) -> bool:
        """Whether the wall time ran out."""
        return self.completed is not None and self.completed.timed_out
