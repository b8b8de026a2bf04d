"""Calipers measures how well a system retrieves, classifies or predicts, and how sure you can be.

The public names are loaded when they are first used, so that importing the package costs next to
nothing.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

if TYPE_CHECKING:
    from calipers.data.errors import InputError
    from calipers.evaluate.agreement import order_agreement, rank_correlation
    from calipers.evaluate.classification import classification
    from calipers.evaluate.compare import compare
    from calipers.evaluate.curves import curve
    from calipers.evaluate.multilabel import multilabel
    from calipers.evaluate.operating import operating_point, rule_in_rule_out
    from calipers.evaluate.overlap import overlap, rbo
    from calipers.evaluate.plan import plan
    from calipers.evaluate.rankcurves import averaged_curves, topic_curves
    from calipers.evaluate.regression import regression
    from calipers.evaluate.retrieval import retrieval
    from calipers.evaluate.splits import compare_splits
    from calipers.evaluate.values import from_values
    from calipers.measures import Measure
    from calipers.measures import parse as measure
    from calipers.results import (
        Comparison,
        Difference,
        Estimate,
        Evaluation,
        Finding,
        Plan,
        from_json,
    )

    def measures(family: str | None = None) -> list[Measure]:
        """The measures of the catalogue."""


_HOME = {
    "Comparison": ("calipers.results", "Comparison"),
    "Difference": ("calipers.results", "Difference"),
    "Estimate": ("calipers.results", "Estimate"),
    "Evaluation": ("calipers.results", "Evaluation"),
    "Finding": ("calipers.results", "Finding"),
    "InputError": ("calipers.data.errors", "InputError"),
    "Plan": ("calipers.results", "Plan"),
    "averaged_curves": ("calipers.evaluate.rankcurves", "averaged_curves"),
    "classification": ("calipers.evaluate.classification", "classification"),
    "compare": ("calipers.evaluate.compare", "compare"),
    "compare_splits": ("calipers.evaluate.splits", "compare_splits"),
    "curve": ("calipers.evaluate.curves", "curve"),
    "from_json": ("calipers.results", "from_json"),
    "from_values": ("calipers.evaluate.values", "from_values"),
    "measure": ("calipers.measures", "parse"),
    "multilabel": ("calipers.evaluate.multilabel", "multilabel"),
    "operating_point": ("calipers.evaluate.operating", "operating_point"),
    "order_agreement": ("calipers.evaluate.agreement", "order_agreement"),
    "overlap": ("calipers.evaluate.overlap", "overlap"),
    "plan": ("calipers.evaluate.plan", "plan"),
    "rank_correlation": ("calipers.evaluate.agreement", "rank_correlation"),
    "rbo": ("calipers.evaluate.overlap", "rbo"),
    "regression": ("calipers.evaluate.regression", "regression"),
    "retrieval": ("calipers.evaluate.retrieval", "retrieval"),
    "rule_in_rule_out": ("calipers.evaluate.operating", "rule_in_rule_out"),
    "topic_curves": ("calipers.evaluate.rankcurves", "topic_curves"),
}

__all__ = [
    "Comparison",
    "Difference",
    "Estimate",
    "Evaluation",
    "Finding",
    "InputError",
    "Plan",
    "__version__",
    "averaged_curves",
    "classification",
    "compare",
    "compare_splits",
    "curve",
    "from_json",
    "from_values",
    "measure",
    "measures",
    "multilabel",
    "operating_point",
    "order_agreement",
    "overlap",
    "plan",
    "rank_correlation",
    "rbo",
    "regression",
    "retrieval",
    "rule_in_rule_out",
    "topic_curves",
]


def __getattr__(name: str) -> Any:
    if name == "measures":  # the package, which can be called to list what is in it
        return import_module("calipers.measures")
    if name not in _HOME:
        raise AttributeError(f"module 'calipers' has no attribute {name!r}")
    home, attribute = _HOME[name]
    value = getattr(import_module(home), attribute)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
