"""Lazy curves: their kinds are known before they are computed, each on first access."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar, overload

from calipers.caching import LazySequence, cached_property
from calipers.lazy_dataclasses import dataclass
from calipers.results import Curve

if TYPE_CHECKING:
    from calipers.curves.clusters import Projection
    from calipers.measures import Measure
    from calipers.systems.clustering import Clustering
    from calipers.systems.regression import RegressionOutput


@dataclass(frozen=True, slots=True)
class LazyCurve:
    """Curve that is not computed yet.

    Parameters
    ----------
    make : callable
        Function without arguments that computes the curve.
    kind : str
        Kind of the curve, which is the name of its chart.
    system : str
        Name of the system.
    series : str, default=""
        Series of the curve, such as a class; empty if there is none.
    output : str, default=""
        Name of the output, if a system predicts several numbers.
    """

    make: Callable[[], Curve]
    kind: str
    system: str
    series: str = ""
    output: str = ""


class LazyCurves(Sequence[Curve]):
    """Sequence of curves computed on first access.

    Their :attr:`kinds` are known without computing any.
    """

    @property
    def planned_curves(self) -> Sequence[LazyCurve]:
        """Planned curves."""
        raise NotImplementedError

    @property
    def kinds(self) -> list[str]:
        """Kind of each curve."""
        return [curve.kind for curve in self.planned_curves]

    @property
    def computed(self) -> tuple[Curve, ...]:
        """The curves that have been computed."""
        return tuple(self._cache.values())

    @cached_property
    def without_bands(self) -> LazyCurves:
        """The same curves without their bands."""
        return CurvesWithoutBands(self)

    @cached_property
    def _cache(self) -> dict[int, Curve]:
        return {}

    def finalize(self, curve: Curve) -> Curve:
        """Return a computed curve in the form that users see."""
        return curve

    @overload
    def __getitem__(self, index: int) -> Curve: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[Curve, ...]: ...
    def __getitem__(self, index: int | slice) -> Curve | tuple[Curve, ...]:
        if isinstance(index, slice):
            return tuple(self[position] for position in range(len(self))[index])
        position = range(len(self))[index]
        if position not in self._cache:
            self._cache[position] = self.finalize(self.planned_curves[position].make())
        return self._cache[position]

    def __len__(self) -> int:
        return len(self.planned_curves)


def plan_curves(output_kind: str, systems: Sequence[Any]) -> list[LazyCurve]:
    """Return the planned curves of the charts of a kind of output, such as ``"numbers"``."""
    from calipers.report.figures.curves import curve_charts

    planned: list[LazyCurve] = []
    for chart in curve_charts((output_kind,)):
        if chart.plan is not None:
            planned += chart.plan(systems)
        elif chart.curve is not None:
            planned += [
                LazyCurve(partial(chart.compute, s, **options), chart.name, s.name)
                for s in systems
                for options in chart.variants(s)
            ]
    return planned


@dataclass(frozen=True, eq=False)
class CurvesWithoutBands(LazyCurves):
    """Curves of another sequence, ``curves``, without their bands."""

    curves: LazyCurves

    @property
    def planned_curves(self) -> Sequence[LazyCurve]:
        """Planned curves."""
        return self.curves.planned_curves

    def finalize(self, curve: Curve) -> Curve:
        """Return the curve without its bands."""
        from calipers.report.figures.curves import without_band

        return without_band(self.curves.finalize(curve))


@dataclass(frozen=True, eq=False)
class ResidualCurves(LazyCurves):
    """Curves of regression systems, each computed on first access.

    ``systems`` are by the name of the output, which is ``""`` if there is only one.
    """

    systems: Mapping[str, Sequence[RegressionOutput]]

    @cached_property
    def planned_curves(self) -> list[LazyCurve]:
        """Planned curves."""
        return [
            replace(curve, make=partial(_set_output, curve.make, output), output=output)
            for output, systems in self.systems.items()
            for curve in plan_curves("numbers", systems)
        ]


def _set_output(make: Callable[[], Curve], output: str) -> Curve:
    return replace(make(), output=output)


@dataclass(frozen=True, eq=False)
class QuantileCurves(LazyCurves):
    """Curves of systems that predict quantiles, each computed on first access."""

    systems: Sequence[Any]

    source: ClassVar[str] = "quantiles"

    @cached_property
    def planned_curves(self) -> list[LazyCurve]:
        """Planned curves."""
        return plan_curves(self.source, self.systems)


@dataclass(frozen=True, eq=False)
class SurvivalCurves(QuantileCurves):
    """Curves of systems that predict survival, each computed on first access."""

    source: ClassVar[str] = "survival"


@dataclass(frozen=True, eq=False)
class UpliftCurves(QuantileCurves):
    """Curves of systems that predict uplift, each computed on first access."""

    source: ClassVar[str] = "uplift"


@dataclass(frozen=True, eq=False)
class ClusterCurves(LazySequence[Curve]):
    """Silhouettes of each cluster, and its points on two principal components, on first access.

    Silhouettes are computed by ``measure``, if it is given.
    """

    systems: Sequence[Clustering]
    measure: Measure | None

    @cached_property
    def _items(self) -> tuple[Curve, ...]:
        from calipers.curves.clusters import projection_curves, silhouette_curves

        curves: list[Curve] = []
        for s in self.systems:
            if self.measure is not None:
                curves += silhouette_curves(s, self.measure)
        for s in self.systems:
            if self.projection is not None:
                curves += projection_curves(s, self.projection)
        return tuple(curves)

    @cached_property
    def projection(self) -> Projection | None:
        """Projection of the sampled points, the same for all systems; None with one feature."""
        from calipers.curves.clusters import Projection

        first = self.systems[0]
        if first.points is None or min(first.points.shape) < 2:
            return None
        return Projection.from_points(
            first.points, first.settings.seed, directions=first.metric == "cosine"
        )
