"""Settings that are the agent's: ``model``, ``options.NAME`` and ``env.NAME``. Pure.

A layer may hold them beside all others; a variant takes them in as its own.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, TypeAlias, cast

from pytest_agentbench.model.variant import merged_options

if TYPE_CHECKING:
    from pytest_agentbench.model.task import JsonValue, SettingsLayer
    from pytest_agentbench.model.variant import Variant

NamedLayer: TypeAlias = "tuple[str, SettingsLayer]"

MODEL = "model"
OPTIONS = "options."
ENV = "env."


def is_agent_path(path: str) -> bool:
    """Whether a path belongs to the agent."""
    return path == MODEL or path.startswith((OPTIONS, ENV))


def without_agent(layer: SettingsLayer) -> SettingsLayer:
    """The layer less what is the agent's."""
    return {path: value for path, value in layer.items() if not is_agent_path(path)}


def overlaid(variant: Variant, layers: Sequence[NamedLayer]) -> Variant:
    """The variant with what the layers set of its agent; options are merged in depth."""
    found = {path: value for _, layer in layers for path, value in layer.items()}
    if not any(map(is_agent_path, found)):
        return variant
    options: dict[str, JsonValue] = dict(variant.options)
    env = dict(variant.env)
    for _, layer in layers:
        for path, value in layer.items():
            if path.startswith(OPTIONS):
                steps = path.removeprefix(OPTIONS).split(".")
                options = merged_options(options, _nested(steps, value))
            elif path.startswith(ENV):
                env[path.removeprefix(ENV)] = cast("str", value)
    model = cast("str | None", found.get(MODEL, variant.model))
    return replace(variant, model=model, options=options, env=env)


def agent_lineage(own: str, variant: Variant, layers: Sequence[NamedLayer]) -> dict[str, str]:
    """Which layer gave each of the agent's settings; ``own`` is the name of the variant's.

    Options of the variant are named by their first key, those of a layer by the path
    that it sets: the longer path is the truer one.
    """
    lineage = {} if variant.model is None else {MODEL: own}
    lineage |= dict.fromkeys((f"{OPTIONS}{name}" for name in variant.options), own)
    lineage |= dict.fromkeys((f"{ENV}{name}" for name in variant.env), own)
    for name, layer in layers:
        lineage |= {path: name for path in layer if is_agent_path(path)}
    return lineage


def _nested(steps: Sequence[str], value: JsonValue) -> dict[str, JsonValue]:
    """``{a: {b: value}}`` for the steps a, b."""
    for step in reversed(steps[1:]):
        value = {step: value}
    return {steps[0]: value}
