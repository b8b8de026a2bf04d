"""Measures as scorers of scikit-learn's searches and cross-validation."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from calipers.data.class_labels import encode_labels, find_label, label_index
from calipers.data.errors import InputError, format_names
from calipers.evaluate.single_value import compute_value
from calipers.evaluation.models import class_names, positive_column
from calipers.evaluation.shared import is_order_assumed
from calipers.lazy_dataclasses import dataclass
from calipers.measures import Measure

#: Methods of a model that return what a measure reads; the first that exists is called.
MODEL_METHODS: Mapping[str, tuple[str, ...]] = {
    "labels": ("predict",),
    "sets": ("predict",),
    "numbers": ("predict",),
    "partitions": ("predict",),
    "scores": ("decision_function", "predict_proba"),
    "ranks": ("decision_function", "predict_proba"),
    "probabilities": ("predict_proba",),
}


@dataclass(frozen=True)
class Scorer:
    """Scorer for ``scoring=`` of scikit-learn, called with a fitted model, features and truth.

    Higher is better: the value of a measure for which lower is better is negated, as in
    scikit-learn.

    Parameters
    ----------
    measure : Measure
        Measure to compute.
    positive : label, optional
        Positive class of a binary problem.
    requested : bool or str, optional
        Request for ``sample_weight`` in metadata routing, as set by
        ``scorer.set_score_request(sample_weight=True)``.

    Notes
    -----
    ``sample_weight`` is used whenever it is passed. With metadata routing, it has to be requested.
    """

    measure: Measure
    positive: Any = None
    #: What metadata routing is to hand on.
    requested: bool | str | None = None

    @property
    def sign(self) -> int:
        """Sign by which values are multiplied."""
        return 1 if self.measure.definition.higher_is_better else -1

    def __call__(
        self, estimator: Any, features: Any, truth: Any, sample_weight: Any = None
    ) -> float:
        """Compute the score of the model's predictions on the features."""
        predictions, options = self.get_predictions(
            estimator, features, is_multioutput=np.ndim(truth) > 1
        )
        return self.sign * self.value(truth, predictions, options, sample_weight)

    def value(
        self, truth: Any, predictions: Any, options: Mapping[str, Any], weight: Any = None
    ) -> float:
        """Compute the measure, with its own sign, from the result of :meth:`get_predictions`."""
        if len(options.get("labels", ())) == 2 and not has_only_known_classes(
            options["labels"], truth
        ):
            options = {}  # of rows that have classes which the model never saw
        return compute_value(
            self.measure, truth, predictions, weight=weight, positive=self.positive, **options
        )

    def get_predictions(
        self, estimator: Any, features: Any, *, is_multioutput: bool = False
    ) -> tuple[Any, dict[str, Any]]:
        """Return the predictions that the measure needs, and options to read them.

        ``is_multioutput`` states that rows have several labels or outputs.
        """
        classes = class_names(estimator)
        # Rows of a single class cannot show that the model has more than one class.
        is_needed = len(classes) == 2 or (len(classes) > 2 and self.positive is None)
        is_classification = self.measure.definition.task == "classification"
        label_options = {"labels": classes} if is_needed and is_classification else {}
        if label_options and is_order_assumed(self.measure, classes):
            raise InputError(
                f"{self.measure} depends on the order of the classes, and models have them in "
                f"alphabetical order ({format_names(classes)}): number them in their own order"
            )
        names = MODEL_METHODS[self.measure.definition.reads or ""]
        # Of two classes both rank alike, and what saturates ranks less well; of several, only
        # probabilities are on one scale.
        names = names[::-1] if is_multioutput or len(classes) > 2 else names
        method = _find_method(estimator, names, str(self.measure))
        predictions = method(features)
        if method.__name__ == "predict" or is_multioutput or isinstance(predictions, list):
            return predictions, label_options
        return positive_column(predictions, classes, self.positive), label_options

    def set_score_request(self, *, sample_weight: bool | str | None) -> Scorer:
        """Return a scorer that requests weights in scikit-learn's metadata routing.

        ``True``, or the name under which weights are passed.
        """
        return replace(self, requested=sample_weight)

    def get_metadata_routing(self) -> Any:
        """Return the metadata request, as required by scikit-learn's metadata routing."""
        from sklearn.utils.metadata_routing import MetadataRequest

        request = MetadataRequest(owner=self)
        request.score.add_request(param="sample_weight", alias=self.requested)
        return request

    def __repr__(self) -> str:
        arguments = "" if self.positive is None else f"positive={self.positive!r}"
        return f"{self.measure!r}.scorer({arguments})"


def has_only_known_classes(classes: Sequence[str], truth: Any) -> bool:
    """Return whether every row has one of the classes."""
    index = label_index(classes)
    return all(find_label(index, name) is not None for name in encode_labels(truth, "truth").names)


def _find_method(estimator: Any, names: tuple[str, ...], measure: str) -> Callable[[Any], Any]:
    for name in names:
        candidate = getattr(estimator, name, None)
        if candidate is not None:
            method: Callable[[Any], Any] = candidate
            return method
    needed = " or ".join(names)
    raise InputError(f"{measure} needs {needed}, which {type(estimator).__name__} does not have")


def make_scorer(measure: Measure, positive: Any = None) -> Scorer:
    """Return the scorer of a measure.

    Parameters
    ----------
    measure : Measure
        Measure to compute.
    positive : label, optional
        Positive class of a binary problem.

    Returns
    -------
    Scorer
        Scorer, for which higher is better.

    Raises
    ------
    InputError
        If the measure has no direction, or its input is not a prediction of a model.
    """
    definition = measure.definition
    if definition.reads not in MODEL_METHODS:
        raise InputError(f"{measure} reads {definition.reads}, which no model's predict gives")
    if definition.higher_is_better is None:
        raise InputError(f"{measure}: no value is better than another, so it cannot be a score")
    return Scorer(measure, positive)
