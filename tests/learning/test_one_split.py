"""One division of the rows: what scikit-learn and plain evaluations of the same rows say."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from sklearn.datasets import load_breast_cancer, load_diabetes
from sklearn.linear_model import LinearRegression, LogisticRegression, Ridge
from sklearn.metrics import f1_score, log_loss, mean_squared_error, roc_auc_score
from sklearn.model_selection import KFold, PredefinedSplit
from sklearn.model_selection import learning_curve as learning_of_sklearn
from sklearn.model_selection import validation_curve as of_sklearn
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.tree import DecisionTreeRegressor

import calipers as cal
from calipers.inference import intervals
from calipers.inference.intervals import Interval

X, Y = load_diabetes(return_X_y=True)
CANCER, KIND = load_breast_cancer(return_X_y=True)
CANCER = CANCER[:, :5]
PARTS = cal.split(len(Y), validation=0.25, test=0.25)
COLUMN = np.empty(len(Y), dtype="U10")
for _name, _rows in PARTS.subsets.items():
    COLUMN[_rows] = _name
TREE = DecisionTreeRegressor(random_state=0)
DEPTHS = [1, 2, 4, 9]
#: −1 is never tested: one division into training and validation rows.
PREDEFINED = PredefinedSplit(np.where(COLUMN == "validation", 0, -1))
ALPHAS = {"stiff": Ridge(alpha=1000.0), "loose": Ridge(alpha=0.1), "ols": LinearRegression()}


def fitted(model: Any, on: str = "train") -> Any:
    rows = PARTS.subsets[on]
    return model.fit(X[rows], Y[rows])


@pytest.fixture(scope="module")
def depths() -> cal.ValidationCurve:
    return cal.validation_curve(TREE, X, Y, param_name="max_depth", param_range=DEPTHS, split=PARTS)


def test_values_are_those_of_scikit_learn(depths: cal.ValidationCurve) -> None:
    own = np.concatenate([PARTS.train, PARTS.validation])
    fold = np.repeat([-1, 0], [len(PARTS.train), len(PARTS.validation)])
    training, validation = of_sklearn(
        TREE, X[own], Y[own], param_name="max_depth", param_range=DEPTHS,
        cv=PredefinedSplit(fold), scoring="neg_mean_squared_error",
    )  # fmt: skip
    assert [row.training.value for row in depths] == pytest.approx(-training[:, 0], rel=1e-12)
    assert [row.validation.value for row in depths] == pytest.approx(-validation[:, 0], rel=1e-12)


def test_intervals_are_those_of_the_rows(depths: cal.ValidationCurve) -> None:
    rows = PARTS.validation
    said = {str(d): fitted(TREE.set_params(max_depth=d)).predict(X[rows]) for d in DEPTHS}
    plain = cal.regression(Y[rows], said, measures=["MSE"], baseline=depths.best)
    for row in depths:
        known = plain[row.value, "MSE"]
        assert (row.validation.low, row.validation.high) == (known.low, known.high)
        assert (row.validation.unit, row.validation.n) == ("rows", len(rows))
        if row.difference is not None:
            same = next(d for d in plain.comparison if d.system == row.value)
            assert (row.difference.low, row.difference.high) == (same.low, same.high)


def test_the_chosen_one_is_measured_on_the_test_rows(depths: cal.ValidationCurve) -> None:
    model = fitted(TREE.set_params(max_depth=int(depths.one_se)))
    known = cal.regression(Y[PARTS.test], model.predict(X[PARTS.test]), measures=["MSE"])["MSE"]
    assert depths.test is not None
    assert (depths.test.value, depths.test.low) == pytest.approx((known.value, known.low))
    assert f"MSE at max_depth {depths.one_se} is " in depths.sentence
    errors = [row.validation.value for row in depths]
    best = int(np.argmin(errors))
    allowed = errors[best] + depths[depths.best].validation.standard_error
    assert depths.one_se == str(DEPTHS[next(i for i, e in enumerate(errors) if e <= allowed)])


@pytest.mark.parametrize(
    "part",
    [
        COLUMN,
        COLUMN.tolist(),
        pd.Series(COLUMN, dtype="category"),
        pa.array(COLUMN),
        (PARTS.train, PARTS.validation, PARTS.test),
        {"test": PARTS.test, "train": PARTS.train, "validation": PARTS.validation},
    ],
    ids=["array", "list", "pandas", "arrow", "places", "by name"],
)
def test_a_split_in_every_form(part: Any, depths: cal.ValidationCurve) -> None:
    made = cal.validation_curve(TREE, X, Y, param_name="max_depth", param_range=DEPTHS, split=part)
    assert made.rows() == depths.rows()
    assert made.test == depths.test


def test_a_splitter_of_one_fold_and_a_pair_are_one_split(depths: cal.ValidationCurve) -> None:
    for given in ({"cv": [(PARTS.train, PARTS.validation)]},
                  {"split": (PARTS.train, PARTS.validation)}):  # fmt: skip
        made = cal.validation_curve(TREE, X, Y, param_name="max_depth", param_range=DEPTHS, **given)
        assert made.rows() == depths.rows()
        assert made.test is None
    both = cal.validation_curve(
        TREE, X, Y, param_name="max_depth", param_range=DEPTHS, cv=PREDEFINED
    )
    # There everything but the validation rows is trained on.
    rows = COLUMN != "validation"
    model = TREE.set_params(max_depth=4).fit(X[rows], Y[rows])
    known = mean_squared_error(Y[~rows], model.predict(X[~rows]))
    assert both[4].validation.value == pytest.approx(known, rel=1e-12)
    assert both[4].validation.unit == "rows"


@pytest.mark.parametrize(
    ("measure", "known"),
    [
        ("F1", lambda y, p: f1_score(y, p[:, 1] > 0.5)),
        ("AUC", lambda y, p: roc_auc_score(y, p[:, 1])),
        ("log-loss", log_loss),
        ("macro-F1", lambda y, p: f1_score(y, p[:, 1] > 0.5, average="macro")),
    ],
)
def test_measures_of_classes(measure: str, known: Any) -> None:
    parts = cal.split(len(KIND), validation=0.3, stratify=KIND)
    made = cal.validation_curve(
        LogisticRegression(max_iter=5000), CANCER, KIND, param_name="C", param_range=[0.001, 1.0],
        measure=measure, split=parts,
    )  # fmt: skip
    model = LogisticRegression(max_iter=5000, C=1.0).fit(CANCER[parts.train], KIND[parts.train])
    said = model.predict_proba(CANCER[parts.validation])
    assert made["1"].validation.value == pytest.approx(known(KIND[parts.validation], said))
    assert made["1"].validation.has_interval


def test_groups_and_weights_are_those_of_the_intervals() -> None:
    group = np.arange(len(Y)) // 3
    parts = cal.split(len(Y), group=group, validation=0.3)
    weight = np.random.default_rng(0).uniform(0.5, 2, len(Y))
    made = cal.cross_validate(
        Ridge(), X, Y, split=parts, group=group, weight=weight, measures="MSE"
    )
    rows = parts.test
    model = Ridge().fit(X[parts.train], Y[parts.train], sample_weight=weight[parts.train])
    known = cal.regression(
        Y[rows], model.predict(X[rows]), weight=weight[rows], cluster=group[rows], measures="MSE"
    )
    assert (made["MSE"].low, made["MSE"].high) == (known["MSE"].low, known["MSE"].high)
    assert not any("more than one subset" in note for note in made.notes)
    split_up = cal.cross_validate(Ridge(), X, Y, split=COLUMN, group=group, measures="MSE")
    assert any("groups have rows in more than one subset" in note for note in split_up.notes)


def test_the_learning_curve() -> None:
    own = np.concatenate([PARTS.train, PARTS.validation])
    fold = np.repeat([-1, 0], [len(PARTS.train), len(PARTS.validation)])
    made = cal.learning_curve(Ridge(), X, Y, split=PARTS, train_sizes=[len(PARTS.train) // 2, 1.0])
    _, _, validation = learning_of_sklearn(
        Ridge(), X[own], Y[own], train_sizes=[1.0], cv=PredefinedSplit(fold),
        scoring="neg_mean_squared_error",
    )  # fmt: skip
    *_, last = made
    assert last.n == len(PARTS.train)
    assert last.validation.value == pytest.approx(-validation[0, 0], rel=1e-12)
    assert last.validation.unit == "rows"
    assert made.extrapolation.reason is not None
    # Nothing is chosen, so that the test rows may be measured where there are no others.
    tested = cal.learning_curve(
        Ridge(), X, Y, split={"train": PARTS.train, "test": PARTS.test}, train_sizes=[50, 100]
    )
    assert next(iter(tested)).validation.n == len(PARTS.test)


def test_what_is_chosen_is_measured_on_the_test_rows() -> None:
    made = cal.select_model(ALPHAS, X, Y, split=COLUMN)
    shown = {
        name: mean_squared_error(Y[PARTS.validation], fitted(model).predict(X[PARTS.validation]))
        for name, model in ALPHAS.items()
    }
    assert {one.name: one.apparent.value for one in made} == pytest.approx(shown, rel=1e-9)
    assert made.best == min(shown, key=lambda name: shown[name])
    rows, model = PARTS.test, fitted(ALPHAS[made.best])
    known = cal.regression(Y[rows], model.predict(X[rows]), measures=["MSE"])["MSE"]
    assert (made.corrected.value, made.corrected.low) == pytest.approx((known.value, known.low))
    assert made.optimism.value == pytest.approx(known.value - shown[made.best])
    best = made[made.best].apparent
    pair = [Interval(e.low, e.high, "") for e in (made.corrected, best)]
    apart = intervals.mover_interval(made.corrected.value, pair[0], best.value, pair[1])
    assert (made.optimism.low, made.optimism.high) == pytest.approx((apart.low, apart.high))
    assert [one.selection_frequency for one in made] == [
        float(one.name == made.best) for one in made
    ]


def test_without_validation_rows_inner_folds_choose() -> None:
    rest = np.setdiff1d(np.arange(len(Y)), PARTS.test)
    made = cal.select_model(
        ALPHAS, X, Y, split={"train": rest, "test": PARTS.test}, inner_cv=4, seed=3
    )
    again = cal.select_model(ALPHAS, X, Y, cv=[(rest, PARTS.test)], inner_cv=4, seed=3)
    within = {
        name: np.mean([
            mean_squared_error(Y[rest[b]], model.fit(X[rest[a]], Y[rest[a]]).predict(X[rest[b]]))
            for a, b in KFold(4, shuffle=True, random_state=4).split(rest)
        ])
        for name, model in ALPHAS.items()
    }  # fmt: skip
    assert {one.name: one.apparent.value for one in made} == pytest.approx(within, rel=1e-9)
    assert made.best == min(within, key=lambda name: within[name])
    assert made[made.best].apparent.method == "corrected resampled t"
    model = ALPHAS[made.best].fit(X[rest], Y[rest])
    known = mean_squared_error(Y[PARTS.test], model.predict(X[PARTS.test]))
    assert made.corrected.value == pytest.approx(known, rel=1e-9)
    assert (again.best, again.corrected.value) == (made.best, made.corrected.value)


def test_cross_validate_is_the_evaluation_of_the_rows_measured() -> None:
    for on, rows in (("test", PARTS.test), ("validation", PARTS.validation)):
        made = cal.cross_validate(
            {"ridge": Ridge(), "ols": LinearRegression()}, X, Y, split=COLUMN, on=on,
            measures=["MSE", "R2"],
        )  # fmt: skip
        models = {"ridge": fitted(Ridge()), "ols": fitted(LinearRegression())}
        known = cal.regression(
            Y[rows], {n: m.predict(X[rows]) for n, m in models.items()}, measures=["MSE", "R2"]
        )
        assert [(e.value, e.low, e.high) for e in made] == [(e.value, e.low, e.high) for e in known]
        assert made.comparison["MSE"].p == known.comparison["MSE"].p
        assert made.provenance["conventions"]["cross-validation"] == (
            f"one split, trained on {len(PARTS.train)} rows, measured on {len(rows)} {on} rows"
        )
        assert "One split" in made.notes[0]
    alone = cal.cross_validate(Ridge(), X, Y, cv=PREDEFINED, measures=["MSE"])
    assert (alone["MSE"].unit, alone["MSE"].n) == ("rows", len(PARTS.validation))
    none = cal.cross_validate(Ridge(), X, Y, split=PARTS, measures=["MSE"], interval="none")
    assert math.isnan(none["MSE"].low)


def test_rows_in_the_order_of_time() -> None:
    time = np.arange(len(Y))
    parts = cal.split(len(Y), time=time, test=0.3)
    made = cal.cross_validate(Ridge(), X, Y, split=parts, time=True, measures=["MSE"])
    known = cal.regression(
        Y[parts.test], Ridge().fit(X[parts.train], Y[parts.train]).predict(X[parts.test]),
        time=time[parts.test], measures=["MSE"],
    )  # fmt: skip
    assert (made["MSE"].low, made["MSE"].method) == (known["MSE"].low, known["MSE"].method)
    assert not any("are not earlier than" in note for note in made.notes)
    odd = cal.cross_validate(Ridge(), X, Y, split=PARTS, time=time, measures=["MSE"])
    assert any("are not earlier than" in note for note in odd.notes)


def test_results_survive_a_file(depths: cal.ValidationCurve) -> None:
    again = cal.from_json(depths.to_json())
    assert again.test == depths.test
    assert again.to_json() == depths.to_json()
    assert "test" in {p.get("series") for p in _drawn(depths)}
    assert "were not used for selection" in depths.to_html()


def _drawn(of: cal.ValidationCurve) -> list[dict[str, Any]]:
    """All data of the figure."""
    found: list[dict[str, Any]] = []

    def look(spec: Any) -> None:
        if isinstance(spec, dict):
            found.extend(spec.get("data", {}).get("values", []) if "data" in spec else [])
            for value in spec.values():
                look(value)
        elif isinstance(spec, list):
            for value in spec:
                look(value)

    look(of.chart().figures[0].spec)
    return found


NO_VALIDATION = {"train": PARTS.train, "test": PARTS.test}


@pytest.mark.parametrize(
    ("how", "said"),
    [
        ({"split": PARTS, "cv": 5}, "omit cv="),
        ({"split": PARTS, "n_repeats": 2}, "omit n_repeats="),
        ({"split": PARTS, "stratify": True}, "omit stratify="),
        ({"split": NO_VALIDATION}, "there are no validation rows, on which"),
        ({"split": np.where(COLUMN == "test", "held", COLUMN)}, "holds 'held', expected 'train'"),
        ({"split": COLUMN[:5]}, "split"),
        ({"split": {"train": [0, 1], "dev": [2]}}, "holds 'dev'"),
        ({"split": ([0, 1], [1, 2])}, "row 1 occurs more than once"),
        ({"split": ([0, 1], [len(Y)])}, "outside of the 442 rows"),
        ({"split": ([0.5, 1], [2, 3])}, "expected row indices"),
        ({"split": ([0], [1], [2], [3])}, "there are 4 arrays"),
        ({"split": ([], [1, 2])}, "no row to train on"),
        ({"split": ["train"] * len(Y)}, "none is left"),
    ],
)
def test_what_is_no_split(how: dict[str, Any], said: str) -> None:
    with pytest.raises(cal.InputError, match=said):
        cal.validation_curve(TREE, X, Y, param_name="max_depth", param_range=[1, 2], **how)


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda: cal.select_model(ALPHAS, X, Y, split=(PARTS.train, PARTS.validation)), "there are no test rows"),
        (lambda: cal.select_model(ALPHAS, X, Y, split=PARTS, inner_cv=3), "has validation rows"),
        (lambda: cal.cross_validate(Ridge(), X, Y, on="test"), "on= requires split="),
        (lambda: cal.cross_validate(Ridge(), X, Y, split=PARTS, on="dev"), "on is 'dev'"),
        (lambda: cal.cross_validate(Ridge(), X, Y, split=PARTS, stratify=True), "omit stratify="),
        (lambda: cal.cross_validate(Ridge(), X, Y, split=PARTS, interval="nested"), "three folds"),
        (lambda: cal.cross_validate(Ridge(), X, Y, train=5), "train= goes with existing predictions"),
        (
            lambda: cal.cross_validate(truth=Y, predicted=Y, fold=COLUMN, cv=3, task="regression"),
            "cv= goes with an estimator",
        ),
    ],
)  # fmt: skip
def test_what_does_not_go_together(call: Any, said: str) -> None:
    with pytest.raises(cal.InputError, match=said):
        call()


def test_a_splitter_needs_no_repeats_in_a_learning_curve() -> None:
    made = cal.learning_curve(
        KNeighborsClassifier(3), CANCER, KIND, cv=KFold(3), train_sizes=[50, 100]
    )
    assert next(iter(made)).validation.n == 3


def test_classes_that_no_row_measured_has() -> None:
    y = np.array([0, 1] * 20 + [1] * 10)
    x = np.arange(50.0)[:, None]
    made = cal.cross_validate(
        GaussianNB(), x, y, split=(np.arange(40), np.arange(40, 50)), measures=["accuracy"]
    )
    assert made["accuracy"].n == 10
