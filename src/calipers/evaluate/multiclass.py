"""Evaluation of problems of three classes or more, from labels, probabilities or scores."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from calipers.data.arrays import (
    Classes,
    Labels,
    as_weights,
    classes,
    coded,
    columns_of_classes,
    is_per_class,
    probabilities_of,
)
from calipers.data.errors import InputError, did_you_mean
from calipers.evaluate.calibration import OF_LABELS, top_label
from calipers.evaluate.classification import Pair, System
from calipers.evaluate.compare import comparison_if_several
from calipers.evaluate.confusions import confusion
from calipers.evaluate.curves import ScoreCurves
from calipers.evaluate.findings import of_classes
from calipers.evaluate.losses import loss_difference, loss_estimate, loss_replicates
from calipers.evaluate.shared import (
    UNNAMED,
    MeasureNames,
    as_clusters,
    best_constant,
    choose_measures,
    column_name,
    estimate,
    glossary,
    named_systems,
    provenance,
)
from calipers.evaluate.slices import Bins, cuts, sliced
from calipers.inference import intervals, paired
from calipers.inference.cells import Cells, ClassCounts, gradient
from calipers.inference.clusters import Clusters
from calipers.inference.estimate import Settings
from calipers.inference.intervals import Interval
from calipers.measures import Measure
from calipers.measures.ranks import credit
from calipers.results import Difference, Estimate, Evaluation
from calipers.statistics import (
    ClassRanks,
    ConfusionMatrix,
    FloatArray,
    Moments,
    Statistic,
    rank_cells,
)

OF_COUNTS = ("accuracy", "balanced-accuracy", "macro-F1", "weighted-F1", "MCC", "kappa")
OF_PROBABILITIES = ("log-loss", "Brier")
OF_RANKS = ("top-5-accuracy",)

#: With more classes than this the best five are worth a look.
MANY_CLASSES = 10

#: With more classes than this only the most frequent class is tried as the constant answer.
MOST_CONSTANTS = 100


def multiclass(
    truth: Any,
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
    source = Rows(systems, chosen, settings)
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
    return ScoreCurves(
        lambda: [
            replace(system.against_rest(label).scored, series=label)
            for system in systems
            if system.score is not None
            for label in system.problem.names
        ]
    )


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
    def shares(self) -> FloatArray:
        """The share of each class."""
        counts = np.bincount(self.truth, self.weight, len(self.names)).astype(np.float64)
        return np.asarray(counts / counts.sum())

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
    score: FloatArray | None = None
    is_probability: bool = False
    measures: tuple[Measure, ...] = ()
    _binary: dict[str, System] = field(default_factory=dict, repr=False)

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

    def taken(self, rows: npt.NDArray[np.bool_]) -> ClassSystem:
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
            score=None if self.score is None else self.score[rows],
            _binary={},
        )

    def statistic(self, measure: Measure) -> Statistic | None:
        """What a measure is a formula over; None where it takes more than one."""
        family = measure.definition.family
        if family == "counts":
            return self.counts.matrix
        if family == "ranks":
            return self.ranks
        if family == "scores":
            return None
        if family == "calibration":
            return self.confidence.statistic(measure)
        return Moments.from_rows(self._losses(measure), self.problem.weight)

    def share_of(self, measure: Measure) -> ConfusionMatrix | None:
        """The matrix of whose margin the measure is a share of rows, if it is one."""
        return self.counts.share_of(measure) if measure.definition.share_of else None

    def replicates(self, measure: Measure) -> FloatArray | None:
        """Bootstrap replicates of the value of a measure, where there are any."""
        family, p = measure.definition.family, self.problem
        if family == "counts":
            return self.counts.replicates([measure])[measure]
        if family == "ranks":
            return self.ranks_drawn(measure)
        if family == "scores" and measure.label is not None:
            return self.against_rest(measure.label).drawn.of(measure.plain)
        if family == "scores":
            return ScoreAverage(self, measure).replicates()
        if family == "calibration":
            return self.confidence.replicates(measure)
        loss = self._losses(measure)
        return loss_replicates(measure, loss, p.weight, self.settings, p.clusters)

    def _losses(self, measure: Measure) -> FloatArray:
        assert self.score is not None
        return measure.losses(self.problem.row_classes, self.score)

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
            if d.family not in needs or (d.family == "calibration" and d.name not in OF_LABELS):
                raise InputError(
                    f"{measure} is about two classes: name the positive one (positive=…)"
                )
            if not self.families[d.family]:
                raise InputError(f"{self.name}: {measure} needs {needs[d.family]}")
            if measure.label is not None and measure.label not in names:
                meant = did_you_mean(measure.label, names)
                raise InputError(f"{measure}: {measure.label!r} is no class; {meant}")
            if d.family in ("counts", "scores") and not (measure.viewed or d.any_classes):
                raise InputError(
                    f"{measure} is about one class of {len(names)}: ask for "
                    f"{replace(measure, label=names[0])}, for {replace(measure, average='macro')}, "
                    "or say which class is positive (positive=…)"
                )
            if d.family == "scores" and measure.average == "micro":
                raise InputError(f"{measure}: there are macro and weighted averages of {d.name}")

    @cached_property
    def counts(self) -> ClassCounts:
        """The confusion matrix, and how its rows are redrawn."""
        assert self.predicted is not None
        p, k = self.problem, len(self.problem.names)
        cells = Cells.from_codes([p.truth, self.predicted], (k, k), p.weight, p.clusters)
        counts, squares = (cells.onto((0, 1), sums) for sums in (cells.counts, cells.squares))
        matrix = ConfusionMatrix(
            counts, counts if p.weight is None else squares, p.names, len(p.truth)
        )
        together = tuple(m for m in self.measures if m.definition.family == "counts")
        return ClassCounts(matrix, cells, self.settings, together)

    def against_rest(self, label: str) -> System:
        """The scores of one class, as those of a problem of two."""
        if label not in self._binary:
            assert self.score is not None
            problem = self.problem
            own = [m.plain for m in self.measures if m.definition.family == "scores"]
            self._binary[label] = System(
                self.name,
                problem.against_rest(label),
                problem.weight,
                self.settings,
                score=np.ascontiguousarray(self.score[:, problem.names.index(label)]),
                clusters=problem.clusters,
                measures=tuple(dict.fromkeys(own)),
            )
        return self._binary[label]

    @cached_property
    def confidence(self) -> System:
        """Whether the most probable class is the true one, as a problem of two classes whose
        probability is that of the label given."""
        assert self.score is not None
        problem = self.problem
        right, probability = top_label(problem.truth, self.score)
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
            default = _best_constant(measure, matrix)
            return estimate(measure, matrix, self.counts.interval, default=default, **shared)
        if family == "ranks":
            default = self._default_ranks(measure)
            return estimate(measure, self.ranks, self._ranks_interval, default=default, **shared)
        if family == "scores":
            if measure.label is not None:
                one = self.against_rest(measure.label).estimate(measure.plain)
                return replace(one, measure=str(measure))
            return ScoreAverage(self, measure).estimate()
        if family == "calibration":
            return self.confidence.estimate(measure)
        return loss_estimate(
            measure,
            problem.row_classes,
            self.score,
            problem.weight,
            self.settings,
            self.name,
            problem.clusters,
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

    def _default_ranks(self, measure: Measure) -> float:
        """Of the constant answer that lists the classes by frequency."""
        k = measure.parameters["k"]
        return float(np.sort(self.problem.shares)[::-1][:k].sum())

    def _ranks_interval(self, measure: Measure, value: float) -> Interval:
        """Wilson's where every row is right or wrong; by its mean where ties make parts of rows."""
        settings, ranks = self.settings, self.ranks
        refused = settings.refuses(value, bootstrap=False)
        if refused is not None:
            return refused
        gain = credit(len(ranks.counts), measure.parameters["k"], measure.parameters["tied"])
        whole = not ((ranks.counts > 0) & (gain > 0) & (gain < 1)).any()
        if whole and not settings.prefers_bootstrap and self.problem.clusters is None:
            size = float(ranks.total**2 / ranks.squares.sum())
            return intervals.wilson(value, size, settings.level)
        if settings.interval == "analytic":
            se = self.rank_cells.error((gain - value) / float(ranks.total))
            return _normal(value, se, settings, self.problem.clusters).within(0.0, 1.0)
        return intervals.percentile(
            self.ranks_drawn(measure), settings.level, _bootstrap(self.problem.clusters)
        )

    def ranks_drawn(self, measure: Measure) -> FloatArray:
        """Bootstrap replicates of a measure of ranks."""
        cells = self.rank_cells
        tables = (cells.onto((0, 1), drawn) for drawn in cells.drawn(self.settings))
        return np.concatenate([measure.apply(ClassRanks(table, table)) for table in tables])


def _bootstrap(clusters: Clusters | None) -> str:
    return "bootstrap [B]" if clusters is None else clusters.bootstrap


def _normal(value: float, se: float, settings: Settings, clusters: Clusters | None) -> Interval:
    """The normal interval of what varies by this standard error."""
    if not se > 0:
        return intervals.missing("delta", "no_spread")
    if clusters is not None:
        return clusters.normal(value, se, settings.level, "delta")
    return replace(intervals.normal_mean(value, se, settings.level), method="delta")


def _best_constant(measure: Measure, matrix: ConfusionMatrix) -> float:
    """What always answering one class scores at best."""
    if measure.label is not None:
        return best_constant(measure.plain, matrix.of_class(measure.label).constant())
    if len(matrix.labels) <= MOST_CONSTANTS:
        return best_constant(measure, matrix.constant())
    counts = np.zeros((1, *matrix.counts.shape))
    counts[0, :, int(matrix.truth.argmax())] = matrix.truth
    return best_constant(measure, replace(matrix, counts=counts, squares=counts))


@dataclass(frozen=True, eq=False)
class ScoreAverage:
    """A measure of scores, each class against the rest, averaged over the classes with rows."""

    system: ClassSystem
    measure: Measure

    @cached_property
    def weight(self) -> FloatArray:
        """What each class counts for; the weights add up to 1."""
        shares = self.system.problem.shares
        own = shares if self.measure.average == "weighted" else (shares > 0).astype(np.float64)
        return np.asarray(own / own.sum())

    @cached_property
    def parts(self) -> list[tuple[float, System]]:
        """The classes with rows: weight, and the system of two classes."""
        names = self.system.problem.names
        return [
            (float(w), self.system.against_rest(name))
            for name, w in zip(names, self.weight, strict=True)
            if w > 0
        ]

    @cached_property
    def value(self) -> float:
        """The average."""
        plain = self.measure.plain
        return sum(w * float(plain.apply(binary.table)) for w, binary in self.parts)

    @cached_property
    def influence(self) -> FloatArray:
        """By how much each row, times its weight, moves the average AUC: the weighted sum over
        classes of (placement − AUC) over the weight of the row's class or of the rest."""
        out = np.zeros(len(self.system.problem.truth))
        weight = self.system.problem.weight
        for w, binary in self.parts:
            area = float(self.measure.plain.apply(binary.table))
            positive = binary.labels.positive
            sizes = np.bincount(positive, weight, 2)
            out += w * (binary.placement - area) / sizes[positive.astype(np.intp)]
        return out

    def error(self, influence: FloatArray) -> float:
        """Standard error of a sum over rows of weight times ``influence``."""
        problem = self.system.problem
        of_row = influence if problem.weight is None else influence * problem.weight
        if problem.clusters is not None:
            of_row = np.bincount(problem.clusters.code, of_row).astype(np.float64)
        return float(np.sqrt(np.square(of_row).sum()))

    @property
    def has_influence(self) -> bool:
        """Whether the error of the average is known without a bootstrap."""
        return self.measure.definition.name == "AUC" and not self.system.settings.prefers_bootstrap

    def replicates(self) -> FloatArray:
        """Bootstrap replicates, the same rows drawn for every class and system."""
        plain = self.measure.plain
        return np.asarray(sum(w * binary.drawn_by_row.of(plain) for w, binary in self.parts))

    def interval(self) -> Interval:
        """From the influence of rows on AUCs (DeLong's, on the logit scale); else the bootstrap."""
        settings, clusters = self.system.settings, self.system.problem.clusters
        refused = settings.refuses(self.value, bootstrap=not self.has_influence)
        if refused is not None:
            return refused
        if not self.has_influence:
            return intervals.percentile(self.replicates(), settings.level, _bootstrap(clusters))
        se = self.error(self.influence)
        if not se > 0:
            return intervals.missing("DeLong, logit", "area_at_its_limit")
        if clusters is not None:
            return clusters.normal(self.value, se, settings.level, "Obuchowski").within(0.0, 1.0)
        return intervals.on_logit(self.value, se, settings.level, "DeLong, logit")

    def estimate(self) -> Estimate:
        """The average with its interval."""
        plain, system = self.measure.plain, self.system
        reasons = [r for _, b in self.parts for r, w in plain.reasons(b.table).items() if w]
        made = self.interval()
        n = len(system.problem.truth)
        return Estimate(
            measure=str(self.measure),
            value=self.value,
            low=made.low,
            high=made.high,
            level=system.settings.level,
            method=made.method,
            n=0 if reasons else n,
            of=n,
            undefined=dict.fromkeys(["class_without_value"] if reasons else [], n),
            no_interval=made.reason,
            default=sum(w * float(plain.apply(b.table.constant())) for w, b in self.parts),
            system=system.name,
        )


@dataclass(frozen=True, eq=False)
class Rows:
    """Several systems on the same rows."""

    by_name: dict[str, ClassSystem]
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
        directed = [m for m in self.measures if m.definition.higher_is_better is not None]
        pair = ClassPair(first, second, tuple(directed))
        return [pair.difference(measure) for measure in directed]


@dataclass(frozen=True, eq=False)
class ClassPair:
    """Two systems on the same rows."""

    first: ClassSystem
    second: ClassSystem
    measures: tuple[Measure, ...]

    @property
    def settings(self) -> Settings:
        """How intervals are made."""
        return self.first.settings

    def difference(self, measure: Measure) -> Difference:
        """First minus second, with its interval and test."""
        a, b, family = self.first, self.second, measure.definition.family
        if family == "counts":
            return self._of_counts(measure)
        if family == "ranks":
            return self._of_ranks(measure)
        if family == "scores" and measure.label is not None:
            pair = Pair(a.against_rest(measure.label), b.against_rest(measure.label), self.settings)
            return replace(pair.difference(measure.plain), measure=str(measure))
        if family == "scores":
            return self._of_averages(measure)
        if family == "calibration":
            return Pair(a.confidence, b.confidence, self.settings).difference(measure)
        return loss_difference(
            measure,
            a.problem.row_classes,
            (a.score, b.score),
            a.problem.weight,
            self.settings,
            (a.name, b.name),
            a.problem.clusters,
        )

    @cached_property
    def _cells(self) -> Cells:
        """The rows by truth × first × second."""
        a, b, k = self.first, self.second, len(self.first.problem.names)
        assert a.predicted is not None
        assert b.predicted is not None
        problem = a.problem
        codes = [problem.truth, a.predicted, b.predicted]
        return Cells.from_codes(codes, (k, k, k), problem.weight, problem.clusters)

    @cached_property
    def _replicates(self) -> dict[Measure, FloatArray]:
        """Bootstrap replicates of the differences of all measures of counts."""
        ours = [m for m in self.measures if m.definition.family == "counts"]
        parts: dict[Measure, list[FloatArray]] = {m: [] for m in ours}
        names = self.first.problem.names
        for drawn in self._cells.drawn(self.settings):
            first, second = (
                ConfusionMatrix(counts, counts, names)
                for counts in (self._cells.onto(axes, drawn) for axes in ((0, 1), (0, 2)))
            )
            for m, part in parts.items():
                part.append(m.apply(first) - m.apply(second))
        return {m: np.concatenate(part) for m, part in parts.items()}

    def _of_counts(self, measure: Measure) -> Difference:
        matrices = [s.counts.matrix for s in (self.first, self.second)]
        values = [float(measure.apply(m)) for m in matrices]
        cells, analytic = self._cells, self.settings.interval == "analytic"
        if analytic and np.isfinite(values).all():
            truth, one, two = np.unravel_index(cells.place, cells.shape)
            ours, theirs = (gradient(measure, m) for m in matrices)
            se = cells.error(ours[truth, one] - theirs[truth, two])
            return self._row(measure, values, *self._by_error(values[0] - values[1], se))
        if analytic:
            return self._row(measure, values, None, paired.Test(float("nan"), "none"))
        drawn = self._replicates[measure]
        test = self._bootstrap_test(drawn)
        problem = self.first.problem
        exact = problem.weight is None and problem.clusters is None and not measure.viewed
        if measure.definition.name in ("accuracy", "error-rate") and exact:
            test = self._mcnemar()
        return self._row(measure, values, drawn, test)

    def _mcnemar(self) -> paired.Test:
        truth, one, two = np.unravel_index(self._cells.place, self._cells.shape)
        counts = self._cells.counts
        first_only = counts[(one == truth) & (two != truth)].sum()
        second_only = counts[(one != truth) & (two == truth)].sum()
        return paired.mcnemar(float(first_only), float(second_only))

    def _of_ranks(self, measure: Measure) -> Difference:
        """From the difference of what each row counts for."""
        a, b = self.first, self.second
        k = len(a.ranks.counts)
        gain = credit(k, measure.parameters["k"], measure.parameters["tied"])
        total = float(a.ranks.total)
        values = [float(measure.apply(s.ranks)) for s in (a, b)]
        gains = [gain.ravel()[s.rank_cells.flat] for s in (a, b)]
        problem = a.problem
        apart = gains[0] - gains[1]
        kinds, code = np.unique(apart, return_inverse=True)
        cells = Cells.from_codes([code], (len(kinds),), problem.weight, problem.clusters)
        value = values[0] - values[1]
        if self.settings.interval == "bootstrap":
            drawn = [
                counts @ kinds[cells.place] / counts.sum(axis=-1)
                for counts in cells.drawn(self.settings)
            ]
            replicates = np.concatenate(drawn)
            return self._row(measure, values, replicates, self._bootstrap_test(replicates))
        se = cells.error((kinds - value)[cells.place] / total)
        return self._row(measure, values, *self._by_error(value, se))

    def _of_averages(self, measure: Measure) -> Difference:
        ours, theirs = (ScoreAverage(s, measure) for s in (self.first, self.second))
        values = [ours.value, theirs.value]
        if ours.has_influence:
            se = ours.error(ours.influence - theirs.influence)
            made, test = self._by_error(values[0] - values[1], se, "DeLong, paired")
            return self._row(measure, values, made, test)
        if self.settings.interval == "analytic":
            return self._row(measure, values, None, paired.Test(float("nan"), "none"))
        drawn = ours.replicates() - theirs.replicates()
        return self._row(measure, values, drawn, self._bootstrap_test(drawn))

    def _by_error(
        self, value: float, se: float, name: str = "delta, paired"
    ) -> tuple[Interval, paired.Test]:
        clusters, level = self.first.problem.clusters, self.settings.level
        if clusters is not None:
            made = clusters.normal(value, se, level, name)
            return made, paired.student(value, se, clusters.number, name)
        made = replace(intervals.normal_mean(value, se, level), method=name)
        return made, paired.normal(value, se, name)

    def _bootstrap_test(self, replicates: FloatArray) -> paired.Test:
        clusters = self.first.problem.clusters
        name = "paired bootstrap" if clusters is None else "paired cluster bootstrap"
        return replace(paired.bootstrap(replicates), name=name)

    def _row(
        self,
        measure: Measure,
        values: Sequence[float],
        spread: FloatArray | Interval | None,
        test: paired.Test,
    ) -> Difference:
        value = values[0] - values[1]
        if isinstance(spread, Interval):
            made = spread
        elif spread is None:
            made = intervals.missing("none", "no_analytic_interval")
        else:
            name = _bootstrap(self.first.problem.clusters)
            made = intervals.percentile(spread, self.settings.level, f"paired {name}")
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
            n=len(self.first.problem.truth),
            no_interval=made.reason,
            higher_is_better=measure.definition.higher_is_better,
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
            values = probabilities_of(
                table,
                problem.names,
                len(problem.truth),
                column_name(kind, name),
                distribution=kind == "probability",
            )
            systems[name] = ClassSystem(
                name,
                problem,
                predicted=None if name in (predicted or {}) else values.argmax(axis=1),
                score=values,
                is_probability=kind == "probability",
            )
    for name, column in (predicted or {}).items():
        called = problem.classes.codes_of(column, column_name("predicted", name))
        system = systems.get(name, ClassSystem(name, problem))
        systems[name] = replace(system, predicted=called)
    return systems
