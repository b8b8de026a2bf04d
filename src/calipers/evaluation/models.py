"""Fitted models in place of their predictions.

A model has ``predict``, ``predict_proba`` or ``decision_function``, and optionally ``classes_``, as
the estimators of scikit-learn do.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from calipers.data.arrays import to_matrix
from calipers.data.binary_labels import find_positive_class
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


def is_estimator(given: Any) -> bool:
    """Return whether an object can make predictions."""
    return any(callable(getattr(given, name, None)) for name in _METHODS)


def are_estimators(given: Any) -> bool:
    """Return whether the argument is a model, or a dict of models by name."""
    if isinstance(given, Mapping):
        return bool(given) and all(map(is_estimator, given.values()))
    return is_estimator(given)


def named_estimators(given: Any) -> dict[str, Any]:
    """Return models by name; a single model has the name of its class."""
    named = given if isinstance(given, Mapping) else {_model_name(given): given}
    for name, one in named.items():
        if isinstance(one, type):
            raise InputError(f"{name}: is a class, expected a fitted model of it")
    return {str(name): one for name, one in named.items()}


def _model_name(estimator: Any) -> str:
    """Return the name of a model: of a search its best estimator, of a pipeline its last step."""
    while True:
        inner = getattr(estimator, "best_estimator_", None)
        steps = getattr(estimator, "steps", None)
        if inner is None and steps:
            inner = steps[-1][1]
        if inner is None:
            made = estimator if isinstance(estimator, type) else type(estimator)
            return str(made.__name__)
        estimator = inner


def check_inputs(given: Any, features: Any, target: Any, other: Mapping[str, Any]) -> None:
    """Check that a model has features and a truth of the same length, and no predictions."""
    if not are_estimators(given):
        raise InputError(
            "y= is the truth beside a fitted model and its features, as in "
            "(model, X, y); a column of the truth is truth="
        )
    if features is None or target is None:
        raise InputError("a model is evaluated on features and a truth: give (model, X, y)")
    for name in (name for name, value in other.items() if value is not None):
        raise InputError(f"{name}= goes with columns; a model says what is predicted itself")
    rows, known = n_rows(features), n_rows(target)
    if None not in (rows, known) and rows != known:
        raise InputError(f"X has {rows:,} rows and y {known:,}; expected as many")


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

    def labels(self, truth: EncodedLabels, positive: Any) -> tuple[str, ...] | None:
        """Return the classes of the models if they are needed to identify the problem, else None.

        They are needed if models know classes that occur in no row.
        """
        if positive is not None:
            needed = len(self.known_labels) == 2 > len(truth.labels)
        else:
            needed = len(self.known_labels) > 2 >= len(truth.labels)
        there = label_index(self.known_labels)
        all_known = all(find_label(there, name) is not None for name in truth.names)
        return self.known_labels if needed and all_known else None


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
    if target is None and not are_estimators(truth):
        return ModelOutputs(truth, predicted, score, probability)
    check_inputs(truth, predicted, target, {"score": score, "probability": probability})
    given, features, cut = truth, predicted, threshold is not None
    made: dict[str, dict[str, Any]] = {"predicted": {}, "score": {}, "probability": {}}
    known: dict[str, None] = {}
    for name, model in named_estimators(given).items():
        names = class_names(model)
        known |= dict.fromkeys(names)
        labels = None if cut else _labels(model, features)
        table = _table(model, "predict_proba", features)
        if table is not None:
            # Of several classes by name: a dict of plain columns would be one of classes.
            one = None if len(names) > 2 and _is_multiclass(target) else positive
            made["probability"][name] = positive_column(table, names, one)
            if labels is not None and not _is_argmax(table, model, labels):
                made["predicted"][name] = labels
            continue
        table = _table(model, "decision_function", features)
        if table is not None:
            made["score"][name] = positive_column(table, names, positive)
        if labels is None and table is None:
            labels = _labels(model, features)
        if labels is not None:
            made["predicted"][name] = labels
    predicted, score, probability = (columns or None for columns in made.values())
    return ModelOutputs(target, predicted, score, probability, tuple(sort_labels(known)))


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
    known = getattr(model, "classes_", None)
    if known is None or isinstance(known, list) or np.ndim(known) != 1:
        return ()
    return tuple(label_name(label) for label in known)


def positive_column(table: Any, names: Sequence[str], positive: Any) -> Any:
    """Return the column of the positive class, or a column for each of several classes."""
    values = np.asarray(table)
    if values.ndim == 2 and values.shape[1] == 1:
        values = values[:, 0]
    if values.ndim == 1:
        second = positive is None or len(names) != 2 or _positive_index(names, positive) == 1
        return values if second else -values
    if positive is not None and names:
        return values[:, _positive_index(names, positive)]
    if len(names) == 2 and (place := find_positive_class(names)) is not None:
        return values[:, place]
    if len(names) != values.shape[1]:
        return values[:, 1] if values.shape[1] == 2 else values
    return {name: values[:, place] for place, name in enumerate(names)}


def _positive_index(names: Sequence[str], positive: Any) -> int:
    place = find_label(label_index(names), label_name(positive))
    if place is None:
        plain = isinstance(positive, str | int | float | np.generic)
        called = repr(label_name(positive)) if plain else format_value(positive)
        raise InputError(
            f"positive: {called} is no class of the model; "
            + did_you_mean(label_name(positive), names)
        )
    return place


def _table(model: Any, method: str, features: Any) -> Any:
    """Return the output of a method, or None if the model does not have it."""
    ask = getattr(model, method, None)
    return None if ask is None else np.asarray(ask(features))


def _labels(model: Any, features: Any) -> Any:
    ask = getattr(model, "predict", None)
    return None if ask is None else ask(features)


def _is_argmax(table: Any, model: Any, labels: Any) -> bool:
    """Return whether the labels are those of the highest probability, with ties in any order."""
    known, values = getattr(model, "classes_", None), np.asarray(table)
    if known is None or values.ndim != 2 or values.shape[1] != len(known):
        return True
    place = {label_name(label): i for i, label in enumerate(known)}
    called = np.array([place.get(label_name(label), -1) for label in np.asarray(labels)])
    own = values[np.arange(len(values)), called]
    return bool((called >= 0).all() and (own == values.max(axis=1)).all())


# --- Several labels a row -------------------------------------------------------------------------


def predict_labels(
    truth: Any, predicted: Any, target: Any, score: Any, probability: Any, threshold: Any
) -> ModelOutputs:
    """Return truth, label sets, scores and probabilities as given, or as predicted by models.

    This is :func:`predict_classes` for rows with several labels. Labels are added to probabilities
    if they are not those with a probability of at least 0.5, unless there is a threshold.
    """
    if target is None and not are_estimators(truth):
        return ModelOutputs(truth, predicted, score, probability)
    check_inputs(truth, predicted, target, {"score": score, "probability": probability})
    given, features = truth, predicted
    made: dict[str, dict[str, Any]] = {"predicted": {}, "score": {}, "probability": {}}
    for name, model in named_estimators(given).items():
        labels = None if threshold is not None else _to_dense(_labels(model, features))
        shares, scores = _label_shares(model, features), None
        if shares is not None:
            made["probability"][name] = shares
            if labels is not None and _is_half_threshold(shares, labels):
                continue
        else:
            scores = _scores(model, features)
        if scores is not None:
            made["score"][name] = scores
        if labels is None and shares is None and scores is None:
            labels = _to_dense(_labels(model, features))
        if labels is not None:
            made["predicted"][name] = labels
    predicted, score, probability = (columns or None for columns in made.values())
    return ModelOutputs(target, predicted, score, probability)


def _label_shares(model: Any, features: Any) -> Any:
    """Return the probability of each label, of shape (n, n_labels), or None.

    If a model returns a list with an array for each label, ``classes_`` states which column is the
    probability that the label is present. A label that was constant in training has probability 1
    or 0 in all rows.
    """
    ask = getattr(model, "predict_proba", None)
    if ask is None:
        return None
    made = ask(features)
    if not isinstance(made, list):
        return to_matrix(made, "predict_proba")
    known = getattr(model, "classes_", None)
    if not isinstance(known, list) or len(known) != len(made):
        known = [(0, 1)] * len(made)
    columns = []
    for shares, classes in zip(made, known, strict=True):
        names = [label_name(label) for label in classes]
        place = next((i for i, name in enumerate(names) if name in ("1", "True")), None)
        columns.append(np.zeros(len(shares)) if place is None else np.asarray(shares)[:, place])
    return np.column_stack(columns)


def _scores(model: Any, features: Any) -> Any:
    ask = getattr(model, "decision_function", None)
    return None if ask is None else to_matrix(ask(features), "decision_function")


def _to_dense(labels: Any) -> Any:
    """Return labels as a dense array."""
    return labels.toarray() if hasattr(labels, "toarray") else labels


def _is_half_threshold(shares: Any, labels: Any) -> bool:
    """Return whether the labels are those with a probability of at least 0.5."""
    called = np.asarray(labels)
    return called.shape == shares.shape and bool(((shares >= 0.5) == (called == 1)).all())


# --- Numbers --------------------------------------------------------------------------------------


def predict_numbers(given: Any, features: Any) -> dict[str, Any]:
    """Return the predictions of models by name, for :func:`calipers.regression`."""
    return {name: model.predict(features) for name, model in named_estimators(given).items()}
