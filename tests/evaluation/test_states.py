"""States of streams: parts that are added up equal the whole, and what does not go together is
refused."""

from __future__ import annotations

import base64
import gzip
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import calipers as cal
from calipers.data import streams
from calipers.data.errors import InputError
from calipers.statistics import serialization

ROWS = 700

#: States that version 1 wrote, and the values and limits that it read from them.
with gzip.open(Path(__file__).with_name("states_1.jsonl.gz"), "rt", encoding="utf-8") as file:
    OF_VERSION_1 = {name: (data, numbers) for name, data, numbers in map(json.loads, file)}


@pytest.fixture(autouse=True)
def small_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(streams, "BATCH_ROWS", 90)


@pytest.fixture(scope="module")
def table() -> pa.Table:
    random = np.random.default_rng(7)
    latent = random.normal(size=ROWS)
    truth = random.random(ROWS) < 1 / (1 + np.exp(-latent))
    near = latent + 0.4 * random.normal(size=ROWS)
    kind = random.integers(0, 3, ROWS)
    shares = random.dirichlet(np.ones(3), ROWS) / 2 + np.eye(3)[kind] / 2
    return pa.table(
        {
            "y": truth.astype(np.int8),
            "p": (1 / (1 + np.exp(-near.round(1)))).astype(np.float32),
            "q": 1 / (1 + np.exp(-latent - random.normal(size=ROWS))),
            "w": random.integers(0, 4, ROWS) / 3,
            "user": random.integers(0, 30, ROWS),
            "kind": np.array(["cat", "dog", "emu"])[kind],
            **{f"p_{name}": shares[:, k] for k, name in enumerate(("cat", "dog", "emu"))},
            "real": latent,
            "guess": near,
        }
    )


TASKS: dict[str, dict[str, Any]] = {
    "two": {
        "verb": "classification", "truth": "y", "probability": ["p", "q"],
        "measures": ["AUC", "PR-AUC", "log-loss", "Brier", "accuracy", "F1", "MCC", "KS",
                     "calibration-slope", "calibration-intercept", "ECE"],
    },
    "several": {
        "verb": "classification", "truth": "kind", "probability": {"model": "p_*"},
        "measures": ["accuracy", "macro-F1", "log-loss", "Brier", "AUC[emu]", "MCC"],
    },
    "numbers": {
        "verb": "regression", "truth": "real", "predicted": {"one": "guess", "two": "p"},
        "measures": ["RMSE", "MAE", "R2", "Pearson", "mean-error", "median-absolute-error"],
    },
    "scores": {
        "verb": "scores", "score": {"one": "guess", "two": "p"}, "reference_system": "one",
        "measures": ["mean-score", "pass-rate@0.5", "median-score", "win-rate"],
    },
}  # fmt: skip


def evaluated(task: str, data: Any, **more: Any) -> cal.Evaluation:
    given = {**TASKS[task], **more}
    return getattr(cal, given.pop("verb"))(data=data, engine="stream", **given)


@pytest.mark.slow
@pytest.mark.parametrize("weight", [None, "w"])
@pytest.mark.parametrize("task", TASKS)
def test_parts_are_the_whole_in_any_order(
    table: pa.Table, tmp_path: Path, task: str, weight: str | None
) -> None:
    whole = evaluated(task, table, weight=weight)
    files = []
    for k, (start, length) in enumerate([(0, 120), (120, 400), (520, 180)]):
        files.append(tmp_path / f"{k}.state")
        cal.save_state(evaluated(task, table.slice(start, length), weight=weight), files[-1])
    near = {"rel": 1e-12, "abs": 1e-12, "nan_ok": True}
    for order in ([0, 1, 2], [2, 0, 1], [1, 2, 0]):
        ours = cal.merge_states([files[k] for k in order])
        assert [(e.system, e.measure, e.n) for e in ours] == [
            (e.system, e.measure, e.n) for e in whole
        ]
        for a, b in zip(ours, whole, strict=True):
            assert a.value == pytest.approx(b.value, **near), a.measure
            if not np.isnan(a.no_skill):
                assert a.no_skill == pytest.approx(b.no_skill, **near), a.measure
            if a.interval_reason == "one_pass":
                assert a.measure in ("R2", "Pearson")
                continue
            assert a.method == b.method
            if b.has_interval:
                assert (a.low, a.high) == pytest.approx((b.low, b.high), **near), a.measure
        for one, other in zip(ours.confusions, whole.confusions, strict=True):
            assert np.allclose(one.counts, other.counts, rtol=1e-14)
            assert one.labels == other.labels
        if task == "numbers":  # residuals are drawn of rows, which states do not keep
            assert not ours.curves
            continue
        # Of classes that no measure takes the scores of, states have no table.
        same = [c for c in whole.curves if task == "two" or c.series == "emu"]
        for one, other in zip(ours.curves, same, strict=True):
            np.testing.assert_allclose(one.y, other.y, rtol=1e-12)


@pytest.mark.slow
def test_states_of_states_and_of_evaluations(table: pa.Table, tmp_path: Path) -> None:
    days = [evaluated("two", table.slice(k * 100, 100)) for k in range(7)]
    whole = evaluated("two", table)
    first = cal.merge_states(days[:3])
    cal.save_state(first, tmp_path / "first.state")
    ours = cal.merge_states([tmp_path / "first.state", *days[3:]], level=0.9, measures=["AUC"])
    assert [e.measure for e in ours] == ["AUC", "AUC"]
    assert ours["p", "AUC"].value == pytest.approx(whole["p", "AUC"].value, rel=1e-13)
    assert ours["p", "AUC"].level == 0.9
    assert len(ours.provenance["inputs"]) == 7
    assert ours.comparison is None
    assert any("not compared" in note for note in ours.notes)
    with pytest.raises(InputError, match=r"has rows that .*first\.state has as well"):
        cal.merge_states([tmp_path / "first.state", days[1]])


@pytest.mark.slow
@pytest.mark.parametrize("more", [{}, {"slices": "user"}, {"cluster": "user"}])
def test_recalibration_is_left_out_by_the_probabilities_of_all_rows(
    more: dict[str, Any], tmp_path: Path
) -> None:
    """Parts with and without a probability of 0 can be merged, and both measures are left out."""
    random = np.random.default_rng(0)
    y, user = np.arange(60) % 3 % 2, np.arange(60) % 7 % 3
    p = np.clip(0.3 * y + 0.7 * random.random(60), 0.01, 0.99)
    p[40] = 0
    data = pa.table({"y": y, "p": p, "user": user})
    of = {"truth": "y", "probability": "p", "measures": None, "labels": [0, 1], **more}
    whole = evaluated("two", data, **of)
    parts = [evaluated("two", data.slice(k, 30), **of) for k in (0, 30)]
    with_them, without = (len(part.measures) for part in parts)
    assert with_them == without + 2
    for k, part in enumerate(parts):
        cal.save_state(part, tmp_path / f"{k}.state")
    for order in ([0, 1], [1, 0]):
        merged = cal.merge_states([tmp_path / f"{k}.state" for k in order])
        assert list(merged.measures) == list(whole.measures)
        left_out = [[n for n in ev.notes if "not shown" in n] for ev in (merged, whole)]
        assert left_out[0] == left_out[1] != []
        assert len(cal.merge_states([merged]).measures) == without
    assert len(cal.merge_states([tmp_path / "0.state"]).measures) == with_them
    named = evaluated("two", data.slice(30), **{**of, "measures": ["default", "calibration-slope"]})
    assert "calibration-slope" in named.measures
    assert "calibration-intercept" not in named.measures
    [asked] = cal.merge_states([parts[0], parts[1]], measures=["calibration-slope"])
    assert dict(asked.undefined)


def test_states_keep_the_settings_of_their_parts(table: pa.Table, tmp_path: Path) -> None:
    of = {
        "probability": "p", "threshold": 0.5, "measures": ["F1", "accuracy"],
        "seed": 5, "n_resamples": 200, "level": 0.8, "interval": ["clopper-pearson"],
    }  # fmt: skip
    names = ("seed", "n_resamples", "level", "interval")
    files = [tmp_path / f"{k}.state" for k in range(2)]

    def write(**of_second: Any) -> None:
        cal.save_state(evaluated("two", table.slice(0, 300), **of), files[0])
        cal.save_state(evaluated("two", table.slice(300), **{**of, **of_second}), files[1])

    write()
    merged = cal.merge_states(files)
    limits = [(e.low, e.high, e.method) for e in merged]
    assert limits == [(e.low, e.high, e.method) for e in evaluated("two", table, **of)]
    assert [merged.provenance[name] for name in names] == [5, 200, 0.8, "clopper-pearson"]
    cal.save_state(cal.merge_states(files, seed=6), tmp_path / "both.state")
    again = cal.merge_states([tmp_path / "both.state"])
    assert [again.provenance[name] for name in names] == [6, 200, 0.8, "clopper-pearson"]
    changed = [(e.low, e.high, e.method) for e in evaluated("two", table, **{**of, "seed": 6})]
    assert limits != [(e.low, e.high, e.method) for e in again] == changed

    for other in ({"seed": 6}, {"n_resamples": 300}, {"level": 0.9}, {"interval": "none"}):
        write(**other)
        [name] = other
        with pytest.raises(
            InputError, match=rf"1\.state: {name} is .* but .*0\.state has .* {name}="
        ):
            cal.merge_states(files)
        assert cal.merge_states(files, **other).provenance[name] == other[name]
    for given in ({"seed": -1}, {"n_resamples": 9}, {"level": 2.0}, {"interval": "wild"}):
        with pytest.raises(InputError, match=f"^{next(iter(given))} is"):
            cal.merge_states(files, **given)


def test_what_a_state_has_no_interval_of_says_so(table: pa.Table) -> None:
    part = evaluated("two", table, cluster="user")
    assert part["p", "AUC"].has_interval
    ours = cal.merge_states([part])
    without = {e.measure for e in ours if e.interval_reason == "no_analytic_interval"}
    assert without == {"ECE"}
    assert {e.interval_reason for e in ours if e.measure not in without} == {"one_pass"}
    assert ours["p", "AUC"].value == part["p", "AUC"].value


@pytest.mark.slow
def test_missing_rows_are_still_told(table: pa.Table) -> None:
    holes = table["q"].to_pylist()
    holes[5] = None
    data = table.set_column(2, "q", pa.array(holes))
    parts = [evaluated("two", data.slice(k, 350), missing="drop") for k in (0, 350)]
    assert cal.merge_states(parts).notes[0] == (
        "1 of 700 rows are left out because values are missing: 1 in probability 'q'."
    )


@pytest.mark.slow
def test_large_tables_of_scores_stay_within_the_memory(
    table: pa.Table, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from calipers.evaluation import stream_columns as module

    days = [evaluated("two", table.slice(k, 350)) for k in (0, 350)]
    whole = cal.merge_states(days)["q", "AUC"].value
    monkeypatch.setattr(module, "MIN_SCORES", 300)
    merged = cal.merge_states(days, memory=1, measures=["AUC", "accuracy"])
    found = merged["q", "AUC"]
    assert found.lower_bound < whole < found.upper_bound
    cal.save_state(merged, tmp_path / "cells.state")
    again = cal.merge_states([tmp_path / "cells.state"], measures=["AUC"])["q", "AUC"]
    assert (again.value, again.lower_bound) == (found.value, found.lower_bound)


@pytest.mark.parametrize(
    ("other", "words"),
    [
        ({"truth": "kind", "positive": "cat", "probability": "p"}, "the column of the truth: 'kind', but"),
        ({"probability": "p"}, "the columns of the systems"),
        ({"measures": ["AUC"]}, "measures differ"),
        ({"weight": "w"}, "the column of weights: 'w', but .* has None"),
        ({"positive": 0}, "the classes: .*'0'.*name the classes"),
        ({"threshold": 0.3}, "the threshold: 0.3"),
        ({"undefined": "zero"}, "undefined=: 'zero'"),
        ({"labels": [0, 1]}, "was made with labels=, but .* without"),
        ({"verb": "regression", "truth": "y", "predicted": "p", "probability": None},
         "the task: 'numbers'"),
    ],
)  # fmt: skip
def test_what_does_not_go_together_is_refused(
    table: pa.Table, other: dict[str, Any], words: str
) -> None:
    asked = {"verb": "classification", "truth": "y", "probability": ["p", "q"],
             "measures": ["AUC", "F1"]}  # fmt: skip
    given = {**asked, **other}
    if given["verb"] == "regression":
        given = {"verb": "regression", "truth": "y", "predicted": "p"}
    found = []
    for named in (asked, given):
        verb = getattr(cal, named.pop("verb"))
        found.append(verb(data=table, engine="stream", **named))
    with pytest.raises(InputError, match=words):
        cal.merge_states(found)


def test_states_with_other_categories_of_raters_or_separators_are_refused() -> None:
    ratings = {"a": [1, 2, 3, 1], "b": [1, 2, 3, 2], "c": [1, 1, 3, 2]}

    def rated(**options: Any) -> Any:
        return cal.agreement(ratings, engine="stream", **options)

    with pytest.raises(InputError, match=r"was made with an order of .* without"):
        cal.merge_states([rated(), rated(order=[1, 2, 3])])
    with pytest.raises(InputError, match=r"the raters|the columns of the systems"):
        cal.merge_states([rated(raters=["a", "b"]), rated(raters=["a", "c"])])
    rows = {"y": ["a;b", "a", "b"], "p": ["a", "a", "b"]}
    labeled = [
        cal.multilabel("y", "p", data=rows, engine="stream", labels=labels, separator=separator)
        for labels, separator in ((["a", "b", "a;b"], ";"), (["a", "b", "a;b"], "|"))
    ]
    with pytest.raises(InputError, match=r"separator=: '\|', but .* has ';'"):
        cal.merge_states(labeled)


@pytest.mark.parametrize("kind", ["csv", "parquet", "partitions"])
def test_a_file_is_not_added_twice(table: pa.Table, tmp_path: Path, kind: str) -> None:
    from pyarrow import csv, parquet

    def day(name: str, rows: pa.Table) -> Path:
        folder = tmp_path / (f"day={name}" if kind == "partitions" else "")
        folder.mkdir(exist_ok=True)
        file = folder / f"{name}.{'csv' if kind == 'csv' else 'parquet'}"
        (csv.write_csv if kind == "csv" else parquet.write_table)(rows, file)
        return file

    def of(data: Any) -> cal.Evaluation:
        return evaluated("numbers", data, measures=["MAE"])

    files = [day(str(k), table.slice(300 * k, 300)) for k in range(2)]
    first, both = tmp_path / "first.state", tmp_path / "both.state"
    cal.save_state(of(files[0]), first)
    cal.save_state(cal.merge_states([first, of(files[1])]), both)
    again = of(tmp_path if kind == "partitions" else files)
    for states in ([first, of(files[0])], [of(files[1]), both], [again, first], [both, again]):
        with pytest.raises(InputError, match=r"has rows that .* has as well"):
            cal.merge_states(states)
    # Another day under the name of the first has other rows.
    other = of(day("0", table.slice(600, 100)))
    merged = cal.merge_states([first, other])
    assert merged["one", "MAE"].n == 400
    # Tables in memory are not told apart.
    assert cal.merge_states([of(table), of(table)])["one", "MAE"].n == 2 * ROWS


def test_a_byte_that_changed_is_noticed_or_means_nothing(table: pa.Table, tmp_path: Path) -> None:
    file = tmp_path / "a.state"
    cal.save_state(evaluated("two", table, measures=["AUC"]), file)
    whole, found = file.read_bytes(), cal.merge_states([file])["q", "AUC"]
    shape = whole.index(b"(700,)")  # of an array, in what NumPy reads as Python
    for place in [*range(shape, shape + 9), *range(len(whole) - 400, len(whole), 9)]:
        file.write_bytes(whole[:place] + bytes([whole[place] ^ 1]) + whole[place + 1 :])
        try:
            again = cal.merge_states([file])["q", "AUC"]
        except InputError:
            continue
        assert again == found


@pytest.mark.slow
def test_what_is_no_state_is_refused(table: pa.Table, tmp_path: Path) -> None:
    file = tmp_path / "a.state"
    cal.save_state(evaluated("two", table), file)
    whole = file.read_bytes()
    for data, words in (
        (whole[:-100], "is damaged"),
        (whole[:3000] + b"?" + whole[3001:], "is damaged"),
        (b"", "is damaged"),
        (b"y,p\n1,0.5\n", "is damaged"),
        (serialization.to_bytes({"kind": "another"}), "has other statistics"),
        (serialization.to_bytes({"kind": "a state of an evaluation", "version": 9}), "version 9"),
        (serialization.to_bytes({"kind": "a state of an evaluation", "version": 1}), "is damaged"),
        (
            serialization.to_bytes(
                {
                    "kind": "a state of an evaluation",
                    "version": 1,
                    "plan": {},
                    "passed": {},
                    "asked": [],
                    "origins": [],
                    "parts": [],
                }
            ),
            "do not fit together",
        ),
    ):
        (tmp_path / "b.state").write_bytes(data)
        with pytest.raises(InputError, match=f"b.state: .*{words}"):
            cal.merge_states([tmp_path / "b.state"])
    for given, words in (
        ([tmp_path / "none.state"], "No such file"),
        ([], "at least one"),
        ("a.state", "expected a list"),
        ([3], "neither a file nor an evaluation"),
    ):
        with pytest.raises(InputError, match=words):
            cal.merge_states(given)
    with pytest.raises(InputError, match=r"F2 was not saved: .*AUC"):
        cal.merge_states([file], measures=["F2"])
    with pytest.raises(InputError, match="read in batches"):
        cal.save_state(cal.classification([0, 1, 1], score=[0, 1, 2]), tmp_path / "c.state")
    assert not (tmp_path / "c.state").exists()


def test_states_without_third_moments_are_read_and_say_delta(
    table: pa.Table, tmp_path: Path
) -> None:
    """As version 1 wrote them; what is added to one has none either."""
    from calipers.engines.pass_tasks import FirstPassResult, WeightMoments
    from calipers.statistics import Moments, SkewMoments

    names = ["MAE", "RMSE"]
    new = evaluated("numbers", table.slice(0, 400), measures=names)
    cal.save_state(new, tmp_path / "new.state")
    with (tmp_path / "new.state").open("rb") as stream:
        tree = serialization.read(stream, extra_types=(FirstPassResult, WeightMoments))
    old = {
        number: Moments(**{k: v for k, v in vars(of).items() if k in Moments.__annotations__})
        if isinstance(of, SkewMoments)
        else of
        for number, of in tree["passed"].statistics.items()
    }
    tree |= {"version": 1, "passed": replace(tree["passed"], statistics=old)}
    (tmp_path / "old.state").write_bytes(serialization.to_bytes(tree))
    cal.save_state(evaluated("numbers", table.slice(400), measures=names), tmp_path / "b.state")
    whole = evaluated("numbers", table, measures=names)
    for first, method in (("old.state", "delta"), ("new.state", "t, skewness-corrected")):
        made = cal.merge_states([tmp_path / first, tmp_path / "b.state"])
        for a, b in zip(made, whole, strict=True):
            assert a.value == pytest.approx(b.value, rel=1e-12)
            assert a.method.startswith(method)


@pytest.mark.parametrize("name", OF_VERSION_1)
def test_states_of_version_1_are_read(name: str, tmp_path: Path) -> None:
    data, numbers = OF_VERSION_1[name]
    path = tmp_path / "old.state"
    path.write_bytes(base64.b64decode(data))
    found = {f"{e.system}|{e.measure}": (e.value, e.low, e.high) for e in cal.merge_states([path])}
    assert found.keys() == numbers.keys()
    for key, expected in numbers.items():
        # (With weights, limits of these come from replicates of the cells since then.)
        n = 1 if name == "labels-weighted" and key.endswith(("MCC", "kappa")) else 3
        assert found[key][:n] == pytest.approx(expected[:n], rel=1e-12, nan_ok=True), key
