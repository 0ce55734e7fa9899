"""The one place where an engine is put together from settings."""

from __future__ import annotations

import logging
import os
import sys
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from pathlib import Path
from typing import TypeAlias, cast

from pytest_agentbench.engine.engine import Engine
from pytest_agentbench.engine.guestwalls import watched
from pytest_agentbench.engine.preparation import Preparations
from pytest_agentbench.engine.slots import Slots, slots_directory
from pytest_agentbench.errors import AgentbenchError, BrokenComponent
from pytest_agentbench.model.contracts import SandboxDriver
from pytest_agentbench.registry import built_in_names, last_line, sandbox_class
from pytest_agentbench.sandboxes.choice import AUTO
from pytest_agentbench.sandboxes.driverbase import DriverBase, SandboxHost
from pytest_agentbench.sandboxes.runtime import Runtime
from pytest_agentbench.sandboxes.templates import Templates
from pytest_agentbench.sandboxes.workspace import WorkArea, reap_stale
from pytest_agentbench.settings import Settings, user_cache
from pytest_agentbench.taskfiles.assets import hidden_groups

_LOG = logging.getLogger(__name__)

MakeSandbox: TypeAlias = Callable[[str, Callable[[], SandboxDriver]], SandboxDriver]
"""Makes the driver of a name; it is handed what would be made without it."""


def build_engine(
    settings: Settings,
    *,
    slots: Mapping[str, int] | None = None,
    pins: Path | None = None,
    sandboxes: Iterable[str] = (),
    make_sandbox: MakeSandbox | None = None,
) -> Engine:
    """An engine that is ready to be started; what it needs on disk is made on first use.

    ``slots`` says how many of each named resource there are. ``pins`` is the file in
    which the session's processes agree on commits; None: this process alone decides.
    ``sandboxes`` are drivers that trials name beside the built-in ones. Raises
    ``UsageError`` where one of them cannot be built.
    """
    cache = user_cache(os.environ)
    reap_stale()
    area = WorkArea()
    runtime = Runtime(cache / "runtime" if cache else None, area)
    home = os.environ.get("HOME")
    own = (settings.rootdir, settings.results, Path(sys.prefix), area.path)
    # The cache has task files as they were parsed, and the names of hidden tests.
    hide = (*own, *([Path(home)] if home else ()), *([cache] if cache else ()))
    host = SandboxHost(
        area,
        runtime,
        hide,
        driver=lambda name: build_driver(name, host),
        shared=None if pins is None else pins.parent,
    )
    wanted = [*built_in_names("sandbox"), *(name for name in sandboxes if name != AUTO)]
    try:
        drivers = {name: _driver(name, host, make_sandbox) for name in dict.fromkeys(wanted)}
    except BaseException:
        area.close()
        raise

    def release() -> tuple[Path, ...]:
        for driver in drivers.values():
            close_driver(driver)
        area.close()
        return area.leftover

    return Engine(
        drivers=drivers,
        preparations=Preparations(
            Templates(area, pins=pins), cache / "expected" if cache else None
        ),
        hidden=partial(hidden_groups, rootdir=settings.rootdir),
        release=release,
        slots=Slots(slots_directory(), slots or {}),
    )


def build_driver(name: str, host: SandboxHost) -> SandboxDriver:
    """The driver of that name. Raises ``UsageError`` where its class cannot be built."""
    kind = cast("type[DriverBase]", sandbox_class(name))
    try:
        return cast("SandboxDriver", kind.build(host))
    except AgentbenchError:
        raise
    except (Exception, SystemExit) as error:
        # A third party's code: a session that goes on without its sandbox measures nothing.
        raise BrokenComponent(f"sandbox {name!r} cannot be built: {last_line(error)}") from error


def close_driver(driver: SandboxDriver) -> None:
    """Let a driver remove what it has; one that fails to keeps no other from it."""
    close = getattr(driver, "close", None)
    if close is None:
        return
    try:
        close()
    except Exception:  # noqa: BLE001 - a third party's code, at the end of all
        _LOG.exception("sandbox %s: what it still has cannot be removed", driver.name)


def _driver(name: str, host: SandboxHost, make: MakeSandbox | None) -> SandboxDriver:
    standard = partial(build_driver, name, host)
    return watched(standard() if make is None else make(name, standard))
