"""Behaviour suites for people who write sandboxes, agents and oracles.

Subclass a suite in a test file, name your class, and run pytest. Our own sandboxes,
agents and oracles run the same ones::

    class TestFrugal(SandboxSuite):
        driver_class = FrugalDriver
"""

from __future__ import annotations

from pytest_agentbench.testing.agents import AgentSuite
from pytest_agentbench.testing.host import opened, sandbox_host
from pytest_agentbench.testing.oracles import OracleSuite
from pytest_agentbench.testing.sandboxes import SandboxSuite

__all__ = ["AgentSuite", "OracleSuite", "SandboxSuite", "opened", "sandbox_host"]
