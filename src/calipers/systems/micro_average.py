"""Micro averages of measures of scores.

All classes or labels of all rows are pooled into one binary problem.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from calipers.data.binary_labels import BinaryLabels
from calipers.estimation import effective_sample_size
from calipers.estimation.averages import average_of_scores
from calipers.inference.clusters import ClusterIndex
from calipers.inference.variance_estimators import Influence, VarianceEstimator
from calipers.systems import base, binary

if TYPE_CHECKING:
    import numpy.typing as npt

    from calipers.inference.point_estimate import PointEstimate
    from calipers.measures import Measure


def pool_classes(
    system: base.SystemOutput, truth: npt.NDArray[np.bool_], score: npt.NDArray[np.floating[Any]]
) -> binary.BinaryOutput:
    """Return the binary problem with an entry for each class of each row.

    ``truth`` and ``score`` have shape (rows, classes). The entries of a row are a cluster and are
    resampled together.
    """
    n, n_classes = score.shape
    weight = None if system.weight is None else np.repeat(system.weight, n_classes)
    clusters = system.clusters or ClusterIndex(np.arange(n, dtype=np.uint32), n)
    clusters = replace(clusters, codes=np.repeat(clusters.codes, n_classes), weight=weight)
    return binary.BinaryOutput(
        system.name,
        BinaryLabels(("without", "with"), truth.ravel()),
        weight,
        system.settings,
        score=score.ravel(),
        clusters=clusters,
    )


def micro_average(
    system: base.SystemOutput, pooled: binary.BinaryOutput, measure: Measure
) -> PointEstimate:
    """Return the point estimate of a micro average, computed from the pooled problem."""
    rows, pooled_estimate = system.n_rows, pooled.point_estimate(measure.plain)
    average = average_of_scores(measure, [(1.0, pooled_estimate)], rows, system.settings)

    def influence() -> Influence | None:
        pooled_influence = average.influence and average.influence()
        if pooled_influence is None:
            return None
        row_sums = pooled_influence.corrected.column.reshape(rows, -1).sum(axis=1)
        return replace(
            pooled_influence,
            column=row_sums,
            variance_estimator=VarianceEstimator(system.weight, system.clusters),
        )

    estimate = replace(
        average,
        n=rows,
        weight=system.weight,
        clusters=system.clusters,
        undefined=dict.fromkeys(average.undefined, rows),
        transform=pooled_estimate.transform if system.clusters is None else None,
        influence=influence,
    )
    return effective_sample_size.add_auc_interval(measure, estimate, [(1.0, pooled_estimate)])
