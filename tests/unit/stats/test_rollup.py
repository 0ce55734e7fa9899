from __future__ import annotations

from dataclasses import replace
from itertools import cycle

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_agentbench.model.outcome import Outcome, Reason
from pytest_agentbench.model.plan import Plan
from pytest_agentbench.model.rollup import Expected, OracleTally, Rate, Spend, Tally
from pytest_agentbench.stats.intervals import wilson
from pytest_agentbench.stats.rollup import roll_up
from rows import judged, matrix, planned, recorded


def five(tally: Tally) -> tuple[int, int, int, int, int]:
    return tally.passed, tally.failed, tally.error, tally.skipped, tally.cancelled


def test_every_outcome_is_counted_for_itself() -> None:
    """Failed, error, skipped and cancelled are never mixed."""
    plan = matrix("abcdef")
    ends: list[Outcome | Reason] = [Outcome.PASSED, Reason.ORACLE, Reason.SANDBOX]
    ends += [Reason.SKIP, Reason.STOPPED]
    records = [recorded(trial, end) for trial, end in zip(plan.trials, ends, strict=False)]
    rollup = roll_up(plan, records)
    assert rollup.suite.planned == 6
    assert five(rollup.suite) == (1, 1, 1, 1, 2)
    assert rollup.cancelled == ("e[codex-r1]", "f[codex-r1]")
    assert rollup.reasons == (
        ("failed: oracle", 1),
        ("error: sandbox", 1),
        ("skipped: skip", 1),
        ("cancelled: not run", 1),
        ("cancelled: stopped", 1),
    )


def test_both_denominators_are_kept() -> None:
    """80 correct of 100 with 10 errors is 88.9 % of what was scored and 80 % of the plan."""
    plan = matrix([f"t{number}" for number in range(100)])
    ends: list[Outcome | Reason] = [Outcome.PASSED] * 80
    ends += [Reason.ORACLE] * 10 + [Reason.SANDBOX] * 10
    records = [recorded(trial, end) for trial, end in zip(plan.trials, ends, strict=True)]
    suite = roll_up(plan, records).suite
    assert suite.of_scored == Rate(80, 90, 80 / 90, *wilson(80 / 90, 90))
    assert suite.of_planned.value == 0.8
    assert (suite.of_planned.low, suite.of_planned.high) == pytest.approx(wilson(0.8, 100))


@pytest.mark.parametrize("end", [Reason.SANDBOX, Reason.SKIP, Reason.STOPPED])
def test_nothing_scored_is_unknown(end: Reason) -> None:
    """A run of errors or skips has no pass rate: neither 0 % nor 100 %."""
    plan = matrix("ab")
    suite = roll_up(plan, [recorded(trial, end) for trial in plan.trials]).suite
    assert suite.of_scored == Rate(0, 0, None, None, None)
    assert suite.of_planned == Rate(0, 2, None, None, None)


def test_an_empty_plan_has_no_rates() -> None:
    """Nothing planned: nothing known, and no division by zero."""
    rollup = roll_up(Plan(), [])
    assert rollup.suite.of_planned.value is None
    assert rollup.variants == rollup.tasks == ()


def test_repeats_and_variants_of_a_task_share_its_luck() -> None:
    """20 tasks, 3 repeats, all passed: worth 20 trials. A task's own rate counts all three."""
    plan = matrix([f"t{number}" for number in range(20)], repeats=3)
    rollup = roll_up(plan, [recorded(trial) for trial in plan.trials])
    assert (rollup.suite.of_scored.low, rollup.suite.of_scored.high) == wilson(1, 20)
    assert (rollup.variants[0].of_scored.low, rollup.variants[0].of_scored.high) == wilson(1, 20)
    assert (rollup.tasks[0].of_scored.low, rollup.tasks[0].of_scored.high) == wilson(1, 3)


def test_groups_keep_the_order_of_the_plan() -> None:
    """Variants and tasks come as planned, not as finished or sorted."""
    plan = matrix(["b", "a"], ["y", "x"])
    rollup = roll_up(plan, [recorded(trial) for trial in reversed(plan.trials)])
    assert [tally.name for tally in rollup.variants] == ["y", "x"]
    assert [tally.name for tally in rollup.tasks] == ["b", "a"]


def test_the_first_scored_attempt_counts() -> None:
    """A rerun after an error counts; a rerun after a failure cannot undo it."""
    errored, failed = plan = matrix("ab").trials
    records = [
        recorded(errored, Reason.SANDBOX, attempt=1),
        recorded(failed, Reason.ORACLE, attempt=1),
        recorded(errored, Outcome.PASSED, attempt=2),
        recorded(failed, Outcome.PASSED, attempt=2),
    ]
    rollup = roll_up(Plan(trials=plan), records)
    assert five(rollup.suite) == (1, 1, 0, 0, 0)
    assert rollup.reruns == 2


def test_without_a_scored_attempt_the_last_counts() -> None:
    """Errors all the way: the last one is the trial's."""
    (trial,) = matrix("a").trials
    records = [recorded(trial, Reason.SANDBOX), recorded(trial, Reason.AGENT_CRASH)]
    assert roll_up(Plan(trials=[trial]), records).reasons == (("error: agent_crash", 1),)


def test_what_was_not_to_run_is_not_planned() -> None:
    """Deselected trials are counted aside, and make the run incomplete."""
    plan = Plan(trials=[planned("a"), planned("b", deselected="-k"), planned("c", deselected="-k")])
    rollup = roll_up(plan, [recorded(planned("a"))])
    assert (rollup.suite.planned, rollup.deselected, rollup.complete) == (1, 2, False)


def test_a_whole_run_is_complete() -> None:
    """Complete is what was neither narrowed, deselected nor cancelled; errors do not matter."""
    plan = matrix("ab")
    records = [recorded(plan.trials[0], Reason.SANDBOX), recorded(plan.trials[1])]
    assert roll_up(plan, records).complete
    assert not roll_up(plan, records, narrowed=["--lf"]).complete
    assert not roll_up(plan, records[:1]).complete


def test_records_of_nothing_planned_are_told() -> None:
    """A record without a planned trial counts nowhere and is not dropped in silence."""
    plan = Plan(trials=[planned("a"), planned("b", deselected="-k")])
    rollup = roll_up(plan, [recorded(planned(name)) for name in "abz"])
    assert rollup.unplanned == ("b[codex-r1]", "z[codex-r1]")
    assert five(rollup.suite) == (1, 0, 0, 0, 0)


def test_trials_without_walls_are_counted() -> None:
    """How many trials were not isolated, and in which sandboxes."""
    plan = matrix("abc")
    walls = {"driver": "bubblewrap", "isolated": True, "network": "none"}
    local = {"driver": "local", "isolated": False, "network": "full"}
    records = [
        recorded(trial, sandbox=sandbox)
        for trial, sandbox in zip(plan.trials, (walls, local, None), strict=True)
    ]
    rollup = roll_up(plan, records)
    assert (rollup.unisolated, rollup.unisolated_drivers) == (1, ("local",))


def test_every_attempt_costs() -> None:
    """A rerun is paid for, whether it counts or not; a trial in which no agent ran is free."""
    (trial, skipped) = matrix("ab").trials
    ran = {"agent_s": 1.0}
    records = [
        recorded(trial, Reason.CLEANUP, usage={"cost_usd": 2.0}, phases=ran),
        recorded(
            trial, usage={"cost_usd": 1.0, "input_tokens": 10, "output_tokens": 5}, phases=ran
        ),
        recorded(skipped, Reason.SKIP),
    ]
    rollup = roll_up(Plan(trials=[trial, skipped]), records)
    assert rollup.cost_usd == Spend(2, 2, 3.0, 1.5)
    # Half of them said nothing about tokens: a lower bound, and no median.
    assert rollup.tokens == Spend(2, 1, 15, None)


def test_unreported_usage_is_unknown() -> None:
    """Nobody reported anything: no sum, rather than 0."""
    plan = matrix("a")
    rollup = roll_up(plan, [recorded(plan.trials[0], phases={"agent_s": 1.0})])
    assert rollup.cost_usd == Spend(1, 0, None, None)


SUITES = Plan(
    trials=[
        planned("a", "x", suites=("smoke", "rows")),
        planned("a", "y", suites=("smoke", "rows")),
        planned("b", "x", suites=("smoke",), deselected="deselected"),
        planned("c", "x", suites=("rows",)),
    ],
    suites=["smoke", "rows", "nightly"],
)
"""Two suites that share a task, and one that has none."""


def test_suites_are_counted_by_variant() -> None:
    """A task counts in each of its suites; the suite that holds everything is not among them."""
    records = [recorded(SUITES.trials[0]), recorded(SUITES.trials[1], Reason.ORACLE)]
    records.append(recorded(SUITES.trials[3], Reason.SANDBOX))
    smoke, rows, nightly = roll_up(SUITES, records).suites
    assert [(tally.name, *five(tally)) for tally in smoke.variants] == [
        ("x", 1, 0, 0, 0, 0),
        ("y", 0, 1, 0, 0, 0),
    ]
    assert [(tally.name, *five(tally)) for tally in rows.variants] == [
        ("x", 1, 0, 1, 0, 0),
        ("y", 0, 1, 0, 0, 0),
    ]
    assert (nightly.name, nightly.variants) == ("nightly", ())


def test_deselection_makes_those_suites_partial_that_it_touches() -> None:
    """A suite whose every trial came to run stays complete, whatever else was deselected."""
    records = [recorded(trial) for trial in SUITES.selected]
    smoke, rows, nightly = roll_up(SUITES, records).suites
    assert smoke.partial == ("1 of 3 trials deselected",)
    assert (rows.complete, nightly.complete) == (True, True)


def test_trials_that_never_ran_make_their_suites_partial() -> None:
    """What was cancelled is missing from the suites that it belongs to, and no others."""
    records = [recorded(trial) for trial in SUITES.selected[:2]]
    smoke, rows, _ = roll_up(SUITES, records).suites
    assert rows.partial == ("1 of 3 trials not run",)
    assert smoke.partial == ("1 of 3 trials deselected",)


def test_what_was_never_collected_makes_every_suite_partial() -> None:
    """Nobody knows which suite a task belongs to that no plan holds."""
    plan = SUITES.model_copy(update={"narrowed": ["selected by path: tasks/a.yaml"]})
    rollup = roll_up(plan, [recorded(trial) for trial in plan.selected], narrowed=["more"])
    assert rollup.narrowed == ("selected by path: tasks/a.yaml", "more")
    assert [suite.partial[:2] for suite in rollup.suites] == [rollup.narrowed] * 3


def test_a_suites_interval_lets_tasks_share_luck() -> None:
    """Three repeats of twenty tasks are worth twenty trials in a suite too."""
    plan = matrix([f"t{number}" for number in range(20)], repeats=3)
    trials = [replace(trial, suites=("s",)) for trial in plan.trials]
    rollup = roll_up(Plan(trials=trials, suites=["s"]), map(recorded, trials))
    (tally,) = rollup.suites[0].variants
    assert (tally.of_scored.low, tally.of_scored.high) == wilson(1, 20)


def test_oracles_are_counted_by_name_and_variant() -> None:
    """Those that refuse most come first; what did not run is neither passed nor refused."""
    a, b, c = (planned(name, "x") for name in "abc")
    tests, style = judged("tests"), judged("style", advisory=True)
    records = [
        recorded(a, oracles=[tests, style]),
        recorded(b, Reason.ORACLE, oracles=[tests, judged("lint", passed=False)]),
        recorded(
            c,
            Reason.ORACLE,
            oracles=[
                judged("lint", passed=False),
                judged("tests", passed=False, ran=False),
                judged("style", passed=False, advisory=True),
            ],
        ),
    ]
    assert roll_up(Plan(trials=[a, b, c]), records).oracles == (
        OracleTally("lint", "x", passed=0, refused=2),
        OracleTally("style", "x", passed=1, refused=1, advisory=True),
        OracleTally("tests", "x", passed=2, refused=0, not_run=1),
    )


def test_oracles_of_errors_are_not_counted() -> None:
    """What was not scored says nothing about an oracle."""
    (trial,) = matrix("a").trials
    records = [recorded(trial, Reason.ORACLE_ERROR, oracles=[judged("tests", passed=False)])]
    assert roll_up(Plan(trials=[trial]), records).oracles == ()


def test_what_was_expected_changes_no_count() -> None:
    """Expected failures are counted as measured, and told beside the counts."""
    plan = matrix("abcd")
    ends: list[Outcome | Reason] = [Reason.ORACLE, Outcome.PASSED, Reason.SKIP, Reason.ORACLE]
    said = ["xfail", "xpass", "xfail", None]
    records = [
        recorded(trial, end, expected=one)
        for trial, end, one in zip(plan.trials, ends, said, strict=True)
    ]
    rollup = roll_up(plan, records)
    assert five(rollup.suite) == (1, 2, 0, 1, 0)
    assert rollup.expected == Expected(not_passed=1, passed=1, not_run=1)
    assert not roll_up(plan, []).expected


ends = st.none() | st.sampled_from([Outcome.PASSED, *Reason])


@given(
    tasks=st.integers(0, 4),
    variants=st.integers(1, 3),
    repeats=st.integers(1, 3),
    attempts=st.lists(st.lists(ends, max_size=3), min_size=1, max_size=8),
    deselected=st.lists(st.booleans(), min_size=1, max_size=5),
)
def test_no_trial_drops_out_of_a_denominator(
    tasks: int,
    variants: int,
    repeats: int,
    attempts: list[list[Outcome | Reason | None]],
    deselected: list[bool],
) -> None:
    """Whatever happened, the outcomes of each group sum to what was planned of it."""
    trials = [
        replace(trial, deselected="-k" if out else None)
        for trial, out in zip(
            matrix(
                [f"t{number}" for number in range(tasks)],
                [f"v{number}" for number in range(variants)],
                repeats,
            ).trials,
            cycle(deselected),
            strict=False,
        )
    ]
    records = [
        recorded(trial, end)
        for trial, tries in zip(trials, cycle(attempts), strict=False)
        for end in tries
        if end is not None
    ]
    plan = Plan(trials=trials)
    rollup = roll_up(plan, records)
    groups = (rollup.suite, *rollup.variants, *rollup.tasks)
    for tally in groups:
        assert sum(five(tally)) == tally.planned
        assert tally.of_planned.total == tally.planned
        assert tally.of_scored.total == tally.scored
        for rate in (tally.of_planned, tally.of_scored):
            assert (rate.value is None) == (tally.scored == 0)
            if rate.value is not None:
                assert rate.low is not None
                assert rate.high is not None
                assert 0 <= rate.low <= rate.value + 1e-12 <= rate.high + 2e-12
    assert rollup.suite.planned == len(plan.selected)
    assert sum(tally.planned for tally in rollup.variants) == rollup.suite.planned
    assert sum(tally.planned for tally in rollup.tasks) == rollup.suite.planned
    assert sum(count for _, count in rollup.reasons) == (rollup.suite.planned - rollup.suite.passed)
    assert len(rollup.cancelled) == rollup.suite.cancelled
