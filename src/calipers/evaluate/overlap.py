"""Overlap of runs, without judgments: rank-biased overlap and overlap at cutoffs."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import Any

import numpy as np

from calipers import _core
from calipers.data.arrays import from_arrow, is_missing
from calipers.data.class_labels import label_name
from calipers.data.errors import InputError
from calipers.data.run_names import named_runs
from calipers.data.run_order import check_order
from calipers.data.trec import InputOrigin, TrecSource, check_stdin, read_ordered_run
from calipers.data.trec_tables import buffers, decode_id
from calipers.evaluation.arguments import validate_arguments
from calipers.evaluation.options import make_settings
from calipers.evaluation.shared import StatisticsByType
from calipers.evaluation.topic_scores import DOCUMENT_ORDERS, TopicScores
from calipers.inference.settings import Settings
from calipers.lazy_dataclasses import dataclass
from calipers.measures.errors import UnknownMeasureError
from calipers.measures.overlap import overlap_measures
from calipers.results import Evaluation
from calipers.statistics.overlap import SharedRankings


@dataclass(frozen=True)
class FullRun:
    """All documents of a run, judged or not.

    The core judges a run by the grades of its documents. To match a run with another, the other's
    row numbers serve as grades, and the ranks are looked up by them.
    """

    rows: tuple[Any, Any, Any]
    row_judgments: _core.Judgments
    topics: tuple[str, ...]
    origin: InputOrigin
    lengths: Any
    rank: Any
    tied_from: Any
    tied_to: Any
    notes: tuple[str, ...] = ()

    def match_run(self, second: FullRun) -> dict[str, Any]:
        """Return the arrays of ``SharedRankings``, with this run as a and the other as b."""
        second_ranks = self.row_judgments.rank_columns(*second.rows)
        return {
            "topics": self.topics,
            "length_a": self.lengths,
            "length_b": second_ranks.retrieved,
            "offsets": second_ranks.offsets,
            "rank_a": self.rank[second_ranks.grade],
            "from_a": self.tied_from[second_ranks.grade],
            "to_a": self.tied_to[second_ranks.grade],
            "rank_b": second_ranks.rank,
            "from_b": second_ranks.tied_from,
            "to_b": second_ranks.tied_to,
        }


def read_full_run(name: str, source: TrecSource, order: str = "score") -> FullRun:
    """Read a run from any source; raise :class:`InputError` if it is invalid."""
    table, origin, notes = read_ordered_run(name, source, order)
    topics, documents = (buffers(table.column(column).chunk(0)) for column in ("topic", "doc"))
    rows = topics, documents, from_arrow(table.column("score"))
    numbered = _core.Judgments.from_columns(topics, documents, np.arange(table.num_rows))
    ranks = numbered.rank_columns(*rows)
    ranks_by_row = np.empty((3, table.num_rows), np.int64)
    ranks_by_row[:, ranks.grade] = ranks.rank, ranks.tied_from, ranks.tied_to
    names = tuple(decode_id(topic) for topic in numbered.topics)
    rank, tied_from, tied_to = ranks_by_row
    return FullRun(
        rows,
        numbered,
        names,
        origin,
        ranks.retrieved,
        rank,
        tied_from,
        tied_to,
        tuple(notes),
    )


@validate_arguments
def overlap(
    runs: Mapping[str, TrecSource] | Sequence[str | os.PathLike[str]],
    *,
    p: float = 0.9,
    depth: int | None = None,
    cutoffs: Sequence[int] = (10, 100),
    ties: str = "id",
    order: str = "score",
    interval: str | Sequence[str] = "auto",
    level: float = 0.95,
    n_resamples: int = 2000,
    seed: int = 0,
) -> Evaluation:
    """Compute the overlap of every pair of runs, by topic and as the mean over topics.

    No judgments are needed. ``RBO`` is rank-biased overlap, extrapolated from the observed depth;
    ``RBO-min`` is its lower bound and ``RBO-min`` + ``RBO-res`` its upper bound over all possible
    continuations of the two rankings. ``overlap@k`` is the proportion of the first k documents that
    both runs have in common.

    Parameters
    ----------
    runs : list of path, or dict of runs
        Two or more run files (named by their file names), or a dict from names to runs, each in a
        form that :func:`calipers.retrieval` accepts.
    p : float, default=0.9
        Persistence p of RBO, between 0 and 1: the probability of examining the next document.
    depth : int, optional
        Maximum number of documents of each ranking. By default all of them.
    cutoffs : list of int, default=(10, 100)
        Cutoffs k of ``overlap@k``.
    ties : {'id', 'average'}, default='id'
        ``"id"`` orders tied documents by descending id, as in every ranking. ``"average"`` computes
        the expected value of RBO over all orders of tied documents.
    order : {'score', 'rank'}, default='score'
        Whether documents are ordered by their scores, or by the ranks of the runs.
    interval : str or list of str, default='auto'
        Interval method, as in :func:`calipers.retrieval`. Topics are resampled.
    level : float, default=0.95
        Confidence level of the intervals.
    n_resamples : int, default=2000
        Number of bootstrap replicates.
    seed : int, default=0
        Seed of the random number generator.

    Returns
    -------
    Evaluation
        Each pair of runs is a system, named ``"first ~ second"``. Values range from 0 (nothing in
        common) to 1. A topic for which only one run of a pair retrieves documents is undefined and
        is counted (``empty_ranking``).

    Raises
    ------
    InputError
        If the input is invalid, or there are fewer than two runs.

    References
    ----------
    Webber, Moffat and Zobel (2010). A similarity measure for indefinite rankings.

    Corsi and Urbano (2024). The treatment of ties in rank-biased overlap.

    Examples
    --------
    >>> import calipers as cal
    >>> bm25 = {"1": {"a": 3.0, "b": 2.0, "c": 1.0}, "2": {"x": 2.0, "y": 1.0}}
    >>> dense = {"1": {"b": 0.9, "a": 0.8, "d": 0.1}, "2": {"x": 0.7, "z": 0.2}}
    >>> ev = cal.overlap({"bm25": bm25, "dense": dense}, cutoffs=[2])
    >>> ev["overlap@2"].value, round(ev["RBO"].value, 4)
    (0.75, 0.59)
    """
    settings = make_settings(interval, level, n_resamples, seed)
    return _evaluate(
        named_runs(runs), settings, p, depth, tuple(dict.fromkeys(cutoffs)), ties, order
    )


def _evaluate(
    sources: Mapping[str, Any],
    settings: Settings,
    p: float,
    depth: int | None,
    cutoffs: tuple[int, ...],
    ties: str,
    order: str,
) -> Evaluation:
    check_order(order)
    if depth is not None and depth < 1:
        raise InputError(f"depth is {depth}, expected 1 or more")
    if ties not in ("id", "average"):
        raise InputError(f"ties is {ties!r}, expected 'id' or 'average'")
    try:
        measures = overlap_measures(p, ties, cutoffs)
    except UnknownMeasureError as error:
        raise InputError(str(error)) from None
    if len(sources) < 2:
        raise InputError(f"there is one run only ({next(iter(sources))!r}); overlap takes two")
    check_stdin(sources.values())
    full_runs = {name: read_full_run(name, source, order) for name, source in sources.items()}
    topics = _all_topics(full_runs)
    systems: dict[str, StatisticsByType] = {}
    for first, second in combinations(full_runs, 2):
        shared = SharedRankings(**full_runs[first].match_run(full_runs[second])).select_topics(
            topics
        )
        shared = shared if depth is None else shared.truncate(depth)
        systems[f"{first} ~ {second}"] = {SharedRankings: shared}
    source = TopicScores.from_systems(topics, systems, measures, settings, zero=False)
    conventions = {
        "order": DOCUMENT_ORDERS[order],
        "p": p,
        "depth": depth,
        "ties": ties,
        "topics": "every topic of a run",
    }
    return source.to_evaluation(
        "overlap",
        conventions,
        [run.origin for run in full_runs.values()],
        notes=tuple(note for run in full_runs.values() for note in run.notes),
    )


@validate_arguments
def rbo(
    first: TrecSource | Sequence[Any],
    second: TrecSource | Sequence[Any],
    p: float = 0.9,
    *,
    depth: int | None = None,
    cutoffs: Sequence[int] = (10, 100),
    ties: str = "id",
    order: str = "score",
    interval: str | Sequence[str] = "auto",
    level: float = 0.95,
    n_resamples: int = 2000,
    seed: int = 0,
) -> Evaluation:
    """Compute the rank-biased overlap (RBO) of two runs, or of two plain rankings.

    Parameters
    ----------
    first, second : run, or list of ids
        A run in a form that :func:`calipers.retrieval` accepts, or a list of ids in the order of
        their ranks.
    p : float, default=0.9
        Persistence p of RBO, between 0 and 1.
    depth, cutoffs, ties, order, interval, level, n_resamples, seed : optional
        See :func:`calipers.overlap`.

    Returns
    -------
    Evaluation
        Mean over topics of ``RBO`` (extrapolated), ``RBO-min``, ``RBO-res`` and ``overlap@k``, all
        from 0 to 1, with intervals; the values per topic are in ``per_unit``. Two plain rankings
        are a single topic, which has no interval.

    Raises
    ------
    InputError
        If the input is invalid, or a list of ids is empty or has duplicates.

    See Also
    --------
    calipers.overlap : Overlap of several runs.

    Examples
    --------
    >>> import calipers as cal
    >>> ev = cal.rbo(["a", "b", "c", "d"], ["b", "a", "d", "e"], p=0.9)
    >>> round(ev["RBO"].value, 4), round(ev["RBO-min"].value, 4), round(ev["RBO-res"].value, 4)
    (0.6907, 0.3955, 0.4592)
    """
    runs = {"first": _to_run(first, "first"), "second": _to_run(second, "second")}
    settings = make_settings(interval, level, n_resamples, seed)
    return _evaluate(runs, settings, p, depth, tuple(dict.fromkeys(cutoffs)), ties, order)


def _to_run(ranking: Any, argument: str) -> Any:
    """Convert a list of ids to a run with one topic."""
    if not isinstance(ranking, list | tuple):
        return ranking
    missing_ranks = [rank for rank, document in enumerate(ranking, 1) if is_missing(document)]
    if missing_ranks:
        raise InputError(
            f"{argument}: {len(missing_ranks)} of {len(ranking)} documents are missing, the first "
            f"at rank {missing_ranks[0]}"
        )
    ids = [label_name(document) for document in ranking]
    repeated = [document for document, n_occurrences in Counter(ids).items() if n_occurrences > 1]
    if repeated:
        raise InputError(f"{argument}: document {min(repeated)!r} occurs more than once")
    if not ids:
        raise InputError(f"{argument}: an empty list, expected a ranking")
    return {"1": {document: -float(rank) for rank, document in enumerate(ids)}}


def _all_topics(runs: Mapping[str, FullRun]) -> tuple[str, ...]:
    """Return the topics of all runs, in bytewise order."""
    names = {topic for run in runs.values() for topic in run.topics}
    return tuple(sorted(names, key=lambda topic: topic.encode("utf-8", "surrogatepass")))
