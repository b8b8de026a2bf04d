"""Serial dependence: its detector and HAC standard error against formulas written out anew, and what
evaluations of rows in the order of time make of them."""

from __future__ import annotations

import itertools
import json
import math
from datetime import date, timedelta
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from scipy.signal import lfilter

import calipers as cal
from calipers.data.errors import InputError
from calipers.data.times import time_codes
from calipers.inference import serial
from calipers.inference.time_order import TimeOrder
from calipers.results import from_json


def autoregressive(sets: int, n: int, rho: float, seed: int) -> Any:
    """Series of variance 1 whose neighbours correlate by ρ."""
    noise = np.random.default_rng(seed).normal(size=(sets, n + 100))
    return lfilter([math.sqrt(1 - rho**2)], [1, -rho], noise, axis=1)[:, 100:]


def by_hand(x: Any) -> tuple[float, float, int]:
    """ρ, the standard error of the sum of a series, and its degrees of freedom, in loops."""
    n, mean = len(x), sum(x) / len(x)
    apart = [float(v) - mean for v in x]
    r = sum(a * b for a, b in zip(apart[1:], apart[:-1], strict=True)) / sum(a * a for a in apart)
    rho = min(max(r + (1 + 3 * r) / n, -0.5), 0.95)
    u = [b - rho * a for a, b in itertools.pairwise(apart)]
    m, middle = len(u), sum(u) / len(u)
    degrees = max(2, math.floor(0.4 * n ** (2 / 3)))
    squares = []
    for j in range(1, degrees + 1):
        cosines = (math.cos(math.pi * j * (t + 0.5) / m) for t in range(m))
        squares.append((math.sqrt(2 / m) * sum(c * (v - middle) for c, v in zip(cosines, u))) ** 2)  # noqa: B905
    variance = sum(squares) / degrees / (1 - rho) ** 2
    return rho, math.sqrt(n * variance), degrees


@pytest.mark.parametrize("n", [8, 50, 365])
def test_hac_error(n: int) -> None:
    x = autoregressive(1, n, 0.6, 1)[0]
    x = np.array([2.0, 1, 3, 2, -2, -1, -3, -2]) if n == 8 else x
    found, (rho, se, degrees) = serial.estimate_dependence(x), by_hand(x)
    assert (found.rho, found.error.se) == pytest.approx((rho, se), rel=1e-12)
    assert found.error.df == degrees
    assert found.effective_periods == pytest.approx(n * (1 - rho) / (1 + rho))


def test_eight_numbers_on_paper() -> None:
    """r₁ = 21/36, as the products of neighbours are 2 + 3 + 6 − 4 + 2 + 3 + 6 and 2 more."""
    x = np.array([2.0, 1, 3, 2, -2, -1, -3, -2])
    r = (2 + 3 + 6 - 4 + 2 + 3 + 6) / 36
    assert serial.autocorrelations(x, 1)[0] == pytest.approx(r)
    assert serial.estimate_dependence(x).rho == pytest.approx(r + (1 + 3 * r) / 8)
    assert serial.dependence_statistics(x)[0] == pytest.approx((r + 1 / 8) * math.sqrt(8))


def test_detector() -> None:
    sets = autoregressive(1000, 100, 0.0, 2)
    false = np.mean([serial.is_dependent(x) for x in sets])
    assert 0.04 < false < 0.10  # 5% and 2.5%, partly the same
    p = np.array([serial.dependence_p_value(x) for x in sets])
    assert np.mean(p <= 0.05) < 0.065  # its error is 0.007
    assert np.mean([serial.is_dependent(x) for x in autoregressive(200, 100, 0.6, 3)]) > 0.99
    assert not serial.is_dependent(np.ones(50))
    assert not serial.is_dependent(np.arange(8.0))


def test_coverage() -> None:
    """Of the mean of AR(1) series with ρ = 0.6, 200 numbers each."""
    hits = plain = 0
    for x in autoregressive(500, 200, 0.6, 4):
        error = serial.estimate_dependence((x - x.mean()) / len(x)).error
        hits += abs(x.mean()) <= stats.t.ppf(0.975, error.df) * error.se
        plain += abs(x.mean()) <= stats.t.ppf(0.975, 199) * x.std(ddof=1) / math.sqrt(200)
    assert 0.92 < hits / 500 < 0.98
    assert plain / 500 < 0.8


N = 300
TIME = np.arange(N)
GENERATOR = np.random.default_rng(5)
Y = GENERATOR.normal(size=N)
ERRORS = autoregressive(2, N, 0.7, 6)
SYSTEMS = {"a": Y + ERRORS[0], "b": Y + 1.2 * ERRORS[1]}
INDEPENDENT = {name: Y + GENERATOR.normal(size=N) for name in ("a", "b")}
MEASURES = ["MAE", "RMSE", "MSE", "R2", "Spearman"]


def numbers(of: Any) -> list[float]:
    """Limits and p-values."""
    found = [x for e in of.estimates for x in (e.value, e.low, e.high)]
    rows = () if of.comparison is None else of.comparison
    return found + [x for d in rows for x in (d.low, d.high, d.p, d.p_adjusted, d.standard_error)]


def test_interval_and_test_are_those_of_the_hac_error() -> None:
    evaluation = cal.regression(Y, SYSTEMS, time=TIME, measures=["MAE"])
    losses = {name: np.abs(x - Y) for name, x in SYSTEMS.items()}
    apart = losses["b"] - losses["a"]
    _, se, degrees = by_hand(apart / N)
    difference, t = evaluation.comparison["MAE"], stats.t(degrees)
    assert difference.test == "HAC, paired"
    assert difference.method == "HAC, serially dependent"
    assert difference.standard_error == pytest.approx(se)
    assert difference.p == pytest.approx(2 * t.sf(abs(apart.mean()) / se))
    reach = t.ppf(0.975) * se
    assert (difference.low, difference.high) == pytest.approx(
        (apart.mean() - reach, apart.mean() + reach)
    )
    _, se, degrees = by_hand(losses["a"] / N)
    value, reach = losses["a"].mean(), stats.t.ppf(0.975, degrees) * se
    estimate = evaluation["a", "MAE"]
    assert estimate.low == pytest.approx(value - reach)
    assert estimate.high == pytest.approx(value * math.exp(reach / value))


def test_margin_interval_and_test_agree() -> None:
    evaluation = cal.regression(Y, SYSTEMS, time=TIME, measures=["MSE"])
    for margin in (0.2, 0.5, 0.9, 1.3):
        difference = evaluation.compare(baseline="a", margin=margin, level=0.9)["MSE"]
        within = -margin < difference.low and difference.high < margin
        assert within == (difference.p_equivalence < 0.05)
        assert (difference.high < margin) == (difference.p_noninferiority < 0.05)
    for margin in (difference.low, difference.high):
        inside = evaluation.compare(baseline="a", margin=abs(margin), level=0.9)["MSE"]
        p = inside.p_equivalence if margin > 0 else inside.p_noninferiority
        assert 0 <= p <= 1
    shares = {"a": SYSTEMS["a"] > 0, "b": SYSTEMS["b"] > 0}
    made = cal.classification(Y > 0, shares, time=TIME, measures=["accuracy", "F1"])
    for row in (*made.compare(baseline="a", adjust="none"), *evaluation.comparison):
        assert (row.low <= 0 <= row.high) == (row.p > 0.05)


def test_rows_in_any_order() -> None:
    shuffled = np.random.default_rng(7).permutation(N)
    first = cal.regression(Y, SYSTEMS, time=TIME, measures=MEASURES)
    other = {name: x[shuffled] for name, x in SYSTEMS.items()}
    second = cal.regression(Y[shuffled], other, time=TIME[shuffled], measures=MEASURES)
    assert numbers(first) == pytest.approx(numbers(second), rel=1e-9)
    assert [d.test for d in first.comparison] == [d.test for d in second.comparison]
    assert any("serially dependent in" in note for note in first.notes)


def test_nothing_changes_where_nothing_is_found() -> None:
    plain = cal.regression(Y, INDEPENDENT, measures=MEASURES)
    timed = cal.regression(Y, INDEPENDENT, time=TIME, measures=MEASURES)
    assert numbers(plain) == numbers(timed)
    assert [e.method for e in plain.estimates] == [e.method for e in timed.estimates]
    assert timed.provenance["conventions"]["times"] == N
    assert "time" not in json.dumps(plain.notes)


def test_utc_times_of_different_precision() -> None:
    clock = [
        "10:30:30Z",
        "10:30Z",
        "10:30:00.5Z",
        "10:30:00Z",
        "10:30:00.50Z",
        "10:30:00.500000001Z",
    ]
    codes, n_times = time_codes([f"2024-01-31T{time}" for time in clock])
    assert codes.tolist() == [3, 0, 1, 0, 1, 2]
    assert n_times == 4
    with pytest.raises(cal.InputError, match="without a zone as others have it"):
        time_codes(["2024-01-31T10:30:00Z", "2024-01-31T10:30:00"])


@pytest.mark.parametrize(
    "times",
    [
        [date(2024, 1, 1) + timedelta(days=i) for i in range(N)],
        [str(date(2024, 1, 1) + timedelta(days=i)) for i in range(N)],
        pd.date_range("2024-01-01", periods=N, freq="h"),
        np.arange(N) * 0.5,
        np.datetime64("2024-01-01") + np.arange(N),
        [f"2024-01-01T00:{i // 60:02}:{i % 60:02}+01:00" for i in range(N)],
    ],
    ids=["dates", "texts", "pandas", "floats", "NumPy", "zones"],
)
def test_kinds_of_times(times: Any) -> None:
    assert time_codes(times)[0].tolist() == list(range(N))
    evaluation = cal.regression(Y, SYSTEMS["a"], time=times, measures=["MAE"])
    first = cal.regression(Y, SYSTEMS["a"], time=TIME, measures=["MAE"])
    assert numbers(evaluation) == numbers(first)


@pytest.mark.parametrize(
    ("times", "said"),
    [
        ([1.0, float("nan"), *range(N - 2)], "time: 1 of 300 values are missing|row 1"),
        ([None, *range(N - 1)], "time: 1 of 300 values are missing, the first in row 0"),
        (["9/11/2024"] * N, r"time: is '9/11/2024' in row 0 .and 299 more.*ISO 8601"),
        (["2024-01-01"] * (N - 1) + ["20240102"], "time: .*another form"),
        (TIME[:-1], "time: has 299 rows|time.*299"),
    ],
)
def test_times_that_are_none(times: Any, said: str) -> None:
    with pytest.raises(InputError, match=said):
        cal.regression(Y, SYSTEMS["a"], time=times)


def test_rows_of_one_time_are_added_up() -> None:
    """What the rows of one time share makes them one: 30 rows a day over 40 days."""
    days, rows = 40, 30
    shared = autoregressive(1, days, 0.5, 8)[0]
    noise = np.random.default_rng(9).normal(size=(days, rows))
    error = (np.abs(shared[:, None] + 0.3 * noise)).ravel()
    time = np.repeat(np.arange(days), rows)
    made = cal.regression(np.zeros(days * rows), error, time=time, measures=["MAE"])["MAE"]
    sums = np.bincount(time, error - error.mean()) / len(error)
    _, se, _ = by_hand(sums)
    assert made.standard_error == pytest.approx(se)
    assert made.method.startswith("HAC")
    independent = np.random.default_rng(10).normal(size=(400, 60))
    order = TimeOrder(np.repeat(np.arange(20), 3), 20)
    assert (
        0.02 < np.mean([serial.has_simultaneous_dependence(order, x) for x in independent]) < 0.09
    )


def test_panels_keep_what_clusters_say() -> None:
    """Series of their own: the error by cluster holds, and the HAC error of all where it is wider."""
    series = np.repeat(np.arange(20), 15)
    time = np.tile(np.arange(15), 20)
    by_series = cal.regression(Y, SYSTEMS["a"], cluster=series, measures=["MAE"])["MAE"]
    both = cal.regression(Y, SYSTEMS["a"], cluster=series, time=time, measures=["MAE"])["MAE"]
    assert both.low <= by_series.low
    assert both.high >= by_series.high


def test_methods_by_name_stay_and_say_so() -> None:
    made = cal.regression(Y, SYSTEMS["a"], time=TIME, measures=["MAE"], interval="t")["MAE"]
    plain = cal.regression(Y, SYSTEMS["a"], measures=["MAE"], interval="t")["MAE"]
    assert (made.low, made.high) == (plain.low, plain.high)
    assert made.method == f"{plain.method}, but rows are taken as independent"


def test_cautions_of_the_usual_interval_stay() -> None:
    late = autoregressive(1, N, 0.9, 10)[0]
    score = (Y > 0) + np.where(Y > 0, late, -late)
    options = {"score": score, "threshold": "youden", "measures": ["accuracy"]}
    plain = cal.classification(Y > 0, **options)["accuracy"].method
    made = cal.classification(Y > 0, time=TIME, **options)["accuracy"].method
    assert plain.endswith(", but the threshold was chosen on these rows")
    assert made == "HAC, serially dependent, but the threshold was chosen on these rows"


def test_few_effective_rows_are_said() -> None:
    made = cal.regression(Y[:40], SYSTEMS["a"][:40], time=TIME[:40], measures=["mean-error"])[
        "mean-error"
    ]
    assert ", but rows count as " in made.method


def test_measures_without_influence_say_so() -> None:
    p = 1 / (1 + np.exp(-SYSTEMS["a"]))
    evaluation = cal.classification(Y > 0, probability=p, time=TIME, measures=["AUC", "ECE"])
    assert "but serial dependence is not allowed for" in evaluation["ECE"].method
    assert any("of ECE take rows as independent" in note for note in evaluation.notes)


@pytest.mark.slow
def test_medians() -> None:
    """By whether rows lie above the median, and the density that Woodruff's interval tells."""
    errors = autoregressive(400, 200, 0.8, 11)
    truth, time = float(stats.norm.ppf(0.75)), np.arange(200)
    held = {}
    for name, options in (("plain", {}), ("timed", {"time": time})):
        made = [
            cal.regression(np.zeros(200), x, measures=["MedAE"], curves=False, **options)["MedAE"]
            for x in errors[:120]
        ]
        held[name] = np.mean([e.low <= truth <= e.high for e in made])
    assert held["plain"] < 0.8
    assert held["timed"] > 0.88
    both = cal.regression(
        Y, {"a": Y + 2 * ERRORS[0], "b": Y + ERRORS[1]}, time=TIME, measures=["MedAE"]
    )
    assert both.comparison["MedAE"].test in ("HAC, paired", "paired bootstrap")
    assert all("not allowed for" not in e.method for e in both.estimates)


def test_classes_scores_outputs_and_quantiles() -> None:
    late = autoregressive(1, N, 0.9, 10)[0]
    truth = Y > 0
    flipped = truth ^ (late > 1)
    score = truth + np.where(truth, late, -late)
    made = cal.classification(truth, score={"a": score, "b": Y}, time=TIME, measures=["AUC"])
    assert made["a", "AUC"].method.startswith("HAC")
    assert made.comparison["AUC"].test == "HAC, paired"
    made = cal.classification(truth, {"a": flipped}, time=TIME, measures=["accuracy", "F1"])
    assert all("HAC" in e.method for e in made.estimates)
    classes = np.digitize(Y, [-0.5, 0.5])
    called = np.where(late > 1, (classes + 1) % 3, classes)
    made = cal.classification(
        classes, called, time=TIME, measures=["accuracy", "macro-F1", "F1[0]"]
    )
    assert all("HAC" in e.method for e in made.estimates), [e.method for e in made.estimates]
    two = np.column_stack([Y, Y])
    said = np.column_stack([Y + late, Y + 2 * late])
    made = cal.regression(two, said, time=TIME, measures=["macro-MAE", "MAE[0]"])
    assert all("HAC" in e.method for e in made.estimates)
    quantiles = {0.05: Y + late - 1, 0.95: Y + late + 1}
    made = cal.regression(Y, quantiles=quantiles, time=TIME, measures=["interval-score@0.9"])
    assert "HAC" in made["interval-score@0.9"].method


def test_slices_are_in_order_too() -> None:
    half = np.where(TIME < N // 2, "first", "second")
    measures = ["MSE"]
    made = cal.regression(Y, SYSTEMS["a"], time=TIME, slices={"half": half}, measures=measures)
    first = made.slices.all[0]
    alone = cal.regression(
        Y[: N // 2], SYSTEMS["a"][: N // 2], time=TIME[: N // 2], measures=measures
    )
    assert (first.estimate.low, first.estimate.high) == pytest.approx(
        (alone["MSE"].low, alone["MSE"].high)
    )
    losses = np.square(SYSTEMS["a"] - Y)
    moved = np.where(half == "first", losses - losses[: N // 2].mean(), 0) / (N / 2)
    moved -= np.where(half == "second", losses - losses[N // 2 :].mean(), 0) / (N / 2)
    _, se, degrees = by_hand(moved)
    apart = losses[: N // 2].mean() - losses[N // 2 :].mean()
    assert first.vs_rest.test == "HAC, paired"
    assert first.vs_rest.p == pytest.approx(2 * stats.t.sf(abs(apart) / se, degrees))


def test_streams_say_why_not() -> None:
    table = pd.DataFrame({"y": Y, "p": SYSTEMS["a"], "t": TIME})
    with pytest.raises(InputError, match="time= takes all rows in memory"):
        cal.regression("y", "p", time="t", data=table, engine="stream")
    by_name = cal.regression("y", "p", time="t", data=table, measures=["MAE"])
    assert "HAC" in by_name["MAE"].method
    with pytest.raises(InputError, match="time= requires rows in order of time"):
        cal.classification(confusion=[[3, 1], [2, 4]], labels=["a", "b"], time=["1", "2"])


def test_through_json() -> None:
    evaluation = cal.regression(Y, SYSTEMS, time=TIME, measures=["MAE"])
    again = from_json(evaluation.to_json())
    assert numbers(again) == numbers(evaluation)
    assert again.notes == evaluation.notes
    assert again.comparison["MAE"].test == "HAC, paired"
