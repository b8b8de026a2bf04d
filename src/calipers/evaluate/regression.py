"""Evaluation of predicted numbers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from calipers.data.arrays import as_quantities
from calipers.data.columns import gather
from calipers.data.errors import InputError
from calipers.data.outputs import as_outputs, by_output, named_outputs, only_column, width
from calipers.evaluate.arguments import verb
from calipers.evaluate.batch import Table
from calipers.evaluate.cuts import Bins, slice_columns
from calipers.evaluate.estimators import are_estimators, check_given, said_of_numbers
from calipers.evaluate.evaluator import evaluate_rows, evaluate_stream
from calipers.evaluate.kept import Baseline
from calipers.evaluate.problems.numbers import Numbers
from calipers.evaluate.problems.outputs import SeveralOutputs
from calipers.evaluate.problems.quantiles import PredictedQuantiles
from calipers.evaluate.sample import Problem
from calipers.evaluate.stream_columns import Columns, allowed, flat, in_batches, of_one_system
from calipers.evaluation.options import MeasureNames, Options
from calipers.results import Evaluation


@verb
def regression(
    truth: Any,
    predicted: Any = None,
    y: Any = None,
    *,
    quantiles: Any = None,
    outputs: Sequence[Any] | None = None,
    weight: Any = None,
    count: Any = None,
    cluster: Any = None,
    time: Any = None,
    slices: Any = None,
    slice_bins: Bins | None = None,
    cost: Any = None,
    data: Any = None,
    id: str | None = None,  # noqa: A002
    missing: str = "error",
    measures: MeasureNames | None = None,
    baseline: Baseline = None,
    primary: str | None = None,
    curves: bool = True,
    interval: str | Sequence[str] = "auto",
    level: float = 0.95,
    resamples: int = 2000,
    seed: int = 0,
    engine: str | None = None,
    memory: int | str | None = None,
    inputs: Sequence[Any] = (),
) -> Evaluation:
    """How near predicted numbers come to the truth.

    ``truth`` is one column of numbers, of 1e45 at most in size, ``predicted`` another or a dict
    from system names to columns; ``curves`` says whether residuals are drawn. Of several outputs
    both are tables, with a column for each: arrays of shape (rows, outputs), whose columns
    ``outputs`` names, or dicts or data frames, which are matched by name. A measure is then taken
    of each output (``"RMSE[price]"``), or averaged (``"macro-R2"``, ``"variance-weighted-R2"``).
    ``regression(model, X, y)`` evaluates a fitted model, or a dict of models by name: whatever has
    ``predict``.

    Where systems predict quantiles, ``quantiles`` takes the place of ``predicted``: a dict or data
    frame with a column for each level, such as ``{0.05: …, 0.5: …, 0.95: …}``, or a dict from
    system names to such; the interval that is to hold 0.9 lies between the levels 0.05 and 0.95.
    The remaining options are those of :func:`calipers.classification`, ``weight``, ``count``,
    ``cluster``, ``time``, ``slices``, ``cost``, ``data``, ``id``, ``missing``, ``engine`` and
    ``memory`` among them. The default of each loss is what the best constant prediction loses: the
    mean of the truth under squared error, its median under absolute error.

    Raises
    ------
    InputError
        For anything wrong with the input, saying where and what was expected.

    Examples
    --------
    >>> import calipers as cal
    >>> ev = cal.regression([1.0, 2.0, 3.0], [1.0, 3.0, 4.0], measures=["RMSE"])
    >>> round(ev["RMSE"].value, 7)
    0.8164966
    >>> low, high = [0.0, 1.0, 2.0], [1.5, 2.5, 2.5]
    >>> ev = cal.regression([1.0, 2.0, 3.0], quantiles={0.05: low, 0.95: high})
    >>> round(ev["interval-coverage@0.9"].value, 3), round(ev["interval-score@0.9"].value, 3)
    (0.667, 4.5)
    >>> price, area = [1.0, 2.0, 3.0], [7.0, 9.0, 8.0]
    >>> ev = cal.regression({"price": price, "area": area}, {"price": price, "area": price})
    >>> ev["R2[price]"].value, ev["macro-R2"].value
    (1.0, -26.5)
    """
    options = Options.of(locals())
    if in_batches(engine, memory, data, (truth, predicted, quantiles, weight, cluster)):
        odd = {"id": id, "y": y, "time": time}
        cut = slice_columns(slices), slice_bins, count, cost
        wanted = named_outputs(truth)
        said = by_output(predicted, wanted) if len(wanted) > 1 else predicted
        said = {"predicted": said, "quantiles": quantiles}
        columns = Columns.of(data, truth, said, weight, cluster, missing, odd, engine, *cut)
        of, columns = _of_stream(columns, outputs)
        return evaluate_stream(of, columns, options, allowed(memory, columns.stream))
    if y is not None or are_estimators(truth):
        check_given(truth, predicted, y, {"quantiles": quantiles, "data": data})
        truth, predicted = y, said_of_numbers(truth, predicted)
    if data is not None and (wanted := named_outputs(truth)):
        predicted = by_output(predicted, wanted)
    gathered = gather(
        {
            "truth": truth,
            "predicted": predicted,
            "quantiles": quantiles,
            "weight": weight,
            "count": count,
            "cluster": cluster,
            "time": time,
            "slices": slice_columns(slices),
        },
        data=data,
        by=id,
        missing=missing,
        cost=cost,
        wide=("quantiles", "predicted") if _several(truth, outputs, data) else ("quantiles",),
    )
    given = gathered.columns
    truth, predicted = given["truth"], given["predicted"]
    several = _several(truth, outputs)
    _check_said(predicted, given["quantiles"], several=several)
    problem: Problem
    if several:
        problem = SeveralOutputs.of(truth, outputs)
        number = len(as_outputs(truth, "truth", problem.names))
    elif predicted is None:
        problem, number = PredictedQuantiles(), len(as_quantities(truth, "truth"))
    else:
        truth = as_quantities(only_column(truth), "truth")
        if isinstance(predicted, Mapping):
            predicted = {name: only_column(column) for name, column in predicted.items()}
        else:
            predicted = only_column(predicted)
        problem, number = Numbers(), len(truth)
        given = {**given, "truth": truth, "predicted": predicted}
    return evaluate_rows(problem, Table.of(gathered, given, number), options)


def _check_said(predicted: Any, quantiles: Any, *, several: bool) -> None:
    """That there are predicted numbers, or quantiles of one output."""
    if (predicted is None) == (quantiles is None):
        raise InputError("regression takes predicted=, or else quantiles=")
    if several and predicted is None:
        raise InputError("quantiles= are of one output; the truth has several")


def _of_stream(columns: Columns, outputs: Sequence[Any] | None) -> tuple[Problem, Columns]:
    """The problem that the columns of a stream are of; and these, where a table of one column is
    that column."""
    said = {kind: dict(of) for kind, of in columns.said.items()}
    several = outputs is not None or len(flat(columns.truth)) > 1
    _check_said(said.get("predicted"), said.get("quantiles"), several=several)
    if several:
        wide = replace(columns, said={"predicted": of_one_system(said["predicted"])})
        return SeveralOutputs.of(columns.truth, outputs), wide
    columns = replace(columns, truth=flat(columns.truth)[0])
    if "quantiles" in said:
        wide = replace(columns, said={"quantiles": of_one_system(said["quantiles"])})
        return PredictedQuantiles(), wide
    alone = {name: only_column(column) for name, column in said["predicted"].items()}
    return Numbers(), replace(columns, said={"predicted": alone})


def _several(truth: Any, outputs: Sequence[Any] | None, data: Any = None) -> bool:
    """Whether the truth has several columns, or the one that it has is named."""
    pattern = isinstance(truth, str) and truth.endswith("*")
    listed = data is not None and len(named_outputs(truth)) > 1
    several = pattern or width(truth) > 1 or listed
    return outputs is not None or several
