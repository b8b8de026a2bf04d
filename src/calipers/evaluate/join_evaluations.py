"""Two evaluations of the same rows as one."""

from __future__ import annotations

import os
from dataclasses import dataclass

from calipers.data.errors import InputError
from calipers.data.frequency_weights import RowInfo
from calipers.evaluation.evaluator import evaluate_systems
from calipers.evaluation.options import Options
from calipers.evaluation.rows import RowSystems
from calipers.evaluation.sample import Problem
from calipers.results import Evaluation


def join_evaluations(
    new: Evaluation, base: Evaluation | os.PathLike[str] | str, measure: str
) -> Evaluation:
    """Both by one measure of the first, as if they had been evaluated together; the second, an
    evaluation of one system or a file that was kept, is the baseline.

    Raises
    ------
    InputError
        Where the first was read from a file, is not of rows, or does not have the measure; and
        where the rows of the second are others.
    """
    source = new.sources
    if not isinstance(source, RowSystems):
        raise InputError(
            "two evaluations can be compared where the new one has rows and was not read from a "
            "file; else evaluate the new system with baseline="
        )
    named = new.named(measure)
    measures = [m for m in source.measures if str(m) == named]
    if not measures:
        raise InputError(f"{measure!r} is not among the measures: {', '.join(new.measures)}")
    return evaluate_systems(
        _TaskProblem(new.task),
        dict(source.by_name),
        measures,
        Options(baseline=base),
        about=RowInfo(source.ids),
        apart=source.has_separate_rows,
    )


@dataclass(frozen=True, eq=False)
class _TaskProblem(Problem):
    """A problem of which nothing is known but the task."""

    task: str
