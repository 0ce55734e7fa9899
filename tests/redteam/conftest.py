"""The walls that every attack is tried against.

None is ever run without: these agents write wherever they can.
"""

from __future__ import annotations

import pytest
from redteam.arena import BUBBLEWRAP, DOCKER, Arena, Driver

from projects import Project
from requirements import require


@pytest.fixture(params=[BUBBLEWRAP, DOCKER], ids=lambda driver: driver.name)
def arena(request: pytest.FixtureRequest, pytester: pytest.Pytester) -> Arena:
    """A project behind the walls of each driver that isolates."""
    driver: Driver = request.param
    require(driver.name)
    return Arena.in_project(Project(pytester), driver)


@pytest.fixture
def walled(pytester: pytest.Pytester) -> Arena:
    """A project behind the walls of the one that is quickest."""
    require("bubblewrap")
    return Arena.in_project(Project(pytester), BUBBLEWRAP)
