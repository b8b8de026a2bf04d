"""Evaluation of values per unit that were computed by another tool."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

import numpy as np

from calipers.data.errors import InputError, did_you_mean
from calipers.data.external_values import read_values
from calipers.data.topic_tables import UnitColumns, read_topic_costs, unit_weights
from calipers.evaluation.arguments import validate_arguments
from calipers.evaluation.default_comparison import default_comparison
from calipers.evaluation.options import make_settings
from calipers.evaluation.shared import glossary
from calipers.evaluation.topic_scores import TopicScores
from calipers.measures import (
    TASKS,
    Definition,
    Measure,
    UnknownMeasureError,
    parse,
    parse_by_task,
)
from calipers.measures.registry import registry_state
from calipers.results import Evaluation
from calipers.statistics import FloatArray, Statistic


@validate_arguments
def from_values(
    values: Any,
    *,
    weight: Any = None,
    cost: Any = None,
    measure: str = "value",
    lower_is_better: str | Sequence[str] = (),
    unit: str = "topics",
    primary: str | None = None,
    baseline: str | None = None,
    compare: bool = True,
    interval: str | Sequence[str] = "auto",
    level: float = 0.95,
    n_resamples: int = 2000,
    seed: int = 0,
) -> Evaluation:
    """Evaluate values computed by another tool, one for each unit (topic, data set, user).

    Parameters
    ----------
    values : data frame, path, list of path, or dict of array-like of shape (n_units,)
        A table (data frame, dict of columns, or path) with one row for each value: columns for
        ``system``, unit (``topic``, ``query``, ``dataset``, …, or what ``unit`` calls them),
        ``value`` and perhaps ``measure``. Or a dict from systems to arrays in one order of units,
        to dicts from units to values, or to files; or a list of files: such tables, or what
        ``trec_eval -q`` printed. An empty value, or NaN, means that there is none on this unit.
    weight : dict of float, or array-like of shape (n_units,), optional
        Weight of each unit in means, their intervals and tests: a dict from units to weights or,
        where values are arrays, an array in their order. Importance weights, 0 or more, of which
        only the proportions matter; a unit of weight 0 is left out.
    cost : dict of array-like of shape (n_units,), dict, path, or float, optional
        Costs of the systems, as in :func:`calipers.retrieval`: of each system a dict from units to
        numbers, numbers in the order of the units, a file, or one number.
    measure : str, default='value'
        Name of the measure, if the values do not include it.
    lower_is_better : str or list of str, optional
        Measures for which lower values are better. A measure of the catalog, by any of its names,
        has its own direction; for others higher is assumed to be better, and a note says so.
    unit : str, default='topics'
        Name of the units.
    primary : str, optional
        Primary measure, by default the first. p-values of the other measures are adjusted as a
        separate family.
    baseline : str, optional
        System that all others are compared with; by default every pair is compared, the later minus
        the earlier.
    compare : bool, default=True
        Whether several systems are compared; ``evaluation.compare()`` can also compare them later.
    interval : str or list of str, default='auto'
        Interval method: ``"auto"``, ``"bootstrap"``, ``"analytic"`` or ``"none"``; or methods such
        as ``"bca"`` or ``["jeffreys", "hanley"]``, of which the first applicable one is used.
    level : float, default=0.95
        Confidence level of the intervals.
    n_resamples : int, default=2000
        Number of bootstrap replicates.
    seed : int, default=0
        Seed of the random number generator.

    Returns
    -------
    Evaluation
        Mean over units of each system and measure. If the catalogue knows the measure as a ranking
        measure, and the values are possible values of it, intervals respect its range, and
        proportions have the interval of a proportion.

    Raises
    ------
    InputError
        If a value is not a number or appears twice, or a unit is missing from a system.

    Examples
    --------
    >>> import calipers as cal
    >>> ev = cal.from_values({"old": [0.2, 0.5, 0.4], "new": [0.3, 0.7, 0.4]}, measure="AP")
    >>> round(ev["new", "AP"].value, 4), ev.comparison["AP"].wins, ev.comparison["AP"].ties
    (0.4667, 2, 1)
    """
    settings = make_settings(interval, level, n_resamples, seed)
    external_values = read_values(values, measure, unit=unit)
    higher_is_better, notes = measure_directions(external_values.measures, lower_is_better)
    tables = {
        s: np.column_stack(list(by_measure.values()))
        for s, by_measure in external_values.values.items()
    }
    all_values = np.concatenate(list(tables.values()))
    measures = [
        _resolve_measure(name, higher, all_values[:, index])
        for index, (name, higher) in enumerate(higher_is_better.items())
    ]
    reasons = {
        system: [
            {"no_value": np.flatnonzero(absent).tolist()} if absent.any() else {}
            for absent in np.isnan(table).T
        ]
        for system, table in tables.items()
    }
    singular = unit.removesuffix("s")
    is_numbered = external_values.units == tuple(
        str(index + 1) for index in range(len(external_values.units))
    )
    weights = unit_weights(weight, external_values.units, unit=singular, is_ordered=is_numbered)
    source = TopicScores(
        external_values.units,
        measures,
        tables,
        reasons,
        {name: {} for name in tables},
        settings,
        unit,
    ).with_columns(UnitColumns(weights))
    costs, cost_origins = read_topic_costs(
        cost, external_values.units, tuple(tables), unit=singular
    )
    return source.to_evaluation(
        "values",
        {"unit": unit},
        [*external_values.origins, *cost_origins],
        costs=costs,
        comparison=default_comparison(source, baseline, settings, primary, compare=compare),
        definitions=glossary(m for m in measures if not isinstance(m, _ExternalMeasure)),
        notes=notes,
    )


#: The family of measures of which no formula is known.
EXTERNAL_FAMILY = "given"


class _ExternalMeasure(Measure):
    """Measure computed by another tool; its name is not parsed for parameters."""

    def __str__(self) -> str:
        return self.definition.name


class _ExternalDefinition:
    __doc__ = None  # a measure's description is the docstring of its formula

    def __init__(self, name: str) -> None:
        self.name = name

    def __call__(self, statistic: Any) -> FloatArray:
        raise TypeError(f"{self.name} was computed elsewhere")


def measure_directions(
    names: Sequence[str], lower_is_better: str | Sequence[str]
) -> tuple[dict[str, bool | None], tuple[str, ...]]:
    """Return for each measure whether higher is better, and notes on what was assumed.

    The direction is None if neither is better. It is given by ``lower_is_better``, else by the
    catalogue; by default, higher is better.
    """
    lower = [lower_is_better] if isinstance(lower_is_better, str) else list(lower_is_better)
    for name in lower:
        if name not in names:
            raise InputError(
                f"lower_is_better: {name!r} is not among the measures; {did_you_mean(name, names)}"
            )
    better: dict[str, bool | None] = {}
    assumed = []
    for name in names:
        known_directions = _known_directions(name, registry_state())
        if name in lower:
            better[name] = False
        elif len(known_directions) == 1:
            [better[name]] = known_directions
        else:
            better[name] = True
            assumed.append(name)
    note = (
        f"Higher values of {', '.join(assumed)} are assumed to be better; set lower_is_better= to "
        "change this."
    )
    notes = (note,) if assumed else ()
    return better, notes


@functools.lru_cache(maxsize=256)
def _known_directions(name: str, _: tuple[int, ...]) -> frozenset[bool | None]:
    """Return the directions of the measures that a name may denote.

    The result is cached by the edition of the catalogue: an unknown name is looked up in every
    task, which takes longer than a comparison.
    """
    return frozenset(m.definition.higher_is_better for m in parse_by_task(name))


def _resolve_measure(name: str, higher_is_better: bool | None, values: FloatArray) -> Measure:
    """Return the catalogue's measure that these values can belong to, or an external measure.

    Only the name and direction of an external measure are known.
    """
    catalog_measure = _ranking_measure(name, values[~np.isnan(values)])
    has_same_direction = (
        catalog_measure is not None
        and catalog_measure.definition.higher_is_better is higher_is_better
    )
    if catalog_measure is not None and has_same_direction and str(catalog_measure) == name:
        return catalog_measure
    is_known = catalog_measure is not None
    # The mean of values 0 and 1 is the proportion of units that have 1.
    is_binary = not is_known and bool(np.isin(values[~np.isnan(values)], (0.0, 1.0)).all())
    definition = Definition(
        name=name,
        family=EXTERNAL_FAMILY,
        statistic=Statistic,
        formula=_ExternalDefinition(name),
        higher_is_better=higher_is_better,
        range=catalog_measure.definition.range
        if catalog_measure is not None
        else ((0.0, 1.0) if is_binary else (-np.inf, np.inf)),
        proportion_of=catalog_measure.definition.proportion_of
        if catalog_measure is not None
        else ("topics" if is_binary else None),
        summary="mean" if catalog_measure is None else catalog_measure.definition.summary,
    )
    return _ExternalMeasure(definition, ())


@functools.lru_cache(maxsize=256)
def _find_ranking_measure(name: str, _: tuple[int, ...]) -> Measure | None:
    """Return the ranking measure with that name in this edition of the catalogue."""
    try:
        return parse(name, TASKS["retrieval"])
    except UnknownMeasureError:
        return None


def _ranking_measure(name: str, values: FloatArray) -> Measure | None:
    """Return the ranking measure of that name, if these can be its values.

    It has to be a mean (or geometric mean) over topics. Percentages are outside the range of
    measures, and proportions of topics take only the values 0 and 1.
    """
    measure = _find_ranking_measure(name, registry_state())
    if measure is None:
        return None
    definition = measure.definition
    low, high = definition.range
    is_within = bool(((values >= low) & (values <= high)).all())
    if definition.summary == "geometric" and not is_within:
        raise InputError(f"{name} is a geometric mean; expected values from {low:g} to {high:g}")
    if definition.summary not in ("mean", "geometric") or not is_within:
        return None
    if definition.proportion_of == "topics" and not np.isin(values, (0.0, 1.0)).all():
        return None
    return measure
