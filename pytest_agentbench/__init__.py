"""Coding-agent tasks as pytest test cases.

The names below are the public ones; they are imported on first use, so that a
pytest session without task files pays nothing for them.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pytest_agentbench.errors import AgentbenchError, SandboxClosed, TaskFailed, TrialError
    from pytest_agentbench.model.outcome import Outcome, Reason
    from pytest_agentbench.model.record import Record
    from pytest_agentbench.model.run import AgentRun
    from pytest_agentbench.model.trial import TrialSpec
    from pytest_agentbench.model.verdict import Verdict

__version__ = "0.1.0"

__all__ = [
    "AgentRun",
    "AgentbenchError",
    "Outcome",
    "Reason",
    "Record",
    "SandboxClosed",
    "TaskFailed",
    "TrialError",
    "TrialSpec",
    "Verdict",
    "__version__",
]

_HOMES = {
    "AgentRun": "pytest_agentbench.model.run",
    "AgentbenchError": "pytest_agentbench.errors",
    "Outcome": "pytest_agentbench.model.outcome",
    "Reason": "pytest_agentbench.model.outcome",
    "Record": "pytest_agentbench.model.record",
    "SandboxClosed": "pytest_agentbench.errors",
    "TaskFailed": "pytest_agentbench.errors",
    "TrialError": "pytest_agentbench.errors",
    "TrialSpec": "pytest_agentbench.model.trial",
    "Verdict": "pytest_agentbench.model.verdict",
}


def __getattr__(name: str) -> object:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(home), name)


def __dir__() -> list[str]:
    return sorted(__all__)
