"""Dask engine: partitions are processed by the workers that have them, and merged in a tree."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import calipers
from calipers.caching import cached_property
from calipers.data import tables
from calipers.data.arrow_types import to_plain_table
from calipers.data.distributed_frames import is_dask
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

if TYPE_CHECKING:
    import pyarrow as pa
    from dask.dataframe import DataFrame

#: Number of results that one process merges.
_MERGE_FAN_IN = 8
#: Type of text columns in pandas and Dask, and bytes of text that are read at a time.
_TEXT_DTYPE, _BLOCK_BYTES = "string[pyarrow]", 1 << 26
#: Bytes of files up to which they are read again to find the one that Dask cannot read.
_MAX_REREAD_BYTES = 1 << 30


class DaskEngine(RemoteEngine):
    """Engine of a Dask data frame.

    Parameters
    ----------
    frame : dask.dataframe.DataFrame
        Rows.
    name : str, default='the data frame'
        Name of the rows in messages and provenance.
    files : sequence of str
        Files that the rows come from.
    group_column : str, optional
        Column of which all rows with one value are in one batch.
    """

    kind = "dask"

    def __init__(
        self,
        frame: DataFrame,
        name: str = "the data frame",
        files: Sequence[str] = (),
        group_column: str | None = None,
    ) -> None:
        self.frame, self.name, self.files, self._group_column = (
            frame,
            name,
            tuple(files),
            group_column,
        )
        self.column_names = tuple(map(str, frame.columns))
        check_unique(name, self.column_names)

    @classmethod
    def get_session(cls, frames: Sequence[Any]) -> None:
        """Return None, because Dask chooses a scheduler when it computes."""
        _import_dask()

    @classmethod
    def from_source(
        cls, source: Any, session: None = None, text_columns: Collection[str] = ()
    ) -> DaskEngine:
        """Create an engine from a data frame, or from the tables at some paths.

        Parameters
        ----------
        source : data frame, path, or list of path
            Dask data frame; path of Parquet, CSV, TSV or JSON Lines, a pattern or a directory (of
            Parquet) that the workers can read; or a list of paths.
        session : None
            Not used by Dask.
        text_columns : collection of str
            Columns of CSV that are read as text, whatever their values.

        Returns
        -------
        DaskEngine
            Engine of these rows.

        Raises
        ------
        InputError
            If Dask is not installed, or cannot read the input.
        """
        if is_dask(source):
            return cls(source)
        files, name = resolve_paths(source, "Dask")
        return cls(_read_tables(files, name, text_columns), name, files)

    @classmethod
    def from_table(cls, rows: pa.Table, session: None = None) -> DaskEngine:
        """Create an engine from a local table; see :meth:`RemoteEngine.from_table`."""
        import dask.dataframe as dd

        return cls(dd.from_pandas(_to_pandas(rows), npartitions=1))

    @classmethod
    def from_lines(cls, path: str, text_task: TextTask, session: None = None) -> DaskEngine:
        """Create an engine from lines of text; see :meth:`RemoteEngine.from_lines`."""
        import dask.dataframe as dd
        from dask.bytes import read_bytes
        from dask.delayed import delayed

        is_compressed = tables.file_extension(path)[1] != ""  # is unpacked as a whole
        try:
            nested_blocks = read_bytes(
                path,
                delimiter=b"\n",
                blocksize=None if is_compressed else _BLOCK_BYTES,
                sample=False,
                compression="infer",
            )[1]
        except (OSError, ValueError) as error:
            raise InputError(f"{path}: {error}") from None
        blocks = [block for file_blocks in nested_blocks for block in file_blocks]
        delayed_read = delayed(_read_lines)
        delayed_frames = [
            delayed_read(text_task, f"{path}, part {k}", block) for k, block in enumerate(blocks)
        ]
        meta = _to_pandas(text_task.schema.empty_table())
        return cls(dd.from_delayed(delayed_frames, meta=meta, verify_meta=False), path, [path])

    def project_columns(
        self,
        text_columns: Mapping[str, str],
        numeric_columns: Mapping[str, str],
        constants: Mapping[str, Any],
    ) -> DaskEngine:
        """Rename and cast columns, and add constants; see :meth:`RemoteEngine.project_columns`."""
        source_by_name = {**text_columns, **numeric_columns}
        frame = self.frame[list(dict.fromkeys(source_by_name.values()))]
        columns = {name: frame[source] for name, source in source_by_name.items()}
        dtype_by_column = {
            **dict.fromkeys(text_columns, _TEXT_DTYPE),
            **dict.fromkeys(numeric_columns, "float64"),
        }
        constant_dtypes = {
            n: _TEXT_DTYPE for n, value in constants.items() if isinstance(value, str)
        }
        renamed = frame.assign(**columns, **constants)[[*source_by_name, *constants]]
        return DaskEngine(
            renamed.astype({**dtype_by_column, **constant_dtypes}), self.name, self.files
        )

    def concat(self, others: Sequence[DaskEngine], name: str) -> DaskEngine:
        """Concatenate the rows of engines; see :meth:`RemoteEngine.concat`."""
        import dask.dataframe as dd

        frames = [engine.frame.clear_divisions() for engine in (self, *others)]
        return DaskEngine(
            dd.concat(frames), name, [path for engine in (self, *others) for path in engine.files]
        )

    def group_batches(self, group_column: str) -> DaskEngine:
        """Group the rows by a column; see :meth:`Engine.group_batches`."""
        column = dict(zip(self.column_names, self.frame.columns, strict=True))[group_column]
        frame = self.frame.shuffle(on=column).map_partitions(_sort_frame, column)
        return DaskEngine(frame, self.name, self.files, group_column)

    @cached_property
    def schema(self) -> pa.Schema:
        """Arrow schema of the columns."""
        import pyarrow as pa

        schema = pa.Schema.from_pandas(self.frame._meta, preserve_index=False)
        return to_plain_table(schema.empty_table()).schema

    def reduce(
        self,
        map_batch: Callable[[Any], P],
        columns: Sequence[str] = (),
        limit_size: Callable[[P], P] = identity,
        description: str = "reading",
    ) -> P:
        """Apply a function to all batches and add the results, in the order of the partitions.

        See :meth:`Engine.reduce`.
        """
        from dask.base import compute
        from dask.delayed import delayed

        from calipers.data import streams

        check_workers()
        # Sent once, rather than with every partition.
        task = delayed(
            PartitionTask(
                map_batch,
                limit_size,
                streams.BATCH_ROWS,
                self.name,
                tuple(columns),
                self._group_column,
            ),
            traverse=False,
        )
        merge = MergeTask(limit_size, self.name)
        partition, merge_parts = delayed(_process_partition), delayed(_merge_parts)
        column_by_name = dict(zip(self.column_names, self.frame.columns, strict=True))
        frames = self.frame[[column_by_name[name] for name in columns]].to_delayed()
        delayed_results = [partition(task, index, frame) for index, frame in enumerate(frames)]
        while len(delayed_results) > _MERGE_FAN_IN:
            delayed_results = [
                merge_parts(merge, delayed_results[k : k + _MERGE_FAN_IN])
                for k in range(0, len(delayed_results), _MERGE_FAN_IN)
            ]
        try:
            (results,) = compute(delayed_results)
        except (OSError, ValueError) as error:
            raise self._read_error(error, map_batch, columns) from error
        except Exception as error:
            # Workers that end again and again, as for lack of memory, or a scheduler that is gone.
            if not type(error).__module__.startswith("distributed"):
                raise
            reason = " ".join(str(error).split()) or type(error).__name__
            raise InputError(f"{self.name}: Dask could not finish: {reason}") from error
        return merge.merge_all(result for result in results if result is not None)  # type: ignore[no-any-return]

    def _read_error(
        self, error: Exception, map_batch: Callable[[Any], P], columns: Sequence[str]
    ) -> InputError:
        """Return the error that names the file and the row, from a stream of the same files."""
        if isinstance(error, InputError):
            return error
        files = tables.local_files(self.files)
        is_table = all(tables.file_extension(file)[0] in tables.TABLE_FORMATS for file in files)
        if files and is_table and tables.total_bytes(files) <= _MAX_REREAD_BYTES:
            from calipers.data.streams import BATCH_ROWS, Stream

            try:
                for batch in Stream.from_input(files).batches(columns, BATCH_ROWS):
                    with batch.located_errors():
                        map_batch(batch)
            except InputError as located:
                return located
            if (mixed := _mixed_column(files)) is not None:
                return mixed
        return InputError(f"{self.name}: Dask cannot read it: {' '.join(str(error).split())}")


def _mixed_column(files: Sequence[str]) -> InputError | None:
    """Return the error of the first column that is text in one file and not in the first.

    A stream reads both as text, as if all rows were in one file; Dask does not.
    """
    import pyarrow as pa

    from calipers.data.streams import Stream

    schemas = {file: Stream.from_input(file).schema for file in files}
    kinds = {field.name: field.type for field in schemas[files[0]]}
    for file, schema in schemas.items():
        for field in schema:
            kind = kinds.setdefault(field.name, field.type)
            if pa.types.is_string(kind) != pa.types.is_string(field.type):
                return InputError(
                    f"{file}: column {field.name!r} is {field.type}, and {kind} in {files[0]}; "
                    "expected one kind of values in all files"
                )
    return None


def connect(scheduler: str | None) -> None:
    """Connect to a scheduler (``tcp://…``) for later computations; None changes nothing."""
    if scheduler is None:
        return
    try:
        _import_dask().Client(scheduler)
    except OSError as error:
        raise InputError(f"Dask: no scheduler answers at {scheduler}: {error}") from error


#: Workers that have been checked, by scheduler.
_CHECKED_WORKERS: set[tuple[str, str]] = set()


def check_workers() -> None:
    """Check that the workers of the scheduler, if any, are compatible; each is checked once.

    Raises
    ------
    InputError
        If a worker has no Calipers, or another version of Calipers or Python.
    """
    try:
        client = _import_dask().default_client()
    except ValueError:  # no scheduler: threads or processes of this Python do the work
        return
    if client.asynchronous:
        return
    scheduler = client.scheduler.address
    new_addresses = [
        address for address in client.nthreads() if (scheduler, address) not in _CHECKED_WORKERS
    ]
    if not new_addresses:
        return
    versions = client.get_versions()["workers"]
    version_by_address = {
        address: versions[address]["host"]["python"].split()[0]
        for address in new_addresses
        if address in versions
    }
    # A function that another Python has pickled may take a worker down.
    compatible = [
        address
        for address, python in version_by_address.items()
        if remote.is_compatible_python(python)
    ]
    answers = client.run(remote.make_worker_probe(), workers=compatible) if compatible else {}
    remote.check_workers("Dask", (remote.Worker(*answer) for answer in answers.values()))
    incompatible = version_by_address.keys() - set(compatible)
    own_version = calipers.__version__
    remote.check_workers(
        "Dask",
        (
            remote.Worker(address, "python", version_by_address[address], own_version, "")
            for address in incompatible
        ),
    )
    _CHECKED_WORKERS.update((scheduler, address) for address in compatible)


def _import_dask() -> Any:
    try:
        import dask.dataframe  # noqa: F401
        import distributed
    except ImportError:
        raise InputError(f"engine='dask' takes Dask: {install_command('dask')}") from None
    return distributed


def _read_tables(files: Sequence[str], name: str, text_columns: Collection[str]) -> DataFrame:
    """Read the tables at some paths; the extension of the paths determines their kind."""
    _import_dask()
    import dask.dataframe as dd

    kind = table_kind(files, name, "Dask")
    source = files[0] if len(files) == 1 else list(files)
    try:
        if kind == "parquet":
            return dd.read_parquet(source)
        if kind == "jsonl":
            return dd.read_json(source, lines=True)
        separator = "," if kind == "csv" else "\t"
        frame = dd.read_csv(source, sep=separator)
        text_types = {column: _TEXT_DTYPE for column in frame.columns if column in text_columns}
        if not text_types:
            return frame
        # An id may be called NA.
        return dd.read_csv(
            source, sep=separator, dtype=text_types, keep_default_na=False, na_values=[""]
        )
    except FileNotFoundError:  # for which the message of Dask has only the path
        raise InputError(f"{name}: Dask finds no such file or directory") from None
    except (OSError, ValueError) as error:
        raise InputError(f"{name}: {error}") from None


def _to_pandas(rows: pa.Table) -> Any:
    """Convert a table to pandas, with text in Arrow types."""
    import pandas as pd
    import pyarrow as pa

    dtype_by_arrow_type = {
        pa.string(): pd.StringDtype("pyarrow"),
        pa.large_string(): pd.StringDtype("pyarrow"),
    }
    return rows.to_pandas(types_mapper=dtype_by_arrow_type.get)


def _read_lines(text_task: TextTask, location: str, block: bytes) -> Any:
    import pyarrow as pa

    return _to_pandas(pa.Table.from_batches([text_task.read_batch(location, 1, block)]))


def _sort_frame(frame: Any, column: Any) -> Any:
    return frame.sort_values(column, kind="stable")


def _process_partition(task: PartitionTask, index: int, frame: Any) -> PartitionResult | None:
    import pyarrow as pa

    table = to_plain_table(pa.Table.from_pandas(frame, preserve_index=False))
    return task.process_partition(index, table.to_batches(max_chunksize=task.batch_rows))


def _merge_parts(
    merge: MergeTask, partition_results: Sequence[PartitionResult | None]
) -> PartitionResult | None:
    results = [result for result in partition_results if result is not None]
    return merge.merge(results) if results else None
