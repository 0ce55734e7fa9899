"""Reads /proc: who is whose child, since when, and what ties a process to a directory."""

from __future__ import annotations

import contextlib
import os
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Stat:
    """Some fields of ``/proc/PID/stat``. ``start`` is in clock ticks since boot."""

    state: str
    parent: int
    session: int
    start: int


def stat_of(pid: int) -> Stat | None:
    """What the kernel says about a process; None when it is gone."""
    text = _read(f"/proc/{pid}/stat")
    if text is None:
        return None
    # The name stands in parentheses and may itself hold blanks and parentheses.
    fields = text[text.rindex(b")") + 2 :].split()
    return Stat(fields[0].decode(), int(fields[1]), int(fields[3]), int(fields[19]))


def children_of(pid: int) -> set[int]:
    """The direct children of a process, zombies included."""
    # Read twice: a sibling that ends meanwhile makes the kernel skip an entry.
    found = _children_once(pid)
    if found is None:
        return {child for child, parent in _parents().items() if parent == pid}
    return found | (_children_once(pid) or set())


def descendants_of(pids: set[int]) -> set[int]:
    """Everything below some processes, themselves not included."""
    found: set[int] = set()
    ahead = set(pids)
    while ahead:
        below = children_of(ahead.pop()) - found - pids
        found |= below
        ahead |= below
    return found


def environment_of(pid: int) -> bytes:
    """The environment that a process was started with; empty when it cannot be read."""
    return _read(f"/proc/{pid}/environ") or b""


def touches(pid: int, root: bytes) -> bool:
    """Whether a process's environment, directory, program or open files name ``root``."""
    if root in environment_of(pid):
        return True
    links = [f"/proc/{pid}/cwd", f"/proc/{pid}/exe", f"/proc/{pid}/root"]
    with contextlib.suppress(OSError):
        links += [f"/proc/{pid}/fd/{fd}" for fd in os.listdir(f"/proc/{pid}/fd")]
    return any(_link(link).startswith(root) for link in links)


def _link(path: str) -> bytes:
    try:
        return os.fsencode(os.readlink(path))
    except OSError:
        return b""


def _children_once(pid: int) -> set[int] | None:
    """None where the kernel does not list children."""
    found: set[int] = set()
    try:
        tasks = os.listdir(f"/proc/{pid}/task")
    except OSError:
        return found
    for task in tasks:
        text = _read(f"/proc/{pid}/task/{task}/children")
        if text is not None:
            found.update(map(int, text.split()))
        elif os.path.exists(f"/proc/{pid}/task/{task}/stat"):
            return None
    return found


def _parents() -> dict[int, int]:
    parents: dict[int, int] = {}
    for name in os.listdir("/proc"):
        if name.isdigit() and (stat := stat_of(int(name))) is not None:
            parents[int(name)] = stat.parent
    return parents


def _read(path: str) -> bytes | None:
    try:
        fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        parts = []
        while part := os.read(fd, 65_536):
            parts.append(part)
        return b"".join(parts)
    except OSError:
        return None
    finally:
        os.close(fd)
