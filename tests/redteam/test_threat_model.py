"""The page on threats says what the suite shows, and nothing more."""

from __future__ import annotations

from itertools import takewhile
from pathlib import Path

import pytest
from redteam.bends import BENDS
from redteam.page import ATTACK_HEAD, BEND_HEAD, attack_rows, bend_rows
from redteam.table import ATTACKS

GENERAL = {*range(1, 17), *range(23, 31), 32}
"""The numbers of attacks that any harness has to stand."""

IN_PROCESS = set(range(16, 23))
"""The numbers of those that no oracle stands which shares a process with the agent's code."""


def table(page: str, head: str) -> list[str]:
    """The lines of the table with this head."""
    lines = iter(page.splitlines())
    assert head in lines
    next(lines)
    return list(takewhile(lambda line: line.startswith("|"), lines))


@pytest.mark.parametrize(
    ("head", "rows"),
    [(ATTACK_HEAD, attack_rows()), (BEND_HEAD, bend_rows())],
    ids=["attacks", "bends"],
)
def test_the_page_has_what_the_suite_runs(repository: Path, head: str, rows: list[str]) -> None:
    """Each attack is told as it is run, and none is told that is not run."""
    page = (repository / "docs" / "concepts" / "threat-model.md").read_text()
    assert table(page, head) == rows


def test_every_known_attack_is_there() -> None:
    """No number is left out, and no two attacks share a name."""
    rows = {row for attack in ATTACKS for row in attack.rows}
    assert rows >= GENERAL
    assert {row for bend in BENDS for row in bend.rows} >= IN_PROCESS - {17}
    names = [attack.name for attack in ATTACKS] + [bend.name for bend in BENDS]
    assert len(set(names)) == len(names)
