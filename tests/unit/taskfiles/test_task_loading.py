"""What right task files become."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from pytest_agentbench.errors import DefinitionError
from pytest_agentbench.model.task import FileTree, OracleSpec, Solution, TaskSpec
from pytest_agentbench.taskfiles.assets import hidden_paths
from pytest_agentbench.taskfiles.loader import load_task_file

OK = "prompt: p\noracles: [{run: x}]\n"


def load(project: Path, text: str | bytes, name: str = "tasks/t.yaml") -> TaskSpec:
    """The one task of a file with that text."""
    file = project / name
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(text if isinstance(text, bytes) else text.encode())
    (task,) = load_task_file(file, rootdir=project)
    return task


def test_all_keys(project: Path) -> None:
    """Each key of a task file arrives in the task, with absolute paths, seconds and bytes."""
    tasks = project / "tasks"
    (tasks / "assets").mkdir()
    (tasks / "solve.sh").write_text("#!/bin/sh\n")
    (tasks / "oracle").mkdir()
    task = load(
        project,
        """
id: fix
description: d
tags: [smoke, a-b.c]
prompt: |
  Fix it.
workspace: {copy: workspace, files: {a/b.txt: "1"}}
limits: {time: 1h30m}
sandbox:
  driver: bubblewrap
  network: none
  memory: 64k
  cpus: 1
  pids: 9
  env: {LANG: C.UTF-8}
  python: .venv/bin/python
  read_only: [/opt/tool]
oracles:
  - pytest: oracle
    name: hidden
    weight: 2
  - run: [sh, -c, 'exit 0']
    assets: assets
    timeout: 500ms
    required: true
  - files: {out.json: {exists: true}}
threshold: 0.8
solution: {run: solve.sh}
repeats: 3
""",
    )
    assert (task.id, task.description, task.tags) == ("fix", "d", ("smoke", "a-b.c"))
    assert task.prompt == "Fix it.\n"
    assert task.workspace.tree == FileTree(tasks / "workspace", {"a/b.txt": "1"})
    assert task.layer == {
        "repeats": 3,
        "limits.time": 5400.0,
        "sandbox.driver": "bubblewrap",
        "sandbox.network": "none",
        "sandbox.memory": 65536,
        "sandbox.cpus": 1.0,
        "sandbox.pids": 9,
        "sandbox.env.LANG": "C.UTF-8",
        "sandbox.python": str(tasks / ".venv/bin/python"),
        "sandbox.read_only": ["/opt/tool"],
    }
    hidden, run, files = task.oracles
    assert (hidden.kind, hidden.name, hidden.weight) == ("pytest", "hidden", 2.0)
    assert hidden.expectation == FileTree(tasks / "oracle")
    assert (run.name, run.timeout_s, run.assets) == ("run", 0.5, FileTree(tasks / "assets"))
    assert run.expectation == ["sh", "-c", "exit 0"]
    assert files.expectation == {"out.json": {"exists": True}}
    assert [oracle.required for oracle in task.oracles] == [False, True, False]
    assert task.threshold == 0.8
    assert task.solution == Solution(script=tasks / "solve.sh")
    assert (task.position.line, task.position.column) == (2, 1)
    assert (run.position.line, run.position.column) == (22, 5)
    assert task.owned == tuple(
        tasks / name for name in ("workspace", "oracle", "assets", "solve.sh")
    )
    assert hidden_paths(task) == tuple(
        tasks / name for name in ("t.yaml", "oracle", "assets", "solve.sh")
    )


def test_least(project: Path) -> None:
    """A prompt and an oracle make a task: empty workspace, required oracle, nothing set."""
    task = load(project, OK)
    assert task.workspace.tree.empty
    assert task.layer == {}
    assert task.oracles[0].required
    assert (task.threshold, task.solution, task.owned, task.row) == (None, None, (), None)


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("tasks/fix/task.yaml", "fix"),
        ("tasks/a.task.yml", "a"),
        ("tasks/b.yaml", "b"),
        ("tasks/v1.2.yaml", "v1.2"),
    ],
)
def test_id_of_the_file(project: Path, name: str, expected: str) -> None:
    """A file without an id gives its stem, or for task.yaml its directory's name."""
    assert load(project, OK, name).id == expected


def test_file_name_that_gives_no_id(project: Path) -> None:
    """A file name that is no id asks for an id, and with one the file loads."""
    with pytest.raises(
        DefinitionError, match=r"made of the file's name, holds a blank\. Try: give"
    ):
        load(project, OK, "tasks/my task.yaml")
    assert load(project, OK + "id: mine\n", "tasks/my task.yaml").id == "mine"


def test_unnamed_oracles_are_numbered(project: Path) -> None:
    """An oracle is named by its kind; names that are taken get a number."""
    task = load(
        project, "prompt: p\noracles: [{run: x}, {run: y}, {run: z, name: run-2}, {run: w}]\n"
    )
    assert [oracle.name for oracle in task.oracles] == ["run", "run-3", "run-2", "run-4"]


def test_one_test_file_as_oracle(project: Path) -> None:
    """One hidden test file is a tree of that file, line ends untouched, and stays hidden."""
    file = project / "tasks" / "test_it.py"
    file.write_bytes(b"def test_a():\r\n    pass\r\n")
    task = load(project, "prompt: p\noracles: [{pytest: test_it.py}]\n")
    tree = task.oracles[0].expectation
    assert tree == FileTree(files={"test_it.py": "def test_a():\r\n    pass\r\n"})
    assert file in hidden_paths(task)


def test_solutions(project: Path) -> None:
    """A solution is a patch, a directory or inline files."""
    tasks = project / "tasks"
    (tasks / "fix.diff").write_text("x")
    (tasks / "solved").mkdir()
    assert load(project, OK + "solution: fix.diff\n").solution == Solution(patch=tasks / "fix.diff")
    tree = FileTree(tasks / "solved")
    assert load(project, OK + "solution: solved\n").solution == Solution(tree=tree)
    inline = load(project, OK + "solution: {files: {a.py: x}}\n").solution
    assert inline == Solution(tree=FileTree(files={"a.py": "x"}))


def test_a_final_message_is_an_answer(project: Path) -> None:
    """A solution and a control may say something, with or without changing anything."""
    task = load(
        project,
        OK + "solution: {final: '42'}\ncontrols: [{files: {a: x}, final: '41', fails: run}]\n",
    )
    assert task.solution == Solution(final="42")
    assert task.controls[0].answer == Solution(tree=FileTree(files={"a": "x"}), final="41")


def test_a_root_below_the_home_directory(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """``~/`` of read_only is the home directory of whoever runs it."""
    monkeypatch.setenv("HOME", "/home/somebody")
    task = load(project, OK + "sandbox: {read_only: [~/tool]}\n")
    assert task.layer["sandbox.read_only"] == ["/home/somebody/tool"]


def test_prompt_file(project: Path) -> None:
    """A prompt file's text is the prompt; its line ends become LF, its byte order mark goes."""
    (project / "tasks" / "p.md").write_bytes(b"\xef\xbb\xbfDo\r\nit.\r\n")
    task = load(project, "prompt_file: p.md\noracles: [{run: x}]\n")
    assert task.prompt == "Do\nit.\n"
    assert task.owned == (project / "tasks" / "p.md",)


def test_prompt_file_inside_the_workspace(project: Path) -> None:
    """A prompt may lie in the workspace: the agent is told it anyhow, so it is not hidden."""
    (project / "tasks" / "workspace" / "TODO.md").write_text("Do it.")
    task = load(
        project, "prompt_file: workspace/TODO.md\nworkspace: workspace\noracles: [{run: x}]\n"
    )
    assert hidden_paths(task) == (project / "tasks" / "t.yaml",)


def test_prompt_file_that_is_not_text(project: Path) -> None:
    """A prompt file that is not UTF-8 is an error."""
    (project / "tasks" / "p.md").write_bytes(b"\xff")
    with pytest.raises(DefinitionError, match=r"'p\.md' cannot be read as UTF-8 text"):
        load(project, "prompt_file: p.md\noracles: [{run: x}]\n")


def test_huge_prompt(project: Path) -> None:
    """A prompt of 5 MB is a prompt."""
    text = "word " * 1_000_000
    assert load(project, f"prompt: {text}.\noracles: [{{run: x}}]\n").prompt == f"{text}."


def test_symlink_inside_the_directory(project: Path) -> None:
    """A path may be a symlink as long as it stays in the task's directory."""
    (project / "tasks" / "link").symlink_to("workspace")
    workspace = load(project, OK + "workspace: link\n").workspace
    assert workspace.tree.directory == project / "tasks" / "link"


def test_oracle_hidden_behind_a_symlink(project: Path) -> None:
    """An oracle is refused inside the workspace also when a symlink leads there."""
    (project / "tasks" / "link").symlink_to("workspace/tests")
    with pytest.raises(DefinitionError, match="overlap: the agent would see the oracle"):
        load(project, "prompt: p\nworkspace: workspace\noracles: [{pytest: link}]\n")


def test_digest(project: Path) -> None:
    """The digest follows what the file says, not how it is written or where it lies."""
    plain = load(project, OK + "id: a\ntags: [x]\n").digest
    assert load(project, OK + "tags:\n- x\nid: 'a'  # words\n", "tasks/b.yaml").digest == plain
    assert load(project, OK + "id: a\ntags: [y]\n").digest != plain


def test_injected_oracle_validator(project: Path) -> None:
    """The validator sees the finished oracle; what it says stands at the place it names."""
    seen: list[OracleSpec] = []

    def validate(spec: OracleSpec) -> list[tuple[tuple[str | int, ...], str]]:
        seen.append(spec)
        return [(("run", 1), "must be nicer"), (("extra",), "unknown key 'extra'")]

    file = project / "tasks" / "t.yaml"
    file.write_text("prompt: p\noracles:\n  - run: [a, b]\n    extra: 1\n")
    with pytest.raises(DefinitionError) as caught:
        load_task_file(file, rootdir=project, validate_oracle=validate)
    assert [spec.options for spec in seen] == [{"extra": 1}]
    places = [(problem.line, problem.column, problem.message) for problem in caught.value.problems]
    assert places == [
        (3, 14, "an item of 'run' must be nicer"),
        (4, 5, "unknown key 'extra'"),
    ]


def test_missing_file(project: Path) -> None:
    """A file that is gone is an error that says so."""
    with pytest.raises(DefinitionError, match=r"^tasks/gone.yaml: cannot be read: No such file"):
        load_task_file(project / "tasks" / "gone.yaml", rootdir=project)


def test_alias_bomb(project: Path) -> None:
    """Aliases that multiply to billions of values are refused, at once."""
    lines = ["a0: &a0 [x]"]
    lines += [f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 10)}]" for i in range(1, 60)]
    start = time.monotonic()
    with pytest.raises(DefinitionError, match="more than 100,000 values once its aliases"):
        load(project, "\n".join(lines))
    assert time.monotonic() - start < 30


@pytest.mark.parametrize("opening", ["[", "{a: ", "- "])
def test_deep_nesting(project: Path, opening: str) -> None:
    """Nesting without end is an error and no crash."""
    with pytest.raises(DefinitionError):
        load(project, "a: " + opening * 50_000 if opening != "- " else opening * 50_000)


def test_long_lines_are_cut_around_the_caret(project: Path) -> None:
    """Of a long source line the part around the problem is shown."""
    tags = ", ".join(f"t{number}" for number in range(100))
    with pytest.raises(DefinitionError) as caught:
        load(project, OK + f"tags: [{tags}, skip]\n")
    _, source, caret = str(caught.value).splitlines()
    assert len(source) < 120
    assert source[caret.index("^") :] == "skip]"
