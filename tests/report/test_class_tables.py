"""The confusion matrix on paper: text, Markdown, heat map, and the order of its classes."""

from __future__ import annotations

import json

import numpy as np
import pytest

import calipers as cal
from calipers.report.charts import figures
from calipers.report.class_tables import (
    class_table,
    common_order,
    largest_confusions,
    matrix_summary,
)
from calipers.report.figures.confusions import caption, heat_map
from calipers.report.figures.figure import group_selectable


def some(k: int = 3, systems: int = 1, n: int = 200) -> cal.Evaluation:
    rng = np.random.default_rng(0)
    truth = rng.integers(0, k, n)
    called = {
        f"s{i}": np.where(rng.random(n) < 0.6, truth, rng.integers(0, k, n)) for i in range(systems)
    }
    return cal.classification([f"c{t:02}" for t in truth],
                              {s: [f"c{p:02}" for p in c] for s, c in called.items()},
                              measures=["accuracy"], interval="analytic")  # fmt: skip


def test_as_text_and_markdown() -> None:
    ev = cal.classification(["a", "a", "b|", "c"], ["a", "b|", "b|", "b|"], interval="none")
    assert str(ev.confusion).splitlines() == [
        "truth \\ predicted  a  b|  c",
        "a                  1   1  0",
        "b|                 0   1  0",
        "c                  0   1  0",
    ]
    assert ev.confusion.to_markdown("predicted-rows").splitlines()[3] == r"| **b\|** | 1 | 1 | 1 |"
    page = ev.to_markdown()
    assert "### Confusion matrix" in page
    of_counts = "accuracy | precision | NPV | recall | specificity | F1"
    assert f"| class | rows | TP | FP | FN | TN | {of_counts} |" in page
    head, rows = class_table(ev.confusion)
    assert head == ["class", "truth", "predicted", "precision", "recall", "F1"]
    assert rows[2] == ["c", "1", "0", "", "0.000", "0.000"]


def test_the_heat_map_tells_every_cell() -> None:
    own = some().confusion
    spec = heat_map(own)
    cells = spec["datasets"]["cells"]
    assert len(cells) == 9
    first = cells[0]
    assert (first["truth"], first["predicted"]) == ("c00", "c00")
    assert first["count"] == f"{own.counts[0, 0]:.0f}"
    assert first["proportion"] == pytest.approx(own.counts[0, 0] / own.counts[0].sum(), abs=1e-4)
    low, high = own.low[0, 0], own.high[0, 0]
    assert first["proportion_text"].endswith(f"[{low:.3f}, {high:.3f}]")
    json.dumps(spec, allow_nan=False)


def test_figures_of_all_systems_share_an_order() -> None:
    ev = some(6, systems=3)
    drawn = [f for f in figures(ev) if f.title.startswith("Confusion matrix")]
    assert [f.title for f in drawn] == [f"Confusion matrix: s{i}" for i in range(3)]
    assert [f.choice for f in drawn] == ["s0", "s1", "s2"]
    assert [len(place.figures) for place in group_selectable(drawn)] == [3]
    assert len({f.header for f in drawn}) == 1
    assert common_order(ev.confusions) is not None
    assert drawn[0].svg.startswith("<svg")


def test_many_classes() -> None:
    """What would be too small to see is left to the tables, and the other way round."""
    assert "### Confusion matrix" not in some(30).to_markdown()
    assert any(f.title == "Confusion matrix" for f in figures(some(30)))
    assert not any(f.title == "Confusion matrix" for f in figures(some(61, n=2000)))


def test_in_words() -> None:
    ev = cal.classification(["a", "a", "a", "b", "c"], ["a", "b", "b", "b", "c"], interval="none")
    assert largest_confusions(ev.confusion) == [("a", "b", 2.0)]
    assert matrix_summary(ev.confusion) == (
        "3 of 5 are on the diagonal; the most frequent error predicts b for a (2)."
    )
    assert "interval" not in caption(ev.confusion, ev.confusion.labels)
    right = cal.classification(["a", "b", "c"], ["a", "b", "c"])
    assert matrix_summary(right.confusion) == "3 of 3 are on the diagonal."


def test_names_are_shown_safely() -> None:
    ev = cal.classification(["<script>", "b\x1b", "c"], ["<script>", "c", "c"], interval="none")
    assert "\x1b" not in str(ev.confusion)
    assert "<script>alert" not in ev.to_html()
    assert "&lt;script&gt;" in ev.to_html() or "\\u003cscript" in ev.to_html()
