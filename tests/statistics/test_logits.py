"""Recalibrations from sums of powers, against those from every level of probability; and statistics
of all parts but one."""

from __future__ import annotations

import math

import numpy as np
import pytest

from calipers.statistics import FloatArray, Moments, ScoreTable, leave_one_out_sums
from calipers.statistics.calibration import ProbabilityLevels, expit
from calipers.statistics.logits import MAX_BIN_WIDTH, MAX_BINS, MAX_SLOPE, LogitSummary, LogitSums


@pytest.mark.parametrize("steep", [-2.0, 0.3, 1.0, 2.2])
@pytest.mark.parametrize("weighted", [False, True])
def test_lines_and_errors_are_those_of_the_rows(steep: float, weighted: bool) -> None:
    """Weights differ by twelve powers of ten; the rest of each part comes by adding up the others."""
    random = np.random.default_rng(3)
    n = 6000
    logit = random.normal(0.3, 1.7, n)
    positive = random.random(n) < expit(-0.4 + steep * logit)
    weight = 10.0 ** random.uniform(-6, 6, n) if weighted else None
    part = random.choice(4, n, p=[0.9, 0.07, 0.02, 0.01])
    made = LogitSums.from_subsets(logit, positive, weight, part, 4)
    assert made is not None
    for k, sums in enumerate(leave_one_out_sums(made)):
        used = part != k
        w = np.ones(n)[used] if weight is None else weight[used]
        x, y, p = logit[used], positive[used], expit(logit[used])
        table = ScoreTable.from_rows(y, p, None if weight is None else w)
        levels = ProbabilityLevels.from_table(table)
        for both in (True, False):
            a, b = levels.recalibration_line if both else (levels.recalibration_intercept, 1.0)
            line = sums.fit((a + 0.05, b - 0.02 if both else 1.0), fit_slope=both)
            if abs(b) > MAX_SLOPE:
                assert line is None
                continue
            assert line is not None
            assert (line.intercept, line.slope) == pytest.approx((a, b), rel=1e-10, abs=1e-11)
            fitted = expit(a + b * x)
            d = np.column_stack([np.ones(len(x)), x])[:, : 1 + both]
            information = d.T @ (d * (w * fitted * (1 - fitted))[:, None])
            inverse = np.linalg.inv(information)
            gradient = d * (w * (y - fitted))[:, None]
            sandwich = inverse @ gradient.T @ gradient @ inverse
            for place in range(1 + both):
                plain = math.sqrt(inverse[place, place])
                assert line.standard_error(place, sandwich=False) == pytest.approx(plain, rel=1e-9)
                robust = math.sqrt(sandwich[place, place])
                assert line.standard_error(place, sandwich=True) == pytest.approx(robust, rel=1e-9)


def of(logit: FloatArray, positive: FloatArray) -> LogitSums | None:
    part = np.zeros(len(logit), np.int64)
    made = LogitSums.from_subsets(logit, positive.astype(bool), None, part, 1)
    return None if made is None else made[0]


def test_what_the_sums_cannot_tell_is_left_to_the_rows() -> None:
    """Infinite logits, too wide a range, lines too steep for the series, separated classes."""
    positive = np.array([0.0, 1.0, 0.0, 1.0])
    assert of(np.array([-np.inf, 0.0, 1.0, 2.0]), positive) is None
    assert of(np.array([0.0, 0.0, 0.0, (MAX_BINS + 1) * MAX_BIN_WIDTH]), positive) is None
    separated = of(np.array([-1.0, 1.0, -0.5, 2.0]), positive)
    assert separated is not None
    assert separated.fit((0.0, 1.0), fit_slope=True) is None
    random = np.random.default_rng(0)
    logit = random.normal(size=4000)
    steep = of(logit, (random.random(4000) < expit(1.3 * MAX_SLOPE * logit)).astype(float))
    assert steep is not None
    assert steep.fit((0.0, 1.0), fit_slope=True) is None
    assert steep.fit((0.0, 1.0), fit_slope=False) is not None


def test_rows_without_weight_are_no_rows() -> None:
    logit = np.array([-np.inf, -1.0, 0.5, 1.0, 0.2])
    positive = np.array([True, False, True, True, False])
    part = np.zeros(5, np.int64)
    weight = np.array([0.0, 1.0, 1.0, 1.0, 1.0])
    made = LogitSums.from_subsets(logit, positive, weight, part, 1)
    plain = LogitSums.from_subsets(logit[1:], positive[1:], None, part[1:], 1)
    assert made is not None
    assert plain is not None
    np.testing.assert_array_equal(made[0].sums, plain[0].sums)


def test_all_but_one_keeps_the_digits_of_the_light_parts() -> None:
    """Of weights from 1e-9 to 1e9: to subtract the heaviest part would leave nothing of them."""
    random = np.random.default_rng(0)
    part = np.arange(500) % 5
    value = random.normal(10.0**part, 1.0)
    weight = 10.0 ** (4.5 * part - 9) * random.uniform(0.5, 2, 500)
    own = [Moments.from_rows(value[part == k], weight[part == k]) for k in range(5)]
    for k, rest in enumerate(leave_one_out_sums(own)):
        direct = Moments.from_rows(value[part != k], weight[part != k])
        assert rest.mean == pytest.approx(direct.mean, rel=1e-13)
        assert rest.standard_error == pytest.approx(direct.standard_error, rel=1e-11)
        assert rest.rows == direct.rows
    first, second = own[:2]
    assert leave_one_out_sums([first, second]) == [second, first]


@pytest.mark.parametrize(
    ("slope", "spread"), [(3.0, 0.5), (12.0, 0.1), (300.0, 0.004), (1.0, 2.0), (0.02, 40.0)]
)
def test_lines_of_rows_in_batches_may_be_steep(slope: float, spread: float) -> None:
    """As a logistic regression of another library fits them, however the rows are cut, which
    widens the bins on the way."""
    linear_model = pytest.importorskip("sklearn.linear_model")
    random = np.random.default_rng(int(slope))
    logit = np.sort(np.clip(random.normal(0.0, spread, 2000), -36, 36))  # narrow batches, then wide
    probability = expit(logit)
    logit = np.log(probability) - np.log1p(-probability)  # near 1 some digits are lost
    positive = random.random(2000) < expit(0.3 + slope * logit)
    weight = random.integers(1, 4, 2000).astype(float)
    batches = np.array_split(np.arange(2000), 7)
    parts = [LogitSummary.from_rows(probability[b], positive[b], weight[b], 0.0) for b in batches]
    whole, added = LogitSummary.from_rows(probability, positive, weight, 0.0), parts[0]
    for part in parts[1:]:
        added = added + part
    assert (added.width, added.lowest) == (whole.width, whole.lowest)
    model = linear_model.LogisticRegression(
        C=np.inf, tol=1e-12, max_iter=10_000, solver="newton-cholesky"
    )
    model.fit(logit[:, None] / spread, positive, sample_weight=weight)
    for sums in (whole, added):
        line = sums.fit_line(fit_slope=True)
        assert line is not None
        assert line.slope == pytest.approx(model.coef_[0, 0] / spread, rel=1e-7)
        assert line.intercept == pytest.approx(model.intercept_[0], rel=1e-7)
