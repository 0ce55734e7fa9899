from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_agentbench.stats.intervals import (
    Cluster,
    clustered_error,
    clustered_wilson,
    effective_size,
    naive_error,
    wilson,
)

# tau-bench's stored gpt-4o airline run: tasks by how many of four trials passed.
TAU_BENCH = [
    Cluster(passed, 4)
    for passed, tasks in {0: 14, 1: 12, 2: 10, 3: 4, 4: 10}.items()
    for _ in range(tasks)
]


@pytest.mark.parametrize(
    ("passed", "total", "low", "high"),
    [
        (81, 263, 0.2553, 0.3662),
        (15, 148, 0.0624, 0.1605),
        (0, 20, 0, 0.1611),
        (1, 29, 0.0061, 0.1718),
        (23, 60, 0.2709, 0.5098),
        (10, 10, 0.7225, 1),
    ],
)
def test_wilson_gives_the_published_numbers(
    passed: int, total: int, low: float, high: float
) -> None:
    """The interval agrees with the literature to four digits."""
    assert wilson(passed / total, total) == pytest.approx((low, high), abs=5e-5)


def test_the_ends_of_the_scale_are_exact() -> None:
    """None passed begins at 0 and all passed ends at 1, without a trace of rounding."""
    for size in range(1, 200):
        assert wilson(0, size).low == 0
        assert wilson(1, size).high == 1


def test_errors_of_a_published_run() -> None:
    """Both standard errors of tau-bench's airline run; the naive one is a third too small."""
    assert sum(one.passed for one in TAU_BENCH) / 200 == 0.42
    assert naive_error(TAU_BENCH) == pytest.approx(0.034900, abs=5e-7)
    assert clustered_error(TAU_BENCH) == pytest.approx(0.051691, abs=5e-7)


def test_repeats_count_for_less_than_tasks() -> None:
    """Two hundred trials of fifty tasks say as much as some ninety independent ones."""
    assert effective_size(TAU_BENCH) == pytest.approx(200 * (0.0349 / 0.051691) ** 2, rel=1e-4)
    interval = clustered_wilson(TAU_BENCH)
    assert interval is not None
    assert interval == pytest.approx(wilson(0.42, effective_size(TAU_BENCH)))
    assert interval.high - interval.low > wilson(0.42, 200).high - wilson(0.42, 200).low


def test_repeats_that_all_agree_are_worth_one_trial_a_task() -> None:
    """20 tasks, all three repeats passed: not [1, 1], but what 20 trials would say."""
    interval = clustered_wilson([Cluster(3, 3)] * 20)
    assert interval == pytest.approx((0.84, 1), abs=0.005)
    assert interval == wilson(1, 20)


def test_one_trial_a_task_is_the_plain_interval() -> None:
    """Without repeats, clusters change nothing."""
    clusters = [Cluster(1, 1)] * 23 + [Cluster(0, 1)] * 37
    assert clustered_wilson(clusters) == pytest.approx(wilson(23 / 60, 60))


def test_one_task_alone_says_as_much_as_one_trial() -> None:
    """However often it is repeated, one task says little about others."""
    assert clustered_wilson([Cluster(7, 10)]) == wilson(0.7, 1)


def test_nothing_has_no_interval() -> None:
    """Without trials there is no interval, and no division by zero."""
    assert clustered_wilson([]) is None
    assert clustered_wilson([Cluster(0, 0)]) is None


clusters = st.lists(
    st.integers(0, 5).flatmap(
        lambda total: st.builds(Cluster, st.integers(0, total), st.just(total))
    ),
    min_size=1,
    max_size=12,
)


@given(clusters)
def test_an_interval_holds_its_rate_and_claims_no_more_than_its_trials(
    some: list[Cluster],
) -> None:
    """The interval lies in 0..1 around the rate, and is no narrower than trials allow."""
    total = sum(one.total for one in some)
    interval = clustered_wilson(some)
    if not total:
        assert interval is None
        return
    assert interval is not None
    rate = sum(one.passed for one in some) / total
    assert 0 <= interval.low <= rate + 1e-12
    assert rate - 1e-12 <= interval.high <= 1
    plain = wilson(rate, total)
    assert interval.high - interval.low >= plain.high - plain.low - 1e-9
