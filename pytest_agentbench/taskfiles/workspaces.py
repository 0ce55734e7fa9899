"""What a task file says of the workspace, as a ``Workspace``."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import TYPE_CHECKING, cast

from pytest_agentbench.model.task import Command, GitSource, Workspace
from pytest_agentbench.taskfiles.complaints import was_pruned
from pytest_agentbench.taskfiles.names import file_fault
from pytest_agentbench.taskfiles.yamlnodes import value_at

if TYPE_CHECKING:
    from pytest_agentbench.model.task import JsonValue
    from pytest_agentbench.taskfiles.rowscope import Reporter
    from pytest_agentbench.taskfiles.taskshape import GitShape, WorkspaceShape
    from pytest_agentbench.taskfiles.trees import Trees
    from pytest_agentbench.taskfiles.yamlnodes import DataPath

_URL = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://|[^/\s:]+@[^/\s:]+:")
_AT: DataPath = ("workspace",)


def workspace_of(
    shape: WorkspaceShape, raw: JsonValue, trees: Trees, reporter: Reporter, base: Path
) -> tuple[Workspace, Path | None]:
    """The workspace, and the path of its patch.

    ``raw`` is the shape as it is written, ``base`` the task file's directory.
    """
    patch = None
    if shape.has("patch"):
        patch = trees.path(shape.patch, (*_AT, "patch"), "file")
    return Workspace(
        tree=trees.of_files(shape, _AT),
        git=_git(shape.git, value_at(raw, ("git",)), reporter, base) if shape.has("git") else None,
        patch=patch,
        setup=cast("tuple[Command, ...]", tuple(shape.setup)),
        protect=_protect(shape, reporter) if shape.has("protect") else None,
    ), patch


def _git(shape: GitShape, raw: JsonValue, reporter: Reporter, base: Path) -> GitSource | None:
    at = (*_AT, "git")
    url, ref = shape.url, shape.ref if shape.has("ref") else "HEAD"
    if not ref.strip() or ref.startswith("-") or re.search(r"[\s\0-\x1f~^:?*\[\\]|\.\.", ref):
        reporter.report((*at, "ref"), f"{ref!r} is no branch, tag or commit")
    if not shape.has("url"):
        if not was_pruned(shape, raw):
            reporter.report(at, "a git source needs a 'url'", key=True)
        return None
    if not url.strip() or "\0" in url or url.startswith("-"):
        reporter.report((*at, "url"), f"{url!r} is no repository: a path or a URL")
        return None
    if _URL.match(url) is None:
        path = Path(os.path.normpath(base / url))
        if not path.exists():
            reporter.report((*at, "url"), f"there is no repository at {url!r}")
            return None
        url = str(path)
    return GitSource(url, ref)


def _protect(shape: WorkspaceShape, reporter: Reporter) -> tuple[str, ...]:
    for index, pattern in enumerate(shape.protect):
        fault = file_fault(pattern)
        if fault is not None:
            reporter.report(
                (*_AT, "protect", index),
                f"the pattern {pattern!r} {fault}",
                advice="a pattern of paths in the workspace, such as tests/**",
            )
    return tuple(shape.protect)
