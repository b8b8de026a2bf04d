"""Columns by name, tables joined by id, and rows with missing values left out."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import calipers as cal
from calipers.data.columns import collect_columns

DATA = pd.DataFrame(
    {
        "row": ["r1", "r2", "r3", "r4"],
        "y": [1, 0, 1, 0],
        "s": [0.9, 0.2, 0.6, 0.7],
        "t": [0.8, 0.1, 0.7, 0.3],
        "p_0": [0.1, 0.8, 0.4, 0.3],
        "p_1": [0.9, 0.2, 0.6, 0.7],
    }
)
#: Another order, and numbers that tell the rows.
OTHER = pd.DataFrame({"row": ["r3", "r1", "r4", "r2"], "score": [3.0, 1.0, 4.0, 2.0]})


def listed(values: Any) -> Any:
    if isinstance(values, dict):
        return {name: listed(value) for name, value in values.items()}
    return values.tolist() if hasattr(values, "tolist") else values.to_pylist()


@pytest.mark.parametrize("data", [DATA, pl.from_pandas(DATA), pa.table(DATA), DATA.to_dict("list")])
def test_columns_by_name(data: Any) -> None:
    made = collect_columns(
        {"truth": "y", "score": ["s", "t"], "probability": "p_*", "weight": None}, data=data
    )
    assert listed(made.columns["truth"]) == [1, 0, 1, 0]
    assert list(made.columns["score"]) == ["s", "t"]
    assert list(made.columns["probability"]) == ["0", "1"]
    assert made.columns["weight"] is None
    assert listed(collect_columns({"score": {"mine": "s"}}, data=data).columns["score"]) == {
        "mine": [0.9, 0.2, 0.6, 0.7]
    }


def test_columns_and_names_may_stand_together() -> None:
    ev = cal.classification("y", score={"a": "s", "b": [0.1, 0.2, 0.3, 0.4]}, data=DATA)
    assert ev.systems == ("a", "b")
    words = cal.classification("y", ["1", "0", "1", "1"], data=DATA, measures=["accuracy"])
    assert words["accuracy"].value == 0.75


def test_a_table_is_joined_by_its_ids(tmp_path: Path) -> None:
    OTHER.to_csv(tmp_path / "other.csv", index=False)
    for other in (OTHER, pl.from_pandas(OTHER), pa.table(OTHER), tmp_path / "other.csv"):
        made = collect_columns(
            {"truth": "y", "score": {"a": other, "b": "s"}}, data=DATA, id_column="row"
        )
        assert listed(made.columns["score"]["a"]) == [1.0, 2.0, 3.0, 4.0]
        assert listed(made.columns["score"]["b"]) == DATA.s.tolist()


def test_ids_of_another_type_are_the_same_ids() -> None:
    numbers = pd.DataFrame({"id": [1, 2, 3], "y": [1, 0, 1]})
    words = pd.DataFrame({"id": ["3", "1", "2"], "score": [3.0, 1.0, 2.0]})
    made = collect_columns({"score": words}, data=numbers, id_column="id")
    assert listed(made.columns["score"]) == [1.0, 2.0, 3.0]


def test_columns_of_classes_are_joined() -> None:
    table = OTHER.assign(**{"0": [0.1, 0.2, 0.3, 0.4], "1": [0.9, 0.8, 0.7, 0.6]}).drop(
        columns="score"
    )
    ev = cal.classification("y", probability={"a": table}, data=DATA, id="row", measures=["Brier"])
    expected = np.mean([(0.8 - 1) ** 2, 0.6**2, (0.9 - 1) ** 2, 0.7**2])
    assert ev["Brier"].value == pytest.approx(expected)


@pytest.mark.parametrize(
    ("other", "message"),
    [
        (OTHER[:2], "score 'a': the ids 'r2', 'r4' are missing"),
        (OTHER[:3], "score 'a': the id 'r2' is missing"),
        (OTHER[:0], "score 'a': the ids 'r1', 'r2', 'r3' and 1 more are missing"),
        (pd.concat([OTHER, OTHER[1:2]]), "score 'a': the id 'r1' is duplicated"),
        (pd.concat([OTHER, OTHER.assign(row="x" + OTHER.row)]), "score 'a': the ids 'xr3', 'xr1', 'xr4' and 1 more are not in data"),
        (OTHER.rename(columns={"row": "Row"}), "score 'a': no column 'row' of ids; did you mean 'Row'?"),
        (OTHER.assign(row=[None, "r1", "r4", "r2"]), "score 'a': 1 ids are missing, the first in row 0"),
        (OTHER.assign(x=1).rename(columns={"score": "y"}), "score 'a': in addition to its ids the table has the columns 'y', 'x'; expected one, or one called 'score'"),
        (Path("nothing.csv"), "nothing.csv: no such file"),
    ],
)  # fmt: skip
def test_ids_that_do_not_match(other: Any, message: str) -> None:
    with pytest.raises(cal.InputError) as raised:
        collect_columns({"truth": "y", "score": {"a": other}}, data=DATA, id_column="row")
    assert str(raised.value) == message


def test_rows_without_their_id_are_left_out_on_request() -> None:
    other = pd.concat([OTHER[:3], OTHER[1:2], OTHER[1:2].assign(row="z")])  # no r2, r1 twice, a z
    made = collect_columns(
        {"truth": "y", "score": {"a": other, "b": "s"}}, data=DATA, id_column="row", missing="drop"
    )
    assert listed(made.columns["truth"]) == [1, 0]
    assert listed(made.columns["score"]) == {"a": [3.0, 4.0], "b": [0.6, 0.7]}
    assert made.notes == (
        "2 of 4 rows are left out because of their ids. "
        "score 'a': the ids 'r1', 'r2' are missing or duplicated. "
        "score 'a': the id 'z' is not in data.",
    )


HOLDERS = {
    "lists": list,
    "NumPy": lambda v: np.array(v, float),
    "objects": lambda v: np.array(v, object),
    "pandas": pd.Series,
    "nullable pandas": lambda v: pd.Series(v, dtype="Float64"),
    "polars": pl.Series,
    "Arrow": pa.array,
    "Arrow in chunks": lambda v: pa.chunked_array([v[:2], v[2:]], pa.float64()),
}


@pytest.mark.parametrize("holder", HOLDERS)
def test_rows_with_a_missing_value_are_left_out_on_request(holder: str) -> None:
    make = HOLDERS[holder]
    score = make([0.1, None, 0.8, 0.7, 0.2, 0.6])
    truth = ["no", "no", "yes", None, "no", "yes"]
    weight = [1, 1, 1, 1, None, 1]
    ev = cal.classification(
        truth, score={"a": score, "b": [1.0, 2, 3, 4, 5, 6]}, weight=weight, positive="yes",
        missing="drop", measures=["AUC"], curves=False,
    )  # fmt: skip
    assert ev["a", "AUC"].n_total == 3
    assert ev.notes[0] == (
        "3 of 6 rows are left out because values are missing: 1 in truth, 1 in score 'a', "
        "1 in weight."
    )
    with pytest.raises(cal.InputError, match="truth: 1 of 6 values are missing"):
        cal.classification(truth, score=score, positive="yes")


def test_missing_probabilities_of_a_class() -> None:
    table = {"0": [0.1, None, 0.4], "1": [0.9, 0.2, 0.6]}
    for given in (table, pd.DataFrame(table), np.array(list(table.values()), float).T):
        made = collect_columns({"truth": [1, 0, 1], "probability": {"a": given}}, missing="drop")
        assert listed(made.columns["truth"]) == [1, 1]
        assert "1 in probability 'a'" in made.notes[0]


def test_nothing_missing_is_not_reported() -> None:
    assert collect_columns({"truth": [1, 0], "score": None}, missing="drop").notes == ()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"missing": "ignore"}, "missing is 'ignore', expected one of error, drop"),
        ({"id_column": "row"}, "id: requires data=; expected the table that has this column"),
        ({"data": DATA, "id_column": "rwo"}, "data: no column 'rwo' of ids; did you mean 'row'?"),
        ({"data": DATA, "truth": "Y"}, "data: no column 'Y'; did you mean 'y'?"),
        ({"data": DATA, "score": ["s", "u"]}, "data: no column 'u'; there are 'row', 'y', 's', 't', 'p_0', 'p_1'"),
        ({"data": DATA, "probability": "q_*"}, "data: no column begins with 'q_'; there are 'row', 'y', 's', 't', 'p_0', 'p_1'"),
        ({"data": 7}, "data: int is not a table; expected a path, a dict of columns, or a data frame (pandas, polars, Arrow)"),
        ({"data": pd.concat([DATA, DATA[:1]]), "id_column": "row"}, "data: the id 'r1' is duplicated"),
        ({"truth": [None, 1.0], "score": [1.0, None], "missing": "drop"}, "no row is complete; values are missing: 1 in truth, 1 in score"),
        ({"truth": [1, 0], "score": [1.0], "missing": "drop"}, "score: has 1 rows, truth has 2"),
    ],
)  # fmt: skip
def test_bad_arguments(arguments: dict[str, Any], message: str) -> None:
    options = {
        key: arguments.pop(key) for key in ("data", "id_column", "missing") if key in arguments
    }
    with pytest.raises(cal.InputError) as raised:
        collect_columns({"truth": None, **arguments}, **options)
    assert str(raised.value) == message


class OnlyDLPack:
    """An array of another library, which NumPy reads by DLPack and in no other way."""

    def __init__(self, values: Any) -> None:
        self.values = np.ascontiguousarray(values)
        self.shape = self.values.shape

    def __len__(self) -> int:
        return len(self.values)

    def __dlpack__(self, **options: Any) -> Any:
        return self.values.__dlpack__(**options)

    def __dlpack_device__(self) -> Any:
        return self.values.__dlpack_device__()


class OfAGraphicsCard(OnlyDLPack):
    def __dlpack__(self, **options: Any) -> Any:
        raise BufferError("cannot export an array of CUDA to the CPU")

    def __dlpack_device__(self) -> Any:
        return 2, 0


def test_arrays_that_are_read_by_dlpack() -> None:
    random = np.random.default_rng(3)
    truth, score, weight = random.integers(0, 2, 60), random.random(60), random.random(60)
    points, kinds = random.normal(size=(60, 2)), np.arange(60) % 3
    shares = random.dirichlet(np.ones(3), 60)
    calls: list[Any] = [
        lambda of: cal.classification(of(truth), score=of(score), weight=of(weight)),
        lambda of: cal.classification(of(kinds), probability=of(shares)),
        lambda of: cal.regression(of(score), {"a": of(weight)}),
        lambda of: cal.clustering(of(points), of(kinds)),
    ]
    for call in calls:
        assert call(OnlyDLPack).to_csv() == call(np.asarray).to_csv()
    with pytest.raises(cal.InputError, match=r"score: <OfAGraphicsCard> could not .* CUDA"):
        cal.classification(truth, score=OfAGraphicsCard(score))
