"""Why a number has no value."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from calipers.statistics import Statistic


def undefined_reasons(measure: Any, statistic: Statistic, rows: int) -> dict[str, int]:
    """The reasons why a measure of all rows has no value, and for how many: those that a condition
    counts, else all of them."""
    found = {why: np.asarray(where) for why, where in measure.reasons(statistic).items()}
    return {
        why: int(where) if where.dtype.kind in "iu" else rows
        for why, where in found.items()
        if bool(where)
    }
