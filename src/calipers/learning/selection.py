"""Model selection by nested cross-validation: the bias-corrected value of the best model."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from calipers.data.errors import InputError, format_value
from calipers.evaluation.arguments import validate_arguments
from calipers.inference import intervals
from calipers.inference.intervals import Interval
from calipers.inference.resampled_tests import corrected_t
from calipers.learning.fitting import FitJob, Progress
from calipers.learning.predictions import check_named_estimators, is_classification
from calipers.learning.split_designs import TrainTestIndices, make_design
from calipers.learning.train_test_scores import ScoreArray, ScoringTask
from calipers.learning.tuning import DEFAULT_INNER_FOLDS
from calipers.measures import Measure
from calipers.results import Estimate
from calipers.results.learning import Candidate, Selection
from calipers.statistics import FloatArray


@validate_arguments
def select_model(
    candidates: Any,
    X: Any,
    y: Any,
    *,
    cv: Any = None,
    n_repeats: int | None = None,
    split: Any = None,
    stratify: bool | None = None,
    group: Any = None,
    time: Any = None,
    weight: Any = None,
    positive: Any = None,
    threshold: float | str | None = None,
    inner_cv: int | None = None,
    measure: str | Measure | None = None,
    level: float = 0.95,
    seed: int = 0,
    n_jobs: int | None = 1,
    progress: Progress = False,
    inputs: Sequence[Any] = (),
) -> Selection:
    """Choose among models by nested cross-validation, and estimate the value of the chosen one.

    The best of m cross-validated values is optimistic, because the same rows chose it. *Nested*
    cross-validation corrects this. In each of the ``cv`` outer splits, the candidates are compared
    by ``inner_cv`` folds within the training rows alone; the best is fitted on all training rows
    and measured on the held-out rows, which had no part in the choice. The mean of these values,
    ``corrected``, is the performance of the whole procedure, including the choice. ``optimism`` is
    by how much the candidate that is best on the held-out rows exceeds it: the paired difference on
    the same splits. (What :func:`calipers.cross_validate` calls nested, for intervals, is another
    method.)

    If rows are divided once, the candidates are fitted on the training rows and compared on the
    validation rows; the best, as it was fitted, is measured on the test rows. ``corrected`` is its
    value there, and ``optimism`` by how much its value on the validation rows exceeds it. Without
    validation rows the candidates are compared by ``inner_cv`` folds within the training rows.

    Parameters
    ----------
    candidates : dict of estimator
        Two or more estimators of scikit-learn by name: different models, or one with different
        parameters.
    X : array-like of shape (n, n_features)
        Features of the rows.
    y : array-like of shape (n,)
        Target of each row: a class or a number.
    cv : int, splitter, or iterable of (train, test), optional
        Number of outer folds, 10 by default; or a splitter of scikit-learn, or pairs of index
        arrays of the rows to train and to measure on. A single split, such as a PredefinedSplit of
        one fold, gives the rows that the choice is measured on, not those that it is made on.
    n_repeats : int, optional
        Number of times that the rows are re-split, if ``cv`` is a number. The default is 1.
    split : Split, array-like of shape (n,), or dict or sequence of indices, optional
        In place of folds, a single split into training, validation and test rows: the result of
        :func:`calipers.split`; a column with "train", "validation" or "test" for each row; or the
        indices of rows, by these names or in this order (two arrays are the rows to train and to
        validate on). Models are trained on the training rows alone. Test rows are required.
    stratify : bool, optional
        Whether folds have classes in equal proportions, or in a regression, deciles of the truth.
        By default folds are stratified by class, and not in a regression.
    group : array-like of shape (n,), optional
        Group of each row (user, patient): rows of a group stay on one side of a split.
    time : array-like of shape (n,), or bool, optional
        Time of each row, or True if rows are in the order of time: each fold is then predicted by a
        model trained on earlier rows. With groups, on earlier rows of other groups.
    weight : array-like of shape (n,), optional
        Weight of each row, in every measure and in the fit of an estimator that accepts weights.
    positive : label, optional
        The positive class, against all others. It is required unless the classes are 0 and 1, −1
        and 1, or False and True.
    threshold : float or str, optional
        A number, or a rule that chooses one, such as ``"accuracy"`` or ``"specificity>=0.9"`` (see
        :func:`calipers.operating_point`). A rule never sees the rows that are measured. It chooses
        a threshold for each fold on out-of-fold predictions of its training rows, with ``inner_cv``
        folds within these. ``tuned_thresholds`` are the gains over the labels that the model itself
        predicts. It is part of each candidate; the gains are reported for the chosen one.
    inner_cv : int, optional
        Number of folds within the training rows, 5 by default; they are stratified, grouped or
        forward in time as the outer ones are. They also choose thresholds. Each candidate is fitted
        ``cv`` · (``inner_cv`` + 1) times.
    measure : str or Measure, optional
        Measure of :func:`calipers.classification` or :func:`calipers.regression` that has a
        direction. The default is the error rate, or the MSE of a regression.
    level : float, default=0.95
        Confidence level of the intervals.
    seed : int, default=0
        Seed of the random number generator. It also determines folds and fits.
    n_jobs : int, default=1
        Number of parallel fits, -1 for all processors. It does not change the results.
    progress : bool or callable, default=False
        Whether to write the number of finished fits to stderr, on one line; or a function that is
        called after each fit with the number of finished fits and the number of all.
    inputs : list, optional
        Origins of the columns, for the provenance.

    Returns
    -------
    Selection
        ``best``, ``corrected``, ``optimism``, and the candidates with the proportion of outer
        splits in which each was chosen. Intervals are corrected resampled t over the outer splits.
        With a single division they are those of its rows, and for ``inner_cv`` folds corrected
        resampled t over these.

    Raises
    ------
    InputError
        If an argument is invalid, or a fit fails.

    See Also
    --------
    calipers.cross_validate : Cross-validate estimators or given out-of-fold predictions.

    References
    ----------
    Varma and Simon (2006). Bias in error estimation when using cross-validation for model
    selection. BMC Bioinformatics 7.

    Cawley and Talbot (2010). On over-fitting in model selection and subsequent selection bias in
    performance evaluation. Journal of Machine Learning Research 11.

    Examples
    --------
    >>> import numpy as np, calipers as cal
    >>> from sklearn.neighbors import KNeighborsClassifier
    >>> rng = np.random.default_rng(0)
    >>> X, y = rng.normal(size=(100, 5)), rng.integers(0, 2, 100)  # nothing to be learned
    >>> models = {f"{k} neighbours": KNeighborsClassifier(k) for k in (1, 3, 5, 7, 9)}
    >>> result = cal.select_model(models, X, y, measure="accuracy", cv=5)
    >>> result[result.best].apparent.value > result.corrected.value, result.optimism.value > 0
    (True, True)
    """
    if not isinstance(candidates, Mapping) or len(candidates) < 2:
        raise InputError(
            f"candidates is {format_value(candidates)}, expected a dict of two or more estimators "
            "by name"
        )
    models = check_named_estimators(candidates)
    is_classification(models)
    estimator = next(iter(models.values()))
    task = ScoringTask.from_arguments(
        estimator,
        X,
        y,
        measure=measure,
        positive=positive,
        cv=cv,
        repeats=n_repeats,
        stratify=stratify,
        group=group,
        time=time,
        weight=weight,
        level=level,
        seed=seed,
        split=split,
        subsets=("test",),
        threshold=threshold,
        n_inner_folds=inner_cv,
        needs_inner_folds=True,
    )
    split = task.design.split
    validation = () if split is None or not len(split.validation) else (split.validation,)
    if validation and inner_cv is not None and (task.tuning is None or not task.tuning.has_rule):
        raise InputError("inner_cv= divides the training rows, but split= has validation rows")
    n_inner_folds = DEFAULT_INNER_FOLDS if inner_cv is None else inner_cv
    jobs = [
        job
        for split_index, item in enumerate(task.design.folds)
        for job in _make_jobs(task, split_index, item, models, n_inner_folds, stratify, validation)
    ]
    scores = task.score_jobs(
        jobs, len(jobs) // len(task.design.folds), n_jobs, "select_model", progress
    )
    result = (_single_selection if task.design.is_single_split else _nested_selection)(
        scores, list(models)
    )
    names = list(models)
    best = names.index(result.best)
    tuned = scores.tuned_thresholds(best * (scores.jobs_per_split // len(models)), result.best)
    return Selection(
        task.measure,
        result.candidates,
        result.best,
        result.corrected,
        result.optimism,
        level,
        task.higher_is_better,
        (*scores.notes, *result.notes, *task.design.notes, *(item.sentence for item in tuned)),
        {
            **scores.task.provenance(inputs, inner_cv=n_inner_folds),
            "estimator": {n: repr(item) for n, item in models.items()},
        },
        tuned,
    )


class _SelectionResult(NamedTuple):
    """Candidates, the best of them, its bias-corrected value and its optimism."""

    candidates: tuple[Candidate, ...]
    best: str
    corrected: Estimate
    optimism: Estimate
    notes: tuple[str, ...] = ()


def _nested_selection(scores: ScoreArray, names: list[str]) -> _SelectionResult:
    """Compute the selection over outer splits: each choice is measured on held-out rows."""
    task, n_models = scores.task, len(names)
    n_splits = scores.values.shape[1]
    table = scores.values[1].reshape(n_splits, n_models, -1)
    outer, inner = table[:, :, 0], table[:, :, 1:].mean(axis=2)
    chosen_indices = np.argmax(task.scorer.sign * inner, axis=1)
    nested = outer[np.arange(n_splits), chosen_indices]
    best = int(np.argmax(task.scorer.sign * outer.mean(axis=0)))
    candidates = (
        Candidate(
            name,
            task.estimate_mean(outer[:, i], task.mean_sizes, name),
            float((chosen_indices == i).mean()),
        )
        for i, name in enumerate(names)
    )
    return _SelectionResult(
        tuple(candidates),
        names[best],
        task.estimate_mean(nested, task.mean_sizes, "chosen"),
        _paired_optimism(task, task.scorer.sign * (outer[:, best] - nested)),
    )


def _single_selection(scores: ScoreArray, names: list[str]) -> _SelectionResult:
    """Compute the selection with a single division, measured on its test rows."""
    task, n_models = scores.task, len(names)
    split = task.design.split
    jobs_per_model = scores.jobs_per_split // n_models
    if jobs_per_model > 1:  # by folds within the training rows
        apparent = [
            _inner_estimate(scores, i * jobs_per_model, jobs_per_model, name)
            for i, name in enumerate(names)
        ]
        comparison_rows = (
            f"{jobs_per_model - 1} folds within the {len(scores.jobs[0].train):,} training rows"
        )
    else:
        apparent = [scores.subset_estimate(2, i, name) for i, name in enumerate(names)]
        assert split is not None
        comparison_rows = f"{len(split.validation):,} validation rows"
    values = task.scorer.sign * np.array([estimate.value for estimate in apparent])
    best = int(np.argmax(values))
    corrected = replace(
        scores.subset_estimate(1, best * jobs_per_model, names[best]), system="chosen"
    )
    optimism = _unpaired_optimism(task, apparent[best], corrected)
    note = (
        f"Compared on {comparison_rows}; the best is measured on "
        f"{len(scores.jobs[0].eval_parts[1]):,} other rows, as it was fitted on "
        f"{len(scores.jobs[0].train):,}. The intervals are over rows; they do not include the "
        "variation between training sets."
    )
    candidates = (Candidate(name, apparent[i], float(i == best)) for i, name in enumerate(names))
    return _SelectionResult(tuple(candidates), names[best], corrected, optimism, (note,))


def _inner_estimate(scores: ScoreArray, first: int, jobs_per_model: int, name: str) -> Estimate:
    """Return the mean over the folds within the training rows of the only split."""
    inner = scores.jobs[first + 1 : first + jobs_per_model]
    sizes = sum(len(job.train) for job in inner), sum(len(job.eval_parts[1]) for job in inner)
    values = scores.values[1][0, first + 1 : first + jobs_per_model]
    return scores.task.estimate_mean(values, (float(sizes[0]), float(sizes[1])), name)


def _unpaired_optimism(task: ScoringTask, apparent: Estimate, corrected: Estimate) -> Estimate:
    """Estimate the optimism from two values of independent rows, by their intervals."""
    sign = task.scorer.sign
    pair = [
        Interval(item.low, item.high, item.method, item.interval_reason, item.standard_error)
        for item in (apparent, corrected)
    ]
    undefined = next((item for item in pair if item.reason is not None), None)
    interval = undefined or intervals.mover_interval(
        apparent.value, pair[0], corrected.value, pair[1]
    )
    low, high = sorted((sign * interval.low, sign * interval.high))
    return Estimate(
        task.measure, sign * (apparent.value - corrected.value), low, high, task.level,
        interval.method, n=corrected.n, n_total=corrected.n_total, unit=corrected.unit,
        interval_reason=interval.reason, system="optimism",
    )  # fmt: skip


def _make_jobs(
    task: ScoringTask, split_index: int, outer_fold: TrainTestIndices, models: Mapping[str, Any],
    n_inner_folds: int, stratify: bool | None, validation: tuple[Any, ...],
) -> list[FitJob]:  # fmt: skip
    """Return the fits of one outer split.

    Each candidate is fitted on the training rows and, if there are no validation rows, on their
    inner folds.
    """
    rows = outer_fold.train
    folds: Sequence[TrainTestIndices] = ()
    if not validation:
        try:
            folds = make_design(
                n_inner_folds,
                1,
                task.constraints.take_rows(rows),
                None,
                stratify=stratify,
                seed=task.seed + split_index + 1,
            ).folds
        except InputError as error:
            raise InputError(
                f"{task.split_name(str(split_index + 1))}, inner_cv={n_inner_folds}: {error}"
            ) from None
    jobs = []
    for name, model in models.items():
        label = f"{name}, {task.split_name(str(split_index + 1))}"
        key = (outer_fold.repetition, outer_fold.fold)
        jobs.append(
            FitJob(model, rows, (outer_fold.train, outer_fold.test, *validation), key, name=label)
        )
        for fold in folds:
            train, test = rows[fold.train], rows[fold.test]
            fold_key = (*key, fold.fold)
            jobs.append(FitJob(model, train, (train, test), fold_key, name=f"{label}, within"))
    return jobs


def _paired_optimism(task: ScoringTask, differences: FloatArray) -> Estimate:
    """Estimate the optimism as the mean paired difference over the outer splits."""
    split_test = corrected_t(differences, *task.mean_sizes, level=task.level)
    interval = split_test.interval
    return Estimate(
        task.measure, split_test.mean, interval.low, interval.high, task.level, interval.method,
        n=split_test.n_splits, n_total=split_test.n_splits, unit="splits",
        interval_reason=interval.reason, standard_error=interval.se, system="optimism",
    )  # fmt: skip
