"""``{{ row.x }}``: values of a dataset's row in the strings of a task. Pure."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from functools import lru_cache
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from pytest_agentbench.model.task import JsonValue
    from pytest_agentbench.taskfiles.yamlnodes import DataPath

_PLACEHOLDER = re.compile(r"\{\{\s*row\b(?P<inner>[^{}]*?)\s*\}\}")
_INNER = re.compile(r"(?:\.[A-Za-z_][A-Za-z0-9_-]*|\[[0-9]+\])+")
_STEP = re.compile(r"\.([A-Za-z_][A-Za-z0-9_-]*)|\[([0-9]+)\]")

Row: TypeAlias = "dict[str, JsonValue]"
Complain: TypeAlias = "Callable[[DataPath, str], None]"
_Filler: TypeAlias = "Callable[[Row, Complain], JsonValue]"
_TextFiller: TypeAlias = "Callable[[Row, Complain], str]"


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


class Template:
    """A value whose placeholders are looked for once, and filled for each row.

    Keys of mappings are filled below a key ``files``. What a row brings in is not
    looked at again.
    """

    def __init__(self, value: JsonValue) -> None:
        self._value = value
        self._filler = _filler(value, ())

    def fill(self, row: Row, complain: Complain) -> JsonValue:
        """The value with all placeholders replaced; parts without any are the same objects.

        ``complain`` is told what cannot be filled, and where.
        """
        return self._value if self._filler is None else self._filler(row, complain)


def fill_text(text: str, row: Row, complain: Callable[[str], None]) -> str:
    """One text with its placeholders replaced by values of the row, as text."""

    def value_of(found: re.Match[str]) -> str:
        return _value_of(found[0], found["inner"], row, complain)

    return _PLACEHOLDER.sub(value_of, text)


def _filler(value: JsonValue, at: DataPath) -> _Filler | None:
    """What fills a value; None where there is nothing to fill."""
    if isinstance(value, str):
        return _text_filler(value, at)
    if isinstance(value, list):
        return _list_filler(value, at)
    return _mapping_filler(value, at) if isinstance(value, dict) else None


def _text_filler(text: str, at: DataPath) -> _TextFiller | None:
    if not has_placeholder(text):
        return None

    def fill(row: Row, complain: Complain) -> str:
        return fill_text(text, row, lambda message: complain(at, message))

    return fill


def _list_filler(items: list[JsonValue], at: DataPath) -> _Filler | None:
    fillers = [_filler(item, (*at, index)) for index, item in enumerate(items)]
    if not any(fillers):
        return None
    parts = list(zip(items, fillers, strict=True))

    def fill(row: Row, complain: Complain) -> JsonValue:
        return [item if filler is None else filler(row, complain) for item, filler in parts]

    return fill


def _mapping_filler(mapping: dict[str, JsonValue], at: DataPath) -> _Filler | None:
    named = "files" in at
    parts = []
    for key, item in mapping.items():
        place = (*at, key)
        parts.append((key, _text_filler(key, place) if named else None, item, _filler(item, place)))
    if not any(name or filler for _, name, _, filler in parts):
        return None

    def fill(row: Row, complain: Complain) -> JsonValue:
        filled: dict[str, JsonValue] = {}
        for key, name, item, filler in parts:
            new = key if name is None else name(row, complain)
            if new in filled:
                complain((*at, key), f"two names become {new!r}")
            filled[new] = item if filler is None else filler(row, complain)
        return filled

    return fill


def _value_of(whole: str, inner: str, row: Row, complain: Callable[[str], None]) -> str:
    steps = _steps(inner.strip())
    if steps is None:
        complain(f"{whole!r} is no placeholder; write it like {{{{ row.name }}}}")
        return whole
    try:
        return as_text(_look_up(row, steps))
    except LookupError as error:
        complain(str(error.args[0]))
        return whole


@lru_cache(maxsize=1024)
def _steps(inner: str) -> tuple[tuple[str, str], ...] | None:
    """The names and indexes of ``.a.b[0]``; None where it is not that."""
    return tuple(_STEP.findall(inner)) if _INNER.fullmatch(inner) else None


def as_text(value: JsonValue) -> str:
    """A row's value as text: lists and mappings as JSON, all else as Python prints it."""
    if isinstance(value, dict | list):
        return json.dumps(value, ensure_ascii=False)
    return str(value)


def _look_up(row: Row, steps: tuple[tuple[str, str], ...]) -> JsonValue:
    """The value that the steps lead to. Raises ``LookupError`` with a message."""
    value: JsonValue = row
    seen = "row"
    for name, index in steps:
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
