"""Quantiles by selection and ranks of rows that count alike are those of rows with weights."""

from functools import reduce
from operator import add

import numpy as np
import pytest
from scipy import stats

from calipers.statistics.regression import (
    FitMoments,
    LeaveOneOutMoments,
    NumericMoments,
    SortedValues,
    midranks,
    quantile,
)


@pytest.mark.parametrize("rows", [1, 2, 3, 4, 10, 101, 1000])
@pytest.mark.parametrize("distinct", [1, 3, 10**6])
def test_as_with_weights_of_one(rows: int, distinct: int) -> None:
    random = np.random.default_rng(rows)
    values = random.integers(0, distinct, rows) / 7 - 1
    by_size, ones = SortedValues.from_column(values), np.ones(rows)
    for share in (0.0, 0.05, 0.25, 0.5, 0.75, 0.9, 1.0, 1 / 3):
        assert quantile(values, share) == by_size.quantile(ones, share)
    assert midranks(values).tolist() == by_size.midranks(ones).tolist()


def test_of_nothing() -> None:
    assert np.isnan(quantile(np.zeros(0), 0.5))
    assert len(midranks(np.zeros(0))) == 0


def test_moments_without_a_subset_know_none_of_its_squared_residuals() -> None:
    random = np.random.default_rng(0)
    truth, predicted = random.normal(size=(2, 20))
    whole = FitMoments.from_rows(truth, predicted)
    others = whole.leave_out(FitMoments.from_rows(truth[:5], predicted[:5]))
    assert others.rows == 15
    assert others.of_residual == pytest.approx(np.var(predicted[5:] - truth[5:]) * 15)
    assert others.squared is None


@pytest.mark.parametrize("weighted", [False, True])
def test_moments_without_one_row_are_those_of_the_other_rows(weighted: bool) -> None:
    random = np.random.default_rng(5)
    truth, predicted = random.normal(3, 1, 12), random.normal(2, 2, 12)
    weight = random.integers(0, 3, 12) + 0.5 if weighted else None
    moments = NumericMoments.from_rows(truth, predicted, weight)
    made = LeaveOneOutMoments(moments, truth, predicted, weight)
    names = ("weight", "squares", "truth", "predicted", "residual")
    names = (*names, *(f"of_{name}" for name in (*names[2:], "both")))
    for row in range(12):
        others = np.arange(12) != row
        wanted = NumericMoments.from_rows(
            truth[others], predicted[others], None if weight is None else weight[others]
        )
        assert made.rows == wanted.rows
        for name in names:
            value = np.broadcast_to(getattr(made, name), 12)[row]
            assert value == pytest.approx(float(getattr(wanted, name)), rel=1e-12, abs=1e-12)


def test_only_row_left_out_leaves_nothing() -> None:
    one = np.array([2.0])
    made = LeaveOneOutMoments(NumericMoments.from_rows(one, one + 1), one, one + 1, None)
    assert (made.rows, float(made.weight), made.of_truth.tolist()) == (0, 0.0, [0.0])


def test_kurtosis_of_the_truth_is_merged() -> None:
    """Central moments of the third and fourth order, also of numbers far from 0 and with weights."""
    random = np.random.default_rng(8)
    truth, weight = 1e3 + np.exp(random.normal(size=90)), random.integers(1, 4, 90).astype(float)
    for weights in (None, weight):
        batches = [
            FitMoments.from_rows(
                truth[rows], truth[rows], None if weights is None else weights[rows]
            )
            for rows in np.array_split(np.arange(90), (7, 8, 40))
        ]
        found = reduce(add, batches)
        repeated = np.repeat(truth, np.ones(90, int) if weights is None else weights.astype(int))
        squares = found.squared_truth
        assert squares is not None
        kurtosis = 1 + squares.m2 / squares.weight / squares.mean**2
        assert kurtosis == pytest.approx(stats.kurtosis(repeated, fisher=False), rel=1e-9)
        assert found.truth_powers[0] / len(repeated) == pytest.approx(
            stats.moment(repeated, 3), rel=1e-9
        )
