"""Comparison of systems within slices, with simultaneous intervals."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from calipers.evaluation.compare import ComparisonOptions
from calipers.evaluation.difference_families import (
    MAX_T,
    DifferenceFamily,
    DifferenceStatistics,
    make_families,
)
from calipers.inference.available_methods import BOOTSTRAP_TEST_NAMES
from calipers.inference.hypotheses import DEFAULT_HYPOTHESIS
from calipers.inference.method_limits import MAX_PAIRS_WITHIN_SLICES
from calipers.inference.procedures import no_procedure
from calipers.results import Comparison, Difference, SliceDifference

if TYPE_CHECKING:
    from calipers.evaluation.sample import Sample
    from calipers.measures import Measure


class WithinSliceComparison:
    """Comparison of the pairs of systems of a comparison on the rows of each slice.

    As in the comparison, the primary measure is one family and all other measures are another,
    each with all its pairs and slices.
    """

    def __init__(self, sample: Sample, comparison: Comparison) -> None:
        self._sample, self._comparison = sample, comparison
        self._pairs = list(dict.fromkeys((d.system, d.baseline) for d in comparison))
        self._statistics_by_measure: dict[Measure, list[DifferenceStatistics]] = {}

    @property
    def has_few_pairs(self) -> bool:
        """Whether the pairs are few enough to be compared on every slice."""
        return len(self._pairs) <= MAX_PAIRS_WITHIN_SLICES

    def add(self, column: str, name: str, slice_sample: Sample) -> None:
        """Compare the systems on a slice of a column."""
        # No measure is primary: with several slices no difference is a family by itself.
        options = ComparisonOptions(slice_sample, self._sample.settings, DEFAULT_HYPOTHESIS, None)
        for measure, slice_statistics in options.statistics_by_measure(
            self._pairs, "", with_vectors=True
        ).items():
            collected = self._statistics_by_measure.setdefault(measure, [])
            collected += [
                replace(_drop_degenerate_test(statistics), slice_key=(column, name))
                for statistics in slice_statistics
            ]

    def differences(self) -> tuple[SliceDifference, ...]:
        """Return the adjusted differences of all slices."""
        sample, comparison = self._sample, self._comparison
        return tuple(
            SliceDifference(*statistics.slice_key, difference)
            for family in make_families(self._statistics_by_measure, comparison.primary)
            for statistics, difference in _adjust_family(family, sample, comparison.baseline)
        )


def compare_within_slices(sample: Sample, comparison: Comparison) -> tuple[SliceDifference, ...]:
    """Compare the pairs of a comparison on the rows of each slice."""
    within = WithinSliceComparison(sample, comparison)
    if within.has_few_pairs:
        for definition, name, slice_sample in sample.iterate_slices():
            within.add(definition.column, name, slice_sample)
    return within.differences()


def _drop_degenerate_test(statistics: DifferenceStatistics) -> DifferenceStatistics:
    """Remove a test by replicates if almost none is defined or they do not vary.

    This happens with very few rows; the proportion of replicates on one side of 0 means nothing
    then.
    """
    has_spread = statistics.procedure.standard_error.se > 0 or statistics.value == 0
    if has_spread or statistics.fields["test"] not in BOOTSTRAP_TEST_NAMES:
        return statistics
    none = {"p": math.nan, "test": "none", "low": math.nan, "high": math.nan}
    reason = statistics.fields["interval_reason"] or "no_spread"
    fields = {**statistics.fields, **none, "interval_reason": reason}
    return replace(
        statistics, fields=fields, procedure=no_procedure(reason, statistics.value), vector=None
    )


def _adjust_family(
    family: dict[Measure, Sequence[DifferenceStatistics]], sample: Sample, baseline: str | None
) -> Iterable[tuple[DifferenceStatistics, Difference]]:
    """Adjust the differences of a family; those without a test are not counted."""
    difference_by_id: dict[int, Difference] = {}
    for method, is_tested in ((MAX_T, True), ("none", False)):
        statistics_by_measure = {
            measure: [
                statistics
                for statistics in measure_statistics
                if math.isfinite(statistics.fields["p"]) is is_tested
            ]
            for measure, measure_statistics in family.items()
        }
        statistics_by_measure = {
            measure: measure_statistics
            for measure, measure_statistics in statistics_by_measure.items()
            if measure_statistics
        }
        if statistics_by_measure:
            differences = DifferenceFamily(
                statistics_by_measure, sample, baseline, sample.settings, lambda *_: {}
            ).adjust(method)
            for measure, measure_statistics in statistics_by_measure.items():
                difference_by_id.update(
                    zip(map(id, measure_statistics), differences[measure], strict=True)
                )
    return [
        (statistics, difference_by_id[id(statistics)])
        for measure_statistics in family.values()
        for statistics in measure_statistics
    ]
