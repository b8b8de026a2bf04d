"""Kinds of results: reading a result of any kind, and the JSON Schema of all kinds."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from calipers.results.comparison import Comparison, OmnibusTest
from calipers.results.confusion import ConfusionMatrixResult, SparseConfusion
from calipers.results.curve import Curve
from calipers.results.decision_regions import DecisionRegions
from calipers.results.estimate import Difference, Estimate
from calipers.results.evaluation import Evaluation
from calipers.results.fairness import Disparity, Fairness
from calipers.results.finding import Definition, Finding
from calipers.results.judge import JudgeBias
from calipers.results.labels import LabelTable
from calipers.results.leaderboard import Leaderboard, LeaderboardRow
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
from calipers.results.monitor import MonitoredSystem, MonitorLook, MonitorResult
from calipers.results.pareto_fronts import ParetoFront, ParetoRow
from calipers.results.per_unit import PerUnit, PerUnitRow
from calipers.results.plan import LabelSelection, LabelStratum, Plan, PlanRow
from calipers.results.schema_1 import stated_result
from calipers.results.serialization import (
    SCHEMA,
    Schema,
    abbreviate,
    codec_for,
    input_error,
    load_json,
    result_name,
)
from calipers.results.slices import SliceDifference, SliceEstimate, Slices
from calipers.results.threshold_table import ThresholdTable, ThresholdTables

#: Values of the key ``result``, and the class of each.
RESULT_CLASSES = {
    result_name(cls): cls
    for cls in (
        *(
            Evaluation,
            Comparison,
            Plan,
            DecisionRegions,
            PerUnit,
            Slices,
            Curve,
            ConfusionMatrixResult,
            LabelTable,
        ),
        *(Estimate, Difference, OmnibusTest, SparseConfusion, SliceEstimate, SliceDifference),
        *(Definition, Finding, PlanRow, ThresholdTables, ThresholdTable, ParetoFront, ParetoRow),
        *(
            ValidationCurve,
            ValidationCurveRow,
            LearningCurve,
            LearningCurveRow,
            LearningCurveExtrapolation,
        ),
        *(BiasVariance, BiasVarianceRow, Selection, Candidate, TunedThreshold),
        *(Leaderboard, LeaderboardRow),
        *(Fairness, Disparity),
        *(MonitorResult, MonitorLook, MonitoredSystem),
        *(JudgeBias, LabelSelection, LabelStratum),
    )
}

#: Files without the key ``result`` are identified by a key that no other kind has.
_KIND_BY_KEY = {
    "systems": "evaluation",
    "differences": "comparison",
    "wanted": "plan",
    "targets": "plan",
}


def from_json(text: str | bytes | os.PathLike[str]) -> Any:
    """Read a result of any kind from JSON.

    The result can be displayed, but not used in further computations.

    Parameters
    ----------
    text : str, bytes or path-like
        JSON text, or the path of a file as a :class:`pathlib.Path`.

    Returns
    -------
    Evaluation, Comparison, Plan, PerUnit or another result
        What was written with ``to_json``; a tuple of plans if there are several.

    Raises
    ------
    InputError
        If the text is not valid JSON or does not follow the schema; the message says where.

    Examples
    --------
    >>> import calipers as cal
    >>> evaluation = cal.classification([1, 1, 0, 0], [1, 0, 0, 0], measures="recall")
    >>> cal.from_json(evaluation.to_json())["recall"].value
    0.5
    >>> cal.from_json('{"result": "plan", "n": 50.5}')
    Traceback (most recent call last):
    calipers.data.errors.InputError: measure: is missing
    """
    if not isinstance(text, os.PathLike):
        return _parse_result(load_json(text))
    try:
        return _parse_result(load_json(Path(text).read_bytes()))
    except (OSError, ValueError) as exception:
        reason = exception.strerror if isinstance(exception, OSError) else exception
        raise input_error(os.fspath(text), str(reason)) from None


def _parse_result(data: Any) -> Any:
    if isinstance(data, list) and data and all(isinstance(row, Mapping) for row in data):
        if not {"wanted", "targets"} & data[0].keys():
            return PerUnit.from_rows(data)
        return tuple(Plan.read(row, f"[{i}]") for i, row in enumerate(data))
    if not isinstance(data, Mapping):
        raise input_error(
            "", f"expected a result: an object or a list of objects; found {abbreviate(data)}"
        )
    matches = (name for key, name in _KIND_BY_KEY.items() if key in data)
    name = stated_result(data) if "result" in data else next(matches, None)
    if name is None:
        raise input_error("result", f"is missing; expected one of {', '.join(RESULT_CLASSES)}")
    if not isinstance(name, str) or name not in RESULT_CLASSES:
        raise input_error(
            "result", f"expected one of {', '.join(RESULT_CLASSES)}, found {abbreviate(name)}"
        )
    return RESULT_CLASSES[name].from_dict(data)


def json_schema() -> Schema:
    """Return the JSON Schema (2020-12) of everything that ``to_json`` writes.

    It is published as ``results-2.schema.json``.

    Returns
    -------
    dict
        The schema.

    Notes
    -----
    Reading checks slightly more than a schema can express: that ``low`` is not above ``high``, that
    columns have the same length, and that systems and measures that are referred to exist.
    """
    defs: dict[str, Schema] = {}
    head = {"schema": {"const": SCHEMA}}
    documents: dict[str, Schema] = {}
    for name, cls in RESULT_CLASSES.items():
        codec = codec_for(cls)
        codec.schema(defs)
        documents[f"{name}-document"] = codec.object_schema(
            defs, {**head, "result": {"const": name}}
        )
    rows = codec_for(PerUnitRow).object_schema(defs) | {"additionalProperties": {"type": "string"}}
    plans = {"type": "array", "items": {"$ref": "#/$defs/plan-document"}, "minItems": 1}
    kinds = [{"$ref": f"#/$defs/{name}"} for name in documents]
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": f"urn:calipers:results:{SCHEMA}",
        "title": f"Results of Calipers, schema {SCHEMA}",
        "anyOf": [*kinds, {"type": "array", "items": rows, "minItems": 1}, plans],
        "$defs": dict(sorted((defs | documents).items())),
    }
