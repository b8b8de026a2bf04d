"""Documents that an earlier version wrote, with schema 1, say the same when they are read today."""

import gzip
import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import calipers as cal
from calipers.results.per_unit import PerUnitRow
from calipers.results.schema import RESULT_CLASSES, json_schema
from calipers.results.schema_1 import FIELD_NAMES, RESULT_NAMES, VALUE_NAMES

jsonschema = pytest.importorskip("jsonschema")

with gzip.open(Path(__file__).with_name("schema_1.jsonl.gz"), "rt", encoding="utf-8") as file:
    DOCUMENTS: dict[str, dict[str, Any]] = dict(map(json.loads, file))


def parts(data: Any) -> Iterator[Any]:
    """Everything in a document: objects, keys and values."""
    yield data
    if isinstance(data, dict):
        for key, part in data.items():
            yield key
            yield from parts(part)
    elif isinstance(data, list):
        for part in data:
            yield from parts(part)


def numbers(data: Any) -> Counter[float]:
    """How often each number is there, but for that of the schema."""
    bare = {key: part for key, part in data.items() if key != "schema"}
    return Counter(
        float(x) for x in parts(bare) if isinstance(x, int | float) and not isinstance(x, bool)
    )


@pytest.mark.parametrize("name", DOCUMENTS)
def test_nothing_is_lost(name: str) -> None:
    old = DOCUMENTS[name]
    made = cal.from_json(json.dumps(old))
    new = json.loads(made.to_json(details=True))
    assert (old["schema"], new["schema"]) == (1, 2)
    assert numbers(new) == numbers(old)
    jsonschema.Draft202012Validator(json_schema()).validate(new)
    assert cal.from_json(json.dumps(new)).to_json(details=True) == made.to_json(details=True)
    assert str(made)


def test_documents_have_every_field_that_is_renamed() -> None:
    there = {x for document in DOCUMENTS.values() for x in parts(document) if isinstance(x, str)}
    missing = {name for names in FIELD_NAMES.values() for name in names} - there
    assert not missing
    assert {document["result"] for document in DOCUMENTS.values()} & RESULT_NAMES.keys() == {
        "cutoffs",
        "decomposition",
        "regions",
    }


def test_new_names_are_those_of_the_classes() -> None:
    classes = {cls.__name__: cls for cls in (*RESULT_CLASSES.values(), PerUnitRow)}
    for name, fields in FIELD_NAMES.items():
        known = {*classes[name].__dataclass_fields__}
        assert set(fields.values()) <= known, name
    assert set(RESULT_NAMES.values()) <= {*RESULT_CLASSES, "per-unit-row"}
    assert {name for name, _ in VALUE_NAMES} <= classes.keys()


def test_names_of_measures_have_the_parameters_of_today() -> None:
    old = {
        **DOCUMENTS["rank correlation"],
        "measure": "fallout(collection=9)@3",
        "no_interval": "not_asked",
        "undefined": {"nothing_found": 2},
    }
    found = cal.from_json(json.dumps(old))
    assert found.measure == "fallout(collection_size=9)@3"
    assert found.interval_reason == "not_requested"
    assert found.undefined == {"no_relevant_retrieved": 2}


def test_a_document_without_a_schema_is_of_the_first() -> None:
    old = {key: part for key, part in DOCUMENTS["plan"].items() if key != "schema"}
    assert cal.from_json(json.dumps(old)) == cal.from_json(json.dumps(DOCUMENTS["plan"]))


@pytest.mark.parametrize("schema", [0, 3, True, "1", None])
def test_other_schemas_are_refused(schema: object) -> None:
    with pytest.raises(cal.InputError, match="schema: expected 1 or 2"):
        cal.from_json(json.dumps({**DOCUMENTS["plan"], "schema": schema}))


def test_what_is_wrong_in_it_is_said() -> None:
    with pytest.raises(cal.InputError, match=r"value: expected a number or null"):
        cal.from_json(json.dumps({**DOCUMENTS["rank correlation"], "value": "x"}))


def test_reasons_have_other_names_wherever_they_are() -> None:
    """As keys of definitions and of values per unit, and in the rows of a table."""
    old = {
        "schema": 1,
        "result": "per-unit",
        "unit": "topics",
        "ids": ["known", "2"],
        "values": {"no_rest": {"AP": [0.5, None]}},
        "undefined": {"no_rest": {"AP": {"nothing_found": [1]}}},
        "possible": {},
    }
    units = cal.from_json(json.dumps(old))
    # Systems and units may be called as reasons were.
    assert units.ids == ("known", "2")
    assert units.undefined == {"no_rest": {"AP": {"no_relevant_retrieved": (1,)}}}
    row = {"system": "a", "topic": "1", "measure": "fallout(collection=9)", "value": None}
    rows = [{**row, "undefined": "nothing_found; agreed_value", "possible_low": 0.0}]
    found = cal.from_json(json.dumps(rows)).rows()[0]
    assert found["measure"] == "fallout(collection_size=9)"
    assert found["undefined"] == "no_relevant_retrieved; conventional_value"
    document = json.loads(json.dumps(DOCUMENTS["one system"]))
    document["definitions"][0]["undefined"] = {"nothing_found": "nothing retrieved is relevant"}
    first = cal.from_json(json.dumps(document)).definitions[0]
    assert [*first.undefined] == ["no_relevant_retrieved"]


def test_values_of_findings_have_other_names() -> None:
    """Also those that contain a name from the data, as keys of values and of intervals."""
    old = {
        "schema": 1,
        "result": "finding",
        "kind": "weak-class",
        "sentence": "",
        "rule": "",
        "severity": "caution",
        "numbers": {
            "adjusted p": 0.01,
            "accuracy against the rest": 0.5,
            "F1 of the constant answer": 0.25,
            "share of 'share of the rest'": 0.125,
            "share judged of run": 0.75,
            "queries that differ": 3.0,
        },
        "intervals": {
            "share of 'share of the rest'": [0.1, 0.2],
            "F1 of the constant answer": [0, 1],
        },
    }
    found = cal.from_json(json.dumps(old))
    assert [*found.values] == [
        "adjusted p",
        "one-vs-rest accuracy",
        "F1 of the best constant prediction",
        "proportion of 'share of the rest'",
        "judged fraction of run",
        "queries with differences",
    ]
    assert [*found.intervals] == [
        "proportion of 'share of the rest'",
        "F1 of the best constant prediction",
    ]
    assert cal.from_json(found.to_json()) == found


def test_measures_have_the_names_of_today() -> None:
    old = DOCUMENTS["costs"]
    new = cal.from_json(json.dumps(old))
    measures = [e.measure for e in new.costs]
    assert {"mean-cost[ms]", "median-cost[ms]", "p95-cost[ms]"} <= {*measures}
    assert new.costs.comparison.primary == "mean-cost[ms]"
    assert {d.measure for d in new.costs.definitions} == {*measures}
    assert [front.cost_measure for front in new.pareto_fronts][:1] == ["mean-cost[ms]"]
    values = {
        "schema": 1, "result": "per-unit", "unit": "topics", "ids": ["1"],
        "values": {"volume": {"volume": [0.5], "cost-p99[volume]": [1.0]}},
        "undefined": {}, "possible": {},
    }  # fmt: skip
    units = cal.from_json(json.dumps(values))
    # Systems and costs may be called as measures were.
    assert units.values.keys() == {"volume"}
    assert units.values["volume"].keys() == {"detection-prevalence", "p99-cost[volume]"}


def test_the_complement_of_a_slice_is_named_after_its_units() -> None:
    """But not a system that is called as the complement was."""
    text = json.dumps(DOCUMENTS["graded rows"])
    assert '"baseline": "the rest"' in text
    evaluation = cal.from_json(text.replace('"rough"', '"the rest"'))
    assert {s.vs_rest.baseline for s in evaluation.slices.all} == {"all other groups"}
    assert evaluation.comparison.differences[0].baseline == "the rest"


def test_methods_have_the_names_of_today() -> None:
    """Names of adjustments, intervals and tests; numbers and other texts stay as they were."""
    from calipers.results.schema_1 import METHOD_WORDS, rename_method

    for old, new in METHOD_WORDS.items():
        assert rename_method(f"{old}, but few clusters") == f"{new}, but few clusters"
        assert rename_method(new) == new
    document = json.loads(json.dumps(DOCUMENTS["compared topics"]))
    document["adjustment"] = "joint"
    document["differences"][0]["method"] = "simultaneous, joint randomisation, bootstrap-t"
    comparison = cal.from_json(json.dumps(document))
    assert comparison.adjustment == "max-t"
    assert comparison.differences[0].method == "simultaneous, max-t by permutation, bootstrap-t"
