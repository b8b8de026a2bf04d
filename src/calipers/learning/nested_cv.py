"""Nested cross-validation: the interval of the mean loss of a model."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np

from calipers.data.errors import InputError
from calipers.inference import intervals
from calipers.inference.intervals import Interval, normal_quantile
from calipers.lazy_dataclasses import dataclass
from calipers.learning.fitting import FitJob, Indices
from calipers.learning.split_designs import RowConstraints, SplitDesign
from calipers.results import Evaluation
from calipers.statistics import FloatArray

METHOD = "nested cross-validation"


@dataclass(frozen=True, slots=True)
class OuterFold:
    """Losses of one fold of the outer loop.

    ``losses`` are the losses on the fold of the model trained on all other folds, ``inner_losses``
    those of the cross-validation of these other folds among themselves.
    """

    losses: FloatArray
    inner_losses: FloatArray


@dataclass(frozen=True, slots=True)
class NestedCvInterval:
    """Estimate of the mean loss by nested cross-validation.

    ``inner_mean`` is the mean loss within the outer folds, ``cv_mean`` that of ordinary
    cross-validation. ``bias`` is by how much ``inner_mean`` is too large, as its models are trained
    on fewer rows. ``inflation`` is the ratio of the interval's length to that of an interval of
    independent rows, and ``mse`` the mean squared error that it is computed from. If ``mse`` is
    below 0 there are too few repetitions to estimate it.
    """

    interval: Interval
    inner_mean: float
    cv_mean: float
    bias: float
    inflation: float
    mse: float


def nested_interval(
    outer: Sequence[OuterFold], n_rows: int, n_folds: int, level: float = 0.95
) -> NestedCvInterval:
    """Compute the nested cross-validation interval of Bates, Hastie and Tibshirani.

    It is the interval of the mean loss of a model trained on all ``n_rows``, computed from the
    outer folds of one or more repetitions of ``n_folds``-fold cross-validation. It is undefined if
    all losses are equal.

    Notes
    -----
    With ē_in and ē_out the mean losses of an outer fold, MSE is the mean over folds of
    (ē_in − ē_out)² minus the mean of var(e_out)/n_k; SE = inflation · sd(e_in)/√n, where inflation
    is √MSE over sd(e_in)/√(n(K − 1)/K), limited to between 1 and √K. The interval is err_NCV − bias
    ± z·SE with err_NCV the mean of all e_in and bias = (1 + (K − 2)/K)(err_NCV − err_CV). Inner
    models are trained on the proportion (K − 2)/K of the rows; bias is the resulting increase of an
    error that falls as 1/n.

    References
    ----------
    Bates, Hastie and Tibshirani (2024). Cross-validation: what does it estimate and how well does
    it do it? Journal of the American Statistical Association 119.

    Examples
    --------
    >>> folds = [OuterFold(np.array([1.0, 3.0]), np.array([2.0, 4.0, 1.0, 2.0])) for _ in range(3)]
    >>> result = nested_interval(folds, n_rows=6, n_folds=3)
    >>> result.inner_mean, result.cv_mean, round(result.bias, 4), result.inflation
    (2.25, 2.0, 0.3333, 1.0)
    """
    within = np.concatenate([fold.inner_losses for fold in outer])
    mean, spread = float(within.mean()), float(within.std(ddof=1))
    plain = float(np.concatenate([fold.losses for fold in outer]).mean())
    squared_differences = [
        (float(fold.inner_losses.mean()) - float(fold.losses.mean())) ** 2 for fold in outer
    ]
    noise = [_variance(fold.losses) / len(fold.losses) for fold in outer]
    mse = float(np.mean(squared_differences) - np.mean(noise))
    bias = (1 + (n_folds - 2) / n_folds) * (mean - plain)
    if not spread > 0:
        undefined = Interval(math.nan, math.nan, METHOD, reason="no_spread")
        return NestedCvInterval(undefined, mean, plain, bias, math.nan, mse)
    raw_inflation = math.sqrt(max(0.0, mse)) / (
        spread / math.sqrt(n_rows * (n_folds - 1) / n_folds)
    )
    inflation = min(max(1.0, raw_inflation), math.sqrt(n_folds))
    se = inflation * spread / math.sqrt(n_rows)
    center, half_width = mean - bias, normal_quantile(level) * se
    interval = Interval(center - half_width, center + half_width, METHOD, se=se)
    return NestedCvInterval(interval, mean, plain, bias, inflation, mse)


def _variance(losses: FloatArray) -> float:
    """Return the sample variance, or 0 for a single row."""
    return float(losses.var(ddof=1)) if len(losses) > 1 else 0.0


class FoldPair(NamedTuple):
    """Two folds of a repetition that are predicted by a model trained on all other folds."""

    repetition: int
    first: int
    second: int
    train: Indices
    eval_parts: tuple[Indices, Indices]


def make_fold_pairs(
    design: SplitDesign, constraints: RowConstraints, weight: Any
) -> tuple[FoldPair, ...]:
    """Return the pairs of folds of each repetition.

    Raises
    ------
    InputError
        If rows are not tested once a repetition, are weighted, or have groups or times: the
        interval is that of independent rows.
    """
    for name, value in (
        ("group", constraints.group),
        ("time", constraints.time),
        ("weight", weight),
    ):
        if value is not None:
            raise InputError(
                f"interval='nested' requires independent rows of equal weight; omit {name}="
            )
    pairs = []
    for repetition in range(design.n_repetitions):
        folds = [fold for fold in design.folds if fold.repetition == repetition]
        tested = np.sort(np.concatenate([fold.test for fold in folds]))
        if len(folds) < 3 or not np.array_equal(tested, np.arange(constraints.n_rows)):
            raise InputError(
                "interval='nested' requires three folds or more that test every row once"
            )
        for a, b in combinations(folds, 2):
            train = np.setdiff1d(a.train, b.test)
            pairs.append(FoldPair(repetition, a.fold, b.fold, train, (a.test, b.test)))
    return tuple(pairs)


def make_pair_jobs(pairs: Sequence[FoldPair], models: Mapping[str, Any]) -> list[FitJob]:
    """Return the fits of all models without each pair of folds."""
    return [
        FitJob(
            model, pair.train, pair.eval_parts, (pair.repetition, pair.first, pair.second),
            name=f"{name} without folds {pair.first + 1} and {pair.second + 1}",
        )
        for pair in pairs
        for name, model in models.items()
    ]  # fmt: skip


class NestedIntervals:
    """Nested cross-validation intervals of the measures that are means of losses per row.

    They are computed from the evaluation of all rows, and from that of the rows of all ``pairs``,
    both folds of one after the other.
    """

    def __init__(
        self, pooled: Evaluation, within: Evaluation, design: SplitDesign,
        fold_indices: Sequence[Indices], pairs: Sequence[FoldPair], level: float,
    ) -> None:  # fmt: skip
        self.design, self.fold_indices, self.pairs, self.level = design, fold_indices, pairs, level
        self.n_folds = len(design.first_repetition)
        self.by_name: dict[tuple[str, str], NestedCvInterval] = {}
        for name, system in pooled.sources.systems_by_name.items():
            within_system = within.sources.systems_by_name[name]
            for measure in pooled.sources.measures:
                value = pooled[name, str(measure)].value
                losses = _losses(system, measure, value)
                if losses is not None:
                    inner = _losses(within_system, measure, within[name, str(measure)].value)
                    if inner is not None:
                        self.by_name[name, str(measure)] = self._compute_interval(losses, inner)
        if not self.by_name:
            raise InputError(
                "interval='nested' requires a mean of a loss per row, such as MSE, Brier or "
                f"accuracy; none of {', '.join(pooled.measures)} is one"
            )

    def __call__(self, system: str, measure: str) -> Interval:
        """Return the interval of a measure, undefined if the measure is not a mean loss."""
        nested = self.by_name.get((system, measure))
        return (
            intervals.no_interval(METHOD, "no_mean_of_losses")
            if nested is None
            else nested.interval
        )

    @property
    def notes(self) -> list[str]:
        """Notes on the values that each interval is based on."""
        return [
            f"{measure} of {system}: {nested.inner_mean:.6g} within folds, {nested.cv_mean:.6g} by "
            f"ordinary cross-validation, bias {nested.bias:.3g}; the interval is "
            f"{nested.inflation:.3g} times as long as that of independent rows"
            + (
                ", since the estimated mean squared error is not positive; use more repeats."
                if nested.mse <= 0
                else "."
            )
            for (system, measure), nested in self.by_name.items()
        ]

    def _compute_interval(self, losses: FloatArray, inner: FloatArray) -> NestedCvInterval:
        within: dict[tuple[int, int], list[FloatArray]] = {}
        offset = 0
        for pair in self.pairs:
            # The losses on one fold of a pair belong to the inner cross-validation of the other
            # fold.
            for held_out, eval_indices in zip(
                (pair.second, pair.first), pair.eval_parts, strict=True
            ):
                fold_losses = inner[offset : offset + len(eval_indices)]
                within.setdefault((pair.repetition, held_out), []).append(fold_losses)
                offset += len(eval_indices)
        outer = [
            OuterFold(losses[indices], np.concatenate(within[fold.repetition, fold.fold]))
            for fold, indices in zip(self.design.folds, self.fold_indices, strict=True)
        ]
        rows = sum(len(fold.test) for fold in self.design.first_repetition)
        return nested_interval(outer, rows, self.n_folds, self.level)


def _losses(system: Any, measure: Any, value: float) -> FloatArray | None:
    """Return the loss of each row if the measure is their mean, otherwise None."""
    losses: FloatArray | None = system.row_values(measure)
    if losses is None or not np.isfinite(losses).all():
        return None
    return losses if np.isclose(losses.mean(), value, rtol=1e-9, atol=1e-12) else None
