"""Evaluation of predicted quantiles, and of the intervals between them."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

from calipers.curves.quantiles import QuantileCurves
from calipers.data.arrays import as_quantities
from calipers.data.columns import Gathered
from calipers.data.counts import Repeats
from calipers.data.errors import InputError
from calipers.data.quantiles import as_quantiles, one_system
from calipers.evaluate.shared import choose_measures, column_name, named_systems
from calipers.evaluate.skeleton import asked_of, evaluated, weights_and_clusters
from calipers.evaluate.subjects import of_quantiles
from calipers.inference.settings import Settings
from calipers.results import Evaluation
from calipers.results.estimate import UNNAMED
from calipers.statistics.quantiles import coverages
from calipers.systems.quantiles import Quantiles


def quantiles(
    truth: Any,
    given: Any,
    *,
    weight: Any,
    count: Any,
    cluster: Any,
    slices: Any,
    settings: Settings,
    measures: Any,
    curves: bool,
    rows: Gathered,
    **parts: Any,
) -> Evaluation:
    """How near predicted quantiles come to the truth, and how often it is where they say;
    :func:`calipers.regression` calls it where they are given."""
    target = as_quantities(truth, "truth")
    repeats = Repeats.of(count, len(target), weight)
    weights, clusters = weights_and_clusters(weight, cluster, len(target), repeats)
    by_name = named_systems({UNNAMED: given} if one_system(given) else given, "quantiles")
    systems: dict[str, Quantiles] = {}
    for name, columns in by_name.items():
        levels, values = as_quantiles(columns, column_name("quantiles", name), len(target))
        tables = repeats(target), levels, repeats(values)
        systems[name] = Quantiles(name, *tables, weights, settings, clusters)
    levels = _same_levels(systems)
    return evaluated(
        "regression",
        asked_of(systems, chosen := choose_measures(measures, usual(levels), "regression")),
        chosen,
        slices=repeats.sliced(slices),
        conventions={"levels": list(levels)},
        findings=partial(of_quantiles, lambda row: rows.named(repeats.place(row))),
        ids=repeats.ids(rows.names()),
        shown=lambda of: {"curves": QuantileCurves(list(of.values())) if curves else ()},
        **parts,
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
