"""How often items were put into each category."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from calipers.lazily import numpy as np
from calipers.once import cached_property
from calipers.statistics.base import FloatArray, IntArray, Statistic

if TYPE_CHECKING:
    import numpy.typing as npt
    from typing_extensions import Self


@dataclass(frozen=True, eq=False)
class Ratings(Statistic):
    """Of each item how many raters put it into each category.

    Only what there is takes room, as measurements have nearly as many categories as ratings:
    ``count`` raters put an item into a ``category``, those of item i from ``starts[i]`` to
    ``starts[i + 1]``, in their order. ``values`` are the numbers of the categories. Items that
    fewer than two raters rated say nothing of agreement; those that one rated tell how common
    categories are, which some coefficients take from them.
    """

    categories: tuple[str, ...]
    values: FloatArray
    starts: IntArray
    category: IntArray
    count: IntArray

    @classmethod
    def from_codes(cls, codes: IntArray, categories: Sequence[str], values: FloatArray) -> Self:
        """Of items by raters, as positions among the categories; −1 where there is no rating."""
        ordered = np.sort(codes, axis=1)  # equal ones of an item side by side
        item, rater = np.nonzero(ordered >= 0)
        flat = item * len(categories) + ordered[item, rater]
        first = np.flatnonzero(np.append(np.ones(min(1, len(flat)), bool), np.diff(flat) != 0))
        count = np.diff(np.append(first, len(flat)))
        return cls._of_cells(flat[first], count, len(codes), categories, values)

    @classmethod
    def from_counts(cls, counts: IntArray, categories: Sequence[str], values: FloatArray) -> Self:
        """Of items by categories: how many raters put each item into each."""
        flat = np.flatnonzero(counts)
        return cls._of_cells(flat, np.ravel(counts)[flat], len(counts), categories, values)

    @classmethod
    def _of_cells(
        cls, flat: IntArray, count: IntArray, items: int, names: Sequence[str], values: FloatArray
    ) -> Self:
        item, category = np.divmod(flat, max(len(names), 1))
        starts = np.append(0, np.cumsum(np.bincount(item, minlength=items)))
        whole = (np.asarray(of, np.int64) for of in (starts, category, count))
        return cls(tuple(names), values, *whole)

    def __len__(self) -> int:
        return len(self.starts) - 1

    def __add__(self, other: Self) -> Self:
        """The items of both, which have the same categories."""
        if self.categories != other.categories:
            raise ValueError("the categories of both parts differ")
        return type(self)(
            self.categories,
            self.values,
            np.concatenate([self.starts, self.starts[-1] + other.starts[1:]]),
            np.concatenate([self.category, other.category]),
            np.concatenate([self.count, other.count]),
        )

    @cached_property
    def item(self) -> IntArray:
        """The item of each count."""
        return np.repeat(np.arange(len(self)), np.diff(self.starts))

    @cached_property
    def times(self) -> FloatArray:
        """How often each item was rated."""
        return self._of_items(self.count)

    @cached_property
    def of_category(self) -> FloatArray:
        """How many ratings are of each category."""
        return self.by_category(np.ones(len(self)))

    @cached_property
    def twice(self) -> npt.NDArray[np.bool_]:
        """Which items have two ratings or more."""
        return np.asarray(self.times >= 2)

    @cached_property
    def rated(self) -> npt.NDArray[np.bool_]:
        """Which items have a rating."""
        return np.asarray(self.times >= 1)

    @cached_property
    def squares(self) -> FloatArray:
        """Of each item the sum of its squared counts."""
        return self._of_items(np.square(self.count))

    @cached_property
    def agreeing(self) -> FloatArray:
        """Of each item the share of pairs of its ratings that agree, NaN where there is none."""
        m = self.times
        pairs = np.where(m > 1, m * (m - 1), np.nan)
        return np.asarray((self.squares - m) / pairs)

    @cached_property
    def shared(self) -> Self:
        """The items that two raters rated, or more."""
        own = self.twice[self.item]
        starts = np.append(0, np.cumsum(np.diff(self.starts)[self.twice]))
        return type(self)(self.categories, self.values, starts, self.category[own], self.count[own])

    @cached_property
    def share_of_category(self) -> FloatArray:
        """The mean share of each category among the ratings of an item that has any."""
        each = 1 / np.maximum(self.times, 1)
        return np.asarray(self.by_category(each) / np.float64(self.rated.sum()))

    @cached_property
    def middles(self) -> FloatArray:
        """The middle rank of the ratings of each category: half of its own, and all below."""
        return np.cumsum(self.of_category) - self.of_category / 2

    def by_item(self, of_category: FloatArray) -> FloatArray:
        """Of each item the sum of what each of its ratings has by its category."""
        return self._of_items(self.count * of_category[self.category])

    def by_category(self, of_item: FloatArray) -> FloatArray:
        """Of each category the sum of what each of its ratings has by its item."""
        weights = self.count * of_item[self.item]
        return np.bincount(self.category, weights, len(self.categories)).astype(np.float64)

    def _of_items(self, of_count: FloatArray | IntArray) -> FloatArray:
        return np.bincount(self.item, of_count, len(self)).astype(np.float64)
