"""The suite in ``tasks/`` checks itself: its solutions pass, and wrong answers fail as stated.

A task that a wrong answer passes measures nothing, and one that its own solution
fails measures something else.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from pytest_agentbench.model.outcome import Outcome, Reason
from pytest_agentbench.model.record import Record
from requirements import require


@dataclass(frozen=True)
class Stated:
    """Which oracle refuses the wrong answer, and words of what it says."""

    oracle: str
    words: str


STATED = {
    "add-flag": Stated("hidden-tests", "test_top_is_a_prefix_of_the_whole[4]"),
    "answer-timeout": Stated("answer", "answer.txt: does not match"),
    "clean-contacts": Stated("contents", "test_contact[lena.vogt@example.org]"),
    "crontab": Stated("run-times", "runs at Wed 01 Jan 18:00"),
    "fix-packaging": Stated("metadata", "test_command"),
    "fix-pagination": Stated("hidden-tests", "test_number_of_pages[20-10-2]"),
    "incident-log": Stated("findings", "$.failed_requests: 7 was expected"),
    "peak-sessions": Stated("number", "28"),
    "port-awk": Stated("same-output", "not passed: notes, no bytes known"),
    "refactor-receipts": Stated("behaviour", "test_refund_is_unchanged"),
    "regex-clock": Stated("examples", "test_refuses[24:00]"),
    "regex-colour": Stated("examples", "test_refuses[#fffff]"),
    "regex-version": Stated("examples", "test_refuses[01.2.3]"),
    "repair-pipeline": Stated("hidden-logs", "expected [121 10.1.1.2], got [9 10.1.1.9]"),
    "service-config": Stated("configuration", "$.timeouts.idle_ms: 120000 was expected"),
    "sql-revenue": Stated("real-data", "customers are missing: Abe, Cy, Dot"),
    "write-tests": Stated("catches-faults", "reward 0.555556"),
}


PASSED = (Outcome.PASSED, None)
FAILED = (Outcome.FAILED, Reason.ORACLE)


def records(repository: Path, results: Path, *options: str, status: int = 0) -> dict[str, Record]:
    """Run pytest on the suite in a process of its own; the records by task."""
    command = [sys.executable, "-m", "pytest", "tasks", "-q", "-n", "2", "-p", "no:cacheprovider"]
    done = subprocess.run(
        # With "=": a path that stands alone has a say in what pytest takes for its root.
        [*command, f"--agentbench-results={results}", *options],
        cwd=repository,
        # Not what the pytest around us says to its own workers.
        env={name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")},
        capture_output=True,
        text=True,
        check=False,
        timeout=600,
    )
    assert done.returncode == status, done.stdout + done.stderr
    lines = (results / "latest" / "records.jsonl").read_text().splitlines()
    found = [Record.model_validate_json(line) for line in lines]
    return {record.task: record for record in found}


def test_every_task_has_a_wrong_answer(repository: Path) -> None:
    """The table above speaks of all task files, and of no others."""
    files = [*repository.glob("tasks/*/task.yaml"), *repository.glob("tasks/*.yaml")]
    names = {path.parent.name if path.name == "task.yaml" else path.stem for path in files}
    stated = {"regex" if name.startswith("regex-") else name for name in STATED}
    assert stated == names


def outcomes(found: dict[str, Record]) -> dict[str, tuple[Outcome, Reason | None]]:
    return {task: (record.outcome, record.reason) for task, record in found.items()}


@pytest.mark.parametrize("driver", ["local", "bubblewrap"])
def test_solutions_pass(repository: Path, tmp_path: Path, driver: str) -> None:
    """Every reference solution passes, with full score, in every sandbox."""
    if driver == "bubblewrap":
        require("bubblewrap")
    found = records(repository, tmp_path, "--agentbench-sandbox", driver)
    assert outcomes(found) == dict.fromkeys(STATED, PASSED)
    assert {record.score for record in found.values()} == {1.0}


def test_nothing_fails(repository: Path, tmp_path: Path) -> None:
    """Whoever does nothing fails every task, by its oracles."""
    found = records(repository, tmp_path, "--agentbench-experiment", "nothing", status=1)
    assert outcomes(found) == dict.fromkeys(STATED, FAILED)


def test_wrong_answers_fail_for_the_stated_reason(repository: Path, tmp_path: Path) -> None:
    """Each plausible wrong answer was really given, and is refused by the stated oracle alone."""
    found = records(repository, tmp_path, "--agentbench-experiment", "wrong", status=1)
    exit_codes = {task: record.agent_run.exit_code for task, record in found.items()}
    assert exit_codes == dict.fromkeys(STATED, 0)
    assert outcomes(found) == dict.fromkeys(STATED, FAILED)
    for task, stated in STATED.items():
        refusing = [row for row in found[task].oracles if not row.passed]
        assert [row.name for row in refusing] == [stated.oracle], task
        assert stated.words in refusing[0].reason, task


def test_everything_is_proved(repository: Path) -> None:
    """Solutions, doing nothing, and the tasks' own controls: everything that can be tried is."""
    require("bubblewrap")
    done = subprocess.run(
        [sys.executable, "-m", "pytest_agentbench.cli", "validate", "--run", "--json", "tasks"],
        cwd=repository,
        env={name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")},
        capture_output=True,
        text=True,
        check=False,
        timeout=600,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    tasks = {task["id"]: task["proofs"] for task in json.loads(done.stdout)["tasks"]}
    assert set(tasks) == set(STATED)
    controls = [one["what"] for proofs in tasks.values() for one in proofs]
    assert controls.count("control too-much") == 3
    unproven = {
        (one["what"], one["detail"])
        for proofs in tasks.values()
        for one in proofs
        if one["status"] != "ok"
    }
    assert unproven == {("controls", "there are none")}
