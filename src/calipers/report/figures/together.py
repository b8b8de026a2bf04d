"""Several figures as one spec, side by side."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from calipers.report.figures import vega
from calipers.report.figures.figure import Figure
from calipers.report.figures.vega import Spec

#: What only the outermost spec may have.
_OUTER = ("$schema", "config", "padding", "datasets")
#: So many stand in a row, where they are many.
_COLUMNS = 2


def together(figures: Sequence[Figure]) -> Spec:
    """The spec of one figure; of several one that has them side by side under their titles."""
    if len(figures) == 1:
        return figures[0].spec
    datasets: dict[str, Any] = {}
    parts = [_part(figure, f"-{place}", datasets) for place, figure in enumerate(figures)]
    apart = {"color": "independent", "strokeDash": "independent", "shape": "independent"}
    extra: Spec = {"datasets": datasets} if datasets else {}
    made = vega.whole(concat=parts, columns=_COLUMNS, resolve={"scale": apart}, **extra)
    lefts = [figure.spec["padding"]["left"] for figure in figures]
    return {**made, "padding": {**made["padding"], "left": max(lefts)}}


def _part(figure: Figure, suffix: str, datasets: dict[str, Any]) -> Spec:
    """The spec of one of them, its names told from those of the others."""
    own = figure.spec.get("datasets", {})
    datasets |= {f"{name}{suffix}": rows for name, rows in own.items()}
    inner = {key: value for key, value in figure.spec.items() if key not in _OUTER}
    title = {"text": figure.title, "color": "currentColor", "fontWeight": "normal", "fontSize": 14}
    made: Spec = _renamed(inner, frozenset(own), suffix)
    return {"title": {**title, "anchor": "start"}, **made}


def _renamed(part: Any, datasets: frozenset[str], suffix: str) -> Any:
    """A part of a spec, in which data and parameters have names of their own."""
    if isinstance(part, list):
        return [_renamed(item, datasets, suffix) for item in part]
    if not isinstance(part, Mapping):
        return part
    out = {
        key: value if key == "values" else _renamed(value, datasets, suffix)
        for key, value in part.items()
    }
    if out.keys() == {"name"} and out["name"] in datasets:
        out["name"] += suffix
    if "select" in out and "name" in out:
        out["name"] += suffix
    if isinstance(out.get("param"), str):
        out["param"] += suffix
    return out
