"""The ``agentbench`` command in a process of its own, in a project of the test's."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from projects import ADD, GREET

Agentbench = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """An empty directory."""
    (tmp_path / "project").mkdir()
    return tmp_path / "project"


@pytest.fixture
def suite(root: Path) -> Path:
    """A project with two tasks."""
    (root / "tasks").mkdir()
    (root / "pytest.ini").write_text("[pytest]\nagentbench_tasks = tasks\n")
    (root / "tasks" / "add.yaml").write_text(ADD)
    (root / "tasks" / "greet.yaml").write_text(GREET)
    return root


@pytest.fixture
def agentbench(root: Path) -> Agentbench:
    """Run the command below the project's root."""

    def run(
        *args: str, stdin: str = "", path: str | None = None
    ) -> subprocess.CompletedProcess[str]:
        environment = {k: v for k, v in os.environ.items() if not k.startswith("PYTEST_")}
        # Of the outer session's variables this one: plugins that are only here to be tested
        # with are not of the project.
        environment["PYTEST_ADDOPTS"] = os.environ["PYTEST_ADDOPTS"]
        if path is not None:
            environment["PATH"] = path
        return subprocess.run(
            [sys.executable, "-m", "pytest_agentbench.cli", *args],
            cwd=root,
            env=environment,
            input=stdin,
            capture_output=True,
            text=True,
            check=False,
            timeout=300,
        )

    return run
