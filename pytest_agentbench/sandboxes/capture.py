"""A bounded reader of one pipe: keeps both ends of a stream and counts what lies between."""

from __future__ import annotations

import asyncio
import os

from pytest_agentbench.model.run import Output

_CHUNK = 65_536
_CHUNKS_A_TURN = 8  # a flood must not keep the loop from its other trials


class Capture:
    """Reads a pipe through the running loop, without a thread and without waiting for its end.

    A pipe stays open for as long as any descendant holds it, so the reader is
    told when to stop (``finish``) instead of waiting for an end of file.
    """

    def __init__(self, limit: int) -> None:
        self._half = max(limit // 2, 1)
        self._head = bytearray()
        self._tail = bytearray()
        self._total = 0
        self._loop = asyncio.get_running_loop()
        self._reader, self.writer = os.pipe2(os.O_CLOEXEC)
        os.set_blocking(self._reader, False)
        self._open = True
        self._loop.add_reader(self._reader, self._readable)

    def close_writer(self) -> None:
        """Give up our copy of the writing end; the child has its own."""
        if self.writer >= 0:
            os.close(self.writer)
            self.writer = -1

    def finish(self) -> Output:
        """Take what is readable now, close the pipe, and return both ends of the stream."""
        if self._open:
            # A full pipe holds 64 KiB, a survivor could refill it for ever.
            self._readable(turns=64)
        self.close()
        head, tail = bytes(self._head), bytes(self._tail[-self._half :])
        if self._total <= 2 * self._half:
            head, tail = head + tail, b""
        return Output(head=head, tail=tail, total=self._total)

    def close(self) -> None:
        """Close both ends. Idempotent."""
        self.close_writer()
        if self._open:
            self._open = False
            self._loop.remove_reader(self._reader)
            os.close(self._reader)

    def _readable(self, turns: int = _CHUNKS_A_TURN) -> None:
        for _ in range(turns):
            try:
                data = os.read(self._reader, _CHUNK)
            except BlockingIOError:
                return
            if not data:
                self.close()
                return
            self._keep(data)

    def _keep(self, data: bytes) -> None:
        self._total += len(data)
        room = self._half - len(self._head)
        if room > 0:
            self._head += data[:room]
            data = data[room:]
        self._tail += data
        if len(self._tail) > 2 * self._half + _CHUNK:
            del self._tail[: -self._half]
