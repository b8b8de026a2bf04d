"""Data whose truth is known, for `coverage.py`: what rows and topics are drawn from, and the value
that each measure would have if there were no end of them. A module for each kind; what it adds to
the table stands in its `worlds()` or `trials()`."""

from __future__ import annotations

from worlds import (
    averages,
    clusters,
    costs,
    families,
    findings,
    folds,
    gates,
    labels,
    learning,
    numbers,
    outputs,
    pages,
    pairs,
    partitions,
    probabilities,
    quantiles,
    raters,
    sampled,
    scores,
    serial,
    several,
    slices,
    topics,
)
from worlds.world import Trial, World

KINDS = (
    *(labels, averages, scores, probabilities, numbers, topics, clusters, pairs, partitions),
    raters,
    outputs,
    quantiles,
    sampled,
    costs,
    learning,
    serial,
)
TRIALS = (several, folds, families, gates, pages, slices, findings, learning)


def all_worlds() -> list[World]:
    """Everything whose coverage is measured."""
    return [world for kind in KINDS for world in kind.worlds()]


def all_trials() -> list[Trial]:
    """Every test that is not one of a single pair."""
    return [trial for kind in TRIALS for trial in kind.trials()]
