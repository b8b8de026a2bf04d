"""Evaluation of rows that may have several labels."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from calipers.data.multilabel import as_column, as_table, empty_as_no_labels, names_in
from calipers.data.tables import file_extension, read_table
from calipers.evaluation.arguments import validate_arguments
from calipers.evaluation.models import predict_labels
from calipers.evaluation.options import MeasureNames
from calipers.evaluation.problems.labels import SeveralLabels, Threshold
from calipers.evaluation.slice_definitions import Bins
from calipers.evaluation.source import open_source
from calipers.evaluation.stored_predictions import Baseline
from calipers.evaluation.stream_labels import by_role
from calipers.results import Evaluation


@validate_arguments
def multilabel(
    truth: Any,
    predicted: Any = None,
    y: Any = None,
    *,
    score: Any = None,
    probability: Any = None,
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
    measures: MeasureNames | None = None,
    undefined: str = "nan",
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
    """Evaluate predicted labels of rows that may have none, one or several.

    Parameters
    ----------
    truth : array-like of shape (n,) or (n, n_labels)
        Labels of each row: a column of sets or lists of labels; a column of text that ``separator``
        splits; or Booleans, or 0 and 1, for each label: a dict of columns, a data frame, or an
        array of shape (n, n_labels), dense or sparse. Lists of one length that hold nothing but 0
        and 1 are the rows of such an array; sets never are. With ``data``, ``"y_*"`` stands for all
        columns that begin so, the label for ``*``.
    predicted : array-like of shape (n,) or (n, n_labels), or dict of such, optional
        Predicted labels of each row, in the forms of ``truth``; of several systems a dict from
        their names to such.
    y : array-like of shape (n, n_labels), optional
        ``multilabel(model, X, Y)`` evaluates a fitted model, or a dict of models by name, on
        features and the truth, as :func:`calipers.classification` does. The outputs of a model are
        in the order of the columns of ``Y``.
    score : array-like of shape (n, n_labels), or dict of such, optional
        Score of each label, higher where a row is more likely to have it: a dict of columns, a data
        frame or an array of shape (n, n_labels), or what ``predict_proba`` of scikit-learn gives, a
        list of an array of shape (n, 2) for each label; or a dict from systems to such. Measures of
        sets need a ``threshold`` as well.
    probability : array-like of shape (n, n_labels), or dict of such, optional
        Probabilities of the labels, in the forms of ``score``; a row need not sum to 1. The
        threshold is 0.5 unless another is given.
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
    separator : str, optional
        What separates the labels in a column of text, as in ``"sun|sea"``. Empty text is a row
        without labels, and so is an empty field of a CSV file.
    labels : list, optional
        The labels in order. Unless given, the column names of data frames, or all labels that
        occur, sorted. Tables with names are matched by them, arrays by this order.
    threshold : float, list of float, or dict of such, optional
        A row is predicted to have the labels whose score is at or above it: one number, or one for
        each label (a dict, or a list in their order), or a dict from systems to such.
    measures : str, Measure, or list of such, optional
        Names of measures; ``calipers measures`` lists them. ``"default"`` stands for those that are
        shown if none is named. Of rows (``"example-F1"``, ``"LRAP"``); any measure of
        :func:`classification` of one label (``"recall[sun]"``, ``"AUC[sun]"``); and averages over
        labels of those of counts and scores (``"macro-F1"``, ``"micro-AUC"``, ``"weighted-AP"``),
        of log loss and Brier score (``"macro-Brier"``).
    undefined : {'nan', 'zero', 'one', 'omit'}, default='nan'
        Value of a measure of labels that is undefined, such as precision where nothing is predicted
        positive: ``"nan"``, or by convention ``"zero"`` or ``"one"``, as scikit-learn's
        ``zero_division`` of 0 or 1. Averages take it for classes without a value, also for those
        that ``labels`` names and no row has; ``"omit"``, its NaN, leaves both out. Of correlations
        such as MCC it is 0 or nothing. A value by convention has no interval.
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
        Averages of counts are bootstrapped by row, or by the delta method where there are very many
        rows; those of AUC and AP come from the influence of rows, all labels of a row together.
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
        Every measure with its interval, the paired comparison of several systems, a table of the
        labels, curves, slices and findings.

    Raises
    ------
    InputError
        For anything wrong with the input, saying where and what was expected.

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

    def all_rows() -> Mapping[str, Any]:
        said = predict_labels(truth, predicted, y, score, probability, threshold)
        return {
            "truth": as_column(said.truth),
            "predicted": as_column(said.predicted),
            "score": as_table(said.score, "score"),
            "probability": as_table(said.probability, "probability"),
            "data": _read(data, separator, (said.truth, said.predicted)),
        }

    what = "predicted", "score", "probability"
    source = open_source(arguments, "truth", *what, wide=what, in_memory=all_rows)
    how = labels, separator, threshold, undefined
    if source.stream is not None:
        there = by_role(source.stream, separator)
        return replace(source, stream=there).evaluate(SeveralLabels.of_stream(there, *how))
    problem, columns = SeveralLabels.read(source.rows.columns, *how)
    return source.evaluate(problem, columns, len(columns["truth"].columns))


def _read(data: Any, separator: str | None, named: tuple[Any, ...]) -> Any:
    """A path as the table that it holds; in the columns of text an empty field is no label."""
    if separator is None or not isinstance(data, str | os.PathLike):
        return data
    table = read_table(data)
    return (
        empty_as_no_labels(table, names_in(named))
        if file_extension(data)[0] in (".csv", ".tsv")
        else table
    )
