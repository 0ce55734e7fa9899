"""The rows of a dataset: JSON lines beside the task file or in an installed distribution."""

from __future__ import annotations

import gzip
import hashlib
import importlib.metadata
import json
import re
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

from pytest_agentbench.errors import Problem

if TYPE_CHECKING:
    from pytest_agentbench.model.task import JsonValue

LIMIT_BYTES = 1 << 30
"""Bytes of a dataset once it is unpacked; it is held in memory."""
_SUFFIXES = (".jsonl", ".jsonl.gz")
_SURROGATE = re.compile(rb"\\u[dD][89a-fA-F]")


@dataclass(frozen=True, slots=True)
class Row:
    """One row. ``number`` counts rows from 1, ``line`` lines of the file."""

    number: int
    line: int
    values: dict[str, JsonValue]


class DatasetFault(Exception):
    """The dataset cannot be read; ``advice`` may be empty."""

    def __init__(self, message: str, advice: str = "") -> None:
        self.message = message
        self.advice = advice
        super().__init__(message)


class RowFaults(Exception):
    """Some rows are broken."""

    def __init__(self, problems: list[Problem]) -> None:
        self.problems = problems
        super().__init__(problems)


def installed_file(package: str, name: str) -> Path:
    """Where a file of an installed distribution lies; nothing of it is imported.

    Raises ``DatasetFault``.
    """
    try:
        distribution = importlib.metadata.distribution(package)
    except (importlib.metadata.PackageNotFoundError, ValueError) as error:
        raise DatasetFault(
            f"the distribution {package!r} is not installed", f"pip install {package}"
        ) from error
    path = Path(str(distribution.locate_file(name)))
    known = any(str(file) == name for file in distribution.files or ())
    if not known and not path.is_file():
        raise DatasetFault(f"the distribution {package!r} has no file {name!r}")
    return path


def read_rows(path: Path) -> list[Row]:
    """All rows of a ``.jsonl`` or ``.jsonl.gz`` file; blank lines are no rows.

    Raises ``DatasetFault`` for the file, ``RowFaults`` for its rows.
    """
    if not path.name.endswith(_SUFFIXES):
        raise DatasetFault(f"{path.name!r} is no dataset: its name must end in .jsonl or .jsonl.gz")
    rows: list[Row] = []
    problems: list[Problem] = []
    for line, raw in enumerate(_lines(path), start=1):
        if not raw.strip():
            continue
        try:
            rows.append(Row(len(rows) + 1, line, _parse(path, line, raw)))
        except _BrokenRow as broken:
            problems.append(broken.problem)
    if problems:
        raise RowFaults(problems)
    if not rows:
        raise DatasetFault(f"{path.name!r} has no rows")
    return rows


def sampled(rows: list[Row], names: list[str], sample: int, seed: int) -> list[int]:
    """Indexes of ``sample`` rows in file order, the same ones everywhere for one seed and name."""

    def rank(index: int) -> bytes:
        text = f"{seed}\0{names[index]}".encode("utf-8", "surrogatepass")
        return hashlib.blake2b(text, digest_size=16).digest()

    return sorted(sorted(range(len(rows)), key=rank)[:sample])


class _BrokenRow(Exception):
    def __init__(self, problem: Problem) -> None:
        self.problem = problem
        super().__init__(problem)


def _lines(path: Path) -> Iterator[bytes]:
    try:
        data = path.read_bytes()
        if path.name.endswith(".gz"):
            with gzip.open(path) as unpacked:
                data = unpacked.read(LIMIT_BYTES + 1)
    except (OSError, EOFError, zlib.error) as error:
        detail = getattr(error, "strerror", None) or str(error)
        raise DatasetFault(f"{path.name!r} cannot be read: {detail}") from error
    if len(data) > LIMIT_BYTES:
        raise DatasetFault(f"{path.name!r} is larger than {LIMIT_BYTES:,} bytes")
    yield from data.removeprefix(b"\xef\xbb\xbf").split(b"\n")


def _parse(path: Path, line: int, raw: bytes) -> dict[str, JsonValue]:
    def refuse(message: str, column: int = 1) -> NoReturn:
        excerpt = raw.decode("utf-8", "replace").rstrip("\r")
        raise _BrokenRow(Problem(path, line, column, message, excerpt))

    try:
        text = raw.decode("utf-8")
        value = json.loads(text, object_pairs_hook=_without_duplicates, parse_constant=_refuse)
    except UnicodeDecodeError as error:
        refuse(f"byte {error.start} of the line (0x{raw[error.start]:02x}) is not UTF-8")
    except json.JSONDecodeError as error:
        refuse(f"not valid JSON: {error.msg}", error.colno)
    except RecursionError:
        refuse("not valid JSON: nested too deeply")
    except ValueError as error:
        refuse(f"not valid JSON: {error}")
    if not isinstance(value, dict):
        refuse("a row is a JSON object")
    if _SURROGATE.search(raw) is not None:
        try:
            json.dumps(value, ensure_ascii=False).encode("utf-8")
        except UnicodeEncodeError:
            refuse("holds half of a surrogate pair, which is not text")
    return value


def _without_duplicates(pairs: list[tuple[str, JsonValue]]) -> dict[str, JsonValue]:
    found = dict(pairs)
    if len(found) != len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise ValueError(f"duplicate key {twice!r}")
    return found


def _refuse(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is no JSON number")
