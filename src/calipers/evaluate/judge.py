"""Evaluation of a judge: its scores against human labels of the same outputs."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np

from calipers import findings
from calipers.caching import cached, cached_property
from calipers.data.arrays import check_length, is_missing, to_array, to_weights
from calipers.data.case_scores import read_label_weights
from calipers.data.class_labels import group_codes, label_name
from calipers.data.errors import InputError, did_you_mean, format_names, format_value
from calipers.data.frequency_weights import RowRepeats
from calipers.data.times import time_codes
from calipers.estimation.case_scores import CaseValues
from calipers.estimation.counts import ClassCounts
from calipers.estimation.losses import RowLosses
from calipers.estimation.permutation import SmallerSubset, draw_subsets, permutation_pool
from calipers.evaluate.case_scores import CaseColumns, CaseRows
from calipers.evaluation.arguments import validate_arguments
from calipers.evaluation.confusion_tables import confusion_result
from calipers.evaluation.estimates import to_estimate
from calipers.evaluation.options import Options
from calipers.evaluation.problems.case_scores import check_common_scale, read_by_system
from calipers.evaluation.problems.labeled_rows import label_sampling_note
from calipers.evaluation.shared import (
    column_name,
    glossary,
    provenance,
    requested_names,
)
from calipers.evaluation.slice_definitions import Bins, SliceDefinition, define_slices
from calipers.evaluation.slices import complement_settings, slice_estimates
from calipers.findings import Subject
from calipers.findings.human_labels import (
    MAX_JUDGED_SYSTEMS,
    ErrorDifference,
    LabeledSystems,
    SystemLabels,
)
from calipers.findings.linear_trend import fit_line
from calipers.inference import hypotheses
from calipers.inference.clusters import ClusterIndex
from calipers.inference.method_limits import n_replicates_for_adjusted_p
from calipers.inference.multiplicity import holm
from calipers.inference.two_samples import student_result
from calipers.inference.variance_estimators import StandardError
from calipers.lazy_dataclasses import dataclass
from calipers.measures import parse
from calipers.measures.judge import TASK, mean_error_measure
from calipers.report.numbers import format_count
from calipers.results import Estimate, Evaluation, JudgeBias
from calipers.results.estimate import DEFAULT_SYSTEM_NAME
from calipers.statistics import ConfusionMatrix, Ratings
from calipers.systems.raters import Raters

if TYPE_CHECKING:
    import numpy.typing as npt

    from calipers.data.case_scores import ScoreColumn
    from calipers.estimation.permutation import PermutationPool, PermutationResult
    from calipers.inference.point_estimate import PointEstimate
    from calipers.inference.settings import Settings
    from calipers.measures import Measure
    from calipers.results import ConfusionBase, Finding
    from calipers.statistics import FloatArray

#: Name of the outputs of all systems together.
ALL_SYSTEMS = "all systems"
#: Scores of more different values are numbers, without a table of grades.
MAX_GRADES = 12
#: Columns that biases may depend on: with a value for each output, or for each case.
OUTPUT_COLUMNS, CASE_COLUMNS = ("first", "length"), ("judge_system", "judged_at")
#: A covariate that varies less than this proportion of itself, given the others, is constant.
_NO_VARIATION = 1e-9


@validate_arguments
def judge(
    score: Any = None,
    *,
    human: Any = None,
    case: Any = None,
    system: str | None = None,
    human_weight: Any = None,
    first: Any = None,
    length: Any = None,
    judge_system: Any = None,
    judged_at: Any = None,
    own_systems: str | Sequence[str] | None = None,
    weight: Any = None,
    count: Any = None,
    cluster: Any = None,
    slices: Any = None,
    slice_bins: Bins | None = None,
    data: Any = None,
    interval: str | Sequence[str] = "auto",
    level: float = 0.95,
    n_resamples: int = 2000,
    seed: int = 0,
    inputs: Sequence[Any] = (),
) -> Evaluation:
    """Evaluate a judge, such as a language model, against human labels of the same outputs.

    The judge is the instrument that is examined, not the systems whose outputs it scored: how far
    it agrees with people, and whether its errors depend on the system, or on what should not matter
    (position, length, whose output it is, time).

    Parameters
    ----------
    score : array-like of shape (n,), or dict of such, optional
        Score of each case by the judge: numbers, ``pass`` or ``fail``, ``true`` or ``false``. For
        several systems a dict or data frame from their names to columns. With ``system``, the name
        of the column of all scores.
    human : array-like of shape (n,), or dict of such
        Human labels in the forms of ``score``, with a missing value where a case has none. For
        several systems a dict from their names to columns; with ``system``, the name of the column
        of all labels.
    case : array-like of shape (n,), optional
        Name of each case: a column without duplicates. Required with ``system``, where cases have
        several rows.
    system : str, optional
        Name of the column of the systems, in a table ``data`` with one row for each case and
        system.
    human_weight : array-like of shape (n,), optional
        Weight of each label, if cases were not selected for labels with equal probability: 1 over
        the probability of the case, at least 1, and missing where it has none.
    first : array-like of shape (n,), or dict of such, optional
        Whether the judge was shown the output before those of other systems: 1 or ``true``, else 0
        or ``false``. It is in the forms of ``human``.
    length : array-like of shape (n,), or dict of such, optional
        Length of each output, above 0, in the forms of ``human``.
    judge_system : array-like of shape (n,), optional
        Name of the system that judged each case, if several systems are judges.
    judged_at : array-like of shape (n,), optional
        Time at which each case was judged: numbers, dates, or ISO 8601 text.
    own_systems : str or list of str, optional
        System that is the judge itself, or the systems of its family.
    weight : array-like of shape (n,), optional
        Weight of each row. Only the proportions of weights matter: equal weights, or weights times
        a number, give the same result. A weight is 0, or from 1e-60 to 1e60 and no less than 1e-12
        of the largest: beyond that, sums and their products would overflow or lose the row.
        Intervals take the rows that are there as the sample: for rows that stand for several, use
        ``count``.
    count : array-like of shape (n,), optional
        Number of cases that each case stands for, an integer: a case of count 20 is the same as
        that case 20 times, in every value, interval and test. A case of count 0 is left out.
    cluster : array-like of shape (n,), optional
        Cluster of each case (user, conversation, document). Intervals and tests are
        cluster-robust.
    slices : dict of array-like of shape (n,), or list of str, optional
        Columns that define slices, by name: every measure is computed on each slice and compared
        with all other rows. ``"age*site": (age, site)`` crosses two columns. A column of more than
        ten distinct numbers is cut at its quartiles; a number that more than half of the rows have
        is a slice of its own. Rows without a value are the slice ``"missing"``. With ``data``, a
        list of names will do.
    slice_bins : dict of list of float, optional
        Bin edges of numeric columns of ``slices``, by name: ``{"age": [40, 65]}``. By default they
        are binned at their quartiles.
    data : data frame, dict of columns, or path, optional
        Table whose columns the other arguments may name.
    interval : str or list of str, default='auto'
        Interval method of the estimates, as in :func:`calipers.scores`.
    level : float, default=0.95
        Confidence level.
    n_resamples : int, default=2000
        Number of bootstrap replicates.
    seed : int, default=0
        Seed of the random number generator.
    inputs : list, optional
        Origins of the columns, for the provenance.

    Returns
    -------
    Evaluation
        For each system, and for all of them together (``"all systems"``): the mean error of the
        judge; of scores of 0 and 1 its sensitivity and specificity, of grades its recall of each
        human grade; and its agreement with people, as percent agreement, Cohen's κ, Gwet's AC1 and
        Krippendorff's α. ``confusions`` has the tables behind them, and ``judge_biases`` the mean
        errors and their dependence on other columns, with tests.

    Raises
    ------
    InputError
        If the input is invalid; the message says where, and what was expected.

    See Also
    --------
    calipers.scores : Values of the systems from few human labels and the scores of a judge.
    calipers.plan_labels : How many more labels are needed, and of which cases.

    Notes
    -----
    Errors are scores of the judge minus human labels. Biases by position, length and time are
    slopes of least squares of the errors within systems, with robust standard errors
    (heteroscedasticity: HC3) and Student's t, by case if there are several systems. The bias by
    length is that of an output of twice the length. Self-preference is the difference of the mean
    errors of the judge's own outputs and of all others, at equal length if ``length`` is given.
    The bias by system is the paired difference of errors. Of two systems, one of which is the
    judge's own, it is the self-preference, which is then reported alone unless ``length`` is given.
    p-values are adjusted by Holm's method, those of mean errors apart from all others.

    With weights, of cases and of their labels, everything is weighted by their product. Slices have
    the mean error, the measures of the table and the percent agreement, each compared with all
    other outputs; biases are those of all cases.

    Examples
    --------
    >>> import calipers as cal
    >>> human = [1] * 120 + [0] * 5
    >>> judged = [1] * 118 + [0] * 2 + [1] * 5
    >>> ev = cal.judge(judged, human=human)
    >>> [round(ev[name].value, 6) for name in ("kappa", "AC1", "Krippendorff-alpha")]
    [-0.023392, 0.940776, -0.024691]
    >>> ev.confusion.counts.tolist()
    [[0.0, 5.0], [2.0, 118.0]]
    >>> bias = ev.judge_biases[0]
    >>> round(bias.value, 3), bias.n, round(bias.p, 2)
    (0.024, 125, 0.26)
    """
    Options.from_arguments(locals())  # checked before any data
    if human is None:
        raise InputError("human: is not given; a judge is evaluated against human labels")
    arguments: dict[str, Any] = {
        **locals(),
        **dict.fromkeys(("time", "cost", "samples", "baseline")),
        "target": "like",
        "engine": "memory",
        "memory": None,
    }
    if own_systems is not None and judge_system is not None:
        raise InputError("own_systems does not go with judge_system: give one of them")
    cases = CaseColumns.open(arguments, None, OUTPUT_COLUMNS, CASE_COLUMNS).read()
    assert cases.labels is not None
    check_common_scale(cases.scores, cases.labels)
    columns, options = cases.source.memory_columns, cases.source.options
    repeats = _case_repeats(columns.columns, cases.n_cases)
    cases_once = _LabeledCases.from_cases(cases, options.settings)
    covariates = _Covariates.from_columns(columns.columns, cases_once, own_systems)
    labeled = cases_once.repeat(repeats)
    definitions, slice_notes = define_slices(
        repeats.repeat_slices(columns.columns["slices"]), slice_bins, labeled.n_cases, "cases"
    )
    return _evaluation(
        labeled,
        _BiasTests(labeled, covariates.repeat(repeats, len(labeled.systems))),
        definitions,
        (*columns.notes, *slice_notes),
        options.inputs,
    )


def _case_repeats(columns: Mapping[str, Any], n_cases: int) -> RowRepeats:
    """Return how often each case counts; cases of weight 0 are left out."""
    weight = to_weights(columns["weight"], n_cases)
    return RowRepeats.from_counts(columns["count"], n_cases, weight)


# --- Outputs with labels --------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class _Outputs:
    """Outputs of one system, or of all of them, with a human label and a score of the judge.

    ``rows`` are their indices among the outputs of all systems, ``cases`` those of their cases, and
    ``label_cases`` those of the cases of all labels, including those of outputs without a score.
    """

    name: str
    human: FloatArray
    judged: FloatArray
    weight: FloatArray | None
    clusters: ClusterIndex | None
    rows: npt.NDArray[np.intp]
    cases: npt.NDArray[np.intp]
    label_cases: npt.NDArray[np.intp]
    unit: str
    settings: Settings

    @property
    def errors(self) -> FloatArray:
        """Score of the judge minus the label."""
        return self.judged - self.human

    @property
    def n_total(self) -> int:
        """Number of labels."""
        return len(self.label_cases)

    def select(self, case_mask: npt.NDArray[np.bool_]) -> _Outputs:
        """Return the outputs of some cases."""
        mask = case_mask[self.cases]
        return replace(
            self,
            human=self.human[mask],
            judged=self.judged[mask],
            weight=None if self.weight is None else self.weight[mask],
            clusters=None if self.clusters is None else self.clusters.take_rows(mask),
            rows=self.rows[mask],
            cases=self.cases[mask],
            label_cases=self.label_cases[case_mask[self.label_cases]],
        )

    def mean_error(self) -> PointEstimate:
        """Return the mean error as the paired difference of two mean scores."""
        mean = parse("mean-score", ("case-scores",))
        binary = np.isin([self.human, self.judged], (0.0, 1.0)).all()
        value_range = (0.0, 1.0) if binary else (-math.inf, math.inf)
        rows = self.weight, self.clusters, self.settings, value_range
        judged, human = (
            CaseValues(values, *rows).point_estimate(mean) for values in (self.judged, self.human)
        )
        return replace(judged - human, unit=self.unit, n_total=self.n_total)


@dataclass(frozen=True, eq=False)
class _LabeledCases:
    """Scores of a judge and human labels of the outputs of systems, NaN where there is none.

    ``columns`` are the scores by system; ``human`` and ``judged`` have the shape (n_systems,
    n_cases). ``weight`` is that of the case, times that of its labels if they have weights
    (``has_label_weights``).
    """

    columns: Mapping[str, ScoreColumn]
    human: FloatArray
    judged: FloatArray
    weight: FloatArray | None
    cluster_codes: npt.NDArray[np.int64] | None
    settings: Settings
    has_label_weights: bool = False

    @classmethod
    def from_cases(cls, cases: CaseRows, settings: Settings) -> _LabeledCases:
        """Read the labels of cases, their weights and clusters."""
        assert cases.labels is not None
        for name, column in cases.labels.items():
            check_length(column.scores, cases.n_cases, column_name("human", name), "score has")
        human, judged = (
            np.array([np.where(column.status == 0, column.scores, np.nan) for column in by_system])
            for by_system in (cases.labels.values(), cases.scores.values())
        )
        columns = cases.source.memory_columns.columns
        weight, clusters = to_weights(columns["weight"], cases.n_cases), None
        has_label_weights = columns["human_weight"] is not None
        if has_label_weights:
            label_weight = read_label_weights(
                columns["human_weight"], ~np.isnan(human).all(axis=0), "score has"
            )
            weight = label_weight if weight is None else weight * label_weight
        if columns["cluster"] is not None:
            names = group_codes(columns["cluster"], "cluster")
            clusters = np.unique(names, return_inverse=True)[1].reshape(-1)
        return cls(
            cases.scores,
            human,
            judged,
            weight,
            clusters,
            settings,
            has_label_weights=has_label_weights,
        )

    def repeat(self, repeats: RowRepeats) -> _LabeledCases:
        """Return the cases as often as they count."""
        indices = repeats.row_indices
        if indices is None:
            return self
        return replace(
            self,
            human=self.human[:, indices],
            judged=self.judged[:, indices],
            weight=None if self.weight is None else self.weight[indices],
            cluster_codes=None if self.cluster_codes is None else self.cluster_codes[indices],
        )

    @property
    def systems(self) -> tuple[str, ...]:
        """Names of the systems."""
        return tuple(self.columns)

    @property
    def n_cases(self) -> int:
        """Number of cases."""
        return int(self.human.shape[1])

    @cached_property
    def has_both(self) -> npt.NDArray[np.bool_]:
        """Mask of the outputs with a label and a score."""
        return np.asarray(~np.isnan(self.human) & ~np.isnan(self.judged))

    @cached_property
    def overall(self) -> _Outputs:
        """The outputs of all systems."""
        if len(self.systems) == 1:
            return self._outputs(self.systems[0], [0])
        name = ALL_SYSTEMS
        while name in self.systems:
            name = f"({name})"
        return self._outputs(name, range(len(self.systems)))

    @cached_property
    def by_system(self) -> tuple[_Outputs, ...]:
        """The outputs of each system."""
        return tuple(self._outputs(name, [k]) for k, name in enumerate(self.systems))

    @property
    def panels(self) -> tuple[_Outputs, ...]:
        """The outputs of each system, and those of all systems if there are several."""
        return (*self.by_system, *([self.overall] if len(self.systems) > 1 else []))

    def _outputs(self, name: str, systems: Sequence[int]) -> _Outputs:
        mask = np.zeros_like(self.has_both)
        mask[list(systems)] = self.has_both[list(systems)]
        rows = np.flatnonzero(mask)
        if not len(rows):
            raise InputError(
                f"{column_name('human', name)}: no output has both a label and a score of the judge"
            )
        case = rows % self.n_cases
        weight = None if self.weight is None else self.weight[case]
        codes = case if self.cluster_codes is None else self.cluster_codes[case]
        clusters = ClusterIndex.from_names(codes, weight)
        return _Outputs(
            name,
            self.human.ravel()[rows],
            self.judged.ravel()[rows],
            weight,
            None if clusters.n_codes == len(rows) > 1 else clusters,
            rows,
            case,
            np.nonzero(~np.isnan(self.human[list(systems)]))[1],
            "outputs" if len(systems) > 1 else "cases",
            self.settings,
        )

    def labels(self) -> dict[str, SystemLabels]:
        """Return the labels of each system, for findings."""
        clusters = None
        if self.cluster_codes is not None:
            clusters = ClusterIndex.from_names(self.cluster_codes)
        shared: dict[str, Any] = {
            "clusters": clusters,
            "has_weights": self.has_label_weights,
            "weight": self.weight,
        }
        return {
            name: SystemLabels(human, judged, **shared)
            for name, human, judged in zip(self.systems, self.human, self.judged, strict=True)
        }


# --- Agreement ------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class _Grades:
    """Different scores and labels of all outputs, in ascending order."""

    values: FloatArray

    @classmethod
    def from_outputs(cls, outputs: _Outputs) -> _Grades:
        """Find the grades of all outputs; 0 and 1 are both grades if there is no other one."""
        values = np.unique(np.concatenate([outputs.human, outputs.judged]))
        return cls(np.array([0.0, 1.0]) if np.isin(values, (0.0, 1.0)).all() else values)

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the grades."""
        return tuple(f"{value:.12g}" for value in self.values)

    @property
    def is_listed(self) -> bool:
        """Whether there are few enough for a table."""
        return len(self.values) <= MAX_GRADES

    @property
    def is_binary(self) -> bool:
        """Whether outputs pass or fail."""
        return len(self.values) == 2

    @property
    def scale(self) -> str:
        """Scale of the grades."""
        return "nominal" if self.is_binary else "ordinal" if self.is_listed else "interval"

    def counts(self, outputs: _Outputs) -> ClassCounts:
        """Return the table of the judge's scores by human label."""
        human, judged = (
            np.searchsorted(self.values, column) for column in (outputs.human, outputs.judged)
        )
        rows = outputs.settings, outputs.weight, outputs.clusters
        return ClassCounts.from_codes(human, judged, self.names, *rows)

    def raters(self, outputs: _Outputs) -> Raters:
        """Return the judge and the person as raters of the same outputs."""
        columns = outputs.judged, outputs.human
        codes = np.column_stack([np.searchsorted(self.values, column) for column in columns])
        rows = outputs.settings, outputs.weight, outputs.clusters
        names = ("judge", "human")
        return Raters(outputs.name, names, codes, self.names, self.values, *rows)

    def count_measures(self) -> list[Measure]:
        """Return the measures of the table."""
        if not self.is_listed:
            return []
        if self.is_binary:
            names = "sensitivity", "specificity", "kappa"
            return [parse(name, ("counts",)) for name in names]
        recall = parse("recall", ("counts",))
        kappa = parse("kappa(weights='quadratic')", ("counts",))
        return [*(replace(recall, label=name) for name in self.names), kappa]

    def rater_measures(self) -> list[Measure]:
        """Return the measures of two raters."""
        alpha = parse("Krippendorff-alpha", ("agreement",), {"scale": self.scale})
        names = ("percent-agreement", "AC1") if self.is_listed else ()
        return [*(parse(name, ("agreement",)) for name in names), alpha]

    def slice_measures(self) -> list[Measure]:
        """Return the measures of slices, without AC1 and alpha.

        In few outputs, most of which pass, the limits of these are too narrow.
        """
        agreement = [parse("percent-agreement", ("agreement",))] if self.is_listed else []
        return [mean_error_measure(), *self.count_measures(), *agreement]


@dataclass(frozen=True, eq=False)
class _Agreement:
    """Agreement of the judge with the labels of outputs."""

    outputs: _Outputs
    grades: _Grades

    @cached_property
    def counts(self) -> ClassCounts:
        """Table of the judge's scores by human label."""
        return self.grades.counts(self.outputs)

    @cached_property
    def raters(self) -> Raters:
        """Judge and person as raters of the outputs."""
        return self.grades.raters(self.outputs)

    def point_estimate(self, measure: Measure) -> PointEstimate:
        """Return the point estimate of one of the measures of the grades."""
        statistic = measure.definition.statistic
        if statistic is ConfusionMatrix:
            estimate = self.counts.point_estimate(measure)
        elif statistic is Ratings:
            estimate = self.raters.point_estimate(measure)
        else:
            estimate = self.outputs.mean_error()
        return replace(estimate, unit=self.outputs.unit, n_total=self.outputs.n_total)

    def estimate(self, measure: Measure, point_estimate: PointEstimate | None = None) -> Estimate:
        """Return the estimate of one of the measures, from its point estimate if that is given."""
        point_estimate = point_estimate or self.point_estimate(measure)
        return to_estimate(point_estimate, str(measure), self.outputs.name)

    def select(self, case_mask: npt.NDArray[np.bool_], settings: Settings) -> _Agreement:
        """Return the agreement on the outputs of some cases."""
        outputs = replace(self.outputs.select(case_mask), settings=settings)
        return _Agreement(outputs, self.grades)


def _evaluation(
    labeled: _LabeledCases,
    tests: _BiasTests,
    slice_definitions: Sequence[SliceDefinition],
    notes: Sequence[str],
    inputs: Sequence[Any],
) -> Evaluation:
    """Return the evaluation of the judge."""
    grades, settings = _Grades.from_outputs(labeled.overall), labeled.settings
    panels = [_Agreement(outputs, grades) for outputs in labeled.panels]
    measures = [mean_error_measure(), *grades.count_measures(), *grades.rater_measures()]
    confusions: list[ConfusionBase] = [
        confusion_result(panel.outputs.name, panel.counts.matrix, settings)
        for panel in panels
        if grades.is_listed
    ]
    conventions = {"scale": grades.scale, **tests.covariates.conventions}
    n_slices = sum(len(definition.names) for definition in slice_definitions)
    subsets = [
        _SliceSubsets.from_panel(panel, definition, n_slices)
        for definition in slice_definitions
        for panel in panels
    ]
    return Evaluation(
        task=TASK,
        estimates=tuple(panel.estimate(measure) for panel in panels for measure in measures),
        level=settings.level,
        definitions=glossary(measures),
        confusions=tuple(confusions),
        slices=slice_estimates(subsets, grades.slice_measures(), settings) if subsets else None,
        notes=(*notes, *_notes(labeled, grades), *_slice_notes(labeled, slice_definitions)),
        findings=_findings(labeled, measures),
        provenance=provenance(TASK, settings, conventions, inputs),
        requested_names=requested_names(measures),
        judge_biases=tests.biases(),
    )


# --- Slices ---------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class _SliceSubsets:
    """Labeled outputs of one system, or of all of them, divided by a column of their cases."""

    panel: _Agreement
    definition: SliceDefinition
    case_codes: npt.NDArray[np.intp]
    #: How many slices there are in all, which p-values account for.
    n_slices: int

    @classmethod
    def from_panel(
        cls, panel: _Agreement, definition: SliceDefinition, n_slices: int
    ) -> _SliceSubsets:
        """Return the slices that have an output with a label and a score."""
        occupied = np.unique(definition.codes[panel.outputs.cases])
        new_codes = np.full(len(definition.names), -1, np.intp)
        new_codes[occupied] = np.arange(len(occupied))
        case_codes = new_codes[definition.codes]
        names = tuple(definition.names[k] for k in occupied)
        codes = case_codes[panel.outputs.cases]
        definition = SliceDefinition(definition.column, names, codes)
        return cls(panel, definition, case_codes, n_slices)

    def subset(self, subset_index: int) -> _Agreement:
        """Return the outputs of a slice."""
        return self.panel.select(self.case_codes == subset_index, self.panel.outputs.settings)

    def estimate(self, subset_index: int, measure: Measure, reading: PointEstimate) -> Estimate:
        """Return the estimate on a slice."""
        return self.panel.estimate(measure, reading)

    def complement(self, subset_index: int) -> _SliceComplement | None:
        """Return all other outputs, or None if there are none."""
        if len(self.definition.names) < 2:
            return None
        settings = self.panel.outputs.settings
        # Clusters that are in both parts have to be resampled equally often in both.
        if self.panel.outputs.clusters is None:
            settings = complement_settings(settings)
        others = self.panel.select(self.case_codes != subset_index, settings)
        return _SliceComplement(self, subset_index, others)

    def permutation_pool(self, measure: Measure) -> PermutationPool | None:
        """Return all outputs as a permutation pool."""
        statistic, outputs = measure.definition.statistic, self.panel.outputs
        if statistic is ConfusionMatrix:
            return permutation_pool(self.panel.counts)
        if statistic is Ratings:
            return permutation_pool(self.panel.raters.sample_for(measure))
        return permutation_pool(RowLosses(outputs.errors, outputs.weight, None, outputs.settings))

    def forget(self, subset_index: int) -> None:
        """Do nothing, as nothing of a slice is stored."""


@dataclass(frozen=True, eq=False)
class _SliceComplement:
    """All outputs that are not in a slice, ``estimate_source``."""

    subsets: _SliceSubsets
    subset_index: int
    estimate_source: _Agreement

    def point_estimate(self, measure: Measure) -> PointEstimate:
        """Return the point estimate of a measure."""
        return self.estimate_source.point_estimate(measure)

    def permute(self, measure: Measure, value: float, max_size: int) -> PermutationResult | None:
        """Return the permutation distribution of the slice minus all other outputs.

        The smaller of the two is drawn at random. The result is None if it has more outputs than
        ``max_size``, and if outputs come in clusters.
        """
        subsets, n_outputs = self.subsets, len(self.subsets.definition.codes)
        inside = subsets.definition.row_indices[self.subset_index]
        smaller = SmallerSubset.from_indices(inside, n_outputs, max_size)
        if subsets.panel.outputs.clusters is not None or smaller is None:
            return None
        pool = subsets.permutation_pool(measure)
        if pool is None:
            return None
        settings = self.estimate_source.outputs.settings
        n_permutations = n_replicates_for_adjusted_p(subsets.n_slices, settings)
        settings = replace(settings, n_resamples=n_permutations)
        random_subsets = cached(
            self, "lots", lambda: draw_subsets(n_outputs, len(smaller.rows), settings)
        )
        values = value, self.point_estimate(measure).value
        return smaller.permute(pool, measure, values, random_subsets)


def _slice_notes(labeled: _LabeledCases, definitions: Sequence[SliceDefinition]) -> Iterator[str]:
    """Yield notes on slices without a labeled output."""
    for definition in definitions:
        occupied = set(definition.codes[labeled.overall.cases].tolist())
        empty = [name for k, name in enumerate(definition.names) if k not in occupied]
        if empty:
            yield (
                f"{definition.column}: no output of {format_names(empty)} has both a label and a "
                "score of the judge."
            )


def _findings(labeled: _LabeledCases, measures: Sequence[Measure]) -> tuple[Finding, ...]:
    """Return the findings on labels and judge, as those of evaluations from few labels."""
    settings, labels = labeled.settings, labeled.labels()
    shared: dict[str, Any] = {
        "measures": tuple(measures),
        "has_inference": settings.interval != "none",
    }
    subjects = [Subject(name, settings.level, (data,), **shared) for name, data in labels.items()]
    overall = Subject(None, settings.level, (LabeledSystems({"": labels}),), **shared)
    return findings.find_all([*subjects, overall])


def _notes(labeled: _LabeledCases, grades: _Grades) -> Iterator[str]:
    """Yield notes on the labels and on what they do not permit."""
    for outputs in labeled.by_system:
        unscored = outputs.n_total - len(outputs.rows)
        if unscored:
            prefix = "" if outputs.name == DEFAULT_SYSTEM_NAME else f"{outputs.name}: "
            labels = format_count(outputs.n_total, "labels")
            yield (
                f"{prefix}the judge gave no score to {unscored:,} of the outputs with {labels}; "
                "these are left out."
            )
    if labeled.has_label_weights:
        yield label_sampling_note("case", has_weights=True)
    elif np.isnan(labeled.human).any():
        yield label_sampling_note("case", has_weights=False)
    if len(labeled.systems) > 1 and labeled.cluster_codes is None:
        yield (
            f"{labeled.overall.name}: outputs of a case are not independent; intervals and tests "
            "are cluster-robust by case."
        )
    if not grades.is_listed:
        yield (
            f"There are {len(grades.values):,} different scores, more than {MAX_GRADES}: they are "
            "taken as numbers, without a table of grades."
        )


# --- Biases ---------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class _Covariates:
    """What the errors of a judge may depend on, of the outputs of all systems, NaN if unknown.

    Attributes
    ----------
    by_kind : dict of array of shape (n_systems * n_cases,)
        Covariates by the kind of the bias.
    conventions : dict
        What is recorded of them.
    """

    by_kind: Mapping[str, FloatArray]
    conventions: Mapping[str, Any]

    def repeat(self, repeats: RowRepeats, n_systems: int) -> _Covariates:
        """Return the covariates of the cases as often as they count."""
        indices = repeats.row_indices
        if indices is None:
            return self
        by_kind = {
            kind: values.reshape(n_systems, -1)[:, indices].ravel()
            for kind, values in self.by_kind.items()
        }
        return replace(self, by_kind=by_kind)

    @classmethod
    def from_columns(
        cls, columns: Mapping[str, Any], labeled: _LabeledCases, own_systems: Any
    ) -> _Covariates:
        """Read the covariates from the columns of their roles."""
        by_kind: dict[str, FloatArray] = {}
        conventions: dict[str, Any] = {}
        for role, kind, check in (("first", "position", _positions), ("length", "length", _logs)):
            if columns[role] is None:
                continue
            by_system = read_by_system(columns[role], labeled.columns, role, "values")
            covariates = []
            for name, column in by_system.items():
                display_name = column_name(role, name)
                check_length(column.scores, labeled.n_cases, display_name, "score has")
                covariates.append(check(column, display_name))
            by_kind[kind] = np.concatenate(covariates)
        is_own = _own_outputs(columns["judge_system"], labeled, own_systems)
        if is_own is not None:
            by_kind["self-preference"] = is_own
            if own_systems is not None:
                conventions["own_systems"] = list(_names(own_systems))
        if columns["judged_at"] is not None:
            codes, n_times = time_codes(columns["judged_at"], "judged_at")
            check_length(codes, labeled.n_cases, "judged_at", "score has")
            by_kind["drift"] = np.tile(codes / max(n_times - 1, 1), len(labeled.systems))
        return cls(by_kind, conventions | {"biases": list(by_kind)})


def _positions(column: ScoreColumn, display_name: str) -> FloatArray:
    """Return 1 for outputs that were shown first, 0 for others, NaN where it is unknown."""
    given_mask = column.status == 0
    invalid = np.flatnonzero(given_mask & ~np.isin(column.scores, (0.0, 1.0)))
    if len(invalid):
        row = int(invalid[0])
        raise InputError(
            f"{display_name}: is {column.scores[row]:g} in row {row}, expected 1 or true where the "
            "output was shown first, else 0 or false"
        )
    return np.where(given_mask, column.scores, np.nan)


def _logs(column: ScoreColumn, display_name: str) -> FloatArray:
    """Return binary logarithms of lengths, NaN where it is unknown."""
    given_mask = column.status == 0
    invalid = np.flatnonzero(given_mask & ~(column.scores > 0))
    if len(invalid):
        row = int(invalid[0])
        raise InputError(
            f"{display_name}: is {column.scores[row]:g} in row {row}, expected more than 0"
        )
    return np.where(given_mask, np.log2(np.where(given_mask, column.scores, 1.0)), np.nan)


def _names(own_systems: Any) -> tuple[str, ...]:
    names = (own_systems,) if isinstance(own_systems, str) else tuple(map(str, own_systems))
    if not names:
        raise InputError("own_systems: is empty, expected names of systems, or leave it out")
    return tuple(dict.fromkeys(names))


def _own_outputs(judges: Any, labeled: _LabeledCases, own_systems: Any) -> FloatArray | None:
    """Return 1 for outputs of the system that judges them, or of its family, 0 for others."""
    systems = labeled.systems
    if own_systems is not None:
        names = _names(own_systems)
        for name in names:
            if name not in systems:
                raise InputError(
                    f"own_systems: there is no system {name!r}; {did_you_mean(name, systems)}"
                )
        return np.repeat([float(name in names) for name in systems], labeled.n_cases)
    if judges is None:
        return None
    values: Any = (
        judges.to_pylist() if hasattr(judges, "to_pylist") else list(to_array(judges, "judge"))
    )
    check_length(values, labeled.n_cases, "judge_system", "score has")
    names_by_case = np.array(["" if is_missing(v) else label_name(v) for v in values], object)
    if not np.isin(names_by_case, systems).any():
        raise InputError(
            f"judge_system: is {format_value(values[0])} in row 0, and none of the systems in any; "
            f"expected names of systems: {', '.join(systems)}"
        )
    known_mask = names_by_case != ""
    return np.concatenate(
        [np.where(known_mask, names_by_case == name, np.nan).astype(float) for name in systems]
    )


#: What is compared, by the kind of the bias.
_CONTRASTS = {
    "position": "first - not first",
    "length": "double length",
    "self-preference": "own - others",
    "drift": "last - first",
}


@dataclass(frozen=True, eq=False)
class _BiasTests:
    """Tests of the biases of a judge."""

    labeled: _LabeledCases
    covariates: _Covariates

    def biases(self) -> tuple[JudgeBias, ...]:
        """Return all biases, their p-values adjusted in two families."""
        families = list(self._mean_errors()), [*self._system_biases(), *self._slopes()]
        return tuple(bias for family in families for bias in _adjust(family))

    @property
    def _settings(self) -> Settings:
        return self.labeled.settings

    def _bias(self, kind: str, contrast: str, value: float, n: int, **fields: Any) -> JudgeBias:
        return JudgeBias(kind, contrast, value, level=self._settings.level, n=n, **fields)

    def _mean_errors(self) -> Iterator[JudgeBias]:
        for outputs in self.labeled.panels:
            difference = outputs.mean_error()
            interval, test = hypotheses.interval(difference), hypotheses.run_test(difference)
            error = hypotheses.procedure(difference).standard_error
            yield self._bias(
                "mean error",
                outputs.name,
                difference.value,
                difference.n,
                low=interval.low,
                high=interval.high,
                method=interval.method,
                p=test.p,
                test=test.name,
                min_detectable=self._min_detectable(error),
                standard_error=error.se,
                interval_reason=interval.reason,
            )

    def _min_detectable(self, error: StandardError) -> float:
        level = self._settings.level
        return float(hypotheses.minimum_detectable_differences([error.se], [error.df], level)[0])

    def _system_biases(self) -> Iterator[JudgeBias]:
        """Compare the errors on systems: all pairs, or each with all others if there are many.

        A comparison that is the self-preference is left out, so that it is tested once.
        """
        systems, labels = self.labeled.systems, self.labeled.labels()
        own_indices = self._own_systems()
        own_or_others = (own_indices, set(range(len(systems))) - own_indices)
        if len(systems) > MAX_JUDGED_SYSTEMS:
            for k, name in enumerate(systems):
                if {k} in own_or_others:
                    continue
                is_system = np.zeros_like(self.labeled.human)
                is_system[k] = 1.0
                yield from self._slope("system", f"{name} - others", is_system.ravel(), [])
            return
        if len(systems) == 2 and len(own_indices) == 1:
            return
        for first, second in combinations(systems, 2):
            compared = ErrorDifference.from_labels(
                labels[first], labels[second], self._settings.level
            )
            if compared is None:
                continue
            number, error = compared.number, compared.error
            yield self._t_bias(
                "system", f"{second} - {first}", number.value, error, int(compared.mask.sum())
            )

    def _own_systems(self) -> set[int]:
        """Return the systems that the self-preference compares with all others.

        There are none if it compares outputs of one system, some outputs only, or those of equal
        length.
        """
        values = self.covariates.by_kind.get("self-preference")
        if values is None or "length" in self.covariates.by_kind:
            return set()
        by_system = values.reshape(len(self.labeled.systems), -1)
        is_own = (by_system == 1).all(axis=1)
        is_constant = is_own | (by_system == 0).all(axis=1)
        return set(np.flatnonzero(is_own).tolist()) if is_constant.all() else set()

    def _slopes(self) -> Iterator[JudgeBias]:
        """Yield the biases by the covariates."""
        by_kind = self.covariates.by_kind
        n_systems, n_cases = self.labeled.human.shape
        names = np.repeat(np.arange(n_systems), n_cases)
        systems = [(names == k).astype(np.float64) for k in range(1, n_systems)]
        for kind, values in by_kind.items():
            controls = systems
            if kind == "self-preference" and not _varies_within(values, names):
                controls = [by_kind["length"]] if "length" in by_kind else []
            yield from self._slope(kind, _CONTRASTS[kind], values, controls)

    def _slope(
        self, kind: str, contrast: str, values: FloatArray, controls: Sequence[FloatArray]
    ) -> Iterator[JudgeBias]:
        """Yield the slope of the errors on a covariate, given others; none if it is constant."""
        outputs = self.labeled.overall
        columns = [column[outputs.rows] for column in (values, *controls)]
        known_mask = np.asarray(~np.isnan(np.array(columns)).any(axis=0))
        n = int(np.count_nonzero(known_mask))
        weight = None if outputs.weight is None else outputs.weight[known_mask]
        clusters = None if outputs.clusters is None else outputs.clusters.take_rows(known_mask)
        x, *control_columns = (column[known_mask] for column in columns)
        line = None
        if n:
            spread = float(np.ptp(x))
            x, y = (_residuals(v, control_columns, weight) for v in (x, outputs.errors[known_mask]))
            if np.abs(x).max(initial=0.0) > _NO_VARIATION * spread:
                line = fit_line(x, y, weight, clusters)
        if line is None:
            yield self._bias(kind, contrast, math.nan, n, interval_reason="constant_covariate")
            return
        name = "least squares, " + ("HC3" if clusters is None else "cluster-robust")
        yield self._t_bias(kind, contrast, line.slope, StandardError(line.se, name, line.df), n)

    def _t_bias(
        self, kind: str, contrast: str, value: float, error: StandardError, n: int
    ) -> JudgeBias:
        """Return a bias with Student's t interval and test."""
        df = error.df or 0.0
        if math.isnan(error.se):  # only the outputs of one cluster differ in the covariate
            return self._bias(kind, contrast, value, n, interval_reason="too_few_clusters")
        if not (error.se > 0 and df > 0):
            return self._bias(kind, contrast, value, n, interval_reason="no_spread")
        interval, test = student_result(value, error.se, df, self._settings.level, error.name)
        shared = {
            "p": test.p,
            "test": error.name,
            "min_detectable": self._min_detectable(error),
            "standard_error": error.se,
        }
        if self._settings.interval == "none":
            return self._bias(kind, contrast, value, n, interval_reason="not_requested", **shared)
        limits = {"low": interval.low, "high": interval.high, "method": error.name}
        return self._bias(kind, contrast, value, n, **limits, **shared)


def _varies_within(values: FloatArray, groups: npt.NDArray[np.int64]) -> bool:
    """Return whether values vary within any of the groups."""
    return any(
        len(np.unique(group[~np.isnan(group)])) > 1
        for group in (values[groups == k] for k in np.unique(groups))
    )


def _residuals(
    values: FloatArray, controls: Sequence[FloatArray], weight: FloatArray | None
) -> FloatArray:
    """Return what least squares on other columns, and a constant, leaves of values."""
    design = np.column_stack([np.ones(len(values)), *controls])
    root = 1.0 if weight is None else np.sqrt(weight)
    scaled = (design.T * root).T
    coefficients = np.linalg.lstsq(scaled, values * root, rcond=None)[0]
    return np.asarray(values - design @ coefficients)


def _adjust(family: Sequence[JudgeBias]) -> list[JudgeBias]:
    """Return biases with p-values that are adjusted for the others."""
    adjusted = holm(np.array([bias.p for bias in family], np.float64))
    return [replace(bias, p_adjusted=float(p)) for bias, p in zip(family, adjusted, strict=True)]
