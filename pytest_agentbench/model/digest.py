"""One way to digest values and files: blake2b, 16 bytes, as hexadecimal text."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping

from pytest_agentbench.model.task import Blob


def digest_bytes(data: bytes) -> str:
    """The digest of some bytes."""
    return hashlib.blake2b(data, digest_size=16).hexdigest()


def digest_value(value: object) -> str:
    """The digest of a JSON-able value; key order does not matter, lone surrogates are allowed."""
    text = json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=True)
    return digest_bytes(text.encode())


def digest_blobs(files: Mapping[str, Blob]) -> str:
    """The digest of named files: names, bytes and executable bits."""
    rows = [
        [name, digest_bytes(files[name].data), files[name].executable] for name in sorted(files)
    ]
    return digest_value(rows)
