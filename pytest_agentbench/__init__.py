"""Coding-agent tasks as pytest test cases.

The names below are the public ones; they are imported on first use, so that a
pytest session without task files pays nothing for them.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pytest_agentbench.agents.base import AgentBase, AgentOptions, NoOptions
    from pytest_agentbench.errors import (
        AgentbenchError,
        OracleError,
        SandboxClosed,
        SandboxError,
        SetupError,
        TaskFailed,
        TrialError,
        TrialFault,
        UsageError,
    )
    from pytest_agentbench.model.contracts import (
        Agent,
        AgentCommand,
        AgentContext,
        Capabilities,
        CommandAgent,
        InProcessAgent,
        Oracle,
        Sandbox,
        SandboxDriver,
        SandboxRequest,
        StagedOracle,
        Subject,
        Template,
    )
    from pytest_agentbench.model.handle import SandboxHandle
    from pytest_agentbench.model.outcome import Outcome, Reason
    from pytest_agentbench.model.record import Record
    from pytest_agentbench.model.run import (
        AgentRun,
        Changes,
        Completed,
        Evidence,
        Output,
        Transcript,
        Usage,
    )
    from pytest_agentbench.model.task import Blob, FileTree, OracleSpec
    from pytest_agentbench.model.trial import TrialSpec
    from pytest_agentbench.model.variant import Experiment, ToolPolicy, Variant
    from pytest_agentbench.model.verdict import OracleResult, Verdict
    from pytest_agentbench.oracles.base import OracleBase
    from pytest_agentbench.sandboxes.driverbase import (
        DriverBase,
        DriverWrapper,
        SandboxHost,
        SandboxWrapper,
    )

__version__ = "0.1.0"

__all__ = [
    "Agent",
    "AgentBase",
    "AgentCommand",
    "AgentContext",
    "AgentOptions",
    "AgentRun",
    "AgentbenchError",
    "Blob",
    "Capabilities",
    "Changes",
    "CommandAgent",
    "Completed",
    "DriverBase",
    "DriverWrapper",
    "Evidence",
    "Experiment",
    "FileTree",
    "InProcessAgent",
    "NoOptions",
    "Oracle",
    "OracleBase",
    "OracleError",
    "OracleResult",
    "OracleSpec",
    "Outcome",
    "Output",
    "Reason",
    "Record",
    "Sandbox",
    "SandboxClosed",
    "SandboxDriver",
    "SandboxError",
    "SandboxHandle",
    "SandboxHost",
    "SandboxRequest",
    "SandboxWrapper",
    "SetupError",
    "StagedOracle",
    "Subject",
    "TaskFailed",
    "Template",
    "ToolPolicy",
    "Transcript",
    "TrialError",
    "TrialFault",
    "TrialSpec",
    "Usage",
    "UsageError",
    "Variant",
    "Verdict",
    "__version__",
]

_HOMES = {
    "Agent": "pytest_agentbench.model.contracts",
    "AgentBase": "pytest_agentbench.agents.base",
    "AgentCommand": "pytest_agentbench.model.contracts",
    "AgentContext": "pytest_agentbench.model.contracts",
    "AgentOptions": "pytest_agentbench.agents.base",
    "AgentRun": "pytest_agentbench.model.run",
    "AgentbenchError": "pytest_agentbench.errors",
    "Blob": "pytest_agentbench.model.task",
    "Capabilities": "pytest_agentbench.model.contracts",
    "Changes": "pytest_agentbench.model.run",
    "CommandAgent": "pytest_agentbench.model.contracts",
    "Completed": "pytest_agentbench.model.run",
    "DriverBase": "pytest_agentbench.sandboxes.driverbase",
    "DriverWrapper": "pytest_agentbench.sandboxes.driverbase",
    "Evidence": "pytest_agentbench.model.run",
    "Experiment": "pytest_agentbench.model.variant",
    "FileTree": "pytest_agentbench.model.task",
    "InProcessAgent": "pytest_agentbench.model.contracts",
    "NoOptions": "pytest_agentbench.agents.base",
    "Oracle": "pytest_agentbench.model.contracts",
    "OracleBase": "pytest_agentbench.oracles.base",
    "OracleError": "pytest_agentbench.errors",
    "OracleResult": "pytest_agentbench.model.verdict",
    "OracleSpec": "pytest_agentbench.model.task",
    "Outcome": "pytest_agentbench.model.outcome",
    "Output": "pytest_agentbench.model.run",
    "Reason": "pytest_agentbench.model.outcome",
    "Record": "pytest_agentbench.model.record",
    "Sandbox": "pytest_agentbench.model.contracts",
    "SandboxClosed": "pytest_agentbench.errors",
    "SandboxDriver": "pytest_agentbench.model.contracts",
    "SandboxError": "pytest_agentbench.errors",
    "SandboxHandle": "pytest_agentbench.model.handle",
    "SandboxHost": "pytest_agentbench.sandboxes.driverbase",
    "SandboxRequest": "pytest_agentbench.model.contracts",
    "SandboxWrapper": "pytest_agentbench.sandboxes.driverbase",
    "SetupError": "pytest_agentbench.errors",
    "StagedOracle": "pytest_agentbench.model.contracts",
    "Subject": "pytest_agentbench.model.contracts",
    "TaskFailed": "pytest_agentbench.errors",
    "Template": "pytest_agentbench.model.contracts",
    "ToolPolicy": "pytest_agentbench.model.variant",
    "Transcript": "pytest_agentbench.model.run",
    "TrialError": "pytest_agentbench.errors",
    "TrialFault": "pytest_agentbench.errors",
    "TrialSpec": "pytest_agentbench.model.trial",
    "Usage": "pytest_agentbench.model.run",
    "UsageError": "pytest_agentbench.errors",
    "Variant": "pytest_agentbench.model.variant",
    "Verdict": "pytest_agentbench.model.verdict",
}


def __getattr__(name: str) -> object:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(home), name)


def __dir__() -> list[str]:
    return sorted(__all__)
