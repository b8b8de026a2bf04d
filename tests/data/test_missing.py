"""A value that is missing is told as such, in whatever way a column says it and wherever it goes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import calipers as cal
from calipers.data.arrays import missing_mask

TRUTH = [0, 1, 0, 1, 0, 1, 1, 0, 1, 0]
CLASSES = [0, 1, 2, 1, 0, 1, 2, 0, 1, 0]
SCORE = [0.1, 0.9, 0.3, 0.6, 0.2, 0.4, 0.7, 0.5, 0.8, 0.35]
WORDS = list("ababababab")
IDS = list("abcdefghij")
QUICK: dict[str, Any] = {"interval": "none"}
ROW = 4


def without(values: list[Any], nothing: Any = None) -> list[Any]:
    return [nothing if row == ROW else value for row, value in enumerate(values)]


def nullable(values: list[Any]) -> Any:
    kinds = {int: "Int64", float: "Float64", str: "string"}
    return pd.Series(without(values), dtype=kinds[type(values[0])])


#: Ways to say that row 4 has no value.
FORMS: dict[str, Callable[[list[Any]], Any]] = {
    "a masked array": lambda v: np.ma.array(v, mask=[row == ROW for row in range(len(v))]),
    "a list with a masked value": lambda v: without(v, np.ma.masked),
    "a list with None": without,
    "a list with NA": lambda v: without(v, pd.NA),
    "a list with NaN": lambda v: without(v, float("nan")),
    "pandas, nullable": nullable,
    "pandas, objects": lambda v: pd.Series(without(v, pd.NA), dtype=object),
    "pandas, categories": lambda v: pd.Series(without(v)).astype("category"),
    "pandas, Arrow": lambda v: pd.Series(without(v), dtype=pd.ArrowDtype(pa.array(v).type)),
    "polars": lambda v: pl.Series(without(v)),
    "Arrow": lambda v: pa.array(without(v)),
    "Arrow in chunks": lambda v: pa.chunked_array([without(v)[:5], v[5:]]),
}


#: Everywhere a column is taken; ``m`` takes the value of row 4 away.
PLACES: dict[str, Callable[[Callable[[list[Any]], Any]], Any]] = {
    "truth": lambda m: cal.classification(m(TRUTH), score=SCORE, **QUICK),
    "text as truth": lambda m: cal.classification(m(WORDS), WORDS, positive="a", **QUICK),
    "predicted": lambda m: cal.classification(TRUTH, m(TRUTH), **QUICK),
    "score": lambda m: cal.classification(TRUTH, score=m(SCORE), **QUICK),
    "probability": lambda m: cal.classification(TRUTH, probability={"a": m(SCORE)}, **QUICK),
    "weight": lambda m: cal.classification(TRUTH, score=SCORE, weight=m(SCORE), **QUICK),
    "cluster": lambda m: cal.classification(TRUTH, score=SCORE, cluster=m(TRUTH), **QUICK),
    "text as cluster": lambda m: cal.classification(TRUTH, score=SCORE, cluster=m(IDS), **QUICK),
    "one of several classes": lambda m: cal.classification(m(CLASSES), CLASSES, **QUICK),
    "a class's scores": lambda m: cal.classification(
        CLASSES, score={"s": {"0": SCORE, "1": m(SCORE), "2": SCORE}}, **QUICK
    ),
    "a label": lambda m: cal.multilabel({"a": m(TRUTH), "b": TRUTH}, {"a": TRUTH, "b": TRUTH}, **QUICK),
    "a label's scores": lambda m: cal.multilabel(
        {"a": TRUTH, "b": TRUTH}, score={"a": m(SCORE), "b": SCORE}, **QUICK
    ),
    "a number": lambda m: cal.regression(m(SCORE), SCORE, **QUICK),
    "a predicted number": lambda m: cal.regression(SCORE, m(SCORE), **QUICK),
    "a score to choose a threshold by": lambda m: cal.operating_point(TRUTH, m(SCORE), **QUICK),
    "a score to correlate": lambda m: cal.rank_correlation(m(SCORE), SCORE),
    "what a measure is called with": lambda m: cal.measure("AUC")(TRUTH, m(SCORE)),
    "a column of a table": lambda m: cal.classification(
        "y", score="p", data={"y": TRUTH, "p": m(SCORE)}, **QUICK
    ),
    "grades": lambda m: cal.retrieval(
        {"topic": ["1"] * 10, "doc": IDS, "grade": m(TRUTH)}, {"1": {"a": 1.0}}, **QUICK
    ),
    "documents": lambda m: cal.retrieval(
        {"topic": ["1"] * 10, "doc": m(IDS), "grade": TRUTH}, {"1": {"a": 1.0}}, **QUICK
    ),
    "scores of documents": lambda m: cal.retrieval(
        {"1": {"a": 1}}, {"topic": ["1"] * 10, "doc": IDS, "score": m(SCORE)}, **QUICK
    ),
}  # fmt: skip


@pytest.mark.parametrize("place", PLACES)
def test_a_missing_value_is_told_with_its_row(place: str) -> None:
    for form in FORMS.values():
        with pytest.raises(cal.InputError) as raised:
            PLACES[place](form)
        text = str(raised.value)
        # A number that is NaN is called that: it need not be missing.
        assert "missing" in text or "NaN" in text or "nan" in text, text
        assert f"row {ROW}" in text, text


@pytest.mark.parametrize("form", FORMS)
def test_rows_with_missing_values_can_be_left_out(form: str) -> None:
    take = FORMS[form]
    kept = [row for row in range(10) if row != ROW]
    expected = cal.classification(
        [TRUTH[row] for row in kept], score=[SCORE[row] for row in kept], **QUICK
    )
    for columns in ({"truth": take(TRUTH), "score": SCORE}, {"truth": TRUTH, "score": take(SCORE)}):
        ev = cal.classification(**columns, missing="drop", **QUICK)
        assert [e.value for e in ev] == [e.value for e in expected]
        assert "1 of 10 rows are left out" in ev.notes[0]
    labels = cal.multilabel(
        {"a": take(TRUTH), "b": TRUTH}, score={"a": SCORE, "b": take(SCORE)}, missing="drop",
        measures=["LRAP"], **QUICK,
    )  # fmt: skip
    assert labels["LRAP"].n_total == 9


@pytest.mark.parametrize("form", FORMS)
def test_a_value_of_a_unit_may_be_missing(form: str) -> None:
    """NaN says that there is none on this unit, and so do all other ways to say it."""
    ev = cal.from_values({"a": FORMS[form](SCORE), "b": SCORE})
    assert ev["a", "value"].n == 9
    assert ev["a", "value"].value == pytest.approx((sum(SCORE) - SCORE[ROW]) / 9)


def test_masks_of_tables() -> None:
    mask = [[False, row == ROW] for row in range(10)]
    table = np.ma.array([[0.25, 0.75]] * 10, mask=mask)
    sets = np.ma.array([[0, 1]] * 10, mask=mask)
    three = np.ma.hstack([table, table[:, :1]])
    for made in (
        lambda: cal.classification(TRUTH, probability=table, **QUICK),
        lambda: cal.classification(TRUTH, probability=list(table), **QUICK),
        lambda: cal.classification(CLASSES, score=three, **QUICK),
        lambda: cal.multilabel(sets, score=table, **QUICK),
        lambda: cal.multilabel(sets.data, sets, **QUICK),
        lambda: cal.multilabel(sets.data, score=list(table), **QUICK),
    ):
        with pytest.raises(cal.InputError, match=rf"missing.* row {ROW}|NaN in row {ROW}"):
            made()


def test_a_mask_of_nothing_changes_nothing() -> None:
    plain = cal.classification(TRUTH, score=SCORE, weight=SCORE, **QUICK)
    masked = cal.classification(
        np.ma.array(TRUTH), score=np.ma.array(SCORE), weight=np.ma.array(SCORE), **QUICK
    )
    assert [e.value for e in plain] == [e.value for e in masked]
    assert cal.regression([1.0, 2.0], np.ma.array([1.0, 500.0], mask=[0, 0]))["MAE"].value == 249


NOTHING = (
    None,
    float("nan"),
    np.float64("nan"),
    np.ma.masked,
    pd.NA,
    pd.NaT,
    np.datetime64("NaT", "D"),
)


@pytest.mark.parametrize("nothing", NOTHING, ids=repr)
def test_a_missing_document_of_a_ranking_is_told_with_its_rank(nothing: Any) -> None:
    for ranking in (["a", nothing], ("a", nothing, "b", nothing)):
        for first, second, what in (
            (ranking, ["None", "nan"], "first"),
            (["a"], ranking, "second"),
        ):
            with pytest.raises(
                cal.InputError,
                match=rf"^{what}: \d of \d documents are missing, the first at rank 2$",
            ):
                cal.rbo(first, second)


@pytest.mark.parametrize("nothing", NOTHING, ids=repr)
def test_a_missing_number_in_a_dict_is_told_with_its_document(nothing: Any) -> None:
    qrels, run = {"q1": {"b": 1, "a": 1}}, {"q1": {"b": 1.0, "a": 2.0}}
    without: dict[str, Any] = {"q1": {"b": 1, "a": nothing}}
    is_number = isinstance(nothing, float)
    with pytest.raises(
        cal.InputError, match=r"^qrels: topic q1, document a: the grade is missing$"
    ):
        cal.retrieval(without, run, **QUICK)
    says = "score is NaN" if is_number else "the score is missing"
    with pytest.raises(cal.InputError, match=rf"^run: topic q1, document a: {says}$"):
        cal.retrieval(qrels, without, **QUICK)
    says = "level .*nan" if is_number else "the level is missing"
    with pytest.raises(
        cal.InputError, match=rf"'q1', group 'g', document 'a': {says}.*, expected a"
    ):
        cal.retrieval({"q1": {"g": without["q1"]}}, run, measures="diversity", **QUICK)


@pytest.mark.parametrize("nothing", NOTHING, ids=repr)
def test_a_missing_class_is_none(nothing: Any) -> None:
    named = str(None if isinstance(nothing, np.datetime64) else nothing)
    with pytest.raises(
        cal.InputError, match=r"^labels: 1 of 2 values are missing, the first in row 1"
    ):
        cal.classification(["a", named], ["a", named], labels=["a", nothing])
    if nothing is not None:
        with pytest.raises(cal.InputError, match=r"^positive is missing, expected a class"):
            cal.classification(["a", named], ["a", named], positive=nothing)


@pytest.mark.parametrize("is_chunked", [False, True])
def test_a_missing_value_may_be_in_the_dictionary_of_a_column(is_chunked: bool) -> None:
    indices = pa.array([0, 1, 0, 2], pa.int32())
    for words, expected in (
        (pa.array(["a", None, "b"]), [False, True, False, False]),
        (pa.array([0.5, 1.0, float("nan")]), [False, False, False, True]),
        (pa.array(["a", "b", "c"]), [False] * 4),
    ):
        column = pa.DictionaryArray.from_arrays(indices, words)
        if is_chunked:
            column = pa.chunked_array([column[:2], column[2:]])
        assert missing_mask(column, "label").tolist() == expected
