"""Answers that a task file knows: the solution, and wrong ones that must be refused."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_agentbench.model.task import Control, FileTree, Position, Solution
from pytest_agentbench.taskfiles.complaints import unknown, was_pruned
from pytest_agentbench.taskfiles.names import id_fault
from pytest_agentbench.taskfiles.yamlnodes import value_at

if TYPE_CHECKING:
    from pytest_agentbench.taskfiles.paths import Wanted
    from pytest_agentbench.taskfiles.rowscope import Reporter
    from pytest_agentbench.taskfiles.taskshape import AnswerShape, TaskShape
    from pytest_agentbench.taskfiles.trees import Trees
    from pytest_agentbench.taskfiles.yamlnodes import DataPath, Document

_PATCHES = (".patch", ".diff")
_FORMS = ("path", "patch", "directory", "files", "run")
"""What an answer changes: at most one of these."""


class Answers:
    """Reads the answers of one task; ``hidden`` are the paths that they name."""

    def __init__(self, document: Document, trees: Trees, reporter: Reporter, file: Path) -> None:
        self._document = document
        self._trees = trees
        self._reporter = reporter
        self._file = file
        self.hidden: list[tuple[DataPath, Path]] = []

    def solution(self, shape: AnswerShape) -> Solution | None:
        """What ``solution`` says; None when that cannot be used, which is then reported."""
        return self._answer(shape, ("solution",))

    def controls(self, task: TaskShape, judges: Iterable[str]) -> tuple[Control, ...]:
        """The wrong answers, in their order. ``judges`` names the task's oracles and checks."""
        known = sorted(judges)
        found = []
        taken: dict[str, DataPath] = {}
        for index, shape in enumerate(task.controls):
            at: DataPath = ("controls", index)
            answer = self._answer(shape, at)
            if not shape.has("fails"):
                self._miss(shape, at, "a control needs 'fails': the oracle that must refuse it")
            elif known and shape.fails not in known:
                message = unknown(shape.fails, known, what="oracle")
                self._reporter.report((*at, "fails"), message)
            name = shape.name if shape.has("name") else f"control-{index + 1}"
            self._check_name(name, at, taken)
            line, column = self._document.place(at)
            if answer is not None:
                found.append(Control(name, answer, shape.fails, Position(self._file, line, column)))
        return tuple(found)

    def _check_name(self, name: str, at: DataPath, taken: dict[str, DataPath]) -> None:
        fault = id_fault(name)
        first = taken.setdefault(name, at)
        if fault is not None:
            self._reporter.report((*at, "name"), f"the name {name!r} {fault}")
        elif first != at:
            line, _ = self._document.place((*first, "name"))
            message = f"duplicate name {name!r}; the first is on line {line}"
            self._reporter.report((*at, "name"), message)

    def _miss(self, shape: AnswerShape, at: DataPath, message: str) -> None:
        """Report what is not there, unless it may be a part that was refused already."""
        if not was_pruned(shape, value_at(self._document.data, at)):
            self._reporter.report(at, message)

    def _answer(self, shape: AnswerShape, at: DataPath) -> Solution | None:
        given = [key for key in _FORMS if shape.has(key)]
        final = shape.final if shape.has("final") else None
        if len(given) > 1 or (not given and final is None):
            what = str(at[0]).removesuffix("s")
            message = f"a {what} has one of: copy, files, patch, run, or a 'final'"
            if given:
                self._reporter.report(at, message)
            else:
                self._miss(shape, at, message)
            return None
        answer = self._work(shape, at, given[0]) if given else Solution()
        return None if answer is None else replace(answer, final=final)

    def _work(self, shape: AnswerShape, at: DataPath, form: str) -> Solution | None:
        """What the answer changes."""
        match form:
            case "path":
                return self._on_disk(shape.path, at)
            case "patch":
                path = self._path(shape.patch, (*at, "patch"), "file")
                return None if path is None else Solution(patch=path)
            case "directory":
                path = self._path(shape.directory, (*at, "copy"), "directory")
                return None if path is None else Solution(tree=FileTree(path))
            case "files":
                return self._inline(shape.files, at)
            case _:
                return self._script(shape.run, at)

    def _inline(self, files: dict[str, str], at: DataPath) -> Solution:
        return Solution(tree=self._trees.inline(files, (*at, "files")))

    def _script(self, text: str, at: DataPath) -> Solution | None:
        if any(letter.isspace() for letter in text) and not self._is_there(text):
            self._reporter.report(
                (*at, "run"),
                f"'run' is the path of a script here, and there is none at {text!r}",
                advice="put the command into a file",
            )
            return None
        script = self._path(text, (*at, "run"), "file")
        return None if script is None else Solution(script=script)

    def _is_there(self, text: str) -> bool:
        return "\0" not in text and (self._file.parent / text).exists()

    def _on_disk(self, text: str, at: DataPath) -> Solution | None:
        path = self._path(text, at, "directory or file")
        if path is None:
            return None
        if path.is_dir():
            return Solution(tree=FileTree(path))
        if path.suffix not in _PATCHES:
            self._reporter.report(
                at,
                f"{text!r} is no solution: neither a patch (.patch, .diff) nor a directory",
                advice=f"{{run: {text}}}, if it is a script",
            )
        return Solution(patch=path)

    def _path(self, text: str, at: DataPath, wanted: Wanted) -> Path | None:
        path = self._trees.path(text, at, wanted)
        if path is not None:
            self.hidden.append((at, path))
        return path
