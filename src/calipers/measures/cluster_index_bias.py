"""What kinds of clusters measures of points are in favour of, which is why they disagree."""

from __future__ import annotations

from calipers.measures.definition import Measure

#: By families and names.
_FAVOURS = {
    "silhouettes": "few clusters far from the next",
    "Calinski-Harabasz": "round clusters of like size",
    "Davies-Bouldin": "clusters without one near neighbour, however small",
    "Dunn": "no two points of different clusters near each other",
}


def favours(measure: Measure) -> str:
    """In a few words; empty where nothing is known."""
    d = measure.definition
    return _FAVOURS.get(d.name, _FAVOURS.get(d.family, ""))
