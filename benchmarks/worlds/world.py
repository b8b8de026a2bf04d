"""What a world and a trial are, and what several kinds of them share."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.stats import qmc

import calipers as cal
from calipers.statistics import ConfusionMatrix

Floats = npt.NDArray[np.float64]
Random = np.random.Generator
#: Takes `interval`, `n_resamples` and `seed`.
Evaluate = Callable[..., Any]
Draw = Callable[[Random], Evaluate]

UNIFORM_GRID: Floats = (np.arange(400_000) + 0.5) / 400_000


def even_grid(dimensions: int, bits: int = 17) -> Floats:
    """Points that fill the unit cube far more evenly than random ones (Sobol's)."""
    points = qmc.Sobol(dimensions, scramble=False).random_base2(bits)
    return np.asarray(points.T + 0.5 / 2**bits)


@dataclass(frozen=True)
class World:
    """Where data come from.

    `found` gives the true value of each measure, or of the difference of two systems, and `draw`
    makes data of which the rest can be asked. `large`: the stated band is to be kept, as there are at
    least 100 rows with 20 of each class, or 25 topics. `ways` are intervals to be tried besides the
    default, `tests` those of no difference. `ranges` are those of measures that reach less far here
    than anywhere. `measures` are evaluated, where what is drawn does not ask for them by name. As it is
    dear, a world gets one data set where others get `dear`.
    """

    kind: str
    design: str
    size: str
    found: Callable[[], Mapping[str, float]]
    draw: Draw
    large: bool
    ways: tuple[str, ...] = ()
    tests: tuple[str, ...] = ()
    ranges: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    measures: tuple[str, ...] = ()
    dear: int = 1

    @property
    def name(self) -> str:
        """What results and random numbers are filed under."""
        return f"{self.kind}: {self.design}, {self.size}"

    @cached_property
    def truth(self) -> Mapping[str, float]:
        """The true values, which may take a while."""
        return self.found()


@dataclass(frozen=True)
class Trial:
    """Where nothing differs, and the p-values of the tests of it; 5% should lie below 0.05.

    `known_bad` names the tests that are known to be above that, and are here to show it, `power` those
    that ask for what is there. As it is dear, a trial gets one data set where others get `dear`.
    """

    kind: str
    design: str
    size: str
    draw: Callable[[Random, int], dict[str, float]]
    large: bool
    known_bad: tuple[str, ...] = ()
    power: tuple[str, ...] = ()
    dear: int = 1

    @property
    def name(self) -> str:
        """What results and random numbers are filed under."""
        return f"{self.kind}: {self.design}, {self.size}"


CLASSIFICATION: Callable[..., Evaluate] = partial(partial, cal.classification, curves=False)


SHARES = ("wilson", "clopper-pearson", "jeffreys", "agresti-coull")
COUNTS = (*SHARES, "delta", "percentile", "bca", "studentized")


def at_infinity(cells: Floats, measures: Sequence[str]) -> dict[str, float]:
    """Measures of the probabilities of the cells, truth × prediction."""
    matrix = ConfusionMatrix(cells, cells, tuple(map(str, range(len(cells)))))
    return {name: float(cal.measure(name, family="counts").apply(matrix)) for name in measures}
