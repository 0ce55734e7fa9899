"""Our own drivers do what third parties' must."""

from __future__ import annotations

import pytest

from pytest_agentbench.sandboxes.bubblewrap import BubblewrapDriver
from pytest_agentbench.sandboxes.driverbase import DriverWrapper
from pytest_agentbench.sandboxes.local import LocalDriver
from pytest_agentbench.testing import SandboxSuite
from requirements import require


class TestLocal(SandboxSuite):
    """Directories only."""

    driver_class = LocalDriver


class TestBubblewrap(SandboxSuite):
    """Walls."""

    driver_class = BubblewrapDriver

    @pytest.fixture(autouse=True)
    def walls(self) -> None:
        """Where they can be put up."""
        require("bubblewrap")


class Wrapped(DriverWrapper):
    """Another driver, with nothing of its own around it."""

    name = "wrapped"


class TestWrapped(SandboxSuite):
    """What hands everything on."""

    driver_class = Wrapped
