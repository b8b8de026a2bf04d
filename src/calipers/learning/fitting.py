"""The one place that fits models on parts of the data: clones of estimators, with random numbers
of their own, over all processors, and told how far they are.

What comes out does not depend on how many work at a time: each fit has a seed that its job alone
decides, and linear algebra runs in one thread, whose sums have one order.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from time import perf_counter
from typing import Any, Generic, TypeVar

import numpy as np
import numpy.typing as npt

from calipers.data.errors import InputError
from calipers.extras import install_command
from calipers.progress import track
from calipers.statistics import FloatArray

T = TypeVar("T")
Places = npt.NDArray[np.intp]


@dataclass(frozen=True, eq=False)
class TrainingData:
    """The rows: features, target, and what each row weighs when a model is fitted."""

    features: Any
    target: Any
    weight: FloatArray | None = None


@dataclass(frozen=True, eq=False)
class FitJob:
    """One fit: of a clone of ``estimator`` with ``parameters``, on the rows ``train``; it is then
    asked about each of the parts ``asked``. ``key`` are whole numbers that say which fit it is (its
    repetition and fold, say): jobs of one key have the same random numbers. ``name`` is what
    messages call it."""

    estimator: Any
    train: Places
    asked: tuple[Places, ...]
    key: tuple[int, ...] = ()
    parameters: Mapping[str, Any] = field(default_factory=dict)
    name: str = ""


@dataclass(frozen=True, eq=False)
class FitResult(Generic[T]):
    """What came of a job: what the model ``said`` of each part asked about, and how long fitting
    and asking took. ``fitted`` is the model, where that was wanted."""

    said: tuple[T, ...]
    fit_seconds: float
    ask_seconds: float
    fitted: Any = None


@dataclass(frozen=True, eq=False)
class FitResults(Generic[T]):
    """The fits of jobs in their order; None from the first one on that an interruption left
    undone."""

    all: tuple[FitResult[T] | None, ...]
    interrupted: bool = False

    @property
    def done(self) -> int:
        """How many there are."""
        return sum(fit is not None for fit in self.all)


def predictions(model: Any, features: Any) -> Any:
    """What ``predict`` says, as an array: what most models are asked."""
    return np.asarray(model.predict(features))


def fit_all(
    jobs: Sequence[FitJob],
    material: TrainingData,
    ask: Callable[[Any, Any], T] = predictions,
    *,
    seed: int = 0,
    n_jobs: int | None = 1,
    what: str = "fitting",
    keep: bool = False,
) -> FitResults[T]:
    """Fits all jobs, each of which is asked by ``ask(model, features)``.

    Parameters
    ----------
    jobs, material
        What to fit, and the rows.
    ask
        What to ask a fitted model of the features of a part.
    seed
        Decides every ``random_state`` that an estimator leaves open.
    n_jobs
        How many work at a time, as joblib counts: -1 for all processors. Processes, unless
        ``joblib.parallel_config`` says otherwise. The numbers are the same for all.
    what
        What progress calls the work.
    keep
        Whether fits keep their models.

    Returns
    -------
    Fits
        Of as many jobs as were finished where Ctrl-C interrupts them.

    Raises
    ------
    InputError
        Where an estimator cannot be fitted, saying which on which part.
    KeyboardInterrupt
        Where Ctrl-C comes before the first is finished.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.linear_model import LinearRegression
    >>> x, rows = np.arange(6.0)[:, None], np.arange(6)
    >>> job = FitJob(LinearRegression(), train=rows[:4], asked=(rows[4:],))
    >>> fits = fit_all([job], TrainingData(x, 2 * x[:, 0]))
    >>> fits.all[0].said[0].round(6).tolist()
    [8.0, 10.0]
    """
    require_sklearn()
    if n_jobs == 0:
        raise InputError("n_jobs is 0, expected 1 or more, or -1 for all processors")
    made, interrupted = [], False
    home = os.getpid()
    # Clones are made here, so that estimators that share a generator do not take turns at it.
    ready = [(_prepare_estimator(job, seed), job) for job in jobs]
    calls = ((model, job, material, ask, keep, home) for model, job in ready)
    with _one_thread():
        results = _iterate_results(calls, n_jobs)
        try:
            for fit in track(results, what, len(jobs)):
                made.append(fit)  # noqa: PERF402 (what is there stays where this is interrupted)
        except KeyboardInterrupt:
            if not made:
                raise
            interrupted = True
    return FitResults((*made, *[None] * (len(jobs) - len(made))), interrupted)


def _iterate_results(calls: Iterable[tuple[Any, ...]], n_jobs: int | None) -> Iterable[Any]:
    """What comes of the calls, in their order, as soon as it is known."""
    if n_jobs == 1:
        return (_fit(*call) for call in calls)
    from sklearn.utils.parallel import Parallel, delayed

    made: Iterable[Any] = Parallel(n_jobs=n_jobs, return_as="generator")(
        delayed(_fit)(*call) for call in calls
    )
    return made


def _fit(
    model: Any,
    job: FitJob,
    material: TrainingData,
    ask: Callable[[Any, Any], T],
    keep: bool,
    home: int,
) -> FitResult[T]:
    """One job, in whatever process."""
    if os.getpid() == home:
        return _fit_here(model, job, material, ask, keep)
    with _one_thread():
        return _fit_here(model, job, material, ask, keep)


def _fit_here(
    model: Any, job: FitJob, material: TrainingData, ask: Callable[[Any, Any], T], keep: bool
) -> FitResult[T]:
    from sklearn.utils.metaestimators import _safe_split

    features, target = _safe_split(model, material.features, material.target, job.train)
    weights = {}
    if material.weight is not None and (name := weight_parameter(model)):
        weights[name] = material.weight[job.train]
    begun = perf_counter()
    try:
        # Models without a target (densities, anomalies) are fitted on features alone.
        model.fit(features, **weights) if target is None else model.fit(features, target, **weights)
        fitted = perf_counter()
        said = tuple(
            ask(model, _safe_split(model, material.features, None, part, job.train)[0])
            for part in job.asked
        )
    except Exception as error:  # whatever somebody's estimator raises
        where = f"{job.name}: " if job.name else ""
        raise InputError(
            f"{where}fitting {type(model).__name__} on {len(job.train)} rows failed: "
            f"{fit_error_message(error)}"
        ) from error
    return FitResult(said, fitted - begun, perf_counter() - fitted, model if keep else None)


def fit_error_message(error: Exception) -> str:
    """What an estimator complains of, in a line; other errors are for those who wrote it."""
    text = str(error).strip().partition("\n")[0] if isinstance(error, ValueError) else ""
    if text.startswith("could not convert"):  # which NumPy says of it
        return "there is text where it takes numbers"
    return text[:300] or f"it raised {type(error).__name__}"


def _prepare_estimator(job: FitJob, seed: int) -> Any:
    """An unfitted clone with the parameters of the job, and a seed for each random state that is
    left open."""
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
        drawn = np.random.SeedSequence((seed, *job.key)).generate_state(len(open_states))
        seeds = (drawn >> 1).tolist()  # scikit-learn takes 31 bits
        model.set_params(**dict(zip(open_states, seeds, strict=True)))
    return model


def weight_parameter(estimator: Any) -> str | None:
    """What ``fit`` calls the weights of rows: of a pipeline those of its last step; None where a
    model takes none."""
    from sklearn.utils.validation import has_fit_parameter

    steps = getattr(estimator, "steps", None)
    if steps:
        name, last = steps[-1]
        inner = None if last in (None, "passthrough") else weight_parameter(last)
        return inner and f"{name}__{inner}"
    if has_fit_parameter(estimator, "sample_weight"):
        return "sample_weight"
    # A search hands what it gets to what it searches among.
    inner = getattr(estimator, "estimator", None)
    searches = inner is not None and hasattr(estimator, "cv")
    return weight_parameter(inner) if searches else None


def _one_thread() -> AbstractContextManager[Any]:
    """Linear algebra in one thread: sums of several have another order, and other last digits."""
    from threadpoolctl import threadpool_limits

    made: AbstractContextManager[Any] = threadpool_limits(1)
    return made


def require_sklearn(what: str = "fitting models") -> None:
    """That scikit-learn can be imported, which ``what`` takes."""
    try:
        import sklearn  # noqa: F401
    except ImportError:
        command = install_command("learn")
        raise InputError(f"{what} takes scikit-learn: {command}") from None
