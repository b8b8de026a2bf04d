"""Means over fixed cases with samples: what varies is the samples, not the cases."""

from __future__ import annotations

import math
from itertools import combinations, product
from typing import Any

import numpy as np
import pytest
from scipy import stats

import calipers as cal
from calipers.data.errors import InputError
from calipers.inference.fixed_cases import FixedCases, jackknife_variances


def benchmark(n_cases: int = 40, n_samples: int = 5, seed: int = 0) -> dict[str, Any]:
    """Passes of two systems on the samples of each case, in long form."""
    random = np.random.default_rng(seed)
    p = random.beta(1, 1, n_cases)
    q = np.clip(p + 0.1, 0, 1)
    size = (n_cases, n_samples)
    return {
        "case": np.repeat(np.arange(n_cases), n_samples),
        "A": (random.random(size) < p[:, None]).astype(int).ravel(),
        "B": (random.random(size) < q[:, None]).astype(int).ravel(),
        "half": np.repeat(np.arange(n_cases) % 2, n_samples),
        "w": np.repeat(1.0 + np.arange(n_cases) % 3, n_samples),
    }


def scores(data: dict[str, Any], samples: int = 5, **options: Any) -> Any:
    shared: dict[str, Any] = {"score": ["A", "B"], "case": "case", "target": "these"}
    return cal.scores(**{**shared, "data": data, "samples": samples, **options})


def value_of(passes: Any, k: int, *, needs_all: bool = False) -> float:
    """pass@k, or pass^k, by all subsets of k samples."""
    subsets = list(combinations(passes, k))
    return sum((all if needs_all else any)(subset) for subset in subsets) / len(subsets)


def jackknife(passes: Any, k: int, **options: Any) -> float:
    n = len(passes)
    without = [value_of(np.delete(passes, i), k, **options) for i in range(n)]
    return (n - 1) / n * float(np.square(np.array(without) - np.mean(without)).sum())


@pytest.mark.parametrize(
    ("measure", "k", "options"),
    [
        ("pass@1", 1, {}),
        ("pass@2", 2, {}),
        ("pass@4", 4, {}),
        ("pass^3", 3, {"needs_all": True}),
    ],
)
def test_interval_by_all_subsets_of_the_samples(measure: str, k: int, options: Any) -> None:
    data = benchmark()
    table = data["A"].reshape(40, 5)
    values = [value_of(row, k, **options) for row in table]
    variances = [jackknife(row, k, **options) for row in table]
    possible = [jackknife(np.array(row), k, **options) for row in product((0, 1), repeat=5)]
    se = math.sqrt(sum(variances) + max(possible)) / 40
    half = stats.t.ppf(0.975, 40 * 4) * se
    e = scores(data, measures=[measure], score="A").estimates[0]
    assert e.value == pytest.approx(np.mean(values))
    assert (e.low, e.high) == pytest.approx((max(e.value - half, 0), min(e.value + half, 1)))
    assert e.method == "Student t, samples of these cases"
    assert e.n == 40


def test_the_error_of_a_pass_rate_is_that_of_binomial_samples() -> None:
    """√Σv(1 − v)/(k − 1)/M, with one more case of v = 2/5, or 1/2 where scores may be any."""
    data = benchmark()
    v = data["A"].reshape(40, 5).mean(axis=1)
    for measure, end in (("pass@1", 0.24), ("pass-rate", 0.24), ("mean-score", 0.25)):
        se = math.sqrt((v * (1 - v) / 4).sum() + end / 4) / 40
        e = scores(data, measures=[measure]).estimates[0]
        assert (e.high - e.low) / 2 == pytest.approx(stats.t.ppf(0.975, 160) * se)


def test_the_jackknife_is_no_less_than_the_variance_on_average() -> None:
    """Efron and Stein (1981): over all outcomes of five samples, each passed with p."""
    outcomes = np.array(list(product((0.0, 1.0), repeat=5)))

    def pass_at_2(table: Any) -> Any:
        n, passed = (~np.isnan(table)).sum(axis=1), np.nansum(table, axis=1)
        return 1 - (n - passed) * (n - passed - 1) / (n * (n - 1))

    estimated, values = jackknife_variances(outcomes, pass_at_2), pass_at_2(outcomes)
    for p, factor in ((0.1, 1.1), (0.5, 1.2), (0.8, 2.0)):
        weight = np.prod(np.where(outcomes == 1, p, 1 - p), axis=1)
        mean = weight @ values
        assert mean == pytest.approx(1 - (1 - p) ** 2)
        variance = weight @ np.square(values - mean)
        assert variance <= weight @ estimated <= factor * variance


def test_samples_of_two_systems_are_independent() -> None:
    data = benchmark()
    ev = scores(data, measures=["pass@1"], baseline="A")
    d = ev.comparison[0]
    widths = [stats.t.ppf(0.975, 160) ** -1 * (e.high - e.low) / 2 for e in ev]
    half = stats.t.ppf(0.975, 320) * math.hypot(*widths)
    assert (d.low, d.high) == pytest.approx((d.value - half, d.value + half))
    ratio = d.value / math.hypot(*widths)
    assert d.p == pytest.approx(2 * stats.t.sf(abs(ratio), 320))
    # The interval is shorter than that of other cases like these, where cases differ much.
    like = scores(data, measures=["pass@1"], target="like")
    first, other = ev.estimates[0], like.estimates[0]
    assert first.high - first.low < 0.6 * (other.high - other.low)


def test_weights_slices_and_scores_of_any_range() -> None:
    data = benchmark()
    v = data["A"].reshape(40, 5).mean(axis=1)
    w = data["w"].reshape(40, 5)[:, 0]
    e = scores(data, measures=["pass@1"], weight="w").estimates[0]
    typical = (w @ w) / w.sum()
    variance = np.square(w) @ (v * (1 - v) / 4) + typical**2 * 0.24 / 4
    assert e.value == pytest.approx(np.average(v, weights=w))
    half = stats.t.ppf(0.975, 160) * math.sqrt(variance) / w.sum()
    assert (e.high - e.low) / 2 == pytest.approx(half)
    ev = scores(data, measures=["pass@1"], slices=["half"], compare=False)
    part = {name: column[data["half"] == 1] for name, column in data.items()}
    expected = {e.system: e for e in scores(part, measures=["pass@1"], compare=False)}
    for s in (s.estimate for s in ev.slices if s.slice == "1"):
        other = expected[s.system]
        assert (s.value, s.low, s.high) == (other.value, other.low, other.high)
    random = np.random.default_rng(1)
    free = {**data, "A": random.normal(size=200)}
    means = free["A"].reshape(40, 5)
    variances = means.var(axis=1, ddof=1) / 5
    e = scores(free, measures=["mean-score"]).estimates[0]
    se = math.sqrt(variances.sum() + variances.max()) / 40
    assert (e.high - e.low) / 2 == pytest.approx(stats.t.ppf(0.975, 160) * se)
    ranged = scores({**data, "A": 1 + 4 * data["A"]}, measures=["mean-score"], score="A",
                    score_range=(1, 5)).estimates[0]  # fmt: skip
    plain = scores(data, measures=["mean-score"], score="A").estimates[0]
    assert (ranged.low, ranged.high) == pytest.approx((1 + 4 * plain.low, 1 + 4 * plain.high))


def test_samples_without_a_score() -> None:
    data = benchmark()
    passes = data["A"].astype(float)
    passes[3] = passes[11] = np.nan
    passes[[20, 21, 22, 23]] = np.nan  # of the fifth case one sample is left: its variance is not
    table = passes.reshape(40, 5)
    e = scores({**data, "A": passes}, measures=["pass@1"], score="A").estimates[0]
    rows = [row[~np.isnan(row)] for row in table]
    # The case with one sample has the mean variance of a sample of the others.
    several = [row for row in rows if len(row) > 1]
    single = len(rows) - len(several)
    terms = np.array([row.var(ddof=1) * (1 / len(row) + single / len(several)) for row in several])
    total = terms.sum() + 0.25
    se = math.sqrt(total) / 40
    degrees = min(
        sum(len(row) - 1 for row in rows), 2 * total**2 / (len(terms) * terms.var(ddof=1))
    )
    assert e.value == pytest.approx(np.mean([row.mean() for row in rows]))
    assert (e.high - e.low) / 2 == pytest.approx(stats.t.ppf(0.975, degrees) * se)
    assert e.lower_bound < e.value < e.upper_bound


def test_no_interval_where_samples_show_no_variance() -> None:
    data = benchmark()
    e = scores(data, measures=["pass@5"], score="A").estimates[0]
    assert e.interval_reason == "too_few_samples"
    assert math.isnan(e.low)
    single = {name: column[::5] for name, column in data.items()}
    e = scores(single, 1, measures=["pass@1"], score="A").estimates[0]
    assert e.interval_reason == "too_few_samples"
    d = scores(data, measures=["pass@5"]).comparison[0]
    assert math.isnan(d.p)
    assert FixedCases.from_variances(np.zeros(3), np.full(3, 4), 0.0).error.se == 0  # type: ignore[union-attr]
    alike = scores({**data, "A": np.full(200, 2.5)}, measures=["mean-score"], score="A")
    assert alike.estimates[0].interval_reason == "no_spread"


def test_more_samples_are_advised_and_not_more_cases() -> None:
    data = benchmark(seed=1)
    data["B"] = np.where(np.arange(200) < 192, data["A"], 1)
    [finding] = [f for f in scores(data, measures=["pass@1"]).findings
                 if f.kind == "no-significant-difference"]  # fmt: skip
    assert "times as many samples of each case would be needed" in finding.message
    assert "cases needed" not in finding.values


def test_notes_and_conventions() -> None:
    ev = scores(benchmark(), measures=["pass@1"])
    assert ev.provenance["conventions"]["target"] == "these"
    text = str(ev)
    assert "Values are those of these 40 cases" in text
    assert "is from sampling" not in text
    assert "target" not in scores(benchmark(), target="like").provenance["conventions"]


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"measures": ["win-rate"], "baseline": "A"}, "win-rate takes samples of two systems"),
        ({"measures": ["median-score"]}, "median-score is not a mean over cases"),
        ({"cluster": "half"}, "target='these' does not go with cluster"),
        ({"interval": "bootstrap"}, "target='these': interval is 'bootstrap'"),
    ],
)
def test_what_these_cases_do_not_go_with(changed: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match="target='these'") as error:
        scores(benchmark(), **changed)
    assert message in str(error.value)


def test_these_cases_need_labels_or_samples() -> None:
    with pytest.raises(InputError, match="is about the labels of human=, or about several"):
        cal.scores([1, 0, 1], target="these")
    with pytest.raises(InputError, match="is about the labels of human=, which is not given"):
        cal.classification([1, 0, 1], [1, 0, 0], target="these")


def hits(seeds: int, n_cases: int, n_samples: int, mean: float) -> int:
    """How often the interval holds the mean of the probabilities of these cases."""
    held = 0
    for seed in range(seeds):
        random = np.random.default_rng(seed)
        p = random.beta(2 * mean, 2 * (1 - mean), n_cases)
        passes = (random.random((n_cases, n_samples)) < p[:, None]).astype(float)

        def mean_of_samples(table: Any) -> Any:
            return np.nanmean(table, axis=1)

        variances = jackknife_variances(passes, mean_of_samples)
        counts = np.full(n_cases, n_samples)
        error: Any = FixedCases.from_variances(variances, counts, 0.25 / (n_samples - 1)).error
        half = stats.t.ppf(0.975, error.df) * error.se
        held += abs(passes.mean() - p.mean()) <= half
    return held


@pytest.mark.parametrize("mean", [0.5, 0.97])
def test_it_holds_the_mean_of_these_cases(mean: float) -> None:
    assert hits(400, 30, 5, mean) >= 370


@pytest.mark.parametrize("measure", ["pass@1", "pass@2"])
@pytest.mark.parametrize("only_fewest", [0.5, 0.8])
def test_cases_with_too_few_samples_for_a_variance(measure: str, only_fewest: float) -> None:
    """Of coins, whose variance is that of the mean of as many samples in each case."""
    generator, n_cases, k = np.random.default_rng(11), 60, int(measure[-1])
    covered, errors, values = 0, [], []
    for _ in range(60):
        numbers = np.where(generator.random(n_cases) < only_fewest, k, 7)
        table = {
            "case": np.repeat(np.arange(n_cases), numbers),
            "A": generator.integers(0, 2, numbers.sum()),
        }
        e = cal.scores(["A"], case="case", samples=7, data=table, measures=[measure],
                       target="these").estimates[0]  # fmt: skip
        covered += e.low <= 1 - 0.5**k <= e.high
        errors.append(e.standard_error)
        values.append(e.value)
    assert covered >= 52  # 56% with the largest variance of the other cases
    assert np.mean(errors) == pytest.approx(np.std(values), rel=0.25)
