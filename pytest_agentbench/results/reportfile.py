"""A report that the user asked for by its path: made sure of before a run, replaced after it."""

from __future__ import annotations

import os
from contextlib import suppress
from stat import S_IMODE
from typing import TYPE_CHECKING

from pytest_agentbench.errors import StoreError, UsageError
from pytest_agentbench.results.atomic import temporary_name

if TYPE_CHECKING:
    from pathlib import Path

_FLAGS = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC


def check_report(path: Path, *, said: str) -> None:
    """Make the directory of a report, and write a file there, before anything is spent.

    ``said`` is how the user named it. Raises ``UsageError``.
    """
    place = f"{said}: {path}"
    target = path.resolve()
    if target.exists() and not target.is_file():
        what = "is a directory" if target.is_dir() else "is no regular file"
        raise UsageError(what, where=place, advice="the name of a file")
    probe = temporary_name(target)
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        try:
            _write_new(probe, b"", mode=0o600)
        finally:
            with suppress(FileNotFoundError):
                probe.unlink()
    except OSError as error:
        raise UsageError(
            f"cannot be written: {error.strerror}",
            where=place,
            advice="a file in a directory that can be written",
        ) from error


def write_report(path: Path, data: bytes) -> None:
    """Replace the file in one step. Raises ``StoreError``, and leaves nothing behind.

    Other users may read it, if they may read what this user makes: those who collect
    reports are often others. A link goes on leading to the file that it led to.
    """
    target = path.resolve()
    temporary = temporary_name(target)
    try:
        # Somebody may have cleaned up since the run began.
        target.parent.mkdir(parents=True, exist_ok=True)
        before = S_IMODE(target.stat().st_mode) if target.is_file() else None
        _write_new(temporary, data, mode=0o666)
        if before is not None:
            temporary.chmod(before)
        temporary.replace(target)
    except OSError as error:
        with suppress(OSError):
            temporary.unlink()
        raise StoreError(f"cannot be written: {error.strerror}", where=str(path)) from error


def _write_new(path: Path, data: bytes, *, mode: int) -> None:
    with os.fdopen(os.open(path, _FLAGS, mode), "wb") as stream:
        stream.write(data)
