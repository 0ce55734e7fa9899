"""The ``agentbench`` command, on runs that are made here."""

from __future__ import annotations

import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path

import pytest

import pytest_agentbench
from pytest_agentbench.cli import main
from pytest_agentbench.model.outcome import Outcome, Reason
from pytest_agentbench.model.plan import Plan, PlannedTrial
from pytest_agentbench.model.record import Record
from pytest_agentbench.results.manifest import RunManifest, write_manifest
from pytest_agentbench.results.plans import write_plan, write_process_plan
from pytest_agentbench.results.rundir import RunDirectory
from pytest_agentbench.results.store import RecordStore

NOW = datetime(2026, 11, 29, 13, 15, tzinfo=UTC)


def planned(task: str, repeat: int) -> PlannedTrial:
    key = f"{task}[mine-r{repeat}]"
    return PlannedTrial(
        key=key,
        nodeid=f"tasks/{task}.yaml::{key}",
        task=task,
        variant="mine",
        repeat=repeat,
        agent="command",
    )


def recorded(trial: PlannedTrial, outcome: Outcome, reason: Reason | None = None) -> Record:
    return Record(
        key=trial.key,
        task=trial.task,
        variant=trial.variant,
        repeat=trial.repeat,
        nodeid=trial.nodeid,
        agent=trial.agent,
        model=None,
        outcome=outcome,
        reason=reason,
    )


def make_run(results: Path, *, finished: bool = True) -> RunDirectory:
    """Two tasks twice: a passed, a failed and a passed trial; the fourth never ran."""
    run = RunDirectory.create(results, run_id="20261129-131500-a1b2c3")
    trials = [planned(task, repeat) for repeat in (1, 2) for task in ("add", "fix")]
    plan = Plan(trials=trials)
    write_process_plan(run, "main", plan)
    if finished:
        write_plan(run.plan, plan)
    write_manifest(
        run.manifest,
        RunManifest(
            run_id=run.run_id,
            harness="0.1.0",
            pytest="9.2.0",
            python="3.11",
            platform="Linux",
            arguments=["tasks"],
            variants=["mine"],
            sandboxes=["local"],
            started_at=NOW.isoformat(),
            finished_at=NOW.isoformat() if finished else None,
            exit_status=1 if finished else None,
        ),
    )
    store = RecordStore(run.records)
    for trial, outcome, reason in zip(
        trials,
        (Outcome.PASSED, Outcome.FAILED, Outcome.PASSED),
        (None, Reason.ORACLE, None),
        strict=False,
    ):
        store.append(recorded(trial, outcome, reason))
    store.close()
    run.point_latest()
    return run


def test_report_prints_the_latest_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Without a name the latest run is reported, every task with its counts."""
    make_run(tmp_path / ".agentbench")
    monkeypatch.chdir(tmp_path)
    assert main(["report"]) == 0
    output = capsys.readouterr().out
    lines = output.splitlines()
    assert lines[0] == "run 20261129-131500-a1b2c3, exit status 1"
    assert "4 planned: 2 passed, 1 failed, 0 error, 0 skipped, 1 cancelled" in lines
    assert [line.split()[:4] for line in lines if line.startswith(("mine ", "add ", "fix "))] == [
        ["mine", "4", "2", "1"],
        ["add", "2", "2", "0"],
        ["fix", "2", "0", "1"],
    ]
    assert lines[-1] == "results: .agentbench/runs/20261129-131500-a1b2c3"


@pytest.mark.parametrize("name", ["20261129-131500-a1b2c3", "latest", "directory"])
def test_a_run_is_found_by_id_and_by_directory(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], name: str
) -> None:
    """An id, a directory and ``latest`` name the same run."""
    run = make_run(tmp_path / "results")
    name = str(run.path) if name == "directory" else name
    assert main(["report", name, "--results", str(tmp_path / "results")]) == 0
    assert capsys.readouterr().out.startswith("run 20261129-131500-a1b2c3, ")


def test_a_killed_run_is_reported_from_what_is_there(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A run without an end has its title say so, and a torn last line is told."""
    run = make_run(tmp_path, finished=False)
    with run.records.open("ab") as stream:
        stream.write(b'{"schema_version": 1, "key": "fix[mi')
    assert main(["report", "--results", str(tmp_path)]) == 0
    output = capsys.readouterr().out
    assert output.startswith(f"run {run.run_id}, which is not finished or was killed\n")
    assert "4 planned: 2 passed, 1 failed, 0 error, 0 skipped, 1 cancelled" in output
    assert "records.jsonl:4: the last line was not written to its end" in output


NO_RUN_YET = (
    "agentbench: .agentbench: there is no run yet. Try: run pytest on some tasks first, "
    "or name another directory with --results\n"
)
NO_SUCH_RUN = (
    "agentbench: nonsense: no such run. Try: name a directory below runs/ of the results\n"
)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [(["report"], NO_RUN_YET), (["report", "nonsense"], NO_SUCH_RUN)],
)
def test_a_missing_run_is_said_in_one_line(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    arguments: list[str],
    message: str,
) -> None:
    """A run that is not there ends with status 2 and one line on standard error."""
    monkeypatch.chdir(tmp_path)
    assert main(arguments) == 2
    assert capsys.readouterr() == ("", message)
    assert list(tmp_path.iterdir()) == []


def test_a_directory_without_a_manifest_is_no_run(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """An existing directory that holds no run is refused, not reported as empty."""
    assert main(["report", str(tmp_path)]) == 2
    assert f"agentbench: {tmp_path}/manifest.json: cannot be read" in capsys.readouterr().err


def test_the_installed_command_says_its_version() -> None:
    """The console script runs, and knows the package's version."""
    script = Path(sys.executable).parent / "agentbench"
    done = subprocess.run([script, "--version"], capture_output=True, text=True, check=True)
    assert done.stdout == f"agentbench {pytest_agentbench.__version__}\n"


def test_help_names_the_commands(capsys: pytest.CaptureFixture[str]) -> None:
    """``--help`` lists each command with what it does."""
    with pytest.raises(SystemExit) as ending:
        main(["--help"])
    assert ending.value.code == 0
    assert "report    print the summary of a run" in " ".join(
        capsys.readouterr().out.split("\n")
    ).replace("     ", "    ")
