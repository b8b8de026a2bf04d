"""Systems that tell three classes or more apart: by labels, scores or probabilities."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from calipers.data.errors import InputError, did_you_mean
from calipers.data.two_classes import Labels
from calipers.measures import parse
from calipers.once import cached_property
from calipers.readings.averages import of_scores, weights_of
from calipers.readings.counts import ClassCounts
from calipers.readings.losses import influence as of_mean
from calipers.readings.losses import of_losses
from calipers.readings.ranks import RankedClasses
from calipers.readings.skill import ConstantAnswer, of_skill
from calipers.statistics import (
    ClassRanks,
    ClassRows,
    ConfusionMatrix,
    FloatArray,
    Moments,
    ScoreTable,
    Statistic,
)
from calipers.systems.base import NAN, best
from calipers.systems.binary import System

if TYPE_CHECKING:
    import numpy.typing as npt

    from calipers.data.classes import Classes
    from calipers.inference.clusters import Clusters
    from calipers.inference.reading import Influence, Reading
    from calipers.inference.settings import Settings
    from calipers.measures import Measure

#: So many probabilities of constant answers are looked at at a time.
_AT_ONCE = 4_000_000

_OF_CLASS = "a probability or a score for each class"
_NEEDS = {
    "labels": "predicted labels, or " + _OF_CLASS,
    "scores": _OF_CLASS,
    "ranks": _OF_CLASS,
    "probabilities": "a probability for each class",
}


@dataclass(frozen=True, eq=False)
class Problem:
    """What all systems share: the class of each row, its weight and cluster."""

    classes: Classes
    weight: FloatArray | None
    clusters: Clusters | None
    settings: Settings

    @property
    def names(self) -> tuple[str, ...]:
        """The classes."""
        return self.classes.names

    @property
    def truth(self) -> npt.NDArray[np.intp]:
        """The class of each row, as a position among the names."""
        return self.classes.codes

    @cached_property
    def sizes(self) -> FloatArray:
        """The weight of the rows of each class."""
        return np.bincount(self.truth, self.weight, len(self.names)).astype(np.float64)

    @cached_property
    def shares(self) -> FloatArray:
        """The share of each class."""
        with np.errstate(invalid="ignore"):  # there may be no weight
            return np.asarray(self.sizes / self.sizes.sum())

    def constant_losses(self, measure: Measure) -> FloatArray:
        """What a row of each class loses by the best constant answer, the shares of the classes."""
        k = len(self.names)
        step = max(1, _AT_ONCE // k)
        parts = (
            np.arange(begin, min(begin + step, k), dtype=np.float64) for begin in range(0, k, step)
        )
        return np.concatenate(
            [measure.losses(own, np.tile(self.shares, (len(own), 1))) for own in parts]
        )

    def constant(self, measure: Measure) -> Moments | None:
        """What the best constant answer loses; None without any weight."""
        if not self.sizes.any():
            return None
        return Moments.from_rows(self.constant_losses(measure), self.sizes)

    def against_rest(self, label: str) -> Labels:
        """One class and all others."""
        others = tuple(name for name in self.names if name != label)
        return Labels((f"not {label}", label), self.truth == self.names.index(label), others)

    def notes(self) -> list[str]:
        """What a reader has to know before the numbers."""
        absent = [name for name, share in zip(self.names, self.shares, strict=True) if share == 0]
        if not absent:
            return []
        shown = ", ".join(absent[:5]) + (", …" if len(absent) > 5 else "")
        kind = "class" if len(absent) == 1 else "the classes"
        return [f"No row is of {kind} {shown}; averages leave out a class that nobody predicts."]


@dataclass(frozen=True, eq=False)
class ClassSystem:
    """One system: what it says of the rows, and the statistics of both."""

    name: str
    problem: Problem
    predicted: npt.NDArray[np.intp] | None = None
    #: Scores or probabilities of every class.
    rows: ClassRows | None = None
    is_probability: bool = False
    measures: tuple[Measure, ...] = ()
    _binary: dict[str, System] = field(default_factory=dict, repr=False)

    @property
    def score(self) -> npt.NDArray[np.floating[Any]] | None:
        """Scores or probabilities, a column a class."""
        return None if self.rows is None else self.rows.table

    @property
    def settings(self) -> Settings:
        """How intervals are made."""
        return self.problem.settings

    @property
    def weight(self) -> FloatArray | None:
        """The weight of each row."""
        return self.problem.weight

    @property
    def clusters(self) -> Clusters | None:
        """What the rows come from."""
        return self.problem.clusters

    def serves(self, reads: str) -> bool:
        """Whether it has what some measures read."""
        there = {
            "labels": self.predicted is not None,
            "scores": self.score is not None,
            "ranks": self.score is not None,
            "probabilities": self.is_probability,
        }
        return there.get(reads, False)

    def under(self, settings: Settings) -> ClassSystem:
        """The system with these settings; itself, and what it has computed, where it has them."""
        if settings == self.settings:
            return self
        return replace(self, problem=replace(self.problem, settings=settings), _binary={})

    def taken(self, rows: npt.NDArray[np.bool_ | np.intp]) -> ClassSystem:
        """The system on some of the rows; the classes stay."""
        p = self.problem
        return replace(
            self,
            problem=replace(
                p,
                classes=replace(p.classes, codes=p.truth[rows]),
                weight=None if p.weight is None else p.weight[rows],
                clusters=None if p.clusters is None else p.clusters.taken(rows),
            ),
            predicted=None if self.predicted is None else self.predicted[rows],
            rows=None if self.rows is None else self.rows.taken(rows),
            _binary={},
        )

    def check(self, measures: Iterable[Measure]) -> None:
        """That data and classes serve every measure asked for."""
        for measure in measures:
            self._check(measure)

    def _check(self, measure: Measure) -> None:
        d, names = measure.definition, self.problem.names
        one = replace(measure.plain, label=names[0])
        averaged = d.on is ConfusionMatrix or (d.on is ScoreTable and d.reads == "scores")
        whole = measure.viewed or d.any_classes
        if not whole and not averaged:
            raise InputError(
                f"{measure} is about two classes: ask for {one}, or name the positive one "
                "(positive=…)"
            )
        if not self.serves(d.reads or ""):
            raise InputError(f"{self.name}: {measure} needs {_NEEDS[d.reads or '']}")
        if measure.average is not None and not averaged:
            instead = measure.plain if d.any_classes else one
            raise InputError(f"{measure}: there is no such average; ask for {instead}")
        if measure.label is not None and measure.label not in names:
            meant = did_you_mean(measure.label, names)
            raise InputError(f"{measure}: {measure.label!r} is no class; {meant}")
        if not whole:
            raise InputError(
                f"{measure} is about one class of {len(names)}: ask for {one}, for "
                f"{replace(measure, average='macro')}, or say which class is positive "
                "(positive=…)"
            )
        if d.on is ScoreTable and measure.average == "micro":
            raise InputError(f"{measure}: there are macro and weighted averages of {d.name}")

    # --- What measures are formulas over ---------------------------------------------------------

    def problem_of(self, measure: Measure) -> System | None:
        """The problem of two classes that a measure of one class is about, or one of the confidence
        in the label that is given."""
        d = measure.definition
        if d.on is ConfusionMatrix:
            return None
        if measure.label is not None:
            return self.against_rest(measure.label)
        confident = d.on is ScoreTable and d.reads == "probabilities" and d.skill_of is None
        return self.confidence if confident else None

    def statistic(self, measure: Measure) -> Statistic | None:
        """What a measure is a formula over; None where it takes more than one."""
        d, one = measure.definition, self.problem_of(measure)
        if d.on is ConfusionMatrix:
            return self.counts.matrix
        if one is not None:
            return one.statistic(measure.plain)
        if d.on is ClassRanks:
            return self.ranks.statistic
        if d.on is ScoreTable:
            return None
        return Moments.from_rows(self.losses(measure), self.weight)

    def reading(self, measure: Measure) -> Reading:
        """The value of a measure, and how it varies."""
        d, p, one = measure.definition, self.problem, self.problem_of(measure)
        if d.on is ConfusionMatrix:
            return self.counts.reading(measure)
        if one is not None:
            return one.reading(measure.plain)
        if d.on is ClassRanks:
            return self.ranks.reading(measure)
        if d.skill_of is not None:
            loss = parse(d.skill_of, "probabilities")
            lost = p.constant_losses(loss)
            constant = ConstantAnswer(p.truth, p.shares, lost, p.weight, p.clusters, self.settings)
            return of_skill(measure, loss, self.losses(loss), constant)
        if d.on is ScoreTable:
            return self._average(measure)
        return of_losses(measure, self.losses(measure), p.weight, p.clusters, self.settings)

    def influence(self, measure: Measure, whole: Any) -> Influence | None:
        """By how much each row moves a measure of all rows of which these are a batch."""
        d, p, one = measure.definition, self.problem, self.problem_of(measure)
        if d.on is ConfusionMatrix:
            return self.counts.influence(measure, whole)
        if one is not None:
            return one.influence(measure.plain, whole)
        if d.on is ClassRanks:
            return self.ranks.influence(measure, whole)
        return of_mean(measure, self.losses(measure), p.weight, p.clusters, whole)

    def _average(self, measure: Measure) -> Reading:
        """A measure of scores, averaged over the classes with rows."""
        readings = (self.against_rest(name).reading(measure.plain) for name in self._occurring)
        terms = zip(weights_of(measure, self.problem.shares), readings, strict=True)
        return of_scores(measure, list(terms), len(self.problem.truth), self.settings)

    @property
    def _occurring(self) -> list[str]:
        p = self.problem
        return [name for name, size in zip(p.names, p.sizes, strict=True) if size > 0]

    def losses(self, measure: Measure) -> FloatArray:
        """The loss of each row."""
        assert self.rows is not None
        truth: Any = self.problem.truth  # losses take numbers of any kind
        return measure.losses(truth, self.rows)

    def per_row(self, measure: Measure) -> FloatArray | None:
        """The value of each row, where the measure is the mean of such."""
        d = measure.definition
        if measure.label is not None and d.on is not ConfusionMatrix:
            return self.against_rest(measure.label).per_row(measure.plain)
        if d.on is Moments:
            return self.losses(measure)
        if d.on is ClassRanks:
            return self.ranks.gain(measure)
        if d.hits and not measure.viewed and self.predicted is not None:
            return np.asarray(self.predicted == self.problem.truth, np.float64)
        return None

    def constant(self, measure: Measure) -> float:
        """What the best constant answer gets."""
        d, one = measure.definition, self.problem_of(measure)
        if d.on is ConfusionMatrix:
            if measure.label is None:
                return best(measure, self.counts.constant)
            return best(measure.plain, self.counts.matrix.of_class(measure.label).constant())
        if one is not None:
            return one.constant(measure.plain)
        if d.on is ClassRanks:  # the constant answer lists the classes by frequency
            shares = np.sort(self.problem.shares)[::-1]
            return float(shares[: measure.parameters["k"]].sum())
        if d.skill_of is not None:
            return 0.0 if np.count_nonzero(self.problem.sizes) > 1 else NAN
        if d.on is ScoreTable:
            weights = weights_of(measure, self.problem.shares)
            tables = [self.against_rest(name).table.constant() for name in self._occurring]
            values = [float(measure.plain.apply(table)) for table in tables]
            if not values:
                return NAN
            return sum(w * value for w, value in zip(weights, values, strict=True))
        moments = self.problem.constant(measure) or self.statistic(measure)
        assert moments is not None
        return float(measure.apply(moments))

    def beside(self, measure: Measure) -> Mapping[str, float]:
        """What the estimate of one class tells."""
        one = self.problem_of(measure)
        return {} if one is None else one.beside(measure.plain)

    @cached_property
    def counts(self) -> ClassCounts:
        """The confusion matrix, and how its rows are redrawn."""
        assert self.predicted is not None
        p = self.problem
        together = tuple(m for m in self.measures if m.definition.on is ConfusionMatrix)
        return ClassCounts.from_codes(
            p.truth, self.predicted, p.names, self.settings, p.weight, p.clusters, together
        )

    @cached_property
    def ranks(self) -> RankedClasses:
        """The places of the true classes."""
        assert self.score is not None
        p = self.problem
        return RankedClasses(p.truth, self.score, p.weight, p.clusters, self.settings)

    def against_rest(self, label: str) -> System:
        """The scores of one class, as those of a problem of two."""
        if label not in self._binary:
            assert self.score is not None
            problem = self.problem
            score = np.ascontiguousarray(self.score[:, problem.names.index(label)], np.float64)
            own = [m.plain for m in self.measures if m.average is not None or m.label == label]
            self._binary[label] = System(
                self.name,
                problem.against_rest(label),
                problem.weight,
                self.settings,
                score=score,
                probability=score if self.is_probability else None,
                clusters=problem.clusters,
                measures=tuple(dict.fromkeys(own)),
            )
        return self._binary[label]

    @cached_property
    def confidence(self) -> System:
        """Whether the most probable class is the true one, as a problem of two classes whose
        probability is that of the label given: a measure of calibration of it is one of the
        confidence (Guo and others 2017)."""
        assert self.rows is not None
        problem = self.problem
        right, probability = top_label(problem.truth, self.rows.table, self.rows.highest)
        return System(
            self.name,
            Labels(("wrong", "right"), right),
            problem.weight,
            self.settings,
            score=probability,
            probability=probability,
            clusters=problem.clusters,
            measures=tuple(m for m in self.measures if m.definition.reads == "probabilities"),
        )


def top_label(
    truth: npt.NDArray[np.integer],
    probability: npt.NDArray[np.floating[Any]],
    highest: npt.NDArray[np.integer] | None = None,
) -> tuple[npt.NDArray[np.bool_], FloatArray]:
    """Whether the most probable class of each row is the true one, and its probability.

    ``truth`` holds class numbers from 0, ``probability`` a column a class. With these two, every
    measure of calibration becomes that of the confidence in the label that is given (Guo and others
    2017). Of equally probable classes the first is the one given; ``highest`` says which, where
    that is known.

    >>> top_label(np.array([2, 0]), np.array([[0.1, 0.3, 0.6], [0.2, 0.5, 0.3]]))
    (array([ True, False]), array([0.6, 0.5]))
    """
    given = probability.argmax(axis=1) if highest is None else highest
    own = probability[np.arange(len(truth)), given]
    return given == truth, own.astype(np.float64, copy=False)
