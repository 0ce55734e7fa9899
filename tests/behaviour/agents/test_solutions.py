"""Reference solutions, in all their forms, in real sandboxes."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from behaviour.agents.arena import Arena

from pytest_agentbench.errors import SetupError
from pytest_agentbench.model.task import FileTree, SandboxSpec, Solution

BEFORE = {"a.txt": "one\ntwo\nthree\n", "sub/b.txt": "old\n", "gone.txt": "x\n", "keep": "k\n"}
PATCH = """\
--- a/a.txt
+++ b/a.txt
@@ -1,3 +1,3 @@
 one
-two
+2
 three
--- a/gone.txt
+++ /dev/null
@@ -1 +0,0 @@
-x
--- a/sub/b.txt
+++ b/sub/b.txt
@@ -1 +1 @@
-old
+new
--- /dev/null
+++ b/sub/deep/c.txt
@@ -0,0 +1 @@
+added
"""
AFTER = {
    "a.txt": b"one\n2\nthree\n",
    "gone.txt": None,
    "sub/b.txt": b"new\n",
    "sub/deep/c.txt": b"added\n",
}


def patch(tmp_path: Path, content: str | bytes = PATCH) -> Solution:
    path = tmp_path / "solution.patch"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return Solution(patch=path)


def script(tmp_path: Path, text: str, mode: int = 0o644) -> Solution:
    path = tmp_path / "solve.sh"
    path.write_text(text)
    path.chmod(mode)
    return Solution(script=path)


def git_diff(tmp_path: Path, before: dict[str, bytes], after: dict[str, bytes]) -> bytes:
    """What git itself says leads from one tree to the other."""
    for side, files in (("a", before), ("b", after)):
        (tmp_path / side).mkdir()
        for name, data in files.items():
            (tmp_path / side / name).write_bytes(data)
    done = subprocess.run(
        ["git", "diff", "--no-index", "--binary", "--no-prefix", "a", "b"],
        cwd=tmp_path,
        capture_output=True,
        check=False,
    )
    assert done.returncode == 1
    return done.stdout


def test_patch_changes_adds_and_deletes(arena: Arena, tmp_path: Path) -> None:
    """A patch is applied whole: changed, new and deleted files, in directories too."""
    played = arena.play("reference", workspace=BEFORE, solution=patch(tmp_path))
    assert played.changes == AFTER
    assert played.run.completed is None


def test_tree_is_laid_over_the_workspace(arena: Arena) -> None:
    """Files of a solution replace those of the workspace; all others stay."""
    tree = FileTree(files={"a.txt": "new\n", "x/y": "#!/bin/sh\n"})
    played = arena.play("reference", workspace=BEFORE, solution=Solution(tree=tree))
    assert played.changes == {"a.txt": b"new\n", "x/y": b"#!/bin/sh\n"}
    assert played.executable == {"x/y"}


def test_directory_is_laid_over_the_workspace(arena: Arena, tmp_path: Path) -> None:
    """A directory of any bytes is a solution, too."""
    home = tmp_path / "solution"
    (home / "sub").mkdir(parents=True)
    (home / "sub/b.txt").write_bytes(b"\xff\x00\r\n")
    tree = FileTree(directory=home)
    played = arena.play("reference", workspace=BEFORE, solution=Solution(tree=tree))
    assert played.changes == {"sub/b.txt": b"\xff\x00\r\n"}


def test_script_runs_in_the_workspace(arena: Arena, tmp_path: Path) -> None:
    """A script that is not executable is run by sh, in the workspace, and its words are kept."""
    solution = script(tmp_path, "cat a.txt > copy.txt\necho done\n")
    played = arena.play("reference", workspace=BEFORE, solution=solution)
    assert played.changes == {"copy.txt": b"one\ntwo\nthree\n"}
    assert (played.exit_code, played.run.transcript.final_message) == (0, "done")


def test_executable_script_names_its_interpreter(arena: Arena, tmp_path: Path) -> None:
    """An executable script with a first line of its own is run by what that line names."""
    text = "#!/usr/bin/env python3\nopen('out.txt', 'w').write('py')\n"
    played = arena.play("reference", solution=script(tmp_path, text, 0o755))
    assert played.changes == {"out.txt": b"py"}


def test_first_line_of_a_plain_script_is_a_comment(arena: Arena, tmp_path: Path) -> None:
    """A script that is not executable is run by sh, whatever its first line says."""
    played = arena.play("reference", solution=script(tmp_path, "#!/no/such\necho x > a\n"))
    assert played.changes == {"a": b"x\n"}


def test_script_that_fails_is_judged_all_the_same(arena: Arena, tmp_path: Path) -> None:
    """A script's exit code and what it did before are reported, not raised."""
    played = arena.play("reference", solution=script(tmp_path, "echo x > a\nexit 3\n"))
    assert (played.exit_code, played.changes) == (3, {"a": b"x\n"})


def test_script_has_the_trials_time(arena: Arena, tmp_path: Path) -> None:
    """A script that hangs is ended by the trial's limit."""
    played = arena.play("reference", solution=script(tmp_path, "sleep 60\n"), time_s=0.5)
    assert played.run.timed_out


def test_crlf_and_binary_patches(arena: Arena, tmp_path: Path) -> None:
    """A patch keeps line ends as they are, and may hold binary files."""
    before = {"crlf.txt": b"a\r\nb\r\n", "mixed": b"a\r\nb\n", "bin": bytes(range(256))}
    after = {"crlf.txt": b"a\r\nc\r\n", "mixed": b"a\nb\r\n", "bin": bytes(range(255, -1, -1))}
    diff = git_diff(tmp_path, before, after)
    played = arena.play("reference", workspace=before, solution=patch(tmp_path, diff))
    assert played.changes == after


def test_workspace_in_a_repository_of_others(local: Arena, tmp_path: Path) -> None:
    """A workspace that lies below another git repository is patched, and nothing is skipped."""
    before, after = {"a.txt": b"one\n"}, {"a.txt": b"two\n", "b.txt": b"new\n"}
    diff = git_diff(tmp_path, before, after)
    subprocess.run(["git", "init", "-q", tmp_path], check=True)
    played = local.play("reference", workspace=before, solution=patch(tmp_path, diff))
    assert played.changes == after


def test_configuration_in_the_workspace_is_not_obeyed(arena: Arena, tmp_path: Path) -> None:
    """A repository in the workspace has no say: neither its filters nor its programs run."""
    config = (
        '[core]\n\tfsmonitor = "touch fsmonitor-ran; false"\n\tautocrlf = true\n'
        '[filter "evil"]\n\tsmudge = touch filter-ran\n\tclean = touch filter-ran\n'
        "\trequired = true\n"
    )
    repository = {
        ".git/HEAD": "ref: refs/heads/main\n",
        ".git/config": config,
        ".git/objects/info/x": "",
        ".git/refs/x": "",
        ".gitattributes": "* filter=evil\n",
    }
    solution = patch(tmp_path)
    played = arena.play("reference", workspace=BEFORE | repository, solution=solution)
    assert played.changes == AFTER


def test_patch_that_does_not_apply(arena: Arena, tmp_path: Path) -> None:
    """A patch that does not fit is a set-up error, in git's words, and changes nothing."""
    with pytest.raises(SetupError) as caught:
        arena.play("reference", workspace={"a.txt": "else\n"}, solution=patch(tmp_path))
    assert str(caught.value).startswith(
        "solution.patch: the patch does not apply: error: patch failed: a.txt:1\n"
    )


@pytest.mark.parametrize("name", ["../out.txt", "/tmp/out.txt"])
def test_patch_stays_in_the_workspace(arena: Arena, tmp_path: Path, name: str) -> None:
    """A patch that names a path outside the workspace is refused."""
    text = f"--- /dev/null\n+++ b/{name}\n@@ -0,0 +1 @@\n+x\n"
    with pytest.raises(SetupError, match="does not apply"):
        arena.play("reference", solution=patch(tmp_path, text))


def test_patch_without_git(local: Arena, tmp_path: Path) -> None:
    """Where git is not there, patch does it."""
    bin_dir = tools(tmp_path, "patch")
    local.sandbox_spec = SandboxSpec(env={"PATH": str(bin_dir)})
    played = local.play("reference", workspace=BEFORE, solution=patch(tmp_path))
    assert played.changes == AFTER


def test_patch_without_git_is_as_exact(local: Arena, tmp_path: Path) -> None:
    """Patch is not allowed to guess, either: what does not fit is an error."""
    local.sandbox_spec = SandboxSpec(env={"PATH": str(tools(tmp_path, "patch"))})
    shifted = PATCH.replace(" one\n", " uno\n")
    with pytest.raises(SetupError, match="does not apply"):
        local.play("reference", workspace=BEFORE, solution=patch(tmp_path, shifted))


def test_patch_without_any_tool(local: Arena, tmp_path: Path) -> None:
    """Without git and patch, the error says what to do."""
    local.sandbox_spec = SandboxSpec(env={"PATH": str(tools(tmp_path))})
    with pytest.raises(SetupError) as caught:
        local.play("reference", workspace=BEFORE, solution=patch(tmp_path))
    assert str(caught.value) == (
        "solution.patch: neither git nor patch is there to apply it. "
        "Try: install git, or give the solution as a directory of files"
    )


def test_solution_that_is_gone(arena: Arena, tmp_path: Path) -> None:
    """A solution that was deleted since it was collected is a set-up error that names it."""
    with pytest.raises(SetupError) as caught:
        arena.play("reference", solution=Solution(patch=tmp_path / "gone.patch"))
    assert str(caught.value) == (
        "gone.patch: the solution cannot be read: No such file or directory"
    )


def test_task_without_solution(arena: Arena) -> None:
    """The reference agent refuses a task that has no solution."""
    with pytest.raises(SetupError) as caught:
        arena.play("reference")
    assert str(caught.value) == (
        "fix: the task has no solution for the reference agent to apply. "
        "Try: add `solution:` to the task, or leave it out of this run"
    )


def test_noop_does_nothing(arena: Arena) -> None:
    """The noop agent changes nothing, says nothing and used nothing that anybody reported."""
    played = arena.play("noop", workspace=BEFORE)
    assert played.changes == {}
    assert played.run.completed is None
    assert played.run.transcript.final_message is None
    assert played.run.transcript.usage.input_tokens is None


def tools(tmp_path: Path, *names: str) -> Path:
    """A directory for PATH with these programs, and no other."""
    home = tmp_path / "bin"
    home.mkdir()
    for name in names:
        (home / name).symlink_to(f"/usr/bin/{name}")
    return home
