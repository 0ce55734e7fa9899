"""What a session runs: the experiment's variants, less or other than those by its options."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import pytest

from pytest_agentbench.errors import UsageError
from pytest_agentbench.matrix.agentside import MODEL, OPTIONS, overlaid
from pytest_agentbench.matrix.columns import alone, chosen
from pytest_agentbench.matrix.layers import COMMAND_LINE, INI_FILE
from pytest_agentbench.matrix.prompts import template_fault
from pytest_agentbench.model.task import SettingsLayer
from pytest_agentbench.model.variant import Experiment, Variant
from pytest_agentbench.options import PREFIX
from pytest_agentbench.pytest_integration import compat
from pytest_agentbench.pytest_integration.components import brought
from pytest_agentbench.registry import agent_class
from pytest_agentbench.settings import Assignment, Settings
from pytest_agentbench.taskfiles.agentoptions import validate_by_registry
from pytest_agentbench.taskfiles.assignments import read_assignments
from pytest_agentbench.taskfiles.experiment import load_experiment

_AGENT = f"--{PREFIX}-agent"
_VARIANT = f"--{PREFIX}-variant"


@dataclass(frozen=True, slots=True)
class Chosen:
    """The experiment with the variants that run, and the layers that lie over them.

    ``narrowed`` says by what there are fewer trials than the experiment has.
    """

    experiment: Experiment
    command_line: SettingsLayer = field(default_factory=dict)
    ini: SettingsLayer = field(default_factory=dict)
    narrowed: tuple[str, ...] = ()


def choose(settings: Settings, config: pytest.Config) -> Chosen:
    """Load the experiment, ask for further variants, and obey the options about them.

    Raises ``UsageError`` and ``DefinitionError``.
    """
    ini, typed = read_assignments(settings.configured), read_assignments(settings.typed)
    components = brought(config)
    components.require()
    whole = load_experiment(
        settings.rootdir,
        settings.experiment,
        check_template=template_fault,
        check_marks=compat.marks_fault,
    )
    whole = components.with_variants(whole)
    experiment = _columns(whole, settings, model=typed.get(MODEL, ini.get(MODEL)))
    _check_options(experiment, settings, ((INI_FILE, ini), (COMMAND_LINE, typed)))
    return Chosen(experiment, typed, ini, tuple(_narrowed(whole, experiment, settings)))


def _columns(whole: Experiment, settings: Settings, *, model: object) -> Experiment:
    if settings.agent is not None:
        try:
            agent_class(settings.agent)
        except UsageError as error:
            raise UsageError(error.what, where=_AGENT, advice=error.advice) from error
        name = None if model is None else str(model)
        return alone(whole, settings.agent, name, said=f"{_AGENT} {settings.agent}")
    if settings.variants:
        return chosen(whole, settings.variants, where=_VARIANT)
    return whole


def _check_options(
    experiment: Experiment, settings: Settings, layers: Sequence[tuple[str, SettingsLayer]]
) -> None:
    """Ask each agent about the options that it gets from outside of its file."""
    given = [*settings.configured, *settings.typed]
    ours = any(one.path.startswith(OPTIONS) for one in given)
    if not ours and settings.agent is None:
        return
    for variant in experiment.variants:
        faults = validate_by_registry(variant.agent, overlaid(variant, layers).options)
        if faults:
            raise _refusal(variant, *faults[0], given, adhoc=settings.agent is not None)


def _refusal(
    variant: Variant,
    at: tuple[str | int, ...],
    message: str,
    given: Iterable[Assignment],
    *,
    adhoc: bool,
) -> UsageError:
    """What an agent says of its options, with the option that gives the wrong one."""
    path = OPTIONS + ".".join(map(str, at))
    giver = next((one for one in given if _touches(one.path, path)), None)
    if adhoc and giver is None:
        advice = f"--{PREFIX}-set={path}=VALUE" if message.startswith("needs") else ""
        return UsageError(message, where=f"{_AGENT} {variant.agent}", advice=advice)
    where = "options" if giver is None else giver.said
    if adhoc:
        return UsageError(message, where=where)
    return UsageError(
        f"the variant {variant.name!r} (agent {variant.agent}) cannot take it: {message}",
        where=where,
        advice=f"{_VARIANT}, to choose variants that can",
    )


def _touches(given: str, path: str) -> bool:
    """Whether an option gives a part of what is wrong: all of it, something below, or above."""
    return f"{path}.".startswith(f"{given}.") or f"{given}.".startswith(f"{path}.")


def _narrowed(whole: Experiment, experiment: Experiment, settings: Settings) -> Iterable[str]:
    if settings.agent is not None:
        if not whole.implicit:
            yield f"variants replaced by {_AGENT}={settings.agent}"
    elif len(experiment.variants) < len(whole.variants):
        yield f"variants chosen by {' '.join(f'{_VARIANT}={one}' for one in settings.variants)}"
