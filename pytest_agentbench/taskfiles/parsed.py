"""Task files as parsed documents: each is parsed once a session, and not again in the next.

Ownership looks into a directory's task files before pytest collects the first
of them; parsing each one twice would double the cost of collection.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TypeAlias

from pytest_agentbench.settings import user_cache
from pytest_agentbench.taskfiles.cachefile import CacheFile, Kept, digest_of
from pytest_agentbench.taskfiles.yamlnodes import Document, parse, read_bytes

LIMIT = 4096
"""Documents kept; those beyond are parsed again."""

_WHAT = "task file"
_Stamp: TypeAlias = "tuple[int, int, int]"
_KEPT: dict[Path, tuple[_Stamp, Document]] = {}
_FILES: dict[Path, CacheFile] = {}


def peek(path: Path, rootdir: Path) -> Document:
    """The parsed file, kept for ``take``."""
    stamp = _stamp(path)
    document = _parsed(path, rootdir)
    if stamp is not None and len(_KEPT) < LIMIT:
        _KEPT[path] = stamp, document
    return document


def take(path: Path, rootdir: Path) -> Document:
    """The parsed file, kept no longer; parsed again when it has changed since."""
    stamp, document = _KEPT.pop(path, (None, None))
    if document is not None and stamp == _stamp(path):
        return document
    return _parsed(path, rootdir)


def keep() -> None:
    """Let later sessions know what this one has parsed. Idempotent; never raises."""
    while _FILES:
        _, file = _FILES.popitem()
        file.save()


def _parsed(path: Path, rootdir: Path) -> Document:
    raw = read_bytes(path)
    if isinstance(raw, Document):
        return raw
    file = _FILES.get(rootdir)
    if file is None:
        file = _FILES[rootdir] = CacheFile.of(rootdir, user_cache(os.environ))
    digest = digest_of(raw)
    kept = file.get(digest)
    if kept is not None:
        return Document(path, raw.decode("utf-8-sig"), kept.data, spots=kept.spots)
    document = parse(path, raw, what=_WHAT)
    if not document.problems and not document.has_shared_parts and isinstance(document.data, dict):
        file.put(digest, Kept(document.data, document.spots), len(raw))
    return document


def _stamp(path: Path) -> _Stamp | None:
    try:
        status = path.stat()
    except OSError:
        return None
    return status.st_mtime_ns, status.st_size, status.st_ino
