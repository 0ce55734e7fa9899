"""Paths that a task file names: where they lie, and that they stay beside the file."""

from __future__ import annotations

import os
from difflib import get_close_matches
from pathlib import Path
from typing import Literal, TypeAlias

Wanted: TypeAlias = Literal["directory", "file", "directory or file"]


class PathFault(Exception):
    """The path cannot be used; the message ends a sentence that starts with its text."""


class NamedPaths:
    """Resolves the paths of one task file; remembers them, as rows of a dataset repeat them."""

    def __init__(self, file: Path) -> None:
        self._directory = file.parent
        self._real_directory: str | None = None
        self._known: dict[tuple[str, Wanted], Path | PathFault] = {}

    def find(self, text: str, wanted: Wanted) -> Path:
        """The absolute path. Raises ``PathFault``."""
        key = text, wanted
        if key not in self._known:
            try:
                self._known[key] = self._find(text, wanted)
            except PathFault as fault:
                self._known[key] = fault
        found = self._known[key]
        if isinstance(found, PathFault):
            raise found
        return found

    def _find(self, text: str, wanted: Wanted) -> Path:
        if not text.strip():
            raise PathFault("is empty")
        if "\0" in text:
            raise PathFault("holds a NUL character")
        if text.startswith("/"):
            raise PathFault("is absolute; it must lie in the task's directory")
        if os.path.normpath(text).split("/")[0] == "..":
            raise PathFault("leaves the task's directory")
        if ".." in text.split("/"):
            # Behind a symlink, it would be another place than it seems.
            raise PathFault("goes up by '..' on its way")
        path = Path(os.path.normpath(self._directory / text))
        try:
            real = os.path.realpath(path, strict=True)
        except OSError as error:
            if not os.path.lexists(path):
                raise PathFault(f"does not exist{self._hint(path)}") from error
            raise PathFault(f"cannot be followed: {error.strerror}") from error
        if self._real_directory is None:
            self._real_directory = os.path.realpath(self._directory)
        if real != self._real_directory and not is_below(real, self._real_directory):
            raise PathFault("leaves the task's directory through a symlink")
        self._check_kind(path, wanted)
        return path

    @staticmethod
    def _check_kind(path: Path, wanted: Wanted) -> None:
        if path.is_dir():
            if wanted == "file":
                raise PathFault("is a directory, not a file")
        elif not path.is_file():
            raise PathFault("is neither a file nor a directory")
        elif wanted == "directory":
            raise PathFault("is a file, not a directory")

    @staticmethod
    def _hint(path: Path) -> str:
        try:
            beside = sorted(file.name for file in path.parent.iterdir())
        except OSError:
            return ""
        close = get_close_matches(path.name, beside, n=1)
        return f"; did you mean {close[0]!r}?" if close else ""


def is_below(path: str, directory: str) -> bool:
    """Whether a normalized path lies below a normalized directory."""
    return path.startswith(directory.rstrip("/") + "/")


def overlapping(first: Path, second: Path) -> bool:
    """Whether one of two paths is, or lies in, the other, symlinks followed."""
    one, other = os.path.realpath(first), os.path.realpath(second)
    return one == other or is_below(one, other) or is_below(other, one)
