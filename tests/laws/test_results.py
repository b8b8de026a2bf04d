"""What holds for every result of every verb: it is copied, pickled and written down without loss,
and what is no result is refused with its place."""

from __future__ import annotations

import copy
import csv
import functools
import io
import json
import math
import pickle
import re
from collections.abc import Iterator
from dataclasses import fields, is_dataclass, replace
from pathlib import Path
from typing import Any

import joblib
import jsonschema
import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from results_of_verbs import FEW, MADE, SCORES, TRUTH, result

import calipers as cal
from calipers.results import (
    Comparison,
    ConfusionMatrixResult,
    Curve,
    DecisionRegions,
    Definition,
    Difference,
    Disparity,
    Estimate,
    Evaluation,
    Fairness,
    Finding,
    JudgeBias,
    LabelSelection,
    LabelStratum,
    LabelTable,
    Leaderboard,
    LeaderboardRow,
    MonitoredSystem,
    MonitorLook,
    MonitorResult,
    OmnibusTest,
    ParetoFront,
    ParetoRow,
    PerUnit,
    Plan,
    PlanRow,
    SliceDifference,
    SliceEstimate,
    Slices,
    SparseConfusion,
    ThresholdTable,
    ThresholdTables,
    json_schema,
)
from calipers.results.learning import (
    BiasVariance,
    BiasVarianceRow,
    Candidate,
    LearningCurve,
    LearningCurveExtrapolation,
    LearningCurveRow,
    Selection,
    TunedThreshold,
    ValidationCurve,
    ValidationCurveRow,
)
from calipers.results.per_unit import PerUnitRow
from calipers.results.schema import RESULT_CLASSES
from calipers.results.serialization import JsonSerializable, result_name
from calipers.results.tidy import TidyResult

every_verb = pytest.mark.parametrize("verb", MADE)
SCHEMA = jsonschema.Draft202012Validator(json_schema())


def written(value: Any) -> str:
    return str(value.to_json(details=True))


def parts(value: Any) -> Iterator[JsonSerializable]:
    """The result and all results in it."""
    if isinstance(value, JsonSerializable):
        yield value
    if is_dataclass(value) and not isinstance(value, type):
        for f in fields(value):
            if not f.metadata.get("own"):
                yield from parts(getattr(value, f.name))
    elif not isinstance(value, str | bytes | np.ndarray | dict) and hasattr(value, "__iter__"):
        for part in value:
            yield from parts(part)


def samples() -> dict[type, Any]:
    """One of each kind of result, a full one."""
    found: dict[type, Any] = {}
    for verb in MADE:
        for part in parts(result(verb)):
            kind = type(part)
            have = len(written(found[kind])) if kind in found else math.inf
            size = len(written(part))
            if (have < size < 8_000) or (size < have and have > 8_000):
                found[kind] = part
    return found


def same(one: Any, other: Any) -> bool:
    """Equal to the last bit, NaN to NaN; a tuple may have become a list only in what is free."""
    if isinstance(one, np.ndarray):
        return bool(np.array_equal(one, other, equal_nan=True)) and one.shape == other.shape
    if isinstance(one, float) and isinstance(other, float) and math.isnan(one):
        return math.isnan(other)
    if isinstance(one, JsonSerializable):
        return type(one) is type(other) and all(
            same(getattr(one, f.name), getattr(other, f.name))
            for f in fields(one)
            if not f.metadata.get("own")
        )
    if isinstance(one, dict):
        return list(one) == list(other) and all(same(v, other[k]) for k, v in one.items())
    if not isinstance(one, str) and hasattr(one, "__len__"):
        return len(one) == len(other) and all(same(a, b) for a, b in zip(one, other, strict=True))
    return bool(one == other)


# ------------------------------------------------------------------------------ copies and pickles


def copies(value: Any) -> Iterator[Any]:
    yield copy.copy(value)
    yield copy.deepcopy(value)
    for protocol in (2, pickle.HIGHEST_PROTOCOL):
        yield pickle.loads(pickle.dumps(value, protocol))


@pytest.mark.slow
@every_verb
def test_a_result_is_copied_and_pickled(verb: str) -> None:
    before = pickle.dumps(MADE[verb]())  # nothing of it was looked at
    text = written(result(verb))
    again = pickle.loads(before)
    assert type(again) is type(result(verb))
    for looked_at in (str, repr, written):
        looked_at(result(verb))
    if verb in ("classes", "topics", "compared topics"):
        result(verb).to_html()  # and what a page keeps
    for again in copies(result(verb)):
        assert written(again) == text
    assert str(again) == str(result(verb))


SEVERAL = ("scores", "threshold of a rule", "classes", "regression", "topics", "given values")


@pytest.mark.parametrize("verb", SEVERAL)
def test_a_copied_evaluation_can_be_worked_with(verb: str) -> None:
    evaluation = result(verb)
    again = pickle.loads(pickle.dumps(evaluation))
    one, other = evaluation.compare(seed=3), again.compare(seed=3)
    assert written(one) == written(other)
    if verb == "scores":
        assert same(cal.curve(evaluation, "ROC", "fine"), cal.curve(again, "ROC", "fine"))
        assert written(
            cal.plan("recall", evaluation, half_width=0.05, system="fine", n_resamples=100)
        ) == (written(cal.plan("recall", again, half_width=0.05, system="fine", n_resamples=100)))
    if verb == "topics":
        curves = [cal.averaged_curves(e, "ranks") for e in (evaluation, again)]
        assert same(*curves)


@pytest.mark.slow
def test_results_come_back_from_joblib() -> None:
    """From other processes, where they were made or where they were sent."""
    whole = [result(verb) for verb in MADE]
    made = joblib.delayed(cal.classification)(TRUTH, probability=SCORES, **FEW)
    sent = [joblib.delayed(copy.copy)(one) for one in whole]
    evaluation, comparison, *back = joblib.Parallel(n_jobs=2)(
        [made, joblib.delayed(cal.compare)(result("topics"), baseline="rough"), *sent]
    )
    here = cal.classification(TRUTH, probability=SCORES, **FEW)
    assert written(evaluation) == written(here)
    assert written(evaluation.compare(seed=1)) == written(here.compare(seed=1))
    assert written(comparison) == written(result("topics").compare(baseline="rough"))
    assert [written(one) for one in back] == [written(one) for one in whole]


# -------------------------------------------------------------------------------------------- JSON


@pytest.mark.slow
def test_every_kind_of_result_is_among_the_samples() -> None:
    assert set(samples()) == set(RESULT_CLASSES.values())
    assert set(RESULT_CLASSES.values()) == {
        Comparison, ConfusionMatrixResult, Curve, ThresholdTables, ThresholdTable, Definition, Difference, Estimate, Evaluation, Finding,
        SparseConfusion,
        ValidationCurveRow, BiasVarianceRow, BiasVariance, LearningCurve, LearningCurveExtrapolation, LearningCurveRow, ValidationCurve,
        Candidate, Selection, TunedThreshold, Leaderboard, LeaderboardRow,
        MonitorResult, MonitorLook, MonitoredSystem,
        JudgeBias, LabelSelection, LabelStratum, Fairness, Disparity,
        ParetoFront, ParetoRow, LabelTable, OmnibusTest, PerUnit, Plan, PlanRow, DecisionRegions, SliceEstimate, SliceDifference, Slices,
    }  # fmt: skip


@pytest.mark.slow
@every_verb
def test_a_result_and_its_parts_are_read_back(verb: str) -> None:
    for part in parts(result(verb)):
        for details in (False, True):
            text = part.to_json(details=details)
            schema = SCHEMA if text[0] == "[" else one_kind(result_name(type(part)))
            schema.validate(json.loads(text))
            read = cal.from_json(text.encode()) if details else cal.from_json(text)
            for again in (type(part).from_json(text), read):
                assert type(again) is type(part)
                assert again.to_json(details=details) == text
        assert same(part, type(part).from_json(written(part))), part


@pytest.mark.slow
@pytest.mark.parametrize("kind", RESULT_CLASSES)
@settings(max_examples=20)
@given(
    st.lists(st.sampled_from([math.inf, -math.inf, math.nan, 0.1, 5e-324, 1e308, -0.0]), min_size=3)
)
def test_no_number_is_lost(kind: str, numbers: list[float]) -> None:
    """Whatever stands in the fields of numbers: NaN, infinity, the smallest and the largest."""
    drawn = iter(numbers * 1000)

    def filled(value: Any) -> Any:
        if isinstance(value, float):
            return next(drawn)
        if isinstance(value, np.ndarray) and value.dtype.kind == "f":
            return np.array([next(drawn) for _ in range(value.size)]).reshape(value.shape)
        if isinstance(value, dict):
            return {key: filled(part) for key, part in value.items()}
        if isinstance(value, tuple):
            return tuple(filled(part) for part in value)
        return value

    sample = samples_once()[RESULT_CLASSES[kind]]
    kept = ("level", "level_each", "provenance", "range")
    kept += ("p", "p_adjusted", "p_noninferiority", "p_equivalence", "friedman_p", "anova_p")
    made = replace(sample, **{
        f.name: filled(getattr(sample, f.name)) for f in fields(sample)
        if f.name not in kept and str(f.type) != "Proportion" and "Between" not in str(f.type)
    })  # fmt: skip
    for low, high in (("low", "high"), ("lower_bound", "upper_bound")):
        if (
            hasattr(made, low)
            and isinstance(getattr(made, low), float)
            and getattr(made, low) > getattr(made, high)
        ):
            made = replace(made, **{low: getattr(made, high), high: getattr(made, low)})
    text = written(made)
    assert same(made, type(made).from_json(text))
    one_kind(kind).validate(json.loads(text))


SAMPLES: dict[type, Any] = {}


def samples_once() -> dict[type, Any]:
    if not SAMPLES:
        SAMPLES.update(samples())
    return SAMPLES


def test_the_threshold_at_which_nothing_is_predicted_is_infinite() -> None:
    found = result("nothing predicted")
    assert found["threshold"].value == math.inf
    row = json.loads(found.to_json())["systems"][0]["estimates"][0]
    assert (row["measure"], row["value"]) == ("threshold", "inf")
    assert cal.from_json(found.to_json())["threshold"].value == math.inf


def places(data: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Where something stands in a document."""
    yield path
    for key, part in (
        data.items()
        if isinstance(data, dict)
        else enumerate(data)
        if isinstance(data, list)
        else ()
    ):
        yield from places(part, (*path, key))


def put(data: Any, path: tuple[Any, ...], value: Any) -> Any:
    if not path:
        return value
    data = copy.copy(data)
    data[path[0]] = put(data[path[0]], path[1:], value)
    return data


WRONG = ["abc", "inf", 0, -1, 1.5, 1e400, True, None, [], {}, [None], {"": None}, 2**70]


@pytest.mark.slow
@pytest.mark.parametrize("kind", RESULT_CLASSES)
@settings(max_examples=20)
@given(st.data())
def test_what_the_schema_refuses_is_refused_and_nothing_else(
    kind: str, data: st.DataObject
) -> None:
    whole = json.loads(written(samples_once()[RESULT_CLASSES[kind]]))
    path = data.draw(st.sampled_from([p for p in places(whole) if p]))
    change = data.draw(st.sampled_from(["replace", "remove", "add"]))
    if change == "replace":
        changed = put(whole, path, data.draw(st.sampled_from([w for w in WRONG if w != 1e400])))
    else:
        changed = copy.deepcopy(whole)
        *way, last = path
        inner = changed
        for key in way:
            inner = inner[key]
        if change == "remove":
            del inner[last]
        elif isinstance(inner, dict):
            inner["valu"] = None
    good = one_kind(kind).is_valid(changed)
    says = refusal(kind, changed)
    # The schema cannot say that limits are the wrong way round, columns of unlike lengths, or that
    # names are of nothing.
    beyond = r"lies above|there are \d+ units only|expected .*(for each of|as in|for \d+ labels|rows of one)"
    beyond += (
        r"|there is no (system|measure|such column)|possible.*is missing|stands there more than"
    )
    beyond += r"|number between 0 and 1 or null|the regions of shares|one of in, open|expected x and y|19 digits"
    beyond += r"|expected \d+ numbers, found|expected the measures of values|systems\[\d\].*system: expected"
    assert good == (says is None) or (good and re.search(beyond, str(says))), (path, change, says)


def refusal(kind: str, data: Any) -> str | None:
    try:
        RESULT_CLASSES[kind].from_dict(data)
    except cal.InputError as error:
        return str(error)
    return None


@functools.cache
def one_kind(kind: str) -> jsonschema.Draft202012Validator:
    schema = json_schema()
    return jsonschema.Draft202012Validator(
        {**schema, "anyOf": [{"$ref": f"#/$defs/{kind}-document"}]}
    )


SMALL = cal.classification(
    [1, 1, 0, 0], {"a": [1, 0, 0, 0], "b": [1, 1, 0, 1]}, measures=["recall", "FPR"]
)


def changed(*way: Any, value: Any) -> str:
    return json.dumps(put(SMALL.to_dict(), way, value))


FIRST = ("systems", 0, "estimates", 0)
PLACED = {
    "[]": "expected a result: an object or a list of objects; found an empty list",
    "[1]": "expected a result: an object or a list of objects; found a list",
    "": "not valid JSON: the text is empty",
    "nothing": "not valid JSON: line 1, column 1: Expecting value",
    "{": "not valid JSON: the text ends too early (line 1, column 2)",
    "NaN": 'not valid JSON: NaN is not a number; infinity is "inf", undefined is null',
    '{"a": 1, "a": 2}': 'the key "a" occurs twice in one object',
    "[" * 100_000: "not a result: lists or objects are nested too deeply",
    "1" * 5000: "a number of 5000 digits is too large",
    "{}": "result: is missing; expected one of evaluation, comparison, plan",
    '{"result": "opinion"}': 'result: expected one of evaluation, comparison, plan',
    '{"result": "estimate"}': "measure: is missing",
    changed("schema", value=3): "schema: expected 1 or 2, found 3",
    changed("schema", value="1"): 'schema: expected 1 or 2, found "1"',
    changed(*FIRST, "value", value="abc"): 'systems[0].estimates[0].value: expected a number or null, found "abc"',
    changed(*FIRST, "low", value=0.99): "systems[0].estimates[0].low: 0.99 lies above high, ",
    changed(*FIRST, "undefined", value={"no row": -1}): 'systems[0].estimates[0].undefined["no row"]: expected a whole number ≥ 0, found -1',
    changed(*FIRST, "level", value=95): "systems[0].estimates[0].level: expected a number between 0 and 1, found 95",
    changed(*FIRST, value={"mesure": "recall"}): "systems[0].estimates[0].mesure: there is no such key; did you mean 'measure'?",
    changed(*FIRST, value=[]): "systems[0].estimates[0]: expected an object, found an empty list",
    changed("systems", 1, "estimates", value=None): "systems[1].estimates: expected a list, found null",
    changed("comparison", "differences", 0, "wins", value=1.5): "comparison.differences[0].wins: expected a whole number ≥ 0, found 1.5",
    changed("findings", value=[{"kind": "a", "message": "b", "criterion": "c", "severity": "d"}]): 'findings[0].severity: expected "warning" or "caution" or "information", found "d"',
}  # fmt: skip


@pytest.mark.parametrize("text", PLACED, ids=lambda t: t[:30])
def test_what_is_no_result_is_refused_with_its_place(text: str) -> None:
    with pytest.raises(cal.InputError) as raised:
        cal.from_json(text)
    assert str(raised.value).startswith(PLACED[text])


def test_a_text_that_was_cut_off_says_so() -> None:
    text = SMALL.to_json()
    for end in range(1, len(text) - 1, 97):
        with pytest.raises(cal.InputError, match=r"^not valid JSON: the text ends too early"):
            cal.from_json(text[:end])


def test_another_kind_is_named() -> None:
    assert SMALL.comparison is not None
    with pytest.raises(cal.InputError, match='result: expected "evaluation", found "comparison"'):
        Evaluation.from_json(SMALL.comparison.to_json())


def test_the_whole_schema_takes_what_the_command_writes() -> None:
    plan = result("plan").to_dict()
    for data in (SMALL.to_dict(), SMALL.comparison.to_dict(), plan, [plan, plan]):
        SCHEMA.validate(data)
    for data in ([], {}, [SMALL.to_dict()], {**plan, "result": "evaluation"}):
        assert not SCHEMA.is_valid(data)


def test_a_file_is_named(tmp_path: Path) -> None:
    path = tmp_path / "old.json"
    path.write_text(SMALL.to_json(), encoding="utf-8")
    assert cal.from_json(path).to_json() == SMALL.to_json()
    path.write_bytes(b"\xff{}")
    with pytest.raises(cal.InputError, match=r"old\.json: not valid JSON: byte 1 is not UTF-8"):
        cal.from_json(path)
    with pytest.raises(cal.InputError, match=r"none\.json: No such file"):
        cal.from_json(tmp_path / "none.json")


def test_limits_are_checked_beyond_the_schema() -> None:
    curve = result("curve").to_dict()
    with pytest.raises(cal.InputError, match=r"^y: expected \d+ numbers, as in x, found 1$"):
        Curve.from_dict({**curve, "y": [0.5]})
    confusion = result("classes").confusions[0].to_dict()
    with pytest.raises(cal.InputError, match=r"^low: expected 3 rows of 3 numbers, for 3 labels$"):
        ConfusionMatrixResult.from_dict({**confusion, "low": [[0.5]]})
    many = result("many classes").confusions[0].to_dict()
    with pytest.raises(cal.InputError, match=r"^cells: expected 3 numbers, found 1$"):
        SparseConfusion.from_dict({**many, "cells": [1]})
    with pytest.raises(cal.InputError, match=r"^empty_high: expected 101 numbers, found 1$"):
        SparseConfusion.from_dict({**many, "empty_high": [1]})
    with pytest.raises(cal.InputError, match=r"^predicted: expected positions of the 101 labels"):
        SparseConfusion.from_dict({**many, "predicted": [2, 0, 101]})
    with pytest.raises(cal.InputError, match=r"^truth: expected the cells in the order of the"):
        SparseConfusion.from_dict({**many, "truth": [0, 0, 0], "predicted": [2, 0, 1]})
    with pytest.raises(cal.InputError, match=r"^truth: expected whole numbers of less than 19"):
        SparseConfusion.from_dict({**many, "truth": [0, 1, 10**30]})
    table = result("labels").label_tables[0].to_dict()
    with pytest.raises(cal.InputError, match=r"^truth: expected 3 numbers, found 1$"):
        LabelTable.from_dict({**table, "truth": [1.0]})
    units = result("topics").per_unit.to_dict()
    with pytest.raises(
        cal.InputError, match=r"^values\.rough\.AP: expected 1 numbers, one for each"
    ):
        PerUnit.from_dict({**units, "ids": ["t1"], "undefined": {}})
    with pytest.raises(cal.InputError, match=r"^undefined\.rough\.AP\.a: there are 9 units only"):
        PerUnit.from_dict({**units, "undefined": {"rough": {"AP": {"a": [9]}}}})
    overall = result("topics").comparison.omnibus[0].to_dict()
    with pytest.raises(
        cal.InputError, match=r"^means: expected one for each of 3 systems, found 1$"
    ):
        OmnibusTest.from_dict({**overall, "means": [1]})


def test_files_of_before_are_read() -> None:
    """As version 0.1.0 wrote them: no key ``result``, infinity as null, ``details`` as nulls."""
    old = SMALL.to_dict(details=True)
    del old["result"]
    old["per_unit"] = None
    old["systems"][0]["estimates"][0] |= {"threshold": None, "out_of_bag": 0.5}
    assert isinstance(cal.from_json(json.dumps(old)), Evaluation)
    comparison = SMALL.to_dict()["comparison"]
    assert "schema" not in comparison
    assert isinstance(cal.from_json(json.dumps(comparison)), Comparison)
    plan = result("plan").to_dict()
    del plan["schema"], plan["result"]
    assert cal.from_json(json.dumps(plan)).n == result("plan").n
    two = cal.from_json(json.dumps([plan, plan]))
    assert [p.n for p in two] == [plan["n"]] * 2


def test_values_per_unit_are_read_from_their_table() -> None:
    for verb in ("topics", "unjudged", "given values"):
        units = result(verb).per_unit
        for text in (units.to_json(), units.to_json(details=True)):
            assert units.to_csv() == cal.from_json(text).to_csv()
        SCHEMA.validate(json.loads(units.to_json()))
        assert cal.from_json(units.to_json()).to_json() == units.to_json()
        rows = units.rows()
        rows.reverse()
        assert set(PerUnit.from_rows(rows).ids) == set(units.ids)
    rows = result("topics").per_unit.rows()
    for broken, says in (
        (rows[1:], "there is no row of 'rough', "),
        ([*rows, rows[0]], r"\[\d+\]: a second row of 'rough', 'none' and 'AP'"),
        (
            [{**rows[0], "value": "x"}, *rows[1:]],
            r'\[0\]\.value: expected a number or null, found "x"',
        ),
        (
            [{**rows[0], "query": "x"}, *rows[1:]],
            "expected one column that names the units, found ",
        ),
        ([3], r"\[0\]: expected an object, found 3"),
    ):
        with pytest.raises(cal.InputError, match=says):
            PerUnit.from_rows(broken)
    assert {f.name for f in fields(PerUnitRow)} >= {"value", "undefined"}


# ------------------------------------------------------------------------------------------ schema


@pytest.mark.slow
def test_the_published_schema_is_that_of_the_code() -> None:
    """``python tools/results_schema.py`` writes it anew."""
    jsonschema.Draft202012Validator.check_schema(json_schema())
    root = Path(__file__).parents[2]
    for place in (root / "docs", root / "src" / "calipers" / "results"):
        text = (place / "results-2.schema.json").read_text(encoding="utf-8")
        assert json.loads(text) == json_schema()


def test_every_object_of_the_schema_is_closed() -> None:
    for name, part in json_schema()["$defs"].items():
        if part.get("type") == "object":
            assert part["additionalProperties"] is False, name
            assert part["description"], name


# ------------------------------------------------------------------------------------------ tables


def tables() -> Iterator[tuple[str, TidyResult]]:
    for verb in MADE:
        for part in parts(result(verb)):
            if isinstance(part, TidyResult):
                yield verb, part


@pytest.mark.slow
def test_tables_have_the_same_rows_in_the_same_order() -> None:
    for verb, table in tables():
        rows, again = table.rows(), cal.from_json(written(table))
        frame, arrow = table.to_frame(), table.to_arrow()
        text = list(csv.reader(io.StringIO(table.to_csv())))
        columns = list(table.kinds())
        assert [list(row) for row in rows] == [columns] * len(rows), verb
        assert list(frame.columns) == arrow.column_names == text[0] == columns
        assert len(frame) == arrow.num_rows == len(text) - 1 == len(rows)
        for i, row in enumerate(arrow.to_pylist()):
            for name, value in row.items():
                undefined = rows[i][name] is None or rows[i][name] != rows[i][name]
                assert value is None if undefined else value == rows[i][name]
                assert pd.isna(frame[name][i]) if undefined else frame[name][i] == value
        assert again.to_csv() == table.to_csv()
        assert again.to_arrow().equals(arrow)
        pd.testing.assert_frame_equal(again.to_frame(), frame)


def test_a_column_has_one_type_whatever_is_in_it() -> None:
    frames: dict[tuple[type, str], Any] = {}
    arrows: dict[tuple[type, str], Any] = {}
    for _, table in tables():
        kind = type(table)
        empty = {
            Evaluation: lambda t: replace(t, estimates=()),
            Comparison: lambda t: replace(t, differences=()),
            Slices: lambda t: replace(t, all=()),
            ParetoFront: lambda t: replace(t, all=()),
            Plan: lambda t: replace(t, table=()),
            ThresholdTables: lambda t: replace(t, tables=()),
            PerUnit: lambda t: replace(t, values={}, undefined={}, bounds={}),
            ValidationCurve: lambda t: replace(t, rows_by_value=()),
            Leaderboard: lambda t: replace(t, rows_by_system=(), reference=""),
            LearningCurve: lambda t: replace(t, rows_by_size=()),
            MonitorResult: lambda t: replace(t, looks=()),
            BiasVariance: lambda t: replace(t, rows_by_value=()),
            Selection: lambda t: replace(t, candidates=()),
            Fairness: lambda t: replace(t, all=()),
        }[kind](table)
        for one in (table, empty):
            for name, dtype in one.to_frame().dtypes.items():
                assert frames.setdefault((kind, name), dtype) == dtype
            for field in one.to_arrow().schema:
                assert arrows.setdefault((kind, field.name), field.type) == field.type
                assert not pa.types.is_null(field.type)


def test_a_margin_of_one_measure_gives_all_rows_its_columns() -> None:
    compared = result("scores").compare(margin={"AUC": 0.1})
    for again in (compared, Comparison.from_json(compared.to_json())):
        assert {len(row) for row in again.rows()} == {len(again.kinds())}
        frame = again.to_frame().set_index(["measure", "system", "baseline"])
        assert frame.loc[("AUC", "fine", "rough"), "margin"] == 0.1
        assert frame["margin"].isna().any()
        assert again.to_arrow().column_names == list(again.kinds())


def test_estimates_stand_system_by_system() -> None:
    """As JSON has them, so that reading back changes no order."""
    mixed = Evaluation("values", tuple(
        Estimate(measure, 0.5, system=system) for measure in ("P", "R") for system in ("b", "a")
    ))  # fmt: skip
    assert [(e.system, e.measure) for e in mixed] == [
        ("b", "P"),
        ("b", "R"),
        ("a", "P"),
        ("a", "R"),
    ]
    again = cal.from_json(mixed.to_json())
    assert again.rows() == mixed.rows() or again.to_csv() == mixed.to_csv()


def test_the_comparison_keeps_its_values_per_unit_with_the_details() -> None:
    compared = result("compared topics")
    assert compared.per_unit is not None
    assert Comparison.from_json(compared.to_json()).per_unit is None
    assert same(Comparison.from_json(written(compared)).per_unit, compared.per_unit)
