from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from pytest_agentbench.results.rundir import RunDirectory, file_name, fresh_run_id, new_run_id


def test_a_run_id_says_when_in_utc() -> None:
    """The id is the start in UTC and some entropy, wherever the run was started."""
    there = datetime(2026, 11, 29, 14, 15, tzinfo=timezone(timedelta(hours=1)))
    assert new_run_id(there, b"\xa1\xb2\xc3") == "20261129-131500-a1b2c3"


def test_run_ids_sort_by_start() -> None:
    """A later run's id sorts after an earlier one's."""
    first = datetime(2026, 9, 30, 23, 59, 59, tzinfo=UTC)
    assert new_run_id(first, b"\xff") < new_run_id(first + timedelta(seconds=1), b"\x00")


def test_runs_of_one_second_differ() -> None:
    """A hundred sessions that start together have a hundred ids."""
    assert len({fresh_run_id() for _ in range(100)}) == 100


@pytest.mark.parametrize("name", ["fix-bug", "HumanEval_0", "a.b", "größe", "v1+x"])
def test_ordinary_ids_are_their_own_file_names(name: str) -> None:
    """People find a trial's artifacts under its ids."""
    assert file_name(name) == name


@given(st.text(st.characters(codec=None), max_size=300))
@example("")
@example(".")
@example("..")
@example(".hidden")
@example("../up")
@example("漢" * 300)
def test_any_id_makes_a_safe_file_name(name: str) -> None:
    """No id leaves its directory, hides, or is too long for a file system."""
    safe = file_name(name)
    assert safe
    assert Path(safe).name == safe
    assert not safe.startswith(".")
    assert len(safe.encode()) <= 255


@given(st.lists(st.text(max_size=6), unique=True, max_size=20))
def test_different_ids_stay_different(names: list[str]) -> None:
    """What is spelled out never meets another id."""
    assert len({file_name(name) for name in names}) == len(names)


def test_attempts_have_directories_of_their_own() -> None:
    """A rerun does not overwrite what the first attempt left."""
    run = RunDirectory(Path("results/runs/some"))
    first = run.artifacts("fix", "codex", 2)
    assert run.relative(first) == "artifacts/fix/codex-r2"
    assert run.relative(run.artifacts("fix", "codex", 2, 3)) == "artifacts/fix/codex-r2-attempt3"
    assert run.relative(run.artifacts("../x", "/", 1)).startswith("artifacts/_x-")
