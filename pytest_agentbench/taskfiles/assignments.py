"""Settings of the command line and the ini file: paths with values, checked like a file's."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING

from pydantic import Field

from pytest_agentbench.errors import UsageError
from pytest_agentbench.redaction import printable
from pytest_agentbench.taskfiles.complaints import validate
from pytest_agentbench.taskfiles.document import Shape
from pytest_agentbench.taskfiles.experimentshape import EXPERIMENT_PLACES, DefaultsShape
from pytest_agentbench.taskfiles.layer import layer_of
from pytest_agentbench.taskfiles.names import variable_fault
from pytest_agentbench.taskfiles.yamlnodes import parse, value_at

if TYPE_CHECKING:
    from pytest_agentbench.model.task import JsonValue, SettingsLayer
    from pytest_agentbench.settings import Assignment
    from pytest_agentbench.taskfiles.yamlnodes import DataPath

_OPEN = ("env", "options", "sandbox.env")
"""Mappings whose keys the user chooses."""
_WHOLE = ("sandbox.build",)
"""Mappings that are replaced as a whole: a stage of another build means nothing."""
_LINE = re.compile(r"( while .*?)? of line \d+$|; the first is on line \d+$")
"""What a message says of lines that nobody has written."""


class SettingsShape(DefaultsShape):
    """Everything that may be set for all trials at once."""

    model: str = ""
    env: dict[str, str] = Field(default_factory=dict)
    options: dict[str, object] = Field(default_factory=dict)


def known_paths() -> list[str]:
    """Every path that may be set, those with names of the user's as ``env.NAME``."""
    return sorted(_paths(SettingsShape))


def read_assignments(assignments: Sequence[Assignment]) -> SettingsLayer:
    """One layer of settings. Raises ``UsageError`` for the first that means nothing."""
    layer: dict[str, JsonValue] = {}
    for one in assignments:
        layer |= _read(one)
    return layer


def _paths(shape: type[Shape], before: str = "") -> Iterable[str]:
    for name, field in shape.model_fields.items():
        path = f"{before}{name}"
        inner = field.annotation
        if path in _OPEN:
            yield f"{path}.NAME"
        elif path not in _WHOLE and isinstance(inner, type) and issubclass(inner, Shape):
            yield from _paths(inner, f"{path}.")
        else:
            yield path


def _read(one: Assignment) -> SettingsLayer:
    opened = next((path for path in _OPEN if one.path.startswith(f"{path}.")), None)
    if opened is None and one.path not in known_paths():
        raise UsageError(_unknown(one.path), where=one.said)
    if any("\udc80" <= letter <= "\udcff" for letter in one.text):
        raise UsageError("holds bytes that are not UTF-8", where=printable(one.said))
    name = "" if opened is None else one.path[len(opened) + 1 :]
    if opened is not None and "" in name.split("."):
        raise UsageError(f"{one.path!r} names nothing below {opened!r}", where=one.said)
    value = one.text if one.plain else _value(one)
    if opened == "options":
        return {one.path: value}
    steps = one.path.split(".") if opened is None else [*opened.split("."), name]
    data: dict[str, JsonValue] = {steps[-1]: value}
    for step in reversed(steps[:-1]):
        data = {step: data}
    complaints = _Complaints(one)
    places = {place[1:]: shape for place, shape in EXPERIMENT_PLACES.items() if "defaults" in place}
    shape = validate(SettingsShape, data, places, complaints)
    if shape is None:
        raise UsageError(f"{one.text!r} is no value of {one.path!r}", where=one.said)
    if shape.has("model"):
        return {one.path: _text(shape.model, one)}
    if opened == "env":
        fault = variable_fault(name, shape.env[name])
        if fault is not None:
            raise UsageError(f"{name!r} {fault}", where=one.said)
        return {one.path: shape.env[name]}
    return layer_of(shape, base=one.base, reporter=complaints)


def _text(text: str, one: Assignment) -> str:
    if not text.strip():
        raise UsageError(f"{one.path!r} is empty", where=one.said)
    return text


def _value(one: Assignment) -> JsonValue:
    """The value of a YAML text, by the same rules as a file's."""
    indented = "\n".join(f"  {line}" for line in one.text.split("\n"))
    raw = f"value:\n{indented}\n".encode()
    document = parse(Path(one.path), raw, what="value")
    if document.problems:
        problem = document.problems[0]
        message = _LINE.sub("", problem.message)
        raise UsageError(message, where=one.said, advice=problem.advice)
    return value_at(document.data, ("value",))


def _unknown(path: str) -> str:
    known = known_paths()
    close = get_close_matches(path, known, n=1)
    hint = f"; did you mean {close[0]!r}?" if close else ";"
    return f"unknown setting {path!r}{hint} known: {', '.join(known)}"


class _Complaints:
    """Raises what the checks of files report."""

    def __init__(self, one: Assignment) -> None:
        self._said = one.said

    def report(self, at: DataPath, message: str, *, advice: str = "", key: bool = False) -> None:
        """Refuse the value."""
        del at, key
        raise UsageError(message, where=self._said, advice=advice)
