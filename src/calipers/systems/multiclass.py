"""Multiclass classifiers: systems with labels, scores or probabilities of several classes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import permutations
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from calipers.caching import cached_property
from calipers.data.binary_labels import BinaryLabels
from calipers.data.class_labels import ClassLabels
from calipers.data.errors import InputError
from calipers.estimation.averages import average_of_scores, class_weights, extend_to_all_rows
from calipers.estimation.counts import ClassCounts
from calipers.estimation.losses import RowLosses
from calipers.estimation.skill import ConstantPrediction, SkillRows, estimate_skill
from calipers.estimation.top_k import RankedClasses
from calipers.inference.variance_estimators import VarianceEstimator
from calipers.lazy_dataclasses import dataclass
from calipers.measures import parse
from calipers.measures.averages import PAIRWISE_AVERAGES
from calipers.statistics import (
    ClassRanks,
    ClassScoreRows,
    ClassTables,
    ConfusionMatrix,
    FloatArray,
    Moments,
    ScoreTable,
)
from calipers.systems import base, binary
from calipers.systems.base import NAN, MeasureSample, best_constant_value, check_named_classes
from calipers.systems.micro_average import micro_average, pool_classes

if TYPE_CHECKING:
    import numpy.typing as npt
    from typing_extensions import Self

    from calipers.inference.clusters import ClusterIndex
    from calipers.inference.point_estimate import PointEstimate
    from calipers.inference.settings import Settings
    from calipers.inference.time_order import TimeOrder
    from calipers.inference.variance_estimators import Influence
    from calipers.measures import Measure
    from calipers.statistics import Statistic

#: Number of probabilities of constant predictions that are examined at a time.
_MAX_BLOCK_VALUES = 4_000_000

_CLASS_OUTPUT = "a probability or a score for each class"


@dataclass(frozen=True, eq=False)
class MulticlassRows:
    """Rows of a multiclass problem, which all systems have in common.

    Attributes
    ----------
    classes : ClassLabels
        True class of each row, and the names of the classes.
    weight : array of shape (n,) or None
        Weight of each row.
    clusters : ClusterIndex or None
        Clusters of the rows.
    settings : Settings
        Settings of inference.
    """

    classes: ClassLabels
    weight: FloatArray | None
    clusters: ClusterIndex | None
    settings: Settings

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the classes."""
        return self.classes.names

    @property
    def truth(self) -> npt.NDArray[np.intp]:
        """Class of each row, as an index of the names."""
        return self.classes.codes

    @cached_property
    def class_sizes(self) -> FloatArray:
        """Total weight of the rows of each class."""
        return np.bincount(self.truth, self.weight, len(self.names)).astype(np.float64)

    @cached_property
    def class_proportions(self) -> FloatArray:
        """Proportion of each class."""
        with np.errstate(invalid="ignore"):  # there may be no weight
            return np.asarray(self.class_sizes / self.class_sizes.sum())

    def constant_losses(self, measure: Measure) -> FloatArray:
        """Return the loss of a row of each class under the best constant prediction.

        That prediction is the vector of class proportions.
        """
        k = len(self.names)
        step = max(1, _MAX_BLOCK_VALUES // k)
        class_blocks = (
            np.arange(begin, min(begin + step, k), dtype=np.float64) for begin in range(0, k, step)
        )
        return np.concatenate(
            [
                measure.losses(block, np.tile(self.class_proportions, (len(block), 1)))
                for block in class_blocks
            ]
        )

    def constant_moments(self, measure: Measure) -> Moments | None:
        """Return the moments of the loss of the best constant prediction; None without weight."""
        if not self.class_sizes.any():
            return None
        return Moments.from_rows(self.constant_losses(measure), self.class_sizes)

    def one_vs_rest_labels(self, label: str) -> BinaryLabels:
        """Return the binary labels of one class against all others."""
        others = tuple(name for name in self.names if name != label)
        return BinaryLabels((f"not {label}", label), self.truth == self.names.index(label), others)


def absent_class_notes(
    names: Sequence[str], sizes: FloatArray, *, includes_absent: bool
) -> list[str]:
    """Return a note on the classes without rows, which averages may include.

    ``sizes`` has the weight of the rows of each class.
    """
    absent_names = [name for name, size in zip(names, sizes, strict=True) if not size]
    if not absent_names or len(absent_names) == len(names):
        return []
    listed = ", ".join(absent_names[:5]) + (", …" if len(absent_names) > 5 else "")
    kind = "class" if len(absent_names) == 1 else "classes"
    averages = (
        "averages include all classes that labels= names"
        if includes_absent
        else "averages omit classes that are never predicted"
    )
    return [f"No row has the {kind} {listed}; {averages}."]


@dataclass(frozen=True, eq=False)
class MulticlassOutput(base.SystemOutput):
    """Output of one multiclass classifier, with the rows and the statistics of both.

    Attributes
    ----------
    name : str
        Name of the system.
    class_rows : MulticlassRows
        Rows and their classes.
    predicted : array of int of shape (n,), optional
        Predicted class of each row, as an index of the classes.
    class_scores : ClassScoreRows, optional
        Scores or probabilities of every class.
    is_probability : bool, default=False
        Whether the scores are probabilities.
    measures : tuple of Measure, optional
        Requested measures, which are bootstrapped together.
    order : TimeOrder, optional
        Time order of the rows.
    """

    name: str
    class_rows: MulticlassRows
    predicted: npt.NDArray[np.intp] | None = None
    #: Scores or probabilities of all classes.
    class_scores: ClassScoreRows | None = None
    is_probability: bool = False
    measures: tuple[Measure, ...] = ()
    order: TimeOrder | None = None

    output_fields: ClassVar = {"predicted": np.intp, "score": float, "is_probability": None}
    needs: ClassVar = {
        "labels": ("predicted", "predicted labels, or " + _CLASS_OUTPUT),
        "scores": ("score", _CLASS_OUTPUT),
        "ranks": ("score", _CLASS_OUTPUT),
        "distributions": ("", "a distribution over the classes as the truth of each row"),
        "probabilities": ("is_probability", "a probability for each class"),
    }

    @property
    def score(self) -> npt.NDArray[np.floating[Any]] | None:
        """Scores or probabilities, with one column per class."""
        return None if self.class_scores is None else self.class_scores.table

    def shared_inputs(self) -> tuple[Any, dict[str, Any]]:
        """Return the class of each row, and the names of the classes."""
        return self.class_rows.truth, {"classes": list(self.class_rows.names)}

    def with_outputs(self, name: str, outputs: Mapping[str, Any]) -> Self:
        """Return a system of another name with other predictions for the same rows."""
        table, codes = outputs["score"], outputs["predicted"]
        if codes is not None and not ((codes >= 0) & (codes < len(self.class_rows.names))).all():
            raise ValueError("its predictions have an unknown class")
        rows = None if table is None else ClassScoreRows.from_scores(self.class_rows.truth, table)
        fields = {"predicted": outputs["predicted"], "is_probability": outputs["is_probability"]}
        return self._with(name=name, class_scores=rows, **fields)

    @property
    def settings(self) -> Settings:  # type: ignore[override]
        """Settings of inference."""
        return self.class_rows.settings

    @property
    def weight(self) -> FloatArray | None:  # type: ignore[override]
        """Weight of each row."""
        return self.class_rows.weight

    @property
    def clusters(self) -> ClusterIndex | None:  # type: ignore[override]
        """Clusters of the rows."""
        return self.class_rows.clusters

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return len(self.class_rows.truth)

    def with_settings(self, settings: Settings) -> MulticlassOutput:
        """Return the system with these settings.

        If the settings are equal, it is the system itself, with its cached results.
        """
        if settings == self.settings:
            return self
        return replace(self, class_rows=replace(self.class_rows, settings=settings))

    def from_predictions(
        self, name: str, truth: npt.NDArray[np.intp], predicted: npt.NDArray[np.intp]
    ) -> MulticlassOutput:
        """Return a system of another name that predicts classes of other rows."""
        p = self.class_rows
        problem = replace(p, classes=replace(p.classes, codes=truth), weight=None, clusters=None)
        return replace(
            self, name=name, class_rows=problem, predicted=predicted, class_scores=None,
            is_probability=False, order=None,
        )  # fmt: skip

    def take_columns(self, rows: npt.NDArray[np.bool_ | np.intp]) -> dict[str, Any]:
        """Return some of the rows, with all classes."""
        p = self.class_rows
        problem = replace(
            p,
            classes=replace(p.classes, codes=p.truth[rows]),
            weight=None if p.weight is None else p.weight[rows],
            clusters=None if p.clusters is None else p.clusters.take_rows(rows),
        )
        return {
            "class_rows": problem,
            "predicted": None if self.predicted is None else self.predicted[rows],
            "class_scores": None
            if self.class_scores is None
            else self.class_scores.take_rows(rows),
            **self.cut_order(rows),
        }

    def check_measure(self, measure: Measure) -> None:
        """Check that data and classes suffice for a measure."""
        d, names = measure.definition, self.class_rows.names
        class_measure = replace(measure.plain, label=names[0])
        has_average = d.statistic is ConfusionMatrix or (
            d.statistic is ScoreTable and d.reads == "scores"
        )
        is_multiclass = measure.has_view or d.is_multiclass
        if not is_multiclass and not has_average:
            raise InputError(
                f"{measure} is about two classes: ask for {class_measure}, or name the positive "
                "one (positive=…)"
            )
        super().check_measure(measure)
        if measure.average is not None and not has_average:
            alternative = measure.plain if d.is_multiclass else class_measure
            raise InputError(f"{measure}: there is no such average; ask for {alternative}")
        check_named_classes(measure, names)
        if not is_multiclass:
            raise InputError(
                f"{measure} is about one class of {len(names)}: ask for {class_measure}, for "
                f"{replace(measure, average='macro')}, or say which class is positive "
                "(positive=…)"
            )

    # --- Statistics of measures ------------------------------------------------------------------

    def binary_problem(self, measure: Measure) -> binary.BinaryOutput | None:
        """Return the binary problem of a measure of one class, or of the top label.

        Measures of calibration without a class use the confidence in the predicted label.
        """
        d = measure.definition
        if d.statistic is ConfusionMatrix:
            return None
        if measure.label is not None:
            return self.one_vs_rest(measure.label)
        uses_confidence = (
            d.statistic is ScoreTable and d.reads == "probabilities" and d.skill_of is None
        )
        return self.confidence_output if uses_confidence else None

    def sample_for(self, measure: Measure) -> MeasureSample | None:
        """Return the counts, the ranks of the true classes, or the losses."""
        statistic_type = measure.definition.statistic
        if statistic_type is ConfusionMatrix:
            return self.counts
        if statistic_type is ClassRanks:
            return self.ranks
        if statistic_type is ScoreTable:
            return None
        return RowLosses(self.losses(measure), self.weight, self.clusters, self.settings)

    def batch_statistic(self, measure: Measure) -> Statistic | None:
        """Return the statistic that batches of rows accumulate for a measure.

        For a skill score it has the losses and the class sizes.
        """
        skill_rows = self._skill_rows(measure)
        if skill_rows is not None:
            return skill_rows.statistic
        return (
            self._tables(measure) if self._is_average(measure) else super().batch_statistic(measure)
        )

    def influence(self, measure: Measure, total: Any) -> Influence | None:
        """Return the influence values of a batch of rows."""
        skill_rows = self._skill_rows(measure)
        if skill_rows is not None:
            return skill_rows.influence(total)
        if not self._is_average(measure):
            return super().influence(measure, total)
        average_influence: Influence | None = None
        for label, weight in class_weights(measure, total.labels, total.proportions).items():
            table = total.tables[total.labels.index(label)]
            class_influence = self.one_vs_rest(label).influence(measure.plain, table)
            if class_influence is None:
                return None
            average_influence = (
                weight * class_influence
                if average_influence is None
                else average_influence + weight * class_influence
            )
        return average_influence

    def _is_average(self, measure: Measure) -> bool:
        """Return whether the measure is an average of one-vs-rest measures of scores."""
        is_macro_or_weighted = (
            measure.average in ("macro", "weighted") and measure.definition.statistic is ScoreTable
        )
        return is_macro_or_weighted and self.score is not None

    def _tables(self, measure: Measure) -> ClassTables:
        """Return the statistics that batches accumulate for such an average.

        They are the same for all averages of one kind.
        """
        p, plain = self.class_rows, measure.plain

        def make_tables() -> ClassTables:
            tables = [self.one_vs_rest(label).batch_statistic(plain) for label in p.names]
            return ClassTables(p.names, tuple(tables), p.class_sizes)

        return self.cached(("tables", measure.definition.reads), make_tables)

    def _skill_rows(self, measure: Measure) -> SkillRows | None:
        """Return the rows of a batch for a skill score, or None for other measures."""
        p, skill_of = self.class_rows, measure.definition.skill_of
        if skill_of is None or measure.label is not None or self.class_scores is None:
            return None
        loss = parse(skill_of, "probabilities")

        def get_constant_losses(proportions: FloatArray) -> FloatArray:
            names = ClassLabels(p.names, np.arange(len(proportions)))
            return MulticlassRows(names, proportions, None, p.settings).constant_losses(loss)

        def make_rows() -> SkillRows:
            rows = p.truth, p.class_sizes, p.weight, p.clusters
            return SkillRows(loss, self.losses(loss), *rows, get_constant_losses)

        return self.cached(("saved", skill_of), make_rows)

    def composite_estimate(self, measure: Measure) -> PointEstimate:
        """Return the point estimate of a skill score, or of an average over classes with rows."""
        if measure.definition.skill_of is not None:
            p, loss = self.class_rows, parse(measure.definition.skill_of, "probabilities")
            constant_losses = p.constant_losses(loss)
            constant = ConstantPrediction(
                p.truth, p.class_proportions, constant_losses, p.weight, p.clusters, self.settings
            )
            return estimate_skill(measure, loss, self.losses(loss), constant)
        if measure.average == "micro":
            return micro_average(self, self._pooled_output(measure), measure)
        if measure.average in PAIRWISE_AVERAGES:
            terms = [
                (weight, self._pair_estimate(pair, measure))
                for pair, weight in self._pairs(measure)
            ]
            return average_of_scores(measure, terms, self.n_rows, self.settings, "one_class")
        terms = [
            (weight, self.one_vs_rest(name).point_estimate(measure.plain))
            for name, weight in self._class_weights(measure).items()
        ]
        return average_of_scores(measure, terms, self.n_rows, self.settings)

    def _class_weights(self, measure: Measure) -> dict[str, float]:
        return class_weights(measure, self.class_rows.names, self.class_rows.class_proportions)

    def _pairs(self, measure: Measure) -> list[tuple[tuple[int, int], float]]:
        """Return all ordered pairs of classes with rows, and their weights."""
        sizes = self.class_rows.class_sizes * measure.picked(self.class_rows.names)
        pairs = list(permutations(np.flatnonzero(sizes).tolist(), 2))
        is_weighted = measure.average == "weighted-ovo"
        pair_weights = np.array([sizes[list(pair)].sum() if is_weighted else 1.0 for pair in pairs])
        return (
            list(zip(pairs, (pair_weights / pair_weights.sum()).tolist(), strict=True))
            if pairs
            else []
        )

    def _pair_output(self, pair: tuple[int, int], *, only_pair_rows: bool) -> binary.BinaryOutput:
        """Return the first class of a pair against the second, by the scores of the first.

        It has only the rows of the pair if ``only_pair_rows``; otherwise all rows, where the others
        have weight 0.
        """
        assert self.score is not None
        p, (first, second) = self.class_rows, pair
        pair_mask = (p.truth == first) | (p.truth == second)
        weight = p.weight if only_pair_rows else pair_mask * (1.0 if p.weight is None else p.weight)
        output = binary.BinaryOutput(
            self.name,
            BinaryLabels((p.names[second], p.names[first]), p.truth == first),
            weight,
            self.settings,
            score=np.ascontiguousarray(self.score[:, first], np.float64),
            clusters=p.clusters,
        )
        return output.take_rows(pair_mask) if only_pair_rows else output

    def _pair_estimate(self, pair: tuple[int, int], measure: Measure) -> PointEstimate:
        p, plain = self.class_rows, measure.plain
        return extend_to_all_rows(
            self._pair_output(pair, only_pair_rows=True).point_estimate(plain),
            np.flatnonzero((p.truth == pair[0]) | (p.truth == pair[1])),
            self.n_rows,
            VarianceEstimator(p.weight, p.clusters),
            lambda: self._pair_output(
                pair, only_pair_rows=False
            ).score_rows.paired_replicates.evaluate(plain),
        )

    def _pooled_output(self, measure: Measure) -> binary.BinaryOutput:
        """Return all classes of all rows as one binary problem."""
        assert self.score is not None
        picked = np.flatnonzero(measure.picked(self.class_rows.names))
        return pool_classes(self, self.class_rows.truth[:, None] == picked, self.score[:, picked])

    def losses(self, measure: Measure) -> FloatArray:
        """Return the loss of each row."""
        assert self.class_scores is not None
        truth: Any = self.class_rows.truth  # losses take numbers of any kind
        return measure.losses(truth, self.class_scores)

    def constant_value(self, measure: Measure) -> float:
        """Return the value of the best constant prediction."""
        d = measure.definition
        if d.statistic is ConfusionMatrix:
            if measure.label is None:
                return best_constant_value(measure, self.counts.constant_matrices)
            return best_constant_value(
                measure.plain, self.counts.matrix.class_matrix(measure.label).constant_predictions()
            )
        if self.binary_problem(measure) is not None:
            return super().constant_value(measure)
        if d.statistic is ClassRanks:  # the best constant prediction ranks the classes by frequency
            proportions = np.sort(self.class_rows.class_proportions)[::-1]
            ranks: Any = np.arange(len(proportions))  # without ties
            return float((proportions * measure.losses(ranks, np.zeros_like(ranks))).sum())
        if d.skill_of is not None:
            return 0.0 if np.count_nonzero(self.class_rows.class_sizes) > 1 else NAN
        if d.statistic is ScoreTable:
            if measure.average == "micro":
                systems, weights = [self._pooled_output(measure)], [1.0]
            elif measure.average in PAIRWISE_AVERAGES:
                pairs = self._pairs(measure)
                systems = [self._pair_output(pair, only_pair_rows=True) for pair, _ in pairs]
                weights = [weight for _, weight in pairs]
            else:
                weight_by_class = self._class_weights(measure)
                systems = [self.one_vs_rest(name) for name in weight_by_class]
                weights = list(weight_by_class.values())
            values = [
                float(measure.plain.apply(system.score_table.with_constant_score()))
                for system in systems
            ]
            if not values:
                return NAN
            return sum(w * value for w, value in zip(weights, values, strict=True))
        moments = self.class_rows.constant_moments(measure) or self.statistic(measure)
        assert moments is not None
        return float(measure.apply(moments))

    @cached_property
    def counts(self) -> ClassCounts:
        """Confusion matrix, with its resampling."""
        assert self.predicted is not None
        p = self.class_rows
        count_measures = tuple(
            m for m in self.measures if m.definition.statistic is ConfusionMatrix
        )
        return ClassCounts.from_codes(
            p.truth, self.predicted, p.names, self.settings, p.weight, p.clusters, count_measures
        )

    @cached_property
    def ranks(self) -> RankedClasses:
        """Ranks of the true classes."""
        assert self.score is not None
        p = self.class_rows
        return RankedClasses(p.truth, self.score, p.weight, p.clusters, self.settings)

    def one_vs_rest(self, label: str) -> binary.BinaryOutput:
        """Return one class against all others as a binary problem, by the scores of that class."""
        return self.cached(label, lambda: self._make_one_vs_rest(label))

    def _make_one_vs_rest(self, label: str) -> binary.BinaryOutput:
        assert self.score is not None
        problem = self.class_rows
        score = np.ascontiguousarray(self.score[:, problem.names.index(label)], np.float64)
        plain_measures = [
            m.plain for m in self.measures if m.average is not None or m.label == label
        ]
        return binary.BinaryOutput(
            self.name,
            problem.one_vs_rest_labels(label),
            problem.weight,
            self.settings,
            score=score,
            probability=score if self.is_probability else None,
            clusters=problem.clusters,
            measures=tuple(dict.fromkeys(plain_measures)),
        )

    @cached_property
    def confidence_output(self) -> binary.BinaryOutput:
        """Binary problem of whether the most probable class is the true one.

        Its probability is the confidence in the predicted label: a calibration measure of it is one
        of confidence calibration (Guo et al. 2017).
        """
        assert self.class_scores is not None
        problem = self.class_rows
        is_right, probability = top_label(
            problem.truth, self.class_scores.table, self.class_scores.top_class
        )
        return binary.BinaryOutput(
            self.name,
            BinaryLabels(("wrong", "right"), is_right),
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
    """Return whether the most probable class of each row is correct, and its probability.

    ``truth`` has class indices from 0, ``probability`` one column per class. Calibration measures
    of the two returned columns are those of the confidence in the predicted label (Guo et al.
    2017). The first of equally probable classes is the predicted one; ``highest`` has the predicted
    classes if they are known.

    Parameters
    ----------
    truth : array of int of shape (n,)
        True class of each row.
    probability : array of shape (n, n_classes)
        Probability of each class.
    highest : array of int of shape (n,), optional
        Predicted class of each row.

    Returns
    -------
    array of bool of shape (n,)
        Whether the predicted class is the true one.
    array of shape (n,)
        Probability of the predicted class.

    References
    ----------
    Guo, Pleiss, Sun and Weinberger (2017). On calibration of modern neural networks. ICML.

    Examples
    --------
    >>> top_label(np.array([2, 0]), np.array([[0.1, 0.3, 0.6], [0.2, 0.5, 0.3]]))
    (array([ True, False]), array([0.6, 0.5]))
    """
    predicted = probability.argmax(axis=1) if highest is None else highest
    confidence = probability[np.arange(len(truth)), predicted]
    return predicted == truth, confidence.astype(np.float64, copy=False)
