"""Measures of predictions of a time to an event that may be censored."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from functools import partial
from math import inf
from typing import Any

from calipers.caching import cached
from calipers.lazy_imports import numpy as np
from calipers.measures.calibration import chi2_tail
from calipers.measures.registration import measure
from calipers.statistics import FloatArray, SurvivalRows

_pair_measure = partial(
    measure,
    family="survival",
    statistic=SurvivalRows,
    interval="pairs",
    higher_is_better=True,
    perfect=1.0,
    no_skill=0.5,
    range=(0, 1),
)

# --- Concordance ----------------------------------------------------------------------------------


def _inverse_chances(rows: SurvivalRows) -> FloatArray:
    """Return 1/G(t−) of the rows with an event at t, and 0 of others."""
    survival = rows.censoring_survival.values[..., rows.sorted_times.value_index]
    # Of an event it is positive, unless the row has no weight.
    inverse = 1 / np.where(survival > 0, survival, 1.0)
    return np.asarray(np.where(rows.event & (survival > 0), inverse, 0.0))


def _pair_sums(
    rows: SurvivalRows, tau: float | None, *, is_inverse: bool
) -> tuple[FloatArray, ...]:
    """Return the factor of each row as an event, and the sums of :meth:`concordance_sums`."""

    def compute() -> tuple[FloatArray, ...]:
        chances = _inverse_chances(rows)
        factor: FloatArray = np.square(chances) if is_inverse else rows.event.astype(np.float64)
        factor = factor if tau is None else factor * (rows.time < tau)
        return factor, *rows.concordance_sums(rows.weight * factor)

    return cached(rows, ("pairs", tau, is_inverse), compute)


def _concordance(rows: SurvivalRows, tau: float | None = None, *, is_inverse: bool) -> FloatArray:
    factor, comparable, concordant, *_ = _pair_sums(rows, tau, is_inverse=is_inverse)
    weight = rows.weight * factor
    return np.asarray((weight * concordant).sum(axis=-1) / (weight * comparable).sum(axis=-1))


def _concordance_influence(
    rows: SurvivalRows, tau: float | None = None, *, is_inverse: bool
) -> FloatArray:
    sums = _pair_sums(rows, tau, is_inverse=is_inverse)
    factor, comparable, concordant, earlier, concordant_earlier = sums
    total = float(rows.weight @ (factor * comparable))
    value = float(rows.weight @ (factor * concordant)) / total
    surplus = factor * (concordant - value * comparable)
    changes = surplus + concordant_earlier - value * earlier
    if is_inverse:
        index = rows.sorted_times.value_index
        changes += rows.censoring_survival.log_derivative(-2 * rows.weight * surplus, index)
    return np.asarray(changes * float(rows.total) / total)


def _no_pairs(*, is_inverse: bool) -> Mapping[str, Any]:
    def is_undefined(rows: SurvivalRows, parameters: Mapping[str, Any]) -> Any:
        factor, comparable, *_ = _pair_sums(rows, parameters.get("tau"), is_inverse=is_inverse)
        return ~((rows.weight * factor * comparable).sum(axis=-1) > 0)

    return {"no_comparable_pairs": is_undefined}


@_pair_measure(
    "C-index",
    aliases=("Harrell-C", "concordance_index", "concordance_index_censored"),
    undefined=_no_pairs(is_inverse=False),
    moves=partial(_concordance_influence, is_inverse=False),
    reference="Harrell et al. 1982",
)
def harrell_concordance(rows: SurvivalRows) -> FloatArray:
    """Harrell's C (concordance index): how often the earlier event has the higher risk.

    It is the proportion of concordant pairs among the pairs of rows of which it is known whose
    event was first; pairs of equal risk count half. An event precedes a row that is censored at the
    same time; two events at the same time are not compared. With weights a pair counts with the
    product of both. It ranges from 0 to 1, and 0.5 is expected of a random risk; it is undefined if
    there are no such pairs. Which pairs these are depends on the censoring, and so does its
    expected value: ``Uno-C`` corrects for that.
    """
    return _concordance(rows, is_inverse=False)


@_pair_measure(
    "Uno-C",
    aliases=("concordance_index_ipcw",),
    suffix_parameter="tau",
    undefined=_no_pairs(is_inverse=True),
    moves=partial(_concordance_influence, is_inverse=True),
    reference="Uno et al. 2011",
)
def uno_concordance(rows: SurvivalRows, tau: float | None = None) -> FloatArray:
    """Uno's C: concordance with pairs weighted by the inverse probability of censoring.

    A pair whose first event is at t counts 1/G(t−)², where G(t−), the probability not to be
    censored before t, is estimated by Kaplan and Meier's method on the rows themselves. Its
    expected value does then not depend on the censoring, if that is independent of the event and of
    the predictions. ``Uno-C@tau`` counts events before ``tau``; without it the last events may have
    very large weights. Pairs are otherwise those of ``C-index``. It ranges from 0 to 1, and is
    undefined if there is no pair.
    """
    return _concordance(rows, tau, is_inverse=True)


# --- Discrimination at a time ---------------------------------------------------------------------


def _area_sums(rows: SurvivalRows, time: float) -> tuple[FloatArray, ...]:
    """Return the weights of cases and controls, and of each row what it is ranked against.

    These are the weight of controls with a lower risk, and of cases with a higher one.
    """

    def compute() -> tuple[FloatArray, ...]:
        case = _inverse_chances(rows) * (rows.time <= time)
        control = (rows.time > time).astype(np.float64)
        risks = rows.risks_at(time)
        controls, cases = (risks.weight_sums(rows.weight * column) for column in (control, case))
        lower = controls.cumsum(axis=-1) - controls / 2
        higher = cases[..., ::-1].cumsum(axis=-1)[..., ::-1] - cases / 2
        return case, control, lower[..., risks.value_index], higher[..., risks.value_index]

    return cached(rows, ("area", time), compute)


def _area(rows: SurvivalRows, time: float) -> FloatArray:
    case, control, lower, _ = _area_sums(rows, time)
    sizes = (rows.weight * case).sum(axis=-1) * (rows.weight * control).sum(axis=-1)
    return np.asarray((rows.weight * case * lower).sum(axis=-1) / sizes)


def _area_influence(rows: SurvivalRows, time: float) -> FloatArray:
    case, control, lower, higher = _area_sums(rows, time)
    cases, controls = float(rows.weight @ case), float(rows.weight @ control)
    value = float(rows.weight @ (case * lower)) / (cases * controls)
    surplus = case * (lower - value * controls)
    changes = surplus + control * (higher - value * cases)
    index = rows.sorted_times.value_index
    changes = changes + rows.censoring_survival.log_derivative(-rows.weight * surplus, index)
    return np.asarray(changes * float(rows.total) / (cases * controls))


def _has_no_case(rows: SurvivalRows, time: float) -> Any:
    return ~((rows.weight * rows.event * (rows.time <= time)).sum(axis=-1) > 0)


def _has_no_control(rows: SurvivalRows, time: float) -> Any:
    return ~((rows.weight * (rows.time > time)).sum(axis=-1) > 0)


@_pair_measure(
    "survival-AUC",
    aliases=("cumulative_dynamic_auc",),
    suffix_parameter="time",
    undefined={
        "no_event_until_time": lambda rows, parameters: _has_no_case(rows, parameters["time"]),
        "no_row_after_time": lambda rows, parameters: _has_no_control(rows, parameters["time"]),
    },
    moves=_area_influence,
    reference="Uno et al. 2007",
)
def survival_auc(rows: SurvivalRows, time: float) -> FloatArray:
    """Time-dependent AUC (cumulative/dynamic): rows with an event until a time against later ones.

    It is the proportion of pairs in which the row with an event until ``time`` has the higher risk
    than the row that is observed beyond it; equal risks count half. A case whose event is at t
    counts 1/G(t−), the inverse probability not to be censored before; a row that is censored
    earlier is in no pair. The risk is the predicted probability of an event until ``time``, if it
    was predicted for this time, else the predicted risk. It ranges from 0 to 1; it is undefined if
    there is no case or no later row.
    """
    return _area(rows, time)


def _survival_steps(rows: SurvivalRows) -> tuple[FloatArray, FloatArray]:
    """Return S at 0 and at each of the times, and the proportion of events between two of them."""
    numbers = np.array([0, *(rows.n_times_until(time) for time in rows.times)])
    survival = rows.event_survival.values[..., numbers]
    return survival, -np.diff(survival, axis=-1)


def _integrated_area_influence(rows: SurvivalRows) -> FloatArray:
    survival, steps = _survival_steps(rows)
    areas = np.array([float(_area(rows, time)) for time in rows.times])
    total = float(1 - survival[-1])
    value = float(areas @ steps) / total
    influence = sum(
        step / total * _area_influence(rows, time)
        for step, time in zip(steps, rows.times, strict=True)
    )
    # Of Σ (areas − value)·(S before − S at), by S at each of the times.
    surplus = np.append(areas - value, 0.0)
    coefficients = np.diff(surplus) * survival[1:] / total
    numbers = np.array([rows.n_times_until(time) for time in rows.times])
    changes = rows.event_survival.log_derivative(coefficients, numbers)
    return np.asarray(influence + float(rows.total) * changes)


def _any_time(condition: Callable[[SurvivalRows, float], Any]) -> Any:
    def is_undefined(rows: SurvivalRows, _: Any) -> Any:
        return np.any([condition(rows, time) for time in rows.times], axis=0)

    return is_undefined


@_pair_measure(
    "integrated-AUC",
    undefined={
        "no_event_until_time": _any_time(_has_no_case),
        "no_row_after_time": _any_time(_has_no_control),
        "no_times": lambda rows, _: len(rows.times) == 0,
    },
    moves=_integrated_area_influence,
    reference="Lambert and Chevret 2016",
)
def integrated_auc(rows: SurvivalRows) -> FloatArray:
    """Integrated time-dependent AUC: the mean of ``survival-AUC`` over the predicted times.

    The weight of each time is the proportion of events since the one before, as estimated by Kaplan
    and Meier's method. The times are those of the predicted probabilities, or of ``times``. It
    ranges from 0 to 1; it is undefined if the AUC at one of the times is.
    """
    if not rows.times:
        return np.full(rows.weight.shape[:-1], np.nan)
    survival, steps = _survival_steps(rows)
    areas = np.stack([_area(rows, time) for time in rows.times], axis=-1)
    return np.asarray((areas * steps).sum(axis=-1) / (1 - survival[..., -1]))


# --- Probabilities --------------------------------------------------------------------------------

_loss_measure = partial(
    measure,
    family="survival-probabilities",
    statistic=SurvivalRows,
    interval="relative",
    higher_is_better=False,
    perfect=0.0,
    range=(0, inf),
)


def _brier_losses(rows: SurvivalRows, time: float) -> FloatArray:
    """Return the weighted squared error of each row at a time."""

    def compute() -> FloatArray:
        survival = rows.survival_at(time)
        reached = rows.censoring_survival.values[..., rows.n_times_until(time)][..., None]
        later = np.where(rows.time > time, 1.0, 0.0) / np.where(reached > 0, reached, 1.0)
        losses = np.square(survival) * _inverse_chances(rows) * (rows.time <= time)
        return np.asarray(losses + np.square(1 - survival) * later)

    return cached(rows, ("squared errors", time), compute)


def _brier_influence(rows: SurvivalRows, time: float) -> FloatArray:
    losses = _brier_losses(rows, time)
    index, number = rows.sorted_times.value_index, rows.n_times_until(time)
    numbers = np.where(rows.time > time, number, index)
    changes = rows.censoring_survival.log_derivative(-rows.weight * losses, numbers)
    return np.asarray(losses - float(rows.mean(losses)) + changes)


def _is_not_followed(rows: SurvivalRows, time: float) -> Any:
    return rows.censoring_survival.values[..., rows.n_times_until(time)] == 0


_NO_ROWS = {"no_rows": lambda rows, _: rows.total == 0}


@_loss_measure(
    "survival-Brier",
    suffix_parameter="time",
    undefined={
        **_NO_ROWS,
        "not_followed": lambda rows, parameters: _is_not_followed(rows, parameters["time"]),
    },
    moves=_brier_influence,
    reference="Graf et al. 1999",
)
def survival_brier(rows: SurvivalRows, time: float) -> FloatArray:
    """Brier score at a time: the mean squared error of the predicted probability to survive it.

    Rows with an event at t, until ``time``, have the weight 1/G(t−), those observed beyond it the
    weight 1/G(time), and those censored before none, where G is the probability not to be censored,
    as estimated by Kaplan and Meier's method on the rows themselves. Its expected value does then
    not depend on the censoring, if that is independent of the event and of the predictions. It is
    nonnegative; it is undefined if the last rows until ``time`` are censored and none is later.
    """
    return rows.mean(_brier_losses(rows, time))


def _trapezoids(times: tuple[float, ...]) -> FloatArray:
    """Return the coefficient of the value at each time in the mean over the time between them."""
    steps = np.diff(np.array(times))
    return np.asarray((np.append(steps, 0.0) + np.append(0.0, steps)) / 2 / (times[-1] - times[0]))


def _integrated_brier_influence(rows: SurvivalRows) -> FloatArray:
    coefficients = _trapezoids(rows.times)
    terms = (
        coefficient * _brier_influence(rows, time)
        for coefficient, time in zip(coefficients, rows.times, strict=True)
    )
    return np.asarray(sum(terms))


@_loss_measure(
    "integrated-Brier",
    aliases=("integrated_brier_score", "IBS"),
    undefined={
        **_NO_ROWS,
        "not_followed": _any_time(_is_not_followed),
        "one_time": lambda rows, _: len(rows.times) < 2,
    },
    moves=_integrated_brier_influence,
    reference="Graf et al. 1999",
)
def integrated_brier(rows: SurvivalRows) -> FloatArray:
    """Integrated Brier score (IBS): the mean of ``survival-Brier`` over the predicted times.

    It is the area under the scores at the times of the predicted probabilities, joined by straight
    lines, over the time between the first and the last of them. It is nonnegative; it is undefined
    with fewer than two times, or if the score at one of them is.
    """
    if len(rows.times) < 2:
        return np.full(rows.weight.shape[:-1], np.nan)
    scores = [survival_brier(rows, time) for time in rows.times]
    return np.asarray((np.stack(scores, axis=-1) * _trapezoids(rows.times)).sum(axis=-1))


def _observed_expected(rows: SurvivalRows, time: float) -> tuple[FloatArray, FloatArray]:
    survived = rows.event_survival.values[..., rows.n_times_until(time)]
    return np.asarray(1 - survived), rows.mean(1 - rows.survival_at(time))


def _ratio_influence(rows: SurvivalRows, time: float) -> FloatArray:
    observed, expected = map(float, _observed_expected(rows, time))
    number = np.array([rows.n_times_until(time)])
    changes = rows.event_survival.log_derivative(np.array([observed - 1.0]), number)
    ratio = observed / expected
    deviations = (1 - rows.survival_at(time)) - expected
    return np.asarray((float(rows.total) * changes - ratio * deviations) / expected)


def _is_unknown_survival(rows: SurvivalRows, parameters: Mapping[str, Any]) -> Any:
    time = parameters["time"]
    survived = rows.event_survival.values[..., rows.n_times_until(time)]
    return _has_no_control(rows, time) & (survived > 0) & (rows.total > 0)


@measure(
    "OE-ratio",
    family="survival-probabilities",
    statistic=SurvivalRows,
    aliases=("observed-expected-ratio",),
    suffix_parameter="time",
    interval="relative",
    higher_is_better=None,
    perfect=1.0,
    range=(0, inf),
    undefined={
        **_NO_ROWS,
        "not_followed": _is_unknown_survival,
        "nothing_expected": lambda rows, parameters: (
            (_observed_expected(rows, parameters["time"])[1] <= 0) & (rows.total > 0)
        ),
    },
    moves=_ratio_influence,
    reference="Debray et al. 2017",
)
def observed_expected(rows: SurvivalRows, time: float) -> FloatArray:
    """O/E ratio at a time: the observed over the mean predicted risk of an event until then.

    The observed risk is that of Kaplan and Meier's estimator, 1 − S(time). Above 1 events are more
    frequent than predicted (calibration in the large). It is nonnegative; it is undefined without
    rows, if the predicted risk is 0, or if no row is observed beyond ``time`` and not all had their
    event.
    """
    observed, expected = _observed_expected(rows, time)
    return np.asarray(observed / expected)


# --- D-calibration --------------------------------------------------------------------------------


def _bin_deviations(rows: SurvivalRows, bins: int) -> FloatArray:
    """Return the proportions of rows in the bins of D-calibration, relative to 1/bins, less 1."""
    return np.asarray(bins * (rows.weight @ rows.reached_bins(bins)) / rows.total[..., None] - 1)


def _d_calibration_influence(rows: SurvivalRows, bins: int) -> FloatArray:
    deviations = _bin_deviations(rows, bins)
    length = math.sqrt(float(np.square(deviations).mean()))
    columns = bins * rows.reached_bins(bins) - 1 - deviations
    return np.asarray(columns @ deviations / (bins * length))


@_loss_measure(
    "D-calibration",
    perfect=None,
    undefined=_NO_ROWS,
    moves=_d_calibration_influence,
    interval="length",
    reference="Haider et al. 2020",
)
def d_calibration(rows: SurvivalRows, bins: int = 10) -> FloatArray:
    """D-calibration error: how far predicted probabilities of the observed times are from uniform.

    If predicted distributions are right, the probability that a row predicts for surviving its own
    time is uniform from 0 to 1. The value is the root mean square of bins·proportion − 1 over
    ``bins`` of equal width: 0.2 says that bins differ from their expected size by a fifth. Between
    the times of the predictions probabilities are interpolated, from 1 at time 0; a row that is
    censored, or observed beyond the last of the times, counts in its bin and all lower ones in
    proportion to their width. It is above 0 by chance: ``D-calibration-p`` tests it. It is
    nonnegative and undefined without rows.
    """
    return np.asarray(np.sqrt(np.square(_bin_deviations(rows, bins)).mean(axis=-1)))


@measure(
    "D-calibration-p",
    family="survival-probabilities",
    statistic=SurvivalRows,
    higher_is_better=None,
    range=(0, 1),
    undefined=_NO_ROWS,
    interval="none",
    reference="Haider et al. 2020",
)
def d_calibration_p(rows: SurvivalRows, bins: int = 10) -> FloatArray:
    """P-value of the test of D-calibration: the probability of a χ² at least as large.

    The statistic is n/bins·Σ(bins·proportion − 1)², with bins − 1 degrees of freedom and the
    effective number of rows n. Censored rows make it smaller, and the test conservative. It is
    undefined without rows.
    """
    sizes = np.square(rows.total) / np.square(rows.weight).sum(axis=-1)
    statistics = sizes * np.square(d_calibration(rows, bins))
    tails = [chi2_tail(float(statistic), bins - 1) for statistic in statistics.ravel()]
    return np.reshape(np.array(tails, np.float64), statistics.shape)
