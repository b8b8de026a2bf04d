"""Clusterings against known classes: a task of its own, over the confusion matrix."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from calipers.cli.group import cli
from calipers.cli.tasks import command_of
from calipers.data.classes import classes
from calipers.evaluate.arguments import verb
from calipers.evaluate.batch import Batch
from calipers.evaluate.sample import Problem
from calipers.evaluate.shared import columns_of
from calipers.evaluate.source import open_source
from calipers.evaluation.task import Column, Task
from calipers.evaluation.tasks import CLUSTER, COUNT, INFERENCE, SLICES, TIME, WEIGHT
from calipers.inference.clusters import Clusters
from calipers.inference.settings import Settings
from calipers.measures import Family, Measure, measure, register_reason, register_task
from calipers.once import cached_property
from calipers.readings.counts import ClassCounts
from calipers.results import Evaluation
from calipers.statistics import ConfusionMatrix, FloatArray, IntArray
from calipers.systems.base import System, best

register_task("groupings", Family(name="groupings", reads="groupings"))
register_reason("one_group", "all rows are of one class and in one cluster")


@measure("majority", family="groupings", on=ConfusionMatrix, any_classes=True, perfect=1.0,
         higher_is_better=True, range=(0, 1), undefined={"no_rows": lambda c, _: c.total == 0})  # fmt: skip
def purity(c: ConfusionMatrix) -> FloatArray:
    """Share of the rows that are of the most frequent class of their cluster."""
    return np.asarray(c.counts.max(axis=-2).sum(axis=-1) / c.total)


def one_group(c: ConfusionMatrix, _: Mapping[str, Any]) -> Any:
    return (c.truth.max(axis=-1) == c.total) & (c.prediction.max(axis=-1) == c.total)


@measure("pair-agreement", family="groupings", on=ConfusionMatrix, any_classes=True, perfect=1.0,
         higher_is_better=True, range=(-1, 1), uninformed=0.0, undefined={"one_group": one_group},
         reference="Hubert and Arabie 1985")  # fmt: skip
def adjusted_rand(c: ConfusionMatrix) -> FloatArray:
    """Share of the pairs of rows on which clusters and classes agree, beyond chance."""
    cells, classes, clusters, everything = (
        (n * (n - 1) / 2).sum(axis=-1)
        for n in (c.counts.reshape(*c.total.shape, -1), c.truth, c.prediction, c.total[..., None])
    )
    chance = classes * clusters / everything
    return np.asarray((cells - chance) / ((classes + clusters) / 2 - chance))


@dataclass(frozen=True, eq=False)
class Partition(System):
    """One clustering of rows whose classes are known."""

    name: str
    truth: IntArray
    found: IntArray
    size: int
    settings: Settings
    weight: FloatArray | None = None
    clusters: Clusters | None = None
    measures: tuple[Measure, ...] = ()

    columns = ("truth", "found", "weight")

    @cached_property
    def counts(self) -> ClassCounts:
        """Classes against clusters, in a square matrix with room for whichever are more."""
        names = tuple(map(str, range(self.size)))
        rows = self.settings, self.weight, self.clusters, self.measures
        return ClassCounts.from_codes(self.truth, self.found, names, *rows)

    def over(self, measure: Measure) -> ClassCounts:
        return self.counts

    def constant(self, measure: Measure) -> float:
        return best(measure, self.counts.constant)


@dataclass(frozen=True, eq=False)
class Groupings(Problem):
    """Clusters ``found`` against ``classes``, both by their names."""

    task, kind = "groupings", "groupings"

    classes: tuple[str, ...]
    found: tuple[str, ...]

    def systems(self, batch: Batch, settings: Settings) -> dict[str, Partition]:
        truth, size = classes(batch["truth"], self.classes).codes, self.size
        rows = size, settings, batch.weights, batch.clusters
        found = columns_of(batch["found"], "found", len(truth), self._codes)
        return {n: Partition(n, *map(batch.frequencies, (truth, x)), *rows)
                for n, x in found.items()}  # fmt: skip

    def _codes(self, values: Any, what: str) -> Any:
        return classes(values, self.found, what=what).codes

    @property
    def size(self) -> int:
        return max(len(self.classes), len(self.found))

    def default_measures(self, systems: Mapping[str, Any]) -> Sequence[str]:
        return ("pair-agreement", "majority")

    def template(self, columns: Any, settings: Settings, sizes: Any = None) -> dict[str, Partition]:
        none = np.zeros(1, np.intp)
        return {n: Partition(n, none, none, self.size, settings) for n in columns.systems}


@verb
def groupings(truth: Any, found: Any, **options: Any) -> Evaluation:
    """How well clusterings recover known classes; ``found`` is a column for each clustering."""
    rows = open_source({"truth": truth, "found": found, **options}, "truth", "found")
    return rows.evaluate(Groupings(rows.labels("truth"), rows.labels("found")))


GROUPINGS = Task(
    "groupings", "groupings:groupings", "rows", "Evaluate clusterings of the rows of TABLE.",
    columns=(
        Column("truth", "Column of the classes.", required=True),
        Column("found", "Column of clusters; repeatable.", required=True, per_system=True),
        WEIGHT, COUNT, CLUSTER, TIME, SLICES,
    ),
    options=("id", "missing", "slice_bins", "cost", *INFERENCE, "memory", "inputs"),
    engines=("memory", "stream", "spark", "dask"),
)  # fmt: skip
cli.add_command(command_of(GROUPINGS))
