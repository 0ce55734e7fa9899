"""What must be the same before and after a judge ran: its own files, and what agents leave alone.

Three things are looked at once a judge (a check or an oracle) has run. Its staged files,
and those of the variant's overlay: nothing honest rewrites them, so code of the agent's
did, and the trial has failed. The protected files, which scoring has just restored:

- test configuration and the sources of tests fail the trial likewise;
- all else there (snapshots, databases, golden files) is only told. A test suite may write
  them while it runs, and each judge gets them afresh, so that nothing is gained by it.

Files that are *added* beside these are not looked at: a judge may write its own report there.

Whose doing it was is tried, as for any trouble with a judge: what is rewritten as well
without anything that the agent left (a formatter, a test that rewrites itself) is the
judge's own way of working, and is only told.

What lies on disk of ours is watched here too: a template, and what judges were made of.
That somebody writes there says nothing about an agent, wherever it may have come from.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

from pytest_agentbench.engine.protection import tells_of_tests
from pytest_agentbench.errors import SetupError
from pytest_agentbench.model.contracts import Altered, StagedOracle, Template
from pytest_agentbench.model.run import Manifest
from pytest_agentbench.model.task import TaskSpec
from pytest_agentbench.sandboxes.evidence import altered_below

NAMED = 5
"""How many names a message has."""
KEPT = 50
"""How many a record keeps of one judge."""

_MANY = 500
"""To look at so many files takes a millisecond: more of them, in a thread."""


@dataclass(frozen=True, slots=True)
class Guarded:
    """What of the workspace a judge's run must leave as it is.

    ``files`` are the protected ones and those of the overlay, as the template has them.
    """

    files: Manifest
    overlay: frozenset[bytes] = frozenset()


@dataclass(frozen=True, slots=True)
class Rewritten:
    """What was rewritten while one judge ran: its own files, the overlay's, tests, other data.

    ``habitual``: the judge does so without anything of the agent's, too.
    """

    staged: tuple[str, ...] = ()
    overlay: tuple[bytes, ...] = ()
    tests: tuple[bytes, ...] = ()
    data: tuple[bytes, ...] = ()
    habitual: bool = False

    @property
    def nothing(self) -> bool:
        """Whether there is nothing to tell."""
        return not (self.staged or self.overlay or self.tests or self.data)

    @property
    def grave(self) -> bool:
        """Whether the trial has failed for it."""
        return not self.habitual and bool(self.staged or self.overlay or self.tests)

    def without(self, other: Rewritten) -> Rewritten:
        """What is not in the other one."""
        return Rewritten(
            tuple(name for name in self.staged if name not in other.staged),
            tuple(path for path in self.overlay if path not in other.overlay),
            tuple(path for path in self.tests if path not in other.tests),
            tuple(path for path in self.data if path not in other.data),
        )

    def told(self, *, names: bool = True) -> str:
        """In words; ``names`` says whether those of the judge's own files may be told."""
        parts = []
        if self.staged:
            what = "its own files" if len(self.staged) > 1 else "its own file"
            parts.append(f"{what} {listed(self.staged)}" if names else what)
        for paths, where in ((self.overlay, " of the overlay"), (self.tests, ""), (self.data, "")):
            if paths:
                parts.append(listed(map(_shown, paths)) + where)
        return "; ".join(parts)

    def names(self) -> list[str]:
        """All names, as many as a record keeps."""
        return [*self.staged, *map(_shown, (*self.overlay, *self.tests, *self.data))][:KEPT]


def guarded(template: Template, protected: Iterable[bytes]) -> Guarded:
    """What is to be the same before and after each judge."""
    paths = {*protected, *template.overlay}
    return Guarded({path: template.manifest[path] for path in paths}, template.overlay)


def rewritten(altered: Altered, watched: Guarded) -> Rewritten:
    """What was altered, by what it means."""
    overlay = tuple(path for path in altered.kept if path in watched.overlay)
    others = [path for path in altered.kept if path not in watched.overlay]
    tests = tuple(path for path in others if tells_of_tests(path))
    return Rewritten(
        altered.staged, overlay, tests, tuple(path for path in others if not tells_of_tests(path))
    )


async def refuse_altered(template: Template, since_ns: int, *, where: str) -> None:
    """Raise ``SetupError`` where the template is not any more what was built at ``since_ns``.

    Looked at after it was copied: then the copy was made of what was meant.
    """
    if len(template.manifest) < _MANY:
        found = altered_below(template.directory, template.manifest, since_ns)
    else:
        found = await asyncio.to_thread(
            altered_below, template.directory, template.manifest, since_ns
        )
    if found:
        names = listed(map(_shown, found))
        raise SetupError(
            f"the template of the workspace was changed while the session ran: {names}",
            where=where,
            advice="a sandbox that hides the host, if an agent may have done it;"
            " then run the task again",
        )


Look: TypeAlias = frozenset[tuple[str, int, int, int]]
"""Files on disk by name, with size and times. The change time moves with every write."""


def look_at(task: TaskSpec) -> Look:
    """What lies on disk of what the task hides, and of its prompt; not its workspace."""
    workspace = task.workspace.tree.directory
    found: list[tuple[str, int, int, int]] = []
    for path in task.owned:
        if workspace is None or not path.is_relative_to(workspace):
            found += _looks(path)
    return frozenset(found)


def changed_files(before: Iterable[StagedOracle], now: Iterable[StagedOracle]) -> list[str]:
    """Names of judges' files that are not what was read at first; what was added beside is not."""
    fresh = {staged.spec.name: staged.files for staged in now}
    return [
        f"{staged.spec.name}: {name}"
        for staged in before
        for name, blob in staged.files.items()
        if fresh.get(staged.spec.name, {}).get(name) != blob
    ]


def _looks(path: Path) -> list[tuple[str, int, int, int]]:
    if not path.is_dir():
        return [_look(str(path))]
    return [_look(f"{directory}/{name}") for directory, _, names in os.walk(path) for name in names]


def _look(path: str) -> tuple[str, int, int, int]:
    try:
        about = Path(path).stat()
    except OSError:
        return (path, -1, 0, 0)
    return (path, about.st_size, about.st_mtime_ns, about.st_ctime_ns)


def listed(names: Iterable[str]) -> str:
    """Some names, and how many more there are."""
    every = list(names)
    more = len(every) - NAMED
    return ", ".join(every[:NAMED]) + (f" and {more} more" if more > 0 else "")


def _shown(path: bytes) -> str:
    return path.decode("utf-8", "backslashreplace")
