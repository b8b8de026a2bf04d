"""Operating points: choice of a threshold, and its performance on other rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from calipers.data.errors import InputError
from calipers.evaluation.arguments import check_columns_of_evaluation, validate_arguments
from calipers.evaluation.options import MeasureNames
from calipers.measures import parse
from calipers.results import DecisionRegions, Evaluation
from calipers.statistics import ConfusionMatrix, ScoreTable
from calipers.systems.thresholds import NoThresholdError, ThresholdRule


@validate_arguments
def operating_point(
    truth: Any,
    score: Any = None,
    *,
    rule: str = "youden",
    system: str | None = None,
    positive: Any = None,
    weight: Any = None,
    count: Any = None,
    cluster: Any = None,
    prevalence: float | None = None,
    costs: tuple[float, float] | None = None,
    measures: MeasureNames | None = None,
    interval: str | Sequence[str] = "auto",
    level: float = 0.95,
    n_resamples: int = 2000,
    seed: int = 0,
) -> Evaluation:
    """Choose a threshold by a rule, and evaluate the confusion matrix at this threshold.

    Parameters
    ----------
    truth : array-like of shape (n,), or Evaluation
        True class of each row; or a binary evaluation of scores or probabilities, as returned by
        :func:`calipers.classification`, with which no other columns are given.
    score : array-like of shape (n,), or dict of such, optional
        Scores, higher for the positive class; for several systems a dict from their names to
        columns. Required unless ``truth`` is an evaluation.
    rule : str, default='youden'
        Rule that chooses the threshold: ``"youden"``, ``"closest"`` (to FPR 0 and recall 1),
        ``"cost"``, or any other measure of the confusion matrix, such as ``"F2"``, ``"MCC"``,
        ``"accuracy"`` or ``"generalized-Youden(sensitivity_share=0.7)"``, whose best value is
        chosen.
        ``"specificity>=0.9"`` maximises recall under this constraint, ``"recall>=0.9"``
        specificity; ``"F1 where recall>=0.8 & precision>=0.5"`` names the measure to optimise.
        Measures such as ``"recall@precision=0.9"`` are computed from the scores. The highest of
        several optimal thresholds is chosen.
    system : str, optional
        Name of a system. By default all systems with scores are included.
    positive : label, optional
        Positive class, as in :func:`calipers.classification`.
    weight, count, cluster : array-like of shape (n,), optional
        Weight, frequency weight and cluster of each row, as in :func:`calipers.classification`.
    prevalence : float, optional
        Prevalence in the target population. PPV and NPV at this prevalence are added, and expected
        costs are those at this prevalence.
    costs : tuple of float, optional
        Costs of a false positive and of a false negative, for the rule ``"cost"``.
    measures : str, Measure, or list of such, optional
        Measures of the confusion matrix. By default those of the rule and the default measures.
    interval : str or list of str, default='auto'
        Interval method, as in :func:`calipers.classification`.
    level : float, default=0.95
        Confidence level of the intervals.
    n_resamples : int, default=2000
        Number of bootstrap replicates.
    seed : int, default=0
        Seed of the random number generator.

    Returns
    -------
    Evaluation
        The first row is the threshold; the intervals of all other rows treat the threshold as
        fixed. Each estimate has ``out_of_bag``, the value of the rule on rows that were not used to
        choose the threshold, and ``optimism``, the difference between ``value`` and it.

    Raises
    ------
    InputError
        If the rule cannot be parsed, no threshold satisfies it, or the input is invalid for
        :func:`calipers.classification`.

    See Also
    --------
    rule_in_rule_out : Two thresholds, with an indeterminate region between them.
    calipers.threshold_table : Measures at every threshold.

    Examples
    --------
    >>> import calipers as cal
    >>> point = cal.operating_point([0, 0, 1, 1, 1], [0.1, 0.4, 0.35, 0.6, 0.8], rule="accuracy")
    >>> point["threshold"].value, point["accuracy"].value
    (0.6, 0.8)
    """
    from calipers.evaluate.classification import classification
    from calipers.evaluation.problems.binary import COUNT_MEASURES

    columns: dict[str, Any] = {
        "score": score,
        "positive": positive,
        "weight": weight,
        "count": count,
        "cluster": cluster,
    }
    if isinstance(truth, Evaluation):
        check_columns_of_evaluation(**columns)
        columns = _system_columns(truth, system)
    elif score is None:
        raise InputError("an operating point needs scores")
    else:
        columns["truth"] = truth
        if system is not None:
            scored = classification(**columns, measures=["AUC"], curves=False, interval="none")
            columns = _system_columns(scored, system)
    defaults: dict[str, Any] = {} if prevalence is None else {"prevalence": prevalence}
    if costs is not None:
        defaults |= {"cost_fp": float(costs[0]), "cost_fn": float(costs[1])}
    threshold_rule = ThresholdRule.parse(rule, defaults)
    if measures is None:
        is_count_measure = threshold_rule.measure.definition.statistic is ConfusionMatrix
        measures = [
            *([threshold_rule.measure] if is_count_measure else []),
            *(b.measure for b in threshold_rule.bounds),
        ]
        measures += [parse(name, "counts") for name in COUNT_MEASURES]
        if prevalence is not None:
            adjusted_names = ("precision@prevalence", "NPV@prevalence")
            measures += [parse(f"{name}={prevalence}", "counts") for name in adjusted_names]
    return classification(
        **columns,
        threshold=threshold_rule,
        measures=measures,
        curves=False,
        interval=interval,
        level=level,
        n_resamples=n_resamples,
        seed=seed,
    )


def _system_columns(evaluation: Evaluation, name: str | None) -> dict[str, Any]:
    """Return the columns of a system of an evaluation, or of all systems with scores."""
    systems: Mapping[str, Any] = getattr(evaluation.sources, "systems_by_name", {})
    if name is not None and systems and name not in systems:
        raise InputError(f"there is no system {name!r}, only {', '.join(systems)}")
    candidates = systems.values() if name is None else [systems[name]] if systems else []
    scored = [output for output in candidates if getattr(output, "score", None) is not None]
    if not scored:
        raise InputError("an operating point needs an evaluation of two classes, made from scores")
    output = scored[0]
    names = np.array(output.labels.names)
    return {
        "truth": names[output.labels.positive.astype(np.intp)],
        "positive": output.labels.names[1],
        "score": {scored_output.name: scored_output.score for scored_output in scored},
        "weight": output.weight,
        "cluster": None if output.clusters is None else output.clusters.codes,
        "time": None if output.order is None else output.order.time_index,
    }


@validate_arguments
def rule_in_rule_out(
    truth: Any,
    score: Any = None,
    *,
    ppv: float | None = None,
    specificity: float | None = None,
    npv: float | None = None,
    sensitivity: float | None = None,
    prevalence: float | None = None,
    system: str | None = None,
    positive: Any = None,
    weight: Any = None,
    count: Any = None,
    cluster: Any = None,
    measures: MeasureNames | None = None,
    interval: str | Sequence[str] = "auto",
    level: float = 0.95,
    n_resamples: int = 2000,
    seed: int = 0,
) -> DecisionRegions:
    """Determine the scores that rule a row in or out, and the indeterminate region between.

    The rule-in region is the largest with at least this ``ppv`` and ``specificity``, the rule-out
    region the largest with at least this ``npv`` and ``sensitivity``. Bounds that are None are
    ignored, and a region without bounds is omitted.

    Parameters
    ----------
    truth : array-like of shape (n,), or Evaluation
        True class of each row; or a binary evaluation of scores or probabilities.
    score : array-like of shape (n,), optional
        Scores of one system. Required unless ``truth`` is an evaluation.
    ppv, specificity : float, optional
        Lower bounds for the rule-in region.
    npv, sensitivity : float, optional
        Lower bounds for the rule-out region.
    prevalence : float, optional
        Prevalence in the target population, for ``ppv`` and ``npv``.
    system : str, optional
        Name of the system, if the evaluation has several.
    positive, weight, count, cluster, measures, interval, level, n_resamples, seed : optional
        See :func:`operating_point`.

    Returns
    -------
    DecisionRegions
        Thresholds of both regions, the evaluations at these thresholds, and the proportions of
        rows, and of positives, in the three regions.

    Raises
    ------
    InputError
        If no bound is given, or the input is invalid for :func:`operating_point`.

    See Also
    --------
    operating_point : Choose a single threshold.

    Examples
    --------
    >>> truth, score = [0, 0, 0, 1, 0, 1, 1, 1], [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8]
    >>> regions = rule_in_rule_out(truth, score, ppv=0.9, npv=0.9)
    >>> regions.rule_in, regions.rule_out, regions.proportions["open"]
    (0.6, 0.4, 0.25)
    """
    if isinstance(score, Mapping) and len(score) != 1:
        raise InputError(f"score: holds {len(score)} systems, expected one")
    if isinstance(truth, Evaluation) and system is None and len(truth.systems) > 1:
        first = truth.systems[0]
        raise InputError(f"there are several systems; say which: system={first!r}")
    options: dict[str, Any] = {
        "positive": positive, "weight": weight, "count": count, "cluster": cluster,
        "measures": measures, "interval": interval, "level": level, "n_resamples": n_resamples,
        "seed": seed,
    }  # fmt: skip
    suffix = "" if prevalence is None else f"@prevalence={prevalence}"
    bounds = {
        "recall": {f"precision{suffix}": ppv, "specificity": specificity},
        "specificity": {f"NPV{suffix}": npv, "recall": sensitivity},
    }
    evaluations: list[Evaluation | None] = []
    for objective, min_values in bounds.items():
        conditions = [f"{name}>={value}" for name, value in min_values.items() if value is not None]
        rule = f"{objective} where {' & '.join(conditions)}"
        point: dict[str, Any] = {
            "rule": rule,
            "system": system,
            "prevalence": prevalence,
            **options,
        }
        try:
            evaluations.append(operating_point(truth, score, **point) if conditions else None)
        except NoThresholdError:
            evaluations.append(None)
    if all(value is None for min_values in bounds.values() for value in min_values.values()):
        raise InputError("no bound was given: ppv=, specificity=, npv= or sensitivity=")
    rule_in_evaluation, rule_out_evaluation = evaluations
    rule_in, rule_out = (float("nan") if e is None else e["threshold"].value for e in evaluations)
    proportions, positives = _region_proportions(
        rule_in_evaluation or rule_out_evaluation, rule_in, rule_out
    )
    return DecisionRegions(
        rule_in, rule_out, rule_in_evaluation, rule_out_evaluation, proportions, positives
    )


def _region_proportions(
    evaluation: Evaluation | None, rule_in: float, rule_out: float
) -> tuple[dict[str, float], dict[str, float]]:
    """Return the proportions of rows in the regions, and of positives within each."""
    if evaluation is None:
        return {"in": 0.0, "open": 1.0, "out": 0.0}, {}
    (system,) = evaluation.sources.systems_by_name.values()
    table: ScoreTable = system.score_table
    rule_in_mask, rule_out_mask = table.scores >= rule_in, table.scores < rule_out
    regions = {
        "in": rule_in_mask,
        "open": ~(rule_in_mask | rule_out_mask),
        "out": rule_out_mask & ~rule_in_mask,
    }
    positive = {name: float(table.positive[mask].sum()) for name, mask in regions.items()}
    rows = {
        name: positive[name] + float(table.negative[mask].sum()) for name, mask in regions.items()
    }
    total = sum(rows.values())
    nan = float("nan")
    return (
        {name: weight / total for name, weight in rows.items()},
        {name: positive[name] / weight if weight else nan for name, weight in rows.items()},
    )
