"""Results on slices of the rows or topics."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import field
from operator import attrgetter
from typing import Any, SupportsIndex, overload

from calipers.data.errors import InputError
from calipers.lazy_dataclasses import dataclass
from calipers.results.estimate import Difference, Estimate
from calipers.results.name_lookup import find_measure
from calipers.results.serialization import TRANSIENT, JsonSerializable, Level, get_item
from calipers.results.tidy import TidyResult, column_types, format_reasons


@dataclass(frozen=True, slots=True)
class SliceEstimate(JsonSerializable):
    """Estimate of one measure of one system on one slice of the rows or topics.

    A slice consists of the rows or topics with one value of a column; its complement are all
    others.

    Attributes
    ----------
    column : str
        Column that defines the slices.
    slice : str
        Value of the column.
    estimate : Estimate
        Estimate on the slice.
    vs_rest : Difference
        Slice minus its complement, as two independent samples. Its ``baseline`` is
        ``"all other rows"``, or the units of the task in place of rows; its ``n`` is the size of
        the complement, and its ``p_adjusted`` accounts for the other slices of the measure.
    """

    column: str
    slice: str
    estimate: Estimate
    vs_rest: Difference

    def inconsistencies(self) -> Iterator[tuple[str, str]]:
        """Yield a difference of another system or measure than that of the estimate.

        Yields
        ------
        path : str
            Path of the field in the result, such as ``"vs_rest.system"``.
        problem : str
            What is wrong with the value of the field.
        """
        for name in ("system", "measure"):
            actual, expected = getattr(self.vs_rest, name), getattr(self.estimate, name)
            if actual != expected:
                yield f"vs_rest.{name}", f"expected {expected!r}, as in estimate, found {actual!r}"


@dataclass(frozen=True, slots=True)
class SliceDifference(JsonSerializable):
    """Paired difference between two systems on the rows of one slice.

    Attributes
    ----------
    column : str
        Column that defines the slices.
    slice : str
        Value of the column.
    difference : Difference
        Difference on the slice.
    """

    column: str
    slice: str
    difference: Difference


_ESTIMATE_COLUMNS = ("system", "measure", "value", "low", "high", "level", "method", "n", "n_total")
#: The columns of the table, and how to get their values.
_COLUMNS: Mapping[str, Callable[[SliceEstimate], Any]] = {
    **{name: attrgetter(name) for name in ("column", "slice")},
    **{name: attrgetter(f"estimate.{name}") for name in _ESTIMATE_COLUMNS},
    "undefined": lambda s: format_reasons(s.estimate.undefined),
    "rest": attrgetter("vs_rest.n"),
    "difference": attrgetter("vs_rest.value"),
    **{f"difference_{name}": attrgetter(f"vs_rest.{name}") for name in ("low", "high", "method")},
    **{name: attrgetter(f"vs_rest.{name}") for name in ("p", "p_adjusted", "test")},
}


@dataclass(frozen=True, slots=True, repr=False)
class Slices(JsonSerializable, TidyResult):
    """Estimates on slices of the rows or topics, and differences from all other rows.

    There is an estimate of every measure of every system on every slice.

    Attributes
    ----------
    all : tuple of SliceEstimate
        Estimates on the slices.
    level : float, default=0.95
        Confidence level.
    adjustment : str, default="Holm"
        Method that adjusts p-values for multiple testing.
    differences : tuple of SliceDifference
        Differences between the systems of a comparison within each slice, first those of its
        primary measure. p-values and intervals account for all slices and pairs, in two families as
        in :class:`Comparison`.
    origin : mapping
        Provenance of the evaluation that the slices belong to, by which names of measures are
        interpreted. It is not stored in files.

    Examples
    --------
    >>> import calipers as cal
    >>> truth, predicted = [1, 1, 0, 0, 1, 0], [1, 0, 0, 0, 1, 1]
    >>> site = ["north", "north", "north", "south", "south", "south"]
    >>> ev = cal.classification(truth, predicted, slices={"site": site}, measures="recall")
    >>> ev.slices["site", "north", "recall"].estimate.value
    0.5
    """

    all: tuple[SliceEstimate, ...] = field(metadata={"as": "rows"})
    level: Level = 0.95
    adjustment: str = "Holm"
    differences: tuple[SliceDifference, ...] = ()
    # The provenance of the evaluation, by which names are interpreted.
    origin: Mapping[str, Any] = field(
        default_factory=dict, repr=False, compare=False, metadata=TRANSIENT
    )

    def __iter__(self) -> Iterator[SliceEstimate]:
        return iter(self.all)

    def __len__(self) -> int:
        return len(self.all)

    @overload
    def __getitem__(self, key: tuple[str, ...] | SupportsIndex) -> SliceEstimate: ...
    @overload
    def __getitem__(self, key: slice) -> tuple[SliceEstimate, ...]: ...
    def __getitem__(
        self, key: tuple[str, ...] | SupportsIndex | slice
    ) -> SliceEstimate | tuple[SliceEstimate, ...]:
        """Return the estimate of a key, by name or by position.

        Parameters
        ----------
        key : tuple of str, int or slice
            ``slices[column, slice, measure]`` if there is one system, or
            ``slices[column, slice, system, measure]``. The measure may be given by any name that
            means it, as in an evaluation. ``slices[0]`` indexes the rows as a list.

        Returns
        -------
        SliceEstimate or tuple of SliceEstimate
            The estimate, or those of the Python slice.

        Raises
        ------
        KeyError
            If the key names no row, or more than one.
        """
        if not isinstance(key, tuple):
            return get_item(self.all, key, "(column, slice, measure), or an index")
        if len(key) not in (3, 4):
            raise KeyError(f"{key!r}: expected a column, its slice, (a system) and a measure")
        measures = dict.fromkeys(s.estimate.measure for s in self.all)
        try:
            name = find_measure(str(key[-1]), measures, self.origin)
        except InputError as error:
            raise KeyError(str(error)) from None
        matches = [
            s
            for s in self.all
            if key[:2] == (s.column, s.slice)
            and s.estimate.measure == name
            and key[2:-1] in ((), (s.estimate.system,))
        ]
        if len(matches) == 1:
            return matches[0]
        available = sorted({(s.column, s.slice) for s in self.all})
        raise KeyError(f"{key!r} names {len(matches)} rows; the slices are {available}")

    @property
    def columns(self) -> tuple[str, ...]:
        """Columns that define the slices, in the order given."""
        return tuple(dict.fromkeys(s.column for s in self.all))

    @property
    def unit(self) -> str:
        """What the units are: rows or topics."""
        return self.all[0].estimate.unit if self.all else "rows"

    def kinds(self) -> dict[str, str]:
        """Return the columns of :meth:`rows` and the type of each.

        Returns
        -------
        dict of str to str
            Type by column, in the order of the columns: ``"text"``, ``"number"``, ``"count"`` or
            ``"count or none"``.
        """
        return column_types(_COLUMNS)

    def rows(self) -> list[dict[str, Any]]:
        """Return tidy rows, one for each measure of each system on each slice.

        Returns
        -------
        list of dict
            Columns of a row: the column and value that define the slice, the fields of the
            estimate, the size of the complement (``rest``), and ``difference`` with its interval
            and its test.
        """
        return [{name: getter(s) for name, getter in _COLUMNS.items()} for s in self.all]
