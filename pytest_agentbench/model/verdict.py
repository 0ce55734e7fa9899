"""What the oracles say."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from pytest_agentbench.model.task import JsonValue


@dataclass(frozen=True, slots=True)
class OracleResult:
    """One oracle's, or one check's, answer. ``score`` lies in 0..1.

    ``reason`` is one line for people (also when it passed). ``details`` is
    JSON-able and small. ``output`` is raw and bounded; it never leaves the run
    directory unredacted. ``ran`` is false for one that was not run because what it
    needs has not passed. ``advisory`` ones have no effect on the verdict. ``sound`` is
    false for one that did not come to its own end, or whose report contradicts itself:
    it has not passed, whatever its score.
    """

    name: str
    kind: str
    passed: bool
    score: float
    reason: str
    details: Mapping[str, JsonValue] = field(default_factory=dict)
    output: str = ""
    duration_s: float = 0.0
    required: bool = True
    weight: float = 1.0
    advisory: bool = False
    visible: bool = False
    ran: bool = True
    sound: bool = True


@dataclass(frozen=True, slots=True)
class Verdict:
    """What all oracles and checks of a trial say together.

    ``score`` is the weighted mean of the oracles that are not advisory, 0..1.
    ``results`` are those of the checks, then those of the oracles, each in their order.
    """

    passed: bool
    score: float
    reason: str
    results: tuple[OracleResult, ...]

    def __bool__(self) -> bool:
        """Whether it passed: ``assert agentbench_verdict`` must not hold for every verdict."""
        return self.passed
