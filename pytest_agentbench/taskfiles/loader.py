"""A task file becomes tasks; what is wrong with it becomes one error with every place."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from collections.abc import Set as AbstractSet
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
)
from pytest_agentbench.taskfiles.dataset_choice import Choice, first_faults
from pytest_agentbench.taskfiles.locate import definition_error
from pytest_agentbench.taskfiles.named import fixed_part, naming_places
from pytest_agentbench.taskfiles.names import slug
from pytest_agentbench.taskfiles.placeholders import Template
from pytest_agentbench.taskfiles.rowscope import RowScope, TemplateScope
from pytest_agentbench.taskfiles.taskshape import TASK_PLACES, DatasetShape, TaskShape

if TYPE_CHECKING:
    from pytest_agentbench.model.task import JsonValue, TaskSpec
    from pytest_agentbench.taskfiles.yamlnodes import Document

FAULTY_ROWS_SHOWN = 10


def load_task_file(
    path: Path,
    *,
    rootdir: Path,
    validate_oracle: Validate | None = None,
    sample: int | None = None,
) -> tuple[TaskSpec, ...]:
    """The tasks of a file, in file order; of a dataset at most ``sample``.

    ``validate_oracle`` says what is wrong with an oracle's expectation and options;
    by default the class that the registry has for its kind. Raises
    ``DefinitionError`` with all problems of the file.
    """
    path = Path(os.path.normpath(rootdir / path))
    document = parsed.take(path, rootdir)
    loading = _Loading(path, document, validate_oracle or validate_by_registry, sample)
    tasks = loading.tasks()
    problems = [*document.problems, *loading.row_problems]
    if problems:
        raise definition_error(problems, rootdir=rootdir, main=path)
    return tasks


class _Loading:
    """One file on its way to tasks."""

    def __init__(
        self, path: Path, document: Document, validate_oracle: Validate, sample: int | None
    ) -> None:
        self._path = path
        self._document = document
        self._sample = sample
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
        rows = self._rows(source[1]) if source is not None else None
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
        if not self._samples_well(shape):
            return None
        if not shape.has("package"):
            return shape, Path(os.path.normpath(self._path.parent / shape.path))
        try:
            return shape, installed_file(shape.package, shape.path)
        except DatasetFault as fault:
            self._document.report(("dataset", "package"), fault.message, advice=fault.advice)
            return None

    def _rows(self, file: Path) -> list[Row] | None:
        try:
            return read_rows(file)
        except DatasetFault as fault:
            self._document.report(("dataset", "path"), fault.message, advice=fault.advice)
            return None
        except RowFaults as faults:
            self.row_problems.extend(first_faults(faults.problems, FAULTY_ROWS_SHOWN))
            return None

    def _samples_well(self, shape: DatasetShape) -> bool:
        """Whether the ways of choosing rows go together."""
        report = self._document.report
        if shape.has("sample") and shape.has("per_stratum"):
            message = "'sample' and 'per_stratum' exclude each other"
            report(("dataset", "per_stratum"), message, key=True)
        elif shape.has("per_stratum") and not shape.stratum:
            message = "'per_stratum' needs a 'stratum': the field whose values make the strata"
            report(("dataset", "per_stratum"), message, key=True)
        elif shape.has("stratum") and not shape.has("per_stratum"):
            message = "'stratum' needs a 'per_stratum': how many rows of each are taken"
            report(("dataset", "stratum"), message, key=True)
        else:
            return True
        return False

    def _chosen(self, rows: list[Row], shape: DatasetShape, file: Path) -> list[tuple[Row, str]]:
        """The rows that are taken, each with the name that it has by itself."""
        names_tasks = "id" not in self._keys()
        default_id = self._builder.default_id
        choice = Choice(file, shape, default_id, self._sample, names_tasks=names_tasks)
        chosen = choice.of(rows, self._document)
        self.row_problems.extend(first_faults(choice.problems, FAULTY_ROWS_SHOWN))
        return chosen

    def _row_tasks(
        self, template: dict[str, JsonValue], chosen: list[tuple[Row, str]], file: Path
    ) -> Iterator[TaskSpec]:
        makers: dict[str, Row] = {}
        filling = Template(template)
        faulty = 0
        for row, name in chosen:
            before = len(self._document.problems)
            scope = RowScope(self._document, f"row {row.number} ({file.name}:{row.line})")
            data = filling.fill(row.values, _complain_to(scope))
            if not isinstance(data, dict) or len(self._document.problems) > before:
                task = None
            else:
                task = self._builder.build(data, scope, row=row, name=slug(name))
            if task is not None:
                first = makers.setdefault(task.id, row)
                if first is row:
                    yield task
                    continue
                self._clash(task.id, first, row, file)
            faulty += 1
            if faulty == FAULTY_ROWS_SHOWN:
                return

    def _clash(self, name: str, first: Row, second: Row, file: Path) -> None:
        self._document.report(
            ("id",) if "id" in self._keys() else ("dataset",),
            f"rows {first.number} and {second.number} ({file.name}:{first.line} and"
            f" :{second.line}) both make the id {name!r}",
        )

    def _keys(self) -> AbstractSet[str]:
        data = self._document.data
        return data.keys() if isinstance(data, dict) else frozenset()


def _complain_to(scope: RowScope) -> Callable[[tuple[str | int, ...], str], None]:
    def complain(at: tuple[str | int, ...], message: str) -> None:
        scope.report(at, message)

    return complain
