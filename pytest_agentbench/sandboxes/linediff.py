"""What an agent changed, as a diff to read and as numbers of lines."""

from __future__ import annotations

import difflib
import io
import re
from collections import Counter
from dataclasses import replace
from pathlib import Path

from pytest_agentbench.model.contracts import Template
from pytest_agentbench.model.run import Change, ChangeKind, Changes, EntryKind
from pytest_agentbench.sandboxes.beneath import read_below, root_of
from pytest_agentbench.sandboxes.gitfresh import of_repository

_TEXT_LIMIT = 256_000
"""Bytes of a file that is still compared line by line."""
_LINES_LIMIT = 1_000
"""Lines that differ, on either side, up to which the shortest diff is looked for: beyond
that an agent could make the search take minutes."""
_FILES_LIMIT = 500
"""Text files whose lines are counted."""

_PAIRS_LIMIT = 200_000
"""Pairs of equal lines, over all files, up to which the shortest diff is looked for. The
search takes up to 5 µs for each: 300 files of a thousand lines that were made to be hard
kept a trial busy for a minute and more."""
_CONTEXT = 3
_RANGE = re.compile(r"([-+])(\d+)")

_LineDiff = tuple[list[str], list[str]]


class _Searches:
    """What the searches of one call may still cost."""

    def __init__(self) -> None:
        self._left = _PAIRS_LIMIT

    def allow(self, before: list[str], after: list[str]) -> bool:
        """Whether a shortest diff of these lines is worth its cost; takes it off what is left."""
        if max(len(before), len(after)) > _LINES_LIMIT:
            return False
        ours, theirs = Counter(before), Counter(after)
        pairs = sum(count * theirs[line] for line, count in ours.items())
        if pairs > self._left:
            return False
        self._left -= pairs
        return True


def render_diff(template: Template, changes: Changes, *, limit: int) -> str:
    """A unified diff for people, at most about ``limit`` characters; binary files are named."""
    parts: list[str] = []
    room = limit
    searches = _Searches()
    shown = [change for change in changes.changes if not of_repository(change.path)]
    for number, change in enumerate(shown):
        text = _render(template, changes, change, searches)
        if len(text) > room:
            left = len(shown) - number
            parts.append(f"[... {left} more changed paths left out ...]\n")
            break
        parts.append(text)
        room -= len(text)
    parts += [f"dropped {name}: {why}\n" for name, why in list(changes.dropped.items())[:20]]
    return "".join(parts)


def count_lines(template: Template, changes: Changes) -> Changes:
    """The same changes, with lines added and removed in text files."""
    counts: dict[bytes, tuple[int, int]] = {}
    searches = _Searches()
    for change in changes.changes:
        if of_repository(change.path):
            continue  # a commit's log and message are no lines of the agent's work
        pair = _texts(template, changes, change) if len(counts) < _FILES_LIMIT else None
        if pair is not None:
            counts[change.path] = _count(*pair, searches)
        elif _had_no_lines(template, change):
            counts[change.path] = (0, 0)
    if changes.changes and not counts:
        return changes
    return replace(
        changes,
        lines_added=sum(added for added, _ in counts.values()),
        lines_removed=sum(removed for _, removed in counts.values()),
        lines=counts,
    )


def _had_no_lines(template: Template, change: Change) -> bool:
    """Whether what was removed was a symlink or an empty directory."""
    before = template.manifest.get(change.path)
    if change.kind is not ChangeKind.DELETED or before is None:
        return False
    return before.kind is not EntryKind.FILE


def _render(template: Template, changes: Changes, change: Change, searches: _Searches) -> str:
    name = change.name
    pair = _texts(template, changes, change)
    if pair is None:
        kind = "" if change.entry is None else f" ({change.entry.kind}, {change.entry.size} bytes)"
        return f"{change.kind} {name}{kind}\n"
    old, new = pair
    before = "/dev/null" if change.kind is ChangeKind.ADDED else f"a/{name}"
    after = "/dev/null" if change.kind is ChangeKind.DELETED else f"b/{name}"
    start, end = _shared(old, new)
    removed, added = old[start : len(old) - end], new[start : len(new) - end]
    if not searches.allow(removed, added):
        return f"{change.kind} {name}: about {len(added)} lines added, {len(removed)} removed\n"
    # Only what differs, and the lines around it: in a long file of few different
    # lines, a search over all of it would not come to an end.
    first, last = max(start - _CONTEXT, 0), max(end - _CONTEXT, 0)
    lines = [
        line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n"
        for line in difflib.unified_diff(
            old[first : len(old) - last], new[first : len(new) - last], before, after, n=_CONTEXT
        )
    ]
    moved = [_moved(line, first) if line.startswith("@@") else line for line in lines]
    return "".join(moved) or f"{change.kind} {name} (mode or emptiness only)\n"


def _moved(header: str, lines: int) -> str:
    """The header of a hunk, for a text that begins so many lines earlier."""
    return _RANGE.sub(lambda found: f"{found[1]}{int(found[2]) + lines}", header)


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
    try:
        with root_of(root) as fd:
            data = read_below(fd, path, _TEXT_LIMIT + 1)
    except OSError:  # an agent has no walls in ``local``: its workspace may be anything by now
        return None
    if data is None or len(data) > _TEXT_LIMIT or b"\0" in data:
        return None
    try:
        # Not splitlines(): a form feed is no end of line.
        return list(io.StringIO(data.decode("utf-8"), newline="\n"))
    except UnicodeDecodeError:
        return None


def _shared(old: list[str], new: list[str]) -> tuple[int, int]:
    """How many lines both sides share at the beginning, and how many at the end."""
    start = 0
    most = min(len(old), len(new))
    while start < most and old[start] == new[start]:
        start += 1
    end = 0
    while end < most - start and old[-1 - end] == new[-1 - end]:
        end += 1
    return start, end


def _count(old: list[str], new: list[str], searches: _Searches) -> tuple[int, int]:
    """Lines added and removed; where the search would be long, as if all between had changed."""
    start, end = _shared(old, new)
    before, after = old[start : len(old) - end], new[start : len(new) - end]
    if not before or not after or not searches.allow(before, after):
        return len(after), len(before)
    same = sum(
        block.size for block in difflib.SequenceMatcher(None, before, after).get_matching_blocks()
    )
    return len(after) - same, len(before) - same
