"""The cells of a confusion matrix: shares of its rows, and how they vary."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from calipers.findings.words import Valued, quoted
from calipers.inference import intervals, proportions
from calipers.statistics import ConfusionMatrix, FloatArray, kish

#: The weight of the rows in some cells of a matrix, or of each of several.
Part = Callable[[ConfusionMatrix], FloatArray]


def corrected(level: float, tests: float) -> float:
    """The level of each of several intervals that hold together at ``level`` (Bonferroni)."""
    return 1 - (1 - level) / tests


#: What has no value.
UNDEFINED = Valued(math.nan, math.nan, math.nan)


@dataclass(frozen=True, eq=False)
class Cells:
    """What is answered of rows of which class.

    Where rows come in ``clusters``, so many, ``replicates`` gives bootstrap replicates of the
    matrix, if it can.
    """

    matrix: ConfusionMatrix
    clusters: int = 0
    replicates: Callable[[], ConfusionMatrix | None] = lambda: None

    def label(self, code: int) -> str:
        """A class in a sentence."""
        return quoted(self.matrix.labels[code])

    def share(self, part: Part, of: Part, level: float, *, exact: bool = False) -> Valued:
        """The share of the rows in the cells ``of`` that are in ``part``."""
        rows = float(of(self.matrix))
        if not rows > 0:
            return UNDEFINED
        share = float(part(self.matrix)) / rows
        size = kish(rows, of(self.matrix.squared))
        if self.clusters and 0 < share < 1:
            return self._redrawn(share, lambda m: part(m) / of(m), level)
        if self.clusters:
            # Clusters that agree altogether leave the bootstrap nothing to draw.
            size = min(size, self.clusters)
        method = proportions.clopper_pearson if exact else proportions.wilson
        return Valued.within(share, method(share, size, level))

    def apart(self, more: Part, less: Part, level: float) -> Valued:
        """The share of all rows in the cells ``more`` minus that in the cells ``less``, of which
        none is in both."""
        total = float(self.matrix.total)
        high, low = (float(part(self.matrix)) / total for part in (more, less))
        if self.clusters:
            return self._redrawn(high - low, lambda m: (more(m) - less(m)) / m.total, level)

        # With weights, as many rows as make the rows in either set worth what they are.
        def either(m: ConfusionMatrix) -> FloatArray:
            return more(m) + less(m) if high + low else m.total

        weight = float(either(self.matrix))
        n = kish(weight, either(self.matrix.squared)) * total / weight
        return Valued.within(high - low, proportions.paired_shares(high, low, n, level))

    def leaning(self, code: int, level: float) -> Valued:
        """How often a class is answered over how often it occurs (two classes).

        Both are counts of the same rows; the interval is normal for the logarithm, by the delta
        method.
        """
        m = self.matrix
        rows, answers = float(m.truth[code]), float(m.prediction[code])
        if not (rows > 0 and answers > 0):
            return UNDEFINED
        ratio = answers / rows
        if self.clusters:
            return self._redrawn(
                ratio, lambda m: m.prediction[..., code] / m.truth[..., code], level
            )
        own = np.arange(2) == code
        influence = own[None, :] / answers - own[:, None] / rows
        error = math.sqrt(float((m.squares * influence**2).sum()))
        factor = math.exp(intervals.z_of(level) * error)
        return Valued(ratio, ratio / factor, ratio * factor)

    def _redrawn(self, value: float, of: Part, level: float) -> Valued:
        """The value of a formula over the matrix whose rows come in clusters."""
        drawn = self.replicates()
        if drawn is None:
            return Valued(value, math.nan, math.nan)
        with np.errstate(divide="ignore", invalid="ignore"):
            return Valued.within(value, intervals.percentile(of(drawn), level))


class TwoCells(Cells):
    """Those of two classes, of which the second is the positive one."""


class ManyCells(Cells):
    """Those of more classes."""


class OfClass:
    """The rows of a class by what they are and what is answered."""

    def __init__(self, code: int) -> None:
        self.true: Part = lambda m: m.truth[..., code]
        self.others: Part = lambda m: m.one_vs_rest().negative[..., code]
        self.hit: Part = lambda m: m.hits[..., code]
        self.missed: Part = lambda m: m.one_vs_rest().fn[..., code]
        #: Rows of other classes that are predicted as what they are.
        self.right_elsewhere: Part = lambda m: np.maximum(m.correct - m.hits[..., code], 0.0)
