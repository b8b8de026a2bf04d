"""Averages of measures of scores over labels or classes, for rows in batches.

The first pass accumulates a table of scores for each label; the second determines the joint
influence of the rows, which the labels share.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from calipers.estimation import effective_sample_size
from calipers.estimation.averages import RowSummary, average_of_scores, class_weights
from calipers.inference.variance_estimators import Influence, VarianceEstimator
from calipers.lazy_dataclasses import dataclass
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
        return StatisticVector(
            tuple(output.batch_statistic(measure.plain) for output in self.outputs)
        )

    def weights(self, measure: Measure, total: StatisticVector) -> list[float]:
        """Return the weight of each label, which depends on the rows that have it."""
        if self.is_pooled:
            return [1.0]
        sizes = np.array([table.total_positive for table in total.components])
        weight_by_label = class_weights(replace(measure, among=None), self.labels, sizes)
        return [weight_by_label.get(label, 0.0) for label in self.labels]

    def influence(self, measure: Measure, total: StatisticVector) -> Influence | None:
        """Return the influence values of the rows on the average."""
        return self.system.cached(
            ("moved", measure, total), lambda: self._influence(measure, total)
        )

    def _influence(self, measure: Measure, total: StatisticVector) -> Influence | None:
        average_influence: Influence | None = None
        all_terms = zip(self.weights(measure, total), self.outputs, total.components, strict=True)
        terms = [term for term in all_terms if term[0]]
        for weight, output, table in terms:
            label_influence = output.influence(measure.plain, table)
            if label_influence is None:
                return None
            # Labels of the same few rows are corrected by all rows of each; one alone is corrected
            # when its rows are known.
            term = weight * (label_influence if len(terms) == 1 else label_influence.corrected)
            average_influence = term if average_influence is None else average_influence + term
        if average_influence is None or not self.is_pooled:
            return average_influence
        system = self.system
        by_row = average_influence.corrected.column.reshape(system.n_rows, len(self.labels)).sum(
            axis=1
        )
        return replace(
            average_influence,
            column=by_row,
            variance_estimator=VarianceEstimator(system.weight, system.clusters),
        )

    def second_pass_statistic(self, measure: Measure, total: StatisticVector) -> SkewMoments | None:
        """Return the moments of the influence values, which show if few rows are decisive."""
        if self.system.clusters is not None or measure.definition.area is None:
            return None
        average_influence = self.influence(measure, total)
        return (
            None
            if average_influence is None
            else SkewMoments.from_rows(average_influence.corrected.column)
        )

    def point_estimate(
        self,
        measure: Measure,
        estimates: Sequence[PointEstimate],
        total: StatisticVector,
        row_summary: RowSummary,
    ) -> PointEstimate:
        """Return the point estimate of the average from the estimates of the labels."""
        pairs = zip(self.weights(measure, total), estimates, strict=True)
        terms = [(weight, estimate) for weight, estimate in pairs if weight]
        average = average_of_scores(measure, terms, row_summary.n_rows, row_summary.settings)
        average = replace(average, influence=row_summary.influence)
        if self.is_pooled:  # whose entries are not independent
            undefined = dict.fromkeys(average.undefined, row_summary.n_rows)
            scale = None if row_summary.has_clusters else terms[0][1].transform
            average = replace(average, undefined=undefined, transform=scale, methods={})
        if row_summary.has_clusters:
            return average
        return effective_sample_size.add_auc_interval(
            measure, average, terms, lambda: row_summary.skewness / 6, row_summary.effective_size
        )

    def value_bounds(self, measure: Measure, total: StatisticVector) -> tuple[float, float]:
        """Return bounds of the value, for tables in which neighbouring scores were merged."""
        area = measure.definition.area
        assert area is not None
        tables: Sequence[ScoreTable] = total.components
        low, high = np.array(self.weights(measure, total)) @ [
            table.area_bounds(area.name) for table in tables
        ]
        return float(low), float(high)
