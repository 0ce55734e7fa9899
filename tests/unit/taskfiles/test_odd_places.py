"""Paths that lead astray, and things that are no files: their whole messages."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import chdir
from pathlib import Path

import pytest

from pytest_agentbench.errors import DefinitionError
from pytest_agentbench.taskfiles.loader import load_task_file

OK = "prompt: p\noracles: [{run: x}]\n"


def bind(place: Path) -> None:
    """Make a socket, by a name that is short enough for it."""
    with chdir(place.parent), socket.socket(socket.AF_UNIX) as made:
        made.bind(place.name)


@pytest.fixture
def places(project: Path) -> Path:
    """The project with links, a pipe, a socket and a device in its tasks' directory."""
    tasks = project / "tasks"
    (project / "tasks-other").mkdir()
    (tasks / "sibling").symlink_to("../tasks-other")
    (tasks / "round").symlink_to("round")
    (tasks / "nowhere").symlink_to("gone")
    (tasks / "zero").symlink_to("/dev/zero")
    (tasks / "latin.py").write_bytes(b"caf\xe9")
    os.mkfifo(tasks / "pipe")
    bind(tasks / "socket")
    return project


PATHS: dict[str, tuple[str, str]] = {
    "up-and-down": (
        OK + "workspace: workspace/../workspace\n",
        """
tasks/t.yaml:3:12: 'workspace/../workspace' goes up by '..' on its way
  3 | workspace: workspace/../workspace
    |            ^
""",
    ),
    "down-and-out": (
        OK + "workspace: a/../../b\n",
        """
tasks/t.yaml:3:12: 'a/../../b' leaves the task's directory
  3 | workspace: a/../../b
    |            ^
""",
    ),
    "home": (
        OK + "workspace: ~/x\n",
        """
tasks/t.yaml:3:12: '~/x' does not exist
  3 | workspace: ~/x
    |            ^
""",
    ),
    "home-of-somebody": (
        "prompt_file: ~root\noracles: [{run: x}]\n",
        """
tasks/t.yaml:1:14: '~root' does not exist
  1 | prompt_file: ~root
    |              ^
""",
    ),
    "variable": (
        OK + "workspace: $HOME/x\n",
        """
tasks/t.yaml:3:12: '$HOME/x' does not exist
  3 | workspace: $HOME/x
    |            ^
""",
    ),
    "url": (
        OK + "workspace: file:///etc\n",
        """
tasks/t.yaml:3:12: 'file:///etc' does not exist
  3 | workspace: file:///etc
    |            ^
""",
    ),
    "nul": (
        OK + 'workspace: "a\\0b"\n',
        """
tasks/t.yaml:3:12: 'a\\x00b' holds a NUL character
  3 | workspace: "a\\0b"
    |            ^
""",
    ),
    "backslash": (
        OK + "workspace: workspace\\tests\n",
        """
tasks/t.yaml:3:12: 'workspace\\\\tests' does not exist; did you mean 'workspace'?
  3 | workspace: workspace\\tests
    |            ^
""",
    ),
    "drive": (
        OK + "workspace: 'C:\\work'\n",
        """
tasks/t.yaml:3:12: 'C:\\\\work' does not exist
  3 | workspace: 'C:\\work'
    |            ^
""",
    ),
    "case": (
        OK + "workspace: Workspace\n",
        """
tasks/t.yaml:3:12: 'Workspace' does not exist; did you mean 'workspace'?
  3 | workspace: Workspace
    |            ^
""",
    ),
    "blank": (
        OK + "workspace: ' '\n",
        """
tasks/t.yaml:3:12: ' ' is empty
  3 | workspace: ' '
    |            ^
""",
    ),
    "blank-behind": (
        OK + "workspace: 'workspace '\n",
        """
tasks/t.yaml:3:12: 'workspace ' does not exist; did you mean 'workspace'?
  3 | workspace: 'workspace '
    |            ^
""",
    ),
    "line-end": (
        OK + 'workspace: "work\\nspace"\n',
        """
tasks/t.yaml:3:12: 'work\\nspace' does not exist; did you mean 'workspace'?
  3 | workspace: "work\\nspace"
    |            ^
""",
    ),
    "round": (
        OK + "workspace: round\n",
        """
tasks/t.yaml:3:12: 'round' cannot be followed: Too many levels of symbolic links
  3 | workspace: round
    |            ^
""",
    ),
    "nowhere": (
        OK + "workspace: nowhere\n",
        """
tasks/t.yaml:3:12: 'nowhere' cannot be followed: No such file or directory
  3 | workspace: nowhere
    |            ^
""",
    ),
    "through-a-link": (
        OK + "workspace: way-out/ssl\n",
        """
tasks/t.yaml:3:12: 'way-out/ssl' leaves the task's directory through a symlink
  3 | workspace: way-out/ssl
    |            ^
""",
    ),
    "sibling-of-like-name": (
        OK + "workspace: sibling\n",
        """
tasks/t.yaml:3:12: 'sibling' leaves the task's directory through a symlink
  3 | workspace: sibling
    |            ^
""",
    ),
    "through-a-file": (
        OK + "workspace: note.txt/x\n",
        """
tasks/t.yaml:3:12: 'note.txt/x' does not exist
  3 | workspace: note.txt/x
    |            ^
""",
    ),
    "pipe": (
        OK + "workspace: pipe\n",
        """
tasks/t.yaml:3:12: 'pipe' is neither a file nor a directory
  3 | workspace: pipe
    |            ^
""",
    ),
    "pipe-as-prompt": (
        "prompt_file: pipe\noracles: [{run: x}]\n",
        """
tasks/t.yaml:1:14: 'pipe' is neither a file nor a directory
  1 | prompt_file: pipe
    |              ^
""",
    ),
    "device-as-prompt": (
        "prompt_file: zero\noracles: [{run: x}]\n",
        """
tasks/t.yaml:1:14: 'zero' leaves the task's directory through a symlink
  1 | prompt_file: zero
    |              ^
""",
    ),
    "socket": (
        OK + "solution: socket\n",
        """
tasks/t.yaml:3:11: 'socket' is neither a file nor a directory
  3 | solution: socket
    |           ^
""",
    ),
    "absolute-prompt": (
        "prompt_file: /etc/hostname\noracles: [{run: x}]\n",
        """
tasks/t.yaml:1:14: '/etc/hostname' is absolute; it must lie in the task's directory
  1 | prompt_file: /etc/hostname
    |              ^
""",
    ),
    "prompt-up": (
        "prompt_file: ../secret\noracles: [{run: x}]\n",
        """
tasks/t.yaml:1:14: '../secret' leaves the task's directory
  1 | prompt_file: ../secret
    |              ^
""",
    ),
    "prompt-directory": (
        "prompt_file: workspace\noracles: [{run: x}]\n",
        """
tasks/t.yaml:1:14: 'workspace' is a directory, not a file
  1 | prompt_file: workspace
    |              ^
""",
    ),
    "oracle-out": (
        "prompt: p\noracles: [{pytest: way-out/ssl}]\n",
        """
tasks/t.yaml:2:20: 'way-out/ssl' leaves the task's directory through a symlink
  2 | oracles: [{pytest: way-out/ssl}]
    |                    ^
""",
    ),
    "oracle-pipe": (
        "prompt: p\noracles: [{pytest: pipe}]\n",
        """
tasks/t.yaml:2:20: 'pipe' is neither a file nor a directory
  2 | oracles: [{pytest: pipe}]
    |                    ^
""",
    ),
    "oracle-latin": (
        "prompt: p\noracles: [{pytest: latin.py}]\n",
        """
tasks/t.yaml:2:20: 'latin.py' cannot be read as UTF-8 text
  2 | oracles: [{pytest: latin.py}]
    |                    ^
""",
    ),
    "solution-up": (
        OK + "solution: {run: ../solve.sh}\n",
        """
tasks/t.yaml:3:17: '../solve.sh' leaves the task's directory
  3 | solution: {run: ../solve.sh}
    |                 ^
""",
    ),
    "assets-out": (
        "prompt: p\noracles: [{run: x, assets: way-out}]\n",
        """
tasks/t.yaml:2:28: 'way-out' leaves the task's directory through a symlink
  2 | oracles: [{run: x, assets: way-out}]
    |                            ^
""",
    ),
    "control-out": (
        OK + "controls: [{copy: way-out, fails: run}]\n",
        """
tasks/t.yaml:3:19: 'way-out' leaves the task's directory through a symlink
  3 | controls: [{copy: way-out, fails: run}]
    |                   ^
""",
    ),
    "patch-out": (
        OK + "workspace: {patch: way-out/hostname}\n",
        """
tasks/t.yaml:3:20: 'way-out/hostname' leaves the task's directory through a symlink
  3 | workspace: {patch: way-out/hostname}
    |                    ^
""",
    ),
}


@pytest.mark.parametrize("name", PATHS)
def test_path(places: Path, name: str) -> None:
    """A path that cannot be used is told as it is written, with why."""
    source, expected = PATHS[name]
    file = places / "tasks" / "t.yaml"
    file.write_text(source)
    with pytest.raises(DefinitionError) as caught:
        load_task_file(file, rootdir=places)
    assert str(caught.value) == expected.strip("\n")


def test_odd_path_that_is_right(places: Path) -> None:
    """Dots and slashes that change nothing are fine."""
    file = places / "tasks" / "t.yaml"
    file.write_text(OK + "workspace: ./workspace/./tests//\n")
    (task,) = load_task_file(file, rootdir=places)
    assert task.workspace.tree.directory == places / "tasks" / "workspace" / "tests"


def memory(place: Path) -> None:
    """A regular file that not even root can read from its beginning."""
    place.symlink_to("/proc/self/mem")


def below_a_file(place: Path) -> None:
    place.parent.rmdir()
    place.parent.write_text("x")


NO_FILES: dict[str, tuple[Callable[[Path], object], str]] = {
    "pipe": (os.mkfifo, "is no regular file"),
    "socket": (bind, "is no regular file"),
    "device": (lambda place: place.symlink_to("/dev/zero"), "is no regular file"),
    "directory": (Path.mkdir, "is no regular file"),
    "circle": (
        lambda place: place.symlink_to(place.name),
        "cannot be read: Too many levels of symbolic links",
    ),
    "broken-link": (
        lambda place: place.symlink_to("gone"),
        "cannot be read: No such file or directory",
    ),
    "gone": (lambda _: None, "cannot be read: No such file or directory"),
    "below-a-file": (
        below_a_file,
        "cannot be read: Not a directory",
    ),
    "unreadable": (memory, "cannot be read: Input/output error"),
}


@pytest.mark.parametrize("name", NO_FILES)
def test_task_file_that_is_none(tmp_path: Path, name: str) -> None:
    """Whatever stands where a task file should, it is told at once: nothing is waited for."""
    make, expected = NO_FILES[name]
    (tmp_path / "tasks").mkdir()
    make(tmp_path / "tasks" / "x.yaml")
    with pytest.raises(DefinitionError) as caught:
        load_task_file(Path("tasks/x.yaml"), rootdir=tmp_path)
    assert str(caught.value) == f"tasks/x.yaml: {expected}"


CLAIMED = """
import sys
from pathlib import Path
from pytest_agentbench.candidates import Candidates
from pytest_agentbench.taskfiles.claims import Claims

root = Path(sys.argv[1])
claims = Claims(Candidates(root, ("tasks",)), configured=False)
print([claims.claims(root / "tasks" / name) for name in sys.argv[2:]])
"""


def test_claiming_waits_for_nothing(tmp_path: Path) -> None:
    """Whether a pipe reads like a task file is not found out by waiting for its text."""
    (tmp_path / "tasks").mkdir()
    os.mkfifo(tmp_path / "tasks" / "pipe.yaml")
    (tmp_path / "tasks" / "zero.yaml").symlink_to("/dev/zero")
    told = subprocess.run(
        [sys.executable, "-c", CLAIMED, str(tmp_path), "pipe.yaml", "zero.yaml"],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert (told.stdout, told.stderr) == ("[True, True]\n", "")


def test_task_file_behind_a_link(project: Path) -> None:
    """A task file may be a symlink; paths start at the link, which is where it is collected."""
    (project / "elsewhere").mkdir()
    (project / "elsewhere" / "real.yaml").write_text(OK + "workspace: workspace\n")
    (project / "tasks" / "t.yaml").symlink_to("../elsewhere/real.yaml")
    (task,) = load_task_file(project / "tasks" / "t.yaml", rootdir=project)
    assert (task.id, task.workspace.tree.directory) == ("t", project / "tasks" / "workspace")


def test_names_that_are_no_text(tmp_path: Path) -> None:
    """A file name that is not UTF-8 is shown escaped, and asks for an id."""
    file = tmp_path / os.fsdecode(b"caf\xe9.yaml")
    file.write_text(OK)
    with pytest.raises(DefinitionError) as caught:
        load_task_file(file, rootdir=tmp_path)
    assert str(caught.value) == (
        "caf\\xe9.yaml:1:1: the id 'caf\\udce9', made of the file's name, holds a character that"
        " cannot be printed. Try: give the task an id of its own\n"
        "  1 | prompt: p\n"
        "    | ^"
    )


TRIED = """
import os
from pathlib import Path
from pytest_agentbench.errors import DefinitionError
from pytest_agentbench.taskfiles.loader import load_task_file

def told():
    try:
        load_task_file(Path("tasks/t.yaml"), rootdir=Path.cwd())
    except DefinitionError as error:
        return f"{error}\\n"
    return ""

if os.geteuid() == 0:
    # Root may read everything. Once before, for what Python itself reads at its first use.
    told()
    os.setgroups([])
    os.setgid(65534)
    os.setuid(65534)
print(told(), end="")
"""


@pytest.fixture
def open_to_all() -> Iterator[Path]:
    """A project in a place that every user reaches; pytest's own directories are private."""
    with tempfile.TemporaryDirectory() as made:
        root = Path(made)
        root.chmod(0o755)
        (root / "tasks").mkdir()
        (root / "tasks" / "t.yaml").write_text("prompt_file: prompt.md\noracles: [{run: x}]\n")
        (root / "tasks" / "prompt.md").write_text("x")
        yield root
        (root / "tasks").chmod(0o755)


@pytest.mark.parametrize(
    ("closed", "expected"),
    [
        ("tasks/t.yaml", "tasks/t.yaml: cannot be read: Permission denied\n"),
        ("tasks", "tasks/t.yaml: cannot be read: Permission denied\n"),
        (
            "tasks/prompt.md",
            """\
tasks/t.yaml:1:14: 'prompt.md' cannot be read: Permission denied
  1 | prompt_file: prompt.md
    |              ^
""",
        ),
        (None, ""),
    ],
)
def test_without_permission(open_to_all: Path, closed: str | None, expected: str) -> None:
    """What the user may not read is told; tried as a user who is not root."""
    if closed is not None:
        (open_to_all / closed).chmod(0)
    told = subprocess.run(
        [sys.executable, "-c", TRIED], cwd=open_to_all, capture_output=True, text=True, check=False
    )
    assert (told.stdout, told.stderr) == (expected, "")
