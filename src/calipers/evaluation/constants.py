"""Losses of constant predictions on rows in batches, from one more pass over the truth."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from calipers.engines.base import Mergeable
from calipers.lazy_dataclasses import dataclass
from calipers.statistics import Moments

if TYPE_CHECKING:
    from calipers.data import streams
    from calipers.evaluation.stream_rows import BatchReader
    from calipers.evaluation.sums import StreamedSample
    from calipers.measures import Measure


@dataclass(frozen=True, eq=False)
class ConstantPrediction:
    """Constant prediction whose loss by a measure is computed.

    ``output_index`` is the index of the column of truth if there are several and the measure takes
    one.
    """

    measure: Measure
    value: Any
    output_index: int | None = None


def constant_losses(
    sample: StreamedSample, constants: Sequence[ConstantPrediction], to_truth: Callable[[Any], Any]
) -> list[Moments]:
    """Return the moments of the losses of constant predictions.

    ``to_truth`` converts the column or columns of the truth to an array. The rows are those of the
    systems: all columns are read again if rows without a value in one of them are dropped.
    """
    from calipers.evaluation.stream_rows import BatchReader

    columns, read_batch = sample.columns, sample.read_batch
    if columns.missing != "drop":
        columns = replace(columns, output_columns={}, cluster=None, slices={})
        read_batch = BatchReader(columns, None)
    task = _ConstantLosses(read_batch, tuple(constants), to_truth)
    moments = columns.engine.reduce(
        task, columns.column_names, description="the best constant"
    ).moments
    return list(moments)


@dataclass(frozen=True, eq=False)
class _LossMoments(Mergeable):
    """Moments of several losses."""

    moments: tuple[Moments, ...]

    def __add__(self, other: _LossMoments) -> _LossMoments:
        pairs = zip(self.moments, other.moments, strict=True)
        return _LossMoments(tuple(first + second for first, second in pairs))


@dataclass(frozen=True, eq=False)
class _ConstantLosses:
    """Task that computes the losses of constant predictions on a batch."""

    read_batch: BatchReader
    constants: tuple[ConstantPrediction, ...]
    to_truth: Callable[[Any], Any]

    def __call__(self, batch: streams.Batch) -> _LossMoments:
        rows = self.read_batch(batch)
        truth = rows.frequencies(self.to_truth(rows["truth"]))

        def moments(constant: ConstantPrediction) -> Moments:
            target = (
                truth
                if constant.output_index is None
                else np.ascontiguousarray(truth[:, constant.output_index])
            )
            predictions = np.full(target.shape, constant.value)
            return Moments.from_rows(constant.measure.losses(target, predictions), rows.weights)

        return _LossMoments(tuple(map(moments, self.constants)))
