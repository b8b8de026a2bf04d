"""Confusion matrices."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import field, replace
from typing import TYPE_CHECKING, Annotated, Any, overload

import numpy as np

from calipers.lazy_dataclasses import dataclass
from calipers.results.serialization import (
    Codec,
    FloatArray,
    IndexArray,
    IntArray,
    Json,
    JsonSerializable,
    Level,
    Matrix,
    Schema,
    check_orientation,
    codec_for,
    duplicate_names,
    find_system,
    get_item,
)

if TYPE_CHECKING:
    import pandas as pd
    from typing_extensions import Self

    from calipers.report.charts import Chart


#: Ways to normalize a confusion matrix, and the total by which cells are divided.
NORMALIZATIONS = {"truth": "the true class", "prediction": "the predicted class", "all": "all rows"}


class ConfusionBase(JsonSerializable):
    """Base class of confusion matrices, dense or sparse.

    Attributes
    ----------
    system : str
        Name of the system.
    labels : tuple of str
        Names of the classes.
    level : float
        Confidence level of the limits.
    per_class : mapping of str to ndarray of shape (K,)
        Values of each class against all other classes, by measure.
    """

    __slots__ = ()

    system: str
    labels: tuple[str, ...]
    level: float
    per_class: Mapping[str, FloatArray]

    if TYPE_CHECKING:

        @property
        def counts(self) -> FloatArray:
            """Number of rows of each true class that are predicted to be of each class."""

        @property
        def low(self) -> FloatArray:
            """Lower confidence limit of each cell as a proportion of its true class."""

        @property
        def high(self) -> FloatArray:
            """Upper confidence limit of each cell as a proportion of its true class."""

    @abstractmethod
    def occupied(self) -> tuple[IntArray, IntArray, FloatArray]:
        """Return true class, predicted class and count of each non-empty cell.

        Returns
        -------
        truth : ndarray of int, shape (C,)
            True class of each of the C non-empty cells, as an index into ``labels``.
        predicted : ndarray of int, shape (C,)
            Predicted class of each, as an index into ``labels``.
        counts : ndarray of shape (C,)
            Number of rows (or their total weight) in each.
        """

    @abstractmethod
    def margins(self) -> tuple[FloatArray, FloatArray]:
        """Return the number of rows of each true class and of each predicted class.

        Returns
        -------
        truth : ndarray of shape (K,)
            Number of rows (or their total weight) of each true class.
        predicted : ndarray of shape (K,)
            Number of rows (or their total weight) that are predicted to be of each class.
        """

    @abstractmethod
    def reordered(self, order: Sequence[int] | None = None) -> Self:
        """Return the same matrix with its classes in another order.

        Parameters
        ----------
        order : sequence of int, optional
            Permutation of the class indices. By default :attr:`order`.

        Returns
        -------
        ConfusionBase
            The reordered matrix.

        Raises
        ------
        ValueError
            If ``order`` is not a permutation of the class indices.
        """

    @abstractmethod
    def rows(self) -> list[dict[str, Any]]:
        """Return the cells as tidy rows, one row for each cell.

        Returns
        -------
        list of dict
            Columns of a row: ``system``, ``truth`` and ``predicted`` (names of classes), ``count``,
            ``share`` (its proportion of the true class), and the limits ``low`` and ``high`` of
            this proportion.
        """

    def _check_order(self, order: Sequence[int] | None) -> list[int]:
        order = list(self.order if order is None else order)
        if sorted(order) != list(range(len(self.labels))):
            raise ValueError(f"order is {order}, expected each of 0 to {len(self.labels) - 1} once")
        return order

    def _reorder_class_fields(self, order: list[int]) -> dict[str, Any]:
        per_class = {name: values[order] for name, values in self.per_class.items()}
        return {"labels": tuple(self.labels[i] for i in order), "per_class": per_class}

    def _tidy_rows(
        self,
        truth: IntArray,
        predicted: IntArray,
        counts: FloatArray,
        low: FloatArray,
        high: FloatArray,
    ) -> list[dict[str, Any]]:
        """Return a tidy row for each of the given cells."""
        with np.errstate(divide="ignore", invalid="ignore"):  # of a class without weight
            proportions = counts / self.margins()[0][truth]
        columns = {
            "truth": [self.labels[k] for k in truth],
            "predicted": [self.labels[k] for k in predicted],
            "count": counts.tolist(),
            "share": proportions.tolist(),
            "low": low.tolist(),
            "high": high.tolist(),
        }
        cells = zip(*columns.values(), strict=True)
        return [{"system": self.system, **dict(zip(columns, cell, strict=True))} for cell in cells]

    def table(self, orientation: str = "truth-rows", normalize: str | None = None) -> FloatArray:
        """Return the matrix as an array.

        Parameters
        ----------
        orientation : {"truth-rows", "predicted-rows"}, default="truth-rows"
            Whether the rows of the array are the true or the predicted classes.
        normalize : {"truth", "prediction", "all"}, optional
            Divide each cell by the total of its true class, of its predicted class, or of all
            cells. A proportion of an empty total is NaN. By default counts are returned.

        Returns
        -------
        ndarray of shape (K, K)
            The matrix.

        Raises
        ------
        ValueError
            If ``orientation`` or ``normalize`` is not one of these values.
        """
        check_orientation(orientation)
        if normalize is not None and normalize not in NORMALIZATIONS:
            raise ValueError(
                f"normalize is {normalize!r}, expected one of {(*NORMALIZATIONS, None)}"
            )
        axis = {"truth": 1, "prediction": 0, "all": (0, 1), None: None}[normalize]
        table = self.counts
        if normalize is not None:
            with np.errstate(divide="ignore", invalid="ignore"):
                table = table / table.sum(axis=axis, keepdims=True)
        return np.asarray(table if orientation == "truth-rows" else table.T)

    @property
    def order(self) -> tuple[int, ...]:
        """Order of the classes that places confused classes next to each other.

        In this order confusions form blocks along the diagonal.
        """
        from calipers.report.class_tables import block_order

        return block_order(self.counts)

    def class_rows(self) -> list[dict[str, Any]]:
        """Return a row for each class: how often it is true and predicted, and its measures.

        Returns
        -------
        list of dict
            Columns of a row: ``system``, ``class``, the numbers of rows of the true class
            (``truth``) and of the predicted class (``predicted``), and the measures of
            ``per_class`` by name.
        """
        truth, predicted = self.margins()
        return [
            {
                "system": self.system,
                "class": label,
                "truth": float(truth[k]),
                "predicted": float(predicted[k]),
                **{name: float(values[k]) for name, values in self.per_class.items()},
            }
            for k, label in enumerate(self.labels)
        ]

    def to_frame(self) -> pd.DataFrame:
        """Return the matrix as a pandas DataFrame, with a row for each true class.

        Returns
        -------
        DataFrame
            Counts; the index has the true classes, the columns the predicted ones.
        """
        import pandas as pd

        index = pd.Index(self.labels, name="truth")
        columns = pd.Index(self.labels, name="predicted")
        frame: pd.DataFrame = pd.DataFrame(self.counts, index=index, columns=columns)
        return frame

    def to_markdown(self, orientation: str = "truth-rows", normalize: str | None = None) -> str:
        """Return the matrix as a Markdown table.

        Parameters
        ----------
        orientation : {"truth-rows", "predicted-rows"}, default="truth-rows"
            Whether the rows of the table are the true or the predicted classes.
        normalize : {"truth", "prediction", "all"}, optional
            Total by which cells are divided, as in :meth:`table`. By default counts are shown.

        Returns
        -------
        str
            The Markdown text.
        """
        from calipers.report.class_tables import matrix_block
        from calipers.report.writers import get_writer

        return get_writer("markdown").write([matrix_block(self, orientation, normalize)]).rstrip()

    def chart(self) -> Chart:
        """Return a chart of the matrix.

        It is displayed in a notebook; ``save("matrix.svg")`` writes it to a file.

        Returns
        -------
        Chart
            Chart, as :meth:`Evaluation.chart` returns it.
        """
        from calipers.report.charts import confusions_chart

        return confusions_chart([self])

    def _repr_html_(self) -> str:
        from calipers.report.charts import confusions_fragment

        return confusions_fragment([self])

    def __str__(self) -> str:
        from calipers.report.class_tables import matrix_text

        return matrix_text(self)

    __repr__ = __str__


class ConfusionMatrices(Sequence[ConfusionBase]):
    """Confusion matrices of several systems, drawn in one figure.

    ``confusions["forest"]`` is the matrix of one system.

    Parameters
    ----------
    confusions : iterable of ConfusionBase
        Matrices of the systems, in the order in which they are drawn.
    """

    def __init__(self, confusions: Iterable[ConfusionBase]) -> None:
        self._confusions = tuple(confusions)

    @overload
    def __getitem__(self, key: int | str) -> ConfusionBase: ...
    @overload
    def __getitem__(self, key: slice) -> tuple[ConfusionBase, ...]: ...
    def __getitem__(self, key: int | str | slice) -> ConfusionBase | tuple[ConfusionBase, ...]:
        if not isinstance(key, str):
            return get_item(self._confusions, key, "a system, or an index")
        return find_system(self._confusions, key)

    def __len__(self) -> int:
        return len(self._confusions)

    def chart(self) -> Chart:
        """Return a chart of all matrices, one next to the other.

        See :meth:`ConfusionMatrixResult.chart`.

        Returns
        -------
        Chart
            Chart, as :meth:`Evaluation.chart` returns it.
        """
        from calipers.report.charts import confusions_chart

        return confusions_chart(self)

    def _repr_html_(self) -> str:
        from calipers.report.charts import confusions_fragment

        return confusions_fragment(self)

    def __str__(self) -> str:
        from calipers.report.safe_names import shorten_name

        return "\n\n".join(f"{shorten_name(matrix.system)}\n\n{matrix}" for matrix in self)

    __repr__ = __str__


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class ConfusionMatrixResult(ConfusionBase):
    """Confusion matrix of one system.

    Attributes
    ----------
    system : str
        Name of the system.
    labels : tuple of str
        Names of the classes.
    counts : ndarray of shape (K, K)
        ``counts[i, j]`` is the number (or the total weight) of the rows of class i that are
        predicted to be of class j.
    low, high : ndarray of shape (K, K)
        Wilson's confidence limits, at ``level``, of each cell as a proportion of its true class;
        NaN if there is no interval.
    level : float, default=0.95
        Confidence level.
    per_class : mapping of str to ndarray of shape (K,)
        Values of each class against all other classes, by measure.

    Examples
    --------
    >>> import calipers as cal
    >>> truth = ["cat", "cat", "dog", "fox"]
    >>> ev = cal.classification(truth, ["cat", "dog", "dog", "dog"], measures="accuracy")
    >>> ev.confusion.counts.tolist()
    [[1.0, 1.0, 0.0], [0.0, 1.0, 0.0], [0.0, 1.0, 0.0]]
    >>> ev.confusion.table(normalize="truth")[0].tolist()
    [0.5, 0.5, 0.0]
    >>> print(ev.confusion)
    truth \\ predicted  cat  dog  fox
    cat                  1    1    0
    dog                  0    1    0
    fox                  0    1    0
    """

    system: str
    labels: tuple[str, ...]
    counts: Matrix
    low: Matrix
    high: Matrix
    level: Level = 0.95
    per_class: Mapping[str, FloatArray] = field(default_factory=dict)

    def occupied(self) -> tuple[IntArray, IntArray, FloatArray]:
        """Return true class, predicted class and count of each non-empty cell.

        Returns
        -------
        truth : ndarray of int, shape (C,)
            True class of each of the C non-empty cells, as an index into ``labels``.
        predicted : ndarray of int, shape (C,)
            Predicted class of each, as an index into ``labels``.
        counts : ndarray of shape (C,)
            Number of rows (or their total weight) in each.
        """
        truth, predicted = np.nonzero(self.counts)
        return truth, predicted, self.counts[truth, predicted]

    def margins(self) -> tuple[FloatArray, FloatArray]:
        """Return the number of rows of each true class and of each predicted class.

        Returns
        -------
        truth : ndarray of shape (K,)
            Number of rows (or their total weight) of each true class.
        predicted : ndarray of shape (K,)
            Number of rows (or their total weight) that are predicted to be of each class.
        """
        return self.counts.sum(axis=1), self.counts.sum(axis=0)

    def reordered(self, order: Sequence[int] | None = None) -> Self:
        """Return the same matrix with its classes in another order.

        Parameters
        ----------
        order : sequence of int, optional
            Permutation of the class indices. By default :attr:`order`.

        Returns
        -------
        ConfusionMatrixResult
            Copy of the matrix with its rows, columns and labels in this order.

        Raises
        ------
        ValueError
            If ``order`` is not a permutation of the class indices.
        """
        order = self._check_order(order)
        counts, low, high = (a[np.ix_(order, order)] for a in (self.counts, self.low, self.high))
        return replace(
            self,
            counts=counts,
            low=low,
            high=high,
            **self._reorder_class_fields(order),
        )

    def rows(self) -> list[dict[str, Any]]:
        """Return a tidy row for each cell.

        Each row has the count, its proportion of the true class, and the limits of this proportion.

        Returns
        -------
        list of dict
            Columns of a row: ``system``, ``truth``, ``predicted``, ``count``, ``share`` (the
            proportion), ``low`` and ``high``.
        """
        truth, predicted = (code.ravel() for code in np.indices(self.counts.shape))
        cells = (column.ravel() for column in (self.counts, self.low, self.high))
        return self._tidy_rows(truth, predicted, *cells)

    def inconsistencies(self) -> Iterator[tuple[str, str]]:
        """Yield arrays that do not have one row and one column for each class.

        Yields
        ------
        path : str
            Path of the field in the result, such as ``"counts"``.
        problem : str
            What is wrong with the value of the field.
        """
        yield from duplicate_names(self.labels, "labels")
        k = len(self.labels)
        for name in ("counts", "low", "high"):
            if getattr(self, name).size != k * k or len(getattr(self, name)) != k:
                yield name, f"expected {k} rows of {k} numbers, for {k} labels"
        for name, values in self.per_class.items():
            if len(values) != k:
                yield f"per_class.{name}", f"expected {k} numbers, found {len(values)}"


@dataclass(frozen=True, slots=True, eq=False)
class SparseConfusion(ConfusionBase):
    """Sparse confusion matrix of one system, for more than a hundred classes.

    Most of the K² cells hold no row; only the C non-empty cells are stored. The properties
    ``counts``, ``low`` and ``high`` are dense arrays, computed on every access: with ten thousand
    classes each takes 800 MB.

    Attributes
    ----------
    system : str
        Name of the system.
    labels : tuple of str
        Names of the K classes.
    truth, predicted : ndarray of int, shape (C,)
        True and predicted class of each non-empty cell, as indices into ``labels``, in the order of
        the matrix.
    cells : ndarray of shape (C,)
        Count of each non-empty cell.
    cell_low, cell_high : ndarray of shape (C,)
        Confidence limits of each non-empty cell as a proportion of its true class.
    empty_high : ndarray of shape (K,)
        Upper limit of the empty cells of each true class; their lower limit is 0.
    level : float, default=0.95
        Confidence level.
    per_class : mapping of str to ndarray of shape (K,)
        Values of each class against all other classes, by measure.
    """

    system: str
    labels: tuple[str, ...]
    truth: IndexArray
    predicted: IndexArray
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

    def _to_dense(self, cells: FloatArray, empty: FloatArray | float) -> FloatArray:
        k = len(self.labels)
        out = np.empty((k, k))
        out[:] = np.reshape(empty, (-1, 1))
        out[self.truth, self.predicted] = cells
        return out

    @property
    def counts(self) -> FloatArray:
        """Dense matrix of counts."""
        return self._to_dense(self.cells, 0.0)

    @property
    def low(self) -> FloatArray:
        """Lower confidence limits of all cells."""
        return self._to_dense(self.cell_low, np.where(np.isnan(self.empty_high), np.nan, 0.0))

    @property
    def high(self) -> FloatArray:
        """Upper confidence limits of all cells."""
        return self._to_dense(self.cell_high, self.empty_high)

    def occupied(self) -> tuple[IndexArray, IndexArray, FloatArray]:
        """Return true class, predicted class and count of each non-empty cell.

        Returns
        -------
        truth : ndarray of int, shape (C,)
            True class of each of the C non-empty cells, as an index into ``labels``.
        predicted : ndarray of int, shape (C,)
            Predicted class of each, as an index into ``labels``.
        counts : ndarray of shape (C,)
            Number of rows (or their total weight) in each.
        """
        return self.truth, self.predicted, self.cells

    def margins(self) -> tuple[FloatArray, FloatArray]:
        """Return the number of rows of each true class and of each predicted class.

        Returns
        -------
        truth : ndarray of shape (K,)
            Number of rows (or their total weight) of each true class.
        predicted : ndarray of shape (K,)
            Number of rows (or their total weight) that are predicted to be of each class.
        """
        k = len(self.labels)
        return (
            np.bincount(self.truth, self.cells, k).astype(np.float64),
            np.bincount(self.predicted, self.cells, k).astype(np.float64),
        )

    def reordered(self, order: Sequence[int] | None = None) -> Self:
        """Return the same matrix with its classes in another order.

        Parameters
        ----------
        order : sequence of int, optional
            Permutation of the class indices. By default :attr:`order`.

        Returns
        -------
        SparseConfusion
            Copy of the matrix with its rows, columns and labels in this order.

        Raises
        ------
        ValueError
            If ``order`` is not a permutation of the class indices.
        """
        order = self._check_order(order)
        new_index = np.empty(len(order), np.int64)
        new_index[order] = np.arange(len(order))
        truth, predicted = new_index[self.truth], new_index[self.predicted]
        ascending = np.lexsort((predicted, truth))
        return replace(
            self,
            truth=truth[ascending],
            predicted=predicted[ascending],
            cells=self.cells[ascending],
            cell_low=self.cell_low[ascending],
            cell_high=self.cell_high[ascending],
            empty_high=self.empty_high[order],
            **self._reorder_class_fields(order),
        )

    def rows(self) -> list[dict[str, Any]]:
        """Return a tidy row for each non-empty cell.

        Each row has the count, its proportion of the true class, and the limits of this proportion.

        Returns
        -------
        list of dict
            Columns of a row: ``system``, ``truth``, ``predicted``, ``count``, ``share`` (the
            proportion), ``low`` and ``high``.
        """
        return self._tidy_rows(
            self.truth, self.predicted, self.cells, self.cell_low, self.cell_high
        )

    def inconsistencies(self) -> Iterator[tuple[str, str]]:
        """Yield columns of the wrong length, and cells that are duplicate or outside the matrix.

        Yields
        ------
        path : str
            Path of the field in the result, such as ``"cell_low"``.
        problem : str
            What is wrong with the value of the field.
        """
        yield from duplicate_names(self.labels, "labels")
        k, n_cells = len(self.labels), len(self.truth)
        for name in ("predicted", "cells", "cell_low", "cell_high"):
            if len(getattr(self, name)) != n_cells:
                yield name, f"expected {n_cells} numbers, found {len(getattr(self, name))}"
                return
        arrays_by_name = {"empty_high": self.empty_high}
        arrays_by_name |= {f"per_class.{name}": values for name, values in self.per_class.items()}
        for name, values in arrays_by_name.items():
            if len(values) != k:
                yield name, f"expected {k} numbers, found {len(values)}"
        for name in ("truth", "predicted"):
            indices = getattr(self, name)
            if ((indices < 0) | (indices >= k)).any():
                yield name, f"expected positions of the {k} labels, 0 to {k - 1}"
        if (np.diff(self.truth * max(k, 1) + self.predicted) <= 0).any():
            yield "truth", "expected the cells in the order of the matrix, each once"


class ConfusionCodec(Codec):
    """Codec of dense and sparse confusion matrices, distinguished by their keys."""

    def to_plain(self, value: Any, *, details: bool) -> Json:
        """Return the JSON object of either class."""
        return codec_for(type(value)).to_plain(value, details=details)

    def read(self, data: Json, path: str) -> ConfusionBase:
        """Return a sparse matrix if the data have the key ``cells``, else a dense one."""
        is_sparse = isinstance(data, Mapping) and "cells" in data
        confusion: ConfusionBase = codec_for(
            SparseConfusion if is_sparse else ConfusionMatrixResult
        ).read(data, path)
        return confusion

    def upgrade(self, data: Json) -> Json:
        """Return the data, which have the same names in both schemas."""
        return data

    def schema(self, defs: dict[str, Schema]) -> Schema:
        """Return the JSON Schema that accepts either class."""
        return {
            "anyOf": [
                codec_for(cls).schema(defs) for cls in (ConfusionMatrixResult, SparseConfusion)
            ]
        }


#: Type of a confusion matrix field, dense or sparse, with its codec.
SerializableConfusion = Annotated[ConfusionBase, ConfusionCodec]
