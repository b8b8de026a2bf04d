"""What findings look at: the systems of each task as subjects, with what is known of them."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from calipers import findings
from calipers.evaluate.estimates import estimate as estimated
from calipers.findings import Subject
from calipers.findings.answers import Tuned
from calipers.findings.cells import Cells, ManyCells, TwoCells
from calipers.findings.chance import Numbers
from calipers.findings.compared import Compared
from calipers.findings.data import Classes
from calipers.findings.labels import LabelAnswers, LabelRows
from calipers.measures import TASKS, parse
from calipers.statistics import ConfusionMatrix

if TYPE_CHECKING:
    from collections.abc import Sequence

    from calipers.evaluate.rows import Rows
    from calipers.results import Comparison, Estimate, Finding, Slices

    #: What was computed.
    Told = tuple[Sequence[Estimate], Comparison | None, Slices | None]

#: Matrices of more classes than this are not redrawn by clusters.
MOST_REDRAWN = 30


def of_systems(task: str, source: Rows, told: Told) -> tuple[Finding, ...]:
    """Of systems of which nothing but their numbers is known."""
    return _of(task, source, dict.fromkeys(source.by_name, ()), None, told)


def of_two_classes(task: str, source: Rows, told: Told) -> tuple[Finding, ...]:
    """Of systems that tell two classes apart."""
    has = {}
    for name, one in source.by_name.items():
        table, c = None if one.score is None else one.table, one.chosen
        tuned = None if c is None else Tuned(c.threshold, c.rule.measure, c.out_of_bag, c.note)
        has[name] = _cells(one, one.labels.positive), table, tuned
    s, (cells, table, _) = next(zip(source.by_name.values(), has.values(), strict=True))
    if cells is None:
        assert table is not None
        matrix = replace(table.at(math.inf), labels=s.labels.names)
        cells = TwoCells(matrix, 0 if s.clusters is None else s.clusters.number)
    return _of(task, source, has, Classes(cells), told)


def of_classes(task: str, source: Rows, told: Told) -> tuple[Finding, ...]:
    """Of systems that tell K classes apart."""
    has = {name: (_cells(s, s.problem.truth),) for name, s in source.by_name.items()}
    first = next((cells for (cells,) in has.values() if cells is not None), None)
    return _of(task, source, has, first and Classes(first), told)


def _cells(s: Any, truth: npt.NDArray[Any]) -> Cells | None:
    if s.predicted is None:
        return None
    settings, clusters, matrix = s.settings, s.clusters, s.counts.matrix
    k = matrix.classes

    def replicates() -> ConfusionMatrix | None:
        if k > MOST_REDRAWN or clusters.number < 2 or settings.interval == "analytic":
            return None
        cell = truth.astype(np.int64) * k + s.predicted
        drawn = clusters.redrawn(clusters.matrices(cell, (k, k)), settings)
        return ConfusionMatrix(drawn, drawn, matrix.labels)

    number = 0 if clusters is None else clusters.number
    return (TwoCells if k == 2 else ManyCells)(matrix, number, cache(replicates))


def of_label_sets(task: str, source: Rows, told: Told) -> tuple[Finding, ...]:
    """Of systems that name the labels of rows."""
    s = next(iter(source.by_name.values()))
    rows = LabelRows(s.labels, s.truth, s.weight, s.clusters, s.shares, lambda: s.usual_set)
    said = {name: s.predicted for name, s in source.by_name.items()}
    has = {n: () if sets is None else (LabelAnswers(rows, sets),) for n, sets in said.items()}
    return _of(task, source, has, rows, told)


def of_numbers(task: str, source: Rows, told: Told) -> tuple[Finding, ...]:
    """Of systems that predict numbers."""
    by_name = source.by_name.items()
    has = {n: (Numbers(s.truth, s.predicted, s.weight, s.clusters),) for n, s in by_name}
    return _of(task, source, has, None, told)


def _of(
    task: str, source: Rows, has: Mapping[str, tuple[Any, ...]], data: object, told: Told
) -> tuple[Finding, ...]:
    """What there is to say of the data, of each system by what it has, and of what was computed."""
    (estimates, comparison, slices), settings = told, source.settings

    def subject(s: Any) -> Subject:
        known = {e.measure: e for e in estimates if e.system == s.name}

        def estimate(name: str) -> Estimate:
            return known.get(name) or estimated(s, parse(name, TASKS[task]))

        shown, inference = tuple(source.measures), settings.interval != "none"
        return Subject(s.name, settings.level, has[s.name], shown, cache(estimate), inference)

    subjects = [subject(s) for s in source.by_name.values()]
    whole = Subject(None, settings.level, (Compared(comparison, slices),))
    return findings.of([replace(subjects[0], name=None, has=(data,)), *subjects, whole])
