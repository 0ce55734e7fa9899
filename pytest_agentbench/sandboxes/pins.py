"""Which commit a branch or tag meant when a session first asked: the same for all its processes."""

from __future__ import annotations

import asyncio
import contextlib
import fcntl
import json
import os
import secrets
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path

from pytest_agentbench.errors import SetupError

_PAUSE_S = 0.02


class Pins:
    """Remembers commits by name in a file that the processes of one session share.

    A branch may move while a session runs: xdist workers that each looked for
    themselves would judge the same task on different code. ``file`` None: for
    this process alone.
    """

    def __init__(self, file: Path | None) -> None:
        self._file = file
        self._known: dict[str, str] = {}

    async def commit(self, name: str, resolve: Callable[[], Awaitable[str]]) -> str:
        """The commit pinned under a name; the first who asks resolves it, others wait."""
        if name not in self._known:
            async with self._held():
                stored = self._read()
                if name not in stored:
                    stored[name] = await resolve()
                    self._write(stored)
                self._known = stored
        return self._known[name]

    @asynccontextmanager
    async def _held(self) -> AsyncIterator[None]:
        """Hold the file's lock, waited for in a way that can be cancelled."""
        if self._file is None:
            yield
            return
        try:
            lock = os.open(self._file.with_suffix(".lock"), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC)
        except OSError as fault:
            raise SetupError(f"no commit can be pinned: {fault}", where="run directory") from fault
        try:
            while not _take(lock):  # noqa: ASYNC110 - another process holds it
                await asyncio.sleep(_PAUSE_S)
            yield
        finally:
            os.close(lock)

    def _read(self) -> dict[str, str]:
        if self._file is None:
            return dict(self._known)
        with contextlib.suppress(OSError, ValueError):
            stored = json.loads(self._file.read_text("utf-8"))
            if isinstance(stored, dict):
                return {str(name): str(commit) for name, commit in stored.items()}
        return {}

    def _write(self, stored: dict[str, str]) -> None:
        if self._file is None:
            return
        draft = self._file.with_suffix(f".{secrets.token_hex(4)}.tmp")
        try:
            draft.write_text(json.dumps(stored, indent=1, sort_keys=True) + "\n", "utf-8")
            draft.replace(self._file)
        except OSError as fault:
            raise SetupError(f"no commit can be pinned: {fault}", where="run directory") from fault


def _take(lock: int) -> bool:
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
