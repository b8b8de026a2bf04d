"""Evaluation of binary and multiclass classifiers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from calipers.data.binary_labels import is_binary_problem
from calipers.data.class_labels import EncodedLabels, check_classes, encode_labels
from calipers.data.class_probabilities import is_distribution
from calipers.data.confusion_matrices import check_rows, columns_from_matrix
from calipers.data.errors import InputError
from calipers.evaluation.arguments import validate_arguments
from calipers.evaluation.batch import Table
from calipers.evaluation.confusion_tables import to_count_tables
from calipers.evaluation.evaluator import evaluate_rows
from calipers.evaluation.models import predict_classes
from calipers.evaluation.options import MeasureNames
from calipers.evaluation.problems.binary import BINARY_ONLY_MESSAGE, BinaryProblem, Threshold
from calipers.evaluation.sample import Problem
from calipers.evaluation.shared import column_name, named_systems, unwrap_unnamed
from calipers.evaluation.slice_definitions import Bins
from calipers.evaluation.source import open_source
from calipers.evaluation.stored_predictions import Baseline
from calipers.evaluation.stream_columns import MAX_CLASSES, StreamColumns, flatten_names
from calipers.evaluation.tasks import CLASSIFICATION
from calipers.results import Evaluation

if TYPE_CHECKING:
    from calipers.evaluation.problems.multiclass import MulticlassProblem
    from calipers.evaluation.problems.soft_labels import SoftLabelProblem


@validate_arguments
def classification(
    truth: Any = None,
    predicted: Any = None,
    y: Any = None,
    *,
    score: Any = None,
    probability: Any = None,
    human: Any = None,
    human_weight: Any = None,
    confusion: Any = None,
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
    rows: str | None = None,
    labels: Sequence[Any] | None = None,
    positive: Any = None,
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
    """Evaluate binary or multiclass predictions.

    Parameters
    ----------
    truth : array-like of shape (n,) or (n, n_classes), optional
        True class of each row. With more than two, and none named ``positive``, all classes are
        evaluated: each against all others, and averages over them. Or a distribution over the
        classes for each row (soft labels, such as proportions of annotators), in the forms of
        ``probability``; cross-entropy, divergence and Brier score are then computed.
    predicted : array-like of shape (n,), or dict of such, optional
        Predicted class of each row; for several systems a dict from their names to columns.
    y : array-like of shape (n,), optional
        ``classification(model, X, y)`` evaluates a fitted model, or a dict of models by name, on
        features and the truth: any object with ``classes_`` and ``predict_proba``,
        ``decision_function`` or ``predict`` (tried in this order), such as a scikit-learn
        classifier.
    score : array-like of shape (n,) or (n, n_classes), or dict of such, optional
        Scores, higher for the positive class; for several systems a dict from their names to
        columns. Measures of the confusion matrix also need a ``threshold``; without one only
        accuracy is computed, at the best threshold, with a note. With several classes, one column
        per class, in the forms of ``probability``.
    probability : array-like of shape (n,) or (n, n_classes), or dict of such, optional
        Probabilities of the positive class; for several systems a dict from their names to columns.
        They also serve as scores. The default threshold is 0.5. Or a column for each class: a dict
        or a data frame, matched by name, or an array of shape (n, n_classes) in the order of the
        classes; or a dict from systems to such. Rows have to sum to 1 within 1e-6.
    human : array-like of shape (n,), optional
        Truth by people of some rows, if ``truth`` is that of a judge, such as a language model: in
        the form of ``truth``, with a missing value where a row has none. Values then rest on these
        labels, and on what the judge adds to them. The rows should be selected at random, or have
        ``human_weight``.
    human_weight : array-like of shape (n,), optional
        Weight of each label, if rows were not selected for labels with equal probability: 1 over
        the probability of the row, at least 1, and missing where it has none.
    confusion : array-like of shape (n_classes, n_classes), path, or dict of such, optional
        Confusion matrix in place of rows: an array in the order of ``labels`` (default 0, 1, …), a
        data frame or a dict of columns by class, a matrix of another evaluation, or the path of a
        table or result. Rows are named by the index of a pandas frame, a column of text, or
        ``truth`` (``predicted`` for predicted classes), else as the columns, in their order.
        Several systems are ``{"old": …, "new": …}``, or a table whose first column has their names.
        They are compared as independent samples, as matrices do not pair rows.
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
    rows : {'truth', 'predicted'}, optional
        What the rows of ``confusion`` are: ``"truth"``, as in scikit-learn's ``confusion_matrix``,
        or ``"predicted"``, as in many textbooks. Optional if the matrix states it (by a header
        ``"predicted\\truth"``, the axis names of a cross table, or ``truth``) or is symmetric.
    labels : list, optional
        Classes in display order, including classes without rows; all of them are evaluated. Two
        classes with ``positive``, a ``threshold`` or scores in one column define a binary problem.
    positive : label, optional
        Positive class; all other classes are negative. Required unless the classes are 0 and 1, −1
        and 1, or False and True. If all rows are of one class, measures that need both are
        undefined, with a note.
    threshold : float, str or Rule, or dict of such, optional
        Scores at or above it are predicted positive; one number, or one for each system. Or a rule
        that chooses it on these rows, such as ``"youden"`` or ``"specificity>=0.9"`` (see
        :func:`calipers.operating_point`); the optimism of that choice is then estimated out of bag.
    target : {'like', 'these'}, default='like'
        What is estimated with human labels: the value of rows ``like`` these, or of ``these`` rows,
        of which those with a label are known.
    measures : str, Measure, or list of such, optional
        Names of measures; ``calipers measures`` lists them. ``"default"`` stands for the default
        measures, and ``"default+A,B"`` adds measures to these.
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
        Estimates of all measures with intervals, the score of the best constant prediction, paired
        comparisons of several systems, confusion matrices, curves, slices and findings. For more
        than two classes, a table has the measures of each class against all others.

    Raises
    ------
    InputError
        If the input is invalid; the message says where, and what was expected.

    Examples
    --------
    >>> import calipers as cal
    >>> ev = cal.classification([0, 0, 1, 1], score=[0.1, 0.4, 0.35, 0.8], measures=["AUC"])
    >>> ev["AUC"].value
    0.75
    """
    arguments = locals()
    if human is not None or human_weight is not None:
        from calipers.evaluation.problems.labeled_rows import check_label_options

        check_label_options(
            arguments, {"confusion": "it has counts of rows, which cannot be labeled one by one"}
        )
    models = predict_classes(truth, predicted, y, score, probability, positive, threshold)
    check_rows(rows, confusion)
    input_columns = {**models.columns, "confusion": to_count_tables(confusion, data)}
    source = open_source(
        {**arguments, **input_columns},
        *input_columns,
        "human",
        "human_weight",
        categories=CLASSIFICATION.categories,
    )
    options = source.options
    if source.stream_columns is not None:
        problem, columns = _problem_from_stream(
            source.stream_columns, positive, labels, threshold, undefined
        )
        return replace(source, stream_columns=columns).evaluate(problem)
    memory_columns = source.memory_columns
    input_columns, system_index, notes = columns_from_matrix(
        memory_columns.columns, labels, rows, positive
    )
    if is_distribution(input_columns["truth"]):
        if human is not None:
            raise InputError("human does not go with distributions over the classes as the truth")
        from calipers.evaluation.problems.soft_labels import SoftLabelProblem, count_rows

        unused = {kind: input_columns[kind] for kind in ("predicted", "score")}
        unused |= {"positive": positive, "threshold": threshold}
        soft_problem = SoftLabelProblem.from_columns(
            input_columns["truth"], labels, input_columns["probability"], unused
        )
        n_soft_rows = count_rows(input_columns["truth"])
        return evaluate_rows(
            soft_problem, Table.from_columns(memory_columns, input_columns, n_soft_rows), options
        )
    encoded_truth = all_classes = encode_labels(input_columns["truth"], "truth")
    if human is not None:
        from calipers.evaluation.problems.labeled_rows import LabeledProblem, read_human_classes

        encoded_truth, input_columns["human"], all_classes = read_human_classes(
            input_columns["human"], encoded_truth, labels
        )
    table = Table.from_columns(
        memory_columns,
        {**input_columns, "truth": encoded_truth},
        len(encoded_truth.codes),
        notes=notes,
        system_index=system_index,
    )
    # A matrix of text classes has the order of whatever tabulated it, which sorts.
    has_ordered_classes = labels is not None or (encoded_truth.ordered and confusion is None)
    labels = models.missing_labels(all_classes, positive) if labels is None else labels
    if labels is None:
        check_classes(all_classes, table.batch.frequencies.n_repeated)
    problem, coded_columns = _problem_from_rows(
        all_classes,
        table.batch.columns,
        positive,
        labels,
        threshold,
        undefined,
        ordered=has_ordered_classes,
    )
    if human is not None:
        problem = LabeledProblem(problem, target, task=problem.task)
    elif isinstance(problem, BinaryProblem):
        compact_truth = encoded_truth.with_small_codes()
        coded_columns = {**coded_columns, "truth": compact_truth}
    table = replace(table, batch=replace(table.batch, columns=coded_columns))
    del encoded_truth, all_classes, coded_columns  # the large codes, for as long as it takes
    return evaluate_rows(problem, table, options)


def _problem_from_rows(
    truth: EncodedLabels,
    columns: Mapping[str, Any],
    positive: Any,
    labels: Sequence[Any] | None,
    threshold: Threshold,
    undefined: str,
    *,
    ordered: bool,
) -> tuple[Problem, Mapping[str, Any]]:
    """Choose the problem for columns in memory.

    Returns the problem, and the columns, of which labels are encoded if the problem is multiclass.
    """
    predicted, scores = columns["predicted"], (columns["score"], columns["probability"])
    if _is_binary(truth, labels, positive, *scores, threshold):
        return BinaryProblem.from_columns(
            truth, positive, labels, threshold, undefined, predicted
        ), columns
    from calipers.evaluation.problems.multiclass import MulticlassProblem, encode_predictions

    encoded_predictions = None if predicted is None else encode_predictions(predicted)
    problem = MulticlassProblem.from_columns(
        truth, encoded_predictions, *scores, labels, undefined, ordered=ordered
    )
    return problem, {**columns, "predicted": encoded_predictions}


def _is_binary(
    truth: EncodedLabels,
    labels: Sequence[Any] | None,
    positive: Any,
    score: Any,
    probability: Any,
    threshold: Threshold,
) -> bool:
    """Return whether there are two classes; predictions may be columns or their names."""
    is_binary = (
        positive is not None or len(truth.labels) <= 2
        if labels is None
        else is_binary_problem(labels, positive, score, probability, threshold)
    )
    if not is_binary and (positive is not None or threshold is not None):
        raise InputError(BINARY_ONLY_MESSAGE)
    return is_binary


def _problem_from_stream(
    columns: StreamColumns,
    positive: Any,
    labels: Sequence[Any] | None,
    threshold: Threshold,
    undefined: str,
) -> tuple[Problem, StreamColumns]:
    """Choose the problem for the columns of a stream.

    Returns the problem and the columns: a table with one column becomes that column, and the class
    columns of a single system are wrapped so that they are not mistaken for systems.
    """
    from calipers.evaluation.stream_rows import read_distinct_labels

    if len(flatten_names(columns.truth)) > 1:
        return _soft_label_problem(columns, positive, labels, threshold)
    (truth,) = flatten_names(columns.truth)
    columns = replace(columns, truth=truth)
    if labels is not None:
        encoded = encode_labels(list(labels), "labels")
        encoded = EncodedLabels(tuple(labels), np.arange(len(encoded.codes)), ordered=True)
    else:
        encoded = encode_labels(read_distinct_labels(columns, truth, "truth"), "truth")
        check_classes(encoded, columns.engine.n_rows or MAX_CLASSES)
    outputs = {
        kind: unwrap_unnamed(by_system) for kind, by_system in columns.output_columns.items()
    }
    scores = outputs.get("score"), outputs.get("probability")
    problem: BinaryProblem | MulticlassProblem
    if _is_binary(encoded, labels, positive, *scores, threshold):
        needs_other_class = labels is None and len(encoded.labels) == 1
        predicted = _predicted_labels(columns, outputs) if needs_other_class else None
        problem = BinaryProblem.from_columns(
            encoded, positive, labels, threshold, undefined, predicted
        )
    else:
        problem = _multiclass_problem(columns, outputs, encoded, labels, undefined)
    return problem, _name_systems(columns, problem)


def _name_systems(
    columns: StreamColumns, problem: BinaryProblem | MulticlassProblem | SoftLabelProblem
) -> StreamColumns:
    """Return columns by system, as the problem names the systems of the columns in memory."""
    output_columns = {
        kind: problem.named_outputs(unwrap_unnamed(by_system), kind)
        for kind, by_system in columns.output_columns.items()
    }
    return replace(columns, output_columns=output_columns)


def _soft_label_problem(
    columns: StreamColumns, positive: Any, labels: Sequence[Any] | None, threshold: Threshold
) -> tuple[Problem, StreamColumns]:
    from calipers.evaluation.problems.soft_labels import SoftLabelProblem

    unused = {**columns.output_columns, "positive": positive, "threshold": threshold}
    problem = SoftLabelProblem.from_columns(
        columns.truth, labels, unused.pop("probability", None), unused
    )
    return problem, _name_systems(columns, problem)


def _predicted_labels(columns: StreamColumns, outputs: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return the distinct labels that each system of a stream predicts, if any predicts labels."""
    from calipers.evaluation.stream_rows import read_distinct_labels

    if "predicted" not in outputs:
        return None
    labels_by_system = {}
    for name, column in named_systems(outputs["predicted"], "predicted").items():
        display_name = column_name("predicted", name)
        if not isinstance(column, str):
            raise InputError(f"{display_name}: has several columns, expected one of labels")
        labels_by_system[name] = read_distinct_labels(columns, column, display_name)
    return labels_by_system


def _multiclass_problem(
    columns: StreamColumns,
    outputs: Mapping[str, Any],
    encoded: EncodedLabels,
    labels: Sequence[Any] | None,
    undefined: str,
) -> MulticlassProblem:
    """Return the problem of several classes for the columns of a stream."""
    from calipers.evaluation.problems.multiclass import MulticlassProblem, encode_predictions

    predicted = _predicted_labels(columns, outputs) if labels is None else None
    return MulticlassProblem.from_columns(
        encoded,
        None if predicted is None else encode_predictions(predicted),
        outputs.get("score"),
        outputs.get("probability"),
        labels,
        undefined,
        ordered=labels is not None or encoded.ordered,
    )
