"""What findings look at: the systems of each task as subjects, with what is known of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from calipers import findings
from calipers.findings import Subject
from calipers.findings.answers import Tuned
from calipers.findings.cells import Cells, ManyCells, TwoCells
from calipers.findings.chance import Numbers
from calipers.findings.data import Classes
from calipers.findings.labels import LabelAnswers, LabelRows
from calipers.measures import TASKS, parse
from calipers.statistics import ConfusionMatrix

if TYPE_CHECKING:
    from calipers.evaluate.pairs import Rows
    from calipers.results import Comparison, Estimate, Finding, Slices

#: Matrices of more classes than this are not redrawn by clusters.
MOST_REDRAWN = 30


def of_classes(
    source: Rows,
    names: Sequence[str],
    truth: npt.NDArray[Any],
    estimates: Sequence[Estimate],
    comparison: Comparison | None,
    slices: Slices | None,
) -> tuple[Finding, ...]:
    """What there is to say of systems that tell classes apart; ``truth`` are the codes of rows."""
    systems = source.by_name.values()
    cells = {s.name: _cells(s, len(names), truth) for s in systems if s.predicted is not None}
    tables = {s.name: s.table for s in systems if len(names) == 2 and s.score is not None}

    def has(s: Any) -> tuple[object, ...]:
        chosen = getattr(s, "chosen", None)
        tuned = chosen and Tuned(
            chosen.threshold, chosen.rule.measure, chosen.out_of_bag, chosen.note
        )
        return cells.get(s.name), tables.get(s.name), tuned

    data: list[Classes] = []
    for s in systems:
        clustered, of = s.clusters is not None, cells.get(s.name)
        if of is not None:
            m = of.matrix
            data.append(Classes(tuple(names), m.truth, m.squared.truth, clustered, of))
        elif (t := tables.get(s.name)) is not None:
            weight = np.array([t.total_negative, t.total_positive], np.float64)
            squares = np.array([t.negative_squares.sum(), t.positive_squares.sum()], np.float64)
            data.append(Classes(tuple(names), weight, squares, clustered))
    return _of("classification", source, has, data[:1], estimates, comparison, slices)


def _cells(s: Any, k: int, truth: npt.NDArray[Any]) -> Cells:
    settings, clusters, matrix = s.settings, s.clusters, s.counts.matrix

    def replicates() -> ConfusionMatrix | None:
        if k > MOST_REDRAWN or clusters.number < 2 or settings.interval == "analytic":
            return None
        cell = truth.astype(np.int64) * k + s.predicted
        drawn = clusters.redrawn(clusters.matrices(cell, (k, k)), settings)
        return ConfusionMatrix(drawn, drawn, matrix.labels)

    number = 0 if clusters is None else clusters.number
    return (TwoCells if k == 2 else ManyCells)(matrix, number, cache(replicates))


def of_label_sets(
    source: Rows,
    estimates: Sequence[Estimate],
    comparison: Comparison | None,
    slices: Slices | None,
) -> tuple[Finding, ...]:
    """What there is to say of systems that name the labels of rows."""
    s = next(iter(source.by_name.values()))
    rows = LabelRows(s.labels, s.truth, s.weight, s.clusters, s.shares, lambda: s.usual_set)

    def has(s: Any) -> tuple[object, ...]:
        return () if s.predicted is None else (LabelAnswers(rows, s.predicted),)

    return _of("multilabel", source, has, [rows], estimates, comparison, slices)


def of_numbers(
    source: Rows,
    estimates: Sequence[Estimate],
    comparison: Comparison | None,
    slices: Slices | None,
) -> tuple[Finding, ...]:
    """What there is to say of predicted numbers."""

    def has(s: Any) -> tuple[object, ...]:
        return (Numbers(s.truth, s.predicted, s.weight, s.clusters),)

    return _of("regression", source, has, [], estimates, comparison, slices)


def _of(
    task: str,
    source: Rows,
    has: Callable[[Any], tuple[object, ...]],
    data: Sequence[object],
    estimates: Sequence[Estimate],
    comparison: Comparison | None,
    slices: Slices | None,
) -> tuple[Finding, ...]:
    """The findings on the data, on each system by what it has, and on slices and comparison."""

    def subject(system: Any) -> Subject:
        known = {e.measure: e for e in estimates if e.system == system.name}
        return Subject(
            system.name,
            source.settings.level,
            has(system),
            tuple(source.measures),
            cache(lambda name: known.get(name) or system.estimate(parse(name, TASKS[task]))),
            inference=source.settings.interval != "none",
        )

    subjects = [subject(system) for system in source.by_name.values()]
    whole = Subject(None, source.settings.level, (slices, comparison))
    return findings.of([replace(subjects[0], name=None, has=tuple(data)), *subjects, whole])
