"""Slices: every measure on parts of the rows, and whether a part differs from the rest."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any, Protocol, runtime_checkable

import numpy as np
import numpy.typing as npt

from calipers.data.arrays import Coded, coded, same_length
from calipers.data.errors import InputError, did_you_mean
from calipers.evaluate.losses import slope
from calipers.inference import intervals, paired, unpaired
from calipers.inference.clusters import Clusters, two_parts_error
from calipers.inference.estimate import MeasureLike, Scores, Settings
from calipers.inference.influence import error
from calipers.inference.intervals import Interval
from calipers.inference.multiplicity import ADJUSTMENTS
from calipers.inference.paired import Test
from calipers.measures import Measure
from calipers.results import Difference, Estimate, Slice, Slices
from calipers.statistics import ConfusionMatrix, FloatArray, Moments, ScoreTable, Statistic

#: A column may have this many slices; more can be neither read nor corrected for.
MOST_SLICES = 50
#: A column of numbers with more distinct values than these is cut.
MOST_VALUES = 10
#: How a slice is called that is compared with the rest, and the other way round.
REST = "the rest"
#: With fewer positives in a part, influence functions say too little of how areas under its
#: precision-recall curve vary; the interval of Boyd, Eng and Page is then wide enough.
FEW_POSITIVES = 30

Bins = Mapping[str, Sequence[float]]

#: How p-values account for the number of slices.
HOLM = ADJUSTMENTS["holm"]


class Part(Protocol):
    """A system on some rows. Systems of every task can be sliced that answer to this."""

    @property
    def name(self) -> str:
        """Of the system."""

    @property
    def settings(self) -> Settings:
        """How intervals are made."""

    @property
    def clusters(self) -> Clusters | None:
        """Of the rows."""

    def taken(self, rows: npt.NDArray[np.bool_]) -> Any:
        """The system on some of the rows."""

    def under(self, settings: Settings) -> Any:
        """The system with other settings."""

    def estimate(self, measure: Measure) -> Estimate:
        """The value of a measure with its interval."""

    def statistic(self, measure: Measure) -> Statistic | None:
        """What the measure is a formula over, where there is one for all rows."""

    def share_of(self, measure: Measure) -> ConfusionMatrix | None:
        """The matrix of whose margin the measure is a share of rows, if it is one."""

    def replicates(self, measure: Measure) -> FloatArray | None:
        """Bootstrap replicates of its value, where there are any; with clusters each is drawn by
        its own number."""


@runtime_checkable
class Linear(Protocol):
    """A part that knows how much each of its rows moves a value, so that clusters need no
    bootstrap."""

    def moved(self, measure: Measure) -> FloatArray | None:
        """The influence of each row on the value, times its weight; None where it is not known."""


@dataclass(frozen=True, eq=False)
class Cut:
    """A way to cut the rows: the slice of each, as a position among the names."""

    column: str
    names: tuple[str, ...]
    codes: npt.NDArray[np.intp]


def slice_columns(slices: Any) -> dict[str, dict[str, Any]] | None:
    """The columns of each way to cut, one or several to be crossed, by name.

    Under a name such as ``"age*site"`` stands a tuple of columns. One name, or a list of names,
    stands for the columns of a table that are called so.
    """
    if slices is None:
        return None
    if isinstance(slices, str):
        slices = [slices]
    if isinstance(slices, Mapping):
        return {str(name): _parts(str(name), given) for name, given in slices.items()}
    if not all(isinstance(name, str) for name in slices):
        raise InputError("slices: expected a dict of columns by name, or names of columns of data=")
    return {name: {part: part for part in _split(name)} for name in slices}


def cuts(
    slices: Mapping[str, Mapping[str, Any]] | None, bins: Bins | None, rows: int
) -> tuple[list[Cut], list[str]]:
    """The ways to cut that :func:`slice_columns` describes, and what a reader has to know of them.

    A column of more than ten distinct numbers is cut at its ``bins``, else at its quartiles.
    """
    slices, bins = dict(slices or {}), dict(bins or {})
    known = list(dict.fromkeys(part for columns in slices.values() for part in columns))
    for name in bins:
        if name not in known:
            raise InputError(f"bins for {name!r}, which is no slice; {did_you_mean(name, known)}")
    made, notes = [], []
    for name, columns in slices.items():
        found = []
        for part, column in columns.items():
            values = coded(column, f"slice {part!r}")
            same_length(values.codes, rows, f"slice {part!r}")
            cut, note = _binned(part, values, bins.get(part))
            found.append(cut)
            notes += note
        cut = _crossed(name, found) if len(found) > 1 else found[0]
        if len(cut.names) > MOST_SLICES:
            raise InputError(
                f"slice {name!r}: has {len(cut.names):,} slices, expected at most {MOST_SLICES}; "
                "give a coarser column, or bins of its numbers"
            )
        made.append(cut)
    return made, list(dict.fromkeys(notes))


def _parts(name: str, given: Any) -> dict[str, Any]:
    """The columns that are to be crossed, or the one, by name."""
    parts = _split(name)
    if isinstance(given, tuple) and len(parts) > 1:
        if len(given) != len(parts):
            raise InputError(
                f"slice {name!r}: has {len(given)} columns, expected {len(parts)}, one for each of "
                f"{', '.join(parts)}"
            )
        return dict(zip(parts, given, strict=True))
    return {name: given}


def _split(name: str) -> list[str]:
    return [part.strip() for part in name.split("*")]


def _binned(name: str, values: Coded, bins: Sequence[float] | None) -> tuple[Cut, list[str]]:
    """The slices of one column, and how its numbers were cut."""
    numeric = all(
        isinstance(label, int | float | np.number) and not isinstance(label, bool)
        for label in values.labels
    )
    if bins is not None:
        edges = _edges(name, bins)
        if not numeric:
            raise InputError(f"slice {name!r}: holds {values.labels[0]!r}, bins need numbers")
    elif numeric and not values.ordered and len(values.labels) > MOST_VALUES:
        numbers = np.asarray(values.labels, np.float64)[values.codes]
        # Rounded as they are written, so that the names say exactly where the cuts are.
        quartiles = (float(f"{x:.6g}") for x in np.quantile(numbers, [0.25, 0.5, 0.75]))
        edges = list(dict.fromkeys(quartiles))
    else:
        return Cut(name, values.names, values.codes), []
    place = np.searchsorted(np.array(edges), np.asarray(values.labels, np.float64), side="right")
    occurs = np.unique(place)
    names = _between(edges)
    codes = np.searchsorted(occurs, place)[values.codes]
    how = "as asked" if bins is not None else "at its quartiles"
    note = f"{name} is cut {how}: {', '.join(map(_number, edges))}."
    return Cut(name, tuple(names[k] for k in occurs), codes), [note]


def _edges(name: str, bins: Sequence[float]) -> list[float]:
    edges = [float(x) for x in bins]
    if not edges or not np.isfinite(edges).all() or (np.diff(edges) <= 0).any():
        raise InputError(
            f"bins of {name!r}: {list(bins)!r}, expected numbers in ascending order: where to cut"
        )
    return edges


def _number(x: float) -> str:
    return f"{int(x)}" if x.is_integer() and abs(x) < 1e15 else repr(x)


def _between(edges: Sequence[float]) -> list[str]:
    """``below 40``, ``40 to below 65``, ``65 and above``."""
    shown = [_number(x) for x in edges]
    inner = [f"{low} to below {high}" for low, high in pairwise(shown)]
    return [f"below {shown[0]}", *inner, f"{shown[-1]} and above"]


def _crossed(name: str, found: Sequence[Cut]) -> Cut:
    """The combinations that occur, in the order of the first column, then of the second."""
    shape = tuple(len(cut.names) for cut in found)
    flat = np.ravel_multi_index(tuple(cut.codes for cut in found), shape)
    occurs, codes = np.unique(flat, return_inverse=True)
    places = np.unravel_index(occurs, shape)
    names = tuple(
        ", ".join(cut.names[k] for cut, k in zip(found, at, strict=True))
        for at in zip(*places, strict=True)
    )
    return Cut(name, names, codes.reshape(-1))


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
    for k, name in enumerate(cut.names):
        inside = cut.codes == k
        part = system.taken(inside)
        rest = None
        if len(cut.names) > 1:
            rest = Rest.of(system.taken(~inside).under(_other_draws(system)))
        for j, measure in enumerate(measures):
            if len(cut.names) == 2 and k == 1 and np.isfinite(rows[j].to_rest.value):
                # The rest of the second slice is the first: one question, and one answer.
                apart = _opposite(rows[j])
            else:
                apart = _to_rest(measure, part, rest)
            rows.append(Slice(cut.column, name, part.estimate(measure), apart))
    return rows


@dataclass(frozen=True, eq=False)
class Rest:
    """The rows outside of a slice; ``plain`` has the same values without intervals, which need not
    be drawn where those of the difference do not come from them."""

    part: Part
    plain: Part

    @classmethod
    def of(cls, part: Part) -> Rest:
        """Only where rows come in clusters are intervals dear."""
        if part.clusters is None:
            return cls(part, part)
        return cls(part, part.under(replace(part.settings, interval="none", methods=())))


def _other_draws(system: Part) -> Settings:
    """Settings under which the rest is drawn independently of the slice.

    With clusters the draws stay: a cluster in both parts has to be drawn equally often in both, and
    one that is in one part only is drawn independently of all others anyway.
    """
    settings = system.settings
    if system.clusters is not None:
        return settings
    return replace(settings, seed=(settings.seed + 2**62) % 2**63)


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


def _to_rest(measure: Measure, part: Part, rest: Rest | None) -> Difference:
    """The slice minus the rest, with an interval and a test for two independent samples."""
    own = part.estimate(measure)
    other = None if rest is None else rest.plain.estimate(measure)
    value = own.value - other.value if other is not None else float("nan")
    made, test = intervals.missing("none", "undefined_value"), Test(float("nan"), "none")
    if rest is None or other is None:
        made = intervals.missing("none", "no_rest")
    elif part.settings.interval == "none":
        made = intervals.missing("none", "not_asked")
    elif np.isfinite(value):
        made, test = _inference(measure, part, rest, own, other)
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
    measure: Measure, part: Part, outside: Rest, own: Estimate, other: Estimate
) -> tuple[Interval, Test]:
    settings, clusters = part.settings, part.clusters
    value = own.value - other.value
    if not settings.prefers_bootstrap:
        find = _analytic if clusters is None else _clustered
        made = find(measure, part, outside.plain, own, other)
        if made is not None:
            return made
    rest = outside.part
    other = rest.estimate(measure)
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
    limits = _from_limits(part, rest, own, other)
    if drawn is not None and (settings.prefers_bootstrap or limits.reason is not None):
        limits = drawn
    return limits, Test(float("nan"), "none")


def _analytic(
    measure: Measure, part: Part, rest: Part, own: Estimate, other: Estimate
) -> tuple[Interval, Test] | None:
    """What a kind of measure has that needs no bootstrap."""
    level, value = part.settings.level, own.value - other.value
    margin, seen = measure.definition.share_of, (part.share_of(measure), rest.share_of(measure))
    if margin is not None and seen[0] is not None and seen[1] is not None:
        n, m = (float(matrix.effective_size(margin)) for matrix in seen if matrix is not None)
        limits = (intervals.wilson(e.value, k, level) for e, k in ((own, n), (other, m)))
        made = intervals.difference(own.value, next(limits), other.value, next(limits))
        test = unpaired.shares(own.value, n, other.value, m)
        return replace(made, method="Newcombe"), test
    a, b = part.statistic(measure), rest.statistic(measure)
    if isinstance(a, Moments) and isinstance(b, Moments):
        slopes = (slope(measure, own.value, a), slope(measure, other.value, b))
        errors = (slopes[0] * a.standard_error, slopes[1] * b.standard_error)
        return unpaired.welch(value, errors, (a.effective_size, b.effective_size), level)
    if measure.definition.interval == "recalibration" and own.has_interval and other.has_interval:
        # Wald's intervals: as wide as 2z standard errors.
        widths = (own.high - own.low, other.high - other.low)
        se = float(np.hypot(*widths)) / (2 * intervals.z_of(level))
        made = replace(intervals.normal_mean(value, se, level), method="Wald, two samples")
        return made, paired.normal(value, se, "Wald, two samples")
    if isinstance(a, ScoreTable) and isinstance(b, ScoreTable):
        return _areas(measure, own.value, a, other.value, b, level)
    return None


def _clustered(
    measure: Measure, part: Part, rest: Part, own: Estimate, other: Estimate
) -> tuple[Interval, Test] | None:
    """Of rows in clusters, some of which may be in both parts, by how much each cluster moves the
    two values. None where that is not known, or says nothing because a part does not vary."""
    if not (isinstance(part, Linear) and isinstance(rest, Linear)):
        return None
    if part.clusters is None or rest.clusters is None:
        return None
    moved, others = part.moved(measure), rest.moved(measure)
    if moved is None or others is None or not (moved.any() and others.any()):
        return None
    se, degrees = two_parts_error(part.clusters, moved, rest.clusters, others)
    return unpaired.by_error(
        own.value - other.value, se, degrees, part.settings.level, "clustered, two samples"
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


def _from_limits(part: Part, rest: Part, own: Estimate, other: Estimate) -> Interval:
    """From the intervals of the two parts, if they are independent."""
    if not (own.has_interval and other.has_interval):
        why = other.no_interval if own.has_interval else own.no_interval
        return intervals.missing("none", why or "no_analytic_interval")
    if _share_clusters(part, rest):
        return intervals.missing("none", "no_analytic_interval")
    limits = (Interval(e.low, e.high, e.method) for e in (own, other))
    return intervals.difference(own.value, next(limits), other.value, next(limits))


def _share_clusters(part: Part, rest: Part) -> bool:
    """Whether a cluster has rows in both parts."""
    if part.clusters is None or rest.clusters is None:
        return False
    return bool(np.intersect1d(part.clusters.code, rest.clusters.code).size)
