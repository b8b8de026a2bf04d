"""How often items were put into each category."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from calipers.lazily import numpy as np
from calipers.once import cached_property
from calipers.statistics.base import FloatArray, IntArray, Statistic

if TYPE_CHECKING:
    from typing_extensions import Self


@dataclass(frozen=True, eq=False)
class Ratings(Statistic):
    """Of each item how many raters put it into each category: ``counts`` (items, categories).

    Categories stand in their order; ``values`` are their numbers. Items that fewer than two raters
    rated say nothing of agreement, and count for nothing.
    """

    categories: tuple[str, ...]
    values: FloatArray
    counts: IntArray

    def __len__(self) -> int:
        return len(self.counts)

    def __add__(self, other: Self) -> Self:
        """The items of both, which have the same categories."""
        if self.categories != other.categories:
            raise ValueError("the categories of both parts differ")
        return type(self)(self.categories, self.values, np.concatenate([self.counts, other.counts]))

    @cached_property
    def shared(self) -> FloatArray:
        """The counts of the items that two raters rated, or more."""
        return np.asarray(self.counts[self.counts.sum(axis=1) >= 2], np.float64)

    @cached_property
    def times(self) -> FloatArray:
        """How often each of these was rated."""
        return np.asarray(self.shared.sum(axis=1))

    @cached_property
    def of_category(self) -> FloatArray:
        """How many of their ratings are of each category."""
        return np.asarray(self.shared.sum(axis=0))

    @cached_property
    def middles(self) -> FloatArray:
        """The middle rank of the ratings of each category: half of its own, and all below."""
        return np.cumsum(self.of_category) - self.of_category / 2
