"""MLstatkit: DeLong's test of two areas, and their intervals."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from certificate import Certificate

import calipers as cal

MLstatkit: Any = pytest.importorskip("MLstatkit", reason="MLstatkit is not installed")


@pytest.mark.parametrize("case", range(40))
def test_the_test_of_delong(case: int, certificate: Certificate) -> None:
    """Tied scores in every second case, very unequal classes in every third."""
    generator = np.random.default_rng([43, case])
    n = int(generator.integers(30, 200))
    truth = (generator.random(n) < (0.1 if case % 3 == 0 else 0.5)).astype(int)
    truth[:6] = [0, 0, 0, 1, 1, 1]
    quality = truth * generator.uniform(0, 2) + generator.normal(size=n)
    scores = {name: quality + generator.normal(size=n) for name in ("a", "b")}
    if case % 2:
        scores = {name: np.round(of) for name, of in scores.items()}
    z, p, *intervals, first, second, more = MLstatkit.Delong_test(truth, scores["a"], scores["b"])
    assert more["method"] == "delong"
    ev = cal.classification(truth, score=scores, measures=["AUC"], interval="delong", positive=1)
    comparison = ev.compare(baseline="a", test="delong")["AUC"]
    for estimate, theirs, (low, high) in zip(ev, (first, second), intervals, strict=True):
        certificate.compare("MLstatkit", "AUC", estimate.value, theirs)
        certificate.compare(
            "MLstatkit", "confidence interval", [estimate.low, estimate.high], [low, high]
        )
    certificate.compare("MLstatkit", "Delong_test: p", comparison.p, p, rtol=1e-9)
    assert np.sign(z) == np.sign(comparison.value)
