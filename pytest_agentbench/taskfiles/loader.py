"""A task file becomes tasks; what is wrong with it becomes one error with every place."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_agentbench.errors import Problem
from pytest_agentbench.taskfiles import parsed
from pytest_agentbench.taskfiles.build import TaskBuilder, Validate, validate_by_registry
from pytest_agentbench.taskfiles.complaints import validate
from pytest_agentbench.taskfiles.dataset import (
    DatasetFault,
    Row,
    RowFaults,
    installed_file,
    read_rows,
    sampled,
)
from pytest_agentbench.taskfiles.document import TASK_PLACES, DatasetShape, TaskShape
from pytest_agentbench.taskfiles.locate import definition_error
from pytest_agentbench.taskfiles.named import fixed_part, naming_places
from pytest_agentbench.taskfiles.names import slug
from pytest_agentbench.taskfiles.placeholders import as_text, fill
from pytest_agentbench.taskfiles.rowscope import RowScope, TemplateScope

if TYPE_CHECKING:
    from pytest_agentbench.model.task import JsonValue, TaskSpec
    from pytest_agentbench.taskfiles.yamlnodes import Document

FAULTY_ROWS_SHOWN = 10


def load_task_file(
    path: Path, *, rootdir: Path, validate_oracle: Validate | None = None
) -> tuple[TaskSpec, ...]:
    """The tasks of a file, in file order.

    ``validate_oracle`` says what is wrong with an oracle's expectation and options;
    by default the class that the registry has for its kind. Raises
    ``DefinitionError`` with all problems of the file.
    """
    path = Path(os.path.normpath(rootdir / path))
    document = parsed.take(path)
    loading = _Loading(path, document, validate_oracle or validate_by_registry)
    tasks = loading.tasks()
    problems = [*document.problems, *loading.row_problems]
    if problems:
        raise definition_error(problems, rootdir=rootdir, main=path)
    return tasks


class _Loading:
    """One file on its way to tasks."""

    def __init__(self, path: Path, document: Document, validate_oracle: Validate) -> None:
        self._path = path
        self._document = document
        self._builder = TaskBuilder(path, document, validate_oracle)
        self.row_problems: list[Problem] = []

    def tasks(self) -> tuple[TaskSpec, ...]:
        data = self._document.data
        if not isinstance(data, dict):
            return ()
        if "dataset" not in data:
            task = self._builder.build(data, self._document)
            return (task,) if task is not None else ()
        rest = {key: value for key, value in data.items() if key != "dataset"}
        source = self._dataset_file(data["dataset"])
        rows = self._rows(source) if source is not None else None
        if source is None or rows is None:
            validate(TaskShape, rest, TASK_PLACES, TemplateScope(self._document))
            return ()
        shape, file = source
        self._builder.dataset = file
        self._check_fixed_parts(rest)
        return tuple(self._row_tasks(rest, self._chosen(rows, shape, file), file))

    def _check_fixed_parts(self, template: dict[str, JsonValue]) -> None:
        """What a task owns must be known without its rows."""
        for at, text in naming_places(template):
            if text and not fixed_part(text):
                message = f"{text!r} must start with a directory that all rows share"
                self._document.report(at, message)

    def _dataset_file(self, raw: JsonValue) -> tuple[DatasetShape, Path] | None:
        """What ``dataset`` says and the file that it means."""
        before = len(self._document.problems)
        task = validate(TaskShape, {"dataset": raw}, TASK_PLACES, self._document)
        if task is None or len(self._document.problems) > before:
            return None
        shape = task.dataset
        if not shape.path.strip() or "\0" in shape.path:
            self._document.report(("dataset",), "a dataset needs a 'path'")
            return None
        if not shape.has("package"):
            return shape, Path(os.path.normpath(self._path.parent / shape.path))
        try:
            return shape, installed_file(shape.package, shape.path)
        except DatasetFault as fault:
            self._document.report(("dataset", "package"), fault.message, advice=fault.advice)
            return None

    def _rows(self, source: tuple[DatasetShape, Path]) -> list[Row] | None:
        shape, file = source
        try:
            rows = read_rows(file)
        except DatasetFault as fault:
            self._document.report(("dataset", "path"), fault.message, advice=fault.advice)
            return None
        except RowFaults as faults:
            self.row_problems.extend(faults.problems[:FAULTY_ROWS_SHOWN])
            return None
        if shape.sample > len(rows):
            self._document.report(
                ("dataset", "sample"), f"sample of {shape.sample}, but there are {len(rows)} rows"
            )
            return None
        return rows

    def _chosen(self, rows: list[Row], shape: DatasetShape, file: Path) -> list[tuple[Row, str]]:
        """The sampled rows, each with the name that it has by itself."""
        named = (
            "id" if not shape.has("id") and any("id" in row.values for row in rows) else shape.id
        )
        names = [self._name(row, named, file) for row in rows]
        if shape.has("sample"):
            indexes = sampled(rows, names, shape.sample, shape.seed)
        else:
            indexes = list(range(len(rows)))
        return [(rows[index], names[index]) for index in indexes]

    def _name(self, row: Row, field: str, file: Path) -> str:
        if not field:
            return f"{self._builder.default_id}-{row.number}"
        value = row.values.get(field)
        if isinstance(value, str | int) and not isinstance(value, bool):
            return as_text(value)
        if field in row.values:
            message = f"row {row.number}: the id field {field!r} must be text or a whole number"
        else:
            known = ", ".join(row.values)
            message = f"row {row.number} has no id field {field!r}; known: {known}"
        self.row_problems.append(Problem(file, row.line, 1, message))
        return f"{self._builder.default_id}-{row.number}"

    def _row_tasks(
        self, template: dict[str, JsonValue], chosen: list[tuple[Row, str]], file: Path
    ) -> Iterator[TaskSpec]:
        makers: dict[str, Row] = {}
        faulty = 0
        for row, name in chosen:
            before = len(self._document.problems)
            scope = RowScope(self._document, f"row {row.number} ({file.name}:{row.line})")
            data = fill(template, row.values, _complain_to(scope))
            if not isinstance(data, dict) or len(self._document.problems) > before:
                task = None
            else:
                task = self._builder.build(data, scope, row=row, name=slug(name))
            if task is None:
                faulty += 1
                if faulty == FAULTY_ROWS_SHOWN:
                    return
                continue
            first = makers.setdefault(task.id, row)
            if first is row:
                yield task
            else:
                self._clash(task.id, first, row, file)

    def _clash(self, name: str, first: Row, second: Row, file: Path) -> None:
        has_id = isinstance(self._document.data, dict) and "id" in self._document.data
        self._document.report(
            ("id",) if has_id else ("dataset",),
            f"rows {first.number} and {second.number} ({file.name}:{first.line} and"
            f" :{second.line}) both make the id {name!r}",
        )


def _complain_to(scope: RowScope) -> Callable[[tuple[str | int, ...], str], None]:
    def complain(at: tuple[str | int, ...], message: str) -> None:
        scope.report(at, message)

    return complain
