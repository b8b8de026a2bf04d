"""Validation curves and learning curves, against scikit-learn and numbers worked out elsewhere."""

from __future__ import annotations

import json
import math
import pickle
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from sklearn.datasets import load_iris, make_classification
from sklearn.linear_model import LinearRegression, LogisticRegression, Ridge
from sklearn.metrics import make_scorer, mean_squared_error
from sklearn.model_selection import KFold
from sklearn.model_selection import validation_curve as of_sklearn
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import PolynomialFeatures

import calipers as cal

POLYNOMIAL = make_pipeline(PolynomialFeatures(), LinearRegression())
DEGREE = "polynomialfeatures__degree"
RANDOM = np.random.default_rng(0)
X = np.sort(RANDOM.random(30))
Y = np.cos(1.5 * np.pi * X) + RANDOM.normal(0, 0.1, 30)
TEN = KFold(10, shuffle=True, random_state=0)


@pytest.fixture(scope="module")
def polynomial() -> cal.ValidationCurve:
    values = [1, 2, 3, 4, 8, 15]
    return cal.validation_curve(
        POLYNOMIAL, X[:, None], Y, param_name=DEGREE, param_range=values, cv=TEN
    )


#: Mean, standard deviation and corrected standard error of the folds.
KNOWN = {
    "1": (0.215548, 0.131388, 0.0603687),
    "2": (0.0484323, 0.0290093, 0.0133289),
    "3": (0.0127917, 0.00771874, 0.00354652),
    "4": (0.00854514, 0.00767151, 0.00352481),
    "8": (0.0129972, 0.0108707, 0.00499473),
    "15": (0.0175460, 0.0156145, 0.00717438),
}


def test_the_polynomial(polynomial: cal.ValidationCurve) -> None:
    for row in polynomial:
        mean, spread, error = KNOWN[row.value]
        assert row.validation.value == pytest.approx(mean, rel=5e-6)
        assert row.validation_values.std(ddof=1) == pytest.approx(spread, rel=5e-6)
        assert row.validation.standard_error == pytest.approx(error, rel=5e-6)
        assert row.validation.method == "corrected resampled t"
    assert (polynomial.best, polynomial.one_se) == ("4", "4")
    assert [row.region for row in polynomial] == ["underfits", *[""] * 5]


def test_the_same_as_scikit_learn(polynomial: cal.ValidationCurve) -> None:
    training, validation = of_sklearn(
        POLYNOMIAL, X[:, None], Y, param_name=DEGREE, param_range=[1, 4], cv=TEN,
        scoring=make_scorer(mean_squared_error),
    )  # fmt: skip
    for i, row in enumerate((polynomial[1], polynomial[4])):
        np.testing.assert_allclose(row.training_values, training[i], rtol=1e-9)
        np.testing.assert_allclose(row.validation_values, validation[i], rtol=1e-9)


def test_intervals_of_training_errors_swap_the_sizes(polynomial: cal.ValidationCurve) -> None:
    row = polynomial["2"]
    own = row.training_values
    assert row.training.value == pytest.approx(own.mean())
    assert row.training.standard_error == pytest.approx(own.std(ddof=1) * math.sqrt(1 / 10 + 9))


def test_differences_are_those_of_compare_splits(polynomial: cal.ValidationCurve) -> None:
    given = {name: polynomial[name].validation_values.tolist() for name in ("1", "4")}
    [known] = cal.compare_splits(
        given, design="k-fold", measure="MSE", lower_is_better=["MSE"], baseline="4", level=0.99
    )
    found = polynomial["1"].difference  # 0.95 for five of them
    assert found is not None
    assert (found.value, found.low, found.high) == pytest.approx(
        (known.value, known.low, known.high)
    )
    assert polynomial["4"].difference is None


def test_the_simplest_is_as_the_user_orders_them() -> None:
    x = np.random.default_rng(1).normal(size=(60, 3))
    y = x.sum(axis=1) + np.random.default_rng(2).normal(size=60)
    forward = cal.validation_curve(Ridge(), x, y, param_name="alpha", param_range=[1.0, 0.1, 0.01])
    backward = cal.validation_curve(Ridge(), x, y, param_name="alpha", param_range=[0.01, 0.1, 1.0])
    assert forward.best == backward.best
    assert (forward.one_se, backward.one_se) == ("1", "0.01")


def test_more_repeats_tell_overfitting_apart() -> None:
    random = np.random.default_rng(4)
    x = random.random(25)
    y = np.cos(1.5 * np.pi * x) + random.normal(0, 0.3, 25)
    curve = cal.validation_curve(
        KNeighborsClassifier(), x[:, None], y > 0, param_name="n_neighbors", param_range=[15, 3, 1],
        cv=5, n_repeats=4,
    )  # fmt: skip
    assert curve.measure == "error-rate"
    assert curve.best == "3"
    assert curve["15"].region == "underfits"
    assert curve["1"].training.value == 0


def test_where_higher_is_better() -> None:
    x, y = load_iris(return_X_y=True)
    curve = cal.validation_curve(
        LogisticRegression(max_iter=500), x, y, param_name="C", param_range=[0.001, 0.1], cv=3,
        measure="macro-AUC", n_repeats=2,
    )  # fmt: skip
    assert curve.higher_is_better
    assert curve.best == "0.1"
    assert curve["0.001"].validation.high <= 1
    losing = curve["0.001"].difference
    assert losing is not None
    assert losing.value < 0


@pytest.mark.parametrize(
    ("how", "message"),
    [
        ({"param_name": "degrees"}, "param_name: Pipeline has no 'degrees'"),
        ({"param_range": [1]}, "param_range: there is one value"),
        ({"param_range": [1, 1]}, "param_range: there is '1' twice"),
        ({"estimator": LinearRegression}, "is a class"),
        ({"estimator": {"a": LinearRegression()}}, "one estimator"),
        ({"X": X[:5, None]}, "X: 5 rows, expected a table of 30"),
        ({"measure": "mean-error"}, "no value is better"),
        ({"param_range": [1, -2]}, "degree -2, fold 1"),
        ({"measure": "R2", "cv": 30}, "undefined on 1 rows"),
        ({"level": 95.0}, "level is 95"),
    ],
)
def test_what_is_wrong_is_said(how: dict[str, Any], message: str) -> None:
    given: dict[str, Any] = {
        "estimator": POLYNOMIAL, "X": X[:, None], "y": Y, "param_name": DEGREE, "param_range": [1, 2],
        "cv": 3,
    }  # fmt: skip
    with pytest.raises(cal.InputError, match=message):
        cal.validation_curve(**{**given, **how})


# --- Learning curves ------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def learned() -> cal.LearningCurve:
    random = np.random.default_rng(0)
    x = random.normal(size=(100, 10))
    y = x.sum(axis=1) + random.normal(size=100)
    return cal.learning_curve(
        LinearRegression(), x, y, train_sizes=[20, 27, 36, 50, 80], cv=5, n_repeats=2
    )


def test_a_learning_curve(learned: cal.LearningCurve) -> None:
    assert [row.n for row in learned] == [20, 27, 36, 50, 80]
    errors = [row.validation.value for row in learned]
    assert errors[0] > errors[-1]
    assert [row.validation.n for row in learned] == [10] * 5
    more = learned.extrapolation
    assert (more.n, more.reason) == (160, None)
    assert more.low < 1 + 10 / (160 - 11) < more.high
    assert 0 <= more.gain_low <= more.gain <= more.gain_high
    assert more.gain_high < errors[0]
    assert "Extrapolated to 160 training rows (" in learned.sentence


def test_a_loss_is_said_as_such(learned: cal.LearningCurve) -> None:
    worse = replace(learned.extrapolation, gain=-0.2, gain_low=-0.3, gain_high=0.1)
    assert "higher by 0.20 [-0.10, 0.30]." in replace(learned, extrapolation=worse).sentence
    assert "lower by" in learned.sentence


def test_a_curve_without_rows_is_refused(learned: cal.LearningCurve) -> None:
    document = json.loads(learned.to_json()) | {"rows": []}
    with pytest.raises(cal.InputError, match="rows: there is none"):
        cal.from_json(json.dumps(document))


def test_subsets_are_nested_and_spread_over_classes() -> None:
    seen: list[set[int]] = []

    class Watched(LogisticRegression):
        def fit(self, features: Any, target: Any) -> Watched:
            seen.append(set(features[:, 0].tolist()))
            assert 0.15 <= np.mean(target) <= 0.25
            return super().fit(features, target)

    y = np.arange(100) % 5 == 0
    x = np.column_stack([np.arange(100), y]) / 100
    curve = cal.learning_curve(Watched(), x, y, train_sizes=[0.25, 0.5, 1.0], cv=4, n_repeats=1)
    assert [row.n for row in curve] == [19, 38, 75]
    for place in range(0, len(seen), 3):
        small, middle, large = seen[place : place + 3]
        assert small < middle < large
        assert [len(small), len(middle), len(large)] == [19, 38, 75]
    assert curve.extrapolation.reason == "fewer than 5 sizes of training sets"
    assert "No extrapolation to" in str(curve)


def test_subsets_in_time_are_the_latest_rows() -> None:
    seen: list[list[float]] = []

    class Watched(LinearRegression):
        def fit(self, features: Any, target: Any) -> Watched:
            seen.append(sorted(features[:, 0].tolist()))
            return super().fit(features, target)

    time = np.random.default_rng(0).permutation(20)
    split = cal.split(20, time=time, test=0.25)
    x = time[:, None] / 1.0
    cal.learning_curve(Watched(), x, x[:, 0], split=split, time=time, train_sizes=[4, 8])
    assert seen == [[11, 12, 13, 14], [7, 8, 9, 10, 11, 12, 13, 14]]


def test_training_subsets_swap_what_they_share() -> None:
    x, y = make_classification(80, flip_y=0.4, random_state=0)
    curve = cal.learning_curve(LogisticRegression(), x, y, train_sizes=[20, 64], cv=5, n_repeats=1)
    first = next(iter(curve))
    spread = first.training_values.std(ddof=1)
    assert first.training.standard_error == pytest.approx(spread * math.sqrt(1 / 5 + 20 / 60))


@pytest.mark.parametrize(
    ("how", "message"),
    [
        ({"train_sizes": [10, 500]}, "train_sizes: 500 is neither .* up to 66"),
        ({"train_sizes": [20, 10]}, "train_sizes: expected two or more, ascending"),
        ({"train_sizes": [0.001, 0.5]}, "train_sizes: 0.001 of 66 rows, .* is less than one row"),
        ({"extrapolate_to": 500}, "at most 132, twice that size"),
        ({"extrapolate_to": 10}, "more than the largest"),
    ],
)
def test_wrong_sizes(how: dict[str, Any], message: str) -> None:
    x = np.arange(100.0)[:, None]
    with pytest.raises(cal.InputError, match=message):
        cal.learning_curve(LinearRegression(), x, x[:, 0], cv=3, **how)


# --- What results do ------------------------------------------------------------------------------


def test_results_show_themselves(
    polynomial: cal.ValidationCurve, learned: cal.LearningCurve
) -> None:
    for made in (polynomial, learned):
        again = cal.from_json(made.to_json(details=True))
        assert type(again) is type(made)
        assert again.to_json(details=True) == made.to_json(details=True)
        assert str(again) == str(made)
        assert made.chart().spec == again.chart().spec
        assert "| --- |" in made.to_markdown()
        assert len(made.to_frame()) == len(made.rows()) == len(list(made))
    page = learned.to_html()
    assert "Extrapolated to 160 training rows (" in page
    assert "<svg" in polynomial._repr_html_()
    assert "validation_values" not in polynomial.to_json()
    with pytest.raises(KeyError, match="only 1, 2, 3"):
        polynomial["5"]


def test_what_is_asked_of_models_can_be_sent_to_another_process() -> None:
    from calipers.evaluate.scorer import make_scorer

    ask = pickle.loads(pickle.dumps(make_scorer(cal.measure("macro-AUC")).get_predictions))
    model = LogisticRegression().fit([[0.0], [1.0], [2.0]], ["a", "b", "c"])
    said, known = ask(model, np.array([[1.0], [2.0]]))
    assert list(said) == ["a", "b", "c"]
    assert known == {"labels": ("a", "b", "c")}


def test_what_was_finished_is_kept_where_ctrl_c_interrupts() -> None:
    class Stops(LinearRegression):
        done = 0

        def fit(self, features: Any, target: Any) -> Stops:
            Stops.done += 1
            if Stops.done == 8:
                raise KeyboardInterrupt
            return super().fit(features, target)

    given = {"param_name": "fit_intercept", "param_range": [False, True], "cv": 5}
    whole = cal.validation_curve(LinearRegression(), X[:, None], Y, **given)
    with pytest.warns(UserWarning, match="3 of 5 splits"):
        part = cal.validation_curve(Stops(), X[:, None], Y, **given)
    assert part.notes[0].startswith("Interrupted: these numbers are of 3 of 5 splits")
    np.testing.assert_array_equal(
        part["True"].validation_values, whole["True"].validation_values[:3]
    )
    row = part["True"]  # trained on 24 rows, tested on 6
    error = row.training_values.std(ddof=1) * math.sqrt(1 / 3 + 24 / 6)
    assert row.training.standard_error == pytest.approx(error)
    assert (part.provenance["trained on"], part.provenance["tested on"]) == (24, 6)
    Stops.done = 5
    with pytest.raises(KeyboardInterrupt):
        cal.validation_curve(Stops(), X[:, None], Y, **given)
