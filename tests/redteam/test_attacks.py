"""Each attack gets its typed outcome, behind every driver's walls, and the next task is clean."""

from __future__ import annotations

import pytest
from redteam.arena import LOCAL, Arena, require_limits
from redteam.attack import Attack
from redteam.table import ATTACKS

from projects import Project

NEXT = {
    "next[attacker-r1]": ("passed", None),
    "next[idle-r1]": ("failed", "oracle"),
}


@pytest.mark.parametrize("attack", ATTACKS, ids=lambda attack: attack.name)
def test_an_attack_does_not_pass(attack: Attack, arena: Arena) -> None:
    """It has its outcome and reason; honest work passes afterwards, and doing nothing does not."""
    require_limits(arena.driver, attack.needs)
    found = arena.attacked(attack)
    key = "target[attacker-r1]"
    record = found.records[key]
    assert found.outcome(key) == (attack.outcome, attack.reason), record["message"]
    assert attack.because in record["message"]
    assert {key: found.outcome(key) for key in NEXT} == NEXT
    if arena.driver.quick:
        assert found.outcome("target[idle-r1]")[0] == "failed"
    assert len(found.records) == len(found.cases) == (4 if arena.driver.quick else 3)
    assert found.result.ret == 1
    assert found.touched == ()
    assert found.survivors == ()


@pytest.mark.parametrize(
    "attack",
    [attack for attack in ATTACKS if attack.beats is not None],
    ids=lambda attack: attack.name,
)
def test_a_careless_oracle_is_beaten(attack: Attack, walled: Arena) -> None:
    """Negative control: on an oracle that lets the workspace decide, the same attack passes."""
    found = walled.careless(attack)
    record = found.records["target[attacker-r1]"]
    assert found.outcome("target[attacker-r1]") == ("passed", None), record["message"]
    assert found.outcome("target[idle-r1]") == ("failed", "oracle")


def test_without_walls_the_project_can_be_read(pytester: pytest.Pytester) -> None:
    """Negative control, and a warning: in ``local`` an agent reads what it likes."""
    (attack,) = (each for each in ATTACKS if each.name == "read-the-project")
    found = Arena.in_project(Project(pytester), LOCAL).attacked(attack)
    assert found.outcome("target[attacker-r1]") == ("passed", None)
    assert "unisolated" in found.result.stdout.str()
