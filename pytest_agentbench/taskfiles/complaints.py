"""Validation errors in the words of the people who write the files."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from difflib import get_close_matches
from typing import TYPE_CHECKING, TypeVar

from pydantic import ValidationError

from pytest_agentbench.taskfiles.document import Shape
from pytest_agentbench.taskfiles.scalars import FLOAT, INT, core_tag
from pytest_agentbench.taskfiles.yamlnodes import DataPath, kind_of

if TYPE_CHECKING:
    from pydantic_core import ErrorDetails

    from pytest_agentbench.model.task import JsonValue
    from pytest_agentbench.taskfiles.rowscope import Reporter

ShapeT = TypeVar("ShapeT", bound=Shape)
Places = Mapping[tuple[str, ...], type[Shape]]

_NAMED = ("variants", "suites")
"""Keys of an experiment below which names stand that the author chose."""

_WANTED = {
    "string_type": "text",
    "list_type": "a list",
    "dict_type": "a mapping",
    "model_type": "a mapping",
    "bool_type": "true or false",
    "int_type": "a whole number",
    "float_type": "a number",
}
_BOUNDS = {
    "greater_than": ("above", "gt"),
    "greater_than_equal": ("at least", "ge"),
    "less_than_equal": ("at most", "le"),
}
_SHORT_FORMS: Mapping[str | int, str] = {
    "assets": "a path or a mapping",
    "dataset": "a mapping with a 'path'",
    "fixtures": "a list of names, or a mapping of names to variables",
    "git": "a path, a URL or a mapping",
    "skip": "a reason or a mapping",
    "slots": "a mapping of names to whole numbers",
    "solution": "a path or a mapping",
    "workspace": "a path or a mapping",
    "xfail": "a reason or a mapping",
}
"""Mappings with a form that is not obvious, most of them those that a text may stand for."""
_TRUTH_VALUES = {"on": "true", "yes": "true", "off": "false", "no": "false"}
"""What YAML 1.1 meant by these words."""
_SHORT_WORD = 2
_ONE_OR_MANY = {"arch", "command", "env", "needs", "platform", "protect", "variants"}
"""Keys whose list a text may stand for."""


def validate(
    shape: type[ShapeT], data: Mapping[str, JsonValue], places: Places, reporter: Reporter
) -> ShapeT | None:
    """The data as a shape, every problem reported; parts that are wrong are left out.

    So later checks still see the good parts, and one message tells all. None when
    too little is left.
    """
    try:
        return shape.model_validate(data)
    except ValidationError as error:
        details = error.errors(include_url=False)
    for detail in details:
        _complain(detail, places, reporter)
    pruned: JsonValue = dict(data)
    for detail in details:
        pruned = _without(pruned, _prunable(detail["loc"]))
    try:
        return shape.model_validate(pruned)
    except ValidationError:
        return None


def unknown(key: str, known: Iterable[str], *, what: str = "key") -> str:
    """The message for a name that is not known, with the nearest one or all."""
    names = sorted(known)
    close = closest(key, names)
    if close is not None:
        return f"unknown {what} {key!r}; did you mean {close!r}?"
    return f"unknown {what} {key!r}; known: {', '.join(names)}"


def closest(key: str, known: Iterable[str]) -> str | None:
    """The known name that was probably meant."""
    names = sorted(known)
    same = [name for name in names if name.casefold() == key.casefold()]
    # Words of two letters are close to nearly everything: "on" is no "none".
    cutoff = 0.6 if len(key) > _SHORT_WORD else 0.75
    return next(iter(same or get_close_matches(key, names, n=1, cutoff=cutoff)), None)


def was_pruned(shape: Shape, raw: JsonValue) -> bool:
    """Whether parts of a mapping were refused: what it seems to lack may be one of them."""
    return isinstance(raw, dict) and len(raw) > len(shape.model_fields_set)


def not_yet(key: str) -> str:
    """The message for what the design has and this version has not."""
    return f"{key!r} is not supported yet"


def _complain(detail: ErrorDetails, places: Places, reporter: Reporter) -> None:
    at: DataPath = detail["loc"]
    if detail["type"] == "extra_forbidden":
        shape = places[_pattern(at[:-1])]
        key = str(at[-1])
        message = not_yet(key) if key in shape.later else unknown(key, shape.keys())
        reporter.report(at, message, key=True)
        return
    reporter.report(at, _message(detail), advice=_advice(detail["type"], detail["input"]))


def _advice(kind: str, given: object) -> str:
    """What to do about a value of the wrong type, where one can tell."""
    if kind == "string_type" and isinstance(given, int | float):
        return "quotes around it"
    if not isinstance(given, str):
        return ""
    if kind == "list_type":
        return "brackets around it"
    if kind == "bool_type":
        return _TRUTH_VALUES.get(given.casefold(), "")
    is_number = core_tag(given) in (INT, FLOAT)
    return "no quotes around it" if kind in ("int_type", "float_type") and is_number else ""


def _message(detail: ErrorDetails) -> str:
    at: DataPath = detail["loc"]
    name = subject(at)
    kind, given = detail["type"], detail["input"]
    if given is None:
        return f"{name} has no value"
    if kind in _BOUNDS:
        word, bound = _BOUNDS[kind]
        return f"{name} must be {word} {detail['ctx'][bound]:g}, not {given}"
    if kind == "value_error":
        text = str(detail["ctx"]["error"])
        return f"{name} {text}" if text.startswith("must") else f"{name}: {text}"
    if kind == "literal_error":
        known = re.findall(r"'([^']*)'", str(detail["ctx"]["expected"]))
        if isinstance(given, str):
            return unknown(given, known, what=str(at[-1]))
        wanted: str | None = f"{', '.join(known[:-1])} or {known[-1]}"
    else:
        wanted = _wanted(kind, at[-1])
    if wanted is None:
        return f"{name}: {detail['msg']}"
    return f"{name} must be {wanted}, not {_shown(kind, given)}"


def _shown(kind: str, given: object) -> str:
    """A value that is refused: its kind, and what it is where that alone would be a riddle."""
    if kind == "int_type" and isinstance(given, float):
        return str(given)
    if kind in ("int_type", "float_type") and isinstance(given, str) and given[:1].isdigit():
        # 012 and 1_000 were numbers once, and are none in YAML 1.2.
        return f"the text {given!r}"
    return kind_of(given)


def _wanted(kind: str, key: str | int) -> str | None:
    """What a key takes, in words; None for errors that pydantic words well enough."""
    if kind == "list_type" and key in _ONE_OR_MANY:
        return "text or a list of texts"
    wanted = _WANTED.get(kind)
    return _SHORT_FORMS.get(key, wanted) if wanted == "a mapping" else wanted


def subject(at: DataPath) -> str:
    """The name of a place: its keys behind the last list, or "an item of" that list."""
    names: list[str] = []
    for step in reversed(at):
        if isinstance(step, int):
            break
        names.insert(0, step)
    if names:
        return repr(".".join(names))
    return f"an item of {at[-2]!r}"


def _pattern(at: DataPath) -> tuple[str, ...]:
    """The place of a mapping with list indexes and the names of variants and suites as ``*``."""
    return tuple(
        "*" if isinstance(step, int) or (index == 1 and at[0] in _NAMED) else step
        for index, step in enumerate(at)
    )


def _prunable(at: DataPath) -> DataPath:
    """What to leave out for an error: never one item of a list, which would move the others."""
    while at and isinstance(at[-1], int):
        at = at[:-1]
    return at


def _without(data: JsonValue, at: DataPath) -> JsonValue:
    if not at:
        return data
    step = at[0]
    if isinstance(data, dict) and step in data:
        rest = {key: value for key, value in data.items() if key != step or len(at) > 1}
        if len(at) > 1:
            rest[str(step)] = _without(data[str(step)], at[1:])
        return rest
    if isinstance(data, list) and isinstance(step, int) and step < len(data):
        return [_without(x, at[1:]) if i == step else x for i, x in enumerate(data)]
    return data
