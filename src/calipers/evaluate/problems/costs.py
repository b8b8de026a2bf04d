"""What systems cost, of rows that come in batches."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from calipers.data.costs import as_costs, called
from calipers.evaluate.sample import Problem
from calipers.systems.base import NAN
from calipers.systems.costs import CostSystem

if TYPE_CHECKING:
    from calipers.evaluate.batch import Batch
    from calipers.evaluate.stream_columns import Columns
    from calipers.inference.settings import Settings
    from calipers.statistics import FloatArray


@dataclass(frozen=True, eq=False)
class SystemCosts(Problem):
    """What each of some ``systems_of`` costs: a column of each of the ``costs``, and ``numbers`` of
    its own."""

    systems_of: Sequence[str]
    costs: tuple[str, ...]
    numbers: Mapping[str, Mapping[str, float]]

    task = "costs"
    kind: ClassVar[str] = "costs"

    def systems(self, batch: Batch, settings: Settings) -> dict[str, CostSystem]:
        """The systems on some rows."""
        counted, rows = batch.frequencies, batch.frequencies.rows

        def spent(cost: str, name: str) -> FloatArray:
            of = batch[cost]  # of a system without a name the column itself
            column = as_costs(of[name] if isinstance(of, Mapping) else of, called(cost, name), rows)
            return np.asarray(counted(column), np.float64)

        made = batch.weights, settings, batch.clusters
        columns = {n: [spent(cost, n) for cost in self.costs] for n in self.systems_of}
        return {name: self._system(name, of, made) for name, of in columns.items()}

    def _system(self, name: str, columns: Sequence[FloatArray], rows: Any) -> CostSystem:
        numbers = {cost: by[name] for cost, by in self.numbers.items()}
        return CostSystem(name, self.costs, np.column_stack(columns), numbers, *rows)

    # --- Streams ---------------------------------------------------------------------------------

    def template(
        self, columns: Columns, settings: Settings, sizes: FloatArray | None = None
    ) -> dict[str, CostSystem]:
        """Systems on two rows that cost nothing."""
        none = [np.zeros(2) for _ in self.costs]
        return {name: self._system(name, none, (None, settings, None)) for name in self.systems_of}

    def constant(self, sample: Any, system: str, measure: Any) -> float:
        """None: a cost is not predicted."""
        return NAN
