"""``agentbench schema``: editors accept what the loader accepts, and mark what it refuses."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import yaml
from cli.conftest import Agentbench
from jsonschema import Draft202012Validator

from pytest_agentbench.taskfiles.schema import experiment_schema, task_schema


def problems(schema: object, text: str) -> list[str]:
    validator = Draft202012Validator(schema)  # type: ignore[arg-type]
    return [error.message for error in validator.iter_errors(yaml.safe_load(text))]


@pytest.mark.parametrize("kind", ["task", "experiment"])
def test_printed(agentbench: Agentbench, kind: str) -> None:
    """What is printed is a valid schema, and the one that the models make."""
    done = agentbench("schema", kind)
    printed = json.loads(done.stdout)
    Draft202012Validator.check_schema(printed)
    assert printed == (task_schema() if kind == "task" else experiment_schema())


def test_unknown_kind(agentbench: Agentbench) -> None:
    """There are schemas of tasks and of experiments."""
    assert agentbench("schema", "suite").returncode == 2


def test_own_tasks(repository: Path) -> None:
    """All task and experiment files of this project satisfy their schemas."""
    tasks = [*repository.glob("tasks/*/task.yaml"), *repository.glob("tasks/*.yaml")]
    assert len(tasks) > 10
    for path in tasks:
        assert problems(task_schema(), path.read_text()) == [], path.name
    for path in (repository / "agentbench.yaml", *repository.glob("experiments/*.yaml")):
        assert problems(experiment_schema(), path.read_text()) == [], path.name


GOOD = """\
prompt: p
workspace: {git: ../repo, setup: [make, [sh, -c, x]], protect: "tests/**"}
limits: {time: 1h30m, workspace: 500m}
checks: [{run: make test, advisory: true}]
oracles:
  - {run: [sh, -c, x], timeout: 90s, needs: run, pass_at: 0.5, network: full, reveal: full}
  - {files: {a.txt: {exists: true}}, assets: hidden}
solution: fix.patch
controls: [{files: {a: b}, fails: run}]
skip: {unless: {platform: linux, command: [node, npm]}}
xfail: why
slots: {gpu: 1}
"""


def test_all_forms() -> None:
    """Short forms (a text for a mapping or a list) are as good as long ones."""
    assert problems(task_schema(), GOOD) == []


@pytest.mark.parametrize(
    "text",
    [
        "prompt: p\noracles: [{run: x}]\npromt: x\n",
        "oracles: [{run: x}]\n",
        "prompt: p\n",
        "prompt: p\noracles: [{rn: x}]\n",
        "prompt: p\noracles: []\n",
        "prompt: p\noracles: [{run: x}]\ncontrols: [{patch: wrong.patch}]\n",
        "prompt: p\noracles: [{run: x}]\nlimits: {time: soon}\n",
        "prompt: p\noracles: [{run: x}]\nlimits: {tme: 5}\n",
        "prompt: p\noracles: [{run: x}]\nrepeats: 0\n",
        "prompt: p\noracles: [{run: x}]\nsandbox: {driver: dokcer}\n",
        "prompt: p\noracles: [{run: x}]\nsolution: {path: x}\n",
        "prompt: p\noracles: [{run: x}]\nworkspace: {setup: [[]]}\n",
    ],
)
def test_mistakes(text: str) -> None:
    """What the loader refuses, an editor marks."""
    assert problems(task_schema(), text)


def test_keys_are_explained() -> None:
    """Every key of a task file has words for whoever points at it."""
    schema = json.loads(json.dumps(task_schema()))
    bare = [
        f"{name}.{key}"
        for name, shape in {"": schema, **schema["$defs"]}.items()
        for key, value in shape["properties"].items()
        if "description" not in value
    ]
    assert bare == []
