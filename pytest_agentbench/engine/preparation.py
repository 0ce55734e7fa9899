"""Makes tasks ready, each once a session: oracle bytes, template, expected tests.

A preparation that failed is not tried again: every trial of the task gets the
same fault.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import secrets
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Protocol

from pytest_agentbench.agents.solution import apply_solution
from pytest_agentbench.errors import OracleError, SetupError, TrialFault
from pytest_agentbench.model.contracts import (
    ExpectedTests,
    SandboxDriver,
    SandboxRequest,
    StagedOracle,
    Template,
)
from pytest_agentbench.model.digest import digest_blobs, digest_value
from pytest_agentbench.model.task import SandboxSpec, Solution, TaskSpec
from pytest_agentbench.registry import oracle_class
from pytest_agentbench.sandboxes.blobs import read_tree


class TemplateBuilder(Protocol):
    """Builds a task's template somewhere private; raises ``SetupError``."""

    def __call__(self, task: TaskSpec, hidden: Iterable[Path]) -> Template:
        """Build it; nothing of ``hidden`` may come along."""
        ...


@dataclass(frozen=True, slots=True)
class Prepared:
    """A task that is ready for trials under one driver."""

    template: Template
    oracles: tuple[StagedOracle, ...]

    @property
    def oracles_digest(self) -> str:
        """One digest over all oracles."""
        return digest_value([[staged.spec.name, staged.digest] for staged in self.oracles])


@dataclass(slots=True)
class Preparations:
    """All preparations of one process.

    ``expected_dir`` holds what rehearsals found, by digest, for other processes
    and sessions; None where nothing can be kept.
    """

    build_template: TemplateBuilder
    expected_dir: Path | None
    _snapshots: dict[str, tuple[StagedOracle, ...] | TrialFault] = field(default_factory=dict)
    _hidden: set[Path] = field(default_factory=set)
    _templates: dict[str, Template | TrialFault] = field(default_factory=dict)
    _ready: dict[tuple[str, str, str], Prepared | TrialFault] = field(default_factory=dict)
    _locks: dict[str, asyncio.Lock] = field(default_factory=dict)

    def snapshot(
        self, tasks: Iterable[TaskSpec], hidden_paths: Callable[[TaskSpec], Iterable[Path]]
    ) -> None:
        """Read and digest the oracles of all tasks, before any agent runs; faults are kept."""
        for task in tasks:
            self._hidden.update(hidden_paths(task))
            if task.id not in self._snapshots:
                self._snapshots[task.id] = _snapshot(task)

    async def ready(self, task: TaskSpec, driver: SandboxDriver, sandbox: SandboxSpec) -> Prepared:
        """The task's template and rehearsed oracles. Raises the ``TrialFault`` of its first try."""
        # Variants may ask for other walls: what fails for one must not fail the others.
        key = (task.id, driver.name, repr(sandbox))
        async with self._locks.setdefault(task.id, asyncio.Lock()):
            if key not in self._ready:
                self._ready[key] = await self._prepare(task, driver, sandbox)
        outcome = self._ready[key]
        if isinstance(outcome, TrialFault):
            raise outcome
        return outcome

    async def _prepare(
        self, task: TaskSpec, driver: SandboxDriver, sandbox: SandboxSpec
    ) -> Prepared | TrialFault:
        try:
            staged = self._snapshots[task.id]
            if isinstance(staged, TrialFault):
                raise staged
            template = await self._template(task)
            oracles = await self._rehearsed(task, staged, template, driver, sandbox)
        except TrialFault as fault:
            return fault
        return Prepared(template, oracles)

    async def _template(self, task: TaskSpec) -> Template:
        if task.id not in self._templates:
            try:
                built = await asyncio.to_thread(self.build_template, task, self._hidden)
                self._templates[task.id] = built
            except TrialFault as fault:
                self._templates[task.id] = fault
        template = self._templates[task.id]
        if isinstance(template, TrialFault):
            raise template
        return template

    async def _rehearsed(
        self,
        task: TaskSpec,
        staged: tuple[StagedOracle, ...],
        template: Template,
        driver: SandboxDriver,
        sandbox: SandboxSpec,
    ) -> tuple[StagedOracle, ...]:
        if not any(oracle_class(oracle.spec.kind).rehearses for oracle in staged):
            return staged
        ground = digest_value([template.digest, _solution_digest(task.solution, task)])
        rehearsed = []
        for oracle in staged:
            if oracle_class(oracle.spec.kind).rehearses:
                rehearsed.append(
                    await self._rehearse(task, oracle, ground, template, driver, sandbox)
                )
            else:
                rehearsed.append(oracle)
        return tuple(rehearsed)

    async def _rehearse(
        self,
        task: TaskSpec,
        oracle: StagedOracle,
        ground: str,
        template: Template,
        driver: SandboxDriver,
        sandbox: SandboxSpec,
    ) -> StagedOracle:
        key = digest_value([oracle.spec.kind, oracle.digest, ground, str(sandbox.python)])
        known = self._recall(key)
        if known is not None:
            return replace(oracle, expected=known)
        opened = await driver.open(template, SandboxRequest(sandbox, label=f"{task.id} rehearsal"))
        try:
            if task.solution is not None:
                done = await apply_solution(task.solution, opened)
                if done is not None and done.exit_code != 0:
                    raise SetupError(
                        f"the solution's script ended with {done.exit_code}: "
                        f"{done.stderr.text().strip()[-300:]}",
                        where=task.id,
                    )
            solved = task.solution is not None
            result = await oracle_class(oracle.spec.kind)().rehearse(oracle, opened, solved=solved)
        finally:
            await opened.close()
        if result.expected is not None:
            self._remember(key, result.expected)
        return result

    def _recall(self, key: str) -> ExpectedTests | None:
        if self.expected_dir is None:
            return None
        try:
            known = json.loads((self.expected_dir / f"{key}.json").read_text("utf-8"))
        except (OSError, ValueError):
            return None
        if isinstance(known, dict) and known and all(isinstance(v, str) for v in known.values()):
            return known
        return None

    def _remember(self, key: str, expected: ExpectedTests) -> None:
        """Atomic, since several workers may rehearse the same task at once."""
        if self.expected_dir is None:
            return
        place = self.expected_dir / f"{key}.json"
        draft = place.with_suffix(f".{secrets.token_hex(4)}.tmp")
        # What cannot be kept is found out again; nothing depends on it.
        with contextlib.suppress(OSError):
            self.expected_dir.mkdir(parents=True, exist_ok=True)
            draft.write_text(json.dumps(dict(expected)), "utf-8")
            draft.replace(place)


def _snapshot(task: TaskSpec) -> tuple[StagedOracle, ...] | TrialFault:
    try:
        return tuple(oracle_class(spec.kind)().prepare(spec) for spec in task.oracles)
    except SetupError as fault:
        return OracleError(fault.what, where=fault.where, advice=fault.advice)
    except TrialFault as fault:
        return fault


def _solution_digest(solution: Solution | None, task: TaskSpec) -> str | None:
    if solution is None:
        return None
    try:
        if solution.tree is not None:
            return digest_blobs(read_tree(solution.tree, where=task.id))
        path = solution.patch or solution.script
        return digest_value((path.read_bytes() if path else b"").hex())
    except OSError as error:
        raise SetupError(
            f"cannot read the solution: {error.strerror}", where=str(error.filename)
        ) from error
