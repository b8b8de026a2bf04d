"""Columns of class labels, and their encoding as integer codes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from calipers.data.arrays import (
    Array,
    check_column,
    check_length,
    from_arrow,
    is_missing,
    missing_values_error,
    null_mask,
    to_array,
    to_numbers,
)
from calipers.data.arrow_types import to_plain
from calipers.data.errors import InputError, did_you_mean, find_duplicate, format_value
from calipers.lazy_dataclasses import dataclass

if TYPE_CHECKING:
    import numpy.typing as npt
    import pyarrow as pa

Codes: TypeAlias = "npt.NDArray[np.intp]"


@dataclass(frozen=True)
class EncodedLabels:
    """Column of labels, encoded as indices into the sequence of its distinct labels.

    The labels are in the order of an ordered categorical, else in ascending order of numbers or of
    text. Each of them occurs at least once.
    """

    labels: tuple[Any, ...]
    codes: Codes
    ordered: bool = False

    @property
    def names(self) -> tuple[str, ...]:
        """Labels as text."""
        if set(map(type, self.labels)) == {int}:  # of many groups a call for each takes long
            return tuple(map(str, self.labels))
        return tuple(label_name(label) for label in self.labels)

    def with_small_codes(self) -> EncodedLabels:
        """Return the same labels with codes of the smallest type, for indexing only."""
        small = np.min_scalar_type(max(len(self.labels) - 1, 0))
        return EncodedLabels(self.labels, self.codes.astype(small), self.ordered)

    def take(self, rows: Codes | None) -> EncodedLabels:
        """Return the labels of some rows, without those that occur in none of them."""
        if rows is None:
            return self
        return _drop_unused(self.labels, self.codes[rows], ordered=self.ordered)


@dataclass(frozen=True)
class ClassLabels:
    """Names of the classes, and the class of each row as an index into them."""

    names: tuple[str, ...]
    codes: Codes

    def encode(self, values: Any, input_name: str) -> Codes:
        """Encode another column, such as predictions, as indices into the same names."""
        column = encode_labels(values, input_name)
        check_length(column.codes, len(self.codes), input_name)
        index_by_label = label_index(self.names)
        new_codes = []
        for code, label in enumerate(column.labels):
            name = label_name(label)
            index = find_label(index_by_label, name)
            if index is None:
                row = int(np.argmax(column.codes == code))
                raise InputError(
                    f"{input_name}: {format_value(label)} in row {row} is not a class; "
                    + did_you_mean(name, self.names)
                )
            new_codes.append(index)
        return _recode(column.codes, new_codes)


def label_name(label: Any) -> str:
    """Convert a label to text; 1.0 and 1 are the same class."""
    if type(label) is str:
        return label
    if type(label) is int:
        return str(label)
    if isinstance(label, np.generic):
        label = label.item()
    if isinstance(label, float) and label.is_integer():
        label = int(label)
    if isinstance(label, bytes):
        return label.decode("utf-8", "replace")
    try:
        return str(label)
    except Exception:  # __str__ of a user-defined type may raise anything
        return format_value(label)


#: Label of points that are in no cluster, as clustering algorithms write it.
NOISE_LABEL = "-1"
_NUMBER_BY_BOOLEAN = {"False": "0", "True": "1"}


def label_index(names: Iterable[str]) -> dict[str, int]:
    """Return the index of each name; True and 1 are equal, and so are their names."""
    exact = {name: position for position, name in enumerate(names)}
    return {_NUMBER_BY_BOOLEAN.get(name, name): index for name, index in exact.items()} | exact


def find_label(positions: Mapping[str, int], name: str) -> int | None:
    """Return the index of a name, or None.

    The case of true and false does not matter unless two names differ in it only: what is true in a
    file is named True.

    >>> find_label(label_index(["False", "True"]), "true")
    1
    """
    index = positions.get(name, positions.get(_NUMBER_BY_BOOLEAN.get(name, name)))
    if index is None and (lower := name.lower()) in ("true", "false"):
        matches = {index for label, index in positions.items() if label.lower() == lower}
        return matches.pop() if len(matches) == 1 else None
    return index


def _recode(codes: Codes, new_codes: Sequence[int]) -> Codes:
    if list(new_codes) == list(range(len(new_codes))):
        return codes
    return np.asarray(new_codes, np.intp)[codes]


def encode_labels(values: Any, input_name: str) -> EncodedLabels:
    """Encode a column of labels; a column that is encoded already is returned unchanged.

    Raises
    ------
    InputError
        If the column is empty, is not a column, or has missing values.
    """
    if isinstance(values, EncodedLabels):
        return values
    check_column(values, input_name)
    column = _encode_dictionary(values)
    if column is None:
        array = to_array(values, input_name)
        if array.dtype.kind == "f":
            to_numbers(array, input_name)  # NaN is not a class
            array = array.astype(np.float64)
            integers = array.astype(np.int64) if np.abs(array).max() < 2**53 else array
            array = integers if (integers == array).all() else array
        labels, codes = _find_distinct(array)
        ordered = False
    else:
        missing = np.flatnonzero(null_mask(values))
        if len(missing):
            raise missing_values_error(input_name, missing, len(column))
        if len(column) == 0:
            raise InputError(f"{input_name}: is empty")
        labels, codes = column.dictionary.to_pylist(), _dictionary_codes(column)
        # The categories of polars' Enum have an order, which older versions do not export.
        ordered = column.type.ordered or str(getattr(values, "dtype", "")).startswith("Enum")
    return _drop_unused(labels, codes, ordered=ordered)


def group_codes(values: Any, input_name: str) -> Array:
    """Return values that identify the group of each row, in the order of the group names.

    Numbers and times are returned unchanged; text is replaced by its rank among all names.

    >>> group_codes(["b", "a", "b"], "cluster").tolist()
    [1, 0, 1]
    """
    encoded = None if isinstance(values, np.ndarray | list) else _encode_dictionary(values)
    if encoded is None:
        array = to_array(values, input_name)
        if array.dtype.kind == "f":
            to_numbers(array, input_name)  # NaN is not a group
        if array.dtype.kind not in "OVUS":
            return array
    labels = encode_labels(values if encoded is None else encoded, input_name)
    ranks = np.unique(np.array(labels.names), return_inverse=True)[1]  # text has an order
    return np.asarray(ranks[labels.codes])


def _encode_dictionary(values: Any) -> pa.DictionaryArray | None:
    """Encode a categorical or text column of pandas, polars or Arrow by Arrow; else return None."""
    module = type(values).__module__.split(".")[0]
    if module in ("pandas", "polars") and not hasattr(values, "dtype"):  # a table
        return None
    if module == "pandas":
        if str(values.dtype) not in ("category", "str", "string"):
            return None
        import pyarrow as pa

        values = pa.array(values)
    elif module == "polars":
        if str(values.dtype).split("(")[0] not in ("Categorical", "Enum", "String"):
            return None
        values = values.to_arrow()
    elif module != "pyarrow":
        return None
    import pyarrow as pa

    if not isinstance(values, pa.Array | pa.ChunkedArray):
        return None
    values = to_plain(values)
    if isinstance(values, pa.ChunkedArray):
        values = values.unify_dictionaries().combine_chunks()
    kind = values.type
    if pa.types.is_dictionary(kind):
        return values
    text = pa.types.is_string(kind) or pa.types.is_large_string(kind)
    return values.dictionary_encode() if text else None


def _dictionary_codes(column: pa.DictionaryArray) -> Codes:
    if column.indices.null_count:
        raise InputError("a label is missing")
    return np.asarray(from_arrow(column.indices), np.intp)


def _find_distinct(array: Array) -> tuple[Sequence[Any], Codes]:
    """Return the distinct values, in any order, and the index of each row's value among them.

    Values of a range of integers need not occur.
    """
    kind = array.dtype.kind
    if kind == "b":
        return [False, True], array.astype(np.intp)
    if kind in "iu":
        low, high = int(array.min()), int(array.max())
        if high - low < 2**16:
            signed = array.astype(np.int64, copy=False) if kind == "i" else array  # int8 overflows
            offsets = signed - signed.dtype.type(low) if low else signed
            return range(low, high + 1), offsets.astype(np.intp, copy=False)
    import pyarrow as pa

    if kind in "US":
        # As blocks of bytes, because values are only compared and need no decoding.
        array = np.ascontiguousarray(array)
        size = array.dtype.itemsize
        rows = pa.Array.from_buffers(pa.binary(size), len(array), [None, pa.py_buffer(array)])
        encoded_array = rows.dictionary_encode()
        values = np.frombuffer(b"".join(encoded_array.dictionary.to_pylist()), array.dtype).tolist()
        return values, _dictionary_codes(encoded_array)
    try:
        encoded_array = pa.array(array).dictionary_encode()
        return encoded_array.dictionary.to_pylist(), _dictionary_codes(encoded_array)
    except (pa.ArrowException, AttributeError, OverflowError, TypeError, ValueError):  # of any type
        position: dict[Any, int] = {}
        codes = [position.setdefault(label_name(value), len(position)) for value in array.tolist()]
        return list(position), np.array(codes, np.intp)


def _drop_unused(labels: Sequence[Any], codes: Codes, *, ordered: bool) -> EncodedLabels:
    """Drop labels that do not occur, merge those of equal names, and sort the others."""
    occurs_mask = np.bincount(codes, minlength=len(labels)) > 0
    if isinstance(labels, range):  # names of integers differ
        used = np.flatnonzero(occurs_mask)
        if len(used) == len(labels):
            return EncodedLabels(tuple(labels), codes, ordered)
        new_indices = np.cumsum(occurs_mask) - 1
        codes = new_indices[codes]
        return EncodedLabels(tuple(labels[index] for index in used.tolist()), codes, ordered)
    names = [label_name(label) for label in labels]
    label_by_name: dict[str, Any] = {}
    for name, label, is_present in zip(names, labels, occurs_mask, strict=True):
        if is_present:
            label_by_name.setdefault(name, label)
    if not ordered:
        label_by_name = dict(_sort_named(label_by_name.items()))
    index_by_name = {name: index for index, name in enumerate(label_by_name)}
    new_codes = [index_by_name.get(name, 0) for name in names]
    return EncodedLabels(tuple(label_by_name.values()), _recode(codes, new_codes), ordered)


def _sort_named(named_labels: Iterable[tuple[str, Any]]) -> list[tuple[str, Any]]:
    """Sort pairs of a name and a label: numbers by value, and everything else by name."""
    pairs = list(named_labels)
    is_numeric = all(isinstance(label, int | float | np.number) for _, label in pairs)
    return sorted(pairs, key=lambda pair: pair[1 if is_numeric else 0])


def sort_labels(labels: Iterable[Any]) -> list[Any]:
    """Sort numbers by value, and everything else by its text."""
    return [label for _, label in _sort_named((label_name(label), label) for label in labels)]


def encode_classes(
    truth: Any,
    labels: Sequence[Any] | None = None,
    *,
    other_columns: Mapping[str, Any] | None = None,
    extra_names: Iterable[Any] = (),
    input_name: str = "truth",
) -> ClassLabels:
    """Encode the class of each row of a problem with any number of classes.

    Parameters
    ----------
    truth : array-like of shape (n,)
        Column of labels: text, numbers, Booleans or a categorical.
    labels : sequence, optional
        Names of the classes in the desired order, including those without a row. By default the
        labels that occur: in the order of an ordered categorical, else in ascending order.
    other_columns : mapping of str to array-like, optional
        Other columns whose labels are classes too, such as predictions, by their names in
        messages.
    extra_names : iterable, default=()
        Names that are classes too, such as those that have a column of probabilities.
    input_name : str, default="truth"
        Name of the column in messages.

    Returns
    -------
    ClassLabels
        Names of the classes, and the class of each row as an index into them.

    Raises
    ------
    InputError
        If values are missing, or a row has a class that is not in ``labels``.

    Examples
    --------
    >>> result = encode_classes(["woman", "man", "child", "man"])
    >>> result.names, result.codes.tolist()
    (('child', 'man', 'woman'), [2, 1, 0, 1])
    """
    column = encode_labels(truth, input_name)
    if labels is None:
        encoded_columns = [
            encode_labels(values, name) for name, values in (other_columns or {}).items()
        ]
        all_labels = [
            *column.labels,
            *(label for column_of_labels in encoded_columns for label in column_of_labels.labels),
        ]
        index_by_label = label_index(column.names)
        extra = {
            label_name(label): label
            for label in (*all_labels, *extra_names)
            if find_label(index_by_label, label_name(label)) is None
        }
        merged = [*column.labels, *extra.values()] if extra else list(column.labels)
        if extra and not column.ordered:
            merged = sort_labels(merged)
        names = tuple(label_name(label) for label in merged)
    else:
        missing = np.flatnonzero([is_missing(label) for label in labels])
        if len(missing):
            raise missing_values_error("labels", missing, len(labels))
        names = tuple(label_name(label) for label in labels)
        if len(set(names)) < len(names):
            raise InputError(f"labels: {find_duplicate(names)!r} appears more than once")
    try:
        codes = ClassLabels(names, column.codes).encode(column, input_name)
    except InputError as error:
        if labels is None or len(names) < 2:
            raise
        hint = "macro-F1(labels=['a', 'b']) and recall[a] use only some of the classes"
        raise InputError(f"{error} ({hint})") from None
    return ClassLabels(names, codes)


#: Numbers of distinct values above which numbers are classes only if they are whole, and above
#: which whole numbers are classes only if most of them occur more than once.
MAX_FRACTIONAL_CLASSES = 20
MAX_INTEGER_CLASSES = 100


def check_classes(truth: EncodedLabels, n_rows: int, input_name: str = "truth") -> None:
    """Check that a column of ``n_rows`` rows holds classes rather than measurements."""
    labels = truth.labels
    if truth.ordered or not all(isinstance(x, int | float | np.number) for x in labels):
        return
    fraction = next((x for x in labels if not float(x).is_integer()), None)
    if fraction is not None and len(labels) > MAX_FRACTIONAL_CLASSES:
        kind = f"distinct numbers such as {format_value(fraction)}"
    elif len(labels) > MAX_INTEGER_CLASSES and 2 * len(labels) > n_rows:
        kind = f"distinct numbers in {n_rows:,} rows"
    else:
        return
    raise InputError(
        f"{input_name}: has {len(labels):,} {kind}, which are unlikely to be classes; use "
        "regression() for predicted numbers, or labels=[…] to treat them as classes"
    )


def check_predicted(predicted: EncodedLabels, truth: Sequence[str], input_name: str) -> None:
    """Check that a column of predictions holds labels rather than scores."""
    index_by_label = label_index(truth)
    for code, label in enumerate(predicted.labels):
        is_fraction = isinstance(label, float) and not label.is_integer()
        if is_fraction and find_label(index_by_label, predicted.names[code]) is None:
            row = int(np.argmax(predicted.codes == code))
            raise InputError(
                f"{input_name}: {format_value(label)} in row {row} is not a class of the truth; "
                "scores and probabilities are given as score= or probability="
            )
