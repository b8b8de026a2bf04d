"""Shares of trials: what is known of them exactly."""

from __future__ import annotations

from calipers.inference import proportions
from calipers.inference.reading import Limits

_OF_SHARES = {
    "wilson": proportions.wilson,
    "clopper-pearson": proportions.clopper_pearson,
    "jeffreys": proportions.jeffreys,
    "agresti-coull": proportions.agresti_coull,
}


def share_methods(share: float, size: float) -> dict[str, Limits]:
    """The intervals of a share of ``size`` (effective) trials, by name."""
    return {
        name: lambda level, made=made: made(share, size, level)  # type: ignore[misc]
        for name, made in _OF_SHARES.items()
    }
