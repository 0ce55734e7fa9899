"""Runs a task's set-up commands in a sandbox, and takes what they left into the template."""

from __future__ import annotations

import time
from collections.abc import Sequence
from functools import partial
from pathlib import Path

from pytest_agentbench.errors import SetupError
from pytest_agentbench.model.contracts import Sandbox, SandboxDriver, SandboxRequest, Template
from pytest_agentbench.model.run import Changes, Completed
from pytest_agentbench.model.task import Command, SandboxSpec
from pytest_agentbench.sandboxes.threads import in_thread
from pytest_agentbench.sandboxes.workspace import apply_changes, copy_template

SETUP_TIMEOUT_S = 600.0
"""For all commands of a task together."""
_LINES = 10
_LINE_LIMIT = 300
_TOLD = 5


async def run_setup(
    commands: Sequence[Command],
    template: Template,
    directory: Path,
    driver: SandboxDriver,
    walls: SandboxSpec,
    *,
    where: str,
) -> str | None:
    """Fill an empty directory with what the commands make of a template.

    Returns what the driver kept of what they did outside of the workspace.

    They run in one sandbox, one after the other, with a network and the limits of
    ``walls``. Raises ``SetupError`` for a command that fails, ``SandboxError`` for the walls.
    """
    request = SandboxRequest(walls, network=True, label=f"{where} setup", role="setup", keep=True)
    sandbox = await driver.open(template, request)
    try:
        await _run_all(commands, sandbox, where)
        changes = await sandbox.settle()
        _refuse_dropped(changes, where)
        await _carry(template, changes, directory)
        return changes.base
    finally:
        await sandbox.close()


async def _carry(template: Template, changes: Changes, directory: Path) -> None:
    await in_thread(partial(copy_template, template, directory))
    if not changes.empty:
        await in_thread(partial(apply_changes, changes, directory))


async def _run_all(commands: Sequence[Command], sandbox: Sandbox, where: str) -> None:
    deadline = time.monotonic() + SETUP_TIMEOUT_S
    for number, command in enumerate(commands, 1):
        argv = ("/bin/sh", "-c", command) if isinstance(command, str) else command
        done = await sandbox.run(argv, timeout_s=max(deadline - time.monotonic(), 0.0))
        why = _failure(done)
        if why is not None:
            shown = command if isinstance(command, str) else " ".join(command)
            count = f" {number} of {len(commands)}" if len(commands) > 1 else ""
            raise SetupError(
                f"the set-up command{count} {why}: {_one_line(shown)}{_last_lines(done)}",
                where=where,
            )


def _failure(done: Completed) -> str | None:
    """Why a command counts as failed; None when it ended well."""
    if done.launch_error is not None:
        return f"could not be started ({done.launch_error})"
    if done.timed_out:
        return f"ran out of time ({SETUP_TIMEOUT_S:g} s for all of them)"
    if done.out_of_memory:
        return "ran out of memory"
    if done.survivors:
        return f"left {done.survivors} processes that could not be killed"
    if done.exit_code is None:
        return f"was killed by signal {done.signal}"
    return f"ended with exit code {done.exit_code}" if done.exit_code else None


def _refuse_dropped(changes: Changes, where: str) -> None:
    if changes.dropped:
        told = "; ".join(f"{name}: {why}" for name, why in list(changes.dropped.items())[:_TOLD])
        raise SetupError(
            f"the set-up commands left what cannot be copied: {told}",
            where=where,
            advice="remove it at the end of the set-up",
        )


def _last_lines(done: Completed) -> str:
    text = f"{done.stdout.text().rstrip()}\n{done.stderr.text().rstrip()}".strip()
    lines = [f"\n    {_end(line)}" for line in text.splitlines()[-_LINES:]]
    return "".join(lines) or " (it printed nothing)"


def _one_line(text: str) -> str:
    first, _, rest = text.strip().partition("\n")
    return f"{first[:_LINE_LIMIT]} …" if rest or len(first) > _LINE_LIMIT else first


def _end(line: str) -> str:
    return line if len(line) <= _LINE_LIMIT else f"…{line[-_LINE_LIMIT:]}"
