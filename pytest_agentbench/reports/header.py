"""What a session is about to do, in a few lines before the first trial. Pure.

Made of the plan and the experiment alone, so that it is the same in one process and on an
xdist controller.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from pytest_agentbench.redaction import printable

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from pytest_agentbench.model.plan import Plan
    from pytest_agentbench.model.variant import Experiment

_LISTED = 10


def header_lines(plan: Plan, experiment: Experiment, *, label: str | None = None) -> list[str]:
    """The lines; none where nothing is to run."""
    if not plan.selected:
        return []
    return [f"agentbench: {printable(line)}" for line in _lines(plan, experiment, label)]


def _lines(plan: Plan, experiment: Experiment, label: str | None) -> Iterator[str]:
    trials = plan.selected
    # In the experiment's order, whatever has shuffled the trials.
    chosen = {trial.variant: None for trial in trials}
    variants = [one.name for one in experiment.variants if one.name in chosen]
    variants += [name for name in chosen if name not in variants]
    drivers = sorted({trial.sandbox for trial in trials})
    walls = ", ".join(f"{name} (unisolated)" if name == "local" else name for name in drivers)
    yield (
        f"{_count(len(trials), 'trial')} of {', '.join(variants)} ({experiment.source});"
        f" sandbox: {walls}"
    )
    about = [f"label: {label}"] if label else []
    if experiment.baseline is not None:
        about.append(f"baseline: {experiment.baseline}")
    if about:
        yield "; ".join(about)
    # What was not selected at all goes without saying: the rollup tells of every suite.
    counts = {name: _tasks(plan, name) for name in plan.suites}
    suites = [f"{name} ({_count(number, 'task')})" for name, number in counts.items() if number]
    if suites:
        yield f"suites: {_listed(suites)}"
    excluded = Counter(trial.excluded.partition(":")[0] for trial in trials if trial.excluded)
    if excluded:
        reasons = ", ".join(f"{reason} {count}" for reason, count in excluded.most_common())
        yield f"{excluded.total()} of {_count(len(trials), 'trial')} to be skipped: {reasons}"
    if plan.gates:
        yield f"gates have no effect yet: {_listed(plan.gates)}"


def _tasks(plan: Plan, suite: str) -> int:
    return len({trial.task for trial in plan.selected if suite in trial.suites})


def _listed(names: Sequence[str]) -> str:
    more = f" and {len(names) - _LISTED} more" if len(names) > _LISTED else ""
    return ", ".join(names[:_LISTED]) + more


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
