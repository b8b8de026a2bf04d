"""Columns of labels and of probabilities from every library, encoded and checked."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from calipers.data.binary_labels import encode_binary, encode_predictions, positive_probability
from calipers.data.class_labels import ClassLabels, encode_classes, encode_labels
from calipers.data.class_probabilities import has_class_columns, probability_matrix
from calipers.data.errors import InputError

WORDS = ["man", "child", "woman", "man", "child"]
CODES = [1, 0, 2, 1, 0]

HOLDERS: dict[str, Callable[[list[str]], Any]] = {
    "list": list,
    "tuple": tuple,
    "NumPy text": np.array,
    "NumPy bytes": lambda v: np.array(v, "S"),
    "NumPy objects": lambda v: np.array(v, object),
    "every second of an array": lambda v: np.repeat(np.array(v), 2)[::2],
    "pandas text": pd.Series,
    "pandas objects": lambda v: pd.Series(v, dtype=object),
    "pandas categorical": lambda v: pd.Series(v).astype("category"),
    "a pandas Categorical": pd.Categorical,
    "pandas text of Arrow": lambda v: pd.Series(v, dtype=pd.ArrowDtype(pa.string())),
    "polars": pl.Series,
    "polars categorical": lambda v: pl.Series(v, dtype=pl.Categorical),
    "Arrow": pa.array,
    "Arrow in chunks": lambda v: pa.chunked_array([v[:2], v[2:]]),
    "Arrow dictionary": lambda v: pa.array(v).dictionary_encode(),
    "Arrow dictionaries in chunks": lambda v: pa.chunked_array(
        [pa.array(v[:2]).dictionary_encode(), pa.array(v[2:]).dictionary_encode()]
    ),
    "Arrow views": lambda v: pa.array(v, pa.string_view()),
}


@pytest.mark.parametrize("holder", HOLDERS)
def test_text_of_every_library(holder: str) -> None:
    found = encode_classes(HOLDERS[holder](WORDS))
    assert found.names == ("child", "man", "woman")
    assert found.codes.tolist() == CODES
    assert found.encode(HOLDERS[holder](WORDS[::-1]), "predicted").tolist() == CODES[::-1]


@pytest.mark.parametrize(
    "holder",
    [k for k in HOLDERS if k not in ("NumPy text", "NumPy bytes", "every second of an array")],
)
def test_a_missing_label_is_counted_and_its_rows_are_named(holder: str) -> None:
    values = HOLDERS[holder]([*WORDS, None, "man", None])  # type: ignore[list-item]
    with pytest.raises(InputError, match=r"^truth: 2 of 8 values are missing, .* in rows 5, 7$"):
        encode_labels(values, "truth")


@pytest.mark.parametrize(
    "column",
    [
        pd.Categorical(["low", "high", "mid"], ["low", "mid", "high", "top"], ordered=True),
        pl.Series(["low", "high", "mid"], dtype=pl.Enum(["low", "mid", "high"])),
        pa.DictionaryArray.from_arrays([0, 2, 1], ["low", "mid", "high"], ordered=True),
    ],
    ids=["pandas", "polars", "Arrow"],
)
def test_an_ordered_categorical_keeps_its_order(column: Any) -> None:
    found = encode_classes(column)
    assert found.names == ("low", "mid", "high")
    assert found.codes.tolist() == [0, 2, 1]
    # A class that only the predictions know stands at its end.
    assert encode_classes(column, other_columns={"predicted": ["a"]}).names == (
        "low",
        "mid",
        "high",
        "a",
    )


@pytest.mark.parametrize(
    ("values", "names"),
    [
        ([10, 9, 2], ("2", "9", "10")),
        ([10.0, 9.0, 2.0], ("2", "9", "10")),
        ([0.5, 10.0, 2.0], ("0.5", "2", "10")),
        (np.array([200, 0, 7], np.uint8), ("0", "7", "200")),
        (np.array([-128, 127, 0], np.int8), ("-128", "0", "127")),
        ([2**62, -(2**62), 0], (str(-(2**62)), "0", str(2**62))),
        (np.array([2**64 - 1, 2**64 - 3], np.uint64), (str(2**64 - 3), str(2**64 - 1))),
        ([True, False, True], ("False", "True")),
        (["10", "9", "2"], ("10", "2", "9")),
        (["b", "", "ä"], ("", "b", "ä")),
        (np.array([1, "a", 2.5], object), ("1", "2.5", "a")),
        (np.array([1, 1.0, 2], object), ("1", "2")),
        (pd.Categorical([3, 1, 2]), ("1", "2", "3")),
        (pd.Series([3, 1], dtype="Int64"), ("1", "3")),
    ],
)
def test_labels_of_every_type(values: Any, names: tuple[str, ...]) -> None:
    found = encode_classes(values)
    assert found.names == names
    text = [str(int(v)) if isinstance(v, float) and v.is_integer() else str(v) for v in values]
    assert [names[code] for code in found.codes] == text


def test_what_is_equal_is_one_class() -> None:
    found = encode_classes([0, 1, 2, 1])
    for same in ([0.0, 1.0, 2.0, 1.0], ["0", "1", "2", "1"], pd.Series(["0", "1", "2", "1"])):
        assert found.encode(same, "predicted").tolist() == [0, 1, 2, 1]
    assert found.encode([False, True, False, True], "predicted").tolist() == [0, 1, 0, 1]
    assert encode_classes([True, False]).encode([1, 0], "predicted").tolist() == [1, 0]


def test_classes_without_a_row() -> None:
    assert encode_classes(WORDS, ["woman", "man", "child", "dog"]).codes.tolist() == [1, 2, 0, 1, 2]
    assert encode_classes(WORDS, other_columns={"predicted": ["cat"]}).names == (
        "cat",
        "child",
        "man",
        "woman",
    )
    assert encode_classes(WORDS, extra_names=["dog"]).names == ("child", "dog", "man", "woman")
    assert encode_classes(
        [0, 5], other_columns={"predicted": [3]}, extra_names=["10", "5"]
    ).names == (
        "0",
        "10",
        "3",
        "5",
    )


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: encode_classes(WORDS, ["woman", "men", "child"]), "truth: 'man' in row 0 is not a class; did you mean 'woman'? (macro-F1(labels=['a', 'b']) and recall[a] use only some of the classes)"),
        (lambda: encode_classes(WORDS, ["a", "b", "a"]), "labels: 'a' appears more than once"),
        (lambda: encode_classes(WORDS).encode([*WORDS[:4], "dog"], "predicted"), "predicted: 'dog' in row 4 is not a class; there are 'child', 'man', 'woman'"),
        (lambda: encode_classes(WORDS).encode(WORDS[:4], "predicted"), "predicted: has 4 rows, truth has 5"),
        (lambda: encode_classes([1.0, float("nan")]), "truth: is NaN in row 1, expected finite numbers"),
        (lambda: encode_classes({"a"}), "truth: {'a'} is not a column of values"),
        (lambda: encode_classes([]), "truth: is empty"),
        (lambda: encode_classes(pa.array([], pa.string())), "truth: is empty"),
        (lambda: encode_classes(np.zeros((2, 2))), "truth: has shape (2, 2), expected one value per row"),
    ],
)  # fmt: skip
def test_bad_labels(call: Callable[[], Any], message: str) -> None:
    with pytest.raises(InputError) as raised:
        call()
    assert str(raised.value) == message


def test_one_class_against_the_rest() -> None:
    labels = encode_binary(WORDS, "man")
    assert labels.names == ("not man", "man")
    assert labels.others == ("child", "woman")
    assert labels.positive.tolist() == [code == 1 for code in CODES]
    called = encode_predictions(["man", "woman", "dog", "child", "man"], labels, "predicted")
    assert called.tolist() == [True, False, False, False, True]


BOOLEANS = {
    "list": list,
    "NumPy": np.array,
    "NumPy objects": lambda v: np.array(v, object),
    "pandas": pd.Series,
    "nullable pandas": lambda v: pd.Series(v, dtype="boolean"),
    "pandas of Arrow": lambda v: pd.Series(v, dtype=pd.ArrowDtype(pa.bool_())),
    "polars": pl.Series,
    "Arrow": pa.array,
    "Arrow in chunks": lambda v: pa.chunked_array([v[:1], v[1:]]),
}


@pytest.mark.parametrize("holder", BOOLEANS)
def test_booleans_of_every_library(holder: str) -> None:
    labels = encode_binary(BOOLEANS[holder]([True, False, True]))
    assert labels.names == ("False", "True")
    assert labels.positive.tolist() == [True, False, True]
    called = encode_predictions(
        BOOLEANS[holder]([False, False, True]), encode_binary([0, 1, 1]), "called"
    )
    assert called.tolist() == [False, False, True]


def test_a_column_for_each_of_two_classes() -> None:
    """An array in the order of the classes, whichever is positive; names where there are some."""
    table = np.array([[0.9, 0.1], [0.2, 0.8], [0.4, 0.6]])
    for positive, column in (("ill", 0), ("well", 1)):
        labels = encode_binary(["ill", "well", "well"], positive)
        named = {"well": table[:, 1], "ill": table[:, 0]}
        for given in (table, table.tolist(), named, pd.DataFrame(named)):
            made = positive_probability(given, labels, "p")
            np.testing.assert_array_equal(made, table[:, column])
    np.testing.assert_array_equal(positive_probability([0.1, 0.8, 0.6], labels, "p"), table[:, 1])


def test_random_columns_against_numpy() -> None:
    """What comes out is what ``np.unique`` gives: 200 random columns."""
    generator = np.random.default_rng(8)
    for case in range(200):
        values = generator.integers(-(10 ** (case % 12)), 10 ** (case % 12) + 1, 50)
        given = [
            values,
            values.astype(str),
            values.astype(float),
            values.astype(str).astype(object),
        ]
        column = given[case % 4]
        names, codes = np.unique(column, return_inverse=True)
        found = encode_classes(column)
        assert found.codes.tolist() == codes.tolist()
        assert len(found.names) == len(names)


NAMES = ("a", "b", "c")
TWO_ROWS = ClassLabels(NAMES, np.array([2, 0]))
TABLE = np.array([[0.2, 0.3, 0.5], [1.0, 0.0, 0.0]])
SHUFFLED = {"c": TABLE[:, 2], "a": TABLE[:, 0], "b": TABLE[:, 1]}


@pytest.mark.parametrize(
    "given",
    [TABLE, TABLE.tolist(), SHUFFLED, pd.DataFrame(SHUFFLED), pl.DataFrame(SHUFFLED), pa.table(SHUFFLED)],
    ids=["array", "lists", "dict", "pandas", "polars", "Arrow"],
)  # fmt: skip
def test_probabilities_of_every_kind(given: Any) -> None:
    np.testing.assert_array_equal(probability_matrix(given, TWO_ROWS)[0], TABLE)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (TABLE[:, :2], "probability: has shape (2, 2), expected a column for each of the 3 classes: a, b, c"),
        (TABLE[:, 0], "probability: has one column; with 3 classes (a, b, c) a column for each of them is needed, or a positive class (positive=…)"),
        (TABLE[:1], "probability: has 1 rows, truth has 2"),
        (TABLE * 1.001, "probability of 'a': is 1.001 in row 1, expected probabilities between 0 and 1"),
        (TABLE * 0.999, "probability: sum to 0.999 in row 0 (and 1 more rows), expected 1 within 1e-06"),
        (TABLE + np.array([0.3, -0.3, 0.0]), "probability of 'a': is 1.3 in row 1, expected probabilities between 0 and 1"),
        (TABLE + np.array([0.0, -0.31, 0.31]), "probability of 'b': is -0.01 in row 0 (and 1 more rows), expected probabilities between 0 and 1"),
        (np.where(TABLE == 0.3, np.nan, TABLE), "probability of 'b': is missing in row 0, expected probabilities between 0 and 1"),
        ({"a": [1], "b": [0], "c": [0]}, "probability of 'a': has 1 rows, truth has 2"),
        ({"a": [1, 1], "b": [0, 0]}, "probability: the class 'c' has no column; there are 'a', 'b'"),
        ({"a": [1, 1], "dog": [0, 0]}, "probability: 'dog' is not a class; there are 'a', 'b', 'c'"),
        ("abc", "probability: 'abc' is not a column of values"),
    ],
)  # fmt: skip
def test_bad_probabilities(given: Any, message: str) -> None:
    with pytest.raises(InputError) as raised:
        probability_matrix(given, TWO_ROWS)
    assert str(raised.value) == message


def test_a_sum_may_be_off_by_a_millionth() -> None:
    probability_matrix(TABLE + np.array([0, 0, 0.9e-6]) * [[1], [0]], TWO_ROWS)
    with pytest.raises(InputError, match=r"sum to 1\.000001 in row 0"):
        probability_matrix(TABLE + np.array([0, 0, 1.2e-6]) * [[1], [0]], TWO_ROWS)


def test_a_dict_of_classes_is_told_from_a_dict_of_systems() -> None:
    assert has_class_columns(SHUFFLED, NAMES)
    assert has_class_columns({"a": [1.0], "b": [0.0]}, NAMES)  # and 'c' is missing
    assert not has_class_columns({"first": TABLE, "second": TABLE}, NAMES)
    assert not has_class_columns({"first": SHUFFLED}, NAMES)
    assert not has_class_columns({"first": TABLE.tolist()}, NAMES)
    assert not has_class_columns({"first": pd.DataFrame(SHUFFLED)}, NAMES)
    assert not has_class_columns({"first": [0.5], "second": [0.4]}, ("ill", "well"))
    assert has_class_columns({"ill": [0.5], "well": [0.5]}, ("well", "ill"))
    assert not has_class_columns(TABLE, NAMES)
