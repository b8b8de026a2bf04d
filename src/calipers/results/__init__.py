"""Results of evaluations as frozen data in full precision, and their serialization.

An undefined value is NaN in Python and ``null`` in JSON, always together with the reason. The
threshold of a curve at which no row is predicted positive is infinite, ``"inf"`` in JSON. Values
are not rounded; rounding is left to the code that prints them.
"""

from typing import TYPE_CHECKING

from calipers.lazy_imports import lazy_getattr

if TYPE_CHECKING:
    from calipers.results.comparison import Comparison, OmnibusTest
    from calipers.results.confusion import (
        NORMALIZATIONS,
        ConfusionBase,
        ConfusionMatrices,
        ConfusionMatrixResult,
        SerializableConfusion,
        SparseConfusion,
    )
    from calipers.results.curve import Curve, Curves, curve_kinds, plan_of, select_kinds
    from calipers.results.decision_regions import DecisionRegions
    from calipers.results.estimate import INTERVAL_REASONS, Difference, Estimate, JudgedSample
    from calipers.results.evaluation import Evaluation, StoredPredictions
    from calipers.results.fairness import Disparity, Fairness
    from calipers.results.finding import SEVERITIES, Definition, Finding
    from calipers.results.judge import JudgeBias
    from calipers.results.labels import LabelTable, LabelTables
    from calipers.results.leaderboard import Leaderboard, LeaderboardRow
    from calipers.results.learning import (
        BiasVariance,
        LearningCurve,
        Selection,
        TunedThreshold,
        ValidationCurve,
    )
    from calipers.results.monitor import (
        ONE_SYSTEM,
        PAIRED,
        MonitoredSystem,
        MonitorLook,
        MonitorResult,
    )
    from calipers.results.pareto_fronts import ParetoFront, ParetoRow
    from calipers.results.per_unit import PerUnit
    from calipers.results.plan import LabelSelection, LabelStratum, Plan, PlanRow
    from calipers.results.schema import from_json, json_schema
    from calipers.results.serialization import LAYOUTS, NAN, ORIENTATIONS, SCHEMA, FloatArray
    from calipers.results.slices import SliceDifference, SliceEstimate, Slices
    from calipers.results.threshold_table import ThresholdTable, ThresholdTables
    from calipers.results.tidy import TidyResult

_NAMES_BY_MODULE = {
    "comparison": "Comparison, OmnibusTest",
    "confusion": "NORMALIZATIONS, ConfusionBase, ConfusionMatrixResult, ConfusionMatrices, "
    "SerializableConfusion, SparseConfusion",
    "curve": "Curve, Curves, curve_kinds, plan_of, select_kinds",
    "decision_regions": "DecisionRegions",
    "estimate": "INTERVAL_REASONS, Difference, Estimate, JudgedSample",
    "evaluation": "Evaluation, StoredPredictions",
    "fairness": "Disparity, Fairness",
    "finding": "SEVERITIES, Definition, Finding",
    "judge": "JudgeBias",
    "labels": "LabelTable, LabelTables",
    "leaderboard": "Leaderboard, LeaderboardRow",
    "learning": "BiasVariance, LearningCurve, Selection, TunedThreshold, ValidationCurve",
    "monitor": "ONE_SYSTEM, PAIRED, MonitorLook, MonitorResult, MonitoredSystem",
    "pareto_fronts": "ParetoFront, ParetoRow",
    "per_unit": "PerUnit",
    "plan": "LabelSelection, LabelStratum, Plan, PlanRow",
    "schema": "from_json, json_schema",
    "serialization": "LAYOUTS, NAN, ORIENTATIONS, SCHEMA, FloatArray",
    "slices": "SliceEstimate, SliceDifference, Slices",
    "threshold_table": "ThresholdTables, ThresholdTable",
    "tidy": "TidyResult",
}

__all__ = [
    "INTERVAL_REASONS",
    "LAYOUTS",
    "NAN",
    "NORMALIZATIONS",
    "ONE_SYSTEM",
    "ORIENTATIONS",
    "PAIRED",
    "SCHEMA",
    "SEVERITIES",
    "BiasVariance",
    "Comparison",
    "ConfusionBase",
    "ConfusionMatrices",
    "ConfusionMatrixResult",
    "Curve",
    "Curves",
    "DecisionRegions",
    "Definition",
    "Difference",
    "Disparity",
    "Estimate",
    "Evaluation",
    "Fairness",
    "Finding",
    "FloatArray",
    "JudgeBias",
    "JudgedSample",
    "LabelSelection",
    "LabelStratum",
    "LabelTable",
    "LabelTables",
    "Leaderboard",
    "LeaderboardRow",
    "LearningCurve",
    "MonitorLook",
    "MonitorResult",
    "MonitoredSystem",
    "OmnibusTest",
    "ParetoFront",
    "ParetoRow",
    "PerUnit",
    "Plan",
    "PlanRow",
    "Selection",
    "SerializableConfusion",
    "SliceDifference",
    "SliceEstimate",
    "Slices",
    "SparseConfusion",
    "StoredPredictions",
    "ThresholdTable",
    "ThresholdTables",
    "TidyResult",
    "TunedThreshold",
    "ValidationCurve",
    "curve_kinds",
    "from_json",
    "json_schema",
    "plan_of",
    "select_kinds",
]

if not TYPE_CHECKING:  # type checkers know the names from above, and find misspelt ones
    __getattr__ = lazy_getattr(__name__, _NAMES_BY_MODULE)


def __dir__() -> list[str]:
    return sorted(__all__)
