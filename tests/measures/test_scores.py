"""Measures of scores against scikit-learn, SciPy, worked vectors and brute force over thresholds."""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy.integrate import quad
from scipy.stats import ks_2samp
from sklearn.metrics import precision_recall_curve, roc_auc_score, roc_curve

import calipers as cal
from calipers.measures import parse
from calipers.statistics import ScoreTable

BINARY = [0.0, 0.05, 0.1, 0.25, 0.3, 0.5, 0.7, 0.9, 1.0]


def value(name: str, table: ScoreTable) -> float:
    return float(parse(name, "scores").apply(table))


def at(name: str, table: ScoreTable) -> float:
    return float(parse(name, "scores").threshold(table))


def sample(seed: int, weighted: bool) -> tuple[np.ndarray, np.ndarray, np.ndarray | None]:
    """A few dozen rows with ties; weights with zeros, whole so that bounds are met exactly."""
    random = np.random.default_rng(seed)
    rows = int(random.integers(4, 40))
    truth = np.append(random.random(rows - 2) < random.uniform(0.1, 0.9), [True, False])
    score = np.round(random.normal(truth, 1.0), int(random.integers(0, 3)))
    weight = random.integers(0, 4, rows).astype(float) if weighted else None
    if weight is not None:
        weight[-2:] = 1.0
    return truth, score, weight


def points(
    truth: np.ndarray, score: np.ndarray, weight: np.ndarray | None
) -> list[tuple[float, float, float]]:
    """(threshold, TP, FP) at every threshold, highest first, each counted by itself."""
    weight = np.ones(len(truth)) if weight is None else weight
    out = []
    for threshold in [math.inf, *sorted(set(score), reverse=True)]:
        called = score >= threshold
        out.append((threshold, weight[called & truth].sum(), weight[called & ~truth].sum()))
    return out


def brute_force(
    name: str, bound: float, rows: list[tuple[float, float, float]]
) -> tuple[float, float]:
    """The value of X@Y and its threshold, as the definitions read."""
    positives, negatives = rows[-1][1:]
    rates = [
        {
            "threshold": threshold,
            "recall": tp / positives,
            "FPR": fp / negatives,
            "volume": (tp + fp) / (positives + negatives),
            "precision": tp / (tp + fp) if tp + fp else math.nan,
        }
        for threshold, tp, fp in rows
    ]
    wanted, given = name.split("@")
    if given == "FPR":
        allowed = [r for r in rates if r["FPR"] <= bound]
    else:
        allowed = [r for r in rates if r[given] >= bound]
    if wanted == "precision":
        found = next((r for r in allowed if not math.isnan(r["precision"])), None)
    else:
        best = (max if wanted == "recall" else min)((r[wanted] for r in allowed), default=None)
        found = next((r for r in allowed if r[wanted] == best), None)
    return (math.nan, math.nan) if found is None else (found[wanted], found["threshold"])


@pytest.mark.slow
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize(
    "name",
    ["precision@recall", "precision@volume", "recall@precision", "recall@FPR", "FPR@recall"],
)
def test_x_at_y_is_what_a_search_of_all_thresholds_finds(name: str, weighted: bool) -> None:
    for seed in range(150):
        truth, score, weight = sample(seed, weighted)
        table = ScoreTable.from_rows(truth, score, weight)
        rows = points(truth, score, weight)
        for bound in BINARY:
            expected = brute_force(name, bound, rows)
            measure = parse(f"{name}={bound}", "scores")
            found = float(measure.apply(table)), float(measure.threshold(table))
            assert_allclose(found, expected, rtol=1e-12, err_msg=f"{measure}, seed {seed}")


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("precision@recall=0.7", 0.5),
        ("precision@recall=0.5", 0.8),
        ("precision@recall=0.3", 0.8),
        ("recall@precision=0.9", math.nan),
        ("recall@precision=0.6", 0.5),
        ("precision@volume=0.5", 0.5),
        ("recall@FPR=0.5", 0.5),
        ("recall@FPR=0.9", 0.8),
        ("FPR@recall=0.5", 0.125),
        ("FPR@recall=0.2", 0.125),
        # A curve of all rows ends where everything is positive; ydf's vector leaves that point out.
        ("precision@recall=0.9", 0.5),
        ("recall@precision=0.4", 1.0),
        ("precision@volume=0.9", 0.5),
    ],
)
def test_the_vector_of_two_points(name: str, expected: float) -> None:
    """From ydf's tests: (TP, FP) = (100, 25) and (160, 160) of 200 rows of either class."""
    counts = np.array([[100.0, 60.0, 40.0], [25.0, 135.0, 40.0]])
    table = ScoreTable(np.array([3.0, 2.0, 1.0]), *counts, *counts, 400)
    assert value(name, table) == pytest.approx(expected, nan_ok=True)


@pytest.mark.slow
def test_x_at_y_of_scikit_learn_s_curves() -> None:
    for seed in range(50):
        truth, score, weight = sample(seed, weighted=True)
        table = ScoreTable.from_rows(truth, score, weight)
        options = {"sample_weight": weight}
        fpr, tpr, _ = roc_curve(truth, score, drop_intermediate=False, **options)
        precision, recall, _ = precision_recall_curve(truth, score, **options)
        precision, recall = precision[:-1], recall[:-1]  # an end without a threshold
        for bound in BINARY:
            assert value(f"recall@FPR={bound}", table) == pytest.approx(tpr[fpr <= bound].max())
            assert value(f"FPR@recall={bound}", table) == pytest.approx(fpr[tpr >= bound].min())
            reached = recall[precision >= bound]
            best = value(f"recall@precision={bound}", table)
            assert best == pytest.approx(reached.max() if len(reached) else math.nan, nan_ok=True)


def test_unattainable_is_undefined_for_a_reason() -> None:
    table = ScoreTable.from_rows(np.array([False, True]), np.array([1.0, 0.0]))
    measure = parse("recall@precision=0.9", "scores")
    assert math.isnan(float(measure.apply(table)))
    assert math.isnan(float(measure.threshold(table)))
    reasons = {name for name, where in measure.reasons(table).items() if where}
    assert reasons == {"precision_not_reached"}


def test_only_the_empty_prediction_keeps_to_a_false_positive_rate_of_0() -> None:
    table = ScoreTable.from_rows(np.array([False, True]), np.array([1.0, 0.0]))
    assert value("recall@FPR=0", table) == 0
    assert at("recall@FPR=0", table) == math.inf
    assert at("FPR@recall=0", table) == math.inf
    assert at("precision@recall=0", table) == 1.0


def test_measures_of_no_single_threshold_have_none() -> None:
    table = ScoreTable.from_rows(np.array([False, True]), np.array([0.0, 1.0]))
    assert math.isnan(at("AUC", table))
    assert at("max-F1", table) == at("KS", table) == at("max-accuracy", table) == 1.0


@pytest.mark.slow
@pytest.mark.parametrize("weighted", [False, True])
def test_areas_of_scikit_learn(weighted: bool) -> None:
    for seed in range(50):
        truth, score, weight = sample(seed, weighted)
        table = ScoreTable.from_rows(truth, score, weight)
        expected = {
            "Gini": 2 * roc_auc_score(truth, score, sample_weight=weight) - 1,
            **{
                f"pAUC(max_fpr={end})": roc_auc_score(
                    truth, score, sample_weight=weight, max_fpr=end
                )
                for end in (0.05, 0.1, 0.5, 1.0)
            },
        }
        for name, area in expected.items():
            assert value(name, table) == pytest.approx(area, abs=1e-12), (name, seed)


def test_a_partial_area_is_that_of_scikit_learn_s_curve() -> None:
    for seed in range(30):
        truth, score, weight = sample(seed, weighted=True)
        fpr, tpr, _ = roc_curve(truth, score, drop_intermediate=False, sample_weight=weight)
        low, high = 0.2, 0.6
        grid = np.unique(np.concatenate([fpr[(fpr > low) & (fpr < high)], [low, high]]))
        # Either side of a vertical step: halfway between points the curve is a straight line.
        middle = np.interp((grid[1:] + grid[:-1]) / 2, fpr, tpr)
        area, diagonal, width = np.sum(np.diff(grid) * middle), (high**2 - low**2) / 2, high - low
        expected = (1 + (area - diagonal) / (width - diagonal)) / 2
        table = ScoreTable.from_rows(truth, score, weight)
        found = value(f"pAUC(max_fpr={high},min_fpr={low})", table)
        assert found == pytest.approx(expected, abs=1e-12)


def test_ks_is_the_one_sided_two_sample_statistic() -> None:
    for seed in range(50):
        truth, score, _ = sample(seed, weighted=False)
        expected = ks_2samp(score[truth], score[~truth], alternative="less").statistic
        assert value("KS", ScoreTable.from_rows(truth, score)) == pytest.approx(expected)


@pytest.mark.parametrize("weighted", [False, True])
def test_the_equal_error_rate_lies_on_the_curve(weighted: bool) -> None:
    for seed in range(50):
        truth, score, weight = sample(seed, weighted)
        fpr, tpr, _ = roc_curve(truth, score, drop_intermediate=False, sample_weight=weight)
        found = value("EER", ScoreTable.from_rows(truth, score, weight))
        # Along the curve FPR + TPR rises from 0 to 2 and is 1 where FPR = FNR.
        assert found == pytest.approx(np.interp(1.0, fpr + tpr, fpr), abs=1e-12)


def integrated(
    seed: int, height: Callable[[float, float], float], width: Callable[[float], float]
) -> float:
    """∫ height(tp, fp) d width(tp), fp linear in tp between thresholds, numerically."""
    truth, score, _ = sample(seed, weighted=False)
    rows = [(tp, fp) for _, tp, fp in points(truth, score, None)]
    total = 0.0
    for (tp0, fp0), (tp1, fp1) in pairwise(rows):
        if tp1 > tp0:
            slope = (fp1 - fp0) / (tp1 - tp0)

            def density(x: float, a: tuple[float, float] = (tp0, fp0), b: float = slope) -> float:
                step = 1e-6 * max(x, 1e-3)
                rise = (width(x + step) - width(x - step)) / (2 * step)
                return height(x, a[1] + (x - a[0]) * b) * rise

            total += quad(density, tp0, tp1)[0]
    return total


def test_davis_and_goadrich_s_area_is_the_integral_of_its_curve() -> None:
    for seed in range(20):
        truth, score, _ = sample(seed, weighted=False)
        expected = integrated(seed, lambda x, f: x / (x + f), lambda x: x) / truth.sum()
        table = ScoreTable.from_rows(truth, score)
        assert value("PR-AUC-DG", table) == pytest.approx(expected, abs=1e-6)


def test_the_area_under_precision_recall_gain_is_the_integral_of_its_curve() -> None:
    """From Flach and Kull's definitions of both gains, cut where recall gain is 0."""
    for seed in range(20):
        truth, score, _ = sample(seed, weighted=False)
        positives, share = truth.sum(), truth.mean()

        def gain(rate: float, share: float = share) -> float:
            return (rate - share) / ((1 - share) * rate)

        expected = integrated(
            seed,
            lambda x, f: gain(x / (x + f)),
            lambda x, n=positives: max(gain(x / n), 0.0) if x > 0 else 0.0,
        )
        table = ScoreTable.from_rows(truth, score)
        assert value("PRG-AUC", table) == pytest.approx(expected, abs=1e-3)


@pytest.mark.slow
def test_the_best_of_all_thresholds() -> None:
    from sklearn.metrics import accuracy_score, fbeta_score

    for seed in range(8):
        truth, score, weight = sample(seed, weighted=True)
        table = ScoreTable.from_rows(truth, score, weight)
        called = [score >= threshold for threshold, _, _ in points(truth, score, weight)]
        options = {"sample_weight": weight}
        for beta in (0.5, 1.0, 2.0):
            best = max(fbeta_score(truth, c, beta=beta, zero_division=0, **options) for c in called)
            assert value(f"max-F{beta}", table) == pytest.approx(best)
        best = max(accuracy_score(truth, c, **options) for c in called)
        assert value("max-accuracy", table) == pytest.approx(best)


@pytest.mark.parametrize(
    ("spelled", "name"),
    [
        ("recall@fpr=0.01", "recall@FPR=0.01"),
        ("TPR@FPR=0.01", "recall@FPR=0.01"),
        ("Sensitivity@fpr=0.01", "recall@FPR=0.01"),
        ("PPV@recall=0.9", "precision@recall=0.9"),
        ("fpr@recall=.9", "FPR@recall=0.9"),
        ("ks", "KS"),
        ("pauc(max_fpr=0.2)", "pAUC(max_fpr=0.2)"),
        ("max-f2", "max-F2"),
        ("auprg", "PRG-AUC"),
    ],
)
def test_names(spelled: str, name: str) -> None:
    assert str(parse(spelled, ("counts", "scores", "probabilities"))) == name


@given(
    truth=st.lists(st.booleans(), min_size=2, max_size=30).filter(any),
    data=st.data(),
)
def test_interpolated_precision_and_the_break_even_point(truth: list[bool], data: Any) -> None:
    """Against scikit-learn's curve, and the mean over every order of tied scores."""
    positive = np.array(truth)
    levels = st.integers(0, data.draw(st.integers(0, 20)))
    score = np.array([data.draw(levels) for _ in truth], np.float64)
    table = ScoreTable.from_rows(positive, score)
    precision, recall, _ = precision_recall_curve(positive, score)
    best = [precision[:-1][recall[:-1] >= tenths / 10 - 1e-9].max() for tenths in range(11)]
    for tenths, expected in enumerate(best):
        ours = cal.measure(f"interpolated-precision@recall={tenths / 10}").apply(table)
        assert float(ours) == pytest.approx(expected)
    assert float(cal.measure("PR-11pt").apply(table)) == pytest.approx(np.mean(best))
    wanted = positive.sum()
    cut = np.sort(score)[::-1][wanted - 1]
    above, tied = score > cut, score == cut
    hits = positive[above].sum() + (wanted - above.sum()) * positive[tied].mean()
    ours = cal.measure("PR-break-even").apply(table)
    assert float(ours) == pytest.approx(hits / wanted)


def test_no_value_of_weighted_rows_is_above_1_by_rounding() -> None:
    """Classes that are separated, or nearly, whose weights do not add up to round numbers."""
    names = ["KS", "max-F1", "max-accuracy", "recall@FPR=0.1", "PRG-AUC", "pAUC(max_fpr=0.1)"]
    names += ["AUC", "AP", "PR-AUC", "PR-AUC-DG", "precision@recall=0.9", "precision@volume=0.5"]
    truth = np.arange(100) < 50
    for seed in range(40):
        random = np.random.default_rng(seed)
        score, weight = truth + random.random(100) / 2, random.random(100) + 0.1
        table = ScoreTable.from_rows(truth, score, weight)
        for name in names:
            value = float(parse(name, ["scores"]).apply(table))
            assert value <= 1, (name, seed)
            assert value == pytest.approx(1, abs=1e-12) or name.endswith("0.5"), (name, seed)
