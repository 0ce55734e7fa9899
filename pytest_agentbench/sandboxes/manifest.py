"""What stands below a directory, and how it differs from a template.

Found in this process and on raw bytes: names need not be UTF-8, nothing that the
workspace configures (git filters, hooks, ignore files) has a say, and no symlink
is followed.
"""

from __future__ import annotations

import errno
import hashlib
import os
import stat
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeAlias

from pytest_agentbench.model.digest import digest_bytes
from pytest_agentbench.model.run import (
    Change,
    ChangeKind,
    Changes,
    Entry,
    EntryKind,
    Manifest,
)
from pytest_agentbench.sandboxes.beneath import open_regular, root_of
from pytest_agentbench.sandboxes.links import leaves

_DIRECTORY = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_MAX_DEPTH = 128
"""Directories within directories; each level holds a descriptor while it is read."""
_CHUNK = 1 << 20


@dataclass(slots=True)
class Listing:
    """All that was found below a directory.

    ``targets`` are the symlinks'; ``faults`` say what could not be read, and why.
    ``known``: only files that may be equal to one of these are digested. ``ours``:
    what cannot be read is made readable; a user's own files are never touched, and
    ``identities`` holds their devices and inodes.
    """

    entries: dict[bytes, Entry] = field(default_factory=dict)
    targets: dict[bytes, bytes] = field(default_factory=dict)
    faults: dict[bytes, str] = field(default_factory=dict)
    known: Manifest | None = None
    ours: bool = True
    identities: dict[bytes, tuple[int, int]] = field(default_factory=dict)

    def wants(self, path: bytes, size: int) -> bool:
        """Whether a file's digest is needed by anybody.

        An agent's file may be of any size: to read a sparse one of 400 GB kept a
        trial busy for minutes, to learn that it differs from nothing.
        """
        if self.known is None:
            return True
        known = self.known.get(path)
        return known is not None and known.kind is EntryKind.FILE and known.size == size


def scan(root: Path, known: Manifest | None = None, *, ours: bool = True) -> Listing:
    """List a directory that nobody writes to any more. Raises ``OSError`` for the root itself.

    With ``known``, other files than those of the same path and size have no digest.
    Without ``ours``, what cannot be read is a fault, and nothing is digested.
    """
    listing = Listing(known=known if ours else {}, ours=ours)
    with root_of(root) as fd:
        _walk(fd, b"", 0, listing)
    return listing


def compare(
    template: Manifest,
    root: Path,
    *,
    inside: bytes | None = None,
    shown: Sequence[bytes] = (),
) -> Changes:
    """How a workspace differs from its template, lines not counted.

    ``inside`` is the path of the workspace as programs in the sandbox see it,
    where a later sandbox has it at the same place: absolute links below it stay,
    and those to ``shown``, which every sandbox shows read-only. No file is read
    that is not of the template's size.
    """
    try:
        _open_up(root)
        listing = scan(root, template)
    except OSError as fault:
        # The workspace itself was removed, or replaced by a file or a symlink.
        listing = Listing(faults={b".": f"the workspace is gone: {fault.strerror}"})
    dropped = dict(listing.faults)
    for path, target in listing.targets.items():
        if why := leaves(path, target, listing.targets, inside, shown):
            dropped[path] = why
    for path, entry in listing.entries.items():
        if entry.kind is EntryKind.OTHER:
            dropped[path] = "a socket, device or FIFO"
    kept = {path: entry for path, entry in listing.entries.items() if path not in dropped}
    return Changes(
        root=root,
        changes=tuple(_changes(template, kept)),
        dropped={
            path.decode("utf-8", "backslashreplace"): dropped[path] for path in sorted(dropped)
        },
    )


def _open_up(root: Path) -> None:
    """Make a directory ours to read again: an agent that closes its workspace keeps it."""
    mode = os.lstat(root).st_mode
    if stat.S_ISDIR(mode) and mode & stat.S_IRWXU != stat.S_IRWXU:
        root.chmod(0o700)


def _changes(template: Manifest, now: Manifest) -> list[Change]:
    changes = []
    for path in sorted(template.keys() | now.keys()):
        old, new = template.get(path), now.get(path)
        if old == new:
            continue
        if old is None:
            changes.append(Change(path, ChangeKind.ADDED, new))
        elif new is None:
            changes.append(Change(path, ChangeKind.DELETED, None))
        else:
            changes.append(Change(path, ChangeKind.MODIFIED, new))
    return changes


def _walk(fd: int, prefix: bytes, depth: int, listing: Listing) -> None:
    for name in sorted(map(os.fsencode, os.listdir(fd))):
        path = prefix + name
        about = os.stat(name, dir_fd=fd, follow_symlinks=False)
        if not listing.ours:
            listing.identities[path] = (about.st_dev, about.st_ino)
        try:
            reader = _READERS.get(stat.S_IFMT(about.st_mode), _other)
            listing.entries[path] = reader(fd, name, path, about, listing)
        except OSError as fault:
            listing.faults[path] = f"cannot be read: {fault.strerror or fault}"
            continue
        if stat.S_ISDIR(about.st_mode):
            if depth >= _MAX_DEPTH:
                listing.faults[path + b"/*"] = f"more than {_MAX_DEPTH} directories deep"
            else:
                _descend(fd, name, path, depth, listing)


def _descend(fd: int, name: bytes, path: bytes, depth: int, listing: Listing) -> None:
    try:
        below = _open_directory(fd, name) if listing.ours else os.open(name, _DIRECTORY, dir_fd=fd)
    except OSError as fault:
        listing.faults[path + b"/*"] = f"cannot be read: {fault.strerror}{_mode(fd, name, listing)}"
        return
    try:
        _walk(below, path + b"/", depth + 1, listing)
    except OSError as fault:
        if listing.ours:
            raise
        # It can be listed, and nothing in it looked at.
        listing.faults[path + b"/*"] = f"cannot be read: {fault.strerror}{_mode(fd, name, listing)}"
    finally:
        os.close(below)


def _mode(fd: int, name: bytes, listing: Listing) -> str:
    """The permissions of what cannot be read, where its owner has to mend them."""
    if listing.ours:
        return ""
    mode = stat.S_IMODE(os.stat(name, dir_fd=fd, follow_symlinks=False).st_mode)
    return f" (mode {mode:04o})"


def _open_directory(fd: int, name: bytes) -> int:
    try:
        below = os.open(name, _DIRECTORY, dir_fd=fd)
        os.scandir(below).close()
        if os.access(b".", os.X_OK, dir_fd=below):
            return below
        os.close(below)
    except PermissionError:
        pass
    # Its permissions are the agent's, the directory is ours by now.
    os.chmod(name, 0o700, dir_fd=fd)
    return os.open(name, _DIRECTORY, dir_fd=fd)


def _file(fd: int, name: bytes, path: bytes, about: os.stat_result, into: Listing) -> Entry:
    size, digest = about.st_size, ""
    if not into.ours and not os.access(name, os.R_OK, dir_fd=fd):
        raise PermissionError(errno.EACCES, f"Permission denied{_mode(fd, name, into)}")
    if into.wants(path, size):
        opened = open_regular(fd, name)
        try:
            digest = digest_open(opened)
        finally:
            os.close(opened)
    return Entry(EntryKind.FILE, bool(about.st_mode & stat.S_IXUSR), size, digest)


def _directory(fd: int, name: bytes, path: bytes, about: os.stat_result, _: Listing) -> Entry:
    del fd, name, path, about
    return Entry(EntryKind.DIRECTORY)


def _symlink(fd: int, name: bytes, path: bytes, about: os.stat_result, into: Listing) -> Entry:
    target = os.readlink(name, dir_fd=fd)
    into.targets[path] = target
    return Entry(EntryKind.SYMLINK, size=about.st_size, digest=digest_bytes(target))


def _other(fd: int, name: bytes, path: bytes, about: os.stat_result, _: Listing) -> Entry:
    del fd, name, path, about
    return Entry(EntryKind.OTHER)


def digest_open(fd: int) -> str:
    """The digest of an open file, a piece at a time."""
    whole = hashlib.blake2b(digest_size=16)  # as model.digest has it
    while data := os.read(fd, _CHUNK):
        whole.update(data)
    return whole.hexdigest()


_Reader: TypeAlias = Callable[[int, bytes, bytes, os.stat_result, Listing], Entry]
_READERS: dict[int, _Reader] = {
    stat.S_IFREG: _file,
    stat.S_IFDIR: _directory,
    stat.S_IFLNK: _symlink,
}
