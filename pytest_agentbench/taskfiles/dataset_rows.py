"""What readers of all kinds of datasets make: rows, and what is wrong with them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pytest_agentbench.errors import Problem
    from pytest_agentbench.model.task import JsonValue


@dataclass(frozen=True, slots=True)
class Row:
    """One row. ``number`` counts rows from 1, ``line`` is the line of the file it starts on."""

    number: int
    line: int
    values: dict[str, JsonValue]


class DatasetFault(Exception):
    """The dataset cannot be read; ``advice`` may be empty."""

    def __init__(self, message: str, advice: str = "") -> None:
        self.message = message
        self.advice = advice
        super().__init__(message)


class RowFaults(Exception):
    """Some rows are broken, or the file is at some place."""

    def __init__(self, problems: list[Problem]) -> None:
        self.problems = problems
        super().__init__(problems)
