"""Values that something else computed: what is read, and what hostile input is told."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import calipers as cal
from calipers.data.errors import InputError
from calipers.data.external_values import REPETITION, read_values

TIDY = {
    "system": ["a", "a", "b", "b"],
    "topic": ["q1", "q2", "q2", "q1"],
    "value": [0.1, 0.2, 0.4, 0.3],
}
EXPECTED = {"a": [0.1, 0.2], "b": [0.3, 0.4]}


def columns(given: Any, measure: str = "value", **options: Any) -> dict[str, list[float]]:
    read = read_values(given, measure, **options)
    return {system: of[measure].tolist() for system, of in read.values.items()}


def csv(path: Path, text: str, *, encoding: str = "utf-8") -> Path:
    path.write_text(text, encoding=encoding)
    return path


# ------------------------------------------------------------------------------- what can be read


@pytest.mark.parametrize("as_frame", [dict, pd.DataFrame, pl.DataFrame, pa.table])
def test_a_tidy_table_in_any_order(as_frame: Any) -> None:
    read = read_values(as_frame(TIDY))
    assert read.units == ("q1", "q2")
    assert columns(as_frame(TIDY)) == EXPECTED


@pytest.mark.slow
def test_a_column_called_as_the_units_are(tmp_path: Path) -> None:
    of_topics = {**TIDY, "Utterance": ["u2", "u1", "u1", "u2"]}
    assert read_values(of_topics).units == ("q1", "q2")
    assert read_values(of_topics, unit="utterances").units == ("u2", "u1")  # asked for
    plural = {"utterances" if name == "topic" else name: of for name, of in TIDY.items()}
    assert columns(plural, unit="utterances") == EXPECTED
    with pytest.raises(InputError, match=r"no column for the unit; .* expected one of topic, unit"):
        read_values(plural)
    with pytest.raises(
        InputError, match=r"no column for the unit; .* expected one of row, rows, to"
    ):
        read_values(plural, unit="rows")
    # What a column of something else is called is no name of units.
    assert columns(TIDY, unit="values") == columns(TIDY, unit="systems") == EXPECTED
    # What an evaluation writes can be read again, whatever its units are called.
    path = tmp_path / "v.csv"
    made = cal.from_values(EXPECTED, measure="WER", lower_is_better="WER", unit="utterances")
    path.write_text(made.per_unit.to_csv())
    again = cal.from_values(path, lower_is_better="WER", unit="utterances")
    assert again.per_unit.to_csv() == made.per_unit.to_csv()


@pytest.mark.parametrize("suffix", [".csv", ".tsv", ".parquet", ".jsonl", ".feather"])
def test_a_file_of_a_table(tmp_path: Path, suffix: str) -> None:
    path, frame = tmp_path / f"scores{suffix}", pd.DataFrame(TIDY)
    if suffix in (".csv", ".tsv"):
        frame.to_csv(path, sep="\t" if suffix == ".tsv" else ",", index=False)
    elif suffix == ".jsonl":
        frame.to_json(path, orient="records", lines=True)
    elif suffix == ".parquet":
        frame.to_parquet(path)
    else:
        frame.to_feather(path)
    assert columns(path) == columns(str(path)) == columns([path]) == EXPECTED


@pytest.mark.parametrize("system", ["System", "run", "MODEL", "name", "tag"])
@pytest.mark.parametrize("unit", ["unit", "Query", "qid", "dataset", "fold", "split"])
def test_columns_by_other_names(system: str, unit: str) -> None:
    assert columns(dict(zip((system, unit, "score"), TIDY.values(), strict=True))) == EXPECTED


def test_several_measures() -> None:
    read = read_values({**TIDY, "metric": ["AP", "RR", "RR", "AP"], "topic": ["q1"] * 4})
    assert read.measures == ("AP", "RR")
    assert read.values["b"]["RR"].tolist() == [0.4]


def test_dicts_from_units_are_matched_by_name() -> None:
    assert columns({"a": {"q1": 0.1, "q2": 0.2}, "b": {"q2": 0.4, "q1": 0.3}}) == EXPECTED


@pytest.mark.parametrize("as_column", [list, tuple, np.array, pd.Series, pl.Series, pa.array])
def test_columns_in_one_order(as_column: Any) -> None:
    read = read_values({name: as_column(of) for name, of in EXPECTED.items()})
    assert read.units == ("1", "2")
    assert {name: of["value"].tolist() for name, of in read.values.items()} == EXPECTED


def test_systems_may_be_called_as_columns_are() -> None:
    assert columns({"model": [0.1, 0.2], "run": [0.3, 0.4]}) == {
        "model": [0.1, 0.2], "run": [0.3, 0.4],
    }  # fmt: skip


@pytest.mark.parametrize(
    "given",
    [
        {"a": [0.1, None]},
        {"a": [0.1, np.nan]},
        {"a": pd.Series([0.1, None])},
        {"a": pl.Series([0.1, None])},
        {"a": {"q1": 0.1, "q2": None}},
        {"system": ["a", "a"], "topic": ["q1", "q2"], "value": [0.1, None]},
        {"system": ["a", "a"], "topic": ["q1", "q2"], "value": ["0.1", ""]},
    ],
    ids=str,
)
def test_a_missing_value_is_none(given: Any) -> None:
    [value, none] = columns(given)["a"]
    assert value == 0.1
    assert np.isnan(none)


def test_no_value_at_all() -> None:
    assert np.isnan(columns({"a": [None, None]})["a"]).all()


def test_topics_that_a_frame_made_numbers_of(tmp_path: Path) -> None:
    path = csv(tmp_path / "a.eval", "map 301 0.1\nmap 302 0.2\n")
    frame = pd.DataFrame({"system": "b", "topic": [301.0, 302.0], "value": [0.3, 0.4]})
    assert read_values(path).units == read_values(frame).units == ("301", "302")


def test_what_trec_eval_printed(tmp_path: Path) -> None:
    text = "map                   \tq1\t0.25\nP_5 \tq1\t0.2\n\nmap\tall\t0.3\nrunid all my run\n"
    read = read_values({"x": csv(tmp_path / "run", text)})
    assert read.units == ("q1",)
    assert {m: v.tolist() for m, v in read.values["x"].items()} == {"map": [0.25], "P_5": [0.2]}
    [origin] = read.origins
    assert origin.sha256 == hashlib.sha256(text.encode()).hexdigest()
    assert origin.bytes == len(text)


def test_files_of_both_kinds(tmp_path: Path) -> None:
    printed = csv(tmp_path / "old.eval", "map q1 0.1\nmap q2 0.2\n")
    table = csv(tmp_path / "new.csv", "topic,measure,value\nq2,map,0.4\nq1,map,0.3\n")
    assert columns([printed, table], "map") == {"old": [0.1, 0.2], "new": [0.3, 0.4]}
    assert columns({"A": printed, "B": table}, "map") == {"A": [0.1, 0.2], "B": [0.3, 0.4]}


@pytest.mark.parametrize("suffix", [".eval", ".csv"])
def test_a_byte_order_mark_is_no_part_of_a_name(tmp_path: Path, suffix: str) -> None:
    text = "map q1 0.1\n" if suffix == ".eval" else "topic,measure,value\nq1,map,0.1\n"
    assert columns(csv(tmp_path / f"a{suffix}", text, encoding="utf-8-sig"), "map") == {"a": [0.1]}


def test_repetitions_of_splits() -> None:
    given = {
        "system": ["a"] * 4, "fold": [1, 2, 1, 2], "repetition": [1, 1, 2, 2],
        "value": [0.1, 0.2, 0.3, 0.4],
    }  # fmt: skip
    read = read_values(given, repetition_names=REPETITION)
    assert read.units == ("1/1", "1/2", "2/1", "2/2")
    assert read.repetition == ("1", "1", "2", "2")
    with pytest.raises(InputError, match="is given twice"):  # topics are not repeated
        read_values(given)


# -------------------------------------------------------------------------------- what cannot be


def replaced(**other: Any) -> dict[str, Any]:
    return {**TIDY, **other}


def without(name: str) -> dict[str, Any]:
    return {key: column for key, column in TIDY.items() if key != name}


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (None, "values: NoneType has no values; expected a dict from systems"),
        (3.5, "values: float has no values"),
        ([[0.1, 0.2]], "values: list has no values"),
        ([], "values: an empty list, expected at least one file"),
        ({}, "values: an empty dict, expected at least one system"),
        ({"a": []}, "values of 'a': is empty"),
        ({"a": {}}, "values: there are none"),
        ({"a": 0.5}, "values of 'a': 0.5 is not a column of values"),
        ({"a": {0.1, 0.2}}, "values of 'a': .* is not a column of values"),
        ({"a": [[0.1], [0.2]]}, r"values of 'a': has shape \(2, 1\)"),
        ({"a": [0.1, "high"]}, "values of 'a', unit 2: the value is 'high', expected a number"),
        ({"a": [None, np.inf]}, "values of 'a', unit 2: the value is inf, expected a finite"),
        ({"a": [0.1], "b": [0.1, 0.2]}, "values of 'b': has 2 units, 'a' has 1; give a dict"),
        ({"a": {"q1": "0.1_5"}}, "values of 'a', unit 'q1': the value is '0.1_5'"),
        ({"a": {"q1": 1, 1: 2, "1": 3}}, "value of 'a' on '1' is given twice"),
        ({"a": [0.1], "b": {"1": 0.1}}, "systems are given as columns and as dicts"),
        ({"a": [0.1], "b": "b.eval"}, "systems are given as columns and as files"),
        ({"a": {"q1": 0.1, "q2": 0.2}, "b": {"q1": 0.3}},
         r"'b' has no value on 1 of 2 units \('q2'\); expected one on each, or an empty one if it is missing"),
        (replaced(topic=["q1", "q1", "q2", "q1"]),
         "values, row 2: value of 'a' on 'q1' is given twice; the first is values, "
         "row 1"),
        (replaced(topic=["q1", "q2", "q3", "q1"]), r"'a' has no value on 1 of 3 units \('q3'\)"),
        (replaced(measure=["AP", "AP", "RR", "RR"]), "'a' has no values of RR, other systems do"),
        (replaced(value=[0.1, 0.2, float("inf"), 0.3]), "values, row 3: the value is inf"),
        (replaced(value=["x", "1", "2", "3"]), "values, row 1: the value is 'x'"),
        (replaced(topic=["q1", "q2", None, "q1"]), "values, row 3: has no topic"),
        (replaced(system=["a", None, "b", "b"]), "values, row 2: has no system"),
        (replaced(score=[1, 2, 3, 4]), "the columns value and score may both be the value"),
        (replaced(run=["a", "a", "b", "b"]), "the columns system and run may both be the system"),
        (without("topic"), "no column for the unit; the table has system, value, expected one of"),
        (pd.DataFrame(without("value")), "no column for the value; the table has system, topic"),
        (pd.DataFrame(without("system")), "no column for the system; the table has topic, value"),
        (replaced(value=[0.1]), "the columns differ in length: 'system' has 4, 'topic' has 4, 'value' has 1 rows"),
    ],
    ids=str,
)  # fmt: skip
def test_hostile_values(given: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        read_values(given)


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.eval", b"", "a.eval: no values of single topics; trec_eval prints them with -q"),
        ("a.eval", b"map all 0.5\n", "a.eval: no values of single topics"),
        ("a.eval", b"map q1 0.5\nmap 0.5\n", "a.eval:2: 'map 0.5' has 2 fields, expected measure"),
        ("a.eval", b"map q1 0.5\nmap q1 0.6\n", "a.eval:2: map of 'a' on 'q1' is given twice"),
        ("a.eval", b"map q1 good\n", "a.eval:1: the value is 'good', expected a number"),
        ("a.eval", b"map q1 -inf\n", "a.eval:1: the value is '-inf', expected a finite number"),
        ("a.eval", b"map q1 0.5\xff\n", "a.eval:1: the byte 0xff after 'map q1 0.5' is not UTF-8"),
        ("a.csv", b"", "a.csv: the file is empty"),
        ("a.csv", b"topic,value\n", "a.csv: the table has no rows"),
        ("a.csv", b"query,nDCG\nq1,0.5\n", "a.csv: no column for the value; the table has query"),
        ("a.csv", b"topic,value\nq1,0.5\nq1,0.6\n", "a.csv, row 2: value of 'a' on 'q1' is given twice"),
        ("a.parquet", b"PAR1", "a.parquet: cannot be read as a table"),
    ],
)  # fmt: skip
def test_hostile_files(tmp_path: Path, name: str, content: bytes, message: str) -> None:
    (tmp_path / name).write_bytes(content)
    with pytest.raises(InputError, match=message):
        read_values([tmp_path / name])


def test_files_that_are_none(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=f"{tmp_path}: is a directory"):
        read_values(tmp_path)
    with pytest.raises(InputError, match=r"missing\.eval: no such file"):
        read_values([tmp_path / "missing.eval"])
    with pytest.raises(InputError, match=r"missing\.csv: no such file"):
        read_values([tmp_path / "missing.csv"])


def test_two_files_of_one_name(tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    files = [
        csv(tmp_path / "bm25.eval", "map q1 0.1\n"),
        csv(tmp_path / "other" / "bm25.eval", "map q1 0.2\n"),
    ]
    with pytest.raises(InputError, match="two files have one name; give a dict"):
        read_values(files)
    assert columns({"old": files[0], "new": files[1]}, "map") == {"old": [0.1], "new": [0.2]}


def test_files_that_share_no_topic(tmp_path: Path) -> None:
    files = [csv(tmp_path / f"{name}.eval", f"map {name} 0.1\n") for name in "ab"]
    with pytest.raises(InputError, match=r"'a' has no map on 1 of 2 units \('b'\)"):
        read_values(files)


class _Fails:
    """Says that it is an array, and is none."""

    def __init__(self, name: str, error: Exception) -> None:
        self.error = error
        self.__class__ = type("Tensor", (_Fails,), {name: self.fail})

    def fail(self, *_: Any, **__: Any) -> Any:
        raise self.error


@pytest.mark.parametrize("name", ["__array__", "__dlpack__", "to_numpy", "__arrow_c_array__"])
@pytest.mark.parametrize("error", [TypeError("use .cpu() first"), RuntimeError(), ValueError("x")])
def test_what_cannot_become_an_array_is_told_by_its_argument(name: str, error: Exception) -> None:
    fails, y = _Fails(name, error), [0, 1] * 5
    if name == "__dlpack__":
        type(fails).__dlpack_device__ = lambda _: (1, 0)
    for called, argument in {
        "truth": lambda: cal.classification(fails, y),
        "predicted": lambda: cal.classification(y, fails),
        "score": lambda: cal.classification(y, score={"a": fails, "b": y}),
        "weight": lambda: cal.classification(y, y, weight=fails),
        "cluster": lambda: cal.regression(y, y, cluster=fails),
        "features": lambda: cal.clustering(fails, y),
    }.items():
        with pytest.raises(cal.InputError, match=called) as raised:
            argument()
        text = str(raised.value)
        assert "could not be turned into an array" in text
        assert f"{type(error).__name__}: {error}".rstrip() in text
        assert raised.value.__cause__ is error


@pytest.mark.parametrize("error", [TypeError("of no kind"), RuntimeError("gone"), OSError()])
def test_what_cannot_become_a_table_is_told(error: Exception) -> None:
    fails = _Fails("__arrow_c_stream__", error)
    for called in (
        lambda: cal.regression("y", "p", data=fails),
        lambda: cal.agreement(fails),
        lambda: cal.retrieval(fails, {"a": {"q": {"d": 1.0}}}),
        lambda: cal.retrieval({"q": {"d": 1}}, {"a": fails}),
    ):
        with pytest.raises(cal.InputError, match="Tensor cannot be read as a table") as raised:
            called()
        assert str(raised.value).endswith(str(error) or type(error).__name__)
        assert raised.value.__cause__ is error


def test_memory_that_does_not_suffice_is_no_fault_of_the_values() -> None:
    with pytest.raises(MemoryError):
        cal.classification(_Fails("__array__", MemoryError()), [0, 1])
