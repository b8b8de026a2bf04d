"""Arrays from memory: what is taken, and every check on labels, scores and weights."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from calipers.data.errors import InputError, did_you_mean

Array = npt.NDArray[Any]


@dataclass(frozen=True)
class Labels:
    """Two classes: their names, negative first, and whether each row is positive."""

    names: tuple[str, str]
    positive: npt.NDArray[np.bool_]


def as_array(values: Any, what: str) -> Array:
    """One column as a NumPy array without missing values: from NumPy, lists, anything with
    ``__array__`` or DLPack, pandas, polars or Arrow."""
    missing = np.flatnonzero(_nulls(values))
    if len(missing):
        raise _values_missing(what, missing, len(values))
    array = _converted(values, what)
    if array.ndim != 1:
        raise InputError(f"{what}: has shape {array.shape}, expected one value per row")
    if len(array) == 0:
        raise InputError(f"{what}: is empty")
    if array.dtype.kind == "O":
        missing = np.flatnonzero([v is None or v != v for v in array])
        if len(missing):
            raise _values_missing(what, missing, len(array))
    return array


def _values_missing(what: str, rows: npt.NDArray[np.intp], of: int) -> InputError:
    first = ", ".join(str(row) for row in rows[:3])
    return InputError(
        f"{what}: {len(rows)} of {of} values are missing, the first in "
        f"row{'s' if len(rows) > 1 else ''} {first}"
    )


def _nulls(values: Any) -> Any:
    """Where a column of pandas, polars or Arrow says itself that a value is missing."""
    module = type(values).__module__.split(".")[0]
    if module == "pyarrow" and values.null_count:
        return values.is_null().to_numpy(zero_copy_only=False)
    if module == "polars" and values.null_count():
        return values.is_null().to_numpy()
    if module == "pandas":
        return values.isna().to_numpy()
    return ()


def _converted(values: Any, what: str) -> Array:
    if isinstance(values, np.ndarray):
        return values
    if hasattr(values, "to_numpy"):  # pandas, polars, Arrow
        if type(values).__module__.startswith("pyarrow"):
            if hasattr(values, "combine_chunks"):  # a chunked array
                values = values.combine_chunks()
            return np.asarray(_decoded(values).to_numpy(zero_copy_only=False))
        return np.asarray(values.to_numpy())
    if hasattr(values, "__arrow_c_array__"):
        import pyarrow as pa

        return np.asarray(_decoded(pa.array(values)).to_numpy(zero_copy_only=False))
    if hasattr(values, "__array__"):
        return np.asarray(values)
    if hasattr(values, "__dlpack__"):
        return np.from_dlpack(values)
    if isinstance(values, str | bytes) or not hasattr(values, "__iter__"):
        raise InputError(f"{what}: {type(values).__name__} {values!r} is no column of values")
    try:
        return np.array(list(values))
    except ValueError:
        raise InputError(f"{what}: rows differ in length, expected one value per row") from None


def _decoded(array: Any) -> Any:
    """Arrow's dictionary-encoded values as what they stand for."""
    import pyarrow as pa

    return array.dictionary_decode() if pa.types.is_dictionary(array.type) else array


def as_numbers(values: Any, what: str) -> npt.NDArray[np.floating[Any]]:
    """Finite numbers; float32 stays float32."""
    array = as_array(values, what)
    if array.dtype.kind == "O":
        try:
            array = array.astype(np.float64)
        except (TypeError, ValueError):
            raise InputError(f"{what}: holds {array[0]!r}, expected numbers") from None
    if array.dtype.kind not in "fiub":
        raise InputError(f"{what}: holds {str(array[0])!r}, expected numbers")
    if array.dtype not in (np.float32, np.float64):
        array = array.astype(np.float64)
    finite = np.isfinite(array)
    if not finite.all():
        rows = np.flatnonzero(~finite)
        kind = "NaN" if np.isnan(array[rows[0]]) else "infinite"
        more = f" (and {len(rows) - 1} more rows)" if len(rows) > 1 else ""
        raise InputError(f"{what}: is {kind} in row {rows[0]}{more}, expected finite numbers")
    return array


def as_probabilities(values: Any, what: str) -> npt.NDArray[np.floating[Any]]:
    """Numbers between 0 and 1."""
    array = as_numbers(values, what)
    wrong = np.flatnonzero((array < 0) | (array > 1))
    if len(wrong):
        more = f" (and {len(wrong) - 1} more rows)" if len(wrong) > 1 else ""
        raise InputError(
            f"{what}: is {array[wrong[0]]:g} in row {wrong[0]}{more}, "
            "expected probabilities between 0 and 1"
        )
    return array


def as_weights(values: Any, rows: int) -> npt.NDArray[np.float64] | None:
    """Weights of zero or more that are not all zero; None when all are one."""
    if values is None:
        return None
    weight = as_numbers(values, "weight").astype(np.float64)
    same_length(weight, rows, "weight")
    wrong = np.flatnonzero(weight < 0)
    if len(wrong):
        more = f" (and {len(wrong) - 1} more rows)" if len(wrong) > 1 else ""
        raise InputError(
            f"weight: is {weight[wrong[0]]:g} in row {wrong[0]}{more}, expected 0 or more"
        )
    if not weight.any():
        raise InputError("weight: all weights are 0")
    return None if (weight == 1).all() else weight


def same_length(array: Array, rows: int, what: str) -> None:
    """That a column has as many rows as the truth."""
    if len(array) != rows:
        raise InputError(f"{what}: has {len(array)} rows, truth has {rows}")


def two_classes(truth: Any, positive: Any = None, what: str = "truth") -> Labels:
    """The truth of a two-class problem, and which class is the positive one.

    Without ``positive``, 1 (or True) is positive against 0 (or −1, or False); any other pair of
    labels has to say which one it means.
    """
    array = as_array(truth, what)
    if array.dtype.kind == "f" and not np.isfinite(array).all():
        as_numbers(array, what)
    first = array[0]
    other = array[np.argmax(array != first)]
    if other == first:
        raise InputError(
            f"{what}: has one class only ({_shown(first)}); expected two, to tell apart"
        )
    for row in np.flatnonzero((array != first) & (array != other))[:1]:
        raise InputError(
            f"{what}: has a third class {_shown(array[row])} in row {row} besides "
            f"{_shown(first)} and {_shown(other)}; expected two classes"
        )
    chosen = _positive_label([first, other], positive, what)
    negative = other if chosen == first else first
    return Labels((_name(negative), _name(chosen)), np.asarray(array == chosen, dtype=bool))


def _positive_label(labels: list[Any], positive: Any, what: str) -> Any:
    if positive is not None:
        for label in labels:
            if label == positive or _name(label) == str(positive):
                return label
        raise InputError(
            f"{what}: no row has the class {positive!r} that was named positive; "
            + did_you_mean(str(positive), [_name(label) for label in labels])
        )
    names = {_name(label) for label in labels}
    for low, high in (("0", "1"), ("-1", "1"), ("False", "True"), ("false", "true")):
        if names == {low, high}:
            return next(label for label in labels if _name(label) == high)
    shown = " and ".join(sorted(_shown(label) for label in labels))
    raise InputError(f"{what}: has the classes {shown}; say which one is positive (positive=…)")


def predictions(predicted: Any, labels: Labels, what: str) -> npt.NDArray[np.bool_]:
    """Whether each row is predicted to be of the positive class."""
    array = as_array(predicted, what)
    same_length(array, len(labels.positive), what)
    values, codes = np.unique(array, return_inverse=True)
    # True and 1 are equal, and so are their names.
    classes = [_AS_NUMBER.get(name, name) for name in labels.names]
    names = [_AS_NUMBER.get(_name(v), _name(v)) for v in values]
    for code, name in enumerate(names):
        if name not in classes:
            row = int(np.argmax(codes == code))
            raise InputError(
                f"{what}: {_shown(values[code])} in row {row} is no class of the truth; "
                f"expected {labels.names[0]!r} or {labels.names[1]!r}"
            )
    return np.array([name == classes[1] for name in names], bool)[codes]


_AS_NUMBER = {"False": "0", "True": "1"}


def _name(label: Any) -> str:
    """A label as text; 1.0 and 1 are the same class."""
    if isinstance(label, np.generic):
        label = label.item()
    if isinstance(label, float) and label.is_integer():
        label = int(label)
    return label.decode("utf-8", "replace") if isinstance(label, bytes) else str(label)


def _shown(label: Any) -> str:
    return repr(label.item() if isinstance(label, np.generic) else label)
