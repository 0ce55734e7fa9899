"""The section at the end of a pytest session, as lines of text.

Pure. Plain ASCII but for names; colours are a hint that the caller hands to
pytest's terminal writer.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TypeAlias
from unicodedata import combining, east_asian_width

from pytest_agentbench.reports.view import OUTCOMES

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from pytest_agentbench.reports.view import OracleRow, Row, SuiteRow, Tone, View

Style: TypeAlias = Literal["", "bold", "green", "red", "yellow"]

_STYLES: dict[Tone, Style] = {
    "": "",
    "good": "green",
    "bad": "red",
    "doubtful": "yellow",
}

_SHORTEST_NAME = 24
"""Names are not shortened further; then lines get longer than the terminal is wide."""

_ALWAYS = ("passed", "failed")


@dataclass(frozen=True, slots=True)
class Line:
    """One line; ``style`` is a keyword of pytest's ``TerminalWriter`` markup, or empty."""

    text: str
    style: Style = ""


def summary_lines(view: View, *, width: int = 80) -> list[Line]:
    """The whole section without its title, at most ``width`` columns where names allow it."""
    return list(_lines(view, width))


def _lines(view: View, width: int) -> Iterator[Line]:
    yield from _table("variant", view.variants, width)
    yield from _suites(view.suites, width)
    yield from _table("task", view.tasks, width)
    if view.tasks_left_out:
        noun = "task" if view.tasks_left_out == 1 else "tasks"
        more = "more " if view.tasks else ""
        yield Line(f"{view.tasks_left_out} {more}{noun} passed in every trial")
    yield from _oracles(view.oracles, width)
    if view.oracles_left_out:
        yield Line(f"and {view.oracles_left_out} more that refused no more often")
    if view.variants or view.tasks:
        yield Line("")
    if view.cancelled:
        yield Line("cancelled:")
        yield from (Line(f"  {key}") for key in view.cancelled)
        yield Line("")
    yield Line(view.totals.text, _STYLES[view.totals.tone])
    yield from (Line(text) for text in view.rates)
    yield from (Line(note.text, _STYLES[note.tone]) for note in view.notes)
    yield from (Line(text) for text in view.usage)
    yield Line(f"results: {view.results}")


def _table(title: str, rows: Sequence[Row], width: int) -> Iterator[Line]:
    """Counts, then rates; a column that says nothing (all 0, or twice the same) is left out."""
    if not rows:
        return
    columns = _table_columns(rows)
    names = [row.name for row in rows]
    if _room(columns, width) < min(_widest([title, *names]), _SHORTEST_NAME):
        # Of all columns this one can be told from others.
        columns.pop("of planned", None)
    room = max(_room(columns, width), _SHORTEST_NAME)
    names = [_shortened(name, room) for name in names]
    yield from _grid(title, names, columns, [_STYLES[row.tone] for row in rows])


def _suites(rows: Sequence[SuiteRow], width: int) -> Iterator[Line]:
    """Suite by variant; whether a suite is complete is said where suites differ in it."""
    if not rows:
        return
    columns = {
        "passed": [row.passed for row in rows],
        "of scored": [row.of_scored for row in rows],
        "95 % interval": [row.interval for row in rows],
    }
    if len({row.complete for row in rows}) > 1:
        columns["complete"] = ["yes" if row.complete else "no" for row in rows]
    pairs = [("suite", "variant"), *((row.suite, row.variant) for row in rows)]
    title, *names = _paired(pairs, _room(columns, width))
    yield from _grid(title, names, columns, [_STYLES[row.tone] for row in rows])


def _oracles(rows: Sequence[OracleRow], width: int) -> Iterator[Line]:
    """Oracle by variant: which of them refuses most."""
    if not rows:
        return
    columns = {
        "passed": [str(row.passed) for row in rows],
        "refused": [str(row.refused) for row in rows],
    }
    if any(row.not_run for row in rows):
        columns["not run"] = [str(row.not_run) for row in rows]
    pairs = [("oracle", "variant"), *((row.oracle, row.variant) for row in rows)]
    title, *names = _paired(pairs, _room(columns, width))
    yield from _grid(title, names, columns, ["" for _ in rows])


def _grid(
    title: str, names: Sequence[str], columns: dict[str, list[str]], styles: Sequence[Style]
) -> Iterator[Line]:
    """A blank line, the heads, and one line a name."""
    name_width = _widest([title, *names])
    widths = _widths(columns)

    def line(name: str, cells: Sequence[str]) -> str:
        return "  ".join([_padded(name, name_width), *map(str.rjust, cells, widths)])

    yield Line("")
    yield Line(line(title, list(columns)), "bold")
    for number, (name, style) in enumerate(zip(names, styles, strict=True)):
        yield Line(line(name, [cells[number] for cells in columns.values()]), style)


def _paired(pairs: Sequence[tuple[str, str]], room: int) -> list[str]:
    """Two names in one cell, below each other's; where there is no room both are shortened."""
    first, second = ([pair[place] for pair in pairs] for place in (0, 1))
    if _widest(first) + 2 + _widest(second) > room:
        half = max((room - 2) // 2, _SHORTEST_NAME // 2)
        first, second = ([_shortened(name, half) for name in names] for names in (first, second))
    width = _widest(first)
    return [f"{_padded(one, width)}  {other}" for one, other in zip(first, second, strict=True)]


def _table_columns(rows: Sequence[Row]) -> dict[str, list[str]]:
    columns = {"planned": [str(row.planned) for row in rows]}
    for outcome in OUTCOMES:
        counts = [getattr(row, outcome) for row in rows]
        if outcome in _ALWAYS or any(counts):
            columns[outcome] = [str(count) for count in counts]
    columns["of scored"] = [row.of_scored for row in rows]
    columns["95 % interval"] = [row.interval for row in rows]
    if any(row.of_planned != row.of_scored for row in rows):
        columns["of planned"] = [row.of_planned for row in rows]
    return columns


def _widths(columns: dict[str, list[str]]) -> list[int]:
    return [max(map(len, (head, *cells))) for head, cells in columns.items()]


def _room(columns: dict[str, list[str]], width: int) -> int:
    """How many columns of the terminal are left for names."""
    return width - sum(2 + one for one in _widths(columns))


def _shortened(name: str, room: int) -> str:
    """``name`` in ``room`` columns: its middle goes, since names differ at their ends.

    Of a Python test's node id it is the path that goes: tests of one file differ behind it.
    """
    if _columns(name) <= room:
        return name
    path, colons, test = name.partition("::")
    if colons:
        shorter = (f".../{path.rpartition('/')[2]}::{test}", f"...{test}")
        name = next((one for one in shorter if _columns(one) <= room), test)
        if _columns(name) <= room:
            return name
    head, tail = "", ""
    left, right = 0, len(name) - 1
    while left <= right:
        longer = (head + name[left], tail) if len(head) <= len(tail) else (head, name[right] + tail)
        if _columns("".join(longer)) > room - 3:
            break
        left, right = (left + 1, right) if longer[1] == tail else (left, right - 1)
        head, tail = longer
    return f"{head}...{tail}"


def _widest(names: Sequence[str]) -> int:
    return max(map(_columns, names))


def _padded(name: str, width: int) -> str:
    return name + " " * (width - _columns(name))


def _columns(text: str) -> int:
    """How many columns a terminal needs for ``text``."""
    return sum(
        0 if combining(char) else 2 if east_asian_width(char) in "WF" else 1 for char in text
    )
