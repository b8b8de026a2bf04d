"""Curves of a score table: what every threshold gives, for drawing and as numbers.

Every point is a measure of counts, applied to the confusion matrices of all thresholds at once.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import NormalDist
from typing import Any, overload

import numpy as np
import numpy.typing as npt

from calipers.data.errors import InputError, did_you_mean
from calipers.evaluate.arguments import verb
from calipers.evaluate.calibration import (
    binned_calibration_curve,
    calibration_curve,
    probability_histogram,
)
from calipers.evaluate.thinning import thinned
from calipers.inference.bands import Counted, pointwise, precision_limits, roc_limits
from calipers.inference.scores import RankedRows, ranked_rows
from calipers.inference.settings import Settings
from calipers.measures import parse
from calipers.measures.counts import (
    false_negative_rate,
    false_positive_rate,
    lift,
    net_benefit,
    precision,
    recall,
    volume,
)
from calipers.once import cached_property
from calipers.results import Curve, Evaluation
from calipers.statistics import ConfusionMatrix, FloatArray, ScoreTable
from calipers.statistics.calibration import Levels

#: Where bands are computed.
GRID = np.linspace(0.0, 1.0, 101)

#: Where bands over FPR are: as near to each other in normal deviates too, as far as DET curves go.
_FPR_GRID = np.union1d(GRID, [NormalDist().cdf(z / 20) for z in range(-62, 63)])

#: The threshold probabilities of a net benefit curve, beside the scores.
_ODDS_GRID = np.arange(100) / 100

#: Replicates are read at so many thresholds with equal weight between them, and at the highest.
_SPREAD, _HIGHEST = 250, 30

#: Blocks of rows end at so many equal steps of TPR and of FPR too, and at ever smaller ones at both
#: ends of either.
_RATES = np.concatenate(
    [ends := np.geomspace(1e-7, 0.05, 76), np.linspace(0, 1, _SPREAD // 2), 1 - ends]
)

#: Of more rows blocks are drawn, of fewer each row.
_MOST_DRAWN = 5_000

#: The measures of counts that are drawn against the threshold; any other can be asked for.
OF_THRESHOLD = ("accuracy", "precision", "recall", "F1", "MCC", "volume")

#: The most bars of a histogram.
_MOST_BARS = 40

_KOLMOGOROV = "Kolmogorov bounds of both classes"


def series_of(name: str) -> str:
    """What a class or a label is called among the curves; a curve without a series is of none."""
    return name or "''"


@dataclass(frozen=True, eq=False)
class Scored:
    """What the curves of one system need, or of one class of it against the rest.

    ``rows`` are what :func:`bands` takes, None where the table is enough; ``threshold`` is the one
    in use, ``probabilities`` whether the scores are probabilities of the positive class, ``names``
    the negative and the positive class, ``series`` the class that is set against the rest and
    ``share`` how frequent it is. ``bootstrap`` names the method; ``independent`` is whether the
    rows are.
    """

    system: str
    read: Callable[[], ScoreTable]
    settings: Settings
    rows: Any = None
    threshold: float | None = None
    probabilities: bool = False
    names: tuple[str, str] = ("negative", "positive")
    series: str = ""
    share: float = float("nan")
    bootstrap: str = "bootstrap [B]"
    independent: bool = True

    @cached_property
    def table(self) -> ScoreTable:
        """The table of distinct scores."""
        return self.read()

    @cached_property
    def matrix(self) -> ConfusionMatrix:
        """The confusion matrices at +∞ and at every distinct score, descending."""
        return self.table.confusion()

    @cached_property
    def ranked(self) -> RankedRows:
        """The rows that the bootstrap draws."""
        return ranked_rows(self.table, self.rows)

    @property
    def _by_block(self) -> bool:
        """Whether the bootstrap draws blocks of rows rather than each row."""
        return self.independent and self.table.rows > _MOST_DRAWN

    @cached_property
    def replicates(self) -> tuple[FloatArray, FloatArray]:
        """Bootstrap replicates: TPR over the grid of FPR, and precision over that of recall."""
        from calipers import _core

        if self._by_block:
            return self.counted.tpr(_FPR_GRID), self.counted.precision(GRID)
        settings = self.settings
        _, tpr, at_recall = _core.bootstrap_scores(
            *self.ranked, settings.seed, settings.resamples, _FPR_GRID, GRID
        )
        assert tpr is not None
        assert at_recall is not None
        return tpr, at_recall

    @cached_property
    def counted(self) -> Counted:
        """Bootstrap replicates of the counts at the thresholds that curves have bands of."""
        table = self.table
        weight = np.cumsum(table.positive + table.negative)
        spread = np.searchsorted(weight, np.linspace(0, weight[-1], _SPREAD)) + 1
        parts = [np.arange(_HIGHEST), spread, self.hull]
        if self.probabilities:
            parts.append(self.places(_ODDS_GRID))
        if self._by_block:
            running = (np.cumsum(column) for column in (table.positive, table.negative))
            parts += [np.searchsorted(column, _RATES * column[-1]) + 1 for column in running]
        places = np.unique(np.concatenate(parts).clip(0, len(weight)))
        if self._by_block:
            return Counted.drawn_by_block(table, places, self.settings)
        return Counted.drawn(self.ranked, places, self.settings)

    def places(self, thresholds: FloatArray) -> npt.NDArray[np.intp]:
        """The places in ``matrix`` of thresholds: how many scores are at or above each."""
        scores = self.table.scores
        return np.asarray(len(scores) - np.searchsorted(scores[::-1], thresholds, side="left"))

    @cached_property
    def hull(self) -> npt.NDArray[np.intp]:
        """The places in ``matrix`` of the corners of the upper convex hull of the ROC curve.

        They are where the blocks end of the isotonic regression of the classes on the scores
        (Fawcett and Niculescu-Mizil 2007).
        """
        weighty = np.flatnonzero(self.table.positive + self.table.negative > 0)
        # Levels ascend, the table descends.
        return np.concatenate([[0], weighty[::-1][self.levels.isotonic][::-1] + 1])

    @property
    def levels(self) -> Levels:
        """The distinct scores, ascending, for the isotonic regression."""
        return Levels.of(self.table)

    @cached_property
    def prevalence(self) -> float:
        """The share of positives."""
        positive = float(self.table.total_positive)
        return positive / (positive + float(self.table.total_negative))

    @cached_property
    def sizes(self) -> tuple[float, float]:
        """The effective numbers of positives and of negatives."""
        whole = self.table.at(np.inf)
        return float(whole.effective_size("positive")), float(whole.effective_size("negative"))

    @property
    def in_use(self) -> int | None:
        """The place in ``matrix`` of the threshold in use."""
        if self.threshold is None:
            return None
        return int(np.count_nonzero(self.table.scores >= self.threshold))

    def along(
        self, measure: Callable[..., FloatArray], *, start: int = 0, **values: Any
    ) -> FloatArray:
        """A measure of counts at every threshold, from the one at place ``start`` on."""
        with np.errstate(divide="ignore", invalid="ignore"):
            column: FloatArray = np.asarray(measure(self.matrix, **values), np.float64)
        return column[start:]


def _curve(scored: Scored, kind: str, labels: tuple[str, str], **parts: Any) -> Curve:
    """A curve without bands, marked where the threshold in use is."""
    in_use = scored.in_use
    if "threshold" not in parts:
        first = 1 if len(parts["x"]) == len(scored.table.scores) else 0
        parts["threshold"] = scored.table.thresholds[first:]
        if in_use is not None and in_use >= first:
            parts["mark"] = tuple(float(parts[axis][in_use - first]) for axis in "xy")
    nothing = np.zeros(0)
    band = {"band_x": nothing, "low": nothing, "high": nothing, "method": "none"}
    return Curve(
        system=scored.system,
        kind=kind,
        x_label=labels[0],
        y_label=labels[1],
        level=scored.settings.level,
        series=parts.pop("series", scored.series),
        cut=float("nan") if scored.threshold is None else scored.threshold,
        **{**band, **parts},
    )


def _band(
    scored: Scored,
    grid: FloatArray,
    drawn: Callable[[], FloatArray],
    limits: Callable[..., tuple[FloatArray, FloatArray]] | None = None,
) -> dict[str, Any]:
    """The bands that the settings ask for and the data allow: a pointwise one of the replicates
    over ``grid``, and one for the whole curve by ``limits``."""
    settings = scored.settings
    if settings.interval == "none" or min(scored.sizes) == 0:
        return {}
    pointless = settings.interval == "analytic"
    if pointless and (limits is None or not scored.independent):
        return {}
    band: dict[str, Any] = {"band_x": grid, "low": np.full(len(grid), np.nan)}
    band["high"] = band["low"]
    if not pointless:
        band["low"], band["high"] = pointwise(drawn(), settings.level)
        band["method"] = scored.bootstrap
    if scored.independent and limits is not None:
        fpr, tpr = scored.along(false_positive_rate), scored.along(recall)
        band["wide_low"], band["wide_high"] = limits(fpr, tpr, scored.sizes, grid, settings.level)
        band["wide_method"] = _KOLMOGOROV
    return band


def roc_curve(scored: Scored) -> Curve:
    """TPR against FPR, from (0, 0) to (1, 1)."""
    return _curve(
        scored,
        "ROC",
        ("False positive rate", "True positive rate"),
        x=scored.along(false_positive_rate),
        y=scored.along(recall),
        chance=((0.0, 0.0), (1.0, 1.0)),
        **_band(scored, _FPR_GRID, lambda: scored.replicates[0], roc_limits),
    )


def precision_recall_curve(scored: Scored) -> Curve:
    """Precision against recall; it begins where something is predicted positive."""
    return _curve(
        scored,
        "PR",
        ("Recall", "Precision"),
        x=scored.along(recall, start=1),
        y=scored.along(precision, start=1),
        chance=((0.0, scored.prevalence), (1.0, scored.prevalence)),
        **_band(scored, GRID, lambda: scored.replicates[1], precision_limits),
    )


def det_curve(scored: Scored) -> Curve:
    """FNR against FPR, to be drawn in normal deviates (Martin and others 1997).

    Its bands are those of the ROC curve, turned over.
    """
    band = _band(scored, _FPR_GRID, lambda: scored.replicates[0], roc_limits)
    for low, high in (("low", "high"), ("wide_low", "wide_high")):
        if low in band:
            band[low], band[high] = 1 - band[high], 1 - band[low]
    return _curve(
        scored,
        "DET",
        ("False positive rate", "False negative rate"),
        x=scored.along(false_positive_rate),
        y=scored.along(false_negative_rate),
        scale="deviate",
        chance=((0.0, 1.0), (1.0, 0.0)),
        **band,
    )


def lift_curve(scored: Scored) -> Curve:
    """Lift against the share predicted positive; it begins where something is."""
    shares = scored.along(volume, start=1)
    grid = GRID[(GRID > 0) & (shares[0] <= GRID)]
    return _curve(
        scored,
        "lift",
        ("Share predicted positive", "Lift"),
        x=shares,
        y=scored.along(lift, start=1),
        chance=((0.0, 1.0), (1.0, 1.0)),
        **_band(scored, grid, lambda: scored.counted.gain(grid) / grid),
    )


def gain_curve(scored: Scored) -> Curve:
    """Cumulative gain: recall against the share predicted positive."""
    return _curve(
        scored,
        "gain",
        ("Share predicted positive", "Recall"),
        x=scored.along(volume),
        y=scored.along(recall),
        chance=((0.0, 0.0), (1.0, 1.0)),
        references={"perfect order": ((0.0, 0.0), (scored.prevalence, 1.0), (1.0, 1.0))},
        **_band(scored, GRID, lambda: scored.counted.gain(GRID)),
    )


def cost_curve(scored: Scored) -> Curve:
    """The lowest expected cost that a threshold reaches, whatever the costs and the prevalence.

    At the probability cost p, the share of the cost that positives would cause if all were wrong,
    the normalised expected cost of a threshold is FNR · p + FPR · (1 − p): a straight line
    (Drummond and Holte 2006). The curve is the lower envelope of all these lines. Its corners are
    where the threshold changes, ``threshold`` being the one from there on. The band is that of the
    cost of the threshold which is the best on these rows.
    """
    corners = scored.hull
    fpr, fnr = (scored.along(rate)[corners] for rate in (false_positive_rate, false_negative_rate))
    wrong, missed = np.diff(fpr), -np.diff(fnr)
    with np.errstate(invalid="ignore"):
        change = wrong / (wrong + missed)
    p = np.concatenate([[0.0], change, [1.0]])
    line = np.concatenate([np.arange(len(corners)), [len(corners) - 1]])
    in_use = scored.in_use
    lines = {
        "always negative": ((0.0, 0.0), (1.0, 1.0)),
        "always positive": ((0.0, 1.0), (1.0, 0.0)),
    }
    if in_use is not None:
        own = [float(scored.along(m)[in_use]) for m in (false_positive_rate, false_negative_rate)]
        lines["threshold in use"] = ((0.0, own[0]), (1.0, own[1]))

    def drawn() -> FloatArray:
        best = np.searchsorted(change, GRID, side="right").clip(max=len(corners) - 1)
        positive, negative = scored.counted.rates(corners[best])
        return (1 - positive) * GRID + negative * (1 - GRID)

    return _curve(
        scored,
        "cost",
        ("Probability cost", "Normalised expected cost"),
        x=p,
        y=fnr[line] * p + fpr[line] * (1 - p),
        threshold=scored.table.thresholds[corners][line],
        references=lines,
        **_band(scored, GRID, drawn),
    )


def net_benefit_curve(scored: Scored) -> Curve:
    """Net benefit against the threshold probability (a decision curve; Vickers and Elkin 2006).

    Who acts from a probability p on takes p / (1 − p) true positives for the price of one false
    positive. It is computed at every hundredth and at every score strictly between 0 and 1.
    """
    scores = scored.table.scores
    inside = scores[(scores > 0) & (scores < 1)]
    p = np.union1d(_ODDS_GRID, inside)
    place = scored.places(p)
    odds = p / (1 - p)
    counts = replace(
        scored.matrix, counts=scored.matrix.counts[place], squares=scored.matrix.squares[place]
    )
    bottom = -scored.prevalence / 4
    cut, marked = scored.threshold, None
    if cut is not None and 0 <= cut < 1:
        marked = cut, float(net_benefit(scored.table.at(cut), odds=cut / (1 - cut)))

    def drawn() -> FloatArray:
        return scored.counted.net_benefit(scored.places(_ODDS_GRID), _ODDS_GRID)

    return _curve(
        scored,
        "net benefit",
        ("Threshold probability", "Net benefit"),
        x=p,
        y=np.asarray(net_benefit(counts, odds=odds)),  # type: ignore[arg-type]
        threshold=p,
        mark=marked,
        bottom=bottom,
        references={
            "act on all": _act_on_all(scored, bottom),
            "act on none": ((0.0, 0.0), (1.0, 0.0)),
        },
        **_band(scored, _ODDS_GRID, drawn),
    )


def _act_on_all(scored: Scored, bottom: float) -> tuple[tuple[float, float], ...]:
    """The net benefit of calling everything positive, down to where the drawing ends."""
    everything = replace(
        scored.matrix, counts=scored.matrix.counts[-1:], squares=scored.matrix.squares[-1:]
    )
    # It ends at the odds (π + π/4) / (1 − π), which are not in the grid.
    last = (scored.prevalence - bottom) / (1 - bottom)
    p = np.append(GRID[last > GRID], last) if last < 1 else GRID[:-1]
    benefit = net_benefit(everything, odds=p / (1 - p))  # type: ignore[arg-type]
    return tuple(zip(p.tolist(), benefit.tolist(), strict=True))


def threshold_curve(scored: Scored, measure: str = "accuracy") -> Curve:
    """A measure of counts against the threshold, ascending."""
    chosen = parse(measure, "counts")
    with np.errstate(divide="ignore", invalid="ignore"):
        values = np.asarray(chosen.apply(scored.matrix), np.float64)
    in_use = scored.in_use
    marked = None if in_use is None else (float(scored.threshold or 0.0), float(values[in_use]))
    scores = scored.table.scores[::-1]
    return _curve(
        scored,
        "threshold",
        ("Threshold", str(chosen)),
        x=scores,
        y=values[:0:-1],
        threshold=scores,
        shape="step",
        mark=marked,
    )


def density_curve(scored: Scored, *, positive: bool) -> Curve:
    """The density of the scores of one class: a histogram whose bars have a total area of 1.

    The bars are equally wide and as many as Rice's rule has, twice the cube root of the number of
    rows, at most 40; both classes have the same. The threshold in use is a border between bars, so
    that the areas on both sides of it are exactly the rates. ``x`` are the borders.
    """
    table = scored.table
    weight = table.positive if positive else table.negative
    edges = _borders(table, scored.threshold)
    summed, _ = np.histogram(table.scores, edges, weights=weight)
    total = float(weight.sum())
    # Between scores of 1e-320 a density is beyond all numbers.
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        density = summed / (total * np.diff(edges))
    areas = {}
    in_use = scored.in_use
    if in_use is not None:
        above = float(weight[:in_use].sum())
        names = ("TP", "FN") if positive else ("FP", "TN")
        areas = dict(zip(names, (above, total - above), strict=True))
    return _curve(
        scored,
        "density",
        ("Score", "Density"),
        x=edges,
        y=np.append(density, 0.0),
        threshold=edges,
        series=scored.names[positive],
        shape="bars",
        areas=areas,
        at="",
    )


def _borders(table: ScoreTable, cut: float | None) -> FloatArray:
    """The borders of equally wide bars over all scores; the threshold is one if it is inside."""
    low, high = float(table.scores[-1]), float(table.scores[0])
    if low == high:
        low, high = low - 0.5, high + 0.5
    bars = min(_MOST_BARS, int(np.ceil(2 * np.cbrt(table.rows))))
    if cut is None or not low < cut <= high:
        return np.linspace(low, high, bars + 1)
    width = (high - low) / bars
    before, after = np.ceil((cut - low) / width), np.ceil((high - cut) / width)
    # A score at the threshold lies above it, so there is always a bar there.
    return cut + width * np.arange(-before, max(after, 1.0) + 1)


#: How each kind of curve is made, in the order of a report.
KINDS: Mapping[str, Callable[..., Curve]] = {
    "ROC": roc_curve,
    "PR": precision_recall_curve,
    "threshold": threshold_curve,
    "density": density_curve,
    "DET": det_curve,
    "lift": lift_curve,
    "gain": gain_curve,
    "cost": cost_curve,
    "net benefit": net_benefit_curve,
    "calibration": calibration_curve,
    "calibration by bins": binned_calibration_curve,
    "probabilities": probability_histogram,
}

#: What is drawn of probabilities only.
OF_PROBABILITIES = ("net benefit", "calibration", "calibration by bins", "probabilities")

#: With more classes than this, bands are not drawn.
MOST_BANDS = 3

#: What is drawn of each class against the rest; the others can be asked for.
OF_CLASSES = ("ROC", "PR")

#: Of more classes than this, only the most frequent ones are drawn.
MOST_CLASSES = 10


# --- Access ---------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class ScoreCurves(Sequence[Curve]):
    """The curves of systems, thinned for drawing, each computed when it is first looked at.

    ``read`` gives what they are of. The curves of more than :data:`MOST_BANDS` classes, each
    against the rest, have no bands here: nobody could tell them apart. Of more than
    :data:`MOST_CLASSES` only the most frequent are here.
    """

    read: Callable[[], Sequence[Scored]]

    @cached_property
    def of(self) -> Sequence[Scored]:
        """What the curves are of."""
        return self.read()

    @cached_property
    def _plan(self) -> list[tuple[Scored, str, dict[str, Any]]]:
        drawn, shares = self.of, {s.series: s.share for s in self.of}
        if len(shares) > MOST_BANDS:
            drawn = [replace(s, settings=replace(s.settings, interval="none")) for s in drawn]
        if self._all_classes:
            most = set(sorted(shares, key=lambda series: -shares[series])[:MOST_CLASSES])
            drawn = [s for s in drawn if s.series in most]
        return [
            (scored, kind, options)
            for kind in KINDS
            for scored in drawn
            if (kind in OF_CLASSES or not scored.series)
            and (kind not in OF_PROBABILITIES or scored.probabilities)
            for options in _variants(kind)
        ]

    @cached_property
    def _all_classes(self) -> int:
        """The number of all classes, where only some are drawn, else 0."""
        classes = len({s.series for s in self.of})
        return classes if classes > MOST_CLASSES else 0

    @cached_property
    def _made(self) -> dict[int, Curve]:
        return {}

    @overload
    def __getitem__(self, index: int) -> Curve: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[Curve, ...]: ...
    def __getitem__(self, index: int | slice) -> Curve | tuple[Curve, ...]:
        if isinstance(index, slice):
            return tuple(self[place] for place in range(len(self))[index])
        place = range(len(self))[index]
        if place not in self._made:
            scored, kind, options = self._plan[place]
            made = replace(KINDS[kind](scored, **options), classes=self._all_classes)
            self._made[place] = thinned(made)
        return self._made[place]

    def __len__(self) -> int:
        return len(self._plan)  # known before they are computed

    def find(self, system: str | None, series: str | None) -> Scored:
        """What the curves of one system, and of one class, are made of."""
        named = _only("system", system, [s.system for s in self.of])
        of_system = [s for s in self.of if s.system == named]
        classes = [s.series for s in of_system]
        if not any(classes):
            return of_system[0]
        wanted = _only("class", series, classes)
        return next(s for s in of_system if s.series == wanted)


def _variants(kind: str) -> list[dict[str, Any]]:
    if kind == "threshold":
        return [{"measure": name} for name in OF_THRESHOLD]
    if kind == "density":
        return [{"positive": positive} for positive in (False, True)]
    return [{}]


def _only(what: str, asked: str | None, there: Sequence[str]) -> str:
    """The name asked for, or the only one."""
    names = list(dict.fromkeys(there))
    if asked is None and len(names) == 1:
        return names[0]
    if asked is None:
        raise InputError(f"there are several: name the {what}, one of {', '.join(names)}")
    if asked not in names:
        raise InputError(f"no {what} {asked!r}; {did_you_mean(asked, names)}")
    return asked


@verb
def curve(
    evaluation: Evaluation,
    kind: str,
    system: str | None = None,
    *,
    measure: str = "accuracy",
    series: str | None = None,
    thin: bool = False,
) -> Curve:
    """One curve of a classification by scores or probabilities, at every distinct score.

    Parameters
    ----------
    evaluation
        What :func:`calipers.classification` gave.
    kind
        ``"ROC"``: TPR against FPR. ``"PR"``: precision against recall. ``"DET"``: FNR against FPR.
        ``"lift"`` and ``"gain"``: lift and recall against the share predicted positive. ``"cost"``:
        the lowest normalised expected cost FNR · p + FPR · (1 − p) of any threshold against the
        probability cost p. ``"net benefit"``: TP/n − FP/n · p/(1 − p) against the threshold
        probability p, of probabilities only. ``"threshold"``: a measure against the threshold.
        ``"density"``: the histogram of the scores of a class, scaled to an area of 1.
        ``"calibration"``: the share of positives against the probability by isotonic regression,
        with consistency bands; ``"calibration by bins"``: in ten bins of equal mass, with Wilson's
        intervals; ``"probabilities"``: the share of rows in twenty bars. All three of probabilities
        only.
    system
        Which system, where there are several.
    measure
        For ``"threshold"``: any measure of counts.
    series
        Which class, for ``"density"`` and for several classes, each against the rest.
    thin
        Whether to leave out points as the report does; it says in ``tolerance`` what that costs.

    Returns
    -------
    Curve
        ``x``, ``y`` and ``threshold`` have one element a point; ``to_frame()`` makes a table of
        them. ROC and PR have a pointwise and a simultaneous band: see
        :func:`calipers.inference.bands.roc_limits`.

    Raises
    ------
    InputError
        For an unknown kind, system, class or measure, one that has to be named, and an evaluation
        without scores.

    Examples
    --------
    >>> import calipers as cal
    >>> ev = cal.classification([0, 1, 0, 1], score=[0.1, 0.4, 0.35, 0.8], measures=["AUC"])
    >>> roc = cal.curve(ev, "ROC")
    >>> roc.x.tolist(), roc.y.tolist()
    ([0.0, 0.0, 0.0, 0.5, 1.0], [0.0, 0.5, 1.0, 1.0, 1.0])
    >>> cal.curve(ev, "threshold", measure="recall").y.tolist()
    [1.0, 1.0, 1.0, 0.5]
    """
    curves = evaluation.curves
    if not isinstance(curves, ScoreCurves) or not curves.of:
        raise InputError(
            "curves are made of the scores of a classification; this evaluation has none"
        )
    if kind not in KINDS:
        raise InputError(f"no curve {kind!r}; {did_you_mean(kind, KINDS)}")
    scored = curves.find(system, None if kind == "density" else series)
    options: dict[str, Any] = {}
    if kind == "threshold":
        options["measure"] = measure
    elif kind == "density":
        options["positive"] = _only("class", series, scored.names) == scored.names[1]
    elif kind in OF_PROBABILITIES and not scored.probabilities:
        raise InputError(f"{scored.system}: {kind} needs probabilities, not scores")
    whole = KINDS[kind](scored, **options)
    return thinned(whole) if thin else whole
