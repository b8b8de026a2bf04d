"""Evaluation of multilabel predictions."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from calipers.data.categories import CategoryColumns
from calipers.data.multilabel import collect_names, empty_as_no_labels, to_column, to_score_table
from calipers.data.tables import file_extension, read_table
from calipers.evaluation.arguments import validate_arguments
from calipers.evaluation.models import predict_labels
from calipers.evaluation.options import MeasureNames
from calipers.evaluation.problems.multilabel import MultilabelProblem, Threshold
from calipers.evaluation.sample import Problem
from calipers.evaluation.slice_definitions import Bins
from calipers.evaluation.source import ROW_ROLES, open_source
from calipers.evaluation.stored_predictions import Baseline
from calipers.evaluation.stream_labels import group_numeric_columns
from calipers.evaluation.tasks import MULTILABEL
from calipers.results import Evaluation


@validate_arguments
def multilabel(
    truth: Any,
    predicted: Any = None,
    y: Any = None,
    *,
    score: Any = None,
    probability: Any = None,
    human: Any = None,
    human_weight: Any = None,
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
    separator: str | None = None,
    labels: Sequence[Any] | None = None,
    threshold: Threshold = None,
    target: str = "like",
    measures: MeasureNames | None = None,
    undefined: str = "nan",
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
    """Evaluate multilabel predictions, where a row may have any number of labels.

    Parameters
    ----------
    truth : array-like of shape (n,) or (n, n_labels)
        Labels of each row: a column of sets or lists of labels; a column of text that ``separator``
        splits; or Booleans, or 0 and 1, for each label: a dict of columns, a data frame, or an
        array of shape (n, n_labels), dense or sparse. Lists of one length that hold nothing but 0
        and 1 are the rows of such an array; sets never are. With ``data``, ``"y_*"`` stands for all
        columns that begin so, the label for ``*``.
    predicted : array-like of shape (n,) or (n, n_labels), or dict of such, optional
        Predicted labels of each row, in the forms of ``truth``; for several systems a dict from
        their names to such.
    y : array-like of shape (n, n_labels), optional
        ``multilabel(model, X, Y)`` evaluates a fitted model, or a dict of models by name, on
        features and the truth, as :func:`calipers.classification` does. The outputs of a model are
        in the order of the columns of ``Y``.
    score : array-like of shape (n, n_labels), or dict of such, optional
        Score of each label, higher where a row is more likely to have it: a dict of columns, a data
        frame or an array of shape (n, n_labels), or a list of arrays of shape (n, 2), one per
        label, as returned by scikit-learn's ``predict_proba``; or a dict from systems to such.
        Measures of label sets also need a ``threshold``.
    probability : array-like of shape (n, n_labels), or dict of such, optional
        Probabilities of the labels, in the forms of ``score``; rows need not sum to 1. The default
        threshold is 0.5.
    human : array-like of shape (n,) or (n, n_labels), optional
        Labels by people of some rows, if ``truth`` is that of a judge, such as a language model: in
        the forms of ``truth``, with a missing value, or missing values of all labels, where a row
        has none by people. An empty field of a CSV file is missing; the ``separator`` alone is a
        row that has no label. Values then rest on these labels, and on what the judge adds to them.
        The rows should be selected at random, or have ``human_weight``.
    human_weight : array-like of shape (n,), optional
        Weight of each label, if rows were not selected for labels with equal probability: 1 over
        the probability of the row, at least 1, and missing where it has none.
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
    separator : str, optional
        Separator of the labels in a column of text, as in ``"sun|sea"``. Empty text is a row
        without labels, and so is an empty field of a CSV file.
    labels : list, optional
        Labels in display order. By default the column names of data frames, or all labels that
        occur, sorted. Tables are matched by column names, arrays by this order.
    threshold : float, list of float, or dict of such, optional
        Labels whose score is at or above it are predicted: one number, or one for each label (a
        dict, or a list in their order), or a dict from systems to such.
    target : {'like', 'these'}, default='like'
        What is estimated with human labels: the value of rows ``like`` these, or of ``these`` rows,
        of which those with a label are known.
    measures : str, Measure, or list of such, optional
        Names of measures; ``calipers measures`` lists them. ``"default"`` stands for the default
        measures, and ``"default+A,B"`` adds measures to these. Example-based measures
        (``"example-F1"``, ``"LRAP"``); any measure of :func:`classification` on one label
        (``"recall[sun]"``, ``"AUC[sun]"``); and averages over labels (``"macro-F1"``,
        ``"micro-AUC"``, ``"weighted-AP"``, ``"macro-Brier"``).
    undefined : {'nan', 'zero', 'one', 'omit'}, default='nan'
        Value of a measure of labels that is undefined, such as precision without positive
        predictions: ``"nan"``, or by convention ``"zero"`` or ``"one"``, as scikit-learn's
        ``zero_division`` of 0 or 1. It is also used in averages over classes, including classes
        that ``labels`` names but no row has; ``"omit"`` leaves these classes out. Correlations such
        as MCC become 0 or stay undefined. A value by convention has no interval.
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
        Averages of counts use the bootstrap over rows, or the delta method for very large samples;
        averages of AUC and AP use influence functions, summed over the labels of a row.
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
        Estimates of all measures with intervals, paired comparisons of several systems, a table of
        the labels, curves, slices and findings.

    Raises
    ------
    InputError
        If the input is invalid; the message says where, and what was expected.

    Examples
    --------
    >>> import calipers as cal
    >>> truth = [{"sun", "sea"}, {"sea"}, set(), {"sun"}]
    >>> ev = cal.multilabel(truth, [{"sun"}, {"sea"}, set(), {"sun", "sea"}])
    >>> ev["subset-accuracy"].value, ev["Hamming-loss"].value
    (0.5, 0.25)
    >>> table = {"y": ["sun|sea", "sea", "", "sun"], "p_sea": [0.4, 0.9, 0.2, 0.6],
    ...          "p_sun": [0.8, 0.3, 0.1, 0.7]}
    >>> ev = cal.multilabel("y", probability="p_*", separator="|", data=table,
    ...                     measures=["LRAP", "AUC[sun]"])
    >>> [estimate.value for estimate in ev]
    [1.0, 1.0]
    """
    arguments = locals()
    if human is not None or human_weight is not None:
        from calipers.evaluation.problems.labeled_rows import check_label_options

        check_label_options(arguments, {})

    def read_arguments() -> Mapping[str, Any]:
        outputs = predict_labels(truth, predicted, y, score, probability, threshold)
        return {
            "truth": to_column(outputs.truth),
            "human": to_column(human),
            "predicted": to_column(outputs.predicted),
            "score": to_score_table(outputs.score, "score"),
            "probability": to_score_table(outputs.probability, "probability"),
            "data": _read_table(arguments, (outputs.truth, outputs.predicted)),
        }

    output_names = "predicted", "score", "probability"
    source = open_source(
        arguments,
        "truth",
        *output_names,
        "human",
        "human_weight",
        wide=(*output_names, "human"),
        in_memory=read_arguments,
        categories=MULTILABEL.categories,
        lists=("truth", "predicted", "human"),
    )
    label_options = labels, separator, threshold, undefined
    if source.stream_columns is not None:
        stream_columns = group_numeric_columns(source.stream_columns, separator)
        return replace(source, stream_columns=stream_columns).evaluate(
            MultilabelProblem.from_stream(stream_columns, *label_options)
        )
    problem: Problem
    problem, columns = MultilabelProblem.read(source.memory_columns.columns, *label_options)
    if human is not None:
        from calipers.evaluation.problems.labeled_rows import LabeledProblem

        problem = LabeledProblem(problem, target, task=problem.task)
    return source.evaluate(problem, columns, len(columns["truth"].columns))


def _read_table(arguments: Mapping[str, Any], label_columns: tuple[Any, ...]) -> Any:
    """Read the table at a path; empty fields of label columns in CSV are rows without labels."""
    data = arguments["data"]
    if arguments["separator"] is None or not isinstance(data, str | os.PathLike):
        return data
    roles = (*MULTILABEL.categories, "score", "probability", *ROW_ROLES, "cost")
    columns = {role: arguments.get(role) for role in roles}
    categories = CategoryColumns.from_roles(columns, MULTILABEL.categories, arguments.get("id"))
    table = read_table(data, categories=categories.select)
    return (
        empty_as_no_labels(
            table, collect_names(label_columns), collect_names((arguments["human"],))
        )
        if file_extension(data)[0] in (".csv", ".tsv")
        else table
    )
