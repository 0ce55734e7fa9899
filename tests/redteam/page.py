"""The tables of the threat model, as the suite has them."""

from __future__ import annotations

from redteam.attack import Attack
from redteam.bends import BENDS, Bend
from redteam.table import ATTACKS

ATTACK_HEAD = "| # | attack | oracle | what it tries | what stops it | outcome |"
BEND_HEAD = "| # | cheat | what it tries | bends | stays upright |"


def attack_rows() -> list[str]:
    """One line an attack, by number."""
    ordered = sorted(ATTACKS, key=lambda attack: attack.rows)
    return [_attack_row(attack) for attack in ordered]


def bend_rows() -> list[str]:
    """One line a cheat, by number."""
    return [_bend_row(bend) for bend in sorted(BENDS, key=lambda bend: bend.rows)]


def _attack_row(attack: Attack) -> str:
    outcome = f"`{attack.outcome}: {attack.reason}`"
    cells = (attack.name, attack.judges, attack.tries, attack.stopped_by, outcome)
    return _line(attack.rows, cells)


def _bend_row(bend: Bend) -> str:
    return _line(bend.rows, (bend.name, bend.tries, bend.bends, bend.upright))


def _line(rows: tuple[int, ...], cells: tuple[str, ...]) -> str:
    return f"| {', '.join(map(str, rows))} | {' | '.join(cells)} |"
