"""Columns of several files, as columns of one table."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from calipers.data.errors import InputError

if TYPE_CHECKING:
    import pyarrow as pa

    from calipers.data.parts import Part


def common_schema(parts: Sequence[Part]) -> pa.Schema:
    """All columns, in the order in which they come up, of types that hold the values of all.

    Raises
    ------
    InputError
        When a column holds numbers in one file, and text in another that says so.
    """
    import pyarrow as pa

    names = dict.fromkeys(name for part in parts for name in part.schema.names)
    return pa.schema([(name, _common_type(name, parts)) for name in names])


def _common_type(name: str, parts: Sequence[Part]) -> pa.DataType:
    import pyarrow as pa

    having = [part for part in parts if name in part.schema.names]
    made = pa.schema([])
    for part in having:
        field = pa.field(name, _plain(part.schema.field(name).type))
        try:
            made = pa.unify_schemas([made, pa.schema([field])], promote_options="permissive")
        except (pa.ArrowTypeError, pa.ArrowInvalid):
            if all(other.guesses(name) for other in having):
                return pa.string()  # as in one file in which they all stand
            raise InputError(
                f"{part.name}: column {name!r} is {field.type}, and {made.field(name).type} in "
                f"{having[0].name}; expected one kind of values in all files"
            ) from None
    found = made.field(name).type
    # Where no value is seen yet, any may come.
    unseen = pa.types.is_null(found) and any(part.guesses(name) for part in having)
    return pa.string() if unseen else found


def _plain(kind: pa.DataType) -> pa.DataType:
    """The type of the values, whose codes may be others in every file; levels keep their order."""
    import pyarrow as pa

    return kind.value_type if pa.types.is_dictionary(kind) and not kind.ordered else kind


class Conformed:
    """Batches as columns of a schema, checked."""

    def __init__(self, schema: pa.Schema) -> None:
        self._schema = schema
        self._levels: dict[str, Any] = {}

    def __call__(self, batch: pa.RecordBatch, where: str) -> list[pa.Array]:
        """The columns in the order of the schema."""
        return [
            self._column(batch.column(batch.schema.get_field_index(field.name)), field, where)
            for field in self._schema
        ]

    def _column(self, array: pa.Array, field: pa.Field, where: str) -> pa.Array:
        import pyarrow as pa

        array.validate(full=True)
        if pa.types.is_dictionary(array.type):
            if pa.types.is_dictionary(field.type):
                self._check_levels(array, field.name, where)
            else:
                array = array.dictionary_decode()
        if array.type == field.type:
            return array
        try:
            return array.cast(field.type)
        except pa.ArrowInvalid as error:
            raise InputError(f"{where}: column {field.name!r}: {error}") from None

    def _check_levels(self, array: pa.DictionaryArray, name: str, where: str) -> None:
        levels = self._levels.setdefault(name, array.dictionary)
        if not levels.equals(array.dictionary):
            raise InputError(
                f"{where}: column {name!r} has the ordered categories "
                f"{array.dictionary.to_pylist()}, and {levels.to_pylist()} before; expected the "
                "same ones throughout, or text"
            )


def partitions(folder: str, paths: Sequence[str]) -> list[dict[str, pa.Scalar]]:
    """What the directories between a folder and each file say: ``year=2024`` is a column.

    Values are whole numbers where all are, as Arrow has it, or else text.
    """
    import pyarrow as pa
    from pyarrow import dataset

    inner = [os.path.dirname(os.path.relpath(path, folder)).replace(os.sep, "/") for path in paths]
    names = dict.fromkeys(
        step.partition("=")[0] for at in inner for step in at.split("/") if "=" in step
    )
    found = dataset.partitioning(pa.schema([(n, pa.string()) for n in names]), flavor="hive")
    keys = [_in_order(dataset.get_partition_keys(found.parse(f"/{at}/")), names) for at in inner]
    for name in names:
        values = pa.array([key.get(name) for key in keys], pa.string())
        with suppress(pa.ArrowInvalid):
            values = values.cast(pa.int32())
        for key, value in zip(keys, values, strict=True):
            if name in key:
                key[name] = value
    return keys


def _in_order(keys: Mapping[str, Any], names: Iterable[str]) -> dict[str, Any]:
    """Arrow gives them in any."""
    return {name: keys[name] for name in names if name in keys}
