"""Predictions of times that may be censored: forms of predictions, defaults, options and errors."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from click.testing import CliRunner
from pyarrow import csv
from scipy import stats

import calipers as cal
from calipers.cli.group import cli
from calipers.inference.proportions import wilson

ROWS, TIMES = 150, (0.3, 0.7, 1.5)
RANDOM = np.random.default_rng(8)
RISK = RANDOM.normal(size=ROWS).round(1)
SOON, LOST = RANDOM.exponential(np.exp(-RISK)), RANDOM.exponential(1.5, ROWS)
TIME, EVENT = np.minimum(SOON, LOST).round(3), SOON <= LOST
OTHER = (RISK + RANDOM.normal(size=ROWS)).round(1)
SURVIVAL = {
    name: np.exp(-np.outer(np.exp(risk), TIMES)) for name, risk in (("a", RISK), ("b", OTHER))
}
TABLE = pa.table({
    "months": TIME,
    "died": EVENT.astype(int),
    "a": RISK,
    "b": OTHER,
    **{f"{name}_{time}": SURVIVAL[name][:, k] for name in "ab" for k, time in enumerate(TIMES)},
    "n": RANDOM.integers(0, 3, ROWS),
    "user": RANDOM.integers(0, 30, ROWS),
})  # fmt: skip


def limits(evaluation: Any) -> list[list[float]]:
    return [[e.value, e.low, e.high] for e in evaluation]


def by_time(name: str) -> dict[float, Any]:
    return {time: SURVIVAL[name][:, k] for k, time in enumerate(TIMES)}


def test_forms_of_probabilities_are_one_and_so_is_the_command(tmp_path: Path) -> None:
    whole: Any = cal.survival(TIME, EVENT, survival=SURVIVAL, times=list(TIMES))
    assert [e.measure for e in whole][:5] == [
        *("C-index", "Uno-C@1.5", "integrated-AUC", "integrated-Brier", "OE-ratio@1.5")
    ]
    other: Any
    for other in (
        cal.survival(TIME, EVENT, survival={name: by_time(name) for name in "ab"}),
        cal.survival("months", "died", survival={"a": "a_*", "b": "b_*"}, data=TABLE),
    ):
        assert limits(other) == limits(whole)
        assert other.comparison["integrated-Brier"].low == whole.comparison["integrated-Brier"].low
    csv.write_csv(TABLE, tmp_path / "rows.csv")
    listed = ",".join(f"{time}:b_{time}" for time in TIMES)
    line = [
        *("survival", str(tmp_path / "rows.csv"), "--time", "months", "--event", "died"),
        *("--survival", "a=a_*", "--survival", f"b={listed}", "--format", "json"),
    ]
    done = CliRunner().invoke(cli, line)
    assert done.exit_code == 0, done.output
    found = [
        e["value"] for system in json.loads(done.stdout)["systems"] for e in system["estimates"]
    ]
    assert found == pytest.approx([e.value for e in whole])


def test_a_predicted_time_is_a_risk_with_another_sign() -> None:
    risks = cal.survival(TIME, EVENT, {"a": RISK, "b": OTHER}, times=TIMES)
    times = cal.survival(TIME, EVENT, {"a": RISK}, predicted={"b": -OTHER}, times=TIMES)
    assert limits(times) == limits(risks)
    assert [e.measure for e in risks][:3] == ["C-index", "Uno-C@1.5", "integrated-AUC"]
    # Without a risk it is minus the mean time until the last of the times.
    points = np.array([0.0, *TIMES])
    mean = np.trapezoid(np.column_stack((np.ones(ROWS), SURVIVAL["b"])), points, axis=1)
    alone = cal.survival(TIME, EVENT, survival=by_time("b"), measures="C-index")
    assert limits(alone) == limits(cal.survival(TIME, EVENT, -mean, measures="C-index"))


def test_counts_clusters_and_slices() -> None:
    asked: dict[str, Any] = {"survival": {"a": "a_*"}, "measures": ["default", "D-calibration"]}
    counted = cal.survival("months", "died", count="n", data=TABLE, **asked)
    repeated = TABLE.take(np.repeat(np.arange(ROWS), TABLE["n"].to_numpy()))
    expected = cal.survival("months", "died", data=repeated, **asked)
    np.testing.assert_allclose(limits(counted), limits(expected), rtol=1e-9)
    thrice = TABLE.append_column("row", pa.array(np.arange(ROWS)))
    clustered = cal.survival(
        "months", "died", data=pa.concat_tables([thrice] * 3), cluster="row", **asked
    )
    single = cal.survival("months", "died", data=TABLE, **asked)
    found, expected_values = ([e.value for e in ev] for ev in (clustered, single))
    np.testing.assert_allclose(found, expected_values, rtol=1e-9)
    first, second = ([e.high - e.low for e in ev][:5] for ev in (clustered, single))
    np.testing.assert_allclose(first, second, rtol=0.1)
    half = np.arange(ROWS) % 2
    sliced: Any = cal.survival(TIME, EVENT, RISK, slices={"half": half}, measures="Uno-C")
    own = cal.survival(TIME[half == 0], EVENT[half == 0], RISK[half == 0], measures="Uno-C")
    assert sliced.slices[0].estimate.value == own["Uno-C"].value


def test_intervals_agree_with_the_bootstrap() -> None:
    asked: dict[str, Any] = {
        "survival": by_time("b"),
        "measures": ["default", "survival-AUC@0.7", "survival-Brier@0.7"],
    }
    usual = cal.survival(TIME, EVENT, **asked)
    drawn = cal.survival(TIME, EVENT, interval="bootstrap", **asked)
    ratio = [(a.high - a.low) / (b.high - b.low) for a, b in zip(usual, drawn, strict=True)]
    assert min(ratio) > 0.85
    assert max(ratio) < 1.2


def test_a_constant_prediction_is_that_of_kaplan_and_meier() -> None:
    found = cal.survival(TIME, EVENT, survival=by_time("a"), measures="survival-Brier@0.7")
    remaining = 1.0
    for at in np.unique(TIME[TIME <= 0.7]):
        remaining *= 1 - (EVENT & (at == TIME)).sum() / (at <= TIME).sum()
    constant = cal.survival(
        TIME, EVENT, survival={0.7: np.full(ROWS, remaining)}, measures="survival-Brier@0.7"
    )
    assert found["survival-Brier@0.7"].no_skill == pytest.approx(
        constant["survival-Brier@0.7"].value
    )


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({}, "takes risk=, predicted= or survival="),
        ({"risk": RISK[:3]}, "risk: has 3 rows"),
        ({"risk": RISK, "time": -TIME - 1}, "time: is .* expected times of 0 or more"),
        ({"risk": RISK, "event": EVENT * 2}, "event: is 2 .* expected 1 .event. or 0 .censored"),
        ({"risk": RISK, "measures": "survival-Brier@1"}, "needs survival="),
        ({"risk": RISK, "measures": "integrated-AUC"}, "needs times="),
        ({"risk": {"a": RISK}, "predicted": {"a": RISK}}, "has risk= and predicted="),
        ({"risk": RISK, "times": [2, 1]}, "expected times that ascend"),
        ({"risk": RISK, "times": [-1]}, "times: -1.0 is not a time"),
        ({"survival": SURVIVAL["a"]}, "has 3 columns, times= has 0 times"),
        ({"survival": RISK, "times": TIMES}, "expected a dict or a data frame"),
        ({"survival": {"x": SURVIVAL["a"][:, 0]}}, "'x' is not a time"),
        ({"survival": {1.0: RISK}}, "expected probabilities from 0 to 1"),
        ({"survival": by_time("a"), "measures": "OE-ratio@2"}, "needs survival= at 2"),
        (
            {"survival": {"a": by_time("a"), "b": {1.0: SURVIVAL["b"][:, 0]}}},
            "a has the times 0.3, 0.7, 1.5, b has 1",
        ),
    ],
)
def test_what_is_wrong_is_told(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(cal.InputError, match=message):
        cal.survival(**{"time": TIME, "event": EVENT, **arguments})


def test_what_nobody_was_observed_for_has_no_value() -> None:
    time, event = [1.0, 2.0, 3.0], [1, 0, 0]
    survival = {2.0: [0.1, 0.8, 0.9], 5.0: [0.1, 0.5, 0.6]}
    found = cal.survival(
        time, event, survival=survival,
        measures=["survival-Brier@2", "survival-Brier@5", "survival-AUC@5", "OE-ratio@5", "C-index"],
    )  # fmt: skip
    assert found["survival-Brier@2"].value == pytest.approx((0.1**2 + 2 * 0.1**2) / 3)
    assert found["survival-Brier@5"].undefined == {"not_followed": 3}
    assert found["survival-AUC@5"].undefined == {"no_row_after_time": 3}
    assert found["OE-ratio@5"].undefined == {"not_followed": 3}
    assert found["C-index"].value == 1.0
    assert found["C-index"].low < 1
    none = cal.survival(time, [0, 0, 0], [1.0, 2.0, 3.0])
    assert none["C-index"].undefined == {"no_comparable_pairs": 3}


def risk_of_group(rows: Any, time: float, weight: Any) -> tuple[float, ...]:
    """The mean prediction of rows, Kaplan and Meier's risk, and its limits with the error of log S
    by small changes of the weights."""

    def survived(w: Any) -> float:
        product = 1.0
        for t in np.unique(TIME[rows][EVENT[rows] & (TIME[rows] <= time)]):
            at_risk = w[TIME[rows] >= t].sum()
            product *= 1 - w[EVENT[rows] & (TIME[rows] == t)].sum() / at_risk
        return product

    w = weight[rows]
    value = survived(w)
    changes = []
    for k in range(len(rows)):
        step = 1e-5 * (np.arange(len(rows)) == k)
        changes.append(w[k] * (np.log(survived(w + step)) - np.log(survived(w - step))) / 2e-5)
    n = w.sum() ** 2 / (w**2).sum()
    hazard, se = -np.log(value), np.sqrt(n / (n - 1) * np.sum(np.square(changes)))
    half = stats.norm.ppf(0.975) * se / hazard
    ends = [1 - np.exp(-hazard * np.exp(x)) for x in (-half, half)]
    predicted = 1 - SURVIVAL["a"][rows, TIMES.index(time)]
    return (float(np.average(predicted, weights=w)), 1 - value, *ends)


@pytest.mark.parametrize("weighted", [False, True])
def test_observed_risk_of_groups(weighted: bool) -> None:
    generator = np.random.default_rng(3)
    weight = generator.uniform(0.5, 2, ROWS) if weighted else np.ones(ROWS)
    noise = generator.normal(0, 1e-9, ROWS)  # groups keep equal predictions together
    survival = {"a": np.clip(SURVIVAL["a"] + noise[:, None], 0, 1), "b": SURVIVAL["b"]}
    ev = cal.survival(
        TIME, EVENT, survival=survival, times=TIMES, weight=weight if weighted else None
    )
    assert [(c.system, c.series) for c in ev.curves] == [
        (name, series) for name in "ab" for series in ("0.3", "0.7", "1.5")
    ]
    curve = cal.curve(ev, "survival calibration", system="a", series="0.3")
    points = np.column_stack((curve.x, curve.y, curve.low, curve.high))
    order = np.argsort(-survival["a"][:, 0], kind="stable")
    group = np.ceil(np.cumsum(weight[order]) / weight.sum() * 10 - 1e-9).astype(int)
    groups = [order[group == k] for k in range(1, 11)]
    assert len(points) == 10
    n_compared = 0
    for point, rows in zip(points, groups, strict=True):
        if 0 < point[1] < 1:
            np.testing.assert_allclose(point, risk_of_group(rows, 0.3, weight), rtol=1e-5)
            n_compared += 1
    assert n_compared > 6
    if not weighted:
        of_scipy = [
            1 - stats.ecdf(stats.CensoredData.right_censored(TIME[k], ~EVENT[k])).sf.evaluate(0.3)
            for k in groups
        ]
        np.testing.assert_allclose(curve.y, of_scipy, atol=1e-12)


def test_observed_risk_without_events_and_beyond_the_last_time() -> None:
    time = np.repeat([1.0, 2.0, 3.0, 4.0], 10)
    event = np.concatenate([np.zeros(10), np.zeros(10), np.ones(10), np.ones(10)]).astype(bool)
    predicted = np.repeat([0.9, 0.8, 0.2, 0.1], 10)
    ev: Any = cal.survival(time, event, survival={3.5: predicted}, measures=["C-index"])
    [curve] = ev.curves
    # The rows that were lost have no risk; all of the third group had their event, none of the last.
    np.testing.assert_allclose(curve.x, [0.8, 0.9])
    np.testing.assert_allclose(curve.y, [1.0, 0.0])
    for k, (value, n) in enumerate([(1.0, 10), (0.0, 10)]):
        limits = wilson(value, n, 0.95)
        assert (curve.low[k], curve.high[k]) == pytest.approx((limits.low, limits.high))
    assert not len(cal.survival(TIME, EVENT, RISK).curves)
    assert not cal.survival(TIME, EVENT, survival=by_time("a"), curves=False).curves
    bare: Any = cal.survival(TIME, EVENT, survival=by_time("a"), interval="none")
    assert not len(bare.curves[0].low)


def test_the_page_shows_calibration_at_each_time() -> None:
    ev = cal.survival(TIME, EVENT, survival=SURVIVAL, times=list(TIMES), cluster=TABLE["user"])
    assert "Calibration of predicted risks" in ev.to_html()
    assert ev.curves[0].low[3] < ev.curves[0].y[3] < ev.curves[0].high[3]


def test_groups_that_are_not_followed_are_omitted_however_they_end() -> None:
    """A group whose last row has an event is not shown where one that ends censored is not."""
    time = [1.0, 2.0, 3.0] * 20
    event = [1, 1, 1, *[1, 1, 0] * 19]
    half = np.repeat([0.1, 0.9], 30)
    [curve] = cal.survival(time, event, survival={9.0: half}).curves
    assert len(curve.x) == 0
    for end in (2.5, 3.0):  # some rows are censored at 3, and have no event until then
        [curve] = cal.survival(time, event, survival={end: half}).curves
        assert len(curve.x) == 2
