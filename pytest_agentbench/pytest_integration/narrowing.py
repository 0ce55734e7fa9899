"""What made a collection smaller than the project: what is never collected is in no plan.

Paths and options tell it themselves. A plugin that drops files and items while they are
collected (``--lf`` does) says nothing to anybody; it shows in what becomes of a report
between the collector and its reader.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fnmatch import fnmatch
from pathlib import Path

import pytest

from pytest_agentbench.options import DEFAULT_TASK_DIRECTORIES
from pytest_agentbench.pytest_integration import compat
from pytest_agentbench.pytest_integration.options import (
    task_candidates,
    task_claims,
    task_directories,
)
from pytest_agentbench.pytest_integration.sessionsettings import chosen_parts
from pytest_agentbench.taskfiles.claims import Claims

_LISTED = 5


class Narrowing:
    """Watches one process's collection; ``broken`` takes the task files that are wrong."""

    def __init__(self, config: pytest.Config, broken: set[str]) -> None:
        self._config = config
        self._made: dict[str, int] = {}
        self._files = 0
        self._trials = 0
        self._broken = broken

    def made(self, report: pytest.CollectReport) -> None:
        """Take note of what a task file holds, before anybody takes something away.

        A task file that was loaded holds a trial at the least.
        """
        if not report.passed:
            return
        self._made[report.nodeid] = len(report.result)
        self._files += not report.result

    def told(self, report: pytest.CollectReport) -> None:
        """Take note of what is left of a task file, and of those that cannot be collected."""
        left = len(report.result or ())
        self._trials += self._made.pop(report.nodeid, left) - left
        if report.failed and task_claims(self._config).claims(
            self._config.rootpath / report.nodeid
        ):
            self._broken.add(report.nodeid)

    def reasons(self) -> list[str]:
        """All of it, in words."""
        found = []
        broken = compat.uncollected(self._config)
        if broken > len(self._broken):
            # Any other file may hold Python tests that run agents.
            found.append(f"{_count(broken, 'file')} could not be collected")
        elif self._broken:
            found.append(f"{_count(len(self._broken), 'task file')} could not be collected")
        chosen = self._chosen()
        if chosen:
            found.append(f"selected by path: {', '.join(chosen)}")
        else:
            found.extend(f"{root} was not collected" for root in self._left_out())
        for option, ignored in (("--ignore", self._ignored()), ("--ignore-glob", self._matched())):
            if ignored:
                found.append(f"left out by {option}: {', '.join(ignored)}")
        passed_over = compat.passed_over(self._config)
        files = (self._files, "task file") if passed_over <= self._files else (passed_over, "file")
        taken = [files, (self._trials, "trial")]
        counts = [_count(number, noun) for number, noun in taken if number > 0]
        if counts:
            by = "--lf" if self._config.getoption("lf", default=False) else "a plugin"
            found.append(f"{' and '.join(counts)} left out by {by}")
        return found

    def _chosen(self) -> list[str]:
        """Arguments that name a part.

        A part of what another argument names as a whole is one too: pytest before 8.4
        collects that part alone, whatever else was named.
        """
        chosen, given = chosen_parts(self._config), self._given()
        roots = [root for root in self._roots().values() if root.is_dir()]
        if not roots or not all(_covered(root, given) for root in roots):
            return chosen
        # All directories of tasks are there: a file of Python tests beside them is a whole.
        return [argument for argument in chosen if not argument.endswith(".py")]

    def _left_out(self) -> list[str]:
        """Directories of tasks that no argument covers, and that hold a task."""
        given = self._given()
        return [
            name
            for name, root in self._roots().items()
            if not _covered(root, given) and any(True for _ in self._held(root))
        ]

    def _ignored(self) -> list[str]:
        """Paths of ``--ignore`` that have to do with directories of tasks.

        Not what conftest files and the ini file leave out: that is the project's own word
        on what it consists of.
        """
        config = self._config
        roots = list(self._roots().values())
        return [
            name
            for name in map(str, config.getoption("ignore", default=None) or [])
            for path in [self._absolute(name)]
            if path.exists()
            and any(_covered(path, [root]) or _covered(root, [path]) for root in roots)
        ]

    def _matched(self) -> list[str]:
        """Patterns of ``--ignore-glob`` that leave out a task file, or a directory above one."""
        patterns = list(map(str, self._config.getoption("ignore_glob", default=None) or []))
        roots = self._roots().values() if patterns else ()
        held = [one for root in roots for path in self._held(root) for one in (path, *path.parents)]
        wholes = {pattern: str(self._absolute(pattern)) for pattern in patterns}
        return [
            pattern
            for pattern, whole in wholes.items()
            if any(fnmatch(str(path), whole) for path in held)
        ]

    def _roots(self) -> dict[str, Path]:
        """The directories of tasks, by what they are called in the ini file."""
        names = task_directories(self._config) or DEFAULT_TASK_DIRECTORIES
        return {name: self._config.rootpath / name for name in names}

    def _given(self) -> list[Path]:
        return [self._absolute(argument) for argument in self._config.args]

    def _absolute(self, argument: str) -> Path:
        return (self._config.invocation_params.dir / argument).absolute()

    def _held(self, root: Path) -> Iterator[Path]:
        """The task files below a directory of tasks."""
        config = self._config
        # Of its own: the session's one remembers what it has passed over, and tells it.
        claims = Claims(task_candidates(config), configured=task_directories(config) is not None)
        return (path for path in root.rglob("*.y*ml") if claims.claims(path))


def _covered(path: Path, by: Sequence[Path]) -> bool:
    return any(path == one or path.is_relative_to(one) for one in by)


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
