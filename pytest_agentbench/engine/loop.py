"""The engine's event loop, in a thread of its own.

Everything that a trial does is carried here: a process started on one loop and
awaited on another fails, and pytest's own thread must stay free to be
interrupted.
"""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Coroutine
from concurrent.futures import CancelledError, Future, wait
from typing import TypeVar

from pytest_agentbench.errors import AgentbenchError

T = TypeVar("T")

CLEANUP_S = 15.0
"""How long an interrupted step may take to kill its processes and remove its files."""
HURRIED_S = 1.0
"""The same, once the user has lost patience."""
_GLANCE_S = 0.1
"""How soon a wait takes notice of that."""


class EngineLoop:
    """A loop that lives from ``start`` to ``stop``; ``call`` carries a coroutine to it."""

    def __init__(self) -> None:
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None
        self._patience_s = CLEANUP_S

    def hurry(self) -> None:
        """Wait for nothing any longer than ``HURRIED_S``, now and from now on."""
        self._patience_s = HURRIED_S

    def start(self) -> None:
        """Start the thread; a daemon, so that a wedged trial cannot keep pytest from exiting."""
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(
            target=self._serve, args=(self._loop,), name="agentbench-engine", daemon=True
        )
        self._thread.start()

    def call(self, step: Coroutine[object, object, T]) -> T:
        """Run ``step`` on the loop and wait for its value or exception.

        When the waiting thread is interrupted (Ctrl-C, another plugin's time-out),
        the step is cancelled and given ``CLEANUP_S`` to clean up, and the
        interruption goes on. In a hurry, a step that takes long is itself interrupted.
        """
        if self._loop is None:
            step.close()
            raise AgentbenchError("the engine's loop is not running")
        loop = self._loop
        ended: Future[T] = Future()
        task: list[asyncio.Task[T]] = []

        def launch() -> None:
            task.append(loop.create_task(step))
            task[0].add_done_callback(lambda done: _transfer(done, ended))

        loop.call_soon_threadsafe(launch)
        try:
            if self._patience_s < CLEANUP_S:
                self._insist(ended)
            return ended.result()
        except BaseException:
            if not ended.done():
                # Late: launch may still be waiting for its turn.
                loop.call_soon_threadsafe(lambda: task[0].cancel())  # noqa: PLW0108
                self._ends(ended)
            raise

    async def await_call(self, step: Coroutine[object, object, T]) -> T:
        """Run ``step`` on the loop and await its value in another one; cancelled with it."""
        if self._loop is None:
            step.close()
            raise AgentbenchError("the engine's loop is not running")
        return await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(step, self._loop))

    def stop(self) -> bool:
        """Cancel what still runs, wait for its cleanup, end the thread. Idempotent.

        False where something would not end in time; the thread is given up then.
        """
        loop, thread = self._loop, self._thread
        if loop is None or thread is None:
            return True
        self._loop = self._thread = None
        ended = self._ends(asyncio.run_coroutine_threadsafe(_cancel_others(), loop))
        loop.call_soon_threadsafe(loop.stop)
        thread.join(self._patience_s)
        if thread.is_alive():
            return False
        loop.close()
        return ended

    def _insist(self, future: Future[T]) -> None:
        if not self._ends(future):
            raise KeyboardInterrupt

    def _ends(self, future: Future[T]) -> bool:
        """Whether it is done within the patience that there is, which may shrink meanwhile."""
        began = time.monotonic()
        while not future.done():
            left_s = began + self._patience_s - time.monotonic()
            if left_s <= 0:
                return False
            wait([future], min(left_s, _GLANCE_S))
        return True

    @staticmethod
    def _serve(loop: asyncio.AbstractEventLoop) -> None:
        asyncio.set_event_loop(loop)
        loop.set_exception_handler(_report)
        while True:
            try:
                loop.run_forever()
            except (KeyboardInterrupt, SystemExit):
                # A task that nobody watches called sys.exit: asyncio ends the loop for that,
                # and whoever waits for one of the others would wait for ever.
                continue
            return


def _report(loop: asyncio.AbstractEventLoop, context: dict[str, object]) -> None:
    """Tell of what goes wrong in the loop, but for tasks that a third party has forgotten.

    They are told of when they are collected as garbage, so in another trial's log; and where
    that happens while pytest parses a source, Python 3.11 breaks off with a ``SystemError``.
    """
    if "future" not in context:
        loop.default_exception_handler(context)


def _transfer(task: asyncio.Task[T], ended: Future[T]) -> None:
    if task.cancelled():
        ended.set_exception(CancelledError())
        return
    error = task.exception()
    if error is None:
        ended.set_result(task.result())
    else:
        ended.set_exception(error)


async def _cancel_others() -> None:
    others = [task for task in asyncio.all_tasks() if task is not asyncio.current_task()]
    for task in others:
        task.cancel()
    if others:
        await asyncio.wait(others, timeout=CLEANUP_S)
