"""Fairness between groups: disparities of measures over the slices of an evaluation."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import product
from typing import Any

import numpy as np

from calipers.data.errors import InputError, did_you_mean
from calipers.evaluation.arguments import validate_arguments
from calipers.evaluation.options import check_level
from calipers.evaluation.shared import expand_defaults
from calipers.evaluation.slice_definitions import MISSING_SLICE
from calipers.inference import group_disparities, method_selection
from calipers.inference.group_disparities import GroupEstimates
from calipers.inference.intervals import Interval
from calipers.inference.point_estimate import PointEstimate
from calipers.measures import TASKS, Measure, UnknownMeasureError, parse
from calipers.results import Disparity, Estimate, Evaluation, Fairness

#: Criteria of fairness by the measures that have to be equal in all groups.
CRITERIA: Mapping[str, tuple[str, ...]] = {
    "demographic-parity": ("detection-prevalence",),
    "equalized-odds": ("recall", "FPR"),
    "equal-opportunity": ("recall",),
}
#: What is computed over the groups.
STATISTICS = ("difference", "ratio", "group-min", "group-max")
_NAME = re.compile(rf"(.+?)[-_]({'|'.join(s.replace('-', '[-_]') for s in STATISTICS)})")


@dataclass(frozen=True)
class _Request:
    """A statistic over the groups of one or several measures."""

    name: str
    measures: tuple[Measure, ...]
    statistic: str


@validate_arguments
def fairness(
    evaluation: Evaluation,
    *,
    measures: str | Sequence[str] | None = None,
    level: float | None = None,
) -> Fairness:
    """Compute disparities of measures between the groups that ``slices`` of an evaluation define.

    The largest difference between groups is above 0 by chance, the more so the more groups there
    are. Intervals are joint: the lower limit of a difference is above 0 only if two groups differ
    by limits that hold for all pairs of groups.

    Parameters
    ----------
    evaluation : Evaluation
        Evaluation with its data, and with ``slices=`` as the sensitive features.
    measures : str or sequence of str, optional
        Names of disparities: a criterion (``demographic-parity``, ``equalized-odds``,
        ``equal-opportunity``) or any measure of the task, followed by ``-difference`` (largest
        minus smallest value of the groups), ``-ratio`` (smallest over largest), ``-group-min`` or
        ``-group-max``. The names of fairlearn, as ``equalized_odds_difference``, mean the same. By
        default (``"default"`` among others) the differences and ratios of the three criteria for
        two classes, and the differences of the measures of the evaluation otherwise.
    level : float, optional
        Confidence level; by default that of the evaluation.

    Returns
    -------
    Fairness
        The disparities by column, system and measure. Rows, or topics, without a value of the
        column are in no group.

    Raises
    ------
    InputError
        If the evaluation has no data or no slices, if a measure is unknown or needs another output
        of the systems, or if a column has one group.

    See Also
    --------
    calipers.classification : Its ``slices`` has each group against all other rows.

    Notes
    -----
    Demographic parity compares selection rates, the proportions of rows that are predicted
    positive; equal opportunity recalls; and equalized odds recalls and false positive rates, of
    which the worse disparity counts (Agarwal and others 2018; Hardt, Price and Srebro 2016).

    Limits of a difference combine those of the two groups (MOVER; Zou and Donner 2008). The upper
    one is the largest of all pairs. The lower one is adjusted for the number of pairs by
    Bonferroni, and at least 0. If clusters have rows in several groups, limits hold whatever the
    dependence.

    References
    ----------
    Agarwal, Beygelzimer, Dudík, Langford and Wallach (2018). A reductions approach to fair
    classification.
    Hardt, Price and Srebro (2016). Equality of opportunity in supervised learning.
    Zou and Donner (2008). Construction of confidence limits about effect measures: a general
    approach.

    Examples
    --------
    >>> import calipers as cal
    >>> truth = [1, 1, 1, 1, 0, 0, 0, 0] * 25
    >>> predicted = [1, 1, 1, 0, 0, 0, 0, 1] * 10 + [1, 1, 0, 0, 0, 0, 0, 0] * 15
    >>> site = ["north"] * 80 + ["south"] * 120
    >>> ev = cal.classification(truth, predicted, slices={"site": site}, measures="recall")
    >>> odds = cal.fairness(ev)["equalized-odds-difference"]
    >>> round(odds.estimate.value, 2), round(odds.estimate.low, 2), odds.lowest, odds.highest
    (0.25, 0.09, 'south', 'north')
    """
    sources = getattr(evaluation, "sources", None)
    if sources is None:
        raise InputError("evaluation: has no data; expected one computed from rows")
    if not hasattr(sources, "iterate_slices"):
        raise InputError(f"evaluation: is of {evaluation.task}, expected one with slices=")
    if not sources.slice_definitions:
        raise InputError("evaluation: has no groups; expected one with slices=, such as a column")
    level = evaluation.level if level is None else level
    check_level(level)
    requests = _read_requests(evaluation, measures)
    needed = list(dict.fromkeys(m for request in requests for m in request.measures))
    for output, measure in product(getattr(sources, "systems_by_name", {}).values(), needed):
        output.check_measure(measure)
    groups: dict[str, dict[str, Any]] = {}
    for definition, name, sample in sources.iterate_slices():
        if name != MISSING_SLICE:
            groups.setdefault(definition.column, {})[name] = sample
    compares = any(not request.statistic.startswith("group") for request in requests)
    for column, samples in groups.items():
        if compares and len(samples) < 2:
            raise InputError(
                f"slices: {column} has one group, {next(iter(samples))!r}; expected more"
            )
    rows = [
        disparity
        for column, samples in groups.items()
        for system in sources.systems
        for disparity in _disparities(
            column, samples, system, requests, needed, level, _are_independent(sources, samples)
        )
    ]
    return Fairness(tuple(rows), level, dict(evaluation.provenance))


def _read_requests(evaluation: Evaluation, measures: str | Sequence[str] | None) -> list[_Request]:
    sources = evaluation.sources
    is_binary = evaluation.task == "classification" and sources.problem.kind == "two classes"
    defaults = (
        [f"{c}-{statistic}" for c in CRITERIA for statistic in ("difference", "ratio")]
        if is_binary
        else [f"{m}-difference" for m in sources.measures if m.definition.summary != "sum"]
    )
    if measures is not None and not measures:
        raise InputError("measures: there is none, expected at least one disparity")
    requests = []
    for name in dict.fromkeys(expand_defaults(measures, defaults)):
        match = _NAME.fullmatch(str(name))
        if match is None:
            raise InputError(
                f"measures: {name!r} is not a disparity; expected a measure or criterion followed "
                "by " + ", ".join(f"-{statistic}" for statistic in STATISTICS)
            )
        base, statistic = match[1].replace("_", "-"), match[2].replace("_", "-")
        if base in CRITERIA:
            if not is_binary:
                raise InputError(f"measures: {name} is of two classes; name measures instead")
            if len(CRITERIA[base]) > 1 and statistic.startswith("group"):
                raise InputError(f"measures: {name}: {base} is of two measures; name one of them")
            parsed = tuple(parse(m, TASKS["classification"]) for m in CRITERIA[base])
        else:
            base, parsed = _parse_measure(evaluation, match[1])
            if parsed[0].definition.summary == "sum":
                raise InputError(
                    f"measures: {base} is a total, which grows with the size of a group"
                )
        requests.append(_Request(f"{base}-{statistic}", parsed, statistic))
    return requests


def _parse_measure(evaluation: Evaluation, name: str) -> tuple[str, tuple[Measure, ...]]:
    canonical = evaluation.canonical_name(name)
    for measure in evaluation.sources.measures:
        if str(measure) == canonical:
            return canonical, (measure,)
    try:
        measure = parse(name, TASKS[evaluation.task])
    except UnknownMeasureError as error:
        hint = did_you_mean(name, [*CRITERIA, *map(str, evaluation.sources.measures)])
        raise InputError(f"measures: {error}; of criteria and measures here {hint}") from None
    return str(measure), (measure,)


def _are_independent(sources: Any, samples: Mapping[str, Any]) -> bool:
    """Return whether no cluster has rows in several groups, as far as is known."""
    if not sources.is_clustered:
        return True
    counts = [sample.n_clusters for sample in (sources, *samples.values())]
    return None not in counts and sum(counts[1:]) <= counts[0]


def _disparities(
    column: str,
    samples: Mapping[str, Any],
    system: str,
    requests: Sequence[_Request],
    needed: Sequence[Measure],
    level: float,
    independent: bool,
) -> list[Disparity]:
    for sample, measure in product(samples.values(), needed):
        if not sample.is_available(system, measure):
            raise InputError(
                f"measures: {measure} is not computed on the slices; name it in measures= of the "
                "evaluation"
            )
    estimates = {m: [s.point_estimate(system, m) for s in samples.values()] for m in needed}
    names, unit = list(samples), next(iter(estimates.values()))[0].unit
    out = []
    for request in requests:
        groups = [_group_estimates(estimates[measure]) for measure in request.measures]
        value, interval, worst = _evaluate(groups, request.statistic, level, independent)
        n = sum(e.n for e in estimates[request.measures[0]])
        estimate = Estimate(
            request.name,
            value,
            interval.low,
            interval.high,
            level,
            interval.method,
            n=n,
            n_total=sum(
                e.n if e.n_total is None else e.n_total for e in estimates[request.measures[0]]
            ),
            unit=unit,
            interval_reason=interval.reason,
            system=system,
        )
        values = np.asarray(groups[worst].values)
        is_defined = groups[worst].is_defined
        lowest, highest = (
            (names[int(values.argmin())], names[int(values.argmax())]) if is_defined else ("", "")
        )
        out.append(Disparity(column, estimate, lowest, highest))
    return out


def _group_estimates(estimates: Sequence[PointEstimate]) -> GroupEstimates:
    def interval(group: int, level: float) -> Interval:
        return method_selection.interval(estimates[group], level)

    return GroupEstimates([estimate.value for estimate in estimates], interval)


def _evaluate(
    groups: Sequence[GroupEstimates], statistic: str, level: float, independent: bool
) -> tuple[float, Interval, int]:
    """Return a statistic over the groups, its interval, and which measure it is that of."""
    missing = group_disparities.undefined_interval()
    if not all(g.is_defined for g in groups):
        return math.nan, missing, 0
    if statistic in ("group-min", "group-max"):
        is_minimum = statistic == "group-min"
        value = (min if is_minimum else max)(groups[0].values)
        limits = partial(group_disparities.extreme_interval, groups[0], is_minimum=is_minimum)
        return value, limits(level).extend_to_value(value), 0
    compute, interval_of, choose = (
        (group_disparities.difference, group_disparities.difference_interval, np.argmax)
        if statistic == "difference"
        else (group_disparities.ratio, group_disparities.ratio_interval, np.argmin)
    )
    values = [compute(g) for g in groups]
    if not all(map(math.isfinite, values)):
        return math.nan, missing, 0
    worst = int(choose(values))
    interval = interval_of(groups, level, independent=independent)
    return values[worst], interval.extend_to_value(values[worst]), worst
