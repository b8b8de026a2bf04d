"""Runs and judgments in data frames of Spark: each topic is judged whole, wherever it lies."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from calipers.data import trec
from calipers.data.errors import InputError
from calipers.data.frames import is_spark
from calipers.data.trec_tables import Kind, find_columns, is_unordered
from calipers.engines.base import Partial
from calipers.engines.spark import Spark
from calipers.statistics import JudgedRankings

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from calipers.data.streams import Batch

#: So many topics that nobody judged are told by their names.
_NAMED = 100


@dataclass(frozen=True, eq=False)
class Judged(Partial):
    """The runs on some topics: the rankings of each where topics are judged, how many topics are
    not, and the first of these."""

    rankings: Mapping[str, JudgedRankings]
    unjudged: Mapping[str, int]
    names: Mapping[str, tuple[str, ...]]

    def __add__(self, other: Judged) -> Judged:
        rankings = {**self.rankings, **other.rankings}
        for name in self.rankings.keys() & other.rankings.keys():
            rankings[name] = self.rankings[name] + other.rankings[name]
        unjudged = {name: of + other.unjudged[name] for name, of in self.unjudged.items()}
        names = {name: _first(of + other.names[name]) for name, of in self.names.items()}
        return Judged(rankings, unjudged, names)


def _first(names: Sequence[str]) -> tuple[str, ...]:
    return tuple(sorted(names)[:_NAMED])


@dataclass(frozen=True)
class _Judge:
    """Judges the runs on the topics of a batch. Its rows are those of all of them; ``source`` is 0
    of a judgment and else tells the run."""

    runs: tuple[str, ...]
    #: What the values of each run are: scores or ranks.
    values: tuple[str, ...]
    float32: bool

    def __call__(self, batch: Batch) -> Judged:
        """Of a batch."""
        try:
            return self._judged(batch)
        except InputError as error:
            raise InputError(f"{batch.where}: {error}") from None

    def _judged(self, batch: Batch) -> Judged:
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
            return Judged({}, counts, {name: _first(of) for name, of in alone.items()})
        qrels = trec.read_qrels(tables[0])
        # A run has to hold something: where it retrieves nothing here, a topic that nobody judged.
        other = max(qrels.topics) + "."
        rankings, unjudged, names = {}, {}, {}
        for name, of in zip(self.runs, tables[1:], strict=True):
            held = of if of.num_rows else {other: {"": 0.0}}
            run = trec.read_run(name, held, qrels, float32=self.float32)
            rankings[name] = JudgedRankings(**run.arrays)
            unjudged[name] = run.unjudged_topics if of.num_rows else 0
            names[name] = _first(run.unjudged_topic_names) if of.num_rows else ()
        return Judged(rankings, unjudged, names)


def judged(
    qrels: Any, runs: Mapping[str, Any], wanted: set[type], *, float32: bool
) -> tuple[dict[str, trec.Run], dict[str, Any], trec.Origin]:
    """The runs as the judgments see them, as :func:`~calipers.data.trec.read_runs` has them, and
    their statistics, which are ``wanted``. Where some are data frames of Spark, the others may be
    anything that can be read."""
    if wanted != {JudgedRankings}:
        raise InputError(
            "measures of judgments in groups or by stratum take judgments and runs in memory, and "
            "not data frames of Spark"
        )
    session = next(of.sparkSession for of in (qrels, *runs.values()) if is_spark(of))
    rows, _ = _rows(session, "qrels", qrels, "qrels", 0)
    values = []
    for place, (name, run) in enumerate(runs.items(), 1):
        more, value = _rows(session, name, run, "run", place)
        rows = rows.unionByName(more)
        values.append(value)
    engine = Spark.whole(rows, "topic", "the runs and judgments")
    found = engine.reduce(_Judge(tuple(runs), tuple(values), float32), engine.names)
    if not found.rankings:
        raise InputError("qrels: there are no judgments")
    rankings = {name: found.rankings[name] for name in runs}
    read = {
        name: trec.Run(
            of._parts(), found.unjudged[name], found.names[name], None, trec.Origin(name)
        )
        for name, of in rankings.items()
    }
    systems = {name: {JudgedRankings: of} for name, of in rankings.items()}
    return read, systems, trec.Origin("qrels")


def _rows(
    session: SparkSession, name: str, given: Any, kind: Kind, place: int
) -> tuple[DataFrame, str]:
    """Topics, documents and values of a source, and what its values are."""
    from pyspark.sql import functions as f
    from pyspark.sql.types import IntegralType, NumericType, StringType

    if not is_spark(given):
        table, _ = trec.read_rows(name, given, kind)
        texts = {of: table[of].cast("large_string") for of in ("topic", "doc")}
        for of, column in texts.items():
            table = table.set_column(table.column_names.index(of), of, column)
        given = session.createDataFrame(table)
    names = tuple(given.columns)
    if kind == "run" and is_unordered(names):
        raise InputError(f"{name}: holds no scores, but topics and documents alone")
    try:
        topic, document, value = find_columns(names, kind)
    except InputError as error:
        raise InputError(f"{name}: {error}") from None
    for column, kinds, expected in (
        (topic, (StringType, IntegralType), "text or whole numbers"),
        (document, (StringType, IntegralType), "text or whole numbers"),
        (value, (NumericType,), "numbers"),
    ):
        found = given.schema[column].dataType
        if not isinstance(found, kinds):
            told = found.simpleString()
            raise InputError(f"{name}: column {column!r} is of type {told}, expected {expected}")
    chosen = given.select(
        f.lit(place).alias("source"),
        given[topic].cast("string").alias("topic"),
        given[document].cast("string").alias("doc"),
        given[value].cast("double").alias("value"),
    )
    return chosen, "grade" if kind == "qrels" else "rank" if value == "rank" else "score"
