"""The columns of an evaluation by their roles: of all rows in memory, or of a stream of them."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from calipers.data.arrays import to_array
from calipers.data.class_labels import encode_labels
from calipers.data.columns import InputColumns, add_files, collect_columns
from calipers.evaluation.batch import Table
from calipers.evaluation.evaluator import evaluate_rows, evaluate_stream
from calipers.evaluation.options import Options
from calipers.evaluation.shared import column_name, named_systems
from calipers.evaluation.slice_definitions import slice_columns
from calipers.evaluation.stream_columns import (
    StreamColumns,
    distinct_labels,
    is_streamed,
    process_memory,
)

if TYPE_CHECKING:
    from calipers.evaluation.sample import Problem
    from calipers.results import Evaluation

#: What rows may have beside what is true of them and what systems say, by role.
OF_ROWS = ("weight", "count", "cluster", "time", "slices")


@dataclass(frozen=True, eq=False)
class Source:
    """Columns by their roles, of rows in memory or of a stream."""

    options: Options
    gathered: InputColumns | None = None
    stream: StreamColumns | None = None

    @property
    def rows(self) -> InputColumns:
        """The columns of rows in memory."""
        assert self.gathered is not None
        return self.gathered

    def labels(self, role: str) -> tuple[str, ...]:
        """The distinct labels of a role, of whatever system, in the order in which they are found;
        of a stream in a look at its columns."""
        found: dict[str, None] = {}
        for what, column in self._columns(role):
            found |= dict.fromkeys(encode_labels(column, what).names)
        return tuple(found)

    def _columns(self, role: str) -> list[tuple[str, Any]]:
        if self.stream is None:
            named = named_systems(self.rows.columns[role], role)
            return [(column_name(role, name), column) for name, column in named.items()]
        c = self.stream
        given = {"": c.truth} if role == "truth" else c.output_columns[role]
        return [
            (what, distinct_labels(c.stream, column, what))
            for what, column in ((column_name(role, n), x) for n, x in given.items())
            if isinstance(column, str)
        ]

    def evaluate(
        self, problem: Problem, read: Mapping[str, Any] | None = None, number: int | None = None
    ) -> Evaluation:
        """The evaluation of these columns; of rows in memory as they are ``read``, if they are, and
        how many that makes."""
        if self.stream is not None:
            memory = process_memory(self.options.memory, self.stream.stream)
            return evaluate_stream(problem, self.stream, self.options, memory)
        columns = self.rows.columns if read is None else read
        if number is None:
            of = columns["truth"]
            first = next(iter(of.values())) if isinstance(of, Mapping) else of
            number = len(to_array(first, "truth"))
        return evaluate_rows(problem, Table.from_columns(self.rows, columns, number), self.options)


def open_source(
    arguments: Mapping[str, Any],
    *roles: str,
    wide: Collection[str] = ("probability",),
    in_memory: Callable[[], Mapping[str, Any]] = dict,
) -> Source:
    """The columns of an evaluation, wherever they are.

    Parameters
    ----------
    arguments
        Those of a verb by name: columns by their roles, the options, what else rows have (weights,
        counts, clusters, times, slices), and ``data``, a table of which all may be given by name.
    *roles
        Which of them are the ``truth``, where there is one, and what systems say: a column, or a
        dict from systems to such.
    wide
        Roles that may have several columns in a table of their own.
    in_memory
        What stands for some arguments where all rows are in memory: what models say, or a table
        that is read in some way.
    """
    options, data = Options.from_arguments(arguments), arguments.get("data")
    columns = {role: arguments[role] for role in roles}
    rows = {role: arguments.get(role) for role in OF_ROWS}
    rows["slices"] = slice_columns(rows["slices"])
    needed = (*columns.values(), rows["weight"], rows["cluster"])
    if is_streamed(options.engine, options.memory, data, needed):
        return Source(
            options,
            stream=StreamColumns.from_arguments(data, columns, {**arguments, **rows}, options),
        )
    options = replace(options, inputs=add_files(options.inputs, data, columns))
    instead = dict(in_memory())
    data = instead.pop("data", data)
    gathered = collect_columns(
        {**columns, **instead, **rows},
        data=data,
        by=options.id,
        missing=options.missing,
        wide=wide,
        cost=options.cost,
    )
    return Source(options, gathered)
