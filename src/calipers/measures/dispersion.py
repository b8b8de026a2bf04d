"""How compact clusters are, and how far apart: formulas over the moments of each.

W is the sum of squared distances of points to the centre of their cluster, B that of the centres to
the centre of all, each centre as often as its cluster has points.
"""

from __future__ import annotations

from functools import partial
from math import inf

from calipers.lazily import numpy as np
from calipers.measures.registration import measure
from calipers.statistics import ClusterMoments, FloatArray

dispersion = partial(measure, family="dispersion", on=ClusterMoments, range=(0, inf))

_NO_ROWS = {"no_rows": lambda m, _: m.total == 0}
_SEVERAL = {"one_cluster": lambda m, _: (m.total > 0) & (m.number < 2)} | _NO_ROWS


@dispersion(
    "WCSS",
    aliases=("inertia", "within-cluster-sum-of-squares"),
    higher_is_better=False,
    interval="total",
    undefined=_NO_ROWS,
)
def within(m: ClusterMoments) -> FloatArray:
    """Within-cluster sum of squares: W. It falls with every cluster more."""
    return np.where(m.total > 0, m.within, np.nan)


@dispersion(
    "Calinski-Harabasz",
    aliases=("calinski_harabasz_score", "CH", "variance-ratio"),
    higher_is_better=True,
    undefined=_SEVERAL | {"no_spread_within": lambda m, _: (m.number > 1) & _nothing_within(m)},
    reference="Caliński and Harabasz (1974)",
)
def calinski_harabasz(m: ClusterMoments) -> FloatArray:
    """Calinski–Harabasz index: B/(k − 1) over W/(n − k), of n points in k clusters."""
    value = m.between / (m.number - 1) / (m.within / (m.total - m.number))
    return np.where((m.number > 1) & ~_nothing_within(m), value, np.nan)


@dispersion(
    "Davies-Bouldin",
    aliases=("davies_bouldin_score", "DB"),
    higher_is_better=False,
    perfect=0.0,
    undefined=_SEVERAL | {"same_centre": lambda m, _: (m.number > 1) & _same_centre(m)},
    reference="Davies and Bouldin (1979)",
)
def davies_bouldin(m: ClusterMoments) -> FloatArray:
    """Davies–Bouldin index: the mean over clusters of the largest (Sᵢ + Sⱼ)/Mᵢⱼ to any other, with
    Sᵢ the mean distance of points to their centre and Mᵢⱼ that of two centres."""
    value = np.where(m.size > 0, m.worst, 0.0).sum(axis=-1) / m.number
    return np.where((m.number > 1) & ~_same_centre(m), value, np.nan)


def _nothing_within(m: ClusterMoments) -> np.ndarray:
    # Rounding leaves a hair of the spread of all points.
    return np.asarray(m.within <= 1e-24 * (m.within + m.between))


def _same_centre(m: ClusterMoments) -> np.ndarray:
    return np.asarray(np.isinf(m.overlaps).any(axis=(-2, -1)))
