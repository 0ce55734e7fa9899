"""Where experiment files lie, and the paths that they name: relative to the file itself."""

from __future__ import annotations

import os
from difflib import get_close_matches
from pathlib import Path

from pytest_agentbench.errors import UsageError
from pytest_agentbench.taskfiles.paths import NamedPaths, PathFault, Wanted

DEFAULT_NAMES = ("agentbench.yaml", "agentbench.yml")
DIRECTORY = "experiments"
_SUFFIXES = (".yaml", ".yml")


def default_file(rootdir: Path) -> Path | None:
    """The experiment file at the root directory, if there is one. Raises ``UsageError``."""
    found = [rootdir / name for name in DEFAULT_NAMES if os.path.lexists(rootdir / name)]
    if len(found) > 1:
        raise UsageError(
            f"both {DEFAULT_NAMES[0]} and {DEFAULT_NAMES[1]} are there",
            where="experiment",
            advice="keep one of them",
        )
    return found[0] if found else None


def chosen_file(rootdir: Path, chosen: str) -> Path:
    """The file that a path or a bare name means. Raises ``UsageError``."""
    if is_bare_name(chosen):
        found = named_file(rootdir, chosen)
        if isinstance(found, str):
            raise UsageError(found, where="experiment")
        return found
    for base in (Path.cwd(), rootdir):
        path = Path(os.path.normpath(base / chosen))
        if path.is_file():
            return path
    raise UsageError(f"there is no file {chosen!r}", where="experiment")


def is_bare_name(text: str) -> bool:
    """Whether a text is a name of ``experiments/NAME.yaml``, and no path."""
    return not text.endswith(_SUFFIXES) and "/" not in text


def named_file(rootdir: Path, name: str) -> Path | str:
    """``experiments/NAME.yaml``, or the message that there is none."""
    known = {file.stem: file for file in reversed(experiment_files(rootdir))}
    if name in known:
        return known[name]
    names = sorted(known)
    close = get_close_matches(name, names, n=1)
    hint = f"; did you mean {close[0]!r}?" if close else ";"
    listed = ", ".join(names) or f"none, {DIRECTORY}/ holds no YAML file"
    return f"unknown experiment {name!r}{hint} known: {listed}"


def experiment_files(rootdir: Path) -> list[Path]:
    """The files of ``experiments/``, sorted."""
    try:
        return sorted(file for file in (rootdir / DIRECTORY).iterdir() if file.suffix in _SUFFIXES)
    except OSError:
        return []


class ExperimentPaths(NamedPaths):
    """Resolves the paths of one experiment file, which may leave its directory."""

    def __init__(self, file: Path) -> None:
        super().__init__(file)
        self._base = file.parent

    def _find(self, text: str, wanted: Wanted) -> Path:
        if not text.strip():
            raise PathFault("is empty")
        if "\0" in text:
            raise PathFault("holds a NUL character")
        path = Path(os.path.normpath(self._base / text))
        try:
            path.stat()
        except OSError as error:
            if not os.path.lexists(path):
                raise PathFault(f"does not exist{self._hint(path)}") from error
            raise PathFault(f"cannot be followed: {error.strerror}") from error
        self._check_kind(path, wanted)
        return path
