"""A trial: one task × one variant × one repeat, with every setting resolved."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from pytest_agentbench.model.task import Limits, SandboxSpec, TaskSpec
from pytest_agentbench.model.variant import Variant


@dataclass(frozen=True, slots=True)
class TrialSpec:
    """What one pytest item runs. ``repeat`` counts from 1.

    ``lineage`` names, for each resolved path (``limits.time``), the layer that
    gave it: built-in, experiment, task, variant or command line.
    """

    task: TaskSpec
    variant: Variant
    repeat: int
    limits: Limits
    sandbox: SandboxSpec
    lineage: Mapping[str, str] = field(default_factory=dict)

    @property
    def parameter(self) -> str:
        """The part in brackets of the pytest id: ``codex-r1``."""
        return f"{self.variant.name}-r{self.repeat}"

    @property
    def key(self) -> str:
        """What tells this trial from all others of a run: ``fix-bug[codex-r1]``."""
        return f"{self.task.id}[{self.parameter}]"
