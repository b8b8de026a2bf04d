"""Measures of a clustering against true classes: estimates from their contingency table."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from calipers.caching import cached_property
from calipers.estimation.undefined import undefined_reasons
from calipers.inference import intervals
from calipers.inference.influence import STEP
from calipers.inference.intervals import ROUNDING, Interval
from calipers.inference.method_limits import FEW_OF_CELL
from calipers.inference.point_estimate import PointEstimate, UnitGroups
from calipers.inference.variance_estimators import Influence, StandardError, VarianceEstimator
from calipers.statistics import ContingencyTable, FloatArray, IntArray

if TYPE_CHECKING:
    from calipers.inference.settings import MeasureLike, Settings


#: So many numbers are drawn at a time.
_AT_ONCE = 2_000_000

#: The prior goes to all cells where they are not more than this; else to so many others in each of
#: so many turns.
_ALL, _SOME, _TURNS = 125, 25, 40

#: What the prior adds in all.
_PRIOR = 1.0

#: Of no more cells than these, empty ones included, tables are drawn from a smooth one.
MOST_SMOOTH = 10_000

#: A class is surely larger than another by so many standard deviations of their difference.
SURELY = 2.0

#: Cells and contents of draws (b, C).
Drawn = tuple[tuple[IntArray, ...], FloatArray]


@dataclass(frozen=True, eq=False)
class OccupiedCells:
    """Non-empty cells of a contingency table: their index along each axis, and their counts."""

    shape: tuple[int, ...]
    codes: tuple[IntArray, ...]
    point_counts: FloatArray

    @classmethod
    def from_codes(
        cls, codes: Sequence[IntArray], shape: Sequence[int], held: FloatArray | None = None
    ) -> OccupiedCells:
        """Count points from their codes along each axis; each entry stands for ``held`` points."""
        flat = np.ravel_multi_index(tuple(codes), tuple(shape))
        place, inverse = np.unique(flat, return_inverse=True)
        counts = np.bincount(inverse, held, len(place))
        axes = np.unravel_index(place, tuple(shape))
        return cls(tuple(shape), tuple(axes), counts.astype(np.float64))

    def likely(self, settings: Settings, draws: int | None = None) -> Iterator[Drawn]:
        """Draw cell counts from their posterior.

        It is Dirichlet(counts + prior), times the number of points.
        If ``draws`` is given, this number of tables is drawn, without the prior.
        """
        random = np.random.Generator(np.random.Philox(settings.seed))
        left, cells = draws or settings.n_resamples, math.prod(self.shape)
        few = cells <= _ALL
        turn = left if few or draws else max(1, -(-left // _TURNS))
        size = max(1, min(turn, _AT_ONCE // (len(self.point_counts) + _ALL)))
        while left > 0:
            codes, shape = self.codes, self.point_counts
            if not draws:
                place = np.arange(cells) if few else random.integers(0, cells, _SOME)
                codes, shape = self._add_cells(place, _PRIOR / len(place))
            some = min(size, left)
            drawn = random.standard_gamma(shape, (some, len(shape)))
            yield codes, drawn * (self.point_counts.sum() / drawn.sum(axis=1, keepdims=True))
            left -= some

    def _add_cells(self, place: IntArray, added: float) -> tuple[tuple[IntArray, ...], FloatArray]:
        """Return these cells with a count added to the cells at ``place``."""
        own = np.ravel_multi_index(self.codes, self.shape)
        place, inverse = np.unique(np.append(own, place), return_inverse=True)
        more = np.append(self.point_counts, np.full(len(inverse) - len(own), added))
        held = np.bincount(inverse, more, len(place)).astype(np.float64)
        return tuple(np.unravel_index(place, self.shape)), held

    def worlds(self) -> list[FloatArray]:
        """Return plausible true cell proportions of two axes, for a simulation of the bias.

        Statistics of samples from them have a larger optimistic bias. The first are shrunk towards
        independence (Hausser and Strimmer 2009), by as much as sampling noise may explain, so that
        empty cells are possible. In the second, classes of a cluster that are not clearly smaller
        than its largest one are made equal. Tables of more than :data:`MOST_SMOOTH` cells have
        none.
        """
        if math.prod(self.shape) > MOST_SMOOTH:
            return []
        held = np.zeros(self.shape)
        held[self.codes] = self.point_counts
        n = float(held.sum())
        share = held / n
        target = share.sum(axis=1)[:, None] * share.sum(axis=0)
        apart = float(np.square(target - share).sum())
        noise = (1 - float(np.square(share).sum())) / max(n - 1, 1.0)
        towards = min(1.0, noise / apart) if apart > 0 else 1.0
        top = held.max(axis=0)
        near = top - held <= SURELY * np.sqrt(top + held)
        level = (held * near).sum(axis=0) / near.sum(axis=0)
        return [towards * target + (1 - towards) * share, np.where(near, level, held) / n]


TOO_LITTLE = 1.5

METHOD = "Dirichlet, of the cells"

#: Of so many points a share is what it is.
_MANY = 1e12

#: Where the error of a difference is taken from draws, and where these are of a normal.
_TAILS, _NORMAL = (0.025, 0.975), 1.959963984540054

#: So many tables say how large a bias is.
_OF_BIAS = 400


class PosteriorDraws(NamedTuple):
    """Draws of a value, with estimates of its bias.

    The biases are the one by the jackknife, and those that were simulated with plausible true cell
    proportions.
    """

    draws: FloatArray
    jackknife: float
    worlds: tuple[float, ...]

    @property
    def biases(self) -> FloatArray:
        """Estimates of the bias.

        A known bias may be underestimated by a half, except with classes made as equal as possible.
        """
        found = np.array([self.jackknife, *self.worlds, 0.0, 0.0][:3])
        return found * [TOO_LITTLE, TOO_LITTLE, 1.0]

    def limits(self, level: float) -> tuple[float, float]:
        """Return percentiles of the draws, corrected for bias.

        The lower limit is moved down by the largest bias, the upper one up if the value is too low.
        """
        low, high = np.quantile(self.draws, [(1 - level) / 2, (1 + level) / 2]).tolist()
        return low - float(self.biases.max()), high - min(self.jackknife, 0.0)


@dataclass(frozen=True, eq=False)
class PartitionRows:
    """Sample of points with a true class and a cluster each.

    Each entry stands for ``point_counts`` identical points. The measures in ``joint_measures`` are
    evaluated on the same draws.
    """

    truth: IntArray
    cluster: IntArray
    classes: tuple[str, ...]
    clusters: tuple[str, ...]
    settings: Settings
    joint_measures: tuple[Any, ...] = ()
    point_counts: FloatArray | None = None
    #: How much points move a measure, where something else knows.
    moves: Callable[[Any], Influence | None] | None = None
    _posterior_cache: dict[Any, PosteriorDraws] = field(default_factory=dict, repr=False)
    _paired_draws: dict[Any, FloatArray] = field(default_factory=dict, repr=False)

    @cached_property
    def statistic(self) -> ContingencyTable:
        """Contingency table of classes and clusters."""
        codes = self.truth, self.cluster
        return ContingencyTable.from_codes(*codes, self.classes, self.clusters, self.point_counts)

    @property
    def n_points(self) -> int:
        """Number of points."""
        return len(self.truth) if self.point_counts is None else int(self.point_counts.sum())

    def row_values(self, measure: MeasureLike) -> None:
        """Return None, as no point has a value of its own."""

    def point_estimate(self, measure: MeasureLike) -> PointEstimate:
        """Return the point estimate of a measure of both partitions."""
        table, definition, n = self.statistic, measure.definition, self.n_points
        return PointEstimate(
            value=float(measure.apply(table)),
            kind="measure of partitions",
            settings=self.settings,
            n=n,
            unit="points",
            bounds=definition.range,
            undefined=undefined_reasons(measure, table, n),
            higher_is_better=definition.higher_is_better,
            sizes=lambda: (float(n),),
            caution=self._caution if definition.interval == "information" else "",
            joint_distribution=_PartitionDistribution(measure, self),
            influence=lambda: self.influence(measure),
            error=lambda: StandardError(float(np.std(self.posterior_draws(measure).draws)), METHOD),
            methods={METHOD: partial(self._interval, measure)},
        )

    @property
    def _caution(self) -> str:
        cells = len(self.classes) * len(self.clusters)
        return "few points a cell" if self.n_points < FEW_OF_CELL * cells else ""

    def influence(self, measure: MeasureLike, whole: ContingencyTable | None = None) -> Influence:
        """Return the influence values of a measure.

        ``whole`` is the table of all points, if these are some of them.
        """
        if whole is None and self.moves is not None and (known := self.moves(measure)) is not None:
            return known
        alike = 1.0 if self.point_counts is None else np.sqrt(self.point_counts)
        return Influence(self.slopes(measure, whole) * alike, VarianceEstimator(), METHOD)

    def slopes(self, measure: MeasureLike, whole: ContingencyTable | None = None) -> FloatArray:
        """Return the influence of a point of each entry, by numeric derivatives."""
        table = self.statistic if whole is None else whole
        steps = STEP * np.eye(len(table.held)) * table.held
        ends = [
            measure.apply(
                ContingencyTable.from_cells(
                    table.held + sign * steps, table.class_of, table.cluster_of, table
                )
            )
            for sign in (1, -1)
        ]
        slope = (ends[0] - ends[1]) / (2 * steps.diagonal())
        slope -= float((slope * table.held).sum() / table.held.sum())
        place = table.class_of * len(self.clusters) + table.cluster_of
        cell = np.searchsorted(place, self.truth * len(self.clusters) + self.cluster)
        return np.asarray(slope[cell])

    def posterior_draws(self, measure: Any) -> PosteriorDraws:
        """Return the posterior draws of a measure, computed for all requested measures at once."""
        if measure not in self._posterior_cache:
            measures = list(dict.fromkeys((measure, *self.joint_measures)))
            self._posterior_cache.update(self._spreads(measures))
        return self._posterior_cache[measure]

    def _spreads(self, measures: Sequence[Any]) -> dict[Any, PosteriorDraws]:
        table = self.statistic
        shape = len(self.classes), len(self.clusters)
        cells = OccupiedCells(shape, (table.class_of, table.cluster_of), table.held)
        drawn = self._values(measures, cells.likely(self.settings))
        # Draws about counts are off as counts are about the truth; without the prior, which is not
        # to be taken off with that.
        alone = self._values(measures, cells.likely(self.settings, _OF_BIAS))
        removed = self._jackknife(measures)
        worlds = [self._expected_bias(measures, cells, of) for of in cells.worlds()]
        made = {}
        for measure in measures:
            value = float(measure.apply(table))
            off = _nanmean(alone[measure]) - value
            flattered = tuple(world[measure] for world in worlds)
            made[measure] = PosteriorDraws(drawn[measure] - off, removed[measure], flattered)
        return made

    def _values(
        self, measures: Sequence[Any], drawn: Iterable[Drawn], axis: int = 1, chance: float = 1.0
    ) -> dict[Any, FloatArray]:
        """Evaluate measures on cell counts whose clusters are along an axis.

        Their expected mutual information is taken to be that of this table, times ``chance``.
        """
        parts: dict[Any, list[FloatArray]] = {measure: [] for measure in measures}
        for codes, held in drawn:
            made = ContingencyTable.from_cells(held, codes[0], codes[axis], self.statistic, chance)
            for measure, part in parts.items():
                part.append(np.atleast_1d(measure.apply(made)))
        return {measure: np.concatenate(part) for measure, part in parts.items()}

    def _jackknife(self, measures: Sequence[Any]) -> dict[Any, float]:
        """Return the jackknife estimates of bias: (n − 1)·(mean without one point − value)."""
        table, sums = self.statistic, dict.fromkeys(measures, 0.0)
        n = float(table.total)
        for some, points in table.leave_one_out():
            for measure in measures:
                sums[measure] += float((measure.apply(some) * points).sum())
        found = {m: (n - 1) * (total / n - float(m.apply(table))) for m, total in sums.items()}
        return {m: bias if math.isfinite(bias) else 0.0 for m, bias in found.items()}

    def _expected_bias(
        self, measures: Sequence[Any], cells: OccupiedCells, share: FloatArray
    ) -> dict[Any, float]:
        """Return the mean bias of measures in samples of the data's size from these proportions."""
        codes = tuple(of.ravel() for of in np.indices(cells.shape))
        random = np.random.Generator(np.random.Philox(self.settings.seed))
        n, shares = round(float(cells.point_counts.sum())), share.ravel() / share.sum()
        drawn = random.multinomial(n, shares, _OF_BIAS).astype(np.float64)
        found = self._values(measures, [(codes, drawn)])
        true = self._values(measures, [(codes, shares[None] * _MANY)], chance=n / _MANY)
        off = {m: _nanmean(found[m]) - float(true[m][0]) for m in measures}
        return {m: bias if math.isfinite(bias) else 0.0 for m, bias in off.items()}

    def difference_draws(self, other: PartitionRows, measure: Any) -> FloatArray:
        """Return draws of the difference from another clustering of the same points."""
        kept, key = self._paired_draws, (other, measure)
        if key not in kept:
            kept.clear()
            shape = len(self.classes), len(self.clusters), len(other.clusters)
            codes = self.truth, self.cluster, other.cluster
            cells = OccupiedCells.from_codes(codes, shape, self.point_counts)
            measures = list(dict.fromkeys((measure, *self.joint_measures)))
            for one, (drawn, alone) in self._cell_differences(other, measures, cells).items():
                value = float(one.apply(self.statistic) - one.apply(other.statistic))
                kept[other, one] = drawn - _nanmean(alone) + value
        return kept[key]

    def _cell_differences(
        self, other: PartitionRows, measures: Sequence[Any], cells: OccupiedCells
    ) -> dict[Any, tuple[FloatArray, FloatArray]]:
        """Return draws of the differences, with the prior and without it."""
        found = [
            [
                of._values(measures, cells.likely(self.settings, draws), axis)
                for of, axis in ((self, 1), (other, 2))
            ]
            for draws in (None, _OF_BIAS)
        ]
        return {m: tuple(ours[m] - theirs[m] for ours, theirs in found) for m in measures}  # type: ignore[misc]

    def _interval(self, measure: MeasureLike, level: float) -> Interval:
        if len(self.statistic.held) == 1 == len(self.classes) * len(self.clusters):
            return intervals.no_interval(METHOD, "no_spread")  # no other table can be drawn
        found = self.posterior_draws(measure)
        if not np.isfinite(found.draws).all():
            return intervals.no_interval(METHOD, "undefined_replicates")
        value = float(measure.apply(self.statistic))
        # Of one cluster draws of most measures are what they are but for rounding.
        low, high = (value if abs(end - value) <= ROUNDING else end for end in found.limits(level))
        return Interval(low, high, METHOD, se=float(np.std(found.draws)))


def _nanmean(values: FloatArray) -> float:
    """Return the mean of the values that are not NaN; NaN if there are none."""
    there = values[~np.isnan(values)]
    return float(there.mean()) if len(there) else math.nan


@dataclass(frozen=True, eq=False)
class _PartitionDistribution:
    """Joint distribution of two clusterings of the same points.

    The cells of class × first × second are drawn together.
    """

    measure: Any
    partition: PartitionRows

    def difference(self, first: PointEstimate, second: PointEstimate) -> PointEstimate:
        """Return the difference of two point estimates, with a standard error from the draws.

        It is that of a normal distribution whose limits reach as far as the draws do, and as far as
        the difference of the biases allows.
        """
        assert isinstance(second.joint_distribution, _PartitionDistribution)
        other, measure = second.joint_distribution.partition, self.measure
        known = bool(np.isfinite(first.value - second.value))

        def error() -> StandardError | Interval:
            if not known:
                return intervals.no_interval("none", "undefined_value")
            value = first.value - second.value
            low, high = np.quantile(
                self.partition.difference_draws(other, measure), _TAILS
            ).tolist()
            more = (
                self.partition.posterior_draws(measure).biases
                - other.posterior_draws(measure).biases
            )
            low, high = low - max(0.0, *more), high - min(0.0, *more)
            return StandardError(max(value - low, high - value) / _NORMAL, METHOD)

        def moved() -> Influence:
            return self.partition.influence(measure) - other.influence(measure)

        def groups() -> UnitGroups:
            """Return the influence of groups of identical points."""
            held = self.partition.point_counts
            assert held is not None
            moved = self.partition.slopes(measure) - other.slopes(measure)
            return UnitGroups(moved * held.sum(), held, held, held)

        return first.difference(
            second,
            influence=moved,
            error=error,
            unit_groups=None if self.partition.point_counts is None else groups,
        )
