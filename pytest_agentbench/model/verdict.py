"""What the oracles say."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from pytest_agentbench.model.task import JsonValue


@dataclass(frozen=True, slots=True)
class OracleResult:
    """One oracle's answer. ``score`` lies in 0..1.

    ``reason`` is one line for people (also when it passed). ``details`` is
    JSON-able and small. ``output`` is raw and bounded; it never leaves the run
    directory unredacted.
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


@dataclass(frozen=True, slots=True)
class Verdict:
    """What all oracles of a trial say together. ``score`` is the weighted mean, 0..1."""

    passed: bool
    score: float
    reason: str
    results: tuple[OracleResult, ...]
