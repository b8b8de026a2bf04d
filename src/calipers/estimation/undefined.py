"""Reasons why a measure is undefined."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from calipers.statistics import Statistic


def undefined_reasons(measure: Any, statistic: Statistic, n_rows: int) -> dict[str, int]:
    """Return the reasons why a measure is undefined, with the number of affected rows.

    It is the number that the condition counts, else all rows.
    """
    return count_undefined(measure.reasons(statistic), n_rows)


def count_undefined(conditions: Mapping[str, Any], n_rows: int) -> dict[str, int]:
    """Return the reasons that apply, with the number of affected rows, from their conditions."""
    arrays = {reason: np.asarray(condition) for reason, condition in conditions.items()}
    return {
        reason: int(condition) if condition.dtype.kind in "iu" else n_rows
        for reason, condition in arrays.items()
        if bool(condition)
    }
