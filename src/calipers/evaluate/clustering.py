"""Evaluation of clusters."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from calipers.data.arrays import same_length
from calipers.data.classes import coded
from calipers.data.counts import Repeats
from calipers.data.errors import InputError
from calipers.evaluate.arguments import verb
from calipers.evaluate.shared import (
    MeasureNames,
    choose_measures,
    column_name,
    make_settings,
    named_systems,
)
from calipers.evaluate.skeleton import asked_of, evaluated
from calipers.results import Evaluation
from calipers.systems.partitions import Clustering

AGAINST_TRUTH = ("ARI", "AMI", "homogeneity", "completeness", "V-measure", "purity")


@verb
def clustering(
    features: Any,
    labels: Any,
    truth: Any = None,
    *,
    count: Any = None,
    measures: MeasureNames | None = None,
    baseline: str | None = None,
    primary: str | None = None,
    interval: str | Sequence[str] = "auto",
    level: float = 0.95,
    resamples: int = 2000,
    seed: int = 0,
    inputs: Sequence[Any] = (),
) -> Evaluation:
    """How well points are put into clusters.

    ``labels`` is the cluster of each point, or a dict from the names of several clusterings of the
    same points to theirs; ``truth`` the class of each point, where it is known. The remaining
    options are those of :func:`calipers.classification`. Intervals are about all points like these,
    clustered by the same rule. What all points in one cluster get stands beside each value.

    Raises
    ------
    InputError
        For anything wrong with the input, saying where and what was expected.

    Examples
    --------
    >>> import calipers as cal
    >>> truth = ["a", "a", "b", "b", "a", "c"]
    >>> ev = cal.clustering(None, [0, 0, 1, 1, 1, 2], truth, measures=["Rand"])
    >>> round(ev["Rand"].value, 7)
    0.7333333
    """
    settings = make_settings(interval, level, resamples, seed)
    given = {
        n: coded(of, column_name("labels", n)) for n, of in named_systems(labels, "labels").items()
    }
    rows = len(next(iter(given.values())).codes)
    for name, column in given.items():
        same_length(column.codes, rows, column_name("labels", name))
    repeats = Repeats.of(count, rows)
    classes = None if truth is None else coded(truth, "truth")
    if classes is None:
        raise InputError("clusters are measured against truth=, the true class of each point")
    same_length(classes.codes, rows, "truth")
    known = np.asarray(repeats(classes.codes), np.int64)
    chosen = choose_measures(measures, AGAINST_TRUTH, "clustering")
    systems = {
        name: Clustering(
            name, np.asarray(repeats(of.codes), np.int64), of.names, settings, known, classes.names
        )
        for name, of in given.items()
    }
    return evaluated(
        "clustering",
        asked_of(systems, chosen),
        chosen,
        baseline=baseline,
        primary=primary,
        inputs=inputs,
    )
