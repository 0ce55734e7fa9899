"""One item per row: datasets of each kind, below the tasks' directory, in whole or in part."""

from __future__ import annotations

import gzip

import pytest

from projects import Project

TASK = """\
prompt: Write {{ row.number }} to out.txt.
oracles:
  - files:
      out.txt: {equals: "{{ row.number }}"}
solution:
  files: {out.txt: "{{ row.answer }}"}
dataset: {path: %s}
"""
ROWS = {
    "rows.csv": 'id,number,answer\nright,1,1\n"wrong one",2,3\n',
    "rows.csv.gz": "id,number,answer\r\nright,1,1\r\nwrong one,2,3\r\n",
    "rows.yaml": "- {id: right, number: 1, answer: 1}\n- {id: wrong one, number: 2, answer: 3}\n",
    "rows.yml": "- {id: right, number: 1, answer: 1}\n- {id: wrong one, number: 2, answer: 3}\n",
    "rows.json": '[{"id": "right", "number": 1, "answer": 1},\n'
    '{"id": "wrong one", "number": 2, "answer": 3}]',
    "rows.jsonl": '{"id": "right", "number": 1, "answer": 1}\n'
    '{"id": "wrong one", "number": 2, "answer": 3}\n',
}
MANY = "id,number,answer,level\n" + "".join(
    f"r{n},{n},{n},{'hard' if n % 5 == 0 else 'easy'}\n" for n in range(30)
)


def write_rows(project: Project, name: str, text: str) -> None:
    """A dataset below ``tasks``, packed where its name says so."""
    project.write(f"tasks/{name}", "")
    raw = text.encode()
    path = project.pytester.path / "tasks" / name
    path.write_bytes(gzip.compress(raw) if name.endswith(".gz") else raw)


@pytest.fixture(params=["", "agentbench_tasks = tasks\n"], ids=["by-content", "configured"])
def rows_project(request: pytest.FixtureRequest, project: Project) -> Project:
    """The two tasks; every YAML file below ``tasks`` is a task file, or the ones that read so."""
    claim: str = request.param
    project.write("pytest.ini", f"[pytest]\nagentbench_sandbox = local\n{claim}")
    return project


@pytest.mark.parametrize("name", ROWS)
def test_rows_are_items(rows_project: Project, name: str, workers: tuple[str, ...]) -> None:
    """Each row is judged by its own oracle; the dataset itself is collected as nothing."""
    write_rows(rows_project, name, ROWS[name])
    rows_project.write("tasks/numbers.yaml", TASK % name)
    result = rows_project.run("--junitxml=junit.xml", *workers)
    result.assert_outcomes(passed=3, failed=1)
    assert result.ret == 1
    assert {key: row["outcome"] for key, row in rows_project.records().items()} == {
        "add[reference-r1]": "passed",
        "greet[reference-r1]": "passed",
        "right[reference-r1]": "passed",
        "wrong-one[reference-r1]": "failed",
    }
    cases = rows_project.junit()
    assert sorted(cases) == sorted(rows_project.records())
    failed = [key for key, case in cases.items() if case.find("failure") is not None]
    assert failed == ["wrong-one[reference-r1]"]


def test_a_yaml_dataset_that_nobody_names_is_a_broken_task(rows_project: Project) -> None:
    """Negative control: what keeps a YAML dataset from being collected is that it is owned."""
    write_rows(rows_project, "rows.yaml", ROWS["rows.yaml"])
    result = rows_project.run()
    configured = "agentbench_tasks" in (rows_project.pytester.path / "pytest.ini").read_text()
    result.assert_outcomes(errors=1 if configured else 0, passed=0 if configured else 2)


def test_bad_rows_are_all_told(project: Project, workers: tuple[str, ...]) -> None:
    """A dataset with bad rows is one collection error that has each with number and line.

    pytest stops there; xdist, as ever, runs what could be collected.
    """
    write_rows(project, "rows.csv", "id,number,answer\na,1\nb,2,2\n\nc,3,3,3\n")
    project.write("tasks/numbers.yaml", TASK % "rows.csv")
    result = project.run(*workers)
    result.assert_outcomes(errors=1, passed=2 if workers else 0)
    result.stdout.fnmatch_lines(
        [
            "tasks/rows.csv:2:1: row 1: 2 fields, but there are 3 columns",
            "*2 | a,1",
            "tasks/rows.csv:5:1: row 3: 4 fields, but there are 3 columns",
        ]
    )


def test_the_same_rows_everywhere(project: Project, workers: tuple[str, ...]) -> None:
    """A stratified sample is the same in every process, or xdist would refuse to run it."""
    write_rows(project, "rows.csv", MANY)
    choice = "rows.csv, stratum: level, per_stratum: 2, seed: 5"
    project.write("tasks/numbers.yaml", TASK % choice)
    project.run("tasks/numbers.yaml", *workers).assert_outcomes(passed=4)
    numbers = sorted(int(row["task"][1:]) for row in project.records().values())
    assert [number % 5 == 0 for number in numbers].count(True) == 2
    assert numbers == [0, 1, 9, 10]


def test_sample_of_the_command_line(project: Project, workers: tuple[str, ...]) -> None:
    """``--agentbench-sample`` takes so many rows of each dataset, and leaves other tasks alone."""
    write_rows(project, "rows.csv", MANY)
    write_rows(project, "few.csv", "id,number,answer\nx,1,1\n")
    project.write("tasks/numbers.yaml", TASK % "rows.csv, sample: 20")
    project.write("tasks/few.yaml", TASK % "few.csv")
    chosen: dict[int, set[str]] = {}
    for size in (3, 6):
        result = project.run(f"--agentbench-sample={size}", *workers)
        result.assert_outcomes(passed=size + 3)
        tasks = {row["task"] for row in project.records().values()}
        assert {"add", "greet", "x"} < tasks
        chosen[size] = {name for name in tasks if name[1:].isdigit()}
        assert len(chosen[size]) == size
    assert chosen[3] < chosen[6]


def test_ids_of_two_datasets_that_clash(project: Project) -> None:
    """Two datasets with one id are an error that names both rows."""
    write_rows(project, "rows.csv", ROWS["rows.csv"])
    write_rows(project, "more.csv", "id,number,answer\nfine,1,1\nright,2,2\n")
    project.write("tasks/a-numbers.yaml", TASK % "rows.csv")
    project.write("tasks/b-numbers.yaml", TASK % "more.csv")
    result = project.run("tasks/a-numbers.yaml", "tasks/b-numbers.yaml")
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines(
        ["tasks/b-numbers.yaml:7 (row 2): the id 'right' is taken by tasks/a-numbers.yaml:7 *"]
    )
