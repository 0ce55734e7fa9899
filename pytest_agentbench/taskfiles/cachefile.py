"""Parsed task files kept between sessions: one file of JSON lines for each root directory.

A kept document is found by the digest of its file's bytes, so nothing can be out of
date. Whatever is wrong with the file on disk only means that something is parsed
again: it is read if it is ours alone, each line has a checksum, and nothing here
raises. It is as trustworthy as Python's own bytecode files, which lie as open to
whoever has the user's rights.
"""

from __future__ import annotations

import hashlib
import json
import os
import secrets
import stat
import sys
import time
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, cast

import yaml

from pytest_agentbench.taskfiles.spots import HEAD, Spots

if TYPE_CHECKING:
    from collections.abc import Iterable

    from pytest_agentbench.model.task import JsonValue

WORTH_BYTES = 16 << 10
"""Text that is parsed faster than the file would be written: not kept."""
MOST_BYTES = 64 << 20
"""Size of one file; what was used longest ago is dropped."""
MOST_FILES = 200
KEPT_DAYS = 30
"""How long what is not used stays."""
REFRESHED_DAYS = 7
"""How old the noted day of the last use may get; noting it each day would cost a write each."""

_DAY_S = 86_400
_DIGEST_BYTES = 20
_SUM_BYTES = 16
_SUFFIX = ".jsonl"
_SEMANTICS = ("yamlnodes.py", "yamldocument.py", "scalars.py", "spots.py", "cachefile.py")
"""Modules that decide what a file's bytes mean here: another one of them, another cache."""

# ["DIGEST","CHECKSUM",DAY,[DATA,SPOTS]], all before DATA of one width: looked up without parsing.
_HEX = 2 * _DIGEST_BYTES
_SUM = slice(5 + _HEX, 5 + _HEX + 2 * _SUM_BYTES)
_DAY = slice(_SUM.stop + 2, _SUM.stop + 7)
_BODY = _DAY.stop + 1


class Kept(NamedTuple):
    """What composing YAML costs to find out."""

    data: dict[str, JsonValue]
    spots: Spots


def digest_of(raw: bytes) -> str:
    """The name under which the document of some bytes is kept."""
    return hashlib.blake2b(raw, digest_size=_DIGEST_BYTES).hexdigest()


class CacheFile:
    """The kept documents of one root directory; without a path, of none."""

    def __init__(self, path: Path | None, *, today: int | None = None) -> None:
        """``today`` is a day, counted since 1970."""
        self._path = path
        self._today = int(time.time()) // _DAY_S if today is None else today
        self._lines: dict[str, bytes] | None = None
        self._used: set[str] = set()
        self._new_bytes = 0
        self._stale = False

    @classmethod
    def of(cls, rootdir: Path, cache: Path | None) -> CacheFile:
        """The file of a root directory, in a user's cache directory; None: nothing is kept."""
        if cache is None:
            return cls(None)
        name = digest_of(os.fsencode(rootdir) + b"\0" + _semantics())
        return cls(cache / "parsed" / f"{name}{_SUFFIX}")

    def get(self, digest: str) -> Kept | None:
        """The document of the bytes with that digest; None where it is not kept whole."""
        if self._path is None:
            return None
        if self._lines is None:
            self._lines = {line[2 : 2 + _HEX].decode("latin-1"): line for line in self._read()}
        line = self._lines.get(digest)
        if line is None:
            return None
        kept = _unpacked(digest, line)
        if kept is None:
            del self._lines[digest]
            return None
        self._used.add(digest)
        self._stale = self._stale or _day_of(line) < self._today - REFRESHED_DAYS
        return kept

    def put(self, digest: str, kept: Kept, size_bytes: int) -> None:
        """Keep the document of a text of that size. What JSON cannot say is not kept."""
        if self._path is None:
            return
        try:
            body = json.dumps(kept, allow_nan=False, separators=(",", ":")).encode("ascii")
        except (ValueError, RecursionError):  # a number of more digits than Python writes
            return
        if self._lines is None:
            self._lines = {}
        self._lines[digest] = _line(digest, self._today, body)
        self._used.add(digest)
        self._new_bytes += size_bytes

    def save(self) -> None:
        """Write the file if that is worth it; another session's newer one is overwritten."""
        lines, path = self._lines, self._path
        if path is None or not lines or (self._new_bytes < WORTH_BYTES and not self._stale):
            return
        with suppress(OSError):
            if _is_own_directory(path.parent):
                _replace(path, b"".join(self._worth_keeping(lines)))
                _tidy(path.parent, self._today)
        self._new_bytes, self._stale = 0, False

    def _worth_keeping(self, lines: dict[str, bytes]) -> Iterable[bytes]:
        """The lines that were used lately, the latest first, as many as there is room for."""
        rows = []
        for digest, line in lines.items():
            if digest in self._used:
                rows.append(
                    (self._today, line[: _DAY.start] + _digits(self._today) + line[_DAY.stop :])
                )
            elif self._today - KEPT_DAYS <= (day := _day_of(line)) <= self._today:
                rows.append((day, line))
        rows.sort(key=lambda row: -row[0])
        size_bytes = 0
        for _, line in rows:
            size_bytes += len(line) + 1
            if size_bytes > MOST_BYTES:
                return
            yield line + b"\n"

    def _read(self) -> list[bytes]:
        """The lines of the file; none if it is somebody else's or others may write to it."""
        flags = os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK | os.O_NOFOLLOW
        try:
            handle = os.open(cast("Path", self._path), flags)
            with open(handle, "rb") as stream:  # noqa: PTH123 - pathlib opens no descriptors
                status = os.fstat(handle)
                if not (stat.S_ISREG(status.st_mode) and _is_own(status)):
                    return []
                if status.st_size > MOST_BYTES:
                    return []
                return stream.read(MOST_BYTES).split(b"\n")
        except OSError:
            return []


def _line(digest: str, day: int, body: bytes) -> bytes:
    head = f'["{digest}","{_checksum(digest, body)}",'.encode()
    return head + _digits(day) + b"," + body + b"]"


def _unpacked(digest: str, line: bytes) -> Kept | None:
    """What a line holds; None if it is not as it was written."""
    body = line[_BODY:-1]
    if line[_SUM] != _checksum(digest, body).encode():
        return None
    try:
        data, spots = json.loads(body)
    except (ValueError, TypeError, RecursionError):
        return None
    if isinstance(data, dict) and isinstance(spots, list) and spots[HEAD - 1 :][:1] == [len(spots)]:
        return Kept(data, spots)
    return None


def _checksum(digest: str, body: bytes) -> str:
    return hashlib.blake2b(body, digest_size=_SUM_BYTES, key=digest.encode()).hexdigest()


def _digits(day: int) -> bytes:
    return b"%05d" % day


def _day_of(line: bytes) -> int:
    """When a line was used; long ago if it does not say so."""
    digits = line[_DAY]
    return int(digits) if digits.isdigit() else 0


def _semantics() -> bytes:
    """What else than its bytes decides what a task file means."""
    here = Path(__file__).parent
    parts = [f"{sys.version_info[:2]} {yaml.__version__} {yaml.__with_libyaml__}".encode()]
    for name in _SEMANTICS:
        with suppress(OSError):  # a zipped package
            parts.append((here / name).read_bytes())
    return b"\0".join(parts)


def _is_own(status: os.stat_result) -> bool:
    return status.st_uid == os.geteuid() and not status.st_mode & (stat.S_IWGRP | stat.S_IWOTH)


def _is_own_directory(directory: Path) -> bool:
    """Whether it is there, made if need be, and nobody else writes to it. Raises ``OSError``."""
    # With sudo, HOME may be another user's: no files of root's are left there.
    nearest = next(one for one in (directory, *directory.parents) if one.exists())
    if nearest.stat().st_uid != os.geteuid():
        return False
    directory.parent.mkdir(parents=True, exist_ok=True)
    directory.mkdir(mode=0o700, exist_ok=True)
    status = directory.lstat()
    return stat.S_ISDIR(status.st_mode) and _is_own(status)


def _replace(path: Path, data: bytes) -> None:
    """Write a file in one step: readers see the old one or the new one. Raises ``OSError``."""
    temporary = path.with_name(f".{path.stem}.{secrets.token_hex(6)}.tmp")
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
    try:
        handle = os.open(temporary, flags, 0o600)
        with open(handle, "wb") as stream:  # noqa: PTH123 - pathlib opens no descriptors
            stream.write(data)
        temporary.replace(path)
    except OSError:
        with suppress(OSError):
            temporary.unlink()
        raise


def _tidy(directory: Path, today: int) -> None:
    """Remove the files of root directories that nobody works in any more. Raises ``OSError``."""
    files = [(one.stat().st_mtime, Path(one)) for one in os.scandir(directory)]
    files.sort(key=lambda row: -row[0])
    for place, (changed_s, path) in enumerate(files):
        days = today - changed_s / _DAY_S
        halves = path.suffix == ".tmp" and days > 1
        if halves or (path.suffix == _SUFFIX and (days > KEPT_DAYS or place >= MOST_FILES)):
            path.unlink(missing_ok=True)
