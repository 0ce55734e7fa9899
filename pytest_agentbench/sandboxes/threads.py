"""Long work on files in a thread, which ends soon after nobody waits for it any more."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from typing import Protocol, TypeVar

_T = TypeVar("_T")
_T_co = TypeVar("_T_co", covariant=True)


class Stoppable(Protocol[_T_co]):
    """Work that asks ``stopped``, between two pieces of it, whether to give up."""

    def __call__(self, *, stopped: Callable[[], bool]) -> _T_co:
        """Do it."""
        ...


async def in_thread(work: Stoppable[_T]) -> _T:
    """What the work gives. Cancelled, it has ended before this returns."""
    stop = threading.Event()
    job = asyncio.ensure_future(asyncio.to_thread(work, stopped=stop.is_set))
    try:
        return await asyncio.shield(job)
    except asyncio.CancelledError:
        # A thread cannot be cancelled: what it still wrote would be left behind.
        stop.set()
        await asyncio.wait([job])
        raise
