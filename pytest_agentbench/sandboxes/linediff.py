"""What an agent changed, as a diff to read and as numbers of lines."""

from __future__ import annotations

import difflib
import io
from dataclasses import replace
from pathlib import Path

from pytest_agentbench.model.contracts import Template
from pytest_agentbench.model.run import Change, ChangeKind, Changes, EntryKind
from pytest_agentbench.sandboxes.beneath import read_below, root_of

_TEXT_LIMIT = 256_000
"""Bytes of a file that is still compared line by line."""
_LINES_LIMIT = 1_000
"""Lines that differ, on either side, up to which the shortest diff is looked for: beyond
that an agent could make the search take minutes."""
_FILES_LIMIT = 500
"""Text files whose lines are counted."""

_LineDiff = tuple[list[str], list[str]]


def render_diff(template: Template, changes: Changes, *, limit: int) -> str:
    """A unified diff for people, at most about ``limit`` characters; binary files are named."""
    parts: list[str] = []
    room = limit
    for number, change in enumerate(changes.changes):
        text = _render(template, changes, change)
        if len(text) > room:
            left = len(changes.changes) - number
            parts.append(f"[... {left} more changed paths left out ...]\n")
            break
        parts.append(text)
        room -= len(text)
    parts += [f"dropped {name}: {why}\n" for name, why in list(changes.dropped.items())[:20]]
    return "".join(parts)


def count_lines(template: Template, changes: Changes) -> Changes:
    """The same changes, with lines added and removed in text files."""
    added = removed = 0
    counted = 0
    for change in changes.changes:
        pair = _texts(template, changes, change) if counted < _FILES_LIMIT else None
        if pair is None:
            continue
        counted += 1
        plus, minus = _count(*pair)
        added += plus
        removed += minus
    if changes.changes and not counted:
        return changes
    return replace(changes, lines_added=added, lines_removed=removed)


def _render(template: Template, changes: Changes, change: Change) -> str:
    name = change.name
    pair = _texts(template, changes, change)
    if pair is None:
        kind = "" if change.entry is None else f" ({change.entry.kind}, {change.entry.size} bytes)"
        return f"{change.kind} {name}{kind}\n"
    old, new = pair
    before = "/dev/null" if change.kind is ChangeKind.ADDED else f"a/{name}"
    after = "/dev/null" if change.kind is ChangeKind.DELETED else f"b/{name}"
    if max(map(len, _core(old, new))) > _LINES_LIMIT:
        plus, minus = _count(old, new)
        return f"{change.kind} {name}: about {plus} lines added, {minus} removed\n"
    lines = [
        line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n"
        for line in difflib.unified_diff(old, new, before, after)
    ]
    return "".join(lines) or f"{change.kind} {name} (mode or emptiness only)\n"


def _texts(template: Template, changes: Changes, change: Change) -> _LineDiff | None:
    """Lines before and after; None where a side is not a text file of reasonable size."""
    before = template.manifest.get(change.path)
    old = _lines(template.directory, change.path, before.kind if before else None)
    new = _lines(changes.root, change.path, change.entry.kind if change.entry else None)
    return None if old is None or new is None else (old, new)


def _lines(root: Path, path: bytes, kind: EntryKind | None) -> list[str] | None:
    if kind is None:
        return []
    if kind is not EntryKind.FILE:
        return None
    with root_of(root) as fd:
        data = read_below(fd, path, _TEXT_LIMIT + 1)
    if data is None or len(data) > _TEXT_LIMIT or b"\0" in data:
        return None
    try:
        # Not splitlines(): a form feed is no end of line.
        return list(io.StringIO(data.decode("utf-8"), newline="\n"))
    except UnicodeDecodeError:
        return None


def _core(old: list[str], new: list[str]) -> _LineDiff:
    """Both sides without the lines that they share at the beginning and at the end."""
    start = 0
    most = min(len(old), len(new))
    while start < most and old[start] == new[start]:
        start += 1
    end = 0
    while end < most - start and old[-1 - end] == new[-1 - end]:
        end += 1
    return old[start : len(old) - end], new[start : len(new) - end]


def _count(old: list[str], new: list[str]) -> tuple[int, int]:
    """Lines added and removed; where the search would be long, as if all between had changed."""
    before, after = _core(old, new)
    if not before or not after or max(len(before), len(after)) > _LINES_LIMIT:
        return len(after), len(before)
    same = sum(
        block.size for block in difflib.SequenceMatcher(None, before, after).get_matching_blocks()
    )
    return len(after) - same, len(before) - same
