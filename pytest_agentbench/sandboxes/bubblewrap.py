"""`bubblewrap`: namespaces around each command, the host's system read-only, nothing else of it.

Every ``run`` is a bwrap of its own, with a PID namespace of its own: when it ends,
the kernel has killed all that it started.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from functools import cached_property
from pathlib import Path
from typing import ClassVar, Self, cast

from pytest_agentbench.errors import SandboxError
from pytest_agentbench.model.contracts import Capabilities, SandboxRequest, Template
from pytest_agentbench.model.run import Completed
from pytest_agentbench.sandboxes import cgroups
from pytest_agentbench.sandboxes.area import WorkArea
from pytest_agentbench.sandboxes.base import (
    DirectorySandbox,
    Places,
    new_places,
    opened,
    refuse_missing,
)
from pytest_agentbench.sandboxes.driverbase import SandboxHost
from pytest_agentbench.sandboxes.furniture import Furniture
from pytest_agentbench.sandboxes.namespace import Namespace, Status
from pytest_agentbench.sandboxes.process import Command, Ended, data_file, run_command
from pytest_agentbench.sandboxes.runtime import Interpreter, Runtime
from pytest_agentbench.sandboxes.view import PYTEST, View, view_of

_WALLS = (
    "--unshare-user",
    "--unshare-pid",
    "--unshare-ipc",
    "--unshare-uts",
    "--unshare-cgroup-try",
    "--uid", "1000",
    "--gid", "1000",
    "--hostname", "sandbox",
    "--cap-drop", "ALL",
    "--new-session",
    "--die-with-parent",
    "--clearenv",
)  # fmt: skip
_OWN_PROCESSES = 2
"""bwrap itself, and the first process of its PID namespace."""
_PATIENCE_S = 20.0


class BubblewrapDriver:
    """Opens sandboxes with bwrap."""

    name: ClassVar[str] = "bubblewrap"

    def __init__(self, area: WorkArea, runtime: Runtime, *, hide: tuple[Path, ...] = ()) -> None:
        """``hide`` are host paths that no sandbox may show, wherever they lie."""
        self._area = area
        self._runtime = runtime
        self._hide = (*hide, area.path)
        self._views: dict[tuple[object, ...], View] = {}
        self._refusal: SandboxError | None = None

    @classmethod
    def build(cls, host: SandboxHost) -> Self:
        """The one instance that serves a session."""
        return cls(host.area, host.runtime, hide=host.hide)

    def probe(self) -> Capabilities:
        """Put up real walls once. Raises ``SandboxError`` that says why they do not stand."""
        if self._refusal is not None:
            raise self._refusal
        try:
            return self._capabilities
        except SandboxError as fault:
            self._refusal = fault
            raise

    async def open(self, template: Template, request: SandboxRequest) -> BubblewrapSandbox:
        """A fresh copy of the template behind walls. Raises ``SandboxError``."""
        capabilities = self.probe()
        refuse_missing(request.spec, capabilities, self.name)
        interpreter = self._runtime.interpreter(request.spec.python)
        view = self._view(interpreter, request)
        sandbox = BubblewrapSandbox(
            places=new_places(self._area, inside_root="/"),
            template=template,
            request=request,
            capabilities=capabilities,
            interpreter=interpreter,
            view=view,
            program=self._program,
        )
        return cast("BubblewrapSandbox", await opened(sandbox))

    @cached_property
    def _program(self) -> str:
        found = shutil.which("bwrap")
        if found is None:
            raise SandboxError(
                "bwrap is not installed",
                where="sandbox bubblewrap",
                advice="install the package `bubblewrap`",
            )
        return found

    @cached_property
    def _furniture(self) -> Furniture:
        try:
            return Furniture.make(self._area.path / "furniture")
        except OSError as fault:
            raise SandboxError(f"no room for a sandbox: {fault}") from fault

    @cached_property
    def _capabilities(self) -> Capabilities:
        view = View()
        view.show("/", "/")
        view.show_processes()
        # As PID 1, or else bwrap ends first and leaves its reaper behind as our zombie.
        arguments = [*_WALLS, "--unshare-net", "--as-pid-1", *view.arguments({})]
        try:
            done = subprocess.run(
                [self._program, *arguments, "--", "/bin/sh", "-c", ":"],
                capture_output=True,
                check=False,
                timeout=_PATIENCE_S,
                stdin=subprocess.DEVNULL,
                env={},
            )
        except (OSError, subprocess.SubprocessError) as fault:
            raise SandboxError(f"bwrap does not start: {fault}") from fault
        if done.returncode != 0:
            raise SandboxError(
                f"bwrap cannot put up its walls: {done.stderr.decode(errors='replace').strip()}",
                where="sandbox bubblewrap",
                advice="allow unprivileged user namespaces (sysctl"
                " kernel.unprivileged_userns_clone=1 and"
                " kernel.apparmor_restrict_unprivileged_userns=0);"
                " in a container, a privileged one",
            )
        limits = cgroups.probe()
        return Capabilities(
            isolates_processes=True,
            hides_host=True,
            controls_network=True,
            limits_memory=limits.memory,
            limits_cpus=limits.cpus,
            limits_pids=limits.pids,
            notes=limits.notes,
        )

    def _view(self, interpreter: Interpreter, request: SandboxRequest) -> View:
        read_only = (*request.spec.read_only, *request.roots)
        key = (interpreter, read_only, request.network)
        if key not in self._views:
            self._views[key] = view_of(
                interpreter,
                network=request.network,
                read_only=read_only,
                hide=self._hide,
                furniture=self._furniture,
            )
        return self._views[key]


class BubblewrapSandbox(DirectorySandbox):
    """A directory that is bound into a fresh bwrap for each command."""

    driver = "bubblewrap"

    def __init__(
        self,
        *,
        places: Places,
        template: Template,
        request: SandboxRequest,
        capabilities: Capabilities,
        interpreter: Interpreter,
        view: View,
        program: str,
    ) -> None:
        super().__init__(
            places=places,
            template=template,
            request=request,
            capabilities=capabilities,
            interpreter=interpreter,
        )
        self.pytest_path = PYTEST
        self._view = view
        self._program = program

    async def _execute(
        self,
        argv: tuple[str, ...],
        env: dict[str, str],
        cwd: str,
        stdin: bytes,
        timeout_s: float,
        output_limit: int,
    ) -> Completed:
        tree = Namespace()
        try:
            with cgroups.group_for(self._request.spec, walls=_OWN_PROCESSES) as group:
                words = data_file(self._arguments(tree.writer, env, cwd))
                try:
                    line = (self._program, "--args", str(words), "--", *argv)
                    command = Command(
                        argv=group.entering(line) if group else line,
                        env={},
                        cwd=Path("/"),
                        timeout_s=timeout_s,
                        stdin=stdin,
                        output_limit=output_limit,
                        pass_fds=(words, tree.writer),
                        stdio=self._stdio,
                    )
                    self._enter(tree)
                    ended = await run_command(command, tree)
                except OSError as fault:
                    raise SandboxError(
                        f"bwrap cannot be started: {fault}", where="bubblewrap"
                    ) from fault
                finally:
                    self._leave(tree)
                    os.close(words)
                return _completed(
                    ended,
                    tree.status(),
                    struck=self._closed or self._settled,
                    out_of_memory=group is not None and group.out_of_memory(),
                )
        finally:
            tree.close()

    def _arguments(self, status: int, env: dict[str, str], cwd: str) -> bytes:
        """All that bwrap is told, NUL-separated.

        It is not on bwrap's command line, where every user of the host would see the
        environment and its secrets.
        """
        own: dict[str, tuple[str, ...]] = {}
        for name in ("workspace", "home", "tmp", *self._staged, *self._scratches):
            place = self._places.inside(name)
            how = "--ro-bind" if name in self._staged else "--bind"
            own[place] = (how, f"{self._places.root}/{name}", place)
        words = [
            *_WALLS,
            *(() if self._request.network else ("--unshare-net",)),
            *self._view.arguments(own),
            "--remount-ro",
            "/",
            "--json-status-fd",
            str(status),
            "--chdir",
            cwd,
        ]
        for name, value in env.items():
            words += ["--setenv", name, value]
        return os.fsencode("\0".join(words) + "\0")


def _completed(ended: Ended, status: Status, *, struck: bool, out_of_memory: bool) -> Completed:
    """What became of the command itself. Raises ``SandboxError`` if it was the walls that failed.

    A command that died of a signal has the exit code 128 + signal, as bwrap reports it.
    """
    code = status.exit_code
    launch_error = ended.launch_error
    signal = None
    if ended.returncode is not None and ended.returncode < 0:
        code, signal = None, -ended.returncode
    elif code is None and not ended.timed_out and not struck and launch_error is None:
        # It was never started, so all that stands in stderr is bwrap's own.
        said = ended.stderr.text().strip().removeprefix("bwrap: ")
        if not said.startswith(("execvp ", "Can't chdir to ")):
            raise SandboxError(
                f"bwrap could not put up its walls: {said or f'exit {ended.returncode}'}",
                where="sandbox bubblewrap",
            )
        launch_error = f"cannot execute: {said.removeprefix('execvp ')}"
    return Completed(
        exit_code=None if ended.timed_out else code,
        duration_s=ended.duration_s,
        stdout=ended.stdout,
        stderr=ended.stderr if launch_error is None else type(ended.stderr)(),
        signal=signal,
        timed_out=ended.timed_out,
        out_of_memory=out_of_memory,
        launch_error=launch_error,
        survivors=ended.survivors,
    )
