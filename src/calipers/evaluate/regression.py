"""Evaluation of predicted numbers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from calipers.data.arrays import as_quantities
from calipers.data.errors import InputError
from calipers.data.multioutput import as_outputs, by_output, n_columns, named_outputs, only_column
from calipers.evaluation.arguments import validate_arguments
from calipers.evaluation.models import are_estimators, check_given, predict_numbers
from calipers.evaluation.options import MeasureNames
from calipers.evaluation.problems.numbers import Numbers
from calipers.evaluation.problems.outputs import SeveralOutputs
from calipers.evaluation.problems.quantiles import PredictedQuantiles
from calipers.evaluation.sample import Problem
from calipers.evaluation.slice_definitions import Bins
from calipers.evaluation.source import open_source
from calipers.evaluation.stored_predictions import Baseline
from calipers.evaluation.stream_columns import StreamColumns, flatten_names, of_one_system
from calipers.results import Evaluation


@validate_arguments
def regression(
    truth: Any,
    predicted: Any = None,
    y: Any = None,
    *,
    quantiles: Any = None,
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
    outputs: Sequence[Any] | None = None,
    measures: MeasureNames | None = None,
    primary: str | None = None,
    baseline: Baseline = None,
    compare: bool = True,
    curves: bool = True,
    interval: str | Sequence[str] = "auto",
    level: float = 0.95,
    resamples: int = 2000,
    seed: int = 0,
    engine: str | None = None,
    memory: int | str | None = None,
    inputs: Sequence[Any] = (),
) -> Evaluation:
    """Evaluate predicted numbers, or predicted quantiles, against the truth.

    The default of each loss is what the best constant prediction loses: the mean of the truth under
    squared error, its median under absolute error.

    Parameters
    ----------
    truth : array-like of shape (n,) or (n, n_outputs)
        True values, numbers of at most 1e45 in size. Of several outputs a column for each: an array
        of shape (n, n_outputs), whose columns ``outputs`` names, or a dict or data frame, matched
        by name. A measure is then taken of each output (``"RMSE[price]"``), or averaged
        (``"macro-R2"``, ``"variance-weighted-R2"``).
    predicted : array-like of shape (n,) or (n, n_outputs), or dict of such, optional
        Predicted values, in the forms of ``truth``; of several systems a dict from their names to
        such.
    y : array-like of shape (n,) or (n, n_outputs), optional
        ``regression(model, X, y)`` evaluates a fitted model, or a dict of models by name, on
        features and the truth: whatever has ``predict``, as estimators of scikit-learn have.
    quantiles : dict of array-like of shape (n,), or dict of such, optional
        Predicted quantiles, in place of ``predicted``: a dict or data frame with a column for each
        level, such as ``{0.05: …, 0.5: …, 0.95: …}``; of several systems a dict from their names to
        such. The interval that is to cover 0.9 of the rows lies between the levels 0.05 and 0.95.
    weight : array-like of shape (n,), optional
        Weight of each row. Only the proportions of weights matter: equal weights, or weights times
        a number, give the same result. A weight is 0, or from 1e-60 to 1e60 and no less than 1e-12
        of the largest: beyond that, sums and their products would overflow or lose the row.
        Intervals take the rows that are there as the sample: for rows that stand for several, use
        ``count``.
    count : array-like of shape (n,), optional
        Number of rows that each row stands for, an integer: a row of count 20 is the same as that
        row 20 times, in every value, interval and test. A row of count 0 is left out; where rows
        have classes, its class stays known. With ``weight`` as well, each of these rows has that
        weight.
    cluster : array-like of shape (n,), optional
        Cluster of each row (user, patient, site), where several rows come from one. Intervals and
        tests are then cluster-robust: clusters are taken as independent, rather than rows, and the
        bootstrap draws whole clusters.
    time : array-like of shape (n,), optional
        Time of each row: numbers, dates, or text in the form of ISO 8601, in any order. Where
        errors of neighbours in time are found to be correlated, the intervals and tests of these
        numbers and differences are the wider of the usual ones and those of a HAC standard error; a
        note says so. Rows of the same time are added up, as those of a panel; with ``cluster`` the
        usual ones allow for whatever rows of one cluster have in common, at all times.
    slices : dict of array-like of shape (n,), or list of str, optional
        Columns that define slices, by name: every measure is computed on each slice and compared
        with all other rows. ``"age*site": (age, site)`` crosses two columns. A column of more than
        ten distinct numbers is cut at its quartiles; a number that more than half of the rows have
        is a slice of its own. Rows without a value are the slice ``"missing"``. With ``data``, a
        list of names will do.
    slice_bins : dict of list of float, optional
        Where to cut numeric columns of ``slices`` instead of at their quartiles, by name:
        ``{"age": [40, 65]}``.
    cost : dict of array-like of shape (n,), float, or dict of such, optional
        Costs of the systems, by the name of the cost: a column (latencies, tokens) or one number (a
        price, a size); or a dict of such by system: ``{"latency (ms)": {"a": …, "b": …}}``. They
        are evaluated in ``evaluation.costs``, and set against quality in ``evaluation.fronts``.
    data : data frame, dict of columns, or path, optional
        Table of which other arguments may name columns. Columns that are given themselves are NumPy
        arrays, lists, anything with ``__array__`` or DLPack, pandas, polars or Arrow.
    id : str, optional
        Name of a column of ids in ``data``. A system may then be a data frame or path of its own
        that has this column, whose rows are put in the order of ``data``.
    missing : {'error', 'drop'}, default='error'
        ``"error"`` refuses missing values; ``"drop"`` leaves out rows with a missing value, or
        without their id in one of the tables, and a note tells how many and why.
    outputs : list, optional
        Names of the outputs, in the order of the columns of ``truth``.
    measures : str, Measure, or list of such, optional
        Names of measures; ``calipers measures`` lists them. ``"default"`` stands for those that are
        shown if none is named.
    primary : str, optional
        Measure that decides between systems, by default the first; p-values of all other measures
        are adjusted together, apart from its own.
    baseline : str, path or Evaluation, optional
        System that all others are compared with; by default every pair is compared, the later minus
        the earlier. A system of an earlier evaluation serves as well: the evaluation, or the path
        of a file that keeps its predictions (``"FILE.json:NAME"`` of several).
    compare : bool, default=True
        Whether several systems are compared in the evaluation; ``evaluation.compare()`` compares
        them later, too.
    curves : bool, default=True
        Whether the evaluation has curves, each of which is computed when it is first looked at.
    interval : str or list of str, default='auto'
        How intervals are made: ``"auto"``, ``"bootstrap"``, ``"analytic"`` or ``"none"``; or
        methods such as ``"bca"`` or ``["jeffreys", "hanley"]``, each used where it applies.
    level : float, default=0.95
        Level of the intervals.
    resamples : int, default=2000
        Bootstrap replicates.
    seed : int, default=0
        Seed of resampling.
    engine : {'memory', 'stream', 'spark', 'dask'}, optional
        ``"memory"`` has all rows in memory. ``"stream"`` reads ``data`` in batches and keeps what
        the measures need: Parquet, CSV, Feather or JSON Lines, several files or a directory of
        them, of any size; columns are then given by their names. Unless given, a file whose columns
        would not fit into the memory is streamed. ``"spark"`` and ``"dask"`` have Spark or Dask
        read paths; their data frames as ``data`` need no word.
    memory : int or str, optional
        Memory that may be taken, in bytes or as ``"2 GB"``; half of what is free unless given, of
        Spark and Dask 1 GB in each process.
    inputs : list, optional
        Where the columns came from, for the provenance.

    Returns
    -------
    Evaluation
        Every measure with its interval, the paired comparison of several systems, curves of
        residuals, slices and findings.

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
    arguments, said, wide = locals(), predicted, ["quantiles"]
    if _several(truth, outputs, data):
        wide.append("predicted")
        if data is not None and (wanted := named_outputs(truth)):
            said = by_output(predicted, wanted)

    def of_models() -> Mapping[str, Any]:
        if y is None and not are_estimators(truth):
            return {}
        check_given(truth, predicted, y, {"quantiles": quantiles, "data": data})
        return {"truth": y, "predicted": predict_numbers(truth, predicted)}

    source = open_source(
        {**arguments, "predicted": said}, "truth", "predicted", "quantiles", wide=wide,
        in_memory=of_models,
    )  # fmt: skip
    if source.stream is not None:
        problem, columns = _of_stream(source.stream, outputs)
        return replace(source, stream=columns).evaluate(problem)
    given = source.rows.columns
    truth, predicted = given["truth"], given["predicted"]
    several = _several(truth, outputs)
    _check_said(predicted, given["quantiles"], several=several)
    if several:
        problem = SeveralOutputs.of(truth, outputs)
        number = len(as_outputs(truth, "truth", problem.names))
    elif predicted is None:
        problem, number = PredictedQuantiles(), len(as_quantities(truth, "truth"))
    else:
        truth = as_quantities(only_column(truth), "truth", own=False)
        if isinstance(predicted, Mapping):
            predicted = {name: only_column(column) for name, column in predicted.items()}
        else:
            predicted = only_column(predicted)
        problem, number = Numbers(), len(truth)
        given = {**given, "truth": truth, "predicted": predicted}
    return source.evaluate(problem, given, number)


def _check_said(predicted: Any, quantiles: Any, *, several: bool) -> None:
    """That there are predicted numbers, or quantiles of one output."""
    if (predicted is None) == (quantiles is None):
        raise InputError("regression takes predicted=, or else quantiles=")
    if several and predicted is None:
        raise InputError("quantiles= are of one output; the truth has several")


def _of_stream(
    columns: StreamColumns, outputs: Sequence[Any] | None
) -> tuple[Problem, StreamColumns]:
    """The problem that the columns of a stream are of; and these, where a table of one column is
    that column."""
    said = {kind: dict(of) for kind, of in columns.said.items()}
    several = outputs is not None or len(flatten_names(columns.truth)) > 1
    _check_said(said.get("predicted"), said.get("quantiles"), several=several)
    if several:
        wide = replace(columns, said={"predicted": of_one_system(said["predicted"])})
        return SeveralOutputs.of(columns.truth, outputs), wide
    columns = replace(columns, truth=flatten_names(columns.truth)[0])
    if "quantiles" in said:
        wide = replace(columns, said={"quantiles": of_one_system(said["quantiles"])})
        return PredictedQuantiles(), wide
    alone = {name: only_column(column) for name, column in said["predicted"].items()}
    return Numbers(), replace(columns, said={"predicted": alone})


def _several(truth: Any, outputs: Sequence[Any] | None, data: Any = None) -> bool:
    """Whether the truth has several columns, or the one that it has is named."""
    pattern = isinstance(truth, str) and truth.endswith("*")
    listed = data is not None and len(named_outputs(truth)) > 1
    several = pattern or n_columns(truth) > 1 or listed
    return outputs is not None or several
