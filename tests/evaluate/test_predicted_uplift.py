"""Uplift: columns, propensities, counts, clusters, curves and messages of the verb."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from click.testing import CliRunner
from pyarrow import csv

import calipers as cal
from calipers.cli.group import cli

N = 300
RANDOM = np.random.default_rng(2)
NEED = RANDOM.normal(size=N)
TREATED = RANDOM.integers(0, 2, N)
OUTCOME = (RANDOM.random(N) < 0.3 + 0.3 * TREATED * (NEED > 0)).astype(int)
SCORES = {"fine": np.round(NEED + 0.5 * RANDOM.normal(size=N), 1), "rough": RANDOM.normal(size=N)}
MEASURES = ["Qini", "Qini-area", "AUUC", "normalized-AUUC", "uplift@0.3", "uplift@1"]


def limits(evaluation: Any) -> Any:
    return np.array([[e.value, e.low, e.high] for e in evaluation])


def test_the_average_effect_has_the_interval_of_two_means() -> None:
    """Of amounts the jackknife is Welch's error, for n/(n − 1)."""
    amounts = OUTCOME * RANDOM.lognormal(size=N)
    estimate = cal.uplift(TREATED, amounts, SCORES["fine"], measures=["uplift@1"])["uplift@1"]
    arms = [amounts[arm == TREATED] for arm in (1, 0)]
    assert estimate.value == pytest.approx(arms[0].mean() - arms[1].mean())
    n = min(map(len, arms))
    from scipy import stats

    se = np.sqrt(sum(a.var(ddof=1) / (len(a) - 1) for a in arms) * (N - 1) / N)
    half = stats.t.ppf(0.975, n - 1) * se
    assert (estimate.high - estimate.low) / 2 == pytest.approx(half)


def test_counts_are_rows() -> None:
    counts = RANDOM.integers(0, 4, N)
    columns = [np.repeat(c, counts) for c in (TREATED, OUTCOME, SCORES["fine"])]
    repeated = cal.uplift(*columns, measures=MEASURES)
    counted = cal.uplift(TREATED, OUTCOME, SCORES["fine"], count=counts, measures=MEASURES)
    np.testing.assert_allclose(limits(counted), limits(repeated), rtol=1e-9)


def test_propensities_are_weights_of_the_arms() -> None:
    propensity = RANDOM.uniform(0.2, 0.8, N)
    weight = np.where(TREATED == 1, 1 / propensity, 1 / (1 - propensity))
    columns = TREATED, OUTCOME, SCORES["fine"]
    clusters = np.arange(N) // 3
    each: tuple[dict[str, Any], ...] = ({}, {"cluster": clusters})
    for options in each:
        by_propensity = cal.uplift(*columns, propensity=propensity, measures=MEASURES, **options)
        by_weight = cal.uplift(*columns, weight=weight, measures=MEASURES, **options)
        np.testing.assert_allclose(limits(by_propensity), limits(by_weight), rtol=1e-9)
    both = cal.uplift(*columns, propensity=propensity, weight=1 / weight, measures=["uplift@1"])
    arms = [OUTCOME[arm == TREATED].mean() for arm in (1, 0)]
    assert both["uplift@1"].value == pytest.approx(arms[0] - arms[1])


def test_equal_weights_and_a_common_propensity_change_no_mean() -> None:
    columns = TREATED, OUTCOME, SCORES["fine"]
    plain = cal.uplift(*columns, measures=["uplift@1"])
    common = cal.uplift(*columns, propensity=np.full(N, 0.1), measures=["uplift@1"])
    np.testing.assert_allclose(common["uplift@1"].value, plain["uplift@1"].value)


def test_a_difference_is_that_of_the_values_and_of_their_changes() -> None:
    ev: Any = cal.uplift(TREATED, OUTCOME, SCORES, measures=["Qini", "AUUC"])
    for difference in ev.comparison:
        values = [ev[name, difference.measure].value for name in ("fine", "rough")]
        assert difference.value == pytest.approx(values[1] - values[0])
        assert difference.low < difference.value < difference.high
    alike: Any = cal.uplift(
        TREATED, OUTCOME, {"a": SCORES["fine"], "b": 2 * SCORES["fine"] - 5}, measures=["Qini"]
    )
    assert alike.comparison["Qini"].value == 0
    assert alike["a", "Qini"].no_skill == 0


def test_batches_have_the_values_of_memory(tmp_path: Path) -> None:
    table = pa.table(
        {"t": TREATED, "y": OUTCOME, **SCORES, "p": RANDOM.uniform(0.3, 0.7, N), "c": NEED > 0}
    )
    csv.write_csv(table, tmp_path / "rows.csv")
    options: dict[str, Any]
    for options in ({}, {"propensity": "p"}, {"propensity": "p", "slices": ["c"]}):
        memory, stream = (
            cal.uplift(
                "t", "y", list(SCORES), data=tmp_path / "rows.csv", measures=MEASURES,
                engine=engine, **options,
            )
            for engine in ("memory", "stream")
        )  # fmt: skip
        np.testing.assert_allclose(limits(stream), limits(memory), rtol=1e-9)
        no_skill = [e.no_skill for e in memory]
        assert [e.no_skill for e in stream] == pytest.approx(no_skill)
        np.testing.assert_allclose(limits(stream.comparison), limits(memory.comparison), rtol=1e-9)
        assert [c.kind for c in stream.curves] == [c.kind for c in memory.curves]


def test_curves_end_at_the_average_effect_within_their_bands() -> None:
    ev = cal.uplift(TREATED, OUTCOME, SCORES)
    effect = OUTCOME[TREATED == 1].mean() - OUTCOME[TREATED == 0].mean()
    curve: Any
    for kind in ("uplift", "Qini"):
        curve = cal.curve(ev, kind, "fine")
        assert (curve.x[0], curve.y[0], curve.x[-1]) == (0, 0, 1)
        assert curve.y[-1] == pytest.approx(effect)
        heights = np.interp(curve.band_x, curve.x, curve.y)
        np.testing.assert_allclose((curve.low + curve.high) / 2, heights, atol=1e-12)
        assert (curve.simultaneous_high - curve.simultaneous_low > curve.high - curve.low).all()
    curve = cal.curve(ev, "uplift", "fine")
    assert np.trapezoid(curve.y, curve.x) == pytest.approx(ev["fine", "AUUC"].value)
    without = cal.uplift(TREATED, OUTCOME, SCORES, interval="none")
    curve = cal.curve(without, "uplift", "fine")
    assert not len(curve.low)


@pytest.mark.slow
def test_the_simultaneous_band_holds_the_whole_curve() -> None:
    """Of an effect that is that of x > 0, where scores are x: the gain is (p − ½·[p > ½]…)."""
    random, held = np.random.default_rng(8), 0
    for _ in range(300):
        x, treated = random.normal(size=400), random.integers(0, 2, 400)
        outcome = random.random(400) < 0.3 + 0.3 * treated * (x > 0)
        curve: Any = cal.curve(cal.uplift(treated, outcome, x, measures=["AUUC"]), "uplift")
        gain = 0.3 * np.minimum(curve.band_x, 0.5)
        held += bool(((curve.simultaneous_low <= gain) & (gain <= curve.simultaneous_high)).all())
    assert held / 300 > 0.92


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"treatment": np.arange(N)}, "treatment: is 2 in row 2.*expected 0 or 1"),
        ({"treatment": TREATED[1:]}, "treatment: has 299 rows, outcome has 300"),
        ({"outcome": ["yes"] * N}, "outcome"),
        ({"score": np.full(N, np.nan)}, "score"),
        ({"propensity": np.zeros(N)}, "propensity: is 0 in row 0.*a probability"),
        ({"propensity": 0.5}, "propensity"),
    ],
)
def test_what_is_told_of_wrong_columns(changed: dict[str, Any], message: str) -> None:
    columns = {"treatment": TREATED, "outcome": OUTCOME, "score": SCORES["fine"]}
    with pytest.raises(cal.InputError, match=message):
        cal.uplift(**{**columns, **changed})


def test_the_command(tmp_path: Path) -> None:
    path = tmp_path / "rows.csv"
    csv.write_csv(pa.table({"t": TREATED, "y": OUTCOME, **SCORES}), path)
    line = [
        *("uplift", str(path), "--treatment", "t", "--outcome", "y"),
        *("--score", "fine", "--score", "rough", "--report", str(tmp_path / "page.html")),
    ]
    result = CliRunner().invoke(cli, line)
    assert result.exit_code == 0, result.output
    assert "Qini" in result.output
    assert "Uplift curve" in (tmp_path / "page.html").read_text(encoding="utf-8")
    missing = CliRunner().invoke(cli, ["uplift", str(path), "--treatment", "t", "--score", "fine"])
    assert missing.exit_code == 2
    assert "--outcome" in missing.output


def test_a_system_of_an_earlier_evaluation() -> None:
    earlier = cal.keep_predictions(cal.uplift(TREATED, OUTCOME, {"old": SCORES["rough"]}))
    new = cal.uplift(TREATED, OUTCOME, {"new": SCORES["fine"]}, baseline=earlier)
    together = cal.uplift(
        TREATED, OUTCOME, {"new": SCORES["fine"], "old": SCORES["rough"]}, baseline="old"
    )
    np.testing.assert_allclose(limits(new.comparison), limits(together.comparison))
    with pytest.raises(cal.InputError, match="truth"):
        cal.uplift(1 - TREATED, OUTCOME, {"new": SCORES["fine"]}, baseline=earlier)
