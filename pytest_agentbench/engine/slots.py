"""Named resources that limit how many trials run at once, across the processes of one user.

Each slot is a lock file: who holds the lock holds the slot. So slots are shared by
xdist workers and by sessions that know nothing of each other, and the kernel gives
back what a killed process held.
"""

from __future__ import annotations

import asyncio
import fcntl
import os
import stat
import tempfile
from collections.abc import AsyncIterator, Mapping
from contextlib import ExitStack, asynccontextmanager, suppress
from pathlib import Path

from pytest_agentbench.errors import SetupError

_SHORTEST_WAIT_S = 0.02
_LONGEST_WAIT_S = 0.2
_PRIVATE = 0o700


def slots_directory() -> Path:
    """Where this user's locks lie, the same for all sessions; nothing is made yet."""
    return Path(tempfile.gettempdir(), f"pytest-agentbench-slots-{os.getuid()}")


class Slots:
    """How many of each named resource there are; one that is not named there exists once.

    Two sessions that give one resource different capacities share the lower ones of
    its slots.
    """

    def __init__(self, directory: Path, capacities: Mapping[str, int]) -> None:
        """The directory is made, for this user alone, when the first slot is asked for."""
        self._directory = directory
        self._capacities = dict(capacities)

    @asynccontextmanager
    async def hold(self, needs: Mapping[str, int]) -> AsyncIterator[None]:
        """Wait until all that is needed is free, and hold it.

        All or nothing: who waits holds no slot, but his turn, so that many small
        requests cannot keep a big one waiting for ever. Raises ``SetupError`` for more
        than there is. Cancelled while it waits, it leaves no trace.
        """
        wanted = {name: needs[name] for name in sorted(needs) if needs[name] > 0}
        if not wanted:
            yield
            return
        for name, count in wanted.items():
            self._refuse_too_many(name, count)
        with ExitStack() as held:
            try:
                self._make_directory()
                await self._acquire(wanted, held)
            except OSError as error:
                raise SetupError(
                    f"slots cannot be locked: {error.strerror}", where=str(self._directory)
                ) from error
            yield

    def _refuse_too_many(self, name: str, count: int) -> None:
        capacity = self._capacities.get(name, 1)
        if count > capacity:
            verb = "is" if capacity == 1 else "are"
            raise SetupError(
                f"needs {count} of slot {name!r}, there {verb} {capacity}",
                advice=f"slots: {{{name}: {count}}} in the experiment file",
            )

    def _make_directory(self) -> None:
        with suppress(FileExistsError):
            self._directory.mkdir(mode=_PRIVATE)
        about = self._directory.lstat()
        private = about.st_uid == os.getuid() and not stat.S_IMODE(about.st_mode) & 0o077
        if not stat.S_ISDIR(about.st_mode) or not private:
            raise SetupError(
                "is no directory that belongs to this user alone",
                where=str(self._directory),
                advice="remove it: the locks of slots are kept there",
            )

    async def _acquire(self, wanted: Mapping[str, int], held: ExitStack) -> None:
        """Lock the slots; ``held`` gives them back."""
        with ExitStack() as turns:
            # In one order for everybody: two that wait cannot wait for each other.
            for name in wanted:
                wait_s = _SHORTEST_WAIT_S
                while not self._lock(f"{name}.turn", turns):
                    wait_s = await _pause(wait_s)
            wait_s = _SHORTEST_WAIT_S
            while not self._take_all(wanted, held):
                wait_s = await _pause(wait_s)

    def _take_all(self, wanted: Mapping[str, int], held: ExitStack) -> bool:
        with ExitStack() as taken:
            for name, count in wanted.items():
                free = (
                    index
                    for index in range(self._capacities.get(name, 1))
                    if self._lock(f"{name}-{index}.lock", taken)
                )
                if sum(1 for _ in zip(range(count), free, strict=False)) < count:
                    return False
            held.push(taken.pop_all())
        return True

    def _lock(self, name: str, holder: ExitStack) -> bool:
        """Lock one file if it is free; ``holder`` unlocks it."""
        path = self._directory / name
        with ExitStack() as opened:
            flags = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW
            lock = os.open(path, flags, 0o600)
            opened.callback(os.close, lock)
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                return False
            # Temporary directories are swept: a lock on a file that has lost its name,
            # or given it to another, keeps nobody out.
            try:
                if not os.path.samestat(os.fstat(lock), path.stat()):
                    return False
            except FileNotFoundError:
                return False
            os.utime(lock)
            holder.push(opened.pop_all())
        return True


async def _pause(wait_s: float) -> float:
    """Let others go on; what to wait next time."""
    await asyncio.sleep(wait_s)
    return min(2 * wait_s, _LONGEST_WAIT_S)
