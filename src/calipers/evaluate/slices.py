"""Slices: every measure on parts of the rows, and whether a part differs from the rest."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Protocol, runtime_checkable

import numpy as np

from calipers.evaluate.cuts import Cut
from calipers.evaluate.losses import slope
from calipers.evaluate.parts import Part, Parts, Rest
from calipers.inference import intervals, paired, unpaired
from calipers.inference.clusters import two_parts_error
from calipers.inference.estimate import MeasureLike, Settings
from calipers.inference.influence import error
from calipers.inference.intervals import Interval
from calipers.inference.multiplicity import ADJUSTMENTS
from calipers.inference.of_scores import Scores
from calipers.inference.paired import Test
from calipers.measures import Measure
from calipers.results import Difference, Estimate, Slice, Slices
from calipers.statistics import FloatArray, Moments, ScoreTable

#: How a slice is called that is compared with the rest, and the other way round.
REST = "the rest"
#: With fewer positives in a part, influence functions say too little of how areas under its
#: precision-recall curve vary; the interval of Boyd, Eng and Page is then wide enough.
FEW_POSITIVES = 30

#: How p-values account for the number of slices.
HOLM = ADJUSTMENTS["holm"]


@runtime_checkable
class Linear(Protocol):
    """A part that knows how much each of its rows moves a value, so that clusters need no
    bootstrap."""

    def moved(self, measure: Measure) -> FloatArray | None:
        """The influence of each row on the value, times its weight; None where it is not known."""


# ------------------------------------------------------------------------------------- evaluation


def sliced(
    systems: Iterable[Part], measures: Sequence[Measure], made: Sequence[Cut], settings: Settings
) -> Slices | None:
    """Every measure of every system on every slice; None where nothing is cut."""
    if not made:
        return None
    rows = [row for cut in made for system in systems for row in _of_cut(cut, system, measures)]
    return Slices(_adjusted(rows), settings.level, HOLM.name)


def threshold_note(system: str, threshold: float, rule: object) -> str:
    """That a threshold which a rule chose on all rows is no slice's own."""
    at = "+∞" if math.isinf(threshold) else f"{threshold:.6g}"
    return (
        f"{system}: slices are measured at the threshold {at}, which {rule} chose on all rows; no "
        "slice has one of its own, and intervals take it as given."
    )


def _of_cut(cut: Cut, system: Part, measures: Sequence[Measure]) -> list[Slice]:
    """One system on the slices of one column."""
    rows: list[Slice] = []
    parts = Parts(system, cut, measures)
    for k, name in enumerate(cut.names):
        rest = parts.rest(k)
        for j, measure in enumerate(measures):
            own = parts.part(k).estimate(measure)
            if len(cut.names) == 2 and k == 1 and np.isfinite(rows[j].to_rest.value):
                # The rest of the second slice is the first: one question, and one answer.
                apart = _opposite(rows[j])
            else:
                apart = _to_rest(measure, parts.part(k), rest, own)
            rows.append(Slice(cut.column, name, own, apart))
        parts.forget(k)
    return rows


def _opposite(row: Slice) -> Difference:
    d = row.to_rest
    return replace(d, value=-d.value, low=-d.high, high=-d.low, n=row.estimate.of)


def _adjusted(rows: Sequence[Slice]) -> tuple[Slice, ...]:
    """Holm over all slices of each measure of a system; a column's two slices ask one question."""
    questions: dict[tuple[str, str], dict[tuple[str, str], list[int]]] = {}
    slices_of: dict[str, set[str]] = {}
    for row in rows:
        slices_of.setdefault(row.column, set()).add(row.slice)
    for at, row in enumerate(rows):
        family = questions.setdefault((row.estimate.system, row.estimate.measure), {})
        which = row.slice if len(slices_of[row.column]) > 2 else ""
        family.setdefault((row.column, which), []).append(at)
    out = list(rows)
    for family in questions.values():
        p = HOLM.adjust(np.array([rows[at[0]].to_rest.p for at in family.values()]))
        for adjusted, places in zip(p, family.values(), strict=True):
            for at in places:
                apart = replace(rows[at].to_rest, p_adjusted=float(adjusted))
                out[at] = replace(rows[at], to_rest=apart)
    return tuple(out)


# -------------------------------------------------------------------------- difference to the rest


def _to_rest(measure: Measure, part: Part, rest: Rest | None, own: Estimate) -> Difference:
    """The slice minus the rest, with an interval and a test for two independent samples."""
    other = None if rest is None else rest.value(measure)
    value = own.value - other.value if other is not None else float("nan")
    made, test = intervals.missing("none", "undefined_value"), Test(float("nan"), "none")
    if rest is None or other is None:
        made = intervals.missing("none", "no_rest")
    elif part.settings.interval == "none":
        made = intervals.missing("none", "not_asked")
    elif np.isfinite(value):
        made, test = _inference(measure, part, rest, own, other.value)
    return Difference(
        measure=own.measure,
        system=own.system,
        baseline=REST,
        value=value,
        low=made.low,
        high=made.high,
        level=own.level,
        method=made.method,
        p=test.p,
        test=test.name,
        n=0 if other is None else other.of,
        undefined={} if other is None or own.undefined else other.undefined,
        no_interval=made.reason,
        higher_is_better=measure.definition.higher_is_better,
    )


def _inference(
    measure: Measure, part: Part, rest: Rest, own: Estimate, other: float
) -> tuple[Interval, Test]:
    settings, clusters = part.settings, part.clusters
    value = own.value - other
    if not settings.prefers_bootstrap:
        find = _analytic if clusters is None else _clustered
        made = find(measure, part, rest, own, other)
        if made is not None:
            return made
    drawn: Interval | None = None
    if settings.interval != "analytic":
        of_part, of_rest = part.replicates(measure), rest.replicates(measure)
        if of_part is not None and of_rest is not None:
            apart = of_part - of_rest
            if measure.definition.interval == "pivotal":
                # The value is biased, by more in the smaller part; turning the replicates about
                # the difference takes that off as it does for each part.
                apart = 2 * value - apart
            name = "bootstrap" if clusters is None else "cluster bootstrap"
            made_of = f"{name} [B] of both"
            drawn = intervals.percentile(apart, settings.level, made_of)
            if drawn.reason is None:
                return drawn, replace(paired.bootstrap(apart), name=name)
    limits = _from_limits(measure, part, rest, own)
    if drawn is not None and (settings.prefers_bootstrap or limits.reason is not None):
        limits = drawn
    return limits, Test(float("nan"), "none")


def _analytic(
    measure: Measure, part: Part, rest: Rest, own: Estimate, other: float
) -> tuple[Interval, Test] | None:
    """What a kind of measure has that needs no bootstrap."""
    level, value = part.settings.level, own.value - other
    margin, seen = measure.definition.share_of, (part.share_of(measure), rest.share_of(measure))
    if margin is not None and seen[0] is not None and seen[1] is not None:
        n, m = (float(matrix.effective_size(margin)) for matrix in seen if matrix is not None)
        limits = (intervals.wilson(v, k, level) for v, k in ((own.value, n), (other, m)))
        made = intervals.difference(own.value, next(limits), other, next(limits))
        test = unpaired.shares(own.value, n, other, m)
        return replace(made, method="Newcombe"), test
    if measure.definition.interval == "recalibration":
        return _coefficients(measure, rest, own, value)
    a, b = rest.part_statistic(measure), rest.statistic(measure)
    if isinstance(a, Moments) and isinstance(b, Moments):
        slopes = (slope(measure, own.value, a), slope(measure, other, b))
        errors = (slopes[0] * a.standard_error, slopes[1] * b.standard_error)
        return unpaired.welch(value, errors, (a.effective_size, b.effective_size), level)
    if isinstance(a, ScoreTable) and isinstance(b, ScoreTable):
        return _areas(measure, own.value, a, other, b, level)
    return None


def _coefficients(
    measure: Measure, rest: Rest, own: Estimate, value: float
) -> tuple[Interval, Test] | None:
    """Of a recalibration, by Wald's intervals: as wide as 2z standard errors."""
    widths = (own.high - own.low, rest.width(measure))
    if not own.has_interval or math.isnan(widths[1]):
        return None
    se = math.hypot(*widths) / (2 * intervals.z_of(own.level))
    made = replace(intervals.normal_mean(value, se, own.level), method="Wald, two samples")
    return made, paired.normal(value, se, "Wald, two samples")


def _clustered(
    measure: Measure, part: Part, outside: Rest, own: Estimate, other: float
) -> tuple[Interval, Test] | None:
    """Of rows in clusters, some of which may be in both parts, by how much each cluster moves the
    two values. None where that is not known, or says nothing because a part does not vary."""
    rest = outside.plain
    if not (isinstance(part, Linear) and isinstance(rest, Linear)):
        return None
    if part.clusters is None or rest.clusters is None:
        return None
    moved, others = part.moved(measure), rest.moved(measure)
    if moved is None or others is None or not (moved.any() and others.any()):
        return None
    se, degrees = two_parts_error(part.clusters, moved, rest.clusters, others)
    return unpaired.by_error(
        own.value - other, se, degrees, part.settings.level, "clustered, two samples"
    )


def _areas(
    measure: Measure, first: float, a: ScoreTable, second: float, b: ScoreTable, level: float
) -> tuple[Interval, Test] | None:
    """Two areas of scores: AUCs by the sum of DeLong's two variances; the others, and where one AUC
    is too near 0 or 1 for that, by the limits of the two. None where those need a bootstrap."""
    own, other = _limits(measure, first, a), _limits(measure, second, b)
    if own is None or other is None:
        return None
    if measure.definition.interval in ("auc", "gini") and min(own.se, other.se) > 0:
        se = math.hypot(own.se, other.se)
        name = "DeLong, two samples"
        made = replace(intervals.normal_mean(first - second, se, level), method=name)
        return made, paired.normal(first - second, se, name)

    limits = own.at, other.at

    def at(confidence: float) -> Interval:
        return intervals.difference(first, limits[0](confidence), second, limits[1](confidence))

    return at(level), unpaired.inverted(at, "MOVER")


@dataclass(frozen=True)
class _Limits:
    """The limits of an area at any level, and its standard error; 0 where they have none."""

    at: Callable[[float], Interval]
    se: float = 0.0


def _limits(measure: Measure, value: float, table: ScoreTable) -> _Limits | None:
    """Of an area that needs no bootstrap: from the influence of the rows on the logit scale; where
    there are too few rows for that, by the usual interval of the measure."""

    def usual(confidence: float) -> Interval:
        return Scores(table, Settings("analytic", confidence), _no_draws).interval(measure, value)

    kind = measure.definition.interval
    if kind not in ("auc", "gini", "pr_logit"):
        return None
    made = usual(0.95)
    if made.reason is not None:
        return None
    if kind == "pr_logit":
        enough = intervals.class_sizes(table)[0] >= FEW_POSITIVES
    else:
        enough = made.method == "DeLong, logit"
    se = error(measure, table) if enough else None
    if se is None or not se > 0:
        return _Limits(usual)
    if kind == "gini":
        return _Limits(usual, se)
    return _Limits(lambda confidence: intervals.on_logit(value, se, confidence, "logit"), se)


def _no_draws(measure: MeasureLike) -> FloatArray:
    raise AssertionError(f"{measure}: an analytic interval needs no replicates")


def _from_limits(measure: Measure, part: Part, rest: Rest, own: Estimate) -> Interval:
    """From the intervals of the two parts, if they are independent."""
    if not own.has_interval:
        return intervals.missing("none", own.no_interval or "no_analytic_interval")
    other = rest.rows.estimate(measure)
    if not other.has_interval:
        return intervals.missing("none", other.no_interval or "no_analytic_interval")
    if _share_clusters(part, rest.rows):
        return intervals.missing("none", "no_analytic_interval")
    limits = (Interval(e.low, e.high, e.method) for e in (own, other))
    return intervals.difference(own.value, next(limits), other.value, next(limits))


def _share_clusters(part: Part, rest: Part) -> bool:
    """Whether a cluster has rows in both parts."""
    if part.clusters is None or rest.clusters is None:
        return False
    return bool(np.intersect1d(part.clusters.code, rest.clusters.code).size)
