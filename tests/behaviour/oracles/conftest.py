"""Every oracle judges in every sandbox."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from behaviour.oracles.bench import Bench

from pytest_agentbench.model.contracts import SandboxDriver
from pytest_agentbench.sandboxes.area import WorkArea
from pytest_agentbench.sandboxes.local import LocalDriver
from pytest_agentbench.sandboxes.runtime import Runtime
from requirements import require

# One driver serves a session, as in the engine: probing the walls and staging pytest
# anew would cost each test more than its oracle does.


@pytest.fixture(scope="session")
def area(tmp_path_factory: pytest.TempPathFactory) -> Iterator[WorkArea]:
    made = WorkArea(tmp_path_factory.mktemp("area"))
    yield made
    made.close()


@pytest.fixture(scope="session")
def runtime(tmp_path_factory: pytest.TempPathFactory, area: WorkArea) -> Runtime:
    return Runtime(tmp_path_factory.mktemp("runtime"), area)


@pytest.fixture(scope="session")
def local_driver(area: WorkArea, runtime: Runtime) -> SandboxDriver:
    return LocalDriver(area, runtime)


@pytest.fixture(scope="session")
def walled_driver(area: WorkArea, runtime: Runtime) -> SandboxDriver:
    require("bubblewrap")
    from pytest_agentbench.sandboxes.bubblewrap import BubblewrapDriver  # noqa: PLC0415

    return BubblewrapDriver(area, runtime, hide=(area.path,))


@pytest.fixture
def local(local_driver: SandboxDriver, area: WorkArea) -> Bench:
    return Bench(local_driver, area)


@pytest.fixture
def walled(walled_driver: SandboxDriver, area: WorkArea) -> Bench:
    return Bench(walled_driver, area)


@pytest.fixture(params=["local", "walled"])
def bench(request: pytest.FixtureRequest) -> Bench:
    made: Bench = request.getfixturevalue(request.param)
    return made
