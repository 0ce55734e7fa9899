"""Third parties' sandboxes: whatever they raise or give is told as trouble of theirs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import cast

from pytest_agentbench.engine.guests import Guest, sandbox_guest
from pytest_agentbench.model.contracts import (
    Altered,
    Capabilities,
    Sandbox,
    SandboxDriver,
    SandboxRequest,
    Template,
)
from pytest_agentbench.model.run import DEFAULT_OUTPUT_LIMIT, Changes, Completed, Manifest
from pytest_agentbench.model.shape import a_kind
from pytest_agentbench.model.task import Blob

_TEXTS = ("driver", "workspace", "python", "pytest_path")
_METHODS = ("run", "put", "scratch", "read", "write", "settle", "close")


def watched(driver: SandboxDriver) -> SandboxDriver:
    """A driver whose sandboxes are watched; one of ours as it is."""
    guest = sandbox_guest(driver, driver.name)
    return cast("SandboxDriver", _Driver(driver, guest)) if guest.foreign else driver


class _Driver:
    """A third party's driver."""

    def __init__(self, driver: SandboxDriver, guest: Guest) -> None:
        self.name = driver.name
        self._driver = driver
        self._guest = guest

    def probe(self) -> Capabilities:
        """What works on this machine. Raises ``SandboxError``."""
        with self._guest.does("probe()"):
            found = self._driver.probe()
        return self._guest.gave("probe() gave", found, Capabilities)

    async def open(self, template: Template, request: SandboxRequest) -> Sandbox:
        """A fresh sandbox. Raises ``SandboxError``."""
        with self._guest.does("open()"):
            opened = await self._driver.open(template, request)
        inner = sandbox_guest(opened, self.name)
        if not inner.foreign:
            return opened
        lacking = next((name for name in _METHODS if not hasattr(opened, name)), None)
        if lacking is not None:
            said = f"open() gave {a_kind(opened)}, which has no {lacking!r}"
            raise self._guest.wrong(said)
        for name in _TEXTS:
            self._guest.gave(f"open() gave as {name!r}", getattr(opened, name, None), str)
        return _Sandbox(opened, inner)


class _Sandbox:
    """A third party's open sandbox."""

    def __init__(self, inner: Sandbox, guest: Guest) -> None:
        self._inner = inner
        self._guest = guest
        self.driver = inner.driver
        self.capabilities = inner.capabilities
        self.workspace = inner.workspace
        self.python = inner.python
        self.pytest_path = inner.pytest_path

    def __getattr__(self, name: str) -> object:
        """What it has beyond the contract (``attach`` of a shell)."""
        return getattr(self._inner, name)

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
        with self._guest.does("run()"):
            done = await self._inner.run(
                argv, env=env, cwd=cwd, stdin=stdin, timeout_s=timeout_s, output_limit=output_limit
            )
        return self._guest.gave("run() gave", done, Completed)

    async def put(self, files: Mapping[str, Blob]) -> str:
        """Stage files; see ``Sandbox``."""
        with self._guest.does("put()"):
            place = await self._inner.put(files)
        return self._guest.gave("put() gave", place, str)

    async def scratch(self) -> str:
        """Make a writable directory; see ``Sandbox``."""
        with self._guest.does("scratch()"):
            place = await self._inner.scratch()
        return self._guest.gave("scratch() gave", place, str)

    async def read(self, path: str, *, limit: int) -> bytes | None:
        """Read a regular file; see ``Sandbox``."""
        with self._guest.does("read()"):
            data = await self._inner.read(path, limit=limit)
        return None if data is None else self._guest.gave("read() gave", data, bytes)

    async def write(self, files: Mapping[str, Blob]) -> None:
        """Write into the workspace; see ``Sandbox``."""
        with self._guest.does("write()"):
            await self._inner.write(files)

    async def altered(self, kept: Manifest) -> Altered:
        """What was rewritten; see ``Sandbox``. A sandbox need not be able to tell."""
        if not hasattr(self._inner, "altered"):
            return Altered()
        with self._guest.does("altered()"):
            found = await self._inner.altered(kept)
        return self._guest.gave("altered() gave", found, Altered)

    async def settle(self) -> Changes:
        """Kill everything and say what changed; see ``Sandbox``."""
        with self._guest.does("settle()"):
            changes = await self._inner.settle()
        return self._guest.gave("settle() gave", changes, Changes)

    async def close(self) -> None:
        """Remove every trace; see ``Sandbox``."""
        with self._guest.does("close()"):
            await self._inner.close()
