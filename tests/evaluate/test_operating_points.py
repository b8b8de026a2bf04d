"""Operating points: every rule against a search of all thresholds, and the optimism of choosing."""

from __future__ import annotations

import itertools
import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose

import calipers as cal
from calipers import _core
from calipers.data.errors import InputError
from calipers.inference import score_bootstrap
from calipers.inference.score_bootstrap import ScoreReplicates
from calipers.inference.settings import Settings
from calipers.measures import definitions
from calipers.results import Evaluation
from calipers.statistics import ConfusionMatrix, ScoreTable
from calipers.systems.thresholds import ThresholdRule, choose_on_replicates

EXAMPLES = json.loads((Path(__file__).parent.parent / "seed_examples.json").read_text("utf-8"))
TWENTY = next(example for example in EXAMPLES if example["id"] == "roc-twenty")


SOUGHT = [
    *("youden", "accuracy", "F1", "F2", "MCC", "closest", "kappa", "G-mean", "balanced-accuracy"),
    *("cost(cost_fp=1,cost_fn=5)", "generalized-Youden(sensitivity_share=0.7)", "LR+", "DOR"),
    *("specificity>=0.8", "recall>=0.9", "precision>=0.6", "NPV>=0.9", "FDR<=0.2"),
    *("F1 where recall>=0.8 & precision>=0.3", "accuracy where volume<=0.2"),
    *("MCC where recall<=0.5", "recall@precision=0.5", "recall@FPR=0.2", "KS", "max-F2"),
]


def sample(seed: int, n: int = 40) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    random = np.random.default_rng(seed)
    truth = np.append(random.random(n - 2) < 0.4, [True, False])
    return truth, np.round(random.normal(truth, 1), 1), random.integers(1, 4, n).astype(float)


def cells(truth: Any, score: Any, weight: Any, threshold: float) -> dict[str, float]:
    called = score >= threshold
    return {
        "tp": weight[truth & called].sum(),
        "fp": weight[~truth & called].sum(),
        "fn": weight[truth & ~called].sum(),
        "tn": weight[~truth & ~called].sum(),
    }


def rates(tp: float, fp: float, fn: float, tn: float) -> dict[str, float]:
    recall, specificity = tp / (tp + fn), tn / (tn + fp)
    margins = (tp + fp) * (tp + fn) * (tn + fp) * (tn + fn)
    return {
        "accuracy": (tp + tn) / (tp + fp + fn + tn),
        "balanced-accuracy": (recall + specificity) / 2,
        "F2": 5 * tp / (5 * tp + 4 * fn + fp),
        "MCC": (tp * tn - fp * fn) / math.sqrt(margins) if margins else math.nan,
        "youden": recall + specificity - 1,
        "closest": -math.hypot(1 - recall, 1 - specificity),
        "generalized-Youden(sensitivity_share=0.8)": 0.8 * recall + 0.2 * specificity,
        "cost(cost_fp=1,cost_fn=7)": -(fp + 7 * fn),
        "cost(cost_fp=2,cost_fn=7,prevalence=0.05)": -(
            2 * 0.95 * (1 - specificity) + 7 * 0.05 * (1 - recall)
        ),
        "specificity>=0.8": recall if specificity >= 0.8 else math.nan,
        "recall>=0.8": specificity if recall >= 0.8 else math.nan,
        "FPR<=0.2": recall if 1 - specificity <= 0.2 + 1e-12 else math.nan,
        "accuracy where recall>=0.5 & specificity>=0.3": (
            (tp + tn) / (tp + fp + fn + tn) if recall >= 0.5 and specificity >= 0.3 else math.nan
        ),
    }


@pytest.mark.parametrize("rule", list(rates(1, 1, 1, 1)))
def test_a_rule_finds_the_best_of_all_thresholds(rule: str) -> None:
    for seed in range(40):
        truth, score, weight = sample(seed)
        found = float(
            ThresholdRule.parse(rule).threshold(ScoreTable.from_rows(truth, score, weight))
        )
        values = {
            t: rates(**cells(truth, score, weight, t))[rule]
            for t in [math.inf, *sorted(set(score), reverse=True)]
        }
        best = np.nanmax(list(values.values()))
        assert found == next(t for t, value in values.items() if value >= best - 1e-12), seed


@pytest.mark.parametrize("seed", range(12))
def test_replicates_choose_as_on_their_whole_tables(seed: int) -> None:
    """Each rule, sought where a coarse curve says, against all thresholds; and what is left out."""
    random = np.random.default_rng(seed)
    n = int(random.integers(2, 2500))
    truth = random.random(n) < random.choice([0.05, 0.4, 0.9])
    digits = random.choice([0, 1, 2, 12])
    score = np.round(random.normal(truth * random.choice([-0.5, 0, 1, 6]), 1), digits)
    weight = random.exponential(size=n) if seed % 3 == 0 else None
    rows = None if weight is None else (truth, score, weight, np.arange(n, dtype=np.uint32))
    table = ScoreTable.from_rows(truth, score, weight)
    drawn = ScoreReplicates(table, Settings(n_resamples=20, seed=seed), rows)
    for rule in map(ThresholdRule.parse, SOUGHT):
        found, there, refined = choose_on_replicates(rule, drawn)
        places, cells, own = [], [], []
        for again, left_out in drawn.map_tables(lambda *both: both, out_of_bag=True):
            assert left_out is not None
            places.append(rule.best_index(again))
            rates = np.stack(again.cumulative_counts, axis=-1)
            own.append(rates[np.arange(len(rates)), np.maximum(places[-1], 0)])
            assert_allclose(drawn.totals, rates[:, -1], rtol=1e-9)
            matrices = left_out.confusion().counts
            cells.append(matrices[np.arange(len(matrices)), places[-1]].reshape(-1, 4))
        assert found.tolist() == np.concatenate(places).tolist(), str(rule)
        some = found >= 0
        assert_allclose(there[some], np.concatenate(own)[some], rtol=1e-9, atol=1e-9)
        outside = drawn.out_of_bag_counts(np.maximum(found, 0), refined)[some]
        assert_allclose(outside, np.concatenate(cells)[some], rtol=1e-9, atol=1e-9)


def rows_of_blocks(drawn: ScoreReplicates, replicate: int) -> np.ndarray:
    """How often each row is drawn, by descending score, given the totals of all blocks."""
    positive, coarse = drawn.ranked_rows.positive, drawn.coarse
    blocks = np.arange(len(coarse.first_index) - 1)
    totals = np.diff(coarse.points[replicate]).T.astype(np.int64)
    # Each row is a block of scores of its own here.
    tp, fp, _, _ = _core.bootstrap_points(
        positive,
        np.ones_like(positive),
        None,
        None,
        drawn.settings.seed,
        np.full(len(blocks), replicate),
        coarse.row_ranges(blocks),
        coarse.points[replicate, :, :-1].T.copy(),
        False,
        totals,
    )
    counts = np.diff(tp + fp)
    # A block begins where the one before it ended.
    return np.delete(counts, coarse.first_index[1:-1] + np.arange(len(blocks) - 1))


@pytest.mark.parametrize("seed", range(6))
def test_totals_that_are_drawn_first_are_those_of_the_rows(
    seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Choices and what is left out, against the rows of all blocks."""
    monkeypatch.setattr(score_bootstrap, "MAX_ROWS_DRAWN_SINGLY", 0)
    monkeypatch.setattr(score_bootstrap, "MIN_ROWS_PER_POINT", 8)
    random = np.random.default_rng(seed)
    n = int(random.integers(60, 1500))
    truth = random.random(n) < random.choice([0.1, 0.4, 0.9])
    score = np.round(random.normal(truth, 1), random.choice([1, 2, 12]))
    table = ScoreTable.from_rows(truth, score)
    drawn = ScoreReplicates(table, Settings(n_resamples=5, seed=seed))
    stops = np.append(0, np.flatnonzero(drawn.ranked_rows.last_mask) + 1)
    counts = np.array([rows_of_blocks(drawn, replicate) for replicate in range(5)])
    positive, first_index = drawn.ranked_rows.positive, drawn.coarse.first_index
    block = np.searchsorted(first_index, np.arange(n), "right") - 1
    for rule in map(ThresholdRule.parse, SOUGHT):
        found, there, refined = choose_on_replicates(rule, drawn)
        outside = drawn.out_of_bag_counts(np.maximum(found, 0), refined)
        for replicate, row_counts in enumerate(counts):
            again = ScoreTable.from_rows(positive, table.scores[stops_index(stops)], row_counts)
            index = int(rule.best_index(again))
            assert found[replicate] == index, str(rule)
            if index < 0:
                continue
            called = np.arange(n) < stops[index]
            assert there[replicate].tolist() == [
                row_counts[called & positive].sum(), row_counts[called & ~positive].sum()
            ]  # fmt: skip
            left_out = np.where(row_counts == 0, 1.0, 0.0)
            for b in np.flatnonzero(~refined[replicate]):
                for side in (positive, ~positive):
                    members = (block == b) & side
                    if members.any():
                        size, k = members.sum(), row_counts[members].sum()
                        left_out[members] = (1 - 1 / size) ** k
            expected = [
                left_out[side & which].sum()
                for side in (~positive, positive)
                for which in (~called, called)
            ]
            assert_allclose(outside[replicate], expected, rtol=1e-9, atol=1e-9)


def stops_index(stops: np.ndarray) -> np.ndarray:
    """The index of the score of each row, by descending score."""
    return np.repeat(np.arange(len(stops) - 1), np.diff(stops))


@pytest.mark.slow
@pytest.mark.parametrize("rule", ["F1", "accuracy"])
def test_totals_that_are_drawn_first_change_no_distribution(
    rule: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    random = np.random.default_rng(0)
    truth = random.random(4000) < 0.3
    table = ScoreTable.from_rows(truth, random.normal(0.8 * truth, 1))
    summaries = []
    for limit in (0, 10_000):
        monkeypatch.setattr(score_bootstrap, "MAX_ROWS_DRAWN_SINGLY", limit)
        drawn = ScoreReplicates(table, Settings(n_resamples=6000, seed=limit))
        index, counts, refined = choose_on_replicates(ThresholdRule.parse(rule), drawn)
        assert (index >= 0).all()
        outside = drawn.out_of_bag_counts(index, refined)
        whole = np.stack(table.cumulative_counts)[:, index].T
        summaries.append(
            np.column_stack(
                [table.thresholds[index], counts, drawn.totals, outside, counts - whole]
            )
        )
    singly, totals = summaries[1], summaries[0]
    error = np.sqrt(singly.var(axis=0) / 6000 + totals.var(axis=0) / 6000)
    assert (np.abs(singly.mean(axis=0) - totals.mean(axis=0)) < 4 * error).all()
    # Of the rows left out the expectation given the totals varies less than their number.
    ratio = totals.std(axis=0) / singly.std(axis=0)
    varying = np.r_[0:5, 9:11]
    assert (np.abs(ratio[varying] - 1) < 0.06).all()
    assert (ratio < 1.06).all()


def test_straight_levels_have_their_best_value_at_corners() -> None:
    """No point halfway between two points of a curve is better than both."""
    checked = 0
    for definition in definitions("counts"):
        if not definition.has_straight_levels:
            continue
        checked += 1
        assert definition.higher_is_better is not None
        sign = 1 if definition.higher_is_better else -1
        for positives, negatives in itertools.product(range(7), repeat=2):
            tp, fp = np.meshgrid(
                np.arange(positives + 1.0), np.arange(negatives + 1.0), indexing="ij"
            )
            matrices = ConfusionMatrix.from_counts(tp, fp, positives - tp, negatives - fp)
            values = sign * definition.example().apply(matrices)
            values = np.where(np.isnan(values), -np.inf, values)
            for i, j in itertools.product(range(positives + 1), range(negatives + 1)):
                for k, m in itertools.product(
                    range(i, positives + 1, 2), range(j, negatives + 1, 2)
                ):
                    halfway = values[(i + k) // 2, (j + m) // 2]
                    assert halfway <= max(values[i, j], values[k, m]) + 1e-12, definition.name
    assert checked >= 10


def test_a_better_measure_grows_with_tp_and_falls_with_fp() -> None:
    """On this rests where thresholds are sought: no point of a block is better than its corner."""
    for definition in definitions("counts"):
        if definition.higher_is_better is None:
            continue
        sign = 1 if definition.higher_is_better else -1
        for positives, negatives in itertools.product(range(7), repeat=2):
            tp, fp = np.meshgrid(
                np.arange(positives + 1.0), np.arange(negatives, -1, -1.0), indexing="ij"
            )
            matrices = ConfusionMatrix.from_counts(tp, fp, positives - tp, negatives - fp)
            values = sign * definition.example().apply(matrices)
            known = np.where(np.isnan(values), -np.inf, values)
            most = np.maximum.accumulate(np.maximum.accumulate(known, axis=0), axis=1)
            assert not (values < most - 1e-12).any(), (definition.name, positives, negatives)


def test_the_best_threshold_of_the_twenty_rows() -> None:
    """003 and 001: the highest accuracy, 70%, at 0.54."""
    given, expect = TWENTY["given"], TWENTY["expect"]
    point = cal.operating_point(given["label"], given["score"], rule="accuracy")
    assert point["threshold"].value == expect["best_threshold"] == 0.54
    assert point["accuracy"].value == pytest.approx(expect["best_accuracy"])
    assert point["recall"].value == 0.5
    assert point["specificity"].value == 0.9
    assert point["accuracy"].out_of_bag < point["accuracy"].value
    assert "tuned-threshold" in {finding.kind for finding in point.findings}
    assert "chosen on the rows that it is evaluated on" in str(point)


def test_an_optimism_is_that_of_trying_anew() -> None:
    """Out of bag by hand: draw rows, choose, try on the rows not drawn, add the cells up."""
    from calipers import _core

    truth, score, weight = sample(5)
    n_resamples = 300
    point = cal.operating_point(
        truth, score, weight=weight, rule="accuracy", n_resamples=n_resamples
    )
    total, chosen = dict.fromkeys(("tp", "fp", "fn", "tn"), 0.0), []
    better = []
    order = np.argsort(-score, kind="stable")
    for replicate in range(n_resamples):
        counts = np.empty(len(truth))
        counts[order] = _core.poisson_counts(0, replicate, len(truth))
        thresholds = [math.inf, *sorted(set(score), reverse=True)]
        accuracy = [
            (c := cells(truth, score, weight * counts, t))["tp"] + c["tn"] for t in thresholds
        ]
        place = int(np.argmax(np.array(accuracy) >= max(accuracy) - 1e-9))
        chosen.append(thresholds[place])
        whole = cells(truth, score, weight, chosen[-1])
        better.append(
            max(accuracy) / (weight * counts).sum() - (whole["tp"] + whole["tn"]) / weight.sum()
        )
        for name, value in cells(truth, score, weight * (counts == 0), chosen[-1]).items():
            total[name] += value
    outside = (total["tp"] + total["tn"]) / sum(total.values())
    assert point["accuracy"].out_of_bag == pytest.approx(outside)
    assert point["accuracy"].optimism == pytest.approx(point["accuracy"].value - outside)
    between = point["accuracy"].optimism_low, point["accuracy"].optimism_high
    assert between == pytest.approx(tuple(np.quantile(better, [0.025, 0.975])))
    finite = np.array(chosen)[np.isfinite(chosen)]
    low, high = np.quantile(finite, [0.025, 0.975])
    assert (point["threshold"].low, point["threshold"].high) == pytest.approx((low, high))


@pytest.mark.slow
def test_out_of_bag_is_nearer_to_fresh_rows_than_the_naive_value() -> None:
    """Small samples with a weak score, where choosing flatters most."""
    random = np.random.default_rng(0)
    positive = np.arange(20_000) < 10_000
    fresh = random.normal(positive * 0.5, 1)
    naive, outside, true = [], [], []
    for _ in range(60):
        truth = np.arange(40) < 20
        score = random.normal(truth * 0.5, 1)
        point = cal.operating_point(truth, score, measures=["J"], n_resamples=200)
        called = fresh >= point["threshold"].value
        true.append(called[positive].mean() - called[~positive].mean())
        naive.append(point["J"].value)
        outside.append(point["J"].out_of_bag)
    bias = [abs(np.mean(values) - np.mean(true)) for values in (naive, outside)]
    assert bias[0] > 0.08
    assert bias[1] < 0.5 * bias[0]


def test_predictive_values_at_another_prevalence() -> None:
    truth, score, _ = sample(2)
    point = cal.operating_point(truth, score, prevalence=0.01)
    recall, specificity = point["recall"].value, point["specificity"].value
    ppv = recall * 0.01 / (recall * 0.01 + (1 - specificity) * 0.99)
    npv = specificity * 0.99 / (specificity * 0.99 + (1 - recall) * 0.01)
    assert point["PPV@prevalence=0.01"].value == pytest.approx(ppv)
    assert point["NPV@prevalence=0.01"].value == pytest.approx(npv)
    assert point["NPV@prevalence=0.01"].has_interval


def test_costs_and_prevalence_choose_the_threshold() -> None:
    truth, score, _ = sample(3, n=400)
    options: dict[str, Any] = {"rule": "cost", "interval": "none"}
    dear, cheap = (
        cal.operating_point(truth, score, costs=(1, fn), prevalence=0.2, **options)
        for fn in (50.0, 0.1)
    )
    assert dear["threshold"].value < cheap["threshold"].value
    assert str(dear.definitions[0].measure) == "cost(cost_fn=50.0,prevalence=0.2)"


def test_a_threshold_chosen_in_an_evaluation() -> None:
    truth, score, weight = sample(4)
    options: dict[str, Any] = {"weight": weight, "measures": ["AUC", "F1", "TP"], "curves": False}
    ev = cal.classification(truth, score={"s": score}, threshold="F1", **options)
    fixed = cal.classification(
        truth, score={"s": score}, threshold=ev["s", "threshold"].value, **options
    )
    for name in ("AUC", "F1", "TP"):
        assert ev["s", name].value == fixed["s", name].value
        assert (ev["s", name].low, ev["s", name].high) == (
            fixed["s", name].low,
            fixed["s", name].high,
        )
    assert math.isnan(fixed["s", "F1"].out_of_bag)
    assert ev["s", "F1"].out_of_bag < ev["s", "F1"].value
    assert 0 < ev["s", "TP"].out_of_bag < weight.sum()
    assert math.isnan(ev["s", "AUC"].out_of_bag)
    assert "out of bag" in str(ev)
    point = cal.operating_point(ev, rule="F1", measures=["F1"])
    assert point["F1"].out_of_bag == ev["s", "F1"].out_of_bag


def test_the_time_of_an_evaluation_is_that_of_its_operating_points() -> None:
    random = np.random.default_rng(0)
    score = np.cumsum(random.normal(size=300))
    truth = (score + random.normal(size=300) * 3 > score.mean()).astype(int)
    columns: dict[str, Any] = {"score": score, "time": np.arange(300)}
    options: dict[str, Any] = {"measures": ["accuracy"], "n_resamples": 200}
    expected = cal.classification(truth, **columns, threshold="youden", **options)["accuracy"]
    ev = cal.classification(truth, **columns)
    point = cal.operating_point(ev, **options)["accuracy"]
    assert point.method == expected.method
    assert "HAC" in point.method
    assert (point.low, point.high) == (expected.low, expected.high)
    region = cal.rule_in_rule_out(ev, specificity=0.8, **options).rule_in_evaluation
    assert region is not None
    assert "HAC" in region["accuracy"].method


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("score", [0.5] * 40),
        ("positive", "nonsense"),
        ("weight", range(1, 41)),
        ("count", [1, 2]),
        ("cluster", range(40)),
    ],
)
def test_an_evaluation_has_columns_of_its_own(name: str, value: Any) -> None:
    truth, score, _ = sample(8)
    ev = cal.classification(truth, score=score)
    functions: list[Any] = [cal.operating_point, cal.threshold_table]
    for function in (*functions, lambda *a, **k: cal.rule_in_rule_out(*a, ppv=0.5, **k)):
        with pytest.raises(InputError, match=f"{name}: does not apply to an evaluation"):
            function(ev, **{name: value})


def test_a_system_among_columns() -> None:
    truth, score, _ = sample(8)
    point = cal.operating_point(truth, {"a": score, "b": -score}, system="b", interval="none")
    assert point.systems == ("b",)
    with pytest.raises(InputError, match="there is no system 'c'"):
        cal.operating_point(truth, {"a": score, "b": -score}, system="c")


def test_one_rule_for_each_system() -> None:
    truth, score, _ = sample(6)
    threshold = {"a": "youden", "b": 0.5}
    ev = cal.classification(truth, score={"a": score, "b": score}, threshold=threshold)
    assert ("a", "threshold") in {(e.system, e.measure) for e in ev}
    assert ("b", "threshold") not in {(e.system, e.measure) for e in ev}
    chosen = cal.operating_point(ev, system="b", rule="recall@FPR=0.2")
    table = ScoreTable.from_rows(truth, score)
    assert chosen["threshold"].value == float(cal.measure("recall@FPR=0.2").threshold(table))
    assert cal.operating_point(ev).systems == ("a", "b")
    with pytest.raises(InputError, match="several systems"):
        cal.rule_in_rule_out(ev, ppv=0.5)


def test_results_travel_as_json() -> None:
    truth, score, _ = sample(7)
    measures = ["F1", "recall@precision=0.5"]
    ev = cal.classification(truth, score=score, threshold="F1", measures=measures, curves=False)
    again = Evaluation.from_dict(json.loads(json.dumps(ev.to_dict())))
    assert again["F1"].out_of_bag == ev["F1"].out_of_bag
    assert again["recall@precision=0.5"].threshold == ev["recall@precision=0.5"].threshold
    assert math.isnan(again["F1"].threshold)
    assert {"threshold", "out_of_bag"} <= set(ev.rows()[0])
    for text in (ev.to_markdown(), ev.to_html(), str(ev)):
        assert "out of bag" in text


@pytest.mark.parametrize(
    ("rule", "message"),
    [
        ("yuden", "did you mean"),
        ("AUC", "not read off one threshold"),
        ("TP", "neither high nor low"),
        ("recall>=0.9 & specificity>=0.1", "say what to maximise"),
        ("F1 where recall", "expected one such as recall>=0.9"),
        ("F1 where recall>=x", "expected one such as recall>=0.9"),
        ("F1 where AUC>=0.5", "no measure"),
        ("recall>=1.5", "no threshold satisfies"),
        ("", "say what to maximise"),
    ],
)
def test_a_rule_that_is_none(rule: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        cal.operating_point([0, 1, 0, 1], [0.1, 0.2, 0.3, 0.4], rule=rule)


def test_without_intervals_nothing_is_redrawn() -> None:
    truth, score, _ = sample(8)
    point = cal.operating_point(truth, score, interval="none")
    assert math.isnan(point["J"].out_of_bag)
    assert point["threshold"].interval_reason == "not_requested"


def test_clusters_are_left_out_as_a_whole() -> None:
    """Ten copies of each row as a cluster of its own tell no more than the rows themselves."""
    truth, score, _ = sample(9)
    point = cal.operating_point(truth, score, rule="accuracy", n_resamples=2000)
    copies = cal.operating_point(
        np.repeat(truth, 10),
        np.repeat(score, 10),
        cluster=np.repeat(np.arange(len(truth)), 10),
        rule="accuracy",
    )
    assert copies["accuracy"].value == point["accuracy"].value
    assert copies["accuracy"].optimism == pytest.approx(point["accuracy"].optimism, abs=0.02)


def test_regions_that_rule_in_and_out() -> None:
    random = np.random.default_rng(3)
    truth = random.random(600) < 0.3
    score = np.round(random.normal(truth * 2.0, 1), 1)
    bounds = {"ppv": 0.9, "specificity": 0.95, "npv": 0.95, "sensitivity": 0.9}
    regions = cal.rule_in_rule_out(truth, score, **bounds, interval="none")

    def shares(threshold: float) -> tuple[float, float, float, float]:
        c = cells(truth, score, np.ones(600), threshold)
        negative, missed = c["tn"] + c["fp"], c["tn"] + c["fn"]
        return (
            c["tp"] / (c["tp"] + c["fp"]),
            c["tn"] / negative,
            c["tn"] / missed if missed else math.nan,
            c["tp"] / (c["tp"] + c["fn"]),
        )

    thresholds = sorted(set(score))
    ruling_in = [t for t in thresholds if shares(t)[0] >= 0.9 and shares(t)[1] >= 0.95]
    ruling_out = [t for t in thresholds if shares(t)[2] >= 0.95 and shares(t)[3] >= 0.9]
    assert shares(regions.rule_in)[3] == max(shares(t)[3] for t in ruling_in)
    assert shares(regions.rule_out)[1] == max(shares(t)[1] for t in ruling_out)
    assert regions.proportions["in"] == pytest.approx((score >= regions.rule_in).mean())
    assert regions.positives["out"] == pytest.approx(truth[score < regions.rule_out].mean())
    assert sum(regions.proportions.values()) == pytest.approx(1)
    assert "of them positive" in str(regions)


def test_a_region_that_no_threshold_makes() -> None:
    truth, score = [1, 0, 0, 1], [0.1, 0.2, 0.3, 0.05]
    regions = cal.rule_in_rule_out(truth, score, ppv=0.99, npv=0.2, interval="none")
    assert regions.rule_in_evaluation is None
    assert math.isnan(regions.rule_in)
    with pytest.raises(InputError, match="no bound"):
        cal.rule_in_rule_out(truth, score)
