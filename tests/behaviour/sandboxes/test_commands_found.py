"""What a skip condition says of commands is what a sandbox finds."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

import pytest

from pytest_agentbench.model.contracts import SandboxDriver, SandboxRequest, Template
from pytest_agentbench.model.task import SandboxSpec
from pytest_agentbench.pytest_integration.machine import this_machine

ASK = 'for name in "$@"; do command -v "$name" >/dev/null && echo "$name"; done; true'


def found_inside(driver: SandboxDriver, template: Template, names: list[str]) -> set[str]:
    """The names that are commands inside of a sandbox."""

    async def ask() -> str:
        sandbox = await driver.open(template, SandboxRequest(SandboxSpec(driver=driver.name)))
        try:
            done = await sandbox.run(["/bin/sh", "-c", ASK, "sh", *names], timeout_s=60)
            return done.stdout.text()
        finally:
            await sandbox.close()

    return set(asyncio.run(ask()).split())


def test_conditions_agree_with_sandboxes(driver: SandboxDriver, template: Template) -> None:
    """For every command of the system's and of the user's, both say the same."""
    places = ("/usr/local/bin", "/usr/bin", "/usr/sbin", f"{sys.prefix}/bin")
    names = {"sh", "python", "python3", "/bin/sh", "/no/such/tool", "no-such-tool"}
    for place in filter(Path.is_dir, map(Path, places)):
        names.update(path.name for path in sorted(place.iterdir())[:300] if path.is_file())
    # What the shell has built in is a command to it even where there is no file.
    names -= {"[", "echo", "false", "kill", "printf", "pwd", "test", "true"}
    machine = this_machine(SandboxSpec(driver=driver.name))
    said = {name for name in names if machine.has_command(name)}
    assert {"sh", "python", "/bin/sh"} <= said
    assert "no-such-tool" not in said
    assert said == found_inside(driver, template, sorted(names))


@pytest.fixture
def tool(tmp_path: Path) -> Path:
    path = tmp_path / "own" / "tool"
    path.parent.mkdir()
    path.write_text("#!/bin/sh\n")
    path.chmod(0o755)
    return path


def test_links_to_the_users_own(tool: Path) -> None:
    """A link on PATH leads nowhere inside of walls that do not show what it links to."""
    path = {"PATH": f"{tool.parent}:/usr/bin"}
    assert not this_machine(SandboxSpec(env=path)).has_command("tool")
    assert this_machine(SandboxSpec(env=path, read_only=(tool.parent,))).has_command("tool")
    assert this_machine(SandboxSpec(driver="local", env=path)).has_command("tool")
    assert not this_machine(SandboxSpec(driver="local")).has_command("tool")


def test_a_path_of_the_tasks_own(tool: Path) -> None:
    """A task that sets PATH has nothing but what lies there, not even an interpreter."""
    machine = this_machine(SandboxSpec(driver="local", env={"PATH": str(tool.parent)}))
    found = [name for name in ("tool", "sh", "python") if machine.has_command(name)]
    assert found == ["tool"]
    unknown = this_machine(SandboxSpec(driver="local", env={"PATH": "${SOME_PATH}"}))
    assert unknown.has_command("sh")
    assert unknown.has_command("python")


def test_the_directory_of_the_tasks_interpreter(tool: Path) -> None:
    """What lies beside ``sandbox.python`` is found."""
    python = tool.parent / "python"
    python.symlink_to(sys.executable)
    assert this_machine(SandboxSpec(driver="local", python=python)).has_command("tool")
    assert not this_machine(SandboxSpec(driver="local")).has_command("tool")
