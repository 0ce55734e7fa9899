"""What `local` and `bubblewrap` share: one directory a sandbox, on the host.

- ``workspace``: a copy of the template;
- ``home`` and ``tmp``: HOME and TMPDIR;
- random names: what ``put`` laid down, read-only inside, and what ``scratch`` made.
"""

from __future__ import annotations

import abc
import asyncio
import contextlib
import os
import secrets
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import ParamSpec, TypeVar

from pytest_agentbench.errors import SandboxClosed, SandboxError
from pytest_agentbench.model.contracts import Altered, Capabilities, SandboxRequest, Template
from pytest_agentbench.model.run import DEFAULT_OUTPUT_LIMIT, Changes, Completed, Manifest
from pytest_agentbench.model.task import Blob, SandboxSpec
from pytest_agentbench.sandboxes.area import WorkArea, remove_tree, remove_trees
from pytest_agentbench.sandboxes.beneath import read_below, root_of, stage, write_below
from pytest_agentbench.sandboxes.evidence import altered_below
from pytest_agentbench.sandboxes.linediff import count_lines
from pytest_agentbench.sandboxes.manifest import compare
from pytest_agentbench.sandboxes.process import Tree
from pytest_agentbench.sandboxes.runtime import Interpreter
from pytest_agentbench.sandboxes.size import has_grown, is_big
from pytest_agentbench.sandboxes.view import shown_everywhere
from pytest_agentbench.sandboxes.workspace import apply_changes, copy_template

_P = ParamSpec("_P")
_T = TypeVar("_T")

SYSTEM_PATH = "/usr/local/bin:/usr/bin:/bin:/usr/local/sbin:/usr/sbin:/sbin"


def missing(spec: SandboxSpec, capabilities: Capabilities) -> list[str]:
    """What ``spec`` asks for and a driver with these capabilities cannot give, with the why."""
    asked = {
        "limits_memory": ("memory", spec.memory_bytes is not None),
        "limits_cpus": ("cpus", spec.cpus is not None),
        "limits_pids": ("pids", spec.pids is not None),
        "controls_network": ("network: none", spec.network == "none"),
        "uses_images": (", ".join(spec.of_containers), bool(spec.of_containers)),
        "keeps_installed": ("scoring: commit", spec.scoring == "commit"),
    }
    return [
        f"{what} ({capabilities.notes.get(capability, 'not possible here')})"
        for capability, (what, wanted) in asked.items()
        if wanted and not getattr(capabilities, capability)
    ]


@dataclass(frozen=True, slots=True)
class Places:
    """Where things are on the host, and what programs inside call them."""

    root: Path
    inside_root: str | None
    """None: inside and outside are the same (``local``)."""

    @property
    def workspace(self) -> Path:
        """The workspace on the host."""
        return self.root / "workspace"

    def inside(self, name: str) -> str:
        """The path inside of one directory of the sandbox's."""
        if self.inside_root is None:
            return f"{self.root}/{name}"
        return "/home/user" if name == "home" else f"{self.inside_root}{name}"


class DirectorySandbox(abc.ABC):
    """A sandbox whose files are directories of the host."""

    driver: str

    def __init__(
        self,
        *,
        places: Places,
        template: Template,
        request: SandboxRequest,
        capabilities: Capabilities,
        interpreter: Interpreter,
    ) -> None:
        self.capabilities = capabilities
        self.workspace = places.inside("workspace")
        self.python = str(interpreter.executable)
        self.pytest_path = str(interpreter.pytest_path)
        self._places = places
        self._template = template
        self._request = request
        self._interpreter = interpreter
        self._staged: dict[str, Mapping[str, Blob]] = {}
        self._began_ns = 0
        self._scratches: list[str] = []
        self._trees: set[Tree] = set()
        self._idle = asyncio.Event()
        self._idle.set()
        self._settled = False
        self._closed = False
        self._stop = threading.Event()
        self._big = is_big(template.manifest.values())
        self._stdio: tuple[int, int, int] | None = None

    @abc.abstractmethod
    async def _execute(
        self,
        argv: tuple[str, ...],
        env: dict[str, str],
        cwd: str,
        stdin: bytes,
        timeout_s: float,
        output_limit: int,
    ) -> Completed:
        """Run one command inside."""

    async def prepare(self) -> None:
        """Make the directories and fill the workspace. Raises ``SandboxError``."""
        try:
            for name in ("workspace", "home", "tmp"):
                os.mkdir(f"{self._places.root}/{name}", 0o755)
        except OSError as fault:
            raise SandboxError(f"no room for a sandbox: {fault}", where=self.driver) from fault
        workspace, stopped = self._places.workspace, self._stop.is_set
        await self._work(copy_template, self._big, self._template, workspace, stopped=stopped)
        delta = self._request.delta
        if delta is not None and not delta.empty:
            big = is_big([change.entry for change in delta.changes])
            await self._work(apply_changes, big, delta, workspace, stopped=stopped)

    async def run(
        self,
        argv: Sequence[str],
        *,
        env: Mapping[str, str] | None = None,
        cwd: str | None = None,
        stdin: bytes = b"",
        timeout_s: float,
        output_limit: int = DEFAULT_OUTPUT_LIMIT,
    ) -> Completed:
        """Run one command; see ``model.contracts.Sandbox``."""
        self._check_unsettled()
        if not argv:
            return Completed(None, 0.0, launch_error="the command is empty")
        self._began_ns = self._began_ns or time.time_ns()
        environment = self._environment() | dict(env or {})
        directory = str(PurePosixPath(self.workspace, cwd or ""))
        try:
            completed = await self._execute(
                tuple(argv), environment, directory, stdin, timeout_s, output_limit
            )
        finally:
            self._reclaim()
        if self._closed:
            raise SandboxClosed("the sandbox was torn down while a command ran in it")
        return completed

    async def attach(
        self,
        argv: Sequence[str],
        *,
        stdio: tuple[int, int, int],
        env: Mapping[str, str] | None = None,
        timeout_s: float,
    ) -> Completed:
        """Run one command on descriptors of ours, such as a terminal; nothing is captured."""
        self._stdio = stdio
        try:
            return await self.run(argv, env=env, timeout_s=timeout_s)
        finally:
            self._stdio = None

    async def put(self, files: Mapping[str, Blob]) -> str:
        """Stage files; see ``model.contracts.Sandbox``."""
        self._check_unsettled()
        name = secrets.token_hex(8)
        try:
            stage(self._places.root / name, files)
        except (OSError, ValueError) as fault:
            raise SandboxError(f"files cannot be staged: {fault}", where=self.driver) from fault
        self._staged[name] = dict(files)
        return self._places.inside(name)

    async def scratch(self) -> str:
        """Make a writable directory; see ``model.contracts.Sandbox``."""
        self._check_unsettled()
        name = secrets.token_hex(8)
        try:
            os.mkdir(f"{self._places.root}/{name}", 0o755)
        except OSError as fault:
            raise SandboxError(f"no scratch directory: {fault}", where=self.driver) from fault
        self._scratches.append(name)
        return self._places.inside(name)

    async def read(self, path: str, *, limit: int) -> bytes | None:
        """Read a regular file; see ``model.contracts.Sandbox``."""
        self._check_open()
        found = self._locate(path)
        if found is None:
            return None
        directory, name = found
        try:
            with root_of(directory) as root:
                return read_below(root, os.fsencode(name), limit)
        except OSError:
            return None

    async def write(self, files: Mapping[str, Blob]) -> None:
        """Write into the workspace; whatever stands in the way is replaced."""
        self._check_unsettled()
        try:
            with root_of(self._places.workspace) as root:
                for path, blob in files.items():
                    write_below(root, os.fsencode(path), blob.data, executable=blob.executable)
        except (OSError, ValueError) as fault:
            raise SandboxError(
                f"cannot write to the workspace: {fault}", where=self.driver
            ) from fault

    async def altered(self, kept: Manifest) -> Altered:
        """What was rewritten since the first command; see ``model.contracts.Sandbox``."""
        self._check_unsettled()
        return await self._work(self._altered, self._big, kept)

    async def settle(self) -> Changes:
        """Kill everything and compare with the template; see ``model.contracts.Sandbox``.

        Of the sandbox, only the workspace is left: a full home or temporary directory
        would take the room that scoring needs.
        """
        self._check_open()
        self._settled = True
        await self._kill()
        self._reclaim()
        rooms = [room for room in self._rooms() if room.name != "workspace"]
        await self._work(remove_trees, has_grown(rooms), rooms)
        self._big = self._big or has_grown([self._places.workspace])
        return await self._work(self._compare, self._big)

    async def close(self) -> None:
        """Kill every process and remove every trace. Idempotent."""
        if self._closed:
            return
        self._closed = True
        await self._kill()
        big = self._big or (not self._settled and has_grown(self._rooms()))
        await self._work(remove_tree, big, self._places.root)

    def _altered(self, kept: Manifest) -> Altered:
        staged: list[str] = []
        for name, files in self._staged.items():
            known = {os.fsencode(path): blob for path, blob in files.items()}
            found = altered_below(self._places.root / name, known, self._began_ns)
            staged += map(os.fsdecode, found)
        workspace = self._places.workspace
        changed = altered_below(workspace, kept, self._began_ns) if kept else ()
        return Altered(tuple(staged), changed)

    def _compare(self) -> Changes:
        inside = self._places.inside_root
        changes = compare(
            self._template.manifest,
            self._places.workspace,
            inside=None if inside is None else os.fsencode(self.workspace),
            shown=[os.fsencode(path) for path in self._shown_everywhere()],
        )
        return count_lines(self._template, changes)

    def _environment(self) -> dict[str, str]:
        """The fixed environment. Nothing of the harness's own is in it.

        PYTHONDONTWRITEBYTECODE: a program that is only run must not count as a change.
        """
        own = [str(path) for path in self._interpreter.path]
        if not any(os.path.exists(f"{path}/python") for path in own):
            own.append(f"{self.pytest_path}/bin")
        fixed = {
            "PATH": ":".join([*own, SYSTEM_PATH]),
            "HOME": self._places.inside("home"),
            "TMPDIR": self._places.inside("tmp"),
            "LANG": "C.UTF-8",
            "PYTHONDONTWRITEBYTECODE": "1",
            **self._request.spec.env,
        }
        if self._request.spec.python is None:
            # The base interpreter has no packages; a task's own environment brings its pytest.
            paths = [fixed.get("PYTHONPATH", ""), self.pytest_path]
            fixed["PYTHONPATH"] = ":".join(filter(None, paths))
        return fixed

    def _locate(self, path: str) -> tuple[Path, str] | None:
        """The host directory, and the name below it, of a path that may be read."""
        whole = PurePosixPath(self.workspace, path)
        bases = {self.workspace: self._places.workspace}
        for name in (*self._staged, *self._scratches):
            bases[self._places.inside(name)] = self._places.root / name
        for inside, directory in bases.items():
            if whole != PurePosixPath(inside) and whole.is_relative_to(inside):
                return directory, str(whole.relative_to(inside))
        return None

    def _check_open(self) -> None:
        if self._closed:
            raise SandboxClosed("the sandbox was torn down", where=self._request.label)

    def _check_unsettled(self) -> None:
        self._check_open()
        if self._settled:
            raise SandboxClosed("only its workspace is left, to be read", where=self._request.label)

    def _enter(self, tree: Tree) -> None:
        self._trees.add(tree)
        self._idle.clear()

    def _leave(self, tree: Tree) -> None:
        self._trees.discard(tree)
        if not self._trees:
            self._idle.set()

    async def _kill(self) -> None:
        """End commands that still run; each ``run`` then ends by itself."""
        for tree in tuple(self._trees):
            tree.strike()
        await self._idle.wait()

    def _shown_everywhere(self) -> tuple[Path, ...]:
        return shown_everywhere(self._interpreter, self._request.spec.read_only)

    def _rooms(self) -> list[Path]:
        """The directories of the sandbox on the host."""
        names = ("workspace", "home", "tmp", *self._staged, *self._scratches)
        return [self._places.root / name for name in names]

    def _reclaim(self) -> None:
        """Undo what an agent without walls can do to the sandbox's own directory.

        A symlink there would have the harness read, and remove, what it leads to.
        """
        root = self._places.root
        with contextlib.suppress(OSError):
            if root.is_symlink():
                root.unlink()
            else:
                root.chmod(0o700)

    async def _work(
        self,
        function: Callable[_P, _T],
        big: bool,  # noqa: FBT001 - keywords are the function's
        *args: _P.args,
        **kwargs: _P.kwargs,
    ) -> _T:
        if not big:
            return function(*args, **kwargs)
        job = asyncio.ensure_future(asyncio.to_thread(function, *args, **kwargs))
        try:
            return await asyncio.shield(job)
        except asyncio.CancelledError:
            # A thread cannot be cancelled: what it still copied would be left behind.
            self._stop.set()
            await asyncio.wait([job])
            raise


async def opened(sandbox: DirectorySandbox) -> DirectorySandbox:
    """Prepare a sandbox, and remove what was made of it when that fails or is cancelled."""
    try:
        await sandbox.prepare()
    except BaseException:
        await sandbox.close()
        raise
    return sandbox


def refuse_missing(spec: SandboxSpec, capabilities: Capabilities, driver: str) -> None:
    """Raise ``SandboxError`` when the task asks for what cannot be given here."""
    lacking = missing(spec, capabilities)
    if lacking:
        raise SandboxError(
            f"cannot give what the task asks for: {', '.join(lacking)}",
            where=f"sandbox {driver}",
            advice="drop the setting, or run on a machine that can enforce it",
        )


def new_places(area: WorkArea, *, inside_root: str | None) -> Places:
    """A fresh directory for one sandbox. Raises ``SandboxError``."""
    try:
        return Places(area.fresh(), inside_root)
    except OSError as fault:
        raise SandboxError(f"no room for a sandbox: {fault}") from fault
