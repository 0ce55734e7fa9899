"""``{{ row.x }}``: values of a dataset's row in the strings of a task. Pure."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pytest_agentbench.model.task import JsonValue
    from pytest_agentbench.taskfiles.yamlnodes import DataPath

_PLACEHOLDER = re.compile(r"\{\{\s*row\b(?P<inner>[^{}]*?)\s*\}\}")
_INNER = re.compile(r"(?:\.[A-Za-z_][A-Za-z0-9_-]*|\[[0-9]+\])+")
_STEP = re.compile(r"\.([A-Za-z_][A-Za-z0-9_-]*)|\[([0-9]+)\]")

Complain = Callable[["DataPath", str], None]


def has_placeholder(value: JsonValue) -> bool:
    """Whether a value holds a placeholder, in whatever depth."""
    if isinstance(value, str):
        return "{{" in value and _PLACEHOLDER.search(value) is not None
    if isinstance(value, list):
        return any(has_placeholder(item) for item in value)
    if isinstance(value, dict):
        return any(has_placeholder(key) or has_placeholder(item) for key, item in value.items())
    return False


def before_placeholder(text: str) -> str:
    """What stands before the first placeholder; all of the text without one."""
    found = _PLACEHOLDER.search(text)
    return text if found is None else text[: found.start()]


def fill(
    value: JsonValue, row: Mapping[str, JsonValue], complain: Complain, at: DataPath = ()
) -> JsonValue:
    """The value with all placeholders replaced; parts without any are the same objects.

    Keys of mappings are filled below a key ``files``. What a row brings in is not
    looked at again. ``complain`` is told what cannot be filled, and where.
    """
    if isinstance(value, str):
        if "{{" not in value:
            return value
        return fill_text(value, row, lambda message: complain(at, message))
    if isinstance(value, list):
        items = [fill(item, row, complain, (*at, index)) for index, item in enumerate(value)]
        return items if any(a is not b for a, b in zip(items, value, strict=True)) else value
    if isinstance(value, dict):
        return _fill_mapping(value, row, complain, at)
    return value


def _fill_mapping(
    value: dict[str, JsonValue], row: Mapping[str, JsonValue], complain: Complain, at: DataPath
) -> JsonValue:
    named = "files" in at
    filled: dict[str, JsonValue] = {}
    changed = False
    for key, item in value.items():
        place = (*at, key)
        name = key
        if named and "{{" in key:
            name = fill_text(key, row, lambda message, place=place: complain(place, message))  # type: ignore[misc]
        if name in filled:
            complain(place, f"two names become {name!r}")
        filled[name] = fill(item, row, complain, place)
        changed = changed or name is not key or filled[name] is not item
    return filled if changed else value


def fill_text(text: str, row: Mapping[str, JsonValue], complain: Callable[[str], None]) -> str:
    """One text with its placeholders replaced by values of the row, as text."""

    def value_of(found: re.Match[str]) -> str:
        inner = found["inner"].strip()
        if _INNER.fullmatch(inner) is None:
            complain(f"{found[0]!r} is no placeholder; write it like {{{{ row.name }}}}")
            return found[0]
        try:
            return as_text(_look_up(row, inner))
        except LookupError as error:
            complain(str(error.args[0]))
            return found[0]

    return _PLACEHOLDER.sub(value_of, text)


def as_text(value: JsonValue) -> str:
    """A row's value as text: lists and mappings as JSON, all else as Python prints it."""
    if isinstance(value, dict | list):
        return json.dumps(value, ensure_ascii=False)
    return str(value)


def _look_up(row: Mapping[str, JsonValue], inner: str) -> JsonValue:
    """The value at ``.a.b[0]``. Raises ``LookupError`` with a message."""
    value: JsonValue = dict(row)
    seen = "row"
    for name, index in _STEP.findall(inner):
        if name:
            if not isinstance(value, dict):
                raise LookupError(f"{seen!r} has no fields, so no {name!r}")
            if name not in value:
                raise LookupError(f"{seen!r} has no field {name!r}; known: {', '.join(value)}")
            value, seen = value[name], f"{seen}.{name}"
        else:
            if not isinstance(value, list) or int(index) >= len(value):
                raise LookupError(f"{seen!r} has no item [{index}]")
            value, seen = value[int(index)], f"{seen}[{index}]"
    return value
