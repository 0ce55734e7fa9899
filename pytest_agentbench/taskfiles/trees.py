"""Directories of files that a task names, on disk or inline."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pytest_agentbench.model.task import FileTree
from pytest_agentbench.taskfiles.names import file_fault
from pytest_agentbench.taskfiles.paths import NamedPaths, PathFault, Wanted

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from pytest_agentbench.taskfiles.document import FilesShape
    from pytest_agentbench.taskfiles.rowscope import Reporter
    from pytest_agentbench.taskfiles.yamlnodes import DataPath

NO_FILES = FileTree()
"""One for all: most oracles have no files, and each object slows the garbage collector down."""


class Trees:
    """Resolves what one task names. ``named`` are the paths found so far."""

    def __init__(self, paths: NamedPaths, reporter: Reporter) -> None:
        self._paths = paths
        self._reporter = reporter
        self.named: list[Path] = []

    def path(self, text: str, at: DataPath, wanted: Wanted) -> Path | None:
        """The path that a text names, reported and None when it cannot be used."""
        try:
            found = self._paths.find(text, wanted)
        except PathFault as fault:
            self._reporter.report(at, f"{text!r} {fault}")
            return None
        self.named.append(found)
        return found

    def of_files(self, shape: FilesShape, at: DataPath) -> FileTree:
        """A tree of ``copy`` and ``files``."""
        directory = None
        if shape.has("directory"):
            directory = self.path(shape.directory, (*at, "copy"), "directory")
        if directory is None and not shape.files:
            return NO_FILES
        return FileTree(directory, self.inline(shape.files, (*at, "files")).files)

    def inline(self, files: Mapping[str, str], at: DataPath) -> FileTree:
        """A tree of inline texts."""
        for name in files:
            fault = file_fault(name)
            if fault is not None:
                self._reporter.report((*at, name), f"the file name {name!r} {fault}", key=True)
            elif (above := _file_above(name, files)) is not None:
                message = f"{above!r} is a file and also the directory of {name!r}"
                self._reporter.report((*at, name), message, key=True)
        return FileTree(files=dict(files))


def _file_above(name: str, files: Mapping[str, str]) -> str | None:
    parent = name.rpartition("/")[0]
    while parent:
        if parent in files:
            return parent
        parent = parent.rpartition("/")[0]
    return None
