"""Thresholds of predictions made elsewhere: chosen on rows that are not measured with them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from calipers.data.arrays import as_numbers, same_length
from calipers.data.errors import InputError
from calipers.data.two_classes import Labels, positive_probability, predictions, two_classes
from calipers.evaluate.shared import column_name, named_systems
from calipers.learning.designs import Design, Part
from calipers.learning.fitting import Places
from calipers.learning.tuning import Scored, Tuned, Tuning
from calipers.statistics import FloatArray

#: At which a probability is that of a positive row, unless told otherwise.
_HALF = 0.5


class Elsewhere(NamedTuple):
    """The labels that thresholds make, a column for each system, and what these were."""

    labels: dict[str, Any]
    tuned: dict[str, Tuned]


def tuned_elsewhere(
    tuning: Tuning, design: Design, truth: Any, said: Mapping[str, Any], weight: FloatArray | None
) -> Elsewhere:
    """Chooses for each fold on the predictions of the other folds of its repetition, which models
    made that did not see the rows; of one split on its validation rows.

    Raises
    ------
    InputError
        Where no system has scores, and where there are no other rows to choose on.
    """
    classes = two_classes(truth, tuning.names[1])
    given = {
        name: _predicted(values, classes, column_name("predicted", name))
        for name, values in _columns(said["predicted"], "predicted").items()
    }
    labels = {name: np.array(tuning.names)[of.astype(np.intp)] for name, of in given.items()}
    made = Elsewhere(labels, {})
    for kind in ("probability", "score"):
        for name, values in _columns(said[kind], kind).items():
            score = _score(values, classes, kind)
            usual = given.get(name)
            if usual is None and kind == "probability":
                usual = score >= _HALF
            predicted = np.zeros(len(score), np.bool_) if usual is None else usual.copy()
            tuned = made.tuned[name] = Tuned([], [])
            for part in design.parts:
                choice = tuning.chosen(
                    _scored(classes, score, usual, weight, _chosen_on(design, part)),
                    f"{name}, {part.name or part.fold + 1}",
                )
                tested = _scored(classes, score, usual, weight, part.test)
                tuned.choices.append(choice)
                tuned.tested.append(tested)
                predicted[part.test] = tested.score >= choice.threshold
            labels[name] = np.array(tuning.names)[predicted.astype(np.intp)]
    if not made.tuned:
        raise InputError("threshold= takes scores or probabilities: score= or probability=")
    return made


def _columns(given: Any, kind: str) -> Mapping[str, Any]:
    return {} if given is None else named_systems(given, kind)


def _predicted(values: Any, classes: Labels, what: str) -> npt.NDArray[np.bool_]:
    """Which rows a system says are positive."""
    made = predictions(values, classes, what)
    same_length(made, len(classes.positive), what)
    return np.asarray(made, np.bool_)


def _score(values: Any, classes: Labels, kind: str) -> FloatArray:
    """The score of the positive class of each row."""
    if kind == "probability":
        score = positive_probability(values, classes, kind)
    else:
        score = as_numbers(values, kind)
    same_length(score, len(classes.positive), kind)
    return np.asarray(score, np.float64)


def _scored(
    classes: Labels,
    score: FloatArray,
    usual: npt.NDArray[np.bool_] | None,
    weight: FloatArray | None,
    rows: Places,
) -> Scored:
    own = None if usual is None else usual[rows]
    return Scored(
        classes.positive[rows], score[rows], own, None if weight is None else weight[rows]
    )


def _chosen_on(design: Design, part: Part) -> Places:
    """The rows that the threshold of a part is chosen on."""
    if design.split is not None:
        if not design.spare:
            raise InputError(
                "threshold= takes rows to choose it on beside those measured: part= has no "
                "validation rows beside test rows, or on= names them"
            )
        return design.spare[0]
    if not len(part.train):
        raise InputError("threshold= takes other folds to choose it on, and there is one")
    return part.train
