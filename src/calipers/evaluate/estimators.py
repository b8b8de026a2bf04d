"""Fitted models in the place of what they say: whatever has ``predict``, ``predict_proba`` or
``decision_function``, and perhaps ``classes_``, as the estimators of scikit-learn have."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from calipers.data.classes import name_of, place_of, positions
from calipers.data.errors import InputError, did_you_mean
from calipers.data.two_classes import self_explaining

_METHODS = ("predict", "predict_proba", "decision_function")


def is_estimator(given: Any) -> bool:
    """Whether something can be asked for predictions."""
    return any(callable(getattr(given, name, None)) for name in _METHODS)


def are_estimators(given: Any) -> bool:
    """Whether this is a model, or a dict of models by name."""
    if isinstance(given, Mapping):
        return bool(given) and all(map(is_estimator, given.values()))
    return is_estimator(given)


def named_estimators(given: Any) -> dict[str, Any]:
    """Models by name: that of the class where there is one alone."""
    named = given if isinstance(given, Mapping) else {_called(given): given}
    for name, one in named.items():
        if isinstance(one, type):
            raise InputError(f"{name}: is a class, expected a fitted model of it")
    return {str(name): one for name, one in named.items()}


def _called(estimator: Any) -> str:
    """What a model is called: of a search its best one, of a pipeline its last step."""
    while True:
        inner = getattr(estimator, "best_estimator_", None)
        steps = getattr(estimator, "steps", None)
        if inner is None and steps:
            inner = steps[-1][1]
        if inner is None:
            made = estimator if isinstance(estimator, type) else type(estimator)
            return str(made.__name__)
        estimator = inner


def check_given(given: Any, features: Any, target: Any, other: Mapping[str, Any]) -> None:
    """That there is what a model needs, and nothing in the place of what it says."""
    if not are_estimators(given):
        raise InputError(
            "y= is the truth beside a fitted model and its features, as in "
            "classification(model, X, y); a column of the truth is truth="
        )
    if features is None or target is None:
        raise InputError("a model is evaluated on features and a truth: give (model, X, y)")
    for name in (name for name, value in other.items() if value is not None):
        raise InputError(f"{name}= goes with columns; a model says what is predicted itself")


# --- Classes --------------------------------------------------------------------------------------


def said_of_classes(
    truth: Any,
    predicted: Any,
    target: Any,
    score: Any,
    probability: Any,
    positive: Any,
    threshold: Any,
) -> tuple[Any, Any, Any, Any]:
    """The truth, predicted labels, scores and probabilities as they were given; or, where models
    stand in the place of the truth and features in that of labels, what models say:
    probabilities where one has any, else scores with the labels, else labels. Beside probabilities
    labels stand too where these are not those of the highest one, unless there is a threshold."""
    if target is None and not are_estimators(truth):
        return truth, predicted, score, probability
    check_given(truth, predicted, target, {"score": score, "probability": probability})
    given, features, cut = truth, predicted, threshold is not None
    made: dict[str, dict[str, Any]] = {"predicted": {}, "score": {}, "probability": {}}
    for name, model in named_estimators(given).items():
        names = class_names(model)
        labels = None if cut else _labels(model, features)
        table = _table(model, "predict_proba", features)
        if table is not None:
            # Of several classes by name: a dict of plain columns would be one of classes.
            one = None if len(names) > 2 else positive
            made["probability"][name] = of_positive(table, names, one)
            if labels is not None and not _highest(table, model, labels):
                made["predicted"][name] = labels
            continue
        table = _table(model, "decision_function", features)
        if table is not None:
            made["score"][name] = of_positive(table, names, positive)
        if labels is None and table is None:
            labels = _labels(model, features)
        if labels is not None:
            made["predicted"][name] = labels
    predicted, score, probability = (columns or None for columns in made.values())
    return target, predicted, score, probability


def class_names(model: Any) -> tuple[str, ...]:
    """The classes that a model knows; none where it does not say, or knows several outputs."""
    known = getattr(model, "classes_", None)
    if known is None or isinstance(known, list) or np.ndim(known) != 1:
        return ()
    return tuple(name_of(label) for label in known)


def of_positive(table: Any, names: Sequence[str], positive: Any) -> Any:
    """Of two classes, or of one named positive, its column; of several a column for each."""
    values = np.asarray(table)
    if values.ndim == 2 and values.shape[1] == 1:
        values = values[:, 0]
    if values.ndim == 1:
        second = positive is None or len(names) != 2 or _place(names, positive) == 1
        return values if second else -values
    if positive is not None and names:
        return values[:, _place(names, positive)]
    if len(names) == 2 and (place := self_explaining(names)) is not None:
        return values[:, place]
    if len(names) != values.shape[1]:
        return values[:, 1] if values.shape[1] == 2 else values
    return {name: values[:, place] for place, name in enumerate(names)}


def _place(names: Sequence[str], positive: Any) -> int:
    place = place_of(positions(names), name_of(positive))
    if place is None:
        raise InputError(
            f"positive: {name_of(positive)!r} is no class of the model; "
            + did_you_mean(name_of(positive), names)
        )
    return place


def _table(model: Any, method: str, features: Any) -> Any:
    """What a method gives, None where a model does not have it."""
    ask = getattr(model, method, None)
    return None if ask is None else np.asarray(ask(features))


def _labels(model: Any, features: Any) -> Any:
    ask = getattr(model, "predict", None)
    return None if ask is None else ask(features)


def _highest(table: Any, model: Any, labels: Any) -> bool:
    """Whether the labels are those of the highest probability; of equals, any will do."""
    known, values = getattr(model, "classes_", None), np.asarray(table)
    if known is None or values.ndim != 2 or values.shape[1] != len(known):
        return True
    place = {name_of(label): i for i, label in enumerate(known)}
    called = np.array([place.get(name_of(label), -1) for label in np.asarray(labels)])
    own = values[np.arange(len(values)), called]
    return bool((called >= 0).all() and (own == values.max(axis=1)).all())


def said_of_numbers(given: Any, features: Any) -> dict[str, Any]:
    """The columns of :func:`calipers.regression` that models say."""
    return {name: model.predict(features) for name, model in named_estimators(given).items()}
