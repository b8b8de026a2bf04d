"""Estimators by their paths, and their features, as columns of a table."""

from __future__ import annotations

import json
from importlib import import_module
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    import pyarrow as pa


def features_of(rows: pa.Table, named: str | None, taken: set[str], table: str) -> Any:
    """The columns of numbers, as a table of numbers."""
    import numpy as np
    import pyarrow.types as kinds

    from calipers.data.arrays import as_numbers
    from calipers.data.tables import column

    def is_number(name: str) -> bool:
        kind = rows.schema.field(name).type
        return bool(kinds.is_integer(kind) or kinds.is_floating(kind) or kinds.is_boolean(kind))

    own = [name for name in rows.column_names if name not in taken]
    names = own if named is None else [name.strip() for name in named.split(",")]
    columns = {name: column(rows, name, table) for name in names}
    odd = [name for name in columns if not is_number(name)]
    if odd:
        raise click.UsageError(
            f"column {odd[0]!r} holds no numbers; name columns that do by --features"
        )
    if not columns:
        raise click.UsageError("no column is left for features")
    return np.column_stack([as_numbers(of, name) for name, of in columns.items()])


def estimator_of(given: str) -> tuple[str, Any]:
    """The name and the estimator of ``ridge=sklearn.linear_model.Ridge(alpha=1)``."""
    head, bracket, inside = given.partition("(")
    name, equals, path = head.rpartition("=")
    module, _, called = path.rpartition(".")
    if not module or (bracket and not inside.rstrip().endswith(")")):
        raise click.UsageError(
            f"--estimator {given!r}: expected the path of a class, as in "
            "sklearn.linear_model.Ridge(alpha=0.5)"
        )
    if module.split(".")[0] == "sklearn":
        from calipers.learning.fitting import check_there

        check_there()
    try:
        kind = getattr(import_module(module), called)
        made = kind(**_parameters(inside.rstrip()[:-1], given))
    except (ImportError, AttributeError, TypeError, ValueError) as error:
        raise click.UsageError(f"--estimator {given!r}: {error}") from None
    return (name if equals else called), made


def _parameters(inside: str, given: str) -> dict[str, Any]:
    """Values by name of ``alpha=0.5, solver=svd``: JSON where they are that, else text."""
    made: dict[str, Any] = {}
    for part in filter(None, map(str.strip, inside.split(","))):
        name, equals, value = map(str.strip, part.partition("="))
        if not equals:
            raise click.UsageError(f"--estimator {given!r}: {part!r} is no name=value")
        words = {"none": None, "true": True, "false": False}
        try:
            made[name] = words[value.lower()] if value.lower() in words else json.loads(value)
        except json.JSONDecodeError:
            made[name] = value.strip("'\"")
    return made
