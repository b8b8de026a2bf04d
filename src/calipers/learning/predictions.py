"""Predictions of fitted models, and their combination into out-of-fold predictions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from calipers.data.class_labels import label_name
from calipers.data.errors import InputError
from calipers.evaluation.models import named_estimators
from calipers.learning.fitting import Indices


class ModelPredictions(NamedTuple):
    """Predictions of a model: labels or numbers, and for classes their probabilities or scores."""

    labels: Any
    probability: Any = None
    scores: Any = None
    classes: Any = None


def predict_classifier(model: Any, features: Any) -> ModelPredictions:
    """Return labels, probabilities or decision scores, and the classes of a classifier."""

    def table(method: str) -> Any:
        predict = getattr(model, method, None)
        return None if predict is None else np.asarray(predict(features))

    probability = table("predict_proba")
    scores = table("decision_function") if probability is None else None
    classes = getattr(model, "classes_", None)
    return ModelPredictions(np.asarray(model.predict(features)), probability, scores, classes)


def predict_regressor(model: Any, features: Any) -> ModelPredictions:
    """Return the numbers that a regressor predicts."""
    return ModelPredictions(np.asarray(model.predict(features)))


class OutOfFoldModel:
    """Out-of-fold predictions of several models, with the interface of one fitted model.

    Each row has the prediction of a model that was not trained on it. ``n_incomplete_models``
    counts the models that were trained on rows of fewer classes than all models together.
    """

    def __init__(self, predictions: ModelPredictions, lacking: int = 0) -> None:
        self.predictions, self.n_incomplete_models = predictions, lacking
        if predictions.classes is not None:
            self.classes_ = predictions.classes
        if predictions.probability is not None:
            self.predict_proba = lambda features: predictions.probability
        if predictions.scores is not None:
            self.decision_function = lambda features: predictions.scores

    @classmethod
    def from_folds(
        cls,
        name: str,
        fold_predictions: Sequence[ModelPredictions],
        fold_indices: Sequence[Indices],
    ) -> OutOfFoldModel:
        """Combine the predictions of each fold, whose rows have the indices ``fold_indices``."""
        order = np.argsort(np.concatenate(fold_indices), kind="stable")
        class_lists = [
            fold_prediction.classes
            for fold_prediction in fold_predictions
            if fold_prediction.classes is not None
        ]
        classes = np.unique(np.concatenate(class_lists)) if class_lists else None

        def concatenate(column: str) -> Any:
            tables = [
                (fold_prediction.classes, getattr(fold_prediction, column))
                for fold_prediction in fold_predictions
            ]
            if any(table is None for _, table in tables):
                return None
            return np.concatenate([_expand_columns(name, classes, *pair) for pair in tables])[order]

        labels = np.concatenate([fold_prediction.labels for fold_prediction in fold_predictions])[
            order
        ]
        lacking = (
            0
            if classes is None
            else sum(len(fold_classes) < len(classes) for fold_classes in class_lists)
        )
        return cls(
            ModelPredictions(labels, concatenate("probability"), concatenate("scores"), classes),
            lacking,
        )

    def take_rows(self, rows: Indices) -> OutOfFoldModel:
        """Return the predictions of some rows."""
        labels, probability, scores, classes = self.predictions
        probability_rows, score_rows = (
            None if t is None else t[rows] for t in (probability, scores)
        )
        return OutOfFoldModel(ModelPredictions(labels[rows], probability_rows, score_rows, classes))

    def predict(self, features: Any) -> Any:
        """Return the predicted labels or numbers."""
        return self.predictions.labels


def _expand_columns(name: str, classes: Any, model_classes: Any, table: Any) -> Any:
    """Expand a table to a column for each class, also for those absent from the training rows."""
    if model_classes is None or len(model_classes) == len(classes):
        return table
    if (
        table.ndim != 2
        or len(model_classes) != table.shape[1]
        or not np.allclose(table.sum(axis=1), 1)
    ):
        absent = [label_name(c) for c in classes if c not in model_classes]
        raise InputError(
            f"{name}: a model was trained without rows of class {', '.join(absent)}, so its scores "
            "are not comparable with the others; use fewer folds, or stratified ones"
        )
    expanded = np.zeros((len(table), len(classes)))
    expanded[:, np.searchsorted(classes, model_classes)] = table
    return expanded


def check_named_estimators(estimator: Any) -> dict[str, Any]:
    """Return unfitted estimators by name; raise InputError if one is not an estimator."""
    estimators = estimator if isinstance(estimator, Mapping) else {"": estimator}
    if not estimators:
        raise InputError("estimator: an empty dict, expected at least one estimator")
    for name, model in estimators.items():
        if isinstance(model, type):
            raise InputError(
                f"estimator {name or model.__name__!r} is a class, expected an object of it, as in "
                f"{model.__name__}()"
            )
        if not (hasattr(model, "fit") and hasattr(model, "predict")):
            raise InputError(
                f"estimator {name or type(model).__name__!r} has no fit() and predict(), which the "
                "estimators of scikit-learn have"
            )
    return named_estimators(estimator)


def is_classification(estimators: Mapping[str, Any]) -> bool:
    """Return whether all estimators are classifiers; raise InputError if kinds are mixed."""
    from sklearn.base import is_classifier, is_regressor

    is_classifier_by_name = {}
    for name, model in estimators.items():
        if not is_classifier(model) and not is_regressor(model):
            raise InputError(
                f"{name} is neither a classifier nor a regressor for scikit-learn; give task="
            )
        is_classifier_by_name[name] = bool(is_classifier(model))
    if len(set(is_classifier_by_name.values())) > 1:
        name_by_kind = {kind: name for name, kind in is_classifier_by_name.items()}
        raise InputError(
            f"{name_by_kind[True]} is a classifier and {name_by_kind[False]} a regressor, which "
            "have "
            "no measure in common"
        )
    return next(iter(is_classifier_by_name.values()))


def index_tested_rows(test_indices: Sequence[tuple[int, Indices]]) -> tuple[Indices, list[Indices]]:
    """Return the indices of the tested rows, and the positions of each fold among them.

    Rows are ordered repetition by repetition, and by index within each. ``test_indices`` are
    pairs of a repetition and the rows tested in it.
    """
    rows: list[Indices] = []
    fold_indices: list[Indices] = []
    offset = 0
    for current_repetition in dict.fromkeys(repetition for repetition, _ in test_indices):
        test_parts = [test for repetition, test in test_indices if repetition == current_repetition]
        repetition_rows = np.concatenate(test_parts)
        order = np.argsort(repetition_rows, kind="stable")
        positions = np.empty(len(repetition_rows), np.intp)
        positions[order] = np.arange(len(repetition_rows))
        fold_indices += [
            offset + test
            for test in np.split(positions, np.cumsum([len(test) for test in test_parts])[:-1])
        ]
        rows.append(repetition_rows[order])
        offset += len(repetition_rows)
    return np.concatenate(rows), fold_indices
