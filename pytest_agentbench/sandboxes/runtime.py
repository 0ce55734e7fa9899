"""The interpreter for agents and oracles, and pytest staged beside it.

The harness's own environment may hold a dataset's answers, so nothing of it is
shown inside: the interpreter is the base one, and pytest a copy of its own.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from pytest_agentbench.errors import SandboxError
from pytest_agentbench.sandboxes.area import WorkArea
from pytest_agentbench.sandboxes.staging import stage_pytest

_ASK = (
    "import json, sys;"
    " print(json.dumps([sys.prefix, sys.base_prefix, sys.version,"
    " sys.version_info[:2], getattr(sys, '_base_executable', sys.executable)]))"
)
_PATIENCE_S = 30.0


@dataclass(frozen=True, slots=True)
class Interpreter:
    """A Python for the inside.

    ``path`` are directories for PATH, first; ``pytest_path`` has a ``bin`` with the
    names that these lack. ``prefixes`` are the host directories
    that it needs to see; ``packages`` those of them whose installed packages may be
    seen too (a task's own environment; none for the base interpreter).
    ``pytest_path`` is the host directory with pytest.
    """

    executable: Path
    path: tuple[Path, ...]
    prefixes: tuple[Path, ...]
    packages: tuple[Path, ...]
    pytest_path: Path


class Runtime:
    """Finds interpreters and stages pytest for each, once."""

    def __init__(self, cache: Path | None, area: WorkArea) -> None:
        """``cache`` outlives the session; the work area serves where it cannot be written."""
        self._cache = cache
        self._area = area
        self._known: dict[Path | None, Interpreter] = {}

    def interpreter(self, python: Path | None = None) -> Interpreter:
        """The base interpreter, or a task's own. Raises ``SandboxError``."""
        if python not in self._known:
            self._known[python] = self._base() if python is None else self._own(python)
        return self._known[python]

    def _base(self) -> Interpreter:
        executable = base_executable()
        prefix = Path(sys.base_prefix).resolve()
        staged = self._stage(executable, sys.version, sys.version_info[:2])
        return Interpreter(
            executable,
            (executable.parent,),
            _distinct(prefix, Path(sys.base_exec_prefix).resolve()),
            packages=(),
            pytest_path=staged,
        )

    def _own(self, python: Path) -> Interpreter:
        try:
            done = subprocess.run(
                [python, "-I", "-c", _ASK],
                capture_output=True,
                check=True,
                timeout=_PATIENCE_S,
                stdin=subprocess.DEVNULL,
            )
            prefix, base, version, (major, minor), real = json.loads(done.stdout)
        except FileNotFoundError as fault:
            raise SandboxError(
                f"there is no {python}",
                where="sandbox.python",
                advice="a path that is relative to the file that names it, or absolute",
            ) from fault
        except (OSError, subprocess.SubprocessError, ValueError) as fault:
            raise SandboxError(
                f"{python} is no Python that works: {fault}", where="sandbox.python"
            ) from fault
        return Interpreter(
            python,
            (python.parent, Path(real).resolve().parent),
            _distinct(
                Path(prefix),
                Path(prefix).resolve(),
                Path(base),
                Path(base).resolve(),
                *_chain(python),
            ),
            packages=_distinct(Path(prefix), Path(prefix).resolve()),
            pytest_path=self._stage(python, version, (major, minor)),
        )

    def _stage(self, python: Path, version: str, release: tuple[int, int]) -> Path:
        fallback = self._area.path / "runtime"
        if self._cache is not None:
            try:
                return stage_pytest(self._cache, python, version, release)
            except OSError:
                pass  # read-only or full: the work area will do for this session
        try:
            return stage_pytest(fallback, python, version, release)
        except OSError as fault:
            raise SandboxError(f"pytest cannot be staged: {fault}") from fault


def base_executable() -> Path:
    """The real path of the interpreter that the harness's environment is based on."""
    base: str = getattr(sys, "_base_executable", sys.executable)
    return Path(base).resolve()


def _chain(python: Path) -> list[Path]:
    """Every directory that symlinks from ``python`` lead through."""
    found = []
    here = python
    for _ in range(20):
        if not here.is_symlink():
            break
        here = Path(os.path.normpath(here.parent / os.readlink(here)))
        found.append(here.parent.parent)
    return found


def _distinct(*paths: Path) -> tuple[Path, ...]:
    return tuple(dict.fromkeys(paths))
