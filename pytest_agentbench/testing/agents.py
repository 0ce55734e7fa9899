"""What every agent must do: a pure command, a parser that never raises, an end in time."""

from __future__ import annotations

import inspect
import os
import secrets
import time
from collections.abc import Mapping
from copy import copy
from dataclasses import replace
from pathlib import Path
from typing import ClassVar, cast

import pytest
from pydantic import BaseModel, ValidationError

from pytest_agentbench.engine.launch import GRACE_S, run_agent
from pytest_agentbench.errors import TrialFault
from pytest_agentbench.model.contracts import (
    Agent,
    AgentCommand,
    AgentContext,
    CommandAgent,
    InProcessAgent,
    Sandbox,
    SandboxDriver,
    Template,
)
from pytest_agentbench.model.fitness import unfit
from pytest_agentbench.model.run import AgentRun, Completed, Output, Transcript, Usage
from pytest_agentbench.model.task import JsonValue, Limits, Position, SandboxSpec, TaskSpec
from pytest_agentbench.model.trial import TrialSpec
from pytest_agentbench.model.variant import Variant
from pytest_agentbench.sandboxes.driverbase import SandboxHost, SandboxWrapper
from pytest_agentbench.testing.host import alive, opened
from pytest_agentbench.testing.room import DriverRoom

PROMPTS = (
    "Fix it.",
    "Fix 'it': \"{python}\" $HOME `x` \\n {stage} {prompt_file} é\n\n",
    "lone \udc80 surrogate",
    "-dash first",
    "x" * 200_000,
)
OUTPUTS = (
    b"",
    b"\xff\xfe\x00",
    b"{",
    b"null",
    b"[]",
    b'{"usage": null}\n{"usage": {"input_tokens": "many"}}\n',
    b'{"type": "result", "usage": {"input_tokens": -1}}',
    b'{"a": ' * 5000,
    b"\n" * 1000,
    "über\u2028\x1b[31mred".encode(),
    b"1e999\nNaN\n",
)


class AgentSuite(DriverRoom):
    """The contract of agents.

    ``agent_class`` is your agent, ``options`` are options with which it can be built.
    ``driver`` is where it is tried, ``local`` by default. Nothing here starts a command
    agent's own program: what is tried is what your class makes of it.
    """

    agent_class: ClassVar[type[object]]
    options: ClassVar[Mapping[str, JsonValue]] = {}

    @pytest.fixture
    def driver(self, host: SandboxHost) -> SandboxDriver:
        """Where the agent works: no walls are needed here."""
        return host.driver("local")

    @pytest.fixture
    def agent(self) -> Agent:
        """The agent, built as the engine builds it."""
        return self._built(self.options)

    def _built(self, options: Mapping[str, JsonValue]) -> Agent:
        kind = cast("type[Agent]", self.agent_class)
        return cast("Agent", cast("type", kind)(kind.Options.model_validate(dict(options))))

    def test_the_class_has_what_the_contract_needs(self) -> None:
        """It would be taken by a session."""
        assert unfit("agent", self.agent_class) is None

    def test_an_option_that_it_does_not_have_is_refused(self) -> None:
        """A misspelt option would otherwise be measured as if it were set."""
        kind = cast("type[Agent]", self.agent_class)
        with pytest.raises(ValidationError):
            kind.Options.model_validate({**self.options, "no_such_option_of_anyone": 1})

    def test_options_do_not_change(self) -> None:
        """Two trials of a variant have the same options: the model is frozen."""
        kind = cast("type[Agent]", self.agent_class)
        options: type[BaseModel] = kind.Options
        assert options.model_config.get("frozen") is True

    @pytest.mark.parametrize("prompt", PROMPTS, ids=["plain", "quotes", "bytes", "dash", "long"])
    def test_its_command_is_pure(
        self, agent: Agent, prompt: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Asked twice, anywhere, for any prompt, it says the same and touches nothing."""
        commanding = _commanding(agent)
        trial, context = trial_of(prompt, self.options), AgentContext(env={"KEY": "value"})
        before = dict(os.environ)
        first = commanding.command(trial, context)
        monkeypatch.chdir(tmp_path)
        monkeypatch.setenv("AGENTBENCH_TEST_NOISE", "1")
        second = cast("CommandAgent", self._built(self.options)).command(trial, context)
        assert first == second
        assert os.environ == {**before, "AGENTBENCH_TEST_NOISE": "1"}
        assert list(tmp_path.iterdir()) == []
        assert first.argv
        assert not any("\0" in word for word in first.argv)

    @pytest.mark.parametrize("output", OUTPUTS, ids=range(len(OUTPUTS)))
    def test_its_parser_reads_any_bytes(self, agent: Agent, output: bytes) -> None:
        """Whatever was printed becomes a transcript."""
        parse_all(_commanding(agent), output)

    def test_its_parser_reads_random_bytes(self, agent: Agent) -> None:
        """The same for bytes that nobody has thought of."""
        hypothesis = pytest.importorskip("hypothesis")
        commanding = _commanding(agent)

        def read(output: bytes) -> None:
            parse_all(commanding, output)

        settings = hypothesis.settings(
            max_examples=200, deadline=None, database=None, derandomize=True
        )
        settings(hypothesis.given(hypothesis.strategies.binary())(read))()

    @pytest.mark.parametrize("code", [0, 1, None])
    def test_unknown_usage_stays_unknown(self, agent: Agent, code: int | None) -> None:
        """Of an agent that said nothing, nothing is known: null, and never 0."""
        transcript = _commanding(agent).parse(Completed(code, 0.1))
        assert transcript.usage == Usage()
        assert transcript.final_message is None

    def test_evidence_is_there_only_where_it_is_declared(self, agent: Agent) -> None:
        """An agent that does not declare evidence shows none: nobody would ask for it."""
        if agent.shows_evidence:
            pytest.skip("this agent shows evidence")
        for output in OUTPUTS:
            assert parse_all(_commanding(agent), output).evidence is None

    def test_the_variants_environment_reaches_it(
        self, agent: Agent, driver: SandboxDriver, template: Template
    ) -> None:
        """What the variant sets is there, and the command's placeholders are filled."""
        commanding = _commanding(agent)

        async def body(sandbox: Sandbox) -> str:
            asking = replaced(commanding, ("env",))
            run = await run_agent(asking, trial_of("Do it."), sandbox, {"KEY": "from the variant"})
            assert run.completed is not None
            return run.completed.stdout.text()

        text = opened(driver, template, body)
        assert "KEY=from the variant\n" in text
        for placeholder in ("{stage}", "{prompt_file}", "{python}"):
            assert placeholder not in text

    def test_its_time_out_leaves_no_process(
        self, agent: Agent, driver: SandboxDriver, template: Template
    ) -> None:
        """Over its time it is ended, and so is all that it has started."""
        marker = f"agent-{secrets.token_hex(6)}"
        limits = Limits(time_s=1.0)

        async def body(sandbox: Sandbox) -> AgentRun:
            if hasattr(agent, "run"):
                hanging: Sandbox = _Hanging(sandbox, marker)
                trial = trial_of("Do it.", limits=limits)
                return await _faulted(run_agent(agent, trial, hanging, {}))
            script = f"sleep 600 & sleep 600; : {marker}"
            slow = replaced(_commanding(agent), ("sh", "-c", script, marker))
            return await run_agent(slow, trial_of("Do it.", limits=limits), sandbox, {})

        began = time.monotonic()
        run = opened(driver, template, body)
        assert time.monotonic() - began < limits.time_s + GRACE_S + 10
        assert alive(marker) == []
        if not hasattr(agent, "run"):
            assert run.timed_out

    def test_it_runs_to_its_end(
        self, agent: Agent, driver: SandboxDriver, template: Template
    ) -> None:
        """An agent that drives the sandbox itself gives an ``AgentRun``, or a ``TrialFault``."""
        if not hasattr(agent, "run"):
            pytest.skip("this agent is a command")
        itself = cast("InProcessAgent", agent)

        async def body(sandbox: Sandbox) -> AgentRun:
            # Not by way of the engine, which makes a fault of what an agent gives wrongly.
            trial = trial_of("Do it.", self.options)
            return await _faulted(itself.run(trial, sandbox, AgentContext()))

        run = opened(driver, template, body)
        assert isinstance(run, AgentRun)
        assert run.changes is None, "what changed is found by the engine"
        usage = run.transcript.usage
        if usage.source is None:
            assert usage == Usage()


def trial_of(
    prompt: str, options: Mapping[str, JsonValue] | None = None, *, limits: Limits | None = None
) -> TrialSpec:
    """A trial of a task that has only a prompt."""
    task = TaskSpec("sample", Position(Path("task.yaml"), 1), prompt, (), digest="d")
    variant = Variant("mine", "mine", options=dict(options or {}))
    return TrialSpec(task, variant, 1, limits or Limits(60.0), SandboxSpec())


def parse_all(agent: CommandAgent, output: bytes) -> Transcript:
    """Parse some bytes on either stream, whole and cut."""
    cut = Output(output[:10], output[-10:], total=len(output) + 100)
    streams = [Output(output, total=len(output)), cut]
    found = [agent.parse(Completed(0, 1.0, stdout=one, stderr=one)) for one in streams]
    for transcript in found:
        assert isinstance(transcript, Transcript)
        for number in (transcript.usage.input_tokens, transcript.usage.output_tokens):
            assert number is None or number >= 0
    return found[0]


def _commanding(agent: Agent) -> CommandAgent:
    if hasattr(agent, "run"):
        pytest.skip("this agent drives the sandbox itself")
    return cast("CommandAgent", agent)


async def _faulted(running: object) -> AgentRun:
    assert inspect.isawaitable(running)
    try:
        return cast("AgentRun", await running)
    except TrialFault:
        return AgentRun()


def replaced(agent: CommandAgent, argv: tuple[str, ...]) -> CommandAgent:
    """The agent with another program in place of its own."""

    class Replaced(type(agent)):  # type: ignore[misc]
        """The same class, with another program."""

        def command(self, trial: TrialSpec, context: AgentContext) -> AgentCommand:
            """The other program, with all else that the agent wants."""
            command: AgentCommand = super().command(trial, context)
            return replace(command, argv=argv)

    other = copy(agent)
    other.__class__ = Replaced
    return other


class _Hanging(SandboxWrapper):
    """A sandbox in which every command hangs until its time is over."""

    def __init__(self, inner: Sandbox, marker: str) -> None:
        super().__init__(inner)
        self._marker = marker

    async def run(self, argv: object, **settings: object) -> Completed:
        """Hang, within the time that the agent gave."""
        del argv
        script = f"sleep 600 & sleep 600; : {self._marker}"
        timeout_s = float(cast("float", settings["timeout_s"]))
        return await self.inner.run(["sh", "-c", script, self._marker], timeout_s=timeout_s)
