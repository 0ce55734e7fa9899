"""What an oracle cannot resist that runs the agent's code in its own process, and what can."""

from __future__ import annotations

import pytest
from redteam.arena import Arena
from redteam.attack import Json, Task
from redteam.bends import BENDS, Bend


def task(bend: Bend, oracle: Task) -> Task:
    return {"prompt": "Do it.", "workspace": bend.workspace, "oracles": [dict(oracle)]}


def player(steps: tuple[Json, ...]) -> Json:
    return {"agent": "scripted", "options": {"steps": list(steps)}}


@pytest.mark.parametrize("bend", BENDS, ids=lambda bend: bend.name)
def test_one_oracle_is_bent_and_the_other_is_not(bend: Bend, walled: Arena) -> None:
    """The cheat passes the weak oracle and fails the strong one; honest work passes both."""
    found = walled.run(
        {"weak": task(bend, bend.weak), "strong": task(bend, bend.strong)},
        {"cheat": player(bend.cheat), "honest": player(bend.honest)},
    )
    outcomes = {key.replace("-r1]", "]"): found.outcome(key) for key in found.records}
    assert outcomes == {
        "weak[cheat]": ("passed", None),
        "weak[honest]": ("passed", None),
        "weak[idle]": ("failed", "oracle"),
        "strong[cheat]": ("failed", "oracle"),
        "strong[honest]": ("passed", None),
        "strong[idle]": ("failed", "oracle"),
    }


def test_what_a_judge_has_in_memory_alone_is_out_of_reach(arena: Arena) -> None:
    """Expected values in ``options`` are found by no program that the oracle runs."""
    (bend,) = (each for each in BENDS if each.name == "read-the-grader")
    variants = {"cheat": player(bend.cheat), "honest": player(bend.honest)}
    found = arena.run({"strong": task(bend, bend.strong)}, variants)
    assert found.outcome("strong[cheat-r1]") == ("failed", "oracle")
    assert found.outcome("strong[honest-r1]") == ("passed", None)
