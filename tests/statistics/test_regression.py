"""Quantiles by selection and ranks of rows that count alike are those of rows with weights."""

import numpy as np
import pytest

from calipers.statistics.regression import FitMoments, SortedValues, midranks, quantile


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
