from __future__ import annotations

from dataclasses import replace

from pytest_agentbench.model.plan import Plan
from pytest_agentbench.model.variant import Experiment, Variant
from pytest_agentbench.reports.header import header_lines
from rows import matrix, planned

EXPERIMENT = Experiment((Variant("codex", "command"),), source="agentbench.yaml")


def test_a_plain_session_has_one_line() -> None:
    """What runs, where it is defined, and behind which walls."""
    assert header_lines(matrix(["a", "b"]), EXPERIMENT) == [
        "agentbench: 2 trials of codex (agentbench.yaml); sandbox: local (unisolated)"
    ]


def test_all_that_is_out_of_the_ordinary_is_told() -> None:
    """Label and baseline, suites of which something runs, exclusions and gates have a line each."""
    trials = [
        planned("a", "codex", suites=("smoke", "rows")),
        planned("a", "mine", suites=("smoke", "rows")),
        planned("b", "codex", suites=("rows",)),
        planned("c", "codex", suites=("rows",), deselected="deselected"),
    ]
    trials[0] = replace(trials[0], sandbox="bubblewrap", excluded="platform: no")
    trials[2] = replace(trials[2], excluded="skip: broken")
    plan = Plan(trials=trials, suites=["smoke", "rows", "none"], gates=["smoke", "add"])
    experiment = replace(EXPERIMENT, baseline="codex")
    first, *others = header_lines(plan, experiment, label="night\x1b[31m")
    assert first == (
        "agentbench: 3 trials of codex, mine (agentbench.yaml);"
        " sandbox: bubblewrap, local (unisolated)"
    )
    assert others == [
        "agentbench: label: night; baseline: codex",
        "agentbench: suites: smoke (1 task), rows (2 tasks)",
        "agentbench: 2 of 3 trials to be skipped: platform 1, skip 1",
        "agentbench: gates have no effect yet: smoke, add",
    ]


def test_many_suites_are_counted() -> None:
    """Ten are named."""
    names = tuple(f"s{number}" for number in range(12))
    plan = Plan(trials=[planned("a", suites=names)], suites=list(names))
    (line,) = (line for line in header_lines(plan, EXPERIMENT) if "suites" in line)
    assert line.endswith("s9 (1 task) and 2 more")


def test_variants_are_in_the_experiments_order() -> None:
    """A session that is shuffled has the same header."""
    experiment = replace(
        EXPERIMENT, variants=(Variant("codex", "command"), Variant("mine", "command"))
    )
    shuffled = Plan(trials=[planned("a", "mine"), planned("a", "codex")])
    (line,) = header_lines(shuffled, experiment)
    assert "2 trials of codex, mine (" in line


def test_nothing_to_run_needs_no_header() -> None:
    """Where all is deselected pytest says enough."""
    assert header_lines(Plan(trials=[planned("a", deselected="deselected")]), EXPERIMENT) == []
