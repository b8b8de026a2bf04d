"""Distinct probability levels of a score table, and calibration on them: binned or fitted."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from calipers.caching import cached, cached_property
from calipers.lazy_dataclasses import dataclass
from calipers.lazy_imports import numpy as np
from calipers.statistics.base import FloatArray, IntArray, dot, row_blocks
from calipers.statistics.scores import ScoreTable

if TYPE_CHECKING:
    from typing_extensions import Self

_MAX_NEWTON_STEPS = 200
#: Number of levels above which the fit of a line starts from that of groups, and their number.
_MAX_DIRECT_LEVELS, _N_GROUPS = 1 << 16, 1 << 12
#: Tolerance for rounding, as of probabilities that equal the edge of a bin.
_TOLERANCE = 1e-9


@dataclass(frozen=True, eq=False)
class ProbabilityLevels:
    """Distinct probabilities with their weights, ascending.

    Levels without weight are omitted.

    Parameters
    ----------
    probability : ndarray of shape (L,)
        Distinct probabilities, ascending.
    positive : ndarray of shape (L,)
        Weight of the positives at each.
    total : ndarray of shape (L,)
        Weight of all rows at each.
    squares : ndarray of shape (L,)
        Sum of the squared weights at each, from which effective numbers of rows are computed.

    Examples
    --------
    >>> import numpy as np
    >>> p = np.array([0.2, 0.2, 0.6, 0.8])
    >>> table = ScoreTable.from_rows(np.array([False, True, False, True]), p)
    >>> levels = ProbabilityLevels.from_table(table)
    >>> levels.proportion.tolist(), levels.isotonic_fit.round(4).tolist()
    ([0.5, 0.0, 1.0], [0.3333, 0.3333, 1.0])
    """

    probability: FloatArray
    positive: FloatArray
    total: FloatArray
    squares: FloatArray

    @classmethod
    def from_table(cls, table: ScoreTable, index: tuple[int, ...] = ()) -> Self:
        """Return the levels of a table of probabilities.

        They are cached with the table, so that what several measures need is fitted once.

        Parameters
        ----------
        table : ScoreTable
            Table whose scores are probabilities.
        index : tuple of int, default=()
            Index into the leading axes of the table, if it has any.

        Returns
        -------
        ProbabilityLevels
            Levels with positive weight.
        """
        return cached(table, ("levels", index), lambda: cls._from_table(table, index))

    @classmethod
    def _from_table(cls, table: ScoreTable, index: tuple[int, ...]) -> Self:
        # Tables with merged scores have one score column per replicate, the mean scores.
        scores = table.scores if table.scores.ndim == 1 else table.scores[index]
        positive = table.positive[index][::-1]
        total = positive + table.negative[index][::-1]
        min_total = total.min(initial=np.inf)
        selection: Any = slice(None) if min_total > 0 else total > 0
        if min_total == total.max(initial=0.0):  # of distinct scores without weights it is 1
            total = np.broadcast_to(min_total, total.shape)
        squares = total
        if table.has_weights:
            squares = (table.positive_squares[index] + table.negative_squares[index])[::-1]
        return cls(
            scores[::-1][selection], positive[selection], total[selection], squares[selection]
        )

    def __len__(self) -> int:
        return len(self.total)

    @cached_property
    def proportion(self) -> FloatArray:
        """Proportion of positives at each level."""
        return np.asarray(self.positive / self.total)

    @cached_property
    def effective_sizes(self) -> FloatArray:
        """Kish's effective number of rows at each level.

        It does not depend on the scale of the weights.
        """
        return np.asarray(np.square(self.total) / self.squares)

    @cached_property
    def weight(self) -> float:
        """Weight of all rows."""
        return float(self.total.sum())

    @cached_property
    def prevalence(self) -> float:
        """Proportion of positives among all rows."""
        return float(self.positive.sum()) / self.weight

    @property
    def has_one_class(self) -> bool:
        """Whether all rows are of one class."""
        return not 0 < float(self.positive.sum()) < self.weight

    def merge_levels(self, starts: IntArray) -> Self:
        """Merge runs of levels that begin at ``starts``; each has its mean probability."""
        total = np.add.reduceat(self.total, starts)
        probability = np.add.reduceat(self.total * self.probability, starts) / total
        positive, squares = (
            np.add.reduceat(column, starts) for column in (self.positive, self.squares)
        )
        return type(self)(probability, positive, total, squares)

    def clip(self, delta: float) -> Self:
        """Return the levels with their probabilities clipped to [Δ, 1 − Δ]."""
        if delta == 0:
            return self
        return cached(self, ("clipped", delta), lambda: self._clip(delta))

    def _clip(self, delta: float) -> Self:
        probability = np.clip(self.probability, delta, 1 - delta)
        return type(self)(probability, self.positive, self.total, self.squares)

    @cached_property
    def isotonic_starts(self) -> IntArray:
        """First levels of the blocks of the isotonic regression of the outcome on the probability.

        They are found by pooling adjacent violators: neighbouring levels whose proportions do not
        ascend are merged until all do (Ayer and others 1955).
        """
        from calipers import _core

        return _core.isotonic_blocks(self.positive, self.total)

    @cached_property
    def isotonic_fit(self) -> FloatArray:
        """Isotonic regression at each level."""
        starts = self.isotonic_starts
        sizes = np.diff(np.append(starts, len(self)))
        return np.repeat(self.merge_levels(starts).proportion, sizes)

    def equal_width_starts(self, bins: int) -> IntArray:
        """Return the first levels of bins of equal width, without empty bins.

        The bins are (0, 1/B], (1/B, 2/B], …; 0 itself is in the first.
        """
        return _run_starts(width_bin(self.probability, bins))

    def equal_mass_starts(self, bins: int) -> IntArray:
        """Return the first levels of bins whose weights are as equal as ties allow.

        A level is in the bin that contains the middle of its weight.
        """
        starts = np.searchsorted(self._midpoint_proportions, np.arange(bins) / bins)
        return np.unique(starts[starts < len(self)])

    @cached_property
    def _midpoint_proportions(self) -> FloatArray:
        """Proportion of the weight below each level, plus half of its own."""
        return np.asarray((np.cumsum(self.total) - self.total / 2) / self.weight + _TOLERANCE)

    def monotonic_sweep_starts(self) -> IntArray:
        """Return the first levels of the largest number of bins of equal weight that are monotonic.

        The number of bins is increased until their proportions of positives do not ascend any more
        (Roelofs and others 2022). Every level is its own bin if the proportions ascend anyway.
        """
        if (np.diff(self.proportion) >= -_TOLERANCE).all():
            return np.arange(len(self))
        positive, total = (
            np.concatenate([[0.0], np.cumsum(column)]) for column in (self.positive, self.total)
        )
        best = np.zeros(1, np.int64)
        for bins in range(2, len(self) + 1):
            starts = self.equal_mass_starts(bins)
            offsets = np.append(starts, len(self))
            proportions = np.diff(positive[offsets]) / np.diff(total[offsets])
            if (np.diff(proportions) < -_TOLERANCE).any():
                break
            best = starts
        return best

    @property
    def has_certain_levels(self) -> bool:
        """Whether a probability is 0 or 1, so that its logit is infinite."""
        return bool(self.probability[0] <= 0 or self.probability[-1] >= 1)

    @cached_property
    def is_separated(self) -> bool:
        """Whether a threshold separates the classes (or all probabilities are equal).

        The slope of a recalibration then has no maximum-likelihood estimate.
        """
        extremes = []
        for mask in (self.positive > 0, self.positive < self.total):
            if not mask.any():
                return True
            extremes.append(self.probability[[mask.argmax(), len(mask) - 1 - mask[::-1].argmax()]])
        positive, negative = extremes
        return bool(positive[0] >= negative[1] or positive[1] <= negative[0])

    @cached_property
    def logit(self) -> FloatArray:
        """Logit ln(p/(1 − p)) of each probability."""
        logit = np.empty(len(self))
        for levels in row_blocks(len(self), 1):
            p = self.probability[levels]
            np.subtract(np.log(p), np.log1p(-p), out=logit[levels])
        return logit

    @property
    def _log_odds(self) -> float:
        """Log odds of the prevalence.

        They are computed from the weights of both classes, as either may be far smaller than the
        rounding error of one minus the proportion of the other.
        """
        negative = sum(
            float((self.total[levels] - self.positive[levels]).sum())
            for levels in row_blocks(len(self), 1)
        )
        return float(np.log(self.positive.sum()) - np.log(negative))

    @cached_property
    def recalibration_intercept(self) -> float:
        """Maximum-likelihood estimate of a in logit P(y) = a + logit(p).

        It is where Σw·expit(a + logit p) equals the weight of the positives. It is found by
        Newton's steps, halved if they leave the bracket that the extreme logits give. A step of s
        leaves an error of s²/2 at most, so that one of 1e-8 is the last; a smaller tolerance would
        be below the rounding error of a sum over millions.
        """
        logit, weight = self.logit, float(self.positive.sum())
        center = self._log_odds
        limits = float(center - logit[-1]), float(center - logit[0])
        start = 0.0
        if self._groups is not None:
            _, total, sums = self._groups
            start = _solve_intercept(sums / total, total, weight, start, limits)
        return _solve_intercept(logit, self.total, weight, start, limits)

    @cached_property
    def _groups(self) -> tuple[FloatArray, FloatArray, FloatArray] | None:
        """Weight of the positives and of all rows, and sum of the logits, of groups of many levels.

        From a fit to these few, one to all levels is a step or two away. It is None for few levels.
        """
        if len(self) <= _MAX_DIRECT_LEVELS:
            return None
        size = len(self) // _N_GROUPS
        first = np.arange(0, len(self), size)
        positive, total = (np.add.reduceat(column, first) for column in (self.positive, self.total))
        groups = (slice(begin, begin + size) for begin in first)
        sums = np.array([dot(self.total[group], self.logit[group]) for group in groups])
        return positive, total, sums

    @cached_property
    def recalibration_line(self) -> tuple[float, float]:
        """Maximum-likelihood estimates of a and b in logit P(y) = a + b·logit(p).

        They are found by iteratively reweighted min_total squares; a step is halved until the
        likelihood increases.
        """
        logit = self.logit
        center = dot(self.total, logit) / self.weight
        squares = sum(
            dot(self.total[levels], np.square(logit[levels] - center))
            for levels in row_blocks(len(self), 1)
        )
        scale = math.sqrt(squares / self.weight)
        beta = np.array([self._log_odds, 0.0])
        if self._groups is not None:
            positive, total, sums = self._groups
            coarse = fit_logit_line(sums / total, positive, total, beta, center, scale)
            beta = coarse if np.isfinite(coarse).all() else beta
        intercept, slope = fit_logit_line(logit, self.positive, self.total, beta, center, scale)
        slope = float(slope / scale)
        return float(intercept) - slope * center, slope


def _solve_intercept(
    logit: FloatArray,
    total: FloatArray,
    positive_weight: float,
    start: float,
    limits: tuple[float, float],
) -> float:
    """Solve Σw·expit(a + logit p) = the weight of the positives for a, between two limits.

    The sums are over blocks of levels that fit into the processor's cache.
    """
    low, high = limits
    a = min(max(start, low), high)
    for _ in range(_MAX_NEWTON_STEPS):
        excess, variance = -positive_weight, 0.0
        for block in row_blocks(len(logit), 1):
            fitted = expit(a + logit[block])
            weighted = total[block] * fitted
            excess += float(weighted.sum())
            variance += dot(weighted, 1 - fitted)
        low, high = (low, a) if excess > 0 else (a, high)
        step = excess / max(variance, 1e-300)
        is_in_bracket = low < a - step < high
        updated = a - step if is_in_bracket else (low + high) / 2
        if abs(updated - a) <= (1e-8 if is_in_bracket else 1e-15 * (1 + abs(a))):
            return updated
        a = updated
    return a


def fit_logit_line(
    logit: FloatArray,
    positive: FloatArray,
    total: FloatArray,
    beta: FloatArray,
    center: float = 0.0,
    scale: float = 1.0,
) -> FloatArray:
    """Fit the line a + b·x of logits by maximum likelihood, starting from ``beta``.

    The regressor is x = (logit − center)/scale.

    NaN is returned if nearly all weights vanish compared with the others.
    """

    def evaluate(beta: FloatArray) -> tuple[float, FloatArray, FloatArray]:
        """Return −ln of the likelihood, its negative gradient and the information matrix.

        They are summed over blocks of levels that fit into the processor's cache.
        """
        value, gradient, fisher_information = 0.0, np.zeros(2), np.zeros((2, 2))
        for block in row_blocks(len(logit), 1):
            x = (logit[block] - center) / scale
            eta = beta[0] + beta[1] * x
            exp_neg_abs = np.exp(-np.abs(eta))
            softplus = np.maximum(eta, 0.0) + np.log1p(exp_neg_abs)
            value += dot(total[block], softplus) - dot(positive[block], eta)
            fitted = np.where(eta < 0, exp_neg_abs, 1.0) / (1 + exp_neg_abs)
            residual = positive[block] - total[block] * fitted
            gradient += residual.sum(), dot(residual, x)
            weight_of_variance = total[block] * fitted * (1 - fitted)
            fisher_information += fisher_information_matrix(x, weight_of_variance)
        return value, gradient, fisher_information

    weight = float(total.sum())
    value, gradient, fisher_information = evaluate(beta)
    for _ in range(_MAX_NEWTON_STEPS):
        try:
            step = np.linalg.solve(fisher_information, gradient)
        except np.linalg.LinAlgError:
            return np.full(2, np.nan)
        if float(gradient @ step) <= 1e-13 * (weight + value):
            return beta + step  # so near that rounding decides which of the two fits better
        updated = beta + step
        while (new := evaluate(updated))[0] > value:
            step = step / 2
            updated = beta + step
        beta, (value, gradient, fisher_information) = updated, new
    return beta


def fisher_information_matrix(x: FloatArray, weight: FloatArray) -> FloatArray:
    """Compute the Fisher information Σw·dd′ of a line on the logit scale, with d = (1, x).

    The weights are those of the variances, w·p(1 − p).
    """
    cross = dot(weight, x)
    return np.array([[weight.sum(), cross], [cross, dot(weight, np.square(x))]])


def fit_information_matrix(
    x: FloatArray, total: FloatArray, intercept: float, slope: float
) -> FloatArray:
    """Compute the Fisher information at a line of logits, in blocks of levels."""
    fisher_information = np.zeros((2, 2))
    for block in row_blocks(len(x), 1):
        fitted = expit(intercept + slope * x[block])
        fisher_information += fisher_information_matrix(
            x[block], total[block] * fitted * (1 - fitted)
        )
    return fisher_information


def width_bin(probability: FloatArray, bins: int) -> IntArray:
    """Return the bin of each probability, from 1 on, of bins of equal width; 0 is in the first."""
    return np.maximum(np.ceil(probability * bins - _TOLERANCE).astype(np.int64), 1)


def expit(x: FloatArray) -> FloatArray:
    """Compute 1/(1 + e⁻ˣ), the inverse of the logit."""
    out = np.asarray(np.maximum(x, -700.0))  # below, exp would overflow
    np.negative(out, out=out)
    np.exp(out, out=out)
    out += 1
    return np.asarray(np.divide(1.0, out, out=out))


def _run_starts(values: IntArray) -> IntArray:
    """Return where each value of an ascending sequence first appears."""
    return np.flatnonzero(np.append(True, values[1:] != values[:-1]))
