"""Opens, makes and removes files below a directory without following one symlink.

Names are raw bytes, relative, with ``/`` between parts. A workspace is written by
an agent: any part of any path may be a symlink to a host file by the time that the
harness comes by.
"""

from __future__ import annotations

import contextlib
import os
import stat
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from pytest_agentbench.model.task import Blob

_DIRECTORY = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_FOR_ALL = 0o755
_TO_READ = 0o555
_CREATE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
_REGULAR = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


def parts_of(name: bytes) -> list[bytes]:
    """The parts of a relative name. Raises ``ValueError`` for one that could lead elsewhere."""
    parts = name.split(b"/")
    if not name or any(part in (b"", b".", b"..") or b"\0" in part for part in parts):
        raise ValueError(f"not a plain relative path: {name!r}")
    return parts


@contextmanager
def root_of(path: Path) -> Iterator[int]:
    """A descriptor of a directory that is no symlink."""
    fd = os.open(path, _DIRECTORY)
    try:
        yield fd
    finally:
        os.close(fd)


@contextmanager
def directory_below(root: int, parts: list[bytes], *, make: bool = False) -> Iterator[int]:
    """A descriptor of a directory below ``root``.

    With ``make``, whatever else stands in the way is replaced by a directory.
    """
    fd = os.dup(root)
    try:
        for part in parts:
            if make:
                _make_directory(fd, part)
            below = os.open(part, _DIRECTORY, dir_fd=fd)
            os.close(fd)
            fd = below
        yield fd
    finally:
        os.close(fd)


def write_below(root: int, name: bytes, data: bytes, *, executable: bool = False) -> None:
    """Write a regular file, in place of whatever stood there; make its directories."""
    *above, last = parts_of(name)
    with directory_below(root, above, make=True) as parent:
        remove_entry(parent, last)
        create(parent, last, data, executable=executable)


def stage(directory: Path, files: Mapping[str, Blob]) -> None:
    """Make a directory that holds some files, and that nobody is to write to."""
    directory.mkdir(mode=0o755)
    with root_of(directory) as root:
        for name, blob in files.items():
            write_below(root, os.fsencode(name), blob.data, executable=blob.executable)
    for path, _, names in os.walk(directory):
        for each in names:
            os.chmod(f"{path}/{each}", os.stat(f"{path}/{each}").st_mode & _TO_READ)
        os.chmod(path, _TO_READ)


def create(parent: int, name: bytes, data: bytes, *, executable: bool = False) -> None:
    """A new regular file in an open directory."""
    fd = os.open(name, _CREATE, 0o755 if executable else 0o644, dir_fd=parent)
    try:
        view = memoryview(data)
        while view:
            view = view[os.write(fd, view) :]
        # The harness's own umask must not make the copies differ.
        os.fchmod(fd, 0o755 if executable else 0o644)
    finally:
        os.close(fd)


def read_below(root: int, name: bytes, limit: int) -> bytes | None:
    """The first ``limit`` bytes of a regular file; None where there is none."""
    try:
        *above, last = parts_of(name)
        with directory_below(root, above) as parent:
            return read_regular(parent, last, limit)
    except (OSError, ValueError):
        return None


def read_regular(parent: int, name: bytes, limit: int) -> bytes:
    """The first ``limit`` bytes of a regular file in an open directory. Raises ``OSError``."""
    fd = open_regular(parent, name)
    try:
        parts = []
        while limit > 0 and (part := os.read(fd, min(limit, 1 << 20))):
            parts.append(part)
            limit -= len(part)
        return b"".join(parts)
    finally:
        os.close(fd)


def open_regular(parent: int, name: bytes) -> int:
    """Open a regular file to read. Raises ``OSError`` for anything else.

    A file without read permission is made readable first: it is ours by now.
    """
    try:
        fd = os.open(name, _REGULAR, dir_fd=parent)
    except PermissionError:
        if not stat.S_ISREG(os.stat(name, dir_fd=parent, follow_symlinks=False).st_mode):
            raise
        os.chmod(name, 0o600, dir_fd=parent)
        fd = os.open(name, _REGULAR, dir_fd=parent)
    if not stat.S_ISREG(os.fstat(fd).st_mode):
        os.close(fd)
        raise OSError("not a regular file")
    return fd


def make_directory(parent: int, name: bytes) -> None:
    """A new directory, whatever the harness's own umask is."""
    os.mkdir(name, _FOR_ALL, dir_fd=parent)
    os.chmod(name, _FOR_ALL, dir_fd=parent)


def remove_entry(parent: int, name: bytes) -> None:
    """Remove what stands at a name in an open directory: a file, a link or a whole tree."""
    try:
        os.unlink(name, dir_fd=parent)
    except FileNotFoundError:
        return
    except (IsADirectoryError, PermissionError):
        _remove_tree(parent, name)


def _remove_tree(parent: int, name: bytes) -> None:
    with contextlib.suppress(OSError):
        os.chmod(name, 0o700, dir_fd=parent)
    fd = os.open(name, _DIRECTORY, dir_fd=parent)
    try:
        for entry in os.listdir(fd):
            remove_entry(fd, os.fsencode(entry))
    finally:
        os.close(fd)
    os.rmdir(name, dir_fd=parent)


def _make_directory(parent: int, name: bytes) -> None:
    try:
        if stat.S_ISDIR(os.stat(name, dir_fd=parent, follow_symlinks=False).st_mode):
            return
        os.unlink(name, dir_fd=parent)
    except FileNotFoundError:
        pass
    make_directory(parent, name)
