"""Ctrl-C, SIGTERM and SIGHUP end a session alike: agents killed, sandboxes removed, records kept.

By default SIGTERM and SIGHUP would end the process on the spot, and leave agents
running that somebody pays for. Ctrl-C would break off whatever pytest is doing,
also the writing of results. So the first signal interrupts what runs, but lets a
session that is ending already come to its end; the second one kills what still
runs and waits for nothing.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import select
import signal
import threading
import time
from collections.abc import Callable, Generator, Iterator
from types import FrameType
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterable

_PR_SET_PDEATHSIG = 1
_NUMBERS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
_ENDS_WELL = (
    pytest.ExitCode.OK,
    pytest.ExitCode.TESTS_FAILED,
    pytest.ExitCode.NO_TESTS_COLLECTED,
)

_SHIELDED = 2
"""How many signals do not break ``unbroken`` off; the next one does, lest it hang for ever."""
_LATE_S = 2.0
"""For how long after the session's end Ctrl-C is still meant for it."""


class _Shield:
    """The whole process's, as signals are: how deep it is inside of ``unbroken``."""

    depth = 0
    struck = False


@contextlib.contextmanager
def unbroken() -> Iterator[None]:
    """What runs in here is not interrupted: the interruption comes when it is done."""
    _Shield.depth += 1
    try:
        yield
    finally:
        _Shield.depth -= 1
    if _Shield.struck and not _Shield.depth:
        _Shield.struck = False
        raise KeyboardInterrupt


class Interruption:
    """Turns signals into ``KeyboardInterrupt``, from ``install`` to the end of pytest.

    A plugin. ``hurry`` is called at the second signal; ``end`` closes, at the end of the
    session and whatever happens, what the session has opened.
    """

    def __init__(
        self,
        config: pytest.Config,
        *,
        hurry: Callable[[], None],
        end: Callable[[], None],
    ) -> None:
        self._config = config
        self._hurry = hurry
        self._end = end
        self._shielded = _SHIELDED
        self._before: dict[signal.Signals, Any] = {}
        self._count = 0
        self._ignored = 0
        self._session: pytest.Session | None = None

    @property
    def installed(self) -> bool:
        """Whether signals come here."""
        return bool(self._before)

    def install(self, *, worker: bool) -> None:
        """Handle what nobody else handles; only Python's main thread may do that."""
        if threading.current_thread() is not threading.main_thread() or self._before:
            return
        if worker:
            # Ctrl-C comes from the terminal and from the controller, which kills who is late.
            self._shielded = 2 * _SHIELDED
        untouched = (signal.SIG_DFL, signal.default_int_handler)
        for number in _NUMBERS:
            known = signal.getsignal(number)
            # execnet has the workers ignore Ctrl-C in places.
            if known in untouched or (worker and number == signal.SIGINT):
                self._before[number] = signal.signal(number, self._interrupt)
        if worker:
            _die_with_parent()

    @pytest.hookimpl(tryfirst=True)
    def pytest_keyboard_interrupt(self) -> None:
        """From here to the session's end, only ``hurry``: pytest would die of what is raised."""
        self._ignored = self._shielded

    @pytest.hookimpl(wrapper=True, trylast=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> Generator[None]:
        """Bring the session to its end; innermost, so that the summary is printed after that."""
        self._session = session
        self._ignored = 1
        try:
            yield
        except KeyboardInterrupt:
            # Ctrl-C once more, while the user's fixtures were torn down: pytest would show a
            # traceback in place of the summary.
            self._count = max(self._count, 1)
        finally:
            self._ignored = self._shielded
            with unbroken():
                self._end()
                self._settle_status()

    @pytest.hookimpl(tryfirst=True)
    def pytest_unconfigure(self) -> None:
        """Close what a broken session left open, and put signal handlers back."""
        with unbroken():
            self._end()
            self._settle_status()
        self.restore()

    def restore(self) -> None:
        """Put back what was there before. Idempotent."""
        before, self._before = self._before, {}
        for number, handler in before.items():
            signal.signal(number, handler)
        if self._count and signal.SIGINT in before:
            # Pressed twice, the second one would show a traceback of Python's own exit.
            signal.signal(signal.SIGINT, _Late(before[signal.SIGINT]))

    def _settle_status(self) -> None:
        """Make an interrupted session end with pytest's 2, also where all trials were done."""
        session = self._session
        if not self._count or session is None or session.exitstatus not in _ENDS_WELL:
            return
        session.exitstatus = pytest.ExitCode.INTERRUPTED
        ledger: Any = self._config.pluginmanager.get_plugin("agentbench-ledger")
        if ledger is not None:
            ledger.write_manifest(int(pytest.ExitCode.INTERRUPTED))

    def _interrupt(self, number: int, frame: FrameType | None) -> None:
        del frame
        # A worker is told by its controller and, in a terminal, by the user; who closes a
        # terminal or stops a service sends SIGTERM and SIGHUP. None of that is impatience.
        if self._count and number != signal.SIGINT:
            return
        self._count += 1
        if self._count > 1:
            self._hurry()
        if self._count <= self._ignored:
            return
        if _Shield.depth and self._count <= self._shielded:
            # A session that is ending goes on with that, and what is torn down there.
            _Shield.struck = self._session is None
            return
        raise KeyboardInterrupt


class _Late:
    """Lets Ctrl-C pass for a moment after an interrupted session, and then be what it was."""

    def __init__(self, before: Any) -> None:  # noqa: ANN401 - what signal.signal returns
        self._before = before
        self._until = time.monotonic() + _LATE_S

    def __call__(self, number: int, frame: FrameType | None) -> None:
        """Handle SIGINT."""
        if time.monotonic() < self._until:
            return
        signal.signal(number, self._before)
        if callable(self._before):
            self._before(number, frame)


def send(number: signal.Signals, pids: Iterable[int]) -> None:
    """Send a signal to processes that may be gone."""
    for pid in pids:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.kill(pid, number)


def see_dead(pids: Iterable[int], patience_s: float) -> None:
    """Wait for processes to end, and kill those that do not."""
    from pytest_agentbench.sandboxes.process import open_pidfd

    deadline = time.monotonic() + patience_s
    for pid in pids:
        with contextlib.suppress(OSError):
            watched = open_pidfd(pid)
            try:
                poll = select.poll()
                poll.register(watched, select.POLLIN)
                left_s = max(deadline - time.monotonic(), 0.0)
                if not poll.poll(1000 * left_s):
                    os.kill(pid, signal.SIGKILL)
            finally:
                os.close(watched)


def _die_with_parent() -> None:
    """Have a worker interrupted when its controller is killed: it would run agents on and on."""
    with contextlib.suppress(OSError):
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGTERM, 0, 0, 0)
