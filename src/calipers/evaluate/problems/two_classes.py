"""A positive class against a negative one: by labels, scores or probabilities."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from calipers.curves.score_curves import ScoreCurves
from calipers.data.binary_labels import Labels, two_classes
from calipers.data.class_labels import coded, place_of, positions
from calipers.data.errors import InputError, shown
from calipers.data.frequency_weights import Repeats
from calipers.evaluate.estimates import estimate_of
from calipers.evaluate.problems.classification import ClassificationProblem
from calipers.evaluate.shared import agreed, by_default, column_name, named_systems
from calipers.evaluate.slices import threshold_note
from calipers.evaluate.subjects import of_two_classes
from calipers.evaluate.two_systems import (
    Threshold,
    at_best_accuracy,
    systems_of_two,
    without_threshold,
)
from calipers.evaluate.usual import left_out, usual_measures
from calipers.results.estimate import UNNAMED
from calipers.statistics import ConfusionMatrix, FloatArray, ScoreTable
from calipers.systems.binary import System
from calipers.systems.thresholds import Rule

if TYPE_CHECKING:
    from calipers.curves.score_data import Scored
    from calipers.data.class_labels import Coded
    from calipers.evaluate.batch import Batch
    from calipers.evaluate.sample import Sample, Told
    from calipers.evaluate.stream_columns import Columns
    from calipers.evaluation.options import Options
    from calipers.inference.settings import Settings
    from calipers.measures import Measure
    from calipers.results import Curve, Estimate, Finding

#: Curves of a stream are drawn from so many thresholds at most, each of which is a point of them.
MOST_DRAWN = 50_000


@dataclass(frozen=True, eq=False)
class TwoClasses(ClassificationProblem):
    """How well systems tell a positive class from a negative one.

    ``names`` are the negative class and the positive one, and ``positive`` says of every class that
    there is whether it is that one: several may make up the negative one.
    """

    kind: ClassVar[str] = "two classes"

    names: tuple[str, str]
    positive: Mapping[str, bool]
    threshold: Threshold = None
    stated: bool = False
    undefined: str = "nan"

    @classmethod
    def of(
        cls,
        truth: Coded,
        positive: Any,
        labels: Sequence[Any] | None,
        threshold: Threshold,
        undefined: str,
        predicted: Any = None,
    ) -> TwoClasses:
        """Of the labels that occur or are named, or, where one alone occurs, are predicted."""
        said = _classes_of(predicted) if labels is None and len(truth.labels) == 1 else ()
        two = two_classes(truth, positive, said=said, both=labels)
        known = {name: name == two.names[1] for name in two.classes}
        return cls(two.names, known, threshold, labels is not None, undefined)

    @property
    def others(self) -> tuple[str, ...]:
        """The classes that are taken together, where there are more than two."""
        negative = tuple(name for name, own in self.positive.items() if not own)
        return negative if self.names[0] not in negative else ()

    def labels(self, truth: Any) -> Labels:
        """The classes of some rows."""
        column = coded(truth, "truth")
        place, known = positions(self.positive), list(self.positive.values())
        is_positive = np.zeros(len(column.labels), bool)
        for code, name in enumerate(column.names):
            found = place_of(place, name)
            if found is None:
                row = int(np.argmax(column.codes == code))
                raise InputError(
                    f"truth: has the class {shown(column.labels[code])} in row {row}, expected "
                    + " or ".join(self.positive)
                )
            is_positive[code] = known[found]
        return self._labels(is_positive[column.codes])

    def _labels(self, positive: Any) -> Labels:
        return Labels(self.names, positive, self.others, tuple(self.positive))

    def systems(self, batch: Batch, settings: Settings) -> dict[str, System]:
        """The systems on some rows."""
        labels, counted = self.labels(batch["truth"]), batch.frequencies
        rows = replace(labels, positive=counted(labels.positive))
        plain = partial(
            System, labels=rows, weight=batch.weights, settings=settings, clusters=batch.clusters
        )
        said = batch["predicted"], batch["score"], batch["probability"]
        return systems_of_two(plain, labels, *said, self.threshold, counted)

    def statistic(self, system: System, kind: type) -> Any:
        """The counts of labels, and the table of scores."""
        if kind is ConfusionMatrix and system.predicted is not None:
            return system.counts.matrix
        return system.table if kind is ScoreTable and system.score is not None else None

    # --- Measures --------------------------------------------------------------------------------

    def default_measures(self, systems: Mapping[str, System]) -> Sequence[str]:
        """Every usual measure that all systems can serve."""
        return usual_measures(systems)

    def prepared(
        self, systems: Mapping[str, System], measures: Sequence[Measure]
    ) -> tuple[dict[str, System], Sequence[str]]:
        """The systems, where the accuracy of scores is asked for at the threshold of the best."""
        return at_best_accuracy(systems, measures)

    # --- What an evaluation has beside estimates -------------------------------------------------

    def leading(self, sample: Sample) -> Sequence[Estimate]:
        """Thresholds that a rule chose on the rows."""
        systems = (sample.rows or {}).values()
        chosen = [(s.chosen, s.number) for s in systems if s.chosen is not None]
        return [estimate_of(c.reading(rows), "threshold", c.system) for c, rows in chosen]

    def conventions(self, sample: Sample) -> Mapping[str, Any]:
        """Which class is positive, and from which threshold on."""
        systems = sample.template.items()
        return {
            "positive": self.names[1],
            "negative": self.names[0],
            "threshold": {n: s.threshold for n, s in systems if s.threshold is not None},
            "at_the_threshold": "positive",
            **agreed(self.undefined),
        }

    def notes(self, sample: Sample, options: Options) -> Sequence[str]:
        """That several classes were taken for one, that all rows are of one class, and what is left
        out."""
        if not sample.rows:
            return _collapsed(self.names[1], self.others)
        labels = next(iter(sample.rows.values())).labels
        notes = _collapsed(self.names[1], self.others)
        if labels.positive.all() or not labels.positive.any():
            there, absent = self.names[:: -1 if labels.positive.all() else 1]
            why = f"All rows are of class {there}, none of {absent}"
            notes = (f"{why}: measures that need both have no value.",)
        return (*notes, *(left_out(sample.rows) if by_default(options.measures) else ()))

    def slice_notes(self, sample: Sample) -> Sequence[str]:
        """That a threshold which a rule chose on all rows is no slice's own."""
        tuned = (s.chosen for s in (sample.rows or {}).values())
        return [threshold_note(c.system, c.threshold, c.rule) for c in tuned if c is not None]

    def findings(self, sample: Sample, told: Told) -> tuple[Finding, ...]:
        """What there is to say of two classes."""
        return of_two_classes(sample, told)

    def details(self, sample: Sample, options: Options) -> Mapping[str, Any]:
        """Confusion matrices, and curves of scores."""
        return {
            "confusions": self.confusions(sample),
            "curves": self._curves(sample) if options.curves else (),
        }

    def _curves(self, sample: Sample) -> ScoreCurves | tuple[()]:
        if sample.rows:
            systems = tuple(sample.rows.values())
            points = {(s.name, ""): partial(_point, s) for s in systems if s.score is None}
            return ScoreCurves(partial(_scored, systems), points)
        tables = {name: sample.statistic(name, ScoreTable) for name in sample.systems}
        if not any(tables.values()):
            return ()
        return ScoreCurves(partial(self._drawn, sample, tables))

    def _drawn(self, sample: Sample, tables: Mapping[str, ScoreTable | None]) -> list[Scored]:
        """What curves of a stream are drawn from: tables, or so many of their thresholds."""
        from calipers.curves.score_data import Scored

        weighted = sample.weighted or sample.clusters is not None
        # Rows that weigh differently or come in clusters cannot be drawn from a table.
        settings = replace(sample.settings, interval="none") if weighted else sample.settings

        def made(name: str, table: ScoreTable) -> Scored:
            like = sample.template[name]
            few = len(table.scores) <= MOST_DRAWN and not table.shift
            return Scored(
                name,
                lambda: table if few else table.compress(MOST_DRAWN),
                settings,
                threshold=like.threshold,
                # Of scores taken together nobody knows which probability a row has.
                probabilities=few and like.probability is not None,
                names=self.names,
                independent=not weighted,
            )

        return [made(name, table) for name, table in tables.items() if table is not None]

    # --- Streams ---------------------------------------------------------------------------------

    def template(
        self, columns: Columns, settings: Settings, sizes: FloatArray | None = None
    ) -> dict[str, System]:
        """Systems on a row of either class."""
        cuts = self.threshold.values() if isinstance(self.threshold, Mapping) else [self.threshold]
        if any(isinstance(cut, str | Rule) for cut in cuts):
            raise InputError(
                "threshold: a rule chooses it among all rows, which takes engine='memory'; a "
                "stream takes a number"
            )
        said, values = columns.said, np.array([0.25, 0.75])
        labels = self._labels(np.array([False, True]))
        weight = np.ones(2) if sizes is None else sizes
        plain = partial(System, labels=labels, weight=weight, settings=settings)
        given = {
            kind: dict.fromkeys(said[kind], values) if kind in said else None
            for kind in ("score", "probability")
        }
        negative = next((n for n, own in self.positive.items() if not own), self.names[0])
        called = {n: [negative, self.names[1]] for n in said.get("predicted", ())} or None
        probability: Any = given["probability"]
        if probability is not None and list(probability) == [UNNAMED]:
            probability = probability[UNNAMED]  # of several classes, names would be theirs
        return systems_of_two(
            plain, labels, called, given["score"], probability, self.threshold, Repeats(2)
        )

    def check_stream(self, systems: Mapping[str, System], measures: Sequence[Measure]) -> None:
        """That the systems serve the measures, with a threshold that is not chosen among all
        rows."""
        bare, found = without_threshold(systems, measures)
        if bare:
            raise InputError(
                f"{found[0]} of scores without a threshold is at the best one, which is chosen "
                "among all rows and takes engine='memory'; a stream takes a number as threshold=, "
                "and has max-accuracy"
            )
        super().check_stream(systems, measures)

    @staticmethod
    def summary(systems: Mapping[str, System]) -> FloatArray:
        """The weight of the negatives and of the positives."""
        one = next(iter(systems.values()))
        return np.bincount(one.labels.positive, one.weight, 2).astype(np.float64)

    @property
    def plan(self) -> dict[str, Any]:
        """The classes and the threshold."""
        return {
            "classes": self.names,
            "known": dict(self.positive),
            "threshold": self.threshold,
            "undefined": self.undefined,
            "stated": self.stated,
        }


def _classes_of(predicted: Any) -> list[str]:
    """The classes that systems predict."""
    if predicted is None:
        return []
    return [
        name
        for system, column in named_systems(predicted, "predicted").items()
        for name in coded(column, column_name("predicted", system)).names
    ]


def _collapsed(positive: str, others: tuple[str, ...]) -> tuple[str, ...]:
    """That several classes were taken for one."""
    if not others:
        return ()
    named = ", ".join(others[:5]) + (", …" if len(others) > 5 else "")
    return (f"{positive} is evaluated against all other classes: {named}.",)


def _point(system: System) -> Curve:
    from calipers.curves.rates import roc_point

    return roc_point(system)


def _scored(systems: Sequence[System]) -> list[Scored]:
    from calipers.curves.score_data import scored

    return [scored(s) for s in systems if s.score is not None]
