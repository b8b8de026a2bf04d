"""The slider of a page in a real browser, moved by keys and by the mouse, against ``cal.threshold_table``."""

from __future__ import annotations

import math
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import calipers as cal

BROWSER = next(
    filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None
)
sync_api = pytest.importorskip("playwright.sync_api")

pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif(BROWSER is None, reason="no chromium or google-chrome on PATH"),
]

#: What stands in the explorer: the tables as text, and where the dots and the line are.
READ = """() => {
  const of = document.querySelector(".explorer");
  const cells = (name) => [...of.querySelectorAll(`table.${name} tbody tr`)]
    .map((row) => [...row.children].map((cell) => cell.textContent));
  return {
    at: of.querySelector("output").textContent,
    cells: cells("cells"),
    values: Object.fromEntries(cells("values").map(([name, ...rest]) => [name, rest])),
    dots: [...of.querySelectorAll("circle.now")].map((c) => [c, "cx", "cy"])
      .map(([c, x, y]) => [Number(c.getAttribute(x)), Number(c.getAttribute(y))]),
    line: of.querySelector("path.now[d]").getAttribute("d"),
  };
}"""
#: What is called otherwise in the tables of a page.
NAMES = {
    "Sensitivity (recall)": "sensitivity", "Specificity": "specificity", "PPV (precision)": "PPV",
    "NPV": "NPV", "LR+": "LR+", "LR−": "LR-", "Accuracy": "accuracy", "F1": "F1",
}  # fmt: skip


def _agrees(seen: dict[str, Any], ev: cal.Evaluation) -> None:
    """That what the page shows at a threshold is what a table of cut-offs has there."""
    made = cal.threshold_table(ev, thresholds=[float(seen["at"])], measures=list(NAMES.values()))
    (row,) = made.rows()
    (_, tp, fn), (_, fp, tn) = seen["cells"]
    assert [float(x) for x in (tp, fn, fp, tn)] == [row[c] for c in ("TP", "FN", "FP", "TN")]
    for name, own in NAMES.items():
        value, interval = seen["values"][name]
        if math.isnan(row[own]):
            assert value == "undefined"
            continue
        assert float(value) == pytest.approx(row[own], abs=0.051 if row[own] >= 10 else 0.00051)
        if interval:
            low, high = (float(x) for x in interval.strip("[]").split(", "))
            assert (low, high) == pytest.approx((row[f"{own} low"], row[f"{own} high"]), abs=6e-4)
    # Both dots: the false positive rate and recall, recall and precision.
    (x, y), (u, v) = seen["dots"]
    width, height = 300 - 8 - 44, 240 - 34 - 8
    shares = ((x - 44) / width, (206 - y) / height, (u - 44) / width, (206 - v) / height)
    expected = (1 - row["specificity"], row["sensitivity"], row["sensitivity"], row["PPV"])
    assert shares == pytest.approx(expected, abs=1e-9)


@pytest.mark.slow
def test_a_slider_moves_all_that_stands_at_a_threshold(tmp_path: Path) -> None:
    random = np.random.default_rng(6)
    truth = np.arange(120) % 3 == 0
    score = np.round(truth + random.normal(0, 0.8, 120), 1)
    ev = cal.classification(truth, score={"s": score}, threshold=0.5, interval="analytic")
    page_file = tmp_path / "page.html"
    ev.to_html(page_file)
    with sync_api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=BROWSER, args=["--no-sandbox"])
        page = browser.new_page()
        wrong: list[str] = []
        page.on("pageerror", lambda error: wrong.append(str(error)))
        page.goto(page_file.as_uri())
        seen = [page.evaluate(READ)]
        assert seen[0]["at"] == "0.5"
        slider = page.locator(".explorer input[type=range]")
        slider.focus()
        for key in ("ArrowRight", "ArrowRight", "ArrowLeft", "End", "Home", "PageUp"):
            page.keyboard.press(key)
            seen.append(page.evaluate(READ))
        box = slider.bounding_box()
        middle = box["y"] + box["height"] / 2
        page.mouse.move(box["x"] + box["width"] / 2, middle)
        page.mouse.down()
        page.mouse.move(box["x"] + 0.75 * box["width"], middle)
        page.mouse.up()
        seen.append(page.evaluate(READ))
        browser.close()
    assert not wrong
    assert len({one["at"] for one in seen}) >= 6
    assert len({one["line"] for one in seen}) >= 6
    assert float(seen[1]["at"]) > 0.5
    for one in seen:
        _agrees(one, ev)
