"""Scores of cases: systems that somebody gave a score for each case."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from math import inf
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from calipers.caching import cached_property
from calipers.estimation.case_scores import CaseValues, SortedScores, value_bounds
from calipers.statistics import FloatArray, IntArray, Moments
from calipers.systems.base import RowSystem

if TYPE_CHECKING:
    from calipers.inference.point_estimate import PointEstimate
    from calipers.measures import Measure


@dataclass(frozen=True, eq=False, kw_only=True)
class CaseScores(RowSystem):
    """Scores that one system was given for some cases.

    Attributes
    ----------
    scores : array of shape (n,)
        Score of each case, 0 if it has none.
    status : array of int of shape (n,)
        0 for a case with a score, else the number of the reason why it has none.
    reference : array of shape (n,), optional
        Scores of the reference system, NaN if it has none.
    score_range : tuple of float
        Lowest and highest possible score.
    is_reference : bool, default=False
        Whether this is the reference system.
    """

    scores: FloatArray
    status: IntArray
    reference: FloatArray | None = None
    score_range: tuple[float, float] = (-inf, inf)
    is_reference: bool = False

    unit: ClassVar = "cases"
    columns: ClassVar = ("scores", "status", "reference", "weight")
    output_fields: ClassVar = {"scores": float, "status": np.int64}
    needs: ClassVar = {
        "case scores": ("scores", "scores of the cases"),
        "reference scores": (
            "reference",
            "a reference: baseline= or reference_system= names a system of the table",
        ),
    }

    @cached_property
    def values(self) -> FloatArray:
        """Score of each case, NaN if it has none."""
        return np.where(self.status == 0, self.scores, np.nan)

    def with_outputs(self, name: str, outputs: Mapping[str, Any]) -> CaseScores:
        """Return a system of another name with other scores of the same cases."""
        return self._with(name=name, is_reference=False, **outputs)

    def sample_for(self, measure: Measure) -> CaseValues | SortedScores:
        """Return the value of each case, or the sorted scores."""
        if measure.definition.statistic is not Moments:
            return self.cached("sorted", self._sort)
        reference = self.values if self.reference is None else self.reference
        values = measure.losses(reference, self.values)
        rows = self.weight, self.clusters, self.settings, self._ends(measure)
        return CaseValues(values, *rows, is_constant=self._is_constant(measure))

    def _sort(self) -> SortedScores:
        scored_mask = self.status == 0
        weight = self.weight
        if not scored_mask.all():
            weight = scored_mask * (1.0 if weight is None else weight)
        columns = np.zeros(len(self.scores)), self.scores, weight, self.clusters
        return SortedScores(*columns, self.settings, int(np.count_nonzero(scored_mask)))

    def _ends(self, measure: Measure) -> tuple[float, float]:
        """Return the lowest and the highest value that a case can have."""
        ends: tuple[float, float] = measure.definition.range
        return ends if np.isfinite(ends).all() else self.score_range

    def point_estimate(self, measure: Measure) -> PointEstimate:
        """Return the point estimate, with the name of its unit."""
        return replace(super().point_estimate(measure), unit=self.unit)

    def auxiliary_values(self, measure: Measure) -> Mapping[str, Any]:
        """Return the bounds of a value if cases without a score had the worst, or the best one."""
        total = float(len(self.scores) if self.weight is None else self.weight.sum())
        return self.merged_values(measure, self.sample_for(measure).statistic, total)

    def merged_values(self, measure: Measure, statistic: Any, weight: float) -> Mapping[str, Any]:
        """Return these bounds from the statistic of all cases with a score."""
        if self._is_constant(measure):
            return {}
        bounds = value_bounds(measure, statistic, weight, self._ends(measure))
        if bounds and measure.definition.reads == "reference scores":
            # A score of one system may leave some results of the comparison impossible.
            return {**bounds, "bounds_kind": "outer"}
        return bounds

    def _is_constant(self, measure: Measure) -> bool:
        return self.is_reference and measure.definition.reads == "reference scores"
