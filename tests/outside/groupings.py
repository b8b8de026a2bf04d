"""Clusterings against known classes: a task of its own, over the confusion matrix."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from calipers import tasks
from calipers.caching import cached_property
from calipers.data.class_labels import encode_classes
from calipers.estimation.counts import ClassCounts
from calipers.statistics import ConfusionMatrix, FloatArray, IntArray

tasks.register_task("groupings", tasks.Family(name="groupings", reads="groupings"))
tasks.register_reason("one_group", "all rows are of one class and in one cluster")


@tasks.measure("majority", family="groupings", statistic=ConfusionMatrix, is_multiclass=True, perfect=1.0,
         higher_is_better=True, range=(0, 1), undefined={"no_rows": lambda c, _: c.total == 0})  # fmt: skip
def purity(c: ConfusionMatrix) -> FloatArray:
    """Share of the rows that are of the most frequent class of their cluster."""
    return np.asarray(c.counts.max(axis=-2).sum(axis=-1) / c.total)


def one_group(c: ConfusionMatrix, _: Mapping[str, Any]) -> Any:
    return (c.truth_margin.max(axis=-1) == c.total) & (c.prediction_margin.max(axis=-1) == c.total)


@tasks.measure("pair-agreement", family="groupings", statistic=ConfusionMatrix, is_multiclass=True, perfect=1.0,
         higher_is_better=True, range=(-1, 1), no_skill=0.0, undefined={"one_group": one_group},
         reference="Hubert and Arabie 1985")  # fmt: skip
def adjusted_rand(c: ConfusionMatrix) -> FloatArray:
    """Share of the pairs of rows on which clusters and classes agree, beyond chance."""
    margins = c.counts.reshape(*c.total.shape, -1), c.truth_margin, c.prediction_margin
    cells, classes, clusters, everything = (
        (n * (n - 1) / 2).sum(axis=-1) for n in (*margins, c.total[..., None])
    )
    chance = classes * clusters / everything
    return np.asarray((cells - chance) / ((classes + clusters) / 2 - chance))


@dataclass(frozen=True, eq=False)
class Partition(tasks.RowSystem):
    """One clustering of rows whose classes are known."""

    truth: IntArray
    assigned: IntArray
    size: int

    columns = ("truth", "assigned", "weight")

    @cached_property
    def counts(self) -> ClassCounts:
        """Classes against clusters, in a square matrix with room for whichever are more."""
        names = tuple(map(str, range(self.size)))
        rows = self.settings, self.weight, self.clusters, self.measures
        return ClassCounts.from_codes(self.truth, self.assigned, names, *rows)

    def sample_for(self, measure: tasks.Measure) -> ClassCounts:
        return self.counts

    def constant_value(self, measure: tasks.Measure) -> float:
        return tasks.best_constant_value(measure, self.counts.constant_matrices)


@dataclass(frozen=True, eq=False)
class Groupings(tasks.Problem):
    """Clusters ``assigned`` against ``classes``, both by their names."""

    task, kind = "groupings", "groupings"
    classes: tuple[str, ...]
    assigned: tuple[str, ...]

    def systems(self, batch: tasks.Batch, settings: tasks.Settings) -> dict[str, Partition]:
        truth = encode_classes(batch["truth"], self.classes).codes
        assigned = tasks.read_system_columns(batch["assigned"], "assigned", len(truth), self._codes)
        return {n: Partition(*map(batch.frequencies, (truth, x)), self.size, name=n,
                             **batch.shared_columns(settings)) for n, x in assigned.items()}  # fmt: skip

    def _codes(self, values: Any, input_name: str) -> Any:
        return encode_classes(values, self.assigned, input_name=input_name).codes

    @property
    def size(self) -> int:
        return max(len(self.classes), len(self.assigned))

    def default_measures(self, systems: Mapping[str, Any]) -> Sequence[str]:
        return ("pair-agreement", "majority")

    def constant(self, sample: Any, system: str, measure: tasks.Measure) -> float:
        counts = ClassCounts.from_matrix(sample.passes.statistics[system, measure], sample.settings)
        return tasks.best_constant_value(measure, counts.constant_matrices)

    def template(
        self, columns: Any, settings: tasks.Settings, sizes: Any = None
    ) -> dict[str, Partition]:
        none = np.zeros(1, np.intp), np.zeros(1, np.intp), self.size
        return {n: Partition(*none, name=n, settings=settings) for n in columns.systems}


@tasks.validate_arguments
def groupings(truth: Any, assigned: Any, **options: Any) -> tasks.Evaluation:
    """How well clusterings recover known classes; ``assigned`` is a column for each clustering."""
    rows = tasks.open_source({"truth": truth, "assigned": assigned, **options}, "truth", "assigned")
    return rows.evaluate(Groupings(rows.labels("truth"), rows.labels("assigned")))


GROUPINGS = tasks.Task(
    "groupings", "groupings:groupings", "rows", "Evaluate clusterings of the rows of TABLE.",
    columns=(
        tasks.Column("truth", "Column of the classes.", required=True),
        tasks.Column("assigned", "Column of clusters; repeatable.", required=True, per_system=True),
        *tasks.COLUMNS,
    ),
    options=tasks.OPTIONS, engines=tasks.ENGINES,
)  # fmt: skip
tasks.register_command(GROUPINGS)
