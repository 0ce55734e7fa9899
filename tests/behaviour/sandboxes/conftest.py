"""Both drivers, built as a session builds them, on work areas of their own."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from pytest_agentbench.model.contracts import SandboxDriver, Template
from pytest_agentbench.model.task import FileTree
from pytest_agentbench.sandboxes.bubblewrap import BubblewrapDriver
from pytest_agentbench.sandboxes.local import LocalDriver
from pytest_agentbench.sandboxes.runtime import Runtime
from pytest_agentbench.sandboxes.workspace import WorkArea, build_template
from requirements import require

FILES = {
    "README.md": "hello\n",
    "src/app.py": "print(1)\n",
    "src/run.sh": "#!/bin/sh\necho ran\n",
}


@pytest.fixture
def area(tmp_path: Path) -> Iterator[WorkArea]:
    area = WorkArea(tmp_path)
    yield area
    area.close()


@pytest.fixture(scope="session")
def runtime_cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("runtime")


@pytest.fixture
def runtime(area: WorkArea, runtime_cache: Path) -> Runtime:
    return Runtime(runtime_cache, area)


@pytest.fixture
def local(area: WorkArea, runtime: Runtime) -> LocalDriver:
    return LocalDriver(area, runtime)


@pytest.fixture
def bubblewrap(area: WorkArea, runtime: Runtime) -> BubblewrapDriver:
    require("bubblewrap")
    return BubblewrapDriver(area, runtime, hide=(Path(sys.prefix), Path.home()))


@pytest.fixture(params=["local", "bubblewrap"])
def driver(request: pytest.FixtureRequest) -> SandboxDriver:
    found: SandboxDriver = request.getfixturevalue(request.param)
    return found


@pytest.fixture
def template(area: WorkArea) -> Template:
    return build_template(FileTree(files=FILES), area.fresh(), where="sample")
