"""Counts of pairwise battles: which of two systems was preferred, or that neither was."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from calipers.lazy_dataclasses import dataclass
from calipers.lazy_imports import numpy as np
from calipers.statistics.base import FloatArray, IntArray, Statistic

if TYPE_CHECKING:
    import numpy.typing as npt
    from typing_extensions import Self

#: Codes of the outcome of a battle for its first system.
LOSS, TIE, WIN = 0, 1, 2
_N_OUTCOMES = 3

#: All possible cells are counted, rather than sorted, if there are at most this number of them, or
#: of them for each battle.
_MAX_CELLS, _CELLS_PER_BATTLE = 1 << 20, 4


def cell_codes(
    first: npt.NDArray[np.integer[Any]],
    second: npt.NDArray[np.integer[Any]],
    outcome: npt.NDArray[np.integer[Any]],
    n_systems: int,
) -> npt.NDArray[np.integer[Any]]:
    """Return the code of the cell of each battle, in the order of systems and outcomes."""
    kind = np.int32 if n_systems**2 * _N_OUTCOMES < 2**31 else np.int64
    cell = first.astype(kind)
    cell *= n_systems
    cell += second.astype(kind, copy=False)
    cell *= _N_OUTCOMES
    cell += outcome.astype(kind, copy=False)
    return cell


@dataclass(frozen=True, eq=False)
class BattleCounts(Statistic):
    """Counts of battles by their two systems and the outcome, for the C non-empty cells.

    Parameters
    ----------
    systems : tuple of str
        Names of the K systems.
    first_of, second_of : ndarray of shape (C,)
        First and second system of each cell, as indices into ``systems``.
    outcome_of : ndarray of shape (C,)
        Outcome for the first system: 2 for a win, 1 for a tie, 0 for a loss.
    battles : ndarray of shape (C,)
        Number of battles in each cell.
    weight, squares : ndarray of shape (C,)
        Sums of the weights of these battles, and of the squared weights.

    Examples
    --------
    >>> counts = BattleCounts.from_codes(
    ...     np.array([0, 1, 0]), np.array([1, 0, 1]), np.array([2, 1, 2]), ("a", "b")
    ... )
    >>> counts.battles.tolist(), counts.records()[0].tolist()
    ([2.0, 1.0], [2.0, 1.0, 0.0])
    """

    systems: tuple[str, ...]
    first_of: IntArray
    second_of: IntArray
    outcome_of: IntArray
    battles: FloatArray
    weight: FloatArray
    squares: FloatArray

    @classmethod
    def from_codes(
        cls,
        first: npt.NDArray[np.integer[Any]],
        second: npt.NDArray[np.integer[Any]],
        outcome: npt.NDArray[np.integer[Any]],
        systems: Sequence[str],
        weight: FloatArray | None = None,
        battles: FloatArray | None = None,
    ) -> Self:
        """Count battles by systems and outcome.

        Parameters
        ----------
        first, second : ndarray of shape (n,)
            Systems of each battle, as indices.
        outcome : ndarray of shape (n,)
            Outcome for the first system: 2 for a win, 1 for a tie, 0 for a loss.
        systems : sequence of str
            Names of the systems.
        weight : ndarray of shape (n,), optional
            Weight of each battle. By default it is 1.
        battles : ndarray of shape (n,), optional
            Number of identical battles that each entry stands for. By default it is 1.

        Returns
        -------
        BattleCounts
            Counts of the battles.
        """
        cell = cell_codes(first, second, outcome, len(systems))
        totals = np.ones(len(cell)) if weight is None else weight
        squares = totals if weight is None else np.square(weight)
        if battles is not None:
            totals, squares = totals * battles, squares * battles
        sums = [battles, totals, None if weight is None else squares]
        return cls._from_cells(cell, tuple(systems), sums)

    @classmethod
    def _from_cells(
        cls,
        cell: npt.NDArray[np.integer[Any]],
        systems: tuple[str, ...],
        sums: Sequence[FloatArray | None],
    ) -> Self:
        """Add up numbers of battles, weights and squares by cell; None stands for the one before.

        The first may be None as well, for one battle in each entry.
        """
        n_cells = len(systems) ** 2 * _N_OUTCOMES
        if n_cells <= max(_MAX_CELLS, _CELLS_PER_BATTLE * len(cell)):
            codes = np.flatnonzero(np.bincount(cell, minlength=n_cells))
            inverse, size = cell, n_cells
        else:
            codes, inverse = np.unique(cell, return_inverse=True)
            size = len(codes)
        columns: list[FloatArray] = []
        for values in sums:
            if values is None and columns:
                columns.append(columns[-1])
                continue
            summed = np.bincount(inverse, values, size).astype(np.float64)
            columns.append(summed[codes] if size == n_cells else summed)
        pair, outcome = np.divmod(codes, _N_OUTCOMES)
        first, second = np.divmod(pair, max(len(systems), 1))
        return cls(systems, first, second, outcome, *columns)

    def __add__(self, other: Self) -> Self:
        systems = self.systems
        if systems != other.systems:
            systems = tuple(sorted({*self.systems, *other.systems}))
        cells = [counts._cells(systems) for counts in (self, other)]
        sums = [
            np.concatenate([getattr(self, name), getattr(other, name)])
            for name in ("battles", "weight", "squares")
        ]
        return self._from_cells(np.concatenate(cells), systems, sums)

    def _cells(self, systems: tuple[str, ...]) -> npt.NDArray[np.integer[Any]]:
        """Return the code of each cell among cells of these systems."""
        index_by_name = {name: index for index, name in enumerate(systems)}
        position = np.array([index_by_name[name] for name in self.systems], np.int64)
        first, second = position[self.first_of], position[self.second_of]
        return cell_codes(first, second, self.outcome_of, len(systems))

    def without_order(self) -> Self:
        """Return the counts without the order of the systems of a battle.

        Returns
        -------
        BattleCounts
            The same battles, in cells whose first system comes before the second one.
        """
        is_reversed = self.first_of > self.second_of
        first = np.where(is_reversed, self.second_of, self.first_of)
        second = np.where(is_reversed, self.first_of, self.second_of)
        outcome = np.where(is_reversed, WIN - self.outcome_of, self.outcome_of)
        cell = cell_codes(first, second, outcome, len(self.systems))
        return self._from_cells(cell, self.systems, [self.battles, self.weight, self.squares])

    def select_systems(self, indices: npt.NDArray[np.intp]) -> Self:
        """Return the counts of the battles among some of the systems.

        Parameters
        ----------
        indices : ndarray of int
            Indices of the systems.

        Returns
        -------
        BattleCounts
            Counts of the battles whose systems are both among them, in this order.
        """
        position = np.full(len(self.systems), -1)
        position[indices] = np.arange(len(indices))
        first, second = position[self.first_of], position[self.second_of]
        is_selected = (first >= 0) & (second >= 0)
        return replace(
            self,
            systems=tuple(self.systems[index] for index in indices),
            first_of=first[is_selected],
            second_of=second[is_selected],
            outcome_of=self.outcome_of[is_selected],
            battles=self.battles[is_selected],
            weight=self.weight[is_selected],
            squares=self.squares[is_selected],
        )

    def records(self) -> FloatArray:
        """Return the record of each system.

        Returns
        -------
        ndarray of shape (K, 3)
            Numbers of battles that each system won, tied and lost.
        """
        table = np.zeros((len(self.systems), _N_OUTCOMES))
        np.add.at(table, (self.first_of, WIN - self.outcome_of), self.battles)
        np.add.at(table, (self.second_of, self.outcome_of), self.battles)
        return table
