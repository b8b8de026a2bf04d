"""Inputs of findings: the systems of each task as subjects, with their statistics."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import cache, partial
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from calipers import findings
from calipers.evaluation.cluster_tables import bisect_clusters
from calipers.evaluation.visible_rows import VisibleRows, visible_rows
from calipers.findings import IntervalNumber, Subject
from calipers.findings.class_balance import ClassSizes, TopicEstimates
from calipers.findings.clusters import ClusterCounts, PermutationTest, PointSilhouettes
from calipers.findings.comparisons import ComparisonResults
from calipers.findings.confusion_cells import UNKNOWN, BinaryCells, ConfusionCells, MulticlassCells
from calipers.findings.duplicates import RowOutputs
from calipers.findings.multilabel import MultilabelPredictions, MultilabelRows
from calipers.findings.order import UnorderedInfluence
from calipers.findings.predictions import TunedThreshold
from calipers.findings.quantiles import QuantilePredictions
from calipers.findings.rankings import (
    TOP,
    GradedGroups,
    RunStatistics,
    RunStatisticsByName,
    TopicValues,
)
from calipers.findings.raters import RaterPanel
from calipers.findings.regression import NumericPredictions
from calipers.inference import policy
from calipers.inference.summaries import Summary
from calipers.measures import TASKS, parse
from calipers.measures.cluster_indices import bias_description
from calipers.statistics import (
    ConfusionMatrix,
    FloatArray,
    JudgedRankings,
    ScoreTable,
    effective_size_of,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from calipers.data.trec import Run
    from calipers.evaluation.sample import Sample, Told
    from calipers.evaluation.topic_scores import TopicScores
    from calipers.inference.point_estimate import PointEstimate
    from calipers.measures import Measure
    from calipers.results import Estimate, Finding


#: Of more rows, the first are looked at for what neighbours have in common.
MOST_NEIGHBOURS = 20_000

#: Sums by cluster and cell are kept where they are no more than so many for a row.
MOST_SUMS = 8

#: Of more classes than this nothing is said of cells of rows that come in clusters.
MOST_CLASSES = 30


def from_systems(sample: Sample, told: Told) -> tuple[Finding, ...]:
    """Return the findings of systems of which only estimates are known."""
    return _collect_findings(sample, dict.fromkeys(sample.systems, ()), (), told)


def from_binary(sample: Sample, told: Told) -> tuple[Finding, ...]:
    """Return the findings of binary classifiers."""
    has: dict[str, tuple[Any, ...]] = {}
    rows = sample.rows or {}
    for name in sample.systems:
        table, matrix = sample.statistic(name, ScoreTable), sample.statistic(name, ConfusionMatrix)
        one = rows.get(name)
        cells = None if matrix is None else _cells(sample, matrix, one)
        c = None if one is None else one.chosen_threshold
        tuned = (
            None if c is None else TunedThreshold(c.threshold, c.rule.measure, c.out_of_bag, c.note)
        )
        has[name] = cells, table, tuned
    cells, table, _ = next(iter(has.values()))
    if cells is None and table is not None:
        names = next(iter(sample.template.values())).labels.names
        matrix = replace(table.to_confusion_matrix(math.inf), labels=names)
        cells = BinaryCells(matrix, sample.clusters or 0)
    if _has_separate_rows(sample):
        return _collect_findings(sample, has, _classes([cells for cells, *_ in has.values()]), told)
    data: tuple[object, ...] = () if cells is None else (ClassSizes(cells),)
    if rows:
        truth = _positive(next(iter(rows.values())))
        said = {n: _present(one.score, one.predicted) for n, one in rows.items()}
        wrong = {n: one.predicted != truth for n, one in rows.items() if one.score is None}
        data = (*data, *_outputs(sample, visible_rows(sample), truth, said, wrong))
    return _collect_findings(sample, has, data, told)


def _positive(system: Any) -> Any:
    return None if system is None else system.labels.positive


def _has_separate_rows(sample: Sample) -> bool:
    """Return whether there are several systems, each on rows of its own."""
    return sample.has_separate_rows and len(sample.systems) > 1


def _classes(cells: Sequence[ConfusionCells | None]) -> tuple[ClassSizes, ...]:
    """Return the class sizes, if they are the same in the matrices of all systems."""
    first, *others = cells
    if first is None or any(of is None for of in others):
        return ()
    sizes = first.matrix.truth
    alike = all(np.array_equal(of.matrix.truth, sizes) for of in others if of is not None)
    return (ClassSizes(first),) if alike else ()


def _present(*columns: npt.NDArray[Any] | None) -> list[npt.NDArray[Any]]:
    return [column for column in columns if column is not None]


def from_multiclass(sample: Sample, told: Told) -> tuple[Finding, ...]:
    """Return the findings of multiclass classifiers."""
    rows, has = sample.rows or {}, {}
    truth = next(iter(rows.values())).problem.truth if rows else None
    for name in sample.systems:
        matrix = sample.statistic(name, ConfusionMatrix)
        has[name] = (None if matrix is None else _cells(sample, matrix, rows.get(name)),)
    first = next((cells for (cells,) in has.values() if cells is not None), None)
    if _has_separate_rows(sample):
        return _collect_findings(sample, has, _classes([cells for (cells,) in has.values()]), told)
    data: tuple[object, ...] = (first and ClassSizes(first),)
    if rows:
        said = {n: _present(s.score, s.predicted) for n, s in rows.items()}
        wrong = {n: s.predicted != truth for n, s in rows.items() if s.score is None}
        assert truth is not None
        data = (*data, *_outputs(sample, visible_rows(sample), truth, said, wrong))
    return _collect_findings(sample, has, data, told)


def _cells(sample: Sample, matrix: ConfusionMatrix, s: Any) -> ConfusionCells:
    """Return the counts of a system, with cluster-robust errors where rows come in clusters."""
    k, number = matrix.classes, sample.clusters or 0

    @cache
    def cells() -> FloatArray:
        """Return the weight of the rows of each cluster in each cell, one row per cluster."""
        clusters = s.clusters
        found: FloatArray = clusters.matrices(s.counts.cells.flat, (k, k))
        return found.reshape(clusters.size, k * k)

    def error(influence: Callable[[], FloatArray]) -> tuple[float, float]:
        if k > MOST_CLASSES or number < 2 or s is None:
            return UNKNOWN
        by_cell, flat = influence().ravel(), s.counts.cells.flat
        if s.clusters.size * k * k <= MOST_SUMS * len(flat):
            from calipers.inference.clusters import cr2

            return cr2(cells() @ by_cell, s.clusters.cluster_weights)
        moved = by_cell[flat]
        return tuple(s.clusters.sum_error(moved if s.weight is None else moved * s.weight))

    return (BinaryCells if k == 2 else MulticlassCells)(matrix, number, error)


def from_multilabel(sample: Sample, told: Told) -> tuple[Finding, ...]:
    """Return the findings of multilabel classifiers."""
    seen = visible_rows(sample)
    if seen is None:
        return from_systems(sample, told)
    rows = seen.systems
    s = next(iter(rows.values()))
    counted = (lambda: s.usual_set), (lambda: s.n_sets)
    labels = MultilabelRows(
        s.labels, s.truth, s.weight, s.clusters, s.shares, *counted, seen.is_complete
    )
    said = {name: s.predicted for name, s in rows.items()}
    has = {
        n: () if sets is None else (MultilabelPredictions(labels, sets),)
        for n, sets in said.items()
    }
    columns = {n: _present(one.score, one.predicted) for n, one in rows.items()}
    wrong = {
        n: (one.predicted != s.truth).any(axis=1) for n, one in rows.items() if one.score is None
    }
    return _collect_findings(
        sample, has, (labels, *_outputs(sample, seen, s.truth, columns, wrong)), told, seen
    )


def _outputs(
    sample: Sample,
    seen: VisibleRows | None,
    truth: npt.NDArray[Any],
    said: Mapping[str, Sequence[npt.NDArray[Any]]],
    wrong: Mapping[str, npt.NDArray[np.bool_]],
) -> tuple[RowOutputs, ...]:
    """Return the predictions of all rows, for findings on duplicates.

    The result is empty if only a subset of the rows is in memory, or if rows have frequencies and
    are repeated on purpose.
    """
    clustered = sample.clusters is not None
    alone = seen is not None and seen.is_complete and not seen.has_counts
    return (RowOutputs(truth, said, wrong, clustered),) if alone else ()


def from_regression(sample: Sample, told: Told) -> tuple[Finding, ...]:
    """Return the findings of systems that predict numbers."""
    seen = visible_rows(sample)
    if seen is None:
        return from_systems(sample, told)
    rows, named, largest = seen.systems, seen.row_name, seen.largest
    has = {
        n: (NumericPredictions(s.truth, s.predicted, s.weight, s.clusters, named, largest.get(n)),)
        for n, s in rows.items()
    }
    one = next(iter(rows.values()))
    wrong = {n: s.predicted != one.truth for n, s in rows.items()}
    said = {n: [s.predicted] for n, s in rows.items()}
    return _collect_findings(
        sample, has, _outputs(sample, seen, one.truth, said, wrong), told, seen
    )


def from_multioutput(outputs: Sequence[str], sample: Sample, told: Told) -> tuple[Finding, ...]:
    """Return the findings of multi-output regression; ``outputs`` are examined one by one."""
    seen = visible_rows(sample)
    if seen is None:
        return from_systems(sample, told)
    rows = seen.systems
    each = {
        name: {
            o: (
                NumericPredictions(
                    one.truth, one.predicted, one.weight, one.clusters, seen.row_name
                ),
            )
            for o, one in ((o, s.single_output(o)) for o in outputs)
        }
        for name, s in rows.items()
    }
    one = next(iter(rows.values()))
    wrong = {n: (s.predicted != one.truth).any(axis=1) for n, s in rows.items()}
    said = {n: [s.predicted] for n, s in rows.items()}
    whole = _outputs(sample, seen, one.truth, said, wrong)
    return _collect_findings(sample, dict.fromkeys(rows, ()), whole, told, seen, each)


def from_quantiles(sample: Sample, told: Told) -> tuple[Finding, ...]:
    """Return the findings of systems that predict quantiles."""
    seen = visible_rows(sample)
    if seen is None:
        return from_systems(sample, told)
    has = {
        n: (QuantilePredictions(s.truth, s.quantile_rows, s.weight, s.clusters, seen.row_name),)
        for n, s in seen.systems.items()
    }
    return _collect_findings(sample, has, (), told, seen)


#: So many points that are known by their number are written out to be dealt anew.
MOST_DEALT = 10_000_000


def from_clusterings(sample: Sample, told: Told) -> tuple[Finding, ...]:
    """Return the findings of clusterings."""
    rows = sample.rows
    if rows is None:
        return from_systems(sample, told)
    has, systems = {}, rows
    near = [m.plain for m in sample.measures if m.definition.reads == "distances"]
    for name, s in systems.items():
        dealt = s.truth is not None and (
            s.point_counts is None or s.point_counts.sum() <= MOST_DEALT
        )
        known: list[object] = [PermutationTest(cache(partial(_permutation_p, s)))] if dealt else []
        for measure in near[:1] if s.batch_statistic is None else ():
            of = s.sample_for(measure)
            if np.isfinite(of.values).all():
                known.append(
                    PointSilhouettes(s.names, of.cluster, of.silhouettes.nearest.which, of.values)
                )
        if s.points is not None and s.metric != "cosine":
            known.append(bisect_clusters(s))
        if s.stability is not None:
            known.append(s.stability)
        has[name] = tuple(known)
    values: dict[str, tuple[bool, dict[str, float]]] = {}
    for e in told[0]:
        d = parse(e.measure, TASKS[sample.problem.task]).definition
        # A total over points falls with every cluster more.
        if d.reads != "partitions" and d.interval != "total" and d.higher_is_better is not None:
            values.setdefault(e.measure, (d.higher_is_better, {}))[1][e.system] = e.value
    clusters = {name: len(s.names) for name, s in systems.items()}
    why = {name: bias_description(parse(name, TASKS[sample.problem.task])) for name in values}
    return _collect_findings(sample, has, (ClusterCounts(clusters, values, why),), told)


def from_raters(sample: Sample, told: Told, rows: Mapping[str, Any]) -> tuple[Finding, ...]:
    """Return the findings of sets of raters, whose single raters may be known.

    Agreement is measured by the first measure that depends on the scale, as given by the user, or
    by Krippendorff's alpha.
    """
    if not rows:
        return from_systems(sample, told)
    scaled = [m for m in sample.measures if "scale" in m.parameters]
    alpha = scaled[0] if scaled else parse("Krippendorff-alpha", TASKS[sample.problem.task])
    has: dict[str, tuple[Any, ...]] = {}
    for name, s in rows.items():
        r = s.sample_for(alpha).statistic.shared_items
        at = int(r.category_weights.argmax()) if len(r.category_weights) else 0
        share = float(r.category_weights[at] / r.total) if len(r) else 0.0
        common = r.categories[at] if r.categories else ""
        has[name] = (
            RaterPanel(s.raters, str(alpha), partial(_without_each, s, alpha), common, share),
        )
    return _collect_findings(sample, has, (), told)


def _without_each(s: Any, measure: Measure, level: float) -> list[IntervalNumber]:
    """Return the increase of a measure if each rater in turn is removed."""
    whole, everyone, found = s.point_estimate(measure), range(len(s.raters)), []
    for own in everyone:
        apart = s.select_raters([k for k in everyone if k != own]).point_estimate(measure) - whole
        found.append(IntervalNumber.within(apart.value, policy.interval(apart, level)))
    return found


def _permutation_p(s: Any) -> float:
    from calipers.inference.independence import independence_test

    truth, cluster = s.truth, s.cluster
    if s.point_counts is not None:
        truth, cluster = (np.repeat(of, s.point_counts.astype(np.int64)) for of in (truth, cluster))
    return independence_test(truth, cluster, s.settings.n_resamples, s.settings.seed)


def from_runs(
    scores: TopicScores,
    told: Told,
    rankings: Mapping[str, JudgedRankings],
    runs: Mapping[str, Run],
    spelling: Callable[[str, str], str],
) -> tuple[Finding, ...]:
    """Return the findings of runs.

    ``spelling`` of a run and ``"documents"`` or ``"topics"`` describes how ids without a match
    differ from those that would match.
    """
    ranked = {
        name: _run_statistics(scores, one, runs[name].unjudged_topics, partial(spelling, name))
        for name, one in rankings.items()
        if name in runs  # of a system of another day the rest was told then
    }
    before = {
        n: _run_statistics(scores, r, 0, lambda _: "") for n, r in rankings.items() if n not in runs
    }
    whole: list[object] = []
    if ranked and not any(m.parameters.get("judged_only") for m in scores.measures):
        whole.append(
            RunStatisticsByName({**ranked, **before}, parse(f"Judged@{TOP}", TASKS["retrieval"]))
        )
    return _topic_findings(scores, told, ranked, whole)


def from_rankings(
    scores: TopicScores,
    told: Told,
    rankings: Mapping[str, JudgedRankings],
    truth: npt.NDArray[Any],
    said: Mapping[str, npt.NDArray[Any]],
) -> tuple[Finding, ...]:
    """Return the findings of systems whose scores order the graded rows of each group."""
    ranked = {name: _run_statistics(scores, one, 0, lambda _: "") for name, one in rankings.items()}
    one = next(iter(rankings.values()))
    graded = GradedGroups(one if scores.topic_indices is None else one.take(scores.topic_indices))
    outputs = RowOutputs(truth, {name: [x] for name, x in said.items()}, {}, clustered=True)
    return _topic_findings(scores, told, ranked, [graded, outputs])


def _run_statistics(
    scores: TopicScores, one: JudgedRankings, unjudged: int, spelling: Callable[[str], str]
) -> RunStatistics:
    """Return the statistics of the rankings of a system that findings use."""
    looking = [m for m in scores.measures if m.needs_order]
    by_id = bool(looking) and all(m.parameters.get("ties", "id") == "id" for m in looking)
    return RunStatistics(
        one, unjudged, spelling, partial(_tie_range, _leading_measure(scores), one, scores), by_id
    )


def _leading_measure(scores: TopicScores) -> Measure | None:
    """Return the first measure that is a mean over topics and has a direction."""
    return next((m for m in scores.measures if _is_mean(m)), None)


def _topic_findings(
    scores: TopicScores, told: Told, ranked: Mapping[str, RunStatistics], more: list[object]
) -> tuple[Finding, ...]:
    """Return the findings of values per topic and of the rankings behind them."""
    (estimates, comparison, slices), settings = told, scores.settings
    shown, inference = tuple(scores.measures), settings.interval != "none"
    u = scores.importance
    size = math.inf if u is None else effective_size_of(u)
    unit = scores.unit
    whole: list[object] = [
        TopicEstimates(tuple(estimates), size, unit),
        ComparisonResults(comparison, slices),
    ]
    leading = _leading_measure(scores)
    if leading is not None:
        values = dict(zip(scores.systems, scores.value_table(leading).T, strict=True))
        # A topic decides by Student's t of independent ones.
        alone = comparison if scores.clusters is None else None
        whole.append(TopicValues(str(leading), scores.topics, values, alone, u, unit))
    subjects = [Subject(n, settings.level, (r,), shown) for n, r in ranked.items()]
    of_all = Subject(None, settings.level, (*whole, *more), shown, inference=inference)
    return findings.find_all([*subjects, of_all])


def _is_mean(measure: Measure) -> bool:
    """Return whether a measure is a mean over topics and has a direction."""
    d = measure.definition
    return d.higher_is_better is not None and d.summary == "mean" and d.interval != "none"


def _tie_range(
    measure: Measure | None, of: JudgedRankings, scores: TopicScores
) -> tuple[str, float, float] | None:
    """Return the lowest and the highest mean over all orders of tied documents.

    The result is None where this range cannot be found quickly.
    """
    if (
        measure is None
        or measure.definition.statistic is not JudgedRankings
        or not measure.monotone
    ):
        return None
    of = of if scores.topic_indices is None else of.take(scores.topic_indices)
    worst, best = (
        Summary("mean").value(
            measure.apply(of.reorder_ties(best_first=best_first)), None, scores.importance
        )
        for best_first in (False, True)
    )
    return str(measure), worst, best


def _collect_findings(
    sample: Sample,
    has: Mapping[str, tuple[Any, ...]],
    data: tuple[object, ...],
    told: Told,
    seen: VisibleRows | None = None,
    outputs: Mapping[str, Mapping[str, tuple[Any, ...]]] = MappingProxyType({}),
) -> tuple[Finding, ...]:
    """Collect the findings of the data, of each system, of its outputs and of the comparison.

    ``has`` holds the statistics of each system, ``outputs`` those of each of its outputs, and
    ``seen`` the visible rows if these are not all rows.
    """
    (estimates, comparison, slices), settings = told, sample.settings
    looked_at = "" if seen is None else seen.sample_note
    families = TASKS[sample.problem.task]

    def subject(system: str) -> Subject:
        known = {e.measure: e for e in estimates if e.system == system}

        def estimate(name: str) -> Estimate:
            return known.get(name) or sample.estimate(system, parse(name, families))

        readings = cache(lambda name: sample.point_estimate(system, parse(name, families)))

        def at_level(name: str, level: float) -> IntervalNumber:
            reading = readings(name)
            return IntervalNumber.within(reading.value, policy.interval(reading, level))

        shown, inference = tuple(sample.measures), settings.interval != "none"
        return Subject(
            system,
            settings.level,
            (*has[system], *_unordered_influence(sample, system)),
            shown,
            cache(estimate),
            inference,
            at_level=at_level,
            looked_at=looked_at,
        )

    def of_output(system: str, output: str, known: tuple[Any, ...]) -> Subject:
        own = [m for m in sample.measures if m.label == output]

        def estimate(name: str) -> Estimate:
            return sample.estimate(system, replace(parse(name, families), label=output))

        return replace(
            subject(system),
            data=known,
            output=output,
            measures=tuple(m.plain for m in own),
            display_names={str(m.plain): str(m) for m in own},
            estimate=cache(estimate),
            at_level=None,
        )

    subjects = [subject(system) for system in sample.systems]
    subjects += [
        of_output(system, output, known)
        for system, of in outputs.items()
        for output, known in of.items()
    ]
    whole = Subject(None, settings.level, (ComparisonResults(comparison, slices),))
    return findings.find_all([replace(subjects[0], name=None, data=data), *subjects, whole])


def _unordered_influence(sample: Sample, system: str) -> tuple[UnorderedInfluence, ...]:
    """Return the influence of rows on the first measure, for findings on serial dependence.

    It is computed only for rows without a given order or clusters, and not for rows that are
    sorted by their truth or predictions.
    """
    task, ids = sample.problem.task, getattr(sample, "ids", None)
    if task not in ("classification", "regression") or ids is None or sample.rows is None:
        return ()
    s = sample.rows[system]
    if s.order is not None or s.clusters is not None or _is_sorted(s):
        return ()
    some = s if s.n_rows <= MOST_NEIGHBOURS else s.take_rows(np.arange(MOST_NEIGHBOURS))
    for measure in sample.measures:
        reading = some.point_estimate(measure)
        if reading.influence is not None and math.isfinite(reading.value):
            return (
                UnorderedInfluence(
                    str(measure), partial(_finite_influence, reading, some.n_rows), s.n_rows
                ),
            )
    return ()


def _finite_influence(reading: PointEstimate, rows: int) -> FloatArray | None:
    """Return the influence of each row on a value, or None if it is unknown or not finite."""
    found = None if reading.influence is None else reading.influence()
    if found is None or len(found.column) != rows:
        return None
    moved = found.influence_values
    return moved if np.isfinite(moved).all() else None


def _is_sorted(s: Any) -> bool:
    """Return whether rows are sorted by a column, or grouped by its values."""
    columns = [s.shared_inputs()[0], *(getattr(s, name, None) for name in ("predicted", "score"))]
    for column in columns:
        if column is None or np.ndim(column) != 1 or len(column) < 2:
            continue
        changes = np.count_nonzero(column[1:] != column[:-1])
        if changes + 1 < len(column) and changes + 1 == len(np.unique(column)):
            return True
        if (column[1:] >= column[:-1]).all() or (column[1:] <= column[:-1]).all():
            return True
    return False
