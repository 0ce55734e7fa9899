"""The entries below ``oracles``: one kind each, checked by the oracle that owns the kind."""

from __future__ import annotations

from collections.abc import Callable
from difflib import get_close_matches
from typing import TYPE_CHECKING, TypeAlias, cast

from pydantic import ValidationError

from pytest_agentbench.model.task import FileTree, OracleSpec, Position
from pytest_agentbench.registry import oracle_class, oracle_kinds
from pytest_agentbench.taskfiles.complaints import not_yet, subject, unknown
from pytest_agentbench.taskfiles.document import FilesShape, OracleShape
from pytest_agentbench.taskfiles.names import id_fault
from pytest_agentbench.taskfiles.yamlnodes import kind_of, value_at

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from pytest_agentbench.model.task import JsonValue
    from pytest_agentbench.taskfiles.document import TaskShape
    from pytest_agentbench.taskfiles.rowscope import Reporter
    from pytest_agentbench.taskfiles.trees import Trees
    from pytest_agentbench.taskfiles.yamlnodes import DataPath, Document

Validate: TypeAlias = Callable[[OracleSpec], "list[tuple[tuple[str | int, ...], str]]"]

_VERBS = ("must ", "needs ", "names ", "holds ", "takes ")
_TREE_KINDS = frozenset({"pytest"})
"""Kinds whose value names files; that of the others is passed on as it stands."""


def validate_by_registry(spec: OracleSpec) -> list[tuple[tuple[str | int, ...], str]]:
    """What the oracle's own class says is wrong with an entry."""
    return oracle_class(spec.kind)().validate(spec)


class OracleEntries:
    """Builds the oracles of the tasks of one file."""

    def __init__(self, path: Path, document: Document, validate: Validate) -> None:
        self._path = path
        self._document = document
        self._askedate = validate
        self._asked: set[int] = set()
        self._common = OracleShape.keys()

    def specs(
        self,
        task: TaskShape,
        data: Mapping[str, JsonValue],
        reporter: Reporter,
        trees: Trees,
    ) -> tuple[tuple[OracleSpec, ...], list[tuple[DataPath, Path]]]:
        """The oracles of one task, and the paths that they hide, each with its place."""
        raw = cast("list[JsonValue]", data["oracles"])
        names = self._names(task.oracles, reporter)
        specs: list[OracleSpec] = []
        hidden: list[tuple[DataPath, Path]] = []
        for index, shape in enumerate(task.oracles):
            entry = _Entry(shape, ("oracles", index), reporter, trees, hidden)
            kind = self._kind(entry)
            if kind is None:
                continue
            before = len(self._document.problems)
            spec = self._spec(entry, kind, names[index], required="threshold" not in data)
            specs.append(spec)
            if len(self._document.problems) == before:
                self._check(entry, spec, raw[index])
        return tuple(specs), hidden

    def _names(self, shapes: list[OracleShape], reporter: Reporter) -> list[str]:
        """The name of each entry: its own, or its kind with a number where that is taken."""
        taken: dict[str, int] = {}
        for index, shape in enumerate(shapes):
            if not shape.has("name"):
                continue
            at = ("oracles", index, "name")
            fault = id_fault(shape.name)
            if fault is not None:
                reporter.report(at, f"the name {shape.name!r} {fault}")
            first = taken.setdefault(shape.name, index)
            if first != index:
                line, _ = self._document.place(("oracles", first, "name"))
                reporter.report(at, f"duplicate name {shape.name!r}; the first is on line {line}")
        return [
            shape.name if shape.has("name") else _free_name(_first_kind(shape), taken)
            for shape in shapes
        ]

    def _kind(self, entry: _Entry) -> str | None:
        known = oracle_kinds()
        kinds = [key for key in entry.extra if key in known]
        for key in entry.extra:
            if key in OracleShape.later:
                entry.report((key,), not_yet(key), key=True)
            elif not kinds:
                message = unknown(key, [*known, *self._common], what="oracle or key")
                entry.report((key,), message, key=True)
        if len(kinds) == 1:
            return kinds[0]
        if kinds:
            named = " and ".join(repr(kind) for kind in kinds)
            entry.report((kinds[1],), f"one entry, one kind of oracle: {named}", key=True)
        elif not entry.extra:
            entry.report((), f"an oracle needs one of: {', '.join(known)}")
        return None

    def _spec(self, entry: _Entry, kind: str, name: str, *, required: bool) -> OracleSpec:
        shape = entry.shape
        line, column = self._document.place(entry.at)
        options = {
            key: value
            for key, value in entry.extra.items()
            if key != kind and key not in OracleShape.later
        }
        value = entry.extra[kind]
        return OracleSpec(
            kind=kind,
            name=name,
            position=Position(self._path, line, column),
            expectation=entry.tree(kind, value) if kind in _TREE_KINDS else value,
            options=options,
            weight=shape.weight,
            required=shape.required if shape.has("required") else required,
            timeout_s=shape.timeout,
            assets=entry.assets(),
        )

    def _check(self, entry: _Entry, spec: OracleSpec, raw: JsonValue) -> None:
        """Ask the oracle. An entry without placeholders is the same object in every row."""
        if id(raw) in self._asked:
            return
        faults = self._askedate(spec)
        for where, message in faults:
            is_option = len(where) == 1 and where[0] != spec.kind
            entry.report(where, self._worded(spec, where, message), key=is_option)
        # As it stands in the file, which lives as long as this object does.
        if raw is value_at(self._document.data, entry.at):
            self._asked.add(id(raw))

    def _worded(self, spec: OracleSpec, where: DataPath, message: str) -> str:
        """An oracle's message with its subject; it does not know the keys of all oracles."""
        if len(where) == 1 and where[0] in spec.options and "did you mean" not in message:
            close = get_close_matches(str(where[0]), self._common, n=1, cutoff=0.75)
            if close:
                return f"unknown key {where[0]!r}; did you mean {close[0]!r}?"
        return f"{subject(where)} {message}" if message.startswith(_VERBS) else message


class _Entry:
    """One entry with its place and those who resolve and report for it."""

    def __init__(
        self,
        shape: OracleShape,
        at: DataPath,
        reporter: Reporter,
        trees: Trees,
        hidden: list[tuple[DataPath, Path]],
    ) -> None:
        self.shape = shape
        self.at = at
        self.extra = cast("dict[str, JsonValue]", shape.model_extra or {})
        self._reporter = reporter
        self._trees = trees
        self._hidden = hidden

    def report(self, where: DataPath, message: str, *, key: bool = False) -> None:
        self._reporter.report((*self.at, *where), message, key=key)

    def assets(self) -> FileTree:
        return self._hide(self._trees.of_files(self.shape.assets, (*self.at, "assets")), "assets")

    def tree(self, kind: str, value: JsonValue) -> FileTree:
        """The files that the kind's value names: a directory, one file, or a mapping."""
        at = (*self.at, kind)
        if isinstance(value, str):
            return self._on_disk(value, at)
        if not isinstance(value, dict):
            self.report((kind,), f"{kind!r} must be a path or a mapping, not {kind_of(value)}")
            return FileTree()
        try:
            shape = FilesShape.model_validate(value)
        except ValidationError as error:
            for detail in error.errors(include_url=False):
                where = (kind, *detail["loc"])
                if detail["type"] == "extra_forbidden":
                    self.report(where, unknown(str(where[-1]), FilesShape.keys()), key=True)
                else:
                    wanted = "a mapping" if where[-1] == "files" else "text"
                    given = kind_of(detail["input"])
                    self.report(where, f"{where[-1]!r} must be {wanted}, not {given}")
            return FileTree()
        tree = self._hide(self._trees.of_files(shape, at), kind)
        if tree.empty:
            self.report((kind,), f"{kind!r} names no files")
        return tree

    def _on_disk(self, text: str, at: DataPath) -> FileTree:
        path = self._trees.path(text, at, "directory or file")
        if path is None:
            return FileTree()
        self._hidden.append((at, path))
        if path.is_dir():
            return FileTree(path)
        try:
            return FileTree(files={path.name: path.read_bytes().decode("utf-8")})
        except (OSError, UnicodeDecodeError):
            self._reporter.report(at, f"{text!r} cannot be read as UTF-8 text")
            return FileTree()

    def _hide(self, tree: FileTree, key: str) -> FileTree:
        if tree.directory is not None:
            self._hidden.append(((*self.at, key), tree.directory))
        return tree


def _first_kind(shape: OracleShape) -> str:
    extra = shape.model_extra or {}
    return next((kind for kind in oracle_kinds() if kind in extra), "oracle")


def _free_name(kind: str, taken: dict[str, int]) -> str:
    name, number = kind, 1
    while name in taken:
        number += 1
        name = f"{kind}-{number}"
    taken[name] = -1
    return name
