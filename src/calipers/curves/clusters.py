"""Charts of clusterings: silhouettes, sizes, classes, projections, and numbers of clusters."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from calipers.curves.construction import make_curve
from calipers.lazy_dataclasses import dataclass
from calipers.report import numbers
from calipers.report.class_tables import format_cells
from calipers.report.figures import confusions, vega
from calipers.report.figures.curve_chart import curve_chart
from calipers.report.figures.curves import CurveChart
from calipers.report.figures.figure import Figure, measure_figure, selector_label
from calipers.report.figures.registry import EvaluationChart, register_chart
from calipers.report.figures.vega import Spec, json_number
from calipers.report.grouping import group_by
from calipers.report.safe_names import escape_unprintable, shorten_name, unique_labels
from calipers.results import Curve, Estimate, Evaluation, LabelTable, curve_kinds, select_kinds

if TYPE_CHECKING:
    from calipers.measures import Measure
    from calipers.statistics import FloatArray, IntArray
    from calipers.systems.clustering import Clustering

#: The largest number of clusters that are drawn: those with most points.
MAX_CLUSTERS = 20
#: The largest number of bars as which the silhouettes of a clustering are drawn.
MAX_BARS = 400
#: The largest number of points that are projected.
MAX_POINTS = 1_000

SILHOUETTES, PROJECTION = "silhouettes", "projection"


@dataclass(frozen=True, eq=False)
class Projection:
    """Sampled points on their first two principal components, with the proportions of variance."""

    rows: IntArray
    coordinates: FloatArray
    explained_variance_ratio: tuple[float, float]
    n_points: int

    @classmethod
    def from_points(cls, points: FloatArray, seed: int, *, directions: bool) -> Projection:
        """Project a sample of the points, which depends on the seed alone.

        With ``directions`` the unit vectors of the points are projected.
        """
        n = len(points)
        random = np.random.Generator(np.random.Philox(seed))
        rows = np.sort(random.permutation(n)[:MAX_POINTS])
        scale = max(float(np.abs(points[rows]).max()), 1e-300)
        sampled = points[rows] / scale
        if directions:
            sampled, scale = sampled / np.sqrt(np.square(sampled).sum(axis=1, keepdims=True)), 1.0
        sampled = sampled - sampled.mean(axis=0)
        left_vectors, singular_values, axes = np.linalg.svd(sampled, full_matrices=False)
        # An axis has two directions: the one in which its largest coordinate is above 0.
        largest_index = np.abs(axes[:2]).argmax(axis=1)
        sign = np.where(axes[np.arange(2), largest_index] < 0, -1.0, 1.0)
        total = float(np.square(singular_values).sum())
        first, second = (
            (np.square(singular_values[:2]) / total).tolist() if total > 0 else (0.0, 0.0)
        )
        return cls(
            rows, left_vectors[:, :2] * (singular_values[:2] * sign * scale), (first, second), n
        )


def _largest_clusters(system: Clustering) -> tuple[list[int], int]:
    """Return the largest clusters, and the number of all if some are omitted, otherwise 0."""
    sizes = np.bincount(system.cluster, minlength=len(system.names))
    by_size = np.argsort(-sizes, kind="stable")[: np.count_nonzero(sizes)]
    is_truncated = len(by_size) > MAX_CLUSTERS
    return np.sort(by_size[:MAX_CLUSTERS]).tolist(), len(by_size) if is_truncated else 0


def silhouette_curves(system: Clustering, measure: Measure) -> list[Curve]:
    """Compute the silhouettes of each cluster in descending order.

    Many points are represented by means of groups of equal size. ``x`` numbers the points over all
    clusters.
    """
    sample = system.sample_for(measure)
    values = sample.values
    if not np.isfinite(values).all():
        return []
    shown_clusters, n_all_clusters = _largest_clusters(system)
    shown_clusters = [
        k for k in shown_clusters if (sample.cluster == k).any()
    ]  # of a sample there may be none
    cluster_values = [np.sort(values[sample.cluster == k])[::-1] for k in shown_clusters]
    total = sum(map(len, cluster_values))
    n_points = {"points": float(len(system.cluster))}
    if len(values) < len(system.cluster):
        n_points["sampled points"] = float(len(values))
    curves, first = [], 0
    for k, sorted_values in zip(shown_clusters, cluster_values, strict=True):
        n = len(sorted_values)
        bars = min(n, max(2, round(MAX_BARS * n / total)))
        edges = np.unique(np.linspace(0, n, bars + 1).round().astype(int))
        y = np.add.reduceat(sorted_values, edges[:-1]) / np.diff(edges)
        curve_fields: dict[str, Any] = {
            "x": (first + edges).astype(np.float64),
            "y": np.append(y, 0.0),
        }
        mean = float(values.mean())
        curve_fields["references"] = {"mean": [[0.0, mean], [float(total), mean]]}
        labels = "Point", str(measure)
        curves.append(
            make_curve(
                system, SILHOUETTES, *labels,
                series=system.names[k], shape="bars", classes=n_all_clusters,
                areas=n_points, **curve_fields,
            )
        )  # fmt: skip
        first += n
    return curves


def projection_curves(system: Clustering, projection: Projection) -> list[Curve]:
    """Return the projected points of each cluster.

    Points of clusters that are not drawn form a series without a name.
    """
    shown_clusters, n_all_clusters = _largest_clusters(system)
    cluster = system.cluster[projection.rows]
    labels = [
        f"{ordinal} component, {proportion:.0%} of the variance"
        for ordinal, proportion in zip(
            ("First", "Second"), projection.explained_variance_ratio, strict=True
        )
    ]
    series = [(system.names[k], cluster == k) for k in shown_clusters]
    if n_all_clusters:
        series.append(("", ~np.isin(cluster, shown_clusters)))
    return [
        make_curve(
            system, PROJECTION, labels[0], labels[1],
            x=projection.coordinates[member_mask, 0], y=projection.coordinates[member_mask, 1],
            series=name, classes=n_all_clusters, areas={"points": float(projection.n_points)},
        )
        for name, member_mask in series
    ]  # fmt: skip


# --- The charts -----------------------------------------------------------------------------------

#: The largest number of clusters whose sizes are drawn.
MAX_SIZE_BARS = 40
#: The smallest number of distinct numbers of clusters against which measures are drawn.
MIN_CLUSTER_COUNTS = 3
#: Height of a name in pixels.
_LINE_HEIGHT = 13
_SHAPES = ("circle", "square", "triangle-up", "diamond")
_HEIGHT = 380


class _ClusterChart(CurveChart):
    """Chart of the curves of each system, in a separate figure."""

    def figures(self, evaluation: Evaluation, orientation: str = "") -> Iterator[Figure]:
        """Yield the figures of an evaluation, one for each system."""
        if self.name not in curve_kinds(evaluation.curves):
            return
        make = _silhouette_figure if self.name == SILHOUETTES else _projection_figure
        selected = select_kinds(evaluation.curves, {self.name})
        for system, curves in group_by(selected, lambda c: c.system).items():
            figure = replace(make(system, curves), kind=self.name)
            yield _add_selector(figure, system, evaluation.systems)


def _cluster_tables(evaluation: Evaluation) -> list[LabelTable]:
    return [table for table in evaluation.label_tables if table.row_kind == "cluster"]


def size_figures(evaluation: Evaluation) -> Iterator[Figure]:
    """Yield the figures of cluster sizes, one for each system."""
    for table in _cluster_tables(evaluation):
        yield _add_selector(_size_figure(table), table.system, evaluation.systems)


def composition_figures(evaluation: Evaluation) -> Iterator[Figure]:
    """Yield the figures of classes against clusters, one for each system."""
    for table in _cluster_tables(evaluation):
        shape = len(table.counts), len(table.labels)
        if min(shape) > 1 and max(shape) <= confusions.MAX_CLASSES:
            yield _add_selector(_composition_figure(table), table.system, evaluation.systems)


def _add_selector(figure: Figure, system: str, systems: Sequence[str]) -> Figure:
    """Return the figure of one system, among which the reader selects if there are several."""
    title = figure.title if len(systems) < 2 else f"{figure.title}: {shorten_name(system)}"
    choice = selector_label(system, len(systems))
    return replace(figure, title=title, choice=choice, chosen_from=figure.title)


def _unique_labels(names: Sequence[str]) -> dict[str, str]:
    return unique_labels(names, vega.MAX_LABEL_LENGTH)


def _truncation_note(n_shown: int, curve: Curve) -> str:
    n_clusters = curve.classes
    return (
        f" The {n_shown} largest of {n_clusters:,} clusters have a color of their own."
        if n_clusters
        else ""
    )


# --- Silhouettes ----------------------------------------------------------------------------------


def _size_and_mean(curve: Curve) -> tuple[int, float]:
    """Return the number of points of a cluster, and their mean silhouette."""
    points = np.diff(curve.x)
    return int(points.sum()), float((curve.y[:-1] * points).sum() / points.sum())


def _silhouette_figure(system: str, curves: Sequence[Curve]) -> Figure:
    mean, measure_name = curves[0].references["mean"][0][1], escape_unprintable(curves[0].y_label)
    names = _unique_labels([c.series for c in curves])
    digits, points = numbers.Rounding(3), curves[-1].x[-1]
    n_points, n_clusters = curves[0].areas, curves[0].classes
    # Where clusters are omitted, earlier versions did not record whether points were sampled.
    is_sampled = "sampled points" in n_points or (
        not n_clusters and points < n_points.get("points", points)
    )
    points_phrase = f"each of {points:,.0f} sampled points" if is_sampled else "each point"
    mean_phrase = "the mean"
    if n_clusters:
        points_phrase += f" of the {len(curves)} largest of {n_clusters:,} clusters"
        mean_phrase += f" of all {'sampled ' if is_sampled else ''}points"
    overall = digits(mean)
    rows = tuple(
        (names[c.series], f"{points:,}", digits(value))
        for c in curves
        for points, value in [_size_and_mean(c)]
    )
    return Figure(
        title="Silhouettes",
        alt_text=f"Silhouettes of the points of each cluster by size, {len(curves)} clusters; "
        f"their mean is {overall}.",
        caption=f"The {measure_name} of {points_phrase}, sorted within each "
        "cluster. A negative value means that the point is closer on average to another cluster "
        f"than to its own. Dashed: {mean_phrase}, {overall}.",
        spec=_silhouette_spec(curves, names, mean),
        header=("cluster", "points", f"mean {measure_name}"),
        rows=rows,
    )


def _silhouette_spec(curves: Sequence[Curve], names: Mapping[str, str], mean: float) -> Spec:
    """Return the silhouette chart, with the clusters one below the other."""
    total = curves[-1].x[-1]
    spacing = 0.015 * total
    min_value = min(0.0, *(float(c.y.min()) for c in curves))
    layers, label_data = [], []
    for index, c in enumerate(curves):
        points, value = _size_and_mean(c)
        positions = c.x + index * spacing
        cluster_fields = {
            "cluster": names[c.series],
            "points": f"{points:,}",
            "mean": f"{value:.3f}",
        }
        y = [*c.y[:-1], c.y[-2]]
        layers.append(
            vega.layer(
                [
                    {"at": json_number(x), "s": json_number(v, 4), **cluster_fields}
                    for x, v in zip(positions, y, strict=True)
                ],
                # A horizontal area goes along its own axis first.
                {"type": "area", "orient": "horizontal", "interpolate": "step-before",
                 "color": vega.color(index), "opacity": 0.85},
                **_silhouette_axes(total + spacing * (len(curves) - 1), min_value), x2={"datum": 0},
                tooltip=vega.tooltip(("cluster",) * 2, ("points",) * 2, ("mean",) * 2),
            )
        )  # fmt: skip
        if (positions[-1] - positions[0]) / total * _HEIGHT >= _LINE_HEIGHT or len(curves) <= 3:
            label_data.append(
                {
                    "at": json_number((positions[0] + positions[-1]) / 2),
                    "s": min_value,
                    **cluster_fields,
                }
            )
    sides = _silhouette_axes(total + spacing * (len(curves) - 1), min_value)
    text: Spec = {"type": "text", "align": "right", "dx": -6, "fontSize": 12,
                  "color": "currentColor"}  # fmt: skip
    layers.append(vega.layer(label_data, text, **sides, text=vega.nominal("cluster")))
    line = vega.rule(strokeDash=[4, 3], opacity=0.8)
    layers.append(vega.layer([{"s": json_number(mean)}], line, x=sides["x"]))
    return vega.assemble_spec(width=400, height=_HEIGHT, layer=layers)


def _silhouette_axes(total: float, min_value: float) -> dict[str, Spec]:
    silhouette_scale = {"domain": [json_number(min_value, 3), 1], "nice": False}
    point_scale = {"domain": [json_number(total), 0], "nice": False}
    return {
        "x": vega.quantity("s", title="Silhouette", scale=silhouette_scale, axis={"tickCount": 5}),
        "y": vega.quantity("at", title=None, scale=point_scale, axis=None),
    }


# --- Sizes ----------------------------------------------------------------------------------------


def _size_figure(table: LabelTable) -> Figure:
    nonempty = np.flatnonzero(table.truth > 0)
    largest = np.sort(nonempty[np.argsort(-table.truth[nonempty], kind="stable")][:MAX_SIZE_BARS])
    names = list(_unique_labels([table.labels[k] for k in largest]).values())
    sizes = [int(table.truth[k]) for k in largest]
    truncation_note = (
        f" The {len(largest)} largest of {len(nonempty):,} clusters are shown."
        if len(nonempty) > len(largest)
        else ""
    )
    total = float(table.truth.sum())
    proportions = [f"{size / total:.1%}" for size in sizes]
    data = [
        {"cluster": name, "points": size, "proportion": proportion}
        for name, size, proportion in zip(names, sizes, proportions, strict=True)
    ]
    tip = vega.tooltip(
        ("cluster",) * 2, ("points",) * 2, ("proportion", "proportion of all points")
    )
    bars = vega.layer(
        data,
        {"type": "bar", "color": vega.PALETTE[0], "opacity": 0.85},
        x=vega.quantity("points", title="Points", axis={"tickCount": 5}),
        y=vega.category("cluster", title=None),
        tooltip=tip,
    )
    return Figure(
        title="Sizes of clusters",
        alt_text=f"Number of points of each of {len(nonempty)} clusters, from {min(sizes):,} to "
        f"{max(sizes):,}.",
        caption=f"Number of points of each cluster; {total:,.0f} in total.{truncation_note}",
        spec=vega.assemble_spec(width=400, height={"step": 20}, **bars),
        header=("cluster", "points", "proportion"),
        rows=tuple(zip(names, map(numbers.format_count, sizes), proportions, strict=True)),
    )


# --- Classes against clusters ---------------------------------------------------------------------


def _composition_figure(table: LabelTable) -> Figure:
    counts = np.array(list(table.counts.values()))
    order = order_by_class(counts)
    classes = list(_unique_labels(list(table.counts)).values())
    clusters = [list(_unique_labels(table.labels).values())[k] for k in order]
    counts = counts[:, order]
    text = format_cells(counts, is_proportion=False)
    return Figure(
        title="Classes and clusters",
        alt_text=f"Number of points of each of {len(classes)} classes in each of {len(clusters)} "
        "clusters.",
        caption="Number of points of each class in each cluster. Color: proportion of the class, "
        "by row. Clusters are in the order of their most frequent classes.",
        spec=_heat_map(counts, classes, clusters),
        header=("class \\ cluster", *clusters),
        rows=tuple((name, *row) for name, row in zip(classes, text, strict=True)),
        wide=len(clusters) > confusions.MAX_CLASSES_WITH_COUNTS,
    )


def order_by_class(counts: FloatArray) -> list[int]:
    """Return the order of clusters (columns) by their most frequent class.

    Clusters with the same class are in descending order of its count.
    """
    return [int(k) for k in np.lexsort((-counts.max(axis=0), counts.argmax(axis=0)))]


def _heat_map(counts: FloatArray, classes: Sequence[str], clusters: Sequence[str]) -> Spec:
    with np.errstate(invalid="ignore"):
        row_proportions = counts / counts.sum(axis=1, keepdims=True)
        column_proportions = counts / counts.sum(axis=0)
    text, digits = format_cells(counts, is_proportion=False), numbers.Rounding(3)
    data = [
        {
            "class": class_name,
            "cluster": cluster_name,
            "count": text[i][j],
            "proportion": json_number(row_proportions[i, j], 4),
            "proportion_text": digits(float(row_proportions[i, j])),
            "ofCluster": digits(float(column_proportions[i, j])),
        }
        for i, class_name in enumerate(classes)
        for j, cluster_name in enumerate(clusters)
    ]
    tips = vega.tooltip(
        ("class", "class"), ("cluster", "cluster"), ("count", "points"),
        ("proportion_text", "proportion of the class"), ("ofCluster", "proportion of the cluster"),
    )  # fmt: skip
    return confusions.cell_heat_map(data, ("class", classes), ("cluster", clusters), tips)


# --- Points ---------------------------------------------------------------------------------------


def _projection_figure(system: str, curves: Sequence[Curve]) -> Figure:
    n_points, n_shown = sum(len(c.x) for c in curves), len(curves) - bool(curves[0].classes)
    names = [*_unique_labels([c.series for c in curves[:n_shown]]).values(), "all others"]
    colors = [*map(vega.color, range(n_shown)), "gray"]
    shown_series = [
        (name, c, color) for name, c, color in zip(names, curves, colors, strict=False) if len(c.x)
    ]
    rows = tuple(
        (name, f"{len(c.x):,}", f"{c.x.mean():.4g}", f"{c.y.mean():.4g}")
        for name, c, _ in shown_series
    )
    n_total = curves[0].areas.get("points", 0.0)
    points_phrase = (
        f"{n_points:,} of {n_total:,.0f} points" if n_total > n_points else f"{n_points:,} points"
    )
    axes_phrase = "on the two axes of largest variance"
    title = "Points on two principal components"
    return Figure(
        title=title if n_total <= n_points else f"{title}, a sample of {n_points:,}",
        alt_text=f"{points_phrase} of {n_shown} clusters {axes_phrase}.",
        caption=f"{points_phrase[0].upper()}{points_phrase[1:]} {axes_phrase}. Points "
        "far apart in this projection are also far apart in the full space; points that overlap "
        "here may differ on other axes." + _truncation_note(n_shown, curves[0]),
        spec=_projection_spec(shown_series),
        header=("cluster", "points plotted", "mean of the first", "mean of the second"),
        rows=rows,
    )


def _projection_spec(shown_series: Sequence[tuple[str, Curve, str]]) -> Spec:
    names, curves, colors = zip(*shown_series, strict=True)
    shapes = [_SHAPES[i // len(vega.PALETTE) % len(_SHAPES)] for i in range(len(curves))]
    legend: Spec = {"symbolOpacity": 1, "symbolStrokeWidth": 0, "columns": 6}
    if sum(map(len, names)) > vega.MAX_LEGEND_LINE_LENGTH:
        legend["columns"] = 1 if max(map(len, names)) > vega.MAX_LEGEND_LINE_LENGTH // 3 else 3
    first = curves[0]
    axes = {
        "x": vega.quantity("x", title=escape_unprintable(first.x_label), scale={"zero": False}),
        "y": vega.quantity("y", title=escape_unprintable(first.y_label), scale={"zero": False}),
        "color": vega.category("cluster", scale=vega.scale(names, colors), legend=legend),
        "shape": vega.category("cluster", scale=vega.scale(names, shapes), legend=legend),
    }
    data = [
        {"x": json_number(x, 3), "y": json_number(y, 3), "cluster": name}
        for name, c, _ in shown_series
        for x, y in zip(c.x.tolist(), c.y.tolist(), strict=True)
    ]
    mark = {"type": "point", "filled": True, "size": 22, "opacity": 0.6}
    tips = vega.tooltip(("cluster", "cluster"))
    layer = vega.layer(data, mark, **axes, tooltip=tips)
    return vega.assemble_spec(width=400, height=_HEIGHT, **layer)


# --- By the number of clusters --------------------------------------------------------------------


def cluster_count_figures(evaluation: Evaluation) -> Iterator[Figure]:
    """Yield the figures of measures against the number of clusters.

    They need clusterings of the same points with several numbers of clusters.
    """
    tables, estimates = _cluster_tables(evaluation), evaluation.estimates
    n_clusters_by_system = {table.system: int(np.count_nonzero(table.truth)) for table in tables}
    series = line_by_clustering(n_clusters_by_system)
    if len(set(n_clusters_by_system.values())) < MIN_CLUSTER_COUNTS or not series:
        return
    finite_estimates = (
        e for e in estimates if e.system in n_clusters_by_system and math.isfinite(e.value)
    )
    estimates_by_measure = group_by(finite_estimates, lambda e: e.measure)
    selected = {
        m: measure_estimates
        for m, measure_estimates in estimates_by_measure.items()
        if len({n_clusters_by_system[e.system] for e in measure_estimates}) > 2
    }
    for name, measure_estimates in selected.items():
        yield measure_figure(
            _cluster_count_figure(name, measure_estimates, n_clusters_by_system, series),
            name,
            len(selected),
            "number",
        )


def line_by_clustering(n_clusters_by_system: Mapping[str, int]) -> dict[str, str]:
    """Return the line that each clustering is on.

    All are on one line if no two have the same number of clusters; otherwise those whose names
    differ only in a number at the end share a line. The result is empty if that is still ambiguous.
    """
    stems = {name: re.sub(r"[\W_]*k?[\W_]*\d+$", "", name) for name in n_clusters_by_system}
    for series in (dict.fromkeys(n_clusters_by_system, ""), stems):
        if len({(series[name], k) for name, k in n_clusters_by_system.items()}) == len(
            n_clusters_by_system
        ):
            return series
    return {}


def _cluster_count_figure(
    measure: str,
    estimates: Sequence[Estimate],
    n_clusters_by_system: Mapping[str, int],
    series: Mapping[str, str],
) -> Figure:
    digits = numbers.rounding([(e.value, e.low, e.high) for e in estimates])
    ascending = sorted(estimates, key=lambda e: n_clusters_by_system[e.system])
    curves = [
        _cluster_count_curve(measure, stem, line_estimates, n_clusters_by_system)
        for stem, line_estimates in group_by(ascending, lambda e: series[e.system]).items()
    ]
    spec = curve_chart(curves)
    ks = sorted({n_clusters_by_system[e.system] for e in estimates})
    ticks: Spec = {"values": ks, "format": "d"} if len(ks) <= 15 else {"tickMinStep": 1}
    for layer in spec["layer"]:
        if "x" in layer["encoding"]:
            layer["encoding"]["x"] = {**layer["encoding"]["x"], "axis": ticks}
    level = numbers.format_percent(curves[0].level)
    has_intervals = any(math.isfinite(v) for c in curves for v in c.low)
    return Figure(
        title=f"{shorten_name(measure)} by the number of clusters",
        alt_text=f"{escape_unprintable(measure)} of {len(estimates)} clusterings of {ks[0]} to "
        f"{ks[-1]} clusters.",
        caption=f"Shaded: {level} CI of each clustering, not adjusted for their number."
        if has_intervals
        else "",
        spec=spec,
        header=("system", "clusters", measure, f"{level} CI"),
        rows=tuple(
            (
                shorten_name(e.system),
                str(n_clusters_by_system[e.system]),
                digits(e.value),
                digits.format_interval(e.low, e.high),
            )
            for e in ascending
        ),
    )


def _cluster_count_curve(
    measure: str, stem: str, estimates: Sequence[Estimate], n_clusters_by_system: Mapping[str, int]
) -> Curve:
    x, empty = np.array([float(n_clusters_by_system[e.system]) for e in estimates]), np.zeros(0)
    y, low, high = (np.array([getattr(e, n) for e in estimates]) for n in ("value", "low", "high"))
    return Curve(
        stem, "by number of clusters", "Clusters", measure, x, y, empty, x, low, high,
        estimates[0].level, estimates[0].method, parameter="",
    )  # fmt: skip


register_chart(
    _ClusterChart(name=SILHOUETTES, title="Silhouettes", source="clusters"),
    EvaluationChart(name="sizes", title="Sizes of the clusters", draw=size_figures),
    _ClusterChart(name=PROJECTION, title="Points in a plane", source="clusters"),
    EvaluationChart(
        name="classes and clusters", title="Classes and clusters", draw=composition_figures
    ),
    EvaluationChart(
        name="number of clusters", title="By the number of clusters", draw=cluster_count_figures
    ),
)
