"""Measures of scores: readings over a table of distinct scores and the rows behind it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from calipers.inference import intervals
from calipers.inference.influence import SMOOTH, error, influence, jackknife
from calipers.inference.intervals import Interval
from calipers.inference.reading import ByClass, Error, Influence, Limits, Reading
from calipers.inference.scores import Drawn, drawn_by_class
from calipers.once import cached_property
from calipers.readings.undefined import reasons
from calipers.statistics import FloatArray, ScoreOrder, ScoreTable

if TYPE_CHECKING:
    import numpy.typing as npt

    from calipers.inference.clusters import Clusters
    from calipers.inference.settings import MeasureLike, Settings

#: The rows of the policy for areas that have a law of their own.
_KINDS = {"auc": "AUC", "gini": "Gini", "pr_logit": "precision area"}


@dataclass(frozen=True, eq=False)
class ScoredRows:
    """Rows of two classes with a score each, and how they are redrawn."""

    positive: npt.NDArray[np.bool_]
    score: npt.NDArray[np.floating[Any]]
    weight: FloatArray | None
    clusters: Clusters | None
    settings: Settings
    #: Measures that are bootstrapped together.
    together: tuple[MeasureLike, ...] = ()

    @cached_property
    def order(self) -> ScoreOrder:
        """The scores by size."""
        return ScoreOrder(self.score)

    @cached_property
    def table(self) -> ScoreTable:
        """The table of distinct scores."""
        return ScoreTable.from_rows(self.positive, self.score, self.weight)

    @cached_property
    def drawn(self) -> Drawn:
        """Bootstrap replicates of the table."""
        return Drawn(self.table, self.settings, self.rows(), self.together)

    @cached_property
    def drawn_by_row(self) -> Drawn:
        """The same, drawn by row, so that the same rows are drawn for every system."""
        return Drawn(self.table, self.settings, self.rows(by_row=True), self.together)

    def rows(self, *, by_row: bool = False) -> Any:
        """Truth, score and weight where the bootstrap cannot do with the table alone."""
        unit = np.arange(len(self.positive), dtype=np.uint32) if by_row else None
        if self.clusters is not None:
            unit = self.clusters.code
        if self.weight is None and unit is None:
            return None
        return self.positive, self.order, self.weight, unit

    def reading(self, measure: MeasureLike) -> Reading:
        """The reading of a measure of scores."""
        value, definition = float(measure.apply(self.table)), measure.definition
        kind = _KINDS.get(definition.interval, "measure of scores")
        if definition.at_corner:
            kind = "maximum over thresholds"
        of = _OfScores(self, measure, value)
        return Reading(
            value=value,
            kind=kind,
            settings=self.settings,
            n=len(self.positive),
            bounds=definition.range,
            undefined=reasons(measure, self.table, len(self.positive)),
            higher_is_better=definition.higher_is_better,
            weight=self.weight,
            clusters=self.clusters,
            sizes=lambda: intervals.class_sizes(self.table)[::-1],
            transform="logit" if definition.range == (0, 1) else None,
            influence=of.influence,
            error=of.error,
            alone=lambda: self.drawn.of(measure),
            replicates=lambda: self.drawn_by_row.of(measure),
            stratified=of.stratified,
            studentised=of.studentised,
            jackknife=of.jackknife,
            left_out=lambda: jackknife(measure, self.table, self.drawn_by_row.ranked),
            methods=of.methods(),
        )


@dataclass(frozen=True, eq=False)
class _OfScores:
    """One measure of some rows."""

    rows: ScoredRows
    measure: MeasureLike
    value: float

    @property
    def _table(self) -> ScoreTable:
        return self.rows.table

    def influence(self) -> Influence | None:
        """By how much each row moves the value."""
        found = influence(self.measure, self._table)
        if found is None:
            return None
        rows, area = self.rows, self.measure.definition.interval == "auc"
        moved = found.of_rows(rows.positive, rows.order)
        moved = moved if rows.weight is None else moved * rows.weight
        space = ByClass(rows.weight, rows.clusters, positive=rows.positive, pairs=area)
        return Influence(moved, space, *(("DeLong", "Obuchowski") if area else ("influence",)))

    def error(self) -> Error | None:
        """The standard error of the value."""
        if self.rows.clusters is None:
            se = error(self.measure, self._table)
            return None if se is None else Error(se, "delta")
        found = self.influence()
        return None if found is None else Error(found.error.se, "delta")

    def methods(self) -> dict[str, Limits]:
        """What the law of an area has of its own."""
        match self.measure.definition.interval:
            case "auc" | "gini":
                return {"area": self._area, "delong": self._delong, "hanley": self._hanley}
            case "pr_logit":
                return {"area": self._boyd}
        if self.measure.definition.at_corner:
            return {"turned on logits": self._turned}
        return {}

    def _of_area(
        self, made: Callable[[float, ScoreTable, float], Interval], level: float
    ) -> Interval:
        """An interval of the AUC; of the Gini, as 2·AUC − 1."""
        if self.measure.definition.interval == "auc":
            return made(self.value, self._table, level)
        area = made((self.value + 1) / 2, self._table, level)
        return replace(area, low=2 * area.low - 1, high=2 * area.high - 1)

    def _area(self, level: float) -> Interval | None:
        clusters = self.rows.clusters
        if clusters is None:
            return self._of_area(intervals.auc_interval, level)
        if self.measure.definition.interval != "auc":
            return None
        return clusters.auc_interval(self.value, self._se(), self.rows.positive, level)

    def _se(self) -> float:
        found = self.influence()
        assert found is not None
        return found.error.se

    def _delong(self, level: float) -> Interval | None:
        clusters = self.rows.clusters
        if clusters is None:
            return self._of_area(intervals.delong_interval, level)
        se = self._se()
        if np.isfinite(se) and not se > 0:
            return intervals.missing("Obuchowski", "no_spread")
        return clusters.normal(self.value, se, level, "Obuchowski")

    def _hanley(self, level: float) -> Interval | None:
        if self.rows.clusters is not None:
            return None
        return self._of_area(intervals.hanley_interval, level)

    def _boyd(self, level: float) -> Interval | None:
        if self.rows.clusters is not None:
            return None
        positives = intervals.class_sizes(self._table)[0]
        return intervals.precision_recall_logit(self.value, positives, level)

    def _turned(self, level: float) -> Interval:
        clusters = self.rows.clusters
        name = "bootstrap [B]" if clusters is None else clusters.bootstrap
        size, drawn = min(intervals.class_sizes(self._table)), self.rows.drawn.of(self.measure)
        return intervals.turned_on_logit(
            self.value, drawn, size, level, f"pivotal {name}, logit"
        )

    def stratified(self) -> FloatArray | None:
        """Replicates drawn class by class, of independent rows that weigh alike."""
        if self.rows.clusters is not None or self._table.weighted:
            return None
        tables = drawn_by_class(self._table, self.rows.settings)
        return np.concatenate([self.measure.apply(table) for table in tables])

    def jackknife(self) -> tuple[FloatArray, FloatArray | None]:
        """By the influence of rows, else by leaving out groups of them."""
        if self.rows.clusters is None:
            found = influence(self.measure, self._table)
            if found is not None and not self._table.weighted:
                moved = np.concatenate(found)
                return moved, np.concatenate([self._table.positive, self._table.negative])
            own = self.influence()
            if own is not None:
                return own.column, None
        return jackknife(self.measure, self._table, self.rows.drawn.ranked), None

    def studentised(self) -> tuple[float, FloatArray, FloatArray] | None:
        """Where the influence of rows has a formula, and the table is all there is to the rows."""
        if self.rows.rows() is not None:
            return None
        own = influence(self.measure, self._table)
        if own is None or self.measure.definition.name in SMOOTH:
            return None

        def both(table: ScoreTable, _: ScoreTable | None) -> FloatArray:
            found = influence(self.measure, table)
            assert found is not None
            return np.stack([self.measure.apply(table), found.error(table)])

        replicates, errors = np.concatenate(list(self.rows.drawn.each(both)), axis=1)
        return float(own.error(self._table)), replicates, errors
