"""What residuals are like: tails, skew, a mean or a spread that goes with the prediction, and few
rows that make most of the squared error."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from calipers.findings.lines import line
from calipers.findings.numbers import ENOUGH, Numbers
from calipers.findings.rules import Said, Subject, rule
from calipers.findings.words import Valued, first
from calipers.inference import intervals
from calipers.report.numbers import count, number, percent
from calipers.statistics.numbers import Sizes

#: Tails are heavy where the standard deviation is this many times the mean absolute deviation. That
#: is 1.25 of normal residuals, 1.41 of Laplace's, 1.35 of Student's t with 5 degrees of freedom.
HEAVY = 1.4
#: Residuals are skewed where the share below their mean is further than this from a half. Of an
#: exponential distribution it is 0.63.
UNEVEN = 0.05
#: A trend counts where a line explains at least this share of the variance of the residuals.
NOTABLE = 0.01
#: The spread changes where it is this many times as large at one end as at the other.
GROWN = 1.5
#: Few rows are this share of them at most, or one alone.
FEW = 0.01
_NORMAL = math.sqrt(math.pi / 2)
#: √n times the standard deviation of mean absolute over standard deviation, of normal numbers.
_OF_NORMAL = math.sqrt(1 - 3 / math.pi)
#: So many rows are named.
_NAMED = 3


@rule("heavy-tails", "caution", Numbers)
def heavy_tails(s: Subject, of: Numbers) -> Iterator[Said]:
    """Of {ENOUGH} rows or more the standard deviation of the residuals is at least {HEAVY:g} times
    their mean absolute deviation, which normal ones seldom reach (Geary 1935)."""
    r = of.residuals
    if not r.enough:
        return
    size = np.abs(r.centred)
    share = r.mean(size) / r.deviation
    se = _OF_NORMAL / math.sqrt(r.size)
    if r.clusters is not None:
        moved = size / r.deviation - share * np.square(size / r.deviation) / 2
        se = max(se, r.error(moved))
    if 1 / share >= HEAVY and share < 1 / _NORMAL - intervals.z_of(2 * s.level - 1) * se:
        read = s.named("MAE", "MedAE")
        yield Said(
            f"{s.who} errs little on most rows and very much on a few: the standard deviation of "
            f"its residuals is {1 / share:.2f} times their mean absolute deviation ({_NORMAL:.2f} "
            "times if they are normal). These few decide RMSE, MSE and R², and another sample may "
            f"change those a lot. Look at {' and '.join(read) or 'MAE or MedAE'} as well. The "
            "chi-square interval of the RMSE supposes normal residuals and is too short here.",
            {"standard over mean absolute deviation": 1 / share, "of normal residuals": _NORMAL},
            s.named("RMSE", "MSE", "R2", "MAE", "MedAE"),
        )


@rule("skewed-residuals", "information", Numbers)
def skewed(s: Subject, of: Numbers) -> Iterator[Said]:
    """Of {ENOUGH} rows or more the interval of the share of residuals below their mean is more than
    {UNEVEN:g} away from a half."""
    r = of.residuals
    if not r.enough:
        return
    below, spread = (r.centred < 0).astype(np.float64), Sizes.of(r.centred)
    w = np.ones(len(below)) if r.weight is None else r.weight
    quartiles = [float(spread.quantile(w, share)) for share in (0.25, 0.75)]
    # The mean is one of these rows' own: it moves by the density there.
    width = 0.9 * min(r.deviation, (quartiles[1] - quartiles[0]) / 1.349) * r.size**-0.2
    if not width > 0:
        return
    near = np.exp(-np.square(r.centred / width) / 2) / (width * math.sqrt(2 * math.pi))
    share = r.mean(below)
    se = r.error(below + r.mean(near) * r.centred)
    limits = intervals.student(share, se, r.size, s.level)
    made = Valued(share, max(limits.low, 0.0), min(limits.high, 1.0))
    if made.low > 0.5 + UNEVEN or made.high < 0.5 - UNEVEN:
        which = "below" if share > 0.5 else "above"
        part = made if share > 0.5 else Valued(1 - share, 1 - made.high, 1 - made.low)
        side = "high" if share > 0.5 else "low"
        yield Said(
            f"{s.who}: its residuals are skewed: {part} of them lie {which} their mean, and the "
            f"largest are of predictions that are too {side}. RMSE rewards predictions of the "
            "mean, MAE those of the median, and here the two differ: choose the one that you want. "
            "Intervals of equal length on both sides (normal, Student) miss more often on one "
            "of them; those given by default allow for the skew.",
            {f"share {which} the mean": part},
            s.named("RMSE", "MSE", "MAE", "mean-error"),
        )


@rule("trend-of-residuals", "caution", Numbers)
def trend(s: Subject, of: Numbers) -> Iterator[Said]:
    """Of {ENOUGH} rows or more a line explains at least {NOTABLE:g} of the variance of residuals by
    the rank of the prediction, and the interval of its slope leaves out 0, however residuals
    spread (HC3, of no fewer than {ENOUGH} degrees of freedom, or half as many as rows)."""
    r = of.residuals
    found = line(r.ranks, r.values, r.weight, r.clusters) if r.enough else None
    if found is None or found.explained < NOTABLE or not found.p < 1 - s.level:
        return
    # Of a tail that few rows show the mean is known too little.
    if found.degrees < min(ENOUGH, r.size / 2):
        return
    low, high = r.at_ends(r.values, s.level)
    mse = r.mean(np.square(r.values))
    now, then = (r.unit * math.sqrt(x) for x in (mse, r.mean(np.square(found.rest))))
    how = (
        "spread too far: too low where they are low, too high where they are high"
        if found.slope > 0
        else "stay too near to each other: too high where they are low, too low where they are high"
    )
    yield Said(
        f"{s.who}: its predictions {how}. The mean residual is {low:+} in the lowest fifth of "
        f"them and {high:+} in the highest. Corrected by a line on these rows, the RMSE of "
        f"{number(now)} would be {number(then)}.",
        {
            "mean residual of the lowest fifth": low,
            "mean residual of the highest fifth": high,
            "RMSE": now,
            "RMSE on a line": then,
            "p": found.p,
        },
        s.named("RMSE", "MSE", "MAE", "mean-error", "R2"),
    )


@rule("uneven-errors", "caution", Numbers)
def uneven(s: Subject, of: Numbers) -> Iterator[Said]:
    """Of {ENOUGH} rows or more the mean size of residuals is {GROWN:g} times as large in one outer
    fifth of the predictions as in the other, and goes with the rank of the prediction beyond chance
    (Glejser's test, corrected for skewed residuals, HC3)."""
    r = of.residuals
    own = line(r.ranks, r.values, r.weight, r.clusters) if r.enough else None
    if own is None:
        return
    # Without its mean a sign would go with an error of the line (Im 2000).
    sign = np.sign(own.rest)
    found = line(r.ranks, own.rest * (sign - r.mean(sign)), r.weight, r.clusters)
    if found is None or not found.p < 1 - s.level:
        return
    low, high = r.at_ends(np.abs(own.rest), s.level)
    small, large = sorted((low.value, high.value))
    if large < GROWN * small or (high.value > low.value) != (found.slope > 0):
        return
    grow, most = ("grow", "high") if found.slope > 0 else ("shrink", "low")
    yield Said(
        f"{s.who}: its errors {grow} with its predictions: on average they are {low} in the "
        f"lowest fifth of the predictions and {high} in the highest. RMSE and MAE speak mostly of "
        f"the {most} ones: look at slices, or at errors in proportion (RMSLE, MAPE). One margin of "
        "error for all predictions would be too wide for some and too narrow for others.",
        {
            "mean error of the lowest fifth": low,
            "mean error of the highest fifth": high,
            "p": found.p,
        },
        s.named("RMSE", "MSE", "MAE", "RMSLE", "MAPE"),
    )


@rule("rows-carry", "caution", Numbers, counts=True)
def rows_carry(s: Subject, of: Numbers) -> Iterator[Said]:
    """Of {ENOUGH} rows or more at most {FEW:g} of them, or one alone, make up half of the squared
    error."""
    r = of.residuals
    if r.size < ENOUGH:
        return
    w = np.ones(len(r.values)) if r.weight is None else r.weight
    squares = np.square(r.values)
    order = np.argsort(-squares, kind="stable")
    running, total = np.cumsum(w[order] * squares[order]), float(w.sum())
    k = int(np.searchsorted(running, running[-1] / 2)) + 1
    few = order[:k]
    called: Iterator[str] = (of.named(int(row)) for row in r.rows[few])
    if float(w[few].sum()) > FEW * total:
        one = next(called)  # a row that counts often is one; of many the second is another
        if any(name != one for name in called):
            return
        called = iter([one])
    names = list(dict.fromkeys(called))
    share, rest = float(running[k - 1] / running[-1]), total - float(w[few].sum())
    now, then = (
        r.unit * math.sqrt(part / weight) if weight > 0 else math.nan
        for part, weight in ((running[-1], total), (running[-1] - running[k - 1], rest))
    )
    yield Said(
        f"{s.who}: {k:,} of {count(len(squares), 'rows')} make{'s' if k == 1 else ''} up "
        f"{percent(round(share, 2))} of its squared error: {first(names, _NAMED)}. Without "
        f"{'it' if k == 1 else 'them'} its RMSE of {number(now)} would be {number(then)}. Look "
        "whether the truth there is right.",
        {
            "rows that carry": k,
            "share of the squared error": share,
            "RMSE": now,
            "RMSE without them": then,
        },
        s.named("RMSE", "MSE", "R2", "max-error"),
    )
