"""Soft labels: the truth of a row is a distribution over the classes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from calipers.caching import cached
from calipers.data.arrays import column_names, to_array, to_matrix
from calipers.data.class_labels import ClassLabels, label_name
from calipers.data.class_probabilities import probability_columns, probability_matrix
from calipers.data.errors import InputError
from calipers.evaluation.batch import constant_batch
from calipers.evaluation.constants import ConstantPrediction, constant_losses
from calipers.evaluation.sample import Problem
from calipers.evaluation.shared import column_name, named_class_systems, select_measures
from calipers.lazy_dataclasses import dataclass
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
    """Prediction of class distributions, compared with true distributions."""

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
        """Build the problem from the classes that ``labels`` or the columns of the truth name.

        ``unused`` holds the arguments that must not be given with such a truth.
        """
        for name in (name for name, value in unused.items() if value is not None):
            raise InputError(
                f"truth: is a distribution per row, which cannot be combined with {name}="
            )
        if probability is None:
            raise InputError(
                "truth: is a distribution per row, which requires probability= of each class"
            )
        return cls(class_names(truth, labels))

    def systems(self, batch: Batch, settings: Settings) -> dict[str, SoftLabelOutput]:
        """Return the systems on a batch of rows."""
        counted, rows = batch.frequencies, (batch.weights, settings, batch.clusters)
        target, predictions = read_distributions(batch["truth"], batch["probability"], self.names)
        truth = counted(target)
        return {
            n: SoftLabelOutput(n, truth, counted(distribution), *rows)
            for n, distribution in predictions.items()
        }

    def named_outputs(self, outputs: Any, kind: str) -> dict[str, Any]:
        """Return predictions, or the names of their columns, by system."""
        return named_class_systems(outputs, kind, self.names)

    def measures(self, systems: Mapping[str, Any], options: Options) -> list[Measure]:
        """Return the requested measures, all of which are always defined."""
        return select_measures(options.measures, DEFAULT_MEASURES, self.task)

    def conventions(self, sample: Sample) -> Mapping[str, Any]:
        """Return the classes."""
        return {"classes": list(self.names), "truth": "a distribution a row"}

    # --- Streams ---------------------------------------------------------------------------------

    def template(
        self, columns: StreamColumns, settings: Settings, sizes: FloatArray | None = None
    ) -> dict[str, SoftLabelOutput]:
        """Return systems on two rows whose truth and predictions are uniform distributions."""
        return self.systems(constant_batch(columns, np.zeros(2), uniform=True), settings)

    @staticmethod
    def summary(systems: Mapping[str, Any]) -> FloatArray:
        """Return the weight of all rows, and the total probability of each class."""
        system = next(iter(systems.values()))
        weight = np.ones(len(system.truth)) if system.weight is None else system.weight
        return np.append(weight.sum(), weight @ system.truth)

    def constant(self, sample: Any, system: str, measure: Measure) -> float:
        """Return the loss of the mean true distribution, from one more pass over the truth."""
        applicable = [m for m in sample.measures if m.definition.constant_value is not None]
        if measure not in applicable or not sample.is_rereadable:
            return NAN

        def compute() -> dict[Measure, float]:
            total, *by_class = sample.passes.first_pass_result.auxiliary
            mean = np.array(by_class) / total
            losses = constant_losses(
                sample, [ConstantPrediction(m, mean) for m in applicable], self._to_truth
            )
            return {
                m: float(m.apply(moments)) for m, moments in zip(applicable, losses, strict=True)
            }

        return cached(sample.passes, ("constant", *applicable), compute)[measure]

    def _to_truth(self, truth: Any) -> FloatArray:
        return _to_distributions(truth, "truth", self.names, count_rows(truth))

    @property
    def plan(self) -> dict[str, Any]:
        """Parameters of the problem: its classes."""
        return {"classes": self.names}


def class_names(truth: Any, labels: Sequence[Any] | None = None) -> tuple[str, ...]:
    """Return the classes of a distribution: those given, or the names of its columns."""
    if labels is not None:
        return tuple(map(label_name, labels))
    by_name = probability_columns(truth)
    return by_name or tuple(map(str, range(to_matrix(truth, "truth").shape[1])))


def count_rows(truth: Any) -> int:
    """Return the number of rows of a distribution, whatever the names of its columns."""
    if not probability_columns(truth):
        return len(to_matrix(truth, "truth"))
    first = column_names(truth)[0]
    column = truth.column(first) if hasattr(truth, "column") else truth[first]
    return len(to_array(column, f"truth, class {first}"))


def read_distributions(
    truth: Any, probability: Any, names: tuple[str, ...]
) -> tuple[FloatArray, dict[str, FloatArray]]:
    """Return the true distributions, and those that each system predicts, checked."""
    rows = count_rows(truth)
    predictions = {
        name: _to_distributions(table, column_name("probability", name), names, rows)
        for name, table in named_class_systems(probability, "probability", names).items()
    }
    return _to_distributions(truth, "truth", names, rows), predictions


def _to_distributions(
    values: Any, display_name: str, names: tuple[str, ...], rows: int
) -> FloatArray:
    """Return a table with one distribution per row, checked."""
    class_labels = ClassLabels(names, np.zeros(rows, np.intp))
    return np.asarray(probability_matrix(values, class_labels, display_name)[0], np.float64)
