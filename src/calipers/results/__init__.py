"""What an evaluation gives back: plain frozen data with full precision, and how it is written down.

A value that is undefined is NaN here and ``null`` in JSON, always beside its reason. The threshold
of a curve at which nothing is predicted is infinite, in JSON ``"inf"``. Rounding is left to whoever
prints.
"""

from calipers.results.comparison import Comparison, Overall
from calipers.results.confusion import NORMALISED, ORIENTATIONS, AnyConfusion, Confusion
from calipers.results.curve import Curve
from calipers.results.estimate import NO_INTERVAL, Difference, Estimate
from calipers.results.evaluation import Evaluation
from calipers.results.finding import SEVERITIES, Definition, Finding
from calipers.results.forms import NAN, FloatArray
from calipers.results.labels import LabelTable
from calipers.results.occupied import OccupiedConfusion
from calipers.results.plan import Plan, PlanRow
from calipers.results.regions import Regions
from calipers.results.schema import from_json, json_schema
from calipers.results.slices import Slice, Slices
from calipers.results.tidy import Tidy
from calipers.results.units import PerUnit
from calipers.results.written import SCHEMA

__all__ = [
    "NAN",
    "NORMALISED",
    "NO_INTERVAL",
    "ORIENTATIONS",
    "SCHEMA",
    "SEVERITIES",
    "AnyConfusion",
    "Comparison",
    "Confusion",
    "Curve",
    "Definition",
    "Difference",
    "Estimate",
    "Evaluation",
    "Finding",
    "FloatArray",
    "LabelTable",
    "OccupiedConfusion",
    "Overall",
    "PerUnit",
    "Plan",
    "PlanRow",
    "Regions",
    "Slice",
    "Slices",
    "Tidy",
    "from_json",
    "json_schema",
]
