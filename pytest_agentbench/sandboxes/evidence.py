"""Whether files still are what they were: looked at before they are read.

A file that the kernel has not touched since everything was in place cannot have
changed; only of the others are the bytes compared.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Mapping
from pathlib import Path
from typing import TypeAlias

from pytest_agentbench.model.digest import digest_bytes
from pytest_agentbench.model.run import Entry, EntryKind
from pytest_agentbench.model.task import Blob
from pytest_agentbench.sandboxes.beneath import (
    directory_below,
    open_regular,
    parts_of,
    read_regular,
    root_of,
)
from pytest_agentbench.sandboxes.manifest import digest_open

Known: TypeAlias = Mapping[bytes, Entry | Blob]
"""What stood at each path: as a manifest has it, or the very bytes."""

_TICK_NS = 50_000_000
"""A file system's clock stands still between two ticks: a file that was changed right after it
was made may bear the time at which it was made."""


def altered_below(directory: Path, known: Known, since_ns: int) -> tuple[bytes, ...]:
    """The paths whose bytes are not what they were at ``since_ns``, by the wall clock; sorted.

    Gone, or another kind of thing, is altered too. Permissions are not looked at: they
    are no evidence of another content. No symlink is followed. Never raises.
    """
    by_parent: dict[bytes, list[bytes]] = {}
    for path in known:
        by_parent.setdefault(path.rpartition(b"/")[0], []).append(path)
    found: list[bytes] = []
    try:
        with root_of(directory) as root:
            for parent, paths in by_parent.items():
                found += _altered(root, parent, {p: known[p] for p in paths}, since_ns - _TICK_NS)
    except OSError:
        return tuple(sorted(known))
    return tuple(sorted(found))


def _altered(root: int, parent: bytes, known: Known, untouched_ns: int) -> list[bytes]:
    """Those of one directory: to open it costs more than to look at a file in it."""
    try:
        with directory_below(root, parts_of(parent) if parent else []) as fd:
            return [path for path, one in known.items() if not _same(fd, path, one, untouched_ns)]
    except OSError:
        return list(known)


def _same(parent: int, path: bytes, known: Entry | Blob, untouched_ns: int) -> bool:
    name = path.rpartition(b"/")[2]
    try:
        about = os.stat(name, dir_fd=parent, follow_symlinks=False)
        if isinstance(known, Blob):
            return _same_file(parent, name, about, known, untouched_ns)
        match known.kind:
            case EntryKind.FILE:
                return _same_file(parent, name, about, known, untouched_ns)
            case EntryKind.SYMLINK:
                target = os.readlink(name, dir_fd=parent)
                return digest_bytes(target) == known.digest
            case EntryKind.DIRECTORY:
                return stat.S_ISDIR(about.st_mode)
            case EntryKind.OTHER:
                return True
    except OSError:
        return False


def _same_file(
    parent: int, name: bytes, about: os.stat_result, known: Entry | Blob, untouched_ns: int
) -> bool:
    size = len(known.data) if isinstance(known, Blob) else known.size
    if not stat.S_ISREG(about.st_mode) or about.st_size != size:
        return False
    if about.st_ctime_ns < untouched_ns:
        return True
    if isinstance(known, Blob):
        return read_regular(parent, name, size + 1) == known.data
    opened = open_regular(parent, name)
    try:
        return digest_open(opened) == known.digest
    finally:
        os.close(opened)
