"""The order of rows in time."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    import numpy.typing as npt

    from calipers.statistics import FloatArray


@dataclass(frozen=True, eq=False)
class TimeOrder:
    """The time of each row, as a number from 0 to ``size`` − 1 in the order of time. It stays as it
    is in a part of the rows."""

    code: npt.NDArray[np.intp]
    size: int

    def take_rows(self, rows: npt.NDArray[np.bool_ | np.intp]) -> TimeOrder:
        """Of some of the rows."""
        return replace(self, code=self.code[rows])

    def series(self, influence: FloatArray) -> FloatArray:
        """Sums of a value per row by time, of the times at which there are rows."""
        sums = np.bincount(self.code, influence, self.size)
        return np.asarray(sums[np.bincount(self.code, minlength=self.size) > 0])
