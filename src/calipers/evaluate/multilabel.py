"""Evaluation of rows that may have several labels."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

from calipers.data.columns import gather
from calipers.data.label_columns import as_column, as_table, names_in, no_labels
from calipers.data.tables import extension, read_table
from calipers.evaluate.arguments import verb
from calipers.evaluate.batch import Table
from calipers.evaluate.cuts import Bins, slice_columns
from calipers.evaluate.estimators import said_of_labels
from calipers.evaluate.evaluator import evaluate_rows, evaluate_stream
from calipers.evaluate.kept import Baseline
from calipers.evaluate.problems.labels import SeveralLabels, Threshold
from calipers.evaluate.stream_columns import Columns, allowed, in_batches
from calipers.evaluate.stream_labels import by_role
from calipers.evaluation.options import MeasureNames, Options
from calipers.results import Evaluation


@verb
def multilabel(
    truth: Any,
    predicted: Any = None,
    y: Any = None,
    *,
    score: Any = None,
    probability: Any = None,
    labels: Sequence[Any] | None = None,
    separator: str | None = None,
    threshold: Threshold = None,
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
    undefined: str = "nan",
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
    """How well systems name the labels of rows that may have none, one or several.

    Parameters
    ----------
    truth
        The labels of each row: a column of sets or lists of labels; a column of text that
        ``separator`` splits; or Booleans, or 0 and 1, for each label: a dict of columns, a data
        frame, or an array of shape (rows, labels), dense or sparse. Lists of one length that hold
        nothing but 0 and 1 are the rows of such an array; sets never are.
    predicted
        The same of a system; or a dict from system names to such.
    y
        ``multilabel(model, X, Y)`` evaluates a fitted model, or a dict of models by name, on
        features and the truth, as :func:`calipers.classification` does. What a model says stands in
        the order of the columns of ``Y``.
    score
        A score for each label, higher where a row is more likely to have it: a dict of columns, a
        data frame or an array of shape (rows, labels), or what predict_proba of scikit-learn gives,
        a list of an array of shape (rows, 2) for each label; or a dict from system names to such.
        Measures of sets need a ``threshold`` besides.
    probability
        Probabilities of the labels, in the same forms; a row need not sum to 1. The threshold is
        0.5 unless another is given.
    labels
        The labels in order. Unless given, the column names of data frames, or all labels that
        occur, sorted. Tables with names are matched by them, arrays by this order.
    separator
        What stands between the labels in a column of text, as in ``"sun|sea"``. Empty text is a
        row without labels, and so is an empty field of a CSV file.
    threshold
        A row is said to have a label whose score is at or above it: one number, or one for each
        label (a dict, or a list in their order), or a dict from systems to such.
    weight, count, cluster, time, slices, slice_bins, cost, missing, curves
        As in :func:`calipers.classification`.
    data
        A table (data frame, dict of columns, or path), of which all of the above may be given by
        the names of columns; ``"y_*"`` stands for all columns that begin so, the label for ``*``.
    id
        A column of ids in ``data``, by which systems that are tables of their own are joined.
    measures
        Measures of rows (``"example-F1"``, ``"LRAP"``); any measure of :func:`classification` of
        one label (``"recall[sun]"``, ``"AUC[sun]"``); and averages over labels of those of counts
        and scores (``"macro-F1"``, ``"micro-AUC"``, ``"weighted-AP"``), of log loss and Brier score
        (``"macro-Brier"``).
    undefined, baseline, primary, interval, level, resamples, seed, engine, memory, inputs
        As in :func:`calipers.classification`. Averages of counts are bootstrapped by row, or by
        the delta method where there are very many rows; those of AUC and AP come from the influence
        of rows, all labels of a row together.

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
    options = Options.of(locals())
    given = truth, predicted, score, probability, weight, cluster
    if in_batches(engine, memory, data, given):
        odd = {"id": id, "y": y, "cost": cost, "time": time}
        cut = slice_columns(slices), slice_bins, count
        named = {"predicted": predicted, "score": score, "probability": probability}
        there = Columns.of(data, truth, named, weight, cluster, missing, odd, engine, *cut)
        there = by_role(there, separator)
        of = SeveralLabels.of_stream(there, labels, separator, threshold, undefined)
        return evaluate_stream(of, there, options, allowed(memory, there.stream))
    said = said_of_labels(truth, predicted, y, score, probability, threshold)
    truth, predicted, score, probability, _ = said
    gathered = gather(
        {
            "truth": as_column(truth),
            "predicted": as_column(predicted),
            "score": as_table(score, "score"),
            "probability": as_table(probability, "probability"),
            "weight": weight,
            "count": count,
            "cluster": cluster,
            "time": time,
            "slices": slice_columns(slices),
        },
        data=_read(data, separator, (truth, predicted)),
        by=id,
        missing=missing,
        cost=cost,
        wide=("predicted", "score", "probability"),
    )
    problem, columns = SeveralLabels.read(gathered.columns, labels, separator, threshold, undefined)
    number = len(columns["truth"].columns)
    return evaluate_rows(problem, Table.of(gathered, columns, number), options)


def _read(data: Any, separator: str | None, named: tuple[Any, ...]) -> Any:
    """A path as the table that it holds; in the columns of text an empty field is no label."""
    if separator is None or not isinstance(data, str | os.PathLike):
        return data
    table = read_table(data)
    return no_labels(table, names_in(named)) if extension(data)[0] in (".csv", ".tsv") else table
