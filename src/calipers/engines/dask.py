"""Rows in Dask: partitions are worked on where they lie, and what comes of them meets in a tree."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from calipers.data.errors import InputError
from calipers.data.frames import is_dask
from calipers.engines.base import P, itself
from calipers.engines.partitions import (
    Found,
    Merge,
    Remote,
    Task,
    check_unique,
    files_of,
    kind_of,
)
from calipers.once import cached_property

if TYPE_CHECKING:
    import pyarrow as pa
    from dask.dataframe import DataFrame

#: So many meet in one process, which makes one of them.
_MEET = 8


class Dask(Remote):
    """A data frame of Dask."""

    kind = "dask"

    def __init__(self, frame: DataFrame, name: str = "the data frame", files: Sequence[str] = ()):
        self.frame, self.name, self.files = frame, name, tuple(files)
        self.names = tuple(map(str, frame.columns))
        check_unique(name, self.names)

    @classmethod
    def of(cls, given: Any) -> Dask:
        """The engine that has a data frame, or the tables under paths.

        Parameters
        ----------
        given
            A Dask data frame; a path of Parquet, CSV, TSV or JSON Lines, a pattern or a directory
            (of Parquet) that the workers see; or a list of paths.

        Raises
        ------
        InputError
            When Dask is not installed, or it cannot read what is given.
        """
        if is_dask(given):
            return cls(given)
        files, name = files_of(given, "Dask")
        return cls(_read(files, name), name, files)

    @cached_property
    def schema(self) -> pa.Schema:
        """The Arrow types of the columns."""
        import pyarrow as pa

        return pa.Schema.from_pandas(self.frame._meta, preserve_index=False)

    def reduce(
        self,
        work: Callable[[Any], P],
        columns: Sequence[str] = (),
        kept: Callable[[P], P] = itself,
        what: str = "reading",
    ) -> P:
        """As the protocol has it; partitions have their places by their order."""
        from dask.base import compute
        from dask.delayed import delayed

        from calipers.data import streams

        # Sent once, and not with every partition.
        task = delayed(Task(work, kept, streams.ROWS, self.name, tuple(columns)), traverse=False)
        merge = Merge(kept, self.name)
        partition, met = delayed(_partition), delayed(_met)
        named = dict(zip(self.names, self.frame.columns, strict=True))
        frames = self.frame[[named[name] for name in columns]].to_delayed()
        parts = [partition(task, place, frame) for place, frame in enumerate(frames)]
        while len(parts) > _MEET:
            parts = [met(merge, parts[k : k + _MEET]) for k in range(0, len(parts), _MEET)]
        (found,) = compute(parts)
        return merge.total(part for part in found if part is not None)  # type: ignore[no-any-return]


def connect(scheduler: str | None) -> None:
    """Have a scheduler (``tcp://…``) do what is computed from now on; None leaves that as it is."""
    if scheduler is not None:
        _installed().Client(scheduler)


def _installed() -> Any:
    try:
        import dask.dataframe  # noqa: F401
        import distributed
    except ImportError:
        raise InputError("engine='dask' takes Dask: pip install 'calipers[dask]'") from None
    return distributed


def _read(files: Sequence[str], name: str) -> DataFrame:
    """The tables under paths, which are of the kind that the first says it is."""
    _installed()
    import dask.dataframe as dd

    kind = kind_of(files, name, "Dask")
    given = files[0] if len(files) == 1 else list(files)
    try:
        if kind == "parquet":
            return dd.read_parquet(given)
        if kind == "jsonl":
            return dd.read_json(given, lines=True)
        return dd.read_csv(given, sep="," if kind == "csv" else "\t")
    except (OSError, ValueError) as error:
        raise InputError(f"{name}: {error}") from None


def _partition(task: Task, place: int, frame: Any) -> Found | None:
    import pyarrow as pa

    table = pa.Table.from_pandas(frame, preserve_index=False)
    return task.partition(place, table.to_batches(max_chunksize=task.rows))


def _met(merge: Merge, parts: Sequence[Found | None]) -> Found | None:
    found = [part for part in parts if part is not None]
    return merge.merged(found) if found else None
