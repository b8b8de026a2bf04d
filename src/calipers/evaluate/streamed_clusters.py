"""Clusters of points in batches, evaluated in bounded memory.

How clusters meet, and classes, is one look at the labels: of each combination of them the number
of points, from which all measures against the truth follow as in memory. How points lie about
centres takes one look more for the centres, one for the distances to them, and one for what each
point moves.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from calipers.data.arrays import missing_rows, values_missing
from calipers.data.classes import Coded, coded
from calipers.data.counts import NOTHING, Repeats
from calipers.data.errors import InputError
from calipers.engines.adding import Rows
from calipers.engines.base import Engine, Partial
from calipers.evaluate.clusters import without_noise
from calipers.evaluate.evaluator import evaluate_systems, serving
from calipers.evaluate.lying import Lying
from calipers.evaluate.problems.clusters import Clusters
from calipers.evaluate.shared import choose_measures, column_name
from calipers.evaluate.stream_columns import Columns, flat
from calipers.evaluate.sums import files_of
from calipers.systems.base import named_classes
from calipers.systems.clustering import Clustering

if TYPE_CHECKING:
    from calipers.data.streams import Batch
    from calipers.evaluate.kept import Baseline
    from calipers.evaluation.options import Options
    from calipers.inference.settings import Settings
    from calipers.measures import Measure
    from calipers.results import Evaluation
    from calipers.statistics import IntArray

#: The usual measures of points that can be added up.
OF_POINTS = ("simplified-silhouette", "Davies-Bouldin", "Calinski-Harabasz", "WCSS")

#: Classes and clusters meet in so many ways at most.
MOST_CELLS = 2_000_000

#: What the number of points of a combination is called, which no column is.
_HELD = "\0held"


def clusters_in_batches(
    data: Any,
    engine_asked: str | None,
    named: Mapping[str, Any],
    refused: Mapping[str, Any],
    *,
    against_truth: Sequence[str],
    noise: str,
    metric: str,
    options: Options,
) -> Evaluation:
    """How well points are put into clusters, batch by batch; ``named`` are the columns by what they
    are."""
    truth, said = named["truth"], {name: named[name] for name in ("labels", "features")}
    # There is always a column of labels, if not of classes.
    first = truth if truth is not None else next(iter(flat(said["labels"])), None)
    columns = Columns.of(
        data, first, said, None, None, "error", refused, engine_asked, count=named["count"]
    )
    engine, features = columns.stream, flat(columns.said.get("features"))
    labels = {name: one_column(name, of) for name, of in columns.said["labels"].items()}
    usual = (*(against_truth if truth else ()), *(OF_POINTS if features else ()))
    chosen = choose_measures(options.measures, usual or tuple(against_truth), "clustering")
    _check(chosen, engine, metric, options.baseline)
    also = () if columns.count is None else (columns.count,)
    cells = _met(engine, labels, truth, also)
    systems, notes = _systems(cells, labels, truth, noise, options.settings)
    names = {name for system in systems.values() for name in system.names}
    for measure in chosen:
        named_classes(measure, sorted(names), "cluster")
    of_points = [m for m in chosen if m.definition.reads != "partitions"]
    if of_points and features:
        known = {name: _codes(cells, labels[name], of.names) for name, of in systems.items()}
        classes = None
        if truth is not None:
            names_of = next(iter(systems.values())).classes
            classes = truth, *_codes(cells, truth, names_of)
        rows = engine, labels, tuple(features), known
        systems = Lying(*rows, systems, tuple(chosen), classes, also).added()
    problem = Clusters(noise if notes else None, engine=engine.kind)
    return evaluate_systems(
        problem,
        serving(systems, chosen),
        chosen,
        replace(options, inputs=files_of(engine)),
        about=replace(NOTHING, ids=None),
        notes=notes,
    )


def _check(measures: Sequence[Measure], engine: Engine, metric: str, baseline: Baseline) -> None:
    """That measures can be added up, and the rows looked at as often as it takes."""
    if not (baseline is None or isinstance(baseline, str)):
        raise InputError(
            "baseline: a clustering of another day is compared point by point, which takes all "
            "points in memory; name one of the clusterings"
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
        if reads != "partitions" and not engine.again:
            raise InputError(
                f"{engine.name}: {measure} takes several looks at the points, and these can be "
                "read only once"
            )


# --- How clusters meet ----------------------------------------------------------------------------


def _met(engine: Engine, labels: Mapping[str, str], truth: str | None, also: Sequence[str]) -> Any:
    """A table of each combination of class and clusters, with the number of its points."""
    named = {column: column_name("labels", name) for name, column in labels.items()}
    if truth is not None:
        named[truth] = "truth"
    found = engine.reduce(_Meeting(named), [*named, *also], _few, "finding clusters")
    return found.rows.table


@dataclass(frozen=True, eq=False)
class _Cells(Partial):
    """Combinations of labels, with the number of points of each."""

    rows: Rows

    @classmethod
    def of(cls, table: Any) -> _Cells:
        """Of points, or of some that are alike."""
        keys = [name for name in table.column_names if name != _HELD]
        found = table.group_by(keys, use_threads=False).aggregate([(_HELD, "sum")])
        return cls(Rows.of({name: found[name] for name in keys} | {_HELD: found[f"{_HELD}_sum"]}))

    def __add__(self, other: _Cells) -> _Cells:
        return _Cells.of((self.rows + other.rows).table)


def _few(cells: _Cells) -> _Cells:
    if cells.rows.table.num_rows > MOST_CELLS:
        raise InputError(f"labels: classes and clusters meet in more than {MOST_CELLS:,} ways")
    return cells


@dataclass(frozen=True)
class _Meeting:
    """Counts the combinations of labels of a batch; columns by what messages call them."""

    named: Mapping[str, str]

    def __call__(self, batch: Batch) -> _Cells:
        """Of a batch."""
        import pyarrow as pa

        columns = {}
        for name, what in self.named.items():
            column = batch.columns[name]
            lost = np.flatnonzero(missing_rows(column, what))
            if len(lost):
                raise batch.told(values_missing(what, lost, batch.rows))
            columns[name] = plain(column)
        return _Cells.of(pa.table({**columns, _HELD: np.ones(batch.rows)}))


def plain(column: Any) -> Any:
    """Without a dictionary, which other batches have not."""
    import pyarrow.types as of_type

    return column.dictionary_decode() if of_type.is_dictionary(column.type) else column


def one_column(name: str, given: Any) -> str:
    """The one column of a clustering."""
    if not isinstance(given, str):
        raise InputError(f"{column_name('labels', name)}: has several columns, expected one")
    return given


def _systems(
    cells: Any, labels: Mapping[str, str], truth: str | None, noise: str, settings: Settings
) -> tuple[dict[str, Clustering], list[str]]:
    """The clusterings of all points, of which as many as are alike are one entry; and what is to be
    said of noise."""
    given = {name: _coded(cells, column) for name, column in labels.items()}
    held = cells[_HELD].to_numpy()
    repeats, notes, clusters = without_noise(given, noise, Repeats(len(held)), held)
    shared: dict[str, Any] = {"held": np.asarray(repeats(held), np.float64)}
    if truth is not None:
        classes = _coded(cells, truth)
        shared |= {
            "truth": np.asarray(repeats(classes.codes), np.int64),
            "classes": classes.names,
        }
    made = {name: Clustering(name, *of, settings, **shared) for name, of in clusters.items()}
    return made, notes


def _coded(cells: Any, column: str) -> Coded:
    return coded(cells[column].combine_chunks(), column)


def _codes(cells: Any, column: str, names: Sequence[str]) -> tuple[Any, IntArray]:
    """The labels of a column, and the place of each among these names; -1 of noise that is left
    out."""
    import pyarrow.compute as pc

    values = pc.unique(cells[column])
    found = coded(values, column)
    place = {name: k for k, name in enumerate(names)}
    codes = np.array([place.get(name, -1) for name in found.names])
    return values, codes[found.codes]
