"""What two engines have to agree in."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

import calipers as cal

#: Of each verb a call, and which columns it takes.
CALLS: dict[str, tuple[str, dict[str, Any]]] = {
    "two classes": (
        "classification",
        {
            "truth": "y",
            "probability": ["near", "far"],
            "measures": ["AUC", "PR-AUC", "log-loss", "Brier", "accuracy", "calibration-slope"],
        },
    ),
    "weighted clusters": (
        "classification",
        {
            "truth": "y", "probability": ["near", "far"], "weight": "w", "cluster": "user",
            "measures": ["AUC", "log-loss", "F1"],
        },
    ),
    "counted slices": (
        "classification",
        {
            "truth": "y", "probability": ["near", "far"], "count": "often", "slices": "kind",
            "measures": ["AUC", "log-loss"],
        },
    ),
    "several classes": (
        "classification",
        {"truth": "kind", "probability": {"model": "p_*"}, "weight": "w"},
    ),
    "several labels": (
        "multilabel",
        {
            "truth": "tag_*", "probability": {"near": "near_*", "far": "far_*"}, "weight": "w",
            "slices": "bins",
            "measures": ["macro-F1", "LRAP", "macro-AUC", "micro-AP", "AUC[sea]", "macro-log-loss"],
        },
    ),
    "labels in cells": (
        "multilabel",
        {
            "truth": "tags", "predicted": "called", "separator": "|", "cluster": "user",
            "measures": ["subset-accuracy", "Hamming-loss", "example-F1", "recall[sun]"],
        },
    ),
    "several outputs": (
        "regression",
        {
            "truth": {"real": "real", "bins": "bins"},
            "predicted": {
                "near": {"real": "guess", "bins": "near"}, "far": {"real": "other", "bins": "far"},
            },
            "measures": ["macro-RMSE", "macro-R2", "macro-Spearman", "MAE"],
        },
    ),
    "quantiles": (
        "regression",
        {
            "truth": "real", "quantiles": {"near": {0.1: "low", 0.9: "guess"}}, "count": "often",
            "measures": ["mean-pinball", "interval-coverage@0.8"],
        },
    ),
    "distributions": (
        "classification",
        {"truth": "r_*", "probability": {"model": "p_*"}, "weight": "w", "slices": "kind"},
    ),
    "clusters": (
        "clustering",
        {
            "features": ["real", "guess", "other"], "labels": ["bins", "kind"], "truth": "y",
            "count": "often", "noise": "drop",
            "measures": ["ARI", "V-measure", "simplified-silhouette", "DB", "CH", "WCSS"],
        },
    ),
    "raters": (
        "agreement",
        {
            "raters": {"one": ["bins", "coarse"], "two": ["bins", "late"]}, "weight": "w",
            "slices": "kind", "measures": ["Krippendorff-alpha", "Gwet-AC1"], "scale": "ordinal",
        },
    ),
    "numbers": (
        "regression",
        {"truth": "real", "predicted": ["guess", "other"], "measures": ["RMSE", "MAE", "R2"]},
    ),
    "scores of cases": (
        "scores",
        {
            "score": ["guess", "other"], "weight": "w", "slices": "kind", "reference_system": "other",
            "measures": ["mean-score", "pass-rate@0.5", "median-score", "win-rate"],
        },
    ),
}  # fmt: skip

#: How far slopes go that are differences of a formula: the last digit of a weight is their tenth.
NUMERICAL = 1e-9
#: What has such slopes.
SLOPES = ("F1", "macro-F1", "Davies-Bouldin", "Calinski-Harabasz")


def called(name: str, **more: Any) -> cal.Evaluation:
    """The evaluation of a call."""
    verb, given = CALLS[name]
    made: cal.Evaluation = getattr(cal, verb)(**given, **more)
    return made


def _numbers(told: Any) -> list[float]:
    """All numbers of what JSON holds, in their order."""
    if isinstance(told, dict):
        return [x for key, of in told.items() if key != "p_adjusted" for x in _numbers(of)]
    if isinstance(told, list):
        return [x for of in told for x in _numbers(of)]
    return [float(told)] if isinstance(told, int | float) else []


def same(ours: cal.Evaluation, theirs: cal.Evaluation) -> None:
    """Values, defaults, errors, intervals and differences, to 1e-12; tests and what is drawn as far
    as that goes."""
    exact: dict[str, Any] = {"rel": 1e-12, "abs": 1e-13, "nan_ok": True}
    assert len(list(ours)) == len(list(theirs))
    for a, b in zip(ours, theirs, strict=True):
        assert (a.system, a.measure, a.n, a.method) == (b.system, b.measure, b.n, b.method)
        near = {**exact, "rel": NUMERICAL} if a.measure in SLOPES else exact
        assert (a.value, a.no_skill) == pytest.approx((b.value, b.no_skill), **exact), a.measure
        limits = a.standard_error, a.low, a.high
        assert limits == pytest.approx((b.standard_error, b.low, b.high), **near), a.measure
    assert (ours.slices is None) == (theirs.slices is None)
    if ours.slices is not None and theirs.slices is not None:
        told = [_numbers(json.loads(of.slices.to_json())) for of in (ours, theirs)]
        assert told[0] == pytest.approx(told[1], rel=1e-9, abs=1e-13)
    for one, other in zip(ours.confusions, theirs.confusions, strict=True):
        np.testing.assert_allclose(one.counts, other.counts, rtol=1e-12)
    assert (ours.comparison is None) == (theirs.comparison is None)
    if ours.comparison is None or theirs.comparison is None:
        return
    # Limits that hold for all measures at once hang on each of these, and on drawn maxima.
    sloped = any(d.measure in SLOPES for d in ours.comparison.differences)
    for d, e in zip(ours.comparison.differences, theirs.comparison.differences, strict=True):
        assert (d.measure, d.system, d.test, d.method) == (e.measure, e.system, e.test, e.method)
        own = {**exact, "rel": NUMERICAL} if d.measure in SLOPES else exact
        together = {**exact, "rel": 10 * NUMERICAL} if sloped else exact
        assert d.value == pytest.approx(e.value, **exact)
        assert d.standard_error == pytest.approx(e.standard_error, **own)
        assert (d.low, d.high) == pytest.approx((e.low, e.high), **together)
        assert d.p == pytest.approx(e.p, rel=1e-8, abs=1e-15, nan_ok=True)
        # Drawn maxima of vectors with the same inner products, which need not be the same vectors.
        assert d.p_adjusted == pytest.approx(e.p_adjusted, abs=0.02, nan_ok=True)
