"""Kills all that one command started where no namespace holds it together.

A process group is not enough: an agent's daemon forks twice and takes a session
of its own. The harness makes itself the sub-reaper, so that whatever lost its
parent becomes a child of the harness and can be found. What is then ours to kill
is told by marks that children inherit; a server that a user's fixture started is
a child of the harness too, and must live.
"""

from __future__ import annotations

import asyncio
import contextlib
import ctypes
import gc
import os
import resource
import secrets
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path

from pytest_agentbench.sandboxes import deathwatch
from pytest_agentbench.sandboxes.cgroups import Group
from pytest_agentbench.sandboxes.proc import (
    Stat,
    children_of,
    descendants_of,
    stat_of,
    touches,
)
from pytest_agentbench.sandboxes.process import leaders

_PR_SET_CHILD_SUBREAPER = 36
_PATIENCE_S = 2.0
_RLIMIT_LOCKS = 10
"""A limit that children inherit, and that Linux has not enforced since 2.4.25: room for a mark."""

_in_flight: set[Sweep] = set()


@cache
def become_subreaper() -> bool:
    """Have orphans of our descendants become children of this process, from now on."""
    libc = ctypes.CDLL(None, use_errno=True)
    return int(libc.prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)) == 0


class Sweep:
    """The processes of one command in ``local``; ``root`` is its sandbox's directory."""

    def __init__(self, root: Path, group: Group | None = None) -> None:
        become_subreaper()
        deathwatch.start()
        self._group = group
        self._root = os.fsencode(root)
        self._mark = secrets.randbits(40) + (1 << 40)
        self._leader = 0
        self._since = 0
        self._seen: set[tuple[int, int]] = set()
        self._before = {(pid, stat.start) for pid, stat in _strangers()}
        self._alone = True
        self._struck = 0

    @contextmanager
    def starting(self) -> Iterator[None]:
        """Wear the mark ourselves for as long as it takes to make the first process.

        Marked a moment later, on a busy machine it had already started its daemon.
        """
        soft, hard = resource.getrlimit(_RLIMIT_LOCKS)
        try:
            with contextlib.suppress(OSError, ValueError):
                resource.setrlimit(_RLIMIT_LOCKS, (self._mark, hard))
            yield
        finally:
            resource.setrlimit(_RLIMIT_LOCKS, (soft, hard))

    def started(self, pid: int) -> None:
        """Remember the first process."""
        self._leader = pid
        stat = stat_of(pid)
        self._since = stat.start if stat is not None else 0
        self._alone = leaders() <= {pid}
        for other in _in_flight:
            other._alone = False  # noqa: SLF001 - same class
        _in_flight.add(self)
        deathwatch.enter(pid, self._mark)

    def strike(self) -> int:
        """SIGKILL everything alive that belongs to the command; return how many there were."""
        if not self._leader:
            return 0
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self._leader, signal.SIGKILL)
        struck = sum([_kill(pid) for pid in self._members()])
        if not struck and self._group is not None:
            struck = self._group.strike()
        self._struck = struck
        return struck

    async def wither(self) -> int:
        """Strike until a pass finds nothing, for two seconds at most; return what is left."""
        left = self._struck  # nobody to be seen: nobody was left to start another
        pause_s = 0.001
        waited_s = 0.0
        while left and waited_s < _PATIENCE_S:
            await asyncio.sleep(pause_s)
            waited_s += pause_s
            pause_s = min(pause_s * 2, 0.05)
            left = self.strike()
        return left

    def gone(self) -> None:
        """Forget the command."""
        _in_flight.discard(self)
        if self._leader:
            deathwatch.leave(self._leader)

    def _members(self) -> set[int]:
        """Who belongs to the command, besides its process group."""
        roots = {self._leader}
        for pid, stat in _strangers():
            if self._owns(pid, stat):
                roots.add(pid)
        members = descendants_of(roots) | roots
        for pid in members:
            if (known := stat_of(pid)) is not None:
                self._seen.add((pid, known.start))
        return members

    def _owns(self, pid: int, stat: Stat) -> bool:
        """Whether a child of the harness, unknown so far, is this command's orphan."""
        if stat.start < self._since or stat.session == os.getsid(0):
            return False
        mark = _mark_of(pid)
        if mark == self._mark:
            # Another thread may have started something while we wore the mark.
            return not _opened_by_harness(pid)
        if (pid, stat.start) in self._seen:
            return True
        if any(mark == other._mark for other in _in_flight):  # noqa: SLF001 - same class
            return False
        if touches(pid, self._root):
            return True
        # An orphan can take the mark off and put on any environment: then it can only be
        # told by there being no other origin.
        return (
            self._alone
            and leaders() <= {self._leader}
            and (pid, stat.start) not in self._before
            and not _opened_by_harness(pid)
        )


def _strangers() -> list[tuple[int, Stat]]:
    """Children of the harness that none of its commands accounts for."""
    pids = children_of(os.getpid()) - leaders() - deathwatch.own()
    return [(pid, stat) for pid in pids if (stat := stat_of(pid)) is not None]


def _kill(pid: int) -> bool:
    """SIGKILL one process, or reap it where it is a zombie of ours; whether it was alive."""
    stat = stat_of(pid)
    if stat is None:
        return False
    if stat.state in "ZX":
        # An adopted orphan: Popen does not know it, so nobody else waits for it.
        if stat.parent == os.getpid() and pid not in leaders():
            with contextlib.suppress(ChildProcessError):
                os.waitpid(pid, os.WNOHANG)
        return False
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.kill(pid, signal.SIGKILL)
    return True


def _mark_of(pid: int) -> int:
    try:
        return resource.prlimit(pid, _RLIMIT_LOCKS)[0]
    except (OSError, ValueError):
        return 0


def _opened_by_harness(pid: int) -> bool:
    """Whether some ``Popen`` of this process stands for the child.

    A server that a fixture starts while a command runs. Nothing that an orphan says of
    itself would do: one put on the harness's own environment. Asked only of a child
    that nothing else explains, for every object of the process is looked at.
    """
    return any(
        issubclass(type(each), subprocess.Popen) and each.pid == pid for each in gc.get_objects()
    )
