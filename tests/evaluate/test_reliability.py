"""Intraclass correlations, Cronbach's α and limits of agreement, beside published examples and the
sums of squares of all ratings."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import calipers as cal
from calipers.estimation import permutation
from calipers.estimation.rater_agreement import RatingNumbers
from calipers.inference.settings import Settings
from calipers.statistics import RaterMoments

FORMS = ("ICC1", "ICC2", "ICC3", "ICC1k", "ICC2k", "ICC3k")
LIMITS = ("Bland-Altman-bias", "Bland-Altman-lower", "Bland-Altman-upper")

#: Shrout and Fleiss 1979, table 2: six targets, four judges.
JUDGES = np.array(
    [[9, 2, 5, 8], [6, 1, 3, 2], [8, 4, 6, 8], [7, 1, 2, 6], [10, 5, 6, 9], [6, 2, 4, 7]], float
)


def table(ratings: np.ndarray) -> dict[str, list[float | None]]:
    """A column of each rater."""
    return {
        f"r{k}": [None if math.isnan(x) else float(x) for x in column]
        for k, column in enumerate(ratings.T)
    }


def values(ratings: np.ndarray, names: tuple[str, ...] = FORMS, **options: Any) -> list[float]:
    found = cal.agreement(
        {**table(ratings), **options.pop("columns", {})}, measures=list(names), interval="none",
        **options,
    )  # fmt: skip
    return [estimate.value for estimate in found]


def by_sums_of_squares(x: np.ndarray) -> list[float]:
    """McGraw and Wong 1996, table 4, from the squares of a two-way analysis of variance."""
    n, k = x.shape
    mean = x.mean()
    msr = k * np.square(x.mean(axis=1) - mean).sum() / (n - 1)
    msc = n * np.square(x.mean(axis=0) - mean).sum() / (k - 1)
    msw = np.square(x - x.mean(axis=1, keepdims=True)).sum() / (n * (k - 1))
    residual = x - x.mean(axis=1, keepdims=True) - x.mean(axis=0) + mean
    mse = np.square(residual).sum() / ((n - 1) * (k - 1))
    return [
        (msr - msw) / (msr + (k - 1) * msw),
        (msr - mse) / (msr + (k - 1) * mse + k * (msc - mse) / n),
        (msr - mse) / (msr + (k - 1) * mse),
        (msr - msw) / msr,
        (msr - mse) / (msr + (msc - mse) / n),
        (msr - mse) / msr,
    ]


def drawn(seed: int, n: int = 25, k: int = 3) -> np.ndarray:
    random = np.random.default_rng(seed)
    noise = random.normal(size=(n, k)) * 0.7 + np.linspace(0, 0.5, k)
    return np.asarray(np.round(3 + random.normal(size=(n, 1)) + noise, 1))


def test_the_example_of_shrout_and_fleiss() -> None:
    """They print .17, .29, .71, .44, .62 and .91; the digits are those of pingouin 0.6."""
    expected = [0.16574177, 0.28976378, 0.71484071, 0.44279713, 0.62005055, 0.90931554]
    assert values(JUDGES) == pytest.approx(expected, abs=5e-9)
    [alpha] = values(JUDGES, ("Cronbach-alpha",))
    assert alpha == pytest.approx(0.9093155423770695, abs=1e-12)  # pingouin.cronbach_alpha


@pytest.mark.parametrize("seed", range(4))
def test_sums_of_squares(seed: int) -> None:
    x = drawn(seed, 8 + 3 * seed, 2 + seed)
    assert values(x) == pytest.approx(by_sums_of_squares(x), abs=1e-12)
    covariance = np.cov(x.T)
    k = len(covariance)
    [alpha] = values(x, ("Cronbach-alpha",))
    assert alpha == pytest.approx(k / (k - 1) * (1 - np.trace(covariance) / covariance.sum()))


def test_numbers_that_are_far_from_0_keep_their_digits() -> None:
    x = drawn(1)
    assert values(x + 1e7) == pytest.approx(by_sums_of_squares(x), abs=1e-6)


def test_items_that_not_all_rated_do_not_count() -> None:
    x = drawn(2)
    x[3, 0] = x[7, 2] = np.nan
    evaluation = cal.agreement(table(x), measures=list(FORMS))
    complete = x[~np.isnan(x).any(axis=1)]
    assert [e.value for e in evaluation] == pytest.approx(by_sums_of_squares(complete), abs=1e-12)
    assert {(e.n, e.n_total) for e in evaluation} == {(23, 25)}
    assert evaluation.notes[0].startswith("2 of 25 items are not rated by all raters and do not")


@pytest.mark.parametrize("level", [0.95, 0.8])
def test_limits_of_agreement(level: float) -> None:
    """Bland and Altman 1986: the mean difference, and 1.96 standard deviations about it."""
    x = drawn(3, k=2)
    difference = x[:, 0] - x[:, 1]
    z = {0.95: 1.959963984540054, 0.8: 1.2815515655446004}[level]
    names = (LIMITS[0], *(f"{name}(level={level})" for name in LIMITS[1:]))
    mean, s = difference.mean(), difference.std(ddof=1)
    assert values(x, names) == pytest.approx([mean, mean - z * s, mean + z * s], abs=1e-12)


@pytest.mark.parametrize(
    ("ratings", "name", "reason"),
    [
        ({"a": ["x", "y", "x"], "b": ["x", "y", "y"]}, "ICC2", "no_distances"),
        ({"a": [1, None, 2], "b": [1, 2, None]}, "ICC1", "too_few_complete_items"),
        ({"a": [1, 1, 1], "b": [1, 1, 1]}, "ICC3", "no_rating_variance"),
        ({"a": [1, 2, 1], "b": [2, 1, 2]}, "ICC3k", "no_rating_variance"),
        ({"a": [1, 2, 3], "b": [1, 2, 4], "c": [1, 3, 3]}, LIMITS[2], "not_two_raters"),
    ],
)
def test_no_value(ratings: dict[str, list[Any]], name: str, reason: str) -> None:
    [found] = cal.agreement(ratings, measures=[name])
    assert math.isnan(found.value)
    assert dict(found.undefined) == {reason: 3}


@pytest.mark.parametrize("name", [*FORMS, *LIMITS])
def test_the_standard_error_is_that_of_leaving_items_out(name: str) -> None:
    x = drawn(4, 12, 2)
    numbers = RatingNumbers(x, np.ones(12, bool), Settings())
    measure = cal.measure(name)

    def at(rows: np.ndarray) -> float:
        return float(measure.apply(RaterMoments.from_rows(rows)))

    left = np.array([at(np.delete(x, i, axis=0)) for i in range(12)])
    whole = at(x)
    if name in LIMITS:
        changes = whole - left
    elif name.endswith("k"):
        changes = -np.log((1 - whole) / (1 - left)) * (1 - whole)
    else:
        changes = (np.arctanh(whole) - np.arctanh(left)) * (1 - whole**2)
    expected = math.sqrt(11 / 12 * np.square(changes).sum())
    assert numbers.influence(measure).standard_error.se == pytest.approx(expected, rel=1e-9)


def test_an_item_of_count_two_is_the_item_twice() -> None:
    x, counts = drawn(5, 10), np.array([1, 2] * 5)
    twice = cal.agreement(table(np.repeat(x, counts, axis=0)), measures=list(FORMS))
    counted = cal.agreement(
        {**table(x), "n": counts.tolist()}, measures=list(FORMS), count="n"
    )  # fmt: skip
    for a, b in zip(twice, counted, strict=True):
        assert (a.value, a.low, a.high) == pytest.approx((b.value, b.low, b.high), abs=1e-9)
    [one, half] = (
        values(x, columns={"w": [w] * 10}, weight="w", raters=["r0", "r1", "r2"]) for w in (1, 0.5)
    )
    assert one == pytest.approx(half)
    assert one == pytest.approx(values(x))


def test_items_in_clusters_have_the_error_of_clusters() -> None:
    """Ten patients with five equal items each tell no more than ten items."""
    x = drawn(6, 10)
    columns = {**table(np.repeat(x, 5, axis=0)), "patient": np.repeat(np.arange(10), 5).tolist()}
    names = ["ICC2", "ICC3k"]
    clustered = cal.agreement(columns, measures=names, cluster="patient")
    alone = cal.agreement(table(np.repeat(x, 5, axis=0)), measures=names)
    for wide, narrow in zip(clustered, alone, strict=True):
        assert "cluster" in wide.method
        assert wide.high - wide.low > 1.8 * (narrow.high - narrow.low)


@pytest.mark.parametrize("weighs", [False, True])
def test_a_lot_of_items_has_the_moments_of_its_items(weighs: bool) -> None:
    random = np.random.default_rng(7)
    x = drawn(7, 40)
    x[random.random(40) < 0.1, 1] = np.nan
    weight = random.uniform(0.5, 2, 40) if weighs else None
    mask = ~np.isnan(x).any(axis=1)
    sample = RatingNumbers(x, mask, Settings(), weight)
    lots = permutation.draw_subsets(40, 6, Settings(n_resamples=50))
    [made] = permutation._subset_rater_moments(sample, lots)
    for name in ("ICC3", "ICC3k"):  # in which the number of items has no part
        measure = cal.measure(name)
        alone = [
            float(measure.apply(RaterMoments.from_rows(
                x[rows], None if weight is None else
                (np.ones(6), weight[rows], np.square(weight[rows]))
            )))
            for rows in lots
        ]  # fmt: skip
        np.testing.assert_allclose(measure.apply(made), alone, rtol=1e-9)
    assert permutation.permutation_pool(sample) is not None


@pytest.mark.parametrize("options", [{}, {"weight": "w"}, {"cluster": "c"}, {"slices": ["s"]}])
def test_batches_have_the_numbers_of_memory(tmp_path: Any, options: dict[str, Any]) -> None:
    random = np.random.default_rng(8)
    x = drawn(8, 60, 4)
    x[random.random((60, 4)) < 0.03] = np.nan
    columns = {
        **table(x), "w": random.random(60) + 0.5, "c": random.integers(0, 15, 60),
        "s": np.where(random.random(60) < 0.5, "u", "v"),
    }  # fmt: skip
    path = tmp_path / "ratings.parquet"
    pq.write_table(pa.table(columns), path, row_group_size=17)
    sets = {"first": ["r0", "r1"], "second": ["r2", "r3"]}
    names = [*FORMS, *LIMITS]
    memory, stream = (
        cal.agreement(data=path, raters=sets, measures=names, engine=engine, **options)
        for engine in ("memory", "stream")
    )
    for a, b in zip(memory, stream, strict=True):
        assert (a.n, a.value, a.low, a.high) == pytest.approx(
            (b.n, b.value, b.low, b.high), rel=1e-7, abs=1e-9, nan_ok=True
        )
    if memory.slices is not None:
        for first, second in zip(memory.slices, stream.slices, strict=True):
            assert first.estimate.value == pytest.approx(second.estimate.value, rel=1e-9)
    for a, b in zip(memory.compare(), stream.compare(), strict=True):
        assert a.value == pytest.approx(b.value, abs=1e-9)


def test_intervals_of_limits_of_agreement_are_exact_for_normal_differences() -> None:
    """Student's t for the bias (Bland and Altman), the noncentral t for the limits (Carkeet 2015)."""
    from scipy import stats

    difference = (
        stats.norm.ppf((np.arange(9) + 0.5) / 9) ** 3
    )  # uneven, so that the error is larger
    even = np.array([1.0, -1.0] * 4 + [0.0])
    for values_of, is_even in ((even, True), (difference, False)):
        ratings = {"a": values_of, "b": np.zeros(9)}
        bias, *limits = cal.agreement(ratings, measures=list(LIMITS))
        mean, sd = values_of.mean(), values_of.std(ddof=1)
        assert (bias.low, bias.high) == pytest.approx(
            stats.t.interval(0.95, 8, mean, sd / 3), rel=1e-9
        )
        for estimate, z in zip(limits, (-1.959963984540054, 1.959963984540054), strict=True):
            exact = [mean + sd / 3 * stats.nct.ppf(p, 8, 3 * z) for p in (0.025, 0.975)]
            remaining = [np.delete(values_of, i) for i in range(9)]
            left_out = np.array([x.mean() + z * x.std(ddof=1) for x in remaining])
            jackknife = np.sqrt(8 / 9 * np.square(estimate.value - left_out).sum())
            factor = max(1.0, jackknife / (sd * math.sqrt(1 / 9 + z * z / 16)))
            assert bool(factor == 1) is is_even
            expected = [estimate.value + factor * (x - estimate.value) for x in exact]
            assert (estimate.low, estimate.high) == pytest.approx(expected, rel=1e-6)
            assert estimate.method.split(",")[0] == "noncentral t"


def test_a_constant_rater_has_no_variance_of_items() -> None:
    """Of two raters, one of whom is constant, both mean squares are equal, but for rounding."""
    ratings = {"a": np.random.default_rng(0).normal(size=30), "b": np.full(30, 0.1)}
    for estimate in cal.agreement(ratings, measures=["ICC2", "ICC3", "ICC2k", "ICC3k"]):
        assert estimate.value == 0
        assert math.isnan(estimate.low)
        assert estimate.interval_reason == "no_spread"


def test_a_heavy_tail_of_item_means_is_a_caution() -> None:
    random = np.random.default_rng(1)
    item, error = random.normal(size=(60, 1)), random.normal(size=(60, 3))
    for ratings, has_caution in ((item + 0.5 * error, False), (np.exp(item + 0.5 * error), True)):
        for estimate in cal.agreement(table(ratings), measures=list(FORMS)):
            assert ("a heavy tail" in estimate.method) is has_caution
            assert estimate.method.count("a heavy tail") <= 1
