"""What a system does with each label, where a row may have several, cluster, or rater."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, overload

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


#: What is counted of each line of a table, by what the line is of.
COUNTED = {
    "label": "rows",
    "class": "rows",
    "cluster": "points",
    "rater": "ratings",
    "pair": "items",
}


@dataclass(frozen=True, slots=True, eq=False)
class LabelTable(JsonSerializable):
    """What one system does with each label, where a row may have several; each cluster of one; or
    each rater, or pair of raters, of a set of them.

    ``truth`` is how many rows (or how much weight) have each label. ``counts`` are those of the
    four cells, ``"TP"``, ``"FP"``, ``"FN"`` and ``"TN"``, of each label; empty where a system names
    no labels. ``values``, ``low`` and ``high`` are by measure, an entry a label; NaN where there is
    no value or no interval. ``of`` is ``"label"``, ``"class"`` (each against the rest),
    ``"cluster"``, ``"rater"`` or ``"pair"``; of a cluster ``truth`` is how many points it has, and
    ``counts`` how many are of each class, where that is known; of a rater how many ratings, and of
    each category; of a pair how many items both rated.

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
    of: Annotated[str, Choices(tuple(COUNTED))] = "label"

    @property
    def heads(self) -> tuple[str, ...]:
        """What the columns of ``counts`` are called in a table."""
        kind = {"cluster": "class ", "rater": "as "}.get(self.of, "")
        return tuple(f"{kind}{name}" for name in self.counts)

    def rows(self) -> list[dict[str, Any]]:
        """A row each: how many rows have it, its counts, its measures and their limits."""
        return [
            {
                "system": self.system,
                self.of: label,
                "truth" if self.of == "label" else COUNTED[self.of]: float(self.truth[at]),
                **{
                    name: float(column[at])
                    for name, column in zip(self.heads, self.counts.values(), strict=True)
                },
                **{
                    f"{name}{end}": float(of[name][at])
                    for name in self.values
                    for end, of in (("", self.values), (" low", self.low), (" high", self.high))
                },
            }
            for at, label in enumerate(self.labels)
        ]

    def to_frame(self) -> pd.DataFrame:
        """The table as a pandas frame, a row a label."""
        import pandas as pd

        frame: pd.DataFrame = pd.DataFrame(self.rows())
        return frame

    def __str__(self) -> str:
        from calipers.report.class_tables import label_text

        return label_text(self)

    __repr__ = __str__

    def _repr_html_(self) -> str:
        from calipers.report.notebook_fragments import label_tables

        return label_tables([self])

    def inconsistencies(self) -> Iterator[tuple[str, str]]:
        """Not one number for each label, or measures without limits."""
        yield from duplicate_names(self.labels, "labels")
        columns = {"truth": self.truth}
        for of in ("counts", "values", "low", "high"):
            columns |= {f"{of}.{name}": column for name, column in getattr(self, of).items()}
        for name, column in columns.items():
            if len(column) != len(self.labels):
                yield name, f"expected {len(self.labels)} numbers, found {len(column)}"
        for end in ("low", "high"):
            if getattr(self, end).keys() != self.values.keys():
                yield end, f"expected the measures of values: {', '.join(self.values)}"


class LabelTables(Sequence[LabelTable]):
    """The tables of several systems; ``tables["forest"]`` is that of one."""

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
        """The rows of all."""
        return [row for table in self for row in table.rows()]

    def to_frame(self) -> pd.DataFrame:
        """The rows of all as one pandas frame."""
        import pandas as pd

        frame: pd.DataFrame = pd.DataFrame(self.rows())
        return frame

    def _repr_html_(self) -> str:
        from calipers.report.notebook_fragments import label_tables

        return label_tables(self)

    def __str__(self) -> str:
        return "\n\n".join(f"{table.system}\n\n{table}" for table in self)

    __repr__ = __str__
