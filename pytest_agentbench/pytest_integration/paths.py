"""Paths as people know them."""

from __future__ import annotations

from pathlib import Path


def relative_to(path: Path, rootdir: Path) -> str:
    """``path`` from the root directory where it lies below it, else as it is."""
    return str(path.relative_to(rootdir)) if path.is_relative_to(rootdir) else str(path)
