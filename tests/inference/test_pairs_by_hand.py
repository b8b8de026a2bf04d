"""Intervals and tests of paired differences, and of two parts of the rows, by formulas of weighted
rows written out anew: by what each row moves either of the two, and in the same draws."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import pytest
import rows_by_hand as by_hand
from rows_by_hand import (
    DESIGNS,
    DRAWS,
    Rows,
    data,
    designs,
    drawn_means,
    limits,
    two_labels,
    weight_of,
    weights,
)
from scipy import special, stats

import calipers as cal
from calipers.inference.bayesian_bootstrap import AugmentedMean

near = partial(by_hand.near, rel=1e-6)


def options(rows: Rows, design: str) -> dict[str, Any]:
    return {**by_hand.options(rows, design), "n_resamples": DRAWS}


def of(rows: Rows, measure: str, design: str = "plain", **others: Any) -> Any:
    given = {**options(rows, design), "curves": False, **others}
    said = {"a": rows.a, "b": rows.b}
    made = cal.classification(rows.truth, probability=said, measures=[measure], **given)
    return made.compare(baseline="b")["a", "b", measure]


def of_replicates(drawn: Any) -> float:
    """(b + 1)/(B + 1), of either side."""
    drawn = drawn[np.isfinite(drawn)]
    sides = np.count_nonzero(drawn <= 0), np.count_nonzero(drawn >= 0)
    return float(min(1.0, 2 * (min(sides) + 1) / (len(drawn) + 1)))


def middle(drawn: Any, level: float = 0.95) -> tuple[float, float]:
    """The replicates beside which (b + 1)/(B + 1) on either side is more than half of the rest."""
    drawn = np.sort(drawn[np.isfinite(drawn)])
    p = (1 + np.arange(1, len(drawn) + 1)) / (len(drawn) + 1)
    inside = p > round(1 - level, 12) / 2 + 1e-15
    return drawn[inside][0], drawn[::-1][inside][0]


def wider(
    values: Any,
    value: float,
    se: float,
    degrees: float,
    differing: int,
    weight: Any = None,
    most: float = np.inf,
    reach: float = np.inf,
) -> tuple[tuple[float, float], float]:
    """Limits and p of the wider of Student's t and the Bayesian bootstrap with half units about the
    mean, at most ``reach`` from it; no p below what signs allow. The bootstrap's own integrals are
    tested with it."""
    far = min(reach, np.abs(values - value).max() * (1 + 2 / differing))
    ends_ = np.array([value - far, value + far])
    ends_ = np.clip(ends_, -most, most) if np.isfinite(reach) else ends_
    bayes = AugmentedMean.from_values(values, tuple(ends_), weight=weight)
    assert bayes is not None
    (low, high), _ = by_error(value, se, degrees)
    own = bayes.quantiles(np.array([0.025, 0.975]))
    low, high = min(low, own[0]), max(high, own[1])
    tail = bayes.tails(0.0)[0 if value > 0 else 1]
    p = max(stats.t.sf(abs(value) / se, degrees), tail, 2.0**-differing)
    if 2.0**-differing > 0.025:
        low, high = min(low, 0.0), max(high, 0.0)
    return (max(low, -most), min(high, most)), min(1.0, 2 * p)


def moves(value: float, moved: Any, w: Any, truth: Any = None) -> tuple[Any, Any, int]:
    """The difference and how much each row moves it, as of a mean of rows that weigh so much; and
    how many rows move it otherwise than more than half of their class do, if any do."""
    even = np.ptp(w) == 0
    values = moved * len(moved) if even else moved / w * w.sum()
    differing = 0
    for c in np.unique(np.zeros(len(w)) if truth is None else truth):
        own = values if truth is None else values[truth == c]
        alike = max(int((np.abs(own - one) < 1e-6).sum()) for one in own)
        differing += len(own) - alike if 2 * alike > len(own) else len(own)
    values = value + values - np.average(values, weights=w)
    return values, None if even else w, differing


def by_error(value: float, se: float, degrees: float = np.inf) -> tuple[tuple[float, float], float]:
    """Limits and p of Student's t, or the normal."""
    t = stats.t.ppf(0.975, degrees)
    return (value - t * se, value + t * se), float(2 * stats.t.sf(abs(value) / se, degrees))


def degrees(rows: Rows, design: str, truth: Any) -> float:
    """One less than the rows of the smallest class where these are few."""
    w = weight_of(rows, design)
    each = [by_hand.kish(w[truth == c]) for c in np.unique(truth)]
    return (min(each) if min(each) < 20 else sum(each)) - 1


def check(
    found: Any,
    value: float,
    se: float,
    degrees: float = np.inf,
    reach: float = 2,
    rows: tuple[Any, Any, int] | None = None,
) -> None:
    """By error, or of ``rows``, values and weights, the wider of that and the bootstrap."""
    expected, p = by_error(value, se, degrees)
    if rows is not None:
        values, weight, differing = rows
        expected, p = wider(values, value, se, degrees, differing, weight, reach)
    assert found.value == pytest.approx(value, rel=1e-9)
    if rows is None or 2 * rows[2] >= len(rows[0]):  # else it is the bootstrap's, if that is larger
        assert found.standard_error == pytest.approx(se, rel=1e-6)
    assert limits(found) == near(*np.clip(expected, -reach, reach))
    assert found.p == pytest.approx(p, rel=1e-5)


# --- Scores ---------------------------------------------------------------------------------------


@data
@designs
@pytest.mark.parametrize("measure", ["AUC", "Gini", "AP"])
def test_areas(measure: str, rows: Rows, design: str) -> None:
    """By how much the rows move both; of few positives in the same draws."""

    def formula(score: Any) -> Any:
        if measure == "AP":
            return by_hand.precision_area(rows.truth, score, "AP")
        scale = 2 if measure == "Gini" else 1
        return lambda w: scale * by_hand.auc(rows.truth, score)(w)

    a, b, w = formula(rows.a), formula(rows.b), weight_of(rows, design)
    clustered, value = design in ("clustered", "both"), float(a(w) - b(w))
    found = of(rows, measure, design)
    if measure == "AP" and not clustered and by_hand.kish(w[rows.truth == 1]) < 30:
        drawn = a(weights(rows, design)) - b(weights(rows, design))
        assert limits(found) == near(*middle(drawn))
        assert found.p == pytest.approx(of_replicates(drawn), rel=1e-9)
        return
    moved = by_hand.moved(a, w) - by_hand.moved(b, w)
    se, df = by_hand.by_class(moved, rows.truth, w), degrees(rows, design, rows.truth)
    if clustered:
        pairs = measure != "AP"
        error = by_hand.of_pairs_by_cluster if pairs else by_hand.of_classes_by_cluster
        se, df = error(moved, rows.truth, rows.cluster, w)
    plain = None if clustered else moves(value, moved, w, rows.truth)
    check(found, value, se, df, rows=plain)


@data
@designs
def test_calibration_errors_are_turned(rows: Rows, design: str) -> None:
    a, b = (by_hand.calibration_error(rows.truth, p) for p in (rows.a, rows.b))
    w, times = weight_of(rows, design), weights(rows, design)
    drawn = 2 * (a(w) - b(w)) - (a(times) - b(times))
    found = of(rows, "ECE", design)
    assert limits(found) == near(*middle(drawn))
    assert found.p == pytest.approx(of_replicates(drawn), rel=1e-9)
    assert found.standard_error == pytest.approx(drawn[np.isfinite(drawn)].std(ddof=1), rel=1e-9)


# --- Counts ---------------------------------------------------------------------------------------


@data
@designs
def test_counts(rows: Rows, design: str) -> None:
    """In likely cells, of weighted rows in draws of their sums; of clusters by how they move it."""
    a, b = (by_hand.f1(rows.truth, p >= 0.5) for p in (rows.a, rows.b))
    w, found = weight_of(rows, design), of(rows, "F1", design)
    value = float(a(w) - b(w))
    moved = by_hand.moved(a, w) - by_hand.moved(b, w)
    if design in ("clustered", "both"):
        margins = (w * ((rows.truth == 1) | (p >= 0.5)) for p in (rows.a, rows.b))
        held = sum(own / own.sum() for own in margins)
        check(found, value, *by_hand.by_cluster(moved, rows.cluster, held))
        return
    cell = 4 * rows.truth + 2 * (rows.a >= 0.5) + (rows.b >= 0.5)
    generator = np.random.Generator(np.random.Philox(0))
    if design == "plain":
        cells = np.arange(8)
        prior = np.where(cells // 2 % 2 == cells % 2, 0.25, 0.5)
        shape = np.bincount(cell, minlength=8) + prior
        times = generator.standard_gamma(shape, (DRAWS, 8))
    else:
        cells, index = np.unique(cell, return_inverse=True)
        total, squares = np.bincount(index, w), np.bincount(index, w**2)
        times = generator.poisson(total**2 / squares, (DRAWS, len(cells))) * squares / total
    y, first, second = cells // 4, cells // 2 % 2, cells % 2
    drawn = by_hand.f1(y, first)(times) - by_hand.f1(y, second)(times)
    assert limits(found) == near(*middle(drawn))
    assert found.p == pytest.approx(of_replicates(drawn), rel=1e-9)
    df = degrees(rows, design, 0 * rows.truth)
    check(of(rows, "F1", design, interval="analytic"), value, float(np.sqrt((moved**2).sum())), df)


@data
@pytest.mark.parametrize("measure", ["accuracy", "error-rate"])
def test_accuracies(measure: str, rows: Rows) -> None:
    """Of rows that gain 1, lose 1 or neither."""
    first, second = ((p >= 0.5) == rows.truth for p in (rows.a, rows.b))
    up, down = (first & ~second).sum(), (second & ~first).sum()
    if measure == "error-rate":
        up, down = down, up
    found = of(rows, measure)
    apart = np.repeat([1.0, -1.0, 0.0], [up, down, rows.n - up - down])
    se = apart.std(ddof=1) / np.sqrt(rows.n)
    expected, p = wider(apart, apart.mean(), se, rows.n - 1, up + down, most=1, reach=1)
    assert limits(found) == near(*expected)
    assert found.p == pytest.approx(p, rel=1e-9)
    assert (found.wins, found.losses) == ((up, down) if measure == "accuracy" else (down, up))
    assert found.ties == rows.n - up - down
    made = cal.classification(
        rows.truth, probability={"a": rows.a, "b": rows.b}, measures=[measure], curves=False
    )
    named = made.compare(baseline="b", test="mcnemar")["a", "b", measure]
    tail = stats.binom.sf(max(up, down) - 1, up + down, 0.5)
    assert named.p == pytest.approx(min(1, 2 * tail), rel=1e-9)
    # Clopper and Pearson's share of the rows on which they differ.
    share = stats.binomtest(int(up), int(up + down)).proportion_ci(0.95, "exact")
    ends_ = (2 * np.array([share.low, share.high]) - 1) * (up + down) / rows.n
    assert limits(named) == near(*ends_)


# --- Losses ---------------------------------------------------------------------------------------


@data
@designs
@pytest.mark.parametrize("measure", ["log-loss", "RMSE"])
def test_losses(measure: str, rows: Rows, design: str) -> None:
    """By the error of clusters, else the wider of that and the bootstrap of rows."""
    y, w = rows.truth, weight_of(rows, design)
    clustered, n = design in ("clustered", "both"), by_hand.kish(w)
    if measure == "log-loss":
        x, z = (-np.log(np.where(y == 1, p, 1 - p)) for p in (rows.a, rows.b))
        a, b, found = by_hand.mean(x), by_hand.mean(z), of(rows, measure, design)
    else:
        x, z = (rows.a - y) ** 2, (rows.b - y) ** 2
        a, b = (lambda w, of=of: np.sqrt(by_hand.mean(of)(w)) for of in (x, z))
        made = cal.regression(
            y, {"a": rows.a, "b": rows.b}, measures=["RMSE"], **options(rows, design)
        )
        found = made.compare(baseline="b")["a", "b", "RMSE"]
    value = float(a(w) - b(w))
    part = w * (x - z - np.average(x - z, weights=w)) / w.sum()
    moved = by_hand.moved(a, w) - by_hand.moved(b, w)
    if clustered:
        check(found, value, *by_hand.by_cluster(moved, rows.cluster, w), reach=np.inf)
        return
    assert np.ptp(part) > 0
    error, df = float(np.sqrt(n / (n - 1) * (moved**2).sum())), n - 1
    of_rows = moves(value, moved, w)
    if measure == "log-loss":
        of_rows = (x - z, of_rows[1], int((x != z).sum()))
    check(found, value, error, df, reach=np.inf, rows=of_rows)


@data
@designs
def test_skill(rows: Rows, design: str) -> None:
    y, w = rows.truth, weight_of(rows, design)
    k = np.arange(rows.n)
    truth = (y + (k % 5 == 2)) % 3
    said = {}
    for name, p in (("a", rows.a), ("b", rows.b)):
        said[name] = np.column_stack([1 - p, p / 2, p / 2])
    onehot = np.eye(3)[truth]

    def skill(p: Any) -> Any:
        loss = -np.log((onehot * p).sum(axis=1))

        def formula(w: Any) -> Any:
            share = w @ onehot / w.sum(axis=-1)[..., None]
            least = -special.xlogy(share, share).sum(axis=-1)
            return 1 - by_hand.mean(loss)(w) / np.where(share.max(axis=-1) < 1, least, np.nan)

        return formula

    made = cal.classification(
        truth, probability=said, measures=["log-loss-skill"], curves=False, **options(rows, design)
    )
    found = made.compare(baseline="b")["a", "b", "log-loss-skill"]
    a, b, n = skill(said["a"]), skill(said["b"]), by_hand.kish(w)
    moved, value = by_hand.moved(a, w) - by_hand.moved(b, w), float(a(w) - b(w))
    if design in ("clustered", "both"):
        check(found, value, *by_hand.by_cluster(moved, rows.cluster, w), reach=np.inf)
        return
    se = float(np.sqrt(n / (n - 1) * (moved**2).sum()))
    check(found, value, se, n - 1, reach=np.inf, rows=moves(value, moved, w))


# --- Several classes and labels -------------------------------------------------------------------


@data
@designs
@pytest.mark.parametrize("measure", ["macro-AUC", "top-2-accuracy"])
def test_several_classes(measure: str, rows: Rows, design: str) -> None:
    k, w = np.arange(rows.n), weight_of(rows, design)
    truth = (rows.truth + (k % 5 == 2)) % 3
    said = {
        name: np.column_stack([1 - p, p * (1 - q), p * q])
        for name, p, q in (("a", rows.a, rows.b), ("b", rows.b, rows.a))
    }

    def moved(p: Any) -> tuple[float, Any]:
        if measure == "top-2-accuracy":
            own = p[k, truth][:, None]
            above, beside = (p > own).sum(axis=1), (p == own).sum(axis=1)
            credit = by_hand.mean(np.clip((2 - above) / beside, 0, 1))
            return float(credit(w)), by_hand.moved(credit, w)
        value, out = 0.0, 0 * w
        for c in range(3):
            formula = by_hand.auc(truth == c, p[:, c])
            value, of_class = value + float(formula(w)) / 3, by_hand.moved(formula, w) / 3
            for side in (truth == c, truth != c):
                n = by_hand.kish(w[side])
                out[side] += np.sqrt(n / (n - 1) if design in DESIGNS[:2] else 1) * of_class[side]
        return value, out

    (value, first), (other, second) = moved(said["a"]), moved(said["b"])
    se = float(np.sqrt(np.square(first - second).sum()))
    made = cal.classification(
        truth, probability=said, measures=[measure], curves=False, **options(rows, design)
    )
    found = made.compare(baseline="b")["a", "b", measure]
    df = degrees(rows, design, 0 * truth)
    if measure == "macro-AUC" and design in DESIGNS[:2]:  # Welch's, of the smaller classes
        sides = [(truth == c, truth != c) for c in range(3)]
        n = np.array([min(by_hand.kish(w[of]) for of in two) for two in sides])
        df = max((1 / n).sum() ** 2 / (1 / n**2 / (n - 1)).sum(), 1)
    if design in ("clustered", "both"):
        se, df = by_hand.by_cluster(first - second, rows.cluster, w)
    plain = None if design in ("clustered", "both") else moves(value - other, first - second, w)
    check(found, value - other, se, df, reach=1, rows=plain)


@data
@designs
def test_averages_over_labels(rows: Rows, design: str) -> None:
    w = weight_of(rows, design)
    truth, said = two_labels(rows)
    made = cal.multilabel(truth, said, measures=["macro-F1"], curves=False, **options(rows, design))
    clustered = design in ("clustered", "both")
    times = drawn_means(rows.n) * w
    first, second = (
        np.mean([by_hand.f1(truth[:, c], p[:, c])(times) for c in (0, 1)], axis=0)
        for p in said.values()
    )
    found = made.compare(baseline="b")["a", "b", "macro-F1"]
    if clustered:
        pair = [
            lambda w, p=p: sum(by_hand.f1(truth[:, c], p[:, c])(w) for c in (0, 1)) / 2
            for p in said.values()
        ]
        moved = by_hand.moved(pair[0], w) - by_hand.moved(pair[1], w)
        value = float(pair[0](w) - pair[1](w))
        check(found, value, *by_hand.by_cluster(moved, rows.cluster, w))
        return
    assert limits(found) == near(*middle(first - second))
    assert found.p == pytest.approx(of_replicates(first - second), rel=1e-9)


@data
@designs
def test_rows_of_which_some_have_no_value(rows: Rows, design: str) -> None:
    """A mean over the rows that have one, which need not be the same for both systems."""
    w = weight_of(rows, design)
    truth, said = two_labels(rows)
    made = cal.multilabel(
        truth, said, measures=["example-precision"], curves=False, **options(rows, design)
    )
    formulas = []
    for p in said.values():
        size, hits = p.sum(axis=1), (p & truth).sum(axis=1)
        share = hits / np.maximum(size, 1)
        formulas.append(lambda w, x=share, has=size > 0: w @ (x * has) / (w @ has))
    found = made.compare(baseline="b")["a", "b", "example-precision"]
    a, b = formulas
    clustered = design in ("clustered", "both")
    assert found.value == pytest.approx(float(a(w) - b(w)), rel=1e-9)
    moved, value = [by_hand.moved(a, w), by_hand.moved(b, w)], float(a(w) - b(w))
    has = [w * p.any(axis=1) for p in said.values()]
    if clustered:
        held = [*has, sum(own / own.sum() for own in has)]
        first, second, both = (
            by_hand.by_cluster(each, rows.cluster, weight)[0]
            for each, weight in zip([*moved, moved[0] - moved[1]], held, strict=True)
        )
        n = len(np.unique(rows.cluster))
    else:
        sizes = [by_hand.kish(own) for own in has]
        first, second = (
            float(np.sqrt((each**2).sum() * size / (size - 1)))
            for each, size in zip(moved, sizes, strict=True)
        )
        of_all = [m * np.sqrt(size / (size - 1)) for m, size in zip(moved, sizes, strict=True)]
        both = float(np.sqrt(((of_all[0] - of_all[1]) ** 2).sum()))
        n = min(sizes)
    correlation = (first**2 + second**2 - both**2) / (2 * first * second)

    def combined(level: float) -> tuple[float, float]:
        """MOVER of the intervals of both systems (Zou and Donner 2008), with a margin."""
        of_level = cal.multilabel(
            truth, said, measures=["example-precision"], curves=False, level=level,
            **options(rows, design),
        )  # fmt: skip
        one, two = (of_level[name, "example-precision"] for name in "ab")
        margin = float(stats.norm.ppf((1 + level) / 2)) * max(correlation, 0.0) / n

        def distance(x: float, y: float) -> float:
            return float(np.sqrt(x**2 + y**2 + margin**2 - 2 * correlation * x * y))

        return (
            value - distance(one.value - one.low, two.high - two.value),
            value + distance(one.high - one.value, two.value - two.low),
        )

    assert found.test == "MOVER"
    assert limits(found) == near(*combined(0.95), rel=1e-6)
    low, high = combined(max(1 - found.p, 1e-6))
    if found.p == 1:
        assert low <= 0 <= high
    else:
        assert abs(low if value > 0 else high) < 1e-5


# --- Topics ---------------------------------------------------------------------------------------

VALUES = {
    "a": np.array([.31, .52, .48, .77, .12, .66, .59, .41, .83, .25, .37, .91]),
    "b": np.array([.28, .55, .31, .70, .15, .42, .58, .30, .79, .11, .39, .72]),
}  # fmt: skip


def errors_of(values: Any) -> tuple[Any, Any]:
    n = len(values)
    times = drawn_means(n)
    mean = times @ values / n
    apart = (times * (values - mean[:, None]) ** 2).sum(axis=1)
    return mean, np.sqrt(apart / (n - 1) / n)


@pytest.mark.parametrize("topics", [12, 7])
def test_topics(topics: int) -> None:
    values = {name: of[:topics] for name, of in VALUES.items()}
    apart = values["a"] - values["b"]
    mean, se = apart.mean(), apart.std(ddof=1) / np.sqrt(topics)

    def found(interval: str, measure: str = "AP") -> Any:
        made = cal.from_values(values, measure=measure, interval=interval, n_resamples=DRAWS)
        return made.compare(baseline="b")["a", "b", measure]

    # Half a topic stands about the mean, as far as 1 at most; of what has no range, too.
    expected, p = wider(apart, mean, se, topics - 1, topics)
    for measure in ("AP", "likes"):
        assert limits(found("auto", measure)) == near(*expected)
        assert found("auto", measure).p == pytest.approx(p, rel=1e-9)
    drawn, errors = errors_of(apart)
    some = errors > 0
    low, high = middle(np.clip((drawn - mean)[some] / errors[some], -8, 8))
    assert limits(found("studentized")) == near(mean - high * se, mean - low * se)
    assert limits(found("percentile")) == near(*middle(drawn))
    test = stats.permutation_test(
        (apart,), np.mean, permutation_type="samples", n_resamples=2**topics
    )
    made = cal.from_values(values, measure="AP").compare(baseline="b", test="randomization")
    assert made["a", "b", "AP"].p == pytest.approx(test.pvalue, rel=1e-9)


RANKS = {"a": [2, 1, 3, 5, 2, 9, 4, 1, 2, 3], "b": [3, 1, 4, 5, 3, 8, 0, 2, 2, 4]}


def of_runs(measure: str, interval: str, **others: Any) -> Any:
    """One relevant document at a rank, of two; as many are retrieved as the rank, and three."""
    qrels = {f"q{t}": {"right": 1, "other": 1} for t in range(10)}
    runs = {
        name: {
            f"q{t}": {
                "right" if d + 1 == rank else f"d{d}": 99.0 - d for d in range(rank + 3 + t % 3)
            }
            for t, rank in enumerate(ranks)
        }
        for name, ranks in RANKS.items()
    }
    made = cal.retrieval(qrels, runs, measures=[measure], interval=interval, n_resamples=DRAWS)
    return made.compare(baseline="b", **others)["a", "b", measure]


def test_sums() -> None:
    """Of topics: their number times the mean."""
    hits = {"a": [2, 3, 1, 4, 0, 2, 5, 3], "b": [1, 3, 2, 2, 0, 1, 2, 3]}
    qrels = {f"q{t}": {f"d{d}": 1 for d in range(6)} for t in range(8)}
    runs = {
        name: {
            f"q{t}": {"x": 9.0, **{f"d{d}": 8.0 - d for d in range(k)}} for t, k in enumerate(of)
        }
        for name, of in hits.items()
    }
    apart = np.subtract(hits["a"], hits["b"])
    se, t = apart.std(ddof=1) * np.sqrt(8), stats.t.ppf(0.975, 7)
    for interval in ("t", "percentile"):
        made = cal.retrieval(
            qrels, runs, measures=["NumRelRet"], interval=interval, n_resamples=DRAWS
        )
        found = made.compare(baseline="b")["a", "b", "NumRelRet"]
        assert found.value == apart.sum()
        if interval == "percentile":
            assert limits(found) == near(*middle(drawn_means(8) @ apart))
        # A test that is named brings its interval along.
        found = made.compare(baseline="b", test="t")["a", "b", "NumRelRet"]
        assert limits(found) == near(apart.sum() - t * se, apart.sum() + t * se)
        assert found.standard_error == pytest.approx(se, rel=1e-9)
        assert found.p == pytest.approx(stats.ttest_1samp(apart, 0).pvalue, rel=1e-9)
        found = made.compare(baseline="b", test="t", margin=3.0)["a", "b", "NumRelRet"]
        p = stats.t.sf((apart.sum() + 3) / se, 7)
        assert found.p_noninferiority == pytest.approx(p, rel=1e-9)


@pytest.mark.parametrize(("up", "down", "n"), [(4, 1, 12), (0, 3, 9)])
def test_shares_of_topics(up: int, down: int, n: int) -> None:
    """As of rows; where only few differ, at least as what signs allow."""
    a = np.r_[np.ones(up), np.zeros(down), np.ones(n - up - down)]
    b = np.r_[np.zeros(up), np.ones(down), np.ones(n - up - down)]
    made = cal.from_values({"a": a, "b": b}, measure="Success@1", n_resamples=DRAWS)
    found, se = made.compare(baseline="b")["a", "b", "Success@1"], (a - b).std(ddof=1) / np.sqrt(n)
    expected, p = wider(a - b, (a - b).mean(), se, n - 1, up + down, most=1, reach=1)
    assert limits(found) == near(*expected)
    assert found.p == pytest.approx(p, rel=1e-9)
    assert found.p >= 2 * 0.5 ** (up + down)


@pytest.mark.parametrize("lower", [False, True])
def test_wins_and_losses(lower: bool) -> None:
    values = {"a": [0.5, 0.2, 0.2, 0.9, 0.4, 0.3, 0.8], "b": [0.4, 0.2, 0.1, 0.7, 0.4, 0.5, 0.1]}
    made = cal.from_values(values, measure="likes", lower_is_better=["likes"] * lower)
    found = made.compare(baseline="b")["a", "b", "likes"]
    wins, losses = (1, 4) if lower else (4, 1)
    assert (found.wins, found.ties, found.losses) == (wins, 2, losses)


def test_one_topic_says_nothing_of_a_difference() -> None:
    made = cal.from_values({"a": [0.5], "b": [0.2]}, measure="likes", interval="studentized")
    assert made.compare(baseline="b")["a", "b", "likes"].interval_reason == "too_few_units"


def test_the_error_of_a_sum_of_which_most_tie() -> None:
    """The spread of the Bayesian bootstrap, where that is larger: half a topic at either end."""
    apart = np.array([0, 0, 0, 0, 0, 0, 1, 0], float)
    qrels = {f"q{t}": {"x": 1} for t in range(8)}
    runs = {
        n: {f"q{t}": {"x" if n == "a" and t == 6 else "y": 1.0} for t in range(8)} for n in "ab"
    }
    made = cal.retrieval(qrels, runs, measures=["NumRelRet"], n_resamples=DRAWS)
    found = made.compare(baseline="b")["a", "b", "NumRelRet"]
    # 7/8 from the mean is the farthest, of one that differs: three times as far from 1/8.
    at, shape = (
        np.append(apart, [1 / 8 - 21 / 8, 1 / 8 + 21 / 8]),
        np.append(np.ones(8), [0.5, 0.5]),
    )
    mean = shape @ at / 9
    spread = np.sqrt(shape @ (at - mean) ** 2 / 9 / 10)
    assert found.standard_error == pytest.approx(8 * spread, rel=1e-9)


def test_the_error_of_weighted_topics_of_which_most_tie() -> None:
    """The same with weights: p is Dirichlet(1, …, 1, ½, ½), and Σpwx/Σpw varies as its linear part
    does, Var(Σpa) = (Σαa²/Σα - (Σαa/Σα)²)/(Σα + 1)."""
    apart = np.array([0, 0, 0, 0, 0, 0, 0.4, 0])
    weight = np.array([1, 2, 0.5, 3, 1, 1.5, 2, 1])
    made = cal.from_values(
        {"a": 0.3 + apart, "b": np.full(8, 0.3)}, measure="AP", weight=weight, n_resamples=DRAWS
    )
    found = made.compare(baseline="b")["a", "b", "AP"]
    shape = np.append(np.ones(8), [0.5, 0.5])
    # An end is as far as differences go, and weighs as a topic does of Kish's number of them.
    w = np.append(weight, np.repeat((weight @ weight) / weight.sum(), 2))
    middle_ = np.average(apart, weights=weight)
    at = np.append(apart, [max(-1, middle_ - 1), min(1, middle_ + 1)])
    chance = shape / 9
    mean = chance @ (w * at) / (chance @ w)
    linear = w * (at - mean) / (chance @ w)
    spread = np.sqrt((chance @ linear**2 - (chance @ linear) ** 2) / 10)
    assert found.standard_error == pytest.approx(spread, rel=1e-9)


def test_geometric_means() -> None:
    """exp of means of logarithms: by the derivative of exp."""
    logs = {n: np.log([0.5 / r if r else 1e-5 for r in of]) for n, of in RANKS.items()}
    a, b = logs["a"], logs["b"]
    value = np.exp(a.mean()) - np.exp(b.mean())
    moved = np.exp(a.mean()) * (a - a.mean()) - np.exp(b.mean()) * (b - b.mean())
    se = moved.std(ddof=1) / np.sqrt(10)
    found = of_runs("gm-AP", "analytic")
    assert found.value == pytest.approx(value, rel=1e-9)
    assert limits(found) == near(*by_error(value, se, 9)[0])
    # By default of what the topics move it, the wider of that and the bootstrap about the value.
    expected = wider(value + moved, value, se, 9, np.count_nonzero(moved + value), most=1)[0]
    assert limits(of_runs("gm-AP", "auto")) == near(*expected)
    times = drawn_means(10)
    drawn = np.exp(times @ a / 10) - np.exp(times @ b / 10)
    assert limits(of_runs("gm-AP", "percentile")) == near(*middle(drawn))
    # A test by name is of the difference itself, not of logarithms.
    assert of_runs("gm-AP", "auto", test="t").p == pytest.approx(
        by_error(value, se, 9)[1], rel=1e-9
    )


def test_topics_pooled() -> None:
    """Of ratios of sums: by the linear part of either."""
    retrieved = {n: np.array([r + 3 + t % 3 for t, r in enumerate(of)]) for n, of in RANKS.items()}
    hits = {n: np.array([r > 0 for r in of]) * 1.0 for n, of in RANKS.items()}
    of_both = {n: hits[n].sum() / retrieved[n].sum() for n in "ab"}
    parts = [(hits[n] - of_both[n] * retrieved[n]) / retrieved[n].mean() for n in "ab"]
    moved, value = parts[0] - parts[1], of_both["a"] - of_both["b"]
    se = moved.std(ddof=1) / np.sqrt(10)
    found = of_runs("micro-SetP", "analytic")
    assert found.value == pytest.approx(value, rel=1e-9)
    assert limits(found) == near(*by_error(value, se, 9)[0])
    expected = wider(value + moved, value, se, 9, 10, most=1)[0]
    assert limits(of_runs("micro-SetP", "auto")) == near(*expected)
    times = drawn_means(10)
    first, second = (times @ hits[n] / (times @ retrieved[n]) for n in "ab")
    assert limits(of_runs("micro-SetP", "percentile")) == near(*middle(first - second))
