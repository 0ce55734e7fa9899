"""Names of agents, sandboxes and oracles, and the classes behind them.

Classes are imported when they are asked for: this module stands below the ones
that it names.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, cast

from pytest_agentbench.errors import UnknownComponent

if TYPE_CHECKING:
    from pytest_agentbench.model.contracts import Agent, Oracle, SandboxDriver

_AGENTS = {
    "command": "pytest_agentbench.agents.command:CommandLineAgent",
    "control": "pytest_agentbench.agents.control:ControlAgent",
    "noop": "pytest_agentbench.agents.noop:NoopAgent",
    "python": "pytest_agentbench.agents.python:PythonAgent",
    "reference": "pytest_agentbench.agents.reference:ReferenceAgent",
    "scripted": "pytest_agentbench.agents.scripted:ScriptedAgent",
}

_ORACLES = {
    "answer": "pytest_agentbench.oracles.answer:AnswerOracle",
    "diff": "pytest_agentbench.oracles.diff:DiffOracle",
    "files": "pytest_agentbench.oracles.files:FilesOracle",
    "pytest": "pytest_agentbench.oracles.pytest_tests:PytestOracle",
    "python": "pytest_agentbench.oracles.python_function:PythonOracle",
    "run": "pytest_agentbench.oracles.run:RunOracle",
}

_SANDBOXES = {
    "bubblewrap": "pytest_agentbench.sandboxes.bubblewrap:BubblewrapDriver",
    "local": "pytest_agentbench.sandboxes.local:LocalDriver",
}

_LOADED: dict[str | None, object] = {}


def agent_class(name: str) -> type[Agent]:
    """The class of a kind of agent. Raises ``UnknownComponent``."""
    return cast("type[Agent]", _load("agent", _AGENTS, name))


def oracle_class(kind: str) -> type[Oracle]:
    """The class of a kind of oracle. Raises ``UnknownComponent``."""
    return cast("type[Oracle]", _load("oracle", _ORACLES, kind))


def sandbox_class(name: str) -> type[SandboxDriver]:
    """The class of a kind of sandbox. Raises ``UnknownComponent``."""
    return cast("type[SandboxDriver]", _load("sandbox", _SANDBOXES, name))


def agent_names() -> tuple[str, ...]:
    """All known kinds of agents, sorted."""
    return tuple(sorted(_AGENTS))


def oracle_kinds() -> tuple[str, ...]:
    """All known kinds of oracles, sorted."""
    return tuple(sorted(_ORACLES))


def sandbox_names() -> tuple[str, ...]:
    """All known kinds of sandboxes, sorted."""
    return tuple(sorted(_SANDBOXES))


def _load(what: str, table: dict[str, str], name: str) -> object:
    target = table.get(name)
    if target in _LOADED:
        return _LOADED[target]
    if target is None:
        from difflib import get_close_matches  # noqa: PLC0415 - sessions without a mistake

        known = ", ".join(sorted(table))
        close = get_close_matches(name, table, n=1)
        hint = f"; did you mean {close[0]!r}?" if close else ";"
        raise UnknownComponent(f"unknown {what} {name!r}{hint} known: {known}")
    module, _, attribute = target.partition(":")
    _LOADED[target] = getattr(import_module(module), attribute)
    return _LOADED[target]
