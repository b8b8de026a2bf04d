"""Operating points: which threshold to use, and what it will be worth on other rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from calipers.data.errors import InputError
from calipers.evaluation.arguments import validate_arguments
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
    """The threshold that a rule chooses, and every measure of counts there.

    Parameters
    ----------
    truth, score, positive, weight, count, cluster
        As :func:`calipers.classification` takes them; or, as ``truth``, an evaluation that it made
        of two classes from scores or probabilities.
    rule
        ``"youden"``, ``"closest"`` (to FPR 0 and recall 1), ``"cost"``, or any other measure of
        counts, such as ``"F2"``, ``"MCC"``, ``"accuracy"`` or
        ``"sens-spec(sensitivity_share=0.7)"``: the threshold of its best value.
        ``"specificity>=0.9"`` is the one of the best recall with such a specificity,
        ``"recall>=0.9"`` the reverse; ``"F1 where recall>=0.8 & precision>=0.5"`` says what is to
        be best. ``"recall@precision=0.9"`` and its like are read off the scores. Of several
        thresholds that are equally good, the highest.
    system
        Which system of an evaluation of several; all that have scores unless one is named.
    prevalence
        The share of positives where the system will be used: PPV and NPV there are added, and
        costs are expected there.
    costs
        What a false positive and a false negative cost, for the rule ``"cost"``.
    measures
        Measures of counts; the usual ones if none are named.
    interval, level, n_resamples, seed
        See the documentation on inference.

    Returns
    -------
    Evaluation
        Its first row is the threshold. Intervals of the others take the threshold as given. Each
        estimate has ``out_of_bag``, the value that the rule gets on rows it did not see, and
        ``optimism``, by how much ``value`` exceeds it.

    Raises
    ------
    InputError
        For a rule that no threshold satisfies, or that is none, and for what
        :func:`calipers.classification` refuses.

    Examples
    --------
    >>> import calipers as cal
    >>> point = cal.operating_point([0, 0, 1, 1, 1], [0.1, 0.4, 0.35, 0.6, 0.8], rule="accuracy")
    >>> point["threshold"].value, point["accuracy"].value
    (0.6, 0.8)
    """
    from calipers.evaluate.classification import classification
    from calipers.evaluation.problems.two_classes import OF_COUNTS

    if isinstance(truth, Evaluation):
        given = _system_columns(truth, system)
    else:
        if score is None:
            raise InputError("an operating point needs scores")
        given = {
            "truth": truth,
            "score": score,
            "positive": positive,
            "weight": weight,
            "count": count,
            "cluster": cluster,
        }
    defaults: dict[str, Any] = {} if prevalence is None else {"prevalence": prevalence}
    if costs is not None:
        defaults |= {"cost_fp": float(costs[0]), "cost_fn": float(costs[1])}
    chosen = ThresholdRule.parse(rule, defaults)
    if measures is None:
        own = chosen.measure.definition.statistic is ConfusionMatrix
        measures = [*([chosen.measure] if own else []), *(b.measure for b in chosen.bounds)]
        measures += [parse(name, "counts") for name in OF_COUNTS]
        if prevalence is not None:
            places = ("precision@prevalence", "NPV@prevalence")
            measures += [parse(f"{name}={prevalence}", "counts") for name in places]
    return classification(
        **given,
        threshold=chosen,
        measures=measures,
        curves=False,
        interval=interval,
        level=level,
        n_resamples=n_resamples,
        seed=seed,
    )


def _system_columns(evaluation: Evaluation, name: str | None) -> dict[str, Any]:
    """The columns of a system of an evaluation, or of all that have scores."""
    systems: Mapping[str, Any] = getattr(evaluation.sources, "by_name", {})
    if name is not None and systems and name not in systems:
        raise InputError(f"there is no system {name!r}, only {', '.join(systems)}")
    asked = systems.values() if name is None else [systems[name]] if systems else []
    scored = [one for one in asked if getattr(one, "score", None) is not None]
    if not scored:
        raise InputError("an operating point needs an evaluation of two classes, made from scores")
    one = scored[0]
    names = np.array(one.labels.names)
    return {
        "truth": names[one.labels.positive.astype(np.intp)],
        "positive": one.labels.names[1],
        "score": {each.name: each.score for each in scored},
        "weight": one.weight,
        "cluster": None if one.clusters is None else one.clusters.code,
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
    """Which scores rule a row in, which rule it out, and which do neither.

    The rule-in region is the largest with at least that ``ppv`` and ``specificity``, the rule-out
    region the largest with at least that ``npv`` and ``sensitivity``; a bound left away does not
    count, and a region without bounds is left out.

    Parameters
    ----------
    truth, score, system
        As :func:`operating_point` takes them; of one system.
    ppv, specificity, npv, sensitivity
        The bounds.
    prevalence
        The share of positives where the system will be used, for ``ppv`` and ``npv``.
    positive, weight, count, cluster, measures, interval, level, n_resamples, seed
        As for :func:`operating_point`.

    Raises
    ------
    InputError
        For no bound at all, and for what :func:`operating_point` refuses.

    Examples
    --------
    >>> truth, score = [0, 0, 0, 1, 0, 1, 1, 1], [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8]
    >>> regions = rule_in_rule_out(truth, score, ppv=0.9, npv=0.9)
    >>> regions.rule_in, regions.rule_out, regions.shares["open"]
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
    at = "" if prevalence is None else f"@prevalence={prevalence}"
    bounds = {
        "recall": {f"precision{at}": ppv, "specificity": specificity},
        "specificity": {f"NPV{at}": npv, "recall": sensitivity},
    }
    made: list[Evaluation | None] = []
    for best, of in bounds.items():
        wanted = [f"{name}>={value}" for name, value in of.items() if value is not None]
        rule = f"{best} where {' & '.join(wanted)}"
        point: dict[str, Any] = {
            "rule": rule,
            "system": system,
            "prevalence": prevalence,
            **options,
        }
        try:
            made.append(operating_point(truth, score, **point) if wanted else None)
        except NoThresholdError:
            made.append(None)
    if all(value is None for of in bounds.values() for value in of.values()):
        raise InputError("no bound was given: ppv=, specificity=, npv= or sensitivity=")
    ruling_in, ruling_out = made
    rule_in, rule_out = (float("nan") if e is None else e["threshold"].value for e in made)
    shares, positives = _region_proportions(ruling_in or ruling_out, rule_in, rule_out)
    return DecisionRegions(rule_in, rule_out, ruling_in, ruling_out, shares, positives)


def _region_proportions(
    evaluation: Evaluation | None, rule_in: float, rule_out: float
) -> tuple[dict[str, float], dict[str, float]]:
    """Of all rows in the regions, and of positives in each."""
    if evaluation is None:
        return {"in": 0.0, "open": 1.0, "out": 0.0}, {}
    (system,) = evaluation.sources.by_name.values()
    table: ScoreTable = system.table
    above, below = table.scores >= rule_in, table.scores < rule_out
    regions = {"in": above, "open": ~(above | below), "out": below & ~above}
    positive = {name: float(table.positive[of].sum()) for name, of in regions.items()}
    rows = {name: positive[name] + float(table.negative[of].sum()) for name, of in regions.items()}
    total = sum(rows.values())
    nan = float("nan")
    return (
        {name: weight / total for name, weight in rows.items()},
        {name: positive[name] / weight if weight else nan for name, weight in rows.items()},
    )
