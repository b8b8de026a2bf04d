"""Sufficient statistics: built from batches of data, merged by ``+``, read by measures."""

from calipers.statistics.base import GEOMETRIC_FLOOR, FloatArray, IntArray, Statistic
from calipers.statistics.confusion import ConfusionMatrix
from calipers.statistics.groups import GroupedRankings
from calipers.statistics.moments import Moments
from calipers.statistics.rankings import JudgedRankings
from calipers.statistics.scores import ScoreTable

__all__ = [
    "GEOMETRIC_FLOOR",
    "ConfusionMatrix",
    "FloatArray",
    "GroupedRankings",
    "IntArray",
    "JudgedRankings",
    "Moments",
    "ScoreTable",
    "Statistic",
]
