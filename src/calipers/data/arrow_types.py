"""Types of Arrow columns that kernels of Arrow lack, and the types that take their place."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pyarrow as pa

#: Extensions of pandas whose values are known by their text.
_TEXT_EXTENSIONS = ("pandas.period", "pandas.interval")


def plain_type(kind: pa.DataType) -> pa.DataType:
    """Return the type with which a column is evaluated.

    Views are text or bytes, numbers of 16 bits have 64, as they have in memory, periods and
    intervals of pandas are their text, and any other extension is what it is stored as. The values
    of dictionaries and lists are treated alike.

    >>> import pyarrow as pa
    >>> plain_type(pa.string_view()), plain_type(pa.float16()), plain_type(pa.int8())
    (DataType(large_string), DataType(double), DataType(int8))
    """
    import pyarrow as pa

    if pa.types.is_string_view(kind):
        return pa.large_string()
    if pa.types.is_binary_view(kind):
        return pa.large_binary()
    if pa.types.is_float16(kind):
        return pa.float64()
    if isinstance(kind, pa.BaseExtensionType):
        is_text = kind.extension_name in _TEXT_EXTENSIONS
        return pa.string() if is_text else plain_type(kind.storage_type)
    if pa.types.is_dictionary(kind):
        values = plain_type(kind.value_type)
        return (
            kind
            if values == kind.value_type
            else pa.dictionary(kind.index_type, values, ordered=kind.ordered)
        )
    for is_kind, make in ((pa.types.is_list, pa.list_), (pa.types.is_large_list, pa.large_list)):
        if is_kind(kind) and (values := plain_type(kind.value_type)) != kind.value_type:
            return make(values)
    return kind


def to_plain(array: Any) -> Any:
    """Convert an Arrow array or chunked array to the type with which it is evaluated.

    >>> import pyarrow as pa
    >>> to_plain(pa.array(["a", None], pa.string_view()).dictionary_encode()).dictionary.type
    DataType(large_string)
    """
    import pyarrow as pa

    kind = plain_type(array.type)
    if kind == array.type:
        return array
    if isinstance(array, pa.ChunkedArray):
        return pa.chunked_array([to_plain(chunk) for chunk in array.chunks], kind)
    if pa.types.is_dictionary(kind):
        values = to_plain(array.dictionary)
        return pa.DictionaryArray.from_arrays(array.indices, values, ordered=kind.ordered)
    if not isinstance(array.type, pa.BaseExtensionType):
        return array.cast(kind)
    if array.type.extension_name not in _TEXT_EXTENSIONS:
        return to_plain(array.storage)
    missing = array.is_null().to_numpy(zero_copy_only=False)
    return pa.array(array.to_pandas().astype(str).to_numpy(object), kind, mask=missing)


def to_plain_table(table: pa.Table) -> pa.Table:
    """Return a table with all columns of the types with which they are evaluated."""
    import pyarrow as pa

    if all(plain_type(kind) == kind for kind in table.schema.types):
        return table
    columns = [to_plain(column) for column in table.columns]
    # The metadata of pandas would describe other types.
    return pa.Table.from_arrays(columns, table.column_names)


def decode_dictionary(array: Any) -> Any:
    """Return an Arrow column of a plain type without dictionary encoding.

    The dictionaries of batches may differ.
    """
    import pyarrow as pa

    array = to_plain(array)
    if not pa.types.is_dictionary(array.type):
        return array
    if isinstance(array, pa.ChunkedArray):
        return array.cast(array.type.value_type)
    return array.dictionary_decode()
