"""Evaluation of rows that may have several labels."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from calipers.data.arrays import as_weights
from calipers.data.columns import gather
from calipers.data.errors import InputError, did_you_mean, shown
from calipers.data.label_columns import (
    as_column,
    as_table,
    is_columns_of_labels,
    names_in,
    no_labels,
)
from calipers.data.labels import (
    LabelRows,
    Sets,
    as_scores,
    as_sets,
    check_forms,
    label_names,
    read_rows,
)
from calipers.data.tables import extension, read_table
from calipers.data.two_classes import Labels
from calipers.evaluate.arguments import finite, verb
from calipers.evaluate.averages import Part, ScoreAverage, parts_of
from calipers.evaluate.classification import Pair, System
from calipers.evaluate.curves import ScoreCurves, Scored, series_of
from calipers.evaluate.cuts import Bins, cuts, slice_columns
from calipers.evaluate.findings import of_label_sets
from calipers.evaluate.pairs import Rows, loss_contrast, paired_error
from calipers.evaluate.shared import (
    UNNAMED,
    MeasureNames,
    as_clusters,
    column_name,
    comparison_if_several,
    estimate,
    glossary,
    make_settings,
    named_systems,
    names_of,
    provenance,
)
from calipers.evaluate.slices import sliced
from calipers.inference.cells import class_gradient
from calipers.inference.clusters import Clusters
from calipers.inference.contrast import Contrast, Error
from calipers.inference.estimate import (
    FEW_ROWS,
    Settings,
    normal_of,
    percentile,
    row_means,
    rows_interval,
)
from calipers.inference.influence import row_error
from calipers.inference.intervals import Interval
from calipers.inference.of_scores import asked_of_influence
from calipers.measures import Measure, parse
from calipers.once import cached_property
from calipers.results import Estimate, Evaluation, LabelTable
from calipers.statistics import (
    ConfusionMatrix,
    FloatArray,
    LabelMatrices,
    Moments,
    Statistic,
)

OF_SETS = (
    "subset-accuracy",
    "Hamming-loss",
    "example-F1",
    "example-Jaccard",
    "macro-F1",
    "micro-F1",
    "weighted-F1",
)
OF_SCORES = ("macro-AUC", "macro-AP", "LRAP", "coverage-error", "ranking-loss")
OF_PROBABILITIES = ("macro-log-loss", "macro-Brier")

FAMILIES = ("multilabel", "label-ranks", "counts", "scores", "probabilities", "calibration")

#: The mean of a value per row.
OF_ROWS = ("multilabel", "label-ranks", "probabilities")

#: What the table of labels holds of each, where there is what it takes.
OF_LABEL = {"counts": ("precision", "recall", "F1"), "scores": ("AUC", "AP")}

#: Averages over labels are bootstrapped where no more numbers than these have to be drawn (rows ×
#: counts × replicates); beyond, the delta method says the same.
MOST_DRAWN = 1_000_000_000

#: With a label of fewer rows, true or predicted, macro averages go by the delta method: a replicate
#: without that label would be an average over other labels.
FEW_OF_LABEL = 8

#: Of more labels than these there are no curves.
MOST_CURVES = 20

#: A number, one for each label (by name or in their order), or either for each system.
Threshold = float | Sequence[float] | Mapping[str, Any] | None


@verb
def multilabel(
    truth: Any,
    predicted: Any = None,
    *,
    score: Any = None,
    probability: Any = None,
    labels: Sequence[Any] | None = None,
    separator: str | None = None,
    threshold: Threshold = None,
    weight: Any = None,
    cluster: Any = None,
    slices: Any = None,
    slice_bins: Bins | None = None,
    data: Any = None,
    id: str | None = None,  # noqa: A002
    missing: str = "error",
    measures: MeasureNames | None = None,
    baseline: str | None = None,
    curves: bool = True,
    interval: str | Sequence[str] = "auto",
    level: float = 0.95,
    resamples: int = 2000,
    seed: int = 0,
    inputs: Sequence[Any] = (),
) -> Evaluation:
    """How well systems name the labels of rows that may have none, one or several.

    Parameters
    ----------
    truth
        The labels of each row: a column of sets or lists of labels; a column of text that
        ``separator`` splits; or Booleans, or 0 and 1, for each label: a dict of columns, a data
        frame, or an array of shape (rows, labels), dense or sparse. Lists of one length that hold
        nothing but 0 and 1 are the rows of such an array; sets never are.
    predicted
        The same of a system; or a dict from system names to such.
    score
        A score for each label, higher where a row is more likely to have it: a dict of columns, a
        data frame or an array of shape (rows, labels), or what predict_proba of scikit-learn gives,
        a list of an array of shape (rows, 2) for each label; or a dict from system names to such.
        Measures of sets need a ``threshold`` besides.
    probability
        Probabilities of the labels, in the same forms; a row need not sum to 1. The threshold is
        0.5 unless another is given.
    labels
        The labels in order. Unless given, the column names of data frames, or all labels that
        occur, sorted. Tables with names are matched by them, arrays by this order.
    separator
        What stands between the labels in a column of text, as in ``"sun|sea"``. Empty text is a
        row without labels, and so is an empty field of a CSV file.
    threshold
        A row is said to have a label whose score is at or above it: one number, or one for each
        label (a dict, or a list in their order), or a dict from systems to such.
    weight, cluster, slices, slice_bins, missing, curves
        As in :func:`calipers.classification`.
    data
        A table (data frame, dict of columns, or path), of which all of the above may be given by
        the names of columns; ``"y_*"`` stands for all columns that begin so, the label for ``*``.
    id
        A column of ids in ``data``, by which systems that are tables of their own are joined.
    measures
        Measures of rows (``"example-F1"``, ``"LRAP"``); any measure of :func:`classification` of
        one label (``"recall[sun]"``, ``"AUC[sun]"``); and averages over labels of those of counts
        and scores (``"macro-F1"``, ``"micro-AUC"``, ``"weighted-AP"``), of log loss and Brier score
        (``"macro-Brier"``).
    baseline, interval, level, resamples, seed, inputs
        As in :func:`calipers.classification`. Averages of counts are bootstrapped by row, or by
        the delta method where there are very many rows; those of AUC and AP come from the influence
        of rows, all labels of a row together.

    Raises
    ------
    InputError
        For anything wrong with the input, saying where and what was expected.

    Examples
    --------
    >>> import calipers as cal
    >>> truth = [{"sun", "sea"}, {"sea"}, set(), {"sun"}]
    >>> ev = cal.multilabel(truth, [{"sun"}, {"sea"}, set(), {"sun", "sea"}])
    >>> ev["subset-accuracy"].value, ev["Hamming-loss"].value
    (0.5, 0.25)
    >>> table = {"y": ["sun|sea", "sea", "", "sun"], "p_sea": [0.4, 0.9, 0.2, 0.6],
    ...          "p_sun": [0.8, 0.3, 0.1, 0.7]}
    >>> ev = cal.multilabel("y", probability="p_*", separator="|", data=table,
    ...                     measures=["LRAP", "AUC[sun]"])
    >>> [estimate.value for estimate in ev]
    [1.0, 1.0]
    """
    settings = make_settings(interval, level, resamples, seed)
    rows = gather(
        {
            "truth": as_column(truth),
            "predicted": as_column(predicted),
            "score": as_table(score, "score"),
            "probability": as_table(probability, "probability"),
            "weight": weight,
            "cluster": cluster,
            "slices": slice_columns(slices),
        },
        data=_read(data, separator, (truth, predicted)),
        by=id,
        missing=missing,
        wide=("predicted", "score", "probability"),
    )
    truth, predicted, score, probability, weight, cluster, cut_by = rows.columns.values()
    if predicted is None and score is None and probability is None:
        raise InputError("nothing to evaluate: give predicted=, score= or probability=")
    of_truth = read_rows(truth, "truth", separator)
    given = {
        (kind, name): read_rows(values, column_name(kind, name), separator)
        for kind, of in (("predicted", predicted), ("score", score), ("probability", probability))
        for name, values in _named(of, kind).items()
    }
    check_forms({"truth": of_truth, **{column_name(*key): of for key, of in given.items()}})
    names = label_names([of_truth, *given.values()], labels)
    sets = as_sets(of_truth, names, "truth")
    weights = as_weights(weight, len(sets))
    clusters = None if cluster is None else as_clusters(cluster, len(sets), weights)
    systems = _systems(
        lambda name: LabelSystem(name, names, sets, weights, clusters, settings), given, threshold
    )
    chosen = _measures(measures, names, _default_measures(systems))
    for system in systems.values():
        system.check(chosen)
    systems = {name: replace(s, measures=tuple(chosen)) for name, s in systems.items()}
    made, how = cuts(cut_by, slice_bins, len(sets))
    source = Rows(systems, chosen, settings, LabelPair)
    conventions = {
        "labels": list(names),
        "threshold": {n: s.thresholds for n, s in systems.items() if s.thresholds is not None},
        "at_the_threshold": "has the label",
        "equal_scores": "the lowest rank",
        "weighted": weights is not None,
        **({} if clusters is None else {"clusters": clusters.number}),
    }
    estimates = tuple(s.estimate(m) for s in systems.values() for m in chosen)
    comparison = comparison_if_several(source, baseline, settings)
    by_slice = sliced(systems.values(), chosen, made, settings)
    return Evaluation(
        task="multilabel",
        level=level,
        estimates=estimates,
        comparison=comparison,
        definitions=glossary(chosen),
        curves=_curves(systems.values()) if curves and len(names) <= MOST_CURVES else (),
        label_tables=tuple(s.by_label() for s in systems.values()),
        notes=(*rows.notes, *(() if clusters is None else clusters.notes()), *how),
        slices=by_slice,
        findings=of_label_sets(systems.values(), estimates, comparison, by_slice),
        provenance=provenance("multilabel", settings, conventions, inputs),
        sources=source,
    )


def _curves(systems: Iterable[LabelSystem]) -> ScoreCurves:
    """Those of each label."""
    return ScoreCurves(partial(_scored, tuple(systems)))


def _scored(systems: Sequence[LabelSystem]) -> list[Scored]:
    return [
        replace(system.of_label(label).scored, series=series_of(label))
        for system in systems
        if system.score is not None
        for label in system.labels
    ]


@dataclass(frozen=True, eq=False)
class LabelSystem:
    """One system: which labels each row has, shape (rows, labels), and what is said of them."""

    name: str
    labels: tuple[str, ...]
    truth: Sets
    weight: FloatArray | None
    clusters: Clusters | None
    settings: Settings
    predicted: Sets | None = None
    score: FloatArray | None = None
    is_probability: bool = False
    thresholds: float | dict[str, float] | None = None
    measures: tuple[Measure, ...] = ()
    _kept: dict[Any, Any] = field(default_factory=dict, repr=False)

    @property
    def families(self) -> dict[str, bool]:
        """Which families of measures the system can be measured by."""
        return {
            "multilabel": self.predicted is not None,
            "counts": self.predicted is not None,
            "label-ranks": self.score is not None,
            "scores": self.score is not None,
            "probabilities": self.is_probability,
            "calibration": self.is_probability,
        }

    def check(self, measures: Iterable[Measure]) -> None:
        """That the data serve every measure asked for."""
        of_label = "a score or a probability for each label"
        sets = "predicted labels, probabilities, or scores with a threshold"
        probability = "a probability for each label"
        needs = {"multilabel": sets, "counts": sets, "label-ranks": of_label, "scores": of_label}
        for measure in measures:
            family = measure.definition.family
            if not self.families[family]:
                raise InputError(f"{self.name}: {measure} needs {needs.get(family, probability)}")

    def under(self, settings: Settings) -> LabelSystem:
        """The system with these settings; itself, and what it has computed, where it has them."""
        return self if settings == self.settings else replace(self, settings=settings, _kept={})

    def taken(self, rows: npt.NDArray[np.bool_ | np.intp]) -> LabelSystem:
        """The system on some of the rows; the labels stay."""
        columns = {
            name: column[rows]
            for name in ("truth", "weight", "predicted", "score")
            if (column := getattr(self, name)) is not None
        }
        clusters = None if self.clusters is None else self.clusters.taken(rows)
        return replace(self, clusters=clusters, _kept={}, **columns)

    def _once(self, key: Any, make: Callable[[], Any]) -> Any:
        if key not in self._kept:
            self._kept[key] = make()
        return self._kept[key]

    def of_label(self, label: str) -> System:
        """One label, as a problem of two classes."""
        return self._once(label, lambda: self._of_label(label))  # type: ignore[no-any-return]

    def _of_label(self, label: str) -> System:
        place = self.labels.index(label)

        def column(table: Any) -> Any:
            return None if table is None else np.ascontiguousarray(table[:, place])

        score = column(self.score)
        return System(
            self.name,
            Labels((f"not {label}", label), column(self.truth)),
            self.weight,
            self.settings,
            predicted=column(self.predicted),
            score=score,
            probability=score if self.is_probability else None,
            threshold=self.threshold_of(label),
            clusters=self.clusters,
            measures=tuple(dict.fromkeys(m.plain for m in self.measures if m.label == label)),
        )

    def threshold_of(self, label: str) -> float | None:
        """At or above which score a row is said to have the label."""
        if isinstance(self.thresholds, dict):
            return self.thresholds[label]
        return self.thresholds

    @cached_property
    def pooled(self) -> System:
        """All labels of all rows as one problem of two classes; the labels of a row are drawn
        together."""
        assert self.score is not None
        n, each = self.score.shape
        weight = None if self.weight is None else np.repeat(self.weight, each)
        if self.clusters is None:
            clusters = Clusters(np.arange(n, dtype=np.uint32), n)
        else:
            clusters = self.clusters
        clusters = replace(clusters, code=np.repeat(clusters.code, each), weight=weight)
        return System(
            self.name,
            Labels(("without", "with"), self.truth.ravel()),
            weight,
            self.settings,
            score=self.score.ravel(),
            clusters=clusters,
        )

    # --- What measures are formulas over ---------------------------------------------------------

    @cached_property
    def matrices(self) -> LabelMatrices:
        """The counts of each label."""
        assert self.predicted is not None
        return LabelMatrices.from_sets(self.truth, self.predicted, self.labels, self.weight)

    def values(self, measure: Measure) -> FloatArray:
        """The value of each row; NaN where it has none."""
        return self._once(measure, lambda: self._values(measure))  # type: ignore[no-any-return]

    def _values(self, measure: Measure) -> FloatArray:
        family, truth = measure.definition.family, self.truth
        if family == "multilabel":
            return measure.losses(truth, self.predicted)  # type: ignore[arg-type]
        assert self.score is not None
        if family == "label-ranks":
            return measure.losses(truth, self.score)  # type: ignore[arg-type]
        losses = measure.losses(truth.ravel().astype(np.float64), self.score.ravel())
        return np.asarray(losses.reshape(truth.shape).mean(axis=1))

    def moments(self, measure: Measure) -> Moments:
        """Of the rows that have a value."""
        values = self.values(measure)
        has = ~np.isnan(values)
        return Moments.from_rows(values[has], None if self.weight is None else self.weight[has])

    def per_row(self, measure: Measure) -> FloatArray | None:
        """The value of each row, where the measure is the mean of such."""
        if measure.label is not None:
            return self.of_label(measure.label).per_row(measure.plain)
        return self.values(measure) if measure.definition.family in OF_ROWS else None

    def statistic(self, measure: Measure) -> Statistic | None:
        """What a measure is a formula over; None where it takes more than one."""
        if measure.label is not None:
            return self.of_label(measure.label).statistic(measure.plain)
        family = measure.definition.family
        if family == "counts":
            return self.matrices
        return self.moments(measure) if family in OF_ROWS else None

    def share_of(
        self, measure: Measure, matrix: ConfusionMatrix | None = None
    ) -> ConfusionMatrix | None:
        """The matrix of whose margin the measure is a share of rows, if it is one; ``matrix`` may
        stand in for that of the rows."""
        if measure.label is None:
            return None
        return self.of_label(measure.label).share_of(measure.plain, matrix)

    def of_scores(self, measure: Measure) -> System | None:
        """The problem of two classes whose table of scores a measure is a formula over."""
        if measure.label is None:
            return None
        return self.of_label(measure.label).of_scores(measure.plain)

    # --- How far values could move ---------------------------------------------------------------

    def by_error(self, measure: Measure) -> bool:
        """Whether an average of counts goes by the delta method, unless the bootstrap is asked
        for."""
        if self.settings.prefers_bootstrap:
            return False
        each = self.matrices.one_vs_rest()
        rows = (each.positive + each.fp)[each.positive + each.fp > 0]
        scarce = measure.average == "macro" and bool((rows < FEW_OF_LABEL).any())
        return scarce or self._draws_too_much

    @property
    def _draws_too_much(self) -> bool:
        return self.truth.size * 3 * self.settings.resamples > MOST_DRAWN

    def value(self, measure: Measure) -> float:
        """The value of a measure of rows, or of an average of counts over labels."""
        if measure.definition.family == "counts":
            return float(measure.apply(self.matrices))
        return float(measure.plain.apply(self.moments(measure)))

    def average(self, measure: Measure) -> ScoreAverage:
        """A measure of scores averaged over labels."""
        return self._once(("average", measure), lambda: self._average(measure))  # type: ignore[no-any-return]

    def _average(self, measure: Measure) -> ScoreAverage:
        """The micro average is that of all rows and labels taken together."""
        if measure.average == "micro":
            parts: Iterable[Part] = [(1.0, self.pooled)]
        else:
            parts = parts_of(measure, self.shares, map(self.of_label, self.labels))
        return ScoreAverage(
            measure,
            tuple(parts),
            self.name,
            len(self.truth),
            self.weight,
            self.clusters,
            self.settings,
        )

    def influence(self, measure: Measure) -> FloatArray:
        """By how much a row of weight 1 more moves a measure of rows, or an average of counts over
        labels."""
        family = measure.definition.family
        if family == "counts":
            by_count = class_gradient(measure, self.matrices)
            cell = self.truth * 2 + self.predicted  # type: ignore[operator]
            out = np.zeros(len(cell))
            for label, of_label in enumerate(by_count.reshape(-1, 4)):
                out += of_label[cell[:, label]]
            return out
        moments = self.moments(measure)
        with np.errstate(divide="ignore", invalid="ignore"):  # a slice may be without weight
            return np.asarray(np.nan_to_num(self.values(measure) - moments.mean) / moments.weight)

    def replicates(self, measure: Measure) -> FloatArray | None:
        """Bootstrap replicates of the value of a measure; None where they would take too long."""
        if measure.label is not None:
            return self.of_label(measure.label).replicates(measure.plain)
        if measure.definition.family in OF_ROWS:
            return self._drawn_means(measure)
        if measure.definition.family == "counts" and self.by_error(measure):
            return None
        if self._draws_too_much and not self.settings.prefers_bootstrap:
            return None
        return self.redrawn(measure)

    def redrawn(self, measure: Measure) -> FloatArray:
        """The same however long it takes, of rows and averages; the same rows are drawn for every
        system."""
        family = measure.definition.family
        if family in OF_ROWS:
            return self._drawn_means(measure)
        if family == "scores":
            return self.average(measure).replicates
        return measure.apply(self.drawn)

    def _drawn_means(self, measure: Measure) -> FloatArray:
        values = self.values(measure)
        has = ~np.isnan(values)
        columns = np.column_stack([np.where(has, values, 0.0), has])
        means = row_means(columns, self.weight, self.settings, self.clusters)
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.asarray(means[:, 0] / means[:, 1])

    @cached_property
    def drawn(self) -> LabelMatrices:
        """Bootstrap replicates of the counts, rows drawn."""
        assert self.predicted is not None
        both, true, called = self.truth & self.predicted, self.truth, self.predicted
        columns = np.hstack([both, true, called]).astype(np.float64)
        means = row_means(columns, self.weight, self.settings, self.clusters)
        hit, y, z = np.split(means, 3, axis=1)
        counts = np.stack([1 - y - z + hit, z - hit, y - hit, hit], axis=-1)
        # What is left of a margin by subtraction may be a hair off nothing.
        counts = np.where(counts < 1e-12, 0.0, counts) * float(self.matrices.one_vs_rest().total[0])
        counts = counts.reshape(*means.shape[:-1], len(self.labels), 2, 2)
        return replace(self.matrices, counts=counts, squares=counts)

    def estimate(self, measure: Measure) -> Estimate:
        """The value of one measure with its interval."""
        if measure.label is not None:
            one = self.of_label(measure.label).estimate(measure.plain)
            return replace(one, measure=str(measure))
        family, n = measure.definition.family, len(self.truth)
        if family == "scores":
            return self.average(measure).estimate()
        shared: dict[str, Any] = {"system": self.name, "level": self.settings.level, "n": n}
        if family == "counts":
            return estimate(measure, self.matrices, self._counts_interval, **shared)
        has = ~np.isnan(self.values(measure))
        values, moments = self.values(measure)[has], self.moments(measure)
        weight = None if self.weight is None else self.weight[has]
        clusters = None if self.clusters is None else self.clusters.taken(has)

        def interval(m: Measure, value: float) -> Interval:
            share = clusters is None and m.definition.name == "subset-accuracy"
            size = moments.effective_size if share else None
            own = self.settings
            made = rows_interval(m, moments, values, weight, value, own, clusters, size)
            return made.within(*m.definition.range)

        made = estimate(measure.plain, moments, interval, default=self._default(measure), **shared)
        made = replace(made, measure=str(measure))
        left_out = n - len(values)
        if 0 < left_out < n:
            why = next(iter(measure.definition.undefined))
            made = replace(made, n=len(values), undefined={**made.undefined, why: left_out})
        return made

    @cached_property
    def shares(self) -> FloatArray:
        """The share of rows that have each label."""
        return np.asarray(np.average(self.truth, axis=0, weights=self.weight))

    @cached_property
    def usual_set(self) -> npt.NDArray[np.bool_]:
        """The labels of the most frequent set of labels."""
        packed = np.packbits(self.truth, axis=1)
        kinds = np.ascontiguousarray(packed).view(f"V{packed.shape[1]}").ravel()
        _, first, kind = np.unique(kinds, return_index=True, return_inverse=True)
        return np.asarray(self.truth[first[np.bincount(kind.ravel(), self.weight).argmax()]])

    def _default(self, measure: Measure) -> float:
        """Of the best constant answer, where it is known which one that is."""
        name, p = measure.definition.name, self.shares
        if name == "subset-accuracy":
            same = (self.truth == self.usual_set).all(axis=1)
            return float(np.average(same, weights=self.weight))
        if name == "Hamming-loss":
            return float(np.minimum(p, 1 - p).mean())
        if measure.definition.family != "probabilities":
            return float("nan")
        both = (measure.losses(np.full(len(p), y), p) for y in (1.0, 0.0))
        of_true, of_false = (np.nan_to_num(losses, posinf=0.0) for losses in both)
        return float((p * of_true + (1 - p) * of_false).mean())

    def _counts_interval(self, measure: Measure, value: float) -> Interval:
        """The bootstrap of rows, or the delta method."""
        settings = self.settings
        asked = asked_of_influence(
            measure,
            value,
            settings,
            lambda: measure.apply(self.drawn),
            lambda: self.weighted(self.influence(measure)),
            self.clusters,
        )
        if asked is not None:
            return asked
        refused = settings.refuses(value, bootstrap=False)
        if refused is not None:
            return refused
        if settings.interval == "analytic" or self.by_error(measure):
            se = row_error(self.influence(measure), self.weight, self.clusters)
            made = normal_of(value, se, settings, self.clusters, "delta")
            return made.within(*measure.definition.range)
        return percentile(measure.apply(self.drawn), settings, self.clusters)

    def weighted(self, influence: FloatArray) -> FloatArray:
        """Times the weight of each row."""
        return influence if self.weight is None else influence * self.weight

    def by_label(self) -> LabelTable:
        """The counts of each label, and its measures with intervals that need no bootstrap."""
        own = self.settings
        shown = own if own.interval == "none" else replace(own, interval="analytic")
        system = self.under(shown)
        measures = [
            parse(name, family)
            for family, names in OF_LABEL.items()
            if self.families[family]
            for name in names
        ]
        found = {m: [system.of_label(label).estimate(m) for label in self.labels] for m in measures}
        counts = None
        if self.predicted is not None:
            (tn, fp), (fn, tp) = np.moveaxis(self.matrices.counts, 0, -1)
            counts = {"TP": tp, "FP": fp, "FN": fn, "TN": tn}
        total = len(self.truth) if self.weight is None else float(self.weight.sum())
        return LabelTable(
            system=self.name,
            labels=self.labels,
            truth=self.shares * total,
            counts=counts or {},
            values={str(m): np.array([e.value for e in of]) for m, of in found.items()},
            low={str(m): np.array([e.low for e in of]) for m, of in found.items()},
            high={str(m): np.array([e.high for e in of]) for m, of in found.items()},
            level=own.level,
        )


@dataclass(frozen=True, eq=False)
class LabelPair:
    """Two systems on the same rows."""

    first: LabelSystem
    second: LabelSystem
    measures: tuple[Measure, ...]
    _pairs: dict[str, Pair] = field(default_factory=dict, repr=False)

    def contrast(self, measure: Measure) -> Contrast:
        """First minus second: of one label as of two classes; of values per row as of losses, or,
        where a row lacks one of its two values, by what each row adds to either mean; of averages
        by the bootstrap of rows, or by what each row moves them."""
        a, b = self.first, self.second
        if measure.label is not None:
            own = tuple(m.plain for m in self.measures if m.label == measure.label)
            pair = Pair(a.of_label(measure.label), b.of_label(measure.label), own)
            return self._pairs.setdefault(measure.label, pair).contrast(measure.plain)
        family = measure.definition.family
        if family in OF_ROWS:
            values = (a.values(measure), b.values(measure))
            if not (np.isnan(values[0]).any() or np.isnan(values[1]).any()):
                return loss_contrast(measure.plain, values, a.weight, a.settings, a.clusters)
        if family == "scores":
            return a.average(measure).minus(b.average(measure))
        usual = "replicates"
        if family == "counts":
            usual = "error" if a.by_error(measure) or b.by_error(measure) else "replicates"
        elif a.clusters is None:
            usual = "error" if a.moments(measure).effective_size >= FEW_ROWS else "replicates"

        def error() -> Error:
            se = row_error(a.influence(measure) - b.influence(measure), a.weight, a.clusters)
            return paired_error(se, "delta, paired", a.clusters)

        return Contrast(
            value=a.value(measure) - b.value(measure),
            n=len(a.truth),
            settings=a.settings,
            usual=usual,
            higher_is_better=measure.definition.higher_is_better,
            error=error,
            replicates=lambda: a.redrawn(measure) - b.redrawn(measure),
            clusters=a.clusters,
        )


# --- Input ----------------------------------------------------------------------------------------


def _named(given: Any, kind: str) -> dict[str, Any]:
    """Systems by name; a dict of a column of numbers for each label is one system."""
    if given is None:
        return {}
    return {UNNAMED: given} if is_columns_of_labels(given) else named_systems(given, kind)


def _read(data: Any, separator: str | None, named: tuple[Any, ...]) -> Any:
    """A path as the table that it holds; in the columns of text an empty field is no label."""
    if separator is None or not isinstance(data, str | os.PathLike):
        return data
    table = read_table(data)
    return no_labels(table, names_in(named)) if extension(data)[0] in (".csv", ".tsv") else table


def _systems(
    make: Callable[[str], LabelSystem],
    given: Mapping[tuple[str, str], LabelRows],
    threshold: Threshold,
) -> dict[str, LabelSystem]:
    """The systems by name, every table checked."""
    systems: dict[str, LabelSystem] = {}
    for (kind, name), rows in given.items():
        if kind == "predicted":
            continue
        if name in systems:
            raise InputError(f"{name}: give its scores or its probabilities, not both")
        system, what = make(name), column_name(kind, name)
        score = as_scores(rows, system.labels, what, probability=kind == "probability")
        _same_rows(score, system, what)
        default = 0.5 if kind == "probability" else None
        names = {of for of_kind, of in given if of_kind != "predicted"}
        cut = _threshold(threshold, name, names, system.labels, default)
        systems[name] = replace(
            system,
            score=score,
            is_probability=kind == "probability",
            thresholds=cut,
            predicted=None
            if cut is None
            else score >= (list(cut.values()) if isinstance(cut, dict) else cut),
        )
    for (kind, name), rows in given.items():
        if kind == "predicted":
            system, what = systems.get(name, make(name)), column_name(kind, name)
            called = as_sets(rows, system.labels, what)
            _same_rows(called, system, what)
            systems[name] = replace(system, predicted=called, thresholds=None)
    if threshold is not None and not any(kind != "predicted" for kind, _ in given):
        raise InputError("threshold= is about scores or probabilities, and there are none")
    return systems


def _same_rows(table: npt.NDArray[Any], system: LabelSystem, what: str) -> None:
    if len(table) != len(system.truth):
        raise InputError(f"{what}: has {len(table)} rows, truth has {len(system.truth)}")


def _threshold(
    given: Any, name: str, systems: set[str], labels: tuple[str, ...], default: float | None
) -> float | dict[str, float] | None:
    """A system's threshold, checked: one number, or one by label."""
    if isinstance(given, Mapping) and {str(key) for key in given} <= systems:
        given = given.get(name)
    if given is None:
        return default
    if isinstance(given, int | float):
        return finite(given, "threshold", "a finite number, or one for each label")
    if isinstance(given, Mapping):
        by_label = {str(key): value for key, value in given.items()}
        for key in by_label:
            if key not in labels:
                meant = did_you_mean(key, (*labels, *sorted(systems)))
                raise InputError(f"threshold for {key!r}, which is no label and no system; {meant}")
        if default is not None:
            by_label = dict.fromkeys(labels, default) | by_label
    elif isinstance(given, str) or not hasattr(given, "__len__") or getattr(given, "ndim", 1) != 1:
        raise InputError(
            f"threshold is {shown(given)}, expected a finite number, or one for each label"
        )
    else:
        if len(given) != len(labels):
            raise InputError(f"threshold: has {len(given)} numbers for {len(labels)} labels")
        by_label = dict(zip(labels, given, strict=True))
    return {
        label: finite(by_label.get(label), f"threshold of {label!r}", "a finite number")
        for label in labels
    }


def _default_measures(systems: Mapping[str, LabelSystem]) -> list[str]:
    """Every usual measure that all systems can serve."""
    names = {"multilabel": OF_SETS, "scores": OF_SCORES, "probabilities": OF_PROBABILITIES}
    return [
        name
        for family, of in names.items()
        if all(s.families[family] for s in systems.values())
        for name in of
    ]


def _measures(
    asked: MeasureNames | None, labels: tuple[str, ...], default: Sequence[str]
) -> list[Measure]:
    """The measures asked for, each once."""
    chosen = [
        name if isinstance(name, Measure) else parse(name, FAMILIES)
        for name in names_of(asked, default)
    ]
    for measure in chosen:
        family = measure.definition.family
        if family not in FAMILIES:
            raise InputError(f"{measure} is no measure of several labels a row")
        if measure.label is not None:
            if measure.label not in labels:
                meant = did_you_mean(measure.label, labels)
                raise InputError(f"{measure}: {measure.label!r} is no label; {meant}")
            continue
        if family in ("multilabel", "label-ranks"):
            continue
        one = replace(measure.plain, label=labels[0])
        macro = replace(measure.plain, average="macro")
        mean = family == "probabilities" and measure.definition.interval is None
        if not measure.viewed:
            more = f", or for {macro}" if mean or family in ("counts", "scores") else ""
            raise InputError(f"{measure} is about one label: ask for {one}{more}")
        if family == "calibration" or (family == "probabilities" and not mean):
            raise InputError(f"{measure}: {measure.plain} has no average; ask for {one}")
        if family == "probabilities" and measure.average != "macro":
            raise InputError(f"{measure}: every label has every row; ask for {macro}")
    return list(dict.fromkeys(chosen))
