"""The page of fixtures says what the chain is: names, what each gives, signatures, rules."""

from __future__ import annotations

import inspect
import re
import subprocess
import sys
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from types import NoneType, UnionType
from typing import get_args

import pytest
from docpages import ROOT, blocks_of

from pytest_agentbench import AgentRun, Completed, SandboxHandle, TrialSpec, Verdict
from pytest_agentbench.options import MARK
from pytest_agentbench.pytest_integration import fixtures, overrides
from pytest_agentbench.pytest_integration.overrides import FIXTURES

PAGE = ROOT / "docs" / "reference" / "fixtures.md"
TEXT = PAGE.read_text()
GIVES: dict[str, type] = {
    "agentbench_trial": TrialSpec,
    "agentbench_sandbox": SandboxHandle,
    "agentbench_run": AgentRun,
    "agentbench_verdict": Verdict,
}


def rows(head: str) -> list[list[str]]:
    """The cells of the table whose head line starts with ``head``."""
    table = TEXT.split(f"\n{head}", 1)[1].split("\n\n", 1)[0].splitlines()[2:]
    return [[cell.strip() for cell in line.split("|")[1:-1]] for line in table]


def paths(cell: str) -> list[str]:
    """The attributes that a cell names: ``.task.id``."""
    return re.findall(r"`\.([\w.]+)(?:\(\))?`", cell)


def wanting(kind: object, path: str) -> str | None:
    """The first part of a path of attributes that a class does not have."""
    for part in path.split("."):
        hints = inspect.get_annotations(kind, eval_str=True) if isinstance(kind, type) else {}
        if part in hints:
            given = [one for one in get_args(hints[part]) if one is not NoneType]
            kind = given[0] if isinstance(hints[part], UnionType) else hints[part]
        elif hasattr(kind, part):
            kind = object
        else:
            return part
    return None


def shown_signature(function: Callable[..., object]) -> str:
    """A method's parameters as the page shows them: without ``self`` and annotations."""
    signature = inspect.signature(function)
    bare = [
        one.replace(annotation=inspect.Parameter.empty)
        for one in list(signature.parameters.values())[1:]
    ]
    return str(inspect.Signature(bare))


def fixture_function(name: str) -> Callable[..., object]:
    """The function behind a fixture, in whatever pytest wraps it."""
    found: Callable[..., object] = getattr(fixtures, name)
    behind: Callable[..., object] = getattr(found, "_get_wrapped_function", lambda: found)()
    function: Callable[..., object] = inspect.unwrap(behind)
    return function


def test_the_chain_is_told_in_its_order() -> None:
    """The table of fixtures has the four of the chain, and so has that of overrides."""
    assert [row[0].strip("`") for row in rows("| fixture |")] == list(FIXTURES)
    assert [row[0].strip("`") for row in rows("| override |")] == list(FIXTURES)


@pytest.mark.parametrize("row", rows("| fixture |"), ids=lambda row: row[0].strip("`"))
def test_what_a_fixture_gives_is_there(row: list[str]) -> None:
    """Each attribute that the table names is one of the type that the fixture gives."""
    named = paths(row[1])
    assert named
    assert [path for path in named if wanting(GIVES[row[0].strip("`")], path)] == []


def test_an_attribute_that_is_not_there_is_seen() -> None:
    """Negative control: a wrong attribute is named, at whatever depth."""
    assert wanting(AgentRun, "transcript.final_message") is None
    assert wanting(AgentRun, "transcript.last_words") == "last_words"
    assert wanting(Verdict, "outcome") == "outcome"


def test_each_asks_for_the_one_before() -> None:
    """The chain is one: each fixture's arguments have the fixture above it."""
    for before, name in pairwise(FIXTURES):
        assert before in inspect.signature(fixture_function(name)).parameters


def test_the_sandbox_is_told_with_its_signatures() -> None:
    """The table of the sandbox has each public name of a handle, and ``run`` as it is called."""
    (table,) = re.findall(r"^\| \| \|\n\|---\|---\|\n((?:\|.*\n)+)", TEXT, re.MULTILINE)
    told = re.findall(r"`(?:await )?agentbench_sandbox\.(\w+)", table)
    known = [name for name in vars(SandboxHandle) if not name.startswith("_")]
    assert sorted(told) == sorted(known)
    assert f"agentbench_sandbox.run{shown_signature(SandboxHandle.run)}".replace(
        "b''", 'b""'
    ) in table.replace("`", "")
    assert shown_signature(SandboxHandle.run) == shown_signature(SandboxHandle.arun)
    named = [path.partition("(")[0] for path in re.findall(r"`\.([\w.]+(?:\(\))?)`", table)]
    assert named
    assert [path for path in named if wanting(Completed, path)] == []


def test_what_a_changed_trial_may_change_is_told() -> None:
    """The row of ``agentbench_trial`` names exactly what an override may change."""
    (row,) = [row for row in rows("| override |") if "agentbench_trial" in row[0]]
    (sentence,) = re.findall(r"with another (.*?)\. ", row[1])
    assert sorted(re.findall(r"`(\w+)`", sentence)) == sorted(overrides._CHANGEABLE)


def test_pytest_lists_the_fixtures_and_the_mark(tmp_path: Path) -> None:
    """``pytest --fixtures`` shows the four with a docstring, ``--markers`` the mark."""
    (tmp_path / "test_nothing.py").write_text("def test_nothing():\n    pass\n")
    shown = asked("--fixtures", tmp_path)
    found = re.findall(r"^(_?agentbench_\w+) -- .*\n    (.+)$", shown, re.MULTILINE)
    assert [name for name, _ in found] == list(FIXTURES)
    for _, line in found:
        assert line.strip().endswith((".", ":")), line
    assert re.search(
        rf"^@pytest\.mark\.{MARK}\(task\): ", asked("--markers", tmp_path), re.MULTILINE
    )
    assert f'@pytest.mark.{MARK}(task="tasks/fix.yaml")' in TEXT


def asked(option: str, directory: Path) -> str:
    command = [sys.executable, "-m", "pytest", option, "-p", "no:cacheprovider", "--rootdir=."]
    done = subprocess.run(command, cwd=directory, capture_output=True, text=True, check=True)
    return done.stdout


def test_the_page_has_an_example_of_everything() -> None:
    """The page's own Python uses each fixture of the chain, and overrides three of them."""
    code = "".join(block.text for block in blocks_of(PAGE) if block.language == "python")
    assert [name for name in FIXTURES if name not in code] == []
    assert len(re.findall(r"^def agentbench_\w+\(", code, re.MULTILINE)) == 3
