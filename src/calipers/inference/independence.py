"""Whether two partitions of the same points have anything to do with each other."""

from __future__ import annotations

import numpy as np

from calipers.statistics import IntArray

#: So many points are dealt out in all.
MOST_DEALT = 100_000_000

#: A sum of pairs that is this much smaller is the same.
_HAIR = 1e-9


def independence(truth: IntArray, cluster: IntArray, replicates: int, seed: int) -> float:
    """How often clusters of the same sizes, dealt out anew, have as many pairs of points together
    with their class as these have, or more. Of given sizes the Rand index, adjusted or not, and the
    other measures of pairs rise with that number, so that the test is of each of them."""
    random = np.random.Generator(np.random.Philox(seed))
    cells = int(truth.max()) + 1, int(cluster.max()) + 1

    def together(of: IntArray) -> float:
        flat = truth * cells[1] + of
        if cells[0] * cells[1] <= 4 * len(of) + 10_000:
            counts = np.bincount(flat)
        else:
            counts = np.unique(flat, return_counts=True)[1]
        return float(np.square(counts.astype(np.float64)).sum())

    seen, dealt = together(cluster), cluster.copy()
    number = max(99, min(replicates, MOST_DEALT // max(len(cluster), 1)))
    reached = 0
    for _ in range(number):
        random.shuffle(dealt)
        reached += together(dealt) >= seen * (1 - _HAIR)
    return (reached + 1) / (number + 1)
