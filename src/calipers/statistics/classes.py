"""Scores or probabilities of several classes, beside the class that each row is of."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from calipers.lazily import numpy as np
from calipers.statistics.base import FloatArray

if TYPE_CHECKING:
    import numpy.typing as npt
    from typing_extensions import Self


@dataclass(frozen=True, eq=False)
class ClassRows:
    """A table of shape (n, K), and what one pass over it says of each row.

    Losses per row are formulas over these columns, so that none goes over the table again.

    >>> rows = ClassRows.of(np.array([0, 2]), np.array([[0.75, 0.25, 0.0], [0.25, 0.25, 0.5]]))
    >>> rows.highest, rows.own, rows.other_squares
    (array([0, 2]), array([0.75, 0.5 ]), array([0.0625, 0.125 ]))
    """

    table: npt.NDArray[np.floating[Any]]
    #: The class of the highest value, the first of equals.
    highest: npt.NDArray[np.intp]
    #: The value of the class that the row is of.
    own: FloatArray
    #: The sum of the squares of the values of all other classes.
    other_squares: FloatArray

    @classmethod
    def of(cls, truth: npt.NDArray[Any], table: npt.NDArray[np.floating[Any]] | Self) -> Self:
        """Of the class of each row (n), as a position, and a table of any finite values (n, K)."""
        if isinstance(table, cls):
            return table
        from calipers import _core

        values: Any = table
        highest, own, squares, *_ = _core.class_rows(values, truth.astype(np.int64, copy=False))
        return cls(values, highest, own, squares)

    def taken(self, rows: npt.NDArray[np.bool_ | np.intp]) -> ClassRows:
        """Some of the rows."""
        return ClassRows(
            self.table[rows], self.highest[rows], self.own[rows], self.other_squares[rows]
        )
