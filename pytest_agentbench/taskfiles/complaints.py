"""Validation errors in the words of the people who write the files."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from difflib import get_close_matches
from typing import TYPE_CHECKING, TypeVar

from pydantic import ValidationError

from pytest_agentbench.taskfiles.document import Shape
from pytest_agentbench.taskfiles.yamlnodes import DataPath, kind_of

if TYPE_CHECKING:
    from pydantic_core import ErrorDetails

    from pytest_agentbench.model.task import JsonValue
    from pytest_agentbench.taskfiles.rowscope import Reporter

ShapeT = TypeVar("ShapeT", bound=Shape)
Places = Mapping[tuple[str, ...], type[Shape]]

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
_NAMED_BY_TEXT = {"workspace", "assets", "solution"}


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
    close = get_close_matches(key, names, n=1)
    if close:
        return f"unknown {what} {key!r}; did you mean {close[0]!r}?"
    return f"unknown {what} {key!r}; known: {', '.join(names)}"


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
    advice = ""
    message = _message(detail)
    if detail["type"] == "string_type" and isinstance(detail["input"], int | float):
        advice = "quotes around it"
    reporter.report(at, message, advice=advice)


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
    wanted = _WANTED.get(kind)
    if wanted is None:
        return f"{name}: {detail['msg']}"
    if at[-1] in _NAMED_BY_TEXT:
        wanted = "a path or a mapping"
    if kind == "int_type" and isinstance(given, float):
        return f"{name} must be {wanted}, not {given}"
    return f"{name} must be {wanted}, not {kind_of(given)}"


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
    """The place of a mapping with list indexes and variants' names as ``*``."""
    return tuple(
        "*" if isinstance(step, int) or (index == 1 and at[0] == "variants") else step
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
