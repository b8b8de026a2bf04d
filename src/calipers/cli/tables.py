"""Tables that a command reads: files, pipes, and - for the standard input, each read once."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from calipers.cli.files import DASH

if TYPE_CHECKING:
    import pyarrow as pa

    from calipers.data.byte_sources import ByteSource
    from calipers.data.categories import CategorySelector
    from calipers.data.trec import InputOrigin

_CACHE_KEY = "calipers.tables"


class InputTable(NamedTuple):
    """Table, with its source and its origin for the provenance."""

    table: pa.Table
    source: ByteSource
    origin: InputOrigin
    #: Names of all columns of the file, of which ``table`` may have some.
    all_columns: tuple[str, ...]
    #: Columns that were read as categories.
    categories: frozenset[str] = frozenset()

    @property
    def is_delimited_text(self) -> bool:
        """Whether the table is CSV or TSV, where empty fields may be missing."""
        from calipers.data.tables import file_extension

        kind, _ = file_extension(self.source.name)
        if not self.source.is_file and not kind:
            kind = self.source.infer_extension()
        return kind in (".csv", ".tsv")


def read_input_table(
    path: str,
    select_columns: Callable[[Sequence[str]], Sequence[str]] | None = None,
    categories: CategorySelector | None = None,
) -> InputTable:
    """Read the table at a path, once for each run of the command.

    If the file can be read again, only the columns are read that ``select_columns`` selects from
    the names of all. The result may have others that were read before; it is read again if it lacks
    some of these. Columns of CSV that ``categories`` selects are numbers only if no text is lost.
    """
    from calipers.data.byte_sources import ByteSource
    from calipers.data.categories import Category
    from calipers.data.tables import read_table
    from calipers.data.trec import InputOrigin

    table_by_path: dict[str, InputTable] = click.get_current_context().meta.setdefault(
        _CACHE_KEY, {}
    )
    available: set[str] = set()
    earlier = table_by_path.get(path)
    category_by_name: dict[str, Category] = {}
    if earlier is not None:
        available = set(earlier.table.column_names)
        names = earlier.all_columns
        has_columns = available.issuperset(names) or (
            select_columns is not None and available.issuperset(select_columns(names))
        )
        has_categories = (
            categories is None
            or not earlier.is_delimited_text
            or earlier.categories.issuperset(categories(names))
        )
        if has_columns and has_categories:
            return earlier
    # A file behind it is read from where it stands, and has no extension.
    source = (
        ByteSource.from_input(DASH if path == "/dev/stdin" else path)
        if earlier is None
        else earlier.source
    )
    if not os.path.isfile(path):  # noqa: PTH113
        select_columns = None
    all_columns: tuple[str, ...] = ()

    def categorize(names: Sequence[str]) -> dict[str, Category]:
        read_before = frozenset() if earlier is None else earlier.categories
        category_by_name.update(dict.fromkeys(read_before, Category()))
        category_by_name.update({} if categories is None else categories(names))
        return category_by_name

    def select(names: Sequence[str]) -> Sequence[str]:
        nonlocal all_columns
        all_columns = tuple(names)
        if select_columns is None:
            return names
        return list(dict.fromkeys((*select_columns(names), *filter(available.__contains__, names))))

    table = read_table(source, select_columns=select, categories=categorize)
    size, digest = source.digest()
    origin = InputOrigin("table", path, bytes=size, sha256=digest)
    table_by_path[path] = InputTable(
        table, source, origin, all_columns, frozenset(category_by_name)
    )
    return table_by_path[path]


def label_columns(options: Mapping[str, Any]) -> CategorySelector:
    """Return the function that selects columns of groups, folds and the like that options name."""
    from calipers.data.categories import LABEL_ROLES, CategoryColumns

    names = {role: options[role] for role in LABEL_ROLES if isinstance(options.get(role), str)}
    slices = [name for text in options.get("slices", ()) for name in (text, *text.split("*"))]
    return CategoryColumns(names, {"slices": slices}).select


def get_origin(path: str) -> InputOrigin:
    """Return the origin of the table at a path, whichever of its columns were read."""
    table_by_path: dict[str, InputTable] = click.get_current_context().meta.get(_CACHE_KEY, {})
    return (table_by_path.get(path) or read_input_table(path)).origin
