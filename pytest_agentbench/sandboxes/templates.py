"""Makes a task's template: commit, files, patch, set-up commands, and a variant's overlay.

Each step leaves a whole template, in which nothing that is hidden may be found.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path

from pytest_agentbench.errors import SandboxError, SetupError
from pytest_agentbench.model.contracts import SandboxDriver, Template
from pytest_agentbench.model.run import Entry, EntryKind, Manifest
from pytest_agentbench.model.task import FileTree, SandboxSpec, TaskSpec, Workspace
from pytest_agentbench.sandboxes.area import WorkArea
from pytest_agentbench.sandboxes.gitcalls import Git
from pytest_agentbench.sandboxes.gitfresh import (
    commit_afresh,
    of_repository,
    remove_repository,
    without_repository,
)
from pytest_agentbench.sandboxes.gitsource import Exported, GitSources
from pytest_agentbench.sandboxes.hidden import Hidden
from pytest_agentbench.sandboxes.manifest import scan
from pytest_agentbench.sandboxes.patching import apply_patch
from pytest_agentbench.sandboxes.pins import Pins
from pytest_agentbench.sandboxes.setup_commands import run_setup
from pytest_agentbench.sandboxes.threads import in_thread
from pytest_agentbench.sandboxes.workspace import (
    copy_template,
    lay_tree,
    list_template,
    manifest_digest,
)


class Templates:
    """Builds templates below the work area of one process. Not remembered here."""

    def __init__(self, area: WorkArea, *, pins: Path | None = None) -> None:
        """``pins`` is the file in which the session's processes agree on commits."""
        self._area = area
        self._git = Git(area)
        self._sources = GitSources(self._git, Pins(pins))
        self._tracked: dict[str, tuple[bytes, ...]] = {}

    async def build(self, task: TaskSpec, hidden: Hidden) -> Template:
        """The template before set-up commands. Raises ``SetupError``."""
        workspace, where = task.workspace, task.id
        directory = self._area.fresh("template")
        exported: Exported | None = None
        if workspace.git is not None:
            exported = await self._sources.export(workspace.git, directory, where=where)
        await in_thread(partial(_lay, workspace.tree, directory, hidden, where))
        if exported is not None:
            _refuse_repository(directory, where)
            exported.refuse_absent(directory, where)
            self._tracked[task.id] = exported.tracked
        if workspace.patch is not None:
            await apply_patch(self._git, workspace.patch, directory, where=where)
        return await self._finish(task, directory, hidden)

    async def set_up(
        self,
        template: Template,
        task: TaskSpec,
        hidden: Hidden,
        driver: SandboxDriver,
        walls: SandboxSpec,
    ) -> Template:
        """The template after the task's set-up commands. Raises ``TrialFault``."""
        directory = self._area.fresh("template")
        base = await run_setup(
            task.workspace.setup, template, directory, driver, walls, where=task.id
        )
        # Links to what every sandbox shows may have been made, and were looked at already.
        made = await self._finish(task, directory, hidden, links=True)
        return replace(made, base=base)

    async def overlaid(
        self, template: Template, overlay: Path, task: TaskSpec, hidden: Hidden
    ) -> Template:
        """A copy of the template with an overlay's files over it. Raises ``SetupError``."""
        where = f"{task.id}: overlay {overlay.name}"
        directory = self._area.fresh("template")
        await in_thread(partial(_copy, template, directory, where))
        laid = await in_thread(partial(_lay, FileTree(overlay), directory, hidden, where))
        if any(of_repository(path) for path in laid):
            raise SetupError("an overlay cannot bring a .git", where=where)
        made = await self._finish(task, directory, hidden, links=True)
        return replace(made, overlay=frozenset(laid), base=template.base)

    async def _finish(
        self, task: TaskSpec, directory: Path, hidden: Hidden, *, links: bool = False
    ) -> Template:
        workspace, where = task.workspace, task.id
        if workspace.git is not None:
            # What git itself keeps is made anew: a set-up command may have fetched history.
            remove_repository(directory)
        manifest = await asyncio.to_thread(_manifest, directory, where, links)
        if workspace.git is not None:
            tracked = self._tracked.get(task.id, ())
            await commit_afresh(self._git, directory, manifest, tracked, where=where)
            manifest = {**manifest, **await asyncio.to_thread(_repository, directory)}
        await asyncio.to_thread(_refuse_hidden, hidden, manifest, directory, workspace, where)
        counted = manifest if workspace.git is None else without_repository(manifest)
        return Template(directory, manifest, manifest_digest(counted))


def _lay(
    tree: FileTree,
    directory: Path,
    hidden: Hidden,
    where: str,
    *,
    stopped: Callable[[], bool],
) -> tuple[bytes, ...]:
    return lay_tree(tree, directory, hidden.identities, where=where, stopped=stopped)


def _copy(template: Template, directory: Path, where: str, *, stopped: Callable[[], bool]) -> None:
    try:
        copy_template(template, directory, stopped=stopped)
    except SandboxError as fault:
        raise SetupError(fault.what, where=where) from fault


def _manifest(directory: Path, where: str, links: bool) -> Manifest:  # noqa: FBT001
    if not links:
        return list_template(directory, where=where).entries
    try:
        return scan(directory).entries
    except OSError as fault:
        raise SetupError(f"the workspace cannot be built: {fault}", where=where) from fault


def _repository(directory: Path) -> Manifest:
    inner = scan(directory / ".git").entries
    return {b".git": Entry(EntryKind.DIRECTORY)} | {
        b".git/" + path: entry for path, entry in inner.items()
    }


def _refuse_hidden(
    hidden: Hidden, manifest: Manifest, directory: Path, workspace: Workspace, where: str
) -> None:
    hidden.refuse(manifest, directory, workspace, where=where)


def _refuse_repository(directory: Path, where: str) -> None:
    if (directory / ".git").exists() or (directory / ".git").is_symlink():
        raise SetupError(
            "workspace.copy brings a .git besides that of workspace.git",
            where=where,
            advice="one of them: a copy keeps its history, workspace.git has none",
        )
