"""A trial: one task × one variant × one repeat, with every setting resolved."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from pytest_agentbench.model.outcome import Reason
from pytest_agentbench.model.task import Limits, Reveal, SandboxSpec, TaskSpec
from pytest_agentbench.model.variant import Variant


@dataclass(frozen=True, slots=True)
class Exclusion:
    """Why a trial is skipped before anything of it starts. ``reason`` is a skipped one."""

    reason: Reason
    message: str


class TrialHead(NamedTuple):
    """What tells a trial from others and decides its place: a trial without its details."""

    task: TaskSpec
    variant: Variant
    repeat: int
    sandbox: SandboxSpec
    exclusion: Exclusion | None
    given_key: str = ""
    test: str = ""

    @property
    def parameter(self) -> str:
        """As a trial's."""
        return f"{self.variant.name}-r{self.repeat}"

    @property
    def key(self) -> str:
        """As a trial's."""
        return self.given_key or f"{self.task.id}[{self.variant.name}-r{self.repeat}]"


@dataclass(frozen=True, slots=True)
class TrialSpec:
    """What one pytest item runs. ``repeat`` counts from 1.

    ``lineage`` names, for each resolved path (``limits.time``), the layer that
    gave it: built-in, experiment, task, variant or command line. ``rendered`` is the
    prompt that a variant's template made of the task's; None without a template.
    ``exclusion`` is why it is not run at all. ``fault`` is why it cannot be set up (a
    template that makes nothing of this task): an error of this trial alone. ``test`` is
    the node id, without parameters, of the Python test that runs it; empty for the task
    file's own. ``given_key`` is its key where task, variant and repeat do not tell it
    from all others: that test's node id, or one with further parameters.
    """

    task: TaskSpec
    variant: Variant
    repeat: int
    limits: Limits
    sandbox: SandboxSpec
    lineage: Mapping[str, str] = field(default_factory=dict)
    reveal: Reveal = "reasons"
    rendered: str | None = None
    exclusion: Exclusion | None = None
    fault: str | None = None
    given_key: str = ""
    test: str = ""

    @property
    def prompt(self) -> str:
        """What the agent is told to do."""
        return self.task.prompt if self.rendered is None else self.rendered

    @property
    def parameter(self) -> str:
        """The part in brackets of the pytest id: ``codex-r1``."""
        return f"{self.variant.name}-r{self.repeat}"

    @property
    def key(self) -> str:
        """What tells this trial from all others of a run: ``fix-bug[codex-r1]``."""
        return self.given_key or f"{self.task.id}[{self.parameter}]"
