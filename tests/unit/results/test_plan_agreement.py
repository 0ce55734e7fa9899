from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from pytest_agentbench.model.plan import Plan
from pytest_agentbench.results.plans import agree, merge
from rows import matrix, planned

PLAN = matrix(["a", "b"], ["x", "y"], repeats=2)


def test_equal_plans_agree() -> None:
    """Every process planned the same: nothing to say."""
    assert agree({"gw0": PLAN, "gw1": PLAN, "gw2": PLAN}) == []
    assert agree({"main": PLAN}) == agree({}) == []


def test_missing_trials_are_named() -> None:
    """A trial that only some processes know is named with both sides."""
    less = Plan(trials=PLAN.trials[1:])
    assert agree({"gw0": PLAN, "gw1": less}) == ["a[x-r1]: in gw0, not in gw1"]
    assert agree({"gw0": less, "gw1": PLAN}) == ["a[x-r1]: in gw1, not in gw0"]


def test_another_order_is_named_by_its_first_place() -> None:
    """The same trials in another order differ."""
    turned = Plan(trials=list(reversed(PLAN.trials)))
    assert agree({"gw0": PLAN, "gw1": turned}) == ["place 1: a[x-r1] in gw0, b[y-r2] in gw1"]


def test_another_decision_is_named() -> None:
    """A trial that one process deselected and another did not differs in that field."""
    plans = {
        "gw0": Plan(trials=[planned("a")]),
        "gw1": Plan(trials=[planned("a", deselected="-k")]),
    }
    assert agree(plans) == ["a[codex-r1]: deselected is None in gw0, '-k' in gw1"]


def test_another_idea_of_the_whole_is_named() -> None:
    """Processes that know other suites, or left other things out, differ."""
    plans = {"gw0": Plan(suites=["a"]), "gw1": Plan(suites=["b"], narrowed=["--lf"])}
    assert agree(plans) == [
        "suites: ['a'] in gw0, ['b'] in gw1",
        "narrowed: [] in gw0, ['--lf'] in gw1",
    ]
    merged = merge(plans)
    assert (merged.suites, merged.narrowed) == (["a", "b"], ["--lf"])


def test_many_differences_are_counted() -> None:
    """Nobody reads a thousand lines: five, and how many more."""
    plans = {"gw0": matrix([f"t{number}" for number in range(1000)]), "gw1": Plan()}
    differences = agree(plans)
    assert len(differences) == 6
    assert differences[-1] == "gw1: 995 more differences"


def test_merged_plans_lose_no_trial() -> None:
    """The first plan's order, then what only others know."""
    merged = merge({"gw0": Plan(trials=PLAN.trials[2:]), "gw1": PLAN})
    assert merged.trials == [*PLAN.trials[2:], *PLAN.trials[:2]]


@given(st.lists(st.sets(st.sampled_from("abcdef")), min_size=1, max_size=4))
def test_merging_is_a_union(parts: list[set[str]]) -> None:
    """Whatever the processes know, the merged plan has each trial once."""
    plans = {f"gw{number}": matrix(sorted(part)) for number, part in enumerate(parts)}
    tasks = [trial.task for trial in merge(plans).trials]
    assert sorted(tasks) == sorted(set().union(*parts))
    same = all(part == parts[0] for part in parts)
    assert (agree(plans) == []) == same
