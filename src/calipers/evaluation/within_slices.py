"""Comparison of systems within slices, with simultaneous intervals."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import replace
from typing import TYPE_CHECKING

from calipers.evaluation.compare import ComparisonOptions
from calipers.evaluation.difference_families import (
    JOINT,
    DifferenceStatistics,
    TestFamily,
    make_families,
)
from calipers.inference.available_methods import BY_REPLICATES
from calipers.inference.hypotheses import USUAL
from calipers.inference.method_limits import MOST_PAIRS_WITHIN
from calipers.inference.procedures import no_procedure
from calipers.results import Comparison, Difference, SliceDifference

if TYPE_CHECKING:
    from calipers.evaluation.sample import Sample
    from calipers.measures import Measure


def compare_within_slices(sample: Sample, comparison: Comparison) -> tuple[SliceDifference, ...]:
    """Compare the pairs of a comparison on the rows of each slice.

    As in the comparison, the primary measure is one family and all other measures are another,
    each with all its pairs and slices.
    """
    pairs = list(dict.fromkeys((d.system, d.baseline) for d in comparison))
    if len(pairs) > MOST_PAIRS_WITHIN:
        return ()
    found: dict[Measure, list[DifferenceStatistics]] = {}
    for cut, name, part in sample.iterate_slices():
        # None leads: on several slices no difference is a family by itself.
        asked = ComparisonOptions(part, sample.settings, USUAL, None)
        for measure, own in asked.statistics_by_measure(pairs, "", with_vectors=True).items():
            there = found.setdefault(measure, [])
            there += [
                replace(_drop_degenerate_test(one), slice_key=(cut.column, name)) for one in own
            ]
    return tuple(
        SliceDifference(*one.slice_key, difference)
        for family in make_families(found, comparison.primary)
        for one, difference in _adjust_family(family, sample, comparison.baseline)
    )


def _drop_degenerate_test(one: DifferenceStatistics) -> DifferenceStatistics:
    """Remove a test by replicates if almost none is defined or they do not vary.

    This happens with very few rows; the proportion of replicates on one side of 0 means nothing
    then.
    """
    spread = one.procedure.error.se > 0 or one.value == 0
    if spread or one.fields["test"] not in BY_REPLICATES:
        return one
    none = {"p": math.nan, "test": "none", "low": math.nan, "high": math.nan}
    why = one.fields["interval_reason"] or "no_spread"
    fields = {**one.fields, **none, "interval_reason": why}
    return replace(one, fields=fields, procedure=no_procedure(why, one.value), vector=None)


def _adjust_family(
    family: dict[Measure, list[DifferenceStatistics]], sample: Sample, baseline: str | None
) -> Iterable[tuple[DifferenceStatistics, Difference]]:
    """Adjust the differences of a family; those without a test are not counted."""
    made: dict[int, Difference] = {}
    for way, defined in ((JOINT, True), ("none", False)):
        of = {
            measure: [one for one in own if math.isfinite(one.fields["p"]) is defined]
            for measure, own in family.items()
        }
        of = {measure: own for measure, own in of.items() if own}
        if of:
            rows = TestFamily(of, sample, baseline, sample.settings, lambda *_: {}).adjust(way)
            for measure, own in of.items():
                made.update(zip(map(id, own), rows[measure], strict=True))
    return [(one, made[id(one)]) for own in family.values() for one in own]
