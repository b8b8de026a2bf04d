"""Forecasts of several series, each relative to the naive forecast on its training series."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from click.testing import CliRunner
from pyarrow import csv, parquet

import calipers as cal
from calipers.cli.group import cli

RANDOM = np.random.default_rng(8)
#: Names that are numbers with zeros in front, which CSV must not lose.
NAMES = [f"0{i}" for i in range(8)]
STEPS, HORIZON, SEASON = 40, 12, 4
TRAINING = {
    name: (k + 1) * RANDOM.normal(size=STEPS).cumsum() + 5 * np.sin(np.arange(STEPS))
    for k, name in enumerate(NAMES)
}
SERIES = np.repeat(NAMES, HORIZON)
TRUTH = RANDOM.normal(size=len(SERIES)).cumsum() + 3
SYSTEMS = {
    name: TRUTH + size * RANDOM.normal(size=len(SERIES)) for name, size in (("a", 1.0), ("b", 1.4))
}
TABLE = pa.table({
    "store": SERIES,
    "sales": TRUTH,
    **SYSTEMS,
    "step": np.tile(np.arange(HORIZON), len(NAMES)) // 4,
    "n": RANDOM.integers(0, 3, len(SERIES)),
    "w": RANDOM.integers(1, 4, len(SERIES)).astype(float),
})  # fmt: skip
LONG = pa.table({
    "sales": np.concatenate([TRAINING[name] for name in NAMES]),
    "store": np.repeat(NAMES, STEPS),
})  # fmt: skip
MEASURES = ["MASE", "RMSSE", "WAPE", "MAE"]
ASKED: dict[str, Any] = {
    "truth": "sales", "predicted": ["a", "b"], "series": "store", "season": SEASON,
    "measures": MEASURES,
}  # fmt: skip


def by_hand(predicted: Any, which: Any = slice(None), weight: Any = None) -> list[float]:
    """Row by row, from the training series of its name."""
    absolute, squared, errors, truths, mae = [], [], [], [], []
    for name, y, p in zip(SERIES[which], TRUTH[which], predicted[which], strict=True):
        past = TRAINING[name]
        naive = [past[t] - past[t - SEASON] for t in range(SEASON, STEPS)]
        absolute.append(abs(p - y) / np.mean(np.abs(naive)))
        squared.append((p - y) ** 2 / np.mean(np.square(naive)))
        errors.append(abs(p - y))
        truths.append(abs(y))
    mean = [
        float(np.average(column, weights=weight)) for column in (absolute, squared, errors, truths)
    ]
    mae = mean[2]
    return [mean[0], float(np.sqrt(mean[1])), mae / mean[3], mae]


def numbers(evaluation: Any) -> Any:
    return np.array([[e.value, e.low, e.high] for e in evaluation])


def test_values_are_those_of_rows_by_hand() -> None:
    arrays = cal.regression(
        TRUTH, SYSTEMS, series=SERIES, training=TRAINING, season=SEASON, measures=MEASURES
    )
    for name, predicted in SYSTEMS.items():
        assert [arrays[name, m].value for m in MEASURES] == pytest.approx(by_hand(predicted))
    assert arrays.provenance["conventions"]["season"] == SEASON
    weighted = cal.regression(data=TABLE, training=LONG, weight="w", **ASKED)
    assert [weighted["a", m].value for m in MEASURES] == pytest.approx(
        by_hand(SYSTEMS["a"], weight=TABLE["w"].to_numpy())
    )
    sliced = cal.regression(data=TABLE, training=LONG, slices=["step"], **ASKED)
    found = {
        (s.slice, s.estimate.system, s.estimate.measure): s.estimate.value for s in sliced.slices
    }
    first = TABLE["step"].to_numpy() == 0
    assert [found["0", "b", m] for m in MEASURES] == pytest.approx(by_hand(SYSTEMS["b"], first))


def test_the_best_constant_weighs_rows_by_their_series() -> None:
    found = cal.regression(data=TABLE, training=LONG, **ASKED)
    mae, mse = (
        np.array([np.mean(of(TRAINING[n][SEASON:] - TRAINING[n][:-SEASON])) for n in SERIES])
        for of in (np.abs, np.square)
    )
    constants = np.linspace(TRUTH.min(), TRUTH.max(), 20001)
    least = min(np.mean(np.abs(c - TRUTH) / mae) for c in TRUTH)
    assert found["a", "MASE"].no_skill == pytest.approx(least)
    least = min(np.mean(np.square(c - TRUTH) / mse) for c in constants[::20])
    assert found["a", "RMSSE"].no_skill == pytest.approx(np.sqrt(least), rel=1e-5)
    least = min(np.abs(c - TRUTH).sum() for c in TRUTH) / np.abs(TRUTH).sum()
    assert found["a", "WAPE"].no_skill == pytest.approx(least)


def test_rows_of_a_series_are_a_cluster_unless_the_dependence_is_stated() -> None:
    found = cal.regression(data=TABLE, training=LONG, **ASKED)
    clustered = cal.regression(data=TABLE, training=LONG, cluster="store", **ASKED)
    np.testing.assert_array_equal(numbers(found), numbers(clustered))
    assert any("the clusters are the series" in note for note in found.notes)
    assert not any("the clusters are the series" in note for note in clustered.notes)
    timed = cal.regression(data=TABLE, training=LONG, time=np.arange(len(SERIES)), **ASKED)
    assert "clusters" not in timed["a", "MASE"].method


@pytest.mark.parametrize("how", [{}, {"weight": "w"}, {"count": "n"}, {"slices": ["step"]}])
def test_tables_and_batches_are_the_same(how: dict[str, Any], tmp_path: Path) -> None:
    found = cal.regression(data=TABLE, training=LONG, **how, **ASKED)
    csv.write_csv(TABLE, tmp_path / "rows.csv")
    parquet.write_table(TABLE, tmp_path / "rows.parquet", row_group_size=13)
    csv.write_csv(LONG, tmp_path / "past.csv")
    for name, engine in (("rows.csv", None), ("rows.csv", "stream"), ("rows.parquet", "stream")):
        files = {"data": str(tmp_path / name), "training": str(tmp_path / "past.csv")}
        other = cal.regression(**files, engine=engine, **how, **ASKED)
        np.testing.assert_allclose(numbers(other), numbers(found), rtol=1e-9)
        for a, b in zip(other.comparison, found.comparison, strict=True):
            assert (a.value, a.p) == pytest.approx((b.value, b.p))
        for s, t in zip(other.slices or (), found.slices or (), strict=True):
            assert s.estimate.value == pytest.approx(t.estimate.value)


def test_a_state_of_other_training_series_is_not_added(tmp_path: Path) -> None:
    states = []
    for season in (SEASON, SEASON, 3):
        path = tmp_path / f"{len(states)}.parquet"
        parquet.write_table(TABLE.slice(len(states)), path)
        how = {**ASKED, "season": season, "data": str(path), "engine": "stream"}
        states.append(cal.regression(training=LONG, **how))
    merged = cal.merge_states(states[:2])
    single = [s["a", "MASE"].value * s["a", "MASE"].n for s in states[:2]]
    n = sum(s["a", "MASE"].n for s in states[:2])
    assert merged["a", "MASE"].value == pytest.approx(sum(single) / n)
    with pytest.raises(cal.InputError, match="season="):
        cal.merge_states(states[1:])


def test_a_single_series_and_predicted_quantiles() -> None:
    past, y, p = TRAINING["00"], TRUTH[:HORIZON], SYSTEMS["a"][:HORIZON]
    found = cal.regression(y, p, training=past, season=SEASON, measures=["MASE", "RMSSE"])
    assert [e.value for e in found] == pytest.approx(by_hand(SYSTEMS["a"], slice(HORIZON))[:2])
    naive = float(np.abs(past[SEASON:] - past[:-SEASON]).mean())
    alone = cal.regression(y, p, measures=[f"MASE(naive_mae={naive!r})"])
    assert numbers(found)[0] == pytest.approx(numbers(alone)[0])
    assert found["MASE"].no_skill == pytest.approx(alone.estimates[0].no_skill)
    predicted = SYSTEMS["a"]
    quantiles = {0.1: predicted - 1, 0.5: predicted, 0.9: predicted + 2}
    found = cal.regression(
        TRUTH, quantiles=quantiles, series=SERIES, training=TRAINING, season=SEASON,
        measures=["MASE", "WQL"],
    )  # fmt: skip
    assert found["MASE"].value == pytest.approx(by_hand(predicted)[0])
    # As GluonTS: twice the sum of the losses of each level, over Σ|y|; and the mean over levels.
    losses = [
        2 * np.sum(np.abs((TRUTH - q) * ((q >= TRUTH) - level))) / np.abs(TRUTH).sum()
        for level, q in quantiles.items()
    ]
    assert found["WQL"].value == pytest.approx(np.mean(losses))


def test_recorded_values_of_utilsforecast() -> None:
    """utilsforecast 0.2.17: the mean of mase over three series of four rows, and the root of the mean
    of the squares of rmsse."""
    random, names = np.random.default_rng(12), ["a", "b", "c"]
    past = {name: (k + 1) * random.normal(size=30).cumsum() for k, name in enumerate(names)}
    y = random.normal(size=12).round(3)
    p = (y + random.normal(size=12)).round(3)
    asked = {"series": np.repeat(names, 4), "training": past, "season": 3}
    found = cal.regression(y, p, measures=["MASE", "RMSSE"], interval="none", **asked)
    assert [e.value for e in found] == pytest.approx(
        [0.17230028328419822, 0.19386815549030278], rel=1e-12
    )


def test_a_series_that_repeats_itself_has_no_value() -> None:
    training = {**TRAINING, "03": np.tile([1.0, 2.0, 3.0, 4.0], 5)}
    found = cal.regression(
        TRUTH, SYSTEMS["a"], series=SERIES, training=training, season=SEASON, measures=MEASURES
    )
    for measure in ("MASE", "RMSSE"):
        assert np.isnan(found[measure].value)
        assert found[measure].undefined == {"zero_naive_error": HORIZON}
    assert found["WAPE"].value == pytest.approx(by_hand(SYSTEMS["a"])[2])
    zero = cal.regression([0.0, 0.0], [1.0, 2.0], measures=["WAPE"])
    assert zero["WAPE"].undefined == {"zero_truth_everywhere": 2}


@pytest.mark.parametrize(
    ("how", "message"),
    [
        ({"training": TRAINING}, "expected series=, the series of each row"),
        ({"series": SERIES}, "series: goes with training="),
        ({"season": 3}, "season: goes with training="),
        ({"training": TRAINING["00"], "series": SERIES}, "one series without a name"),
        ({"training": {"00": TRAINING["00"]}, "series": SERIES}, "'01' is not in training="),
        ({"training": TRAINING, "series": SERIES, "season": 40}, "has 40 values, expected more"),
        ({"training": TRAINING, "series": SERIES, "season": 0}, "season is 0"),
        ({"training": LONG, "series": SERIES}, "expected the name of a column"),
        ({"training": [1.0, None, 3.0]}, "1 of 3 values are missing"),
        ({"training": {}, "series": SERIES}, "expected at least one series"),
        ({}, "MASE needs naive_mae, the error of the naive forecast"),
    ],
)  # fmt: skip
def test_errors_say_what_was_expected(how: dict[str, Any], message: str) -> None:
    with pytest.raises(cal.InputError, match=message):
        cal.regression(TRUTH, SYSTEMS["a"], measures=["MASE"], **how)


def test_several_outputs_have_no_training_series() -> None:
    with pytest.raises(cal.InputError, match="training= is of one output"):
        cal.regression({"u": TRUTH, "v": TRUTH}, {"u": TRUTH, "v": TRUTH}, training=TRUTH)
    with pytest.raises(cal.InputError, match="needs naive_mae"):
        cal.regression({"u": TRUTH, "v": TRUTH}, {"u": TRUTH, "v": TRUTH}, measures="MASE")


def test_the_command(tmp_path: Path) -> None:
    csv.write_csv(TABLE, tmp_path / "rows.csv")
    csv.write_csv(LONG, tmp_path / "past.csv")
    line = ["regression", str(tmp_path / "rows.csv"), "--truth", "sales", "--predicted", "a"]
    line += ["--predicted", "b", "--series", "store", "--training", str(tmp_path / "past.csv")]
    line += ["--season", str(SEASON), *(f"-m{name}" for name in MEASURES)]
    result = CliRunner().invoke(cli, [*line, "-o", str(tmp_path / "r.json")])
    assert result.exit_code == 0, result.output
    text = (tmp_path / "r.json").read_text("utf-8")
    np.testing.assert_allclose(
        numbers(cal.from_json(text)), numbers(cal.regression(data=TABLE, training=LONG, **ASKED))
    )
    assert json.loads(text)["provenance"]["conventions"]["season"] == SEASON
    lost = CliRunner().invoke(cli, [*line[:-6], "--training", str(tmp_path / "no.csv")])
    assert lost.exit_code != 0
    assert "no such file" in f"{lost.output} {lost.exception}"
