"""What an evaluation gives back: plain frozen data with full precision, and how it is written down.

A value that is undefined is NaN here and ``null`` in JSON, always beside its reason. The threshold
of a curve at which nothing is predicted is infinite, in JSON ``"inf"``. Rounding is left to whoever
prints.
"""

from typing import TYPE_CHECKING

from calipers.lazily import loading

if TYPE_CHECKING:
    from calipers.results.comparison import Comparison, Overall
    from calipers.results.confusion import NORMALISED, AnyConfusion, Confusion, Confusions
    from calipers.results.curve import Curve, Curves, kinds_in, of_kinds
    from calipers.results.cutoffs import Cutoffs, CutoffTable
    from calipers.results.estimate import NO_INTERVAL, Difference, Estimate
    from calipers.results.evaluation import Evaluation
    from calipers.results.fields import NAN, FloatArray
    from calipers.results.finding import SEVERITIES, Definition, Finding
    from calipers.results.fronts import Front, FrontRow
    from calipers.results.kept import Kept
    from calipers.results.labels import LabelTable, LabelTables
    from calipers.results.learning import Decomposition, LearningCurve, ValidationCurve
    from calipers.results.occupied import FewOrMany, OccupiedConfusion
    from calipers.results.plan import Plan, PlanRow
    from calipers.results.regions import Regions
    from calipers.results.schema import from_json, json_schema
    from calipers.results.selection import Selection
    from calipers.results.slices import Slice, SliceDifference, Slices
    from calipers.results.tidy import Tidy
    from calipers.results.tuned import TunedThreshold
    from calipers.results.units import PerUnit
    from calipers.results.written import LAYOUTS, ORIENTATIONS, SCHEMA

_HOMES = {
    "comparison": "Comparison, Overall",
    "confusion": "NORMALISED, AnyConfusion, Confusion, Confusions",
    "curve": "Curve, Curves, kinds_in, of_kinds",
    "cutoffs": "Cutoffs, CutoffTable",
    "estimate": "NO_INTERVAL, Difference, Estimate",
    "evaluation": "Evaluation",
    "finding": "SEVERITIES, Definition, Finding",
    "fields": "NAN, FloatArray",
    "fronts": "Front, FrontRow",
    "kept": "Kept",
    "labels": "LabelTable, LabelTables",
    "learning": "Decomposition, LearningCurve, ValidationCurve",
    "occupied": "FewOrMany, OccupiedConfusion",
    "plan": "Plan, PlanRow",
    "regions": "Regions",
    "schema": "from_json, json_schema",
    "selection": "Selection",
    "slices": "Slice, SliceDifference, Slices",
    "tidy": "Tidy",
    "tuned": "TunedThreshold",
    "units": "PerUnit",
    "written": "LAYOUTS, ORIENTATIONS, SCHEMA",
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
