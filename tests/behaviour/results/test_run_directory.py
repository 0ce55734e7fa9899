from __future__ import annotations

import stat
import subprocess
import sys
from pathlib import Path

import pytest

from pytest_agentbench.errors import StoreError, UsageError
from pytest_agentbench.results.rundir import RunDirectory, check_writable

RUN_ID = "20261129-131500-a1b2c3"


def files(directory: Path) -> list[str]:
    return sorted(str(path.relative_to(directory)) for path in directory.rglob("*"))


def test_a_run_directory_is_made_with_what_belongs_around_it(tmp_path: Path) -> None:
    """Making a run makes the results directory, and keeps it out of git."""
    results = tmp_path / "deep" / "results"
    run = RunDirectory.create(results, run_id=RUN_ID)
    assert run.point_latest() is None
    assert run.path == results / "runs" / RUN_ID
    assert (run.results, run.run_id) == (results, RUN_ID)
    assert files(results) == [
        ".gitignore", "latest", "runs", f"runs/{RUN_ID}", f"runs/{RUN_ID}/plans",
    ]  # fmt: skip
    assert "*" in (results / ".gitignore").read_text().splitlines()


def test_a_directory_with_files_of_others_is_not_hidden_from_git(tmp_path: Path) -> None:
    """Results in a repository's root must not make git ignore the repository."""
    (tmp_path / "README.md").touch()
    RunDirectory.create(tmp_path, run_id=RUN_ID)
    assert not (tmp_path / ".gitignore").exists()


def test_a_run_is_not_for_other_users(tmp_path: Path) -> None:
    """What hidden oracles print is readable for its owner alone."""
    run = RunDirectory.create(tmp_path / "results", run_id=RUN_ID)
    assert stat.S_IMODE(run.path.stat().st_mode) == 0o700


def test_many_processes_make_one_run_directory(tmp_path: Path) -> None:
    """Xdist's workers all make the run that the controller named, at the same time."""
    code = (
        "import sys, pathlib\n"
        "from pytest_agentbench.results.rundir import RunDirectory, check_writable\n"
        "sys.stdin.read()\n"
        "results = pathlib.Path(sys.argv[1])\n"
        "check_writable(results)\n"
        f"run = RunDirectory.create(results, run_id={RUN_ID!r})\n"
        "assert run.point_latest() is None\n"
        "(run.plans / sys.argv[2]).touch()\n"
    )
    results = tmp_path / "results"
    processes = [
        subprocess.Popen(
            [sys.executable, "-c", code, str(results), f"gw{number}.json"],
            stdin=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for number in range(6)
    ]
    for process in processes:
        if process.stdin is not None:
            process.stdin.close()  # all have waited for this
    for process in processes:
        assert (process.wait(60), process.stderr and process.stderr.read()) == (0, "")
        if process.stderr is not None:
            process.stderr.close()
    assert files(results) == [
        ".gitignore", "latest", "runs", f"runs/{RUN_ID}", f"runs/{RUN_ID}/plans",
        *(f"runs/{RUN_ID}/plans/gw{number}.json" for number in range(6)),
    ]  # fmt: skip


def test_latest_is_a_relative_link_to_the_last_run(tmp_path: Path) -> None:
    """The results can be moved as a whole, and latest names the run that was made last."""
    for run_id in ("20260101-000000-000000", RUN_ID):
        assert RunDirectory.create(tmp_path / "results", run_id=run_id).point_latest() is None
    assert (tmp_path / "results" / "latest").readlink() == Path("runs") / RUN_ID
    moved = (tmp_path / "results").rename(tmp_path / "moved")
    assert RunDirectory.open(moved / "latest").path == moved / "runs" / RUN_ID


def test_latest_is_never_missing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """While one run takes the name from another, a reader finds one of the two."""
    latest = tmp_path / "latest"
    RunDirectory.create(tmp_path, run_id="one").point_latest()
    make_link = Path.symlink_to
    found = []

    def watched(path: Path, target: str) -> None:
        found.append(RunDirectory.open(latest).run_id)
        make_link(path, target)
        found.append(RunDirectory.open(latest).run_id)

    monkeypatch.setattr(Path, "symlink_to", watched)
    assert RunDirectory.create(tmp_path, run_id="two").point_latest() is None
    assert found == ["one", "one"]
    assert RunDirectory.open(latest).run_id == "two"


def test_without_symlinks_latest_is_a_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """On file systems without symlinks, latest holds the path, and opens all the same."""

    def refuse(*_: object) -> None:
        raise OSError(1, "Operation not permitted")

    run = RunDirectory.create(tmp_path / "results", run_id=RUN_ID)
    monkeypatch.setattr(Path, "symlink_to", refuse)
    assert run.point_latest() is None
    assert (run.results / "latest").read_text() == f"runs/{RUN_ID}\n"
    assert RunDirectory.open(run.results / "latest").path == run.path


def test_a_latest_that_cannot_be_replaced_is_told(tmp_path: Path) -> None:
    """A directory of that name is left alone; the run goes on, and nothing is left behind."""
    run = RunDirectory.create(tmp_path / "results", run_id=RUN_ID)
    (run.results / "latest").mkdir()
    trouble = run.point_latest()
    assert trouble == f"{run.results / 'latest'}: cannot be replaced: Is a directory"
    assert {path.name for path in run.results.iterdir()} == {".gitignore", "latest", "runs"}


def test_opening_what_is_no_run_is_an_error(tmp_path: Path) -> None:
    """A wrong path is named, with an advice."""
    with pytest.raises(StoreError, match=r"no such run\. Try: name a directory below runs/"):
        RunDirectory.open(tmp_path / "missing")
    (tmp_path / "latest").write_bytes(b"\xff\x00")
    with pytest.raises(StoreError, match="latest: cannot be read"):
        RunDirectory.open(tmp_path / "latest")


def test_checking_leaves_nothing_but_the_directory(tmp_path: Path) -> None:
    """The file that was written to try is gone."""
    check_writable(tmp_path / "results")
    assert files(tmp_path / "results") == [".gitignore", "runs"]


def refuse_all(results: Path, why: str) -> None:
    with pytest.raises(UsageError) as refusal:
        check_writable(results)
    assert str(refusal.value) == (
        f"results directory {results}: cannot be written: {why}."
        " Try: name a directory that can be written with --agentbench-results"
    )


def test_a_file_in_the_way_is_refused(tmp_path: Path) -> None:
    """Results that would lie in or below a file are refused before anything runs."""
    (tmp_path / "file").touch()
    refuse_all(tmp_path / "file", "File exists")
    refuse_all(tmp_path / "file" / "results", "Not a directory")
    with pytest.raises(StoreError, match=r"run directory .*: cannot be made: File exists"):
        RunDirectory.create(tmp_path / "file", run_id=RUN_ID)


def test_a_place_that_takes_no_files_is_refused() -> None:
    """/proc exists and takes no directories."""
    refuse_all(Path("/proc/agentbench"), "No such file or directory")


def test_a_readonly_disk_is_refused(readonly_disk: Path) -> None:
    """A read-only mount is refused also for root."""
    refuse_all(readonly_disk / "results", "Read-only file system")


def test_a_full_disk_is_refused(small_disk: Path) -> None:
    """A disk that takes an empty file, and nothing in it, is refused."""
    (small_disk / "results" / "runs").mkdir(parents=True)
    (small_disk / "filler").write_bytes(bytes(252 * 1024))
    refuse_all(small_disk / "results", "No space left on device")
    assert files(small_disk / "results" / "runs") == []
