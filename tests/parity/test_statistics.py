"""SciPy's and statsmodels' tests, intervals and adjustments, on random and adversarial data."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from certificate import Certificate
from scipy import stats

import calipers as cal
from calipers.statistics import FloatArray

pytestmark = pytest.mark.slow

METHODS = {
    "wilson": "wilson",
    "clopper-pearson": "beta",
    "jeffreys": "jeffreys",
    "agresti-coull": "agresti_coull",
}


@pytest.mark.parametrize(("ours", "theirs"), METHODS.items())
def test_intervals_of_proportions(ours: str, theirs: str, certificate: Certificate) -> None:
    """All of few rows, none and all of them included, and some of many."""
    proportion = pytest.importorskip("statsmodels.stats.proportion")
    pairs = [(k, n) for n in (1, 2, 5, 17) for k in range(n + 1)] + [(3, 4000), (3998, 4000)]
    for k, n in pairs:
        verdicts = np.arange(n) < k
        for level in (0.9, 0.99):
            [estimate] = cal.scores(
                verdicts, measures=["pass-rate"], interval=ours, level=level
            ).estimates
            expected = proportion.proportion_confint(k, n, alpha=1 - level, method=theirs)
            edge = k in (0, n) and ours == "jeffreys"
            certificate.compare(
                "statsmodels", f"proportion_confint(method={theirs!r})",
                [estimate.low, estimate.high], expected, rtol=1e-9,
                because={"limit at the edge": edge}, where=lambda _, at=(k, n, level): at,
            )  # fmt: skip


def differences(case: int) -> FloatArray:
    """Differences of units: without ties, with some, with zeros, nearly constant, and heavy tails."""
    generator = np.random.default_rng([61, case])
    n = int(generator.integers(3, 14 if case % 2 else 30))
    kinds = [
        generator.normal(0.3, 1, n),
        generator.integers(-2, 4, n).astype(float),
        np.where(generator.random(n) < 0.4, 0.0, generator.normal(size=n)),
        1 + generator.normal(size=n) * 1e-6,
        generator.standard_cauchy(n),
    ]
    found = kinds[case % 5]
    return found if np.ptp(found) else found + np.arange(n)


def compared(d: FloatArray, test: str, alternative: str = "two-sided") -> Any:
    values = {"a": np.zeros(len(d)).tolist(), "b": d.tolist()}
    evaluation = cal.from_values(values, measure="nDCG@10")
    return evaluation.compare(baseline="a", test=test, alternative=alternative)["nDCG@10"]


@pytest.mark.parametrize("alternative", ["two-sided", "greater", "less"])
@pytest.mark.parametrize("case", range(20))
def test_tests_of_differences(case: int, alternative: str, certificate: Certificate) -> None:
    d = differences(case)
    ties = len(np.unique(np.abs(d))) < len(d) or bool((d == 0).any())
    nonzero = int((d != 0).sum())
    for test, name, theirs, because in (
        ("t", "ttest_1samp", stats.ttest_1samp(d, 0, alternative=alternative).pvalue, {}),
        (
            "sign",
            "binomtest",
            stats.binomtest(int((d > 0).sum()), nonzero, alternative=alternative).pvalue,
            {},
        ),
        (
            "wilcoxon",
            "wilcoxon",
            stats.wilcoxon(d, alternative=alternative).pvalue,
            {"approximate with ties": ties},
        ),
    ):
        ours = compared(d, test, alternative).p
        certificate.compare(
            "SciPy", name, ours, theirs, rtol=1e-9, because=because, where=lambda _: d
        )


@pytest.mark.parametrize("case", range(1, 20, 2))
def test_randomization(case: int, certificate: Certificate) -> None:
    """Of all patterns of signs."""
    d = differences(case)[:10]
    theirs = stats.permutation_test(
        (d, np.zeros(len(d))),
        lambda a, b, axis: np.mean(a - b, axis=axis),
        permutation_type="samples",
        n_resamples=np.inf,
        vectorized=True,
    )
    ours = compared(d, "randomization").p
    certificate.compare("SciPy", "permutation_test", ours, min(1.0, theirs.pvalue), rtol=1e-9)


@pytest.mark.parametrize("case", range(20))
def test_mcnemar(case: int, certificate: Certificate) -> None:
    """Exact; also where nothing, or all, is discordant."""
    contingency = pytest.importorskip("statsmodels.stats.contingency_tables")
    generator = np.random.default_rng([62, case])
    n = int(generator.integers(2, 60))
    first = generator.random(n) < 0.6
    second = np.where(generator.random(n) < (0.0, 0.2, 0.9)[case % 3], ~first, first)
    table = [[np.sum((first == a) & (second == b)) for b in (1, 0)] for a in (1, 0)]
    theirs = contingency.mcnemar(table, exact=True).pvalue
    ours = cal.scores({"a": first, "b": second}).compare(baseline="a", test="mcnemar")["pass-rate"]
    certificate.compare("statsmodels", "mcnemar", ours.p, theirs, rtol=1e-9)


@pytest.mark.parametrize(
    ("adjust", "method"),
    [("holm", "holm"), ("bonferroni", "bonferroni"), ("benjamini-hochberg", "fdr_bh")],
)
def test_adjustments(adjust: str, method: str, certificate: Certificate) -> None:
    """P-values of all pairs of five systems, two of which are the same."""
    multitest = pytest.importorskip("statsmodels.stats.multitest")
    for case in range(8):
        generator = np.random.default_rng([63, case])
        values = {f"s{i}": generator.normal(0.1 * i, 0.3, 30) for i in range(4)}
        values["copy"] = values["s0"] + generator.normal(0, 1e-3, 30)
        evaluation = cal.from_values(
            {name: column.tolist() for name, column in values.items()}, measure="nDCG@10"
        )
        pairs = list(evaluation.compare(adjust=adjust, test="t"))
        theirs = multitest.multipletests([d.p for d in pairs], method=method)[1]
        ours = [d.p_adjusted for d in pairs]
        label = f"multipletests(method={method!r})"
        certificate.compare("statsmodels", label, ours, theirs)
