"""One task × all variants × all repeats. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pytest_agentbench.matrix.layers import resolve
from pytest_agentbench.model.trial import TrialSpec

if TYPE_CHECKING:
    from pytest_agentbench.model.task import SettingsLayer, TaskSpec
    from pytest_agentbench.model.variant import Experiment


def expand(
    task: TaskSpec, experiment: Experiment, command_line: SettingsLayer
) -> tuple[TrialSpec, ...]:
    """The trials of one task, by repeat and then by variant.

    Variants may differ in how often they are tried. Raises ``UsageError`` for a
    setting that is not known or of the wrong type.
    """
    columns = []
    for variant in experiment.variants:
        resolved = resolve(
            [
                ("experiment", experiment.defaults),
                ("task", task.layer),
                ("variant", variant.layer),
                ("command line", command_line),
            ]
        )
        columns.append((variant, resolved, resolved.limits, resolved.sandbox))
    most = max((resolved.repeats for _, resolved, _, _ in columns), default=0)
    return tuple(
        TrialSpec(task, variant, repeat, limits, sandbox, resolved.lineage)
        for repeat in range(1, most + 1)
        for variant, resolved, limits, sandbox in columns
        if repeat <= resolved.repeats
    )
