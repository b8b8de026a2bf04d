"""Evaluation of merged states: statistics of days or shards, each of which was read once."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from calipers.data.errors import InputError, format_value
from calipers.data.streams import memory_budget
from calipers.engines.pass_tasks import LimitStatistics
from calipers.evaluate.agreement import AgreementProblem
from calipers.evaluation.arguments import validate_arguments
from calipers.evaluation.evaluator import evaluate_stream
from calipers.evaluation.options import MeasureNames, Options, inference_provenance
from calipers.evaluation.problems.binary import BinaryProblem
from calipers.evaluation.problems.case_scores import CaseScoresProblem
from calipers.evaluation.problems.multiclass import MulticlassProblem
from calipers.evaluation.problems.multilabel import MultilabelProblem
from calipers.evaluation.problems.multioutput import MultioutputProblem
from calipers.evaluation.problems.quantiles import EnsembleProblem, QuantileProblem
from calipers.evaluation.problems.regression import RegressionProblem
from calipers.evaluation.problems.soft_labels import SoftLabelProblem
from calipers.evaluation.sample import Problem
from calipers.evaluation.states import EvaluationState, StateEngine, merge_compatible
from calipers.evaluation.stream_columns import MemoryLimit, StreamColumns
from calipers.results import Evaluation


@validate_arguments
def save_state(evaluation: Evaluation, path: str | os.PathLike[str]) -> None:
    """Write the statistics of a streamed evaluation to a file, for :func:`merge_states`.

    The file contains the statistics of all rows, such as counts, moments, and every distinct score
    with the weight of both classes; it contains no rows. It is a zip archive of plain arrays with a
    JSON header, and is written atomically.

    Parameters
    ----------
    evaluation : Evaluation
        Result of ``classification``, ``multilabel``, ``regression`` or ``agreement`` with
        ``engine="stream"``, or of :func:`merge_states`.
    path : str or path
        Path of the file.

    Raises
    ------
    InputError
        If the rows were in memory, the evaluation was read from a file, or the file cannot be
        written.

    Examples
    --------
    >>> import calipers as cal
    >>> import pyarrow as pa, tempfile
    >>> rows = pa.table({"y": [0, 1, 1, 0], "p": [0.2, 0.9, 0.4, 0.6]})
    >>> monday = cal.classification("y", probability="p", data=rows, engine="stream")
    >>> file = tempfile.mkdtemp() + "/monday.state"
    >>> cal.save_state(monday, file)
    >>> cal.merge_states([file])["AUC"].value
    0.75
    """
    if not isinstance(path, str | os.PathLike):
        raise InputError(f"path is {format_value(path)}, expected the path of a file")
    state = get_state(evaluation, "save_state")
    try:
        state.write(path)
    except OSError as error:
        raise InputError(f"{os.fspath(path)}: {error.strerror}") from None
    except ValueError:
        raise InputError(f"path is {format_value(path)}, which is not a valid file name") from None


@validate_arguments
def merge_states(
    states: Sequence[Any],
    *,
    measures: MeasureNames | None = None,
    curves: bool = True,
    interval: str | Sequence[str] | None = None,
    level: float | None = None,
    n_resamples: int | None = None,
    seed: int | None = None,
    memory: int | str | None = None,
) -> Evaluation:
    """Merge saved evaluation states (of days or shards) into one evaluation.

    Values equal those of one evaluation of all rows up to rounding, for any order of the states. So
    do the intervals that depend on the statistics alone: those of counts, means of losses, AUC
    (DeLong) and recalibration. Paired differences of systems, clusters, R² and correlations need a
    second pass over the rows, which states do not contain: their values have no interval, and the
    reason is given.

    Parameters
    ----------
    states : list of path or Evaluation
        Files that ``save_state`` wrote, or evaluations of streams. Their tasks, classes, columns,
        thresholds and measures have to agree, and no rows may be in two of them.
    measures : str, Measure, or list of such, optional
        Measures to evaluate, among the saved ones; all of them by default.
    curves : bool, default=True
        Whether the evaluation has curves. Each is computed on first access.
    interval : str or list of str, optional
        Interval method: ``"auto"``, ``"bootstrap"``, ``"analytic"`` or ``"none"``; or methods such
        as ``"bca"`` or ``["jeffreys", "hanley"]``, of which the first applicable one is used. By
        default that of the states, which have to agree.
    level : float, optional
        Confidence level of the intervals. By default that of the states, which have to agree.
    n_resamples : int, optional
        Number of bootstrap replicates. By default that of the states, which have to agree.
    seed : int, optional
        Seed of the random number generator. By default that of the states, which have to agree.
    memory : int or str, optional
        Memory limit, in bytes or as ``"2 GB"``. By default half of the free memory; with Spark and
        Dask, 1 GB in each process. It bounds the tables of scores.

    Returns
    -------
    Evaluation
        Evaluation of all rows.

    Raises
    ------
    InputError
        If a file is not a state, is damaged or has another version, or if states are incompatible.

    See Also
    --------
    calipers.save_state : Write the state of an evaluation.

    Examples
    --------
    >>> import calipers as cal
    >>> import pyarrow as pa
    >>> days = [
    ...     cal.regression("y", "p", data=pa.table({"y": y, "p": p}), engine="stream")
    ...     for y, p in (([1.0, 2.0, 4.0], [1.0, 3.0, 4.0]), ([3.0, 5.0], [2.0, 5.0]))
    ... ]
    >>> merged = cal.merge_states(days)
    >>> merged["MAE"].value, merged["MAE"].n
    (0.4, 5)
    """
    options = Options.from_arguments({k: v for k, v in locals().items() if v is not None})
    requested = {"interval": interval, "level": level, "n_resamples": n_resamples, "seed": seed}
    if isinstance(states, str) or not isinstance(states, Sequence):
        raise InputError(
            f"states is {format_value(states)}, expected a list of files or evaluations"
        )
    budget = memory_budget(memory)
    settings = inference_provenance(options.settings)
    state = merge_compatible(
        _iterate_states(states),
        LimitStatistics(MemoryLimit(budget)),
        {name: settings[name] for name, value in requested.items() if value is not None},
    )
    plan = state.parameters
    columns = StreamColumns(
        StateEngine(state), plan["truth"], plan["said"], plan["weight"], plan["cluster"]
    )
    options = replace(
        options,
        measures=state.measures if measures is None else measures,
        undefined=plan.get("undefined", "nan"),
        **state.settings,
    )
    optional_names = state.optional_measures if measures is None else ()
    problem = _make_problem(plan, state.first_pass.auxiliary)
    return evaluate_stream(problem, columns, options, budget, optional_names)


def _make_problem(plan: Mapping[str, Any], summary: Any) -> Problem:
    """Return the problem of the statistics in a state, with the summary of its scores if any."""
    for simple_problem in (RegressionProblem, QuantileProblem, EnsembleProblem):
        if plan["task"] == simple_problem.kind:
            return simple_problem.from_plan(plan)
    for named_problem in (MultioutputProblem, SoftLabelProblem):
        if plan["task"] == named_problem.kind:
            return named_problem(tuple(plan["classes"]))
    if plan["task"] == AgreementProblem.kind:
        return AgreementProblem.from_plan(plan)
    if plan["task"] == CaseScoresProblem.kind:
        return CaseScoresProblem.from_plan(plan, summary)
    names, stated = tuple(plan["classes"]), plan.get("stated", False)
    undefined = plan["undefined"]
    if plan["task"] == MultilabelProblem.kind:
        return MultilabelProblem(names, plan["separator"], plan["threshold"], undefined)
    if plan["task"] == BinaryProblem.kind:
        negative, positive = names
        return BinaryProblem(
            (negative, positive), plan["known"], plan["threshold"], stated, undefined
        )
    return MulticlassProblem(names, plan.get("ordered", stated), stated, undefined)


def _iterate_states(states: Sequence[Any]) -> Iterator[EvaluationState]:
    for state in states:
        if isinstance(state, EvaluationState):
            yield state
        elif isinstance(state, Evaluation):
            yield get_state(state, "states")
        elif isinstance(state, str | os.PathLike):
            yield EvaluationState.read(state)
        else:
            raise InputError(f"states: {format_value(state)} is neither a file nor an evaluation")


def get_state(evaluation: Evaluation, argument: str) -> EvaluationState:
    """Return the state of an evaluation, or raise an error that names the argument."""
    state: EvaluationState | None = getattr(evaluation.sources, "state", None)
    if state is None:
        from calipers.evaluation.tasks import TASKS

        tasks = [name for name, task in TASKS.items() if "states" in task.options]
        if evaluation.task not in tasks:
            raise InputError(
                f"{argument}: {evaluation.task} has no states; expected an evaluation of "
                f"{', '.join(tasks[:-1])} or {tasks[-1]}"
            )
        raise InputError(
            f"{argument}: the evaluation has no state to save; expected one of a table that is "
            "read in batches (engine='stream')"
        )
    results = {"costs": evaluation.costs, "slices": evaluation.slices}
    absent = [name for name, result in results.items() if result is not None]
    return state.with_absent(absent) if absent else state
