"""Limits on memory, processors and processes, where this machine can give them."""

from __future__ import annotations

import asyncio
import os
import time
from pathlib import Path

import pytest

from pytest_agentbench.errors import SandboxError
from pytest_agentbench.model.contracts import (
    Capabilities,
    SandboxDriver,
    SandboxRequest,
    Template,
)
from pytest_agentbench.model.run import Completed
from pytest_agentbench.model.task import SandboxSpec
from pytest_agentbench.sandboxes.base import missing

HANG_S = 30.0


def run(
    driver: SandboxDriver,
    template: Template,
    spec: SandboxSpec,
    *argv: str,
    timeout_s: float = HANG_S,
) -> Completed:
    async def whole() -> Completed:
        sandbox = await driver.open(template, SandboxRequest(spec))
        try:
            words = [sandbox.python if word == "python" else word for word in argv]
            return await sandbox.run(words, timeout_s=timeout_s)
        finally:
            await sandbox.close()

    return asyncio.run(whole())


def needs(driver: SandboxDriver, capability: str) -> None:
    capabilities = driver.probe()
    if not getattr(capabilities, capability):
        pytest.skip(f"no {capability} on this machine: {capabilities.notes.get(capability)}")


def groups() -> list[str]:
    return [str(path) for path in Path("/sys/fs/cgroup").glob(f"**/agentbench-{os.getpid()}-*")]


def test_memory_is_limited(driver: SandboxDriver, template: Template) -> None:
    """A command over its memory is killed, and that is said; one below it is not."""
    needs(driver, "limits_memory")
    spec = SandboxSpec(memory_bytes=100 << 20)
    over = run(driver, template, spec, "python", "-I", "-c", "b'x' * (300 << 20)")
    assert over.out_of_memory
    assert over.exit_code != 0
    below = run(driver, template, spec, "python", "-I", "-c", "b'x' * (10 << 20)")
    assert (below.out_of_memory, below.exit_code) == (False, 0)
    assert groups() == []


FORKS = """
import os, time
made = 0
try:
    for _ in range(200):
        if os.fork() == 0:
            time.sleep(20)
            os._exit(0)
        made += 1
except OSError:
    pass
print(made)
"""


def test_processes_are_limited(driver: SandboxDriver, template: Template) -> None:
    """A command can start as many processes as it may, and not one more."""
    needs(driver, "limits_pids")
    done = run(driver, template, SandboxSpec(pids=20), "python", "-I", "-c", FORKS)
    assert (done.stdout.text(), done.exit_code, done.survivors) == ("19\n", 0, 0)
    assert groups() == []


BURN = """
import os, time
end = time.monotonic() + 1.5
while time.monotonic() < end:
    pass
print(sum(os.times()[:2]))
"""


def test_processor_time_is_limited(driver: SandboxDriver, template: Template) -> None:
    """A command gets the share of a processor that it may have."""
    needs(driver, "limits_cpus")
    done = run(driver, template, SandboxSpec(cpus=0.2), "python", "-I", "-c", BURN)
    assert float(done.stdout.text()) < 0.9


def test_a_command_that_cannot_be_executed_says_so_under_limits_too(
    driver: SandboxDriver, template: Template
) -> None:
    """The shell that enters the control group does not hide why a start failed."""
    needs(driver, "limits_pids")
    done = run(driver, template, SandboxSpec(pids=50), "no-such-command")
    assert "No such file" in (done.launch_error or "")
    assert done.exit_code is None


def test_a_fork_bomb_is_ended(driver: SandboxDriver, template: Template) -> None:
    """A limited command that forks for ever is dead when its time is over."""
    needs(driver, "limits_pids")
    began = time.monotonic()
    done = run(
        driver, template, SandboxSpec(pids=50), "sh", "-c", "f() { f | f & }; f; sleep 60",
        timeout_s=2.0,
    )  # fmt: skip
    assert time.monotonic() - began < HANG_S
    assert done.survivors == 0
    assert groups() == []


def test_local_refuses_to_promise_a_network_it_cannot_control(
    local: SandboxDriver, template: Template
) -> None:
    """``network: none`` in ``local`` is an error before anything runs."""
    with pytest.raises(SandboxError, match="network: none"):
        run(local, template, SandboxSpec(network="none"), "true")


def test_what_is_missing_is_told_with_its_reason() -> None:
    """Each thing that a task asks for and cannot have is named once."""
    spec = SandboxSpec(memory_bytes=1, cpus=1.0, pids=1, network="none")
    capabilities = Capabilities(limits_cpus=True, notes={"limits_pids": "no such controller"})
    assert missing(spec, capabilities) == [
        "memory (not possible here)",
        "pids (no such controller)",
        "network: none (not possible here)",
    ]
    assert missing(SandboxSpec(network="full"), capabilities) == []
