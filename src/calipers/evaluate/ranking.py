"""Evaluation of learning to rank: scores of the documents of each group, against their grades."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from calipers.curves.ranking_curves import measures_at_ranks
from calipers.data.arrays import take_rows, to_numbers
from calipers.data.columns import Ids, add_files, collect_columns, row_names
from calipers.data.costs import Costs, cost_column_name
from calipers.data.errors import InputError
from calipers.data.ranking_rows import RankingRows, read_human_grades
from calipers.evaluate.retrieval import engine_kind
from calipers.evaluation.arguments import validate_arguments
from calipers.evaluation.availability import ROW_REASONS
from calipers.evaluation.default_comparison import default_comparison
from calipers.evaluation.finding_inputs import from_labeled_topics, from_rankings
from calipers.evaluation.group_scores import (
    group_notes,
    make_curves,
    score_groups,
    select_curve_measure,
)
from calipers.evaluation.labeled_topics import LabeledTopicScores, select_means
from calipers.evaluation.options import MeasureNames, Options
from calipers.evaluation.problems.labeled_rows import check_label_options, read_labeled_mask
from calipers.evaluation.shared import (
    StatisticsByType,
    full_measure_name,
    read_system_columns,
    select_measures,
)
from calipers.evaluation.slice_definitions import Bins, define_slices, parse_slice_columns
from calipers.evaluation.stored_predictions import Baseline, add_stored_topics, baseline_provenance
from calipers.evaluation.stream_columns import check_single_file
from calipers.evaluation.topic_scores import TopicScores
from calipers.evaluation.topic_slices import slice_topics
from calipers.measures import Measure
from calipers.results import Evaluation
from calipers.statistics import JudgedRankings, RankingSeries, SampledRankings

if TYPE_CHECKING:
    from calipers.results import Curve
    from calipers.statistics import FloatArray

DEFAULT_MEASURES = ("nDCG@5", "RR@5", "AP@5", "P@1")

#: How the documents of a group are ordered, as provenance records it.
ORDERS = {
    "average": "score descending, the mean over all orders of equal scores",
    "best": "score descending, equal scores by descending grade",
    "worst": "score descending, equal scores by ascending grade",
}


@validate_arguments
def ranking(
    group: Any,
    truth: Any,
    score: Any,
    *,
    human: Any = None,
    weight: Any = None,
    count: Any = None,
    cluster: Any = None,
    time: Any = None,
    slices: Any = None,
    slice_bins: Bins | None = None,
    cost: Any = None,
    data: Any = None,
    id: str | None = None,  # noqa: A002
    missing: str = "error",
    rel: int = 1,
    dcg: str = "exp-log2",
    ties: str = "average",
    target: str = "like",
    measures: MeasureNames | None = None,
    undefined: str = "nan",
    conventions: str | None = None,
    primary: str | None = None,
    baseline: Baseline = None,
    compare: bool = True,
    curves: bool = True,
    interval: str | Sequence[str] = "auto",
    level: float = 0.95,
    n_resamples: int = 2000,
    seed: int = 0,
    engine: str | None = None,
    inputs: Sequence[Any] = (),
) -> Evaluation:
    """Evaluate learning-to-rank scores, which order the rows of each group.

    Groups (such as queries) are the units of means, intervals and tests. The no-skill value of a
    measure is its expected value if all rows have equal scores, so that every order of a group is
    equally likely.

    Parameters
    ----------
    group : array-like of shape (n,)
        Group of each row (query, user): a column of names or numbers. Groups are the units of
        means, intervals and tests.
    truth : array-like of shape (n,)
        Relevance grade of each row: 0, 1, 2 and so on; rows of higher grade should rank higher.
    score : array-like of shape (n,), or dict of such
        Scores by which a system ranks the rows of a group, higher first; for several systems a dict
        from their names to columns.
    human : array-like of shape (n,), optional
        Human grades of the rows of some groups, if ``truth`` is that of a judge, such as a language
        model: in the form of ``truth``, with a missing value in all rows of the other groups. Means
        then rest on the groups with human grades, and on what the judge adds to them. These groups
        should be selected at random.
    weight : array-like of shape (n,), optional
        Weight of each group in means, their intervals and tests: a column with one value for each
        group. Only the proportions matter; a group of weight 0 is left out.
    count : array-like of shape (n,), optional
        Frequency weight of each group, with one value per group: a group of count 20 is the same as
        that group 20 times.
    cluster : array-like of shape (n,), optional
        Cluster of each group, such as the user or session of a query, with one value per group.
        Intervals and tests are then cluster-robust.
    time : array-like of shape (n,), optional
        Time of each group, with one value per group: numbers, dates, or ISO 8601 text. Intervals
        and tests allow for autocorrelation.
    slices : dict of array-like of shape (n,), or list of str, optional
        Columns that define slices, by name: every measure is computed on each slice and compared
        with all other rows. ``"age*site": (age, site)`` crosses two columns. A column of more than
        ten distinct numbers is cut at its quartiles; a number that more than half of the rows have
        is a slice of its own. Rows without a value are the slice ``"missing"``. With ``data``, a
        list of names will do. A column has one value for each group.
    slice_bins : dict of list of float, or of str, optional
        Bin edges of numeric columns of ``slices``, by name: ``{"age": [40, 65]}``. By default they
        are binned at their quartiles. Of columns of dates the period, ``"year"``, ``"quarter"``,
        ``"month"`` or ``"day"``.
    cost : dict of array-like of shape (n,), float, or dict of such, optional
        Costs of the systems, by the name of the cost: a column (latencies, tokens) or one number (a
        price, a size); or a dict of such by system: ``{"latency (ms)": {"a": …, "b": …}}``. They
        are evaluated in ``evaluation.costs`` and compared with quality in
        ``evaluation.pareto_fronts``. A column has one value for each group.
    data : data frame, dict of columns, or path, optional
        Table whose columns the other arguments may name. Columns may also be passed as NumPy
        arrays, lists, pandas, polars or Arrow columns, or anything with ``__array__`` or DLPack.
    id : str, optional
        Name of a column of ids in ``data``. A system may then be a data frame or path of its own
        that has this column, whose rows are put in the order of ``data``.
    missing : {'error', 'drop'}, default='error'
        ``"error"`` raises an error on missing values. ``"drop"`` drops rows with a missing value,
        or whose id is missing from one of the tables; a note reports how many and why.
    rel : int, default=1
        Lowest grade that counts as relevant, for measures that do not state their own.
    dcg : {'exp-log2', 'log2', 'log-base'}, default='exp-log2'
        Gain and discount of DCG and nDCG that do not state their own: ``"exp-log2"`` is the gain
        2^grade − 1, the others the grade itself.
    ties : {'average', 'best', 'worst'}, default='average'
        ``"average"``, ``"best"`` and ``"worst"`` report the exact mean, best or worst value over
        all orders of tied rows. The order of the rows in the table is ignored.
    target : {'like', 'these'}, default='like'
        What is estimated with human grades: means over groups ``like`` these, or over ``these``
        groups, of which those with human grades are known.
    measures : str, Measure, or list of such, optional
        Names of measures; ``calipers measures`` lists them. ``"default"`` stands for the default
        measures, and ``"default+A,B"`` adds measures to these. The measures of
        :func:`calipers.retrieval`, where each row is a document that is both judged and retrieved.
        ``"NDCG@5"`` uses the gains of ``dcg``.
    undefined : {'nan', 'zero'}, default='nan'
        ``"nan"``: a group whose value is undefined (for example, without relevant rows) is left out
        of the mean and counted. ``"zero"``: it scores 0.
    conventions : str, optional
        Conventions of another tool: ``"trec_eval"``, ``"ir_measures"``, ``"beir"``, ``"mteb"``,
        ``"msmarco"``, ``"ntcireval"``, ``"sklearn"`` or ``"ydf"``. It sets the options in which the
        tool differs, its default measures and the meaning of its names; options that are given take
        precedence. A note states what was set.
    primary : str, optional
        Primary measure, by default the first. p-values of the other measures are adjusted as a
        separate family.
    baseline : str, path or Evaluation, optional
        Reference system. By default all pairs are compared, the later minus the earlier. It may be
        a system of an earlier evaluation: the evaluation, or the path of a file with its stored
        predictions; ``"FILE.json:NAME"`` selects one of several systems.
    compare : bool, default=True
        Whether several systems are compared; ``evaluation.compare()`` can also compare them later.
    curves : bool, default=True
        Whether the evaluation has curves. Each is computed on first access.
    interval : str or list of str, default='auto'
        Interval method: ``"auto"``, ``"bootstrap"``, ``"analytic"`` or ``"none"``; or methods such
        as ``"bca"`` or ``["jeffreys", "hanley"]``, of which the first applicable one is used.
    level : float, default=0.95
        Confidence level of the intervals.
    n_resamples : int, default=2000
        Number of bootstrap replicates.
    seed : int, default=0
        Seed of the random number generator.
    engine : {'memory', 'stream', 'spark', 'dask'}, optional
        ``"memory"``, the default, loads all rows. ``"stream"`` reads the files of ``data`` in
        batches; the rows of a group must be contiguous, and a group that reappears is an error.
        ``"spark"`` and ``"dask"`` evaluate each group where its rows are stored, in any order.
        Findings and baselines of an earlier evaluation need all rows in memory.
    inputs : list, optional
        Origins of the columns, for the provenance.

    Returns
    -------
    Evaluation
        Means over groups with intervals, paired comparisons of several systems, curves, slices and
        findings. The values of every group are in ``per_unit``.

    Raises
    ------
    InputError
        If the input is invalid; the message says where, and what was expected.

    Examples
    --------
    >>> import calipers as cal
    >>> ev = cal.ranking([1, 1, 1, 2, 2], [2, 0, 1, 0, 1], [0.9, 0.5, 0.3, 0.8, 0.2])
    >>> round(ev["NDCG@5"].value, 4), round(ev["NDCG@5"].no_skill, 4), ev["P@1"].value
    (0.7974, 0.799, 0.5)
    """
    arguments = locals()
    if human is not None:
        check_label_options({**arguments, "human_weight": None}, {})
    if ties not in ORDERS:
        raise InputError(f"ties is {ties!r}, expected one of {', '.join(ORDERS)}")
    if undefined not in ("nan", "zero"):
        raise InputError(f"undefined is {undefined!r}, expected 'nan' or 'zero'")
    options, zero_undefined = Options.from_arguments(arguments), undefined == "zero"
    settings = options.settings
    parameters = {"rel": rel, "dcg": dcg, **({} if ties == "average" else {"ties": ties})}
    selected_measures = select_measures(measures, DEFAULT_MEASURES, "retrieval", parameters)
    for measure in selected_measures:
        _check_measure(measure)
    if human is not None:
        selected_measures = select_means(
            selected_measures, is_requested=measures is not None, unit="groups"
        )
    options = replace(options, primary=full_measure_name(primary, parameters))
    recorded = {"order": ORDERS[ties], "undefined": undefined, **parameters}
    input_columns = {
        "group": group, "truth": truth, "score": score, "slices": parse_slice_columns(slices),
        "weight": weight, "count": count, "cluster": cluster, "time": time,
    }  # fmt: skip
    if engine_kind(engine, data, batches=True) is not None:
        if human is not None:
            raise InputError(
                f"human takes all rows in memory: engine='memory'; {ROW_REASONS['human']}"
            )
        from calipers.evaluation.group_scores import evaluate_group_batches

        return evaluate_group_batches(data, input_columns, options, selected_measures, recorded)
    if engine is None:
        check_single_file(data)
    input_columns["human"] = human
    collected = collect_columns(input_columns, data=data, id_column=id, missing=missing, cost=cost)
    group, truth, score, columns_by_slice, *unit_columns, human = collected.columns.values()
    rows = RankingRows.read(group, truth)
    columns = read_system_columns(score, "score", len(rows.group), to_numbers)
    # Rows have no ids that could order those of equal score: each order is as likely.
    systems = {
        name: JudgedRankings(
            **rows.rank_scores(column.astype(np.float64, copy=False)), averaged=True
        )
        for name, column in columns.items()
    }
    common = partial(_common_settings, rows, collected.remaining_ids())
    statistics_by_name: dict[str, StatisticsByType] = {
        name: {JudgedRankings: statistics} for name, statistics in systems.items()
    }
    statistics_by_name, baseline_name = add_stored_topics(
        statistics_by_name, baseline, "ranking", rows.group_names, common
    )
    rankings = {name: statistics[JudgedRankings] for name, statistics in statistics_by_name.items()}
    group_scores = score_groups(
        rows.group_names,
        rankings,
        selected_measures,
        settings,
        common,
        zero_undefined=zero_undefined,
    )
    if human is not None:
        labels = _human_rows(rows, human, columns)
        group_scores = LabeledTopicScores.from_scores(
            replace(group_scores, no_skill_values=None),  # it is that of the judge's grades
            score_groups(*labels, selected_measures, settings, zero_undefined=zero_undefined),
            target,
        )
    source = group_scores.with_columns(rows.unit_columns(*unit_columns))
    definitions, slice_notes = define_slices(
        _group_columns(rows, columns_by_slice, source), slice_bins, len(source.topics), "groups"
    )
    by_slice = slice_topics(source, definitions)
    evaluation = source.to_evaluation(
        "ranking",
        {**recorded, **baseline_provenance(baseline, baseline_name)},
        add_files(inputs, data, input_columns),
        comparison=default_comparison(
            source, baseline_name, settings, options.primary, compare=compare
        ),
        notes=(
            *collected.notes,
            *_no_relevant_notes(source, next(iter(systems.values())), rel, zero=zero_undefined),
            *slice_notes,
        ),
        slices=by_slice,
        costs=_group_costs(rows, collected.costs.by_system(tuple(columns))),
        slice_definitions=definitions,
        curves=_curves(source, rankings, zero=zero_undefined) if curves and human is None else (),
    )
    results = tuple(evaluation.estimates), evaluation.comparison, by_slice
    if human is not None:
        return replace(evaluation, findings=from_labeled_topics(source, results))
    return replace(
        evaluation, findings=from_rankings(source, results, systems, rows.grade, columns)
    )


def _human_rows(
    rows: RankingRows, human: Any, columns: Mapping[str, Any]
) -> tuple[tuple[str, ...], dict[str, JudgedRankings]]:
    """Return the groups with human grades, and how systems rank their rows."""
    labeled_mask = read_labeled_mask(human, len(rows.group))
    human_rows, indices = read_human_grades(rows, human, labeled_mask)
    return human_rows.group_names, {
        name: JudgedRankings(
            **human_rows.rank_scores(column[indices].astype(np.float64)), averaged=True
        )
        for name, column in columns.items()
    }


def _common_settings(rows: RankingRows, ids: Ids | None) -> dict[str, str | None]:
    """Return what has to agree with the systems of an earlier evaluation."""
    return {"judgments": rows.digest(None if ids is None else row_names(ids))}


def _check_measure(measure: Measure) -> None:
    """Check that a measure applies to scores of rows in groups."""
    if measure.definition.statistic is SampledRankings:
        raise InputError(
            f"{measure} needs judgments of documents that were sampled from a pool by stratum, "
            "which rows are not; retrieval() reads such judgments"
        )
    if measure.definition.statistic is RankingSeries:
        raise InputError(
            f"{measure} needs several rankings of the same documents, and a group of rows is one; "
            "retrieval() reads such runs"
        )
    if measure.definition.statistic is not JudgedRankings:
        raise InputError(
            f"{measure} needs documents judged in groups (by subtopic, by assessor, or as "
            "preferences), and rows have one grade each; retrieval() reads such judgments"
        )
    if measure.parameters.get("ties") == "id":  # rows have none: it is their mean
        measure.definition.bind({**measure.parameters, "ties": "average"})


def _curves(
    source: TopicScores, systems: Mapping[str, JudgedRankings], *, zero: bool
) -> Sequence[Curve]:
    """Return the curves of the first measure that has a cutoff, at each rank."""
    measure = select_curve_measure(source.measures)
    if measure is None:
        return ()
    return make_curves(source, measure, partial(_rank_values, systems, measure), zero=zero)


def _rank_values(
    systems: Mapping[str, JudgedRankings], measure: Measure, system: str | None
) -> FloatArray:
    """Return the value of each group at each rank; without a system, those of equal scores."""
    ranked = next(iter(systems.values())).tie_all() if system is None else systems[system]
    return np.column_stack(
        [cutoff_measure.apply(ranked) for cutoff_measure in measures_at_ranks(measure)]
    )


def _group_costs(rows: RankingRows, costs: Costs) -> Costs:
    """Return the costs of the systems in each group."""
    row_costs = costs.to_numbers(len(rows.group), lambda column: column)
    columns = {
        cost: {
            name: rows.reduce_to_groups(column, cost_column_name(cost, name))
            for name, column in by_system.items()
        }
        for cost, by_system in row_costs.columns.items()
    }
    return replace(row_costs, columns=columns)


def _group_columns(rows: RankingRows, columns_by_slice: Any, source: TopicScores) -> Any:
    """Return the slice columns, one value for each group that is evaluated."""
    group_indices = (
        np.arange(len(rows.group_names)) if source.topic_indices is None else source.topic_indices
    )
    return {
        name: {
            column_name: take_rows(
                rows.reduce_to_groups(column, f"slice {column_name!r}"), group_indices
            )
            for column_name, column in columns.items()
        }
        for name, columns in (columns_by_slice or {}).items()
    }


def _no_relevant_notes(
    source: TopicScores, ranked: JudgedRankings, rel: int, *, zero: bool
) -> list[str]:
    relevant = ranked.n_relevant(rel)
    n_without_relevant = int(
        np.count_nonzero(
            relevant[source.topic_indices if source.topic_indices is not None else ...] == 0
        )
    )
    return group_notes(n_without_relevant, len(source.topics), rel, zero=zero)
