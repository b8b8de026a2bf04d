"""Averages over classes or labels: weighted sums of the readings of each.

The weights are taken as fixed, so that a row moves the average by the weighted sum of what it moves
the parts by, of all classes together: that is how its error knows that they share rows.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from calipers.estimation import effective_sample_size, scores
from calipers.inference import policy
from calipers.inference.intervals import Interval
from calipers.inference.point_estimate import PointEstimate, weighted_sum
from calipers.inference.variance_estimators import Influence, VarianceEstimator

if TYPE_CHECKING:
    import numpy.typing as npt

    from calipers.inference.settings import Settings
    from calipers.statistics import ClassTables, FloatArray


@dataclass(frozen=True, eq=False)
class RowSummary:
    """What looks at rows that are gone tell of a number: how many rows there are, by Kish's number
    too, whether they come in clusters, and of the second look how they move it."""

    rows: int
    size: float
    has_clusters: bool
    settings: Settings
    influence: Callable[[], Influence | None]
    #: A statistic that is added up in the second look; None where there is none.
    second: Callable[[], Any]

    @property
    def skewness(self) -> float:
        """The size of the skewness of how rows move it."""
        found = self.second()
        return 0.0 if found is None else abs(float(found.skewness))


def class_weights(measure: Any, labels: Sequence[str], shares: FloatArray) -> dict[str, float]:
    """What the classes count for that have rows and are asked for, by their shares of the rows or
    alike; the weights add up to 1."""
    own = np.where(measure.picked(labels), shares, 0.0)
    own = own if measure.average == "weighted" else (own > 0).astype(np.float64)
    return {label: float(w / own.sum()) for label, w in zip(labels, own, strict=True) if w > 0}


def average_of_scores(
    measure: Any,
    terms: Sequence[tuple[float, PointEstimate]],
    rows: int,
    settings: Settings,
    lacking: str = "no_occurring_class",
) -> PointEstimate:
    """The reading of an average of a measure of scores, from those of its terms; ``lacking`` is why
    there may be none."""
    definition = measure.definition
    parts: dict[str, Any] = {
        "kind": "average of scores",
        "bounds": definition.range,
        "higher_is_better": definition.higher_is_better,
    }
    if not terms:
        nothing = {lacking: rows}
        return PointEstimate(
            value=float("nan"), settings=settings, n=rows, undefined=nothing, **parts
        )
    made = weighted_sum(terms, **parts)
    if any(reading.undefined for _, reading in terms):
        nothing = {"class_without_value": rows}
        return replace(made, value=float("nan"), undefined=nothing, influence=None)
    made = replace(
        made,
        transform="logit" if definition.range == (0, 1) else None,
        sizes=lambda: (_effective_rows(terms),),
        methods={"of terms": partial(_average_limits, terms)},
    )
    return effective_sample_size.add_interval(measure, made, terms)


def estimate_from_tables(
    measure: Any, tables: ClassTables, settings: Settings, rows: int
) -> PointEstimate:
    """What the tables of all classes say of an average over them."""
    weights = class_weights(measure, tables.labels, tables.shares)
    terms = [
        (weight, scores.estimate_from_table(measure.plain, of, settings, rows, together=True))
        for label, of in zip(tables.labels, tables.tables, strict=True)
        if (weight := weights.get(label))
    ]
    return replace(average_of_scores(measure, terms, rows, settings), influence=None)


def _effective_rows(terms: Sequence[tuple[float, PointEstimate]]) -> float:
    """How many rows an average has the degrees of freedom of, were the variance of each term that
    of a share of its smaller class (Welch 1947)."""
    rows = np.array([max(1.0, min(reading.sizes())) for _, reading in terms])
    spread = np.array([weight**2 for weight, _ in terms]) / rows
    with np.errstate(divide="ignore"):
        return 1 + float(spread.sum() ** 2 / (spread**2 / (rows - 1)).sum())


def rescale_to_all_rows(
    reading: PointEstimate,
    rows: npt.NDArray[np.integer[Any]],
    number: int,
    space: VarianceEstimator,
    replicates: Callable[[], FloatArray],
) -> PointEstimate:
    """The reading of a number of some rows as one of all of them, whose others do not move it;
    ``replicates`` are those of all rows."""

    def influence() -> Influence | None:
        found = None if reading.influence is None else reading.influence()
        if found is None:
            return None
        column = np.zeros(number)
        column[rows] = found.corrected.column
        return Influence(column, space, found.name)

    return replace(
        reading,
        n=number,
        weight=space.weight,
        clusters=space.clusters,
        influence=influence,
        replicates=replicates,
    )


def _average_limits(terms: Sequence[tuple[float, PointEstimate]], level: float) -> Interval:
    """The limits of the terms, averaged: as if all were too low, or too high, at once. That is more
    than they can be off together, and has a length where all are perfect."""
    found = [policy.interval(reading, level) for _, reading in terms]
    absent = [of for of in found if of.reason]
    if absent:
        return absent[0]
    low, high = (
        sum(weight * end for (weight, _), end in zip(terms, ends, strict=True))
        for ends in ([of.low for of in found], [of.high for of in found])
    )
    return Interval(low, high, "limits of each, averaged")
