"""Families of differences: those of the primary measure, and those of all other measures.

Each family is adjusted for multiplicity as one, and its intervals are simultaneous.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import field
from itertools import islice
from typing import TYPE_CHECKING, Any, overload

import numpy as np

from calipers.caching import cached_property
from calipers.inference import hypotheses, max_statistic, omnibus
from calipers.inference.intervals import ROUNDING_TOLERANCE, Interval, no_interval
from calipers.inference.max_statistic import (
    MaxStatistic,
    MaxTProcedure,
    PairVectors,
    TestVector,
    VectorDifference,
)
from calipers.inference.method_limits import (
    MAX_PERMUTED_UNITS,
    MAX_RANDOMIZATION_STEPS,
    MAX_RANDOMIZED_UNITS,
    n_randomizations,
    n_replicates_for_adjusted_p,
)
from calipers.inference.multiplicity import ADJUSTMENTS, FAMILY_WISE
from calipers.inference.procedures import Procedure, WaldProcedure, tail_probability
from calipers.inference.two_samples import INDEPENDENT_SAMPLES
from calipers.inference.variance_estimators import StandardError
from calipers.lazy_dataclasses import dataclass, replace
from calipers.report.verdict import significance_level
from calipers.results import Difference

if TYPE_CHECKING:
    from calipers.evaluation.shared import ComparisonSource
    from calipers.inference.point_estimate import PointEstimate
    from calipers.inference.settings import Settings
    from calipers.inference.unit_procedures import UnitProcedures
    from calipers.measures import Measure
    from calipers.statistics import FloatArray

#: The ways that are a test and an adjustment in one.
MAX_T, TUKEY, TUKEY_ANOVA = "max-t", "tukey", "tukey-anova"
#: Names of the variants of Tukey's test.
TUKEY_TESTS = {TUKEY: "randomized Tukey HSD", TUKEY_ANOVA: omnibus.TUKEY_HSD}

#: Maximum level of a test.
_MAX_TEST_LEVEL = 1 - 1e-9

#: Names of simultaneous intervals, by their method.
PERMUTATION_METHOD = "simultaneous, max-t by permutation"
GAUSSIAN_METHOD = "simultaneous, max-t"
FALSE_COVERAGE_METHOD = "false coverage rate"
STEP_METHODS = {"holm": "simultaneous, Holm", "bonferroni": "simultaneous, Bonferroni"}


@dataclass(frozen=True)
class DifferenceStatistics:
    """Fields of a difference, the procedure of its interval and tests, and its influence vector.

    The vector is None if the difference has no influence values, or if it was not requested.
    """

    fields: dict[str, Any]
    procedure: Procedure
    vector: TestVector = None
    #: The column and the slice of the rows that it is of; of all rows, neither.
    slice_key: tuple[str, str] = ("", "")

    @classmethod
    def from_estimate(
        cls,
        estimate: PointEstimate,
        fields: dict[str, Any],
        procedure: Procedure,
        *,
        n_tests: int,
        pair_vectors: PairVectors | None = None,
    ) -> DifferenceStatistics:
        """Build the statistics of a point estimate, with its influence vector if ``n_tests`` > 0.

        A vector of rounding errors would count as another test, or not, by chance. If nothing
        differs, it is 0; if all units differ alike, the vector is unknown. Vectors of many systems
        are stored in ``pair_vectors``.
        """
        names = fields["measure"], fields["system"], fields["baseline"]
        if n_tests and pair_vectors is not None and estimate.influence is not None:
            vector = pair_vectors.difference(*names, _positive_error(estimate))
            if vector is not None:
                return cls(fields, procedure, vector)
        column = None
        if n_tests and estimate.influence is not None:
            column = max_statistic.influence_vector(estimate.influence)
        error = None if column is None else estimate.standard_error
        if column is not None and isinstance(error, StandardError) and error.se == 0:
            is_zero = abs(estimate.value) <= estimate.tolerance
            column = np.zeros_like(column) if is_zero else None
        if column is None:
            return cls(fields, procedure)
        if pair_vectors is None:
            return cls(fields, procedure, max_statistic.sketch_vector(column, n_tests))
        se = _positive_error(estimate) if estimate.clusters is None else math.nan
        return cls(fields, procedure, pair_vectors.reduce(column, *names, se))

    @property
    def value(self) -> float:
        """Value of the difference."""
        return float(self.fields["value"])


@dataclass(frozen=True, eq=False)
class DifferenceTable(Sequence[DifferenceStatistics]):
    """Statistics of the differences of many pairs by one measure, as arrays.

    Items are made when they are read, as by adjustments that treat one difference after another.

    Attributes
    ----------
    shared_fields : dict
        Fields that all differences have in common.
    columns : dict of list
        Fields in which they differ, of all pairs.
    procedures : UnitProcedures
        Their procedures.
    single_statistics : dict of int to DifferenceStatistics
        Those of the pairs that are computed one by one, by index.
    """

    shared_fields: dict[str, Any]
    columns: dict[str, list[Any]]
    procedures: UnitProcedures
    single_statistics: Mapping[int, DifferenceStatistics]

    @classmethod
    def from_procedures(
        cls,
        shared_fields: dict[str, Any],
        pairs: Sequence[tuple[str, str]],
        procedures: UnitProcedures,
        estimates: Mapping[str, PointEstimate],
        single_statistics: Mapping[int, DifferenceStatistics],
    ) -> DifferenceTable:
        """Create it from the fields of one of the differences and the procedures of all."""
        above, equal, below = procedures.signs.T.tolist()
        if shared_fields["higher_is_better"] is False:
            above, below = below, above
        columns = {
            "system": [system for system, _ in pairs],
            "baseline": [baseline for _, baseline in pairs],
            "value": procedures.value.tolist(),
            "p": procedures.p.tolist(),
            "effect_size": procedures.effect_size,
            "undefined": [estimates[system].undefined for system, _ in pairs],
            "differing": procedures.n_differing.tolist(),
            "standard_error": procedures.standard_error.tolist(),
            "wins": above,
            "ties": equal,
            "losses": below,
        }
        return cls(shared_fields, columns, procedures, single_statistics)

    def __len__(self) -> int:
        return len(self.procedures)

    @overload
    def __getitem__(self, index: int) -> DifferenceStatistics: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[DifferenceStatistics]: ...
    def __getitem__(
        self, index: int | slice
    ) -> DifferenceStatistics | Sequence[DifferenceStatistics]:
        if isinstance(index, slice):
            return [self[j] for j in range(len(self))[index]]
        index = range(len(self))[index]
        if index in self.single_statistics:
            return self.single_statistics[index]
        fields = {name: column[index] for name, column in self.columns.items()}
        return DifferenceStatistics({**self.shared_fields, **fields}, self.procedures[index])

    @property
    def pairs(self) -> list[tuple[str, str]]:
        """Systems of each difference."""
        return list(zip(self.columns["system"], self.columns["baseline"], strict=True))

    def adjust(self, maxima: MaxStatistic, level: float, *, has_limits: bool) -> list[Difference]:
        """Return the differences adjusted by a normal maximum statistic.

        Those that are computed one by one have the values of the table, to be replaced.
        """
        procedures, tail = self.procedures, tail_probability(level)
        columns: dict[str, list[Any]] = dict(self.columns)
        low, high = procedures.limits(maxima.single_test_tail(tail))
        low, high = np.minimum(low, procedures.value), np.maximum(high, procedures.value)
        columns["p_adjusted"] = np.maximum(procedures.p, maxima.adjust_p(procedures.p)).tolist()
        columns["min_detectable"] = _minimum_detectable_of_widths(
            procedures.standard_error,
            np.full(len(self), procedures.df),
            (high - low) / 2,
            np.full(len(self), tail),
        )
        shared_fields = self.shared_fields
        if has_limits:
            columns["low"] = np.maximum(low, procedures.bounds[0]).tolist()
            columns["high"] = np.minimum(high, procedures.bounds[1]).tolist()
            shared_fields = {**shared_fields, "method": GAUSSIAN_METHOD, "interval_reason": None}
        shared_fields = {name: x for name, x in shared_fields.items() if name not in columns}
        return [
            Difference(**shared_fields, **dict(zip(columns, row, strict=True)))
            for row in zip(*columns.values(), strict=True)
        ]


def make_families(
    statistics_by_measure: Mapping[Measure, Sequence[DifferenceStatistics]], primary: str | None
) -> list[dict[Measure, Sequence[DifferenceStatistics]]]:
    """Split differences into those of the primary measure and those of all other measures."""
    families: tuple[dict[Measure, Sequence[DifferenceStatistics]], ...] = {}, {}
    for measure, statistics in statistics_by_measure.items():
        families[str(measure) != primary][measure] = statistics
    return [family for family in families if family]


@dataclass(frozen=True)
class DifferenceFamily:
    """Differences by measure that are adjusted together.

    ``recompute`` recomputes some of them from more replicates.
    """

    statistics_by_measure: Mapping[Measure, Sequence[DifferenceStatistics]]
    source: ComparisonSource
    baseline: str | None
    settings: Settings
    recompute: Callable[
        [Sequence[tuple[str, str, str]], int], Mapping[tuple[str, str, str], DifferenceStatistics]
    ]
    notes: list[str] = field(default_factory=list)

    @cached_property
    def all_statistics(self) -> list[DifferenceStatistics]:
        """All differences, measure by measure."""
        return [
            statistics
            for measure_statistics in self.statistics_by_measure.values()
            for statistics in measure_statistics
        ]

    @property
    def n_differences(self) -> int:
        """Number of differences."""
        return sum(map(len, self.statistics_by_measure.values()))

    @cached_property
    def unadjusted(self) -> list[Difference]:
        """Unadjusted differences."""
        tails = [tail_probability(self.settings.level)] * len(self.all_statistics)
        return [
            Difference(**statistics.fields, p_adjusted=statistics.fields["p"], min_detectable=size)
            for statistics, size in zip(
                self.all_statistics, _minimum_detectable(self._procedures, tails), strict=True
            )
        ]

    @property
    def _procedures(self) -> list[Procedure]:
        """Procedures of the single differences."""
        return [statistics.procedure for statistics in self.all_statistics]

    def adjust(self, method: str) -> dict[Measure, list[Difference]]:
        """Return the differences adjusted by a method, by measure."""
        if self.n_differences < 2 or method == "none":
            rows = self.unadjusted
        elif method == MAX_T:
            rows = self._adjust_by_maximum()
        elif method in TUKEY_TESTS:
            rows = self._adjust_by_range(method)
        else:
            rows = self._adjust_by_steps(method)
        remaining = iter(rows)
        return {
            measure: list(islice(remaining, len(measure_statistics)))
            for measure, measure_statistics in self.statistics_by_measure.items()
        }

    # --- Max-t adjustment -------------------------------------------------------------------------

    def _adjust_by_maximum(self) -> list[Difference]:
        """Return differences with p-values and intervals from the distribution of the maximum."""
        orientations = self._orientations
        maxima = self._max_statistic(orientations)
        rows: list[Difference] = []
        for statistics, orientation in zip(
            self.statistics_by_measure.values(), orientations, strict=True
        ):
            if not (isinstance(statistics, DifferenceTable) and maxima.is_normal):
                rows += self._adjust_singly(statistics, maxima, orientation)
                continue
            adjusted = statistics.adjust(maxima, self.settings.level, has_limits=self._has_limits)
            singles = statistics.single_statistics
            for index, row in zip(
                singles,
                self._adjust_singly(list(singles.values()), maxima, orientation),
                strict=True,
            ):
                adjusted[index] = row
            rows += adjusted
        return rows

    def _adjust_singly(
        self, statistics: Sequence[DifferenceStatistics], maxima: MaxStatistic, orientation: int
    ) -> list[Difference]:
        """Return differences by one measure, each adjusted by a procedure of its own."""
        statistics = list(statistics)
        if not statistics:
            return []
        procedures = self._joint_procedures(statistics, maxima, orientation)
        alternative = statistics[0].fields["alternative"]
        p_values = (
            MaxTProcedure.normal_p_values(procedures, 0.0, alternative)
            if maxima.is_normal
            else [procedure.p(0.0, alternative) for procedure in procedures]
        )
        tails = [tail_probability(self.settings.level)] * len(statistics)
        return [
            self._adjusted_row(entry.fields, procedure, p, size)
            for entry, procedure, p, size in zip(
                statistics,
                procedures,
                p_values,
                _minimum_detectable(procedures, tails),
                strict=True,
            )
        ]

    def _adjusted_row(
        self, fields: dict[str, Any], procedure: Procedure, p_adjusted: float, min_detectable: float
    ) -> Difference:
        """Return a difference with the adjusted p-values and interval of a procedure."""
        margin = None if math.isnan(fields["margin"]) else fields["margin"]
        inferior = hypotheses.non_inferiority_result(
            procedure, margin, higher_is_better=fields["higher_is_better"]
        )
        equivalent = hypotheses.equivalence_result(procedure, margin)
        adjusted = {
            "p_adjusted": p_adjusted,
            "min_detectable": min_detectable,
            "p_noninferiority": math.nan if inferior is None else inferior.p,
            "p_equivalence": math.nan if equivalent is None else equivalent.p,
        }
        limits = self._limits(fields["method"], procedure.interval(self.settings.level))
        return Difference(**{**fields, **adjusted, **limits})

    def _replace_limits(self, row: Difference, interval: Interval) -> Difference:
        """Return a difference with other limits, if intervals were requested."""
        limits = self._limits(row.method, interval)
        return replace(row, **limits) if limits else row

    @property
    def _has_limits(self) -> bool:
        """Whether intervals were requested."""
        return self.settings.interval != "none" or bool(self.settings.methods)

    def _limits(self, method: str, interval: Interval) -> dict[str, Any]:
        """Return the fields of other limits, if intervals were requested.

        ``method`` is the method of the limits that they replace.
        """
        if not self._has_limits:
            return {}
        name = interval.method
        if self.settings.methods and not interval.reason:
            name = f"{name}, {method}"
        return {
            "low": interval.low,
            "high": interval.high,
            "method": name,
            "interval_reason": interval.reason,
        }

    def _joint_procedures(
        self, statistics: Sequence[DifferenceStatistics], maxima: MaxStatistic, orientation: int
    ) -> list[MaxTProcedure]:
        """Max-t procedures of the differences by one measure, adjusted for the family."""
        procedures = [entry.procedure for entry in statistics]
        errors = np.full(len(statistics), math.nan)
        if not maxima.is_normal:
            errors = np.array([_standard_error(procedure) for procedure in procedures])
            values = np.array([entry.value for entry in statistics])
            units = np.array([float(entry.fields["n"]) for entry in statistics])
            # A standard error of the size of rounding errors carries no information.
            errors[(errors <= ROUNDING_TOLERANCE * np.abs(values)) & (values != 0)] = math.nan
            errors = max_statistic.floored_standard_errors(values, errors, units)
        return [
            MaxTProcedure(
                value=procedure.value,
                method=_independent_method(
                    GAUSSIAN_METHOD if maxima.is_normal else PERMUTATION_METHOD, procedure
                ),
                name=procedure.name,
                bounds=procedure.bounds,
                standard_error=procedure.standard_error,
                reason=procedure.reason,
                procedure=procedure,
                maxima=maxima,
                sign=orientation,
                se=se,
            )
            for procedure, se in zip(procedures, errors.tolist(), strict=True)
        ]

    @property
    def _orientations(self) -> list[int]:
        """Sign of each measure that makes all one-sided tests of the family point the same way.

        It matters where the alternative is in the direction of the measure itself.
        """
        first_fields = [
            measure_statistics[0].fields
            for measure_statistics in self.statistics_by_measure.values()
        ]
        alternatives = {fields["alternative"] for fields in first_fields}
        is_one_sided = len(alternatives) == 1 and alternatives != {"two-sided"}
        return [
            1 if is_one_sided or fields["higher_is_better"] is not False else -1
            for fields in first_fields
        ]

    def _max_statistic(self, orientations: Sequence[int]) -> MaxStatistic:
        """Return the null distribution of the maximum statistic.

        Values of units are permuted where that is not too costly; otherwise the distribution is
        Gaussian, from the influence vectors of the differences.
        """
        source, settings = self.source, self.settings
        tables = [
            source.permutation_values(measure, settings) for measure in self.statistics_by_measure
        ]
        oriented_tables = [
            unit_table * sign
            for unit_table, sign in zip(tables, orientations, strict=True)
            if unit_table is not None
        ]
        if len(oriented_tables) < len(tables):
            vectors = self._influence_vectors
        else:
            n_units, n_replicates = len(oriented_tables[0]), n_randomizations(settings)
            if (
                n_units <= MAX_RANDOMIZED_UNITS
                and n_units * self.n_differences * n_replicates <= MAX_RANDOMIZATION_STEPS
            ):
                index = None if self.baseline is None else source.systems.index(self.baseline)
                table, weight = np.stack(oriented_tables, axis=2), self._unit_weights(n_units)
                return max_statistic.permuted_maxima(
                    table, index, n_replicates, settings.seed, weight
                )
            vectors = self._unit_vectors(tables)
        slice_keys: list[tuple[str, str]] = []
        signs: list[float] = []
        for statistics, orientation in zip(
            self.statistics_by_measure.values(), orientations, strict=True
        ):
            signs += [orientation] * len(statistics)
            slice_keys += (
                [("", "")] * len(statistics)
                if isinstance(statistics, DifferenceTable)
                else [entry.slice_key for entry in statistics]
            )
        return max_statistic.gaussian_maxima(vectors, settings.seed, slice_keys, signs)

    def _unit_vectors(self, tables: Sequence[FloatArray | None]) -> list[TestVector]:
        """Return the vectors of differences of means of units, from the values of the units."""
        vectors: list[TestVector] = []
        first_statistics = next(iter(self.statistics_by_measure.values()))
        pair_vectors = PairVectors.for_pairs(_get_pairs(first_statistics), len(tables))
        for (measure, measure_statistics), unit_table in zip(
            self.statistics_by_measure.items(), tables, strict=True
        ):
            assert unit_table is not None
            weight = self.source.unit_weights(measure)
            system_pairs = self._system_pairs(measure_statistics)
            if pair_vectors is not None and not np.isnan(unit_table).any():
                deviations = unit_table - np.average(unit_table, axis=0, weights=weight)
                if weight is not None:
                    deviations *= weight[:, None]
                vectors += pair_vectors.reduce_table(deviations, system_pairs)
                continue
            for statistics, (first, second) in zip(measure_statistics, system_pairs, strict=True):
                column = np.nan_to_num(
                    unit_table[:, first] - unit_table[:, second] - statistics.value
                )
                column = column if weight is None else column * weight
                if pair_vectors is None:
                    vectors.append(max_statistic.sketch_vector(column, self.n_differences))
                    continue
                names = statistics.fields["system"], statistics.fields["baseline"]
                vectors.append(pair_vectors.reduce(column, str(measure), *names))
        return vectors

    @property
    def _influence_vectors(self) -> list[TestVector]:
        """Influence vectors; those of undefined differences are 0, as these are not tested."""
        vectors = [statistics.vector for statistics in self.all_statistics]
        pattern = next(
            (
                vector.first if isinstance(vector, VectorDifference) else vector
                for vector in vectors
                if vector is not None
            ),
            np.zeros(1),
        )
        zeros = np.zeros_like(pattern)
        return [
            vector if math.isfinite(statistics.value) else zeros
            for vector, statistics in zip(vectors, self.all_statistics, strict=True)
        ]

    def _unit_weights(self, units: int) -> FloatArray | None:
        """Return the weights of units for each measure, or None if all weights are 1."""
        weights = [self.source.unit_weights(measure) for measure in self.statistics_by_measure]
        if all(weight is None for weight in weights):
            return None
        return np.column_stack([np.ones(units) if w is None else w for w in weights])

    def _system_pairs(self, statistics: Sequence[DifferenceStatistics]) -> list[tuple[int, int]]:
        index_by_name = {name: j for j, name in enumerate(self.source.systems)}
        return [(index_by_name[a], index_by_name[b]) for a, b in _get_pairs(statistics)]

    # --- Other ways -------------------------------------------------------------------------------

    def _adjust_by_steps(self, way: str) -> list[Difference]:
        """Adjust by Holm, Bonferroni or Benjamini–Hochberg.

        P-values are adjusted, and the interval of each difference has the level at which it is
        tested.
        """
        family = self._refine_undecided(way)
        rows = adjust_p_values(family.unadjusted, way)
        tails = _tails(np.array([row.p for row in rows]), way, self.settings.level)
        min_tail = tail_probability(self.settings.level) / max(
            1, np.isfinite([r.p for r in rows]).sum()
        )
        is_family_wise = ADJUSTMENTS[way].controlled_rate == FAMILY_WISE
        sizes = _minimum_detectable(family._procedures, tails)
        adjusted = []
        for row, procedure, tail, size in zip(rows, family._procedures, tails, sizes, strict=True):
            interval = procedure.interval(1 - 2 * tail)
            if is_family_wise:
                simultaneous = procedure.interval(1 - 2 * min_tail)
                interval = (
                    _stepdown_interval(interval, simultaneous)
                    if row.alternative == "two-sided"
                    else simultaneous
                )
            if not interval.reason:
                interval = replace(
                    interval,
                    method=_independent_method(
                        STEP_METHODS[way] if is_family_wise else FALSE_COVERAGE_METHOD, procedure
                    ),
                )
            adjusted.append(self._replace_limits(replace(row, min_detectable=size), interval))
        return adjusted

    def _refine_undecided(self, way: str) -> DifferenceFamily:
        """Return the family with enough replicates for its adjusted p-values.

        A p-value at the resolution limit of the replicates that is not significant after adjustment
        is recomputed from more replicates.
        """
        rows, alpha = self.unadjusted, significance_level(self.settings.level)
        min_p = 2 / (self.settings.n_resamples + 1)
        undecided = [
            row
            for row, after in zip(rows, adjust_p_values(rows, way), strict=True)
            if row.p <= min_p and not after.p_adjusted <= alpha
        ]
        if not undecided:
            return self
        keys = [(row.measure, row.system, row.baseline) for row in undecided]
        recomputed = self.recompute(keys, n_replicates_for_adjusted_p(len(rows), self.settings))

        def refine(statistics: DifferenceStatistics) -> DifferenceStatistics:
            key = (
                statistics.fields["measure"],
                statistics.fields["system"],
                statistics.fields["baseline"],
            )
            return (
                replace(recomputed[key], slice_key=statistics.slice_key)
                if key in recomputed
                else statistics
            )

        statistics_by_measure = {
            measure: [refine(statistics) for statistics in measure_statistics]
            for measure, measure_statistics in self.statistics_by_measure.items()
        }
        return replace(self, statistics_by_measure=statistics_by_measure)

    def _adjust_by_range(self, method: str) -> list[Difference]:
        """Adjust each measure by a variant of Tukey's HSD, or by Holm where that does not apply."""
        adjusted: list[Difference] = []
        for measure, measure_statistics in self.statistics_by_measure.items():
            measure_family = replace(self, statistics_by_measure={measure: measure_statistics})
            values = self.source.unit_values(measure)
            table = None if values is None else values[~np.isnan(values).any(axis=1)]
            weight = self.source.unit_weights(measure)
            if table is not None and len(table) and values is not None and weight is not None:
                defined_weight = weight[~np.isnan(values).any(axis=1)]
                table = (
                    table * (defined_weight / defined_weight.mean())[:, None]
                )  # whose means are weighted
            obstacle = _tukey_obstacle(method, table, weight)
            if table is None or obstacle:
                self.notes.append(
                    f"{measure} is adjusted by Holm: the {TUKEY_TESTS[method]} takes {obstacle}."
                )
                adjusted += (
                    measure_family._adjust_by_steps("holm")
                    if len(measure_statistics) > 1
                    else measure_family.unadjusted
                )
                continue
            if method == TUKEY_ANOVA:
                tukey = omnibus.tukey_hsd(table, self.settings.level)
            else:
                [tukey] = omnibus.randomized_tukey(
                    table, n_randomizations(self.settings), self.settings.seed, self.settings.level
                )
            rows = [
                replace(
                    row,
                    p=math.nan,
                    p_adjusted=float(tukey.p[pair]),
                    test=tukey.name,
                    alternative="two-sided",
                )
                for row, pair in zip(
                    adjust_p_values(measure_family.unadjusted, "holm"),
                    self._system_pairs(measure_statistics),
                    strict=True,
                )
            ]
            mean_differences = [
                float(table[:, a].mean() - table[:, b].mean())
                for a, b in self._system_pairs(measure_statistics)
            ]
            mean_mask = np.isclose(
                mean_differences, [row.value for row in rows], rtol=1e-9, atol=1e-12
            )
            adjusted += [
                measure_family._replace_limits(
                    row,
                    _range_interval(
                        defined_weight,
                        tukey.critical_difference if is_mean else math.nan,
                        f"simultaneous, {TUKEY_TESTS[method]}",
                    ),
                )
                for row, defined_weight, is_mean in zip(
                    rows, measure_family._procedures, mean_mask, strict=True
                )
            ]
        return adjusted


def _independent_method(method: str, procedure: Procedure) -> str:
    """Return the name of a simultaneous method, with the mark of independent samples if needed."""
    return (
        f"{method}, {INDEPENDENT_SAMPLES}"
        if procedure.method.endswith(INDEPENDENT_SAMPLES)
        else method
    )


def _positive_error(estimate: PointEstimate) -> float:
    """Return the standard error; NaN if it is not above 0."""
    error = estimate.standard_error
    return error.se if isinstance(error, StandardError) and error.se > 0 else math.nan


def _standard_error(procedure: Procedure) -> float:
    """Return the standard error by which the difference is studentized."""
    return (
        procedure.t_error.se
        if isinstance(procedure, WaldProcedure)
        else procedure.standard_error.se
    )


def _tukey_obstacle(method: str, table: FloatArray | None, weight: FloatArray | None) -> str:
    """Return what a variant of Tukey's HSD takes and a measure has not; empty if it applies."""
    if method == TUKEY_ANOVA:
        if weight is not None and np.ptp(weight) > 0:
            return "units of equal weight"
        return "values per unit, two or more" if table is None or len(table) < 2 else ""
    if table is None or not 0 < len(table) <= MAX_PERMUTED_UNITS:
        return f"values per unit, up to {MAX_PERMUTED_UNITS:,} of them"
    return ""


def _range_interval(procedure: Procedure, critical: float, method: str) -> Interval:
    """Return the difference ± the critical difference; no interval if the value is not a mean."""
    if math.isnan(critical):
        return no_interval(method, "no_interval_of_test")
    interval = Interval(procedure.value - critical, procedure.value + critical, method).clip(
        *procedure.bounds
    )
    finite = math.isfinite(interval.low) and math.isfinite(interval.high)
    return interval if finite else no_interval(method, "too_few_replicates")


def _tails(p: FloatArray, way: str, level: float) -> list[float]:
    """Return the tail probability of each interval at the level of the adjusted test.

    It is half the largest p-value that would be significant given the p-values of the other tests.
    """
    tail, defined_mask = tail_probability(level), np.isfinite(p)
    n_tests = max(1, int(defined_mask.sum()))
    if way == "none":
        return [tail] * len(p)
    if way == "holm":
        return [
            _holm_tail(np.delete(p, j)[np.delete(defined_mask, j)], tail) for j in range(len(p))
        ]
    if way == "benjamini-hochberg":
        adjusted = ADJUSTMENTS[way].adjust(p)
        n_tests = n_tests / max(1, int(np.count_nonzero(adjusted <= significance_level(level))))  # type: ignore[assignment]
    return [tail / n_tests] * len(p)


def _holm_tail(others: FloatArray, tail: float) -> float:
    """Return the tail probability at the step of Holm's procedure, given the other p-values."""
    number, step = len(others) + 1, 0
    for p in np.sort(others):
        if p > 2 * tail / (number - step):
            break
        step += 1
    return tail / (number - step)


def _stepdown_interval(step: Interval, single_step: Interval) -> Interval:
    """Return simultaneous limits that agree with a step-down test.

    The limits are those of the single-step interval, except that the limit next to 0 is taken from
    the step of Holm's procedure if only that excludes 0.
    """
    if step.reason or single_step.reason:
        return step if single_step.reason else single_step
    low, high = single_step.low, single_step.high
    if low <= 0 < step.low:
        low = step.low
    if high >= 0 > step.high:
        high = step.high
    return replace(step, low=low, high=high)


def _minimum_detectable(procedures: Sequence[Procedure], tails: Sequence[float]) -> list[float]:
    """Return the minimum detectable differences, given the tail probability of each interval."""
    errors = [procedure.standard_error for procedure in procedures]
    return _minimum_detectable_of_widths(
        np.array([error.se for error in errors]),
        np.array([math.nan if error.df is None else error.df for error in errors]),
        np.array([procedure.half_width(x) for procedure, x in zip(procedures, tails, strict=True)]),
        np.array(tails),
    )


def _minimum_detectable_of_widths(
    se: FloatArray, df: FloatArray, widths: FloatArray, tails: FloatArray
) -> list[float]:
    """Return the minimum detectable differences, given half the length of each interval.

    ``df`` is NaN for normal errors.
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        t = np.where((se > 0) & np.isfinite(widths), widths / se, math.nan)
    upper_tails = np.where(
        np.isnan(df),
        max_statistic.t_upper_tail(t, None),
        max_statistic.t_upper_tail(t, np.nan_to_num(df)),
    )
    levels = 1 - 2 * upper_tails
    levels = np.where(levels > 0, levels, 1 - 2 * tails)
    # Levels are capped: where one is 1, the half-width itself is the minimum detectable difference.
    sizes = hypotheses.minimum_detectable_differences(se, df, np.minimum(levels, _MAX_TEST_LEVEL))
    detectable: list[float] = np.where(levels > _MAX_TEST_LEVEL, widths, sizes).tolist()
    return detectable


def _get_pairs(statistics: Sequence[DifferenceStatistics]) -> list[tuple[str, str]]:
    """Return the systems of each difference."""
    if isinstance(statistics, DifferenceTable):
        return statistics.pairs
    return [(entry.fields["system"], entry.fields["baseline"]) for entry in statistics]


def adjust_p_values(rows: Sequence[Difference], adjust: str) -> list[Difference]:
    """Return the differences with p-values adjusted for multiplicity."""
    adjust_p = ADJUSTMENTS[adjust].adjust
    columns = (
        adjust_p(np.array([getattr(row, name) for row in rows])).tolist()
        for name in ("p", "p_noninferiority", "p_equivalence")
    )
    return [
        replace(row, p_adjusted=p, p_noninferiority=inferior, p_equivalence=equivalent)
        for row, p, inferior, equivalent in zip(rows, *columns, strict=True)
    ]
