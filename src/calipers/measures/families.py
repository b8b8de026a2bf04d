"""The families of measures, and the tasks whose systems they measure."""

from __future__ import annotations

from typing import Any

from calipers.measures.errors import UnknownMeasureError

#: Which families each task's systems are measured by, in the order names are looked up.
TASKS: dict[str, tuple[str, ...]] = {
    "retrieval": ("retrieval", "groups", "diversity", "preferences"),
    "classification": ("counts", "scores", "probabilities", "calibration", "ranks"),
    "regression": ("regression",),
    "multilabel": ("multilabel", "label-ranks"),
}

#: The module of each family, which is imported when one of its measures is asked for.
HOMES = {
    "counts": "calipers.measures.decisions",  # built on calipers.measures.counts
    "scores": "calipers.measures.scores",
    "probabilities": "calipers.measures.probabilities",
    "calibration": "calipers.measures.calibration",
    "ranks": "calipers.measures.ranks",
    "multilabel": "calipers.measures.multilabel",
    "label-ranks": "calipers.measures.multilabel",
    "retrieval": "calipers.measures.retrieval",
    "groups": "calipers.measures.retrieval.groups",
    "diversity": "calipers.measures.retrieval.diversity",
    "preferences": "calipers.measures.retrieval.preferences",
    "regression": "calipers.measures.regression",
}

#: The families whose measures can be asked of one class of several, and averaged over classes.
OF_CLASSES = ("counts", "scores", "probabilities", "calibration")


def check_family(family: Any) -> None:
    """That it is the name of a family, or several of them."""
    names = list(family) if isinstance(family, list | tuple) else [family]
    known = {f for families in TASKS.values() for f in families}
    for name in names:
        if family is not None and (not isinstance(name, str) or name not in known):
            shown = repr(name[:40]) if isinstance(name, str) else f"of type {type(name).__name__}"
            raise UnknownMeasureError(
                f"family is {shown}, expected one of {', '.join(sorted(known))}"
            )
