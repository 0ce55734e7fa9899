"""What tasks own is no test."""

from __future__ import annotations

import pytest

from projects import Project

TASK = """\
prompt: Make it pass.
workspace: workspace
oracles:
  - pytest: oracle
solution: {files: {answer.py: "ANSWER = 42\\n"}}
"""

BOOM = "raise RuntimeError('a conftest of a task was loaded')\n"
HIDDEN = "import answer\n\ndef test_hidden():\n    assert answer.ANSWER == 42\n"


@pytest.fixture
def owning(pytester: pytest.Pytester) -> Project:
    """A task directory and a task file, each with hidden tests and conftest files beside."""
    project = Project(pytester)
    project.write("pytest.ini", "[pytest]\nagentbench_sandbox = local\n")
    project.write("test_ordinary.py", "def test_ordinary():\n    pass\n")
    project.write("tasks/dir/task.yaml", TASK)
    flat = TASK.replace(" workspace\n", " flat-w\n").replace(" oracle\n", " flat-o\n")
    project.write("tasks/flat.yaml", flat)
    for workspace, oracle in (("dir/workspace", "dir/oracle"), ("flat-w", "flat-o")):
        project.write(f"tasks/{workspace}/answer.py", "ANSWER = 0\n")
        project.write(f"tasks/{workspace}/conftest.py", BOOM)
        project.write(f"tasks/{workspace}/test_visible.py", "def test_visible():\n    assert 0\n")
        project.write(f"tasks/{oracle}/test_hidden.py", HIDDEN)
    project.write("tasks/dir/tests/conftest.py", BOOM)
    project.write("tasks/dir/conftest.py", "LOADED = True\n")
    return project


@pytest.mark.parametrize(
    ("arguments", "passed"),
    [
        ((), 3),
        (("tasks",), 2),
        (("tasks/dir",), 1),
        (("tasks/dir/task.yaml",), 1),
        (("--doctest-modules",), 3),
        (("--doctest-modules", "tasks/dir"), 1),
        (("-n", "2"), 3),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else None,
)
def test_owned_files_are_not_collected(
    owning: Project, arguments: tuple[str, ...], passed: int
) -> None:
    """Neither hidden nor visible tests are collected, and no conftest of theirs is loaded."""
    result = owning.run(*arguments)
    result.assert_outcomes(passed=passed)
    assert result.ret == 0


def test_a_task_below_another_ones_directory_is_an_error(owning: Project) -> None:
    """A task that would vanish inside another one's directory is told."""
    owning.write("tasks/dir/more/task.yaml", TASK)
    result = owning.run("tasks")
    assert result.ret != 0
    result.stdout.fnmatch_lines(
        ["*tasks/dir/more/task.yaml: lies below the directory of tasks/dir/task.yaml*"]
    )


def test_foreign_yaml_below_tasks_is_left_alone(pytester: pytest.Pytester) -> None:
    """A YAML file below tasks/ with none of our keys is not ours, unless the project says so."""
    project = Project(pytester)
    project.write("tasks/main.yml", "- hosts: all\n  tasks: []\n")
    project.write("test_ordinary.py", "def test_ordinary():\n    pass\n")
    project.run().assert_outcomes(passed=1)
    assert not (pytester.path / ".agentbench").exists()
    project.write("pytest.ini", "[pytest]\nagentbench_tasks = tasks\n")
    project.run("--continue-on-collection-errors").assert_outcomes(passed=1, errors=1)
