"""Trees of files read into memory, so that what is on disk later counts no more."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable
from pathlib import Path

from pytest_agentbench.errors import SetupError
from pytest_agentbench.model.task import Blob, FileTree

LIMIT_BYTES = 1 << 30
"""Bytes that one tree may hold: it is kept in memory for as long as the session lasts."""


def read_tree(
    tree: FileTree,
    *,
    where: str,
    limit_bytes: int = LIMIT_BYTES,
    leave_out: Callable[[str], bool] | None = None,
) -> dict[str, Blob]:
    """All regular files of a tree by relative POSIX name, in name order; inline texts win.

    Files and directories on disk whose own name ``leave_out`` is true of do not count.

    Symlinks that stay inside the tree are replaced by what they point to. ``where``
    names the tree in messages. Raises ``SetupError`` for whatever cannot be carried
    faithfully: links that leave the tree or lead round in a circle, sockets and
    devices, names that are not UTF-8, unreadable files.
    """
    found: dict[str, Blob] = {}
    if tree.directory is not None:
        _Reader(tree.directory, where, limit_bytes, found, leave_out).read()
    for name, text in tree.files.items():
        found[name] = Blob(_encode(name, text, where), executable=text.startswith("#!"))
    _refuse_clashes(found, where)
    return {name: found[name] for name in sorted(found)}


def _encode(name: str, text: str, where: str) -> bytes:
    try:
        return text.encode("utf-8")
    except UnicodeEncodeError as error:
        raise SetupError(
            f"the text of {name!r} cannot be written as UTF-8: {error.reason}", where=where
        ) from error


def _refuse_clashes(found: dict[str, Blob], where: str) -> None:
    for name in found:
        parent = name.rpartition("/")[0]
        while parent:
            if parent in found:
                raise SetupError(
                    f"{parent!r} is a file and also the directory of {name!r}", where=where
                )
            parent = parent.rpartition("/")[0]


class _Reader:
    """Walks one directory; ``found`` collects what it holds."""

    def __init__(
        self,
        directory: Path,
        where: str,
        limit_bytes: int,
        found: dict[str, Blob],
        leave_out: Callable[[str], bool] | None,
    ) -> None:
        self._directory = directory
        self._where = where
        self._limit_bytes = limit_bytes
        self._left = limit_bytes
        self._found = found
        self._leave_out = leave_out
        self._root = ""

    def read(self) -> None:
        try:
            self._root = os.path.realpath(self._directory, strict=True)
        except OSError as error:
            raise self._fault(f"{self._directory} cannot be read: {error.strerror}") from error
        self._walk(self._root, "", (self._root,))

    def _walk(self, directory: str, prefix: str, above: tuple[str, ...]) -> None:
        """Read one directory. ``above`` are the real paths from the root down to it."""
        try:
            with os.scandir(directory) as entries:
                names = sorted(entry.name for entry in entries)
        except OSError as error:
            raise self._fault(f"{prefix or '.'} cannot be read: {error.strerror}") from error
        for name in names:
            if self._leave_out is not None and self._leave_out(name):
                continue
            self._entry(os.path.join(directory, name), prefix + name, above)

    def _entry(self, path: str, name: str, above: tuple[str, ...]) -> None:
        self._check_name(name)
        try:
            status = os.lstat(path)
            if stat.S_ISLNK(status.st_mode):
                path = self._target(path, name)
                status = os.stat(path)
            if stat.S_ISDIR(status.st_mode):
                if path in above:
                    raise self._fault(f"the symlink {name!r} leads back to its own directory")
                self._walk(path, f"{name}/", (*above, path))
            elif stat.S_ISREG(status.st_mode):
                self._file(path, name, status)
            else:
                raise self._fault(
                    f"{name!r} is neither a file nor a directory",
                    "remove it (socket, FIFO, device)",
                )
        except OSError as error:
            raise self._fault(f"{name!r} cannot be read: {error.strerror}") from error

    def _file(self, path: str, name: str, status: os.stat_result) -> None:
        self._left -= status.st_size
        if self._left < 0:
            raise self._fault(
                f"more than {self._limit_bytes:,} bytes in {self._directory}",
                "keep large data out of the task, or show it with sandbox.read_only",
            )
        data = Path(path).read_bytes()
        self._found[name] = Blob(data, executable=bool(status.st_mode & stat.S_IXUSR))

    def _target(self, path: str, name: str) -> str:
        """The real path that a symlink points to, which must lie inside the tree."""
        target = os.path.realpath(path, strict=True)
        if target != self._root and not target.startswith(self._root.rstrip("/") + "/"):
            raise self._fault(
                f"the symlink {name!r} leaves the directory", "copy what it points to"
            )
        return target

    def _check_name(self, name: str) -> None:
        try:
            name.encode("utf-8")
        except UnicodeEncodeError as error:
            shown = os.fsencode(name).decode("utf-8", "backslashreplace")
            raise self._fault(f"the file name '{shown}' is not UTF-8", "rename it") from error

    def _fault(self, what: str, advice: str = "") -> SetupError:
        return SetupError(what, where=self._where, advice=advice)
