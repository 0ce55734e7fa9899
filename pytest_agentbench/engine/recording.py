"""Turns what became known of a trial into its record."""

from __future__ import annotations

import math
from collections.abc import Mapping
from datetime import UTC, datetime

from pytest_agentbench.engine.planned import HARNESS, bare_record, plan_trial
from pytest_agentbench.engine.trial import Trial
from pytest_agentbench.model.contracts import Template
from pytest_agentbench.model.digest import digest_value
from pytest_agentbench.model.outcome import Outcome
from pytest_agentbench.model.record import (
    AgentRow,
    ChurnRow,
    DigestsRow,
    OracleRow,
    Phases,
    Record,
    SandboxRow,
    UsageRow,
)
from pytest_agentbench.model.run import AgentRun, ChangeKind, Changes, EntryKind, Usage
from pytest_agentbench.model.task import JsonValue, OracleSpec, Reveal
from pytest_agentbench.model.trial import TrialSpec
from pytest_agentbench.model.variant import Variant
from pytest_agentbench.model.verdict import Verdict
from pytest_agentbench.redaction import Redactor, printable
from pytest_agentbench.sandboxes.gitfresh import of_repository

MESSAGE_LIMIT = 4_000
FINAL_MESSAGE_LIMIT = 10_000
DROPPED_LIMIT = 50
_DETAIL_LIMIT = 1_000
_DETAILS_DEPTH = 20
_DETAIL_BITS = 64


def record_trial(trial: Trial, *, nodeid: str, attempt: int, artifacts: str | None) -> Record:
    """The record of one attempt; its text is redacted and printable."""
    redactor = trial.redactor
    run, verdict = trial.run, trial.verdict
    bare = bare_record(
        plan_trial(trial.spec, printable(nodeid), None),
        outcome=trial.outcome or Outcome.ERROR,
        reason=trial.reason,
        message=_clean(trial.message, redactor),
    )
    return bare.model_copy(
        update={
            "score": verdict.score if verdict is not None and trial.scored else None,
            "oracles": _oracles(verdict, revealed(trial.spec), redactor),
            "churn": _churn(run.changes if run else None, redactor),
            "usage": _usage(run.transcript.usage if run else Usage()),
            "agent_run": _agent(run, redactor),
            "lineage": dict(trial.spec.lineage),
            "sandbox": _sandbox(trial),
            "digests": _digests(trial),
            "phases": _phases(trial),
            "artifacts": artifacts,
            "started_at": datetime.fromtimestamp(trial.started_at, UTC).isoformat(),
            "diagnostics": [_clean(line, redactor) for line in trial.diagnostics],
            "attempt": attempt,
        }
    )


def revealed(spec: TrialSpec) -> dict[str, Reveal]:
    """What of each check's and oracle's report may leave the run directory, by name."""
    judges = (*spec.task.checks, *spec.task.oracles)
    return {one.name: one.reveal or spec.reveal for one in judges}


def _clean(text: str, redactor: Redactor, limit: int = MESSAGE_LIMIT) -> str:
    return printable(redactor.text(text), limit)


def _phases(trial: Trial) -> Phases:
    timings = trial.timings
    spent = [
        seconds
        for seconds in (timings.setup_s, timings.agent_s, timings.teardown_s, timings.scoring_s)
        if seconds is not None
    ]
    return Phases(
        setup_s=timings.setup_s,
        agent_s=timings.agent_s,
        teardown_s=timings.teardown_s,
        scoring_s=timings.scoring_s,
        total_s=sum(spent) if spent else None,
    )


def _oracles(
    verdict: Verdict | None, reveal: Mapping[str, Reveal], redactor: Redactor
) -> list[OracleRow]:
    if verdict is None:
        return []
    return [
        OracleRow(
            name=result.name,
            kind=result.kind,
            passed=result.passed,
            score=result.score,
            weight=result.weight,
            required=result.required,
            reason=_clean(result.reason, redactor),
            duration_s=result.duration_s,
            advisory=result.advisory,
            visible=result.visible,
            ran=result.ran,
            reveal=reveal.get(result.name, "verdict"),
            details={
                _clean(name, redactor, _DETAIL_LIMIT): _kept(value, redactor)
                for name, value in result.details.items()
            },
        )
        for result in verdict.results
    ]


def _kept(value: JsonValue, redactor: Redactor, depth: int = _DETAILS_DEPTH) -> JsonValue:
    """A detail that any reader of JSON can read: what nests deeper, or has more digits, as text."""
    kept = value
    if isinstance(value, str):
        kept = _clean(value, redactor, _DETAIL_LIMIT)
    elif isinstance(value, dict | list) and not depth:
        kept = f"[nested deeper than {_DETAILS_DEPTH} levels]"
    elif isinstance(value, dict):
        kept = {
            _clean(name, redactor, _DETAIL_LIMIT): _kept(below, redactor, depth - 1)
            for name, below in value.items()
        }
    elif isinstance(value, list):
        kept = [_kept(below, redactor, depth - 1) for below in value]
    elif isinstance(value, int) and value.bit_length() > _DETAIL_BITS:
        kept = f"[a number of {value.bit_length()} bits]"
    elif isinstance(value, float) and not math.isfinite(value):
        kept = str(value)
    return kept


def _churn(changes: Changes | None, redactor: Redactor) -> ChurnRow | None:
    if changes is None:
        return None

    def count(kind: ChangeKind) -> int:
        return sum(
            change.kind is kind
            for change in changes.changes
            if not of_repository(change.path)
            and (change.entry is None or change.entry.kind is not EntryKind.DIRECTORY)
        )

    return ChurnRow(
        files_added=count(ChangeKind.ADDED),
        files_modified=count(ChangeKind.MODIFIED),
        files_deleted=count(ChangeKind.DELETED),
        lines_added=changes.lines_added,
        lines_removed=changes.lines_removed,
        dropped={
            _clean(name, redactor): _clean(why, redactor)
            for name, why in list(changes.dropped.items())[:DROPPED_LIMIT]
        },
    )


def _usage(usage: Usage) -> UsageRow:
    return UsageRow(
        input_tokens=usage.input_tokens,
        output_tokens=usage.output_tokens,
        turns=usage.turns,
        cost_usd=usage.cost_usd,
        source=usage.source,
    )


def _agent(run: AgentRun | None, redactor: Redactor) -> AgentRow:
    if run is None:
        return AgentRow()
    said = run.transcript.final_message
    final_message = None if said is None else _clean(said, redactor, FINAL_MESSAGE_LIMIT)
    if run.completed is None:
        return AgentRow(final_message=final_message)
    return AgentRow(
        exit_code=run.completed.exit_code,
        signal=run.completed.signal,
        timed_out=run.completed.timed_out,
        out_of_memory=run.completed.out_of_memory,
        final_message=final_message,
        stdout_bytes=run.completed.stdout.total,
        stderr_bytes=run.completed.stderr.total,
    )


def _sandbox(trial: Trial) -> SandboxRow | None:
    if trial.driver is None or trial.timings.agent_s is None:
        return None  # nothing ran, so nothing ran without walls
    capabilities = trial.driver.probe()
    return SandboxRow(
        driver=trial.driver.name,
        isolated=capabilities.isolated,
        network=trial.network,
        capabilities=capabilities.names(),
    )


def _digests(trial: Trial) -> DigestsRow:
    spec, prepared = trial.spec, trial.prepared
    variant = _variant_digest(spec.variant)
    prompt = digest_value(spec.prompt)
    template = prepared.template.digest if prepared else None
    oracles = prepared.oracles_digest if prepared else None
    overlay = _overlay_digest(prepared.template) if prepared else None
    code = trial.run.code_digest if trial.run else None
    made_of = [spec.key, prompt, template, oracles, overlay, variant, code, _asked(trial), HARNESS]
    return DigestsRow(
        trial=digest_value(made_of) if prepared else None,
        task=spec.task.digest,
        prompt=prompt,
        template=template,
        oracles=oracles,
        variant=variant,
        overlay=overlay,
        agent_code=code,
    )


def _variant_digest(variant: Variant) -> str:
    """Covers what a variant says of its agent; its overlay has a digest of its own."""
    expect, tools = variant.expect, variant.tools
    return digest_value(
        [
            variant.agent,
            variant.model,
            dict(variant.options),
            dict(variant.env),
            variant.prompt_template,
            [expect.skills, expect.tools],
            [tools.allow, tools.deny],
        ]
    )


def _overlay_digest(template: Template) -> str | None:
    if not template.overlay:
        return None
    manifest = template.manifest
    rows = []
    for path in sorted(template.overlay):
        entry = manifest[path]
        rows.append([path.hex(), entry.kind.value, entry.executable, entry.digest])
    return digest_value(rows)


def _asked(trial: Trial) -> list[object]:
    """Walls, limits and how results are weighed: not what is shown of them."""
    spec, walls = trial.spec, trial.spec.sandbox
    return [
        spec.limits.time_s,
        spec.limits.workspace_bytes,
        walls.network,
        walls.memory_bytes,
        walls.cpus,
        walls.pids,
        dict(walls.env),
        str(walls.python),
        [str(path) for path in walls.read_only],
        [walls.image, walls.user, walls.workdir, walls.platform, walls.scoring],
        trial.driver.name if trial.driver else None,
        spec.task.threshold,
        spec.task.workspace.protect,
        [_weighed(one) for one in (*spec.task.checks, *spec.task.oracles)],
    ]


def _weighed(spec: OracleSpec) -> list[object]:
    """How one oracle's result counts; what it judges by has a digest of its own."""
    return [
        spec.name,
        spec.weight,
        spec.required,
        spec.advisory,
        spec.visible,
        spec.needs,
        spec.pass_at,
        spec.network,
        spec.timeout_s,
    ]
