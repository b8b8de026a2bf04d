"""Evaluation in two passes over rows, on any engine.

The first pass accumulates the statistics of the batches, which determine all values. The second
pass maps each row to its influence values, given the statistics of all rows, and stores their inner
products (k² for k estimates), or sums by cluster if rows come in clusters. The result is an
influence function as for rows in memory: an element of a space whose norm is the standard error, to
which the algebra of point estimates applies. The second pass is run on demand: for a single system,
most standard errors follow from the statistics.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from calipers.caching import cached, cached_property
from calipers.engines.base import Engine, identity
from calipers.engines.gram_matrix import (
    Asked,
    GramInfluence,
    as_linear_combination,
    cluster_influence,
)
from calipers.engines.paired_differences import (
    JointConfusion,
    Pair,
    PairDifferences,
    distinct_pairs,
)
from calipers.engines.pass_tasks import (
    BatchSystems,
    BoundStatistics,
    FirstPass,
    FirstPassResult,
    InfluenceTask,
    PairTask,
    SecondPass,
    SecondPassResult,
    SquaredNorm,
)
from calipers.estimation import effective_sample_size
from calipers.estimation.averages import RowSummary
from calipers.estimation.counts import ClassCounts, PairedCounts
from calipers.estimation.effective_sample_size import add_interval
from calipers.estimation.losses import estimate_from_moments, is_mean, loss_derivative
from calipers.estimation.multilabel import RowValues, estimate_defined_rows, reweighted_influence
from calipers.estimation.poisson_bootstrap import add_replicates
from calipers.estimation.rater_agreement import difference_from_items
from calipers.estimation.regression import estimate_from_buffer
from calipers.estimation.scores import table_acceleration
from calipers.estimation.statistic_estimates import apply_measure, estimate_from_statistic
from calipers.inference import intervals
from calipers.inference.clusters import ClusterIndex
from calipers.inference.multinomial_cells import MAX_DRAWN_ROWS, MultinomialCells
from calipers.inference.point_estimate import UnitSummary
from calipers.inference.variance_estimators import Influence
from calipers.statistics import (
    ClassTables,
    ConfusionMatrix,
    Moments,
    NumericMoments,
    NumericRows,
    Ratings,
    ScoreTable,
    StatisticVector,
    UnitDifferences,
)
from calipers.statistics.base import effective_size
from calipers.systems import costs
from calipers.systems.multioutput import StreamedOutputs

if TYPE_CHECKING:
    from calipers.inference.intervals import Interval
    from calipers.inference.point_estimate import PointEstimate
    from calipers.inference.settings import Settings
    from calipers.measures import Measure
    from calipers.statistics import FloatArray, Signs, Statistic
    from calipers.systems.base import SystemOutput

#: The influence of rows is looked up in tables of so many scores at most: where there are more,
#: errors are right to a millionth or so.
MOST_CELLS = 1 << 20


def _one_pass_interval() -> Interval:
    """Return the absent interval of a value that needs a second pass which is impossible."""
    return intervals.no_interval("none", "one_pass")


def _no_auxiliary(systems: Mapping[str, SystemOutput]) -> int:
    return 0


def _limit_cells(of: Any, most: int = MOST_CELLS) -> Any:
    """Compress the tables in which rows are looked up.

    The cells are divided among several tables.
    """
    if isinstance(of, StatisticVector):
        share = max(MOST_CELLS >> 4, 4 * MOST_CELLS // max(len(of.parts), 4))
        return of.map_parts(partial(_limit_cells, most=share))
    return of.compress(most) if isinstance(of, ScoreTable | ClassTables) else of


@dataclass(frozen=True, eq=False)
class TwoPassEvaluation:
    """Evaluation of systems on the same rows in two passes.

    Attributes
    ----------
    engine : Engine
        Engine that has the rows.
    like : dict of SystemOutput
        Systems by name, of the same kinds, on any rows.
    measures : sequence of Measure
        Requested measures.
    build : callable
        Function that creates the systems from a batch.
    columns : sequence of str
        Columns to read.
    bounded : callable
        Function that limits the size of accumulated statistics.
    auxiliary_values : callable
        Function that computes an auxiliary result of every batch, whatever the measures.
    compared_pairs : sequence of tuple of str
        Pairs of systems to compare, the first minus the second.
    looks : callable, optional
        Function that returns what is stored of the inspected rows of a batch.
    extra_requests : sequence of tuple
        Additional pairs of system and measure whose statistics are accumulated.
    unit_of_all : callable, optional
        For a subset of the rows: function that returns the common weight of all rows, if it is
        equal.
    """

    engine: Engine
    like: Mapping[str, SystemOutput]
    measures: Sequence[Measure]
    build: Callable[[Any], BatchSystems] = BatchSystems
    columns: Sequence[str] = ()
    bounded: Callable[[Any], Any] = identity
    auxiliary_values: Callable[[Mapping[str, SystemOutput]], Any] = _no_auxiliary
    #: The pairs of systems that are compared, the first less the second.
    compared_pairs: Sequence[tuple[str, str]] = ()
    #: What is kept of the rows of a batch that are looked at.
    looks: Callable[[BatchSystems], Any] | None = None
    #: What else is added up in the first pass for measures that nobody asked for.
    extra_requests: Sequence[Asked] = ()
    #: Of some rows, what each of all rows weighs where all weigh alike.
    unit_of_all: Callable[[], float] | None = None
    _computed: list[str] = field(default_factory=list)
    _pairs: dict[Any, Any] = field(default_factory=dict)
    _cubes: dict[Asked, float] = field(default_factory=dict)
    _cells: dict[int, FloatArray] = field(default_factory=dict)

    def point_estimate(
        self, system: str, measure: Measure, settings: Settings | None = None
    ) -> PointEstimate | None:
        """Return the point estimate of a measure from the accumulated statistics.

        The influence function is known, bootstrap replicates of rows are not.

        Parameters
        ----------
        system : str
            Name of the system.
        measure : Measure
            Measure to compute.
        settings : Settings, optional
            Settings of inference; by default those of the system.

        Returns
        -------
        PointEstimate or None
            Value with its sampling distribution; None if it cannot be computed from statistics.
        """
        asked, passed = (system, measure), self.first_result
        if asked not in self.statistics:
            return None
        like, statistic = self.like[system], self.statistics[asked]
        (one, own), settings = like.delegate(measure), settings or like.settings
        value, terms = None, one.terms(own) if isinstance(statistic, StatisticVector) else None
        if isinstance(terms, StreamedOutputs):
            assert isinstance(statistic, StatisticVector)
            found, unit = self._second(asked), self.unit
            found = found if found is None or unit == 1 else found.with_unit_weights(unit)
            value, statistic = terms.combined_moments(own, statistic, found)
            own = own.plain

        def moved() -> Influence | None:
            found = self.influences.get(asked)
            return found if found is None or scale == 1 else scale * found

        size = effective_size(passed.weight.total, passed.weight.squares)
        looks = moved, partial(self._second, asked)
        seen = RowSummary(passed.rows, size, passed.clustered, settings, *looks)
        made = self._statistic_estimate(one, own, statistic, seen)
        if made is None:
            return None
        if isinstance(statistic, ConfusionMatrix):  # of many rows that weigh differently
            known = bool(made.resampling_name) and not passed.clustered
            alone, drawn_as = (made.replicates, made.resampling_name) if known else (None, "")
            made = replace(made, standalone_replicates=alone, resampling_name=drawn_as)
        sizes = made.sizes() or (size,)
        scale = self._scale(asked, own, made.value)
        by_cluster = moved() if passed.clustered else None
        some = isinstance(one.sample_for(own), RowValues)
        own_law = None
        by_cluster = (
            reweighted_influence(by_cluster) if some and by_cluster is not None else by_cluster
        )
        if isinstance(statistic, Moments):
            formula, ends = (
                apply_measure(own, statistic),
                getattr(one.sample_for(own), "ends", None),
            )
            made = estimate_from_moments(
                formula, statistic, settings, passed.rows, ends, by_cluster
            )
            if some:
                made = estimate_defined_rows(own, made, statistic, passed.rows)
                own_law = made.joint_distribution
            if self.engine.is_rereadable:
                rate = loss_derivative(formula, made.value, statistic)
                units = UnitSummary(
                    statistic.mean,
                    statistic.effective_size,
                    lambda: None if (of := moved()) is None else (1 / rate) * of,
                    has_weights=passed.weight.has_unequal_weights,
                )
                made = replace(made, units=units, value_is_unit_mean=is_mean(formula))
        elif isinstance(statistic, ClassTables) and not passed.clustered:
            made = replace(made, skewness_size=lambda: self._skewness(asked))
        elif isinstance(statistic, NumericMoments | NumericRows) and not passed.clustered:
            if made.kind == "quantile" and isinstance(statistic, NumericRows):
                made = costs.estimate_from_buffer(own, made, statistic)
            else:
                made = estimate_from_buffer(made, statistic)
        error, methods, clusters = made.error, made.methods, None
        if passed.clustered:
            error = None if by_cluster is None else lambda: by_cluster.error
            clusters = None if by_cluster is None else by_cluster.space.clusters
            methods = methods if clusters is not None and isinstance(statistic, Moments) else {}
            several = isinstance(statistic, ConfusionMatrix) and statistic.classes > 2
            if clusters is not None and several and effective_sample_size.is_class_average(own):
                methods = {"effective rows": partial(self._cell_interval, asked, own)}
        if (error is None or value is not None) and not self.engine.is_rereadable:
            error = _one_pass_interval if self._has_influence(asked) else None
        return replace(
            made,
            value=made.value if value is None else value,
            influence=moved,
            error=error,
            has_unequal_weights=passed.weight.has_unequal_weights,
            clusters=clusters,
            sizes=lambda: sizes,
            methods=methods,
            is_reduced=True,
            joint_distribution=own_law,
            replicates=None,
            stratified_replicates=None,
            studentized_replicates=None,
            jackknife=None,
        )

    def _cell_interval(self, asked: Asked, own: Measure, level: float) -> Interval | None:
        """Compute the interval of an average over classes from the weights of clusters in cells.

        It is None if these weights need too much memory.
        """
        statistic, held = self.statistics[asked], self._cells.get(self.numbers[asked])
        if held is None:
            return None
        assert isinstance(statistic, ConfusionMatrix)
        cluster, place = np.nonzero(held)
        weight, k = held[cluster, place] / self.unit, statistic.classes
        clusters = ClusterIndex(cluster.astype(np.uint32), len(held), weight)
        cells = MultinomialCells.from_flat(place.astype(np.int64), (k, k), weight, clusters)
        return effective_sample_size.class_average_interval(own, statistic, cells, level)

    def _skewness(self, asked: Asked) -> float:
        """Return the skewness over √n of the influence values, if it was accumulated."""
        found = self.influences.get(asked)
        se = 0.0 if found is None else found.error.se
        return abs(self._cubes[asked]) / se**3 if se > 0 else 0.0

    def difference(
        self, pair: tuple[str, str], measure: Measure, settings: Settings | None = None
    ) -> PointEstimate | None:
        """Return the difference of two systems, with the paired information of the rows.

        Parameters
        ----------
        pair : tuple of str
            Names of the systems; the second is subtracted from the first.
        measure : Measure
            Measure to compare by.
        settings : Settings, optional
            Settings of inference; by default those of the systems.

        Returns
        -------
        PointEstimate or None
            Difference with its sampling distribution; None if it cannot be computed from
            statistics.
        """
        first, second = (self.point_estimate(name, measure, settings) for name in pair)
        if first is None or second is None:
            return None
        if not self.engine.is_rereadable:
            return first - second
        if self.first_result.clustered:
            return replace(first - second, signs=lambda: self._signs(pair, measure))
        both = self._both(pair, measure, settings or self.like[pair[0]].settings)
        own = self.like[pair[0]].delegate(measure)[1]
        made = first - second if both is None else both.difference(own, first, second)
        scale = self._scale((pair[0], measure), own, first.value)

        def spread() -> UnitDifferences | None:
            found = self.differing(pair, measure)
            if found is None or scale == 1:
                return found
            return replace(found, spread=found.spread.transform(0.0, times=scale))

        if isinstance(self.statistics[pair[0], measure], Ratings):
            found = self.differing(pair, measure)
            weight = self.first_result.weight
            return (
                made
                if found is None
                else difference_from_items(made, found, weight.total / self.unit)
            )
        return replace(made, unit_spread=spread)

    def _signs(self, pair: tuple[str, str], measure: Measure) -> Signs | None:
        """Return the numbers of rows on which the first system is higher, equal and lower."""
        found = self.differing(pair, measure)
        return None if found is None else found.signs

    def _statistic_estimate(
        self, one: SystemOutput, own: Measure, statistic: Any, seen: RowSummary
    ) -> PointEstimate | None:
        """Return the point estimate that follows from a statistic of all rows."""
        if isinstance(statistic, StatisticVector):
            each = [self._statistic_estimate(one, own.plain, of, seen) for of in statistic.parts]
            made: PointEstimate = one.terms(own).point_estimate(own, each, statistic, seen)
            return made
        second, rows = None if seen.has_clusters else seen.second, (seen.settings, seen.rows)
        found = estimate_from_statistic(own, statistic, *rows, together=True, second=second)
        if found is None or seen.has_clusters or not isinstance(statistic, ScoreTable):
            return found
        formula = apply_measure(own, statistic)
        found, area = add_replicates(formula, found, statistic), formula.definition.area
        if area is None:
            return found

        def acceleration() -> float | None:
            known = table_acceleration(formula, statistic, self.first_result.weight.max_weight)
            return known if known is not None else seen.skewness / 6

        return add_interval(formula, found, [(1.0, found)], acceleration, seen.size)

    def needs_second_pass(self, system: str, measure: Measure) -> bool:
        """Return whether the standard error of a value needs a second pass over the rows."""
        like, whole = self.like[system], self.statistics[system, measure]
        if isinstance(whole, StatisticVector):
            return self._has_influence((system, measure))
        made = estimate_from_statistic(
            like.delegate(measure)[1], whole, like.settings, self.first_result.rows
        )
        if made is None or made.error is not None:
            return False
        return self._has_influence((system, measure))

    def _has_influence(self, asked: Asked) -> bool:
        """Return whether the influence function of a value is known."""
        system, measure = asked
        whole = self.moving.whole[asked]
        if isinstance(whole, StatisticVector) and isinstance(whole.parts[0], ScoreTable):
            return True  # in which the rows of the system at hand would have no place
        return self.like[system].influence(measure, whole) is not None

    def _reduced(self, work: Callable[[Any], Any], kept: Callable[[Any], Any] = identity) -> Any:
        self._computed.append("pass")
        return self.engine.reduce(work, self.columns, kept, f"pass {len(self._computed)}")

    # --- Pass one --------------------------------------------------------------------------------

    @cached_property
    def numbers(self) -> Mapping[Asked, int]:
        """Statistic number of each measure; measures with the same statistic have the same number.

        Measures that take several statistics are absent.
        """
        also = set(self.extra_requests)
        return {asked: number for asked, number in self.all_numbers.items() if asked not in also}

    @cached_property
    def all_numbers(self) -> Mapping[Asked, int]:
        """Numbers of all statistics, including the additional ones."""
        asked = [(name, measure) for name in self.like for measure in self.measures]
        asked += self.extra_requests
        found = [
            self.like[name].batch_statistic(measure) for name, measure in asked
        ]  # and so all are alive
        places: dict[int, int] = {}
        return {
            one: places.setdefault(id(statistic), len(places))
            for one, statistic in zip(asked, found, strict=True)
            if statistic is not None
        }

    @cached_property
    def first_result(self) -> FirstPassResult:
        """First-pass result."""
        work = FirstPass(self.build, self.all_numbers, self.auxiliary_values, self.looks)
        found: FirstPassResult = self._reduced(work, BoundStatistics(self.bounded))
        return found.settled(self.bounded)

    @cached_property
    def unit(self) -> float:
        """Weight of every row if all are equal, which is equivalent to no weight; else 1."""
        if self.unit_of_all is not None:
            return self.unit_of_all()
        weight = self.first_result.weight
        alike = not weight.has_unequal_weights and math.isfinite(weight.max_weight)
        return weight.max_weight if alike and weight.max_weight > 0 else 1.0

    @cached_property
    def statistics(self) -> Mapping[Asked, Statistic]:
        """Statistic of all rows for each measure; equal weights are scaled to 1.

        Measures that take several statistics are absent.
        """
        return {asked: of for asked, of in self.all_statistics.items() if asked in self.numbers}

    @cached_property
    def all_statistics(self) -> Mapping[Asked, Statistic]:
        """Statistics of all rows, including the additional ones."""
        found, unit = self.first_result.statistics, self.unit
        if unit != 1:
            found = {number: of.with_unit_weights(unit) for number, of in found.items()}
        return {
            asked: found[number] for asked, number in self.all_numbers.items() if number in found
        }

    @cached_property
    def _weighted_statistics(self) -> Mapping[Asked, Statistic]:
        """Statistics with the weights as given."""
        return {
            asked: self.first_result.statistics[number] for asked, number in self.numbers.items()
        }

    def _scale(self, asked: Asked, own: Measure, value: float) -> float:
        """Return the ratio of a value with the given weights to that with weights of 1.

        It scales influence values: totals are proportional to the weights, other values do not
        depend on their scale.
        """
        if self.unit == 1 or not math.isfinite(value):
            return 1.0
        statistic = self._weighted_statistics[asked]
        formula = apply_measure(own, statistic)
        if not isinstance(statistic, formula.definition.statistic):
            return 1.0  # sums of which a line is fitted
        given = float(formula.apply(statistic))
        return 1.0 if given == 0 or math.isclose(given, value, rel_tol=1e-6) else value / given

    @cached_property
    def values(self) -> dict[Asked, float]:
        """Value of each measure."""
        return {asked: self._value(*asked) for asked in self.statistics}

    def _value(self, system: str, measure: Measure) -> float:
        found = self.point_estimate(system, measure)
        if found is not None:
            return found.value
        statistic = self.statistics[system, measure]
        own = self.like[system].delegate(measure)[1]
        return float(apply_measure(own, statistic).apply(statistic))

    # --- Pass two --------------------------------------------------------------------------------

    @cached_property
    def moving(self) -> InfluenceTask:
        """Task that computes the influence values of a batch, as far as they are known."""
        few: dict[int, Statistic] = {}
        for of in self._weighted_statistics.values():
            if id(of) not in few:
                few[id(of)] = _limit_cells(of)
        return InfluenceTask(
            self.build, {asked: few[id(of)] for asked, of in self._weighted_statistics.items()}
        )

    @cached_property
    def influences(self) -> Mapping[Asked, Influence]:
        """Influence function of each value; empty if a second pass is impossible."""
        if not self.engine.is_rereadable:
            return {}
        found, asked = self._second_result, list(self.statistics)
        if found.sums:
            return {
                asked[k]: cluster_influence(sums, found.spaces[k].name, pairs=found.spaces[k].pairs)
                for k, sums in found.sums.items()
            }
        if not found.spaces:
            return {}
        space, known = (
            GramInfluence(products=found.products, resampled_value=self._resampled_norm),
            list(found.spaces),
        )
        own = [asked[k] for k in known]
        # One space of each kind, whose root is found once.
        kinds = dict.fromkeys(of.degrees for of in found.spaces.values())
        spaces = {degrees: replace(space, freedom=degrees) for degrees in kinds}
        return {
            one: Influence(
                as_linear_combination(one, own),
                spaces[found.spaces[k].degrees],
                found.spaces[k].name,
            )
            for k, one in zip(known, own, strict=True)
        }

    # --- Pairs of systems ------------------------------------------------------------------------

    @property
    def second(self) -> SecondPass:
        """Task of the second pass."""
        return SecondPass(
            self.moving, self._make_pairs(self.compared_pairs), self.first_result.weight.total
        )

    def _make_pairs(self, systems: Sequence[tuple[str, str]]) -> list[Pair]:
        """Return the comparisons of pairs of systems, by all measures that have a direction."""
        found = []
        for pair in systems:
            for measure in self.measures:
                first, second = (pair[0], measure), (pair[1], measure)
                known = first in self.numbers and second in self.numbers
                if not known or measure.definition.higher_is_better is None:
                    continue
                (one, own), statistic = self.like[pair[0]].delegate(measure), self.statistics[first]
                counted = isinstance(statistic, ConfusionMatrix)
                mean = isinstance(statistic, Moments) and is_mean(apply_measure(own, statistic))
                if mean and isinstance(one.sample_for(own), RowValues):
                    both: Any = statistic, self.statistics[second]
                    mean = all(of.rows == self.first_result.rows for of in both)
                numbers = self.numbers[first], self.numbers[second]
                by_rows = not counted or own.definition.proportion_of is not None
                found.append(
                    Pair(pair, measure, numbers, by_rows, mean, self.first_result.clustered)
                )
        return found

    def compare(self, systems: Sequence[tuple[str, str]]) -> None:
        """Compare all pairs of systems that have not been compared yet, in a single pass.

        Parameters
        ----------
        systems : sequence of tuple of str
            Pairs of names of systems.
        """
        if not self.engine.is_rereadable:
            return
        if set(systems) <= set(self.compared_pairs):
            self._second_result  # noqa: B018
        missing = [pair for pair in systems if pair not in self._pairs]
        if asked := self._make_pairs(missing):
            found = self._reduced(PairTask(self.moving, asked, self.first_result.weight.total))
            self._know(missing, found)

    def _know(self, systems: Sequence[tuple[str, str]], found: PairDifferences) -> None:
        """Store the results for pairs of systems.

        If the most frequent difference was not counted in every batch, another pass is needed.
        """
        asked, spread = self._make_pairs(systems), dict(found.unit_differences)
        unsure = {
            k: replace(asked[k], known_values=of.classes)
            for k, of in spread.items()
            if not of.is_certain
        }
        if unsure:
            work = PairTask(self.moving, list(unsure.values()), self.first_result.weight.total)
            spread.update(zip(unsure, self._reduced(work).unit_differences.values(), strict=True))
        met = {pair.table: found.met.get(at) for at, pair in distinct_pairs(asked)}
        self._pairs.update({pair: {} for pair in systems})
        for at, pair in enumerate(asked):
            own = self._pairs[pair.systems]
            own[pair.measure] = spread.get(at), met[pair.table]

    def differing(self, pair: tuple[str, str], measure: Measure) -> UnitDifferences | None:
        """Return the row-wise differences of two systems, or None if they are unknown."""
        found = self._pair(pair, measure)[0]
        return found if found is None or self.unit == 1 else found.with_unit_weights(self.unit)

    def _pair(
        self, pair: tuple[str, str], measure: Measure
    ) -> tuple[UnitDifferences | None, JointConfusion | None]:
        self.compare([pair])
        found: tuple[UnitDifferences | None, JointConfusion | None]
        found = self._pairs.get(pair, {}).get(measure, (None, None))
        return found

    def _both(
        self, pair: tuple[str, str], measure: Measure, settings: Settings
    ) -> PairedCounts | None:
        """Return the joint counts of truth and both predictions, if they determine the measure."""
        first, second = (self.statistics[name, measure] for name in pair)
        if not (isinstance(first, ConfusionMatrix) and isinstance(second, ConfusionMatrix)):
            return None
        uneven, met = self.first_result.weight.has_unequal_weights, self._pair(pair, measure)[1]
        if met is None or (uneven and self.first_result.rows <= MAX_DRAWN_ROWS):
            return None

        def made() -> PairedCounts | None:
            cells = met.cells(first.classes, self.unit, uneven=uneven)
            together = tuple(
                self.like[pair[0]].delegate(of)[1]
                for of in self.measures
                if self.statistics.get((pair[0], of)) is first
            )
            if cells.needs_row_draws:
                return None
            one, two = (ClassCounts.from_matrix(of, settings, together) for of in (first, second))
            return PairedCounts(one, two, cells)

        return cached(self, ("both", pair, id(first), settings), made)

    @cached_property
    def _second_result(self) -> SecondPassResult:
        """Second-pass result."""
        found: SecondPassResult = self._reduced(self.second)
        self._know(self.compared_pairs, found.pairs)
        asked = list(self.statistics)
        self._cells.update({self.numbers[asked[k]]: of for k, of in found.cells.items()})
        self._cubes.update({asked[k]: sums for k, sums in found.cubes.items()})
        return found

    def _second(self, asked: Asked) -> Any:
        """Return the statistic that a value has from the second pass, or None."""
        if not self.engine.is_rereadable:
            return None
        return self._second_result.seconds.get(list(self.statistics).index(asked))

    def _resampled_norm(self, combination: FloatArray) -> float:
        """Compute the squared norm of a combination of the columns in a separate pass."""
        norm: SquaredNorm = self._reduced(self.moving.norm(combination))
        return norm.squares
