"""Systems on the same rows, two at a time: what is known of how their differences vary."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np

from calipers.evaluate.losses import slope
from calipers.inference.cells import Cells, ClassCounts, cell_gradient
from calipers.inference.clusters import Clusters
from calipers.inference.contrast import Contrast, Error, Units
from calipers.inference.estimate import FEW_ROWS, Settings, row_means
from calipers.inference.intervals import Interval, missing
from calipers.measures import Measure
from calipers.once import cached_property
from calipers.statistics import ConfusionMatrix, FloatArray, Moments


class PairOf(Protocol):
    """Two systems on the same rows."""

    def contrast(self, measure: Measure) -> Contrast:
        """First minus second."""


@dataclass(frozen=True, eq=False)
class Rows:
    """Several systems on the same rows; ``pair`` makes of two of them what can be compared."""

    by_name: Mapping[str, Any]
    measures: Sequence[Measure]
    settings: Settings
    pair: Callable[[Any, Any, tuple[Measure, ...]], PairOf]

    @property
    def systems(self) -> tuple[str, ...]:
        """Names of the systems."""
        return tuple(self.by_name)

    @property
    def directed(self) -> tuple[Measure, ...]:
        """The measures of which one value can be better than another."""
        return tuple(m for m in self.measures if m.definition.higher_is_better is not None)

    def contrasts(
        self, pairs: Sequence[tuple[str, str]], settings: Settings
    ) -> Iterator[tuple[tuple[str, str], Measure, Contrast]]:
        """The first system of each pair minus the second on every measure that has a direction."""
        under = {name: system.under(settings) for name, system in self.by_name.items()}
        for pair in pairs:
            both = self.pair(under[pair[0]], under[pair[1]], self.directed)
            yield from ((pair, measure, both.contrast(measure)) for measure in self.directed)

    def values_of(self, measure: Measure) -> FloatArray | None:
        """The value of each row and system, shape (rows, systems), where there are such and rows
        are independent and weigh alike."""
        systems = list(self.by_name.values())
        if any(s.clusters is not None or s.weight is not None for s in systems):
            return None
        columns = [s.per_row(measure) for s in systems]
        if any(column is None for column in columns):
            return None
        table = np.column_stack([column for column in columns if column is not None])
        return np.asarray(table[~np.isnan(table).any(axis=1)])


def paired_error(
    se: float, name: str, clusters: Clusters | None, clustered: str | None = None
) -> Error:
    """A standard error of rows: normal, or Student's t where they come in clusters."""
    if clusters is None:
        return Error(se, name)
    return Error(se, clustered or name, clusters.number - 1)


@dataclass(frozen=True, eq=False)
class PairedCounts:
    """Two confusion matrices of the same rows, drawn together.

    The cells of truth × first × second are all there is to the rows, so redrawing the cells is
    redrawing the rows.
    """

    cells: Cells
    alone: tuple[ClassCounts, ClassCounts]
    #: Measures that are bootstrapped in one pass with the first of them.
    measures: tuple[Measure, ...]

    @classmethod
    def of(
        cls,
        codes: Sequence[Any],
        alone: tuple[ClassCounts, ClassCounts],
        measures: Sequence[Measure],
    ) -> PairedCounts:
        """From the truth and both predictions, as positions of classes, and what each system says
        alone."""
        k, own = len(alone[0].matrix.labels), alone[0].cells
        cells = Cells.from_codes(codes, (k, k, k), own.weight, own.clusters)
        counted = tuple(m for m in measures if m.definition.family == "counts")
        return cls(cells, alone, counted)

    @property
    def settings(self) -> Settings:
        """How intervals are made."""
        return self.alone[0].settings

    @property
    def matrices(self) -> tuple[ConfusionMatrix, ConfusionMatrix]:
        """Those of the two systems."""
        first, second = self.alone
        return first.matrix, second.matrix

    def contrast(self, measure: Measure) -> Contrast:
        """First minus second."""
        first, second = (float(measure.apply(matrix)) for matrix in self.matrices)
        plain = self.cells.weight is None and self.cells.clusters is None
        right = measure.definition.name in ("accuracy", "error-rate") and not measure.viewed
        return Contrast(
            value=first - second,
            n=len(self.cells.flat),
            settings=self.settings,
            usual="replicates",
            higher_is_better=measure.definition.higher_is_better,
            error=lambda: self._error(measure, first - second),
            replicates=lambda: self._drawn[measure],
            stratified=(lambda: self._by_class(measure)) if plain else None,
            moved=(lambda: self._moved(measure)) if plain else None,
            discordant=(lambda: self._discordant(measure)) if right and plain else None,
            clusters=self.cells.clusters,
        )

    def _error(self, measure: Measure, value: float) -> Error | Interval:
        """By the delta method."""
        if not np.isfinite(value):
            return missing("none", "undefined_value")
        se = self.cells.error(self._moved(measure)[0])
        return paired_error(se, "delta, paired", self.cells.clusters)

    def _moved(self, measure: Measure) -> tuple[FloatArray, FloatArray]:
        """How much a row of each cell moves the difference, and the rows of each."""
        truth, first, second = np.unravel_index(self.cells.place, self.cells.shape)
        ours, theirs = (
            cell_gradient(measure, matrix, truth, predicted)
            for matrix, predicted in zip(self.matrices, (first, second), strict=True)
        )
        return ours - theirs, self.cells.counts

    @cached_property
    def _drawn(self) -> dict[Measure, FloatArray]:
        """Bootstrap replicates of the differences of all measures."""
        if self._drawn_alike:
            first, second = (counts.replicates(self.measures) for counts in self.alone)
            return {measure: first[measure] - second[measure] for measure in self.measures}
        return self._differences(self.cells.drawn(self.settings), self.measures)

    @property
    def _drawn_alike(self) -> bool:
        """Whether each system alone is drawn by the same rows (or clusters) as both together, so
        that its replicates are already those of the pair."""
        return all(cells.by_row for cells in (self.cells, *(of.cells for of in self.alone))) and (
            self.cells.weight is None or not self.cells.dense
        )

    def _by_class(self, measure: Measure) -> FloatArray:
        """The same of one measure, drawn class by class."""
        drawn = self.cells.drawn_by_class(self.settings)
        assert drawn is not None
        return self._differences(drawn, [measure])[measure]

    def _differences(
        self, replicates: Iterable[FloatArray], measures: Sequence[Measure]
    ) -> dict[Measure, FloatArray]:
        parts: dict[Measure, list[FloatArray]] = {m: [] for m in measures}
        names = self.matrices[0].labels
        for drawn in replicates:
            first, second = (self.cells.redrawn(drawn, names, axes) for axes in ((0, 1), (0, 2)))
            for measure, part in parts.items():
                part.append(measure.apply(first) - measure.apply(second))
        return {measure: np.concatenate(part) for measure, part in parts.items()}

    def _discordant(self, measure: Measure) -> tuple[float, float]:
        """How many rows only one of the two gets right: the first for accuracy, the second for the
        error rate, and the other way round."""
        truth, first, second = np.unravel_index(self.cells.place, self.cells.shape)
        counts = self.cells.counts
        only_first = float(counts[(first == truth) & (second != truth)].sum())
        only_second = float(counts[(first != truth) & (second == truth)].sum())
        if measure.definition.higher_is_better:
            return only_first, only_second
        return only_second, only_first


def loss_contrast(
    measure: Measure,
    losses: tuple[FloatArray, FloatArray],
    weight: FloatArray | None,
    settings: Settings,
    clusters: Clusters | None = None,
) -> Contrast:
    """First minus second of a measure of the mean of a loss per row.

    The test is a paired t test of the losses. The interval is normal for a mean of losses; for a
    function of it (RMSE) by the delta method; below 100 rows, or where rows come in clusters, the
    paired bootstrap.
    """
    moments = [Moments.from_rows(loss, weight) for loss in losses]
    values = [float(measure.apply(m)) for m in moments]
    few = clusters is not None or moments[0].effective_size < FEW_ROWS
    with np.errstate(invalid="ignore"):  # two infinite losses have no difference
        units = Units(losses[0] - losses[1], weight, clusters)
    of_mean = measure.definition.interval not in ("root_mean", "exponential", "total")

    def error() -> Error | Interval:
        if of_mean:
            name = "normal, paired" if clusters is None else "clustered, paired"
            return paired_error(units.error.se, name, clusters)
        rates = [slope(measure, *pair) for pair in zip(values, moments, strict=True)]
        if not np.isfinite(rates).all():
            return missing("delta", "no_spread")
        moved = Units(rates[0] * losses[0] - rates[1] * losses[1], weight, clusters)
        name = "delta, paired" if clusters is None else "delta, clustered, paired"
        return paired_error(moved.error.se, name, clusters)

    def replicates() -> FloatArray:
        drawn = row_means(np.column_stack(losses), weight, settings, clusters)
        first, second = (
            measure.apply(replace(moments[j], mean=drawn[:, j]))  # type: ignore[arg-type]
            for j in (0, 1)
        )
        return first - second

    return Contrast(
        value=values[0] - values[1],
        n=len(losses[0]),
        settings=settings,
        usual="replicates" if few else "error",
        higher_is_better=measure.definition.higher_is_better,
        units=units,
        units_make_value=of_mean,
        error=error,
        replicates=replicates,
        clusters=clusters,
    )
