"""A project with two tasks for the tests in this folder."""

from __future__ import annotations

import pytest

from projects import ADD, GREET, Project


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
