"""Which of several capacities is the simplest that is good enough."""

from __future__ import annotations

import math

import numpy as np

from calipers.statistics import FloatArray


def one_standard_error(errors: FloatArray, standard_errors: FloatArray) -> int:
    """The place of the first, which is the simplest, whose mean error is no more than a standard
    error above the lowest one: the standard error of the lowest, 0 where that is NaN.

    Source: Breiman, Friedman, Olshen and Stone 1984.

    >>> one_standard_error(np.array([5.0, 2.2, 2.0, 2.1]), np.array([1.0, 0.2, 0.3, 0.3]))
    1
    """
    best = int(np.argmin(errors))
    allowed = 0.0 if math.isnan(standard_errors[best]) else standard_errors[best]
    return int(np.flatnonzero(errors <= errors[best] + allowed)[0])
