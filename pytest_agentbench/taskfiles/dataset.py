"""The rows of a dataset: a file beside the task file or in an installed distribution."""

from __future__ import annotations

import gzip
import importlib.metadata
import stat
import zlib
from pathlib import Path

from pytest_agentbench.taskfiles.dataset_csv import read_csv
from pytest_agentbench.taskfiles.dataset_json import read_json_lines, read_json_list
from pytest_agentbench.taskfiles.dataset_rows import DatasetFault, Row, RowFaults
from pytest_agentbench.taskfiles.dataset_yaml import read_yaml

__all__ = ["DatasetFault", "Row", "RowFaults", "installed_file", "read_rows"]

LIMIT_BYTES = 1 << 30
"""Bytes of a dataset once it is unpacked; it is held in memory."""

_SUFFIXES = (".jsonl", ".csv", ".yaml", ".yml", ".json")
_PACKED = ".gz"
_MARK = b"\xef\xbb\xbf"


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
    """All rows of a file; its name says of what kind it is.

    Raises ``DatasetFault`` for the file, ``RowFaults`` for its rows.
    """
    suffix = Path(path.name.removesuffix(_PACKED)).suffix
    if suffix not in _SUFFIXES:
        kinds = f"{', '.join(_SUFFIXES[:-1])} or {_SUFFIXES[-1]}"
        raise DatasetFault(
            f"{path.name!r} is no dataset: its name must end in {kinds}, each also with {_PACKED}"
        )
    data = _unpacked(path)
    match suffix:
        case ".jsonl":
            rows = read_json_lines(path, data.removeprefix(_MARK))
        case ".csv":
            rows = read_csv(path, _text(path, data))
        case ".json":
            rows = read_json_list(path, _text(path, data))
        case _:
            rows = read_yaml(path, data)
    if not rows:
        raise DatasetFault(f"{path.name!r} has no rows")
    return rows


def _unpacked(path: Path) -> bytes:
    try:
        if not stat.S_ISREG(path.stat().st_mode):
            raise DatasetFault(f"{path.name!r} is no regular file")
        with gzip.open(path) if path.name.endswith(_PACKED) else path.open("rb") as opened:
            data = opened.read(LIMIT_BYTES + 1)
    except (OSError, EOFError, zlib.error) as error:
        detail = getattr(error, "strerror", None) or str(error)
        raise DatasetFault(f"{path.name!r} cannot be read: {detail}") from error
    if len(data) > LIMIT_BYTES:
        raise DatasetFault(f"{path.name!r} is larger than {LIMIT_BYTES:,} bytes")
    return data


def _text(path: Path, data: bytes) -> str:
    data = data.removeprefix(_MARK)
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        byte = f"byte 0x{data[error.start]:02x} of line {line}"
        raise DatasetFault(
            f"{path.name!r} cannot be read: {byte} is not UTF-8", "save it as UTF-8"
        ) from error
