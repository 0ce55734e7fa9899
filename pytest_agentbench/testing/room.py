"""The room in which suites try a driver: its fixtures, and commands in sandboxes of it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import ClassVar, cast

import pytest

from pytest_agentbench.model.contracts import Sandbox, SandboxDriver, Template
from pytest_agentbench.model.run import Completed
from pytest_agentbench.sandboxes.driverbase import DriverBase, SandboxHost
from pytest_agentbench.testing.host import PATIENCE_S, opened, sandbox_host, template_of

FILES = {
    "README.md": "hello\n",
    "src/app.py": "print(1)\n",
    "src/run.sh": "#!/bin/sh\necho ran\n",
}


class DriverRoom:
    """The fixtures of suites that try a driver: override ``driver`` to make it in another way."""

    driver_class: ClassVar[type[object] | None] = None
    """The class of the driver, built as a session builds it."""

    @pytest.fixture
    def host(self, tmp_path: Path) -> Iterator[SandboxHost]:
        """What this process has for sandboxes."""
        with sandbox_host(tmp_path) as host:
            yield host

    @pytest.fixture
    def driver(self, host: SandboxHost) -> SandboxDriver:
        """The driver that is tried."""
        if self.driver_class is None:
            pytest.fail("name your driver: driver_class = ..., or override the fixture `driver`")
        kind = cast("type[DriverBase]", self.driver_class)
        build = getattr(kind, "build", kind)
        return cast("SandboxDriver", build(host))

    @pytest.fixture
    def template(self, host: SandboxHost) -> Template:
        """A small workspace."""
        return template_of(FILES, host)


def run(
    driver: SandboxDriver,
    template: Template,
    *argv: str,
    stdin: bytes = b"",
    timeout_s: float = PATIENCE_S,
    output_limit: int = 1_000_000,
) -> Completed:
    """Run one command in a sandbox of its own."""

    async def body(sandbox: Sandbox) -> Completed:
        return await sandbox.run(argv, stdin=stdin, timeout_s=timeout_s, output_limit=output_limit)

    return opened(driver, template, body)


async def sh(sandbox: Sandbox, script: str, **env: str) -> Completed:
    """Run a shell script."""
    return await sandbox.run(["sh", "-c", script], timeout_s=PATIENCE_S, env=env)
