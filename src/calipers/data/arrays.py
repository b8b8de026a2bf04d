"""Arrays from memory: what is taken, and every check on labels, scores and weights."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from calipers.data.errors import InputError, did_you_mean, shown

if TYPE_CHECKING:
    import numpy.typing as npt
    import pyarrow as pa

Array: TypeAlias = "npt.NDArray[Any]"
Codes: TypeAlias = "npt.NDArray[np.intp]"
Floats: TypeAlias = "npt.NDArray[np.float64]"
#: See :func:`class_table`.
ClassTable: TypeAlias = "tuple[npt.NDArray[np.floating[Any]], Codes, Floats, Floats]"

#: Numbers that are squared and added up are no larger.
LARGEST = 1e45

#: The least weight above 0, and the largest.
WEIGHTS = (1e-60, 1e60)

#: The least weight above 0 is this share of the largest, or more.
LEAST_SHARE = 1e-12

#: How far the probabilities of a row may be from a sum of one.
SUM_TOLERANCE = 1e-6


@dataclass(frozen=True)
class Labels:
    """Two classes: their names, negative first, and whether each row is positive.

    ``others`` are the classes that the negative one is made of, when the truth has more than two.
    """

    names: tuple[str, str]
    positive: npt.NDArray[np.bool_]
    others: tuple[str, ...] = ()
    #: Every class that there is, in their order.
    classes: tuple[str, ...] = ()


@dataclass(frozen=True)
class Coded:
    """A column of labels as positions in the list of its distinct labels.

    The labels stand in the order of an ordered categorical, else in ascending order, of numbers or
    of text. Every one of them occurs.
    """

    labels: tuple[Any, ...]
    codes: Codes
    ordered: bool = False

    @property
    def names(self) -> tuple[str, ...]:
        """The labels as text."""
        return tuple(name_of(label) for label in self.labels)


@dataclass(frozen=True)
class Classes:
    """The names of the classes, and the class of each row as a position among them."""

    names: tuple[str, ...]
    codes: Codes

    def codes_of(self, values: Any, what: str) -> Codes:
        """Another column, such as predictions, as positions among the same names."""
        column = coded(values, what)
        same_length(column.codes, len(self.codes), what)
        position = _positions(self.names)
        to = []
        for code, label in enumerate(column.labels):
            name = name_of(label)
            found = _place(position, name)
            if found is None:
                row = int(np.argmax(column.codes == code))
                raise InputError(
                    f"{what}: {shown(label)} in row {row} is no class; "
                    + did_you_mean(name, self.names)
                )
            to.append(found)
        return _recoded(column.codes, to)


def _positions(names: Iterable[str]) -> dict[str, int]:
    """Where each name stands; True and 1 are equal, and so are their names."""
    exact = {name: position for position, name in enumerate(names)}
    return {_AS_NUMBER.get(name, name): at for name, at in exact.items()} | exact


def _place(positions: Mapping[str, int], name: str) -> int | None:
    return positions.get(name, positions.get(_AS_NUMBER.get(name, name)))


def _recoded(codes: Codes, to: Sequence[int]) -> Codes:
    if list(to) == list(range(len(to))):
        return codes
    return np.asarray(to, np.intp)[codes]


def coded(values: Any, what: str) -> Coded:
    """A column of labels, encoded; what is encoded already comes back as it is.

    Raises
    ------
    InputError
        When the column is empty, is no column, or has missing values.
    """
    if isinstance(values, Coded):
        return values
    _check_column(values, what)
    column = _dictionary(values)
    if column is None:
        array = as_array(values, what)
        if array.dtype.kind == "f":
            as_numbers(array, what)  # NaN is no class
            array = array.astype(np.float64)
            whole = array.astype(np.int64) if np.abs(array).max() < 2**53 else array
            array = whole if (whole == array).all() else array
        labels, codes = _distinct(array)
        ordered = False
    else:
        missing = np.flatnonzero(_nulls(values))
        if len(missing):
            raise _values_missing(what, missing, len(column))
        if len(column) == 0:
            raise InputError(f"{what}: is empty")
        labels, codes = column.dictionary.to_pylist(), _indices(column)
        # The categories of polars' Enum have an order, which older versions do not hand on.
        ordered = column.type.ordered or str(getattr(values, "dtype", "")).startswith("Enum")
    return _tidied(labels, codes, ordered=ordered)


def _dictionary(values: Any) -> pa.DictionaryArray | None:
    """Categoricals and text of pandas, polars and Arrow, encoded by Arrow; None for the rest."""
    module = type(values).__module__.split(".")[0]
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

    if isinstance(values, pa.ChunkedArray):
        values = values.unify_dictionaries().combine_chunks()
    kind = values.type
    if pa.types.is_dictionary(kind):
        return values
    text = (
        pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind)
    )
    return values.dictionary_encode() if text else None


def _indices(column: pa.DictionaryArray) -> Codes:
    if column.indices.null_count:
        raise InputError("a label is missing")
    return np.asarray(column.indices.to_numpy(zero_copy_only=False), np.intp)


def _distinct(array: Array) -> tuple[list[Any], Codes]:
    """The distinct values, in any order, and where each row's stands among them."""
    kind = array.dtype.kind
    if kind == "b":
        return [False, True], array.astype(np.intp)
    if kind in "iu":
        low, high = int(array.min()), int(array.max())
        if high - low < 2**16:
            wide = array.astype(np.int64, copy=False) if kind == "i" else array  # int8 overflows
            from_low = wide - wide.dtype.type(low) if low else wide
            return list(range(low, high + 1)), from_low.astype(np.intp, copy=False)
    import pyarrow as pa

    if kind in "US":
        # As blocks of bytes: their values are what they are, and need no decoding.
        array = np.ascontiguousarray(array)
        size = array.dtype.itemsize
        rows = pa.Array.from_buffers(pa.binary(size), len(array), [None, pa.py_buffer(array)])
        made = rows.dictionary_encode()
        values = np.frombuffer(b"".join(made.dictionary.to_pylist()), array.dtype).tolist()
        return values, _indices(made)
    try:
        made = pa.array(array).dictionary_encode()
        return made.dictionary.to_pylist(), _indices(made)
    except (pa.ArrowException, AttributeError, OverflowError, TypeError, ValueError):  # of any type
        position: dict[Any, int] = {}
        codes = [position.setdefault(name_of(value), len(position)) for value in array.tolist()]
        return list(position), np.array(codes, np.intp)


def _tidied(labels: Sequence[Any], codes: Codes, *, ordered: bool) -> Coded:
    """Without labels that do not occur, each name once, in their order."""
    occurs = np.bincount(codes, minlength=len(labels)) > 0
    by_name: dict[str, Any] = {}
    for label, there in zip(labels, occurs, strict=True):
        if there:
            by_name.setdefault(name_of(label), label)
    kept = list(by_name.values()) if ordered else _in_order(by_name.values())
    position = {name_of(label): at for at, label in enumerate(kept)}
    to = [position.get(name_of(label), 0) for label in labels]
    return Coded(tuple(kept), _recoded(codes, to), ordered)


def _in_order(labels: Iterable[Any]) -> list[Any]:
    """Numbers by value, everything else by its text."""
    kept = list(labels)
    numbers = all(isinstance(label, int | float | np.number) for label in kept)
    return sorted(kept) if numbers else sorted(kept, key=name_of)


def classes(
    truth: Any,
    labels: Sequence[Any] | None = None,
    *,
    also: Mapping[str, Any] | None = None,
    named: Iterable[Any] = (),
    what: str = "truth",
) -> Classes:
    """The classes of a problem of any number of classes, and the class of each row.

    Parameters
    ----------
    truth
        A column of labels: text, numbers, Booleans or a categorical.
    labels
        The names of the classes in the order wanted, those without a row included. Unless given,
        the labels that occur: in the order of an ordered categorical, else in ascending order.
    also
        Other columns whose labels are classes too, such as predictions, by what messages call them.
    named
        Names that are classes too, such as those that have a column of probabilities.

    Raises
    ------
    InputError
        When values are missing, or a row has a class that ``labels`` leaves out.

    Examples
    --------
    >>> found = classes(["woman", "man", "child", "man"])
    >>> found.names, found.codes.tolist()
    (('child', 'man', 'woman'), [2, 1, 0, 1])
    """
    column = coded(truth, what)
    if labels is None:
        others = [coded(values, name) for name, values in (also or {}).items()]
        all_labels = [*column.labels, *(label for other in others for label in other.labels)]
        known = _positions(column.names)
        extra = {
            name_of(label): label
            for label in (*all_labels, *named)
            if _place(known, name_of(label)) is None
        }
        merged = [*column.labels, *extra.values()] if extra else list(column.labels)
        if extra and not column.ordered:
            merged = _in_order(merged)
        names = tuple(name_of(label) for label in merged)
    else:
        absent = np.flatnonzero([is_missing(label) for label in labels])
        if len(absent):
            raise _values_missing("labels", absent, len(labels))
        names = tuple(name_of(label) for label in labels)
        if len(set(names)) < len(names):
            twice = next(name for name in names if names.count(name) > 1)
            raise InputError(f"labels: {twice!r} stands there more than once")
    return Classes(names, Classes(names, column.codes).codes_of(column, what))


def is_per_class(probability: Any, names: Sequence[str]) -> bool:
    """Whether a dict holds a column for each class of one system, and not several systems."""
    if not isinstance(probability, Mapping) or any(map(_is_table, probability.values())):
        return False
    return {name_of(key) for key in probability} == set(names) or len(names) > 2


def is_one_column(given: Any, names: Sequence[str]) -> bool:
    """Whether scores or probabilities are a column for each system, not one for each class."""
    if isinstance(given, Mapping):
        return not (is_per_class(given, names) or any(map(_is_table, given.values())))
    return not _is_table(given)


def _is_table(values: Any) -> bool:
    if isinstance(values, Mapping) or hasattr(values, "columns") or hasattr(values, "column_names"):
        return True
    if isinstance(values, list | tuple):
        return bool(values) and np.ndim(values[0]) == 1
    return getattr(values, "ndim", 1) == 2


def columns_of_classes(probability: Any) -> tuple[str, ...]:
    """The classes that probabilities have columns of: none where they come in a given order."""
    if isinstance(probability, Mapping):
        return tuple(name_of(key) for key in probability)
    names = getattr(probability, "column_names", getattr(probability, "columns", ()))
    return tuple(name_of(name) for name in names)


def class_table(
    values: Any,
    classes: Classes,
    what: str = "probability",
    *,
    distribution: bool = True,
) -> ClassTable:
    """Probabilities of K classes as an array of shape (rows, K), in the order of the classes; and
    of each row, from the same pass that checks them, the class of the highest (the first of
    equals), the probability of its own class, and the sum of the squares of the others.

    An array of single or double precision is taken as it lies, whatever its order of memory.

    Parameters
    ----------
    values
        A column for each class: a dict or a data frame, matched by name, or an array of shape
        (rows, K) in the order of the classes.
    classes
        The classes, and that of each row.
    distribution
        Whether they are probabilities; else scores, of which any finite number will do.

    Raises
    ------
    InputError
        When a class has no column or a column no class, when a value is missing or lies outside of
        [0, 1], or when a row does not sum to one within 1e-6; the first such row is named.

    Examples
    --------
    >>> given = {"b": [0.75, 0.5], "a": [0.25, 0.5]}
    >>> table, highest, own, other_squares = class_table(given, classes(["b", "a"]))
    >>> table
    array([[0.25, 0.75],
           [0.5 , 0.5 ]])
    >>> highest, own
    (array([1, 0]), array([0.75, 0.5 ]))
    """
    from calipers import _core

    names, rows = classes.names, len(classes.codes)
    by_name = columns_of_classes(values)
    if by_name:
        table = _of_columns(_matched(values, by_name, names, what), names, rows, what)
    else:
        table = table_of(values, what)
        if table.ndim != 2 or table.shape[1] != len(names):
            if table.ndim == 1:
                raise _one_for_all("has one column", names, what)
            raise InputError(
                f"{what}: has shape {table.shape}, expected a column for each of the {len(names)} "
                f"classes: {_listed(names)}"
            )
        same_length(table, rows, what)
    highest, own, squares, bad, off = _core.class_rows(
        table, np.asarray(classes.codes, np.int64), SUM_TOLERANCE if distribution else None
    )
    if bad[0]:
        raise _bad_value(table[bad[1]], names, what, *bad, distribution=distribution)
    if off[0]:
        raise InputError(
            f"{what}: sum to {table[off[1]].sum(dtype=np.float64):.7g} in row {off[1]}"
            f"{_more(off[0])}, expected 1 within {SUM_TOLERANCE:g}"
        )
    return table, highest, own, squares


def positive_probability(
    probability: Any, labels: Labels, what: str
) -> npt.NDArray[np.floating[Any]]:
    """The probability of the positive class: a column of it, or a column for each class."""
    if not _is_table(probability):
        return as_probabilities(probability, what)
    any_class = np.zeros(len(labels.positive), np.intp)
    table = class_table(probability, Classes(labels.classes, any_class), what)[0]
    return table[:, labels.classes.index(labels.names[1])]


def table_of(values: Any, what: str) -> npt.NDArray[np.floating[Any]]:
    """Numbers in rows and columns, NaN where one is missing."""
    table = _converted(values, what)
    if table.dtype.kind not in "fiubO":
        first = shown(table.flat[0]) if table.size else "nothing"
        raise InputError(f"{what}: holds {first}, expected a table of numbers")
    if isinstance(table, np.ma.MaskedArray):
        table = np.ma.filled(table.astype(np.float64), np.nan)
    return table if table.dtype in (np.float32, np.float64) else _as_floats(table, what)


def check_columns(values: Any, classes: Classes, what: str) -> None:
    """That of columns with names one at least is that of a class with rows; else they are systems,
    in all likelihood, with a column each for one class."""
    columns = columns_of_classes(values)
    if not columns or len(set(columns)) == len(classes.names):
        return
    there = np.bincount(classes.codes, minlength=len(classes.names)) > 0
    names = [name for name, rows in zip(classes.names, there, strict=True) if rows]
    known = _positions(names)
    if all(_place(known, column) is None for column in columns):
        has = f"has no column of a class, but {_listed(columns)}"
        # Where nobody named the classes, those columns were taken for some.
        taken = set(map(name_of, columns)) - set(names)
        raise _one_for_all(has, [name for name in classes.names if name not in taken], what)


def _one_for_all(has: str, names: Sequence[str], what: str) -> InputError:
    return InputError(
        f"{what}: {has}; with {len(names)} class{'es' if len(names) > 1 else ''} "
        f"({_listed(names)}) a column for each of them is needed, or a positive class "
        "(positive=… or --positive)"
    )


def _listed(names: Sequence[str]) -> str:
    return ", ".join(names[:10]) + (", …" if len(names) > 10 else "")


def _matched(
    table: Any, columns: Sequence[str], names: Sequence[str], what: str
) -> list[tuple[int, Any]]:
    """Each column of a dict or data frame with the position of its class."""
    position = _positions(names)
    found: dict[int, Any] = {}
    keys = table if isinstance(table, Mapping) else getattr(table, "column_names", None)
    for key, name in zip(table.columns if keys is None else keys, columns, strict=True):
        at = _place(position, name)
        if at is None:
            raise InputError(f"{what}: {name!r} is no class; {did_you_mean(name, names)}")
        found[at] = table[key]
    for at, name in enumerate(names):
        if at not in found:
            raise InputError(
                f"{what}: the class {name!r} has no column; {did_you_mean(name, columns)}"
            )
    return sorted(found.items(), key=lambda item: item[0])


def _of_columns(
    columns: list[tuple[int, Any]], names: Sequence[str], rows: int, what: str
) -> npt.NDArray[np.floating[Any]]:
    """A table of columns that come one by one."""
    made = [(at, as_numbers(column, f"{what} of {names[at]!r}")) for at, column in columns]
    for at, values in made:
        same_length(values, rows, f"{what} of {names[at]!r}")
    table = np.empty((rows, len(names)), np.result_type(*(v for _, v in made)), order="F")
    for at, values in made:
        table[:, at] = values
    return table


def _bad_value(
    row: npt.NDArray[np.floating[Any]],
    names: Sequence[str],
    what: str,
    count: int,
    place: int,
    *,
    distribution: bool,
) -> InputError:
    """What is wrong with the first value of a row that may not stand there."""
    fine = (row >= 0) & (row <= 1) if distribution else np.isfinite(row)
    at = int(np.argmin(fine))
    expected = "probabilities between 0 and 1" if distribution else "finite numbers"
    value = "missing" if np.isnan(row[at]) else f"{row[at]:g}"
    return InputError(
        f"{what} of {names[at]!r}: is {value} in row {place}{_more(count)}, expected {expected}"
    )


def _more(rows: int) -> str:
    return f" (and {rows - 1} more rows)" if rows > 1 else ""


def as_array(values: Any, what: str) -> Array:
    """One column as a NumPy array without missing values: from NumPy, lists, anything with
    ``__array__`` or DLPack, pandas, polars or Arrow."""
    _check_column(values, what)
    missing = np.flatnonzero(_nulls(values))
    if len(missing):
        raise _values_missing(what, missing, len(values))
    array = _converted(values, what)
    if array.ndim != 1:
        scores = "; a number for each class is given as score= or probability="
        raise InputError(
            f"{what}: has shape {array.shape}, expected one value per row"
            + (scores if what.startswith("predicted") and array.ndim == 2 else "")
        )
    if len(array) == 0:
        raise InputError(f"{what}: is empty")
    absent = np.flatnonzero(_absent(array))
    if len(absent):
        raise _values_missing(what, absent, len(array))
    return np.asarray(array)


def _check_column(values: Any, what: str) -> None:
    """That it is no table, nor an index of several levels."""
    names = getattr(values, "column_names", getattr(values, "columns", None))
    if names is not None and not callable(names):
        raise InputError(
            f"{what}: is a table of {len(names)} column{'' if len(names) == 1 else 's'}; expected "
            "one column, or a dict from names to columns where there are several systems"
        )
    if getattr(values, "nlevels", 1) != 1:
        raise InputError(f"{what}: is an index of several levels, expected one column")


def missing_rows(values: Any, what: str) -> npt.NDArray[np.bool_]:
    """Which rows of a column (or of a table of columns) have no value: null, None or NaN."""
    nulls = np.asarray(_nulls(values))
    array = _converted(values, what)
    missing = np.zeros(array.shape, bool) if nulls.ndim == 1 and not len(nulls) else nulls
    missing = missing | _absent(array)
    if array.dtype.kind == "f":
        missing = missing | np.isnan(np.asarray(array))
    return np.asarray(missing.any(axis=1) if missing.ndim == 2 else missing, bool)


def _absent(array: Array) -> npt.NDArray[np.bool_]:
    """Which values of an array are masked, or are objects that stand for a missing value."""
    absent = np.zeros(array.shape, bool)
    if isinstance(array, np.ma.MaskedArray):
        absent |= np.ma.getmaskarray(array)
    if array.dtype.kind in "mM":
        absent |= np.isnat(np.asarray(array))
    if array.dtype.kind == "O" and array.ndim == 1:
        absent |= np.fromiter(map(is_missing, np.asarray(array)), bool, len(array))
    return absent


def is_missing(value: Any) -> bool:
    """Whether a value says that there is none: None, NaN, NA, NaT, or a masked one."""
    if value is None or value is np.ma.masked:
        return True
    try:
        return bool(value != value)
    except Exception:  # NA of pandas is neither; other objects compare as they like
        return type(value).__name__ == "NAType"


def kept(values: Any, keep: npt.NDArray[np.bool_]) -> Any:
    """A column, a table or a dict of them with these rows only."""
    if values is None:
        return None
    if isinstance(values, Mapping):
        return {name: kept(value, keep) for name, value in values.items()}
    module = type(values).__module__.split(".")[0]
    if module == "pyarrow":
        return values.filter(keep)
    if module == "polars":
        return values.filter(keep.tolist())
    return (values if module == "pandas" else _converted(values, "column"))[keep]


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
        return np.asarray(values.isna())
    return ()


def _converted(values: Any, what: str) -> Array:
    """As an array of NumPy; one that is masked stays so."""
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
        return np.asanyarray(values)
    if hasattr(values, "__dlpack__"):
        return np.from_dlpack(values)
    unordered = isinstance(values, str | bytes | set | frozenset | Mapping)
    if unordered or not hasattr(values, "__iter__"):
        raise InputError(f"{what}: {shown(values)} is no column of values")
    try:
        return _of_list(list(values))
    except ValueError:
        raise InputError(f"{what}: rows differ in length, expected one value per row") from None


def _of_list(values: list[Any]) -> Array:
    """A list as an array. What is masked is missing; beside text, numbers stay what they are, so
    that NaN does not become the text "nan"."""
    kinds = set(map(type, values))
    if any(issubclass(kind, np.ma.MaskedArray) for kind in kinds):
        if type(np.ma.masked) not in kinds:
            return np.ma.array(values)
        values = [None if value is np.ma.masked else value for value in values]
    if len(kinds) > 1 and not kinds.isdisjoint((str, bytes, np.str_, np.bytes_)):
        return np.fromiter(values, object, len(values))
    return np.array(values)


def _decoded(array: Any) -> Any:
    """Arrow's dictionary-encoded values as what they stand for."""
    import pyarrow as pa

    return array.dictionary_decode() if pa.types.is_dictionary(array.type) else array


def as_numbers(values: Any, what: str) -> npt.NDArray[np.floating[Any]]:
    """Finite numbers; float32 stays float32."""
    array = as_array(values, what)
    if array.dtype.kind not in "fiubO":
        raise InputError(f"{what}: holds {shown(array[0])} in row 0, expected numbers")
    if array.dtype not in (np.float32, np.float64):
        array = _as_floats(array, what)
    finite = np.isfinite(array)
    if not finite.all():
        rows = np.flatnonzero(~finite)
        kind = "NaN" if np.isnan(array[rows[0]]) else "infinite"
        raise InputError(
            f"{what}: is {kind} in row {rows[0]}{_more(len(rows))}, expected finite numbers"
        )
    return array


def _as_floats(array: Array, what: str) -> Floats:
    """Numbers of another type, or objects that are numbers, NaN where one is missing. Text that
    looks like a number is none."""
    if array.dtype.kind != "O":
        with np.errstate(over="ignore"):  # what is too large is infinite, and refused as such
            return array.astype(np.float64)
    values = array.ravel().tolist()
    numbers = [_float(value) for value in values]
    if None in numbers:
        place = numbers.index(None)
        row = place // (array.size // len(array))
        raise InputError(f"{what}: holds {shown(values[place])} in row {row}, expected numbers")
    return np.array(numbers, np.float64).reshape(array.shape)


def _float(value: Any) -> float | None:
    """An object as a number; None of what is none."""
    if is_missing(value):
        return float("nan")
    try:
        return None if isinstance(value, str | bytes | np.ndarray) else float(value)
    except Exception:  # whatever somebody's __float__ raises
        return None


def as_probabilities(values: Any, what: str) -> npt.NDArray[np.floating[Any]]:
    """Numbers between 0 and 1."""
    array = as_numbers(values, what)
    wrong = np.flatnonzero((array < 0) | (array > 1))
    if len(wrong):
        raise InputError(
            f"{what}: is {array[wrong[0]]:g} in row {wrong[0]}{_more(len(wrong))}, "
            "expected probabilities between 0 and 1"
        )
    return array


def as_quantities(values: Any, what: str) -> Floats:
    """Numbers that are added up and squared: finite, and no larger than :data:`LARGEST`."""
    array = as_numbers(values, what).astype(np.float64)
    wrong = np.flatnonzero(np.abs(array) > LARGEST)
    if len(wrong):
        raise InputError(
            f"{what}: is {array[wrong[0]]:g} in row {wrong[0]}{_more(len(wrong))}, expected "
            f"numbers from -{LARGEST:g} to {LARGEST:g}, whose squares can be added up"
        )
    return array


def as_weights(values: Any, rows: int) -> npt.NDArray[np.float64] | None:
    """Weights of zero or more that are not all zero; None when all are one.

    A weight is 0 or lies between 1e-60 and 1e60, so that products of four sums of them, as the MCC
    has them, neither overflow nor vanish; and the least is no less than 1e-12 of the largest, for
    beside that rounding would leave nothing of it in a sum over many rows.
    """
    if values is None:
        return None
    weight = as_numbers(values, "weight").astype(np.float64)
    same_length(weight, rows, "weight")
    wrong = np.flatnonzero(weight < 0)
    if len(wrong):
        raise InputError(
            f"weight: is {weight[wrong[0]]:g} in row {wrong[0]}{_more(len(wrong))}, "
            "expected 0 or more"
        )
    if not weight.any():
        raise InputError("weight: all weights are 0")
    low, high = WEIGHTS
    wrong = np.flatnonzero((weight > 0) & ((weight < low) | (weight > high)))
    if len(wrong):
        raise InputError(
            f"weight: is {weight[wrong[0]]:g} in row {wrong[0]}{_more(len(wrong))}, expected 0, or "
            f"{low:g} to {high:g}; weights count relative to each other, so that all of them can "
            "be multiplied by one number"
        )
    lost = np.flatnonzero((weight > 0) & (weight < weight.max() * LEAST_SHARE))
    if len(lost):
        raise InputError(
            f"weight: is {weight[lost[0]]:g} in row {lost[0]}{_more(len(lost))}, which is nothing "
            f"beside the largest, {weight.max():g}; expected 0, or {LEAST_SHARE:g} of it at least"
        )
    return None if (weight == 1).all() else weight


def same_length(array: Array, rows: int, what: str) -> None:
    """That a column has as many rows as the truth."""
    if len(array) != rows:
        raise InputError(f"{what}: has {len(array)} rows, truth has {rows}")


def two_classes(
    truth: Any,
    positive: Any = None,
    what: str = "truth",
    *,
    said: Iterable[str] = (),
    both: Sequence[Any] | None = None,
) -> Labels:
    """The truth of a two-class problem, and which class is the positive one.

    Without ``positive``, 1 (or True) is positive against 0 (or −1, or False); any other pair of
    labels has to say which one it means. With it, all other classes make up the negative one.
    Where all rows are of one class, the other is the one that it makes such a pair with, or one
    that ``said`` names: classes that systems predict. ``both`` names the two, if that was asked.
    """
    column = coded(truth, what)
    if both is not None:
        column = Coded(tuple(both), classes(column, both, what=what).codes, ordered=True)
        names = [name_of(label) for label in both]
        if positive is not None and _place(_positions(names), name_of(positive)) is None:
            raise InputError(
                f"positive: {shown(positive)} is none of labels; "
                + did_you_mean(name_of(positive), names)
            )
    labels = list(column.labels)
    if len(labels) == 1:
        labels += _other_class(column.names[0], positive, list(said), what)
    if len(labels) > 2 and positive is None:
        first = [int(np.argmax(column.codes == code)) for code in range(len(labels))]
        before, other, third = sorted(zip(first, labels, strict=True), key=lambda pair: pair[0])[:3]
        raise InputError(
            f"{what}: has a third class {shown(third[1])} in row {third[0]} besides "
            f"{shown(before[1])} and {shown(other[1])}; expected two classes"
        )
    names = [name_of(label) for label in labels]
    chosen = labels.index(_positive_label(labels, positive, what))
    others = tuple(name for name in names if name != names[chosen])
    negative = others[0] if len(others) == 1 else f"not {names[chosen]}"
    collapsed = others if len(others) > 1 else ()
    return Labels(
        (negative, names[chosen]),
        column.codes == chosen,
        collapsed,
        tuple(names if both is not None else _in_order(names)),
    )


#: Pairs of labels that say themselves which one is positive, the second.
_PAIRS = (("0", "1"), ("-1", "1"), ("False", "True"), ("false", "true"))


def _other_class(name: str, positive: Any, said: Sequence[str], what: str) -> list[str]:
    """The class that no row has."""
    named = None if positive is None else name_of(positive)
    others = {other for other in said if other != name}
    pairs = [(set(pair) - {name}).pop() for pair in _PAIRS if name in pair]
    if named not in (None, name):
        others &= {named}
        pairs = [other for other in pairs if other == named]
    if len(others) == 1:
        return list(others)
    if pairs:
        return pairs[:1]
    if named == name:
        return [f"not {name}"]
    raise InputError(
        f"{what}: has one class only ({shown(name)}), and nothing says which the other is; name "
        "all of them (labels=[…] or --labels), or the positive one if it is this (positive=… or "
        "--positive)"
    )


def _positive_label(labels: list[Any], positive: Any, what: str) -> Any:
    if positive is not None:
        if is_missing(positive):
            raise InputError("positive is missing, expected a class")
        named = name_of(positive)
        for label in labels:
            if _place(_positions([name_of(label)]), named) is not None:  # True is 1
                return label
        raise InputError(
            f"{what}: no row has the class {shown(positive)} that was named positive; "
            + did_you_mean(name_of(positive), [name_of(label) for label in labels])
        )
    names = {name_of(label) for label in labels}
    for low, high in _PAIRS:
        if names == {low, high}:
            return next(label for label in labels if name_of(label) == high)
    named = " and ".join(sorted(shown(label) for label in labels))
    raise InputError(f"{what}: has the classes {named}; say which one is positive (positive=…)")


#: A truth of more distinct numbers is taken for one of classes only where they are whole, and most
#: of them stand there more than once.
MOST_NUMBERS = 20
MOST_WHOLE_NUMBERS = 100


def check_classes(truth: Coded, what: str = "truth") -> None:
    """That a column of numbers is one of classes, and not of measurements."""
    labels, rows = truth.labels, len(truth.codes)
    if truth.ordered or not all(isinstance(x, int | float | np.number) for x in labels):
        return
    fraction = next((x for x in labels if not float(x).is_integer()), None)
    if fraction is not None and len(labels) > MOST_NUMBERS:
        kind = f"distinct numbers such as {shown(fraction)}"
    elif len(labels) > MOST_WHOLE_NUMBERS and 2 * len(labels) > rows:
        kind = f"distinct numbers in {rows:,} rows"
    else:
        return
    raise InputError(
        f"{what}: has {len(labels):,} {kind}, which are no classes; regression() evaluates "
        "predicted numbers, and labels=[…] takes them for classes all the same"
    )


def check_predicted(predicted: Coded, truth: Sequence[str], what: str) -> None:
    """That a column of predictions is one of labels, and not of scores."""
    known = _positions(truth)
    for code, label in enumerate(predicted.labels):
        fraction = isinstance(label, float) and not label.is_integer()
        if fraction and _place(known, predicted.names[code]) is None:
            row = int(np.argmax(predicted.codes == code))
            raise InputError(
                f"{what}: {shown(label)} in row {row} is no class of the truth; scores and "
                "probabilities are given as score= or probability="
            )


def predictions(predicted: Any, labels: Labels, what: str) -> npt.NDArray[np.bool_]:
    """Whether each row is predicted to be of the positive class."""
    negative, positive = labels.names
    column = coded(predicted, what)
    check_predicted(column, labels.classes, what)
    same_length(column.codes, len(labels.positive), what)
    known = _positions(labels.classes)
    places = [_place(known, name) for name in column.names]
    # Of several classes a system may know one that no row has: it is not the positive one.
    if None in places and not labels.others:
        code = places.index(None)
        row = int(np.argmax(column.codes == code))
        raise InputError(
            f"{what}: {shown(column.labels[code])} in row {row} is no class of the truth; "
            f"expected {negative!r} or {positive!r}"
        )
    return np.array([place == known[positive] for place in places], bool)[column.codes]


_AS_NUMBER = {"False": "0", "True": "1"}


def name_of(label: Any) -> str:
    """A label as text; 1.0 and 1 are the same class."""
    if isinstance(label, np.generic):
        label = label.item()
    if isinstance(label, float) and label.is_integer():
        label = int(label)
    if isinstance(label, bytes):
        return label.decode("utf-8", "replace")
    try:
        return str(label)
    except Exception:  # whatever somebody's __str__ does
        return shown(label)
