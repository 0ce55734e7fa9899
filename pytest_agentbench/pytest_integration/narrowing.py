"""What made a collection smaller than the project: what is never collected is in no plan.

Paths and options tell it themselves. A plugin that drops files and items while they are
collected (``--lf`` does) says nothing to anybody; it shows in what becomes of a report
between the collector and its reader.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from pytest_agentbench.options import DEFAULT_TASK_DIRECTORIES
from pytest_agentbench.pytest_integration.options import (
    chosen_parts,
    task_claims,
    task_directories,
)
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
        if self._broken:
            found.append(f"{_count(len(self._broken), 'task file')} could not be collected")
        chosen = chosen_parts(self._config)
        if chosen:
            found.append(f"selected by path: {', '.join(chosen)}")
        else:
            found.extend(f"{root} was not collected" for root in self._left_out())
        ignored = self._ignored()
        if ignored:
            found.append(f"left out by --ignore: {', '.join(ignored)}")
        taken = [(self._files, "task file"), (self._trials, "trial")]
        counts = [_count(number, noun) for number, noun in taken if number > 0]
        if counts:
            by = "--lf" if self._config.getoption("lf", default=False) else "a plugin"
            found.append(f"{' and '.join(counts)} left out by {by}")
        return found

    def _left_out(self) -> list[str]:
        """Directories of tasks that no argument covers, and that hold a task."""
        config = self._config
        given = [(config.invocation_params.dir / argument).absolute() for argument in config.args]
        directories = task_directories(config)
        # Of its own: the session's one remembers what it has passed over, and tells it.
        claims = Claims(
            config.rootpath, directories or DEFAULT_TASK_DIRECTORIES, directories is not None
        )
        return [
            root
            for root in directories or DEFAULT_TASK_DIRECTORIES
            if not _covered(config.rootpath / root, given)
            and any(claims.claims(path) for path in (config.rootpath / root).rglob("*.y*ml"))
        ]

    def _ignored(self) -> list[str]:
        """Paths of ``--ignore`` that have to do with directories of tasks."""
        config = self._config
        roots = [
            config.rootpath / root for root in task_directories(config) or DEFAULT_TASK_DIRECTORIES
        ]
        ignored = config.getoption("ignore", default=None) or []
        return [
            name
            for name in map(str, ignored)
            for path in [(config.invocation_params.dir / name).absolute()]
            if path.exists()
            and any(_covered(path, [root]) or _covered(root, [path]) for root in roots)
        ]


def _covered(path: Path, by: Sequence[Path]) -> bool:
    return any(path == one or path.is_relative_to(one) for one in by)


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
