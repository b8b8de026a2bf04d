"""Charts by name: figures of the page, displayed in notebooks and saved to files."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import replace
from pathlib import Path
from typing import Any

from calipers.lazy_dataclasses import dataclass
from calipers.report.class_tables import MAX_MATRIX_CLASSES, matrix_summary, matrix_table
from calipers.report.display_names import use_display_names
from calipers.report.figures import vega
from calipers.report.figures.confusions import MAX_CLASSES
from calipers.report.figures.curves import get_chart
from calipers.report.figures.figure import (
    MAX_SIDE_BY_SIDE,
    Figure,
    assign_ids,
    defer_pictures,
    lazy_figures,
)
from calipers.report.figures.per_unit import all_unit_figures
from calipers.report.figures.registry import CHARTS, SECTIONS, ComparisonChart
from calipers.report.figures.rendering import render_image, render_svg
from calipers.report.figures.vega import Spec, static_spec
from calipers.report.notebook_fragments import compact_fragment, figures_fragment
from calipers.report.safe_names import shorten_name
from calipers.results import (
    ORIENTATIONS,
    Comparison,
    ConfusionBase,
    Curve,
    Definition,
    Estimate,
    Evaluation,
    curve_kinds,
    select_kinds,
)
from calipers.results.name_lookup import NO_CHARTS_MESSAGE, lookup_error, match_name

#: The suffixes of files of charts.
FORMATS = ("svg", "png", "pdf", "json")
#: Pixels of a PNG for each of the drawing.
_PNG_SCALE = 2.0
_VEGA_LITE = "application/vnd.vegalite.v6+json"


@dataclass(frozen=True, repr=False, eq=False)
class Chart:
    """Chart that is displayed in a notebook and can be saved; the result of ``evaluation.chart()``.

    Attributes
    ----------
    name : str
        Name by which the chart was requested.
    figures : tuple of Figure
        Figures of the chart, side by side: one of all systems, or one of each.

    Examples
    --------
    >>> import calipers as cal
    >>> ev = cal.classification([0, 1, 0, 1], score=[0.1, 0.4, 0.35, 0.8], measures=["AUC"])
    >>> ev.chart("roc")
    ROC: ROC curve: True positive rate against False positive rate, for system.
    """

    name: str
    figures: tuple[Figure, ...]

    @property
    def title(self) -> str:
        """Title of the chart."""
        return self.figures[0].title if len(self.figures) == 1 else self.name

    @property
    def caption(self) -> str:
        """Caption of the chart."""
        return " ".join(dict.fromkeys(filter(None, (f.caption for f in self.figures))))

    @property
    def spec(self) -> Spec:
        """Chart as a Vega-Lite spec, a dict."""
        return combine_specs(self.figures)

    def to_json(self) -> str:
        """Return the Vega-Lite spec as JSON."""
        return json.dumps(self.spec, ensure_ascii=False, allow_nan=False)

    def to_svg(self) -> str:
        """Return the chart as SVG, with a white background."""
        return render_svg(self._on_paper)

    @property
    def _on_paper(self) -> Spec:
        return {**static_spec(self.spec), "background": "white"}

    def save(self, path: str | Path) -> None:
        """Write the chart to a file, completely or not at all.

        The format is that of the suffix.

        Parameters
        ----------
        path : str or Path
            File with the suffix ``.svg``, ``.png``, ``.pdf``, or ``.json`` for the Vega-Lite spec.

        Raises
        ------
        InputError
            If the suffix is a different one.
        """
        from calipers.report.output_files import atomic_writer

        content = self.render(Path(path).suffix.lower().removeprefix("."), path)
        with atomic_writer(path) as stream:
            stream.write(content)

    def render(self, format: str, label: Any = "the chart") -> bytes:  # noqa: A002
        """Return the chart in one of :data:`FORMATS`, as the bytes of a file."""
        if format not in FORMATS:
            raise lookup_error(f"{label}: expected a file that ends in .{', .'.join(FORMATS)}")
        if format == "json":
            return f"{self.to_json()}\n".encode()
        if format == "svg":
            return f"{self.to_svg()}\n".encode()
        return render_image(self._on_paper, format, _PNG_SCALE)

    def _repr_html_(self) -> str:
        return figures_fragment(self.figures, self._digest)

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, Any]:
        """Return representations for notebooks; the image is for those without Vega-Lite."""
        bundle: dict[str, Any] = {
            "text/plain": str(self),
            "text/html": self._repr_html_(),
            "image/svg+xml": self.to_svg(),
            _VEGA_LITE: self.spec,
        }
        requested = set(bundle if include is None else include) - set(exclude or ())
        return {kind: value for kind, value in bundle.items() if kind in requested}

    def __str__(self) -> str:
        return "\n".join(f"{shorten_name(self.name)}: {figure.alt_text}" for figure in self.figures)

    __repr__ = __str__

    @property
    def _digest(self) -> str:
        """Hash that distinguishes the chart from others on a page."""
        return hashlib.sha256(self.to_json().encode()).hexdigest()[:12]


# --- Names of charts ------------------------------------------------------------------------------


def evaluation_chart(evaluation: Evaluation, name: str, subject: str | None) -> Chart:
    """Return the chart of that name.

    ``subject`` names the system, measure, … if there are several.
    """
    if subject is not None and subject not in evaluation.systems:
        evaluation.canonical_name(subject)  # one measure, if it means any
    names, evaluation = evaluation.requested_names, use_display_names(evaluation)
    kind = match_name("chart", name, evaluation_charts(evaluation))
    return _chart(kind, _figures_of_kind(evaluation, kind), names.get(subject or "", subject))


def evaluation_charts(evaluation: Evaluation) -> tuple[str, ...]:
    """Return the names of all charts, without computing any curve."""
    without_curves = replace(evaluation, curves=(), sources=None)
    kinds = [figure.kind for figure in figures(without_curves)]
    of_curves = dict.fromkeys(curve_kinds(evaluation.curves))
    return tuple(dict.fromkeys([*kinds, *(k for k in of_curves if not get_chart(k).part_of)]))


def _figures_of_kind(evaluation: Evaluation, kind: str) -> list[Figure]:
    """Return the figures of one kind, without computing other curves."""
    curves = select_kinds(evaluation.curves, {kind, *get_chart(kind).needs})
    compared = None if curves else evaluation.comparison
    all_figures = figures(replace(evaluation, curves=curves, comparison=compared, sources=None))
    return [figure for figure in all_figures if figure.kind == kind]


def comparison_chart(comparison: Comparison, name: str, subject: str | None) -> Chart:
    """Return the chart of that name."""
    all_figures = _comparison_figures(use_display_names(comparison))
    kind = match_name("chart", name, dict.fromkeys(figure.kind for figure in all_figures))
    display_name = comparison.requested_names.get(subject or "", subject)
    return _chart(kind, [figure for figure in all_figures if figure.kind == kind], display_name)


def comparison_charts(comparison: Comparison) -> tuple[str, ...]:
    """Return the names of all charts."""
    return tuple(dict.fromkeys(figure.kind for figure in _comparison_figures(comparison)))


def _comparison_figures(comparison: Comparison) -> list[Figure]:
    return [*comparison_figures(comparison), *all_unit_figures(comparison)[0]]


def curves_chart(curves: Sequence[Curve]) -> Chart:
    """Return the chart of curves of one kind, as on a page if it has one."""
    systems = tuple(dict.fromkeys(curve.system for curve in curves))
    estimates = tuple(Estimate("", 0.0, system=system) for system in systems)
    chart = get_chart(curves[0].kind)
    has_own_figure = chart.curves_of_system not in (0, len(curves))  # the page draws them together
    page_figures = (
        [] if has_own_figure else figures(Evaluation("curves", estimates, curves=tuple(curves)))
    )
    return _chart(chart.name, page_figures or [chart.figure(curves, systems)], None)


def confusions_chart(confusions: Sequence[ConfusionBase]) -> Chart:
    """Return the chart of the confusion matrices of some systems."""
    estimates = tuple(Estimate("", 0.0, system=confusion.system) for confusion in confusions)
    evaluation = Evaluation("confusion", estimates, confusions=tuple(confusions))
    return _chart("confusion", figures(evaluation), None)


def _chart(kind: str, figures: Sequence[Figure], subject: str | None) -> Chart:
    if not figures:
        raise lookup_error(f"{kind}: {NO_CHARTS_MESSAGE}")
    if subject is not None:
        figure_by_label = dict(zip(_figure_labels(figures), figures, strict=True))
        figures = [
            figure_by_label[
                match_name(f"chart of {kind} of", shorten_name(subject), figure_by_label)
            ]
        ]
    return Chart(kind, tuple(figures))


def _figure_labels(figures: Sequence[Figure]) -> list[str]:
    """Return what distinguishes each figure of a kind, or its title if that is ambiguous."""
    names = [f.choice or f.title.partition(": ")[2] or f.title for f in figures]
    return [
        f.title if names.count(name) > 1 else name for f, name in zip(figures, names, strict=True)
    ]


def confusions_fragment(confusions: Sequence[ConfusionBase]) -> str:
    """Return the confusion matrices of systems for a notebook; large ones are tables."""
    if max(len(confusion.labels) for confusion in confusions) <= MAX_CLASSES:
        return confusions_chart(confusions)._repr_html_()
    small_confusions = [
        confusion for confusion in confusions if len(confusion.labels) <= MAX_MATRIX_CLASSES
    ]
    sentences = [
        ("", f"{shorten_name(confusion.system)}: {matrix_summary(confusion)}")
        for confusion in confusions
    ]
    return compact_fragment(
        sentences, tables=[matrix_table(confusion) for confusion in small_confusions]
    )


# --- Files ----------------------------------------------------------------------------------------


def chart_files(
    result: Evaluation | Comparison,
    formats: Sequence[str] = FORMATS[:1],
    orientation: str = ORIENTATIONS[0],
) -> Iterator[tuple[str, bytes]]:
    """Yield every chart as a file name and its bytes.

    If there are more than two figures of a kind each has a separate file.
    """
    used_names: set[str] = set()
    for chart in _all_charts(result, orientation):
        named_charts = [(chart.name, chart)]
        if len(chart.figures) > MAX_SIDE_BY_SIDE:
            labeled_figures = zip(_figure_labels(chart.figures), chart.figures, strict=True)
            named_charts = [
                (f"{chart.name} {label}", Chart(chart.name, (f,))) for label, f in labeled_figures
            ]
        for name, single_chart in named_charts:
            stem = _file_name(name, used_names)
            for kind in formats:
                yield f"{stem}.{kind}", single_chart.render(kind)


def _all_charts(result: Evaluation | Comparison, orientation: str) -> Iterator[Chart]:
    if isinstance(result, Evaluation):
        page_figures = figures(use_display_names(result), orientation)
    else:
        page_figures = _comparison_figures(use_display_names(result))
    by_kind: dict[str, list[Figure]] = {}
    for figure in page_figures:
        by_kind.setdefault(figure.kind, []).append(figure)
    for kind, kind_figures in by_kind.items():
        yield Chart(kind, tuple(kind_figures))


#: Characters that file names do not have: all but letters, digits, and separators in numbers.
_UNSAFE = re.compile(r"[^\w@+.]|(?<!\w)\.|\.(?!\w)")


def _file_name(name: str, used_names: set[str]) -> str:
    """Return a unique file name that is valid on any system."""
    safe_name = _UNSAFE.sub("-", shorten_name(name))
    stem = base = re.sub("-+", "-", safe_name).strip("-")[:80] or "chart"
    copy = 1
    while stem.lower() in used_names:
        copy += 1
        stem = f"{base}-{copy}"
    used_names.add(stem.lower())
    return stem


# --- Figures of a page ----------------------------------------------------------------------------


def figures(
    evaluation: Evaluation,
    orientation: str = ORIENTATIONS[0],
    start_rendering: Callable[[Spec], Future[str]] | None = None,
) -> list[Figure]:
    """Return the figures of a page, in order; empty if there is nothing to draw.

    ``start_rendering`` starts rendering an image as soon as its spec is available, while the next
    curves are computed. Without it the figures are those that can be requested by name, each with
    an image.
    """

    def start_each(chart_figures: Iterable[Figure]) -> Iterator[Figure]:
        if start_rendering is None:
            yield from lazy_figures(figure for figure in chart_figures if not figure.on_page)
            return
        for figure in defer_pictures(lazy_figures(chart_figures)):
            if figure.later:
                yield figure
            else:
                yield replace(figure, begun=start_rendering(static_spec(figure.spec)))

    sections: dict[str, list[Figure]] = {section: [] for section in SECTIONS}
    unknown = [kind for kind in dict.fromkeys(curve_kinds(evaluation.curves)) if kind not in CHARTS]
    for chart in (*CHARTS.values(), *map(get_chart, unknown)):
        sections[chart.section] += start_each(chart.figures(evaluation, orientation))
    sections["evaluation"].sort(key=lambda figure: figure.on_request)
    return assign_ids(figure for section_figures in sections.values() for figure in section_figures)


def comparison_figures(
    comparison: Comparison, definitions: Sequence[Definition] = ()
) -> list[Figure]:
    """Return the figures of all differences together: intervals, pairs, mean ranks."""
    return [
        figure
        for chart in CHARTS.values()
        if isinstance(chart, ComparisonChart)
        for figure in chart.figures_of(comparison, definitions)
    ]


# --- Several figures as one spec, side by side ----------------------------------------------------


#: What only the outermost spec may have.
_OUTER = ("$schema", "config", "padding", "datasets")
#: Number of charts in a row, if there are many.
_COLUMNS = 2


def combine_specs(figures: Sequence[Figure]) -> Spec:
    """Return the spec of figures: of several, side by side under their titles."""
    if len(figures) == 1:
        return figures[0].spec
    datasets: dict[str, Any] = {}
    sub_specs = [_sub_spec(figure, f"-{index}", datasets) for index, figure in enumerate(figures)]
    independent_scales = {
        "color": "independent",
        "strokeDash": "independent",
        "shape": "independent",
    }
    extra: Spec = {"datasets": datasets} if datasets else {}
    spec = vega.assemble_spec(
        concat=sub_specs, columns=_COLUMNS, resolve={"scale": independent_scales}, **extra
    )
    lefts = [figure.spec["padding"]["left"] for figure in figures]
    return {**spec, "padding": {**spec["padding"], "left": max(lefts)}}


def _sub_spec(figure: Figure, suffix: str, datasets: dict[str, Any]) -> Spec:
    """Return the spec of one of several figures, with unique names of data and parameters."""
    figure_datasets = figure.spec.get("datasets", {})
    datasets |= {f"{name}{suffix}": rows for name, rows in figure_datasets.items()}
    figure_spec = {key: value for key, value in figure.spec.items() if key not in _OUTER}
    title = {"text": figure.title, "color": "currentColor", "fontWeight": "normal", "fontSize": 14}
    renamed_spec: Spec = _rename_datasets(figure_spec, frozenset(figure_datasets), suffix)
    return {"title": {**title, "anchor": "start"}, **renamed_spec}


def _rename_datasets(node: Any, datasets: frozenset[str], suffix: str) -> Any:
    """Return a node of a spec with unique names of data and parameters."""
    if isinstance(node, list):
        return [_rename_datasets(item, datasets, suffix) for item in node]
    if not isinstance(node, Mapping):
        return node
    out = {
        key: value if key == "values" else _rename_datasets(value, datasets, suffix)
        for key, value in node.items()
    }
    if out.keys() == {"name"} and out["name"] in datasets:
        out["name"] += suffix
    if "select" in out and "name" in out:
        out["name"] += suffix
    if isinstance(out.get("param"), str):
        out["param"] += suffix
    return out
