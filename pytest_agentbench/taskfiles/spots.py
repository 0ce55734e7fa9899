"""Where each value of a document stands, as one flat list of numbers. Pure.

A value takes line, column and size, followed by its parts in the order of the
data; in a mapping, line and column of its key come before each part. ``size``
counts all numbers of the value, so that a reader can step over it. One list a
file costs the garbage collector nothing, and is JSON as it is.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from pytest_agentbench.model.task import JsonValue

DataPath: TypeAlias = "tuple[str | int, ...]"
Spots: TypeAlias = "list[int]"

HEAD = 3
"""Numbers of a value that has no parts: line, column, size."""
KEY = 2
"""Numbers of a key: line, column."""


class Places:
    """Answers for the places of one document's values; ``data`` must not change."""

    __slots__ = ("_data", "_parts", "_spots")

    def __init__(self, data: JsonValue, spots: Spots) -> None:
        self._data = data
        self._spots = spots
        self._parts: dict[int, dict[str | int, int]] = {}

    def find(self, at: DataPath, *, key: bool = False) -> tuple[int, int]:
        """Line and column of a value (or of its key), or of the nearest thing around it."""
        here, start, shown = self._data, 0, 0
        for index, step in enumerate(at):
            name: str | int
            if isinstance(here, dict):
                name = str(step)
            elif isinstance(here, list) and isinstance(step, int):
                name = step
            else:
                break
            part = self._parts_of(here, start).get(name)
            if part is None:
                break
            is_key = key and isinstance(here, dict) and index == len(at) - 1
            start, shown = part, part - KEY if is_key else part
            here = here[name]  # type: ignore[index]
        return self._spots[shown], self._spots[shown + 1]

    def _parts_of(
        self, here: dict[str, JsonValue] | list[JsonValue], start: int
    ) -> dict[str | int, int]:
        """Where the numbers of each part begin; counted once."""
        parts = self._parts.get(start)
        if parts is None:
            parts = self._parts[start] = {}
            gap = KEY if isinstance(here, dict) else 0
            place = start + HEAD
            for name in here if isinstance(here, dict) else range(len(here)):
                place += gap
                parts[name] = place
                place += self._spots[place + 2]
        return parts
