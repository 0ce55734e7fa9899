"""Scores what an agent left: every oracle in a fresh sandbox of its own.

Each oracle gets the pristine template plus the agent's changes. One sandbox for
all of them would show the first oracle's files to code of the agent's that the
second one runs, and would let that code change what the third one sees.
"""

from __future__ import annotations

import os
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from pytest_agentbench.errors import OracleError, SandboxError
from pytest_agentbench.model.contracts import (
    Sandbox,
    SandboxDriver,
    SandboxRequest,
    StagedOracle,
    Subject,
    Template,
)
from pytest_agentbench.model.run import ChangeKind, Changes, EntryKind
from pytest_agentbench.model.task import Blob
from pytest_agentbench.model.verdict import OracleResult
from pytest_agentbench.registry import oracle_class

PROTECTED_NAMES = frozenset({b"conftest.py", b"pytest.ini", b".pytest.ini", b"tox.ini"})
"""Test configuration: where the template has such a file, scoring sees the template's.
Files of these names that the agent *added* stay, for adding tests is honest work."""

CARRIED_BYTES = 1 << 30
"""More than that of changes is not carried to scoring: an agent could fill the disk, and a
wrong answer would then count as trouble of ours."""


@dataclass(frozen=True, slots=True)
class Bench:
    """What every oracle of one trial is judged on.

    ``protected`` are files of the template that are laid over what the agent left.
    """

    driver: SandboxDriver
    template: Template
    request: SandboxRequest
    protected: Mapping[str, Blob]

    async def open(self) -> Sandbox:
        """A fresh sandbox with what the agent left."""
        sandbox = await self.driver.open(self.template, self.request)
        try:
            if self.protected:
                await sandbox.write(self.protected)
        except BaseException:
            await sandbox.close()
            raise
        return sandbox

    def pristine(self) -> Bench:
        """The same without what the agent left."""
        return replace(self, request=replace(self.request, delta=None), protected={})


def protected_files(template: Template, changes: Changes) -> dict[str, Blob]:
    """The template's test configuration that the agent changed, removed, or took the place of."""
    gone = {change.path for change in changes.changes if change.kind is not ChangeKind.ADDED}
    found = {}
    for path, entry in template.manifest.items():
        name = path.rpartition(b"/")[2]
        if name not in PROTECTED_NAMES or entry.kind is not EntryKind.FILE:
            continue
        if gone.isdisjoint(_with_parents(path)):
            continue
        data = (template.directory / os.fsdecode(path)).read_bytes()
        found[os.fsdecode(path)] = Blob(data, entry.executable)
    return found


async def judge(
    oracles: Sequence[StagedOracle], subject: Subject, bench: Bench
) -> tuple[OracleResult, ...]:
    """All oracles' answers, in their order. Raises ``TrialFault`` where one cannot be had."""
    return tuple([await _judge(staged, subject, bench) for staged in oracles])


async def _judge(staged: StagedOracle, subject: Subject, bench: Bench) -> OracleResult:
    try:
        return await _check(staged, subject, bench)
    except (OracleError, SandboxError) as fault:
        # An agent could turn a failure into an error: by files that cannot be copied,
        # a library that keeps the interpreter from starting, or a full disk. Whoever is
        # to blame is found by doing the same without what it left.
        delta = bench.request.delta
        if delta is None or delta.empty or not await _works(staged, subject, bench.pristine()):
            raise
        return _result(staged, f"cannot be run on what the agent left: {fault}")


async def _works(staged: StagedOracle, subject: Subject, bench: Bench) -> bool:
    try:
        await _check(staged, subject, bench)
    except (OracleError, SandboxError):
        return False
    return True


async def _check(staged: StagedOracle, subject: Subject, bench: Bench) -> OracleResult:
    started = time.perf_counter()
    sandbox = await bench.open()
    try:
        result = await oracle_class(staged.spec.kind)().check(staged, sandbox, subject)
    finally:
        await sandbox.close()
    return replace(
        result,
        name=staged.spec.name,
        kind=staged.spec.kind,
        weight=staged.spec.weight,
        required=staged.spec.required,
        duration_s=time.perf_counter() - started,
    )


def _result(staged: StagedOracle, reason: str) -> OracleResult:
    spec = staged.spec
    return OracleResult(
        name=spec.name,
        kind=spec.kind,
        passed=False,
        score=0.0,
        reason=reason,
        required=spec.required,
        weight=spec.weight,
    )


def _with_parents(path: bytes) -> set[bytes]:
    parts = path.split(b"/")
    return {b"/".join(parts[: count + 1]) for count in range(len(parts))}
