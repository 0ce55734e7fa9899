"""Scores what an agent left: every oracle in a fresh sandbox of its own.

Each oracle gets the pristine template plus the agent's changes. One sandbox for
all of them would show the first oracle's files to code of the agent's that the
second one runs, and would let that code change what the third one sees.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace

from pytest_agentbench.model.contracts import (
    Sandbox,
    SandboxDriver,
    SandboxRequest,
    StagedOracle,
    Subject,
    Template,
)
from pytest_agentbench.model.run import Change, ChangeKind, Changes
from pytest_agentbench.model.verdict import OracleResult
from pytest_agentbench.registry import oracle_class

PROTECTED_NAMES = frozenset({b"conftest.py", b"pytest.ini", b".pytest.ini"})
"""Test configuration: where the template has such a file, scoring sees the template's.
Files of these names that the agent *added* stay, for adding tests is honest work."""


@dataclass(frozen=True, slots=True)
class Protection:
    """What is carried to scoring, and which protected paths the agent had changed."""

    delta: Changes
    restored: tuple[str, ...]


def protect(changes: Changes) -> Protection:
    """Leave out changes to protected paths, so that scoring has the template's files there."""
    kept: list[Change] = []
    restored: list[str] = []
    for change in changes.changes:
        name = change.path.rpartition(b"/")[2]
        if name in PROTECTED_NAMES and change.kind is not ChangeKind.ADDED:
            restored.append(change.name)
        else:
            kept.append(change)
    return Protection(replace(changes, changes=tuple(kept)), tuple(restored))


async def judge(
    oracles: Sequence[StagedOracle],
    subject: Subject,
    driver: SandboxDriver,
    template: Template,
    request: SandboxRequest,
) -> tuple[OracleResult, ...]:
    """All oracles' answers, in their order. Raises ``TrialFault`` where one cannot be had."""
    results = []
    for staged in oracles:
        sandbox = await driver.open(template, request)
        try:
            results.append(await _check(staged, sandbox, subject))
        finally:
            await sandbox.close()
    return tuple(results)


async def _check(staged: StagedOracle, sandbox: Sandbox, subject: Subject) -> OracleResult:
    spec = staged.spec
    started = time.perf_counter()
    result = await oracle_class(spec.kind)().check(staged, sandbox, subject)
    return replace(
        result,
        name=spec.name,
        kind=spec.kind,
        weight=spec.weight,
        required=spec.required,
        duration_s=time.perf_counter() - started,
    )
