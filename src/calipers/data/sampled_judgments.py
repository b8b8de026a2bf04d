"""Judgments of a sample of the pool, with its strata or with inclusion probabilities."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from calipers.data import trec_tables
from calipers.data.errors import InputError
from calipers.data.grouped_judgments import (
    GroupedJudgments,
    GroupSource,
    JudgmentRows,
    encode_ids,
    rows_from_dict,
    rows_from_file,
    to_grouped_arrays,
)
from calipers.data.trec import add_origin, open_source, update_origin

#: Names under which the columns of a table are found, in this order.
STRATUM = ("stratum", "strata", "stratum_id")
PROBABILITY = ("probability", "inclusion_probability", "inclusion", "prob", "pi")

#: Codes of the sampling method in the Million Query track: chosen deterministically, and both
#: chosen and sampled.
_METHOD_CHOSEN, _METHOD_BOTH = 0, 2
#: Grade of a document that was not sampled.
_NOT_SAMPLED = -999

#: Names of the fields in messages of the core, which reads lines as groups, and here.
_LINE_FORMATS = {
    "4: topic group document level": "4: topic iteration document grade",
    "5: topic group part document level": "5: topic iteration document stratum grade, or "
    "topic iteration document grade probability",
}


def read_sampled_judgments(source: GroupSource) -> tuple[GroupedJudgments, dict[str, Any]]:
    """Read sampled judgments from any source.

    The first result has the judgments in groups that are their strata; the second has the same
    judgments without strata, as columns.

    A file has lines ``topic iteration document stratum grade``, as read by sample_eval; ``topic
    iteration document grade probability``, as in TREC's Legal track; or ``topic document grade
    method probability``, as in statAP of the Million Query track. There, a document that was
    chosen (method 0) or both chosen and sampled (2) has the inclusion probability 1, and topics
    without sampled documents have no value. With four fields, or with a dict ``{topic: {document:
    grade}}``, the pool of a topic is one stratum. A negative grade marks a document that is not
    judged.

    Raises
    ------
    InputError
        If the source cannot be read, or judgments are invalid.
    """
    data, origin = open_source(source, "judgments", "qrels", (*STRATUM, *PROBABILITY))
    with add_origin(data, origin):
        stored: Mapping[str, Any] = {}
        grades = None
        if isinstance(data, str):
            rows, stored = _read_file(data)
            grades, rows = rows.level, _set_inclusion(rows)
        elif isinstance(data, Mapping) and not trec_tables.has_columns(data):
            rows = rows_from_dict(
                {t: {"": documents} for t, documents in data.items()} if _is_flat(data) else data
            )
        else:
            rows = _from_table(data)
        _check_rows(rows)
        grades = rows.level if grades is None else grades
        groups = to_grouped_arrays(
            rows, update_origin(origin, {"lines": len(rows.level), **stored}), lenient=False
        )
    unknown = np.full(len(rows.level), np.nan)
    judged = {"topic": rows.topic, "doc": rows.document, "grade": grades.astype(np.int64)}
    return replace(groups, arrays={"inclusion": unknown, **groups.arrays}), judged


def _is_flat(source: Mapping[Any, Any]) -> bool:
    """Return whether topics map to grades rather than to strata."""
    first_values = (
        next(iter(documents.values()), 0)
        for documents in source.values()
        if isinstance(documents, Mapping)
    )
    return not any(isinstance(value, Mapping) for value in first_values)


def _read_file(path: str) -> tuple[JudgmentRows, Mapping[str, Any]]:
    """Read the rows of a file."""
    try:
        rows, stored = rows_from_file(path, "groups or prefs", lenient=False)
    except ValueError as error:
        message = str(error)
        for core_format, message_format in _LINE_FORMATS.items():
            message = message.replace(core_format, message_format)
        raise InputError(message) from None
    if rows.subgroup is None:
        return replace(rows, group=_single_stratum(rows)), stored
    second, third, fourth, last = rows.group, rows.subgroup, rows.document, rows.level
    rows = replace(rows, subgroup=None)
    if (last == 1).all():
        raise rows.error(
            0,
            "the last field is 1 in all lines, which may be a grade or a probability; expected a "
            f"header (topic doc {STRATUM[0]} grade, or topic doc grade {PROBABILITY[0]})",
        )
    if (last == np.trunc(last)).all():
        return replace(rows, group=fourth, document=third), stored
    # Documents are third, as in judgments, unless the second field varies.
    third_is_document = len(second.unique()) == 1
    document, grade = (third, fourth) if third_is_document else (second, third)
    rows = replace(rows, group=_single_stratum(rows), document=document, inclusion=last)
    if not third_is_document:
        rows = replace(rows, subgroup=fourth)
    return replace(rows, level=_parse_integers(grade, rows)), stored


def _set_inclusion(rows: JudgmentRows) -> JudgmentRows:
    """Set the inclusion probabilities that follow from the methods, as the statAP program does.

    Rows of topics without sampled documents become unjudged.
    """
    if rows.subgroup is None or rows.inclusion is None:
        return rows
    method, topic = _parse_integers(rows.subgroup, rows, "method"), encode_ids(rows.topic)[1]
    sampled_mask = rows.level > _NOT_SAMPLED
    has_sample = (
        np.bincount(
            topic, sampled_mask & (method != _METHOD_CHOSEN), int(topic.max(initial=-1)) + 1
        )
        > 0
    )
    return replace(
        rows,
        subgroup=None,
        inclusion=np.where(
            (method == _METHOD_CHOSEN) | (method == _METHOD_BOTH), 1.0, rows.inclusion
        ),
        level=np.where(has_sample[topic], rows.level, -1.0),
    )


def _from_table(source: Any) -> JudgmentRows:
    """Return the rows of a table."""
    table = trec_tables.to_table(source, "qrels")
    topic, document, grades = trec_tables.id_and_value_columns(table, "qrels")
    rows = JudgmentRows(topic, topic, None, document, grades.astype(np.float64))
    stratum, probability = (
        next((name for name in names if name in table.column_names), None)
        for names in (STRATUM, PROBABILITY)
    )
    group = _single_stratum(rows) if stratum is None else trec_tables.id_array(table, stratum)
    if probability is None:
        return replace(rows, group=group)
    inclusion = trec_tables.number_array(_parse_number_column(table, probability), probability)
    return replace(rows, group=group, inclusion=inclusion.astype(np.float64))


def _parse_number_column(table: Any, name: str) -> Any:
    """Convert a column of numbers that was read as text, as that of strata is, to numbers.

    A column that has anything else is returned unchanged, and reported later.
    """
    import pyarrow as pa

    column, index = table.column(name), table.column_names.index(name)
    try:
        return table.set_column(index, name, column.cast(pa.float64()))
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        return table


def _single_stratum(rows: JudgmentRows) -> Any:
    """Return one stratum for all rows."""
    import pyarrow as pa

    return pa.array([b""] * len(rows.level), pa.large_binary())


def _parse_integers(column: Any, rows: JudgmentRows, field_name: str = "grade") -> Any:
    """Parse a column of text as integers."""
    out = np.zeros(len(column))
    for row, text in enumerate(column.to_pylist()):
        try:
            out[row] = int(text)
        except ValueError:
            value = repr(trec_tables.decode_id(text))
            raise rows.error(row, f"{field_name} {value} is not a whole number") from None
    return out


def _check_rows(rows: JudgmentRows) -> None:
    """Check that grades are whole, probabilities valid, and documents unique within a topic."""
    fractional_rows = np.flatnonzero(rows.level != np.trunc(rows.level))
    for row in fractional_rows[:1].tolist():
        location = rows.locate(row)
        raise rows.error(row, f"grade {rows.level[row]:g} in {location} is not a whole number")
    probability = rows.inclusion
    if probability is not None:
        # A document that was not sampled may have the probability 0.
        invalid_mask = ~((probability > 0) & (probability <= 1)) & (rows.level >= 0)
        for row in np.flatnonzero(invalid_mask)[:1].tolist():
            raise rows.error(
                row,
                f"inclusion probability {probability[row]:g} in {rows.locate(row)}, expected more "
                "than 0 and no more than 1",
            )
    topic, document = encode_ids(rows.topic)[1], encode_ids(rows.document)[1]
    order = np.lexsort((document, topic))
    same = (np.diff(topic[order]) == 0) & (np.diff(document[order]) == 0)
    for index in np.flatnonzero(same)[:1].tolist():
        a, b = sorted((int(order[index]), int(order[index + 1])))
        topic_name, document_name = (
            repr(trec_tables.decode_id(column[a].as_py())) for column in (rows.topic, rows.document)
        )
        locations = f"{rows.locate(a)} and in {rows.locate(b)}"
        raise rows.error(b, f"topic {topic_name}: document {document_name} appears in {locations}")
