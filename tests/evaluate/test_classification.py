"""The classification and regression verbs: columns, systems, comparison, curves."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn.metrics import roc_curve as sklearn_roc_curve

import calipers as cal
from calipers.statistics import Moments

GENERATOR = np.random.default_rng(3)
TRUTH = GENERATOR.random(300) < 0.4
GOOD = 1 / (1 + np.exp(0.5 - 2 * TRUTH - GENERATOR.normal(size=300)))
POOR = 1 / (1 + np.exp(0.5 - 0.4 * TRUTH - GENERATOR.normal(size=300)))
WORDS = np.where(TRUTH, "sick", "well")


@pytest.fixture(scope="module")
def evaluation() -> cal.Evaluation:
    return cal.classification(TRUTH, probability={"good": GOOD, "poor": POOR}, baseline="poor")


@pytest.mark.parametrize(
    "wrap",
    [list, tuple, np.asarray, pd.Series, pl.Series, pa.array, lambda v: pa.chunked_array([v])],
    ids=["list", "tuple", "numpy", "pandas", "polars", "arrow", "chunked"],
)
@pytest.mark.parametrize("truth", [TRUTH, TRUTH.astype(int), WORDS], ids=["bool", "int", "str"])
def test_every_kind_of_column_gives_the_same_number(wrap: Any, truth: Any) -> None:
    ev = cal.classification(
        wrap(truth.tolist()),
        score=wrap(GOOD.tolist()),
        positive="sick" if truth is WORDS else None,
        measures=["AUC"],
        curves=False,
    )
    expected = cal.measure("AUC")(TRUTH, GOOD)
    assert ev["AUC"].value == expected


def test_categories_are_labels() -> None:
    for column in (pd.Series(WORDS, dtype="category"), pa.array(WORDS).dictionary_encode()):
        ev = cal.classification(column, score=GOOD, positive="sick", measures=["AUC"], curves=False)
        assert ev["AUC"].value == cal.measure("AUC")(TRUTH, GOOD)


def test_defaults_are_the_best_constant_answers(evaluation: cal.Evaluation) -> None:
    share = TRUTH.mean()
    assert evaluation["good", "accuracy"].no_skill == max(share, 1 - share)
    assert evaluation["good", "AUC"].no_skill == 0.5
    assert evaluation["good", "PR-AUC"].no_skill == pytest.approx(share)
    entropy = -share * np.log(share) - (1 - share) * np.log(1 - share)
    assert evaluation["good", "log-loss"].no_skill == pytest.approx(entropy)
    assert evaluation["good", "Brier"].no_skill == pytest.approx(share * (1 - share))
    assert evaluation["good", "F1"].no_skill == pytest.approx(2 * share / (1 + share))


def test_every_estimate_has_an_interval_and_a_method(evaluation: cal.Evaluation) -> None:
    for estimate in evaluation:
        assert estimate.low <= estimate.value <= estimate.high, estimate
        assert estimate.method != "none"


def test_both_systems_are_compared_row_by_row(evaluation: cal.Evaluation) -> None:
    comparison = evaluation.comparison
    assert comparison is not None
    for difference in comparison:
        expected = (
            evaluation["good", difference.measure].value
            - evaluation["poor", difference.measure].value
        )
        assert difference.value == pytest.approx(expected)
        assert difference.low < difference.value < difference.high
        assert 0 < difference.p <= 1
    assert comparison["AUC"].test == "paired t or Bayesian bootstrap"
    assert comparison["accuracy"].test == "paired t or Bayesian bootstrap"
    assert comparison["AUC"].low > 0


BY_UNITS = "t or Bayesian bootstrap, paired"


@pytest.mark.parametrize(
    ("interval", "auc", "f1", "brier"),
    [
        ("auto", BY_UNITS, "Jeffreys, Dirichlet posterior", BY_UNITS),
        ("bootstrap", *["paired bootstrap [B]"] * 3),
        ("analytic", "DeLong, Student t, paired", "delta, Student t, paired", "Student t, paired"),
    ],
)
def test_differences_are_made_as_asked(interval: str, auc: str, f1: str, brier: str) -> None:
    ev = cal.classification(
        TRUTH,
        probability={"good": GOOD, "poor": POOR},
        measures=["AUC", "F1", "Brier"],
        interval=interval,
        curves=False,
    )
    assert [d.method for d in ev.compare(adjust="none")] == [auc, f1, brier]


def test_curves_follow_scikit_learn(evaluation: cal.Evaluation) -> None:
    roc = next(c for c in evaluation.curves if c.kind == "ROC" and c.system == "good")
    fpr, tpr, thresholds = sklearn_roc_curve(TRUTH, GOOD, drop_intermediate=False)
    places = [int(np.flatnonzero(thresholds == t)[0]) for t in roc.threshold]
    np.testing.assert_allclose(roc.x, fpr[places])
    np.testing.assert_allclose(roc.y, tpr[places])
    assert (roc.x[0], roc.y[0], roc.x[-1], roc.y[-1]) == (0, 0, 1, 1)
    assert np.all(roc.low <= roc.high)


def test_a_system_below_the_diagonal_is_reported_as_it_is() -> None:
    ev = cal.classification(TRUTH, score=-GOOD, measures=["AUC"], curves=False)
    assert ev["AUC"].value < 0.5
    assert "negated score has an AUC of" in ev.findings[0].message


def test_predicted_labels_serve_the_measures_of_counts() -> None:
    called = np.where(GOOD >= 0.5, "sick", "well")
    by_label = cal.classification(WORDS, called, positive="sick")
    by_threshold = cal.classification(WORDS, score=GOOD, threshold=0.5, positive="sick")
    for estimate in by_label:
        assert by_threshold[estimate.measure].value == estimate.value
    assert "AUC" not in by_label.measures


def test_perfect_separation_does_not_claim_certainty() -> None:
    truth = np.arange(100) < 3
    ev = cal.classification(truth, score=truth.astype(float), measures=["AUC"], curves=False)
    assert ev["AUC"].value == 1
    assert ev["AUC"].high == 1
    assert ev["AUC"].low == pytest.approx(0.025 ** (1 / 3))


@pytest.mark.slow
def test_a_true_class_of_probability_zero_is_named() -> None:
    ev = cal.classification([1, 0, 1], probability=[0.0, 0.2, 0.9], measures=["log-loss", "Brier"])
    assert np.isnan(ev["log-loss"].value)
    assert ev["log-loss"].undefined == {"zero_probability": 1}
    for text in (str(ev["log-loss"]), str(ev), ev.to_markdown().replace("\\", ""), ev.to_html()):
        assert "zero_probability: 1 of 3 rows; log-loss(delta=1e-15) clips probabilities" in text
    assert np.isfinite(ev["Brier"].value)
    # As scikit-learn clipped before 1.3: each such row costs -ln 1e-15.
    asked = cal.classification(
        [1, 0, 1], probability=[0.0, 0.2, 0.9], measures="log-loss(delta=1e-15)"
    )
    expected = -(np.log(1e-15) + np.log(0.8) + np.log(0.9)) / 3
    assert asked.estimates[0].value == pytest.approx(expected)


@pytest.mark.parametrize("weight", [None, [1.0, 2.0, 1.0, 0.0, 3.0, 1.0]])
def test_only_rows_without_a_finite_loss_are_the_reason(weight: Any) -> None:
    truth, p = [1, 0, 1, 1, 0, 0], [0.0, 0.2, 0.9, 0.0, 1.0, 0.5]
    given: dict[str, Any] = {"weight": weight, "measures": ["log-loss", "perplexity"]}
    ev = cal.classification(truth, probability=p, curves=False, **given)
    rows = 3 if weight is None else 2  # a row of weight 0 is no row
    assert [dict(e.undefined) for e in ev] == [{"zero_probability": rows}] * 2
    whole = Moments.from_rows(-np.log(np.array([0.5, 0.25, 0.5])))
    with np.errstate(divide="ignore"):
        parts = [Moments.from_rows(-np.log(np.array(x))) for x in ([0.0, 0.5], [0.25, 0.0, 0.0])]
    assert (whole.infinite, sum(parts[1:], parts[0]).infinite) == (0, 3)
    again = Moments.from_bytes(parts[1].to_bytes())
    assert again.infinite == 2


@pytest.mark.slow
def test_intervals_do_not_depend_on_the_order_of_rows() -> None:
    order = GENERATOR.permutation(len(TRUTH))
    for kind in ("auto", "bootstrap"):
        a = cal.classification(TRUTH, probability=GOOD, interval=kind, curves=False)
        b = cal.classification(TRUTH[order], probability=GOOD[order], interval=kind, curves=False)
        for x, y in zip(a, b, strict=True):
            if x.method == "bootstrap [B]" and x.measure in ("log-loss", "Brier"):
                continue  # rows are drawn by their place there
            assert (x.low, x.high) == pytest.approx((y.low, y.high), rel=1e-12)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"truth": []}, "truth: is empty"),
        ({"truth": [1, 0]}, "score: has 300 rows, truth has 2"),
        ({"truth": [[1], [0]]}, "truth: has shape (2, 1), expected one value per row"),
        ({"truth": [[1, 0], [0, 1]]}, "truth: is a distribution per row, which cannot be combined with score="),
        ({"truth": "abc"}, "truth: 'abc' is not a column of values"),
        ({"score": None}, "nothing to evaluate: give predicted=, score= or probability="),
        ({"score": {}}, "score: an empty dict, expected at least one system"),
        ({"truth": WORDS}, "truth: has the classes 'sick' and 'well'; say which one is positive (positive=…)"),
        ({"truth": WORDS, "positive": "sik"}, "truth: no row has the class 'sik' that was named positive; did you mean 'sick'?"),
        ({"measures": ["log-loss"]}, "system: log-loss needs probabilities"),
        ({"measures": ["F1"]}, "system: F1 needs predicted labels, probabilities, or scores with a threshold"),
        ({"weight": [1.0]}, "weight: has 1 rows, truth has 300"),
        ({"weight": np.full(300, -1.0)}, "weight: is -1 in row 0 (and 299 more rows), expected 0 or more"),
        ({"weight": np.zeros(300)}, "weight: all weights are 0"),
        ({"threshold": float("nan")}, "threshold is nan, expected a finite number or a rule"),
        ({"score": {"a": GOOD}, "probability": {"a": GOOD}}, "a: give its scores or its probabilities, not both"),
        ({"threshold": {"b": 1}}, "threshold for 'b', which is not a system; expected system"),
        ({"predicted": np.where(TRUTH, 1, 2)}, "predicted: 2 in row {row} is not a class of the truth; expected 'False' or 'True'"),
    ],
)  # fmt: skip
def test_bad_arguments(arguments: dict[str, Any], message: str) -> None:
    given = {"truth": TRUTH, "score": GOOD} | arguments
    with pytest.raises(cal.InputError) as raised:
        cal.classification(given.pop("truth"), given.pop("predicted", None), **given)
    text = str(raised.value)
    assert text == message.format(
        row=text.split("row ")[1].split()[0] if "{row}" in message else ""
    )


def test_regression_against_definitions() -> None:
    truth = GENERATOR.normal(size=200)
    a, b = truth + GENERATOR.normal(size=200), truth + 2 * GENERATOR.normal(size=200)
    ev = cal.regression(truth, {"a": a, "b": b})
    assert ev["a", "RMSE"].value == pytest.approx(np.sqrt(np.mean((a - truth) ** 2)))
    assert ev["a", "MAE"].value == pytest.approx(np.mean(np.abs(a - truth)))
    assert ev["a", "RMSE"].no_skill == pytest.approx(truth.std())
    assert ev["a", "MAE"].no_skill == pytest.approx(
        np.mean(np.abs(truth - np.median(truth))), rel=1e-3
    )
    assert ev.comparison is not None
    assert ev.comparison["RMSE"].low > 0
    with pytest.raises(cal.InputError, match="predicted: is NaN in row 1, expected finite numbers"):
        cal.regression([1.0, 2.0], [1.0, float("nan")])


def test_the_recalibration_of_certain_probabilities_is_left_to_those_who_ask() -> None:
    sure = np.clip(GOOD, 0.0, 1.0)
    sure[:2] = 0.0, 1.0
    usual = cal.classification(TRUTH, probability={"sure": sure, "poor": POOR}, curves=False)
    assert not {"calibration-slope", "calibration-intercept"} & set(usual.measures)
    [note] = [n for n in usual.notes if "Calibration slope" in n]
    assert "(sure)" in note
    asked = cal.classification(
        TRUTH,
        probability=sure,
        measures=["calibration-slope", "calibration-slope(delta=1e-6)"],
        curves=False,
    )
    assert dict(asked["calibration-slope"].undefined) == {"certain_probability": len(TRUTH)}
    assert np.isfinite(asked["calibration-slope(delta=1e-6)"].value)
    assert not asked.notes
    there = cal.classification(TRUTH, probability=POOR, curves=False)
    assert {"calibration-slope", "calibration-intercept"} <= set(there.measures)


def test_default_stands_for_the_usual_measures() -> None:
    usual = cal.classification(TRUTH, probability=POOR, curves=False)
    more = cal.classification(
        TRUTH, probability=POOR, measures=["default", "precision@prevalence=0.01"], curves=False
    )
    assert more.measures == (*usual.measures, "precision@prevalence=0.01")


def test_two_labels_only_say_which_two_classes_there_are() -> None:
    """Also where no row is of one of them, with scores in one column or a class named positive."""
    truth, score = [1, 0, 1, 1, 0, 0], [0.9, 0.2, 0.4, 0.6, 0.1, 0.5]
    plain = cal.classification(truth, score=score, threshold=0.5, interval="none")
    for options in ({}, {"positive": 1}, {"positive": True}):
        for labels in ([0, 1], [1, 0], ["0", "1"], [False, True]):
            ev = cal.classification(
                truth, score={"a": score}, labels=labels, threshold=0.5, interval="none", **options
            )
            assert [e.value for e in ev] == [e.value for e in plain]
    other = cal.classification(truth, score=score, labels=[0, 1], positive=0, measures="AUC")
    assert other["AUC"].value == pytest.approx(1 - plain["AUC"].value)
    one = cal.classification([1] * 6, score=score, threshold=0.5, labels=[0, 1], interval="none")
    assert one["recall"].value == 0.5
    assert math.isnan(one["AUC"].value)
    assert "none of 0" in one.notes[0]
    words = {"score": score, "threshold": 0.5, "interval": "none"}
    ill = cal.classification(["ill"] * 6, **words, labels=["well", "ill"], positive="ill")
    assert [e.value for e in ill] == pytest.approx([e.value for e in one], nan_ok=True)
    well = cal.classification(["well"] * 6, **words, labels=["well", "ill"], positive="ill")
    assert well["specificity"].value == 0.5
    table = np.column_stack([1 - np.array(score), score])
    for labels, columns in (([0, 1], table), ([1, 0], table[:, ::-1])):
        of_columns = cal.classification(
            [1] * 6, probability=columns, labels=labels, positive=1, measures="recall"
        )
        assert of_columns["recall"].value == 0.5


def test_two_labels_without_a_positive_one_are_two_classes_of_equal_standing() -> None:
    ev = cal.classification([0, 1, 1, 0], [0, 1, 0, 0], labels=[0, 1], interval="none")
    assert "macro-F1" in ev.measures


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"positive": 2}, "positive: 2 is not one of labels; "),
        ({"labels": ["a", "b"]}, "truth: 1 in row 0 is not a class"),
        ({"labels": [0, 2], "positive": 0}, "truth: 1 in row 0 is not a class"),
        ({"labels": [1, 3]}, r"truth: has the classes 1 and 3; say which one is positive"),
        ({"labels": [0, 1, 2]}, r"score: has one column; with 3 classes \(0, 1, 2\)"),
        ({"labels": [1]}, r"score: has one column; with 1 class \(1\)"),
        ({"labels": [0, 1, 2], "positive": 1}, "leave out labels= \\(or name two there\\)"),
    ],
)
def test_what_two_labels_leave_open(options: dict[str, Any], says: str) -> None:
    with pytest.raises(cal.InputError, match=says):
        cal.classification([1] * 4, score=[0.1, 0.2, 0.3, 0.4], **{"labels": [0, 1], **options})


def test_classes_of_numbers_are_told_as_numbers() -> None:
    """Where the truth has one of them only, the other is known from what is predicted."""
    with pytest.raises(cal.InputError, match="has the classes 1 and 2; say which one is positive"):
        cal.classification([2, 2, 2], predicted=[2, 1, 2])
