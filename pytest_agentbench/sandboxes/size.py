"""What is too much to be handled between two turns of the loop, and goes to a thread."""

from __future__ import annotations

import os
import stat
from collections.abc import Collection
from pathlib import Path

from pytest_agentbench.model.run import Entry

_SMALL_TREE = 200
"""Entries up to which copying, comparing and removing is done at once: a hop to a thread
costs more than that, and a bigger tree would keep the loop from other trials."""
_SMALL_BYTES = 4_000_000
"""The same for their apparent sizes."""


def is_big(entries: Collection[Entry | None]) -> bool:
    """Whether so much is there that it is handled in a thread."""
    if len(entries) > _SMALL_TREE:
        return True
    return sum(entry.size for entry in entries if entry is not None) > _SMALL_BYTES


def has_grown(directories: list[Path]) -> bool:
    """Whether trees are too big to be handled between two turns of the loop."""
    entries, size_bytes = _SMALL_TREE, _SMALL_BYTES
    ahead = [str(path) for path in directories]
    while ahead:
        here = ahead.pop()
        try:
            if stat.S_ISLNK(os.lstat(here).st_mode):
                continue
            with os.scandir(here) as found:
                for entry in found:
                    entries -= 1
                    if entry.is_dir(follow_symlinks=False):
                        ahead.append(entry.path)
                    else:
                        size_bytes -= entry.stat(follow_symlinks=False).st_size
                    if entries < 0 or size_bytes < 0:
                        return True
        except OSError:  # closed, or gone
            continue
    return False
