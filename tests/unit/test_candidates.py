"""Which files may be task files, and which paths may belong to one."""

from __future__ import annotations

import subprocess
import sys
from itertools import chain
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_agentbench.candidates import Candidates
from pytest_agentbench.taskfiles.claims import Claims
from pytest_agentbench.taskfiles.ownership import Ownership

TASK = "prompt: p\nworkspace: ws\noracles: [{pytest: hidden}]\n"


def write(root: Path, *names: str, text: str = "a: 1\n") -> None:
    for name in names:
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("task.yaml", True),
        ("deep/er/x.task.yml", True),
        ("tasks/any.yaml", True),
        ("tasks/.yaml", True),
        ("tasks/deep/any.yml", True),
        ("tasks/../tasks/any.yml", True),
        ("tasks/../any.yml", False),
        ("tasks/notes.md", False),
        ("tasks2/any.yaml", False),
        ("mkdocs.yml", False),
        (".pre-commit-config.yaml", False),
        ("agentbench.yaml", False),
    ],
)
def test_by_name_and_place(tmp_path: Path, name: str, *, expected: bool) -> None:
    """A candidate has a task file's name, or is a YAML file below a directory of tasks."""
    assert Candidates(tmp_path, ("tasks",)).has(tmp_path / name) is expected


def test_root_as_directory(tmp_path: Path) -> None:
    """With the root itself as a directory of tasks, experiment files are no candidates."""
    candidates = Candidates(tmp_path, (".",))
    assert candidates.has(tmp_path / "any.yaml")
    assert candidates.has(tmp_path / "deep" / "agentbench.yaml")
    assert not candidates.has(tmp_path / "agentbench.yaml")
    assert not candidates.has(tmp_path / "experiments" / "any.yaml")


def test_ordinary_projects_own_nothing(tmp_path: Path) -> None:
    """YAML of everybody's tools, and an experiments directory without any, lead to no owner."""
    write(tmp_path, "mkdocs.yml", ".pre-commit-config.yaml", ".github/workflows/ci.yml")
    write(
        tmp_path, "src/config.yaml", "experiments/train.py", "tests/data/x.yaml", "tests/test_a.py"
    )
    (tmp_path / "link").symlink_to("tests")
    candidates = Candidates(tmp_path, ("tasks",))
    for path in (tmp_path, *tmp_path.rglob("*"), tmp_path / "link" / "test_a.py"):
        assert not candidates.may_own(path), path


@pytest.mark.parametrize(
    "name",
    ["task.yaml", "a/task.yml", "a/b/x.task.yaml", "agentbench.yml", "experiments/wide.yaml"],
)
def test_one_file_opens_the_question(tmp_path: Path, name: str) -> None:
    """Below a candidate, and anywhere beside an experiment file, a path may be owned."""
    write(tmp_path, name, "a/b/test_x.py")
    assert Candidates(tmp_path, ("tasks",)).may_own(tmp_path / "a" / "b" / "test_x.py")


def test_only_what_lies_below(tmp_path: Path) -> None:
    """A candidate in one directory asks nothing of the directories beside it."""
    write(tmp_path, "tasks/fix.yaml", "tasks/test_x.py", "tests/test_y.py")
    candidates = Candidates(tmp_path, ("tasks",))
    assert candidates.may_own(tmp_path / "tasks" / "test_x.py")
    assert not candidates.may_own(tmp_path / "tests" / "test_y.py")


def test_through_symlinks(tmp_path: Path) -> None:
    """A link into what a task may own is seen: to a directory, and to a file."""
    write(tmp_path, "tasks/fix.yaml", "tasks/hidden/test_x.py", "tests/test_y.py")
    (tmp_path / "tests" / "link").symlink_to("../tasks/hidden")
    (tmp_path / "tests" / "test_z.py").symlink_to("../tasks/hidden/test_x.py")
    candidates = Candidates(tmp_path, ("tasks",))
    for name in ("link", "link/test_x.py", "test_z.py"):
        assert candidates.may_own(tmp_path / "tests" / name), name
    assert not candidates.may_own(tmp_path / "tests" / "test_y.py")


def test_elsewhere(tmp_path: Path) -> None:
    """Of a path outside of the root, all directories above count, and the root itself is one."""
    write(tmp_path, "root/a.py", "other/task.yaml", "other/deep/test_x.py", "free/test_y.py")
    candidates = Candidates(tmp_path / "root", ("tasks",))
    assert candidates.may_own(tmp_path / "other" / "deep" / "test_x.py")
    assert not candidates.may_own(tmp_path / "free" / "test_y.py")
    assert not candidates.may_own(tmp_path / "root")
    assert not candidates.may_own(Path("/"))
    write(tmp_path, "task.yaml")
    outer = Candidates(tmp_path / "root", ("tasks",))
    assert outer.may_own(tmp_path / "root")
    assert not outer.may_own(tmp_path / "root" / "a.py")


NAMES = st.sampled_from(
    (
        *("task.yaml", "x.task.yml", "tasks/fix.yaml", "tasks/a/task.yaml", "tests/b/task.yaml"),
        *("mkdocs.yml", "agentbench.yaml", "experiments/e.yaml", "tests/b/c.yaml"),
    )
)
EXPERIMENT = "variants: {v: {agent: noop, overlay: ../tests}}\n"
LINKS = st.sampled_from([("tests/l", "../tasks"), ("tasks/l", "../tests"), ("l", "tests/b")])


@given(files=st.sets(NAMES, max_size=4), links=st.sets(LINKS, max_size=2), here=st.booleans())
def test_no_is_final(
    tmp_path_factory: pytest.TempPathFactory,
    files: set[str],
    links: set[tuple[str, str]],
    here: bool,  # noqa: FBT001 - drawn
) -> None:
    """Whatever ownership and claims say yes to has been a candidate, seen through any link."""
    real = tmp_path_factory.mktemp("tree") / "root"
    write(real, "tests/b/ws/test_a.py", "tasks/ws/test_b.py", "tasks/a/hidden/test_c.py", "x.py")
    for name in files:
        write(real, name, text=EXPERIMENT if name.startswith(("agentbench", "exp")) else TASK)
    for name, target in links:
        (real / name).symlink_to(target)
    root = real if here else real.with_name("way")
    if not here:
        root.symlink_to("root")
    ownership = Ownership(Claims(Candidates(root, ("tasks",)), configured=False))
    found = list(real.rglob("*"))
    found += [inner for path in found if path.is_symlink() for inner in path.iterdir()]
    written = [root / path.relative_to(real) for path in found]
    for path in chain(written, found, [root, real]):
        candidates = Candidates(root, ("tasks",))
        assert candidates.may_own(path) or ownership.owner(path) is None, path
        assert candidates.has(path) or not ownership.claims.claims(path), path


def test_imports_nothing() -> None:
    """Asked in every session, it brings no module but itself."""
    script = (
        "import os, pathlib, sys\n"
        "import pytest_agentbench\n"
        "before = set(sys.modules)\n"
        "import pytest_agentbench.candidates\n"
        "added = set(sys.modules) - before\n"
        "assert added == {'pytest_agentbench.candidates'}, added\n"
    )
    subprocess.run([sys.executable, "-c", script], check=True)
