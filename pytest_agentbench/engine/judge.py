"""Scores what an agent left: every check and oracle in a fresh sandbox of its own.

Each gets the pristine template plus the agent's changes. One sandbox for all of
them would show the first oracle's files to code of the agent's that the second one
runs, and would let that code change what the third one sees.
"""

from __future__ import annotations

import json
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import cast

from pytest_agentbench.engine.guests import Guest, ended, oracle_guest
from pytest_agentbench.engine.tampering import Guarded, Rewritten, rewritten
from pytest_agentbench.errors import OracleError, SandboxError
from pytest_agentbench.model.contracts import (
    Sandbox,
    SandboxDriver,
    SandboxRequest,
    StagedOracle,
    Subject,
    Template,
)
from pytest_agentbench.model.task import Blob, JsonValue, OracleSpec
from pytest_agentbench.model.verdict import OracleResult
from pytest_agentbench.oracles.base import one_line
from pytest_agentbench.oracles.combine import binding, graded, unmet_need
from pytest_agentbench.registry import oracle_class

CARRIED_BYTES = 1 << 30
"""More than that of changes is not carried to scoring: an agent could fill the disk, and a
wrong answer would then count as trouble of ours."""

GRACE_S = 10.0
"""What a third party's oracle gets beyond its limit: a command of its that ran out of time has to
be killed, and judged."""


@dataclass(frozen=True, slots=True)
class Bench:
    """What every oracle of one trial is judged on.

    ``protected`` are files of the template that are laid over what the agent left;
    ``guarded`` is what of the workspace must be the same afterwards.
    """

    driver: SandboxDriver
    template: Template
    request: SandboxRequest
    protected: Mapping[str, Blob]
    guarded: Guarded

    async def open(self, *, network: bool) -> Sandbox:
        """A fresh sandbox with what the agent left."""
        request = replace(self.request, network=network)
        sandbox = await self.driver.open(self.template, request)
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


@dataclass(frozen=True, slots=True)
class Judgement:
    """The answers, in the order of the oracles.

    ``diagnostics`` tell of those that could not be judged where that changes nothing
    any more, and of what was rewritten while they ran; ``complete`` is false when the score
    lacks one of them for that reason. ``tampered`` is why the trial has failed whatever they
    say, where nothing had failed before.
    """

    results: tuple[OracleResult, ...]
    diagnostics: tuple[str, ...] = ()
    complete: bool = True
    tampered: str | None = None


@dataclass(frozen=True, slots=True)
class _Checked:
    """One answer, and what was rewritten while it was found."""

    result: OracleResult
    rewritten: Rewritten


async def judge(
    oracles: Sequence[StagedOracle], subject: Subject, bench: Bench, *, decided: bool = False
) -> Judgement:
    """All answers. Raises ``TrialFault`` where one cannot be had that could change the outcome.

    The first fault in time is the outcome: once something that had to pass has not, or
    where the trial has failed for another reason already (``decided``), trouble of ours
    with a later oracle is only told.
    """
    must_pass = binding([staged.spec for staged in oracles], subject.trial.task.threshold)
    results: list[OracleResult] = []
    diagnostics: list[str] = []
    complete = True
    tampered: str | None = None
    for staged in oracles:
        spec = staged.spec
        need = unmet_need(spec, results)
        if need is not None:
            how = "failed" if need.ran else "was not run"
            results.append(_unrun(spec, f"not run: needs {need.name}, which {how}"))
            continue
        try:
            checked = await _judge(staged, subject, bench)
        except (OracleError, SandboxError) as fault:
            if not (spec.advisory or decided):
                raise
            complete = complete and spec.advisory
            diagnostics.append(_told(spec, fault, subject))
            checked = _Checked(_unrun(spec, f"could not be judged: {fault}"), Rewritten())
        if not checked.rewritten.nothing:
            told = _told_rewritten(spec, checked.rewritten, subject)
            if checked.rewritten.grave and not decided:
                tampered, decided = f"code that the agent left {told}", True
            else:
                diagnostics.append(told)
        result = graded(checked.result, spec)
        decided = decided or (spec.name in must_pass and not result.passed)
        results.append(result)
    return Judgement(tuple(results), tuple(diagnostics), complete, tampered)


async def _judge(staged: StagedOracle, subject: Subject, bench: Bench) -> _Checked:
    try:
        checked = await _check(staged, subject, bench)
    except (OracleError, SandboxError) as fault:
        # An agent could turn a failure into an error: by files that cannot be copied,
        # a library that keeps the interpreter from starting, or a full disk. Whoever is
        # to blame is found by doing the same without what it left. For what is only
        # advisory the answer would change nothing.
        delta = bench.request.delta
        if staged.spec.advisory or delta is None or delta.empty:
            raise
        if await _works(staged, subject, bench.pristine()) is None:
            raise
        reason = f"cannot be run on what the agent left: {fault}"
        return _Checked(_failed(staged.spec, reason), Rewritten())
    if not checked.rewritten.grave:
        return checked
    return await _blamed(checked, staged, subject, bench)


async def _blamed(
    checked: _Checked, staged: StagedOracle, subject: Subject, bench: Bench
) -> _Checked:
    """What of the rewriting is not the judge's own: that is not done without the agent's work."""
    found = checked.rewritten
    pristine = await _works(staged, subject, bench.pristine())
    agents = found.without(pristine.rewritten) if pristine is not None else found
    if not agents.grave:
        return replace(checked, rewritten=replace(found, habitual=True))
    details = {"rewritten": cast("JsonValue", agents.names())}
    reason = f"it cannot be relied on: {_told_rewritten(staged.spec, agents, subject)}"
    failed = replace(_failed(staged.spec, one_line(reason)), details=details)
    kept = replace(failed, output=checked.result.output, duration_s=checked.result.duration_s)
    return _Checked(kept, agents)


async def _works(staged: StagedOracle, subject: Subject, bench: Bench) -> _Checked | None:
    try:
        return await _check(staged, subject, bench)
    except (OracleError, SandboxError):
        return None


async def _check(staged: StagedOracle, subject: Subject, bench: Bench) -> _Checked:
    if staged.fault is not None:
        raise OracleError(staged.fault)
    started = time.perf_counter()
    sandbox = await bench.open(network=staged.spec.network)
    try:
        result = await _answer(staged, sandbox, subject)
        altered = await sandbox.altered(bench.guarded.files)
    finally:
        await sandbox.close()
    took_s = time.perf_counter() - started
    result = replace(result, name=staged.spec.name, duration_s=took_s)
    return _Checked(result, rewritten(altered, bench.guarded))


async def _answer(staged: StagedOracle, sandbox: Sandbox, subject: Subject) -> OracleResult:
    spec = staged.spec
    kind = oracle_class(spec.kind)
    guest = oracle_guest(kind, spec.name, spec.kind)

    async def work() -> OracleResult:
        with guest.does("check()"):
            return await kind().check(staged, sandbox, subject)

    if guest.foreign:
        working, overdue = await ended(work(), spec.timeout_s + GRACE_S)
        if overdue:
            raise guest.wrong(f"check() did not end in its time ({spec.timeout_s:g} s)")
        result = guest.gave("check() gave", working.result(), OracleResult)
        _refuse_nonsense(result, guest)
    else:
        result = await work()
    return replace(result, reason=one_line(result.reason))


def _refuse_nonsense(result: OracleResult, guest: Guest) -> None:
    """No answer is better than one that says too much: a score of 2 would lift a mean."""
    if not 0 <= result.score <= 1:
        raise guest.wrong(f"check() gave a score of {result.score:g}, which is not from 0 to 1")
    try:
        json.dumps(dict(result.details), allow_nan=False)
    except (TypeError, ValueError, RecursionError) as error:
        raise guest.wrong(f"check() gave details that are no JSON: {error}") from error


def _failed(spec: OracleSpec, reason: str) -> OracleResult:
    return OracleResult(
        name=spec.name, kind=spec.kind, passed=False, score=0.0, reason=reason, sound=False
    )


def _unrun(spec: OracleSpec, reason: str) -> OracleResult:
    return graded(replace(_failed(spec, reason), ran=False), spec)


def _told_rewritten(spec: OracleSpec, found: Rewritten, subject: Subject) -> str:
    """What was rewritten; of the judge's own files as much as may leave the run directory."""
    reveal = spec.reveal or subject.trial.reveal
    who = f"while {'check' if spec.visible else 'oracle'} {spec.name} ran"
    return f"rewrote {found.told(names=spec.visible or reveal != 'verdict')} {who}"


def _told(spec: OracleSpec, fault: Exception, subject: Subject) -> str:
    """The fault for the terminal too: as much of it as may leave the run directory."""
    what = f"{spec.name} could not be judged"
    reveal = spec.reveal or subject.trial.reveal
    return what if reveal == "verdict" else f"{what}: {fault}"
