"""Evaluation of predicted quantiles, and of the intervals between them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from calipers.curves.quantiles import QuantileCurves
from calipers.data.arrays import as_quantities
from calipers.data.errors import InputError
from calipers.data.quantiles import as_quantiles, one_system
from calipers.evaluate.number_rows import NumberRows
from calipers.evaluate.shared import choose_measures, column_name, named_systems
from calipers.evaluate.subjects import of_quantiles
from calipers.results import Evaluation
from calipers.results.estimate import UNNAMED
from calipers.statistics.quantiles import coverages
from calipers.systems.quantiles import Quantiles


def quantiles(truth: Any, given: Any, how: NumberRows) -> Evaluation:
    """How near predicted quantiles come to the truth, and how often it is where they say;
    :func:`calipers.regression` calls it where they are given."""
    target = as_quantities(truth, "truth")
    repeats, shared = how.written(len(target))
    by_name = named_systems({UNNAMED: given} if one_system(given) else given, "quantiles")
    systems: dict[str, Quantiles] = {}
    for name, columns in by_name.items():
        levels, values = as_quantiles(columns, column_name("quantiles", name), len(target))
        systems[name] = Quantiles(name, repeats(target), levels, repeats(values), *shared)
    levels = _same_levels(systems)
    return how.evaluated(
        systems,
        choose_measures(how.measures, usual(levels), "regression"),
        repeats,
        of_quantiles,
        lambda of: QuantileCurves(list(of.values())),
        conventions={"levels": list(levels)},
    )


def usual(levels: tuple[float, ...]) -> Sequence[str]:
    """The measures that are shown where none are named: of intervals the widest."""
    widest = coverages(levels)[:1]
    kinds = ("interval-score", "interval-coverage", "mean-width")
    of_intervals = [f"{kind}@{share:.10g}" for share in widest for kind in kinds]
    return ["mean-pinball", *(of_intervals or [f"quantile-coverage@{a:.10g}" for a in levels[:3]])]


def _same_levels(systems: dict[str, Quantiles]) -> tuple[float, ...]:
    """That losses over levels are of the same ones."""
    first, *others = systems.values()
    for other in others:
        if other.levels != first.levels:
            a, b = (", ".join(f"{x:g}" for x in s.levels) for s in (first, other))
            raise InputError(
                f"quantiles: {first.name} has the levels {a}, {other.name} has {b}; systems are "
                "compared at the same levels"
            )
    return first.levels
