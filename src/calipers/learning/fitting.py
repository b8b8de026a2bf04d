"""Fitting of cloned estimators on subsets of the rows, in parallel, seeded and with progress.

All models are fitted here. Results do not depend on the number of processes: the seed of each fit
depends on its job alone, and linear algebra runs in one thread, so that sums have one order.
"""

from __future__ import annotations

import inspect
import os
import sys
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import field
from time import perf_counter
from typing import Any, Generic, TypeAlias, TypeGuard, TypeVar

import numpy as np
import numpy.typing as npt

from calipers.data.errors import InputError, format_value
from calipers.extras import install_command
from calipers.lazy_dataclasses import dataclass
from calipers.progress import listen, track
from calipers.statistics import FloatArray

T = TypeVar("T")
Indices = npt.NDArray[np.intp]


@dataclass(frozen=True, eq=False)
class TrainingData:
    """Features, target, weights and groups of the rows that models are fitted with."""

    features: Any
    target: Any
    weight: FloatArray | None = None
    group: Any = None


@dataclass(frozen=True, eq=False)
class FitJob:
    """One fit: a clone of ``estimator`` with ``parameters``, fitted on the rows ``train``.

    The model then predicts the rows of each of the subsets ``eval_parts``. ``seed_key`` are
    integers that identify the fit (its repetition and fold, for example): jobs with the same key
    have the same random numbers. ``name`` is the name of the job in messages.
    """

    estimator: Any
    train: Indices
    eval_parts: tuple[Indices, ...]
    seed_key: tuple[int, ...] = ()
    parameters: Mapping[str, Any] = field(default_factory=dict)
    name: str = ""


@dataclass(frozen=True, eq=False)
class FitResult(Generic[T]):
    """Result of a job: ``predictions`` of each subset, and times of fitting and predicting.

    ``model`` is the fitted model, if it was requested.
    """

    predictions: tuple[T, ...]
    fit_seconds: float
    predict_seconds: float
    model: Any = None


@dataclass(frozen=True, eq=False)
class FitResults(Generic[T]):
    """Fits of the jobs in their order; None from the first one that an interruption left undone."""

    results: tuple[FitResult[T] | None, ...]
    interrupted: bool = False

    @property
    def n_finished(self) -> int:
        """Number of finished fits."""
        return sum(fit is not None for fit in self.results)


#: Argument of functions that report their progress.
Progress: TypeAlias = "bool | Callable[[int, int], None] | None"


@contextmanager
def report_progress(progress: Progress) -> Iterator[None]:
    """Report the finished fits within a ``with`` statement.

    True writes a line to stderr that is updated after each fit. A function is called with the
    number of finished fits and the number of all.

    Raises
    ------
    InputError
        If ``progress`` is neither.
    """
    if progress is None or progress is False:
        yield
    elif progress is True:
        with listen(_write_progress):
            try:
                yield
            finally:
                print(file=sys.stderr)
    elif _takes_numbers(progress):
        with listen(progress):
            yield
    else:
        raise InputError(
            f"progress is {format_value(progress)}, expected True, False, or a function of the "
            "numbers of finished fits and of all fits"
        )


def _takes_numbers(progress: Any) -> TypeGuard[Callable[[int, int], None]]:
    """Return whether this is a function that can be called with two numbers."""
    if not callable(progress):
        return False
    try:
        inspect.signature(progress).bind(0, 1)
    except (TypeError, ValueError):
        return False
    return True


def _write_progress(done: int, total: int) -> None:
    print(f"\rfit {done:,} of {total:,}", end="", file=sys.stderr, flush=True)


def predict_array(model: Any, features: Any) -> Any:
    """Return the predictions of ``predict`` as an array."""
    return np.asarray(model.predict(features))


def fit_all(
    jobs: Sequence[FitJob],
    training_data: TrainingData,
    predict: Callable[[Any, Any], T] = predict_array,
    *,
    seed: int = 0,
    n_jobs: int | None = 1,
    label: str = "fitting",
    keep_models: bool = False,
) -> FitResults[T]:
    """Fit all jobs, and call ``ask(model, features)`` for each of their subsets.

    Parameters
    ----------
    jobs : sequence of FitJob
        Fits to make.
    training_data : TrainingData
        Features, target, weights and groups of the rows. Estimators that divide their training rows
        themselves, such as a grid search, keep the groups together.
    predict : callable, default=predictions
        Function that is called with a fitted model and the features of a subset.
    seed : int, default=0
        Seed of every ``random_state`` that an estimator leaves open.
    n_jobs : int, default=1
        Number of parallel jobs as in joblib: -1 for all processors. They are processes, unless
        ``joblib.parallel_config`` selects another backend. Results are the same for all values.
    label : str, default="fitting"
        Name of the work in progress messages.
    keep_models : bool, default=False
        Whether results include the fitted models.

    Returns
    -------
    FitResults
        One result for each job; if Ctrl-C interrupts, for the jobs that were finished.

    Raises
    ------
    InputError
        If an estimator cannot be fitted; the message names it and the subset.
    KeyboardInterrupt
        If Ctrl-C comes before the first fit is finished.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.linear_model import LinearRegression
    >>> x, rows = np.arange(6.0)[:, None], np.arange(6)
    >>> job = FitJob(LinearRegression(), train=rows[:4], eval_parts=(rows[4:],))
    >>> fits = fit_all([job], TrainingData(x, 2 * x[:, 0]))
    >>> fits.results[0].predictions[0].round(6).tolist()
    [8.0, 10.0]
    """
    require_sklearn()
    if n_jobs == 0:
        raise InputError("n_jobs is 0, expected 1 or more, or -1 for all processors")
    fits, interrupted = [], False
    main_pid = os.getpid()
    # Clones are made here, so that estimators that share a generator do not take turns at it.
    prepared = [(_prepare_estimator(job, seed, training_data), job) for job in jobs]
    calls = ((model, job, training_data, predict, keep_models, main_pid) for model, job in prepared)
    with _limit_threads():
        results = _iterate_results(calls, n_jobs)
        try:
            for fit in track(results, label, len(jobs)):
                fits.append(fit)  # noqa: PERF402 (what is there stays where this is interrupted)
        except KeyboardInterrupt:
            if not fits:
                raise
            interrupted = True
    return FitResults((*fits, *[None] * (len(jobs) - len(fits))), interrupted)


def _iterate_results(calls: Iterable[tuple[Any, ...]], n_jobs: int | None) -> Iterable[Any]:
    """Yield the results of the calls in their order, as soon as they are available."""
    if n_jobs == 1:
        return (_fit(*call) for call in calls)
    from sklearn.utils.parallel import Parallel, delayed

    results: Iterable[Any] = Parallel(n_jobs=n_jobs, return_as="generator")(
        delayed(_fit)(*call) for call in calls
    )
    return results


def _fit(
    model: Any,
    job: FitJob,
    material: TrainingData,
    predict: Callable[[Any, Any], T],
    keep_model: bool,
    main_pid: int,
) -> FitResult[T]:
    """Run one job, in whatever process."""
    if os.getpid() == main_pid:
        return _fit_in_process(model, job, material, predict, keep_model)
    with _limit_threads():
        return _fit_in_process(model, job, material, predict, keep_model)


def _fit_in_process(
    model: Any,
    job: FitJob,
    material: TrainingData,
    predict: Callable[[Any, Any], T],
    keep_model: bool,
) -> FitResult[T]:
    from sklearn.utils.metaestimators import _safe_split

    features, target = _safe_split(model, material.features, material.target, job.train)
    weights = {}
    if material.weight is not None and (name := weight_parameter(model)):
        weights[name] = material.weight[job.train]
    start = perf_counter()
    try:
        # Models without a target (densities, anomalies) are fitted on features alone.
        model.fit(features, **weights) if target is None else model.fit(features, target, **weights)
        fit_end = perf_counter()
        part_predictions = tuple(
            predict(model, _safe_split(model, material.features, None, indices, job.train)[0])
            for indices in job.eval_parts
        )
    except Exception as error:  # whatever somebody's estimator raises
        prefix = f"{job.name}: " if job.name else ""
        raise InputError(
            f"{prefix}fitting {type(model).__name__} on {len(job.train)} rows failed: "
            f"{fit_error_message(error)}"
        ) from error
    return FitResult(
        part_predictions, fit_end - start, perf_counter() - fit_end, model if keep_model else None
    )


def fit_error_message(error: Exception) -> str:
    """Return the message of an estimator's error in one line; name other errors by type."""
    text = str(error).strip().partition("\n")[0] if isinstance(error, ValueError) else ""
    if text.startswith("could not convert"):  # NumPy's message
        return "the features contain text, expected numbers"
    return text[:300] or f"it raised {type(error).__name__}"


def _prepare_estimator(job: FitJob, seed: int, training_data: TrainingData) -> Any:
    """Return an unfitted clone with the job's parameters and seeds for open random states.

    If rows have groups, folds within the training rows keep these together.
    """
    from sklearn.base import clone

    try:
        model = clone(job.estimator)
        model.set_params(**dict(job.parameters))
    except Exception as error:  # as above
        raise InputError(
            f"{job.name or type(job.estimator).__name__}: {fit_error_message(error)}"
        ) from error
    open_states = [
        name
        for name, value in sorted(model.get_params(deep=True).items())
        if value is None and (name == "random_state" or name.endswith("__random_state"))
    ]
    if open_states:
        raw_seeds = np.random.SeedSequence((seed, *job.seed_key)).generate_state(len(open_states))
        seeds = (raw_seeds >> 1).tolist()  # scikit-learn takes 31 bits
        model.set_params(**dict(zip(open_states, seeds, strict=True)))
    if training_data.group is not None:
        for name, cv in inner_folds(model):
            pairs = _group_folds(model, cv, job.train, training_data, f"{job.name}: {name}")
            model.set_params(**{name: pairs})
    return model


#: Number of folds of an estimator of scikit-learn that divides its training rows itself.
_DEFAULT_FOLDS = 5


def inner_folds(estimator: Any, prefix: str = "") -> Iterator[tuple[str, Any]]:
    """Yield the parameters ``cv`` of an estimator that divides its training rows itself.

    Those within another one (a search of a search) are omitted, because they divide other rows.
    """
    parameters = estimator.get_params(deep=False)
    if "cv" in parameters:
        if not isinstance(parameters["cv"], str):  # "prefit"
            yield f"{prefix}cv", parameters["cv"]
        return
    # The estimators that are fitted on the same rows: steps of a pipeline, a transformed target's.
    members = [
        *(getattr(estimator, "steps", None) or ()),
        ("regressor", parameters.get("regressor")),
    ]
    for name, member in members:
        if hasattr(member, "get_params") and not isinstance(member, type):
            yield from inner_folds(member, f"{prefix}{name}__")


def _group_folds(
    model: Any, cv: Any, train: Indices, training_data: TrainingData, label: str
) -> list[tuple[Indices, Indices]]:
    """Return folds of the training rows: those of ``cv``, which is told the groups.

    A number of folds, or None, is that of GroupKFold, or of StratifiedGroupKFold for a classifier.
    """
    from sklearn.base import is_classifier
    from sklearn.model_selection import GroupKFold, StratifiedGroupKFold
    from sklearn.utils.multiclass import type_of_target

    group = np.asarray(training_data.group)[train]
    target = None if training_data.target is None else np.asarray(training_data.target)[train]
    if cv is None or isinstance(cv, int | np.integer):
        n_folds = _DEFAULT_FOLDS if cv is None else int(cv)
        n_groups = len(np.unique(group))
        if n_groups < n_folds:
            raise InputError(
                f"{label} is {n_folds} folds, and its {len(train):,} training rows have "
                f"{n_groups} groups; expected {n_folds} groups or more, or fewer folds"
            )
        is_stratified = (
            is_classifier(model)
            and target is not None
            and type_of_target(target) in ("binary", "multiclass")
        )
        cv = (StratifiedGroupKFold if is_stratified else GroupKFold)(n_folds)
    if not hasattr(cv, "split"):
        raise InputError(
            f"{label} has pairs of indices, which are not those of the training rows of a fold; "
            "expected a number of folds, or a splitter"
        )
    try:
        with warnings.catch_warnings():  # a splitter that ignores groups says so here
            warnings.simplefilter("ignore")
            pairs = list(cv.split(np.zeros((len(train), 1)), target, group))
    except Exception as error:  # whatever somebody's splitter raises
        raise InputError(f"{label}: {fit_error_message(error)}") from error
    return [(np.asarray(first), np.asarray(second)) for first, second in pairs]


def shared_group_notes(models: Mapping[str, Any], training_data: TrainingData) -> list[str]:
    """Return notes on estimators with a splitter that has rows of a group on both sides."""
    notes: list[str] = []
    if training_data.group is None:
        return notes
    rows = np.arange(len(training_data.group))
    for model_name, model in models.items():
        for name, cv in inner_folds(model):
            if not hasattr(cv, "split"):
                continue
            codes = np.asarray(training_data.group)
            pairs = _group_folds(model, cv, rows, training_data, f"{model_name}: {name}")
            if any(np.isin(codes[second], codes[first]).any() for first, second in pairs):
                notes.append(
                    f"{model_name}: {name}={type(cv).__name__} has rows of a group on both sides; "
                    "a number of folds keeps groups together."
                )
    return notes


def weight_parameter(estimator: Any) -> str | None:
    """Return the name of the weights in ``fit``; None if a model takes no weights.

    For a pipeline these are the weights of its last step, for a search those of the estimator that
    it searches over.
    """
    from sklearn.utils.validation import has_fit_parameter

    steps = getattr(estimator, "steps", None)
    if steps:
        name, last = steps[-1]
        inner = None if last in (None, "passthrough") else weight_parameter(last)
        return inner and f"{name}__{inner}"
    if has_fit_parameter(estimator, "sample_weight"):
        return "sample_weight"
    # A search passes its fit parameters to the estimator that it searches over.
    inner = getattr(estimator, "estimator", None)
    is_search = inner is not None and hasattr(estimator, "cv")
    return weight_parameter(inner) if is_search else None


def _limit_threads() -> AbstractContextManager[Any]:
    """Limit linear algebra to one thread.

    Sums over several threads have another order, and differ in the last digits.
    """
    from threadpoolctl import threadpool_limits

    limits: AbstractContextManager[Any] = threadpool_limits(1)
    return limits


def require_sklearn(purpose: str = "fitting models") -> None:
    """Raise InputError if scikit-learn, which ``purpose`` requires, cannot be imported."""
    try:
        import sklearn  # noqa: F401
    except ImportError:
        command = install_command("learn")
        raise InputError(f"{purpose} requires scikit-learn: {command}") from None
