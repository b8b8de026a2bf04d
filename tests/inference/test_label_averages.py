"""Averages over labels where a label has few rows, or nothing is wrong: they have an interval, which
knows that the few might have come out otherwise."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import rows_by_hand as by_hand
from rows_by_hand import Rows, Z, data, designs, limits, near, options, two_labels, weight_of
from scipy import stats

import calipers as cal
from calipers.estimation import effective_sample_size, multilabel

ADDED = np.array([0.5, 0.25, 0.25, 0.5])  # right and wrong without the label, wrong and right with


def slopes(formula: Any, weight: Any) -> Any:
    """How fast a number rises with the weight of each row."""
    steps = np.diag(1e-5 * weight)
    return (formula(weight + steps) - formula(weight - steps)) / (2e-5 * weight)


def less_a_row(formula: Any, weight: Any, cells: Any) -> float:
    """What leaving out a row changes a number by, of all rows in turn; those of a cell weigh what
    they do on average, by Kish."""
    total = 0.0
    for cell in range(4):
        own = cells == cell
        number = weight[own].sum() ** 2 / (weight[own] ** 2).sum() if own.any() else 1.0
        total += number * float(formula(np.where(own, weight * (1 - 1 / number), weight)))
        total -= number * float(formula(weight))
    return total


@data
@designs
def test_averages_over_labels(rows: Rows, design: str) -> None:
    """As many trials of a share as have its spread, with two rows added to each label."""
    truth, systems = two_labels(rows)
    said, w = systems["a"], weight_of(rows, design)
    clustered = design in ("clustered", "both")
    unit = rows.cluster if clustered else np.arange(rows.n)
    value = likely = bias = of_added = 0.0
    moved = np.zeros(rows.n)
    for c in (0, 1):
        held = np.bincount(unit, w * (truth[:, c] | said[:, c]))
        each, number = (held**2).sum() / held.sum(), held.sum() ** 2 / (held**2).sum()
        formula = by_hand.mcc(truth[:, c], said[:, c])
        value += float(formula(w)) / 2
        bias += less_a_row(formula, w, 2 * truth[:, c] + said[:, c]) / 2
        y, z = np.append(truth[:, c], [0, 0, 1, 1]), np.append(said[:, c], [0, 1, 0, 1])
        formula, weight = by_hand.mcc(y, z), np.append(w, ADDED * each)
        likely += float(formula(weight)) / 2
        slope = slopes(formula, weight) / 2 * np.sqrt((number + 1) / (number - 1))
        moved += slope[:-4] * w
        of_added += (ADDED * (slope[-4:] * each) ** 2).sum()
    squares, df = (np.bincount(unit, moved) ** 2).sum(), np.inf
    if clustered:
        se, df = by_hand.by_cluster(moved, unit, w)
        squares = se**2 * df / (df + 1)
    n = (1 - likely**2) / (squares + of_added) * (Z / stats.t.ppf(0.975, df)) ** 2
    p = (value - bias + 1) / 2
    middle, half = p + Z**2 / (2 * n), Z * np.sqrt(p * (1 - p) / n + Z**2 / (4 * n**2))
    ends = [2 * (middle + side * half) / (1 + Z**2 / n) - 1 for side in (-1, 1)]
    made = cal.multilabel(
        truth, said, measures=["macro-MCC"], curves=False, **options(rows, design)
    )["macro-MCC"]
    assert limits(made) == near(*ends, rel=1e-6)
    assert made.standard_error == pytest.approx(2 * np.sqrt(p * (1 - p) / n), rel=1e-6)


def f1_slopes(tp: Any, wrong: Any) -> tuple[Any, Any]:
    """How fast F1 rises with what is right, and with either error."""
    squared = (2 * tp + wrong) ** 2
    return 2 * wrong / squared, -2 * tp / squared


@data
@designs
def test_averages_over_classes(rows: Rows, design: str) -> None:
    """Half a right row more of each class, and half a wrong one, which is an error of two. A class
    without rows adds nothing."""
    k = np.arange(rows.n)
    truth, said = k * k % 7 % 3, np.where(rows.a > 0.6, (k * k % 7 + k) % 3, k * k % 7 % 3)
    w, clustered = weight_of(rows, design), design in ("clustered", "both")
    unit = rows.cluster if clustered else k
    value = likely = bias = 0.0
    moved, right, wrong = np.zeros(rows.n), np.zeros(3), np.zeros(3)
    for c in range(3):
        hit, either = (truth == c) & (said == c), (truth == c) ^ (said == c)
        held = np.bincount(unit, w * (hit | either))
        each, number = (held**2).sum() / held.sum(), held.sum() ** 2 / (held**2).sum()
        value += 2 * (w * hit).sum() / (w * (2.0 * hit + either)).sum() / 3
        bias += less_a_row(by_hand.f1(truth == c, said == c), w, 2 * (truth == c) + (said == c)) / 3
        tp, errors = (w * hit).sum() + each / 2, (w * either).sum() + each / 2
        likely += 2 * tp / (2 * tp + errors) / 3
        slope = np.array(f1_slopes(tp, errors)) / 3 * np.sqrt((number + 1) / (number - 1))
        moved += w * (slope[0] * hit + slope[1] * either)
        right[c], wrong[c] = slope * each
    pairs = [(wrong[i] + wrong[j]) ** 2 for i in range(3) for j in range(3) if i != j]
    squares, df = (np.bincount(unit, moved) ** 2).sum(), np.inf
    if clustered:
        se, df = by_hand.by_cluster(moved, unit, w)
        squares = se**2 * df / (df + 1)
    variance = squares + (right**2).sum() / 2 + sum(pairs) / 8
    n = likely * (1 - likely) / variance * (Z / stats.t.ppf(0.975, df)) ** 2
    p = value - bias
    middle, half = p + Z**2 / (2 * n), Z * np.sqrt(p * (1 - p) / n + Z**2 / (4 * n**2))
    made = cal.classification(
        truth, said, labels=range(4), measures=["macro-F1"], curves=False, **options(rows, design)
    )
    ends = [(middle + side * half) / (1 + Z**2 / n) for side in (-1, 1)]
    assert limits(made["macro-F1"]) == near(*ends, rel=1e-6)


@pytest.mark.parametrize("many", [False, True])
@pytest.mark.parametrize("name", ["macro-recall", "micro-recall"])
def test_labels_that_are_all_right(name: str, many: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Four labels of ten rows each: 40 trials, a little fewer for what n − 1 takes off."""
    monkeypatch.setattr(multilabel, "MAX_RESAMPLED_VALUES", 0 if many else 10**9)
    truth = np.arange(40)[:, None] % 4 == np.arange(4)
    size = 43 / (11 / 9) if name.startswith("macro") else 40.75 / (10.25 / 9)
    made = cal.multilabel(truth, truth, measures=[name])[name]
    assert limits(made) == near(1 / (1 + Z**2 / size), 1)
    assert made.method == "Wilson [W], effective rows"
    wrong = cal.multilabel(truth, ~truth, measures=[name])[name]
    assert wrong.low == 0 < wrong.high < 0.15


def test_a_label_of_one_row() -> None:
    """Which varies as one of 1½ rows would."""
    truth = np.arange(10)[:, None] == 0
    made = cal.multilabel(truth, truth, measures=["macro-recall"])["macro-recall"]
    assert limits(made) == near(1 / (1 + Z**2 / (1.75 / (2 / 0.5))), 1)


def test_a_range_without_end_goes_by_odds() -> None:
    truth, said = (np.repeat(of, [12, 8, 9, 31])[:, None] for of in ([1, 1, 0, 0], [1, 0, 1, 0]))

    def ratio(tp: float, fn: float, fp: float, tn: float) -> float:
        return tp / (tp + fn) / (fp / (fp + tn))

    counts = np.array([12.5, 8.25, 9.25, 31.5])
    value = ratio(*counts)
    own = np.array([ratio(*(counts + step)) - value for step in 1e-6 * np.eye(4)]) / 1e-6
    variance = (counts * own**2).sum() * 30 / 28 / (1 + value) ** 4
    share = value / (1 + value)
    n, p = share * (1 - share) / variance, ratio(12, 8, 9, 31) / (1 + ratio(12, 8, 9, 31))
    middle, half = p + Z**2 / (2 * n), Z * np.sqrt(p * (1 - p) / n + Z**2 / (4 * n**2))
    ends = [(middle + side * half) / (1 + Z**2 / n) for side in (-1, 1)]
    made = cal.multilabel(truth.astype(bool), said.astype(bool), measures=["macro-LR+"])
    assert limits(made["macro-LR+"]) == near(*(end / (1 - end) for end in ends), rel=1e-5)


def test_clusters_that_are_all_right() -> None:
    """Eight clusters of ten rows say less than 80 rows, and one says nothing."""
    truth = np.random.default_rng(0).random((80, 3)) < 0.4
    made = [
        cal.multilabel(truth, truth, measures=["macro-F1"], cluster=cluster)["macro-F1"]
        for cluster in (np.arange(80), np.arange(80) // 10, np.zeros(80, int))
    ]
    assert made[0].low > 0.97
    assert 0.8 < made[1].low < 0.95
    assert made[1].method == "Wilson [W], effective rows, cluster-robust, 8 clusters"
    assert made[2].interval_reason == "too_few_clusters"
    truth, said = np.random.default_rng(1).integers(0, 3, (2, 60))
    [made] = cal.classification(truth, said, measures=["macro-F1"], cluster=np.zeros(60, int))
    assert made.interval_reason == "too_few_clusters"


@pytest.mark.parametrize("classes", [2, 3, 5])
def test_what_added_rows_of_classes_move(classes: int) -> None:
    """Half a row that is right for each class, and half a row that is wrong, which passes for any
    other one: it moves its own class, the other one, and those that it has nothing to do with."""
    moved = np.random.default_rng(classes).normal(size=(classes, 2, 2))
    rest, hit = moved[:, 0, 0], moved[:, 1, 1]
    wrong, missed = moved[:, 0, 1], moved[:, 1, 0]
    expected = 0.0
    for k in range(classes):
        others = [j for j in range(classes) if j != k]
        expected += 0.5 * (hit[k] + rest[others].sum()) ** 2
        for j in others:
            neither = rest.sum() - rest[k] - rest[j]
            expected += 0.25 / len(others) * (missed[k] + wrong[j] + neither) ** 2
    assert effective_sample_size._prior_sum_of_squares(moved) == pytest.approx(expected)


def test_many_labels_of_few_rows() -> None:
    """What is added to each moves the average by more than its error, and the limits by nothing."""
    random = np.random.default_rng(0)
    truth = random.random((300, 50)) < 0.03
    said = truth & (random.random(truth.shape) < 0.85)
    made = cal.multilabel(truth, said, measures=["macro-recall"])["macro-recall"]
    rows = truth.sum(axis=0)
    error = np.sqrt(0.85 * 0.15 * (1 / rows).sum()) / 50
    assert made.high - made.low == pytest.approx(2 * Z * error, rel=0.25)
    assert made.high - made.value > 0.8 * Z * error


@pytest.mark.parametrize("name", ["macro-F1", "micro-F1", "macro-recall", "weighted-precision"])
def test_perfect_labels_have_an_interval(name: str) -> None:
    truth = np.random.default_rng(0).random((200, 4)) < [0.5, 0.3, 0.2, 0.02]
    own = cal.multilabel(truth, truth, measures=[name])[name]
    assert own.high == own.value == 1
    assert 0.75 < own.low < 1


def test_precision_areas_at_their_limit_have_the_limits_of_their_labels() -> None:
    truth = np.random.default_rng(0).random((300, 3)) < [0.5, 0.3, 0.1]
    score = np.where(truth, 0.9, 0.1)
    each = [
        cal.classification(truth[:, j], score=score[:, j], measures=["AP"])["AP"].low
        for j in range(3)
    ]
    own = cal.multilabel(truth, score=score, measures=["macro-AP"])["macro-AP"]
    assert (own.low, own.high) == (pytest.approx(np.mean(each)), 1)


def test_a_slice_without_a_rare_label_is_compared() -> None:
    """Rows of a label that only the other slice has say nothing of either."""
    random = np.random.default_rng(3)
    truth = random.random((600, 4)) < [0.5, 0.3, 0.4, 0.0]
    truth[[0, 2], 3] = True
    called = truth ^ (random.random((600, 4)) < [0.1, 0.1, 0.1, 0.0])
    sides = {"side": ["left" if k % 2 else "right" for k in range(600)]}
    of = cal.multilabel(truth, called, measures=["macro-F1"], slices=sides).slices
    for row in of:
        assert row.vs_rest.test == "rows permuted"
        assert row.vs_rest.p > 0.05
        assert row.vs_rest.low <= 0 <= row.vs_rest.high


def test_the_difference_of_a_slice_holds_its_value() -> None:
    """Also where chance alone makes differences of one side."""
    truth = np.arange(100)[:, None] < 7
    said = truth.copy()
    said[[7, 52]] = True
    sides = {"side": ["left"] * 52 + ["right"] * 48}
    ev = cal.multilabel(truth, said, measures=["macro-F1"], slices=sides)
    for row in ev.slices:
        assert -1 <= row.vs_rest.low <= row.vs_rest.value <= row.vs_rest.high <= 1
    assert str(cal.from_json(ev.to_json())) == str(ev)


def test_weights_have_no_scale() -> None:
    """What is rare is so by rows, not by what they weigh."""
    random = np.random.default_rng(0)
    truth = np.column_stack([random.random((200, 2)) < 0.5, np.arange(200) < 8])
    a, b = (truth ^ (random.random(truth.shape) < [0.1, 0.1, 0]) for _ in "ab")
    found = [
        cal.multilabel(
            truth, {"a": a, "b": b}, weight=np.full(200, weight), measures=["macro-F1"]
        ).comparison["macro-F1"]
        for weight in (1.0, 1 / 256, 1024.0)
    ]
    assert len({(d.method, d.low, d.high, d.p) for d in found}) == 1


@pytest.mark.parametrize("design", ["plain", "weighted", "clustered"])
def test_balanced_accuracy_is_the_average_of_recalls(design: str) -> None:
    """Of 4 classes, one of which nothing is predicted as, and as much beyond chance as 1/4 is."""
    random = np.random.default_rng(11)
    truth = random.integers(0, 4, 60)
    said = np.where(random.random(60) < 0.7, truth, 0)
    said[said == 3] = 2
    extra: dict[str, Any] = {
        "plain": {},
        "weighted": {"weight": random.uniform(0.5, 2, 60)},
        "clustered": {"cluster": np.arange(60) % 12},
    }[design]
    names = ["macro-recall", "balanced-accuracy", "adjusted-balanced-accuracy"]
    of, same, beyond = cal.classification(truth, said, measures=names, **extra)
    assert (same.low, same.high, same.method) == (of.low, of.high, of.method)
    assert same.method.startswith("Wilson [W], effective rows")
    found = [beyond.value, beyond.low, beyond.high, beyond.standard_error]
    wanted = [(of.value - 0.25) / 0.75, (of.low - 0.25) / 0.75, (of.high - 0.25) / 0.75]
    np.testing.assert_allclose(found, [*wanted, of.standard_error / 0.75], rtol=1e-12)


def test_balanced_accuracy_of_two_classes_is_that_of_likely_cells() -> None:
    made = cal.classification([0, 1] * 20, [0, 1, 1, 1] * 10, measures=["balanced-accuracy", "J"])
    assert [e.method for e in made] == ["Jeffreys, Dirichlet posterior"] * 2
