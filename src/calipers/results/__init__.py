"""What an evaluation gives back: plain frozen data with full precision, and how it is written down.

A value that is undefined is NaN here and ``null`` in JSON, always beside its reason. The threshold
of a curve at which nothing is predicted is infinite, in JSON ``"inf"``. Rounding is left to whoever
prints.
"""

from typing import TYPE_CHECKING

from calipers.lazy_imports import loading

if TYPE_CHECKING:
    from calipers.results.comparison import Comparison, Overall
    from calipers.results.confusion import (
        NORMALISED,
        AnyConfusion,
        Confusion,
        Confusions,
        FewOrMany,
        OccupiedConfusion,
    )
    from calipers.results.curve import Curve, Curves, kinds_in, of_kinds
    from calipers.results.decision_regions import Regions
    from calipers.results.estimate import NO_INTERVAL, Difference, Estimate
    from calipers.results.evaluation import Evaluation, Kept
    from calipers.results.finding import SEVERITIES, Definition, Finding
    from calipers.results.labels import LabelTable, LabelTables
    from calipers.results.learning import (
        Decomposition,
        LearningCurve,
        Selection,
        TunedThreshold,
        ValidationCurve,
    )
    from calipers.results.pareto_fronts import Front, FrontRow
    from calipers.results.per_unit import PerUnit
    from calipers.results.plan import Plan, PlanRow
    from calipers.results.schema import from_json, json_schema
    from calipers.results.serialization import LAYOUTS, NAN, ORIENTATIONS, SCHEMA, FloatArray
    from calipers.results.slices import Slice, SliceDifference, Slices
    from calipers.results.threshold_table import Cutoffs, CutoffTable
    from calipers.results.tidy import Tidy

_HOMES = {
    "comparison": "Comparison, Overall",
    "confusion": "NORMALISED, AnyConfusion, Confusion, Confusions, FewOrMany, OccupiedConfusion",
    "curve": "Curve, Curves, kinds_in, of_kinds",
    "decision_regions": "Regions",
    "estimate": "NO_INTERVAL, Difference, Estimate",
    "evaluation": "Evaluation, Kept",
    "finding": "SEVERITIES, Definition, Finding",
    "labels": "LabelTable, LabelTables",
    "learning": "Decomposition, LearningCurve, Selection, TunedThreshold, ValidationCurve",
    "pareto_fronts": "Front, FrontRow",
    "per_unit": "PerUnit",
    "plan": "Plan, PlanRow",
    "schema": "from_json, json_schema",
    "serialization": "LAYOUTS, NAN, ORIENTATIONS, SCHEMA, FloatArray",
    "slices": "Slice, SliceDifference, Slices",
    "threshold_table": "Cutoffs, CutoffTable",
    "tidy": "Tidy",
}

__all__ = [
    "LAYOUTS",
    "NAN",
    "NORMALISED",
    "NO_INTERVAL",
    "ORIENTATIONS",
    "SCHEMA",
    "SEVERITIES",
    "AnyConfusion",
    "Comparison",
    "Confusion",
    "Confusions",
    "Curve",
    "Curves",
    "CutoffTable",
    "Cutoffs",
    "Decomposition",
    "Definition",
    "Difference",
    "Estimate",
    "Evaluation",
    "FewOrMany",
    "Finding",
    "FloatArray",
    "Front",
    "FrontRow",
    "Kept",
    "LabelTable",
    "LabelTables",
    "LearningCurve",
    "OccupiedConfusion",
    "Overall",
    "PerUnit",
    "Plan",
    "PlanRow",
    "Regions",
    "Selection",
    "Slice",
    "SliceDifference",
    "Slices",
    "Tidy",
    "TunedThreshold",
    "ValidationCurve",
    "from_json",
    "json_schema",
    "kinds_in",
    "of_kinds",
]

if not TYPE_CHECKING:  # type checkers know the names from above, and find misspelt ones
    __getattr__ = loading(__name__, _HOMES)


def __dir__() -> list[str]:
    return sorted(__all__)
