"""The session's private place, and what killed sessions leave."""

from __future__ import annotations

import fcntl
import os
import stat
import subprocess
from pathlib import Path

import pytest

from pytest_agentbench.sandboxes.area import WorkArea, reap_stale, remove_tree, stale_areas
from requirements import require


def test_only_this_user_can_enter(tmp_path: Path) -> None:
    """The area and every directory in it are closed to others, and at random names."""
    area = WorkArea(tmp_path)
    first, second = area.fresh(), area.fresh()
    assert {stat.S_IMODE(each.stat().st_mode) for each in (area.path, first, second)} == {0o700}
    assert first != second
    area.close()
    area.close()
    assert list(tmp_path.iterdir()) == []


def test_a_live_session_is_not_reaped(tmp_path: Path) -> None:
    """The lock of a session that lives protects its area; other directories are not ours."""
    area = WorkArea(tmp_path)
    (tmp_path / "agentbench-by-hand").mkdir()
    (tmp_path / "agentbench-by-hand" / "precious").touch()
    (tmp_path / "agentbench-link").symlink_to(tmp_path)
    assert reap_stale(tmp_path) == 0
    assert area.path.exists()
    area.close()
    assert (tmp_path / "agentbench-by-hand" / "precious").exists()


def test_a_dead_sessions_area_is_reaped(tmp_path: Path) -> None:
    """Without its lock an area is removed, closed directories and all."""
    area = WorkArea(tmp_path)
    (area.fresh() / "x").mkdir(mode=0)
    os.close(area._lock)
    assert reap_stale(tmp_path) == 1
    assert list(tmp_path.iterdir()) == []


def test_a_symlink_is_removed_and_not_followed(tmp_path: Path) -> None:
    """Removing a tree removes links in it, and nothing that they lead to."""
    (tmp_path / "victim").mkdir()
    (tmp_path / "victim" / "x").touch()
    (tmp_path / "tree").mkdir()
    (tmp_path / "tree" / "link").symlink_to(tmp_path / "victim")
    remove_tree(tmp_path / "tree")
    remove_tree(tmp_path / "tree")
    (tmp_path / "top").symlink_to(tmp_path / "victim")
    remove_tree(tmp_path / "top")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["victim"]
    assert (tmp_path / "victim" / "x").exists()


def test_what_cannot_be_removed_is_told(tmp_path: Path) -> None:
    """All else is removed, and the paths that are left stand in ``leftover``."""
    require("mount")
    area = WorkArea(tmp_path)
    fresh = area.fresh()
    for name in ("a", "b", "c"):
        (fresh / name / "deep").mkdir(parents=True)
        (fresh / name / "deep" / "file").touch()
    stuck = fresh / "b" / "deep"
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", stuck], check=True)
    try:
        area.close()
        assert len(area.leftover) == 1
        assert os.path.ismount(area.leftover[0])
        kept = [path for path in area.path.rglob("*") if path.name == "file"]
        assert kept == []
    finally:
        subprocess.run(["umount", *(area.leftover or [stuck])], check=True)


def test_nothing_is_left_over_of_an_ordinary_session(tmp_path: Path) -> None:
    """An area that could be removed whole has no leftover."""
    area = WorkArea(tmp_path)
    (area.fresh() / "x").touch()
    area.close()
    assert area.leftover == ()


def test_the_lock_is_held_before_it_can_be_seen(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nobody can take an area that is just being made for one whose session is gone."""
    seen: list[list[Path]] = []
    lock = fcntl.flock

    def watched(fd: int, operation: int) -> None:
        seen.append(list(tmp_path.glob("*/.lock")))
        lock(fd, operation)

    monkeypatch.setattr(fcntl, "flock", watched)
    area = WorkArea(tmp_path)
    assert seen == [[]]
    assert reap_stale(tmp_path) == 0
    assert area.path.is_dir()
    area.close()


def test_areas_of_the_dead_are_told_and_stay(tmp_path: Path) -> None:
    """What would be reaped can be asked for; nothing is removed by asking."""
    live, dead = WorkArea(tmp_path), WorkArea(tmp_path)
    (dead.fresh() / "x").touch()
    os.close(dead._lock)
    assert stale_areas(tmp_path) == [dead.path]
    assert stale_areas(tmp_path) == [dead.path]
    assert reap_stale(tmp_path) == 1
    assert stale_areas(tmp_path) == []
    live.close()
