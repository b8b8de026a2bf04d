"""Training series of forecasts, and the errors of their naive forecasts."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from calipers.data.arrays import Floats, check_length, is_frame, to_quantities
from calipers.data.categories import CategoryColumns
from calipers.data.class_labels import encode_labels, find_label, label_index
from calipers.data.columns import to_table
from calipers.data.errors import InputError, did_you_mean, format_value
from calipers.lazy_dataclasses import dataclass


@dataclass(frozen=True, eq=False)
class TrainingSeries:
    """Errors of the naive forecast on training series.

    The naive forecast of a value is the value of ``season`` time steps ago.

    Attributes
    ----------
    names : tuple of str
        Names of the series; empty if there is only one series, without a name.
    errors : array of shape (n_series, 2)
        Mean absolute error, and root mean squared error, of each series.
    season : int
        Number of time steps in a season.
    """

    names: tuple[str, ...]
    errors: Floats
    season: int

    @property
    def digest(self) -> str:
        """Digest of the series and their errors."""
        from hashlib import sha256

        content = repr((self.names, self.errors.tolist()))
        return sha256(content.encode()).hexdigest()[:16]

    def row_errors(self, series: Any, n_rows: int) -> Floats:
        """Return the errors of the series of each row.

        Parameters
        ----------
        series : column or None
            Series of each row; None if the rows are those of the only series.
        n_rows : int
            Number of rows.

        Returns
        -------
        ndarray of shape (n_rows, 2)
            Errors of each row.

        Raises
        ------
        InputError
            If a series has no training data.
        """
        if not self.names:
            return np.repeat(self.errors[:1], n_rows, axis=0)
        encoded, positions = encode_labels(series, "series"), label_index(self.names)
        check_length(encoded.codes, n_rows, "series")
        indices = [find_label(positions, name) for name in encoded.names]
        for name, index in zip(encoded.names, indices, strict=True):
            if index is None:
                suggestion = did_you_mean(name, self.names)
                raise InputError(f"series: {name!r} is not in training=; {suggestion}")
        return np.asarray(self.errors[np.array(indices, np.intp)[encoded.codes]])


def read_training_series(
    training: Any, season: int, series: Any = None, truth: Any = None
) -> TrainingSeries:
    """Read training series, and compute the errors of their naive forecasts.

    Parameters
    ----------
    training : array, mapping, data frame or path
        Values of one series in the order of time; those of several by their names; or a table with
        the columns ``truth`` and ``series``, in which the rows of each series are in that order.
    season : int
        Number of time steps in a season.
    series : object, optional
        Series of the rows that are evaluated, or the name of their column.
    truth : object, optional
        Truth of the rows that are evaluated, or the name of its column.

    Returns
    -------
    TrainingSeries
        Errors by series.

    Raises
    ------
    InputError
        If a series is too short or has missing values, or the columns of a table are not known.
    """
    if season < 1:
        raise InputError(f"season is {season}, expected a number of time steps, 1 or more")
    if _is_table(training, series, truth):
        values, codes, names = _read_columns(training, series, truth)
        by_name = {name: values[codes == index] for index, name in enumerate(names)}
    elif isinstance(training, Mapping):
        by_name = {
            str(name): to_quantities(values, f"training {str(name)!r}")
            for name, values in training.items()
        }
    else:
        by_name = {"": to_quantities(training, "training")}
    if not by_name:
        raise InputError("training: is empty, expected at least one series")
    has_names = list(by_name) != [""]
    if has_names and series is None:
        raise InputError("training: has series by name; expected series=, the series of each row")
    if series is not None and not has_names:
        raise InputError(
            "series: training= is one series without a name; expected a dict from the names of "
            "series to their values, or a table"
        )
    errors = [_naive_errors(values, season, name) for name, values in by_name.items()]
    return TrainingSeries(tuple(by_name) if has_names else (), np.array(errors), season)


def _is_table(training: Any, series: Any, truth: Any) -> bool:
    """Return whether training data are a table, or a dict of its columns."""
    if isinstance(training, str | os.PathLike) or is_frame(training):
        return True
    names = [name for name in (series, truth) if isinstance(name, str)]
    return isinstance(training, Mapping) and bool(names) and set(names) <= set(training)


def _read_columns(
    training: Any, series: Any, truth: Any
) -> tuple[Floats, npt.NDArray[np.integer[Any]], tuple[str, ...]]:
    """Return the values in a table, the series of each as an index, and the names of the series."""
    for role, name in (("truth", truth), ("series", series)):
        if not (isinstance(name, str) or (name is None and role == "series")):
            raise InputError(
                f"training: is a table, whose columns have the names of those in data=, but {role} "
                f"is of type {type(name).__name__}; expected the name of a column, or training= as "
                "a dict from the names of series to their values"
            )
    columns = {"truth": truth} if series is None else {"truth": truth, "series": series}
    categories = CategoryColumns.from_roles(columns, ("series",)).select
    table = to_table(training, "training", lambda _: list(columns.values()), categories)
    for role, name in columns.items():
        if name not in table.column_names:
            raise InputError(
                f"training: has no column {format_value(name)} ({role}); "
                f"{did_you_mean(name, table.column_names)}"
            )
    values = to_quantities(table[truth], f"training {truth!r}")
    if series is None:
        return values, np.zeros(len(values), np.intp), ("",)
    encoded = encode_labels(table[series], f"training {series!r}")
    return values, encoded.codes, encoded.names


def _naive_errors(values: Floats, season: int, name: str) -> tuple[float, float]:
    """Return the mean absolute and the root mean squared error of the naive forecast."""
    if len(values) <= season:
        title = f"training {name!r}" if name else "training"
        raise InputError(
            f"{title}: has {len(values)} values, expected more than season={season}, so that there "
            "is a naive forecast"
        )
    error = np.abs(values[season:] - values[:-season])
    return float(error.mean()), float(np.sqrt(np.square(error).mean()))
