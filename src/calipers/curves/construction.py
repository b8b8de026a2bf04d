"""What curves of every kind are put together from."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from calipers.results import Curve

if TYPE_CHECKING:
    from calipers.systems.base import SystemOutput


def empty_band() -> dict[str, Any]:
    """The parts of a curve that has no band."""
    nothing = np.zeros(0)
    return {"band_x": nothing, "low": nothing, "high": nothing, "method": "none"}


def make_curve(system: SystemOutput, kind: str, x_label: str, y_label: str, **parts: Any) -> Curve:
    """A curve of a system whose points have no thresholds; without a band, unless its ``parts`` are
    given."""
    bare = {
        **empty_band(),
        "threshold": np.zeros(0),
        "parameter": "",
        "level": system.settings.level,
    }
    return Curve(system.name, kind, x_label, y_label, **{**bare, **parts})
