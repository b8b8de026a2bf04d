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


def lift_curve(score_data: ScoreData) -> Curve:
    """Compute lift against the proportion predicted positive.

    It starts at the first threshold with positive predictions.
    """
    proportions = score_data.along(detection_prevalence, start=1)
    grid_mask = (GRID > 0) & (proportions[0] <= GRID)
    grid = GRID[grid_mask]
    return make_score_curve(
        score_data,
        "lift",
        ("Proportion predicted positive", "Lift"),
        x=proportions,
        y=score_data.along(lift, start=1),
        chance=((0.0, 1.0), (1.0, 1.0)),
        **make_band(score_data, grid, lambda: score_data.gain_replicates[:, grid_mask] / grid),
    )


def gain_curve(score_data: ScoreData) -> Curve:
    """Compute cumulative gain: recall against the proportion predicted positive."""
    return make_score_curve(
        score_data,
        "gain",
        ("Proportion predicted positive", "Recall"),
        x=score_data.along(detection_prevalence),
        y=score_data.along(recall),
        chance=((0.0, 0.0), (1.0, 1.0)),
        references={"perfect order": ((0.0, 0.0), (score_data.prevalence, 1.0), (1.0, 1.0))},
        **make_band(score_data, GRID, lambda: score_data.gain_replicates),
    )


def cost_curve(score_data: ScoreData) -> Curve:
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
    hull_indices = score_data.hull
    fpr, fnr = (
        score_data.along(rate)[hull_indices] for rate in (false_positive_rate, false_negative_rate)
    )
    fpr_steps, fnr_steps = np.diff(fpr), -np.diff(fnr)
    with np.errstate(invalid="ignore"):
        change_points = fpr_steps / (fpr_steps + fnr_steps)
    p = np.concatenate([[0.0], change_points, [1.0]])
    line_index = np.concatenate([np.arange(len(hull_indices)), [len(hull_indices) - 1]])
    threshold_index = score_data.threshold_index
    lines = {
        "always negative": ((0.0, 0.0), (1.0, 1.0)),
        "always positive": ((0.0, 1.0), (1.0, 0.0)),
    }
    if threshold_index is not None:
        rates_in_use = [
            float(score_data.along(m)[threshold_index])
            for m in (false_positive_rate, false_negative_rate)
        ]
        lines["threshold in use"] = ((0.0, rates_in_use[0]), (1.0, rates_in_use[1]))

    def replicate_costs() -> FloatArray:
        optimal_index = np.searchsorted(change_points, GRID, side="right").clip(
            max=len(hull_indices) - 1
        )
        tpr, fpr = score_data.threshold_replicates.rates(hull_indices[optimal_index])
        return (1 - tpr) * GRID + fpr * (1 - GRID)

    return make_score_curve(
        score_data,
        "cost",
        ("Probability cost", "Normalized expected cost"),
        x=p,
        y=fnr[line_index] * p + fpr[line_index] * (1 - p),
        threshold=score_data.table.thresholds[hull_indices][line_index],
        references=lines,
        **make_band(score_data, GRID, replicate_costs),
    )


def net_benefit_curve(score_data: ScoreData) -> Curve:
    """Compute the decision curve: net benefit against the threshold probability.

    Acting from a probability p on values one false positive at p / (1 − p) true positives. The
    curve is computed at every hundredth and at every score strictly between 0 and 1.

    References
    ----------
    Vickers and Elkin (2006). Decision curve analysis: a novel method for evaluating prediction
    models. Medical Decision Making 26.
    """
    scores = score_data.table.scores
    inner_scores = scores[(scores > 0) & (scores < 1)]
    p = np.union1d(ODDS_GRID, inner_scores)
    indices = score_data.threshold_indices(p)
    odds = p / (1 - p)
    counts = replace(
        score_data.confusion_matrices,
        counts=score_data.confusion_matrices.counts[indices],
        squares=score_data.confusion_matrices.squares[indices],
    )
    bottom = -score_data.prevalence / 4
    threshold, operating_point = score_data.threshold, None
    if threshold is not None and 0 <= threshold < 1:
        operating_point = (
            threshold,
            float(
                net_benefit(
                    score_data.table.confusion_at(threshold), odds=threshold / (1 - threshold)
                )
            ),
        )

    def replicate_benefits() -> FloatArray:
        return score_data.threshold_replicates.net_benefit(
            score_data.threshold_indices(ODDS_GRID), ODDS_GRID
        )

    return make_score_curve(
        score_data,
        "net benefit",
        ("Threshold probability", "Net benefit"),
        x=p,
        y=np.asarray(net_benefit(counts, odds=odds)),  # type: ignore[arg-type]
        threshold=p,
        operating_point=operating_point,
        bottom=bottom,
        references={
            "act on all": _act_on_all(score_data, bottom),
            "act on none": ((0.0, 0.0), (1.0, 0.0)),
        },
        **make_band(score_data, ODDS_GRID, replicate_benefits),
    )


def _act_on_all(score_data: ScoreData, bottom: float) -> tuple[tuple[float, float], ...]:
    """Return the net benefit of predicting all rows positive, down to the bottom of the drawing."""
    all_positive = replace(
        score_data.confusion_matrices,
        counts=score_data.confusion_matrices.counts[-1:],
        squares=score_data.confusion_matrices.squares[-1:],
    )
    # It ends at the odds (π + π/4) / (1 − π), which are not in the grid.
    last_probability = (score_data.prevalence - bottom) / (1 - bottom)
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
