"""Judgments in groups: by subtopic, by assessor, or as preferences."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain, pairwise
from typing import Any, Literal, TypeAlias

import numpy as np

from calipers import _core
from calipers.data import trec_tables
from calipers.data.arrays import from_arrow, is_missing
from calipers.data.errors import InputError, format_value
from calipers.data.trec import (
    InputOrigin,
    Qrels,
    Run,
    TrecSource,
    add_origin,
    open_source,
    read_run,
    update_origin,
)
from calipers.data.trec_tables import buffers, decode_id

#: What may stand for grouped judgments: a path, a dict ``{topic: {group: {document: level}}}``, or
#: a frame or a dict of columns.
GroupSource: TypeAlias = (
    "str | os.PathLike[str] | Mapping[Any, Mapping[Any, Mapping[Any, Any]]] | Any"
)

#: What the lines of a file hold: two kinds of them, which the first line tells apart, or one.
Lines: TypeAlias = Literal["groups or prefs", "groups", "prefs", "qrels"]

#: Names under which the columns of a table are found, in this order.
GROUP = ("group", "subtopic", "subtopic_id", "iteration", "assessor", "jg")
PART = ("part", "jsg")


@dataclass(frozen=True)
class GroupedJudgments:
    """Grouped judgments, ready to judge runs.

    ``documents`` are all documents that any group judges, with their numbers within the topic for
    grades; ``arrays`` are those of ``GroupedRankings``, but for what depends on the run. ``wrong``
    says of topics, by their places, why their judgments cannot be true; without lenient reading
    that is an error.
    """

    documents: Qrels
    arrays: dict[str, Any]
    origin: InputOrigin
    wrong: Mapping[int, InputError] = field(default_factory=dict)

    @property
    def topics(self) -> tuple[str, ...]:
        """The topics, in bytewise order."""
        return self.documents.topics


@dataclass(frozen=True)
class JudgmentRows:
    """One row a judgment: ids as Arrow's large binary, the part only where there are parts, the
    probability to be drawn only where that is known."""

    topic: Any
    group: Any
    part: Any
    document: Any
    level: Any
    path: str | None = None
    line: Any = None
    inclusion: Any = None

    def place(self, row: int) -> str:
        """Where a row stands."""
        return f"row {row}" if self.path is None else f"line {self.line[row]}"

    def error(self, row: int, message: str) -> InputError:
        """What is wrong with a row; of a file, this one."""
        where = "" if self.path is None else f"{self.path}:{self.line[row]}: "
        return InputError(where + message)


def read_groups(
    source: GroupSource, *, lines: Lines = "groups or prefs", lenient: bool = False
) -> GroupedJudgments:
    """Grouped judgments from any source; :class:`InputError` says what is wrong with it.

    A file has lines ``topic group document level`` or, for preferences that are stated in parts of
    a group, ``topic group part document level``; ``lines`` says which, else the first line does;
    with ``"qrels"`` they have four fields and whole numbers for levels. A data frame or a dict of
    columns may have a column ``part``; a dict ``{topic: {group: {document: level}}}`` has none.
    With ``lenient`` every file is TREC text, read as trec_eval does: what is wrong with one topic
    is told with it.
    """
    data, origin = open_source(source, "judgments", "qrels", (*GROUP, *PART), lenient=lenient)
    with add_origin(data, origin):
        if isinstance(data, str):
            rows, stored = rows_of_file(data, lines, lenient)
        elif isinstance(data, Mapping) and not trec_tables.holds_columns(data):
            rows, stored = rows_of_dict(data), {}
        else:
            rows, stored = _from_table(data), {}
        origin = update_origin(origin, {"lines": len(rows.level), **stored})
        return to_grouped_arrays(rows, origin, lenient, counted=lenient and lines != "qrels")


def judge_groups(name: str, source: TrecSource, groups: GroupedJudgments, **how: Any) -> Run:
    """A run against grouped judgments, read as :func:`read_run` does with ``how``: the arrays of
    ``GroupedRankings``, and what was left out."""
    run = read_run(name, source, groups.documents, **how)
    found, documents = run.arrays, groups.arrays["documents"]
    topic = np.repeat(np.arange(len(groups.topics)), np.diff(found["offsets"]))
    at = documents[topic] + found["grade"]
    spread = {}
    for column in ("rank", "tied_from", "tied_to"):
        spread[column] = np.zeros(documents[-1], np.int64)
        spread[column][at] = found[column]
    return replace(run, arrays={**groups.arrays, "retrieved": found["retrieved"], **spread})


def rows_of_file(path: str, lines: Lines, lenient: bool) -> tuple[JudgmentRows, Mapping[str, Any]]:
    """The rows of TREC text, and what was seen of the file."""
    stored = _core.read_rows(path, lines, lenient)
    whole = lines == "qrels"
    rows = JudgmentRows(
        trec_tables.to_large_binary(*stored["topic"]),
        trec_tables.to_large_binary(*stored["iteration" if whole else "group"]),
        trec_tables.to_large_binary(*stored["part"]) if "part" in stored else None,
        trec_tables.to_large_binary(*stored["doc"]),
        stored["grade"].astype(np.float64) if whole else stored["level"],
        path,
        stored["line"],
    )
    return rows, stored["source"]


def rows_of_dict(source: Mapping[Any, Any]) -> JudgmentRows:
    """The rows of ``{topic: {group: {document: level}}}``."""
    import pyarrow as pa

    rows: list[tuple[bytes, bytes, bytes, Any]] = []
    for topic, groups in source.items():
        for group, levels in _entries(groups, f"topic {topic!r}", "group to documents"):
            where = f"topic {topic!r}, group {group!r}"
            for document, level in _entries(levels, where, "document to level"):
                rows.append((_id(topic), _id(group), _id(document), level))
                number = isinstance(level, (int, float, np.number)) and not isinstance(level, bool)
                if not number or not np.isfinite(level):
                    absent = is_missing(level) and not number
                    told = "the level is missing" if absent else f"level {level!r}"
                    raise InputError(
                        f"{where}, document {document!r}: {told}, expected a finite number"
                    )
    topics, names, documents, levels = zip(*rows, strict=True) if rows else ((), (), (), ())
    topic, group, document = (pa.array(c, pa.large_binary()) for c in (topics, names, documents))
    return JudgmentRows(topic, group, None, document, np.array(levels, np.float64))


def _entries(source: Any, where: str, expected: str) -> Iterator[tuple[Any, Any]]:
    if not isinstance(source, Mapping):
        raise InputError(f"{where} holds {type(source).__name__}, expected a dict of {expected}")
    return iter(source.items())


def _id(key: Any) -> bytes:
    if isinstance(key, bytes):
        return key
    if isinstance(key, str):
        return key.encode()
    raise InputError(f"id {key!r} is of type {type(key).__name__}, expected str or bytes")


def _from_table(source: Any) -> JudgmentRows:
    table = trec_tables.to_table(_to_columns(source), "qrels")
    names = table.column_names

    def ids(accepted: Sequence[str]) -> Any:
        return trec_tables.id_array(table, trec_tables.find_column(names, accepted))

    return JudgmentRows(
        ids(trec_tables.TOPIC),
        ids(GROUP),
        ids(PART) if any(name in names for name in PART) else None,
        ids(trec_tables.DOCUMENT),
        trec_tables.numbers(table, trec_tables.find_column(names, trec_tables.GRADE)).astype(
            np.float64
        ),
    )


def _to_columns(source: Any) -> Any:
    """Rows of ir_datasets, or others of their kind, as columns."""
    source = source.qrels_iter() if hasattr(source, "qrels_iter") else source
    rows = list(source) if isinstance(source, Iterator | list | tuple) else []
    if not rows or isinstance(rows[0], Mapping):
        return rows or source
    group = next((name for name in GROUP if hasattr(rows[0], name)), "subtopic_id")
    names = ("query_id", group, "doc_id", "relevance")
    try:
        values = [[getattr(row, name) for name in names] for row in rows]
    except AttributeError:
        raise InputError(
            f"a row is {format_value(rows[0])}, expected {', '.join(names)} of it"
        ) from None
    return dict(zip(names, zip(*values, strict=True), strict=True))


def to_grouped_arrays(
    rows: JudgmentRows, origin: InputOrigin, lenient: bool, *, counted: bool = False
) -> GroupedJudgments:
    """Rows as the arrays of ``GroupedRankings``; lines that say the same twice are ``counted``
    twice, as trec_eval counts preferences, or are wrong."""
    if len(rows.level) == 0:
        raise InputError("no judgments")
    topics, topic = encode_ids(rows.topic)
    names, name = encode_ids(rows.group)
    ids, document = encode_ids(rows.document)
    part = np.zeros(len(topic), np.int64) if rows.part is None else encode_ids(rows.part)[1]
    order = np.lexsort((document, part, name, topic))
    group, group_of_row = np.unique(topic * len(names) + name, return_inverse=True)
    pair, place = np.unique(topic * len(ids) + document, return_inverse=True)
    of_topic = np.arange(len(topics) + 1)
    documents = np.searchsorted(pair, of_topic * len(ids))
    # Parts are numbered anew in each group.
    parts, part_of_row = np.unique(group_of_row * (part.max() + 1) + part, return_inverse=True)
    first_part = np.searchsorted(parts, np.arange(len(group)) * (part.max() + 1))
    judgments = _core.Judgments.from_columns(
        buffers(topics.take(pair // len(ids))),
        buffers(ids.take(pair % len(ids))),
        np.arange(len(pair)) - documents[pair // len(ids)],
    )
    arrays = {
        "topics": tuple(decode_id(t) for t in topics.to_pylist()),
        "documents": documents,
        "groups": np.searchsorted(group, of_topic * len(names)),
        "group_names": tuple(decode_id(n) for n in names.take(group % len(names)).to_pylist()),
        "judgments": np.searchsorted(group_of_row[order], np.arange(len(group) + 1)),
        "document": (place - documents[topic])[order],
        "part": (part_of_row - first_part[group_of_row])[order],
        "level": rows.level[order],
    }
    if rows.inclusion is not None:
        arrays["inclusion"] = rows.inclusion[order]
    wrong: dict[int, InputError] = {}
    for row, message in chain(
        _no_levels(rows, lenient),
        _find_repeats(rows, order, np.stack([topic, name, part, document]), counted=counted),
        _contradictions(rows, order, arrays["judgments"], arrays["part"]),
    ):
        error = rows.error(row, message)
        if not lenient:
            raise error
        wrong.setdefault(int(topic[row]), error)
    qrels = Qrels(judgments, arrays["topics"], *judgments.grades(), origin)
    return GroupedJudgments(qrels, arrays, origin, wrong)


def _no_levels(rows: JudgmentRows, lenient: bool) -> Iterator[tuple[int, str]]:
    """Levels that are no numbers; only trec_eval knows infinite ones."""
    wrong = np.isnan(rows.level) if lenient else ~np.isfinite(rows.level)
    for row in np.flatnonzero(wrong).tolist():
        yield row, f"level {rows.level[row]} in {rows.place(row)} is not finite"


def encode_ids(column: Any) -> tuple[Any, Any]:
    """The distinct ids in bytewise order, and for each row the place of its own."""
    import pyarrow.compute as pc

    encoded = column.dictionary_encode()
    order = from_arrow(pc.sort_indices(encoded.dictionary))
    place = np.empty(len(order), np.int64)
    place[order] = np.arange(len(order))
    return encoded.dictionary.take(order), place[from_arrow(encoded.indices)]


def _text(column: Any, row: int) -> str:
    return repr(decode_id(column[row].as_py()))


def _find_repeats(
    rows: JudgmentRows, order: Any, keys: Any, *, counted: bool = False
) -> Iterator[tuple[int, str]]:
    """Documents that stand twice in a group, or in a part of one; at two levels where those at one
    are ``counted``."""
    same = (keys[:, order[1:]] == keys[:, order[:-1]]).all(axis=0)
    if counted:
        same &= rows.level[order[1:]] != rows.level[order[:-1]]
    for second in (np.flatnonzero(same) + 1).tolist():
        a, b = sorted((int(order[second - 1]), int(order[second])))
        part = "" if rows.part is None else f", part {_text(rows.part, a)}"
        message = (
            f"topic {_text(rows.topic, a)}, group {_text(rows.group, a)}{part}: document "
            f"{_text(rows.document, a)} stands in {rows.place(a)} and in {rows.place(b)}"
        )
        yield b, message


def _contradictions(
    rows: JudgmentRows, order: Any, judgments: Any, part: Any
) -> Iterator[tuple[int, str]]:
    """Parts of a group that cannot be true together."""
    several = np.searchsorted(judgments, np.flatnonzero(part), "right") - 1
    for g in np.unique(several):
        own = slice(judgments[g], judgments[g + 1])
        row = order[own].tolist()
        where = f"topic {_text(rows.topic, row[0])}, group {_text(rows.group, row[0])}"
        seen: dict[bytes, int] = {}
        classes: dict[tuple[int, float], list[bytes]] = {}
        for r, number in zip(row, part[own].tolist(), strict=True):
            document, level = rows.document[r].as_py(), float(rows.level[r])
            classes.setdefault((number, -level), []).append(document)
            before = seen.setdefault(document, r) if level >= 0 else r
            if (rows.level[before] > 0) != (level > 0):
                a, b = sorted((before, r))
                message = (
                    f"{where}: document {_text(rows.document, r)} has level {rows.level[a]:g} in "
                    f"{rows.place(a)} and {rows.level[b]:g} in {rows.place(b)}, "
                    "expected 0 in every part or in none"
                )
                yield b, message
        circle = _find_cycle(_preference_edges(classes))
        if circle:
            over = " over ".join(repr(decode_id(document)) for document in circle)
            message = f"{where}: the parts contradict each other, {over}"
            yield seen.get(circle[0], row[0]), message


def _preference_edges(classes: Mapping[tuple[int, float], list[bytes]]) -> dict[Any, list[Any]]:
    """From every document to those that its part puts a level lower.

    On the way stands the level itself, so that there are not as many steps as pairs of documents.
    """
    steps: dict[Any, list[Any]] = {}
    for high, low in pairwise(sorted(classes)):
        if high[0] == low[0]:
            steps[high] = [*classes[low]]
            for document in classes[high]:
                steps.setdefault(document, []).append(high)
    return steps


def _find_cycle(steps: Mapping[Any, list[Any]]) -> list[bytes]:
    """Documents along a way that comes back to where it began, if there is one."""
    done: set[Any] = set()
    for start in steps:
        if start in done:
            continue
        way, ahead = {start: None}, [iter(steps[start])]
        while way:
            step = next(ahead[-1], None)
            if step is None:
                ahead.pop()
                done.add(way.popitem()[0])
            elif step in way:
                nodes = list(way)
                circle = [n for n in nodes[nodes.index(step) :] if isinstance(n, bytes)]
                first = circle.index(min(circle))
                return [*circle[first:], *circle[: first + 1]]
            elif step not in done:
                way[step] = None
                ahead.append(iter(steps.get(step, ())))
    return []
