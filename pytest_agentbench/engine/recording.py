"""Turns what became known of a trial into its record."""

from __future__ import annotations

from datetime import UTC, datetime

from pytest_agentbench import __version__
from pytest_agentbench.engine.trial import Trial
from pytest_agentbench.model.digest import digest_value
from pytest_agentbench.model.outcome import Outcome, Reason
from pytest_agentbench.model.plan import PlannedTrial
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
from pytest_agentbench.model.trial import TrialSpec
from pytest_agentbench.model.verdict import Verdict
from pytest_agentbench.redaction import Redactor, printable

HARNESS = f"pytest-agentbench {__version__}"
MESSAGE_LIMIT = 4_000
FINAL_MESSAGE_LIMIT = 10_000
DROPPED_LIMIT = 50


def record_trial(trial: Trial, *, nodeid: str, attempt: int, artifacts: str | None) -> Record:
    """The record of one attempt; its text is redacted and printable."""
    redactor = Redactor(trial.secrets)
    run, verdict = trial.run, trial.verdict
    bare = bare_record(
        plan_trial(trial.spec, printable(nodeid), None),
        outcome=trial.outcome or Outcome.ERROR,
        reason=trial.reason,
        message=_clean(trial.message, redactor),
    )
    return bare.model_copy(
        update={
            "score": verdict.score if verdict else None,
            "oracles": _oracles(verdict, redactor),
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


def plan_trial(spec: TrialSpec, nodeid: str, deselected: str | None) -> PlannedTrial:
    """A trial's line in the plan."""
    return PlannedTrial(
        key=spec.key,
        nodeid=nodeid,
        task=spec.task.id,
        variant=spec.variant.name,
        repeat=spec.repeat,
        agent=spec.variant.agent,
        model=spec.variant.model,
        tags=list(spec.task.tags),
        deselected=deselected,
    )


def bare_record(
    planned: PlannedTrial, *, outcome: Outcome, reason: Reason | None, message: str = ""
) -> Record:
    """A record that says what was planned and what became of it; all measures are null."""
    return Record(
        key=planned.key,
        task=planned.task,
        variant=planned.variant,
        repeat=planned.repeat,
        nodeid=planned.nodeid,
        agent=planned.agent,
        model=planned.model,
        outcome=outcome,
        reason=reason,
        message=message,
        tags=planned.tags,
        harness=HARNESS,
    )


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


def _oracles(verdict: Verdict | None, redactor: Redactor) -> list[OracleRow]:
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
        )
        for result in verdict.results
    ]


def _churn(changes: Changes | None, redactor: Redactor) -> ChurnRow | None:
    if changes is None:
        return None

    def count(kind: ChangeKind) -> int:
        return sum(
            change.kind is kind
            for change in changes.changes
            if change.entry is None or change.entry.kind is not EntryKind.DIRECTORY
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
    variant = digest_value(
        [spec.variant.agent, spec.variant.model, dict(spec.variant.options), dict(spec.variant.env)]
    )
    prompt = digest_value(spec.task.prompt)
    template = prepared.template.digest if prepared else None
    oracles = prepared.oracles_digest if prepared else None
    walls = spec.sandbox
    asked = [
        spec.limits.time_s,
        walls.network,
        walls.memory_bytes,
        walls.cpus,
        walls.pids,
        dict(walls.env),
        str(walls.python),
        [str(path) for path in walls.read_only],
        trial.driver.name if trial.driver else None,
    ]
    whole = digest_value([spec.key, prompt, template, oracles, variant, asked, HARNESS])
    return DigestsRow(
        trial=whole if prepared else None,
        task=spec.task.digest,
        prompt=prompt,
        template=template,
        oracles=oracles,
        variant=variant,
    )
