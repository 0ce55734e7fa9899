"""What tasks own on disk."""

from __future__ import annotations

from pathlib import Path

import pytest

from pytest_agentbench.candidates import Candidates
from pytest_agentbench.taskfiles.claims import Claims
from pytest_agentbench.taskfiles.loader import load_task_file
from pytest_agentbench.taskfiles.ownership import Ownership

BODY = "prompt: p\noracles: [{run: x}]\n"


class Tree:
    """A root directory, written by ``put``, and the ownership in it."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.candidates = Candidates(root, ("tasks",))
        self.ownership = Ownership(Claims(self.candidates, configured=False))

    def put(self, files: dict[str, str]) -> None:
        """Write files by name."""
        for name, text in files.items():
            path = self.root / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)

    def owner(self, name: str) -> str | None:
        """The owner's name below the root."""
        found = self.ownership.owner(self.root / name)
        return None if found is None else found.relative_to(self.root).as_posix()

    def misplaced(self, name: str) -> str | None:
        """The outer task file's name below the root."""
        found = self.ownership.misplaced(self.root / name)
        return None if found is None else found.relative_to(self.root).as_posix()


@pytest.fixture
def tree(tmp_path: Path) -> Tree:
    """An empty root."""
    root = tmp_path / "root"
    root.mkdir()
    return Tree(root)


def test_named_paths(tree: Tree) -> None:
    """What a task file names is its own, whole directories included; the rest beside it is not."""
    tree.put(
        {
            "tasks/fix.yaml": "prompt_file: p.md\nworkspace: ws\n"
            "oracles: [{pytest: hidden/test_x.py}, {run: x, assets: {copy: as}}]\n"
            "solution: {run: solve.py}\ndataset: {path: rows.jsonl}\n",
            "tasks/ws/conftest.py": "",
            "tasks/ws/deep/test_a.py": "",
            "tasks/ws/task.yaml": BODY,
            "tasks/hidden/test_x.py": "",
            "tasks/hidden/test_y.py": "",
            "tasks/as/a.py": "",
            "tasks/solve.py": "",
            "tasks/test_own.py": "",
        }
    )
    for name in ("ws", "ws/conftest.py", "ws/deep", "ws/deep/test_a.py", "hidden/test_x.py"):
        assert tree.owner(f"tasks/{name}") == "tasks/fix.yaml", name
    for name in ("as", "as/a.py", "solve.py", "p.md", "rows.jsonl"):
        assert tree.owner(f"tasks/{name}") == "tasks/fix.yaml", name
    for name in ("fix.yaml", "hidden", "hidden/test_y.py", "test_own.py"):
        assert tree.owner(f"tasks/{name}") is None, name
    assert tree.owner("tasks") is None
    assert tree.owner("tasks/ws/task.yaml") == "tasks/fix.yaml"
    assert tree.misplaced("tasks/ws/task.yaml") is None


def test_directory_of_task_yaml(tree: Tree) -> None:
    """All below the directory of a task.yaml is its own, but for its conftest and its peers."""
    tree.put(
        {
            "any/fix/task.yaml": BODY,
            "any/fix/conftest.py": "",
            "any/fix/other.task.yaml": "prompt: p\noracles: [{pytest: peer}]\n",
            "any/fix/peer/test_p.py": "",
            "any/fix/test_a.py": "",
            "any/fix/tests/conftest.py": "",
            "any/test_b.py": "",
        }
    )
    assert tree.owner("any/fix/test_a.py") == "any/fix/task.yaml"
    assert tree.owner("any/fix/tests") == "any/fix/task.yaml"
    assert tree.owner("any/fix/tests/conftest.py") == "any/fix/task.yaml"
    assert tree.owner("any/fix/peer/test_p.py") == "any/fix/other.task.yaml"
    for name in ("any/fix", "any/fix/task.yaml", "any/fix/other.task.yaml", "any/fix/conftest.py"):
        assert tree.owner(name) is None, name
        assert tree.misplaced(name) is None, name
    assert tree.owner("any/test_b.py") is None


def test_misplaced_tasks(tree: Tree) -> None:
    """A task file deeper below a task.yaml is found, its directories are open, the rest owned."""
    tree.put(
        {
            "tasks/fix/task.yaml": "prompt: p\nworkspace: ws\noracles: [{run: x}]\n",
            "tasks/fix/ws/task.yaml": BODY,
            "tasks/fix/sub/deep/task.yaml": BODY,
            "tasks/fix/sub/test_a.py": "",
            "tasks/fix/beside.yaml": BODY,
            "tasks/fix/data.yaml": "a: 1",
            "tasks/fix/plain/x.py": "",
        }
    )
    outer = "tasks/fix/task.yaml"
    for name in ("sub/deep/task.yaml", "beside.yaml"):
        assert tree.owner(f"tasks/fix/{name}") is None
        assert tree.misplaced(f"tasks/fix/{name}") == outer
    for name in ("sub", "sub/deep"):
        assert tree.owner(f"tasks/fix/{name}") is None
        assert tree.misplaced(f"tasks/fix/{name}") is None
    for name in ("sub/test_a.py", "plain", "plain/x.py", "data.yaml", "ws/task.yaml", "ws"):
        assert tree.owner(f"tasks/fix/{name}") == outer, name
        assert tree.misplaced(f"tasks/fix/{name}") is None


@pytest.mark.parametrize(
    "text",
    [
        "prompt: [broken\nworkspace: ws\noracles:\n  - pytest: 'hid'\n",
        "prompt: p\nworkspace: {copy: ws}\noracles: [{pytest: hid}]\nprompt: twice\n",
        "prompt: 3\nworkspace: ws\noracles:\n  - {pytest: hid, weight: -1}\n  - 7\n",
        "prompt: p\n\tx\nworkspace: {copy: ws}\noracles:\n- pytest: hid # c\n",
    ],
)
def test_broken_files_own_too(tree: Tree, text: str) -> None:
    """A task file that is wrong still owns what it names, as far as that can be seen."""
    tree.put({"tasks/t.yaml": text, "tasks/ws/a.py": "", "tasks/hid/test_a.py": ""})
    assert tree.owner("tasks/ws/a.py") == "tasks/t.yaml"
    assert tree.owner("tasks/hid/test_a.py") == "tasks/t.yaml"


@pytest.mark.parametrize("text", ["", "\x00", "- a\n", "workspace: [1]\noracles: {}\nprompt: {}\n"])
def test_hopeless_files_own_nothing(tree: Tree, text: str) -> None:
    """From whatever a claimed file holds, asking does not fail."""
    tree.put({"tasks/t.task.yaml": text})
    assert tree.owner("tasks/a.py") is None


def test_naming_the_own_directory_owns_no_siblings(tree: Tree) -> None:
    """A file that wrongly names its own directory is wrong; its neighbours do not vanish for it."""
    tree.put({"tasks/t.yaml": BODY + "workspace: .\n", "tasks/test_a.py": ""})
    assert tree.owner("tasks/test_a.py") is None


def test_paths_of_rows(tree: Tree) -> None:
    """Of a path with a placeholder, the fixed directory is owned."""
    tree.put(
        {
            "tasks/t.yaml": "prompt: p\nworkspace: 'ws/{{ row.a }}'\noracles: [{run: x}]\n"
            "dataset: {path: r.jsonl}\n",
            "tasks/ws/one/a.py": "",
        }
    )
    assert tree.owner("tasks/ws/one/a.py") == "tasks/t.yaml"


def test_symlinks(tree: Tree) -> None:
    """A path is owned under each of its names, through symlinks in both directions."""
    tree.put(
        {
            "tasks/t.yaml": BODY + "workspace: link\n",
            "tasks/real/test_a.py": "",
            "elsewhere/x.py": "",
        }
    )
    (tree.root / "tasks" / "link").symlink_to("real")
    (tree.root / "elsewhere" / "back").symlink_to("../tasks/real")
    for name in ("tasks/link/test_a.py", "tasks/real/test_a.py", "elsewhere/back/test_a.py"):
        assert tree.owner(name) == "tasks/t.yaml", name
    assert tree.owner("elsewhere/x.py") is None


def test_root_behind_a_symlink(tmp_path: Path) -> None:
    """A session whose root is reached through a symlink sees the same ownership."""
    real = Tree(tmp_path / "real")
    real.put({"tasks/t.yaml": BODY + "workspace: ws\n", "tasks/ws/a.py": ""})
    (tmp_path / "way").symlink_to("real")
    through = Tree(tmp_path / "way")
    assert through.owner("tasks/ws/a.py") == "tasks/t.yaml"
    assert through.ownership.owner(real.root / "tasks" / "ws" / "a.py") is not None


def test_outside(tree: Tree) -> None:
    """Paths outside the root directory belong to nobody."""
    tree.put({"task.yaml": BODY, "a.py": ""})
    assert tree.owner("a.py") == "task.yaml"
    assert tree.owner("../other.py") is None
    assert tree.owner("..") is None
    assert tree.owner(".") is None


def test_file_that_changes_after_it_was_asked_about(tree: Tree) -> None:
    """Ownership's parsed file serves the loader once, and not when it has changed since."""
    tree.put({"tasks/t.yaml": BODY, "tasks/a.py": ""})
    assert tree.owner("tasks/a.py") is None
    tree.put({"tasks/t.yaml": BODY + "id: another\n"})
    (task,) = load_task_file(tree.root / "tasks" / "t.yaml", rootdir=tree.root)
    assert task.id == "another"
