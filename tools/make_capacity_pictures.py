"""The pictures of docs/capacity.md, by the code on that page.

    python tools/make_capacity_pictures.py

runs the page and writes its charts beside it: those that it names, and the polynomials through its
points.
"""

from __future__ import annotations

import doctest
import io
import re
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any

import numpy as np

from calipers.report.figures import vega
from calipers.report.figures.rendering import render_svg

DOCS = Path(__file__).resolve().parents[1] / "docs"
PAGE = DOCS / "capacity.md"
_BLOCK = re.compile(r"^```(python|pycon)\n(.*?)^```$", re.DOTALL | re.MULTILINE)
#: The charts of the page: its names of them, and their files.
CHARTS = {"validation": "validation", "decomposed": "parts", "learned": "growth"}
#: Degrees that underfit, fit and overfit.
DEGREES = {1: "degree 1 underfits", 4: "degree 4", 15: "degree 15 overfits"}


def run() -> dict[str, Any]:
    """The names of the page, once its blocks have run."""
    names: dict[str, Any] = {"__name__": "__main__"}
    for block in _BLOCK.finditer(PAGE.read_text("utf-8")):
        code = block[2]
        if block[1] == "pycon":
            code = "".join(e.source for e in doctest.DocTestParser().get_examples(code))
        with redirect_stdout(io.StringIO()):
            exec(compile(code, PAGE.name, "exec"), names)
    return names


def fits(names: dict[str, Any]) -> vega.Spec:
    """The points, the truth and a polynomial of each degree, side by side."""
    x, y = names["X"], names["y"]
    fine = np.linspace(-1, 1, 401)
    points = [{"x": float(a), "y": float(b)} for a, b in zip(x[:, 0], y, strict=True)]
    panels = []
    for degree, title in DEGREES.items():
        model = names["polynomial"].set_params(**{names["DEGREE"]: degree}).fit(x, y)
        lines = {"wave": names["wave"](fine), "polynomial": model.predict(fine[:, None])}
        rows = [
            {"x": float(a), "y": float(b), "line": name}
            for name, values in lines.items()
            for a, b in zip(fine, values, strict=True)
        ]
        ends = {"domain": [-1.7, 1.7], "nice": False}
        axis = {"tickCount": 3, "title": None}
        place = {
            "x": vega.quantity("x", axis=axis),
            "y": vega.quantity("y", axis=axis, scale=ends),
        }
        hue = vega.category(
            "line", scale=vega.scale(list(lines), ("#888888", vega.PALETTE[0])),
            legend={"symbolType": "stroke"},
        )  # fmt: skip
        panels.append(
            {
                "title": {"text": title, "fontWeight": "normal", "fontSize": 13},
                "width": 200,
                "height": 190,
                "layer": [
                    vega.layer(points, vega.dot(size=18, opacity=0.6, color="black"), **place),
                    vega.layer(rows, {"type": "line", "strokeWidth": 2}, **place, color=hue),
                ],
            }
        )
    return vega.assemble_spec(hconcat=panels, background="white")


def main() -> None:
    """Write all pictures."""
    names = run()
    for name, file in CHARTS.items():
        names[name].save(DOCS / f"capacity-{file}.svg")
    (DOCS / "capacity-fits.svg").write_text(f"{render_svg(fits(names))}\n", "utf-8")


if __name__ == "__main__":
    main()
