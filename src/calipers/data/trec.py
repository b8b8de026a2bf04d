"""Judgments and runs: from TREC files, dictionaries, data frames or columns."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

from calipers import _core
from calipers.data.errors import InputError, did_you_mean
from calipers.data.tables import as_arrow

#: What may stand for judgments or a run: a path, a dict of dicts, or a frame or a dict with the
#: three columns.
TrecSource: TypeAlias = "str | os.PathLike[str] | Mapping[Any, Mapping[Any, Any]] | Any"

#: Names under which the columns of a frame are found, in this order.
TOPIC = ("topic", "query_id", "qid", "query", "topic_id", "q_id")
DOCUMENT = ("doc", "doc_id", "docno", "docid", "document", "did")
GRADE = ("grade", "relevance", "label", "rel")
SCORE = ("score", "sim")


@dataclass(frozen=True)
class Origin:
    """Where an input came from, for provenance."""

    name: str
    path: str | None = None
    lines: int | None = None
    bytes: int | None = None
    sha256: str | None = None


@dataclass(frozen=True)
class Qrels:
    """Judgments, ready to judge runs."""

    judgments: _core.Judgments
    topics: tuple[str, ...]
    judged_offsets: Any
    judged_grade: Any
    judged_count: Any
    origin: Origin


@dataclass(frozen=True)
class Run:
    """A run as the judgments see it: the arrays of ``JudgedRankings``, and what was left out."""

    arrays: dict[str, Any]
    unjudged_topics: int
    unjudged_topic_names: tuple[str, ...]
    tag: str | None
    origin: Origin


def read_qrels(source: TrecSource) -> Qrels:
    """Judgments from any source; :class:`InputError` says what is wrong with it."""
    with_errors = _Reading("qrels", source)
    if isinstance(source, str | os.PathLike):
        path = _file(source, "qrels")
        judgments = with_errors(lambda: _core.Judgments.from_file(path))
    elif isinstance(source, Mapping) and not holds_columns(source):
        _check_nested(source, "qrels", "grade")
        judgments = with_errors(lambda: _core.Judgments.from_dict(source))
    else:
        topics, documents, grades = _columns(source, "qrels", GRADE)
        judgments = with_errors(
            lambda: _core.Judgments.from_columns(topics, documents, _whole(grades))
        )
    offsets, grade, count = judgments.grades()
    return Qrels(
        judgments,
        tuple(text_of(topic) for topic in judgments.topics),
        offsets,
        grade,
        count,
        _origin("qrels", source, judgments.source),
    )


def read_run(name: str, source: TrecSource, qrels: Qrels, *, float32: bool = False) -> Run:
    """A run against the judgments; :class:`InputError` says what is wrong with it."""
    with_errors = _Reading(name, source)
    if isinstance(source, str | os.PathLike):
        path = _file(source, "run")
        judged = with_errors(lambda: qrels.judgments.read_run(path, float32))
    elif isinstance(source, Mapping) and not holds_columns(source):
        _check_nested(source, name, "score")
        judged = with_errors(lambda: qrels.judgments.rank_dict(source, float32))
    else:
        topics, documents, scores = _columns(source, name, SCORE)
        values = np.asarray(scores, np.float64)
        judged = with_errors(
            lambda: qrels.judgments.rank_columns(topics, documents, values, float32)
        )
    arrays = {
        "topics": qrels.topics,
        "retrieved": judged.retrieved,
        "judged_offsets": qrels.judged_offsets,
        "judged_grade": qrels.judged_grade,
        "judged_count": qrels.judged_count,
        "offsets": judged.offsets,
        "rank": judged.rank,
        "grade": judged.grade,
        "tied_from": judged.tied_from,
        "tied_to": judged.tied_to,
    }
    return Run(
        arrays,
        judged.unjudged_topics,
        tuple(text_of(topic) for topic in judged.unjudged_topic_names),
        None if judged.tag is None else text_of(judged.tag),
        _origin(name, source, judged.source),
    )


def holds_columns(source: Mapping[Any, Any]) -> bool:
    """Whether a dict holds columns of topics and documents, not topics or runs by name."""
    return any(name in source for name in TOPIC) and any(
        name in source and not isinstance(source[name], Mapping | str) for name in DOCUMENT
    )


def run_name(source: str | os.PathLike[str]) -> str:
    """The name of a run by its file: without folder, compression and extension."""
    path = Path(source)
    if path.suffix in (".gz", ".zst"):
        path = path.with_suffix("")
    return path.stem or path.name


def text_of(raw: bytes) -> str:
    """An id as text: UTF-8 where it is that, else Latin-1, which takes any bytes."""
    try:
        return raw.decode("utf-8")
    except UnicodeDecodeError:
        return raw.decode("latin-1")


class _Reading:
    """Turns what the core raises into :class:`InputError`."""

    def __init__(self, what: str, source: TrecSource) -> None:
        # Problems of files carry the file's name already.
        self.prefix = "" if isinstance(source, str | os.PathLike) else f"{what}: "

    def __call__(self, read: Any) -> Any:
        try:
            return read()
        except InputError:
            raise
        except OSError as error:
            raise InputError(f"{error.filename}: {error.strerror}") from None
        except (ValueError, TypeError) as error:
            raise InputError(f"{self.prefix}{error}") from None


def _file(source: str | os.PathLike[str], what: str) -> str:
    path = os.fspath(source)
    if os.path.isdir(path):
        raise InputError(f"{path}: is a directory, expected a TREC {what} file")
    if not os.path.exists(path):
        raise InputError(f"{path}: no such file")
    return path


def _check_nested(source: Mapping[Any, Any], what: str, value: str) -> None:
    for topic, documents in source.items():
        if not isinstance(documents, Mapping):
            raise InputError(
                f"{what}: topic {topic!r} holds {type(documents).__name__}, "
                f"expected a dict of document to {value}"
            )


def _columns(source: Any, what: str, value: tuple[str, ...]) -> tuple[Any, Any, Any]:
    """Topic ids, document ids and the value column of a frame."""
    table = as_arrow(source, what)
    return (
        _ids(table, TOPIC, what),
        _ids(table, DOCUMENT, what),
        _numbers(table, value, what),
    )


def _find(table: Any, names: tuple[str, ...], what: str) -> Any:
    for name in names:
        if name in table.column_names:
            column = table.column(name).combine_chunks()
            if column.null_count:
                row = int(np.flatnonzero(column.is_null().to_numpy(zero_copy_only=False))[0])
                raise InputError(
                    f"{what}: column {name!r} is missing {column.null_count} values, "
                    f"the first in row {row}"
                )
            return column
    raise InputError(
        f"{what}: no column {names[0]!r} (nor {', '.join(names[1:])}); "
        + did_you_mean(names[0], table.column_names)
    )


def _ids(table: Any, names: tuple[str, ...], what: str) -> tuple[Any, Any]:
    """A column of ids as Arrow's offsets and bytes; whole numbers as their decimal digits."""
    import pyarrow as pa

    column = _find(table, names, what)
    if pa.types.is_dictionary(column.type):
        column = column.dictionary_decode()
    kind = column.type
    if pa.types.is_integer(kind):
        column = column.cast(pa.string())
    elif not (
        pa.types.is_string(kind)
        or pa.types.is_large_string(kind)
        or pa.types.is_string_view(kind)
        or pa.types.is_binary(kind)
        or pa.types.is_large_binary(kind)
    ):
        raise InputError(f"{what}: ids are of type {kind}, expected text or whole numbers")
    column = column.cast(pa.large_binary())
    _, offsets, data = column.buffers()
    offset = np.frombuffer(offsets, np.int64)[column.offset : column.offset + len(column) + 1]
    return offset, np.zeros(0, np.uint8) if data is None else np.frombuffer(data, np.uint8)


def _numbers(table: Any, names: tuple[str, ...], what: str) -> Any:
    import pyarrow as pa

    column = _find(table, names, what)
    if not (pa.types.is_integer(column.type) or pa.types.is_floating(column.type)):
        raise InputError(f"{what}: column {names[0]!r} is of type {column.type}, expected numbers")
    return column.to_numpy(zero_copy_only=False)


def _whole(grades: Any) -> Any:
    if not np.issubdtype(grades.dtype, np.integer):
        broken = np.flatnonzero(grades != np.trunc(grades))
        if len(broken) or not np.isfinite(grades).all():
            row = int(broken[0]) if len(broken) else int(np.flatnonzero(~np.isfinite(grades))[0])
            raise InputError(f"qrels: grade {grades[row]} in row {row} is no whole number")
    return grades.astype(np.int64)


def _origin(name: str, source: TrecSource, stored: Mapping[str, Any]) -> Origin:
    if isinstance(source, str | os.PathLike):
        return Origin(name, os.fspath(source), stored["lines"], stored["bytes"], stored["sha256"])
    return Origin(name, lines=stored["lines"])
