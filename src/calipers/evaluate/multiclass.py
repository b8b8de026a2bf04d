"""Evaluation of problems of three classes or more, from labels, probabilities or scores."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from calipers.data.arrays import as_weights
from calipers.data.class_columns import check_columns, class_table, columns_of_classes, is_per_class
from calipers.data.classes import Classes, Coded, check_predicted, classes, coded
from calipers.data.errors import InputError, did_you_mean
from calipers.data.two_classes import Labels
from calipers.evaluate.averages import ScoreAverage, parts_of
from calipers.evaluate.calibration import OF_LABELS, top_label
from calipers.evaluate.classification import Pair, System
from calipers.evaluate.confusions import confusion
from calipers.evaluate.curves import ScoreCurves, Scored, series_of
from calipers.evaluate.cuts import Bins, cuts
from calipers.evaluate.findings import of_classes
from calipers.evaluate.losses import loss_replicates
from calipers.evaluate.pairs import PairedCounts, Rows, loss_contrast, paired_error
from calipers.evaluate.shared import (
    UNNAMED,
    MeasureNames,
    as_clusters,
    best_constant,
    choose_measures,
    column_name,
    comparison_if_several,
    estimate,
    glossary,
    named_systems,
    provenance,
)
from calipers.evaluate.skill import SKILLS, Skill
from calipers.evaluate.slices import sliced
from calipers.inference import intervals
from calipers.inference.cells import Cells, ClassCounts
from calipers.inference.clusters import Clusters
from calipers.inference.contrast import Contrast, Error
from calipers.inference.estimate import Settings, normal_of, percentile, rows_interval
from calipers.inference.intervals import Interval
from calipers.inference.of_scores import asked_of_influence
from calipers.measures import Measure
from calipers.measures.ranks import credit_of
from calipers.once import cached_property
from calipers.results import Estimate, Evaluation
from calipers.statistics import (
    ClassRanks,
    ClassRows,
    ConfusionMatrix,
    FloatArray,
    Moments,
    Statistic,
    rank_cells,
)

OF_COUNTS = ("accuracy", "balanced-accuracy", "macro-F1", "weighted-F1", "MCC", "kappa")
OF_PROBABILITIES = ("log-loss", "Brier")
OF_RANKS = ("top-5-accuracy",)

#: So many probabilities of constant answers are looked at at a time.
_AT_ONCE = 4_000_000

#: With more classes than this the best five are worth a look.
MANY_CLASSES = 10


def multiclass(
    truth: Coded,
    predicted: Any = None,
    *,
    score: Any = None,
    probability: Any = None,
    labels: Sequence[Any] | None = None,
    weight: Any = None,
    cluster: Any = None,
    settings: Settings,
    slices: Any = None,
    slice_bins: Bins | None = None,
    measures: MeasureNames | None = None,
    baseline: str | None = None,
    notes: Sequence[str] = (),
    curves: bool = True,
    inputs: Sequence[Any] = (),
) -> Evaluation:
    """How well systems tell K classes apart; :func:`calipers.classification` calls it.

    Parameters
    ----------
    truth
        The class of each row.
    predicted
        Predicted classes; a column, or a dict from system names to columns.
    probability, score
        A column for each class: a dict from classes to columns, a data frame, or an array of shape
        (rows, K) in the order of the classes; or a dict from system names to those. Unless labels
        are predicted too, the class of the highest value is; of several, the first in order.
    labels
        The classes in order; else those that occur, sorted.
    """
    if predicted is not None:  # encoded once, wherever it is looked at
        predicted = {
            name: coded(column, column_name("predicted", name))
            for name, column in named_systems(predicted, "predicted").items()
        }
    for name, column in (predicted or {}).items():
        check_predicted(column, truth.names, column_name("predicted", name))
    found = _classes(truth, predicted, score, probability, labels)
    weights = as_weights(weight, len(found.codes))
    clusters = None if cluster is None else as_clusters(cluster, len(found.codes), weights)
    rows = Problem(found, weights, clusters, settings)
    systems = _systems(rows, predicted, score, probability)
    chosen = choose_measures(measures, _default_measures(systems), "classification")
    for system in systems.values():
        system.check(chosen)
    systems = {name: replace(s, measures=tuple(chosen)) for name, s in systems.items()}
    made, how = cuts(slices, slice_bins, len(found.codes))
    source = Rows(systems, chosen, settings, ClassPair)
    conventions = {
        "classes": list(found.names),
        "several_highest": "the first class",
        "weighted": weights is not None,
        **({} if clusters is None else {"clusters": clusters.number}),
    }
    estimates = tuple(s.estimate(measure) for s in systems.values() for measure in chosen)
    comparison = comparison_if_several(source, baseline, settings)
    by_slice = sliced(systems.values(), chosen, made, settings)
    return Evaluation(
        task="classification",
        level=settings.level,
        estimates=estimates,
        comparison=comparison,
        definitions=glossary(chosen),
        confusions=tuple(
            confusion(name, s.counts.matrix, settings)
            for name, s in systems.items()
            if s.predicted is not None
        ),
        curves=_curves(systems.values()) if curves else (),
        notes=(*notes, *rows.notes(), *(() if clusters is None else clusters.notes()), *how),
        slices=by_slice,
        findings=of_classes(systems.values(), estimates, comparison, by_slice),
        provenance=provenance("classification", settings, conventions, inputs),
        sources=source,
    )


def _curves(systems: Iterable[ClassSystem]) -> ScoreCurves:
    """Those of each class against the rest."""
    return ScoreCurves(partial(_scored, tuple(systems)))


def _scored(systems: Sequence[ClassSystem]) -> list[Scored]:
    return [
        replace(system.against_rest(label).scored, series=series_of(label), share=float(share))
        for system in systems
        if system.score is not None
        for label, share in zip(system.problem.names, system.problem.shares, strict=True)
    ]


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

    @property
    def row_classes(self) -> Any:
        """The same, for losses, which take numbers of any kind."""
        return self.truth

    @cached_property
    def sizes(self) -> FloatArray:
        """The weight of the rows of each class."""
        return np.bincount(self.truth, self.weight, len(self.names)).astype(np.float64)

    @cached_property
    def shares(self) -> FloatArray:
        """The share of each class."""
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
    def clusters(self) -> Clusters | None:
        """What the rows come from."""
        return self.problem.clusters

    @property
    def families(self) -> dict[str, bool]:
        """Which families of measures the system can be measured by."""
        return {
            "counts": self.predicted is not None,
            "scores": self.score is not None,
            "ranks": self.score is not None,
            "probabilities": self.is_probability,
            "calibration": self.is_probability,
        }

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

    def statistic(self, measure: Measure) -> Statistic | None:
        """What a measure is a formula over; None where it takes more than one."""
        family = measure.definition.family
        if family == "counts":
            return self.counts.matrix
        if measure.label is not None:
            return self.against_rest(measure.label).statistic(measure.plain)
        if family == "ranks":
            return self.ranks
        if family == "scores" or measure.definition.name in SKILLS:
            return None
        if family == "calibration":
            return self.confidence.statistic(measure)
        return Moments.from_rows(self.losses(measure), self.problem.weight)

    def share_of(
        self, measure: Measure, matrix: ConfusionMatrix | None = None
    ) -> ConfusionMatrix | None:
        """The matrix of whose margin the measure is a share of rows, if it is one; ``matrix`` may
        stand in for that of the rows."""
        return self.counts.share_of(measure, matrix) if measure.definition.share_of else None

    def of_scores(self, measure: Measure) -> System | None:
        """The problem of two classes whose table of scores a measure is a formula over."""
        family = measure.definition.family
        if measure.label is not None and family != "counts":
            return self.against_rest(measure.label).of_scores(measure.plain)
        if family == "calibration" and measure.definition.name not in SKILLS:
            return self.confidence
        return None

    def replicates(self, measure: Measure) -> FloatArray | None:
        """Bootstrap replicates of the value of a measure, where there are any."""
        family, p = measure.definition.family, self.problem
        if family == "counts":
            return self.counts.replicates([measure])[measure]
        if measure.label is not None:
            return self.against_rest(measure.label).replicates(measure.plain)
        if family == "ranks":
            return self.ranks_drawn(measure)
        if family == "scores":
            return self.average(measure).replicates
        if measure.definition.name in SKILLS:
            return Skill(self, measure).replicates
        if family == "calibration":
            return self.confidence.replicates(measure)
        loss = self.losses(measure)
        return loss_replicates(measure, loss, p.weight, self.settings, p.clusters)

    def losses(self, measure: Measure) -> FloatArray:
        """The loss of each row."""
        assert self.rows is not None
        return measure.losses(self.problem.row_classes, self.rows)

    @property
    def weight(self) -> FloatArray | None:
        """The weight of each row."""
        return self.problem.weight

    def per_row(self, measure: Measure) -> FloatArray | None:
        """The value of each row, where the measure is the mean of such."""
        family = measure.definition.family
        if measure.label is not None and family != "counts":
            return self.against_rest(measure.label).per_row(measure.plain)
        if family == "probabilities":
            return self.losses(measure)
        if family == "ranks":
            return self.gain(measure)
        if str(measure) == "accuracy" and self.predicted is not None:
            return np.asarray(self.predicted == self.problem.truth, np.float64)
        return None

    def check(self, measures: Iterable[Measure]) -> None:
        """That data and classes serve every measure asked for."""
        of_class = "a probability or a score for each class"
        needs = {
            "counts": "predicted labels, or " + of_class,
            "scores": of_class,
            "ranks": of_class,
            "probabilities": "a probability for each class",
            "calibration": "a probability for each class",
        }
        for measure in measures:
            d, names = measure.definition, self.problem.names
            one = replace(measure.plain, label=names[0])
            whole = (*OF_LABELS, *SKILLS)
            if d.family == "calibration" and not measure.viewed and d.name not in whole:
                raise InputError(
                    f"{measure} is about two classes: ask for {one}, or name the positive one "
                    "(positive=…)"
                )
            if not self.families[d.family]:
                raise InputError(f"{self.name}: {measure} needs {needs[d.family]}")
            if measure.average is not None and d.family not in ("counts", "scores"):
                instead = (
                    one if d.family == "calibration" and d.name not in whole else measure.plain
                )
                raise InputError(f"{measure}: there is no such average; ask for {instead}")
            if measure.label is not None and measure.label not in names:
                meant = did_you_mean(measure.label, names)
                raise InputError(f"{measure}: {measure.label!r} is no class; {meant}")
            if d.family in ("counts", "scores") and not (measure.viewed or d.any_classes):
                raise InputError(
                    f"{measure} is about one class of {len(names)}: ask for {one}, for "
                    f"{replace(measure, average='macro')}, or say which class is positive "
                    "(positive=…)"
                )
            if d.family == "scores" and measure.average == "micro":
                raise InputError(f"{measure}: there are macro and weighted averages of {d.name}")

    @cached_property
    def counts(self) -> ClassCounts:
        """The confusion matrix, and how its rows are redrawn."""
        assert self.predicted is not None
        p = self.problem
        together = tuple(m for m in self.measures if m.definition.family == "counts")
        return ClassCounts.from_codes(
            p.truth, self.predicted, p.names, self.settings, p.weight, p.clusters, together
        )

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

    def average(self, measure: Measure) -> ScoreAverage:
        """A measure of scores, averaged over the classes with rows."""
        p = self.problem
        parts = parts_of(measure, p.shares, map(self.against_rest, p.names))
        return ScoreAverage(
            measure, tuple(parts), self.name, len(p.truth), p.weight, p.clusters, self.settings
        )

    @cached_property
    def confidence(self) -> System:
        """Whether the most probable class is the true one, as a problem of two classes whose
        probability is that of the label given."""
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
            measures=tuple(m for m in self.measures if m.definition.family == "calibration"),
        )

    def estimate(self, measure: Measure) -> Estimate:
        """The value of one measure with its interval."""
        family, problem = measure.definition.family, self.problem
        shared: dict[str, Any] = {
            "system": self.name,
            "level": self.settings.level,
            "n": len(problem.truth),
        }
        if family == "counts":
            matrix = self.counts.matrix
            default = _best_constant(measure, self.counts)
            return estimate(measure, matrix, self.counts.interval, default=default, **shared)
        if measure.label is not None:
            one = self.against_rest(measure.label).estimate(measure.plain)
            return replace(one, measure=str(measure))
        if family == "ranks":
            default = self._default_ranks(measure)
            return estimate(measure, self.ranks, self._ranks_interval, default=default, **shared)
        if family == "scores":
            return self.average(measure).estimate()
        if measure.definition.name in SKILLS:
            return Skill(self, measure).estimate()
        if family == "calibration":
            return self.confidence.estimate(measure)
        loss, weight = self.losses(measure), problem.weight
        moments = Moments.from_rows(loss, weight)
        return estimate(
            measure,
            moments,
            lambda m, value: rows_interval(
                m, moments, loss, weight, value, self.settings, problem.clusters
            ),
            default=float(measure.apply(problem.constant(measure) or moments)),
            **shared,
        )

    # --- The place of the true class -------------------------------------------------------------

    @cached_property
    def rank_cells(self) -> Cells:
        """The rows by the place of their true class."""
        assert self.score is not None
        p, k = self.problem, len(self.problem.names)
        cell = rank_cells(p.truth, self.score)
        return Cells.from_codes([cell // k, cell % k], (k, k), p.weight, p.clusters)

    @cached_property
    def ranks(self) -> ClassRanks:
        """The rows counted by the place of their true class."""
        cells = self.rank_cells
        counts, squares = (cells.onto((0, 1), sums) for sums in (cells.counts, cells.squares))
        plain = self.problem.weight is None
        return ClassRanks(counts, counts if plain else squares, len(self.problem.truth))

    def gain(self, measure: Measure) -> FloatArray:
        """What each row counts for."""
        return np.asarray(self._credit(measure)[self.rank_cells.row()])

    def _credit(self, measure: Measure) -> FloatArray:
        """What the rows of each of the cells count for."""
        cells, of = self.rank_cells, measure.parameters
        above, others = np.unravel_index(cells.place, cells.shape)
        return credit_of(above, others, of["k"], of["tied"])

    def _default_ranks(self, measure: Measure) -> float:
        """Of the constant answer that lists the classes by frequency."""
        k = measure.parameters["k"]
        return float(np.sort(self.problem.shares)[::-1][:k].sum())

    def _ranks_interval(self, measure: Measure, value: float) -> Interval:
        """Wilson's where every row is right or wrong; by its mean where ties make parts of rows."""
        settings, ranks = self.settings, self.ranks
        gain = self._credit(measure)
        whole = not ((self.rank_cells.counts > 0) & (gain > 0) & (gain < 1)).any()
        share = whole and self.problem.clusters is None
        size = float(ranks.total**2 / ranks.squares.sum())
        asked = asked_of_influence(
            measure,
            value,
            settings,
            lambda: self.ranks_drawn(measure),
            lambda: self.weighted((self.gain(measure) - value) / float(ranks.total)),
            self.problem.clusters,
            size if share else None,
        )
        if asked is not None:
            return asked
        refused = settings.refuses(value, bootstrap=False)
        if refused is not None:
            return refused
        if share and not settings.prefers_bootstrap:
            return intervals.wilson(value, size, settings.level)
        if settings.interval == "analytic":
            se = self.rank_cells.error((gain - value) / float(ranks.total))
            return normal_of(value, se, settings, self.problem.clusters, "delta").within(0.0, 1.0)
        return percentile(self.ranks_drawn(measure), settings, self.problem.clusters)

    def weighted(self, influence: FloatArray) -> FloatArray:
        """Times the weight of each row."""
        weight = self.problem.weight
        return influence if weight is None else influence * weight

    def ranks_drawn(self, measure: Measure) -> FloatArray:
        """Bootstrap replicates of a measure of ranks."""
        gain, replicates = self._credit(measure), self.rank_cells.drawn(self.settings)
        with np.errstate(divide="ignore", invalid="ignore"):  # of no rows, or none with a weight
            return np.concatenate([(n * gain).sum(axis=-1) / n.sum(axis=-1) for n in replicates])


def _best_constant(measure: Measure, counts: ClassCounts) -> float:
    """What always answering one class scores at best."""
    if measure.label is not None:
        return best_constant(measure.plain, counts.matrix.of_class(measure.label).constant())
    return best_constant(measure, counts.constant)


@dataclass(frozen=True, eq=False)
class ClassPair:
    """Two systems on the same rows."""

    first: ClassSystem
    second: ClassSystem
    measures: tuple[Measure, ...]

    def contrast(self, measure: Measure) -> Contrast:
        """First minus second."""
        a, b, family = self.first, self.second, measure.definition.family
        if family == "counts":
            return self._counts.contrast(measure)
        if measure.label is not None:
            one = Pair(a.against_rest(measure.label), b.against_rest(measure.label), ())
            return one.contrast(measure.plain)
        if family == "ranks":
            return self._of_ranks(measure)
        if family == "scores":
            return a.average(measure).minus(b.average(measure))
        if measure.definition.name in SKILLS:
            return Skill(a, measure).minus(Skill(b, measure))
        if family == "calibration":
            return Pair(a.confidence, b.confidence, ()).contrast(measure)
        losses, problem = (a.losses(measure), b.losses(measure)), a.problem
        return loss_contrast(measure, losses, problem.weight, a.settings, problem.clusters)

    @cached_property
    def _counts(self) -> PairedCounts:
        a, b, problem = self.first, self.second, self.first.problem
        return PairedCounts.of(
            [problem.truth, a.predicted, b.predicted],
            (a.counts, b.counts),
            self.measures,
        )

    def _of_ranks(self, measure: Measure) -> Contrast:
        """From the difference of what each row counts for."""
        a, b, problem = self.first, self.second, self.first.problem
        gains = [s.gain(measure) for s in (a, b)]
        kinds, code = np.unique(gains[0] - gains[1], return_inverse=True)
        cells = Cells.from_codes([code], (len(kinds),), problem.weight, problem.clusters)
        value = float(measure.apply(a.ranks) - measure.apply(b.ranks))

        def error() -> Error:
            se = cells.error((kinds - value)[cells.place] / float(a.ranks.total))
            return paired_error(se, "delta, paired", problem.clusters)

        def replicates() -> FloatArray:
            drawn = cells.drawn(a.settings)
            with np.errstate(invalid="ignore"):  # a replicate may be without weight
                return np.concatenate([n @ kinds[cells.place] / n.sum(axis=-1) for n in drawn])

        return Contrast(
            value=value,
            n=len(problem.truth),
            settings=a.settings,
            usual="error",
            higher_is_better=measure.definition.higher_is_better,
            error=error,
            replicates=replicates,
            clusters=problem.clusters,
        )


def _default_measures(systems: Mapping[str, ClassSystem]) -> list[str]:
    """Every usual measure that all systems can serve."""
    served = {
        family
        for family in ("counts", "ranks", "probabilities")
        if all(s.families[family] for s in systems.values())
    }
    k = len(next(iter(systems.values())).problem.names)
    names = list(OF_COUNTS) if "counts" in served else []
    names += OF_RANKS if "ranks" in served and k > MANY_CLASSES else []
    return names + list(OF_PROBABILITIES if "probabilities" in served else ())


# --- Input ----------------------------------------------------------------------------------------


def _tables(given: Any, kind: str) -> dict[str, Any]:
    """Systems by name, each with a column a class; a dict of plain columns is one system."""
    if given is None:
        return {}
    if is_per_class(given, ("", "", "")):  # of three classes and more
        return {UNNAMED: given}
    return named_systems(given, kind)


def _classes(
    truth: Any, predicted: Any, score: Any, probability: Any, labels: Sequence[Any] | None
) -> Classes:
    """The classes: those named, or all that occur anywhere."""
    if labels is not None:
        return classes(truth, labels)
    also = predicted or {}
    named = [
        name
        for kind, given in (("score", score), ("probability", probability))
        for table in _tables(given, kind).values()
        for name in columns_of_classes(table)
    ]
    return classes(
        truth,
        also={column_name("predicted", name): values for name, values in also.items()},
        named=dict.fromkeys(named),
    )


def _systems(
    problem: Problem, predicted: Any, score: Any, probability: Any
) -> dict[str, ClassSystem]:
    """The systems by name, every column checked."""
    if predicted is None and score is None and probability is None:
        raise InputError("nothing to evaluate: give predicted=, probability= or score=")
    systems: dict[str, ClassSystem] = {}
    for kind, given in (("score", score), ("probability", probability)):
        for name, table in _tables(given, kind).items():
            if name in systems:
                raise InputError(f"{name}: give its scores or its probabilities, not both")
            what = column_name(kind, name)
            check_columns(table, problem.classes, what)
            rows = ClassRows(
                *class_table(table, problem.classes, what, distribution=kind == "probability")
            )
            systems[name] = ClassSystem(
                name,
                problem,
                predicted=None if name in (predicted or {}) else rows.highest,
                rows=rows,
                is_probability=kind == "probability",
            )
    for name, column in (predicted or {}).items():
        called = problem.classes.codes_of(column, column_name("predicted", name))
        system = systems.get(name, ClassSystem(name, problem))
        systems[name] = replace(system, predicted=called)
    return systems
