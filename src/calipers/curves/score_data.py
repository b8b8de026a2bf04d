"""Data of score curves (tables, replicates and bands), and their constructors."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from statistics import NormalDist
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from calipers.caching import cached_property
from calipers.curves.construction import empty_band
from calipers.inference.bands import ThresholdReplicates, pointwise_band, roc_limits
from calipers.inference.score_bootstrap import RankedRows, ranked_rows
from calipers.inference.settings import Settings
from calipers.lazy_dataclasses import dataclass
from calipers.measures.counts import false_positive_rate, recall
from calipers.results import Curve
from calipers.statistics import ConfusionMatrix, FloatArray, ScoreTable
from calipers.statistics.calibration import ProbabilityLevels

if TYPE_CHECKING:
    from calipers.systems.binary import BinaryOutput

#: Positions at which bands are computed.
GRID = np.linspace(0.0, 1.0, 101)

#: Positions of bands over FPR: dense in normal deviates as well, over the range of DET curves.
FPR_GRID = np.union1d(GRID, [NormalDist().cdf(z / 20) for z in range(-62, 63)])

#: The threshold probabilities of a net benefit curve, in addition to the scores.
ODDS_GRID = np.arange(100) / 100

#: Replicates are computed at this number of thresholds with equal weight between them, and
#: at this number of the highest.
_N_SPREAD_THRESHOLDS, _N_HIGHEST_THRESHOLDS = 250, 30

#: Rates at which blocks of rows end as well: equal steps of TPR and of FPR, and ever smaller ones
#: at both ends.
_BLOCK_END_RATES = np.concatenate(
    [
        _tail_rates := np.geomspace(1e-7, 0.05, 76),
        np.linspace(0, 1, _N_SPREAD_THRESHOLDS // 2),
        1 - _tail_rates,
    ]
)

#: Maximum number of rows that are resampled one by one; with more, blocks of rows are.
_MAX_RESAMPLED_ROWS = 5_000


@dataclass(frozen=True, eq=False)
class ScoreData:
    """Data of the curves of one binary system, or of one class against all others.

    Attributes
    ----------
    system : str
        Name of the system.
    read : callable
        Function that returns the table of scores.
    settings : Settings
        Settings of the intervals.
    rows : object
        Rows as :func:`ranked_rows` takes them, None if the table is sufficient.
    threshold : float or None
        Threshold in use.
    probabilities : bool
        Whether the scores are probabilities of the positive class.
    names : tuple of str
        Names of the negative and the positive class.
    series : str
        Class that is compared with all others.
    proportion : float
        Proportion of rows of that class.
    bootstrap : str
        Name of the bootstrap method.
    independent : bool
        Whether the rows are independent.
    """

    system: str
    read: Callable[[], ScoreTable]
    settings: Settings
    rows: Any = None
    threshold: float | None = None
    probabilities: bool = False
    names: tuple[str, str] = ("negative", "positive")
    series: str = ""
    proportion: float = float("nan")
    bootstrap: str = "bootstrap [B]"
    independent: bool = True

    @cached_property
    def table(self) -> ScoreTable:
        """Table of distinct scores."""
        return self.read()

    @property
    def without_bands(self) -> ScoreData:
        """The same data, of which curves have no bands."""
        settings = replace(self.settings, interval="none")
        return replace(self, read=self._get_table, settings=settings)

    def _get_table(self) -> ScoreTable:
        return self.table

    @cached_property
    def confusion_matrices(self) -> ConfusionMatrix:
        """Confusion matrices at +∞ and at every distinct score, descending."""
        return self.table.confusion()

    @cached_property
    def resampled_rows(self) -> RankedRows:
        """Rows that the bootstrap resamples."""
        return ranked_rows(self.table, self.rows)

    @property
    def _resamples_blocks(self) -> bool:
        """Whether the bootstrap resamples blocks of rows rather than rows."""
        return self.independent and self.table.rows > _MAX_RESAMPLED_ROWS

    @cached_property
    def replicates(self) -> tuple[FloatArray, FloatArray]:
        """Bootstrap replicates of TPR over a grid of FPR, and of precision over one of recall."""
        from calipers import _core

        if self._resamples_blocks:
            return self.threshold_replicates.tpr(FPR_GRID), self.threshold_replicates.precision(
                GRID
            )
        settings = self.settings
        _, tpr, precision = _core.bootstrap_scores(
            *self.resampled_rows, settings.seed, settings.n_resamples, FPR_GRID, GRID
        )
        assert tpr is not None
        assert precision is not None
        return tpr, precision

    @cached_property
    def roc_band(self) -> Mapping[str, Any]:
        """Bands of the ROC curve; those of the DET curve are their reflection."""
        return make_band(self, FPR_GRID, lambda: self.replicates[0], roc_limits)

    @cached_property
    def threshold_replicates(self) -> ThresholdReplicates:
        """Bootstrap replicates of the counts at the thresholds at which curves have bands."""
        table = self.table
        weight = np.cumsum(table.positive + table.negative)
        spread_indices = (
            np.searchsorted(weight, np.linspace(0, weight[-1], _N_SPREAD_THRESHOLDS)) + 1
        )
        index_arrays = [np.arange(_N_HIGHEST_THRESHOLDS), spread_indices, self.hull]
        if self.probabilities:
            index_arrays.append(self.threshold_indices(ODDS_GRID))
        if self._resamples_blocks:
            running = (np.cumsum(column) for column in (table.positive, table.negative))
            index_arrays += [
                np.searchsorted(column, _BLOCK_END_RATES * column[-1]) + 1 for column in running
            ]
        indices = np.unique(np.concatenate(index_arrays).clip(0, len(weight)))
        if self._resamples_blocks:
            return ThresholdReplicates.draw_by_block(table, indices, self.settings)
        return ThresholdReplicates.draw(self.resampled_rows, indices, self.settings)

    @cached_property
    def gain_replicates(self) -> FloatArray:
        """Bootstrap replicates of recall over a grid of the proportion predicted positive."""
        return self.threshold_replicates.gain(GRID)

    def threshold_indices(self, thresholds: FloatArray) -> npt.NDArray[np.intp]:
        """Return the indices of thresholds in ``matrix``: the number of scores at or above each.

        Parameters
        ----------
        thresholds : ndarray of shape (K,)
            Thresholds, in any order.

        Returns
        -------
        ndarray of int, shape (K,)
            Index of each threshold along the first axis of ``matrix``.
        """
        scores = self.table.scores
        return np.asarray(len(scores) - np.searchsorted(scores[::-1], thresholds, side="left"))

    @cached_property
    def hull(self) -> npt.NDArray[np.intp]:
        """Vertices of the upper convex hull of the ROC curve, as indices in ``matrix``.

        They are the ends of the blocks of the isotonic regression of the classes on the scores
        (Fawcett and Niculescu-Mizil 2007).
        """
        weighted_indices = np.flatnonzero(self.table.positive + self.table.negative > 0)
        # Levels ascend, the table descends.
        return np.concatenate([[0], weighted_indices[::-1][self.levels.isotonic_starts][::-1] + 1])

    @property
    def levels(self) -> ProbabilityLevels:
        """Distinct scores in ascending order, for the isotonic regression."""
        return ProbabilityLevels.from_table(self.table)

    @cached_property
    def prevalence(self) -> float:
        """Proportion of positives."""
        positive = float(self.table.total_positive)
        return positive / (positive + float(self.table.total_negative))

    @cached_property
    def effective_sizes(self) -> tuple[float, float]:
        """Effective numbers of positives and of negatives."""
        matrix = self.table.confusion_at(np.inf)
        return float(matrix.effective_size("positive")), float(matrix.effective_size("negative"))

    @property
    def threshold_index(self) -> int | None:
        """Index of the threshold in use in ``matrix``."""
        if self.threshold is None:
            return None
        return int(np.count_nonzero(self.table.scores >= self.threshold))

    def along(
        self, measure: Callable[..., FloatArray], *, start: int = 0, **values: Any
    ) -> FloatArray:
        """Return a measure of the confusion matrix at all thresholds, descending.

        Parameters
        ----------
        measure : callable
            Measure of a :class:`calipers.statistics.ConfusionMatrix`.
        start : int, default=0
            Index of the first threshold: 0 is +∞, at which no row is predicted positive, and 1 the
            highest score.
        **values
            Parameters of the measure.

        Returns
        -------
        array of float
            Value at each threshold.
        """
        with np.errstate(divide="ignore", invalid="ignore"):
            column: FloatArray = np.asarray(measure(self.confusion_matrices, **values), np.float64)
        return column[start:]


def make_score_curve(
    scored: ScoreData, kind: str, labels: tuple[str, str], **curve_fields: Any
) -> Curve:
    """Return a curve of scores, with a mark at the threshold in use.

    Parameters
    ----------
    scored : ScoreData
        Data of the scores.
    kind : str
        Kind of the curve, which is the name of its chart.
    labels : tuple of str
        Labels of the horizontal and the vertical axis.
    **curve_fields
        Other attributes of :class:`calipers.results.Curve`, including ``x`` and ``y``. Without
        ``threshold`` the points are at +∞ and all distinct scores, or at the scores alone. Without
        those of :func:`make_band` the curve has no bands.

    Returns
    -------
    Curve
        The curve.

    See Also
    --------
    calipers.charts.make_band : Return the bands of a curve of scores.
    """
    threshold_index = scored.threshold_index
    if "threshold" not in curve_fields:
        first_threshold = 1 if len(curve_fields["x"]) == len(scored.table.scores) else 0
        curve_fields["threshold"] = scored.table.thresholds[first_threshold:]
        if threshold_index is not None and threshold_index >= first_threshold:
            curve_fields["operating_point"] = tuple(
                float(curve_fields[axis][threshold_index - first_threshold]) for axis in "xy"
            )
    threshold = float("nan") if scored.threshold is None else scored.threshold
    shared = {**empty_band(), "series": scored.series, "threshold_in_use": threshold}
    return Curve(
        system=scored.system,
        kind=kind,
        x_label=labels[0],
        y_label=labels[1],
        level=scored.settings.level,
        **{**shared, **curve_fields},
    )


def make_band(
    scored: ScoreData,
    grid: FloatArray,
    replicates: Callable[[], FloatArray],
    limits: Callable[..., tuple[FloatArray, FloatArray]] | None = None,
) -> dict[str, Any]:
    """Return the bands that the settings request and the data allow.

    Parameters
    ----------
    scored : ScoreData
        Data of the scores.
    grid : array of shape (n_grid,)
        Positions on the horizontal axis at which the bands are computed.
    replicates : callable
        Function without arguments that returns bootstrap replicates of the curve on the grid, shape
        (n_resamples, n_grid); the pointwise band is computed from these.
    limits : callable, optional
        Function that returns the limits of a simultaneous band, called with FPR, TPR, the numbers
        of positives and negatives, the grid and the level. It is used if rows are independent.

    Returns
    -------
    dict
        Attributes of a curve that has these bands; empty if there are none.
    """
    settings = scored.settings
    if settings.interval == "none" or min(scored.effective_sizes) == 0:
        return {}
    omits_pointwise = settings.interval == "analytic"
    if omits_pointwise and (limits is None or not scored.independent):
        return {}
    band: dict[str, Any] = {"band_x": grid, "low": np.full(len(grid), np.nan)}
    band["high"] = band["low"]
    if not omits_pointwise:
        band["low"], band["high"] = pointwise_band(replicates(), settings.level)
        band["method"] = scored.bootstrap
    if scored.independent and limits is not None:
        fpr, tpr = scored.along(false_positive_rate), scored.along(recall)
        band["simultaneous_low"], band["simultaneous_high"] = limits(
            fpr, tpr, scored.effective_sizes, grid, settings.level
        )
        band["simultaneous_method"] = "Kolmogorov bounds of both classes"
    return band


def make_score_data(system: BinaryOutput) -> ScoreData:
    """Return the data of the curves of a binary system."""
    negative, positive = system.labels.names
    clusters = system.clusters
    return ScoreData(
        system.name,
        partial(getattr, system, "score_table"),
        system.settings,
        system.score_rows.bootstrap_inputs(),
        system.threshold,
        probabilities=system.probability is not None,
        names=(negative, positive),
        bootstrap="bootstrap [B]" if clusters is None else clusters.bootstrap_name,
        independent=clusters is None,
    )
