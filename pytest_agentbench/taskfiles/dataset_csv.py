"""Datasets of comma-separated values: the first row names the columns, every value is text."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from pytest_agentbench.errors import Problem
from pytest_agentbench.taskfiles.dataset_rows import DatasetFault, Row, RowFaults

if TYPE_CHECKING:
    from pathlib import Path

FIELD_LIMIT = 16 << 20
"""Characters of one value. A quote that is never closed makes one of all that follows."""

_LINE_END = re.compile(r"\r\n|\n|\r")


def read_csv(path: Path, text: str) -> list[Row]:
    """The rows; blank lines are none. Raises ``DatasetFault`` or ``RowFaults``."""
    with _field_limit():
        reading = _Reading(path, text)
        columns = reading.header()
        rows = list(reading.rows(columns))
    if reading.problems:
        raise RowFaults(reading.problems)
    return rows


class _Reading:
    """One pass over a file. A row may span lines: it stands where it starts."""

    def __init__(self, path: Path, text: str) -> None:
        self._path = path
        self._text = text
        # newline="": a line end within quotes stays what it is.
        self._reader = csv.reader(io.StringIO(text, newline=""), strict=True)
        self._source: list[str] | None = None
        self.problems: list[Problem] = []

    def header(self) -> list[str]:
        """The names of the columns. Raises ``DatasetFault``."""
        line, found = next(self._records(), (1, []))
        if not found:
            raise DatasetFault(
                f"{self._path.name!r} has no header: its first row names the columns"
            )
        fault = found if isinstance(found, str) else _header_fault(found)
        if isinstance(found, str) or fault is not None:
            raise DatasetFault(f"the header of {self._path.name!r} (line {line}): {fault}")
        return found

    def rows(self, columns: list[str]) -> Iterator[Row]:
        """The rows below the header; what is wrong with one is noted."""
        for number, (line, found) in enumerate(self._records(), start=1):
            fault = found if isinstance(found, str) else _row_fault(found, len(columns))
            if fault is None:
                yield Row(number, line, dict(zip(columns, found, strict=True)))
            else:
                message = f"row {number}: {fault}"
                self.problems.append(Problem(self._path, line, 1, message, self._line(line)))

    def _records(self) -> Iterator[tuple[int, list[str] | str]]:
        """The line of each record that is not blank, and its values or what is wrong with it."""
        while True:
            line = self._reader.line_num + 1
            try:
                cells = next(self._reader)
            except StopIteration:
                return
            except csv.Error as error:
                yield line, _words(error)
                continue
            if cells:
                yield line, cells

    def _line(self, number: int) -> str:
        if self._source is None:
            self._source = _LINE_END.split(self._text)
        return self._source[number - 1] if number <= len(self._source) else ""


def _header_fault(names: list[str]) -> str | None:
    for index, name in enumerate(names):
        if not name.strip():
            return f"column {index + 1} has no name"
        if name != name.strip():
            return f"the name {name!r} has blanks around it"
        if "\0" in name:
            return "holds a NUL character"
        if name in names[:index]:
            return f"two columns are called {name!r}"
    return None


def _row_fault(cells: list[str], columns: int) -> str | None:
    if len(cells) != columns:
        fields = "1 field" if len(cells) == 1 else f"{len(cells)} fields"
        names = "1 column" if columns == 1 else f"{columns} columns"
        return f"{fields}, but there {'is' if columns == 1 else 'are'} {names}"
    return "holds a NUL character" if any("\0" in cell for cell in cells) else None


def _words(error: csv.Error) -> str:
    text = str(error)
    if "unexpected end of data" in text:
        return "not valid CSV: a quote is opened and never closed"
    if "field larger" in text:
        return f"a value is longer than {FIELD_LIMIT:,} characters: is a quote never closed?"
    if "expected after" in text:
        return (
            "not valid CSV: text after a closing quote; a quote inside of quotes is written twice"
        )
    return f"not valid CSV: {text}"


@contextmanager
def _field_limit() -> Iterator[None]:
    """The csv module has one limit for all its users: leave theirs as it was."""
    before = csv.field_size_limit(FIELD_LIMIT)
    try:
        yield
    finally:
        csv.field_size_limit(before)
