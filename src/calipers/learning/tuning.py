"""Threshold tuning: thresholds chosen by a rule on rows that are not measured, and their gain.

The gain is estimated on the rows of the choice and on the measured rows, for models and for
external predictions.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from calipers.data.arrays import check_length, to_numbers
from calipers.data.binary_labels import (
    BinaryLabels,
    encode_binary,
    encode_predictions,
    find_positive_class,
    positive_probability,
)
from calipers.data.class_labels import encode_labels, label_name
from calipers.data.errors import InputError, did_you_mean, format_value
from calipers.evaluate.classification import classification
from calipers.evaluation.arguments import check_finite
from calipers.evaluation.models import positive_column
from calipers.evaluation.shared import column_name, named_systems
from calipers.inference.resampled_tests import corrected_t
from calipers.lazy_dataclasses import dataclass
from calipers.learning.fitting import FitJob, Indices
from calipers.learning.predictions import ModelPredictions
from calipers.learning.split_designs import (
    RowConstraints,
    SplitDesign,
    TrainTestIndices,
    make_design,
)
from calipers.measures import Measure
from calipers.results import Estimate
from calipers.results.learning import TunedThreshold
from calipers.statistics import ConfusionMatrix, FloatArray, ScoreTable
from calipers.systems.thresholds import ThresholdRule

#: Error message for inner folds without a rule for the threshold.
INNER_CV_WITHOUT_RULE = "inner_cv= goes with a rule for the threshold, as in threshold='F1'"
#: Default number of folds within the training rows that choose a threshold.
DEFAULT_INNER_FOLDS = 5


class ScoredRows(NamedTuple):
    """Truth, scores, default predictions and weights of the rows of two classes.

    ``default_mask`` are the rows that are predicted positive at the default threshold; None if
    there is no default.
    """

    truth: npt.NDArray[np.bool_]
    score: FloatArray
    default_mask: npt.NDArray[np.bool_] | None
    weight: FloatArray | None

    def value(self, measure: Measure, threshold: float) -> float:
        """Return a measure of the confusion matrix at a threshold."""
        return self._value(measure, self.score >= threshold)

    def default_value(self, measure: Measure) -> float:
        """Return a measure of the confusion matrix at the default threshold."""
        return math.nan if self.default_mask is None else self._value(measure, self.default_mask)

    def _value(self, measure: Measure, predicted: npt.NDArray[np.bool_]) -> float:
        matrix = ConfusionMatrix.from_codes(self.truth, predicted, weight=self.weight)
        return float(measure.apply(matrix))


def concat_rows(subsets: Sequence[ScoredRows]) -> ScoredRows:
    """Concatenate the rows of several subsets."""
    default_masks = [subset.default_mask for subset in subsets if subset.default_mask is not None]
    weights = [subset.weight for subset in subsets if subset.weight is not None]
    return ScoredRows(
        np.concatenate([subset.truth for subset in subsets]),
        np.concatenate([subset.score for subset in subsets]),
        np.concatenate(default_masks) if len(default_masks) == len(subsets) else None,
        np.concatenate(weights) if len(weights) == len(subsets) else None,
    )


class ThresholdChoice(NamedTuple):
    """Threshold, and the rows that it was chosen on."""

    threshold: float
    rows: ScoredRows


class TunedThresholds(NamedTuple):
    """Thresholds of one model, one for each split, and the scored test rows of each split."""

    choices: list[ThresholdChoice]
    test_rows: list[ScoredRows]


@dataclass(frozen=True, eq=False)
class ThresholdTuning:
    """Rule that chooses thresholds within the training rows, with the names of the two classes.

    ``rule`` may be a number, which is then the threshold. ``names`` are the negative and the
    positive class, ``n_inner_folds`` is the number of folds within the training rows that a
    threshold is chosen on.
    """

    rule: ThresholdRule | float
    names: tuple[str, str]
    n_inner_folds: int
    stratify: bool | None
    seed: int

    @classmethod
    def from_arguments(
        cls, threshold: Any, target: Any, positive: Any, inner: int | None, *,
        stratify: bool | None, seed: int, label: str = "y",
    ) -> ThresholdTuning | None:  # fmt: skip
        """Return the tuning of checked arguments; None if no threshold is given."""
        if threshold is None:
            return None
        if isinstance(threshold, ThresholdRule):
            rule: ThresholdRule | float = threshold
        elif isinstance(threshold, str):
            rule = _parse_rule(threshold)
        else:
            rule = check_finite(
                threshold, "threshold", "a finite number or a rule such as 'accuracy'"
            )
        names = encode_labels(target, label).names
        if len(names) != 2:
            raise InputError(f"threshold= requires two classes; {label} has {len(names)}")
        if positive is None:
            positive_index = find_positive_class(names)
            if positive_index is None:
                raise InputError(
                    f"threshold= requires the positive class, {names[0]!r} or {names[1]!r}; give "
                    "positive="
                )
        elif label_name(positive) in names:
            positive_index = names.index(label_name(positive))
        else:
            raise InputError(
                f"positive: {format_value(positive)}; {did_you_mean(label_name(positive), names)}"
            )
        inner = DEFAULT_INNER_FOLDS if inner is None else inner
        if inner < 2:
            raise InputError(f"inner_cv is {inner}, expected 2 folds or more")
        return cls(rule, (names[1 - positive_index], names[positive_index]), inner, stratify, seed)

    @property
    def has_rule(self) -> bool:
        """Whether a rule chooses the threshold."""
        return isinstance(self.rule, ThresholdRule)

    @property
    def confusion_measures(self) -> tuple[Measure, ...]:
        """Measures of the confusion matrix that the rule uses."""
        if not isinstance(self.rule, ThresholdRule):
            return ()
        rule_measures = [self.rule.measure, *(bound.measure for bound in self.rule.bounds)]
        return tuple(
            measure for measure in rule_measures if measure.definition.statistic is ConfusionMatrix
        )

    @property
    def inner_folds_text(self) -> str:
        """Description of the rows that thresholds are chosen on."""
        return f"{self.n_inner_folds} folds within the training rows"

    # --- Predictions of models ----------------------------------------------------------------

    def inner_jobs(self, job: FitJob, constraints: RowConstraints) -> list[FitJob]:
        """Return the fits that choose the threshold of a job: the same model on folds of its rows.

        Folds are the same for all models with the same training rows.
        """
        if not self.has_rule:
            return []
        raw_seed = np.random.SeedSequence((self.seed, 1, *job.seed_key)).generate_state(1)[0]
        seed = int(raw_seed >> 1)  # scikit-learn takes 31 bits
        job_constraints = constraints.take_rows(job.train)
        try:
            design = make_design(
                self.n_inner_folds, 1, job_constraints, None, stratify=self.stratify, seed=seed
            )
        except InputError as error:
            raise InputError(f"{job.name}, to choose a threshold within: {error}") from None
        return [
            replace(
                job, train=job.train[fold.train], eval_parts=(job.train[fold.test],),
                seed_key=(*job.seed_key, fold.fold), name=f"{job.name}, within",
            )
            for fold in design.folds
        ]  # fmt: skip

    def score_rows(
        self, predictions: ModelPredictions, truth: Any, weight: Any, name: str
    ) -> ScoredRows:
        """Return the predictions of a model as scores of the positive class."""
        table = (
            predictions.probability if predictions.probability is not None else predictions.scores
        )
        classes = (
            [label_name(label) for label in predictions.classes]
            if predictions.classes is not None
            else []
        )
        if table is None:
            raise InputError(
                f"{name}: threshold= requires predict_proba or decision_function, which the model "
                "does not have"
            )
        if set(classes) != set(self.names):
            raise InputError(
                f"{name}: a model was trained on rows of {len(classes)} classes, expected both "
                f"{self.names[0]!r} and {self.names[1]!r}; use fewer folds, or stratified ones"
            )
        score = np.asarray(positive_column(table, classes, self.names[1]), np.float64)
        return ScoredRows(
            self.positive_mask(truth), score, self.positive_mask(predictions.labels), weight
        )

    def positive_mask(self, labels: Any) -> npt.NDArray[np.bool_]:
        """Return which labels are those of the positive class."""
        distinct, codes = np.unique(np.asarray(labels), return_inverse=True)
        return np.array([label_name(label) == self.names[1] for label in distinct], np.bool_)[codes]

    def labels(self, predictions: ModelPredictions, predicted: npt.NDArray[np.bool_]) -> Any:
        """Return the labels of a model for rows that are predicted positive or negative."""
        positive_index = [label_name(label) for label in predictions.classes].index(self.names[1])
        return np.asarray(predictions.classes)[
            np.where(predicted, positive_index, 1 - positive_index)
        ]

    # --- Choosing, and what it gains ----------------------------------------------------------

    def choose(self, rows: ScoredRows, name: str) -> ThresholdChoice:
        """Return the threshold that the rule chooses on some rows."""
        if not isinstance(self.rule, ThresholdRule):
            return ThresholdChoice(float(self.rule), rows)
        table = ScoreTable.from_rows(rows.truth, rows.score, rows.weight)
        threshold = float(self.rule.threshold(table))
        if math.isnan(threshold):
            raise InputError(
                f"{name}: no threshold satisfies the rule {self.rule} on the {len(rows.truth):,} "
                "rows that it is chosen on"
            )
        return ThresholdChoice(threshold, rows)

    def summarize(
        self,
        system: str,
        measure: Measure,
        choices: Sequence[ThresholdChoice],
        tested: Sequence[ScoredRows],
        chosen_on: str,
        gain: Callable[[FloatArray], Estimate],
    ) -> TunedThreshold:
        """Return the gain of tuned thresholds, on the rows of the choice and on test rows.

        ``gain`` estimates the mean of the gains on the test rows.
        """
        pairs = list(zip(choices, tested, strict=True))
        choice_values = [c.rows.value(measure, c.threshold) for c in choices]
        tuned_values = np.array([rows.value(measure, c.threshold) for c, rows in pairs])
        default_values = np.array([rows.default_value(measure) for rows in tested])
        return TunedThreshold(
            system,
            str(self.rule),
            str(measure),
            chosen_on,
            float(np.mean(choice_values)),
            float(np.mean([c.rows.default_value(measure) for c in choices])),
            float(tuned_values.mean()),
            float(default_values.mean()),
            gain(tuned_values - default_values),
            np.array([c.threshold for c in choices]),
        )


def _parse_rule(text: str) -> ThresholdRule:
    try:
        return ThresholdRule.parse(text)
    except InputError as error:
        raise InputError(f"threshold: {error}") from None


def split_gain_estimator(
    measure: Measure, sizes: tuple[float, float], level: float
) -> Callable[[FloatArray], Estimate]:
    """Return a function that estimates the mean gain over splits by the corrected resampled t."""

    def gain(values: FloatArray) -> Estimate:
        if not np.isfinite(values).all():
            return _undefined_gain(measure, float(values.mean()), level, "undefined_value")
        split_test = corrected_t(values, *sizes, level=level)
        interval = split_test.interval
        return Estimate(
            str(measure), split_test.mean, interval.low, interval.high, level, interval.method,
            n=split_test.n_splits, n_total=split_test.n_splits, unit="splits",
            interval_reason=interval.reason, standard_error=interval.se, system="gain",
        )  # fmt: skip

    return gain


def paired_gain_estimator(
    measure: Measure,
    choice: ThresholdChoice,
    rows: ScoredRows,
    names: tuple[str, str],
    **options: Any,
) -> Callable[[FloatArray], Estimate]:
    """Return a function that estimates the gain of one split, paired by its test rows."""

    def gain(values: FloatArray) -> Estimate:
        value = float(values[0])
        if rows.default_mask is None or math.isnan(value):
            return _undefined_gain(measure, value, options["level"], "undefined_value")
        predicted = {"tuned": rows.score >= choice.threshold, "usual": rows.default_mask}
        class_names = np.array(names)
        difference = classification(
            class_names[rows.truth.astype(np.intp)],
            {name: class_names[mask.astype(np.intp)] for name, mask in predicted.items()},
            labels=list(names), positive=names[1], measures=[measure], weight=rows.weight,
            curves=False, **options,
        ).compare(baseline="usual")[str(measure)]  # fmt: skip
        return Estimate(
            str(measure), value, difference.low, difference.high, difference.level,
            difference.method, n=difference.n, n_total=difference.n, unit=difference.unit,
            interval_reason=difference.interval_reason, standard_error=difference.standard_error,
            system="gain",
        )  # fmt: skip

    return gain


def _undefined_gain(measure: Measure, value: float, level: float, reason: str) -> Estimate:
    return Estimate(str(measure), value, level=level, interval_reason=reason, system="gain")


@dataclass(frozen=True, eq=False)
class ThresholdGains:
    """Gains of ``thresholds_by_name`` thresholds by model.

    ``chosen_on`` describes the rows of the choice. ``sizes`` are the numbers of training and test
    rows of all splits, None if there is one split, whose intervals are those of its rows.
    ``interval_options`` are options of the intervals.
    """

    tuning: ThresholdTuning
    thresholds_by_name: Mapping[str, TunedThresholds]
    chosen_on: str
    sizes: tuple[float, float] | None
    interval_options: Mapping[str, Any]

    def summarize(self, measures: Sequence[Measure]) -> tuple[TunedThreshold, ...]:
        """Return the gains by each measure of the rule.

        If the rule uses no measure of the confusion matrix, the first one evaluated is used.
        """
        count_measures = (
            measure for measure in measures if measure.definition.statistic is ConfusionMatrix
        )
        gauges = self.tuning.confusion_measures or tuple(count_measures)[:1]
        return tuple(
            self._summarize_model(name, thresholds, measure)
            for name, thresholds in self.thresholds_by_name.items()
            for measure in gauges
        )

    def _summarize_model(
        self, name: str, thresholds: TunedThresholds, measure: Measure
    ) -> TunedThreshold:
        if self.sizes is None:
            choice, rows = thresholds.choices[0], thresholds.test_rows[0]
            gain = paired_gain_estimator(
                measure, choice, rows, self.tuning.names, **self.interval_options
            )
        else:
            gain = split_gain_estimator(measure, self.sizes, self.interval_options["level"])
        return self.tuning.summarize(name, measure, *thresholds, self.chosen_on, gain)


#: Default threshold of probabilities, at or above which a row is predicted positive.
_DEFAULT_THRESHOLD = 0.5


class ThresholdedLabels(NamedTuple):
    """Labels at the tuned thresholds, a column for each system, and the thresholds."""

    labels: dict[str, Any]
    thresholds: dict[str, TunedThresholds]


def tune_predictions(
    tuning: ThresholdTuning,
    design: SplitDesign,
    truth: Any,
    prediction_columns: Mapping[str, Any],
    weight: FloatArray | None,
) -> ThresholdedLabels:
    """Tune the thresholds of external predictions.

    The threshold of each fold is chosen on the other folds of its repetition, whose predictions are
    out-of-fold; with a single split it is chosen on the validation rows.

    Raises
    ------
    InputError
        If no system has scores, or there are no other rows to choose on.
    """
    classes = encode_binary(truth, tuning.names[1])
    predicted_masks = {
        name: _positive_mask(values, classes, column_name("predicted", name))
        for name, values in _columns_by_system(prediction_columns["predicted"], "predicted").items()
    }
    labels = {
        name: np.array(tuning.names)[mask.astype(np.intp)] for name, mask in predicted_masks.items()
    }
    result = ThresholdedLabels(labels, {})
    for kind in ("probability", "score"):
        for name, values in _columns_by_system(prediction_columns[kind], kind).items():
            score = _positive_score(values, classes, kind)
            default_mask = predicted_masks.get(name)
            if default_mask is None and kind == "probability":
                default_mask = score >= _DEFAULT_THRESHOLD
            predicted = (
                np.zeros(len(score), np.bool_) if default_mask is None else default_mask.copy()
            )
            tuned = result.thresholds[name] = TunedThresholds([], [])
            for fold in design.folds:
                choice = tuning.choose(
                    _make_scored_rows(
                        classes, score, default_mask, weight, _choice_rows(design, fold)
                    ),
                    f"{name}, {fold.name or fold.fold + 1}",
                )
                tested = _make_scored_rows(classes, score, default_mask, weight, fold.test)
                tuned.choices.append(choice)
                tuned.test_rows.append(tested)
                predicted[fold.test] = tested.score >= choice.threshold
            labels[name] = np.array(tuning.names)[predicted.astype(np.intp)]
    if not result.thresholds:
        raise InputError("threshold= requires scores or probabilities; give score= or probability=")
    return result


def _columns_by_system(values: Any, kind: str) -> Mapping[str, Any]:
    return {} if values is None else named_systems(values, kind)


def _positive_mask(values: Any, classes: BinaryLabels, label: str) -> npt.NDArray[np.bool_]:
    """Return which rows a system predicts positive."""
    mask = encode_predictions(values, classes, label)
    check_length(mask, len(classes.positive), label)
    return np.asarray(mask, np.bool_)


def _positive_score(values: Any, classes: BinaryLabels, kind: str) -> FloatArray:
    """Return the score of the positive class of each row."""
    if kind == "probability":
        score = positive_probability(values, classes, kind)
    else:
        score = to_numbers(values, kind)
    check_length(score, len(classes.positive), kind)
    return np.asarray(score, np.float64)


def _make_scored_rows(
    classes: BinaryLabels,
    score: FloatArray,
    default_mask: npt.NDArray[np.bool_] | None,
    weight: FloatArray | None,
    rows: Indices,
) -> ScoredRows:
    part_mask = None if default_mask is None else default_mask[rows]
    return ScoredRows(
        classes.positive[rows], score[rows], part_mask, None if weight is None else weight[rows]
    )


def _choice_rows(design: SplitDesign, fold: TrainTestIndices) -> Indices:
    """Return the rows that the threshold of a fold is chosen on."""
    if design.split is not None:
        if fold.name == "validation":
            raise InputError(
                "threshold= is chosen on the validation rows, and these are the measured rows; "
                "expected a split that also has test rows, measured with on='test' (the default)"
            )
        if not design.validation_indices:
            raise InputError(
                "split: there are no validation rows, on which threshold= is chosen; expected "
                "training, validation and test rows"
            )
        return design.validation_indices[0]
    if not len(fold.train):
        raise InputError("threshold= requires other folds to choose it on, but there is one fold")
    return fold.train
