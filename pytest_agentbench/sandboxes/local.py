"""`local`: a copy of the workspace and a clean environment, and no walls.

Trusted agents run here by themselves, others when the user says so.
"""

from __future__ import annotations

from functools import cached_property
from pathlib import Path
from typing import ClassVar, Self, cast

from pytest_agentbench.errors import SandboxError
from pytest_agentbench.model.contracts import Capabilities, SandboxRequest, Template
from pytest_agentbench.model.run import Completed
from pytest_agentbench.sandboxes import cgroups
from pytest_agentbench.sandboxes.area import WorkArea
from pytest_agentbench.sandboxes.base import DirectorySandbox, new_places, opened, refuse_missing
from pytest_agentbench.sandboxes.driverbase import SandboxHost
from pytest_agentbench.sandboxes.launch import why_not
from pytest_agentbench.sandboxes.process import Command, Ended, run_command
from pytest_agentbench.sandboxes.runtime import Runtime
from pytest_agentbench.sandboxes.sweep import Sweep

_NO_WALLS = "`local` has no walls"


class LocalDriver:
    """Opens sandboxes that are only directories."""

    name: ClassVar[str] = "local"

    def __init__(self, area: WorkArea, runtime: Runtime) -> None:
        self._area = area
        self._runtime = runtime

    @classmethod
    def build(cls, host: SandboxHost) -> Self:
        """The one instance that serves a session."""
        return cls(host.area, host.runtime)

    def probe(self) -> Capabilities:
        """Nothing is isolated; limits where control groups can be made."""
        return self._capabilities

    async def open(self, template: Template, request: SandboxRequest) -> LocalSandbox:
        """A fresh copy of the template. Raises ``SandboxError``."""
        refuse_missing(request.spec, self._capabilities, self.name)
        sandbox = LocalSandbox(
            places=new_places(self._area, inside_root=None),
            template=template,
            request=request,
            capabilities=self._capabilities,
            interpreter=self._runtime.interpreter(request.spec.python),
        )
        return cast("LocalSandbox", await opened(sandbox))

    @cached_property
    def _capabilities(self) -> Capabilities:
        limits = cgroups.probe()
        notes = dict.fromkeys(("isolates_processes", "hides_host", "controls_network"), _NO_WALLS)
        return Capabilities(
            limits_memory=limits.memory,
            limits_cpus=limits.cpus,
            limits_pids=limits.pids,
            notes=notes | dict(limits.notes),
        )


class LocalSandbox(DirectorySandbox):
    """A directory, and a sweep after each command."""

    driver = "local"

    async def _execute(
        self,
        argv: tuple[str, ...],
        env: dict[str, str],
        cwd: str,
        stdin: bytes,
        timeout_s: float,
        output_limit: int,
    ) -> Completed:
        with cgroups.group_for(self._request.spec) as group:
            if group is not None:
                # The shell that enters the group would hide why a start fails.
                refusal = why_not(argv[0], env.get("PATH", ""), Path(cwd))
                if refusal is not None:
                    return Completed(None, 0.0, launch_error=refusal)
            tree = Sweep(self._places.root, group)
            command = Command(
                group.entering(argv) if group else argv,
                env,
                Path(cwd),
                timeout_s,
                stdin,
                output_limit,
                stdio=self._stdio,
            )
            self._enter(tree)
            try:
                ended = await run_command(command, tree)
            except OSError as fault:
                raise SandboxError(
                    f"a command cannot be started: {fault}", where="local"
                ) from fault
            finally:
                self._leave(tree)
            return completed(ended, out_of_memory=group is not None and group.out_of_memory())


def completed(ended: Ended, *, out_of_memory: bool) -> Completed:
    """A host command's end, as the contract says it."""
    code = ended.returncode
    killed = code is None or code < 0
    return Completed(
        exit_code=None if killed or ended.timed_out else code,
        duration_s=ended.duration_s,
        stdout=ended.stdout,
        stderr=ended.stderr,
        signal=-code if code is not None and code < 0 else None,
        timed_out=ended.timed_out,
        out_of_memory=out_of_memory,
        launch_error=ended.launch_error,
        survivors=ended.survivors,
    )
