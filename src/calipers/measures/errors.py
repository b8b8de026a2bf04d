"""What can be wrong with the name of a measure."""

from __future__ import annotations


class UnknownMeasureError(ValueError):
    """A name that no measure answers to, or parameters that it does not take."""


class NameTakenError(ValueError):
    """A name for something new that means something else already."""
