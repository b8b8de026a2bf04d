"""Intervals of measures of scores, and of whatever else the influence of rows is known of."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from calipers.inference import intervals
from calipers.inference.estimate import (
    FEW_OF_MAXIMUM,
    FEW_POSITIVES,
    STRATIFIED,
    MeasureLike,
    Offers,
    Settings,
    bootstrap_method,
    bootstrap_offers,
    normal_of,
    percentile,
    share_offers,
)
from calipers.inference.influence import SMOOTH, error, influence, jackknife, row_error
from calipers.inference.paired import row_placements

if TYPE_CHECKING:
    from calipers.inference.clusters import Clusters
    from calipers.inference.intervals import Interval
    from calipers.inference.scores import Drawn
    from calipers.statistics import FloatArray, ScoreTable


@dataclass(frozen=True)
class Scores:
    """A score table and how to bootstrap it: ``replicates`` are those of a measure, ``drawn`` is
    where they come from."""

    table: ScoreTable
    settings: Settings
    replicates: Callable[[MeasureLike], FloatArray]
    clusters: Clusters | None = None
    clustered_area: Callable[[float], Interval] | None = None
    drawn: Drawn | None = None

    def interval(self, measure: MeasureLike, value: float) -> Interval:
        """That asked for by name; the analytic interval that the measure names; or the bootstrap,
        and where none is wanted the delta method, if rows have a known influence."""
        asked = self.asked(measure, value)
        if asked is not None:
            return asked
        named = measure.definition.interval
        if self.settings.prefers_bootstrap:
            named = None
        if self.clusters is not None:
            separated = value in (0.0, 1.0)  # so is every replicate
            if named != "auc" or (self.settings.interval == "auto" and not separated):
                named = None
        if self.settings.interval == "analytic" and named is None and np.isfinite(value):
            made = self._delta(measure, value)
            if made is not None:
                return made.within(*measure.definition.range)
        refused = self.settings.refuses(value, bootstrap=named is None)
        if refused is not None:
            return refused
        level = self.settings.level
        if named == "auc" and self.clustered_area is not None and self.clusters is not None:
            return self.clustered_area(value)
        if named == "auc":
            return intervals.auc_interval(value, self.table, level)
        if named == "gini":
            return self._of_area(measure, value, intervals.auc_interval)
        if named == "pr_logit":
            size = intervals.class_sizes(self.table)[0]
            enough = size >= FEW_POSITIVES and not self.table.weighted
            if enough and self.settings.interval == "auto":
                # Boyd's error does not know how scores lie: it held the truth up to 100 times of
                # 100, where this one did 93 to 97 times (with weights, 88 times).
                made = self._delta(measure, value)
                if made is not None and made.reason is None:
                    return made
            return intervals.precision_recall_logit(value, size, level)
        several = self.clusters is None or self.clusters.number > 1
        if measure.definition.at_corner and several and not self.settings.prefers_bootstrap:
            # The best of all thresholds flatters, and its replicates do once more: percentiles
            # held the truth 75 to 90 times of 100.
            method = f"pivotal {bootstrap_method(self.clusters)}, logit"
            size = min(intervals.class_sizes(self.table))
            drawn = self.replicates(measure)
            made = intervals.turned_on_logit(value, drawn, size, level, method)
            return made.but("a maximum of few rows") if size < FEW_OF_MAXIMUM else made
        made = percentile(self.replicates(measure), self.settings, self.clusters)
        for end in measure.definition.range:
            if end in (made.low, made.high):
                # Errors that the data do not have, no replicate has: such intervals held the truth
                # 66 to 94 times of 100, the others 95 to 98 times.
                return made.but(f"it ends at {end:g}")
        return made

    def asked(
        self, measure: MeasureLike, value: float, offers: Offers | None = None
    ) -> Interval | None:
        """By a method asked for by name; ``offers`` are those that take the place of the usual."""
        area = measure.definition.name in ("AUC", "Gini")
        own: Offers = {
            "delong": lambda: self._delong(measure, value),
            "hanley": lambda: (
                self._of_area(measure, value, intervals.hanley_interval)
                if self.clusters is None
                else None
            ),
            "delta": lambda: self._delta(measure, value),
            **bootstrap_offers(
                value,
                self.settings,
                lambda: self.replicates(measure),
                lambda: self._jackknife(measure),
                lambda: self._studentised(measure),
                self.clusters,
            ),
            "stratified": lambda: self._stratified(measure),
            **(offers or {}),
        }
        kind = "AUC, Gini" if area else "measure of scores"
        return self.settings.named(kind, value, own, measure.definition.range)

    def _of_area(
        self,
        measure: MeasureLike,
        value: float,
        made: Callable[[float, ScoreTable, float], Interval],
    ) -> Interval:
        """An interval of the AUC; of the Gini, as 2·AUC − 1."""
        if measure.definition.name == "AUC":
            return made(value, self.table, self.settings.level)
        area = made((value + 1) / 2, self.table, self.settings.level)
        return replace(area, low=2 * area.low - 1, high=2 * area.high - 1)

    def _stratified(self, measure: MeasureLike) -> Interval | None:
        """Of independent rows that weigh alike."""
        if self.clusters is not None or self.table.weighted:
            return None
        from calipers.inference.scores import drawn_by_class

        tables = drawn_by_class(self.table, self.settings)
        drawn = np.concatenate([measure.apply(table) for table in tables])
        return intervals.percentile(drawn, self.settings.level, STRATIFIED)

    def _delong(self, measure: MeasureLike, value: float) -> Interval | None:
        if self.clusters is None:
            return self._of_area(measure, value, intervals.delong_interval)
        if self.drawn is None or self.drawn.rows is None:
            return None
        scale = 2.0 if measure.definition.name == "Gini" else 1.0
        positive, score, _, _ = self.drawn.rows
        placed = row_placements(self.table, positive, score)
        se = scale * self.clusters.auc_error(positive, placed)
        return normal_of(value, se, self.settings, self.clusters, "Obuchowski")

    def influence(self, measure: MeasureLike) -> FloatArray | None:
        """By how much each row (by descending score where the table is all there is) moves the
        measure, times its weight; None where that is not known."""
        found = influence(measure, self.table)
        if found is None or self.drawn is None or self.drawn.rows is None:
            return None
        positive, score, weight, _ = self.drawn.rows
        moved = found.of_rows(positive, score)
        return moved if weight is None else moved * weight

    def _delta(self, measure: MeasureLike, value: float) -> Interval | None:
        """By the influence of rows; on the logit scale where that is the range of the measure."""
        if self.clusters is None:
            se = error(measure, self.table)
        else:
            moved = self.influence(measure)
            se = None if moved is None else row_error(moved, clusters=self.clusters)
        if se is None:
            return None
        if measure.definition.range != (0, 1) or not se > 0:
            return normal_of(value, se, self.settings, self.clusters, "delta")
        if not 0 < value < 1:
            return intervals.missing("delta, logit", "area_at_its_limit")
        if self.clusters is None:
            return intervals.on_logit(value, se, self.settings.level, "delta, logit")
        se = self.clusters.widened(se, self.settings.level)
        name = self.clusters.named("delta, logit")
        return intervals.on_logit(value, se, self.settings.level, name)

    def _jackknife(self, measure: MeasureLike) -> tuple[FloatArray, FloatArray | None] | None:
        """By the influence of rows, else by leaving out groups of them."""
        if self.drawn is None:
            return None
        if self.clusters is None:
            found = influence(measure, self.table)
            if found is not None and not self.table.weighted:
                moved = np.concatenate(found)
                return moved, np.concatenate([self.table.positive, self.table.negative])
            own = self.influence(measure)
            if own is not None:
                return own, None
        return jackknife(measure, self.table, self.drawn.ranked), None

    def _studentised(self, measure: MeasureLike) -> tuple[float, FloatArray, FloatArray] | None:
        """Where the influence of rows has a formula, and the table is all there is to the rows."""
        if self.drawn is None or self.drawn.rows is not None:
            return None
        own = influence(measure, self.table)
        if own is None or measure.definition.name in SMOOTH:
            return None

        def both(table: ScoreTable, _: ScoreTable | None) -> FloatArray:
            found = influence(measure, table)
            assert found is not None
            return np.stack([measure.apply(table), found.error(table)])

        replicates, errors = np.concatenate(list(self.drawn.each(both)), axis=1)
        return float(own.error(self.table)), replicates, errors


def asked_of_influence(
    measure: MeasureLike,
    value: float,
    settings: Settings,
    replicates: Callable[[], FloatArray],
    influence: Callable[[], FloatArray | None],
    clusters: Clusters | None = None,
    trials: float | None = None,
) -> Interval | None:
    """By a method asked for by name, where replicates are known, and by how much each row times its
    weight moves the value; ``trials`` is the effective number of rows that a share is of."""

    def delta() -> Interval | None:
        moved = influence()
        if moved is None:
            return None
        return normal_of(value, row_error(moved, clusters=clusters), settings, clusters, "delta")

    def jackknife() -> tuple[FloatArray, None] | None:
        moved = influence()
        if moved is None:
            return None
        if clusters is not None:
            moved = np.bincount(clusters.code, moved).astype(np.float64)
        return moved, None

    offers = {
        **bootstrap_offers(value, settings, replicates, jackknife, clusters=clusters),
        **({} if trials is None else share_offers(value, trials, settings.level)),
        "delta": delta,
    }
    kind = "measure of counts" if trials is None else "share of rows"
    return settings.named(kind, value, offers, measure.definition.range)
