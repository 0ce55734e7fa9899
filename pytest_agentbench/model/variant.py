"""A variant: one configuration of an agent, to compare with others."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from pytest_agentbench.model.task import JsonValue, Position, SettingsLayer


@dataclass(frozen=True, slots=True)
class Variant:
    """One column of the matrix, after ``extends`` is resolved.

    ``options`` is raw: the agent's own options model validates it. ``env`` holds
    unexpanded ``${VAR}``. ``layer`` is what the variant sets of limits, sandbox
    and repeats. ``position`` is None for variants that no file defines.
    """

    name: str
    agent: str
    model: str | None = None
    options: Mapping[str, JsonValue] = field(default_factory=dict)
    env: Mapping[str, str] = field(default_factory=dict)
    layer: SettingsLayer = field(default_factory=dict)
    position: Position | None = None


@dataclass(frozen=True, slots=True)
class Experiment:
    """What an experiment file says: variants in file order, and the lowest layer over the built-in.

    ``source`` names the file, or says why the ``reference`` variant runs alone.
    """

    variants: tuple[Variant, ...]
    defaults: SettingsLayer = field(default_factory=dict)
    source: str = ""
    implicit: bool = False
