"""What a third party's sandbox is made with, and what it may inherit."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar, Self

from pytest_agentbench.model.contracts import (
    Altered,
    Capabilities,
    Sandbox,
    SandboxDriver,
    SandboxRequest,
    Template,
)
from pytest_agentbench.model.run import DEFAULT_OUTPUT_LIMIT, Changes, Completed, Manifest
from pytest_agentbench.model.task import Blob
from pytest_agentbench.sandboxes.area import WorkArea
from pytest_agentbench.sandboxes.runtime import Runtime


@dataclass(frozen=True, slots=True)
class SandboxHost:
    """What one process has for its sandboxes.

    ``area`` is its private directory, removed at the end; ``runtime`` finds the
    interpreter for the inside, and pytest beside it; ``hide`` are paths of the host that
    no sandbox may show. ``driver`` makes another kind of sandbox, by its name, to build
    upon. ``shared`` is a directory that the session's processes have in common, to be made
    when it is needed; None: this process is alone.
    """

    area: WorkArea
    runtime: Runtime
    hide: tuple[Path, ...]
    driver: Callable[[str], SandboxDriver]
    shared: Path | None = None


class DriverBase:
    """What a driver may inherit: it is built from what its process has for sandboxes."""

    DEFAULTS: ClassVar[tuple[str, ...]] = ("build", "close")
    """What a class may leave out that does not inherit it."""

    name: ClassVar[str]

    def __init__(self, host: SandboxHost) -> None:
        self.host = host

    @classmethod
    def build(cls, host: SandboxHost) -> Self:
        """The one instance that serves a session."""
        return cls(host)

    def close(self) -> None:
        """Remove what the process still has, at the end of the session."""


class DriverWrapper(DriverBase):
    """A driver that builds on another one, by default ``local``.

    Override ``wrap`` to put something of your own around each sandbox, ``open`` to change
    what is asked for, ``probe`` where it is able to do more or less.
    """

    inner: ClassVar[str] = "local"

    def __init__(self, host: SandboxHost) -> None:
        super().__init__(host)
        self.driver = host.driver(self.inner)

    def probe(self) -> Capabilities:
        """What the other driver can do. Raises its ``SandboxError``."""
        return self.driver.probe()

    async def open(self, template: Template, request: SandboxRequest) -> Sandbox:
        """A sandbox of the other driver, wrapped. Raises ``SandboxError``."""
        return self.wrap(await self.driver.open(template, request))

    def wrap(self, sandbox: Sandbox) -> Sandbox:
        """What an open sandbox becomes."""
        return SandboxWrapper(sandbox, driver=self.name)


class SandboxWrapper:
    """A sandbox that hands everything on to another one: override what is to be different."""

    def __init__(self, inner: Sandbox, *, driver: str | None = None) -> None:
        self.inner = inner
        self.driver = driver or inner.driver
        self.capabilities = inner.capabilities
        self.workspace = inner.workspace
        self.python = inner.python
        self.pytest_path = inner.pytest_path

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
        """Run one command; see ``Sandbox``."""
        return await self.inner.run(
            argv, env=env, cwd=cwd, stdin=stdin, timeout_s=timeout_s, output_limit=output_limit
        )

    async def put(self, files: Mapping[str, Blob]) -> str:
        """Stage files; see ``Sandbox``."""
        return await self.inner.put(files)

    async def scratch(self) -> str:
        """Make a writable directory; see ``Sandbox``."""
        return await self.inner.scratch()

    async def read(self, path: str, *, limit: int) -> bytes | None:
        """Read a regular file; see ``Sandbox``."""
        return await self.inner.read(path, limit=limit)

    async def write(self, files: Mapping[str, Blob]) -> None:
        """Write into the workspace; see ``Sandbox``."""
        await self.inner.write(files)

    async def altered(self, kept: Manifest) -> Altered:
        """What was rewritten; see ``Sandbox``."""
        if not hasattr(self.inner, "altered"):
            return Altered()
        return await self.inner.altered(kept)

    async def settle(self) -> Changes:
        """Kill everything and say what changed; see ``Sandbox``."""
        return await self.inner.settle()

    async def close(self) -> None:
        """Remove every trace; see ``Sandbox``."""
        await self.inner.close()
