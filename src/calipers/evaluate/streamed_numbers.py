"""Predicted numbers in batches, evaluated in bounded memory."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from calipers.data.arrays import as_quantities
from calipers.engines.base import Partial
from calipers.evaluate.shared import MeasureNames, choose_measures, column_name
from calipers.evaluate.stream_columns import Columns, allowed
from calipers.evaluate.stream_rows import Part, Read, clusters_of, weights_of
from calipers.evaluate.streamed import Streamed, evaluated
from calipers.measures.regression import squared, weighted_mean
from calipers.once import kept
from calipers.statistics import FloatArray, Moments
from calipers.systems.base import NAN
from calipers.systems.numbers import Predictions

if TYPE_CHECKING:
    from calipers.data.streams import Batch
    from calipers.evaluate.kept import Baseline
    from calipers.inference.settings import Settings
    from calipers.measures import Measure
    from calipers.results import Evaluation


#: What states call it.
NUMBERS = "numbers"


def of_numbers(
    columns: Columns,
    *,
    settings: Settings,
    measures: MeasureNames | None,
    default: tuple[str, ...],
    baseline: Baseline,
    primary: str | None,
    memory: int | str | None,
) -> Evaluation:
    """How near predicted numbers come to the truth, batch by batch."""
    chosen = choose_measures(measures, default, "regression")
    none, most = np.zeros(2), allowed(memory, columns.stream)
    like = {name: Predictions(name, none, none, None, settings) for name in columns.systems}
    for system in like.values():
        system.check(chosen)
    build = _Build(settings, tuple(chosen))
    source = Streamed(columns, build, chosen, settings, most, _constant, _of_truth, like,
                      plan={"task": NUMBERS})  # fmt: skip
    return evaluated(
        "regression",
        source,
        baseline=baseline,
        primary=primary,
        conventions={},
        shown=lambda engine: {},
    )


@dataclass(frozen=True, eq=False)
class _Build:
    """Makes systems of the rows of a batch."""

    settings: Settings
    measures: tuple[Measure, ...]

    def __call__(self, part: Part) -> Mapping[str, Predictions]:
        truth, weight, places = _truth(part.truth, part.weight)
        clusters = clusters_of(part, places, weight)
        made = {}
        for name, column in part.said["predicted"].items():
            said = as_quantities(column, column_name("predicted", name))
            said = said if places is None else said[places]
            shared = self.settings, clusters, self.measures
            made[name] = Predictions(name, truth, said, weight, *shared)
        return made


def _truth(truth: Any, weight: Any) -> tuple[FloatArray, FloatArray | None, Any]:
    """The truth and the weight of the rows that weigh anything, and which these are."""
    target = as_quantities(truth, "truth")
    weights, places = weights_of(weight, len(target))
    if places is None or weights is None:
        return target, weights, None
    return target[places], weights[places], places


def _of_truth(systems: Mapping[str, Predictions]) -> Moments:
    """The moments of the truth."""
    one = next(iter(systems.values()))
    return Moments.from_rows(one.truth, one.weight)


def _constant(source: Streamed, system: str, measure: Measure) -> float:
    """What the mean of the truth loses where that is the best constant answer: in one more look at
    the truth, or, of squares where there is none, as its variance has it. (A median would take all
    rows.)"""
    if measure.definition.skill_of is not None:
        return 0.0
    by_mean = [m for m in source.measures if m.definition.constant is weighted_mean]
    if measure not in by_mean:
        return NAN
    if not source.columns.stream.again:
        return _of_squares(source.engine.passed.beside, measure)

    def compute() -> dict[Measure, float]:
        mean, c = source.engine.passed.beside.mean, source.columns
        alone = replace(c, said={}, cluster=None)
        work = _Losses(Read(alone, None), mean, tuple(by_mean))
        found = c.stream.reduce(work, alone.names, what="the best constant")
        return {m: float(m.apply(of)) for m, of in zip(by_mean, found.moments, strict=True)}

    return kept(source, "constant", compute)[measure]


def _of_squares(truth: Moments, measure: Measure) -> float:
    """What its mean loses, where a loss is a square; NaN of others."""
    if measure.definition.rows is not squared or not truth.weight > 0:
        return NAN
    return float(measure.apply(replace(truth, mean=truth.m2 / truth.weight)))


@dataclass(frozen=True, eq=False)
class _Summed(Partial):
    """Moments of several losses."""

    moments: tuple[Moments, ...]

    def __add__(self, other: _Summed) -> _Summed:
        both = zip(self.moments, other.moments, strict=True)
        return _Summed(tuple(one + two for one, two in both))


@dataclass(frozen=True, eq=False)
class _Losses:
    """What a constant loses on the rows of a batch."""

    read: Read
    constant: float
    measures: tuple[Measure, ...]

    def __call__(self, batch: Batch) -> _Summed:
        part = self.read(batch)
        truth, weight, _ = _truth(part.truth, part.weight)
        said = np.full(len(truth), self.constant)
        own = (Moments.from_rows(m.losses(truth, said), weight) for m in self.measures)
        return _Summed(tuple(own))
