"""Systems that tell two classes apart: by labels, scores or probabilities."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from calipers.data.errors import InputError
from calipers.once import cached_property
from calipers.readings.calibration import influence_of_line, of_probabilities
from calipers.readings.counts import ClassCounts
from calipers.readings.losses import influence as of_mean
from calipers.readings.losses import of_losses
from calipers.readings.scores import ScoredRows
from calipers.statistics import ConfusionMatrix, FloatArray, Moments, ScoreTable, Statistic
from calipers.systems.base import best, columns_taken
from calipers.systems.numbers import constant_loss
from calipers.systems.thresholds import Chosen, Rule

if TYPE_CHECKING:
    import numpy.typing as npt

    from calipers.data.two_classes import Labels
    from calipers.inference.clusters import Clusters
    from calipers.inference.reading import Influence, Reading
    from calipers.inference.settings import Settings
    from calipers.measures import Measure

_NEEDS = {
    "labels": "predicted labels, probabilities, or scores with a threshold",
    "ranks": "more than two classes",
    "scores": "scores or probabilities",
    "probabilities": "probabilities",
}


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
    clusters: Clusters | None = None
    #: The rule that chose the threshold on these rows.
    rule: Rule | None = None
    #: Those that are asked for, which are bootstrapped together.
    measures: tuple[Measure, ...] = ()

    def serves(self, reads: str) -> bool:
        """Whether it has what some measures read."""
        there = {
            "labels": self.predicted is not None,
            "scores": self.score is not None,
            "probabilities": self.probability is not None,
        }
        return there.get(reads, False)

    def check(self, measures: Sequence[Measure]) -> None:
        """That the data serve every measure asked for."""
        for measure in measures:
            reads = measure.definition.reads or ""
            if measure.viewed and (
                reads != "labels" or measure.label not in (None, *self.labels.names)
            ):
                raise InputError(
                    f"{measure}: there are two classes, {' and '.join(self.labels.names)}, of "
                    f"which {self.labels.names[1]} is the positive one; ask for {measure.plain}"
                )
            if not self.serves(reads):
                raise InputError(f"{self.name}: {measure} needs {_NEEDS[reads]}")

    def under(self, settings: Settings) -> System:
        """The system with these settings; itself, and what it has computed, where it has them."""
        return self if settings == self.settings else replace(self, settings=settings)

    def taken(self, rows: npt.NDArray[np.bool_ | np.intp]) -> System:
        """The system on some of the rows."""
        names = ("weight", "predicted", "score", "probability")
        labels = replace(self.labels, positive=self.labels.positive[rows])
        # The threshold was chosen on all of the rows.
        return replace(self, labels=labels, rule=None, **columns_taken(self, names, rows))

    # --- What measures are formulas over ---------------------------------------------------------

    @cached_property
    def counts(self) -> ClassCounts:
        """The confusion matrix, and how its rows are redrawn."""
        assert self.predicted is not None
        return ClassCounts.from_codes(
            self.labels.positive,
            self.predicted,
            self.labels.names,
            self.settings,
            self.weight,
            self.clusters,
            tuple(m for m in self.measures if m.definition.on is ConfusionMatrix),
        )

    @cached_property
    def scored(self) -> ScoredRows:
        """The table of scores, and how its rows are redrawn."""
        assert self.score is not None
        return ScoredRows(
            self.labels.positive,
            self.score,
            self.weight,
            self.clusters,
            self.settings,
            self.measures,
        )

    @property
    def table(self) -> ScoreTable:
        """The table of distinct scores."""
        return self.scored.table

    @cached_property
    def chosen(self) -> Chosen | None:
        """The threshold, where a rule chose it on these rows."""
        if self.rule is None or self.threshold is None:
            return None
        return Chosen(self.name, self.rule, self.threshold, self.scored.drawn)

    def problem_of(self, measure: Measure) -> System:
        """Itself."""
        return self

    def statistic(self, measure: Measure) -> Statistic | None:
        """What a measure is a formula over."""
        if measure.definition.on is ConfusionMatrix:
            return self.counts.matrix
        if measure.definition.on is ScoreTable:
            return self.table
        if measure.definition.rows is None:
            return None
        return Moments.from_rows(self.losses(measure), self.weight)

    def reading(self, measure: Measure) -> Reading:
        """The value of a measure, and how it varies."""
        if measure.definition.on is ConfusionMatrix:
            return self.counts.reading(measure)
        if measure.definition.on is ScoreTable:
            if measure.definition.reads == "probabilities":
                return of_probabilities(self.scored, measure)
            return self.scored.reading(measure)
        return of_losses(measure, self.losses(measure), self.weight, self.clusters, self.settings)

    def influence(self, measure: Measure, whole: Any) -> Influence | None:
        """By how much each row moves a measure of all rows of which these are a batch."""
        if measure.definition.on is ConfusionMatrix:
            return self.counts.influence(measure, whole)
        if measure.definition.coefficient is not None:
            return influence_of_line(self.scored, measure, whole)
        if measure.definition.on is ScoreTable:
            scored = measure.definition.reads == "scores"
            return self.scored.influence(measure, whole) if scored else None
        return of_mean(measure, self.losses(measure), self.weight, self.clusters, whole)

    def losses(self, measure: Measure) -> FloatArray:
        """The loss of each row."""
        assert self.probability is not None
        return measure.losses(self._truth, self.probability)

    def per_row(self, measure: Measure) -> FloatArray | None:
        """The value of each row, where the measure is the mean of such."""
        if measure.definition.rows is not None:
            return self.losses(measure)
        if measure.definition.hits and not measure.viewed and self.predicted is not None:
            return np.asarray(self.predicted == self.labels.positive, np.float64)
        return None

    def constant(self, measure: Measure) -> float:
        """What the best constant answer gets."""
        if measure.definition.on is ConfusionMatrix:
            return best(measure, self.counts.matrix.constant())
        if measure.definition.on is not ScoreTable:
            return constant_loss(measure, self._truth, self.weight)
        table = self.table.constant()
        if measure.definition.reads == "probabilities":
            if measure.definition.higher_is_better is None:
                return float("nan")
            positive, negative = self.table.total_positive, self.table.total_negative
            with np.errstate(invalid="ignore"):  # a slice may be without weight
                share = np.array([positive / (positive + negative)])
            table = replace(table, scores=share)
        return float(measure.apply(table))

    def beside(self, measure: Measure) -> Mapping[str, float]:
        """The threshold of a measure that is read off one; the value on rows that the threshold was
        not chosen on."""
        if measure.definition.on is ScoreTable and measure.definition.reads == "scores":
            return {"threshold": float(measure.threshold(self.table))}
        if measure.definition.on is ConfusionMatrix and self.chosen is not None:
            return {"out_of_bag": self.chosen.out_of_bag(measure)}
        return {}

    @cached_property
    def is_certain(self) -> bool:
        """Whether a probability is 0 or 1."""
        p = self.probability
        return p is not None and len(p) > 0 and bool(p.min() <= 0 or p.max() >= 1)

    @cached_property
    def _truth(self) -> FloatArray:
        return self.labels.positive.astype(np.float64)
