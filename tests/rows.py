"""Plans and records for tests, with everything filled in that a test does not care about."""

from __future__ import annotations

from collections.abc import Iterable

from hypothesis import strategies as st

from pytest_agentbench.model.outcome import Outcome, Reason, outcome_of
from pytest_agentbench.model.plan import Plan, PlannedTrial
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


def planned(
    task: str = "fix",
    variant: str = "codex",
    repeat: int = 1,
    *,
    deselected: str | None = None,
    suites: tuple[str, ...] = (),
) -> PlannedTrial:
    key = f"{task}[{variant}-r{repeat}]"
    return PlannedTrial(
        key=key,
        nodeid=f"tasks/{task}.yaml::{key}",
        task=task,
        variant=variant,
        repeat=repeat,
        agent="command",
        deselected=deselected,
        suites=suites,
        sandbox="local",
    )


def matrix(tasks: Iterable[str], variants: Iterable[str] = ("codex",), repeats: int = 1) -> Plan:
    names = [(task, variant) for task in tasks for variant in variants]
    rounds = range(1, repeats + 1)
    return Plan(trials=[planned(task, name, repeat) for repeat in rounds for task, name in names])


def judged(name: str, *, passed: bool = True, **fields: object) -> dict[str, object]:
    """An oracle's row in a record."""
    row = {"kind": "run", "score": float(passed), "weight": 1.0, "required": True}
    return {"name": name, "passed": passed, "reason": "", "duration_s": 0.0, **row, **fields}


def recorded(
    trial: PlannedTrial | None = None,
    ended: Outcome | Reason = Outcome.PASSED,
    **fields: object,
) -> Record:
    """A record of ``trial`` that ended so; a reason stands for its outcome too."""
    trial = trial or planned()
    return Record.model_validate(
        {
            "key": trial.key,
            "task": trial.task,
            "variant": trial.variant,
            "repeat": trial.repeat,
            "nodeid": trial.nodeid,
            "agent": trial.agent,
            "model": trial.model,
            "outcome": outcome_of(ended) if isinstance(ended, Reason) else ended,
            "reason": ended if isinstance(ended, Reason) else None,
            **fields,
        }
    )


_texts = st.text(max_size=20)
_numbers = st.floats(allow_nan=False, allow_infinity=False)
_counts = st.integers(min_value=0, max_value=10**12)
_maybe_counts = st.none() | _counts
_maybe_numbers = st.none() | _numbers
_maybe_seconds = st.none() | st.floats(0, 1e9)
_maybe_texts = st.none() | _texts
_few_texts = st.lists(_texts, max_size=3)

records = st.builds(
    Record,
    key=_texts,
    task=_texts,
    variant=_texts,
    repeat=_counts,
    nodeid=_texts,
    agent=_texts,
    model=_maybe_texts,
    outcome=st.sampled_from(Outcome),
    reason=st.none() | st.sampled_from(Reason),
    message=_texts,
    score=st.none() | st.floats(0, 1),
    oracles=st.lists(
        st.builds(
            OracleRow,
            name=_texts,
            kind=_texts,
            passed=st.booleans(),
            score=st.floats(0, 1),
            weight=_numbers,
            required=st.booleans(),
            reason=_texts,
            duration_s=_numbers,
        ),
        max_size=3,
    ),
    churn=st.none()
    | st.builds(
        ChurnRow,
        files_added=_counts,
        files_modified=_counts,
        files_deleted=_counts,
        lines_added=_maybe_counts,
        lines_removed=_maybe_counts,
        dropped=st.dictionaries(_texts, _texts, max_size=2),
    ),
    usage=st.builds(
        UsageRow,
        input_tokens=_maybe_counts,
        output_tokens=_maybe_counts,
        turns=_maybe_counts,
        cost_usd=_maybe_numbers,
        source=_maybe_texts,
    ),
    agent_run=st.builds(
        AgentRow,
        exit_code=_maybe_counts,
        signal=_maybe_counts,
        timed_out=st.booleans(),
        out_of_memory=st.booleans(),
        final_message=_maybe_texts,
        stdout_bytes=_maybe_counts,
        stderr_bytes=_maybe_counts,
    ),
    sandbox=st.none()
    | st.builds(
        SandboxRow,
        driver=_texts,
        isolated=st.booleans(),
        network=_texts,
        capabilities=_few_texts,
    ),
    digests=st.builds(DigestsRow, trial=_maybe_texts, task=_maybe_texts),
    lineage=st.dictionaries(_texts, _texts, max_size=2),
    phases=st.builds(Phases, setup_s=_maybe_seconds, agent_s=_maybe_seconds),
    artifacts=_maybe_texts,
    tags=_few_texts,
    harness=_texts,
    started_at=_maybe_texts,
    diagnostics=_few_texts,
    attempt=_counts,
)
"""Any record whose text is text."""
