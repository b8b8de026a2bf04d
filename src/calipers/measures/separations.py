"""How far clusters are apart, by single pairs of points."""

from __future__ import annotations

from math import inf

from calipers.lazily import numpy as np
from calipers.measures.registration import measure
from calipers.statistics import FloatArray, Separations


@measure(
    "Dunn",
    aliases=("dunn_index",),
    family="separations",
    on=Separations,
    higher_is_better=True,
    range=(0, inf),
    interval="none",
    undefined={
        "one_cluster": lambda s, _: np.isinf(s.apart).all(axis=(-2, -1)),
        "no_width": lambda s, _: s.widest.max(axis=-1) == 0,
    },
    reference="Dunn (1974)",
)
def dunn(s: Separations) -> FloatArray:
    """Dunn index: the smallest distance of two points of different clusters, over the largest of
    two points of one. Two pairs of points decide, of which no data say how they would be of other
    points."""
    near, wide = s.apart.min(axis=(-2, -1)), s.widest.max(axis=-1)
    return np.where(np.isinf(near) | (wide == 0), np.nan, near / wide)
