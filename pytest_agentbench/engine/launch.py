"""Runs one agent in an open sandbox."""

from __future__ import annotations

import time
from collections.abc import Mapping
from pathlib import Path
from typing import cast

from pytest_agentbench.engine.guests import agent_guest, ended
from pytest_agentbench.errors import SetupError, UsageError
from pytest_agentbench.model.contracts import (
    Agent,
    AgentCommand,
    AgentContext,
    CommandAgent,
    InProcessAgent,
    Sandbox,
)
from pytest_agentbench.model.outcome import Reason
from pytest_agentbench.model.run import AgentRun, Completed, Transcript
from pytest_agentbench.model.task import Blob
from pytest_agentbench.model.trial import TrialSpec
from pytest_agentbench.model.variant import Variant
from pytest_agentbench.registry import agent_class

PROMPT_NAME = "prompt.md"

GRACE_S = 2.0
"""What an agent that drives the sandbox itself gets beyond its limit, so that a command of its
that runs out of time comes back with what it printed."""


def build_agent(variant: Variant) -> Agent:
    """The agent of a variant, its options validated. Raises ``SetupError``."""
    try:
        kind = agent_class(variant.agent)
    except UsageError as error:
        raise SetupError(
            error.what, advice=error.advice, where=f"variant {variant.name}"
        ) from error
    guest = agent_guest(kind, variant.agent, Reason.AGENT_LAUNCH)
    with guest.does("'Options'"):
        try:
            options = kind.Options.model_validate(dict(variant.options))
        except ValueError as error:
            raise SetupError(f"wrong options: {error}", where=f"variant {variant.name}") from error
    with guest.does("its constructor"):
        agent: Agent = cast("type", kind)(options)
        roots = agent.roots
    guest.gave("its 'roots' is", roots, cast("type", tuple[Path, ...]))
    return agent


def refuse_unsupported(agent: Agent, variant: Variant) -> None:
    """Raise ``SetupError`` where a variant asks for what its agent cannot do."""
    where = f"variant {variant.name}"
    if not variant.expect.empty and not agent.shows_evidence:
        raise SetupError(
            f"agent {variant.agent!r} does not show which skills and tools it used",
            where=where,
            advice="leave out `expect`, or choose an agent with a transcript",
        )
    if not variant.tools.empty and not agent.limits_tools:
        raise SetupError(
            f"agent {variant.agent!r} cannot be kept to a list of tools",
            where=where,
            advice="leave out `tools`, and limit what it may use through its own options",
        )


async def run_agent(
    agent: Agent, trial: TrialSpec, sandbox: Sandbox, env: Mapping[str, str]
) -> AgentRun:
    """Let the agent work until it ends or its wall time is over; ``changes`` is still unknown."""
    context = AgentContext(env=env, tools=trial.variant.tools)
    # An agent that has both drives the sandbox itself.
    if hasattr(agent, "run"):
        return await _driven(cast("InProcessAgent", agent), trial, sandbox, context)
    adapter = cast("CommandAgent", agent)
    command = await _staged(adapter, trial, sandbox, context)
    completed = await sandbox.run(
        command.argv, env=command.env, stdin=command.stdin, timeout_s=trial.limits.time_s
    )
    guest = agent_guest(adapter, trial.variant.agent)
    with guest.does("parse()"):
        transcript = adapter.parse(completed)
    return AgentRun(
        completed,
        guest.gave("parse() gave", transcript, Transcript),
        completed.duration_s,
        code_digest=command.code_digest,
    )


async def _driven(
    agent: InProcessAgent, trial: TrialSpec, sandbox: Sandbox, context: AgentContext
) -> AgentRun:
    """An agent that drives the sandbox itself, within its time."""
    guest = agent_guest(agent, trial.variant.agent)

    async def work() -> AgentRun:
        with guest.does("run()"):
            run = await agent.run(trial, sandbox, context)
        return guest.gave("run() gave", run, AgentRun)

    started = time.perf_counter()
    working, overdue = await ended(work(), trial.limits.time_s + GRACE_S)
    if not working.done():
        raise guest.wrong("run() does not end when its time is over")
    # What it raises because it was told to end says nothing more.
    if overdue and (working.cancelled() or (guest.foreign and working.exception())):
        spent = time.perf_counter() - started
        return AgentRun(Completed(None, spent, timed_out=True), duration_s=spent)
    return working.result()


async def _staged(
    agent: CommandAgent, trial: TrialSpec, sandbox: Sandbox, context: AgentContext
) -> AgentCommand:
    """The agent's command with its files in place and its placeholders filled."""
    command = _command(agent, trial, context)
    told = dict(command.env)
    if agent.announces_harness:
        told |= {
            "AGENTBENCH_TASK": trial.task.id,
            "AGENTBENCH_VARIANT": trial.variant.name,
            "AGENTBENCH_REPEAT": str(trial.repeat),
            "AGENTBENCH_PROMPT_FILE": "{prompt_file}",
        }
    places = {"{python}": sandbox.python}
    if command.stage:
        places["{stage}"] = await sandbox.put(command.stage)
    if any("{prompt_file}" in word for word in (*command.argv, *told.values())):
        prompt = await sandbox.put({PROMPT_NAME: Blob(trial.prompt.encode("utf-8", "replace"))})
        places["{prompt_file}"] = f"{prompt}/{PROMPT_NAME}"
    filled = {name: _fill(value, places) for name, value in told.items()}
    return AgentCommand(
        argv=tuple(_fill(word, places) for word in command.argv),
        env={**context.env, **filled},
        stdin=command.stdin,
        code_digest=command.code_digest,
    )


def _command(agent: CommandAgent, trial: TrialSpec, context: AgentContext) -> AgentCommand:
    guest = agent_guest(agent, trial.variant.agent, Reason.AGENT_LAUNCH)
    with guest.does("command()"):
        command = agent.command(trial, context)
    command = guest.gave("command() gave", command, AgentCommand)
    if guest.foreign and not command.argv:
        raise guest.wrong("command() gave an empty argv")
    return command


def _fill(text: str, places: Mapping[str, str]) -> str:
    for placeholder, value in places.items():
        text = text.replace(placeholder, value)
    return text
