"""The life of one trial: the only place where the order of its steps is written.

    open ─ run_agent ─ (every process dead, changes known) ─ score ─ close

Each step raises ``TrialFault`` when nothing can be measured. Whoever drives the
steps hands the fault back through ``fault`` and always ends with ``close``.
"""

from __future__ import annotations

import os
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace

from pytest_agentbench.engine.environment import expand
from pytest_agentbench.engine.judge import CARRIED_BYTES, Bench, judge, protected_files
from pytest_agentbench.engine.launch import build_agent, run_agent
from pytest_agentbench.engine.preparation import Preparations, Prepared
from pytest_agentbench.errors import SandboxError, TrialFault
from pytest_agentbench.model.contracts import (
    Agent,
    Sandbox,
    SandboxDriver,
    SandboxRequest,
    Subject,
)
from pytest_agentbench.model.outcome import Outcome, Reason, outcome_of
from pytest_agentbench.model.run import AgentRun, Changes, Completed
from pytest_agentbench.model.task import SandboxSpec
from pytest_agentbench.model.trial import TrialSpec
from pytest_agentbench.model.verdict import Verdict
from pytest_agentbench.oracles.combine import combine
from pytest_agentbench.sandboxes.base import missing
from pytest_agentbench.sandboxes.choice import choose, refusals

CANNOT_EXECUTE = (126, 127)
"""What shells and ``env`` exit with when there is nothing to execute."""


@dataclass(slots=True)
class Timings:
    """Seconds spent in each phase; None for one that was not reached."""

    setup_s: float | None = None
    agent_s: float | None = None
    teardown_s: float | None = None
    scoring_s: float | None = None


@dataclass(slots=True)
class Trial:
    """One attempt at one trial, and all that has become known of it."""

    spec: TrialSpec
    drivers: dict[str, SandboxDriver]
    preparations: Preparations
    driver: SandboxDriver | None = None
    network: str = "none"
    prepared: Prepared | None = None
    run: AgentRun | None = None
    verdict: Verdict | None = None
    outcome: Outcome | None = None
    reason: Reason | None = None
    message: str = ""
    secrets: frozenset[str] = frozenset()
    diagnostics: list[str] = field(default_factory=list)
    timings: Timings = field(default_factory=Timings)
    started_at: float = field(default_factory=time.time)
    _sandbox: Sandbox | None = None
    _agent: Agent | None = None
    _agent_env: dict[str, str] = field(default_factory=dict)
    _walls: SandboxSpec | None = None

    async def open(self) -> Sandbox:
        """Choose the driver, make the task ready, open the agent's sandbox on a fresh copy."""
        async with self._phase("setup_s"):
            agent = self._agent = build_agent(self.spec.variant)
            walls = self._walls = self._expand_environments()
            driver = self.driver = choose(walls.driver, self.drivers, trusted=agent.trusted)
            lacking = missing(walls, driver.probe())
            if lacking:
                others = refusals(self.drivers) if walls.driver == "auto" else []
                raise SandboxError(
                    "; ".join([*lacking, *others]),
                    where=f"sandbox {driver.name}",
                    advice="another driver, or leave it out of the task",
                )
            self.prepared = await self.preparations.ready(self.spec.task, driver, walls)
            self._sandbox = await driver.open(
                self.prepared.template,
                SandboxRequest(
                    walls,
                    network=self._resolve_network(agent, driver),
                    roots=agent.roots,
                    label=self.spec.key,
                ),
            )
        return self._sandbox

    async def run_agent(self) -> AgentRun:
        """Run the agent to its end; then every process of its sandbox is dead."""
        sandbox, agent = self._opened()
        async with self._phase("agent_s"):
            self.run = await run_agent(agent, self.spec, sandbox, self._agent_env)
        async with self._phase("teardown_s"):
            changes = await sandbox.settle()
            self.run = replace(self.run, changes=changes)
        self._refuse_unmeasurable(self.run)
        return self.run

    async def score(self) -> Verdict:
        """Judge in fresh sandboxes what the agent left; settles the trial's outcome."""
        if self.run is None or self.run.changes is None or self.driver is None:
            raise TrialFault("scored before the agent ran", where=self.spec.key)
        if self.prepared is None or self._walls is None:
            raise TrialFault("scored before it was prepared", where=self.spec.key)
        changes, template = self.run.changes, self.prepared.template
        if changes.size_bytes > CARRIED_BYTES:
            return self._refuse_size(changes)
        async with self._phase("scoring_s"):
            protected = protected_files(template, changes)
            if protected:
                self.diagnostics.append(f"restored before scoring: {', '.join(protected)}")
            request = SandboxRequest(self._walls, delta=changes, label=f"{self.spec.key} scoring")
            results = await judge(
                self.prepared.oracles,
                Subject(self.spec, self.run),
                Bench(self.driver, template, request, protected),
            )
        task = self.spec.task
        self.verdict = combine(results, task.oracles, task.threshold)
        self._settle(self.verdict, timed_out=self.run.timed_out)
        return self.verdict

    def _refuse_size(self, changes: Changes) -> Verdict:
        """A limit of ours, which the agent went over: it failed."""
        self.outcome, self.reason = Outcome.FAILED, Reason.LIMIT
        self.message = (
            f"the agent left {changes.size_bytes:,} bytes of changes; "
            f"more than {CARRIED_BYTES:,} are not scored"
        )
        self.verdict = Verdict(passed=False, score=0.0, reason=self.message, results=())
        return self.verdict

    def fault(self, fault: TrialFault) -> None:
        """Nothing was measured: the first fault in time is the outcome, later ones diagnostics."""
        if self.outcome is Outcome.ERROR:
            self.diagnostics.append(str(fault))
            return
        self.reason = Reason(fault.reason)
        self.outcome = outcome_of(self.reason)
        self.message = str(fault)

    async def close(self) -> None:
        """Kill every process and remove every trace of the agent's sandbox. Idempotent."""
        sandbox, self._sandbox = self._sandbox, None
        if sandbox is not None:
            await sandbox.close()

    def _opened(self) -> tuple[Sandbox, Agent]:
        if self._sandbox is None or self._agent is None:
            raise TrialFault("run before its sandbox was opened", where=self.spec.key)
        return self._sandbox, self._agent

    def _expand_environments(self) -> SandboxSpec:
        """Fill ``${VAR}`` in the variant's and the sandbox's environment."""
        variant, walls = self.spec.variant, self.spec.sandbox
        agent_env = expand(variant.env, os.environ, where=f"variant {variant.name}: env")
        task_env = expand(walls.env, os.environ, where=f"{self.spec.task.id}: sandbox.env")
        self.secrets = agent_env.secrets | task_env.secrets
        self._agent_env = dict(agent_env.values)
        return replace(walls, env=dict(task_env.values))

    def _resolve_network(self, agent: Agent, driver: SandboxDriver) -> bool:
        """Whether the agent may reach a network; where nothing controls it, the record says so."""
        mode = self.spec.sandbox.network
        wanted = agent.needs_network if mode == "auto" else mode == "full"
        controlled = driver.probe().controls_network
        self.network = ("full" if wanted else "none") if controlled else "uncontrolled"
        return wanted

    def _refuse_unmeasurable(self, run: AgentRun) -> None:
        """Tell an agent that never worked, or still does, from one that was wrong."""
        completed = run.completed
        if completed is None:
            return
        if completed.survivors:
            raise TrialFault(
                f"{completed.survivors} processes of the agent could not be killed",
                where=self.spec.key,
                reason=Reason.CLEANUP,
            )
        idle = run.changes is not None and run.changes.empty
        where = f"agent {self.spec.variant.agent}"
        if completed.launch_error is not None:
            raise TrialFault(completed.launch_error, where=where, reason=Reason.AGENT_LAUNCH)
        if not idle or completed.timed_out or completed.exit_code == 0:
            return
        if completed.exit_code in CANNOT_EXECUTE:
            raise TrialFault(
                f"could not be executed (exit {completed.exit_code}): {_last_line(completed)}",
                where=where,
                reason=Reason.AGENT_LAUNCH,
            )
        raise TrialFault(
            f"{_ending(completed)} and changed nothing: {_last_line(completed)}",
            where=where,
            reason=Reason.AGENT_CRASH,
        )

    def _settle(self, verdict: Verdict, *, timed_out: bool) -> None:
        if verdict.passed:
            self.outcome = Outcome.PASSED
            if timed_out:
                self.diagnostics.append("the agent ran out of time; what it left passed")
            return
        self.outcome = Outcome.FAILED
        wrong = any(result.required and not result.passed for result in verdict.results)
        # A required oracle that failed says more than the limit does.
        self.reason = Reason.TIMEOUT if timed_out and not wrong else Reason.ORACLE
        self.message = verdict.reason
        if timed_out:
            self.diagnostics.append(f"the agent ran out of time ({self.spec.limits.time_s:g} s)")

    @asynccontextmanager
    async def _phase(self, name: str) -> AsyncIterator[None]:
        started = time.perf_counter()
        try:
            yield
        finally:
            setattr(self.timings, name, time.perf_counter() - started)


def _ending(completed: Completed) -> str:
    if completed.out_of_memory:
        return "ran out of memory"
    if completed.signal is not None:
        return f"was killed by signal {completed.signal}"
    return f"exited with {completed.exit_code}"


def _last_line(completed: Completed) -> str:
    for stream in (completed.stderr, completed.stdout):
        lines = stream.text().strip().splitlines()
        if lines:
            return lines[-1][-300:]
    return "no output"
