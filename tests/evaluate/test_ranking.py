"""Learning to rank: rows of documents in groups, their grades and scores."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from itertools import pairwise, permutations
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from pyarrow import parquet

import calipers as cal
from calipers.measures import UnknownMeasureError, definitions
from calipers.statistics import FloatArray

Rows = tuple[list[str], list[int], list[float]]


def table(groups: int, most: int, levels: int, seed: int = 3) -> Rows:
    """Groups of different sizes whose scores are tied the more, the fewer levels they have."""
    generator = np.random.default_rng(seed)
    group, truth, score = [], [], []
    for g in range(groups):
        n = int(generator.integers(1, most + 1))
        grades = generator.choice(5, n, p=[0.5, 0.2, 0.15, 0.1, 0.05])
        group += [f"q{g}"] * n
        truth += grades.tolist()
        score += np.floor(generator.random(n) * levels + 0.3 * grades).tolist()
    return group, truth, score


def of_groups(ev: cal.Evaluation, measure: str) -> dict[str, float]:
    assert ev.per_unit is not None
    ((_, of),) = ev.per_unit.values.items()
    return dict(zip(ev.per_unit.ids, of[ev.canonical_name(measure)].tolist(), strict=True))


# ---------------------------------------------------------------------------- values from elsewhere

#: Of one order of grades, by the definitions.
BY_HAND: dict[str, Callable[[list[int]], float]] = {
    "NDCG@5": lambda grades: _dcg(grades) / _dcg(sorted(grades, reverse=True)),
    "MRR@5": lambda grades: next((1 / r for r, g in enumerate(grades[:5], 1) if g), 0.0),
    "MAP@5": lambda grades: (
        sum(sum(x > 0 for x in grades[:r]) / r for r, g in enumerate(grades[:5], 1) if g)
        / sum(g > 0 for g in grades)
    ),
    "P@1": lambda grades: float(grades[0] > 0),
}


def _dcg(grades: list[int]) -> float:
    return sum((2**g - 1) / math.log2(rank + 1) for rank, g in enumerate(grades[:5], 1))


def every_order(grades: list[int], scores: list[float]) -> list[list[int]]:
    """The grades in each order of the rows by which the scores fall."""
    rows = range(len(grades))
    return [
        [grades[i] for i in order]
        for order in permutations(rows)
        if all(scores[a] >= scores[b] for a, b in pairwise(order))
    ]


@pytest.mark.parametrize("levels", [1, 2, 4])
def test_each_order_of_equal_scores_is_as_likely(levels: int) -> None:
    """Values, and what equal scores for all rows would get, against all orders one by one."""
    group, truth, score = table(12, 6, levels)
    ev = cal.ranking(group, truth, score, interval="none")
    for name, value in BY_HAND.items():
        found, constant = of_groups(ev, name), []
        for one in dict.fromkeys(group):
            rows = [i for i, g in enumerate(group) if g == one]
            grades, scores = [truth[i] for i in rows], [score[i] for i in rows]
            if not any(grades) and name in ("NDCG@5", "MAP@5"):
                assert math.isnan(found[one])
                continue
            orders = every_order(grades, scores)
            assert found[one] == pytest.approx(np.mean([value(o) for o in orders]), abs=1e-12)
            constant.append(np.mean([value(o) for o in every_order(grades, [0.0] * len(grades))]))
        assert ev[name].no_skill == pytest.approx(np.mean(constant), abs=1e-12)
        assert ev[name].n == len(constant)


def test_scikit_learn_averages_ties_alike() -> None:
    metrics = pytest.importorskip("sklearn.metrics")
    group, truth, score = table(60, 30, 6)
    found = of_groups(cal.ranking(group, truth, score, interval="none"), "NDCG@5")
    for one in dict.fromkeys(group):
        rows = [i for i, g in enumerate(group) if g == one]
        if len(rows) < 2 or not any(truth[i] for i in rows):
            continue
        gains = [[2.0 ** truth[i] - 1 for i in rows]]
        expected = metrics.ndcg_score(gains, [[score[i] for i in rows]], k=5)
        assert found[one] == pytest.approx(expected, abs=1e-12)


def test_trec_eval_of_scores_without_ties() -> None:
    """Its nDCG takes the grade for the gain; its reciprocal rank has no cutoff."""
    pytrec_eval = pytest.importorskip("pytrec_eval")
    group, truth, _ = table(40, 25, 1)
    score = np.random.default_rng(1).permutation(len(group)).astype(float)
    qrels: dict[str, dict[str, int]] = {}
    run: dict[str, dict[str, float]] = {}
    for row, one in enumerate(group):
        qrels.setdefault(one, {})[f"d{row}"] = truth[row]
        run.setdefault(one, {})[f"d{row}"] = float(score[row])
    pairs = {
        "map_cut_5": "MAP@5",
        "P_1": "P@1",
        "recip_rank": "MRR",
        "ndcg_cut_5": "NDCG(dcg='log2')@5",
    }
    theirs = pytrec_eval.RelevanceEvaluator(qrels, set(pairs)).evaluate(run)
    ev = cal.ranking(group, truth, score, measures=list(pairs.values()), interval="none")
    for name, ours in pairs.items():
        for one, value in of_groups(ev, ours).items():
            expected = theirs[one][name]
            assert value == pytest.approx(expected, abs=1e-12) or (
                math.isnan(value) and expected == 0 and not any(qrels[one].values())
            )


@pytest.mark.slow
def test_every_measure_of_rankings_is_that_of_retrieval() -> None:
    """Of judged documents with ids of any kind, ties averaged."""
    group, truth, score = table(15, 7, 3)
    qrels: dict[str, dict[str, int]] = {}
    run: dict[str, dict[str, float]] = {}
    for row, one in enumerate(group):
        qrels.setdefault(one, {})[f"d{row}"] = truth[row]
        run.setdefault(one, {})[f"d{row}"] = score[row]
    measures = [d.example() for d in definitions("retrieval")]
    here = cal.ranking(group, truth, score, measures=measures, dcg="log2", interval="none")
    for d, ours in zip(definitions("retrieval"), here, strict=True):
        ties = {"ties": "average"} if "ties" in d.parameters else {}
        measure = d.bind({**d.example().parameters, **ties})
        [theirs] = cal.retrieval(qrels, run, measures=[measure], interval="none")
        assert ours.value == pytest.approx(theirs.value, abs=1e-12, nan_ok=True), d.name
        assert ours.n == theirs.n


@pytest.mark.parametrize("ties", ["best", "worst"])
def test_the_best_and_the_worst_order(ties: str) -> None:
    group, truth, score = table(12, 6, 2)
    ev = cal.ranking(group, truth, score, ties=ties, interval="none")
    pick = max if ties == "best" else min
    for name, value in BY_HAND.items():
        for one, found in of_groups(ev, name).items():
            rows = [i for i, g in enumerate(group) if g == one]
            grades = [truth[i] for i in rows]
            if any(grades):
                orders = every_order(grades, [score[i] for i in rows])
                assert found == pytest.approx(pick(value(o) for o in orders), abs=1e-12)
    assert "equal scores by" in ev.provenance["conventions"]["order"]


# -------------------------------------------------------------------------------------------- laws


def test_the_order_of_the_rows_says_nothing() -> None:
    group, truth, score = map(np.array, table(30, 12, 3))
    other = np.random.default_rng(4).permutation(len(group))
    options: dict[str, Any] = {
        "n_resamples": 100,
        "measures": [*BY_HAND, "RBP", "Rprec", "iprec@0.5"],
    }
    one = cal.ranking(group, truth, {"a": score, "b": -score}, **options)
    two = cal.ranking(
        group[other], truth[other], {"a": score[other], "b": -score[other]}, **options
    )
    assert one.to_json(details=True) == two.to_json(details=True)


def test_a_group_of_weight_two_is_the_same_group_twice() -> None:
    group, truth, score = map(np.array, table(30, 8, 4))
    number = np.array([int(name[1:]) for name in group])
    twice = number % 3 == 0
    weighted = cal.ranking(group, truth, score, weight=1 + twice, interval="none")
    again = np.concatenate([group, np.char.add(group[twice], " again")])
    both = cal.ranking(
        again, np.append(truth, truth[twice]), np.append(score, score[twice]), interval="none"
    )
    for name in BY_HAND:
        assert weighted[name].value == pytest.approx(both[name].value, rel=1e-12)
        assert weighted[name].no_skill == pytest.approx(both[name].no_skill, rel=1e-12)
    without = cal.ranking(group, truth, score, weight=1 - twice, interval="none")
    left = cal.ranking(group[~twice], truth[~twice], score[~twice], interval="none")
    for name in BY_HAND:
        assert without[name].value == left[name].value
        assert (without[name].n, without[name].n_total) == (left[name].n, left[name].n_total)


def test_intervals_and_differences_are_those_of_values_by_group() -> None:
    """The same values given to from_values make the same intervals and tests."""
    group, truth, score = map(np.array, table(40, 12, 4))
    noise = np.random.default_rng(8).normal(0, 2, len(group))
    ev = cal.ranking(group, truth, {"a": score, "b": score + noise}, measures=["NDCG@5"])
    assert ev.per_unit is not None
    name = "nDCG(dcg='exp-log2')@5"
    values = {system: of[name] for system, of in ev.per_unit.values.items()}
    other = cal.from_values(values, unit="groups", measure=name)
    for system in values:
        a, b = ev[system, name], other[system, name]
        assert (a.value, a.low, a.high, a.method) == (b.value, b.low, b.high, b.method)
    assert ev.comparison is not None
    assert other.comparison is not None
    a, b = ev.comparison[name], other.comparison[name]
    assert (a.value, a.low, a.high, a.p) == (b.value, b.low, b.high, b.p)


def test_the_curve_is_the_measure_at_each_rank() -> None:
    group, truth, score = map(np.array, table(30, 14, 4))
    number = np.array([int(name[1:]) for name in group])
    options: dict[str, Any] = {"weight": number % 3, "n_resamples": 200}
    ev = cal.ranking(group, truth, {"a": score, "b": -score}, **options)
    assert [(c.system, c.kind) for c in ev.curves] == [
        (name, "nDCG(dcg='exp-log2') at ranks") for name in ("a", "b")
    ]
    curve = ev.curves[1]
    lines = dict(curve.references["equal scores"])
    for place, rank in enumerate(range(1, 11)):
        [e] = cal.ranking(group, truth, -score, measures=[f"NDCG@{rank}"], **options)
        assert curve.x[place] == rank
        assert curve.y[place] == pytest.approx(e.value, rel=1e-12)
        assert (curve.low[place], curve.high[place]) == pytest.approx((e.low, e.high), rel=1e-12)
        assert lines[rank] == pytest.approx(e.no_skill, rel=1e-12)
    assert not len(cal.ranking(group, truth, score, measures=["RBP"], **options).curves)
    assert not len(cal.ranking(group, truth, score, curves=False, **options).curves)


def test_slices_are_of_groups() -> None:
    group, truth, score = map(np.array, table(40, 12, 4))
    even = np.array(["even" if int(name[1:]) % 2 == 0 else "odd" for name in group])
    ev = cal.ranking(group, truth, score, slices={"kind": even}, n_resamples=200)
    assert ev.slices is not None
    rows = {(row.slice, row.estimate.measure): row.estimate for row in ev.slices}
    for kind in ("even", "odd"):
        own = even == kind
        part = cal.ranking(group[own], truth[own], score[own], interval="none")
        for name in BY_HAND:
            found = rows[kind, ev.canonical_name(name)]
            assert (found.value, found.n) == (part[name].value, part[name].n)
            assert found.no_skill == pytest.approx(part[name].no_skill)
            assert found.unit == "groups"


# ------------------------------------------------------------------------- what may be wrong, and in


def test_groups_without_relevant_rows_are_left_out_and_counted() -> None:
    truth, score = [1, 0, 0, 0, 2, 0], [2, 1, 2, 1, 2, 1]
    ev = cal.ranking([1, 1, 2, 2, 3, 3], truth, score, n_resamples=100)
    assert (ev["NDCG@5"].value, ev["NDCG@5"].n, ev["NDCG@5"].n_total) == (1.0, 2, 3)
    assert dict(ev["MAP@5"].undefined) == {"no_relevant": 1}
    assert ev["MRR@5"].value == pytest.approx(2 / 3)
    assert "1 of 3 groups has no row of grade 1 or more" in " ".join(ev.notes)
    zero = cal.ranking([1, 1, 2, 2, 3, 3], truth, score, undefined="zero", n_resamples=100)
    assert zero["NDCG@5"].value == pytest.approx(2 / 3)
    assert "score 0 there" in " ".join(zero.notes)


@pytest.mark.slow
def test_tables_by_the_names_of_columns(tmp_path: Path) -> None:
    group, truth, score = table(12, 8, 4)
    columns = {
        "qid": group,
        "grade": truth,
        "bm25": score,
        "mart": [s * -1 for s in score],
        "w": [float(len(g)) for g in group],
    }
    path = tmp_path / "rows.parquet"
    parquet.write_table(pa.table(columns), path)
    frames: list[Any] = [columns, pd.DataFrame(columns), pa.table(columns), path]
    made = [
        json.loads(
            cal.ranking("qid", "grade", ["bm25", "mart"], weight="w", slices="w", data=frame,
                        n_resamples=100).to_json(details=True)
        )
        for frame in frames
    ]  # fmt: skip
    inputs = [of["provenance"].pop("inputs") for of in made]
    assert all(of == made[0] for of in made)
    assert [[of["path"] for of in read] for read in inputs] == [[], [], [], [str(path)]]
    frame = pd.DataFrame(columns)
    apart = cal.ranking(
        frame["qid"],
        frame["grade"],
        {"bm25": frame["bm25"], "mart": frame["mart"]},
        weight=frame["w"],
        slices={"w": frame["w"]},
        n_resamples=100,
    )
    alone = json.loads(apart.to_json(details=True))
    assert alone["provenance"].pop("inputs") == []
    assert alone == made[0]


def test_systems_in_tables_of_their_own_are_joined_by_an_id() -> None:
    group, truth, score = table(12, 8, 4)
    rows = pd.DataFrame({"row": range(len(group)), "qid": group, "grade": truth})
    other = pd.DataFrame({"row": range(len(group)), "score": score}).sample(frac=1, random_state=1)
    joined = cal.ranking("qid", "grade", {"m": other}, data=rows, id="row", interval="none")
    plain = cal.ranking(group, truth, {"m": score}, interval="none")
    assert joined["m", "NDCG@5"].value == plain["m", "NDCG@5"].value
    with pytest.raises(cal.InputError, match="missing"):
        cal.ranking("qid", "grade", {"m": other[3:]}, data=rows, id="row")
    dropped = cal.ranking(
        "qid", "grade", {"m": other[3:]}, data=rows, id="row", missing="drop", interval="none"
    )
    assert "3 of" in dropped.notes[0]


def test_missing_values_are_refused_or_dropped() -> None:
    group, truth, score = [1, 1, 2, 2, 2], [1, 0, 1, 0, 0], [0.5, 0.4, None, 0.3, 0.2]
    with pytest.raises(cal.InputError, match="row 2"):
        cal.ranking(group, truth, score)
    ev = cal.ranking(group, truth, score, missing="drop", interval="none")
    assert ev["P@1"].value == 0.5
    assert "1 of 5 rows are left out" in ev.notes[0]


GOOD: dict[str, Any] = {"group": [1, 1, 2, 2], "truth": [1, 0, 2, 0], "score": [1, 2, 3, 4.0]}


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"truth": [1, 0, 2.5, 0]}, "truth: grade 2.5 in row 2 is not a whole number"),
        ({"truth": [1, -1, 2, 0]}, "truth: grade -1 in row 1 is negative"),
        ({"truth": [1, 0, 2000, 0]}, "truth: grade 2000 in row 2 is too high"),
        ({"truth": ["a", "b", "c", "d"]}, "expected numbers"),
        ({"score": [1, 2, math.nan, 4]}, "score: is NaN in row 2"),
        ({"score": [1, 2, 3]}, "score: has 3 rows, truth has 4"),
        ({"group": [1, 1, 2]}, "group: has 3 rows, truth has 4"),
        ({"group": [1, 1, None, 2]}, "group: 1 of 4 values are missing"),
        ({"weight": [1, 2, 1, 1]}, "weight: group '1' has 1.0 in row 0 and 2.0 in row 1"),
        ({"weight": [-1, -1, 1, 1]}, "the weight of group '1' is -1.0, expected 0 or more"),
        ({"weight": [1, 1]}, "weight: has 2 rows, truth has 4"),
        ({"slices": {"k": ["a", "b", "c", "c"]}}, "slice 'k': group '1' has 'a' in row 0 and 'b'"),
        ({"slices": {"k": ["a", None, "c", "c"]}}, "has 'a' in row 0 and no value in row 1"),
        ({"ties": "id"}, "ties is 'id', expected one of average, best, worst"),
        ({"undefined": "skip"}, "undefined is 'skip'"),
        ({"measures": ["alpha-nDCG@10"]}, "needs documents judged in groups"),
        ({"measures": ["infNDCG"]}, "needs judgments of documents that were sampled"),
        ({"measures": ["AUC"]}, "ask for rank-PR-AUC "),
        ({"baseline": "x"}, "baseline 'x' is not a system"),
    ],
)
def test_what_is_wrong_is_said(wrong: dict[str, Any], message: str) -> None:
    with pytest.raises((cal.InputError, UnknownMeasureError)) as caught:
        cal.ranking(**{**GOOD, **wrong})
    assert message in str(caught.value)


def test_a_number_found_that_hangs_on_the_order_is_refused() -> None:
    with pytest.raises(UnknownMeasureError, match="depends on the order"):
        cal.ranking(**GOOD, measures=["AP(denominator='found')@5"])


# ---------------------------------------------------------------------------------- names, and back


def test_names_are_read_as_they_were_asked_for() -> None:
    group, truth, score = map(np.array, table(20, 9, 4))
    ev = cal.ranking(group, truth, {"a": score, "b": -score}, n_resamples=100, primary="MAP@5")
    assert ev.measures == ("nDCG(dcg='exp-log2')@5", "RR@5", "AP@5", "P@1")
    assert ev["a", "NDCG@5"] is ev["a", "nDCG(dcg='exp-log2')@5"]
    assert ev.comparison is not None
    assert ev.comparison.primary == "AP@5"
    assert ev.compare(primary="NDCG@5", margin={"NDCG@5": 0.1}).primary == ev.measures[0]
    read = cal.from_json(ev.to_json(details=True))
    assert read["a", "NDCG@5"].value == ev["a", "NDCG@5"].value
    with pytest.raises(KeyError):
        ev["a", "NDCG(dcg='log2')@5"]
    assert "NDCG@5" not in ev.measures
    planned = cal.plan("NDCG@5", ev, difference=0.1, system="a", baseline="b", n_resamples=100)
    assert planned.measure == ev.measures[0]
    assert cal.system_rank_correlation(ev, "NDCG@5", "P@1", n_resamples=100).unit == "groups"
    linear = cal.ranking(group, truth, score, dcg="log2", rel=2, interval="none")
    assert linear.measures == ("nDCG@5", "RR(rel=2)@5", "AP(rel=2)@5", "P(rel=2)@1")
    assert linear["MRR@5"].measure == "RR(rel=2)@5"


def test_what_is_found() -> None:
    generator = np.random.default_rng(2)
    group = np.repeat(np.arange(30), 10)
    truth = generator.integers(0, 3, 300)
    truth[group < 3] = 0
    coarse = generator.integers(0, 3, 300).astype(float)
    fine = generator.normal(size=300)
    ev = cal.ranking(group, truth, {"coarse": coarse, "fine": fine, "again": fine})
    found = {f.kind: f for f in ev.findings}
    assert found["tied-scores"].systems == ("coarse",)
    assert "means over all orders" in found["tied-scores"].message
    low, high = (found["tied-scores"].values[f"{ev.measures[0]} at {end}"] for end in
                 ("worst", "best"))  # fmt: skip
    assert low < ev["coarse", "NDCG@5"].value < high
    assert found["identical-systems"].systems == ("fine", "again")
    assert found["single-grade-groups"].values == {
        "groups with a single grade": 3.0,
        "groups": 30.0,
    }
    few = cal.ranking(group[:100], truth[:100], fine[:100])
    assert "few-topics" in {f.kind for f in few.findings}
    assert "10 groups" in next(f.message for f in few.findings if f.kind == "few-topics")


def test_one_group_carries_a_mean() -> None:
    group = np.repeat(np.arange(20), 4)
    truth = np.tile([1, 0, 0, 0], 20)
    score = np.tile([0.0, 1, 2, 3], 20)
    score[:4] = [9, 1, 2, 3]
    measures = ["P@1"]
    found = {f.kind: f for f in cal.ranking(group, truth, score, measures=measures).findings}
    assert "is due to group '0'" in found["influential-topic"].message


def values(ev: cal.Evaluation) -> FloatArray:
    return np.array([e.value for e in ev])


def test_one_group_and_groups_of_one_row() -> None:
    alone = cal.ranking([7, 7, 7], [0, 1, 2], [1, 2, 3])
    assert values(alone).tolist() == [1.0, 1.0, 1.0, 1.0]
    single = cal.ranking(range(30), [1] * 30, [0] * 30)
    assert values(single).tolist() == [1.0, 1.0, 1.0, 1.0]
    nothing = cal.ranking(np.repeat(range(9), 3), [0] * 27, range(27))
    assert np.isnan(nothing["NDCG@5"].value)
    assert nothing["P@1"].value == 0.0
