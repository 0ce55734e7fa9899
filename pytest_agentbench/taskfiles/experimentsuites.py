"""The suites of an experiment file."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, TypeAlias, cast

from pytest_agentbench.model.task import Position
from pytest_agentbench.model.variant import Suite
from pytest_agentbench.taskfiles.names import file_fault, id_fault

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pytest_agentbench.model.task import JsonValue
    from pytest_agentbench.taskfiles.experimentshape import SelectShape, SuiteShape
    from pytest_agentbench.taskfiles.yamlnodes import DataPath, Document

CheckMarks: TypeAlias = Callable[[str], "str | None"]
"""What is wrong with an expression as of ``-m``, or None."""

ALL = "all"
"""The suite that every task belongs to."""


def read_suites(
    shapes: Mapping[str, SuiteShape], document: Document, check_marks: CheckMarks | None
) -> dict[str, Suite]:
    """The suites of one file by name; what is wrong with them is reported."""
    return {name: _suite(name, shape, document, check_marks) for name, shape in shapes.items()}


def _suite(
    name: str, shape: SuiteShape, document: Document, check_marks: CheckMarks | None
) -> Suite:
    at: DataPath = ("suites", name)
    fault = "means all tasks" if name == ALL else id_fault(name)
    if fault is not None:
        document.report(at, f"the suite name {name!r} {fault}", key=True)
    if shape.has("select"):
        _check_select(shape.select, (*at, "select"), document, check_marks)
    line, column = document.place(at, key=True)
    return Suite(
        name,
        marks=shape.select.marks,
        paths=tuple(shape.select.paths),
        ids=tuple(shape.select.ids),
        gate=cast("Mapping[str, JsonValue]", shape.gate) if shape.has("gate") else None,
        position=Position(document.path, line, column),
    )


def _check_select(
    shape: SelectShape, at: DataPath, document: Document, check_marks: CheckMarks | None
) -> None:
    if not shape.model_fields_set:
        document.report(at, "'select' names no condition; without it, a suite is all tasks")
    if shape.has("marks"):
        fault = "is empty" if not shape.marks.strip() else None
        if fault is None and check_marks is not None:
            fault = check_marks(shape.marks)
            fault = None if fault is None else f"is no expression of marks: {fault}"
        if fault is not None:
            document.report((*at, "marks"), f"{shape.marks!r} {fault}")
    for key in ("paths", "ids"):
        patterns: list[str] = getattr(shape, key)
        if shape.has(key) and not patterns:
            document.report((*at, key), f"{key!r} names no pattern")
        for index, pattern in enumerate(patterns):
            wrong = file_fault(pattern) if key == "paths" else _empty(pattern)
            if wrong is not None:
                document.report((*at, key, index), f"the pattern {pattern!r} {wrong}")


def _empty(pattern: str) -> str | None:
    return None if pattern.strip() else "is empty"
