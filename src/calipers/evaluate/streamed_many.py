"""Three classes or more in batches, evaluated in bounded memory."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from calipers.data.classes import Classes, Coded, classes, coded
from calipers.data.counts import Repeats
from calipers.data.errors import InputError
from calipers.evaluate.confusions import confusion
from calipers.evaluate.multiclass import default_measures, systems_of_classes
from calipers.evaluate.shared import MeasureNames, agreed, choose_measures, class_order_notes
from calipers.evaluate.stream_columns import Columns, distinct
from calipers.evaluate.stream_rows import Part, clusters_of, weights_of
from calipers.evaluate.streamed import Streamed, evaluated, statistics_of
from calipers.once import kept
from calipers.statistics import ConfusionMatrix, FloatArray
from calipers.systems.classes import ClassSystem, Problem

if TYPE_CHECKING:
    from calipers.engines.passes import Passes
    from calipers.evaluate.kept import Baseline
    from calipers.inference.settings import Settings
    from calipers.measures import Measure
    from calipers.results import Evaluation


#: What states call it.
MANY = "several classes"


def of_many_classes(
    columns: Columns,
    settings: Settings,
    names: tuple[str, ...],
    measures: MeasureNames | None,
    undefined: str,
    baseline: Baseline,
    primary: str | None,
    *,
    compare: bool = True,
    memory: int,
    stated: bool,
) -> Evaluation:
    """How well systems tell the classes apart, batch by batch; ``stated`` where somebody put these
    in order."""
    build = _Build(columns, names, settings)
    template = build.like(np.ones(len(names)))
    usual = default_measures(template)
    chosen = choose_measures(measures, usual, "classification", undefined=undefined, stated=stated)
    for system in template.values():
        system.check(chosen)
    source = Streamed(
        columns, replace(build, measures=tuple(chosen)), chosen, settings, memory,
        constant=partial(_constant, build), known=_sizes, like=template,
        plan={"task": MANY, "classes": names, "undefined": undefined, "stated": stated},
    )  # fmt: skip

    def shown(engine: Passes) -> dict[str, Any]:
        matrices = statistics_of(engine, ConfusionMatrix)
        return {"confusions": tuple(confusion(n, m, settings) for n, m in matrices.items())}

    return evaluated(
        "classification",
        source,
        baseline=baseline,
        primary=primary,
        compare=compare,
        conventions={
            "classes": list(names),
            "several_highest": "the first class",
            **agreed(undefined),
        },
        notes=class_order_notes(chosen, names, stated=stated),
        shown=shown,
    )


def names_of_classes(
    columns: Columns, truth: Coded, labels: Sequence[Any] | None
) -> tuple[str, ...]:
    """The classes: those named, or all that occur anywhere; ``truth`` are the labels that occur in
    it, each once."""
    if labels is not None:
        return classes(truth, labels).names
    also = {}
    for name, column in columns.said.get("predicted", {}).items():
        if not isinstance(column, str):
            raise InputError(f"predicted {name!r}: has several columns, expected one of labels")
        also[f"predicted {name!r}"] = distinct(columns.stream, column, f"predicted {name!r}")
    of_class = (
        name
        for kind in ("score", "probability")
        for table in columns.said.get(kind, {}).values()
        if not isinstance(table, str)
        for name in table
    )
    known = {what: coded(values, what) for what, values in also.items()}
    return classes(truth, also=known, named=dict.fromkeys(of_class)).names


@dataclass(frozen=True, eq=False)
class _Build:
    """Makes systems of the rows of a batch."""

    columns: Columns
    names: tuple[str, ...]
    settings: Settings
    measures: tuple[Any, ...] = ()

    def __call__(self, part: Part) -> Mapping[str, ClassSystem]:
        weight, places = weights_of(part.weight, part.rows)
        repeats = Repeats(part.rows, places)
        found = classes(part.truth, self.names)
        weights = None if weight is None else repeats(weight)
        clusters = clusters_of(part, places, weights)
        own = replace(found, codes=repeats(found.codes))
        problem = Problem(own, weights, clusters, self.settings)
        said = part.said
        called = {
            name: coded(column, f"predicted {name!r}")
            for name, column in said.get("predicted", {}).items()
        }
        made = systems_of_classes(
            problem, found, called or None, said.get("score"), said.get("probability"), repeats
        )
        return {name: s.serving(self.measures) for name, s in made.items()}

    def like(self, weight: FloatArray) -> dict[str, ClassSystem]:
        """Systems on a row of each class, of this weight: they say what is known of a stream
        without its rows, such as what a constant answer gets."""
        k = len(self.names)
        found = Classes(self.names, np.arange(k))
        problem = Problem(found, weight, None, self.settings)
        table = np.eye(k) if k else np.zeros((0, 0))
        said: dict[str, Any] = {
            kind: dict.fromkeys(of, table)
            for kind, of in self.columns.said.items()
            if kind != "predicted"
        }
        names = self.columns.said.get("predicted", ())
        called = {name: coded(list(self.names), "predicted") for name in names} or None
        return systems_of_classes(
            problem, found, called, said.get("score"), said.get("probability"), Repeats(k)
        )


def _constant(build: _Build, source: Streamed, system: str, measure: Measure) -> float:
    """What the best constant answer gets."""
    sizes = source.engine.passed.beside
    return kept(source, "constant", lambda: build.like(sizes))[system].constant(measure)


def _sizes(systems: Mapping[str, ClassSystem]) -> FloatArray:
    """The weight of the rows of each class."""
    return next(iter(systems.values())).problem.sizes
