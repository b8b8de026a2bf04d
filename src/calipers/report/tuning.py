"""What is said of a threshold that was tuned."""

from __future__ import annotations

import math

import numpy as np

from calipers.report import numbers
from calipers.report.names import short
from calipers.results.estimate import UNNAMED
from calipers.results.learning import TunedThreshold


def sentence(of: TunedThreshold) -> str:
    """The threshold, what it seems to gain where it was chosen, and what on other rows."""
    name = f"{short(of.system)}: " if of.system not in ("", UNNAMED) else ""
    measure = short(of.measure)
    begin = f"{name}the" if name else "The"
    chosen = f"{begin} threshold for the best {short(of.rule)} is {_thresholds(of)}, chosen on "
    chosen += f"{of.chosen_on}"
    value = numbers.rounding([(v, math.nan, math.nan) for v in (of.tuned_there, of.tuned)])
    if math.isnan(of.usual):
        return (
            f"{chosen}. There {measure} is {value(of.tuned_there)}, on other rows "
            f"{value(of.tuned)}."
        )
    gain = numbers.single(of.gain.value, of.gain.low, of.gain.high)
    there = gain if of.gain.has_interval else numbers.single(of.seemed)
    return (
        f"{chosen}. There it changes {measure} from {value(of.usual_there)} to "
        f"{value(of.tuned_there)}, by {there(of.seemed)}; on other rows from {value(of.usual)} to "
        f"{value(of.tuned)}, by {gain.triple(of.gain.value, of.gain.low, of.gain.high)}."
    )


def _thresholds(of: TunedThreshold) -> str:
    """The threshold, or between which those of several splits lie."""
    own = of.thresholds[~np.isnan(of.thresholds)]
    if not len(own):
        return numbers.UNDEFINED
    ends = [_number(own.min()), _number(own.max())]
    return ends[0] if ends[0] == ends[1] else f"{ends[0]} to {ends[1]}, by split"


def _number(value: float) -> str:
    return "∞" if math.isinf(value) else f"{value:.3g}"
