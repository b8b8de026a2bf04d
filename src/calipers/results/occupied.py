"""Which classes are taken for which, where there are many: the cells that hold rows."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np

from calipers.results.confusion import AnyConfusion, Confusion
from calipers.results.fields import FloatArray, Level
from calipers.results.forms import Form, Json, Positions, Schema, form_of
from calipers.results.written import repeated

if TYPE_CHECKING:
    from typing_extensions import Self


@dataclass(frozen=True, slots=True, eq=False)
class OccupiedConfusion(AnyConfusion):
    """The confusion matrix of one system on more than a hundred classes.

    Of K² cells most hold no row; kept are those that do. ``truth`` and ``predicted`` (C,) are the
    classes of each such cell, as positions in ``labels``, in the order of the matrix; ``cells``,
    ``cell_low`` and ``cell_high`` its count and the limits of its share of the true class.
    ``empty_high`` (K,) is the upper limit of the empty cells of each true class, whose lower one
    is 0. ``counts``, ``low`` and ``high`` are the whole arrays, made whenever they are asked for:
    of ten thousand classes each takes 800 MB.
    """

    system: str
    labels: tuple[str, ...]
    truth: Positions
    predicted: Positions
    cells: FloatArray
    cell_low: FloatArray
    cell_high: FloatArray
    empty_high: FloatArray
    level: Level = 0.95
    per_class: Mapping[str, FloatArray] = field(default_factory=dict)

    def __repr__(self) -> str:
        return (
            f"{type(self).__name__}({self.system!r}, {len(self.labels)} classes, "
            f"{len(self.cells)} cells)"
        )

    def _array(self, cells: FloatArray, empty: FloatArray | float) -> FloatArray:
        k = len(self.labels)
        out = np.empty((k, k))
        out[:] = np.reshape(empty, (-1, 1))
        out[self.truth, self.predicted] = cells
        return out

    @property
    def counts(self) -> FloatArray:
        """The whole matrix."""
        return self._array(self.cells, 0.0)

    @property
    def low(self) -> FloatArray:
        """The lower limits of all cells."""
        return self._array(self.cell_low, np.where(np.isnan(self.empty_high), np.nan, 0.0))

    @property
    def high(self) -> FloatArray:
        """The upper limits of all cells."""
        return self._array(self.cell_high, self.empty_high)

    def occupied(self) -> tuple[Positions, Positions, FloatArray]:
        """True class, predicted class and count of each cell that holds rows."""
        return self.truth, self.predicted, self.cells

    def margins(self) -> tuple[FloatArray, FloatArray]:
        """How often each class is true, and how often predicted."""
        k = len(self.labels)
        return (
            np.bincount(self.truth, self.cells, k).astype(np.float64),
            np.bincount(self.predicted, self.cells, k).astype(np.float64),
        )

    def reordered(self, order: Sequence[int] | None = None) -> Self:
        """The same matrix with its classes in another order, that of :attr:`order` unless given."""
        order = self._checked(order)
        place = np.empty(len(order), np.int64)
        place[order] = np.arange(len(order))
        truth, predicted = place[self.truth], place[self.predicted]
        ascending = np.lexsort((predicted, truth))
        return replace(
            self,
            truth=truth[ascending],
            predicted=predicted[ascending],
            cells=self.cells[ascending],
            cell_low=self.cell_low[ascending],
            cell_high=self.cell_high[ascending],
            empty_high=self.empty_high[order],
            **self._of_classes(order),
        )

    def rows(self) -> list[dict[str, Any]]:
        """Tidy rows: each cell that holds rows, with its share of the true class and the limits of
        that."""
        return self._tidy(self.truth, self.predicted, self.cells, self.cell_low, self.cell_high)

    def inconsistencies(self) -> Iterator[tuple[str, str]]:
        """Cells that are none of the matrix or stand twice, columns of other lengths."""
        yield from repeated(self.labels, "labels")
        k, cells = len(self.labels), len(self.truth)
        for name in ("predicted", "cells", "cell_low", "cell_high"):
            if len(getattr(self, name)) != cells:
                yield name, f"expected {cells} numbers, found {len(getattr(self, name))}"
                return
        of_class = {"empty_high": self.empty_high}
        of_class |= {f"per_class.{name}": values for name, values in self.per_class.items()}
        for name, values in of_class.items():
            if len(values) != k:
                yield name, f"expected {k} numbers, found {len(values)}"
        for name in ("truth", "predicted"):
            place = getattr(self, name)
            if ((place < 0) | (place >= k)).any():
                yield name, f"expected positions of the {k} labels, 0 to {k - 1}"
        if (np.diff(self.truth * max(k, 1) + self.predicted) <= 0).any():
            yield "truth", "expected the cells in the order of the matrix, each once"


class OfFewOrMany(Form):
    """The confusion matrix of few classes or of many, told by its keys."""

    def plain(self, value: Any, *, details: bool) -> Json:
        """The object of either."""
        return form_of(type(value)).plain(value, details=details)

    def read(self, data: Json, path: str) -> AnyConfusion:
        """Whichever it is."""
        many = isinstance(data, Mapping) and "cells" in data
        found: AnyConfusion = form_of(OccupiedConfusion if many else Confusion).read(data, path)
        return found

    def schema(self, defs: dict[str, Schema]) -> Schema:
        """Either."""
        return {"anyOf": [form_of(cls).schema(defs) for cls in (Confusion, OccupiedConfusion)]}


#: A confusion matrix, as results hold it.
FewOrMany = Annotated[AnyConfusion, OfFewOrMany]
