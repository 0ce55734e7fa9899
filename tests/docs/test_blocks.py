"""Every YAML block of the documents that is marked as a task or an experiment loads."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest
from docpages import STORIES

from pytest_agentbench import registry
from pytest_agentbench.errors import DefinitionError
from pytest_agentbench.matrix.expand import expand
from pytest_agentbench.matrix.prompts import template_fault
from pytest_agentbench.taskfiles.experiment import load_experiment
from pytest_agentbench.taskfiles.loader import load_task_file

ROOT = Path(__file__).parent.parent.parent
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]

# Pages whose blocks are files of one project each, which test_stories runs.
TOLD = {page.relative_to(ROOT).as_posix() for page in STORIES}

# The design shows keys that are not built yet.
AHEAD = ROOT / "docs" / "concepts" / "design.md"

# What the blocks of tasks name, beside the file that they are written to.
BESIDE = {
    "prompt.md": "Fix total().\n",
    "workspace/shop.py": "def total(rows):\n    return sum(rows[:-1])\n",
    "oracle/test_total.py": (
        "from shop import total\n\n\ndef test_total():\n    assert total([4]) == 4\n"
    ),
    "assets/expected.txt": "all\n",
    "solution.patch": (
        "--- a/shop.py\n+++ b/shop.py\n@@ -1,2 +1,2 @@\n def total(rows):\n"
        "-    return sum(rows[:-1])\n+    return sum(rows)\n"
    ),
    "rows.jsonl": "".join(json.dumps({"name": f"row-{n}", "number": n}) + "\n" for n in range(3)),
    "rows.csv": "name,level,number\na,easy,1\nb,easy,2\nc,hard,3\n",
    "issues.jsonl": json.dumps(
        {
            "instance_id": "calc-1",
            "problem_statement": "add() is wrong.",
            "before": "def add(a, b):\n    return a - b\n",
            "tests": "def test_edge_1():\n    pass\n",
            "FAIL_TO_PASS": '["tests/test_calc.py::test_edge_1"]',
            "PASS_TO_PASS": "[]",
        }
    )
    + "\n",
}

# What the blocks of experiments name, beside agentbench.yaml.
BESIDE_EXPERIMENT = {
    "experiments/base.yaml": "variants:\n  codex: {agent: noop, limits: {time: 5m}}\n",
    "overlays/notes/NOTES.md": "Read this first.\n",
}


@dataclass(frozen=True)
class Block:
    """One fenced block: where it stands, what it is marked as, and its text."""

    place: str
    mark: str
    text: str


def blocks() -> list[Block]:
    found = []
    for page in PAGES:
        text = page.read_text()
        for match in re.finditer(r"^```yaml ?(\w*)\n(.*?)^```$", text, re.MULTILINE | re.DOTALL):
            line = text.count("\n", 0, match.start()) + 1
            found.append(Block(f"{page.relative_to(ROOT)}:{line}", match[1], match[2]))
    return found


def marked(mark: str) -> list[object]:
    return [
        pytest.param(block, id=block.place)
        for block in blocks()
        if block.mark == mark and block.place.partition(":")[0] not in TOLD
    ]


def write(root: Path, files: dict[str, str]) -> None:
    for name, content in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content)


def project(root: Path, name: str, text: str) -> Path:
    path = root / name
    write(path.parent, {**BESIDE, path.name: text})
    return path


def run_pytest(root: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *arguments]
    return subprocess.run(command, cwd=root, capture_output=True, text=True, check=False)


def test_every_block_is_marked() -> None:
    """No YAML block outside the design page escapes the tests by having no mark."""
    known = {"task", "experiment", "workflow"}
    unmarked = [block.place for block in blocks() if block.mark not in known]
    assert [place for place in unmarked if AHEAD.name not in place] == []
    assert len(marked("task")) > 5
    assert len(marked("experiment")) > 3


@pytest.mark.parametrize("block", marked("task"))
def test_task_blocks_load(block: Block, tmp_path: Path) -> None:
    """A task block is a task file without a problem."""
    path = project(tmp_path, "tasks/shown/task.yaml", block.text)
    assert load_task_file(path, rootdir=tmp_path)


@pytest.mark.parametrize("block", marked("experiment"))
def test_experiment_blocks_load(block: Block, tmp_path: Path) -> None:
    """An experiment block loads, its agents accept their options, and it expands to trials."""
    task = project(tmp_path, "tasks/shown/task.yaml", "prompt: Do it.\noracles: [{run: 'true'}]\n")
    write(tmp_path, {**BESIDE_EXPERIMENT, "agentbench.yaml": block.text})
    experiment = load_experiment(tmp_path, None, check_template=template_fault)
    (loaded,) = load_task_file(task, rootdir=tmp_path)
    trials = expand(loaded, experiment, {})
    assert len(trials) >= len(experiment.variants)
    assert [trial.fault for trial in trials if trial.fault] == []
    for variant in experiment.variants:
        registry.agent_class(variant.agent).Options.model_validate(dict(variant.options))


def test_a_wrong_block_is_seen(tmp_path: Path) -> None:
    """Negative control: a block with a mistyped key does not load."""
    path = project(tmp_path, "tasks/shown/task.yaml", "promt: Do it.\noracles: [{run: 'true'}]\n")
    with pytest.raises(DefinitionError, match="did you mean 'prompt'"):
        load_task_file(path, rootdir=tmp_path)


def test_shown_solutions_pass_and_doing_nothing_fails(tmp_path: Path) -> None:
    """Each task block with a solution is solved by it, and by nothing else."""
    solved = [
        block
        for block in blocks()
        if block.mark == "task" and "\nsolution:" in block.text
        if block.place.partition(":")[0] not in TOLD
    ]
    for number, block in enumerate(solved):
        # Walls that a block asks for are another test's matter.
        text = re.sub(r"^(id|sandbox|repeats):.*\n", "", block.text, flags=re.MULTILINE)
        project(tmp_path, f"tasks/shown-{number}/task.yaml", text)
    arguments = ("tasks", "--agentbench-sandbox=local")
    passed = run_pytest(tmp_path, *arguments)
    failed = run_pytest(tmp_path, *arguments, "--agentbench-agent=noop")
    assert len(solved) > 3
    assert f"\n{len(solved)} passed in " in passed.stdout, passed.stdout
    assert f"\n{len(solved)} failed in " in failed.stdout, failed.stdout


def test_the_shown_python_agent_works(tmp_path: Path) -> None:
    """The complete agent on the page of agents solves a task."""
    page = (ROOT / "docs" / "reference" / "agents.md").read_text()
    (source,) = re.findall(r"^```python\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)
    files = {
        "agents/mine.py": source,
        "agentbench.yaml": (
            "variants:\n  mine:\n    agent: python\n"
            '    options: {call: "agents.mine:solve", options: {tries: 2}}\n'
        ),
        "tasks/sum.yaml": (
            "prompt: Mend add().\n"
            'workspace: {files: {calc.py: "def add(a, b):\\n    return a - b\\n"}}\n'
            "oracles:\n  - run: grep -q 'a + b' calc.py\n  - answer: {equals: Fixed it.}\n"
        ),
    }
    write(tmp_path, files)
    done = run_pytest(tmp_path, "tasks", "--agentbench-sandbox=local")
    assert "\n1 passed in " in done.stdout, done.stdout
