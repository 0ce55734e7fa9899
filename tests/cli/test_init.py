"""``agentbench init`` writes a suite that works, and nothing over what is there."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import yaml
from cli.conftest import Agentbench

from requirements import require

WRITTEN = """\
tasks/fix-total/task.yaml: written
tasks/fix-total/workspace/shop.py: written
tasks/fix-total/oracle/test_total.py: written
tasks/greet.yaml: written
agentbench.yaml: written
.github/workflows/agentbench.yml: written
pytest.ini: written

Try: agentbench validate --run, then pytest tasks/
"""


def snapshot(root: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(root)): path.read_bytes()
        for path in sorted(root.rglob("*"))
        if path.is_file()
    }


def test_the_suite_works(agentbench: Agentbench, root: Path) -> None:
    """What it writes passes pytest with the reference variant, and fails with the noop."""
    assert agentbench("init").stdout == WRITTEN
    for options, status, words in (
        ((), 0, "2 passed"),
        (("--agentbench-experiment=nothing",), 1, "2 failed"),
    ):
        (root / "experiments").mkdir(exist_ok=True)
        (root / "experiments/nothing.yaml").write_text("variants: {noop: {agent: noop}}\n")
        done = subprocess.run(
            [sys.executable, "-m", "pytest", "tasks", "--agentbench-sandbox=local", *options],
            cwd=root,
            env={k: v for k, v in os.environ.items() if not k.startswith("PYTEST_")},
            capture_output=True,
            text=True,
            check=False,
            timeout=120,
        )
        assert done.returncode == status, done.stdout
        assert words in done.stdout


def test_it_proves_itself(agentbench: Agentbench) -> None:
    """Everything that can be proved of the sample is proved."""
    require("bubblewrap")
    agentbench("init")
    done = agentbench("validate", "--run")
    assert done.stdout == (
        "task       reference  noop   controls  same   hidden  limits\n"
        "fix-total  ok         ok     ok        ok     ok      ok\n"
        "greet      ok         ok     -         ok     ok      ok\n"
        "\n"
        "- controls: there are none\n"
        "\n"
        "2 tasks, 0 wrong files, 0 proofs failed\n"
    )
    assert done.returncode == 0


def test_again(agentbench: Agentbench, root: Path) -> None:
    """A second time changes no byte, and says so of each file."""
    agentbench("init")
    before = snapshot(root)
    done = agentbench("init")
    assert done.returncode == 0
    assert snapshot(root) == before
    assert "agentbench.yaml: there already, left alone" in done.stdout
    assert "tasks/: has files already, so no sample is added" in done.stdout


def test_in_a_project(agentbench: Agentbench, root: Path) -> None:
    """Own tasks, an own experiment file and an own configuration of pytest stay as they are."""
    (root / "tasks").mkdir()
    (root / "tasks/mine.yaml").write_text("prompt: x\n")
    (root / "agentbench.yml").write_text("variants: {a: {agent: noop}}\n")
    (root / "pyproject.toml").write_text("[tool.pytest.ini_options]\naddopts = ''\n")
    before = snapshot(root)
    done = agentbench("init")
    assert done.returncode == 0
    after = snapshot(root)
    assert {name: after[name] for name in before} == before
    assert sorted(set(after) - set(before)) == [".github/workflows/agentbench.yml"]
    hint = 'pyproject.toml: there already; agentbench_tasks = ["tasks"] belongs into it'
    assert hint in done.stdout


def test_a_pyproject_without_pytest(agentbench: Agentbench, root: Path) -> None:
    """A project file that does not speak of pytest does not configure it."""
    (root / "pyproject.toml").write_text("[project]\nname = 'x'\n")
    agentbench("init")
    assert (root / "pytest.ini").exists()


def test_elsewhere(agentbench: Agentbench, root: Path) -> None:
    """A directory that is named is made; a file that stands there is an error."""
    assert agentbench("init", "new/suite").returncode == 0
    assert (root / "new/suite/tasks/greet.yaml").is_file()
    (root / "file").write_text("")
    done = agentbench("init", "file")
    assert (done.returncode, done.stderr) == (2, "agentbench: file: is no directory\n")


def test_the_workflow_is_yaml(agentbench: Agentbench, root: Path) -> None:
    """The CI workflow parses, and gates on pytest's own exit status."""
    agentbench("init")
    workflow = yaml.safe_load((root / ".github/workflows/agentbench.yml").read_text())
    steps = workflow["jobs"]["tasks"]["steps"]
    assert any("pytest tasks/" in step.get("run", "") for step in steps)
    assert steps[-1]["with"]["path"].split() == ["agentbench.xml", ".agentbench/"]


def test_a_file_in_the_way(agentbench: Agentbench, root: Path) -> None:
    """A file where a directory belongs is told, and not called a sample that is there."""
    (root / "tasks").touch()
    done = agentbench("init")
    assert (done.returncode, done.stdout) == (2, "")
    assert "tasks/fix-total/task.yaml: cannot be written: " in done.stderr
    assert "is no directory" in done.stderr
