"""Columns of categories in CSV: whether their texts are numbers, or names made of digits.

Arrow reads the texts ``01`` and ``1`` as one number. Categories (classes, clusters, groups, ids)
are numbers only if each of them is written as that number is; otherwise all are text.
"""

from __future__ import annotations

import io
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from calipers.lazy_dataclasses import dataclass

if TYPE_CHECKING:
    import pyarrow as pa

#: Roles of arguments that are categories in every task.
LABEL_ROLES = (
    "group", "cluster", "labels", "fold", "repetition", "split", "stratify", "system", "item",
    "rater", "case",
)  # fmt: skip
#: Roles of categories that may be quantities, so that their decimals may have any form.
QUANTITY_ROLES = ("slices", "ratings", "rating")


@dataclass(frozen=True)
class Category:
    """How the values of a column of categories are read.

    Attributes
    ----------
    any_decimals : bool, default=False
        Whether decimals are numbers in whatever form they are written, such as 2.50.
    set_name : str, default=""
        Name of the set of columns of the same categories: if one of them is text, all are.
    """

    any_decimals: bool = False
    set_name: str = ""


#: Function from the names of all columns of a table to those that hold categories.
CategorySelector: TypeAlias = Callable[[Sequence[str]], Mapping[str, Category]]


@dataclass(frozen=True)
class CategoryColumns:
    """Columns of categories among the columns of an evaluation.

    Each attribute is what was given as columns: a name, a pattern such as ``"p_*"``, or nested
    lists and dicts of these. A column that also has a numeric role is a number.

    Attributes
    ----------
    labels : dict
        Columns of classes, groups and ids, by the name of the set of the same categories.
    quantities : dict
        Columns of categories that may be quantities: of slices, and of raters.
    numbers : object
        Columns of numbers.
    """

    labels: Mapping[str, Any]
    quantities: Mapping[str, Any]
    numbers: Any = ()

    @classmethod
    def from_roles(
        cls, columns: Mapping[str, Any], roles: Collection[str] = (), id_column: str | None = None
    ) -> CategoryColumns:
        """Find the categories among columns by role.

        ``roles`` are those that are categories in this task, in addition to those that always are.
        A truth of several columns is a distribution over classes, or has a 0 or 1 for each label.
        """
        requested = {role: values for role, values in columns.items() if values is not None}
        truth = requested.get("truth")
        is_wide = not isinstance(truth, str) or truth.endswith("*")
        label_roles = {*LABEL_ROLES, *roles} - ({"truth"} if is_wide else set())
        labels: dict[str, list[Any]] = {}
        for role, values in requested.items():
            if role in label_roles:
                labels.setdefault("classes" if role in roles else role, []).append(values)
        return cls(
            {**labels, "id": id_column},
            {role: requested[role] for role in QUANTITY_ROLES if role in requested},
            [
                values
                for role, values in requested.items()
                if role not in label_roles and role not in QUANTITY_ROLES
            ],
        )

    def select(self, names: Sequence[str]) -> dict[str, Category]:
        """Return the columns of categories among the columns of a table.

        >>> CategoryColumns({"id": "id"}, {"slices": "age"}).select(["id", "age", "p"])["age"]
        Category(any_decimals=True, set_name='')
        """
        selected: dict[str, Category] = {}
        for role, requested in self.quantities.items():
            # Columns of slices have nothing to do with each other.
            category = Category(any_decimals=True, set_name="" if role == "slices" else role)
            selected |= dict.fromkeys(matching_names(requested, names), category)
        for role, requested in self.labels.items():
            selected |= dict.fromkeys(matching_names(requested, names), Category(set_name=role))
        for name in matching_names(self.numbers, names):
            selected.pop(name, None)
        return selected


def matching_names(requested: Any, names: Sequence[str]) -> list[str]:
    """Return the columns that are named, or that match a pattern."""
    present = set(names)
    matches: dict[str, None] = {}
    for name in candidate_names(requested, len(names)):
        if name in present:
            matches[name] = None
        elif name.endswith("*"):
            matches |= dict.fromkeys(n for n in names if n.startswith(name[:-1]))
    return list(matches)


def candidate_names(requested: Any, n_columns: int) -> Iterator[str]:
    """Yield all texts that may name one of ``n_columns`` columns; longer lists hold values."""
    if isinstance(requested, str):
        yield requested
    elif isinstance(requested, Mapping):
        for value in requested.values():
            yield from candidate_names(value, n_columns)
    elif isinstance(requested, tuple) or (
        isinstance(requested, list) and len(requested) <= n_columns
    ):
        for value in requested:
            yield from candidate_names(value, n_columns)


#: Selects all columns of a table that may be of categories, and of numbers in any form.
ANY_COLUMN = CategoryColumns({}, {"slices": "*"}).select


# --- The rule ---------------------------------------------------------------------------------

#: Bytes that are looked at together: few enough for their masks to stay near the processor.
_PIECE = 1 << 17
#: Form of numbers that are written as Python writes them.
_CANONICAL = 0
#: Ways to write true and false.
_BOOLEANS = (("true", "false"), ("True", "False"), ("TRUE", "FALSE"))
#: A double has all whole numbers of so many digits.
_INTEGER = r"-?(0|[1-9][0-9]{0,14})"
_NOT_FINITE = r"(?i)[+-]?(nan|inf|infinity)"
_DECIMAL = r"-?(0|[1-9][0-9]*)\.(0|[0-9]*[1-9])"
_SCIENTIFIC = r"-?[1-9](\.[0-9]*[1-9])?e[+-][0-9]{2,3}"
_FIXED = r"-?((0|[1-9][0-9]*)\.[0-9]+|[0-9]\.[0-9]+e[+-][0-9]{2,3})"
_PADDED = r"[+-]?0[0-9].*|[+-]?[0-9]{16,}"

#: Forms in which all of some texts are written; None if any form is possible.
Forms: TypeAlias = "frozenset[int] | None"

_NO_FORM: frozenset[int] = frozenset()
_CANONICAL_FORM = frozenset([_CANONICAL])


def has_forms(kind: pa.DataType) -> bool:
    """Return whether different texts may be one value of a type."""
    import pyarrow as pa

    return bool(pa.types.is_integer(kind) or pa.types.is_floating(kind) or kind == pa.bool_())


def written_forms(strings: pa.Array, kind: pa.DataType, category: Category) -> Forms:
    """Return the forms in which all texts are written as values of a type; none if they are text.

    >>> import pyarrow as pa
    >>> sorted(written_forms(pa.array(["1.5", "2.0"]), pa.float64(), Category()))
    [0, 1]
    >>> written_forms(pa.array(["1.10", "1.1"]), pa.float64(), Category())
    frozenset()
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    strings = pc.utf8_trim(strings.drop_null(), " \t")
    if kind == pa.bool_():
        distinct = set(strings.to_pylist())
        return frozenset(k for k, pair in enumerate(_BOOLEANS) if distinct <= set(pair))
    if pa.types.is_integer(kind):
        is_canonical = _all(pc.or_(_is_own_text(strings), pc.equal(strings, "-0")))
        return _CANONICAL_FORM if is_canonical else _NO_FORM
    if category.any_decimals:
        return _CANONICAL_FORM if _all(pc.invert(_match(strings, _PADDED))) else _NO_FORM
    finite = strings.filter(pc.invert(_match(strings, _NOT_FINITE)))
    if not len(finite):
        return None
    forms = (
        _CANONICAL_FORM
        if _all(_match(finite, f"{_INTEGER}|-0|{_DECIMAL}|{_SCIENTIFIC}"))
        else _NO_FORM
    )
    if _all(_match(finite, _FIXED)):
        n_decimals = pc.unique(
            pc.subtract(pc.subtract(pc.utf8_length(finite), pc.find_substring(finite, ".")), 1)
        )
        # The same number of decimals everywhere: no number is written in two ways.
        forms |= {n_decimals[0].as_py()} if len(n_decimals) == 1 else _NO_FORM
    return forms


def _is_own_text(strings: pa.Array) -> Any:
    """Return the mask of the texts of whole numbers that are written as Arrow writes them."""
    import pyarrow as pa
    import pyarrow.compute as pc

    try:
        return pc.equal(strings.cast(pa.int64()).cast(strings.type), strings)
    except pa.ArrowInvalid:
        return _match(strings, r"-?(0|[1-9][0-9]{0,17})")


def _match(strings: pa.Array, pattern: str) -> Any:
    import pyarrow.compute as pc

    flags = "(?i)" if pattern.startswith("(?i)") else ""
    return pc.match_substring_regex(strings, rf"{flags}\A(?:{pattern.removeprefix(flags)})\z")


def _all(mask: Any) -> bool:
    import pyarrow.compute as pc

    return bool(pc.all(mask, min_count=0).as_py())


def common_forms(first: Forms, second: Forms) -> Forms:
    """Return the forms that are in both."""
    if first is None or second is None:
        return second if first is None else first
    return first & second


def columns_of_text(
    forms: Mapping[str, tuple[pa.DataType, Forms]], categories: Mapping[str, Category]
) -> set[str]:
    """Return the columns that are text: by their own texts, or by those of another of their set.

    ``forms`` has the type of each column that was inferred, and the forms of its texts.
    """
    possible = {name: column for name, (kind, column) in forms.items() if has_forms(kind)}
    text = {name for name, column_forms in possible.items() if column_forms == _NO_FORM}
    sets = {categories[name].set_name for name in text} - {""}
    return text | {name for name in possible if categories[name].set_name in sets}


# --- Conversion -------------------------------------------------------------------------------


def to_values(column: pa.ChunkedArray, parse: Callable[[pa.Array], pa.Array]) -> pa.ChunkedArray:
    """Convert encoded text by converting each distinct text once."""
    import pyarrow as pa

    values = parse(distinct_texts(column))
    return pa.chunked_array([values.take(chunk.indices) for chunk in column.chunks], values.type)


def distinct_texts(column: pa.ChunkedArray) -> pa.Array:
    """Return the distinct texts of an encoded column."""
    import pyarrow as pa

    return column.chunk(0).dictionary if column.num_chunks else pa.array([], pa.string())


def encode_texts(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return a column of text as indices of its distinct texts, which all chunks share."""
    import pyarrow as pa

    encoded = column if pa.types.is_dictionary(column.type) else column.dictionary_encode()
    return encoded.unify_dictionaries()


class LostTextError(Exception):
    """A category whose text would be lost, or which is not of the type of its column.

    ``row`` is the index of its row.
    """

    def __init__(self, text: str, kind: pa.DataType, row: int, *, is_value: bool) -> None:
        expected = "true and false in another form" if str(kind) == "bool" else "numbers"
        super().__init__(
            f"{text!r} is text in a column of categories, and the values before it are {expected}"
            if is_value
            else f"{text!r} is not of type {kind}, as the values before it are"
        )
        self.row = row


def to_categories(
    strings: pa.Array,
    kind: pa.DataType,
    category: Category,
    forms: Forms,
    parse: Callable[[pa.Array, pa.DataType], pa.Array],
) -> tuple[pa.Array, Forms]:
    """Convert texts to values of a type, given the forms in which the texts before are written.

    ``parse`` converts distinct texts to values of the type.

    Raises
    ------
    LostTextError
        If a text is not of that type, or would be lost.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    with suppress(pa.ArrowInvalid):
        if pa.types.is_integer(kind):
            numbers = strings.cast(kind)
            if numbers.cast(strings.type).equals(strings):
                return numbers, _CANONICAL_FORM
    encoded = strings.dictionary_encode()
    common = common_forms(forms, written_forms(encoded.dictionary, kind, category))
    with suppress(pa.ArrowInvalid):
        if common != _NO_FORM:
            return parse(encoded.dictionary, kind).take(encoded.indices), common
    for index, text in enumerate(encoded.dictionary):
        is_value, single = False, pa.array([text.as_py()])
        with suppress(pa.ArrowInvalid):
            is_value = len(parse(single, kind)) == 1
        forms = common_forms(forms, written_forms(single, kind, category))
        if not is_value or forms == _NO_FORM:
            row = pc.index(encoded.indices, index).as_py()
            raise LostTextError(text.as_py(), kind, row, is_value=is_value)
    raise AssertionError("each text fits, and all together do not")


# --- Reading ----------------------------------------------------------------------------------


class PaddedNumbers(io.RawIOBase):
    """Stream of CSV that looks out for fields that begin like 01 or 0x1.

    As long as ``has_padded`` is False, no whole number in the text that was read is written
    otherwise than Arrow writes it. Looking for such fields takes far less time than reading the
    columns as text.
    """

    def __init__(self, stream: Any) -> None:
        super().__init__()
        self.name, self._stream = getattr(stream, "name", ""), stream
        self.has_padded = False
        self._before = b"\n\n"

    def readable(self) -> bool:
        """Return True."""
        return True

    def read(self, size: int = -1) -> bytes:
        """Read the next bytes."""
        block: bytes = self._stream.read(size)
        if not self.has_padded and block:
            # The block is not copied; its beginning is looked at with the end of the one before.
            joint = self._before + block[:3]
            self.has_padded = has_padded_number(joint) or has_padded_number(block)
            self._before = (self._before + block[-3:])[-3:]
        return block


def has_padded_number(text: bytes) -> bool:
    r"""Return whether text may have a field that begins with 0 and another digit, or with 0x.

    The first two bytes only are what is before it.

    >>> has_padded_number(b"\n\n10,0.5,2024-01-01 00:00"), has_padded_number(b"\n\n1,01")
    (False, True)
    """
    all_characters = np.frombuffer(text, np.uint8)
    for start in range(0, len(all_characters) - 3, _PIECE):
        characters = all_characters[start : start + _PIECE + 3]
        # Before it is a delimiter, a quote, a blank or a sign, all of which are below the point.
        mask = characters[2:-1] == ord("0")
        mask &= characters[1:-2] < ord(".")
        mask &= characters[3:] >= ord("0")
        indices = np.flatnonzero(mask) + 2
        after = characters[indices + 1]
        indices = indices[(after <= ord("9")) | (after | 0x20 == ord("x"))]
        before, earlier = characters[indices - 1], characters[indices - 2]
        # Within a date, a time or a phrase, a character is before the blank or sign.
        is_inside = np.isin(before, [ord(x) for x in " +-"]) & (earlier >= ord("0"))
        if not is_inside.all():
            return True
    return False
