"""Averages over classes or labels: weighted sums of the point estimates of each.

The weights are taken as fixed. The influence of a row on the average is the weighted sum of its
influences on the terms, over all classes together; the standard error thus accounts for the rows
that classes share.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from calipers.estimation import effective_sample_size, scores
from calipers.inference import method_selection
from calipers.inference.intervals import Interval
from calipers.inference.point_estimate import PointEstimate, weighted_sum
from calipers.inference.variance_estimators import Influence, VarianceEstimator
from calipers.lazy_dataclasses import dataclass

if TYPE_CHECKING:
    import numpy.typing as npt

    from calipers.inference.settings import Settings
    from calipers.statistics import ClassTables, FloatArray


@dataclass(frozen=True, eq=False)
class RowSummary:
    """Summary of distributed or streamed rows, for the interval of an estimate.

    It holds the number of rows, Kish's effective number, whether the rows come in clusters, and the
    influence values of the second pass.
    """

    n_rows: int
    effective_size: float
    has_clusters: bool
    settings: Settings
    influence: Callable[[], Influence | None]
    #: Statistic that is accumulated in the second pass, or None.
    second_pass_statistic: Callable[[], Any]

    @property
    def skewness(self) -> float:
        """Absolute skewness of the influence values."""
        moments = self.second_pass_statistic()
        return 0.0 if moments is None else abs(float(moments.skewness))


def class_weights(measure: Any, labels: Sequence[str], proportions: FloatArray) -> dict[str, float]:
    """Return the weights of the selected classes that have rows; they add up to 1.

    The weights are the class proportions for a weighted average, and equal for any other one.
    """
    weights = np.where(measure.picked(labels), proportions, 0.0)
    weights = weights if measure.average == "weighted" else (weights > 0).astype(np.float64)
    return {
        label: float(w / weights.sum()) for label, w in zip(labels, weights, strict=True) if w > 0
    }


@dataclass(frozen=True, eq=False)
class LabelAreas:
    """Areas of the scores of labels, and the influence of independent rows on averages of them.

    Each label is sorted once for all measures, and its table of scores is not kept.

    Attributes
    ----------
    measures : tuple of Measure
        Averages of areas, which may be of different labels.
    facts : ndarray of shape (n_labels, 2 + n_measures)
        Kish's effective number of positives and of negatives of each label, and its area for each
        measure; NaN if it is not averaged.
    columns : ndarray of shape (n_rows, n_measures)
        Influence of a row of weight 1 on each average. The corrections of either class of each
        label are included.
    """

    measures: tuple[Any, ...]
    facts: FloatArray
    columns: FloatArray

    @classmethod
    def from_rows(
        cls,
        weights: Mapping[Any, FloatArray],
        truth: npt.NDArray[np.bool_],
        score: npt.NDArray[np.floating[Any]],
        row_weight: FloatArray | None,
    ) -> LabelAreas:
        """Compute the areas of rows, for measures with the weight of each label."""
        from calipers import _core

        areas = [measure.definition.area for measure in weights]
        scaled = [area.scale * column for area, column in zip(areas, weights.values(), strict=True)]
        names = [area.name for area in areas]
        return cls(
            tuple(weights), *_core.label_areas(names, truth, score, row_weight, np.array(scaled))
        )

    def values(self, measure: Any) -> FloatArray:
        """Return the value of a measure of each label."""
        area, values = measure.definition.area, self.facts[:, 2 + self.measures.index(measure)]
        return np.asarray(area.scale * values + area.shift)

    def influence(self, measure: Any, row_weight: FloatArray | None) -> Influence:
        """Return the influence of the rows on an average."""
        column = self.columns[:, self.measures.index(measure)]
        column = column.copy() if row_weight is None else column * row_weight
        return Influence(column, VarianceEstimator(row_weight), scores.error_name(measure, None))

    def terms(
        self,
        measure: Any,
        weights: Mapping[int, float],
        complete_terms: Callable[[], Sequence[tuple[float, PointEstimate]]],
        *,
        settings: Settings,
        n: int,
        weight: FloatArray | None,
    ) -> Sequence[tuple[float, PointEstimate]]:
        """Return the weight and the estimate of each label, by its index.

        All that is not in the facts is computed when it is used, from ``complete_terms``, as are
        all terms if one of them is undefined.
        """
        values, sizes = self.values(measure), self.facts[:, :2]
        indices = list(weights)
        if not (np.isfinite(values[indices]).all() and (sizes[indices] > 0).all()):
            return complete_terms()

        def term(position: int, index: int) -> PointEstimate:
            def complete() -> PointEstimate:
                return complete_terms()[position][1]

            positives, negatives = sizes[index].tolist()
            return replace(
                scores.estimate_area(measure.plain, float(values[index]), settings, n),
                weight=weight,
                effective_sizes=lambda: (negatives, positives),
                influence=lambda: complete().influence(),  # type: ignore[misc]
                replicates=lambda: complete().replicates(),  # type: ignore[misc]
            )

        return [
            (label_weight, term(position, index))
            for position, (index, label_weight) in enumerate(weights.items())
        ]


def average_of_scores(
    measure: Any,
    terms: Sequence[tuple[float, PointEstimate]],
    n_rows: int,
    settings: Settings,
    empty_reason: str = "no_occurring_class",
    influence: Callable[[], Influence | None] | None = None,
    complete_terms: Callable[[], Sequence[tuple[float, PointEstimate]]] | None = None,
) -> PointEstimate:
    """Return the point estimate of an average of a score-based measure, from those of its terms.

    ``empty_reason`` is the reason that is reported if there are no terms. ``influence`` is that of
    the average, if it is not the sum of those of the terms. ``complete_terms`` have intervals, if
    ``terms`` have none.
    """
    definition = measure.definition
    fields: dict[str, Any] = {
        "kind": "average of scores",
        "bounds": definition.range,
        "higher_is_better": definition.higher_is_better,
    }
    if not terms:
        undefined = {empty_reason: n_rows}
        return PointEstimate(
            value=float("nan"), settings=settings, n=n_rows, undefined=undefined, **fields
        )
    if influence is not None:
        fields["influence"] = influence
    estimate = weighted_sum(terms, **fields)
    if any(term.undefined for _, term in terms):
        undefined = {"class_without_value": n_rows}
        return replace(estimate, value=float("nan"), undefined=undefined, influence=None)
    estimate = replace(
        estimate,
        transform="logit" if definition.range == (0, 1) else None,
        effective_sizes=lambda: (_effective_rows(terms),),
        methods={"of terms": partial(_average_limits, complete_terms or (lambda: terms))},
    )
    return effective_sample_size.add_auc_interval(measure, estimate, terms)


def estimate_from_tables(
    measure: Any,
    tables: ClassTables,
    settings: Settings,
    n_rows: int,
    summary: RowSummary | None = None,
) -> PointEstimate:
    """Estimate an average over classes from the score tables of all classes.

    Its interval by effective rows requires a ``summary`` of the rows.
    """
    weights = class_weights(measure, tables.labels, tables.proportions)
    terms = [
        (
            weight,
            scores.estimate_from_table(
                measure.plain, table, settings, n_rows, uses_compiled_areas=True
            ),
        )
        for label, table in zip(tables.labels, tables.tables, strict=True)
        if (weight := weights.get(label))
    ]
    estimate = average_of_scores(measure, terms, n_rows, settings)
    if summary is None or summary.has_clusters or estimate.undefined:
        return replace(estimate, influence=None)
    estimate = replace(estimate, influence=summary.influence)
    return effective_sample_size.add_auc_interval(
        measure, estimate, terms, n_effective=summary.effective_size
    )


def _effective_rows(terms: Sequence[tuple[float, PointEstimate]]) -> float:
    """Return the number of rows whose degrees of freedom an average has (Welch 1947).

    The variance of each term is taken to be that of a proportion of the rows of its smaller class.
    """
    rows = np.array([max(1.0, min(term.effective_sizes())) for _, term in terms])
    spread = np.array([weight**2 for weight, _ in terms]) / rows
    with np.errstate(divide="ignore"):
        return 1 + float(spread.sum() ** 2 / (spread**2 / (rows - 1)).sum())


def extend_to_all_rows(
    estimate: PointEstimate,
    row_indices: npt.NDArray[np.integer[Any]],
    n_rows: int,
    variance_estimator: VarianceEstimator,
    replicates: Callable[[], FloatArray],
) -> PointEstimate:
    """Extend a point estimate of some rows to all rows, where all others have no influence.

    ``replicates`` are those of all rows.
    """

    def influence() -> Influence | None:
        subset_influence = None if estimate.influence is None else estimate.influence()
        if subset_influence is None:
            return None
        column = np.zeros(n_rows)
        column[row_indices] = subset_influence.corrected.column
        return Influence(column, variance_estimator, subset_influence.name)

    return replace(
        estimate,
        n=n_rows,
        weight=variance_estimator.weight,
        clusters=variance_estimator.clusters,
        influence=influence,
        replicates=replicates,
    )


def _average_limits(
    complete_terms: Callable[[], Sequence[tuple[float, PointEstimate]]], level: float
) -> Interval:
    """Return the weighted average of the limits of the terms.

    This treats all terms as too low, or too high, at once. They cannot deviate together by more
    than this, and the interval has a positive length even where all terms are perfect.
    """
    terms = complete_terms()
    term_intervals = [method_selection.interval(term, level) for _, term in terms]
    absent = [interval for interval in term_intervals if interval.reason]
    if absent:
        return absent[0]
    low, high = (
        sum(weight * end for (weight, _), end in zip(terms, limits, strict=True))
        for limits in (
            [interval.low for interval in term_intervals],
            [interval.high for interval in term_intervals],
        )
    )
    return Interval(low, high, "limits of each, averaged")
