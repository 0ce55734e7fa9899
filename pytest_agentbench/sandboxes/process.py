"""The one owner of child processes: starts a command, reads it, times it, and sees it dead.

``Popen`` with a pidfd and the running loop's reader: asyncio's own child watcher
costs one thread a child on Python 3.11. No ``preexec_fn``: running Python between
fork and exec may deadlock in a process with threads, and warns from 3.12 on.
"""

from __future__ import annotations

import asyncio
import contextlib
import ctypes
import os
import signal
import subprocess
import tempfile
import time
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Protocol

from pytest_agentbench.model.run import DEFAULT_OUTPUT_LIMIT, Output
from pytest_agentbench.sandboxes.capture import Capture

_PIDFD_OPEN = 434  # the same number on every architecture
_ALL_SEALS = 0x0F
_NO_GROWTH = 0x05  # F_SEAL_GROW, and no more seals

_NOTHING = Output()

_leaders: set[int] = set()
_trees: set[Tree] = set()


def leaders() -> frozenset[int]:
    """The first processes of all commands that run now: somebody waits for each of them."""
    return frozenset(_leaders)


def strike_all() -> None:
    """SIGKILL what all commands have started, from any thread; for a session that cannot wait."""
    for tree in tuple(_trees):
        tree.strike()


@dataclass(frozen=True, slots=True)
class Command:
    """One command line on the host, walls included.

    ``env`` is the whole environment. ``pass_fds`` stay open in the child, under
    the same numbers. ``output_limit`` is in bytes, for each stream. ``stdio`` are
    descriptors that the child gets as its three streams: nothing is captured then.
    """

    argv: tuple[str, ...]
    env: Mapping[str, str]
    cwd: Path
    timeout_s: float
    stdin: bytes = b""
    output_limit: int = DEFAULT_OUTPUT_LIMIT
    pass_fds: tuple[int, ...] = ()
    stdio: tuple[int, int, int] | None = None


@dataclass(frozen=True, slots=True)
class Ended:
    """How a host command ended. ``returncode`` is Popen's: negative for a signal.

    ``launch_error`` is set, and ``returncode`` None, when it could not be executed.
    """

    returncode: int | None
    duration_s: float
    stdout: Output = _NOTHING
    stderr: Output = _NOTHING
    timed_out: bool = False
    launch_error: str | None = None
    survivors: int = 0


class Tree(Protocol):
    """All processes that one command starts, and how they are found and killed."""

    def starting(self) -> AbstractContextManager[None]:
        """What holds while the command's first process is made; it inherits what is set."""
        ...

    def started(self, pid: int) -> None:
        """The command's first process exists."""
        ...

    def strike(self) -> int:
        """Send SIGKILL to everything alive, the first process included; return how many."""
        ...

    async def wither(self) -> int:
        """Wait, within bounds, until everything is dead; return how many survive.

        The first process has ended, and is still a zombie of ours.
        """
        ...

    def gone(self) -> None:
        """All is over; the tree may be forgotten."""
        ...


class Group:
    """A process group: enough for programs of the harness's own."""

    def __init__(self) -> None:
        self._leader = 0

    def starting(self) -> AbstractContextManager[None]:
        """Nothing is needed."""
        return contextlib.nullcontext()

    def started(self, pid: int) -> None:
        """Remember the group."""
        self._leader = pid

    def strike(self) -> int:
        """SIGKILL the group."""
        if not self._leader:
            return 0
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self._leader, signal.SIGKILL)
        return 0

    async def wither(self) -> int:
        """Nothing to wait for."""
        return self.strike()

    def gone(self) -> None:
        """Forget the group: its number may be used again."""
        self._leader = 0


async def run_process(
    argv: Sequence[str],
    *,
    timeout_s: float,
    stdin: bytes = b"",
    env: Mapping[str, str] | None = None,
    cwd: Path = Path("/"),
    output_limit: int = DEFAULT_OUTPUT_LIMIT,
) -> Ended:
    """Run a program of the harness's own, outside any sandbox, in a process group.

    ``env`` is the whole environment; by default only PATH and the locale are set.
    """
    environment = {"PATH": os.defpath, "LANG": "C.UTF-8"} if env is None else env
    command = Command(tuple(argv), environment, cwd, timeout_s, stdin, output_limit)
    return await run_command(command, Group())


async def run_command(command: Command, tree: Tree) -> Ended:
    """Run one command; on return, and on cancellation, its whole tree is dead.

    An agent may leave children that hold its output open, ignore SIGTERM, or
    never read its input: nothing here waits for any of that.
    """
    out, err = Capture(command.output_limit), Capture(command.output_limit)
    began = time.monotonic()
    try:
        try:
            with tree.starting():
                child = _start(command, out.writer, err.writer)
        except (OSError, ValueError) as fault:
            return Ended(None, 0.0, launch_error=_launch_error(command, fault))
        out.close_writer()
        err.close_writer()
        timed_out, survivors = await _live_and_die(child, tree, command.timeout_s)
        return Ended(
            returncode=child.returncode,
            duration_s=time.monotonic() - began,
            stdout=out.finish(),
            stderr=err.finish(),
            timed_out=timed_out,
            survivors=survivors,
        )
    finally:
        out.close()
        err.close()


async def _live_and_die(
    child: subprocess.Popen[bytes], tree: Tree, timeout_s: float
) -> tuple[bool, int]:
    """Whether time ran out, and how many processes survived."""
    timed_out = False
    survivors = 0
    try:
        pidfd = open_pidfd(child.pid)
    except OSError:  # out of descriptors
        child.kill()
        child.wait()
        raise
    _leaders.add(child.pid)
    _trees.add(tree)
    try:
        tree.started(child.pid)
        timed_out = not await readable(pidfd, timeout_s)
    finally:
        try:
            # Synchronous and first: a second cancellation cannot get between.
            tree.strike()
            # SIGKILL cannot be refused; a process stuck in the kernel can only be waited for.
            await readable(pidfd, 10.0)
            survivors = await tree.wither()
        except BaseException:
            tree.strike()
            raise
        finally:
            # Reaped last: until then its process group's number cannot be used again.
            child.poll()
            _leaders.discard(child.pid)
            _trees.discard(tree)
            tree.gone()
            os.close(pidfd)
    return timed_out, survivors


def _start(command: Command, stdout: int, stderr: int) -> subprocess.Popen[bytes]:
    stdin = data_file(command.stdin, erasable=True)
    streams = command.stdio or (stdin, stdout, stderr)
    try:
        return subprocess.Popen(
            command.argv,
            stdin=streams[0],
            stdout=streams[1],
            stderr=streams[2],
            env=dict(command.env),
            cwd=str(command.cwd),
            start_new_session=True,
            pass_fds=command.pass_fds,
            umask=0o022,
        )
    finally:
        os.close(stdin)


def data_file(data: bytes, *, erasable: bool = False) -> int:
    """A descriptor that yields ``data``; where there are seals, nobody can add to it.

    A file and not a pipe: a child that never reads costs no writer, cannot block
    us, and a prompt of megabytes needs no thread. But a file can be read again, by
    whoever finds it open in another process (as bwrap's own holds standard input):
    of an ``erasable`` one a child may cut off what it has read.
    """
    if not data:
        return os.open(os.devnull, os.O_RDONLY | os.O_CLOEXEC)
    if not hasattr(os, "memfd_create"):  # some relocatable builds of Python lack it
        with tempfile.TemporaryFile() as file:
            file.write(data)
            file.flush()
            return _reopened(file.fileno(), erasable=erasable)
    memory = os.memfd_create("data", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
    try:
        view = memoryview(data)
        while view:
            view = view[os.write(memory, view) :]
        with contextlib.suppress(OSError):
            import fcntl  # noqa: PLC0415 - seals exist on Linux only

            fcntl.fcntl(memory, fcntl.F_ADD_SEALS, _NO_GROWTH if erasable else _ALL_SEALS)
        return _reopened(memory, erasable=erasable)
    finally:
        os.close(memory)


def _reopened(fd: int, *, erasable: bool) -> int:
    mode = os.O_RDWR if erasable else os.O_RDONLY
    return os.open(f"/proc/self/fd/{fd}", mode | os.O_CLOEXEC)


def _launch_error(command: Command, fault: OSError | ValueError) -> str:
    if isinstance(fault, ValueError):  # an embedded NUL byte
        return f"cannot execute {command.argv[0]!r}: {fault}"
    # Popen names the working directory when it was that which could not be entered.
    name = command.argv[0] if fault.filename is None else os.fspath(fault.filename)
    return f"cannot execute {name!r}: {fault.strerror}"


def open_pidfd(pid: int) -> int:
    """A descriptor of a process; it becomes readable when the process ends."""
    if hasattr(os, "pidfd_open"):
        return os.pidfd_open(pid)
    libc = ctypes.CDLL(None, use_errno=True)
    fd = int(libc.syscall(_PIDFD_OPEN, pid, 0))
    if fd < 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
    return fd


async def readable(fd: int, timeout_s: float) -> bool:
    """Wait until a descriptor is readable; False when time ran out first."""
    loop = asyncio.get_running_loop()
    ready: asyncio.Future[bool] = loop.create_future()

    def settle(*, value: bool) -> None:
        if not ready.done():
            ready.set_result(value)

    loop.add_reader(fd, partial(settle, value=True))
    timer = loop.call_later(max(timeout_s, 0.0), partial(settle, value=False))
    try:
        return await ready
    finally:
        timer.cancel()
        loop.remove_reader(fd)
