"""A chart in one file: how far the scores of both classes are apart, at each threshold.

The largest distance is the statistic of Kolmogorov and Smirnov; CONTRIBUTING shows this file.
"""

from calipers.charts import CurveChart, make_score_curve, register_chart
from calipers.measures.counts import false_positive_rate, recall


def distance(scored):
    """TPR − FPR at every score, ascending."""
    difference = scored.along(recall, start=1) - scored.along(false_positive_rate, start=1)
    scores = scored.table.scores[::-1]
    axes = "Threshold", "TPR − FPR"
    return make_score_curve(
        scored, "KS", axes, x=scores, y=difference[::-1], threshold=scores, shape="step"
    )


register_chart(
    CurveChart(
        name="KS",
        title="Distance of the classes",
        explanation="The highest point is the statistic of Kolmogorov and Smirnov.",
        source="scores",
        curve=distance,
        x_is_threshold=True,
    )
)
