"""What a threshold that was tuned gains: where it was chosen, and on other rows."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from calipers.results.estimate import Estimate
from calipers.results.fields import FloatArray
from calipers.results.written import Written


def _none() -> FloatArray:
    return np.zeros(0)


@dataclass(frozen=True, slots=True, eq=False)
class TunedThreshold(Written):
    """A threshold that a ``rule`` chose, by one measure that the rule is about.

    ``thresholds`` are those chosen, one a split, on the rows that ``chosen_on`` names. There the
    measure has the value ``tuned_there``, and ``usual_there`` of the labels that the model itself
    predicts (of predictions made elsewhere at 0.5 of a probability, unless labels are given; NaN of
    scores alone). On the other rows, which had no part in the choice, these are ``tuned`` and
    ``usual``. Values are means over splits. ``gain`` is ``tuned`` less ``usual`` with its interval:
    what tuning is worth. ``seemed`` is the same where the threshold was chosen, which flatters.
    """

    DERIVED: ClassVar[tuple[str, ...]] = ("sentence",)

    system: str
    rule: str
    measure: str
    chosen_on: str
    tuned_there: float
    usual_there: float
    tuned: float
    usual: float
    gain: Estimate
    thresholds: FloatArray = field(default_factory=_none)

    @property
    def seemed(self) -> float:
        """What tuning seems to gain on the rows that the threshold was chosen on."""
        return self.tuned_there - self.usual_there

    @property
    def sentence(self) -> str:
        """What it comes to, for people."""
        from calipers.report.tuning import sentence

        return sentence(self)

    def __str__(self) -> str:
        return self.sentence

    __repr__ = __str__
