"""How much nearer points are to their own cluster than to any other: a value for each point.

With a the mean distance of a point to the others of its cluster and b the smallest mean distance to
the points of another one, that is (b − a)/max(a, b); 0 for a point that is alone.
"""

from __future__ import annotations

from functools import partial

from calipers.lazily import numpy as np
from calipers.measures.registration import measure
from calipers.statistics import FloatArray, Moments


def silhouettes(own: FloatArray, other: FloatArray, **_: object) -> FloatArray:
    """Of distances to one's own cluster, NaN where there is no other point in it, and to the
    nearest other one."""
    most = np.maximum(own, other)
    value = (other - own) / np.where(most > 0, most, 1.0)
    return np.where(np.isnan(own), 0.0, value)


silhouette = partial(
    measure,
    family="silhouettes",
    on=Moments,
    rows=silhouettes,
    higher_is_better=True,
    perfect=1.0,
    range=(-1, 1),
    undefined={"no_rows": lambda m, _: m.weight == 0, "one_cluster": lambda m, _: np.isnan(m.mean)},
)


@silhouette("silhouette", aliases=("silhouette_score",), reference="Rousseeuw (1987)")
def mean_silhouette(m: Moments, to: str = "points", exponent: int = 1) -> FloatArray:
    """Silhouette: the mean of (b − a)/max(a, b) over all points, a and b being mean distances to
    the other points of one's cluster and to those of the nearest other cluster; 0 for a point that
    is alone.

    The point itself does not count in a: of a cluster of n points it is a sum over n − 1, as in
    scikit-learn. Texts that divide by n, with the point's distance of 0 to itself in the sum, have
    a smaller a, (n − 1)/n of this one, and so larger silhouettes, most of all in small clusters.
    """
    return np.asarray(m.mean)


@silhouette("squared-silhouette", reference="Rousseeuw (1987)")
def squared_silhouette(m: Moments, to: str = "points", exponent: int = 2) -> FloatArray:
    """Silhouette by squared Euclidean distances: that of the plain one, in time that grows with the
    number of points and not its square."""
    return np.asarray(m.mean)


@silhouette("simplified-silhouette", reference="Vendramin, Campello and Hruschka (2010)")
def simplified_silhouette(m: Moments, to: str = "centres", exponent: int = 1) -> FloatArray:
    """Simplified silhouette: a and b are Euclidean distances to the centre of one's own cluster and
    to the nearest other centre."""
    return np.asarray(m.mean)
