"""What must never be where an agent can look."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pytest_agentbench.taskfiles.paths import is_below

if TYPE_CHECKING:
    from pathlib import Path

    from pytest_agentbench.model.task import TaskSpec


def hidden_paths(task: TaskSpec) -> tuple[Path, ...]:
    """The task file, oracles, assets, solution and dataset: absolute paths, directories whole.

    The workspace is not among them, nor what is named inside it: the loader
    lets nothing but a prompt lie there.
    """
    workspace = task.workspace.directory
    hidden = [
        path
        for path in task.owned
        if workspace is None or not (path == workspace or is_below(str(path), str(workspace)))
    ]
    return (task.position.path, *hidden)
