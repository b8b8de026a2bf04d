"""krippendorff, and irrCAC as recorded: agreement of raters on random and adversarial ratings."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from certificate import Certificate, recorded

import calipers as cal
from calipers.statistics import FloatArray


def random_ratings(case: int) -> FloatArray:
    """Ratings by item and rater: missing in every third case, nearly all the same in every fourth,
    some items with one rating or none."""
    generator = np.random.default_rng([41, case])
    n, r, q = (int(generator.integers(*of)) for of in ((4, 60), (2, 6), (2, 7)))
    true = generator.integers(1, q + 1, n)
    if case % 4 == 0:
        true = np.where(generator.random(n) < 0.95, 1, true)
    any_category = generator.integers(1, q + 1, (n, r))
    wrong = generator.random((n, r)) < generator.choice([0.1, 0.5, 1.0])
    ratings = np.where(wrong, any_category, true[:, None]).astype(float)
    if case % 3 == 2:
        ratings[generator.random((n, r)) < 0.4] = np.nan
    ratings[0] = np.arange(r) % 2 + 1  # two categories
    return ratings


def columns(ratings: FloatArray) -> dict[str, list[int | None]]:
    return {
        f"rater {j}": [None if np.isnan(v) else int(v) for v in ratings[:, j]]
        for j in range(ratings.shape[1])
    }


def alpha(ratings: FloatArray, scale: str) -> float:
    ev = cal.agreement(
        columns(ratings), scale=scale, measures=["Krippendorff-alpha"], interval="none"
    )
    return ev.estimates[0].value


@pytest.mark.parametrize("scale", ["nominal", "ordinal", "interval", "ratio"])
@pytest.mark.parametrize("case", range(24))
def test_alpha_of_krippendorff(case: int, scale: str, certificate: Certificate) -> None:
    krippendorff: Any = pytest.importorskip("krippendorff", reason="krippendorff is not installed")
    ratings = random_ratings(case)
    theirs = krippendorff.alpha(reliability_data=ratings.T, level_of_measurement=scale)
    ours = alpha(ratings, scale)
    certificate.compare("krippendorff", f"alpha, {scale}", ours, theirs, rtol=1e-9)


def test_coefficients_of_irrcac(certificate: Certificate) -> None:
    for case in recorded("irrCAC")["cases"]:
        ratings = np.array(case["ratings"], float)
        table = columns(ratings)
        n_ratings = (~np.isnan(ratings)).sum(axis=1)
        unequal = len(set(n_ratings[n_ratings > 1])) > 1
        ev = cal.agreement(table, measures=["Gwet-AC1", "Fleiss-kappa"], interval="none")
        assert np.isnan(ev["Fleiss-kappa"].value) == unequal
        quadratic = "krippendorff(weights='quadratic')"
        for name, value, reasons in (
            ("gwet", ev["Gwet-AC1"].value, {}),
            ("fleiss", ev["Fleiss-kappa"].value, {"unequal_ratings": unequal}),
            ("krippendorff", alpha(ratings, "nominal"), {}),
            (quadratic, alpha(ratings, "interval"), {}),
        ):
            certificate.compare("irrCAC", name, value, case[name], because=reasons)
