"""Runs with several rankings of a topic, whose topics are ``topic/number``."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from calipers import _core
from calipers.data.arrays import from_arrow
from calipers.data.errors import InputError
from calipers.data.grouped_judgments import encode_ids
from calipers.data.trec import (
    InputOrigin,
    Qrels,
    Run,
    TrecSource,
    read_ordered_run,
    read_rows,
    read_run,
)
from calipers.data.trec_tables import buffers, decode_id
from calipers.lazy_dataclasses import dataclass

if TYPE_CHECKING:
    import pyarrow as pa

#: A topic with the number of a ranking.
_NUMBERED = re.compile(rb"(?s)(.+)/([1-9]\d{0,8})")


@dataclass(frozen=True)
class SeriesJudgments:
    """Judgments of the documents of each topic, in ascending order of ids.

    ``topics`` are in bytewise order, ``offsets`` those of the topics in ``document`` and ``grade``.
    """

    topics: tuple[bytes, ...]
    offsets: Any
    document: pa.Array
    grade: Any
    origin: InputOrigin


def read_series_judgments(source: TrecSource) -> SeriesJudgments:
    """Read judgments, which all rankings of a topic have in common."""
    table, origin = read_rows("qrels", source, "qrels")
    topics, topic = encode_ids(table["topic"].combine_chunks())
    documents, document = encode_ids(table["doc"].combine_chunks())
    order = np.lexsort((document, topic))
    return SeriesJudgments(
        tuple(topics.to_pylist()),
        np.searchsorted(topic[order], np.arange(len(topics) + 1)),
        documents.take(document[order]),
        from_arrow(table["grade"])[order].astype(np.int64),
        origin,
    )


def read_series(
    name: str,
    source: TrecSource,
    judgments: SeriesJudgments,
    *,
    float32: bool = False,
    order: str = "score",
) -> Run:
    """Read a run whose topics have numbers, as in ``51/2``, and judge its rankings.

    The result has the arrays of ``RankingSeries``.

    Raises
    ------
    InputError
        If the source cannot be read, the run is invalid, or a topic has no number.
    """
    import pyarrow as pa

    table, origin, notes = read_ordered_run(name, source, order)
    index_by_topic = {topic: index for index, topic in enumerate(judgments.topics)}
    keys: list[tuple[int, int, bytes]] = []
    for ranking in table["topic"].unique().to_pylist():
        match = _NUMBERED.fullmatch(ranking)
        if match is None:
            example = decode_id(judgments.topics[0])
            raise InputError(
                f"{origin.path or name}: topic {decode_id(ranking)!r} has no number; for measures "
                f"of several rankings of a topic, expected the topic of the judgments and a number "
                f"from 1, as in '{example}/1' and '{example}/2'"
            )
        if match[1] in index_by_topic:
            keys.append((index_by_topic[match[1]], int(match[2]), ranking))
    keys.sort()
    topic = np.array([index for index, _, _ in keys], np.int64)
    sizes = np.diff(judgments.offsets)[topic]
    cells = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    rows = np.repeat(judgments.offsets[topic] - cells[:-1], sizes) + np.arange(cells[-1])
    names = pa.array([ranking for *_, ranking in keys] or [b""], pa.large_binary())
    core_judgments = (
        _core.Judgments.from_columns(
            buffers(names.take(np.repeat(np.arange(len(keys)), sizes))),
            buffers(judgments.document.take(rows)),
            np.arange(cells[-1]) - np.repeat(cells[:-1], sizes),
        )
        if keys
        else _core.Judgments.from_dict({"": {"": 0}})  # of none of the topics of the run
    )
    qrels = Qrels(core_judgments, (), *core_judgments.grades(), judgments.origin)
    run = read_run(name, table, qrels, float32=float32)
    n_topics = len(judgments.topics)
    rank, length = np.zeros(cells[-1], np.int64), np.zeros(len(keys), np.int64)
    if keys:
        # The core has rankings in bytewise order of their names.
        in_core = np.argsort(np.array([r for *_, r in keys], object), kind="stable")
        length[in_core] = run.arrays["retrieved"]
        ranking = np.repeat(in_core, np.diff(run.arrays["offsets"]))
        rank[cells[ranking] + run.arrays["grade"]] = run.arrays["rank"]
    arrays = {
        "topics": tuple(map(decode_id, judgments.topics)),
        "retrieved": np.bincount(topic, length, n_topics).astype(np.int64),
        "documents": judgments.offsets,
        "grade": judgments.grade,
        "rankings": np.searchsorted(topic, np.arange(n_topics + 1)),
        "position": np.array([number for _, number, _ in keys], np.int64),
        "length": length,
        "rank": rank,
    }
    return replace(run, arrays=arrays, origin=origin, notes=(*notes, *run.notes))
