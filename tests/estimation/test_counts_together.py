"""Measures of several matrices at once, against each matrix by itself."""

from __future__ import annotations

import numpy as np
import pytest

import calipers as cal
from calipers.estimation.counts import evaluate_together, undefined_counts
from calipers.inference.gradients import gradient, measure_value
from calipers.statistics import ConfusionMatrix

TWO = ("accuracy", "precision", "recall", "NPV", "LR+", "F1", "MCC", "DOR", "kappa", "TN")
THREE = ("accuracy", "kappa", "MCC", "macro-F1", "balanced-accuracy")


@pytest.mark.parametrize(("n_classes", "names"), [(2, TWO), (3, THREE)])
def test_many_matrices_are_each_by_itself(n_classes: int, names: tuple[str, ...]) -> None:
    random = np.random.default_rng(n_classes)
    labels = tuple("abc"[:n_classes])
    shape = 12, n_classes, n_classes
    counts = random.integers(0, 4, shape) * random.uniform(0.5, 2, shape)
    counts[0], counts[1] = 0.0, np.eye(n_classes)  # no row, and no error
    counts[2, 1:] = 0.0  # a class without rows

    def matrices() -> list[ConfusionMatrix]:
        return [ConfusionMatrix(c, c**2, labels, 7) for c in counts]

    measures = [cal.measure(name, family="counts") for name in names]
    together = matrices()
    evaluate_together(measures, together)
    for whole, single in zip(together, matrices(), strict=True):
        for measure in measures:
            assert ("value", measure) in whole.__dict__["_kept"]
            assert measure_value(measure, whole) == pytest.approx(
                float(measure.apply(single)), rel=1e-14, nan_ok=True
            )
            assert undefined_counts(measure, whole) == undefined_counts(measure, single)
            np.testing.assert_allclose(
                gradient(measure, whole), gradient(measure, single), rtol=1e-9, atol=1e-12
            )
