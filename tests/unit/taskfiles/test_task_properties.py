"""What holds for all task files: round trips, and what any bytes at all come to."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_agentbench.errors import DefinitionError
from pytest_agentbench.model.task import TaskSpec
from pytest_agentbench.taskfiles.experiment import load_experiment
from pytest_agentbench.taskfiles.loader import load_task_file
from pytest_agentbench.taskfiles.names import id_fault, tag_fault
from pytest_agentbench.taskfiles.scalars import STR, core_tag
from pytest_agentbench.taskfiles.yamldocument import LINE_END


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One project for all examples of a property."""
    made = tmp_path_factory.mktemp("project")
    (made / "tasks" / "workspace").mkdir(parents=True)
    (made / "tasks" / "oracle").mkdir()
    (made / "tasks" / "oracle" / "test_a.py").write_text("def test_a(): pass\n")
    (made / "tasks" / "fix.patch").write_text("")
    (made / "tasks" / "rows.jsonl").write_text('{"id": "a", "x": 1}\n{"id": "b", "x": 2}\n')
    return made


def load(root: Path, raw: bytes) -> tuple[TaskSpec, ...]:
    """The tasks of a file with these bytes."""
    (root / "tasks" / "t.yaml").write_bytes(raw)
    return load_task_file(Path("tasks/t.yaml"), rootdir=root)


# PyYAML writes YAML 1.1, where texts like 1e3 need no quotes, and three letters end lines.
def written_as_text(text: str) -> bool:
    """Whether PyYAML puts quotes around a text that is something else without them."""
    loader = yaml.SafeLoader("")
    tag = loader.resolve(yaml.ScalarNode, text, (True, False))  # type: ignore[no-untyped-call]
    return core_tag(text) == STR or tag != STR


texts = st.text(
    st.characters(exclude_categories=["Cs"], exclude_characters="\0\x85\u2028\u2029")
).filter(written_as_text)
said = texts.filter(lambda text: bool(text.strip()))
ids = st.from_regex(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,12}", fullmatch=True).filter(
    lambda text: id_fault(text) is None and core_tag(text) == STR
)
tags = st.from_regex(r"[A-Za-z][a-z0-9_.-]{0,8}", fullmatch=True).filter(
    lambda text: tag_fault(text) is None and core_tag(text) == STR
)
words = st.from_regex(r"[a-z][a-z0-9]{0,5}", fullmatch=True)
commands = said | st.lists(said, min_size=1, max_size=3)
oracles = st.fixed_dictionaries(
    {"run": commands},
    optional={
        "weight": st.floats(0.001, 1e6),
        "timeout": st.integers(1, 9999),
        "reveal": st.sampled_from(["verdict", "reasons", "full"]),
        "network": st.sampled_from(["none", "full"]),
    },
)
task_data = st.fixed_dictionaries(
    {"prompt": said, "oracles": st.lists(oracles, min_size=1, max_size=3)},
    optional={
        "id": ids,
        "description": texts,
        "tags": st.lists(tags, unique=True, max_size=4),
        "workspace": st.fixed_dictionaries({"files": st.dictionaries(words, texts, max_size=3)}),
        "limits": st.fixed_dictionaries({"time": st.floats(0.001, 1e6)}),
        "sandbox": st.fixed_dictionaries(
            {},
            optional={"env": st.dictionaries(words, texts), "pids": st.integers(1, 4096)},
        ),
        "threshold": st.floats(0.001, 1),
        "repeats": st.integers(1, 1000),
        "skip": said,
        "slots": st.dictionaries(words, st.integers(1, 1000), max_size=3),
        "gate": st.dictionaries(words, st.integers() | texts | st.booleans() | st.none()),
    },
)


def as_json(data: object, *, indent: int | None) -> str:
    """JSON that escapes what YAML forbids, and no more: YAML knows no surrogate pairs."""
    return "".join(
        letter
        if letter.isprintable() or letter == "\n" or letter > "\uffff"
        else f"\\u{ord(letter):04x}"
        for letter in json.dumps(data, ensure_ascii=False, indent=indent)
    )


NOTATIONS: dict[str, Callable[[object], str]] = {
    "block": lambda data: yaml.safe_dump(data, default_flow_style=False, allow_unicode=True),
    "flow": lambda data: yaml.safe_dump(data, default_flow_style=True),
    "mixed": lambda data: yaml.safe_dump(data, default_flow_style=None, indent=4, width=20),
    "explicit": lambda data: yaml.safe_dump(data, explicit_start=True, explicit_end=True),
    "crlf": lambda data: yaml.safe_dump(data, line_break="\r\n", allow_unicode=True),
    "cr": lambda data: yaml.safe_dump(data, line_break="\r"),
    "quoted": lambda data: yaml.safe_dump(data, default_style='"'),
    "json": lambda data: as_json(data, indent=None),
    "json-lines": lambda data: as_json(data, indent=1),
}


def without_places(task: TaskSpec) -> TaskSpec:
    """The task as if all of it stood in one place."""
    return replace(
        task, oracles=tuple(replace(one, position=task.position) for one in task.oracles)
    )


@settings(deadline=None, max_examples=40)
@given(task_data)
def test_every_notation_means_the_same(root: Path, data: dict[str, Any]) -> None:
    """A task is the same however its file is written, and it is what was written."""
    found = {}
    for name, notation in NOTATIONS.items():
        (task,) = load(root, notation(data).encode())
        found[name] = without_places(replace(task, position=replace(task.position, line=1)))
    task = found["block"]
    assert [name for name, other in found.items() if other != task] == []
    assert task.prompt == data["prompt"]
    assert task.id == data.get("id", "t")
    assert task.description == data.get("description", "")
    assert task.tags == tuple(data.get("tags", ()))
    assert task.workspace.tree.files == data.get("workspace", {}).get("files", {})
    assert task.threshold == data.get("threshold")
    assert task.slots == data.get("slots", {})
    assert (task.skip.reason if task.skip else None) == data.get("skip")
    assert task.layer.get("repeats") == data.get("repeats")
    assert task.layer.get("limits.time") == data.get("limits", {}).get("time")
    env = data.get("sandbox", {}).get("env", {})
    assert {path: value for path, value in task.layer.items() if ".env." in path} == {
        f"sandbox.env.{name}": value for name, value in env.items()
    }
    assert [oracle.expectation for oracle in task.oracles] == [
        entry["run"] for entry in data["oracles"]
    ]
    assert [oracle.weight for oracle in task.oracles] == [
        entry.get("weight", 1.0) for entry in data["oracles"]
    ]


GOOD = """\
id: fix-it  # words
description: &d "one \\u00e9 line"
tags: [smoke, 'a-b']
prompt: |
  Fix `paginate()` in \u65e5\u672c.
    {{ row.x }}
workspace:
  copy: workspace
  files: {notes.txt: *d, "a b": ''}
  setup: [make -j2, [sh, -c, "true"]]
  protect: tests/**
limits: {time: 1h30m, workspace: 500m}
sandbox: {driver: local, network: none, memory: 1g, cpus: 1.5, env: {LANG: C.UTF-8}}
checks:
  - run: python -m pytest -q
oracles:
  - &o {run: [test, -f, x], name: first, weight: 2}
  - pytest: oracle
    needs: [first]
    timeout: 90s
  - <<: *o
    name: third
    advisory: true
  - files: {out.json: {json_schema: {type: object}}, a.md: {contains: [U], matches: '^a+'}}
  - diff: {only: ["shop/**"], max_changed_lines: 80}
  - answer: {number: 42, tolerance: 1e-6}
  - {python: "check:run", assets: {files: {check.py: "def run(c): return 1"}}}
threshold: 0.8
reveal: verdict
solution: fix.patch
controls:
  - {files: {x: wrong}, fails: first}
repeats: 3
skip: {unless: {platform: linux, env: [HOME]}, reason: "no"}
xfail: {reason: not yet, variants: [noop], strict: false}
slots: {gpu: 1}
gate: {min_pass_rate: 0.8}
"""
DATASET = GOOD.replace("id: fix-it", "id: 'fix-{{ row.id }}'") + "dataset: {path: rows.jsonl}\n"
EXPERIMENT = """\
variants:
  reference: {agent: reference}
  noop: &n {agent: noop, model: m, env: {KEY: "${KEY:-d}"}}
  more:
    extends: noop
    prompt: {template: "Please: {{ task.prompt }}"}
    expect: {skills: [review]}
    tools: {deny: [web], allow: x}
    sandbox: {memory: 1g}
  same: *n
defaults: {repeats: 3, limits: {time: 5m}, reveal: full}
baseline: noop
slots: {gpu: 2}
suites:
  smoke:
    select: {marks: smoke and not slow, paths: [tasks/shop/**], ids: ["fix-*"]}
    gate: {min_pass_rate: 0.9}
"""
LUMPS = st.sampled_from(
    [
        *(b"\t", b"\r", b"\n", b"\0", b"\xff", b"\xef\xbb\xbf", b"\xc2\x85", b"\xf0\x9f\x98\x80"),
        *(b"{", b"}", b"[", b"]", b": ", b"- ", b"'", b'"', b"|", b">", b"#", b"~", b"%", b"@"),
        *(b"*o", b"&d ", b"<<: *n", b"!!x ", b"---\n", b"...\n", b"\\", b"1e999"),
        *(b"{{ row.x }}", b"{{ row."),
    ]
)
PLACES = st.integers(0, 1 << 16)


@st.composite
def damaged(draw: st.DrawFn, *goods: str) -> bytes:
    """A good file after a few accidents."""
    raw = draw(st.sampled_from(goods)).encode()
    for _ in range(draw(st.integers(1, 4))):
        start = draw(PLACES) % (len(raw) + 1)
        end = min(len(raw), start + draw(st.integers(1, 40)))
        what = draw(st.integers(0, 4))
        if what == 0:
            raw = raw[:start] + raw[end:]
        elif what == 1:
            raw = raw[:start] + draw(LUMPS | st.binary(max_size=4)) + raw[start:]
        elif what == 2:
            raw = raw[:end] + raw[start:]
        elif what == 3:
            there = draw(PLACES) % (len(raw) + 1)
            raw = raw[:there] + raw[start:end] + raw[there:]
        else:
            raw = (
                raw[:start]
                + bytes(byte ^ 1 << draw(st.integers(0, 7)) for byte in raw[start : start + 1])
                + raw[start + 1 :]
            )
    return raw


def check_places(error: DefinitionError, root: Path) -> None:
    """Each problem stands within its file, and the whole message can be printed."""
    assert error.problems
    str(error).encode()
    for problem in error.problems:
        try:
            text = problem.path.read_bytes().decode("utf-8-sig", "replace")
        except OSError:
            assert (problem.line, problem.column) == (0, 0)
            continue
        lines = LINE_END.split(text)
        if problem.path.suffix in (".json", ".jsonl"):
            lines = [line.rstrip("\r") for line in text.split("\n")]
        assert problem.path.is_relative_to(root)
        assert 0 <= problem.line <= len(lines)
        if problem.line:
            assert 1 <= problem.column <= len(lines[problem.line - 1]) + 1
            assert problem.excerpt in ("", lines[problem.line - 1])
        assert problem.message


def test_the_good_files_are_good(root: Path) -> None:
    """Without an accident, the files of these properties load."""
    assert [task.id for task in load(root, GOOD.encode())] == ["fix-it"]
    assert [task.id for task in load(root, DATASET.encode())] == ["fix-a", "fix-b"]
    (root / "agentbench.yaml").write_text(EXPERIMENT)
    names = [variant.name for variant in load_experiment(root, None).variants]
    assert names == ["reference", "noop", "more", "same"]


@settings(deadline=None, max_examples=250)
@given(damaged(GOOD, DATASET) | st.binary(max_size=300) | st.text(max_size=100).map(str.encode))
def test_any_task_file(root: Path, raw: bytes) -> None:
    """Whatever a task file holds, it loads, or its problems stand at places in it."""
    try:
        tasks = load(root, raw)
    except DefinitionError as error:
        check_places(error, root)
    else:
        assert tasks
        assert all(task.prompt.strip() and task.oracles for task in tasks)


@settings(deadline=None, max_examples=150)
@given(damaged(EXPERIMENT) | st.binary(max_size=200))
def test_any_experiment_file(root: Path, raw: bytes) -> None:
    """The same of experiment files."""
    (root / "agentbench.yaml").write_bytes(raw)
    try:
        experiment = load_experiment(root, None)
    except DefinitionError as error:
        check_places(error, root)
    else:
        assert experiment.variants


ROWS = {
    ".jsonl": '{"id": "a", "x": [1, 2.5, null]}\n\n{"id": "b", "x": "\\u00e9"}\n',
    ".json": '[{"id": "a", "x": [1, 2.5, null]},\n {"id": "b", "x": "\\u00e9"}]\n',
    ".csv": 'id,x\na,"1, ""2""\n"\nb,\u00e9\n',
    ".yaml": "- {id: a, x: [1, 2.5, null]}\n- id: b\n  x: \u00e9\n",
}


@pytest.mark.parametrize("suffix", ROWS)
@settings(deadline=None, max_examples=60)
@given(st.data())
def test_any_dataset(root: Path, suffix: str, data: st.DataObject) -> None:
    """The same of the files with a dataset's rows."""
    raw = data.draw(damaged(ROWS[suffix]) | st.binary(max_size=100))
    (root / "tasks" / f"d{suffix}").write_bytes(raw)
    try:
        tasks = load(
            root, f"prompt: p\noracles: [{{run: x}}]\ndataset: {{path: d{suffix}}}\n".encode()
        )
    except DefinitionError as error:
        check_places(error, root)
    else:
        assert len({task.id for task in tasks}) == len(tasks) > 0
