"""Which files are task files."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from pytest_agentbench.candidates import Candidates, is_task_name
from pytest_agentbench.taskfiles.claims import Claims, has_task_keys


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("task.yaml", True),
        ("task.yml", True),
        ("a.task.yaml", True),
        ("a.b.task.yml", True),
        ("mytask.yaml", False),
        (".task.yaml", False),
        ("task.json", False),
        ("tasks.yaml", False),
    ],
)
def test_names(name: str, *, expected: bool) -> None:
    """``task.yaml`` and ``*.task.yaml`` are task files wherever they lie."""
    assert is_task_name(name) is expected


@pytest.mark.parametrize(
    "raw",
    [
        b"prompt: x\n",
        b"prompt:\n",
        b"id: a\r\nprompt: x\r\n",
        b"id: a\rprompt: x\r",
        b"\xef\xbb\xbfprompt: x\n",
        "prompt: x\n".encode("utf-16"),
        "prompt: x\n".encode("utf-16-le"),
        "\ufeffprompt: x\n".encode("utf-32-be"),
        b"'prompt': x\n",
        b'"oracles" : []\n',
        b"--- \n# c\nworkspace: x\n",
        b"%YAML 1.2\n---\ndataset: {}\n",
        b"  id: a\n  prompt: x\n",
        b"? prompt\n: x\n",
        b"&a prompt: x\n",
        b"!!str prompt_file: x\n",
        b"{prompt: x}\n",
        b'{\n "id": "a",\n "prompt": "x"\n}\n',
        b"--- {id: {a: [1, 2]}, prompt: x}\n",
        b"# c\n{id: 'a, b: }', oracles: []}\n",
        b"prompt: [broken\n",
        b"\tid: @\nprompt: x\n",
        b"caf\xe9: 1\nprompt: x\n",
    ],
)
def test_has_task_keys(raw: bytes) -> None:
    """A top-level key of ours is seen in every way of writing it, also in broken files."""
    assert has_task_keys(raw)


@pytest.mark.parametrize(
    "raw",
    [
        b"",
        b"# prompt: x\n",
        b"a:\n  prompt: x\n",
        b"prompts: x\n",
        b"my-prompt: x\n",
        b"prompt:x\n",
        b"- prompt: x\n",
        b"{a: {prompt: x}}\n",
        b"{a: prompt}\n",
        b"a: 'prompt: x'\n",
        b"a: |\n  prompt: x\n",
        b"\xff\xfe\x00",
        b"\x00\x01\x02",
    ],
)
def test_has_no_task_keys(raw: bytes) -> None:
    """Deeper keys, values, comments and other words do not count."""
    assert not has_task_keys(raw)


def test_unset_directory(tmp_path: Path) -> None:
    """Below an unset ``tasks``, a file is ours by its keys, and when it cannot be read."""
    claims = Claims(Candidates(tmp_path, ("tasks",)), configured=False)
    tasks = tmp_path / "tasks"
    (tasks / "deep").mkdir(parents=True)
    (tasks / "deep" / "ours.yaml").write_text("prompt: x")
    (tasks / "playbook.yml").write_text("- hosts: all")
    (tmp_path / "tasks2").mkdir()
    (tmp_path / "tasks2" / "ours.yaml").write_text("prompt: x")
    assert claims.claims(tasks / "deep" / "ours.yaml")
    assert not claims.claims(tasks / "playbook.yml")
    assert not claims.claims(tmp_path / "tasks2" / "ours.yaml")
    assert claims.claims(tasks / "gone.yaml")
    assert not claims.claims(tasks / "ours.json")


def test_set_directory(tmp_path: Path) -> None:
    """Below a directory that the project names, every YAML file is ours."""
    claims = Claims(Candidates(tmp_path, ("bench/a", "other")), configured=True)
    assert claims.claims(tmp_path / "bench" / "a" / "x" / "any.yml")
    assert claims.claims(tmp_path / "other" / "any.yaml")
    assert not claims.claims(tmp_path / "bench" / "any.yaml")
    assert claims.claims(tmp_path / "bench" / "any.task.yaml")


def test_root_as_directory(tmp_path: Path) -> None:
    """With the root itself as a directory, experiment files are no tasks."""
    claims = Claims(Candidates(tmp_path, (".",)), configured=True)
    assert claims.claims(tmp_path / "any.yaml")
    assert not claims.claims(tmp_path / "agentbench.yaml")
    assert not claims.claims(tmp_path / "experiments" / "wide.yaml")
    assert claims.claims(tmp_path / "experiments" / "deep" / "any.yaml")


def test_no_heavy_imports() -> None:
    """Before a task file is found, claims and ownership import neither yaml nor pydantic."""
    script = (
        "import sys; from pathlib import Path\n"
        "from pytest_agentbench.candidates import Candidates\n"
        "from pytest_agentbench.taskfiles.claims import Claims\n"
        "from pytest_agentbench.taskfiles.ownership import Ownership\n"
        "claims = Claims(Candidates(Path('/usr'), ('tasks',)), configured=False)\n"
        "Ownership(claims).owner(Path('/usr/bin/env'))\n"
        "assert not {'yaml', 'pydantic'} & set(sys.modules), sys.modules.keys()\n"
    )
    subprocess.run([sys.executable, "-c", script], check=True)
