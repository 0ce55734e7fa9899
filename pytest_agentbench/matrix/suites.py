"""Which suites a task belongs to, and what is wrong with the suites of a session. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from pytest_agentbench.errors import UsageError
from pytest_agentbench.model.globs import matches

if TYPE_CHECKING:
    from pytest_agentbench.model.task import Position, TaskSpec
    from pytest_agentbench.model.variant import Suite

ALL = "all"
"""The name of the suite that every task belongs to."""

_LISTED = 8

Marked: TypeAlias = Callable[[str], bool]
"""Whether a task's marks satisfy an expression as of ``-m``."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """A collected task, as suites see it. ``path`` is relative to the root directory, POSIX."""

    task: TaskSpec
    path: str
    marked: Marked


def suites_of(candidate: Candidate, suites: Iterable[Suite]) -> list[str]:
    """The names of the suites that a task belongs to: the experiment's, then its dataset's."""
    names = [suite.name for suite in suites if all(_criteria(suite, candidate))]
    return names if candidate.task.dataset is None else [*names, candidate.task.dataset]


def suite_names(tasks: Iterable[TaskSpec], suites: Sequence[Suite]) -> list[str]:
    """All named suites: the experiment's in their order, then the datasets' as collected."""
    datasets = (task.dataset for task in tasks if task.dataset is not None)
    return list(dict.fromkeys([*(suite.name for suite in suites), *datasets]))


def check_names(tasks: Iterable[TaskSpec], suites: Sequence[Suite], rootdir: Path) -> None:
    """Refuse a name that two suites have, or that means everything. Raises ``UsageError``."""
    places: dict[str, tuple[str, str]] = {}
    for suite in suites:
        _claim(places, suite.name, place(suite.position, rootdir), "a suite of the experiment")
    files = {(task.dataset, task.position.path): task for task in tasks if task.dataset is not None}
    for (name, _), task in files.items():
        _claim(places, name, place(task.position, rootdir), "a dataset")


def check_members(candidates: Sequence[Candidate], suites: Sequence[Suite], rootdir: Path) -> None:
    """Refuse a suite without a task; to be asked of a whole collection only.

    Raises ``UsageError``.
    """
    for suite in suites:
        if any(all(_criteria(suite, one)) for one in candidates):
            continue
        why = "; ".join(_misses(suite, candidates)) or "no task satisfies all of it at once"
        raise UsageError(
            f"the suite {suite.name!r} selects no task: {why}",
            where=place(suite.position, rootdir),
            advice="correct its 'select', or take the suite out",
        )


def place(position: Position | None, rootdir: Path) -> str:
    """``agentbench.yaml:12``, from the root directory where it lies below it."""
    if position is None:
        return "experiment"
    path = position.path
    shown = path.relative_to(rootdir) if path.is_relative_to(rootdir) else path
    return f"{shown.as_posix()}:{position.line}"


def _criteria(suite: Suite, one: Candidate) -> list[bool]:
    return [
        not suite.marks or one.marked(suite.marks),
        not suite.paths or _lies(suite, one),
        not suite.ids or _is_called(suite, one),
    ]


def _lies(suite: Suite, one: Candidate) -> bool:
    path = one.path.encode("utf-8", "surrogateescape")
    return any(matches(pattern, path) for pattern in suite.paths)


def _is_called(suite: Suite, one: Candidate) -> bool:
    return any(fnmatchcase(one.task.id, pattern) for pattern in suite.ids)


def _misses(suite: Suite, candidates: Sequence[Candidate]) -> list[str]:
    """Each criterion that no task satisfies even by itself, with what was there instead."""
    found = []
    if suite.marks and not any(one.marked(suite.marks) for one in candidates):
        tags = sorted({tag for one in candidates for tag in one.task.tags})
        found.append(f"the marks {suite.marks!r} fit none (tags: {_listed(tags)})")
    if suite.paths and not any(_lies(suite, one) for one in candidates):
        paths = list(dict.fromkeys(one.path for one in candidates))
        found.append(f"the paths {_quoted(suite.paths)} fit none (task files: {_listed(paths)})")
    if suite.ids and not any(_is_called(suite, one) for one in candidates):
        ids = list(dict.fromkeys(one.task.id for one in candidates))
        found.append(f"the ids {_quoted(suite.ids)} fit none (tasks: {_listed(ids)})")
    return found


def _claim(places: dict[str, tuple[str, str]], name: str, where: str, what: str) -> None:
    if name == ALL:
        raise UsageError(
            f"{what} is called {ALL!r}, which means all tasks",
            where=where,
            advice="give it another name; a dataset's is that of its task file",
        )
    other = places.setdefault(name, (where, what))
    if other != (where, what):
        raise UsageError(
            f"the suite name {name!r} of {what} is taken by {other[1]} at {other[0]}",
            where=where,
            advice="rename one of them; a dataset's name is that of its task file",
        )


def _quoted(patterns: Iterable[str]) -> str:
    return ", ".join(map(repr, patterns))


def _listed(names: Sequence[str]) -> str:
    more = f" and {len(names) - _LISTED} more" if len(names) > _LISTED else ""
    return f"{', '.join(names[:_LISTED])}{more}" if names else "none"
