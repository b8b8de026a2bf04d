"""Selection that is paid for: what the best of several models is worth on rows that had no part in
choosing it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from calipers.data.errors import InputError, shown
from calipers.evaluate.arguments import verb
from calipers.inference.splits import corrected_t
from calipers.learning.answers import are_classifiers, named
from calipers.learning.designs import Known, designed
from calipers.learning.fitting import Job
from calipers.learning.measured import Task
from calipers.measures import Measure
from calipers.results import Estimate
from calipers.results.selection import Candidate, Selection
from calipers.statistics import FloatArray


@verb
def select(
    candidates: Any,
    X: Any,
    y: Any,
    *,
    measure: str | Measure | None = None,
    folds: Any = 10,
    inner: int = 5,
    repeats: int = 1,
    stratify: bool | None = None,
    group: Any = None,
    time: Any = None,
    weight: Any = None,
    positive: Any = None,
    level: float = 0.95,
    seed: int = 0,
    n_jobs: int | None = 1,
    inputs: Sequence[Any] = (),
) -> Selection:
    """Choose among models by cross-validation, and say what the chosen one is worth.

    The best of m cross-validated values flatters: chance chose it as well. *Nested*
    cross-validation pays for the choice. In each of the ``folds`` outer splits, the candidates are
    compared by ``inner`` folds of the rows trained on alone; the best is fitted on all of them and
    measured on the rows held out, which had no part in choosing it. The mean of these values,
    ``honest``, is that of the whole procedure, choice included. ``optimism`` is how much better the
    candidate looks that is best on the rows held out: the paired difference on the same splits.
    (What :func:`calipers.cross_validate` calls nested, for intervals, is another thing.)

    Parameters
    ----------
    candidates
        A dict of two or more estimators of scikit-learn by name: other models, or one with other
        parameters.
    X, y, measure, folds, repeats, stratify, group, time, weight, positive
        See :func:`calipers.validation_curve`.
    inner
        How many folds within the rows trained on; they are stratified, grouped or forward in time
        as the outer ones are.
    level, seed, n_jobs, inputs
        See :func:`calipers.cross_validate`. There are ``folds`` · (``inner`` + 1) fits a candidate.

    Returns
    -------
    Selection
        ``best``, ``honest``, ``optimism``, and the candidates with the share of outer splits in
        which each was chosen. All intervals are corrected resampled t over the outer splits.

    Raises
    ------
    InputError
        For anything wrong with the input, and for fits that fail.

    Notes
    -----
    Sources: Varma and Simon 2006; Cawley and Talbot 2010. Splitters and given splits cannot be
    made within the rows trained on: ``folds`` is a number.

    Examples
    --------
    >>> import numpy as np, calipers as cal
    >>> from sklearn.neighbors import KNeighborsClassifier
    >>> rng = np.random.default_rng(0)
    >>> X, y = rng.normal(size=(100, 5)), rng.integers(0, 2, 100)  # nothing to be learned
    >>> models = {f"{k} neighbours": KNeighborsClassifier(k) for k in (1, 3, 5, 7, 9)}
    >>> found = cal.select(models, X, y, measure="accuracy", folds=5)
    >>> found[found.best].shown.value > found.honest.value, found.optimism.value > 0
    (True, True)
    """
    if not isinstance(candidates, Mapping) or len(candidates) < 2:
        raise InputError(
            f"candidates is {shown(candidates)}, expected a dict of two or more estimators by name"
        )
    if isinstance(folds, bool) or not isinstance(folds, int | np.integer):
        raise InputError(f"folds is {shown(folds)}, expected how many")
    models = named(candidates)
    are_classifiers(models)
    first = next(iter(models.values()))
    task = Task.of(
        first, X, y, measure=measure, positive=positive, folds=int(folds), repeats=repeats,
        stratify=stratify, group=group, time=time, weight=weight, level=level, seed=seed,
    )  # fmt: skip
    jobs = [
        job
        for number, part in enumerate(task.design.parts)
        for job in _jobs(task, X, number, part, models, inner, stratify)
    ]
    each = len(jobs) // len(task.design.parts)
    _, validation, task, notes = task.measured(jobs, each, n_jobs, "select")
    splits, m = len(validation), len(models)
    table = validation.reshape(splits, m, each // m)
    outer, within = table[:, :, 0], table[:, :, 1:].mean(axis=2)
    picked = np.argmax(task.scorer.sign * within, axis=1)
    nested = outer[np.arange(splits), picked]
    best = int(np.argmax(task.scorer.sign * outer.mean(axis=0)))
    names = list(models)
    return Selection(
        task.measure,
        tuple(
            Candidate(name, task.validation(outer[:, i], name), float((picked == i).mean()))
            for i, name in enumerate(names)
        ),
        names[best],
        task.validation(nested, "chosen"),
        _apart(task, task.scorer.sign * (outer[:, best] - nested)),
        level,
        task.higher_is_better,
        (*notes, *task.design.notes),
        {
            **task.told(inputs, inner=inner),
            "estimator": {n: repr(one) for n, one in models.items()},
        },
    )


def _jobs(
    task: Task, features: Any, number: int, part: Any, models: Mapping[str, Any], inner: int,
    stratify: bool | None,
) -> list[Job]:  # fmt: skip
    """Of one outer split: each candidate on the rows trained on, then on their inner folds."""
    rows, known = part.train, task.known
    own = Known(
        len(rows),
        known.target[rows],
        known.classes,
        None if known.group is None else known.group[rows],
        None if known.time is None else _times(known, rows),
    )
    design = designed(inner, 1, own, None, stratify=stratify, seed=task.seed + number + 1)
    made = []
    for name, model in models.items():
        where = f"{name}, fold {number + 1}"
        key = (part.repetition, part.fold)
        made.append(Job(model, rows, (part.train, part.test), key, name=where))
        for one in design.parts:
            train, test = rows[one.train], rows[one.test]
            again = (*key, one.fold)
            made.append(Job(model, train, (train, test), again, name=f"{where}, within"))
    return made


def _times(known: Known, rows: Any) -> Any:
    return rows if known.time is True else np.asarray(known.time)[rows]


def _apart(task: Task, differences: FloatArray) -> Estimate:
    """How much better the best looks, over the outer splits."""
    found = corrected_t(differences, *task.sizes, level=task.level)
    made = found.interval
    return Estimate(
        task.measure, found.value, made.low, made.high, task.level, made.method,
        n=found.splits, of=found.splits, unit="splits", no_interval=made.reason,
        standard_error=made.se, system="optimism",
    )  # fmt: skip
