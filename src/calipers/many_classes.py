"""The confusion matrix of many classes as a result: the cells that hold rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from calipers.results import Confusion, FloatArray

IntArray = npt.NDArray[np.int64]


class OccupiedConfusion(Confusion):
    """The confusion matrix of one system on more than a hundred classes.

    Of K² cells most hold no row; kept are those that do. ``truth`` and ``predicted`` (C,) are the
    classes of each such cell, as positions in ``labels``, in the order of the matrix; ``cells``,
    ``cell_low`` and ``cell_high`` its count and the limits of its share of the true class.
    ``empty_high`` (K,) is the upper limit of the empty cells of each true class, whose lower one
    is 0. ``counts``, ``low`` and ``high`` are the whole arrays, made whenever they are asked for:
    of ten thousand classes each takes 800 MB.
    """

    __slots__ = ("cell_high", "cell_low", "cells", "empty_high", "predicted", "truth")

    truth: IntArray
    predicted: IntArray
    cells: FloatArray
    cell_low: FloatArray
    cell_high: FloatArray
    empty_high: FloatArray

    def __init__(
        self,
        system: str,
        labels: tuple[str, ...],
        truth: IntArray,
        predicted: IntArray,
        cells: FloatArray,
        cell_low: FloatArray,
        cell_high: FloatArray,
        empty_high: FloatArray,
        level: float,
        per_class: Mapping[str, FloatArray],
    ) -> None:
        values = {name: value for name, value in locals().items() if name in _NAMES}
        for name, value in values.items():
            object.__setattr__(self, name, value)

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), tuple(getattr(self, name) for name in _NAMES)

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

    def occupied(self) -> tuple[IntArray, IntArray, FloatArray]:
        """True class, predicted class and count of each cell that holds rows."""
        return self.truth, self.predicted, self.cells

    def margins(self) -> tuple[FloatArray, FloatArray]:
        """How often each class is true, and how often predicted."""
        k = len(self.labels)
        return (
            np.bincount(self.truth, self.cells, k).astype(np.float64),
            np.bincount(self.predicted, self.cells, k).astype(np.float64),
        )

    def reordered(self, order: Sequence[int] | None = None) -> OccupiedConfusion:
        """The same matrix with its classes in another order, that of :attr:`order` unless given."""
        order = list(self.order if order is None else order)
        k = len(self.labels)
        if sorted(order) != list(range(k)):
            raise ValueError(f"order is {order}, expected each of 0 to {k - 1} once")
        place = np.empty(k, np.int64)
        place[order] = np.arange(k)
        truth, predicted = place[self.truth], place[self.predicted]
        ascending = np.lexsort((predicted, truth))
        return OccupiedConfusion(
            self.system,
            tuple(self.labels[i] for i in order),
            truth[ascending],
            predicted[ascending],
            self.cells[ascending],
            self.cell_low[ascending],
            self.cell_high[ascending],
            self.empty_high[order],
            self.level,
            {name: values[order] for name, values in self.per_class.items()},
        )

    def rows(self) -> list[dict[str, Any]]:
        """Tidy rows: each cell that holds rows, with its share of the true class and the limits of
        that."""
        share = self.cells / self.margins()[0][self.truth]
        columns = (self.truth, self.predicted, self.cells, share, self.cell_low, self.cell_high)
        return [
            {
                "system": self.system,
                "truth": self.labels[true],
                "predicted": self.labels[predicted],
                "count": count,
                "share": part,
                "low": low,
                "high": high,
            }
            for true, predicted, count, part, low, high in zip(
                *(column.tolist() for column in columns), strict=True
            )
        ]

    def to_dict(self) -> dict[str, Any]:
        """Plain data for JSON: ``cells`` are lists of true class, predicted class, count and
        limits, the classes as positions in ``labels``."""
        limits = (_optional(column) for column in (self.cell_low, self.cell_high))
        columns = (self.truth.tolist(), self.predicted.tolist(), self.cells.tolist(), *limits)
        return {
            "system": self.system,
            "labels": list(self.labels),
            "cells": [list(cell) for cell in zip(*columns, strict=True)],
            "empty_high": _optional(self.empty_high),
            "level": self.level,
            "per_class": {name: _optional(values) for name, values in self.per_class.items()},
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> OccupiedConfusion:
        """The matrix that :meth:`to_dict` wrote."""
        table = np.array(data["cells"], np.float64).reshape(-1, 5).T
        return cls(
            data["system"],
            tuple(data["labels"]),
            table[0].astype(np.int64),
            table[1].astype(np.int64),
            table[2],
            table[3],
            table[4],
            np.array(data["empty_high"], np.float64),
            data["level"],
            {name: np.array(values, np.float64) for name, values in data["per_class"].items()},
        )


_NAMES = (
    *("system", "labels", "truth", "predicted", "cells", "cell_low", "cell_high", "empty_high"),
    *("level", "per_class"),
)


def _optional(values: FloatArray) -> list[float | None]:
    """NaN as nothing."""
    return [None if x != x else x for x in values.tolist()]
