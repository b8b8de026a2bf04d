"""The algebra of readings, of every kind of reading: each law against what it means, by moving the
weight of a row, leaving rows out, formulas of textbooks, and SciPy."""

from __future__ import annotations

import functools
import inspect
import zlib
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from kinds_of_readings import (
    FEW,
    KINDS,
    NAMES,
    Build,
    Data,
    classes,
    data,
    designs,
    label_sets,
    numbers,
    two_classes,
)
from scipy import stats

from calipers.estimation.topics import TopicRows, estimate_over_topics
from calipers.evaluation.slice_definitions import SliceDefinition
from calipers.evaluation.slices import Subsets
from calipers.inference import two_samples
from calipers.inference.point_estimate import PointEstimate, apply_function, weighted_sum
from calipers.inference.variance_estimators import StandardError
from calipers.measures import Measure, parse
from calipers.statistics import FloatArray

builds = pytest.mark.parametrize(
    "build", dict.fromkeys(build for build, _ in KINDS), ids=lambda build: build.__name__
)


def measures_of(build: Build) -> list[Measure]:
    """Those of a kind of system. A law loops over them: what all read is built once."""
    return [measure for of, measure in KINDS if of is build]


def seeds(number: int) -> Callable[[Any], Any]:
    """So many seeds, the same in every run; of two that fail the smaller one is no simpler, so that
    Hypothesis has nothing to do here."""

    def of_law(law: Callable[..., None]) -> Callable[..., None]:
        signature = inspect.signature(law)

        @functools.wraps(law)
        def test(**given: Any) -> None:
            names = [getattr(value, "__name__", str(value)) for value in given.values()]
            own = zlib.crc32(" ".join([law.__name__, *names]).encode())
            for seed in np.random.default_rng(own).integers(0, 10**6, number).tolist():
                try:
                    law(**given, seed=seed)
                except AssertionError as error:
                    raise AssertionError(f"seed {seed}: {error}") from error

        own = [one for name, one in signature.parameters.items() if name != "seed"]
        test.__signature__ = signature.replace(parameters=own)  # type: ignore[attr-defined]
        return test

    return of_law


def reading(build: Build, d: Data, measure: Measure, system: int = 0) -> PointEstimate:
    found: PointEstimate = build(d, system).point_estimate(measure)
    return found


def moved(of: PointEstimate) -> FloatArray:
    assert of.influence is not None
    found = of.influence()
    assert found is not None
    return found.influence_values


def se(of: PointEstimate) -> float:
    assert isinstance(of.standard_error, StandardError)
    return of.standard_error.se


def by_influence(of: PointEstimate) -> float:
    """The norm, also where the standard error comes in another way."""
    return se(replace(of, compute_error=None))


# ------------------------------------------------------------------------ what influence means


STEP = 1e-4


def moved_weights(d: Data) -> list[tuple[Data, Data]]:
    """Of each row, the data with its weight up and down a little."""
    weight = np.ones(len(d.code)) if d.weight is None else d.weight
    return [
        (
            replace(d, weight=weight + STEP * one, cluster=None),
            replace(d, weight=weight - STEP * one, cluster=None),
        )
        for one in np.eye(len(weight))
    ]


@pytest.mark.parametrize("design", ["plain", "both"])
@builds
@seeds(1)
def test_influence_is_the_slope_by_the_weight_of_a_row(
    build: Build, design: str, seed: int
) -> None:
    """By how much each row moves a value, by brute force; of one system, and of the difference of
    two by the algebra; to the step's square."""
    d = data(design, 18, seed)
    weight = np.ones(18) if d.weight is None else d.weight
    systems = [build(d, s) for s in (0, 1)]
    ends = [[[build(end, s) for end in pair] for pair in moved_weights(d)] for s in (0, 1)]
    for measure in measures_of(build):
        if measure.average is not None and measure.definition.family == "scores":
            continue  # the corrections of each class are multiplied in; see that a macro average is one
        if measure.definition.family in ("fit", "quantile-ratios"):
            continue  # by leaving rows out, which is not quite the slope; see the test by hand
        first, second = (system.point_estimate(measure) for system in systems)
        of_first, of_second = (
            weight
            / (2 * STEP)
            * [
                up.point_estimate(measure).value - down.point_estimate(measure).value
                for up, down in of
            ]
            for of in ends
        )
        tolerance, says = 1e-6 * (1 + np.abs(of_first).max()), str(measure)
        assert moved(first) == pytest.approx(of_first, abs=tolerance), says
        apart = first - second
        assert apart.value == pytest.approx(first.value - second.value, abs=1e-14), says
        if apart.influence is not None:
            assert moved(apart) == pytest.approx(of_first - of_second, abs=2 * tolerance), says


@builds
@seeds(2)
def test_rows_without_weight_are_no_rows(build: Build, seed: int) -> None:
    """A part of the data that keeps its place is the part by itself; influence is 0 elsewhere, so
    that of disjoint parts it is orthogonal."""
    d = data("weighted", 40, seed)
    assert d.weight is not None
    inside = np.arange(40) < 24
    of_whole, of_part = build(replace(d, weight=d.weight * inside), 0), build(d.taken(inside), 0)
    for measure in measures_of(build):
        whole, part, says = (
            of_whole.point_estimate(measure),
            of_part.point_estimate(measure),
            str(measure),
        )
        assert whole.value == pytest.approx(part.value, abs=1e-12), says
        assert not moved(whole)[~inside].any(), says
        assert moved(whole)[inside] == pytest.approx(moved(part), abs=1e-10), says
        assert by_influence(whole) == pytest.approx(by_influence(part), rel=1e-8), says


# ------------------------------------------------------------------------------- the algebra


@pytest.mark.parametrize("design", ["plain", "weighted", "clustered"])
@builds
@seeds(1)
def test_what_is_taken_away_and_added_is_as_it_was(build: Build, design: str, seed: int) -> None:
    """And the standard error of a difference, from cells, tables, units or influence, is the norm
    of both influences subtracted row by row."""
    d = data(design, 40, seed)
    systems = [build(d, s) for s in (0, 1)]
    for measure in measures_of(build):
        a, b = (system.point_estimate(measure) for system in systems)
        again = weighted_sum([(1.0, a - b), (1.0, b)])
        assert again.value == pytest.approx(a.value, abs=1e-14), measure
        assert again.influence is not None, measure
        if (a - b).influence is not None:
            scale = np.abs(moved(a)).max()
            assert moved(again) == pytest.approx(moved(a), abs=1e-13 * scale + 1e-15), measure
            if d.cluster is None:  # whose error asks too of what a number is a ratio
                assert by_influence(again) == pytest.approx(by_influence(a), rel=1e-10), measure
        for of in (a, a - b):
            if of.is_unit_mean:
                assert of.units.mean * of.factor == pytest.approx(of.value, abs=1e-14), measure
                assert of.units.standard_error.se * of.factor == pytest.approx(se(of), rel=1e-12), (
                    measure
                )
        if measure.definition.coefficient is None:  # which has the Fisher information
            assert se(a) == pytest.approx(by_influence(a), rel=1e-9), measure
        if d.cluster is None:  # the corrections multiplied in, so that rows of all kinds add up
            assert a.influence().corrected.standard_error.se == pytest.approx(
                by_influence(a), rel=1e-12
            ), measure
        if (a - b).standard_error is not None:
            assert se(a - b) == pytest.approx(
                by_influence(apply_function(np.subtract, [a, b], [1, -1]))
            ), measure
            assert se(a - b) == pytest.approx(se(b - a)), measure
            assert se(a - a) == pytest.approx(0, abs=1e-12), measure


@pytest.mark.parametrize("design", ["plain", "both"])
@builds
def test_replicates_are_drawn_together(build: Build, design: str) -> None:
    """Those of a difference spread as its influence says, and not as two systems apart would: 200
    replicates know a spread to 5 percent, and 150 rows make it differ by some more."""
    d = data(design, 150, 7)
    systems = [build(d, s) for s in (0, 1)]
    for measure in measures_of(build):
        a, b = (system.point_estimate(measure) for system in systems)
        assert a.replicates is not None, measure
        replicates = (a - b).replicates
        assert replicates is not None, measure
        spread, norm = (
            float(np.std(replicates())),
            by_influence(apply_function(np.subtract, [a, b], [1, -1])),
        )
        assert 0.75 < spread / norm < 1.35, measure
        mine = float(np.std(a.replicates()))
        assert 0.75 < mine / by_influence(a) < 1.35, measure


# ------------------------------------------------------------------------------- disjoint parts


def correlation(a: FloatArray, b: FloatArray) -> float:
    fine = np.isfinite(a) & np.isfinite(b)
    return float(np.corrcoef(a[fine], b[fine])[0, 1])


@pytest.mark.parametrize("design", ["plain", "weighted", "clustered"])
@builds
def test_a_part_and_the_rest_are_drawn_independently(build: Build, design: str) -> None:
    """A correlation of 200 pairs that have none is within ±0.28 but for once in 16,000 times.
    Where rows come in clusters no cluster here has rows in both parts."""
    d = data(design, 90, 3)
    part_of = np.arange(90) // 45 if d.cluster is None else (d.cluster >= 11).astype(np.intp)
    by_hand = [build(d.taken(part_of == place), 0) for place in (0, 1)]
    for measure in measures_of(build):
        parts = Subsets(
            build(d, 0), SliceDefinition("c", ("a", "b"), part_of.astype(np.intp)), (measure,)
        )
        rest = parts.complement(0)
        assert rest is not None
        both = [of.point_estimate(measure) for of in (parts.subset(0), rest)]
        for found, alone in zip(both, by_hand, strict=True):
            assert found.value == pytest.approx(alone.point_estimate(measure).value), measure
        ours, theirs = (found.interval_replicates for found in both)
        assert ours is not None
        assert theirs is not None
        assert abs(correlation(ours, theirs)) < 4 / np.sqrt(FEW.n_resamples), measure


def test_a_part_drawn_by_the_numbers_of_another_is_not_independent_of_it() -> None:
    """What the law above is there to notice: the same rows under two names."""
    d = data("plain", 90, 3)
    system, measure = numbers(d, 0), parse("MSE")
    ours, theirs = (
        system.take_rows(np.arange(90) < 45).point_estimate(measure).replicates for _ in range(2)
    )
    assert correlation(ours(), theirs()) > 0.9


# ------------------------------------------------------------------------------- functions


@designs
@pytest.mark.parametrize(
    ("build", "name", "family", "parts"),
    [
        (classes, "macro-F1", "counts", "F1"),
        (classes, "macro-AUC", "scores", "AUC"),
        (classes, "macro-AP", "scores", "AP"),
        (label_sets, "macro-F1", "counts", "F1"),
        (label_sets, "macro-AUC", "scores", "AUC"),
    ],
)
@seeds(5)
def test_a_macro_average_is_the_average(
    build: Build, name: str, family: str, parts: str, design: str, seed: int
) -> None:
    d = data(design, 40, seed)
    average = reading(build, d, parse(name, family))
    each = [reading(build, d, parse(f"{parts}[{label}]", family)) for label in NAMES]
    assert average.value == pytest.approx(np.mean([of.value for of in each]), abs=1e-13)
    mean = np.mean([of.influence().corrected.column for of in each], axis=0)
    found = average.influence()
    assert found.corrected.column == pytest.approx(mean, abs=1e-8)
    if d.cluster is None:  # whose error asks too of what a number is a ratio
        assert by_influence(average) == pytest.approx(by_influence(weighted_sum([(1 / 3, of) for of in each])), rel=1e-6)  # fmt: skip


@designs
@seeds(10)
def test_rmse_is_the_root_of_mse(design: str, seed: int) -> None:
    d = data(design, 40, seed)
    square, root = (reading(numbers, d, parse(name)) for name in ("MSE", "RMSE"))
    made = apply_function(np.sqrt, [square], [0.5 / np.sqrt(square.value)])
    assert made.value == root.value
    assert made.value == pytest.approx(
        np.sqrt(np.average((d.said[0, :, 0] - d.number) ** 2, weights=d.weight)), rel=1e-14
    )
    assert se(made) == pytest.approx(se(root), rel=1e-14)
    assert se(made) == pytest.approx(se(square) / (2 * root.value), rel=1e-14)
    assert moved(made) == pytest.approx(moved(root), abs=1e-16)
    assert made.replicates() == pytest.approx(root.replicates(), rel=1e-14)


@designs
@seeds(5)
def test_gini_is_twice_the_auc_less_one(design: str, seed: int) -> None:
    d = data(design, 40, seed)
    auc, gini = (reading(two_classes, d, parse(name, "scores")) for name in ("AUC", "Gini"))
    made = apply_function(lambda a: 2 * a - 1, [auc], [2.0])
    assert made.value == pytest.approx(gini.value, abs=1e-14)
    assert by_influence(made) == pytest.approx(by_influence(gini), rel=1e-12)
    assert se(gini) == pytest.approx(2 * se(auc), rel=1e-12)


@pytest.mark.parametrize("loss", ["log-loss", "Brier"])
@designs
@seeds(5)
def test_a_skill_is_the_share_of_the_constant_loss_that_is_saved(
    loss: str, design: str, seed: int
) -> None:
    d = data(design, 40, seed)
    constant = np.tile(np.bincount(d.code, d.weight, 3).astype(float), (40, 1))
    constant /= constant.sum(axis=1, keepdims=True)
    usual = replace(d, said=np.stack([d.said[0], constant]))
    own, least = (reading(classes, usual, parse(loss, "probabilities"), s) for s in (0, 1))
    skill = reading(classes, d, parse(f"{loss}-skill", "calibration"))
    assert skill.value == pytest.approx(1 - own.value / least.value, abs=1e-12)
    by_hand = -moved(own) / least.value + moved(least) * own.value / least.value**2
    assert moved(skill) == pytest.approx(by_hand, abs=1e-12)


# ------------------------------------------------------------------ leaving out, and textbooks


def jackknifed(values: FloatArray) -> FloatArray:
    """By how much each row moves a number, from its values without each of them: of a mean this is
    (x − mean)/n·√(n/(n − 1)), whose norm is the standard error."""
    n = len(values)
    return (values.mean() - values) * np.sqrt((n - 1) / n)


@pytest.mark.slow
@pytest.mark.parametrize("clustered", [False, True])
@builds
def test_inner_products_are_those_of_the_jackknife(build: Build, clustered: bool) -> None:
    """Exactly so of means. A function f of k means has left-out values f(m) + f′·d + ½f″·d², d of
    the order 1/m of m units: what f″ adds to an inner product is of the order 1/m of it. Here m are
    the 30 rows of a class, and 12/m is allowed to areas that interpolate, which have more kinks than
    slope, 8/m to all else."""
    d = data("plain", 90, 11)
    if clustered:
        d = replace(d, cluster=(np.arange(90) // 2).astype(np.uint32))
    unit = np.arange(90) if d.cluster is None else d.cluster
    n = int(unit.max()) + 1
    systems = [build(d, s) for s in (0, 1)]
    without = [[build(left, s) for left in (d.taken(unit != k) for k in range(n))] for s in (0, 1)]
    for measure in measures_of(build):
        pair = [system.point_estimate(measure) for system in systems]
        out = [
            jackknifed(np.array([of.point_estimate(measure).value for of in each]))
            for each in without
        ]
        total = weighted_sum([(1.0, of) for of in pair])
        apart = apply_function(np.subtract, pair, [1.0, -1.0])
        exact = measure.definition.name in ("MSE", "MAE", "log-loss", "Brier", "Hamming-loss")
        kinks = measure.definition.name in ("PR-AUC", "PR-AUC-DG")
        tolerance = 1e-9 if exact else (12 if kinks else 8) / 30
        for ours, theirs in (
            (by_influence(pair[0]), out[0] @ out[0]),
            (by_influence(pair[1]), out[1] @ out[1]),
            (by_influence(apart), (out[0] - out[1]) @ (out[0] - out[1])),
            (by_influence(total), (out[0] + out[1]) @ (out[0] + out[1])),
        ):
            assert ours**2 == pytest.approx(theirs, rel=tolerance), measure


def placements(d: Data, system: int) -> tuple[FloatArray, FloatArray]:
    """DeLong's components, pair by pair."""
    p, positive = d.said[system, :, 1], d.code == 1
    wins = np.sign(p[positive][:, None] - p[~positive][None, :]) / 2 + 0.5
    return wins.mean(axis=1), wins.mean(axis=0)


@seeds(10)
def test_an_auc_has_delongs_error(seed: int) -> None:
    """S₁/m + S₀/n with the usual variances, alone and of a difference (DeLong and others 1988)."""
    d = data("plain", 40, seed)
    a, b = (reading(two_classes, d, parse("AUC", "scores"), system) for system in (0, 1))
    (a1, a0), (b1, b0) = (placements(d, system) for system in (0, 1))

    def delong(*of_class: FloatArray) -> float:
        return float(np.sqrt(sum(x.var(ddof=1) / len(x) for x in of_class)))

    for found in (se(a), by_influence(a)):
        assert found == pytest.approx(delong(a1, a0), rel=1e-12)
    assert se(a - b) == pytest.approx(delong(a1 - b1, a0 - b0), rel=1e-12)


@seeds(10)
def test_a_clustered_auc_has_obuchowskis_error(seed: int) -> None:
    """Sums of placements by cluster, as Obuchowski (1997) has them, with the correction of CR2."""
    d = data("clustered", 40, seed)
    one, zero = placements(d, 0)
    area, positive = one.mean(), d.code == 1
    clusters = [d.cluster == c for c in np.unique(d.cluster)]
    x = np.array([(one[c[positive]] - area).sum() for c in clusters]) / len(one)
    y = np.array([(zero[c[~positive]] - area).sum() for c in clusters]) / len(zero)
    g, h = (np.array([(c & of).sum() for c in clusters]) / of.sum() for of in (positive, ~positive))
    # Each class has shares of its own, and counts by the variance that it has alone.
    a, b = (x**2 / (1 - g)).sum(), (y**2 / (1 - h)).sum()
    more = (a * g + b * h) / (a * g * (1 - g) + b * h * (1 - h))
    found = reading(two_classes, d, parse("AUC", "scores"))
    assert se(found) == pytest.approx(np.sqrt((more * (x + y) ** 2).sum()), rel=1e-12)


@seeds(10)
def test_counts_have_the_delta_method(seed: int) -> None:
    """Shares √(p(1 − p)/n), and F1 = 2TP/(2TP + FP + FN) by its derivatives and the covariances of
    multinomial counts."""
    d = data("plain", 40, seed)
    positive, said = d.code == 1, d.said[0, :, 1] > 0.4
    counts = np.array([(positive & said).sum(), (~positive & said).sum(), (positive & ~said).sum()])
    tp, fp, fn = counts
    accuracy, precision, f1 = (
        reading(two_classes, d, parse(name, "counts")) for name in ("accuracy", "precision", "F1")
    )
    for of, n in ((accuracy, 40), (precision, tp + fp)):
        assert se(of) == pytest.approx(np.sqrt(of.value * (1 - of.value) / n), rel=1e-6)
    slope = np.array([2 * (fp + fn), -2 * tp, -2 * tp]) / (2 * tp + fp + fn) ** 2
    covariance = np.diag(counts) - np.outer(counts, counts) / 40
    for error in (se(f1), by_influence(f1)):
        assert error == pytest.approx(np.sqrt(slope @ covariance @ slope), rel=1e-6)


@seeds(10)
def test_means_have_the_errors_of_scipy(seed: int) -> None:
    """Of rows, of pairs of them, of weights (Kish's n in n/(n − 1)), and of clusters of equal size,
    which are as good as their means."""
    d, mse = data("plain", 40, seed), parse("MSE")
    x, y = (np.square(d.said[s, :, 0] - d.number) for s in (0, 1))
    a, b = (reading(numbers, d, mse, s) for s in (0, 1))
    assert se(a) == pytest.approx(stats.sem(x), rel=1e-12)
    paired = stats.ttest_rel(x, y)
    assert (a - b).value / se(a - b) == pytest.approx(paired.statistic, rel=1e-9)
    assert (a - b).units.standard_error.df == paired.df

    w = np.random.default_rng(seed).uniform(0.2, 3, 40)
    m, n = np.average(x, weights=w), w.sum() ** 2 / (w**2).sum()
    usual = np.sqrt((w**2 * (x - m) ** 2).sum() * n / (n - 1)) / w.sum()
    assert se(reading(numbers, replace(d, weight=w), mse)) == pytest.approx(usual, rel=1e-12)

    of_five = reading(numbers, replace(d, cluster=(np.arange(40) // 5).astype(np.uint32)), mse)
    assert se(of_five) == pytest.approx(stats.sem(x.reshape(8, 5).mean(axis=1)), rel=1e-12)
    assert of_five.standard_error.df == 7


@seeds(10)
def test_means_of_two_parts_have_welchs_test(seed: int) -> None:
    d, mse = data("plain", 40, seed), parse("MSE")
    x, inside = np.square(d.said[0, :, 0] - d.number), np.arange(40) < 15
    first, second = (reading(numbers, d.taken(rows), mse) for rows in (inside, ~inside))
    usual = stats.ttest_ind(x[inside], x[~inside], equal_var=False)
    made, test = two_samples.compare_samples(first, second, lambda: pytest.fail("not needed"))
    assert test.p == pytest.approx(usual.pvalue, rel=1e-9)
    limits = usual.confidence_interval(0.95)
    assert (made.low, made.high) == pytest.approx((limits.low, limits.high), rel=1e-9)


@pytest.mark.parametrize("design", ["plain", "weighted", "clustered"])
@seeds(5)
def test_a_recalibration_has_walds_error(design: str, seed: int) -> None:
    """The slope of a logistic regression on the logit, fitted here; its error from the Fisher
    information, or the sandwich, of clusters with C/(C − 1)."""
    d = data(design, 60, seed)
    p, y = d.said[0, :, 1], (d.code == 1).astype(float)
    w = np.ones(60) if d.weight is None else d.weight
    x, b = np.column_stack([np.ones(60), np.log(p / (1 - p))]), np.zeros(2)
    for _ in range(30):
        q = 1 / (1 + np.exp(-x @ b))
        inverse = np.linalg.inv((x * (w * q * (1 - q))[:, None]).T @ x)
        b = b + inverse @ (x.T @ (w * (y - q)))
    moves = (x * (w * (y - q))[:, None]) @ inverse
    error = np.sqrt(np.diag(inverse))
    if d.weight is not None:
        error = np.sqrt((moves**2).sum(axis=0))
    if d.cluster is not None:
        sums = np.array([moves[d.cluster == c].sum(axis=0) for c in np.unique(d.cluster)])
        h = np.array([w[d.cluster == c].sum() for c in np.unique(d.cluster)]) / w.sum()
        error = np.sqrt((sums**2 / (1 - h)[:, None]).sum(axis=0))
    for place, name in enumerate(("calibration-intercept", "calibration-slope")):
        measure = parse(name, "calibration")
        if name == "calibration-intercept":  # of the line with slope 1, unless said otherwise
            continue
        found = reading(two_classes, d, measure)
        assert found.value == pytest.approx(b[place], rel=1e-8)
        assert se(found) == pytest.approx(error[place], rel=1e-7)
        assert moved(found) == pytest.approx(moves[:, place], abs=1e-8)


# ------------------------------------------------------------------------------- topics


def topics(values: FloatArray, measure: Measure, weight: FloatArray | None = None) -> PointEstimate:
    return estimate_over_topics([TopicRows(measure, values, weight, FEW)])[0]


@pytest.mark.parametrize("name", ["nDCG@10", "gm-AP", "NumRelRet", "micro-SetP"])
@seeds(10)
def test_topics_have_the_error_of_their_values(name: str, seed: int) -> None:
    """Of 25 topics, one of which has no value and keeps its place. Means and sums exactly; the
    exponential of mean logarithms, and ratios, by brute force: a topic counts a little more."""
    generator, measure = np.random.default_rng(seed), parse(name, "retrieval")
    values = generator.uniform(0.05, 1, 25)
    values[3] = np.nan
    weight = generator.uniform(1, 9, 25) if name == "micro-SetP" else None
    made, has = topics(values, measure, weight), ~np.isnan(values)

    def summary(times: FloatArray) -> float:
        x, t = values[has], times[has]
        if name == "gm-AP":
            return float(np.exp(np.average(np.log(x), weights=t)))
        if name == "micro-SetP":
            assert weight is not None
            return float(np.average(x, weights=t * weight[has]))
        return float(np.average(x, weights=t)) * (24 if name == "NumRelRet" else 1)

    once = np.ones(25)
    assert made.value == pytest.approx(summary(once), rel=1e-12)
    slope = np.array([(summary(once + h) - summary(once - h)) / 2e-4 for h in 1e-4 * np.eye(25)])
    assert moved(made) == pytest.approx(slope * np.sqrt(24 / 23), abs=1e-6 * made.value)
    assert moved(made)[3] == 0
    assert se(made) == pytest.approx(np.sqrt((slope**2).sum() * 24 / 23), rel=1e-6)
    if name == "nDCG@10":
        assert se(made) == pytest.approx(stats.sem(values[has]), rel=1e-12)


@seeds(10)
def test_a_formula_of_pooled_counts_has_the_error_of_its_topics(seed: int) -> None:
    """By brute force, a topic counting a little more; bootstrap-t from topics drawn one by one."""
    generator, measure = (
        np.random.default_rng(seed),
        parse("micro-SetMCC(collection_size=500)", "retrieval"),
    )
    tp, fp, fn = (generator.poisson(4 * generator.gamma(1, size=25)) for _ in range(3))
    tp[0] = fp[0] = 0
    cells = np.stack([tp, fp, fn, 500 - tp - fp - fn], axis=1).astype(float)
    cells[7] = np.nan
    values = np.where(np.arange(25) < 5, np.nan, 0.5)  # what topics have themselves is no matter
    made, has = topics(values, measure, cells), np.arange(25) != 7

    def correlation(times: FloatArray) -> float:
        a, b, c, d = (times[has, None] * cells[has]).sum(axis=0)
        return float((a * d - b * c) / np.sqrt((a + b) * (a + c) * (d + b) * (d + c)))

    once = np.ones(25)
    assert made.value == pytest.approx(correlation(once), rel=1e-12)
    slope = np.array(
        [(correlation(once + h) - correlation(once - h)) / 2e-4 for h in 1e-4 * np.eye(25)]
    )
    assert moved(made) == pytest.approx(slope * np.sqrt(24 / 23), abs=1e-7)
    assert se(made) == pytest.approx(np.sqrt((slope**2).sum() * 24 / 23), rel=1e-5)
    assert made.n == 24
    for method in ("studentized", "t"):
        found = made.methods[method](0.95)
        assert found.se == pytest.approx(se(made), rel=1e-5)
        assert found.low < made.value < found.high


@seeds(10)
def test_topics_are_subtracted_on_those_that_both_have(seed: int) -> None:
    generator, measure = np.random.default_rng(seed), parse("nDCG@10", "retrieval")
    x, y = generator.uniform(0, 1, (2, 30))
    y[:4], x[2:6] = np.nan, np.nan
    a, b = (topics(values, measure) for values in (x, y))
    apart = a - b
    usual = stats.ttest_rel(x[6:], y[6:])
    assert apart.value == pytest.approx((x - y)[6:].mean(), abs=1e-14)
    assert apart.value / se(apart) == pytest.approx(usual.statistic, rel=1e-9)
    # Where both have all, the algebra of their influence says the same.
    a, b = (topics(values[6:], measure) for values in (x, y))
    algebra = apply_function(np.subtract, [a, b], [1.0, -1.0])
    assert (a - b).value == pytest.approx(algebra.value, abs=1e-14)
    assert se(a - b) == pytest.approx(se(algebra), rel=1e-12)
    again = weighted_sum([(1.0, algebra), (1.0, b)])
    assert again.value == pytest.approx(a.value, abs=1e-14)
    assert moved(again) == pytest.approx(moved(a), abs=1e-15)
    assert (a - b).replicates() == pytest.approx(a.replicates() - b.replicates(), abs=1e-13)
