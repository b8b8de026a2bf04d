"""Factors that matter where units are few, against closed forms and all resamples there are."""

from __future__ import annotations

from itertools import product
from typing import Any, TypeAlias

import numpy as np
import pytest
from scipy import special, stats

import calipers as cal
from calipers.estimation.topics import pooled_t_interval
from calipers.inference import intervals
from calipers.inference.settings import Settings
from calipers.inference.summaries import Summary

Array: TypeAlias = "np.ndarray[Any, Any]"


def delong(truth: Array, score: Array) -> tuple[float, float]:
    """An AUC and its standard error from the placements of all pairs, by the variances of samples
    (DeLong, DeLong and Clarke-Pearson 1988)."""
    above = score[truth][:, None] - score[~truth][None, :]
    wins = (above > 0) + 0.5 * (above == 0)
    variance = sum(np.var(wins.mean(axis=axis), ddof=1) / wins.shape[1 - axis] for axis in (0, 1))
    return float(wins.mean()), float(np.sqrt(variance))


@pytest.mark.parametrize("positives", [2, 3, 5])
def test_an_average_of_one_and_the_same_auc_varies_as_that_auc(positives: int) -> None:
    """By DeLong's variance, whose n − 1 are those of the positives and of the negatives."""
    generator = np.random.default_rng(positives)
    truth = np.arange(9) < positives
    score = np.round(truth + generator.normal(0, 1.2, 9), 1)
    area, error = delong(truth, score)
    assert 0 < area < 1
    twice, scores = np.column_stack([truth] * 2), np.column_stack([score] * 2)
    [found] = cal.multilabel(twice, score=scores, measures="macro-AUC", interval="delta")
    half = stats.norm.ppf(0.975) * error / (area * (1 - area))
    expected = special.expit(special.logit(area) + np.array([-half, half]))
    assert found.method == "DeLong, logit"
    assert [found.value, found.low, found.high] == pytest.approx([area, *expected], rel=1e-9)


@pytest.mark.parametrize("level", [0.8, 0.9])
def test_bootstrap_t_of_a_ratio_is_that_of_all_resamples(level: float) -> None:
    """All 6⁶ resamples of six topics, each with the error of its own linear part."""
    x = np.array([1.0, 4.0, 2.0, 7.0, 3.0, 5.0])
    w = np.array([5.0, 6.0, 9.0, 8.0, 4.0, 10.0])

    def ratio(rows: Array) -> tuple[Array, Array]:
        drawn_x, drawn_w = x[rows], w[rows]
        value = drawn_x.sum(axis=-1) / drawn_w.sum(axis=-1)
        linear = (drawn_x - value[..., None] * drawn_w) / drawn_w.mean(axis=-1)[..., None]
        return value, linear.std(axis=-1, ddof=1) / np.sqrt(rows.shape[-1])

    value, error = ratio(np.arange(6))
    drawn, errors = ratio(np.array(list(product(range(6), repeat=6))))
    some = errors > 1e-12
    high, low = np.quantile(
        (drawn - value)[some] / errors[some], [(1 + level) / 2, (1 - level) / 2]
    )
    table, settings = np.column_stack([x, w]), Settings(n_resamples=100_000)
    found = pooled_t_interval(Summary("pooled"), table, float(value), settings, level)
    expected = value - np.array([high, low]) * error
    # The draws of 100 000 move the ends by less; 1/n for 1/(n − 1) would by 4.6% of the width.
    assert [found.low, found.high] == pytest.approx(expected, abs=0.01 * np.ptp(expected))


@pytest.mark.parametrize("size", [4, 10, 25])
def test_a_value_is_turned_on_log_odds_with_half_a_row_on_either_side(size: int) -> None:
    """Of counts: log((k + ½)/(n − k + ½)), Haldane's and Anscombe's log odds."""

    def log_odds(k: float) -> float:
        return float(np.log(k + 0.5) - np.log(size - k + 0.5))

    hits = size - 1
    # Of 21 replicates the second and the last but one are the quantiles of 5% and 95%.
    counts = [hits - 1] * 2 + [hits] * 17 + [size] * 2
    found = intervals.basic_bootstrap_on_logit(
        hits / size, np.array(counts) / size, size, 0.9, "basic bootstrap"
    )
    ends = [2 * log_odds(hits) - log_odds(k) for k in (size, hits - 1)]
    expected = [((size + 1) / (1 + np.exp(-end)) - 0.5) / size for end in ends]
    assert 0 < expected[0] < expected[1] < 1
    assert [found.low, found.high] == pytest.approx(expected, rel=1e-12)


# ------------------------------------------------------------------ where there is next to nothing


def test_nothing_but_rounding_is_no_spread() -> None:
    """What is no more than 10⁻¹² of the mean; a small mean may have a large error."""
    for made in (
        intervals.normal_interval,
        lambda *of: intervals.student_interval(*of[:2], 9, of[2]),
    ):
        for mean, se in ((0.0, 0.0), (1e6, 1e-9)):
            assert made(mean, se, 0.95).reason == "no_spread"
        assert made(1e-9, 1e-5, 0.95).high > 1e-5
    assert intervals.root_mean_interval(0.0, 0.1, 0.95).reason == "no_spread"
    assert intervals.root_mean_interval(0.0, float("nan"), 0.95).reason == "no_spread"
    assert intervals.root_mean_interval(1.0, float("nan"), 0.95).reason == "too_few_rows"


def test_from_how_many_units_on_there_are_intervals() -> None:
    """χ² from one, and Student's t from two, which may be effective ones."""
    made = intervals.chi_square_interval(3.0, 1, 3.0, 0.9)
    assert (made.low, made.high) == pytest.approx(3 / np.sqrt(stats.chi2.ppf([0.95, 0.05], 1)))
    assert intervals.chi_square_interval(3.0, 0.9, 3.0, 0.9).reason == "too_few_rows"
    assert intervals.student_interval(1.0, 0.5, 1.9, 0.9).reason == "too_few_units"
    assert intervals.student_interval(1.0, 0.5, 2, 0.9).high == pytest.approx(
        1 + 0.5 * stats.t.ppf(0.95, 1)
    )


@pytest.mark.parametrize(("n", "far"), [(100, 3 * np.sqrt(0.24)), (6, 6.0), (1000, 1.0)])
def test_which_kurtosis_is_not_of_normal_residuals(n: int, far: float) -> None:
    for apart, said in ((far - 0.01, False), (far + 0.01, True), (-far - 0.01, True)):
        method = intervals.chi_square_interval(1.0, n, 3 + apart, 0.95).method
        assert ("but kurtosis" in method) == said


def test_the_acceleration_of_what_moves_next_to_nothing() -> None:
    """ΣI³/(6(ΣI²)^1.5) of −1, −1 and 2 is 1/√6/6, whatever they are multiplied by."""
    for scale in (1e-150, 1.0, 1e150):
        made = intervals.acceleration(scale * np.array([-1.0, -1.0, 2.0]))
        assert made == pytest.approx(1 / np.sqrt(6) / 6)
