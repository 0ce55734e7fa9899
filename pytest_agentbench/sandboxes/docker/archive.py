"""Files on their way into a container and out of it: tar archives, as the engine has them."""

from __future__ import annotations

import io
import os
import tarfile
import tempfile
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import IO, NamedTuple

from pytest_agentbench.model.run import Entry, EntryKind, Manifest
from pytest_agentbench.model.task import Blob
from pytest_agentbench.sandboxes.beneath import (
    create,
    directory_below,
    make_directory,
    open_regular,
    parts_of,
    remove_entry,
    root_of,
)

_IN_MEMORY = 8 << 20
_PIECE = 1 << 20


class Owner(NamedTuple):
    """Whose the files are inside."""

    uid: int
    gid: int


ROOT = Owner(0, 0)


class Pack:
    """An archive that is being written; small ones stay in memory.

    Names are absolute paths inside, without the slash that they begin with.
    """

    def __init__(self) -> None:
        self._file: IO[bytes] = tempfile.SpooledTemporaryFile(_IN_MEMORY)  # noqa: SIM115 - handed on
        # The one format that keeps names as they are which are no UTF-8.
        self._tar = tarfile.open(  # noqa: SIM115
            fileobj=self._file,
            mode="w",
            format=tarfile.GNU_FORMAT,
            encoding="utf-8",
            errors="surrogateescape",
        )
        self.count = 0
        self._now = int(time.time())

    def directory(self, place: str, owner: Owner, mode: int = 0o755) -> None:
        """A directory; one that is there already gets its owner and mode."""
        self._add(self._info(place, tarfile.DIRTYPE, owner, mode))

    def data(self, place: str, data: bytes, owner: Owner, mode: int) -> None:
        """A regular file of these bytes."""
        info = self._info(place, tarfile.REGTYPE, owner, mode)
        info.size = len(data)
        self._add(info, io.BytesIO(data))

    def blobs(self, place: str, files: Mapping[str, Blob], owner: Owner, *, locked: bool) -> None:
        """Files below a directory, with the directories that they need.

        ``locked``: nobody but root may write there.
        """
        for above in _parents(files):
            self.directory(
                f"{place}/{above}" if above else place, owner, 0o555 if locked else 0o755
            )
        for name, blob in files.items():
            mode = (0o755 if blob.executable else 0o644) & (0o555 if locked else 0o777)
            self.data(f"{place}/{name}", blob.data, owner, mode)

    def entries(self, place: str, root: int, manifest: Manifest, owner: Owner) -> None:
        """What a manifest lists, with the contents that lie below a directory of the host."""
        for path in sorted(manifest):
            self.entry(f"{place}/{os.fsdecode(path)}", root, path, manifest[path], owner)

    def entry(self, place: str, root: int, path: bytes, entry: Entry, owner: Owner) -> None:
        """One path of a manifest."""
        *above, name = parts_of(path)
        with directory_below(root, above) as parent:
            match entry.kind:
                case EntryKind.DIRECTORY:
                    self.directory(place, owner)
                case EntryKind.SYMLINK:
                    info = self._info(place, tarfile.SYMTYPE, owner, 0o777)
                    info.linkname = os.fsdecode(os.readlink(name, dir_fd=parent))
                    self._add(info)
                case EntryKind.FILE:
                    mode = 0o755 if entry.executable else 0o644
                    info = self._info(place, tarfile.REGTYPE, owner, mode)
                    with open(open_regular(parent, name), "rb") as file:
                        about = os.fstat(file.fileno())
                        info.size, info.mtime = about.st_size, max(int(about.st_mtime), 0)
                        self._add(info, file)
                case EntryKind.OTHER:
                    pass

    def tree(self, place: str, directory: Path) -> None:
        """A directory of the host's that is ours and root's inside, such as pytest's."""
        for here, _, names in os.walk(directory):
            below = os.path.relpath(here, directory)
            inside = place if below == "." else f"{place}/{below}"
            self.directory(inside, ROOT)
            for name in sorted(names):
                path = Path(here, name)
                executable = bool(path.stat().st_mode & 0o100)
                self.data(
                    f"{inside}/{name}", path.read_bytes(), ROOT, 0o755 if executable else 0o644
                )

    def finish(self) -> IO[bytes]:
        """The whole archive, from its beginning."""
        self._tar.close()
        self._file.seek(0)
        return self._file

    def _info(self, place: str, kind: bytes, owner: Owner, mode: int) -> tarfile.TarInfo:
        info = tarfile.TarInfo(place.lstrip("/"))
        info.type, info.mode = kind, mode
        info.uid, info.gid = owner
        # Equal times would make stale bytecode, and whatever make has built, look fresh.
        info.mtime = self._now
        return info

    def _add(self, info: tarfile.TarInfo, source: IO[bytes] | None = None) -> None:
        self._tar.addfile(info, source)
        self.count += 1


def _parents(files: Iterable[str]) -> list[str]:
    """The directories that files need, outer ones first; the empty name is their own."""
    found = {""}
    for name in files:
        above = name.rpartition("/")[0]
        while above:
            found.add(above)
            above = above.rpartition("/")[0]
    return sorted(found)


class _Stream(io.RawIOBase):
    """Pieces of bytes, read as one file."""

    def __init__(self, pieces: Iterator[bytes]) -> None:
        self._pieces = pieces
        self._rest = b""

    def readable(self) -> bool:
        """As a file says it."""
        return True

    def read(self, size: int = -1) -> bytes:
        """At most ``size`` bytes; fewer at the end alone."""
        parts, wanted = [self._rest], size - len(self._rest)
        while wanted > 0:
            piece = next(self._pieces, b"")
            if not piece:
                break
            parts.append(piece)
            wanted -= len(piece)
        whole = b"".join(parts)
        self._rest = whole[size:]
        return whole[:size]


def unpack(pieces: Iterator[bytes], directory: Path, *, limit_bytes: int) -> None:
    """Lay what a container's directory holds into an empty one of the host.

    The archive's own top directory is left out. No link is followed, owners are ours, and of
    modes only the executable bit is kept. A file that would lead beyond ``limit_bytes`` gets its
    size and no contents, and is the last one: an agent cannot fill the host's disk. Raises
    ``OSError`` and ``tarfile.TarError``.
    """
    left = limit_bytes
    stream = _Stream(iter(pieces))
    with (
        root_of(directory) as root,
        tarfile.open(
            fileobj=stream,
            mode="r|",
            bufsize=_PIECE,
            encoding="utf-8",
            errors="surrogateescape",
        ) as tar,
    ):
        for member in tar:
            _, _, name = member.name.partition("/")
            if not name:
                continue
            left -= member.size
            with suppress(ValueError):  # a name that leads elsewhere is no name of a workspace's
                _lay(tar, member, root, os.fsencode(name), whole=left >= 0)
            if left < 0:
                return


def _lay(
    tar: tarfile.TarFile, member: tarfile.TarInfo, root: int, path: bytes, *, whole: bool
) -> None:
    *above, name = parts_of(path)
    with directory_below(root, above, make=True) as parent:
        if not member.isdir():
            remove_entry(parent, name)
        if member.isdir():
            with suppress(FileExistsError):
                make_directory(parent, name)
        elif member.issym():
            os.symlink(os.fsencode(member.linkname), name, dir_fd=parent)
        elif member.islnk():
            _link(root, member, parent, name)
        elif member.isreg():
            create(parent, name, b"", executable=bool(member.mode & 0o100))
            fd = os.open(name, os.O_WRONLY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=parent)
            with open(fd, "wb") as file:
                source = tar.extractfile(member) if whole else None
                while source is not None and (data := source.read(_PIECE)):
                    file.write(data)
                file.truncate(member.size)
            with suppress(OSError, OverflowError, ValueError):
                os.utime(name, (member.mtime, member.mtime), dir_fd=parent, follow_symlinks=False)
        else:
            # Compared with the template, it is told as what cannot be carried.
            os.mkfifo(name, dir_fd=parent)


def _link(root: int, member: tarfile.TarInfo, parent: int, name: bytes) -> None:
    """Another name of a file that came before."""
    *above, last = parts_of(os.fsencode(member.linkname.partition("/")[2]))
    with directory_below(root, above) as there:
        os.link(last, name, src_dir_fd=there, dst_dir_fd=parent, follow_symlinks=False)


def first_below(pieces: Iterator[bytes]) -> str | None:
    """The first name in a directory's archive; None where the directory is empty."""
    with tarfile.open(fileobj=_Stream(iter(pieces)), mode="r|") as tar:
        return next((one.name for one in tar if "/" in one.name.rstrip("/")), None)


def single_file(pieces: Iterator[bytes], limit: int) -> bytes | None:
    """The first bytes of the regular file that an archive holds; None where it holds none."""
    with tarfile.open(fileobj=_Stream(iter(pieces)), mode="r|", bufsize=_PIECE) as tar:
        member = tar.next()
        if member is None or not member.isreg():
            return None
        source = tar.extractfile(member)
        return None if source is None else source.read(limit)
