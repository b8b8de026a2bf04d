"""Standard scores in place of values."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from calipers.cli.trec_eval.options import Stop, real
from calipers.statistics import FloatArray

#: In place of a value for which there is no mean.
MISSING = -1000000.0


class ZScores:
    """Means and standard deviations by topic and measure, from a file of ``topic measure mean
    deviation``."""

    def __init__(self, path: str) -> None:
        self.moments: dict[tuple[bytes, bytes], tuple[float, float]] = {}
        try:
            lines = Path(path).read_bytes().removesuffix(b"\n").split(b"\n")
        except OSError as error:
            raise Stop(255, f"{path}: {error.strerror}") from None
        for number, line in enumerate(lines, 1):
            fields = line.split()
            if len(fields) != 4:
                raise Stop(255, f"{path}:{number}: {len(fields)} fields, expected 4")
            mean, deviation = (real(field.decode("latin-1")) for field in fields[2:])
            self.moments.setdefault((fields[0], fields[1]), (mean, deviation))

    def of(self, name: str, topics: Sequence[bytes], values: FloatArray) -> FloatArray:
        """How many deviations above the mean each topic's value is."""
        key = name.encode("utf-8", "surrogateescape")
        moments = np.array([self.moments.get((topic, key), (np.nan, 0.0)) for topic in topics])
        mean, deviation = moments.reshape(-1, 2).T
        exact = np.where(values == mean, 0.0, MISSING)
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.where(deviation == 0, exact, (values - mean) / deviation)
