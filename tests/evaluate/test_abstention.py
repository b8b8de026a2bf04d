"""The area under the abstention curve, against MTEB's formula and recorded values."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.integrate import trapezoid

import calipers as cal

RUN = {
    "q1": {"a": 0.9, "b": 0.4, "c": 0.1}, "q2": {"a": 0.7, "b": 0.6}, "q3": {"c": 0.8},
    "q4": {"b": 0.3, "c": 0.2, "a": -0.5}, "q5": {"a": 0.55, "c": 0.5},
    "q6": {"b": 0.95, "a": 0.65, "c": 0.6},
}  # fmt: skip
QRELS = {
    "q1": {"a": 1}, "q2": {"b": 1}, "q3": {"a": 1}, "q4": {"c": 1}, "q5": {"a": 1, "b": 1},
    "q6": {"a": 2, "b": 1},
}  # fmt: skip
#: By `nauc` and `confidence_scores` of MTEB at 30158eb (mteb/_evaluators/retrieval_metrics.py), with
#: NumPy 2 and the values of pytrec_eval.
RECORDED = {
    "nauc_ndcg_at_10_max": 0.4940155793458633,
    "nauc_ndcg_at_10_std": 0.5995428985633974,
    "nauc_ndcg_at_10_diff1": 1.0,
    "nauc_map_at_10_max": 0.7289377289377286,
    "nauc_map_at_10_std": 0.4505494505494511,
    "nAUC_map_at_10_diff1": 1.0,
}


def mteb_area(order: NDArray[Any], values: NDArray[Any]) -> float:
    rates = np.linspace(0, 1, 11)[:-1]

    def area(by: NDArray[Any]) -> float:
        ascending = values[np.argsort(by, kind="stable")]
        n = len(values)
        curve = [ascending[min(round(rate * n), n - 1) :].mean() for rate in rates]
        return float(trapezoid(curve, rates))

    flat = values.mean() * 0.9
    return float((area(order) - flat) / (area(values) - flat))


def random_data(n: int, seed: int) -> tuple[Any, Any]:
    rng = np.random.default_rng(seed)
    names = [f"d{i}" for i in range(6)]
    qrels = {f"t{t:03}": {d: int(rng.integers(0, 3)) for d in names} | {"r": 1} for t in range(n)}
    run = {
        topic: {d: float(rng.normal()) for d in rng.permutation([*names, "r", "x"])[: 1 + t % 7]}
        for t, topic in enumerate(qrels)
    }
    return qrels, run


@pytest.mark.parametrize("name", RECORDED)
def test_recorded_values(name: str) -> None:
    ev = cal.retrieval(QRELS, RUN, measures=["ndcg_at_10", "map_at_10"], interval="none")
    assert cal.abstention(ev, RUN, name).value == pytest.approx(RECORDED[name])


@pytest.mark.parametrize("n", [4, 5, 10, 25, 64])
@pytest.mark.parametrize("score", ["max", "std", "diff1"])
def test_formula_of_mteb(n: int, score: str) -> None:
    qrels, run = random_data(n, n)
    if score != "max":  # of one document both are 0, and MTEB takes ties in their order
        run = {topic: scores | {"y": -2.0, "z": -3.0} for topic, scores in run.items()}
    ev = cal.retrieval(qrels, run, measures=["nDCG@10", "P@5"], interval="none")
    for measure in ("nDCG@10", "P@5"):
        values = np.asarray(ev.per_unit.values["run"][measure])
        scores = [np.sort(list(run[topic].values()))[::-1] for topic in ev.per_unit.ids]
        compute = {"max": lambda s: s[0], "std": np.std, "diff1": lambda s: s[0] - s[1]}[score]
        order = np.array([compute(s) for s in scores])
        expected = mteb_area(order, values)
        estimate = cal.abstention(ev, run, measure, score=score, n_resamples=100)
        assert estimate.value == pytest.approx(expected)
        assert (estimate.measure, estimate.n) == (f"nAUC({measure}, {score})", n)
        by_topic = dict(zip(ev.per_unit.ids, order.tolist(), strict=True))
        again = cal.abstention(ev, by_topic, measure, n_resamples=100)
        assert again.value == pytest.approx(estimate.value)
        np.testing.assert_allclose(again.low, estimate.low)


def test_tied_topics_are_in_every_order() -> None:
    qrels, run = random_data(12, 5)
    ev = cal.retrieval(qrels, run, measures="nDCG@10", interval="none")
    values = np.asarray(ev.per_unit.values["run"]["nDCG@10"])
    tied = np.repeat([3.0, 1.0, 2.0], 4)
    by_topic = dict(zip(ev.per_unit.ids, tied.tolist(), strict=True))
    rng = np.random.default_rng(0)
    orders = [mteb_area(tied + 1e-6 * rng.random(12), values) for _ in range(4000)]
    assert cal.abstention(ev, by_topic, "nDCG@10").value == pytest.approx(np.mean(orders), abs=0.02)
    same = cal.abstention(ev, dict.fromkeys(ev.per_unit.ids, 7.0), "nDCG@10")
    assert same.value == pytest.approx(0)


def test_a_measure_of_which_less_is_better_and_topics_without_results() -> None:
    qrels, run = random_data(30, 8)
    ev = cal.retrieval(
        qrels, run, measures=["P@5", "fallout@5"], collection_size=100, interval="none"
    )
    name = ev.measures[1]
    values = -np.asarray(ev.per_unit.values["run"][name])
    order = np.array([max(run[topic].values()) for topic in ev.per_unit.ids])
    assert cal.abstention(ev, run, name).value == pytest.approx(mteb_area(order, values))
    del run["t003"]
    ev = cal.retrieval(qrels, run, measures="P@5", interval="none")
    order[3] = -np.inf
    values = np.asarray(ev.per_unit.values["run"]["P@5"])
    assert cal.abstention(ev, run, "P@5").value == pytest.approx(mteb_area(order, values))


def test_an_area_of_equal_values_is_undefined() -> None:
    ev = cal.retrieval(QRELS, {"q1": {"x": 1.0}}, measures="P@5", interval="none")
    estimate = cal.abstention(ev, {"q1": {"x": 1.0}}, "P@5")
    assert np.isnan(estimate.value)
    assert (estimate.n, estimate.undefined) == (0, {"all_tied": 6})


def test_what_cannot_be_computed() -> None:
    two = cal.retrieval(QRELS, {"one": RUN, "two": RUN}, measures=["AP", "NumRel"], interval="none")
    ev = cal.retrieval(QRELS, RUN, measures=["AP", "NumRel"], interval="none")
    for message, evaluation, confidence, options in (
        ("system: expected one of one and two", two, RUN, {}),
        ("system is 'three'", two, RUN, {"system": "three"}),
        ("score is 'mean', expected one of max, std", ev, RUN, {"score": "mean"}),
        ("'nDCG' is not one of", ev, RUN, {"measure": "nDCG"}),
        ("NumRel is not a mean", ev, RUN, {"measure": "NumRel"}),
        ("has no entry for 'q2'", ev, {"q1": 1.0}, {}),
        ("is a run of other topics", ev, {"z": {"a": 1.0}}, {}),
        ("is NaN in row 0", ev, {q: float("nan") for q in RUN}, {}),
        ("is not a number for 'q1'", ev, {"q1": {"a": np.inf, "b": 0.0}}, {"score": "std"}),
    ):
        with pytest.raises(cal.InputError, match=message):
            cal.abstention(evaluation, confidence, **{"measure": "AP", **options})
    weighted = cal.retrieval(
        QRELS, RUN, measures="AP", interval="none", weight={q: 1.0 + len(RUN[q]) for q in QRELS}
    )
    with pytest.raises(cal.InputError, match="counts every topic once"):
        cal.abstention(weighted, RUN, "AP")
