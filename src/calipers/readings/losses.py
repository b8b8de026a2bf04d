"""Measures of the mean of a value per row: losses, squares, shares of rows."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from calipers.inference import intervals
from calipers.inference.intervals import Interval
from calipers.inference.policy import MOST_DRAWN
from calipers.inference.reading import Limits, Reading, Units
from calipers.inference.resampling import row_means
from calipers.inference.spaces import Error, Influence, OfMeans
from calipers.once import cached_property
from calipers.readings.shares import share_methods
from calipers.readings.undefined import reasons
from calipers.statistics import FloatArray, Moments

if TYPE_CHECKING:
    from calipers.inference.clusters import Clusters
    from calipers.inference.settings import MeasureLike, Settings


@dataclass(frozen=True, eq=False)
class Losses:
    """A value for each row."""

    values: FloatArray
    weight: FloatArray | None
    clusters: Clusters | None
    settings: Settings

    @cached_property
    def statistic(self) -> Moments:
        """Their moments."""
        return Moments.from_rows(self.values, self.weight)

    def reading(self, measure: MeasureLike, trials: float | None = None) -> Reading:
        """The reading of a measure of their mean."""
        return of_losses(measure, self.values, self.weight, self.clusters, self.settings, trials)

    def per_row(self, measure: MeasureLike) -> FloatArray:
        """The values."""
        return self.values

    def influence(self, measure: MeasureLike, whole: Moments | None = None) -> Influence | None:
        """By how much each row moves the value; ``whole`` are the moments of all rows, where these
        are a batch of them."""
        return influence(measure, self.values, self.weight, self.clusters, whole)


def of_moments(measure: MeasureLike, moments: Moments, settings: Settings, rows: int) -> Reading:
    """What the moments of a value per row say of a measure of its mean."""
    value, definition = float(measure.apply(moments)), measure.definition
    rate = slope(measure, value, moments)
    return Reading(
        value=value,
        kind="mean of a value per row",
        settings=settings,
        n=rows,
        bounds=definition.range,
        undefined=reasons(measure, moments, rows),
        higher_is_better=definition.higher_is_better,
        sizes=lambda: (moments.effective_size,),
        error=lambda: Error(rate * moments.standard_error, "delta"),
    )


def of_losses(
    measure: MeasureLike,
    loss: FloatArray,
    weight: FloatArray | None,
    clusters: Clusters | None,
    settings: Settings,
    trials: float | None = None,
) -> Reading:
    """The reading of a measure of the mean of a value per row; ``trials`` is the effective number
    of rows where they are right or wrong and independent, so that the mean is a share.

    A function of the mean (the root of mean squares, a total, an exponential) varies by its slope
    there. The units test that means do not differ, which is not the same of functions of them.
    """
    moments = Moments.from_rows(loss, weight)
    made = of_moments(measure, moments, settings, len(loss))
    of = _Losses(measure, moments, loss, weight, clusters, settings)

    return replace(
        made,
        weight=weight,
        clusters=clusters,
        skew=of.skewness,
        error=None,
        influence=lambda: influence(measure, loss, weight, clusters),
        units=Units(loss, weight, clusters),
        units_make_value=_is_mean(measure),
        replicates=of.replicates,
        jackknife=of.left_out,
        methods={**of.methods(), **({} if trials is None else share_methods(made.value, trials))},
    )


def _is_mean(measure: MeasureLike) -> bool:
    """Whether it is the mean itself."""
    return measure.definition.interval not in ("root_mean", "exponential", "total")


def influence(
    measure: MeasureLike,
    loss: FloatArray,
    weight: FloatArray | None,
    clusters: Clusters | None,
    whole: Moments | None = None,
) -> Influence | None:
    """By how much each row moves a measure of the mean loss, where it has a slope; ``whole`` are
    the moments of all rows, where these are a batch of them."""
    if _is_mean(measure):
        space = OfMeans(weight, clusters, whole=whole)
        return Influence(loss, space, "normal" if space.clusters is None else "Student t")
    moments = Moments.from_rows(loss, weight) if whole is None else whole
    rate = slope(measure, float(measure.apply(moments)), moments)
    if not np.isfinite(rate):
        return None
    scaled = None if whole is None else replace(whole, mean=rate * whole.mean)
    space = OfMeans(weight, clusters, whole=scaled)
    return Influence(rate * loss, space)


def slope(measure: MeasureLike, value: float, moments: Moments) -> float:
    """How fast a measure of a mean loss rises with the mean; NaN where it has no slope, as √ at
    0."""
    match measure.definition.interval:
        case "root_mean":
            return 1 / (2 * value) if value > 0 else float("nan")
        case "exponential":
            return value
        case "total":
            return moments.weight
    return 1.0


class _Losses:
    """The intervals that a measure of a mean has of its own."""

    def __init__(
        self,
        measure: MeasureLike,
        moments: Moments,
        loss: FloatArray,
        weight: FloatArray | None,
        clusters: Clusters | None,
        settings: Settings,
    ) -> None:
        self.measure, self.moments, self.loss, self.weight = measure, moments, loss, weight
        self.clusters, self.settings = clusters, settings
        self.kind = measure.definition.interval

    def at(self, means: FloatArray) -> FloatArray:
        """The measure, were the mean another."""
        return self.measure.apply(replace(self.moments, mean=means))  # type: ignore[arg-type]

    def replicates(self) -> FloatArray:
        """Of the bootstrap of rows, or of their clusters."""
        column = self.loss[:, None]
        return self.at(row_means(column, self.weight, self.settings, self.clusters)[:, 0])

    def methods(self) -> dict[str, Limits]:
        """By name, but for the bootstraps of all."""
        made: dict[str, Limits] = {"delta": self.by_error}
        if self.kind == "root_mean":
            made["chi-square"] = self.chi_square
        else:
            made["student"] = self.student
        if self.clusters is None:
            made["studentised"] = self.studentised
        return made

    def skewness(self) -> float:
        """The size of the skewness over √n, by which the mean is not normal; 1 at most. 0 where
        there are too many to be drawn again."""
        moments, n = self.moments, self.moments.effective_size
        if not (2 < n <= MOST_DRAWN and moments.standard_error > 0):
            return 0.0
        used = slice(None) if self.weight is None else self.weight > 0
        apart = self.loss[used] - moments.mean
        apart = apart / np.abs(apart).max()  # the sixth power of a loss may be beyond all numbers
        own = None if self.weight is None else self.weight[used] / self.weight.max()
        spread = Moments.from_rows(np.square(apart), own).mean
        return float(abs(Moments.from_rows(apart**3, own).mean) / (spread**1.5 * np.sqrt(n)))

    @property
    def mean_error(self) -> float:
        """The standard error of the mean."""
        if self.clusters is not None:
            return self.clusters.mean_error(self.loss)
        return self.moments.standard_error

    @property
    def error(self) -> float:
        """That of the measure."""
        value = float(self.measure.apply(self.moments))
        return slope(self.measure, value, self.moments) * self.mean_error

    def by_error(self, level: float) -> Interval:
        """From the standard error of the mean."""
        if self.clusters is None:
            return self.of_mean(self.mean_error, level)
        made = self.of_mean(self.clusters.widened(self.mean_error, level), level)
        name = self.clusters.named(f"{made.method}, clustered")
        return replace(made, method=name, se=self.error)

    def of_mean(self, se: float, level: float) -> Interval:
        """From a standard error of the mean, as the measure takes it."""
        mean = self.moments.mean
        if self.kind == "root_mean":
            return intervals.root_mean(mean, se, level)
        made = intervals.normal_mean(mean, se, level)
        if self.kind not in ("total", "exponential") or made.reason is not None:
            return made
        ends = np.maximum([made.low, made.high], 0.0)  # what a mean loss can be
        low, high = self.at(ends).tolist()
        return Interval(low, high, "normal, of the mean", se=self.error)

    def student(self, level: float) -> Interval:
        """Student's t."""
        if self.clusters is not None:
            return replace(self.by_error(level), method=self.clusters.named("Student t"))
        n, se = self.moments.effective_size, self.mean_error
        t = intervals.student(self.moments.mean, se, n, level)
        if t.reason is not None:
            return t
        made = self.of_mean(intervals.as_student(se, n - 1, level), level)
        return replace(made, method=made.method.replace("normal", "Student t"), se=self.error)

    def chi_square(self, level: float) -> Interval | None:
        """Of normal residuals."""
        if self.clusters is not None:
            return None
        mean = self.moments.mean
        fourth = Moments.from_rows(np.square(self.loss), self.weight).mean
        kurtosis = fourth / mean**2 if mean > 0 else 3.0
        root = float(self.measure.apply(self.moments))
        return intervals.chi_square(root, self.moments.effective_size, kurtosis, level)

    def left_out(self) -> tuple[FloatArray, None]:
        """How much each row, or cluster, moves the value by being left out."""
        w = np.ones(len(self.loss)) if self.weight is None else self.weight
        parts = np.column_stack([w * np.where(w > 0, self.loss, 0.0), w])
        if self.clusters is not None:
            parts = np.column_stack([np.bincount(self.clusters.code, part) for part in parts.T])
        parts = parts[parts[:, 1] > 0]
        with np.errstate(divide="ignore", invalid="ignore"):
            means = (parts[:, 0].sum() - parts[:, 0]) / (parts[:, 1].sum() - parts[:, 1])
            # A sum of what is not negative is not negative, but for rounding.
            means = np.maximum(means, 0.0) if self.loss.min(initial=0.0) >= 0 else means
            return intervals.left_out(self.at(means)), None

    def studentised(self, level: float) -> Interval:
        """Bootstrap-t of the mean, of a root mean square on the log scale."""
        means, errors = self._drawn_with_errors()
        mean, se = self.moments.mean, self.moments.standard_error
        if self.kind == "root_mean":
            if not mean > 0:
                return intervals.missing("bootstrap-t", "no_spread")
            with np.errstate(divide="ignore", invalid="ignore"):
                logs, of_logs = np.log(means / mean) / 2, errors / (2 * means)
            made = intervals.bootstrap_t(0.0, se / (2 * mean), logs, of_logs, level)
            with np.errstate(over="ignore"):  # of few rows the upper end may be beyond all numbers
                ends = np.sqrt(mean) * np.exp([made.low, made.high])
            return replace(made, low=float(ends[0]), high=float(ends[1]), se=self.error)
        made = intervals.bootstrap_t(mean, se, means, errors, level)
        if made.reason is not None:
            return made
        ends = np.array([made.low, made.high])
        if self.loss.min() >= 0:
            ends = np.maximum(ends, 0.0)
        low, high = self.at(ends).tolist()
        return replace(made, low=low, high=high, se=self.error)

    def _drawn_with_errors(self) -> tuple[FloatArray, FloatArray]:
        """Replicates of the mean, and the standard error of each."""
        from calipers import _core

        settings, loss, weight = self.settings, self.loss, self.weight
        if weight is None:
            means, errors = _core.bootstrap_means(loss[:, None], settings.seed, settings.resamples)
            return means[:, 0], errors[:, 0]
        # Σw²(x − m)² of a replicate, from means of the parts that it opens into; x about the mean,
        # so that nothing cancels.
        x, w = loss[weight > 0] - self.moments.mean, weight[weight > 0]
        parts = np.column_stack([w, w * x, w**2, w**2 * x, (w * x) ** 2])
        drawn, _ = _core.bootstrap_means(parts, settings.seed, settings.resamples)
        total, sums, squares, cross, both = drawn.T
        with np.errstate(divide="ignore", invalid="ignore"):  # a replicate may be of one row alone
            apart = sums / total
            spread = np.maximum(both - 2 * apart * cross + apart**2 * squares, 0.0)
            n = len(x) * total**2 / squares  # Kish's size
            errors = np.sqrt(spread / len(x) * n / np.maximum(n - 1, 1e-12)) / total
        return self.moments.mean + apart, errors
