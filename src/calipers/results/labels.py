"""Tables of labels, classes, clusters, raters or pairs of raters."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any, overload

from calipers.lazy_dataclasses import dataclass
from calipers.results.serialization import (
    Choices,
    FloatArray,
    JsonSerializable,
    Level,
    duplicate_names,
    find_system,
    get_item,
)

if TYPE_CHECKING:
    import pandas as pd


#: Headings of the sizes of table rows, by row kind.
SIZE_HEADINGS = {
    "label": "rows",
    "class": "rows",
    "cluster": "points",
    "rater": "ratings",
    "pair": "items",
}


@dataclass(frozen=True, slots=True, eq=False)
class LabelTable(JsonSerializable):
    """Table of one system: a row for each label, class, cluster, rater or pair of raters.

    Attributes
    ----------
    system : str
        Name of the system, or of the set of raters.
    labels : tuple of str
        Names of the lines.
    truth : ndarray of shape (K,)
        Number of rows (or their total weight) that have each label or class; number of points of
        each cluster; number of ratings of each rater; number of items that both raters of a pair
        rated.
    counts : mapping of str to ndarray of shape (K,)
        Counts ``"TP"``, ``"FP"``, ``"FN"`` and ``"TN"`` of each label or class, empty if the system
        predicts no labels; for clusters the number of points of each class, if classes are known;
        for raters the number of ratings of each category.
    values, low, high : mapping of str to ndarray of shape (K,)
        Values and confidence limits, by measure; NaN where there is no value or no interval.
    level : float, default=0.95
        Confidence level.
    row_kind : {"label", "class", "cluster", "rater", "pair"}
        What the lines are. With ``"class"`` each class is compared with all other classes.

    Examples
    --------
    >>> import calipers as cal
    >>> truth = [{"sun", "sea"}, {"sea"}, set(), {"sun"}]
    >>> ev = cal.multilabel(truth, [{"sun"}, {"sea"}, set(), {"sun", "sea"}])
    >>> row = ev.label_tables[0].rows()[0]
    >>> row["label"], row["TP"], row["FP"], row["FN"], row["TN"], row["recall"]
    ('sea', 1.0, 1.0, 1.0, 1.0, 0.5)
    """

    system: str
    labels: tuple[str, ...]
    truth: FloatArray
    counts: Mapping[str, FloatArray]
    values: Mapping[str, FloatArray]
    low: Mapping[str, FloatArray]
    high: Mapping[str, FloatArray]
    level: Level = 0.95
    row_kind: Annotated[str, Choices(tuple(SIZE_HEADINGS))] = "label"

    @property
    def count_headings(self) -> tuple[str, ...]:
        """Headings of the columns of ``counts`` in a table."""
        kind = {"cluster": "class ", "rater": "as "}.get(self.row_kind, "")
        return tuple(f"{kind}{name}" for name in self.counts)

    def rows(self) -> list[dict[str, Any]]:
        """Return a tidy row for each line: its size, its counts, its measures and their limits.

        Returns
        -------
        list of dict
            Columns of a row: ``system``; the name of the line, by what lines are (such as
            ``label``); its size; the counts; and each measure, followed by its limits ``… low`` and
            ``… high``.
        """
        return [
            {
                "system": self.system,
                self.row_kind: label,
                "truth" if self.row_kind == "label" else SIZE_HEADINGS[self.row_kind]: float(
                    self.truth[index]
                ),
                **{
                    name: float(column[index])
                    for name, column in zip(self.count_headings, self.counts.values(), strict=True)
                },
                **{
                    f"{name}{end}": float(values_by_measure[name][index])
                    for name in self.values
                    for end, values_by_measure in (
                        ("", self.values),
                        (" low", self.low),
                        (" high", self.high),
                    )
                },
            }
            for index, label in enumerate(self.labels)
        ]

    def to_frame(self) -> pd.DataFrame:
        """Return the table as a pandas DataFrame, with a row for each line.

        Returns
        -------
        DataFrame
            Table with the columns of :meth:`rows`.
        """
        import pandas as pd

        frame: pd.DataFrame = pd.DataFrame(self.rows())
        return frame

    def __str__(self) -> str:
        from calipers.report.class_tables import label_text

        return label_text(self)

    __repr__ = __str__

    def _repr_html_(self) -> str:
        from calipers.report.notebook_fragments import label_tables_fragment

        return label_tables_fragment([self])

    def inconsistencies(self) -> Iterator[tuple[str, str]]:
        """Yield columns of the wrong length, and limits of other measures than ``values``.

        Yields
        ------
        path : str
            Path of the field in the result, such as ``"values.recall"``.
        problem : str
            What is wrong with the value of the field.
        """
        yield from duplicate_names(self.labels, "labels")
        columns = {"truth": self.truth}
        for field_name in ("counts", "values", "low", "high"):
            columns |= {
                f"{field_name}.{name}": column for name, column in getattr(self, field_name).items()
            }
        for name, column in columns.items():
            if len(column) != len(self.labels):
                yield name, f"expected {len(self.labels)} numbers, found {len(column)}"
        for end in ("low", "high"):
            if getattr(self, end).keys() != self.values.keys():
                yield end, f"expected the measures of values: {', '.join(self.values)}"


class LabelTables(Sequence[LabelTable]):
    """Tables of several systems; ``tables["forest"]`` is the table of one system.

    Parameters
    ----------
    tables : iterable of LabelTable
        Tables of the systems, in the order in which they are shown.
    """

    def __init__(self, tables: Iterable[LabelTable]) -> None:
        self._tables = tuple(tables)

    @overload
    def __getitem__(self, key: int | str) -> LabelTable: ...
    @overload
    def __getitem__(self, key: slice) -> tuple[LabelTable, ...]: ...
    def __getitem__(self, key: int | str | slice) -> LabelTable | tuple[LabelTable, ...]:
        if not isinstance(key, str):
            return get_item(self._tables, key, "a system, or an index")
        return find_system(self, key)

    def __len__(self) -> int:
        return len(self._tables)

    def rows(self) -> list[dict[str, Any]]:
        """Return the tidy rows of all tables.

        Returns
        -------
        list of dict
            Rows as in :meth:`LabelTable.rows`, system by system.
        """
        return [row for table in self for row in table.rows()]

    def to_frame(self) -> pd.DataFrame:
        """Return the rows of all tables as one pandas DataFrame.

        Returns
        -------
        DataFrame
            Table with the columns of :meth:`LabelTable.rows`.
        """
        import pandas as pd

        frame: pd.DataFrame = pd.DataFrame(self.rows())
        return frame

    def _repr_html_(self) -> str:
        from calipers.report.notebook_fragments import label_tables_fragment

        return label_tables_fragment(self)

    def __str__(self) -> str:
        from calipers.report.safe_names import shorten_name

        return "\n\n".join(f"{shorten_name(table.system)}\n\n{table}" for table in self)

    __repr__ = __str__
