"""Grouped relevance judgments: by subtopic, by assessor, or as preferences."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field, replace
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
from calipers.lazy_dataclasses import dataclass

#: Accepted forms of grouped judgments: a path, a dict ``{topic: {group: {document: level}}}``, or
#: a frame or a dict of columns.
GroupSource: TypeAlias = (
    "str | os.PathLike[str] | Mapping[Any, Mapping[Any, Mapping[Any, Any]]] | Any"
)

#: Contents of the lines of a file: one of two kinds, as determined by the first line, or one kind.
LineKind: TypeAlias = Literal["groups or prefs", "groups", "prefs", "qrels"]

#: Names under which the columns of a table are found, in this order.
GROUP = ("group", "subtopic", "subtopic_id", "iteration", "assessor", "jg")
#: (Parts of a group, the judgment subgroups of trec_eval.)
SUBGROUP = ("subgroup", "part", "jsg")


@dataclass(frozen=True)
class GroupedJudgments:
    """Grouped judgments, prepared for the evaluation of runs.

    ``documents`` are all documents that any group judges, with their indices within the topic in
    place of grades; ``arrays`` are those of ``GroupedRankings``, except those that depend on the
    run. ``topic_errors`` has the error of each topic, by index, whose judgments are contradictory;
    unless reading is lenient, it is raised.
    """

    documents: Qrels
    arrays: dict[str, Any]
    origin: InputOrigin
    topic_errors: Mapping[int, InputError] = field(default_factory=dict)

    @property
    def topics(self) -> tuple[str, ...]:
        """Topics, in bytewise order."""
        return self.documents.topics


@dataclass(frozen=True)
class JudgmentRows:
    """Judgments, one per row.

    Ids are of Arrow's type large binary. ``subgroup`` is None without subgroups, and
    ``inclusion``, the inclusion probability of the judgment, is None if it is unknown.
    """

    topic: Any
    group: Any
    subgroup: Any
    document: Any
    level: Any
    path: str | None = None
    line: Any = None
    inclusion: Any = None

    def locate(self, row: int) -> str:
        """Return the location of a row."""
        return f"row {row}" if self.path is None else f"line {self.line[row]}"

    def error(self, row: int, message: str) -> InputError:
        """Return the error for a row, with its location in the file, if any."""
        location = "" if self.path is None else f"{self.path}:{self.line[row]}: "
        return InputError(location + message)


def read_groups(
    source: GroupSource, *, lines: LineKind = "groups or prefs", lenient: bool = False
) -> GroupedJudgments:
    """Read grouped judgments from any source.

    A file has lines ``topic group document level`` or, for preferences that are stated in parts of
    a group, ``topic group part document level``. ``lines`` determines which; by default the first
    line does. With ``"qrels"`` lines have four fields and levels are whole numbers. A data frame
    or a dict of columns may have a column ``subgroup``; a dict ``{topic: {group: {document:
    level}}}`` has none. With ``lenient`` every file is TREC text and read as trec_eval does: the
    error of a topic is reported with the topic.

    Raises
    ------
    InputError
        If the source cannot be read, or judgments are invalid.
    """
    data, origin = open_source(source, "judgments", "qrels", (*GROUP, *SUBGROUP), lenient=lenient)
    with add_origin(data, origin):
        if isinstance(data, str):
            rows, stored = rows_from_file(data, lines, lenient)
        elif isinstance(data, Mapping) and not trec_tables.has_columns(data):
            rows, stored = rows_from_dict(data), {}
        else:
            rows, stored = _from_table(data), {}
        origin = update_origin(origin, {"lines": len(rows.level), **stored})
        return to_grouped_arrays(rows, origin, lenient, allow_repeats=lenient and lines != "qrels")


def judge_groups(name: str, source: TrecSource, groups: GroupedJudgments, **options: Any) -> Run:
    """Evaluate a run against grouped judgments.

    The run is read as by :func:`read_run` with the options ``options``. The result has the arrays
    of ``GroupedRankings`` and what was dropped.
    """
    run = read_run(name, source, groups.documents, **options)
    run_arrays, documents = run.arrays, groups.arrays["documents"]
    topic = np.repeat(np.arange(len(groups.topics)), np.diff(run_arrays["offsets"]))
    indices = documents[topic] + run_arrays["grade"]
    group_arrays = {}
    for column in ("rank", "tied_from", "tied_to"):
        group_arrays[column] = np.zeros(documents[-1], np.int64)
        group_arrays[column][indices] = run_arrays[column]
    return replace(
        run, arrays={**groups.arrays, "retrieved": run_arrays["retrieved"], **group_arrays}
    )


def rows_from_file(
    path: str, lines: LineKind, lenient: bool
) -> tuple[JudgmentRows, Mapping[str, Any]]:
    """Read the rows of TREC text, and the properties of the file."""
    stored = _core.read_rows(path, lines, lenient)
    is_qrels = lines == "qrels"
    rows = JudgmentRows(
        trec_tables.to_large_binary(*stored["topic"]),
        trec_tables.to_large_binary(*stored["iteration" if is_qrels else "group"]),
        trec_tables.to_large_binary(*stored["part"]) if "part" in stored else None,
        trec_tables.to_large_binary(*stored["doc"]),
        stored["grade"].astype(np.float64) if is_qrels else stored["level"],
        path,
        stored["line"],
    )
    return rows, stored["source"]


def rows_from_dict(source: Mapping[Any, Any]) -> JudgmentRows:
    """Return the rows of ``{topic: {group: {document: level}}}``."""
    import pyarrow as pa

    rows: list[tuple[bytes, bytes, bytes, Any]] = []
    for topic, groups in source.items():
        for group, levels in _entries(groups, f"topic {topic!r}", "group to documents"):
            location = f"topic {topic!r}, group {group!r}"
            for document, level in _entries(levels, location, "document to level"):
                rows.append((_id(topic), _id(group), _id(document), level))
                is_number = isinstance(level, (int, float, np.number)) and not isinstance(
                    level, bool
                )
                if not is_number or not np.isfinite(level):
                    absent = is_missing(level) and not is_number
                    problem = "the level is missing" if absent else f"level {level!r}"
                    raise InputError(
                        f"{location}, document {document!r}: {problem}, expected a finite number"
                    )
    topics, names, documents, levels = zip(*rows, strict=True) if rows else ((), (), (), ())
    topic, group, document = (pa.array(c, pa.large_binary()) for c in (topics, names, documents))
    return JudgmentRows(topic, group, None, document, np.array(levels, np.float64))


def _entries(source: Any, location: str, expected: str) -> Iterator[tuple[Any, Any]]:
    if not isinstance(source, Mapping):
        raise InputError(f"{location} holds {type(source).__name__}, expected a dict of {expected}")
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
        ids(SUBGROUP) if any(name in names for name in SUBGROUP) else None,
        ids(trec_tables.DOCUMENT),
        trec_tables.number_array(table, trec_tables.find_column(names, trec_tables.GRADE)).astype(
            np.float64
        ),
    )


def _to_columns(source: Any) -> Any:
    """Convert rows of ir_datasets, or similar objects, to columns."""
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
    rows: JudgmentRows, origin: InputOrigin, lenient: bool, *, allow_repeats: bool = False
) -> GroupedJudgments:
    """Convert rows to the arrays of ``GroupedRankings``.

    Duplicate lines with the same level are an error, unless they are ``allow_repeats`` twice, as
    trec_eval counts preferences.
    """
    if len(rows.level) == 0:
        raise InputError("no judgments")
    topics, topic = encode_ids(rows.topic)
    names, group_name_codes = encode_ids(rows.group)
    ids, document = encode_ids(rows.document)
    subgroup = (
        np.zeros(len(topic), np.int64) if rows.subgroup is None else encode_ids(rows.subgroup)[1]
    )
    order = np.lexsort((document, subgroup, group_name_codes, topic))
    group, group_of_row = np.unique(topic * len(names) + group_name_codes, return_inverse=True)
    pair, pair_of_row = np.unique(topic * len(ids) + document, return_inverse=True)
    topic_bounds = np.arange(len(topics) + 1)
    documents = np.searchsorted(pair, topic_bounds * len(ids))
    # Parts are numbered separately in each group.
    subgroup_codes, subgroup_of_row = np.unique(
        group_of_row * (subgroup.max() + 1) + subgroup, return_inverse=True
    )
    first_subgroup = np.searchsorted(subgroup_codes, np.arange(len(group)) * (subgroup.max() + 1))
    judgments = _core.Judgments.from_columns(
        buffers(topics.take(pair // len(ids))),
        buffers(ids.take(pair % len(ids))),
        np.arange(len(pair)) - documents[pair // len(ids)],
    )
    arrays = {
        "topics": tuple(decode_id(t) for t in topics.to_pylist()),
        "documents": documents,
        "groups": np.searchsorted(group, topic_bounds * len(names)),
        "group_names": tuple(decode_id(n) for n in names.take(group % len(names)).to_pylist()),
        "judgments": np.searchsorted(group_of_row[order], np.arange(len(group) + 1)),
        "document": (pair_of_row - documents[topic])[order],
        "block": (subgroup_of_row - first_subgroup[group_of_row])[order],
        "level": rows.level[order],
    }
    if rows.inclusion is not None:
        arrays["inclusion"] = rows.inclusion[order]
    topic_errors: dict[int, InputError] = {}
    for row, message in chain(
        _invalid_levels(rows, lenient),
        _find_repeats(
            rows,
            order,
            np.stack([topic, group_name_codes, subgroup, document]),
            allow_repeats=allow_repeats,
        ),
        _find_contradictions(rows, order, arrays["judgments"], arrays["block"]),
    ):
        error = rows.error(row, message)
        if not lenient:
            raise error
        topic_errors.setdefault(int(topic[row]), error)
    qrels = Qrels(judgments, arrays["topics"], *judgments.grades(), origin)
    return GroupedJudgments(qrels, arrays, origin, topic_errors)


def _invalid_levels(rows: JudgmentRows, lenient: bool) -> Iterator[tuple[int, str]]:
    """Yield levels that are not numbers; infinite ones are allowed only in lenient reading."""
    invalid_mask = np.isnan(rows.level) if lenient else ~np.isfinite(rows.level)
    for row in np.flatnonzero(invalid_mask).tolist():
        yield row, f"level {rows.level[row]} in {rows.locate(row)} is not finite"


def encode_ids(column: Any) -> tuple[Any, Any]:
    """Return the distinct ids in bytewise order, and the index of the id of each row."""
    import pyarrow.compute as pc

    encoded = column.dictionary_encode()
    order = from_arrow(pc.sort_indices(encoded.dictionary))
    rank = np.empty(len(order), np.int64)
    rank[order] = np.arange(len(order))
    return encoded.dictionary.take(order), rank[from_arrow(encoded.indices)]


def _text(column: Any, row: int) -> str:
    return repr(decode_id(column[row].as_py()))


def _find_repeats(
    rows: JudgmentRows, order: Any, keys: Any, *, allow_repeats: bool = False
) -> Iterator[tuple[int, str]]:
    """Yield documents that occur twice in a group, or in a part of one.

    With ``allow_repeats``, only documents with two different levels are duplicates.
    """
    is_repeat = (keys[:, order[1:]] == keys[:, order[:-1]]).all(axis=0)
    if allow_repeats:
        is_repeat &= rows.level[order[1:]] != rows.level[order[:-1]]
    for second in (np.flatnonzero(is_repeat) + 1).tolist():
        a, b = sorted((int(order[second - 1]), int(order[second])))
        subgroup = "" if rows.subgroup is None else f", part {_text(rows.subgroup, a)}"
        message = (
            f"topic {_text(rows.topic, a)}, group {_text(rows.group, a)}{subgroup}: document "
            f"{_text(rows.document, a)} appears in {rows.locate(a)} and in {rows.locate(b)}"
        )
        yield b, message


def _find_contradictions(
    rows: JudgmentRows, order: Any, judgments: Any, subgroup: Any
) -> Iterator[tuple[int, str]]:
    """Yield contradictions between the parts of a group."""
    multi_subgroup_groups = np.searchsorted(judgments, np.flatnonzero(subgroup), "right") - 1
    for group in np.unique(multi_subgroup_groups):
        group_slice = slice(judgments[group], judgments[group + 1])
        group_rows = order[group_slice].tolist()
        location = (
            f"topic {_text(rows.topic, group_rows[0])}, group {_text(rows.group, group_rows[0])}"
        )
        row_by_document: dict[bytes, int] = {}
        classes: dict[tuple[int, float], list[bytes]] = {}
        for row, number in zip(group_rows, subgroup[group_slice].tolist(), strict=True):
            document, level = rows.document[row].as_py(), float(rows.level[row])
            classes.setdefault((number, -level), []).append(document)
            earlier_row = row_by_document.setdefault(document, row) if level >= 0 else row
            if (rows.level[earlier_row] > 0) != (level > 0):
                a, b = sorted((earlier_row, row))
                message = (
                    f"{location}: document {_text(rows.document, row)} has level "
                    f"{rows.level[a]:g} in {rows.locate(a)} and {rows.level[b]:g} in "
                    f"{rows.locate(b)}, expected 0 in every part or in none"
                )
                yield b, message
        cycle = _find_cycle(_preference_edges(classes))
        if cycle:
            cycle_text = " over ".join(repr(decode_id(document)) for document in cycle)
            message = f"{location}: the parts contradict each other, {cycle_text}"
            yield row_by_document.get(cycle[0], group_rows[0]), message


def _preference_edges(classes: Mapping[tuple[int, float], list[bytes]]) -> dict[Any, list[Any]]:
    """Return the edges of the preference graph: from a document to those one level lower in a part.

    Each level is a node of its own on the way, so that the number of edges is smaller than the
    number of pairs of documents.
    """
    steps: dict[Any, list[Any]] = {}
    for high, low in pairwise(sorted(classes)):
        if high[0] == low[0]:
            steps[high] = [*classes[low]]
            for document in classes[high]:
                steps.setdefault(document, []).append(high)
    return steps


def _find_cycle(edges: Mapping[Any, list[Any]]) -> list[bytes]:
    """Return the documents along a cycle of the graph, or an empty list if there is none."""
    done: set[Any] = set()
    for start in edges:
        if start in done:
            continue
        path, iterators = {start: None}, [iter(edges[start])]
        while path:
            step = next(iterators[-1], None)
            if step is None:
                iterators.pop()
                done.add(path.popitem()[0])
            elif step in path:
                nodes = list(path)
                cycle = [n for n in nodes[nodes.index(step) :] if isinstance(n, bytes)]
                first = cycle.index(min(cycle))
                return [*cycle[first:], *cycle[: first + 1]]
            elif step not in done:
                path[step] = None
                iterators.append(iter(edges.get(step, ())))
    return []
