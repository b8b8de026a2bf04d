"""Averages over classes or labels: weighted sums of the point estimates of each.

The weights are taken as fixed. The influence of a row on the average is the weighted sum of its
influences on the terms, over all classes together; the standard error thus accounts for the rows
that classes share.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cache, partial
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


def average_of_scores(
    measure: Any,
    terms: Sequence[tuple[float, PointEstimate]],
    n_rows: int,
    settings: Settings,
    empty_reason: str = "no_occurring_class",
    rows: Sequence[scores.ScoredRows] = (),
) -> PointEstimate:
    """Return the point estimate of an average of a score-based measure, from those of its terms.

    ``empty_reason`` is the reason that is reported if there are no terms. ``rows`` are those of
    each term, if all terms have the same.
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
    # Of the same classes the corrections are those of the sum.
    if (
        rows
        and rows[0].clusters is None
        and any(not np.array_equal(term.positive, rows[0].positive) for term in rows)
    ):
        weights = [weight for weight, _ in terms]
        fields["influence"] = cache(
            lambda: scores.weighted_influence(measure.plain, list(zip(weights, rows, strict=True)))
        )
    estimate = weighted_sum(terms, **fields)
    if any(term.undefined for _, term in terms):
        undefined = {"class_without_value": n_rows}
        return replace(estimate, value=float("nan"), undefined=undefined, influence=None)
    estimate = replace(
        estimate,
        transform="logit" if definition.range == (0, 1) else None,
        effective_sizes=lambda: (_effective_rows(terms),),
        methods={"of terms": partial(_average_limits, terms)},
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


def _average_limits(terms: Sequence[tuple[float, PointEstimate]], level: float) -> Interval:
    """Return the weighted average of the limits of the terms.

    This treats all terms as too low, or too high, at once. They cannot deviate together by more
    than this, and the interval has a positive length even where all terms are perfect.
    """
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
