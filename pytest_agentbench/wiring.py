"""The one place where an engine is put together from settings."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from functools import partial
from pathlib import Path

from pytest_agentbench.engine.engine import Engine
from pytest_agentbench.engine.preparation import Preparations
from pytest_agentbench.engine.slots import Slots, slots_directory
from pytest_agentbench.model.contracts import SandboxDriver
from pytest_agentbench.sandboxes.bubblewrap import BubblewrapDriver
from pytest_agentbench.sandboxes.local import LocalDriver
from pytest_agentbench.sandboxes.runtime import Runtime
from pytest_agentbench.sandboxes.templates import Templates
from pytest_agentbench.sandboxes.workspace import WorkArea, reap_stale
from pytest_agentbench.settings import Settings, user_cache
from pytest_agentbench.taskfiles.assets import hidden_groups


def build_engine(
    settings: Settings, *, slots: Mapping[str, int] | None = None, pins: Path | None = None
) -> Engine:
    """An engine that is ready to be started; what it needs on disk is made on first use.

    ``slots`` says how many of each named resource there are. ``pins`` is the file in
    which the session's processes agree on commits; None: this process alone decides.
    """
    cache = user_cache(os.environ)
    reap_stale()
    area = WorkArea()
    runtime = Runtime(cache / "runtime" if cache else None, area)
    home = os.environ.get("HOME")
    own = (settings.rootdir, settings.results, Path(sys.prefix), area.path)
    # The cache has task files as they were parsed, and the names of hidden tests.
    hide = (*own, *([Path(home)] if home else ()), *([cache] if cache else ()))
    drivers: dict[str, SandboxDriver] = {
        LocalDriver.name: LocalDriver(area, runtime),
        BubblewrapDriver.name: BubblewrapDriver(area, runtime, hide=hide),
    }

    def release() -> tuple[Path, ...]:
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
