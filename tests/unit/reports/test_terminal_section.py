from __future__ import annotations

from dataclasses import replace
from textwrap import dedent

import pytest

from pytest_agentbench.model.outcome import Outcome, Reason
from pytest_agentbench.model.plan import Plan
from pytest_agentbench.model.record import Record
from pytest_agentbench.reports.terminal import Line, summary_lines
from pytest_agentbench.reports.view import build_view, percent
from pytest_agentbench.stats.rollup import roll_up
from rows import judged, matrix, planned, recorded

RESULTS = ".agentbench/runs/20261129-131500-a1b2c3"


def section(
    plan: Plan,
    records: list[Record],
    *,
    width: int = 100,
    every_task: bool = False,
    trouble: tuple[str, ...] = (),
    narrowed: tuple[str, ...] = (),
) -> list[Line]:
    rollup = roll_up(plan, records, narrowed=narrowed)
    view = build_view(rollup, results=RESULTS, every_task=every_task, trouble=trouble)
    return summary_lines(view, width=width)


def text(lines: list[Line]) -> str:
    return "\n".join(line.text for line in lines)


def test_a_run_that_passed_is_told_in_few_lines() -> None:
    """All passed: counts, rates with their intervals, and where the results are."""
    plan = matrix(["fix-pagination", "add-flag"], repeats=2)
    lines = section(plan, [recorded(trial) for trial in plan.trials])
    assert text(lines) == dedent(
        """
        variant  planned  passed  failed  of scored  95 % interval
        codex          4       4       0    100.0 %   34.2-100.0 %

        task            planned  passed  failed  of scored  95 % interval
        fix-pagination        2       2       0    100.0 %   34.2-100.0 %
        add-flag              2       2       0    100.0 %   34.2-100.0 %

        4 planned: 4 passed, 0 failed, 0 error, 0 skipped, 0 cancelled
        pass rate: 4 of 4 planned = 100.0 %, 95 % interval 34.2-100.0 %, all scored
        results: .agentbench/runs/20261129-131500-a1b2c3"""
    )
    assert [line.style for line in lines if line.style] == [
        "bold", "green", "bold", "green", "green", "green",
    ]  # fmt: skip


def mixed() -> tuple[Plan, list[Record]]:
    """24 trials to run and 3 deselected: 20 passed, 2 failed, 1 error, 1 without a record."""
    to_run = matrix(
        ["fix-pagination", "add-flag", "sql-report", "write-config"], ["codex", "skill"], repeats=3
    ).trials
    aside = [planned("other", repeat=repeat, deselected="-k") for repeat in (1, 2, 3)]
    ends: dict[int, Outcome | Reason] = {4: Reason.ORACLE, 12: Reason.ORACLE, 14: Reason.SANDBOX}
    records = [
        recorded(
            trial,
            ends.get(place, Outcome.PASSED),
            sandbox={"driver": "local", "isolated": False, "network": "full"},
            phases={"agent_s": 2.0},
            usage={}
            if place == 14
            else {"cost_usd": 0.5, "input_tokens": 900, "output_tokens": 100},
        )
        for place, trial in enumerate(to_run[:-1])
    ]
    return Plan(trials=[*to_run, *aside]), records


def test_a_mixed_run_is_told_in_full() -> None:
    """Every doubt about the numbers stands beside them."""
    lines = section(*mixed(), width=120)
    assert text(lines) == dedent(
        """
        variant  planned  passed  failed  error  cancelled  of scored  95 % interval  of planned
        codex         12       9       2      1          0     81.8 %    43.2-96.4 %      75.0 %
        skill         12      11       0      0          1    100.0 %   51.0-100.0 %      91.7 %

        task            planned  passed  failed  error  cancelled  of scored  95 % interval  of planned
        fix-pagination        6       6       0      0          0    100.0 %   61.0-100.0 %     100.0 %
        add-flag              6       6       0      0          0    100.0 %   61.0-100.0 %     100.0 %
        sql-report            6       4       2      0          0     66.7 %    30.0-90.3 %      66.7 %
        write-config          6       4       0      1          1    100.0 %   51.0-100.0 %      66.7 %

        cancelled:
          write-config[skill-r3]

        24 planned: 20 passed, 2 failed, 1 error, 0 skipped, 1 cancelled
        pass rate: 20 of 22 scored = 90.9 %, 95 % interval 66.2-98.1 %
                   20 of 24 planned = 83.3 %, 95 % interval 62.1-93.9 %
        failed: oracle 2; error: sandbox 1; cancelled: not run 1
        unisolated: 23 of 24 trials ran without walls (local)
        partial: 3 of 27 trials deselected, 1 of 24 trials not run; this is not the suite's pass rate
        cost: at least 11.00 USD (reported by 22 of 23 agent runs)
        tokens: at least 22,000 (reported by 22 of 23 agent runs)
        results: .agentbench/runs/20261129-131500-a1b2c3"""  # noqa: E501
    )


def test_what_is_wrong_is_red_and_what_is_doubtful_yellow() -> None:
    """Colours follow what was measured: a cancelled trial alone makes nothing red."""
    styles = {line.text.split()[0]: line.style for line in section(*mixed()) if line.text}
    assert styles["codex"] == styles["sql-report"] == styles["24"] == "red"
    assert styles["skill"] == styles["partial:"] == styles["unisolated:"] == "yellow"
    assert styles["fix-pagination"] == "green"
    assert styles["results:"] == ""


def suites(*names: str, narrowed: tuple[str, ...] = ()) -> tuple[Plan, list[Record]]:
    """Two tasks of ``smoke``, three of ``rows``, by two variants; one trial fails."""
    trials = [
        planned(task, variant, suites=own)
        for task, own in {
            "add": ("smoke", "rows"),
            "fix": ("smoke",),
            "row-1": ("rows",),
            "row-2": ("rows",),
        }.items()
        for variant in ("codex", "skill")
    ]
    plan = Plan(trials=trials, suites=list(names), narrowed=list(narrowed))
    ends: dict[int, Outcome | Reason] = {0: Reason.ORACLE}
    return plan, [
        recorded(trial, ends.get(place, Outcome.PASSED)) for place, trial in enumerate(trials)
    ]


def test_named_suites_have_a_table() -> None:
    """Suite by variant, between variants and tasks; the suite of everything is not in it."""
    lines = section(*suites("smoke", "rows"))
    assert text(lines) == dedent(
        """
        variant  planned  passed  failed  of scored  95 % interval
        codex          4       3       1     75.0 %    30.1-95.4 %
        skill          4       4       0    100.0 %   51.0-100.0 %

        suite  variant  passed  of scored  95 % interval
        smoke  codex    1 of 2     50.0 %     9.5-90.5 %
        smoke  skill    2 of 2    100.0 %   34.2-100.0 %
        rows   codex    2 of 3     66.7 %    20.8-93.9 %
        rows   skill    3 of 3    100.0 %   43.9-100.0 %

        task   planned  passed  failed  of scored  95 % interval
        add          2       1       1     50.0 %     9.5-90.5 %
        fix          2       2       0    100.0 %   34.2-100.0 %
        row-1        2       2       0    100.0 %   34.2-100.0 %
        row-2        2       2       0    100.0 %   34.2-100.0 %

        8 planned: 7 passed, 1 failed, 0 error, 0 skipped, 0 cancelled
        pass rate: 7 of 8 planned = 87.5 %, 95 % interval 52.9-97.8 %, all scored
        failed: oracle 1
        results: .agentbench/runs/20261129-131500-a1b2c3"""
    )
    styles = [line.style for line in lines if line.text.startswith(("smoke", "rows"))]
    assert styles == ["red", "green", "red", "green"]


def test_without_named_suites_there_is_no_table_of_suites() -> None:
    """``all`` alone says nothing that is not said."""
    assert "suite  variant" not in text(section(*suites()))


def test_suites_that_differ_in_completeness_say_so() -> None:
    """A partial suite is told apart from a complete one, and why; an empty one has no row."""
    plan, records = suites("smoke", "rows", "nightly")
    trials = [trial if trial.task != "row-2" else
              replace(trial, deselected="deselected (-k 'not row-2')")
              for trial in plan.trials]  # fmt: skip
    shown = text(section(plan.model_copy(update={"trials": trials}), records[:6]))
    assert (
        dedent(
            """
        suite  variant  passed  of scored  95 % interval  complete
        smoke  codex    1 of 2     50.0 %     9.5-90.5 %       yes
        smoke  skill    2 of 2    100.0 %   34.2-100.0 %       yes
        rows   codex    1 of 2     50.0 %     9.5-90.5 %        no
        rows   skill    2 of 2    100.0 %   34.2-100.0 %        no
        """
        )
        in shown
    )
    assert (
        "\npartial: 2 of 8 trials deselected; this is not the suite's pass rate"
        "\nsuite rows: 2 of 6 trials deselected"
        "\nsuite nightly: nothing of it was to run; it has no trial\n"
    ) in shown


def test_suites_that_are_all_partial_need_no_column() -> None:
    """Where the whole is partial, one line says so for all."""
    shown = text(section(*suites("smoke", "rows", narrowed=("selected by path: tasks/a.yaml",))))
    assert "complete" not in shown
    assert "\nsuite rows" not in shown
    assert "\npartial: selected by path: tasks/a.yaml; this is not the suite's pass rate" in shown


def test_long_names_of_suites_fit_into_the_terminal() -> None:
    """Both names of a row are cut in the middle, and stay below their heads."""
    name, variant = (
        "all-the-tasks-of-the-shop-that-matter",
        "codex-with-a-very-long-name-of-its-own",
    )
    trial = planned("a", variant, suites=(name,))
    lines = section(Plan(trials=[trial], suites=[name]), [recorded(trial)], width=70)
    (head,) = (line.text for line in lines if line.text.startswith("suite"))
    (row,) = (line.text for line in lines if line.text.startswith("all-t"))
    assert head.index("variant") == row.index("codex")
    assert max(len(head), len(row)) <= 70


def test_oracles_are_told_with_every_task() -> None:
    """Which oracle refuses most, by variant; advisory ones are marked."""
    plan = matrix(["add", "fix"], ["codex"])
    records = [
        recorded(
            plan.trials[0],
            oracles=[judged("tests"), judged("style", passed=False, advisory=True)],
        ),
        recorded(
            plan.trials[1],
            Reason.ORACLE,
            oracles=[
                judged("tests", passed=False),
                judged("kept", passed=False, ran=False),
                judged("style", passed=False, advisory=True),
            ],
        ),
    ]
    assert "refused" not in text(section(plan, records))
    assert dedent(
        """
        oracle            variant  passed  refused  not run
        style (advisory)  codex         0        2        0
        tests             codex         1        1        0
        kept              codex         0        0        1

        2 planned: """
    ) in text(section(plan, records, every_task=True))


def test_of_many_oracles_those_that_refuse_most_are_told() -> None:
    """Twenty rows, and how many more there are."""
    (trial,) = matrix("a").trials
    rows = [judged(f"o{number}", passed=number != 24) for number in range(25)]
    shown = text(
        section(Plan(trials=[trial]), [recorded(trial, Reason.ORACLE, oracles=rows)],
                every_task=True)
    )  # fmt: skip
    assert "\no24     codex         0        1\no0 " in shown
    assert "\no18     codex         1        0\nand 5 more that refused no more often\n" in shown


def test_what_was_expected_is_told_and_excuses_nothing() -> None:
    """Expected failures stay failures in every number."""
    plan = matrix("abc")
    ends: list[Outcome | Reason] = [Reason.ORACLE, Outcome.PASSED, Reason.SKIP]
    records = [
        recorded(trial, end, expected=expected)
        for trial, end, expected in zip(plan.trials, ends, ("xfail", "xpass", "xfail"), strict=True)
    ]
    shown = text(section(plan, records))
    assert "3 planned: 1 passed, 1 failed, 0 error, 1 skipped, 0 cancelled" in shown
    assert (
        "\nexpected not to pass (xfail), counted as measured:"
        " 1 did not, 1 passed all the same, 1 not run\n"
    ) in shown


def test_nothing_scored_is_called_unknown() -> None:
    """A run of skips claims neither 0 % nor 100 %."""
    plan = matrix("ab")
    lines = section(plan, [recorded(trial, Reason.SKIP) for trial in plan.trials])
    assert text(lines) == dedent(
        """
        variant  planned  passed  failed  skipped  of scored  95 % interval
        codex          2       0       0        2    unknown        unknown

        task  planned  passed  failed  skipped  of scored  95 % interval
        a           1       0       0        1    unknown        unknown
        b           1       0       0        1    unknown        unknown

        2 planned: 0 passed, 0 failed, 0 error, 2 skipped, 0 cancelled
        pass rate: unknown, because no trial was scored
        skipped: skip 2
        results: .agentbench/runs/20261129-131500-a1b2c3"""
    )


def test_of_many_tasks_those_that_did_not_pass_are_listed() -> None:
    """Above twenty tasks the table holds the others only, unless all are asked for."""
    plan = matrix([f"t{number}" for number in range(30)])
    ends = (Reason.ORACLE, Reason.SANDBOX)
    records = [recorded(trial, end) for trial, end in zip(plan.trials, ends, strict=False)]
    records += [recorded(trial) for trial in plan.trials[2:]]
    shown = text(section(plan, records))
    assert (
        dedent(
            """
        task  planned  passed  failed  error  of scored  95 % interval
        t0          1       0       1      0      0.0 %     0.0-79.3 %
        t1          1       0       0      1    unknown        unknown
        28 more tasks passed in every trial
        """
        )
        in shown
    )
    everything = text(section(plan, records, every_task=True))
    assert "more task" not in everything
    assert "\nt29 " in everything


def test_many_tasks_that_all_passed_need_no_table() -> None:
    """Nothing to list: only how many."""
    plan = matrix([f"t{number}" for number in range(21)])
    shown = text(section(plan, [recorded(trial) for trial in plan.trials]))
    assert "\n21 tasks passed in every trial\n" in shown
    assert "\ntask " not in shown


def test_an_interrupted_run_lists_some_of_what_is_missing() -> None:
    """The first cancelled trials are named, the others counted."""
    plan = matrix([f"t{number}" for number in range(14)])
    shown = text(section(plan, [recorded(plan.trials[0])]))
    assert "\ncancelled:\n  t1[codex-r1]\n" in shown
    assert "\n  t10[codex-r1]\n  and 3 more\n\n14 planned: 1 passed" in shown
    assert "partial: 13 of 14 trials not run; this is not the suite's pass rate" in shown


def test_narrowed_runs_say_by_what() -> None:
    """What was never collected cannot be counted, so it is named."""
    plan = matrix("a")
    shown = text(section(plan, [recorded(plan.trials[0])], narrowed=("--lf",)))
    assert "\npartial: --lf; this is not the suite's pass rate\n" in shown


def test_reruns_are_told() -> None:
    """A rate that rests on reruns says so."""
    (trial,) = matrix("a").trials
    records = [recorded(trial, Reason.SANDBOX), recorded(trial, attempt=2)]
    assert (
        "\nreruns: 1 more attempt not counted; the first scored attempt of a trial counts\n"
        in text(section(Plan(trials=[trial]), records))
    )


def test_trouble_with_the_results_is_told_in_red() -> None:
    """Records that could not be stored, and records of nothing planned, are never silent."""
    plan = matrix("a")
    records = [recorded(trial) for trial in matrix("ab").trials]
    lines = section(plan, records, trouble=("no space left\x1b[0m",))
    assert Line("results: no space left", "red") in lines
    assert (
        Line("internal error: records of trials that were not planned: b[codex-r1]", "red") in lines
    )


def test_usage_that_all_reported_is_summed() -> None:
    """Total and median, once nobody's share is missing; what nobody said is unknown."""
    plan = matrix("abc")
    records = [
        recorded(trial, phases={"agent_s": 1.0}, usage={"cost_usd": cost})
        for trial, cost in zip(plan.trials, (0.01, 0.02, 0.04), strict=True)
    ]
    lines = [line.text for line in section(plan, records)]
    assert "cost: 0.0700 USD (median 0.0200 USD an agent run)" in lines
    assert "tokens: unknown" in lines


@pytest.mark.parametrize("width", [40, 80, 200])
def test_long_names_are_cut_in_the_middle(width: int) -> None:
    """Both ends of a name stay; rows fit into a terminal of 80 columns."""
    plan = matrix(["sql-monthly-report-by-customer-and-by-country-of-origin-v1", "ж漢字" * 9])
    lines = section(plan, [recorded(trial) for trial in plan.trials], width=width)
    shown = text(lines)
    if width == 200:
        assert plan.trials[0].task in shown
    else:
        assert plan.trials[0].task not in shown
        assert "\nsql-monthly" in shown
        assert "-v1 " in shown
    if width == 80:
        assert "\nsql-monthly-r...-of-origin-v1        1 " in shown
        assert "\nж漢字ж漢字ж漢...字ж漢字ж漢字         1 " in shown
        assert max(len(line.text) for line in lines) <= 80


def test_narrow_tables_give_up_what_can_be_told_from_the_rest() -> None:
    """In 80 columns the rate of planned trials goes before names are cut."""
    shown = text(section(*mixed(), width=80))
    assert "of planned" not in shown
    assert (
        "\ntask            planned  passed  failed  error  cancelled  of scored  95 % interval\n"
        "fix-pagination        6       6       0      0          0    100.0 %   61.0-100.0 %\n"
    ) in shown
    assert "\n           20 of 24 planned = 83.3 %, 95 % interval 62.1-93.9 %\n" in shown


def test_no_name_of_a_task_can_colour_the_terminal() -> None:
    """Escapes and line ends in names are spelled out or dropped."""
    plan = matrix(["a\x1b[31m\nb"])
    assert "\na b " in text(section(plan, [recorded(plan.trials[0])]))


@pytest.mark.parametrize(
    ("value", "shown"),
    [(0, "0.0 %"), (1, "100.0 %"), (0.9999, "99.9 %"), (0.0001, "0.1 %"), (2 / 3, "66.7 %")],
)
def test_nearly_all_is_not_all(value: float, shown: str) -> None:
    """Only exactly none is 0 %, and only exactly all is 100 %."""
    assert percent(value) == shown


def test_python_tests_are_told_apart_on_a_narrow_terminal() -> None:
    """Of a node id that is too long it is the path that goes, for its tests differ behind it."""
    names = ("test_sync", "test_async")
    trials = [
        replace(
            planned("reverse", "codex"),
            key=f"tests/deeply/below/test_rev.py::{name}[codex-r1]",
            test=f"tests/deeply/below/test_rev.py::{name}",
        )
        for name in names
    ]
    records = [recorded(trial, Outcome.PASSED) for trial in trials]
    for width, path in ((90, ".../test_rev.py::"), (72, "...")):
        shown = [line.text for line in section(Plan(trials=trials), records, width=width)]
        for name in names:
            assert any(text.startswith(f"{path}{name}[reverse]") for text in shown), shown
