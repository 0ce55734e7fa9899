"""Overlays that a project's experiments name: what lies there is no test of the project.

Standard library only, until an experiment file speaks of overlays.
"""

from __future__ import annotations

import os
from pathlib import Path

from pytest_agentbench.candidates import (
    EXPERIMENT_DIRECTORY,
    EXPERIMENT_NAMES,
    SUFFIXES,
)


def named_overlays(rootdir: str) -> dict[str, Path]:
    """Each overlay of the default experiment and those of ``experiments/``, and who names it.

    Normalized paths; never raises. A directory around the experiment file is not among them.
    """
    found: dict[str, Path] = {}
    for file in _files(rootdir):
        try:
            speaks = b"overlay" in file.read_bytes()
        except OSError:
            continue
        for text in _texts(file) if speaks else ():
            path = os.path.normpath(file.parent / text)
            if not os.fspath(file).startswith(os.path.join(path, "")):  # noqa: PTH118 - texts
                found.setdefault(path, file)
    return found


def _files(rootdir: str) -> list[Path]:
    root = Path(rootdir)
    directory = root / EXPERIMENT_DIRECTORY
    try:
        names = sorted(name for name in os.listdir(directory) if name.endswith(SUFFIXES))  # noqa: PTH208 - ten times as fast
    except OSError:
        names = []
    return [*(root / name for name in EXPERIMENT_NAMES), *(directory / name for name in names)]


def _texts(file: Path) -> list[str]:
    # Only now: a session without overlays imports no yaml.
    from pytest_agentbench.taskfiles.yamlnodes import read, value_at  # noqa: PLC0415

    data = read(file, what="experiment file").data
    variants = value_at(data, ("variants",))
    names = list(variants) if isinstance(variants, dict) else []
    texts = [value_at(variants, (name, "overlay")) for name in names]
    return [text for text in texts if isinstance(text, str) and text.strip() and "\0" not in text]
