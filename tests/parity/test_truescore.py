"""truescore 0.7.4: pass rates stratified by the verdict, McNemar's mid-p, AC1 and α."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from certificate import Certificate

import calipers as cal

ts = pytest.importorskip("truescore", reason="truescore is not installed")

CASES = range(12)


def verdicts(case: int) -> tuple[Any, Any, Any, Any]:
    """Verdicts on two systems, labels of the first for some cases, and which cases have one."""
    random = np.random.default_rng([32, case])
    n = int(random.integers(80, 300))
    first = random.random(n) < random.uniform(0.3, 0.8)
    second = np.where(random.random(n) < 0.7, first, random.random(n) < 0.6)
    judge = np.where(random.random(n) < 0.85, first, ~first).astype(float)
    labeled = np.sort(random.choice(n, n // 3, replace=False))
    return judge, second.astype(float), first.astype(float), labeled


@pytest.mark.parametrize("case", CASES)
def test_a_pass_rate_is_stratified_by_the_verdict(case: int, certificate: Certificate) -> None:
    judge, _, truth, labeled = verdicts(case)
    human = np.full(len(judge), np.nan)
    human[labeled] = truth[labeled]
    estimate = cal.scores(judge, human=human, measures=["pass-rate"]).estimates[0]
    strata = np.where(judge == 1, "passed", "failed")
    sizes = {name: float((strata == name).mean()) for name in ("passed", "failed")}
    theirs = ts.post_stratified_estimate(judge, truth[labeled], labeled, strata, sizes, min_gold=2)
    certificate.compare("truescore", "post_stratified_estimate", estimate.value, theirs.point)


@pytest.mark.parametrize("case", CASES)
def test_mid_p_of_mcnemar(case: int, certificate: Certificate) -> None:
    judge, second, *_ = verdicts(case)
    ours = cal.scores({"old": judge, "new": second}).compare(baseline="old", test="mid-p")
    theirs = ts.mcnemar(second, judge)
    found = ours["pass-rate"]
    certificate.compare("truescore", "mcnemar: p", found.p, theirs.p_value, rtol=1e-9, atol=0.0)
    certificate.compare("truescore", "mcnemar: difference", found.value, theirs.difference)


@pytest.mark.parametrize("case", CASES)
def test_agreement_of_judge_and_labels(case: int, certificate: Certificate) -> None:
    judge, _, truth, labeled = verdicts(case)
    ratings = {"judge": judge[labeled].astype(int), "human": truth[labeled].astype(int)}
    ours = cal.agreement(ratings, measures=["Gwet-AC1", "Krippendorff-alpha"], interval="none")
    first, second = (np.asarray(column, float) for column in ratings.values())
    ac1, alpha = (estimate.value for estimate in ours)
    certificate.compare("truescore", "gwet_ac1", ac1, ts.gwet_ac1(first, second))
    theirs = ts.krippendorff_alpha(np.stack([first, second]))
    certificate.compare("truescore", "krippendorff_alpha", alpha, theirs, rtol=1e-9)
