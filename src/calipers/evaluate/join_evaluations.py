"""Joint evaluation of two evaluations of the same rows."""

from __future__ import annotations

import os

from calipers.data.errors import InputError
from calipers.data.frequency_weights import RowInfo
from calipers.evaluation.evaluator import evaluate_systems
from calipers.evaluation.options import Options
from calipers.evaluation.rows import InMemorySample
from calipers.evaluation.sample import Problem
from calipers.evaluation.shared import check_not_judge
from calipers.lazy_dataclasses import dataclass
from calipers.results import Evaluation


def join_evaluations(
    new: Evaluation, baseline: Evaluation | os.PathLike[str] | str, measure: str
) -> Evaluation:
    """Join two evaluations by one measure of the first, as if evaluated together.

    Parameters
    ----------
    new : Evaluation
        Evaluation of rows that was computed from data.
    baseline : Evaluation or path
        Evaluation of one system, or a file with stored predictions, which is the baseline.
    measure : str
        Measure of the first evaluation.

    Returns
    -------
    Evaluation
        Evaluation of all systems by this measure.

    Raises
    ------
    InputError
        If the first was read from a file, is not an evaluation of rows, or does not have the
        measure; or if the rows of the second differ.
    """
    check_not_judge(new)
    source = new.sources
    if not isinstance(source, InMemorySample):
        raise InputError(
            "two evaluations can be compared only if the new one has rows and was not read from a "
            "file; otherwise evaluate the new system with baseline="
        )
    measure_name = new.canonical_name(measure)
    measures = [m for m in source.measures if str(m) == measure_name]
    if not measures:
        raise InputError(f"{measure!r} is not among the measures: {', '.join(new.measures)}")
    return evaluate_systems(
        _TaskProblem(new.task),
        dict(source.systems_by_name),
        measures,
        Options(baseline=baseline),
        row_info=RowInfo(source.ids),
        has_separate_rows=source.has_separate_rows,
    )


@dataclass(frozen=True, eq=False)
class _TaskProblem(Problem):
    """Problem of which only the task is known."""

    task: str
