"""Fitted models of scikit-learn in the place of data, where classes or labels are several."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sklearn import metrics
from sklearn.datasets import load_breast_cancer, load_wine, make_multilabel_classification
from sklearn.linear_model import LogisticRegression, RidgeClassifier
from sklearn.multiclass import OneVsRestClassifier
from sklearn.multioutput import ClassifierChain, MultiOutputClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

import calipers as cal

PLAIN: dict[str, Any] = {"interval": "none", "curves": False}
X, Y = make_multilabel_classification(120, n_classes=3, random_state=0)
LABELS = [
    OneVsRestClassifier(LogisticRegression()),
    MultiOutputClassifier(LogisticRegression()),
    ClassifierChain(LogisticRegression()),
    DecisionTreeClassifier(max_depth=4, random_state=0),
]


@pytest.mark.parametrize("model", LABELS, ids=lambda model: type(model).__name__)
def test_models_of_several_labels(model: Any) -> None:
    fitted = model.fit(X[:60], Y[:60])
    names = ["subset-accuracy", "macro-AUC", "macro-F1"]
    ev = cal.multilabel(fitted, X[60:], Y[60:], labels=list("abc"), measures=names, **PLAIN)
    said = fitted.predict_proba(X[60:])
    share = np.column_stack([one[:, 1] for one in said]) if isinstance(said, list) else said
    assert ev["subset-accuracy"].value == np.mean((fitted.predict(X[60:]) == Y[60:]).all(axis=1))
    assert ev["macro-AUC"].value == pytest.approx(metrics.roc_auc_score(Y[60:], share))
    f1 = metrics.f1_score(Y[60:], fitted.predict(X[60:]), average="macro")
    assert ev["macro-F1"].value == pytest.approx(f1)


def test_models_of_labels_with_scores_or_labels_alone() -> None:
    ridge = RidgeClassifier().fit(X[:60], Y[:60])

    class Labels:
        predict = staticmethod(ridge.predict)

    models = {"ridge": ridge, "labels": Labels()}
    ev = cal.multilabel(models, X[60:], Y[60:], measures=["Hamming-loss"], **PLAIN)
    expected = metrics.hamming_loss(Y[60:], ridge.predict(X[60:]))
    assert [one.value for one in ev] == pytest.approx([expected] * 2)
    ranks = cal.multilabel(ridge, X[60:], Y[60:], measures=["macro-AUC"], **PLAIN)
    own = metrics.roc_auc_score(Y[60:], ridge.decision_function(X[60:]))
    assert ranks["macro-AUC"].value == pytest.approx(own)


@pytest.mark.parametrize("always", [0, 1])
def test_a_label_that_was_always_or_never_there(always: int) -> None:
    taught = Y[:60].copy()
    taught[:, 1] = always
    tree = DecisionTreeClassifier(max_depth=4, random_state=0).fit(X[:60], taught)
    assert tree.predict_proba(X)[1].shape[1] == 1
    ev = cal.multilabel(tree, X[60:], Y[60:], measures=["recall[1]"], **PLAIN)
    assert ev["recall[1]"].value == always


@pytest.mark.parametrize(
    ("classes", "positive"), [(("no", "yes"), "yes"), ((0, 1), None), ((-1, 1), None)]
)
@pytest.mark.parametrize("only", [0, 1])
def test_a_model_fitted_to_one_class(classes: Any, positive: Any, only: int) -> None:
    model = DecisionTreeClassifier().fit(X[:60], [classes[only]] * 60)
    truth = np.array(classes)[[0, 1, 1, 1]]
    names = ["accuracy", "Brier"]
    options = {"positive": positive, "measures": names, **PLAIN}
    accuracy = metrics.accuracy_score(truth, model.predict(X[:4]))
    ev = cal.classification(model, X[:4], truth, **options)
    assert [one.value for one in ev] == [accuracy, 1 - accuracy]
    assert cal.measure("Brier").scorer(positive=positive)(model, X[:4], truth) == accuracy - 1


# --- Rows without a class that the model knows ----------------------------------------------------


def _fitted(data: Any) -> tuple[Any, Any, Any]:
    y = data.target_names[data.target]
    return make_pipeline(StandardScaler(), LogisticRegression()).fit(data.data, y), data.data, y


def test_rows_that_lack_a_class_of_the_model() -> None:
    model, x, y = _fitted(load_wine())
    for there in (["class_0", "class_1"], ["class_1"]):
        rows = np.isin(y, there)
        names = ["accuracy", "log-loss"]
        ev = cal.classification(model, x[rows], y[rows], measures=names, **PLAIN)
        assert ev.provenance["conventions"]["classes"] == ["class_0", "class_1", "class_2"]
        share = model.predict_proba(x[rows])
        expected = metrics.log_loss(y[rows], share, labels=model.classes_)
        assert ev["log-loss"].value == pytest.approx(expected)
        assert ev["accuracy"].value == model.score(x[rows], y[rows])
    rows = y != "class_2"
    one = cal.classification(model, x[rows], y[rows], positive="class_1", measures="AUC", **PLAIN)
    expected = metrics.roc_auc_score(y[rows] == "class_1", model.predict_proba(x[rows])[:, 1])
    assert one["AUC"].value == pytest.approx(expected)


def test_rows_of_one_of_two_classes() -> None:
    model, x, y = _fitted(load_breast_cancer())
    rows = y == "benign"
    names = ["specificity", "recall"]
    ev = cal.classification(model, x[rows], y[rows], positive="malignant", measures=names, **PLAIN)
    assert ev["specificity"].value == model.score(x[rows], y[rows])
    assert np.isnan(ev["recall"].value)


@pytest.mark.parametrize("verb", [cal.classification, cal.regression, cal.multilabel])
def test_features_and_truth_of_unequal_length(verb: Any) -> None:
    class Model:
        def predict(self, x: Any) -> Any:
            return np.zeros(len(x))

    with pytest.raises(cal.InputError, match="X has 3 rows and y 2; expected equally many"):
        verb(Model(), np.zeros((3, 1)), [0, 1])
