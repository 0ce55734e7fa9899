"""What an agent changed, as one tar file: what a trial can be scored again from.

``files/`` holds what was added or modified, ``deleted`` the deleted paths, each
ended by a NUL.
"""

from __future__ import annotations

import os
import tarfile
from contextlib import nullcontext
from dataclasses import dataclass
from io import BytesIO
from typing import TYPE_CHECKING

from pytest_agentbench.model.run import Change, ChangeKind, Changes, EntryKind
from pytest_agentbench.sandboxes.beneath import directory_below, parts_of, read_below, root_of

if TYPE_CHECKING:
    from pytest_agentbench.redaction import Redactor

_NAMED = 5
_WHOLE = 1 << 40
"""No limit to a file: their sum is limited before any is read."""


@dataclass(frozen=True, slots=True)
class Delta:
    """A tar file, empty when there is none, and what must be known about it."""

    data: bytes = b""
    diagnostics: tuple[str, ...] = ()


def pack_delta(changes: Changes, *, redactor: Redactor, limit: int) -> Delta:
    """The changes as a tar file: the same bytes for the same changes. Raises ``OSError``.

    Above ``limit`` bytes of contents there is none. A secret in it is replaced, in names
    too: a leak cannot be undone, and a trial can be run again. It can be laid over the
    template all the same; the diagnostics say where it is not what was scored. What is
    compressed, or git's own, is not looked into.
    """
    if not changes.changes:
        return Delta()
    size = sum(change.entry.size for change in changes.changes if change.entry)
    if size > limit:
        said = f"changes.tar was not kept: {size:,} bytes are more than {limit:,}"
        return Delta(diagnostics=(f"{said}; this trial cannot be scored again",))
    target = BytesIO()
    touched: list[str] = []
    # An agent without walls may have removed its whole workspace: deletions need no root.
    kept = any(change.entry is not None for change in changes.changes)
    with (
        root_of(changes.root) if kept else nullcontext(-1) as root,
        tarfile.open(fileobj=target, mode="w", format=tarfile.PAX_FORMAT) as tar,
    ):
        deleted = [one.path + b"\0" for one in changes.changes if one.kind is ChangeKind.DELETED]
        if deleted:
            member = tarfile.TarInfo("deleted")
            if _add(tar, member, b"".join(deleted), redactor):
                touched.append("the names of deleted files")
        touched += [
            redactor.text(change.name)
            for change in changes.changes
            if change.entry is not None and _add_entry(tar, root, change, redactor)
        ]
    return Delta(target.getvalue(), (_told(touched),) if touched else ())


def _told(touched: list[str]) -> str:
    more = len(touched) - _NAMED
    named = ", ".join(touched[:_NAMED]) + (f" and {more} more" if more > 0 else "")
    return f"changes.tar held a secret, now replaced: it is not quite what was scored ({named})"


def _add_entry(tar: tarfile.TarFile, root: int, change: Change, redactor: Redactor) -> bool:
    """Add what stands at a path now; an agent made it, so no symlink is followed."""
    member = tarfile.TarInfo("files/" + os.fsdecode(change.path))
    entry = change.entry
    if entry is None or entry.kind is EntryKind.OTHER:
        return False
    data = b""
    member.mode = 0o755 if entry.executable or entry.kind is EntryKind.DIRECTORY else 0o644
    if entry.kind is EntryKind.DIRECTORY:
        member.type = tarfile.DIRTYPE
    elif entry.kind is EntryKind.SYMLINK:
        member.type = tarfile.SYMTYPE
        *above, name = parts_of(change.path)
        with directory_below(root, above) as parent:
            member.linkname = os.fsdecode(os.readlink(name, dir_fd=parent))
    else:
        data = read_below(root, change.path, _WHOLE) or b""
    return _add(tar, member, data, redactor)


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
