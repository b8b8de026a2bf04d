"""Tables as likely as their rows make them, against the Beta distributions that their parts have."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy import stats

import calipers as cal
from calipers.estimation.counts import ClassCounts
from calipers.inference.settings import Settings

DRAWS = 8_000


def counts(matrix: list[list[int]] | Any, classes: int, weight: float | None = None) -> ClassCounts:
    table = np.array(matrix)
    truth, predicted = (
        np.repeat(where, table.ravel()) for where in np.indices(table.shape).reshape(2, -1)
    )
    weights = None if weight is None else np.full(len(truth), weight)
    names = tuple(map(str, range(classes)))
    return ClassCounts.from_codes(truth, predicted, names, Settings(n_resamples=DRAWS), weights)


def close(drawn: np.ndarray, hits: float, misses: float) -> None:
    """Beta(hits, misses), by its quantiles: of so many draws within three of their errors."""
    for share in (0.025, 0.25, 0.5, 0.75, 0.975):
        below = float(np.mean(drawn <= stats.beta.ppf(share, hits, misses)))
        assert below == pytest.approx(share, abs=3.5 * np.sqrt(share * (1 - share) / DRAWS))


@pytest.mark.parametrize("classes", [3, 20, 120])
@pytest.mark.parametrize("weight", [None, 2.5])
def test_what_is_right_is_a_beta_distribution(classes: int, weight: float | None) -> None:
    """1/K on what is right and 1/K on what is wrong of each class make Beta(hits + 1, misses + 1)
    of all rows and Beta(hits + 1/K, misses + 1/K) of a class. (The recall of a class is drawn from
    its table of two by itself: ½ a cell.)"""
    table = np.eye(classes, dtype=int) * 2
    table[0, 1], table[1, 0] = 3, 1
    made = counts(table, classes, weight)
    hits, misses = 2 * classes, 4
    close(made.posterior_draws(cal.measure("micro-F1", family="counts")), hits + 1, misses + 1)
    close(made.posterior_draws(cal.measure("recall[0]", family="counts")), 2.5, 3.5)
    drawn = []
    for cells, some in made.cells.draw_posterior(made.settings):
        matrix = cells.margin_confusion(some, made.matrix.labels)
        drawn.append(matrix.hits[:, 0] / matrix.truth_margin[:, 0])
    close(np.concatenate(drawn), 2 + 1 / classes, 3 + 1 / classes)


@pytest.mark.parametrize("weight", [None, 2.5])
def test_likely_contents_are_as_many_rows_as_there_are(weight: float | None) -> None:
    """In the mean what was seen and a half for each of the four cells, of 14 for 12."""
    made = counts([[7, 1], [0, 4]], 2, weight)
    drawn = np.concatenate([some for _, some in made.cells.draw_posterior(made.settings)])
    total = 12 * (weight or 1)
    assert drawn.sum(axis=1) == pytest.approx(np.full(DRAWS, total))
    mean = total * (np.array([7, 1, 0, 4]) + 0.5) / 14
    assert drawn.mean(axis=0) == pytest.approx(mean, abs=0.02 * total)


def test_two_systems_are_drawn_together() -> None:
    """The rows that only one of the two gets right, and those that neither does: of 2/K for each of K
    classes a quarter each, half of it on the same wrong class; twice as much where they differ."""
    truth = np.repeat([0, 1, 2], 20)
    first, second = truth.copy(), truth.copy()
    second[:4] = 1
    a, b = (
        ClassCounts.from_codes(truth, x, ("a", "b", "c"), Settings(n_resamples=DRAWS))
        for x in (first, second)
    )
    both = a.pair_with(b)
    only, neither = [], []
    for cells, drawn in both.cells.draw_posterior(a.settings):
        where = np.unravel_index(cells.cell_index, cells.shape)
        right = [where[0] == where[k] for k in (1, 2)]
        only.append(drawn[:, right[0] & ~right[1]].sum(axis=1) / drawn.sum(axis=1))
        neither.append(drawn[:, ~right[0] & ~right[1]].sum(axis=1) / drawn.sum(axis=1))
    close(np.concatenate(only), 4 + 1, 56 + 0.5 + 1 + 0.75)
    close(np.concatenate(neither), 0.75, 60 + 0.5 + 2)


MEASURES = ["macro-F1", "macro-recall", "macro-precision", "weighted-F1", "MCC", "kappa", "F1[a]"]


@pytest.mark.parametrize("right", [True, False])
@pytest.mark.parametrize("options", [{}, {"weight": [1, 2] * 45}, {"cluster": np.arange(90) // 5}])
def test_perfect_and_hopeless_classes_have_intervals(right: bool, options: Any) -> None:
    truth = list("abc") * 30
    said = truth if right else truth[1:] + truth[:1]
    made = cal.classification(truth, {"x": said, "y": said}, measures=MEASURES, **options)
    for estimate in made:
        assert estimate.low < estimate.high, estimate
        assert estimate.value in (estimate.low, estimate.high)
    assert made.comparison is not None
    for pair in made.comparison.differences:
        assert pair.low < 0 < pair.high, pair


def test_a_rare_class_costs_no_interval() -> None:
    random = np.random.default_rng(4)
    truth = np.array(["a"] * 60 + ["b"] * 57 + ["c"] * 3)
    said = np.where(random.random(120) < 0.8, truth, random.choice(["a", "b"], 120))
    for estimate in cal.classification(truth, said, measures=MEASURES):
        assert 0 < estimate.high - estimate.low < 0.5, estimate


def test_few_clusters_go_by_students_t_of_their_influence() -> None:
    """F1 = 2TP/(2TP + FP + FN) is a ratio of sums over clusters, whose standard error SciPy's t makes
    an interval of: √Σ(2tp − F1·(2tp + fp + fn))²/(1 − h)/(2TP + FP + FN), with h the share of the
    rows that are, or are called, positive."""
    random = np.random.default_rng(2)
    truth, user = random.random(60) < 0.5, np.arange(60) // 5
    said = np.where(random.random(60) < 0.8, truth, ~truth)
    made = cal.classification(truth, said, cluster=user, measures=["F1"])["F1"]
    top = np.bincount(user, 2.0 * (truth & said))
    below = top + np.bincount(user, truth ^ said)
    value = top.sum() / below.sum()
    h = np.bincount(user, (truth | said).astype(float)) / (truth | said).sum()
    d = 1 / (1 - h)
    se = np.sqrt((d * np.square(top - value * below)).sum()) / below.sum()
    df = 1 / ((d * h**2).sum() ** 2 + (d**2 * h**2 * (1 - 2 * h)).sum())
    half = stats.t.ppf(0.975, df) * se
    assert (made.low, made.high) == pytest.approx((value - half, value + half), abs=1e-7)
    assert made.method == "delta, 12 clusters"
    perfect = cal.classification(truth, truth, cluster=user, measures=["MCC"])["MCC"]
    assert perfect.high == 1
    assert perfect.low < 0.9


def test_systems_that_say_the_same_are_as_likely_better_as_worse() -> None:
    truth = np.repeat([1, 0], [15, 25])
    said = np.where(np.isin(np.arange(40), [0, 1, 2, 20, 21]), 1 - truth, truth)
    measures = ["F1", "MCC", "precision", "kappa"]
    ev = cal.classification(
        truth, predicted={"a": said, "b": said.copy()}, positive=1, measures=measures
    )
    assert [d.p for d in ev.compare(adjust="none")] == [1.0] * 4
    better, worse = (ev.compare(adjust="none", alternative=way) for way in ("greater", "less"))
    assert [d.p for d in better] == [d.p for d in worse]
