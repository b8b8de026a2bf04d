"""Relevance judgments and runs from TREC files, pipes, dicts, data frames or columns."""

from __future__ import annotations

import json
import os
import re
import select
import stat
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import field, replace
from functools import partial
from itertools import pairwise
from typing import TYPE_CHECKING, Any, BinaryIO, TypeAlias

from calipers import _core
from calipers.data import tables, trec_tables
from calipers.data.arrays import from_arrow
from calipers.data.byte_sources import COMPRESSION_BY_MAGIC, EXTENSION_BY_MAGIC, STDIN, ByteSource
from calipers.data.errors import InputError
from calipers.data.ir_datasets import PREFIX, dataset_rows
from calipers.data.plain_text import (
    content_line,
    detect_layout,
    first_line,
    is_header,
    read_plain,
)
from calipers.data.run_order import (
    RANK,
    Locate,
    check_order,
    contradiction_note,
    find_contradictions,
    scores_from_ranks,
)
from calipers.data.tables import COMPRESSION_BY_EXTENSION
from calipers.data.trec_tables import Kind, buffers, decode_id
from calipers.lazy_dataclasses import dataclass
from calipers.progress import track

if TYPE_CHECKING:
    import pyarrow as pa


#: Accepted forms of judgments or a run: a path, a dict of dicts, a frame or a dict with the three
#: columns, or rows with query_id, doc_id and relevance or score.
TrecSource: TypeAlias = "str | os.PathLike[str] | Mapping[Any, Mapping[Any, Any]] | Any"


@dataclass(frozen=True)
class InputOrigin:
    """Origin of an input, for the provenance.

    Attributes
    ----------
    name : str
        Name of the input, such as "qrels" or that of a run.
    path : str, optional
        Path of its file.
    lines, bytes : int, optional
        Number of lines and number of bytes.
    sha256 : str, optional
        SHA-256 digest of the file.
    """

    name: str
    path: str | None = None
    lines: int | None = None
    bytes: int | None = None
    sha256: str | None = None


@dataclass(frozen=True)
class Qrels:
    """Relevance judgments, prepared for the evaluation of runs.

    ``topic_errors`` has, by the index of the topic, the reason why its judgments are invalid;
    unless reading is lenient, it is raised as an error.
    """

    judgments: _core.Judgments
    topics: tuple[str, ...]
    judged_offsets: Any
    judged_grade: Any
    judged_count: Any
    origin: InputOrigin
    topic_errors: Mapping[int, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Run:
    """Run with the judgments of its documents, as the arrays of ``JudgedRankings``.

    It also has what was dropped, and the errors of single topics, as in :class:`Qrels`.
    """

    arrays: dict[str, Any]
    unjudged_topics: int
    unjudged_topic_names: tuple[str, ...]
    tag: str | None
    origin: InputOrigin
    raw_tag: bytes | None = None
    #: Whether there are scores, or only what was retrieved.
    is_ordered: bool = True
    topic_errors: Mapping[int, str] = field(default_factory=dict)
    #: Notes on its ranks.
    notes: tuple[str, ...] = ()


def read_qrels(source: TrecSource, *, lenient: bool = False) -> Qrels:
    """Read relevance judgments from any source.

    Parameters
    ----------
    source : path, mapping, data frame or iterable
        Path of a file, dict ``{topic: {document: grade}}``, data frame or dict with three columns,
        or rows with query_id, doc_id and relevance.
    lenient : bool, default=False
        Whether every file is TREC text and read as trec_eval does. The errors of single topics are
        then reported with the topics instead of raised.

    Returns
    -------
    Qrels
        Judgments.

    Raises
    ------
    InputError
        If the source cannot be read, or judgments are invalid.
    """
    data, origin = open_source(source, "qrels", "qrels", lenient=lenient)
    with add_origin(data, origin):
        if isinstance(data, str):
            if not lenient and os.path.isfile(data) and len(first_line(data)) == 5:
                raise InputError(
                    f"{data}: 5 fields, expected 4: topic iteration document grade; only measures "
                    "of sampled judgments or of preferences read 5"
                )
            judgments = _core.Judgments.from_file(data, lenient)
        elif isinstance(data, Mapping) and not trec_tables.has_columns(data):
            judgments = _core.Judgments.from_dict(trec_tables.to_dicts(data, "grade"))
        else:
            topics, documents, grades = trec_tables.id_and_value_columns(data, "qrels")
            judgments = _core.Judgments.from_columns(buffers(topics), buffers(documents), grades)
    offsets, grade, count = judgments.grades()
    return Qrels(
        judgments,
        tuple(decode_id(topic) for topic in judgments.topics),
        offsets,
        grade,
        count,
        update_origin(origin, judgments.source),
        judgments.wrong,
    )


def read_runs(
    sources: Mapping[str, TrecSource],
    qrels: Qrels,
    *,
    float32: bool = False,
    order: str = "score",
) -> dict[str, Run]:
    """Read runs by name, in parallel on all processors.

    If several runs are invalid, the error of the first one in order is raised.
    """
    options: dict[str, Any] = {"float32": float32, "order": order}
    if len(sources) == 1:
        return {name: read_run(name, run, qrels, **options) for name, run in sources.items()}
    from concurrent.futures import ThreadPoolExecutor

    cores = os.cpu_count() or 1
    n_parallel = max(1, min(len(sources), cores))
    stop = _core.Stop()
    # Pipes are opened in this thread, which handles Ctrl-C while it waits for a writer.
    sources = {
        n: peek(source) if isinstance(source, str) else source for n, source in sources.items()
    }

    def read(name: str) -> Run:
        threads = cores // n_parallel
        return read_run(name, sources[name], qrels, **options, threads=threads, stop=stop)

    with ThreadPoolExecutor(n_parallel) as pool:
        try:
            runs = track(pool.map(read, sources), "reading run", len(sources))
            return dict(zip(sources, runs, strict=True))
        except BaseException:
            stop.set()  # else the pool waited until all are read
            raise


def read_run(
    name: str,
    source: TrecSource,
    qrels: Qrels,
    *,
    float32: bool = False,
    order: str = "score",
    lenient: bool = False,
    ascending: bool = False,
    depth: int | None = None,
    threads: int | None = None,
    stop: _core.Stop | None = None,
) -> Run:
    """Read a run, and look up the judgments of its documents.

    Documents with tied scores are ordered by descending id.

    Parameters
    ----------
    name : str
        Name of the run in messages.
    source : path, mapping, data frame or iterable
        Path of a file, dict ``{topic: {document: score}}``, data frame or dict with three columns,
        or rows with query_id, doc_id and score.
    qrels : Qrels
        Judgments.
    float32 : bool, default=False
        Whether scores are rounded to 32 bits first, as trec_eval up to 9 does.
    order : {'score', 'rank'}, default='score'
        Whether documents are ordered by their scores, or by the ranks of the run.
    lenient : bool, default=False
        Whether every file is TREC text and read as trec_eval does. The errors of single topics are
        then reported with the topics instead of raised, and a document may be duplicated below the
        ``depth`` highest.
    ascending : bool, default=False
        Whether documents with tied scores are ordered by ascending id, as trec_eval does for
        preferences.
    depth : int, optional
        Number of highest documents in which duplicates are an error even if reading is lenient.
    threads : int, optional
        Number of threads that read one file.
    stop : Stop, optional
        Flag that stops reading, for calls from a thread other than the main thread.

    Returns
    -------
    Run
        Run with the judgments of its documents.

    Raises
    ------
    InputError
        If the source cannot be read, or the run is invalid.
    """
    if order == RANK:
        return _read_run_by_rank(name, source, qrels, lenient=lenient, ascending=ascending)
    data, origin = open_source(source, name, "run", (RANK,), lenient=lenient)
    is_ordered = has_rows = True
    notes: list[str] = []
    with add_origin(data, origin):
        if isinstance(data, Mapping) and not trec_tables.has_columns(data):
            id_columns = trec_tables.columns_from_ids(data)
            if id_columns is not None:
                is_ordered, has_rows, data = False, bool(id_columns["doc"]), id_columns
        if isinstance(data, str):
            judged = qrels.judgments.read_run(
                data, float32, lenient, ascending, depth=depth, threads=threads, asked=stop
            )
            notes = contradiction_note(name, order, judged.contradictions, partial(_line, data))
        elif not has_rows:  # a run without documents, which the core does not accept
            judged = qrels.judgments.rank_dict({"": {"": 0.0}})
        elif isinstance(data, Mapping) and not trec_tables.has_columns(data):
            judged = qrels.judgments.rank_dict(
                trec_tables.to_dicts(data, "score"), float32, ascending=ascending
            )
        else:
            table = trec_tables.to_table(data, "run")
            is_ordered = not trec_tables.is_unordered(table.column_names)
            topics, documents, scores = trec_tables.id_and_value_columns(table, "run")
            judged = qrels.judgments.rank_columns(
                buffers(topics), buffers(documents), scores, float32, ascending=ascending
            )
            if RANK in table.column_names:
                notes = contradiction_note(
                    name, order, find_contradictions(topics, table[RANK], scores), _row
                )
    run = _judged_run(judged, qrels, update_origin(origin, judged.source), notes)
    if not has_rows:
        return replace(run, unjudged_topics=0, unjudged_topic_names=(), is_ordered=is_ordered)
    return replace(run, is_ordered=is_ordered)


def _judged_run(
    judged: _core.JudgedRun, qrels: Qrels, origin: InputOrigin, notes: Sequence[str]
) -> Run:
    qrels_fields = ("topics", "judged_offsets", "judged_grade", "judged_count")
    run_fields = ("retrieved", "offsets", "rank", "grade", "tied_from", "tied_to")
    arrays = {name: getattr(qrels, name) for name in qrels_fields}
    arrays |= {name: getattr(judged, name) for name in run_fields}
    return Run(
        arrays,
        judged.unjudged_topics,
        tuple(decode_id(topic) for topic in judged.unjudged_topic_names),
        None if judged.tag is None else decode_id(judged.tag),
        origin,
        judged.tag,
        topic_errors=judged.wrong,
        notes=tuple(notes),
    )


def _read_run_by_rank(
    name: str, source: TrecSource, qrels: Qrels, *, lenient: bool, ascending: bool
) -> Run:
    """Read a run as :func:`read_run`, ordered by its ranks.

    All rows are in memory, as ranks are checked.
    """
    table, origin, notes = read_ordered_run(name, source, RANK, lenient=lenient)
    topics, documents = (buffers(table.column(column).chunk(0)) for column in ("topic", "doc"))
    judged = qrels.judgments.rank_columns(
        topics, documents, from_arrow(table.column("score")), ascending=ascending
    )
    run = _judged_run(judged, qrels, origin, notes)
    if "tag" not in table.column_names:
        return run
    tag = table.column("tag")[table.num_rows - 1].as_py()
    return replace(run, tag=decode_id(tag), raw_tag=tag)


def _line(path: str, line: int) -> str:
    return f"{'<stdin>' if path == STDIN else path}:{line}"


def _row(row: int) -> str:
    return f"row {row}"


def check_stdin(sources: Iterable[TrecSource]) -> None:
    """Check that the standard input is given for at most one source."""
    paths = [os.fspath(source) for source in sources if isinstance(source, str | os.PathLike)]
    if paths.count(STDIN) > 1:
        raise InputError("- (the standard input) is given more than once, and can be read once")


def open_source(
    source: TrecSource,
    name: str,
    kind: Kind,
    extra_columns: Sequence[str] = (),
    *,
    lenient: bool = False,
) -> tuple[Any, InputOrigin]:
    """Return what there is to read, and its origin.

    A path means TREC text; all other sources are in memory.
    """
    if not isinstance(source, str | os.PathLike):
        return source, InputOrigin(name)
    path = os.fspath(source)
    if lenient:
        if path != STDIN:
            tables.check_file(path, f"a TREC {kind} file")
        return path, InputOrigin(name, path)
    if path.startswith(PREFIX):
        return dataset_rows(path, kind), InputOrigin(name, path)
    with resolve_path(source if isinstance(source, str) else path, kind) as local_path:
        byte_source = ByteSource(local_path)
        data = _read_file(byte_source, kind, extra_columns)
        if isinstance(data, str):
            return data, InputOrigin(name, path)
        size, digest = byte_source.digest()
        return data, InputOrigin(name, path, bytes=size, sha256=digest)


def judgments_digest(source: TrecSource, origin: InputOrigin) -> Callable[[], str | None]:
    """Return a function that computes a digest of the judgments.

    The digest is that of the file, or for a dict that of its contents in sorted order; None for
    any other source.
    """
    if origin.sha256 is not None or not isinstance(source, Mapping):
        return partial(_known_digest, origin.sha256)
    return (
        partial(_known_digest, None)
        if trec_tables.has_columns(source)
        else partial(_hash_dict, source)
    )


def _known_digest(digest: str | None) -> str | None:
    return digest


def _hash_dict(judgments: Mapping[str, Any]) -> str:
    def plain(node: Any) -> Any:
        nested = isinstance(node, Mapping)
        return {str(key): plain(value) for key, value in node.items()} if nested else str(node)

    from hashlib import sha256  # loads OpenSSL, which files have no need of

    return sha256(json.dumps(plain(judgments), sort_keys=True).encode()).hexdigest()


def update_origin(origin: InputOrigin, stored: Mapping[str, Any]) -> InputOrigin:
    """Add what the core knows about a source to its origin."""
    return replace(origin, **{name: value for name, value in stored.items() if value is not None})


def _read_file(source: ByteSource, kind: Kind, extra_columns: Sequence[str]) -> Any:
    """Read a file of judgments or a run.

    The result is the path for TREC text, the content for JSON, and the required columns for other
    tables, with those of ``extra_columns`` that are present.
    """
    path = source.name
    suffix, _ = tables.file_extension(path)
    if path != STDIN:
        tables.check_file(path, f"a TREC {kind} file")
    if suffix == ".json":
        data = tables.read_json(path)
        if not isinstance(data, dict | list):
            raise InputError(
                f"{path}: holds {type(data).__name__}, expected an object "
                "{topic: {document: value}} or a list of objects"
            )
        return data
    if not tables.is_table(path) or (suffix == ".tsv" and not is_header(first_line(path))):
        table = read_plain(path, kind) if path != STDIN else None
        return path if table is None else table
    with tables.add_location(path):
        return tables.read_table(
            source,
            text=(
                *trec_tables.TOPIC,
                *trec_tables.DOCUMENT,
                *(name for name in extra_columns if name != RANK),
            ),
            select_columns=lambda names: list(
                dict.fromkeys(
                    (
                        *trec_tables.find_columns(names, kind),
                        *(name for name in extra_columns if name in names),
                    )
                )
            ),
        )


@contextmanager
def add_origin(data: Any, origin: InputOrigin) -> Iterator[None]:
    """Convert errors to :class:`InputError`, with the name of the input."""
    try:
        yield
    except OSError as error:
        raise InputError(f"{error.filename}: {error.strerror}") from None
    except (ValueError, TypeError, NotImplementedError) as error:
        if isinstance(data, str):  # the core names file and line
            raise InputError(str(error)) from None
        if origin.path is None:
            raise InputError(f"{origin.name}: {error}") from error.__cause__
        with tables.add_location(origin.path):
            raise InputError(str(error)) from None


def read_rows(
    name: str, source: TrecSource, kind: Kind, *, allow_sets: bool = False
) -> tuple[pa.Table, InputOrigin]:
    """Read all rows of judgments or a run from any source, in its order.

    ``kind`` is "qrels" or "run"; with ``allow_sets`` a run may have no scores. The columns are
    ``topic`` and ``doc`` (large binary, in one chunk), ``grade`` or ``score``, and those of
    ``EXTRA_COLUMNS`` that the source has. The rows are checked as they are for an evaluation.
    """
    data, origin = open_source(source, name, kind, trec_tables.EXTRA_COLUMNS[kind])
    with add_origin(data, origin):
        table, origin, _ = _to_rows(data, origin, kind, allow_sets=allow_sets)
    return table, origin


def read_ordered_run(
    name: str, source: TrecSource, order: str, *, lenient: bool = False
) -> tuple[pa.Table, InputOrigin, list[str]]:
    """Read all rows of a run as :func:`read_rows`, with scores that have the requested order.

    Returns
    -------
    table : pyarrow.Table
        Rows. If they are ordered by their ranks, scores are made from these.
    origin : InputOrigin
        Origin of the run.
    notes : list of str
        Notes on gaps between ranks, and on ranks that contradict the scores.

    Raises
    ------
    InputError
        If the run is invalid, or has no ranks that order its documents.
    """
    check_order(order)
    extra_columns = (*trec_tables.EXTRA_COLUMNS["run"], RANK)
    data, origin = open_source(source, name, "run", extra_columns, lenient=lenient)
    with add_origin(data, origin):
        table, origin, locate = _to_rows(
            data, origin, "run", extra_columns, by_rank=order == RANK, lenient=lenient
        )
        if RANK not in table.column_names:
            if order != RANK:
                return table, origin, []
            raise InputError(
                "order='rank': there are no ranks; expected TREC text, or a table with the column "
                "'rank'"
            )
        topics, ranks = table.column("topic").chunk(0), table.column(RANK)
        scores = from_arrow(table.column("score"))
        notes = contradiction_note(name, order, find_contradictions(topics, ranks, scores), locate)
        table = table.drop_columns([RANK])
        if order != RANK:
            return table, origin, notes
        scores, gap_notes = scores_from_ranks(name, topics, ranks, locate)
        score_index = table.column_names.index("score")
        return table.set_column(score_index, "score", [scores]), origin, [*gap_notes, *notes]


def _to_rows(
    data: Any,
    origin: InputOrigin,
    kind: Kind,
    extra_columns: Sequence[str] = (),
    *,
    allow_sets: bool = False,
    by_rank: bool = False,
    lenient: bool = False,
) -> tuple[pa.Table, InputOrigin, Locate]:
    """Return the rows of an open source, and a function from an index to the location of a row.

    If they are ordered ``by_rank``, they need no scores, and are given 0.
    """
    import pyarrow as pa

    extra_columns = extra_columns or trec_tables.EXTRA_COLUMNS[kind]
    value = trec_tables.VALUE_COLUMNS[kind][0]
    if isinstance(data, str):
        rows = _core.read_rows(data, kind, lenient)
        id_columns = {
            column: trec_tables.to_large_binary(*rows[column])
            for column in ("topic", "doc", *extra_columns)
        }
        table, lines = pa.table(id_columns | {value: rows[value]}), rows["line"]
        _check_rows(table, kind, data, lines)
        return (
            table,
            update_origin(origin, rows["source"]),
            lambda row: _line(data, int(lines[row])),
        )
    if isinstance(data, Mapping) and not trec_tables.has_columns(data):
        data = trec_tables.columns_from_ids(data) or trec_tables.to_dicts(data, value)
    if isinstance(data, Mapping) and not trec_tables.has_columns(data):
        data = {
            "topic": [topic for topic, documents in data.items() for _ in documents],
            "doc": [document for documents in data.values() for document in documents],
            value: [number for documents in data.values() for number in documents.values()],
        }
        if not data["topic"]:
            raise InputError("no judgments" if kind == "qrels" else "no rows")
    source_table = trec_tables.to_table(data, kind)
    if kind == "run" and not allow_sets and trec_tables.is_unordered(source_table.column_names):
        raise InputError("holds no scores, but topics and documents alone")
    names = source_table.column_names
    needs_no_scores = by_rank and RANK in names and not set(trec_tables.SCORE) & set(names)
    topics, documents, values = trec_tables.id_and_value_columns(
        source_table.drop_columns([RANK]) if needs_no_scores else source_table, kind
    )
    further = {
        name: source_table[name] if name == RANK else trec_tables.id_array(source_table, name)
        for name in extra_columns
        if name in source_table.column_names
    }
    table = pa.table(further | {"topic": topics, "doc": documents, value: values})
    _check_rows(table, kind)
    return table, replace(origin, lines=table.num_rows), _row


def read_zscores(path: str) -> Iterator[tuple[bytes, bytes, bytes, bytes]]:
    """Read topic, measure, mean and standard deviation of every line, the numbers as text."""
    tables.check_file(path, "a file of means and deviations")
    with add_origin(path, InputOrigin("z-scores", path)):
        rows = _core.read_rows(path, "zscores", lenient=True)
    columns = []
    for name in ("topic", "measure", "mean", "deviation"):
        offsets, data = rows[name]
        text = data.tobytes()
        columns.append([text[first:last] for first, last in pairwise(offsets.tolist())])
    return zip(*columns, strict=True)


def _check_rows(table: pa.Table, kind: Kind, path: str = "", lines: Any = None) -> None:
    """Check that no document is duplicated and no score is NaN.

    The error names lines instead of rows if ``lines`` are given.
    """
    topics, documents = (buffers(table.column(name).chunk(0)) for name in ("topic", "doc"))
    values = from_arrow(table.column(trec_tables.VALUE_COLUMNS[kind][0]))
    try:
        if kind == "qrels":
            _core.Judgments.from_columns(topics, documents, values)
        else:
            _core.Judgments.from_dict({"": {"": 0}}).rank_columns(topics, documents, values)
    except ValueError as error:
        if lines is None:
            raise
        message = re.sub(r"(?m)^row (\d+)", lambda m: f"{path}:{lines[int(m[1])]}", str(error))
        message = re.sub(r"(?m)at row (\d+)\)$", lambda m: f"at line {lines[int(m[1])]})", message)
        raise InputError(message) from None


def run_name(source: str | os.PathLike[str]) -> str:
    """Return the name of a run by its file: without directory, compression and extension."""
    if str(source) == STDIN:
        return "stdin"
    if str(source).startswith(PREFIX):
        return str(source)
    stem, suffix = os.path.splitext(os.path.basename(os.fspath(source).rstrip("/")))
    return os.path.splitext(stem)[0] if suffix in COMPRESSION_BY_EXTENSION else stem


#: Time after which a signal is handled while a pipe is waited for.
_POLL_MILLISECONDS = 200

#: Maximum number of bytes of a pipe that are read at a time, as to detect its format.
_MAX_HEAD_BYTES = 1 << 16


class PeekedPipe(str):
    """Path of a pipe of which the beginning has been read.

    ``head`` are its first bytes, ``begun`` those of them that were consumed, and ``file`` is the
    open pipe, from which the core continues to read (it reads both by these names).
    """

    head: bytes
    begun: bytes
    file: int

    def __del__(self) -> None:
        with suppress(AttributeError, OSError):
            os.close(self.file)


def peek(path: str) -> str:
    """Return the path of a pipe or of the standard input together with its first bytes.

    Any other path, and one that cannot be read, is returned unchanged.
    """
    if isinstance(path, PeekedPipe) or not _is_pipe(path):
        return path
    peeked = PeekedPipe(path)
    try:
        peeked.file = os.dup(0) if path == STDIN else os.open(path, os.O_RDONLY)
        peeked.head = peeked.begun = _head(peeked.file)
        if stat.S_ISREG(os.fstat(peeked.file).st_mode):  # behind the standard input
            os.lseek(peeked.file, -len(peeked.head), os.SEEK_CUR)
            peeked.begun = b""
    except OSError:  # reported by whatever reads the path
        return path
    return peeked


def _is_pipe(path: str) -> bool:
    if path == STDIN:
        return True
    with suppress(OSError, ValueError):
        mode = os.stat(path).st_mode
        return not (stat.S_ISREG(mode) or stat.S_ISDIR(mode))
    return False


def _head(file: int) -> bytes:
    """Read the first bytes, up to the first line with content."""
    head = b""
    while len(head) < _MAX_HEAD_BYTES and b"\0" not in head:
        block = os.read(file, _MAX_HEAD_BYTES - len(head))
        head += block
        if not block or content_line(head + b"\n") != content_line(head):
            break
    return head


def _decompress_head(head: bytes) -> bytes:
    """Decompress the first bytes as far as possible."""
    packed = next(
        (name for magic, name in COMPRESSION_BY_MAGIC.items() if head.startswith(magic)), None
    )
    if packed == "gzip":
        with suppress(zlib.error):
            return zlib.decompressobj(31).decompress(head)
    elif packed is not None:
        import pyarrow as pa

        with suppress(OSError), pa.CompressedInputStream(pa.BufferReader(head), packed) as stream:
            return bytes(stream.read(1 << 12))
    return head


def _detect_extension(head: bytes, kind: Kind, path: str) -> str | None:
    """Return the extension that fits the first bytes; None for TREC text."""
    for magic, suffix in EXTENSION_BY_MAGIC.items():
        if head.startswith(magic):
            return suffix
    text = _decompress_head(head)
    line = content_line(text).decode("utf-8", "replace").strip()
    if line.startswith(("{", "[")):
        with suppress(ValueError):
            row = json.loads(line)
            if isinstance(row, dict) and not all(isinstance(x, dict) for x in row.values()):
                return ".jsonl"
        return ".json"
    if is_header(re.split(r"[,\t]", line)):
        return ".tsv" if "\t" in line else ".csv"
    fields = line.split()
    return "" if is_header(fields) or detect_layout(path, kind, fields) else None


def _copy_pipe(descriptor: int, out: BinaryIO) -> None:
    """Copy all bytes of a pipe, and look for signals while there are none.

    A signal that comes just before a blocking read is not handled until that ends.
    """
    poll = select.poll() if hasattr(select, "poll") else None
    if poll is not None:
        poll.register(descriptor, select.POLLIN)
    while True:
        while poll is not None and not poll.poll(_POLL_MILLISECONDS):
            pass
        block = os.read(descriptor, _MAX_HEAD_BYTES)
        if not block:
            return
        out.write(block)


@contextmanager
def resolve_path(path: str, kind: Kind) -> Iterator[str]:
    """Yield the path to read from; for a pipe without TREC text, that of a temporary copy.

    Errors name the pipe instead of the copy.
    """
    path = peek(path)
    display_path = "<stdin>" if path == STDIN else str(path)
    suffix = (
        _detect_extension(path.head, kind, display_path) if isinstance(path, PeekedPipe) else None
    )
    if suffix is None:
        yield path
        return
    assert isinstance(path, PeekedPipe)
    import tempfile

    with tempfile.TemporaryDirectory(prefix="calipers-") as folder:
        copy = os.path.join(folder, "input" + suffix)
        with open(copy, "wb") as out:
            out.write(path.begun)
            _copy_pipe(path.file, out)
        try:
            yield copy
        except InputError as error:
            raise InputError(str(error).replace(copy, display_path)) from None
