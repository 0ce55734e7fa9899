"""Our own agents do what third parties' must."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from pytest_agentbench.agents.command import CommandLineAgent
from pytest_agentbench.agents.noop import NoopAgent
from pytest_agentbench.agents.scripted import ScriptedAgent
from pytest_agentbench.model.task import JsonValue
from pytest_agentbench.testing import AgentSuite


class TestCommandByStdin(AgentSuite):
    """A shell string."""

    agent_class = CommandLineAgent
    options: ClassVar[Mapping[str, JsonValue]] = {"run": "cat > got"}


class TestCommandByArgument(AgentSuite):
    """An argv."""

    agent_class = CommandLineAgent
    options: ClassVar[Mapping[str, JsonValue]] = {
        "run": ["my-agent", "--task", "{prompt_file}"],
        "prompt": "arg",
    }


class TestScripted(AgentSuite):
    """Written steps."""

    agent_class = ScriptedAgent
    options: ClassVar[Mapping[str, JsonValue]] = {
        "steps": [{"write": {"path": "a.txt", "text": "x"}}, {"run": "sleep 600"}]
    }


class TestNoop(AgentSuite):
    """Nothing at all."""

    agent_class = NoopAgent
