"""Datasets of JSON: an object on every line, or one list of objects."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, NoReturn

from pytest_agentbench.errors import Problem
from pytest_agentbench.taskfiles.dataset_rows import Row, RowFaults

if TYPE_CHECKING:
    from pathlib import Path

    from pytest_agentbench.model.task import JsonValue

_SURROGATE = re.compile(r"\\u[dD][89a-fA-F]")
_BLANKS = re.compile(r"[ \t\n\r]*")


def read_json_lines(path: Path, data: bytes) -> list[Row]:
    """The rows of JSON lines; blank lines are no rows. Raises ``RowFaults``."""
    rows: list[Row] = []
    problems: list[Problem] = []
    for line, raw in enumerate(data.split(b"\n"), start=1):
        if not raw.strip():
            continue
        number = len(rows) + len(problems) + 1
        try:
            rows.append(Row(number, line, _parse_line(raw)))
        except _BrokenRow as broken:
            excerpt = raw.decode("utf-8", "replace").rstrip("\r")
            message = f"row {number}: {broken.message}"
            problems.append(Problem(path, line, broken.column, message, excerpt))
    if problems:
        raise RowFaults(problems)
    return rows


def read_json_list(path: Path, text: str) -> list[Row]:
    """The rows of a JSON list of objects. Raises ``RowFaults``.

    Item by item, so that each row has its line. After one that is no JSON, nobody
    can tell where the next one starts.
    """
    rows: list[Row] = []
    problems: list[Problem] = []
    line, counted = 1, 0
    try:
        for start, end, value in _items(text):
            line, counted = line + text.count("\n", counted, start), start
            number = len(rows) + len(problems) + 1
            try:
                rows.append(Row(number, line, _object(value, text[start:end])))
            except _BrokenRow as broken:
                message = f"row {number}: {broken.message}"
                problems.append(_problem_at(path, text, start, message))
    except _BrokenList as broken:
        number = len(rows) + len(problems) + 1
        where = f"row {number}: " if broken.in_row else ""
        problems.append(_problem_at(path, text, broken.index, where + broken.message))
    if problems:
        raise RowFaults(problems)
    return rows


class _BrokenRow(Exception):
    def __init__(self, message: str, column: int = 1) -> None:
        self.message = message
        self.column = column
        super().__init__(message)


class _BrokenList(Exception):
    def __init__(self, message: str, index: int, *, in_row: bool = False) -> None:
        self.message = message
        self.index = index
        self.in_row = in_row
        super().__init__(message)


def _items(text: str) -> Iterator[tuple[int, int, JsonValue]]:
    """Where each item starts and ends, and its value. Raises ``_BrokenList``."""
    here = _after_blanks(text, 0)
    if not text.startswith("[", here):
        raise _BrokenList("a JSON dataset is a list of objects", here)
    here = _after_blanks(text, here + 1)
    more = not text.startswith("]", here)
    while more:
        try:
            value, end = _DECODER.raw_decode(text, here)
        except (ValueError, RecursionError) as error:
            at = error.pos if isinstance(error, json.JSONDecodeError) else here
            message = f"not valid JSON: {_words(error)}"
            raise _BrokenList(message, at, in_row=True) from error
        yield here, end, value
        here = _after_blanks(text, end)
        more = text.startswith(",", here)
        if more:
            here = _after_blanks(text, here + 1)
        elif not text.startswith("]", here):
            raise _BrokenList("not valid JSON: expecting ',' or ']' behind a row", here)
    here = _after_blanks(text, here + 1)
    if here < len(text):
        raise _BrokenList("not valid JSON: text behind the list", here)


def _parse_line(raw: bytes) -> dict[str, JsonValue]:
    try:
        text = raw.decode("utf-8")
    except UnicodeDecodeError as error:
        byte = f"byte {error.start} of the line (0x{raw[error.start]:02x})"
        raise _BrokenRow(f"{byte} is not UTF-8") from error
    try:
        value = _DECODER.decode(text)
    except (ValueError, RecursionError) as error:
        column = error.colno if isinstance(error, json.JSONDecodeError) else 1
        raise _BrokenRow(f"not valid JSON: {_words(error)}", column) from error
    return _object(value, text)


def _object(value: JsonValue, source: str) -> dict[str, JsonValue]:
    if not isinstance(value, dict):
        raise _BrokenRow("a row is a JSON object")
    if _SURROGATE.search(source) is not None:
        try:
            json.dumps(value, ensure_ascii=False).encode("utf-8")
        except UnicodeEncodeError as error:
            raise _BrokenRow("holds half of a surrogate pair, which is not text") from error
    return value


def _words(error: Exception) -> str:
    if isinstance(error, RecursionError):
        return "nested too deeply"
    return error.msg if isinstance(error, json.JSONDecodeError) else str(error)


def _problem_at(path: Path, text: str, index: int, message: str) -> Problem:
    line = text.count("\n", 0, index) + 1
    start = text.rfind("\n", 0, index) + 1
    end = text.find("\n", start)
    excerpt = text[start : None if end < 0 else end].rstrip("\r")
    return Problem(path, line, index - start + 1, message, excerpt)


def _after_blanks(text: str, index: int) -> int:
    found = _BLANKS.match(text, index)
    return found.end() if found is not None else index


def _without_duplicates(pairs: list[tuple[str, JsonValue]]) -> dict[str, JsonValue]:
    found = dict(pairs)
    if len(found) != len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise ValueError(f"duplicate key {twice!r}")
    return found


def _refuse(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is no JSON number")


_DECODER = json.JSONDecoder(object_pairs_hook=_without_duplicates, parse_constant=_refuse)
