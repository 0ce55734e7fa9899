"""One task × all variants × all repeats. Pure."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias, cast

from pytest_agentbench.matrix.agentside import agent_lineage, overlaid, without_agent
from pytest_agentbench.matrix.layers import (
    COMMAND_LINE,
    EXPERIMENT,
    INI_FILE,
    TASK,
    VARIANT,
    Resolved,
    resolve,
)
from pytest_agentbench.matrix.prompts import TemplateFault, render
from pytest_agentbench.model.task import Limits, SandboxSpec
from pytest_agentbench.model.trial import Exclusion, TrialSpec

if TYPE_CHECKING:
    from pytest_agentbench.model.task import SettingsLayer, TaskSpec
    from pytest_agentbench.model.variant import Experiment, Variant

Exclude: TypeAlias = Callable[[SandboxSpec], "Exclusion | None"]

_NOTHING: SettingsLayer = {}


def expand(
    task: TaskSpec,
    experiment: Experiment,
    command_line: SettingsLayer,
    *,
    ini: SettingsLayer = _NOTHING,
    exclusion: Exclude | None = None,
) -> tuple[TrialSpec, ...]:
    """The trials of one task, by repeat and then by variant.

    ``ini`` is the layer of the project's ini file, below the command line's. ``exclusion``
    says why a trial within some walls is not run. Variants may differ in how often they
    are tried. Raises ``UsageError`` for a setting that is not known or of the wrong type.
    """
    above = ((INI_FILE, ini), (COMMAND_LINE, command_line))
    columns = [
        _Column.of(task, variant, experiment, above, exclusion) for variant in experiment.variants
    ]
    most = max((column.resolved.repeats for column in columns), default=0)
    return tuple(
        column.trial(task, repeat)
        for repeat in range(1, most + 1)
        for column in columns
        if repeat <= column.resolved.repeats
    )


def repeats_lowered(
    task: TaskSpec, experiment: Experiment, command_line: SettingsLayer, ini: SettingsLayer
) -> bool:
    """Whether the command line takes repeats away from what is configured."""
    typed = cast("int | None", command_line.get("repeats"))
    if typed is None:
        return False
    above = ((INI_FILE, ini),)
    return any(
        _resolved(task, variant, experiment, above).repeats > typed
        for variant in experiment.variants
    )


@dataclass(frozen=True, slots=True)
class _Column:
    """One task with one variant."""

    variant: Variant
    resolved: Resolved
    limits: Limits
    sandbox: SandboxSpec
    lineage: Mapping[str, str]
    rendered: str | None
    fault: str | None
    exclusion: Exclusion | None

    @classmethod
    def of(
        cls,
        task: TaskSpec,
        variant: Variant,
        experiment: Experiment,
        above: tuple[tuple[str, SettingsLayer], ...],
        exclusion: Exclude | None,
    ) -> _Column:
        resolved = _resolved(task, variant, experiment, above)
        lineage = {**resolved.lineage, **agent_lineage(VARIANT, variant, above)}
        column = overlaid(variant, above)
        rendered, fault = _prompt(task, column)
        limits, sandbox = resolved.limits, resolved.sandbox
        excluded = None if exclusion is None else exclusion(sandbox)
        return cls(column, resolved, limits, sandbox, lineage, rendered, fault, excluded)

    def trial(self, task: TaskSpec, repeat: int) -> TrialSpec:
        return TrialSpec(
            task,
            self.variant,
            repeat,
            self.limits,
            self.sandbox,
            self.lineage,
            reveal=self.resolved.reveal,
            rendered=self.rendered,
            exclusion=self.exclusion,
            fault=self.fault,
        )


def _resolved(
    task: TaskSpec,
    variant: Variant,
    experiment: Experiment,
    above: tuple[tuple[str, SettingsLayer], ...],
) -> Resolved:
    return resolve(
        [
            (EXPERIMENT, experiment.defaults),
            (TASK, task.layer),
            (VARIANT, variant.layer),
            *((name, without_agent(layer)) for name, layer in above),
        ]
    )


def _prompt(task: TaskSpec, variant: Variant) -> tuple[str | None, str | None]:
    """What a variant's template makes of a task's prompt, and why it makes nothing."""
    if variant.prompt_template is None:
        return None, None
    try:
        return render(variant.prompt_template, task, variant), None
    except TemplateFault as fault:
        return None, f"variant {variant.name}: {fault}"
