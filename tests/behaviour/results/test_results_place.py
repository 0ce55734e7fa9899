"""Where ``agentbench report`` looks for runs."""

from __future__ import annotations

from pathlib import Path

import pytest

from pytest_agentbench.cli.places import find_results
from pytest_agentbench.errors import StoreError


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("pytest.ini", "[pytest]\nagentbench_results = out/runs\n"),
        (
            "tox.ini",
            "[tox]\nenvlist = py\n[pytest]\naddopts = -q %(x)s\nagentbench_results: out/runs\n",
        ),
        ("setup.cfg", "[tool:pytest]\nagentbench_results=out/runs\n"),
        ("pyproject.toml", '[tool.pytest.ini_options]\nagentbench_results = "out/runs"\n'),
        ("pyproject.toml", '[tool.pytest]\nagentbench_results = "out/runs"\n'),
        ("pytest.toml", '[pytest]\nagentbench_results = "out/runs"\n'),
    ],
)
def test_the_ini_key_is_found(tmp_path: Path, name: str, text: str) -> None:
    """In any file that pytest reads, from anywhere below it, relative to where it stands."""
    (tmp_path / name).write_text(text)
    below = tmp_path / "tasks/deep"
    below.mkdir(parents=True)
    assert find_results(below) == tmp_path / "out/runs"


def test_results_in_the_default_place_are_found_from_below(tmp_path: Path) -> None:
    """Without the key, the nearest directory with results counts."""
    (tmp_path / ".agentbench").mkdir()
    (tmp_path / "pytest.ini").write_text("[pytest]\naddopts = -q\n")
    below = tmp_path / "tasks"
    below.mkdir()
    assert find_results(below) == tmp_path / ".agentbench"


def test_the_key_beats_results_that_lie_there(tmp_path: Path) -> None:
    """Old runs in the default place do not hide the configured ones."""
    (tmp_path / ".agentbench").mkdir()
    (tmp_path / "pytest.ini").write_text("[pytest]\nagentbench_results = out\n")
    assert find_results(tmp_path) == tmp_path / "out"


def test_without_anything_the_default_place_is_here(tmp_path: Path) -> None:
    """Files without the key, and other sections that have it, do not count."""
    (tmp_path / "pyproject.toml").write_text('[project]\nname = "x"\n')
    (tmp_path / "tox.ini").write_text("[other]\nagentbench_results = out\n")
    assert find_results(tmp_path) == tmp_path / ".agentbench"


def test_a_configuration_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    """One sentence, with the way around it."""
    (tmp_path / "pyproject.toml").write_text("[tool\n")
    with pytest.raises(StoreError, match=r"pyproject.toml: cannot be read: .* --results$"):
        find_results(tmp_path)
