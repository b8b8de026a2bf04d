"""Curves of scores: against scikit-learn, loops over thresholds, and what thinning may cost."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from sklearn import metrics

import calipers as cal
from calipers.curves.downsampling import TOLERANCE, downsample_curve
from calipers.curves.score_curves import SCORE_SOURCES, ScoreCurves
from calipers.curves.thresholds import DEFAULT_MEASURES
from calipers.report.charts import figures
from calipers.report.figures.curves import curve_charts
from calipers.results import Curve, Evaluation

Data = tuple[np.ndarray, np.ndarray, np.ndarray]


def rows(seed: int = 0, n: int = 300, digits: int = 2) -> Data:
    """Truth, probabilities with ties, weights."""
    generator = np.random.default_rng(seed)
    truth = generator.random(n) < 0.3
    margin = 1.5 * truth - 1 + generator.normal(size=n)
    return truth, np.round(1 / (1 + np.exp(-margin)), digits), generator.integers(0, 4, n) / 2


def evaluation(
    truth: np.ndarray, probability: Any, weight: np.ndarray | None = None, **options: Any
) -> Evaluation:
    options = {"measures": ["AUC"], "interval": "none", **options}
    return cal.classification(truth, probability=probability, weight=weight, **options)


#: The kinds of curves of scores.
OF_SCORE_CHARTS = [chart.name for chart in curve_charts(SCORE_SOURCES)]

WEIGHTED = pytest.mark.parametrize("weighted", [False, True])


def at_each_score(data: Data, weighted: bool) -> list[tuple[float, float, float, float, float]]:
    """Threshold and TP, FP, FN, TN by a loop, descending."""
    truth, score, weight = data
    if not weighted:
        weight = np.ones(len(truth))
    out = []
    for t in sorted(set(score[weight > 0]), reverse=True):
        called = score >= t
        cells = [weight[a & b].sum() for b in (called, ~called) for a in (truth, ~truth)]
        out.append((float(t), *map(float, cells)))
    return out


# --- Against scikit-learn -------------------------------------------------------------------------


@WEIGHTED
def test_roc_pr_and_det_are_those_of_scikit_learn(weighted: bool) -> None:
    truth, score, weight = rows()
    weights = weight + 0.5 if weighted else None  # scikit-learn leaves out rows of weight 0
    ev = evaluation(truth, score, weights)
    roc = cal.curve(ev, "ROC")
    fpr, tpr, at = metrics.roc_curve(truth, score, sample_weight=weights, drop_intermediate=False)
    np.testing.assert_allclose((roc.x, roc.y), (fpr, tpr), atol=1e-12)
    np.testing.assert_array_equal(roc.threshold, at)
    pr = cal.curve(ev, "PR")
    precision, recall, at = metrics.precision_recall_curve(truth, score, sample_weight=weights)
    # Ours falls in the threshold, and leaves out their last point, where nothing is predicted.
    np.testing.assert_allclose((pr.x, pr.y), (recall[-2::-1], precision[-2::-1]), atol=1e-12)
    np.testing.assert_array_equal(pr.threshold, at[::-1])
    det = cal.curve(ev, "DET")
    ours = {t: (x, y) for t, x, y in zip(det.threshold, det.x, det.y, strict=True)}
    fpr, fnr, at = metrics.det_curve(truth, score, sample_weight=weights)
    found = [t for t in at if t in ours]
    assert len(found) >= len(at) - 1
    for t, x, y in zip(at, fpr, fnr, strict=True):
        if t in ours:
            np.testing.assert_allclose(ours[t], (x, y), atol=1e-12)


@WEIGHTED
@pytest.mark.parametrize(
    ("name", "theirs"),
    [
        ("accuracy", metrics.accuracy_score),
        ("F1", metrics.f1_score),
        ("precision", metrics.precision_score),
        ("recall", metrics.recall_score),
        ("MCC", metrics.matthews_corrcoef),
        ("kappa", metrics.cohen_kappa_score),
    ],
)
def test_a_measure_against_the_threshold(name: str, theirs: Any, weighted: bool) -> None:
    truth, score, weight = rows(n=120)
    weights = weight if weighted else None
    curve = cal.curve(evaluation(truth, score, weights), "threshold", measure=name)
    assert np.all(np.diff(curve.x) > 0)
    assert curve.y_label == name
    for t, y in zip(curve.x, curve.y, strict=True):
        if np.isfinite(y):
            np.testing.assert_allclose(y, theirs(truth, score >= t, sample_weight=weights))


# --- Against loops --------------------------------------------------------------------------------


@WEIGHTED
def test_lift_and_gain(weighted: bool) -> None:
    data = rows(1)
    ev = evaluation(data[0], data[1], data[2] if weighted else None)
    gain, lift = cal.curve(ev, "gain"), cal.curve(ev, "lift")
    cells = at_each_score(data, weighted)
    n = sum(cells[0][1:])
    positives = cells[0][1] + cells[0][3]
    assert (gain.x[0], gain.y[0]) == (0, 0)
    np.testing.assert_allclose(gain.x[1:], [(tp + fp) / n for _, tp, fp, _, _ in cells])
    np.testing.assert_allclose(gain.y[1:], [tp / positives for _, tp, _, _, _ in cells])
    expected = [
        tp / (tp + fp) / (positives / n) if tp + fp else np.nan for _, tp, fp, _, _ in cells
    ]
    np.testing.assert_allclose(lift.y, expected)
    np.testing.assert_allclose(lift.x, gain.x[1:])
    assert gain.references["perfect order"][1] == pytest.approx((positives / n, 1))


@WEIGHTED
@pytest.mark.parametrize("seed", range(5))
def test_the_cost_curve_is_the_least_over_thresholds(seed: int, weighted: bool) -> None:
    data = rows(seed, n=80)
    curve = cal.curve(evaluation(data[0], data[1], data[2] if weighted else None), "cost")
    cells = [(np.inf, 0.0, 0.0, 1.0, 1.0), *at_each_score(data, weighted)]
    rates = [(fn / (tp + fn), fp / (fp + tn), t) for t, tp, fp, fn, tn in cells]
    for p in np.linspace(0, 1, 201):
        least = min(fnr * p + fpr * (1 - p) for fnr, fpr, _ in rates)
        np.testing.assert_allclose(np.interp(p, curve.x, curve.y), least, atol=1e-12)
    # From each corner to the next its threshold is one of the best.
    for a, b, t in zip(curve.x[:-1], curve.x[1:], curve.threshold[:-1], strict=True):
        middle = (a + b) / 2
        ((fnr, fpr),) = ((fnr, fpr) for fnr, fpr, at in rates if at == t)
        own = fnr * middle + fpr * (1 - middle)
        np.testing.assert_allclose(own, np.interp(middle, curve.x, curve.y), atol=1e-12)


@WEIGHTED
def test_net_benefit(weighted: bool) -> None:
    truth, score, weight = rows(2)
    weights = weight if weighted else np.ones(len(truth))
    ev = evaluation(truth, score, weight if weighted else None, threshold=0.25)
    curve = cal.curve(ev, "net benefit")
    assert {0.0, 0.01, 0.5, 0.99} <= set(curve.x)
    assert set(score[(score > 0) & (score < 1)]) <= set(curve.x)
    for p, y in zip(curve.x, curve.y, strict=True):
        called = score >= p
        expected = weights[called & truth].sum() - weights[called & ~truth].sum() * p / (1 - p)
        np.testing.assert_allclose(y, expected / weights.sum(), atol=1e-12)
    assert curve.operating_point is not None
    np.testing.assert_allclose(curve.operating_point[1], curve.y[curve.x == 0.25][0])
    everybody = np.array(curve.references["act on all"])
    prevalence = weights[truth].sum() / weights.sum()
    odds = everybody[:, 0] / (1 - everybody[:, 0])
    np.testing.assert_allclose(everybody[:, 1], prevalence - (1 - prevalence) * odds, atol=1e-12)
    assert everybody[-1, 1] == pytest.approx(curve.bottom)


@WEIGHTED
@pytest.mark.parametrize("threshold", [0.5, 0.37, 0.02, -1.0, 7.0])
def test_densities_have_the_areas_of_the_rates(threshold: float, weighted: bool) -> None:
    truth, score, weight = rows(3)
    weights = weight if weighted else np.ones(len(truth))
    ev = cal.classification(
        truth,
        score=score,
        threshold=threshold,
        weight=weight if weighted else None,
        measures=["recall"],
        interval="none",
    )
    for positive, names in ((True, ("TP", "FN")), (False, ("FP", "TN"))):
        curve = cal.curve(ev, "density", series=str(positive))
        width = np.diff(curve.x)
        np.testing.assert_allclose(width, width[0])
        area = curve.y[:-1] * width
        assert area.sum() == pytest.approx(1)
        of = truth == positive
        above = weights[of & (score >= threshold)].sum()
        expected = {names[0]: above, names[1]: weights[of].sum() - above}
        assert curve.areas == pytest.approx(expected)
        if score.min() < threshold <= score.max():
            assert threshold in curve.x
        right = area[curve.x[:-1] >= threshold].sum()
        assert right == pytest.approx(above / weights[of].sum())


def test_a_weight_of_two_is_the_row_twice() -> None:
    truth, score, weight = rows(4)
    times = (2 * weight).astype(int)
    weighted = evaluation(truth, score, times.astype(float))
    repeated = evaluation(np.repeat(truth, times), np.repeat(score, times))
    for kind in OF_SCORE_CHARTS:
        if kind in ("density", "calibration by bins", "probabilities"):
            continue  # the number of bars is that of the rows
        a, b = cal.curve(weighted, kind), cal.curve(repeated, kind)
        keep = np.isin(
            a.threshold, b.threshold
        )  # scores of weight 0 only have a point of their own
        np.testing.assert_allclose(np.unique(a.y[keep]), np.unique(b.y), atol=1e-12, err_msg=kind)


def test_the_twenty_rows() -> None:
    """The table of the course: the highest accuracy, 70%, is at the threshold 0.54."""
    classes = "PPNPPPNNPNPNPNNNPNPN"
    score = [0.9, 0.8, 0.7, 0.6, 0.55, 0.54, 0.53, 0.52, 0.51, 0.5,
             0.4, 0.39, 0.38, 0.37, 0.36, 0.35, 0.34, 0.33, 0.3, 0.1]  # fmt: skip
    ev = cal.classification(list(classes), score=score, positive="P", measures=["AUC"])
    accuracy = cal.curve(ev, "threshold", measure="accuracy")
    best = int(np.argmax(accuracy.y))
    assert (accuracy.x[best], accuracy.y[best]) == (0.54, 0.7)
    roc = cal.curve(ev, "ROC")
    place = int(np.flatnonzero(roc.threshold == 0.54)[0])
    assert (roc.x[place], roc.y[place]) == (0.1, 0.5)


# --- Thinning -------------------------------------------------------------------------------------


def distance(points: np.ndarray, line: np.ndarray) -> float:
    """The largest distance of a point to a line of several pieces."""
    start, way = line[:-1], np.diff(line, axis=0)
    length = np.maximum((way**2).sum(axis=1), 1e-300)
    gap = points[:, None, :] - start
    at = np.clip((gap * way).sum(axis=2) / length, 0, 1)
    nearest = start + at[..., None] * way
    return float(np.sqrt(((points[:, None, :] - nearest) ** 2).sum(axis=2)).min(axis=1).max())


def in_the_drawing(whole: Curve, x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Places as shares of the axes that the whole curve is drawn on; NaN where nothing is drawn."""
    if whole.scale == "deviate":
        ends, rates = stats.norm.ppf([0.001, 0.999]), np.column_stack([x, y])
        places = np.where((rates < 0.001) | (rates > 0.999), np.nan, stats.norm.ppf(rates))
        return (places - ends[0]) / (ends[1] - ends[0])
    y = np.where(y < whole.bottom, np.nan, y)
    columns = []
    for values, axis in ((x, whole.x), (y, whole.y[~(whole.y < whole.bottom)])):
        defined = axis[np.isfinite(axis)]
        if not len(defined):
            return np.full((len(x), 2), np.nan)
        low, high = defined.min(), defined.max()
        low, high = (0.0, 1.0) if low >= 0 and high <= 1 else (low, high)
        columns.append((values - low) / (high - low or 1.0))
    return np.column_stack(columns)


def pieces(curve: Curve, whole: Curve) -> list[np.ndarray]:
    """The lines that are drawn, corners included, between the places where there is nothing."""
    x, y = curve.x, curve.y
    if curve.shape == "step":  # y holds from the point before up to x
        x, y = np.repeat(x, 2)[:-1], np.repeat(y, 2)[1:]
    return unbroken(in_the_drawing(whole, x, y))


def unbroken(line: np.ndarray) -> list[np.ndarray]:
    gone = np.isnan(line).any(axis=1)
    cuts = np.flatnonzero(np.diff(gone)) + 1
    return [part for part in np.split(line, cuts) if not np.isnan(part).any() and len(part) > 1]


def densely(line: np.ndarray) -> np.ndarray:
    share = np.linspace(0, 1, 7)[:, None, None]
    return (line[:-1] + share * np.diff(line, axis=0)).reshape(-1, 2)


def apart(whole: list[np.ndarray], drawn: list[np.ndarray]) -> float:
    """How far any place of either is from the other, piece by piece."""
    assert len(whole) == len(drawn)
    gaps = [
        max(distance(exact, thin), distance(densely(thin), exact))
        for exact, thin in zip(whole, drawn, strict=True)
    ]
    return max(gaps, default=0.0)


def promised(whole: Curve, thin: Curve) -> None:
    """What is drawn is as near to the whole curve as it says, and so are the edges of its bands."""
    assert thin.tolerance in (0.0, TOLERANCE)
    assert TOLERANCE == 0.005
    assert apart(pieces(whole, whole), pieces(thin, whole)) <= thin.tolerance + 1e-9
    for name in ("low", "high", "simultaneous_low", "simultaneous_high"):
        edges = []
        for c in (whole, thin):
            edge = getattr(c, name)
            if whole.scale == "deviate":  # beyond the drawing it runs along the border
                edge = np.clip(edge, 0.001, 0.999)
            elif np.isfinite(whole.bottom):
                edge = np.maximum(edge, whole.bottom)
            edges.append(unbroken(in_the_drawing(whole, c.band_x[: len(edge)], edge)))
        assert apart(*edges) <= thin.tolerance + 1e-9


@pytest.mark.slow
@given(
    seed=st.integers(0, 10**6),
    n=st.sampled_from([1, 2, 5, 60, 400, 1500]),
    digits=st.sampled_from([1, 2, 6]),
    kind=st.sampled_from([k for k in OF_SCORE_CHARTS if k != "density"]),
    measure=st.sampled_from(DEFAULT_MEASURES),
)
def test_thinning_keeps_to_its_tolerance(
    seed: int, n: int, digits: int, kind: str, measure: str
) -> None:
    truth, score, _ = rows(seed, n + 1, digits)
    truth[:2] = [True, False]
    ev = evaluation(truth, score, interval="auto", n_resamples=100)
    whole = cal.curve(ev, kind, measure=measure)
    if whole.shape != "bars":
        promised(whole, downsample_curve(whole))


@pytest.mark.slow
@given(
    seed=st.integers(0, 10**6),
    n=st.sampled_from([3, 10, 200, 700]),
    shape=st.sampled_from(["line", "step"]),
    scale=st.sampled_from(["linear", "deviate"]),
    span=st.sampled_from([1.0, 1e-6, 1e6]),
    bottom=st.sampled_from([float("nan"), 0.4]),
    gaps=st.booleans(),
)
def test_any_curve_is_thinned_within_the_tolerance(
    seed: int, n: int, shape: str, scale: str, span: float, bottom: float, gaps: bool
) -> None:
    """Walks, jumps and folds, of any size, with pieces missing."""
    draw = np.random.default_rng(seed)
    kinds = [np.sort(draw.random(n)), np.cumsum(draw.normal(size=n)), draw.random(n).round(1)]
    x, y = kinds[0 if shape == "step" else draw.integers(3)], kinds[draw.integers(3)]
    if scale == "deviate":
        x, y = stats.norm.cdf(4 * x), stats.norm.cdf(y)
        span, bottom = 1.0, float("nan")
    if gaps:
        y = np.where(draw.random(n) < 0.02, np.nan, y)
    grid = np.linspace(0, 1, 101)
    band = np.sort(draw.random((2, 101)) + np.cumsum(draw.normal(0, 0.02, 101)), axis=0)
    if scale == "deviate":
        band = np.clip(band, 0, 1)
    band[:, draw.random(101) < 0.02 * gaps] = np.nan
    whole = Curve(
        "a", "any", "x", "y", x * span, y * span, np.arange(n, dtype=float), grid,
        *(band * span), 0.95, "some", shape=shape, scale=scale, bottom=bottom * span,
    )  # fmt: skip
    promised(whole, downsample_curve(whole))


def test_the_points_of_a_thin_curve_are_points_of_the_whole() -> None:
    truth, score, _ = rows(9, 5000, 6)
    ev = evaluation(truth, score)
    for kind in ("ROC", "PR", "DET", "gain", "lift", "net benefit"):
        whole, thin = cal.curve(ev, kind), cal.curve(ev, kind, thin=True)
        there = set(zip(whole.x, whole.y, whole.threshold, strict=True))
        assert set(zip(thin.x, thin.y, thin.threshold, strict=True)) <= there, kind
        ends = (whole.x[0], whole.y[0]), (whole.x[-1], whole.y[-1])
        assert ((thin.x[0], thin.y[0]), (thin.x[-1], thin.y[-1])) == ends


def test_thin_curves_stay_small() -> None:
    truth, score, _ = rows(5, 200_000, 9)
    ev = evaluation(truth, score)
    for kind in ("ROC", "DET", "gain", "threshold", "net benefit", "cost"):
        thin = cal.curve(ev, kind, thin=True)
        assert len(thin) < 160
        assert thin.tolerance == (0.0 if len(thin) == len(cal.curve(ev, kind)) else TOLERANCE)


# --- Access ---------------------------------------------------------------------------------------


def test_nothing_is_computed_before_it_is_looked_at() -> None:
    truth, score, _ = rows()
    ev = cal.classification(truth, score={"a": score, "b": -score}, measures=["AUC"])
    curves = ev.curves
    assert isinstance(curves, ScoreCurves)
    assert len(curves) == 2 * (8 + len(DEFAULT_MEASURES))
    assert not curves._cache
    assert all("replicates" not in vars(scored) for scored in curves.score_data)
    assert curves[0] is curves[0]
    assert list(curves._cache) == [0]
    assert [c.kind for c in curves[:3]] == ["ROC", "ROC", "PR"]
    with pytest.raises(IndexError):
        curves[len(curves)]


def test_a_curve_as_a_frame() -> None:
    truth, score, _ = rows()
    ev = evaluation(truth, {"a": score, "b": 1 - score})
    frame = cal.curve(ev, "ROC", "b").to_frame()
    names = ["system", "False positive rate", "True positive rate", "threshold"]
    assert list(frame.columns) == names
    assert set(frame["system"]) == {"b"}
    density = cal.curve(ev, "density", "a", series="True").to_frame()
    assert list(density.columns) == ["system", "series", "Score", "Density"]
    by_threshold = cal.curve(ev, "threshold", "a").to_frame()
    assert list(by_threshold.columns) == ["system", "Threshold", "accuracy"]


@pytest.mark.slow
def test_curves_come_back_from_json() -> None:
    truth, score, _ = rows()
    ev = cal.classification(truth, probability=score, measures=["AUC"], n_resamples=100)
    back = Evaluation.from_json(ev.to_json(details=True))
    for a, b in zip(ev.curves, back.curves, strict=True):
        assert (a.kind, a.series, a.shape, a.simultaneous_method) == (
            b.kind,
            b.series,
            b.shape,
            b.simultaneous_method,
        )
        np.testing.assert_array_equal(a.simultaneous_low, b.simultaneous_low)
        np.testing.assert_array_equal(a.threshold, b.threshold)  # the first is infinite
        assert a.areas == b.areas
        assert a.operating_point == b.operating_point
    assert back.to_html()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("ROCK", "a"), "no curve 'ROCK'"),
        (("ROCK",), "no curve 'ROCK'; did you mean 'ROC'"),
        (("ROC", "c"), "no system 'c'"),
        (("net benefit", "a"), "a: net benefit needs probabilities"),
        (("density", "a"), "name the class"),
    ],
)
def test_what_cannot_be_drawn_is_refused(arguments: tuple[str, ...], message: str) -> None:
    truth, score, _ = rows()
    ev = cal.classification(truth, score={"a": score, "b": -score}, measures=["AUC"])
    with pytest.raises(cal.InputError, match=message):
        cal.curve(ev, *arguments)


def test_of_several_systems_all_are_given() -> None:
    truth, score, _ = rows()
    score_of = {"a": score, "b": -score}
    ev = cal.classification(truth, predicted={"hard": score > 0.5}, score=score_of)
    curves = cal.curve(ev, "roc")
    assert [c.system for c in curves] == ["a", "b", "hard"]
    assert curves["b"].x.tolist() == cal.curve(ev, "ROC", "b").x.tolist()
    assert len(curves.chart().figures) == 1  # all in one plane
    assert len(curves.to_frame()) == sum(map(len, curves))
    assert curves["B"] is curves["b"]
    with pytest.raises(KeyError, match="systems: a, b, hard"):
        curves["c"]
    with pytest.raises(cal.InputError, match="hard: PR needs scores"):
        cal.curve(ev, "PR", "hard")


def test_predicted_labels_give_their_point() -> None:
    ev = cal.classification([0, 0, 1, 1], [0, 1, 1, 1], measures=["recall", "FPR"])
    point = cal.curve(ev, "ROC")
    assert (point.shape, point.x.tolist(), point.y.tolist()) == ("point", [0.5], [1.0])
    assert "ROC" in repr(point)


def test_only_the_curve_that_is_asked_for_is_computed(monkeypatch: pytest.MonkeyPatch) -> None:
    from calipers.curves import residuals

    def fails(*_: Any) -> None:
        raise AssertionError

    truth, said = np.arange(50.0), np.arange(50.0) + np.tile([0.0, 1.0], 25)
    whole = list(cal.regression(truth, {"a": said, "b": said + 1}).curves)
    monkeypatch.setattr(residuals, "_normal_band", fails)
    ev = cal.regression(truth, {"a": said, "b": said + 1})
    one = cal.curve(ev, "Residuals", "b")
    (same,) = (c for c in whole if (c.kind, c.system) == ("residuals", "b"))
    assert (one.x.tolist(), one.y.tolist()) == (same.x.tolist(), same.y.tolist())
    assert ev.curves.kinds == [c.kind for c in whole]  # type: ignore[attr-defined]
    assert ev.chart("residuals").figures


def test_an_evaluation_without_scores_has_no_curves() -> None:
    for ev in (
        cal.classification(list("abc"), list("abb"), curves=False),
        cal.regression([1.0, 2.0], [1.0, 3.0], curves=False),
        cal.classification([0, 1], score=[0.1, 0.2], measures=["AUC"], curves=False),
    ):
        with pytest.raises(cal.InputError, match="this evaluation has none"):
            cal.curve(ev, "ROC")
    with pytest.raises(cal.InputError, match="no curve 'ROC'; there are 'normal quantiles'"):
        cal.curve(cal.regression([1.0, 2.0], [1.0, 3.0]), "ROC")


# --- Predicted labels -----------------------------------------------------------------------------


def test_predicted_labels_are_a_point_in_a_box() -> None:
    truth, score, _ = rows()
    ev = cal.classification(truth, score >= 0.4, measures=["accuracy"])
    (point,) = ev.curves
    assert (point.kind, point.shape, point.parameter) == ("ROC", "point", "")
    for wanted, value, box in (
        (False, point.x, point.band_x),
        (True, point.y, (point.low[0], point.high[0])),
    ):
        own = truth == wanted
        hits, n = int((score[own] >= 0.4).sum()), int(own.sum())
        assert value == pytest.approx([hits / n], rel=1e-14)
        np.testing.assert_allclose(box, stats.binomtest(hits, n).proportion_ci(method="wilson"))
    assert point.low[0] == point.low[1]
    assert point.high[0] == point.high[1]


@pytest.mark.parametrize("interval", ["auto", "bootstrap", "none"])
def test_the_box_is_that_of_the_table(interval: str) -> None:
    truth, score, weight = rows()
    options: dict[str, Any] = {"weight": weight + 1, "cluster": np.arange(300) // 3}
    ev = cal.classification(
        truth,
        score >= 0.4,
        measures=["recall", "FPR"],
        interval=interval,
        n_resamples=200,
        **options,
    )
    (point,) = ev.curves
    fpr, tpr = ev["FPR"], ev["recall"]
    assert (*point.x, *point.y) == (fpr.value, tpr.value)
    if interval == "none":
        assert not len(point.band_x)
    else:
        assert point.band_x.tolist() == [fpr.low, fpr.high]
        assert (point.low[0], point.high[0]) == (tpr.low, tpr.high)
        assert point.method == fpr.method


def test_points_share_the_plane_with_the_curves_of_scores() -> None:
    truth, score, _ = rows()
    labels = {"hard": score >= 0.4, "b": score >= 0.9}
    ev = cal.classification(
        truth, labels, score={"a": score, "b": score}, threshold=0.5, measures=["accuracy"]
    )
    first = [(c.system, c.kind, c.shape) for c in ev.curves[:4]]
    assert first == [
        ("a", "ROC", "line"),
        ("b", "ROC", "line"),
        ("hard", "ROC", "point"),
        ("a", "PR", "line"),
    ]
    back = Evaluation.from_json(ev.to_json(details=True))
    for made in (ev, back):
        figure = next(f for f in figures(made) if f.title == "ROC curve")
        assert "Dots without a curve: systems that predict labels; boxes" in figure.caption
        assert figure.rows[-1][0] == "hard"
        assert all(len(row) == len(figure.header) for row in figure.rows)


def test_without_a_class_there_is_no_point() -> None:
    ev = cal.classification([1, 1, 1], [1, 0, 1], positive=1, measures=["accuracy"])
    assert [len(c) for c in ev.curves] == [0]
    assert not [f for f in figures(ev) if "ROC" in f.title]


def test_points_alone_are_drawn_in_the_whole_plane() -> None:
    truth = np.arange(100) < 50
    ev = cal.classification(
        truth, {"few": np.arange(100) < 3, "none": np.zeros(100, bool)}, measures=["accuracy"]
    )
    (figure,) = (f for f in figures(ev) if "ROC" in f.title)
    assert figure.title == "Predicted labels in the ROC plane"
    assert figure.header == (
        "system", "False positive rate", "True positive rate", "distance to the diagonal"
    )  # fmt: skip
    dots = figure.spec["layer"][-2]
    assert [(d["system"], d["x"], d["y"]) for d in dots["data"]["values"]] == [
        ("few", 0, 0.06),
        ("none", 0, 0),
    ]
    assert all(dots["encoding"][axis]["scale"]["domain"] == [0, 1] for axis in "xy")


@pytest.mark.parametrize("interval", ["none", "analytic", "auto"])
def test_bands_follow_the_settings(interval: str) -> None:
    truth, score, _ = rows()
    ev = evaluation(truth, score, interval=interval, n_resamples=200)
    for kind in ("ROC", "PR"):
        curve = cal.curve(ev, kind)
        assert bool(len(curve.simultaneous_low)) is (interval != "none")
        assert bool(np.isfinite(curve.low).any()) is (interval == "auto")
        assert curve.method == ("bootstrap [B]" if interval == "auto" else "none")


def test_other_curves_have_the_bands_of_their_replicates() -> None:
    """Against replicates of whole tables, drawn by the same stream."""
    from calipers.inference.score_bootstrap import ScoreReplicates
    from calipers.inference.settings import Settings

    truth, score, _ = rows(11, 250, 2)
    ev = evaluation(truth, score, interval="auto", n_resamples=200)
    [scored] = ev.curves.score_data  # type: ignore[attr-defined]
    drawn = ScoreReplicates(scored.table, Settings("auto", 0.95, 200, 0))
    [tables] = drawn.map_tables(lambda table, _: table)
    tp, fp = (np.cumsum(c, axis=1) for c in (tables.positive, tables.negative))
    n = tp[:, -1] + fp[:, -1]
    net = cal.curve(ev, "net benefit")
    for p, low, high in zip(net.band_x, net.low, net.high, strict=True):
        at = np.count_nonzero(scored.table.scores >= p) - 1
        benefit = (tp[:, at] - fp[:, at] * p / (1 - p)) / n if at >= 0 else np.zeros(len(n))
        np.testing.assert_allclose((low, high), np.quantile(benefit, [0.025, 0.975]), atol=1e-12)
    roc, det = cal.curve(ev, "ROC"), cal.curve(ev, "DET")
    np.testing.assert_array_equal(det.low, 1 - roc.high)
    np.testing.assert_array_equal(det.simultaneous_high, 1 - roc.simultaneous_low)
    gain, lift = cal.curve(ev, "gain"), cal.curve(ev, "lift")
    for x, low, high in zip(gain.band_x, gain.low, gain.high, strict=True):
        values = [
            np.interp(x, np.append(0, (a + b) / (a + b)[-1]), np.append(0, a / a[-1]))
            for a, b in zip(tp, fp, strict=True)
        ]
        np.testing.assert_allclose((low, high), np.quantile(values, [0.025, 0.975]), atol=1e-12)
    shared = np.isin(gain.band_x, lift.band_x)
    np.testing.assert_allclose(lift.low * lift.band_x, gain.low[shared], atol=1e-12)
    cost = cal.curve(ev, "cost")
    assert cost.method == net.method == gain.method == "bootstrap [B]"
    middle = np.interp(cost.band_x, cost.x, cost.y)
    assert np.all((cost.low <= middle + 0.02) & (middle <= cost.high + 0.02))


@pytest.mark.slow
def test_the_same_page_twice_has_the_same_bytes_and_no_id_twice() -> None:
    truth, score, _ = rows(12, 200)
    ev = evaluation(truth, {"a": score, "b": 1 - score})
    page = ev.to_html()
    assert page == ev.to_html()
    ids = re.findall(
        r'<[^<>]* id="([^"]*)"', re.sub("<script.*?</script>", "", page, flags=re.DOTALL)
    )
    assert len(ids) == len(set(ids))
    assert any(name.startswith("figure-") for name in ids)


@pytest.mark.slow
def test_scores_that_are_all_equal() -> None:
    ev = cal.classification([0, 1, 1], probability=[0.5] * 3, interval="none")
    for curve in ev.curves:
        assert len(curve.x)
    assert ev.to_html()


# --- Several classes, and the page ----------------------------------------------------------------


def test_each_class_against_the_rest() -> None:
    generator = np.random.default_rng(6)
    truth = generator.integers(0, 5, 200)
    probability = generator.dirichlet(np.ones(5), 200)
    options: dict[str, Any] = {"measures": ["accuracy"], "interval": "analytic"}
    ev = cal.classification(truth, probability=probability, labels=range(5), **options)
    assert [(c.kind, c.series) for c in ev.curves] == [
        (k, str(i)) for k in ("ROC", "PR") for i in range(5)
    ]
    for i in range(5):
        curve = cal.curve(ev, "ROC", series=str(i))
        binary = cal.classification(
            truth == i, score=probability[:, i], **options | {"measures": ["AUC"]}
        )
        alone = cal.curve(binary, "ROC")
        for name in ("x", "y", "threshold", "simultaneous_low", "simultaneous_high"):
            np.testing.assert_array_equal(getattr(curve, name), getattr(alone, name))
    assert not any(len(c.simultaneous_low) for c in ev.curves)  # too many to be told apart
    with pytest.raises(cal.InputError, match="name the class"):
        cal.curve(ev, "ROC")


@pytest.mark.slow
def test_a_page_of_two_systems_with_all_curves_is_small() -> None:
    truth, score, _ = rows(7, 3000, 9)
    other = np.clip(score + np.random.default_rng(8).normal(0, 0.1, len(score)), 0, 1)
    ev = evaluation(truth, {"a": score, "b": other}, interval="auto", n_resamples=200)
    page = ev.to_html()
    assert len(page.encode()) < 1_400_000
    shown, more = page.split('<details class="more">')
    for title in ("ROC curve", "Precision-recall curve", "Scores of the classes: a"):
        assert f"<h3>{title} <a" in shown
    for title in (
        "Detection error tradeoff",
        "Lift",
        "Cumulative gain",
        "Cost curve",
        "Net benefit",
    ):
        assert f"<h3>{title} <a" in more


def test_predicted_labels_of_several_classes_are_a_point_each() -> None:
    generator = np.random.default_rng(12)
    truth = generator.choice(list("abc"), 90, p=[0.5, 0.3, 0.2])
    said = {
        name: np.where(generator.random(90) < hit, truth, generator.choice(list("abc"), 90))
        for name, hit in (("one", 0.8), ("two", 0.4))
    }
    measures = [f"{name}[{label}]" for name in ("recall", "FPR") for label in "abc"]
    ev = cal.classification(truth, said, measures=measures)
    points = [c for c in ev.curves if c.kind == "ROC"]
    assert [(c.system, c.series) for c in points] == [(s, c) for s in said for c in "abc"]
    for point in points:
        tpr, fpr = (ev[point.system, f"{name}[{point.series}]"] for name in ("recall", "FPR"))
        assert (point.x.tolist(), point.y.tolist()) == ([fpr.value], [tpr.value])
        assert point.band_x.tolist() == [fpr.low, fpr.high]
        assert (point.low[0], point.high[0]) == (tpr.low, tpr.high)
    assert len(ev.chart("ROC").figures) == 2
    assert "each class or label, against all others" in ev.chart("ROC").caption
    same = cal.curve(ev, "ROC", "two", series="b")
    assert (same.x.tolist(), same.system, same.series) == (points[4].x.tolist(), "two", "b")
    with pytest.raises(cal.InputError, match="name the class, one of a, b, c"):
        cal.curve(ev, "ROC", "one")


def test_of_many_classes_the_most_frequent_have_points() -> None:
    truth = np.repeat(np.arange(12), np.arange(1, 13))
    ev = cal.classification(truth, truth, measures=["accuracy"], interval="none")
    points = [c for c in ev.curves if c.kind == "ROC"]
    assert [c.series for c in points] == [str(k) for k in range(2, 12)]
    assert "10 most frequent of 12 classes" in ev.chart("ROC").caption


def test_predicted_sets_are_a_point_for_each_label() -> None:
    truth = np.array([[1, 0], [1, 1], [0, 1], [0, 0], [1, 0]])
    said = np.array([[1, 1], [0, 1], [0, 1], [1, 0], [1, 0]])
    ev = cal.multilabel(truth, said, labels=["sun", "sea"], measures=["macro-F1"])
    point = cal.curve(ev, "ROC", series="sun")
    assert (point.x.tolist(), point.y.tolist()) == ([1 / 2], [2 / 3])
