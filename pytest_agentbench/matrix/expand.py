"""One task × all variants × all repeats. Pure."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import TYPE_CHECKING, TypeAlias, cast, overload

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
from pytest_agentbench.model.trial import Exclusion, TrialHead, TrialSpec

if TYPE_CHECKING:
    from pytest_agentbench.model.task import Reveal, SettingsLayer, TaskSpec
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
    return tuple(trials(task, experiment, command_line, ini=ini, exclusion=exclusion))


def trials(
    task: TaskSpec,
    experiment: Experiment,
    command_line: SettingsLayer,
    *,
    ini: SettingsLayer = _NOTHING,
    exclusion: Exclude | None = None,
) -> Trials:
    """The same trials as ``expand`` gives, each made when it is asked for."""
    return Expansion(experiment, command_line, ini=ini).trials(task, exclusion=exclusion)


class Expansion:
    """Expands one task after the other, and makes only once what they have in common.

    Most tasks of a project set the same limits and walls, or none: resolving them anew took a
    fifth of the time in which a task file is loaded, and the garbage collector looks through
    each object again and again.
    """

    def __init__(
        self,
        experiment: Experiment,
        command_line: SettingsLayer,
        *,
        ini: SettingsLayer = _NOTHING,
    ) -> None:
        self._experiment = experiment
        self._above = ((INI_FILE, ini), (COMMAND_LINE, command_line))
        self._columns: dict[str, tuple[Column, ...]] = {}

    def trials(self, task: TaskSpec, *, exclusion: Exclude | None = None) -> Trials:
        """The trials of one task. Raises ``UsageError`` as ``expand`` does."""
        # The order of paths counts as well: it is that of variables in the environment.
        written = repr(task.layer)
        columns = self._columns.get(written)
        if columns is None:
            columns = self._columns[written] = tuple(
                Column.of(task.layer, variant, self._experiment, self._above)
                for variant in self._experiment.variants
            )
        if exclusion is not None or any(one.variant.prompt_template for one in columns):
            columns = tuple(column.of_task(task, exclusion) for column in columns)
        return Trials(task, columns)


def repeats_lowered(
    task: TaskSpec, experiment: Experiment, command_line: SettingsLayer, ini: SettingsLayer
) -> bool:
    """Whether the command line takes repeats away from what is configured."""
    typed = cast("int | None", command_line.get("repeats"))
    if typed is None:
        return False
    above = ((INI_FILE, ini),)
    return any(
        _resolved(task.layer, variant, experiment, above).repeats > typed
        for variant in experiment.variants
    )


@dataclass(frozen=True, slots=True)
class Column:
    """One task with one variant: all that its trials have in common.

    What depends on the task beside its settings is unset at first: tasks with the same
    settings share a column.
    """

    variant: Variant
    repeats: int
    limits: Limits
    sandbox: SandboxSpec
    lineage: Mapping[str, str]
    reveal: Reveal
    rendered: str | None = None
    fault: str | None = None
    exclusion: Exclusion | None = None

    @classmethod
    def of(
        cls,
        layer: SettingsLayer,
        variant: Variant,
        experiment: Experiment,
        above: tuple[tuple[str, SettingsLayer], ...],
    ) -> Column:
        """The settings of all layers for a task with that layer and one variant."""
        resolved = _resolved(layer, variant, experiment, above)
        lineage = {**resolved.lineage, **agent_lineage(VARIANT, variant, above)}
        return cls(
            variant=overlaid(variant, above),
            repeats=resolved.repeats,
            limits=resolved.limits,
            sandbox=resolved.sandbox,
            lineage=lineage,
            reveal=resolved.reveal,
        )

    def of_task(self, task: TaskSpec, exclusion: Exclude | None) -> Column:
        """The same with what depends on the task."""
        rendered, fault = _prompt(task, self.variant)
        excluded = None if exclusion is None else exclusion(self.sandbox)
        return replace(self, rendered=rendered, fault=fault, exclusion=excluded)

    def trial(self, task: TaskSpec, repeat: int) -> TrialSpec:
        """One of them."""
        return TrialSpec(
            task,
            self.variant,
            repeat,
            self.limits,
            self.sandbox,
            self.lineage,
            reveal=self.reveal,
            rendered=self.rendered,
            exclusion=self.exclusion,
            fault=self.fault,
        )


class Trials(Sequence[TrialSpec]):
    """The trials of one task, by repeat and then by variant, each made when it is asked for.

    Ten thousand of them that live while pytest collects are a tenth of what the garbage
    collector has to look through, again and again.
    """

    __slots__ = ("_places", "columns", "task")

    def __init__(self, task: TaskSpec, columns: tuple[Column, ...]) -> None:
        self.task = task
        self.columns = columns
        self._places = _places(tuple(column.repeats for column in columns))

    def __len__(self) -> int:
        return len(self._places)

    @overload
    def __getitem__(self, index: int) -> TrialSpec: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[TrialSpec, ...]: ...
    def __getitem__(self, index: int | slice) -> TrialSpec | tuple[TrialSpec, ...]:
        if isinstance(index, slice):
            return tuple(self[place] for place in range(*index.indices(len(self))))
        repeat, number = self._places[index]
        return self.columns[number].trial(self.task, repeat)

    def head(self, index: int) -> TrialHead:
        """A trial without its details, for those who look at all trials at once."""
        repeat, number = self._places[index]
        column = self.columns[number]
        return TrialHead(self.task, column.variant, repeat, column.sandbox, column.exclusion)


@cache
def _places(repeats: tuple[int, ...]) -> tuple[tuple[int, int], ...]:
    """Repeat and number of the column of each trial."""
    return tuple(
        (repeat, number)
        for repeat in range(1, max(repeats, default=0) + 1)
        for number, most in enumerate(repeats)
        if repeat <= most
    )


def _resolved(
    layer: SettingsLayer,
    variant: Variant,
    experiment: Experiment,
    above: tuple[tuple[str, SettingsLayer], ...],
) -> Resolved:
    return resolve(
        [
            (EXPERIMENT, experiment.defaults),
            (TASK, layer),
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
