"""Evaluation of distributed runs and judgments: each topic is judged on the worker that has it."""

from __future__ import annotations

import os
import re
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from calipers import _core
from calipers.data import tables, trec
from calipers.data.byte_sources import STDIN
from calipers.data.distributed_frames import is_dask, is_spark
from calipers.data.errors import InputError
from calipers.data.ir_datasets import PREFIX
from calipers.data.trec_tables import (
    DOCUMENT,
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
from calipers.statistics import JudgedRankings

if TYPE_CHECKING:
    import pyarrow as pa

    from calipers.data.streams import Batch

#: The engines by their names.
_HOMES: Mapping[str, type[RemoteEngine]] = {"spark": SparkEngine, "dask": DaskEngine}

#: So many topics that nobody judged are told by their names.
_NAMED = 100


@dataclass(frozen=True, eq=False)
class JudgedTopics(Mergeable):
    """Runs on some topics.

    It has the rankings of each run on judged topics, the number of unjudged topics, and the names
    of the first of these.
    """

    rankings: Mapping[str, JudgedRankings]
    unjudged: Mapping[str, int]
    names: Mapping[str, tuple[str, ...]]

    def __add__(self, other: JudgedTopics) -> JudgedTopics:
        rankings = {**self.rankings, **other.rankings}
        for name in self.rankings.keys() & other.rankings.keys():
            rankings[name] = self.rankings[name] + other.rankings[name]
        unjudged = {name: of + other.unjudged[name] for name, of in self.unjudged.items()}
        names = {name: _first_names(of + other.names[name]) for name, of in self.names.items()}
        return JudgedTopics(rankings, unjudged, names)


def _first_names(names: Sequence[str]) -> tuple[str, ...]:
    return tuple(sorted(names)[:_NAMED])


@dataclass(frozen=True)
class _JudgeBatch:
    """Function that judges the runs on the topics of a batch.

    The batch has the rows of judgments and all runs; ``source`` is 0 for a judgment, else the
    number of the run.
    """

    runs: tuple[str, ...]
    #: What the values of each run are: scores or ranks.
    values: tuple[str, ...]
    is_float32: bool

    def __call__(self, batch: Batch) -> JudgedTopics:
        """Judge the runs on the topics of a batch."""
        import pyarrow.compute as pc

        for wrong in pc.unique(batch.columns["wrong"]).to_pylist():
            if wrong:
                raise InputError(wrong)
        try:
            return self._judge(batch)
        except InputError as error:
            raise InputError(f"{batch.where}: {error}") from None

    def _judge(self, batch: Batch) -> JudgedTopics:
        import pyarrow as pa
        import pyarrow.compute as pc

        rows = pa.table(batch.columns)
        own = [rows.filter(pc.equal(rows["source"], k)) for k in range(len(self.runs) + 1)]
        tables = [
            pa.table({"topic": of["topic"], "doc": of["doc"], called: of["value"]})
            for of, called in zip(own, ("grade", *self.values), strict=True)
        ]
        if not tables[0].num_rows:
            alone = {
                name: pc.unique(of["topic"]).to_pylist()
                for name, of in zip(self.runs, tables[1:], strict=True)
            }
            counts = {name: len(of) for name, of in alone.items()}
            return JudgedTopics({}, counts, {name: _first_names(of) for name, of in alone.items()})
        qrels = trec.read_qrels(tables[0])
        # A run has to hold something: where it retrieves nothing here, a topic that nobody judged.
        other = max(qrels.topics) + "."
        rankings, unjudged, names = {}, {}, {}
        for name, of in zip(self.runs, tables[1:], strict=True):
            held = of if of.num_rows else {other: {"": 0.0}}
            run = trec.read_run(name, held, qrels, float32=self.is_float32)
            rankings[name] = JudgedRankings(**run.arrays)
            unjudged[name] = run.unjudged_topics if of.num_rows else 0
            names[name] = _first_names(run.unjudged_topic_names) if of.num_rows else ()
        return JudgedTopics(rankings, unjudged, names)


def judge_runs(
    kind: str, qrels: Any, runs: Mapping[str, Any], wanted: set[type], *, float32: bool, paths: bool
) -> tuple[dict[str, trec.Run], dict[str, Any], trec.InputOrigin]:
    """Judge runs, and return them as :func:`~calipers.data.trec.read_runs`, with statistics.

    ``wanted`` are the types of the statistics. If some inputs are data frames of the engine, the
    others may be of any readable form; ``paths`` states that the engine reads paths, rather than
    this process.
    """
    if wanted != {JudgedRankings}:
        raise InputError(
            "measures of judgments in groups or by stratum take judgments and runs in memory, and "
            f"not engine={kind!r}"
        )
    home = _HOMES[kind]
    given = {"qrels": qrels, **{f"run {name}": run for name, run in runs.items()}}
    session = home.session([of for of in given.values() if is_spark(of)])
    sources = []
    for place, ((_, source), name) in enumerate(zip(given.items(), ("qrels", *runs), strict=True)):
        sources.append(_Source.from_object(home, session, name, source, place, paths=paths))
    rows = sources[0].rows.concat([of.rows for of in sources[1:]], "the runs and judgments")
    values = tuple(of.value for of in sources[1:])
    found = rows.group_batches("topic").reduce(
        _JudgeBatch(tuple(runs), values, float32), rows.names
    )
    if not found.rankings:
        raise InputError("qrels: there are no judgments")
    rankings = {name: found.rankings[name] for name in runs}
    origins = [of.origin for of in sources]
    read = {
        name: trec.Run(of._parts(), found.unjudged[name], found.names[name], None, origin)
        for (name, of), origin in zip(rankings.items(), origins[1:], strict=True)
    }
    systems = {name: {JudgedRankings: of} for name, of in rankings.items()}
    return read, systems, origins[0]


@dataclass(frozen=True, eq=False)
class _Source:
    """Topics, documents and values of the judgments or of a run, and their origin.

    ``value`` is the kind of value: grade, score or rank.
    """

    rows: RemoteEngine
    value: str
    origin: trec.InputOrigin

    @classmethod
    def from_object(
        cls,
        home: type[RemoteEngine],
        session: Any,
        name: str,
        given: Any,
        place: int,
        *,
        paths: bool,
    ) -> _Source:
        """Create the source from any input, given its index among all inputs."""
        kind: Kind = "run" if place else "qrels"
        wrong: dict[str, str] = {}
        origin = trec.InputOrigin(name)
        if is_spark(given) or is_dask(given):
            rows = home.from_source(given, session)
        elif paths and _is_path(given):
            path = os.fspath(given)
            origin = trec.InputOrigin(name, path)
            if _is_text(path):
                lines = TextTask(partial(_lines, kind), ("topic", "doc", "wrong"), _VALUE[kind])
                rows, wrong = home.from_lines(path, lines, session), {"wrong": "wrong"}
            else:
                rows = home.from_source(path, session, (*TOPIC, *DOCUMENT))
        else:
            table, origin = trec.read_rows(name, given, kind)
            for column in ("topic", "doc"):
                at = table.column_names.index(column)
                table = table.set_column(at, column, table[column].cast("large_string"))
            rows = home.from_table(table, session)
        topic, document, value = _columns(name, rows, kind)
        also: dict[str, Any] = {"source": place, **({} if wrong else {"wrong": ""})}
        made = rows.select_columns(
            {"topic": topic, "doc": document, **wrong}, {"value": value}, also
        )
        called = "grade" if kind == "qrels" else "rank" if value == "rank" else "score"
        return cls(made, called, origin)


#: What the column of values is called, of lines of text.
_VALUE: Mapping[Kind, str] = {"qrels": "grade", "run": "score"}


def _is_path(given: Any) -> bool:
    """Return whether this is the path of a file that a cluster can read."""
    if not isinstance(given, str | os.PathLike):
        return False
    path = os.fspath(given)
    return path != STDIN and not path.startswith(PREFIX)


def _is_text(path: str) -> bool:
    """Return whether the path is TREC text: it has an extension, and not one of a table."""
    suffix, _ = tables.file_extension(path.rstrip("/"))
    known = {*tables.TEXTS, *tables.BINARIES, ".json"}
    return bool(suffix) and suffix not in known and not path.endswith("/")


def _columns(name: str, rows: RemoteEngine, kind: Kind) -> tuple[str, str, str]:
    """Find the columns of topics, documents and values, and check their types."""
    import pyarrow.types as of_type

    if kind == "run" and is_unordered(rows.names):
        raise InputError(f"{name}: holds no scores, but topics and documents alone")
    try:
        topic, document, value = find_columns(rows.names, kind)
    except InputError as error:
        raise InputError(f"{name}: {error}") from None
    # pandas may not say what its objects are.
    text = of_type.is_string, of_type.is_large_string, of_type.is_integer, of_type.is_null
    number = of_type.is_integer, of_type.is_floating, of_type.is_decimal
    for column, kinds, expected in (
        (topic, text, "text or whole numbers"),
        (document, text, "text or whole numbers"),
        (value, number, "numbers"),
    ):
        found = rows.schema.field(column).type
        if not any(is_such(found) for is_such in kinds):
            raise InputError(f"{name}: column {column!r} is of type {found}, expected {expected}")
    return topic, document, value


def _lines(kind: Kind, where: str, first: int, text: bytes) -> pa.RecordBatch:
    """Parse lines of TREC text into topics, documents and values.

    They are parsed as a file is; the column ``wrong`` has the first error, if any.
    """
    import pyarrow as pa

    value = _VALUE[kind]
    names = "topic", "doc", "wrong", value
    kinds = pa.string(), pa.string(), pa.string(), pa.float64()
    if not text.strip():
        return pa.record_batch([pa.array([], of) for of in kinds], names)
    with tempfile.NamedTemporaryFile() as file:
        file.write(text)
        file.flush()
        try:
            rows = _core.read_rows(file.name, kind)
            ids = [to_large_binary(*rows[name]).cast(pa.string()) for name in ("topic", "doc")]
        except pa.ArrowInvalid:
            wrong = f"{where}: has bytes that are no UTF-8, which takes engine='memory'"
        except ValueError as error:
            told = re.compile(re.escape(file.name) + r":(\d+)")
            line = told.sub(lambda found: f"{where}, line {int(found[1]) + first - 1}", str(error))
            wrong = line.replace(file.name, where)
        else:
            none = pa.array([""] * len(rows[value]), pa.string())
            return pa.record_batch([*ids, none, pa.array(rows[value], pa.float64())], names)
    one = [pa.array([of], kind) for of, kind in zip(("", "", wrong, 0.0), kinds, strict=True)]
    return pa.record_batch(one, names)
