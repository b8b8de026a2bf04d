"""Evaluation of retrieval runs against relevance judgments."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from math import inf
from typing import TYPE_CHECKING, Any

import numpy as np

from calipers.curves.ranking_curves import RankCurves, select_topics
from calipers.data.distributed_frames import is_dask, is_spark
from calipers.data.errors import InputError, did_you_mean, format_value
from calipers.data.id_matching import find_document_id_variant, find_id_variant
from calipers.data.run_names import named_runs
from calipers.data.run_order import check_order
from calipers.data.topic_tables import TopicTable, UnitColumns, read_topic_costs, read_topic_table
from calipers.data.trec import (
    InputOrigin,
    Run,
    TrecSource,
    check_stdin,
    judgments_digest,
    read_qrels,
    read_runs,
)
from calipers.engines.base import Engine
from calipers.evaluation.arguments import validate_arguments
from calipers.evaluation.conventions import TREC_CUTOFFS
from calipers.evaluation.default_comparison import default_comparison
from calipers.evaluation.finding_inputs import from_labeled_topics, from_runs
from calipers.evaluation.options import MeasureNames, make_settings
from calipers.evaluation.shared import StatisticsByType, full_measure_name, select_measures
from calipers.evaluation.stored_predictions import Baseline, add_stored_topics, baseline_provenance
from calipers.evaluation.topic_scores import DOCUMENT_ORDERS, TopicScores
from calipers.lazy_dataclasses import dataclass
from calipers.measures import Measure, parse
from calipers.measures.judgment_bounds import MAX_UNRETRIEVED, mean_bounds, value_bounds
from calipers.measures.name_parsing import split_measures
from calipers.report.headlines import format_names
from calipers.report.safe_names import join_words, shorten_name
from calipers.results import Curve, Evaluation
from calipers.statistics import FloatArray, JudgedRankings, RankingSeries

if TYPE_CHECKING:
    from calipers.evaluation.slice_definitions import Bins, SliceDefinition
    from calipers.results import Slices


#: AP comes first, since the first with a better side decides between systems; counts come last.
DEFAULT_MEASURES = (
    "AP",
    "nDCG@10",
    "nDCG",
    "RR",
    "P@5",
    "P@10",
    "R@100",
    "R@1000",
    "Rprec",
    "NumQ",
    "NumRet",
    "NumRel",
    "NumRelRet",
)

#: Names that stand for several measures.
MEASURE_SETS = {
    "official": (
        *("NumQ", "NumRet", "NumRel", "NumRelRet", "AP", "gm-AP", "Rprec", "Bpref", "RR"),
        *(f"IPrec@{tenth / 10:g}" for tenth in range(11)),
        *(f"P@{k}" for k in TREC_CUTOFFS),
    ),
    "set": (
        *("NumQ", "NumRet", "NumRel", "NumRelRet", "SetP", "micro-SetP", "SetR", "micro-SetR"),
        *("SetF", "micro-SetF", "SetRelP", "SetAP"),
    ),
    "all_trec": (
        *("NumQ", "NumRet", "NumRel", "NumRelRet", "AP", "gm-AP", "Rprec", "Bpref", "RR"),
        *(f"IPrec@{tenth / 10:g}" for tenth in range(11)),
        *(f"P@{k}" for k in TREC_CUTOFFS),
        *(f"R@{k}" for k in TREC_CUTOFFS),
        *("infAP", "gm-Bpref"),
        *(f"Rprec(multiple={fifth / 5:g})" for fifth in range(1, 11)),
        *("utility", "11pt-avg", "binG", "G", "nDCG", "nDCG-rel", "RnDCG"),
        *(f"{name}@{k}" for name in ("nDCG", "AP", "RelP") for k in TREC_CUTOFFS),
        *("Success@1", "Success@5", "Success@10"),
        *("SetP", "SetRelP", "SetR", "SetAP", "SetF", "NumNonrelJudgedRet"),
        *("RBP(p=0.9,gain='topic-max')", "RBP-residual(p=0.9,tail='with-unjudged')"),
        *("Unjudged@5", "Unjudged@10", "Unjudged@20"),
    ),
    "diversity": ("alpha-nDCG@10", "ERR-IA@10", "nERR-IA@10", "P-IA@10", "AP-IA", "StRecall@10"),
}


def expand_measure_sets(measures: MeasureNames | None) -> list[str | Measure] | None:
    """Return the requested measures, with names of measure sets expanded."""
    if measures is None:
        return None
    return [
        expanded
        for m in split_measures(measures)
        for expanded in (MEASURE_SETS.get(m.lower(), (m,)) if isinstance(m, str) else (m,))
    ]


#: The engines that hold what is in one group, or of one topic, together.
TOPIC_ENGINES = ("memory", "spark", "dask")


def engine_kind(engine: str | None, *inputs: Any, batches: bool = False) -> str | None:
    """Return the kind of the engine that has the rows, or None for memory.

    It is ``engine`` if given, else that of the data frames among the inputs. Reading in ``batches``
    is permitted only if rows may be split between groups.

    >>> engine_kind("dask", "runs/bm25"), engine_kind(None, "runs/bm25")
    ('dask', None)
    """
    if engine == "stream" and not batches:
        raise InputError(
            "engine='stream' reads rows in batches, which would cut through the documents of a "
            f"topic; expected one of {', '.join(TOPIC_ENGINES)}"
        )
    frames = [kind for source in inputs if (kind := _frame_kind(source)) in ("spark", "dask")]
    if engine == "stream" and frames:
        raise InputError(
            f"engine='stream' has batches in this process; leave it out, or {frames[0]!r}"
        )
    engines = (*TOPIC_ENGINES, "stream") if batches else TOPIC_ENGINES
    if engine is not None and engine not in engines:
        raise InputError(f"engine is {engine!r}; {did_you_mean(engine, engines)}")
    if engine is not None:
        return None if engine == "memory" else engine
    return next((kind for source in inputs if (kind := _frame_kind(source)) is not None), None)


def _frame_kind(source: Any) -> str | None:
    """Return the kind of the engine of a data frame, or None."""
    if is_spark(source):
        return "spark"
    if is_dask(source):
        return "dask"
    return source.kind if isinstance(source, Engine) else None


def judge_and_read_runs(
    qrels: TrecSource,
    runs: Mapping[str, Any],
    measures: Sequence[Measure],
    engine: str | None,
    **run_options: Any,
) -> tuple[dict[str, Run], dict[str, StatisticsByType], InputOrigin]:
    """Judge the runs, and return them with the statistics that the measures need.

    ``run_options`` are ``float32`` and ``order`` of :func:`calipers.data.trec.read_run`.
    """
    statistic_types = {measure.definition.statistic for measure in measures}
    distributed_engine = engine_kind(engine, qrels, *runs.values())
    if distributed_engine is not None:
        from calipers.engines.judged_runs import judge_runs

        return judge_runs(
            distributed_engine,
            qrels,
            runs,
            statistic_types,
            **run_options,
            engine_reads_paths=engine is not None,
        )
    if RankingSeries in statistic_types:
        return _read_series(qrels, runs, measures, **run_options)
    systems: dict[str, Any] = {name: {} for name in runs}
    read: dict[str, Run] = {}
    for kind in sorted(statistic_types - {JudgedRankings}, key=lambda kind: kind.__name__):
        from calipers.data.grouped_judgments import judge_groups, read_groups
        from calipers.data.sampled_judgments import read_sampled_judgments
        from calipers.statistics import SampledRankings

        if kind is SampledRankings:
            groups, qrels = read_sampled_judgments(
                qrels
            )  # the others see the same judgments without strata
        else:
            groups = read_groups(qrels)
        origin = groups.origin
        for name, run in runs.items():
            read[name] = judge_groups(name, run, groups, **run_options)
            systems[name][kind] = kind(**read[name].arrays)
    if JudgedRankings in statistic_types:
        judgments = read_qrels(qrels)
        if len(statistic_types) == 1:
            origin = judgments.origin
        read = read_runs(runs, judgments, **run_options)
        for name, judged_run in read.items():
            systems[name][JudgedRankings] = JudgedRankings(**judged_run.arrays)
    return read, dict(systems), origin


def _read_series(
    qrels: TrecSource, runs: Mapping[str, Any], measures: Sequence[Measure], **run_options: Any
) -> tuple[dict[str, Run], dict[str, StatisticsByType], InputOrigin]:
    """Judge runs that have several rankings of each topic."""
    from calipers.data.ranking_series import read_series, read_series_judgments

    others = [str(m) for m in measures if m.definition.statistic is not RankingSeries]
    if others:
        series = next(str(m) for m in measures if m.definition.statistic is RankingSeries)
        raise InputError(
            f"{series} has a value for each topic over all of its rankings, and {others[0]} for "
            "each ranking; request them separately"
        )
    judgments = read_series_judgments(qrels)
    read = {name: read_series(name, run, judgments, **run_options) for name, run in runs.items()}
    systems: dict[str, StatisticsByType] = {
        name: {RankingSeries: RankingSeries(**run.arrays)} for name, run in read.items()
    }
    return read, systems, judgments.origin


def run_notes(
    runs: Mapping[str, Run],
    systems: Mapping[str, Any],
    rankings: Mapping[str, JudgedRankings],
    measures: Sequence[Measure],
) -> list[str]:
    """Return notes on topics, ties and judgments that affect the values."""
    return [
        *(note for run in runs.values() for note in run.notes),
        *_topic_notes(runs, systems),
        *_tie_notes(rankings, measures),
        *_pool_notes(rankings, measures),
    ]


def _topic_notes(runs: Mapping[str, Run], systems: Mapping[str, Any]) -> list[str]:
    """Return notes on topics missing from runs, and on topics without judgments."""
    retrieved = {name: next(iter(systems[name].values())).retrieved for name in runs}
    n_missing = {name: int((counts == 0).sum()) for name, counts in retrieved.items()}
    unjudged = {name: run.unjudged_topics for name, run in runs.items()}
    n_judged_topics = max(map(len, retrieved.values()))

    def list_topics(name: str) -> str:
        names, n_topics = runs[name].unjudged_topic_names[:3], unjudged[name]
        return f"{', '.join(names)}{', …' if n_topics > 3 else ''}"

    def count_topics(name: str) -> str:
        return f"{unjudged[name]}: {list_topics(name)}"

    return [
        *_count_note(
            n_missing,
            lambda name: (
                f"{name} retrieves nothing for {n_missing[name]} of {n_judged_topics} judged "
                "topics; "
                "these score 0."
            ),
            f"retrieve nothing for some of {n_judged_topics} judged topics, which score 0",
        ),
        *_count_note(
            unjudged,
            lambda name: (
                f"{name} has {unjudged[name]} topics without judgments ({list_topics(name)}); "
                "they are left out."
            ),
            "have topics without judgments, which are left out",
            count_topics,
        ),
    ]


def _count_note(
    count: Mapping[str, int],
    single_note: Callable[[str], str],
    phrase: str,
    describe: Callable[[str], str] | None = None,
) -> list[str]:
    """Return a note on the runs with a non-zero count: on one run, or on several, sorted."""
    names = sorted((name for name, n in count.items() if n), key=lambda name: -count[name])
    if len(names) < 2:
        return [single_note(name) for name in names]
    descriptions = [
        f"{shorten_name(name)} ({count[name] if describe is None else describe(name)})"
        for name in names
    ]
    return [f"{len(names)} runs {phrase}: {format_names(descriptions)}."]


def _pool_notes(rankings: Mapping[str, JudgedRankings], measures: Sequence[Measure]) -> list[str]:
    """Return a note if a measure that estimates from a sample has no pool to estimate from."""
    sampled_measures = [str(m) for m in measures if m.definition.needs_pool]
    has_pool = any((ranking.judged_grade < 0).any() for ranking in rankings.values())
    fully_judged = [
        name for name, ranking in rankings.items() if ranking.retrieved.sum() == len(ranking.rank)
    ]
    if not sampled_measures or has_pool or len(fully_judged) == len(rankings):
        return []
    note = (
        f"{sampled_measures[0]}: the judgments list no pooled document that was not judged (grade "
        "-1), so that unjudged documents count as not relevant, as they do in AP."
    )
    return [note]


def _tie_notes(rankings: Mapping[str, JudgedRankings], measures: Sequence[Measure]) -> list[str]:
    """Return notes on the topics whose ties extend across a cutoff."""
    cutoffs = sorted(
        {
            m.parameters["cutoff"]
            for m in measures
            if m.definition.statistic is JudgedRankings
            and m.parameters.get("ties") == "id"
            and m.parameters.get("cutoff") is not None
        }
    )
    tie_texts, n_affected = {}, {}
    for name, ranking in rankings.items():
        counts = {
            cutoff: int(np.count_nonzero(ranking.sum_by_topic(ranking.tied_across_mask(cutoff))))
            for cutoff in cutoffs
        }
        tie_texts[name] = ", ".join(f"{n} at {cutoff}" for cutoff, n in counts.items() if n)
        n_affected[name] = sum(counts.values())
    notes = _count_note(
        n_affected,
        lambda name: f"{name} has topics with documents tied across a cutoff: {tie_texts[name]}.",
        "have topics with documents tied across a cutoff",
        tie_texts.__getitem__,
    )
    return [
        f"{note} Tied documents are ordered by id; use ties='average' for the mean over all orders."
        for note in notes
    ]


#: How many unretrieved documents may turn out relevant, where nobody knows.
NO_LIMIT = "open"


@dataclass(frozen=True)
class UnjudgedAssumptions:
    """Assumptions on unjudged documents, for bounds of incomplete judgments."""

    max_unretrieved: str | int
    max_grade: int | None
    collection_size: int | None

    def __post_init__(self) -> None:
        is_number = (
            isinstance(self.max_unretrieved, int) and 0 <= self.max_unretrieved <= MAX_UNRETRIEVED
        )
        if self.max_unretrieved != NO_LIMIT and not is_number:
            raise InputError(
                f"max_unretrieved is {self.max_unretrieved!r}, expected a whole number from 0 to "
                f"{MAX_UNRETRIEVED:,}, or {NO_LIMIT!r} for any number"
            )
        if self.max_grade is not None and self.max_grade < 1:
            raise InputError(f"max_grade is {self.max_grade!r}, expected a whole number from 1 up")

    def add_bounds(
        self,
        evaluation: Evaluation,
        rankings: Mapping[str, JudgedRankings],
        scores: TopicScores,
        *,
        zero: bool,
    ) -> Evaluation:
        """Add to each value its bounds over all possible completions of the judgments."""
        measures = [m for m in scores.measures if m.definition.statistic is JudgedRankings]
        if not measures:
            raise InputError(
                f"judgment_bounds has no bounds for {scores.measures[0]}; expected a measure of "
                "single rankings with one grade for each document"
            )
        topic_selection = slice(None) if scores.topic_indices is None else scores.topic_indices
        max_judged_grade = max(int(r.judged_grade.max(initial=1)) for r in rankings.values())
        max_grade = max_judged_grade if self.max_grade is None else self.max_grade
        estimates = {(e.system, e.measure): e for e in evaluation}
        bounds_by_system: dict[str, dict[str, tuple[FloatArray, FloatArray]]] = {}
        bounds_kinds: dict[str, str] = {}
        for system, ranking in rankings.items():
            measure_bounds = value_bounds(
                ranking,
                measures,
                max_unretrieved=inf
                if self.max_unretrieved == NO_LIMIT
                else float(self.max_unretrieved),
                max_grade=max_grade,
                collection_size=self.collection_size,
            )
            bounds_by_system[system] = {}
            for measure, bounds in zip(measures, measure_bounds, strict=True):
                if bounds is None:
                    continue
                name, summary = str(measure), measure.definition.summary
                low, high = mean_bounds(
                    measure.apply(ranking)[topic_selection],
                    replace(
                        bounds, low=bounds.low[topic_selection], high=bounds.high[topic_selection]
                    ),
                    summary,
                    zero=zero,
                    importance=scores.topic_weights,
                )
                estimate = estimates[system, name]
                estimates[system, name] = replace(
                    estimate,
                    # Sums in another order may differ in their last digit.
                    lower_bound=float(np.fmin(low, estimate.value)),
                    upper_bound=float(np.fmax(high, estimate.value)),
                    bounds_kind=bounds.kind,
                )
                bounds_by_system[system][name] = (bounds.low, bounds.high)
                bounds_kinds[name] = bounds.kind
        assert evaluation.per_unit is not None
        conventions = {
            **evaluation.provenance["conventions"],
            "unknown documents": {"max_unretrieved": self.max_unretrieved, "max_grade": max_grade},
        }
        return replace(
            evaluation,
            estimates=tuple(estimates.values()),
            per_unit=replace(evaluation.per_unit, bounds=bounds_by_system),
            notes=(
                *evaluation.notes,
                *_bounds_notes(rankings, measures, bounds_kinds, self.max_unretrieved, max_grade),
            ),
            provenance={**evaluation.provenance, "conventions": conventions},
        )


def _bounds_notes(
    rankings: Mapping[str, JudgedRankings],
    measures: Sequence[Measure],
    kinds: Mapping[str, str],
    max_unretrieved: str | int,
    max_grade: int,
) -> list[str]:
    """Return notes on the proportion of judged documents, and on the meaning of the bounds."""
    judged = parse("Judged@10", "retrieval")
    judged_fractions_by_name = {
        name: judged.apply(r)[r.retrieved > 0] for name, r in rankings.items()
    }
    proportions = [
        f"{judged_fractions.mean():.3f} for {name}"
        for name, judged_fractions in judged_fractions_by_name.items()
        if len(judged_fractions)
    ]
    sentence = (
        "Judged@10, the proportion of judged documents among the first 10, is "
        f"{join_words(proportions)}."
    )
    descriptions = {
        NO_LIMIT: "any number of relevant documents (max_unretrieved sets a limit)",
        0: "no further relevant document",
        1: "one further relevant document",
    }
    missed = descriptions.get(
        max_unretrieved, f"up to {max_unretrieved} further relevant documents"
    )
    meaning = (
        "Judgments: the values that are possible if every document were judged, whatever grades "
        f"from 0 to {max_grade} the unjudged ones have, with {missed} per topic outside the "
        "retrieved "
        "ones. Missing judgments and too few topics are different problems: more topics do not "
        "narrow this interval, and more judgments do not narrow the confidence interval."
    )
    if "outer" in kinds.values():
        meaning += " With “within”, these are outer bounds: the true limits may be closer together."
    unbounded = [
        str(m)
        for m in measures
        if m.definition.higher_is_better is not None and str(m) not in kinds
    ]
    return [
        *([sentence] if proportions else []),
        meaning,
        *([f"Bounds of {join_words(unbounded)} are unknown."] if unbounded else []),
    ]


@validate_arguments
def retrieval(
    qrels: TrecSource,
    runs: Mapping[str, TrecSource] | Sequence[str | os.PathLike[str]] | TrecSource,
    *,
    weight: Any = None,
    count: Any = None,
    cluster: Any = None,
    time: Any = None,
    slices: Any = None,
    slice_bins: Bins | None = None,
    cost: Any = None,
    rel: int = 1,
    collection_size: int | None = None,
    topics: str = "qrels",
    topic_curves: str | Sequence[str] = (),
    human: TrecSource | None = None,
    target: str = "like",
    topic_table: Any = None,
    order: str = "score",
    float32: bool = False,
    ties: str = "id",
    judged_only: bool = False,
    judgment_bounds: bool = False,
    max_unretrieved: str | int = "open",
    max_grade: int | None = None,
    measures: MeasureNames | None = None,
    undefined: str = "nan",
    conventions: str | None = None,
    primary: str | None = None,
    baseline: Baseline = None,
    compare: bool = True,
    interval: str | Sequence[str] = "auto",
    level: float = 0.95,
    n_resamples: int = 2000,
    seed: int = 0,
    engine: str | None = None,
) -> Evaluation:
    """Evaluate runs against relevance judgments.

    Parameters
    ----------
    qrels : path, dict, data frame, or rows
        Relevance judgments. A file: TREC text (plain, .gz, .zst), ``"-"`` for the standard input,
        JSON ``{topic: {document: grade}}``, or a table with the columns ``topic``, ``doc`` and
        ``grade`` (CSV, JSON Lines, Parquet, Feather). Or a dict ``{topic: {document: grade}}``, a
        data frame or a dict of such columns, or rows with ``query_id``, ``doc_id`` and
        ``relevance`` (those of ir_datasets and ir_measures). ``"irds:NAME"`` is a downloaded
        dataset of ir_datasets. Judgments and runs may also be Spark or Dask data frames.
    runs : path, dict, data frame, or rows; list of path; or dict of such
        One run, a list of run files (named by their file names or, if these are equal, by the tags
        of the runs), or a dict from names to runs. A run takes the forms of ``qrels``, with scores
        for grades. Several are read in parallel. Ranks from 1 may replace scores (``qid pid rank``,
        as in MS MARCO). Topics and documents alone, or a dict from topics to lists or sets of ids,
        are retrieved sets without an order, for set measures.
    weight : str or dict of float, optional
        Weight of each topic in means, their intervals and tests: the name of a column of
        ``topic_table``, or a dict ``{topic: weight}``. Importance weights, 0 or more, of which only
        the proportions matter; a topic of weight 0 is left out. Sums such as ``NumRel`` stay sums.
    count : array-like of shape (n,), optional
        Frequency weight of each topic, in the forms of ``weight``: a topic of count 20 is the same
        as that topic 20 times.
    cluster : array-like of shape (n,), optional
        Cluster of each topic (user, session, or the information need behind several queries), in
        the forms of ``weight``. Intervals and tests are then cluster-robust.
    time : array-like of shape (n,), optional
        Time of each topic, in the forms of ``weight``: numbers, dates, or ISO 8601 text. Intervals
        and tests allow for autocorrelation.
    slices : list of str, or dict of dict, optional
        Names of columns of ``topic_table`` that define slices, or a dict from names to dicts
        ``{topic: value}``: every mean is reported on each slice with its difference from all other
        topics, in ``evaluation.slices``. ``"type*length"`` crosses two columns. A topic without a
        value is in the slice ``"missing"``.
    slice_bins : dict of list of float, or of str, optional
        Bin edges of numeric columns of ``slices``, by name: ``{"age": [40, 65]}``. By default they
        are binned at their quartiles. Of columns of dates the period, ``"year"``, ``"quarter"``,
        ``"month"`` or ``"day"``.
    cost : dict of dict, path, str or float, optional
        Costs of the runs, by the name of the cost, such as
        ``{"latency (ms)": {"bm25": …, "dense": …}}``: for each run a dict ``{topic: number}``, a
        file (a topic and its cost a line, or a table with a column ``topic``), the name of a column
        of ``topic_table``; or one number for the run, such as the size of its index. A file given
        for all runs is a table with a column for each. They are evaluated in ``evaluation.costs``
        and compared with quality in ``evaluation.pareto_fronts``.
    rel : int, default=1
        Lowest grade that counts as relevant, for measures that do not state their own.
    collection_size : int, optional
        Number of documents in the collection, for fall-out and other measures that count the
        documents which were not retrieved.
    topics : {'qrels', 'both'}, default='qrels'
        ``"qrels"``: every judged topic, a topic that is missing from a run scores 0. ``"both"``:
        topics that are in the judgments and in every run.
    topic_curves : list of str, or 'all', optional
        Topics whose own curves are added to the report and to ``evaluation.curves``:
        precision-recall, raw and interpolated, and ROC if ``collection_size`` is given. ``"all"``
        stands for every topic that has a relevant document.
    human : path, dict, data frame, or rows, optional
        Human judgments of some of the topics, in the forms of ``qrels``, if these are those of a
        judge, such as a language model. Means then rest on the human judgments, and on what the
        judge adds to them. The topics should be selected at random.
    target : {'like', 'these'}, default='like'
        What is estimated with human judgments: means over topics ``like`` these, or over ``these``
        topics, of which those with human judgments are known.
    topic_table : data frame, dict of columns, or path, optional
        Attributes of the topics: a file (CSV, JSON Lines, Parquet, Feather), a data frame or a dict
        of columns, with one row for each topic and a column ``topic``, ``qid`` or ``query_id``.
    order : {'score', 'rank'}, default='score'
        ``"score"`` orders documents by descending score, as trec_eval does; ``"rank"`` by the ranks
        of the run, which are the fourth field of TREC text or the column ``rank``, and whole
        numbers that differ within a topic. Notes report ranks that contradict the scores, and gaps
        between ranks.
    float32 : bool, default=False
        Whether scores are rounded to 32 bits first, as trec_eval up to 9 does.
    ties : {'id', 'average', 'best', 'worst'}, default='id'
        ``"id"`` orders tied documents by descending id. ``"average"``, ``"best"`` and ``"worst"``
        report the exact mean, best or worst value over all orders of tied documents.
    judged_only : bool, default=False
        Whether unjudged documents are removed from the rankings first (condensed lists).
    judgment_bounds : bool, default=False
        Whether to report bounds for incomplete judgments: the range of each value over all possible
        grades of the unjudged documents, as ``lower_bound`` and ``upper_bound`` of an estimate.
        Bounds are sharp for most measures, outer bounds for some, and unavailable for others.
    max_unretrieved : int or 'open', default='open'
        With ``judgment_bounds``: maximum number of unjudged relevant documents per topic that a run
        does not retrieve. ``"open"`` sets no limit other than ``collection_size``.
    max_grade : int, optional
        With ``judgment_bounds``: highest grade that an unjudged document may have; by default the
        highest judged grade.
    measures : str, Measure, or list of such, optional
        Names of measures; ``calipers measures`` lists them. ``"default"`` stands for the default
        measures, and ``"default+A,B"`` adds measures to these. ``"official"`` stands for the
        default measures of trec_eval, ``"all_trec"`` for all of its measures, ``"set"`` for set
        measures, macro-averaged over topics and pooled, ``"diversity"`` for those of subtopics.
    undefined : {'nan', 'zero'}, default='nan'
        ``"nan"``: a topic whose value is undefined (for example, without relevant documents) is
        left out of the mean and counted. ``"zero"``: it scores 0, as trec_eval averages.
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
    interval : str or list of str, default='auto'
        Interval method: ``"auto"``, ``"bootstrap"``, ``"analytic"`` or ``"none"``; or methods such
        as ``"bca"`` or ``["jeffreys", "hanley"]``, of which the first applicable one is used.
    level : float, default=0.95
        Confidence level of the intervals.
    n_resamples : int, default=2000
        Number of bootstrap replicates.
    seed : int, default=0
        Seed of the random number generator.
    engine : {'memory', 'spark', 'dask'}, optional
        ``"memory"``, the default, loads all rows. ``"spark"`` and ``"dask"`` evaluate each topic or
        group where its rows are stored. The paths of judgments and runs are read as tables
        (Parquet, CSV, JSON Lines) or as TREC text.

    Returns
    -------
    Evaluation
        Means over topics with intervals, paired comparisons of several runs, curves, and findings.
        The values of every topic are in ``per_unit``.

    Raises
    ------
    InputError
        If the input is invalid; the message says where, and what was expected.

    Notes
    -----
    Documents are ordered by descending score, tied documents by descending id (bytewise). For
    measures of documents that are judged in groups (by subtopic, by assessor, or as preferences),
    every judgment has a group: the second column of a TREC file. ``rel``, ``collection_size``,
    ``ties`` and ``judged_only`` apply to the measures that do not set these parameters themselves.

    Examples
    --------
    >>> import calipers as cal
    >>> qrels = {"1": {"a": 1, "b": 0, "c": 1}, "2": {"a": 1}}
    >>> run = {"1": {"a": 3.0, "b": 2.0, "c": 1.0}, "2": {"b": 2.0, "a": 1.0}}
    >>> ev = cal.retrieval(qrels, run, measures=["AP", "RR"])
    >>> round(ev["AP"].value, 4), ev["RR"].value
    (0.6667, 0.75)
    """
    _check_choices(topics, undefined)
    check_order(order)
    assumptions = _unjudged_assumptions(
        max_unretrieved, max_grade, collection_size, judgment_bounds=judgment_bounds
    )
    settings = make_settings(interval, level, n_resamples, seed)
    if human is not None:
        _check_human_options(qrels, runs, locals())
    parameters: dict[str, Any] = {"rel": rel, "ties": ties, "judged_only": judged_only}
    parameters |= {} if collection_size is None else {"collection_size": collection_size}
    selected_measures = select_measures(
        expand_measure_sets(measures), DEFAULT_MEASURES, "retrieval", parameters
    )
    if human is not None:
        from calipers.evaluation.labeled_topics import select_means

        selected_measures = select_means(selected_measures, is_requested=measures is not None)
    if collection_size is not None and not (judgment_bounds or topic_curves):
        _check_parameter_used("collection_size", selected_measures)
    runs_by_name = named_runs(runs)
    check_stdin([qrels, *runs_by_name.values(), *([] if human is None else [human])])
    run_options = {"float32": float32, "order": order}
    runs_read, systems, origin = judge_and_read_runs(
        qrels, runs_by_name, selected_measures, engine, **run_options
    )
    _check_common_topics(runs_read, systems)
    set_runs = [name for name, run in runs_read.items() if not run.is_ordered]
    if set_runs:
        selected_measures = _set_measures(
            set_runs, selected_measures, None if measures is not None else parameters
        )
    if topics == "both":
        systems = _shared_topics(systems)
    names, zero = _first_statistic(next(iter(systems.values()))).topics, undefined == "zero"
    unit_options = {"weight": weight, "count": count, "cluster": cluster, "time": time}
    recorded = {
        "order": DOCUMENT_ORDERS[order],
        "scores": "float32" if float32 else "float64",
        "topics": topics,
        "undefined": undefined,
        **{option: value for option, value in unit_options.items() if isinstance(value, str)},
        **parameters,
    }
    common = partial(_common_settings, recorded["scores"], judgments_digest(qrels, origin))
    systems, baseline_name = add_stored_topics(systems, baseline, "retrieval", names, common)
    table = None if topic_table is None else read_topic_table(topic_table)
    source = TopicScores.from_systems(
        names, systems, selected_measures, settings, zero=zero, common=common
    )
    human_origins: list[InputOrigin] = []
    if human is not None:
        source, human_origins = _add_human_judgments(
            source, human, runs_by_name, target, run_options, zero=zero
        )
    source = source.with_columns(UnitColumns.from_values(names, table, **unit_options))
    rankings = {
        name: value[JudgedRankings] for name, value in systems.items() if JudgedRankings in value
    }
    table_notes = [] if table is None else table.notes(names)
    by_slice, slice_definitions, slice_notes = _make_slices(slices, slice_bins, table, source)
    costs, cost_origins = read_topic_costs(cost, names, tuple(runs_by_name), table)
    evaluation = source.to_evaluation(
        "retrieval",
        {**recorded, **baseline_provenance(baseline, baseline_name)},
        [
            origin,
            *human_origins,
            *(r.origin for r in runs_read.values()),
            *([] if table is None else [table.origin]),
            *cost_origins,
        ],
        comparison=default_comparison(
            source, baseline_name, settings, full_measure_name(primary, parameters), compare=compare
        ),
        curves=()
        if set_runs or human is not None
        else _curves(source, rankings, zero, topic_curves, rel, collection_size, judged_only),
        notes=(
            *run_notes(runs_read, systems, rankings, selected_measures),
            *slice_notes,
            *table_notes,
        ),
        slices=by_slice,
        costs=costs,
        slice_definitions=slice_definitions,
    )
    results = tuple(evaluation.estimates), evaluation.comparison, evaluation.slices
    if human is not None:
        return replace(evaluation, findings=from_labeled_topics(source, results))
    describe_variant = partial(_describe_id_variant, qrels, runs_by_name, names, runs_read, engine)
    evaluation = replace(
        evaluation, findings=from_runs(source, results, rankings, runs_read, describe_variant)
    )
    if assumptions is None:
        return evaluation
    return assumptions.add_bounds(evaluation, rankings, source, zero=zero)


def _check_human_options(qrels: TrecSource, runs: Any, options: Mapping[str, Any]) -> None:
    """Check that the other options go with human judgments."""
    reasons = {
        "time": "the serial dependence of judgments is not estimated",
        "judgment_bounds": "bounds are those of one set of judgments",
        "topic_curves": "curves are those of one set of judgments",
    }
    for name, reason in reasons.items():
        if options[name]:
            raise InputError(f"human does not go with {name}: {reason}")
    baseline, interval = options["baseline"], options["interval"]
    if not (baseline is None or isinstance(baseline, str)) or ".json" in (baseline or ""):
        raise InputError(
            "human: a saved evaluation has no human judgments to compare with; expected the name "
            "of a run as baseline"
        )
    if interval not in ("auto", "analytic", "none"):
        raise InputError(
            f"human: interval is {format_value(interval)}, expected 'auto' or 'none': with human "
            "judgments an interval has the method for their kind"
        )
    if engine_kind(options["engine"], qrels, *named_runs(runs).values()) is not None:
        raise InputError("human takes all judgments in memory: engine='memory'")


def _add_human_judgments(
    source: TopicScores,
    human: TrecSource,
    runs: Mapping[str, Any],
    target: str,
    run_options: Mapping[str, Any],
    *,
    zero: bool,
) -> tuple[TopicScores, list[InputOrigin]]:
    """Return the values with those by human judgments of some topics, and their origin."""
    from calipers.evaluation.labeled_topics import LabeledTopicScores

    try:
        runs_read, systems, origin = judge_and_read_runs(
            human, runs, source.measures, None, **run_options
        )
        _check_common_topics(runs_read, systems)
    except InputError as error:
        # They are read as those of the judge are, but have another name.
        message = str(error).replace("qrels: ", "human: ", 1)
        raise InputError(message.replace("the qrels", "the human judgments")) from None
    names = _first_statistic(next(iter(systems.values()))).topics
    scores = TopicScores.from_systems(names, systems, source.measures, source.settings, zero=zero)
    return LabeledTopicScores.from_scores(source, scores, target), [origin]


def _make_slices(
    slices: Any, bins: Any, table: TopicTable | None, source: TopicScores
) -> tuple[Slices | None, Sequence[SliceDefinition], Sequence[str]]:
    """Return the slices, their definitions, and notes on them."""
    if slices is None and bins is None:
        return None, (), ()
    from calipers.evaluation.topic_slices import define_topic_slices, slice_topics

    cut_by, notes = define_topic_slices(slices, bins, table, source.topics)
    return slice_topics(source, cut_by), cut_by, notes


def _curves(
    source: TopicScores,
    rankings: Mapping[str, JudgedRankings],
    zero: bool,
    topics: str | Sequence[str],
    rel: int,
    collection_size: int | None,
    judged_only: bool,
) -> Sequence[Curve]:
    """Return the curves of means over topics, and those of the requested topics."""
    if not rankings:
        return ()
    return RankCurves(
        **source.curve_options(zero=zero),
        full_rankings=rankings,
        rel=rel,
        judged_only=judged_only,
        topics=select_topics(topics, rankings, rel, collection_size),
        collection_size=collection_size,
    )


def _common_settings(scores: str, get_digest: Callable[[], str | None]) -> dict[str, str | None]:
    """Return what has to agree with the systems of an earlier evaluation."""
    return {"scores": scores, "judgments": get_digest()}


def _check_choices(topics: str, undefined: str) -> None:
    if topics not in ("qrels", "both"):
        raise InputError(f"topics is {topics!r}, expected 'qrels' or 'both'")
    if undefined not in ("nan", "zero"):
        raise InputError(f"undefined is {undefined!r}, expected 'nan' or 'zero'")


def _describe_id_variant(
    qrels: TrecSource,
    runs: Mapping[str, TrecSource],
    topics: Sequence[str],
    read: Mapping[str, Run],
    engine: str | None,
    name: str,
    id_kind: str,
) -> str:
    """Describe how ids of a run and of the judgments differ, if they do so in one way only."""
    if id_kind == "topics":
        variant = find_id_variant(read[name].unjudged_topic_names, topics)
    elif engine_kind(engine, qrels, runs[name]) is not None:
        return ""
    else:
        variant = find_document_id_variant(runs[name], qrels)
    if variant is None:
        return ""
    return (
        f"The {id_kind.removesuffix('s')} ids of the run and the judgments seem to differ only by "
        f"{variant.difference}: {shorten_name(variant.first)!r} and "
        f"{shorten_name(variant.second)!r}."
    )


def _unjudged_assumptions(
    max_unretrieved: str | int,
    max_grade: int | None,
    collection_size: int | None,
    *,
    judgment_bounds: bool,
) -> UnjudgedAssumptions | None:
    """Return the assumptions on unjudged documents, if bounds are requested."""
    if judgment_bounds:
        return UnjudgedAssumptions(max_unretrieved, max_grade, collection_size)
    if (max_unretrieved, max_grade) != ("open", None):
        raise InputError("max_unretrieved and max_grade require judgment_bounds")
    return None


def _check_parameter_used(parameter: str, chosen: Sequence[Measure]) -> None:
    """Check that some measure has the parameter."""
    if not any(parameter in measure.parameters for measure in chosen):
        names = ", ".join(map(str, chosen))
        raise InputError(f"{parameter} does not apply to {names}; leave it out")


def _set_measures(
    set_runs: Sequence[str], measures: list[Measure], default_parameters: Mapping[str, Any] | None
) -> list[Measure]:
    """Return measures for sets of documents.

    With parameters in ``default_parameters`` these are the default set measures; otherwise the
    given measures, none of which may depend on the order of documents.
    """
    if default_parameters is not None:
        return select_measures(MEASURE_SETS["set"], (), "retrieval", default_parameters)
    ordered = [measure for measure in measures if measure.needs_order]
    if ordered:
        order_measures = [str(measure) for measure in ordered]
        hints = "".join(f". {note[:-1]}" for note in dict.fromkeys(m.note for m in ordered) if note)
        raise InputError(
            f"{set_runs[0]}: its results are sets of documents without the order that "
            f"{', '.join(order_measures[:3])}{', …' if len(order_measures) > 3 else ''} "
            f"{'needs' if len(order_measures) == 1 else 'need'}; measures of sets are "
            f"{', '.join(MEASURE_SETS['set'])}; a ranking has a score for each document, as in "
            f"{{'q1': "
            f"{{'d1': 2.0, 'd2': 1.0}}}}{hints}"
        )
    return measures


def _check_common_topics(runs: Mapping[str, Run], systems: Mapping[str, StatisticsByType]) -> None:
    for name, run in runs.items():
        statistic = _first_statistic(systems[name])
        is_empty_run = not (run.is_ordered or run.unjudged_topics)  # which is an answer too
        if not statistic.retrieved.any() and not is_empty_run:
            judged = ", ".join(repr(t) for t in statistic.topics[:3])
            retrieved = ", ".join(repr(t) for t in run.unjudged_topic_names[:3])
            raise InputError(
                f"{name}: no topic in common with the qrels; "
                f"the qrels have {judged}{', …' if len(statistic.topics) > 3 else ''}, "
                f"the run has {retrieved}{', …' if run.unjudged_topics > 3 else ''}"
            )


def _first_statistic(statistics: StatisticsByType) -> Any:
    """Return one of the statistics of a run; topics and retrieved documents are equal in all."""
    return next(iter(statistics.values()))


def _shared_topics(systems: Mapping[str, StatisticsByType]) -> dict[str, StatisticsByType]:
    """Keep only the topics for which every run retrieves documents."""
    common_mask = np.logical_and.reduce(
        [_first_statistic(statistics).retrieved > 0 for statistics in systems.values()]
    )
    if not common_mask.any():
        raise InputError("the runs have no judged topic in common")
    picked = np.flatnonzero(common_mask)
    return {
        name: {kind: statistic.take_topics(picked) for kind, statistic in statistics.items()}
        for name, statistics in systems.items()
    }
