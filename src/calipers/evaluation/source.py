"""Columns of an evaluation by role: of all rows in memory, or of a stream."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from calipers.data.arrays import to_array
from calipers.data.class_labels import encode_labels
from calipers.data.columns import InputColumns, add_files, collect_columns
from calipers.data.costs import Costs
from calipers.evaluation.batch import Table
from calipers.evaluation.evaluator import evaluate_rows, evaluate_stream
from calipers.evaluation.options import Options
from calipers.evaluation.shared import column_name, named_systems
from calipers.evaluation.slice_definitions import parse_slice_columns
from calipers.evaluation.stream_columns import (
    StreamColumns,
    is_streamed,
    process_memory,
)
from calipers.lazy_dataclasses import dataclass

if TYPE_CHECKING:
    from calipers.evaluation.sample import Problem
    from calipers.results import Evaluation

#: Roles of the columns of rows that are neither truth nor predictions.
ROW_ROLES = ("weight", "count", "cluster", "time", "slices")


@dataclass(frozen=True, eq=False)
class ColumnSource:
    """Columns by role, of rows in memory or of a stream."""

    options: Options
    input_columns: InputColumns | None = None
    stream_columns: StreamColumns | None = None

    @property
    def memory_columns(self) -> InputColumns:
        """Columns of rows in memory."""
        assert self.input_columns is not None
        return self.input_columns

    def labels(self, role: str) -> tuple[str, ...]:
        """Return the distinct labels of a role over all systems, in the order of occurrence.

        Those of a stream take a pass over its columns.
        """
        labels: dict[str, None] = {}
        for display_name, column in self._columns(role):
            labels |= dict.fromkeys(encode_labels(column, display_name).names)
        return tuple(labels)

    def _columns(self, role: str) -> list[tuple[str, Any]]:
        if self.stream_columns is None:
            by_system = named_systems(self.memory_columns.columns[role], role)
            return [(column_name(role, name), column) for name, column in by_system.items()]
        from calipers.evaluation.stream_rows import read_distinct_labels

        columns = self.stream_columns
        name_by_system = {"": columns.truth} if role == "truth" else columns.output_columns[role]
        return [
            (display_name, read_distinct_labels(columns, column, display_name))
            for display_name, column in (
                (column_name(role, n), x) for n, x in name_by_system.items()
            )
            if isinstance(column, str)
        ]

    def evaluate(
        self,
        problem: Problem,
        parsed_columns: Mapping[str, Any] | None = None,
        n_rows: int | None = None,
    ) -> Evaluation:
        """Evaluate a problem on these columns.

        Of rows in memory, ``parsed_columns`` replaces the columns by parsed ones, and ``n_rows`` is
        their length.
        """
        if self.stream_columns is not None:
            memory = process_memory(self.options.memory, self.stream_columns.engine)
            return evaluate_stream(problem, self.stream_columns, self.options, memory)
        columns = self.memory_columns.columns if parsed_columns is None else parsed_columns
        if n_rows is None:
            truth = columns["truth"]
            first = next(iter(truth.values())) if isinstance(truth, Mapping) else truth
            n_rows = len(to_array(first, "truth"))
        return evaluate_rows(
            problem, Table.from_columns(self.memory_columns, columns, n_rows), self.options
        )


def open_source(
    arguments: Mapping[str, Any],
    *roles: str,
    wide: Collection[str] = ("probability",),
    in_memory: Callable[[], Mapping[str, Any]] = dict,
    categories: Collection[str] = (),
    lists: Collection[str] = (),
) -> ColumnSource:
    """Open the columns of an evaluation, in memory or as a stream.

    Parameters
    ----------
    arguments : mapping
        Arguments of a task by name: columns by role, options, other columns of the rows (weights,
        counts, clusters, times, slices), and ``data``, a table in which all of these may be given
        by name.
    *roles : str
        Names of the arguments that are the ``truth``, if there is one, and predictions: a column,
        or a dict of columns by system.
    wide : collection of str, default=('probability',)
        Roles that may have several columns in a table of their own.
    in_memory : callable, optional
        Returns replacements of some arguments if all rows are in memory: predictions of models, or
        a table that is read in a particular way.
    categories : collection of str, default=()
        Roles that are categories in this task, in addition to those that are in any task (groups,
        slices).
    lists : collection of str, default=()
        Roles whose columns may hold a list in each row.

    Returns
    -------
    Source
        The columns by role.
    """
    options, data = Options.from_arguments(arguments), arguments.get("data")
    columns = {role: arguments[role] for role in roles}
    rows = {role: arguments.get(role) for role in ROW_ROLES}
    rows["slices"] = parse_slice_columns(rows["slices"])
    needed = (
        *columns.values(),
        *(rows[role] for role in ("weight", "count", "cluster", "slices")),
        Costs.from_argument(options.cost).columns,
    )
    if is_streamed(options.engine, options.memory, data, needed):
        return ColumnSource(
            options,
            stream_columns=StreamColumns.from_arguments(
                data, columns, {**arguments, **rows}, options, categories, lists
            ),
        )
    options = replace(options, inputs=add_files(options.inputs, data, columns))
    replacements = dict(in_memory())
    data = replacements.pop("data", data)
    input_columns = collect_columns(
        {**columns, **replacements, **rows},
        data=data,
        id_column=options.id,
        missing=options.missing,
        table_arguments=wide,
        cost=options.cost,
        categories=categories,
        lists=lists,
    )
    return ColumnSource(options, input_columns)
