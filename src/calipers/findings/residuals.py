"""Findings on residuals: tails, skewness, trend, heteroscedasticity, and influential rows."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from calipers.findings.formatting import IntervalNumber, format_first
from calipers.findings.linear_trend import LinearTrend, fit_line
from calipers.findings.regression import ENOUGH, NumericPredictions, Residuals
from calipers.findings.rules import Claim, FindingDraft, Subject, p_of_mean, rule
from calipers.inference import intervals
from calipers.report.numbers import format_count, format_number, format_percent
from calipers.statistics.base import dot
from calipers.statistics.row_sample import MOST_LARGEST  # noqa: F401 - stands in a rule's text

if TYPE_CHECKING:
    from calipers.statistics import LargestResiduals

#: Tails are heavy if the standard deviation is this many times the mean absolute deviation: 1.25
#: for normal residuals, 1.41 for Laplace, 1.35 for Student's t with 5 degrees of freedom.
HEAVY = 1.4
#: Residuals are skewed if the proportion below their mean differs from one half by more than this;
#: it is 0.63 for an exponential distribution.
UNEVEN = 0.05
#: The smallest proportion of the residual variance explained by a trend that is reported.
NOTABLE = 0.01
#: The smallest ratio of the mean absolute residuals of the extreme quintiles that is reported.
GROWN = 1.5
#: The largest proportion of rows that are reported as influential.
FEW = 0.01
_NORMAL = math.sqrt(math.pi / 2)
#: √n times the standard deviation of the ratio of mean absolute to standard deviation (normal).
_OF_NORMAL = math.sqrt(1 - 3 / math.pi)
#: The number of rows that are named.
_NAMED = 3


@rule("heavy-tails", "caution", NumericPredictions, cost="rows")
def heavy_tails(s: Subject, of: NumericPredictions) -> Iterator[Claim]:
    """Residuals have significantly heavier tails than normal residuals (Geary 1935).

    With {ENOUGH} rows or more, their standard deviation is at least {HEAVY:g} times their mean
    absolute deviation, significantly more than for normal ones.
    """
    r = of.residuals
    if not r.enough:
        return
    size = np.abs(r.centred)
    share = r.mean(size) / r.deviation
    se = _OF_NORMAL / math.sqrt(r.size)
    if r.clusters is not None:
        moved = size / r.deviation - share * np.square(size / r.deviation) / 2
        se = max(se, r.error(moved))
    # One-sided: light tails are not a fault.
    p = math.erfc((1 / _NORMAL - share) / se / math.sqrt(2)) / 2
    yield Claim(p if 1 / share >= HEAVY else 1.0, partial(_heavy_tails, s, 1 / share))


def _heavy_tails(s: Subject, ratio: float) -> FindingDraft:
    read = s.shown_among("MAE", "MedAE")
    return FindingDraft(
        f"{s.title}: the residuals are heavy-tailed; their standard deviation is {ratio:.2f} times "
        f"their mean absolute deviation ({_NORMAL:.2f} if normal). RMSE, MSE and R² depend mostly "
        f"on few rows; report {' and '.join(read) or 'MAE or MedAE'} as well. The chi-square "
        "interval of the RMSE assumes normal residuals and is too narrow here.",
        {"standard over mean absolute deviation": ratio, "of normal residuals": _NORMAL},
        s.shown_among("RMSE", "MSE", "R2", "MAE", "MedAE"),
    )


@rule("skewed-residuals", "information", NumericPredictions, cost="sorted rows")
def skewed_residuals(s: Subject, of: NumericPredictions) -> Iterator[Claim]:
    """Residuals are significantly skewed.

    With {ENOUGH} rows or more, the interval of the proportion of residuals below their mean is more
    than {UNEVEN:g} away from one half.
    """
    r = of.residuals
    if not r.enough:
        return
    below = (r.centred < 0).astype(np.float64)
    share = r.mean(below)
    beyond = abs(share - 0.5) - UNEVEN
    if beyond <= 0:
        yield Claim(1.0)
        return
    first, third = r.quartiles
    # The mean is estimated from the same rows; its influence depends on the density there.
    width = 0.9 * min(r.deviation, (third - first) / 1.349) * r.size**-0.2
    if not width > 0:
        return
    near = np.exp(-np.square(r.centred / width) / 2) / (width * math.sqrt(2 * math.pi))
    se = r.error(below + r.mean(near) * r.centred)
    limits = intervals.student(share, se, r.size, s.level)
    made = IntervalNumber(share, max(limits.low, 0.0), min(limits.high, 1.0))
    apart = made.low > 0.5 + UNEVEN or made.high < 0.5 - UNEVEN
    p = p_of_mean(beyond, se, r.size - 1) / 2 if apart else 1.0
    yield Claim(p, partial(_skewness_message, s, made))


def _skewness_message(s: Subject, made: IntervalNumber) -> FindingDraft:
    share = made.value
    which = "below" if share > 0.5 else "above"
    part = made if share > 0.5 else IntervalNumber(1 - share, 1 - made.high, 1 - made.low)
    side = "high" if share > 0.5 else "low"
    return FindingDraft(
        f"{s.title}: the residuals are skewed; {part} of them are {which} their mean, and the "
        f"largest are of predictions that are too {side}. RMSE rewards predicting the mean, MAE "
        "the median, and here the two differ: choose the measure accordingly. Symmetric intervals "
        "(normal, Student) are less accurate; the default ones allow for skewness.",
        {f"share {which} the mean": part},
        s.shown_among("RMSE", "MSE", "MAE", "mean-error"),
        about=which,
    )


@rule("residual-trend", "caution", NumericPredictions, cost="sorted rows")
def residual_trend(s: Subject, of: NumericPredictions) -> Iterator[Claim]:
    """Residuals have a significant linear trend in the rank of the prediction.

    With {ENOUGH} rows or more, the trend explains at least {NOTABLE:g} of the residual variance,
    and the interval of its slope excludes 0 (HC3, with at least {ENOUGH} degrees of freedom or half
    the number of rows).
    """
    r = of.residuals
    found = r.line if r.enough else None
    if found is None or math.isnan(found.p):
        return
    # With few degrees of freedom a few rows in the tail determine the slope.
    notable = found.explained >= NOTABLE and found.degrees >= min(ENOUGH, r.size / 2)
    yield Claim(found.p if notable else 1.0, partial(_trend_message, s, r, found))


def _trend_message(s: Subject, r: Residuals, found: LinearTrend) -> FindingDraft:
    low, high = r.at_ends(r.values, s.level)
    mse = r.mean(np.square(r.values))
    now, then = (r.unit * math.sqrt(x) for x in (mse, r.mean(np.square(found.rest))))
    how = "too extreme" if found.slope > 0 else "too moderate"
    return FindingDraft(
        f"{s.title}: the predictions are {how}; the mean residual is {low:+} in the lowest "
        "quintile "
        f"of the predictions and {high:+} in the highest. A linear correction fitted to these rows "
        f"would change the RMSE from {format_number(now)} to {format_number(then)}; fit it on "
        "other rows.",
        {
            "mean residual of the lowest fifth": low,
            "mean residual of the highest fifth": high,
            "RMSE": now,
            "RMSE on a line": then,
            "p": found.p,
        },
        s.shown_among("RMSE", "MSE", "MAE", "mean-error", "R2"),
        about=how,
    )


@rule("heteroscedastic-errors", "caution", NumericPredictions, cost="sorted rows")
def heteroscedastic_errors(s: Subject, of: NumericPredictions) -> Iterator[Claim]:
    """Absolute residuals depend significantly on the rank of the prediction.

    With {ENOUGH} rows or more, their mean is {GROWN:g} times as large or larger in one extreme
    quintile of the predictions than in the other, and Glejser's test (corrected for skewness, HC3)
    is significant.
    """
    r = of.residuals
    own = r.line if r.enough else None
    if own is None:
        return
    if not math.isfinite(own.se):
        return
    low, high = r.at_ends(np.abs(own.rest), s.level)
    small, large = sorted((low.value, high.value))
    if large < GROWN * small:
        yield Claim(1.0)
        return
    # Center the signs: else they correlate with the error of the line (Im 2000).
    sign = np.sign(own.rest)
    found = fit_line(r.ranks, own.rest * (sign - r.mean(sign)), r.weight, r.clusters)
    if found is None or math.isnan(found.p):
        return
    agree = (high.value > low.value) == (found.slope > 0)
    yield Claim(
        found.p if agree else 1.0, partial(_heteroscedasticity_message, s, low, high, found)
    )


def _heteroscedasticity_message(
    s: Subject, low: IntervalNumber, high: IntervalNumber, found: LinearTrend
) -> FindingDraft:
    grow, most = ("grow", "large") if found.slope > 0 else ("shrink", "small")
    return FindingDraft(
        f"{s.title}: errors are heteroscedastic; the mean absolute error is {low} in the lowest "
        f"quintile of the predictions and {high} in the highest. RMSE and MAE mostly reflect the "
        f"{most} predictions; report relative errors (RMSLE, MAPE) or errors by slice as well.",
        {
            "mean error of the lowest fifth": low,
            "mean error of the highest fifth": high,
            "p": found.p,
        },
        s.shown_among("RMSE", "MSE", "MAE", "RMSLE", "MAPE"),
        about=grow,
    )


@rule("influential-rows", "caution", NumericPredictions, cost="rows", counts=True)
def rows_carry(s: Subject, of: NumericPredictions) -> Iterator[FindingDraft]:
    """Few rows account for half of the squared error.

    With {ENOUGH} rows or more, they are at most {FEW:g} of the rows, or a single one (in batches,
    at most {MOST_LARGEST:,} rows).
    """
    r = of.residuals
    if r.size < ENOUGH:
        return
    if of.named is not None:
        found = _largest_rows(r, of.named)
    else:
        found = None if of.largest is None else _largest_streamed_rows(of.largest)
    if found is None:
        return
    k, unit, share = found.number, r.unit if of.named else 1.0, found.squares / found.of_squares
    left = found.of_squares - found.squares, found.of_weight - found.weight
    now, then = (
        unit * math.sqrt(squares / weight) if weight > 0 else math.nan
        for squares, weight in ((found.of_squares, found.of_weight), left)
    )
    yield FindingDraft(
        f"{s.title}: {k:,} of {format_count(found.rows, 'rows')} account{'s' if k == 1 else ''} "
        "for "
        f"{format_percent(round(share, 2))} of the squared error: "
        f"{format_first(found.names, _NAMED)}. "
        f"Without {'it' if k == 1 else 'them'} the RMSE would be {format_number(then)} instead of "
        f"{format_number(now)}; check the truth {'of this row' if k == 1 else 'of these rows'}.",
        {
            "rows that carry": k,
            "share of the squared error": share,
            "RMSE": now,
            "RMSE without them": then,
        },
        s.shown_among("RMSE", "MSE", "R2", "max-error"),
        of_all_rows=True,
    )


class _InfluentialRows(NamedTuple):
    """Rows that account for half of the squared error, and totals over all rows.

    The fields are number, names, weight and sum of squares of these rows, then number, weight and
    sum of squares of all rows.
    """

    number: int
    names: Sequence[str]
    weight: float
    squares: float
    rows: int
    of_weight: float
    of_squares: float


def _largest_rows(r: Residuals, named: Callable[[int], str]) -> _InfluentialRows | None:
    """Return the rows that account for half of the squared error, the largest first.

    Equal ones are in order. None if these are many with different names. Only the largest are
    sorted.
    """
    squares, some = np.square(r.values), 0
    w = np.ones(len(squares)) if r.weight is None else r.weight
    total, weight = dot(w, squares), float(w.sum())
    rows = np.zeros(0, np.intp)
    while some < len(squares):
        some = min(max(4 * some, int(FEW * len(squares)) + 1), len(squares))
        least = np.partition(squares, len(squares) - some)[len(squares) - some]
        rows = np.flatnonzero(squares >= least)
        rows = rows[np.argsort(-squares[rows], kind="stable")]
        running = np.cumsum(w[rows] * squares[rows])
        rows = rows[: int(np.searchsorted(running, total / 2)) + 1]
        if float(w[rows].sum()) > FEW * weight:
            called = (named(int(row)) for row in r.rows[rows])
            one = next(called)  # repeats of one row have one name
            if any(name != one for name in called):
                return None
        if running[-1] >= total / 2:
            break
    names = list(dict.fromkeys(named(int(row)) for row in r.rows[rows]))
    few = float(w[rows].sum()), dot(w[rows], squares[rows])
    return _InfluentialRows(len(rows), names, *few, len(squares), weight, total)


def _largest_streamed_rows(largest: LargestResiduals) -> _InfluentialRows | None:
    """Return the same for rows in batches; None if the stored rows do not account for half."""
    running = np.cumsum(largest.held * np.square(largest.size))
    number = int(np.searchsorted(running, largest.squares / 2)) + 1
    if number > len(running):
        return None
    weight = float(largest.held[:number].sum())
    names = [f"row {row}" for row in dict.fromkeys(largest.number[:number].tolist())]
    if len(names) > 1 and weight > FEW * largest.weight:
        return None
    few = weight, float(running[number - 1])
    return _InfluentialRows(number, names, *few, largest.rows, largest.weight, largest.squares)
