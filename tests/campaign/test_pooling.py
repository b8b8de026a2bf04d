"""Pools, orders that depend on judgments, and samples, beside examples that were made by hand."""

from __future__ import annotations

import math
from itertools import combinations
from typing import Any

import numpy as np
import pytest

import calipers as cal
from calipers.campaign import pooling, sampling
from calipers.campaign.runs import group_runs, read_rankings

#: Three runs of six documents, and what is relevant.
RUNS = {
    "A": ["d1", "d2", "d3", "d4", "d5", "d6"],
    "B": ["d2", "d7", "d1", "d8", "d3", "d9"],
    "C": ["d10", "d2", "d11", "d7", "d12", "d4"],
}
RANKINGS = {name: {"1": documents} for name, documents in RUNS.items()}
RELEVANT = {"d2": 2, "d7": 1, "d11": 3, "d4": 1, "d9": 1}
JUDGED = {"1": {f"d{d}": RELEVANT.get(f"d{d}", 0) for d in range(1, 13)}}


def test_rankings_are_in_the_order_that_is_evaluated() -> None:
    run = {"1": {"a": 1.0, "b": 2.0, "c": 1.0, "é": 1.0}, "2": {"x": -1.0}}
    assert read_rankings({"r": run}) == {"r": {"1": ["b", "é", "c", "a"], "2": ["x"]}}
    assert read_rankings({"r": run}, depth=2)["r"]["1"] == ["b", "é"]
    with pytest.raises(cal.InputError, match="depth is 0"):
        read_rankings({"r": run}, depth=0)


def test_how_a_pool_grows_with_its_depth() -> None:
    found = pooling.pool_growth(RANKINGS, range(1, 7), JUDGED)
    assert [step.n_documents for step in found] == [3, 4, 6, 8, 10, 12]
    assert [step.n_relevant for step in found] == [1, 2, 3, 4, 4, 5]
    assert [step.n_new for step in found] == [3, 1, 2, 2, 2, 2]
    assert [one.document for one in pooling.depth_pool(RANKINGS, 2)["1"]] == [
        "d1",
        "d10",
        "d2",
        "d7",
    ]


def test_how_a_pool_grows_with_systems_beside_every_choice_of_them() -> None:
    expected = [
        np.mean([len(set().union(*(RUNS[r][:4] for r in of))) for of in combinations(RUNS, m)])
        for m in (1, 2, 3)
    ]
    assert pooling.expected_pool_sizes(RANKINGS, 4) == pytest.approx(expected)
    grouped = pooling.expected_pool_sizes(RANKINGS, 4, {"A": "x", "B": "x", "C": "y"})
    assert grouped == pytest.approx([(6 + 4) / 2, 8])


def test_what_each_group_brings_alone() -> None:
    own = pooling.unique_documents(RANKINGS, depth=3)
    assert own == {"1": {"A": ["d3"], "B": ["d7"], "C": ["d10", "d11"]}}
    assert pooling.unique_proportions({"1": 6}, own)["1"] == pytest.approx(
        {"A": 1 / 6, "B": 1 / 6, "C": 1 / 3}
    )
    found = {one.group: one for one in pooling.contributions(RANKINGS, 3, None, JUDGED)}
    assert [found[g].unique_relevant for g in "ABC"] == [0, 1, 1]
    assert [found[g].relevant for g in "ABC"] == [1, 2, 2]
    # Together the first two have d7 and d2 twice, and one of them more alone.
    together = pooling.unique_documents(RANKINGS, {"A": "x", "B": "x", "C": "y"}, depth=3)
    assert together == {"1": {"x": ["d1", "d3", "d7"], "y": ["d10", "d11"]}}
    assert pooling.unique_documents(RANKINGS, depth=3, pool={"1": ["d3", "z"]}) == {
        "1": {"A": ["d3"]}
    }
    with pytest.raises(cal.InputError, match="has no group for run 'C'"):
        group_runs(RANKINGS, {"A": "x", "B": "x"})


@pytest.mark.parametrize(
    ("weight", "expected"),
    [
        ("rrf", {"d2": 0.048652, "d1": 0.032266, "d7": 0.031754, "d3": 0.031258, "d4": 0.030777,
                 "d10": 0.016393}),
        ("rbp", {"d2": 0.52, "d1": 0.328, "d7": 0.2624, "d3": 0.20992, "d10": 0.2,
                 "d4": 0.167936}),
    ],
)  # fmt: skip
def test_weights(weight: str, expected: dict[str, float]) -> None:
    found = pooling.document_weights(RANKINGS, "1", weight)
    assert {d: found[d] for d in expected} == pytest.approx(expected, abs=5e-7)
    assert list(found) == sorted(found, key=lambda d: (-found[d], d))
    taken = pooling.select_top_documents(RANKINGS, 4, weight)["1"]
    assert [(one.document, one.position) for one in taken] == [
        (d, k) for k, d in enumerate(list(found)[:4], 1)
    ]


@pytest.mark.parametrize(
    ("what", "message"),
    [
        (lambda: pooling.document_weights(RANKINGS, "1", "borda"), "weight is 'borda'"),
        (
            lambda: pooling.document_weights(RANKINGS, "1", "rbp", 1.0),
            "parameter of rbp is 1, expected more",
        ),
        (lambda: pooling.document_weights(RANKINGS, "1", "rrf", -1), "parameter of rrf is -1"),
        (lambda: pooling.depth_pool(RANKINGS, 0), "depth is 0"),
        (lambda: pooling.contributions(RANKINGS, "every"), "depth is 'every', expected a whole"),
        (
            lambda: pooling.depth_pool(RANKINGS, "every"),
            "depth is 'every', expected a whole number",
        ),
        (lambda: pooling.select_top_documents(RANKINGS, True), "n_documents is True"),
        (lambda: pooling.JudgingQueue(RUNS, "best"), "method is 'best'"),
        (lambda: pooling.JudgingQueue({}), "has no rankings"),
        (lambda: pooling.JudgingQueue(RUNS, max_documents=0), "max_documents is 0"),
        (lambda: sampling.strata_by_depth(RANKINGS, [3, 3]), r"depths are \[3, 3\]"),
        (lambda: sampling.draw_sample({"1": {"a": ["x"]}}, {"b": 1}), "there is no stratum 'b'"),
        (lambda: sampling.draw_sample({"1": {"a": ["x"]}}, {"a": 1.5}), "sample size 1.5"),
        (lambda: sampling.draw_sample({"1": {"a": ["x"]}}, {"a": 0}), "sample size 0"),
    ],
)
def test_what_is_wrong_is_told(what: Any, message: str) -> None:
    with pytest.raises(cal.InputError, match=message):
        what()


@pytest.mark.parametrize(
    ("method", "expected"),
    [
        ("move-to-front", "d1 d2 d7 d8 d10 d11 d12 d3 d9 d4 d5 d6"),
        ("max-mean", "d1 d10 d2 d3 d11 d7 d12 d4 d5 d8 d6 d9"),
        ("max-mean-non-stationary", "d1 d10 d2 d3 d11 d7 d8 d12 d4 d5 d6 d9"),
    ],
)
def test_orders_that_judgments_make(method: str, expected: str) -> None:
    assert (
        pooling.simulate_judging(pooling.JudgingQueue(RUNS, method), RELEVANT) == expected.split()
    )


@pytest.mark.parametrize("method", sorted(pooling.JUDGING_METHODS))
def test_a_queue_goes_on_where_it_was(method: str) -> None:
    """Made anew from the judgments it asks for the same; a topic ends with its cap, and begins with
    best ranks; what was put aside does not come until it is no longer."""
    how: dict[str, Any] = {"topic": "7", "seed": 3, "burn_in": 3}
    whole = pooling.simulate_judging(pooling.JudgingQueue(RUNS, method, **how), RELEVANT)
    assert sorted(whole) == sorted({d for of in RUNS.values() for d in of})
    assert whole[:3] == ["d1", "d10", "d2"]
    for judged in range(1, 12):
        done = [(d, d in RELEVANT) for d in whole[:judged]]
        again = pooling.JudgingQueue(RUNS, method, judged=done, **how)
        assert again.next_document() == whole[judged]
        assert again.next_document(exclude={whole[judged]}) != whole[judged]
        ahead = list(again.upcoming([whole[judged]]))
        for place, document in enumerate(ahead):
            assert again.next_document({whole[judged], *ahead[:place]}) == document
        assert again.next_document({whole[judged], *ahead}) is None
        again.judge(whole[0], relevant=True)  # it was judged already
        assert again.next_document() == whole[judged]
    assert (
        len(
            pooling.simulate_judging(
                pooling.JudgingQueue(RUNS, method, max_documents=5, **how), RELEVANT
            )
        )
        == 5
    )


def test_draws_find_relevant_documents_early() -> None:
    """A run that has them first is found out; the seed and the topic change the draws."""
    runs = {f"bad{k}": [f"n{k}-{d}" for d in range(30)] for k in range(4)}
    runs["good"] = [f"r{d}" for d in range(30)]
    orders = set()
    for seed in range(4):
        for topic in "12":
            queue = pooling.JudgingQueue(runs, "thompson", seed=seed, topic=topic)
            made = pooling.simulate_judging(queue, set(runs["good"]))
            assert sum(d.startswith("r") for d in made[:40]) > 20
            orders.add(tuple(made))
    assert len(orders) == 8


def _hedge_in_words(runs: dict[str, list[str]], relevant: set[str]) -> list[str]:
    """Order of Hedge, from the losses of every judgment so far."""
    longest = max(map(len, runs.values()))
    documents = {d for ranking in runs.values() for d in ranking}

    def loss(run: str, document: str) -> float:
        if document not in runs[run]:
            return 0.0
        return sum(1 / k for k in range(runs[run].index(document) + 1, longest + 1)) / 2

    order: list[str] = []
    while len(order) < len(documents):
        total = {
            run: sum(loss(run, d) * (-1 if d in relevant else 1) for d in order) for run in runs
        }
        weights = {run: 0.1 ** total[run] for run in runs}
        score = {
            d: sum(weights[run] * loss(run, d) for run in runs) / sum(weights.values())
            for d in documents - set(order)
        }
        best = {d: min(r.index(d) for r in runs.values() if d in r) for d in score}
        order.append(min(score, key=lambda d: (-round(score[d], 12), best[d], d)))
    return order


def _mtc_in_words(runs: dict[str, list[str]], relevant: set[str]) -> list[str]:
    """Order of MTC, from the expected sums of precisions with each document relevant or not."""
    documents = sorted({d for ranking in runs.values() for d in ranking})
    order: list[str] = []

    def expected_sum(run: str, x: dict[str, float]) -> float:
        total, rank = 0.0, {d: k for k, d in enumerate(runs[run], 1)}
        for i in runs[run]:
            for j in runs[run]:
                if i == j:
                    total += x[i] / rank[i]
                elif rank[i] < rank[j]:
                    total += x[i] * x[j] / rank[j]
        return total

    while len(order) < len(documents):
        x = {d: float(d in relevant) if d in order else 0.5 for d in documents}
        score = {}
        for d in set(documents) - set(order):
            change = {
                run: expected_sum(run, {**x, d: 1.0}) - expected_sum(run, {**x, d: 0.0})
                for run in runs
            }
            score[d] = sum(abs(change[a] - change[b]) for a, b in combinations(runs, 2))
        best = {d: min(r.index(d) for r in runs.values() if d in r) for d in score}
        order.append(min(score, key=lambda d: (-round(score[d], 12), best[d], d)))
    return order


@pytest.mark.parametrize("seed", range(4))
def test_hedge_and_mtc_are_their_definitions(seed: int) -> None:
    random = np.random.default_rng(seed)
    documents = [f"d{k}" for k in range(14)]
    runs = {
        name: [str(d) for d in random.permutation(documents)[: random.integers(5, 12)]]
        for name in "abcd"
    }
    relevant = {d for d in documents if random.random() < 0.4}
    for method, expected in (("hedge", _hedge_in_words), ("mtc", _mtc_in_words)):
        queue = pooling.JudgingQueue(runs, method)
        assert pooling.simulate_judging(queue, relevant) == expected(runs, relevant), method


def test_hedge_trusts_the_run_that_was_right_and_mtc_distinguishes_runs() -> None:
    runs = {f"bad{k}": [f"n{k}-{d}" for d in range(30)] for k in range(4)}
    runs["good"] = [f"r{d}" for d in range(30)]
    made = pooling.simulate_judging(pooling.JudgingQueue(runs, "hedge"), set(runs["good"]))
    assert sum(d.startswith("r") for d in made[:35]) == 30
    # What all runs have at the same rank distinguishes none of them.
    same = {"a": ["x", "y", "z"], "b": ["x", "z", "y"]}
    assert pooling.JudgingQueue(same, "mtc").next_document() != "x"


# --- Samples --------------------------------------------------------------------------------------

#: Two strata, of the second of which half is judged.
STRATA = {"1": ["p1", "p2", "p3", "p11"], "2": ["p4", "p5", "p6", "p7", "p8", "p9", "p10", "p12"]}
GRADES = {"p1": 2, "p3": 1, "p5": 1, "p8": 2, "p9": 1, "p12": 1}
DRAWN = {*STRATA["1"], "p4", "p5", "p8", "p12"}
SAMPLED = {
    "q": {s: {d: GRADES.get(d, 0) if d in DRAWN else -1 for d in of} for s, of in STRATA.items()}
}
RUN = {
    "q": {
        d: -float(k)
        for k, d in enumerate(
            ["p1", "p2", "x1", "p3", "p4", "p5", "p6", "x2", "p7", "p8", "p9", "p10"]
        )
    }
}


def test_strata_and_draws() -> None:
    assert sampling.strata_by_depth(RANKINGS, [2, 4]) == {
        "1": {"1-2": ["d1", "d10", "d2", "d7"], "3-4": ["d11", "d3", "d4", "d8"]}
    }
    by_place = sampling.strata_by_position(pooling.depth_pool(RANKINGS, 6), [4, 5])
    assert [len(of) for of in by_place["1"].values()] == [4, 5, 3]
    sample = sampling.draw_sample({"q": STRATA, "r": {"1": ["z"]}}, {"2": 0.5}, seed=4)
    assert (
        sample.strata_by_topic["q"]["1"].inclusion_probability
        == sample.strata_by_topic["r"]["1"].inclusion_probability
        == 1
    )
    second = sample.strata_by_topic["q"]["2"]
    assert (second.inclusion_probability, len(set(second.sampled))) == (0.5, 4)
    assert (
        sampling.draw_sample({"q": STRATA}, {"2": 0.5}, seed=4).strata_by_topic["q"]
        == sample.strata_by_topic["q"]
    )
    assert (
        sampling.draw_sample({"q": STRATA}, {"2": 0.5}, seed=5).strata_by_topic["q"]
        != sample.strata_by_topic["q"]
    )
    # The first of a draw are what fewer would have been, and each document is as likely.
    assert (
        sampling.draw_sample({"q": STRATA}, {"2": 2}, seed=4).strata_by_topic["q"]["2"].sampled
        == second.sampled[:2]
    )
    times = np.zeros(8)
    for seed in range(800):
        drawn = (
            sampling.draw_sample({"q": STRATA}, {"2": 2}, seed=seed)
            .strata_by_topic["q"]["2"]
            .sampled
        )
        times[[STRATA["2"].index(d) for d in drawn]] += 1
    assert np.abs(times - 200).max() < 4 * math.sqrt(800 * 0.25 * 0.75)
    # A share is rounded up; one document alone would say nothing of its stratum.
    assert (
        len(sampling.draw_sample({"q": STRATA}, {"2": 0.01}).strata_by_topic["q"]["2"].sampled) == 2
    )


def test_judgments_of_a_sample() -> None:
    sample = sampling.StratifiedSample(
        {"q": {s: sampling.StratumSample(tuple(of), tuple(d for d in of if d in DRAWN))
               for s, of in STRATA.items()}},
        seed=0,
    )  # fmt: skip
    every = {"q": {d: GRADES.get(d, 0) for of in STRATA.values() for d in of}}
    assert sample.judgments(every) == SAMPLED
    found = cal.retrieval(sample.judgments(every), RUN, measures=list(sampling.SAMPLE_MEASURES))
    expected = {"xinfAP": 0.437499, "statAP": 0.4375, "HT-AP": 0.445833, "infNDCG@1000": 0.757807}
    assert {e.measure: e.value for e in found} == pytest.approx(expected, abs=5e-7)
    found = cal.retrieval(every, RUN, measures=["AP", "nDCG"])
    assert [e.value for e in found] == pytest.approx([0.475758, 0.738301], abs=5e-7)
    del every["q"]["p12"]  # drawn, and not judged so far
    assert sample.judgments(every)["q"]["2"]["p12"] == -1


def test_how_many_relevant_documents_there_are() -> None:
    total, error = sampling.estimate_relevant(SAMPLED)["q"]
    assert total == 8
    # Of the second stratum 3 of 4 are relevant: 8²(1 − ½)s²/4 with s² = ¼.
    assert error == pytest.approx(math.sqrt(64 * 0.5 * 0.25 / 4))
    one = {"q": {"1": {"a": 1, "b": -1}}}
    assert math.isnan(sampling.estimate_relevant(one)["q"][1])
    whole = {"q": {"": {d: g for of in SAMPLED["q"].values() for d, g in of.items()}}}
    assert sampling.estimate_relevant(whole)["q"][0] == 7.5


def test_the_jackknife_of_strata_by_hand() -> None:
    """Of every judged document of the second stratum, the estimate without it."""
    expected = {}
    for name in sampling.SAMPLE_MEASURES:
        left = []
        for d in ("p4", "p5", "p8", "p12"):
            less = {
                "q": {s: {**of, **({d: -1} if d in of else {})} for s, of in SAMPLED["q"].items()}
            }
            left.append(
                cal.retrieval(less, RUN, measures=[name], interval="none").estimates[0].value
            )
        expected[name] = math.sqrt((1 - 0.5) * 3 / 4 * np.square(left - np.mean(left)).sum())
    for error in sampling.design_errors(SAMPLED, RUN):
        name = error.measure.removesuffix("@1000")
        assert error.standard_error == pytest.approx(expected[name], rel=1e-12), name
        assert "1 of 1 topics have fewer than 10 relevant" in error.cautions[0]
    with pytest.raises(cal.InputError, match="AP is not a measure of samples"):
        sampling.design_errors(SAMPLED, RUN, ["AP"])
    probabilities = {"topic": ["q"] * 2, "doc": ["p1", "p2"], "grade": [1, 0], "pi": [0.3, 0.5]}
    with pytest.raises(cal.InputError, match="judgments: have no strata"):
        sampling.design_errors(probabilities, RUN)


def test_what_is_judged_as_a_whole_has_no_error() -> None:
    whole = {"q": {s: {d: GRADES.get(d, 0) for d in of} for s, of in STRATA.items()}}
    two = {**whole, "r": {"1": {"p1": 1, "p2": -1, "p3": -1}}}
    for error in sampling.design_errors(whole, RUN):
        assert (error.standard_error, error.cautions) == (0, ())
    [error] = sampling.design_errors(two, {**RUN, "r": RUN["q"]}, ["statAP"])
    assert error.cautions[-1] == "1 strata have one judged document, whose variance counts as 0"


def test_totals_that_people_correct() -> None:
    """Σ program + Σ (people − program) N/n is unbiased, whatever the program says."""
    random = np.random.default_rng(2)
    truth = {f"d{i}": float(i % 3 == 0) for i in range(30)}
    lenient = {d: float(random.random() < 0.3 + 0.6 * said) for d, said in truth.items()}
    strata = {"1": {"top": [f"d{i}" for i in range(10)], "rest": [f"d{i}" for i in range(10, 30)]}}
    found = []
    for seed in range(400):
        drawn = sampling.draw_sample(strata, {"top": 5, "rest": 6}, seed=seed).strata_by_topic["1"]
        said = {
            s: {d: truth[d] if d in of.sampled else None for d in of.documents}
            for s, of in drawn.items()
        }
        found.append(sampling.corrected_total(said, lenient, lambda d: d != "d0"))
    totals, errors = np.array(found).T
    assert totals.mean() == pytest.approx(9, abs=4 * totals.std() / 20)  # 10 relevant, less d0
    assert np.square(errors).mean() == pytest.approx(totals.var(), rel=0.2)
    assert sum(lenient.values()) > 12
    judged = {"a": {"x": 1, "y": 0}}
    program = {"x": 1, "y": 1}
    known = sampling.corrected_total(judged, program)
    assert sampling.corrected_total({**judged, "empty": {}}, program) == known == (1.0, 0.0)
    with pytest.raises(cal.InputError, match="the program has not judged 'x'"):
        sampling.corrected_total({"a": {"x": 1}}, {})
    with pytest.raises(
        cal.InputError, match="stratum 'a': no document of it is judged by a person"
    ):
        sampling.corrected_total({"a": {"x": None}}, {"x": 1})


@pytest.mark.slow
def test_estimates_are_near_what_all_judgments_give() -> None:
    """Pools of 150 in strata of 20, 40 and 90: ratios are off by less the more is judged, and
    their errors by design are near how far they are off."""
    random = np.random.default_rng(1)
    share = np.repeat([0.4, 0.15, 0.03], [20, 40, 90])
    full, run, strata = {}, {}, {}
    for t in range(24):
        relevant = random.random(150) < share
        full[f"t{t}"] = {f"d{d}": int(r) for d, r in enumerate(relevant)}
        order = np.argsort(np.arange(150) / 30 - relevant + random.normal(0, 1.5, 150))[:100]
        run[f"t{t}"] = {f"d{d}": -float(k) for k, d in enumerate(order)}
        ids = [f"d{d}" for d in range(150)]
        strata[f"t{t}"] = {"1": ids[:20], "2": ids[20:60], "3": ids[60:]}
    truth = cal.retrieval(full, run, measures=["AP"], interval="none")["AP"].value
    off: dict[int, list[float]] = {}
    held = []
    for few, numbers in ((1, {"2": 12, "3": 9}), (0, {"2": 20, "3": 30})):
        for seed in range(6):
            judged = sampling.draw_sample(strata, numbers, seed=seed).judgments(full)
            x, ht = sampling.design_errors(judged, run, ["xinfAP", "HT-AP"])
            off.setdefault(few, []).append(abs(x.value - truth))
            held += [abs(e.value - truth) < 3.5 * e.standard_error for e in (x, ht)]
    assert np.mean(off[0]) < np.mean(off[1]) < 0.06
    assert np.mean(held) > 0.85


def test_all_is_as_deep_as_the_longest_run() -> None:
    longest = max(len(of) for run in RANKINGS.values() for of in run.values())
    for depth in ("all", longest, None):
        assert pooling.contributions(RANKINGS, depth) == pooling.contributions(RANKINGS, 10**6)
        assert pooling.expected_pool_sizes(RANKINGS, depth)[-1] == sum(
            len({d for run in RANKINGS.values() for d in run.get(topic, ())})
            for topic in {t for run in RANKINGS.values() for t in run}
        )
        assert pooling.unique_documents(RANKINGS, depth=depth) == pooling.unique_documents(RANKINGS)
    assert pooling.depth_pool(RANKINGS, "all") == pooling.depth_pool(RANKINGS, longest)
