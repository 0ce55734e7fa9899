"""Files of one container: staged, read back, looked at again, and fetched at its end."""

from __future__ import annotations

import contextlib
import os
import tarfile
from collections.abc import Mapping
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING

from pytest_agentbench.errors import SandboxError
from pytest_agentbench.model.contracts import Altered
from pytest_agentbench.model.digest import digest_bytes
from pytest_agentbench.model.run import EntryKind, Manifest
from pytest_agentbench.model.task import Blob
from pytest_agentbench.sandboxes.beneath import parts_of, read_below, root_of
from pytest_agentbench.sandboxes.docker.archive import Owner, Pack, single_file, unpack
from pytest_agentbench.sandboxes.docker.calls import WHERE, archive_of, path_in

if TYPE_CHECKING:
    from docker import APIClient


def packed(place: str, files: Mapping[str, Blob], owner: Owner, *, locked: bool) -> Pack:
    """Files below a place. Raises ``SandboxError`` for a name that leads elsewhere."""
    try:
        for name in files:
            parts_of(os.fsencode(name))
    except ValueError as fault:
        raise SandboxError(f"files cannot be written: {fault}", where=WHERE) from fault
    pack = Pack()
    pack.blobs(place, files, owner, locked=locked)
    return pack


def altered(
    container: str,
    staged: Mapping[str, Mapping[str, Blob]],
    workspace: str,
    kept: Manifest,
    api: APIClient,
) -> Altered:
    """Which of the files that were put in a container are not what they were."""
    rewritten = [
        name
        for room, files in staged.items()
        for name, blob in files.items()
        if read(container, room, PurePosixPath(name).parts, len(blob.data) + 1, api) != blob.data
    ]
    changed = []
    for path, entry in kept.items():
        if entry.kind is EntryKind.FILE:
            parts = PurePosixPath(os.fsdecode(path)).parts
            data = read(container, workspace, parts, entry.size + 1, api)
            if data is None or digest_bytes(data) != entry.digest:
                changed.append(path)
    return Altered(tuple(rewritten), tuple(changed))


def forget(image: str, api: APIClient) -> None:
    """Remove an image; it may be gone."""
    from docker.errors import ImageNotFound  # noqa: PLC0415 - as ``calls``

    with contextlib.suppress(ImageNotFound):
        api.remove_image(image, force=True)


def fetch(container: str, place: str, directory: Path, limit_bytes: int, api: APIClient) -> None:
    """Take a container's directory; nothing where somebody removed or replaced it."""
    try:
        with archive_of(api, container, place, directory=True) as pieces:
            unpack(pieces, directory, limit_bytes=limit_bytes)
    except FileNotFoundError:
        directory.rmdir()
    except (tarfile.TarError, ValueError) as fault:
        raise SandboxError(
            f"what the container holds cannot be read: {fault}", where=WHERE
        ) from fault


def read(
    container: str, room: str, parts: tuple[str, ...], limit: int, api: APIClient
) -> bytes | None:
    """The first bytes of a regular file below a room; no link on the way is followed."""
    place = room
    for part in parts[:-1]:
        # Asked part by part: the engine would follow a link.
        place = f"{place}/{part}"
        about = path_in(api, container, place)
        if about is None or not about.is_directory:
            return None
    place = f"{place}/{parts[-1]}"
    about = path_in(api, container, place)
    if about is None or not about.is_regular:
        return None
    with archive_of(api, container, place) as pieces:
        return single_file(pieces, limit)


def read_left(left: Path, parts: tuple[str, ...], limit: int) -> bytes | None:
    """The same of a directory of ours."""
    try:
        with root_of(left) as root:
            return read_below(root, os.fsencode("/".join(parts)), limit)
    except OSError:
        return None
