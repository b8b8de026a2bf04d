"""How far probabilities can be taken at their word, drawn.

The regression and its bands are those of CORP reliability diagrams.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from calipers.curves.scored import GRID, Scored, curve_of
from calipers.inference import proportions
from calipers.inference.bands import pointwise, simultaneous
from calipers.inference.settings import Settings
from calipers.results import Curve
from calipers.statistics import FloatArray, ScoreTable
from calipers.statistics.calibration import Levels

#: The consistency band is that of at most so many levels, each the mean of its neighbours.
_MOST_LEVELS = 2_000
#: So many counts are drawn at a time.
_AT_A_TIME = 1_000_000
_BINS, _BARS = 10, 20


def calibration_curve(scored: Scored) -> Curve:
    """The share of positives against the probability by isotonic regression (CORP; Dimitriadis,
    Gneiting and Jordan 2021).

    Every block of the regression is level from its first probability to its last; blocks are joined
    by straight lines. The bands are around the diagonal: where the curve of a calibrated system
    would lie, at each probability and as a whole.
    """
    levels, first = scored.levels, scored.levels.isotonic
    blocks = levels.gathered(first)
    last = np.append(first[1:], len(levels)) - 1
    x = np.column_stack([levels.probability[first], levels.probability[last]]).ravel()
    # A block of one level is one point.
    keep = np.column_stack([np.ones(len(first), bool), last > first]).ravel()
    return _of_probabilities(
        scored,
        "calibration",
        x=x[keep],
        y=np.repeat(blocks.share, 2)[keep],
        threshold=np.repeat(blocks.total, 2)[keep],
        **_consistency_bands(scored, levels),
    )


def binned_calibration_curve(
    scored: Scored, bins: int = _BINS, binning: str = "equal-mass"
) -> Curve:
    """The share of positives against the mean probability in bins, with Wilson's intervals; empty
    bins are left out."""
    levels = scored.levels
    equal_width = binning == "equal-width"
    first = levels.equal_width(bins) if equal_width else levels.equal_mass(bins)
    binned = levels.gathered(first)
    size = _row_size(scored.table)
    limits = [
        proportions.wilson(float(share), float(total) / size, scored.settings.level)
        for share, total in zip(binned.share, binned.total, strict=True)
    ]
    return _of_probabilities(
        scored,
        "calibration by bins",
        x=binned.probability,
        y=binned.share,
        threshold=binned.total,
        band_x=binned.probability,
        low=np.array([made.low for made in limits]),
        high=np.array([made.high for made in limits]),
        method=f"Wilson [W], {bins} bins of equal {'width' if equal_width else 'mass'}",
    )


def probability_histogram(scored: Scored) -> Curve:
    """How the probabilities are spread: the share of rows in bars of equal width; ``x`` are the
    borders."""
    levels = scored.levels
    place = np.minimum((levels.probability * _BARS).astype(np.int64), _BARS - 1)
    share = np.bincount(place, levels.total, _BARS) / levels.weight
    return curve_of(
        scored,
        "probabilities",
        ("Predicted probability", "Share of rows"),
        x=np.arange(_BARS + 1) / _BARS,
        y=np.append(share, 0.0),
        threshold=np.zeros(0),
        shape="bars",
        cut=float("nan"),
        at="",
    )


def _of_probabilities(scored: Scored, kind: str, **parts: Any) -> Curve:
    """A curve over the probabilities that the threshold in use has no place on."""
    shared = {
        "cut": float("nan"),
        "chance": ((0.0, 0.0), (1.0, 1.0)),
        "at": "weight" if scored.table.weighted else "rows",
    }
    labels = "Predicted probability", "Share of positives"
    return curve_of(scored, kind, labels, **{**shared, **parts})


def _consistency_bands(scored: Scored, levels: Levels) -> dict[str, Any]:
    settings = scored.settings
    if settings.interval in ("none", "analytic") or not scored.independent:
        return {}
    ends = levels.probability[[0, -1]]
    grid = np.unique(np.clip(GRID, *ends))
    fits = calibrated_fits(levels, _row_size(scored.table), grid, settings)
    low, high = pointwise(fits, settings.level)
    wide_low, wide_high = simultaneous(fits, settings.level)
    method = "consistency resampling [B]"
    return {
        "band_x": grid,
        "low": low,
        "high": high,
        "method": method,
        "wide_low": wide_low,
        "wide_high": wide_high,
        "wide_method": method,
    }


def _row_size(table: ScoreTable) -> float:
    """The weight of an effective row, Σw²/Σw."""
    squares = table.positive_squares.sum() + table.negative_squares.sum()
    return float(squares / (table.total_positive + table.total_negative))


def calibrated_fits(
    levels: Levels, row_size: float, grid: FloatArray, settings: Settings
) -> FloatArray:
    """Isotonic fits over a grid, shape (B, G), had all probabilities been right.

    Rows are drawn with replacement, and outcomes by their own probabilities: at a level p with n
    rows, Poisson(np) positives and Poisson(n(1 − p)) negatives. ``row_size`` is the weight of an
    effective row.
    """
    from calipers import _core

    if len(levels) > _MOST_LEVELS:
        levels = levels.gathered(levels.equal_mass(_MOST_LEVELS))
    random = np.random.Generator(np.random.Philox(settings.seed))
    rows = levels.total / row_size
    expected = np.concatenate([rows * levels.probability, rows * (1 - levels.probability)])
    step = max(1, _AT_A_TIME // len(expected))
    parts = [
        _core.isotonic_fits(
            levels.probability,
            random.poisson(expected, (min(step, settings.resamples - start), len(expected))),
            grid,
        )
        for start in range(0, settings.resamples, step)
    ]
    return np.concatenate(parts)
