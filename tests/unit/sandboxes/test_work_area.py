"""The session's private place, and what killed sessions leave."""

from __future__ import annotations

import os
import stat
from pathlib import Path

from pytest_agentbench.sandboxes.area import WorkArea, reap_stale, remove_tree


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
