"""Frequency weights: the number of rows that each row of the data represents."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from calipers.data.arrays import check_length, format_other_rows, take_rows, to_numbers, to_weights
from calipers.data.columns import InputColumns
from calipers.data.costs import NO_COSTS, Costs
from calipers.data.errors import InputError
from calipers.lazy_dataclasses import dataclass

if TYPE_CHECKING:
    import numpy.typing as npt

    from calipers.data.columns import Ids

#: Largest sum of counts. At the peak a row takes some 30 bytes if one system predicts labels, and
#: 110 if one has probabilities or two have scores: 3 to 11 GB.
MAX_ROWS = 100_000_000


@dataclass(frozen=True)
class RowInfo:
    """Ids of the rows and costs of the systems, as opposed to predictions.

    ``ids`` is () if rows are identified by their indices, and None if only their counts are known.
    """

    ids: Ids | None = ()
    costs: Costs = NO_COSTS


#: No ids and no costs.
NO_ROW_INFO = RowInfo()


@dataclass(frozen=True)
class RowRepeats:
    """Repetition of each row by its frequency weight.

    ``n_rows`` is the number of rows given, and ``row_indices`` the index of the given row for each
    repeated one; it is None if each row counts once.
    """

    n_rows: int
    row_indices: npt.NDArray[np.intp] | None = None

    @classmethod
    def from_counts(
        cls, count: Any, rows: int, weights: npt.NDArray[np.float64] | None = None
    ) -> RowRepeats:
        """Check a column of counts and make the repetition; a row of weight 0 is dropped."""
        if count is None and (weights is None or weights.all()):
            return cls(rows)
        counts = np.ones(rows, np.int64) if count is None else to_counts(count, "count")
        check_length(counts, rows, "count")
        row_indices = np.repeat(
            np.arange(rows), counts if weights is None else counts * (weights > 0)
        )
        if not len(row_indices):
            raise InputError("count: is 0 wherever weight= is not")
        return cls(rows, None if np.array_equal(row_indices, np.arange(rows)) else row_indices)

    def __call__(self, column: Any) -> Any:
        """Repeat the rows of a column, a table or a dict of them by their counts."""
        return column if self.row_indices is None else take_rows(column, self.row_indices)

    def input_row(self, row: int) -> int:
        """Return the index of the given row of a repeated row."""
        return row if self.row_indices is None else int(self.row_indices[row])

    def row_info(self, rows: InputColumns) -> RowInfo:
        """Return ids and costs of the repeated rows."""
        return RowInfo(self.ids(rows.remaining_ids()), rows.costs.to_numbers(self.n_rows, self))

    def ids(self, names: Ids | None) -> Ids | None:
        """Return the ids of the rows: () without ids, None if a row counts more than once."""
        if self.row_indices is None:
            return () if names is None else names
        if (np.diff(self.row_indices) == 0).any():
            return None
        return () if names is None else take_rows(names, self.row_indices)

    def repeat_column(self, column: Any, input_name: str) -> Any:
        """Check the length of a given column, and repeat its rows."""
        if self.row_indices is not None and hasattr(column, "__len__"):
            check_length(column, self.n_rows, input_name)
        return self(column)

    def repeat_slices(self, slices: Mapping[str, Mapping[str, Any]] | None) -> Any:
        """Repeat the columns of each slice definition."""
        return slices and {
            definition: {
                name: self.repeat_column(column, f"slice {name!r}")
                for name, column in columns.items()
            }
            for definition, columns in slices.items()
        }

    def check_weights(self, values: Any) -> npt.NDArray[np.float64] | None:
        """Check a column of weights, and repeat its rows; None if all are equal."""
        return self.repeat_weights(to_weights(values, self.n_rows))

    def repeat_weights(
        self, weights: npt.NDArray[np.float64] | None
    ) -> npt.NDArray[np.float64] | None:
        """Repeat checked weights for the rows that count; None if all are equal."""
        return weights if self.row_indices is None else to_weights(self(weights), self.n_repeated)

    @property
    def n_repeated(self) -> int:
        """Number of repeated rows."""
        return self.n_rows if self.row_indices is None else len(self.row_indices)


def to_counts(values: Any, input_name: str) -> npt.NDArray[np.int64]:
    """Convert a column to counts: whole numbers, not all 0, with a sum of at most ``MAX_ROWS``."""
    counts = check_counts(values, input_name)
    total = counts.sum()
    if total > MAX_ROWS:
        raise InputError(
            f"{input_name}: adds up to {total:,.0f} rows, expected at most {MAX_ROWS:,}; divide "
            "the counts and round them (intervals get wider), or give them as weight= with "
            "interval='none' (values are unchanged)"
        )
    if not total:
        raise InputError(f"{input_name}: all counts are 0")
    return counts.astype(np.int64)


def check_counts(values: Any, input_name: str) -> npt.NDArray[np.float64]:
    """Check that values are whole numbers of 0 or more, and return them."""
    counts = to_numbers(values, input_name).astype(np.float64)
    invalid_rows = np.flatnonzero((counts < 0) | (counts != np.floor(counts)))
    if len(invalid_rows):
        raise InputError(
            f"{input_name}: is {counts[invalid_rows[0]]:g} in row {invalid_rows[0]}"
            f"{format_other_rows(len(invalid_rows))}, expected a whole number of rows, 0 or more; "
            "weight= takes other numbers"
        )
    return counts
