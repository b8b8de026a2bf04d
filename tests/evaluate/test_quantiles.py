"""Predicted quantiles and the intervals between them: beside scikit-learn, SciPy, and by hand."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import stats
from sklearn import metrics

import calipers as cal
from calipers.data.errors import InputError
from calipers.findings.quantiles import QuantilePredictions
from calipers.findings.rules import RULES, Subject
from calipers.measures import Measure
from calipers.statistics import QuantileRows

RNG = np.random.default_rng(8)
N = 90
MIDDLE = RNG.normal(size=N)
TRUTH = MIDDLE + RNG.standard_t(3, N) * np.exp(MIDDLE / 3)
LEVELS = (0.05, 0.25, 0.5, 0.75, 0.95)
SAID = {a: MIDDLE + stats.norm.ppf(a) + RNG.normal(0, 0.1, N) for a in LEVELS}
WEIGHT = RNG.choice([0.0, 0.5, 1.0, 2.0], N)


def value(name: str, **options: Any) -> float:
    measure: Measure = cal.measure(name)
    return float(measure(TRUTH, SAID, **options))


def winkler(low: Any, high: Any, truth: Any, alpha: float) -> list[float]:
    """Row by row."""
    made = []
    for a, b, y in zip(low, high, truth, strict=True):
        penalty = a - y if y < a else y - b if y > b else 0.0
        made.append(b - a + 2 / alpha * penalty)
    return made


@pytest.mark.parametrize("weight", [None, WEIGHT])
def test_losses_of_levels_are_those_of_scikit_learn(weight: Any) -> None:
    each = {
        a: metrics.mean_pinball_loss(TRUTH, q, alpha=a, sample_weight=weight)
        for a, q in SAID.items()
    }
    assert value("mean-pinball", weight=weight) == pytest.approx(np.mean(list(each.values())))
    ev = cal.regression(
        TRUTH, quantiles=SAID, weight=weight, interval="none",
        measures=[*(f"pinball(alpha={a})" for a in LEVELS), "MAE", "D2-pinball(alpha=0.75)"],
    )  # fmt: skip
    for a in LEVELS:
        assert ev[f"pinball(alpha={a})"].value == pytest.approx(each[a])
        if weight is None:
            best = np.quantile(TRUTH, a, method="averaged_inverted_cdf")
            constant = metrics.mean_pinball_loss(TRUTH, np.full(N, best), alpha=a)
            assert ev[f"pinball(alpha={a})"].no_skill == pytest.approx(constant)
    median = metrics.mean_absolute_error(TRUTH, SAID[0.5], sample_weight=weight)
    assert ev["MAE"].value == pytest.approx(median)
    if weight is None:
        d2 = metrics.d2_pinball_score(TRUTH, SAID[0.75], alpha=0.75)
        assert ev["D2-pinball(alpha=0.75)"].value == pytest.approx(d2, rel=1e-3)


@pytest.mark.parametrize("weight", [None, WEIGHT])
def test_intervals_by_hand(weight: Any) -> None:
    w = np.ones(N) if weight is None else weight
    for share, (a, b) in {0.9: (0.05, 0.95), 0.5: (0.25, 0.75)}.items():
        low, high = SAID[a], SAID[b]
        found = {
            kind: value(f"{kind}@{share}", weight=weight)
            for kind in ("interval-score", "interval-coverage", "mean-width")
        }
        rows = winkler(low, high, TRUTH, 1 - share)
        assert found["interval-score"] == pytest.approx(np.average(rows, weights=w))
        inside = [l <= y <= h for l, y, h in zip(low, TRUTH, high, strict=True)]  # noqa: E741
        assert found["interval-coverage"] == pytest.approx(np.average(inside, weights=w))
        assert found["mean-width"] == pytest.approx(np.average(high - low, weights=w))
    assert value("quantile-coverage@0.25", weight=weight) == pytest.approx(
        np.average(SAID[0.25] >= TRUTH, weights=w)
    )


def test_the_weighted_interval_score_is_that_of_intervals() -> None:
    """As Bracher and others write it, over two intervals and the median."""
    total = 0.5 * np.abs(TRUTH - SAID[0.5]).mean()
    for alpha, (a, b) in {0.1: (0.05, 0.95), 0.5: (0.25, 0.75)}.items():
        total += alpha / 2 * np.mean(winkler(SAID[a], SAID[b], TRUTH, alpha))
    assert value("WIS") == pytest.approx(total / 2.5)


def test_one_interval_is_its_two_quantiles() -> None:
    both = {a: SAID[a] for a in (0.05, 0.95)}
    score = cal.measure("Winkler@0.9")(TRUTH, both)
    assert score == pytest.approx(4 / 0.1 * cal.measure("mean-pinball")(TRUTH, both))


def test_a_coverage_has_the_interval_of_a_share() -> None:
    ev = cal.regression(TRUTH, quantiles=SAID)
    found = ev["interval-coverage@0.9"]
    hits = round(found.value * N)
    wilson = stats.binomtest(hits, N).proportion_ci(method="wilson")
    assert (found.low, found.high) == pytest.approx((wilson.low, wilson.high))
    assert [e.measure for e in ev] == [
        "mean-pinball", "interval-score@0.9", "interval-coverage@0.9", "mean-width@0.9",
    ]  # fmt: skip


def test_two_systems_are_compared_by_row() -> None:
    other = {a: q + 0.3 for a, q in SAID.items()}
    ev = cal.regression(
        TRUTH, quantiles={"a": SAID, "b": other}, measures=["interval-score@0.9", "MAE"],
        slices={"half": np.arange(N) < N / 2},
    )  # fmt: skip
    assert ev.comparison is not None
    d = ev.comparison["interval-score@0.9"]
    rows = [np.array(winkler(of[0.05], of[0.95], TRUTH, 0.1)) for of in (other, SAID)]
    assert d.value == pytest.approx(np.mean(rows[0] - rows[1]))
    assert d.p == pytest.approx(stats.ttest_rel(rows[0], rows[1]).pvalue)
    assert ev.slices is not None


def test_counts_weights_and_other_forms_are_the_same(tmp_path: Path) -> None:
    import pandas as pd

    times = RNG.integers(0, 3, N)
    of_counts = cal.regression(TRUTH, quantiles=SAID, count=times)
    again = {a: np.repeat(q, times) for a, q in SAID.items()}
    of_rows = cal.regression(np.repeat(TRUTH, times), quantiles=again)
    assert list(of_counts.estimates) == list(of_rows.estimates)
    frame = pd.DataFrame({"y": TRUTH, "id": range(N), **{f"q_{a}": q for a, q in SAID.items()}})
    direct = cal.regression(TRUTH, quantiles=SAID)
    for given in ("q_*", {str(a): f"q_{a}" for a in LEVELS}):
        assert list(cal.regression("y", quantiles=given, data=frame)) == list(direct)
    assert list(cal.regression(TRUTH, quantiles=pd.DataFrame(SAID))) == list(direct)
    named = {str(a): q for a, q in SAID.items()}
    theirs = pd.DataFrame({"id": range(N), **named}).sample(frac=1, random_state=1)
    joined = cal.regression("y", quantiles={"a": theirs}, data=frame, id="id")
    assert [e.value for e in joined] == pytest.approx([e.value for e in direct])


def test_curves_are_shares_of_rows() -> None:
    ev = cal.regression(TRUTH, quantiles=SAID)
    by_level = cal.curve(ev, "quantile coverage")
    assert by_level.y.tolist() == pytest.approx([np.mean(SAID[a] >= TRUTH) for a in LEVELS])
    for kind, x in (("coverage given prediction", SAID[0.5]), ("coverage given truth", TRUTH)):
        curve = cal.curve(ev, kind, series="50%")
        inside = (SAID[0.25] <= TRUTH) & (SAID[0.75] >= TRUTH)
        parts = np.array_split(np.argsort(x), 9)
        assert curve.y.tolist() == pytest.approx([inside[part].mean() for part in parts])
        assert curve.x.tolist() == pytest.approx([x[part].mean() for part in parts])
        of_first = stats.binomtest(int(inside[parts[0]].sum()), 10).proportion_ci(method="wilson")
        assert (curve.low[0], curve.high[0]) == pytest.approx((of_first.low, of_first.high))
    with pytest.raises(InputError, match="there are several: name the series, one of 90%, 50%"):
        cal.curve(ev, "coverage given truth")
    assert len(ev.curves) == len(list(ev.curves))
    assert "Coverage of intervals by prediction" in ev.to_html()
    assert '{\\"interval\\": ' in ev.chart("coverage given truth").to_json()


@pytest.mark.parametrize(
    ("quantiles", "match"),
    [
        ({"low": [1.0], "high": [2.0]}, "'low', expected a level between 0 and 1"),
        ({0.5: [1.0], "0.50": [2.0]}, "the level 0.5 appears twice"),
        ({0.5: [1.0], 1.0: [2.0]}, "called 1.0, expected a level"),
        ({0.5: [1.0, 2.0]}, "quantiles of 0.5: has 2 rows, truth has 1"),
        ({"a": {0.5: [1.0]}, "b": {0.4: [1.0]}}, "a has the levels 0.5, b has 0.4"),
        ([[1.0]], "list, expected a dict or a data frame"),
        ({}, "no columns, expected one for each level"),
    ],
)
def test_wrong_quantiles_are_told(quantiles: Any, match: str) -> None:
    with pytest.raises(InputError, match=match):
        cal.regression([1.0], quantiles=quantiles)


def test_measures_need_their_levels() -> None:
    with pytest.raises(InputError, match=r"interval-score@0.8 needs the quantile 0.1; there are"):
        cal.regression(TRUTH, quantiles=SAID, measures="interval-score@0.8")
    with pytest.raises(InputError, match=r"RMSE needs the quantile 0.5; there are 0.05, 0.95"):
        cal.regression(TRUTH, quantiles={a: SAID[a] for a in (0.05, 0.95)}, measures="RMSE")
    with pytest.raises(InputError, match="mean-pinball needs quantiles="):
        cal.regression(TRUTH, MIDDLE, measures="mean-pinball")
    for given in ({}, {"predicted": MIDDLE, "quantiles": SAID}):
        with pytest.raises(InputError, match="takes predicted=, or else quantiles="):
            cal.regression(TRUTH, **given)


# ---------------------------------------------------------------------------------------- findings

OWN = [
    one
    for one in RULES.values()
    if one.kind in ("miscoverage", "conditional-miscoverage", "crossing-quantiles")
]


def kinds(truth: Any, said: dict[float, Any]) -> dict[str, str]:
    ev = cal.regression(truth, quantiles=said, curves=False)
    return {f.kind: f.message for f in ev.findings}


def test_what_is_found() -> None:
    p = RNG.normal(size=400)
    y = p + RNG.normal(size=400) * np.exp(p)
    found = kinds(y, {0.05: p - 1.2, 0.95: p + 1.2})
    assert set(found) == {"miscoverage", "conditional-miscoverage"}
    assert "less than nominal" in found["miscoverage"]
    assert "more than nominal" in kinds(y, {0.25: p - 9, 0.75: p + 9})["miscoverage"]
    low = p - 2.0
    low[7] = p[7] + 3
    found = kinds(p + RNG.normal(size=400), {0.05: low, 0.95: p + 1.645})
    assert "in 1 of 400 rows, first in row 7." in found["crossing-quantiles"]


@pytest.mark.slow
@pytest.mark.parametrize("rows", [3, 25, 150])
def test_honest_intervals_are_let_alone(rows: int) -> None:
    wrong: Counter[str] = Counter()
    for _ in range(200):
        p = RNG.normal(size=rows)
        spread = np.exp(p / 2)
        said = {a: p + spread * stats.norm.ppf(a) for a in (0.05, 0.95)}
        truth = p + spread * RNG.normal(size=rows)
        ev = cal.regression(truth, quantiles=said, curves=False)
        for f in ev.findings:
            wrong[f.kind] += 1
    assert max(wrong.values(), default=0) <= 200 * 0.05 + 3 * np.sqrt(200 * 0.05 * 0.95)


def test_weights_of_two_are_rows_twice() -> None:
    subject = lambda of, w: Subject(  # noqa: E731
        "a", 0.95, (QuantilePredictions(TRUTH, of, w, None),)
    )
    crossed = QuantileRows((0.25, 0.75), np.column_stack([MIDDLE, MIDDLE - 1]))
    rules = [one for one in OWN if one.kind != "miscoverage"]
    both = [
        [(f.kind, dict(f.values)) for one in rules for f in one.findings(subject(crossed, w))]
        for w in (None, np.full(N, 2.0))
    ]
    assert both[0] == both[1] != []
