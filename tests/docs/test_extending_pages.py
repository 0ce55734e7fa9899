"""What the pages about hooks and extensions show works as it stands."""

from __future__ import annotations

import inspect
import re
import subprocess
import sys
from pathlib import Path

import pytest

from pytest_agentbench.agents.base import AgentBase
from pytest_agentbench.pytest_integration import hookspecs
from pytest_agentbench.testing import OracleSuite

ROOT = Path(__file__).parent.parent.parent
EXTEND = ROOT / "docs" / "how-to" / "extend.md"
HOOKS = ROOT / "docs" / "reference" / "hooks.md"


def python_blocks(page: Path) -> list[tuple[str, str]]:
    """Each Python block: the file that its first line names, and its text."""
    blocks = re.findall(
        r"^```python\n# (\S+)\n(.*?)^```$", page.read_text(), re.MULTILINE | re.DOTALL
    )
    assert len(blocks) == page.read_text().count("```python"), "each block names its file"
    return blocks


def run_pytest(root: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *arguments]
    return subprocess.run(command, cwd=root, capture_output=True, text=True, check=False)


TASKS = {
    "tasks/greet.yaml": (
        "prompt: Greet.\nsandbox: {driver: quiet}\noracles: [{lines: greeting.txt}]\n"
    ),
    "tasks/twice.yaml": (
        "prompt: Greet twice.\nsandbox: {driver: components:QuietDriver}\n"
        "oracles: [{lines: greeting.txt, at_least: 2}]\n"
    ),
    "pytest.ini": "[pytest]\npythonpath = .\n",
}


def project(root: Path, blocks: list[tuple[str, str]], files: dict[str, str]) -> None:
    for name, text in [*files.items(), *blocks]:
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        before = path.read_text() if path.exists() else ""
        path.write_text(f"{before}\n\n{text}" if before else text)


@pytest.mark.parametrize("agent", ["greeter", "components:Greeter"])
def test_the_shown_components_work(tmp_path: Path, agent: str) -> None:
    """The agent greets in the shown sandbox, and the shown oracle counts its lines."""
    project(tmp_path, python_blocks(EXTEND), TASKS)
    done = run_pytest(tmp_path, "tasks", f"--agentbench-agent={agent}")
    assert "1 failed, 1 passed" in done.stdout, done.stdout + done.stderr


def test_the_shown_tests_pass(tmp_path: Path) -> None:
    """The suites find nothing wrong with what the page shows."""
    project(tmp_path, python_blocks(EXTEND), TASKS)
    done = run_pytest(tmp_path, "test_components.py")
    assert done.returncode == 0, done.stdout


def test_the_shown_hooks_work(tmp_path: Path) -> None:
    """Variants, drivers and records, as the page shows them."""
    files = {
        "tasks/a.yaml": "prompt: A.\nsandbox: {driver: local}\noracles: [{run: 'true'}]\n",
        "tasks/b.yaml": "prompt: B.\nsandbox: {driver: local}\noracles: [{run: 'false'}]\n",
    }
    project(tmp_path, python_blocks(HOOKS), files)
    variants = run_pytest(tmp_path, "tasks", "--co")
    assert "tasks/a.yaml::a[mine-high-r1]" in variants.stdout
    run_pytest(tmp_path, "tasks", "--agentbench-agent=noop")
    assert sorted((tmp_path / "outcomes.txt").read_text().split("\n"))[1:] == [
        "a[noop-r1] passed",
        "b[noop-r1] failed",
    ]


def test_every_hook_is_documented() -> None:
    """The table has each hook with its arguments, and no other."""
    listed = re.findall(
        r"^\| `(pytest_agentbench_\w+\([\w, ]*\))`", HOOKS.read_text(), re.MULTILINE
    )
    known = [
        f"{name}({', '.join(inspect.signature(hook).parameters)})"
        for name, hook in vars(hookspecs).items()
        if name.startswith("pytest_agentbench_")
    ]
    assert sorted(listed) == sorted(known)


def test_what_an_agent_may_say_is_documented() -> None:
    """The table of what an agent may leave out names all of it."""
    listed = re.findall(r"^\| `(\w+)` \| .* \| .* \|$", EXTEND.read_text(), re.MULTILINE)
    assert set(AgentBase.DEFAULTS) <= set(listed)


def test_what_a_suite_wants_is_documented() -> None:
    """Each setting of the suite of oracles is named."""
    text = EXTEND.read_text()
    wanted = [name for name in OracleSuite.__annotations__ if f"`{name}`" not in text]
    assert wanted == []
