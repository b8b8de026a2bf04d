"""What residuals look like: normal quantiles, histograms, and means given a number."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from calipers.curves.drawn import of_system
from calipers.curves.planned import Planned, PlannedCurves
from calipers.inference import intervals
from calipers.once import cached_property
from calipers.results import Curve
from calipers.statistics import Moments

if TYPE_CHECKING:
    import numpy.typing as npt

    from calipers.statistics import FloatArray
    from calipers.systems.numbers import Predictions

#: Bins of the same number of rows, of which means are drawn.
BINS = 20
#: A bin has so many rows at least.
LEAST = 10
#: Bars of a histogram.
BARS = 40
#: So many quantiles are drawn.
MOST_QUANTILES = 400
#: Data sets from which the band of normal quantiles comes, and the rows of each at most.
SETS, MOST_ROWS = 1_000, 2_000

#: What is drawn against what: the kind of curve, x and y, and the line of what is perfect.
CONDITIONAL: Mapping[str, tuple[str, str]] = {
    "prediction given truth": ("Truth", "Mean prediction"),
    "truth given prediction": ("Prediction", "Mean truth"),
    "residual given prediction": ("Prediction", "Mean residual"),
    "residual given truth": ("Truth", "Mean residual"),
}


@dataclass(frozen=True, eq=False)
class ResidualCurves(PlannedCurves):
    """The curves of systems that predict numbers, each computed when it is first looked at; by what
    outputs are called, ``""`` where there is one."""

    systems: Mapping[str, Sequence[Predictions]]

    @cached_property
    def plan(self) -> list[Planned]:
        """The curves that there are."""
        return [
            replace(one, make=partial(_of_output, one.make, output), output=output)
            for output, systems in self.systems.items()
            for one in _planned(systems)
        ]


def _of_output(make: Callable[[], Curve], output: str) -> Curve:
    return replace(make(), output=output)


def _planned(systems: Sequence[Predictions]) -> list[Planned]:
    """The curves of one output."""
    made = [Planned(partial(normal_quantiles, s), "normal quantiles", s.name) for s in systems]
    for place, s in enumerate(systems):
        made.append(Planned(partial(_residuals, systems, place), "residuals", s.name))
    named = [*(s.name or "prediction" for s in systems), "truth"]
    for place, name in enumerate(named):
        s = systems[place % len(systems)]
        made.append(Planned(partial(_values, systems, place, name), "values", s.name, name))
    for kind in CONDITIONAL:
        made += [Planned(partial(conditional, s, kind), kind, s.name) for s in systems]
    return made


def _weights(system: Predictions) -> FloatArray:
    return np.ones(len(system.truth)) if system.weight is None else system.weight


# --- Normal quantiles -----------------------------------------------------------------------------


def normal_quantiles(system: Predictions) -> Curve:
    """Residuals over their standard deviation, by size, against the quantiles of the unit normal
    distribution at (i − ½)/n. Their mean stays in them, so that a bias moves the whole curve up or
    down.

    The band holds all of them at once for normal residuals around 0, as the χ² interval of the RMSE
    supposes them: limits at each place at one local level, by the Beta distribution of the i-th of
    n, with the level set by such samples over their own standard deviations. There is none of
    weighted or clustered rows. Source: Aldor-Noiman, Brown, Buja, Rolke and Stine 2013.
    """
    from scipy.special import ndtri

    w, residual = _weights(system), system.predicted - system.truth
    residual, w = residual[w > 0], w[w > 0]
    labels = "Normal quantile", "Residual in standard deviations"
    moments = Moments.from_rows(residual, w)
    if len(w) < 3 or not moments.m2 > 0:
        none = np.zeros(0)
        return of_system(system, "normal quantiles", *labels, x=none, y=none)
    order = np.argsort(residual)
    z = residual[order] / np.sqrt(moments.m2 / moments.weight)
    place = (np.cumsum(w[order]) - w[order] / 2) / moments.weight
    shown = np.unique(np.linspace(0, len(z) - 1, min(len(z), MOST_QUANTILES)).round().astype(int))
    # The tails are what is looked at.
    ends = np.arange(min(10, len(z)))
    shown = np.unique(np.concatenate([shown, ends, len(z) - 1 - ends]))
    x = ndtri(place[shown])
    band: dict[str, Any] = {}
    if system.weight is None and system.clusters is None and system.settings.interval != "none":
        low, high = _normal_band(len(z), shown + 1, system.settings.level, system.settings.seed)
        none = np.full(len(x), np.nan)
        band = {"band_x": x, "wide_low": low, "wide_high": high, "low": none, "high": none}
        band["wide_method"] = "equal local levels"
    references = {"normal": [[float(x[0]), float(x[0])], [float(x[-1]), float(x[-1])]]}
    return of_system(
        system, "normal quantiles", *labels, x=x, y=z[shown], references=references, **band
    )


def _normal_band(n: int, places: Any, level: float, seed: int) -> tuple[FloatArray, FloatArray]:
    """Limits of the i-th smallest of n normal numbers with mean 0 over their standard deviation,
    for all these i at once."""
    from scipy.special import betainc, betaincinv, ndtr, ndtri

    # The local level hardly depends on n where n is large.
    rows = min(n, MOST_ROWS)
    at = np.arange(1, rows + 1)
    random = np.random.Generator(np.random.Philox(seed))
    least = np.empty(SETS)
    for k in range(SETS):
        sample = np.sort(random.normal(size=rows))
        p = betainc(at, rows - at + 1, ndtr(sample / sample.std()))
        least[k] = min(p.min(), (1 - p).min())
    local = float(np.quantile(least, 1 - level))
    rest = n - places + 1
    low, high = (ndtri(betaincinv(places, rest, share)) for share in (local, 1 - local))
    return np.asarray(low, np.float64), np.asarray(high, np.float64)


# --- Histograms -----------------------------------------------------------------------------------


def _residuals(systems: Sequence[Predictions], place: int) -> Curve:
    """Those of one system, in the bars of all."""
    columns = [s.predicted - s.truth for s in systems]
    return _histogram(systems[place], columns, place, ("residuals", "Residual"))


def _values(systems: Sequence[Predictions], place: int, series: str) -> Curve:
    """What one system predicts, or behind the last of them the truth, in the bars of all."""
    columns = [*(s.predicted for s in systems), systems[0].truth]
    system = systems[place % len(systems)]  # the truth is drawn with the first
    return _histogram(system, columns, place, ("values", "Value"), series=series)


def _histogram(
    system: Predictions,
    columns: Sequence[FloatArray],
    place: int,
    names: tuple[str, str],
    **parts: str,
) -> Curve:
    """Shares of rows in bars of equal width, the same for all columns."""
    low, high = min(float(c.min()) for c in columns), max(float(c.max()) for c in columns)
    edges = np.linspace(low, high if high > low else low + 1, BARS + 1)
    share = np.histogram(columns[place], edges, weights=_weights(system))[0]
    y = np.append(share / share.sum(), 0.0)
    bars: dict[str, Any] = {"x": edges, "y": y, "shape": "bars", **parts}
    return of_system(system, *names, "Share of rows", **bars)


# --- Means given a number -------------------------------------------------------------------------


def conditional(system: Predictions, kind: str) -> Curve:
    """The mean of a number in bins of another of equally many rows, with Student's limits; of
    rows in clusters by these."""
    of, _, given = kind.partition(" given ")
    labels, residual = CONDITIONAL[kind], system.predicted - system.truth
    numbers = {"truth": system.truth, "prediction": system.predicted, "residual": residual}
    x, y = numbers[given], numbers[of]
    w = _weights(system)
    made = [_bin(system, x, y, w, rows) for rows in bins(x, w, BINS)]
    middle, mean, low, high = np.array(made).T
    ends = float(middle[0]), float(middle[-1])
    perfect = (0.0, 0.0) if of == "residual" else ends
    references = {"no error": [[ends[0], perfect[0]], [ends[1], perfect[1]]]}
    band = {"band_x": middle, "low": low, "high": high, "method": "Student t of each bin"}
    band = band if system.settings.interval != "none" else {}
    return of_system(system, kind, *labels, x=middle, y=mean, references=references, **band)


def bins(x: FloatArray, w: FloatArray, most: int) -> list[npt.NDArray[np.intp]]:
    """The rows of each bin of equal weight by a number, of :data:`LEAST` rows or more, in order;
    rows of one number stay together, in the bin of the first."""
    used = np.flatnonzero(w > 0)
    order = used[np.argsort(x[used], kind="stable")]
    share = np.cumsum(w[order]) / w[order].sum()
    number = max(1, min(most, len(order) // LEAST))
    code = np.minimum((share * number - 1e-9).astype(int), number - 1)
    first = np.concatenate([[True], np.diff(x[order]) > 0])
    code = code[np.maximum.accumulate(np.where(first, np.arange(len(order)), 0))]
    return [order[code == k] for k in np.unique(code)]


def _bin(
    system: Predictions, x: FloatArray, y: FloatArray, w: FloatArray, rows: Any
) -> tuple[float, float, float, float]:
    """The mean of x and of y there, and the limits of the latter."""
    moments = Moments.from_rows(y[rows], w[rows])
    level, n, se = system.settings.level, moments.effective_size, moments.standard_error
    if system.clusters is not None:
        own = system.clusters.taken(rows)
        n, se = own.worth, own.mean_error(y[rows]).se
    made = intervals.student(moments.mean, se, n, level)
    return float(np.average(x[rows], weights=w[rows])), moments.mean, made.low, made.high
