"""Python tests that run trials: ``@pytest.mark.agentbench(task="tasks/fix.yaml")``."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

import pytest

from pytest_agentbench.errors import AgentbenchError, UsageError
from pytest_agentbench.options import MARK
from pytest_agentbench.pytest_integration import compat
from pytest_agentbench.pytest_integration.collect import PLACE, Place, excluding_marks
from pytest_agentbench.pytest_integration.overrides import FIXTURES, misuse_of
from pytest_agentbench.pytest_integration.session import BenchSession, bench_session
from pytest_agentbench.taskfiles.complaints import closest, unknown

if TYPE_CHECKING:
    from pytest_agentbench.matrix.expand import Trials
    from pytest_agentbench.model.task import TaskSpec

_USE = f'@pytest.mark.{MARK}(task="tasks/fix.yaml")'


def parametrize_test(metafunc: pytest.Metafunc, marker: pytest.Mark) -> None:
    """One parameter set for each trial of the task that the mark names.

    What is wrong with the mark ends the collection of the test's file, as a wrong
    ``parametrize`` does.
    """
    bench = bench_session(metafunc.config)
    test = metafunc.definition.nodeid
    fault: AgentbenchError | None = None
    tasks: Sequence[TaskSpec] = ()
    trials: list[Trials] = []
    compat.ask_for_hidden(metafunc, FIXTURES)
    try:
        _check_use(metafunc)
        tasks = _tasks(bench, marker)
        trials = [bench.trials_of(task) for task in tasks]
    except AgentbenchError as error:
        fault = error
    if fault is not None:
        _refuse(bench, metafunc, fault)
    if "agentbench_sandbox" in metafunc.fixturenames:
        # As they are arguments of the task's own test. What only some of several tasks need
        # is set up when they run.
        shared = [name for name in tasks[0].fixtures if all(name in one.fixtures for one in tasks)]
        compat.ask_for(metafunc, shared)
    several = len(tasks) > 1
    metafunc.parametrize(
        PLACE,
        [
            pytest.param(
                Place(of, index, test=test),
                id=f"{head.task.id}-{head.parameter}" if several else head.parameter,
                marks=excluding_marks(head),
            )
            for of in trials
            for index in range(len(of))
            for head in [of.head(index)]
        ],
        indirect=True,
    )


def _check_use(metafunc: pytest.Metafunc) -> None:
    """Refuse a mark without effect."""
    misuse = misuse_of(metafunc)
    if misuse is not None:
        raise UsageError(misuse)
    if PLACE in metafunc.fixturenames:
        return
    asked = next((name for name in FIXTURES if name in metafunc.fixturenames), None)
    if asked is not None:
        raise UsageError(
            f"the fixture {asked!r} is overridden by one that does not use it: no agent would run",
            advice=f"let it take {asked} as an argument",
        )
    for name in metafunc.fixturenames:
        meant = closest(name, FIXTURES)
        if meant is not None:
            raise UsageError(f"unknown fixture {name!r}; did you mean {meant!r}?")
    raise UsageError(
        f"the test is marked {MARK!r}, and asks for no trial",
        advice=f"one of its arguments: {', '.join(FIXTURES)}",
    )


def _tasks(bench: BenchSession, marker: pytest.Mark) -> Sequence[TaskSpec]:
    """The tasks that a mark names: all of a file, or the one behind ``::``."""
    given = dict(marker.kwargs)
    if len(marker.args) == 1 and "task" not in given:
        given["task"] = marker.args[0]
    elif marker.args:
        raise UsageError(f"the mark {MARK!r} takes one task", advice=_USE)
    other = next((name for name in given if name != "task"), None)
    if other is not None:
        raise UsageError(f"the mark {MARK!r}: {unknown(other, ['task'])}", advice=_USE)
    named = given.get("task")
    if not isinstance(named, str | os.PathLike) or not os.fspath(named):
        raise UsageError(f"the mark {MARK!r} needs the path of a task file", advice=_USE)
    name, _, identifier = str(named).partition("::")
    tasks = bench.task_file(_file(bench, name))
    if not identifier:
        return tasks
    chosen = [task for task in tasks if task.id == identifier]
    if not chosen:
        ids = [task.id for task in tasks]
        raise UsageError(unknown(identifier, ids, what="task"), where=name)
    return chosen


def _file(bench: BenchSession, name: str) -> Path:
    rootdir = bench.settings.rootdir
    path = Path(os.path.normpath(rootdir / name))
    if not path.is_file():
        raise UsageError(
            "no such task file",
            where=name,
            advice=f"a path from the root directory ({rootdir.name}/)",
        )
    return path


def _refuse(bench: BenchSession, metafunc: pytest.Metafunc, error: AgentbenchError) -> NoReturn:
    module = metafunc.definition.getparent(pytest.Module)
    # Its trials are in no plan: every suite may lack some of them.
    bench.broken.add(metafunc.definition.nodeid if module is None else module.nodeid)
    pytest.fail(f"{metafunc.definition.nodeid}: {error}", pytrace=False)
