"""Conversion of columns and matrices in memory to NumPy arrays, with checks."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from calipers.data.arrow_types import decode_dictionary, to_plain
from calipers.data.errors import InputError, format_value

if TYPE_CHECKING:
    import numpy.typing as npt

Array: TypeAlias = "npt.NDArray[Any]"
Floats: TypeAlias = "npt.NDArray[np.float64]"

#: Largest absolute value of numbers, so that their squares can be summed.
MAX_QUANTITY = 1e45

#: Smallest positive weight, and the largest one.
WEIGHT_RANGE = (1e-60, 1e60)

#: Smallest ratio of a positive weight to the largest one.
MIN_WEIGHT_RATIO = 1e-12


def to_array(values: Any, input_name: str) -> Array:
    """Convert one column to a NumPy array without missing values.

    A column is a NumPy array, a list, anything with ``__array__`` or DLPack, or a column of
    pandas, polars or Arrow. ``input_name`` is the name of the column in error messages.

    Raises
    ------
    InputError
        If the column is empty, is not one-dimensional, or has missing values.
    """
    check_column(values, input_name)
    missing = np.flatnonzero(null_mask(values))
    if len(missing):
        raise missing_values_error(input_name, missing, len(values))
    array = _to_numpy(values, input_name)
    if array.ndim != 1:
        scores = "; a number for each class is given as score= or probability="
        raise InputError(
            f"{input_name}: has shape {array.shape}, expected one value per row"
            + (scores if input_name.startswith("predicted") and array.ndim == 2 else "")
        )
    if len(array) == 0:
        raise InputError(f"{input_name}: is empty")
    masked = np.flatnonzero(_null_or_masked(array))
    if len(masked):
        raise missing_values_error(input_name, masked, len(array))
    return np.asarray(array)


def check_column(values: Any, input_name: str) -> None:
    """Check that values are neither a table nor an index of several levels."""
    names = getattr(values, "column_names", getattr(values, "columns", None))
    if names is not None and not callable(names):
        raise InputError(
            f"{input_name}: is a table of {len(names)} column{'' if len(names) == 1 else 's'}; "
            "expected one column, or a dict from names to columns if there are several systems"
        )
    if getattr(values, "nlevels", 1) != 1:
        raise InputError(f"{input_name}: is an index of several levels, expected one column")


def is_frame(values: Any) -> bool:
    """Return whether the values are a data frame, that is, a table with named columns."""
    return hasattr(values, "columns") or hasattr(values, "column_names")


def column_names(values: Any) -> list[Any]:
    """Return the names of the columns of a dict or a data frame; else an empty list."""
    if isinstance(values, Mapping):
        return list(values)
    return list(getattr(values, "column_names", getattr(values, "columns", ())))


def unsigned_zeros(values: Any) -> Any:
    """Return an Arrow array with 0.0 in place of -0.0, which Arrow takes for another value."""
    import pyarrow as pa

    if not pa.types.is_floating(values.type):
        return values
    import pyarrow.compute as pc

    return pc.add(values, pa.scalar(0.0, values.type))


def missing_mask(values: Any, input_name: str) -> npt.NDArray[np.bool_]:
    """Return the mask of the rows of a column or table with a missing value: null, None or NaN."""
    if _is_complete(values):
        return np.zeros(len(values), bool)
    nulls = np.asarray(null_mask(values))
    array = _to_numpy(values, input_name)
    missing = np.zeros(array.shape, bool) if nulls.ndim == 1 and not len(nulls) else nulls
    missing = missing | _null_or_masked(array)
    if array.dtype.kind == "f":
        missing = missing | np.isnan(np.asarray(array))
    return np.asarray(missing.any(axis=1) if missing.ndim == 2 else missing, bool)


def _is_complete(values: Any) -> bool:
    """Return whether an Arrow column has no missing values, by its type and number of nulls.

    Of a dictionary, only its distinct values are looked at.
    """
    if type(values).__module__.split(".")[0] != "pyarrow" or getattr(values, "null_count", True):
        return False
    from pyarrow import types

    if types.is_dictionary(values.type):
        chunks = values.chunks if hasattr(values, "chunks") else [values]
        return all(_is_complete(chunk.dictionary) for chunk in chunks)
    predicates = types.is_string, types.is_large_string, types.is_integer, types.is_boolean
    return any(is_type(values.type) for is_type in predicates)


def _null_or_masked(array: Array) -> npt.NDArray[np.bool_]:
    """Return the mask of the values that are masked or represent a missing value."""
    mask = np.zeros(array.shape, bool)
    # The type of a plain array is checked first, so that `numpy.ma` is not imported for it.
    if type(array) is not np.ndarray and isinstance(array, np.ma.MaskedArray):
        mask |= np.ma.getmaskarray(array)
    if array.dtype.kind in "mM":
        mask |= np.isnat(np.asarray(array))
    if array.dtype.kind == "O" and array.ndim == 1:
        mask |= np.fromiter(map(is_missing, np.asarray(array)), bool, len(array))
    return mask


def is_missing(value: Any) -> bool:
    """Return whether a value represents a missing one: None, NaN, NA, NaT or masked."""
    if value is None or value is np.ma.masked:
        return True
    try:
        return bool(value != value)
    except Exception:  # NA of pandas is neither; other objects compare as they like
        return type(value).__name__ == "NAType"


def take_rows(values: Any, rows: npt.NDArray[np.intp]) -> Any:
    """Return a column, a table or a dict of them with the given rows, in the given order."""
    if values is None:
        return None
    if isinstance(values, Mapping):
        return {name: take_rows(value, rows) for name, value in values.items()}
    module = type(values).__module__.split(".")[0]
    if module == "pyarrow" and hasattr(values, "type"):
        values = to_plain(values)  # of views Arrow takes no rows
    if module in ("pyarrow", "pandas"):
        return values.take(rows)
    return (values if module == "polars" else _to_numpy(values, "column"))[rows]


def missing_values_error(input_name: str, rows: npt.NDArray[np.intp], n_rows: int) -> InputError:
    """Return the error that reports which values are missing."""
    first = ", ".join(str(row) for row in rows[:3])
    return InputError(
        f"{input_name}: {len(rows)} of {n_rows} values are missing, the first in "
        f"row{'s' if len(rows) > 1 else ''} {first}"
    )


def null_mask(values: Any) -> Any:
    """Return the mask of the nulls of a column of pandas, polars or Arrow.

    For any other column, and for a column of polars or Arrow without nulls, the result is empty.
    """
    module = type(values).__module__.split(".")[0]
    if module == "pyarrow" and values.null_count:
        return from_arrow(values.is_null())
    if module == "polars" and values.null_count():
        return values.is_null().to_numpy()
    if module == "pandas":
        return np.asarray(values.isna())
    return ()


def from_arrow(array: Any) -> Array:
    """Convert an Arrow array to a NumPy array.

    Plain numbers are not copied, so the result is read-only; nor is pandas imported for them,
    which ``to_numpy`` does wherever pandas is installed.
    """
    import pyarrow as pa

    if isinstance(array, pa.ChunkedArray):
        # (Combining a single chunk would copy it.)
        array = array.chunk(0) if array.num_chunks == 1 else array.combine_chunks()
    if not array.null_count:
        if pa.types.is_boolean(array.type):
            return np.from_dlpack(array.cast(pa.uint8())).astype(np.bool_)
        if pa.types.is_integer(array.type) or pa.types.is_floating(array.type):
            return np.from_dlpack(array)
    return np.asarray(array.to_numpy(zero_copy_only=False))


def _to_numpy(values: Any, input_name: str) -> Array:
    """Convert values to a NumPy array; a masked array stays masked."""
    if isinstance(values, np.ndarray):
        return values
    try:
        array = _from_protocol(values)
    except MemoryError:
        raise
    except Exception as error:  # its method may raise anything, such as for a tensor on a GPU
        reason = str(error) or "it says no more"
        raise InputError(
            f"{input_name}: {format_value(values)} could not be turned into an array; "
            f"{type(error).__name__}: {reason}"
        ) from error
    return _from_iterable(values, input_name) if array is None else array


def _from_protocol(values: Any) -> Array | None:
    """Convert an object that supports a conversion protocol to an array; else return None."""
    if hasattr(values, "to_numpy"):  # pandas, polars, Arrow
        if type(values).__module__.startswith("pyarrow"):
            if hasattr(values, "combine_chunks"):  # a chunked array
                values = values.combine_chunks()
            return from_arrow(decode_dictionary(values))
        return np.asarray(values.to_numpy())
    if hasattr(values, "__arrow_c_array__"):
        import pyarrow as pa

        return from_arrow(decode_dictionary(pa.array(values)))
    if hasattr(values, "__array__"):
        array: Array = np.asanyarray(values)
        return array
    if hasattr(values, "__dlpack__"):
        return np.from_dlpack(values)
    return None


def _from_iterable(values: Any, input_name: str) -> Array:
    """Convert a list, or another iterable in a defined order, to an array."""
    is_unordered = isinstance(values, str | bytes | set | frozenset | Mapping)
    if isinstance(values, Mapping) and len(values) == 1:
        (name,) = values
        raise InputError(
            f"{input_name}: is a dict of one column, {format_value(name)}; expected the column "
            "itself, or its name together with data="
        )
    if is_unordered or not hasattr(values, "__iter__"):
        raise InputError(f"{input_name}: {format_value(values)} is not a column of values")
    try:
        return _from_list(list(values))
    except ValueError:
        raise InputError(
            f"{input_name}: rows differ in length, expected one value per row"
        ) from None


def _from_list(values: list[Any]) -> Array:
    """Convert a list to an array.

    Masked values become missing values. In a list that mixes text and numbers, numbers keep their
    type, so that NaN does not become the text "nan".
    """
    value_types = set(map(type, values))
    if any(issubclass(kind, np.ma.MaskedArray) for kind in value_types):
        if type(np.ma.masked) not in value_types:
            return np.ma.array(values)
        values = [None if value is np.ma.masked else value for value in values]
    if len(value_types) > 1 and not value_types.isdisjoint((str, bytes, np.str_, np.bytes_)):
        return np.fromiter(values, object, len(values))
    return np.array(values)


def to_numbers(values: Any, input_name: str) -> npt.NDArray[np.floating[Any]]:
    """Convert a column to finite numbers; float32 stays float32."""
    array = _to_numbers(values, input_name)
    if not _is_within(array, np.inf):
        check_values(array, ~np.isfinite(array), input_name, "expected finite numbers")
    return array


def _to_numbers(values: Any, input_name: str) -> npt.NDArray[np.floating[Any]]:
    """Convert a column to numbers, which may be infinite or NaN."""
    array = to_array(values, input_name)
    if array.dtype.kind not in "fiubO":
        raise _no_numbers(array, array.ravel().tolist(), range(array.size), input_name)
    if array.dtype not in (np.float32, np.float64):
        array = _to_floats(array, input_name)
    return array


#: From so many numbers on both ends are found in one pass.
_MIN_FUSED_SIZE = 1 << 12


def _is_within(array: Array, limit: float) -> bool:
    """Return whether all numbers are smaller than a limit in absolute value; NaN is not."""
    if not array.size:
        return True
    if array.size < _MIN_FUSED_SIZE or array.dtype != np.float64 or not array.flags.c_contiguous:
        return float(array.min()) > -limit and float(array.max()) < limit
    from calipers import _core

    low, high = _core.value_ends(array.ravel())
    return low > -limit and high < limit


def _to_floats(array: Array, input_name: str) -> Floats:
    """Convert numbers of another type, or objects that are numbers, to float64.

    A missing value becomes NaN. Text that looks like a number is not accepted as one.
    """
    if array.dtype.kind != "O":
        with np.errstate(
            over="ignore"
        ):  # too large a number becomes infinite, and is rejected as such
            return array.astype(np.float64)
    values = array.ravel().tolist()
    numbers = [to_number(value) for value in values]
    if None in numbers:
        invalid = [index for index, number in enumerate(numbers) if number is None]
        raise _no_numbers(array, values, invalid, input_name)
    return np.array(numbers, np.float64).reshape(array.shape)


def _no_numbers(
    array: Array, values: list[Any], indices: Sequence[int], input_name: str
) -> InputError:
    """Return the error that values are not numbers, of which the indices are given.

    A column is text if one of its values is. That one is named, rather than the first text that
    looks like a number.
    """
    index = next((i for i in indices if not _looks_like_number(values[i])), indices[0])
    row = index // (array.size // len(array))
    return InputError(
        f"{input_name}: holds {format_value(values[index])} in row {row}, expected numbers"
    )


def _looks_like_number(value: Any) -> bool:
    """Return whether a value is text that could be read as a number, or empty."""
    if not isinstance(value, str | bytes):
        return False
    try:
        float(value or 0)
    except ValueError:
        return False
    return True


def to_number(value: Any) -> float | None:
    """Convert an object to a float; None if it is not a number."""
    if is_missing(value):
        return float("nan")
    try:
        return None if isinstance(value, str | bytes | np.ndarray) else float(value)
    except Exception:  # __float__ of a user-defined type may raise anything
        return None


def to_matrix(values: Any, input_name: str) -> npt.NDArray[np.floating[Any]]:
    """Convert a table to a matrix of numbers, with NaN for missing values."""
    table = _to_numpy(values, input_name)
    if table.dtype.kind not in "fiubO":
        first = format_value(table.flat[0]) if table.size else "nothing"
        raise InputError(f"{input_name}: holds {first}, expected a table of numbers")
    if isinstance(table, np.ma.MaskedArray):
        table = np.ma.filled(table.astype(np.float64), np.nan)
    return table if table.dtype in (np.float32, np.float64) else _to_floats(table, input_name)


def to_probabilities(values: Any, input_name: str) -> npt.NDArray[np.floating[Any]]:
    """Convert a column to probabilities, that is, numbers between 0 and 1."""
    array = to_numbers(values, input_name)
    check_values(
        array, (array < 0) | (array > 1), input_name, "expected probabilities between 0 and 1"
    )
    return array


def to_quantities(values: Any, input_name: str, *, copy: bool = True) -> Floats:
    """Convert a column to numbers that can be summed and squared.

    They are finite and at most :data:`MAX_QUANTITY` in absolute value. With ``copy`` the result is
    a copy, which nobody else changes; without it, the array that was passed is returned where its
    type allows.
    """
    array = _to_numbers(values, input_name)
    if not _is_within(array, MAX_QUANTITY):
        check_values(array, ~np.isfinite(array), input_name, "expected finite numbers")
        expected = (
            f"numbers from -{MAX_QUANTITY:g} to {MAX_QUANTITY:g}, whose squares can be added up"
        )
        check_values(array, np.abs(array) > MAX_QUANTITY, input_name, f"expected {expected}")
    return array.astype(np.float64, copy=copy)


def to_weights(
    values: Any, n_rows: int, *, is_batch: bool = False
) -> npt.NDArray[np.float64] | None:
    """Convert a column to non-negative weights that are not all zero.

    Weights are relative to each other. The result is therefore None if all weights are equal, and
    an array of zeros and ones if all weights other than zero are equal. For a ``is_batch`` of the
    rows the result is None only if all weights are one, because those of other batches may differ.

    A weight is 0 or lies between 1e-60 and 1e60, so that products of four sums of weights, as in
    the MCC, neither overflow nor underflow. The smallest positive weight is at least 1e-12 of the
    largest, because a smaller one would be lost to rounding in a sum over many rows.
    """
    if values is None:
        return None
    weight = to_numbers(values, "weight").astype(np.float64)
    check_length(weight, n_rows, "weight")
    for invalid_mask, expected in invalid_weight_masks(weight):
        check_values(weight, invalid_mask, "weight", expected)
    if not weight.any():
        raise InputError("weight: all weights are 0")
    if is_batch:
        return None if (weight == 1).all() else weight
    used_mask = weight > 0
    if (weight[used_mask] == weight.max()).all():
        return None if used_mask.all() else used_mask.astype(np.float64)
    return weight


def invalid_weight_masks(weight: Floats) -> Iterator[tuple[Array, str]]:
    """Yield masks of the invalid weights among finite numbers, each with what was expected."""
    yield weight < 0, "expected 0 or more"
    (low, high), max_weight = WEIGHT_RANGE, weight.max(initial=0.0)
    yield (
        (weight > 0) & ((weight < low) | (weight > high)),
        (
            f"expected 0, or {low:g} to {high:g}; weights count relative to each other, so that "
            "all of them can be multiplied by one number"
        ),
    )
    yield (
        (weight > 0) & (weight < max_weight * MIN_WEIGHT_RATIO),
        (
            f"which is negligible next to the largest, {max_weight:g}; expected 0, or at least "
            f"{MIN_WEIGHT_RATIO:g} of it"
        ),
    )


def format_other_rows(n_rows: int) -> str:
    """Format the number of rows in addition to the one that is named."""
    return f" (and {n_rows - 1} more rows)" if n_rows > 1 else ""


def check_values(array: Array, invalid_mask: Array, input_name: str, expected: str) -> None:
    """Raise an error that locates the first invalid number and states what was expected."""
    if invalid_mask.any():
        rows = np.flatnonzero(invalid_mask)
        first = array[rows[0]]
        value = "NaN" if np.isnan(first) else "infinite" if np.isinf(first) else f"{first:g}"
        raise InputError(
            f"{input_name}: is {value} in row {rows[0]}{format_other_rows(len(rows))}, {expected}"
        )


def check_length(array: Array, n_rows: int, input_name: str, reference: str = "truth has") -> None:
    """Check that a column has as many rows as the truth, or as what ``reference`` names."""
    try:
        n_found = len(array)
    except TypeError:
        raise InputError(
            f"{input_name} is {format_value(array)}, expected a column: {reference} {n_rows} rows"
        ) from None
    if n_found != n_rows:
        raise InputError(f"{input_name}: has {n_found} rows, {reference} {n_rows}")
