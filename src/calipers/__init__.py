"""Evaluation of information retrieval and machine learning systems, with intervals and tests.

Public names are loaded on first use, so that the import of the package costs almost nothing.
"""

from __future__ import annotations

from importlib import import_module

from calipers.lazy_imports import TYPE_CHECKING, lazy_getattr

__version__ = "0.1.0"


def _refuse_subinterpreter() -> None:
    """Raise ImportError in a subinterpreter, where NumPy and the core share state with others."""
    for name in ("_interpreters", "_xxsubinterpreters"):  # from Python 3.13 on, and before
        try:
            interpreters = import_module(name)
        except ImportError:
            continue
        if interpreters.get_current() != interpreters.get_main():
            raise ImportError(
                "Calipers and NumPy do not support subinterpreters; import calipers in the main "
                "interpreter (of mod_wsgi: WSGIApplicationGroup %{GLOBAL})"
            )
        return


_refuse_subinterpreter()

if TYPE_CHECKING:
    from typing import Any

    from calipers.campaign.store import Campaign
    from calipers.data.errors import InputError
    from calipers.evaluate.abstention import abstention
    from calipers.evaluate.agreement import agreement
    from calipers.evaluate.best_system import best_system
    from calipers.evaluate.case_scores import scores
    from calipers.evaluate.classification import classification
    from calipers.evaluate.clustering import clustering
    from calipers.evaluate.curves import averaged_curves, curve, topic_curves
    from calipers.evaluate.external_values import from_values
    from calipers.evaluate.fairness import fairness
    from calipers.evaluate.interleaving import interleaving
    from calipers.evaluate.judge import judge
    from calipers.evaluate.merge_states import merge_states, save_state
    from calipers.evaluate.monitor import monitor
    from calipers.evaluate.multilabel import multilabel
    from calipers.evaluate.operating_points import operating_point, rule_in_rule_out
    from calipers.evaluate.overlap import overlap, rbo
    from calipers.evaluate.pairs import pairs
    from calipers.evaluate.passages import passages
    from calipers.evaluate.plan import plan
    from calipers.evaluate.plan_labels import plan_labels
    from calipers.evaluate.precision_recall import precision_recall
    from calipers.evaluate.rank_correlation import rank_correlation, system_rank_correlation
    from calipers.evaluate.ranking import ranking
    from calipers.evaluate.regression import regression
    from calipers.evaluate.requirements import check_requirements
    from calipers.evaluate.retrieval import retrieval
    from calipers.evaluate.review import review
    from calipers.evaluate.splits import compare_splits
    from calipers.evaluate.survival import survival
    from calipers.evaluate.threshold_tables import threshold_table
    from calipers.evaluate.uplift import uplift
    from calipers.evaluation.compare import compare
    from calipers.evaluation.stored_predictions import keep_predictions
    from calipers.learning.bias_variance import bias_variance
    from calipers.learning.cross_validation import cross_validate
    from calipers.learning.learning_curves import learning_curve, validation_curve
    from calipers.learning.selection import select_model
    from calipers.learning.split import split
    from calipers.learning.split_checks import check_split
    from calipers.measures import Measure
    from calipers.measures import parse as measure
    from calipers.results import (
        BiasVariance,
        Comparison,
        Difference,
        Estimate,
        Evaluation,
        Finding,
        Leaderboard,
        LearningCurve,
        MonitorResult,
        Plan,
        ValidationCurve,
        from_json,
    )

    def measures(family: str | None = None) -> list[Measure]:
        """Return the measures of the catalogue.

        Parameters
        ----------
        family : str, optional
            Family of measures. By default all families.

        Returns
        -------
        list of Measure
            The measures.
        """


_HOMES = {
    "campaign.store": "Campaign",
    "data.errors": "InputError",
    "evaluate.rank_correlation": "system_rank_correlation, rank_correlation",
    "evaluate.abstention": "abstention",
    "evaluate.agreement": "agreement",
    "evaluate.best_system": "best_system",
    "evaluate.case_scores": "scores",
    "evaluate.classification": "classification",
    "evaluate.clustering": "clustering",
    "evaluation.compare": "compare",
    "evaluate.curves": "averaged_curves, curve, topic_curves",
    "evaluate.threshold_tables": "threshold_table",
    "evaluate.requirements": "check_requirements",
    "evaluation.stored_predictions": "keep_predictions",
    "evaluate.interleaving": "interleaving",
    "evaluate.judge": "judge",
    "evaluate.fairness": "fairness",
    "evaluate.merge_states": "merge_states, save_state",
    "evaluate.monitor": "monitor",
    "evaluate.multilabel": "multilabel",
    "evaluate.operating_points": "operating_point, rule_in_rule_out",
    "evaluate.overlap": "overlap, rbo",
    "evaluate.pairs": "pairs",
    "evaluate.passages": "passages",
    "evaluate.plan": "plan",
    "evaluate.plan_labels": "plan_labels",
    "evaluate.precision_recall": "precision_recall",
    "evaluate.ranking": "ranking",
    "evaluate.regression": "regression",
    "evaluate.retrieval": "retrieval",
    "evaluate.review": "review",
    "evaluate.splits": "compare_splits",
    "evaluate.survival": "survival",
    "evaluate.uplift": "uplift",
    "evaluate.external_values": "from_values",
    "learning.split_checks": "check_split",
    "learning.split": "split",
    "learning.selection": "select_model",
    "learning.cross_validation": "cross_validate",
    "learning.learning_curves": "learning_curve, validation_curve",
    "learning.bias_variance": "bias_variance",
    "measures": "parse as measure",
    "results": "Comparison, BiasVariance, Difference, Estimate, Evaluation, Finding, "
    "Leaderboard, LearningCurve, MonitorResult, Plan, ValidationCurve, from_json",
}

__all__ = [
    "BiasVariance",
    "Campaign",
    "Comparison",
    "Difference",
    "Estimate",
    "Evaluation",
    "Finding",
    "InputError",
    "Leaderboard",
    "LearningCurve",
    "MonitorResult",
    "Plan",
    "ValidationCurve",
    "__version__",
    "abstention",
    "agreement",
    "averaged_curves",
    "best_system",
    "bias_variance",
    "check_requirements",
    "check_split",
    "classification",
    "clustering",
    "compare",
    "compare_splits",
    "cross_validate",
    "curve",
    "fairness",
    "from_json",
    "from_values",
    "interleaving",
    "judge",
    "keep_predictions",
    "learning_curve",
    "measure",
    "measures",
    "merge_states",
    "monitor",
    "multilabel",
    "operating_point",
    "overlap",
    "pairs",
    "passages",
    "plan",
    "plan_labels",
    "precision_recall",
    "rank_correlation",
    "ranking",
    "rbo",
    "regression",
    "retrieval",
    "review",
    "rule_in_rule_out",
    "save_state",
    "scores",
    "select_model",
    "split",
    "survival",
    "system_rank_correlation",
    "threshold_table",
    "topic_curves",
    "uplift",
    "validation_curve",
]


if TYPE_CHECKING:
    #: Package that is also the function that lists what is in it.
    measures: Any  # type: ignore[no-redef]
else:  # type checkers know the names from above, and find misspelt ones
    _load = lazy_getattr(__name__, _HOMES)

    def __getattr__(name: str) -> Any:
        if name == "measures":
            return import_module("calipers.measures")
        return _load(name)


def __dir__() -> list[str]:
    return sorted(__all__)
