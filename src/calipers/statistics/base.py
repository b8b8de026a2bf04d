"""Base class of the statistics, which can be merged and serialised, and sums that they share."""

from __future__ import annotations

import io
import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields, replace
from typing import TYPE_CHECKING, Any, ClassVar, TypeAlias, TypeVar

from calipers.lazy_imports import numpy as np

if TYPE_CHECKING:
    import numpy.typing as npt
    from typing_extensions import Self

FloatArray: TypeAlias = "npt.NDArray[np.float64]"
IntArray: TypeAlias = "npt.NDArray[np.int64]"

S = TypeVar("S", bound=Any)

#: Smallest value in a geometric mean, as in trec_eval.
GEOMETRIC_FLOOR = 1e-5
#: Number of rows that are summed at a time, so that intermediate arrays fit into the processor's
#: cache and take little memory.
BLOCK_ROWS = 1 << 16


def row_blocks(n_rows: int, n_columns: int) -> Iterator[slice]:
    """Divide the rows of a matrix into blocks of at most :data:`BLOCK_ROWS` elements or one row."""
    step = max(BLOCK_ROWS // max(n_columns, 1), 1)
    for begin in range(0, n_rows, step):
        yield slice(begin, begin + step)


def column_sums(matrix: npt.NDArray[np.bool_], weight: FloatArray | None = None) -> FloatArray:
    """Return the number of rows that are true in each column, or the sum of their weights.

    Examples
    --------
    >>> matrix = np.array([[True, False], [True, True]])
    >>> column_sums(matrix), column_sums(matrix, np.array([0.5, 2.0]))
    (array([2., 1.]), array([2.5, 2. ]))
    """
    sums = np.zeros(matrix.shape[1])
    for rows in row_blocks(*matrix.shape):
        block = matrix[rows]
        sums += block.sum(axis=0) if weight is None else weight[rows] @ block.astype(np.float64)
    return sums


def dot(a: FloatArray, b: FloatArray | npt.NDArray[np.bool_]) -> float:
    """Compute the dot product Σaᵢbᵢ of two columns, on one thread.

    BLAS would divide a long column among all cores; waiting for them costs many times the sum
    itself if other work keeps them busy.

    Examples
    --------
    >>> dot(np.array([1.0, 2.0]), np.array([3.0, 4.0]))
    11.0
    """
    return float(np.einsum("i,i->", a, b))


def sample_quantiles(values: FloatArray, probabilities: Sequence[float]) -> FloatArray:
    """Compute quantiles of numbers as ``np.quantile`` does, which imports ``numpy.ma``.

    That takes longer than an evaluation of a thousand rows.

    Examples
    --------
    >>> sample_quantiles(np.array([3.0, 1.0, 2.0]), [0.5, 0.75])
    array([2. , 2.5])
    """
    indices = np.asarray(probabilities) * (len(values) - 1)
    below = np.floor(indices).astype(np.intp)
    above = np.minimum(below + 1, len(values) - 1)
    ordered = np.partition(values, [*below, *above, -1])
    if np.isnan(ordered[-1]):
        return np.full(len(indices), np.nan)
    low, high, fraction = ordered[below], ordered[above], indices - below
    step = high - low
    quantiles: FloatArray = np.where(
        fraction < 0.5, low + step * fraction, high - step * (1 - fraction)
    )
    return quantiles


def effective_size(weight: float | FloatArray, squares: float | FloatArray) -> float:
    """Compute Kish's effective number of rows from sums of weights.

    Parameters
    ----------
    weight : float or ndarray of shape ()
        Sum of the weights, Σw.
    squares : float or ndarray of shape ()
        Sum of the squared weights, Σw².

    Returns
    -------
    float
        Effective number of rows, (Σw)²/Σw²: the number of rows of equal weight that give a mean the
        same variance. It is 0 without weight.

    Examples
    --------
    >>> effective_size(4.0, 10.0)  # weights 1 and 3
    1.6
    """
    return float(weight**2 / squares) if squares > 0 else 0.0


def effective_size_from_weights(weight: FloatArray | IntArray) -> float:
    """Compute Kish's effective number of rows from the weights themselves.

    Parameters
    ----------
    weight : ndarray of shape (n,)
        Weights of the rows.

    Returns
    -------
    float
        Effective number of rows, (Σw)²/Σw²; 0 without weight.

    See Also
    --------
    effective_size : The same from sums of weights.
    """
    return effective_size(float(weight.sum()), float(np.square(weight).sum()))


def cell_sums(
    cell: npt.NDArray[Any], weight: FloatArray | None, *shape: int
) -> tuple[FloatArray, FloatArray]:
    """Sum the weights and the squared weights of the rows in each cell.

    Without weights, both arrays are the same object.
    """

    def sum_cells(weights: FloatArray | None) -> FloatArray:
        return np.bincount(cell, weights, math.prod(shape)).astype(np.float64).reshape(shape)

    counts = sum_cells(weight)
    return counts, counts if weight is None else sum_cells(np.square(weight))


class Statistic:
    """Base class of the statistics.

    A statistic is a frozen dataclass of arrays and plain values. It is built from a batch of rows,
    and the statistics of two batches are merged by ``+``; measures are computed from it.
    """

    #: Current names of fields by the names that earlier files have.
    former_fields: ClassVar[Mapping[str, str]] = {}

    def __add__(self, other: Self) -> Self:
        """Return the statistic of both batches together.

        Parameters
        ----------
        other : Statistic
            Statistic of the same class, of other rows.

        Returns
        -------
        Statistic
            Merged statistic.
        """
        raise NotImplementedError

    def finalize(self) -> Statistic:
        """Return the final statistic, if this one only buffers rows; by default itself.

        Returns
        -------
        Statistic
            Statistic that measures can be computed from.
        """
        return self

    def divide_weights(self, common_weight: float) -> Statistic:
        """Return the statistic with every weight divided by ``common_weight``.

        Each row then has weight 1.

        Parameters
        ----------
        common_weight : float
            Weight of every row.

        Returns
        -------
        Statistic
            Statistic of rows of weight 1. A statistic without weights is returned unchanged.
        """
        return self

    def _add_fields(self, second: Self, *names: str) -> Self:
        """Return this statistic with the named fields summed over both."""
        changed: Any = {name: getattr(self, name) + getattr(second, name) for name in names}
        result: Self = replace(self, **changed)  # type: ignore[type-var]
        return result

    def _field_values(self) -> dict[str, Any]:
        """Return the fields of the statistic by name."""
        names = (f.name for f in fields(self))  # type: ignore[arg-type]
        return {name: getattr(self, name) for name in names}

    def to_bytes(self) -> bytes:
        """Serialise the statistic to a compact form that is the same on every platform.

        Returns
        -------
        bytes
            Serialised statistic.
        """
        arrays: dict[str, Any] = {}
        plain_values: dict[str, Any] = {}
        for name, value in self._field_values().items():
            (arrays if isinstance(value, np.ndarray) else plain_values)[name] = value
        buffer = io.BytesIO()
        header = np.frombuffer(json.dumps(plain_values).encode(), dtype=np.uint8)
        np.savez(buffer, _plain=header, **arrays)
        return buffer.getvalue()

    @classmethod
    def from_bytes(cls, data: bytes) -> Self:
        """Restore a statistic that :meth:`to_bytes` serialised.

        Parameters
        ----------
        data : bytes
            Serialised statistic.

        Returns
        -------
        Statistic
            Statistic of this class.
        """
        with np.load(io.BytesIO(data), allow_pickle=False) as stored:
            plain = json.loads(stored["_plain"].tobytes())
            arrays = {
                cls.former_fields.get(name, name): stored[name]
                for name in stored.files
                if name != "_plain"
            }
        values = {
            cls.former_fields.get(name, name): tuple(value) if isinstance(value, list) else value
            for name, value in plain.items()
        }
        return cls(**values, **arrays)


class WeightedRows(Statistic):
    """Base class of statistics that keep their rows, with a weight of each.

    Leading axes of the weights are replicates of the same rows.
    """

    weight: FloatArray
    #: Cached sort orders, which do not depend on weights.
    sort_orders: ClassVar[tuple[str, ...]] = ()

    def with_weights(self, weight: FloatArray) -> Self:
        """Return the same rows with other weights; sort orders stay cached.

        Parameters
        ----------
        weight : ndarray of shape (..., n)
            New weights.

        Returns
        -------
        WeightedRows
            Rows with these weights.
        """
        rows: Self = replace(self, weight=weight)  # type: ignore[type-var]
        cached_orders = self.__dict__.keys() & set(self.sort_orders)
        rows.__dict__.update({name: self.__dict__[name] for name in cached_orders})
        return rows

    def divide_weights(self, common_weight: float) -> Self:
        """Return the same rows with weights of 1 in place of ``common_weight``.

        Parameters
        ----------
        common_weight : float
            Weight that every row has.

        Returns
        -------
        WeightedRows
            Rows of weight 1.
        """
        return self.with_weights(np.ones(self.weight.shape))

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return int(self.weight.shape[-1])

    @property
    def total(self) -> FloatArray:
        """Sum of the weights, Σw."""
        return np.asarray(self.weight.sum(axis=-1))

    def mean(self, values: FloatArray) -> FloatArray:
        """Compute the weighted mean of a value per row.

        Parameters
        ----------
        values : ndarray of shape (n,) or (..., n)
            Value of each row, or of each replicate and row.

        Returns
        -------
        ndarray
            Mean, with leading axes.
        """
        return np.asarray((self.weight * values).sum(axis=-1) / self.total)


def leave_one_out_sums(statistics: Sequence[S]) -> list[S]:
    """Compute for each of several statistics the sum of all others.

    The sums are accumulated from both ends. Nothing is subtracted, so that no digit is lost if one
    of the statistics is much larger than the others.

    Parameters
    ----------
    statistics : sequence
        At least two statistics, or other values that can be added.

    Returns
    -------
    list
        For each statistic, the sum of all others.

    Examples
    --------
    >>> leave_one_out_sums([1, 20, 300])
    [320, 301, 21]
    """
    last_index = len(statistics) - 1
    prefix_sums, suffix_sums = list(statistics), list(statistics)
    for k in range(1, last_index):
        prefix_sums[k] = prefix_sums[k - 1] + statistics[k]
        suffix_sums[last_index - k] = statistics[last_index - k] + suffix_sums[last_index - k + 1]
    inner = [prefix_sums[k - 1] + suffix_sums[k + 1] for k in range(1, last_index)]
    return [suffix_sums[1], *inner, prefix_sums[last_index - 1]]
