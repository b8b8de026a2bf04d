"""Paired comparison of the systems of one evaluation."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import combinations
from typing import Any

import numpy as np

from calipers.caching import LazySequence, cached_property
from calipers.data.errors import InputError, did_you_mean, format_value
from calipers.estimation.human_labels import judged_sample
from calipers.evaluation.arguments import validate_arguments
from calipers.evaluation.difference_families import (
    MAX_T,
    TUKEY_TESTS,
    DifferenceFamily,
    DifferenceStatistics,
    DifferenceTable,
    make_families,
)
from calipers.evaluation.folds import FoldValues
from calipers.evaluation.former_values import current_value
from calipers.evaluation.options import MAX_RESAMPLES, inference_provenance, make_settings
from calipers.evaluation.shared import TASKS_WITHOUT_ROWS, ComparisonSource, check_not_judge
from calipers.inference import hypotheses, omnibus
from calipers.inference.forecasts import DIEBOLD_MARIANO
from calipers.inference.hypotheses import (
    ALTERNATIVES,
    DEFAULT_HYPOTHESIS,
    MCNEMAR_TESTS,
    TESTS,
    Hypothesis,
)
from calipers.inference.intervals import no_interval
from calipers.inference.max_statistic import PairVectors
from calipers.inference.method_selection import has_unit_rule
from calipers.inference.multiplicity import ADJUSTMENTS, FAMILY_WISE
from calipers.inference.point_estimate import PointEstimate, UnitValues
from calipers.inference.procedures import Procedure
from calipers.inference.settings import Settings
from calipers.inference.unit_procedures import UnitMeans, UnitProcedures
from calipers.inference.variance_estimators import StandardError
from calipers.lazy_dataclasses import dataclass, replace
from calipers.measures import Measure, parse_by_task
from calipers.progress import track
from calipers.results import Comparison, Difference, Evaluation, OmnibusTest
from calipers.statistics.histogram import MAX_GROUPS

#: Adjustments for multiplicity by option: name and error rate. The first three are also tests.
ADJUSTMENT_METHODS: Mapping[str, tuple[str, str]] = {
    MAX_T: ("max-t", FAMILY_WISE),
    **{method: (name, FAMILY_WISE) for method, name in TUKEY_TESTS.items()},
    **{name: (way.name, way.controlled_rate) for name, way in ADJUSTMENTS.items()},
}

Margin = float | Mapping[str, float] | None


@validate_arguments
def compare(
    evaluation: Evaluation,
    *,
    baseline: str | None = None,
    test: str = "auto",
    alternative: str = "two-sided",
    adjust: str = MAX_T,
    primary: str | None = None,
    margin: Margin = None,
    horizon: int | None = None,
    interval: str | Sequence[str] | None = None,
    level: float | None = None,
    n_resamples: int | None = None,
    seed: int | None = None,
) -> Comparison:
    """Compute paired differences of an evaluation's systems, each with an interval and a test.

    Interval and test belong to one procedure. For means over topics, accuracies and losses of rows
    this is Student's t or the Bayesian bootstrap of the mean difference, whichever is wider. For
    AUC, AP, PR-AUC, R² and similar measures it is the same procedure on influence values of the
    rows. For other measures of counts and scores it is the paired bootstrap. Where several
    differences are tested at once, their intervals are simultaneous.

    Parameters
    ----------
    evaluation : Evaluation
        Evaluation of at least two systems, computed from data.
    baseline : str, optional
        Reference system. By default all pairs are compared, the later minus the earlier.
    test : str, default='auto'
        ``"auto"``, or one test for all measures that it applies to: ``"t"``, ``"wilcoxon"``,
        ``"sign"`` and ``"randomization"`` on values per unit; ``"bootstrap"``; ``"normal"``, the
        difference divided by its standard error; ``"mcnemar"`` and ``"mid-p"`` on accuracies;
        ``"diebold-mariano"`` on mean losses of forecasts.
    alternative : {'two-sided', 'better', 'worse', 'greater', 'less'}, default='two-sided'
        ``"two-sided"``; ``"better"`` or ``"worse"``, one-sided in the direction of the measure; or
        ``"greater"`` or ``"less"``, one-sided for the difference itself.
    adjust : str, default='max-t'
        Adjustment of p-values and intervals for multiplicity, in two families: all pairs of the
        primary measure, and all pairs of all other measures. ``"max-t"`` (the default) uses the
        null distribution of the largest difference of the family (single-step max-t); ``"holm"``
        (used instead if a test is named), ``"bonferroni"`` and ``"benjamini-hochberg"`` multiply
        p-values; ``"none"`` does not adjust. ``"tukey"``, the randomized Tukey HSD, replaces the
        test where there are values per unit, separately for each measure; ``"tukey-anova"`` is
        Tukey's HSD of the two-way analysis of variance, which assumes normal residuals.
    primary : str, optional
        Primary measure. By default the first one.
    margin : float or dict of float, optional
        Largest difference that counts as equivalent, stated in advance: one number, or one for each
        measure. Non-inferiority and equivalence are then tested as well.
    horizon : int, optional
        Number of steps ahead of the forecasts, for ``test="diebold-mariano"``. The default is 1.
        Above 1 the test takes one row per time, in the order of ``time=`` of the evaluation.
    interval : str or list of str, optional
        Method of the intervals. By default that of the evaluation.
    level : float, optional
        Confidence level. By default that of the evaluation.
    n_resamples : int, optional
        Number of bootstrap replicates. By default that of the evaluation.
    seed : int, optional
        Seed of all random numbers. By default that of the evaluation.

    Returns
    -------
    Comparison
        All differences, with intervals, p-values and adjusted p-values.

    Raises
    ------
    InputError
        If the evaluation was read from a file without its data, or has only one system; if the
        baseline or an option is unknown; or if the test applies to none of the measures.

    Examples
    --------
    >>> import calipers as cal
    >>> truth = [1, 1, 1, 0, 0, 0, 1, 0]
    >>> a, b = [.9, .8, .3, .4, .2, .1, .7, .6], [.4, .8, .3, .7, .2, .6, .5, .9]
    >>> ev = cal.classification(truth, score={"a": a, "b": b}, measures=["AUC"])
    >>> round(ev.compare(baseline="b")["AUC"].value, 4)
    0.5
    """
    source = evaluation.sources
    if evaluation.task in TASKS_WITHOUT_ROWS:
        raise InputError(TASKS_WITHOUT_ROWS[evaluation.task])
    check_not_judge(evaluation)
    if source is None:
        raise InputError(
            "evaluation: was read from a file without its data; expected one computed from data"
        )
    source_settings, requested_interval = source.settings, interval
    if interval is None:
        interval = source_settings.requested_text if source_settings.interval != "none" else "auto"
    settings = make_settings(
        interval,
        source_settings.level if level is None else level,
        source_settings.n_resamples if n_resamples is None else n_resamples,
        source_settings.seed if seed is None else seed,
    )
    test, adjust = current_value("test", test), current_value("adjust", adjust)
    check_option("test", test, TESTS)
    check_option("alternative", alternative, ALTERNATIVES)
    check_option("adjust", adjust, ADJUSTMENT_METHODS)
    n_steps = _check_horizon(test, horizon)
    primary = None if primary is None else evaluation.canonical_name(primary)
    if isinstance(margin, Mapping):
        margin = {evaluation.canonical_name(name): value for name, value in margin.items()}
    if isinstance(source, FoldValues):
        unsupported = {
            "interval": requested_interval,
            "n_resamples": n_resamples,
            "seed": seed,
            "margin": margin,
        }
        comparison = source.compare(
            baseline=baseline, alternative=alternative, primary=primary, level=level,
            test=None if test == "auto" else test, adjust=None if adjust == MAX_T else adjust,
            **unsupported,
        )  # fmt: skip
        return replace(
            comparison,
            requested_names=evaluation.requested_names,
            provenance={**evaluation.provenance, **comparison.provenance},
        )
    hypothesis, existing_comparison = (
        Hypothesis(test, alternative, horizon=n_steps),
        evaluation.comparison,
    )
    is_default = (hypothesis, adjust, margin, settings) == (
        DEFAULT_HYPOTHESIS,
        MAX_T,
        None,
        source_settings,
    )
    if (
        is_default
        and existing_comparison is not None
        and existing_comparison.baseline == baseline
        and primary in (None, existing_comparison.primary)
    ):
        comparison = existing_comparison  # every pair has been computed already
    else:
        comparison = paired_comparison(
            source, baseline, settings, hypothesis, primary=primary, adjust=adjust, margin=margin
        )
    return replace(
        comparison,
        per_unit=evaluation.per_unit,
        requested_names=evaluation.requested_names,
        provenance={**evaluation.provenance, **inference_provenance(settings)},
    )


def _check_horizon(test: str, horizon: int | None) -> int:
    """Return the checked forecast horizon, in steps."""
    if horizon is None:
        return 1
    if test != DIEBOLD_MARIANO:
        raise InputError(f"horizon= goes with test={DIEBOLD_MARIANO!r}; test is {test!r}")
    if horizon < 1:
        raise InputError(f"horizon is {horizon}, expected a number of steps, 1 or more")
    return horizon


def check_option(name: str, value: object, choices: Iterable[str]) -> None:
    """Check that the value of an option is one of the known values."""
    choices = tuple(choices)
    if not (isinstance(value, str) and value in choices):
        raise InputError(f"{name} is {format_value(value)}, expected one of {', '.join(choices)}")


def paired_comparison(
    source: ComparisonSource,
    baseline: str | None,
    settings: Settings,
    hypothesis: Hypothesis = DEFAULT_HYPOTHESIS,
    *,
    primary: str | None = None,
    adjust: str = MAX_T,
    margin: Margin = None,
) -> Comparison:
    """Compute all differences of a source's systems, adjusted for multiplicity in two families.

    The families are the differences of the primary measure and those of all other measures.
    """
    pairs = system_pairs(source.systems, baseline)
    # The distribution of the maximum is known only for the default test.
    method = adjust if adjust != MAX_T or hypothesis.test == "auto" else "holm"
    options = ComparisonOptions(source, settings, hypothesis, margin)
    # Simultaneous limits replace those of the single differences, whose names tell of requested
    # methods.
    has_limits = method != MAX_T or len(pairs) < 2 or bool(settings.methods)
    statistics_by_measure = options.statistics_by_measure(
        pairs, primary, with_vectors=method not in ("none", *TUKEY_TESTS), with_limits=has_limits
    )
    _check_margins(margin, list(statistics_by_measure))
    if not statistics_by_measure:
        return Comparison((), settings.level, "none", baseline, error_rate="nothing")
    primary_name = str(_find_primary(primary, list(statistics_by_measure)))
    families = [
        DifferenceFamily(family_statistics, source, baseline, settings, options.recompute)
        for family_statistics in make_families(statistics_by_measure, primary_name)
    ]
    differences_by_measure: dict[Measure, list[Difference]] = {}
    for test_family in families:
        differences_by_measure |= test_family.adjust(method)
    name, controls = ADJUSTMENT_METHODS[
        method if any(test_family.n_differences > 1 for test_family in families) else "none"
    ]
    return Comparison(
        tuple(row for measure in statistics_by_measure for row in differences_by_measure[measure]),
        settings.level,
        name,
        baseline,
        primary=primary_name,
        error_rate=controls,
        notes=(*source.notes, *(note for family in families for note in family.notes)),
        omnibus=LazyOmnibusTests(
            lambda: _omnibus_tests(
                source, {m: differences_by_measure[m][0] for m in statistics_by_measure}, settings
            )
        ),
    )


def _find_primary(name: str | None, measures: Sequence[Measure]) -> Measure:
    """Return the primary measure: the named one, or the first."""
    if name is None:
        return measures[0]
    measures_by_name, parsed_names = (
        {str(measure): measure for measure in measures},
        map(str, parse_by_task(name)),
    )
    matches = [measures_by_name[text] for text in (name, *parsed_names) if text in measures_by_name]
    if not matches:
        raise InputError(
            f"primary: {name!r} is not a compared measure; "
            f"{did_you_mean(name, list(measures_by_name))}"
        )
    return matches[0]


def system_pairs(systems: Sequence[str], baseline: str | None) -> list[tuple[str, str]]:
    """Return the pairs (system, baseline) to compare."""
    if len(systems) < 2:
        raise InputError(f"there is one system only ({systems[0]!r}); a comparison needs two")
    if baseline is None:
        return [(later, earlier) for earlier, later in combinations(systems, 2)]
    if baseline not in systems:
        raise InputError(
            f"baseline {baseline!r} is not a system; {did_you_mean(baseline, systems)}"
        )
    return [(system, baseline) for system in systems if system != baseline]


def _measure_margin(margin: Margin, measure: Measure) -> float | None:
    """Return the margin of a measure, or None."""
    value = margin.get(str(measure)) if isinstance(margin, Mapping) else margin
    if value is not None and not 0 < value < math.inf:
        raise InputError(f"margin is {format_value(value)}, expected a number above 0")
    return value


def _check_margins(margin: Margin, measures: Sequence[Measure]) -> None:
    """Check that margins are given only for measures that are compared."""
    names = [str(measure) for measure in measures]
    for name in margin if isinstance(margin, Mapping) else ():
        if name not in names:
            raise InputError(
                f"margin: {name!r} is not a compared measure; {did_you_mean(name, names)}"
            )


@dataclass(frozen=True)
class ComparisonOptions:
    """Options of a comparison: its source, settings, hypothesis and margins."""

    source: ComparisonSource
    settings: Settings
    hypothesis: Hypothesis
    margin: Margin

    def statistics_by_measure(
        self,
        pairs: Sequence[tuple[str, str]],
        primary: str | None,
        *,
        with_vectors: bool,
        with_limits: bool = True,
    ) -> Mapping[Measure, Sequence[DifferenceStatistics]]:
        """Compute the statistics of each difference, by measure.

        Without limits the interval of a single difference is left out.
        """
        tables = {} if with_limits else self._difference_tables(pairs)
        by_measure: dict[Measure, tuple[str, Hypothesis, list[DifferenceStatistics]]] = {}
        is_applicable, has_weights, has_separate_samples, is_reduced = False, False, False, False
        # One at a time, so that the replicates of each difference are released.
        total = len(pairs) * len(self.source.measures)
        pair_vectors = PairVectors.for_pairs(pairs, len(self.source.measures))
        # None are all of them.
        measures = frozenset(self.source.measures) - tables.keys() if tables else None
        has_remaining = measures is None or len(measures) > 0
        differences = (
            self.source.differences(pairs, self.settings, measures) if has_remaining else ()
        )
        n_steps = total - len(pairs) * len(tables)
        for pair, measure, estimate in track(differences, "comparing", n_steps):
            if measure not in by_measure:
                margin = _measure_margin(self.margin, measure)
                by_measure[measure] = str(measure), replace(self.hypothesis, margin=margin), []
            name, hypothesis, statistics = by_measure[measure]
            is_applicable = is_applicable or hypotheses.is_applicable(
                estimate, hypothesis.test, hypothesis.horizon
            )
            has_separate_samples = has_separate_samples or estimate.procedure_by_method is not None
            has_weights = has_weights or (
                isinstance(estimate.units, UnitValues) and not estimate.units.is_unweighted
            )
            is_reduced = is_reduced or estimate.is_reduced
            # A difference that is a family by itself is adjusted for nothing.
            is_primary = len(by_measure) == 1 if primary is None else primary == name
            is_single = len(pairs) == 1 and is_primary
            fields, procedure = _difference_fields(
                name, *pair, estimate, hypothesis, with_limits=with_limits
            )
            n_tests = total if with_vectors and not is_single else 0
            statistics.append(
                DifferenceStatistics.from_estimate(
                    estimate, fields, procedure, n_tests=n_tests, pair_vectors=pair_vectors
                )
            )
        if by_measure and not is_applicable:
            reason = (
                "; it counts every unit alike, and these are weighted or in clusters" * has_weights
            )
            if is_reduced:
                reason = "; it may take all rows, which requires engine='memory'"
            if self.hypothesis.test in MCNEMAR_TESTS and not (has_weights or is_reduced):
                reason = (
                    "; it counts the rows that one of two systems has right and the other wrong, "
                    "so it takes proportions (accuracy, pass-rate) of rows of which both have a "
                    "value"
                )
            if has_separate_samples:
                reason = "; independent samples have 'auto', 'bootstrap' and 'normal'"
            elif self.hypothesis.test == DIEBOLD_MARIANO:
                reason = (
                    "; it takes means of one loss a row (MSE, MAE), of rows that count alike, and "
                )
                reason += "of more than one step one row a time, in the order of time="
            raise InputError(
                f"the test {self.hypothesis.test!r} applies to none of the measures{reason}"
            )
        statistics_by_measure = {m: statistics for m, (_, _, statistics) in by_measure.items()}
        if not tables:
            return statistics_by_measure
        all_statistics = {**statistics_by_measure, **tables}
        return {m: all_statistics[m] for m in self.source.measures if m in all_statistics}

    def _difference_tables(
        self, pairs: Sequence[tuple[str, str]]
    ) -> dict[Measure, DifferenceTable]:
        """Compute the statistics of measures whose differences are those of a table of units."""
        tables: dict[Measure, DifferenceTable] = {}
        if self.hypothesis != DEFAULT_HYPOTHESIS:
            return tables
        for measure in self.source.measures:
            has_margin = _measure_margin(self.margin, measure) is not None
            is_directed = measure.definition.higher_is_better is not None
            means = (
                self.source.unit_means(measure, self.settings)
                if is_directed and not has_margin
                else None
            )
            table = None if means is None else self._difference_table(pairs, measure, means)
            if table is not None:
                tables[measure] = table
        return tables

    def _difference_table(
        self, pairs: Sequence[tuple[str, str]], measure: Measure, means: UnitMeans
    ) -> DifferenceTable | None:
        """Return the table of a measure, or None if its differences are computed in another way.

        Pairs that hardly differ are computed one by one.
        """
        difference = means.estimates[pairs[0][0]] - means.estimates[pairs[0][1]]
        error = difference.standard_error
        has_units = 2 <= means.values.shape[1] <= MAX_GROUPS and np.isfinite(means.values).all()
        if not (has_units and has_unit_rule(difference) and isinstance(error, StandardError)):
            return None
        index_by_name = {name: j for j, name in enumerate(means.estimates)}
        pair_indices = np.array([[index_by_name[name] for name in pair] for pair in pairs])
        procedures = UnitProcedures.from_table(
            means.values, pair_indices, difference.bounds, error.name
        )
        regular_mask = procedures.is_regular(self.settings.level)
        if not regular_mask.any():
            return None
        first_regular = int(regular_mask.argmax())
        indices: list[int] = [first_regular, *np.flatnonzero(~regular_mask).tolist()]
        single_differences = self.source.differences(
            [pairs[index] for index in indices], self.settings, [measure]
        )
        statistics = {}
        for index, (pair, _, estimate) in zip(indices, single_differences, strict=True):
            fields, procedure = _difference_fields(
                str(measure), *pair, estimate, self.hypothesis, with_limits=False
            )
            statistics[index] = DifferenceStatistics(fields, procedure)
        shared_fields = statistics.pop(first_regular).fields
        return DifferenceTable.from_procedures(
            shared_fields, pairs, procedures, means.estimates, statistics
        )

    def recompute(
        self, names: Sequence[tuple[str, str, str]], n_resamples: int
    ) -> dict[tuple[str, str, str], DifferenceStatistics]:
        """Recompute some differences (measure, system, baseline) from more replicates."""
        settings = replace(self.settings, n_resamples=min(n_resamples, MAX_RESAMPLES))
        pairs = list(dict.fromkeys((system, baseline) for _, system, baseline in names))
        recomputed = {}
        for pair, measure, estimate in self.source.differences(pairs, settings):
            key = (str(measure), *pair)
            if key in names:
                hypothesis = replace(self.hypothesis, margin=_measure_margin(self.margin, measure))
                fields, procedure = _difference_fields(*key, estimate, hypothesis)
                recomputed[key] = DifferenceStatistics.from_estimate(
                    estimate, fields, procedure, n_tests=0
                )
        return recomputed


def _difference_fields(
    measure: str,
    system: str,
    baseline: str,
    estimate: PointEstimate,
    hypothesis: Hypothesis,
    *,
    with_limits: bool = True,
) -> tuple[dict[str, Any], Procedure]:
    """Return the fields of a single difference, and the procedure of its interval and tests.

    Fields that are computed jointly from the standard errors of all differences are left to the
    caller, and so are the limits of the interval without ``with_limits``.
    """
    procedure = hypotheses.procedure(estimate, hypothesis)
    interval = (
        hypotheses.interval(estimate, hypothesis)
        if with_limits or estimate.settings.interval == "none"
        else no_interval("none", "not_requested")
    )
    test = procedure.test(0.0, hypothesis.direction(estimate.higher_is_better))
    higher_is_better = estimate.higher_is_better
    noninferiority = hypotheses.non_inferiority_result(
        procedure, hypothesis.margin, higher_is_better=higher_is_better
    )
    equivalence = hypotheses.equivalence_result(procedure, hypothesis.margin)
    fields = {
        "measure": measure,
        "system": system,
        "baseline": baseline,
        "value": estimate.value,
        "low": interval.low,
        "high": interval.high,
        "level": estimate.settings.level,
        "method": interval.method,
        "p": test.p,
        "test": test.name,
        "alternative": test.alternative,
        "effect_size": hypotheses.effect_size(estimate),
        "n": estimate.n,
        "unit": estimate.unit,
        "undefined": estimate.undefined,
        "interval_reason": interval.reason,
        "higher_is_better": estimate.higher_is_better,
        "differing": procedure.n_differing,
        "standard_error": procedure.standard_error.se,
        "margin": math.nan if hypothesis.margin is None else hypothesis.margin,
        "p_noninferiority": math.nan if noninferiority is None else noninferiority.p,
        "p_equivalence": math.nan if equivalence is None else equivalence.p,
        "margin_test": None if noninferiority is None else noninferiority.name,
        **hypotheses.win_tie_loss(estimate),
        "judged": judged_sample(estimate),
    }
    return fields, procedure


class LazyOmnibusTests(LazySequence[OmnibusTest]):
    """Omnibus tests that are computed on first access.

    The import of the part of SciPy that Nemenyi's test needs takes longer than most comparisons.
    """

    def __init__(self, make: Callable[[], Sequence[OmnibusTest]]) -> None:
        self._make = make

    @cached_property
    def _items(self) -> Sequence[OmnibusTest]:
        return self._make()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sequence) and tuple(self) == tuple(other)

    def __reduce__(self) -> tuple[Any, ...]:
        return tuple, (tuple(self),)  # a copy does not take the data along

    def __hash__(self) -> int:
        return hash(tuple(self))


def _omnibus_tests(
    source: ComparisonSource, differences: Mapping[Measure, Difference], settings: Settings
) -> tuple[OmnibusTest, ...]:
    """Test whether any system differs, for measures that are means of values per unit.

    ``differences`` holds one difference of each measure, which gives its unit and direction.
    """
    systems, out = tuple(source.systems), []
    if len(systems) < 3:
        return ()
    for measure, difference in differences.items():
        if source.unit_weights(measure) is not None:  # which these tests do not know
            continue
        sums = source.unit_sums(measure)
        if sums is None or sums.n_units < 2:
            continue
        friedman, anova = omnibus.friedman_of_sums(sums), omnibus.anova_of_sums(sums)
        critical = omnibus.critical_difference(len(systems), sums.n_units, settings.level)
        groups = omnibus.homogeneous_groups(friedman.mean_ranks, critical)
        out.append(
            OmnibusTest(
                measure=str(measure),
                systems=systems,
                means=tuple((sums.unit_mean + sums.means).tolist()),
                mean_ranks=tuple(friedman.mean_ranks.tolist()),
                n=sums.n_units,
                unit=difference.unit,
                level=settings.level,
                friedman_f=friedman.f,
                friedman_p=friedman.p_f,
                critical_difference=critical,
                homogeneous_groups=tuple(tuple(systems[j] for j in group) for group in groups),
                anova_f=anova.f,
                anova_p=anova.p,
                omega_squared=anova.omega_squared,
                higher_is_better=difference.higher_is_better,
            )
        )
    return tuple(out)
