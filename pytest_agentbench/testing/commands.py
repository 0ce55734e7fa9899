"""How a command runs and ends, the same in every sandbox."""

from __future__ import annotations

import asyncio
import secrets
import time

import pytest

from pytest_agentbench.model.contracts import Sandbox, SandboxDriver, Template
from pytest_agentbench.model.task import SandboxSpec
from pytest_agentbench.testing.host import PATIENCE_S, alive, opened
from pytest_agentbench.testing.room import DriverRoom, run, sh

_DAEMON = """
import os, sys, time
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        for fd in range(3):
            os.close(fd)
        time.sleep(120)
    os._exit(0)
os.wait()
print("started")
"""


_FIND = """
for p in /proc/[0-9]*; do
    line=$(tr "\\0" " " < $p/cmdline) 2>/dev/null
    case "$line" in *"$A$B"*) echo "$line";; esac
done
"""
"""Prints each process that has both halves of a name, so that it does not find itself."""


class CommandChecks(DriverRoom):
    """A sandbox's commands."""

    def test_probe_says_the_same_again(self, driver: SandboxDriver) -> None:
        """What works on this machine is found out once, then remembered."""
        assert driver.probe() == driver.probe()
        assert driver.name

    def test_exit_code_and_both_streams_come_back(
        self, driver: SandboxDriver, template: Template
    ) -> None:
        """A command's exit code, output and error output are what it gave."""
        done = run(driver, template, "sh", "-c", "echo out; echo err >&2; exit 3")
        assert (done.exit_code, done.stdout.text(), done.stderr.text()) == (3, "out\n", "err\n")
        assert (done.timed_out, done.launch_error, done.survivors) == (False, None, 0)

    def test_a_command_that_kills_itself_does_not_count_as_success(
        self, driver: SandboxDriver, template: Template
    ) -> None:
        """Death by a signal is told by the signal, or by the exit code that stands for it."""
        done = run(driver, template, "sh", "-c", "kill -TERM $$")
        assert (done.exit_code, done.signal) in {(None, 15), (143, None)}

    @pytest.mark.parametrize(
        ("argv", "told"),
        [
            (("no-such-command",), "No such file or directory"),
            (("./README.md",), "Permission denied"),
        ],
    )
    def test_what_cannot_be_executed_is_a_launch_error(
        self, driver: SandboxDriver, template: Template, argv: tuple[str, ...], told: str
    ) -> None:
        """A command that cannot be executed says why, and has no exit code."""
        done = run(driver, template, *argv)
        assert done.exit_code is None
        assert told in (done.launch_error or "")

    def test_commands_start_in_the_workspace(
        self, driver: SandboxDriver, template: Template
    ) -> None:
        """The working directory is the workspace, or a directory below it when asked for."""

        async def body(sandbox: Sandbox) -> tuple[str, str, str]:
            here = await sandbox.run(["pwd"], timeout_s=PATIENCE_S)
            src = f"{sandbox.workspace}/src"
            below = await sandbox.run(["pwd"], timeout_s=PATIENCE_S, cwd=src)
            return sandbox.workspace, here.stdout.text().strip(), below.stdout.text().strip()

        workspace, here, below = opened(driver, template, body)
        assert (here, below) == (workspace, f"{workspace}/src")

    def test_executable_bits_and_scripts_of_the_template_work(
        self, driver: SandboxDriver, template: Template
    ) -> None:
        """A script of the template can be run by its path."""
        assert run(driver, template, "src/run.sh").stdout.text() == "ran\n"

    def test_nothing_of_the_harness_environment_is_inherited(
        self, driver: SandboxDriver, template: Template, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """What is asked for is in the environment, and nothing of the harness's own."""
        monkeypatch.setenv("AGENTBENCH_TEST_SECRET", "s3cret")

        async def body(sandbox: Sandbox) -> str:
            done = await sandbox.run(["env"], timeout_s=PATIENCE_S, env={"MINE": "1", "LANG": "C"})
            return done.stdout.text()

        text = opened(driver, template, body, SandboxSpec(env={"FROM_TASK": "2"}))
        lines = text.splitlines()
        assert "s3cret" not in text
        assert {"MINE=1", "FROM_TASK=2", "LANG=C"} <= set(lines)
        names = {line.partition("=")[0] for line in lines}
        assert {"PATH", "HOME", "TMPDIR"} <= names

    def test_home_and_temporary_directory_are_private_and_writable(
        self, driver: SandboxDriver, template: Template
    ) -> None:
        """HOME and TMPDIR are empty and writable, and kept from one command to the next."""

        async def body(sandbox: Sandbox) -> tuple[str, str]:
            script = (
                'ls -A "$HOME" "$TMPDIR" | grep -v : ; echo x > "$HOME/a"; echo y > "$TMPDIR/b"'
            )
            first = await sh(sandbox, script)
            second = await sh(sandbox, 'cat "$HOME/a" "$TMPDIR/b"')
            return first.stdout.text().strip(), second.stdout.text()

        assert opened(driver, template, body) == ("", "x\ny\n")

    def test_pytest_can_be_run_by_the_interpreter(
        self, driver: SandboxDriver, template: Template
    ) -> None:
        """The sandbox's interpreter finds pytest where the sandbox says that it is."""

        async def body(sandbox: Sandbox) -> str:
            code = f"import sys; sys.path.insert(0, {sandbox.pytest_path!r}); import pytest"
            argv = [sandbox.python, "-I", "-c", f"{code}; print(pytest.__name__)"]
            return (await sandbox.run(argv, timeout_s=PATIENCE_S)).stdout.text()

        assert opened(driver, template, body) == "pytest\n"

    def test_input_of_megabytes_arrives_whole(
        self, driver: SandboxDriver, template: Template
    ) -> None:
        """5 MB of input are read by the command to the last byte."""
        done = run(driver, template, "wc", "-c", stdin=b"x" * 5_000_000)
        assert done.stdout.text().strip() == "5000000"

    def test_input_that_nobody_reads_harms_nothing(
        self, driver: SandboxDriver, template: Template
    ) -> None:
        """A command that never reads its 5 MB of input ends as any other."""
        assert run(driver, template, "true", stdin=b"x" * 5_000_000).exit_code == 0

    def test_any_bytes_come_back(self, driver: SandboxDriver, template: Template) -> None:
        """Output that is no UTF-8 arrives byte by byte."""
        done = run(driver, template, "printf", r"\377\000\200")
        assert done.stdout.head == b"\xff\x00\x80"

    def test_a_flood_keeps_both_its_ends(self, driver: SandboxDriver, template: Template) -> None:
        """The first and last half of the limit are kept, and the total is counted."""
        script = "echo first; yes | head -c 5000000; echo last"
        limit = 1000
        done = run(driver, template, "sh", "-c", script, output_limit=limit)
        assert done.exit_code == 0
        assert done.stdout.total == 5_000_000 + 6 + 5
        assert len(done.stdout.head) + len(done.stdout.tail) == limit
        assert done.stdout.head.startswith(b"first\n")
        assert done.stdout.tail.endswith(b"\nlast\n")

    def test_wall_time_kills_a_command(self, driver: SandboxDriver, template: Template) -> None:
        """A command over its time is killed, keeps what it had printed, and has no exit code."""
        began = time.monotonic()
        script = "trap '' TERM; echo begun; sleep 60"
        done = run(driver, template, "sh", "-c", script, timeout_s=1.0)
        assert time.monotonic() - began < PATIENCE_S
        assert (done.timed_out, done.exit_code, done.survivors) == (True, None, 0)
        assert done.stdout.text() == "begun\n"

    def test_a_daemon_dies_with_its_command(
        self, driver: SandboxDriver, template: Template
    ) -> None:
        """A process that has left its session and closed its streams is dead all the same."""
        marker = f"daemon-{secrets.token_hex(6)}"

        async def body(sandbox: Sandbox) -> str:
            argv = [sandbox.python, "-I", "-c", _DAEMON, marker]
            done = await sandbox.run(argv, timeout_s=PATIENCE_S)
            assert alive(marker) == []
            # Where processes are not this machine's, the sandbox's own list has to do.
            half = len(marker) // 2
            seen = await sh(sandbox, _FIND, A=marker[:half], B=marker[half:])
            assert seen.stdout.text() == ""
            return done.stdout.text()

        assert opened(driver, template, body) == "started\n"

    def test_a_cancelled_run_kills_its_command(
        self, driver: SandboxDriver, template: Template
    ) -> None:
        """When the harness gives up, what it had started is dead."""
        marker = f"cancelled-{secrets.token_hex(6)}"

        async def body(sandbox: Sandbox) -> None:
            script = "echo > begun; sleep 100; :"
            running = asyncio.create_task(
                sandbox.run(["sh", "-c", script, marker], timeout_s=PATIENCE_S)
            )
            while await sandbox.read("begun", limit=9) is None:  # noqa: ASYNC110 - it is no event
                await asyncio.sleep(0.01)
            running.cancel()
            with pytest.raises(asyncio.CancelledError):
                await running
            assert alive(marker) == []

        opened(driver, template, body)
