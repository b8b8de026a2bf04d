"""The share of the best constant answer's loss that probabilities of several classes save.

1 − L/D, with L the mean loss and D that of always answering the shares of the classes. Both are
means over the same rows, and D is least at the shares, so that to first order a row moves D by what
it would lose under them: the influence of a row with loss l and constant loss d is
−(l − d·L/D)/(D·Σw).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from calipers.evaluate.pairs import paired_error
from calipers.inference.contrast import Contrast, Error
from calipers.inference.estimate import FEW_ROWS, normal_of, percentile, row_means
from calipers.inference.influence import row_error
from calipers.inference.of_scores import asked_of_influence
from calipers.measures import Measure, parse
from calipers.measures.probabilities import least_loss
from calipers.once import cached_property
from calipers.results import Estimate
from calipers.statistics import FloatArray, Moments

if TYPE_CHECKING:
    from calipers.evaluate.multiclass import ClassSystem
    from calipers.inference.intervals import Interval

#: The measures of this kind.
SKILLS = ("Brier-skill", "log-loss-skill")

#: So many numbers are held at a time when the shares of classes are redrawn.
_AT_ONCE = 30_000_000


@dataclass(frozen=True, eq=False)
class Skill:
    """A measure out of :data:`SKILLS` of one system."""

    system: ClassSystem
    measure: Measure

    @cached_property
    def loss(self) -> Measure:
        """What the skill is about."""
        return parse(self.measure.definition.name.removesuffix("-skill"), "probabilities")

    @cached_property
    def losses(self) -> FloatArray:
        """The loss of each row."""
        return self.system.losses(self.loss)

    @cached_property
    def means(self) -> tuple[float, float]:
        """The mean loss, and that of the best constant answer."""
        problem = self.system.problem
        mean = Moments.from_rows(self.losses, problem.weight).mean
        return float(mean), float(least_loss(problem.shares, str(self.loss)))

    @property
    def reason(self) -> str | None:
        """Why there is no value, where there is none."""
        sizes = self.system.problem.sizes
        if not sizes.any():
            return "no_rows"
        if np.count_nonzero(sizes) < 2:
            return "one_class"
        return None if np.isfinite(self.means[0]) else "zero_probability"

    @cached_property
    def value(self) -> float:
        """The share saved; negative where the constant answer is better."""
        if self.reason is not None:
            return float("nan")
        mean, least = self.means
        return 1 - mean / least

    @cached_property
    def moved(self) -> FloatArray:
        """How much each row moves the value, times its weight."""
        problem, (mean, least) = self.system.problem, self.means
        constant = problem.constant_losses(self.loss)[problem.truth]
        own = constant * (mean / least) - self.losses
        if problem.weight is not None:  # a row of weight 0 is no row, whatever it loses
            own = np.where(problem.weight > 0, own, 0.0) * problem.weight
        return np.asarray(own / (least * problem.sizes.sum()))

    @cached_property
    def replicates(self) -> FloatArray:
        """Bootstrap replicates, shape ``(B,)``; each has its own shares of the classes."""
        problem, present = self.system.problem, np.flatnonzero(self.system.problem.sizes)
        at_once = max(1, _AT_ONCE // len(problem.truth))
        blocks = [present[i : i + at_once] for i in range(0, len(present), at_once)]
        shares = np.hstack([self._means(problem.truth[:, None] == block) for block in blocks])
        least = least_loss(shares, str(self.loss))
        with np.errstate(divide="ignore", invalid="ignore"):
            values = 1 - self._means(self.losses[:, None])[:, 0] / least
        # Of one class the shares are 1 and 0, but for rounding.
        return np.where(shares.max(axis=1) < 1 - 1e-12, values, np.nan)

    def _means(self, columns: npt.NDArray[Any]) -> FloatArray:
        """The means of columns in each replicate; the same rows are drawn every time."""
        problem, settings = self.system.problem, self.system.settings
        return row_means(columns.astype(np.float64), problem.weight, settings, problem.clusters)

    @property
    def few(self) -> bool:
        """Whether the bootstrap says more than the delta method, as of means of losses."""
        problem = self.system.problem
        size = Moments.from_rows(self.losses, problem.weight).effective_size
        return problem.clusters is not None or bool(size < FEW_ROWS)

    def interval(self) -> Interval:
        """That asked for by name; the delta method; of few rows, or clusters, the bootstrap."""
        system, clusters = self.system, self.system.problem.clusters
        settings, limits = system.settings, self.measure.definition.range
        asked = asked_of_influence(
            self.measure,
            self.value,
            settings,
            lambda: self.replicates,
            lambda: self.moved,
            clusters,
        )
        if asked is not None:
            return asked
        drawn = settings.prefers_bootstrap or (self.few and settings.interval == "auto")
        refused = settings.refuses(self.value, bootstrap=drawn)
        if refused is not None:
            return refused
        if drawn:
            return percentile(self.replicates, settings, clusters)
        se = row_error(self.moved, clusters=clusters)
        return normal_of(self.value, se, settings, clusters, "delta").within(*limits)

    def estimate(self) -> Estimate:
        """The value with its interval; the constant answer saves nothing."""
        made, n, reason = self.interval(), len(self.system.problem.truth), self.reason
        return Estimate(
            measure=str(self.measure),
            value=self.value,
            low=made.low,
            high=made.high,
            level=self.system.settings.level,
            method=made.method,
            n=n if reason is None else 0,
            of=n,
            undefined={} if reason is None else {reason: n},
            no_interval=made.reason,
            default=float("nan") if reason in ("no_rows", "one_class") else 0.0,
            system=self.system.name,
        )

    def minus(self, other: Skill) -> Contrast:
        """What is known of how the difference of two systems on the same rows varies."""
        problem = self.system.problem
        clusters = problem.clusters

        def moved() -> FloatArray:
            return self.moved - other.moved

        def error() -> Error:
            return paired_error(row_error(moved(), clusters=clusters), "delta, paired", clusters)

        return Contrast(
            value=self.value - other.value,
            n=len(problem.truth),
            settings=self.system.settings,
            usual="replicates" if self.few else "error",
            higher_is_better=True,
            error=lambda: paired_error(
                row_error(moved(), None, clusters), "delta, paired", clusters
            ),
            moved=(lambda: (moved(), None)) if clusters is None else None,
            replicates=lambda: self.replicates - other.replicates,
            clusters=clusters,
        )
