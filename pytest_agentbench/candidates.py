"""Which files may be task files, by name and place, and which paths may belong to one.

Asked in every pytest session, so it is short, imports the standard library only, and stands
beside the options. Its no is final. Its yes is looked into by ``taskfiles``: by ``claims`` and
``ownership``, which most sessions never load.
"""

# pathlib takes ten times as long, and this is asked for every collected path:
# ruff: noqa: PTH113, PTH114, PTH118, PTH120, PTH122, PTH208

from __future__ import annotations

import os
from pathlib import Path

SUFFIXES = (".yaml", ".yml")
EXPERIMENT_NAMES = ("agentbench.yaml", "agentbench.yml")
"""The default experiment file, at the root directory."""
EXPERIMENT_DIRECTORY = "experiments"
"""Where the others are, at the root directory."""


def is_task_name(name: str) -> bool:
    """Whether a file of that name is a task file wherever it lies."""
    stem, suffix = os.path.splitext(name)
    return suffix in SUFFIXES and (stem == "task" or (stem.endswith(".task") and stem != ".task"))


def below(path: str, directory: str) -> bool:
    """Whether a normalized path lies below a directory."""
    return path.startswith(os.path.join(directory, ""))


class Candidates:
    """Looks into each directory once. ``directories`` are those of ``agentbench_tasks``."""

    def __init__(self, rootdir: Path, directories: tuple[str, ...]) -> None:
        self.rootdir = rootdir
        self.root = os.path.normpath(rootdir)
        self._real_root = os.path.realpath(self.root)
        self._prefixes = tuple(
            os.path.join(os.path.normpath(os.path.join(self.root, directory)), "")
            for directory in directories
        )
        self._files: dict[str, list[str]] = {}
        self._parents: dict[str, str] = {self.root: self._real_root}
        self._leads: dict[str, bool] = {}
        self._experiments: bool | None = None

    def has(self, path: str | Path) -> bool:
        """Whether a file, by its absolute path, may be a task file."""
        text = os.path.normpath(path)
        if not text.endswith(SUFFIXES):
            return False
        directory, name = os.path.split(text)
        if is_task_name(name):
            return True
        if not text.startswith(self._prefixes):
            return False
        # ``agentbench_tasks = .`` must not turn experiment files into broken tasks.
        return not (
            directory == os.path.join(self.root, EXPERIMENT_DIRECTORY)
            or (directory == self.root and name in EXPERIMENT_NAMES)
        )

    def may_own(self, path: Path) -> bool:
        """Whether a task file, or an experiment's overlay, may own the path."""
        for way in self.ways(path):
            # What is elsewhere may be owned, too: names are claimed wherever they lie.
            if self._leads_to(os.path.dirname(way)):
                return True
        if self._experiments is None:
            self._experiments = self.has_experiments()
        return self._experiments

    def has_experiments(self) -> bool:
        """Whether there is a file where the project's experiments are looked for."""
        if any(os.path.lexists(os.path.join(self.root, name)) for name in EXPERIMENT_NAMES):
            return True
        try:
            names = os.listdir(os.path.join(self.root, EXPERIMENT_DIRECTORY))
        except OSError:
            return False
        # A directory of that name is common where nobody has heard of us.
        return any(name.endswith(SUFFIXES) for name in names)

    def ways(self, path: Path) -> tuple[str, ...]:
        """A path as it is written and, where that is another one, with symlinks followed."""
        text = os.path.normpath(path)
        parent, name = os.path.split(text)
        # The parents of many files are the same.
        real_parent = self._parents.get(parent)
        if real_parent is None:
            real_parent = self._parents[parent] = os.path.realpath(parent)
        real = os.path.join(real_parent, name)
        real = self.within_root(os.path.realpath(real) if os.path.islink(real) else real)
        return (text,) if real == text else (text, real)

    def within_root(self, real: str) -> str:
        """A real path as the session writes it, whose root may itself be behind a symlink."""
        if self._real_root != self.root and below(real, self._real_root):
            return self.root + real[len(self._real_root) :]
        return real

    def files(self, directory: str) -> list[str]:
        """The names of a directory's files that may be task files, sorted."""
        found = self._files.get(directory)
        if found is None:
            try:
                with os.scandir(directory) as entries:
                    found = sorted(
                        entry.name
                        for entry in entries
                        if entry.name.endswith(SUFFIXES)
                        and _is_file(entry)
                        and self.has(os.path.join(directory, entry.name))
                    )
            except OSError:
                found = []
            self._files[directory] = found
        return found

    def _leads_to(self, directory: str) -> bool:
        """Whether the directory, or one of those above it, holds a candidate."""
        known = self._leads.get(directory)
        if known is None:
            parent = os.path.dirname(directory)
            known = bool(self.files(directory))
            if not known and directory not in (self.root, parent):
                known = self._leads_to(parent)
            self._leads[directory] = known
        return known


def _is_file(entry: os.DirEntry[str]) -> bool:
    # Asked of the entry, a symlink that leads to itself raises: one would hide all tasks.
    return entry.is_file(follow_symlinks=False) or os.path.isfile(entry.path)
