"""What the two files hold, judged topic by judged topic."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

import numpy as np

from calipers import _core
from calipers.cli.trec_eval.options import Options, Stop
from calipers.data.errors import InputError
from calipers.data.groups import judge_groups, read_groups
from calipers.data.trec import STDIN, Run, read_qrels, read_run
from calipers.statistics import GroupedRankings, IntArray, JudgedRankings

FORMATS = ("qrels", "qrels_jg", "prefs", "qrels_prefs")

T = TypeVar("T")


@dataclass(frozen=True)
class Judged:
    """The results as the judgments see them, with all judged topics in bytewise order.

    ``unusable`` says of topics by their positions why they cannot be evaluated.
    """

    topics: list[bytes]
    rankings: JudgedRankings | GroupedRankings
    tag: bytes
    unusable: dict[int, str] = field(default_factory=dict)


def read_inputs(options: Options) -> Judged:
    """Reads judgments and results; :class:`Stop` where that fails."""
    judgments, results = options.files
    # Both names are the user's, but "-" means stdin for the results only.
    judgments = f"./{judgments}" if judgments == STDIN else judgments
    results = STDIN if results.startswith("-") else results
    if options.judgments_format not in FORMATS:
        raise Stop(2, f"{options.judgments_format!r} is no format of judgments: {FORMATS}")
    read = _read_qrels if options.judgments_format == "qrels" else _read_groups
    return read(options, judgments, results)


def _read_qrels(options: Options, judgments: str, results: str) -> Judged:
    float32 = options.conventions < 10
    try:
        qrels = read_qrels(judgments, lenient=True)
        _check_results_format(options)
        run = read_run(results, results, qrels, float32=float32, lenient=True)
    except InputError as error:
        if results == STDIN:
            raise Stop(2, str(error)) from None
        _check_results_format(options)
        return _without_repeated(options, judgments, results, error)
    _check_results(results, run)
    return Judged(qrels.judgments.topics, JudgedRankings(**run.arrays), run.raw_tag or b"")


def _read_groups(options: Options, judgments: str, results: str) -> Judged:
    kind = options.judgments_format
    parts, whole = kind == "prefs", kind == "qrels_jg"
    try:
        groups = read_groups(judgments, parts=parts, lenient=True)
    except InputError as error:
        # Lines that cannot be read end the program at once, preferences that cannot be true only
        # when a topic is evaluated.
        _or_stop(lambda: _core.read_rows(judgments, "prefs" if parts else "groups", lenient=True))
        raise Stop(2 if whole else 4, str(error)) from None
    _check_results_format(options)
    run = _or_stop(
        lambda: judge_groups(
            results,
            results,
            groups,
            float32=options.conventions < 10,
            ascending=not whole,
            lenient=True,
        )
    )
    _check_results(results, run)
    rankings = GroupedRankings(**run.arrays)
    if whole:
        rankings = replace(rankings, level=np.trunc(rankings.level))
    return Judged(groups.documents.judgments.topics, rankings, run.raw_tag or b"")


def _check_results_format(options: Options) -> None:
    if options.results_format != "trec_results":
        raise Stop(2, f"{options.results_format!r} is no format of results: trec_results")


def _check_results(results: str, run: Run) -> None:
    if run.raw_tag is None:
        raise Stop(2, f"{results}: no results")


def _or_stop(read: Callable[[], T]) -> T:
    try:
        return read()
    except (InputError, ValueError) as error:
        raise Stop(2, str(error)) from None
    except OSError as error:
        raise Stop(2, f"{error.filename}: {error.strerror}") from None


def _without_repeated(options: Options, judgments: str, results: str, error: InputError) -> Judged:
    """The same where documents stand twice, which ends the program when their topic comes up."""
    judged = _or_stop(lambda: _core.read_rows(judgments, "qrels", lenient=True))
    found = _or_stop(lambda: _core.read_rows(results, "run", lenient=True))
    (kept, repeated), (kept_found, repeated_found) = _first_rows(judged), _first_rows(found)
    if not repeated | repeated_found:
        raise Stop(2, str(error)) from None
    qrels = read_qrels(kept.append_column("grade", [judged["grade"][kept["row"]]]))
    scored = kept_found.append_column("score", [found["score"][kept_found["row"]]])
    run = read_run(results, scored, qrels, float32=options.conventions < 10)
    topics = qrels.judgments.topics
    return Judged(
        topics,
        JudgedRankings(**run.arrays),
        _texts(found["tag"])[-1].as_py(),
        {i: str(error) for i, t in enumerate(topics) if t in repeated | repeated_found},
    )


def _first_rows(rows: dict[str, Any]) -> tuple[Any, set[bytes]]:
    """Topics and documents, each pair where it stands first, and the topics where one stands
    again."""
    import pyarrow as pa

    topic, doc = (_texts(rows[name]).dictionary_encode() for name in ("topic", "doc"))
    keys = topic.indices.to_numpy().astype(np.int64) * len(doc) + doc.indices.to_numpy()
    first = np.sort(np.unique(keys, return_index=True)[1])
    table = pa.table({"topic": _texts(rows["topic"]), "doc": _texts(rows["doc"])})
    again = np.setdiff1d(np.arange(len(keys)), first)
    repeated = set(topic.dictionary.take(topic.indices.take(again)).to_pylist())
    return table.take(first).append_column("row", [first]), repeated


def _texts(column: tuple[IntArray, Any]) -> Any:
    """A column of the core as Arrow's."""
    import pyarrow as pa

    offsets, data = (pa.py_buffer(part) for part in column)
    return pa.LargeBinaryArray.from_buffers(
        pa.large_binary(), len(column[0]) - 1, [None, offsets, data]
    )
