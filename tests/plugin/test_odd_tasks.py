"""Odd task files as pytest meets them: each its own error, and nothing is waited for."""

from __future__ import annotations

import os
import socket
from contextlib import chdir
from pathlib import Path

import pytest

from projects import Project

OK = 'prompt: p\noracles: [{run: "true"}]\n'


def errors(result: pytest.RunResult) -> dict[str, str]:
    """The message of each collection error by its file."""
    found: dict[str, str] = {}
    name = ""
    for line in result.outlines:
        if " ERROR collecting " in line:
            name = line.strip("_ ").removeprefix("ERROR collecting ").strip()
            found[name] = ""
        elif line.startswith("==="):
            name = ""
        elif name:
            found[name] += f"{line}\n"
    return found


def test_every_odd_file_is_an_error_of_its_own(project: Project, workers: tuple[str, ...]) -> None:
    """Whatever is wrong with some files, each is told with its place, and the good ones run."""
    tasks = project.pytester.path / "tasks"
    odd = {
        "latin.task.yaml": b"prompt: caf\xe9\n",
        "utf16.task.yaml": OK.encode("utf-16"),
        "empty.task.yaml": b"",
        "nul.task.yaml": b"prompt: a\0b\n",
        "twice.task.yaml": OK.encode() + b"id: a\nid: b\n",
        "alias.task.yaml": OK.encode() + b"tags: &a [*a]\n",
        "deep.task.yaml": OK.encode() + b"tags: " + b"[" * 5000 + b"]" * 5000,
        "bomb.task.yaml": OK.encode()
        + b"l0: &l0 [x, x]\n"
        + b"".join(b"l%d: &l%d [*l%d, *l%d]\n" % (n + 1, n + 1, n, n) for n in range(40)),
    }
    for name, raw in odd.items():
        (tasks / name).write_bytes(raw)
    (tasks / "memory.task.yaml").symlink_to("/proc/self/mem")
    result = project.run(*workers, "--continue-on-collection-errors")
    first = {name: text.partition("\n")[0] for name, text in errors(result).items()}
    assert first == {
        f"tasks/{name}.task.yaml": f"tasks/{name}.task.yaml{message}"
        for name, message in {
            "latin": ":1:12: byte 11 (0xe9) is not UTF-8. Try: save it as UTF-8",
            "utf16": ": is UTF-16 or UTF-32; YAML here is UTF-8. Try: save it as UTF-8",
            "empty": ": is empty, and so no task file",
            "nul": ":1:10: the character U+0000 is not allowed in YAML",
            "twice": ":4:1: duplicate key 'id'; the first is on line 3",
            "alias": ":3:7: an alias leads back to a value that holds it",
            "deep": ":3:1006: not valid YAML: exceeded maximum nesting depth while increasing flow"
            " level of line 3",
            "bomb": ":1:1: holds more than 100,000 values once its aliases are expanded",
            "memory": ": cannot be read: Input/output error",
        }.items()
    }
    result.assert_outcomes(passed=2, errors=9)
    assert "Traceback" not in result.stdout.str() + result.stderr.str()


@pytest.mark.parametrize("configured", ["", "agentbench_tasks = tasks\n"])
def test_what_is_no_file_is_not_waited_for(project: Project, configured: str) -> None:
    """Pipes, sockets, devices and circles hold nothing up, and hide no task's own files."""
    project.write("pytest.ini", f"[pytest]\nagentbench_sandbox = local\n{configured}")
    project.write("tasks/own.yaml", OK + "workspace: own\nsolution: {files: {a: b}}\n")
    project.write("tasks/own/test_own.py", "def test_own(): assert False\n")
    tasks = project.pytester.path / "tasks"
    for name in ("pipe.yaml", "pipe.task.yaml", "deeper/pipe.yaml"):
        (tasks / name).parent.mkdir(exist_ok=True)
        os.mkfifo(tasks / name)
    with chdir(tasks), socket.socket(socket.AF_UNIX) as bound:
        bound.bind("bound.task.yaml")
    (tasks / "zero.task.yaml").symlink_to("/dev/zero")
    (tasks / "zero.yaml").symlink_to("/dev/zero")
    (tasks / "round.task.yaml").symlink_to("round.task.yaml")
    (tasks / "gone.task.yaml").symlink_to("nowhere")
    (tasks / "directory.task.yaml").mkdir()
    result = project.pytester.runpytest_subprocess("-p", "no:cacheprovider", timeout=60)
    result.assert_outcomes(passed=3)


def test_one_id_in_several_files(project: Project, workers: tuple[str, ...]) -> None:
    """Each later task of an id names the first, however the id came about and is written."""
    project.write("tasks/a.yaml", OK + "id: same\n")
    project.write("tasks/b.yaml", OK + '"id": "s\\u0061me"\n')
    project.write("tasks/same.task.yaml", OK)
    project.write("tasks/sub/same/task.yaml", OK)
    project.write("tasks/Same.task.yaml", OK)
    result = project.run(*workers, "--co")
    told = {name: text.partition(". Try: ")[0] for name, text in errors(result).items()}
    assert told == {
        "tasks/b.yaml": "tasks/b.yaml:1: the id 'same' is taken by tasks/a.yaml:1",
        "tasks/same.task.yaml": "tasks/same.task.yaml:1: the id 'same' is taken by tasks/a.yaml:1",
        "tasks/sub/same/task.yaml": (
            "tasks/sub/same/task.yaml:1: the id 'same' is taken by tasks/a.yaml:1"
        ),
    }


def test_one_letter_in_two_forms(project: Project) -> None:
    """Names of files that differ only in how Unicode composes a letter make one id."""
    project.write("tasks/caf\u00e9.task.yaml", OK)
    project.write("tasks/cafe\u0301.task.yaml", OK)
    result = project.run("--co")
    assert [text.partition(". Try: ")[0] for text in errors(result).values()] == [
        "tasks/caf\u00e9.task.yaml:1: the id 'caf\u00e9' is taken by tasks/cafe\u0301.task.yaml:1"
    ]


def test_a_file_that_vanishes_while_pytest_collects(project: Project) -> None:
    """A task file that goes away after it was seen is an error, and no crash."""
    project.write("tasks/zz.task.yaml", OK)
    project.write(
        "conftest.py",
        "import pathlib\n"
        "def pytest_collectstart(collector):\n"
        "    if collector.name.endswith('zz.task.yaml'):\n"
        "        pathlib.Path('tasks/zz.task.yaml').unlink()\n",
    )
    result = project.run("--continue-on-collection-errors")
    result.assert_outcomes(passed=2, errors=1)
    assert errors(result) == {
        "tasks/zz.task.yaml": "tasks/zz.task.yaml: cannot be read: No such file or directory\n"
    }


def test_unicode_all_the_way(project: Project) -> None:
    """Ids, tags' tasks, prompts and paths of all letters run, and are stored as they are."""
    project.write(
        "tasks/日本 (1).task.yaml",
        "id: 日本-😀\nprompt: |\n  שלום\u2028 e\u0301\n"
        "workspace: {files: {'é 1.txt': ü}}\noracles: [{run: \"grep -q ü 'é 1.txt'\"}]\n"
        "solution: {files: {'δ.txt': d}}\n",
    )
    result = project.run("-k", "日本")
    result.assert_outcomes(passed=1, deselected=2)
    (record,) = project.records().values()
    assert record["key"] == "日本-😀[reference-r1]"
    assert Path(project.latest / "plan.json").read_text().count("日本-😀[reference-r1]") >= 1
