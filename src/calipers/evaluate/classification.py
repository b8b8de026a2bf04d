"""Evaluation of two-class problems from labels, scores or probabilities."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from calipers.data.arrays import as_numbers, as_weights, same_length
from calipers.data.class_columns import is_one_column, is_per_class
from calipers.data.classes import check_classes, coded, name_of
from calipers.data.columns import gather
from calipers.data.errors import InputError
from calipers.data.two_classes import Labels, positive_probability, predictions, two_classes
from calipers.evaluate.arguments import finite, verb
from calipers.evaluate.calibration import Calibrated, is_pivotal
from calipers.evaluate.confusions import confusion
from calipers.evaluate.curves import ScoreCurves, Scored
from calipers.evaluate.cuts import Bins, cuts, slice_columns
from calipers.evaluate.findings import of_classification
from calipers.evaluate.losses import loss_estimate, loss_influence, loss_replicates
from calipers.evaluate.operating import Chosen, NoThresholdError, Rule
from calipers.evaluate.pairs import PairedCounts, Rows, loss_contrast, paired_error
from calipers.evaluate.shared import (
    UNNAMED,
    MeasureNames,
    as_clusters,
    best_constant,
    by_default,
    choose_measures,
    column_name,
    comparison_if_several,
    estimate,
    glossary,
    make_settings,
    named_systems,
    provenance,
)
from calipers.evaluate.slices import sliced, threshold_note
from calipers.inference import intervals, paired
from calipers.inference.cells import ClassCounts, gradient
from calipers.inference.clusters import Clusters
from calipers.inference.contrast import Contrast, Error
from calipers.inference.estimate import Settings
from calipers.inference.influence import class_error, influence, jackknife, row_error
from calipers.inference.of_scores import Scores
from calipers.inference.scores import Drawn
from calipers.measures import Measure
from calipers.once import cached_property
from calipers.results import Estimate, Evaluation
from calipers.statistics import (
    ConfusionMatrix,
    FloatArray,
    Moments,
    ScoreOrder,
    ScoreTable,
    Statistic,
)

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
OF_CALIBRATION = ("calibration-slope", "calibration-intercept")

#: Measures of scores whose paired differences vary as the influence of rows says.
PAIRED_BY_INFLUENCE = ("AUC", "Gini", "AP", "PR-AUC", "AP-DG")

#: With fewer positives, influence says too little of how areas under precision-recall curves vary:
#: with 45 positives the test of a PR-AUC erred 6.5 times of 100 (the bootstrap's 5.2, and that of
#: an AP 5.6), with 100 5.9 times, with 200 5.5 times.
FEW_POSITIVES = {"AUC": 0, "PR-AUC": 200, "AP-DG": 200}
FEW_POSITIVES_OF_OTHERS = 30

#: A number, a rule, or either for each system.
Threshold = float | str | Rule | Mapping[str, float | str | Rule] | None


@verb
def classification(
    truth: Any,
    predicted: Any = None,
    *,
    score: Any = None,
    probability: Any = None,
    positive: Any = None,
    labels: Sequence[Any] | None = None,
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
    """How well systems tell classes apart, two or more.

    Parameters
    ----------
    truth
        The class of each row: one column of labels. With more than two, and no class named
        positive, all classes are evaluated: each against the rest, and averages over them.
    predicted
        Predicted labels; a column, or a dict from system names to columns.
    score
        Scores, higher for the positive class; a column or a dict of columns. Measures of counts
        need a ``threshold`` besides. With several classes, a column for each, as probabilities.
    probability
        Probabilities of the positive class; a column or a dict of columns. They serve as scores
        too, and the threshold is 0.5 unless another is given. Or a column for each class: a dict or
        a data frame, matched by name, or an array of shape (rows, K) in the order of the classes;
        or a dict from systems to those. Rows have to sum to 1 within 1e-6.
    positive
        Which class is the positive one, against all others. It has to be named unless the labels
        are 0 and 1, −1 and 1, or False and True. Where all rows are of one class, what needs both
        has no value, and a note says so.
    labels
        The classes in the order wanted, those without a row included, all of which are evaluated.
        Two of them, beside ``positive``, a ``threshold`` or scores in one column, only say which
        two classes there are: a problem of a positive class and a negative one.
    threshold
        A score at or above it is predicted positive; one number, or one for each system. Or a rule
        by which to choose it on these rows, such as ``"youden"`` or ``"specificity>=0.9"`` (see
        :func:`calipers.operating_point`); what that flatters is then estimated out of bag.
    weight
        Weight of each row; a weight of 2 equals the row twice in every point estimate. A weight is
        0, or from 1e-60 to 1e60 and no less than 1e-12 of the largest: beyond that, sums and their
        products would overflow or lose the row.
    cluster
        What the rows come from (users, patients, sites), where several come from one. Intervals and
        tests then take the clusters for what is independent: the bootstrap draws whole clusters.
    slices
        A dict of columns to cut the rows by. Every measure is computed on each slice and compared
        with the rest of the rows; ``"age*site": (age, site)`` crosses two columns. A column of more
        than ten distinct numbers is cut at its quartiles. With ``data``, a list of names will do.
    slice_bins
        Where to cut columns of numbers instead, by name: ``{"age": [40, 65]}``.
    data
        A table (data frame, dict of columns, or path), of which all of the above may be given by
        the names of columns.
    id
        A column of ids in ``data``. A system may then be a data frame or path of its own with a
        column of this name, whose rows are put in the order of ``data``.
    missing
        ``"error"``, or ``"drop"`` to leave out rows with a missing value, or without their id in
        one of the tables; a note tells how many and why.
    measures
        Names such as ``"AUC"`` or ``"F1"``; ``calipers measures`` lists them. Among them,
        ``"default"`` stands for those that are shown if none is named.
    curves
        Whether the evaluation has curves, for the report and :func:`calipers.curve`; each is
        computed when it is first looked at.
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
    rows = gather(
        {
            "truth": truth,
            "predicted": predicted,
            "score": score,
            "probability": probability,
            "weight": weight,
            "cluster": cluster,
            "slices": slice_columns(slices),
        },
        data=data,
        by=id,
        missing=missing,
    )
    truth, predicted, score, probability, weight, cluster, cut_by = rows.columns.values()
    truth = coded(truth, "truth")
    if labels is None:
        check_classes(truth)
    two = labels is not None and _names_two(labels, positive, score, probability, threshold)
    if not two and (labels is not None or (positive is None and len(truth.labels) > 2)):
        from calipers.evaluate.multiclass import multiclass

        if positive is not None or threshold is not None:
            raise InputError(
                "positive= and threshold= are about two classes: name a positive class and leave "
                "out labels= (or name two there), or leave out both"
            )
        return multiclass(
            truth,
            predicted,
            score=score,
            probability=probability,
            labels=labels,
            weight=weight,
            cluster=cluster,
            settings=settings,
            slices=cut_by,
            slice_bins=slice_bins,
            measures=measures,
            baseline=baseline,
            notes=rows.notes,
            curves=curves,
            inputs=inputs,
        )
    said = _said(predicted) if labels is None and len(truth.labels) == 1 else ()
    classes = two_classes(truth, positive, said=said, both=labels)
    weights = as_weights(weight, len(classes.positive))
    clusters = None if cluster is None else as_clusters(cluster, len(classes.positive), weights)
    systems = {
        name: replace(system, clusters=clusters)
        for name, system in _systems(
            classes, predicted, score, probability, threshold, weights, settings
        ).items()
    }
    chosen = choose_measures(measures, _default_measures(systems), "classification")
    for system in systems.values():
        system.check(chosen)
    systems = {name: replace(s, measures=tuple(chosen)) for name, s in systems.items()}
    made, how = cuts(cut_by, slice_bins, len(classes.positive))
    source = Rows(systems, chosen, settings, Pair)
    conventions = {
        "positive": classes.names[1],
        "negative": classes.names[0],
        "threshold": {s.name: s.threshold for s in systems.values() if s.threshold is not None},
        "at_the_threshold": "positive",
        "weighted": weights is not None,
        **({} if clusters is None else {"clusters": clusters.number}),
    }
    estimates = (
        *(s.chosen.estimate(len(classes.positive)) for s in systems.values() if s.chosen),
        *(s.estimate(measure) for s in systems.values() for measure in chosen),
    )
    comparison = comparison_if_several(source, baseline, settings)
    by_slice = sliced(systems.values(), chosen, made, settings)
    return Evaluation(
        task="classification",
        level=level,
        estimates=estimates,
        comparison=comparison,
        definitions=glossary(chosen),
        curves=_curves(systems) if curves else (),
        confusions=tuple(
            confusion(name, s.counts.matrix, settings)
            for name, s in systems.items()
            if s.predicted is not None
        ),
        notes=(
            *rows.notes,
            *_collapse(classes),
            *(_left_out(systems) if by_default(measures) else ()),
            *(() if clusters is None else clusters.notes()),
            *how,
            *(
                threshold_note(s.name, s.chosen.threshold, s.rule)
                for s in systems.values()
                if by_slice is not None and s.chosen is not None
            ),
        ),
        slices=by_slice,
        findings=of_classification(systems.values(), estimates, comparison, by_slice),
        provenance=provenance("classification", settings, conventions, inputs),
        sources=source,
    )


def _names_two(
    labels: Sequence[Any], positive: Any, score: Any, probability: Any, threshold: Threshold
) -> bool:
    """Whether ``labels`` only say which two classes there are, of which one is positive: where that
    one is named, or a threshold, or where scores come in one column."""
    if len(labels) != 2:
        return False
    if positive is not None or threshold is not None:
        return True
    given = [values for values in (score, probability) if values is not None]
    names = [name_of(label) for label in labels]
    return bool(given) and all(is_one_column(values, names) for values in given)


def _said(predicted: Any) -> list[str]:
    """The classes that systems predict."""
    if predicted is None:
        return []
    columns = named_systems(predicted, "predicted")
    return [
        name
        for system, column in columns.items()
        for name in coded(column, column_name("predicted", system)).names
    ]


def _collapse(classes: Labels) -> tuple[str, ...]:
    """That several classes were taken for one, or that all rows are of one class."""
    if classes.positive.all() or not classes.positive.any():
        there, absent = classes.names[:: -1 if classes.positive.all() else 1]
        why = f"All rows are of class {there}, none of {absent}"
        return (f"{why}: measures that need both have no value.",)
    if not classes.others:
        return ()
    named = ", ".join(classes.others[:5]) + (", …" if len(classes.others) > 5 else "")
    return (f"{classes.names[1]} is evaluated against all other classes: {named}.",)


def _curves(systems: Mapping[str, System]) -> ScoreCurves:
    return ScoreCurves(partial(_scored, tuple(systems.values())))


def _scored(systems: Sequence[System]) -> list[Scored]:
    return [s.scored for s in systems if s.score is not None]


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
    #: Measures of scores that are bootstrapped together.
    measures: tuple[Measure, ...] = ()

    @property
    def families(self) -> dict[str, bool]:
        """Which families of measures the system can be measured by."""
        return {
            "counts": self.predicted is not None,
            "scores": self.score is not None,
            "ranks": False,
            "probabilities": self.probability is not None,
            "calibration": self.probability is not None,
        }

    def check(self, measures: list[Measure]) -> None:
        """That the data serve every measure asked for."""
        needs = {
            "counts": "predicted labels, probabilities, or scores with a threshold",
            "ranks": "more than two classes",
            "scores": "scores or probabilities",
            "probabilities": "probabilities",
            "calibration": "probabilities",
        }
        for measure in measures:
            family = measure.definition.family
            if measure.viewed and (
                family != "counts" or measure.label not in (None, *self.labels.names)
            ):
                raise InputError(
                    f"{measure}: there are two classes, {' and '.join(self.labels.names)}, of "
                    f"which {self.labels.names[1]} is the positive one; ask for {measure.plain}"
                )
            if not self.families[family]:
                raise InputError(f"{self.name}: {measure} needs {needs[family]}")

    @cached_property
    def counts(self) -> ClassCounts:
        """The confusion matrix."""
        assert self.predicted is not None
        together = tuple(m for m in self.measures if m.definition.family == "counts")
        return ClassCounts.from_codes(
            self.labels.positive,
            self.predicted,
            self.labels.names,
            self.settings,
            self.weight,
            self.clusters,
            together,
        )

    @cached_property
    def order(self) -> ScoreOrder:
        """The scores by size."""
        assert self.score is not None
        return ScoreOrder(self.score)

    @cached_property
    def table(self) -> ScoreTable:
        """The table of distinct scores."""
        assert self.score is not None
        return ScoreTable.from_rows(self.labels.positive, self.score, self.weight)

    def under(self, settings: Settings) -> System:
        """The system with these settings; itself, and what it has computed, where it has them."""
        return self if settings == self.settings else replace(self, settings=settings)

    def taken(self, rows: npt.NDArray[np.bool_ | np.intp]) -> System:
        """The system on some of the rows."""
        columns = {
            name: column[rows]
            for name in ("weight", "predicted", "score", "probability")
            if (column := getattr(self, name)) is not None
        }
        labels = replace(self.labels, positive=self.labels.positive[rows])
        clusters = None if self.clusters is None else self.clusters.taken(rows)
        # The threshold was chosen on all of the rows.
        return replace(self, labels=labels, clusters=clusters, rule=None, **columns)

    def statistic(self, measure: Measure) -> Statistic | None:
        """What a measure is a formula over; None where it takes more than one."""
        family = measure.definition.family
        if family == "counts":
            return self.counts.matrix
        if family in ("scores", "calibration"):
            return self.table
        if measure.definition.rows is None:
            return None
        return Moments.from_rows(self.losses(measure), self.weight)

    def share_of(
        self, measure: Measure, matrix: ConfusionMatrix | None = None
    ) -> ConfusionMatrix | None:
        """The matrix of whose margin the measure is a share of rows, if it is one; ``matrix`` may
        stand in for that of the rows."""
        return self.counts.share_of(measure, matrix) if measure.definition.share_of else None

    def of_scores(self, measure: Measure) -> System | None:
        """The problem of two classes whose table of scores a measure is a formula over."""
        return self if measure.definition.family in ("scores", "calibration") else None

    def replicates(self, measure: Measure) -> FloatArray | None:
        """Bootstrap replicates of the value of a measure."""
        family = measure.definition.family
        if family == "counts":
            return self.counts.replicates([measure])[measure]
        if family in ("scores", "calibration"):
            return self.drawn.of(measure)
        if measure.definition.rows is None:
            return None
        loss = self.losses(measure)
        return loss_replicates(measure, loss, self.weight, self.settings, self.clusters)

    def moved(self, measure: Measure) -> FloatArray | None:
        """How much each row moves the value of a measure, times its weight, shape ``(n,)``; None
        where that is not known."""
        family, positive = measure.definition.family, self.labels.positive
        if family == "calibration":
            named = measure.definition.interval
            return self.calibrated.influence(measure) if named == "recalibration" else None
        if family == "scores":
            made = influence(measure, self.table)
            moved = None if made is None else made.of_rows(positive, self.order)
        elif family == "counts":
            assert self.predicted is not None
            of_cell = gradient(measure, self.counts.matrix)
            moved = of_cell[positive.astype(np.intp), self.predicted.astype(np.intp)]
        else:
            return loss_influence(measure, self.losses(measure), self.weight)
        return moved if moved is None or self.weight is None else moved * self.weight

    def losses(self, measure: Measure) -> FloatArray:
        """The loss of each row."""
        assert self.probability is not None
        return measure.losses(self._truth, self.probability)

    def per_row(self, measure: Measure) -> FloatArray | None:
        """The value of each row, where the measure is the mean of such."""
        if measure.definition.rows is not None:
            return self.losses(measure)
        if measure.definition.name == "accuracy" and self.predicted is not None:
            return np.asarray(self.predicted == self.labels.positive, np.float64)
        return None

    @cached_property
    def drawn(self) -> Drawn:
        """Bootstrap replicates of the table of scores."""
        return Drawn(self.table, self.settings, self._rows(), self.measures)

    @cached_property
    def chosen(self) -> Chosen | None:
        """The threshold, where a rule chose it on these rows."""
        if self.rule is None or self.threshold is None:
            return None
        return Chosen(self.name, self.rule, self.threshold, self.drawn)

    @cached_property
    def drawn_by_row(self) -> Drawn:
        """The same, drawn by row, so that the same rows are drawn for every system."""
        return Drawn(self.table, self.settings, self._rows(by_row=True), self.measures)

    def _rows(self, *, by_row: bool = False) -> Any:
        """Truth, score and weight where the bootstrap cannot do with the table alone."""
        unit = np.arange(len(self.labels.positive), dtype=np.uint32) if by_row else None
        if self.clusters is not None:
            unit = self.clusters.code
        if self.weight is None and unit is None:
            return None
        return self.labels.positive, self.order, self.weight, unit

    @cached_property
    def placement(self) -> FloatArray:
        """Each row's placement among the rows of the other class."""
        return paired.row_placements(self.table, self.labels.positive, self.order)

    def _clustered_area(self, area: float) -> intervals.Interval:
        """The interval of an AUC that needs no bootstrap, of clustered rows."""
        assert self.clusters is not None
        return self.clusters.auc_interval(
            area, self.labels.positive, self.placement, self.settings.level
        )

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
            made = estimate(measure, matrix, self.counts.interval, default=default, **shared)
            outside = None if self.chosen is None else self.chosen.out_of_bag(measure)
            return made if outside is None else replace(made, out_of_bag=outside)
        if family == "scores":
            scores = Scores(
                self.table,
                self.settings,
                self.drawn.of,
                self.clusters,
                self._clustered_area,
                self.drawn,
            )
            default = float(measure.apply(self.table.constant()))
            made = estimate(measure, self.table, scores.interval, default=default, **shared)
            return replace(made, threshold=float(measure.threshold(self.table)))
        if family == "calibration":
            return self.calibrated.estimate(measure)
        return loss_estimate(
            measure,
            self._truth,
            self.probability,
            self.weight,
            self.settings,
            self.name,
            self.clusters,
        )

    @cached_property
    def is_certain(self) -> bool:
        """Whether a probability is 0 or 1."""
        p = self.probability
        return p is not None and len(p) > 0 and bool(p.min() <= 0 or p.max() >= 1)

    @cached_property
    def calibrated(self) -> Calibrated:
        """What calibration is measured on."""
        assert self.probability is not None
        return Calibrated(
            self.name,
            self.labels.positive,
            self.probability,
            self.weight,
            self.table,
            self.settings,
            self.drawn,
            self.clusters,
        )

    @cached_property
    def _truth(self) -> FloatArray:
        return self.labels.positive.astype(np.float64)

    @property
    def scored(self) -> Scored:
        """What the curves are made of."""
        negative, positive = self.labels.names
        return Scored(
            self.name,
            partial(getattr, self, "table"),
            self.settings,
            self._rows(),
            self.threshold,
            probabilities=self.probability is not None,
            names=(negative, positive),
            bootstrap="bootstrap [B]" if self.clusters is None else self.clusters.bootstrap,
            independent=self.clusters is None,
        )


@dataclass(frozen=True, eq=False)
class Pair:
    """Two systems on the same rows."""

    first: System
    second: System
    measures: tuple[Measure, ...]

    def contrast(self, measure: Measure) -> Contrast:
        """First minus second."""
        family = measure.definition.family
        if family == "counts":
            return self._counts.contrast(measure)
        if family in ("scores", "calibration"):
            return self._of_scores(measure)
        a, b = self.first, self.second
        losses = (a.losses(measure), b.losses(measure))
        return loss_contrast(measure, losses, a.weight, a.settings, a.clusters)

    @cached_property
    def _counts(self) -> PairedCounts:
        a, b = self.first, self.second
        return PairedCounts.of(
            [a.labels.positive, a.predicted, b.predicted],
            (a.counts, b.counts),
            self.measures,
        )

    def _of_scores(self, measure: Measure) -> Contrast:
        a, b = self.first, self.second
        recalibration = measure.definition.interval == "recalibration"
        known = recalibration or measure.definition.name in PAIRED_BY_INFLUENCE
        few = FEW_POSITIVES.get(measure.definition.name, FEW_POSITIVES_OF_OTHERS)
        enough = a.labels.positive.sum() >= few
        return Contrast(
            value=float(measure.apply(a.table) - measure.apply(b.table)),
            n=len(a.labels.positive),
            settings=a.settings,
            usual="error" if known and enough and a.clusters is None else "replicates",
            higher_is_better=measure.definition.higher_is_better,
            error=(lambda: self._moved_error(measure)) if known else None,
            moved=None if is_pivotal(measure) else lambda: (self._left_out(measure), None),
            replicates=lambda: a.drawn_by_row.of(measure) - b.drawn_by_row.of(measure),
            clusters=a.clusters,
            pivotal=is_pivotal(measure),
        )

    def _left_out(self, measure: Measure) -> FloatArray:
        """How much the difference is moved by leaving out a group of rows, the same of both."""
        first, second = (
            jackknife(measure, one.table, one.drawn_by_row.ranked)
            for one in (self.first, self.second)
        )
        return first - second

    def _moved(self, measure: Measure) -> FloatArray:
        """How much each row moves the difference."""
        first, second = self.first.moved(measure), self.second.moved(measure)
        assert first is not None
        assert second is not None
        return first - second

    def _moved_error(self, measure: Measure) -> Error:
        """From the difference of how much each row moves either: of AUCs DeLong's, and Obuchowski's
        of clustered rows."""
        a, b = self.first, self.second
        positive = a.labels.positive
        if measure.definition.name == "AUC":
            apart = a.placement - b.placement
            if a.clusters is None:
                return Error(paired.placement_error(positive, apart, a.weight), "DeLong, paired")
            se = a.clusters.auc_error(positive, apart)
            return paired_error(se, "Obuchowski, paired", a.clusters)
        moved = self._moved(measure)
        if a.clusters is not None:
            se = row_error(moved, None, a.clusters)
        else:
            se = class_error(moved, positive, a.weight)
        return paired_error(se, "influence, paired", a.clusters)


def _default_measures(systems: Mapping[str, System]) -> list[str]:
    """Every usual measure that all systems can serve."""
    names = {
        "scores": OF_SCORES,
        "probabilities": OF_PROBABILITIES,
        "calibration": OF_CALIBRATION,
        "counts": OF_COUNTS,
    }
    return [
        name
        for family in names
        for name in names[family]
        if all(system.families[family] for system in systems.values())
        and not (family == "calibration" and any(s.is_certain for s in systems.values()))
    ]


def _left_out(systems: Mapping[str, System]) -> tuple[str, ...]:
    """Why the recalibration is not among the usual measures."""
    certain = [name for name, system in systems.items() if system.is_certain]
    if not certain:
        return ()
    named = ", ".join(certain[:5]) + (", …" if len(certain) > 5 else "")
    why = f"Calibration slope and intercept are not shown: some probabilities are 0 or 1 ({named}),"
    return (f"{why} which have no logit; 'calibration-slope(delta=1e-6)' moves them by that much.",)


def _systems(
    labels: Labels,
    predicted: Any,
    score: Any,
    probability: Any,
    threshold: Threshold,
    weight: FloatArray | None,
    settings: Settings,
) -> dict[str, System]:
    """The systems by name, every column checked."""
    if predicted is None and score is None and probability is None:
        raise InputError("nothing to evaluate: give predicted=, score= or probability=")
    if threshold is not None and score is None and probability is None:
        raise InputError("threshold= is about scores or probabilities, and there are none")
    systems: dict[str, System] = {}
    rows = len(labels.positive)

    def update(name: str, **columns: Any) -> None:
        systems[name] = replace(
            systems.get(name, System(name, labels, weight, settings)), **columns
        )

    for kind, given in (("score", score), ("probability", probability)):
        if given is None:
            continue
        per_class = kind == "probability" and is_per_class(given, labels.classes)
        for name, values in ({UNNAMED: given} if per_class else named_systems(given, kind)).items():
            what = column_name(kind, name)
            if kind == "probability":
                column = positive_probability(values, labels, what)
            else:
                column = as_numbers(values, what)
            same_length(column, rows, column_name(kind, name))
            if name in systems:
                raise InputError(f"{name}: give its scores or its probabilities, not both")
            cut = _threshold(threshold, name, 0.5 if kind == "probability" else None)
            rule = cut if isinstance(cut, Rule) else None
            if isinstance(cut, Rule):
                cut = float(cut.threshold(ScoreTable.from_rows(labels.positive, column, weight)))
                if np.isnan(cut):
                    raise NoThresholdError(f"{what}: no threshold satisfies the rule {rule}")
            update(
                name,
                score=column,
                threshold=cut,
                rule=rule,
                probability=column.astype(np.float64) if kind == "probability" else None,
                predicted=None if cut is None else column >= cut,
            )
    if predicted is not None:
        for name, values in named_systems(predicted, "predicted").items():
            called = predictions(values, labels, column_name("predicted", name))
            update(name, predicted=called, threshold=None, rule=None)
    _check_thresholds(threshold, systems)
    return systems


def _threshold(given: Threshold, name: str, default: float | None) -> float | Rule | None:
    value: Any = given.get(name, default) if isinstance(given, Mapping) else given
    if value is None:
        return default
    if isinstance(value, str):
        return Rule.parse(value)
    if isinstance(value, Rule):
        return value
    return finite(value, "threshold", "a finite number or a rule")


def _check_thresholds(threshold: Any, systems: Mapping[str, System]) -> None:
    unknown = sorted(set(threshold) - set(systems)) if isinstance(threshold, Mapping) else []
    if unknown:
        raise InputError(f"threshold for {unknown[0]!r}, which is no system: {', '.join(systems)}")
