"""Results as tidy tables, with a fixed order of rows and fixed column types."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from pathlib import Path

    import pandas as pd
    import pyarrow as pa

#: Types of columns: text, numbers (NaN where undefined), counts, counts that may be missing.
TEXT, NUMBER, COUNT, COUNT_OR_NONE = "text", "number", "count", "count or none"


#: Names of the columns that are not of type NUMBER, by type.
_COLUMNS_BY_TYPE = {
    TEXT: "system baseline measure contrast column slice unit method difference_method test "
    "alternative "
    "adjustment margin_test undefined bounds_kind requested_name "
    "cost_measure dominated_by significantly_dominated_by lowest highest",
    COUNT: "n n_total rest front planned",
    COUNT_OR_NONE: "wins ties losses",
}
_TYPE_BY_COLUMN = {name: kind for kind, names in _COLUMNS_BY_TYPE.items() for name in names.split()}


def column_types(columns: Iterable[str]) -> dict[str, str]:
    """Return the type of each column, which its name determines."""
    return {name: _TYPE_BY_COLUMN.get(name, NUMBER) for name in columns}


def format_reasons(undefined: Mapping[str, int]) -> str:
    """Return the reasons for undefined values and their counts as the text of a cell."""
    return "; ".join(f"{reason}: {n}" for reason, n in undefined.items())


class TidyResult:
    """Base class of results that can be represented as tidy rows."""

    __slots__ = ()

    def rows(self) -> list[dict[str, Any]]:
        """Return the tidy rows.

        Returns
        -------
        list of dict
            Rows by column, with the columns of :meth:`kinds`.
        """
        raise NotImplementedError

    def kinds(self) -> Mapping[str, str]:
        """Return the columns of :meth:`rows` in order, and the type of each.

        Returns
        -------
        mapping of str to str
            Type by column, in the order of the columns: ``"text"``, ``"number"``, ``"count"`` or
            ``"count or none"``.
        """
        raise NotImplementedError

    def to_format(
        self,
        format: str,  # noqa: A002
        path: str | Path | None = None,
        **options: Any,
    ) -> str:
        """Return the result as a document in one of the output formats.

        Parameters
        ----------
        format : str
            ``"table"`` (text), ``"markdown"``, ``"latex"``, ``"typst"``, ``"org"``, ``"html"``, or
            a format that another package provides.
        path : str or Path, optional
            File to which the document is written as well.
        **options
            Options of :meth:`to_text` and its like: ``layout``, ``orientation``, ``intervals``.

        Returns
        -------
        str
            The document.

        Raises
        ------
        InputError
            If there is no such format; the message lists those that exist.

        Examples
        --------
        >>> import calipers as cal
        >>> ev = cal.regression([1.0, 2.0, 4.0], [1.0, 2.0, 3.5], measures=["MAE"])
        >>> print(ev.to_format("typst").splitlines()[0])
        = Regression: system, 1 measure
        """
        from calipers.report.documents import render
        from calipers.report.output_files import save_text

        return save_text(render(self, format, **options), path)

    def __str__(self) -> str:
        return self.to_format("table")

    def __repr__(self) -> str:
        from calipers.report.documents import console_text

        return console_text(self)

    def _repr_html_(self) -> str:
        from calipers.report.documents import notebook_cell

        return notebook_cell(self)

    def columns_of_rows(self) -> Mapping[str, list[Any]]:
        """Return the tidy rows by column.

        Returns
        -------
        mapping of str to list
            Values of each column of :meth:`kinds`, row by row.
        """
        rows = self.rows()
        return {name: [row[name] for row in rows] for name in self.kinds()}

    def to_arrow(self) -> pa.Table:
        """Return the tidy rows as an Arrow table; undefined values are null.

        Returns
        -------
        pyarrow.Table
            Table with the columns of :meth:`kinds`: text as strings, numbers as doubles, and counts
            as 64-bit integers.
        """
        import pyarrow as pa

        types = {TEXT: pa.string(), NUMBER: pa.float64()}
        arrays, kinds = {}, self.kinds()
        for name, values in self.columns_of_rows().items():
            column = np.array(values, np.float64) if kinds[name] == NUMBER else values
            mask = np.isnan(column) if isinstance(column, np.ndarray) else None
            arrays[name] = pa.array(column, types.get(kinds[name], pa.int64()), mask=mask)
        return pa.table(arrays)

    def to_frame(self) -> pd.DataFrame:
        """Return the tidy rows as a pandas DataFrame.

        For polars, use ``polars.DataFrame(result.to_arrow())``.

        Returns
        -------
        DataFrame
            Table with the columns of :meth:`kinds`: numbers as ``float64`` (NaN where undefined),
            counts as ``int64``, and counts that may be missing as ``Int64``.
        """
        import pandas as pd

        types = {NUMBER: "float64", COUNT: "int64", COUNT_OR_NONE: "Int64"}
        text, kinds = pd.Series([""]).dtype, self.kinds()
        columns = {
            name: pd.Series(values, dtype=types.get(kinds[name], text))
            for name, values in self.columns_of_rows().items()
        }
        frame: pd.DataFrame = pd.DataFrame(columns)
        return frame

    def to_csv(self) -> str:
        """Return the tidy rows as CSV in full precision; undefined values are empty.

        Returns
        -------
        str
            The text of the CSV file, with a line of headings.
        """
        from calipers.report.spreadsheets import csv_text

        return csv_text(self.rows(), self.kinds())
