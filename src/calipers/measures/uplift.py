"""Measures of predicted uplift against the outcomes of a randomized experiment.

Rows are targeted in the order of the predicted uplift. Rows of equal scores are targeted together:
a curve is straight between its points before and after them. Without a treated row, or without one
of the control group, among the targeted rows, the mean outcome of that arm counts as 0.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from math import inf
from typing import Any

from calipers.caching import cached
from calipers.lazy_imports import numpy as np
from calipers.measures.registration import measure
from calipers.statistics import FloatArray, IntArray, UpliftRows
from calipers.statistics.uplift import ArmSums, divide_or_zero

#: Smallest fraction of the rows of a score that counts as targeted; less is rounding error.
_MIN_FRACTION = 1e-9
#: Half of the rows about the last targeted one from which outcomes at the boundary are estimated,
#: as a proportion of the targeted rows, or of the others if these are fewer.
_BOUNDARY_WIDTH = 0.1


# --- Areas ----------------------------------------------------------------------------------------


def uplift_gains(targeted: ArmSums) -> FloatArray:
    """Return the targeted proportion times the uplift in it, for each point of a curve."""
    weight = targeted.weight
    return np.asarray(weight / weight[..., -1:] * targeted.uplift)


def qini_gains(targeted: ArmSums) -> FloatArray:
    """Return the outcomes of targeted treated rows beyond those expected, over all treated."""
    _, control = targeted.means
    gained = targeted.treated_outcome - targeted.treated * np.where(
        targeted.control > 0, control, 0.0
    )
    return divide_or_zero(gained, np.broadcast_to(targeted.treated[..., -1:], np.shape(gained)))


def _area(rows: UpliftRows, gains: Callable[[ArmSums], FloatArray]) -> FloatArray:
    """Return the area under the curve of gains, over the proportion that is targeted."""
    heights = gains(rows.targeted)
    lower = np.concatenate([np.zeros((*heights.shape[:-1], 1)), heights[..., :-1]], axis=-1)
    return np.asarray((rows.sums.weight * (heights + lower)).sum(axis=-1) / (2 * rows.total))


def _suffix_sums(values: FloatArray) -> FloatArray:
    return np.cumsum(values[::-1])[::-1]


def _left_out_areas(
    batch: UpliftRows, rows: UpliftRows, gains: Callable[[ArmSums], FloatArray]
) -> FloatArray:
    """Return the area without each of some rows, exact if weights are equal.

    A row is in the sums at its own score and at all lower ones, so that what changes without it is
    a sum from the end of the curve. The mean of an arm without a row is that of all less
    w(y − mean)/(weight of the others), where the latter is that without a row of average weight.
    """
    sums, targeted, total = rows.sums.weight, rows.targeted, float(rows.total)
    n_treated, weight = float(targeted.treated[-1]), targeted.weight
    index, w, y = rows.score_index(batch.predicted), batch.weight, batch.truth
    is_treated = batch.treatment > 0
    lengths = sums + np.append(sums[1:], 0.0)
    slopes, offsets = [], []
    for arm, mean, typical in zip(
        (targeted.treated, targeted.control), targeted.means, rows.typical_weights, strict=True
    ):
        others = arm - typical
        is_alone = others <= typical * _MIN_FRACTION
        slopes.append(1 / np.where(is_alone, typical, others))
        offsets.append(np.where(is_alone, 0.0, mean * slopes[-1]))
    arm_index = index + len(sums) * is_treated
    has_common_weight = bool((w == w[:1]).all())

    def at_rows(terms: Sequence[FloatArray], index: FloatArray) -> FloatArray:
        """Return c₀ − w·c₁ + w²·c₂ … of the terms c at the score of each row."""
        if has_common_weight:  # one selection in place of several
            return np.asarray(_alternating_powers(terms, w[0])[index])
        return _alternating_powers([term[index] for term in terms], w)

    def removed(column: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return terms of the sum of a column without the row, times the lengths of its steps."""
        return _suffix_sums(lengths * column), column

    def removed_product(column: FloatArray, change: FloatArray) -> list[FloatArray]:
        """Return terms of the sum of a column that the row is in, times what changes without it."""
        first, second = removed(column * change), removed(change)
        return [first[0], first[1] + second[0], second[1]]

    if not len(w):
        return np.zeros(0)
    if gains is uplift_gains:
        heights = weight * targeted.uplift
        # What changes with the outcome of the row and without it, of the control group and treated.
        by_arm = [
            [np.concatenate(terms) for terms in zip(*arms, strict=True)]
            for arms in (
                [removed_product(weight, slope) for slope in reversed(slopes)],
                [removed_product(weight, offset) for offset in reversed(offsets)],
            )
        ]
        change = y * at_rows(by_arm[0], arm_index) - at_rows(by_arm[1], arm_index)
        change = np.where(is_treated, -w, w) * change
        remaining = removed_product(weight, targeted.uplift)
        scale = 2 * np.square(total - w)
    else:
        control = targeted.means[1]
        heights = targeted.treated_outcome - targeted.treated * control
        by_arm = [
            [np.concatenate(terms) for terms in zip(*arms, strict=True)]
            for arms in (
                (removed(targeted.treated * slopes[1]), removed(-np.ones(len(control)))),
                (removed(targeted.treated * offsets[1]), removed(-control)),
            )
        ]
        change = w * (y * at_rows(by_arm[0], arm_index) - at_rows(by_arm[1], arm_index))
        remaining = list(removed(heights))
        scale = 2 * (total - w) * (n_treated - w * is_treated)
    remaining[0] = remaining[0] + np.append(0.0, np.cumsum(lengths * heights)[:-1])
    remaining[1] = remaining[1] + np.append(0.0, heights[:-1])
    return np.asarray((at_rows(remaining, index) + change) / scale)


def _alternating_powers(terms: Sequence[FloatArray], w: FloatArray) -> FloatArray:
    """Return c₀ − w·c₁ + w²·c₂ … of terms c."""
    total = terms[-1]
    for term in reversed(terms[:-1]):
        total = term - w * total
    return total


def _excess(rows: UpliftRows, gains: Callable[[ArmSums], FloatArray]) -> FloatArray:
    """Return the area between a curve and the line of targeting at random."""
    return np.asarray(_area(rows, gains) - gains(rows.targeted)[..., -1:].sum(axis=-1) / 2)


def _left_out_excesses(
    batch: UpliftRows, rows: UpliftRows, gains: Callable[[ArmSums], FloatArray]
) -> FloatArray:
    """Return the excess without each of some rows."""
    at_random = _left_out_areas(batch.without_order, rows.without_order, gains)
    return np.asarray(_left_out_areas(batch, rows, gains) - at_random)


def _signed_outcomes(rows: UpliftRows) -> UpliftRows:
    """Return the rows by their outcome, which counts negative in the control group."""

    def compute() -> UpliftRows:
        return rows.with_scores(np.where(rows.treatment > 0, rows.truth, -rows.truth))

    return cached(rows, "signed", compute)


def _responders(rows: UpliftRows, *, control_first: bool) -> UpliftRows:
    """Return the rows in the order of the best uplift curve of outcomes of 0 and 1.

    Treated responders are first, others of the control group second. Whether responders of the
    control group precede others that are treated depends on which are more.
    """

    def compute() -> UpliftRows:
        is_right = rows.truth == rows.treatment
        return rows.with_scores(2.0 * is_right + (rows.truth if control_first else rows.treatment))

    return cached(rows, ("responders", control_first), compute)


def _has_control_first(rows: UpliftRows) -> Any:
    """Return whether responders of the control group are more than other treated rows."""
    is_control, responds = rows.treatment == 0, rows.truth == 1
    counts = (
        (rows.weight * mask).sum(axis=-1)
        for mask in (is_control & responds, ~is_control & ~responds)
    )
    n_control_responders, n_other_treated = counts
    return n_control_responders > n_other_treated


def _left_out_ratios(
    batch: UpliftRows,
    rows: UpliftRows,
    best: Callable[[UpliftRows], UpliftRows],
    gains: Callable[[ArmSums], FloatArray],
) -> FloatArray:
    """Return an excess over that of the best order, without each of some rows."""
    largest = _left_out_excesses(best(batch), best(rows), gains)
    return np.asarray(_left_out_excesses(batch, rows, gains) / largest)


# --- The targeted rows ----------------------------------------------------------------------------


def _last_targeted(
    sums: FloatArray, targeted: FloatArray, volume: float
) -> tuple[IntArray, FloatArray]:
    """Return how many scores are targeted as a whole, and the part of the next one that is."""
    reach = volume * targeted[..., -1:]
    n_whole = (targeted <= reach).sum(axis=-1, keepdims=True)
    following = np.minimum(n_whole, targeted.shape[-1] - 1)
    size = np.take_along_axis(sums, following, axis=-1)
    above = np.take_along_axis(targeted, following, axis=-1) - size
    fraction = np.clip(divide_or_zero(reach - above, size), 0.0, 1.0)
    return n_whole, np.where((fraction < _MIN_FRACTION) | (n_whole > following), 0.0, fraction)


def _targeted_limits(
    rows: UpliftRows, volume: float, strategy: str
) -> list[tuple[IntArray, FloatArray]]:
    """Return how far treated rows are targeted, and those of the control group."""
    sums, targeted = rows.sums, rows.targeted
    if strategy == "overall":
        return [_last_targeted(sums.weight, targeted.weight, volume)] * 2
    pairs = (sums.treated, targeted.treated), (sums.control, targeted.control)
    return [_last_targeted(*pair, volume) for pair in pairs]


def _targeted_fraction(index: FloatArray, limits: tuple[IntArray, FloatArray]) -> FloatArray:
    """Return the part of each row that is targeted, by the index of its score."""
    n_whole, fraction = int(limits[0][0]), float(limits[1][0])
    return np.asarray((index < n_whole) + fraction * (index == n_whole))


def _targeted_arms(rows: UpliftRows, volume: float, strategy: str) -> ArmSums:
    if not rows.n_rows:
        return ArmSums(*(column.sum(axis=-1, keepdims=True) for column in rows.sums.columns))
    sums, targeted, limits = rows.sums, rows.targeted, _targeted_limits(rows, volume, strategy)

    def until(column: str, limit: tuple[IntArray, FloatArray]) -> FloatArray:
        n_whole, fraction = limit
        last = np.minimum(n_whole, len(rows.sorted_predictions.values) - 1)
        above = np.take_along_axis(getattr(targeted, column), np.maximum(n_whole - 1, 0), axis=-1)
        following = np.take_along_axis(getattr(sums, column), last, axis=-1)
        return np.asarray(np.where(n_whole > 0, above, 0.0) + fraction * following)

    names = "treated", "control", "treated_outcome", "control_outcome"
    return ArmSums(*(until(name, limits[k % 2]) for k, name in enumerate(names)))


def _boundary(rows: UpliftRows, volume: float, cumulated: FloatArray, sums: FloatArray) -> ArmSums:
    """Return the sums over the rows about the last targeted one; those of its score, if many."""
    total = cumulated[-1]
    reach, width = volume * total, _BOUNDARY_WIDTH * min(volume, 1 - volume) * total
    last = min(int(np.searchsorted(cumulated, reach * (1 - _MIN_FRACTION))), len(sums) - 1)
    first = int(np.searchsorted(cumulated, reach - width))
    stop = int(np.searchsorted(cumulated, reach + width, side="right")) + 1
    if sums[last] >= 2 * width:
        first, stop = last, last + 1
    return ArmSums(*(column[first:stop].sum(keepdims=True) for column in rows.sums.columns))


def _left_out_uplifts(
    batch: UpliftRows, rows: UpliftRows, volume: float = 0.3, strategy: str = "overall"
) -> FloatArray:
    """Return the uplift among the targeted rows without each of some rows.

    A targeted row is in the mean of its arm, and every row moves the boundary, whose rows have
    other outcomes than those above. These are estimated from the rows about it.
    """
    arms = _targeted_arms(rows, volume, strategy)
    index, is_treated = rows.score_index(batch.predicted), batch.treatment > 0
    weights = [float(column[0]) for column in (arms.treated, arms.control)]
    means = [float(column[0]) for column in arms.means]
    limits = _targeted_limits(rows, volume, strategy)
    inside = [_targeted_fraction(index, limit) for limit in limits]
    w = batch.weight
    others = [weight - w * fraction for weight, fraction in zip(weights, inside, strict=True)]
    changes = np.where(
        is_treated,
        inside[0] * (batch.truth - means[0]) / others[0],
        -inside[1] * (batch.truth - means[1]) / others[1],
    )
    sums, targeted = rows.sums, rows.targeted
    if strategy == "overall":
        edge = _boundary(rows, volume, targeted.weight, sums.weight)
        n = float(edge.weight[0])
        pairs = zip((edge.treated, edge.control), edge.means, means, weights, (1, -1), strict=True)
        rate = sum(
            sign * float(arm[0]) / n * (float(mean[0]) - above) / weight
            for arm, mean, above, weight, sign in pairs
            if float(arm[0]) > 0
        )
        return np.asarray(means[0] - means[1] - w * (changes + (volume - inside[0]) * rate))
    edges = (
        _boundary(rows, volume, targeted.treated, sums.treated).means[0],
        _boundary(rows, volume, targeted.control, sums.control).means[1],
    )
    rates = [
        (volume - fraction) * (float(mean[0]) - above) / weight
        for fraction, mean, above, weight in zip(inside, edges, means, weights, strict=True)
    ]
    changes = changes + np.where(is_treated, rates[0], -rates[1])
    return np.asarray(means[0] - means[1] - w * changes)


def gain_changes(
    batch: UpliftRows, rows: UpliftRows, volume: float, gains: Callable[[ArmSums], FloatArray]
) -> FloatArray:
    """Return by how much each row changes the height of a curve where a proportion is targeted."""
    value = float(uplift(rows, volume))
    of_uplift = value - _left_out_uplifts(batch, rows, volume)
    if gains is uplift_gains:
        return volume * of_uplift
    arms = _targeted_arms(rows, volume, "overall")
    sums, targeted = rows.sums, rows.targeted
    n_treated = float(targeted.treated[-1])
    proportion = float(arms.treated[0]) / n_treated
    limits = _targeted_limits(rows, volume, "overall")
    edge = _boundary(rows, volume, targeted.weight, sums.weight)
    of_edge = float(edge.treated[0] / edge.weight[0])
    fraction = _targeted_fraction(rows.score_index(batch.predicted), limits[0])
    of_share = batch.treatment * (fraction - proportion) + (volume - fraction) * of_edge
    return np.asarray(proportion * of_uplift + value * batch.weight * of_share / n_treated)


# --- The measures ---------------------------------------------------------------------------------


def _lacks_arm(rows: UpliftRows, _: Mapping[str, Any]) -> Any:
    """Return whether there is no treated row, or none of the control group."""
    treated = (rows.weight * rows.treatment).sum(axis=-1)
    return ((treated == 0) | (treated == rows.total)) & (rows.total > 0)


def _lacks_targeted_arm(rows: UpliftRows, parameters: Mapping[str, Any]) -> Any:
    if not rows.n_rows:
        return np.zeros(np.shape(rows.total), bool)
    arms = _targeted_arms(rows, **parameters)
    has_arms = (arms.treated > 0) & (arms.control > 0)
    return ~has_arms[..., 0] & ~np.asarray(_lacks_arm(rows, parameters)) & (rows.total > 0)


def _n_not_binary(rows: UpliftRows, _: Mapping[str, Any]) -> Any:
    return (~np.isin(rows.truth, (0, 1)) & (rows.weight > 0)).sum(axis=-1)


def _lacks_gain(largest: Callable[[UpliftRows], FloatArray]) -> Any:
    """Return the condition that no order gains more than the average one."""

    def condition(rows: UpliftRows, parameters: Mapping[str, Any]) -> Any:
        if not rows.n_rows:
            return np.zeros(np.shape(rows.total), bool)
        size = np.abs(rows.truth).max() * _MIN_FRACTION
        return ~(largest(rows) > size) & ~np.asarray(_lacks_arm(rows, parameters))

    return condition


_UNDEFINED = {"no_rows": lambda rows, _: rows.total == 0, "one_arm": _lacks_arm}

uplift_measure = partial(
    measure,
    family="uplift",
    statistic=UpliftRows,
    higher_is_better=True,
    range=(-inf, inf),
    undefined=_UNDEFINED,
    interval="uplift",
)


def _largest_qini(rows: UpliftRows) -> FloatArray:
    return _excess(_signed_outcomes(rows), qini_gains)


def _largest_uplift(rows: UpliftRows) -> FloatArray:
    """Return the largest area between an uplift curve and the line of random targeting."""
    areas = [
        _excess(_responders(rows, control_first=first), uplift_gains) for first in (True, False)
    ]
    return np.where(_has_control_first(rows), *areas)


def _left_out_qinis(batch: UpliftRows, rows: UpliftRows) -> FloatArray:
    return _left_out_ratios(batch, rows, _signed_outcomes, qini_gains)


@uplift_measure(
    "Qini",
    aliases=("qini_auc_score", "Qini-coefficient"),
    no_skill=0.0,
    undefined=_UNDEFINED | {"no_targeting_gain": _lacks_gain(_largest_qini)},
    moves=_left_out_qinis,
    reference="Radcliffe 2007",
)
def qini(rows: UpliftRows) -> FloatArray:
    """Qini coefficient: the area between the Qini curve and targeting at random, over the largest.

    The Qini curve has, against the proportion of rows that are targeted in the order of the
    predicted uplift, the outcomes of treated rows beyond those expected from the control group,
    R_T − R_C·n_T/n_C. The area that it is divided by is that of the order by the outcomes
    themselves: treated rows by descending outcome, then those of the control group by ascending
    outcome, so that negative effects count. No model reaches it, as outcomes are not known
    beforehand. The coefficient is 0 for targeting at random, and below 0 for a worse order. It is
    undefined if there are no rows, if all rows or none were treated, or if the order by the
    outcomes gains nothing.
    """
    return np.asarray(_excess(rows, qini_gains) / _largest_qini(rows))


@uplift_measure(
    "Qini-area",
    no_skill=0.0,
    moves=partial(_left_out_excesses, gains=qini_gains),
)
def qini_area(rows: UpliftRows) -> FloatArray:
    """Area between the Qini curve and targeting at random, in outcomes per row.

    The height of the curve is the outcomes gained per treated row, (R_T − R_C·n_T/n_C)/N_T, and its
    abscissa is the proportion of rows that are targeted. It is 0 for targeting at random, and below
    0 for a worse order. It is undefined if there are no rows, or if all rows or none were treated.
    """
    return _excess(rows, qini_gains)


@uplift_measure(
    "AUUC",
    moves=partial(_left_out_areas, gains=uplift_gains),
    reference="Rzepakowski and Jaroszewicz 2012",
)
def area_under_uplift_curve(rows: UpliftRows) -> FloatArray:
    """Area under the uplift curve (AUUC), in outcomes per row.

    The height of the curve is what targeting a proportion of the rows gains per row: this
    proportion times the difference of the mean outcomes of treated and other targeted rows. The
    area is the mean gain over all proportions, and half of the average effect for targeting at
    random. It is undefined if there are no rows, or if all rows or none were treated.
    """
    return _area(rows, uplift_gains)


def _left_out_normalized(batch: UpliftRows, rows: UpliftRows) -> FloatArray:
    best = partial(_responders, control_first=bool(_has_control_first(rows)))
    return _left_out_ratios(batch, rows, best, uplift_gains)


@uplift_measure(
    "normalized-AUUC",
    aliases=("uplift_auc_score",),
    no_skill=0.0,
    undefined=_UNDEFINED
    | {"outcome_not_binary": _n_not_binary, "no_targeting_gain": _lacks_gain(_largest_uplift)},
    moves=_left_out_normalized,
    reference="Devriendt, Guns and Verbeke 2020",
)
def normalized_area(rows: UpliftRows) -> FloatArray:
    """AUUC beyond that of targeting at random, over that of the best order of outcomes of 0 and 1.

    The best order has treated rows with the outcome 1 first, then rows of the control group with
    the outcome 0; of the other two kinds of rows those that are more come next. It is 0 for
    targeting at random, and below 0 for a worse order. It is undefined if there are no rows, if all
    rows or none were treated, if an outcome is neither 0 nor 1, or if the best order gains nothing.
    """
    return np.asarray(_excess(rows, uplift_gains) / _largest_uplift(rows))


@uplift_measure(
    "uplift",
    aliases=("uplift_at_k",),
    suffix_parameter="volume",
    undefined=_UNDEFINED | {"one_arm_targeted": _lacks_targeted_arm},
    moves=_left_out_uplifts,
)
def uplift(rows: UpliftRows, volume: float = 0.3, strategy: str = "overall") -> FloatArray:
    """Uplift among the rows with the highest predictions: by how much treatment raises the mean.

    It is the mean outcome of treated rows less that of the control group. ``uplift@0.3`` is of the
    30% of the rows with the highest predicted uplift, or of each arm with the ``strategy``
    ``"by-group"``. Rows of equal predictions at the boundary count in proportion. ``uplift@1`` is
    the average effect of the treatment. It is undefined if there are no rows, or if all targeted
    rows or none were treated.
    """
    return _targeted_arms(rows, volume, strategy).uplift[..., 0]
