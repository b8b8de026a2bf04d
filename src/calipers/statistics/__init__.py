"""Sufficient statistics: built from batches of data, merged by ``+``, read by measures."""

from typing import TYPE_CHECKING

from calipers.lazy_imports import loading

if TYPE_CHECKING:
    from calipers.statistics.base import (
        GEOMETRIC_FLOOR,
        FloatArray,
        IntArray,
        Statistic,
        all_but_one,
        kish,
        kish_of,
    )
    from calipers.statistics.class_losses import ClassLosses
    from calipers.statistics.class_scores import ClassRanks, ClassRows, rank_cells
    from calipers.statistics.class_tables import ClassTables
    from calipers.statistics.clusters import ClusterMoments, Separations
    from calipers.statistics.confusion import ConfusionMatrix, LabelMatrices
    from calipers.statistics.contingency import ContingencyTable
    from calipers.statistics.differences import Commonest, Signs, UnitDifferences, signs
    from calipers.statistics.grouped_rankings import GroupedRankings
    from calipers.statistics.histogram import Histogram
    from calipers.statistics.label_sets import LabelSets
    from calipers.statistics.moments import Moments, SkewMoments
    from calipers.statistics.quantiles import QuantileRows
    from calipers.statistics.rankings import JudgedRankings
    from calipers.statistics.ratings import RatingRows, Ratings
    from calipers.statistics.regression import FitMoments, NumberMoments, NumberRows
    from calipers.statistics.row_sample import Largest, LookedAt
    from calipers.statistics.sampled_rankings import SampledRankings
    from calipers.statistics.scores import ScoreOrder, ScoreParts, ScoreTable
    from calipers.statistics.several import Several
    from calipers.statistics.sparse_confusion import OccupiedMatrix, confusion_matrix

_HOMES = {
    "base": "FloatArray, GEOMETRIC_FLOOR, IntArray, Statistic, all_but_one, kish, kish_of",
    "class_losses": "ClassLosses",
    "class_tables": "ClassTables",
    "class_scores": "ClassRanks, ClassRows, rank_cells",
    "clusters": "ClusterMoments, Separations",
    "confusion": "ConfusionMatrix, LabelMatrices",
    "contingency": "ContingencyTable",
    "differences": "Commonest, Signs, UnitDifferences, signs",
    "grouped_rankings": "GroupedRankings",
    "histogram": "Histogram",
    "label_sets": "LabelSets",
    "row_sample": "Largest, LookedAt",
    "moments": "Moments, SkewMoments",
    "regression": "FitMoments, NumberMoments, NumberRows",
    "sparse_confusion": "OccupiedMatrix, confusion_matrix",
    "quantiles": "QuantileRows",
    "rankings": "JudgedRankings",
    "ratings": "RatingRows, Ratings",
    "sampled_rankings": "SampledRankings",
    "several": "Several",
    "scores": "ScoreOrder, ScoreParts, ScoreTable",
}

__all__ = [
    "GEOMETRIC_FLOOR",
    "ClassLosses",
    "ClassRanks",
    "ClassRows",
    "ClassTables",
    "ClusterMoments",
    "Commonest",
    "ConfusionMatrix",
    "ContingencyTable",
    "FitMoments",
    "FloatArray",
    "GroupedRankings",
    "Histogram",
    "IntArray",
    "JudgedRankings",
    "LabelMatrices",
    "LabelSets",
    "Largest",
    "LookedAt",
    "Moments",
    "NumberMoments",
    "NumberRows",
    "OccupiedMatrix",
    "QuantileRows",
    "RatingRows",
    "Ratings",
    "SampledRankings",
    "ScoreOrder",
    "ScoreParts",
    "ScoreTable",
    "Separations",
    "Several",
    "Signs",
    "SkewMoments",
    "Statistic",
    "UnitDifferences",
    "all_but_one",
    "confusion_matrix",
    "kish",
    "kish_of",
    "rank_cells",
    "signs",
]

if not TYPE_CHECKING:  # type checkers know the names from above, and find misspelt ones
    __getattr__ = loading(__name__, _HOMES)


def __dir__() -> list[str]:
    return sorted(__all__)
