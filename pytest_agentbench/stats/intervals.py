"""95 % intervals of a pass rate whose trials come in clusters.

A cluster is what shares luck: all trials of one task. Pure.
"""

from __future__ import annotations

from math import sqrt
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Sequence

Z_95 = 1.959963984540054
"""The normal distribution's quantile at 0.975."""


class Cluster(NamedTuple):
    """Trials that share luck: how many passed, of how many."""

    passed: int
    total: int


class Interval(NamedTuple):
    """Two ends of a rate, 0..1."""

    low: float
    high: float


def wilson(rate: float, size: float) -> Interval:
    """The Wilson interval of ``rate`` seen in ``size`` trials (above 0; need not be whole)."""
    spread = Z_95**2 / size
    centre = rate + spread / 2
    half = Z_95 * sqrt(rate * (1 - rate) / size + spread / (4 * size))
    low = (centre - half) / (1 + spread)
    high = (centre + half) / (1 + spread)
    # At 0 and 1 the end is exact; floating point would leave 1e-17, and "above 0 %".
    return Interval(0.0 if rate == 0 else max(low, 0.0), 1.0 if rate == 1 else min(high, 1.0))


def naive_error(clusters: Sequence[Cluster]) -> float:
    """The standard error as if every trial were independent."""
    passed, total = _sums(clusters)
    rate = passed / total
    return sqrt(rate * (1 - rate) / total)


def clustered_error(clusters: Sequence[Cluster]) -> float:
    """The standard error that lets trials of one cluster agree (arXiv 2411.00640)."""
    passed, total = _sums(clusters)
    # Whole numbers, so that residuals that cancel give 0 and not a trace of rounding.
    squares = sum((one.passed * total - passed * one.total) ** 2 for one in clusters)
    return sqrt(squares) / total**2


def effective_size(clusters: Sequence[Cluster]) -> float:
    """How many independent trials would say as much as these: trials / design effect.

    Where all clusters agree the error comes out as 0, which is too good to be
    true: then the number of clusters. Never more than there are trials: few
    clusters can make the error look smaller than chance allows.
    """
    _, total = _sums(clusters)
    used = [one for one in clusters if one.total]
    clustered = clustered_error(used)
    if clustered == 0:
        return float(len(used))
    design_effect = (clustered / naive_error(used)) ** 2
    return min(float(total), total / design_effect)


def clustered_wilson(clusters: Sequence[Cluster]) -> Interval | None:
    """The Wilson interval at the effective size; None when there is no trial at all."""
    passed, total = _sums(clusters)
    if not total:
        return None
    return wilson(passed / total, effective_size(clusters))


def _sums(clusters: Sequence[Cluster]) -> Cluster:
    return Cluster(sum(one.passed for one in clusters), sum(one.total for one in clusters))
