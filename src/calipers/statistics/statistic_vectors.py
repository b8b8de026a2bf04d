"""Statistics of several labels, or outputs, of the same rows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from calipers.lazy_dataclasses import dataclass
from calipers.statistics.base import Statistic

if TYPE_CHECKING:
    from collections.abc import Callable

    from typing_extensions import Self


@dataclass(frozen=True, eq=False)
class StatisticVector(Statistic):
    """Statistics of several labels, or outputs, for an average over them.

    Parameters
    ----------
    components : tuple of Statistic
        Statistic of each label or output.

    Examples
    --------
    >>> from calipers.lazy_imports import numpy as np
    >>> from calipers.statistics import Moments
    >>> first, second = (Moments.from_rows(np.array([x])) for x in (1.0, 5.0))
    >>> day = StatisticVector((first, second))
    >>> [moments.mean for moments in (day + day).components]
    [1.0, 5.0]
    """

    components: tuple[Any, ...]

    def __add__(self, other: Self) -> Self:
        pairs = zip(self.components, other.components, strict=True)
        return type(self)(tuple(first + second for first, second in pairs))

    def finalize(self) -> Self:
        """Return the final statistic of each.

        Returns
        -------
        StatisticVector
            Final statistics, in the same order.
        """
        return self.map_components(lambda component: component.finalize())

    def divide_weights(self, common_weight: float) -> Self:
        """Return the statistics with every weight divided by ``common_weight``.

        Each row then has weight 1.

        Parameters
        ----------
        common_weight : float
            Weight that every row has.

        Returns
        -------
        StatisticVector
            Statistics of the same rows with weight 1.
        """
        return self.map_components(lambda component: component.divide_weights(common_weight))

    def map_components(self, function: Callable[[Any], Any]) -> Self:
        """Return the statistics with a function applied to each.

        Parameters
        ----------
        function : callable
            Function of one statistic that returns the new one.

        Returns
        -------
        StatisticVector
            New statistics, in the same order.
        """
        return type(self)(tuple(map(function, self.components)))
