"""Evaluations of more rows than findings look at, cells hold and replicates are drawn of at once."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from scipy import stats
from sklearn import metrics

import calipers as cal

#: More than the 100,000 rows from which on a part stands for all.
ROWS = 120_000
FEW: dict[str, Any] = {"n_resamples": 100}
RANDOM = np.random.default_rng(18)
LATENT = RANDOM.normal(size=ROWS)
TRUTH = RANDOM.random(ROWS) < stats.norm.cdf(LATENT)
#: Of four digits, so that many rows have the same.
SCORE = np.round(stats.norm.cdf(LATENT + RANDOM.normal(size=ROWS)), 4)
OTHER = np.round(stats.norm.cdf(LATENT + 2 * RANDOM.normal(size=ROWS)), 4)
#: Ratings of 1 to 5 stars, and predictions that are as coarse.
STARS = np.clip(np.round(3 + LATENT), 1, 5)
GUESS = np.clip(np.round(3 + LATENT + RANDOM.normal(size=ROWS)), 1, 5)
WEIGHT, USER = RANDOM.integers(1, 4, ROWS), RANDOM.integers(0, 4000, ROWS)
KIND = np.digitize(LATENT, [-1, 0, 1])
SHARES = np.floor(RANDOM.dirichlet(np.ones(4), ROWS) * 50 + np.eye(4)[KIND] * 20) / 100
SHARES[:, 3] += 1 - SHARES.sum(axis=1)
SETS = np.stack([c < LATENT for c in (-1, 0, 1)], axis=1)
FOUND_SETS = np.stack([c < SCORE for c in (0.3, 0.5, 0.8)], axis=1)
GROUP = np.repeat(np.arange(ROWS // 10), 10)


def _two_classes(**more: Any) -> cal.Evaluation:
    said = {"a": SCORE, "b": OTHER}
    return cal.classification(TRUTH, probability=said, measures=["AUC", "Brier"], **FEW, **more)


def _retrieval() -> cal.Evaluation:
    topics, documents = np.char.add("q", GROUP.astype(str)), np.tile(np.arange(10), ROWS // 10)
    qrels = pa.table({"topic": topics, "doc": documents.astype(str), "grade": TRUTH.astype(int)})
    run = pa.table({"topic": topics, "doc": documents.astype(str), "score": SCORE})
    return cal.retrieval(qrels, {"run": run}, measures=["P@5"], **FEW)


def _first_five() -> float:
    """Equal scores by descending id."""
    order = np.lexsort((-np.tile(np.arange(10), ROWS // 10), -SCORE, GROUP)).reshape(-1, 10)
    return float(TRUTH[order[:, :5]].mean())


def _first_five_over_all_orders() -> float:
    """Each row by the chance that it stands there."""
    scores, truth = SCORE.reshape(-1, 10), TRUTH.reshape(-1, 10)
    higher = (scores[:, None, :] > scores[:, :, None]).sum(axis=2)
    tied = (scores[:, None, :] == scores[:, :, None]).sum(axis=2)
    return float((truth * np.clip((5 - higher) / tied, 0, 1)).sum() / 5 / len(truth))


#: What is evaluated: the call, a measure with its system, and what its value has to be.
CASES: dict[str, tuple[Callable[[], cal.Evaluation], tuple[str, str], Callable[[], float]]] = {
    "two classes": (
        _two_classes,
        ("a", "AUC"),
        lambda: stats.mannwhitneyu(SCORE[TRUTH], SCORE[~TRUTH])[0] / TRUTH.sum() / (~TRUTH).sum(),
    ),
    "weights": (
        lambda: _two_classes(weight=WEIGHT),
        ("a", "Brier"),
        lambda: float(np.average((SCORE - TRUTH) ** 2, weights=WEIGHT)),
    ),
    "clusters": (
        lambda: _two_classes(cluster=USER),
        ("b", "Brier"),
        lambda: float(((OTHER - TRUTH) ** 2).mean()),
    ),
    "slices": (
        lambda: _two_classes(slices={"kind": KIND}),
        ("b", "AUC"),
        lambda: metrics.roc_auc_score(TRUTH, OTHER),
    ),
    "labels": (
        lambda: cal.classification(TRUTH, {"a": SCORE > 0.5, "b": OTHER > 0.5}, **FEW),
        ("a", "accuracy"),
        lambda: metrics.accuracy_score(TRUTH, SCORE > 0.5),
    ),
    "classes": (
        lambda: cal.classification(
            KIND, probability=SHARES, measures=["accuracy", "macro-F1", "log-loss"], **FEW
        ),
        ("", "macro-F1"),
        lambda: metrics.f1_score(KIND, SHARES.argmax(axis=1), average="macro"),
    ),
    "whole numbers": (
        lambda: cal.regression(STARS, {"a": GUESS, "b": np.full(ROWS, 3.0)}, **FEW),
        ("a", "MAE"),
        lambda: metrics.mean_absolute_error(STARS, GUESS),
    ),
    "weighted clusters of numbers": (
        lambda: cal.regression(STARS, {"a": GUESS}, weight=WEIGHT, cluster=USER, **FEW),
        ("a", "RMSE"),
        lambda: metrics.root_mean_squared_error(STARS, GUESS, sample_weight=WEIGHT),
    ),
    "quantiles": (
        lambda: cal.regression(STARS, quantiles={"a": {0.1: GUESS - 1, 0.9: GUESS + 1}}, **FEW),
        ("a", "interval-coverage@0.8"),
        lambda: float((np.abs(STARS - GUESS) <= 1).mean()),
    ),
    "label sets": (
        lambda: cal.multilabel(SETS, {"a": FOUND_SETS}, **FEW),
        ("a", "Hamming-loss"),
        lambda: metrics.hamming_loss(SETS, FOUND_SETS),
    ),
    "clustering": (
        lambda: cal.clustering(None, {"a": GUESS.astype(int), "b": KIND // 2}, KIND, **FEW),
        ("a", "ARI"),
        lambda: metrics.adjusted_rand_score(KIND, GUESS),
    ),
    "ranking": (
        lambda: cal.ranking(GROUP, TRUTH, {"a": SCORE}, measures=["P@5"], ties="average", **FEW),
        ("a", "P@5"),
        _first_five_over_all_orders,
    ),
    "topics": (_retrieval, ("run", "P@5"), _first_five),
    "raters": (
        lambda: cal.agreement({"ann": STARS.astype(int), "ben": GUESS.astype(int)}, **FEW),
        ("", "percent-agreement"),
        lambda: float((STARS == GUESS).mean()),
    ),
    # Nearly as many categories as ratings: items by categories would take 10 GiB and more.
    "measurements": (
        lambda: cal.agreement({"ann": LATENT, "ben": LATENT + SCORE}, scale="interval", **FEW),
        ("", "Krippendorff-alpha(scale='interval')"),
        lambda: 1 - np.square(SCORE).mean() / 2 / np.append(LATENT, LATENT + SCORE).var(ddof=1),
    ),
    "stream": (
        lambda: cal.classification(
            "y", probability="p", measures=["AUC", "Brier"], engine="stream",
            data=pa.table({"y": TRUTH, "p": SCORE}),
        ),
        ("", "AUC"),
        lambda: metrics.roc_auc_score(TRUTH, SCORE),
    ),
}  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("name", CASES)
def test_more_rows_than_a_hundred_thousand(name: str) -> None:
    call, (system, measure), expected = CASES[name]
    made = call()
    estimate = made[system or made.systems[0], measure]
    assert estimate.value == pytest.approx(expected(), rel=1e-9)
    assert estimate.low < estimate.value < estimate.high
    assert estimate.n >= ROWS // 10 - 100
    assert str(made)


@pytest.mark.parametrize("design", [{}, {"weight": "w"}, {"cluster": "user"}], ids=str)
def test_limits_that_hold_together_are_those_of_a_stream(design: dict[str, Any]) -> None:
    """They come from how all differences vary together: in memory from the influence of each row,
    in a stream from inner products of what was added up. A sketch of the rows made them differ in
    the fourth digit."""
    columns = {"y": TRUTH, "a": SCORE > 0.5, "b": OTHER > 0.5, "w": WEIGHT, "user": USER}
    table = pa.table({name: np.asarray(column) for name, column in columns.items()})
    own, other = (
        cal.classification("y", {"a": "a", "b": "b"}, data=table, positive=True, **how, **design)
        for how in ({"engine": "memory"}, {"engine": "stream"})
    )
    for one, same in zip(own.comparison or (), other.comparison or (), strict=True):
        assert one.method == same.method
        found = [[d.low, d.high, d.p_adjusted, d.min_detectable] for d in (one, same)]
        np.testing.assert_allclose(*found, rtol=1e-9, atol=1e-12)
