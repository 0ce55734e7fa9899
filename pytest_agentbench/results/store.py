"""``records.jsonl``: appending one line a trial, and reading them back.

One record, one line, one write. Not synced to the disk record by record: a crash
of this process loses nothing that was written, and a power cut is not worth some
milliseconds a trial.
"""

from __future__ import annotations

import json
import os
from contextlib import suppress
from typing import TYPE_CHECKING

from pydantic import ValidationError
from pydantic_core import PydanticSerializationError

from pytest_agentbench.errors import Problem, StoreError
from pytest_agentbench.model.record import SCHEMA_VERSION, Record
from pytest_agentbench.results.atomic import PRIVATE_FILE

if TYPE_CHECKING:
    from pathlib import Path

_FLAGS = os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC

_EXCERPT_LENGTH = 80


class RecordStore:
    """Appends records to one file. For the controlling process alone."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._handle: int | None = None
        self._torn = False

    def append(self, record: Record) -> None:
        """Write one line. Raises ``StoreError``; the file then ends as it did before, if it can."""
        line = encode_record(record)
        try:
            handle = self._opened()
            self._write(handle, b"\n" + line if self._torn else line)
        except OSError as error:
            raise StoreError(
                f"the record of {record.key} cannot be written: {error.strerror}",
                where=str(self._path),
                advice="free some space, or name another directory with --agentbench-results",
            ) from error

    @property
    def deleted(self) -> bool:
        """Whether the file was deleted under us: all in it would be gone with the descriptor."""
        return self._handle is not None and os.fstat(self._handle).st_nlink == 0

    def close(self) -> None:
        """Let go of the file. Idempotent; a later ``append`` opens it again."""
        if self._handle is not None:
            with suppress(OSError):
                os.close(self._handle)
            self._handle = None

    def _opened(self) -> int:
        if self._handle is None:
            self._handle = os.open(self._path, _FLAGS, PRIVATE_FILE)
            size = os.fstat(self._handle).st_size
            # A process that was killed may have left half a line: it must not eat the next.
            self._torn = size > 0 and os.pread(self._handle, 1, size - 1) != b"\n"
        return self._handle

    def _write(self, handle: int, line: bytes) -> None:
        before = os.fstat(handle).st_size
        written = 0
        try:
            # A full disk takes the part that still fits, and says so at the next write.
            while written < len(line):
                written += os.write(handle, line[written:])
        except OSError:
            if written:
                self._cut_back(handle, before)
            raise
        self._torn = False

    def _cut_back(self, handle: int, size: int) -> None:
        try:
            os.ftruncate(handle, size)
        except OSError:
            self._torn = True


def encode_record(record: Record) -> bytes:
    """A record as its line in the file, line feed included."""
    try:
        return record.model_dump_json().encode() + b"\n"
    except PydanticSerializationError:
        # Half a character (a lone surrogate) must not cost a paid trial its record.
        text = json.dumps(record.model_dump(mode="json"), ensure_ascii=False, allow_nan=False)
        return text.encode("utf-8", "replace") + b"\n"


def read_records(path: Path) -> tuple[list[Record], list[Problem]]:
    """All whole records of a file, and a problem for each line that is none.

    A file that does not exist holds no records. Raises ``StoreError`` where the
    file cannot be read, or was written by a version that we cannot read.
    """
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        return [], []
    except OSError as error:
        raise StoreError(f"cannot be read: {error.strerror}", where=str(path)) from error
    records: list[Record] = []
    problems: list[Problem] = []
    lines = data.split(b"\n")
    torn = lines.pop()
    for number, line in enumerate(lines, start=1):
        found = _decode(line, path, number)
        if isinstance(found, Record):
            records.append(found)
        else:
            problems.append(found)
    if torn:
        message = "the last line was not written to its end; its trial has no record"
        problems.append(_problem(path, len(lines) + 1, torn, message))
    return records, problems


def _decode(line: bytes, path: Path, number: int) -> Record | Problem:
    try:
        row = json.loads(line)
    except ValueError as error:
        return _problem(path, number, line, f"not a line of JSON: {error}")
    version = row.get("schema_version") if isinstance(row, dict) else None
    if type(version) is not int:
        return _problem(path, number, line, "not a record: no schema_version")
    if version != SCHEMA_VERSION:
        raise StoreError(
            f"schema version {version} is not known here (known: {SCHEMA_VERSION})",
            where=f"{path}:{number}",
            advice="read it with the version of pytest-agentbench that manifest.json names",
        )
    try:
        return Record.model_validate_json(line)
    except ValidationError as error:
        wrong = "; ".join(
            f"{'.'.join(map(str, one['loc'])) or 'record'}: {one['msg']}"
            for one in error.errors(include_url=False, include_input=False)
        )
        return _problem(path, number, line, f"not a record: {wrong}")


def _problem(path: Path, number: int, line: bytes, message: str) -> Problem:
    excerpt = line[:_EXCERPT_LENGTH].decode("utf-8", "backslashreplace")
    return Problem(path=path, line=number, column=0, message=message, excerpt=excerpt)
