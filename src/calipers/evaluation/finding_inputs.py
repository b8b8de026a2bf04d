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
from calipers.findings.confusion_cells import (
    UNKNOWN_ERROR,
    BinaryCells,
    ConfusionCells,
    MulticlassCells,
)
from calipers.findings.duplicates import RowOutputs
from calipers.findings.human_labels import (
    ClassAverages,
    LabeledSystems,
    SkewedSquares,
    SystemLabels,
)
from calipers.findings.multilabel import LabelSizes, MultilabelPredictions, MultilabelRows
from calipers.findings.order import RowOrderInfluence
from calipers.findings.predictions import OptimizedThreshold
from calipers.findings.quantiles import PredictionIntervals, QuantilePredictions
from calipers.findings.rankings import (
    JUDGED_CUTOFF,
    GradedGroups,
    RunStatistics,
    RunStatisticsByName,
    TopicValues,
)
from calipers.findings.raters import RaterPanel
from calipers.findings.regression import NumericPredictions
from calipers.inference import method_selection
from calipers.inference.summaries import Summary
from calipers.measures import TASKS, parse
from calipers.measures.cluster_indices import bias_description
from calipers.statistics import (
    ConfusionMatrix,
    FloatArray,
    IntArray,
    JudgedRankings,
    LabelMatrices,
    ScoreTable,
    effective_size,
    effective_size_from_weights,
)
from calipers.statistics.base import column_sums

if TYPE_CHECKING:
    from collections.abc import Sequence

    from calipers.data.trec import Run
    from calipers.evaluation.sample import EvaluationResults, Sample
    from calipers.evaluation.topic_scores import TopicScores
    from calipers.inference.point_estimate import PointEstimate
    from calipers.measures import Measure
    from calipers.results import Estimate, Finding


#: Maximum number of rows for findings on serial dependence; the first are used.
MAX_NEIGHBOR_ROWS = 20_000

#: Sums by cluster and cell are stored up to this number per row.
MAX_SUMS_PER_ROW = 8

#: Maximum number of classes for findings on cells of clustered rows.
MAX_CELL_CLASSES = 30


def from_systems(sample: Sample, results: EvaluationResults) -> tuple[Finding, ...]:
    """Return the findings of systems of which only estimates are known."""
    return _collect_findings(sample, dict.fromkeys(sample.systems, ()), (), results)


def from_binary(sample: Sample, results: EvaluationResults) -> tuple[Finding, ...]:
    """Return the findings of binary classifiers."""
    data_by_system: dict[str, tuple[Any, ...]] = {}
    rows = sample.in_memory_systems or {}
    for name in sample.systems:
        table, matrix = sample.statistic(name, ScoreTable), sample.statistic(name, ConfusionMatrix)
        system = rows.get(name)
        cells = None if matrix is None else _confusion_cells(sample, matrix, name, system)
        chosen_threshold = None if system is None else system.chosen_threshold
        optimized_threshold = (
            None
            if chosen_threshold is None
            else OptimizedThreshold(
                chosen_threshold.threshold,
                chosen_threshold.rule.measure,
                chosen_threshold.out_of_bag,
                chosen_threshold.note,
            )
        )
        data_by_system[name] = cells, table, optimized_threshold
    cells, table, _ = next(iter(data_by_system.values()))
    if cells is None and table is not None:
        names = next(iter(sample.template_systems.values())).labels.names
        matrix = replace(table.confusion_at(math.inf), labels=names)
        cells = BinaryCells(matrix, _cluster_count(sample))
    if _has_separate_rows(sample):
        return _collect_findings(
            sample,
            data_by_system,
            _class_sizes([cells for cells, *_ in data_by_system.values()]),
            results,
        )
    data: tuple[object, ...] = () if cells is None else (ClassSizes(cells),)
    if rows:
        truth = _positive_rows(next(iter(rows.values())))
        predictions = {
            n: _defined_columns(system.score, system.predicted) for n, system in rows.items()
        }
        errors = {
            n: system.predicted != truth for n, system in rows.items() if system.score is None
        }
        data = (*data, *_row_outputs(sample, visible_rows(sample), truth, predictions, errors))
    return _collect_findings(sample, data_by_system, data, results)


def _positive_rows(system: Any) -> Any:
    return None if system is None else system.labels.positive


def _has_separate_rows(sample: Sample) -> bool:
    """Return whether there are several systems, each on rows of its own."""
    return sample.has_separate_rows and len(sample.systems) > 1


def _class_sizes(cells: Sequence[ConfusionCells | None]) -> tuple[ClassSizes, ...]:
    """Return the class sizes, if they are the same in the matrices of all systems."""
    first, *others = cells
    if first is None or any(other_cells is None for other_cells in others):
        return ()
    sizes = first.matrix.truth_margin
    has_equal_sizes = all(
        np.array_equal(other_cells.matrix.truth_margin, sizes)
        for other_cells in others
        if other_cells is not None
    )
    return (ClassSizes(first),) if has_equal_sizes else ()


def _defined_columns(*columns: npt.NDArray[Any] | None) -> list[npt.NDArray[Any]]:
    return [column for column in columns if column is not None]


def from_multiclass(sample: Sample, results: EvaluationResults) -> tuple[Finding, ...]:
    """Return the findings of multiclass classifiers."""
    rows, data_by_system = sample.in_memory_systems or {}, {}
    truth = next(iter(rows.values())).class_rows.truth if rows else None
    for name in sample.systems:
        matrix = sample.statistic(name, ConfusionMatrix)
        data_by_system[name] = (
            None if matrix is None else _confusion_cells(sample, matrix, name, rows.get(name)),
        )
    first = next((cells for (cells,) in data_by_system.values() if cells is not None), None)
    if _has_separate_rows(sample):
        return _collect_findings(
            sample,
            data_by_system,
            _class_sizes([cells for (cells,) in data_by_system.values()]),
            results,
        )
    data: tuple[object, ...] = (first and ClassSizes(first),)
    if rows:
        predictions = {
            n: _defined_columns(system.score, system.predicted) for n, system in rows.items()
        }
        errors = {
            n: system.predicted != truth for n, system in rows.items() if system.score is None
        }
        assert truth is not None
        data = (*data, *_row_outputs(sample, visible_rows(sample), truth, predictions, errors))
    return _collect_findings(sample, data_by_system, data, results)


def _cluster_count(sample: Sample) -> int:
    """Return the number of clusters, 0 without any; 1, which has no error, if it is unknown."""
    return sample.n_clusters or int(sample.is_clustered)


def _confusion_cells(
    sample: Sample, matrix: ConfusionMatrix, name: str, system: Any
) -> ConfusionCells:
    """Return the counts of a system, with cluster-robust errors where rows come in clusters."""
    k, n_clusters = matrix.n_classes, _cluster_count(sample)

    @cache
    def cluster_cells() -> FloatArray | None:
        """Return the weight of the rows of each cluster in each cell, one row per cluster.

        It is None if there are more of them than the rows themselves are worth.
        """
        if system is None:
            return sample.cluster_cells(name)
        clusters, flat = system.clusters, system.counts.cells.row_cells
        if clusters.n_codes * k * k > MAX_SUMS_PER_ROW * len(flat):
            return None
        cell_weights: FloatArray = clusters.cell_weights(flat, (k, k))
        return cell_weights.reshape(clusters.n_codes, k * k)

    def error(influence: Callable[[], FloatArray]) -> tuple[float, float]:
        from calipers.inference.clusters import cr2

        if k > MAX_CELL_CLASSES or n_clusters < 2:
            return UNKNOWN_ERROR
        by_cell, by_cluster = influence().ravel(), cluster_cells()
        if by_cluster is not None:
            return cr2(by_cluster @ by_cell, by_cluster.sum(axis=1))
        if system is None:
            return UNKNOWN_ERROR
        row_influence = by_cell[system.counts.cells.row_cells]
        return tuple(
            system.clusters.sum_error(
                row_influence if system.weight is None else row_influence * system.weight
            )
        )

    return (BinaryCells if k == 2 else MulticlassCells)(matrix, n_clusters, error)


def from_multilabel(sample: Sample, results: EvaluationResults) -> tuple[Finding, ...]:
    """Return the findings of multilabel classifiers."""
    visible, sizes = visible_rows(sample), _label_sizes(sample)
    if visible is None:
        return _collect_findings(sample, dict.fromkeys(sample.systems, ()), sizes, results)
    rows = visible.systems
    first_system = next(iter(rows.values()))
    set_functions = (lambda: first_system.most_frequent_set), (lambda: first_system.n_sets)
    labels = MultilabelRows(
        first_system.labels,
        first_system.truth,
        first_system.weight,
        first_system.clusters,
        first_system.label_proportions,
        *set_functions,
        visible.is_complete,
    )
    predictions = {name: system.predicted for name, system in rows.items()}
    data_by_system = {
        n: () if sets is None else (MultilabelPredictions(labels, sets),)
        for n, sets in predictions.items()
    }
    columns = {n: _defined_columns(system.score, system.predicted) for n, system in rows.items()}
    errors = {
        n: (system.predicted != first_system.truth).any(axis=1)
        for n, system in rows.items()
        if system.score is None
    }
    return _collect_findings(
        sample,
        data_by_system,
        (labels, *sizes, *_row_outputs(sample, visible, first_system.truth, columns, errors)),
        results,
        visible,
    )


def _label_sizes(sample: Any) -> tuple[LabelSizes, ...]:
    """Return the effective number of rows with each label; it is empty if it is unknown.

    Rows in batches have it from their counts, or without weights from the sums of the truth.
    """
    template = next(iter(sample.template_systems.values()))
    if sample.in_memory_systems is not None:
        truth, weight = template.truth, template.weight
        sums = squares = column_sums(truth, weight)
        if weight is not None:
            squares = column_sums(truth, np.square(weight))
    else:
        matrices = (sample.statistic(name, LabelMatrices) for name in sample.systems)
        matrix = next((each for each in matrices if each is not None), None)
        if matrix is not None:
            sums, squares = (
                matrix.one_vs_rest().positive,
                matrix.squared_weight_matrix.one_vs_rest().positive,
            )
        elif not sample.passes.first_pass_result.weight.has_unequal_weights:
            sums = (
                sample.passes.first_pass_result.auxiliary.sizes[:-1] / sample.passes.common_weight
            )
            squares = sums
        else:
            return ()
    sizes = [effective_size(w, q) for w, q in zip(sums, squares, strict=True)]
    return (LabelSizes(template.labels, np.array(sizes)),)


def _row_outputs(
    sample: Sample,
    visible: VisibleRows | None,
    truth: npt.NDArray[Any],
    predictions: Mapping[str, Sequence[npt.NDArray[Any]]],
    errors: Mapping[str, npt.NDArray[np.bool_]],
) -> tuple[RowOutputs, ...]:
    """Return the predictions of all rows, for findings on duplicates.

    The result is empty if only a subset of the rows is in memory, or if rows have frequencies and
    are repeated on purpose.
    """
    clustered = sample.is_clustered
    has_all_rows = visible is not None and visible.is_complete and not visible.has_counts
    return (RowOutputs(truth, predictions, errors, clustered),) if has_all_rows else ()


def from_regression(sample: Sample, results: EvaluationResults) -> tuple[Finding, ...]:
    """Return the findings of systems that predict numbers."""
    visible = visible_rows(sample)
    if visible is None:
        return from_systems(sample, results)
    rows, row_name, largest = visible.systems, visible.row_name, visible.largest_residuals
    data_by_system = {
        n: (
            NumericPredictions(
                s.truth, s.predicted, s.weight, s.clusters, row_name, largest.get(n)
            ),
        )
        for n, s in rows.items()
    }
    first_system = next(iter(rows.values()))
    errors = {n: s.predicted != first_system.truth for n, s in rows.items()}
    predictions = {n: [s.predicted] for n, s in rows.items()}
    return _collect_findings(
        sample,
        data_by_system,
        _row_outputs(sample, visible, first_system.truth, predictions, errors),
        results,
        visible,
    )


def from_multioutput(
    outputs: Sequence[str], sample: Sample, results: EvaluationResults
) -> tuple[Finding, ...]:
    """Return the findings of multi-output regression; ``outputs`` are examined one by one."""
    visible = visible_rows(sample)
    if visible is None:
        return from_systems(sample, results)
    rows = visible.systems
    outputs_by_system = {
        name: {
            o: (
                NumericPredictions(
                    system.truth, system.predicted, system.weight, system.clusters, visible.row_name
                ),
            )
            for o, system in ((o, s.single_output(o)) for o in outputs)
        }
        for name, s in rows.items()
    }
    system = next(iter(rows.values()))
    errors = {n: (s.predicted != system.truth).any(axis=1) for n, s in rows.items()}
    predictions = {n: [s.predicted] for n, s in rows.items()}
    row_outputs = _row_outputs(sample, visible, system.truth, predictions, errors)
    return _collect_findings(
        sample, dict.fromkeys(rows, ()), row_outputs, results, visible, outputs_by_system
    )


def _prediction_intervals(sample: Any, name: str) -> PredictionIntervals:
    """Return the central prediction intervals of a system whose coverage can be computed."""
    levels = list(sample.template_systems[name].quantile_rows.nominal_coverages)
    if sample.in_memory_systems is None and not sample.is_rereadable:
        levels = [
            level
            for level in levels
            if sample.is_available(name, parse(f"interval-coverage@{level:.10g}", "quantiles"))
        ]
    return PredictionIntervals(tuple(levels))


def from_quantiles(sample: Sample, results: EvaluationResults) -> tuple[Finding, ...]:
    """Return the findings of systems that predict quantiles."""
    visible = visible_rows(sample)
    data_by_system: dict[str, tuple[Any, ...]] = {
        n: (_prediction_intervals(sample, n),) for n in sample.systems
    }
    if visible is not None:
        for n, s in visible.systems.items():
            columns = s.truth, s.quantile_rows, s.weight, s.clusters
            data_by_system[n] += (QuantilePredictions(*columns, visible.row_name),)
    return _collect_findings(sample, data_by_system, (), results, visible)


#: Maximum number of points that are expanded from their counts to be permuted.
MAX_PERMUTED_POINTS = 10_000_000


def from_clusterings(sample: Sample, results: EvaluationResults) -> tuple[Finding, ...]:
    """Return the findings of clusterings."""
    rows = sample.in_memory_systems
    if rows is None:
        return from_systems(sample, results)
    data_by_system, systems = {}, rows
    distance_measures = [m.plain for m in sample.measures if m.definition.reads == "distances"]
    for name, s in systems.items():
        is_permutable = s.truth is not None and (
            s.point_counts is None or s.point_counts.sum() <= MAX_PERMUTED_POINTS
        )
        system_data: list[object] = (
            [PermutationTest(cache(partial(_permutation_p, s)))] if is_permutable else []
        )
        for measure in distance_measures[:1] if s.cluster_totals is None else ():
            silhouette_sample = s.sample_for(measure)
            if np.isfinite(silhouette_sample.values).all():
                system_data.append(
                    PointSilhouettes(
                        s.names,
                        silhouette_sample.cluster,
                        silhouette_sample.silhouettes.neighbor_distances.nearest_cluster,
                        silhouette_sample.values,
                    )
                )
        if s.points is not None and s.metric != "cosine":
            system_data.append(bisect_clusters(s))
        if s.stability is not None:
            system_data.append(s.stability)
        data_by_system[name] = tuple(system_data)
    values: dict[str, tuple[bool, dict[str, float]]] = {}
    for e in results[0]:
        d = parse(e.measure, TASKS[sample.problem.task]).definition
        # A total over points falls with every cluster more.
        if d.reads != "partitions" and d.interval != "total" and d.higher_is_better is not None:
            values.setdefault(e.measure, (d.higher_is_better, {}))[1][e.system] = e.value
    clusters = {name: len(s.names) for name, s in systems.items()}
    bias_by_measure = {
        name: bias_description(parse(name, TASKS[sample.problem.task])) for name in values
    }
    return _collect_findings(
        sample, data_by_system, (ClusterCounts(clusters, values, bias_by_measure),), results
    )


def from_raters(
    sample: Sample, results: EvaluationResults, rows: Mapping[str, Any]
) -> tuple[Finding, ...]:
    """Return the findings of sets of raters, whose single raters may be known.

    Agreement is measured by the first measure that depends on the scale, as given by the user, or
    by Krippendorff's alpha.
    """
    if not rows:
        return from_systems(sample, results)
    scaled = [m for m in sample.measures if "scale" in m.parameters]
    alpha = scaled[0] if scaled else parse("Krippendorff-alpha", TASKS[sample.problem.task])
    data_by_system: dict[str, tuple[Any, ...]] = {}
    for name, system in rows.items():
        ratings = system.sample_for(alpha).statistic.multiply_rated_items
        category_index = (
            int(ratings.category_weights.argmax()) if len(ratings.category_weights) else 0
        )
        proportion = (
            float(ratings.category_weights[category_index] / ratings.total) if len(ratings) else 0.0
        )
        most_frequent = ratings.categories[category_index] if ratings.categories else ""
        data_by_system[name] = (
            RaterPanel(
                system.raters,
                str(alpha),
                partial(_leave_one_rater_out, system, alpha),
                most_frequent,
                proportion,
            ),
        )
    return _collect_findings(sample, data_by_system, (), results)


def from_labeled_scores(sample: Sample, results: EvaluationResults) -> tuple[Finding, ...]:
    """Return the findings of scores of a judge, of which some cases have human labels."""
    systems = sample.in_memory_systems or {}
    labels = {
        name: SystemLabels(
            system.human, system.values, system.clusters, system.human_weight is not None
        )
        for name, system in systems.items()
    }
    data_by_system = {name: (data,) for name, data in labels.items()}
    return _collect_findings(sample, data_by_system, (LabeledSystems({"": labels}),), results)


def from_labeled_rows(sample: Sample, results: EvaluationResults) -> tuple[Finding, ...]:
    """Return the findings of rows with a truth by a judge, and some also with one by people."""
    from calipers.estimation.effective_sample_size import is_class_average

    systems: Any = sample.in_memory_systems
    (_, comparison, slices), settings = results, sample.settings
    measures, first = tuple(sample.measures), next(iter(systems.values()))
    human, classes = _truth_numbers(first.human)
    judged, _ = _truth_numbers(first.judge)
    fields: dict[str, Any] = {
        "clusters": first.clusters,
        "has_weights": first.has_label_weights,
        "unit": first.unit,
    }
    mask = first.labeled_mask if human.ndim == 1 else first.labeled_mask[:, None]
    truth = SystemLabels(
        np.where(mask, human, np.nan),
        judged,
        **fields,
        quantity="mean value",
        classes=classes,
    )
    averages = ClassAverages(
        tuple(str(m) for m in measures if is_class_average(m)), int(first.labeled_mask.sum())
    )
    by_measure: dict[str, dict[str, SystemLabels]] = {}
    for measure in sample.directed_measures:
        by_measure = _labeled_row_values(systems, measure, fields)
        if by_measure:
            break
    losses = [str(m) for m in measures if m.definition.higher_is_better is False]
    squares = _skewed_squares(systems, measures, averages.n_labels)
    data = truth, averages, squares, LabeledSystems(by_measure, losses)
    inference = settings.interval != "none"
    shared = Subject(None, settings.level, data, measures, has_inference=inference)
    compared = Subject(None, settings.level, (ComparisonResults(comparison, slices),))
    return findings.find_all([shared, compared])


def _skewed_squares(
    systems: Mapping[str, Any], measures: Sequence[Measure], n_labels: int
) -> SkewedSquares:
    """Return what labels and judge show of the tail of squares, if a measure is of squares."""
    from calipers.inference.human_labels import labeled_sample

    names, samples = [], []
    for measure in measures:
        labeled = [labeled_sample(system.point_estimate(measure)) for system in systems.values()]
        of_squares = [s for s in labeled if s is not None and s.has_squares]
        if of_squares:
            names.append(str(measure))
            samples += of_squares
    return SkewedSquares(
        tuple(names),
        n_labels,
        max((sample.scaled_skewness for sample in samples), default=0.0),
        max((sample.spread_ratio for sample in samples), default=1.0),
    )


def _truth_numbers(system: Any) -> tuple[FloatArray, tuple[str, ...]]:
    """Return the truth of each row as a number, or as the index of a class, and the classes.

    Of several labels of a row it is a column for each label.
    """
    truth, shared = system.shared_inputs()
    classes = shared.get("classes", shared.get("labels", ()))
    return np.asarray(truth, np.float64), tuple(classes)


def _labeled_row_values(
    systems: Mapping[str, Any], measure: Measure, fields: Mapping[str, Any]
) -> dict[str, dict[str, SystemLabels]]:
    """Return the value of each row by the judge and by people, by measure and system.

    It is empty if the measure is not the mean of a value per row.
    """
    labels = {}
    for name, system in systems.items():
        human, judged = system.human.row_values(measure), system.judge.row_values(measure)
        estimate = system.judge.point_estimate(measure)
        if human is None or judged is None or not np.isfinite(judged).all():
            return {}
        if not math.isclose(np.average(judged, weights=system.weight), estimate.value):
            return {}
        human = np.where(system.labeled_mask, human, np.nan)
        labels[name] = SystemLabels(human, judged, **fields)
    return {str(measure): labels}


def from_labeled_topics(scores: TopicScores, results: EvaluationResults) -> tuple[Finding, ...]:
    """Return the findings of judgments by a judge, of which some topics have human ones."""
    from calipers.evaluation.labeled_topics import LabeledTopicScores

    assert isinstance(scores, LabeledTopicScores)
    (_, comparison, slices), settings = results, scores.settings
    measures, inference = tuple(scores.measures), settings.interval != "none"
    by_measure = {
        str(measure): {
            name: SystemLabels(
                scores.human[name][:, j], scores.values[name][:, j], scores.clusters,
                has_weights=scores.topic_weights is not None, unit=scores.unit,
                has_label=scores.labeled_mask,
            )
            for name in scores.systems
        }
        for j, measure in enumerate(measures)
    }  # fmt: skip
    first = next(iter(by_measure.values()))
    subjects = [Subject(n, settings.level, (data,), measures) for n, data in first.items()]
    shared: list[object] = [LabeledSystems(by_measure), ComparisonResults(comparison, slices)]
    overall = Subject(None, settings.level, tuple(shared), measures, has_inference=inference)
    return findings.find_all([*subjects, overall])


def _leave_one_rater_out(system: Any, measure: Measure, level: float) -> list[IntervalNumber]:
    """Return the increase of a measure if each rater in turn is removed."""
    full_estimate, rater_indices, increases = (
        system.point_estimate(measure),
        range(len(system.raters)),
        [],
    )
    for rater in rater_indices:
        difference = (
            system.select_raters([k for k in rater_indices if k != rater]).point_estimate(measure)
            - full_estimate
        )
        increases.append(
            IntervalNumber.from_interval(
                difference.value, method_selection.interval(difference, level)
            )
        )
    return increases


def _permutation_p(system: Any) -> float:
    from calipers.inference.independence import independence_test

    settings = system.settings
    return independence_test(
        system.truth, system.cluster, settings.n_resamples, settings.seed, system.point_counts
    )


def from_runs(
    scores: TopicScores,
    results: EvaluationResults,
    rankings: Mapping[str, JudgedRankings],
    runs: Mapping[str, Run],
    describe_variant: Callable[[str, str], str],
) -> tuple[Finding, ...]:
    """Return the findings of runs.

    ``describe_variant`` of a run and ``"documents"`` or ``"topics"`` describes how ids without a
    match differ from those that would match.
    """
    ranked = {
        name: _run_statistics(
            scores, ranking, runs[name].unjudged_topics, partial(describe_variant, name)
        )
        for name, ranking in rankings.items()
        if name in runs  # findings of a stored system were reported by the earlier evaluation
    }
    stored_statistics = {
        n: _run_statistics(scores, r, 0, lambda _: "") for n, r in rankings.items() if n not in runs
    }
    data: list[object] = []
    if ranked and not any(m.parameters.get("judged_only") for m in scores.measures):
        data.append(
            RunStatisticsByName(
                {**ranked, **stored_statistics},
                parse(f"Judged@{JUDGED_CUTOFF}", TASKS["retrieval"]),
            )
        )
    return _topic_findings(scores, results, ranked, data)


def from_rankings(
    scores: TopicScores,
    results: EvaluationResults,
    rankings: Mapping[str, JudgedRankings],
    truth: npt.NDArray[Any],
    predictions: Mapping[str, npt.NDArray[Any]],
) -> tuple[Finding, ...]:
    """Return the findings of systems whose scores order the graded rows of each group."""
    ranked = {
        name: _run_statistics(scores, ranking, 0, lambda _: "")
        for name, ranking in rankings.items()
    }
    graded = _graded_groups(scores, next(iter(rankings.values())).n_grades)
    outputs = RowOutputs(
        truth, {name: [x] for name, x in predictions.items()}, {}, is_clustered=True
    )
    return _topic_findings(scores, results, ranked, [graded, outputs])


def from_group_values(
    scores: TopicScores, results: EvaluationResults, n_grades: IntArray
) -> tuple[Finding, ...]:
    """Return the findings of values per group, and of the number of distinct grades of each.

    Ties and identical scores are seen in the rows, which are gone.
    """
    return _topic_findings(scores, results, {}, [_graded_groups(scores, n_grades)])


def _graded_groups(scores: TopicScores, n_grades: IntArray) -> GradedGroups:
    indices = scores.topic_indices
    return GradedGroups(n_grades if indices is None else n_grades[indices])


def _run_statistics(
    scores: TopicScores, ranking: JudgedRankings, n_unjudged: int, spelling: Callable[[str], str]
) -> RunStatistics:
    """Return the statistics of the rankings of a system that findings use."""
    ordered_measures = [m for m in scores.measures if m.needs_order]
    is_ordered_by_id = bool(ordered_measures) and all(
        m.parameters.get("ties", "id") == "id" for m in ordered_measures
    )
    return RunStatistics(
        ranking,
        n_unjudged,
        spelling,
        partial(_tie_range, _leading_measure(scores), ranking, scores),
        is_ordered_by_id,
    )


def _leading_measure(scores: TopicScores) -> Measure | None:
    """Return the first measure that is a mean over topics and has a direction."""
    return next((m for m in scores.measures if _is_mean(m)), None)


def _topic_findings(
    scores: TopicScores,
    results: EvaluationResults,
    ranked: Mapping[str, RunStatistics],
    ranking_data: list[object],
) -> tuple[Finding, ...]:
    """Return the findings of values per topic and of the rankings behind them."""
    (estimates, comparison, slices), settings = results, scores.settings
    measures, inference = tuple(scores.measures), settings.interval != "none"
    importance = scores.topic_weights
    effective_size = math.inf if importance is None else effective_size_from_weights(importance)
    unit = scores.unit
    data: list[object] = [
        TopicEstimates(tuple(estimates), effective_size, unit),
        ComparisonResults(comparison, slices),
    ]
    leading_measure = _leading_measure(scores)
    if leading_measure is not None:
        values = dict(zip(scores.systems, scores.value_table(leading_measure).T, strict=True))
        # The influence of a topic on the decision assumes independent topics.
        independent_comparison = comparison if scores.clusters is None else None
        data.append(
            TopicValues(
                str(leading_measure),
                scores.topics,
                values,
                independent_comparison,
                importance,
                unit,
            )
        )
    subjects = [Subject(n, settings.level, (r,), measures) for n, r in ranked.items()]
    overall_subject = Subject(
        None, settings.level, (*data, *ranking_data), measures, has_inference=inference
    )
    return findings.find_all([*subjects, overall_subject])


def _is_mean(measure: Measure) -> bool:
    """Return whether a measure is a mean over topics and has a direction."""
    d = measure.definition
    return d.higher_is_better is not None and d.summary == "mean" and d.interval != "none"


def _tie_range(
    measure: Measure | None, ranking: JudgedRankings, scores: TopicScores
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
    ranking = ranking if scores.topic_indices is None else ranking.take_topics(scores.topic_indices)
    worst, best = (
        Summary("mean").value(
            measure.apply(ranking.reorder_ties(best_first=best_first)), None, scores.topic_weights
        )
        for best_first in (False, True)
    )
    return str(measure), worst, best


#: Tasks with a truth and predictions of each row.
_ROW_TASKS = ("classification", "regression")
#: Kinds of findings on such tasks whose tests need all rows at once, which batches do not have.
_ALL_ROWS_KINDS = ("duplicated-rows", "neighbors-alike")


def _collect_findings(
    sample: Sample,
    data_by_system: Mapping[str, tuple[Any, ...]],
    data: tuple[object, ...],
    results: EvaluationResults,
    visible: VisibleRows | None = None,
    outputs: Mapping[str, Mapping[str, tuple[Any, ...]]] = MappingProxyType({}),
) -> tuple[Finding, ...]:
    """Collect the findings of the data, of each system, of its outputs and of the comparison.

    ``data_by_system`` holds the statistics of each system, ``outputs`` those of its outputs,
    and ``visible`` the visible rows if these are not all rows.
    """
    (estimates, comparison, slices), settings = results, sample.settings
    sample_note = "" if visible is None else visible.sample_note
    families = TASKS[sample.problem.task]

    def make_subject(system: str) -> Subject:
        by_measure = {e.measure: e for e in estimates if e.system == system}

        def estimate(name: str) -> Estimate:
            return by_measure.get(name) or sample.estimate(system, parse(name, families))

        get_estimate = cache(lambda name: sample.point_estimate(system, parse(name, families)))

        def estimate_at_level(name: str, level: float) -> IntervalNumber:
            reading = get_estimate(name)
            return IntervalNumber.from_interval(
                reading.value, method_selection.interval(reading, level)
            )

        measures, inference = tuple(sample.measures), settings.interval != "none"
        return Subject(
            system,
            settings.level,
            (*data_by_system[system], *_unordered_influence(sample, system)),
            measures,
            cache(estimate),
            inference,
            compute_at_level=estimate_at_level,
            sample_note=sample_note,
        )

    def make_output_subject(system: str, output: str, subject_data: tuple[Any, ...]) -> Subject:
        output_measures = [m for m in sample.measures if m.label == output]

        def estimate(name: str) -> Estimate:
            return sample.estimate(system, replace(parse(name, families), label=output))

        return replace(
            make_subject(system),
            data=subject_data,
            output=output,
            measures=tuple(m.plain for m in output_measures),
            display_names={str(m.plain): str(m) for m in output_measures},
            compute_estimate=cache(estimate),
            compute_at_level=None,
        )

    subjects = [make_subject(system) for system in sample.systems]
    subjects += [
        make_output_subject(system, output, subject_data)
        for system, output_data in outputs.items()
        for output, subject_data in output_data.items()
    ]
    overall_subject = Subject(None, settings.level, (ComparisonResults(comparison, slices),))
    return findings.find_all(
        [replace(subjects[0], name=None, data=data), *subjects, overall_subject],
        _ALL_ROWS_KINDS if sample.problem.task in _ROW_TASKS else (),
    )


def _unordered_influence(sample: Sample, system: str) -> tuple[RowOrderInfluence, ...]:
    """Return the influence of rows on the first measure, for findings on serial dependence.

    It is computed only for rows without a given order or clusters, and not for rows that are
    sorted by their truth or predictions. All rows have to be in memory.
    """
    if sample.problem.task not in _ROW_TASKS:
        return ()
    visible = visible_rows(sample)
    if visible is None or not visible.is_complete or visible.has_counts:
        return ()
    s = visible.systems[system]
    if s.order is not None or s.clusters is not None or _is_sorted(s):
        return ()
    subset = s if s.n_rows <= MAX_NEIGHBOR_ROWS else s.take_rows(np.arange(MAX_NEIGHBOR_ROWS))
    for measure in sample.measures:
        estimate = subset.point_estimate(measure)
        if estimate.influence is not None and math.isfinite(estimate.value):
            return (
                RowOrderInfluence(
                    str(measure), partial(_finite_influence, estimate, subset.n_rows), s.n_rows
                ),
            )
    return ()


def _finite_influence(estimate: PointEstimate, n_rows: int) -> FloatArray | None:
    """Return the influence of each row on a value, or None if it is unknown or not finite."""
    influence = None if estimate.influence is None else estimate.influence()
    if influence is None or len(influence.column) != n_rows:
        return None
    values = influence.influence_values
    return values if np.isfinite(values).all() else None


#: Numbers of the first rows that are examined for an order.
_HEAD_SIZES = (1 << 10, 1 << 14, 1 << 18)


def _is_sorted(system: Any) -> bool:
    """Return whether rows are sorted by a column, or grouped by its values."""
    columns = [
        system.shared_inputs()[0],
        *(getattr(system, name, None) for name in ("predicted", "score")),
    ]
    for column in columns:
        if column is None or np.ndim(column) != 1 or len(column) < 2:
            continue
        # What holds of a column holds of its first rows, which rule it out for most columns.
        heads = [column[:n_head] for n_head in (*_HEAD_SIZES, len(column))]
        for compare in (np.greater_equal, np.less_equal):
            if all(compare(head[1:], head[:-1]).all() for head in heads):
                return True
        if (column[1:] == column[:-1]).any() and all(map(_is_grouped, heads)):
            return True
    return False


def _is_grouped(column: npt.NDArray[Any]) -> bool:
    """Return whether no value comes back after another one."""
    changes = np.count_nonzero(column[1:] != column[:-1])
    return bool(changes + 1 == len(np.unique(column)))
