"""One run of bwrap as a tree of processes, and what bwrap reports about it.

bwrap's status goes through a pipe of its own, which bwrap closes before it starts
the command: nothing that the command prints can be taken for it.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import signal
from dataclasses import dataclass

from pytest_agentbench.sandboxes import deathwatch
from pytest_agentbench.sandboxes.proc import descendants_of
from pytest_agentbench.sandboxes.process import open_pidfd, readable
from pytest_agentbench.sandboxes.sweep import become_subreaper

_PATIENCE_S = 5.0


@dataclass(frozen=True, slots=True)
class Status:
    """What bwrap reported. ``exit_code`` is there only if the command was started."""

    child: int | None = None
    exit_code: int | None = None


class Namespace:
    """bwrap, the first process of its PID namespace, and with that all that runs inside."""

    def __init__(self) -> None:
        # The first process inside outlives bwrap by a moment; as our child it is reaped.
        become_subreaper()
        deathwatch.start()
        self._loop = asyncio.get_running_loop()
        self._reader, self.writer = os.pipe2(os.O_CLOEXEC)
        os.set_blocking(self._reader, False)
        self._text = b""
        self._leader = 0
        self._first = -1
        self._loop.add_reader(self._reader, self._readable)

    def starting(self) -> contextlib.AbstractContextManager[None]:
        """Nothing is needed: a namespace holds whatever starts in it."""
        return contextlib.nullcontext()

    def started(self, pid: int) -> None:
        """Remember bwrap's own process."""
        self._leader = pid
        self._close_writer()
        # bwrap dies with its parent, but not in its first milliseconds: killed there, it
        # was seen to leave a process behind that waits for ever.
        deathwatch.enter(pid)

    def strike(self) -> int:
        """SIGKILL bwrap and all below it: from outside, everything in the namespace is."""
        if not self._leader:
            return 0
        struck = descendants_of({self._leader})
        for pid in struck:
            _kill(pid)
        _kill(self._leader)
        if self._first >= 0:
            with contextlib.suppress(OSError):
                signal.pidfd_send_signal(self._first, signal.SIGKILL)
        return len(struck)

    async def wither(self) -> int:
        """Wait for the namespace's first process: the kernel kills all others before it ends."""
        self._readable()
        if self._first < 0:
            return 0
        if not await readable(self._first, _PATIENCE_S):
            return 1
        self._reap()
        return 0

    def gone(self) -> None:
        """Forget the processes."""
        if self._leader:
            deathwatch.leave(self._leader)
        self._leader = 0

    def close(self) -> None:
        """Close every descriptor. Idempotent."""
        self._close_writer()
        if self._reader >= 0:
            self._loop.remove_reader(self._reader)
            os.close(self._reader)
            self._reader = -1
        if self._first >= 0:
            os.close(self._first)
            self._first = -1

    def status(self) -> Status:
        """What bwrap has reported so far."""
        child = exit_code = None
        for line in self._text.splitlines():
            try:
                said = json.loads(line)
            except ValueError:  # cut short by a kill
                continue
            child = said.get("child-pid", child)
            exit_code = said.get("exit-code", exit_code)
        return Status(child, exit_code)

    def _readable(self) -> None:
        while self._reader >= 0:
            try:
                data = os.read(self._reader, 4096)
            except BlockingIOError:
                return
            if not data:
                self._loop.remove_reader(self._reader)
                os.close(self._reader)
                self._reader = -1
                return
            self._text += data
            self._hold_first()

    def _hold_first(self) -> None:
        """Get a hold of the first process inside while its number cannot have been reused."""
        if self._first >= 0:
            return
        child = self.status().child
        if child is not None:
            with contextlib.suppress(OSError):
                self._first = open_pidfd(child)

    def _reap(self) -> None:
        """Take the first process off the table, if it has become ours."""
        with contextlib.suppress(ChildProcessError):
            os.waitid(os.P_PIDFD, self._first, os.WEXITED | os.WNOHANG)

    def _close_writer(self) -> None:
        if self.writer >= 0:
            os.close(self.writer)
            self.writer = -1


def _kill(pid: int) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.kill(pid, signal.SIGKILL)
