"""Columns of a feature table, as numbers and as codes of equal values."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from calipers.data.arrays import column_names, is_frame, missing_mask, take_rows, to_array
from calipers.data.errors import InputError
from calipers.lazy_dataclasses import dataclass
from calipers.learning.fitting import Indices
from calipers.report.numbers import format_number
from calipers.statistics import FloatArray

#: Numbers with more distinct values than this are compared as numbers, not as classes.
_MAX_CLASSES = 20
#: Values with a smaller expected count than this are merged when proportions are compared.
_MIN_EXPECTED_COUNT = 5.0
#: Minimum number of rows; with fewer, a feature may number them by chance.
_MIN_ROWS = 20


class ColumnShift(NamedTuple):
    """Comparison of a column between two subsets: p-value and description of the difference."""

    p: float
    description: str


@dataclass(frozen=True, eq=False)
class FeatureColumns:
    """Columns of features by name.

    ``values`` (rows, columns) are the values, NaN if missing, and for text the ``codes``.
    ``codes`` are equal if values are equal; missing values are equal to each other.
    ``texts_by_column`` are the distinct texts of each column in the order of their codes; a column
    of numbers has none.
    """

    names: tuple[str, ...]
    values: FloatArray
    codes: Indices
    numeric_mask: npt.NDArray[np.bool_]
    texts_by_column: tuple[tuple[str, ...], ...]

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return len(self.values)

    @classmethod
    def from_table(cls, features: Any) -> FeatureColumns:
        """Return the columns of a table, or of an array of rows and columns."""
        if is_frame(features):
            columns = [(str(name), features[name]) for name in column_names(features)]
        else:
            try:
                table = np.asarray(features)
            except (ValueError, TypeError):
                raise InputError("X: rows differ in length, expected a table") from None
            if table.ndim != 2:
                raise InputError(
                    f"X: has {table.ndim} dimensions, expected a table of rows and columns"
                )
            columns = [(f"column {k + 1}", table[:, k]) for k in range(table.shape[1])]
        if not columns or not len(columns[0][1]):
            raise InputError("X: is empty, expected rows and columns")
        encoded = [_encode_column(name, values) for name, values in columns]
        numbers, codes, numeric, distinct_texts = zip(*encoded, strict=True)
        names = tuple(name for name, _ in columns)
        tables = np.column_stack(numbers), np.column_stack(codes)
        return cls(names, *tables, np.array(numeric), distinct_texts)

    def row_codes(self, target: Any = None) -> Indices:
        """Return row codes, equal if rows are equal in all columns and in the target."""
        table = self.codes
        if target is not None:
            table = np.column_stack([table, np.unique(target, return_inverse=True)[1]])
        contiguous = np.ascontiguousarray(table)
        row_keys = contiguous.view(
            np.dtype((np.void, contiguous.dtype.itemsize * contiguous.shape[1]))
        ).ravel()
        return np.unique(row_keys, return_inverse=True)[1]

    def row_number_columns(self) -> Iterator[int]:
        """Yield the columns whose values are consecutive integers, each of which occurs once."""
        if self.n_rows < _MIN_ROWS:
            return
        for column in np.flatnonzero(self.numeric_mask):
            values = self.values[:, column]
            low = values.min()  # NaN where one is missing
            if low == np.floor(low) and (np.sort(values) == low + np.arange(self.n_rows)).all():
                yield int(column)

    def compare_subsets(self, train: Indices, test: Indices) -> Iterator[ColumnShift]:
        """Compare each column between training and test rows.

        Numbers with many distinct values are compared by the Kolmogorov-Smirnov test, other columns
        by Pearson's chi-square test of their proportions.
        """
        from scipy.stats import ks_2samp

        for column in range(len(self.names)):
            first, second = self.values[train, column], self.values[test, column]
            if self.numeric_mask[column] and len(np.unique(self.codes[:, column])) > _MAX_CLASSES:
                first, second = first[~np.isnan(first)], second[~np.isnan(second)]
                if not len(first) or not len(second):
                    yield ColumnShift(1.0, "all missing")
                    continue
                train_median, test_median = np.median(first), np.median(second)
                ks_test = ks_2samp(first, second, method="asymp")
                yield ColumnShift(
                    float(ks_test.pvalue),
                    f"median {format_number(train_median)} in training, "
                    f"{format_number(test_median)} in test",
                )
            else:
                yield _compare_proportions(self.codes[train, column], self.codes[test, column])


def _encode_column(name: str, values: Any) -> tuple[FloatArray, Indices, bool, tuple[str, ...]]:
    """Return a column's numbers, its codes, whether it is numeric, and its distinct texts."""
    label = f"X, {name}"
    present_indices = np.flatnonzero(~missing_mask(values, label))
    codes = np.full(len(values), -1, np.intp)
    numbers = np.full(len(values), np.nan)
    if not len(present_indices):
        return numbers, codes, True, ()
    array = to_array(take_rows(values, present_indices), label)
    if array.dtype.kind == "O" and all(isinstance(v, int | float | np.number) for v in array):
        array = array.astype(np.float64)
    is_numeric = array.dtype.kind in "fiub"
    distinct, codes[present_indices] = np.unique(
        array if is_numeric else array.astype(str), return_inverse=True
    )
    numbers[present_indices] = array if is_numeric else codes[present_indices]
    return numbers, codes, is_numeric, () if is_numeric else tuple(distinct.tolist())


def _compare_proportions(first: Indices, second: Indices) -> ColumnShift:
    """Test whether the proportions of values differ, with rare values pooled.

    Of rare values alone, such as the ids of rows, there is nothing to compare: each is in a single
    subset or in few rows, and those of a group are in one subset by design.
    """
    from scipy.stats import chi2_contingency

    values, codes = np.unique(np.concatenate([first, second]), return_inverse=True)
    counts = np.stack(
        [
            np.bincount(part_codes, minlength=len(values))
            for part_codes in np.split(codes, [len(first)])
        ]
    )
    min_expected = counts.sum(axis=0) * min(len(first), len(second)) / len(codes)
    rare = min_expected < _MIN_EXPECTED_COUNT
    labels = ["one value"] * int(np.count_nonzero(~rare))
    if rare.any():
        counts = np.column_stack([counts[:, ~rare], counts[:, rare].sum(axis=1)])
        labels.append("one value" if np.count_nonzero(rare) == 1 else "rare values")
    if counts.shape[1] < 2:
        return ColumnShift(1.0, f"{labels[0]} only")
    p = float(chi2_contingency(counts, correction=False).pvalue)
    proportions = counts / counts.sum(axis=1, keepdims=True)
    max_index = int(np.abs(proportions[0] - proportions[1]).argmax())
    return ColumnShift(
        p,
        f"{labels[max_index]}: {proportions[0, max_index]:.0%} in training, "
        f"{proportions[1, max_index]:.0%} in test",
    )
