"""A row for each class against the rest, or for each label: its counts, and its measures with
their intervals; those of labels, and of classes of many rows, without a bootstrap."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from calipers.caching import Made, cached_property
from calipers.evaluation.estimates import estimate_of
from calipers.inference.settings import Settings
from calipers.measures import parse
from calipers.results import Estimate, FloatArray, LabelTable
from calipers.systems.multiclass import ClassSystem
from calipers.systems.multilabel import LabelSystem

#: What is shown of each: family, what it reads, names.
OF_EACH = (
    ("counts", "labels", ("accuracy", "precision", "NPV", "recall", "specificity", "F1")),
    ("scores", "scores", ("AUC", "AP")),
)
#: Of more rows, times classes, there is no bootstrap.
MOST_RESAMPLED = 500_000
#: Of more classes than these there is no table.
MOST_CLASSES = 100


@dataclass(frozen=True, eq=False)
class ClassTables(Made[LabelTable]):
    """The tables of the classes of systems, computed when one is first looked at."""

    systems: Sequence[ClassSystem]

    @cached_property
    def _made(self) -> tuple[LabelTable, ...]:
        return tuple(map(by_class, self.systems))

    def __len__(self) -> int:
        return len(self.systems)  # known before they are computed


def class_tables(systems: Sequence[ClassSystem]) -> Sequence[LabelTable]:
    """The tables of systems, none of many classes."""
    few = len(systems[0].problem.names) <= MOST_CLASSES
    return ClassTables(systems) if few else ()


def by_class(system: ClassSystem) -> LabelTable:
    """The table of the classes of one system."""
    names = system.problem.names
    few = system.number * len(names) <= MOST_RESAMPLED
    plain = system if few else system.under(_shown(system.settings))

    def of(label: str) -> list[Estimate]:
        measures = (replace(m, label=label) for m in _measures(system))
        return [estimate_of(plain.reading(m), str(m.plain), "") for m in measures]

    matrices = None
    if system.predicted is not None:
        matrices = plain.counts.matrix.one_vs_rest().counts
    return _table(system, names, system.problem.sizes, matrices, of, "class")


def by_label(system: LabelSystem) -> LabelTable:
    """The table of the labels of one system."""
    plain = system.under(_shown(system.settings))

    def of(label: str) -> list[Estimate]:
        one = plain.of_label(label)
        return [estimate_of(one.reading(m), str(m), "") for m in _measures(system)]

    total = len(system.truth) if system.weight is None else float(system.weight.sum())
    matrices = None if system.predicted is None else plain.matrices.counts
    return _table(system, system.labels, system.shares * total, matrices, of, "label")


def _shown(own: Settings) -> Settings:
    return own if own.interval == "none" else replace(own, interval="analytic")


def _measures(system: Any) -> list[Any]:
    return [
        parse(name, family)
        for family, reads, names in OF_EACH
        if system.serves(reads)
        for name in names
    ]


def _table(
    system: Any,
    labels: tuple[str, ...],
    truth: FloatArray,
    matrices: FloatArray | None,
    of: Callable[[str], list[Estimate]],
    kind: str,
) -> LabelTable:
    counts = {}
    if matrices is not None:
        (tn, fp), (fn, tp) = np.moveaxis(matrices, 0, -1)
        counts = {"TP": tp, "FP": fp, "FN": fn, "TN": tn}
    columns = list(zip(*map(of, labels), strict=True))

    def values(name: str) -> dict[str, FloatArray]:
        return {own[0].measure: np.array([getattr(e, name) for e in own]) for own in columns}

    ends = values("value"), values("low"), values("high")
    return LabelTable(system.name, labels, truth, counts, *ends, system.settings.level, kind)
