"""Data whose truth is known, for `coverage.py`: what rows and topics are drawn from, and the value
that each measure would have if there were no end of them. A module for each kind; what it adds to
the table stands in its `worlds()` or `trials()`."""

from __future__ import annotations

from typing import Any

import numpy as np

import calipers as cal
from calipers.measures import TASKS, Definition
from worlds import (
    abstention,
    averages,
    case_scores,
    clusters,
    costs,
    disparities,
    families,
    findings,
    folds,
    forecasts,
    gates,
    judged,
    judged_rows,
    label_plans,
    labels,
    learning,
    numbers,
    others,
    outputs,
    pages,
    pairs,
    partitions,
    passages,
    probabilities,
    quantiles,
    raters,
    sampled,
    scores,
    serial,
    series,
    several,
    slices,
    survival,
    topics,
    uplift,
)
from worlds.world import Trial, World

KINDS = (
    *(labels, averages, scores, probabilities, numbers, topics, clusters, pairs, partitions),
    raters,
    case_scores,
    outputs,
    quantiles,
    forecasts,
    survival,
    sampled,
    series,
    judged,
    judged_rows,
    uplift,
    passages,
    abstention,
    costs,
    disparities,
    learning,
    serial,
    others,
)
TRIALS = (several, folds, families, gates, pages, slices, findings, learning, label_plans)


def all_worlds() -> list[World]:
    """Everything whose coverage is measured."""
    return [world for kind in KINDS for world in kind.worlds()]


def all_trials() -> list[Trial]:
    """Every test that is not one of a single pair."""
    return [trial for kind in TRIALS for trial in kind.trials()]


#: Where the verbs look names up, if not in their own task alone.
NAMES = {"from_values": ("retrieval",), "multilabel": ("multilabel", "classification")}


def evaluated(world: World) -> set[Definition]:
    """The measures of the catalogue that a world asks for by name."""
    evaluate: Any = world.draw(np.random.default_rng(0))
    asked = getattr(evaluate, "keywords", {})
    names = asked.get("measures") or [asked[key] for key in ("measure",) if key in asked]
    if not names:
        return {cal.measure(name).definition for name in world.measures}
    verb = evaluate.func.__name__
    families = [of for task in NAMES.get(verb, (verb,)) for of in TASKS[task]]
    return {cal.measure(name, family=families).definition for name in names}
