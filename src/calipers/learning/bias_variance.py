"""Bias-variance decomposition of the expected error of an estimator over training sets."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from calipers.data.class_labels import encode_labels
from calipers.data.errors import InputError
from calipers.evaluation.arguments import validate_arguments
from calipers.evaluation.options import make_settings
from calipers.inference import intervals
from calipers.inference.intervals import ROUNDING_TOLERANCE, Interval, no_interval
from calipers.inference.method_limits import (
    MAX_SCALED_SKEWNESS,
    MIN_SETS_FOR_BIAS,
    MIN_TRAINING_SETS,
)
from calipers.inference.transformations import TRANSFORMATIONS
from calipers.lazy_dataclasses import dataclass
from calipers.learning.fitting import (
    FitJob,
    FitResults,
    Indices,
    Progress,
    TrainingData,
    fit_all,
    report_progress,
    require_sklearn,
)
from calipers.learning.predictions import check_named_estimators, is_classification
from calipers.learning.train_test_scores import (
    base_provenance,
    check_parameter,
    check_target,
    format_values,
)
from calipers.results import BiasVariance, Estimate
from calipers.results.learning import BOOTSTRAP, DISJOINT, GENERATED, BiasVarianceRow
from calipers.statistics import FloatArray

ERROR, BIAS, BIAS_AND_NOISE, VARIANCE, NOISE = (
    "error",
    "bias²",
    "bias² + noise",
    "variance",
    "noise",
)
#: Components of 0–1 loss; the biased variance is subtracted from the error.
MAIN_BIAS, UNBIASED_VARIANCE, BIASED_VARIANCE = "bias", "unbiased variance", "biased variance"
_JACKKNIFE_METHOD = "jackknife over training sets"
_BOOTSTRAP_METHOD = "bootstrap over training sets"
_AND_ROWS = " and rows"
#: Maximum number of elements (replicates × rows) that are held at a time.
_MAX_ELEMENTS = 2_000_000


@dataclass(frozen=True, slots=True)
class ErrorComponent:
    """Component of the error with its interval."""

    value: float
    interval: Interval


def decompose_squared_error(
    predictions: FloatArray,
    truth: FloatArray,
    *,
    noise: float | None = None,
    exact: bool = False,
    sampled: bool = True,
    level: float = 0.95,
) -> dict[str, ErrorComponent]:
    """Decompose the mean squared error: error = noise + bias² + variance.

    With B training sets, whose predictions ŷ of a row have the mean m,
    variance = mean Σ(ŷ − m)²/(B − 1) and bias² = mean (m − truth)² − variance/B, since m is a mean
    of only B predictions. Both estimates are unbiased, so that bias² may be below 0 if it is close
    to 0.

    Parameters
    ----------
    predictions : array of shape (training sets, rows)
        Predictions.
    truth : array of shape (rows,)
        True values of the rows.
    noise : float, optional
        Variance of the truth about its expected value. If it is unknown, bias² and noise are not
        separable and are reported as their sum.
    exact : bool, default=False
        Whether ``truth`` is the expected value itself, without noise; the noise is then added.
    sampled : bool, default=True
        Whether the rows are a sample, rather than the whole population. If so, their variance is
        added to that of the training sets.
    level : float, default=0.95
        Confidence level of the intervals, Student's t by the jackknife over training sets, on the
        log scale for positive components.

    Returns
    -------
    dict of ErrorComponent
        Components by name.

    Raises
    ------
    ValueError
        If there are fewer than two training sets.

    References
    ----------
    Geman, Bienenstock and Doursat (1992). Neural networks and the bias/variance dilemma. Neural
    Computation 4.

    Examples
    --------
    >>> predictions = np.array([[1.0, 2.0], [3.0, 2.0], [2.0, 5.0]])  # means 2, 3; variances 1, 3
    >>> components = decompose_squared_error(predictions, np.array([2.0, 2.0]))
    >>> {name: round(component.value, 4) for name, component in components.items()}
    {'error': 1.8333, 'bias² + noise': -0.1667, 'variance': 2.0}

    Source: Geman, Bienenstock and Doursat 1992, Neural Computation 4.
    """
    n_sets = _count_training_sets(predictions)
    deviations = np.asarray(predictions, np.float64) - truth
    set_errors = np.square(deviations).mean(axis=1)
    # With D the deviations, the error is the mean of the diagonal of D·Dᵀ, and bias² the mean of
    # its off-diagonal elements.
    row_sums = (
        deviations @ deviations.mean(axis=0) * n_sets / deviations.shape[1]
        if deviations.size
        else set_errors
    )
    total, diagonal = float(row_sums.sum()), float(set_errors.sum())
    bias = (total - diagonal) / (n_sets * (n_sets - 1))
    loo_bias = np.full(n_sets, math.nan)
    if n_sets > 2:
        loo_bias = (total - 2 * row_sums + set_errors - (diagonal - set_errors)) / (
            (n_sets - 1) * (n_sets - 2)
        )
    error, loo_error = diagonal / n_sets, (diagonal - set_errors) / (n_sets - 1)
    row_variances = deviations.var(axis=0, ddof=1)
    row_squared_bias = np.square(deviations.mean(axis=0)) - row_variances / n_sets
    jackknife = _JackknifeIntervals(n_sets, sampled, level)
    noise_variance = 0.0 if noise is None else noise
    added_noise, removed_noise = (noise_variance, 0.0) if exact else (0.0, noise_variance)
    components = {
        ERROR: jackknife.positive_component(
            error + added_noise, loo_error, row_variances + row_squared_bias
        ),
        BIAS_AND_NOISE: jackknife.bias_component(bias - removed_noise, loo_bias, row_squared_bias),
        VARIANCE: jackknife.positive_component(error - bias, loo_error - loo_bias, row_variances),
    }
    if noise is None and not exact:
        return components
    bias_and_noise = components.pop(BIAS_AND_NOISE)
    component_by_name = {
        ERROR: components[ERROR],
        BIAS: bias_and_noise,
        VARIANCE: components[VARIANCE],
    }
    if noise is not None:
        component_by_name[NOISE] = ErrorComponent(noise, no_interval("none", "known_constant"))
    return component_by_name


def _count_training_sets(predictions: npt.NDArray[Any]) -> int:
    if np.ndim(predictions) != 2 or len(predictions) < 2:
        raise ValueError(
            f"predictions have shape {np.shape(predictions)}, expected two sets or more"
        )
    return len(predictions)


@dataclass(frozen=True, slots=True)
class _JackknifeIntervals:
    """Intervals of means over rows, by the jackknife over training sets."""

    n_sets: int
    sampled: bool
    level: float

    def component(
        self, value: float, loo_values: FloatArray, row_values: FloatArray
    ) -> ErrorComponent:
        """Return a component of any sign with its interval."""
        if self.n_sets < MIN_TRAINING_SETS or np.isnan(loo_values).any():
            return ErrorComponent(value, no_interval(_JACKKNIFE_METHOD, "too_few_units"))
        deviations = loo_values - loo_values.mean()
        set_variance = (self.n_sets - 1) / self.n_sets * float(np.square(deviations).sum())
        row_variance = (
            float(row_values.var(ddof=1)) / len(row_values)
            if self.sampled and len(row_values) > 1
            else 0.0
        )
        name = _JACKKNIFE_METHOD + _AND_ROWS * self.sampled
        se = math.sqrt(set_variance + row_variance)
        if se <= ROUNDING_TOLERANCE * max(abs(value), 1e-300):
            return ErrorComponent(value, no_interval(name, "no_spread"))
        # Satterthwaite's degrees of freedom of a sum of two variances.
        df = (set_variance + row_variance) ** 2 / (
            set_variance**2 / (self.n_sets - 1) + row_variance**2 / max(len(row_values) - 1, 1)
        )
        interval = intervals.student_interval(value, se, df + 1, self.level)
        return ErrorComponent(value, replace(interval, method=name))

    def bias_component(
        self, value: float, loo_values: FloatArray, rows: FloatArray
    ) -> ErrorComponent:
        """Return a squared bias, which is usually close to 0, with its interval."""
        component = self.component(value, loo_values, rows)
        if component.interval.reason or self.n_sets >= MIN_SETS_FOR_BIAS:
            return component
        return replace(component, interval=component.interval.add_caution("few training sets"))

    def positive_component(
        self, value: float, loo_values: FloatArray, rows: FloatArray
    ) -> ErrorComponent:
        """Return a positive component with its interval on the log scale."""
        term = self.component(value, loo_values, rows)
        if term.interval.reason or not value > 0:
            return term
        half_width = term.interval.high - value
        low, high = TRANSFORMATIONS["log"].symmetric_limits(value, half_width)
        interval = replace(term.interval, low=low, high=high, method=f"{term.interval.method}, log")
        is_heavy_tailed = (
            intervals.scaled_skewness(loo_values.mean() - loo_values) > MAX_SCALED_SKEWNESS
        )
        return ErrorComponent(
            value, interval.add_caution("a heavy tail") if is_heavy_tailed else interval
        )


# --- 0–1 loss -------------------------------------------------------------------------------------


def decompose_zero_one_loss(
    predictions: npt.NDArray[np.intp],
    truth: npt.NDArray[np.intp],
    n_classes: int,
    *,
    sampled: bool = True,
    level: float = 0.95,
    n_resamples: int = 1000,
    seed: int = 0,
) -> dict[str, ErrorComponent]:
    """Decompose the error rate by Domingos: error = bias + unbiased variance − biased variance.

    The main prediction of a row is its most frequent one (the smallest class if tied). Bias is the
    proportion of rows whose main prediction is wrong. Variance is the frequency of predictions that
    differ from the main one. If the main prediction is right these are errors: the unbiased
    variance. If it is wrong some of them correct errors: the biased variance is the frequency of
    right predictions on these rows. ``variance`` is the unbiased minus the biased variance. The
    noise of the truth is included in all components.

    Parameters
    ----------
    predictions : array of int, shape (training sets, rows)
        Predicted classes, from 0 to ``n_classes`` − 1.
    truth : array of int, shape (rows,)
        True classes of the rows.
    n_classes : int
        Number of classes.
    sampled : bool, default=True
        Whether the rows are a sample, rather than the whole population.
    level : float, default=0.95
        Confidence level of the intervals, by the bootstrap over training sets, and over rows if
        these are a sample.
    n_resamples : int, default=1000
        Number of bootstrap replicates.
    seed : int, default=0
        Seed of the random number generator.

    Returns
    -------
    dict of ErrorComponent
        Components by name.

    Raises
    ------
    ValueError
        If there are fewer than two training sets.

    References
    ----------
    Domingos (2000). A unified bias-variance decomposition and its applications. ICML.

    Examples
    --------
    >>> predictions = np.array([[0, 1, 0], [0, 1, 1], [1, 1, 1], [0, 0, 2], [0, 1, 2]])
    >>> components = decompose_zero_one_loss(predictions, np.array([0, 0, 1]), 3)
    >>> [round(components[name].value, 4) for name in ("error", "bias", "variance")]
    [0.5333, 0.3333, 0.2]
    >>> [round(components[f"{name} variance"].value, 4) for name in ("unbiased", "biased")]
    [0.2667, 0.0667]

    Source: Domingos 2000, ICML.
    """
    n_sets = _count_training_sets(predictions)
    one_hot = predictions[:, :, None] == np.arange(n_classes)
    equal_weights = np.full((1, n_sets), 1 / n_sets)
    values = {
        name: float(rows.mean())
        for name, rows in _domingos_components(equal_weights, one_hot, truth).items()
    }
    if n_sets < MIN_TRAINING_SETS:
        return {
            n: ErrorComponent(v, no_interval(_BOOTSTRAP_METHOD, "too_few_units"))
            for n, v in values.items()
        }
    replicates = _replicate_components(
        one_hot, truth, sampled=sampled, n_resamples=n_resamples, seed=seed
    )
    name = _BOOTSTRAP_METHOD + _AND_ROWS * sampled
    components = {}
    for component, value in values.items():
        # The bootstrap standard deviation of a mean of n is √((n − 1)/n) times that of a sample.
        se = intervals.standard_deviation(replicates[component]) * math.sqrt(n_sets / (n_sets - 1))
        interval = no_interval(name, "no_spread")
        if se > 0:
            interval = replace(intervals.student_interval(value, se, n_sets, level), method=name)
            interval = interval.clip(-1.0 if component == VARIANCE else 0.0, 1.0)
        components[component] = ErrorComponent(value, interval)
    return components


def _domingos_components(
    weight: FloatArray, one_hot: npt.NDArray[np.bool_], truth: npt.NDArray[np.intp]
) -> Mapping[str, FloatArray]:
    """Return the components on each row, (replicates, rows), by weights of training sets."""
    sets, rows, classes = one_hot.shape
    proportions = (weight @ one_hot.reshape(sets, -1).astype(np.float64)).reshape(-1, rows, classes)
    main = proportions.argmax(axis=2)
    correct_frequency = np.take_along_axis(
        proportions, np.broadcast_to(truth[:, None], (len(proportions), rows, 1)), axis=2
    )[..., 0]
    error_mask = main != truth
    disagreement = 1 - proportions.max(axis=2)
    unbiased, biased = (
        np.where(error_mask, 0.0, disagreement),
        np.where(error_mask, correct_frequency, 0.0),
    )
    return {
        ERROR: 1 - correct_frequency,
        MAIN_BIAS: error_mask.astype(np.float64),
        VARIANCE: unbiased - biased,
        UNBIASED_VARIANCE: unbiased,
        BIASED_VARIANCE: biased,
    }


def _replicate_components(
    one_hot: npt.NDArray[np.bool_],
    truth: npt.NDArray[np.intp],
    *,
    sampled: bool,
    n_resamples: int,
    seed: int,
) -> dict[str, FloatArray]:
    """Return each component in each bootstrap replicate."""
    sets, rows, classes = one_hot.shape
    random = np.random.Generator(np.random.Philox(seed))
    step = max(1, _MAX_ELEMENTS // max(rows * classes, 1))
    replicates_by_name: dict[str, list[FloatArray]] = {}
    for start in range(0, n_resamples, step):
        n_replicates = min(step, n_resamples - start)
        weight = random.multinomial(sets, np.full(sets, 1 / sets), n_replicates) / sets
        row_weights = np.full((n_replicates, rows), 1 / rows)
        if sampled:
            row_weights = random.multinomial(rows, row_weights[0], n_replicates) / rows
        for name, values in _domingos_components(weight, one_hot, truth).items():
            replicates_by_name.setdefault(name, []).append((values * row_weights).sum(axis=1))
    return {name: np.concatenate(values) for name, values in replicates_by_name.items()}


#: Default number of training sets, by their source.
DEFAULT_TRAINING_SETS = {GENERATED: 200, DISJOINT: 10, BOOTSTRAP: 200}
#: Default proportion of the rows that are test rows, drawn at random.
TEST_PROPORTION = 1 / 3


@validate_arguments
def bias_variance(
    estimator: Any,
    X: Any = None,
    y: Any = None,
    *,
    generate: Callable[[np.random.Generator], tuple[Any, Any]] | None = None,
    test: Any = None,
    bootstrap: bool = False,
    training_sets: int | None = None,
    param_name: str | None = None,
    param_range: Sequence[Any] | None = None,
    noise: float | None = None,
    exact: bool = False,
    sampled: bool = True,
    level: float = 0.95,
    n_resamples: int = 1000,
    seed: int = 0,
    n_jobs: int | None = 1,
    progress: Progress = False,
    inputs: Sequence[Any] = (),
) -> BiasVariance:
    """Decompose the expected error of a model into bias, variance and noise.

    Bias is the error that the models of all training sets have in common, variance the error that
    is due to the individual training set.

    For a regressor the loss is squared: error = noise + bias² + variance, where bias² is the
    squared deviation of the mean prediction of a row, estimated without bias (variance/B is
    subtracted). For a classifier the loss is 0–1 (Domingos): error = bias + unbiased variance −
    biased variance, where bias is the proportion of rows whose most frequent prediction is wrong,
    and variance the frequency of predictions that differ from it: these are errors if it is right,
    and some of them correct errors if it is wrong.

    There are three sources of training sets. ``generate`` draws a new one each time. Rows (X, y)
    are divided into disjoint sets, which are independent, but smaller than the data.
    ``bootstrap=True`` draws sets from the rows with replacement and is marked, since it estimates a
    different quantity: the chance deviations of the one data set count as bias, and the variance is
    that of repeated rows. (For a polynomial of degree 4 fitted to 30 points the resulting bias² was
    18 times that of independent training sets.)

    Parameters
    ----------
    estimator : estimator
        Estimator of scikit-learn, or a pipeline. Clones are fitted; the estimator itself is not
        changed. ``random_state`` is drawn from ``seed`` if an estimator does not set it.
    X : array-like of shape (n, n_features), optional
        Features of the rows. Omitted, like ``y``, if ``generate`` is given.
    y : array-like of shape (n,), optional
        Target of each row: a class or a number.
    generate : callable, optional
        In place of rows, a function that takes a NumPy generator and returns a training set (X, y),
        of the same size each time.
    test : tuple of array-like, optional
        (X, y) of the test rows; by default a random third of the rows.
    bootstrap : bool, default=False
        Whether training sets are drawn from the rows with replacement.
    training_sets : int, optional
        Number of training sets; by default 200 if they are generated or bootstrapped, and 10
        disjoint ones otherwise.
    param_name : str, optional
        Name of the parameter as ``set_params`` takes it, such as ``"max_depth"`` or
        ``"polynomial__degree"``. Without it the estimator is used as it is.
    param_range : list, optional
        Values of the parameter, the simplest model first. All are trained on the same training
        sets.
    noise : float, optional
        Variance of y about its expected value. By default bias² and noise are reported together.
    exact : bool, default=False
        Whether the y of ``test`` is its expected value, without noise, as the values of a known
        function are.
    sampled : bool, default=True
        Whether the test rows are a sample from a population, which makes intervals wider; False for
        a grid, for example.
    level : float, default=0.95
        Confidence level of the intervals. Intervals of squared loss are Student's t from the
        jackknife over training sets, those of 0–1 loss are from the bootstrap over them.
    n_resamples : int, default=1000
        Number of bootstrap replicates.
    seed : int, default=0
        Seed of the random number generator. It determines everything that is random.
    n_jobs : int, default=1
        Number of parallel fits, -1 for all processors. It does not change the results.
    progress : bool or callable, default=False
        Whether to write the number of finished fits to stderr, on one line; or a function that is
        called after each fit with the number of finished fits and the number of all.
    inputs : list, optional
        Origins of the columns, for the provenance.

    Returns
    -------
    BiasVariance
        A row for each value, with the components by name. ``print`` and notebooks display it;
        ``chart()`` draws it, ``to_html()`` makes a page. If Ctrl-C interrupts the fits, the result
        is that of the training sets that were finished.

    Raises
    ------
    InputError
        If an argument is invalid, or a fit fails.

    See Also
    --------
    calipers.validation_curve : Training and validation errors over a hyperparameter.
    calipers.learning_curve : Training and validation errors over the number of training rows.

    Notes
    -----
    Coverage of the intervals: ``docs/coverage.md``.

    References
    ----------
    Geman, Bienenstock and Doursat (1992). Neural networks and the bias/variance dilemma. Neural
    Computation 4.

    Kohavi and Wolpert (1996). Bias plus variance decomposition for zero-one loss functions.
    ICML.

    Domingos (2000). A unified bias-variance decomposition and its applications. ICML.

    Examples
    --------
    >>> import calipers as cal
    >>> import numpy as np
    >>> from sklearn.linear_model import LinearRegression
    >>> def draw(random):  # y = x²
    ...     x = random.random((20, 1))
    ...     return x, x[:, 0] ** 2 + random.normal(0, 0.1, 20)
    >>> grid = np.linspace(0, 1, 101)
    >>> result = cal.bias_variance(
    ...     LinearRegression(), generate=draw, test=(grid[:, None], grid**2),
    ...     exact=True, noise=0.01, sampled=False,
    ... )
    >>> [(name, round(e.value, 4)) for name, e in result.rows_by_value[0].components.items()]
    [('error', 0.0179), ('bias²', 0.0058), ('variance', 0.0021), ('noise', 0.01)]
    """
    require_sklearn()
    settings = make_settings("auto", level, n_resamples, seed)
    is_classifier = is_classification(check_named_estimators(estimator))
    if is_classifier and (noise is not None or exact):
        raise InputError("noise= and exact= apply to squared loss, not to a classifier")
    if noise is not None and not 0 <= noise < math.inf:
        raise InputError(f"noise is {noise}, expected a variance: 0 or more")
    names, parameter_sets = _parameter_grid(estimator, param_name, param_range)
    design = _make_training_sets(
        X, y, generate, test, bootstrap, training_sets, seed, is_regression=not is_classifier
    )
    jobs = [
        FitJob(
            estimator, train, (design.test_rows,), (index,), parameters,
            f"{f'{param_name} {name}, ' * (param_name is not None)}training set {index + 1}",
        )
        for index, train in enumerate(design.training_sets)
        for name, parameters in zip(names, parameter_sets, strict=True)
    ]  # fmt: skip
    with report_progress(progress):
        fits: FitResults[Any] = fit_all(
            jobs, design.training_data, seed=seed, n_jobs=n_jobs, label="fitting model"
        )
    n_sets, notes = fits.n_finished // len(names), list(design.notes)
    if fits.interrupted:
        if n_sets < 2:
            raise KeyboardInterrupt
        finished = f"{n_sets} of {len(design.training_sets)} training sets"
        notes.insert(0, f"Interrupted: these numbers are of {finished}, which were finished.")
        warnings.warn(f"bias_variance was interrupted after {finished}", stacklevel=3)
    predictions = np.array(
        [fit.predictions[0] for fit in fits.results[: n_sets * len(names)] if fit is not None]
    )
    predictions_by_value = predictions.reshape(n_sets, len(names), -1).swapaxes(0, 1)
    truth = np.asarray(design.training_data.target[design.test_rows])
    rows = []
    for name, value_predictions in zip(names, predictions_by_value, strict=True):
        if is_classifier:
            labels = encode_labels(np.concatenate([truth, value_predictions.ravel()]), "prediction")
            codes = np.asarray(labels.codes, np.intp)
            component_by_name = decompose_zero_one_loss(
                codes[len(truth) :].reshape(value_predictions.shape),
                codes[: len(truth)],
                len(labels.names),
                sampled=sampled,
                level=level,
                n_resamples=settings.n_resamples,
                seed=seed,
            )
        else:
            component_by_name = decompose_squared_error(
                value_predictions.astype(np.float64),
                truth.astype(np.float64),
                noise=noise,
                exact=exact,
                sampled=sampled,
                level=level,
            )
        components = {
            component: _estimate(component, term, name, level, n_sets)
            for component, term in component_by_name.items()
        }
        rows.append(BiasVarianceRow(name, components))
    return BiasVariance(
        "0-1" if is_classifier else "squared",
        param_name or "",
        tuple(rows),
        level,
        design.source,
        n_sets,
        len(design.training_sets[0]),
        len(design.test_rows),
        tuple(notes),
        {
            **base_provenance(estimator, inputs),
            "seed": seed,
            "noise": noise,
            "exact": exact,
            "sampled": sampled,
            "n_resamples": n_resamples,
        },
    )


def _parameter_grid(
    estimator: Any, parameter: str | None, values: Sequence[Any] | None
) -> tuple[list[str], list[dict[str, Any]]]:
    """Return the names of the values of a parameter, and the parameters of each fit."""
    if (parameter is None) != (values is None):
        raise InputError("param_name= and param_range= go together")
    if parameter is None or values is None:
        return [""], [{}]
    check_parameter(estimator, parameter)
    return format_values(values), [{parameter: value} for value in values]


def _estimate(
    component: str, error_component: ErrorComponent, name: str, level: float, n_sets: int
) -> Estimate:
    interval = error_component.interval
    return Estimate(
        component,
        error_component.value,
        interval.low,
        interval.high,
        level,
        interval.method,
        n=n_sets,
        n_total=n_sets,
        unit="training sets",
        interval_reason=interval.reason,
        standard_error=interval.se,
        system=name,
    )


# --- Training sets --------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class _TrainingSets:
    """All rows, with the indices of each training set and of the test rows."""

    training_data: TrainingData
    training_sets: Sequence[Indices]
    test_rows: Indices
    source: str
    notes: tuple[str, ...] = ()


def _make_training_sets(
    X: Any,
    y: Any,
    generate: Callable[[np.random.Generator], tuple[Any, Any]] | None,
    test: Any,
    bootstrap: bool,
    training_sets: int | None,
    seed: int,
    *,
    is_regression: bool,
) -> _TrainingSets:
    """Generate the training sets, or sample them from the rows."""
    source = GENERATED if generate is not None else BOOTSTRAP if bootstrap else DISJOINT
    n_sets = DEFAULT_TRAINING_SETS[source] if training_sets is None else training_sets
    if n_sets < MIN_TRAINING_SETS:
        raise InputError(f"training_sets is {n_sets}, expected {MIN_TRAINING_SETS} or more")
    random = np.random.default_rng(seed)
    if generate is not None:
        if X is not None or y is not None or bootstrap:
            raise InputError("generate= draws the rows itself; omit X, y and bootstrap=")
        if test is None:
            raise InputError("generate= needs test=, the (X, y) of the rows to be tested on")
        pairs = [_check_pair(generate(random), "generate()") for _ in range(n_sets)]
        pairs.append(_check_pair(test, "test"))
        material, indices = _stack_pairs(pairs, is_regression=is_regression)
        set_sizes = sorted({len(rows) for rows in indices[:-1]})
        if len(set_sizes) > 1:
            raise InputError(
                f"generate() returned training sets of {set_sizes[0]} to {set_sizes[-1]} rows, "
                "expected "
                "one size"
            )
        return _TrainingSets(material, indices[:-1], indices[-1], source)
    if X is None or y is None:
        raise InputError("give rows (X, y), or generate=, a function that draws training sets")
    pool_data = TrainingData(X, check_target(X, y, is_classifier=not is_regression))
    pool = random.permutation(len(pool_data.target))
    if test is None:
        n_test = max(1, round(TEST_PROPORTION * len(pool)))
        tested, pool, material = np.sort(pool[:n_test]), pool[n_test:], pool_data
    else:
        material, indices = _stack_pairs(
            [(X, y), _check_pair(test, "test")], is_regression=is_regression
        )
        tested = indices[1]
    if bootstrap:
        return _TrainingSets(
            material, list(random.choice(pool, (n_sets, len(pool)))), tested, source
        )
    set_size = len(pool) // n_sets
    if set_size < 2:
        raise InputError(
            f"{n_sets} disjoint training sets of {len(pool)} rows have {set_size} each, expected "
            "2 or "
            "more; take fewer"
        )
    return _TrainingSets(
        material, list(pool[: n_sets * set_size].reshape(n_sets, set_size)), tested, source
    )


def _check_pair(pair: Any, label: str) -> tuple[Any, Any]:
    """Return features and truth; raise InputError unless they are a pair."""
    try:
        features, target = pair
    except (TypeError, ValueError):
        raise InputError(f"{label}: expected a pair (X, y)") from None
    return features, target


def _stack_pairs(
    pairs: Sequence[tuple[Any, Any]], *, is_regression: bool
) -> tuple[TrainingData, list[Indices]]:
    """Concatenate several pairs of features and truth, and return the row indices of each."""
    targets = [
        check_target(*pair, "training sets and test: ", is_classifier=not is_regression)
        for pair in pairs
    ]
    frames = [pair[0] for pair in pairs]
    if all(hasattr(frame, "iloc") for frame in frames):
        import pandas as pd

        features: Any = pd.concat(frames, ignore_index=True)
    else:
        try:
            features = np.concatenate([np.asarray(frame) for frame in frames])
        except ValueError as error:
            raise InputError(
                f"training sets and test: features do not fit together: {error}"
            ) from None
    target = np.concatenate(targets)
    stops = np.cumsum([len(set_target) for set_target in targets])
    indices = np.split(np.arange(stops[-1]), stops[:-1])
    return TrainingData(features, target), indices
