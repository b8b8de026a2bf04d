"""Averages over classes or labels: weighted sums of the readings of each.

The weights are taken as fixed, so that a row moves the average by the weighted sum of what it moves
the parts by, of all classes together: that is how its error knows that they share rows.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from calipers.inference.reading import Influence, Reading, weighted

if TYPE_CHECKING:
    from calipers.statistics import FloatArray


def weights_of(how: str, shares: FloatArray) -> FloatArray:
    """What each class counts for by its share of the rows: those that have rows alike, or by their
    shares; they add up to 1."""
    own = shares if how == "weighted" else (shares > 0).astype(np.float64)
    return np.asarray(own / own.sum() if own.any() else own)


def of_scores(terms: Sequence[tuple[float, Reading]], empty: Reading, **parts: Any) -> Reading:
    """The reading of an average of a measure of scores; ``empty`` where no class has rows."""
    if not terms:
        return empty
    clusters = terms[0][1].clusters
    made = weighted(terms, kind="average of scores", **parts)
    why = "class_without_value" if any(reading.undefined for _, reading in terms) else None
    scale = "logit" if made.bounds == (0, 1) and clusters is None else None
    return replace(
        made,
        transform=scale,
        influence=_named(made.influence),
        undefined={} if why is None else {why: made.n},
        value=float("nan") if why else made.value,
    )


def _named(influence: Callable[[], Influence | None] | None) -> Any:
    """The error of an average is the delta method's; of AUCs DeLong's."""

    def made() -> Influence | None:
        found = None if influence is None else influence()
        if found is None or found.clustered is not None:
            return found
        return replace(found, name="delta")

    return made
