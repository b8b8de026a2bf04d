"""Variance models of sample size planning: standard errors as functions of the number of units."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import field

import numpy as np

from calipers.inference import power as powers
from calipers.inference import sample_size
from calipers.inference.intervals import Interval, logit_interval, normal_quantile
from calipers.inference.proportions import bonett_price, wilson
from calipers.lazy_dataclasses import dataclass
from calipers.statistics import FloatArray
from calipers.statistics.base import IntArray

#: Number of quantiles that represent the possible observed values of an area.
N_QUANTILES = 400

#: Counts beyond this number of standard errors are ignored.
MAX_STANDARD_ERRORS = 9.0


def mean_assurance(sd: float, n: float, max_half_width: float, level: float, df: float) -> float:
    """Return P(t·s/√n ≤ width) of Student's interval.

    For normal units s²·f/sd² is χ² with f degrees of freedom (Kupper and Hafner 1989).

    Examples
    --------
    >>> round(mean_assurance(0.25, 50, 0.0707, 0.95, 49), 3)
    0.507
    >>> round(mean_assurance(0.25, 60, 0.0707, 0.95, 59), 3)
    0.859
    """
    from scipy.special import stdtrit

    if df < 1:
        return 0.0
    return sd_assurance(sd, max_half_width * math.sqrt(n) / float(stdtrit(df, (1 + level) / 2)), df)


def sd_assurance(sd: float, max_sd: float, df: float) -> float:
    """Return P(s ≤ ``max_sd``)."""
    from scipy.special import chdtr

    return float(chdtr(df, df * (max_sd / sd) ** 2))


def proportion_assurance(proportion: float, n: float, max_half_width: float, level: float) -> float:
    """Return P(half-width of Wilson's interval ≤ width).

    It follows from the binomial distribution of the observed proportion: the interval is narrower
    the further this is from ½.

    Examples
    --------
    >>> [round(proportion_assurance(0.9, n, 0.03, 0.95), 3) for n in (388, 421)]
    [0.489, 0.766]
    """
    n, z = math.floor(n), normal_quantile(level)
    # z/(1 + z²/n)·√(p(1 − p)/n + z²/4n²) ≤ width, solved for p(1 − p).
    max_variance = n * ((max_half_width * (1 + z * z / n) / z) ** 2 - (z / (2 * n)) ** 2)
    return _tail_probability(proportion, n, max_variance)


def _tail_probability(proportion: float, n: int, max_variance: float) -> float:
    """Return P(p(1 − p) ≤ ``max_variance``) of an observed proportion p of ``n``."""
    from scipy.special import bdtr, bdtrc

    if max_variance < 0:
        return 0.0
    if max_variance >= 0.25:
        return 1.0
    last = math.floor(n * (0.5 - math.sqrt(0.25 - max_variance)) + 1e-9)
    return float(bdtr(last, n, proportion) + bdtrc(n - last - 1, n, proportion))


def paired_proportion_assurance(
    discordant: float, n: float, max_half_width: float, level: float
) -> float:
    """Return P(half-width of Bonett and Price's interval ≤ width).

    The two systems differ on a proportion ``discordant`` of the rows, and neither is better. The
    probability is computed by the number of discordant rows, and given these by how many of them
    favor the first.
    """
    from scipy.special import bdtr
    from scipy.stats import binom

    n = math.floor(n)
    rows = _likely_counts(n, discordant)
    chance = binom.pmf(rows, n, discordant)
    # z·√((a + b − (a − b)²)/(n + 2)) ≤ width, a + b = (rows + 2)/(n + 2).
    min_squared_difference = (rows + 2) / (n + 2) - (n + 2) * (
        max_half_width / normal_quantile(level)
    ) ** 2
    min_difference = np.ceil(np.sqrt(np.maximum(min_squared_difference, 0)) * (n + 2) - 1e-9)
    last = np.floor((rows - min_difference) / 2)
    tail = np.where(last >= 0, bdtr(np.maximum(last, 0), rows, 0.5), 0.0)
    return float(np.sum(chance * np.minimum(2 * tail, 1.0)))


def two_proportion_assurance(
    proportion: float, n: float, max_half_width: float, level: float
) -> float:
    """Return P(half-width ≤ width) of Wald's interval of two equal proportions.

    There are ``n`` rows in each sample.
    """
    from scipy.stats import binom

    n = math.floor(n)
    counts = _likely_counts(n, proportion)
    observed = counts / n
    max_variances = n * (max_half_width / normal_quantile(level)) ** 2 - observed * (1 - observed)
    probabilities = np.array([_tail_probability(proportion, n, float(m)) for m in max_variances])
    return float(np.sum(binom.pmf(counts, n, proportion) * probabilities))


def _likely_counts(n: int, proportion: float) -> IntArray:
    """Return the counts whose probability is not negligible."""
    half_width = (
        MAX_STANDARD_ERRORS * math.sqrt(n * proportion * (1 - proportion)) + MAX_STANDARD_ERRORS
    )
    low, high = (
        max(0, math.floor(n * proportion - half_width)),
        min(n, math.ceil(n * proportion + half_width)),
    )
    return np.arange(low, high + 1)


def auc_assurance(
    area: float,
    error: Callable[[float], float],
    half_width: Callable[[float], float],
    max_half_width: float,
) -> float:
    """Return P(half-width ≤ width) of the interval of an area.

    The observed area is taken to be normal on the logit scale, and its interval to have the length
    of an interval of this area.
    """
    from scipy.special import expit, logit, ndtri

    normal_quantiles = ndtri((np.arange(N_QUANTILES) + 0.5) / N_QUANTILES)
    observed = expit(logit(area) + normal_quantiles * error(area) / (area * (1 - area)))
    # The last that have a logit: of few rows a perfect system is what may well be observed.
    observed = np.clip(observed, np.finfo(float).tiny, np.nextafter(1.0, 0.0))
    return float(np.mean([half_width(float(a)) <= max_half_width for a in observed]))


NAN = float("nan")

#: Units that a test of ranks needs, relative to those of a t test: the inverse of its asymptotic
#: relative efficiency, π/3 where differences are normal, and never more than 125/108 for any
#: symmetric distribution (Hodges and Lehmann 1956).
WILCOXON_SIZE_RATIO = math.pi / 3


class VarianceModel(ABC):
    """Variance of a measure as a function of the number ``n`` of independent units.

    The measure is that of one system, or a difference between two. Intervals and tests are normal
    or Student's t unless a subclass overrides them.
    """

    is_difference: bool
    value: float

    @abstractmethod
    def method_name(self, goal: str) -> str:
        """Return the name of the interval (``half_width``) or of the test that is planned for."""

    @abstractmethod
    def standard_error(self, n: float) -> tuple[float, float | None]:
        """Return the standard error if there is little difference, and its degrees of freedom."""

    def half_width(self, n: float, level: float) -> float:
        """Return the expected half-width of the interval."""
        return normal_quantile(level) * self.standard_error(n)[0]

    def assurance(self, n: float, max_half_width: float, level: float) -> float:
        """Return the probability that the half-width of the interval is at most ``max_half_width``.

        It is computed by χ², as for normal units.
        """
        max_se = max_half_width / normal_quantile(level)
        se = self.standard_error(n)[0]
        return sd_assurance(se, max_se, n - 1) if n >= 2 else 0.0

    def power(self, n: float, difference: float, level: float) -> float:
        """Return the power to detect a difference between two systems."""
        se, degrees = self.standard_error(n)
        if degrees is not None and degrees < 1:
            return NAN
        return powers.shift_power(difference / se, level, degrees)

    def reference_power(self, n: float, reference: float, level: float) -> float:
        """Return the power to show that the value differs from a known one."""
        return self.power(n, self.value - reference, level)

    def max_difference(self, sign: float) -> float:
        """Return the largest possible difference in the direction of ``sign``."""
        return math.inf


def interval_half_width(interval: Interval) -> float:
    """Return half the length of an interval."""
    return (interval.high - interval.low) / 2


@dataclass(frozen=True)
class MeanVarianceModel(VarianceModel):
    """Variance model of a mean of units with standard deviation ``sd``.

    For a difference this is the standard deviation of the differences. If ``is_student``, inference
    is by Student's t with ``n_samples``·(n − 1) degrees of freedom; otherwise it is normal, and
    ``sd`` is a standard error times √n.
    """

    sd: float
    is_difference: bool
    is_student: bool = True
    n_samples: int = 1
    test: str = "t"
    value: float = NAN
    method_label: str = ""

    def method_name(self, goal: str) -> str:
        """Return the name of the method; for a pilot whose standard error is scaled, its source."""
        if self.method_label:
            return self.method_label
        if goal == "half_width" or not self.is_difference:
            return "Student t"
        if self.test == "wilcoxon":
            return "Wilcoxon signed rank, π/3 of the units of a paired t"
        return "paired t" if self.n_samples == 1 else "t of two samples"

    def half_width(self, n: float, level: float) -> float:
        """Return the expected half-width of Student's interval, or of the normal one."""
        if self.is_student:
            return sample_size.mean_half_width(self.sd, n, level, self.n_samples * (n - 1))
        return super().half_width(n, level)

    def assurance(self, n: float, max_half_width: float, level: float) -> float:
        """Return the assurance of Student's interval by χ², or of the normal one."""
        if self.is_student:
            return mean_assurance(self.sd, n, max_half_width, level, self.n_samples * (n - 1))
        return super().assurance(n, max_half_width, level)

    def power(self, n: float, difference: float, level: float) -> float:
        """Return the power of the t test, or of Wilcoxon's by its relative efficiency."""
        units = n / WILCOXON_SIZE_RATIO if self.test == "wilcoxon" else n
        return super().power(units, difference, level)

    def standard_error(self, n: float) -> tuple[float, float | None]:
        """Return sd/√n and its degrees of freedom."""
        return self.sd / math.sqrt(n), self.n_samples * (n - 1) if self.is_student else None


@dataclass(frozen=True)
class ProportionVarianceModel(VarianceModel):
    """Variance model of a proportion of rows, or of a difference between two.

    Of a pair, exactly one system is correct on a proportion ``discordant_proportion`` of the rows;
    if it is known, ``value`` may be NaN.
    """

    value: float
    discordant_proportion: float | None = None
    is_difference: bool = False
    is_paired: bool = True

    def method_name(self, goal: str) -> str:
        """Return Wilson or the score test; McNemar and Bonett-Price if paired."""
        if goal == "half_width":
            return (
                "Wilson" if not self.is_difference else "Bonett-Price" if self.is_paired else "Wald"
            )
        if goal == "against":
            return "score test, exact"
        return "McNemar, exact" if self.is_paired else "score test of two samples"

    def half_width(self, n: float, level: float) -> float:
        """Return the half-width of the interval of the value, or of a small difference."""
        if not self.is_difference:
            return interval_half_width(wilson(self.value, n, level))
        if self.is_paired:
            return interval_half_width(bonett_price(*self.discordant_proportions(0.0), n, level))
        return super().half_width(n, level)

    def assurance(self, n: float, max_half_width: float, level: float) -> float:
        """Return the assurance by the binomial distribution of the observed counts."""
        if not self.is_difference:
            return proportion_assurance(self.value, n, max_half_width, level)
        if self.is_paired:
            return paired_proportion_assurance(
                sum(self.discordant_proportions(0.0)), n, max_half_width, level
            )
        return two_proportion_assurance(self.value, n, max_half_width, level)

    def discordant_proportions(self, difference: float) -> tuple[float, float]:
        """Return the proportions of rows that only one and only the other system gets right.

        Unless the proportion of discordant rows is known, the systems are taken to err
        independently.
        """
        discordant = self.discordant_proportion
        if discordant is None:
            first, second = self.value + difference, self.value
            discordant = first * (1 - second) + second * (1 - first)
        return (discordant + difference) / 2, (discordant - difference) / 2

    def power(self, n: float, difference: float, level: float) -> float:
        """Return the power of McNemar's exact test, or of the score test of two samples."""
        if self.is_paired:
            return powers.mcnemar_power(*self.discordant_proportions(difference), n, level)
        return powers.two_proportions_power(self.value + difference, self.value, n, level)

    def reference_power(self, n: float, reference: float, level: float) -> float:
        """Return the power of the score test."""
        return powers.proportion_power(self.value, reference, n, level)

    def standard_error(self, n: float) -> tuple[float, float | None]:
        """Return the standard error if there is no difference."""
        discordant = (
            sum(self.discordant_proportions(0.0))
            if self.is_paired
            else 2 * self.value * (1 - self.value)
        )
        return math.sqrt(discordant / n), None

    def max_difference(self, sign: float) -> float:
        """Return the largest possible gain or loss, or the proportion of discordant rows."""
        if self.discordant_proportion is not None:
            return self.discordant_proportion
        return 1 - self.value if sign > 0 else self.value


@dataclass(frozen=True)
class AreaVarianceModel(VarianceModel):
    """Variance model of an area under a curve.

    ``error_at`` is its standard error by area and n, ``correlation`` that of a difference of
    areas on the same rows (0 for separate rows).
    """

    value: float
    error_at: Callable[[float, float], float]
    formula_name: str
    is_difference: bool = False
    correlation: float = 0.0
    is_scaled: bool = False
    #: Standard error for binormal scores, to compare with Hanley and McNeil's; None for other
    #: formulas.
    binormal_error_at: Callable[[float, float], float] | None = None

    def method_name(self, goal: str) -> str:
        """Return the formula of the standard error, and the scale of the interval or test."""
        if self.is_scaled:
            return self.formula_name
        return (
            f"{self.formula_name}, {'normal' if self.is_difference or goal == 'power' else 'logit'}"
        )

    def half_width(self, n: float, level: float) -> float:
        """Return the half-width of the interval of the value, or of the difference of a pair."""
        return self._half_width(self.value, n, level)

    def _half_width(self, area: float, n: float, level: float) -> float:
        """Return the half-width for an area, or for the difference of two such areas."""
        error = self.error_at(area, n)
        if self.is_difference:
            return normal_quantile(level) * sample_size.paired_difference_se(
                error, error, self.correlation
            )
        return interval_half_width(logit_interval(area, error, level, "logit"))

    def assurance(self, n: float, max_half_width: float, level: float) -> float:
        """Return the assurance by the distribution of the observed area.

        Both areas of a pair are taken to vary together.
        """
        return auc_assurance(
            self.value,
            lambda area: self.error_at(area, n),
            lambda area: self._half_width(area, n, level),
            max_half_width,
        )

    def power(self, n: float, difference: float, level: float) -> float:
        """Return the power of the normal test of the difference."""
        return powers.shift_power(difference / self._error(n, difference), level)

    def reference_power(self, n: float, reference: float, level: float) -> float:
        """Return the probability that the interval excludes the reference."""
        return powers.area_power(self.value, reference, self.error_at(self.value, n), level)

    def standard_error(self, n: float) -> tuple[float, float | None]:
        """Return the standard error if there is no difference."""
        return self._error(n, 0.0), None

    def _error(self, n: float, difference: float) -> float:
        first, second = (self.error_at(a, n) for a in (self.value + difference, self.value))
        return sample_size.paired_difference_se(first, second, self.correlation)

    def max_difference(self, sign: float) -> float:
        """Return the largest possible gain or loss."""
        return (1 - self.value if sign > 0 else self.value) * (1 - 1e-9)


@dataclass(frozen=True)
class MultiSystemVarianceModel(VarianceModel):
    """Variance model of means of several systems.

    Their paired differences have standard deviation ``sd``; if the systems are not paired,
    it is that within systems.
    """

    sd: float
    n_systems: int
    test: str
    is_paired: bool = True
    is_difference: bool = True

    def method_name(self, goal: str) -> str:
        """Return the name of the analysis of variance or of Tukey's test."""
        if goal == "half_width":
            return "Tukey"
        ways = "two-way" if self.is_paired else "one-way"
        name = f"{ways} analysis of variance" if self.test == "anova" else "Tukey HSD"
        return f"{name}, {self.n_systems} systems"

    @property
    def _residual_sd(self) -> float:
        return self.sd / math.sqrt(2) if self.is_paired else self.sd

    def half_width(self, n: float, level: float) -> float:
        """Return the half-width of Tukey's simultaneous intervals of the differences."""
        if n < 2 or not self.is_paired:
            return NAN
        return sample_size.tukey_half_width(self._residual_sd, self.n_systems, n, level)

    def assurance(self, n: float, max_half_width: float, level: float) -> float:
        """Return the assurance by χ²."""
        degrees, half = (self.n_systems - 1) * (n - 1), self.half_width(n, level)
        if math.isnan(half):
            return NAN
        return sd_assurance(self._residual_sd, self._residual_sd * max_half_width / half, degrees)

    def power(self, n: float, difference: float, level: float) -> float:
        """Return the power if the best and the worst system differ by ``difference``."""
        if self.test == "tukey":
            return powers.tukey_power(difference, self._residual_sd, self.n_systems, n, level)
        return powers.anova_power(
            difference, self._residual_sd, self.n_systems, n, level, paired=self.is_paired
        )

    def reference_power(self, n: float, reference: float, level: float) -> float:
        """Return NaN, because there is no such test."""
        return NAN

    def standard_error(self, n: float) -> tuple[float, float | None]:
        """Return the standard error of a difference between two systems."""
        return self._residual_sd * math.sqrt(2 / n), (self.n_systems - 1) * (n - 1)


@dataclass(frozen=True)
class MeasureVarianceModel:
    """Variance model of a measure with the units that the user counts.

    ``unit_ratio`` is the number of units of the model for each unit that the user counts.
    """

    measure: str
    model: VarianceModel
    unit: str
    unit_ratio: float = 1.0
    assumptions: Mapping[str, float] = field(default_factory=dict)
    n_pilot: int | None = None
    values: FloatArray | None = None
    notes: tuple[str, ...] = ()
