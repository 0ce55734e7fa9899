"""The files of a ``python`` agent: found beside the experiment file, read once a session.

Read once, so that all trials of a session run the same code, whatever happens to the
files meanwhile: an agent that nothing isolates could change them for the next one.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from pytest_agentbench.errors import SetupError
from pytest_agentbench.model.task import Blob, FileTree, TaskSpec
from pytest_agentbench.model.variant import Variant
from pytest_agentbench.sandboxes.blobs import read_tree
from pytest_agentbench.sandboxes.pymodules import Call, module_file, no_function, no_module

LIMIT_BYTES = 64 << 20
"""Bytes of one agent: each trial puts them into its sandbox."""

_EXPERIMENTS = "experiments"


@dataclass(frozen=True, slots=True)
class Code:
    """The files by relative POSIX name, and the real paths on disk that they were read from."""

    files: Mapping[str, Blob]
    sources: tuple[Path, ...]


def directories(variant: Variant) -> tuple[Path, ...]:
    """Where the code of a variant is looked for, in this order.

    Beside the experiment file that has the variant; for one in ``experiments``, then
    above that directory too. For a variant of no file: the current directory.
    """
    if variant.position is None:
        return (Path.cwd(),)
    home = variant.position.path.parent
    return (home, home.parent) if home.name == _EXPERIMENTS else (home,)


def code_for(task: TaskSpec, variant: Variant, call: Call, paths: Sequence[str]) -> Code:
    """The code of a variant for one task. Raises ``SetupError`` where it cannot be had."""
    code = _read(directories(variant), call, tuple(paths), f"variant {variant.name}")
    _refuse_answers(code, task, variant)
    return code


@lru_cache(maxsize=64)
def _read(bases: tuple[Path, ...], call: Call, paths: tuple[str, ...], where: str) -> Code:
    found = next(((base, name) for base in bases if (name := _entry(base, call.top))), None)
    if found is None:
        looked = " and ".join(str(base) for base in bases)
        raise SetupError(
            f"there is no {call.top}.py, and no package {call.top}, in {looked}",
            where=where,
            advice="options.call names a module beside the experiment file",
        )
    base, top = found
    files: dict[str, Blob] = {}
    sources = []
    for name in (top, *paths):
        place = base / name
        sources.append(Path(os.path.realpath(place)))
        files |= _read_path(place, name, where)
    size = sum(len(blob.data) for blob in files.values())
    if size > LIMIT_BYTES:
        raise SetupError(
            f"the code of {call} has {size:,} bytes; more than {LIMIT_BYTES:,} are not staged",
            where=where,
            advice="show large data with sandbox.read_only",
        )
    module = module_file(files, call.module)
    if module is None:
        raise SetupError(no_module(files, call.module), where=where)
    lacking = no_function(files[module].data, call.function) if module.endswith(".py") else None
    if lacking is not None:
        raise SetupError(f"{lacking} (in {base / module})", where=where)
    return Code(files, tuple(sources))


def _entry(base: Path, top: str) -> str | None:
    """What Python would import: a package, then a module, then a directory of modules."""
    if (base / top / "__init__.py").is_file():
        return top
    if (base / f"{top}.py").is_file():
        return f"{top}.py"
    return top if (base / top).is_dir() else None


def _read_path(place: Path, name: str, where: str) -> dict[str, Blob]:
    if place.is_dir():
        tree = read_tree(
            FileTree(place), where=f"{where}: {name}", limit_bytes=LIMIT_BYTES, leave_out=_left_out
        )
        return {f"{name}/{below}": blob for below, blob in tree.items()}
    try:
        return {name: Blob(place.read_bytes(), executable=os.access(place, os.X_OK))}
    except OSError as error:
        raise SetupError(f"{place} cannot be read: {error.strerror}", where=where) from error


def _left_out(name: str) -> bool:
    """Caches, and what begins with a dot: version control, environments, ``.env`` with keys."""
    return name.startswith(".") or name == "__pycache__"


def _refuse_answers(code: Code, task: TaskSpec, variant: Variant) -> None:
    """Keep an agent from being handed the oracles of its task with its own code."""
    hidden = [Path(os.path.realpath(path)) for path in (task.position.path, *task.owned)]
    for source in code.sources:
        for path in hidden:
            if path.is_relative_to(source) or source.is_relative_to(path):
                raise SetupError(
                    f"staging {source} would show the agent what belongs to the task: {path}",
                    where=f"variant {variant.name}",
                    advice="keep the agent's code apart from the tasks",
                )
