"""Ratings of items by several raters, with missing values."""

from __future__ import annotations

import math
import os
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from calipers.data import tables
from calipers.data.arrays import is_missing
from calipers.data.byte_sources import ByteSource
from calipers.data.categories import CategoryColumns
from calipers.data.class_labels import label_name
from calipers.data.columns import check_types
from calipers.data.errors import InputError, did_you_mean, format_value
from calipers.data.trec import InputOrigin
from calipers.lazy_dataclasses import dataclass

if TYPE_CHECKING:
    import pyarrow as pa


@dataclass(frozen=True)
class Categories:
    """Categories of ratings in their order, as the values that occur in the data."""

    labels: tuple[Any, ...]

    @classmethod
    def from_values(
        cls, ratings: set[Any], order: Sequence[Any] | None, prefix: str = ""
    ) -> Categories:
        """Check all distinct ratings, and sort them, in the ``order`` if it is given."""
        for value in ratings:
            if not isinstance(value, str | int | float) or value in (math.inf, -math.inf):
                raise InputError(
                    f"{prefix}a rating is {format_value(value)}, expected text or a finite number"
                )
        return cls(tuple(_order_categories(ratings, order, prefix)))

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the categories."""
        return tuple(label_name(value) for value in self.labels)

    @property
    def numbers(self) -> npt.NDArray[np.float64]:
        """Numbers of the categories; NaN if they are text."""
        is_text = any(isinstance(value, str) for value in self.labels)
        return np.array([math.nan if is_text else float(value) for value in self.labels])

    def codes(self, column: Any, prefix: str = "") -> npt.NDArray[np.int64]:
        """Encode the ratings of a column as indices of their categories, −1 if missing."""
        index_by_category = {value: k for k, value in enumerate(self.labels)}
        values, value_indices = _encode(column)
        for value in values:
            if not is_missing(value) and value not in index_by_category:
                raise InputError(f"{prefix}order: it lacks the category {str(value)!r}")
        code_by_value = [-1 if is_missing(value) else index_by_category[value] for value in values]
        return np.array([*code_by_value, -1], np.int64)[value_indices]


def _encode(column: Any) -> tuple[list[Any], npt.NDArray[np.int64]]:
    """Return the values of a column, and the index of the value of each row; −1 if missing.

    The values are distinct if Arrow can encode them.
    """
    import pyarrow as pa

    array = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
    if isinstance(array, pa.Array) and not pa.types.is_null(array.type):
        try:
            if not pa.types.is_dictionary(array.type):
                array = array.dictionary_encode()
            # Indices may be unsigned.
            indices = array.indices.cast(pa.int64()).fill_null(-1)
            return array.dictionary.to_pylist(), indices.to_numpy(zero_copy_only=False)
        except pa.ArrowNotImplementedError:  # of lists and the like, which are not ratings
            pass
    rows = array.to_pylist() if hasattr(array, "to_pylist") else list(array)
    return rows, np.arange(len(rows))


def distinct_ratings(column: Any) -> set[Any]:
    """Return the distinct ratings of a column."""
    try:
        return {value for value in _encode(column)[0] if not is_missing(value)}
    except TypeError:  # of a list or a dict
        invalid = next(v for v in _encode(column)[0] if isinstance(v, list | dict))
        raise InputError(
            f"a rating is {format_value(invalid)}, expected text or a finite number"
        ) from None


@dataclass(frozen=True, eq=False)
class RatedItems:
    """Ratings as an array of category codes of shape (n_items, n_raters), −1 if missing.

    ``categories`` are in their order; ``rater_sets`` are sets of raters by name, as indices.
    ``rows`` has one row of the table per item, ``ids`` the names of the items, and ``origins`` the
    files that were read.
    """

    raters: tuple[str, ...]
    codes: npt.NDArray[np.int64]
    categories: Categories
    rater_sets: Mapping[str, list[int]]
    rows: pa.Table
    ids: tuple[str, ...]
    origins: tuple[InputOrigin, ...]


def read_ratings(
    source: Any,
    raters: Mapping[str, Any],
    order: Sequence[Any] | None,
    long_columns: Mapping[str, str | None],
    item_columns: Mapping[str, str] = MappingProxyType({}),
) -> RatedItems:
    """Read ratings from a table.

    The table has one column per rater and one row per item. Columns that are not raters are in
    ``item_columns``, with their meaning, or the column of the "item" in ``long_columns``. If
    ``long_columns`` also names the columns of the "rater" and the "rating", the table has one row
    per rating. ``raters`` are the raters of each set, by its name; None for all.
    """
    byte_source = ByteSource.from_input(source) if isinstance(source, str | os.PathLike) else None
    table = (
        tables.read_table(
            byte_source, categories=rating_categories(long_columns, item_columns).select
        )
        if byte_source is not None
        else tables.to_arrow(source)
    )
    prefix, origins = "", tuple[InputOrigin, ...]()
    if byte_source is not None:
        prefix = f"{byte_source.name}: "
        size, digest = byte_source.digest()
        origins = (InputOrigin("table", byte_source.name, bytes=size, sha256=digest),)
    for role, name in [
        *long_columns.items(),
        *((role, name) for name, role in item_columns.items()),
    ]:
        if name is not None and name not in table.column_names:
            hint = did_you_mean(name, table.column_names)
            raise InputError(f"{prefix}{role}: there is no column {name!r}; {hint}")
    check_types(long_columns, table.schema)
    if long_columns["rater"] is not None or long_columns["rating"] is not None:
        missing_roles = [role for role, name in long_columns.items() if name is None]
        if missing_roles:
            raise InputError(
                f"{prefix}{missing_roles[0]}= is not given: item=, rater= and rating= go together"
            )
        columns, rows = _pivot(table, long_columns, item_columns, prefix)
    else:
        non_raters = {*item_columns, long_columns["item"]}
        columns = {n: table.column(n) for n in table.column_names if n not in non_raters}
        rows = table
    ids = (
        ()
        if long_columns["item"] is None
        else _ids(rows.column(long_columns["item"]).to_pylist(), prefix)
    )
    sets = rater_sets(raters, list(columns), prefix)
    names = list(dict.fromkeys(name for members in sets.values() for name in members))
    check_types({"ratings": tuple(names)}, rows.schema)
    ratings = set().union(*(distinct_ratings(columns[name]) for name in names))
    categories = Categories.from_values(ratings, order, prefix)
    return RatedItems(
        tuple(names),
        np.column_stack([categories.codes(columns[name], prefix) for name in names]),
        categories,
        {name: [names.index(rater) for rater in members] for name, members in sets.items()},
        rows,
        ids,
        origins,
    )


def rating_categories(long: Mapping[str, str | None], others: Mapping[str, str]) -> CategoryColumns:
    """Return the categories among the columns of a table of ratings.

    They are all columns but those of numbers, such as weights: each may be a rater.
    """
    label_roles = {name: role for name, role in others.items() if role == "cluster"}
    labels = {
        **{role: name for name, role in label_roles.items()},
        **{role: long[role] for role in ("item", "rater")},
    }
    slice_columns = [name for name, role in others.items() if role == "slices"]
    numbers = [
        name for name, role in others.items() if role not in (*label_roles.values(), "slices")
    ]
    ratings = "*" if long["rating"] is None else long["rating"]
    return CategoryColumns(labels, {"ratings": ratings, "slices": slice_columns}, numbers)


def _ids(items: Sequence[Any], prefix: str) -> tuple[str, ...]:
    """Return the names of the items, which have to be unique."""
    row_by_name: dict[str, int] = {}
    for row, item in enumerate(items, 1):
        if is_missing(item):
            raise InputError(f"{prefix}item: is missing in row {row}")
        first = row_by_name.setdefault(label_name(item), row)
        if first != row:
            raise InputError(
                f"{prefix}row {row}: the item {format_value(item)} already is in row {first}; "
                "expected one row per item"
            )
    return tuple(row_by_name)


def rater_sets(
    raters: Mapping[str, Any], rater_names: Sequence[str], prefix: str = ""
) -> dict[str, list[str]]:
    """Return the raters of each set, by its name."""
    sets = {}
    for name, requested in raters.items():
        members = rater_names if requested is None else requested
        if isinstance(members, str) or not isinstance(members, Sequence):
            raise InputError(
                f"{prefix}raters: found {format_value(members)}, expected names of raters"
            )
        for rater in members:
            if not isinstance(rater, str) or rater not in rater_names:
                hint = (
                    did_you_mean(rater, rater_names) if isinstance(rater, str) else "expected names"
                )
                raise InputError(f"{prefix}raters: there is no rater {format_value(rater)}; {hint}")
        if len(set(members)) < 2:
            problem = "one rater only" if len(members) else "no rater"
            problem = (
                f"there is {problem}"
                if len(raters) == 1
                else f"raters {name!r}: there is {problem}"
            )
            raise InputError(f"{prefix}{problem}; agreement takes two or more")
        sets[str(name)] = list(dict.fromkeys(members))
    return sets


def _pivot(
    table: pa.Table,
    long_columns: Mapping[str, str | None],
    item_columns: Mapping[str, str],
    prefix: str,
) -> tuple[dict[str, list[Any]], pa.Table]:
    """Convert a long table to one column per rater, and the first row of each item."""
    values_by_role = {
        role: table.column(str(name)).to_pylist() for role, name in long_columns.items()
    }
    for role in ("item", "rater"):
        for row, value in enumerate(values_by_role[role], 1):
            if is_missing(value):
                raise InputError(f"{prefix}{role}: is missing in row {row}")
    items = {item: row for row, item in reversed(list(enumerate(values_by_role["item"])))}
    first = sorted(items.values())
    index_by_item = {values_by_role["item"][row]: k for k, row in enumerate(first)}
    columns: dict[str, list[Any]] = {}
    row_by_rating: dict[tuple[Any, str], int] = {}
    for row, (item, rater, rating) in enumerate(zip(*values_by_role.values(), strict=True), 1):
        name = label_name(rater)
        if (item, name) in row_by_rating:
            raise InputError(
                f"{prefix}row {row}: {format_value(rater)} rates {format_value(item)} again, as in "
                f"row {row_by_rating[item, name]}; expected one rating of each"
            )
        row_by_rating[item, name] = row
        columns.setdefault(name, [None] * len(first))[index_by_item[item]] = rating
    for name, role in item_columns.items():
        cells = [None if is_missing(x) else x for x in table.column(name).to_pylist()]
        for row, (item, value) in enumerate(zip(values_by_role["item"], cells, strict=True), 1):
            first_row = items[item]
            if value != cells[first_row]:
                raise InputError(
                    f"{prefix}{role}: {name!r} of {format_value(item)} is {format_value(value)} in "
                    f"row {row} and {format_value(cells[first_row])} in row {first_row + 1}; "
                    "expected one value per item"
                )
    return columns, table.take(first)


def _order_categories(ratings: set[Any], order: Sequence[Any] | None, prefix: str) -> list[Any]:
    if order is not None:
        if not any(isinstance(value, str) for value in ratings):
            order = [_number(value) for value in order]
        order = [value.item() if isinstance(value, np.generic) else value for value in order]
        invalid = [value for value in order if not isinstance(value, str | int | float)]
        if invalid:
            raise InputError(
                f"order holds {format_value(invalid[0])}, expected the categories in their order"
            )
        lacking = sorted(str(value) for value in ratings - set(order))
        if lacking:
            raise InputError(f"{prefix}order: it lacks the category {lacking[0]!r}")
        return list(dict.fromkeys(order))
    if len({isinstance(value, str) for value in ratings}) > 1:
        text = next(value for value in ratings if isinstance(value, str))
        raise InputError(
            f"{prefix}ratings are numbers and text, such as {text!r}; expected one kind (if it is "
            "in a column of items, name that column with item=)"
        )
    return sorted(ratings)


def _number(value: Any) -> Any:
    """Convert the text of a number, as given on a command line, to a number."""
    try:
        return float(value) if isinstance(value, str) else value
    except ValueError:
        return value
