"""The entries of /proc that belong to no process: the settings of the whole machine.

Inside a user namespace without any capability, the kernel still lets a process write
to a sysctl whose owner it is by its uid outside: run by root, a sandbox could name the
program that the host starts, as root, at the next crash (``core_pattern``).
"""

from __future__ import annotations

import os
import stat

_PROC = "/proc"
_ALWAYS = ("acpi", "bus", "fs", "irq", "mtrr", "pressure", "scsi", "sys", "sysrq-trigger")
"""Covered unseen: what they hold, and may be written, comes and goes with modules."""
_MEMORY = ("kcore", "kmem")


def covers() -> dict[str, tuple[str, ...]]:
    """Mounts of bwrap to lie over a fresh /proc, by place: nothing shared can be written."""
    names = {name for name in _ALWAYS if os.path.lexists(f"{_PROC}/{name}")}
    with os.scandir(_PROC) as entries:
        names |= {entry.name for entry in entries if _shared(entry) and _writable(entry.path)}
    places = [f"{_PROC}/{name}" for name in sorted(names)]
    # -try: what goes away with its module meanwhile cannot be written either.
    mounts: dict[str, tuple[str, ...]] = {
        place: ("--ro-bind-try", place, place) for place in places
    }
    for name in _MEMORY:
        if os.path.lexists(f"{_PROC}/{name}"):
            # A device that bwrap binds as no device cannot be opened at all.
            mounts[f"{_PROC}/{name}"] = ("--ro-bind", os.devnull, f"{_PROC}/{name}")
    return mounts


def _shared(entry: os.DirEntry[str]) -> bool:
    """Not a process, nor a link that leads to one."""
    return not entry.name.isdigit() and not entry.is_symlink()


def _writable(path: str) -> bool:
    """Whether a file, or any file below a directory, can be written by somebody."""
    if not os.path.isdir(path):
        return _has_write_bit(path)
    return any(
        _has_write_bit(f"{directory}/{name}")
        for directory, _, names in os.walk(path)
        for name in names
    )


def _has_write_bit(path: str) -> bool:
    try:
        mode = os.lstat(path).st_mode
    except OSError:
        return False
    return stat.S_ISREG(mode) and bool(mode & (stat.S_IWUSR | stat.S_IWGRP | stat.S_IWOTH))
