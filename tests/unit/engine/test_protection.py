from __future__ import annotations

from pathlib import Path

import pytest

from pytest_agentbench.engine.protection import named_paths, protected_files, protected_paths
from pytest_agentbench.model.contracts import Template
from pytest_agentbench.model.run import Change, ChangeKind, Changes, Entry, EntryKind, Manifest
from pytest_agentbench.model.task import (
    Blob,
    FileTree,
    JsonValue,
    OracleSpec,
    Position,
    Solution,
    TaskSpec,
    Workspace,
)

HERE = Position(Path("task.yaml"), 1)
FILE, DIRECTORY = Entry(EntryKind.FILE), Entry(EntryKind.DIRECTORY)

MANIFEST: Manifest = {
    b"app.py": FILE,
    b"conftest.py": FILE,
    b"data": DIRECTORY,
    b"data/a.csv": FILE,
    b"data/deep": DIRECTORY,
    b"data/deep/b.csv": FILE,
    b"data/odd\xff.csv": FILE,
    b"link.csv": Entry(EntryKind.SYMLINK),
    b"tests": DIRECTORY,
    b"tests/pytest.ini": FILE,
    b"tests/test_app.py": FILE,
    b"tests/unit/test_deep.py": FILE,
}
CONFIGURATION = {b"conftest.py", b"tests/pytest.ini"}


def check(command: JsonValue) -> OracleSpec:
    return OracleSpec("run", "check", HERE, command, visible=True)


def task(
    *checks: JsonValue, protect: tuple[str, ...] | None = None, solution: Solution | None = None
) -> TaskSpec:
    return TaskSpec(
        "fix",
        HERE,
        "Go.",
        (),
        "d",
        workspace=Workspace(protect=protect),
        checks=tuple(check(command) for command in checks),
        solution=solution,
    )


@pytest.mark.parametrize(
    ("patterns", "paths"),
    [
        (("data/*.csv",), {b"data/a.csv", b"data/odd\xff.csv"}),
        (("data/**",), {b"data/a.csv", b"data/deep/b.csv", b"data/odd\xff.csv"}),
        (("data",), {b"data/a.csv", b"data/deep/b.csv", b"data/odd\xff.csv"}),
        (("**/*.csv",), {b"data/a.csv", b"data/deep/b.csv", b"data/odd\xff.csv"}),
        (("*.py",), {b"app.py", b"conftest.py"}),
        (("app.py", "nothing"), {b"app.py"}),
        ((), set()),
    ],
)
def test_patterns_say_what_is_protected(patterns: tuple[str, ...], paths: set[bytes]) -> None:
    """``*`` ends at a slash, a directory stands for what is below, and nothing is added."""
    assert protected_paths(task("pytest tests", protect=patterns), MANIFEST) == paths


def test_without_checks_the_test_configuration_is_protected() -> None:
    """The default, wherever the template has such a file."""
    assert protected_paths(task(), MANIFEST) == CONFIGURATION


@pytest.mark.parametrize(
    ("command", "paths"),
    [
        ("python -m pytest -q tests", {b"tests/test_app.py", b"tests/unit/test_deep.py"}),
        ("python -m pytest ./tests/unit/ && true", {b"tests/unit/test_deep.py"}),
        (["pytest", "tests/test_app.py::test_one"], {b"tests/test_app.py"}),
        ("pytest tests/test_app.py; ls", {b"tests/test_app.py"}),
        (
            ["sh", "-c", "cd tests && pytest unit"],
            {b"tests/test_app.py", b"tests/unit/test_deep.py"},
        ),
        (["pytest", "--rootdir=tests/unit"], {b"tests/unit/test_deep.py"}),
        ("pytest 'tests/test_app.py", set()),
        (["pytest", "."], set()),
        ("pytest .. /tests nothing", set()),
        ({"tests/test_app.py": {"exists": True}}, set()),
    ],
)
def test_what_a_check_names_is_protected(command: JsonValue, paths: set[bytes]) -> None:
    """Files and directories among a command's words; neither the workspace nor a files table."""
    assert protected_paths(task(command), MANIFEST) == CONFIGURATION | paths


def test_what_the_solution_changes_is_not_protected(tmp_path: Path) -> None:
    """``python app.py`` is a check whose file the agent is asked to mend: that work counts."""
    patch = tmp_path / "solution.patch"
    patch.write_text(
        "diff --git a/app.py b/app.py\n--- a/app.py\t2026\n+++ b/app.py\n@@ -1 +1 @@\n-a\n+b\n"
        "--- /dev/null\n+++ b/tests/test_app.py\n"
    )
    files = Solution(tree=FileTree(files={"app.py": "", "tests/test_app.py": ""}))
    for solution in (files, Solution(patch=patch)):
        spec = task("python app.py && pytest tests", solution=solution)
        assert protected_paths(spec, MANIFEST) == CONFIGURATION | {b"tests/unit/test_deep.py"}


def test_where_no_solution_tells_only_tests_are_protected(tmp_path: Path) -> None:
    """With a script for a solution, or none, what a check names may be what is to be mended."""
    script = Solution(script=tmp_path / "solve.sh")
    for solution in (script, None):
        spec = task("python app.py && cat data/a.csv && pytest tests", solution=solution)
        assert protected_paths(spec, MANIFEST) == CONFIGURATION | {
            b"tests/test_app.py",
            b"tests/unit/test_deep.py",
        }


def test_a_files_table_names_nothing() -> None:
    """What is no command has no words."""
    assert named_paths(check({"app.py": {"exists": True}})) == frozenset()


def test_only_what_was_touched_is_restored(tmp_path: Path) -> None:
    """A changed file, one that was removed with its directory; not what is new or as it was."""
    for name in ("app.py", "tests/test_app.py", "tests/unit/test_deep.py"):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"the template's {name}")
    manifest = {**MANIFEST, b"app.py": Entry(EntryKind.FILE, executable=True)}
    changes = Changes(
        tmp_path / "left",
        (
            Change(b"app.py", ChangeKind.MODIFIED, FILE),
            Change(b"tests/new.py", ChangeKind.ADDED, FILE),
            Change(b"tests/unit", ChangeKind.MODIFIED, FILE),
        ),
    )
    wanted = [b"app.py", b"tests/test_app.py", b"tests/unit/test_deep.py"]
    assert protected_files(Template(tmp_path, manifest, "d"), changes, wanted) == {
        "app.py": Blob(b"the template's app.py", executable=True),
        "tests/unit/test_deep.py": Blob(b"the template's tests/unit/test_deep.py"),
    }
