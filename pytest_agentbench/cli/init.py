"""``agentbench init``: a suite to start from. Overwrites nothing."""

from __future__ import annotations

import os
from pathlib import Path

from pytest_agentbench.errors import UsageError
from pytest_agentbench.options import DEFAULT_TASK_DIRECTORIES

_TASK = """\
description: total() forgets the last row.
tags: [smoke]
prompt: |
  total() in shop.py leaves out the last row. Fix it.
workspace: workspace           # what the agent starts from, beside this file
oracles:                       # what the agent left is judged by these, which it never sees
  - pytest: oracle
    name: hidden-tests
solution: {files: {shop.py: "def total(rows):\\n    return sum(rows)\\n"}}
controls:                      # known wrong answers: `agentbench validate --run` tries them
  - {files: {shop.py: "def total(rows):\\n    return 6\\n"}, fails: hidden-tests}
limits: {time: 5m}
"""

_WORKSPACE = """\
def total(rows):
    return sum(rows[:-1])
"""

_TESTS = """\
import pytest
from shop import total


@pytest.mark.parametrize("rows", [[], [4], [1, 2, 3]])
def test_every_row_counts(rows):
    assert total(rows) == sum(rows)
"""

_SHORT_TASK = """\
# The shortest task: an empty workspace, a prompt, one oracle, and a solution.
prompt: Write the word hello into greeting.txt.
oracles:
  - run: grep -qx hello greeting.txt
solution: {files: {greeting.txt: "hello\\n"}}
"""

_EXPERIMENT = """\
# What `pytest tasks/` runs. Each variant is one column: it works on every task.
variants:
  # Applies each task's own solution. What it fails, the task has wrong.
  reference: {agent: reference}

  # Yours: any command that reads its prompt from standard input and works in the
  # directory that it is started in.
  # mine:
  #   agent: command
  #   options: {run: [my-agent, --yes]}
  #   env: {API_KEY: "${API_KEY}"}
  #   sandbox: {network: full}
"""

_WORKFLOW = """\
# Gates pull requests on the suite: red when a trial fails, and when one cannot be measured.
name: agentbench
on: [pull_request]
jobs:
  tasks:
    runs-on: ubuntu-latest
    steps:
      - uses: actions/checkout@v4
      - uses: actions/setup-python@v5
        with: {python-version: "3.12"}
      # Without it nothing isolates the agents from their oracles.
      - run: sudo apt-get update && sudo apt-get install -y bubblewrap
      - run: sudo sysctl -w kernel.apparmor_restrict_unprivileged_userns=0
      - run: pip install pytest-agentbench
      - run: agentbench validate
      - run: pytest tasks/ -n 4 --junitxml=agentbench.xml
      - uses: actions/upload-artifact@v4
        if: always()
        with:
          name: agentbench
          path: |
            agentbench.xml
            .agentbench/
          include-hidden-files: true
"""

_PYTEST_INI = """\
[pytest]
# Every YAML file below tasks/ is a task file; one that is wrong is an error.
agentbench_tasks = tasks
"""

_SUITE = {
    "tasks/fix-total/task.yaml": _TASK,
    "tasks/fix-total/workspace/shop.py": _WORKSPACE,
    "tasks/fix-total/oracle/test_total.py": _TESTS,
    "tasks/greet.yaml": _SHORT_TASK,
}
_SETTINGS = {
    "agentbench.yaml": _EXPERIMENT,
    ".github/workflows/agentbench.yml": _WORKFLOW,
}
_INI_FILES = {
    "pytest.ini": "",
    ".pytest.ini": "",
    "pytest.toml": "",
    ".pytest.toml": "",
    "pyproject.toml": "[tool.pytest",
    "tox.ini": "[pytest]",
    "setup.cfg": "[tool:pytest]",
}
"""Where pytest looks for its configuration, and the words that it must hold."""


def init(directory: Path) -> None:
    """Write a suite, an experiment file and a CI workflow. Raises ``UsageError``."""
    if directory.exists() and not directory.is_dir():
        raise UsageError("is no directory", where=str(directory))
    for name, text in _wanted(directory).items():
        _write(directory, name, text)
    print("\nTry: agentbench validate --run, then pytest tasks/")


def _wanted(directory: Path) -> dict[str, str]:
    """The files that belong there; no sample among somebody's own tasks."""
    tasks = directory / DEFAULT_TASK_DIRECTORIES[0]
    has_tasks = tasks.is_dir() and any(tasks.iterdir())
    wanted = dict(_SETTINGS) if has_tasks else _SUITE | _SETTINGS
    if (directory / "agentbench.yml").exists():
        del wanted["agentbench.yaml"]
    configured = [name for name, words in _INI_FILES.items() if _holds(directory / name, words)]
    if configured:
        value = '["tasks"]' if configured[0].endswith(".toml") else "tasks"
        print(f"{configured[0]}: there already; agentbench_tasks = {value} belongs into it")
    else:
        wanted["pytest.ini"] = _PYTEST_INI
    if has_tasks:
        print(f"{tasks.name}/: has files already, so no sample is added")
    return wanted


def _holds(path: Path, words: str) -> bool:
    try:
        return words in path.read_text("utf-8", "replace")
    except OSError:
        return os.path.lexists(path)


def _write(directory: Path, name: str, text: str) -> None:
    """Write one file, unless something is there."""
    path = directory / name
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except (FileExistsError, NotADirectoryError) as error:
        raise UsageError(
            f"cannot be written: {path.parent} is no directory", where=str(path)
        ) from error
    except OSError as error:
        raise UsageError(f"cannot be written: {error.strerror}", where=str(path)) from error
    try:
        with path.open("x", encoding="utf-8") as file:
            file.write(text)
    except FileExistsError:
        print(f"{name}: there already, left alone")
    except OSError as error:
        raise UsageError(f"cannot be written: {error.strerror}", where=str(path)) from error
    else:
        print(f"{name}: written")
