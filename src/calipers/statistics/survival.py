"""Times to an event that may be censored, with what a system predicted of each row."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from calipers.caching import cached_property
from calipers.lazy_dataclasses import dataclass
from calipers.lazy_imports import numpy as np
from calipers.statistics.base import FloatArray, IntArray, WeightedRows
from calipers.statistics.regression import SortedValues

if TYPE_CHECKING:
    import numpy.typing as npt
    from typing_extensions import Self


@dataclass(frozen=True, eq=False)
class SurvivalRows(WeightedRows):
    """Observed times, events and predictions of rows.

    Parameters
    ----------
    time : ndarray of shape (n,)
        Time of the event, or of censoring.
    event : ndarray of shape (n,)
        Whether the event was observed.
    risk : ndarray of shape (n,)
        Predicted risk; a higher one predicts an earlier event.
    survival : ndarray of shape (n, n_times)
        Predicted probabilities to survive each of ``times``; without columns if there are none.
    weight : ndarray of shape (..., n)
        Weights of the rows. Leading axes are replicates.
    times : tuple of float
        Times of the columns of ``survival``, ascending.

    Notes
    -----
    At one time events precede censoring, as in the estimator of Kaplan and Meier: a row that is
    censored at the time of an event outlived it.
    """

    time: FloatArray
    event: npt.NDArray[np.bool_]
    risk: FloatArray
    survival: FloatArray
    weight: FloatArray
    times: tuple[float, ...] = ()

    sort_orders: ClassVar[tuple[str, ...]] = ("sorted_times", "sorted_risks", "comparison_order")

    @classmethod
    def from_rows(
        cls,
        time: FloatArray,
        event: npt.NDArray[np.bool_],
        risk: FloatArray,
        survival: FloatArray | None = None,
        weight: FloatArray | None = None,
        times: tuple[float, ...] = (),
    ) -> Self:
        """Create the statistic of rows.

        Parameters
        ----------
        time, event, risk : ndarray of shape (n,)
            Observed times, whether they are those of events, and predicted risks.
        survival : ndarray of shape (n, n_times), optional
            Predicted probabilities to survive each of ``times``.
        weight : ndarray of shape (n,), optional
            Weights of the rows. By default all are 1.
        times : tuple of float, optional
            Times of these probabilities, ascending.

        Returns
        -------
        SurvivalRows
            Statistic of the rows.
        """
        survival = np.zeros((len(time), 0)) if survival is None else survival
        weight = np.ones(len(time)) if weight is None else weight
        return cls(time, event, risk, survival, weight, times)

    def __add__(self, other: Self) -> Self:
        names = ("time", "event", "risk", "survival")
        joined = {
            name: np.concatenate((getattr(self, name), getattr(other, name))) for name in names
        }
        weight = np.concatenate((self.weight, other.weight), axis=-1)
        return type(self)(**joined, weight=weight, times=self.times)

    @cached_property
    def sorted_times(self) -> SortedValues:
        """Rows sorted by observed time."""
        return SortedValues.from_column(self.time)

    @cached_property
    def sorted_risks(self) -> SortedValues:
        """Rows sorted by risk."""
        return SortedValues.from_column(self.risk)

    def survival_at(self, time: float) -> FloatArray:
        """Return the predicted probability of each row to survive one of the times.

        Parameters
        ----------
        time : float
            One of ``times``.

        Returns
        -------
        ndarray of shape (n,)
            Probabilities.
        """
        return np.asarray(self.survival[:, self.times.index(time)])

    def risks_at(self, time: float) -> SortedValues:
        """Return the rows sorted by the predicted probability of an event until a time.

        Parameters
        ----------
        time : float
            Without probabilities of this time, the rows are sorted by risk.

        Returns
        -------
        SortedValues
            Sorted rows.
        """
        if not self.survival.shape[1] or time not in self.times:
            return self.sorted_risks
        return SortedValues.from_column(-self.survival_at(time))

    def reached_bins(self, bins: int) -> FloatArray:
        """Return in which bin each row's predicted probability to survive its own time is.

        Parameters
        ----------
        bins : int
            Number of bins of equal width, from 0 to 1.

        Returns
        -------
        ndarray of shape (n, bins)
            Rows that sum to 1. What is censored, at the last of the times at the latest, is in its
            bin and all lower ones, in proportion to their width below the probability.
        """
        points = np.array((0.0, *self.times))
        survival = np.column_stack((np.ones(self.n_rows), self.survival))
        time = np.minimum(self.time, points[-1])
        index, rows = np.searchsorted(points[1:-1], time), np.arange(self.n_rows)
        fraction = (time - points[index]) / (points[index + 1] - points[index])
        begin, end = survival[rows, index], survival[rows, index + 1]
        reached = (begin + fraction * (end - begin))[:, None]
        is_event = self.event & (self.time <= points[-1])
        edges = np.arange(bins) / bins
        reached_bin = np.clip(np.floor(reached * bins), 0, bins - 1) == np.arange(bins)
        below = np.clip(reached - edges, 0.0, 1 / bins) / np.where(reached > 0, reached, 1.0)
        return np.asarray(
            np.where(is_event[:, None] | (reached == 0), reached_bin, below), np.float64
        )

    # --- Kaplan-Meier ----------------------------------------------------------------------------

    @cached_property
    def _times_at_risk(self) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Weight of events, of censored rows and of later rows at each distinct time."""
        events = self.sorted_times.weight_sums(self.weight * self.event)
        censored = self.sorted_times.weight_sums(self.weight * ~self.event)
        at_or_later = (events + censored)[..., ::-1].cumsum(axis=-1)[..., ::-1]
        later = np.zeros_like(at_or_later)
        later[..., :-1] = at_or_later[..., 1:]
        return events, censored, later

    @cached_property
    def event_survival(self) -> ProductLimit:
        """Kaplan-Meier estimate of the probability that the event is later than each time."""
        events, censored, later = self._times_at_risk
        index = self.sorted_times.value_index
        return ProductLimit(later + censored, events, self.event, index, index + ~self.event)

    @cached_property
    def censoring_survival(self) -> ProductLimit:
        """Kaplan-Meier estimate of the probability that censoring is later than each time."""
        _, censored, later = self._times_at_risk
        index = self.sorted_times.value_index
        return ProductLimit(later, censored, ~self.event, index, index)

    def n_times_until(self, time: float) -> int:
        """Return the number of distinct times that are not after a time.

        Parameters
        ----------
        time : float
            Any time.

        Returns
        -------
        int
            Number of distinct times of the rows.
        """
        return int(np.searchsorted(self.sorted_times.values, time, side="right"))

    # --- Pairs -----------------------------------------------------------------------------------

    @cached_property
    def comparison_order(self) -> tuple[IntArray, npt.NDArray[np.uint32], npt.NDArray[np.uint32]]:
        """Order of the rows by time, events first; the position of each in it, and its risk.

        An event is known to precede the rows with a higher position. Both are dense ranks.
        """
        position = 2 * self.sorted_times.value_index + ~self.event
        order = np.argsort(position, kind="stable")
        risk = self.sorted_risks.value_index.astype(np.uint32)
        return order, position[order].astype(np.uint32), risk[order]

    def concordance_sums(self, event_weight: FloatArray) -> tuple[FloatArray, ...]:
        """Sum over the pairs of rows of which it is known whose event was first.

        Parameters
        ----------
        event_weight : ndarray of shape (..., n)
            Weight of each row as the one whose event was first; 0 for censored rows.

        Returns
        -------
        tuple of ndarray of shape (..., n)
            For each row the weight of later rows, and of those with a lower risk; for each row the
            ``event_weight`` of earlier events, and of those with a higher risk. Equal risks count
            half.
        """
        from calipers import _core

        order, position, risk = self.comparison_order
        n_risks = len(self.sorted_risks.values)
        last = np.uint32(max(2 * len(self.sorted_times.values), 1))

        def sums(column: FloatArray, *, later: bool) -> tuple[FloatArray, FloatArray]:
            step = -1 if later else 1
            ordered = column[..., order][..., ::step]
            group = (last - position if later else position)[::step]
            rank = (risk if later else np.uint32(max(n_risks, 1) - 1) - risk)[::step]
            # The weight of all groups before that of each row.
            begins = np.append(0, np.flatnonzero(np.diff(group)) + 1)
            counts = np.diff(np.append(begins, len(group)))
            running = np.zeros((*column.shape[:-1], len(group) + 1))
            np.cumsum(ordered, axis=-1, out=running[..., 1:])
            before = running[..., np.repeat(begins, counts)]
            concordant = _core.lower_sums(
                group, rank, np.ascontiguousarray(ordered).reshape(-1, len(group)), n_risks
            ).reshape(column.shape)
            known_sums, concordant_sums = np.empty(column.shape), np.empty(column.shape)
            known_sums[..., order[::step]] = before
            concordant_sums[..., order[::step]] = concordant
            return known_sums, concordant_sums

        if not self.n_rows:
            empty = np.zeros(self.weight.shape)
            return empty, empty, empty, empty
        return (*sums(self.weight, later=True), *sums(event_weight, later=False))


@dataclass(frozen=True, eq=False)
class ProductLimit:
    """Product-limit estimate at distinct times, and its derivative by the weights of rows.

    Parameters
    ----------
    remaining : ndarray of shape (..., n_times)
        Weight of the rows that are at risk at each time and do not end there.
    ending : ndarray of shape (..., n_times)
        Weight of those that do.
    is_ending : ndarray of shape (n,)
        Whether a row ends at its time, rather than leaves.
    n_earlier : ndarray of shape (n,)
        Number of distinct times before that of each row.
    n_remaining : ndarray of shape (n,)
        Number of distinct times at which each row is at risk and does not end.
    """

    remaining: FloatArray
    ending: FloatArray
    is_ending: npt.NDArray[np.bool_]
    n_earlier: npt.NDArray[np.intp]
    n_remaining: npt.NDArray[np.intp]

    @cached_property
    def values(self) -> FloatArray:
        """Value after the first k distinct times, for each k from 0, (..., n_times + 1)."""
        at_risk = self.remaining + self.ending
        factors = np.where(at_risk > 0, self.remaining / np.where(at_risk > 0, at_risk, 1.0), 1.0)
        ones = np.ones((*factors.shape[:-1], 1))
        return np.concatenate((ones, factors.cumprod(axis=-1)), axis=-1)

    def log_derivative(self, coefficients: FloatArray, n_times: IntArray) -> FloatArray:
        """Return the derivative of Σ cᵢ·log V(kᵢ) by the weight of each row.

        Parameters
        ----------
        coefficients : ndarray of shape (m,)
            The cᵢ.
        n_times : ndarray of shape (m,)
            The kᵢ: V(k) is the value after the first k distinct times.

        Returns
        -------
        ndarray of shape (n,)
            Derivative.
        """
        at_risk = self.remaining + self.ending
        is_known = self.remaining > 0
        inverse = np.where(is_known, 1.0 / np.where(is_known, self.remaining, 1.0), 0.0)
        change = np.where(is_known, inverse - 1.0 / np.where(at_risk > 0, at_risk, 1.0), 0.0)
        running = np.append(0.0, change.cumsum())
        size = len(running)
        sums = np.bincount(n_times, coefficients, size)
        until = np.cumsum(sums * running)
        beyond = sums.sum() - np.cumsum(sums)
        last, end = self.n_remaining, self.n_earlier
        ending_change = np.where(
            self.is_ending, 1.0 / np.where(at_risk > 0, at_risk, 1.0)[end], 0.0
        )
        return np.asarray(until[last] + running[last] * beyond[last] - ending_change * beyond[end])
