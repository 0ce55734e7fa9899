"""Replacing a file in one step: readers see the old one or the new one, never a half."""

from __future__ import annotations

import os
import secrets
from contextlib import suppress
from typing import TYPE_CHECKING

from pytest_agentbench.errors import StoreError

if TYPE_CHECKING:
    from pathlib import Path

PRIVATE_FILE = 0o600


def replace_file(path: Path, data: bytes) -> None:
    """Write ``data`` to ``path`` in one step. Raises ``StoreError``, and leaves nothing behind.

    Not synced to the disk: what is promised is a whole file after a crash of this
    process, not after a power cut.
    """
    temporary = temporary_name(path)
    try:
        write_new(temporary, data)
        temporary.replace(path)
    except OSError as error:
        with suppress(OSError):
            temporary.unlink()
        raise StoreError(
            f"cannot be written: {error.strerror}",
            where=str(path),
            advice="free some space, or name another directory with --agentbench-results",
        ) from error


def temporary_name(path: Path) -> Path:
    """A name beside ``path`` that nobody else uses."""
    return path.with_name(f".{path.name}.{secrets.token_hex(6)}.tmp")


def write_new(path: Path, data: bytes) -> None:
    """Write a file that must not exist yet, whole. Raises ``OSError``."""
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC | getattr(os, "O_NOFOLLOW", 0)
    handle = os.open(path, flags, PRIVATE_FILE)
    with open(handle, "wb") as stream:  # noqa: PTH123 - pathlib opens no descriptors
        stream.write(data)
