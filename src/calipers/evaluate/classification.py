"""Evaluation of two-class problems from labels, scores or probabilities."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from calipers.data.arrays import (
    Labels,
    as_numbers,
    as_probabilities,
    as_weights,
    predictions,
    same_length,
    two_classes,
)
from calipers.data.errors import InputError
from calipers.evaluate.compare import comparison_if_several
from calipers.evaluate.curves import bands, precision_recall_curve, roc_curve
from calipers.evaluate.losses import loss_difference, loss_estimate
from calipers.evaluate.shared import (
    MeasureNames,
    best_constant,
    choose_measures,
    column_name,
    estimate,
    glossary,
    make_settings,
    named_systems,
    provenance,
)
from calipers.inference import intervals, paired
from calipers.inference.estimate import AREAS, Counts, Scores, Settings
from calipers.measures import Measure
from calipers.results import Curve, Difference, Estimate, Evaluation
from calipers.statistics import ConfusionMatrix, FloatArray, ScoreTable

OF_COUNTS = (
    "accuracy",
    "balanced-accuracy",
    "precision",
    "recall",
    "specificity",
    "NPV",
    "F1",
    "MCC",
)
OF_SCORES = ("AUC", "PR-AUC", "AP")
OF_PROBABILITIES = ("log-loss", "Brier")


def classification(
    truth: Any,
    predicted: Any = None,
    *,
    score: Any = None,
    probability: Any = None,
    positive: Any = None,
    threshold: float | Mapping[str, float] | None = None,
    weight: Any = None,
    measures: MeasureNames | None = None,
    baseline: str | None = None,
    curves: bool = True,
    interval: str = "auto",
    level: float = 0.95,
    resamples: int = 2000,
    seed: int = 0,
    inputs: Sequence[Any] = (),
) -> Evaluation:
    """How well systems tell two classes apart.

    Parameters
    ----------
    truth
        The class of each row: one column of two distinct labels.
    predicted
        Predicted labels; a column, or a dict from system names to columns.
    score
        Scores, higher for the positive class; a column or a dict of columns. Measures of counts
        need a ``threshold`` besides.
    probability
        Probabilities of the positive class; a column or a dict of columns. They serve as scores
        too, and the threshold is 0.5 unless another is given.
    positive
        Which class is the positive one. It has to be named unless the labels are 0 and 1, −1 and 1,
        or False and True.
    threshold
        A score at or above it is predicted positive; one number, or one for each system.
    weight
        Weight of each row, 0 or more; a weight of 2 equals the row twice in every point estimate.
    measures
        Names such as ``"AUC"`` or ``"F1"``; ``calipers measures`` lists them.
    curves
        Whether to compute ROC and precision-recall curves with bands (for the report).
    inputs
        Where the columns came from, for the provenance.
    baseline, interval, level, resamples, seed
        See :func:`calipers.compare` and the documentation on inference.

    Columns are NumPy arrays, lists, anything with ``__array__`` or DLPack, pandas, polars or Arrow.

    Raises
    ------
    InputError
        For anything wrong with the input, saying where and what was expected.

    Examples
    --------
    >>> import calipers as cal
    >>> ev = cal.classification([0, 0, 1, 1], score=[0.1, 0.4, 0.35, 0.8], measures=["AUC"])
    >>> ev["AUC"].value
    0.75
    """
    settings = make_settings(interval, level, resamples, seed)
    labels = two_classes(truth, positive)
    weights = as_weights(weight, len(labels.positive))
    systems = _systems(labels, predicted, score, probability, threshold, weights, settings)
    chosen = choose_measures(measures, _default_measures(systems), "classification")
    for system in systems.values():
        system.check(chosen)
    source = Rows(systems, chosen, settings)
    conventions = {
        "positive": labels.names[1],
        "negative": labels.names[0],
        "threshold": {s.name: s.threshold for s in systems.values() if s.threshold is not None},
        "at_the_threshold": "positive",
        "weighted": weights is not None,
    }
    return Evaluation(
        task="classification",
        level=level,
        estimates=tuple(s.estimate(measure) for s in systems.values() for measure in chosen),
        comparison=comparison_if_several(source, baseline, settings),
        definitions=glossary(chosen),
        curves=tuple(c for s in systems.values() for c in s.curves()) if curves else (),
        notes=tuple(note for s in systems.values() for note in s.notes()),
        provenance=provenance("classification", settings, conventions, inputs),
        sources=source,
    )


@dataclass(frozen=True, eq=False)
class System:
    """One system: the rows, what it says of them, and the statistics of both."""

    name: str
    labels: Labels
    weight: FloatArray | None
    settings: Settings
    predicted: npt.NDArray[np.bool_] | None = None
    score: npt.NDArray[np.floating[Any]] | None = None
    probability: FloatArray | None = None
    threshold: float | None = None

    @property
    def families(self) -> dict[str, bool]:
        """Which families of measures the system can be measured by."""
        return {
            "counts": self.predicted is not None,
            "scores": self.score is not None,
            "probabilities": self.probability is not None,
        }

    def check(self, measures: list[Measure]) -> None:
        """That the data serve every measure asked for."""
        needs = {
            "counts": "predicted labels, probabilities, or scores with a threshold",
            "scores": "scores or probabilities",
            "probabilities": "probabilities",
        }
        for measure in measures:
            family = measure.definition.family
            if not self.families[family]:
                raise InputError(f"{self.name}: {measure} needs {needs[family]}")

    @cached_property
    def counts(self) -> Counts:
        """The confusion matrix."""
        assert self.predicted is not None
        matrix = ConfusionMatrix.from_codes(
            self.labels.positive, self.predicted, self.labels.names, self.weight
        )
        cell = (self.labels.positive * 2 + self.predicted).astype(np.uint32)
        return Counts(matrix, self.settings, cell, self.weight)

    @cached_property
    def table(self) -> ScoreTable:
        """The table of distinct scores."""
        assert self.score is not None
        return ScoreTable.from_rows(self.labels.positive, self.score, self.weight)

    def under(self, settings: Settings) -> System:
        """The system with these settings; itself, and what it has computed, where it has them."""
        return self if settings == self.settings else replace(self, settings=settings)

    @cached_property
    def areas(self) -> FloatArray:
        """Bootstrap replicates of the areas."""
        return bands(self.table, self._rows(), self.settings, grids=False)[0]

    @cached_property
    def paired_areas(self) -> FloatArray:
        """The same, drawn by row, so that the same rows are drawn for every system."""
        return bands(self.table, self._rows(by_row=True), self.settings, grids=False)[0]

    def _rows(self, *, by_row: bool = False) -> Any:
        """Truth, score and weight where the bootstrap cannot do with the table alone."""
        if self.weight is None and not by_row:
            return None
        return self.labels.positive, self.score, self.weight, by_row

    def estimate(self, measure: Measure) -> Estimate:
        """The value of one measure with its interval."""
        family = measure.definition.family
        rows = len(self.labels.positive)
        shared: dict[str, Any] = {
            "system": self.name,
            "level": self.settings.level,
            "n": rows,
        }
        if family == "counts":
            matrix = self.counts.matrix
            default = best_constant(measure, matrix.constant())
            return estimate(measure, matrix, self.counts.interval, default=default, **shared)
        if family == "scores":
            scores = Scores(self.table, self.settings, lambda: self.areas)
            default = float(measure.apply(self.table.constant()))
            return estimate(measure, self.table, scores.interval, default=default, **shared)
        return loss_estimate(
            measure, self._truth, self.probability, self.weight, self.settings, self.name
        )

    @cached_property
    def _truth(self) -> FloatArray:
        return self.labels.positive.astype(np.float64)

    def curves(self) -> list[Curve]:
        """The ROC and the precision-recall curve with their bands."""
        if self.score is None:
            return []
        _, tpr, at_recall = bands(self.table, self._rows(), self.settings, grids=True)
        assert tpr is not None
        assert at_recall is not None
        return [
            roc_curve(self.name, self.table, tpr, self.settings),
            precision_recall_curve(self.name, self.table, at_recall, self.settings),
        ]

    def notes(self) -> list[str]:
        """What a reader has to know before the numbers."""
        out = []
        if self.score is not None:
            from calipers.measures.scores import roc_auc

            area = float(roc_auc(self.table))
            if area < 0.5:
                out.append(
                    f"{self.name} ranks the classes the wrong way round (AUC {area:.3f}): "
                    f"its negated score would have an AUC of {1 - area:.3f}."
                )
        return out


@dataclass(frozen=True, eq=False)
class Rows:
    """Several systems on the same rows."""

    by_name: dict[str, System]
    measures: list[Measure]
    settings: Settings

    @property
    def systems(self) -> tuple[str, ...]:
        """Names of the systems."""
        return tuple(self.by_name)

    def differences(self, system: str, baseline: str, settings: Settings) -> list[Difference]:
        """Paired over rows, for the measures that have a direction."""
        both = (self.by_name[name] for name in (system, baseline))
        first, second = (one.under(settings) for one in both)
        pair = Pair(first, second, settings)
        return [
            pair.difference(measure)
            for measure in self.measures
            if measure.definition.higher_is_better is not None
        ]


@dataclass(frozen=True, eq=False)
class Pair:
    """Two systems on the same rows."""

    first: System
    second: System
    settings: Settings

    def difference(self, measure: Measure) -> Difference:
        """First minus second, with its interval and test."""
        family = measure.definition.family
        if family == "counts":
            return self._of_counts(measure)
        if family == "scores":
            return self._of_scores(measure)
        a, b = self.first, self.second
        return loss_difference(
            measure,
            a._truth,
            (a.probability, b.probability),
            a.weight,
            self.settings,
            (a.name, b.name),
        )

    @cached_property
    def _joint(self) -> tuple[ConfusionMatrix, ConfusionMatrix, FloatArray]:
        """Replicates of both confusion matrices, drawn together, and the joint counts.

        The cells of truth × first × second are all there is to the rows, so redrawing the cells is
        redrawing the rows.
        """
        a, b = self.first, self.second
        assert a.predicted is not None
        assert b.predicted is not None
        cell = a.labels.positive * 4 + a.predicted * 2 + b.predicted
        counts, squares = (
            np.bincount(cell, w, minlength=8).astype(np.float64).reshape(2, 4)
            for w in ((None, None) if a.weight is None else (a.weight, np.square(a.weight)))
        )
        joint = ConfusionMatrix(counts, squares, a.labels.names, len(cell))
        drawn = Counts(joint, self.settings, cell.astype(np.uint32), a.weight)
        cells = drawn.replicates.counts.reshape(-1, 2, 2, 2)
        both = (cells.sum(axis=-1), cells.sum(axis=-2))
        first, second = (ConfusionMatrix(c, c, a.labels.names, len(cell)) for c in both)
        return first, second, joint.counts.reshape(2, 2, 2)

    def _of_counts(self, measure: Measure) -> Difference:
        a, b = self.first, self.second
        drawn_a, drawn_b, joint = self._joint
        value = float(measure.apply(a.counts.matrix) - measure.apply(b.counts.matrix))
        replicates = measure.apply(drawn_a) - measure.apply(drawn_b)
        test = self._bootstrap_test(replicates)
        if measure.definition.name in ("accuracy", "error-rate") and a.weight is None:
            # joint[truth, first, second]: rows that only one of the two gets right.
            test = paired.mcnemar(joint[1, 1, 0] + joint[0, 0, 1], joint[1, 0, 1] + joint[0, 1, 0])
        return self._row(measure, value, replicates, test)

    def _of_scores(self, measure: Measure) -> Difference:
        a, b = self.first, self.second
        value = float(measure.apply(a.table) - measure.apply(b.table))
        if measure.definition.name == "AUC" and not self.settings.prefers_bootstrap:
            se = paired.delong_error(
                a.labels.positive, [s.score for s in (a, b) if s.score is not None], a.weight
            )
            made = intervals.normal_mean(value, se, self.settings.level)
            method = replace(made, method="DeLong, paired")
            test = paired.normal(value, se, "DeLong, paired")
            return self._row(measure, value, method, test)
        column = AREAS.index(measure.definition.name)
        replicates = a.paired_areas[:, column] - b.paired_areas[:, column]
        return self._row(measure, value, replicates, self._bootstrap_test(replicates))

    def _bootstrap_test(self, replicates: FloatArray) -> paired.Test:
        """The paired bootstrap, unless only analytic methods are wanted."""
        if self.settings.interval == "analytic":
            return paired.Test(float("nan"), "none")
        return paired.bootstrap(replicates)

    def _row(
        self,
        measure: Measure,
        value: float,
        spread: FloatArray | intervals.Interval,
        test: paired.Test,
    ) -> Difference:
        if isinstance(spread, intervals.Interval):
            made = spread
        elif self.settings.interval == "analytic":
            made = intervals.missing("none", "no_analytic_interval")
        else:
            made = intervals.percentile(spread, self.settings.level, "paired bootstrap [B]")
        if not np.isfinite(value):
            made = intervals.missing("none", "undefined_value")
            test = paired.Test(float("nan"), test.name)
        return Difference(
            measure=str(measure),
            system=self.first.name,
            baseline=self.second.name,
            value=value,
            low=made.low,
            high=made.high,
            level=self.settings.level,
            method=made.method,
            p=test.p,
            test=test.name,
            n=len(self.first.labels.positive),
            no_interval=made.reason,
            higher_is_better=measure.definition.higher_is_better,
        )


def _default_measures(systems: Mapping[str, System]) -> list[str]:
    """Every usual measure that all systems can serve."""
    names = {"counts": OF_COUNTS, "scores": OF_SCORES, "probabilities": OF_PROBABILITIES}
    return [
        name
        for family in ("scores", "probabilities", "counts")
        for name in names[family]
        if all(system.families[family] for system in systems.values())
    ]


def _systems(
    labels: Labels,
    predicted: Any,
    score: Any,
    probability: Any,
    threshold: float | Mapping[str, float] | None,
    weight: FloatArray | None,
    settings: Settings,
) -> dict[str, System]:
    """The systems by name, every column checked."""
    if predicted is None and score is None and probability is None:
        raise InputError("nothing to evaluate: give predicted=, score= or probability=")
    systems: dict[str, System] = {}
    rows = len(labels.positive)

    def update(name: str, **columns: Any) -> None:
        systems[name] = replace(
            systems.get(name, System(name, labels, weight, settings)), **columns
        )

    for kind, given in (("score", score), ("probability", probability)):
        if given is None:
            continue
        for name, values in named_systems(given, kind).items():
            check = as_probabilities if kind == "probability" else as_numbers
            column = check(values, column_name(kind, name))
            same_length(column, rows, column_name(kind, name))
            if name in systems:
                raise InputError(f"{name}: give its scores or its probabilities, not both")
            cut = _threshold(threshold, name, 0.5 if kind == "probability" else None)
            update(
                name,
                score=column,
                threshold=cut,
                probability=column.astype(np.float64) if kind == "probability" else None,
                predicted=None if cut is None else column >= cut,
            )
    if predicted is not None:
        for name, values in named_systems(predicted, "predicted").items():
            called = predictions(values, labels, column_name("predicted", name))
            update(name, predicted=called, threshold=None)
    _check_thresholds(threshold, systems)
    return systems


def _threshold(
    given: float | Mapping[str, float] | None, name: str, default: float | None
) -> float | None:
    value: Any = given.get(name, default) if isinstance(given, Mapping) else given
    if value is None:
        return default
    if not isinstance(value, int | float) or not np.isfinite(value):
        raise InputError(f"threshold is {value!r}, expected a finite number")
    return float(value)


def _check_thresholds(threshold: Any, systems: Mapping[str, System]) -> None:
    unknown = sorted(set(threshold) - set(systems)) if isinstance(threshold, Mapping) else []
    if unknown:
        raise InputError(f"threshold for {unknown[0]!r}, which is no system: {', '.join(systems)}")
