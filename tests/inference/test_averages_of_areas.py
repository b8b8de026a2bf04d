"""AUCs and averages of them where few rows decide: as a share of as many rows as have their spread."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy import stats

import calipers as cal
from calipers.estimation.scores import ScoredRows
from calipers.inference.settings import Settings
from calipers.measures import parse

Z2 = float(stats.norm.ppf(0.975)) ** 2


def placements(positive: Any, score: Any) -> tuple[float, Any]:
    """The AUC, and how much each row moves it, √(n/(n − 1)) of its class in it (DeLong)."""
    above = score[positive][:, None] - score[~positive][None, :]
    won = (above > 0) + (above == 0) / 2
    moved = np.zeros(len(score))
    for rows, own in ((positive, won.mean(axis=1)), (~positive, won.mean(axis=0))):
        n = rows.sum()
        moved[rows] = (own - won.mean()) / n * np.sqrt(n / (n - 1))
    return float(won.mean()), moved


def wilson(share: float, n: float) -> list[float]:
    """Wilson's limits, the roots of (p − share)² = z²·p(1 − p)/n."""
    return sorted(np.roots([1 + Z2 / n, -2 * share - Z2 / n, share**2]).real)


def limits(terms: list[tuple[float, Any, Any]], of: int) -> list[float]:
    """Of terms: a weight, which of their rows are positive, and scores; NaN of others."""
    value = likely = best = added = 0.0
    moved = np.zeros(of)
    for weight, positive, score in terms:
        has = np.isfinite(score)
        area, own = placements(positive[has], score[has])
        m, n = positive[has].sum(), (~positive[has]).sum()
        value += weight * area
        likely += weight * (area + (0.5 - area) * (1 / (m + 1) + 1 / (n + 1)))
        best += weight * (1 - 0.5 * (1 / (m + 1) + 1 / (n + 1)))
        added += weight**2 * ((1 - area) ** 3 + area**3) / 3 * (1 / m**2 + 1 / n**2)
        moved[has] += weight * own
    added = max(added, best * (1 - best) / of)
    return wilson(value, likely * (1 - likely) / ((moved**2).sum() + added))


def test_how_skewed_an_area_is() -> None:
    """ΣI³/(ΣI²)^1.5 of what rows move it by."""
    random = np.random.default_rng(6)
    positive = np.arange(40) < 8
    score = random.normal(positive + 1.0, 1.0)
    _, moved = placements(positive, score)
    moved /= np.sqrt(np.where(positive, 8 / 7, 32 / 31))
    reading = ScoredRows(positive, score, None, None, Settings()).point_estimate(parse("AUC"))
    skewness = abs((moved**3).sum()) / (moved**2).sum() ** 1.5
    assert reading.scaled_skewness == pytest.approx(skewness)


def test_macro_and_pairs_by_hand() -> None:
    """Of three classes of unequal size, a row of which passes for another."""
    random = np.random.default_rng(5)
    truth = np.repeat([0, 1, 2], [30, 20, 10])
    score = random.normal(size=(60, 3)) + 6 * np.eye(3)[truth]
    score[[0, 31]] = score[[0, 31]][:, [1, 0, 2]]
    macro = [(1 / 3, truth == k, score[:, k]) for k in range(3)]
    pairs = []
    for i in range(3):
        for j in range(3):
            if i != j:
                of_both = np.where((truth == i) | (truth == j), score[:, i], np.nan)
                pairs.append((1 / 6, truth == i, of_both))
    made = cal.classification(truth, score=score, measures=["macro-AUC", "ovo-AUC"])
    for found, terms in zip(made, (macro, pairs), strict=True):
        assert found.method == "Wilson [W], effective rows"
        np.testing.assert_allclose([found.low, found.high], limits(terms, 60), rtol=1e-9)
        spread = np.zeros(60)
        for weight, positive, column in terms:
            has = np.isfinite(column)
            spread[has] += weight * placements(positive[has], column[has])[1]
        assert found.standard_error == pytest.approx(np.sqrt((spread**2).sum()), rel=1e-9)


@pytest.mark.parametrize(
    "name", ["macro-AUC", "weighted-AUC", "ovo-AUC", "micro-AUC", "macro-Gini"]
)
def test_perfect_classes_are_as_good_as_a_share_of_their_rows(name: str) -> None:
    """All right, of 20 rows a class and 60 in all, which classes share: Gini is twice as far off."""
    truth = np.arange(60) % 3
    [found] = cal.classification(truth, score=np.eye(3)[truth], measures=[name])
    assert found.method == "Wilson [W], effective rows"
    assert found.high == pytest.approx(1)
    off = (1 - found.low) / (2 if name == "macro-Gini" else 1)
    assert 1 - wilson(1.0, 60)[0] <= off * (1 + 1e-9)
    assert off < 1 - wilson(1.0, 40)[0]


@pytest.mark.parametrize(("name", "times"), [("AUC", 1), ("Gini", 2)])
def test_two_classes_where_a_row_passes_for_the_other(name: str, times: int) -> None:
    """20 and 40 rows, one of which is on the other side. None is an exact bound."""
    random = np.random.default_rng(7)
    positive = np.arange(60) < 20
    score = random.normal(size=60) + 6 * positive
    score[3] -= 6
    [found] = cal.classification(positive, score=score, measures=[name])
    assert found.method == "Wilson [W], effective rows"
    expected = 1 - times * (1 - np.array(limits([(1.0, positive, score)], 60)))
    np.testing.assert_allclose([found.low, found.high], expected, rtol=1e-9)
    [right] = cal.classification(positive, score=positive, measures=[name])
    assert right.low == pytest.approx(1 - times * (1 - 0.025 ** (1 / 20)))


def test_weights_have_no_scale() -> None:
    """Rows of weight 2 are as many as rows of weight 1."""
    random = np.random.default_rng(6)
    truth = np.arange(60) % 3
    score = np.eye(3)[truth] + 0.01 * random.normal(size=(60, 3))
    score[0] = [0, 0, 1]
    plain, twice = (
        cal.classification(truth, score=score, measures=["macro-AUC"], weight=weight)["macro-AUC"]
        for weight in (None, np.full(60, 2.0))
    )
    assert plain.method == twice.method == "Wilson [W], effective rows"
    assert (twice.low, twice.high) == pytest.approx((plain.low, plain.high), rel=1e-9)
