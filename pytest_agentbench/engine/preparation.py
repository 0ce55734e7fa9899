"""Makes tasks ready, each once a session: oracle bytes, templates, expected tests.

A preparation that failed is not tried again: every trial of the task gets the
same fault.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import secrets
import time
from collections.abc import Coroutine, Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Protocol, cast

from pytest_agentbench.agents.solution import apply_solution
from pytest_agentbench.engine.guests import Guest, oracle_guest
from pytest_agentbench.engine.tampering import (
    Look,
    changed_files,
    look_at,
    refuse_altered,
)
from pytest_agentbench.errors import OracleError, SetupError, TrialFault
from pytest_agentbench.model.contracts import (
    ExpectedTests,
    Sandbox,
    SandboxDriver,
    SandboxRequest,
    StagedOracle,
    Template,
)
from pytest_agentbench.model.digest import digest_blobs, digest_value
from pytest_agentbench.model.shape import a_kind
from pytest_agentbench.model.task import Blob, OracleSpec, SandboxSpec, Solution, TaskSpec
from pytest_agentbench.model.trial import TrialSpec
from pytest_agentbench.registry import oracle_class
from pytest_agentbench.sandboxes.blobs import read_tree
from pytest_agentbench.sandboxes.hidden import Hidden, HiddenGroup

_NOTHING: Mapping[str, str] = {}


class TemplateBuilder(Protocol):
    """Builds templates somewhere private; nothing that is hidden may come along.

    All methods raise ``SetupError``.
    """

    async def build(self, task: TaskSpec, hidden: Hidden) -> Template:
        """The task's template before its set-up commands."""
        ...

    async def set_up(
        self,
        template: Template,
        task: TaskSpec,
        hidden: Hidden,
        driver: SandboxDriver,
        walls: SandboxSpec,
    ) -> Template:
        """What the task's set-up commands make of it, behind these walls."""
        ...

    async def overlaid(
        self, template: Template, overlay: Path, task: TaskSpec, hidden: Hidden
    ) -> Template:
        """A copy with a variant's overlay over it."""
        ...


@dataclass(frozen=True, slots=True)
class Prepared:
    """A task that is ready for trials under one driver.

    ``oracles`` are its checks, then its oracles. ``built_ns`` is a time, by the wall clock,
    at which the template was what its manifest says.
    """

    template: Template
    oracles: tuple[StagedOracle, ...]
    built_ns: int

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

    templates: TemplateBuilder
    expected_dir: Path | None
    _snapshots: dict[str, tuple[StagedOracle, ...] | TrialFault] = field(default_factory=dict)
    _looks: dict[str, Look] = field(default_factory=dict)
    _built_ns: dict[Path, int] = field(default_factory=dict)
    _hidden: Hidden = field(default_factory=lambda: Hidden(()))
    _templates: dict[tuple[str, ...], Template | TrialFault] = field(default_factory=dict)
    _ready: dict[tuple[str, ...], Prepared | TrialFault] = field(default_factory=dict)
    _locks: dict[str, asyncio.Lock] = field(default_factory=dict)

    def snapshot(self, tasks: Iterable[TaskSpec], hidden: Iterable[HiddenGroup]) -> None:
        """Read and digest the judges of all tasks, before any agent runs; faults are kept.

        ``hidden`` is all that no template may show, of every collected task.
        """
        self._hidden = Hidden(hidden)
        for task in tasks:
            if task.id not in self._snapshots:
                # Before they are read: what is written meanwhile is a change.
                self._looks[task.id] = look_at(task)
                self._snapshots[task.id] = _snapshot(task)

    def changed_on_disk(self, task: TaskSpec) -> list[str]:
        """Which files of the task's judges are on disk not what was read at first.

        What is judged by is in memory, and unharmed.
        """
        before, look = self._snapshots[task.id], look_at(task)
        if look == self._looks[task.id] or isinstance(before, TrialFault):
            return []
        now = _snapshot(task)
        if isinstance(now, TrialFault):
            return [str(now)]
        found = changed_files(before, now)
        if not found:
            self._looks[task.id] = look  # touched, or something else than a judge's file
        return found

    async def ready(
        self,
        spec: TrialSpec,
        driver: SandboxDriver,
        walls: SandboxSpec,
        given: Mapping[str, str] = _NOTHING,
    ) -> Prepared:
        """The trial's template and rehearsed oracles. Raises the ``TrialFault`` of its first try.

        ``walls`` is the sandbox with its environment expanded. ``given`` is what fixtures
        add to that for oracles: another value for each trial makes no other template.
        """
        task, overlay = spec.task, spec.variant.overlay
        # Variants may ask for other walls: what fails for one must not fail the others.
        key = (task.id, driver.name, repr(walls), str(overlay))
        async with self._locks.setdefault(task.id, asyncio.Lock()):
            if key not in self._ready:
                self._ready[key] = await self._prepare(spec, driver, walls, given)
        outcome = self._ready[key]
        if isinstance(outcome, TrialFault):
            raise outcome
        _refuse_oversize(spec, outcome.template)
        return outcome

    async def _prepare(
        self,
        spec: TrialSpec,
        driver: SandboxDriver,
        walls: SandboxSpec,
        given: Mapping[str, str],
    ) -> Prepared | TrialFault:
        task = spec.task
        try:
            staged = self._snapshots[task.id]
            if isinstance(staged, TrialFault):
                raise staged
            if walls.build is not None:
                self._hidden.refuse_shown(
                    walls.build.context,
                    what="sandbox.build.context",
                    where=task.id,
                    copied=True,
                )
            for inside, outside in walls.mounts.items():
                self._hidden.refuse_shown(outside, what=f"sandbox.mounts {inside}", where=task.id)
            template = await self._template(task, driver, walls)
            overlay = spec.variant.overlay
            built_ns = self._built_ns.setdefault(template.directory, time.time_ns())
            if overlay is not None:
                await refuse_altered(template, built_ns, where=task.id)
                template = await self.templates.overlaid(template, overlay, task, self._hidden)
                built_ns = time.time_ns()
            stage = replace(walls, env={**walls.env, **given})
            oracles = await self._rehearsed(task, staged, template, driver, stage)
        except TrialFault as fault:
            return fault
        return Prepared(template, oracles, built_ns)

    async def _template(
        self, task: TaskSpec, driver: SandboxDriver, walls: SandboxSpec
    ) -> Template:
        """The task's template; what set-up commands leave may differ by driver and walls."""
        before = await self._once((task.id,), self.templates.build(task, self._hidden))
        if not task.workspace.setup:
            return before
        return await self._once(
            (task.id, driver.name, repr(walls)),
            self.templates.set_up(before, task, self._hidden, driver, walls),
        )

    async def _once(
        self, key: tuple[str, ...], making: Coroutine[object, object, Template]
    ) -> Template:
        if key in self._templates:
            making.close()
        else:
            try:
                self._templates[key] = await making
            except TrialFault as fault:
                self._templates[key] = fault
        template = self._templates[key]
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
            if oracle.fault is not None or not oracle_class(oracle.spec.kind).rehearses:
                rehearsed.append(oracle)
                continue
            try:
                done = await self._rehearse(task, oracle, ground, template, driver, sandbox)
            except TrialFault as fault:
                if not oracle.spec.advisory:
                    raise
                done = replace(oracle, fault=str(fault))
            rehearsed.append(done)
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
        # What an image has in it may decide which tests run, and its name does not tell.
        keeps = not sandbox.names_image
        known = self._recall(key) if keeps else None
        if known is not None:
            return replace(oracle, expected=known)
        opened = await driver.open(
            template, SandboxRequest(sandbox, label=f"{task.id} rehearsal", role="rehearsal")
        )
        try:
            if task.solution is not None:
                done = await apply_solution(task.solution, opened)
                if done is not None and done.exit_code != 0:
                    raise SetupError(
                        f"the solution's script ended with {done.exit_code}: "
                        f"…{done.stderr.text().strip()[-300:]}",
                        where=task.id,
                    )
            solved = task.solution is not None
            result = await _rehearsal(oracle, opened, solved=solved)
        finally:
            await opened.close()
        if result.expected is not None and keeps:
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


def _well_staged(staged: StagedOracle, guest: Guest, doing: str) -> StagedOracle:
    if not isinstance(staged, StagedOracle):
        raise guest.wrong(f"{doing} gave {a_kind(staged)}, no StagedOracle")
    guest.gave(f"{doing} gave as 'digest'", staged.digest, str)
    guest.gave(f"{doing} gave as 'files'", staged.files, cast("type", Mapping[str, Blob]))
    if staged.expected is not None:
        guest.gave(f"{doing} gave as 'expected'", staged.expected, cast("type", Mapping[str, str]))
    return staged


async def _rehearsal(oracle: StagedOracle, sandbox: Sandbox, *, solved: bool) -> StagedOracle:
    spec = oracle.spec
    kind = oracle_class(spec.kind)
    guest = oracle_guest(kind, spec.name, spec.kind)
    with guest.does("rehearse()"):
        result = await kind().rehearse(oracle, sandbox, solved=solved)
    return _well_staged(result, guest, "rehearse()")


def _staged(spec: OracleSpec) -> StagedOracle:
    kind = oracle_class(spec.kind)
    guest = oracle_guest(kind, spec.name, spec.kind)
    try:
        with guest.does("prepare()"):
            staged = kind().prepare(spec)
        staged = _well_staged(staged, guest, "prepare()")
    except TrialFault as fault:
        if not spec.advisory:
            raise
        return StagedOracle(spec, {}, digest="", fault=str(fault))
    return staged


def _snapshot(task: TaskSpec) -> tuple[StagedOracle, ...] | TrialFault:
    try:
        judges = (*task.checks, *task.oracles)
        return tuple(_staged(spec) for spec in judges)
    except SetupError as fault:
        return OracleError(fault.what, where=fault.where, advice=fault.advice)
    except TrialFault as fault:
        return fault


def _refuse_oversize(spec: TrialSpec, template: Template) -> None:
    """A workspace that is over its limit from the start would fail every agent."""
    limit = spec.limits.workspace_bytes
    size = sum(entry.size for entry in template.manifest.values())
    if limit is not None and size > limit:
        raise SetupError(
            f"the workspace has {size:,} bytes before any agent starts;"
            f" limits.workspace is {limit:,}",
            where=spec.task.id,
            advice="a higher limits.workspace, or a smaller workspace",
        )


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
