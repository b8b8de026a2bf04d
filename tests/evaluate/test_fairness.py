"""Disparities between groups, beside fairlearn's functions and by simulation."""

from __future__ import annotations

import math
from itertools import permutations
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import calipers as cal
from calipers.inference.group_disparities import (
    GroupEstimates,
    difference_interval,
    extreme_interval,
    ratio_interval,
)
from calipers.inference.proportions import wilson

TRUTH = np.array([1, 1, 1, 1, 0, 0, 0, 0] * 25)
PREDICTED = np.array([1, 1, 1, 0, 0, 0, 0, 1] * 10 + [1, 1, 0, 0, 0, 0, 1, 0] * 5 + [1, 0] * 40)
SITE = np.array(["north"] * 80 + ["south"] * 40 + ["west"] * 80)


def evaluated(**options: Any) -> Any:
    options = {"measures": "recall", "slices": {"site": SITE}, **options}
    return cal.classification(TRUTH, PREDICTED, curves=False, **options)


def rates(k: str) -> dict[str, float]:
    rows = k == SITE
    truth, predicted = TRUTH[rows], PREDICTED[rows]
    return {
        "demographic-parity": predicted.mean(),
        "recall": predicted[truth == 1].mean(),
        "FPR": predicted[truth == 0].mean(),
        "accuracy": (predicted == truth).mean(),
    }


def test_by_definition() -> None:
    """Those of fairlearn 0.15 on these rows too: see test_recorded_values."""
    by_site = [rates(site) for site in ("north", "south", "west")]
    columns = {name: [of[name] for of in by_site] for name in by_site[0]}
    gaps = {name: max(x) - min(x) for name, x in columns.items()}
    ratios = {name: min(x) / max(x) for name, x in columns.items()}
    found = cal.fairness(evaluated())
    expected = {
        "demographic-parity": ("demographic-parity",),
        "equalized-odds": ("recall", "FPR"),
        "equal-opportunity": ("recall",),
    }
    for criterion, names in expected.items():
        assert found[f"{criterion}-difference"].estimate.value == pytest.approx(
            max(gaps[name] for name in names)
        )
        assert found[f"{criterion}-ratio"].estimate.value == pytest.approx(
            min(ratios[name] for name in names)
        )
    names = ("accuracy_group_min", "accuracy_group_max", "accuracy_difference")
    values = [d.estimate.value for d in cal.fairness(evaluated(), measures=names)]
    accuracy = columns["accuracy"]
    assert values == pytest.approx([min(accuracy), max(accuracy), gaps["accuracy"]])


def test_recorded_values() -> None:
    """fairlearn.metrics 0.15.0 of the same rows."""
    recorded = {
        "demographic_parity_difference": 0.125,
        "demographic_parity_ratio": 0.75,
        "equalized_odds_difference": 0.25,
        "equalized_odds_ratio": 0.5,
        "equal_opportunity_difference": 0.25,
        "equal_opportunity_ratio": 0.6666666666666666,
        "accuracy_difference": 0.25,
        "accuracy_ratio": 0.6666666666666666,
        "accuracy_group_min": 0.5,
    }
    found = cal.fairness(evaluated(), measures=list(recorded))
    for name, value in recorded.items():
        assert found[name].estimate.value == pytest.approx(value, abs=1e-12)


def test_limits_are_those_of_pairs_of_groups() -> None:
    """Newcombe's interval of two proportions, with Wilson's limits; the lower one by Bonferroni."""
    [found] = cal.fairness(evaluated(), measures="accuracy-difference")
    groups = [(rates(k)["accuracy"], int((k == SITE).sum())) for k in ("north", "south", "west")]

    def newcombe(level: float) -> list[tuple[float, float]]:
        out = []
        for (p, n), (q, m) in permutations(groups, 2):
            a, b = wilson(p, n, level), wilson(q, m, level)
            below, above = math.hypot(p - a.low, b.high - q), math.hypot(a.high - p, q - b.low)
            out.append((p - q - below, p - q + above))
        return out

    low = max(0.0, *(x[0] for x in newcombe(1 - 0.05 / 6)))
    assert found.estimate.low == pytest.approx(low, abs=1e-12)
    assert found.estimate.high == pytest.approx(max(x[1] for x in newcombe(0.95)), abs=1e-12)


def test_shared_clusters_and_streams(tmp_path: Path) -> None:
    """Distances of groups that share clusters are added; rows in batches have the same limits."""
    # Cluster k has rows of one site, or of all three.
    for cluster, combine in ((np.arange(200) // 4, math.hypot), (np.arange(200) % 40, np.add)):
        ev = evaluated(cluster=cluster, measures="accuracy")
        [found] = cal.fairness(ev, measures="accuracy-difference")
        groups = [row.estimate for row in ev.slices]
        highs = [
            a.value - b.value + combine(a.high - a.value, b.value - b.low)
            for a, b in permutations(groups, 2)
        ]
        assert found.estimate.high == pytest.approx(max(highs), abs=1e-12)
    path = tmp_path / "rows.csv"
    lines = [f"{t},{p},{s}" for t, p, s in zip(TRUTH, PREDICTED, SITE, strict=True)]
    path.write_text("\n".join(["t,p,site", *lines]), encoding="utf-8")
    streamed = cal.classification(
        "t", "p", data=path, slices="site", engine="stream", measures="recall"
    )
    for ours, theirs in zip(cal.fairness(streamed), cal.fairness(evaluated()), strict=True):
        assert (ours.estimate.value, ours.estimate.low, ours.estimate.high) == pytest.approx(
            (theirs.estimate.value, theirs.estimate.low, theirs.estimate.high)
        )


def test_other_tasks_and_undefined_values() -> None:
    random = np.random.default_rng(0)
    numbers = random.normal(size=(2, 200))
    ev = cal.regression(*numbers, slices={"site": SITE}, measures=["MAE", "R2"])
    mae, r2 = cal.fairness(ev)
    assert (mae.estimate.measure, r2.estimate.measure) == ("MAE-difference", "R2-difference")
    assert mae.estimate.low <= mae.estimate.value <= mae.estimate.high
    # Of values below 0 there is no ratio.
    [ratio] = cal.fairness(ev, measures="R2-ratio")
    assert math.isnan(ratio.estimate.value)
    assert ratio.estimate.interval_reason == "undefined_value"
    # Of several labels, averages over them are measures of the evaluation too.
    tags = [[*"ab"[: t + 1]] for t in TRUTH]
    tagged = cal.multilabel(tags, tags[::-1], slices={"site": SITE}, measures=["macro-F1"])
    [gap] = cal.fairness(tagged)
    by_site = [row.estimate.value for row in tagged.slices]
    assert gap.estimate.value == pytest.approx(max(by_site) - min(by_site))
    lone = np.where(np.arange(200) < 4, "few", SITE)  # four rows, all positive
    found = cal.fairness(evaluated(slices={"site": lone}), measures="FPR-difference")
    assert math.isnan(found[0].estimate.value)


def test_groups_of_topics_and_queries() -> None:
    """Each group by an evaluation of its own topics, whose intervals do not depend on the others."""
    random = np.random.default_rng(5)
    qrels = {f"{t:02}": {f"d{i}": int(random.integers(0, 3)) for i in range(6)} for t in range(60)}
    run = {t: {d: float(random.normal() + g) for d, g in of.items()} for t, of in qrels.items()}
    kind = {t: "abc"[int(t) % 3] for t in qrels}
    measures = ["nDCG@3", "RR", "NumRel"]
    for options in ({}, {"cluster": {t: int(t) // 6 for t in qrels}}):
        ev = cal.retrieval(qrels, run, measures=measures, slices={"kind": kind}, **options)
        alone = {
            k: cal.retrieval(
                {t: of for t, of in qrels.items() if kind[t] == k},
                run,
                measures=measures,
                **{name: {t: x[t] for t in x if kind[t] == k} for name, x in options.items()},
            )
            for k in "abc"
        }
        found = cal.fairness(ev)
        assert [d.estimate.measure for d in found] == ["nDCG@3-difference", "RR-difference"]
        for measure, disparity in zip(measures, found, strict=False):
            rows = {k: of[measure] for k, of in alone.items()}
            values = {k: row.value for k, row in rows.items()}
            assert disparity.lowest == min(values, key=values.__getitem__)
            assert disparity.highest == max(values, key=values.__getitem__)
            assert disparity.estimate.value == pytest.approx(
                values[disparity.highest] - values[disparity.lowest]
            )
            combine = np.add if options else math.hypot  # clusters have topics of all kinds
            highs = [
                a.value - b.value + combine(a.high - a.value, b.value - b.low)
                for a, b in permutations(rows.values(), 2)
            ]
            assert disparity.estimate.high == pytest.approx(max(highs))
            assert (disparity.estimate.unit, disparity.estimate.n) == ("topics", 60)
    for name, message in (("NumRel-ratio", "is a total"), ("AP-ratio", "is not computed on")):
        with pytest.raises(cal.InputError, match=message):
            cal.fairness(ev, measures=name)
    group = np.repeat(np.arange(30), 8)
    grade = random.integers(0, 3, 240)
    score = grade + random.normal(size=240)
    ranked = cal.ranking(group, grade, score, measures="P@1", slices={"half": group % 2})
    [gap] = cal.fairness(ranked)
    values = [row.estimate.value for row in ranked.slices]
    assert gap.estimate.value == pytest.approx(abs(values[0] - values[1]))
    assert gap.estimate.unit == "groups"


def test_a_result_is_read_from_json() -> None:
    found = cal.fairness(evaluated())
    assert cal.from_json(found.to_json()) == found
    assert [row["lowest"] for row in found.rows()] == [d.lowest for d in found]
    assert found["site", "equal_opportunity_difference"] == found["equal-opportunity-difference"]
    assert "equalized-odds-ratio" in str(found)
    assert "| site | equalized-odds-ratio |" in found.to_format("markdown")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            {"measures": "accuracy"},
            "is not a disparity; expected a measure or criterion followed by",
        ),
        ({"measures": "acuracy-ratio"}, "did you mean accuracy"),
        ({"measures": []}, "there is none"),
        ({"measures": "equalized-odds-group-min"}, "is of two measures"),
        ({"level": 2}, "level is 2"),
    ],
)
def test_what_is_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(cal.InputError, match=message):
        cal.fairness(evaluated(), **options)


def test_an_evaluation_without_groups_is_refused() -> None:
    with pytest.raises(cal.InputError, match="has no groups"):
        cal.fairness(evaluated(slices=None))
    classes = cal.classification([0, 1, 2] * 9, [0, 1, 2] * 9, slices={"g": [1, 2, 3] * 9})
    with pytest.raises(cal.InputError, match="is of two classes"):
        cal.fairness(classes, measures="equalized-odds-difference")


@pytest.mark.slow
@pytest.mark.parametrize("n", [30, 200])
@pytest.mark.parametrize(
    "true", [(0.8, 0.8), (0.8,) * 5, (0.1,) * 10, (0.8, 0.8, 0.8, 0.6), (0.5, 0.6, 0.7, 0.8, 0.9)]
)
def test_joint_intervals_hold(true: tuple[float, ...], n: int) -> None:
    """Also where all groups are equal, where the interval of the extreme two held 43 to 96."""
    random, p = np.random.default_rng(1), np.array(true)
    held, n_sets = np.zeros(4), 200
    expected = np.array([p.max() - p.min(), p.min() / p.max(), p.min(), p.max()])
    for _ in range(n_sets):
        values = (random.binomial(n, p) / n).tolist()
        groups = GroupEstimates(values, lambda k, level, v=values: wilson(v[k], n, level))
        intervals = (
            difference_interval([groups], 0.95),
            ratio_interval([groups], 0.95),
            extreme_interval(groups, 0.95, is_minimum=True),
            extreme_interval(groups, 0.95, is_minimum=False),
        )
        held += [i.low <= x + 1e-12 and x <= i.high + 1e-12
                 for i, x in zip(intervals, expected, strict=True)]  # fmt: skip
    assert held.min() >= 0.91 * n_sets


def test_what_cannot_be_compared_is_said() -> None:
    truth, score = [0, 1, 1, 0] * 5, [0.1, 0.9, 0.4, 0.6] * 5
    scored = cal.classification(truth, score=score, slices={"g": list("aabb") * 5})
    with pytest.raises(cal.InputError, match="recall needs predicted labels"):
        cal.fairness(scored, measures="recall-difference")
    with pytest.raises(cal.InputError, match="Brier needs probabilities"):
        cal.fairness(scored, measures="Brier-ratio")
    alone = cal.classification(truth, truth, slices={"g": ["a"] * 20})
    with pytest.raises(cal.InputError, match="g has one group, 'a'"):
        cal.fairness(alone)
    assert cal.fairness(alone, measures="recall-group-min")["recall-group-min"].lowest == "a"
