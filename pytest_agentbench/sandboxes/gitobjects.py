"""Which objects the git repositories within a tree hold, read from names and pack indexes.

No git is run: a repository's own configuration would have a say. Only which
objects are there is asked, not what can be reached.
"""

from __future__ import annotations

import hashlib
import os
import re
import struct
from pathlib import Path

from pytest_agentbench.model.run import EntryKind, Manifest

_LOOSE = re.compile(rb"(?:^|/)objects/([0-9a-f]{2})/([0-9a-f]{38}|[0-9a-f]{62})$")
_INDEX = re.compile(rb"(?:^|/)objects/pack/pack-[0-9a-f]+\.idx$")
_MAGIC = b"\xfftOc"
_FANOUT = 256 * 4
_SHA1 = 20
_SHA256 = 32
_TRAILER = 2


def blob_ids(data: bytes) -> tuple[bytes, bytes]:
    """The names under which git keeps a file's bytes: SHA-1's and SHA-256's."""
    whole = b"blob %d\0" % len(data) + data
    return hashlib.sha1(whole, usedforsecurity=False).digest(), hashlib.sha256(whole).digest()


def object_ids(manifest: Manifest, directory: Path) -> frozenset[bytes]:
    """All objects that the repositories in a tree hold."""
    found: set[bytes] = set()
    for path, entry in manifest.items():
        if entry.kind is not EntryKind.FILE:
            continue
        if loose := _LOOSE.search(path):
            found.add(bytes.fromhex((loose[1] + loose[2]).decode("ascii")))
        elif _INDEX.search(path):
            found.update(_packed(os.path.join(os.fsencode(directory), path)))
    return frozenset(found)


def _packed(path: bytes) -> set[bytes]:
    """The objects that a pack index lists; none where it is not one."""
    try:
        with open(path, "rb") as file:
            data = file.read()
    except OSError:
        return set()
    if data[:4] == _MAGIC:
        return _version_2(data)
    return _version_1(data)


def _version_2(data: bytes) -> set[bytes]:
    start = 8 + _FANOUT
    if len(data) < start:
        return set()
    (count,) = struct.unpack_from(">I", data, start - 4)
    # Per object: its id, a checksum, an offset; some objects have a long offset besides.
    left = len(data) - start
    length = _SHA256 if left >= count * (_SHA256 + 8) + _TRAILER * _SHA256 else _SHA1
    return {data[place : place + length] for place in range(start, start + count * length, length)}


def _version_1(data: bytes) -> set[bytes]:
    if len(data) < _FANOUT:
        return set()
    (count,) = struct.unpack_from(">I", data, _FANOUT - 4)
    row = 4 + _SHA1
    if len(data) < _FANOUT + count * row:
        return set()
    return {data[place + 4 : place + row] for place in range(_FANOUT, _FANOUT + count * row, row)}
