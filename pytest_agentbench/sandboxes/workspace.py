"""Workspaces on disk: a template built once, copies of it, and changes laid over a copy."""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import TypeAlias

from pytest_agentbench.errors import SandboxError, SetupError
from pytest_agentbench.model.contracts import Template
from pytest_agentbench.model.digest import digest_value
from pytest_agentbench.model.run import Changes, Entry, EntryKind, Manifest
from pytest_agentbench.model.task import Blob, FileTree
from pytest_agentbench.sandboxes.area import WorkArea, reap_stale, remove_tree
from pytest_agentbench.sandboxes.beneath import (
    create,
    directory_below,
    make_directory,
    open_regular,
    parts_of,
    remove_entry,
    root_of,
    write_below,
)
from pytest_agentbench.sandboxes.hidden import identities
from pytest_agentbench.sandboxes.links import leaves
from pytest_agentbench.sandboxes.manifest import Listing, scan

__all__ = [
    "WorkArea",
    "apply_changes",
    "build_template",
    "copy_template",
    "reap_stale",
    "remove_tree",
]

_PIECE = 1 << 20

Stopped: TypeAlias = Callable[[], bool]
"""Asked by what may take long, between two pieces of work, whether to give up."""


def never() -> bool:
    """Go on to the end."""
    return False


def build_template(
    files: FileTree | Mapping[str, Blob],
    directory: Path,
    *,
    hidden: Iterable[Path] = (),
    where: str = "",
) -> Template:
    """Lay out a task's workspace in ``directory``, which is empty or does not exist yet.

    Nothing that is, or lies below, one of ``hidden`` may come along, by no link.
    Raises ``SetupError`` that names the path.
    """
    if isinstance(files, FileTree):
        lay_tree(files, directory, identities(hidden), where=where)
    else:
        _laying(lambda root: _lay_blobs(files, root, where), directory, where)
    listing = list_template(directory, where=where)
    return Template(directory, listing.entries, manifest_digest(listing.entries))


def lay_tree(
    tree: FileTree,
    directory: Path,
    hidden: frozenset[tuple[int, int]],
    *,
    where: str,
    stopped: Stopped = never,
) -> tuple[bytes, ...]:
    """Lay files over what is in ``directory``; return the paths of what is no directory.

    A file may replace a file or a symlink, and nothing else. ``hidden`` are
    identities that must not come along. Raises ``SetupError`` that names the path.
    """
    laid: list[bytes] = []

    def lay(root: int) -> None:
        if tree.directory is not None:
            laid.extend(_copy_source(tree.directory, root, hidden, where, stopped))
        inline = {name: _blob(text) for name, text in tree.files.items()}
        _lay_blobs(inline, root, where)
        laid.extend(map(os.fsencode, inline))

    _laying(lay, directory, where)
    return tuple(dict.fromkeys(laid))


def list_template(directory: Path, *, where: str) -> Listing:
    """All that is in a template. Raises ``SetupError`` for what cannot be carried over."""
    try:
        listing = scan(directory)
    except OSError as fault:
        raise SetupError(f"the workspace cannot be built: {fault}", where=where) from fault
    _refuse(listing, where)
    return listing


def _laying(lay: Callable[[int], None], directory: Path, where: str) -> None:
    try:
        directory.mkdir(parents=True, exist_ok=True)
        with root_of(directory) as root:
            lay(root)
    except (OSError, ValueError) as fault:
        raise SetupError(f"the workspace cannot be built: {fault}", where=where) from fault
    except SandboxError as fault:
        raise SetupError(fault.what, where=where) from fault


def manifest_digest(manifest: Manifest) -> str:
    """One digest for all names, kinds, executable bits and contents of a tree."""
    rows = [
        [path.hex(), str(entry.kind), entry.executable, entry.digest]
        for path, entry in sorted(manifest.items())
    ]
    return digest_value(rows)


def copy_template(template: Template, directory: Path, *, stopped: Stopped = never) -> None:
    """A copy of a template in an empty directory. Raises ``SandboxError``."""
    try:
        with root_of(template.directory) as source, root_of(directory) as target:
            _copy_entries(template.manifest, source, target, stopped)
    except OSError as fault:
        raise SandboxError(f"the template cannot be copied: {fault}") from fault


def apply_changes(changes: Changes, directory: Path, *, stopped: Stopped = never) -> None:
    """Lay changes over a fresh copy of the template that they were found against.

    No symlink is followed, on either side. Where all was deleted, their root need
    not be there any more. Raises ``SandboxError``.
    """
    left = [(change.path, change.entry) for change in changes.changes if change.entry is not None]
    try:
        with root_of(directory) as target:
            for change in reversed(changes.changes):
                if change.entry is None:
                    _delete(target, change.path)
            if not left:
                return
            with root_of(changes.root) as source:
                for path, entry in left:
                    _place(source, target, path, entry, stopped)
    except (OSError, ValueError) as fault:
        raise SandboxError(f"the agent's changes cannot be laid over a copy: {fault}") from fault


def _blob(text: str) -> Blob:
    # As for inline assets: a script is meant to be run.
    return Blob(text.encode("utf-8"), executable=text.startswith("#!"))


def _copy_source(
    source: Path, root: int, hidden: frozenset[tuple[int, int]], where: str, stopped: Stopped
) -> list[bytes]:
    real = source.resolve(strict=True)
    # Never made readable: these are the user's own files.
    listing = scan(real, ours=False)
    _refuse(listing, where)
    for path, identity in listing.identities.items():
        if identity in hidden:
            raise SetupError(
                f"{_show(path)} would show the agent a file that it must not see",
                where=where,
                advice="keep oracles, solutions and task files outside the workspace",
            )
    with root_of(real) as fd:
        kinds = {path: entry.kind for path, entry in listing.entries.items()}
        fresh = _make_way(kinds, root, where)
        entries = {path: listing.entries[path] for path in fresh}
        _copy_entries(entries, fd, root, stopped)
    return [path for path, kind in kinds.items() if kind is not EntryKind.DIRECTORY]


def _lay_blobs(files: Mapping[str, Blob], root: int, where: str) -> None:
    kinds = {os.fsencode(name): EntryKind.FILE for name in files}
    for path in tuple(kinds):
        above, _, _ = path.rpartition(b"/")
        while above:
            kinds.setdefault(above, EntryKind.DIRECTORY)
            above, _, _ = above.rpartition(b"/")
    _make_way(kinds, root, where)
    for name, blob in files.items():
        write_below(root, os.fsencode(name), blob.data, executable=blob.executable)


def _make_way(kinds: Mapping[bytes, EntryKind], root: int, where: str) -> list[bytes]:
    """Remove the files that others are to replace; return what is still to be made.

    Raises ``SetupError`` for a clash: whoever has a file where another layer has a
    directory meant something else.
    """
    fresh = []
    absent: set[bytes] = set()
    for path in sorted(kinds):
        above, _, name = path.rpartition(b"/")
        if above in absent:
            absent.add(path)
            fresh.append(path)
            continue
        with directory_below(root, parts_of(above) if above else []) as parent:
            there = _kind_at(parent, name)
            if there is None:
                absent.add(path)
            elif EntryKind.DIRECTORY in (there, kinds[path]):
                if there is kinds[path]:
                    continue
                raise SetupError(
                    f"{_show(path)} is a {kinds[path]} here and a {there} in what it is laid over",
                    where=where,
                    advice="rename one of them",
                )
            else:
                os.unlink(name, dir_fd=parent)
        fresh.append(path)
    return fresh


def _kind_at(parent: int, name: bytes) -> EntryKind | None:
    try:
        mode = os.stat(name, dir_fd=parent, follow_symlinks=False).st_mode
    except FileNotFoundError:
        return None
    if stat.S_ISDIR(mode):
        return EntryKind.DIRECTORY
    return EntryKind.SYMLINK if stat.S_ISLNK(mode) else EntryKind.FILE


def _refuse(listing: Listing, where: str) -> None:
    """Raise for what cannot be carried over faithfully."""
    problems = dict(listing.faults)
    for path, entry in listing.entries.items():
        if entry.kind is EntryKind.OTHER:
            problems[path] = "a socket, device or FIFO"
    for path, target in listing.targets.items():
        if why := leaves(path, target, listing.targets, None):
            problems[path] = why
    if problems:
        told = "; ".join(f"{_show(path)}: {why}" for path, why in sorted(problems.items())[:5])
        raise SetupError(f"the workspace cannot be copied: {told}", where=where)


def _copy_entries(manifest: Manifest, source: int, target: int, stopped: Stopped) -> None:
    """Copy what a manifest lists, parents before children, one open directory at a time."""
    last: list[bytes] | None = None
    from_fd = to_fd = -1
    try:
        for path in sorted(manifest):
            *above, name = path.split(b"/")
            if above != last:
                if last is not None:
                    os.close(from_fd)
                    os.close(to_fd)
                    last = None
                with directory_below(source, above) as fd, directory_below(target, above) as to:
                    from_fd, to_fd = os.dup(fd), os.dup(to)
                last = above
            _copy_entry(from_fd, to_fd, name, manifest[path], stopped)
    finally:
        if last is not None:
            os.close(from_fd)
            os.close(to_fd)


def _copy_entry(source: int, target: int, name: bytes, entry: Entry, stopped: Stopped) -> None:
    _go_on(stopped)
    match entry.kind:
        case EntryKind.DIRECTORY:
            make_directory(target, name)
        case EntryKind.SYMLINK:
            os.symlink(os.readlink(name, dir_fd=source), name, dir_fd=target)
        case EntryKind.FILE:
            _copy_file(source, target, name, entry, stopped)
        case EntryKind.OTHER:
            pass


def _go_on(stopped: Stopped) -> None:
    if stopped():
        raise SandboxError("the copy was stopped")


def _copy_file(source: int, target: int, name: bytes, entry: Entry, stopped: Stopped) -> None:
    fd = open_regular(source, name)
    try:
        big = os.fstat(fd).st_size > _PIECE
        data = b"" if big else os.read(fd, _PIECE)
        create(target, name, data, executable=entry.executable)
        if big:
            _copy_data(fd, target, name, stopped)
    finally:
        os.close(fd)


def _copy_data(fd: int, target: int, name: bytes, stopped: Stopped) -> None:
    """Copy a big file's contents, leaving holes where it has holes."""
    size = os.fstat(fd).st_size
    out = os.open(name, os.O_WRONLY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=target)
    try:
        for start, end in _extents(fd, size):
            place = start
            while place < end and (data := os.pread(fd, min(end - place, _PIECE), place)):
                _go_on(stopped)
                view = memoryview(data)
                while view:
                    count = os.pwrite(out, view, place)
                    place += count
                    view = view[count:]
        os.ftruncate(out, size)
    finally:
        os.close(out)


def _extents(fd: int, size: int) -> Iterator[tuple[int, int]]:
    """Where a file has data: beginnings and ends."""
    end = 0
    while end < size:
        try:
            start = os.lseek(fd, end, os.SEEK_DATA)
        except OSError as fault:
            if fault.errno == errno.ENXIO:  # a hole up to the end
                return
            yield end, size  # the file system does not know holes
            return
        end = os.lseek(fd, start, os.SEEK_HOLE)
        yield start, end


def _delete(target: int, path: bytes) -> None:
    *above, name = parts_of(path)
    try:
        with directory_below(target, above) as parent:
            remove_entry(parent, name)
    except (FileNotFoundError, NotADirectoryError):
        return


def _place(source: int, target: int, path: bytes, entry: Entry, stopped: Stopped) -> None:
    *above, name = parts_of(path)
    with directory_below(source, above) as from_fd, directory_below(target, above) as to_fd:
        remove_entry(to_fd, name)
        _copy_entry(from_fd, to_fd, name, entry, stopped)


def _show(path: bytes) -> str:
    return path.decode("utf-8", "backslashreplace")
