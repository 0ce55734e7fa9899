"""The suites that a driver runs: what every sandbox must do, and what it claims of its walls."""

from __future__ import annotations

from pytest_agentbench.testing.commands import CommandChecks
from pytest_agentbench.testing.files import FileChecks
from pytest_agentbench.testing.walls import WallChecks


class SandboxSuite(CommandChecks, FileChecks, WallChecks):
    """The contract of sandboxes.

    ``driver_class`` is your driver, built as a session builds it; or override the fixture
    ``driver``. A claim of its ``Capabilities`` is tried, and skipped where it is not made.
    """
