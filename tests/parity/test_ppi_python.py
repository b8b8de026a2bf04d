"""ppi-python 0.2.3: with the same λ, its means and differences are those of ``human=``."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from certificate import Certificate

import calipers as cal

ppi_py = pytest.importorskip("ppi_py", reason="ppi-python is not installed")

CASES = range(12)


def grades(case: int) -> tuple[dict[str, Any], dict[str, Any], Any]:
    """Scores of two systems by a judge, labels of some cases, and which cases have one."""
    random = np.random.default_rng([31, case])
    n = int(random.integers(60, 200))
    is_labeled = random.permutation(n) < random.integers(12, n // 2)
    judge, human = {}, {}
    for name in ("A", "B"):
        quality = random.integers(1, 6, n)
        judge[name] = np.clip(quality + random.integers(-1, 2, n), 1, 5).astype(float)
        human[name] = np.where(is_labeled, quality, np.nan)
    return judge, human, is_labeled


@pytest.mark.parametrize("case", CASES)
def test_a_mean_of_grades(case: int, certificate: Certificate) -> None:
    judge, human, is_labeled = grades(case)
    evaluation = cal.scores(
        judge["A"], human=human["A"], measures=["mean-score"], score_range=(1, 5)
    )
    estimate = evaluation.estimates[0]
    assert estimate.judged is not None
    theirs = ppi_py.ppi_mean_pointestimate(
        human["A"][is_labeled],
        judge["A"][is_labeled],
        judge["A"][~is_labeled],
        lam=estimate.judged.coefficient,
    )
    certificate.compare("ppi-python", "ppi_mean_pointestimate", estimate.value, theirs.item())


@pytest.mark.parametrize("case", CASES)
def test_a_difference_of_two_systems(case: int, certificate: Certificate) -> None:
    judge, human, is_labeled = grades(case)
    evaluation = cal.scores(
        judge, human=human, baseline="A", measures=["mean-score"], score_range=(1, 5)
    )
    difference = evaluation.comparison["mean-score"]
    assert difference.judged is not None
    h, f = (scores["B"] - scores["A"] for scores in (human, judge))
    theirs = ppi_py.ppi_mean_pointestimate(
        h[is_labeled], f[is_labeled], f[~is_labeled], lam=difference.judged.coefficient
    )
    certificate.compare(
        "ppi-python", "ppi_mean_pointestimate of differences", difference.value, theirs.item()
    )
