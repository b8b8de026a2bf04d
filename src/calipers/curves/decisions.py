"""Decision-analytic curves: lift, cumulative gain, cost and net benefit."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from calipers.curves.score_data import GRID, ODDS_GRID, ScoreData, make_band, make_score_curve
from calipers.measures.counts import (
    detection_prevalence,
    false_negative_rate,
    false_positive_rate,
    lift,
    net_benefit,
    recall,
)
from calipers.report.figures.curves import CurveChart
from calipers.report.figures.registry import register_chart
from calipers.results import Curve
from calipers.statistics import FloatArray


def lift_curve(scored: ScoreData) -> Curve:
    """Compute lift against the proportion predicted positive.

    It starts at the first threshold with positive predictions.
    """
    proportions = scored.along(detection_prevalence, start=1)
    grid = GRID[(GRID > 0) & (proportions[0] <= GRID)]
    return make_score_curve(
        scored,
        "lift",
        ("Proportion predicted positive", "Lift"),
        x=proportions,
        y=scored.along(lift, start=1),
        chance=((0.0, 1.0), (1.0, 1.0)),
        **make_band(scored, grid, lambda: scored.counted.gain(grid) / grid),
    )


def gain_curve(scored: ScoreData) -> Curve:
    """Compute cumulative gain: recall against the proportion predicted positive."""
    return make_score_curve(
        scored,
        "gain",
        ("Proportion predicted positive", "Recall"),
        x=scored.along(detection_prevalence),
        y=scored.along(recall),
        chance=((0.0, 0.0), (1.0, 1.0)),
        references={"perfect order": ((0.0, 0.0), (scored.prevalence, 1.0), (1.0, 1.0))},
        **make_band(scored, GRID, lambda: scored.counted.gain(GRID)),
    )


def cost_curve(scored: ScoreData) -> Curve:
    """Compute the cost curve: the lowest expected cost over thresholds for each probability cost.

    Notes
    -----
    The probability cost p combines costs and prevalence: it is the proportion of the total cost
    that positives would cause if all rows were misclassified. The normalized expected cost of a
    threshold is FNR · p + FPR · (1 − p), a straight line. The curve is the lower envelope of these
    lines. At its vertices the optimal threshold changes; ``threshold`` is the optimal threshold to
    the right of the vertex. The band is that of the cost of the threshold that is optimal on these
    rows.

    References
    ----------
    Drummond and Holte (2006). Cost curves: an improved method for visualizing classifier
    performance. Machine Learning 65.
    """
    hull_indices = scored.hull
    fpr, fnr = (
        scored.along(rate)[hull_indices] for rate in (false_positive_rate, false_negative_rate)
    )
    fpr_steps, fnr_steps = np.diff(fpr), -np.diff(fnr)
    with np.errstate(invalid="ignore"):
        change_points = fpr_steps / (fpr_steps + fnr_steps)
    p = np.concatenate([[0.0], change_points, [1.0]])
    line_index = np.concatenate([np.arange(len(hull_indices)), [len(hull_indices) - 1]])
    threshold_index = scored.in_use
    lines = {
        "always negative": ((0.0, 0.0), (1.0, 1.0)),
        "always positive": ((0.0, 1.0), (1.0, 0.0)),
    }
    if threshold_index is not None:
        rates_in_use = [
            float(scored.along(m)[threshold_index])
            for m in (false_positive_rate, false_negative_rate)
        ]
        lines["threshold in use"] = ((0.0, rates_in_use[0]), (1.0, rates_in_use[1]))

    def replicate_costs() -> FloatArray:
        optimal_index = np.searchsorted(change_points, GRID, side="right").clip(
            max=len(hull_indices) - 1
        )
        tpr, fpr = scored.counted.rates(hull_indices[optimal_index])
        return (1 - tpr) * GRID + fpr * (1 - GRID)

    return make_score_curve(
        scored,
        "cost",
        ("Probability cost", "Normalized expected cost"),
        x=p,
        y=fnr[line_index] * p + fpr[line_index] * (1 - p),
        threshold=scored.table.thresholds[hull_indices][line_index],
        references=lines,
        **make_band(scored, GRID, replicate_costs),
    )


def net_benefit_curve(scored: ScoreData) -> Curve:
    """Compute the decision curve: net benefit against the threshold probability.

    Acting from a probability p on values one false positive at p / (1 − p) true positives. The
    curve is computed at every hundredth and at every score strictly between 0 and 1.

    References
    ----------
    Vickers and Elkin (2006). Decision curve analysis: a novel method for evaluating prediction
    models. Medical Decision Making 26.
    """
    scores = scored.table.scores
    inner_scores = scores[(scores > 0) & (scores < 1)]
    p = np.union1d(ODDS_GRID, inner_scores)
    indices = scored.threshold_indices(p)
    odds = p / (1 - p)
    counts = replace(
        scored.matrix, counts=scored.matrix.counts[indices], squares=scored.matrix.squares[indices]
    )
    bottom = -scored.prevalence / 4
    threshold, operating_point = scored.threshold, None
    if threshold is not None and 0 <= threshold < 1:
        operating_point = (
            threshold,
            float(
                net_benefit(
                    scored.table.to_confusion_matrix(threshold), odds=threshold / (1 - threshold)
                )
            ),
        )

    def replicate_benefits() -> FloatArray:
        return scored.counted.net_benefit(scored.threshold_indices(ODDS_GRID), ODDS_GRID)

    return make_score_curve(
        scored,
        "net benefit",
        ("Threshold probability", "Net benefit"),
        x=p,
        y=np.asarray(net_benefit(counts, odds=odds)),  # type: ignore[arg-type]
        threshold=p,
        operating_point=operating_point,
        bottom=bottom,
        references={
            "act on all": _act_on_all(scored, bottom),
            "act on none": ((0.0, 0.0), (1.0, 0.0)),
        },
        **make_band(scored, ODDS_GRID, replicate_benefits),
    )


def _act_on_all(scored: ScoreData, bottom: float) -> tuple[tuple[float, float], ...]:
    """Return the net benefit of predicting all rows positive, down to the bottom of the drawing."""
    all_positive = replace(
        scored.matrix, counts=scored.matrix.counts[-1:], squares=scored.matrix.squares[-1:]
    )
    # It ends at the odds (π + π/4) / (1 − π), which are not in the grid.
    last_probability = (scored.prevalence - bottom) / (1 - bottom)
    p = (
        np.append(GRID[last_probability > GRID], last_probability)
        if last_probability < 1
        else GRID[:-1]
    )
    benefit = net_benefit(all_positive, odds=p / (1 - p))  # type: ignore[arg-type]
    return tuple(zip(p.tolist(), benefit.tolist(), strict=True))


register_chart(
    CurveChart(name="lift", title="Lift", source="scores", curve=lift_curve, on_request=True),
    CurveChart(
        name="gain", title="Cumulative gain", source="scores", curve=gain_curve, on_request=True
    ),
    CurveChart(
        name="cost",
        title="Cost curve",
        explanation="Lowest expected cost over all thresholds, chosen on these rows, against the "
        "proportion of the total cost that positives would cause if all rows were misclassified.",
        source="scores",
        curve=cost_curve,
        band_note="of the thresholds chosen on these rows",
        on_request=True,
    ),
    CurveChart(
        name="net benefit",
        title="Net benefit",
        explanation="True positives per row minus weighted false positives: with a threshold "
        "probability p, one false positive costs as much as p/(1 − p) true positives.",
        source="probabilities",
        curve=net_benefit_curve,
        x_is_threshold=True,
        on_request=True,
    ),
)
