"""Skill over the best constant answer with several classes, and measures of one class of them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.special import stdtr
from sklearn.metrics import d2_log_loss_score

import calipers as cal
from calipers.data.errors import InputError

NAMES = ["log-loss-skill", "Brier-skill"]


def draw(seed: int, n: int, k: int = 4) -> tuple[Any, Any, Any]:
    """Classes, the probabilities they were drawn with, and worse ones."""
    random = np.random.default_rng(seed)
    logits = random.normal(size=(n, k))
    good, poor = (
        np.exp(x) / np.exp(x).sum(axis=1, keepdims=True)
        for x in (logits, logits / 2 + random.normal(size=(n, k)) / 2)
    )
    truth = (good.cumsum(axis=1) < random.random((n, 1))).sum(axis=1)
    return truth, good, poor


def skills(truth: Any, probability: Any, weight: Any = None) -> list[float]:
    """Both, by their definition."""
    onehot = np.eye(probability.shape[1])[truth]
    share = np.average(onehot, axis=0, weights=weight)
    of_rows = [
        (-np.log((onehot * p).sum(axis=1)), np.square(onehot - p).sum(axis=1))
        for p in (probability, share[None])
    ]
    means = [[np.average(loss, weights=weight) for loss in of] for of in of_rows]
    return [1 - ours / least for ours, least in zip(*means, strict=True)]


def found(truth: Any, probability: Any, **options: Any) -> cal.Evaluation:
    given = {"measures": NAMES, "curves": False, **options}
    return cal.classification(truth, probability=probability, **given)


def test_the_value_is_that_of_scikit_learn() -> None:
    truth, good, _ = draw(0, 300)
    weight = np.random.default_rng(1).integers(0, 4, 300)
    for given in (None, weight):
        ev = found(truth, good, weight=given)
        expected = d2_log_loss_score(truth, good, sample_weight=given)
        assert ev["log-loss-skill"].value == pytest.approx(expected, abs=1e-12)
        assert [e.value for e in ev] == pytest.approx(skills(truth, good, given), abs=1e-12)
    twice = np.repeat(np.arange(300), weight)
    again = found(truth[twice], good[twice])
    for e in found(truth, good, weight=weight):
        assert e.value == pytest.approx(again[e.measure].value, abs=1e-12)
        assert e.no_skill == 0


def test_two_classes_of_three_are_two() -> None:
    truth, good, _ = draw(0, 200, 2)
    wide = np.column_stack([good, np.zeros(200)])
    three = found(truth, wide, labels=[0, 1, 2])
    two = found(truth, good[:, 1])
    for name in NAMES:
        assert three[name].value == pytest.approx(two[name].value, abs=1e-12)


@pytest.mark.slow
@pytest.mark.parametrize("weighted", [False, True])
def test_errors_are_those_of_resampled_rows(weighted: bool) -> None:
    truth, good, poor = draw(0, 400)
    random = np.random.default_rng(2)
    weight = random.uniform(0.2, 2, 400) if weighted else None
    drawn = []
    for _ in range(1500):
        rows = random.integers(0, 400, 400)
        own = None if weight is None else weight[rows]
        drawn.append([skills(truth[rows], p[rows], own) for p in (good, poor)])
    spread = np.array(drawn).std(axis=0)
    apart = (np.array(drawn)[:, 0] - np.array(drawn)[:, 1]).std(axis=0)
    for interval, method in (("auto", "delta"), ("bootstrap", "bootstrap [B]")):
        ev = found(truth, {"good": good, "poor": poor}, interval=interval, weight=weight)
        assert ev.comparison is not None
        for j, name in enumerate(NAMES):
            for i, system in enumerate(("good", "poor")):
                e = ev[system, name]
                assert e.method == method
                assert (e.high - e.low) / 3.92 == pytest.approx(spread[i, j], rel=0.08)
            d = ev.comparison[name]
            usual = "t or Bayesian bootstrap, paired"
            assert d.method == (usual if method == "delta" else "paired bootstrap [B]")
            assert (d.high - d.low) / 3.92 == pytest.approx(apart[j], rel=0.08)


def test_a_cluster_of_copies_is_one_row() -> None:
    truth, good, poor = draw(0, 300)
    copies = np.repeat(np.arange(300), 3)
    systems = {"good": good, "poor": poor}
    one = found(truth, systems, interval="analytic")
    many = found(
        truth[copies],
        {name: p[copies] for name, p in systems.items()},
        cluster=copies,
        interval="analytic",
    )
    for e in one:
        other = many[e.system, e.measure]
        assert other.value == pytest.approx(e.value, abs=1e-12)
        assert other.high - other.low == pytest.approx(e.high - e.low, rel=0.02)
    assert one.comparison is not None
    assert many.comparison is not None
    for d in one.comparison:
        other_d = many.comparison[d.measure]
        assert other_d.high - other_d.low == pytest.approx(d.high - d.low, rel=0.02)


def test_errors_have_the_factor_of_means() -> None:
    """n/(n − 1), as C/(C − 1) where each of n rows, twice, is a cluster."""
    truth, good, poor = draw(0, 12)
    # Student's t of 11 degrees of freedom at this level is the normal's at 95%.
    same = 1 - 2 * stdtr(11, -1.959964)
    rows = found(truth, {"good": good, "poor": poor}, interval="analytic")
    clusters, at_same = (
        found(
            np.repeat(truth, 2),
            {"good": np.repeat(good, 2, axis=0), "poor": np.repeat(poor, 2, axis=0)},
            cluster=np.repeat(np.arange(12), 2),
            interval="analytic",
            level=level,
        )
        for level in (0.95, same)
    )
    for a, b in zip(rows, at_same, strict=True):
        assert b.high - b.low == pytest.approx(a.high - a.low, rel=1e-5)
    # A difference over so few rows has Student's t without clusters too.
    for d, e in zip(rows.compare(), clusters.compare(), strict=True):
        assert e.high - e.low == pytest.approx(d.high - d.low, rel=1e-5)


@pytest.mark.slow
def test_intervals_cover() -> None:
    truth, good, _ = draw(0, 400_000)
    true = dict(zip(NAMES, skills(truth, good), strict=True))
    hit = dict.fromkeys(NAMES, 0)
    for at in range(400):
        rows = slice(at * 300, (at + 1) * 300)
        for e in found(truth[rows], good[rows]):
            hit[e.measure] += e.low <= true[e.measure] <= e.high
    for name in NAMES:
        assert 0.92 <= hit[name] / 400 <= 0.98


def test_what_has_no_skill_says_why() -> None:
    table = np.array([[0.5, 0.5, 0.0], [0.2, 0.5, 0.3], [0.1, 0.2, 0.7]])
    sure = found([2, 1, 2], table, labels=[0, 1, 2])
    assert np.isnan(sure["log-loss-skill"].value)
    assert dict(sure["log-loss-skill"].undefined) == {"zero_probability": 1}  # of the first row
    assert np.isfinite(sure["Brier-skill"].value)
    alone = found([1, 1, 1], table, labels=[0, 1, 2])
    for e in alone:
        assert np.isnan(e.value)
        assert dict(e.undefined) == {"one_class": 3}
        assert np.isnan(e.no_skill)
    thirds = np.full((3, 3), 1 / 3)
    two = found([2, 1, 2], {"a": table, "b": thirds}, labels=[0, 1, 2])
    assert two.comparison is not None
    assert np.isnan(two.comparison["log-loss-skill"].value)


def test_slices_and_named_methods() -> None:
    truth, good, _ = draw(0, 240)
    part = np.arange(240) % 2
    ev = found(truth, good, slices={"part": part}, interval="bca", n_resamples=500)
    assert ev["Brier-skill"].method.startswith("BCa")
    assert ev.slices is not None
    values = []
    for label in (0, 1):
        own = ev.slices["part", str(label), "log-loss-skill"]
        rows = part == label
        expected = d2_log_loss_score(truth[rows], good[rows])
        assert own.estimate.value == pytest.approx(expected, abs=1e-12)
        assert own.vs_rest.low < own.vs_rest.value < own.vs_rest.high
        values.append(own.estimate.value)
    assert ev.slices["part", "0", "log-loss-skill"].vs_rest.value == values[0] - values[1]


@pytest.mark.slow
def test_measures_of_probabilities_of_one_class_are_those_of_two() -> None:
    truth, good, poor = draw(0, 300)
    plain = ["Brier", "log-loss", "ECE", "Brier-skill", "reliability", "calibration-slope"]
    ev = found(
        truth, {"good": good, "poor": poor}, measures=[f"{m}[2]" for m in plain], n_resamples=300
    )
    two = found(
        truth == 2, {"good": good[:, 2], "poor": poor[:, 2]}, measures=plain, n_resamples=300
    )
    assert ev.comparison is not None
    assert two.comparison is not None
    for name in plain:
        for system in ("good", "poor"):
            ours, theirs = ev[system, f"{name}[2]"], two[system, name]
            assert (ours.value, ours.low, ours.high) == (theirs.value, theirs.low, theirs.high)
    for name in plain[:5]:
        d, e = ev.comparison[f"{name}[2]"], two.comparison[name]
        assert (d.value, d.low, d.high, d.p) == (e.value, e.low, e.high, e.p)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("miscalibration", r"miscalibration is about two classes: ask for miscalibration\[0\], or"),
        ("macro-ECE", "macro-ECE: there is no such average; ask for ECE"),
        ("macro-reliability", r"there is no such average; ask for reliability\[0\]"),
        ("micro-Brier", "micro-Brier: there is no such average; ask for Brier"),
    ],
)
def test_what_several_classes_do_not_have(name: str, message: str) -> None:
    truth, good, _ = draw(0, 50)
    with pytest.raises(InputError, match=message):
        found(truth, good, measures=[name])


def test_calibration_curves_of_a_class() -> None:
    truth, good, _ = draw(0, 300)
    ev = found(truth, good, measures="Brier", curves=True)
    ours = cal.curve(ev, "calibration", series="1")
    theirs = cal.curve(found(truth == 1, good[:, 1], measures="Brier", curves=True), "calibration")
    np.testing.assert_array_equal(ours.x, theirs.x)
    np.testing.assert_array_equal(ours.y, theirs.y)


def test_what_was_given_nothing_is_counted() -> None:
    """Two of 2,500 rows, and not all of them; weighted ones as well where rows are at hand."""
    truth, said = np.arange(2500) % 2, np.full(2500, 0.5)
    said[[3, 5]] = 0.0  # which are positive
    for engine in ("memory", "stream"):
        [found] = cal.classification(
            "y", probability="p", data={"y": truth, "p": said}, engine=engine,
            measures=["log-loss-skill"], curves=False,
        )  # fmt: skip
        assert dict(found.undefined) == {"zero_probability": 2}
    [found] = cal.regression([-1.0, 1, 2, 3], [1.0, 1, 2, 0], measures=["D2-Tweedie(power=2)"])
    assert dict(found.undefined) == {"outside_of_domain": 2}
