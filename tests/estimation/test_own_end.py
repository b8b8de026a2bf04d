"""Limits at the end of no errors, to which the prior adds none."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

import calipers as cal


@pytest.mark.parametrize("n_classes", [2, 3, 5])
@pytest.mark.parametrize("errors", [1, 4])
def test_the_limit_of_few_errors_is_that_of_clopper_and_pearson(
    n_classes: int, errors: int
) -> None:
    """Errors of one step add up to Beta(errors, right + 1), whichever classes they are of."""
    matrix = 10 * np.eye(n_classes, dtype=int)
    matrix[0, 1] = errors
    right = 10 * n_classes
    found = cal.classification(
        confusion=matrix, rows="truth", labels=list(range(n_classes)), n_resamples=40_000,
        measures=["ordinal-MAE", "AMAE", "Bangdiwala-B"], interval="jeffreys",
    )  # fmt: skip
    exact = stats.beta.ppf(0.025, errors, right + 1)
    assert found["ordinal-MAE"].low == pytest.approx(exact, rel=0.06)
    # The upper limit has one error in all, spread over the steps to other classes.
    assert found["ordinal-MAE"].high > stats.beta.ppf(0.975, errors, right)
    # Errors of the first class, whose rows have 1/K more: a Beta of its own.
    of_class = stats.beta.ppf(0.025, errors, 10 + 1 / n_classes)
    assert found["AMAE"].low == pytest.approx(of_class / n_classes, rel=0.06)
    assert found["Bangdiwala-B"].high > 1 - 4 * exact


def test_without_errors_the_limit_is_the_end() -> None:
    found = cal.classification(
        confusion=10 * np.eye(3, dtype=int), rows="truth", labels=[0, 1, 2],
        measures=["ordinal-MAE", "AMAE", "Bangdiwala-B"],
    )  # fmt: skip
    assert [found["ordinal-MAE"].low, found["AMAE"].low, found["Bangdiwala-B"].high] == [0, 0, 1]
    assert min(found["ordinal-MAE"].high, found["AMAE"].high) > 0.05
