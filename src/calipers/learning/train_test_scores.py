"""Scores of models on their training rows and on other rows."""

from __future__ import annotations

import math
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from calipers.data.arrays import check_length, to_array, to_numbers
from calipers.data.binary_labels import find_positive_class
from calipers.data.class_labels import encode_labels, label_name
from calipers.data.errors import InputError, format_value
from calipers.data.frequency_weights import RowRepeats
from calipers.data.times import time_codes
from calipers.evaluate.assumptions import parse_measure
from calipers.evaluate.classification import classification
from calipers.evaluate.regression import regression
from calipers.evaluate.scorer import Scorer, has_only_known_classes, make_scorer
from calipers.evaluate.splits import compare_splits
from calipers.evaluation.models import n_rows
from calipers.evaluation.options import check_level
from calipers.inference.resampled_tests import SplitTestResult, corrected_t
from calipers.lazy_dataclasses import dataclass
from calipers.learning.fitting import (
    FitJob,
    FitResult,
    FitResults,
    Indices,
    Progress,
    TrainingData,
    fit_all,
    report_progress,
    require_sklearn,
    shared_group_notes,
)
from calipers.learning.predictions import (
    ModelPredictions,
    check_named_estimators,
    is_classification,
    predict_classifier,
)
from calipers.learning.split import to_split
from calipers.learning.split_designs import (
    RowConstraints,
    SplitDesign,
    make_design,
    single_split_design,
)
from calipers.learning.tuning import (
    INNER_CV_WITHOUT_RULE,
    ScoredRows,
    ThresholdChoice,
    ThresholdTuning,
    concat_rows,
    paired_gain_estimator,
    split_gain_estimator,
)
from calipers.results import Difference, Estimate, Evaluation
from calipers.results.learning import TunedThreshold
from calipers.statistics import FloatArray

#: Default measures, by whether the estimator is a classifier.
DEFAULT_MEASURES = {True: "error-rate", False: "MSE"}


@dataclass(frozen=True, eq=False)
class ScoringTask:
    """One estimator, its data, the design of the splits, and the measure."""

    estimator: Any
    training_data: TrainingData
    constraints: RowConstraints
    scorer: Scorer
    design: SplitDesign
    level: float
    seed: int

    tuning: ThresholdTuning | None = None

    @classmethod
    def from_arguments(
        cls,
        estimator: Any,
        X: Any,
        y: Any,
        *,
        measure: Any,
        positive: Any,
        cv: Any,
        repeats: int | None,
        stratify: bool | None,
        group: Any,
        time: Any,
        weight: Any,
        level: float,
        seed: int,
        split: Any = None,
        subsets: Sequence[str] = ("validation",),
        threshold: Any = None,
        n_inner_folds: int | None = None,
        needs_inner_folds: bool = False,
        defaults: tuple[int, int] = (10, 1),
    ) -> ScoringTask:
        """Return a task from the checked arguments of a public function.

        With a given split, the rows of the first non-empty subset of ``subsets`` are measured.
        ``needs_inner_folds`` is true if ``n_inner_folds`` folds are used for more than thresholds.
        """
        require_sklearn()
        if isinstance(estimator, Mapping):
            raise InputError("estimator is a dict, expected one estimator")
        check_level(level)
        is_classifier = is_classification(check_named_estimators(estimator))
        if X is None or y is None:
            raise InputError("features and a truth are missing: give (estimator, X, y)")
        target = check_target(X, y, is_classifier=is_classifier)
        weights = RowRepeats(len(target)).check_weights(weight)
        groups = None if group is None else encode_labels(group, "group").codes
        if groups is not None:
            check_length(groups, len(target), "group")
        material = TrainingData(X, target, weights, groups)
        parsed_measure = parse_measure(
            measure or DEFAULT_MEASURES[is_classifier],
            "classification" if is_classifier else "regression",
        )
        constraints = RowConstraints(
            len(target), target, is_classifier, groups, check_time(time, len(target))
        )
        if threshold is not None and not is_classifier:
            raise InputError("threshold= requires two classes; the estimator predicts numbers")
        if threshold is not None and parsed_measure.definition.reads != "labels":
            raise InputError(
                f"threshold= makes labels, and {parsed_measure} reads "
                f"{parsed_measure.definition.reads}: name a "
                "measure of labels, such as F1"
            )
        tuning = ThresholdTuning.from_arguments(
            threshold, target, positive, n_inner_folds, stratify=stratify, seed=seed
        )
        uses_inner_folds = needs_inner_folds or (tuning is not None and tuning.has_rule)
        if n_inner_folds is not None and not uses_inner_folds:
            raise InputError(INNER_CV_WITHOUT_RULE)
        if split is None:
            design = make_design(
                cv, repeats, constraints, X, stratify=stratify, seed=seed, defaults=defaults
            )
        else:
            row_split = to_split(split, len(target))
            measured = next(
                (
                    parsed_measure
                    for parsed_measure in subsets
                    if parsed_measure in row_split.subsets
                ),
                subsets[0],
            )
            others = {"cv": cv, "n_repeats": repeats}
            if not uses_inner_folds or (needs_inner_folds and len(row_split.validation)):
                others["stratify"] = stratify
            design = single_split_design(row_split, measured, constraints, others)
        return cls(
            estimator,
            material,
            constraints,
            make_scorer(parsed_measure, positive),
            design,
            level,
            seed,
            tuning,
        )

    @property
    def measure(self) -> str:
        """Name of the measure."""
        return str(self.scorer.measure)

    def split_name(self, fold: str) -> str:
        """Return the name of a split in messages."""
        return f"fold {fold}" if self.design.split is None else "the split"

    @property
    def higher_is_better(self) -> bool:
        """Whether higher values of the measure are better."""
        return self.scorer.sign > 0

    @property
    def mean_sizes(self) -> tuple[float, float]:
        """Mean numbers of training and test rows of a split."""
        train, test = self.design.sizes
        return train / len(self.design.folds), test / len(self.design.folds)

    def estimate_mean(self, values: FloatArray, sizes: tuple[float, float], name: str) -> Estimate:
        """Estimate the mean of values over splits, with the corrected resampled t interval."""
        return self._estimate(corrected_t(values, *sizes, level=self.level), name)

    def _estimate(self, split_test: SplitTestResult, name: str) -> Estimate:
        interval = split_test.interval.clip(*self.scorer.measure.definition.range)
        return Estimate(
            self.measure, split_test.mean, interval.low, interval.high, self.level,
            interval.method, n=split_test.n_splits, n_total=split_test.n_splits, unit="splits",
            interval_reason=interval.reason, standard_error=interval.se, system=name,
        )  # fmt: skip

    def score_jobs(
        self,
        jobs: Sequence[FitJob],
        jobs_per_split: int,
        n_jobs: int | None,
        function_name: str,
        progress: Progress,
    ) -> ScoreArray:
        """Fit the jobs, ``jobs_per_split`` of them per split, and measure every requested subset.

        If Ctrl-C interrupts, the values are those of the splits that were finished.
        """
        tuning = self.tuning
        inner_jobs = [
            [] if tuning is None else tuning.inner_jobs(job, self.constraints) for job in jobs
        ]
        all_jobs = [
            item for job, inner in zip(jobs, inner_jobs, strict=True) for item in (job, *inner)
        ]
        predict = self.scorer.get_predictions if tuning is None else predict_classifier
        with report_progress(progress):
            fits: FitResults[Any] = fit_all(
                all_jobs,
                self.training_data,
                predict,
                seed=self.seed,
                n_jobs=n_jobs,
                label="fitting model",
            )
        stops = np.cumsum([1 + len(inner) for inner in inner_jobs])
        n_finished = int(np.searchsorted(stops, fits.n_finished, side="right")) // jobs_per_split
        models = {type(job.estimator).__name__: job.estimator for job in jobs}
        task, notes = self, shared_group_notes(models, self.training_data)
        if fits.interrupted:
            if n_finished < min(2, len(self.design.folds)):
                raise KeyboardInterrupt
            finished = f"{n_finished} of {len(self.design.folds)} splits"
            notes.append(f"Interrupted: these numbers are of {finished}, which were finished.")
            warnings.warn(f"{function_name} was interrupted after {finished}", stacklevel=4)
            task = replace(self, design=replace(self.design, folds=self.design.folds[:n_finished]))
        tables = np.full((len(jobs[0].eval_parts), n_finished * jobs_per_split), math.nan)
        predictions: list[list[Any]] = []
        choices: list[tuple[ThresholdChoice, list[ScoredRows]]] = []
        for index, (job, end) in enumerate(
            zip(jobs[: n_finished * jobs_per_split], stops, strict=False)
        ):
            job_fits = [
                fit
                for fit in fits.results[end - 1 - len(inner_jobs[index]) : end]
                if fit is not None
            ]
            part_predictions = list(job_fits[0].predictions)
            if tuning is not None:
                choice, rows = self._tune(tuning, job, job_fits, inner_jobs[index])
                part_predictions = [
                    (tuning.labels(item, scored.score >= choice.threshold), _known_labels(item))
                    for item, scored in zip(job_fits[0].predictions, rows, strict=True)
                ]
                choices.append((choice, rows))
            predictions.append(part_predictions)
            for subset_index, (subset_rows, item) in enumerate(
                zip(job.eval_parts, part_predictions, strict=True)
            ):
                tables[subset_index, index] = self._value(subset_rows, item, job.name)
        values = tables.reshape(len(tables), n_finished, jobs_per_split)
        return ScoreArray(
            task, tuple(jobs[: n_finished * jobs_per_split]), values, notes, predictions, choices
        )

    def _tune(
        self,
        tuning: ThresholdTuning,
        job: FitJob,
        fits: Sequence[FitResult[Any]],
        inner: Sequence[FitJob],
    ) -> tuple[ThresholdChoice, list[ScoredRows]]:
        """Return the threshold of a job, chosen on its rows, and the scored rows of each subset."""
        rows = [
            tuning.score_rows(item, *self._truth_and_weight(indices), job.name)
            for item, indices in zip(fits[0].predictions, job.eval_parts, strict=True)
        ]
        if not inner:
            return tuning.choose(rows[0], job.name), rows
        inner_rows = [
            tuning.score_rows(
                fit.predictions[0], *self._truth_and_weight(item.eval_parts[0]), item.name
            )
            for fit, item in zip(fits[1:], inner, strict=True)
        ]
        return tuning.choose(concat_rows(inner_rows), job.name), rows

    def _truth_and_weight(self, rows: Indices) -> tuple[Any, Any]:
        """Return the truth and the weight of rows."""
        weight = self.training_data.weight
        return self.training_data.target[rows], None if weight is None else weight[rows]

    def row_predictions(
        self, rows: Indices, predictions: Mapping[str, tuple[Any, Mapping[str, Any]]]
    ) -> RowPredictions:
        """Return predictions for some rows, with truth, weights, clusters and times."""
        truth, weight = self._truth_and_weight(rows)
        return RowPredictions(
            self.scorer, truth, predictions, weight, **self.interval_options(rows), seed=self.seed
        )

    def interval_options(self, rows: Indices) -> dict[str, Any]:
        """Return clusters, times and level, which intervals of rows are computed with."""
        group, time = self.constraints.group, self.constraints.time
        return {
            "cluster": None if group is None else np.asarray(group)[rows],
            "time": None if time is None else time[rows],
            "level": self.level,
        }

    def _value(self, rows: Any, predictions: tuple[Any, Mapping[str, Any]], name: str) -> float:
        truth, weight = self._truth_and_weight(rows)
        try:
            value = self.scorer.value(truth, *predictions, weight)
        except InputError as error:
            raise InputError(f"{name}: {error}") from None
        if math.isnan(value):
            raise InputError(
                f"{name}: {self.measure} is undefined on {len(rows)} rows; every split needs a "
                "value, so make fewer splits or take another measure"
            )
        return value

    def provenance(self, inputs: Sequence[Any], **extra: Any) -> dict[str, Any]:
        """Return the provenance."""
        return {
            **base_provenance(self.estimator, inputs),
            "cross-validation": self.design.description,
            "splits": len(self.design.folds),
            "repetitions": self.design.n_repetitions,
            "trained on": self.mean_sizes[0],
            "tested on": self.mean_sizes[1],
            "seed": self.seed,
            **extra,
        }


def _known_labels(predictions: ModelPredictions) -> dict[str, Any]:
    """Return the classes of a model, in the form of :meth:`Scorer.get_predictions`."""
    return {"labels": tuple(label_name(label) for label in predictions.classes)}


@dataclass(frozen=True, eq=False)
class ScoreArray:
    """Values of a measure of shape (subsets, splits, jobs per split).

    The subsets of each job are its training rows, the measured rows and possibly others.
    ``predictions`` are the predictions and ``choices`` the chosen thresholds, job by job.
    """

    task: ScoringTask
    jobs: tuple[FitJob, ...]
    values: FloatArray
    notes: list[str]
    predictions: Sequence[Sequence[Any]]
    choices: Sequence[tuple[ThresholdChoice, list[ScoredRows]]]

    @property
    def jobs_per_split(self) -> int:
        """Number of jobs per split."""
        return int(self.values.shape[2])

    def training_estimate(self, job_index: int, name: str) -> Estimate:
        """Estimate the value of a job on its training rows.

        Over splits the roles of training and test rows are exchanged: splits share most of the rows
        measured here, so the corrected t takes the two sizes in reverse.
        """
        if self.task.design.is_single_split:
            return self.subset_estimate(0, job_index, name)
        n_trained = float(
            np.mean([len(job.train) for job in self.jobs[job_index :: self.jobs_per_split]])
        )
        n_others = max(sum(self.task.mean_sizes) - n_trained, 1.0)
        return self.task.estimate_mean(self.values[0][:, job_index], (n_others, n_trained), name)

    def measured_estimate(self, job_index: int, name: str) -> Estimate:
        """Estimate the value of a job on the measured rows.

        Over splits, whose models share training rows, the interval is the corrected t; for a single
        split it is that of its rows.
        """
        if self.task.design.is_single_split:
            return self.subset_estimate(1, job_index, name)
        return self.task.estimate_mean(self.values[1][:, job_index], self.task.mean_sizes, name)

    def subset_estimate(self, subset_index: int, job_index: int, name: str) -> Estimate:
        """Estimate the value of a job of the only split on one of its subsets, by its rows."""
        row_predictions = self._row_predictions(subset_index, {name: job_index})
        return row_predictions.estimate(name)

    def differences(self, names: Sequence[str], best: int) -> Mapping[str, Difference]:
        """Return the paired differences of jobs from the best on the measured rows.

        The intervals are simultaneous.
        """
        task = self.task
        if task.design.is_single_split:
            row_predictions = self._row_predictions(
                1, {name: job_index for job_index, name in enumerate(names)}
            )
            return row_predictions.differences(names[best])
        train, test = task.mean_sizes
        values_by_name = {name: self.values[1][:, i].tolist() for i, name in enumerate(names)}
        comparison = compare_splits(
            values_by_name, design="resampled", train=train, test=test, measure=task.measure,
            lower_is_better=() if task.higher_is_better else [task.measure], baseline=names[best],
            level=task.level,
        )  # fmt: skip
        return {row.system: row for row in comparison}

    def _row_predictions(
        self, subset_index: int, indices_by_name: Mapping[str, int]
    ) -> RowPredictions:
        rows = self.jobs[next(iter(indices_by_name.values()))].eval_parts[subset_index]
        return self.task.row_predictions(
            rows, {n: self.predictions[p][subset_index] for n, p in indices_by_name.items()}
        )

    def tuned_thresholds(
        self, job_index: int, name: str, subset_index: int = 1
    ) -> tuple[TunedThreshold, ...]:
        """Return the gain of a job's tuned threshold on a subset; empty if none was tuned."""
        task, tuning = self.task, self.task.tuning
        if tuning is None or not tuning.has_rule:
            return ()
        job_choices = self.choices[job_index :: self.jobs_per_split]
        choices, tested = (
            [c for c, _ in job_choices],
            [rows[subset_index] for _, rows in job_choices],
        )
        measure = task.scorer.measure
        if task.design.is_single_split:
            interval_options = task.interval_options(self.jobs[job_index].eval_parts[subset_index])
            gain = paired_gain_estimator(
                measure, choices[0], tested[0], tuning.names, **interval_options, seed=task.seed
            )
        else:
            gain = split_gain_estimator(measure, task.mean_sizes, task.level)
        tuned_threshold = tuning.summarize(
            name, measure, choices, tested, tuning.inner_folds_text, gain
        )
        return (tuned_threshold,)


def check_time(time: Any, rows: int) -> Indices | None:
    """Return the rank of the time of each row; True means that rows are in the order of time."""
    if time is None:
        return None
    ranks = np.arange(rows) if time is True else time_codes(time)[0]
    check_length(ranks, rows, "time")
    return ranks


def check_target(X: Any, y: Any, prefix: str = "", *, is_classifier: bool) -> npt.NDArray[Any]:
    """Return the truth of rows as an array, checked to be as long as the features."""
    target = to_array(y, f"{prefix}y")
    if is_classifier:
        encode_labels(target, f"{prefix}y")  # its message says what is wrong
    else:
        target = to_numbers(target, f"{prefix}y")
    n = None if isinstance(X, Mapping) else n_rows(X)
    if n != len(target):
        features = format_value(X) if n is None else f"{n:,} rows"
        raise InputError(
            f"{prefix}X: {features}, expected a table of {len(target):,} rows, as many as y has"
        )
    if not len(target):
        raise InputError(f"{prefix}y: there are no rows")
    return target


def base_provenance(estimator: Any, inputs: Sequence[Any]) -> dict[str, Any]:
    """Return the start of every provenance: version, origins of the inputs, and the estimator."""
    from calipers import __version__

    origins = [{k: v for k, v in asdict(i).items() if v is not None} for i in inputs]
    return {"calipers": __version__, "inputs": origins, "estimator": repr(estimator)}


def format_values(values: Sequence[Any]) -> list[str]:
    """Format the values of a parameter, of which there must be two or more, all distinct."""
    names = [f"{v:g}" if isinstance(v, float | np.floating) else shown_value(v) for v in values]
    if len(set(names)) < len(names):
        names = [shown_value(value) for value in values]
    if len(names) < 2 or len(set(names)) < len(names):
        repeated = next((name for name in names if names.count(name) > 1), None)
        problem = "one value" if repeated is None else f"{repeated!r} twice"
        raise InputError(f"param_range: there is {problem}, expected two or more, each once")
    return names


def shown_value(value: Any) -> str:
    """Format a value, for example an estimator, in one line."""
    return str(value) if isinstance(value, str | int | np.generic) else format_value(value)


def check_parameter(estimator: Any, parameter: str) -> None:
    """Raise InputError unless the estimator has the parameter."""
    from calipers.data.errors import did_you_mean

    known_parameters = estimator.get_params(deep=True)
    if parameter not in known_parameters:
        raise InputError(
            f"param_name: {type(estimator).__name__} has no {parameter!r}; "
            + did_you_mean(parameter, list(known_parameters))
        )


#: Argument of the evaluation, by what a measure reads; otherwise ``predicted``.
_COLUMN_BY_READS = {"scores": "score", "ranks": "score", "probabilities": "probability"}
#: Number of bootstrap replicates of intervals over rows.
N_RESAMPLES = 2000


@dataclass(frozen=True, eq=False)
class RowPredictions:
    """Truth of rows and the predictions of models for them, with weights, clusters and times.

    ``predictions`` has the predictions of each model as :meth:`Scorer.get_predictions` returns
    them; rows of the same ``cluster`` belong together.
    """

    scorer: Scorer
    truth: Any
    predictions: Mapping[str, tuple[Any, Mapping[str, Any]]]
    weight: FloatArray | None = None
    cluster: Any = None
    time: Any = None
    level: float = 0.95
    seed: int = 0

    def estimate(self, name: str) -> Estimate:
        """Estimate the value of one model, with the interval of an evaluation of these rows."""
        evaluation = self._evaluate([name])
        estimate = next(e for e in evaluation if e.measure == str(self.scorer.measure))
        return replace(estimate, system=name)

    def differences(self, baseline: str) -> Mapping[str, Difference]:
        """Return the differences of models from the ``baseline``, paired by rows.

        The intervals are simultaneous.
        """
        if len(self.predictions) < 2:
            return {}
        comparison = self._evaluate(list(self.predictions)).compare(baseline=baseline)
        return {row.system: row for row in comparison if row.measure == str(self.scorer.measure)}

    def _evaluate(self, names: list[str]) -> Evaluation:
        """Evaluate some models on these rows."""
        argument = _COLUMN_BY_READS.get(self.scorer.measure.definition.reads or "", "predicted")
        options: dict[str, Any] = {
            argument: {name: self.predictions[name][0] for name in names},
            "measures": [self.scorer.measure], "weight": self.weight, "cluster": self.cluster,
            "time": self.time, "curves": False, "level": self.level, "n_resamples": N_RESAMPLES,
            "seed": self.seed,
        }  # fmt: skip
        if self.scorer.measure.definition.task == "regression":
            return regression(self.truth, **options)
        return classification(self.truth, **options, **self._class_options(names[0]))

    def _class_options(self, name: str) -> dict[str, Any]:
        """Return the classes, of which the rows may lack some, and the positive class."""
        labels, positive = self.predictions[name][1].get("labels"), self.scorer.positive
        if labels is not None and not has_only_known_classes(labels, self.truth):
            labels = None
        if labels is not None and len(labels) == 2 and positive is None:
            positive_index = find_positive_class(labels)
            positive = None if positive_index is None else labels[positive_index]
        return {"labels": labels, "positive": positive}
