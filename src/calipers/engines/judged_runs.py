"""Evaluation of distributed runs and judgments: each topic is judged on the worker that has it."""

from __future__ import annotations

import os
import re
import tempfile
from collections.abc import Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from calipers import _core
from calipers.data import tables, trec
from calipers.data.byte_sources import STDIN
from calipers.data.distributed_frames import is_dask, is_spark
from calipers.data.errors import InputError
from calipers.data.ir_datasets import PREFIX
from calipers.data.run_order import RANK, parse_ranks
from calipers.data.trec_tables import (
    DOCUMENT,
    SCORE,
    TOPIC,
    Kind,
    find_columns,
    is_unordered,
    to_large_binary,
)
from calipers.engines.base import Mergeable
from calipers.engines.dask import DaskEngine
from calipers.engines.remote import RemoteEngine, TextTask
from calipers.engines.spark import SparkEngine
from calipers.lazy_dataclasses import dataclass
from calipers.statistics import JudgedRankings

if TYPE_CHECKING:
    import pyarrow as pa

    from calipers.data.streams import Batch

#: Engines by name.
_ENGINE_TYPES: Mapping[str, type[RemoteEngine]] = {"spark": SparkEngine, "dask": DaskEngine}

#: Maximum number of unjudged topics that are listed.
_MAX_LISTED = 100


@dataclass(frozen=True, eq=False)
class JudgedTopics(Mergeable):
    """Runs on some topics.

    It has the rankings of each run on judged topics, the number of unjudged topics, and the names
    of the first of these.
    """

    rankings: Mapping[str, JudgedRankings]
    n_unjudged: Mapping[str, int]
    unjudged_names: Mapping[str, tuple[str, ...]]

    def __add__(self, other: JudgedTopics) -> JudgedTopics:
        rankings = {**self.rankings, **other.rankings}
        for name in self.rankings.keys() & other.rankings.keys():
            rankings[name] = self.rankings[name] + other.rankings[name]
        unjudged = {name: value + other.n_unjudged[name] for name, value in self.n_unjudged.items()}
        names = {
            name: _first_names(value + other.unjudged_names[name])
            for name, value in self.unjudged_names.items()
        }
        return JudgedTopics(rankings, unjudged, names)


def _first_names(names: Sequence[str]) -> tuple[str, ...]:
    return tuple(sorted(names)[:_MAX_LISTED])


@dataclass(frozen=True)
class _JudgeBatch:
    """Function that judges the runs on the topics of a batch.

    The batch has the rows of judgments and all runs; ``source`` is 0 for a judgment, else the
    number of the run.
    """

    run_names: tuple[str, ...]
    #: Kind of the values of each run: score or rank.
    value_kinds: tuple[str, ...]
    is_float32: bool
    order: str

    def __call__(self, batch: Batch) -> JudgedTopics:
        """Judge the runs on the topics of a batch."""
        import pyarrow.compute as pc

        for message in pc.unique(batch.columns["error"]).to_pylist():
            if message:
                raise InputError(message)
        try:
            return self._judge(batch)
        except InputError as error:
            raise InputError(f"{batch.origin}: {error}") from None

    def _judge(self, batch: Batch) -> JudgedTopics:
        import pyarrow as pa
        import pyarrow.compute as pc

        rows = pa.table(batch.columns)
        source_rows = [
            rows.filter(pc.equal(rows["source"], k)) for k in range(len(self.run_names) + 1)
        ]
        source_tables = [
            pa.table({"topic": table["topic"], "doc": table["doc"], value_name: table["value"]})
            for table, value_name in zip(source_rows, ("grade", *self.value_kinds), strict=True)
        ]
        if not source_tables[0].num_rows:
            topics_by_run = {
                name: pc.unique(table["topic"]).to_pylist()
                for name, table in zip(self.run_names, source_tables[1:], strict=True)
            }
            counts = {name: len(table) for name, table in topics_by_run.items()}
            return JudgedTopics(
                {}, counts, {name: _first_names(table) for name, table in topics_by_run.items()}
            )
        qrels = trec.read_qrels(source_tables[0])
        # The core does not accept an empty run, so one gets an unjudged topic.
        unjudged_topic = max(qrels.topics) + "."
        rankings, n_unjudged, unjudged_names = {}, {}, {}
        for name, table in zip(self.run_names, source_tables[1:], strict=True):
            if table.num_rows:
                run = trec.read_run(name, table, qrels, float32=self.is_float32, order=self.order)
            else:
                run = trec.read_run(name, {unjudged_topic: {"": 0.0}}, qrels)
            rankings[name] = JudgedRankings(**run.arrays)
            n_unjudged[name] = run.unjudged_topics if table.num_rows else 0
            unjudged_names[name] = _first_names(run.unjudged_topic_names) if table.num_rows else ()
        return JudgedTopics(rankings, n_unjudged, unjudged_names)


def judge_runs(
    kind: str,
    qrels: Any,
    runs: Mapping[str, Any],
    statistic_types: set[type],
    *,
    float32: bool,
    order: str,
    engine_reads_paths: bool,
) -> tuple[dict[str, trec.Run], dict[str, Any], trec.InputOrigin]:
    """Judge runs, and return them as :func:`~calipers.data.trec.read_runs`, with statistics.

    ``statistic_types`` are the types of the statistics. Ranks of the runs are checked if ``order``
    is ``"rank"``, without notes on them. If some inputs are data frames of the
    engine, the others may be of any readable form; ``engine_reads_paths`` states that the engine
    reads paths, rather than this process.
    """
    if statistic_types != {JudgedRankings}:
        raise InputError(
            "measures of judgments in groups or by stratum, and of several rankings of a topic, "
            f"take judgments and runs in memory, and not engine={kind!r}"
        )
    engine_type = _ENGINE_TYPES[kind]
    inputs = {"qrels": qrels, **{f"run {name}": run for name, run in runs.items()}}
    session = engine_type.get_session([item for item in inputs.values() if is_spark(item)])
    sources = []
    for index, ((_, source), name) in enumerate(zip(inputs.items(), ("qrels", *runs), strict=True)):
        sources.append(
            _Source.from_object(
                engine_type,
                session,
                name,
                source,
                index,
                order=order,
                engine_reads_paths=engine_reads_paths,
            )
        )
    rows = sources[0].rows.concat([item.rows for item in sources[1:]], "the runs and judgments")
    value_kinds = tuple(item.value_kind for item in sources[1:])
    judged_topics = rows.group_batches("topic").reduce(
        _JudgeBatch(tuple(runs), value_kinds, float32, order), rows.column_names
    )
    if not judged_topics.rankings:
        raise InputError("qrels: there are no judgments")
    rankings = {name: judged_topics.rankings[name] for name in runs}
    origins = [item.origin for item in sources]
    run_by_name = {
        name: trec.Run(
            item._field_values(),
            judged_topics.n_unjudged[name],
            judged_topics.unjudged_names[name],
            None,
            origin,
        )
        for (name, item), origin in zip(rankings.items(), origins[1:], strict=True)
    }
    systems = {name: {JudgedRankings: item} for name, item in rankings.items()}
    return run_by_name, systems, origins[0]


@dataclass(frozen=True, eq=False)
class _Source:
    """Topics, documents and values of the judgments or of a run, and their origin.

    ``value_kind`` is the kind of value: grade, score or rank.
    """

    rows: RemoteEngine
    value_kind: str
    origin: trec.InputOrigin

    @classmethod
    def from_object(
        cls,
        engine_type: type[RemoteEngine],
        session: Any,
        name: str,
        data: Any,
        index: int,
        *,
        order: str,
        engine_reads_paths: bool,
    ) -> _Source:
        """Create the source from any input, given its index among all inputs."""
        kind: Kind = "run" if index else "qrels"
        by_rank = kind == "run" and order == RANK
        error_column: dict[str, str] = {}
        origin = trec.InputOrigin(name)
        if is_spark(data) or is_dask(data):
            rows = engine_type.from_source(data, session)
        elif engine_reads_paths and _is_path(data):
            path = os.fspath(data)
            origin = trec.InputOrigin(name, path)
            if _is_text(path):
                value_column = RANK if by_rank else _VALUE_COLUMN[kind]
                lines = TextTask(
                    partial(_parse_lines, kind, value_column),
                    ("topic", "doc", "error"),
                    value_column,
                )
                rows, error_column = (
                    engine_type.from_lines(path, lines, session),
                    {"error": "error"},
                )
            else:
                rows = engine_type.from_source(path, session, (*TOPIC, *DOCUMENT))
        else:
            if by_rank:
                import pyarrow.compute as pc

                # Its scores, made from the ranks, serve as ranks of the batches.
                table, origin, _ = trec.read_ordered_run(name, data, order)
                ranks = pc.negate(table["score"])
                table = table.drop_columns(["score"]).append_column(RANK, ranks)
            else:
                table, origin = trec.read_rows(name, data, kind)
            for column in ("topic", "doc"):
                column_index = table.column_names.index(column)
                table = table.set_column(column_index, column, table[column].cast("large_string"))
            rows = engine_type.from_table(table, session)
        topic, document, value = _find_columns(name, rows, kind, by_rank=by_rank)
        constants: dict[str, Any] = {"source": index, **({} if error_column else {"error": ""})}
        selected = rows.project_columns(
            {"topic": topic, "doc": document, **error_column}, {"value": value}, constants
        )
        value_name = "grade" if kind == "qrels" else "rank" if value == "rank" else "score"
        return cls(selected, value_name, origin)


#: Name of the column of values of lines of text.
_VALUE_COLUMN: Mapping[Kind, str] = {"qrels": "grade", "run": "score"}


def _is_path(value: Any) -> bool:
    """Return whether this is the path of a file that a cluster can read."""
    if not isinstance(value, str | os.PathLike):
        return False
    path = os.fspath(value)
    return path != STDIN and not path.startswith(PREFIX)


def _is_text(path: str) -> bool:
    """Return whether the path is TREC text: it has an extension, and not one of a table."""
    suffix, _ = tables.file_extension(path.rstrip("/"))
    table_suffixes = {*tables.TEXT_FORMATS, *tables.BINARY_FORMATS, ".json"}
    return bool(suffix) and suffix not in table_suffixes and not path.endswith("/")


def _find_columns(
    name: str, rows: RemoteEngine, kind: Kind, *, by_rank: bool
) -> tuple[str, str, str]:
    """Find the columns of topics, documents and values, and check their types."""
    import pyarrow.types as of_type

    if kind == "run" and is_unordered(rows.column_names):
        raise InputError(f"{name}: holds no scores, but topics and documents alone")
    names = rows.column_names
    if by_rank:
        if RANK not in names:
            raise InputError(f"{name}: order='rank': there is no column 'rank'")
        names = tuple(column for column in names if column not in SCORE)
    try:
        topic, document, value = find_columns(names, kind)
    except InputError as error:
        raise InputError(f"{name}: {error}") from None
    # The type of objects of pandas may be unknown.
    text_tests = of_type.is_string, of_type.is_large_string, of_type.is_integer, of_type.is_null
    number_tests = of_type.is_integer, of_type.is_floating, of_type.is_decimal
    for column, type_tests, expected in (
        (topic, text_tests, "text or whole numbers"),
        (document, text_tests, "text or whole numbers"),
        (value, number_tests, "numbers"),
    ):
        data_type = rows.schema.field(column).type
        if not any(is_such(data_type) for is_such in type_tests):
            raise InputError(
                f"{name}: column {column!r} is of type {data_type}, expected {expected}"
            )
    return topic, document, value


def _parse_lines(
    kind: Kind, value: str, location: str, first_line: int, text: bytes
) -> pa.RecordBatch:
    """Parse lines of TREC text into topics, documents and values.

    They are parsed as a file is; the column ``error`` has the first error, if any.
    """
    import pyarrow as pa

    names = "topic", "doc", "error", value
    types = pa.string(), pa.string(), pa.string(), pa.float64()
    if not text.strip():
        return pa.record_batch([pa.array([], item) for item in types], names)
    with tempfile.NamedTemporaryFile() as file:
        file.write(text)
        file.flush()
        try:
            rows = _core.read_rows(file.name, kind)
            ids = [to_large_binary(*rows[name]).cast(pa.string()) for name in ("topic", "doc")]
            values = rows[value]
            if value == RANK:
                ranks = pa.chunked_array([to_large_binary(*values)])
                values = parse_ranks(ranks, lambda row: f"{file.name}:{rows['line'][row]}")
        except pa.ArrowInvalid:
            message = f"{location}: has bytes that are not UTF-8, which requires engine='memory'"
        except ValueError as error:
            line_pattern = re.compile(re.escape(file.name) + r":(\d+)")
            message_with_line = line_pattern.sub(
                lambda match: f"{location}, line {int(match[1]) + first_line - 1}", str(error)
            )
            message = message_with_line.replace(file.name, location)
        else:
            no_error = pa.array([""] * len(values), pa.string())
            return pa.record_batch([*ids, no_error, pa.array(values, pa.float64())], names)
    error_row = [
        pa.array([item], kind) for item, kind in zip(("", "", message, 0.0), types, strict=True)
    ]
    return pa.record_batch(error_row, names)
