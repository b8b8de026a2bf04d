"""Bias and variance of estimators, wherever training sets come from."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.dummy import DummyClassifier, DummyRegressor
from sklearn.linear_model import LinearRegression
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import PolynomialFeatures
from sklearn.tree import DecisionTreeClassifier

import calipers as cal

GRID = np.linspace(0.02, 0.98, 49)


def wave(x: np.ndarray) -> np.ndarray:
    return np.asarray(np.cos(1.5 * np.pi * x))


def draw(random: np.random.Generator) -> tuple[Any, Any]:
    x = random.random(30)
    return x[:, None], wave(x) + random.normal(0, 0.1, 30)


@pytest.fixture(scope="module")
def polynomial() -> cal.BiasVariance:
    return cal.bias_variance(
        make_pipeline(PolynomialFeatures(), LinearRegression()), generate=draw,
        test=(GRID[:, None], wave(GRID)), exact=True, noise=0.01, sampled=False,
        param_name="polynomialfeatures__degree", param_range=[1, 3, 6], training_sets=40,
    )  # fmt: skip


def test_over_capacity(polynomial: cal.BiasVariance) -> None:
    simple, _, rich = polynomial
    assert simple.components["bias²"].value > 10 * simple.components["variance"].value * 0.5
    assert rich.components["bias²"].high < simple.components["bias²"].low
    errors = [row.components["error"].value for row in polynomial]
    assert min(errors) == errors[1]
    for row in polynomial:
        v = {name: part.value for name, part in row.components.items()}
        assert v["error"] == pytest.approx(v["bias²"] + v["variance"] + v["noise"])
    assert (polynomial.source, polynomial.training_sets, polynomial.trained_on) == (
        "generator", 40, 30,
    )  # fmt: skip


def test_training_sets_are_those_of_the_function(polynomial: cal.BiasVariance) -> None:
    random = np.random.default_rng(0)
    said = np.array(
        [np.polyval(np.polyfit(x[:, 0], y, 3), GRID) for x, y in (draw(random) for _ in range(40))]
    )
    row = polynomial[3]
    assert row.components["variance"].value == pytest.approx(
        said.var(axis=0, ddof=1).mean(), rel=1e-6
    )


def test_what_results_do(polynomial: cal.BiasVariance) -> None:
    again = cal.from_json(polynomial.to_json())
    assert again.to_json() == polynomial.to_json()
    assert "The error is smallest at degree 3." in polynomial.sentence
    assert polynomial.to_markdown().startswith("## Bias and variance over degree")
    assert len(polynomial.to_frame()) == 3 * 4
    assert polynomial.chart().figures[0].kind == "bias and variance"


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        (lambda rows: [], "rows: there is none"),
        (lambda rows: [{**rows[0], "components": {}}], r"rows\[0\].components: expected the error"),
        (
            lambda rows: [
                rows[0],
                {**rows[1], "components": dict(list(rows[1]["components"].items())[:2])},
            ],
            r"rows\[1\].components: expected error, bias², variance",
        ),
    ],
)
def test_incomplete_rows_are_refused(rows: Any, message: str, polynomial: cal.BiasVariance) -> None:
    document = json.loads(polynomial.to_json())
    document["rows"] = rows(document["rows"])
    with pytest.raises(cal.InputError, match=message):
        cal.from_json(json.dumps(document))


def rows(number: int = 300) -> tuple[Any, Any]:
    random = np.random.default_rng(1)
    x = random.random((number, 2))
    return x, (x.sum(axis=1) + random.normal(0, 0.3, number) > 1).astype(int)


def test_disjoint_subsets() -> None:
    seen: list[set[float]] = []

    class Watched(KNeighborsClassifier):
        def fit(self, features: Any, target: Any) -> Watched:
            seen.append(set(features[:, 0].tolist()))
            return super().fit(features, target)

    x, y = rows()
    found = cal.bias_variance(Watched(), x, y, training_sets=8, n_resamples=100)
    assert (found.source, found.loss, found.trained_on, found.tested_on) == (
        "disjoint subsets", "0-1", 25, 100,
    )  # fmt: skip
    assert len(set.union(*seen)) == 8 * 25
    v = {name: part.value for name, part in found.rows_by_value[0].components.items()}
    assert v["error"] == pytest.approx(v["bias"] + v["unbiased variance"] - v["biased variance"])


def test_the_bootstrap_is_marked() -> None:
    x, y = rows(90)
    found = cal.bias_variance(
        DecisionTreeClassifier(), x, y, bootstrap=True, training_sets=10, n_resamples=100
    )
    assert (found.source, found.trained_on) == ("bootstrap of one training set", 60)
    assert "conditional on this training set" in str(found)


def test_models_that_do_not_learn_have_no_variance() -> None:
    x, y = rows()
    numbers = cal.bias_variance(
        DummyRegressor(strategy="constant", constant=1.0), x, x[:, 0], test=(x[:50], x[:50, 0])
    )
    parts = numbers.rows_by_value[0].components
    assert parts["variance"].value == 0
    assert parts["bias² + noise"].value == pytest.approx(np.mean((1 - x[:50, 0]) ** 2))
    labels = cal.bias_variance(
        DummyClassifier(strategy="constant", constant=1), x, y, n_resamples=100
    )
    assert labels.rows_by_value[0].components["variance"].value == 0


def test_frames_and_named_classes() -> None:
    x, y = rows(120)
    frame = pd.DataFrame(x, columns=["a", "b"])
    named = np.where(y, "yes", "no")
    by_name = cal.bias_variance(KNeighborsClassifier(3), frame, named, n_resamples=100)
    plain = cal.bias_variance(KNeighborsClassifier(3), x, y, n_resamples=100)
    assert by_name.rows() == plain.rows()


@pytest.mark.parametrize(
    ("how", "message"),
    [
        ({}, "or generate="),
        ({"generate": draw}, "needs test="),
        ({"generate": draw, "test": 3}, "expected a pair"),
        (
            {"generate": draw, "test": (GRID[:, None], GRID), "bootstrap": True},
            "omit X, y and bootstrap=",
        ),
        ({"generate": lambda r: draw(r)[0], "test": (GRID[:, None], GRID)}, "expected a pair"),
        ({"X": GRID[:, None], "y": GRID, "training_sets": 30}, "have 1 each"),
        ({"X": GRID[:, None], "y": GRID, "training_sets": 2}, "3 or more"),
        ({"X": GRID[:, None], "y": GRID, "noise": -1.0}, "noise is -1"),
        ({"X": GRID[:, None], "y": GRID, "param_name": "fit_intercept"}, "go together"),
        (
            {"X": GRID[:, None], "y": GRID, "test": (GRID[:, None], GRID[:5])},
            "expected a table of 5 rows",
        ),
    ],
)
def test_what_is_wrong_is_said(how: dict[str, Any], message: str) -> None:
    with pytest.raises(cal.InputError, match=message):
        cal.bias_variance(LinearRegression(), **how)


def test_training_sets_of_one_size() -> None:
    def uneven(random: np.random.Generator) -> tuple[Any, Any]:
        x = random.random((random.integers(5, 20), 1))
        return x, x[:, 0]

    with pytest.raises(cal.InputError, match="expected one size"):
        cal.bias_variance(LinearRegression(), generate=uneven, test=(GRID[:, None], GRID))
    with pytest.raises(cal.InputError, match="squared loss"):
        cal.bias_variance(KNeighborsClassifier(), *rows(30), noise=0.1)


def test_a_row_that_is_not_there_is_told_with_those_that_are(
    polynomial: cal.BiasVariance,
) -> None:
    with pytest.raises(KeyError, match="there is no polynomialfeatures__degree 2, only 1, 3, 6"):
        polynomial[2]
    one = cal.bias_variance(
        LinearRegression(), generate=draw, test=(GRID[:, None], wave(GRID)), noise=0.01,
        training_sets=20,
    )  # fmt: skip
    assert one[""] is next(iter(one))
    with pytest.raises(KeyError, match="there is no row 0: no parameter was varied"):
        one[0]
