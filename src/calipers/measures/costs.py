"""Measures of what systems cost: time, tokens, bytes, money. A cost is 0 or more.

A row's truth is nothing, so that its cost is the size of its residual: costs are over the
statistics of numbers.
"""

from __future__ import annotations

from functools import partial
from math import inf

from calipers.lazy_imports import numpy as np
from calipers.measures.registration import measure
from calipers.measures.regression import NO_ROWS
from calipers.statistics import FloatArray, Moments, NumericRows

_cost = partial(
    measure,
    family="costs",
    statistic=Moments,
    higher_is_better=False,
    perfect=0.0,
    range=(0, inf),
    undefined=NO_ROWS,
    has_units=True,
)
_quantile = partial(
    _cost,
    family="cost-quantiles",
    statistic=NumericRows,
    undefined={"no_rows": lambda rows, _: rows.total == 0},
    interval="quantile",
)


def _row_cost(truth: FloatArray, cost: FloatArray) -> FloatArray:
    return cost


@_cost("cost-mean", aliases=("mean_cost", "average_cost"), row_formula=_row_cost)
def mean_cost(m: Moments) -> FloatArray:
    """Mean cost per row or topic."""
    return np.asarray(m.mean)


@_quantile("cost-median", aliases=("median_cost",))
def median_cost(rows: NumericRows) -> FloatArray:
    """Median cost: half of the rows cost no more. The mean of the two middle ones of an even
    number."""
    return rows.by_error.quantile(rows.weight, 0.5)


@_quantile("cost-p", aliases=("cost_percentile",), suffix="percentile")
def percentile_cost(rows: NumericRows, percentile: float = 95) -> FloatArray:
    """Percentile of the cost: the smallest cost that is not exceeded by this percentage of the
    rows; where it is not by exactly that many, halfway to the next (NumPy's
    ``averaged_inverted_cdf``).

    Of latencies p95 and p99 are what the slowest users see. The interval needs rows on either side
    of it: p95 has one from 72 rows on, p99 from 368."""
    return rows.by_error.quantile(rows.weight, percentile / 100)


@_cost("cost-total", aliases=("total_cost",), row_formula=_row_cost, interval="none")
def total_cost(m: Moments) -> FloatArray:
    """Total cost: the sum over these rows, or the one number that is given for a system, such as
    the bytes of an index. Nothing is estimated, so that it has no interval."""
    return np.asarray(m.weight * m.mean)
