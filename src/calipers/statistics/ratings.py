"""How often items were put into each category."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from calipers.caching import cached_property
from calipers.lazy_imports import numpy as np
from calipers.statistics.base import FloatArray, IntArray, Statistic, effective_size

if TYPE_CHECKING:
    import numpy.typing as npt
    from typing_extensions import Self


@dataclass(frozen=True, eq=False)
class Ratings(Statistic):
    """Of each item how many raters put it into each category.

    Only what there is takes room, as measurements have nearly as many categories as ratings:
    ``count`` raters put an item into a ``category``, those of item i from ``starts[i]`` to
    ``starts[i + 1]``, in their order. ``values`` are the numbers of the categories. An entry stands
    for as many items as are ``held``, which were rated alike: what they weigh together and the sum
    of the squares of that are ``weight`` and ``weight_squares``. Items that fewer than two raters
    rated say nothing of agreement; those that one rated tell how common categories are, which some
    coefficients take from them.
    """

    categories: tuple[str, ...]
    values: FloatArray
    starts: IntArray
    category: IntArray
    count: IntArray
    held: FloatArray
    weight: FloatArray
    weight_squares: FloatArray

    @classmethod
    def from_codes(
        cls,
        codes: IntArray,
        categories: Sequence[str],
        values: FloatArray,
        weight: FloatArray | None = None,
    ) -> Self:
        """Of items by raters, as positions among the categories; −1 where there is no rating."""
        return cls.from_grouped_rows(codes, _weight_sums(len(codes), weight), categories, values)

    @classmethod
    def from_grouped_rows(
        cls,
        codes: IntArray,
        sums: tuple[FloatArray, ...],
        categories: Sequence[str],
        values: FloatArray,
    ) -> Self:
        """The same of rows that stand for several items: how many, what these weigh, and the sum of
        the squares of that."""
        # Equal ones of an item side by side.
        return cls._from_sorted(np.sort(codes, axis=1), sums, categories, values)

    @classmethod
    def _from_sorted(
        cls,
        codes: IntArray,
        sums: tuple[FloatArray, ...],
        categories: Sequence[str],
        values: FloatArray,
    ) -> Self:
        item, rater = np.nonzero(codes >= 0)
        flat = item * len(categories) + codes[item, rater]
        first = np.flatnonzero(np.append(np.ones(min(1, len(flat)), bool), np.diff(flat) != 0))
        count = np.diff(np.append(first, len(flat)))
        return cls._from_cells(flat[first], count, len(codes), categories, values, sums)

    @classmethod
    def from_counts(cls, counts: IntArray, categories: Sequence[str], values: FloatArray) -> Self:
        """Of items by categories: how many raters put each item into each."""
        flat, sums = np.flatnonzero(counts), (np.ones(len(counts)),) * 3
        return cls._from_cells(flat, np.ravel(counts)[flat], len(counts), categories, values, sums)

    @classmethod
    def _from_cells(
        cls,
        flat: IntArray,
        count: IntArray,
        items: int,
        names: Sequence[str],
        values: FloatArray,
        sums: tuple[FloatArray, ...],
    ) -> Self:
        item, category = np.divmod(flat, max(len(names), 1))
        starts = np.append(0, np.cumsum(np.bincount(item, minlength=items)))
        first, own, number = (np.asarray(of, np.int64) for of in (starts, category, count))
        held, weight, squares = sums
        return cls(tuple(names), values, first, own, number, held, weight, squares)

    def __len__(self) -> int:
        """How many entries there are, each of items that were rated alike."""
        return len(self.starts) - 1

    @property
    def n_items(self) -> int:
        """How many items there are."""
        return round(float(self.held.sum()))

    def __add__(self, other: Self) -> Self:
        """The items of both, which have the same categories; those that were rated alike as one
        entry, so that many items take no more room than there are ways to rate one."""
        if self.categories != other.categories:
            raise ValueError("the categories of both parts differ")
        wide = max(of.widest for of in (self, other))
        codes = np.concatenate([of._sorted(wide) for of in (self, other)])
        sums = [np.concatenate([a, b]) for a, b in zip(self._sums, other._sums, strict=True)]
        place, rows = _distinct_rows(codes, len(self.categories))
        added = tuple(np.bincount(place, of, len(rows)).astype(np.float64) for of in sums)
        return self._from_sorted(codes[rows], added, self.categories, self.values)

    @cached_property
    def merge_equal_items(self) -> Self:
        """The same, with items that were rated alike as one entry."""
        none = np.zeros((0, 0), np.int64)
        return self + self._from_sorted(none, (np.zeros(0),) * 3, self.categories, self.values)

    def with_unit_weights(self, weight: float) -> Self:
        """Of items that weigh 1, where each weighs as much as this."""
        squares = self.weight_squares / weight**2
        return replace(self, weight=self.weight / weight, weight_squares=squares)

    @property
    def widest(self) -> int:
        """How many ratings an item has at most."""
        return int(self.times.max(initial=0))

    @property
    def _sums(self) -> tuple[FloatArray, ...]:
        return self.held, self.weight, self.weight_squares

    def _sorted(self, wide: int) -> IntArray:
        """The categories that each entry was put into, in their order, after as many −1 as make it
        so wide."""
        made = np.full((len(self), wide), -1, np.int64)
        rated = self.times.astype(np.int64)
        made[np.arange(wide) >= wide - rated[:, None]] = np.repeat(self.category, self.count)
        return made

    @cached_property
    def item(self) -> IntArray:
        """The entry of each count."""
        return np.repeat(np.arange(len(self)), np.diff(self.starts))

    @cached_property
    def times(self) -> FloatArray:
        """How often each item was rated."""
        return self._item_values(self.count)

    @cached_property
    def category_weights(self) -> FloatArray:
        """What the ratings of each category weigh, each as much as its item."""
        return self.category_sums(np.ones(len(self)))

    @cached_property
    def total(self) -> Any:
        """What all ratings weigh."""
        return self.weight @ self.times

    @cached_property
    def total_squares(self) -> Any:
        """The sum of the squares of what each rating weighs."""
        return self.weight_squares @ self.times

    @property
    def n_minority(self) -> float:
        """How many ratings are of another category than most, by Kish's number."""
        if not len(self.category_weights):
            return 0.0
        other = self.category != self.category_weights.argmax()
        item, count = self.item[other], self.count[other]
        return effective_size(
            float(count @ self.weight[item]), float(count @ self.weight_squares[item])
        )

    @property
    def unit(self) -> FloatArray:
        """What an item of each entry weighs, Σw²/Σw: where they are alike, what each does."""
        weighs = self.weight > 0
        return np.divide(self.weight_squares, self.weight, np.zeros(len(self)), where=weighs)

    @cached_property
    def twice(self) -> npt.NDArray[np.bool_]:
        """Which items have two ratings or more."""
        return np.asarray(self.times >= 2)

    @cached_property
    def rated_mask(self) -> npt.NDArray[np.bool_]:
        """Which items have a rating."""
        return np.asarray(self.times >= 1)

    @cached_property
    def squares(self) -> FloatArray:
        """Of each item the sum of its squared counts."""
        return self._item_values(np.square(self.count))

    @cached_property
    def agreeing(self) -> FloatArray:
        """Of each item the share of pairs of its ratings that agree, NaN where there is none."""
        m = self.times
        pairs = np.where(m > 1, m * (m - 1), np.nan)
        return np.asarray((self.squares - m) / pairs)

    @cached_property
    def shared_items(self) -> Self:
        """The items that two raters rated, or more."""
        own = self.twice[self.item]
        starts = np.append(0, np.cumsum(np.diff(self.starts)[self.twice]))
        sums = (of[self.twice] for of in self._sums)
        return type(self)(
            self.categories, self.values, starts, self.category[own], self.count[own], *sums
        )

    @cached_property
    def share_of_category(self) -> FloatArray:
        """The mean share of each category among the ratings of an item that has any."""
        each = 1 / np.maximum(self.times, 1)
        return np.asarray(self.category_sums(each) / np.float64(self.weight[self.rated_mask].sum()))

    @cached_property
    def middles(self) -> FloatArray:
        """The middle rank of the ratings of each category: half of its own, and all below."""
        return np.cumsum(self.category_weights) - self.category_weights / 2

    def item_sums(self, of_category: FloatArray) -> FloatArray:
        """Of each item the sum of what each of its ratings has by its category."""
        return self._item_values(self.count * of_category[self.category])

    def category_sums(self, of_item: FloatArray) -> FloatArray:
        """Of each category the sum of what each of its ratings has by its item, times what that
        weighs."""
        weights = self.count * (of_item * self.weight)[self.item]
        return np.bincount(self.category, weights, len(self.categories)).astype(np.float64)

    def _item_values(self, of_count: FloatArray | IntArray) -> FloatArray:
        return np.bincount(self.item, of_count, len(self)).astype(np.float64)


def _weight_sums(rows: int, weight: FloatArray | None) -> tuple[FloatArray, ...]:
    """Of items how many each row is, what it weighs and the square of that."""
    ones = np.ones(rows)
    own = ones if weight is None else weight
    return ones, own, np.square(own)


#: Of more ways to rate an item it is not kept who said what.
MOST_WAYS = 50_000


@dataclass(frozen=True, eq=False)
class RatingRows(Statistic):
    """The category that each rater put items into (rows, raters), −1 for none: a row for all items
    that everybody rated alike, of which there are ``held``, with what they weigh and the sum of the
    squares of that. Of more rows than :data:`MOST_WAYS` there are ``many``, and none is kept.

    >>> one = RatingRows.from_rows(np.array([[0, 1], [0, 1], [1, -1]]), 2)
    >>> (one + one).codes.tolist(), (one + one).held.tolist()
    ([[0, 1], [1, -1]], [4.0, 2.0])
    """

    categories: int
    codes: IntArray
    held: FloatArray
    weight: FloatArray
    weight_squares: FloatArray
    many: bool = False

    @classmethod
    def from_rows(cls, codes: IntArray, categories: int, weight: FloatArray | None = None) -> Self:
        """Of items by raters."""
        return cls._of(codes, _weight_sums(len(codes), weight), categories)

    @classmethod
    def _of(cls, codes: IntArray, sums: Sequence[FloatArray], categories: int) -> Self:
        place, rows = _distinct_rows(codes, categories)
        if len(rows) > MOST_WAYS:
            none = np.zeros(0)
            return cls(categories, codes[:0], none, none, none, many=True)
        held, weight, squares = (
            np.bincount(place, of, len(rows)).astype(np.float64) for of in sums
        )
        return cls(categories, np.asarray(codes[rows], np.int64), held, weight, squares)

    def __add__(self, other: Self) -> Self:
        """The items of both."""
        if self.many or other.many:
            return self if self.many else other
        codes = np.concatenate([self.codes, other.codes])
        names = ("held", "weight", "weight_squares")
        sums = [np.concatenate([getattr(self, name), getattr(other, name)]) for name in names]
        return self._of(codes, sums, self.categories)

    def with_unit_weights(self, weight: float) -> Self:
        """Of items that weigh 1, where each weighs as much as this."""
        squares = self.weight_squares / weight**2
        return replace(self, weight=self.weight / weight, weight_squares=squares)


def _distinct_rows(codes: IntArray, categories: int) -> tuple[IntArray, IntArray]:
    """Of rows the number of each distinct one, and where these stand, in their order."""
    if (categories + 1.0) ** codes.shape[1] < 2**62:  # as one number, which is sorted faster
        place = (categories + 1) ** np.arange(codes.shape[1])[::-1]
        keys: dict[str, Any] = {"ar": (codes + 1) @ place}
    else:
        keys = {"ar": codes, "axis": 0}
    _, first, which = np.unique(**keys, return_index=True, return_inverse=True)
    return which.reshape(-1), first
