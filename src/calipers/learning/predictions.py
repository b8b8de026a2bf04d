"""What models say of rows that they were not trained on, put together into one that says it all."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from calipers.data.class_labels import label_name
from calipers.data.errors import InputError
from calipers.evaluation.models import named_estimators
from calipers.learning.fitting import Places


class ModelPredictions(NamedTuple):
    """What a model says of rows: labels or numbers; of classes also what each row has of them."""

    labels: Any
    probability: Any = None
    scores: Any = None
    classes: Any = None


def predict_classifier(model: Any, features: Any) -> ModelPredictions:
    """All that a classifier says."""

    def table(method: str) -> Any:
        ask = getattr(model, method, None)
        return None if ask is None else np.asarray(ask(features))

    probability = table("predict_proba")
    scores = table("decision_function") if probability is None else None
    classes = getattr(model, "classes_", None)
    return ModelPredictions(np.asarray(model.predict(features)), probability, scores, classes)


def predict_regressor(model: Any, features: Any) -> ModelPredictions:
    """The numbers that a regressor predicts."""
    return ModelPredictions(np.asarray(model.predict(features)))


class OutOfFoldModel:
    """In the place of a fitted model: says of each row what the models say that did not see it.

    ``lacking`` counts models that were trained on rows of fewer classes than there are.
    """

    def __init__(self, said: ModelPredictions, lacking: int = 0) -> None:
        self.said, self.lacking = said, lacking
        if said.classes is not None:
            self.classes_ = said.classes
        if said.probability is not None:
            self.predict_proba = lambda features: said.probability
        if said.scores is not None:
            self.decision_function = lambda features: said.scores

    @classmethod
    def of(
        cls, name: str, parts: Sequence[ModelPredictions], where: Sequence[Places]
    ) -> OutOfFoldModel:
        """From what was said of each part, whose rows stand at these places."""
        order = np.argsort(np.concatenate(where), kind="stable")
        known = [part.classes for part in parts if part.classes is not None]
        classes = np.unique(np.concatenate(known)) if known else None

        def together(column: str) -> Any:
            tables = [(part.classes, getattr(part, column)) for part in parts]
            if any(table is None for _, table in tables):
                return None
            return np.concatenate([_expand_columns(name, classes, *pair) for pair in tables])[order]

        labels = np.concatenate([part.labels for part in parts])[order]
        lacking = 0 if classes is None else sum(len(own) < len(classes) for own in known)
        return cls(
            ModelPredictions(labels, together("probability"), together("scores"), classes), lacking
        )

    def taken(self, rows: Places) -> OutOfFoldModel:
        """Of some rows alone."""
        labels, probability, scores, classes = self.said
        first, second = (None if t is None else t[rows] for t in (probability, scores))
        return OutOfFoldModel(ModelPredictions(labels[rows], first, second, classes))

    def predict(self, features: Any) -> Any:
        """The labels, or the numbers."""
        return self.said.labels


def _expand_columns(name: str, classes: Any, own: Any, table: Any) -> Any:
    """With a column for each class, also for those that a model never saw."""
    if own is None or len(own) == len(classes):
        return table
    if table.ndim != 2 or len(own) != table.shape[1] or not np.allclose(table.sum(axis=1), 1):
        absent = [label_name(c) for c in classes if c not in own]
        raise InputError(
            f"{name}: a model was trained on no row of class {', '.join(absent)}, so that its "
            "scores are not those of the others; take fewer folds, or stratified ones"
        )
    wide = np.zeros((len(table), len(classes)))
    wide[:, np.searchsorted(classes, own)] = table
    return wide


def check_named_estimators(estimator: Any) -> dict[str, Any]:
    """Estimators by name, none of which is fitted yet."""
    given = estimator if isinstance(estimator, Mapping) else {"": estimator}
    if not given:
        raise InputError("estimator: an empty dict, expected at least one estimator")
    for name, one in given.items():
        if isinstance(one, type):
            raise InputError(
                f"estimator {name or one.__name__!r} is a class, expected an object of it, as in "
                f"{one.__name__}()"
            )
        if not (hasattr(one, "fit") and hasattr(one, "predict")):
            raise InputError(
                f"estimator {name or type(one).__name__!r} has no fit() and predict(), which the "
                "estimators of scikit-learn have"
            )
    return named_estimators(estimator)


def are_classifiers(estimators: Mapping[str, Any]) -> bool:
    """Whether estimators tell classes apart, or all predict numbers."""
    from sklearn.base import is_classifier, is_regressor

    kinds = {}
    for name, one in estimators.items():
        if not is_classifier(one) and not is_regressor(one):
            raise InputError(
                f"{name} says neither that it is a classifier nor a regressor; give task="
            )
        kinds[name] = bool(is_classifier(one))
    if len(set(kinds.values())) > 1:
        first = {kind: name for name, kind in kinds.items()}
        raise InputError(
            f"{first[True]} is a classifier and {first[False]} a regressor: they answer to no "
            "common measure"
        )
    return next(iter(kinds.values()))


def tested_rows(parts: Sequence[tuple[int, Places]]) -> tuple[Places, list[Places]]:
    """The rows tested, repetition by repetition and in their order within it, as places of the
    data; and where in them those of each part stand. ``parts`` are repetitions with the rows
    tested."""
    rows: list[Places] = []
    where: list[Places] = []
    begun = 0
    for number in dict.fromkeys(repetition for repetition, _ in parts):
        own = [test for repetition, test in parts if repetition == number]
        together = np.concatenate(own)
        order = np.argsort(together, kind="stable")
        place = np.empty(len(together), np.intp)
        place[order] = np.arange(len(together))
        where += [
            begun + test for test in np.split(place, np.cumsum([len(test) for test in own])[:-1])
        ]
        rows.append(together[order])
        begun += len(together)
    return np.concatenate(rows), where
