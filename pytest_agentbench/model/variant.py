"""A variant: one configuration of an agent, to compare with others."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from pytest_agentbench.model.task import JsonValue, Position, SettingsLayer


@dataclass(frozen=True, slots=True)
class ToolPolicy:
    """Which tools an agent may use, by the names that the agent has for them.

    ``allow`` None: all; ``deny`` is taken off that. An agent that cannot keep to a
    policy makes the trial an error.
    """

    allow: tuple[str, ...] | None = None
    deny: tuple[str, ...] = ()

    @property
    def empty(self) -> bool:
        """Whether nothing is asked for."""
        return self.allow is None and not self.deny


@dataclass(frozen=True, slots=True)
class Expectation:
    """What must be seen in the agent's transcript; else the trial is ``failed: evidence``."""

    skills: tuple[str, ...] = ()
    tools: tuple[str, ...] = ()

    @property
    def empty(self) -> bool:
        """Whether nothing is expected."""
        return not (self.skills or self.tools)


@dataclass(frozen=True, slots=True)
class Variant:
    """One column of the matrix, after ``extends`` is resolved.

    ``options`` is raw: the agent's own options model validates it. ``env`` holds
    unexpanded ``${VAR}``. ``layer`` is what the variant sets of limits, sandbox
    and repeats. ``overlay`` is a directory (absolute) that is laid over the workspace
    after set-up, and that the agent must leave as it is. ``prompt_template`` is a Jinja
    template over ``task`` and ``variant``; None: the task's prompt as it stands.
    ``position`` is None for variants that no file defines.
    """

    name: str
    agent: str
    model: str | None = None
    options: Mapping[str, JsonValue] = field(default_factory=dict)
    env: Mapping[str, str] = field(default_factory=dict)
    layer: SettingsLayer = field(default_factory=dict)
    overlay: Path | None = None
    prompt_template: str | None = None
    expect: Expectation = Expectation()
    tools: ToolPolicy = ToolPolicy()
    position: Position | None = None


@dataclass(frozen=True, slots=True)
class Suite:
    """A named selection of tasks.

    A task belongs to it that satisfies all that is given: ``marks`` is an expression as
    of ``-m``, ``paths`` are patterns of task files relative to the root directory,
    ``ids`` patterns of task ids. ``gate`` is kept as it is written.
    """

    name: str
    marks: str = ""
    paths: tuple[str, ...] = ()
    ids: tuple[str, ...] = ()
    gate: Mapping[str, JsonValue] | None = None
    position: Position | None = None


@dataclass(frozen=True, slots=True)
class Experiment:
    """What an experiment file says: variants in file order, and the lowest layer over the built-in.

    ``source`` names the file, or says why the ``reference`` variant runs alone.
    ``baseline`` is the name of a variant. ``slots`` says how many of each named resource
    there are; a resource that is not named there exists once. ``files`` are the
    experiment files that were read, the chosen one last. ``gated``: whether any ``gate``
    was seen, which has no effect yet.
    """

    variants: tuple[Variant, ...]
    defaults: SettingsLayer = field(default_factory=dict)
    source: str = ""
    implicit: bool = False
    baseline: str | None = None
    suites: tuple[Suite, ...] = ()
    slots: Mapping[str, int] = field(default_factory=dict)
    files: tuple[Path, ...] = ()
    gated: bool = False


def merged_options(
    base: Mapping[str, JsonValue], over: Mapping[str, JsonValue]
) -> dict[str, JsonValue]:
    """Options that lie over others: mappings merged in depth, everything else replaced."""
    found = dict(base)
    for key, value in over.items():
        below = found.get(key)
        if isinstance(below, dict) and isinstance(value, dict):
            found[key] = merged_options(below, value)
        else:
            found[key] = value
    return found
