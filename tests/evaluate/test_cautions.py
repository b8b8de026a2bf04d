"""What speaks against an interval is said by whatever method it was asked for."""

from __future__ import annotations

import numpy as np
import pytest

import calipers as cal

GENERATOR = np.random.default_rng(2)
TRUTH = np.arange(240) % 3 == 0
SCORE = TRUTH + GENERATOR.normal(size=240)
CLUSTER = np.arange(240) // 20
RESIDUAL = np.where(np.arange(240) == 7, 40.0, GENERATOR.normal(size=240))


@pytest.mark.parametrize(
    "interval", ["auto", "analytic", "bootstrap", "wilson", "clopper-pearson", "jeffreys", "bca"]
)
def test_a_threshold_chosen_on_these_rows(interval: str) -> None:
    ev = cal.classification(
        TRUTH, score=SCORE, threshold="youden", measures=["recall"], interval=interval
    )
    assert ", but " in ev["recall"].method


@pytest.mark.parametrize("interval", ["bootstrap", "percentile", "bca"])
@pytest.mark.parametrize("measure", ["accuracy", "F1", "AUC"])
def test_few_clusters_drawn_anew(interval: str, measure: str) -> None:
    ev = cal.classification(
        TRUTH,
        score=SCORE,
        threshold=0.5,
        measures=[measure],
        cluster=CLUSTER,
        interval=interval,
        resamples=200,
    )
    assert "but few clusters" in ev[measure].method


@pytest.mark.parametrize(
    "interval", ["auto", "analytic", "bootstrap", "percentile", "bca", "student"]
)
def test_a_heavy_tail(interval: str) -> None:
    ev = cal.regression(
        np.zeros(240), RESIDUAL, measures=["RMSE"], interval=interval, resamples=200
    )
    assert "but a heavy tail" in ev["RMSE"].method
