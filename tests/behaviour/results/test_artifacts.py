from __future__ import annotations

import os
import tarfile
from pathlib import Path

import pytest

from pytest_agentbench.model.outcome import Outcome
from pytest_agentbench.model.run import Change, ChangeKind, Changes, Entry, EntryKind, Output
from pytest_agentbench.redaction import Redactor
from pytest_agentbench.results.artifacts import Kept, Policy, TrialOutput, keep_artifacts
from pytest_agentbench.results.rundir import RunDirectory
from pytest_agentbench.sandboxes.workspace import build_template

SECRET = "sk-very-secret-key"


@pytest.fixture
def run(tmp_path: Path) -> RunDirectory:
    return RunDirectory.create(tmp_path / "results", run_id="some")


@pytest.fixture
def changes(tmp_path: Path) -> Changes:
    """One path of each kind, one of them with a name that is no UTF-8."""
    root = tmp_path / "root"
    (root / "pkg").mkdir(parents=True)
    (root / "pkg" / "new.sh").write_bytes(b"echo hi\n")
    (root / "data\udcff.bin").write_bytes(b"\x00\x01")
    (root / "link").symlink_to("pkg/new.sh")
    (root / "edit.txt").write_text("one\nTWO\nthree")
    template = tmp_path / "template"
    template.mkdir()
    (template / "edit.txt").write_text("one\ntwo\nthree\n")
    (template / "gone.txt").write_text("bye\n")
    file = Entry(EntryKind.FILE, size=8)
    return Changes(
        root=root,
        changes=(
            Change(b"data\xff.bin", ChangeKind.ADDED, file),
            Change(b"edit.txt", ChangeKind.MODIFIED, file),
            Change(b"gone.txt", ChangeKind.DELETED, None),
            Change(b"link", ChangeKind.ADDED, Entry(EntryKind.SYMLINK)),
            Change(b"pkg", ChangeKind.ADDED, Entry(EntryKind.DIRECTORY)),
            Change(b"pkg/new.sh", ChangeKind.ADDED, Entry(EntryKind.FILE, executable=True, size=8)),
        ),
    )


def keep(
    run: RunDirectory,
    output: TrialOutput,
    *,
    outcome: Outcome = Outcome.FAILED,
    policy: Policy = "failed",
    delta_limit: int = 10_000,
) -> Kept:
    return keep_artifacts(
        run,
        run.artifacts("fix", "codex", 1),
        output,
        outcome=outcome,
        policy=policy,
        redactor=Redactor([SECRET]),
        delta_limit=delta_limit,
    )


def kept_files(run: RunDirectory) -> list[str]:
    directory = run.artifacts("fix", "codex", 1)
    return sorted(str(one.relative_to(directory)) for one in directory.rglob("*") if one.is_file())


def whole(changes: Changes) -> TrialOutput:
    return TrialOutput(
        prompt=f"Fix it with {SECRET}.",
        stdout=Output(b"\xff" + SECRET.encode(), b"end", 1000),
        stderr=Output(b"warned", b"", 6),
        final_message=f"Used {SECRET} ä \udcff",
        changes=changes,
        template=build_template({}, changes.root.parent / "template"),
        oracles={"hidden-tests": "1 failed\n", "../sly": f"saw {SECRET}"},
    )


def test_everything_of_a_failed_trial_is_kept(run: RunDirectory, changes: Changes) -> None:
    """Words, streams, changes and each oracle's output, as bytes and without secrets."""
    assert keep(run, whole(changes)) == Kept("artifacts/fix/codex-r1")
    directory = run.path / "artifacts/fix/codex-r1"
    names = kept_files(run)
    (sly,) = (name for name in names if "sly" in name)
    assert names == sorted(
        [
            "changes.diff", "changes.tar", "final_message.txt", "oracles/hidden-tests.txt",
            "prompt.txt", "stderr.txt", "stdout.txt", sly,
        ]
    )  # fmt: skip
    assert (directory / "stdout.txt").read_bytes() == (
        b"\xff[redacted]\n[... 978 bytes left out ...]\nend"
    )
    assert (directory / "final_message.txt").read_bytes() == "Used [redacted] ä ".encode() + b"\xff"
    assert (directory / sly).read_text() == "saw [redacted]"
    for path in directory.rglob("*.*"):
        assert SECRET.encode() not in path.read_bytes()


def test_a_delta_can_be_laid_over_a_template_again(run: RunDirectory, changes: Changes) -> None:
    """The tar file holds every kind of change: bytes, modes, links, odd names and deletions."""
    keep(run, TrialOutput(changes=changes))
    with tarfile.open(run.path / "artifacts/fix/codex-r1/changes.tar") as tar:
        members = {member.name: member for member in tar}
        contents = {
            name: tar.extractfile(member).read()  # type: ignore[union-attr]
            for name, member in members.items()
            if member.isreg()
        }
    assert contents == {
        "deleted": b"gone.txt\0",
        "files/data\udcff.bin": b"\x00\x01",
        "files/edit.txt": b"one\nTWO\nthree",
        "files/pkg/new.sh": b"echo hi\n",
    }
    assert members["files/link"].linkname == "pkg/new.sh"
    assert members["files/pkg"].isdir()
    assert (members["files/pkg/new.sh"].mode, members["files/edit.txt"].mode) == (0o755, 0o644)


def test_a_diff_tells_what_changed(run: RunDirectory, changes: Changes) -> None:
    """Text as a unified diff; what is not text is named."""
    keep(run, whole(changes))
    diff = (run.path / "artifacts/fix/codex-r1/changes.diff").read_text()
    assert diff == (
        "added data\\xff.bin (file, 8 bytes)\n"
        "--- a/edit.txt\n+++ b/edit.txt\n@@ -1,3 +1,3 @@\n one\n-two\n-three\n+TWO\n+three\n"
        "\\ No newline at end of file\n"
        "--- a/gone.txt\n+++ /dev/null\n@@ -1 +0,0 @@\n-bye\n"
        "added link (symlink, 0 bytes)\n"
        "added pkg (directory, 0 bytes)\n"
        "--- /dev/null\n+++ b/pkg/new.sh\n@@ -0,0 +1 @@\n+echo hi\n"
    )


@pytest.mark.parametrize(
    ("policy", "outcome", "kept"),
    [
        ("none", Outcome.FAILED, ["changes.tar"]),
        ("failed", Outcome.PASSED, ["changes.tar"]),
        ("failed", Outcome.ERROR, ["changes.tar", "prompt.txt"]),
        ("failed", Outcome.CANCELLED, ["changes.tar", "prompt.txt"]),
        ("all", Outcome.PASSED, ["changes.tar", "prompt.txt"]),
    ],
)
def test_the_policy_decides_what_is_kept(
    run: RunDirectory, changes: Changes, policy: Policy, outcome: Outcome, kept: list[str]
) -> None:
    """The delta is kept always; the rest of what did not pass, or of all, or of nothing."""
    output = TrialOutput(prompt="Fix it.", changes=changes)
    assert keep(run, output, policy=policy, outcome=outcome).path == "artifacts/fix/codex-r1"
    assert kept_files(run) == kept


def test_nothing_to_keep_makes_no_directory(run: RunDirectory) -> None:
    """A trial that left nothing has no artifacts."""
    assert keep(run, TrialOutput(), policy="all") == Kept(None)
    assert keep(run, TrialOutput(prompt="x"), outcome=Outcome.PASSED) == Kept(None)
    assert not (run.path / "artifacts").exists()


def test_a_delta_over_the_cap_is_told(run: RunDirectory, changes: Changes) -> None:
    """A trial that cannot be scored again says so, and keeps the rest."""
    kept = keep(run, whole(changes), delta_limit=20)
    assert kept.diagnostics == (
        "changes.tar was not kept: 24 bytes are more than 20; this trial cannot be scored again",
    )
    assert "changes.tar" not in kept_files(run)
    assert "prompt.txt" in kept_files(run)


def test_a_secret_in_the_delta_is_replaced_and_told(run: RunDirectory, changes: Changes) -> None:
    """A key that an agent wrote into a file or a name is not kept; the tar file stays readable."""
    (changes.root / SECRET).write_text(f"key={SECRET}\n")
    secret = Change(SECRET.encode(), ChangeKind.ADDED, Entry(EntryKind.FILE, size=30))
    kept = keep(run, TrialOutput(changes=Changes(changes.root, (secret,))))
    assert kept.diagnostics == (
        "changes.tar held a secret, now replaced: it is not quite what was scored ([redacted])",
    )
    with tarfile.open(run.path / "artifacts/fix/codex-r1/changes.tar") as tar:
        (member,) = tar
        assert member.name == "files/[redacted]"
        assert tar.extractfile(member).read() == b"key=[redacted]\n"  # type: ignore[union-attr]


def test_the_same_changes_make_the_same_tar(
    run: RunDirectory, changes: Changes, tmp_path: Path
) -> None:
    """Neither clock nor owner enters a delta."""
    keep(run, TrialOutput(changes=changes))
    other = RunDirectory.create(tmp_path / "others", run_id="other")
    os.utime(changes.root / "edit.txt", (0, 0))
    keep(other, TrialOutput(changes=changes))
    name = "artifacts/fix/codex-r1/changes.tar"
    assert (run.path / name).read_bytes() == (other.path / name).read_bytes()


def test_long_and_binary_files_are_not_compared(run: RunDirectory, changes: Changes) -> None:
    """A diff of ten thousand lines would take longer than the trial."""
    (changes.root / "edit.txt").write_text("".join(f"{number}\n" for number in range(10_000)))
    keep(run, whole(changes))
    diff = (run.path / "artifacts/fix/codex-r1/changes.diff").read_text()
    assert "modified edit.txt: about 10000 lines added, 3 removed\n" in diff


def test_a_symlink_in_the_way_is_not_followed(run: RunDirectory, tmp_path: Path) -> None:
    """An agent without walls could lay a link where an artifact goes: the target stays."""
    victim = tmp_path / "victim"
    victim.write_text("untouched")
    directory = run.artifacts("fix", "codex", 1)
    directory.mkdir(parents=True)
    (directory / "prompt.txt").symlink_to(victim)
    kept = keep(run, TrialOutput(prompt="Fix it.", final_message="Done."))
    assert victim.read_text() == "untouched"
    assert kept.diagnostics == ("prompt.txt cannot be kept: Too many levels of symbolic links",)
    assert kept_files(run) == ["final_message.txt"]


def test_a_symlink_instead_of_a_changed_file_is_not_read(
    run: RunDirectory, changes: Changes, tmp_path: Path
) -> None:
    """What the manifest calls a file and is a link by now is not followed to the host."""
    (tmp_path / "host").write_text("private")
    (changes.root / "edit.txt").unlink()
    (changes.root / "edit.txt").symlink_to(tmp_path / "host")
    keep(run, whole(changes))
    for path in (run.path / "artifacts").rglob("*.*"):
        assert b"private" not in path.read_bytes()


def test_a_full_disk_costs_artifacts_and_no_verdict(small_disk: Path) -> None:
    """What does not fit is told; what fits is whole, and no half of a file is left."""
    run = RunDirectory.create(small_disk / "results", run_id="some")
    big = Output(b"x" * 500_000, b"", 500_000)
    kept = keep(run, TrialOutput(prompt="Fix it.", stdout=big, final_message="Done."))
    assert kept == Kept(
        "artifacts/fix/codex-r1", ("stdout.txt cannot be kept: No space left on device",)
    )
    assert kept_files(run) == ["final_message.txt", "prompt.txt"]


def test_a_run_directory_that_vanished_costs_no_verdict(tmp_path: Path) -> None:
    """Where nothing can be written, each missing file is told."""
    (tmp_path / "file").touch()
    run = RunDirectory(tmp_path / "file" / "runs" / "some")
    kept = keep(run, TrialOutput(prompt="Fix it."))
    assert kept == Kept(None, ("prompt.txt cannot be kept: Not a directory",))


def test_changes_that_vanished_cost_no_verdict(run: RunDirectory, changes: Changes) -> None:
    """A delta that cannot be read is told."""
    (changes.root / "link").unlink()
    kept = keep(run, TrialOutput(changes=changes))
    assert kept == Kept(None, ("changes.tar cannot be made: No such file or directory",))
