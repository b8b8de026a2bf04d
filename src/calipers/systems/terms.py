"""Averages of measures of scores over labels or classes, for rows in batches.

The first pass accumulates a table of scores for each label; the second determines the joint
influence of the rows, which the labels share.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from calipers.estimation import effective_sample_size
from calipers.estimation.averages import RowSummary, average_of_scores, class_weights
from calipers.inference.variance_estimators import Influence, VarianceEstimator
from calipers.statistics import ScoreTable, SkewMoments, StatisticVector

if TYPE_CHECKING:
    from calipers.inference.point_estimate import PointEstimate
    from calipers.measures import Measure
    from calipers.systems import base, binary


@dataclass(frozen=True, eq=False)
class AveragedScores:
    """Binary problems of the ``labels``, or a single ``is_pooled`` one for the micro average."""

    system: base.SystemOutput
    labels: tuple[str, ...]
    outputs: Sequence[binary.BinaryOutput]
    is_pooled: bool = False

    def batch_statistic(self, measure: Measure) -> StatisticVector:
        """Return the table of scores of each label, or its rows until they are many."""
        return StatisticVector(tuple(one.batch_statistic(measure.plain) for one in self.outputs))

    def weights(self, measure: Measure, whole: StatisticVector) -> list[float]:
        """Return the weight of each label, which depends on the rows that have it."""
        if self.is_pooled:
            return [1.0]
        sizes = np.array([of.total_positive for of in whole.parts])
        found = class_weights(replace(measure, among=None), self.labels, sizes)
        return [found.get(label, 0.0) for label in self.labels]

    def influence(self, measure: Measure, whole: StatisticVector) -> Influence | None:
        """Return the influence values of the rows on the average."""
        return self.system.cached(
            ("moved", measure, id(whole)), lambda: self._influence(measure, whole)
        )

    def _influence(self, measure: Measure, whole: StatisticVector) -> Influence | None:
        total: Influence | None = None
        weights = self.weights(measure, whole)
        for weight, one, of in zip(weights, self.outputs, whole.parts, strict=True):
            if weight == 0:
                continue
            found = one.influence(measure.plain, of)
            if found is None:
                return None
            # Two labels that the same of few rows have are corrected for by all rows of each.
            term = weight * (found if self.is_pooled else found.corrected)
            total = term if total is None else total + term
        if total is None or not self.is_pooled:
            return total
        s = self.system
        by_row = total.corrected.column.reshape(s.n_rows, len(self.labels)).sum(axis=1)
        return replace(total, column=by_row, space=VarianceEstimator(s.weight, s.clusters))

    def second(self, measure: Measure, whole: StatisticVector) -> SkewMoments | None:
        """Return the moments of the influence values, which show if few rows are decisive."""
        if self.system.clusters is not None or measure.definition.area is None:
            return None
        found = self.influence(measure, whole)
        return None if found is None else SkewMoments.from_rows(found.corrected.column)

    def point_estimate(
        self,
        measure: Measure,
        each: Sequence[PointEstimate],
        whole: StatisticVector,
        seen: RowSummary,
    ) -> PointEstimate:
        """Return the point estimate of the average from the estimates of the labels."""
        pairs = zip(self.weights(measure, whole), each, strict=True)
        terms = [(weight, reading) for weight, reading in pairs if weight]
        made = average_of_scores(measure, terms, seen.rows, seen.settings)
        made = replace(made, influence=seen.influence)
        if self.is_pooled:  # whose entries are not independent
            undefined = dict.fromkeys(made.undefined, seen.rows)
            scale = None if seen.has_clusters else terms[0][1].transform
            made = replace(made, undefined=undefined, transform=scale, methods={})
        if seen.has_clusters:
            return made
        return effective_sample_size.add_interval(
            measure, made, terms, lambda: seen.skewness / 6, seen.size
        )

    def value_bounds(self, measure: Measure, whole: StatisticVector) -> tuple[float, float]:
        """Return bounds of the value, for tables in which neighbouring scores were merged."""
        area = measure.definition.area
        assert area is not None
        tables: Sequence[ScoreTable] = whole.parts
        low, high = np.array(self.weights(measure, whole)) @ [of.bounds(area.name) for of in tables]
        return float(low), float(high)
