"""What an engine is: where rows lie, and who adds up what is made of them.

An engine has one method, :meth:`Engine.reduce`: work makes something of each batch of rows that
adds up, and the engine adds it up. Everything else is said once, above it: which statistics there
are, the two passes, what follows from them. A :class:`Mergeable` travels as bytes
(:func:`serialize`), so that no engine knows what it carries.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from importlib import import_module
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    import pyarrow as pa
    from typing_extensions import Self

P = TypeVar("P", bound="Mergeable")


def identity(given: Any) -> Any:
    """What is given."""
    return given


class Mergeable:
    """What is known of some rows, and added to what is known of others: a frozen dataclass of what
    :func:`~calipers.statistics.serialization.to_bytes` takes."""

    def __add__(self, other: Self) -> Self:
        """What is known of the rows of both."""
        raise NotImplementedError


#: Where partials may come from.
_HOME = "calipers."


def serialize(part: Mergeable) -> bytes:
    """As it travels from one process to another: where it is defined, and what it holds."""
    from calipers.statistics.serialization import to_bytes

    return ",".join(sorted(set(_defining_modules(part)))).encode() + b"\n" + to_bytes(part)


def _defining_modules(value: Any) -> Iterator[str]:
    """The modules of all partials that it holds."""
    if isinstance(value, Mergeable):
        yield type(value).__module__
        value = vars(value)
    if isinstance(value, Mapping):
        value = tuple(value.values())
    for each in value if isinstance(value, tuple | list) else ():
        yield from _defining_modules(each)


def deserialize(data: bytes) -> Any:
    """What was sent."""
    from calipers.statistics.serialization import CorruptError, from_bytes

    told, _, packed = data.partition(b"\n")
    homes = told.decode().split(",")
    for home in homes:
        if not home.startswith(_HOME):
            raise CorruptError("holds nothing of calipers")
        import_module(home)
    return from_bytes(
        packed, also=tuple(of for of in _all_subclasses(Mergeable) if of.__module__ in homes)
    )


def _all_subclasses(of: type) -> Iterator[type]:
    below: list[type] = of.__subclasses__()
    for kind in below:
        yield kind
        yield from _all_subclasses(kind)


class Engine:
    """Rows, and who adds up what is made of them.

    Attributes
    ----------
    name
        What messages and provenance call the rows.
    names
        The columns there are.
    rows
        How many rows there are; None where nobody knows without counting.
    again
        Whether the rows can be looked at more than once.
    files
        The files that they come from, in order.
    stamps
        What tells the rows of its files from those of others; nothing where that is not known.
    kind
        What the engine is called.
    """

    kind: str = ""
    name: str = "the rows"
    names: tuple[str, ...] = ()
    rows: int | None = None
    is_rereadable: bool = True
    files: tuple[str, ...] = ()
    stamps: tuple[str, ...] = ()

    @property
    def schema(self) -> pa.Schema:
        """The Arrow types of the columns."""
        raise NotImplementedError

    def group_batches(self, by: str) -> Engine:
        """The same rows, of which those with one value of a column are all in one batch."""
        raise NotImplementedError

    def reduce(
        self,
        work: Callable[[Any], P],
        columns: Sequence[str] = (),
        kept: Callable[[P], P] = identity,
        what: str = "reading",
    ) -> P:
        """What work makes of all batches, added up.

        Batches come with their place, and sums are made in the order of these, so that the same
        rows give the same digits, whoever is ready first. Which rows make a batch is up to the
        engine: results differ by rounding and no more.

        Parameters
        ----------
        work
            Makes a partial of a :class:`~calipers.data.streams.Batch`. Engines that have other
            processes pickle it; what it makes travels as bytes.
        columns
            The columns to be read.
        kept
            What is kept of a partial, before and after it is added to another: what would grow
            without end is held within bounds here.
        what
            What whoever watches is told.

        Raises
        ------
        InputError
            When there is no row, or work raises it; of several the first by the place of the rows.
        """
        raise NotImplementedError
