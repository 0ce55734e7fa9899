"""What may be written in the mapping of the ``answer`` oracle."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction

from pytest_agentbench.model.task import JsonValue
from pytest_agentbench.oracles.answer_reading import whole_number_text
from pytest_agentbench.oracles.base import Problem, name_problem, unknown_keys

KINDS = ("equals", "one_of", "regex", "number", "choice")
_WHERE = ("file", "after")
_OPTIONS: Mapping[str, tuple[str, ...]] = {
    "ignore_case": ("equals", "one_of"),
    "strip": ("equals", "one_of"),
    "tolerance": ("number",),
    "relative_tolerance": ("number",),
}
_SOLUTION_MARK = "####"


@dataclass(frozen=True, slots=True)
class AnswerSpec:
    """What is right, and where the answer stands. ``kind`` is one of ``KINDS``.

    ``texts`` are the right ones of ``equals`` and ``one_of``, or the one pattern of
    ``regex``, or the letter of ``choice``.
    """

    kind: str
    texts: tuple[str, ...] = ()
    number: Fraction = Fraction(0)
    tolerance: Fraction = Fraction(0)
    relative_tolerance: Fraction = Fraction(0)
    file: str | None = None
    after: str | None = None
    ignore_case: bool = False
    strip: bool = True


def answer_problems(table: JsonValue, at: tuple[str | int, ...]) -> list[Problem]:
    """What is wrong with the mapping."""
    if not isinstance(table, dict):
        return [(at, f"must be a mapping with one of {', '.join(KINDS)}")]
    problems = unknown_keys(table, (*KINDS, *_WHERE, *_OPTIONS), at, "key")
    kinds = [key for key in table if key in KINDS]
    if not kinds and not problems:
        problems.append((at, f"needs one of: {', '.join(KINDS)}"))
    elif len(kinds) > 1:
        named = " and ".join(map(repr, kinds))
        problems.append(((*at, kinds[1]), f"takes one of {', '.join(KINDS)}, not {named}"))
    for key, value in table.items():
        place = (*at, key)
        if len(kinds) == 1 and key in _OPTIONS and kinds[0] not in _OPTIONS[key]:
            owners = " or ".join(map(repr, _OPTIONS[key]))
            problems.append((place, f"{key!r} goes with {owners}, not with {kinds[0]!r}"))
        else:
            problems += _value_problems(key, value, place)
    return problems


def _value_problems(key: str, value: JsonValue, at: tuple[str | int, ...]) -> list[Problem]:
    if key == "one_of":
        return _list_problems(value, at)
    fault = _FAULTS[key](value) if key in _FAULTS else None
    return [(at, fault)] if fault else []


def _text_fault(value: JsonValue) -> str | None:
    if not isinstance(value, str):
        return "must be a text; put quotes around it"
    return None if value.strip() else "must not be blank"


def _number_fault(value: JsonValue) -> str | None:
    if expected_number(value) is None:
        return "must be a number, or a text that is one or ends in '#### NUMBER'"
    return None


def _tolerance_fault(value: JsonValue) -> str | None:
    number = expected_number(value)
    return "must be a number, 0 or more" if number is None or number < 0 else None


def _letter_fault(value: JsonValue) -> str | None:
    if not isinstance(value, str) or re.fullmatch("[A-Za-z]", value.strip()) is None:
        return "must be one letter"
    return None


def _switch_fault(value: JsonValue) -> str | None:
    return None if isinstance(value, bool) else "must be true or false"


def _marker_fault(value: JsonValue) -> str | None:
    if not isinstance(value, str) or not value.strip() or "\n" in value:
        return "must be a text on one line that is not blank"
    return None


def _file_fault(value: JsonValue) -> str | None:
    if not isinstance(value, str):
        return "must be a file name"
    trouble = name_problem(value)
    return f"{value!r} {trouble}" if trouble else None


def _pattern_fault(value: JsonValue) -> str | None:
    if not isinstance(value, str) or not value:
        return "must be a regular expression"
    try:
        re.compile(value, re.MULTILINE)
    except (re.error, RecursionError, OverflowError) as error:
        return f"is no regular expression: {error}"
    return None


_FAULTS: Mapping[str, Callable[[JsonValue], str | None]] = {
    "equals": _text_fault,
    "regex": _pattern_fault,
    "number": _number_fault,
    "choice": _letter_fault,
    "tolerance": _tolerance_fault,
    "relative_tolerance": _tolerance_fault,
    "ignore_case": _switch_fault,
    "strip": _switch_fault,
    "after": _marker_fault,
    "file": _file_fault,
}


def _list_problems(value: JsonValue, at: tuple[str | int, ...]) -> list[Problem]:
    items = listed(value)
    if not items:
        return [(at, "must be a list of texts")]
    found = ((index, _text_fault(item)) for index, item in enumerate(items))
    faults = [(index, fault) for index, fault in found if fault]
    if isinstance(value, str):  # of a row: its items have no place in the file
        return [(at, f"item {index + 1} {fault}") for index, fault in faults]
    return [((*at, index), fault) for index, fault in faults]


def listed(value: JsonValue) -> list[JsonValue] | None:
    """A list, also one as JSON in a text, which is how a row's list comes; None for all else."""
    if isinstance(value, str):
        try:
            value = json.loads(value)
        except (ValueError, RecursionError):
            return None
    return value if isinstance(value, list) else None


def expected_number(value: JsonValue) -> Fraction | None:
    """An author's number; also one in a text, or behind the last ``####`` of a text."""
    if isinstance(value, bool):
        return None
    if isinstance(value, int):
        return Fraction(value)
    if isinstance(value, float):
        # As it is written: 0.1 is a tenth, and not what a float makes of it.
        return Fraction(repr(value)) if math.isfinite(value) else None
    if isinstance(value, str):
        return whole_number_text(value.rpartition(_SOLUTION_MARK)[2])
    return None


def answer_spec(table: Mapping[str, JsonValue]) -> AnswerSpec:
    """The mapping as a value; it has no problems."""
    kind = next(key for key in KINDS if key in table)
    wanted = table[kind]
    return AnswerSpec(
        kind=kind,
        texts=tuple(map(str, listed(wanted) or ())) if kind == "one_of" else (str(wanted),),
        number=_number(wanted) if kind == "number" else Fraction(0),
        tolerance=_number(table.get("tolerance", 0)),
        relative_tolerance=_number(table.get("relative_tolerance", 0)),
        file=_optional(table, "file"),
        after=_optional(table, "after"),
        ignore_case=table.get("ignore_case") is True,
        strip=table.get("strip") is not False,
    )


def _number(value: JsonValue) -> Fraction:
    return expected_number(value) or Fraction(0)


def _optional(table: Mapping[str, JsonValue], key: str) -> str | None:
    return str(table[key]) if key in table else None
