"""Intervals and tests of small data against their formulas, written out anew with NumPy and SciPy.

Nothing of Calipers computes what is expected here. Factors such as ½ or 1, n or n − 1, and Kish's n
or n, which signs and decisions do not see, change the sixth digit of a limit.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy import optimize, stats

import calipers as cal
from calipers.inference.bayesian_bootstrap import mean_interval
from calipers.inference.intervals import hall_interval
from calipers.inference.summaries import Summary

TRUTH = np.array([1, 1, 1, 1, 1, 1, 1, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0])
A = np.array([.91, .83, .42, .77, .64, .35, .58, .96, .71, .12, .33, .61, .08, .27, .44, .52, .19,
              .05, .38, .66, .23, .14, .47, .31])  # fmt: skip
B = np.array([.62, .71, .38, .44, .81, .29, .47, .88, .33, .22, .53, .57, .18, .41, .36, .67, .25,
              .11, .58, .49, .15, .35, .28, .09])  # fmt: skip
WEIGHT = np.array(
    [1, 2, 0.5, 1, 3, 1, 0.5, 2, 1, 1, 1, 2, 0.5, 0.5, 1, 4, 1, 1, 2, 1, 0.5, 1, 1, 3]
)
CLUSTER = np.array([0, 0, 1, 1, 1, 2, 2, 3, 3, 3, 0, 4, 4, 4, 5, 5, 5, 5, 6, 6, 7, 7, 7, 2])
TOPICS = {
    "a": np.array([.31, .52, .48, .77, .12, .66, .59, .41, .83, .25, .37, .91]),
    "b": np.array([.28, .55, .31, .70, .15, .42, .58, .30, .79, .11, .39, .72]),
}  # fmt: skip
Z = stats.norm.ppf(0.975)


def limits(found: Any) -> tuple[float, float]:
    return found.low, found.high


def near(*expected: float) -> Any:
    return pytest.approx(expected, rel=1e-7, abs=1e-9)


def of_classes(measure: str, interval: str = "auto", **options: Any) -> tuple[float, float]:
    made = cal.classification(
        TRUTH, probability=A, measures=[measure], interval=interval, curves=False, **options
    )
    return limits(made[measure])


def of_pair(measure: str, **options: Any) -> Any:
    made = cal.classification(
        TRUTH, probability={"a": A, "b": B}, measures=[measure], curves=False, interval="analytic"
    )
    return made.compare(baseline="b", **options)["a", "b", measure]


# --- Shares -----------------------------------------------------------------------------------


def wilson_by_roots(hits: float, n: float) -> list[float]:
    """Where (share − p)² = z²·p(1 − p)/n."""
    p = hits / n
    return sorted(np.roots([1 + Z**2 / n, -(2 * p + Z**2 / n), p**2]).real)


def test_shares() -> None:
    hits, n = 7, 9  # of the nine positives, seven have 0.5 or more
    assert ((A >= 0.5) & (TRUTH == 1)).sum() == hits
    assert of_classes("recall") == near(*wilson_by_roots(hits, n))
    beta = stats.beta
    exact = beta.ppf(0.025, hits, n - hits + 1), beta.ppf(0.975, hits + 1, n - hits)
    assert of_classes("recall", "clopper-pearson") == near(*exact)
    bayes = beta.ppf([0.025, 0.975], hits + 0.5, n - hits + 0.5)
    assert of_classes("recall", "jeffreys") == near(*bayes)
    p = (hits + Z**2 / 2) / (n + Z**2)
    half = Z * np.sqrt(p * (1 - p) / (n + Z**2))
    assert of_classes("recall", "agresti-coull") == near(p - half, min(p + half, 1.0))


def test_a_weighted_share_has_the_rows_of_kish() -> None:
    w = WEIGHT[TRUTH == 1]
    n = w.sum() ** 2 / (w**2).sum()
    share = w[A[TRUTH == 1] >= 0.5].sum() / w.sum()
    assert of_classes("recall", weight=WEIGHT) == near(*wilson_by_roots(share * n, n))


# --- Areas ------------------------------------------------------------------------------------


def delong(score: np.ndarray) -> tuple[float, np.ndarray, np.ndarray]:
    """The AUC and the placements of both classes, pair by pair."""
    x, y = score[TRUTH == 1], score[TRUTH == 0]
    wins = np.array([[float(a > b) + 0.5 * float(a == b) for b in y] for a in x])
    return float(wins.mean()), wins.mean(axis=1), wins.mean(axis=0)


def test_areas() -> None:
    auc, of_positives, of_negatives = delong(A)
    se = np.sqrt(np.var(of_positives, ddof=1) / 9 + np.var(of_negatives, ddof=1) / 15)
    assert of_classes("AUC", "delong") == near(auc - Z * se, min(auc + Z * se, 1.0))
    q1, q2 = auc / (2 - auc), 2 * auc**2 / (1 + auc)
    spread = auc * (1 - auc) + 8 * (q1 - auc**2) + 14 * (q2 - auc**2)
    hanley = np.sqrt(spread / (9 * 15))
    assert of_classes("AUC", "hanley") == near(auc - Z * hanley, min(auc + Z * hanley, 1.0))
    logit, half = np.log(auc / (1 - auc)), Z * se / (auc * (1 - auc))
    on_logit = 1 / (1 + np.exp(-(logit + np.array([-half, half]))))
    low, high = min(on_logit[0], auc - Z * hanley), max(on_logit[1], auc + Z * hanley)
    few_misplaced = 9 * (1 - auc) < 2
    expected = (low, min(high, 1.0)) if few_misplaced else tuple(on_logit)
    assert of_classes("AUC") == near(*expected)


@pytest.mark.parametrize("weight", [None, WEIGHT], ids=["alike", "weighted"])
def test_boyd_eng_and_page(weight: np.ndarray | None) -> None:
    order = np.argsort(-A)
    w, positive = (np.ones(24) if weight is None else weight)[order], TRUTH[order] == 1
    precision = np.cumsum(w * positive) / np.cumsum(w)
    area = float(np.average(precision[positive], weights=w[positive]))
    n = w[positive].sum() ** 2 / (w[positive] ** 2).sum()
    eta, tau = np.log(area / (1 - area)), 1 / np.sqrt(n * area * (1 - area))
    ends = 1 / (1 + np.exp(-(eta + Z * tau * np.array([-1, 1]))))
    assert of_classes("AP", "logit", weight=weight) == near(*ends)


def test_two_areas() -> None:
    (first, x, y), (second, v, w) = delong(A), delong(B)
    se = np.sqrt(np.var(x - v, ddof=1) / 9 + np.var(y - w, ddof=1) / 15)
    found = of_pair("AUC")
    t = stats.t.ppf(0.975, 8)  # of nine positives
    assert limits(found) == near(first - second - t * se, first - second + t * se)
    assert found.p == pytest.approx(2 * stats.t.sf(abs(first - second) / se, 8), rel=1e-7)


# --- Means of losses --------------------------------------------------------------------------

LOSS = -np.log(np.where(TRUTH == 1, A, 1 - A))


def hall(
    mean: float, se: float, skewness: float, degrees: int, *, positive: bool = True
) -> tuple[float, float]:
    """Limits where the cubic in T = (mean − μ)/se, a having come from the scale, is Student's."""
    t = stats.t.ppf(0.975, degrees)

    def inverse(y: float, a: float) -> float:
        def cubic(x: float) -> float:
            return x + a * x**2 + a**2 * x**3 / 3 + skewness / 6 - y

        return float(optimize.brentq(cubic, -60, 60, xtol=1e-13))

    low = mean * np.exp(-se / mean * inverse(t, skewness / 3 - se / (2 * mean)))
    if not positive:
        low = mean - se * inverse(t, skewness / 3)
    return low, mean - se * inverse(-t, skewness / 3)


def test_losses() -> None:
    n, mean, se = 24, LOSS.mean(), LOSS.std(ddof=1) / np.sqrt(24)
    apart = LOSS - mean
    skewness = (apart**3).sum() / (apart**2).sum() ** 1.5
    assert of_classes("log-loss") == near(*hall(mean, se, skewness, n - 1))
    assert of_classes("log-loss", "delta") == near(mean - Z * se, mean + Z * se)
    t = stats.t.ppf(0.975, n - 1)
    assert of_classes("log-loss", "t") == near(mean - t * se, mean + t * se)


def test_weighted_and_clustered_losses() -> None:
    mean = np.average(LOSS, weights=WEIGHT)
    moved = WEIGHT * (LOSS - mean)
    n = WEIGHT.sum() ** 2 / (WEIGHT**2).sum()
    se = np.sqrt((moved**2).sum() * n / (n - 1)) / WEIGHT.sum()
    t = stats.t.ppf(0.975, n - 1)
    assert of_classes("log-loss", "t", weight=WEIGHT) == near(mean - t * se, mean + t * se)
    skewness = (moved**3).sum() / (moved**2).sum() ** 1.5
    assert of_classes("log-loss", weight=WEIGHT) == near(*hall(mean, se, skewness, n - 1))

    sums = np.array([(LOSS - LOSS.mean())[c == CLUSTER].sum() for c in range(8)])
    h = np.bincount(CLUSTER, minlength=8) / 24
    d = 1 / (1 - h)
    se = np.sqrt((d * sums**2).sum()) / 24
    df = 1 / ((d * h**2).sum() ** 2 + (d**2 * h**2 * (1 - 2 * h)).sum())
    t = stats.t.ppf(0.975, df)
    expected = near(LOSS.mean() - t * se, LOSS.mean() + t * se)
    assert of_classes("log-loss", "t", cluster=CLUSTER) == expected
    factor = np.exp(t * se / LOSS.mean())
    expected = near(LOSS.mean() / factor, LOSS.mean() * factor)
    assert of_classes("log-loss", cluster=CLUSTER) == expected


def test_a_skewed_mean_of_either_sign() -> None:
    made = hall_interval(0.4, 0.3, 0.25, 14, 0.95, is_nonnegative=False)
    assert limits(made) == near(*hall(0.4, 0.3, 0.25, 14, positive=False))
    for mean, se in ((0.0, 0.0), (1e3, 1e-10)):
        assert hall_interval(mean, se, 0.0, 14, 0.95, is_nonnegative=False).reason == "no_spread"


def test_root_mean_squares() -> None:
    squares = (A - B) ** 2
    made = cal.regression(B, A, measures=["RMSE"])["RMSE"]
    mean, se, apart = squares.mean(), squares.std(ddof=1) / np.sqrt(24), squares - squares.mean()
    skewness = (apart**3).sum() / (apart**2).sum() ** 1.5
    low, high = hall(mean, se, skewness, 23)
    # Half a row at what one beyond the largest has in the mean, by Hill's index of the largest 5.
    largest = np.sort(squares)[-6:]
    index = max(2.2, 5 / (np.log(largest[1:] / largest[0]) / 2).sum())
    beyond = largest[-1] * min(25, index / (index - 2))
    weights = np.random.default_rng(0).gamma(np.append(np.ones(24), 0.5), size=(200_000, 25))
    drawn = weights @ np.append(squares, beyond) / weights.sum(axis=1)
    upper = max(high, np.quantile(drawn, 0.975))
    assert made.low == pytest.approx(np.sqrt(low), rel=1e-6)
    assert made.high == pytest.approx(np.sqrt(upper), rel=3e-3)
    assert upper > high
    made = cal.regression(B, A, measures=["RMSE"], interval="chi-square")["RMSE"]
    assert limits(made) == near(*np.sqrt(squares.sum() / stats.chi2.ppf([0.975, 0.025], 24)))


# --- Counts -----------------------------------------------------------------------------------


def test_the_delta_method_of_counts() -> None:
    """F1 = 2tp/(2tp + fp + fn), with the covariance of a multinomial."""
    said = A >= 0.5
    tp, fp, fn = (
        int(np.sum(said & (TRUTH == 1))),
        int(np.sum(said & (TRUTH == 0))),
        int(np.sum(~said & (TRUTH == 1))),
    )
    p = np.array([tp, fp, fn, 24 - tp - fp - fn]) / 24
    d = 2 * p[0] + p[1] + p[2]
    slope = np.array([2 / d - 4 * p[0] / d**2, -2 * p[0] / d**2, -2 * p[0] / d**2, 0])
    se = np.sqrt(slope @ (np.diag(p) - np.outer(p, p)) @ slope / 24)
    f1 = 2 * p[0] / d
    assert of_classes("F1", "delta") == near(f1 - Z * se, min(f1 + Z * se, 1.0))


def test_two_accuracies() -> None:
    right = {name: (of >= 0.5) == TRUTH for name, of in (("a", A), ("b", B))}
    up, down = np.sum(right["a"] & ~right["b"]), np.sum(right["b"] & ~right["a"])
    found, n = of_pair("accuracy"), up + down
    # Student's t of 24 differences of ±1 and 0, or the bootstrap with halves at d ± 1, the wider.
    apart = np.repeat([1.0, -1.0, 0.0], [up, down, 24 - n])
    d, half = apart.mean(), stats.t.ppf(0.975, 23) * stats.sem(apart)
    random = np.random.default_rng(0)
    drawn = random.standard_gamma(np.r_[np.ones(24), 0.5, 0.5], (100_000, 26))
    means = drawn @ np.r_[apart, max(-1, d - 1), min(1, d + 1)] / drawn.sum(axis=1)
    low, high = np.quantile(means, [0.025, 0.975])
    expected = min(low, d - half), max(high, d + half)
    assert limits(found) == pytest.approx(expected, abs=0.004)
    exact = of_pair("accuracy", test="mcnemar")
    tail = stats.binom.sf(max(up, down) - 1, n, 0.5)  # P(X ≥ observed)
    assert exact.p == pytest.approx(min(1.0, 2 * tail), rel=1e-9)
    upper = of_pair("accuracy", test="mcnemar", alternative="greater")
    assert upper.p == pytest.approx(stats.binom.sf(up - 1, n, 0.5), rel=1e-9)
    middle = of_pair("accuracy", test="mid-p", alternative="greater")
    expected = stats.binom.sf(up, n, 0.5) + stats.binom.pmf(up, n, 0.5) / 2
    assert middle.p == pytest.approx(expected, rel=1e-9)


# --- Topics -----------------------------------------------------------------------------------


def test_topics() -> None:
    made = cal.from_values(TOPICS, measure="nDCG@10", interval="t")
    a, b = TOPICS["a"], TOPICS["b"]
    t, se = stats.t.ppf(0.975, 11), a.std(ddof=1) / np.sqrt(12)
    assert limits(made["a", "nDCG@10"]) == near(a.mean() - t * se, a.mean() + t * se)
    apart = a - b
    se = apart.std(ddof=1) / np.sqrt(12)
    found = made.compare(baseline="b", test="t")["a", "b", "nDCG@10"]
    assert limits(found) == near(apart.mean() - t * se, apart.mean() + t * se)
    assert found.p == pytest.approx(stats.ttest_rel(a, b).pvalue, rel=1e-7)


def test_replicates_of_sums() -> None:
    """Means of eight units, times eight; the logarithms of a geometric mean taken back."""
    assert Summary("sum").summarize_means(np.array([[0.5], [0.25]]), 8).tolist() == [4.0, 2.0]
    found = Summary("geometric").summarize_means(np.array([np.log(0.3)]), 8)
    assert found == pytest.approx(0.3, rel=1e-12)


def test_topics_pooled() -> None:
    """Hits over retrieved, all topics together: the error of its linear part."""
    retrieved, hits = np.array([5, 3, 8, 4, 6, 2]), np.array([2, 3, 3, 1, 4, 0])
    qrels = {f"q{t}": {f"d{d}": int(d < hits[t]) for d in range(9)} for t in range(6)}
    run = {f"q{t}": {f"d{d}": 9.0 - d for d in range(retrieved[t])} for t in range(6)}
    value = hits.sum() / retrieved.sum()
    part = (hits - value * retrieved) / retrieved.mean()
    se, t = np.sqrt((part**2).sum() / 5 / 6), stats.t.ppf(0.975, 5)
    for interval in ("t", "studentized"):
        made = cal.retrieval(qrels, run, measures=["micro-SetP"], interval=interval)["micro-SetP"]
        assert made.standard_error == pytest.approx(se, rel=1e-7)
        if interval == "t":
            assert limits(made) == near(max(value - t * se, 0.0), value + t * se)


# --- What is drawn ----------------------------------------------------------------------------


def test_jeffreys_of_the_cells() -> None:
    """Under Dirichlet(cells + ½), tp/(tp + fp + fn) is Beta(tp + ½, fp + fn + 1)."""
    said = A >= 0.5
    tp = np.sum(said & (TRUTH == 1))
    others = np.sum(said != (TRUTH == 1))
    share = stats.beta.ppf([0.025, 0.975], tp + 0.5, others + 1)
    f1 = 2 * share / (1 + share)  # with 1 for ½ 0.010 and 0.018 off
    assert of_classes("F1", n_resamples=200_000) == pytest.approx(tuple(f1), abs=3e-3)


def test_half_a_row_at_the_end_of_a_limit() -> None:
    """Of n losses that are all 0 the mean is Beta(½, n) for the upper limit."""
    made = cal.classification(
        TRUTH, probability=TRUTH * 1.0, measures=["Brier"], n_resamples=200_000, curves=False
    )["Brier"]
    assert made.low == 0
    assert made.high == pytest.approx(stats.beta.ppf(0.975, 0.5, 24), rel=1e-7)


def test_the_bayesian_bootstrap_of_a_share() -> None:
    values = np.repeat([0.0, 1.0], [2, 7])
    for weight in (None, np.full(9, 3.0)):
        made = mean_interval(values, (0.0, 1.0), 0.9, weight)
        assert limits(made) == near(*stats.beta.ppf([0.05, 0.95], [7, 7.5], [2.5, 2]))


def test_the_bayesian_bootstrap_of_a_share_from_minus_1_to_1() -> None:
    made = mean_interval(np.repeat([-1.0, 1.0], [2, 7]), (-1.0, 1.0), 0.9)
    ends = stats.beta.ppf([0.05, 0.95], [7, 7.5], [2.5, 2])
    assert limits(made) == near(*(2 * ends - 1))
    share = stats.beta(7.5, 2.5)
    assert made.se == pytest.approx(2 * share.std(), rel=1e-9)


def test_the_bayesian_bootstrap_with_weights() -> None:
    """Of a unit an exponential times its weight, of an end Gamma(½) times Σw²/Σw."""
    x, w = np.array([0.1, 0.35, 0.6, 0.9, 0.95]), np.array([0.5, 3.0, 1.0, 2.0, 0.25])
    random, end = np.random.default_rng(7), (w**2).sum() / w.sum()
    drawn = np.column_stack([
        random.exponential(size=(200_000, 5)) * w,
        random.gamma(0.5, size=200_000) * end,
    ])  # fmt: skip
    total = drawn.sum(axis=1)
    expected = [np.quantile(drawn @ [*x, at] / total, q) for at, q in ((0, 0.025), (1, 0.975))]
    made = mean_interval(x, (0.0, 1.0), 0.95, w)
    assert limits(made) == pytest.approx(tuple(expected), abs=4e-3)
    # The linear part of Σgwx/Σgw, with n + 1 of the Dirichlet.
    shape, weight, at = np.append(np.ones(5), [0.5, 0.5]), np.append(w, [end, end]), [*x, 0, 1]
    heavy = shape * weight
    apart = shape * (weight * (at - heavy @ at / heavy.sum())) ** 2
    assert made.se == pytest.approx(np.sqrt(apart.sum() * 6 / 7) / heavy.sum(), rel=1e-9)


def test_many_different_values_are_put_together() -> None:
    """Their mean is as good as normal, with the error σ/√n."""
    x = np.random.default_rng(8).beta(2, 5, 4000) * 1e-3
    made = mean_interval(x, (0.0, 1e-3), 0.95)
    half = Z * x.std() / np.sqrt(4000)
    assert limits(made) == pytest.approx((x.mean() - half, x.mean() + half), abs=0.06 * half)
    w = np.tile([0.25, 3.0], 2000)
    mean = np.average(x, weights=w)
    half = Z * np.sqrt(((w * (x - mean)) ** 2).sum()) / w.sum()
    made = mean_interval(x, (0.0, 1e-3), 0.95, w)
    assert limits(made) == pytest.approx((mean - half, mean + half), abs=0.06 * half)
