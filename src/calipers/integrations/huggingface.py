"""Measures as ``compute_metrics`` of the ``Trainer`` of Hugging Face's transformers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from calipers.data.errors import InputError
from calipers.evaluate.classification import classification
from calipers.evaluate.multilabel import multilabel
from calipers.evaluate.regression import regression
from calipers.lazy_dataclasses import dataclass
from calipers.measures import TASKS, parse

if TYPE_CHECKING:
    from calipers.results import Evaluation
    from calipers.statistics import FloatArray

Names = tuple[str, ...]

#: The label of a token that does not count.
IGNORED_LABEL = -100


@dataclass(frozen=True)
class ComputeMetrics:
    """Callable for a ``Trainer``, made by :func:`compute_metrics`; it can be pickled."""

    measures: tuple[str, ...]
    labels: tuple[str, ...] | None = None
    intervals: bool = False

    def __call__(self, predicted: Any) -> dict[str, float]:
        """Return the values by measure of an ``EvalPrediction``."""
        logits = np.asarray(_main_output(predicted.predictions), np.float64)
        truth = np.asarray(_main_output(predicted.label_ids))
        metrics: dict[str, float] = {}
        for names, evaluation in self._evaluations(logits, truth):
            for name in names:
                e = evaluation[name]
                metrics[name] = e.value
                if self.intervals:
                    metrics |= {f"{name}_low": e.low, f"{name}_high": e.high}
        return metrics

    def _evaluations(self, logits: FloatArray, truth: Any) -> Iterator[tuple[Names, Evaluation]]:
        options: dict[str, Any] = {"curves": False, "measures": self.measures}
        if not self.intervals:
            options["interval"] = "none"
        if truth.shape == logits.shape and truth.ndim == 2 and np.isin(truth, (0, 1)).all():
            probability = 1 / (1 + np.exp(-logits))
            evaluation = multilabel(
                truth.astype(int), probability=probability, labels=self.labels, **options
            )
            yield self.measures, evaluation
        elif logits.ndim == 1 or logits.shape[-1] == 1 or truth.dtype.kind == "f":
            yield self.measures, regression(np.squeeze(truth), np.squeeze(logits), **options)
        else:
            yield from self._evaluate_classes(logits, truth, options)

    def _evaluate_classes(
        self, logits: FloatArray, truth: Any, options: dict[str, Any]
    ) -> Iterator[tuple[Names, Evaluation]]:
        """Evaluate classes, without tokens whose label is ignored."""
        k = logits.shape[-1]
        logits, truth = logits.reshape(-1, k), truth.reshape(-1)
        logits, truth = logits[truth != IGNORED_LABEL], truth[truth != IGNORED_LABEL]
        names = [str(i) for i in range(k)] if self.labels is None else list(self.labels)
        if len(names) != k:
            raise InputError(f"labels: {len(names)} names for {k} logits a row")
        exponentials = np.exp(logits - logits.max(axis=1, keepdims=True))
        p = exponentials / exponentials.sum(axis=1, keepdims=True)
        truth_names = np.array(names, object)[truth.astype(np.intp)]
        # Of two classes the second is positive; an average over both is one of several.
        has_view = {m: parse(m, TASKS["classification"]).has_view for m in self.measures}
        binary_measures = tuple(m for m in self.measures if k == 2 and not has_view[m])
        averaged_measures = tuple(m for m in self.measures if m not in binary_measures)
        binary_data = {"probability": p[:, -1], "positive": names[-1]}
        for measures, data in (
            (binary_measures, binary_data),
            (averaged_measures, {"probability": p}),
        ):
            if measures:
                arguments = {**options, **data, "labels": names, "measures": measures}
                yield measures, classification(truth_names, **arguments)


def _main_output(outputs: Any) -> Any:
    """Return the logits or labels, which come first in the outputs of models with several."""
    return outputs[0] if isinstance(outputs, tuple) else outputs


def compute_metrics(
    measures: Sequence[str] | str,
    *,
    labels: Sequence[str] | None = None,
    intervals: bool = False,
) -> ComputeMetrics:
    """Return the ``compute_metrics`` argument of a ``Trainer``.

    Logits are converted to probabilities as in the loss: by the softmax function for classes, of
    two of which the second is positive, and for the classes of tokens (labels of −100 are
    ignored); by the logistic function for rows with several labels. Numbers remain unchanged.

    Parameters
    ----------
    measures : str or sequence of str
        Names of measures, under which ``metric_for_best_model`` finds their values.
    labels : sequence of str, optional
        Names of the classes or labels, in the order of the logits.
    intervals : bool, default=False
        Whether to return the limits of intervals next to the values, as ``AUC_low`` and
        ``AUC_high``.

    Returns
    -------
    ComputeMetrics
        Function of an ``EvalPrediction`` that returns the values by measure.

    Examples
    --------
    >>> from types import SimpleNamespace  # stands for transformers.EvalPrediction
    >>> import numpy as np
    >>> logits, labels = np.array([[2.0, 1], [0, 1], [1, 3], [1, 0]]), np.array([0, 1, 1, 1])
    >>> metrics = compute_metrics(["accuracy", "AUC"])
    >>> metrics(SimpleNamespace(predictions=logits, label_ids=labels))
    {'accuracy': 0.75, 'AUC': 0.8333333333333334}
    """
    names = (measures,) if isinstance(measures, str) else tuple(measures)
    return ComputeMetrics(names, None if labels is None else tuple(labels), intervals)
