"""Clustering problems, with all points in memory or in batches of bounded memory.

Contingency tables of clusters and classes take one pass over the labels, which counts the points
of each combination of labels and slices. These combinations are then rows in memory, each with its
number of points, and all measures against the truth are computed from them as from points. Cluster
geometry takes one more pass for the centres, one for the distances to them, and one for the
influence of each point.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from calipers.caching import cached_property
from calipers.curves.lazy_curves import ClusterCurves
from calipers.data.arrays import missing_mask, report_missing
from calipers.data.class_labels import EncodedLabels, encode_labels
from calipers.data.errors import InputError
from calipers.data.frequency_weights import NOTHING, RowRepeats
from calipers.engines.accumulators import RowTable
from calipers.engines.base import Engine, Mergeable
from calipers.evaluation.cluster_geometry import StreamedClusterGeometry
from calipers.evaluation.cluster_tables import cluster_table, drop_noise, point_silhouettes
from calipers.evaluation.evaluator import (
    add_batch_costs,
    assign_measures,
    check_costs,
    evaluate_systems,
)
from calipers.evaluation.finding_inputs import from_clusterings
from calipers.evaluation.sample import Problem
from calipers.evaluation.shared import column_name, select_measures
from calipers.evaluation.slice_definitions import MOST_SLICES, SliceDefinition, too_many
from calipers.evaluation.stream_columns import (
    StreamColumns,
    file_origins,
    flatten_names,
    process_memory,
)
from calipers.evaluation.stream_rows import ReadBatch
from calipers.evaluation.stream_slices import StreamSliceDefinition, define_slices
from calipers.systems.clustering import Clustering

if TYPE_CHECKING:
    from calipers.data.streams import Batch
    from calipers.evaluation.options import Options
    from calipers.evaluation.sample import Sample, Told
    from calipers.evaluation.stored_predictions import Baseline
    from calipers.inference.settings import Settings
    from calipers.measures import Measure
    from calipers.results import Evaluation, Finding
    from calipers.statistics import FloatArray, IntArray

#: The usual measures of points that can be added up.
OF_POINTS = ("simplified-silhouette", "Davies-Bouldin", "Calinski-Harabasz", "WCSS")

#: Classes and clusters meet in so many ways at most.
MOST_CELLS = 2_000_000

#: What the number of points of a combination is called, which no column is.
_HELD = "\0held"
#: And what that of slices by one of the ways to cut.
_SLICE = "\0slice {}"


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

    def findings(self, sample: Sample, told: Told) -> tuple[Finding, ...]:
        """Return the findings of clusterings."""
        return from_clusterings(sample, told)

    def details(self, sample: Sample, options: Options) -> Mapping[str, Any]:
        """Return tables of clusters, silhouettes of points, and curves."""
        systems, plain = sample.template, dict.fromkeys(self.table_measures)
        found: dict[str, Any] = {"label_tables": cluster_table(systems.values(), plain)}
        if self.engine is not None:
            return found
        first = next(iter(plain), None)
        found["curves"] = ClusterCurves(list(systems.values()), first) if options.curves else ()
        found["per_unit"] = point_silhouettes(systems, list(plain)) if self.is_per_point else None
        return found


# --- Batches --------------------------------------------------------------------------------------


def evaluate_cells(
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
    engine, features = columns.stream, flatten_names(columns.output_columns.get("features"))
    check_costs(columns)
    memory = process_memory(options.memory, engine)
    labels = {name: one_column(name, of) for name, of in columns.output_columns["labels"].items()}
    of_truth = one_column("truth", columns.truth) if columns.truth else None
    sliced = bool(columns.slices)
    usual = (*(against_truth if of_truth else ()), *(OF_POINTS if features else ()))
    usual = usual if usual and not sliced else tuple(against_truth)
    chosen = select_measures(options.measures, usual, "clustering")
    _check(chosen, engine, metric, options.baseline)
    slicing, how = define_slices(columns, memory)
    read = ReadBatch(columns, None) if columns.missing == "drop" else None
    cells = _count_combinations(columns, labels, of_truth, slicing, memory, read)
    systems, repeats, notes = _systems(cells, labels, of_truth, noise, options.settings)
    check(chosen, {name for of in systems.values() for name in of.names}, sliced=sliced)
    if features and any(m.definition.reads != "partitions" for m in chosen):
        known = {name: _codes(cells.table, labels[name], of.names) for name, of in systems.items()}
        classes = None
        if of_truth is not None:
            names_of = next(iter(systems.values())).classes
            classes = of_truth, *_codes(cells.table, of_truth, names_of)
        also = () if columns.count is None else (columns.count,)
        rows = engine, labels, tuple(features), known
        systems = StreamedClusterGeometry(
            *rows, systems, tuple(chosen), classes, also, read
        ).summarize()
    if columns.extra_columns and notes and noise == "drop":
        raise InputError(
            "cost: noise='drop' leaves out points, and costs of those that are left take all rows "
            "in memory (engine='memory')"
        )
    problem = ClusteringProblem(noise if notes else None, engine=engine.kind)
    evaluation = evaluate_systems(
        problem,
        assign_measures(systems, chosen),
        chosen,
        replace(options, inputs=file_origins(engine)),
        about=replace(NOTHING, ids=None),
        cut=(
            [_slice_cells(of, np.asarray(repeats(cells.codes(k)))) for k, of in enumerate(slicing)],
            how,
        ),
        notes=[*_omission_note(cells), *notes],
    )
    return add_batch_costs(evaluation, columns, options, memory)


def _omission_note(cells: _LabelCombinations) -> list[str]:
    """Return a note on dropped rows, if there are any."""
    if not cells.lost:
        return []
    of = cells.lost + int(cells.point_counts.sum())
    return [f"{cells.lost:,} of {of:,} rows are left out because values are missing."]


def _slice_cells(slicing: StreamSliceDefinition, codes: IntArray) -> SliceDefinition:
    """Return the slices of cells that contain points."""
    there, places = np.unique(codes, return_inverse=True)
    if len(there) > MOST_SLICES:
        raise InputError(too_many(slicing.name, len(there)))
    names = slicing.names
    return SliceDefinition(
        slicing.name, tuple(names[k] for k in there), places.reshape(-1).astype(np.intp)
    )


def _check(measures: Sequence[Measure], engine: Engine, metric: str, baseline: Baseline) -> None:
    """Check that measures can be accumulated, and that rows can be read as often as needed."""
    if not (baseline is None or isinstance(baseline, str)):
        raise InputError(
            "baseline: a stream cannot be compared with a saved evaluation; expected the name of "
            "a clustering, or engine='memory'"
        )
    if metric != "euclidean":
        raise InputError(
            f"metric is {metric!r}: centres are Euclidean, and distances of any two points take "
            "all of them in memory"
        )
    for measure in measures:
        reads = measure.definition.reads
        apart = reads == "distances" and measure.parameters["to"] != "centres"
        if reads == "pairs" or apart or (reads == "distances" and measure.label is not None):
            raise InputError(
                f"{measure} takes all points in memory, which engine={engine.kind!r} does not "
                f"have; {', '.join(OF_POINTS)} are of centres"
            )
        if reads != "partitions" and not engine.is_rereadable:
            raise InputError(
                f"{engine.name}: {measure} takes several looks at the points, and these can be "
                "read only once"
            )


# --- How clusters meet ----------------------------------------------------------------------------


def _count_combinations(
    columns: StreamColumns,
    labels: Mapping[str, str],
    truth: str | None,
    slicing: Sequence[StreamSliceDefinition],
    memory: int,
    read: ReadBatch | None,
) -> _LabelCombinations:
    """Return each combination of class, clusters and slices with its number of points."""
    named = {column: column_name("labels", name) for name, column in labels.items()}
    if truth is not None:
        named[truth] = "truth"
    also = columns.required_columns if read is not None else [*filter(None, [columns.count])]
    names = list(dict.fromkeys([*named, *columns.slice_columns, *also]))
    work, few = _CountCombinations(named, tuple(slicing), read), _CombinationLimit(memory)
    cells: _LabelCombinations = columns.stream.reduce(work, names, few, "finding clusters")
    if not cells.table.num_rows:
        raise InputError(f"{columns.stream.name}: no row is complete")
    return cells


@dataclass(frozen=True, eq=False)
class _LabelCombinations(Mergeable):
    """Combinations of labels and slices, with the numbers of points and of dropped rows."""

    rows: RowTable
    lost: int = 0

    @classmethod
    def from_points(cls, table: Any, lost: int = 0) -> _LabelCombinations:
        """Build the combinations from a table of points or of combinations."""
        keys = [name for name in table.column_names if name != _HELD]
        found = table.group_by(keys, use_threads=False).aggregate([(_HELD, "sum")])
        columns = {name: found[name] for name in keys} | {_HELD: found[f"{_HELD}_sum"]}
        return cls(RowTable.from_columns(columns), lost)

    def __add__(self, other: _LabelCombinations) -> _LabelCombinations:
        return _LabelCombinations.from_points(
            (self.rows + other.rows).table, self.lost + other.lost
        )

    @cached_property
    def table(self) -> Any:
        """Table with one row per combination."""
        return self.rows.table

    @property
    def point_counts(self) -> FloatArray:
        """Number of points of each combination."""
        return np.asarray(self.table[_HELD].to_numpy(), np.float64)

    def codes(self, way: int) -> IntArray:
        """Return the slice of each combination, by one of the slicing columns."""
        return np.asarray(self.table[_SLICE.format(way)].to_numpy(), np.int64)


@dataclass(frozen=True)
class _CombinationLimit:
    """Limit of the number of combinations."""

    memory: int

    def __call__(self, cells: _LabelCombinations) -> _LabelCombinations:
        if cells.rows.table.num_rows > MOST_CELLS:
            raise InputError(f"labels: classes and clusters meet in more than {MOST_CELLS:,} ways")
        if cells.rows.buffer.nbytes > self.memory / 2:
            raise InputError(
                "labels: classes and clusters meet in more ways than the memory holds; allow more "
                "with memory="
            )
        return cells


@dataclass(frozen=True)
class _CountCombinations:
    """Task that counts the combinations of labels and slices of a batch.

    ``named`` maps columns to their names in messages.
    """

    named: Mapping[str, str]
    slicing: tuple[StreamSliceDefinition, ...] = ()
    #: Reads the rows that are complete, where others are left out.
    read: ReadBatch | None = None

    def __call__(self, batch: Batch) -> _LabelCombinations:
        """Return the combinations of a batch."""
        import pyarrow as pa

        given = batch.columns if self.read is None else self.read.complete(batch)[0]
        columns = {}
        for name, what in self.named.items():
            column = given[name]
            lost = np.flatnonzero(missing_mask(column, what))
            if len(lost):
                raise batch.told(report_missing(what, lost, batch.rows))
            columns[name] = decode_dictionary(column)
        number = len(next(iter(columns.values())))
        for k, of in enumerate(self.slicing):
            columns[_SLICE.format(k)] = pa.array(of.codes(given).astype(np.int64))
        whole = pa.table({**columns, _HELD: np.ones(number)})
        return _LabelCombinations.from_points(whole, batch.rows - number)


def decode_dictionary(column: Any) -> Any:
    """Return a column without dictionary encoding, which may differ between batches."""
    import pyarrow.types as of_type

    return column.dictionary_decode() if of_type.is_dictionary(column.type) else column


def one_column(name: str, given: Any) -> str:
    """Return the column of a clustering; raise an error if it has several."""
    if not isinstance(given, str):
        raise InputError(f"{column_name('labels', name)}: has several columns, expected one")
    return given


def _systems(
    cells: _LabelCombinations,
    labels: Mapping[str, str],
    truth: str | None,
    noise: str,
    settings: Settings,
) -> tuple[dict[str, Clustering], RowRepeats, list[str]]:
    """Return the clusterings of all combinations, the rows they use, and notes on noise."""
    given = {name: _encode(cells.table, column) for name, column in labels.items()}
    held = cells.point_counts
    repeats, notes, clusters = drop_noise(given, noise, RowRepeats(len(held)), held)
    shared: dict[str, Any] = {"point_counts": np.asarray(repeats(held), np.float64)}
    if truth is not None:
        classes = _encode(cells.table, truth)
        shared |= {
            "truth": np.asarray(repeats(classes.codes), np.int64),
            "classes": classes.names,
        }
    made = {name: Clustering(name, *of, settings, **shared) for name, of in clusters.items()}
    return made, repeats, notes


def _encode(cells: Any, column: str) -> EncodedLabels:
    return encode_labels(cells[column].combine_chunks(), column)


def _codes(cells: Any, column: str, names: Sequence[str]) -> tuple[Any, IntArray]:
    """Return the distinct labels of a column, and the index of each in ``names``.

    The index of dropped noise is −1.
    """
    import pyarrow.compute as pc

    values = pc.unique(cells[column])
    found = encode_labels(values, column)
    place = {name: k for k, name in enumerate(names)}
    codes = np.array([place.get(name, -1) for name in found.names])
    return values, codes[found.codes]
