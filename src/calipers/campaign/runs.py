"""Runs submitted by participants, and their rankings by topic."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal, TypeAlias

from calipers.campaign.records import StoredRun
from calipers.campaign.store import Campaign
from calipers.data.errors import InputError, did_you_mean, format_value
from calipers.data.run_names import named_runs
from calipers.data.trec import TrecSource, check_stdin, read_ordered_run, run_name
from calipers.data.trec_tables import decode_id
from calipers.lazy_dataclasses import dataclass

#: Runs as :func:`calipers.retrieval` takes them.
Runs: TypeAlias = "Mapping[str, TrecSource] | Sequence[str | os.PathLike[str]] | TrecSource"
#: Retrieved documents by topic, best first.
Ranking: TypeAlias = Mapping[str, Sequence[str]]
#: Rankings by the name of the run.
Rankings: TypeAlias = Mapping[str, Ranking]
#: Number of pooled documents of each run and topic, or all that were retrieved.
Depth: TypeAlias = int | Literal["all"]
#: Grades by topic and document; a negative grade means not judged.
Judgments: TypeAlias = Mapping[str, Mapping[str, int]]


@dataclass(frozen=True)
class RunSummary:
    """Summary of an added run.

    It has the topics of the campaign that the run does not have, the topics that the campaign does
    not have, and the name of an identical run, if there is one.
    """

    run: StoredRun
    missing_topics: tuple[str, ...]
    unknown_topics: tuple[str, ...]
    identical_run: str | None


def add_runs(
    campaign: Campaign,
    sources: Iterable[str | os.PathLike[str]],
    participant: str,
    *,
    name: str | None = None,
    order: str = "score",
) -> list[RunSummary]:
    """Add the runs of a participant, all or none.

    Parameters
    ----------
    campaign : Campaign
        Campaign that the runs are added to.
    sources : iterable of path
        Files of the runs.
    participant : str
        Name of the participant.
    name : str, optional
        Name of the run. By default that of its file.
    order : {'score', 'rank'}, default='score'
        Whether documents are ordered by their scores, or by the ranks of the run.

    Returns
    -------
    list of RunSummary
        Summary of each run.

    Raises
    ------
    InputError
        If the campaign has no topics, a name exists already, or a run has none of the topics.
    """
    topics = [topic.topic for topic in campaign.topics()]
    if not topics:
        raise InputError(f"{campaign.path}: has no topics yet; expected topics before runs")
    summaries = []
    with campaign.write():
        before = {run.run: run for run in campaign.runs().values()}
        for source in sources:
            path = os.fspath(source)
            run = campaign.add_run(name or run_name(path), path, participant, order=order)
            if not run.scores.keys() & set(topics):
                raise InputError(
                    f"{path}: has none of the {len(topics)} topics, the first of which is "
                    f"{topics[0]!r}; its own first topic is {next(iter(run.scores))!r}"
                )
            same = next(
                (earlier.run for earlier in before.values() if earlier.scores == run.scores), None
            )
            before[run.run] = run
            unanswered = tuple(topic for topic in topics if topic not in run.scores)
            unknown = tuple(topic for topic in run.scores if topic not in set(topics))
            summaries.append(RunSummary(run, unanswered, unknown, same))
    return summaries


def read_rankings(
    runs: Runs, depth: int | None = None, *, order: str = "score"
) -> dict[str, dict[str, list[str]]]:
    """Read the rankings of runs in the order used for evaluation.

    By default documents are sorted by descending score, ties by descending id, bytewise.

    Parameters
    ----------
    runs : mapping, sequence of paths, or a single run
        Runs as accepted by :func:`calipers.retrieval`.
    depth : int, optional
        Number of documents of each topic to keep. By default all.
    order : {'score', 'rank'}, default='score'
        Whether documents are ordered by their scores, or by the ranks of the run.

    Returns
    -------
    dict
        For each run and topic, the documents, best first.

    Raises
    ------
    InputError
        If a run is invalid.

    Examples
    --------
    >>> read_rankings({"a": {"1": {"x": 1.0, "y": 2.0, "z": 1.0}}})
    {'a': {'1': ['y', 'z', 'x']}}
    """
    if depth is not None and depth < 1:
        raise InputError(f"depth is {depth}, expected 1 or more")
    source_by_name = named_runs(runs)
    check_stdin(source_by_name.values())
    return {
        name: _read_ranking(name, source, depth, order) for name, source in source_by_name.items()
    }


def _read_ranking(
    name: str, source: TrecSource, depth: int | None, order: str
) -> dict[str, list[str]]:
    table, _, _ = read_ordered_run(name, source, order)
    rows: dict[bytes, list[tuple[float, bytes]]] = {}
    for topic, document, score in zip(
        *(table.column(column).to_pylist() for column in ("topic", "doc", "score")), strict=True
    ):
        rows.setdefault(topic, []).append((score, document))
    return {
        decode_id(topic): [decode_id(d) for _, d in sorted(rows[topic], reverse=True)[:depth]]
        for topic in sorted(rows)
    }


def list_topics(rankings: Rankings) -> list[str]:
    """Return all topics of all runs, sorted."""
    return sorted({topic for ranking in rankings.values() for topic in ranking})


def group_runs(rankings: Rankings, groups: Mapping[str, str] | None) -> dict[str, tuple[str, ...]]:
    """Return the runs of each group, given the group of each run; by default each run is a group.

    >>> group_runs({"a1": {}, "a2": {}, "b": {}}, {"a1": "ann", "a2": "ann", "b": "ben"})
    {'ann': ('a1', 'a2'), 'ben': ('b',)}
    """
    if groups is None:
        return {run: (run,) for run in rankings}
    for run in rankings:
        if run not in groups:
            raise InputError(f"groups: has no group for run {run!r}; {did_you_mean(run, groups)}")
    runs_by_group: dict[str, list[str]] = {}
    for run in rankings:
        runs_by_group.setdefault(groups[run], []).append(run)
    return {group: tuple(runs_by_group[group]) for group in sorted(runs_by_group)}


def groups_by_document(
    rankings: Rankings, groups: Mapping[str, Iterable[str]], topic: str, depth: Depth | None
) -> dict[str, set[str]]:
    """Return, for each document of a topic, the groups that have it among their first ``depth``.

    The depth None means all documents, as ``"all"`` does.
    """
    document_groups: dict[str, set[str]] = {}
    max_rank = None if depth is None else parse_depth(depth)
    for group, runs in groups.items():
        for run in runs:
            for document in rankings[run].get(topic, ())[:max_rank]:
                document_groups.setdefault(document, set()).add(group)
    return document_groups


def parse_depth(depth: object) -> int | None:
    """Return the rank of a pool depth; None if all documents are pooled.

    >>> parse_depth(10), parse_depth("all")
    (10, None)
    """
    if isinstance(depth, str):
        if depth == "all":
            return None
        raise InputError(
            f"depth is {format_value(depth)}, expected a whole number from 1 on, or 'all'"
        )
    return check_min_int(depth, "depth")


def check_min_int(value: Any, name: str, minimum: int = 1) -> int:
    """Check that a value is an integer of at least ``minimum``, and return it."""
    if isinstance(value, bool) or not isinstance(value, int) or value < minimum:
        raise InputError(f"{name} is {value!r}, expected a whole number of at least {minimum}")
    return value
