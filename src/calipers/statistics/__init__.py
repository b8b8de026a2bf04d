"""Sufficient statistics: built from batches of rows, merged by ``+``, and used by measures."""

from typing import TYPE_CHECKING

from calipers.lazy_imports import lazy_getattr

if TYPE_CHECKING:
    from calipers.statistics.base import (
        GEOMETRIC_FLOOR,
        FloatArray,
        IntArray,
        Statistic,
        effective_size,
        effective_size_from_weights,
        leave_one_out_sums,
    )
    from calipers.statistics.battles import BattleCounts
    from calipers.statistics.case_scores import LengthRows, ScoreRows, ScoreSummary
    from calipers.statistics.class_losses import ClassLosses
    from calipers.statistics.class_scores import ClassRanks, ClassScoreRows, rank_cells
    from calipers.statistics.class_tables import ClassTables
    from calipers.statistics.clusters import ClusterDensities, ClusterMoments, ClusterSeparation
    from calipers.statistics.confusion import ConfusionMatrix, LabelMatrices
    from calipers.statistics.contingency import ContingencyTable
    from calipers.statistics.differences import (
        MajorityValue,
        Signs,
        UnitDifferences,
        count_signs,
        subtract_values,
    )
    from calipers.statistics.grouped_rankings import GroupedRankings
    from calipers.statistics.histogram import Histogram
    from calipers.statistics.label_sets import LabelSets
    from calipers.statistics.moments import Moments, SkewMoments
    from calipers.statistics.quantiles import EnsembleRows, QuantileRows
    from calipers.statistics.ranking_series import RankingSeries
    from calipers.statistics.rankings import JudgedRankings
    from calipers.statistics.ratings import RaterMoments, RatingRows, Ratings
    from calipers.statistics.regression import (
        ColumnProducts,
        FitMoments,
        NumericMoments,
        NumericRows,
    )
    from calipers.statistics.row_sample import LargestResiduals, SampledRows
    from calipers.statistics.sampled_rankings import SampledRankings
    from calipers.statistics.scores import ScoreOrder, ScoreTable, SubsetScores
    from calipers.statistics.sparse_confusion import SparseConfusionMatrix, confusion_matrix
    from calipers.statistics.statistic_vectors import StatisticVector
    from calipers.statistics.survival import SurvivalRows
    from calipers.statistics.unit_values import UnitSums
    from calipers.statistics.uplift import UpliftRows

_HOMES = {
    "base": "FloatArray, GEOMETRIC_FLOOR, IntArray, Statistic, leave_one_out_sums, effective_size, "
    "effective_size_from_weights",
    "battles": "BattleCounts",
    "case_scores": "LengthRows, ScoreRows, ScoreSummary",
    "class_losses": "ClassLosses",
    "class_tables": "ClassTables",
    "class_scores": "ClassRanks, ClassScoreRows, rank_cells",
    "clusters": "ClusterDensities, ClusterMoments, ClusterSeparation",
    "confusion": "ConfusionMatrix, LabelMatrices",
    "contingency": "ContingencyTable",
    "differences": "MajorityValue, Signs, UnitDifferences, count_signs, subtract_values",
    "grouped_rankings": "GroupedRankings",
    "histogram": "Histogram",
    "label_sets": "LabelSets",
    "row_sample": "LargestResiduals, SampledRows",
    "moments": "Moments, SkewMoments",
    "regression": "ColumnProducts, FitMoments, NumericMoments, NumericRows",
    "sparse_confusion": "SparseConfusionMatrix, confusion_matrix",
    "quantiles": "EnsembleRows, QuantileRows",
    "ranking_series": "RankingSeries",
    "rankings": "JudgedRankings",
    "ratings": "RaterMoments, RatingRows, Ratings",
    "sampled_rankings": "SampledRankings",
    "statistic_vectors": "StatisticVector",
    "survival": "SurvivalRows",
    "scores": "ScoreOrder, SubsetScores, ScoreTable",
    "unit_values": "UnitSums",
    "uplift": "UpliftRows",
}

__all__ = [
    "GEOMETRIC_FLOOR",
    "BattleCounts",
    "ClassLosses",
    "ClassRanks",
    "ClassScoreRows",
    "ClassTables",
    "ClusterDensities",
    "ClusterMoments",
    "ClusterSeparation",
    "ColumnProducts",
    "ConfusionMatrix",
    "ContingencyTable",
    "EnsembleRows",
    "FitMoments",
    "FloatArray",
    "GroupedRankings",
    "Histogram",
    "IntArray",
    "JudgedRankings",
    "LabelMatrices",
    "LabelSets",
    "LargestResiduals",
    "LengthRows",
    "MajorityValue",
    "Moments",
    "NumericMoments",
    "NumericRows",
    "QuantileRows",
    "RankingSeries",
    "RaterMoments",
    "RatingRows",
    "Ratings",
    "SampledRankings",
    "SampledRows",
    "ScoreOrder",
    "ScoreRows",
    "ScoreSummary",
    "ScoreTable",
    "Signs",
    "SkewMoments",
    "SparseConfusionMatrix",
    "Statistic",
    "StatisticVector",
    "SubsetScores",
    "SurvivalRows",
    "UnitDifferences",
    "UnitSums",
    "UpliftRows",
    "confusion_matrix",
    "count_signs",
    "effective_size",
    "effective_size_from_weights",
    "leave_one_out_sums",
    "rank_cells",
    "subtract_values",
]

if not TYPE_CHECKING:  # type checkers know the names from above, and find misspelt ones
    __getattr__ = lazy_getattr(__name__, _HOMES)


def __dir__() -> list[str]:
    return sorted(__all__)
