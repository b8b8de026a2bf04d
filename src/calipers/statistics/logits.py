"""Sums over logits from which a recalibration is fitted without another pass over the rows."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from calipers.lazy_dataclasses import dataclass
from calipers.lazy_imports import numpy as np
from calipers.statistics.base import FloatArray, Statistic, effective_size
from calipers.statistics.calibration import ProbabilityLevels, expit

if TYPE_CHECKING:
    import numpy.typing as npt
    from typing_extensions import Self

#: Largest and smallest width of a bin of logits.
MAX_BIN_WIDTH = 0.125
MIN_BIN_WIDTH = 2.0**-40
#: Maximum number of bins for rows in batches. Bins are as narrow as this allows, since a steep line
#: needs narrow ones.
MAX_BATCH_BINS = 2_048
#: Number of terms of the Taylor series about the middle of each bin. The remainder of a fitted
#: probability is below 7·(b·width/6)¹¹ (Cauchy's bound in a circle of radius 3), 5e-14 at
#: the steepest, b = MAX_SLOPE in bins of MAX_BIN_WIDTH and proportionally more in narrower ones.
N_TERMS = 11
MAX_SLOPE = 2.5
#: Number of bins above which logits are not summed.
MAX_BINS = 1_000
#: Maximum number of steps of Newton's method, from a fit of nearly the same rows.
_MAX_NEWTON_STEPS = 30
_TOLERANCE = 1e-9


@dataclass(frozen=True, eq=False)
class LogitSums(Statistic):
    """Binned sums of powers of logits, from which a recalibration is fitted.

    The likelihood of a line on the logit scale is smooth, so that a few powers within each bin give
    its sum over the rows to the last digits, whatever the line. Only statistics with the same bins
    can be added.

    Parameters
    ----------
    middle : ndarray of shape (bins,)
        Middle of each bin.
    sums : ndarray of shape (2, bins, powers)
        Weighted sums of the powers 0, 1, … of the distance from the middle, negatives first.
    squares : ndarray of shape (2, bins, powers)
        The same sums with squared weights.
    width : float, default=MAX_BIN_WIDTH
        Width of the bins.
    """

    middle: FloatArray
    sums: FloatArray
    squares: FloatArray
    width: float = MAX_BIN_WIDTH

    @property
    def max_slope(self) -> float:
        """Largest slope for which the sums give the fit to the last digits."""
        return MAX_SLOPE * (MAX_BIN_WIDTH / self.width)

    @classmethod
    def from_subsets(
        cls,
        logit: FloatArray,
        positive: npt.NDArray[np.bool_],
        weight: FloatArray | None,
        subset_codes: npt.NDArray[np.integer[Any]],
        n_subsets: int,
    ) -> list[Self] | None:
        """Compute the sums of each subset of the rows.

        None is returned if logits are infinite or too far apart.
        """
        if weight is not None:
            used_mask = weight > 0  # a row of weight 0 is ignored, whatever its logit
            logit, positive, subset_codes, weight = (
                logit[used_mask],
                positive[used_mask],
                subset_codes[used_mask],
                weight[used_mask],
            )
        if len(logit) == 0 or not np.isfinite(logit[[logit.argmin(), logit.argmax()]]).all():
            return None
        lowest = math.floor(float(logit.min()) / MAX_BIN_WIDTH)
        bins = math.floor(float(logit.max()) / MAX_BIN_WIDTH) - lowest + 1
        if bins > MAX_BINS:
            return None
        bin_index = np.floor(logit / MAX_BIN_WIDTH).astype(np.int64) - lowest
        middle = np.asarray((np.arange(bins) + lowest + 0.5) * MAX_BIN_WIDTH, np.float64)
        deviation = logit - middle[bin_index]
        bin_index += (subset_codes.astype(np.int64) * 2 + positive) * bins
        columns = [weight] if weight is None else [weight, np.square(weight)]
        moments: list[FloatArray] = []
        for column in columns:
            size = n_subsets * 2 * bins
            powers: list[FloatArray] = []
            power: FloatArray = np.ones(len(logit)) if column is None else column
            for _ in range(N_TERMS + 2):
                powers.append(np.bincount(bin_index, power, size).astype(np.float64))
                power = np.asarray(power * deviation)
            moments.append(np.stack(powers, axis=-1).reshape(n_subsets, 2, bins, N_TERMS + 2))
        squares = moments[-1]
        return [cls(middle, moments[0][k], squares[k]) for k in range(n_subsets)]

    def __add__(self, other: Self) -> Self:
        return replace(self, sums=self.sums + other.sums, squares=self.squares + other.squares)

    def fit(self, start: tuple[float, float], *, fit_slope: bool) -> RecalibrationFit | None:
        """Fit the line a + b·logit, or a with b = 1, by maximum likelihood.

        Newton's method begins at ``start``. None is returned if the line is too steep for the sums,
        or the iteration does not converge.
        """
        n_free = 1 + fit_slope
        line = np.array(start if fit_slope else (start[0], 1.0))
        targets = _logit_powers(self.middle, self.sums[1])[:, :, 0].sum(axis=1)
        total = self.sums.sum(axis=0)
        powers = _logit_powers(self.middle, total)
        for _ in range(_MAX_NEWTON_STEPS):
            if not (np.isfinite(line).all() and abs(line[1]) <= self.max_slope):
                return None
            fitted, slopes = _fitted_taylor_series(float(line[0]), float(line[1]), self.middle)
            gradient = targets[:2] - (powers[:2] * fitted).sum(axis=(1, 2))
            moments = (powers * slopes).sum(axis=(1, 2))
            information = np.array([moments[:2], moments[1:]])[:n_free, :n_free]
            if not np.linalg.det(information) > 0:
                return None
            step = np.linalg.solve(information, gradient[:n_free])
            line[:n_free] += step
            if np.abs(step).max() <= _TOLERANCE:  # which leaves its square
                return self._make_fit(line, powers, n_free)
        return None

    def _make_fit(
        self, line: FloatArray, powers: FloatArray, n_free: int
    ) -> RecalibrationFit | None:
        if abs(line[1]) > self.max_slope:
            return None
        fitted, slopes = _fitted_taylor_series(float(line[0]), float(line[1]), self.middle)
        moments = (powers * slopes).sum(axis=(1, 2))
        variance = np.linalg.inv(np.array([moments[:2], moments[1:]])[:n_free, :n_free])
        # Residuals squared: p² = p − p′ of negatives, (1 − p)² = 1 − p − p′ of positives.
        negative, positive = (_logit_powers(self.middle, squares) for squares in self.squares)
        residual_squares = (negative * (fitted - slopes) - positive * (fitted + slopes)).sum(
            axis=(1, 2)
        )
        residual_squares += positive[:, :, 0].sum(axis=1)
        return RecalibrationFit(float(line[0]), float(line[1]), variance, residual_squares)


@dataclass(frozen=True, eq=False)
class LogitSummary(Statistic):
    """Sums over the logits of rows in batches, from which a recalibration is fitted.

    Widths of bins are powers of 2, so that two neighbouring bins make one of twice the width, whose
    sums follow from theirs. The final width depends on the range of all logits only, not on the
    division into batches.

    Parameters
    ----------
    lowest : int
        Number of the first bin.
    sums, squares : ndarray of shape (2, bins, powers)
        Sums as in :class:`LogitSums`, over bins of one width.
    logit_ranges : ndarray of shape (2, 2)
        Smallest and largest logit of each class, negatives first.
    certain : bool
        Whether a probability was 0 or 1; it has no finite logit and is in no bin.
    rows : int
        Number of rows.
    width : float, default=MAX_BIN_WIDTH
        Width of the bins.
    """

    lowest: int
    sums: FloatArray
    squares: FloatArray
    logit_ranges: FloatArray
    certain: bool
    rows: int
    width: float = MAX_BIN_WIDTH

    @classmethod
    def from_rows(
        cls,
        probability: FloatArray,
        positive: npt.NDArray[np.bool_],
        weight: FloatArray | None,
        delta: float,
    ) -> Self:
        """Sum the logits of rows, with their probabilities clipped to [Δ, 1 − Δ].

        Parameters
        ----------
        probability : ndarray of shape (n,)
            Predicted probabilities.
        positive : ndarray of bool of shape (n,)
            Whether each row is positive.
        weight : ndarray of shape (n,) or None
            Weights of the rows; None if all are 1.
        delta : float
            Bound Δ of the probabilities.

        Returns
        -------
        LogitSummary
            Statistic of the rows.
        """
        rows = len(probability)
        if weight is not None and not weight.all():
            used_mask = weight > 0  # a row of weight 0 is ignored, whatever its logit
            probability, positive, weight = (
                probability[used_mask],
                positive[used_mask],
                weight[used_mask],
            )
        p = np.clip(probability, delta, 1 - delta) if delta else probability
        is_uncertain = (p > 0) & (p < 1)
        certain = not is_uncertain.all()
        if certain:
            p, positive = p[is_uncertain], positive[is_uncertain]
            weight = None if weight is None else weight[is_uncertain]
        logit = np.log(p) - np.log1p(-p)
        logit_ranges = np.array([[np.inf, -np.inf]] * 2)
        for class_index in (0, 1):
            class_logits = logit[positive == bool(class_index)]
            if len(class_logits):
                logit_ranges[class_index] = class_logits.min(), class_logits.max()
        if not len(logit):
            empty = np.zeros((2, 0, N_TERMS + 2))
            return cls(0, empty, empty, logit_ranges, certain, rows, MIN_BIN_WIDTH)
        width = _bin_width(logit_ranges, MIN_BIN_WIDTH)
        lowest, bins = _bin_range(logit_ranges, width)
        from calipers import _core

        weight_sums, square_sums = _core.power_sums(logit, positive, weight, lowest, bins, width)
        sums = weight_sums.reshape(2, bins, N_TERMS + 2)
        squares = sums if square_sums is None else square_sums.reshape(sums.shape)
        return cls(lowest, sums, squares, logit_ranges, certain, rows, width)

    def __add__(self, other: Self) -> Self:
        logit_ranges = np.stack(
            [
                np.minimum(self.logit_ranges[:, 0], other.logit_ranges[:, 0]),
                np.maximum(self.logit_ranges[:, 1], other.logit_ranges[:, 1]),
            ],
            axis=1,
        )
        certain, rows = self.certain or other.certain, self.rows + other.rows
        summaries = [summary for summary in (self, other) if summary.sums.shape[1]]
        if not summaries:
            return replace(self, logit_ranges=logit_ranges, certain=certain, rows=rows)
        width = _bin_width(logit_ranges, max(summary.width for summary in summaries))
        summaries = [summary._widen(width) for summary in summaries]
        lowest = min(summary.lowest for summary in summaries)
        bins = max(summary.lowest - lowest + summary.sums.shape[1] for summary in summaries)
        merged = np.zeros((2, 2, bins, N_TERMS + 2))
        for summary in summaries:
            bin_slice = slice(
                summary.lowest - lowest, summary.lowest - lowest + summary.sums.shape[1]
            )
            merged[0, :, bin_slice] += summary.sums
            merged[1, :, bin_slice] += summary.squares
        return type(self)(lowest, merged[0], merged[1], logit_ranges, certain, rows, width)

    def divide_weights(self, common_weight: float) -> Self:
        """Return the statistic with every weight divided by ``common_weight``.

        Each row then has weight 1.
        """
        sums = self.sums / common_weight
        return replace(self, sums=sums, squares=sums)

    def _widen(self, width: float) -> Self:
        """Return the statistic in bins of this width, a power of 2 times the current one."""
        summary = self
        while summary.width < width:
            lowest = summary.lowest // 2
            sums = _merge_pairs(summary.sums, summary.lowest - 2 * lowest, summary.width)
            is_unweighted = summary.squares is summary.sums
            squares = (
                sums
                if is_unweighted
                else _merge_pairs(summary.squares, summary.lowest - 2 * lowest, summary.width)
            )
            summary = replace(
                summary, lowest=lowest, sums=sums, squares=squares, width=2 * summary.width
            )
        return summary

    @property
    def undefined_reason(self) -> str | None:
        """Reason why the maximum-likelihood line does not exist, or None."""
        if self.certain:
            return "certain_probability"
        return None if (self.class_weights > 0).all() else "one_class"

    @property
    def is_separated(self) -> bool:
        """Whether a threshold separates the classes, or all probabilities are equal."""
        (negative_low, negative_high), (positive_low, positive_high) = self.logit_ranges
        return bool(positive_low >= negative_high or positive_high <= negative_low)

    @property
    def class_weights(self) -> FloatArray:
        """Weight of the negatives and of the positives."""
        return np.asarray(self.sums[:, :, 0].sum(axis=1))

    @property
    def effective_sizes(self) -> tuple[float, float]:
        """Effective numbers of positives and of negatives."""
        squares = self.squares[:, :, 0].sum(axis=1)
        negative, positive = (
            effective_size(*weight_sums)
            for weight_sums in zip(self.class_weights, squares, strict=True)
        )
        return positive, negative

    def fit_line(self, *, fit_slope: bool) -> RecalibrationFit | None:
        """Fit the line, or the one of slope 1, by maximum likelihood.

        None is returned if it is too steep for the sums: logits that are far apart do not allow
        bins as narrow as it needs.
        """
        middle = np.asarray((np.arange(self.sums.shape[1]) + self.lowest + 0.5) * self.width)
        occupied_mask = self.sums[:, :, 0].sum(axis=0) > 0
        total = self.sums[:, occupied_mask, 0].sum(axis=0)
        squares = self.squares[:, occupied_mask, 0].sum(axis=0)
        coarse = ProbabilityLevels(
            expit(middle[occupied_mask]), self.sums[1, occupied_mask, 0], total, squares
        )
        try:
            start = (
                coarse.recalibration_line if fit_slope else (coarse.recalibration_intercept, 1.0)
            )
        except FloatingPointError:  # pragma: no cover
            return None
        sums = LogitSums(
            middle[occupied_mask],
            self.sums[:, occupied_mask],
            self.squares[:, occupied_mask],
            self.width,
        )
        return sums.fit(start, fit_slope=fit_slope) if np.isfinite(start).all() else None


def clipped_logit(probability: FloatArray, delta: float) -> FloatArray:
    """Compute the logit of probabilities that are clipped to [Δ, 1 − Δ] for ``delta`` = Δ.

    Examples
    --------
    >>> clipped_logit(np.array([0.0, 0.5]), 0.25).round(4).tolist()
    [-1.0986, 0.0]
    """
    p = np.clip(probability, delta, 1 - delta)
    with np.errstate(divide="ignore"):  # rows of weight 0 may be certain
        return np.asarray(np.log(p) - np.log1p(-p))


def _bin_range(logit_ranges: FloatArray, width: float) -> tuple[int, int]:
    """Return the number of the bin of the smallest logit, and how many bins there are."""
    lowest = math.floor(float(logit_ranges[:, 0].min()) / width)
    return lowest, math.floor(float(logit_ranges[:, 1].max()) / width) - lowest + 1


def _bin_width(logit_ranges: FloatArray, min_width: float) -> float:
    """Return the narrowest width, from this one on, with few enough bins for all logits.

    It is at most the widest one.
    """
    while min_width < MAX_BIN_WIDTH and _bin_range(logit_ranges, min_width)[1] > MAX_BATCH_BINS:
        min_width *= 2
    return min_width


def _merge_pairs(sums: FloatArray, n_before: int, width: float) -> FloatArray:
    """Compute the sums of bins of twice the width.

    Neighbouring bins are merged; ``n_before`` is 1 if the first bin is the second of its pair.
    """
    n_after = (n_before + sums.shape[1]) % 2
    even = np.pad(sums, ((0, 0), (n_before, n_after), (0, 0)))
    # (x − M)ᵏ = Σ C(k, j) (m − M)ᵏ⁻ʲ (x − m)ʲ, the old middles half a width on either side of M.
    left_shift, right_shift = (_shift_matrix(side * width / 2) for side in (-1, 1))
    return np.asarray(even[:, ::2] @ left_shift + even[:, 1::2] @ right_shift)


def _shift_matrix(shift: float) -> FloatArray:
    """Return the matrix that converts sums of powers about one point to those about another."""
    powers = range(N_TERMS + 2)
    return np.array(
        [[math.comb(k, j) * shift ** (k - j) if j <= k else 0.0 for k in powers] for j in powers]
    )


@dataclass(frozen=True, eq=False)
class RecalibrationFit:
    """Recalibration fit, logit P(y) = a + b·logit(p).

    ``variance`` is the inverse of its Fisher information, and ``residual_squares`` are the sums of
    squared residuals times 1, the logit and its square.
    """

    intercept: float
    slope: float
    variance: FloatArray
    residual_squares: FloatArray

    def standard_error(self, index: int, *, sandwich: bool) -> float:
        """Return the standard error of the intercept (``index`` 0) or the slope (1).

        It is that of the information matrix, or of the sandwich H⁻¹·Σgg′·H⁻¹ with the gradients of
        rows.
        """
        covariance_row = self.variance[index]
        if not sandwich:
            return math.sqrt(covariance_row[index])
        squares = (
            [covariance_row[0] ** 2]
            if len(covariance_row) == 1
            else [
                covariance_row[0] ** 2,
                2 * covariance_row[0] * covariance_row[1],
                covariance_row[1] ** 2,
            ]
        )
        return math.sqrt(float(np.dot(squares, self.residual_squares[: len(squares)])))


def _logit_powers(middle: FloatArray, sums: FloatArray) -> FloatArray:
    """Return the sums times the logit to the powers 0, 1 and 2, shape ``(3, bins, N_TERMS)``."""
    m, (order_zero, order_one, order_two) = (
        middle[:, None],
        (sums[:, k : k + N_TERMS] for k in range(3)),
    )
    return np.stack(
        [order_zero, m * order_zero + order_one, m * m * order_zero + 2 * m * order_one + order_two]
    )


def _taylor_coefficients() -> FloatArray:
    """Compute the Taylor coefficients p⁽ᵐ⁾/m! of the logistic function, and of its derivative.

    For m = 0, 1, … they are polynomials in its value p, since p′ = p − p².
    """
    out = np.zeros((N_TERMS + 1, N_TERMS + 2))
    out[0, 1] = 1.0
    for m in range(N_TERMS):
        slope = out[m, 1:] * np.arange(1, N_TERMS + 2)
        out[m + 1, 1:] += slope
        out[m + 1, 2:] -= slope[:-1]
        out[m + 1] /= m + 1
    return out


_TAYLOR_COEFFICIENTS = _taylor_coefficients()


def _fitted_taylor_series(
    intercept: float, slope: float, middle: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Compute the Taylor coefficients of the fitted probability and its derivative in each bin.

    They are by the power of the distance from the middle of the bin; the derivative is by the
    fitted logit. Each has shape ``(bins, N_TERMS)``.
    """
    p = expit(intercept + slope * middle)
    coefficients = np.power(p[:, None], np.arange(N_TERMS + 2)) @ _TAYLOR_COEFFICIENTS.T
    steps = np.power(slope, np.arange(N_TERMS))
    return coefficients[:, :-1] * steps, coefficients[:, 1:] * (np.arange(1, N_TERMS + 1) * steps)
