"""Probabilities where the truth of a row is a distribution over the classes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from calipers.caching import cached
from calipers.data.arrays import column_names, to_array, to_matrix
from calipers.data.class_labels import ClassLabels, label_name
from calipers.data.class_probabilities import (
    has_class_columns,
    probability_columns,
    probability_matrix,
)
from calipers.data.errors import InputError
from calipers.evaluation.batch import constant_batch
from calipers.evaluation.constants import Constant, constant_losses
from calipers.evaluation.sample import Problem
from calipers.evaluation.shared import column_name, named_systems, select_measures
from calipers.results.estimate import UNNAMED
from calipers.systems.base import NAN
from calipers.systems.soft_labels import SoftLabelOutput

if TYPE_CHECKING:
    from calipers.evaluation.batch import Batch
    from calipers.evaluation.options import Options
    from calipers.evaluation.sample import Sample
    from calipers.evaluation.stream_columns import StreamColumns
    from calipers.inference.settings import Settings
    from calipers.measures import Measure
    from calipers.statistics import FloatArray

DEFAULT_MEASURES = ("soft-log-loss", "KL-divergence", "soft-Brier")


@dataclass(frozen=True, eq=False)
class SoftLabelProblem(Problem):
    """How near predicted distributions come to true ones."""

    task = "classification"
    kind: ClassVar[str] = "distributions"

    names: tuple[str, ...]

    @classmethod
    def from_columns(
        cls,
        truth: Any,
        labels: Sequence[Any] | None,
        probability: Any,
        unused: Mapping[str, Any],
    ) -> SoftLabelProblem:
        """Of the classes that labels or the columns of the truth name; ``unused`` is what such a
        truth goes without."""
        for name in (name for name, value in unused.items() if value is not None):
            raise InputError(f"truth: is a distribution a row, which goes without {name}=")
        if probability is None:
            raise InputError(
                "truth: is a distribution a row, which takes probability= of each class"
            )
        return cls(class_names(truth, labels))

    def systems(self, batch: Batch, settings: Settings) -> dict[str, SoftLabelOutput]:
        """The systems on some rows."""
        counted, rows = batch.frequencies, (batch.weights, settings, batch.clusters)
        target, said = read_distributions(batch["truth"], batch["probability"], self.names)
        truth = counted(target)
        return {n: SoftLabelOutput(n, truth, counted(of), *rows) for n, of in said.items()}

    def measures(self, systems: Mapping[str, Any], options: Options) -> list[Measure]:
        """The measures that are asked for, all of which have a value."""
        return select_measures(options.measures, DEFAULT_MEASURES, self.task)

    def conventions(self, sample: Sample) -> Mapping[str, Any]:
        """The classes."""
        return {"classes": list(self.names), "truth": "a distribution a row"}

    # --- Streams ---------------------------------------------------------------------------------

    def template(
        self, columns: StreamColumns, settings: Settings, sizes: FloatArray | None = None
    ) -> dict[str, SoftLabelOutput]:
        """Systems that say of two rows what is true of them, that all classes are as probable."""
        return self.systems(constant_batch(columns, np.zeros(2), probability=True), settings)

    @staticmethod
    def summary(systems: Mapping[str, Any]) -> FloatArray:
        """The weight of all rows, and of each class by its shares of them."""
        one = next(iter(systems.values()))
        weight = np.ones(len(one.truth)) if one.weight is None else one.weight
        return np.append(weight.sum(), weight @ one.truth)

    def constant(self, sample: Any, system: str, measure: Measure) -> float:
        """What the mean of the true distributions loses, in one more look at the truth."""
        asked = [m for m in sample.measures if m.definition.constant_value is not None]
        if measure not in asked or not sample.is_rereadable:
            return NAN

        def compute() -> dict[Measure, float]:
            total, *by_class = sample.passes.first_result.beside
            mean = np.array(by_class) / total
            found = constant_losses(sample, [Constant(m, mean) for m in asked], self._truth)
            return {m: float(m.apply(of)) for m, of in zip(asked, found, strict=True)}

        return cached(sample.passes, "constant", compute)[measure]

    def _truth(self, truth: Any) -> FloatArray:
        return _table(truth, "truth", self.names, n_rows(truth))

    @property
    def plan(self) -> dict[str, Any]:
        """The classes."""
        return {"classes": self.names}


def class_names(truth: Any, labels: Sequence[Any] | None = None) -> tuple[str, ...]:
    """The classes of a distribution: those named, or as its columns are called."""
    if labels is not None:
        return tuple(map(label_name, labels))
    by_name = probability_columns(truth)
    return by_name or tuple(map(str, range(to_matrix(truth, "truth").shape[1])))


def n_rows(truth: Any) -> int:
    """How many rows a distribution has, whatever its columns are named by."""
    if not probability_columns(truth):
        return len(to_matrix(truth, "truth"))
    first = column_names(truth)[0]
    column = truth.column(first) if hasattr(truth, "column") else truth[first]
    return len(to_array(column, f"truth, class {first}"))


def read_distributions(
    truth: Any, probability: Any, names: tuple[str, ...]
) -> tuple[FloatArray, dict[str, FloatArray]]:
    """What is true of each row, and what each system says of it, all checked."""
    rows, alone = n_rows(truth), has_class_columns(probability, names)
    systems = named_systems({UNNAMED: probability} if alone else probability, "probability")
    said = {
        name: _table(of, column_name("probability", name), names, rows)
        for name, of in systems.items()
    }
    return _table(truth, "truth", names, rows), said


def _table(values: Any, what: str, names: tuple[str, ...], rows: int) -> FloatArray:
    """A distribution a row, checked."""
    nobody = ClassLabels(names, np.zeros(rows, np.intp))
    return np.asarray(probability_matrix(values, nobody, what)[0], np.float64)
