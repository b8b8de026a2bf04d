"""Averages over outputs, where several numbers are predicted of each row: how they vary comes from
the rows, all outputs of a row together.

Of measures of moments :class:`~calipers.readings.numbers.Fitted` does it itself: a row is left out
of all outputs at once. Here are the others.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from calipers.inference import intervals
from calipers.inference.reading import Reading, weighted
from calipers.inference.resampling import row_means
from calipers.measures.averages import mean_of, weights_of
from calipers.readings.losses import of_losses, slope
from calipers.statistics import FloatArray, Moments

if TYPE_CHECKING:
    from calipers.inference.clusters import Clusters
    from calipers.inference.settings import Settings


@dataclass(frozen=True, eq=False)
class OutputLosses:
    """A loss for each row and output, shape (rows, outputs); a number is the mean over outputs of a
    function of the mean loss of each, as RMSE is.

    With slopes s of the outputs and S of one output at the average, a row moves the average as a
    loss of Σsx/(kS) moves one, or Σusx/S where outputs count for u. The mean of these is what one
    output would lose that has the average: of RMSE a the mean of a·x/a_j over outputs j is a². So
    its intervals and tests are those of one output.
    """

    values: FloatArray
    weight: FloatArray | None
    clusters: Clusters | None
    settings: Settings

    def reading(self, measure: Any) -> Reading:
        """The reading of an average."""
        plain, u = measure.plain, weights_of(measure.among)
        u = np.full(self.values.shape[1], 1 / self.values.shape[1]) if u is None else u
        moments = [Moments.from_rows(column, self.weight) for column in self.values.T]
        each = [float(plain.apply(of)) for of in moments]
        rest = self.weight, self.clusters, self.settings
        value = float(mean_of(measure.among, np.array(each)))
        if not np.isfinite(value):
            return of_losses(plain, self.values.sum(axis=1), *rest)
        # Where an output has no loss at all, there is no slope, and no row moves it.
        slopes = np.array([slope(plain, *of) for of in zip(each, moments, strict=True)])
        slopes = np.where(np.isfinite(slopes), slopes, 0.0)
        one = slope(plain, value, moments[0])
        share = u * slopes / one if np.isfinite(one) else u
        made = of_losses(plain, self.values @ share, *rest)
        return replace(made, value=value, replicates=lambda: self._replicates(measure, moments[0]))

    def _replicates(self, measure: Any, near: Moments) -> FloatArray:
        means = row_means(self.values, self.weight, self.settings, self.clusters)
        drawn: FloatArray = measure.plain.apply(replace(near, mean=means))  # type: ignore[arg-type]
        return mean_of(measure.among, drawn)


def of_each(measure: Any, terms: Sequence[Reading]) -> Reading:
    """The mean of the readings of the outputs; undefined for the reasons of all that have none."""
    weights = weights_of(measure.among)
    shares = [1 / len(terms)] * len(terms) if weights is None else weights.tolist()
    first, undefined = terms[0], {w: n for of in terms for w, n in of.undefined.items()}
    made = weighted(
        list(zip(shares, terms, strict=True)),
        kind="largest" if first.kind == "largest" else "average over outputs",
        bounds=first.bounds,
        higher_is_better=first.higher_is_better,
        transform=first.transform,
        undefined=undefined,
    )
    if first.influence is None or undefined:
        return replace(made, influence=None)
    influence = made.influence

    def skewness() -> float:
        found = influence() if influence is not None else None
        return 0.0 if found is None else abs(intervals.skewness(found.moved))

    return replace(made, skew=skewness)
