"""The nearest points of different clusters, and the farthest of one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from calipers.lazily import numpy as np
from calipers.statistics.base import FloatArray, Statistic

if TYPE_CHECKING:
    import numpy.typing as npt
    from typing_extensions import Self


@dataclass(frozen=True, eq=False)
class Separations(Statistic):
    """The smallest distance of points of any two of k clusters, infinite where there is none and of
    a cluster and itself, and the largest of two points of each; built from pairs of points.

    >>> pairs = np.array([0, 0, 1]), np.array([0, 1, 1]), np.array([2.0, 5.0, 1.0])
    >>> found = Separations.from_pairs(*pairs, 2)
    >>> float(found.apart.min()), found.widest.tolist()
    (5.0, [2.0, 1.0])
    """

    apart: FloatArray
    widest: FloatArray

    @classmethod
    def from_pairs(
        cls,
        first: npt.NDArray[np.integer[Any]],
        second: npt.NDArray[np.integer[Any]],
        distance: FloatArray,
        clusters: int,
    ) -> Self:
        """Of pairs of points, the cluster of either and their distance."""
        apart, widest = np.full((clusters, clusters), np.inf), np.zeros(clusters)
        same = first == second
        np.minimum.at(apart, (first[~same], second[~same]), distance[~same])
        np.maximum.at(widest, first[same], distance[same])
        return cls(np.minimum(apart, apart.T), widest)

    def __add__(self, other: Self) -> Self:
        return type(self)(
            np.minimum(self.apart, other.apart), np.maximum(self.widest, other.widest)
        )
