"""What no agent may see, found in a template by identity and by content.

By identity: no link in a workspace may lead to a hidden file's inode. By content:
a repository that holds the tasks themselves, a set-up command that fetched them, an
oracle pasted into a workspace. A hidden directory has leaked when *all* its files
are there: a ``conftest.py`` or a start file that both sides have gives nothing away.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from pytest_agentbench.errors import SetupError
from pytest_agentbench.model.digest import digest_bytes
from pytest_agentbench.model.run import EntryKind, Manifest
from pytest_agentbench.model.task import Workspace
from pytest_agentbench.sandboxes.gitfresh import without_repository
from pytest_agentbench.sandboxes.gitobjects import blob_ids, object_ids

LEAST_BYTES = 64
"""Smaller files are alike by chance: an empty ``__init__.py``, a one-line answer."""
_PASSED_OVER = frozenset({"__pycache__", ".git"})
_CHUNK = 1 << 20
_ADVICE = "keep oracles, answers and task files out of what agents get"


@dataclass(frozen=True, slots=True)
class HiddenGroup:
    """One thing that is hidden: a path with all below it, or inline texts.

    ``label`` is what messages call it. ``by_content``: whether its contents give
    something away; a prompt's do not, nor a known wrong answer's. ``only_in`` is the
    one workspace in which they do: what solves one task may be where the next one
    starts.
    """

    label: str
    path: Path | None = None
    files: Mapping[str, str] = field(default_factory=dict)
    by_content: bool = True
    only_in: Workspace | None = None


class _Member:
    """One hidden file; it is read when a template has a file of its size."""

    __slots__ = ("_blob_ids", "_digest", "_source", "label", "size")

    def __init__(self, label: str, source: str | bytes, size: int) -> None:
        self.label = label
        self.size = size
        self._source = source
        self._digest: str | None = None
        self._blob_ids: tuple[bytes, ...] | None = None

    @property
    def digest(self) -> str:
        """As a manifest has it; empty where the file cannot be read any more."""
        if self._digest is None:
            self._digest = self._read()
        return self._digest

    def blob_ids(self) -> tuple[bytes, ...]:
        """Under which names git would keep the contents."""
        if self._blob_ids is None:
            try:
                self._blob_ids = blob_ids(self._bytes())
            except OSError:
                self._blob_ids = ()
        return self._blob_ids

    def _bytes(self) -> bytes:
        if isinstance(self._source, bytes):
            return self._source
        with open(self._source, "rb") as file:
            return file.read()

    def _read(self) -> str:
        if isinstance(self._source, bytes):
            return digest_bytes(self._source)
        whole = hashlib.blake2b(digest_size=16)  # as model.digest has it
        try:
            with open(self._source, "rb") as file:
                while data := file.read(_CHUNK):
                    whole.update(data)
        except OSError:
            return ""
        return whole.hexdigest()


class Hidden:
    """All that is hidden in one session; looked through once, when the first template is made."""

    def __init__(self, groups: Iterable[HiddenGroup]) -> None:
        self._groups = list(dict.fromkeys(_Key(group) for group in groups))

    @cached_property
    def identities(self) -> frozenset[tuple[int, int]]:
        """Device and inode of every hidden path, and of all below it: no link disguises those."""
        paths = {key.group.path for key in self._groups if key.group.path is not None}
        return identities(tuple(paths))

    def refuse(
        self, manifest: Manifest, directory: Path, workspace: Workspace, *, where: str
    ) -> None:
        """Raise ``SetupError`` for a template that shows what is hidden. May read files."""
        sizes: dict[int, list[bytes]] = {}
        for path, entry in manifest.items():
            if entry.kind is EntryKind.FILE:
                sizes.setdefault(entry.size, []).append(path)
        # The repository that we made holds one commit, of these very files.
        others = manifest if workspace.git is None else without_repository(manifest)
        foreign = object_ids(others, directory)
        for group, members in self._members:
            if group.only_in is not None and group.only_in != workspace:
                continue
            found = _in_files(members, sizes, manifest)
            if found is not None:
                path, member = found
                raise SetupError(
                    f"{_show(path)} shows the agent what it must not see: {member.label}"
                    f"{_whole(group, len(members))}",
                    where=where,
                    advice=_ADVICE,
                )
            if foreign and all(foreign.intersection(member.blob_ids()) for member in members):
                raise SetupError(
                    "the history of a git repository in the workspace shows the agent what it"
                    f" must not see: {members[0].label}{_whole(group, len(members))}",
                    where=where,
                    advice="workspace.git, which brings no history",
                )

    def refuse_shown(self, place: Path, *, what: str, where: str, copied: bool = False) -> None:
        """Raise ``SetupError`` for a host directory that would show a container what is hidden.

        By its place; and where it is ``copied``, by hard links that lie in it: what is built
        from it is never looked into again.
        """
        real = os.path.realpath(place)
        for key in self._groups:
            path = key.group.path
            if path is None:
                continue
            hidden = os.path.realpath(path)
            if Path(hidden).is_relative_to(real) or Path(real).is_relative_to(hidden):
                raise SetupError(
                    f"{what} would show the agent {key.group.label}", where=where, advice=_ADVICE
                )
        linked = (path for path in _files_below(real) if _identity(path) in self.identities)
        found = next(linked, None) if copied else None
        if found is not None:
            raise SetupError(
                f"{what} has {os.path.relpath(found, real)}, which is hidden from agents",
                where=where,
                advice=_ADVICE,
            )

    @cached_property
    def _members(self) -> list[tuple[HiddenGroup, list[_Member]]]:
        groups = [key.group for key in self._groups if key.group.by_content]
        return [(group, members) for group in groups if (members := list(_members_of(group)))]


def _files_below(directory: str) -> Iterator[str]:
    for here, _, names in os.walk(directory):
        for name in names:
            yield os.path.join(here, name)


def _identity(path: str) -> tuple[int, int] | None:
    try:
        about = os.lstat(path)
    except OSError:
        return None
    # One name: it is hidden where it lies, and that is looked at by its place.
    return (about.st_dev, about.st_ino) if about.st_nlink > 1 else None


def identities(paths: Iterable[Path]) -> frozenset[tuple[int, int]]:
    """Device and inode of some paths, and of all below them."""
    found: set[tuple[int, int]] = set()
    for path in paths:
        try:
            about = path.stat()
        except OSError:
            continue  # deleted meanwhile: nothing to leak
        found.add((about.st_dev, about.st_ino))
        for directory, _, names in os.walk(path):
            for name in (".", *names):
                below = os.lstat(os.path.join(directory, name))
                found.add((below.st_dev, below.st_ino))
    return frozenset(found)


class _Key:
    """A group that counts once, however many tasks of a file name it."""

    __slots__ = ("_key", "group")

    def __init__(self, group: HiddenGroup) -> None:
        self.group = group
        only_in = group.only_in
        self._key = (
            group.path,
            tuple(sorted(group.files.items())),
            group.by_content,
            None if only_in is None else repr(only_in),
        )

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Key) and self._key == other._key

    def __hash__(self) -> int:
        return hash(self._key)


def _members_of(group: HiddenGroup) -> Iterator[_Member]:
    for name, text in group.files.items():
        data = text.encode("utf-8", "surrogatepass")
        if len(data) >= LEAST_BYTES:
            yield _Member(f"{group.label}: {name}", data, len(data))
    if group.path is None:
        return
    if not group.path.is_dir():
        yield from _on_disk(str(group.path), group.label)
        return
    for directory, directories, names in os.walk(group.path):
        directories[:] = sorted(set(directories) - _PASSED_OVER)
        for name in sorted(names):
            path = os.path.join(directory, name)
            yield from _on_disk(path, f"{group.label}/{os.path.relpath(path, group.path)}")


def _on_disk(path: str, label: str) -> Iterator[_Member]:
    try:
        size = os.stat(path).st_size
    except OSError:
        return
    if size >= LEAST_BYTES and os.path.isfile(path):
        yield _Member(label, path, size)


def _in_files(
    members: list[_Member], sizes: Mapping[int, list[bytes]], manifest: Manifest
) -> tuple[bytes, _Member] | None:
    """A template's path and the hidden file that it holds, where all members are there."""
    if not all(member.size in sizes for member in members):
        return None
    found = None
    for member in members:
        path = next((p for p in sizes[member.size] if manifest[p].digest == member.digest), None)
        if path is None:
            return None
        found = found or (path, member)
    return found


def _whole(group: HiddenGroup, members: int) -> str:
    if members == 1:
        return ""
    others = members - 1
    return f" (and the {others} other file{'s' if others > 1 else ''} of {group.label})"


def _show(path: bytes) -> str:
    return path.decode("utf-8", "backslashreplace")
