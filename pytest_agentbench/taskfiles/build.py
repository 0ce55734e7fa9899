"""From a checked shape to a ``TaskSpec``: what one key alone cannot say."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING
from unicodedata import normalize

from pytest_agentbench.model.digest import digest_value
from pytest_agentbench.model.task import Position, TaskSpec
from pytest_agentbench.taskfiles.answers import Answers
from pytest_agentbench.taskfiles.complaints import closest, validate
from pytest_agentbench.taskfiles.layer import layer_of
from pytest_agentbench.taskfiles.names import id_fault, tag_fault
from pytest_agentbench.taskfiles.oracle_entries import (
    OracleEntries,
    Validate,
    validate_by_registry,
)
from pytest_agentbench.taskfiles.paths import NamedPaths, overlapping
from pytest_agentbench.taskfiles.placeholders import fill_text
from pytest_agentbench.taskfiles.selection import (
    NO_FIXTURES,
    fixtures_of,
    skip_of,
    slots_of,
    xfail_of,
)
from pytest_agentbench.taskfiles.taskshape import TASK_PLACES, TaskShape
from pytest_agentbench.taskfiles.trees import Trees
from pytest_agentbench.taskfiles.workspaces import workspace_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pytest_agentbench.model.task import JsonValue, OracleSpec, Workspace
    from pytest_agentbench.taskfiles.dataset import Row
    from pytest_agentbench.taskfiles.rowscope import Reporter
    from pytest_agentbench.taskfiles.yamlnodes import DataPath, Document

__all__ = ["TaskBuilder", "Validate", "validate_by_registry"]


_HIDDEN_NOUNS = {"controls": "control", "oracles": "oracle", "workspace": "patch"}
"""What the agent would see, by the key that names it."""


def default_id(path: Path) -> str:
    """The id of a file's task: the directory's name for ``task.yaml``, else the stem."""
    name = path.parent.name if path.stem == "task" else path.stem.removesuffix(".task")
    # As some file systems store it, an accent is a letter of its own.
    return normalize("NFC", name)


@dataclass(slots=True)
class _Draft:
    """What is known of a task while it is built."""

    shape: TaskShape
    data: Mapping[str, JsonValue]
    reporter: Reporter
    row: Row | None
    trees: Trees
    hidden: list[tuple[DataPath, Path]] = field(default_factory=list)


class TaskBuilder:
    """Builds the tasks of one file. ``dataset`` is the file that its rows come from."""

    def __init__(self, path: Path, document: Document, validate_oracle: Validate) -> None:
        self._path = path
        self._document = document
        self._paths = NamedPaths(path)
        self._oracles = OracleEntries(path, document, validate_oracle)
        self._prompts: dict[Path, str | None] = {}
        self.default_id = default_id(path)
        self.dataset: Path | None = None

    def build(
        self,
        data: Mapping[str, JsonValue],
        reporter: Reporter,
        *,
        row: Row | None = None,
        name: str | None = None,
    ) -> TaskSpec | None:
        """The task that ``data`` describes; None when problems were reported.

        ``name`` is the id that its row gives, for a file without ``id``.
        """
        before = len(self._document.problems)
        shape = validate(TaskShape, data, TASK_PLACES, reporter)
        if shape is None:
            return None
        trees = Trees(self._paths, reporter)
        draft = _Draft(shape, data, reporter, row, trees)
        spec = self._spec(draft, name)
        return spec if len(self._document.problems) == before else None

    def _spec(self, draft: _Draft, name: str | None) -> TaskSpec:
        shape = draft.shape
        identifier = self._id(draft, name)
        tags = self._tags(draft)
        prompt = self._prompt(draft)
        reporter, base = draft.reporter, self._path.parent
        written = draft.data.get
        workspace, patch = workspace_of(
            shape.workspace, written("workspace"), draft.trees, reporter, base
        )
        if patch is not None:
            draft.hidden.append((("workspace", "patch"), patch))
        checks, oracles = self._judges(draft)
        answers = Answers(self._document, draft.trees, reporter, self._path)
        solution = answers.solution(shape.solution) if shape.has("solution") else None
        controls = answers.controls(shape, [spec.name for spec in (*checks, *oracles)])
        draft.hidden.extend(answers.hidden)
        layer = layer_of(shape, base=base, reporter=reporter)
        self._keep_hidden(draft, workspace)
        key = ("dataset",) if draft.row is not None else ()
        line, column = self._document.place(key, key=True)
        owned = dict.fromkeys(draft.trees.named)
        if self.dataset is not None:
            owned[self.dataset] = None
        return TaskSpec(
            id=identifier,
            position=Position(self._path, line, column),
            prompt=prompt,
            oracles=oracles,
            digest=digest_value([identifier, prompt, dict(draft.data)]),
            description=shape.description,
            tags=tags,
            workspace=workspace,
            checks=checks,
            solution=solution,
            controls=controls,
            threshold=shape.threshold if shape.has("threshold") else None,
            skip=skip_of(shape.skip, written("skip"), reporter) if shape.has("skip") else None,
            xfail=xfail_of(shape.xfail, reporter) if shape.has("xfail") else None,
            slots=slots_of(shape, reporter),
            fixtures=fixtures_of(shape, reporter) if shape.has("fixtures") else NO_FIXTURES,
            layer=layer,
            owned=tuple(owned),
            row=draft.row.number if draft.row is not None else None,
            dataset=self.default_id if draft.row is not None else None,
            gated=shape.has("gate"),
        )

    def _id(self, draft: _Draft, name: str | None) -> str:
        given = draft.shape.has("id")
        text = draft.shape.id if given else name if name is not None else self.default_id
        fault = id_fault(text) if given or "id" not in draft.data else None
        if fault is None:
            return text
        if given:
            draft.reporter.report(("id",), f"the id {text!r} {fault}")
        elif draft.row is not None:
            row = draft.row
            message = f"row {row.number}: the id {text!r} {fault}"
            self._document.report(("dataset",), message, advice="give the file an id of its own")
        else:
            message = f"the id {text!r}, made of the file's name, {fault}"
            self._document.report((), message, advice="give the task an id of its own")
        return text

    def _tags(self, draft: _Draft) -> tuple[str, ...]:
        seen: list[str] = []
        for index, tag in enumerate(draft.shape.tags):
            fault = "is there twice" if tag in seen else tag_fault(tag)
            if fault is not None:
                draft.reporter.report(("tags", index), f"the tag {tag!r} {fault}")
            seen.append(tag)
        return tuple(seen)

    def _prompt(self, draft: _Draft) -> str:
        shape, data, reporter = draft.shape, draft.data, draft.reporter
        if "prompt" in data and "prompt_file" in data:
            reporter.report(
                ("prompt_file",), "'prompt' and 'prompt_file' exclude each other", key=True
            )
            return ""
        text: str | None = None
        at: DataPath = ("prompt",)
        if shape.has("prompt"):
            text = shape.prompt
        elif shape.has("prompt_file"):
            at = ("prompt_file",)
            text = self._prompt_text(draft)
        elif not (data.keys() & {"prompt", "prompt_file"} or _misspelt("prompt", data)):
            reporter.report((), "a task needs a 'prompt' or a 'prompt_file'")
        if text is None:
            return ""
        if not text.strip():
            reporter.report(at, "the prompt is empty")
        if "\0" in text:
            reporter.report(at, "the prompt holds a NUL character")
        return text

    def _prompt_text(self, draft: _Draft) -> str | None:
        at = ("prompt_file",)
        path = draft.trees.path(draft.shape.prompt_file, at, "file")
        if path is None:
            return None
        if path not in self._prompts:
            self._prompts[path] = _read_text(path)
        text = self._prompts[path]
        if text is None:
            why = _why_unreadable(path)
            draft.reporter.report(at, f"{draft.shape.prompt_file!r} cannot be read{why}")
            return None
        if draft.row is None:
            return text
        return fill_text(
            text, draft.row.values, lambda message: self._complain_of_row(draft, at, message)
        )

    def _complain_of_row(self, draft: _Draft, at: DataPath, message: str) -> None:
        number = draft.row.number if draft.row is not None else 0
        self._document.report(at, f"row {number}: {message}")

    def _judges(self, draft: _Draft) -> tuple[tuple[OracleSpec, ...], tuple[OracleSpec, ...]]:
        """The checks and the oracles."""
        shape, data = draft.shape, draft.data
        if not shape.oracles:
            is_missing = "oracles" not in data and not _misspelt("oracles", data)
            if is_missing or data.get("oracles") == []:
                at: DataPath = ("oracles",) if "oracles" in data else ()
                draft.reporter.report(
                    at,
                    "a task without oracles",
                    advice="add oracles: what the agent left is judged by them",
                )
            return (), ()
        checks, specs, hidden = self._oracles.specs(shape, data, draft.reporter, draft.trees)
        draft.hidden.extend(hidden)
        if specs and all(spec.advisory for spec in specs):
            draft.reporter.report(
                ("oracles",), "every oracle is advisory: nothing could fail", key=True
            )
        elif "threshold" not in data and specs and not any(spec.required for spec in specs):
            draft.reporter.report(
                ("oracles",),
                "no oracle is required and there is no threshold: nothing could fail",
                key=True,
            )
        return checks, specs

    def _keep_hidden(self, draft: _Draft, workspace: Workspace) -> None:
        """Refuse a workspace that shows the agent what it must not see."""
        directory = workspace.tree.directory
        if directory is None:
            return
        at: DataPath = ("workspace",)
        if overlapping(self._path, directory):
            draft.reporter.report(
                at, "the workspace holds the task file itself: the agent would see the oracles"
            )
            return
        hidden = draft.hidden
        if self.dataset is not None:
            hidden = [*hidden, (("dataset",), self.dataset)]
        for place, path in hidden:
            if overlapping(path, directory):
                what = _HIDDEN_NOUNS.get(str(place[0]), str(place[0]))
                reporter = draft.reporter if what != "dataset" else self._document
                reporter.report(
                    place,
                    f"{path.name!r} and the workspace {directory.name!r} overlap:"
                    f" the agent would see the {what}",
                )


def _misspelt(key: str, data: Mapping[str, JsonValue]) -> bool:
    """Whether a key is missing because another one, which is reported, was meant as it."""
    known = TaskShape.keys()
    return any(closest(name, known) == key for name in data if name not in known)


def _why_unreadable(path: Path) -> str:
    try:
        path.read_bytes()
    except OSError as error:
        return f": {error.strerror}"
    return " as UTF-8 text"


def _read_text(path: Path) -> str | None:
    """The text of a file, line ends as LF, a byte order mark dropped; None when it is none."""
    try:
        text = path.read_bytes().decode("utf-8-sig")
    except (OSError, UnicodeDecodeError):
        return None
    return text.replace("\r\n", "\n").replace("\r", "\n")
