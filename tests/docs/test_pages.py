"""The documents say what the code does: names, options and links."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from pytest_agentbench import registry
from pytest_agentbench.model.outcome import Outcome, Reason, outcome_of
from pytest_agentbench.settings import OPTIONS

ROOT = Path(__file__).parent.parent.parent
PAGES = [ROOT / "README.md", ROOT / "CHANGELOG.md", *sorted((ROOT / "docs").rglob("*.md"))]


def anchors(page: Path) -> set[str]:
    heads = re.findall(r"^#+ (.+)$", page.read_text(), re.MULTILINE)
    return {re.sub(r"[^\w -]", "", head).strip().lower().replace(" ", "-") for head in heads}


def table_rows(page: str, head: str) -> list[list[str]]:
    """The cells of the table whose head line starts with ``head``."""
    lines = (ROOT / page).read_text().splitlines()
    start = next(i for i, line in enumerate(lines) if line.startswith(head)) + 2
    rows = []
    for line in lines[start:]:
        if not line.startswith("|"):
            break
        rows.append([cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]])
    return rows


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_somewhere(page: Path) -> None:
    """Every relative link of a page names a file that is there, and a heading of it."""
    dead = []
    for target in re.findall(r"\]\(([^)\s]+)\)", page.read_text()):
        if "://" in target:
            continue
        name, _, anchor = target.partition("#")
        path = (page.parent / name).resolve() if name else page
        if not path.exists() or (anchor and anchor not in anchors(path)):
            dead.append(target)
    assert dead == []


@pytest.mark.parametrize(
    ("head", "names"),
    [
        ("| agents |", registry.agent_names()),
        ("| sandboxes |", (*registry.sandbox_names(), "auto")),
        ("| oracles |", registry.oracle_kinds()),
    ],
)
def test_the_readme_lists_what_is_there(head: str, names: tuple[str, ...]) -> None:
    """The tables of the README name exactly the registered agents, sandboxes and oracles."""
    listed = [row[0].strip("`") for row in table_rows("README.md", head)]
    assert sorted(listed) == sorted(names)


def test_every_option_is_documented() -> None:
    """The table of options has each option with its ini key, and no other."""
    rows = table_rows("docs/reference/options.md", "| option | ini key |")
    documented = [(row[0].replace("\\|", "|").strip("`"), row[1].strip("`")) for row in rows]
    known = [(f"{option.flag}={option.metavar}", option.key) for option in OPTIONS]
    assert sorted(documented) == sorted([*known, ("", "agentbench_tasks")])


def test_every_reason_is_documented() -> None:
    """The table of outcomes has each reason below the outcome that it belongs to."""
    documented = []
    outcome = ""
    for row in table_rows("docs/reference/outcomes.md", "| outcome | reason |"):
        outcome = row[0].strip("`") or outcome
        documented.append((outcome, row[1].strip("`")))
    known = [(str(outcome_of(reason)), str(reason)) for reason in Reason]
    assert sorted(documented) == sorted([*known, (str(Outcome.PASSED), "")])


def test_the_gate_runs_the_readme_s_commands() -> None:
    """What the README promises of its two commands is what the gate runs."""
    commands = re.findall(r"\.venv/bin/pytest ([^`\n]+)", (ROOT / "README.md").read_text())
    gate = (ROOT / ".ci" / "run").read_text()
    assert commands == ["tasks/ -n 4", "-n 4"]
    for arguments in commands:
        assert re.search(rf'bin/pytest" {re.escape(arguments)}$', gate, re.MULTILINE), arguments
