"""What is known of a trial that has not run: its line in the plan, and a record without measures.

Apart from what runs trials, for every session with task files needs it.
"""

from __future__ import annotations

from collections.abc import Sequence

from pytest_agentbench import __version__
from pytest_agentbench.model.outcome import Outcome, Reason
from pytest_agentbench.model.plan import PlannedTrial
from pytest_agentbench.model.record import Record
from pytest_agentbench.model.trial import TrialHead, TrialSpec
from pytest_agentbench.redaction import printable

HARNESS = f"pytest-agentbench {__version__}"


def plan_trial(
    spec: TrialSpec | TrialHead,
    nodeid: str,
    deselected: str | None,
    *,
    suites: Sequence[str] = (),
    position: str | None = None,
) -> PlannedTrial:
    """A trial's line in the plan."""
    exclusion = spec.exclusion
    return PlannedTrial(
        key=spec.key,
        nodeid=nodeid,
        task=spec.task.id,
        variant=spec.variant.name,
        repeat=spec.repeat,
        agent=spec.variant.agent,
        model=spec.variant.model,
        tags=spec.task.tags,
        deselected=deselected,
        excluded=None if exclusion is None else f"{exclusion.reason}: {exclusion.message}",
        suites=tuple(suites),
        position=position,
        sandbox=spec.sandbox.driver,
        test=printable(spec.test) if spec.test else None,
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
        tags=list(planned.tags),
        harness=HARNESS,
        test=planned.test,
    )
