"""Clustering problems, with all points in memory or in batches of bounded memory.

Contingency tables of clusters and classes take one pass over the labels, which counts the points
of each combination of labels and slices. These combinations are then rows in memory, each with its
number of points, and all measures against the truth are computed from them as from points. Cluster
geometry takes one more pass for the centers, one for the distances to them, and one for the
influence of each point.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from calipers.caching import cached_property
from calipers.curves.lazy_curves import ClusterCurves
from calipers.data.arrays import missing_mask, missing_values_error
from calipers.data.arrow_types import decode_dictionary
from calipers.data.class_labels import EncodedLabels, encode_labels
from calipers.data.errors import InputError
from calipers.data.frequency_weights import NO_ROW_INFO, RowRepeats
from calipers.engines.accumulators import RowTable
from calipers.engines.base import Engine, Mergeable
from calipers.engines.pass_tasks import MissingCounts
from calipers.evaluation.cluster_geometry import StreamedClusterGeometry
from calipers.evaluation.cluster_tables import cluster_tables, point_silhouettes, treat_noise
from calipers.evaluation.evaluator import (
    add_batch_costs,
    assign_measures,
    check_rereadable_costs,
    evaluate_systems,
)
from calipers.evaluation.finding_inputs import from_clusterings
from calipers.evaluation.sample import Problem
from calipers.evaluation.shared import column_name, select_measures
from calipers.evaluation.slice_definitions import (
    MAX_SLICES,
    SliceDefinition,
    too_many_slices_message,
)
from calipers.evaluation.stream_columns import (
    StreamColumns,
    file_origins,
    flatten_names,
    process_memory,
    systems_by_name,
)
from calipers.evaluation.stream_rows import BatchReader
from calipers.evaluation.stream_slices import StreamSliceDefinition, define_stream_slices
from calipers.lazy_dataclasses import dataclass
from calipers.systems.clustering import Clustering

if TYPE_CHECKING:
    from calipers.data.streams import Batch
    from calipers.evaluation.options import Options
    from calipers.evaluation.sample import EvaluationResults, Sample
    from calipers.evaluation.stored_predictions import Baseline
    from calipers.inference.settings import Settings
    from calipers.measures import Measure
    from calipers.results import Evaluation, Finding
    from calipers.statistics import FloatArray, IntArray

#: The usual measures of points that can be added up.
POINT_MEASURES = ("simplified-silhouette", "Davies-Bouldin", "Calinski-Harabasz", "WCSS")

#: Maximum number of non-empty cells of a contingency table.
MAX_CELLS = 2_000_000

#: Name of the number of points of a combination, which no column of a table has.
_COUNT_COLUMN = "\0held"
#: Name of the column of slices by one definition.
_SLICE_COLUMN = "\0slice {}"


@dataclass(frozen=True, eq=False)
class ClusteringProblem(Problem):
    """Evaluation of assignments of points to clusters.

    ``noise`` states how points without a cluster are treated, if there are any; ``table_measures``
    are the measures of points by their distances; ``engine`` is the engine that reads the points
    unless they are all in memory.
    """

    task = "clustering"

    noise: str | None = None
    table_measures: Sequence[Measure] = ()
    is_per_point: bool = False
    engine: str | None = None

    def conventions(self, sample: Sample) -> Mapping[str, Any]:
        """Return the treatment of noise, and the engine."""
        return {
            **({} if self.noise is None else {"noise": self.noise}),
            **({} if self.engine is None else {"engine": self.engine}),
        }

    def findings(self, sample: Sample, results: EvaluationResults) -> tuple[Finding, ...]:
        """Return the findings of clusterings."""
        return from_clusterings(sample, results)

    def details(self, sample: Sample, options: Options) -> Mapping[str, Any]:
        """Return tables of clusters, silhouettes of points, and curves."""
        systems, measures = sample.template_systems, dict.fromkeys(self.table_measures)
        fields: dict[str, Any] = {"label_tables": cluster_tables(systems.values(), measures)}
        if self.engine is not None:
            return fields
        first = next(iter(measures), None)
        fields["curves"] = ClusterCurves(list(systems.values()), first) if options.curves else ()
        fields["per_unit"] = (
            point_silhouettes(systems, list(measures)) if self.is_per_point else None
        )
        return fields


# --- Batches --------------------------------------------------------------------------------------


def evaluate_cluster_stream(
    columns: StreamColumns,
    options: Options,
    check: Callable[..., None],
    *,
    against_truth: Sequence[str],
    noise: str,
    metric: str,
) -> Evaluation:
    """Evaluate clusterings in batches.

    Points with equal labels in all clusterings that belong to the same slices are one row with
    their number. ``check`` is called with the measures and the names of the clusters.
    """
    engine, features = columns.engine, flatten_names(columns.output_columns.get("features"))
    check_rereadable_costs(columns)
    memory = process_memory(options.memory, engine)
    if "labels" not in columns.output_columns:
        raise InputError("labels: does not name a column of data=")
    labels_by_name = systems_by_name(columns.output_columns["labels"])
    labels = {
        name: check_single_column(name, clustering) for name, clustering in labels_by_name.items()
    }
    truth_column = check_single_column("truth", columns.truth) if columns.truth else None
    has_slices = bool(columns.slices)
    default_names = (
        *(against_truth if truth_column else ()),
        *(POINT_MEASURES if features else ()),
    )
    default_names = default_names if default_names and not has_slices else tuple(against_truth)
    measures = select_measures(options.measures, default_names, "clustering")
    _check_stream(measures, engine, metric, options.baseline)
    definitions, slice_notes = define_stream_slices(columns, memory)
    read_batch = BatchReader(columns, None) if columns.missing == "drop" else None
    cells = _count_combinations(columns, labels, truth_column, definitions, memory, read_batch)
    systems, repeats, notes = _make_clusterings(
        cells, labels, truth_column, noise, options.settings
    )
    check(
        measures,
        {name for clustering in systems.values() for name in clustering.names},
        has_slices=has_slices,
    )
    if features and any(m.definition.reads != "partitions" for m in measures):
        codes_by_system = {
            name: _label_codes(cells.table, labels[name], clustering.names)
            for name, clustering in systems.items()
        }
        classes = None
        if truth_column is not None:
            class_names = next(iter(systems.values())).classes
            classes = truth_column, *_label_codes(cells.table, truth_column, class_names)
        count_columns = () if columns.count is None else (columns.count,)
        rows = engine, labels, tuple(features), codes_by_system
        systems = StreamedClusterGeometry(
            *rows, systems, tuple(measures), classes, count_columns, read_batch
        ).with_totals()
    if columns.extra_columns and notes and noise == "drop":
        raise InputError(
            "cost: with noise='drop', costs of the remaining points require engine='memory'"
        )
    problem = ClusteringProblem(noise if notes else None, engine=engine.kind)
    evaluation = evaluate_systems(
        problem,
        assign_measures(systems, measures),
        measures,
        replace(options, inputs=file_origins(engine)),
        row_info=replace(NO_ROW_INFO, ids=None),
        defined_slices=(
            [
                _define_cell_slices(clustering, np.asarray(repeats(cells.slice_codes(k))))
                for k, clustering in enumerate(definitions)
            ],
            slice_notes,
        ),
        notes=[*cells.missing.notes, *notes],
    )
    return add_batch_costs(evaluation, columns, options, memory)


def _define_cell_slices(slicing: StreamSliceDefinition, codes: IntArray) -> SliceDefinition:
    """Return the slices of cells that contain points."""
    unique_codes, inverse = np.unique(codes, return_inverse=True)
    if len(unique_codes) > MAX_SLICES:
        raise InputError(too_many_slices_message(slicing.name, len(unique_codes)))
    names = slicing.names
    return SliceDefinition(
        slicing.name, tuple(names[k] for k in unique_codes), inverse.reshape(-1).astype(np.intp)
    )


def _check_stream(
    measures: Sequence[Measure], engine: Engine, metric: str, baseline: Baseline
) -> None:
    """Check that measures can be accumulated, and that rows can be read as often as needed."""
    if not (baseline is None or isinstance(baseline, str)):
        raise InputError(
            "baseline: a stream cannot be compared with a saved evaluation; expected the name of "
            "a clustering, or engine='memory'"
        )
    if metric != "euclidean":
        raise InputError(
            f"metric is {metric!r}: centers are Euclidean, and distances between points require "
            "engine='memory'; expected 'euclidean'"
        )
    for measure in measures:
        reads = measure.definition.reads
        needs_pairs = reads == "distances" and measure.parameters["to"] != "centers"
        if (
            reads in ("pairs", "densities")
            or needs_pairs
            or (reads == "distances" and measure.label is not None)
        ):
            raise InputError(
                f"{measure} takes all points in memory, but engine={engine.kind!r} has them in "
                f"batches; take {', '.join(POINT_MEASURES)}, for which centers suffice, or "
                "engine='memory'"
            )
        if reads != "partitions" and not engine.is_rereadable:
            raise InputError(
                f"{engine.name}: {measure} requires several passes over the points, which can be "
                "read only once"
            )


# --- Contingency tables ---------------------------------------------------------------------------


def _count_combinations(
    columns: StreamColumns,
    labels: Mapping[str, str],
    truth: str | None,
    slicing: Sequence[StreamSliceDefinition],
    memory: int,
    read: BatchReader | None,
) -> _LabelCombinations:
    """Return each combination of class, clusters and slices with its number of points."""
    display_names = {column: column_name("labels", name) for name, column in labels.items()}
    if truth is not None:
        display_names[truth] = "truth"
    other_columns = (
        columns.required_columns if read is not None else [*filter(None, [columns.count])]
    )
    names = list(dict.fromkeys([*display_names, *columns.slice_columns, *other_columns]))
    work, limit = _CombinationTask(display_names, tuple(slicing), read), _CombinationLimit(memory)
    cells: _LabelCombinations = columns.engine.reduce(work, names, limit, "finding clusters")
    if not cells.table.num_rows:
        cells.missing.raise_incomplete()
    return cells


@dataclass(frozen=True, eq=False)
class _LabelCombinations(Mergeable):
    """Combinations of labels and slices, with the numbers of points and of missing values."""

    rows: RowTable
    missing: MissingCounts

    @classmethod
    def from_points(cls, table: Any, missing: MissingCounts) -> _LabelCombinations:
        """Build the combinations from a table of points or of combinations."""
        keys = [name for name in table.column_names if name != _COUNT_COLUMN]
        grouped = table.group_by(keys, use_threads=False).aggregate([(_COUNT_COLUMN, "sum")])
        columns = {name: grouped[name] for name in keys} | {
            _COUNT_COLUMN: grouped[f"{_COUNT_COLUMN}_sum"]
        }
        return cls(RowTable.from_columns(columns), missing)

    def __add__(self, other: _LabelCombinations) -> _LabelCombinations:
        return _LabelCombinations.from_points(
            (self.rows + other.rows).table, self.missing + other.missing
        )

    @cached_property
    def table(self) -> Any:
        """Table with one row per combination."""
        return self.rows.table

    @property
    def point_counts(self) -> FloatArray:
        """Number of points of each combination."""
        return np.asarray(self.table[_COUNT_COLUMN].to_numpy(), np.float64)

    def slice_codes(self, slicing_index: int) -> IntArray:
        """Return the slice of each combination, by one of the slicing columns."""
        return np.asarray(self.table[_SLICE_COLUMN.format(slicing_index)].to_numpy(), np.int64)


@dataclass(frozen=True)
class _CombinationLimit:
    """Limit of the number of combinations."""

    memory: int

    def __call__(self, cells: _LabelCombinations) -> _LabelCombinations:
        if cells.rows.table.num_rows > MAX_CELLS:
            raise InputError(
                f"labels: the contingency table has more than {MAX_CELLS:,} non-empty cells; "
                "expected fewer classes or clusters"
            )
        if cells.rows.buffer.nbytes > self.memory / 2:
            raise InputError(
                "labels: the contingency table exceeds the memory limit; allow more with memory="
            )
        return cells


@dataclass(frozen=True)
class _CombinationTask:
    """Task that counts the combinations of labels and slices of a batch.

    ``display_names`` maps columns to their names in messages.
    """

    display_names: Mapping[str, str]
    definitions: tuple[StreamSliceDefinition, ...] = ()
    #: Reads the rows that are complete, where others are left out.
    read_batch: BatchReader | None = None

    def __call__(self, batch: Batch) -> _LabelCombinations:
        """Return the combinations of a batch."""
        import pyarrow as pa

        batch_columns, missing = batch.columns, MissingCounts()
        if self.read_batch is not None:
            batch_columns, _, count_missing = self.read_batch.read_columns(batch)
            missing = count_missing()
        columns = self._label_columns(batch, batch_columns)
        number = len(next(iter(columns.values())))
        for k, definition in enumerate(self.definitions):
            columns[_SLICE_COLUMN.format(k)] = pa.array(
                definition.encode(batch_columns).astype(np.int64)
            )
        table = pa.table({**columns, _COUNT_COLUMN: np.ones(number)})
        return _LabelCombinations.from_points(table, missing)

    def check(self, batch: Batch) -> None:
        """Check the labels of a batch, of which some rows have a count of 0."""
        if self.read_batch is None:
            self._label_columns(batch, batch.columns)

    def _label_columns(self, batch: Batch, batch_columns: Mapping[str, Any]) -> dict[str, Any]:
        """Return the columns of labels; raise an error if one has a missing value."""
        columns = {}
        for name, display_name in self.display_names.items():
            column = batch_columns[name]
            missing_indices = np.flatnonzero(missing_mask(column, display_name))
            if len(missing_indices):
                raise batch.locate_error(
                    missing_values_error(display_name, missing_indices, batch.n_rows)
                )
            columns[name] = decode_dictionary(column)
        return columns


def check_single_column(name: str, column: Any) -> str:
    """Return the column of a clustering; raise an error if it has several."""
    if not isinstance(column, str):
        raise InputError(f"{column_name('labels', name)}: has several columns, expected one")
    return column


def _make_clusterings(
    cells: _LabelCombinations,
    labels: Mapping[str, str],
    truth: str | None,
    noise: str,
    settings: Settings,
) -> tuple[dict[str, Clustering], RowRepeats, list[str]]:
    """Return the clusterings of all combinations, the rows they use, and notes on noise."""
    encoded_labels = {name: _encode_column(cells.table, column) for name, column in labels.items()}
    point_counts = cells.point_counts
    repeats, notes, clusters = treat_noise(
        encoded_labels, noise, RowRepeats(len(point_counts)), point_counts
    )
    shared: dict[str, Any] = {"point_counts": np.asarray(repeats(point_counts), np.float64)}
    if truth is not None:
        classes = _encode_column(cells.table, truth).take(repeats.row_indices)
        shared |= {
            "truth": np.asarray(classes.codes, np.int64),
            "classes": classes.names,
        }
    systems = {
        name: Clustering(name, *cluster_fields, settings, **shared)
        for name, cluster_fields in clusters.items()
    }
    return systems, repeats, notes


def _encode_column(cells: Any, column: str) -> EncodedLabels:
    return encode_labels(cells[column].combine_chunks(), column)


def _label_codes(cells: Any, column: str, names: Sequence[str]) -> tuple[Any, IntArray]:
    """Return the distinct labels of a column, and the index of each in ``names``.

    The index of dropped noise is −1.
    """
    import pyarrow.compute as pc

    values = pc.unique(cells[column])
    encoded = encode_labels(values, column)
    index_by_name = {name: k for k, name in enumerate(names)}
    codes = np.array([index_by_name.get(name, -1) for name in encoded.names])
    return values, codes[encoded.codes]
