"""Ratings of items by several raters, with missing values."""

from __future__ import annotations

import math
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from calipers.data import tables
from calipers.data.arrays import is_missing
from calipers.data.class_labels import label_name
from calipers.data.errors import InputError, did_you_mean, format_value
from calipers.data.trec import InputOrigin

if TYPE_CHECKING:
    import pyarrow as pa


@dataclass(frozen=True)
class Categories:
    """Categories of ratings in their order, as the values that occur in the data."""

    ordered: tuple[Any, ...]

    @classmethod
    def of(cls, found: set[Any], order: Sequence[Any] | None, where: str = "") -> Categories:
        """Check all distinct ratings, and sort them, in the ``order`` if it is given."""
        for value in found:
            if not isinstance(value, str | int | float) or value in (math.inf, -math.inf):
                raise InputError(
                    f"{where}a rating is {format_value(value)}, expected text or a finite number"
                )
        return cls(tuple(_order_categories(found, order, where)))

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the categories."""
        return tuple(label_name(value) for value in self.ordered)

    @property
    def values(self) -> npt.NDArray[np.float64]:
        """Numbers of the categories; NaN if they are text."""
        is_text = any(isinstance(value, str) for value in self.ordered)
        return np.array([math.nan if is_text else float(value) for value in self.ordered])

    def codes(self, column: Any, where: str = "") -> npt.NDArray[np.int64]:
        """Encode the ratings of a column as indices of their categories, −1 if missing."""
        place = {value: k for k, value in enumerate(self.ordered)}
        values, which = _encode(column)
        for value in values:
            if not is_missing(value) and value not in place:
                raise InputError(f"{where}order: it lacks the category {str(value)!r}")
        of_value = [-1 if is_missing(value) else place[value] for value in values]
        return np.array([*of_value, -1], np.int64)[which]


def _encode(column: Any) -> tuple[list[Any], npt.NDArray[np.int64]]:
    """Return the values of a column, and the index of the value of each row; −1 if missing.

    The values are distinct if Arrow can encode them.
    """
    import pyarrow as pa

    whole = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
    if isinstance(whole, pa.Array) and not pa.types.is_null(whole.type):
        try:
            if not pa.types.is_dictionary(whole.type):
                whole = whole.dictionary_encode()
            found = whole.indices.fill_null(-1).to_numpy(zero_copy_only=False)
            return whole.dictionary.to_pylist(), found.astype(np.int64)
        except pa.ArrowNotImplementedError:  # of lists and such, which are no ratings
            pass
    rows = whole.to_pylist() if hasattr(whole, "to_pylist") else list(whole)
    return rows, np.arange(len(rows))


def distinct_ratings(column: Any) -> set[Any]:
    """Return the distinct ratings of a column."""
    try:
        return {value for value in _encode(column)[0] if not is_missing(value)}
    except TypeError:  # of a list or a dict
        odd = next(v for v in _encode(column)[0] if isinstance(v, list | dict))
        raise InputError(
            f"a rating is {format_value(odd)}, expected text or a finite number"
        ) from None


@dataclass(frozen=True, eq=False)
class RatedItems:
    """Ratings as an array of category codes of shape (n_items, n_raters), −1 if missing.

    ``categories`` are in their order; ``sets`` are sets of raters by name, as indices. ``rows``
    has one row of the table per item, ``ids`` the names of the items, and ``origins`` the files
    that were read.
    """

    raters: tuple[str, ...]
    codes: npt.NDArray[np.int64]
    categories: Categories
    sets: Mapping[str, list[int]]
    rows: pa.Table
    ids: tuple[str, ...]
    origins: tuple[InputOrigin, ...]


def read_ratings(
    source: Any,
    raters: Mapping[str, Any],
    order: Sequence[Any] | None,
    long: Mapping[str, str | None],
    others: Mapping[str, str] = MappingProxyType({}),
) -> RatedItems:
    """Read ratings from a table.

    The table has one column per rater and one row per item. Columns that are not raters are in
    ``others``, with their meaning, or the column of the "item" in ``long``. If ``long`` also names
    the columns of the "rater" and the "rating", the table has one row per rating. ``raters`` are
    the raters of each set, by its name; None for all.
    """
    path = isinstance(source, str | os.PathLike)
    table = tables.read_table(os.fspath(source)) if path else tables.to_arrow(source)
    where, origins = "", tuple[InputOrigin, ...]()
    if path:
        where = f"{os.fspath(source)}: "
        size, digest = tables.file_digest(source)
        origins = (InputOrigin("table", os.fspath(source), bytes=size, sha256=digest),)
    for what, name in [*long.items(), *((what, name) for name, what in others.items())]:
        if name is not None and name not in table.column_names:
            told = did_you_mean(name, table.column_names)
            raise InputError(f"{where}{what}: there is no column {name!r}; {told}")
    if long["rater"] is not None or long["rating"] is not None:
        lacking = [what for what, name in long.items() if name is None]
        if lacking:
            raise InputError(
                f"{where}{lacking[0]}= is not given: item=, rater= and rating= go together"
            )
        columns, rows = _pivot(table, long, others, where)
    else:
        none = {*others, long["item"]}
        columns = {n: table.column(n) for n in table.column_names if n not in none}
        rows = table
    ids = () if long["item"] is None else _ids(rows.column(long["item"]).to_pylist(), where)
    sets = rater_sets(raters, list(columns), where)
    names = list(dict.fromkeys(name for of in sets.values() for name in of))
    found = set().union(*(distinct_ratings(columns[name]) for name in names))
    categories = Categories.of(found, order, where)
    return RatedItems(
        tuple(names),
        np.column_stack([categories.codes(columns[name], where) for name in names]),
        categories,
        {name: [names.index(one) for one in of] for name, of in sets.items()},
        rows,
        ids,
        origins,
    )


def _ids(items: Sequence[Any], where: str) -> tuple[str, ...]:
    """Return the names of the items, which have to be unique."""
    seen: dict[str, int] = {}
    for row, item in enumerate(items, 1):
        if is_missing(item):
            raise InputError(f"{where}item: row {row} has none")
        first = seen.setdefault(label_name(item), row)
        if first != row:
            raise InputError(
                f"{where}row {row}: the item {format_value(item)} is in row {first} already; "
                "expected a "
                "row an item"
            )
    return tuple(seen)


def rater_sets(
    given: Mapping[str, Any], known: Sequence[str], where: str = ""
) -> dict[str, list[str]]:
    """Return the raters of each set, by its name."""
    sets = {}
    for name, asked in given.items():
        of = known if asked is None else asked
        if isinstance(of, str) or not isinstance(of, Sequence):
            raise InputError(f"{where}raters: found {format_value(of)}, expected names of raters")
        for one in of:
            if not isinstance(one, str) or one not in known:
                told = did_you_mean(one, known) if isinstance(one, str) else "expected names"
                raise InputError(f"{where}raters: there is no rater {format_value(one)}; {told}")
        if len(set(of)) < 2:
            who = "one rater only" if len(of) else "no rater"
            who = f"there is {who}" if len(given) == 1 else f"raters {name!r}: there is {who}"
            raise InputError(f"{where}{who}; agreement takes two or more")
        sets[str(name)] = list(dict.fromkeys(of))
    return sets


def _pivot(
    table: pa.Table, long: Mapping[str, str | None], others: Mapping[str, str], where: str
) -> tuple[dict[str, list[Any]], pa.Table]:
    """Convert a long table to one column per rater, and the first row of each item."""
    parts = {what: table.column(str(name)).to_pylist() for what, name in long.items()}
    for what in ("item", "rater"):
        for row, value in enumerate(parts[what], 1):
            if is_missing(value):
                raise InputError(f"{where}{what}: row {row} has none")
    items = {item: row for row, item in reversed(list(enumerate(parts["item"])))}
    first = sorted(items.values())
    place = {parts["item"][row]: k for k, row in enumerate(first)}
    columns: dict[str, list[Any]] = {}
    seen: dict[tuple[Any, str], int] = {}
    for row, (item, rater, rating) in enumerate(zip(*parts.values(), strict=True), 1):
        name = label_name(rater)
        if (item, name) in seen:
            raise InputError(
                f"{where}row {row}: {format_value(rater)} rates {format_value(item)} again, as in "
                "row "
                f"{seen[item, name]}; expected one rating of each"
            )
        seen[item, name] = row
        columns.setdefault(name, [None] * len(first))[place[item]] = rating
    for name, what in others.items():
        given = [None if is_missing(x) else x for x in table.column(name).to_pylist()]
        for row, (item, value) in enumerate(zip(parts["item"], given, strict=True), 1):
            at = items[item]
            if value != given[at]:
                raise InputError(
                    f"{where}{what}: {name!r} of {format_value(item)} is {format_value(value)} in "
                    f"row {row} and "
                    f"{format_value(given[at])} in row {at + 1}; expected one for an item"
                )
    return columns, table.take(first)


def _order_categories(found: set[Any], order: Sequence[Any] | None, where: str) -> list[Any]:
    if order is not None:
        if not any(isinstance(value, str) for value in found):
            order = [_number(value) for value in order]
        order = [value.item() if isinstance(value, np.generic) else value for value in order]
        odd = [value for value in order if not isinstance(value, str | int | float)]
        if odd:
            raise InputError(
                f"order holds {format_value(odd[0])}, expected the categories in their order"
            )
        lacking = sorted(str(value) for value in found - set(order))
        if lacking:
            raise InputError(f"{where}order: it lacks the category {lacking[0]!r}")
        return list(dict.fromkeys(order))
    if len({isinstance(value, str) for value in found}) > 1:
        text = next(value for value in found if isinstance(value, str))
        raise InputError(
            f"{where}ratings are numbers and text, such as {text!r}; expected one kind "
            "(is it a column of items? item= and --item name that one)"
        )
    return sorted(found)


def _number(value: Any) -> Any:
    """Convert the text of a number, as given on a command line, to a number."""
    try:
        return float(value) if isinstance(value, str) else value
    except ValueError:
        return value
