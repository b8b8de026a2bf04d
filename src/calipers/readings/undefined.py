"""Why a number has no value."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from calipers.statistics import Statistic


def reasons(measure: Any, statistic: Statistic, rows: int) -> dict[str, int]:
    """The reasons why a measure of all rows has no value, and for how many."""
    return {why: rows for why, where in measure.reasons(statistic).items() if bool(where)}
