"""Spark engine: sessions, and partitions that are processed by the workers that hold them."""

from __future__ import annotations

import os
import re
import shlex
import socket
import sys
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import groupby, pairwise
from threading import Event, Thread
from typing import TYPE_CHECKING, Any

from calipers.caching import cached_property
from calipers.data.distributed_frames import is_spark
from calipers.data.errors import InputError
from calipers.engines import remote
from calipers.engines.base import P, identity
from calipers.engines.remote import (
    MergeTask,
    PartitionResult,
    PartitionTask,
    RemoteEngine,
    TextTask,
    check_unique,
    resolve_paths,
    table_kind,
)
from calipers.extras import install_command
from calipers.progress import track_counter

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import Column, DataFrame, SparkSession


#: Maximum number of tasks that probe workers.
_MAX_SLOTS = 512
#: Number of tasks that probe workers if the number of workers is unknown.
_DEFAULT_SLOTS = 32
#: Seconds that each of these tasks sleeps, so that every worker process gets one.
_PROBE_SECONDS = 0.3
#: Ports of a master and of a Connect server by default, and seconds that each may take to answer.
_DEFAULT_PORTS, _CONNECT_SECONDS = {"spark": 7077, "sc": 15002}, 5.0
#: Sessions whose workers have been checked, by the ids of their applications.
_CHECKED_APPLICATIONS: set[str] = set()


def get_session(master: str | None = None) -> SparkSession:
    """Return the active Spark session, or create one.

    Parameters
    ----------
    master : str, optional
        Master (``local[4]``, ``spark://…``, ``yarn``) or Spark Connect server (``sc://…``). By
        default the active session is used.

    Returns
    -------
    SparkSession
        Session.

    Raises
    ------
    InputError
        If PySpark is not installed, or Spark could not be started.
    """
    try:
        from pyspark.sql import SparkSession
    except ImportError:
        raise InputError(f"engine='spark' requires PySpark 4: {install_command('spark')}") from None
    active = SparkSession.getActiveSession()
    if active is not None and master is None:
        return active
    builder = SparkSession.builder.appName("calipers")
    if master is not None:
        _check_reachable(master)
        builder = builder.remote(master) if master.startswith("sc://") else builder.master(master)
    with _own_python(master) as options:
        try:
            session = builder.config(map=options).getOrCreate()
        except Exception as error:
            # There may be no Java, no such server, or no package that Spark needs.
            raise InputError(
                f"Spark could not be started: {remote.first_message(error)}"
            ) from error
    if options and active is None and session.conf.get("spark.master", "").startswith("local"):
        _CHECKED_APPLICATIONS.add(
            _application_id(session)
        )  # whose workers run this Python, with this Calipers
    return session


def _check_reachable(master: str) -> None:
    """Check that a host of a master (``spark://…``) or a Connect server (``sc://…``) answers.

    Spark itself tries for more than a minute, and does not say which address was wrong.
    """
    match = re.match(r"(spark|sc)://([^/;]+)", master)
    if match is None:
        return
    causes = []
    for address in match[2].split(","):
        host, port = address, str(_DEFAULT_PORTS[match[1]])
        if with_port := re.fullmatch(r"(.*):(\d+)", address):
            host, port = with_port[1], with_port[2]
        try:
            socket.create_connection((host.strip("[]"), int(port)), _CONNECT_SECONDS).close()
        except (OSError, ValueError, OverflowError) as error:
            causes.append(f"{address}: {getattr(error, 'strerror', None) or error}")
        else:
            return
    raise InputError(f"Spark could not be started: {master} does not answer ({'; '.join(causes)})")


@contextmanager
def _own_python(master: str | None) -> Iterator[dict[str, Any]]:
    """Yield the options of a new session, with the environment set while it starts.

    On this machine, workers run the current Python rather than the first ``python3`` of the path,
    which may lack Calipers. A Python that the user has configured is respected.
    """
    arguments = os.environ.get("PYSPARK_SUBMIT_ARGS", "")
    # They are set if a server or spark-submit is already running.
    running_variables = ("SPARK_REMOTE", "SPARK_CONNECT_MODE_ENABLED", "PYSPARK_GATEWAY_PORT")
    target_master = master or _find_master(arguments) or os.environ.get("MASTER") or "local"
    is_local = target_master.startswith("local") and (
        master or not any(map(os.environ.get, running_variables))
    )
    is_configured = "PYSPARK_PYTHON" in os.environ or "spark.pyspark.python" in arguments
    if not is_local or is_configured:
        yield {}
        return
    executable = sys.executable
    # PySpark reads the variable, the Java side the options.
    os.environ["PYSPARK_PYTHON"] = executable
    try:
        yield {"spark.pyspark.python": executable, "spark.pyspark.driver.python": executable}
    finally:
        del os.environ["PYSPARK_PYTHON"]


def _find_master(arguments: str) -> str:
    """Return the master named by the arguments of spark-submit."""
    try:
        words = shlex.split(arguments)
    except ValueError:  # an open quotation, which PySpark reports
        return ""
    masters = [second for first, second in pairwise(words) if first == "--master"]
    masters += [word.partition("=")[2] for word in words if word.startswith("--master=")]
    return masters[0] if masters else ""


def check_workers(session: SparkSession) -> None:
    """Check once for each session that Spark's workers are compatible with this process.

    Raises
    ------
    InputError
        If a worker has no Calipers, or another version of Calipers or Python.
    """
    application = _application_id(session)
    if application in _CHECKED_APPLICATIONS:
        return
    n_checked = 0
    # A cluster that has just started may have more workers after the first check.
    while (slots := _n_task_slots(session)) > n_checked:
        task = _make_probe_task(remote.make_worker_probe(), _PROBE_SECONDS if slots > 1 else 0)
        try:
            answers = session.range(0, slots, 1, slots).mapInArrow(task, _WORKER_SCHEMA).toArrow()
        except Exception as error:
            # There may be no such program, another version of Python, or no Arrow.
            raise InputError(
                f"Spark's workers {_failure_reason(error)}; {remote.remedy('Spark')}"
            ) from error
        remote.check_workers("Spark", (remote.Worker(**answer) for answer in answers.to_pylist()))
        n_checked = slots
    _CHECKED_APPLICATIONS.add(application)


def _application_id(session: SparkSession) -> str:
    return session.conf.get("spark.app.id", "") or str(id(session))


def _n_task_slots(session: SparkSession) -> int:
    """Return the number of tasks that may run at a time, as far as known, within a limit."""
    context = getattr(session, "_sc", None)
    return (
        _DEFAULT_SLOTS if context is None else max(1, min(context.defaultParallelism, _MAX_SLOTS))
    )


@contextmanager
def _explain_failure(name: str) -> Iterator[None]:
    """Explain the errors of Spark, except those that are raised while rows are processed.

    A worker without Calipers may have been added after the check, workers may end again and again,
    as for lack of memory, and so may the process of the driver.
    """
    try:
        yield
    except InputError:
        raise
    except Exception as error:
        if "No module named 'calipers" in str(error):
            message = (
                f"Calipers is not installed on one of Spark's workers; {remote.remedy('Spark')}"
            )
            raise InputError(message) from error
        is_of_spark = type(error).__module__.startswith(("pyspark", "py4j"))
        if type(error).__name__ == "PythonException" or not (
            is_of_spark or isinstance(error, ConnectionError)
        ):
            raise
        reason = remote.first_message(error)
        raise InputError(f"{name}: Spark could not finish: {reason}") from error


#: Fields of the information on a worker.
_WORKER_SCHEMA = ", ".join(f"{name} string" for name in remote.Worker._fields)


def _make_probe_task(
    probe: Callable[[], tuple[str, ...]], seconds: float
) -> Callable[[Iterable[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    """Return a function for ``mapInArrow`` that probes the worker that runs it, after a sleep."""
    names = list(remote.Worker._fields)

    def run(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        import time

        import pyarrow as pa

        for _ in batches:
            time.sleep(seconds)
            yield pa.record_batch([pa.array([value], pa.string()) for value in probe()], names)

    return run


def _failure_reason(error: Exception) -> str:
    """Return the reason why workers cannot run Python, in Spark's words."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    for line in lines:
        if "PYTHON_VERSION_MISMATCH" in line:
            reason = line.partition("] ")[2] or line
            return f"have another version of Python than this process: {reason}"
        if "Cannot run program" in line:
            return f"cannot start Python: {line[line.index('Cannot run program') :]}"
        if "ModuleNotFoundError" in line or "ImportError" in line:
            return f"lack a required package: {line}"
    return f"cannot run Python: {remote.first_message(error)}"


#: Columns of results in transit: the id of a partition (later of a group of partitions), the index
#: of a piece of its result, the data of this piece, and the error in the partition, if any.
_RESULT_SCHEMA = "partition_id long, piece int, data binary, error string"
#: Bytes of a piece. A batch of Arrow may have 10,000 rows, and no more than 2 GiB.
_PIECE_BYTES = 1 << 17
#: Number of results that one worker merges; this is repeated until no more than this are left.
_MERGE_FAN_IN = 32
#: Number of bytes up to which results are merged in this process.
_MAX_LOCAL_BYTES = 1 << 26
#: Seconds between two queries of the progress of Spark.
_POLL_SECONDS = 1.0


class SparkEngine(RemoteEngine):
    """Engine of a Spark data frame.

    Parameters
    ----------
    frame : pyspark.sql.DataFrame
        Rows.
    name : str, default='the data frame'
        Name of the rows in messages and provenance.
    files : sequence of str
        Files that the rows come from.
    group_column : str, optional
        Column whose equal values must be in the same batch.
    """

    kind = "spark"

    def __init__(
        self,
        frame: DataFrame,
        name: str = "the data frame",
        files: Sequence[str] = (),
        group_column: str | None = None,
    ) -> None:
        check_workers(frame.sparkSession)
        self.frame, self.name, self.files, self._group_column = (
            frame,
            name,
            tuple(files),
            group_column,
        )
        self.column_names = tuple(frame.columns)
        check_unique(name, self.column_names)
        if frame.isStreaming:
            raise InputError(f"{name}: is a streaming data frame; expected a static one")

    @classmethod
    def get_session(cls, frames: Sequence[Any]) -> SparkSession:
        """Return the session of a data frame, else the active one or a new one."""
        return next((frame.sparkSession for frame in frames), None) or get_session()

    @classmethod
    def from_source(
        cls, source: Any, session: SparkSession | None = None, text_columns: Collection[str] = ()
    ) -> SparkEngine:
        """Create an engine from a data frame, or from the tables at some paths.

        Parameters
        ----------
        source : data frame, path, or list of path
            Spark data frame; path of Parquet, CSV, TSV or JSON Lines, a pattern or a directory (of
            Parquet) that the cluster can read; or a list of paths.
        session : SparkSession, optional
            Session that reads paths. By default the active session, or a new one.
        text_columns : collection of str
            Columns of CSV that are read as text, whatever their values.

        Returns
        -------
        SparkEngine
            Engine of these rows.

        Raises
        ------
        InputError
            If PySpark is not installed, or cannot read the input.
        """
        if is_spark(source):
            return cls(source)
        files, name = resolve_paths(source, "Spark")
        session = session or get_session()
        check_workers(session)  # before they read anything
        return cls(_read_tables(session, files, name, text_columns), name, files)

    @classmethod
    def from_table(cls, rows: pa.Table, session: SparkSession | None = None) -> SparkEngine:
        """Create an engine from a local table; see :meth:`RemoteEngine.from_table`."""
        return cls((session or get_session()).createDataFrame(rows))

    @classmethod
    def from_lines(
        cls, path: str, text_task: TextTask, session: SparkSession | None = None
    ) -> SparkEngine:
        """Create an engine from lines of text; see :meth:`RemoteEngine.from_lines`."""
        from pyspark.errors import AnalysisException
        from pyspark.sql.functions import col

        session = session or get_session()
        check_workers(session)
        reader = session.read.option("lineSep", "\n")
        try:
            # As bytes, because text that is not UTF-8 would be changed.
            lines = reader.text(path).select(col("value").cast("binary"))
        except AnalysisException as error:
            raise InputError(f"{path}: {str(error).splitlines()[0]}") from None
        columns = ", ".join(
            [
                *(f"{name} string" for name in text_task.text_columns),
                f"{text_task.numeric_column} double",
            ]
        )
        return cls(lines.mapInArrow(_make_line_reader(text_task, path), columns), path, [path])

    def project_columns(
        self,
        text_columns: Mapping[str, str],
        numeric_columns: Mapping[str, str],
        constants: Mapping[str, Any],
    ) -> SparkEngine:
        """Rename and cast columns, and add constants; see :meth:`RemoteEngine.project_columns`."""
        from pyspark.sql.functions import lit

        columns = [
            _column(source).cast("string").alias(name) for name, source in text_columns.items()
        ]
        columns += [
            _column(source).cast("double").alias(name) for name, source in numeric_columns.items()
        ]
        columns += [lit(value).alias(name) for name, value in constants.items()]
        return SparkEngine(self.frame.select(*columns), self.name, self.files)

    def concat(self, others: Sequence[SparkEngine], name: str) -> SparkEngine:
        """Concatenate the rows of engines; see :meth:`RemoteEngine.concat`."""
        frame = self.frame
        for engine in others:
            frame = frame.unionByName(engine.frame)
        return SparkEngine(
            frame, name, [path for engine in (self, *others) for path in engine.files]
        )

    def group_batches(self, group_column: str) -> SparkEngine:
        """Group the rows by a column; see :meth:`Engine.group_batches`."""
        column = _column(group_column)
        frame = self.frame.repartition(column).sortWithinPartitions(column)
        return SparkEngine(frame, self.name, self.files, group_column)

    @cached_property
    def schema(self) -> pa.Schema:
        """Arrow schema of the columns."""
        return self.frame.limit(0).toArrow().schema

    def reduce(
        self,
        map_batch: Callable[[Any], P],
        columns: Sequence[str] = (),
        limit_size: Callable[[P], P] = identity,
        description: str = "reading",
    ) -> P:
        """Apply a function to all batches and add the results, in the order of partition ids.

        See :meth:`Engine.reduce`.
        """
        from pyspark.sql import functions as f

        from calipers.data import streams

        task = PartitionTask(
            map_batch, limit_size, streams.BATCH_ROWS, self.name, tuple(columns), self._group_column
        )
        merge = MergeTask(limit_size, self.name)
        # Not all of Spark accepts names with any characters.
        selected = [_column(name).alias(f"c{k}") for k, name in enumerate(columns)]
        results = (
            self.frame.select(*selected).mapInArrow(_make_mapper(task), _RESULT_SCHEMA).persist()
        )
        with _explain_failure(self.name):
            try:
                with _watch_progress(self.frame.sparkSession, description):
                    sizes = _result_sizes(results)
                while len(sizes) > _MERGE_FAN_IN and sum(sizes) > _MAX_LOCAL_BYTES:
                    previous_results = results
                    group = f.floor(f.col("partition_id") / _MERGE_FAN_IN).alias("group")
                    results = (
                        results.select("*", group)
                        .repartition("group")
                        .sortWithinPartitions("group", "partition_id", "piece")
                        .mapInArrow(_make_merger(merge), _RESULT_SCHEMA)
                        .persist()
                    )
                    sizes = _result_sizes(results)
                    previous_results.unpersist()
                final_table = results.toArrow().sort_by(
                    [("partition_id", "ascending"), ("piece", "ascending")]
                )
            finally:
                results.unpersist()
        return merge.merge_all(result for _, result in _join_pieces(final_table.to_batches()))  # type: ignore[no-any-return]


def _result_sizes(results: DataFrame) -> list[int]:
    """Return the size in bytes of the result of each partition; this caches the results."""
    from pyspark.sql import functions as f

    sizes = results.groupBy("partition_id").agg(f.sum(f.length("data")).alias("bytes"))
    return [int(size) for size in sizes.toArrow()["bytes"].to_pylist()]


@contextmanager
def _watch_progress(session: SparkSession, description: str) -> Iterator[None]:
    """Report the number of completed partitions to the display of progress.

    Spark Connect servers do not provide it.
    """
    context = getattr(session, "_sc", None)
    if context is None:
        yield
        return
    tracker, is_finished = context.statusTracker(), Event()
    with track_counter(description, "partitions") as counter:

        def watch() -> None:
            while not is_finished.wait(_POLL_SECONDS):
                stage_infos = [
                    tracker.getStageInfo(stage_id) for stage_id in tracker.getActiveStageIds()
                ]
                largest_stage = max(
                    (info for info in stage_infos if info is not None), key=_n_tasks, default=None
                )
                if largest_stage is not None:
                    counter.done, counter.total = (
                        largest_stage.numCompletedTasks,
                        largest_stage.numTasks,
                    )

        thread = Thread(target=watch, daemon=True)
        thread.start()
        try:
            yield
        finally:
            is_finished.set()
            thread.join()


def _n_tasks(stage: Any) -> int:
    return int(stage.numTasks)


def _column(name: str) -> Column:
    """Return the column of this name, which may contain any characters."""
    from pyspark.sql.functions import col

    return col(_quote(name))


def _quote(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"


def _read_tables(
    session: SparkSession, files: Sequence[str], name: str, text_columns: Collection[str]
) -> DataFrame:
    """Read the tables at some paths; the extension of the paths determines their kind."""
    from pyspark.errors import AnalysisException

    kind = table_kind(files, name, "Spark")
    reader, paths = session.read, list(files)
    try:
        if kind == "parquet":
            return reader.parquet(*paths)
        if kind == "jsonl":
            return reader.json(paths)
        options = {"header": True, "inferSchema": True, "sep": "," if kind == "csv" else "\t"}
        frame = reader.options(**options).csv(paths)
        if not set(frame.columns) & set(text_columns):
            return frame
        typed_columns = [
            f"{_quote(name)} {'string' if name in text_columns else data_type}"
            for name, data_type in frame.dtypes
        ]
        return (
            reader.options(header=True, sep=options["sep"])
            .schema(", ".join(typed_columns))
            .csv(paths)
        )
    except AnalysisException as error:
        raise InputError(f"{name}: {str(error).splitlines()[0]}") from None


def _make_line_reader(
    text_task: TextTask, path: str
) -> Callable[[Iterable[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    def run(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        from pyspark import TaskContext

        context = TaskContext.get()
        location = f"{path}, partition {0 if context is None else context.partitionId()}"
        first_line = 1
        for batch in batches:
            lines = batch.column(0).to_pylist()
            yield text_task.read_batch(location, first_line, b"\n".join(lines))
            first_line += len(lines)

    return run


def _make_mapper(
    task: PartitionTask,
) -> Callable[[Iterable[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    def run(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        from pyspark import TaskContext

        context = TaskContext.get()
        partition_id = 0 if context is None else context.partitionId()
        result = task.process_partition(partition_id, batches)
        if result is not None:
            yield from _to_pieces(partition_id, result)

    return run


def _make_merger(
    merge: MergeTask,
) -> Callable[[Iterable[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    def run(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        results = _join_pieces(batches)
        for group, group_pairs in groupby(results, lambda pair: pair[0] // _MERGE_FAN_IN):
            yield from _to_pieces(group, merge.merge(result for _, result in group_pairs))

    return run


def _to_pieces(partition_id: int, result: PartitionResult) -> Iterator[pa.RecordBatch]:
    """Yield the result of a partition in pieces."""
    import pyarrow as pa

    names = [field.split()[0] for field in _RESULT_SCHEMA.split(", ")]
    types = pa.int64(), pa.int32(), pa.binary(), pa.string()
    for piece, begin in enumerate(range(0, max(len(result.data), 1), _PIECE_BYTES)):
        values = partition_id, piece, result.data[begin : begin + _PIECE_BYTES], result.error
        columns = [
            pa.array([value], data_type) for value, data_type in zip(values, types, strict=True)
        ]
        yield pa.record_batch(columns, names)


def _join_pieces(batches: Iterable[pa.RecordBatch]) -> Iterator[tuple[int, PartitionResult]]:
    """Yield the result of each partition, joined from its pieces, which are in order."""
    rows = (row for batch in batches for row in _read_pieces(batch))
    for partition_id, pieces in groupby(rows, lambda row: row[0]):
        piece_rows = list(pieces)
        yield (
            partition_id,
            PartitionResult(b"".join(data for _, data, _ in piece_rows), piece_rows[0][2]),
        )


def _read_pieces(batch: pa.RecordBatch) -> Iterator[tuple[int, bytes, str]]:
    columns = (batch.column(name).to_pylist() for name in ("partition_id", "data", "error"))
    return zip(*columns, strict=True)
