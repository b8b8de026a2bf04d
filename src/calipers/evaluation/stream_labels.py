"""Labels in the columns of a stream whose cells hold the label set of a row."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from calipers.data.class_labels import label_name
from calipers.data.errors import InputError
from calipers.data.multilabel import (
    LabelMatrix,
    LabelRows,
    empty_label_rows,
    flatten_labels,
    is_list,
)
from calipers.data.tables import file_extension
from calipers.engines.accumulators import DistinctValues
from calipers.engines.base import Engine, Mergeable
from calipers.engines.local import StreamEngine
from calipers.evaluation.shared import column_name
from calipers.evaluation.stream_columns import (
    MAX_CLASSES,
    StreamColumns,
    flatten_names,
    unselected_rows,
    wrap_unnamed,
)
from calipers.evaluation.stream_rows import BatchReader
from calipers.lazy_dataclasses import dataclass

if TYPE_CHECKING:
    from calipers.data.streams import Batch

#: Prefixes of the names of numeric Arrow types.
_NUMERIC_TYPE_PREFIXES = ("int", "uint", "float", "double", "half", "bool", "decimal")


def group_numeric_columns(columns: StreamColumns, separator: str | None) -> StreamColumns:
    """Return the columns of a stream, with numeric columns by name assigned to one system.

    Types tell the columns of one system from those of several systems. An empty field of a text
    column is a row without labels.
    """
    types_by_name = {field.name: str(field.type) for field in columns.engine.schema}
    output_columns = {}
    for kind, by_system in columns.output_columns.items():
        is_numeric = all(
            types_by_name[name].startswith(_NUMERIC_TYPE_PREFIXES)
            for name in flatten_names(list(by_system.values()))
        )
        output_columns[kind] = wrap_unnamed(by_system) if is_numeric else by_system
    columns = replace(columns, output_columns=output_columns)
    if separator is None or not _is_csv(columns.engine):
        return columns
    text_columns = [
        name for name in _list_columns(columns).values() if not is_list(_column_type(columns, name))
    ]
    return replace(columns, text_columns=text_columns)


def _is_csv(rows: Engine) -> bool:
    source = unselected_rows(rows)
    if isinstance(source, StreamEngine):
        return source.stream.is_csv
    return any(file_extension(name)[0] in (".csv", ".tsv") for name in rows.files)


def _column_type(columns: StreamColumns, name: str) -> Any:
    return columns.engine.schema.field(name).type


def _columns_by_display_name(columns: StreamColumns) -> dict[str, str | Mapping[str, str]]:
    """Return the columns of truth and systems, by their names in messages."""
    output_columns = {
        column_name(kind, name): column
        for kind, by_system in columns.output_columns.items()
        for name, column in by_system.items()
    }
    return {"truth": columns.truth, **output_columns}


def _list_columns(columns: StreamColumns) -> dict[str, str]:
    """Return the columns whose cells hold the label set of a row."""
    return {
        display_name: column
        for display_name, column in _columns_by_display_name(columns).items()
        if isinstance(column, str)
    }


def find_stream_labels(
    columns: StreamColumns, separator: str | None, *, has_stated_labels: bool
) -> dict[str, LabelRows]:
    """Return the known labels of each column, by the name of the column in messages.

    Labels in the cells of a column are found in a pass over all rows, unless
    ``has_stated_labels``; that pass is also made if a column may hold a 0 or 1 for each label. As
    in memory, the labels of a row of count 0 are known.
    """
    list_columns = _list_columns(columns)
    label_rows: dict[str, LabelRows] = {
        display_name: LabelMatrix(
            dict.fromkeys(column, ()), tuple(map(label_name, column)), len(column)
        )
        for display_name, column in _columns_by_display_name(columns).items()
        if isinstance(column, Mapping)
    }
    types = [_column_type(columns, name) for name in list_columns.values()]
    has_indicators = any(
        is_list(column_type) and str(column_type.value_type).startswith(_NUMERIC_TYPE_PREFIXES)
        for column_type in types
    )
    if not list_columns or (has_stated_labels and not has_indicators):
        return label_rows
    rows = columns.unrepeated_stream
    if not rows.is_rereadable:
        raise InputError(
            f"{rows.name}: can be read only once: name the labels, as in labels=['sea', 'sun']"
        )
    label_pass = _LabelTask(BatchReader(columns, None), list_columns, separator)
    summary: _LabelSummary = rows.reduce(
        label_pass, columns.required_columns, _check_n_labels, "finding labels"
    )
    return label_rows | {
        display_name: summary.label_rows(display_name) for display_name in list_columns
    }


@dataclass(frozen=True, eq=False)
class _LabelSummary(Mergeable):
    """Labels that occur in each column, and the length of its rows if all are lists of one length.

    The length is −1 if lengths differ or cells are not lists, and 0 without rows.
    """

    labels: Mapping[str, DistinctValues]
    lengths: Mapping[str, int]

    def __add__(self, other: _LabelSummary) -> _LabelSummary:
        labels = {
            display_name: values + other.labels[display_name]
            for display_name, values in self.labels.items()
        }
        pairs = {
            display_name: {n, other.lengths[display_name]} - {0}
            for display_name, n in self.lengths.items()
        }
        lengths = {
            w: next(iter(values), 0) if len(values) < 2 else -1 for w, values in pairs.items()
        }
        return _LabelSummary(labels, lengths)

    def label_rows(self, display_name: str) -> LabelRows:
        """Return the labels of a column."""
        return empty_label_rows(
            self.labels[display_name].values.to_pylist(), self.lengths[display_name], display_name
        )


def _check_n_labels(summary: _LabelSummary) -> _LabelSummary:
    for display_name, distinct in summary.labels.items():
        if len(distinct.values) > MAX_CLASSES:
            raise InputError(f"{display_name}: has more than {MAX_CLASSES:,} labels")
    return summary


@dataclass(frozen=True, eq=False)
class _LabelTask:
    """Task that finds the labels in a batch."""

    read_batch: BatchReader
    columns: dict[str, str]
    separator: str | None

    def __call__(self, batch: Batch) -> _LabelSummary:
        with batch.located_errors():
            return self._summary(self.read_batch.drop_incomplete(batch))

    def _summary(self, columns: Mapping[str, Any]) -> _LabelSummary:
        import pyarrow as pa

        labels, lengths = {}, {}
        for display_name, name in self.columns.items():
            column = columns[name]
            row_lengths, values = flatten_labels(column, display_name, self.separator)
            values = values if hasattr(values, "type") else pa.array(list(values))
            labels[display_name] = DistinctValues.from_array(values)
            has_equal_lengths = is_list(column.type) and bool(
                (row_lengths == row_lengths[:1]).all()
            )
            lengths[display_name] = (
                (int(row_lengths[0]) or -1 if has_equal_lengths else -1) if len(row_lengths) else 0
            )
        return _LabelSummary(labels, lengths)


def indicator_columns(label_rows: Mapping[str, LabelRows]) -> tuple[str, ...]:
    """Return the columns whose cells hold a 0 or 1 for each label."""
    return tuple(
        display_name
        for display_name, rows in label_rows.items()
        if isinstance(rows, LabelMatrix) and rows.is_from_rows
    )
