"""A report's file: made sure of before anything runs, replaced in one step."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from pytest_agentbench.errors import StoreError, UsageError
from pytest_agentbench.results.reportfile import check_report, write_report


def test_a_directory_that_is_missing_is_made(tmp_path: Path) -> None:
    """With its parents; nothing else is left of the trial."""
    check_report(tmp_path / "a" / "b" / "x.xml", said="--it")
    assert list(tmp_path.rglob("*")) == [tmp_path / "a", tmp_path / "a" / "b"]


def test_what_cannot_be_written_is_refused(tmp_path: Path) -> None:
    """A directory, a pipe, and a path through a file: where, what, and what to do."""
    (tmp_path / "file").write_text("")
    os.mkfifo(tmp_path / "pipe")
    for name, what in {
        ".": "is a directory",
        "pipe": "is no regular file",
        "file/x.xml": "cannot be written",
    }.items():
        with pytest.raises(UsageError) as caught:
            check_report(tmp_path / name, said="--it")
        assert str(caught.value).startswith("--it: /")
        assert what in str(caught.value)
        assert ". Try: " in str(caught.value)


def test_a_report_replaces_another(tmp_path: Path) -> None:
    """Whole, with nothing beside it; the mode that the old one had stays."""
    path = tmp_path / "x.xml"
    path.write_text("a longer text than the new one")
    path.chmod(0o640)
    write_report(path, b"new")
    assert path.read_bytes() == b"new"
    assert path.stat().st_mode & 0o777 == 0o640
    assert list(tmp_path.iterdir()) == [path]


def test_a_new_report_can_be_read_by_others(tmp_path: Path) -> None:
    """As far as the umask lets them: what collects reports is often another user."""
    before = os.umask(0o022)
    try:
        write_report(tmp_path / "made" / "x.xml", b"new")
    finally:
        os.umask(before)
    assert (tmp_path / "made" / "x.xml").stat().st_mode & 0o777 == 0o644


def test_a_link_is_followed(tmp_path: Path) -> None:
    """The file that it leads to is replaced, and not the link."""
    (tmp_path / "x.xml").symlink_to(tmp_path / "real.xml")
    write_report(tmp_path / "x.xml", b"new")
    assert (tmp_path / "x.xml").is_symlink()
    assert (tmp_path / "real.xml").read_bytes() == b"new"


def test_a_report_that_cannot_be_written_leaves_nothing(tmp_path: Path) -> None:
    """The error names the file; no half of it stays."""
    (tmp_path / "x.xml").mkdir()
    with pytest.raises(StoreError) as caught:
        write_report(tmp_path / "x.xml", b"new")
    assert str(tmp_path / "x.xml") in str(caught.value)
    assert list(tmp_path.iterdir()) == [tmp_path / "x.xml"]
