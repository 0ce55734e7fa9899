"""The life of one trial: the only place where the order of its steps is written.

    open ─ run_agent ─ (every process dead, changes known) ─ score ─ close

Each step raises ``TrialFault`` when nothing can be measured. Whoever drives the
steps hands the fault back through ``fault`` and always ends with ``close``.
"""

from __future__ import annotations

import os
import time
from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field, replace

from pytest_agentbench.credentials import credentials, credentials_below
from pytest_agentbench.engine.environment import expand
from pytest_agentbench.engine.findings import Finding, never_worked, unscorable, unseen
from pytest_agentbench.engine.judge import Bench, judge
from pytest_agentbench.engine.launch import build_agent, refuse_unsupported, run_agent
from pytest_agentbench.engine.preparation import Preparations, Prepared
from pytest_agentbench.engine.protection import protected_files, protected_paths
from pytest_agentbench.engine.slots import Slots
from pytest_agentbench.engine.tampering import guarded, listed, refuse_altered
from pytest_agentbench.errors import SandboxError, SetupError, TrialFault
from pytest_agentbench.model.contracts import (
    Agent,
    Sandbox,
    SandboxDriver,
    SandboxRequest,
    Subject,
)
from pytest_agentbench.model.outcome import Outcome, Reason, outcome_of
from pytest_agentbench.model.run import AgentRun
from pytest_agentbench.model.task import OracleSpec, SandboxSpec
from pytest_agentbench.model.trial import TrialSpec
from pytest_agentbench.model.verdict import Verdict
from pytest_agentbench.oracles.combine import binding, combine
from pytest_agentbench.redaction import Redactor, redactor_of
from pytest_agentbench.registry import oracle_class
from pytest_agentbench.sandboxes.base import missing
from pytest_agentbench.sandboxes.choice import choose, refusals


@dataclass(slots=True)
class Timings:
    """Seconds spent in each phase; None for one that was not reached."""

    setup_s: float | None = None
    agent_s: float | None = None
    teardown_s: float | None = None
    scoring_s: float | None = None


@dataclass(slots=True)
class Trial:
    """One attempt at one trial, and all that has become known of it.

    ``scored`` is false when an oracle that counts could not be judged any more after the
    outcome was known: then the score is not. ``given`` is the environment that pytest
    fixtures give to agent and oracles.
    """

    spec: TrialSpec
    drivers: dict[str, SandboxDriver]
    preparations: Preparations
    slots: Slots
    driver: SandboxDriver | None = None
    network: str = "none"
    prepared: Prepared | None = None
    run: AgentRun | None = None
    verdict: Verdict | None = None
    outcome: Outcome | None = None
    reason: Reason | None = None
    message: str = ""
    scored: bool = True
    secrets: frozenset[str] = field(default_factory=lambda: credentials(os.environ))
    diagnostics: list[str] = field(default_factory=list)
    timings: Timings = field(default_factory=Timings)
    started_at: float = field(default_factory=time.time)
    given: Mapping[str, str] = field(default_factory=dict)
    _sandbox: Sandbox | None = None
    _agent: Agent | None = None
    _agent_env: dict[str, str] = field(default_factory=dict)
    _walls: SandboxSpec | None = None
    _protected: frozenset[bytes] = frozenset()
    _held: AsyncExitStack = field(default_factory=AsyncExitStack)

    async def open(self) -> Sandbox:
        """Choose the driver, wait for slots, open the agent's sandbox on a fresh copy."""
        async with self._phase("setup_s"):
            agent, walls, driver = self._choose()
        # Whoever waits for others is not slow: no phase has this time.
        await self._held.enter_async_context(self.slots.hold(self.spec.task.slots))
        async with self._phase("setup_s"):
            self.prepared = await self.preparations.ready(self.spec, driver, walls, self.given)
            template = self.prepared.template
            self._protected = protected_paths(self.spec.task, template.manifest)
            request = SandboxRequest(
                self._furnished(walls),
                network=self._resolve_network(agent, driver),
                roots=agent.roots,
                label=self.spec.key,
                keep=walls.scoring == "commit",
            )
            self._sandbox = await driver.open(template, request)
            await refuse_altered(template, self.prepared.built_ns, where=self.spec.key)
        return self._sandbox

    async def run_agent(self) -> AgentRun:
        """Run the agent to its end; then every process of its sandbox is dead."""
        sandbox, agent = self._opened()
        async with self._phase("agent_s"):
            self.run = await run_agent(agent, self.spec, sandbox, self._agent_env)
        return await self._tear_down(self.run, sandbox)

    async def adopt(self, run: AgentRun) -> AgentRun:
        """Take what somebody else did in the agent's sandbox for the agent's run."""
        sandbox, _ = self._opened()
        # Its time is what it says: the engine has not seen it begin.
        self.timings.agent_s = run.duration_s
        self.run = run
        return await self._tear_down(run, sandbox)

    async def _tear_down(self, run: AgentRun, sandbox: Sandbox) -> AgentRun:
        """Every process of the agent's dead, its changes known. Raises where it never worked."""
        async with self._phase("teardown_s"):
            changes = await sandbox.settle()
            self.run = replace(run, changes=changes)
        fault = never_worked(
            self.run,
            agent=self.spec.variant.agent,
            trial=self.spec.key,
            words_count=self._words_count(),
        )
        if fault is not None:
            raise fault
        return self.run

    async def score(self) -> Verdict:
        """Judge in fresh sandboxes what the agent left; settles the trial's outcome."""
        if self.run is None or self.run.changes is None or self.driver is None:
            raise TrialFault("scored before the agent ran", where=self.spec.key)
        if self.prepared is None or self._walls is None:
            raise TrialFault("scored before it was prepared", where=self.spec.key)
        changes, template, task = self.run.changes, self.prepared.template, self.spec.task
        lacking = unseen(self.spec.variant.expect, self.run.transcript.evidence)
        refusals = unscorable(changes, template, self.spec.limits)
        if refusals:
            return self._refuse([*refusals, *([lacking] if lacking else [])])
        async with self._phase("scoring_s"):
            protected = protected_files(template, changes, self._protected)
            if protected:
                self.diagnostics.append(f"restored before scoring: {', '.join(protected)}")
            walls = self._furnished(self._walls)
            request = SandboxRequest(
                walls, delta=changes, label=f"{self.spec.key} scoring", role="scoring"
            )
            judgement = await judge(
                self.prepared.oracles,
                Subject(self.spec, self.run),
                Bench(
                    self.driver, template, request, protected, guarded(template, self._protected)
                ),
                decided=lacking is not None,
            )
            # What was judged on was a copy of it: altered, it was another task.
            await refuse_altered(template, self.prepared.built_ns, where=self.spec.key)
        changed = self.preparations.changed_on_disk(task)
        if changed:
            # No fault of the trial's: whoever waits for a long run goes on writing tasks.
            what = f"changed on disk since the session read them: {listed(changed)}"
            self.diagnostics.append(f"{what}; judged by what was read")
        self.diagnostics.extend(judgement.diagnostics)
        self.scored = judgement.complete
        verdict = combine(
            judgement.results, self._judges(), task.threshold, reveal=self.spec.reveal
        )
        if judgement.tampered is not None:
            lacking = Finding(Reason.TAMPERED, judgement.tampered)
        self.verdict = self._settle(verdict, lacking)
        return self.verdict

    def _refuse(self, findings: list[Finding]) -> Verdict:
        """The agent failed, and nothing is judged: the first finding is why."""
        first, *later = findings
        self.outcome, self.reason, self.message = (
            outcome_of(first.reason),
            first.reason,
            first.message,
        )
        self.diagnostics.extend(finding.message for finding in later)
        self._note_time()
        self.verdict = Verdict(passed=False, score=0.0, reason=self.message, results=())
        return self.verdict

    def fault(self, fault: TrialFault) -> None:
        """Nothing was measured: the first fault in time is the outcome, later ones diagnostics."""
        if self.outcome is Outcome.ERROR:
            self.diagnostics.append(str(fault))
            return
        self._note_time()
        self.reason = Reason(fault.reason)
        self.outcome = outcome_of(self.reason)
        self.message = str(fault)

    def decide(self, reason: Reason | None, message: str = "") -> None:
        """What the test that asked for the trial says of it; None is a pass.

        That is the outcome. What oracles said otherwise is told.
        """
        if self.outcome is None:
            self._note_time(passed=reason is None)
        else:
            self.diagnostics.append(f"the oracles said: {self.outcome} {self.message}".rstrip())
        self.outcome = Outcome.PASSED if reason is None else outcome_of(reason)
        self.reason, self.message = reason, message

    async def close(self) -> None:
        """Kill every process, remove every trace of the sandbox, give slots back. Idempotent."""
        sandbox, self._sandbox = self._sandbox, None
        try:
            if sandbox is not None:
                await sandbox.close()
        finally:
            await self._held.aclose()

    @property
    def redactor(self) -> Redactor:
        """What takes the trial's secrets, as far as they are known, out of all that is kept."""
        return redactor_of(self.secrets | frozenset(self.given.values()))

    @property
    def agent_env(self) -> dict[str, str]:
        """The variant's environment, expanded; known once the sandbox has been opened."""
        return dict(self._agent_env)

    def _choose(self) -> tuple[Agent, SandboxSpec, SandboxDriver]:
        """Agent, walls and driver, each checked against what is asked of it."""
        if self.spec.fault is not None:
            raise SetupError(self.spec.fault, where=self.spec.key)
        agent = self._agent = build_agent(self.spec.variant)
        refuse_unsupported(agent, self.spec.variant)
        walls = self._walls = self._expand_environments()
        driver = self.driver = choose(
            walls.driver, self.drivers, trusted=agent.trusted, image=walls.names_image
        )
        lacking = missing(walls, driver.probe())
        if lacking:
            others = refusals(self.drivers) if walls.driver == "auto" else []
            raise SandboxError(
                "; ".join([*lacking, *others]),
                where=f"sandbox {driver.name}",
                advice="another driver, or leave it out of the task",
            )
        return agent, walls, driver

    def _opened(self) -> tuple[Sandbox, Agent]:
        if self._sandbox is None or self._agent is None:
            raise TrialFault("run before its sandbox was opened", where=self.spec.key)
        return self._sandbox, self._agent

    def _expand_environments(self) -> SandboxSpec:
        """Fill ``${VAR}`` in the variant's and the sandbox's environment."""
        variant, walls = self.spec.variant, self.spec.sandbox
        agent_env = expand(variant.env, os.environ, where=f"variant {variant.name}: env")
        task_env = expand(walls.env, os.environ, where=f"{self.spec.task.id}: sandbox.env")
        clash = next((name for name in self.given if name in walls.env), None)
        if clash is not None:
            raise SetupError(
                f"a fixture and the task's sandbox.env both give {clash}",
                where=self.spec.key,
                advice="leave it out of one of them",
            )
        # What comes from outside of the task's file may be secret.
        self.secrets |= agent_env.secrets | task_env.secrets
        self.secrets |= credentials_below(dict(variant.options))
        self._agent_env = dict(agent_env.values)
        return replace(walls, env=dict(task_env.values))

    def _furnished(self, walls: SandboxSpec) -> SandboxSpec:
        """The walls with what fixtures give."""
        return replace(walls, env={**walls.env, **self.given}) if self.given else walls

    def _resolve_network(self, agent: Agent, driver: SandboxDriver) -> bool:
        """Whether the agent may reach a network; where nothing controls it, the record says so."""
        mode = self.spec.sandbox.network
        wanted = agent.needs_network if mode == "auto" else mode == "full"
        controlled = driver.probe().controls_network
        self.network = ("full" if wanted else "none") if controlled else "uncontrolled"
        return wanted

    def _settle(self, verdict: Verdict, lacking: Finding | None) -> Verdict:
        """The outcome; the first fault in time decides it, and that is the agent's own."""
        self._note_time(passed=verdict.passed)
        if lacking is not None:
            if not verdict.passed:
                self.diagnostics.append(verdict.reason)
            verdict = replace(verdict, passed=False, reason=lacking.message)
            self.reason = lacking.reason
        elif verdict.passed:
            self.outcome = Outcome.PASSED
            return verdict
        else:
            self.reason = self._reason_of(verdict)
        self.outcome, self.message = outcome_of(self.reason), verdict.reason
        return verdict

    def _reason_of(self, verdict: Verdict) -> Reason:
        must_pass = binding(self._judges(), self.spec.task.threshold)
        for result in verdict.results:
            # A required oracle that failed says more than the limit does.
            if result.name in must_pass and not result.passed:
                return Reason.CHECK if result.visible else Reason.ORACLE
        timed_out = self.run is not None and self.run.timed_out
        return Reason.TIMEOUT if timed_out else Reason.ORACLE

    def _note_time(self, *, passed: bool = False) -> None:
        if self.run is not None and self.run.timed_out:
            what = "the agent ran out of time"
            limit = f" ({self.spec.limits.time_s:g} s)"
            self.diagnostics.append(f"{what}; what it left passed" if passed else what + limit)

    def _judges(self) -> tuple[OracleSpec, ...]:
        """Checks, then oracles: the order in which they judge."""
        return (*self.spec.task.checks, *self.spec.task.oracles)

    def _words_count(self) -> bool:
        """Whether something that counts judges what the agent said."""
        return any(
            oracle_class(spec.kind).judges_words for spec in self._judges() if not spec.advisory
        )

    @asynccontextmanager
    async def _phase(self, name: str) -> AsyncIterator[None]:
        started = time.perf_counter()
        try:
            yield
        finally:
            before = getattr(self.timings, name) or 0.0
            setattr(self.timings, name, before + time.perf_counter() - started)
