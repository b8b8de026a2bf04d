"""Every measure on parts of the rows."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from calipers.results.estimate import Difference, Estimate
from calipers.results.tidy import Tidy
from calipers.results.written import plain, revive


@dataclass(frozen=True, slots=True)
class Slice:
    """One measure of one system on one slice of the rows: those with one value of a column.

    ``to_rest`` is the slice minus all other rows, two independent samples; its ``n`` counts the
    other rows, and its ``p_adjusted`` accounts for the other slices of the measure.
    """

    column: str
    slice: str
    estimate: Estimate
    to_rest: Difference


@dataclass(frozen=True, slots=True)
class Slices(Tidy):
    """Every measure of every system on every slice, and how it differs from the rest.

    Examples
    --------
    >>> import calipers as cal
    >>> truth, called = [1, 1, 0, 0, 1, 0], [1, 0, 0, 0, 1, 1]
    >>> site = ["north", "north", "north", "south", "south", "south"]
    >>> ev = cal.classification(truth, called, slices={"site": site}, measures="recall")
    >>> ev.slices["site", "north", "recall"].estimate.value
    0.5
    """

    all: tuple[Slice, ...]
    level: float = 0.95
    adjustment: str = "Holm"

    def __iter__(self) -> Iterator[Slice]:
        return iter(self.all)

    def __len__(self) -> int:
        return len(self.all)

    def __getitem__(self, key: tuple[str, ...]) -> Slice:
        """``slices[column, slice, measure]`` of one system, or ``slices[column, slice, system,
        measure]``."""
        found = [
            s
            for s in self.all
            if key[:2] == (s.column, s.slice)
            and key[2:] in ((s.estimate.measure,), (s.estimate.system, s.estimate.measure))
        ]
        if len(found) == 1:
            return found[0]
        have = sorted({(s.column, s.slice) for s in self.all})
        raise KeyError(f"{key!r} names {len(found)} rows; the slices are {have}")

    @property
    def columns(self) -> tuple[str, ...]:
        """What the rows were cut by, in the order given."""
        return tuple(dict.fromkeys(s.column for s in self.all))

    def rows(self) -> list[dict[str, Any]]:
        """Tidy rows: one measure of one system on one slice each."""
        return [
            {
                "column": s.column,
                "slice": s.slice,
                "system": s.estimate.system,
                "measure": s.estimate.measure,
                "value": s.estimate.value,
                "low": s.estimate.low,
                "high": s.estimate.high,
                "level": s.estimate.level,
                "method": s.estimate.method,
                "n": s.estimate.n,
                "of": s.estimate.of,
                "undefined": "; ".join(f"{why}: {n}" for why, n in s.estimate.undefined.items()),
                "rest": s.to_rest.n,
                "difference": s.to_rest.value,
                "difference_low": s.to_rest.low,
                "difference_high": s.to_rest.high,
                "difference_method": s.to_rest.method,
                "p": s.to_rest.p,
                "p_adjusted": s.to_rest.p_adjusted,
                "test": s.to_rest.test,
            }
            for s in self.all
        ]

    def to_dict(self) -> dict[str, Any]:
        """Plain data for JSON."""
        return {
            "level": self.level,
            "adjustment": self.adjustment,
            "rows": [
                {
                    "column": s.column,
                    "slice": s.slice,
                    "estimate": plain(s.estimate),
                    "to_rest": plain(s.to_rest),
                }
                for s in self.all
            ],
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Slices:
        """The slices that :meth:`to_dict` wrote."""
        rows = tuple(
            Slice(
                row["column"],
                row["slice"],
                revive(Estimate, row["estimate"]),
                revive(Difference, row["to_rest"]),
            )
            for row in data["rows"]
        )
        return cls(rows, data["level"], data["adjustment"])

    def __str__(self) -> str:
        from calipers.report.text import slices_table

        return slices_table(self)
