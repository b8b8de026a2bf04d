"""Judgments and runs: from TREC files, dictionaries, data frames or columns."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from itertools import pairwise
from operator import attrgetter
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import numpy as np

from calipers import _core
from calipers.data.errors import InputError, did_you_mean, shown
from calipers.data.irds import PREFIX, ROWS, dataset_rows
from calipers.data.tables import (
    BINARIES,
    COMPRESSED,
    TEXTS,
    as_arrow,
    check_file,
    extension,
    file_digest,
    joined,
    located,
    read_errors,
    read_json,
    read_table,
)

if TYPE_CHECKING:
    import pyarrow as pa

#: What may stand for judgments or a run: a path, a dict of dicts, a frame or a dict with the three
#: columns, or rows with query_id, doc_id and relevance or score.
TrecSource: TypeAlias = "str | os.PathLike[str] | Mapping[Any, Mapping[Any, Any]] | Any"

Kind: TypeAlias = Literal["qrels", "run"]

#: Names under which the columns of a table are found, in this order.
TOPIC = ("topic", "query_id", "query-id", "qid", "query", "topic_id", "q_id")
DOCUMENT = ("doc", "doc_id", "corpus-id", "docno", "docid", "document", "did")
GRADE = ("grade", "relevance", "label", "rel", "score", "level")
SCORE = ("score", "sim")
VALUES: dict[Kind, tuple[str, ...]] = {"qrels": GRADE, "run": SCORE}

#: Further columns that TREC text has, and other tables may have.
FURTHER: dict[Kind, tuple[str, ...]] = {"qrels": ("iteration",), "run": ("iteration", "tag")}

#: What stands for the standard input.
STDIN = "-"


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
    """Judgments, ready to judge runs.

    ``wrong`` says of topics, by their places, what makes their judgments useless; without lenient
    reading that is an error.
    """

    judgments: _core.Judgments
    topics: tuple[str, ...]
    judged_offsets: Any
    judged_grade: Any
    judged_count: Any
    origin: Origin
    wrong: Mapping[int, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Run:
    """A run as the judgments see it: the arrays of ``JudgedRankings``, what was left out, and what
    is wrong with single topics, as in :class:`Qrels`."""

    arrays: dict[str, Any]
    unjudged_topics: int
    unjudged_topic_names: tuple[str, ...]
    tag: str | None
    origin: Origin
    raw_tag: bytes | None = None
    wrong: Mapping[int, str] = field(default_factory=dict)


def read_qrels(source: TrecSource, *, lenient: bool = False) -> Qrels:
    """Judgments from any source; :class:`InputError` says what is wrong with it.

    With ``lenient`` every file is TREC text, read as trec_eval does: what is wrong with one topic
    is told with it.
    """
    data, origin = _taken(source, "qrels", "qrels", lenient=lenient)
    with _placed(data, origin):
        if isinstance(data, str):
            judgments = _core.Judgments.from_file(data, lenient)
        elif isinstance(data, Mapping) and not holds_columns(data):
            judgments = _core.Judgments.from_dict(_nested(data, "grade"))
        else:
            topics, documents, grades = columns(data, "qrels")
            judgments = _core.Judgments.from_columns(buffers(topics), buffers(documents), grades)
    offsets, grade, count = judgments.grades()
    return Qrels(
        judgments,
        tuple(text_of(topic) for topic in judgments.topics),
        offsets,
        grade,
        count,
        _read(origin, judgments.source),
        judgments.wrong,
    )


def read_runs(
    sources: Mapping[str, TrecSource], qrels: Qrels, *, float32: bool = False
) -> dict[str, Run]:
    """Runs by name, as many at once as there are processors; of several bad ones the first in
    order is told."""
    if len(sources) == 1:
        return {name: read_run(name, run, qrels, float32=float32) for name, run in sources.items()}
    from concurrent.futures import ThreadPoolExecutor

    cores = os.cpu_count() or 1
    at_once = max(1, min(len(sources), cores))

    stop = _core.Stop()

    def read(name: str) -> Run:
        threads = cores // at_once
        return read_run(name, sources[name], qrels, float32=float32, threads=threads, stop=stop)

    with ThreadPoolExecutor(at_once) as pool:
        try:
            return dict(zip(sources, pool.map(read, sources), strict=True))
        except BaseException:
            stop.set()  # else the pool waited until all are read
            raise


def read_run(
    name: str,
    source: TrecSource,
    qrels: Qrels,
    *,
    float32: bool = False,
    lenient: bool = False,
    ascending: bool = False,
    depth: int | None = None,
    threads: int | None = None,
    stop: _core.Stop | None = None,
) -> Run:
    """A run against the judgments; :class:`InputError` says what is wrong with it.

    Documents of equal score stand in descending order of their ids or, where ``ascending`` (as
    trec_eval has it for preferences), in ascending order.

    With ``lenient`` every file is TREC text, read as trec_eval does: what is wrong with one topic
    is told with it, and a document may stand twice below the ``depth`` highest. ``threads`` is how
    many may read one file; called from another than the main thread, it reads until ``stop``.
    """
    data, origin = _taken(source, name, "run", lenient=lenient)
    with _placed(data, origin):
        if isinstance(data, str):
            judged = qrels.judgments.read_run(
                data, float32, lenient, ascending, depth=depth, threads=threads, asked=stop
            )
        elif isinstance(data, Mapping) and not holds_columns(data):
            judged = qrels.judgments.rank_dict(_nested(data, "score"), float32, ascending=ascending)
        else:
            topics, documents, scores = columns(data, "run")
            judged = qrels.judgments.rank_columns(
                buffers(topics), buffers(documents), scores, float32, ascending=ascending
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
        _read(origin, judged.source),
        judged.tag,
        judged.wrong,
    )


def check_stdin(sources: Iterable[TrecSource]) -> None:
    """That the standard input stands for one source at most."""
    paths = [os.fspath(source) for source in sources if isinstance(source, str | os.PathLike)]
    if paths.count(STDIN) > 1:
        raise InputError("- (the standard input) is given more than once, and can be read once")


def _taken(
    source: TrecSource, name: str, kind: Kind, also: Sequence[str] = (), *, lenient: bool = False
) -> tuple[Any, Origin]:
    """What there is to read, and where it came from: a path means TREC text; the rest is in
    memory."""
    if not isinstance(source, str | os.PathLike):
        return source, Origin(name)
    path = os.fspath(source)
    if lenient:
        if path != STDIN:
            check_file(path, f"a TREC {kind} file")
        return path, Origin(name, path)
    if path.startswith(PREFIX):
        return dataset_rows(path, kind), Origin(name, path)
    data = _read_file(path, kind, also)
    if isinstance(data, str):
        return data, Origin(name, path)
    size, digest = file_digest(path)
    return data, Origin(name, path, bytes=size, sha256=digest)


def _read(origin: Origin, stored: Mapping[str, Any]) -> Origin:
    """The origin, with what the core has seen of it."""
    return replace(origin, **{fact: value for fact, value in stored.items() if value is not None})


def _read_file(path: str, kind: Kind, also: Sequence[str]) -> Any:
    """What a file of judgments or a run holds: of TREC text its path, of JSON what it says, of
    other tables the columns that are wanted, with those of ``also`` where they are there."""
    suffix, _ = extension(path)
    if path != STDIN:
        check_file(path, f"a TREC {kind} file")
    if suffix == ".json":
        data = read_json(path)
        if not isinstance(data, dict | list):
            raise InputError(
                f"{path}: holds {type(data).__name__}, expected an object "
                "{topic: {document: value}} or a list of objects"
            )
        return data
    if suffix not in TEXTS and suffix not in BINARIES:
        return path
    if suffix == ".tsv" and not has_header(path):
        return path  # TREC text with tabs
    with located(path):
        return read_table(
            path,
            text=(*TOPIC, *DOCUMENT, *also),
            choose=lambda names: [
                *find_columns(names, kind),
                *(name for name in also if name in names),
            ],
        )


def has_header(path: str) -> bool:
    """Whether the first line names the columns of topics and documents."""
    import pyarrow as pa

    with read_errors(path, "text"), pa.input_stream(path, compression="detect") as stream:
        line = stream.read(1 << 16).split(b"\n", 1)[0].decode("utf-8-sig", "replace")
    names = {name.strip('"\r ') for name in line.split("\t")}
    return not names.isdisjoint(TOPIC) and not names.isdisjoint(DOCUMENT)


@contextmanager
def _placed(data: Any, origin: Origin) -> Iterator[None]:
    """Turns what is raised into an :class:`InputError` that says in which input it was."""
    try:
        yield
    except OSError as error:
        raise InputError(f"{error.filename}: {error.strerror}") from None
    except (ValueError, TypeError, NotImplementedError) as error:
        if isinstance(data, str):  # the core has named file and line
            raise InputError(str(error)) from None
        if origin.path is None:
            raise InputError(f"{origin.name}: {error}") from None
        with located(origin.path):
            raise InputError(str(error)) from None


def read_rows(name: str, source: TrecSource, kind: Kind) -> tuple[pa.Table, Origin]:
    """All rows of judgments (``kind`` is "qrels") or a run ("run") from any source, in its order.

    The columns are ``topic`` and ``doc`` (large binary, in one chunk), ``grade`` or ``score``, and
    of ``FURTHER`` those that the source has. What is checked is what evaluating checks.
    """
    import pyarrow as pa

    value = VALUES[kind][0]
    data, origin = _taken(source, name, kind, FURTHER[kind])
    with _placed(data, origin):
        if isinstance(data, str):
            rows = _core.read_rows(data, kind)
            texts = {column: _binary(*rows[column]) for column in ("topic", "doc", *FURTHER[kind])}
            table = pa.table(texts | {value: rows[value]})
            _check_rows(table, kind, data, rows["line"])
            return table, _read(origin, rows["source"])
        if isinstance(data, Mapping) and not holds_columns(data):
            data = _nested(data, value)
            data = {
                "topic": [topic for topic, documents in data.items() for _ in documents],
                "doc": [document for documents in data.values() for document in documents],
                value: [number for documents in data.values() for number in documents.values()],
            }
        given = _table(data, kind)
        topics, documents, values = columns(given, kind)
        further = {name: _ids(given, name) for name in FURTHER[kind] if name in given.column_names}
        table = pa.table(further | {"topic": topics, "doc": documents, value: values})
        _check_rows(table, kind)
        return table, replace(origin, lines=table.num_rows)


def read_zscores(path: str) -> Iterator[tuple[bytes, bytes, bytes, bytes]]:
    """Topic, measure, mean and deviation of every line, the numbers as text."""
    check_file(path, "a file of means and deviations")
    with _placed(path, Origin("z-scores", path)):
        rows = _core.read_rows(path, "zscores", lenient=True)
    columns = []
    for name in ("topic", "measure", "mean", "deviation"):
        offsets, data = rows[name]
        text = data.tobytes()
        columns.append([text[first:last] for first, last in pairwise(offsets.tolist())])
    return zip(*columns, strict=True)


def _check_rows(table: pa.Table, kind: Kind, path: str = "", lines: Any = None) -> None:
    """That no document stands there twice and no score is NaN; rows are told by their lines where
    these are given."""
    topics, documents = (buffers(table.column(name).chunk(0)) for name in ("topic", "doc"))
    values = table.column(VALUES[kind][0]).to_numpy()
    try:
        if kind == "qrels":
            _core.Judgments.from_columns(topics, documents, values)
        else:
            _core.Judgments.from_dict({"": {"": 0}}).rank_columns(topics, documents, values)
    except ValueError as error:
        if lines is None:
            raise
        told = re.sub(r"(?m)^row (\d+)", lambda m: f"{path}:{lines[int(m[1])]}", str(error))
        told = re.sub(r"(?m)at row (\d+)\)$", lambda m: f"at line {lines[int(m[1])]})", told)
        raise InputError(told) from None


def holds_columns(source: Mapping[Any, Any]) -> bool:
    """Whether a dict holds columns of topics and documents, not topics or runs by name."""
    return any(name in source for name in TOPIC) and any(
        name in source and not isinstance(source[name], Mapping | str) for name in DOCUMENT
    )


def run_name(source: str | os.PathLike[str]) -> str:
    """The name of a run by its file: without folder, compression and extension."""
    if str(source) == STDIN:
        return "stdin"
    if str(source).startswith(PREFIX):
        return str(source)
    stem, extension = os.path.splitext(os.path.basename(source))
    return os.path.splitext(stem)[0] if extension in COMPRESSED else stem


def text_of(raw: bytes) -> str:
    """An id as text: UTF-8 where it is that, else Latin-1, which takes any bytes."""
    try:
        return raw.decode("utf-8")
    except UnicodeDecodeError:
        return raw.decode("latin-1")


def _nested(source: Mapping[Any, Any], value: str) -> dict[Any, dict[Any, Any]]:
    """Dicts in a dict, as the core takes them, of mappings of any kind."""
    for topic, documents in source.items():
        if not isinstance(documents, Mapping):
            raise InputError(
                f"topic {topic!r} holds {type(documents).__name__}, "
                f"expected a dict of document to {value}"
            )
    return {
        topic: documents if isinstance(documents, dict) else dict(documents)
        for topic, documents in source.items()
    }


def columns(source: Any, kind: Kind) -> tuple[Any, Any, Any]:
    """Topics and documents of a table as Arrow's binary arrays, and its grades or scores."""
    table = _table(source, kind)
    topic, document, value = find_columns(table.column_names, kind)
    values = _numbers(table, value)
    return (
        _ids(table, topic),
        _ids(table, document),
        _whole(values) if kind == "qrels" else values.astype(np.float64, copy=False),
    )


def find_columns(names: Sequence[str], kind: Kind) -> tuple[str, str, str]:
    """The names of the columns of topics, documents, and grades or scores."""
    return _find(names, TOPIC), _find(names, DOCUMENT), _find(names, VALUES[kind])


def _find(names: Sequence[str], accepted: Sequence[str]) -> str:
    for name in accepted:
        if name in names:
            return name
    raise InputError(
        f"no column {accepted[0]!r} (nor {', '.join(accepted[1:])}); "
        + did_you_mean(accepted[0], names)
    )


def _table(source: Any, kind: Kind) -> pa.Table:
    """A frame, columns or rows as a table."""
    iterate = getattr(source, ROWS[kind][1], None)  # a dataset of ir_datasets
    if iterate is not None:
        source = iterate()
    elif isinstance(source, Mapping) or hasattr(source, "__arrow_c_stream__"):
        return as_arrow(source)
    if not isinstance(source, Iterable) or isinstance(source, str | bytes):
        return as_arrow(source)
    rows = list(source)
    if not rows:
        raise InputError("no rows")
    if hasattr(rows[0], "subtopic_id"):
        raise InputError("is judged by subtopic, expected one grade a document")
    if isinstance(rows[0], Mapping):
        keys = dict.fromkeys(key for row in rows for key in row)
        return as_arrow({key: [row.get(key) for row in rows] for key in keys})
    names = ("query_id", "doc_id", "relevance" if kind == "qrels" else "score")
    take = attrgetter(*names)
    try:
        values = [take(row) for row in rows]
    except AttributeError:
        raise InputError(f"a row is {shown(rows[0])}, expected {', '.join(names)} of it") from None
    return as_arrow(dict(zip(names, zip(*values, strict=True), strict=True)))


def _present(table: pa.Table, name: str) -> Any:
    """A column without missing values, in which no value is encoded."""
    import pyarrow as pa

    column = table.column(name)
    if pa.types.is_dictionary(column.type):
        kind = column.type.value_type
        if pa.types.is_string_view(kind):  # of these, values cannot be taken
            kind = pa.large_string()
        parts = [chunk.dictionary.cast(kind).take(chunk.indices) for chunk in column.chunks]
        column = pa.chunked_array(parts, kind)
    if column.null_count:
        row = int(np.flatnonzero(column.is_null().to_numpy())[0])
        raise InputError(
            f"column {name!r} is missing {column.null_count} values, the first in row {row}"
        )
    return column


def _ids(table: pa.Table, name: str) -> Any:
    """A column of ids as one array of Arrow's large binary; whole numbers as their digits."""
    import pyarrow as pa

    column = _present(table, name)
    kind = column.type
    if pa.types.is_integer(kind):
        column = column.cast(pa.large_string())
    elif not (
        pa.types.is_string(kind)
        or pa.types.is_large_string(kind)
        or pa.types.is_string_view(kind)
        or pa.types.is_binary(kind)
        or pa.types.is_large_binary(kind)
    ):
        raise InputError(f"column {name!r} is of type {kind}, expected text or whole numbers")
    # Cast first: together the chunks may be more than the offsets of smaller types reach.
    return joined(column.cast(pa.large_binary()))


def buffers(column: Any) -> tuple[Any, Any]:
    """The offsets and the bytes of a large binary array, as the core takes them."""
    _, offsets, data = column.buffers()
    offset = np.frombuffer(offsets, np.int64)[column.offset : column.offset + len(column) + 1]
    return offset, np.zeros(0, np.uint8) if data is None else np.frombuffer(data, np.uint8)


def _binary(offsets: Any, data: Any) -> Any:
    """What :func:`buffers` takes apart."""
    import pyarrow as pa

    parts = [None, pa.py_buffer(offsets), pa.py_buffer(data)]
    return pa.LargeBinaryArray.from_buffers(pa.large_binary(), len(offsets) - 1, parts)


def _numbers(table: pa.Table, name: str) -> Any:
    import pyarrow as pa

    column = _present(table, name)
    if pa.types.is_decimal(column.type):
        column = column.cast(pa.float64())
    if not (pa.types.is_integer(column.type) or pa.types.is_floating(column.type)):
        first = next((row for row, v in enumerate(column.to_pylist()) if not _is_number(v)), None)
        example = "" if first is None else f": {column[first].as_py()!r} in row {first}"
        raise InputError(f"column {name!r} is of type {column.type}, expected numbers{example}")
    return column.to_numpy()


def _is_number(value: Any) -> bool:
    try:
        float(value)
    except (TypeError, ValueError):
        return False
    return True


def _whole(grades: Any) -> Any:
    limits = np.iinfo(np.int32)
    with np.errstate(invalid="ignore"):
        for wrong, text in (
            (grades != np.trunc(grades), "is no whole number"),
            (
                ~((grades >= limits.min) & (grades <= limits.max)),
                f"is out of range, expected {limits.min} to {limits.max}",
            ),
        ):
            if wrong.any():
                row = int(np.argmax(wrong))
                raise InputError(f"grade {grades[row]} in row {row} {text}")
    return grades.astype(np.int64)
