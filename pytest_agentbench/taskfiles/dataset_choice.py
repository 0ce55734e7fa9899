"""Which rows of a dataset become tasks, and what they are called by themselves."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from pytest_agentbench.errors import Problem
from pytest_agentbench.taskfiles.dataset_sampling import sampled, sampled_by_stratum
from pytest_agentbench.taskfiles.names import slug
from pytest_agentbench.taskfiles.placeholders import as_text

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from pytest_agentbench.taskfiles.dataset_rows import Row
    from pytest_agentbench.taskfiles.rowscope import Reporter
    from pytest_agentbench.taskfiles.taskshape import DatasetShape


class Choice:
    """Chooses among the rows of one file. ``problems`` are those of its rows.

    ``at_most`` is how many rows the command line lets through. ``names_tasks`` says
    that the rows' names are the tasks' ids.
    """

    def __init__(
        self,
        file: Path,
        shape: DatasetShape,
        default_id: str,
        at_most: int | None,
        *,
        names_tasks: bool,
    ) -> None:
        self._file = file
        self._shape = shape
        self._default_id = default_id
        self._at_most = at_most
        self._names_tasks = names_tasks
        self.problems: list[Problem] = []

    def of(self, rows: Sequence[Row], reporter: Reporter) -> list[tuple[Row, str]]:
        """The rows to take, in their order, each with its name.

        None where rows have problems: then all of them are known.
        """
        named = self._naming_field(rows)
        names = [self._name(row, named) for row in rows]
        strata = self._strata(rows)
        if named and self._names_tasks:
            self._refuse_clashes(rows, names)
        if self.problems:
            return []
        indexes = self._indexes(names, strata, reporter)
        return [(rows[index], names[index]) for index in indexes]

    def _indexes(
        self, names: Sequence[str], strata: Sequence[str], reporter: Reporter
    ) -> Sequence[int]:
        shape, at_most = self._shape, self._at_most
        chosen: Sequence[int] = range(len(names))
        if shape.has("per_stratum"):
            largest = max(Counter(strata).values())
            if shape.per_stratum > largest:
                message = (
                    f"per_stratum of {shape.per_stratum}, but the largest stratum has {largest}"
                    f" row{'s' * (largest != 1)}: nothing would be left out"
                )
                reporter.report(("dataset", "per_stratum"), message)
            chosen = sampled_by_stratum(names, strata, shape.per_stratum, shape.seed)
        elif shape.has("sample"):
            if shape.sample > len(names):
                rows = "is 1 row" if len(names) == 1 else f"are {len(names)} rows"
                message = f"sample of {shape.sample}, but there {rows}"
                reporter.report(("dataset", "sample"), message)
            at_most = at_most or shape.sample
        return chosen if at_most is None else sampled(names, chosen, at_most, shape.seed)

    def _naming_field(self, rows: Sequence[Row]) -> str:
        if self._shape.has("id"):
            return self._shape.id
        return "id" if any("id" in row.values for row in rows) else ""

    def _name(self, row: Row, field: str) -> str:
        """What the id field says; without one, the number of the row counts."""
        by_number = f"{self._default_id}-{row.number}"
        if not field:
            return by_number
        value = row.values.get(field)
        if isinstance(value, str | int) and not isinstance(value, bool):
            return as_text(value)
        if field in row.values:
            self._refuse(row, f"the id field {field!r} must be text or a whole number")
        else:
            self._refuse_missing(row, "id", field)
        return by_number

    def _strata(self, rows: Sequence[Row]) -> list[str]:
        """The stratum of each row; none without ``per_stratum``."""
        field = self._shape.stratum
        if not self._shape.has("per_stratum"):
            return []
        for row in rows:
            if field not in row.values:
                self._refuse_missing(row, "stratum", field)
            elif isinstance(row.values[field], list | dict):
                self._refuse(row, f"the stratum field {field!r} must be one value")
        return [as_text(row.values.get(field)) for row in rows]

    def _refuse_clashes(self, rows: Sequence[Row], names: Sequence[str]) -> None:
        """Names of rows that become one id, also where a sample takes neither of them."""
        makers: dict[str, Row] = {}
        for row, name in zip(rows, names, strict=True):
            first = makers.setdefault(slug(name), row)
            if first is not row and slug(name):
                message = f"makes the id {slug(name)!r}, as row {first.number} does"
                self._refuse(row, f"{message} ({self._file.name}:{first.line})")

    def _refuse_missing(self, row: Row, what: str, field: str) -> None:
        known = ", ".join(row.values)
        message = f"row {row.number} has no {what} field {field!r}; known: {known}"
        self.problems.append(Problem(self._file, row.line, 1, message))

    def _refuse(self, row: Row, message: str) -> None:
        self.problems.append(Problem(self._file, row.line, 1, f"row {row.number}: {message}"))


def first_faults(problems: Sequence[Problem], shown: int) -> list[Problem]:
    """The first problems of a dataset; how many more there are stands where they begin."""
    first = list(problems[:shown])
    if len(problems) > shown:
        rest = len(problems) - shown
        message = f"and {rest} more problem{'s' * (rest != 1)} from here on"
        first.append(problems[shown]._replace(column=1, message=message, excerpt="", advice=""))
    return first
