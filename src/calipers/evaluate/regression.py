"""Evaluation of regression predictions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from calipers.data.arrays import to_quantities
from calipers.data.errors import InputError
from calipers.data.multioutput import (
    columns_by_output,
    n_columns,
    named_outputs,
    only_column,
    to_outputs,
)
from calipers.evaluation.arguments import validate_arguments
from calipers.evaluation.availability import OUTPUT_REASONS
from calipers.evaluation.models import check_model_arguments, has_estimators, predict_numbers
from calipers.evaluation.options import MeasureNames
from calipers.evaluation.problems.multioutput import MultioutputProblem
from calipers.evaluation.problems.quantiles import (
    EnsembleProblem,
    JointEnsembleProblem,
    QuantileProblem,
)
from calipers.evaluation.problems.regression import RegressionProblem
from calipers.evaluation.sample import Problem
from calipers.evaluation.slice_definitions import Bins
from calipers.evaluation.source import open_source
from calipers.evaluation.stored_predictions import Baseline
from calipers.evaluation.stream_columns import (
    StreamColumns,
    flatten_names,
    memory_only_error,
    wrap_unnamed,
)
from calipers.evaluation.tasks import REGRESSION
from calipers.results import Evaluation

#: Problems of predicted distributions, by the argument that has these.
DISTRIBUTION_ROLES = {"quantiles": QuantileProblem, "ensemble": EnsembleProblem}


@validate_arguments
def regression(
    truth: Any,
    predicted: Any = None,
    y: Any = None,
    *,
    quantiles: Any = None,
    ensemble: Any = None,
    human: Any = None,
    human_weight: Any = None,
    series: Any = None,
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
    target: str = "like",
    training: Any = None,
    season: int = 1,
    measures: MeasureNames | None = None,
    conventions: str | None = None,
    primary: str | None = None,
    baseline: Baseline = None,
    compare: bool = True,
    curves: bool = True,
    interval: str | Sequence[str] = "auto",
    level: float = 0.95,
    n_resamples: int = 2000,
    seed: int = 0,
    engine: str | None = None,
    memory: int | str | None = None,
    inputs: Sequence[Any] = (),
) -> Evaluation:
    """Evaluate point predictions, predicted quantiles or ensembles of a numeric target.

    The no-skill value of each loss is that of the best constant prediction: the mean of the truth
    for squared error, its median for absolute error.

    Parameters
    ----------
    truth : array-like of shape (n,) or (n, n_outputs)
        True values, at most 1e45 in absolute value. For several outputs one column each: an array
        of shape (n, n_outputs), whose columns ``outputs`` names, or a dict or data frame, matched
        by name. Measures are then computed for each output (``"RMSE[price]"``), or averaged
        (``"macro-R2"``, ``"variance-weighted-R2"``).
    predicted : array-like of shape (n,) or (n, n_outputs), or dict of such, optional
        Predicted values, in the forms of ``truth``; for several systems a dict from their names to
        such.
    y : array-like of shape (n,) or (n, n_outputs), optional
        ``regression(model, X, y)`` evaluates a fitted model, or a dict of models by name, on
        features and the truth: any object with ``predict``, such as a scikit-learn regressor.
    quantiles : dict of array-like of shape (n,), or dict of such, optional
        Predicted quantiles, in place of ``predicted``: a dict or data frame with a column for each
        level, such as ``{0.05: …, 0.5: …, 0.95: …}``; for several systems a dict from their names
        to such. The levels 0.05 and 0.95 form the 90% prediction interval.
    ensemble : array-like of shape (n, n_members), or dict of such, optional
        Members of an ensemble, or samples of a predicted distribution, in place of ``predicted``:
        an array, a dict or a data frame with a column for each member, in any order; for several
        systems a dict from their names to such. Of several outputs an array of shape (n, n_members,
        n_outputs), or a dict from outputs to such tables.
    human : array-like of shape (n,), optional
        Truth by people of some rows, if ``truth`` is that of a judge, such as a language model: in
        the form of ``truth``, with a missing value where a row has none. Values then rest on these
        labels, and on what the judge adds to them. The rows should be selected at random, or have
        ``human_weight``.
    human_weight : array-like of shape (n,), optional
        Weight of each label, if rows were not selected for labels with equal probability: 1 over
        the probability of the row, at least 1, and missing where it has none.
    series : array-like of shape (n,), optional
        Series of each row, with ``training`` of several series. Rows of a series are dependent, and
        so are a cluster unless ``cluster`` or ``time`` is given.
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
        Time of each row: numbers, dates, or ISO 8601 text, in any order. If errors are found to be
        autocorrelated, the wider of the usual interval and that of a HAC standard error is
        reported, with a note; tests likewise. Rows of the same time are summed, as in a panel. With
        ``cluster`` the usual intervals are cluster-robust at all times.
    slices : dict of array-like of shape (n,), or list of str, optional
        Columns that define slices, by name: every measure is computed on each slice and compared
        with all other rows. ``"age*site": (age, site)`` crosses two columns. A column of more than
        ten distinct numbers is cut at its quartiles; a number that more than half of the rows have
        is a slice of its own. Rows without a value are the slice ``"missing"``. With ``data``, a
        list of names will do.
    slice_bins : dict of list of float, or of str, optional
        Bin edges of numeric columns of ``slices``, by name: ``{"age": [40, 65]}``. By default they
        are binned at their quartiles. Of columns of dates the period, ``"year"``, ``"quarter"``,
        ``"month"`` or ``"day"``.
    cost : dict of array-like of shape (n,), float, or dict of such, optional
        Costs of the systems, by the name of the cost: a column (latencies, tokens) or one number (a
        price, a size); or a dict of such by system: ``{"latency (ms)": {"a": …, "b": …}}``. They
        are evaluated in ``evaluation.costs`` and compared with quality in
        ``evaluation.pareto_fronts``.
    data : data frame, dict of columns, or path, optional
        Table whose columns the other arguments may name. Columns may also be passed as NumPy
        arrays, lists, pandas, polars or Arrow columns, or anything with ``__array__`` or DLPack.
    id : str, optional
        Name of a column of ids in ``data``. A system may then be a data frame or path of its own
        that has this column, whose rows are put in the order of ``data``.
    missing : {'error', 'drop'}, default='error'
        ``"error"`` raises an error on missing values. ``"drop"`` drops rows with a missing value,
        or whose id is missing from one of the tables; a note reports how many and why.
    outputs : list, optional
        Names of the outputs, in the order of the columns of ``truth``.
    target : {'like', 'these'}, default='like'
        What is estimated with human labels: the value of rows ``like`` these, or of ``these`` rows,
        of which those with a label are known.
    training : array-like, dict of array-like, data frame, or path, optional
        Training series of forecasts, on which the naive forecast of MASE and RMSSE has its error:
        the values of one series in the order of time, a dict of such from the names of ``series``,
        or a table with the columns that ``truth`` and ``series`` name, in which the rows of each
        series are in that order.
    season : int, default=1
        Number of time steps in a season: the naive forecast repeats the value of a season ago.
    measures : str, Measure, or list of such, optional
        Names of measures; ``calipers measures`` lists them. ``"default"`` stands for the default
        measures, and ``"default+A,B"`` adds measures to these.
    conventions : str, optional
        Conventions of another tool: ``"trec_eval"``, ``"ir_measures"``, ``"beir"``, ``"mteb"``,
        ``"msmarco"``, ``"ntcireval"``, ``"sklearn"`` or ``"ydf"``. It sets the options in which the
        tool differs, its default measures and the meaning of its names; options that are given take
        precedence. A note states what was set.
    primary : str, optional
        Primary measure, by default the first. p-values of the other measures are adjusted as a
        separate family.
    baseline : str, path or Evaluation, optional
        Reference system. By default all pairs are compared, the later minus the earlier. It may be
        a system of an earlier evaluation: the evaluation, or the path of a file with its stored
        predictions; ``"FILE.json:NAME"`` selects one of several systems.
    compare : bool, default=True
        Whether several systems are compared; ``evaluation.compare()`` can also compare them later.
    curves : bool, default=True
        Whether the evaluation has curves. Each is computed on first access.
    interval : str or list of str, default='auto'
        Interval method: ``"auto"``, ``"bootstrap"``, ``"analytic"`` or ``"none"``; or methods such
        as ``"bca"`` or ``["jeffreys", "hanley"]``, of which the first applicable one is used.
    level : float, default=0.95
        Confidence level of the intervals.
    n_resamples : int, default=2000
        Number of bootstrap replicates.
    seed : int, default=0
        Seed of the random number generator.
    engine : {'memory', 'stream', 'spark', 'dask'}, optional
        ``"memory"`` loads all rows. ``"stream"`` reads ``data`` in batches and stores only the
        statistics of the measures: Parquet, CSV, Feather or JSON Lines, one file, several or a
        directory, of any size; columns are then given by name. By default a file is streamed if its
        columns do not fit into memory. ``"spark"`` and ``"dask"`` read paths with Spark or Dask;
        their data frames are recognised as ``data``.
    memory : int or str, optional
        Memory limit, in bytes or as ``"2 GB"``. By default half of the free memory; with Spark and
        Dask, 1 GB in each process.
    inputs : list, optional
        Origins of the columns, for the provenance.

    Returns
    -------
    Evaluation
        Estimates of all measures with intervals, paired comparisons of several systems, curves of
        residuals, slices and findings.

    Raises
    ------
    InputError
        If the input is invalid; the message says where, and what was expected.

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
    >>> members = [[0.0, 1.0, 2.0], [2.0, 2.0, 2.0], [2.0, 3.0, 5.0]]
    >>> ev = cal.regression([1.0, 2.0, 3.0], ensemble=members, measures=["CRPS"])
    >>> round(ev["CRPS"].value, 3)
    0.185
    >>> past = {"a": [1.0, 2.0, 4.0], "b": [10.0, 30.0, 20.0]}
    >>> shop = ["a", "a", "b"]
    >>> ev = cal.regression(
    ...     [5.0, 6.0, 25.0], [4.0, 8.0, 22.0], series=shop, training=past, measures=["MASE"]
    ... )
    >>> round(ev["MASE"].value, 3)
    0.733
    >>> price, area = [1.0, 2.0, 3.0], [7.0, 9.0, 8.0]
    >>> ev = cal.regression({"price": price, "area": area}, {"price": price, "area": price})
    >>> ev["R2[price]"].value, ev["macro-R2"].value
    (1.0, -26.5)
    """
    arguments, predictions, wide = locals(), predicted, ["quantiles", "ensemble"]
    if human is not None or human_weight is not None:
        from calipers.evaluation.problems.labeled_rows import check_label_options

        check_label_options(arguments, {"outputs": "labels of several outputs are not supported"})
    if _is_multioutput(truth, outputs, data):
        wide.append("predicted")
        if data is not None and (output_names := named_outputs(truth)):
            predictions = columns_by_output(predicted, output_names)

    def of_models() -> Mapping[str, Any]:
        if y is None and not has_estimators(truth):
            return {}
        check_model_arguments(
            truth, predicted, y, {"quantiles": quantiles, "ensemble": ensemble, "data": data}
        )
        return {"truth": y, "predicted": predict_numbers(truth, predicted)}

    fields = _training_fields(arguments)
    if fields.get("has_series_clusters"):
        arguments["cluster"] = series
    source = open_source(
        {**arguments, "predicted": predictions}, "truth", "predicted", *DISTRIBUTION_ROLES, "human",
        "human_weight", "series", wide=wide, in_memory=of_models, categories=REGRESSION.categories,
    )  # fmt: skip
    if source.stream_columns is not None:
        problem, columns = _problem_from_stream(source.stream_columns, outputs, fields)
        return replace(source, stream_columns=columns).evaluate(problem)
    row_columns = source.memory_columns.columns
    truth, predicted = row_columns["truth"], row_columns["predicted"]
    is_multioutput = _is_multioutput(truth, outputs)
    _check_predictions(row_columns, is_multioutput=is_multioutput)
    _check_series(fields, is_multioutput=is_multioutput)
    if is_multioutput:
        problem = MultioutputProblem.from_columns(truth, outputs)
        if predicted is None:
            problem = JointEnsembleProblem(problem.names)
        number = len(to_outputs(truth, "truth", problem.names))
    elif predicted is None:
        is_ensemble = row_columns["quantiles"] is None
        problem = EnsembleProblem(**fields) if is_ensemble else QuantileProblem(**fields)
        number = len(to_quantities(truth, "truth"))
    else:
        truth = to_quantities(only_column(truth), "truth", copy=False)
        if isinstance(predicted, Mapping):
            predicted = {name: only_column(column) for name, column in predicted.items()}
        else:
            predicted = only_column(predicted)
        problem, number = RegressionProblem(**fields), len(truth)
        row_columns = {**row_columns, "truth": truth, "predicted": predicted}
    if row_columns["human"] is not None:
        from calipers.evaluation.problems.labeled_rows import LabeledProblem, read_human_numbers

        if is_multioutput:
            raise InputError("human: labels of several outputs are not supported")
        truth = to_quantities(only_column(truth), "truth", copy=False)
        labels = read_human_numbers(only_column(row_columns["human"]), truth)
        row_columns = {**row_columns, "truth": truth, "human": labels}
        problem = LabeledProblem(problem, target, task=problem.task)
    return source.evaluate(problem, row_columns, number)


def _training_fields(arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields of the problem that follow from training series."""
    training, series, season = (arguments[name] for name in ("training", "series", "season"))
    if training is None:
        for name, is_used in (("series", series is not None), ("season", season != 1)):
            if is_used:
                raise InputError(f"{name}: goes with training=, the training series of forecasts")
        return {}
    from calipers.data.training_series import read_training_series

    is_dependence_known = any(arguments[name] is not None for name in ("cluster", "time"))
    return {
        "training": read_training_series(training, season, series, arguments["truth"]),
        "has_series_clusters": series is not None and not is_dependence_known,
    }


def _check_series(fields: Mapping[str, Any], *, is_multioutput: bool) -> None:
    """Check that training series are those of a single output."""
    if fields and is_multioutput:
        reason = OUTPUT_REASONS["training"]
        raise InputError(f"training= is of one output; the truth has several: {reason}")


def _check_predictions(columns: Mapping[str, Any], *, is_multioutput: bool) -> None:
    """Check that there is one kind of predictions, of a single output unless they are numbers."""
    kinds = [role for role in ("predicted", *DISTRIBUTION_ROLES) if columns.get(role) is not None]
    if len(kinds) != 1:
        raise InputError("regression takes predicted=, or else quantiles= or ensemble=")
    if is_multioutput and kinds == ["quantiles"]:
        reason = OUTPUT_REASONS["quantiles"]
        raise InputError(f"quantiles= are of one output; the truth has several: {reason}")


def _problem_from_stream(
    columns: StreamColumns, outputs: Sequence[Any] | None, fields: Mapping[str, Any]
) -> tuple[Problem, StreamColumns]:
    """Choose the problem for the columns of a stream.

    Returns the problem and the columns, in which a table with one column becomes that column.
    """
    output_columns = {kind: dict(by_system) for kind, by_system in columns.output_columns.items()}
    is_multioutput = outputs is not None or len(flatten_names(columns.truth)) > 1
    _check_predictions(output_columns, is_multioutput=is_multioutput)
    _check_series(fields, is_multioutput=is_multioutput)
    if is_multioutput and "predicted" not in output_columns:
        raise memory_only_error(
            "ensemble", columns.engine, "members of several outputs are arrays of three dimensions"
        )
    if is_multioutput:
        wide = replace(
            columns, output_columns={"predicted": wrap_unnamed(output_columns["predicted"])}
        )
        return MultioutputProblem.from_columns(columns.truth, outputs), wide
    columns = replace(columns, truth=flatten_names(columns.truth)[0])
    series = {role: output_columns[role] for role in ("series",) if role in output_columns}
    for role, problem in DISTRIBUTION_ROLES.items():
        if role in output_columns:
            wide_columns = {role: wrap_unnamed(output_columns[role]), **series}
            return problem(**fields), replace(columns, output_columns=wide_columns)
    single_columns = {
        name: only_column(column) for name, column in output_columns["predicted"].items()
    }
    return RegressionProblem(**fields), replace(
        columns, output_columns={"predicted": single_columns, **series}
    )


def _is_multioutput(truth: Any, outputs: Sequence[Any] | None, data: Any = None) -> bool:
    """Return whether the truth has several columns, or its outputs are named."""
    pattern = isinstance(truth, str) and truth.endswith("*")
    listed = data is not None and len(named_outputs(truth)) > 1
    has_multiple = pattern or n_columns(truth) > 1 or listed
    return outputs is not None or has_multiple
