"""Datasets of YAML: one list of mappings, read by the rules of task files."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pytest_agentbench.taskfiles.dataset_rows import DatasetFault, Row, RowFaults
from pytest_agentbench.taskfiles.yamlnodes import kind_of, parse

if TYPE_CHECKING:
    from pathlib import Path

    from pytest_agentbench.errors import Problem
    from pytest_agentbench.taskfiles.yamlnodes import Document


def read_yaml(path: Path, data: bytes) -> list[Row]:
    """The rows of a list of mappings. Raises ``DatasetFault`` or ``RowFaults``."""
    document = parse(path, data, what="dataset", rows=True)
    items = document.data if isinstance(document.data, list) else []
    lines = [document.place((index,))[0] for index in range(len(items))]
    rows: list[Row] = []
    for index, item in enumerate(items):
        if isinstance(item, dict):
            rows.append(Row(index + 1, lines[index], item))
        elif document.place((index,)) not in _places(document):
            document.report((index,), f"a row is a mapping, not {kind_of(item)}")
    if any(problem.line == 0 for problem in document.problems):
        raise DatasetFault(f"{path.name!r} {document.problems[0].message}")
    if document.problems:
        raise RowFaults([_with_row(problem, lines) for problem in document.problems])
    return rows


def _places(document: Document) -> set[tuple[int, int]]:
    return {(problem.line, problem.column) for problem in document.problems}


def _with_row(problem: Problem, lines: list[int]) -> Problem:
    """The problem with the number of the row that it stands in."""
    before = [(line, -index) for index, line in enumerate(lines) if line <= problem.line]
    if not before:
        return problem
    number = 1 - max(before)[1]
    return problem._replace(message=f"row {number}: {problem.message}")
