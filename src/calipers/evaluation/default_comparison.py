"""Default comparison of an evaluation of several systems."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from calipers.data.errors import InputError, did_you_mean

if TYPE_CHECKING:
    from calipers.evaluation.shared import ComparisonSource
    from calipers.inference.settings import Settings
    from calipers.results import Comparison


def default_comparison(
    source: ComparisonSource,
    baseline: str | None,
    settings: Settings,
    primary: str | None = None,
    *,
    compare: bool = True,
) -> Comparison | None:
    """Return the comparison that an evaluation of several systems contains.

    It is None without intervals, with ``compare=False`` and for a single system.
    """
    if baseline is not None and baseline not in source.systems:
        raise InputError(
            f"baseline {baseline!r} is not a system; {did_you_mean(baseline, source.systems)}"
        )
    if not compare:
        for name, value in (("baseline", baseline), ("primary", primary)):
            if value is not None:
                raise InputError(
                    f"{name}= requires a comparison, which compare=False turns off; leave out one "
                    "of them"
                )
    if not compare or len(source.systems) < 2 or settings.interval == "none":
        return None
    from calipers.evaluation.compare import paired_comparison

    return paired_comparison(source, baseline, settings, primary=primary)


def default_pairs(
    systems: Sequence[str], baseline: Any, settings: Settings, *, compare: bool
) -> Sequence[tuple[str, str]]:
    """Return the pairs of systems of the default comparison.

    There are none if the baseline is not one of the systems.
    """
    is_valid_baseline = baseline is None or baseline in systems
    if not compare or not is_valid_baseline or len(systems) < 2 or settings.interval == "none":
        return ()
    from calipers.evaluation.compare import system_pairs

    return system_pairs(systems, baseline)
