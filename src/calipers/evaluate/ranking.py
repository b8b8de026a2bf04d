"""Evaluation of learning to rank: scores of documents in groups, against their grades."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from calipers.curves.ranks import at_ranks
from calipers.data.arrays import as_numbers, taken
from calipers.data.columns import Ids, gather, texts
from calipers.data.costs import Costs, called
from calipers.data.errors import InputError
from calipers.data.ranking_rows import RankingRows
from calipers.evaluate.arguments import verb
from calipers.evaluate.cuts import Bins, cuts, slice_columns
from calipers.evaluate.elsewhere import elsewhere
from calipers.evaluate.groups import curves_of, drawn, notes_of, scores_of
from calipers.evaluate.kept import Baseline, earlier, with_topics
from calipers.evaluate.several import comparison_if_several
from calipers.evaluate.shared import Statistics, choose_measures, columns_of, full_name
from calipers.evaluate.subjects import of_rankings
from calipers.evaluate.topic_slices import sliced_topics
from calipers.evaluate.topics import TopicScores
from calipers.evaluation.options import MeasureNames, Options
from calipers.measures import Measure
from calipers.results import Evaluation
from calipers.statistics import JudgedRankings, SampledRankings

if TYPE_CHECKING:
    from calipers.results import Curve
    from calipers.statistics import FloatArray

DEFAULT_MEASURES = ("nDCG@5", "RR@5", "AP@5", "P@1")

#: How the documents of a group are ordered, as provenance records it.
ORDER = {
    "average": "score descending, the mean over all orders of equal scores",
    "best": "score descending, equal scores by descending grade",
    "worst": "score descending, equal scores by ascending grade",
}


@verb
def ranking(
    group: Any,
    truth: Any,
    score: Any,
    *,
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
    measures: MeasureNames | None = None,
    rel: int = 1,
    dcg: str = "exp-log2",
    ties: str = "average",
    undefined: str = "nan",
    baseline: Baseline = None,
    primary: str | None = None,
    curves: bool = True,
    engine: str | None = None,
    interval: str | Sequence[str] = "auto",
    level: float = 0.95,
    resamples: int = 2000,
    seed: int = 0,
    inputs: Sequence[Any] = (),
) -> Evaluation:
    """How well systems order the documents of each group, as of learning to rank.

    Groups (queries, say) are the units: means are over them, and so are intervals and tests.

    Parameters
    ----------
    group
        The group of each row: a column of names or numbers.
    truth
        The grade of each row: 0, 1, 2 and so on, higher where it should stand further up.
    score
        What a system orders the rows of a group by, higher first; or a dict from system names to
        such columns.
    weight
        A column with one value for each group: what the group counts for in means and in all that
        follows from them. 0 leaves it out.
    count
        A column with one whole number for each group: one of count 20 is the same as that group 20
        times.
    cluster
        A column of what groups come from, such as the user or session of a query, with one value
        for each: intervals and tests are then of clusters, as in :func:`calipers.classification`.
    time
        A column of when each group was asked, with one value for each: numbers, dates, or text in
        the form of ISO 8601. Where groups that follow each other are alike, intervals and tests
        allow for it.
    slices, slice_bins
        As in :func:`calipers.classification`, of columns with one value for each group.
    cost
        As in :func:`calipers.classification`, of columns with one value for each group.
    data, id, missing
        As in :func:`calipers.classification`; ``data`` may be a data frame of Spark or of Dask.
    measures
        Measures of :func:`calipers.retrieval`. A row is a document that is both judged and
        retrieved. ``"NDCG@5"`` takes the gains that ``dcg`` says.
    rel
        The lowest grade that counts as relevant, for measures that do not state their own.
    dcg
        Gain and discount of DCG and nDCG that do not state their own: ``"exp-log2"`` is the gain
        2^grade − 1, ``"log2"`` the grade itself.
    ties
        ``"average"``: the mean over all orders of rows of equal score, exactly. ``"best"`` and
        ``"worst"``: that of the best and of the worst order. The order of the rows says nothing.
    undefined
        ``"nan"``: a group without a value (no relevant row, say) is left out of the mean and
        counted. ``"zero"``: it scores 0.
    engine
        ``"stream"`` reads the files that ``data`` says in batches, in which the rows of a group
        come one after the other; where a group comes back, that is an error. ``"spark"`` or
        ``"dask"`` have the rows, a data frame or paths, where they lie, in any order: each group is
        measured there. Findings and systems of another day take all rows in memory.
    baseline, primary, curves, interval, level, resamples, seed, inputs
        As in :func:`calipers.classification`.

    The default of a measure is what equal scores for all rows get: every order of a group is then
    equally likely.

    Raises
    ------
    InputError
        For anything wrong with the input, saying where and what was expected.

    Examples
    --------
    >>> import calipers as cal
    >>> ev = cal.ranking([1, 1, 1, 2, 2], [2, 0, 1, 0, 1], [0.9, 0.5, 0.3, 0.8, 0.2])
    >>> round(ev["NDCG@5"].value, 4), round(ev["NDCG@5"].default, 4), ev["P@1"].value
    (0.7974, 0.799, 0.5)
    """
    if ties not in ORDER:
        raise InputError(f"ties is {ties!r}, expected one of {', '.join(ORDER)}")
    if undefined not in ("nan", "zero"):
        raise InputError(f"undefined is {undefined!r}, expected 'nan' or 'zero'")
    options, zero = Options.of(locals()), undefined == "zero"
    settings = options.settings
    asked = {"rel": rel, "dcg": dcg, **({} if ties == "average" else {"ties": ties})}
    chosen = choose_measures(measures, DEFAULT_MEASURES, "retrieval", asked)
    for measure in chosen:
        _check(measure)
    options = replace(options, primary=full_name(primary, asked))
    how_told = {"order": ORDER[ties], "undefined": undefined, **asked}
    named = {
        "group": group, "truth": truth, "score": score, "slices": slice_columns(slices),
        "weight": weight, "count": count, "cluster": cluster, "time": time,
    }  # fmt: skip
    if elsewhere(engine, data, batches=True) is not None:
        from calipers.evaluate.groups_elsewhere import ranking_elsewhere

        return ranking_elsewhere(data, named, options, chosen, how_told)
    found = gather(named, data=data, by=id, missing=missing, cost=cost)
    group, truth, score, cut_by, *known = found.columns.values()
    rows = RankingRows.read(group, truth)
    columns = columns_of(score, "score", len(rows.group), as_numbers)
    # Rows have no ids that could order those of equal score: each order is as likely.
    systems = {
        name: JudgedRankings(**rows.arrays(column.astype(np.float64)), averaged=True)
        for name, column in columns.items()
    }
    common = partial(_common, rows, found.names())
    given: dict[str, Statistics] = {name: {JudgedRankings: of} for name, of in systems.items()}
    given, against = with_topics(given, baseline, "ranking", rows.groups, common)
    rankings = {name: of[JudgedRankings] for name, of in given.items()}
    whole = scores_of(rows.groups, rankings, chosen, settings, common, zero=zero)
    source = whole.with_columns(rows.known(*known))
    made, how = cuts(_of_groups(rows, cut_by, source), slice_bins, len(source.topics), "groups")
    by_slice = sliced_topics(source, made)
    evaluation = source.evaluation(
        "ranking",
        {**how_told, **earlier(baseline, against)},
        inputs,
        comparison=comparison_if_several(source, against, settings, options.primary),
        notes=(*found.notes, *_none(source, next(iter(systems.values())), rel, zero=zero), *how),
        slices=by_slice,
        costs=_costs(rows, found.costs.by_system(tuple(columns))),
        cut_by=made,
        curves=_curves(source, rankings, zero=zero) if curves else (),
    )
    told = tuple(evaluation.estimates), evaluation.comparison, by_slice
    return replace(evaluation, findings=of_rankings(source, told, systems, rows.grade, columns))


def _common(rows: RankingRows, ids: Ids | None) -> dict[str, str | None]:
    """What has to be the same for systems of another day."""
    return {"judgments": rows.digest(None if ids is None else texts(ids))}


def _check(measure: Measure) -> None:
    """That a measure says something of rows in groups, and of their scores."""
    if measure.definition.on is SampledRankings:
        raise InputError(
            f"{measure} needs judgments of documents that were drawn from a pool, by stratum, and "
            "rows were not drawn; retrieval() reads such judgments"
        )
    if measure.definition.on is not JudgedRankings:
        raise InputError(
            f"{measure} needs documents judged in groups (by subtopic, by assessor, or as "
            "preferences), and rows have one grade each; retrieval() reads such judgments"
        )
    if measure.parameters.get("ties") == "id":  # rows have none: it is their mean
        measure.definition.bind({**measure.parameters, "ties": "average"})


def _curves(
    source: TopicScores, systems: Mapping[str, JudgedRankings], *, zero: bool
) -> Sequence[Curve]:
    """The first measure that has a cutoff, at each rank."""
    measure = drawn(source.measures)
    if measure is None:
        return ()
    return curves_of(source, measure, partial(_at_ranks, systems, measure), zero=zero)


def _at_ranks(
    systems: Mapping[str, JudgedRankings], measure: Measure, system: str | None
) -> FloatArray:
    """The value of each group at each rank; of no system in particular those of equal scores."""
    ranked = next(iter(systems.values())).unordered() if system is None else systems[system]
    return np.column_stack([of.apply(ranked) for of in at_ranks(measure)])


def _costs(rows: RankingRows, given: Costs) -> Costs:
    """What systems cost in each group."""
    each = given.read(len(rows.group), lambda column: column)
    columns = {
        cost: {name: rows.of_groups(column, called(cost, name)) for name, column in by.items()}
        for cost, by in each.columns.items()
    }
    return replace(each, columns=columns)


def _of_groups(rows: RankingRows, cut_by: Any, source: TopicScores) -> Any:
    """The columns to cut by, of the groups that count."""
    kept = np.arange(len(rows.groups)) if source.kept is None else source.kept
    return {
        name: {
            part: taken(rows.of_groups(column, f"slice {part!r}"), kept)
            for part, column in parts.items()
        }
        for name, parts in (cut_by or {}).items()
    }


def _none(source: TopicScores, ranked: JudgedRankings, rel: int, *, zero: bool) -> list[str]:
    relevant = ranked.relevant(rel)
    none = int(np.count_nonzero(relevant[source.kept if source.kept is not None else ...] == 0))
    return notes_of(none, len(source.topics), rel, zero=zero)
