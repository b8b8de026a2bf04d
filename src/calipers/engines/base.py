"""Base class of engines, which define where rows are stored and how statistics are accumulated.

An engine has one essential method, :meth:`Engine.reduce`: a function maps each batch of rows to
something that can be added, and the engine adds the results. All else is defined once, above the
engines: the statistics, the two passes, and what follows from them. A :class:`Mergeable` is sent as
bytes (:func:`serialize`), so that engines do not depend on its contents.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from importlib import import_module
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    import pyarrow as pa
    from typing_extensions import Self

P = TypeVar("P", bound="Mergeable")


def identity(value: Any) -> Any:
    """Return the argument."""
    return value


class Mergeable:
    """Information on some rows that can be added to that on other rows.

    It is a frozen dataclass of values that :func:`~calipers.statistics.serialization.to_bytes`
    accepts.
    """

    def __add__(self, other: Self) -> Self:
        """Return the information on the rows of both."""
        raise NotImplementedError

    def with_dropped(self, missing: Any) -> Self:
        """Return the information with the counts of further rows, which were all dropped.

        Only information that has such counts changes.
        """
        return self


#: Packages whose modules may define mergeable parts.
_PACKAGE_PREFIX = "calipers."


def serialize(statistic: Mergeable) -> bytes:
    """Serialize a part for another process: the modules that define it, and its contents."""
    from calipers.statistics.serialization import to_bytes

    return (
        ",".join(sorted(set(_defining_modules(statistic)))).encode() + b"\n" + to_bytes(statistic)
    )


def _defining_modules(value: Any) -> Iterator[str]:
    """Yield the modules of all mergeable parts that a value contains."""
    if isinstance(value, Mergeable):
        yield type(value).__module__
        value = vars(value)
    if isinstance(value, Mapping):
        value = tuple(value.values())
    for item in value if isinstance(value, tuple | list) else ():
        yield from _defining_modules(item)


def deserialize(data: bytes) -> Any:
    """Deserialize the bytes written by :func:`serialize`."""
    from calipers.statistics.serialization import CorruptError, from_bytes

    header, _, packed = data.partition(b"\n")
    module_names = header.decode().split(",")
    for module_name in module_names:
        if not module_name.startswith(_PACKAGE_PREFIX):
            raise CorruptError("holds nothing of calipers")
        import_module(module_name)
    return from_bytes(
        packed,
        extra_types=tuple(
            subclass
            for subclass in _all_subclasses(Mergeable)
            if subclass.__module__ in module_names
        ),
    )


def _all_subclasses(parent: type) -> Iterator[type]:
    subclasses: list[type] = parent.__subclasses__()
    for subclass in subclasses:
        yield subclass
        yield from _all_subclasses(subclass)


class Engine:
    """Rows, and the accumulation of statistics over them.

    Attributes
    ----------
    kind : str
        Name of the kind of engine.
    name : str
        Name of the rows in messages and provenance.
    column_names : tuple of str
        Names of the columns.
    n_rows : int or None
        Number of rows; None if it is unknown without counting.
    is_rereadable : bool
        Whether the rows can be read more than once.
    files : tuple of str
        Files that the rows come from, in order.
    file_stamps : tuple of str
        Identification of the contents of the files; empty if it is unknown.
    """

    kind: str = ""
    name: str = "the rows"
    column_names: tuple[str, ...] = ()
    n_rows: int | None = None
    is_rereadable: bool = True
    files: tuple[str, ...] = ()
    file_stamps: tuple[str, ...] = ()

    @property
    def schema(self) -> pa.Schema:
        """Arrow schema of the columns."""
        raise NotImplementedError

    def group_batches(self, group_column: str) -> Engine:
        """Return an engine for the same rows, with all rows of a value of a column in one batch."""
        raise NotImplementedError

    def reduce(
        self,
        map_batch: Callable[[Any], P],
        columns: Sequence[str] = (),
        limit_size: Callable[[P], P] = identity,
        description: str = "reading",
    ) -> P:
        """Apply a function to all batches, and add the results.

        Results are added in the order of the batches, so that the same rows give identical results,
        whichever batch is ready first. The engine chooses the batches; results of different engines
        differ by rounding only.

        Parameters
        ----------
        map_batch : callable
            Function from a :class:`~calipers.data.streams.Batch` to a :class:`Mergeable`. Engines
            with other processes pickle it; its results are sent as bytes.
        columns : sequence of str
            Names of the columns to read.
        limit_size : callable, optional
            Function that is applied to a result before and after it is added to another, such as
            one that limits its size.
        description : str, default='reading'
            Description of the pass, for the display of progress.

        Returns
        -------
        Mergeable
            Sum of the results.

        Raises
        ------
        InputError
            If there are no rows, or ``map_batch`` raises it; the first error in the order of the
            rows is raised.
        """
        raise NotImplementedError
