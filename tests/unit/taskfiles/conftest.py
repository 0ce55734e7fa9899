"""A small project that task files can name things in."""

from __future__ import annotations

from pathlib import Path

import pytest


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A root directory with ``tasks/`` and what the task files of these tests name."""
    root = tmp_path / "project"
    tasks = root / "tasks"
    hidden = tasks / "workspace" / "tests"
    hidden.mkdir(parents=True)
    (hidden / "test_a.py").write_text("def test_a(): pass\n")
    (tasks / "workspace" / "fix.patch").write_text("x")
    (tasks / "workspace" / "rows.jsonl").write_text('{"a": 1}\n')
    (tasks / "note.txt").write_text("x")
    (tasks / "way-out").symlink_to("/etc")
    (tasks / "rows.jsonl").write_text(
        '{"id": "a/1", "what": "x", "time": "10s"}\n\n{"id": "b", "what": "y", "time": "soon"}\n'
    )
    (tasks / "broken.jsonl").write_bytes(
        b'{"id": 1}\n{"id": }\n[1]\n{"a": 1, "a": 2}\n{"a": NaN}\n{"a": "\\ud800"}\n{"a": "\xff"}\n'
    )
    return root
