"""Findings on residuals: tails, skewness, trend, heteroscedasticity, and influential rows."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from calipers.findings.formatting import IntervalNumber, format_first
from calipers.findings.linear_trend import LinearTrend, fit_line
from calipers.findings.regression import MIN_ROWS, NumericPredictions, Residuals
from calipers.findings.rules import Claim, FindingDraft, Subject, rule, t_test_p_value
from calipers.inference import intervals
from calipers.report.numbers import format_count, format_number, format_percent
from calipers.statistics.base import dot
from calipers.statistics.row_sample import MAX_LARGEST_RESIDUALS  # noqa: F401 - used in the text of a rule

if TYPE_CHECKING:
    import numpy.typing as npt

    from calipers.statistics import FloatArray, LargestResiduals

#: Tails are heavy if the standard deviation is this many times the mean absolute deviation: 1.25
#: for normal residuals, 1.41 for Laplace, 1.35 for Student's t with 5 degrees of freedom.
MIN_HEAVY_TAIL_RATIO = 1.4
#: Residuals are skewed if the proportion below their mean differs from one half by more than this;
#: it is 0.63 for an exponential distribution.
MIN_SKEW = 0.05
#: The smallest proportion of the residual variance explained by a trend that is reported.
MIN_EXPLAINED_PROPORTION = 0.01
#: The smallest ratio of the mean absolute residuals of the extreme quintiles that is reported.
MIN_QUINTILE_RATIO = 1.5
#: The largest proportion of rows that are reported as influential.
MAX_INFLUENTIAL_PROPORTION = 0.01
_NORMAL_RATIO = math.sqrt(math.pi / 2)
#: √n times the standard deviation, for normal residuals, of mean absolute over standard deviation.
_NORMAL_RATIO_SD = math.sqrt(1 - 3 / math.pi)
#: One of so many rows is in the sample that gives a threshold, if this many rows are looked for.
_SAMPLING_STEP, _MIN_SAMPLED_ROWS = 16, 1000
#: Maximum number of rows whose names a finding lists.
_MAX_LISTED_ROWS = 3


@rule("heavy-tails", "caution", NumericPredictions, cost="rows")
def heavy_tails(subject: Subject, predictions: NumericPredictions) -> Iterator[Claim]:
    """Residuals have significantly heavier tails than normal residuals (Geary 1935).

    With {MIN_ROWS} rows or more, their standard deviation is at least {MIN_HEAVY_TAIL_RATIO:g}
    times their mean absolute deviation, significantly more than for normal ones.
    """
    residuals = predictions.residuals
    if not residuals.is_usable:
        return
    ratio = residuals.shape[0] / residuals.sd
    se = _NORMAL_RATIO_SD / math.sqrt(residuals.effective_size)
    if residuals.clusters is not None:
        magnitudes = np.abs(residuals.centered)
        influence = magnitudes / residuals.sd - ratio * np.square(magnitudes / residuals.sd) / 2
        se = max(se, residuals.standard_error(influence))
    # One-sided: light tails are not a fault.
    p = math.erfc((1 / _NORMAL_RATIO - ratio) / se / math.sqrt(2)) / 2
    yield Claim(
        p if 1 / ratio >= MIN_HEAVY_TAIL_RATIO else 1.0,
        partial(_heavy_tails_message, subject, 1 / ratio),
    )


def _heavy_tails_message(subject: Subject, ratio: float) -> FindingDraft:
    robust_measures = subject.shown_among("MAE", "MedAE")
    return FindingDraft(
        f"{subject.title}: the residuals are heavy-tailed; their standard deviation is {ratio:.2f} "
        f"times their mean absolute deviation ({_NORMAL_RATIO:.2f} if normal). RMSE, MSE and R² "
        "depend "
        f"mostly on few rows; report {' and '.join(robust_measures) or 'MAE or MedAE'} as well. "
        "The "
        "chi-square interval of the RMSE assumes normal residuals and is too narrow here.",
        {
            "standard over mean absolute deviation": ratio,
            "ratio of normal residuals": _NORMAL_RATIO,
        },
        subject.shown_among("RMSE", "MSE", "R2", "MAE", "MedAE"),
    )


@rule("skewed-residuals", "information", NumericPredictions, cost="sorted rows")
def skewed_residuals(subject: Subject, predictions: NumericPredictions) -> Iterator[Claim]:
    """Residuals are significantly skewed.

    With {MIN_ROWS} rows or more, the interval of the proportion of residuals below their mean is
    more than {MIN_SKEW:g} away from one half.
    """
    residuals = predictions.residuals
    if not residuals.is_usable:
        return
    _, proportion_below = residuals.shape
    excess = abs(proportion_below - 0.5) - MIN_SKEW
    if excess <= 0:
        yield Claim(1.0)
        return
    first, third = residuals.quartiles
    # The mean is estimated from the same rows; its influence depends on the density there.
    width = 0.9 * min(residuals.sd, (third - first) / 1.349) * residuals.effective_size**-0.2
    if not width > 0:
        return
    near = np.exp(-np.square(residuals.centered / width) / 2) / (width * math.sqrt(2 * math.pi))
    below = (residuals.centered < 0).astype(np.float64)
    se = residuals.standard_error(below + residuals.mean(near) * residuals.centered)
    limits = intervals.student_interval(
        proportion_below, se, residuals.effective_size, subject.level
    )
    interval = IntervalNumber(proportion_below, max(limits.low, 0.0), min(limits.high, 1.0))
    is_skewed = interval.low > 0.5 + MIN_SKEW or interval.high < 0.5 - MIN_SKEW
    p = t_test_p_value(excess, se, residuals.effective_size - 1) / 2 if is_skewed else 1.0
    yield Claim(p, partial(_skewness_message, subject, interval))


def _skewness_message(subject: Subject, interval: IntervalNumber) -> FindingDraft:
    proportion_below = interval.value
    direction = "below" if proportion_below > 0.5 else "above"
    proportion = (
        interval
        if proportion_below > 0.5
        else IntervalNumber(1 - proportion_below, 1 - interval.high, 1 - interval.low)
    )
    side = "high" if proportion_below > 0.5 else "low"
    return FindingDraft(
        f"{subject.title}: the residuals are skewed; {proportion} of them are {direction} their "
        "mean, "
        f"and the largest are of predictions that are too {side}. RMSE rewards predicting the "
        "mean, MAE the median, and here the two differ: choose the measure accordingly. Symmetric "
        "intervals (normal, Student) are less accurate; the default ones allow for skewness.",
        {f"proportion {direction} the mean": proportion},
        subject.shown_among("RMSE", "MSE", "MAE", "mean-error"),
        aspect=direction,
    )


@rule("residual-trend", "caution", NumericPredictions, cost="sorted rows")
def residual_trend(subject: Subject, predictions: NumericPredictions) -> Iterator[Claim]:
    """Residuals have a significant linear trend in the rank of the prediction.

    With {MIN_ROWS} rows or more, the trend explains at least {MIN_EXPLAINED_PROPORTION:.0%} of the
    residual variance, and the interval of its slope excludes 0 (HC3, with at least {MIN_ROWS}
    degrees of freedom or half the number of rows).
    """
    sampled = predictions.sampled
    residuals = sampled.residuals
    trend = residuals.trend if residuals.is_usable else None
    if trend is None or math.isnan(trend.p):
        return
    # With few degrees of freedom a few rows in the tail determine the slope.
    is_notable = trend.r_squared >= MIN_EXPLAINED_PROPORTION and trend.df >= min(
        MIN_ROWS, residuals.effective_size / 2
    )
    yield Claim(trend.p if is_notable else 1.0, partial(_trend_message, subject, sampled, trend))


def _trend_message(
    subject: Subject, sampled: NumericPredictions, trend: LinearTrend
) -> FindingDraft:
    residuals = sampled.residuals
    low, high = residuals.extreme_quintile_means(residuals.values, subject.level)
    mse = residuals.mean(np.square(residuals.values))
    rmse, corrected_rmse = (
        residuals.scale * math.sqrt(x) for x in (mse, residuals.mean(np.square(trend.residuals)))
    )
    tendency = "too extreme" if trend.slope > 0 else "too moderate"
    return FindingDraft(
        f"{subject.title}: the predictions are {tendency}; the mean residual is {low:+} in the "
        f"lowest quintile of the predictions and {high:+} in the highest. A linear correction "
        f"fitted to these rows would change the RMSE from {format_number(rmse)} to "
        f"{format_number(corrected_rmse)}; fit it on other rows.",
        {
            "mean residual in the lowest quintile": low,
            "mean residual in the highest quintile": high,
            "RMSE": rmse,
            "RMSE after a linear correction": corrected_rmse,
            "p": trend.p,
        },
        subject.shown_among("RMSE", "MSE", "MAE", "mean-error", "R2"),
        aspect=tendency,
        sample_note=sampled.sample_note,
    )


@rule("heteroscedastic-errors", "caution", NumericPredictions, cost="sorted rows")
def heteroscedastic_errors(subject: Subject, predictions: NumericPredictions) -> Iterator[Claim]:
    """Absolute residuals depend significantly on the rank of the prediction.

    With {MIN_ROWS} rows or more, their mean in one extreme quintile of the predictions is at least
    {MIN_QUINTILE_RATIO:g} times their mean in the other, and Glejser's test (corrected for
    skewness, HC3) is significant.
    """
    sampled = predictions.sampled
    residuals = sampled.residuals
    trend = residuals.trend if residuals.is_usable else None
    if trend is None:
        return
    if not math.isfinite(trend.se):
        return
    low, high = residuals.extreme_quintile_means(np.abs(trend.residuals), subject.level)
    small, large = sorted((low.value, high.value))
    if large < MIN_QUINTILE_RATIO * small:
        yield Claim(1.0)
        return
    # Center the signs: else they correlate with the error of the line (Im 2000).
    sign = np.sign(trend.residuals)
    glejser = fit_line(
        residuals.ranks,
        trend.residuals * (sign - residuals.mean(sign)),
        residuals.weight,
        residuals.clusters,
    )
    if glejser is None or math.isnan(glejser.p):
        return
    agree = (high.value > low.value) == (glejser.slope > 0)
    yield Claim(
        glejser.p if agree else 1.0,
        partial(_heteroscedasticity_message, subject, low, high, glejser, sampled.sample_note),
    )


def _heteroscedasticity_message(
    subject: Subject,
    low: IntervalNumber,
    high: IntervalNumber,
    trend: LinearTrend,
    sample_note: str,
) -> FindingDraft:
    grow, affected = ("grow", "large") if trend.slope > 0 else ("shrink", "small")
    return FindingDraft(
        f"The errors of {subject.name_in_sentence} are heteroscedastic; the mean absolute error is "
        f"{low} in the lowest quintile of the predictions and {high} in the highest. Rows with "
        f"{affected} predictions contribute more to RMSE and MAE; report relative errors (RMSLE, "
        "MAPE) or errors by slice as well.",
        {
            "mean absolute error in the lowest quintile": low,
            "mean absolute error in the highest quintile": high,
            "p": trend.p,
        },
        subject.shown_among("RMSE", "MSE", "MAE", "RMSLE", "MAPE"),
        aspect=grow,
        sample_note=sample_note,
    )


@rule("influential-rows", "caution", NumericPredictions, cost="rows", counts=True)
def influential_rows(subject: Subject, predictions: NumericPredictions) -> Iterator[FindingDraft]:
    """Few rows account for half of the squared error.

    With {MIN_ROWS} rows or more, they are at most {MAX_INFLUENTIAL_PROPORTION:.0%} of the rows, or
    a single one (in batches, at most {MAX_LARGEST_RESIDUALS:,} rows).
    """
    residuals = predictions.residuals
    if residuals.effective_size < MIN_ROWS:
        return
    if predictions.row_name is not None:
        influential = _largest_rows(residuals, predictions.row_name)
    else:
        influential = (
            None if predictions.largest is None else _largest_streamed_rows(predictions.largest)
        )
    if influential is None:
        return
    k, unit, proportion = (
        influential.n_influential,
        residuals.scale if predictions.row_name else 1.0,
        influential.squares / influential.total_squares,
    )
    remaining = (
        influential.total_squares - influential.squares,
        influential.total_weight - influential.weight,
    )
    rmse, remaining_rmse = (
        unit * math.sqrt(squares / weight) if weight > 0 else math.nan
        for squares, weight in ((influential.total_squares, influential.total_weight), remaining)
    )
    yield FindingDraft(
        f"{subject.title}: {k:,} of {format_count(influential.n_rows, 'rows')} "
        f"account{'s' if k == 1 else ''} for {format_percent(round(proportion, 2))} of the squared "
        f"error: {format_first(influential.names, _MAX_LISTED_ROWS)}. Without "
        f"{'it' if k == 1 else 'them'} the RMSE would be {format_number(remaining_rmse)} instead "
        "of "
        f"{format_number(rmse)}; check the truth {'of this row' if k == 1 else 'of these rows'}.",
        {
            "influential rows": k,
            "proportion of the squared error": proportion,
            "RMSE": rmse,
            "RMSE without them": remaining_rmse,
        },
        subject.shown_among("RMSE", "MSE", "R2", "max-error"),
        of_all_rows=True,
    )


class _InfluentialRows(NamedTuple):
    """Rows that account for half of the squared error, and totals over all rows.

    The fields are number, names, weight and sum of squares of these rows, then number, weight and
    sum of squares of all rows.
    """

    n_influential: int
    names: Sequence[str]
    weight: float
    squares: float
    n_rows: int
    total_weight: float
    total_squares: float


def _candidate_rows(values: FloatArray, n_largest: int) -> npt.NDArray[np.intp]:
    """Return the rows of the n largest values, and possibly of some more.

    Their threshold is that of a sample, which takes a tenth of the time of a partition of all rows,
    unless too many or too few rows reach it.
    """
    sample = values[::_SAMPLING_STEP]
    n_sampled = 2 * (n_largest // _SAMPLING_STEP) + 1
    if n_largest >= _MIN_SAMPLED_ROWS and n_sampled < len(sample):
        threshold = np.partition(sample, len(sample) - n_sampled)[len(sample) - n_sampled]
        rows = np.flatnonzero(values >= threshold)
        if n_largest <= len(rows) <= 4 * n_largest:
            return rows
    threshold = np.partition(values, len(values) - n_largest)[len(values) - n_largest]
    return np.flatnonzero(values >= threshold)


def _are_many_rows_needed(residuals: Residuals) -> bool:
    """Return whether it is certain that no few rows account for half of the squared error.

    By Cauchy and Schwarz, rows of weight W have at most √(W·Σwr⁴) of it. Repeats of a single row,
    which may be more, have the same residual.
    """
    squares, fourth_powers = residuals.power_sums
    values, weight = residuals.values, residuals.weight
    total = float(len(values) if weight is None else weight.sum())
    bound = math.sqrt(MAX_INFLUENTIAL_PROPORTION * total * fourth_powers)
    # Residuals are scaled, so that the largest have the weight of their fourth powers at least.
    if fourth_powers >= 0.49 * squares:
        largest = np.flatnonzero((values >= 1) | (values <= -1))
        bound = max(bound, float(len(largest) if weight is None else weight[largest].sum()))
    return bound < 0.49 * squares


def _largest_rows(residuals: Residuals, row_name: Callable[[int], str]) -> _InfluentialRows | None:
    """Return the rows that account for half of the squared error, the largest first.

    Ties keep the order of rows. The result is None if these are more than
    ``MAX_INFLUENTIAL_PROPORTION`` of the rows and differ in name. Only the largest are sorted.
    """
    if _are_many_rows_needed(residuals):
        return None
    from calipers import _core

    squares, n_sorted = np.square(residuals.values), 0
    w = np.ones(len(squares)) if residuals.weight is None else residuals.weight
    total, weight = dot(w, squares), float(w.sum())
    rows = np.zeros(0, np.intp)
    while n_sorted < len(squares):
        n_sorted = min(
            max(4 * n_sorted, int(MAX_INFLUENTIAL_PROPORTION * len(squares)) + 1), len(squares)
        )
        rows = _candidate_rows(squares, n_sorted)
        rows = rows[_core.order_descending(squares[rows])]
        running = np.cumsum(w[rows] * squares[rows])
        rows = rows[: int(np.searchsorted(running, total / 2)) + 1]
        if float(w[rows].sum()) > MAX_INFLUENTIAL_PROPORTION * weight:
            row_names = (row_name(int(row)) for row in residuals.rows[rows])
            first_name = next(row_names)  # repeats of one row have one name
            if any(name != first_name for name in row_names):
                return None
        if running[-1] >= total / 2:
            break
    names = list(dict.fromkeys(row_name(int(row)) for row in residuals.rows[rows]))
    totals = float(w[rows].sum()), dot(w[rows], squares[rows])
    return _InfluentialRows(len(rows), names, *totals, len(squares), weight, total)


def _largest_streamed_rows(largest: LargestResiduals) -> _InfluentialRows | None:
    """Return the same for rows in batches; None if the stored rows do not account for half."""
    running = np.cumsum(largest.row_weights * np.square(largest.size))
    number = int(np.searchsorted(running, largest.squares / 2)) + 1
    if number > len(running):
        return None
    weight = float(largest.row_weights[:number].sum())
    names = [f"row {row}" for row in dict.fromkeys(largest.number[:number].tolist())]
    if len(names) > 1 and weight > MAX_INFLUENTIAL_PROPORTION * largest.weight:
        return None
    totals = weight, float(running[number - 1])
    return _InfluentialRows(number, names, *totals, largest.rows, largest.weight, largest.squares)
