"""Curves of binary scores by kind, each computed on first access."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import field, replace
from functools import partial
from typing import TYPE_CHECKING, Any

from calipers.caching import cached_property
from calipers.curves.lazy_curves import CurvesWithoutBands, LazyCurve, LazyCurves
from calipers.data.errors import InputError, did_you_mean
from calipers.lazy_dataclasses import dataclass
from calipers.measures import parse

if TYPE_CHECKING:
    from calipers.curves.score_data import ScoreData
    from calipers.measures import Measure
    from calipers.results import Curve

#: Sources of the charts that are drawn here.
SCORE_SOURCES = ("scores", "probabilities")

#: With more classes than this, bands are not drawn.
MAX_CLASSES_WITH_BANDS = 3

#: With more classes than this, only the most frequent ones are drawn.
MAX_CLASSES = 10


@dataclass(frozen=True, eq=False)
class ScoreCurves(LazyCurves):
    """Curves of binary scores, downsampled for drawing, each computed on first access.

    With more than :data:`MAX_CLASSES_WITH_BANDS` classes, each against all others, the curves have
    no bands, which would be illegible. With more than :data:`MAX_CLASSES` there are only those of
    the most frequent.

    Attributes
    ----------
    read_score_data : callable
        Function that returns the data of the curves.
    roc_points : mapping
        Points in the ROC plane of systems without scores, by the names of system and class.
    class_proportions : mapping
        Proportion of the rows of each class.
    """

    read_score_data: Callable[[], Sequence[ScoreData]]
    roc_points: Mapping[tuple[str, str], Callable[[], Curve]] = field(default_factory=dict)
    class_proportions: Mapping[str, float] = field(default_factory=dict)

    @cached_property
    def score_data(self) -> Sequence[ScoreData]:
        """Score data of the curves."""
        return self.read_score_data()

    @cached_property
    def planned_curves(self) -> list[LazyCurve]:
        """Planned curves."""
        from calipers.report.figures.curves import curve_charts

        selected, proportions = self.score_data, {s.series: s.proportion for s in self.score_data}
        if len(proportions) > MAX_CLASSES_WITH_BANDS:
            selected = [s.without_bands for s in selected]
        if self._n_all_classes:
            frequent = most_frequent_classes(proportions)
            selected = [s for s in selected if s.series in frequent]
        planned = [
            LazyCurve(
                partial(chart.compute, scored, **options), chart.name, scored.system, scored.series
            )
            for chart in curve_charts(SCORE_SOURCES)
            if chart.curve is not None
            for scored in selected
            if (chart.by_class or not scored.series)
            and (chart.source == "scores" or scored.probabilities)
            for options in chart.variants(scored)
        ]
        # Points come after the ROC curves, which are first.
        series_names = dict.fromkeys(series for _, series in self.roc_points)
        shown_series = most_frequent_classes(
            {series: self.class_proportions.get(series, 0.0) for series in series_names}
        )
        planned[len(selected) : len(selected)] = [
            LazyCurve(make, "ROC", system, series)
            for (system, series), make in self.roc_points.items()
            if series in shown_series
        ]
        return planned

    @cached_property
    def without_bands(self) -> LazyCurves:
        """The same curves without their bands, which are not computed either."""
        return CurvesWithoutBands(replace(self, read_score_data=self._read_without_bands))

    def _read_without_bands(self) -> Sequence[ScoreData]:
        return [scored.without_bands for scored in self.score_data]

    @cached_property
    def _n_all_classes(self) -> int:
        """Total number of classes if only some have curves, otherwise 0."""
        series = {s.series for s in self.score_data}, {series for _, series in self.roc_points}
        classes = max(map(len, series))
        return classes if classes > MAX_CLASSES else 0

    def finalize(self, curve: Curve) -> Curve:
        """Return the curve as it is drawn."""
        from calipers.curves.downsampling import downsample_curve

        return downsample_curve(replace(curve, classes=self._n_all_classes))

    def find_score_data(self, system: str | None, series: str | None) -> ScoreData:
        """Return the data of the curves of one system and one class."""
        system_name = resolve_name("system", system, [s.system for s in self.score_data])
        system_data = [s for s in self.score_data if s.system == system_name]
        classes = [s.series for s in system_data]
        if not any(classes):
            return system_data[0]
        class_name = resolve_name("class", series, classes)
        return next(s for s in system_data if s.series == class_name)


def most_frequent_classes(proportions: Mapping[Any, float]) -> list[Any]:
    """Return the classes that are drawn: the most frequent ones."""
    return sorted(proportions, key=lambda series: -proportions[series])[:MAX_CLASSES]


def series_name(label: str | None) -> str:
    """Return the series name of a class or label; ``""`` is that of a curve without a series."""
    return "" if label is None else label or "''"


def roc_measures(label: str | None) -> list[Measure]:
    """Return the measures on the axes of the ROC plane."""
    return [replace(parse(name, "counts"), label=label) for name in ("FPR", "recall")]


def resolve_name(label: str, requested: str | None, available: Sequence[str]) -> str:
    """Return the requested name, or the only one; raise InputError if it is unclear."""
    names = list(dict.fromkeys(available))
    if requested is None and len(names) == 1:
        return names[0]
    if requested is None:
        raise InputError(f"there are several: name the {label}, one of {', '.join(names)}")
    if requested not in names:
        raise InputError(f"no {label} {requested!r}; {did_you_mean(requested, names)}")
    return requested
