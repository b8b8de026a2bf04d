"""The root of a function between two points of different sign."""

from __future__ import annotations

from collections.abc import Callable

#: Smallest relative tolerance, four times the distance from 1 to the next number.
MIN_RELATIVE_TOLERANCE = 2.0**-50

#: Number of steps after which a root is not found; halving alone takes some 50.
_MAX_STEPS = 100


def bracketed_root(
    f: Callable[[float], float],
    low: float,
    high: float,
    *,
    xtol: float,
    rtol: float = MIN_RELATIVE_TOLERANCE,
) -> float:
    """Return the root of a function between two points, by the method of Brent (1973).

    It takes the same steps as :func:`scipy.optimize.brentq`, whose import takes longer than an
    evaluation.

    Parameters
    ----------
    f : callable
        Continuous function of a number.
    low, high : float
        Points at which it has different signs.
    xtol, rtol : float
        Absolute and relative tolerance of the root.

    Returns
    -------
    float
        Root of the function.

    Raises
    ------
    ValueError
        If the signs do not differ, or the root is not found.

    Examples
    --------
    >>> round(bracketed_root(lambda x: x * x - 2, 0.0, 2.0, xtol=1e-12), 9)
    1.414213562
    """
    previous, current = float(low), float(high)
    f_previous, f_current = float(f(previous)), float(f(current))
    if f_previous == 0:
        return previous
    if f_current == 0:
        return current
    if not (f_previous < 0 < f_current or f_current < 0 < f_previous):
        raise ValueError(f"f({low:g}) and f({high:g}) do not have different signs")
    # The root is between the current point and the opposite one.
    opposite = f_opposite = step = previous_step = 0.0
    for _ in range(_MAX_STEPS):
        if f_previous != 0 and f_current != 0 and (f_previous < 0) != (f_current < 0):
            opposite, f_opposite = previous, f_previous
            step = previous_step = current - previous
        if abs(f_opposite) < abs(f_current):
            previous, current, opposite = current, opposite, current
            f_previous, f_current, f_opposite = f_current, f_opposite, f_current
        tolerance = (xtol + rtol * abs(current)) / 2
        half = (opposite - current) / 2
        if f_current == 0 or abs(half) < tolerance:
            return current
        interpolated: float | None = None
        if abs(previous_step) > tolerance and abs(f_current) < abs(f_previous):
            if previous == opposite:
                interpolated = -f_current * (current - previous) / (f_current - f_previous)
            else:
                slope = (f_previous - f_current) / (previous - current)
                opposite_slope = (f_opposite - f_current) / (opposite - current)
                numerator = -f_current * (f_opposite * opposite_slope - f_previous * slope)
                denominator = opposite_slope * slope * (f_opposite - f_previous)
                interpolated = numerator / denominator if denominator else None
        if interpolated is not None and 2 * abs(interpolated) < min(
            abs(previous_step), 3 * abs(half) - tolerance
        ):
            previous_step, step = step, interpolated
        else:
            previous_step = step = half
        previous, f_previous = current, f_current
        current += step if abs(step) > tolerance else (tolerance if half > 0 else -tolerance)
        f_current = float(f(current))
    raise ValueError(f"no root is found in {_MAX_STEPS} steps")
