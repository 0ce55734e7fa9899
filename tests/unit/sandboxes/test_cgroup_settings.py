"""What is written to control groups of either version."""

from __future__ import annotations

from pathlib import Path

import pytest

from pytest_agentbench.model.task import SandboxSpec
from pytest_agentbench.sandboxes import cgroups


@pytest.mark.parametrize(
    ("version", "controller", "value", "files"),
    [
        (1, "memory", 1 << 20, {"memory.limit_in_bytes": "1048576",
                                "memory.memsw.limit_in_bytes": "1048576"}),
        (2, "memory", 1 << 20, {"memory.max": "1048576", "memory.swap.max": "0"}),
        (1, "cpu", 1.5, {"cpu.cfs_period_us": "100000", "cpu.cfs_quota_us": "150000"}),
        (2, "cpu", 0.001, {"cpu.max": "1000 100000"}),
        (1, "pids", 7, {"pids.max": "7"}),
        (2, "pids", 7, {"pids.max": "7"}),
    ],
)  # fmt: skip
def test_limits_are_written_as_the_version_wants_them(
    version: int, controller: str, value: float, files: dict[str, str]
) -> None:
    """Bytes, microseconds and counts stand in the files of the group's version."""
    assert cgroups._files(version, controller, value) == files


def test_processes_of_the_walls_do_not_count() -> None:
    """A task's limit of processes is about its own."""
    assert cgroups._settings(SandboxSpec(pids=5, cpus=2.0), walls=2) == {"pids": 7, "cpu": 2.0}
    assert cgroups._settings(SandboxSpec(), walls=2) == {}


@pytest.mark.parametrize(
    ("version", "name", "text", "killed"),
    [
        (1, "memory.oom_control", "oom_kill_disable 0\nunder_oom 0\noom_kill 1\n", True),
        (1, "memory.oom_control", "oom_kill_disable 0\nunder_oom 0\noom_kill 0\n", False),
        (2, "memory.events", "low 0\noom 3\noom_kill 2\noom_group_kill 0\n", True),
        (2, "memory.events", "low 0\noom 3\noom_kill 0\n", False),
    ],
)
def test_a_kill_for_want_of_memory_is_read_from_the_group(
    tmp_path: Path, version: int, name: str, text: str, *, killed: bool
) -> None:
    """The kernel's count of kills decides, in either version's file."""
    (tmp_path / name).write_text(text)
    assert cgroups.Group({"memory": (tmp_path, version)}).out_of_memory() is killed


def test_a_command_enters_each_directory_once() -> None:
    """One directory that serves several controllers is entered once."""
    home = Path("/cg/x")
    group = cgroups.Group({"memory": (home, 2), "pids": (home, 2)})
    assert group.entering(("a", "b"))[-3:] == ("/cg/x", "a", "b")
