"""The one place where an engine is put together from settings."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path

from pytest_agentbench.engine.engine import Engine
from pytest_agentbench.engine.preparation import Preparations
from pytest_agentbench.model.contracts import SandboxDriver, Template
from pytest_agentbench.model.task import TaskSpec
from pytest_agentbench.sandboxes.bubblewrap import BubblewrapDriver
from pytest_agentbench.sandboxes.local import LocalDriver
from pytest_agentbench.sandboxes.runtime import Runtime
from pytest_agentbench.sandboxes.workspace import WorkArea, build_template, reap_stale
from pytest_agentbench.settings import Settings
from pytest_agentbench.taskfiles.assets import hidden_paths


def build_engine(settings: Settings) -> Engine:
    """An engine that is ready to be started; what it needs on disk is made on first use."""
    cache = user_cache(os.environ)
    reap_stale()
    area = WorkArea()
    runtime = Runtime(cache / "runtime" if cache else None, area)
    home = os.environ.get("HOME")
    own = (settings.rootdir, settings.results, Path(sys.prefix), area.path)
    hide = (*own, Path(home)) if home else own
    drivers: dict[str, SandboxDriver] = {
        LocalDriver.name: LocalDriver(area, runtime),
        BubblewrapDriver.name: BubblewrapDriver(area, runtime, hide=hide),
    }

    def template_of(task: TaskSpec, hidden: Iterable[Path]) -> Template:
        return build_template(task.workspace, area.fresh("template"), hidden=hidden, where=task.id)

    def release() -> tuple[Path, ...]:
        area.close()
        return area.leftover

    return Engine(
        drivers=drivers,
        preparations=Preparations(template_of, cache / "expected" if cache else None),
        hidden_paths=hidden_paths,
        release=release,
    )


def user_cache(variables: Mapping[str, str]) -> Path | None:
    """Where what can be made anew is kept between sessions, by digest; None without a home."""
    base = variables.get("XDG_CACHE_HOME")
    if base:
        return Path(base) / "pytest-agentbench"
    home = variables.get("HOME")
    return Path(home) / ".cache" / "pytest-agentbench" if home else None
