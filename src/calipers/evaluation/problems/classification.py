"""Base of binary and multiclass problems."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from calipers.caching import cached
from calipers.evaluation.confusion_tables import confusion_result
from calipers.evaluation.sample import Problem
from calipers.measures import parse
from calipers.statistics import ConfusionMatrix

if TYPE_CHECKING:
    from calipers.evaluation.sample import Sample
    from calipers.measures import Measure
    from calipers.results import ConfusionBase


class ClassificationProblem(Problem):
    """Problem with class ``names``, whose summary is the weight of the rows of each class."""

    task = "classification"
    names: tuple[str, ...]

    def auxiliary_measures(self, systems: Mapping[str, Any]) -> Sequence[tuple[str, Measure]]:
        """Return the pairs (system, accuracy) whose confusion matrices are accumulated."""
        accuracy = parse("accuracy", "counts")
        return [
            (name, accuracy) for name, system in systems.items() if system.predicted is not None
        ]

    def confusions(self, sample: Sample) -> tuple[ConfusionBase, ...]:
        """Return the confusion matrices of the systems that predict labels."""
        matrices = {name: sample.statistic(name, ConfusionMatrix) for name in sample.systems}
        return tuple(
            confusion_result(name, self._name_classes(matrix), sample.settings)
            for name, matrix in matrices.items()
            if matrix is not None
        )

    def _name_classes(self, matrix: ConfusionMatrix) -> ConfusionMatrix:
        """Return a matrix with the names of the classes, which totals of batches may lack."""
        return matrix if matrix.labels == self.names else replace(matrix, labels=self.names)

    def constant(self, sample: Any, system: str, measure: Measure) -> float:
        """Return the value of the best constant prediction, which depends on class frequencies."""
        passes = sample.passes

        def build_template() -> Mapping[str, Any]:
            return self.template(
                sample.columns, sample.settings, passes.first_pass_result.auxiliary
            )

        value: float = cached(passes, "constant", build_template)[system].constant_value(measure)
        return value
