"""Rank correlations: against SciPy, counting by hand, every way to break ties, published values."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import pytest
from scipy import stats

import calipers as cal
from calipers.measures.rank_correlation import (
    CORRELATIONS,
    kendall,
    spearman,
    tau_ap,
    tau_ap_b,
    tau_b,
)
from calipers.statistics import FloatArray


def lists(seed: int, n: int = 9, levels: int | None = None) -> tuple[FloatArray, FloatArray]:
    rng = np.random.default_rng(seed)
    if levels is None:
        return rng.normal(size=n), rng.normal(size=n)
    return tuple(rng.integers(0, levels, n).astype(float) for _ in range(2))  # type: ignore[return-value]


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize("levels", [None, 3, 6])
def test_scipy_says_the_same(seed: int, levels: int | None) -> None:
    x, y = lists(seed, levels=levels)
    assert tau_b(x, y) == pytest.approx(stats.kendalltau(x, y).statistic, abs=1e-12)
    assert spearman(x, y) == pytest.approx(stats.spearmanr(x, y).statistic, abs=1e-12)
    if levels is None:
        assert kendall(x, y) == pytest.approx(stats.kendalltau(x, y).statistic, abs=1e-12)


@pytest.mark.parametrize("seed", range(20))
def test_kendall_counts_pairs(seed: int) -> None:
    x, y = lists(seed, levels=4)
    pairs = [
        np.sign(x[i] - x[j]) * np.sign(y[i] - y[j])
        for i, j in itertools.combinations(range(len(x)), 2)
    ]
    assert kendall(x, y) == pytest.approx(sum(pairs) / len(pairs))


def counted_ap(reference: list[float], order: list[int]) -> float:
    """Yilmaz et al.: 2/(n − 1) Σ C(i)/(i − 1) − 1 of items in the order of the second list."""
    terms = [
        sum(reference[above] > reference[order[i]] for above in order[:i]) / i
        for i in range(1, len(order))
    ]
    return 2 * sum(terms) / (len(order) - 1) - 1


@pytest.mark.parametrize("seed", range(20))
def test_tau_ap_counts_what_stands_above(seed: int) -> None:
    x, y = lists(seed)
    assert tau_ap(x, y) == pytest.approx(counted_ap(x.tolist(), np.argsort(-y).tolist()))


def orders(values: FloatArray) -> list[list[int]]:
    """All orders of the items, higher first, in which ties are broken in every way."""
    levels = sorted(set(values.tolist()), reverse=True)
    parts = [itertools.permutations(np.flatnonzero(values == v).tolist()) for v in levels]
    return [[i for part in chosen for i in part] for chosen in itertools.product(*parts)]


@pytest.mark.parametrize("seed", range(12))
def test_tau_ap_with_ties_is_the_mean_over_all_ways_to_break_them(seed: int) -> None:
    x, y = lists(seed, n=6, levels=4)
    found = []
    for reference, order in itertools.product(orders(x), orders(y)):
        place = {item: -float(i) for i, item in enumerate(reference)}
        found.append(counted_ap([place[i] for i in range(6)], order))
    assert tau_ap(x, y) == pytest.approx(math.fsum(found) / len(found), abs=1e-12)


#: The data of the tests of the R package ircor, and the values that these expect.
IRCOR = [
    ([0.897, 0.372, 0.908, 0.898, 0.661, 0.062, 0.177, 0.384, 0.498, 0.992],
     [0.82, 0.406, 0.817, 0.953, 0.673, 0.073, 0.364, 0.547, 0.589, 0.988],
     [0.9, 0.4, 0.9, 0.9, 0.7, 0.1, 0.2, 0.4, 0.5, 1],
     [0.8, 0.4, 0.8, 1, 0.7, 0.1, 0.4, 0.5, 0.6, 1],
     0.8519, 0.7454, 0.8333, 0.7321),
    ([0.266, 0.573, 0.202, 0.945, 0.629, 0.206, 0.687, 0.77, 0.718, 0.38],
     [0.263, 0.843, 0.728, 0.928, 0.08, 0.114, 0.467, 0.641, 0.973, 0.644],
     [0.3, 0.6, 0.2, 0.9, 0.6, 0.2, 0.7, 0.8, 0.7, 0.4],
     [0.3, 0.8, 0.7, 0.9, 0.1, 0.1, 0.5, 0.6, 1, 0.6],
     0.2504, 0.2692, 0.2880, 0.297),
    ([0.185, 0.573, 0.944, 0.129, 0.468, 0.553, 0.761, 0.405, 0.976, 0.445],
     [0.845, 0.272, 0.275, 0.924, 0.605, 0.334, 0.162, 0.872, 0.018, 0.25],
     [0.2, 0.6, 0.9, 0.1, 0.5, 0.6, 0.8, 0.4, 1, 0.4],
     [0.8, 0.3, 0.3, 0.9, 0.6, 0.3, 0.2, 0.9, 0, 0.2],
     -0.6971, -0.5558, -0.668, -0.7047),
]  # fmt: skip


@pytest.mark.parametrize(("x", "y", "x_tied", "y_tied", "ap", "ap_a", "b", "b_tied"), IRCOR)
def test_published_values(
    x: list[float], y: list[float], x_tied: list[float], y_tied: list[float],
    ap: float, ap_a: float, b: float, b_tied: float,
) -> None:  # fmt: skip
    def value(method: str, *given: list[float]) -> float:
        return cal.rank_correlation(*given, method=method).value

    assert value("tau-AP", x, y) == pytest.approx(ap, abs=5e-5)
    assert value("tau-AP", x, y_tied) == pytest.approx(ap_a, abs=5e-5)
    assert value("tau-AP-b", x, y) == pytest.approx(b, abs=5e-5)
    assert value("tau-AP-b", x_tied, y_tied) == pytest.approx(b_tied, abs=5e-5)
    assert value("tau-AP-b", y_tied, x_tied) == pytest.approx(b_tied, abs=5e-5)


@pytest.mark.parametrize("method", CORRELATIONS)
def test_the_same_order_is_1_and_the_reverse_is_minus_1(method: str) -> None:
    x = np.array([5.0, 1.0, 4.0, 2.0])
    assert CORRELATIONS[method](x, np.exp(x)) == pytest.approx(1)
    assert CORRELATIONS[method](x, -x) == pytest.approx(-1)


@pytest.mark.parametrize("method", CORRELATIONS)
def test_leading_axes_are_replicates(method: str) -> None:
    rng = np.random.default_rng(1)
    x, y = rng.integers(0, 5, (2, 4, 7)).astype(float)
    together = CORRELATIONS[method](x, y)
    np.testing.assert_allclose(
        together, [CORRELATIONS[method](a, b) for a, b in zip(x, y, strict=True)]
    )


@pytest.mark.parametrize("method", CORRELATIONS)
@pytest.mark.filterwarnings("error")
def test_what_has_no_order_is_undefined(method: str) -> None:
    one = cal.rank_correlation([1.0], [2.0], method=method)
    assert math.isnan(one.value)
    assert one.undefined == {"too_few_items": 1}
    flat = cal.rank_correlation([1.0, 2.0, 3.0], [1.0, 1.0, 1.0], method=method)
    if method in ("kendall", "tau-AP"):  # the expected value of a random order
        assert flat.value == 0
    else:
        assert flat.undefined == {"all_tied": 3}


def test_errors_at_the_top_of_the_second_list_weigh_more() -> None:
    right, top, bottom = [4, 3, 2, 1], [3, 4, 2, 1], [4, 3, 1, 2]
    assert tau_ap(*map(np.array, (right, top))) < tau_ap(*map(np.array, (right, bottom)))
    assert kendall(*map(np.array, (right, top))) == kendall(*map(np.array, (right, bottom)))
    x, y = (np.array(given, float) for given in ([4, 3, 2, 1], [1, 4, 3, 2]))
    assert (tau_ap(x, y), tau_ap(y, x)) == pytest.approx((1 / 3, -2 / 9))
    assert tau_ap_b(x, y) == pytest.approx((1 / 3 - 2 / 9) / 2)


def test_mappings_are_aligned_by_name() -> None:
    x, y = {"a": 3.0, "b": 1.0, "c": 2.0}, {"c": 1.0, "a": 5.0, "b": 4.0}
    e = cal.rank_correlation(x, y)
    assert e.value == pytest.approx(1 / 3)
    assert (e.n, e.unit, e.interval_reason) == (3, "items", "one_value_an_item")
    assert not e.has_interval


@pytest.mark.parametrize(
    ("given", "method", "message"),
    [
        (([1, 2], [1, 2, 3]), "kendall", "reference has 2 values and values 3"),
        (({"a": 1}, {"b": 1}), "kendall", "'a' is in one of them only"),
        (({"a": 1}, [1]), "kendall", "two mappings or two sequences"),
        (([1, 2], [1, float("nan")]), "kendall", "values: is NaN in row 1"),
        (([1, "x"], [1, 2]), "kendall", "reference: holds 'x' in row 1, expected numbers"),
        (([1, 2], [1, 2]), "tau", "expected one of kendall"),
    ],
)
def test_what_is_wrong_is_said(given: tuple[Any, Any], method: str, message: str) -> None:
    with pytest.raises(cal.InputError, match=message):
        cal.rank_correlation(*given, method=method)


# ------------------------------------------------------------------------------ orders of systems


def evaluation(seed: int = 0, topics: int = 30, **options: Any) -> cal.Evaluation:
    rng = np.random.default_rng(seed)
    qrels = {
        str(t): {f"d{i}": int(g) for i, g in enumerate(rng.integers(0, 3, 15))}
        for t in range(topics)
    }
    runs = {
        f"s{n}": {
            t: {d: g + float(rng.normal(0, 1 + n / 4)) for d, g in judged.items()}
            for t, judged in qrels.items()
        }
        for n in range(8)
    }
    return cal.retrieval(qrels, runs, interval="none", **options)


@pytest.mark.parametrize("method", CORRELATIONS)
def test_the_agreement_of_two_measures(method: str) -> None:
    ev = evaluation()
    e = cal.system_rank_correlation(ev, "AP", "ndcg_cut_10", method=method, n_resamples=400)
    ap, ndcg = ([ev[s, m].value for s in ev.systems] for m in ("AP", "nDCG@10"))
    assert e.value == pytest.approx(cal.rank_correlation(ap, ndcg, method=method).value)
    assert -1 <= e.low < e.value <= e.high <= 1
    assert (e.n, e.unit, e.method) == (30, "topics", "bootstrap, normal")
    again = cal.system_rank_correlation(ev, "AP", "nDCG@10", method=method, n_resamples=400)
    assert (e.low, e.high) == (again.low, again.high)


def test_where_lower_is_better_the_lowest_comes_first() -> None:
    ev = evaluation(measures=["P@5", "fallout@5"], collection_size=100)
    assert cal.system_rank_correlation(ev, "P@5", ev.measures[1]).value > 0.5


def test_two_evaluations_of_the_same_systems() -> None:
    strict, kind = evaluation(rel=2, measures=["AP"]), evaluation(rel=1, measures=["AP"])
    both = cal.system_rank_correlation(strict, "AP(rel=2)", "AP", second_evaluation=kind)
    values = [[ev[s, ev.measures[0]].value for s in ev.systems] for ev in (strict, kind)]
    assert both.value == pytest.approx(cal.rank_correlation(*values).value)


@pytest.mark.parametrize(
    ("ev", "measures", "other", "message"),
    [
        ({}, ("AP", "NumRel"), None, "has no direction"),
        ({}, ("AP", "ERR"), None, "'ERR' is not among the measures"),
        ({}, ("AP", "AP"), {"topics": 20}, "not of the same topics"),
    ],
)
def test_what_cannot_be_compared(
    ev: dict[str, Any], measures: tuple[str, str], other: dict[str, Any] | None, message: str
) -> None:
    second = None if other is None else evaluation(topics=other["topics"])
    with pytest.raises(cal.InputError, match=message):
        cal.system_rank_correlation(evaluation(**ev), *measures, second_evaluation=second)
    one = cal.retrieval({"1": {"a": 1}}, {"1": {"a": 1.0}})
    with pytest.raises(cal.InputError, match="one system only"):
        cal.system_rank_correlation(one, "AP", "RR")


@pytest.mark.slow
def test_the_interval_holds_the_correlation_that_as_many_topics_show() -> None:
    rng = np.random.default_rng(3)
    level, topics, systems = 0.95, 50, 12
    first, second = rng.normal(0, 0.3, (2, systems))
    second = 0.9 * first + 0.4 * second

    def drawn(n: int) -> tuple[FloatArray, FloatArray]:
        noise = rng.normal(size=(n, topics, systems)) + rng.normal(size=(n, topics, 1))
        return first + noise, second + 0.8 * noise + 0.6 * rng.normal(size=noise.shape)

    def kept(x: FloatArray, y: FloatArray) -> bool:
        ids = tuple(map(str, range(topics)))
        values = {f"s{i}": {"AP": x[:, i], "RR": y[:, i]} for i in range(systems)}
        estimates = tuple(
            cal.Estimate(m, float(v.mean()), system=s)
            for s, ms in values.items()
            for m, v in ms.items()
        )
        from calipers.results import PerUnit

        ev = cal.Evaluation("retrieval", estimates, per_unit=PerUnit("topics", ids, values))
        e = cal.system_rank_correlation(ev, "AP", "RR", level=level, n_resamples=300)
        return e.low <= target <= e.high

    x, y = drawn(3000)
    target = float(kendall(x.mean(1), y.mean(1)).mean())
    tried = [kept(a, b) for a, b in zip(*drawn(400), strict=True)]
    assert 0.90 <= np.mean(tried) <= 0.99
