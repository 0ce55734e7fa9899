"""The paths that a task file names, found also in a file that is wrong."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_agentbench.taskfiles import parsed
from pytest_agentbench.taskfiles.paths import is_below
from pytest_agentbench.taskfiles.placeholders import before_placeholder
from pytest_agentbench.taskfiles.yamlnodes import value_at

if TYPE_CHECKING:
    from pytest_agentbench.model.task import JsonValue
    from pytest_agentbench.taskfiles.yamlnodes import DataPath

_NAMING_LINE = re.compile(
    r"(?m)^[ \t-]*[{]?[ \t]*(?:workspace|copy|patch|pytest|assets|solution|prompt_file|path)[ \t]*:"
    r"[ \t]*(?:\{[ \t]*(?:copy|patch|run)[ \t]*:[ \t]*)?['\"]?(?P<path>[^\s'\"#{}\[\],|>&*!]+)"
)


def named_paths(file: Path, rootdir: Path) -> list[Path]:
    """Absolute paths; never raises. Never one that holds the file itself.

    They lie below the file's directory, but for datasets and local repositories. A task
    may start from a commit of the very project that it belongs to.
    """
    document = parsed.peek(file, rootdir)
    data = document.data
    if isinstance(data, dict):
        texts = [text for _, text in naming_places(data)]
    else:
        texts = [found["path"] for found in _NAMING_LINE.finditer(document.text)]
    fixed = (fixed_part(text) for text in texts)
    paths = [file.parent / text for text in fixed if text and "\0" not in text]
    return [path for path in paths if not is_below(str(file), os.path.normpath(path))]


def fixed_part(text: str) -> str:
    """The directory that a path with placeholders surely lies in; empty when there is none."""
    before = before_placeholder(text)
    return before if before == text else before.rpartition("/")[0]


def naming_places(data: dict[str, JsonValue]) -> Iterator[tuple[DataPath, str]]:
    """Each text of a task file that names a path beside it, and where it stands."""
    yield from _texts(data, ("prompt_file",))
    yield from _texts(data, ("workspace",), "copy", "patch")
    yield from _texts(data, ("workspace", "git"), "url")
    yield from _texts(data, ("solution",), "path", "patch", "copy", "run")
    dataset = data.get("dataset")
    if isinstance(dataset, dict) and "package" not in dataset:
        yield from _texts(data, ("dataset", "path"))
    for control in _entries(data, "controls"):
        for key in ("copy", "patch", "run"):
            yield from _texts(data, (*control, key))
    for oracle in _entries(data, "oracles"):
        yield from _texts(data, (*oracle, "pytest"), "copy")
        yield from _texts(data, (*oracle, "assets"), "copy")


def _entries(data: dict[str, JsonValue], key: str) -> Iterator[DataPath]:
    """The places of a list's entries that are mappings."""
    entries = data.get(key)
    for index, entry in enumerate(entries if isinstance(entries, list) else ()):
        if isinstance(entry, dict):
            yield key, index


def _texts(data: JsonValue, at: DataPath, *keys: str) -> Iterator[tuple[DataPath, str]]:
    """The text at a place, or what a mapping there has under the keys."""
    value = value_at(data, at)
    if isinstance(value, str):
        yield at, value
    elif isinstance(value, dict):
        for key in keys:
            yield from _texts(data, (*at, key))
