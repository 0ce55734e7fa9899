"""The end of an attempt: artifacts kept, the record made, the story told."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pytest_agentbench.engine.recording import record_trial
from pytest_agentbench.engine.words import last_words, oracle_words, trial_output
from pytest_agentbench.errors import StoreError
from pytest_agentbench.model.outcome import Outcome
from pytest_agentbench.pytest_integration.paths import relative_to
from pytest_agentbench.reports.story import describe_changes, story
from pytest_agentbench.results.artifacts import keep_artifacts

if TYPE_CHECKING:
    from pytest_agentbench.engine.trial import Trial
    from pytest_agentbench.model.record import Record
    from pytest_agentbench.pytest_integration.session import BenchSession


def conclude(bench: BenchSession, trial: Trial, *, nodeid: str, attempt: int) -> tuple[Record, str]:
    """Keep the artifacts of an attempt that ended; return its record and its story."""
    artifacts = _keep(bench, trial, attempt)
    record = record_trial(trial, nodeid=nodeid, attempt=attempt, artifacts=artifacts)
    return record, _story(bench, trial, record)


def _keep(bench: BenchSession, trial: Trial, attempt: int) -> str | None:
    spec = trial.spec
    try:
        run = bench.run_directory()
        kept = keep_artifacts(
            run,
            run.artifacts(spec.given_key or spec.task.id, spec.variant.name, spec.repeat, attempt),
            trial_output(trial),
            outcome=trial.outcome or Outcome.ERROR,
            policy=bench.settings.keep,
            redactor=trial.redactor,
        )
    except StoreError as error:
        trial.diagnostics.append(f"artifacts were not kept: {error}")
        return None
    trial.diagnostics.extend(kept.diagnostics)
    return kept.path


def _story(bench: BenchSession, trial: Trial, record: Record) -> str:
    redactor = trial.redactor
    changes = trial.run.changes if trial.run else None
    results = relative_to(bench.settings.results, bench.settings.rootdir)
    told = story(
        record,
        results_path=f"{results}/runs/{bench.run_id}",
        changes=[redactor.text(line) for line in describe_changes(changes)] if changes else (),
        last_words=last_words(trial, redactor),
        outputs=oracle_words(trial, redactor),
    )
    return redactor.text(told)
