"""What every statistic can do: merge with its like, and travel as bytes."""

from __future__ import annotations

import io
import json
import math
from collections.abc import Sequence
from dataclasses import fields, replace
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

from calipers.lazy_imports import numpy as np

if TYPE_CHECKING:
    import numpy.typing as npt
    from typing_extensions import Self

FloatArray: TypeAlias = "npt.NDArray[np.float64]"
IntArray: TypeAlias = "npt.NDArray[np.int64]"

S = TypeVar("S", bound=Any)

#: What a value counts as at least in a geometric mean: trec_eval's floor.
GEOMETRIC_FLOOR = 1e-5
#: Sums over many rows are taken of so many at a time: what is made of these stays near the
#: processor, and takes no memory.
BLOCK = 1 << 16


def dot(a: FloatArray, b: FloatArray) -> float:
    """Σaᵢbᵢ of two columns, on one thread. BLAS would share out a long column among all cores,
    whose waiting costs many times what the sum does where other work keeps them busy.

    >>> dot(np.array([1.0, 2.0]), np.array([3.0, 4.0]))
    11.0
    """
    return float(np.einsum("i,i->", a, b))


def effective_size(weight: float | FloatArray, squares: float | FloatArray) -> float:
    """Kish's effective number of rows, (Σw)²/Σw²: as many rows of equal weight say as much.

    >>> effective_size(4.0, 10.0)  # weights 1 and 3
    1.6
    """
    return float(weight**2 / squares) if squares > 0 else 0.0


def effective_size_of(weight: FloatArray | IntArray) -> float:
    """:func:`effective_size` of the weights themselves."""
    return effective_size(float(weight.sum()), float(np.square(weight).sum()))


def cell_sums(
    cell: npt.NDArray[Any], weight: FloatArray | None, *shape: int
) -> tuple[FloatArray, FloatArray]:
    """How much weight falls into each cell, and how much squared weight: the same array where all
    weights are one."""

    def summed(of: FloatArray | None) -> FloatArray:
        return np.bincount(cell, of, math.prod(shape)).astype(np.float64).reshape(shape)

    counts = summed(weight)
    return counts, counts if weight is None else summed(np.square(weight))


class Statistic:
    """Base of the statistics, which are frozen dataclasses of arrays and plain values."""

    def __add__(self, other: Self) -> Self:
        """The statistic of both batches together."""
        raise NotImplementedError

    def finalize(self) -> Statistic:
        """What it stands for, where it only gathers."""
        return self

    def with_unit_weights(self, weight: float) -> Statistic:
        """The same of rows that weigh 1, where each weighs as much as this; what holds no weights
        is that already."""
        return self

    def _add_parts(self, other: Self, *names: str) -> Self:
        """With these of its parts added up."""
        changed: Any = {name: getattr(self, name) + getattr(other, name) for name in names}
        made: Self = replace(self, **changed)  # type: ignore[type-var]
        return made

    def _parts(self) -> dict[str, Any]:
        """What it is made of, by name."""
        names = (f.name for f in fields(self))  # type: ignore[arg-type]
        return {name: getattr(self, name) for name in names}

    def to_bytes(self) -> bytes:
        """A compact serialised form, the same on every platform."""
        arrays: dict[str, Any] = {}
        plain: dict[str, Any] = {}
        for name, value in self._parts().items():
            (arrays if isinstance(value, np.ndarray) else plain)[name] = value
        buffer = io.BytesIO()
        header = np.frombuffer(json.dumps(plain).encode(), dtype=np.uint8)
        np.savez(buffer, _plain=header, **arrays)
        return buffer.getvalue()

    @classmethod
    def from_bytes(cls, data: bytes) -> Self:
        """The statistic that :meth:`to_bytes` wrote."""
        with np.load(io.BytesIO(data), allow_pickle=False) as stored:
            plain = json.loads(stored["_plain"].tobytes())
            arrays = {name: stored[name] for name in stored.files if name != "_plain"}
        values = {k: tuple(v) if isinstance(v, list) else v for k, v in plain.items()}
        return cls(**values, **arrays)


def leave_one_out_sums(parts: Sequence[S]) -> list[S]:
    """Of each of several statistics the sum of all others, by sums from either end. Nothing is
    subtracted, so that no digit is lost where one of them outweighs the others.

    >>> leave_one_out_sums([1, 20, 300])
    [320, 301, 21]
    """
    last = len(parts) - 1
    before, after = list(parts), list(parts)
    for k in range(1, last):
        before[k] = before[k - 1] + parts[k]
        after[last - k] = parts[last - k] + after[last - k + 1]
    inner = [before[k - 1] + after[k + 1] for k in range(1, last)]
    return [after[1], *inner, before[last - 1]]
