"""The systems that tell two classes apart, of columns that are checked."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, TypeAlias

import numpy as np

from calipers.data.arrays import as_numbers, same_length
from calipers.data.class_columns import is_per_class
from calipers.data.counts import Repeats
from calipers.data.errors import InputError
from calipers.data.two_classes import Labels, positive_probability, predictions
from calipers.evaluate.arguments import finite
from calipers.evaluate.shared import column_name, named_systems
from calipers.results.estimate import UNNAMED
from calipers.statistics import ScoreTable
from calipers.systems.binary import System
from calipers.systems.thresholds import NoThresholdError, Rule

#: A number, a rule, or either for each system.
Threshold: TypeAlias = "float | str | Rule | Mapping[str, float | str | Rule] | None"

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
            column, one = repeats(column), plain(name)
            cut = _threshold(threshold, name, 0.5 if kind == "probability" else None)
            rule = cut if isinstance(cut, Rule) else None
            if isinstance(cut, Rule):
                table = ScoreTable.from_rows(one.labels.positive, column, one.weight)
                cut = float(cut.threshold(table))
                if np.isnan(cut):
                    raise NoThresholdError(f"{what}: no threshold satisfies the rule {rule}")
            update(
                name,
                score=column,
                threshold=cut,
                rule=rule,
                probability=column.astype(np.float64) if kind == "probability" else None,
                predicted=None if cut is None else column >= cut,
            )
    if predicted is not None:
        for name, values in named_systems(predicted, "predicted").items():
            called = repeats(predictions(values, labels, column_name("predicted", name)))
            update(name, predicted=called, threshold=None, rule=None)
    _check_thresholds(threshold, systems)
    return systems


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
