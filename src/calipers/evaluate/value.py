"""One value straight from arrays: what calling a measure does."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from calipers.data.arrays import (
    as_numbers,
    as_probabilities,
    as_quantities,
    same_length,
)
from calipers.data.classes import classes
from calipers.data.counts import Repeats
from calipers.data.errors import InputError
from calipers.data.groups import judge_groups, read_groups
from calipers.data.outputs import width
from calipers.data.quantiles import as_quantiles
from calipers.data.sampled import read_sampled
from calipers.data.trec import read_qrels, read_run
from calipers.data.two_classes import predictions, two_classes
from calipers.evaluate.arguments import verb
from calipers.evaluate.raters import agreement
from calipers.evaluate.soft import distributions
from calipers.inference.settings import Settings
from calipers.inference.summaries import Summary
from calipers.measures import Measure
from calipers.statistics import (
    ConfusionMatrix,
    GroupedRankings,
    JudgedRankings,
    Moments,
    SampledRankings,
    ScoreTable,
    confusion_matrix,
)
from calipers.systems.numbers import Predictions
from calipers.systems.quantiles import Quantiles


@functools.partial(verb, called="measure")
def value_of(
    measure: Measure,
    truth: Any,
    prediction: Any = None,
    *,
    weight: Any = None,
    count: Any = None,
    positive: Any = None,
) -> float:
    """The value of a measure, without interval; the mean over topics for retrieval.

    >>> from calipers.measures import parse
    >>> parse("AUC")([0, 0, 1, 1], [0.1, 0.4, 0.35, 0.8])
    0.75
    """
    definition = measure.definition
    if prediction is None:
        raise InputError(f"{measure} takes two columns: the truth, and what is said of it")
    if issubclass(definition.on, JudgedRankings | GroupedRankings):
        if weight is not None or count is not None:
            raise InputError(f"{measure} is over topics, which have no weight= and no count=")
        statistic: Any
        if definition.on is JudgedRankings:
            run = read_run("run", prediction, read_qrels(truth))
            if measure.needs_order and not run.ordered:
                raise InputError(
                    f"run: {measure} looks at an order, which sets of documents have not"
                )
            statistic = JudgedRankings(**run.arrays)
        else:
            sampled = definition.on is SampledRankings
            groups = read_sampled(truth)[0] if sampled else read_groups(truth)
            statistic = definition.on(**judge_groups("run", prediction, groups).arrays)
        weigh = definition.weight
        weights = None if weigh is None else np.asarray(weigh(statistic, measure.parameters))
        return Summary(definition.summary).value(measure.apply(statistic), weights)
    if definition.reads in ("numbers", "quantiles"):
        return _of_numbers(measure, truth, prediction, weight, count)
    if definition.reads == "distributions":
        _, target, said = distributions(truth, {"": prediction})
        repeats = Repeats.of(count, len(target))
        loss = repeats(measure.losses(target, said[""]))
        return float(measure.apply(Moments.from_rows(loss, repeats.weights(weight))))
    if definition.on is ConfusionMatrix and (measure.viewed or definition.any_classes):
        found = classes(truth, also={"predicted": prediction})
        called = found.codes_of(prediction, "predicted")
        repeats = Repeats.of(count, len(found.codes))
        codes = repeats(found.codes), repeats(called)
        whole = confusion_matrix(*codes, found.names, repeats.weights(weight))
        return float(measure.apply(whole))
    if definition.reads == "ratings":
        raters = {"first": truth, "second": prediction}
        if weight is not None or count is not None:
            raise InputError(f"{measure} is over items, which have no weight= and no count=")
        return agreement(raters, measures=[measure], interval="none").estimates[0].value
    if definition.task == "clustering":
        return _of_clusters(measure, truth, prediction, weight, count)
    labels = two_classes(truth, positive)
    repeats = Repeats.of(count, len(labels.positive))
    weights, truth = repeats.weights(weight), repeats(labels.positive)
    if definition.on is ConfusionMatrix:
        positives = repeats(predictions(prediction, labels, "predicted"))
        matrix = ConfusionMatrix.from_codes(truth, positives, labels.names, weights)
        return float(measure.apply(matrix))
    if definition.on is ScoreTable:
        probable = definition.reads == "probabilities"
        what = "probability" if probable else "score"
        score = (as_probabilities if probable else as_numbers)(prediction, what)
        same_length(score, len(labels.positive), what)
        return float(measure.apply(ScoreTable.from_rows(truth, repeats(score), weights)))
    probability = as_probabilities(prediction, "probability").astype(np.float64)
    same_length(probability, len(labels.positive), "probability")
    loss = repeats(measure.losses(labels.positive.astype(np.float64), probability))
    return float(measure.apply(Moments.from_rows(loss, weights)))


def _of_clusters(measure: Measure, first: Any, labels: Any, weight: Any, count: Any) -> float:
    """Of the true classes, or else the points, and the clusters."""
    from calipers.evaluate.clustering import clustering

    if weight is not None:
        raise InputError(f"{measure} is of points, which have no weight=")
    features, truth = (None, first) if measure.definition.reads == "partitions" else (first, None)
    [found] = clustering(features, labels, truth, count=count, measures=[measure], interval="none")
    return found.value


def _of_numbers(measure: Measure, truth: Any, prediction: Any, weight: Any, count: Any) -> float:
    """Of predicted numbers, or of quantiles."""
    if measure.viewed or width(truth) > 1:
        return _of_outputs(measure, truth, prediction, weight, count)
    target = as_quantities(truth, "truth")
    repeats = Repeats.of(count, len(target))
    rest = repeats.weights(weight), Settings()
    system: Predictions | Quantiles
    if measure.definition.reads == "quantiles":
        levels, values = as_quantiles(prediction, "quantiles", len(target))
        system = Quantiles("quantiles", repeats(target), levels, repeats(values), *rest)
        system.check_one(measure)
    else:
        predicted = as_quantities(prediction, "predicted")
        same_length(predicted, len(target), "predicted")
        system = Predictions("predicted", repeats(target), repeats(predicted), *rest)
    return float(measure.apply(system.over(measure).statistic))


def _of_outputs(measure: Measure, truth: Any, prediction: Any, weight: Any, count: Any) -> float:
    """Of several numbers a row."""
    from calipers.evaluate.regression import regression

    given = {"weight": weight, "count": count, "interval": "none", "curves": False}
    found = regression(truth, prediction, measures=[measure], **given)
    if len(found.estimates) > 1:
        raise InputError(f"{measure} has a value for each output: ask for macro-{measure}")
    return found.estimates[0].value
