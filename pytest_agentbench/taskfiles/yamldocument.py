"""One YAML file: its data, where each part of it stands, and what is wrong with it."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_agentbench.errors import Problem
from pytest_agentbench.taskfiles.spots import DataPath, Places, Spots

if TYPE_CHECKING:
    import yaml

    from pytest_agentbench.model.task import JsonValue

LINE_END = re.compile(r"\r\n|\n|\r")


@dataclass(slots=True)
class Document:
    """One YAML file: its data, where each part stands, and what was wrong with it so far.

    The data must not be changed: places are found along it. ``has_shared_parts`` says
    that some of them are one object in several places, by an alias.
    """

    path: Path
    text: str
    data: JsonValue = None
    problems: list[Problem] = field(default_factory=list)
    spots: Spots = field(default_factory=list)
    has_shared_parts: bool = False
    _places: Places | None = None
    _lines: list[str] | None = None
    _faulty: set[tuple[int, int]] = field(default_factory=set)

    def place(self, at: DataPath, *, key: bool = False) -> tuple[int, int]:
        """Line and column of a value (or of its key), or of the nearest thing around it."""
        if not self.spots:
            return 0, 0
        if self._places is None:
            self._places = Places(self.data, self.spots)
        return self._places.find(at, key=key)

    def report(self, at: DataPath, message: str, *, advice: str = "", key: bool = False) -> None:
        """Note a problem at the place of a value (or of its key)."""
        place = self.place(at, key=key)
        if place not in self._faulty:
            self.report_place(*place, message, advice)

    def report_node(self, node: yaml.Node, message: str, advice: str = "") -> None:
        """Note that a node is no data: what is wrong with its stand-in is not told any more."""
        place = place_of(node)
        self.report_place(*place, message, advice)
        self._faulty.add(place)

    def report_place(self, line: int, column: int, message: str, advice: str = "") -> None:
        """Note a problem at a line and column, both from 1; (0, 0) is the file as a whole."""
        excerpt = self.line(line)
        if self._lines is not None and line > len(self._lines):
            # For libyaml, a file without a last line end ends on the line after it.
            line, excerpt = len(self._lines), self._lines[-1]
            column = len(excerpt) + 1
        self.problems.append(Problem(self.path, line, column, message, excerpt, advice))

    def line(self, number: int) -> str:
        """A source line, without its line end."""
        if self._lines is None:
            self._lines = LINE_END.split(self.text)
        return self._lines[number - 1] if 0 < number <= len(self._lines) else ""

    def place_of_index(self, index: int) -> tuple[int, int]:
        """Line and column of a character of the text."""
        before = LINE_END.split(self.text[:index])
        return len(before), len(before[-1]) + 1


def place_of(node: yaml.Node) -> tuple[int, int]:
    """Line and column, both from 1, at which a node begins."""
    mark = node.start_mark
    return mark.line + 1, mark.column + 1
