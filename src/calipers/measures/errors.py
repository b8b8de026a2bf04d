"""Errors of names of measures."""

from __future__ import annotations

from calipers.plugins import NameTakenError as NameTakenError  # noqa: PLC0414


class UnknownMeasureError(ValueError):
    """Name that is not a measure, or parameters that the measure does not have."""
