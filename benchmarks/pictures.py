"""What the charts of pages share."""

from __future__ import annotations

from typing import Any

INK = "#666666"  # seen on white and on black
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#666666")


def base(**parts: Any) -> dict[str, Any]:
    """A Vega-Lite chart with a plain look and no background."""
    axis = {"labelColor": INK, "titleColor": INK, "gridOpacity": 0.2, "titleFontWeight": "normal"}
    axis |= {"domain": False, "ticks": False, "labelLimit": 300, "labelFontSize": 12}
    return {
        "$schema": "https://vega.github.io/schema/vega-lite/v6.json",
        "background": None,
        "config": {"axis": axis, "legend": {"labelColor": INK, "titleColor": INK}},
        **parts,
    }
