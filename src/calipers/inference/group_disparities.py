"""Joint intervals of the largest difference, smallest ratio, minimum and maximum over groups.

The largest of several estimates is biased upwards. Its limits follow from those of single groups
and pairs of them: the true extreme belongs to one group, or one ordered pair, so that the largest
upper limit needs no adjustment; the largest lower limit holds if those of all pairs do, and is
adjusted for their number by Bonferroni. Limits of a pair of independent groups have the distances
of both added in squares (MOVER; Newcombe 1998, Zou and Donner 2008); if groups share clusters, they
are added as they are, which holds whatever the dependence.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from itertools import permutations

from calipers.inference.intervals import Interval, no_interval
from calipers.lazy_dataclasses import dataclass

METHOD = "limits of the groups"


@dataclass(frozen=True, eq=False)
class GroupEstimates:
    """Values of one measure on several groups, and their intervals at any level."""

    values: Sequence[float]
    interval: Callable[[int, float], Interval]

    def limits(self, level: float) -> list[Interval]:
        """Return the interval of each group."""
        return [self.interval(k, level) for k in range(len(self.values))]

    @property
    def is_defined(self) -> bool:
        """Whether all groups have a value."""
        return all(math.isfinite(value) for value in self.values)


def difference(groups: GroupEstimates) -> float:
    """Return the largest minus the smallest value."""
    return max(groups.values) - min(groups.values)


def ratio(groups: GroupEstimates) -> float:
    """Return the smallest over the largest value; NaN if this is not positive or one is below 0."""
    low, high = min(groups.values), max(groups.values)
    return low / high if low >= 0 and high > 0 else math.nan


def _missing(groups: Sequence[GroupEstimates], level: float) -> Interval | None:
    """Return the first interval that some group does not have."""
    for group in groups:
        for interval in group.limits(level):
            if interval.reason:
                return interval
    return None


def _adjusted_level(level: float, n_comparisons: float) -> float:
    return 1 - (1 - level) / n_comparisons


def _distance(first: float, second: float, *, independent: bool) -> float:
    return math.hypot(first, second) if independent else first + second


def _differences(
    groups: GroupEstimates, level: float, *, independent: bool
) -> Iterator[tuple[float, float]]:
    """Yield the limits of the difference of each ordered pair."""
    limits = groups.limits(level)
    for i, j in permutations(range(len(limits)), 2):
        a, b, value = limits[i], limits[j], groups.values
        low = _distance(value[i] - a.low, b.high - value[j], independent=independent)
        high = _distance(a.high - value[i], value[j] - b.low, independent=independent)
        middle = value[i] - value[j]
        yield middle - low, middle + high


def _ratios(
    groups: GroupEstimates, level: float, *, independent: bool
) -> Iterator[tuple[float, float]]:
    """Yield the limits of the ratio of each ordered pair, from those of the logarithms."""
    limits = groups.limits(level)
    for i, j in permutations(range(len(limits)), 2):
        a, b, value = limits[i], limits[j], groups.values
        # Where a logarithm is infinite, the ratio of the opposite limits holds as well.
        low = max(a.low, 0.0) / b.high if b.high > 0 else 0.0
        high = a.high / b.low if b.low > 0 else math.inf
        if independent and value[j] > 0 and value[i] > 0:
            center = math.log(value[i] / value[j])
            if a.low > 0:
                below = math.hypot(math.log(value[i] / a.low), math.log(b.high / value[j]))
                low = math.exp(center - below)
            if b.low > 0:
                above = math.hypot(math.log(a.high / value[i]), math.log(value[j] / b.low))
                high = math.exp(center + above)
        yield low, high


def _n_ordered_pairs(groups: Sequence[GroupEstimates]) -> int:
    return sum(len(group.values) * (len(group.values) - 1) for group in groups)


def difference_interval(
    groups: Sequence[GroupEstimates], level: float, *, independent: bool = True
) -> Interval:
    """Return the interval of the largest difference, over one or several measures.

    >>> from calipers.inference.proportions import wilson
    >>> rates = GroupEstimates([0.5, 0.8], lambda k, level: wilson([0.5, 0.8][k], 100, level))
    >>> interval = difference_interval([rates], 0.95)
    >>> round(interval.low, 3), round(interval.high, 3)
    (0.15, 0.417)
    """
    absent = _missing(groups, level)
    if absent is not None:
        return absent
    adjusted = _adjusted_level(level, _n_ordered_pairs(groups))
    low = max(x[0] for g in groups for x in _differences(g, adjusted, independent=independent))
    high = max(x[1] for g in groups for x in _differences(g, level, independent=independent))
    return Interval(max(low, 0.0), high, METHOD)


def ratio_interval(
    groups: Sequence[GroupEstimates], level: float, *, independent: bool = True
) -> Interval:
    """Return the interval of the smallest ratio, over one or several measures."""
    absent = _missing(groups, level)
    if absent is not None:
        return absent
    adjusted = _adjusted_level(level, _n_ordered_pairs(groups))
    low = min(x[0] for g in groups for x in _ratios(g, level, independent=independent))
    high = min(x[1] for g in groups for x in _ratios(g, adjusted, independent=independent))
    return Interval(max(low, 0.0), min(high, 1.0), METHOD)


def extreme_interval(groups: GroupEstimates, level: float, *, is_minimum: bool) -> Interval:
    """Return the interval of the smallest, or largest, value over the groups."""
    absent = _missing([groups], level)
    if absent is not None:
        return absent
    plain = groups.limits(level)
    adjusted = groups.limits(_adjusted_level(level, len(groups.values)))
    if is_minimum:
        return Interval(min(x.low for x in plain), min(x.high for x in adjusted), METHOD)
    return Interval(max(x.low for x in adjusted), max(x.high for x in plain), METHOD)


def undefined_interval() -> Interval:
    """Return the absent interval of a disparity without a value."""
    return no_interval("none", "undefined_value")
