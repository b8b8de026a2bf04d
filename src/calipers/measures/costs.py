"""Measures of the cost of systems: time, tokens, bytes, money.

A cost is 0 or more. The statistics are those of numeric predictions, with a truth of 0 in each row,
so that the cost is the absolute residual.
"""

from __future__ import annotations

from functools import partial
from math import inf

from calipers.lazy_imports import numpy as np
from calipers.measures.registration import measure
from calipers.measures.regression import NO_ROWS
from calipers.statistics import FloatArray, Moments, NumericRows

_cost_measure = partial(
    measure,
    family="costs",
    statistic=Moments,
    higher_is_better=False,
    perfect=0.0,
    range=(0, inf),
    undefined=NO_ROWS,
    has_units=True,
)
_cost_quantile_measure = partial(
    _cost_measure,
    family="cost-quantiles",
    statistic=NumericRows,
    undefined={"no_rows": lambda rows, _: rows.total == 0},
    interval="quantile",
)


def _row_cost(truth: FloatArray, cost: FloatArray) -> FloatArray:
    return cost


@_cost_measure("mean-cost", aliases=("cost_mean", "average_cost"), row_formula=_row_cost)
def mean_cost(m: Moments) -> FloatArray:
    """Mean cost per row or topic.

    It is nonnegative, in the unit of the cost; it is undefined if there are no rows.
    """
    return np.asarray(m.mean)


@_cost_quantile_measure("median-cost", aliases=("cost_median",))
def median_cost(rows: NumericRows) -> FloatArray:
    """Median cost, the cost that half of the rows do not exceed.

    For an even number of rows it is the mean of the two middle costs. It is undefined without rows.
    """
    return rows.sorted_errors.quantile(rows.weight, 0.5)


@_cost_quantile_measure(
    "p-cost", aliases=("cost_p", "cost_percentile"), suffix="percentile", suffix_after="p"
)
def percentile_cost(rows: NumericRows, percentile: float = 95) -> FloatArray:
    """Percentile of the cost, the smallest cost that this percentage of the rows does not exceed.

    If exactly this percentage does not exceed it, it is the midpoint to the next larger cost
    (NumPy's ``averaged_inverted_cdf``). For latencies, p95 and p99 are what the slowest users
    experience. The interval needs rows on both sides of the percentile: p95 has an interval from 72
    rows on, p99 from 368. It is undefined without rows.
    """
    return rows.sorted_errors.quantile(rows.weight, percentile / 100)


@_cost_measure("total-cost", aliases=("cost_total",), row_formula=_row_cost, interval="none")
def total_cost(m: Moments) -> FloatArray:
    """Total cost, the sum over these rows.

    It may also be the one number that is given for a system, such as the size of an index in bytes.
    Nothing is estimated, so it has no interval. It is undefined without rows.
    """
    return np.asarray(m.weight * m.mean)
