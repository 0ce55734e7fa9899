"""Which variants a session runs: those that were chosen by name, or one made of an agent. Pure."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from difflib import get_close_matches
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING
from unicodedata import normalize

from pytest_agentbench.errors import UsageError
from pytest_agentbench.model.variant import Variant

if TYPE_CHECKING:
    from pytest_agentbench.model.variant import Experiment

NAME_LIMIT = 100

_UNSAFE = re.compile(r"[\[\]:/@\\\s]+")
_LIKE_A_REPEAT = re.compile(r"-(r\d+)$")


def chosen(experiment: Experiment, patterns: Sequence[str], *, where: str) -> Experiment:
    """The experiment with the variants that fit a pattern, in the order of the file.

    Raises ``UsageError`` for a pattern that fits none.
    """
    names = [variant.name for variant in experiment.variants]
    for pattern in patterns:
        if not any(fnmatchcase(name, pattern) for name in names):
            close = get_close_matches(pattern, names, n=1)
            hint = f"; did you mean {close[0]!r}?" if close else ";"
            source = experiment.source
            place = f" ({source})" if experiment.implicit else f" in {source}"
            raise UsageError(
                f"no variant {pattern!r}{place}{hint} known: {', '.join(names)}",
                where=where,
            )
    kept = tuple(
        variant
        for variant in experiment.variants
        if any(fnmatchcase(variant.name, pattern) for pattern in patterns)
    )
    baseline = experiment.baseline
    if not any(variant.name == baseline for variant in kept):
        baseline = None
    return replace(experiment, variants=kept, baseline=baseline)


def alone(experiment: Experiment, agent: str, model: str | None, *, said: str) -> Experiment:
    """The experiment with one variant made of an agent in place of its own."""
    variant = Variant(column_name(agent, model), agent)
    source = said if experiment.implicit else f"{said}, in place of the variants of "
    if not experiment.implicit:
        source += experiment.source
    return replace(experiment, variants=(variant,), baseline=None, source=source, implicit=False)


def column_name(agent: str, model: str | None) -> str:
    """The name of a variant made of an agent: ``codex``, or ``codex-gpt-5`` with a model.

    What a name may not hold becomes ``-``, and an end that looks like a repeat
    (``deepseek-r1``) gets an underscore.
    """
    text = agent if model is None else f"{agent}-{model}"
    safe = _UNSAFE.sub("-", text)
    safe = "".join(letter if letter.isprintable() else "-" for letter in safe)
    safe = normalize("NFC", safe)[:NAME_LIMIT].rstrip("-")
    return _LIKE_A_REPEAT.sub(r"_\1", safe)
