"""Order of the rows in time."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from calipers.lazy_dataclasses import dataclass

if TYPE_CHECKING:
    import numpy.typing as npt

    from calipers.statistics import FloatArray


@dataclass(frozen=True, eq=False)
class TimeOrder:
    """Time of each row.

    ``time_index`` is a number from 0 to ``n_times`` − 1 in the order of time; it is unchanged in a
    subset of the rows.
    """

    time_index: npt.NDArray[np.intp]
    n_times: int

    def take_rows(self, rows: npt.NDArray[np.bool_ | np.intp]) -> TimeOrder:
        """Return the order of a subset of the rows."""
        return replace(self, time_index=self.time_index[rows])

    def sum_by_time(self, influence: FloatArray) -> FloatArray:
        """Return sums of a value per row by time, for the times that have rows."""
        sums = np.bincount(self.time_index, influence, self.n_times)
        return np.asarray(sums[np.bincount(self.time_index, minlength=self.n_times) > 0])
