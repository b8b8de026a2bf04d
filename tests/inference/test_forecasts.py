"""The test of Diebold and Mariano against the formula of R's forecast::dm.test, written out anew."""

from __future__ import annotations

import io
import math
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import stats

import calipers as cal
from calipers.cli import main
from calipers.data.errors import InputError

N = 60
RANDOM = np.random.default_rng(21)
NOISE = RANDOM.normal(size=(N + 3, 2))
ERRORS = NOISE[3:] + 0.8 * NOISE[2:-1] + 0.5 * NOISE[1:-2]  # as of forecasts three steps ahead
Y = RANDOM.normal(size=N)
SYSTEMS = {"a": Y + ERRORS[:, 0], "b": Y + 1.3 * ERRORS[:, 1]}


def dm_test(first: Any, second: Any, h: int, power: int, *, bartlett: bool = False) -> Any:
    """Statistic and p-value, as R's forecast::dm.test(e1, e2, h, power) has them."""
    d = np.abs(first) ** power - np.abs(second) ** power
    n, mean = len(d), d.mean()
    covariances = [
        sum((d[t] - mean) * (d[t - k] - mean) for t in range(k, n)) / n for k in range(h)
    ]
    weights = [1] + [2 * (1 - k / h if bartlett else 1) for k in range(1, h)]
    variance = sum(w * c for w, c in zip(weights, covariances, strict=True)) / n
    corrected = math.sqrt((n + 1 - 2 * h + (h / n) * (h - 1)) / n)
    statistic = mean / math.sqrt(variance) * corrected
    return statistic, 2 * stats.t.sf(abs(statistic), n - 1), mean / statistic


@pytest.mark.parametrize(("measure", "power"), [("MAE", 1), ("MSE", 2)])
@pytest.mark.parametrize("horizon", [1, 2, 3, 5])
def test_as_in_r(measure: str, power: int, horizon: int) -> None:
    shuffled = RANDOM.permutation(N)
    said = {name: x[shuffled] for name, x in SYSTEMS.items()}
    ev = cal.regression(Y[shuffled], said, time=np.arange(N)[shuffled], measures=[measure])
    d = ev.compare(baseline="a", test="diebold-mariano", horizon=horizon)[measure]
    _, p, se = dm_test(1.3 * ERRORS[:, 1], ERRORS[:, 0], horizon, power)
    assert (d.p, d.standard_error) == pytest.approx((p, abs(se)))
    assert d.test == d.method == f"Diebold-Mariano, HLN, h = {horizon}"
    reach = stats.t.ppf(0.975, N - 1) * abs(se)
    assert (d.low, d.high) == pytest.approx((d.value - reach, d.value + reach))
    if horizon == 1:
        losses = [np.abs(f * ERRORS[:, j]) ** power for j, f in ((1, 1.3), (0, 1))]
        assert d.p == pytest.approx(stats.ttest_rel(*losses).pvalue)


def test_a_variance_that_is_not_above_zero() -> None:
    """Differences that turn at every step have γ₀ + 2γ₁ < 0."""
    d = np.where(np.arange(20) % 2, 1.0, -0.9) + np.linspace(0, 0.1, 20)
    first, second = 3 + d, np.full(20, 3.0)
    ev = cal.regression(
        np.zeros(20), {"a": second, "b": first}, time=np.arange(20), measures=["MAE"]
    )
    found = ev.compare(baseline="a", test="diebold-mariano", horizon=2)["MAE"]
    assert found.test == "Diebold-Mariano, HLN, h = 2, Bartlett"
    assert found.p == pytest.approx(dm_test(first, second, 2, 1, bartlett=True)[1])


def test_where_it_does_not_apply() -> None:
    ev = cal.regression(Y, SYSTEMS, measures=["MAE"])
    one = ev.compare(test="diebold-mariano")["MAE"]
    assert one.p == pytest.approx(ev.compare(test="t")["MAE"].p)
    with pytest.raises(InputError, match="in the order of time="):
        ev.compare(test="diebold-mariano", horizon=2)
    with pytest.raises(InputError, match="horizon= goes with test='diebold-mariano'"):
        ev.compare(test="t", horizon=2)
    with pytest.raises(InputError, match="horizon is 0"):
        ev.compare(test="diebold-mariano", horizon=0)
    twice = cal.regression(Y, SYSTEMS, time=np.arange(N) // 2, measures=["MAE"])
    with pytest.raises(InputError, match="one row a time"):
        twice.compare(test="diebold-mariano", horizon=2)
    timed = cal.regression(Y, SYSTEMS, time=np.arange(N), measures=["MAE", "R2"])
    found = timed.compare(test="diebold-mariano", horizon=3)
    assert found["R2"].test == "none"
    assert found["MAE"].p < 1


def test_by_the_command(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    table = pd.DataFrame({"y": Y, **SYSTEMS, "day": np.arange(N)})
    table.sample(frac=1, random_state=1).to_csv(tmp_path / "t.csv", index=False)
    command = ["compare", "regression", str(tmp_path / "t.csv"), "--truth", "y", "--time", "day"]
    command += ["--predicted", "a", "--predicted", "b", "-m", "MSE", "--baseline", "a"]
    asked = [*command, "--test", "diebold-mariano", "--horizon", "3", "--format", "csv"]
    monkeypatch.setattr(sys, "argv", ["calipers", *asked])
    with pytest.raises(SystemExit) as done:
        main()
    out, err = capsys.readouterr()
    assert not done.value.code, err
    row = pd.read_csv(io.StringIO(out)).iloc[0]
    _, p, _ = dm_test(1.3 * ERRORS[:, 1], ERRORS[:, 0], 3, 2)
    assert float(row["p"]) == pytest.approx(p, rel=1e-3)


def test_equal_differences_say_nothing_of_their_spread() -> None:
    """As of the paired t test, which it is at h = 1."""
    values = {"a": [1.0, 2.0, 3.0, 4.0], "b": [3.0, 4.0, 5.0, 6.0]}
    ev = cal.from_values(values, measure="MAE", interval="none")
    for test in ("t", "diebold-mariano"):
        [d] = ev.compare(test=test, interval="none")
        assert (d.value, d.test, math.isnan(d.p)) == (2.0, "none", True)
