"""A project with two tasks for the tests in this folder."""

from __future__ import annotations

import pytest

from projects import ADD, GREET, Project

pytest.register_assert_rewrite("twins")
import twins  # noqa: E402 - what is compared there is told as in a test


@pytest.fixture
def project(pytester: pytest.Pytester) -> Project:
    """Two tasks, and no experiment file: the reference variant runs."""
    made = Project(pytester)
    made.write("pytest.ini", "[pytest]\nagentbench_sandbox = local\n")
    made.write("tasks/add.yaml", ADD)
    made.write("tasks/greet.yaml", GREET)
    return made


@pytest.fixture(params=[(), ("-n", "2")], ids=["one-process", "xdist"])
def workers(request: pytest.FixtureRequest) -> tuple[str, ...]:
    """Arguments for one process, and for two xdist workers."""
    arguments: tuple[str, ...] = request.param
    return arguments


@pytest.fixture
def pair(pytester: pytest.Pytester) -> twins.Pair:
    """A project of tasks beside the same as Python tests, freshly written."""
    for kind in twins.KINDS:
        (pytester.path / kind).mkdir()
        twins.write(pytester.path / kind, kind)
    return twins.Pair(pytester.path)
