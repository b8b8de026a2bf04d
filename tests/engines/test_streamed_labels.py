"""Rows with several labels, outputs or quantiles in batches: the forms in which columns name them,
small batches, little memory, and states."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import csv

import calipers as cal
from calipers.data import streams

ROWS = 300
LABELS = ("fog", "sea", "sun")
SETS = ["subset-accuracy", "Hamming-loss", "example-F1", "macro-F1", "recall[sea]"]
RANDOM = np.random.default_rng(8)
TRUTH = RANDOM.random((ROWS, 3)) < (0.1, 0.3, 0.6)
SCORE = 1 / (1 + np.exp(-(2.0 * TRUTH - 1 + RANDOM.normal(size=(ROWS, 3)))))
CALLED = SCORE > 0.5


def listed(sets: Any) -> list[list[str]]:
    return [[name for name, has in zip(LABELS, row, strict=True) if has] for row in sets]


COLUMNS: dict[str, Any] = {
    "site": np.array(["u", "v"])[(np.arange(ROWS) >= 290).astype(int)],
    "often": RANDOM.integers(0, 3, ROWS),
    **{f"y_{name}": TRUTH[:, k] for k, name in enumerate(LABELS)},
    **{f"p_{name}": SCORE[:, k] for k, name in enumerate(LABELS)},
    **{f"c_{name}": CALLED[:, k] for k, name in enumerate(LABELS)},
    "tags": ["|".join(row) for row in listed(TRUTH)],
    "called": ["|".join(row) for row in listed(CALLED)],
    "lists": listed(TRUTH),
    "said": listed(CALLED),
    "bits": TRUTH.astype(int).tolist(),
    "given": CALLED.astype(int).tolist(),
}
TABLE = pa.table(COLUMNS)


def both(**asked: Any) -> list[Any]:
    found = [cal.multilabel(engine=e, **{"data": TABLE, **asked}) for e in ("memory", "stream")]
    for a, b in zip(*found, strict=True):
        assert (a.system, a.measure, a.n, a.method) == (b.system, b.measure, b.n, b.method)
        limits = (a.value, a.low, a.high), (b.value, b.low, b.high)
        assert limits[1] == pytest.approx(limits[0], rel=1e-9, abs=1e-12, nan_ok=True), a.measure
    return found


@pytest.fixture(autouse=True)
def _small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Some batches have no row of the second site."""
    monkeypatch.setattr(streams, "BATCH_ROWS", 37)


@pytest.mark.parametrize(
    "columns",
    [
        {"truth": "tags", "predicted": "called", "separator": "|"},
        {"truth": "lists", "predicted": {"a": "said"}},
        {"truth": "bits", "predicted": "given", "labels": LABELS},
        {"truth": "y_*", "predicted": {"a": "c_*"}},
        {"truth": "y_*", "predicted": {name: f"c_{name}" for name in LABELS}},
        {"truth": {name: f"y_{name}" for name in LABELS}, "score": "p_*", "threshold": 0.5},
        {"truth": "tags", "probability": "p_*", "separator": "|", "count": "often"},
    ],
)
def test_labels_are_named_as_in_memory(columns: dict[str, Any]) -> None:
    memory, _ = both(measures=SETS, **columns)
    rows = np.repeat(np.arange(ROWS), COLUMNS["often"] if "count" in columns else 1)
    exact = (TRUTH[rows] == CALLED[rows]).all(axis=1).mean()
    assert memory["subset-accuracy"].value == pytest.approx(exact)


@pytest.mark.slow
@pytest.mark.parametrize("rows", [{}, {"count": "often"}, {"weight": "often"}, {"cluster": "site"}])
@pytest.mark.parametrize(
    ("said", "measures"),
    [
        ({"probability": {"a": "p_*", "b": "c_*"}}, SETS),
        ({"probability": {"a": "p_*", "b": "c_*"}}, ["macro-AUC", *SETS]),
        ({"probability": {"a": "p_*"}, "predicted": {"b": "c_*"}}, SETS),
        ({"predicted": "c_*"}, SETS),
    ],
)
def test_curves_are_those_of_memory(
    said: dict[str, Any], measures: list[str], rows: dict[str, str]
) -> None:
    """Their tables of scores are those of the measures, or of a pass of their own."""
    asked = {**said, **rows, "data": TABLE, "measures": measures, "n_resamples": 100}
    memory, stream = (cal.multilabel("y_*", **asked, engine=e) for e in ("memory", "stream"))
    assert {c.series for c in memory.curves} == set(LABELS)
    for one, other in zip(memory.curves, stream.curves, strict=True):
        named = (one.system, one.kind, one.series, one.shape)
        assert named == (other.system, other.kind, other.series, other.shape)
        drawn = ("x", "y", "threshold") if one.shape != "point" else ("x", "y", "low", "high")
        for axis in drawn:
            ours, theirs = getattr(one, axis), getattr(other, axis)
            np.testing.assert_allclose(theirs, ours, rtol=1e-9, atol=1e-12)
        assert other.operating_point == pytest.approx(one.operating_point, nan_ok=True)


def test_a_curve_goes_through_what_is_counted() -> None:
    stream = cal.multilabel("y_*", probability="p_*", data=TABLE, engine="stream", measures=SETS)
    roc = next(c for c in stream.curves if (c.kind, c.series) == ("ROC", "sea"))
    has, score = TRUTH[:, 1], SCORE[:, 1]
    np.testing.assert_allclose(roc.x, [(score >= cut)[~has].mean() for cut in roc.threshold])
    np.testing.assert_allclose(roc.y, [(score >= cut)[has].mean() for cut in roc.threshold])


def test_sums_have_the_curves_of_their_tables(tmp_path: Path) -> None:
    asked = {"probability": "p_*", "data": TABLE, "engine": "stream"}
    whole = cal.multilabel("y_*", **asked, measures="macro-AUC")
    cal.save_state(whole, tmp_path / "a.state")
    again = cal.merge_states([tmp_path / "a.state"])
    assert again.curves[0].y.tolist() == whole.curves[0].y.tolist()
    cal.save_state(cal.multilabel("y_*", **asked, measures=SETS), tmp_path / "b.state")
    assert not cal.merge_states([tmp_path / "b.state"]).curves


@pytest.mark.slow
def test_slices_of_which_batches_have_no_row() -> None:
    measures = ["macro-AUC", "micro-AP", "LRAP", "macro-F1", "macro-Brier"]
    given = {"truth": "y_*", "probability": "p_*", "slices": "site"}
    found = both(measures=measures, **given)
    told = [{(s.slice, s.estimate.measure): s.estimate.value for s in e.slices} for e in found]
    assert told[0].keys() == told[1].keys()
    for key, value in told[0].items():
        assert told[1][key] == pytest.approx(value, rel=1e-12, nan_ok=True), key


@pytest.mark.parametrize("missing", ["error", "drop"])
def test_an_empty_field_of_csv_is_a_row_without_labels(tmp_path: Path, missing: str) -> None:
    path = tmp_path / "tags.csv"
    csv.write_csv(TABLE.select(["tags", "called"]), path)
    given = {"truth": "tags", "predicted": "called", "separator": "|", "missing": missing}
    found = both(data=path, measures=SETS, **given)
    assert {e.n for of in found for e in of if e.measure == "Hamming-loss"} == {ROWS}


def test_labels_of_rows_that_are_left_out_are_none() -> None:
    tags = pa.array(
        [None if k == 5 else "ice" if k == 9 else t for k, t in enumerate(COLUMNS["tags"])]
    )
    called = pa.array([None if k == 9 else t for k, t in enumerate(COLUMNS["called"])])
    table = pa.table({"tags": tags, "called": called})
    given = {"truth": "tags", "predicted": "called", "separator": "|", "data": table}
    found = both(missing="drop", measures=SETS, **given)
    assert {e.n for e in found[1] if e.measure == "macro-F1"} == {ROWS - 2}
    with pytest.raises(cal.InputError, match=r"missing.*row 5"):
        cal.multilabel(engine="stream", **given)


def test_little_memory_says_between_which_values_an_average_lies(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    from calipers.evaluation import stream_columns

    monkeypatch.setattr(stream_columns, "MIN_SCORES", 40)
    given = {"truth": "y_*", "probability": "p_*", "data": TABLE, "measures": ["macro-AUC"]}
    exact = cal.multilabel(**given)["macro-AUC"].value
    found = cal.multilabel(engine="stream", memory=20_000, **given)["macro-AUC"]
    assert found.lower_bound < exact < found.upper_bound
    assert found.upper_bound - found.lower_bound < 0.2


@pytest.mark.slow
def test_states_of_parts_add_up_to_all_rows(tmp_path: Path) -> None:
    """Files and evaluations, of every problem."""
    more = {f"{s}_{o}": RANDOM.normal(size=ROWS) for s in "ab" for o in ("1", "2")}
    shares = RANDOM.dirichlet(np.ones(3), (2, ROWS))
    more |= {f"{s}_{k}": shares[at, :, k] for at, s in enumerate("tq") for k in range(3)}
    table = pa.table({**COLUMNS, **more})
    calls: list[tuple[Any, dict[str, Any]]] = [
        (
            cal.multilabel,
            {
                "truth": "y_*",
                "probability": "p_*",
                "measures": ["macro-AUC", "subset-accuracy", "macro-F1", "LRAP"],
                "labels": LABELS,
            },
        ),
        (
            cal.regression,
            {"truth": "a_*", "predicted": "b_*", "measures": ["macro-RMSE", "macro-R2", "MAE"]},
        ),
        (cal.regression, {"truth": "a_1", "quantiles": {0.25: "b_1", 0.75: "b_2"}}),
        (cal.classification, {"truth": "t_*", "probability": "q_*"}),
    ]
    for verb, given in calls:
        whole = verb(data=table, engine="stream", **given)
        parts = [
            verb(data=table[at], engine="stream", **given) for at in (slice(120), slice(120, 300))
        ]
        cal.save_state(parts[0], tmp_path / "first.state")
        both = cal.merge_states([tmp_path / "first.state", parts[1]])
        for a, b in zip(whole, both, strict=True):
            assert (a.measure, a.n) == (b.measure, b.n)
            assert b.value == pytest.approx(a.value, rel=1e-12), a.measure


@pytest.mark.parametrize(
    ("asked", "words"),
    [
        ({"predicted": None}, "nothing to evaluate"),
        ({"labels": ["sun", "sea"]}, r"the table: truth: 'fog' in row \d+ is not a label"),
        ({"separator": None}, "separator"),
        ({"id": "site"}, "id= takes all rows in memory"),
        ({"time": "often"}, "time= takes all rows in memory"),
        ({"interval": "bootstrap"}, "resamples rows"),
        ({"predicted": "nobody"}, "no column 'nobody'"),
    ],
)
def test_what_is_wrong_is_told(asked: dict[str, Any], words: str) -> None:
    given = {"truth": "tags", "predicted": "called", "separator": "|", "data": TABLE}
    with pytest.raises(cal.InputError, match=words):
        cal.multilabel(engine="stream", **{**given, **asked})


def test_a_pipe_says_its_labels() -> None:
    batches = TABLE.select(["tags", "called"]).to_reader()
    with pytest.raises(cal.InputError, match="name the labels"):
        cal.multilabel("tags", "called", separator="|", data=batches, engine="stream")
    batches = TABLE.select(["tags", "called"]).to_reader()
    given: dict[str, Any] = {"separator": "|", "labels": LABELS, "measures": SETS}
    found = cal.multilabel("tags", "called", data=batches, engine="stream", **given)
    assert found["Hamming-loss"].value == pytest.approx((TRUTH != CALLED).mean())


@pytest.mark.parametrize(
    ("asked", "words"),
    [
        ({"truth": "p_*"}, "takes predicted=, or else quantiles="),
        ({"truth": "p_*", "quantiles": {0.5: "p_sun"}}, "of one output"),
        (
            {"truth": ["p_sun", "p_sea"], "predicted": ["p_sun"]},
            "1 columns are named for 2 outputs",
        ),
        (
            {"truth": "p_*", "predicted": {"a": "p_sun"}},
            "the output 'fog' has no column|is not an output",
        ),
        ({"truth": "p_sun", "quantiles": {"low": "p_sea"}}, "expected a level between 0 and 1"),
        ({"truth": "p_*", "predicted": "p_*", "measures": ["interval-score@0.9"]}, "quantiles"),
    ],
)
def test_what_is_wrong_with_outputs_is_told(asked: dict[str, Any], words: str) -> None:
    with pytest.raises(cal.InputError, match=words):
        cal.regression(data=TABLE, engine="stream", **asked)
