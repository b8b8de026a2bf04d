"""Whether a collection is good enough: groups left out, few judgments, few topics."""

from __future__ import annotations

import math
from itertools import combinations
from typing import Any

import numpy as np
import pytest
from scipy import stats

import calipers as cal
from calipers.campaign import quality
from calipers.campaign.system_scores import SystemTopicScores, ranking_changes, score_systems
from calipers.inference.power import anova_power

RANKINGS = {
    "A": {"1": [f"d{d}" for d in (1, 2, 3, 4, 5, 6)]},
    "B": {"1": [f"d{d}" for d in (2, 7, 1, 8, 3, 9)]},
    "C": {"1": [f"d{d}" for d in (10, 2, 11, 7, 12, 4)]},
}
RELEVANT = {"d2": 2, "d7": 1, "d11": 3, "d4": 1, "d9": 1}
JUDGED = {"1": {f"d{d}": RELEVANT.get(f"d{d}", 0) for d in range(1, 13)}}


def values(judgments: Any) -> list[float]:
    return score_systems(judgments, RANKINGS, ["AP"])["AP"].means.tolist()


def test_a_system_that_did_not_take_part() -> None:
    assert values(JUDGED) == pytest.approx([0.2, 0.5, 0.516667], abs=5e-7)
    shallow = quality.restrict_to_depth(JUDGED, RANKINGS, 3)
    assert values(shallow) == pytest.approx([0.166667, 0.666667, 0.638889], abs=5e-7)
    found = quality.leave_one_group_out(shallow, RANKINGS, depth=3, measures=["AP"])
    second = found[1]
    [change] = second.changes
    assert (second.group, second.documents, second.relevant) == ("B", 1, 1)
    after = [change.values[run][1] for run in "ABC"]
    assert after == pytest.approx([0.25, 0.5, 0.583333], abs=5e-7)
    assert change.ranks["B"] == (1, 2)  # from the first place to the second
    assert change.tau == pytest.approx(1 / 3)
    before = [change.values[run][0] for run in "ABC"]
    assert change.tau_ap == cal.rank_correlation(before, after, method="tau-AP-b").value
    # Together with A, which has found d7 no sooner, B loses no more; together with C it keeps d7.
    together = quality.leave_one_group_out(
        shallow, RANKINGS, {"A": "x", "B": "y", "C": "y"}, depth=3, measures=["AP"]
    )
    assert [(one.group, one.documents, one.relevant) for one in together] == [
        ("x", 1, 0), ("y", 3, 2),
    ]  # fmt: skip
    with pytest.raises(cal.InputError, match="groups: there is only one"):
        quality.leave_one_group_out(JUDGED, RANKINGS, dict.fromkeys("ABC", "x"))


def test_documents_that_nobody_pooled_stay() -> None:
    judged = {"1": {"d2": 1, "elsewhere": 1, "d3": -1}}
    found = quality.leave_one_group_out(judged, RANKINGS, depth=1, measures=["AP"])
    assert [one.documents for one in found] == [0, 1, 0]


def systems(topics: int, strengths: dict[str, float], seed: int = 0) -> tuple[Any, Any]:
    """Runs that are the better the stronger, over topics with some 20 of 120 relevant."""
    random = np.random.default_rng(seed)
    judged, made = {}, {name: {} for name in strengths}
    for t in range(topics):
        relevant = random.random(120) < 0.17
        relevant[0] = True
        judged[f"t{t:02}"] = {f"d{d}": int(r) for d, r in enumerate(relevant)}
        for name, strength in strengths.items():
            order = np.argsort(-(strength * relevant + random.normal(size=120)))[:50]
            made[name][f"t{t:02}"] = [f"d{d}" for d in order]
    return judged, made


def test_significant_pairs_that_are_lost_gained_and_turned() -> None:
    """Correlation says nothing of them; the judgments of one system's own finds turn a pair."""
    judged, rankings = systems(20, {"a": 2.0, "b": 1.2, "c": 0.2})
    before = score_systems(judged, rankings, ["AP"])
    assert before["AP"].significant_pairs == {("a", "b"), ("a", "c"), ("b", "c")}
    own = {t: {d for d in of if d not in rankings["c"][t][:5]} for t, of in judged.items()}
    after = score_systems(quality.remove_judgments(judged, own), rankings, ["AP"])
    [change] = ranking_changes(before, after)
    assert change.reversed == (("a", "c"), ("b", "c"))
    assert set(change.still_significant + change.no_longer_significant) == {("a", "b")}
    [back] = ranking_changes(after, before)
    assert back.reversed == (("c", "a"), ("c", "b"))
    assert set(back.newly_significant) == set(change.no_longer_significant)
    # As calipers.compare has it, by other deals.
    run = {
        n: {t: {d: -float(k) for k, d in enumerate(of)} for t, of in r.items()}
        for n, r in rankings.items()
    }
    evaluation = cal.retrieval(judged, run, measures=["AP"])
    compared = evaluation.compare(adjust="tukey")
    for difference in compared:
        pair = sorted([difference.system, difference.baseline])
        i, j = (before["AP"].systems.index(name) for name in pair)
        assert before["AP"].p[i, j] == pytest.approx(difference.p_adjusted, abs=0.01)


@pytest.mark.slow
def test_sparse_judgments() -> None:
    """With one relevant document known of each topic AP is RR, so that neither survives any better
    than the other; orders come apart, and what is told apart gets lost, the more the less is
    known. Judging what one system found makes that system the best."""
    judged, rankings = systems(25, {"a": 1.6, "b": 1.3, "c": 1.0, "d": 0.7})
    found = {
        (one.measure, one.relevant): one
        for one in quality.sparse_judgments(
            judged, rankings, [1, 5, 100], measures=["AP", "RR", "nDCG@10"], draws=6
        )
    }
    assert found["AP", 1].value[1] == pytest.approx(found["RR", 1].value[1])
    for name in ("AP", "RR", "nDCG@10"):
        few, some, every = (found[name, number] for number in (1, 5, 100))
        assert (every.tau, every.tau_ap, every.no_longer_significant, every.reversed) == (
            1,
            1,
            0,
            0,
        )
        assert few.worst_tau <= few.tau <= some.tau <= 1
        assert few.no_longer_significant >= some.no_longer_significant
        assert few.value[1] < some.value[1] < every.value[1] == every.value[0]
    assert found["AP", 1].no_longer_significant > found["AP", 1].pairs / 2
    [first] = quality.sparse_judgments(judged, rankings, [1], measures=["RR"], found_by_run="d")
    assert first.tau < 0
    thin = quality._sample_relevant(judged, 1, 1, np.random.default_rng(0), rankings["d"])
    assert score_systems(thin, rankings, ["RR"])["RR"].ranks.tolist()[-1] == 1
    assert all(sum(g >= 1 for g in of.values()) == 1 for of in thin.values())
    with pytest.raises(cal.InputError, match="there is no run 'z'"):
        quality.sparse_judgments(judged, rankings, found_by_run="z")


def test_how_many_topics_separate() -> None:
    judged, rankings = systems(30, {"a": 2.0, "b": 1.1, "c": 1.0})
    [found] = quality.discriminative_power(judged, rankings, measures=["AP"], draws=5)
    assert (found.topics, found.pairs, found.separated) == (30, 3, 2)
    assert [size for size, _, _ in found.by_topics] == [5, 10, 20, 25]
    assert found.by_topics[-1][1] == pytest.approx(2 / 3)
    table = score_systems(judged, rankings, ["AP"])["AP"].values
    apart = np.array(
        [table[:, 0] - table[:, 1], table[:, 0] - table[:, 2], table[:, 1] - table[:, 2]]
    )
    sd = float(np.median(apart.std(axis=1, ddof=1)))
    assert found.detectable == pytest.approx(cal.plan("AP", sd=sd, n=30).min_detectable)
    effect = np.sort(np.abs(apart.mean(axis=1)) / apart.std(axis=1, ddof=1))
    needed = cal.plan("AP", sd=0.1, difference=0.1 * effect[0]).n
    assert found.needed[1] == pytest.approx(needed, abs=1)


def test_a_difference_that_is_the_same_on_every_topic_needs_the_fewest() -> None:
    topics = [str(t) for t in range(12)]
    judged = {t: {"x": 1} for t in topics}
    orders = {"a": "xyz", "b": "yxz", "c": "yzx", "same": "yzx"}
    rankings = {name: {t: list(order) for t in topics} for name, order in orders.items()}
    [found] = quality.discriminative_power(judged, rankings, measures=["RR"], draws=2)
    assert found.needed == (5, 5)  # 5 of 6 pairs
    del rankings["a"], rankings["b"]
    [found] = quality.discriminative_power(judged, rankings, measures=["RR"], draws=2)
    assert found.needed == (None, None)


def test_topics_that_say_nothing() -> None:
    judged = {
        "easy": {"x": 1},
        "hard": {"y": 1},
        "none": {"x": 0},
        "good": {"x": 1},
        "late": {"x": 1},
    }
    rankings = {
        "a": {"easy": ["x"], "none": ["x"], "hard": ["x"], "good": ["x"], "late": ["z", "x"]},
        "b": {"easy": ["x"], "none": ["x"], "hard": ["x"], "good": ["z", "w", "x"], "late": ["w", "x"]},
    }  # fmt: skip
    told = {one.topic: one for one in quality.classify_topics(judged, rankings, "RR")}
    assert {t: one.kind for t, one in told.items()} == {
        "easy": "easy", "hard": "hard", "none": "undefined", "good": "separates", "late": "alike",
    }  # fmt: skip
    assert told["good"].spread == pytest.approx(2 / 3)
    assert math.isnan(told["none"].mean)
    near = {o.topic: o.kind for o in quality.classify_topics(judged, rankings, "RR", tolerance=0.7)}
    assert near["good"] == "hard" or near["good"] in ("alike", "easy")
    # Of a measure of which less is better, 0 is the best value.
    perfect = {"a": {"easy": ["x"]}, "b": {"easy": ["x"]}}
    [one] = quality.classify_topics({"easy": {"x": 1}}, perfect, "SetErrorRate(collection_size=9)")
    assert (one.kind, one.mean) == ("easy", 0.0)
    # τ with the order of all other topics.
    judged, rankings = systems(6, {"a": 2.0, "b": 1.0, "c": 0.3})
    table = score_systems(judged, rankings, ["AP"])["AP"].values
    for place, one in enumerate(quality.classify_topics(judged, rankings)):
        rest = np.delete(table, place, axis=0).mean(axis=0)
        assert one.agrees == cal.rank_correlation(rest, table[place]).value


@pytest.mark.parametrize(
    ("asked", "expected"),
    [
        ({"difference": 0.1, "sd": math.sqrt(0.1)}, 81),
        ({"difference": 0.05, "sd": math.sqrt(0.05)}, 159),
        ({"difference": 0.05, "sd": math.sqrt(0.1)}, 316),
        ({"half_width": 0.05, "sd": math.sqrt(0.1)}, 156),
        ({"half_width": 0.1, "sd": math.sqrt(0.1)}, 41),
    ],
)
def test_topics_that_a_campaign_needs(asked: dict[str, Any], expected: int) -> None:
    """Sakai 2016."""
    assert cal.plan("AP", **asked).n == expected


@pytest.mark.parametrize(("number", "expected"), [(2, 80), (10, 158), (50, 301)])
def test_topics_that_several_systems_need(number: int, expected: int) -> None:
    """Sakai's table, in which each system has topics of its own."""
    found = [
        anova_power(0.1, math.sqrt(0.05), number, n, paired=False) for n in (expected - 1, expected)
    ]
    assert found[0] < 0.8 <= found[1]


def test_measures_that_make_no_order() -> None:
    with pytest.raises(cal.InputError, match="NumRel is not a mean over topics"):
        score_systems(JUDGED, RANKINGS, ["NumRel"])


def test_curves_of_achieved_significance_levels() -> None:
    judged, rankings = systems(20, {"a": 2.0, "b": 1.2, "c": 1.1, "d": 0.2})
    [result] = quality.discriminative_power(judged, rankings, measures=["AP"], draws=2)
    scores = score_systems(judged, rankings, ["AP"])["AP"]
    pairs = list(combinations(range(4), 2))
    assert result.p_values == tuple(sorted((scores.p[i, j] for i, j in pairs), reverse=True))
    assert sum(p <= 0.05 for p in result.p_values) == result.separated
    for i, j in pairs:
        difference = abs(scores.means[i] - scores.means[j])
        assert (difference >= result.difference_needed) == (scores.p[i, j] <= 0.05)


def test_swap_rates_are_those_of_all_pairs_of_all_divisions() -> None:
    random = np.random.default_rng(7)
    values = random.random((11, 5)) * 0.2 + random.random((11, 1)) + np.arange(5) * 0.02
    found = quality.swap_rates(values, 0.01, seed=3, divisions=40)
    draws, swaps, sizes = np.random.default_rng(3), [], []
    for _ in range(40):
        order = draws.permutation(11)
        halves = values[order[:5]].mean(axis=0), values[order[5:10]].mean(axis=0)
        for i, j in combinations(range(5), 2):
            first, second = (half[i] - half[j] for half in halves)
            sizes.append(abs(first))
            swaps.append(first * second < 0)
    sizes, swaps = np.array(sizes), np.array(swaps)
    assert found.topics == 5
    assert found.rate == pytest.approx(swaps.mean())
    for low, n, rate in found.bins:
        high = low + 0.01 if low < 0.195 else np.inf
        mask = (sizes >= low) & (sizes < high)
        assert (n, rate) == (mask.sum(), pytest.approx(swaps[mask].mean()))
    assert sum(n for _, n, _ in found.bins) == len(sizes)
    if math.isnan(found.difference_needed):
        assert found.bins[-1][2] > 0.05
    else:
        assert found.sensitivity == pytest.approx((sizes >= found.difference_needed).mean())
        assert swaps[sizes >= found.difference_needed].mean() <= 0.05


def test_swaps_of_systems_that_never_or_always_change() -> None:
    table = np.random.default_rng(0).random((10, 1)) + np.array([[0.0, 0.3, 0.3]])
    found = quality.swap_rates(table, 0.01)
    assert (found.rate, found.difference_needed, found.sensitivity) == (0.0, 0.0, 1.0)
    # Of two topics of each half, one half of which has the opposite order.
    table = np.array([[1.0, 0.0], [1.0, 0.0], [0.0, 1.0], [0.0, 1.0]])
    found = quality.swap_rates(table, 0.01, divisions=400)
    assert found.rate == pytest.approx(1 / 3, abs=0.06)  # 2 of 6 halves are of one kind
    assert math.isnan(found.difference_needed)
    assert quality.swap_rates(table[:3], 0.01) is quality.swap_rates(table[:, :1], 0.01) is None


def test_effects_of_a_group_over_topics() -> None:
    """The drop and τ of every resample, as means of topics drawn one by one."""
    random = np.random.default_rng(5)
    before = random.random((9, 4)) * 0.3 + [0.5, 0.45, 0.4, 0.35]
    after = before - random.random((9, 4)) * [0.3, 0.0, 0.0, 0.2]
    first, second = (
        SystemTopicScores("AP", tuple("123456789"), tuple("abcd"), table)
        for table in (before, after)
    )
    effect = quality.group_effect(first, second, ["a", "d"], n_resamples=300, seed=2)
    counts = np.random.default_rng(2).multinomial(9, np.full(9, 1 / 9), 300)
    taus, drops = [], []
    for count in [np.ones(9, int), *counts]:
        rows = np.repeat(np.arange(9), count)
        old, new = before[rows].mean(axis=0), after[rows].mean(axis=0)
        taus.append(stats.kendalltau(old, new).statistic)
        ranks = [stats.rankdata(-means) for means in (old, new)]
        drops.append(max((ranks[1] - ranks[0])[[0, 3]]))
    assert (effect.tau, effect.max_drop) == (pytest.approx(taus[0]), drops[0])
    assert effect.tau_interval == pytest.approx(np.quantile(taus[1:], [0.025, 0.975]))
    assert effect.max_drop_interval == pytest.approx(np.quantile(drops[1:], [0.025, 0.975]))


def test_effects_where_lower_is_better_or_topics_are_undefined() -> None:
    values = np.array([[0.1, 0.2], [0.3, np.nan], [0.1, 0.4]])
    before = SystemTopicScores("x", tuple("123"), ("a", "b"), values, higher_is_better=False)
    after = SystemTopicScores(
        "x", tuple("123"), ("a", "b"), values + np.array([1.0, 0.0]), higher_is_better=False
    )
    effect = quality.group_effect(before, after, ["a"])
    assert (effect.tau, effect.max_drop) == (-1.0, 1.0)
    single = (
        SystemTopicScores("x", ("1",), ("a", "b"), s.values[:1], higher_is_better=False)
        for s in (before, after)
    )
    assert math.isnan(quality.group_effect(*single, ["a"]).tau_interval[0])
