"""The systems that tell two classes apart, of columns that are checked."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from calipers.data.arrays import as_numbers, same_length
from calipers.data.binary_labels import Labels, positive_probability, predictions
from calipers.data.class_probabilities import is_per_class
from calipers.data.errors import InputError, listed
from calipers.data.frequency_weights import Repeats
from calipers.evaluate.arguments import finite
from calipers.evaluate.shared import column_name, named_systems
from calipers.results.estimate import UNNAMED
from calipers.statistics import ScoreTable
from calipers.systems.binary import System
from calipers.systems.thresholds import NoThresholdError, Rule

if TYPE_CHECKING:
    from calipers.measures import Measure

#: A number, a rule, or either for each system.
Threshold: TypeAlias = "float | str | Rule | Mapping[str, float | str | Rule] | None"

#: What has its best value at the threshold of the best accuracy.
_OF_ACCURACY = ("accuracy", "error-rate")

ABOUT_TWO = (
    "positive= and threshold= are about two classes: name a positive class and leave out labels= "
    "(or name two there), or leave out both"
)


def systems_of_two(
    plain: Callable[[str], System],
    labels: Labels,
    predicted: Any,
    score: Any,
    probability: Any,
    threshold: Threshold,
    repeats: Repeats,
) -> dict[str, System]:
    """The systems by name, every column checked."""
    if predicted is None and score is None and probability is None:
        raise InputError("nothing to evaluate: give predicted=, score= or probability=")
    if threshold is not None and score is None and probability is None:
        raise InputError("threshold= is about scores or probabilities, and there are none")
    systems: dict[str, System] = {}
    rows = len(labels.positive)

    def update(name: str, **columns: Any) -> None:
        systems[name] = replace(systems.get(name, plain(name)), **columns)

    for kind, given in (("score", score), ("probability", probability)):
        if given is None:
            continue
        per_class = kind == "probability" and is_per_class(given, labels.classes)
        for name, values in ({UNNAMED: given} if per_class else named_systems(given, kind)).items():
            what = column_name(kind, name)
            if kind == "probability":
                column = positive_probability(values, labels, what)
            else:
                column = as_numbers(values, what)
            same_length(column, rows, column_name(kind, name))
            if name in systems:
                raise InputError(f"{name}: give its scores or its probabilities, not both")
            column = repeats(column)
            cut = _threshold(threshold, name, 0.5 if kind == "probability" else None)
            probability_of = column.astype(np.float64) if kind == "probability" else None
            update(name, score=column, probability=probability_of)
            if isinstance(cut, Rule):
                systems[name] = _tuned(systems[name], cut, what)
            elif cut is not None:
                update(name, threshold=cut, predicted=column >= cut)
    if predicted is not None:
        for name, values in named_systems(predicted, "predicted").items():
            called = repeats(predictions(values, labels, column_name("predicted", name)))
            update(name, predicted=called, threshold=None, rule=None)
    _check_thresholds(threshold, systems)
    return systems


def _tuned(system: System, rule: Rule, what: str) -> System:
    """The system at the threshold of its scores that the rule chooses on its rows."""
    assert system.score is not None
    table = ScoreTable.from_rows(system.labels.positive, system.score, system.weight)
    cut = float(rule.threshold(table))
    if np.isnan(cut):
        raise NoThresholdError(f"{what}: no threshold satisfies the rule {rule}")
    return replace(system, threshold=cut, rule=rule, predicted=system.score >= cut)


def without_threshold(
    systems: Mapping[str, System], measures: Sequence[Measure]
) -> tuple[list[System], list[Measure]]:
    """The systems that have scores and no threshold, where the accuracy (or the error rate) is
    asked for, and these measures: the accuracy of scores is that of the best threshold then. Any
    other measure of counts is an error, as it has no threshold of its own."""
    of_labels = [m for m in measures if m.definition.reads == "labels"]
    found = [m for m in of_labels if m.definition.name in _OF_ACCURACY and not m.viewed]
    bare = [s for s in systems.values() if s.predicted is None and s.score is not None]
    if not (found and bare):
        return [], []
    for measure in of_labels:
        if measure not in found:
            bare[0].check_one(measure)
    return bare, found


def at_best_accuracy(
    systems: Mapping[str, System], measures: Sequence[Measure]
) -> tuple[dict[str, System], tuple[str, ...]]:
    """The systems, those :func:`without_threshold` at that of the best accuracy; and a note that
    says so."""
    bare, found = without_threshold(systems, measures)
    if not bare:
        return dict(systems), ()
    rule = Rule.parse("accuracy")
    tuned = {s.name: _tuned(s, rule, column_name("score", s.name)) for s in bare}
    what = " and ".join(measure.shown for measure in found)
    whose = "" if len(systems) == 1 else f" of {listed(list(tuned))}"
    note = (
        f"No threshold was given, so {what}{whose} {'is' if len(found) == 1 else 'are'} at the "
        "threshold of the best accuracy on these same rows, which is too good for other rows; "
        "threshold= takes one that was chosen before."
    )
    return {**systems, **tuned}, (note,)


def _threshold(given: Threshold, name: str, default: float | None) -> float | Rule | None:
    value: Any = given.get(name, default) if isinstance(given, Mapping) else given
    if value is None:
        return default
    if isinstance(value, str):
        return Rule.parse(value)
    if isinstance(value, Rule):
        return value
    return finite(value, "threshold", "a finite number or a rule")


def _check_thresholds(threshold: Any, systems: Mapping[str, System]) -> None:
    unknown = sorted(set(threshold) - set(systems)) if isinstance(threshold, Mapping) else []
    if unknown:
        raise InputError(f"threshold for {unknown[0]!r}, which is no system: {', '.join(systems)}")
