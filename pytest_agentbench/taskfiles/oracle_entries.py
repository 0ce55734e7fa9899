"""The entries below ``oracles``: one kind each, checked by the oracle that owns the kind."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from difflib import get_close_matches
from typing import TYPE_CHECKING, TypeAlias, cast

from pydantic import ValidationError

from pytest_agentbench.errors import UsageError
from pytest_agentbench.model.task import FileTree, OracleSpec, Position
from pytest_agentbench.registry import (
    is_foreign,
    kinds_among,
    last_line,
    oracle_class,
    oracle_kinds,
)
from pytest_agentbench.taskfiles.complaints import subject, unknown
from pytest_agentbench.taskfiles.document import FilesShape
from pytest_agentbench.taskfiles.names import id_fault
from pytest_agentbench.taskfiles.taskshape import CheckShape, OracleShape, TaskShape
from pytest_agentbench.taskfiles.trees import NO_FILES
from pytest_agentbench.taskfiles.yamlnodes import kind_of, value_at

if TYPE_CHECKING:
    from pathlib import Path

    from pytest_agentbench.model.task import JsonValue
    from pytest_agentbench.taskfiles.rowscope import Reporter
    from pytest_agentbench.taskfiles.trees import Trees
    from pytest_agentbench.taskfiles.yamlnodes import DataPath, Document

Validate: TypeAlias = Callable[[OracleSpec], "list[tuple[tuple[str | int, ...], str]]"]

_VERBS = ("must ", "needs ", "names ", "holds ", "takes ", "is ")
CHECK_KINDS = ("diff", "files", "run")
"""Kinds that need no hidden files."""
_NOT_FOR_CHECKS = {
    "assets": "a check has no 'assets': it is visible, so its files belong into the workspace",
    "weight": "a check has no 'weight': the score is the oracles'",
    "required": "a check is required, unless it is 'advisory'",
    "pass_at": "a check has no 'pass_at': it passes or it does not",
}


def validate_by_registry(spec: OracleSpec) -> list[tuple[tuple[str | int, ...], str]]:
    """What the oracle's own class says is wrong with an entry."""
    kind = oracle_class(spec.kind)
    if not is_foreign(kind):
        return kind().validate(spec)
    try:
        problems = kind().validate(spec)
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # noqa: BLE001 - it would end the session, or skip the file
        return [((), f"{kind.__name__}.validate() raised {last_line(error)}")]
    given: object = problems
    if not (isinstance(given, list) and all(map(_is_problem, given))):
        return [((), f"{kind.__name__}.validate() gave no list of places and messages")]
    return problems


def _is_problem(found: object) -> bool:
    match found:
        case (tuple(), str()):
            return True
    return False


class OracleEntries:
    """Builds the oracles of the tasks of one file."""

    def __init__(self, path: Path, document: Document, validate: Validate) -> None:
        self._path = path
        self._document = document
        self._validate = validate
        self._asked: set[int] = set()

    def specs(
        self,
        task: TaskShape,
        data: Mapping[str, JsonValue],
        reporter: Reporter,
        trees: Trees,
    ) -> tuple[tuple[OracleSpec, ...], tuple[OracleSpec, ...], list[tuple[DataPath, Path]]]:
        """The checks and the oracles of one task, and the paths that they hide."""
        hidden: list[tuple[DataPath, Path]] = []
        entries = [
            _Entry(shape, (key, index), reporter, trees, hidden)
            for key, shapes in (("checks", task.checks), ("oracles", task.oracles))
            for index, shape in enumerate(shapes)
        ]
        names = self._names(entries)
        specs: list[OracleSpec] = []
        for entry, name in zip(entries, names, strict=True):
            kind = self._kind(entry)
            if kind is None:
                continue
            before = len(self._document.problems)
            spec = self._spec(entry, kind, name, required="threshold" not in data)
            specs.append(spec)
            if len(self._document.problems) == before:
                self._check(entry, spec, value_at(cast("JsonValue", data), entry.at))
        self._check_needs(entries, names)
        checks = tuple(spec for spec in specs if spec.visible)
        return checks, tuple(spec for spec in specs if not spec.visible), hidden

    def _names(self, entries: Sequence[_Entry]) -> list[str]:
        """The name of each entry: its own, or its kind with a number where that is taken."""
        taken: dict[str, DataPath] = {}
        for entry in entries:
            name = entry.shape.name
            if not entry.shape.has("name"):
                continue
            fault = id_fault(name)
            if fault is not None:
                entry.report(("name",), f"the name {name!r} {fault}")
            first = taken.setdefault(name, entry.at)
            if first != entry.at:
                line, _ = self._document.place((*first, "name"))
                entry.report(("name",), f"duplicate name {name!r}; the first is on line {line}")
        return [
            entry.shape.name if entry.shape.has("name") else _free_name(entry, taken)
            for entry in entries
        ]

    @staticmethod
    def _check_needs(entries: Sequence[_Entry], names: Sequence[str]) -> None:
        """What is needed comes before: then the needs can make no circle."""
        for position, entry in enumerate(entries):
            before = names[:position]
            for index, need in enumerate(entry.shape.needs):
                if need in before:
                    continue
                if need in names:
                    message = f"{need!r} does not come before: what is needed is judged first"
                elif before:
                    message = unknown(need, before, what="oracle")
                else:
                    message = f"unknown oracle {need!r}: none comes before"
                entry.report(("needs", index), message)

    def _kind(self, entry: _Entry) -> str | None:
        what = "check" if entry.visible else "oracle"
        kinds = [key for key in entry.extra if key in CHECK_KINDS]
        kinds = kinds if entry.visible else kinds_among(entry.extra)
        known = CHECK_KINDS if kinds or entry.visible else oracle_kinds()
        for key in entry.extra:
            if key in _later(entry):
                entry.report((key,), _later(entry)[key], key=True)
            elif not kinds and key in oracle_kinds():
                message = f"{key!r} is an oracle and no check: the agent must not see its files"
                entry.report((key,), message, key=True)
            elif not kinds:
                message = unknown(key, [*known, *entry.shape.keys()], what=f"{what} or key")
                entry.report((key,), message, key=True)
        if len(kinds) == 1:
            return self._loadable(entry, kinds[0])
        if kinds:
            named = " and ".join(repr(kind) for kind in kinds)
            entry.report((kinds[1],), f"one entry, one kind of {what}: {named}", key=True)
        elif not entry.extra:
            article = "a" if entry.visible else "an"
            entry.report((), f"{article} {what} needs one of: {', '.join(known)}")
        return None

    @staticmethod
    def _loadable(entry: _Entry, kind: str) -> str | None:
        """The kind, unless the class that somebody gives for it cannot be had."""
        try:
            oracle_class(kind)
        except UsageError as error:
            entry.report((kind,), error.what, key=True, advice=error.advice)
            return None
        return kind

    def _spec(self, entry: _Entry, kind: str, name: str, *, required: bool) -> OracleSpec:
        shape = entry.shape
        line, column = self._document.place(entry.at)
        left_out = _later(entry)
        options = {
            key: value for key, value in entry.extra.items() if key != kind and key not in left_out
        }
        value = entry.extra[kind]
        named = oracle_class(kind).names_files
        expectation = entry.tree(kind, value) if named else value
        # A check is the author's word too; the agent may know it, so it weighs nothing.
        weight, is_required, assets = 0.0, True, NO_FILES
        pass_at: float | None = None
        if isinstance(shape, OracleShape):
            weight = shape.weight
            is_required = shape.required if shape.has("required") else required
            pass_at = shape.pass_at if shape.has("pass_at") else None
            assets = entry.assets(shape)
            if shape.advisory and shape.has("required") and shape.required:
                message = "'advisory' and 'required' exclude each other"
                entry.report(("required",), message, key=True)
        return OracleSpec(
            kind=kind,
            name=name,
            position=Position(self._path, line, column),
            expectation=expectation,
            options=options,
            weight=0.0 if shape.advisory else weight,
            required=is_required and not shape.advisory,
            timeout_s=shape.timeout,
            assets=assets,
            advisory=shape.advisory,
            needs=tuple(shape.needs),
            pass_at=pass_at,
            network=shape.network == "full",
            reveal=shape.reveal if shape.has("reveal") else None,
            visible=entry.visible,
        )

    def _check(self, entry: _Entry, spec: OracleSpec, raw: JsonValue) -> None:
        """Ask the oracle. An entry without placeholders is the same object in every row."""
        if id(raw) in self._asked:
            return
        faults = self._validate(spec)
        for where, message in faults:
            is_option = len(where) == 1 and where[0] != spec.kind
            is_key = is_option or message.startswith("unknown ")
            entry.report(where, self._worded(spec, where, message), key=is_key)
        # As it stands in the file, which lives as long as this object does.
        if raw is value_at(self._document.data, entry.at):
            self._asked.add(id(raw))

    def _worded(self, spec: OracleSpec, where: DataPath, message: str) -> str:
        """An oracle's message with its subject; it does not know the keys of all oracles."""
        is_unknown = message.startswith("unknown ") and "did you mean" not in message
        if len(where) == 1 and where[0] in spec.options and is_unknown:
            close = get_close_matches(str(where[0]), OracleShape.keys(), n=1, cutoff=0.75)
            if close:
                return f"unknown key {where[0]!r}; did you mean {close[0]!r}?"
            if "; known: " in message:
                message = f"{message}; of all oracles: {', '.join(OracleShape.keys())}"
        return f"{subject(where)} {message}" if message.startswith(_VERBS) else message


class _Entry:
    """One entry with its place and those who resolve and report for it."""

    def __init__(
        self,
        shape: CheckShape,
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

    def report(self, where: DataPath, message: str, *, key: bool = False, advice: str = "") -> None:
        self._reporter.report((*self.at, *where), message, key=key, advice=advice)

    @property
    def visible(self) -> bool:
        """Whether it is a check."""
        return self.at[0] == "checks"

    def assets(self, shape: OracleShape) -> FileTree:
        return self._hide(self._trees.of_files(shape.assets, (*self.at, "assets")), "assets")

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


def _later(entry: _Entry) -> Mapping[str, str]:
    """Keys that an entry may not have, each with why."""
    return _NOT_FOR_CHECKS if entry.visible else {}


def _first_kind(shape: CheckShape) -> str:
    return next(iter(sorted(kinds_among(shape.model_extra or {}))), "oracle")


def _free_name(entry: _Entry, taken: dict[str, DataPath]) -> str:
    kind = _first_kind(entry.shape)
    name, number = kind, 1
    while name in taken:
        number += 1
        name = f"{kind}-{number}"
    taken[name] = entry.at
    return name
