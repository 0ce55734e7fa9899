"""What must never be where an agent can look."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_agentbench.model.task import FileTree
from pytest_agentbench.sandboxes.hidden import HiddenGroup
from pytest_agentbench.taskfiles.paths import is_below

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pytest_agentbench.model.task import OracleSpec, Solution, TaskSpec


def hidden_paths(task: TaskSpec) -> tuple[Path, ...]:
    """The task file, oracles, assets, solution and dataset: absolute paths, directories whole.

    The workspace is not among them, nor what is named inside it: the loader
    lets nothing but a prompt lie there.
    """
    workspace = task.workspace.tree.directory
    hidden = [
        path
        for path in task.owned
        if workspace is None or not (path == workspace or is_below(str(path), str(workspace)))
    ]
    return (task.position.path, *hidden)


def hidden_groups(task: TaskSpec, rootdir: Path) -> Iterator[HiddenGroup]:
    """The same with the texts that the task file itself holds, each to be looked for.

    By their contents, neither the prompt nor a check's files give anything away: an
    agent may have both. Nor do the files of a wrong answer, which may be the start
    files themselves; and those of a solution only in the task's own workspace, for the
    next task may start there. ``rootdir`` shortens the names in messages.
    """
    told = {path for check in task.checks for tree in _trees_of(check) for path in _on_disk(tree)}
    wrong = {path for control in task.controls for path in _laid_over(control.answer)}
    solved = set() if task.solution is None else set(_laid_over(task.solution))
    prompts = set(task.owned) - wrong - told - _answers(task)
    for path in hidden_paths(task):
        yield HiddenGroup(
            label=_shown(path, rootdir),
            path=path,
            by_content=path not in told | (wrong - solved)
            and not (path in prompts and _is_prompt(path, task)),
            only_in=task.workspace if path in solved else None,
        )
    file = _shown(task.position.path, rootdir)
    for oracle in task.oracles:
        for tree in _trees_of(oracle):
            if tree.files:
                yield HiddenGroup(f"{file}: oracle {oracle.name}", files=tree.files)
    if task.solution is not None and task.solution.tree is not None:
        files = task.solution.tree.files
        yield HiddenGroup(f"{file}: solution", files=files, only_in=task.workspace)


def _answers(task: TaskSpec) -> set[Path]:
    """Paths that are known to be none of a prompt."""
    found = {
        path for oracle in task.oracles for tree in _trees_of(oracle) for path in _on_disk(tree)
    }
    if task.solution is not None:
        found.update(_paths_of(task.solution))
    if task.workspace.patch is not None:
        found.add(task.workspace.patch)
    return found


def _trees_of(spec: OracleSpec) -> tuple[FileTree, ...]:
    expected = (spec.expectation,) if isinstance(spec.expectation, FileTree) else ()
    return (*expected, spec.assets)


def _on_disk(tree: FileTree) -> tuple[Path, ...]:
    return () if tree.directory is None else (tree.directory,)


def _paths_of(answer: Solution) -> tuple[Path, ...]:
    found = [path for path in (answer.patch, answer.script) if path is not None]
    if answer.tree is not None:
        found.extend(_on_disk(answer.tree))
    return tuple(found)


def _laid_over(answer: Solution) -> tuple[Path, ...]:
    """The directory whose files an answer lays over the workspace."""
    return () if answer.tree is None else _on_disk(answer.tree)


def _is_prompt(path: Path, task: TaskSpec) -> bool:
    """Whether a file is what the agent is told anyway."""
    try:
        if path.stat().st_size > 4 * len(task.prompt) + 4:
            return False
        text = path.read_bytes().decode("utf-8-sig")
    except (OSError, UnicodeDecodeError):
        return False
    return text.replace("\r\n", "\n").replace("\r", "\n") == task.prompt


def _shown(path: Path, rootdir: Path) -> str:
    try:
        return path.relative_to(rootdir).as_posix()
    except ValueError:
        return os.fspath(path)
