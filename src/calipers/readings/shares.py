"""Shares of trials: what is known of them exactly."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from calipers.inference import intervals, proportions
from calipers.inference.intervals import Interval
from calipers.inference.reading import Limits

if TYPE_CHECKING:
    from calipers.inference.clusters import Clusters
    from calipers.statistics import ConfusionMatrix

_OF_SHARES = {
    "wilson": proportions.wilson,
    "clopper-pearson": proportions.clopper_pearson,
    "jeffreys": proportions.jeffreys,
    "agresti-coull": proportions.agresti_coull,
}


def share_methods(share: float, size: float) -> dict[str, Limits]:
    """The intervals of a share of ``size`` (effective) trials, by name."""
    return {
        name: lambda level, made=made: made(share, size, level)  # type: ignore[misc]
        for name, made in _OF_SHARES.items()
    }


def of_clusters(
    value: float, size: Callable[[float], float], clusters: Clusters | None
) -> dict[str, Limits]:
    """The intervals of a share, whose effective size depends on the level where rows come in
    clusters."""

    def limits(name: str, level: float) -> Interval:
        made = share_methods(value, size(level))[name](level)
        assert made is not None
        if clusters is None:
            return made
        if clusters.number < 2 or not math.isfinite(made.low):
            return intervals.missing("none", "too_few_clusters")
        return replace(made, method=clusters.named(f"{made.method}, clustered"))

    return {name: partial(limits, name) for name in share_methods(value, math.nan)}


def size_of(measure: Any, seen: ConfusionMatrix) -> float:
    """Of how many (effective) rows a measure is a share."""
    return float(seen.effective_size(measure.definition.share_of))
