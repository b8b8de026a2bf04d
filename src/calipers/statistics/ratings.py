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
    """Of each item how many raters put it into each category: ``counts`` (items, categories).

    Categories stand in their order; ``values`` are their numbers. Items that fewer than two raters
    rated say nothing of agreement; those that one rated tell how common categories are, which some
    coefficients take from them.
    """

    categories: tuple[str, ...]
    values: FloatArray
    counts: IntArray

    @classmethod
    def from_codes(cls, codes: IntArray, categories: Sequence[str], values: FloatArray) -> Self:
        """Of items by raters, as positions among the categories; −1 where there is no rating."""
        item, rater = np.nonzero(codes >= 0)
        shape = len(codes), len(categories)
        flat = item * len(categories) + codes[item, rater]
        counts = np.bincount(flat, minlength=shape[0] * shape[1]).reshape(shape)
        return cls(tuple(categories), values, counts.astype(np.int64))

    def __len__(self) -> int:
        return len(self.counts)

    def __add__(self, other: Self) -> Self:
        """The items of both, which have the same categories."""
        if self.categories != other.categories:
            raise ValueError("the categories of both parts differ")
        return type(self)(self.categories, self.values, np.concatenate([self.counts, other.counts]))

    @cached_property
    def twice(self) -> npt.NDArray[np.bool_]:
        """Which items have two ratings or more."""
        return np.asarray(self.counts.sum(axis=1) >= 2)

    @cached_property
    def rated(self) -> npt.NDArray[np.bool_]:
        """Which items have a rating."""
        return np.asarray(self.counts.sum(axis=1) >= 1)

    @cached_property
    def agreeing(self) -> FloatArray:
        """Of each item the share of pairs of its ratings that agree, NaN where there is none."""
        m = self.counts.sum(axis=1)
        pairs = np.where(m > 1, m * (m - 1), np.nan)
        return np.asarray((np.square(self.counts).sum(axis=1) - m) / pairs)

    @cached_property
    def shared(self) -> FloatArray:
        """The counts of the items that two raters rated, or more."""
        return np.asarray(self.counts[self.twice], np.float64)

    @cached_property
    def times(self) -> FloatArray:
        """How often each of these was rated."""
        return np.asarray(self.shared.sum(axis=1))

    @cached_property
    def of_category(self) -> FloatArray:
        """How many of their ratings are of each category."""
        return np.asarray(self.shared.sum(axis=0))

    @cached_property
    def shares(self) -> FloatArray:
        """The share of each category among the ratings of each item that has any."""
        counts = self.counts[self.rated]
        return np.asarray(counts / counts.sum(axis=1, keepdims=True))

    @cached_property
    def middles(self) -> FloatArray:
        """The middle rank of the ratings of each category: half of its own, and all below."""
        return np.cumsum(self.of_category) - self.of_category / 2
