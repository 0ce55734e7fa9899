"""What an agent changed, held against rules about paths and lines. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from pytest_agentbench.model.globs import matches
from pytest_agentbench.model.run import Change, ChangeKind, Changes, EntryKind
from pytest_agentbench.model.task import JsonValue
from pytest_agentbench.oracles.base import counted, one_line

BYPRODUCTS = (
    "**/__pycache__/**",
    "**/.mypy_cache/**",
    "**/.pytest_cache/**",
    "**/.ruff_cache/**",
)
"""What tools leave when an agent merely uses them: ignored unless the author says otherwise."""

_GIT = b".git"
_LISTED = 20
_NAMED = 3
_NAME_LIMIT = 80


@dataclass(frozen=True, slots=True)
class Rules:
    """What may, must not and must change. None, or empty: no such rule."""

    only: tuple[str, ...] = ()
    forbid: tuple[str, ...] = ()
    must_change: tuple[str, ...] = ()
    max_changed_lines: int | None = None
    ignore: tuple[str, ...] = BYPRODUCTS


@dataclass(frozen=True, slots=True)
class Judgement:
    """Each rule that was broken, in words; none when all hold."""

    broken: tuple[str, ...]
    summary: str
    details: Mapping[str, JsonValue] = field(default_factory=dict)


def judge(rules: Rules, changes: Changes) -> Judgement:
    """Hold all changes, also those that are not carried to scoring, against the rules."""
    kept = [change for change in _changed_files(changes) if not _ignored(rules, change.path)]
    names = {change.path: f"{_shown(change.name)} ({change.kind})" for change in kept}
    for name in changes.dropped:
        path = name.encode("utf-8", "surrogateescape")
        if not _ignored(rules, path):
            names[path] = f"{_shown(name)} (not carried)"
    outside = [words for path, words in names.items() if rules.only and not _any(rules.only, path)]
    forbidden = [words for path, words in names.items() if _any(rules.forbid, path)]
    untouched = [
        pattern
        for pattern in rules.must_change
        if not any(matches(pattern, change.path) for change in kept)
    ]
    lines, uncounted = _lines(kept, changes)
    broken = [
        *_path_faults(outside, "not among 'only'"),
        *_path_faults(forbidden, "forbidden"),
        *([f"nothing changed that matches {_listed(map(repr, untouched))}"] if untouched else []),
        *_line_faults(rules.max_changed_lines, lines, uncounted),
    ]
    details: dict[str, JsonValue] = {
        "changed_paths": len(names),
        "changed_lines": None if uncounted else lines,
    }
    for key, found in (
        ("outside", outside),
        ("forbidden", forbidden),
        ("untouched", untouched),
        ("uncounted", uncounted),
    ):
        if found:
            details[key] = list(found[:_LISTED])
    size = counted(len(names), "changed path")
    if not uncounted:
        size = f"{size}, {counted(lines, 'changed line')}"
    return Judgement(tuple(broken), size, details)


def _changed_files(changes: Changes) -> list[Change]:
    """All changes but directories, which are there for what is in them, as in git.

    A removed path does not say what it was: it counts as a file if nothing below it was
    removed, so that of a removed directory each file counts, and an empty one once.
    """
    parents = {
        change.path[:end]
        for change in changes.changes
        if change.kind is ChangeKind.DELETED
        for end in _slashes(change.path)
    }
    found = []
    for change in changes.changes:
        if change.kind is ChangeKind.ADDED:
            counts = change.entry is None or change.entry.kind is not EntryKind.DIRECTORY
        elif change.kind is ChangeKind.DELETED:
            counts = change.path not in parents
        else:
            counts = True  # a directory in place of something else, too: that is gone
        if counts:
            found.append(change)
    return found


def _slashes(path: bytes) -> list[int]:
    return [index for index, byte in enumerate(path) if byte == ord("/")]


def _ignored(rules: Rules, path: bytes) -> bool:
    # A commit of the agent's changes the repository's own files: it is no change of the work.
    return path.partition(b"/")[0] == _GIT or _any(rules.ignore, path)


def _any(patterns: Iterable[str], path: bytes) -> bool:
    return any(matches(pattern, path) for pattern in patterns)


def _lines(kept: Sequence[Change], changes: Changes) -> tuple[int, list[str]]:
    """Lines added and removed, and the files whose lines are not known."""
    total = 0
    uncounted: list[str] = []
    for change in kept:
        count = changes.lines.get(change.path)
        if count is not None:
            total += sum(count)
        elif change.entry is None or change.entry.kind is EntryKind.FILE:
            uncounted.append(_shown(change.name))
    return total, uncounted


def _line_faults(bound: int | None, lines: int, uncounted: Sequence[str]) -> list[str]:
    if bound is None:
        return []
    if lines > bound:
        least = "at least " if uncounted else ""
        return [f"{least}{counted(lines, 'changed line')}, more than {bound}"]
    if not uncounted:
        return []
    why = "it is" if len(uncounted) == 1 else "they are"
    what = f"the changed lines of {counted(len(uncounted), 'file')} are not known"
    return [f"{what} ({why} binary, large or one of very many): {_listed(uncounted)}"]


def _path_faults(names: Sequence[str], what: str) -> list[str]:
    if not names:
        return []
    verb = "is" if len(names) == 1 else "are"
    return [f"{counted(len(names), 'changed path')} {verb} {what}: {_listed(names)}"]


def _listed(names: Iterable[str]) -> str:
    every = list(names)
    return ", ".join([*every[:_NAMED], "…"] if len(every) > _NAMED else every)


def _shown(name: str) -> str:
    return one_line(name, _NAME_LIMIT)
