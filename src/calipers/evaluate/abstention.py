"""How well a confidence tells when to abstain: the area under the abstention curve (nAUC)."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from calipers.data.arrays import from_arrow, to_numbers
from calipers.data.errors import InputError
from calipers.data.trec import TrecSource, read_ordered_run
from calipers.data.trec_tables import decode_id
from calipers.evaluate.assumptions import parse_measure
from calipers.evaluation.arguments import validate_arguments
from calipers.evaluation.options import make_settings
from calipers.evaluation.topic_scores import used_unit_columns
from calipers.inference.intervals import Interval, no_interval, percentile
from calipers.inference.resampling import poisson_weights
from calipers.report.safe_names import join_words
from calipers.results import Estimate, Evaluation
from calipers.statistics import FloatArray

#: Confidence in a ranking by its scores, as MTEB names it.
CONFIDENCES = ("max", "std", "diff1")
#: Abstention rates of the curve, from none to nine in ten.
_RATES = np.linspace(0, 0.9, 10)
_MTEB_NAME = re.compile(r"nauc_(.+)_(max|std|diff1)", re.IGNORECASE)


@validate_arguments
def abstention(
    evaluation: Evaluation,
    confidence: Any,
    measure: str,
    *,
    system: str | None = None,
    score: str = "max",
    level: float | None = None,
    n_resamples: int = 2000,
    seed: int = 0,
) -> Estimate:
    """Compute how well a confidence tells the topics on which a system had better abstain.

    It is the normalized area under the abstention curve (nAUC): the mean of a measure over the
    topics that are left once those of the lowest confidence are set aside, for abstention rates
    from 0 to 0.9. It is 1 if the confidence orders the topics as the measure does, 0 if the mean
    does not depend on the rate, and negative if the system is worse where it is more confident.

    Parameters
    ----------
    evaluation : Evaluation
        Evaluation with values per topic, group or case.
    confidence : run, or dict of float
        The run that was evaluated, in a form that :func:`calipers.retrieval` accepts, whose scores
        are the confidence; or a dict from topics to the confidence in each.
    measure : str
        Measure of the evaluation that is a mean over topics. A name of MTEB, as
        ``nauc_ndcg_at_10_max``, names the measure and ``score``.
    system : str, optional
        System to evaluate; required if the evaluation has several.
    score : {'max', 'std', 'diff1'}, default='max'
        Confidence in a ranking: its highest score, the standard deviation of its scores, or the
        difference of the two highest ones (0 for a single document). Nothing retrieved is the
        lowest confidence.
    level : float, optional
        Confidence level of the interval; by default that of ``evaluation``.
    n_resamples : int, default=2000
        Number of bootstrap replicates.
    seed : int, default=0
        Seed of the random number generator.

    Returns
    -------
    Estimate
        The area, at most 1, with an interval. It is undefined if all topics have the same value.

    Raises
    ------
    InputError
        If a topic has no confidence, or if the measure is not a mean, has no direction, or is not
        in the evaluation.

    See Also
    --------
    calipers.retrieval : Evaluation of runs.

    Notes
    -----
    With A the mean over the rates (trapezoidal rule) of the curve of the confidence, A* of the one
    that abstains on the lowest values first, and m the mean over all topics, it is
    (A − m)/(A* − m). Topics of equal confidence share their mean, while MTEB takes them in their
    order in the run. Topics without a value do not count.

    The interval is the percentile interval over bootstrap replicates of the topics.

    References
    ----------
    Gisserot-Boukhlef, Faysse, Malherbe, Hudelot and Colombo (2024). Towards trustworthy reranking:
    a simple yet effective abstention mechanism.

    Examples
    --------
    >>> import calipers as cal
    >>> qrels = {str(t): {"a": 1} for t in range(8)}
    >>> run = {str(t): {"a": t, "b": 3.5} for t in range(8)}
    >>> ev = cal.retrieval(qrels, run, measures="RR")
    >>> cal.abstention(ev, run, "RR").value
    1.0
    >>> cal.abstention(ev, run, "RR", score="diff1").value
    0.0
    """
    mteb_name = _MTEB_NAME.fullmatch(measure)
    if mteb_name:
        measure, score = mteb_name[1], mteb_name[2].lower()
    if score not in CONFIDENCES:
        raise InputError(f"score is {score!r}, expected one of {', '.join(CONFIDENCES)}")
    settings = make_settings(
        "auto", evaluation.level if level is None else level, n_resamples, seed
    )
    topics, unit, values = _topic_values(evaluation, measure, system)
    defined_mask = ~np.isnan(values)
    order = _confidences(confidence, score, topics)[defined_mask]
    values = values[defined_mask]
    n = len(values)
    is_defined = n > 0 and bool((values != values[0]).any())
    value, interval = np.nan, no_interval("none", "undefined_value")
    if is_defined:
        value = float(_normalized_area(order, values, np.ones((1, n)))[0])
        interval = _bootstrap_interval(order, values, settings)
    name = evaluation.canonical_name(measure)
    has_run = not _is_by_topic(confidence)
    return Estimate(
        measure=f"nAUC({name}, {score})" if has_run else f"nAUC({name})",
        value=value,
        low=interval.low,
        high=interval.high,
        level=settings.level,
        method=interval.method,
        n=n if is_defined else 0,
        n_total=len(topics),
        unit=unit,
        undefined={} if is_defined else {"all_tied": len(topics)},
        interval_reason=interval.reason,
        system=_system_name(evaluation, system),
    )


def _bootstrap_interval(order: FloatArray, values: FloatArray, settings: Any) -> Interval:
    batches = poisson_weights(len(values), None, settings)
    replicates = [_normalized_area(order, values, weight) for weight in batches]
    return percentile(np.concatenate(replicates), settings.level, "bootstrap, percentile")


def _normalized_area(order: FloatArray, values: FloatArray, weight: FloatArray) -> FloatArray:
    """Compute the nAUC of each row of weights (B, topics)."""
    # As MTEB rounds the number of topics to abstain on; one topic is always left.
    n = len(values)
    retained = np.array([n - min(round(rate * n), n - 1) for rate in _RATES.tolist()]) / n
    curve, best = (_abstention_curve(x, values, weight, retained) for x in (order, values))
    trapezoid = np.full(len(_RATES), 1 / (len(_RATES) - 1))
    trapezoid[[0, -1]] /= 2
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(((curve - curve[:, :1]) @ trapezoid) / ((best - best[:, :1]) @ trapezoid))


def _abstention_curve(
    order: FloatArray, values: FloatArray, weight: FloatArray, retained: FloatArray
) -> FloatArray:
    """Compute the mean of the retained proportions of the topics, of the highest order, (B, rates).

    Of topics of equal order, a proportion is retained of each.
    """
    descending = np.argsort(-order, kind="stable")
    ordered = order[descending]
    start = np.flatnonzero(np.append(True, ordered[1:] != ordered[:-1]))
    zero = np.zeros((len(weight), 1))
    sums = [
        np.hstack([zero, np.cumsum(np.add.reduceat(x[:, descending], start, axis=1), axis=1)])
        for x in (weight, weight * values)
    ]
    with np.errstate(divide="ignore", invalid="ignore"):  # a replicate may be without weight
        return np.array(
            [
                np.interp(retained * total[-1], total, gain) / (retained * total[-1])
                for total, gain in zip(*sums, strict=True)
            ]
        )


def _system_name(evaluation: Evaluation, system: str | None) -> str:
    if system is None and len(evaluation.systems) > 1:
        raise InputError(f"system: expected one of {join_words(evaluation.systems)}")
    if system is not None and system not in evaluation.systems:
        raise InputError(f"system is {system!r}, expected one of {join_words(evaluation.systems)}")
    return evaluation.systems[0] if system is None else system


def _topic_values(
    evaluation: Evaluation, measure: str, system: str | None
) -> tuple[tuple[str, ...], str, FloatArray]:
    """Return topics, their unit, and the values of the system, signed so that higher is better."""
    if evaluation.per_unit is None:
        raise InputError("evaluation: has no values per topic")
    unit_columns = used_unit_columns(evaluation)
    if unit_columns:
        raise InputError(
            "abstention counts every topic once and takes them as independent, and these have "
            f"{join_words(unit_columns)}"
        )
    by_measure = evaluation.per_unit.values[_system_name(evaluation, system)]
    name = evaluation.canonical_name(measure)
    if name not in by_measure:
        raise InputError(f"measure: {measure!r} is not one of {join_words(list(by_measure))}")
    definition = parse_measure(name, prefer=evaluation.task).definition
    if definition.summary != "mean" or definition.higher_is_better is None:
        raise InputError(f"measure: {name} is not a mean over topics of which one end is better")
    sign = 1 if definition.higher_is_better else -1
    values = np.asarray(by_measure[name], np.float64)
    return tuple(map(str, evaluation.per_unit.ids)), evaluation.per_unit.unit, sign * values


def _is_by_topic(confidence: Any) -> bool:
    """Return whether confidences are numbers by topic, rather than a run."""
    return isinstance(confidence, Mapping) and np.isscalar(next(iter(confidence.values()), 0.0))


def _confidences(confidence: Any, score: str, topics: tuple[str, ...]) -> FloatArray:
    """Return the confidence in each topic."""
    if _is_by_topic(confidence):
        numbers = to_numbers(list(confidence.values()), "confidence")
        by_topic = dict(zip(map(str, confidence), numbers.tolist(), strict=True))
        lacking = [topic for topic in topics if topic not in by_topic]
        if lacking:
            raise InputError(f"confidence: has no entry for {lacking[0]!r}")
    else:
        by_topic = _score_confidences(confidence, score)
        if by_topic.keys().isdisjoint(topics):
            raise InputError("confidence: is a run of other topics than those of the evaluation")
    order = np.array([by_topic.get(topic, -np.inf) for topic in topics], np.float64)
    unordered = np.flatnonzero(np.isnan(order))
    if len(unordered):
        raise InputError(f"confidence: is not a number for {topics[unordered[0]]!r}")
    return order


def _score_confidences(run: TrecSource, score: str) -> dict[str, float]:
    """Return the confidence in each topic of a run by its scores."""
    table, _, _ = read_ordered_run("confidence", run, "score")
    encoded = table.column("topic").combine_chunks().dictionary_encode()
    names = [decode_id(topic) for topic in encoded.dictionary.to_pylist()]
    topic, scores = from_arrow(encoded.indices), from_arrow(table.column("score"))
    order = np.lexsort((-scores, topic))
    groups = np.split(scores[order], np.cumsum(np.bincount(topic, minlength=len(names)))[:-1])
    compute: Callable[[FloatArray], Any] = {
        "max": lambda s: s[0],
        "std": lambda s: float(np.std(s)),
        "diff1": lambda s: s[0] - s[1] if len(s) > 1 else 0.0,
    }[score]
    with np.errstate(invalid="ignore"):  # of infinite scores
        return {name: float(compute(s)) for name, s in zip(names, groups, strict=True)}
