"""Evaluation of probabilities where the truth is a distribution over the classes, row by row."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from calipers.data.arrays import as_array, column_names, table_of
from calipers.data.class_columns import class_table, columns_of_classes, is_per_class
from calipers.data.classes import Classes, name_of
from calipers.data.columns import Gathered
from calipers.data.counts import Repeats
from calipers.data.errors import InputError
from calipers.evaluate.shared import as_order, choose_measures, column_name, named_systems
from calipers.evaluate.skeleton import asked_of, evaluated, weights_and_clusters
from calipers.inference.settings import Settings
from calipers.results import Evaluation
from calipers.results.estimate import UNNAMED
from calipers.statistics import FloatArray
from calipers.systems.soft import Distributions

DEFAULT_MEASURES = ("soft-log-loss", "KL-divergence", "soft-Brier")


def soft(
    truth: Any,
    probability: Any,
    labels: Sequence[Any] | None,
    odd: Mapping[str, Any],
    *,
    weight: Any,
    count: Any,
    cluster: Any,
    slices: Any,
    settings: Settings,
    measures: Any,
    rows: Gathered,
    time: Any = None,
    **parts: Any,
) -> Evaluation:
    """How near predicted distributions come to true ones; :func:`calipers.classification` calls it
    where ``truth`` is a table; ``odd`` is what such a truth goes without."""
    for name in (name for name, value in odd.items() if value is not None):
        raise InputError(f"truth: is a distribution a row, which goes without {name}=")
    if probability is None:
        raise InputError("truth: is a distribution a row, which takes probability= of each class")
    names, target, said = distributions(truth, probability, labels)
    repeats = Repeats.of(count, len(target), weight)
    weights, clusters = weights_and_clusters(weight, cluster, len(target), repeats)
    given = {
        name: Distributions(name, repeats(target), repeats(table), weights, settings, clusters)
        for name, table in said.items()
    }
    chosen = choose_measures(measures, DEFAULT_MEASURES, "classification")
    return evaluated(
        "classification",
        asked_of(given, chosen),
        chosen,
        slices=repeats.sliced(slices),
        about=repeats.about(rows),
        order=as_order(time, repeats),
        conventions={"classes": list(names), "truth": "a distribution a row"},
        **parts,
    )


def distributions(
    truth: Any, probability: Any, labels: Sequence[Any] | None = None
) -> tuple[tuple[str, ...], FloatArray, dict[str, FloatArray]]:
    """The classes, what is true of each row, and what each system says of it, all checked."""
    by_name = columns_of_classes(truth)
    rows = _rows_of(truth) if by_name else len(table_of(truth, "truth"))
    if labels is not None:
        names = tuple(map(name_of, labels))
    else:
        names = by_name or tuple(map(str, range(table_of(truth, "truth").shape[1])))
    nobody = Classes(names, np.zeros(rows, np.intp))

    def table(values: Any, what: str) -> FloatArray:
        return np.asarray(class_table(values, nobody, what)[0], np.float64)

    alone = is_per_class(probability, names)
    systems = named_systems({UNNAMED: probability} if alone else probability, "probability")
    said = {name: table(of, column_name("probability", name)) for name, of in systems.items()}
    return names, table(truth, "truth"), said


def _rows_of(columns: Any) -> int:
    """How many rows a column of the truth has, whatever it is named by."""
    first = column_names(columns)[0]
    column = columns.column(first) if hasattr(columns, "column") else columns[first]
    return len(as_array(column, f"truth, class {first}"))
