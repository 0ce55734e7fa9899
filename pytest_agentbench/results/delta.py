"""What an agent changed, as one tar file and as text.

``changes.tar`` is what a trial can be scored again from: ``files/`` holds what
was added or modified, ``deleted`` the deleted paths, each ended by a NUL.
``changes.diff`` is for people, and leaves out what is not text or is too long.
"""

from __future__ import annotations

import difflib
import errno
import os
import stat
import tarfile
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_agentbench.model.run import Change, ChangeKind, Changes, EntryKind

if TYPE_CHECKING:
    from pytest_agentbench.redaction import Redactor

LONGEST_FILE = 2_000
"""Lines of a file, before or after, that are compared: difflib needs their product in time."""

_NOT_A_FILE = (errno.ENOENT, errno.ENOTDIR, errno.ELOOP, errno.ENXIO)
"""What opening says of a path that is gone, a symlink, or a socket."""

_LONGEST_DIFF = 500_000
_LARGEST_FILE = 200_000


@dataclass(frozen=True, slots=True)
class Delta:
    """A tar file, empty when there is none, and what must be known about it."""

    data: bytes = b""
    diagnostics: tuple[str, ...] = ()


def pack_delta(changes: Changes, *, redactor: Redactor, limit: int) -> Delta:
    """The changes as a tar file: the same bytes for the same changes. Raises ``OSError``.

    Above ``limit`` bytes of contents there is none. A secret in it is replaced,
    and then the diagnostics say that this is not quite what was scored.
    """
    if not changes.changes:
        return Delta()
    size = sum(change.entry.size for change in changes.changes if change.entry)
    if size > limit:
        said = f"changes.tar was not kept: {size:,} bytes are more than {limit:,}"
        return Delta(diagnostics=(f"{said}; this trial cannot be scored again",))
    target = BytesIO()
    secret = False
    with tarfile.open(fileobj=target, mode="w", format=tarfile.PAX_FORMAT) as tar:
        deleted = [one.path + b"\0" for one in changes.changes if one.kind is ChangeKind.DELETED]
        if deleted:
            member = tarfile.TarInfo("deleted")
            secret |= _add(tar, member, b"".join(deleted), redactor)
        for change in changes.changes:
            if change.entry is not None:
                secret |= _add_entry(tar, changes.root, change, redactor)
    said = "changes.tar held a secret, now replaced: it is not quite what was scored"
    return Delta(target.getvalue(), (said,) if secret else ())


def _add_entry(tar: tarfile.TarFile, root: Path, change: Change, redactor: Redactor) -> bool:
    member = tarfile.TarInfo("files/" + os.fsdecode(change.path))
    path = os.path.join(os.fsencode(root), change.path)  # noqa: PTH118 - bytes
    entry = change.entry
    if entry is None or entry.kind is EntryKind.OTHER:
        return False
    member.mode = 0o755 if entry.executable or entry.kind is EntryKind.DIRECTORY else 0o644
    if entry.kind is EntryKind.DIRECTORY:
        member.type = tarfile.DIRTYPE
        return _add(tar, member, b"", redactor)
    if entry.kind is EntryKind.SYMLINK:
        member.type = tarfile.SYMTYPE
        member.linkname = os.fsdecode(os.readlink(path))  # noqa: PTH115 - bytes
        return _add(tar, member, b"", redactor)
    return _add(tar, member, _read(path) or b"", redactor)


def _add(tar: tarfile.TarFile, member: tarfile.TarInfo, data: bytes, redactor: Redactor) -> bool:
    """Add a member without secrets; say whether there were any."""
    name, link, clean = (
        redactor.text(member.name),
        redactor.text(member.linkname),
        redactor.bytes(data),
    )
    secret = (name, link, clean) != (member.name, member.linkname, data)
    member.name, member.linkname, member.size = name, link, len(clean)
    tar.addfile(member, BytesIO(clean))
    return secret


def unified_diff(changes: Changes, template: Path) -> str:
    """The changes against the ``template`` directory as people read them. Raises ``OSError``."""
    parts: list[str] = []
    size = 0
    for number, change in enumerate(changes.changes):
        part = _diff(changes.root, template, change)
        size += len(part)
        if size > _LONGEST_DIFF:
            parts.append(f"[... {len(changes.changes) - number} more paths ...]\n")
            break
        parts.append(part)
    return "".join(parts)


def _diff(root: Path, template: Path, change: Change) -> str:
    kind = "deleted" if change.entry is None else change.entry.kind
    if kind is EntryKind.DIRECTORY:
        return ""
    before = _lines(template, change, present=change.kind is not ChangeKind.ADDED)
    after = _lines(root, change, present=change.entry is not None)
    if kind not in (EntryKind.FILE, "deleted") or before is None or after is None:
        return f"{change.kind}: {change.name} (not shown: not text, or too long)\n"
    if before == after:
        return f"{change.kind}: {change.name}\n"
    old = "/dev/null" if change.kind is ChangeKind.ADDED else f"a/{change.name}"
    new = "/dev/null" if change.entry is None else f"b/{change.name}"
    lines = difflib.unified_diff(before, after, old, new)
    return "".join(
        line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n" for line in lines
    )


def _lines(directory: Path, change: Change, *, present: bool) -> list[str] | None:
    """A file's lines; None for what is not shown."""
    if not present:
        return []
    path = os.path.join(os.fsencode(directory), change.path)  # noqa: PTH118 - bytes
    data = _read(path, limit=_LARGEST_FILE)
    if data is None or b"\0" in data:
        return None
    try:
        lines = data.decode().split("\n")
    except UnicodeDecodeError:
        return None
    whole = [f"{line}\n" for line in lines[:-1]] + lines[-1:]
    whole = whole if whole[-1] else whole[:-1]
    return whole if len(whole) <= LONGEST_FILE else None


def _read(path: bytes, *, limit: int | None = None) -> bytes | None:
    """A regular file's bytes; None for anything else, and for more than ``limit`` bytes.

    An agent made these paths: neither follow a symlink nor wait for a FIFO.
    """
    try:
        handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError as error:
        if error.errno in _NOT_A_FILE:
            return None
        raise
    with open(handle, "rb") as stream:  # noqa: PTH123 - a descriptor
        status = os.fstat(handle)
        if not stat.S_ISREG(status.st_mode) or (limit is not None and status.st_size > limit):
            return None
        return stream.read()
