"""Rows for findings and curves: all rows in memory, or those that the first pass sampled."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from calipers.caching import cached
from calipers.lazy_dataclasses import dataclass
from calipers.statistics import LargestResiduals, SampledRows, StatisticVector
from calipers.statistics.row_sample import sample_phrase

if TYPE_CHECKING:
    from calipers.engines.pass_tasks import BatchSystems

#: Fields that systems on the same rows have in common.
_SHARED_FIELDS = ("truth", "weight")


@dataclass(frozen=True)
class VisibleRows:
    """Systems on rows that are in memory."""

    systems: Mapping[str, Any]
    #: Function from the index of a row to its name; None if these rows are a sample.
    row_name: Callable[[int], str] | None
    #: Whether these are all rows.
    is_complete: bool = True
    #: Largest residuals of all rows by system, if these rows are a sample.
    largest_residuals: Mapping[str, LargestResiduals] = field(default_factory=dict)
    #: Phrase that states the size of the sample; empty if these are all rows.
    sample_note: str = ""
    #: Whether rows have frequency weights, so that duplicates are expected.
    has_counts: bool = False


def sample_batch_rows(
    batch_systems: BatchSystems,
    sampling_level: int = 0,
    largest_residuals: Sequence[LargestResiduals] = (),
) -> StatisticVector:
    """Return sampled rows of a batch, with the largest residuals of each system.

    A row has its truth, predictions, weight and cluster. ``sampling_level`` is the least level of
    :class:`SampledRows`.
    """
    systems: list[Any] = list(batch_systems.systems.values())
    first_system = systems[0]
    columns = [
        first_system.truth,
        *(column for system in systems for column in _output_columns(system).values()),
    ]
    columns += [
        np.ones(len(first_system.truth)) if first_system.weight is None else first_system.weight
    ]
    columns += [] if first_system.clusters is None else [first_system.clusters.codes]
    assert batch_systems.row_indices is not None
    return StatisticVector(
        (
            SampledRows.from_rows(batch_systems.row_indices, columns, sampling_level),
            *largest_residuals,
        )
    )


def _output_columns(system: Any) -> dict[str, Any]:
    """Return the columns of a system's predictions, by the names of their fields."""
    fields = (
        (name, getattr(system, name)) for name in system.columns if name not in _SHARED_FIELDS
    )
    return {name: column for name, column in fields if column is not None}


def visible_rows(sample: Any) -> VisibleRows | None:
    """Return the rows of a sample that are in memory, or None."""
    if sample.in_memory_systems is not None:
        return VisibleRows(
            sample.in_memory_systems, sample.row_name, has_counts=getattr(sample, "ids", ()) is None
        )
    samples = sampled_rows(sample)
    if samples is None:
        return None
    visible: VisibleRows = cached(
        sample, "visible rows", lambda: _rebuild_systems(sample, *samples)
    )
    return visible


def _rebuild_systems(sample: Any, sampled: SampledRows, *largest: LargestResiduals) -> VisibleRows:
    """Rebuild the systems on sampled rows."""
    columns, template = _ColumnReader(sampled.columns), sample.template_systems
    first = next(iter(template.values()))
    truth = columns.next(first.truth)
    outputs = {
        name: {
            field_name: columns.next(column)
            for field_name, column in _output_columns(system).items()
        }
        for name, system in template.items()
    }
    stored_weight = columns.next(np.zeros(0))
    weight = stored_weight if np.ptp(stored_weight) > 0 else None
    clusters = None
    if sample.columns.cluster is not None:
        from calipers.inference.clusters import ClusterIndex

        code = columns.next(np.zeros(0, np.uint32))
        clusters = ClusterIndex(code, int(code.max()) + 1, weight)
    systems = {
        name: replace(system, truth=truth, weight=weight, clusters=clusters, **outputs[name])
        for name, system in template.items()
    }
    has_counts = sample.columns.count is not None
    if sampled.is_complete:
        return VisibleRows(systems, lambda row: f"row {sampled.number[row]}", has_counts=has_counts)
    residuals_by_system = dict(zip(systems, largest, strict=True)) if largest else {}
    return VisibleRows(
        systems,
        None,
        is_complete=False,
        has_counts=has_counts,
        largest_residuals=residuals_by_system,
        sample_note=_sample_note(sampled),
    )


def _sample_note(sampled: SampledRows) -> str:
    return "" if sampled.is_complete else sample_phrase(len(sampled.number), sampled.rows)


def row_sample_notes(sample: Any) -> tuple[str, ...]:
    """Return a note on the rows of findings and curves, if these are a sample or not available."""
    samples = sampled_rows(sample)
    if samples is None and sample.in_memory_systems is None:
        from calipers.evaluation.states import StateEngine

        if isinstance(sample.engine, StateEngine):
            return ("Findings and curves that need single rows are absent: states have no rows.",)
    sample_note = "" if samples is None else _sample_note(samples[0])
    return (f"Findings and curves that need rows use {sample_note}.",) if sample_note else ()


def sampled_rows(sample: Any) -> tuple[Any, ...] | None:
    """Return the rows that the first pass sampled, and the largest residuals of each system.

    The result is None for rows in memory, or if nothing was sampled.
    """
    if sample.in_memory_systems is not None:
        return None
    sampled = sample.passes.first_pass_result.inspected_rows
    return (
        sampled.components
        if isinstance(sampled, StatisticVector) and len(sampled.components[0].number)
        else None
    )


class _ColumnReader:
    """Iterator over the columns of a table of stacked columns."""

    def __init__(self, table: Any) -> None:
        self._table, self._offset = table, 0

    def next(self, template: Any) -> Any:
        """Return the next columns, with the shape and type of another array."""
        width = int(np.prod(template.shape[1:]))
        block = self._table[:, self._offset : self._offset + width]
        self._offset += width
        return np.ascontiguousarray(block.reshape(len(block), *template.shape[1:]), template.dtype)
