"""Cross-validation against scikit-learn's, published formulas, and numbers computed elsewhere."""

from __future__ import annotations

import json
from datetime import timedelta

import joblib
import numpy as np
import pandas as pd
import pytest
from scipy import stats
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris
from sklearn.linear_model import LinearRegression, LogisticRegression, Ridge, RidgeClassifier
from sklearn.model_selection import (
    GroupKFold,
    KFold,
    LeaveOneOut,
    RepeatedStratifiedKFold,
    ShuffleSplit,
    StratifiedKFold,
    TimeSeriesSplit,
)
from sklearn.model_selection import cross_validate as of_sklearn
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsRegressor
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

import calipers as cal
from calipers import InputError
from calipers.inference.intervals import normal_quantile
from calipers.learning.cross_validation import widened_level
from calipers.learning.split_designs import SplitDesign
from calipers.tasks import validate_arguments

X, Y = load_diabetes(return_X_y=True)
CANCER = load_breast_cancer(return_X_y=True)
NOISY = CANCER[0][:, :4], CANCER[1]
TEN = KFold(10, shuffle=True, random_state=0)

FOLDS = [
    *(3111.965104, 3766.896556, 2346.330026, 3501.057985, 2651.414218),
    *(3359.186245, 2644.844152, 3098.283366, 2254.576983, 3117.811698),
]


def test_numbers_computed_elsewhere():
    ev = cal.cross_validate(LinearRegression(), X, Y, cv=TEN, measures=["MSE"])
    mse = ev["MSE"]
    assert ev.per_unit.values["LinearRegression"]["MSE"] == pytest.approx(FOLDS, rel=1e-9)
    assert (mse.value, mse.pooled) == pytest.approx((2985.236633, 2987.291811), rel=1e-9)
    assert mse.standard_error == pytest.approx(228.848609, rel=1e-8)
    assert (mse.low, mse.high) == pytest.approx((2467.545114, 3502.928153), rel=1e-9)
    assert (mse.method, mse.n, mse.unit) == ("corrected resampled t", 10, "folds")


def test_ten_shuffled_folds_unless_told_otherwise():
    ours = cal.cross_validate(LinearRegression(), X, Y, measures=["MSE"])
    assert ours["MSE"].value == pytest.approx(2985.236633, rel=1e-9)
    ours = cal.cross_validate(GaussianNB(), *NOISY, measures=["accuracy"], cv=5, seed=3)
    cv = StratifiedKFold(5, shuffle=True, random_state=3)
    theirs = of_sklearn(GaussianNB(), *NOISY, cv=cv)["test_score"]
    assert ours["accuracy"].value == pytest.approx(theirs.mean(), rel=1e-12)


CLASSES = {
    "accuracy": "accuracy", "AUC": "roc_auc", "AP": "average_precision", "F1": "f1",
    "log-loss": "neg_log_loss", "balanced-accuracy": "balanced_accuracy", "MCC": "matthews_corrcoef",
}  # fmt: skip


@pytest.mark.parametrize(
    "folds",
    [
        5,
        RepeatedStratifiedKFold(n_splits=4, n_repeats=2, random_state=1),
        ShuffleSplit(6, random_state=2),
    ],
)
def test_scikit_learn_agrees_on_classes(folds):
    ours = cal.cross_validate(GaussianNB(), *NOISY, cv=folds, measures=list(CLASSES))
    cv = StratifiedKFold(5, shuffle=True, random_state=0) if folds == 5 else folds
    theirs = of_sklearn(GaussianNB(), *NOISY, cv=cv, scoring=list(CLASSES.values()))
    for own, other in CLASSES.items():
        expected = abs(theirs[f"test_{other}"])
        assert ours.per_unit.values["GaussianNB"][own] == pytest.approx(expected, rel=1e-9), own
        assert ours[own].value == pytest.approx(expected.mean(), rel=1e-9)


@pytest.mark.parametrize("cv", [KFold(4), TimeSeriesSplit(4), GroupKFold(4)])
def test_scikit_learn_agrees_on_numbers(cv):
    group = np.arange(len(Y)) // 7
    names = {"MSE": "neg_mean_squared_error", "MAE": "neg_mean_absolute_error", "R2": "r2"}
    group = group if isinstance(cv, GroupKFold) else None
    ours = cal.cross_validate(Ridge(), X, Y, cv=cv, group=group, measures=list(names))
    theirs = of_sklearn(Ridge(), X, Y, groups=group, cv=cv, scoring=list(names.values()))
    for own, other in names.items():
        assert ours[own].value == pytest.approx(abs(theirs[f"test_{other}"]).mean(), rel=1e-9)


def test_scikit_learn_agrees_on_several_classes():
    iris = load_iris(return_X_y=True)
    cv = StratifiedKFold(5, shuffle=True, random_state=0)
    names = {"accuracy": "accuracy", "macro-F1": "f1_macro", "macro-AUC": "roc_auc_ovr"}
    ours = cal.cross_validate(GaussianNB(), *iris, cv=cv, measures=list(names))
    theirs = of_sklearn(GaussianNB(), *iris, cv=cv, scoring=list(names.values()))
    for own, other in names.items():
        assert ours[own].value == pytest.approx(theirs[f"test_{other}"].mean(), rel=1e-9)


def test_repeated_folds_are_one_t_over_all_of_them():
    ev = cal.cross_validate(Ridge(), X, Y, cv=5, n_repeats=3, measures=["MSE"])
    values = ev.per_unit.values["Ridge"]["MSE"]
    assert len(values) == 15
    assert ev.per_unit.ids[:6] == ("1/1", "1/2", "1/3", "1/4", "1/5", "2/1")
    se = values.std(ddof=1) * np.sqrt(1 / 15 + 1 / 4)
    low = values.mean() - stats.t.ppf(0.975, 14) * se
    assert ev["MSE"].low == pytest.approx(low, rel=1e-4)  # folds of 88 and 89 rows


# ------------------------------------------------------------------------- nested cross-validation


@pytest.mark.slow
def test_nested_cross_validation_computed_elsewhere():
    first, k = slice(60), np.arange(60) % 5
    pairs = [(np.flatnonzero(k != fold), np.flatnonzero(k == fold)) for fold in range(5)]
    how = {"measures": ["MSE"], "interval": "nested"}
    ev = cal.cross_validate(LinearRegression(), X[first], Y[first], cv=pairs, **how)
    mse = ev["MSE"]
    assert mse.method == "nested cross-validation"
    assert mse.standard_error == pytest.approx(1672.338321, rel=1e-9)
    assert (mse.low + mse.high) / 2 == pytest.approx(5144.718273 - 1046.075149, rel=1e-9)
    shuffled = [np.random.default_rng(seed).permutation(k) for seed in range(20)]
    pairs = [
        (np.flatnonzero(s != fold), np.flatnonzero(s == fold))
        for s in shuffled
        for fold in range(5)
    ]
    mse = cal.cross_validate(LinearRegression(), X[first], Y[first], cv=pairs, **how)["MSE"]
    assert mse.standard_error == pytest.approx(1931.104626, rel=1e-9)
    assert (mse.low + mse.high) / 2 == pytest.approx(5462.586312 - 931.693933, rel=1e-9)


def test_nested_cross_validation_is_of_means_of_losses():
    how = {"cv": 3, "interval": "nested"}
    ev = cal.cross_validate(GaussianNB(), *NOISY, measures=["AUC", "Brier", "accuracy"], **how)
    assert ev["AUC"].interval_reason == "no_mean_of_losses"
    assert ev["Brier"].has_interval
    assert ev["accuracy"].has_interval
    ev = cal.cross_validate(Ridge(), X, Y, measures=["RMSE", "MSE"], **how)
    assert not ev["RMSE"].has_interval
    with pytest.raises(InputError, match="such as MSE, Brier or accuracy; none of AUC is one"):
        cal.cross_validate(GaussianNB(), *NOISY, measures=["AUC"], **how)
    with pytest.raises(InputError, match="independent rows of equal weight; omit group="):
        cal.cross_validate(GaussianNB(), *NOISY, group=np.arange(len(NOISY[1])), **how)
    with pytest.raises(InputError, match="that test every row once"):
        cal.cross_validate(Ridge(), X, Y, cv=TimeSeriesSplit(4), interval="nested")


# ---------------------------------------------------------------------------------------- compared


def test_estimators_are_compared_on_the_same_folds():
    models = {"ridge": Ridge(), "ols": LinearRegression()}
    pairs = [p for i in range(5) for p in KFold(2, shuffle=True, random_state=i).split(X)]
    ev = cal.cross_validate(models, X, Y, cv=pairs, measures=["MSE"])
    t = cal.compare_splits(ev, design="5x2-t")["MSE"]
    f = cal.compare_splits(ev, design="5x2-f")["MSE"]
    assert (t.p, f.p) == pytest.approx((0.419039, 0.085745), abs=5e-7)
    [own] = ev.comparison
    ridge, ols = (ev.per_unit.values[name]["MSE"] for name in models)
    se = (ols - ridge).std(ddof=1) * np.sqrt(1 / 10 + 1)
    assert own.value == pytest.approx((ols - ridge).mean(), rel=1e-12)
    assert own.p == pytest.approx(2 * stats.t.sf(abs(own.value) / se, 9), rel=1e-9)
    assert own.test == "corrected resampled t"


def test_comparison_can_be_asked_again():
    models = {
        "nb": GaussianNB(),
        "tree": DecisionTreeClassifier(max_depth=2),
        "lr": LogisticRegression(),
    }
    ev = cal.cross_validate(models, *NOISY, cv=4, measures=["accuracy", "AUC"])
    assert len(ev.comparison) == 6
    against = ev.compare(baseline="nb", primary="AUC", adjust="none")
    assert [(d.system, d.measure) for d in against] == [
        ("tree", "AUC"), ("lr", "AUC"), ("tree", "accuracy"), ("lr", "accuracy")
    ]  # fmt: skip
    assert against.baseline == "nb"
    with pytest.raises(InputError, match="test= does not apply to a comparison over folds"):
        ev.compare(test="wilcoxon")
    with pytest.raises(InputError, match="are known from cross-validation"):
        cal.compare_splits(ev, design="k-fold", split=NOISY[1])


# ------------------------------------------------------------------------------- predictions alone


def test_predictions_alone_say_the_same_as_the_estimator():
    cv = StratifiedKFold(5, shuffle=True, random_state=0)
    of_model = cal.cross_validate(GaussianNB(), *NOISY, cv=cv)
    x, y = NOISY
    said, fold = np.empty(len(y)), np.empty(len(y), object)
    for place, (train, test) in enumerate(cv.split(x, y)):
        said[test] = GaussianNB().fit(x[train], y[train]).predict_proba(x[test])[:, 1]
        fold[test] = f"part {place}"
    frame = pd.DataFrame({"y": y, "p": said, "fold": fold})
    alone = cal.cross_validate(truth="y", probability={"GaussianNB": "p"}, fold="fold", data=frame)
    assert alone.per_unit.ids == tuple(f"part {i}" for i in range(5))
    for own, other in zip(alone, of_model, strict=True):
        assert own.value == pytest.approx(other.value, rel=1e-12)
        assert own.pooled == pytest.approx(other.pooled, rel=1e-12)
        assert own.low == pytest.approx(other.low, rel=1e-3)  # folds of 113 and 114 rows
    assert [f.kind for f in alone.findings] == [f.kind for f in of_model.findings]


def test_predictions_of_repetitions_and_of_fewer_rows():
    rng = np.random.default_rng(0)
    truth = np.tile(rng.normal(size=40), 2)
    said = truth + rng.normal(size=80)
    again, fold = np.repeat([1, 2], 40), np.tile(np.arange(40) % 4, 2)
    how = {"truth": truth, "predicted": said, "task": "regression", "measures": ["MSE"]}
    ev = cal.cross_validate(**how, fold=fold, repetition=again)
    values = [
        ((truth - said)[(again == r) & (fold == f)] ** 2).mean() for r in (1, 2) for f in range(4)
    ]
    assert ev["MSE"].value == pytest.approx(np.mean(values), rel=1e-12)
    se = np.std(values, ddof=1) * np.sqrt(1 / 8 + 1 / 3)
    assert ev["MSE"].standard_error == pytest.approx(se, rel=1e-12)
    se = np.std(values, ddof=1) * np.sqrt(1 / 8 + 10 / 7)
    fewer = cal.cross_validate(**how, fold=fold, repetition=again, train=7)
    assert fewer["MSE"].standard_error == pytest.approx(se, rel=1e-12)
    with pytest.raises(InputError, match="task= is missing"):
        cal.cross_validate(truth=truth, predicted=said, fold=fold)
    with pytest.raises(InputError, match="fold: there is one"):
        cal.cross_validate(**how, fold=np.ones(80))


# ----------------------------------------------------------------------------- rows that are no deal


def test_groups_stay_on_one_side():
    group = np.random.default_rng(1).integers(0, 40, len(Y))

    class Seeing(LinearRegression):
        def fit(self, features, target):
            self.seen = set(features[:, -1])
            return super().fit(features, target)

        def predict(self, features):
            assert not self.seen & set(features[:, -1])
            return super().predict(features)

    x = np.column_stack([X, group])
    for how in ({}, {"n_repeats": 2}, {"stratify": True}, {"n_repeats": 2, "stratify": True}):
        ev = cal.cross_validate(Seeing(), x, Y, cv=5, group=group, measures=["MSE"], **how)
        assert ev["MSE"].n == 5 * how.get("n_repeats", 1)
    ev = cal.cross_validate(Seeing(), x, Y, cv=5, group=group, time=True, measures=["MSE"])
    assert ev["MSE"].n == 5


def test_forward_in_time_nothing_later_is_trained_on():
    time = np.random.default_rng(2).integers(0, 50, len(Y))

    class Seeing(LinearRegression):
        def fit(self, features, target):
            self.latest = features[:, -1].max()
            return super().fit(features, target)

        def predict(self, features):
            assert features[:, -1].min() > self.latest
            return super().predict(features)

    ev = cal.cross_validate(Seeing(), np.column_stack([X, time]), Y, cv=5, time=time)
    assert any("a row was not trained on" in note for note in ev.notes)
    in_order = cal.cross_validate(Ridge(), X, Y, cv=5, time=True, measures=["MSE"])
    theirs = of_sklearn(Ridge(), X, Y, cv=TimeSeriesSplit(5), scoring="neg_mean_squared_error")
    assert in_order["MSE"].value == pytest.approx(-theirs["test_score"].mean(), rel=1e-12)
    hours = [timedelta(hours=int(t)) for t in time]  # as text, "10:00:00" is before "9:00:00"
    forward = cal.cross_validate(Seeing(), np.column_stack([X, time]), Y, cv=5, time=hours)
    assert forward["RMSE"].value == ev["RMSE"].value
    with pytest.raises(InputError, match="folds forward in time have one order"):
        cal.cross_validate(Ridge(), X, Y, time=True, n_repeats=2)


def test_strata_of_numbers_keep_folds_alike():
    ev = cal.cross_validate(Ridge(), X, np.sort(Y), stratify=True, measures=["MSE"])
    assert "stratified 10-fold" in ev.provenance["conventions"]["cross-validation"]


def test_weights_are_in_fits_and_measures():
    weight = np.random.default_rng(3).integers(1, 4, len(Y))
    ev = cal.cross_validate(Ridge(), X, Y, cv=KFold(3), weight=weight, measures=["MSE"])
    expected = []
    for train, test in KFold(3).split(X):
        model = Ridge().fit(X[train], Y[train], sample_weight=weight[train])
        expected.append(np.average((model.predict(X[test]) - Y[test]) ** 2, weights=weight[test]))
    assert ev["MSE"].value == pytest.approx(np.mean(expected), rel=1e-12)
    ev = cal.cross_validate(KNeighborsRegressor(), X, Y, cv=3, weight=weight)
    assert "Fitted without weights, which only measures take: KNeighborsRegressor." in ev.notes


# ------------------------------------------------------------------------------ what it does not say


@pytest.mark.slow
def test_rows_of_folds_have_no_interval_and_no_band():
    ev = cal.cross_validate(GaussianNB(), *NOISY)
    assert all(e.low != e.low or e.unit == "folds" for e in ev)
    assert {c.kind for c in ev.curves} >= {"ROC", "PR", "calibration", "calibration by bins"}
    assert not any(len(c.low) or len(c.simultaneous_low) for c in ev.curves)
    page = ev.to_html()
    assert '"z":null' in page
    assert ">Pooled<" in page
    assert "[B]" not in page
    assert "Wilson" not in page


def test_findings_are_of_intervals_as_much_longer_as_the_corrected_t():
    rows = np.arange(100)
    design = SplitDesign.from_pairs(
        [(rows[rows % 10 != k], rows[rows % 10 == k]) for k in range(10)], ""
    )
    assert normal_quantile(widened_level(0.95, design)) == pytest.approx(
        normal_quantile(0.95) * np.sqrt(1 + 10 / 9), rel=1e-6
    )
    noise = np.random.default_rng(6)
    x, y = noise.normal(size=(100, 3)), noise.integers(0, 2, 100)
    found = cal.cross_validate(GaussianNB(), x, y).findings
    [chance] = [f for f in found if f.kind == "not-above-chance"]
    assert chance.level == pytest.approx(widened_level(0.95, design), abs=1e-4)


def test_a_value_needs_every_fold():
    y = np.zeros(60, int)
    y[:3] = 1
    x = np.random.default_rng(4).normal(size=(60, 2))
    with pytest.raises(InputError, match="cv is 61, expected at most the number of rows, 60"):
        cal.cross_validate(GaussianNB(), x, y, cv=61)
    ev = cal.cross_validate(GaussianNB(), x, y, cv=5, measures=["AUC", "Brier"])
    assert np.isnan(ev["AUC"].value)
    assert ev["AUC"].undefined == {"no_positive": 2}
    assert ev["AUC"].n == 0
    assert ev["AUC"].pooled > 0
    assert ev["Brier"].has_interval
    assert any("least populated class" in note for note in ev.notes)


def test_leave_one_out():
    ours = cal.cross_validate(LinearRegression(), X[:30], Y[:30], cv=30, measures=["MSE", "R2"])
    theirs = of_sklearn(
        LinearRegression(), X[:30], Y[:30], cv=LeaveOneOut(), scoring="neg_mean_squared_error"
    )
    assert ours["MSE"].value == pytest.approx(-theirs["test_score"].mean(), rel=1e-12)
    assert ours["MSE"].pooled == pytest.approx(ours["MSE"].value, rel=1e-12)
    assert np.isnan(ours["R2"].value)
    assert ours["R2"].pooled == ours["R2"].pooled


def test_a_class_that_a_model_never_saw():
    y = np.array(["a"] * 20 + ["b"] * 20 + ["c"] * 20)
    x = np.random.default_rng(5).normal(size=(60, 2))
    pairs = [(np.arange(20, 60), np.arange(20)), (np.arange(40), np.arange(40, 60))]
    ev = cal.cross_validate(GaussianNB(), x, y, cv=pairs, measures=["accuracy"])
    assert any("trained without rows of some class" in note for note in ev.notes)
    assert ev["accuracy"].value == 0
    with pytest.raises(InputError, match="trained without rows of class a"):
        cal.cross_validate(RidgeClassifier(), x, y, cv=pairs, measures=["accuracy"])


# ---------------------------------------------------------------------------------------- the rest


def test_the_same_whatever_works_at_a_time():
    models = {"tree": DecisionTreeRegressor(max_features=2), "ridge": Ridge()}
    alone = cal.cross_validate(models, X, Y, cv=3)
    with joblib.parallel_config("threading"):
        assert cal.cross_validate(models, X, Y, cv=3, n_jobs=2).to_json() == alone.to_json()


def test_it_comes_back_from_a_file():
    ev = cal.cross_validate({"a": GaussianNB(), "b": DecisionTreeClassifier()}, *NOISY, cv=3)
    again = cal.from_json(ev.to_json(details=True))
    assert again["a", "AUC"] == ev["a", "AUC"]
    assert str(again) == str(ev)
    assert "pooled" in json.loads(ev.to_json())["systems"][0]["estimates"][0]
    assert "a, pooled" in str(ev)
    assert "pooled" in ev.to_text(layout="long")
    assert "pooled" in ev.to_csv().splitlines()[0]


class Interrupting(LinearRegression):
    def fit(self, features, target):
        if not hasattr(type(self), "left"):
            type(self).left = 5
        type(self).left -= 1
        if type(self).left < 0:
            raise KeyboardInterrupt
        return super().fit(features, target)


def test_an_interruption_keeps_the_folds_that_were_finished():
    with pytest.warns(UserWarning, match="interrupted: the numbers are of 2 of 10 folds"):
        ev = cal.cross_validate({"a": Interrupting(), "b": Interrupting()}, X, Y, measures=["MSE"])
    assert ev["a", "MSE"].value == pytest.approx(np.mean(FOLDS[:2]), rel=1e-9)
    assert "Interrupted: these numbers are of 2 of 10 folds, which were finished." in ev.notes
    conventions = ev.provenance["conventions"]
    assert (conventions["trained on"], conventions["tested on"]) == (397, 45)


class InterruptedAtSecond(LinearRegression):
    fits = 0

    def fit(self, features, target):
        type(self).fits += 1
        if type(self).fits == 2:
            raise KeyboardInterrupt
        return super().fit(features, target)


def test_one_finished_fold_is_a_single_split():
    with pytest.warns(UserWarning, match="interrupted: the numbers are of 1 of 10 folds"):
        ev = cal.cross_validate(InterruptedAtSecond(), X, Y, measures=["MSE"])
    assert ev.notes[0].startswith("One split: models are trained on 397 rows and measured on 45")


class InterruptedAtSixth(LinearRegression):
    fits = 0

    def fit(self, features, target):
        type(self).fits += 1
        if type(self).fits == 6:
            raise KeyboardInterrupt
        return super().fit(features, target)


def test_an_interruption_of_nested_intervals_is_noted():
    with pytest.warns(UserWarning, match="interrupted: the numbers are of 4 of 4 folds"):
        ev = cal.cross_validate(
            InterruptedAtSixth(), X, Y, cv=4, interval="nested", measures=["MSE"]
        )
    assert ev["MSE"].method == "corrected resampled t"
    note = "The nested intervals were not finished; these are corrected resampled t."
    assert note in ev.notes


@pytest.mark.parametrize(
    ("how", "message"),
    [
        ({"estimator": Ridge}, "estimator 'Ridge' is a class, expected an object of it"),
        ({"estimator": object()}, "has no fit"),
        ({"estimator": {"a": Ridge(), "b": GaussianNB()}}, "b is a classifier and a a regressor"),
        ({"cv": 1}, "cv is 1, expected 2 or more"),
        ({"cv": "ten"}, "cv is 'ten', expected a number of folds"),
        ({"cv": 500}, "expected at most the number of rows, 442"),
        ({"n_repeats": 0}, "n_repeats is 0"),
        ({"n_repeats": 2, "cv": KFold(3)}, "n_repeats= and stratify= require a number of folds"),
        ({"y": None}, "takes its features and a truth"),
        ({"y": Y[:5]}, "X: 442 rows, expected a table of 5 rows, as many as y has"),
        ({"fold": Y}, "fold= goes with existing predictions"),
        ({"interval": "bca"}, "interval is 'bca', expected one of corrected, nested, none"),
        ({"cv": [([], [1])]}, "cv: split 1 has 0 rows to train on"),
        ({"cv": []}, "cv: there are no splits"),
        ({"time": ["9", "10"] * 221}, "time: is '9' in row 0"),
        ({"task": "ranking"}, "task is 'ranking', expected one of"),
        ({"estimator": None}, "predictions with fold="),
        ({"n_jobs": 0}, "n_jobs is 0"),
    ],
)
def test_what_is_refused(how, message):
    given = {"estimator": Ridge(), "X": X, "y": Y, **how}
    with pytest.raises(InputError, match=message):
        cal.cross_validate(given.pop("estimator"), given.pop("X"), given.pop("y"), **given)


def test_estimators_are_evaluated_by_a_verb_from_outside():
    random = np.random.default_rng(2)
    x = random.normal(size=(90, 4))
    y = x @ [1, 2, 0, -1] + random.normal(size=90)
    asked = {"weight": random.gamma(4, size=90), "measures": ["MAE", "R2"], "seed": 3}

    @validate_arguments
    def outside(truth=None, predicted=None, **options):
        return cal.regression(truth, predicted, **options)

    models = {"plain": LinearRegression(), "shrunk": Ridge(50.0)}
    own, named = (
        cal.cross_validate(models, x, y, task=of, **asked) for of in (outside, "regression")
    )
    assert [str(e) for e in own] == [str(e) for e in named]
    assert [str(d) for d in own.comparison] == [str(d) for d in named.comparison]
    assert own["plain", "MAE"].value != own["shrunk", "MAE"].value
