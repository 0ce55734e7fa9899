"""Every YAML block of the documents that is marked as a task or an experiment loads."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from pathlib import Path

import pytest

from pytest_agentbench import registry
from pytest_agentbench.errors import DefinitionError
from pytest_agentbench.matrix.expand import expand
from pytest_agentbench.taskfiles.experiment import load_experiment
from pytest_agentbench.taskfiles.loader import load_task_file

ROOT = Path(__file__).parent.parent.parent
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]

# The design shows keys that are not built yet.
AHEAD = ROOT / "docs" / "concepts" / "design.md"

# What the blocks name, beside the file that they are written to.
BESIDE = {
    "prompt.md": "Fix total().\n",
    "workspace/shop.py": "def total(rows):\n    return sum(rows[:-1])\n",
    "oracle/test_total.py": "def test_total():\n    pass\n",
    "assets/expected.txt": "all\n",
    "solution.patch": "--- a/shop.py\n+++ b/shop.py\n",
    "rows.jsonl": "".join(json.dumps({"name": f"row-{n}", "number": n}) + "\n" for n in range(3)),
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
    return [pytest.param(block, id=block.place) for block in blocks() if block.mark == mark]


def project(root: Path, name: str, text: str) -> Path:
    path = root / name
    for beside, content in BESIDE.items():
        neighbour = path.parent / beside
        neighbour.parent.mkdir(parents=True, exist_ok=True)
        neighbour.write_text(content)
    path.write_text(text)
    return path


def test_every_block_is_marked() -> None:
    """No YAML block outside the design page escapes the tests by having no mark."""
    known = {"task", "experiment"}
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
    (tmp_path / "agentbench.yaml").write_text(block.text)
    experiment = load_experiment(tmp_path, None)
    (loaded,) = load_task_file(task, rootdir=tmp_path)
    assert len(expand(loaded, experiment, {})) >= len(experiment.variants)
    for variant in experiment.variants:
        registry.agent_class(variant.agent).Options.model_validate(dict(variant.options))


def test_a_wrong_block_is_seen(tmp_path: Path) -> None:
    """Negative control: a block with a mistyped key does not load."""
    path = project(tmp_path, "tasks/shown/task.yaml", "promt: Do it.\noracles: [{run: 'true'}]\n")
    with pytest.raises(DefinitionError, match="did you mean 'prompt'"):
        load_task_file(path, rootdir=tmp_path)
