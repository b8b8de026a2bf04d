"""What can be wrong with the name of a measure."""

from __future__ import annotations

from calipers.plugins import NameTakenError as NameTakenError  # noqa: PLC0414


class UnknownMeasureError(ValueError):
    """A name that no measure answers to, or parameters that it does not take."""
