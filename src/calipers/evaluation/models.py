"""Fitted models in place of their predictions.

A model has ``predict``, ``predict_proba`` or ``decision_function``, and optionally ``classes_``, as
the estimators of scikit-learn do.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from calipers.data.arrays import to_matrix
from calipers.data.binary_labels import find_positive_class, paired_label
from calipers.data.class_labels import (
    EncodedLabels,
    encode_labels,
    find_label,
    label_index,
    label_name,
    sort_labels,
)
from calipers.data.errors import InputError, did_you_mean, format_value

_METHODS = ("predict", "predict_proba", "decision_function")


def is_estimator(value: Any) -> bool:
    """Return whether an object can make predictions."""
    return any(callable(getattr(value, name, None)) for name in _METHODS)


def has_estimators(value: Any) -> bool:
    """Return whether the argument is a model, or a dict of models by name."""
    if isinstance(value, Mapping):
        return bool(value) and all(map(is_estimator, value.values()))
    return is_estimator(value)


def named_estimators(estimators: Any) -> dict[str, Any]:
    """Return models by name; a single model has the name of its class."""
    by_name = (
        estimators if isinstance(estimators, Mapping) else {_model_name(estimators): estimators}
    )
    for name, estimator in by_name.items():
        if isinstance(estimator, type):
            raise InputError(f"{name}: is a class, expected a fitted model of it")
    return {str(name): estimator for name, estimator in by_name.items()}


def _model_name(estimator: Any) -> str:
    """Return the name of a model: of a search its best estimator, of a pipeline its last step."""
    while True:
        inner = getattr(estimator, "best_estimator_", None)
        steps = getattr(estimator, "steps", None)
        if inner is None and steps:
            inner = steps[-1][1]
        if inner is None:
            model_class = estimator if isinstance(estimator, type) else type(estimator)
            return str(model_class.__name__)
        estimator = inner


def check_model_arguments(
    estimators: Any, features: Any, target: Any, predictions: Mapping[str, Any]
) -> None:
    """Check that a model has features and a truth of the same length, and no predictions."""
    if not has_estimators(estimators):
        raise InputError(
            "y= is the truth for a fitted model and its features, as in (model, X, y); a column of "
            "the truth is truth="
        )
    if features is None or target is None:
        raise InputError("a model is evaluated on features and a truth: give (model, X, y)")
    for name in (name for name, value in predictions.items() if value is not None):
        raise InputError(f"{name}= does not apply to a model, which makes its own predictions")
    rows, truth_rows = n_rows(features), n_rows(target)
    if None not in (rows, truth_rows) and rows != truth_rows:
        raise InputError(f"X has {rows:,} rows and y {truth_rows:,}; expected equally many")


def n_rows(values: Any) -> int | None:
    """Return the number of rows, or None if it is unknown, as for a column given by name."""
    if isinstance(values, Mapping):
        return n_rows(next(iter(values.values()), None))
    shape = getattr(values, "shape", None)
    if shape is not None and not callable(shape):
        return int(shape[0]) if len(shape) else None
    return None if isinstance(values, str) or not hasattr(values, "__len__") else len(values)


# --- Classes --------------------------------------------------------------------------------------


class ModelOutputs(NamedTuple):
    """Truth, predictions of models, and the classes that the models know."""

    truth: Any
    predicted: Any
    score: Any
    probability: Any
    known_labels: tuple[str, ...] = ()

    @property
    def columns(self) -> dict[str, Any]:
        """Truth and predictions by role."""
        return {role: getattr(self, role) for role in self._fields if role != "known_labels"}

    def missing_labels(self, truth: EncodedLabels, positive: Any) -> tuple[str, ...] | None:
        """Return the classes of the models if they are needed to identify the problem, else None.

        They are needed if models know classes that occur in no row.
        """
        if positive is not None:
            is_needed = len(self.known_labels) == 2 > len(truth.labels)
        else:
            is_needed = len(self.known_labels) > 2 >= len(truth.labels)
        index_by_label = label_index(self.known_labels)
        all_known = all(find_label(index_by_label, name) is not None for name in truth.names)
        return self.known_labels if is_needed and all_known else None


def predict_classes(
    truth: Any,
    predicted: Any,
    target: Any,
    score: Any,
    probability: Any,
    positive: Any,
    threshold: Any,
) -> ModelOutputs:
    """Return truth, labels, scores and probabilities as given, or as predicted by models.

    If ``truth`` holds models and ``predicted`` their features, a model gives probabilities if it
    has any, else scores with its labels, else labels. Labels are added to probabilities if they are
    not those of the highest probability, unless there is a threshold.
    """
    if target is None and not has_estimators(truth):
        return ModelOutputs(truth, predicted, score, probability)
    check_model_arguments(truth, predicted, target, {"score": score, "probability": probability})
    estimators, features, has_threshold = truth, predicted, threshold is not None
    outputs: dict[str, dict[str, Any]] = {"predicted": {}, "score": {}, "probability": {}}
    label_names: dict[str, None] = {}
    for name, model in named_estimators(estimators).items():
        names = class_names(model)
        label_names |= dict.fromkeys(names)
        labels = None if has_threshold else _predict(model, features)
        table = _class_outputs(model, "predict_proba", features)
        if table is not None:
            # With several classes all columns are needed, by the names of the classes.
            table_positive = None if len(names) > 2 and _is_multiclass(target) else positive
            outputs["probability"][name] = positive_column(table, names, table_positive)
            if labels is not None and not _is_argmax(table, model, labels):
                outputs["predicted"][name] = labels
            continue
        table = _class_outputs(model, "decision_function", features)
        if table is not None:
            outputs["score"][name] = positive_column(table, names, positive)
        if labels is None and table is None:
            labels = _predict(model, features)
        if labels is not None:
            outputs["predicted"][name] = labels
    predicted, score, probability = (columns or None for columns in outputs.values())
    return ModelOutputs(target, predicted, score, probability, tuple(sort_labels(label_names)))


def _is_multiclass(target: Any) -> bool:
    """Return whether rows have more than two classes, or it is not known yet."""
    try:
        return isinstance(target, str) or len(encode_labels(target, "y").labels) > 2
    except InputError:  # missing values, say, which are seen to where rows are read
        return True


def class_names(model: Any) -> tuple[str, ...]:
    """Return the classes that a model knows.

    There are none if it does not state them or has several outputs.
    """
    classes = getattr(model, "classes_", None)
    if classes is None or isinstance(classes, list) or np.ndim(classes) != 1:
        return ()
    return tuple(label_name(label) for label in classes)


def positive_column(table: Any, names: Sequence[str], positive: Any) -> Any:
    """Return the column of the positive class, or a column for each of several classes."""
    values = np.asarray(table)
    if values.ndim == 2 and values.shape[1] == 1:
        values = values[:, 0]
    if values.ndim == 1:
        if len(names) == 1:  # a model that was fitted to rows of one class
            return values if _is_positive(names[0], positive) else 1 - values
        is_second = positive is None or len(names) != 2 or _positive_index(names, positive) == 1
        return values if is_second else -values
    if positive is not None and names:
        return values[:, _positive_index(names, positive)]
    if len(names) == 2 and (index := find_positive_class(names)) is not None:
        return values[:, index]
    if len(names) != values.shape[1]:
        return values[:, 1] if values.shape[1] == 2 else values
    return {name: values[:, index] for index, name in enumerate(names)}


def _is_positive(name: str, positive: Any) -> bool:
    """Return whether a class is the positive one; a class of unknown meaning is."""
    if positive is not None:
        return find_label(label_index((name,)), label_name(positive)) is not None
    second_class = paired_label(name)
    return second_class is None or find_positive_class((name, second_class)) == 0


def _positive_index(names: Sequence[str], positive: Any) -> int:
    index = find_label(label_index(names), label_name(positive))
    if index is None:
        is_scalar = isinstance(positive, str | int | float | np.generic)
        positive_name = repr(label_name(positive)) if is_scalar else format_value(positive)
        raise InputError(
            f"positive: {positive_name} is not a class of the model; "
            + did_you_mean(label_name(positive), names)
        )
    return index


def _class_outputs(model: Any, method: str, features: Any) -> Any:
    """Return the output of a method, or None if the model does not have it."""
    predict_method = getattr(model, method, None)
    return None if predict_method is None else np.asarray(predict_method(features))


def _predict(model: Any, features: Any) -> Any:
    predict_method = getattr(model, "predict", None)
    return None if predict_method is None else predict_method(features)


def _is_argmax(table: Any, model: Any, labels: Any) -> bool:
    """Return whether the labels are those of the highest probability, with ties in any order."""
    classes, values = getattr(model, "classes_", None), np.asarray(table)
    if classes is None or values.ndim != 2 or values.shape[1] != len(classes):
        return True
    index_by_label = {label_name(label): i for i, label in enumerate(classes)}
    label_indices = np.array(
        [index_by_label.get(label_name(label), -1) for label in np.asarray(labels)]
    )
    label_probability = values[np.arange(len(values)), label_indices]
    return bool((label_indices >= 0).all() and (label_probability == values.max(axis=1)).all())


# --- Several labels a row -------------------------------------------------------------------------


def predict_labels(
    truth: Any, predicted: Any, target: Any, score: Any, probability: Any, threshold: Any
) -> ModelOutputs:
    """Return truth, label sets, scores and probabilities as given, or as predicted by models.

    This is :func:`predict_classes` for rows with several labels. Labels are added to probabilities
    if they are not those with a probability of at least 0.5, unless there is a threshold.
    """
    if target is None and not has_estimators(truth):
        return ModelOutputs(truth, predicted, score, probability)
    check_model_arguments(truth, predicted, target, {"score": score, "probability": probability})
    estimators, features = truth, predicted
    outputs: dict[str, dict[str, Any]] = {"predicted": {}, "score": {}, "probability": {}}
    for name, model in named_estimators(estimators).items():
        labels = None if threshold is not None else _to_dense(_predict(model, features))
        probabilities, scores = _label_probabilities(model, features), None
        if probabilities is not None:
            outputs["probability"][name] = probabilities
            if labels is not None and _is_half_threshold(probabilities, labels):
                continue
        else:
            scores = _decision_scores(model, features)
        if scores is not None:
            outputs["score"][name] = scores
        if labels is None and probabilities is None and scores is None:
            labels = _to_dense(_predict(model, features))
        if labels is not None:
            outputs["predicted"][name] = labels
    predicted, score, probability = (columns or None for columns in outputs.values())
    return ModelOutputs(target, predicted, score, probability)


def _label_probabilities(model: Any, features: Any) -> Any:
    """Return the probability of each label, of shape (n, n_labels), or None.

    If a model returns a list with an array for each label, ``classes_`` states which column is the
    probability that the label is present. A label that was constant in training has probability 1
    or 0 in all rows.
    """
    predict_method = getattr(model, "predict_proba", None)
    if predict_method is None:
        return None
    output = predict_method(features)
    if not isinstance(output, list):
        return to_matrix(output, "predict_proba")
    label_classes = getattr(model, "classes_", None)
    if not isinstance(label_classes, list) or len(label_classes) != len(output):
        label_classes = [(0, 1)] * len(output)
    columns = []
    for probabilities, classes in zip(output, label_classes, strict=True):
        names = [label_name(label) for label in classes]
        column_index = next((i for i, name in enumerate(names) if name in ("1", "True")), None)
        columns.append(
            np.zeros(len(probabilities))
            if column_index is None
            else np.asarray(probabilities)[:, column_index]
        )
    return np.column_stack(columns)


def _decision_scores(model: Any, features: Any) -> Any:
    predict_method = getattr(model, "decision_function", None)
    return (
        None if predict_method is None else to_matrix(predict_method(features), "decision_function")
    )


def _to_dense(labels: Any) -> Any:
    """Return labels as a dense array."""
    return labels.toarray() if hasattr(labels, "toarray") else labels


def _is_half_threshold(probabilities: Any, labels: Any) -> bool:
    """Return whether the labels are those with a probability of at least 0.5."""
    predicted = np.asarray(labels)
    return predicted.shape == probabilities.shape and bool(
        ((probabilities >= 0.5) == (predicted == 1)).all()
    )


# --- Numbers --------------------------------------------------------------------------------------


def predict_numbers(estimators: Any, features: Any) -> dict[str, Any]:
    """Return the predictions of models by name, for :func:`calipers.regression`."""
    return {name: model.predict(features) for name, model in named_estimators(estimators).items()}
