"""``agentbench shell``: a shell where the agent would work."""

from __future__ import annotations

import os
import pty
import subprocess
import sys
from pathlib import Path

import pytest
from cli.conftest import Agentbench

from requirements import require


@pytest.fixture(params=["local", "bubblewrap"])
def driver(request: pytest.FixtureRequest) -> str:
    """Each driver."""
    if request.param == "bubblewrap":
        require("bubblewrap")
    return str(request.param)


def test_sees_what_the_agent_sees(agentbench: Agentbench, suite: Path, driver: str) -> None:
    """The workspace, the prompt, the variant's environment; not the oracle, not ours."""
    (suite / "agentbench.yaml").write_text(
        "variants:\n"
        "  a: {agent: noop, env: {COLOUR: red}}\n"
        "  b: {agent: noop, env: {COLOUR: blue}}\n"
    )
    script = 'ls; cat "$AGENTBENCH_PROMPT_FILE"; echo "$COLOUR [$SECRET_OF_OURS]"; exit 7'
    os.environ["SECRET_OF_OURS"] = "tell nobody"
    try:
        done = agentbench(
            "shell", "add", "--variant=b", f"--sandbox={driver}", "--", "sh", "-c", script
        )
    finally:
        del os.environ["SECRET_OF_OURS"]
    assert done.stdout == ("calc.py\nadd() in calc.py must add its two arguments.\nblue []\n")
    assert done.stderr == "agentbench: nothing was changed\n"
    assert done.returncode == 7


def test_another_experiment(agentbench: Agentbench, suite: Path) -> None:
    """A variant of an experiment that is named."""
    (suite / "experiments").mkdir()
    (suite / "experiments/other.yaml").write_text(
        "variants: {theirs: {agent: noop, env: {COLOUR: green}}}\n"
    )
    asked = ("shell", "add", "--sandbox=local", "--experiment=other", "--variant=theirs")
    assert agentbench(*asked, "--", "sh", "-c", "echo $COLOUR").stdout == "green\n"


def test_what_is_left_is_told(agentbench: Agentbench, suite: Path, driver: str) -> None:
    """Commands on standard input work too; what they change is told, and thrown away."""
    before = sorted(suite.rglob("*"))
    done = agentbench(
        "shell", "tasks/greet.yaml", f"--sandbox={driver}", stdin="echo hi > new\nrm README.md\n"
    )
    assert done.returncode == 0
    assert done.stderr == "agentbench: D README.md\nA new\n"
    assert sorted(suite.rglob("*")) == before


def test_fixtures_that_are_missing_are_told(agentbench: Agentbench, suite: Path) -> None:
    """A shell has no pytest around it: what the task's fixtures would give is not there."""
    task = suite / "tasks/greet.yaml"
    task.write_text(task.read_text() + "fixtures: [database]\n")
    done = agentbench("shell", "greet", "--sandbox=local", "--", "true")
    assert done.stderr == (
        "agentbench: without the pytest fixtures database\nagentbench: nothing was changed\n"
    )


def test_terminal(suite: Path) -> None:
    """On a terminal the shell has one of its own, of the same size, and ends with its status."""
    require("bubblewrap")
    outer, inner = pty.openpty()
    subprocess.run(["stty", "rows", "33", "cols", "101"], stdin=inner, check=True)
    process = subprocess.Popen(
        [sys.executable, "-m", "pytest_agentbench.cli", "shell", "greet"],
        stdin=inner,
        stdout=inner,
        stderr=inner,
        cwd=suite,
    )
    os.close(inner)
    seen = b""
    sent = False
    while True:
        try:
            piece = os.read(outer, 4096)
        except OSError:
            break
        if not piece:
            break
        seen += piece
        if not sent and (b"$ " in seen or b"# " in seen) and b"exit ends it" in seen:
            os.write(outer, b"stty size; tty; exit 5\n")
            sent = True
    os.close(outer)
    assert process.wait(timeout=60) == 5
    text = seen.decode()
    assert "33 101" in text
    assert "/dev/pts/" in text


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (("nosuch",), "nosuch: there is no such task. Try: the path of a task file, its node id"),
        (("tasks",), "tasks: 2 tasks: add, greet. Try: name one of them"),
        (("add", "--variant=x"), "--variant: unknown variant 'x'; known: reference"),
    ],
)
def test_mistakes(agentbench: Agentbench, suite: Path, args: tuple[str, ...], message: str) -> None:
    """What is not there, or is ambiguous, is said."""
    assert suite.is_dir()
    done = agentbench("shell", *args)
    assert done.returncode == 2
    assert message in done.stderr


def test_no_such_program(agentbench: Agentbench, suite: Path, driver: str) -> None:
    """A command that is not there is said as shells say it."""
    assert suite.is_dir()
    done = agentbench("shell", "add", f"--sandbox={driver}", "--", "nosuchprogram")
    assert done.returncode == 127
    assert "nosuchprogram: not found" in done.stderr


def test_closed_streams(suite: Path) -> None:
    """Streams that whoever starts it has closed are empty ones."""
    command = f"{sys.executable} -m pytest_agentbench.cli shell add --sandbox=local -- cat"
    done = subprocess.run(
        ["sh", "-c", f"{command} <&- >&-"],
        cwd=suite,
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert (done.returncode, done.stdout, done.stderr) == (
        0,
        "",
        "agentbench: nothing was changed\n",
    )


def test_broken_task(agentbench: Agentbench, suite: Path) -> None:
    """A task that cannot be loaded shows its own problems."""
    (suite / "tasks/bad.yaml").write_text("promt: x\n")
    done = agentbench("shell", "tasks/bad.yaml")
    assert done.returncode == 2
    assert "unknown key 'promt'; did you mean 'prompt'?" in done.stderr
