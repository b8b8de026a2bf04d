"""Measures as scorers of scikit-learn, against its own; and models in the place of data."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest
import sklearn
from sklearn import datasets, metrics
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LinearRegression, LogisticRegression, Ridge
from sklearn.model_selection import GridSearchCV, cross_val_score, cross_validate
from sklearn.multiclass import OneVsRestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC

import calipers as cal

TWO = datasets.load_breast_cancer(return_X_y=True)
THREE = datasets.load_iris(return_X_y=True)
NAMED = (THREE[0], np.array(["setosa", "versicolor", "virginica"])[THREE[1]])
NUMBERS = datasets.load_diabetes(return_X_y=True)
_POINTS, _SETS = datasets.make_multilabel_classification(120, 6, n_classes=3, random_state=0)
SETS = (StandardScaler().fit_transform(_POINTS), _SETS)

LOGISTIC = make_pipeline(StandardScaler(), LogisticRegression())
VECTORS = make_pipeline(StandardScaler(), LinearSVC())
ONE_BY_ONE = OneVsRestClassifier(LogisticRegression())
FOREST = RandomForestClassifier(10, random_state=0)

CASES = [
    ("AUC", "roc_auc", TWO, LOGISTIC),
    ("AUC", "roc_auc", TWO, VECTORS),  # which has no probabilities
    ("PR-AUC", None, TWO, LOGISTIC),
    ("F1", "f1", TWO, LOGISTIC),
    ("log-loss", "neg_log_loss", TWO, LOGISTIC),
    ("Brier", "neg_brier_score", TWO, LOGISTIC),
    ("accuracy", "accuracy", NAMED, LOGISTIC),
    ("macro-F1", "f1_macro", NAMED, LOGISTIC),
    ("log-loss", "neg_log_loss", NAMED, LOGISTIC),
    ("macro-AUC", "roc_auc_ovr", NAMED, LOGISTIC),
    ("MCC", "matthews_corrcoef", NAMED, VECTORS),
    ("RMSE", "neg_root_mean_squared_error", NUMBERS, LinearRegression()),
    ("R2", "r2", NUMBERS, LinearRegression()),
    ("macro-F1", "f1_macro", SETS, ONE_BY_ONE),
    ("subset-accuracy", "accuracy", SETS, ONE_BY_ONE),
    ("macro-AUC", "roc_auc_ovr", SETS, ONE_BY_ONE),
    ("macro-AUC", "roc_auc_ovr", SETS, FOREST),  # a table of probabilities for each label
]


@pytest.mark.parametrize(("name", "theirs", "data", "model"), CASES)
def test_scores_are_those_of_scikit_learn(name: str, theirs: Any, data: Any, model: Any) -> None:
    ours = cross_val_score(model, *data, scoring=cal.measure(name).scorer(), cv=3)
    if theirs is None:
        assert ((ours > 0.9) & (ours <= 1)).all()
    else:
        expected = cross_val_score(model, *data, scoring=theirs, cv=3)
        np.testing.assert_allclose(ours, expected, rtol=1e-12)


def test_the_best_of_a_grid_in_two_processes() -> None:
    scoring = {name: cal.measure(name).scorer() for name in ("macro-F1", "log-loss")}
    grid = {"logisticregression__C": [0.01, 1]}
    search = GridSearchCV(LOGISTIC, grid, scoring=scoring, refit="log-loss", n_jobs=2, cv=3)
    search.fit(*NAMED)
    assert search.best_params_ == {"logisticregression__C": 1}  # less loss, not more
    assert (search.cv_results_["mean_test_log-loss"] < 0).all()


def test_weights_come_by_routing() -> None:
    x, y = NUMBERS
    weight = np.random.default_rng(0).random(len(y))
    model = LinearRegression()
    found = []
    with sklearn.config_context(enable_metadata_routing=True):
        model.set_fit_request(sample_weight=False)
        for scorer in (
            cal.measure("MSE").scorer(),
            metrics.get_scorer("neg_mean_squared_error"),
        ):
            asked = scorer.set_score_request(sample_weight=True)
            made = cross_validate(model, x, y, scoring=asked, params={"sample_weight": weight})
            found.append(made["test_score"])
    np.testing.assert_allclose(*found)
    plain = cal.measure("MSE").scorer()
    fitted = model.fit(x, y)
    assert plain(fitted, x, y, sample_weight=weight) != plain(fitted, x, y)


def test_the_positive_class_has_to_be_named_and_may_be_the_first() -> None:
    x, y = TWO
    words = np.where(y == 1, "benign", "malignant")
    for model in (LOGISTIC, VECTORS):
        fitted = model.fit(x, words)
        scorer = cal.measure("AUC").scorer("malignant")
        own = metrics.roc_auc_score(words == "malignant", -fitted.decision_function(x))
        assert scorer(fitted, x, words) in (1 - own, pytest.approx(1 - own), pytest.approx(own))
        assert scorer(fitted, x, words) == pytest.approx(
            cal.measure("AUC").scorer("benign")(fitted, x, words)
        )
        recall = cal.measure("recall").scorer("malignant")(fitted, x, words)
        called = fitted.predict(x)
        assert recall == metrics.recall_score(words, called, pos_label="malignant")
    with pytest.raises(cal.InputError, match="say which one is positive"):
        cal.measure("F1").scorer()(fitted, x, words)


def test_a_scorer_can_be_pickled_and_says_what_it_is() -> None:
    scorer = cal.measure("F1").scorer(positive="yes")
    assert repr(scorer) == "measure('F1').scorer(positive='yes')"
    assert pickle.loads(pickle.dumps(scorer)) == scorer


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("detection-prevalence", "no value is better"),
        ("nDCG@10", "reads rankings"),
        ("WIS", "reads quantiles"),
    ],
)
def test_what_is_no_score_is_refused(name: str, message: str) -> None:
    with pytest.raises(cal.InputError, match=message):
        cal.measure(name).scorer()


def test_a_model_without_the_method() -> None:
    with pytest.raises(cal.InputError, match="needs predict_proba, which Pipeline does not have"):
        cal.measure("log-loss").scorer()(VECTORS.fit(*TWO), *TWO)


# --- Values of several classes and labels ---------------------------------------------------------


def test_values_of_several_classes() -> None:
    x, y = NAMED
    fitted = LOGISTIC.fit(x, y)
    called, p = fitted.predict(x), fitted.predict_proba(x)
    assert cal.measure("macro-F1")(y, called) == metrics.f1_score(y, called, average="macro")
    loss = pytest.approx(metrics.log_loss(y, p), rel=1e-12)
    assert cal.measure("log-loss")(y, p) == loss
    assert cal.measure("log-loss")(y, p, classes=fitted.classes_) == loss
    # Rows of two of the classes only, and the columns in another order.
    some = metrics.log_loss(y[:100], p[:100], labels=fitted.classes_)
    order = [2, 0, 1]
    given = {"labels": fitted.classes_[order], "weight": np.ones(100)}
    assert cal.measure("log-loss")(y[:100], p[:100][:, order], **given) == pytest.approx(some)
    assert cal.measure("macro-AUC")(y, p) == pytest.approx(
        metrics.roc_auc_score(y, p, multi_class="ovr")
    )
    top = metrics.top_k_accuracy_score(y, p, k=2)
    assert cal.measure("top-k-accuracy@2")(y, p) == pytest.approx(top)
    with pytest.raises(cal.InputError, match="one of them"):
        cal.measure("log-loss")(y, p, labels=[1], classes=[1])


def test_a_column_for_each_of_two_classes() -> None:
    truth, p = [0, 1, 1, 0], np.array([0.2, 0.9, 0.4, 0.5])
    both = np.column_stack([1 - p, p])
    for name in ("AUC", "log-loss", "Brier"):
        assert cal.measure(name)(truth, both) == cal.measure(name)(truth, p)
    words = ["n", "y", "y", "n"]
    assert cal.measure("AUC")(words, {"y": p, "n": 1 - p}, positive="y") == 0.75


def test_values_of_several_labels() -> None:
    x, y = SETS
    fitted = ONE_BY_ONE.fit(x, y)
    called, p = fitted.predict(x), fitted.predict_proba(x)
    expected = metrics.f1_score(y, called, average="micro")
    assert cal.measure("micro-F1")(y, called) == pytest.approx(expected)
    some = y.any(axis=1)  # a row without labels has no value
    ranking = metrics.label_ranking_average_precision_score(y[some], p[some])
    assert cal.measure("LRAP")(y, p) == pytest.approx(ranking)
    assert cal.measure("subset-accuracy")([{"a"}, {"b", "a"}], [{"a"}, {"b"}]) == 0.5


# --- Models in the place of data ------------------------------------------------------------------


def test_a_model_says_what_columns_say() -> None:
    x, y = TWO
    models = {"logistic": LOGISTIC.fit(x, y), "vectors": VECTORS.fit(x, y)}
    ev = cal.classification(models, x, y, measures=["AUC", "accuracy"], interval="none")
    assert ev["logistic", "accuracy"].value == models["logistic"].score(x, y)
    assert ev["vectors", "accuracy"].value == models["vectors"].score(x, y)
    score = models["vectors"].decision_function(x)
    assert ev["vectors", "AUC"].value == pytest.approx(metrics.roc_auc_score(y, score))
    assert cal.classification(models["logistic"], x, y, interval="none")["log-loss"].value > 0


def test_a_model_of_several_classes() -> None:
    x, y = NAMED
    fitted = LOGISTIC.fit(x, y)
    ev = cal.classification(fitted, x, y, interval="none", curves=False)
    assert ev.systems == ("LogisticRegression",)
    assert ev["accuracy"].value == fitted.score(x, y)
    assert ev["log-loss"].value == pytest.approx(metrics.log_loss(y, fitted.predict_proba(x)))
    one = cal.classification(fitted, x, y, positive="virginica", measures=["AUC"], interval="none")
    place = list(fitted.classes_).index("virginica")
    expected = metrics.roc_auc_score(y == "virginica", fitted.predict_proba(x)[:, place])
    assert one["AUC"].value == pytest.approx(expected)


def test_labels_are_those_that_the_model_predicts() -> None:
    class Cautious:
        classes_ = np.array([0, 1])

        def predict_proba(self, x: Any) -> Any:
            return np.column_stack([1 - x, x])

        def predict(self, x: Any) -> Any:
            return (x >= 0.8).astype(int)

    x, y = np.array([0.6, 0.9, 0.3]), np.array([0, 1, 0])
    options: dict[str, Any] = {"measures": ["accuracy"], "interval": "none"}
    assert cal.classification(Cautious(), x, y, **options)["accuracy"].value == 1.0
    own = cal.classification(Cautious(), x, y, threshold=0.5, **options)
    assert own["accuracy"].value == pytest.approx(2 / 3)


def test_models_of_numbers() -> None:
    x, y = NUMBERS
    models = {"ridge": Ridge().fit(x, y), "least squares": LinearRegression().fit(x, y)}
    ev = cal.regression(models, x, y, measures=["R2"], interval="none")
    assert ev["ridge", "R2"].value == pytest.approx(models["ridge"].score(x, y))
    assert cal.regression(models["ridge"], x, y, interval="none").systems == ("Ridge",)


@pytest.mark.parametrize(
    ("arguments", "options", "message"),
    [
        (([0, 1], [0, 1], [0, 1]), {}, "y= is the truth for a fitted model"),
        ((LOGISTIC, TWO[0]), {}, r"give \(model, X, y\)"),
        ((LogisticRegression, *TWO), {}, "is a class, expected a fitted model"),
        ((LOGISTIC, *TWO), {"score": [1]}, "score= does not apply to a model"),
    ],
)
def test_what_goes_not_with_a_model(arguments: Any, options: Any, message: str) -> None:
    with pytest.raises(cal.InputError, match=message):
        cal.classification(*arguments, **options)
