"""Some of many rows, chosen by their numbers: what is looked at where sums do not say enough."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from calipers.lazy_imports import numpy as np
from calipers.statistics.base import FloatArray, IntArray, Statistic

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy.typing as npt
    from typing_extensions import Self

#: So many rows are kept at most.
MOST_LOOKED_AT = 100_000


@dataclass(frozen=True, eq=False)
class LookedAt(Statistic):
    """Rows with their ``number`` in the whole, in order, and their columns, shape (rows, columns):
    all of so many ``rows``, where these are few, else those whose number, mixed up, ends in
    ``level`` zeros. The level is the least with which they are no more than
    :data:`MOST_LOOKED_AT`, so that they are the same however rows come in batches.

    >>> numbers = np.arange(250_000)
    >>> seen = LookedAt.of(numbers[:200_000], [numbers[:200_000] / 2])
    >>> seen += LookedAt.of(numbers[200_000:], [numbers[200_000:] / 2])
    >>> seen.rows, seen.level, len(seen.number), seen.whole
    (250000, 2, 62825, False)
    """

    rows: int
    level: int
    number: IntArray
    columns: FloatArray

    @classmethod
    def of(cls, number: IntArray, columns: Sequence[FloatArray], least: int = 0) -> Self:
        """Of rows; at this level at least."""
        kept = np.flatnonzero(_chosen(number, least)) if least else slice(None)
        some = np.column_stack([column[kept] for column in columns])
        return cls(len(number), least, number[kept], some)._few()

    def _at(self, level: int) -> Self:
        kept = _chosen(self.number, level)
        return replace(self, level=level, number=self.number[kept], columns=self.columns[kept])

    def _few(self) -> Self:
        made = self
        while len(made.number) > MOST_LOOKED_AT:
            made = made._at(made.level + 1)
        return made

    def __add__(self, other: Self) -> Self:
        level = max(self.level, other.level)
        one, two = (of if of.level == level else of._at(level) for of in (self, other))
        number = np.concatenate([one.number, two.number])
        columns = np.concatenate([one.columns, two.columns])
        order: slice | IntArray = slice(None)
        if len(one.number) and len(two.number) and one.number[-1] > two.number[0]:
            order = np.argsort(number, kind="stable")
        rows = self.rows + other.rows
        return replace(
            self, rows=rows, level=level, number=number[order], columns=columns[order]
        )._few()

    @property
    def whole(self) -> bool:
        """Whether these are all rows."""
        return self.level == 0


def level_of(rows: int | None) -> int:
    """A level that so many rows reach."""
    return 0 if rows is None else max(0, (rows // MOST_LOOKED_AT).bit_length() - 1)


def _chosen(number: IntArray, level: int) -> npt.NDArray[np.bool_]:
    """Which rows a level keeps."""
    return np.asarray(_mixed(number) & np.uint64((1 << level) - 1) == 0)


def _mixed(number: IntArray) -> npt.NDArray[np.uint64]:
    """The numbers, mixed up (Steele, Lea and Flood 2014)."""
    with np.errstate(over="ignore"):
        x = number.astype(np.uint64) + np.uint64(0x9E3779B97F4A7C15)
        x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        return np.asarray(x ^ (x >> np.uint64(31)))
