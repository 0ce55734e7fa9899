"""Places that refuse to be written to: permission bits alone would not stop root."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from requirements import require


def mounted(directory: Path, *options: str) -> Iterator[Path]:
    """A small file system of its own at ``directory``, for as long as a test runs."""
    require("mount")
    directory.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", ",".join(options), "tmpfs", str(directory)]
    subprocess.run(mount, check=True)
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
