"""Replicates of the rest of each part of the rows, all parts drawn in one go.

Drawing the rest of every part by itself goes over nearly all rows once a part. Here each row is
drawn once a replicate, as often as a Poisson number says; the margins of the rest of a part are the
sums of those of all other parts. That is for many classes, where rows are drawn rather than cells.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt

from calipers.inference.multinomial_cells import NEAR, Cells, margins
from calipers.inference.settings import Settings
from calipers.statistics import ConfusionMatrix, FloatArray, OccupiedMatrix, all_but_one
from calipers.statistics.sparse_confusion import RedrawnMatrix

#: So many numbers the margins of all parts may have at a time.
_AT_ONCE = 4_000_000


@dataclass(frozen=True, eq=False)
class Others:
    """The rows of a confusion matrix by the cell that each falls into, cut into ``parts``:
    ``part`` says into which each row falls."""

    cells: Cells
    labels: tuple[str, ...]
    part: npt.NDArray[np.integer[Any]]
    parts: int
    settings: Settings

    def replicates(
        self, measures: Sequence[Any], which: Sequence[int]
    ) -> dict[tuple[Any, int], FloatArray]:
        """Bootstrap replicates of each measure of the rest of each of some parts."""
        found: dict[tuple[Any, int], list[FloatArray]] = {
            (measure, part): [] for part in which for measure in measures
        }
        for times in self.drawn():
            matrices = self.matrices(times)
            for (measure, part), values in found.items():
                values.append(measure.apply(matrices[part]))
        return {asked: np.concatenate(values) for asked, values in found.items()}

    def drawn(self) -> Iterator[FloatArray]:
        """What each row weighs in the replicates, some (b, rows) at a time."""
        k = len(self.labels)
        near = NEAR // max(len(self.part), 4 * k)
        step = max(1, min(near, _AT_ONCE // (self.parts * k)))
        for begin in range(0, self.settings.resamples, step):
            end = min(begin + step, self.settings.resamples)
            yield np.stack([self.cells.times(self.settings, at) for at in range(begin, end)])

    def matrices(self, times: FloatArray) -> list[RedrawnMatrix]:
        """The matrices of the rest of each part, of rows that weigh so much."""
        k = len(self.labels)
        truth, predicted = np.divmod(self.cells.flat, k)
        places = self.part * np.int64(k)
        sums = margins(times, places + truth, places + predicted, self.parts * k)
        apart = [np.moveaxis(of.reshape(len(times), self.parts, k), 1, 0) for of in sums]
        rest = zip(*(all_but_one(list(of)) for of in apart), strict=True)
        filled = cache(lambda: self.matrices((times > 0).astype(np.float64)))
        return [self._rest(which, of, times, filled) for which, of in enumerate(rest)]

    def _rest(
        self,
        which: int,
        sums: tuple[FloatArray, FloatArray, FloatArray],
        times: FloatArray,
        filled: Callable[[], list[RedrawnMatrix]],
    ) -> RedrawnMatrix:
        def whole() -> ConfusionMatrix:
            rows = self.part != which
            place, inverse = np.unique(self.cells.flat[rows], return_inverse=True)
            sums = [np.bincount(inverse, some, len(place)) for some in times[:, rows]]
            held = np.stack(sums).astype(np.float64)
            return OccupiedMatrix(held, held, place, self.labels)

        made = RedrawnMatrix(sums, self.labels, whole, lambda: filled()[which])
        return made.as_whole() if self.cells.weight is None else made
