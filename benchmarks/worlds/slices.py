"""Slices that differ in nothing: whether one is found to differ on the measure that leads."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from scipy import special

import calipers as cal
from worlds.world import Random, Trial

#: What leads, by what rows are.
LEADING: Mapping[str, tuple[str, ...]] = {
    "two classes": ("accuracy", "recall", "F1", "MCC"),
    "two classes, 5% wrong": ("accuracy", "F1", "MCC"),
    "three classes": ("accuracy", "macro-F1", "kappa"),
    "probabilities": ("AUC", "AP", "log-loss", "Brier", "max-F1"),
    "residuals": ("RMSE", "MAE"),
}


def _columns(random: Random, kind: str, rows: int) -> tuple[list[Any], dict[str, Any]]:
    if kind == "residuals":
        return [np.zeros(rows), random.normal(size=rows)], {}
    if kind == "three classes":
        of = random.choice(3, rows, p=[0.5, 0.3, 0.2])
        called = np.where(random.random(rows) < 0.7, of, random.choice(3, rows))
        return [of, called], {"labels": [0, 1, 2]}
    truth = random.random(rows) < 0.4
    if kind == "probabilities":
        score = special.expit(1.2 * truth - 0.7 + random.normal(size=rows))
        return [truth], {"probability": score}
    wrong = 0.05 if kind.endswith("wrong") else np.where(truth, 0.25, 0.2)
    right = random.random(rows) >= wrong
    return [truth.astype(int), (truth == right).astype(int)], {"positive": 1}


def alike(slices: int, size: int, kind: str) -> Trial:
    """So many slices of so many rows each."""
    rows = slices * size

    def draw(random: Random, seed: int) -> dict[str, float]:
        columns, options = _columns(random, kind, rows)
        verb = cal.regression if kind == "residuals" else cal.classification
        if kind != "residuals":
            options["curves"] = False
        try:
            evaluation = verb(
                *columns,
                **options,
                measures=LEADING[kind],
                slices={"slice": [f"{k % slices:02d}" for k in range(rows)]},
                n_resamples=600,
                seed=seed,
            )
        except cal.InputError:  # of few rows all may be of one class
            return {}
        least: dict[str, float] = {}
        for found in evaluation.slices or ():
            name, p = found.estimate.measure, found.vs_rest.p_adjusted
            if p == p:
                least[name] = min(p, least.get(name, 1.0))
        return least

    return Trial("slices", kind, f"{slices} slices of {size} rows", draw, size >= 8, dear=10)


def trials() -> list[Trial]:
    """What is in the table."""
    sizes = ((2, 15), (5, 3), (5, 8), (5, 50), (20, 3), (20, 15))
    return [alike(*size, kind) for kind in LEADING for size in sizes]
