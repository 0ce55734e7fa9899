"""The session's private place for templates and sandboxes, and what killed sessions left."""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import secrets
import shutil
import stat
import tempfile
import time
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

_PREFIX = "agentbench-"
_LOCK = ".lock"
_TOLD = 10
"""Paths of a leftover that are told: the first ones say enough."""
_GRACE_S = 3600.0
"""How long a directory without a lock file is taken for one that is just being made."""


class WorkArea:
    """A directory that only this user can enter, removed at the end of the session.

    An exclusive lock is held for as long as the session lives, so that a later
    session can tell what a killed one left behind.
    """

    def __init__(self, base: Path | None = None) -> None:
        """Make the directory below ``base`` (default: the system's temporary directory)."""
        self.path = Path(tempfile.mkdtemp(prefix=_PREFIX, dir=base)).resolve()
        # Locked before it has its name: xdist workers start together, and each looks for
        # areas whose lock is free.
        making = self.path / f"{_LOCK}-making"
        self._lock = os.open(making, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        fcntl.flock(self._lock, fcntl.LOCK_EX)
        making.rename(self.path / _LOCK)
        self._closed = False
        self.leftover: tuple[Path, ...] = ()
        """What ``close`` could not remove, some of it at least: an immutable file, a mount."""

    def fresh(self, kind: str = "s") -> Path:
        """A new, empty directory at a random name, which never names a task."""
        path = self.path / f"{kind}-{secrets.token_hex(8)}"
        path.mkdir(mode=0o700)
        return path

    def close(self) -> None:
        """Remove everything; what stays is told by ``leftover``. Idempotent."""
        if self._closed:
            return
        self._closed = True
        remove_tree(self.path)
        self.leftover = tuple(islice(_innermost(self.path), _TOLD))
        os.close(self._lock)


def _innermost(path: Path) -> Iterator[Path]:
    """The paths in a tree that hold nothing themselves."""
    if path.is_symlink() or not path.is_dir():
        if os.path.lexists(path):
            yield path
        return
    for directory, directories, names in os.walk(path):
        if not directories and not names:
            yield Path(directory)
        yield from (Path(directory, name) for name in names)


def reap_stale(base: Path | None = None) -> int:
    """Remove the work areas of this user's sessions that were killed; return how many."""
    reaped = 0
    for path in _areas(base):
        with contextlib.suppress(OSError), _claimed(path) as nobodys:
            if nobodys:
                _remove_area(path)
                reaped += not path.exists()
    return reaped


def stale_areas(base: Path | None = None) -> list[Path]:
    """The work areas that ``reap_stale`` would remove."""
    found = []
    for path in _areas(base):
        with contextlib.suppress(OSError), _claimed(path) as nobodys:
            if nobodys:
                found.append(path)
    return found


def _areas(base: Path | None) -> list[Path]:
    return sorted(Path(base or tempfile.gettempdir()).glob(f"{_PREFIX}*"))


@contextlib.contextmanager
def _claimed(path: Path) -> Iterator[bool]:
    """Whether an area's session is dead; if so, the area's lock is ours meanwhile."""
    about = path.lstat()
    if not stat.S_ISDIR(about.st_mode) or about.st_uid != os.getuid():
        yield False
        return
    try:
        lock = os.open(path / _LOCK, os.O_RDWR | os.O_NOFOLLOW | os.O_CLOEXEC)
    except FileNotFoundError:
        yield time.time() - about.st_mtime >= _GRACE_S and not any(path.iterdir())
        return
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        yield False
    else:
        yield True
    finally:
        os.close(lock)


def _remove_area(path: Path) -> None:
    if os.path.lexists(path / _LOCK):
        remove_tree(path)
    else:
        path.rmdir()  # not what has come into it meanwhile


def remove_tree(path: Path) -> None:
    """Remove a directory whatever is in it: unreadable directories, trees of any depth."""
    if shutil.rmtree.avoids_symlink_attacks:
        try:
            shutil.rmtree(path)
        except FileNotFoundError:
            if not os.path.lexists(path):
                return
        except (OSError, RecursionError):
            pass
        else:
            return
    with contextlib.suppress(OSError):
        _flatten(path)


def remove_trees(paths: list[Path]) -> None:
    """Remove several directories, whatever is in them."""
    for path in paths:
        remove_tree(path)


def _flatten(path: Path) -> None:
    """Remove a tree by moving each directory up to its top first.

    Neither the depth of recursion nor the length of a path grows with the tree.
    What cannot be removed (an immutable file, a mount) stays, and keeps nothing else.
    """
    if not stat.S_ISDIR(os.lstat(path).st_mode):
        path.unlink()
        return
    path.chmod(0o700)
    heap = Path(tempfile.mkdtemp(dir=path))
    ahead = [path]
    while ahead:
        directory = ahead.pop()
        for entry in os.scandir(directory):
            if entry.path == str(heap):
                continue
            with contextlib.suppress(OSError):
                if entry.is_dir(follow_symlinks=False):
                    os.chmod(entry.path, 0o700, follow_symlinks=True)
                    moved = heap / secrets.token_hex(8)
                    os.rename(entry.path, moved)
                    ahead.append(moved)
                else:
                    os.unlink(entry.path)
        if directory != path:
            with contextlib.suppress(OSError):
                os.rmdir(directory)
    os.rmdir(heap)
    _remove_last(path)


def _remove_last(path: Path) -> None:
    try:
        os.rmdir(path)
    except OSError as fault:
        if fault.errno != errno.ENOTEMPTY:
            raise
        # A survivor wrote meanwhile.
        shutil.rmtree(path, ignore_errors=True)
