"""Places that refuse to be written to: permission bits alone would not stop root."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest


def mounted(directory: Path, *options: str) -> Iterator[Path]:
    """A small file system of its own at ``directory``, for as long as a test runs."""
    if os.geteuid() != 0:
        pytest.skip("needs root: only root mounts a file system")
    directory.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", ",".join(options), "tmpfs", str(directory)]
    done = subprocess.run(mount, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        pytest.skip(f"needs a tmpfs, but mount says: {done.stderr.strip()}")
    try:
        yield directory
    finally:
        subprocess.run(["umount", "--lazy", str(directory)], check=True)


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A disk of 256 KiB."""
    yield from mounted(tmp_path / "small", "size=256k")


@pytest.fixture
def readonly_disk(tmp_path: Path) -> Iterator[Path]:
    """A disk that is mounted read-only."""
    yield from mounted(tmp_path / "readonly", "ro", "size=256k")
