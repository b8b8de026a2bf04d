"""Reasons why a measure is undefined."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from calipers.statistics import Statistic


def undefined_reasons(measure: Any, statistic: Statistic, n_rows: int) -> dict[str, int]:
    """Return the reasons why a measure is undefined, with the number of affected rows.

    It is the number that the condition counts, else all rows.
    """
    conditions = {
        reason: np.asarray(condition) for reason, condition in measure.reasons(statistic).items()
    }
    return {
        reason: int(condition) if condition.dtype.kind in "iu" else n_rows
        for reason, condition in conditions.items()
        if bool(condition)
    }
