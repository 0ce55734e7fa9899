"""``diff``: what an agent may, must not and must change. No code of the agent's runs."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import replace
from time import perf_counter
from typing import ClassVar

from pytest_agentbench.model.contracts import Sandbox, StagedOracle, Subject
from pytest_agentbench.model.digest import digest_value
from pytest_agentbench.model.globs import pattern_fault
from pytest_agentbench.model.task import JsonValue, OracleSpec
from pytest_agentbench.model.verdict import OracleResult
from pytest_agentbench.oracles.base import Problem, judged, oracle_fault, unknown_keys
from pytest_agentbench.oracles.diff_judging import BYPRODUCTS, Rules, judge

_VERSION = 1
_PATTERNS = ("only", "forbid", "must_change")
_RULES = (*_PATTERNS, "max_changed_lines")
_KEYS = (*_RULES, "ignore")


class DiffOracle:
    """A mapping of rules about what differs from the task's workspace.

    ``only``: every changed path matches one of the patterns. ``forbid``: none does.
    ``must_change``: each pattern matches a changed path. ``max_changed_lines`` bounds
    lines added plus lines removed; lines that are not known pass no bound. ``ignore``:
    what is left out of all that, by default what tools leave by the way, such as
    ``__pycache__``; the repository's own files in ``.git`` always are. The score is 1 if
    all rules hold, else 0.
    """

    kind: ClassVar[str] = "diff"
    names_files: ClassVar[bool] = False
    rehearses: ClassVar[bool] = False
    judges_words: ClassVar[bool] = False

    def validate(self, spec: OracleSpec) -> list[Problem]:
        """What is wrong with the rules."""
        problems = unknown_keys(spec.options, (), (), "key")
        at = (self.kind,)
        table = spec.expectation
        if not isinstance(table, dict):
            return [*problems, (at, f"must be a mapping of {', '.join(_RULES)}")]
        problems += unknown_keys(table, _KEYS, at, "rule")
        if not any(key in table for key in _RULES) and not problems:
            problems.append((at, f"needs one of: {', '.join(_RULES)}"))
        for key in (*_PATTERNS, "ignore"):
            if key in table:
                problems += _pattern_problems(table[key], (*at, key), empty=key == "ignore")
        bound = table.get("max_changed_lines", 0)
        if isinstance(bound, bool) or not isinstance(bound, int) or bound < 0:
            problems.append(((*at, "max_changed_lines"), "must be a whole number, 0 or more"))
        return problems

    def prepare(self, spec: OracleSpec) -> StagedOracle:
        """Digest the rules; there is nothing to read."""
        digest = digest_value([self.kind, _VERSION, spec.expectation])
        return StagedOracle(spec=spec, files={}, digest=digest)

    async def rehearse(
        self, staged: StagedOracle, sandbox: Sandbox, *, solved: bool
    ) -> StagedOracle:
        """Nothing to learn."""
        del sandbox, solved
        return staged

    async def check(self, staged: StagedOracle, sandbox: Sandbox, subject: Subject) -> OracleResult:
        """Hold what was found when the agent's sandbox was torn down against the rules."""
        del sandbox
        started = perf_counter()
        spec = staged.spec
        changes = subject.run.changes
        if changes is None:
            raise oracle_fault(spec, "has nothing to judge: what changed is not known")
        assert isinstance(spec.expectation, dict)
        # An agent may have changed a hundred thousand paths; other trials go on meanwhile.
        judgement = await asyncio.to_thread(judge, _rules(spec.expectation), changes)
        passed = not judgement.broken
        result = judged(
            spec,
            passed=passed,
            score=1.0 if passed else 0.0,
            reason="; ".join(judgement.broken) or judgement.summary,
            details=judgement.details,
            output="\n".join(judgement.broken),
        )
        return replace(result, duration_s=perf_counter() - started)


def _pattern_problems(value: JsonValue, at: tuple[str | int, ...], *, empty: bool) -> list[Problem]:
    if isinstance(value, str):
        fault = pattern_fault(value)
        return [(at, fault)] if fault else []
    if not isinstance(value, list) or not (value or empty):
        return [(at, "must be a pattern of paths, or a list of such")]
    problems: list[Problem] = []
    for index, pattern in enumerate(value):
        fault = pattern_fault(pattern) if isinstance(pattern, str) else "must be a text"
        if fault:
            problems.append(((*at, index), fault))
    return problems


def _rules(table: Mapping[str, JsonValue]) -> Rules:
    bound = table.get("max_changed_lines")
    return Rules(
        only=_patterns(table.get("only")),
        forbid=_patterns(table.get("forbid")),
        must_change=_patterns(table.get("must_change")),
        max_changed_lines=bound if isinstance(bound, int) else None,
        ignore=_patterns(table["ignore"]) if "ignore" in table else BYPRODUCTS,
    )


def _patterns(value: JsonValue) -> tuple[str, ...]:
    if isinstance(value, str):
        return (value,)
    return tuple(map(str, value)) if isinstance(value, list) else ()
