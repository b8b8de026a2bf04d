"""Measures of scores: point estimates from a table of distinct scores and the rows behind it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from calipers.caching import cached, cached_property
from calipers.estimation import effective_sample_size
from calipers.estimation.undefined import undefined_reasons
from calipers.inference import intervals, proportions
from calipers.inference.influence import influence, jackknife, standard_error
from calipers.inference.intervals import ROUNDING, Interval
from calipers.inference.method_limits import FEW_BEYOND, FEW_DECIDE
from calipers.inference.point_estimate import Limits, PointEstimate
from calipers.inference.score_bootstrap import ScoreReplicates, stratified_replicates
from calipers.inference.variance_estimators import Influence, StandardError, TwoClassVariance
from calipers.statistics import FloatArray, ScoreOrder, ScoreTable, SkewMoments
from calipers.statistics.scores import USUAL_AREAS

if TYPE_CHECKING:
    import numpy.typing as npt

    from calipers.inference.clusters import ClusterIndex
    from calipers.inference.settings import MeasureLike, Settings

#: The rows of the policy for areas that have a law of their own.
_KINDS = {"auc": "AUC", "gini": "Gini", "pr_logit": "precision area"}

#: Rates at a rate of the other class: its parameter, and the place of that class.
_AT_RATES = {"FPR@recall": ("recall", 0), "recall@FPR": ("fpr", 1)}
_INTERPOLATED = {"PR-AUC": "interpolated precision area", "AP-DG": "interpolated precision"}


@dataclass(frozen=True, eq=False)
class ScoredRows:
    """Sample of binary rows with a score each, and its bootstrap."""

    positive: npt.NDArray[np.bool_]
    score: npt.NDArray[np.floating[Any]]
    weight: FloatArray | None
    clusters: ClusterIndex | None
    settings: Settings
    #: Measures that are bootstrapped together.
    joint_measures: tuple[MeasureLike, ...] = ()

    @cached_property
    def order(self) -> ScoreOrder:
        """Sort order of the scores."""
        return ScoreOrder(self.score)

    @cached_property
    def table(self) -> ScoreTable:
        """Table of distinct scores."""
        return ScoreTable.from_rows(self.positive, self.score, self.weight)

    @property
    def statistic(self) -> ScoreTable:
        """Table of distinct scores."""
        return self.table

    def row_values(self, measure: MeasureLike) -> None:
        """Return None, as no measure of scores is a mean over rows."""

    @cached_property
    def replicates(self) -> ScoreReplicates:
        """Bootstrap replicates of the table."""
        return ScoreReplicates(self.table, self.settings, self.rows(), self.joint_measures)

    @cached_property
    def drawn_by_row(self) -> ScoreReplicates:
        """Bootstrap replicates with the same resampled rows for every system."""
        return ScoreReplicates(
            self.table, self.settings, self.rows(by_row=True), self.joint_measures
        )

    def rows(self, *, by_row: bool = False) -> Any:
        """Return truth, score order, weight and unit if the bootstrap needs them, else None."""
        unit = np.arange(len(self.positive), dtype=np.uint32) if by_row else None
        if self.clusters is not None:
            unit = self.clusters.code
        if self.weight is None and unit is None:
            return None
        return self.positive, self.order, self.weight, unit

    def influence(self, measure: MeasureLike, whole: ScoreTable | None = None) -> Influence | None:
        """Return the influence values of a measure.

        ``whole`` is the table of all rows, if these are a batch of them.
        """
        place: npt.NDArray[np.integer[Any]]
        if whole is None:
            found, place = influence(measure, self.table), self.order.score_index
        else:  # of which many batches ask, each of them for several measures
            found = cached(whole, ("influence", measure), lambda: influence(measure, whole))
            place = cached(self, ("place", id(whole)), lambda: whole.score_index(self.order))
        if found is None:
            return None
        area = measure.definition.area
        moved = found.take(self.positive, place)
        moved = moved if self.weight is None else moved * self.weight
        pairs = area is not None and area.name == "AUC"
        space = self.space(whole, pairs=pairs)
        if not pairs or (self.clusters is None and area.scale != 1):
            return Influence(moved, space)
        return Influence(moved, space, "DeLong" if self.clusters is None else "Obuchowski")

    def second(self, measure: MeasureLike, whole: ScoreTable) -> SkewMoments | None:
        """Return moments of the influence values of an area, for weighted rows.

        Their skewness shows whether few of all rows determine the area; with equal weights the
        table shows it.
        """
        if self.weight is None or self.clusters is not None or measure.definition.area is None:
            return None
        found = self.influence(measure, whole)
        return None if found is None else SkewMoments.from_rows(found.column)

    def space(self, whole: ScoreTable | None, *, pairs: bool = False) -> TwoClassVariance:
        """Return the variance estimator of the influence values of these rows."""
        sizes = None if whole is None else intervals.class_sizes(whole)
        return TwoClassVariance(
            self.weight, self.clusters, positive=self.positive, is_pairwise=pairs, sizes=sizes
        )

    def point_estimate(self, measure: MeasureLike) -> PointEstimate:
        """Return the point estimate of a measure of scores."""
        made = estimate_from_table(measure, self.table, self.settings, len(self.positive))
        of = _ScoreEstimate(self, measure, made.value)
        made = replace(
            made,
            weight=self.weight,
            clusters=self.clusters,
            influence=of.influence,
            error=of.error,
            standalone_replicates=lambda: self.replicates.evaluate(measure),
            replicates=lambda: self.drawn_by_row.evaluate(measure),
            stratified_replicates=of.stratified_replicates,
            studentized_replicates=of.studentized_replicates,
            jackknife=of.jackknife,
            group_jackknife=lambda: jackknife(measure, self.table, self.drawn_by_row.ranked_rows),
            methods=of.methods(),
        )
        return effective_sample_size.add_interval(measure, made, [(1.0, made)], of.acceleration)


def estimate_from_table(
    measure: MeasureLike,
    table: ScoreTable,
    settings: Settings,
    rows: int,
    *,
    together: bool = False,
) -> PointEstimate:
    """Estimate a measure from a table of scores.

    ``together`` uses the values of the common areas as the core computes them, with their standard
    errors in one pass over the table.
    """
    definition = measure.definition
    area = definition.area if together else None
    if (
        area is not None
        and area.name in USUAL_AREAS
        and not undefined_reasons(measure, table, rows)
    ):
        value = area.scale * table.area(area.name)[0] + area.shift
    else:
        value = float(measure.apply(table))
    kind = _KINDS.get(definition.interval, "measure of scores")
    if definition.is_at_corner:
        kind = "maximum over thresholds"
    elif definition.area is not None and definition.area.name in _INTERPOLATED:
        kind = _INTERPOLATED[definition.area.name]

    def error_of() -> StandardError | None:
        se = standard_error(measure, table)
        return None if se is None else StandardError(se, "delta")

    return PointEstimate(
        value=value,
        kind=kind,
        settings=settings,
        n=rows,
        bounds=definition.range,
        undefined=undefined_reasons(measure, table, rows),
        higher_is_better=definition.higher_is_better,
        sizes=lambda: intervals.class_sizes(table)[::-1],
        transform="logit" if definition.range == (0, 1) else None,
        caution=_few_beyond(measure, table),
        error=error_of,
        methods=_area_intervals(measure, value, table),
    )


def table_acceleration(measure: MeasureLike, table: ScoreTable, most: float) -> float | None:
    """Return the acceleration of an area, if its table determines it.

    With unequal weights, of which ``most`` is the largest, it is 0 if no row has enough influence
    to matter, else None.
    """
    assert measure.definition.area is not None
    if not table.has_weights:
        return table.acceleration(measure.definition.area.name)
    by_cell, se = influence(measure, table), standard_error(measure, table)
    if by_cell is None or se is None:
        return None
    furthest = max(float(np.abs(of).max(initial=0.0)) for of in by_cell)
    return 0.0 if furthest * most < FEW_DECIDE / 2 * se else None


def _few_beyond(measure: MeasureLike, table: ScoreTable) -> str:
    """Return the warning for a rate at a rate of a class with few rows beyond the threshold."""
    if measure.definition.name not in _AT_RATES:
        return ""
    parameter, place = _AT_RATES[measure.definition.name]
    rate = measure.parameters[parameter]
    beyond = min(rate, 1 - rate) * intervals.class_sizes(table)[place]
    few = 0 < beyond < FEW_BEYOND * (1 - ROUNDING)
    return "hardly a row lies beyond the point" if few else ""


@dataclass(frozen=True, eq=False)
class _ScoreEstimate:
    """Estimate of one measure on some rows."""

    rows: ScoredRows
    measure: MeasureLike
    value: float

    @property
    def _table(self) -> ScoreTable:
        return self.rows.table

    def influence(self) -> Influence | None:
        """Return the influence values of the rows."""
        return self._influence

    @cached_property
    def _influence(self) -> Influence | None:
        return self.rows.influence(self.measure)

    def error(self) -> StandardError | None:
        """Return the standard error of the value."""
        if self.rows.clusters is None:
            se = standard_error(self.measure, self._table)
            return None if se is None else StandardError(se, "delta")
        found = self.influence()
        return None if found is None else replace(found.error, name="delta")

    def acceleration(self) -> float | None:
        """Return the acceleration of an area, if the table alone determines it."""
        area = self.measure.definition.area
        if area is None or self.rows.clusters is not None:
            return None
        weight = self.rows.weight
        most = 1.0 if weight is None else float(weight.max(initial=0.0))
        return table_acceleration(self.measure, self._table, most)

    def methods(self) -> dict[str, Limits]:
        """Return the interval methods specific to areas and to maxima over thresholds."""
        clusters, area = self.rows.clusters, self.measure.definition.area
        if self.measure.definition.is_at_corner:
            return {
                "turned on logits": self._basic_interval,
                "of the smaller class": self._minority_interval,
            }
        if area is None:
            definition = self.measure.definition
            share = definition.range == (0, 1) or definition.area_fraction is not None
            return {"of the smaller class": self._minority_interval} if share else {}
        if clusters is None:
            return _area_intervals(self.measure, self.value, self._table)
        if area.name != "AUC":
            return {"of positives": partial(_positives_interval, self.value, self._sizes[0])}
        return {"delong": self._obuchowski, "area": self._separated_interval}

    @property
    def _sizes(self) -> tuple[float, float]:
        """Numbers of positives and negatives, or of clusters with such rows.

        They are 0 for a single cluster.
        """
        clusters = self.rows.clusters
        if clusters is None:
            return intervals.class_sizes(self._table)
        return clusters.numbers_by_class(self.rows.positive) if clusters.n_clusters > 1 else (0, 0)

    def _minority_interval(self, level: float) -> Interval:
        """Return the interval of a proportion of the class that has fewer rows, or clusters."""
        part, rows, which = self._area_fraction, min(self._sizes), "of the smaller class"
        if not rows > 0:
            alone = self.rows.clusters is not None and self.rows.clusters.n_clusters < 2
            return intervals.no_interval("none", "too_few_clusters" if alone else "one_class")
        if part is None:
            return _proportion_interval(self.value, rows, which, level)
        least = float(self.measure.apply(_reverse_table(self._table)))
        made = _proportion_interval((self.value - least) / (1 - least), rows * part, which, level)
        low, high = (least + (1 - least) * end for end in (made.low, made.high))
        return replace(made, low=low, high=high, se=(1 - least) * made.se)

    @property
    def _area_fraction(self) -> float | None:
        part = self.measure.definition.area_fraction
        return None if part is None else part(self.measure.parameters)

    def _separated_interval(self, level: float) -> Interval:
        clusters, area = self.rows.clusters, self.measure.definition.area
        assert clusters is not None
        inside = (self.value - area.shift) / area.scale
        if inside not in (0.0, 1.0):
            return intervals.no_interval("none", "too_few_clusters")
        return _transform_interval(
            area, clusters.separated_interval(inside, self.rows.positive, level)
        )

    def _obuchowski(self, level: float) -> Interval:
        clusters, found = self.rows.clusters, self.influence()
        assert clusters is not None
        assert found is not None
        error = found.error
        if np.isfinite(error.se) and not error.se > 0:
            return intervals.no_interval("Obuchowski", "no_spread")
        return clusters.normal(self.value, error.se, error.degrees, level, "Obuchowski")

    def _basic_interval(self, level: float) -> Interval:
        clusters = self.rows.clusters
        name = "bootstrap [B]" if clusters is None else clusters.bootstrap
        size, drawn = (
            min(intervals.class_sizes(self._table)),
            self.rows.replicates.evaluate(self.measure),
        )
        return intervals.turned_on_logit(self.value, drawn, size, level, f"pivotal {name}, logit")

    def stratified_replicates(self) -> FloatArray | None:
        """Return replicates drawn class by class, for independent rows of equal weight."""
        if self.rows.clusters is not None or self._table.has_weights:
            return None
        tables = stratified_replicates(self._table, self.rows.settings)
        return np.concatenate([self.measure.apply(table) for table in tables])

    def jackknife(self) -> tuple[FloatArray, FloatArray | None]:
        """Return jackknife values, by the influence of rows or by leaving out groups of them."""
        if self.rows.clusters is None:
            plain = not self._table.has_weights
            found = influence(self.measure, self._table) if plain else None
            if found is not None:
                moved = np.concatenate(found)
                return moved, np.concatenate([self._table.positive, self._table.negative])
            own = self.influence()
            if own is not None:
                return own.column, None
        return jackknife(self.measure, self._table, self.rows.replicates.ranked_rows), None

    def studentized_replicates(self) -> tuple[float, FloatArray, FloatArray] | None:
        """Return the standard error, the replicates and their standard errors.

        They exist if the influence of rows has a formula, and the table is sufficient for the rows.
        """
        if self.rows.rows() is not None:
            return None
        own = influence(self.measure, self._table)
        if own is None or self.measure.definition.area is None:
            return None

        def both(table: ScoreTable, _: ScoreTable | None) -> FloatArray:
            found = influence(self.measure, table)
            assert found is not None
            return np.stack([self.measure.apply(table), found.error(table)])

        replicates, errors = np.concatenate(list(self.rows.replicates.map_tables(both)), axis=1)
        return float(own.error(self._table)), replicates, errors


def _reverse_table(table: ScoreTable) -> ScoreTable:
    """Return the table with all negatives ranked above all positives."""
    one, two = np.array([0.0, 1.0]), np.array([1.0, 0.0])
    return replace(
        table,
        scores=two,
        positive=one * table.positive.sum(),
        negative=two * table.negative.sum(),
        positive_squares=one * table.positive_squares.sum(),
        negative_squares=two * table.negative_squares.sum(),
    )


def _proportion_interval(value: float, rows: float, which: str, level: float) -> Interval:
    """Return the Wilson interval of a proportion of this number of rows."""
    if not rows > 0:
        return intervals.no_interval("none", "too_few_clusters")
    made = proportions.wilson(value, rows, level)
    return replace(made, method=f"{made.method}, {which}")


def _positives_interval(value: float, positives: float, level: float) -> Interval:
    """Return the interval of a proportion of the positives.

    The area is a mean of their precisions.
    """
    return _proportion_interval(value, positives, "of positives", level)


def _transform_interval(area: Any, found: Interval) -> Interval:
    """Transform the interval of an area to that of a linear function of it."""
    low, high = (area.scale * end + area.shift for end in (found.low, found.high))
    return replace(found, low=low, high=high, se=area.scale * found.se)


def _area_intervals(measure: MeasureLike, value: float, table: ScoreTable) -> dict[str, Limits]:
    """Return the intervals of an area of independent rows, from the table alone.

    Those of a linear function of an AUC, A = (value − shift)/scale, are transformed back.
    """
    area = measure.definition.area
    if area is None:
        return {}
    if area.name != "AUC":
        positives = intervals.class_sizes(table)[0]
        made: dict[str, Limits] = {"of positives": partial(_positives_interval, value, positives)}
        if area.name == "AP-DG":
            return made
        on_logit = partial(intervals.precision_recall_logit, value, positives)
        return {**made, "area": on_logit, "logit": on_logit}

    def limits(made: Callable[[float, ScoreTable, float], Interval], level: float) -> Interval:
        return _transform_interval(area, made((value - area.shift) / area.scale, table, level))

    return {
        "area": partial(limits, intervals.auc_interval),
        "delong": partial(limits, intervals.delong_interval),
        "hanley": partial(limits, intervals.hanley_interval),
    }
