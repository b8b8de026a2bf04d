"""What speaks against an interval is said by whatever method it was asked for."""

from __future__ import annotations

import numpy as np
import pytest

import calipers as cal
from calipers.estimation.losses import estimate_mean_loss
from calipers.inference import method_selection
from calipers.inference.settings import Settings

RMSE, SETTINGS = cal.measure("RMSE"), Settings(n_resamples=100)

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
        n_resamples=200,
    )
    assert "but few clusters" in ev[measure].method


@pytest.mark.parametrize("interval", ["auto", "analytic", "bootstrap", "percentile", "bca", "t"])
def test_a_heavy_tail(interval: str) -> None:
    ev = cal.regression(
        np.zeros(240), RESIDUAL, measures=["RMSE"], interval=interval, n_resamples=200
    )
    assert "but a heavy tail" in ev["RMSE"].method


def test_batches_say_what_memory_says() -> None:
    table = {"y": np.zeros(240), "p": RESIDUAL}
    for engine in ("stream", "memory"):
        ev = cal.regression(
            "y", "p", data=table, measures=["RMSE", "MSE"], engine=engine, interval="analytic"
        )
        assert all("but a heavy tail" in e.method for e in ev)


@pytest.mark.slow
def test_the_kind_of_residuals_decides_and_not_the_one_that_was_seen() -> None:
    """Residuals of t with 4 degrees of freedom, of which half of the data sets had no caution; and
    RMSE held the truth 88 times of 100."""
    random = np.random.default_rng(3)
    held = {"heavy": 0, "normal": 0}
    said = dict(held)
    simulations, rows = 150, 400
    for name, truth in (("heavy", np.sqrt(2)), ("normal", 1.0)):
        for _ in range(simulations):
            e = random.standard_t(4, rows) if name == "heavy" else random.normal(size=rows)
            losses = estimate_mean_loss(RMSE, e * e, None, None, SETTINGS)
            made = method_selection.interval(losses)
            held[name] += made.low <= truth <= made.high
            said[name] += "heavy tail" in made.method
    assert said["heavy"] > 0.95 * simulations
    assert said["normal"] < 0.08 * simulations
    assert min(held.values()) > 0.9 * simulations


@pytest.mark.parametrize("interval", ["auto", "bootstrap", "percentile", "bca"])
@pytest.mark.parametrize(
    ("name", "few", "enough"), [("FPR@recall=0.95", 39, 40), ("recall@FPR=0.01", 199, 200)]
)
def test_a_rate_beyond_which_hardly_a_row_lies(
    name: str, few: int, enough: int, interval: str
) -> None:
    """Of 12 positives 0.6 are expected beyond a recall of 95%: 63 intervals of 100 held the truth.
    Two rows are enough; precision at a recall needs none."""
    random = np.random.default_rng(0)
    for own, cautious in ((few, True), (enough, False)):
        truth = np.arange(own + 300) < own
        if name.startswith("recall"):
            truth = ~truth
        score = truth + random.normal(size=len(truth))
        options = {"interval": interval, "n_resamples": 200, "curves": False}
        names = [name, "precision@recall=0.95"]
        for e in cal.classification(truth, score=score, measures=names, **options):
            said = "few rows beyond the threshold" in e.method
            assert said == (cautious and e.measure == name), e.method
