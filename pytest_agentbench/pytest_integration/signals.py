"""SIGTERM and SIGHUP end a session as Ctrl-C does: agents killed, sandboxes removed, records kept.

By default they would end the process on the spot, and leave agents running that
somebody pays for.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import signal
import threading
from types import FrameType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable

_PR_SET_PDEATHSIG = 1


class Interruption:
    """Turns signals into one ``KeyboardInterrupt``, between ``install`` and ``restore``.

    A worker is told by its controller and, in a terminal, by the user at the same
    time: once it is cleaning up, a further SIGTERM must not break that off.
    """

    def __init__(self) -> None:
        self._before: dict[signal.Signals, Any] = {}
        self._interrupted = False

    def install(self, *, worker: bool) -> None:
        """Handle what nobody else handles; only Python's main thread may do that."""
        if threading.current_thread() is not threading.main_thread() or self._before:
            return
        for number in (signal.SIGTERM, signal.SIGHUP):
            if signal.getsignal(number) is signal.SIG_DFL:
                self._before[number] = signal.signal(number, self._interrupt)
        if worker:
            self._before[signal.SIGINT] = signal.signal(signal.SIGINT, self._interrupt)
            _die_with_parent()

    def restore(self) -> None:
        """Put back what was there before. Idempotent."""
        for number, handler in self._before.items():
            signal.signal(number, handler)
        self._before.clear()

    def _interrupt(self, number: int, frame: FrameType | None) -> None:
        del frame
        if self._interrupted and number != signal.SIGINT:
            return
        self._interrupted = True
        raise KeyboardInterrupt


def terminate(pids: Iterable[int]) -> None:
    """Send SIGTERM to processes that may be gone."""
    for pid in pids:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.kill(pid, signal.SIGTERM)


def _die_with_parent() -> None:
    """Have a worker interrupted when its controller is killed: it would run agents on and on."""
    with contextlib.suppress(OSError):
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGTERM, 0, 0, 0)
