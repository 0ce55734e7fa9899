"""What a test process has for its sandboxes, and one opened for as long as a test needs it."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TypeVar

from pytest_agentbench.model.contracts import Sandbox, SandboxDriver, SandboxRequest, Template
from pytest_agentbench.model.run import Changes
from pytest_agentbench.model.task import Blob, SandboxSpec
from pytest_agentbench.sandboxes.driverbase import SandboxHost
from pytest_agentbench.sandboxes.runtime import Runtime
from pytest_agentbench.sandboxes.workspace import WorkArea, build_template
from pytest_agentbench.settings import user_cache
from pytest_agentbench.wiring import build_driver

T = TypeVar("T")
PLAIN = SandboxSpec()
PATIENCE_S = 20.0
"""What a command may take that ends by itself."""

Files = Mapping[str, str | bytes]


@contextmanager
def sandbox_host(directory: Path) -> Iterator[SandboxHost]:
    """What a session has for its sandboxes, below a directory; closed at the end."""
    place = directory / "sandboxes"
    place.mkdir(exist_ok=True)
    area = WorkArea(place)
    cache = user_cache(os.environ)
    runtime = Runtime(cache / "runtime" if cache else None, area)
    hide = (Path(sys.prefix), Path.home(), area.path)
    host = SandboxHost(area, runtime, hide, driver=lambda name: build_driver(name, host))
    try:
        yield host
    finally:
        area.close()


def template_of(files: Files, host: SandboxHost) -> Template:
    """A template with these files; one that begins with ``#!`` is a program."""
    return build_template(blobs(files), host.area.fresh("template"), where="sample")


def blobs(files: Files) -> dict[str, Blob]:
    """Contents of files; what begins with ``#!`` may be executed."""
    datas = {
        name: content.encode() if isinstance(content, str) else content
        for name, content in files.items()
    }
    return {name: Blob(data, executable=data.startswith(b"#!")) for name, data in datas.items()}


def opened(
    driver: SandboxDriver,
    template: Template,
    body: Callable[[Sandbox], Awaitable[T]],
    spec: SandboxSpec = PLAIN,
    *,
    delta: Changes | None = None,
) -> T:
    """Open a sandbox, do ``body`` in it, and close it."""

    async def whole() -> T:
        sandbox = await driver.open(template, SandboxRequest(spec, delta=delta, label="sample"))
        try:
            return await body(sandbox)
        finally:
            await sandbox.close()

    return asyncio.run(whole())


def alive(marker: str) -> list[int]:
    """Processes of this machine whose command line holds ``marker``."""
    found = []
    for each in Path("/proc").iterdir():
        if each.name.isdigit() and int(each.name) != os.getpid():
            try:
                line = (each / "cmdline").read_bytes()
                state = (each / "stat").read_text().rpartition(")")[2].split()[0]
            except OSError:
                continue
            if marker.encode() in line and state != "Z":
                found.append(int(each.name))
    return found
