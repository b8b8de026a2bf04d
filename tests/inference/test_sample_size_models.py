"""Assurance: how often an interval is as short as planned, against all possible samples and against
simulated ones."""

from __future__ import annotations

import math
from itertools import product

import numpy as np
import pytest
from scipy import integrate, stats

import calipers as cal
from calipers.inference import sample_size, sample_size_models
from calipers.inference.intervals import logit_interval, normal_quantile
from calipers.inference.proportions import bonett_price, wilson


def half(made: object) -> float:
    return (made.high - made.low) / 2  # type: ignore[attr-defined,no-any-return]


@pytest.mark.parametrize("width", [0.05, 0.08, 0.12, 0.2, 0.5])
@pytest.mark.parametrize("share", [0.02, 0.3, 0.5, 0.9])
def test_a_share_by_every_count(share: float, width: float) -> None:
    for n in (7, 40, 133):
        counts = np.arange(n + 1)
        short = [half(wilson(k / n, n, 0.95)) <= width for k in counts]
        exact = float(stats.binom.pmf(counts, n, share)[short].sum())
        assert sample_size_models.proportion_assurance(share, n, width, 0.95) == pytest.approx(
            exact, abs=1e-12
        )


@pytest.mark.parametrize("width", [0.05, 0.06, 0.1, 0.4])
def test_paired_shares_by_every_table(width: float) -> None:
    n, discordant = 60, 0.12
    exact = 0.0
    for up, down in product(range(n + 1), repeat=2):
        if up + down <= n and half(bonett_price(up / n, down / n, n, 0.95)) <= width:
            parts, chances = [up, down, n - up - down], [discordant / 2] * 2 + [1 - discordant]
            exact += float(stats.multinomial.pmf(parts, n, chances))
    assert sample_size_models.paired_proportion_assurance(
        discordant, n, width, 0.95
    ) == pytest.approx(exact, abs=1e-9)


@pytest.mark.parametrize("width", [0.1, 0.12, 0.13, 0.3])
def test_two_shares_by_every_pair_of_counts(width: float) -> None:
    n, share = 50, 0.85
    of = stats.binom.pmf(np.arange(n + 1), n, share)
    seen = np.arange(n + 1) / n
    variance = seen * (1 - seen)
    short = normal_quantile(0.95) * np.sqrt((variance[:, None] + variance) / n) <= width
    exact = float((of[:, None] * of)[short].sum())
    assert sample_size_models.two_proportion_assurance(share, n, width, 0.95) == pytest.approx(
        exact, abs=1e-9
    )


@pytest.mark.parametrize("n", [4, 9, 16])
def test_widths_that_are_just_reached(n: int) -> None:
    """Those that the counts have themselves, and a hair less."""
    counts, chance = np.arange(n + 1), stats.binom.pmf(np.arange(n + 1), n, 0.3)
    of_counts = np.array([half(wilson(k / n, n, 0.95)) for k in counts])
    tables = [(u, d) for u, d in product(counts, repeat=2) if u + d <= n]
    # Bonett and Price's, before it is cut off at -1 and 1.
    a, b = (np.array(tables).T + 1) / (n + 2)
    of_tables = stats.norm.ppf(0.975) * np.sqrt((a + b - (a - b) ** 2) / (n + 2))
    each = stats.multinomial.pmf([(u, d, n - u - d) for u, d in tables], n, [0.2, 0.2, 0.6])
    for hair in (1e-10, -1e-6):
        for width in of_counts * (1 + hair):
            exact = chance[of_counts <= width].sum()
            assert sample_size_models.proportion_assurance(0.3, n, width, 0.95) == pytest.approx(
                exact, abs=1e-9
            )
        for width in of_tables * (1 + hair):
            exact = each[of_tables <= width].sum()
            made = sample_size_models.paired_proportion_assurance(0.4, n, width, 0.95)
            assert made == pytest.approx(exact, abs=1e-9)


def test_quantiles_of_an_area() -> None:
    """Where the interval is as long as the area is large, by the normal on the logit scale."""
    for area in (0.6, 0.8, 0.9):
        scale = 0.05 / (area * (1 - area))
        exact = stats.norm.cdf((np.log(0.7 / 0.3) - np.log(area / (1 - area))) / scale)
        made = sample_size_models.auc_assurance(area, lambda _: 0.05, lambda a: a, 0.7)
        assert made == pytest.approx(exact, abs=1 / 790)
    assert sample_size_models.auc_assurance(0.8, lambda _: 0.05, lambda a: a, 1.0) == 1


@pytest.mark.parametrize("area", [1e-4, 0.03, 0.97, 1 - 1e-4])
def test_areas_so_near_an_end_that_only_it_is_left(area: float) -> None:
    """Of few rows what is observed may have no logit to all digits; it is then as near as can be."""
    seen: list[float] = []
    sample_size_models.auc_assurance(area, lambda _: 0.5, lambda a: seen.append(a) or 0.0, 1.0)  # type: ignore[func-returns-value]
    assert 0 < min(seen) < 1e-12 < 1 - 1e-12 < max(seen) < 1
    made = cal.plan("AUC", value=area, prevalence=0.1, half_width=0.05)
    assert made.n_assured is not None
    assert made.n_assured > made.n > 0


def test_the_mean_of_two_units() -> None:
    """s² of two is χ² with 1 degree of freedom."""
    exact = stats.chi2.cdf((5.0 * math.sqrt(2) / stats.t.ppf(0.975, 1)) ** 2, 1)
    assert sample_size_models.mean_assurance(1.0, 2, 5.0, 0.95, 1) == pytest.approx(exact, rel=1e-9)


@pytest.mark.parametrize("area", [0.6, 0.85])
def test_errors_of_areas_by_integration(area: float) -> None:
    """P(two of a class stand right of one of the other), of exponential and of normal scores."""
    p, n = 30, 70
    d = math.sqrt(2) * stats.norm.ppf(area)
    both = integrate.quad(lambda y: stats.norm.pdf(y) * stats.norm.cdf(d - y) ** 2, -9, 9)[0]
    for made, one, other in (
        (
            sample_size.hanley_mcneil_auc_se(area, 0.3, 100),
            area / (2 - area),
            2 * area**2 / (1 + area),
        ),
        (sample_size.binormal_auc_se(area, 0.3, 100), both, both),
    ):
        spread = area * (1 - area) + (p - 1) * (one - area**2) + (n - 1) * (other - area**2)
        assert made == pytest.approx(math.sqrt(spread / (p * n)), rel=1e-8)


@pytest.mark.parametrize("n", [2, 3, 12])
def test_expected_half_widths(n: int) -> None:
    """E[s] of normal units is that of χ with n - 1 degrees of freedom."""
    expected = stats.t.ppf(0.975, n - 1) * 0.3 * stats.chi.mean(n - 1) / math.sqrt((n - 1) * n)
    assert sample_size.mean_half_width(0.3, n) == pytest.approx(expected, rel=1e-9)
    assert math.isnan(sample_size.mean_half_width(0.3, 1.5, df=4))


@pytest.mark.parametrize("wanted", [0.3, 0.5, 0.77])
def test_sizes_beyond_the_teeth(wanted: float) -> None:
    def power(n: int) -> float:
        return n / 200 + 0.02 * (n * 7 % 5) / 5

    steady = max(n for n in range(2, 300) if power(n) < wanted) + 1
    assert sample_size.smallest_stable_n(power, wanted) == steady


def test_a_mean_by_simulation() -> None:
    """20,000 samples of 30 normal units (±0.0035), whose intervals SciPy computes."""
    random, n, width = np.random.default_rng(8), 30, 0.38
    drawn = random.normal(size=(20_000, n))
    se = stats.sem(drawn, axis=1)
    low, high = stats.t.interval(0.95, n - 1, loc=drawn.mean(axis=1), scale=se)
    found = float(((high - low) / 2 <= width).mean())
    assert sample_size_models.mean_assurance(1.0, n, width, 0.95, n - 1) == pytest.approx(
        found, abs=0.014
    )


def test_an_area_by_simulation() -> None:
    """2,000 samples of exponential scores (±0.011), for which Hanley and McNeil's error is right."""
    random, share, n, area, width = np.random.default_rng(9), 0.5, 160, 0.8, 0.07
    m = round(share * n)
    # P(positive > negative) = 1/(1 + rate) of exponentials with means 1/rate and 1.
    negative = np.sort(random.exponential(size=(2000, n - m)), axis=1)
    positive = random.exponential(scale=area / (1 - area), size=(2000, m))
    halves = []
    for low, high in zip(negative, positive, strict=True):
        seen = float(np.searchsorted(low, high).mean() / (n - m))
        halves.append(
            half(
                logit_interval(
                    seen, sample_size.hanley_mcneil_auc_se(seen, share, n), 0.95, "logit"
                )
            )
        )
    found = float((np.array(halves) <= width).mean())
    made = cal.plan("AUC", value=area, prevalence=share, half_width=width, n=n)
    assert made.n_assured is None  # nothing is searched
    from calipers.evaluate.assumptions import model_from_assumptions

    design = model_from_assumptions(
        "AUC", {"value": area, "prevalence": share}, paired=True, test="t", systems=2,
        goal="half_width",
    ).model  # fmt: skip
    assert design.assurance(n, width, 0.95) == pytest.approx(found, abs=0.05)


def test_the_error_of_normal_scores_by_simulation() -> None:
    """4,000 samples; the standard deviation of their areas has a relative error of 1.1%."""
    random, area, m, n = np.random.default_rng(10), 0.85, 30, 70
    shift = math.sqrt(2) * stats.norm.ppf(area)
    negative = np.sort(random.normal(size=(4000, n)), axis=1)
    positive = random.normal(shift, size=(4000, m))
    areas = [np.searchsorted(a, b).mean() / n for a, b in zip(negative, positive, strict=True)]
    found = sample_size.binormal_auc_se(area, m / (m + n), m + n)
    assert found == pytest.approx(float(np.std(areas)), rel=0.045)


@pytest.mark.parametrize(
    ("measure", "given"),
    [
        ("nDCG@10", {"sd": 0.25, "half_width": 0.05}),
        ("nDCG@10", {"sd": 0.25, "correlation": 0.5, "half_width": 0.05}),
        ("accuracy", {"value": 0.9, "half_width": 0.03}),
        ("recall", {"value": 0.9, "half_width": 0.03, "prevalence": 0.1}),
        ("accuracy", {"discordant": 0.1, "half_width": 0.03}),
        ("accuracy", {"value": 0.8, "half_width": 0.05, "paired": False}),
        ("AUC", {"value": 0.8, "half_width": 0.03, "prevalence": 0.3}),
        ("PR-AUC", {"value": 0.7, "half_width": 0.05}),
        ("AP", {"sd": 0.2, "half_width": 0.05, "test": "tukey", "systems": 4}),
        ("accuracy", {"value": 0.9, "half_width": 0.03, "cluster_size": 20, "icc": 0.05}),
    ],
)
def test_every_plan_by_width_tells_both(measure: str, given: dict[str, object]) -> None:
    """More for a higher probability, and what is said is what was asked for."""
    made = cal.plan(measure, **given)  # type: ignore[arg-type]
    surer = cal.plan(measure, **given, assurance=0.95)  # type: ignore[arg-type]
    assert made.n_assured is not None
    assert surer.n_assured is not None
    assert made.n < made.n_assured < surer.n_assured < 2 * made.n
    assert made.targets == {"half_width": given["half_width"], "assurance": 0.8}
    assert f"{made.n_assured:,}" in str(made)
    assert "with 80% probability" in made.to_markdown()


def test_the_usual_formula_of_a_mean() -> None:
    """The smallest n with P(χ² ≤ n(n − 1)W²/t²s²) ≥ 80%, searched one by one."""
    made = cal.plan("nDCG@10", sd=0.25, half_width=0.05)
    for n in range(2, 1000):
        t = stats.t.ppf(0.975, n - 1)
        if stats.chi2.cdf(n * (n - 1) * 0.05**2 / (t * 0.25) ** 2, n - 1) >= 0.8:
            break
    assert made.n_assured == n


@pytest.mark.parametrize(
    ("measure", "given", "message"),
    [
        ("accuracy", {"value": 0.9, "sd": 0.1, "half_width": 0.02}, "standard deviation of 0.3"),
        ("AP", {"sd": 0.2, "difference": 5}, "difference is 5, but AP lies between 0 and 1"),
        ("AP", {"sd": 0.2, "half_width": 1.5}, "half_width is 1.5, but AP lies"),
        ("AP", {"sd": 0.2, "reference": 2, "value": 0.5}, "reference is 2, but AP lies"),
        ("AP", {"sd": 0.6, "half_width": 0.1}, "has a standard deviation of 0.5 at most"),
        ("AP", {"sd": 1.2, "difference": 0.1}, "has a standard deviation of 1 at most"),
        (
            "AP",
            {"sd": 0.4, "value": 0.9, "half_width": 0.1},
            "has a standard deviation of 0.3 at most",
        ),
        ("AP", {"sd": 0.1, "value": 1.9, "half_width": 0.1}, "value is 1.9"),
        ("accuracy", {"value": 0.9, "half_width": 0.1, "icc": 0.1}, "cluster_size= and icc="),
        ("AP", {"sd": 0.2, "half_width": 0.1, "assurance": 1.0}, "assurance is 1.0"),
    ],
)
def test_what_contradicts_itself_is_refused(
    measure: str, given: dict[str, object], message: str
) -> None:
    with pytest.raises(cal.InputError, match=message):
        cal.plan(measure, **given)  # type: ignore[arg-type]


def test_an_auc_plan_says_what_normal_scores_would_give() -> None:
    made = cal.plan("AUC", value=0.8, prevalence=0.1, half_width=0.02)
    [note] = [note for note in made.notes if "normal" in note]
    se = sample_size.binormal_auc_se(0.8, 0.1, made.n)
    assert f"±{half(logit_interval(0.8, se, 0.95, 'logit')):.3g}." in note
