"""Learning curves over the number of training rows, and validation curves over a parameter."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np

from calipers.data.errors import InputError
from calipers.evaluation.arguments import validate_arguments
from calipers.inference.intervals import student_se
from calipers.lazy_dataclasses import dataclass
from calipers.learning.fitting import FitJob, Indices, Progress
from calipers.learning.train_test_scores import ScoringTask, check_parameter, format_values
from calipers.measures import Measure
from calipers.results import Difference, LearningCurve, ValidationCurve
from calipers.results.learning import (
    OVERFITS,
    UNDERFITS,
    WORSE,
    LearningCurveExtrapolation,
    LearningCurveRow,
    ValidationCurveRow,
)
from calipers.statistics import FloatArray


def one_standard_error(errors: FloatArray, standard_errors: FloatArray) -> int:
    """Return the index of the simplest model by the one-standard-error rule.

    It is the first, that is the simplest, whose mean error is at most the lowest error plus the
    standard error of that (0 if it is NaN).

    References
    ----------
    Breiman, Friedman, Olshen and Stone (1984). Classification and regression trees. Wadsworth.

    Examples
    --------
    >>> one_standard_error(np.array([5.0, 2.2, 2.0, 2.1]), np.array([1.0, 0.2, 0.3, 0.3]))
    1
    """
    best = int(np.argmin(errors))
    allowed = 0.0 if math.isnan(standard_errors[best]) else standard_errors[best]
    return int(np.flatnonzero(errors <= errors[best] + allowed)[0])


#: Minimum numbers of sizes and of splits for an extrapolation.
MIN_SIZES, MIN_SPLITS = 5, 5
#: Limit of the extrapolation, as a multiple of the largest training set.
MAX_SIZE_RATIO = 2.0
_RATES: FloatArray = np.geomspace(0.02, 8.0, 32)
_GOLDEN_RATIO = (math.sqrt(5) - 1) / 2
_N_STEPS = 22

#: Error at a relative size (1 is the largest), apart from a constant; ``rate`` is above 0.
_DECAYS: Mapping[str, Callable[[FloatArray, FloatArray], FloatArray]] = {
    "power": lambda size, rate: size**-rate,
    "exponential": lambda size, rate: np.exp(-rate * size),
}
#: The forms: which decay, and whether it goes to a constant above 0 rather than to 0.
FORMS: Mapping[str, tuple[str, bool]] = {
    "power": ("power", True),
    "exponential": ("exponential", True),
    "power to 0": ("power", False),
}


@dataclass(frozen=True, slots=True)
class FittedCurves:
    """Fitted curves a + b·decay(size, rate), an entry each; sizes are in units of ``unit``."""

    form: str
    unit: float
    a: FloatArray
    b: FloatArray
    rate: FloatArray

    def predict(self, size: float) -> FloatArray:
        """Return the error at a size."""
        decay = _DECAYS[FORMS[self.form][0]]
        return np.asarray(self.a + self.b * decay(np.array(size / self.unit), self.rate))


def fit_curves(
    sizes: FloatArray, errors: FloatArray, weights: FloatArray, form: str
) -> FittedCurves:
    """Fit curves of one form to errors by weighted least squares with a, b ≥ 0.

    Errors have shape (curves, sizes). The forms are ``"power"``: a + b·n^−c; ``"exponential"``: a +
    b·e^−cn; ``"power to 0"``: b·n^−c.

    Examples
    --------
    >>> n = np.array([20.0, 30.0, 45.0, 68.0, 100.0])
    >>> curve = fit_curves(n, (1 + 10 / (n - 11))[None], np.ones(5), "power")
    >>> round(float(curve.predict(200)[0]), 6), round(1 + 10 / 189, 6)  # fitted and true
    (1.091187, 1.05291)
    """
    decay, offset = FORMS[form]
    unit = float(sizes.max())
    decay_function = _DECAYS[decay]
    scaled = sizes / unit

    def solved(rate: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        # Decays are 1 at the smallest size, so that fast ones do not vanish.
        start = decay_function(scaled.min(), rate)[..., None]
        x = decay_function(scaled, rate[..., None]) / start
        a, b, loss = _fit_lines(x, errors, weights, offset=offset)
        return a, b / start[..., 0], loss

    losses = np.stack([solved(np.full(len(errors), rate))[2] for rate in _RATES])
    best = losses.argmin(axis=0)
    low = np.log(_RATES[np.maximum(best - 1, 0)])
    high = np.log(_RATES[np.minimum(best + 1, len(_RATES) - 1)])
    for _ in range(_N_STEPS):  # the golden section
        lower_point, upper_point = (
            high - _GOLDEN_RATIO * (high - low),
            low + _GOLDEN_RATIO * (high - low),
        )
        is_lower = solved(np.exp(lower_point))[2] <= solved(np.exp(upper_point))[2]
        high, low = np.where(is_lower, upper_point, high), np.where(is_lower, low, lower_point)
    rate = np.exp((low + high) / 2)
    a, b, _ = solved(rate)
    return FittedCurves(form, unit, a, b, rate)


def _fit_lines(
    x: FloatArray, y: FloatArray, weights: FloatArray, *, offset: bool
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Fit y = a + b·x with a, b ≥ 0 by weighted least squares, row by row.

    Returns a, b and the sum of squares.
    """

    def loss(a: FloatArray, b: FloatArray) -> FloatArray:
        return np.asarray((weights * np.square(y - a[:, None] - b[:, None] * x)).sum(axis=1))

    zeros = np.zeros(len(y))
    origin_slope = np.maximum((weights * x * y).sum(axis=1) / (weights * x * x).sum(axis=1), 0.0)
    if not offset:
        return zeros, origin_slope, loss(zeros, origin_slope)
    total = weights.sum()
    mean_x, mean_y = ((weights * values).sum(axis=1) / total for values in (x, y))
    spread = (weights * np.square(x - mean_x[:, None])).sum(axis=1)
    covariance = (weights * (x - mean_x[:, None]) * (y - mean_y[:, None])).sum(axis=1)
    with np.errstate(invalid="ignore", divide="ignore"):
        b = np.where(spread > 0, covariance / spread, 0.0)
    a = mean_y - b * mean_x
    constant = np.maximum(mean_y, 0.0)
    # Where either is below 0, the best has it at 0.
    is_unconstrained = (a >= 0) & (b >= 0)
    is_constant_better = loss(constant, zeros) <= loss(zeros, origin_slope)
    a = np.where(is_unconstrained, a, np.where(is_constant_better, constant, 0.0))
    b = np.where(is_unconstrained, b, np.where(is_constant_better, 0.0, origin_slope))
    return a, b, loss(a, b)


@dataclass(frozen=True, slots=True)
class Extrapolation:
    """Extrapolated error at ``size`` training rows, with its band.

    ``value`` is that of the best-fitting form, ``low`` and ``high`` are limits of the band of all
    forms that are used. ``reduction``, ``reduction_low`` and ``reduction_high`` are the reduction
    of the error from that of the largest size, and its band. ``forms`` are the forms that predicted
    the largest size from the smaller ones. If extrapolation is impossible all values are NaN, and
    ``reason`` says why.
    """

    size: float
    value: float = math.nan
    low: float = math.nan
    high: float = math.nan
    reduction: float = math.nan
    reduction_low: float = math.nan
    reduction_high: float = math.nan
    forms: tuple[str, ...] = ()
    reason: str | None = None


def extrapolate(
    sizes: FloatArray,
    errors: FloatArray,
    size: float,
    *,
    overlap: float = 0.0,
    level: float = 0.95,
    n_resamples: int = 300,
    seed: int = 0,
) -> Extrapolation:
    """Extrapolate the mean error to models trained on ``size`` rows.

    Parameters
    ----------
    sizes : array of shape (n_sizes,)
        Sizes of training sets, ascending.
    errors : array of shape (n_splits, n_sizes)
        Errors.
    size : float
        Size to extrapolate to, at most twice the largest size.
    overlap : float, default=0.0
        n_test/n_train of the splits of one data set. The standard deviation of replicates is
        multiplied by √(1 + splits · overlap) relative to independent splits, as in the corrected
        resampled t.
    level : float, default=0.95
        Level of the band: from the lowest to the highest limit of percentile intervals over
        replicates of the splits, for each form fitted to all sizes and to all but the smallest.
    n_resamples : int, default=300
        Number of bootstrap replicates.
    seed : int, default=0
        Seed of the random number generator.

    Returns
    -------
    Extrapolation
        Error at ``size`` with its band, or the reason why it is undefined.

    Raises
    ------
    ValueError
        If the size is more than twice the largest.
    """
    if size > MAX_SIZE_RATIO * float(sizes.max()) * (1 + 1e-12):
        raise ValueError(
            f"size is {size:g}, expected {MAX_SIZE_RATIO * float(sizes.max()):g} or less"
        )
    if len(sizes) < MIN_SIZES:
        return Extrapolation(size, reason=f"fewer than {MIN_SIZES} sizes of training sets")
    if len(errors) < MIN_SPLITS:
        return Extrapolation(size, reason=f"fewer than {MIN_SPLITS} splits")
    if not np.isfinite(errors).all():
        return Extrapolation(size, reason="some errors are undefined")
    random = np.random.Generator(np.random.Philox(seed))
    n_splits = len(errors)
    mean = errors.mean(axis=0)
    weight = random.multinomial(n_splits, np.full(n_splits, 1 / n_splits), n_resamples) / n_splits
    # As Student's t is wider than the normal distribution, for few splits.
    spread_factor = math.sqrt(n_splits / (n_splits - 1) * (1 + n_splits * overlap))
    spread_factor *= student_se(1.0, n_splits - 1, level)
    replicates = np.vstack([mean, mean + spread_factor * (weight @ errors - mean)])
    spread = errors.var(axis=0, ddof=1)
    if not (spread > 0).all():
        return Extrapolation(size, reason="errors do not vary from split to split")
    data = sizes.astype(np.float64), replicates, 1 / spread
    usable_forms = [form for form in FORMS if _is_extrapolable(*data, form, level)]
    if not usable_forms:
        return Extrapolation(
            size, reason="no curve predicts the errors at the largest sizes from the smaller ones"
        )
    band, reductions, values = [], [], []
    for form in usable_forms:
        for curves in _fits(*data, form):
            predicted, current = curves.predict(size), curves.predict(float(sizes[-1]))
            band.append(_percentile_limits(predicted[1:], level))
            reductions.append(_percentile_limits((current - predicted)[1:], level))
            values.append(
                (_misfit(curves, *data), float(predicted[0]), float((current - predicted)[0]))
            )
    _, value, reduction = min(values)
    return Extrapolation(
        size,
        value,
        *_band_union(band),
        reduction,
        *_band_union(reductions),
        forms=tuple(usable_forms),
    )


def _fits(
    sizes: FloatArray, draws: FloatArray, weights: FloatArray, form: str
) -> Iterator[FittedCurves]:
    """Yield the fits to all sizes, and to all but the smallest."""
    for first in (0, 1):
        yield fit_curves(sizes[first:], draws[:, first:], weights[first:], form)


def _is_extrapolable(
    sizes: FloatArray, draws: FloatArray, weights: FloatArray, form: str, level: float
) -> bool:
    """Return whether a form predicts the error at the largest size from the smaller sizes."""
    largest_errors, largest_size = draws[:, -1], float(sizes[-1])
    fits = _fits(sizes[:-1], draws[:, :-1], weights[:-1], form)
    low, high = _band_union(
        [
            _percentile_limits((curves.predict(largest_size) - largest_errors)[1:], level)
            for curves in fits
        ]
    )
    return low <= 0 <= high


def _misfit(
    curves: FittedCurves, sizes: FloatArray, draws: FloatArray, weights: FloatArray
) -> float:
    """Return the weighted sum of squared residuals of the curve of the means."""
    predicted = np.array([float(curves.predict(float(size))[0]) for size in sizes])
    return float((weights * np.square(predicted - draws[0])).sum())


def _percentile_limits(values: FloatArray, level: float) -> tuple[float, float]:
    low, high = np.quantile(values, [(1 - level) / 2, (1 + level) / 2])
    return float(low), float(high)


def _band_union(bands: list[tuple[float, float]]) -> tuple[float, float]:
    return min(low for low, _ in bands), max(high for _, high in bands)


#: Number of default training sizes, and the smallest as a proportion of the rows.
N_DEFAULT_SIZES, MIN_SIZE_PROPORTION = 6, 1 / 8


@validate_arguments
def validation_curve(
    estimator: Any,
    X: Any,
    y: Any,
    *,
    param_name: str,
    param_range: Sequence[Any],
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
) -> ValidationCurve:
    """Compute a validation curve: training and validation error over a hyperparameter.

    The parameter sets the capacity of a model. The curve shows where it underfits, where it
    overfits, and the simplest value that is good enough.

    All values are measured on the same splits. The interval of a validation error is the corrected
    resampled t over splits (see :func:`calipers.cross_validate`). That of a training error is the
    same with the two sizes exchanged, ē ± t·s·√(1/J + n_train/n_test), since training sets share
    nearly all of the rows that they are measured on. A value is marked only if the interval of its
    paired difference from the best value excludes 0; these intervals are simultaneous over all
    values (Bonferroni). ``one_se`` is the value by Breiman's one-standard-error rule: the simplest
    value whose error is within one (corrected) standard error of the lowest.

    If rows are divided once, into training, validation and possibly test rows, each value is fitted
    once and has the interval of an evaluation of these rows; differences are paired by row. The
    model at the value ``one_se`` is then also measured on the test rows, as ``test``. A single
    division does not show the variation over training sets: intervals and marks are those of the
    models as they were fitted. Intervals of training errors are too short if a model follows its
    rows closely.

    Parameters
    ----------
    estimator : estimator
        Estimator of scikit-learn, or a pipeline. Clones are fitted; the estimator itself is not
        changed. ``random_state`` is drawn from ``seed`` if an estimator does not set it.
    X : array-like of shape (n, n_features)
        Features of the rows.
    y : array-like of shape (n,)
        Target of each row: a class or a number.
    param_name : str
        Name of the parameter as ``set_params`` takes it, such as ``"max_depth"`` or
        ``"polynomial__degree"``.
    param_range : list
        Values of the parameter, the simplest model first.
    cv : int, splitter, or iterable of (train, test), optional
        Number of folds (the number of rows is leave-one-out), a splitter of scikit-learn, or pairs
        of index arrays of the rows to train and to test on. A single split is allowed, such as a
        PredefinedSplit of one fold: its intervals are over the rows tested. The default is 10.
        Differences are uncertain with few folds, and less so with more repeats.
    n_repeats : int, optional
        Number of times that the rows are re-split, if ``cv`` is a number. The default is 1.
    split : Split, array-like of shape (n,), or dict or sequence of indices, optional
        In place of folds, a single split into training, validation and test rows: the result of
        :func:`calipers.split`; a column with "train", "validation" or "test" for each row; or the
        indices of rows, by these names or in this order (two arrays are the rows to train and to
        validate on). Models are trained on the training rows alone. Values are compared on the
        validation rows, which are required.
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
        predicts. They are reported at the value ``one_se``.
    inner_cv : int, optional
        Number of folds within the training rows that choose a threshold; 5 by default.
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
    ValidationCurve
        A row for each value; ``curve["4"]`` is that of the value 4. ``print`` and notebooks display
        it; ``chart()`` draws it, ``to_html()`` makes a page. If Ctrl-C interrupts the fits, the
        result is that of the splits that were finished.

    Raises
    ------
    InputError
        If an argument is invalid, or a fit fails.

    See Also
    --------
    calipers.learning_curve : Training and validation errors over the number of training rows.
    calipers.bias_variance : Decompose the expected error of a model into bias, variance and noise.

    Notes
    -----
    Coverage of the intervals, and the proportion of values that are marked although they are as
    good as the best: ``docs/coverage.md``.

    References
    ----------
    Nadeau and Bengio (2003). Inference for the generalization error. Machine Learning 52.

    Breiman, Friedman, Olshen and Stone (1984). Classification and regression trees.

    Examples
    --------
    >>> import calipers as cal
    >>> import numpy as np
    >>> from sklearn.linear_model import LinearRegression
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import PolynomialFeatures
    >>> random = np.random.default_rng(0)
    >>> x = random.random(60)
    >>> y = np.cos(1.5 * np.pi * x) + random.normal(0, 0.1, 60)
    >>> curve = cal.validation_curve(
    ...     make_pipeline(PolynomialFeatures(), LinearRegression()), x[:, None], y,
    ...     param_name="polynomialfeatures__degree", param_range=[1, 2, 3, 4, 5],
    ... )
    >>> [(row.value, row.region) for row in curve], curve.one_se
    ([('1', 'underfits'), ('2', 'underfits'), ('3', ''), ('4', ''), ('5', '')], '3')
    """
    task = ScoringTask.from_arguments(
        estimator, X, y, measure=measure, positive=positive, cv=cv, repeats=n_repeats,
        stratify=stratify, group=group, time=time, weight=weight, level=level, seed=seed,
        split=split, threshold=threshold, n_inner_folds=inner_cv,
    )  # fmt: skip
    check_parameter(estimator, param_name)
    names = format_values(param_range)
    split = task.design.split
    test_subsets = () if split is None or not len(split.test) else (split.test,)
    jobs = [
        FitJob(
            estimator,
            pair.train,
            (pair.train, pair.test, *test_subsets),
            (pair.repetition, pair.fold),
            {param_name: value},
            f"{param_name} {name}, {task.split_name(fold)}",
        )
        for pair, fold in zip(task.design.folds, task.design.names, strict=True)
        for name, value in zip(names, param_range, strict=True)
    ]
    scores = task.score_jobs(jobs, len(names), n_jobs, "validation_curve", progress)
    task, (training, validation) = scores.task, scores.values[:2]
    rows = [
        ValidationCurveRow(
            name, scores.training_estimate(i, name), scores.measured_estimate(i, name),
            training_values=training[:, i], validation_values=validation[:, i],
        )
        for i, name in enumerate(names)
    ]  # fmt: skip
    validation_errors = -task.scorer.sign * validation.mean(axis=0)
    standard_errors = np.array([row.validation.standard_error for row in rows])
    best, chosen = (
        int(np.argmin(validation_errors)),
        one_standard_error(validation_errors, standard_errors),
    )
    differences = scores.differences(names, best)
    training_errors = -task.scorer.sign * training.mean(axis=0)
    labeled_rows = [
        replace(
            row, difference=differences.get(row.value),
            region=_region(
                differences.get(row.value), i < best, training_errors[i] > training_errors[best]
            ),
        )
        for i, row in enumerate(rows)
    ]  # fmt: skip
    chosen_name = f"{param_name.rpartition('__')[2]} {names[chosen]}"
    tuned = scores.tuned_thresholds(chosen, chosen_name, subset_index=2 if test_subsets else 1)
    return ValidationCurve(
        param_name, task.measure, tuple(labeled_rows), names[best], names[chosen], level,
        task.higher_is_better, task.design.description,
        (*scores.notes, *task.design.notes, *(choice.sentence for choice in tuned)),
        task.provenance(inputs, param_name=param_name, param_range=names),
        scores.subset_estimate(2, chosen, names[chosen]) if test_subsets else None, tuned,
    )  # fmt: skip


def _region(
    difference: Difference | None, is_simpler: bool, has_higher_training_error: bool
) -> str:
    """Return the label of a value by its difference from the best: underfits, overfits, worse.

    The label is empty if the interval of the difference contains 0.
    """
    if difference is None or math.isnan(difference.low):
        return ""
    if difference.low <= 0 <= difference.high:
        return ""
    if is_simpler:
        return UNDERFITS if has_higher_training_error else WORSE
    return WORSE if has_higher_training_error else OVERFITS


@validate_arguments
def learning_curve(
    estimator: Any,
    X: Any,
    y: Any,
    *,
    train_sizes: Sequence[float] | None = None,
    extrapolate_to: int | None = None,
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
    n_resamples: int = 300,
    seed: int = 0,
    n_jobs: int | None = 1,
    progress: Progress = False,
    inputs: Sequence[Any] = (),
) -> LearningCurve:
    """Compute a learning curve, and extrapolate it to larger training sets.

    In each split models are trained on the first n rows of its training set, in an order drawn
    once: the sets are nested, and all models are tested on the same rows. Intervals are corrected
    resampled t over splits, as in :func:`calipers.validation_curve`.

    Parameters
    ----------
    estimator : estimator
        Estimator of scikit-learn, or a pipeline. Clones are fitted; the estimator itself is not
        changed. ``random_state`` is drawn from ``seed`` if an estimator does not set it.
    X : array-like of shape (n, n_features)
        Features of the rows.
    y : array-like of shape (n,)
        Target of each row: a class or a number.
    train_sizes : list of int or float, optional
        Numbers of rows, or proportions of the training set, ascending. By default there are six
        sizes in geometric progression, from an eighth on. Subsets have about the class proportions
        of the training set; forward in time they are its latest rows.
    extrapolate_to : int, optional
        Training size to extrapolate to, at most twice the largest of the sizes, which is the
        default.
    cv : int, splitter, or iterable of (train, test), optional
        Number of folds (the number of rows is leave-one-out), a splitter of scikit-learn, or pairs
        of index arrays of the rows to train and to test on. A single split is allowed, such as a
        PredefinedSplit of one fold: its intervals are over the rows tested. The default is 5.
    n_repeats : int, optional
        Number of times that the rows are re-split, if ``cv`` is a number. The default is 5.
    split : Split, array-like of shape (n,), or dict or sequence of indices, optional
        In place of folds, a single split into training, validation and test rows: the result of
        :func:`calipers.split`; a column with "train", "validation" or "test" for each row; or the
        indices of rows, by these names or in this order (two arrays are the rows to train and to
        validate on). Models are trained on the training rows alone. Subsets are of the training
        rows; errors are measured on the validation rows, or if there are none on the test rows,
        with intervals over these. The extrapolation needs several splits.
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
        predicts. They are reported at the largest size.
    inner_cv : int, optional
        Number of folds within the training rows that choose a threshold; 5 by default.
    measure : str or Measure, optional
        Measure of :func:`calipers.classification` or :func:`calipers.regression` that has a
        direction. The default is the error rate, or the MSE of a regression.
    level : float, default=0.95
        Confidence level of the intervals. The band has the same level.
    n_resamples : int, default=300
        Number of draws for the band of the extrapolation.
    seed : int, default=0
        Seed of the random number generator. It also determines splits, subsets and fits.
    n_jobs : int, default=1
        Number of parallel fits, -1 for all processors. It does not change the results.
    progress : bool or callable, default=False
        Whether to write the number of finished fits to stderr, on one line; or a function that is
        called after each fit with the number of finished fits and the number of all.
    inputs : list, optional
        Origins of the columns, for the provenance.

    Returns
    -------
    LearningCurve
        A row for each size, and the ``extrapolation``.

    Raises
    ------
    InputError
        If an argument is invalid, or a fit fails.

    See Also
    --------
    calipers.validation_curve : Training and validation errors over a hyperparameter.
    calipers.plan : Compute the required sample size, or the power of an existing sample.

    Notes
    -----
    Errors are extrapolated to at most twice the number of rows. The forms a + b·n^−c, a + b·e^−cn
    and b·n^−c, with a and b ≥ 0, are fitted to bootstrap replicates of the splits, to all sizes and
    to all but the smallest. Only forms that predict the largest size from the smaller ones are
    used; the band covers all of these. The extrapolation is undefined if no form does so, if there
    are fewer than 5 sizes or 5 splits, or if the best possible value of the measure is unknown. The
    band does not cover a curve that changes its form beyond the largest size.

    Coverage of the band: ``docs/coverage.md``.

    Examples
    --------
    >>> import calipers as cal
    >>> import numpy as np
    >>> from sklearn.linear_model import LinearRegression
    >>> random = np.random.default_rng(0)
    >>> x = random.normal(size=(120, 10))
    >>> y = x.sum(axis=1) + random.normal(size=120)
    >>> curve = cal.learning_curve(LinearRegression(), x, y, train_sizes=[20, 30, 45, 65, 96])
    >>> [row.n for row in curve], curve.extrapolation.n, curve.extrapolation.reason
    ([20, 30, 45, 65, 96], 192, None)
    >>> curve.extrapolation.low < 1 + 10 / (192 - 11) < curve.extrapolation.high  # what is true
    True
    """
    task = ScoringTask.from_arguments(
        estimator, X, y, measure=measure, positive=positive, cv=cv, repeats=n_repeats,
        stratify=stratify, group=group, time=time, weight=weight, level=level, seed=seed,
        split=split, subsets=("validation", "test"), threshold=threshold, n_inner_folds=inner_cv,
        defaults=(5, 5),
    )  # fmt: skip
    sizes = _parse_sizes(train_sizes, min(len(pair.train) for pair in task.design.folds))
    max_target_size = math.floor(MAX_SIZE_RATIO * sizes[-1])
    target_size = max_target_size if extrapolate_to is None else extrapolate_to
    if not sizes[-1] < target_size <= max_target_size:
        raise InputError(
            f"extrapolate_to is {target_size:,}, expected more than the largest of the sizes, "
            f"{sizes[-1]:,}, and at most {max_target_size:,}, twice that size; the extrapolation "
            "is not "
            "reliable beyond it"
        )
    jobs = []
    for pair, fold in zip(task.design.folds, task.design.names, strict=True):
        key = (pair.repetition, pair.fold)
        order = _order_rows(task, pair.train, np.random.default_rng((seed, *key)))
        jobs += [
            FitJob(
                estimator, order[:n], (order[:n], pair.test), key,
                name=f"{n} rows, {task.split_name(fold)}",
            )
            for n in sizes
        ]  # fmt: skip
    scores = task.score_jobs(jobs, len(sizes), n_jobs, "learning_curve", progress)
    task, (training, validation) = scores.task, scores.values
    rows = tuple(
        LearningCurveRow(
            n,
            scores.training_estimate(i, str(n)),
            scores.measured_estimate(i, str(n)),
            training[:, i],
            validation[:, i],
        )
        for i, n in enumerate(sizes)
    )
    last = len(sizes) - 1
    tuned = scores.tuned_thresholds(last, f"{sizes[last]:,} rows")
    return LearningCurve(
        task.measure, rows, _extrapolate_size(task, sizes, validation, target_size, n_resamples),
        level, task.higher_is_better, task.design.description,
        (*scores.notes, *task.design.notes, *(choice.sentence for choice in tuned)),
        task.provenance(inputs, n_resamples=n_resamples), tuned,
    )  # fmt: skip


def _parse_sizes(sizes: Sequence[Any] | None, max_size: int) -> list[int]:
    """Return the sizes as numbers of rows."""
    if sizes is None:
        default_sizes = (
            np.geomspace(max(MIN_SIZE_PROPORTION * max_size, 2), max_size, N_DEFAULT_SIZES)
            .round()
            .astype(int)
            .tolist()
        )
        return sorted(set(default_sizes))
    row_counts = []
    for size in sizes:
        is_proportion = isinstance(size, float) and 0 < size <= 1
        n = round(size * max_size) if is_proportion else size
        if is_proportion and not n:
            raise InputError(
                f"train_sizes: {size!r} of {max_size:,} rows, which the smallest training set has, "
                "is less than one row"
            )
        if not 1 <= n <= max_size or n != int(n):
            raise InputError(
                f"train_sizes: {size!r} is neither a proportion between 0 and 1 nor a number of "
                f"rows up to {max_size:,}, which the smallest training set has"
            )
        row_counts.append(int(n))
    if len(row_counts) < 2 or any(b <= a for a, b in pairwise(row_counts)):
        raise InputError("train_sizes: expected two or more, ascending")
    return row_counts


def _order_rows(task: ScoringTask, train: Indices, random: np.random.Generator) -> Indices:
    """Return the rows of a training set in the order in which they are added."""
    time = task.constraints.time
    if time is not None:  # the latest first
        return train[np.argsort(time[train], kind="stable")[::-1]]
    order = random.permutation(train)
    if task.constraints.group is not None:  # whole groups, one after another
        codes = np.unique(task.constraints.group[order], return_inverse=True)[1]
        group_order = random.permutation(int(codes.max()) + 1)
        return order[np.argsort(group_order[codes], kind="stable")]
    if not task.constraints.is_classification:
        return order
    codes = np.unique(task.training_data.target[order], return_inverse=True)[1]
    sort_keys = np.empty(len(order))
    for code in np.unique(codes):
        class_indices = np.flatnonzero(codes == code)
        sort_keys[class_indices] = (np.arange(len(class_indices)) + random.random()) / len(
            class_indices
        )
    return order[np.argsort(sort_keys, kind="stable")]


def _extrapolate_size(
    task: ScoringTask,
    sizes: Sequence[int],
    validation: FloatArray,
    target_size: int,
    n_resamples: int,
) -> LearningCurveExtrapolation:
    """Extrapolate the measure to ``target_size`` rows.

    Errors are deviations from the best possible value of the measure.
    """
    perfect = task.scorer.measure.definition.perfect
    if perfect is None:
        return LearningCurveExtrapolation(
            target_size, reason=f"the best possible {task.measure} is unknown"
        )
    sign = -task.scorer.sign
    train, test = task.mean_sizes
    extrapolation: Extrapolation = extrapolate(
        np.array(sizes, np.float64), sign * (validation - perfect), float(target_size),
        overlap=test / train, level=task.level, n_resamples=n_resamples, seed=task.seed,
    )  # fmt: skip
    if extrapolation.reason is not None:
        return LearningCurveExtrapolation(target_size, reason=extrapolation.reason)
    limits = [perfect + sign * error for error in (extrapolation.low, extrapolation.high)]
    return LearningCurveExtrapolation(
        target_size,
        perfect + sign * extrapolation.value,
        min(limits),
        max(limits),
        extrapolation.reduction,
        extrapolation.reduction_low,
        extrapolation.reduction_high,
        extrapolation.forms,
    )
