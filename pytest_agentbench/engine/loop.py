"""The engine's event loop, in a thread of its own.

Everything that a trial does is carried here: a process started on one loop and
awaited on another fails, and pytest's own thread must stay free to be
interrupted.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Coroutine
from concurrent.futures import CancelledError, Future, wait
from typing import TypeVar

from pytest_agentbench.errors import AgentbenchError

T = TypeVar("T")

CLEANUP_S = 15.0
"""How long an interrupted step may take to kill its processes and remove its files."""


class EngineLoop:
    """A loop that lives from ``start`` to ``stop``; ``call`` carries a coroutine to it."""

    def __init__(self) -> None:
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None

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
        interruption goes on.
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
            return ended.result()
        except BaseException:
            if not ended.done():
                # Late: launch may still be waiting for its turn.
                loop.call_soon_threadsafe(lambda: task[0].cancel())  # noqa: PLW0108
                wait([ended], CLEANUP_S)
            raise

    def stop(self) -> None:
        """Cancel what still runs, wait for its cleanup, end the thread. Idempotent."""
        if self._loop is None or self._thread is None:
            return
        asyncio.run_coroutine_threadsafe(_cancel_others(), self._loop).result(CLEANUP_S)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(CLEANUP_S)
        if not self._thread.is_alive():
            self._loop.close()
        self._loop = self._thread = None

    @staticmethod
    def _serve(loop: asyncio.AbstractEventLoop) -> None:
        asyncio.set_event_loop(loop)
        loop.run_forever()


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
