"""Task files that were parsed for what they own, kept until they are loaded.

Ownership looks into a directory's task files before pytest collects the first
of them; parsing each one twice would double the cost of collection.
"""

from __future__ import annotations

from pathlib import Path
from typing import TypeAlias

from pytest_agentbench.taskfiles.yamlnodes import Document, read

LIMIT = 4096
"""Documents kept; those beyond are parsed again."""

_Stamp: TypeAlias = "tuple[int, int, int]"
_KEPT: dict[Path, tuple[_Stamp, Document]] = {}


def peek(path: Path) -> Document:
    """The parsed file, kept for ``take``."""
    stamp = _stamp(path)
    document = read(path, what="task file")
    if stamp is not None and len(_KEPT) < LIMIT:
        _KEPT[path] = stamp, document
    return document


def take(path: Path) -> Document:
    """The parsed file, kept no longer; read again when it has changed since."""
    stamp, document = _KEPT.pop(path, (None, None))
    if document is not None and stamp == _stamp(path):
        return document
    return read(path, what="task file")


def _stamp(path: Path) -> _Stamp | None:
    try:
        status = path.stat()
    except OSError:
        return None
    return status.st_mtime_ns, status.st_size, status.st_ino
