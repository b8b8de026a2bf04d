"""What systems that tell two classes apart are measured by, where no measure is named."""

from __future__ import annotations

from collections.abc import Mapping

from calipers.systems.binary import System

OF_COUNTS = (
    "accuracy",
    "balanced-accuracy",
    "precision",
    "recall",
    "specificity",
    "NPV",
    "LR+",
    "LR-",
    "F1",
    "MCC",
)
OF_SCORES = ("AUC", "PR-AUC", "AP")
OF_PROBABILITIES = ("log-loss", "Brier")
OF_CALIBRATION = ("calibration-slope", "calibration-intercept")

#: What each system that has such things is measured by.
_DEFAULTS = (
    ("scores", OF_SCORES),
    ("probabilities", OF_PROBABILITIES),
    ("probabilities", OF_CALIBRATION),
    ("labels", OF_COUNTS),
)


def usual_measures(systems: Mapping[str, System]) -> list[str]:
    """Every usual measure that all systems can serve."""
    certain = any(system.is_certain for system in systems.values())
    return [
        name
        for reads, names in _DEFAULTS
        for name in names
        if all(system.serves(reads) for system in systems.values())
        and not (names == OF_CALIBRATION and certain)
    ]


def left_out(systems: Mapping[str, System]) -> tuple[str, ...]:
    """Why the recalibration is not among the usual measures."""
    certain = [name for name, system in systems.items() if system.is_certain]
    if not certain:
        return ()
    named = ", ".join(certain[:5]) + (", …" if len(certain) > 5 else "")
    why = f"Calibration slope and intercept are not shown: some probabilities are 0 or 1 ({named}),"
    return (f"{why} which have no logit; 'calibration-slope(delta=1e-6)' moves them by that much.",)
