"""Members of ensembles, and samples of predicted distributions."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from click.testing import CliRunner
from pyarrow import csv, parquet

import calipers as cal
from calipers.cli.group import cli
from calipers.statistics import EnsembleRows

RANDOM = np.random.default_rng(4)
ROWS = 60
TRUTH = RANDOM.normal(size=ROWS).round(2)
#: Of unequal sizes.
ENSEMBLES = {
    "a": (TRUTH[:, None] + RANDOM.normal(size=(ROWS, 20))).round(1),
    "b": (TRUTH[:, None] + 0.5 + RANDOM.normal(size=(ROWS, 7))).round(1),
}
TABLE = pa.table({
    "y": TRUTH,
    **{f"{name}_{k}": column for name, of in ENSEMBLES.items() for k, column in enumerate(of.T)},
    "n": RANDOM.integers(0, 3, ROWS),
    "w": RANDOM.integers(1, 4, ROWS).astype(float),
    "user": RANDOM.integers(0, 15, ROWS),
    "site": RANDOM.choice(["x", "y"], ROWS),
})  # fmt: skip
ASKED: dict[str, Any] = {
    "truth": "y",
    "ensemble": {"a": "a_*", "b": "b_*"},
    "measures": ["CRPS", "CRPS(fair=True)", "interval-coverage@0.5", "WIS", "WQL", "MAE", "RMSE"],
}


def crps(members: Any, *, fair: bool = False) -> float:
    """Pair by pair."""
    size, total = members.shape[1], 0.0
    for y, row in zip(TRUTH, members, strict=True):
        pairs = sum(abs(x - z) for x in row for z in row) / (size * (size - 1 if fair else size))
        total += np.mean(np.abs(row - y)) - pairs / 2
    return total / ROWS


def numbers(evaluation: Any) -> Any:
    return np.array([[e.value, e.low, e.high] for e in evaluation])


def test_values_are_those_of_pairs_of_members_by_hand() -> None:
    found = cal.regression(TRUTH, ensemble=ENSEMBLES, measures=ASKED["measures"])
    for name, members in ENSEMBLES.items():
        assert found[name, "CRPS"].value == pytest.approx(crps(members))
        assert found[name, "CRPS(fair=True)"].value == pytest.approx(crps(members, fair=True))
        # That of the empirical distribution, whose quantiles the members are.
        assert found[name, "WIS"].value == pytest.approx(crps(members))
        assert found[name, "WQL"].value == pytest.approx(crps(members) / np.abs(TRUTH).mean())
        median, mean = np.median(members, axis=1), members.mean(axis=1)
        assert found[name, "MAE"].value == pytest.approx(np.abs(median - TRUTH).mean())
        assert found[name, "RMSE"].value == pytest.approx(np.sqrt(np.square(mean - TRUTH).mean()))
        low, high = np.quantile(members, [0.25, 0.75], axis=1, method="hazen")
        assert found[name, "interval-coverage@0.5"].value == pytest.approx(
            ((low <= TRUTH) & (high >= TRUTH)).mean()
        )
    assert found.provenance["conventions"]["members"] == {"a": 20, "b": 7}
    assert cal.measure("CRPS")(TRUTH, ENSEMBLES["a"]) == pytest.approx(crps(ENSEMBLES["a"]))


def test_a_recorded_value_of_other_packages() -> None:
    """scoringrules 0.10 (estimators nrg and fair) and properscoring 0.1, of these numbers."""
    random = np.random.default_rng(0)
    y = random.normal(size=60)
    members = y[:, None] + random.normal(size=(60, 20))
    assert cal.measure("CRPS")(y, members) == pytest.approx(0.2609496967291144, rel=1e-12)
    fair = cal.measure("CRPS(fair=True)")(y, members)
    assert fair == pytest.approx(0.2333704420925516, rel=1e-12)


def test_a_single_member_is_a_number() -> None:
    found = cal.regression(
        TRUTH, ensemble=ENSEMBLES["a"][:, :1], measures=["CRPS", "CRPS(fair=True)"]
    )
    mae = np.abs(ENSEMBLES["a"][:, 0] - TRUTH).mean()
    assert [e.value for e in found] == pytest.approx([mae, mae])
    usual = cal.regression(TRUTH, ensemble=ENSEMBLES["a"][:, :1])
    assert [e.measure for e in usual] == ["CRPS"]


def test_quantiles_between_members_are_interpolated() -> None:
    rows = EnsembleRows.from_members(ENSEMBLES["b"])
    for level in (0.1, 0.3, 0.5, 0.77):
        expected = np.quantile(ENSEMBLES["b"], level, axis=1, method="hazen")
        np.testing.assert_allclose(rows.quantile(level), expected, atol=1e-14)
    with pytest.raises(cal.InputError, match=r"0\.05; 7 members reach from 0\.07143 to 0\.9286"):
        cal.regression(TRUTH, ensemble=ENSEMBLES["b"], measures="interval-coverage@0.9")
    usual = cal.regression(TRUTH, ensemble=ENSEMBLES)
    assert {e.measure for e in usual} == {
        "CRPS", "interval-score@0.5", "interval-coverage@0.5", "mean-width@0.5"
    }  # fmt: skip


HOW: dict[str, dict[str, Any]] = {
    "plain": {}, "weights": {"weight": "w"}, "counts": {"count": "n"},
    "clusters": {"cluster": "user"}, "slices": {"slices": ["site"]},
}  # fmt: skip


@pytest.mark.parametrize("how", HOW)
def test_tables_and_batches_are_the_same(how: str, tmp_path: Path) -> None:
    found = cal.regression(data=TABLE, **HOW[how], **ASKED)
    parquet.write_table(TABLE, tmp_path / "rows.parquet", row_group_size=13)
    asked = {**ASKED, **HOW[how], "data": str(tmp_path / "rows.parquet"), "engine": "stream"}
    other = cal.regression(**asked)
    np.testing.assert_allclose(numbers(other)[:, 0], numbers(found)[:, 0], rtol=1e-9)
    for a, b in zip(other.comparison, found.comparison, strict=True):
        assert a.value == pytest.approx(b.value)
    for s, t in zip(other.slices or (), found.slices or (), strict=True):
        assert s.estimate.value == pytest.approx(t.estimate.value)
    merged = cal.merge_states([other])
    assert merged["a", "CRPS"].value == pytest.approx(found["a", "CRPS"].value)


def test_fair_values_do_not_depend_on_the_number_of_members() -> None:
    """On average over draws of the members."""
    random, y = np.random.default_rng(1), np.zeros(20_000)
    values = {
        size: [
            cal.measure(name)(y, random.normal(size=(len(y), size)))
            for name in ("CRPS(fair=True)", "CRPS")
        ]
        for size in (2, 30)
    }
    assert values[2][0] == pytest.approx(values[30][0], abs=0.01)
    assert values[2][1] > values[30][1] + 0.1


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        ({"ensemble": TRUTH}, "expected an array of shape"),
        ({"ensemble": ENSEMBLES["a"], "quantiles": {0.5: TRUTH}}, "or else quantiles= or ensemble="),
        ({"ensemble": ENSEMBLES["a"][:4]}, "ensemble: has 4 rows"),
        ({"ensemble": {"a": np.where(ENSEMBLES["a"] > 1, np.nan, 0.0)}}, "is NaN in row"),
        ({"quantiles": {0.5: TRUTH}, "measures": "CRPS"}, "CRPS needs ensemble="),
        ({"predicted": TRUTH, "measures": "CRPS"}, "CRPS needs ensemble="),
    ],
)  # fmt: skip
def test_errors_say_what_was_expected(asked: dict[str, Any], message: str) -> None:
    with pytest.raises(cal.InputError, match=message):
        cal.regression(TRUTH, **asked)


@pytest.mark.slow
def test_the_command_and_the_page(tmp_path: Path) -> None:
    csv.write_csv(TABLE, tmp_path / "rows.csv")
    line = ["regression", str(tmp_path / "rows.csv"), "--truth", "y", "--ensemble", "gfs=a_*"]
    line += ["--ensemble", "b_*", "--report", str(tmp_path / "page.html")]
    result = CliRunner().invoke(cli, [*line, "-o", str(tmp_path / "r.json")])
    assert result.exit_code == 0, result.output
    found = cal.from_json((tmp_path / "r.json").read_text("utf-8"))
    assert found["gfs", "CRPS"].value == pytest.approx(crps(ENSEMBLES["a"]))
    assert "Continuous ranked probability score" in (tmp_path / "page.html").read_text("utf-8")


def test_scores_of_several_outputs_are_those_of_pairs_by_hand() -> None:
    truth = RANDOM.normal(size=(ROWS, 3))
    members = truth[:, None] + RANDOM.normal(size=(ROWS, 6, 3))
    energy, fair, variogram = 0.0, 0.0, 0.0
    for y, row in zip(truth, members, strict=True):
        error = np.mean([np.linalg.norm(x - y) for x in row])
        pairs = sum(float(np.linalg.norm(x - z)) for x in row for z in row)
        energy += float(error) - pairs / 36 / 2
        fair += float(error) - pairs / 30 / 2
        for i in range(3):
            for j in range(3):
                expected = np.mean(np.abs(row[:, i] - row[:, j]) ** 0.5)
                variogram += float(abs(y[i] - y[j]) ** 0.5 - expected) ** 2
    names = ["energy-score", "energy-score(fair=True)", "variogram-score"]
    found = cal.regression(truth, ensemble=members, measures=names)
    values = [e.value for e in found]
    assert values == pytest.approx([energy / ROWS, fair / ROWS, variogram / ROWS])
    by_output = {str(k): members[..., k] for k in range(3)}
    systems = {"array": members, "tables": by_output}
    both = cal.regression(truth, ensemble=systems, measures=names)
    assert [e.value for e in both] == pytest.approx(2 * values)
    assert cal.regression(truth, ensemble=by_output).systems == ("system",)
    # Of a single output it is the CRPS.
    single = cal.regression(truth[:, :1], ensemble=members[..., :1], outputs=["a"])
    crps_of_one = cal.regression(truth[:, 0], ensemble=members[..., 0], measures=["CRPS"])
    assert single["energy-score"].value == pytest.approx(crps_of_one["CRPS"].value)


@pytest.mark.parametrize(
    ("ensemble", "message"),
    [
        (np.zeros((4, 5)), r"ensemble: has the shape \(4, 5\)"),
        (np.zeros((4, 5, 3)), r"ensemble: has the shape \(4, 5, 3\)"),
        ({"x": np.zeros((4, 5, 2)), "y": np.zeros((4, 2))}, "ensemble 'y': has the shape"),
        ({"a": np.zeros((4, 5)), "b": np.zeros((4, 6))}, r"outputs have \[5, 6\] members"),
        ({"s": {"a": np.zeros((4, 5))}}, "expected the members of each output"),
    ],
)
def test_what_is_told_of_members_of_several_outputs(ensemble: Any, message: str) -> None:
    truth = {"a": np.zeros(4), "b": np.zeros(4)}
    with pytest.raises(cal.InputError, match=message):
        cal.regression(truth, ensemble=ensemble)


def test_measures_of_one_output_and_of_several() -> None:
    members = np.zeros((4, 5, 2))
    with pytest.raises(cal.InputError, match="CRPS is of one output"):
        cal.regression(np.zeros((4, 2)), ensemble=members, measures=["CRPS"])
    with pytest.raises(cal.InputError, match="energy-score needs ensemble= of several outputs"):
        cal.regression(np.zeros(4), ensemble=members[..., 0], measures=["energy-score"])
    with pytest.raises(cal.InputError, match="energy-score"):
        cal.regression(np.zeros(4), np.zeros(4), measures=["energy-score"])
