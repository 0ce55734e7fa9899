"""The interpreter for the inside, and pytest staged beside it."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from pytest_agentbench.errors import SandboxError
from pytest_agentbench.sandboxes.runtime import Runtime, base_executable
from pytest_agentbench.sandboxes.staging import stage_pytest
from pytest_agentbench.sandboxes.workspace import WorkArea


def test_the_base_interpreter_is_none_of_the_harness_environments(runtime: Runtime) -> None:
    """The executable lies in the base prefix, not in the virtual environment."""
    found = runtime.interpreter()
    assert found.executable == base_executable()
    assert found.executable.is_relative_to(Path(sys.base_prefix).resolve())
    assert found.packages == ()


def test_pytest_is_complete_and_its_own(runtime: Runtime, tmp_path: Path) -> None:
    """The staged directory alone runs pytest, without any plugin of the harness."""
    found = runtime.interpreter()
    (tmp_path / "test_x.py").write_text("def test_x(tmp_path): assert 'a' in 'abc'\n")
    code = (
        "import sys; sys.path.insert(0, sys.argv.pop(1)); import pytest; pytest.main(sys.argv[1:])"
    )
    done = subprocess.run(
        [found.executable, "-I", "-c", code, found.pytest_path, "-p", "no:cacheprovider", "--co",
         "-q", str(tmp_path)],
        capture_output=True,
        text=True,
        check=True,
        cwd=tmp_path,
    )  # fmt: skip
    assert "1 test collected" in done.stdout
    names = {path.name.partition("-")[0] for path in found.pytest_path.iterdir()}
    assert {"pytest", "_pytest", "pluggy", "iniconfig", "packaging"} <= names
    assert not names & {"pydantic", "yaml", "xdist", "pytest_agentbench", "hypothesis"}


def test_staging_at_the_same_time_gives_one_whole_directory(tmp_path: Path) -> None:
    """Workers that stage at once all get the same complete directory, and leave nothing else."""

    def stage(_: int) -> Path:
        return stage_pytest(tmp_path, base_executable(), sys.version, sys.version_info[:2])

    with ThreadPoolExecutor(3) as pool:
        found = set(pool.map(stage, range(3)))
    assert len(found) == 1
    assert list(tmp_path.iterdir()) == list(found)
    assert list(found.pop().glob("_pytest/__pycache__/*.pyc"))


def test_a_cache_that_cannot_be_written_is_no_obstacle(area: WorkArea, tmp_path: Path) -> None:
    """The work area serves for this session."""
    blocked = tmp_path / "file"
    blocked.touch()
    found = Runtime(blocked / "cache", area).interpreter()
    assert found.pytest_path.is_relative_to(area.path)


def test_a_python_that_is_none_is_named(runtime: Runtime) -> None:
    """``sandbox.python`` that cannot be run is an error that says so."""
    with pytest.raises(SandboxError, match="/bin/false is no Python that works"):
        runtime.interpreter(Path("/bin/false"))


def test_what_a_killed_staging_left_is_removed_once_it_is_old(tmp_path: Path) -> None:
    """A directory half made an hour ago goes; one that may still be in the making stays."""
    now = time.time()
    for name, age_s in {"making-old": 3700, "making-new": 60, "other": 9999}.items():
        (tmp_path / name / "_pytest").mkdir(parents=True)
        os.utime(tmp_path / name, (now - age_s, now - age_s))
    found = stage_pytest(tmp_path, base_executable(), sys.version, sys.version_info[:2])
    assert sorted(path.name for path in tmp_path.iterdir()) == ["making-new", "other", found.name]
