"""Standard scores in place of values."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from calipers.cli.trec_eval.reading import Stop, real
from calipers.data.errors import InputError
from calipers.data.sources import STDIN
from calipers.data.trec import read_zscores
from calipers.statistics import FloatArray

#: In place of a value for which there is no mean.
MISSING = -1000000.0


class ZScores:
    """Means and standard deviations by topic and measure, from a file of ``topic measure mean
    deviation``."""

    def __init__(self, path: str) -> None:
        self.moments: dict[tuple[bytes, bytes], tuple[float, float]] = {}
        # "-" is the name of a file here.
        path = f"./{path}" if path == STDIN else path
        try:
            rows = read_zscores(path)
        except InputError as error:
            raise Stop(255, str(error)) from None
        for topic, measure, *numbers in rows:
            mean, deviation = (real(number.decode("latin-1")) for number in numbers)
            self.moments.setdefault((topic, measure), (mean, deviation))

    def of(self, name: str, topics: Sequence[bytes], values: FloatArray) -> FloatArray:
        """How many deviations above the mean each topic's value is."""
        key = name.encode("utf-8", "surrogateescape")
        moments = np.array([self.moments.get((topic, key), (np.nan, 0.0)) for topic in topics])
        mean, deviation = moments.reshape(-1, 2).T
        exact = np.where(values == mean, 0.0, MISSING)
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.where(deviation == 0, exact, (values - mean) / deviation)
