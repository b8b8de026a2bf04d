"""Number formatting for display, with the digits that the interval supports.

Data formats (JSON, CSV, Arrow) keep full precision and do not use this module.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

from calipers.lazy_dataclasses import dataclass

UNDEFINED = "undefined"
NAN = float("nan")

#: Largest number of decimals for values of ordinary size, unless the two limits of an interval need
#: more to differ.
MAX_DECIMALS = 4

#: Largest number of decimals that two digits of a value may take; smaller numbers are written as
#: powers of ten.
MAX_VALUE_DECIMALS = 6

Triple = tuple[float, float, float]


@dataclass(frozen=True, slots=True)
class Rounding:
    """Format of a group of numbers: a fixed number of decimals, or powers of ten.

    With ``small_as_powers``, numbers that would have less than two significant digits are written
    as powers of ten.
    """

    decimals: int
    is_scientific: bool = False
    small_as_powers: bool = False

    def __call__(self, x: float) -> str:
        """Return ``x``, rounded."""
        if math.isnan(x):
            return UNDEFINED
        if math.isinf(x):
            return "∞" if x > 0 else "-∞"
        if self.small_as_powers and x and _n_decimals(x) > self.decimals:
            return f"{x:.1e}"
        text = f"{x:.{self.decimals}e}" if self.is_scientific else f"{x:,.{self.decimals}f}"
        # A rounded zero has no sign.
        return text.lstrip("-") if float(text.replace(",", "")) == 0 else text

    def format_interval(self, low: float, high: float) -> str:
        """Return ``[low, high]``, empty if a limit is missing."""
        if math.isnan(low) or math.isnan(high):
            return ""
        return f"[{self(low)}, {self(high)}]"

    def value_with_interval(self, value: float, low: float, high: float) -> str:
        """Return ``value [low, high]``."""
        return f"{self(value)} {self.format_interval(low, high)}".rstrip()


def rounding(triples: Iterable[Triple], *, keep_sign: bool = False) -> Rounding:
    """Return the common rounding of a group of ``(value, low, high)``.

    It has two digits of the smallest half-width and, if the interval does not contain zero, of each
    value. With ``keep_sign``, for differences, a limit close to zero is not rounded to zero (up to
    ``MAX_DECIMALS`` decimals).
    """
    rows = list(triples)
    numbers = [x for row in rows for x in row if math.isfinite(x)]
    size = max(map(abs, numbers), default=0.0)
    half_widths = [h / 2 - w / 2 for _, w, h in rows if math.isfinite(w) and math.isfinite(h)]
    half_width = min((x for x in half_widths if x > 0), default=NAN)
    if size and (size < 1e-3 or size >= 1e7):
        return _powers_of_ten(size, half_width)
    decimals = _decimals(size, half_width, numbers)
    while (
        keep_sign
        and decimals < MAX_DECIMALS
        and any(x and round(x, decimals) == 0 for x in numbers)
    ):
        decimals += 1
    value_decimals = max(
        (_n_decimals(v) for v, w, h in rows if v and (w >= 0 or h <= 0)), default=0
    )
    if value_decimals > MAX_VALUE_DECIMALS:
        return Rounding(decimals, small_as_powers=value_decimals > decimals)
    return Rounding(max(decimals, value_decimals))


def _powers_of_ten(size: float, half: float) -> Rounding:
    if size >= 1e7 and math.isnan(half) and float(size).is_integer() and size < 1e15:
        return Rounding(0)
    digits = 3 if math.isnan(half) else _exponent(size) - _exponent(half) + 1
    return Rounding(min(max(digits, 1), 6), is_scientific=True)


def _decimals(size: float, half: float, numbers: list[float]) -> int:
    if math.isnan(half):
        if size <= 1:
            return MAX_DECIMALS
        if all(float(x).is_integer() for x in numbers):
            return 0
        return max(0, 3 - _exponent(size))
    decimals = 1 - _exponent(half)
    if decimals <= MAX_DECIMALS:
        return max(decimals, 0)
    # Four decimals would write both limits alike, or a limit below 1 as 1.
    return max(MAX_DECIMALS, min(-_exponent(half), 10))


def _n_decimals(x: float) -> int:
    """Return the number of decimals of two significant digits."""
    return 1 - _exponent(abs(x)) if math.isfinite(x) else 0


def _exponent(x: float) -> int:
    return math.floor(math.log10(x))


def common_rounding(value: float, low: float = NAN, high: float = NAN) -> Rounding:
    """Return the rounding of one number."""
    return rounding([(value, low, high)])


def rounding_of_counts(values: Any) -> Rounding:
    """Return the rounding of an array of counts, which are written in full, or of weights."""
    return Rounding(0) if (values == values.round()).all() else common_rounding(float(values.max()))


def format_number(value: float) -> str:
    """Format one number without an interval."""
    return common_rounding(value)(value)


def format_p(p: float, name: str = "p") -> str:
    """Format a p-value as ``p < 0.001`` or ``p = 0.034``."""
    if math.isnan(p):
        return f"{name} {UNDEFINED}"
    return f"{name} < 0.001" if p < 0.001 else f"{name} = {format_p_digits(p)}"


def format_p_digits(p: float) -> str:
    """Format a p-value without its name: two significant digits, ``<0.001``, or a dash."""
    if math.isnan(p):
        return "–"
    if p < 0.001:
        return "<0.001"
    # Near the usual level two digits would write 0.0496 and 0.0504 alike.
    decimals = 4 if 0.045 < p < 0.055 else max(2, 1 - _exponent(p))
    return f"{p:.{decimals}f}"


def format_count(n: int, unit: str = "") -> str:
    """Format a count with its unit: ``1,234 topics``, ``1 topic``."""
    if not unit:
        return f"{n:,}"
    return f"{n:,} {unit[:-1] if n == 1 and unit.endswith('s') else unit}"


def format_percent(level: float) -> str:
    """Format a level as ``95%``."""
    return f"{100 * level:.10g}%"
