"""Values of several systems on the same units, as tests of all of them at once need."""

from __future__ import annotations

from calipers.lazy_dataclasses import dataclass
from calipers.lazy_imports import numpy as np
from calipers.statistics.base import FloatArray, Statistic


@dataclass(frozen=True, eq=False)
class UnitSums(Statistic):
    """Sums over units of the values of k systems, and of their ranks.

    Parameters
    ----------
    n_units : int
        Number of units on which all systems have a value.
    means : ndarray of shape (k,)
        Mean over the units of each value less the mean of its unit.
    squares : ndarray of shape (k,)
        Sums of the squared deviations from these means.
    unit_mean, unit_squares : float
        Mean of the means of the units, and the sum of the squared deviations from it.
    max_value : float
        Largest absolute value.
    rank_sums : ndarray of shape (k,)
        Sums of the ranks of each system.
    rank_squares : float
        Sum of the squared deviations of all ranks from the middle one.
    """

    n_units: int
    means: FloatArray
    squares: FloatArray
    unit_mean: float
    unit_squares: float
    max_value: float
    rank_sums: FloatArray
    rank_squares: float

    @classmethod
    def from_values(cls, values: FloatArray, ranks: FloatArray) -> UnitSums:
        """Compute the sums of a table without undefined values.

        Parameters
        ----------
        values, ranks : ndarray of shape (n, k)
            Value and rank of each system on each unit.

        Returns
        -------
        UnitSums
            Statistic of the units.

        Examples
        --------
        >>> values = np.array([[1.0, 3.0], [2.0, 2.0]])
        >>> sums = UnitSums.from_values(values, np.array([[2.0, 1.0], [1.5, 1.5]]))
        >>> sums.means.tolist(), sums.unit_mean, sums.rank_sums.tolist()
        ([-0.5, 0.5], 2.0, [3.5, 2.5])
        """
        n, k = values.shape
        if not n:
            zeros = np.zeros(k)
            return cls(0, zeros, zeros, 0.0, 0.0, 0.0, zeros, 0.0)
        with np.errstate(invalid="ignore"):  # of infinite values nothing is known
            unit_means = values.mean(axis=1)
            effects = values - unit_means[:, None]
            means, unit_mean = effects.mean(axis=0), float(unit_means.mean())
            squares = np.square(effects - means).sum(axis=0)
            unit_squares = float(np.square(unit_means - unit_mean).sum())
        return cls(
            n,
            means,
            squares,
            unit_mean,
            unit_squares,
            float(np.abs(values).max()),
            ranks.sum(axis=0),
            float(np.square(ranks - (k + 1) / 2).sum()),
        )

    def __add__(self, other: UnitSums) -> UnitSums:
        if not (self.n_units and other.n_units):
            return other if other.n_units else self
        n = self.n_units + other.n_units
        proportion, between = other.n_units / n, self.n_units * other.n_units / n
        step, unit_step = other.means - self.means, other.unit_mean - self.unit_mean
        return UnitSums(
            n,
            self.means + proportion * step,
            self.squares + other.squares + between * np.square(step),
            self.unit_mean + proportion * unit_step,
            self.unit_squares + other.unit_squares + between * unit_step**2,
            max(self.max_value, other.max_value),
            self.rank_sums + other.rank_sums,
            self.rank_squares + other.rank_squares,
        )

    @property
    def n_systems(self) -> int:
        """Number of systems."""
        return len(self.means)
