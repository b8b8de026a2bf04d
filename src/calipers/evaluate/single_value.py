"""Value of a measure computed directly from arrays, as when a measure is called."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

import numpy as np

from calipers.data.arrays import (
    check_length,
    column_names,
    to_numbers,
    to_quantities,
)
from calipers.data.binary_labels import (
    BinaryLabels,
    encode_binary,
    encode_predictions,
    paired_label,
    positive_probability,
)
from calipers.data.class_labels import ClassLabels, encode_classes, encode_labels, sort_labels
from calipers.data.class_probabilities import is_distribution, is_table, probability_matrix
from calipers.data.errors import InputError, format_names
from calipers.data.frequency_weights import RowRepeats
from calipers.data.grouped_judgments import judge_groups, read_groups
from calipers.data.multioutput import n_columns
from calipers.data.quantiles import to_members, to_quantiles
from calipers.data.ranking_series import read_series, read_series_judgments
from calipers.data.ratings import read_ratings
from calipers.data.sampled_judgments import read_sampled_judgments
from calipers.data.trec import read_qrels, read_run
from calipers.evaluate.agreement import agreement
from calipers.evaluation.arguments import validate_arguments
from calipers.evaluation.problems.soft_labels import class_names, read_distributions
from calipers.evaluation.shared import is_order_assumed
from calipers.inference.settings import Settings
from calipers.inference.summaries import Summary
from calipers.measures import Measure
from calipers.results.estimate import DEFAULT_SYSTEM_NAME, RATER_SET_NAME
from calipers.statistics import (
    ConfusionMatrix,
    EnsembleRows,
    GroupedRankings,
    JudgedRankings,
    Moments,
    RankingSeries,
    SampledRankings,
    ScoreTable,
    confusion_matrix,
)
from calipers.systems.quantiles import EnsembleOutput, QuantileOutput
from calipers.systems.regression import RegressionOutput


@functools.partial(validate_arguments, function_name="measure")
def compute_value(
    measure: Measure,
    truth: Any,
    prediction: Any = None,
    *,
    weight: Any = None,
    count: Any = None,
    positive: Any = None,
    labels: Sequence[Any] | None = None,
    classes: Sequence[Any] | None = None,
) -> float:
    """Compute the value of a measure without an interval; for retrieval, the mean over topics.

    Parameters
    ----------
    measure : Measure
        Measure to compute.
    truth : array-like
        Truth in the form that the evaluation function of the task accepts; for retrieval, relevance
        judgments; for scores without a truth, these scores, or those of the reference.
    prediction : array-like
        Predicted labels, scores, probabilities or values, depending on the measure; for retrieval,
        a run.
    weight : array-like of shape (n,), optional
        Weight of each row.
    count : array-like of shape (n,), optional
        Frequency weight of each row.
    positive : label, optional
        Positive class.
    labels : list, optional
        Classes or labels in their order.
    classes : list, optional
        Alias of ``labels``.

    Returns
    -------
    float
        Value of the measure; NaN if it is undefined.

    Raises
    ------
    InputError
        If the input is invalid, or the measure depends on an order of classes that is not given.

    Examples
    --------
    >>> from calipers.measures import parse
    >>> parse("AUC")([0, 0, 1, 1], [0.1, 0.4, 0.35, 0.8])
    0.75
    >>> parse("macro-F1")(["a", "b", "c"], ["a", "b", "b"])
    0.5555555555555555
    """
    definition = measure.definition
    labels = _resolve_alias(labels, classes)
    if definition.task == "scores":
        return _case_value(measure, truth, prediction, weight, count)
    if prediction is None:
        raise InputError(f"{measure} takes two columns: the truth and the predictions")
    if issubclass(definition.statistic, JudgedRankings | GroupedRankings | RankingSeries):
        return _topic_value(measure, truth, prediction, weight, count)
    if definition.reads in ("numbers", "quantiles", "ensembles"):
        return _regression_value(measure, truth, prediction, weight, count)
    if definition.reads == "distributions":
        by_system = {DEFAULT_SYSTEM_NAME: prediction}
        target, distributions = read_distributions(truth, by_system, class_names(truth))
        repeats = RowRepeats.from_counts(count, len(target))
        loss = repeats(measure.losses(target, distributions[DEFAULT_SYSTEM_NAME]))
        return float(measure.apply(Moments.from_rows(loss, repeats.check_weights(weight))))
    function_name = _select_function(measure, truth, prediction, positive, labels)
    if function_name is not None:
        options = {"weight": weight, "count": count, "labels": labels}
        return _function_value(function_name, measure, truth, prediction, options)
    if _is_count_measure(measure) and positive is None:
        truth = encode_labels(truth, "truth")
        encoded = _find_classes(truth, prediction, labels)
        if labels is None and not truth.ordered:
            _check_order(measure, encoded.names)
        predicted_codes = encoded.encode(prediction, "predicted")
        repeats = RowRepeats.from_counts(count, len(encoded.codes))
        codes = repeats(encoded.codes), repeats(predicted_codes)
        class_matrix = confusion_matrix(*codes, encoded.names, repeats.check_weights(weight))
        return float(measure.apply(class_matrix))
    if definition.reads == "ratings":
        return _rater_value(measure, {"first": truth, "second": prediction}, weight, count, labels)
    if definition.task == "clustering":
        return _cluster_value(measure, truth, prediction, weight, count)
    binary_labels = encode_binary(truth, positive, class_pair=labels)
    repeats = RowRepeats.from_counts(count, len(binary_labels.positive))
    weights, truth = repeats.check_weights(weight), repeats(binary_labels.positive)
    if definition.statistic is ConfusionMatrix:
        predicted = repeats(encode_predictions(prediction, binary_labels, "predicted"))
        matrix = ConfusionMatrix.from_codes(truth, predicted, binary_labels.names, weights)
        return float(measure.apply(matrix))
    if definition.statistic is ScoreTable:
        uses_probabilities = definition.reads == "probabilities"
        column_label = "probability" if uses_probabilities else "score"
        score = _positive_scores(
            prediction, binary_labels, column_label, is_probability=uses_probabilities
        )
        check_length(score, len(binary_labels.positive), column_label)
        return float(measure.apply(ScoreTable.from_rows(truth, repeats(score), weights)))
    probability = _positive_scores(prediction, binary_labels, "probability", is_probability=True)
    probability = probability.astype(np.float64)
    check_length(probability, len(binary_labels.positive), "probability")
    loss = repeats(measure.losses(binary_labels.positive.astype(np.float64), probability))
    return float(measure.apply(Moments.from_rows(loss, weights)))


def _topic_value(measure: Measure, truth: Any, prediction: Any, weight: Any, count: Any) -> float:
    """Compute the mean over topics of a measure of a run, given judgments."""
    definition = measure.definition
    if weight is not None or count is not None:
        raise InputError(f"{measure} is a mean over topics, which have no weight= and no count=")
    statistic: Any
    if definition.statistic is JudgedRankings:
        run = read_run("run", prediction, read_qrels(truth))
        if measure.needs_order and not run.is_ordered:
            raise InputError(f"run: {measure} needs an order, which sets of documents do not have")
        statistic = JudgedRankings(**run.arrays)
    elif definition.statistic is RankingSeries:
        judgments = read_series_judgments(truth)
        statistic = RankingSeries(**read_series("run", prediction, judgments).arrays)
    else:
        is_sampled = definition.statistic is SampledRankings
        groups = read_sampled_judgments(truth)[0] if is_sampled else read_groups(truth)
        statistic = definition.statistic(**judge_groups("run", prediction, groups).arrays)
    weight_function = definition.weight
    weights = (
        None
        if weight_function is None
        else np.asarray(weight_function(statistic, measure.parameters))
    )
    return Summary.from_definition(definition).value(measure.apply(statistic), weights)


def _rater_value(
    measure: Measure, ratings: dict[str, Any], weight: Any, count: Any, labels: Sequence[Any] | None
) -> float:
    """Compute the agreement of two raters; ``labels`` are the ordered categories."""
    if labels is None:
        no_columns = {"item": None, "rater": None, "rating": None}
        _check_order(
            measure,
            read_ratings(ratings, {RATER_SET_NAME: None}, None, no_columns).categories.names,
        )
    item_options = {"weight": weight, "count": count, "order": labels}
    evaluation = agreement(ratings, measures=[measure], interval="none", **item_options)
    return evaluation.estimates[0].value


def _case_value(
    measure: Measure, scores: Any, system_scores: Any, weight: Any, count: Any
) -> float:
    """Compute the value of scores of cases, or of those of a system against a reference."""
    from calipers.evaluate.case_scores import scores as evaluate_scores

    if measure.definition.reads == "reference lengths":
        raise InputError(
            f"{measure} takes scores and lengths of two systems: cal.scores(…, reference_system=…, "
            f"cost={{'length': …}}, measures=[{str(measure)!r}])"
        )
    needs_reference = measure.definition.reads == "reference scores"
    if (system_scores is None) == needs_reference:
        expected = (
            "two columns: the scores of the reference and those of the system"
            if needs_reference
            else "one column, the scores"
        )
        raise InputError(f"{measure} takes {expected}")
    by_system = {"system": system_scores, "reference": scores} if needs_reference else scores
    evaluation = evaluate_scores(
        by_system,
        weight=weight,
        count=count,
        reference_system="reference" if needs_reference else None,
        measures=[measure],
        interval="none",
        compare=False,
    )
    return evaluation.estimates[0].value


def _check_order(measure: Measure, names: Sequence[str]) -> None:
    """Check that the value does not depend on an assumed alphabetical order of the classes.

    An evaluation would report such an order in a note, for which a single value has no room.
    """
    if is_order_assumed(measure, names):
        raise InputError(
            f"{measure} depends on the order of the classes, which is not stated: alphabetical "
            f"order would be {format_names(names)}; state it with labels=[…]"
        )


def _resolve_alias(labels: Sequence[Any] | None, classes: Sequence[Any] | None) -> Any:
    if labels is not None and classes is not None:
        raise InputError("classes= is another name of labels=: give one of them")
    return labels if classes is None else classes


def _positive_scores(
    prediction: Any, classes: BinaryLabels, column_label: str, *, is_probability: bool
) -> Any:
    """Return the scores of the positive class, also from a table with a column for each class."""
    if is_probability:
        return positive_probability(prediction, classes, column_label)
    if is_table(prediction):
        any_class = np.zeros(len(classes.positive), np.intp)
        class_labels = ClassLabels(classes.classes, any_class)
        table = probability_matrix(prediction, class_labels, column_label, distribution=False)[0]
        return table[:, classes.classes.index(classes.names[1])]
    return to_numbers(prediction, column_label)


# --- Several classes, several labels --------------------------------------------------------------

#: What a verb calls that which a measure reads; else it is a score.
_ARGUMENT_NAMES = {"labels": "predicted", "sets": "predicted", "probabilities": "probability"}


def _select_function(
    measure: Measure, truth: Any, prediction: Any, positive: Any, labels: Sequence[Any] | None
) -> str | None:
    """Select the function that evaluates the data.

    ``"multilabel"``, ``"classification"`` for multiclass data, or None if binary data or a
    confusion matrix suffice.
    """
    definition = measure.definition
    if definition.task == "multilabel" or (
        definition.task == "classification" and _has_sets(truth)
    ):
        return "multilabel"
    if definition.task != "classification" or positive is not None or _is_count_measure(measure):
        return None
    if labels is not None and len(labels) > 2:
        return "classification"
    has_class_columns = is_table(prediction) and _n_columns(prediction) > 2
    return (
        "classification"
        if has_class_columns or measure.has_view or definition.reads == "ranks"
        else None
    )


def _is_count_measure(measure: Measure) -> bool:
    """Return whether the measure is defined for confusion matrices of any number of classes."""
    d = measure.definition
    return d.statistic is ConfusionMatrix and (measure.has_view or d.is_multiclass)


def _has_sets(truth: Any) -> bool:
    """Return whether rows have label sets, or a column for each label."""
    if is_distribution(truth) or hasattr(truth, "toarray"):
        return True
    first = truth[0] if isinstance(truth, list | tuple) and truth else None
    return isinstance(first, set | frozenset | list | tuple)


def _find_classes(truth: Any, prediction: Any, labels: Sequence[Any] | None) -> ClassLabels:
    """Return the classes of truth and predictions.

    If there is only one class, a second class without rows is added, as in :func:`encode_binary`,
    because measures need at least two classes.
    """
    classes = encode_classes(truth, labels, other_columns={"predicted": prediction})
    if labels is not None or len(classes.names) > 1:
        return classes
    [name] = classes.names
    names = sort_labels([name, paired_label(name) or f"not {name}"])
    return ClassLabels(tuple(names), np.full(len(classes.codes), names.index(name), np.intp))


def _n_columns(table: Any) -> int:
    """Return the number of columns of a table."""
    return len(column_names(table)) or int(np.shape(table)[-1])


def _function_value(
    verb_name: str, measure: Measure, truth: Any, prediction: Any, options: dict[str, Any]
) -> float:
    """Compute the value with the evaluation function of that name."""
    from calipers.evaluate.classification import classification
    from calipers.evaluate.multilabel import multilabel

    output = {_ARGUMENT_NAMES.get(measure.definition.reads or "", "score"): prediction}
    verb = multilabel if verb_name == "multilabel" else classification
    [estimate] = verb(truth, **output, measures=[measure], interval="none", curves=False, **options)
    return estimate.value


def _cluster_value(measure: Measure, first: Any, labels: Any, weight: Any, count: Any) -> float:
    """Compute the value from the clusters and the true classes, or the points."""
    from calipers.evaluate.clustering import clustering

    if weight is not None:
        raise InputError(f"{measure} is a measure of points, which have no weight=")
    features, truth = (None, first) if measure.definition.reads == "partitions" else (first, None)
    [estimate] = clustering(
        features, labels, truth, count=count, measures=[measure], interval="none"
    )
    return estimate.value


def _regression_value(
    measure: Measure, truth: Any, prediction: Any, weight: Any, count: Any
) -> float:
    """Compute the value from point predictions, quantiles or members of an ensemble."""
    if measure.has_view or n_columns(truth) > 1:
        return _multioutput_value(measure, truth, prediction, weight, count)
    target = to_quantities(truth, "truth", copy=False)
    repeats = RowRepeats.from_counts(count, len(target))
    row_options = repeats.check_weights(weight), Settings()
    system: RegressionOutput | QuantileOutput
    if measure.definition.reads == "quantiles":
        levels, values = to_quantiles(prediction, "quantiles", len(target))
        system = QuantileOutput("quantiles", repeats(target), levels, repeats(values), *row_options)
    elif measure.definition.reads == "ensembles":
        members = to_members(prediction, "ensemble", len(target))
        rows = EnsembleRows.from_members(repeats(members))
        system = EnsembleOutput("ensemble", repeats(target), rows.levels, rows.values, *row_options)
    else:
        predicted = to_quantities(prediction, "predicted", copy=False)
        check_length(predicted, len(target), "predicted")
        system = RegressionOutput("predicted", repeats(target), repeats(predicted), *row_options)
    system.check_measure(measure)
    statistic = system.statistic(measure)
    assert statistic is not None
    return float(measure.apply(statistic))


def _multioutput_value(
    measure: Measure, truth: Any, prediction: Any, weight: Any, count: Any
) -> float:
    """Compute the value for several outputs."""
    from calipers.evaluate.regression import regression

    options = {"weight": weight, "count": count, "interval": "none", "curves": False}
    evaluation = regression(truth, prediction, measures=[measure], **options)
    if len(evaluation.estimates) > 1:
        raise InputError(f"{measure} has a value for each output: ask for macro-{measure}")
    return evaluation.estimates[0].value
