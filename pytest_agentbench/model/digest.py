"""One way to digest values and files: blake2b, 16 bytes, as hexadecimal text."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping

from pytest_agentbench.model.task import Blob

# Made once: json.dumps makes one for each value that it does not write in its own way.
_ENCODER = json.JSONEncoder(sort_keys=True, separators=(",", ":"), ensure_ascii=True)


def digest_bytes(data: bytes) -> str:
    """The digest of some bytes."""
    return hashlib.blake2b(data, digest_size=16).hexdigest()


def digest_value(value: object) -> str:
    """The digest of a JSON-able value; key order does not matter, lone surrogates are allowed."""
    return digest_bytes(_ENCODER.encode(value).encode())


def digest_blobs(files: Mapping[str, Blob]) -> str:
    """The digest of named files: names, bytes and executable bits."""
    rows = [
        [name, digest_bytes(files[name].data), files[name].executable] for name in sorted(files)
    ]
    return digest_value(rows)
