"""Every oracle judges in every sandbox."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from behaviour.oracles.bench import Bench

from pytest_agentbench.sandboxes.area import WorkArea
from pytest_agentbench.sandboxes.local import LocalDriver
from pytest_agentbench.sandboxes.runtime import Runtime
from requirements import require


@pytest.fixture(scope="session")
def runtime_cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("runtime")


@pytest.fixture
def area(tmp_path: Path) -> Iterator[WorkArea]:
    made = WorkArea(tmp_path)
    yield made
    made.close()


@pytest.fixture
def local(area: WorkArea, runtime_cache: Path) -> Bench:
    return Bench(LocalDriver(area, Runtime(runtime_cache, area)), area)


@pytest.fixture
def walled(area: WorkArea, runtime_cache: Path) -> Bench:
    require("bubblewrap")
    from pytest_agentbench.sandboxes.bubblewrap import BubblewrapDriver  # noqa: PLC0415

    return Bench(BubblewrapDriver(area, Runtime(runtime_cache, area), hide=(area.path,)), area)


@pytest.fixture(params=["local", "walled"])
def bench(request: pytest.FixtureRequest) -> Bench:
    made: Bench = request.getfixturevalue(request.param)
    return made
