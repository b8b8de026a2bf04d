"""Sufficient statistics: built from batches of data, merged by ``+``, read by measures."""

from typing import TYPE_CHECKING

from calipers.lazily import loading

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
    from calipers.statistics.class_tables import ClassTables
    from calipers.statistics.classes import ClassRows
    from calipers.statistics.clusters import ClusterMoments
    from calipers.statistics.confusion import ConfusionMatrix, LabelMatrices
    from calipers.statistics.contingency import ContingencyTable
    from calipers.statistics.differences import Commonest, UnitDifferences
    from calipers.statistics.groups import GroupedRankings
    from calipers.statistics.histogram import Histogram
    from calipers.statistics.label_sets import LabelSets
    from calipers.statistics.looked import LookedAt
    from calipers.statistics.moments import Moments, SkewMoments
    from calipers.statistics.numbers import FitMoments, NumberMoments, NumberRows
    from calipers.statistics.occupied import OccupiedMatrix, confusion_matrix
    from calipers.statistics.quantiles import QuantileRows
    from calipers.statistics.rankings import JudgedRankings
    from calipers.statistics.ranks import ClassRanks, rank_cells
    from calipers.statistics.ratings import RatingRows, Ratings
    from calipers.statistics.sampled import SampledRankings
    from calipers.statistics.scores import ScoreOrder, ScoreParts, ScoreTable
    from calipers.statistics.separations import Separations
    from calipers.statistics.several import Several

_HOMES = {
    "base": "GEOMETRIC_FLOOR, FloatArray, IntArray, Statistic, all_but_one, kish, kish_of",
    "class_losses": "ClassLosses",
    "class_tables": "ClassTables",
    "classes": "ClassRows",
    "clusters": "ClusterMoments",
    "confusion": "ConfusionMatrix, LabelMatrices",
    "contingency": "ContingencyTable",
    "differences": "Commonest, UnitDifferences",
    "groups": "GroupedRankings",
    "histogram": "Histogram",
    "label_sets": "LabelSets",
    "looked": "LookedAt",
    "moments": "Moments, SkewMoments",
    "numbers": "FitMoments, NumberMoments, NumberRows",
    "occupied": "OccupiedMatrix, confusion_matrix",
    "quantiles": "QuantileRows",
    "rankings": "JudgedRankings",
    "ratings": "RatingRows, Ratings",
    "ranks": "ClassRanks, rank_cells",
    "sampled": "SampledRankings",
    "separations": "Separations",
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
    "SkewMoments",
    "Statistic",
    "UnitDifferences",
    "all_but_one",
    "confusion_matrix",
    "kish",
    "kish_of",
    "rank_cells",
]

if not TYPE_CHECKING:  # type checkers know the names from above, and find misspelt ones
    __getattr__ = loading(__name__, _HOMES)


def __dir__() -> list[str]:
    return sorted(__all__)
