"""How one command runs and ends, the same in every sandbox."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import threading
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TypeVar

import pytest

from pytest_agentbench.errors import SandboxClosed
from pytest_agentbench.model.contracts import Sandbox, SandboxDriver, SandboxRequest, Template
from pytest_agentbench.model.run import Completed
from pytest_agentbench.model.task import SandboxSpec
from pytest_agentbench.sandboxes.sweep import Sweep
from pytest_agentbench.testing.host import alive

T = TypeVar("T")
HANG_S = 20.0
PLAIN = SandboxSpec()


def inside(
    driver: SandboxDriver,
    template: Template,
    body: Callable[[Sandbox], Awaitable[T]],
    spec: SandboxSpec = PLAIN,
) -> T:
    """Open a sandbox, do ``body`` in it, and close it."""

    async def whole() -> T:
        sandbox = await driver.open(template, SandboxRequest(spec))
        try:
            return await body(sandbox)
        finally:
            await sandbox.close()

    return asyncio.run(whole())


def run(
    driver: SandboxDriver,
    template: Template,
    *argv: str,
    timeout_s: float = HANG_S,
    stdin: bytes = b"",
    env: dict[str, str] | None = None,
    cwd: str | None = None,
    output_limit: int = 1_000_000,
) -> Completed:
    """Run one command in a sandbox of its own."""

    async def body(sandbox: Sandbox) -> Completed:
        return await sandbox.run(
            argv, timeout_s=timeout_s, stdin=stdin, env=env, cwd=cwd, output_limit=output_limit
        )

    return inside(driver, template, body)


@pytest.mark.parametrize(
    ("argv", "told"),
    [
        (("no-such-command",), "No such file or directory"),
        (("./README.md",), "Permission denied"),
        (("/workspace/none/such",), "No such file or directory"),
        (("true", "x" * 3_000_000), "Argument list too long"),
    ],
)
def test_what_cannot_be_executed_is_a_launch_error(
    driver: SandboxDriver, template: Template, argv: tuple[str, ...], told: str
) -> None:
    """A command that cannot be executed says why, and has no exit code."""
    done = run(driver, template, *argv)
    assert done.exit_code is None
    assert told in (done.launch_error or "")


def test_a_working_directory_that_is_gone_is_a_launch_error(
    driver: SandboxDriver, template: Template
) -> None:
    """A missing working directory is named, and is no fault of the sandbox."""
    done = run(driver, template, "true", cwd="no/such/place")
    assert "no/such/place" in (done.launch_error or "")


def test_the_environment_is_an_allow_list(
    driver: SandboxDriver, template: Template, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing of the harness's environment is inherited; what is asked for is there."""
    monkeypatch.setenv("AGENTBENCH_TEST_SECRET", "s3cret")

    async def body(sandbox: Sandbox) -> str:
        done = await sandbox.run(["env"], timeout_s=HANG_S, env={"MINE": "1", "LANG": "C"})
        return done.stdout.text()

    text = inside(driver, template, body, SandboxSpec(env={"FROM_TASK": "2"}))
    names = {line.partition("=")[0] for line in text.splitlines()}
    assert names - {"PWD"} == {
        "FROM_TASK", "HOME", "LANG", "MINE", "PATH", "PYTHONDONTWRITEBYTECODE", "PYTHONPATH",
        "TMPDIR",
    }  # fmt: skip
    assert "LANG=C\n" in text


TESTS = "mkdir tests; echo 'def test_it(): assert 1 + 1 == 2' > tests/test_it.py; "


@pytest.mark.parametrize("values", [{}, {"PYTHONPATH": "src"}, {"PYTHONPATH": ""}])
def test_pytest_can_be_run_as_a_module(
    driver: SandboxDriver, template: Template, values: dict[str, str]
) -> None:
    """``python -m pytest`` works inside, also in a task with import paths of its own."""

    async def body(sandbox: Sandbox) -> str:
        script = f"{TESTS} python -m pytest -q -p no:cacheprovider tests && echo $PYTHONPATH"
        done = await sandbox.run(["sh", "-c", script], timeout_s=HANG_S)
        own = [value for value in values.values() if value]
        assert done.stdout.text().endswith(f"\n{':'.join([*own, sandbox.pytest_path])}\n")
        return done.stdout.text()

    assert "1 passed" in inside(driver, template, body, SandboxSpec(env=values))


def test_an_isolated_interpreter_does_not_see_pytest(
    driver: SandboxDriver, template: Template
) -> None:
    """With ``-I`` an interpreter has its standard library and nothing else."""

    async def body(sandbox: Sandbox) -> Completed:
        code = "import sys; print([path for path in sys.path if path == sys.argv[1]])"
        argv = [sandbox.python, "-I", "-c", code, sandbox.pytest_path]
        return await sandbox.run(argv, timeout_s=HANG_S)

    assert inside(driver, template, body).stdout.text() == "[]\n"


def test_input_cannot_be_added_to(driver: SandboxDriver, template: Template) -> None:
    """A command may cut off what it has read, and cannot write more to it."""
    done = run(driver, template, "sh", "-c", "echo more >> /proc/self/fd/0; cat", stdin=b"prompt")
    assert done.stdout.text() == "prompt"


def test_a_flood_keeps_both_its_ends(driver: SandboxDriver, template: Template) -> None:
    """Of 200 MB, the first and last half of the limit are kept, and the total is counted."""
    script = "echo first; yes | head -c 200000000; echo last"
    done = run(driver, template, "sh", "-c", script, output_limit=1000, timeout_s=60)
    assert done.exit_code == 0
    assert done.stdout.total == 200_000_000 + 6 + 5
    assert (len(done.stdout.head), len(done.stdout.tail)) == (500, 500)
    assert done.stdout.head.startswith(b"first\n")
    assert done.stdout.tail.endswith(b"\nlast\n")


def test_output_within_the_limit_is_whole(driver: SandboxDriver, template: Template) -> None:
    """Output of exactly the limit is kept whole, in one piece."""
    done = run(driver, template, "sh", "-c", "printf 0123456789", output_limit=10)
    assert (done.stdout.head, done.stdout.truncated) == (b"0123456789", False)


DAEMON = """
import os, sys, time
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        os.chdir("/")
        line = [sys.executable, "-c", "import time; time.sleep(300)", sys.argv[1]]
        os.execve(sys.executable, line, {})
    os._exit(0)
os.wait()
print("left", flush=True)
if sys.argv[2] == "stay":
    time.sleep(300)
"""


DISGUISED = """
import os, resource, sys, time
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        os.chdir("/")
        lock = getattr(resource, "RLIMIT_LOCKS", 10)
        hard = resource.getrlimit(lock)[1]
        resource.setrlimit(lock, (hard, hard))
        os.closerange(0, 256)
        line = [sys.executable, "-c", "import time; time.sleep(300)", sys.argv[1]]
        os.execve(sys.executable, line, {"HOME": sys.argv[2], "PATH": sys.argv[3]})
    os._exit(0)
os.wait()
time.sleep(0.3)
print("left", flush=True)
"""


def test_a_daemon_in_the_harness_clothes_dies(local: SandboxDriver, template: Template) -> None:
    """One that wiped off every mark and took the harness's environment is dead too.

    A server that was there before the command is not.
    """
    marker = f"disguised-{os.getpid()}"
    server = start_server()

    async def body(sandbox: Sandbox) -> tuple[Completed, list[int]]:
        clothes = [os.environ.get("HOME", ""), os.environ.get("PATH", "")]
        argv = [sandbox.python, "-I", "-c", DISGUISED, marker, *clothes]
        return await sandbox.run(argv, timeout_s=HANG_S), alive(marker)

    try:
        done, left = inside(local, template, body)
        assert (done.stdout.text(), done.survivors, left) == ("left\n", 0, [])
        assert server.poll() is None
    finally:
        server.kill()
        server.wait()
        for pid in alive(marker):
            os.kill(pid, signal.SIGKILL)


@pytest.mark.parametrize("ends", ["leave", "stay"])
def test_a_daemon_dies_with_its_command(
    driver: SandboxDriver, template: Template, ends: str
) -> None:
    """A detached process with an empty environment is dead when ``run`` returns."""
    marker = f"daemon-{os.getpid()}-{driver.name}-{ends}"

    async def body(sandbox: Sandbox) -> tuple[Completed, list[int]]:
        argv = [sandbox.python, "-I", "-c", DAEMON, marker, ends]
        done = await sandbox.run(argv, timeout_s=3.0)
        return done, alive(marker)

    began = time.monotonic()
    done, left = inside(driver, template, body)
    assert time.monotonic() - began < HANG_S
    assert done.timed_out == (ends == "stay")
    assert (done.stdout.text(), done.survivors, left) == ("left\n", 0, [])


def test_a_daemon_that_starts_at_once_dies_with_its_command(
    local: SandboxDriver, template: Template, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On a busy machine a command can have its daemon before the harness has looked at it."""
    marker = f"at-once-{os.getpid()}"
    started = Sweep.started

    def late(self: Sweep, pid: int) -> None:
        time.sleep(1.0)  # the command is over, and its daemon an orphan
        started(self, pid)

    async def whole() -> Completed:
        sandbox = await local.open(template, SandboxRequest(SandboxSpec()))
        other = await local.open(template, SandboxRequest(SandboxSpec()))
        beside = asyncio.create_task(other.run(["sleep", "60"], timeout_s=60))
        await asyncio.sleep(0.1)
        monkeypatch.setattr(Sweep, "started", late)
        daemon = [sandbox.python, "-I", "-c", DAEMON, marker, "leave"]
        done = await sandbox.run(daemon, timeout_s=HANG_S)
        beside.cancel()
        await asyncio.gather(beside, return_exceptions=True)
        await sandbox.close()
        await other.close()
        return done

    done = asyncio.run(asyncio.wait_for(whole(), 3 * HANG_S))
    assert (done.stdout.text(), done.survivors, alive(marker)) == ("left\n", 0, [])


def test_a_daemon_dies_while_other_commands_run(driver: SandboxDriver, template: Template) -> None:
    """With several commands at once, each takes its own daemon along, and no other's."""
    marker = f"overlap-{os.getpid()}-{driver.name}"

    async def whole() -> tuple[list[int], list[int]]:
        first = await driver.open(template, SandboxRequest(SandboxSpec()))
        second = await driver.open(template, SandboxRequest(SandboxSpec()))
        stays = [second.python, "-I", "-c", DAEMON, f"{marker}-stays", "stay"]
        other = asyncio.create_task(second.run(stays, timeout_s=60))
        for _ in range(200):
            await asyncio.sleep(0.05)
            if len(alive(f"{marker}-stays")) >= 2:
                break
        leaves = [first.python, "-I", "-c", DAEMON, f"{marker}-leaves", "leave"]
        done = await first.run(leaves, timeout_s=HANG_S)
        assert done.stdout.text() == "left\n"
        seen = alive(f"{marker}-leaves"), alive(f"{marker}-stays")
        other.cancel()
        await asyncio.gather(other, return_exceptions=True)
        await first.close()
        await second.close()
        return seen

    left, stayed = asyncio.run(asyncio.wait_for(whole(), 3 * HANG_S))
    assert left == []
    assert len(stayed) >= 2
    assert alive(marker) == []


def test_a_cancelled_run_kills_its_command(driver: SandboxDriver, template: Template) -> None:
    """Cancellation kills everything before it goes on."""
    marker = f"cancelled-{os.getpid()}-{driver.name}"

    async def body(sandbox: Sandbox) -> list[int]:
        argv = [sandbox.python, "-I", "-c", DAEMON, marker, "stay"]
        task = asyncio.create_task(sandbox.run(argv, timeout_s=60))
        for _ in range(200):
            await asyncio.sleep(0.05)
            if len(alive(marker)) >= 2:
                break
        assert alive(marker)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        return alive(marker)

    assert inside(driver, template, body) == []


def descriptors() -> int:
    return len(list(Path("/proc/self/fd").iterdir()))


def test_many_sandboxes_share_one_loop_without_threads(
    driver: SandboxDriver, template: Template
) -> None:
    """Twenty commands at once need no thread, keep apart, and leave no descriptor open."""

    async def one(number: int) -> tuple[str, int]:
        sandbox = await driver.open(template, SandboxRequest(SandboxSpec()))
        done = await sandbox.run(
            ["sh", "-c", f"echo {number} > own; sleep 0.5; cat own"], timeout_s=HANG_S
        )
        threads = threading.active_count()
        await sandbox.close()
        return done.stdout.text().strip(), threads

    async def whole() -> tuple[list[tuple[str, int]], int, int]:
        await one(0)
        before = descriptors()
        rows = await asyncio.gather(*(one(number) for number in range(20)))
        return rows, before, descriptors()

    threads_before = threading.active_count()
    rows, fds_before, fds_after = asyncio.run(whole())
    assert [text for text, _ in rows] == [str(number) for number in range(20)]
    assert max(threads for _, threads in rows) == threads_before
    assert fds_after == fds_before


def test_closing_ends_a_running_command(driver: SandboxDriver, template: Template) -> None:
    """``close`` kills what still runs; the waiting ``run`` says that its sandbox is gone."""

    async def whole() -> None:
        sandbox = await driver.open(template, SandboxRequest(SandboxSpec()))
        task = asyncio.create_task(sandbox.run(["sleep", "60"], timeout_s=60))
        await asyncio.sleep(0.3)
        await sandbox.close()
        with pytest.raises(SandboxClosed):
            await task

    began = time.monotonic()
    asyncio.run(whole())
    assert time.monotonic() - began < HANG_S


def test_no_descriptor_of_the_harness_is_inherited(
    driver: SandboxDriver, template: Template, tmp_path: Path
) -> None:
    """A command has its three standard streams and nothing else, whatever the harness holds."""
    secret = tmp_path / "secret"
    secret.write_text("x")
    with secret.open() as held:
        os.set_inheritable(held.fileno(), True)  # noqa: FBT003 - its only form
        # Listed by the shell itself: ls would hold a descriptor of the directory.
        done = run(driver, template, "sh", "-c", "echo /proc/$$/fd/*")
    names = {Path(word).name for word in done.stdout.text().split()}
    assert {name for name in names if int(name) > 2} <= {"3"}
    assert "0" in names


def test_zombies_of_a_command_are_reaped(driver: SandboxDriver, template: Template) -> None:
    """Orphans that the harness adopted are waited for."""

    def zombies() -> list[str]:
        found = []
        for each in Path("/proc").iterdir():
            if each.name.isdigit():
                try:
                    fields = (each / "stat").read_text().rpartition(")")[2].split()
                except OSError:
                    continue
                if fields[0] == "Z" and int(fields[1]) == os.getpid():
                    found.append(each.name)
        return found

    driver.probe()
    before = zombies()
    run(driver, template, "sh", "-c", "(setsid sleep 100 &) ; (setsid sleep 0.05 &) ; sleep 0.2")
    assert zombies() == before


def start_server() -> subprocess.Popen[bytes]:
    return subprocess.Popen(["sleep", "60"], start_new_session=True)


def test_a_stranger_in_the_harness_is_left_alone(local: SandboxDriver, template: Template) -> None:
    """A server that a fixture starts while a command runs is not taken for its orphan."""
    servers = []

    async def body(sandbox: Sandbox) -> Completed:
        task = asyncio.create_task(sandbox.run(["sleep", "0.5"], timeout_s=HANG_S))
        await asyncio.sleep(0.2)
        servers.append(start_server())
        return await task

    done = inside(local, template, body)
    server = servers[0]
    try:
        assert (done.exit_code, server.poll()) == (0, None)
    finally:
        server.kill()
        server.wait()
