"""Tables with a row for each class against all others, or for each label.

A row has counts, and measures with their intervals. Labels, and classes of many rows, have no
bootstrap intervals.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from calipers.caching import LazySequence, cached_property
from calipers.evaluation.estimates import to_estimate
from calipers.lazy_dataclasses import dataclass
from calipers.measures import parse
from calipers.results import FloatArray, LabelTable

if TYPE_CHECKING:
    from calipers.evaluation.sample import Sample
    from calipers.measures import Measure

#: Measures of the table: family, the input that it reads, and names.
TABLE_MEASURES = (
    ("counts", "labels", ("accuracy", "precision", "NPV", "recall", "specificity", "F1")),
    ("scores", "scores", ("AUC", "AP")),
)
#: Maximum number of rows times classes for bootstrap intervals.
MAX_RESAMPLED_VALUES = 500_000
#: Maximum number of classes of a table.
MAX_TABLE_CLASSES = 100
#: Maximum number of sums by cluster for the intervals of clustered rows in batches.
MAX_CLUSTER_SUMS = 20_000_000


@dataclass(frozen=True, eq=False)
class LazyClassTables(LazySequence[LabelTable]):
    """Tables of the classes or labels of each system, computed on first access.

    For rows in batches this takes passes of its own.
    """

    sample: Sample
    names: tuple[str, ...]
    #: Total weight of the rows of each class.
    get_sizes: Callable[[], FloatArray]
    #: The counts of each that a system predicts, shape (K, 2, 2).
    get_matrices: Callable[[str], FloatArray | None]
    row_kind: str = "class"

    @cached_property
    def systems(self) -> tuple[str, ...]:
        """Systems that have a table, known before it is computed."""
        return tuple(n for n in self.sample.systems if table_measures(self.sample, n, self.names))

    @cached_property
    def _items(self) -> tuple[LabelTable, ...]:
        return tuple(map(self._build_table, self.systems))

    def __len__(self) -> int:
        return len(self.systems)

    def _build_table(self, name: str) -> LabelTable:
        sample, sample_settings = self.sample, self.sample.settings
        is_resampled = (
            self.row_kind == "class" and sample.n_rows * len(self.names) <= MAX_RESAMPLED_VALUES
        )
        measures = table_measures(sample, name, self.names)
        class_sample = with_class_measures(sample, name, self.names)
        settings = (
            sample_settings
            if is_resampled or sample_settings.interval == "none"
            else replace(sample_settings, interval="analytic")
        )
        n_sums = (
            (sample.n_clusters or 0) * len(class_sample.systems) * len(self.names) * len(measures)
        )
        if not sample.in_memory_systems and n_sums > MAX_CLUSTER_SUMS:
            settings = replace(sample_settings, interval="none")
        used_sample = class_sample.with_settings(settings)
        counts, matrices = {}, self.get_matrices(name)
        if matrices is not None:
            (tn, fp), (fn, tp) = np.moveaxis(matrices, 0, -1)
            counts = {"TP": tp, "FP": fp, "FN": fn, "TN": tn}
        values: tuple[dict[str, FloatArray], ...] = ({}, {}, {})
        value, low, high = values
        for m in measures:
            point_estimates = (
                used_sample.point_estimate(name, replace(m, label=label)) for label in self.names
            )
            estimates = [to_estimate(reading, str(m), "") for reading in point_estimates]
            for column_by_measure, field in zip(values, ("value", "low", "high"), strict=True):
                column_by_measure[str(m)] = np.array(
                    [getattr(estimate, field) for estimate in estimates]
                )
        return LabelTable(
            name,
            self.names,
            self.get_sizes(),
            counts,
            value,
            low,
            high,
            sample_settings.level,
            self.row_kind,
        )


def table_measures(sample: Sample, system_name: str, labels: Sequence[str]) -> list[Measure]:
    """Return the measures of a table: those that the system serves and that can be computed.

    Where rows cannot be read again, these are the measures whose statistics are known.
    """
    system = sample.template_systems[system_name]
    served = [
        parse(measure, family)
        for family, reads, names in TABLE_MEASURES
        if system.supports(reads)
        for measure in names
    ]
    return [
        m
        for m in served
        if sample.is_rereadable
        or sample.is_available(system_name, replace(m, label=next(iter(labels), None)))
    ]


def with_class_measures(sample: Sample, name: str, labels: Sequence[str]) -> Sample:
    """Return a sample with the measures of the table of a system for each class.

    Systems that serve the same measures are evaluated with it, in the same passes.
    """
    measures = table_measures(sample, name, labels)
    systems = [n for n in sample.systems if table_measures(sample, n, labels) == measures]
    class_sample = sample.with_measures(
        systems, [replace(m, label=label) for label in labels for m in measures]
    )
    assert class_sample is not None  # as all is known where rows are gone
    return class_sample
