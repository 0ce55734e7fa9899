"""The docker driver keeps what every sandbox promises, in containers of a real engine."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import ClassVar

import pytest

from pytest_agentbench.model.contracts import SandboxDriver, SandboxRequest, Template
from pytest_agentbench.sandboxes.docker import leftovers
from pytest_agentbench.sandboxes.docker.calls import connect
from pytest_agentbench.sandboxes.docker.driver import DockerDriver
from pytest_agentbench.sandboxes.docker.sandbox import DockerSandbox
from pytest_agentbench.sandboxes.driverbase import SandboxHost
from pytest_agentbench.testing import SandboxSuite, sandbox_host
from requirements import require

IMAGE = "agentbench-test/python:1"


def own_things() -> list[str]:
    """What this process has in the engine."""
    api = connect()
    try:
        mine = {"label": f"{leftovers.OWNER}={leftovers.this_process()}"}
        containers = [row["Id"] for row in api.containers(all=True, filters=mine)]
        return containers + [row["Id"] for row in api.images(filters=mine)]
    finally:
        api.close()


class OfOneImage(DockerDriver):
    """The suite asks for no image; here it gets one."""

    name: ClassVar[str] = "docker"

    async def open(self, template: Template, request: SandboxRequest) -> DockerSandbox:
        """A container of the image that tests have."""
        spec = replace(request.spec, image=request.spec.image or IMAGE)
        return await super().open(template, replace(request, spec=spec))


@pytest.fixture(scope="module")
def docker_host(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SandboxHost]:
    """What all tests here have for their sandboxes."""
    with sandbox_host(tmp_path_factory.mktemp("host")) as host:
        yield host


@pytest.fixture(scope="module")
def docker(docker_host: SandboxHost) -> Iterator[OfOneImage]:
    """The driver, where there is an engine; its images are made once, and gone at its end."""
    require("docker")
    driver = OfOneImage.build(docker_host)
    yield driver
    driver.close()
    assert own_things() == []


class TestDocker(SandboxSuite):
    """Containers."""

    @pytest.fixture
    def host(self, docker_host: SandboxHost) -> SandboxHost:
        """One for all."""
        return docker_host

    @pytest.fixture
    def driver(self, docker: OfOneImage) -> SandboxDriver:
        """One for all."""
        return docker
