"""Which paths belong to tasks: workspaces, hidden tests, assets are no tests of the project.

Standard library only, until a task file is found.
"""

# pathlib takes ten times as long, and this is asked for every collected path:
# ruff: noqa: PTH118, PTH120

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

from pytest_agentbench.candidates import SUFFIXES, below, is_task_name
from pytest_agentbench.taskfiles.claims import Claims

_Answer = Callable[[str], "Path | None"]
_FILES_OF_A_DIRECTORY = ("task.yaml", "task.yml")
_NO_TASKS = frozenset({"__pycache__", "node_modules"})


class _Directory:
    """What the task files of one directory own. Paths are normalized strings.

    ``home`` is the ``task.yaml`` of this directory. ``named`` holds each path that a
    task file here names, and that file. ``misplaced`` are task files deeper below
    ``home``; None before anybody looked for them.
    """

    __slots__ = ("home", "misplaced", "named")

    def __init__(self) -> None:
        self.home: Path | None = None
        self.named: dict[str, Path] = {}
        self.misplaced: frozenset[str] | None = None


class Ownership:
    """Answers for paths below the root directory; reads the task files of each directory once.

    ``Candidates.may_own`` says which paths are worth asking about.
    """

    def __init__(self, claims: Claims) -> None:
        self.claims = claims
        self._candidates = claims.candidates
        self._directories: dict[str, _Directory] = {}
        self._overlays: dict[str, Path] | None = None

    def owner(self, path: Path) -> Path | None:
        """The file that owns a file or directory, or None: a task's, or an overlay's experiment.

        None also for a misplaced task file and the directories that lead to it, so
        that it is collected and its error seen.
        """
        return self._ask(path, self._owner)

    def misplaced(self, path: Path) -> Path | None:
        """The ``task.yaml`` below whose directory a task file lies where it is no task.

        None where nothing is wrong with the place.
        """
        return self._ask(path, self._misplaced)

    def _ask(self, path: Path, answer: _Answer) -> Path | None:
        for text in self._candidates.ways(path):
            found = answer(text)
            if found is not None:
                return found
        return None

    def _owner(self, text: str) -> Path | None:
        if self._overlays is None:
            self._overlays = self._read_overlays()
        for overlay, file in self._overlays.items():
            if text == overlay or below(text, overlay):
                return file
        for directory in self._above(text):
            held = self._look(directory)
            named = _named_owner(held, directory, text)
            if named is not None:
                return named
            if held.home is None or self._stands_beside(text, directory):
                continue
            misplaced = self._misplaced_below(directory, held)
            leads = any(file == text or below(file, text) for file in misplaced)
            return None if leads else held.home
        return None

    def _misplaced(self, text: str) -> Path | None:
        for directory in self._above(text):
            held = self._look(directory)
            if _named_owner(held, directory, text) is not None:
                return None
            if held.home is None or self._stands_beside(text, directory):
                continue
            return held.home if text in self._misplaced_below(directory, held) else None
        return None

    def _above(self, text: str) -> list[str]:
        """The directories from the root down to the parent of a path.

        Of a path elsewhere (``pytest -c ci/pytest.ini``), all: task files are
        claimed by their names wherever they lie.
        """
        top = self._candidates.root if below(text, self._candidates.root) else os.path.sep
        found = []
        parent = os.path.dirname(text)
        while len(parent) > len(top):
            found.append(parent)
            parent = os.path.dirname(parent)
        found.append(top)
        return found[::-1]

    @staticmethod
    def _stands_beside(text: str, directory: str) -> bool:
        """Whether a path is one that a ``task.yaml`` of that directory does not own."""
        parent, name = os.path.split(text)
        return parent == directory and (name == "conftest.py" or is_task_name(name))

    def _look(self, directory: str) -> _Directory:
        held = self._directories.get(directory)
        if held is None:
            held = self._directories[directory] = self._read(directory)
        return held

    def _read(self, directory: str) -> _Directory:
        held = _Directory()
        for name in self._candidates.files(directory):
            file = Path(directory, name)
            if not self.claims.claims(file):
                continue
            if name in _FILES_OF_A_DIRECTORY and held.home is None:
                held.home = file
            # Only now: a session without task files imports neither yaml nor pydantic.
            from pytest_agentbench.taskfiles.named import named_paths  # noqa: PLC0415

            for path in named_paths(file, self._candidates.rootdir):
                text = os.path.normpath(path)
                held.named.setdefault(text, file)
                held.named.setdefault(self._candidates.within_root(os.path.realpath(text)), file)
        return held

    def _read_overlays(self) -> dict[str, Path]:
        """The overlays of a project's experiments, and who names them."""
        if not self._candidates.has_experiments():
            return {}
        # Only now: most sessions are of projects without experiments.
        from pytest_agentbench.taskfiles.overlays import named_overlays  # noqa: PLC0415

        return named_overlays(self._candidates.root)

    def _misplaced_below(self, directory: str, held: _Directory) -> frozenset[str]:
        """Task files below a ``task.yaml``'s directory that no task names."""
        if held.misplaced is None:
            held.misplaced = frozenset(self._walk(directory, held))
        return held.misplaced

    def _walk(self, top: str, held: _Directory) -> list[str]:
        found = []
        for parent, directories, files in os.walk(top):
            directories[:] = [
                name
                for name in sorted(directories)
                if not name.startswith(".")
                and name not in _NO_TASKS
                and os.path.join(parent, name) not in held.named
            ]
            for name in files:
                text = os.path.join(parent, name)
                if name.endswith(SUFFIXES) and text not in held.named:
                    beside = parent == top and is_task_name(name)
                    if not beside and self._is_meant_as_task(Path(text)):
                        found.append(text)
        return found

    def _is_meant_as_task(self, path: Path) -> bool:
        """Whether leaving the file alone would make a task vanish without a word."""
        return self.claims.claims(path) and (
            is_task_name(path.name) or self.claims.reads_like_task(path)
        )


def _named_owner(held: _Directory, directory: str, text: str) -> Path | None:
    """The task file of a directory that names a path, or a directory around it."""
    if not held.named:
        return None
    while len(text) > len(directory):
        if text in held.named:
            return held.named[text]
        text = os.path.dirname(text)
    return None
