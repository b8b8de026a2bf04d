"""Sufficient statistics: built from batches of data, merged by ``+``, read by measures."""

from calipers.statistics.base import FloatArray, IntArray, Statistic
from calipers.statistics.confusion import ConfusionMatrix
from calipers.statistics.moments import Moments
from calipers.statistics.rankings import JudgedRankings
from calipers.statistics.scores import ScoreTable

__all__ = [
    "ConfusionMatrix",
    "FloatArray",
    "IntArray",
    "JudgedRankings",
    "Moments",
    "ScoreTable",
    "Statistic",
]
