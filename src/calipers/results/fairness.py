"""Results on the fairness of systems between groups of rows."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import field
from operator import attrgetter
from typing import Any, SupportsIndex, overload

from calipers.lazy_dataclasses import dataclass
from calipers.results.estimate import Estimate
from calipers.results.serialization import JsonSerializable, Level, get_item
from calipers.results.tidy import TidyResult, column_types


@dataclass(frozen=True, slots=True)
class Disparity(JsonSerializable):
    """Disparity of one measure of one system between the groups of a column.

    Attributes
    ----------
    column : str
        Column that defines the groups.
    estimate : Estimate
        The disparity: a difference, a ratio, a minimum or a maximum over the groups.
    lowest, highest : str
        Groups with the lowest and the highest value. For several measures, as of equalized odds,
        those of the measure that has the largest disparity.
    """

    column: str
    estimate: Estimate
    lowest: str
    highest: str


_ESTIMATE_COLUMNS = ("system", "measure", "value", "low", "high", "level", "method", "n")
_COLUMNS: Mapping[str, Callable[[Disparity], Any]] = {
    "column": attrgetter("column"),
    **{name: attrgetter(f"estimate.{name}") for name in _ESTIMATE_COLUMNS},
    "lowest": attrgetter("lowest"),
    "highest": attrgetter("highest"),
}


@dataclass(frozen=True, slots=True, repr=False)
class Fairness(JsonSerializable, TidyResult):
    """Disparities of measures between groups of rows, with joint intervals.

    Attributes
    ----------
    all : tuple of Disparity
        The disparities, by column, system and measure.
    level : float, default=0.95
        Confidence level.
    provenance : mapping
        How the evaluation was computed.
    """

    all: tuple[Disparity, ...] = field(metadata={"as": "rows"})
    level: Level = 0.95
    provenance: Mapping[str, Any] = field(default_factory=dict)

    def __iter__(self) -> Iterator[Disparity]:
        return iter(self.all)

    def __len__(self) -> int:
        return len(self.all)

    @overload
    def __getitem__(self, key: str | tuple[str, ...] | SupportsIndex) -> Disparity: ...
    @overload
    def __getitem__(self, key: slice) -> tuple[Disparity, ...]: ...
    def __getitem__(
        self, key: str | tuple[str, ...] | SupportsIndex | slice
    ) -> Disparity | tuple[Disparity, ...]:
        """Return the disparity of a measure, or index the disparities as a list.

        Parameters
        ----------
        key : str, tuple of str, int or slice
            The measure, after the column, or the column and the system, if there are several.

        Returns
        -------
        Disparity or tuple of Disparity
            The disparity, or those of the Python slice.

        Raises
        ------
        KeyError
            If the key names no disparity, or more than one.
        """
        names = (key,) if isinstance(key, str) else key
        if not isinstance(names, tuple):
            return get_item(self.all, names, "a measure, or an index")
        matches = [
            d
            for d in self.all
            if names
            and str(names[-1]).replace("_", "-") == d.estimate.measure
            and all(name in (d.column, d.estimate.system) for name in names[:-1])
        ]
        if len(matches) == 1:
            return matches[0]
        available = ", ".join(dict.fromkeys(d.estimate.measure for d in self.all))
        raise KeyError(f"{key!r} names {len(matches)} rows; the measures are {available}")

    def kinds(self) -> dict[str, str]:
        """Return the columns of :meth:`rows` and the type of each.

        Returns
        -------
        dict of str to str
            Type by column, in the order of the columns.
        """
        return column_types(_COLUMNS)

    def rows(self) -> list[dict[str, Any]]:
        """Return tidy rows, one for each disparity.

        Returns
        -------
        list of dict
            Columns of a row: the column that defines the groups, the fields of the estimate, and
            the groups with the lowest and the highest value.
        """
        return [{name: getter(d) for name, getter in _COLUMNS.items()} for d in self.all]

    def __str__(self) -> str:
        return "\n".join(
            f"{d.column}: {d.estimate} ({d.lowest} lowest, {d.highest} highest)" for d in self.all
        )
