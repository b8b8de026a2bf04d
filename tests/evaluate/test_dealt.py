"""Slices of few rows against enumeration, SciPy and the measures of the rows themselves."""

from __future__ import annotations

import math
from itertools import combinations
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from scipy import stats
from sklearn import metrics

import calipers as cal
from calipers.estimation import permutation
from calipers.estimation.counts import ClassCounts
from calipers.estimation.losses import RowLosses
from calipers.estimation.multilabel import MultilabelSample, RowValues
from calipers.estimation.rater_agreement import RatingSample
from calipers.estimation.scores import ScoredRows
from calipers.inference.settings import Settings
from calipers.statistics import Ratings

SETTINGS = Settings(n_resamples=20_000)
Floats = npt.NDArray[np.float64]


def test_lots_are_rows_of_which_each_is_taken_alike_and_once() -> None:
    lots = permutation.draw_subsets(10, 4, SETTINGS)
    assert lots.shape == (20_000, 4)
    assert (np.diff(np.sort(lots, axis=1), axis=1) > 0).all()
    counts = np.bincount(lots.ravel(), minlength=10)
    assert abs(counts - 8_000).max() < 4 * math.sqrt(20_000 * 0.24)
    # Of pairs too: two given rows are in 4·3 of 10·9 lots.
    both = np.mean((lots == 2).any(axis=1) & (lots == 7).any(axis=1))
    assert both == pytest.approx(12 / 90, abs=0.01)


def test_shares_are_fishers_exact_test() -> None:
    """Twice the smaller tail of the hypergeometric distribution."""
    right = np.arange(40) < 34
    part = np.array([0, 1, 34, 35, 36])
    counts = ClassCounts.from_codes(np.ones(40, int), right.astype(int), ("0", "1"), SETTINGS)
    deck = permutation.permutation_pool(counts)
    assert deck is not None
    found = deck.permute(
        cal.measure("accuracy"),
        permutation.SubsetRows(part, 0.4),
        permutation.draw_subsets(40, 5, SETTINGS),
    )
    assert found is not None
    assert found.observed == pytest.approx(2 / 5 - 32 / 35)
    p = 2 * stats.hypergeom(40, 34, 5).cdf(2)
    assert found.compare(0.95)[1].p == pytest.approx(p, rel=0.15)
    every = permutation.SubsetRows(np.arange(40), 0.85)
    assert deck.permute(cal.measure("accuracy"), every, np.arange(40)[None]) is None


def t_of(x: Floats, w: Floats, inside: list[int], *, root: bool) -> tuple[float, float]:
    """The difference and its error, the variances averaged with that of all as of two more rows;
    rows that weigh count by Kish's number."""
    every = float(np.average(x, weights=w))
    spread = np.average((x - every) ** 2, weights=w)
    values, variances = [], []
    for part in (np.isin(np.arange(len(x)), inside), ~np.isin(np.arange(len(x)), inside)):
        own, u = x[part], w[part]
        n, mean = u.sum() ** 2 / (u**2).sum(), float(np.average(own, weights=u))
        variance = (n * np.average((own - mean) ** 2, weights=u) + 2 * spread) / (n + 1) / n
        if root:
            variance /= 4 * (n * mean + 2 * every) / (n + 2)
            mean = math.sqrt(mean)
        values.append(mean)
        variances.append(variance)
    return values[0] - values[1], math.sqrt(sum(variances))


@pytest.mark.parametrize("weighs", [False, True])
@pytest.mark.parametrize("measure", ["RMSE", "MSE"])
def test_losses_are_compared_with_those_of_all_choices_of_rows(measure: str, weighs: bool) -> None:
    x = np.square(np.random.default_rng(3).normal(size=12))
    x[:4] *= 3
    w = np.array([1, 2, 0.5, 1, 3, 1, 0.5, 2, 1, 1, 4, 1]) if weighs else np.ones(12)
    root = measure == "RMSE"
    pairs = [t_of(x, w, list(of), root=root) for of in combinations(range(12), 4)]
    t, (value, se) = np.array([d / e for d, e in pairs]), t_of(x, w, [0, 1, 2, 3], root=root)
    deck = permutation.permutation_pool(RowLosses(x, w if weighs else None, None, SETTINGS))
    assert deck is not None
    found = deck.permute(
        cal.measure(measure),
        permutation.SubsetRows(np.arange(4), 0.0),
        permutation.draw_subsets(12, 4, SETTINGS),
    )
    assert found is not None
    interval, test = found.compare(0.9)
    assert (found.observed, found.standard_error) == pytest.approx((value, se), rel=1e-12)
    own = value / se
    p = 2 * min((t <= own + 1e-12).mean(), (t >= own - 1e-12).mean())
    assert test.p == pytest.approx(p, abs=4 * math.sqrt(2 * p / 20_000))
    for end, tail in ((interval.low, 0.95), (interval.high, 0.05)):
        least, most = np.quantile(t, [tail - 0.005, tail + 0.005])
        assert least <= (value - end) / se <= most


@pytest.mark.parametrize(("found", "p"), [(9.0, 0.2), (0.0, 1.0), (-9.5, 0.1), (20.0, 0.1)])
@pytest.mark.parametrize("scale", [1.0, 1e7])
def test_what_is_as_far_off_counts(found: float, p: float, scale: float) -> None:
    """2·(b + 1)/(B + 1) of either side, with what rounding holds apart; -9, -8, ..., 9 were
    drawn."""
    drawn = np.arange(-9.0, 10) * scale
    interval, test = permutation.PermutationResult(found * scale * (1 + 1e-13), drawn).compare(0.9)
    assert test.p == pytest.approx(p)
    low, high = np.quantile(drawn, [0.05, 0.95])
    assert interval.low == pytest.approx(found * scale - high)
    assert interval.high == pytest.approx(found * scale - low)


def test_rows_without_a_value_weigh_nothing() -> None:
    values, w = np.array([1.0, np.nan, 3.0, np.nan]), np.array([2.0, 5.0, 1.0, 7.0])
    deck = permutation.permutation_pool(RowValues(values, w, None, SETTINGS))
    assert isinstance(deck, permutation._LossPool)
    assert deck.sums[:2, 0].tolist() == [3, 5]
    assert permutation.permutation_pool(RowValues(values, w * [1, 1, 0, 0], None, SETTINGS)) is None


@pytest.mark.slow
def test_a_lot_has_the_value_of_its_rows() -> None:
    """Scores with ties, and weights."""
    random = np.random.default_rng(4)
    truth, score = random.random(60) < 0.4, np.round(random.random(60), 1)
    weight = random.uniform(0.5, 2, 60)
    lots = permutation.draw_subsets(60, 12, Settings(n_resamples=40))
    for of in (None, weight):
        scored = ScoredRows(truth, score, of, None, SETTINGS)
        [table] = permutation._subset_tables(scored, lots)
        counts = ClassCounts.from_codes(
            truth.astype(int), (score > 0.5).astype(int), ("0", "1"), SETTINGS, of
        )
        [matrix] = permutation._count_subsets(counts, lots)
        areas, aps = (cal.measure(name, family="scores").apply(table) for name in ("AUC", "AP"))
        f1 = cal.measure("F1", family="counts").apply(matrix)
        for k, rows in enumerate(lots):
            own: dict[str, Any] = {"sample_weight": None if of is None else of[rows]}
            assert areas[k] == pytest.approx(metrics.roc_auc_score(truth[rows], score[rows], **own))
            ap = metrics.average_precision_score(truth[rows], score[rows], **own)
            assert aps[k] == pytest.approx(ap)
            assert f1[k] == pytest.approx(metrics.f1_score(truth[rows], score[rows] > 0.5, **own))


@pytest.mark.parametrize("weighs", [False, True])
def test_a_lot_of_rows_with_labels_has_the_value_of_its_rows(weighs: bool) -> None:
    random = np.random.default_rng(5)
    truth, predicted = random.random((2, 40, 3)) < 0.5
    weight = random.uniform(0.5, 2, 40) if weighs else None
    lots = permutation.draw_subsets(40, 9, Settings(n_resamples=20))
    sample = MultilabelSample(truth, predicted, ("a", "b", "c"), weight, None, SETTINGS)
    [made] = permutation._subset_label_matrices(sample, lots)
    f1, mcc = (cal.measure(m, family="counts").apply(made) for m in ("macro-F1", "macro-MCC"))
    for k, rows in enumerate(lots):
        own: dict[str, Any] = {"sample_weight": None if weight is None else weight[rows]}
        y, said = truth[rows], predicted[rows]
        assert f1[k] == pytest.approx(metrics.f1_score(y, said, average="macro", **own))
        each = [metrics.matthews_corrcoef(y[:, c], said[:, c], **own) for c in range(3)]
        assert mcc[k] == pytest.approx(np.mean(each))


@pytest.mark.parametrize("loss", [0.0, 2.0])
def test_losses_that_are_all_alike_leave_nothing_to_compare(loss: float) -> None:
    ev = cal.regression(np.zeros(12), np.full(12, loss), slices={"s": list("ab") * 6})
    assert ev.slices is not None
    for row in ev.slices:
        if math.isfinite(row.vs_rest.value):
            assert row.vs_rest.interval_reason == "no_spread"
            assert row.vs_rest.p == 1


def test_three_right_rows_do_not_differ() -> None:
    random = np.random.default_rng(1)
    truth = random.random(60) < 0.5
    truth[:3] = True
    predicted = np.where(np.arange(60) % 6 == 5, ~truth, truth)
    site = np.where(np.arange(60) < 3, "small", "large")
    ev = cal.classification(
        truth.astype(int), predicted.astype(int), positive=1, slices={"site": site},
        measures=["F1", "MCC", "accuracy"], curves=False,
    )  # fmt: skip
    assert ev.slices is not None
    row = ev.slices["site", "small", "F1"]
    assert row.estimate.value == 1
    assert row.vs_rest.p > 0.1
    assert row.vs_rest.low < 0 < row.vs_rest.high


@pytest.mark.slow
def test_no_small_slice_is_found_to_differ_where_none_does() -> None:
    """The rule of the finding on each leading measure, in 5% of the data sets at most."""
    slices, rows, names = 5, 40, ["F1", "MCC", "accuracy", "AP", "Brier"]
    told = []
    for seed in range(40):
        random = np.random.default_rng(seed)
        truth = random.random(rows) < 0.4
        p = 1 / (1 + np.exp(0.7 - 1.2 * truth - random.normal(size=rows)))
        ev = cal.classification(
            truth, probability=p, slices={"site": [f"s{k % slices}" for k in range(rows)]},
            measures=names, curves=False, n_resamples=200,
        )  # fmt: skip
        assert ev.slices is not None
        least = {m: [s.vs_rest.p_adjusted for s in ev.slices if s.estimate.measure == m]
                 for m in names}  # fmt: skip
        told.append([np.nanmin(least[m]) <= 0.05 for m in names])
    # 5% and three standard errors.
    assert (np.mean(told, axis=0) <= 0.05 + 3 * math.sqrt(0.05 * 0.95 / 40)).all()


@pytest.mark.parametrize("weighs", [False, True])
@pytest.mark.parametrize(
    ("name", "scale"),
    [
        *(("Krippendorff-alpha", scale) for scale in ("nominal", "ordinal", "interval")),
        ("Fleiss-kappa", None), ("Gwet-AC1", None), ("percent-agreement", None),
    ],
)  # fmt: skip
def test_a_lot_of_items_has_the_agreement_of_its_items(
    name: str, scale: str | None, weighs: bool
) -> None:
    """Some lots have one category only, and some items, of which Fleiss' κ takes none, one rating."""
    random = np.random.default_rng(6)
    codes = random.integers(0, 4, (40, 3)) * (random.random((40, 1)) < 0.3)
    if name != "Fleiss-kappa":
        codes[random.random((40, 3)) < 0.2] = -1
    weight = random.uniform(0.5, 2, 40) if weighs else None
    measure = cal.measure(name if scale is None else f"{name}(scale={scale!r})")
    rated = ("0", "1", "2", "3"), np.arange(4.0)
    lots = permutation.draw_subsets(40, 4, Settings(n_resamples=60))
    sample = RatingSample(Ratings.from_codes(codes, *rated, weight), SETTINGS, weight)
    [made] = permutation._subset_ratings(sample, lots)
    found = measure.apply(made)
    alone = [
        float(measure.apply(Ratings.from_codes(
            codes[rows], *rated, None if weight is None else weight[rows]
        )))
        for rows in lots
    ]  # fmt: skip
    assert np.isnan(alone).any() == ("alpha" in name or "kappa" in name)
    np.testing.assert_allclose(found, alone, rtol=1e-9, atol=1e-12)
    deck = permutation.permutation_pool(sample)
    assert deck is not None
    inside = np.arange(0, 40, 3)
    value = float(measure.apply(Ratings.from_codes(
        codes[inside], *rated, None if weight is None else weight[inside]
    )))  # fmt: skip
    result = deck.permute(measure, permutation.SubsetRows(inside, value), lots)
    assert result is not None
    whole = float(measure.apply(sample.statistic))
    assert result.observed == pytest.approx((value - whole) / (1 - len(inside) / 40))


def test_entries_of_several_items_are_not_permuted() -> None:
    twice = Ratings.from_codes(np.zeros((3, 2), int), ("0", "1"), np.arange(2.0)).grouped_items
    assert permutation.permutation_pool(RatingSample(twice, SETTINGS)) is None


def test_one_disagreement_in_a_slice_of_one_category_is_chance() -> None:
    """α of such a slice is about 0 whatever the items, as influence alone does not show."""
    first = np.array([0] * 14 + [0] * 120 + [1] * 16)
    second = first.copy()
    second[[3, 60, 140]] = 1 - second[[3, 60, 140]]
    kind = ["few"] * 14 + ["many"] * 136
    ev = cal.agreement({"a": first, "b": second, "kind": kind}, raters=["a", "b"], slices=["kind"])
    assert ev.slices is not None
    difference = ev.slices["kind", "few", "Krippendorff-alpha"].vs_rest
    assert difference.value < -0.8
    assert difference.p > 0.05
    assert difference.low <= 0 <= difference.high
    assert "rows permuted" in difference.test


@pytest.mark.parametrize("smaller", [7, 23])
def test_the_smaller_of_both_is_drawn(smaller: int) -> None:
    rows = np.arange(smaller)
    chosen = permutation.SmallerSubset.from_indices(rows, 30, 10)
    assert chosen is not None
    assert chosen.is_complement == (smaller > 15)
    assert len(chosen.rows) == 7
    assert permutation.SmallerSubset.from_indices(rows, 30, 6) is None
    assert permutation.SmallerSubset.from_indices(rows, smaller, 10) is None
    loss = np.random.default_rng(1).normal(size=30)
    deck = permutation.permutation_pool(RowLosses(loss, None, None, SETTINGS))
    assert deck is not None
    values = loss[:smaller].mean(), loss[smaller:].mean()
    lots = permutation.draw_subsets(30, 7, Settings(n_resamples=50))
    result = chosen.permute(deck, cal.measure("MAE", family="regression"), values, lots)
    assert result is not None
    assert result.observed == pytest.approx(values[0] - values[1])
