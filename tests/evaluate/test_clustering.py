"""Clusters against true classes: values by brute force, and intervals that hold."""

from __future__ import annotations

from collections.abc import Callable
from itertools import combinations, permutations
from typing import Any

import numpy as np
import pytest

import calipers as cal
from calipers.data.errors import InputError
from calipers.measures import definitions
from calipers.statistics import ContingencyTable

RANDOM = np.random.default_rng(3)
ALL = [d.name for d in definitions("partitions")]
FEW: dict[str, Any] = {"resamples": 400}
CLASSES = RANDOM.integers(0, 3, 150)
NOISY = np.where(RANDOM.random(150) < 0.25, RANDOM.integers(0, 4, 150), CLASSES)
CHANCE = RANDOM.integers(0, 4, 150)


def table(truth: Any, cluster: Any) -> ContingencyTable:
    codes = [np.unique(of, return_inverse=True)[1] for of in (truth, cluster)]
    names = [tuple(map(str, np.unique(of))) for of in (truth, cluster)]
    return ContingencyTable.from_codes(*codes, *names)


# ------------------------------------------------------------------------------------------ values


def test_measures_of_pairs_by_counting_pairs() -> None:
    truth, cluster = [0, 0, 0, 1, 1, 2, 2, 2], [5, 5, 6, 6, 6, 6, 7, 7]
    pairs = list(combinations(range(8), 2))
    same = [(truth[i] == truth[j], cluster[i] == cluster[j]) for i, j in pairs]
    both, apart = same.count((True, True)), same.count((False, False))
    only_truth, only_cluster = same.count((True, False)), same.count((False, True))
    ev = cal.clustering(None, cluster, truth, measures=ALL, interval="none")
    assert ev["Rand"].value == pytest.approx((both + apart) / 28)
    assert ev["pair-F1"].value == pytest.approx(2 * both / (2 * both + only_truth + only_cluster))
    assert ev["pair-Jaccard"].value == pytest.approx(both / (both + only_truth + only_cluster))
    root = np.sqrt((both + only_truth) * (both + only_cluster))
    assert ev["Fowlkes-Mallows"].value == pytest.approx(both / root)
    assert ev["purity"].value == pytest.approx((2 + 2 + 2) / 8)


def test_what_chance_makes_is_the_mean_over_all_ways_to_deal_points() -> None:
    truth, cluster = np.array([0, 0, 0, 1, 1, 2, 2]), np.array([0, 0, 1, 1, 1, 1, 2])
    ways = [table(truth, cluster[list(order)]) for order in permutations(range(7))]
    information = np.mean([float(way.entropies[2]) for way in ways])
    assert float(table(truth, cluster).expected_information) == pytest.approx(
        information, rel=1e-12
    )
    together = np.mean([float(way.pairs[0]) for way in ways])
    _, a, b, n = table(truth, cluster).pairs
    assert float(a * b / n) == pytest.approx(together, rel=1e-12)


def test_what_clusters_are_called_changes_nothing() -> None:
    renamed = np.array(["z", "c", "x", "a"])[NOISY]
    first, second = (
        cal.clustering(None, of, CLASSES, measures=ALL, interval="none") for of in (NOISY, renamed)
    )
    for name in ALL:
        assert first[name].value == pytest.approx(second[name].value, abs=1e-14)


def test_a_count_is_so_many_points() -> None:
    counts = RANDOM.integers(0, 4, 150)
    once = cal.clustering(None, NOISY, CLASSES, count=counts, measures=ALL, **FEW)
    twice = cal.clustering(
        None, np.repeat(NOISY, counts), np.repeat(CLASSES, counts), measures=ALL, **FEW
    )
    assert [(e.value, e.low, e.high) for e in once] == [(e.value, e.low, e.high) for e in twice]


def test_the_default_is_what_one_cluster_gets() -> None:
    ev = cal.clustering(None, NOISY, CLASSES, measures=ALL, interval="none")
    one = cal.clustering(None, np.zeros(150), CLASSES, measures=ALL, interval="none")
    for name in ALL:
        assert ev[name].default == pytest.approx(one[name].value, abs=1e-12), name


# --------------------------------------------------------------------------------------- intervals


@pytest.mark.parametrize(
    "cluster",
    [CLASSES, (CLASSES + 1) % 3, NOISY, CHANCE, np.zeros(150), np.arange(150)],
    ids=["perfect", "renamed", "noisy", "by chance", "one cluster", "all alone"],
)
def test_every_value_has_an_interval_around_it(cluster: Any) -> None:
    ev = cal.clustering(None, cluster, CLASSES, measures=ALL, **FEW)
    for e in ev:
        if np.isnan(e.value):
            assert e.undefined
            continue
        low, high = cal.measure(e.measure).definition.range
        assert low <= e.low <= e.value <= e.high <= high, e
        assert e.high > e.low or len(np.unique(cluster)) in (1, 150), e


def test_a_perfect_clustering_is_perfect_of_all_points_but_for_few() -> None:
    """With no point wrong of n, up to 2.5% of Jeffreys' Beta(½, n + ½) may be: some 2.5/n; each of
    two classes has half of them."""
    from scipy.stats import beta

    truth = np.arange(200) % 2
    ev = cal.clustering(None, truth, truth, measures=["purity"], resamples=20_000)
    assert ev["purity"].low == pytest.approx(1 - beta(0.5, 200.5).ppf(0.975), abs=0.001)


def test_clusters_by_chance_are_not_told_from_chance() -> None:
    """Where points drawn anew, some of them twice, made ARI −0.0056 one of −0.0044 to 0.0101."""
    for seed in range(20):
        random = np.random.default_rng(seed)
        truth, cluster = random.integers(0, 3, (2, 120))
        ev = cal.clustering(None, cluster, truth, measures=["ARI", "AMI", "NMI"], **FEW)
        for e in ev:
            assert e.low <= 0 <= e.high, (seed, e)


def _covered(draw: Callable[[Any], tuple[Any, Any]], name: str, true: float) -> float:
    found = []
    for seed in range(120):
        truth, cluster = draw(np.random.default_rng(seed))
        e = cal.clustering(None, cluster, truth, measures=[name], resamples=200)[name]
        found.append(e.low <= true <= e.high)
    return float(np.mean(found))


def test_the_limits_hold_the_truth() -> None:
    """Three equal classes, a point in the cluster of another with probability 0.3·⅔. The true ARI
    is (Σp² − ⅑)/(⅓ − ⅑) with p = 0.8/3 thrice and 0.1/3 six times."""

    def draw(random: Any) -> tuple[Any, Any]:
        truth = random.integers(0, 3, 150)
        return truth, np.where(random.random(150) < 0.3, random.integers(0, 3, 150), truth)

    true = (3 * (0.8 / 3) ** 2 + 6 * (0.1 / 3) ** 2 - 1 / 9) / (1 / 3 - 1 / 9)
    assert 0.9 <= _covered(draw, "ARI", true) <= 0.99


# ------------------------------------------------------------------------------------- differences


def test_clusterings_are_compared_point_by_point() -> None:
    random = np.random.default_rng(1)
    worse = np.where(random.random(150) < 0.1, random.integers(0, 3, 150), NOISY)
    said = {"noisy": NOISY, "worse": worse, "alone": random.permutation(NOISY)}
    ev = cal.clustering(None, said, CLASSES, measures=["ARI"], baseline="noisy", **FEW)
    near, far = (ev.comparison[name, "noisy", "ARI"] for name in ("worse", "alone"))
    alone = [ev[name, "ARI"].standard_error for name in ("noisy", "worse")]
    assert near.standard_error < 0.6 * np.hypot(*alone)
    assert far.p_adjusted < 1e-6
    assert near.low < near.value < near.high


def test_the_same_clusters_by_other_names_do_not_differ() -> None:
    said = {"a": NOISY, "b": (NOISY + 1) % 4}
    ev = cal.clustering(None, said, CLASSES, measures=["ARI", "AMI", "purity"], **FEW)
    for d in ev.comparison:
        assert d.value == pytest.approx(0, abs=1e-12)
        assert d.p > 0.99
        assert d.low < 0 < d.high


# ------------------------------------------------------------------------------------------ errors


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: cal.clustering(None, [0, 1]), "truth="),
        (lambda: cal.clustering(None, [0, 1], [0, 1, 1]), "truth: has 3 rows"),
        (lambda: cal.clustering(None, {"a": [0, 1], "b": [1]}, [0, 1]), "labels 'b': has 1 row"),
        (lambda: cal.clustering(None, [0.0, np.nan], [0, 1]), "labels"),
        (lambda: cal.clustering(None, [0, 1], [0, 1], measures=["AUC"]), "AUC"),
    ],
)
def test_what_is_wrong_is_told(call: Callable[[], Any], message: str) -> None:
    with pytest.raises((InputError, cal.measures.UnknownMeasureError), match=message):
        call()
